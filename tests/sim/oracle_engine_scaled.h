// SPDX-License-Identifier: Apache-2.0
// The engine of block-scaled formats, as recurrences: the encoder in front, jobs, and pairs of parts
// one after the other.
#pragma once

#include "tests/sim/oracle_output.h"
#include "tests/sim/oracle_scaled.h"

// Activations on their way to the array: as they come, or through mask and codes (Q.3, Q.5).
struct oracle_acts {
    bool is_encoded, has_mask;
    struct unit mask, codes;
    size_t n; // that have entered
    uint64_t shown;
};

static struct oracle_acts oracle_acts(const struct input *in)
{
    const bool has_mask = param(in, "HighPerBank") > 0;
    return (struct oracle_acts){.is_encoded = param(in, "Encode"),
                                .has_mask = has_mask,
                                .mask = has_mask ? mask_unit(in, 15) : (struct unit){.depth = 1},
                                .codes = {.depth = 3}};
}

// The next block: when it is offered to the array.
static uint64_t oracle_acts_offer(struct oracle_acts *a, struct prediction *w)
{
    uint64_t t = offered(w, 1, a->n);
    if (!a->is_encoded)
        return t;
    t = unit_enter(a->has_mask ? &a->mask : &a->codes, t);
    taken(w, 1, a->n++, t);
    if (a->has_mask) {
        const uint64_t masked = unit_show(&a->mask, t), entered = unit_enter(&a->codes, masked);
        unit_leave(&a->mask, masked, entered);
        t = entered;
    }
    return a->shown = unit_show(&a->codes, t);
}

static void oracle_acts_take(struct oracle_acts *a, struct prediction *w, uint64_t t)
{
    if (a->is_encoded)
        unit_leave(&a->codes, a->shown, t);
    else
        taken(w, 1, a->n++, t);
}

// A job is taken when the blocks of the one before have gone, in the cycle of its last one or later,
// and waits for the scales of the one before in a queue of two. Operands go together, from the cycle
// after on. A tile goes pair after pair; its scales are there for all of them, from the cycle after
// they know of the job, and go with the last one.
static void predict_engine_scaled(const struct input *in, struct prediction *w)
{
    const unsigned high = param(in, "HighPerBank");
    const unsigned pairs = high == 0 || param(in, "High") == 0 ? 1
                           : param(in, "WeightHigh")           ? 4
                                                               : 2;
    struct tail a = scaled_tail(in);
    struct oracle_acts acts = oracle_acts(in);
    struct oracle_output o = oracle_output_of(in, 3); // sums in binary32
    uint64_t free = 0, scales_free = 0, left_queue[2] = {0, 0};
    size_t beat = 0, scale = 0;
    for (size_t j = 0; j < w->in[0].n && free < w->end; j++) {
        const uint32_t blocks = (uint32_t)*field(in, 0, j, "blocks");
        const uint32_t all = blocks * (uint32_t)*field(in, 0, j, "tiles");
        const uint64_t room = j < 2 ? 0 : left_queue[j % 2] + 1;
        const uint64_t came = w->in[0].taken[j] = later(w->in[0].offered[j], later(free, room));
        const uint64_t passed = left_queue[j % 2] = later(came + 1, scales_free);
        for (uint32_t i = 0; i < all && free < w->end; i++, beat++) {
            const uint64_t both = later(oracle_acts_offer(&acts, w), offered(w, 2, beat));
            free = tail_enter(&a, later(came + 1, both));
            oracle_acts_take(&acts, w, free);
            taken(w, 2, beat, free);
            if ((i + 1) % blocks != 0 || free >= w->end)
                continue;
            const uint64_t there = later(passed + 1, offered(w, 3, scale));
            uint64_t at = there, tile = tail_show(&a, free);
            for (unsigned p = 0; p < pairs; p++) {
                at = there;
                a.tile_left = oracle_output_tile(&o, w, tile, p + 1 == pairs, &at);
                tile = a.tile_left + 1;
            }
            taken(w, 3, scale++, at);
            scales_free = at;
        }
    }
    while (acts.is_encoded && acts.n < w->in[1].n) { // what the encoder still takes
        (void)oracle_acts_offer(&acts, w);
        if (w->in[1].taken[acts.n - 1] >= w->end)
            break;
        oracle_acts_take(&acts, w, NEVER);
    }
}
