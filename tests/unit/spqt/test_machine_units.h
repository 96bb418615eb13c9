// SPDX-License-Identifier: Apache-2.0
// What the streams of the engine of SpQt offer, a part of tests/sim/test_machine_units.c.
#include "sim/block/spqt/sq_spqt_idx_block.h"

static void offer_spqt(struct side *s, struct sq_offer in[SQ_STREAMS_MAX])
{
    enum { ONE = 0x3c00 };
    const uint64_t n = work(s, s->taken[0] - 1), all = s->job->loads, at = s->taken[1];
    job_of_side(s, s->job->passes, ONE, &in[0]);
    for (uint64_t i = 0; i < SQ_ENGINE_SPQT_SEG; i++)
        s->x[i] = at < all && i < (at + 1) * n / all - at * n / all ? ONE : 0;
    in[1].beat = s->x;
}

SIDE(spqt, 8)
