// SPDX-License-Identifier: Apache-2.0
// Connects the models of mask unit, stores and core (sq_core_act_sim.h).
#include "sim/block/core/sq_core_act_sim.h"

#include <string.h>

void sq_core_act_init(struct sq_core_act_sim *s, const struct sq_core_config *config,
                      enum sq_pipeline_kind topk, unsigned topk_depth)
{
    memset(s, 0, sizeof *s);
    sq_mask_init(&s->mask, topk, topk_depth, SQ_CORE_ACT_STAGES);
    sq_core_reset(&s->core, config);
}

// What the parts offer each other in this cycle.
struct wires {
    struct sq_pipeline_out mask;
    struct sq_core_in core_in;
    struct sq_core_out core;
    bool has_place; // both stores take a bank
};

static struct wires eval(const struct sq_core_act_sim *s, const struct sq_core_act_in *in)
{
    struct wires w = {.core_in = {.job_valid = in->job_valid,
                                  .job = in->job,
                                  .act_valid = in->weight_valid,
                                  .lo_valid = sq_buffer_has_beat(&s->lo),
                                  .hi_valid = s->hi_banks > 0,
                                  .out_ready = in->out_ready}};
    sq_core_comb(&s->core, &w.core_in, &w.core);
    w.has_place = sq_buffer_has_place(&s->lo) && sq_buffer_has_place(&s->hi);
    sq_mask_comb(&s->mask, w.has_place, &w.mask);
    return w;
}

void sq_core_act_comb(const struct sq_core_act_sim *s, const struct sq_core_act_in *in,
                      struct sq_core_act_out *out)
{
    const struct wires w = eval(s, in);
    out->act_ready = w.mask.in_ready;
    out->weight_ready = w.core.act_ready;
    out->job_ready = w.core.job_ready;
    out->out_valid = w.core.out_valid;
}

// sq_bank_steps: the bank leaves with its last step.
static bool step(unsigned *at, unsigned steps, bool fire)
{
    const bool ends = fire && *at + 1 == steps;
    *at = ends ? 0 : *at + fire;
    return ends;
}

void sq_core_act_clock(struct sq_core_act_sim *s, const struct sq_core_act_in *in)
{
    const struct wires w = eval(s, in);
    const bool write = w.mask.out_valid && w.has_place, last = sq_mask_last(&s->mask);
    const uint32_t passes = sq_mask_passes(&s->mask);
    const bool lo_ends =
        step(&s->lo_step, s->core.low_steps, w.core_in.lo_valid && w.core.lo_ready);
    const bool hi_ends =
        step(&s->hi_step, s->core.high_steps, w.core_in.hi_valid && w.core.hi_ready);
    sq_buffer_clock(&s->lo, write, last, passes, lo_ends);
    const bool hi_moves = sq_buffer_has_beat(&s->hi) && s->hi_banks < 2;
    s->hi_banks += hi_moves - hi_ends;
    sq_buffer_clock(&s->hi, write, last, passes, hi_moves);
    sq_mask_clock(&s->mask, in->act_valid, in->act_last, in->act_passes, w.has_place);
    sq_core_clock(&s->core, &w.core_in);
}
