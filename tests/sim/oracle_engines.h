// SPDX-License-Identifier: Apache-2.0
// The engines, as recurrences: jobs, and what lies between the parts.
#pragma once

#include "tests/sim/oracle_output.h"

// A job is taken when the beats of the one before have gone, in the cycle of its last one or later, and
// waits for the scales of the one before in a queue of two. Operands go together, from the cycle after
// on, and so do scales. Masks that are made in the engine come from TopK units, whatever its jobs; one goes
// with the operands.
static void predict_engine_array(const struct input *in, struct prediction *w)
{
    const bool is_static = strcmp(in->c->block->name, "engine_static") == 0;
    const bool has_topk = strcmp(in->c->block->name, "engine_dynamic") == 0;
    struct unit topk = has_topk ? mask_unit(in, param(in, "MagW")) : (struct unit){.depth = 1};
    const unsigned layout = is_static ? SQ_ARRAY_COMPACT : param(in, "Layout");
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
            const uint64_t x = has_topk ? unit_enter(&topk, offered(w, 4, beat)) : 0;
            const uint64_t mask = has_topk ? unit_show(&topk, x) : 0;
            free = tail_enter(&a, later(later(came + 1, both), mask));
            if (has_topk) {
                taken(w, 4, beat, x);
                unit_leave(&topk, mask, free);
            }
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
    for (; has_topk && beat < w->in[4].n; beat++) { // ahead of operands that did not go
        const uint64_t x = unit_enter(&topk, offered(w, 4, beat));
        taken(w, 4, beat, x);
        if (x >= w->end)
            break;
        unit_leave(&topk, unit_show(&topk, x), NEVER);
    }
}

// A job is taken when the activations of the one before have gone, in the cycle of the last one or later,
// and waits for the core and for the scales of the one before, in queues of two. Its activations and
// its scales go from the cycle after on; weights wait for no job. Beats of tiles by core_act, each
// scale group as a tile of the stage.
struct oracle_act_job {
    uint64_t came, core, scales; // taken; gone on to the core, to the scales
};

// A tile of tokens through all its passes; whether all of it went while the run lasted.
static bool oracle_act_tile(const struct input *in, struct prediction *w, struct oracle_act *o,
                            struct oracle_output *out, struct tile *tile, size_t j, uint64_t scales,
                            size_t *scale, uint64_t *scales_free)
{
    const uint32_t banks = (uint32_t)*field(in, 0, j, "banks");
    const uint32_t groups = (uint32_t)*field(in, 0, j, "groups");
    for (uint32_t i = 0; i < tile->n * tile->passes; i++) {
        const bool last = (i + 1) % banks == 0;
        if (o->low_given >= w->end) // the registers of the core take codes that it does not reach
            return false;
        act_bank(o, w, 2, tile, i % banks == 0, last);
        if (!last)
            continue;
        uint64_t at = later(scales + 1, offered(w, 3, *scale));
        o->c.tile_left = oracle_output_tile(out, w, later(o->c.low_total, o->c.high_total),
                                            (i + 1) / banks % groups == 0, &at);
        taken(w, 3, (*scale)++, at);
        *scales_free = at;
    }
    tile->free = later(o->low_given, o->high_given);
    return true;
}

static void predict_engine_core_act(const struct input *in, struct prediction *w)
{
    struct oracle_act o = oracle_act(in);
    struct oracle_output out = oracle_output(in);
    struct tile *tile = fixture_zeros(w->in[1].n + 1, sizeof *tile);
    struct oracle_act_job left[2] = {{0}};
    uint64_t act_free = 0, scales_free = 0;
    size_t n = 0, act = 0, scale = 0;
    bool runs = true;
    assert(tile);
    for (size_t j = 0; j < w->in[0].n; j++) {
        const uint32_t len = (uint32_t)(*field(in, 0, j, "banks") * *field(in, 0, j, "groups"));
        struct oracle_act_job *const job = &left[j % 2];
        const uint64_t room = j < 2 ? 0 : later(job->core, job->scales) + 1;
        job->came = w->in[0].taken[j] = later(w->in[0].offered[j], later(act_free, room));
        job->scales = later(job->came + 1, scales_free);
        job->core = runs ? core_job(&o.c, job->came + 1, j == 0) : NEVER;
        for (int32_t t = 0; t < *field(in, 0, j, "tiles") && act + len <= w->in[1].n; t++, n++) {
            tile[n] = (struct tile){.first = act,
                                    .n = len,
                                    .passes = (uint32_t)*field(in, 0, j, "passes"),
                                    .complete = NEVER,
                                    .free = NEVER};
            store_tile(w, 1, job->came + 1, &o.mask, &o.stages, tile, n);
            act += len;
            act_free = w->in[1].taken[act - 1];
            runs = runs &&
                   oracle_act_tile(in, w, &o, &out, &tile[n], j, job->scales, &scale, &scales_free);
        }
        scales_free = runs ? scales_free : NEVER;
    }
    free_act(&o, w, 2);
}
