// SPDX-License-Identifier: Apache-2.0
// Cycle model of sq_core: it computes times and no values. It is the definition of time: one call
// per clock cycle, equal to rtl/core/sq_core.sv in every handshake signal of every cycle. Values come
// from models/ (the g-th tile that leaves the core holds the integers of the g-th group).
//
// A cycle:   sq_core_comb()   inputs of this cycle -> handshake outputs of this cycle
//            sq_core_clock()  the rising edge, with the same inputs
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "models/core/sq_config.h"
#include "sim/block/flow/sq_cause.h"

// A job: `groups` scale groups (accumulator tiles) of `group_banks` banks each, both >= 1. Limits
// of the RTL's registers (sq_pkg.sv).
#define SQ_JOB_GROUP_BANKS_MAX 0xffffu
#define SQ_JOB_GROUPS_MAX 0xffffffffu
struct sq_job {
    uint32_t group_banks;
    uint32_t groups;
};

struct sq_core_in {
    bool job_valid;
    struct sq_job job;
    bool act_valid, lo_valid, hi_valid; // a beat is offered
    bool out_ready;                     // a tile would be taken
};

struct sq_core_out {
    bool job_ready;
    bool act_ready, lo_ready, hi_ready;
    bool out_valid;
};

// Registers that decide timing, named as in sq_core_ctl.sv. Plain data without padding, so that two
// states can be compared with memcmp; zeroed by sq_core_reset.
struct sq_core_state {
    uint32_t group_banks, low_bank, high_bank;
    uint32_t low_groups, high_groups, out_groups;
    uint32_t low_step, high_step;
    uint8_t act_beats, lo_beats, hi_beats; // beats in each pipe register, 0..2
    uint8_t started;
    uint8_t l1_valid, l1_last, l2_valid, l2_last, ls_valid, ls_last;
    uint8_t h1_valid, h1_last, hs_valid, hs_last;
    uint8_t bank_full, low_result, high_result;
    uint8_t zero[3];
};

struct sq_core_stats {
    uint64_t cycles; // of the job: from the cycle after its acceptance to its last tile
    uint64_t low[SQ_N_CAUSES];
    uint64_t high[SQ_N_CAUSES];
};

struct sq_core_sim {
    unsigned low_steps, high_steps; // ceil(b/L), ceil(k/H)
    struct sq_core_state state;
    struct sq_core_stats stats;
    bool has_bank; // at the last edge the low path completed a bank
};

// The configuration must have passed sq_core_config_check().
void sq_core_reset(struct sq_core_sim *sim, const struct sq_core_config *config);
void sq_core_comb(const struct sq_core_sim *sim, const struct sq_core_in *in,
                  struct sq_core_out *out);
void sq_core_clock(struct sq_core_sim *sim, const struct sq_core_in *in);

// A job is running (out_groups != 0).
static inline bool sq_core_active(const struct sq_core_sim *sim)
{
    return sim->state.out_groups != 0;
}

// Beats of each stream that a job moves.
uint64_t sq_job_low_beats(const struct sq_core_config *config, const struct sq_job *job);
uint64_t sq_job_high_beats(const struct sq_core_config *config, const struct sq_job *job);

// Lower bound of the cycles of a job with free streams: every group occupies the slower path for
// its banks. The ladder is bound <= cycle model = RTL.
uint64_t sq_job_bound(const struct sq_core_config *config, const struct sq_job *job);
