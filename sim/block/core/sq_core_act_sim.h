// SPDX-License-Identifier: Apache-2.0
// Cycle model of sq_core_act: the models of its parts side by side. It computes times and no
// values.
//
//   activations -> mask unit -> 3 stages (sq_requant) -> store of low codes  -> steps -> core
//                                                     -> store of high codes -> steps -> core
// Weights and jobs are the core's own streams.
#pragma once

#include "sim/block/array/sq_buffer_sim.h"
#include "sim/block/core/sq_core_sim.h"
#include "sim/block/flow/sq_block.h"

enum { SQ_CORE_ACT_STAGES = 3 }; // of sq_requant

struct sq_core_act_in {
    bool act_valid, act_last;
    uint32_t act_passes; // read with the last beat of a tile
    bool weight_valid, job_valid, out_ready;
    struct sq_job job;
};

struct sq_core_act_out {
    bool act_ready, weight_ready, job_ready, out_valid;
};

struct sq_core_act_sim {
    struct sq_mask_sim mask;
    struct sq_buffer_sim lo, hi;
    unsigned lo_step, hi_step; // of the bank that each store offers
    int hi_banks;              // in the stream register of the high codes: 0..2
    struct sq_core_sim core;
};

// The configuration must have passed sq_core_config_check(); rows are output channels, cols tokens.
// Kind and depth of the mask unit as of sq_topk (sq_pipeline.h).
void sq_core_act_init(struct sq_core_act_sim *s, const struct sq_core_config *config,
                      enum sq_pipeline_kind topk, unsigned topk_depth);
void sq_core_act_comb(const struct sq_core_act_sim *s, const struct sq_core_act_in *in,
                      struct sq_core_act_out *out);
void sq_core_act_clock(struct sq_core_act_sim *s, const struct sq_core_act_in *in);

// Draws the activations of a beat of `in` into its record, behind `last` and `passes`; v: the parameters
// of the block core_act.
void sq_core_act_draw_bank(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                           int32_t *record);
