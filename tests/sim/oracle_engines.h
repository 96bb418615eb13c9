// SPDX-License-Identifier: Apache-2.0
// The engines, as recurrences: jobs, and what lies between the parts.
#ifndef ORACLE_ENGINES_H
#define ORACLE_ENGINES_H

#include "tests/sim/oracle_output.h"

// A job is taken when the beats of the one before have gone, in the cycle of its last one or later, and
// waits for the scales of the one before in a queue of two. Operands go together, from the cycle after
// on, and so do scales.
static void foretell_engine_array(const struct input *in, struct world *w)
{
    const unsigned layout = param(in, "Layout");
    const bool plain = layout == SQ_ARRAY_DENSE || layout == SQ_ARRAY_SP24;
    struct tail a = {.depth = plain ? 2 : 3};
    struct oracle_output o = oracle_output(in);
    uint64_t free = 0, scales_free = 0, left_queue[2] = {0, 0};
    size_t beat = 0, scale = 0;
    for (size_t j = 0; j < w->in[0].n && free < w->end; j++) {
        const uint32_t beats = (uint32_t)*field(in, 0, j, "beats");
        const uint32_t groups = (uint32_t)*field(in, 0, j, "groups");
        const uint32_t all = groups * (uint32_t)*field(in, 0, j, "tiles");
        const uint64_t room = j < 2 ? 0 : left_queue[j % 2] + 1;
        const uint64_t came = w->in[0].taken[j] = later(w->in[0].offered[j], later(free, room));
        const uint64_t passed = left_queue[j % 2] = later(came + 1, scales_free);
        for (uint32_t i = 0; i < beats * all && free < w->end; i++, beat++) {
            const uint64_t both = later(offered(w, 1, beat), offered(w, 2, beat));
            free = tail_enter(&a, later(came + 1, both));
            taken(w, 1, beat, free);
            taken(w, 2, beat, free);
            if ((i + 1) % beats != 0 || free >= w->end)
                continue;
            uint64_t at = later(passed + 1, offered(w, 3, scale));
            a.tile_left =
                oracle_output_tile(&o, w, tail_show(&a, free), (i + 1) / beats % groups == 0, &at);
            taken(w, 3, scale++, at);
            scales_free = at;
        }
    }
    free_stalls(&a.stalls);
    oracle_output_free(&o);
}

#endif
