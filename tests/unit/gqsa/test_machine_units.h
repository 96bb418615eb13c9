// SPDX-License-Identifier: Apache-2.0
// What the streams of the engine of GQSA offer, a part of tests/sim/test_machine_units.c.

static void offer_gqsa(struct side *s, struct sq_offer in[SQ_STREAMS_MAX])
{
    enum { OFFSET = 2 };
    uint32_t at = 0;
    for (uint32_t row = 0; row < s->taken[OFFSET]; row++)
        at += work(s, row);
    job_of_side(s, s->job->passes + 1, 0, &in[0]);
    in[OFFSET].n = at;
}

SIDE(gqsa, 1)
