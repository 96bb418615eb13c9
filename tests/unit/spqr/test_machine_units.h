// SPDX-License-Identifier: Apache-2.0
// What the streams of the engine of SpQR offer, a part of tests/sim/test_machine_units.c.
#include "models/spqr/sq_spqr.h"

// The outliers are anywhere in the 16 rows.
static void offer_spqr(struct side *s, struct sq_offer in[SQ_STREAMS_MAX])
{
    enum { OFFSET = 3, T = SQ_SPQR_TILE };
    const uint32_t taken = s->taken[OFFSET];
    job_of_side(s, s->job->passes, sq_spqr_workers((size_t)s->job->loads * T), &in[0]);
    if (taken == 0) {
        s->at = 0;
        s->end[0] = UINT32_MAX;
    }
    if (taken > 0 && (taken - 1) % T == 0 && s->end[0] == UINT32_MAX) {
        const uint32_t n = work(s, (taken - 1) / T);
        uint32_t count[T] = {0};
        for (uint32_t i = 0; i < n; i++)
            count[sq_rng_below(&s->rng, T)]++;
        for (uint32_t r = 0, sum = s->at; r < T; r++)
            s->end[r] = sum += count[r];
    }
    in[OFFSET].n = taken == 0 ? 0 : s->end[(taken - 1) % T];
}

SIDE(spqr, 1)
