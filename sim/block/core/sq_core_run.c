// SPDX-License-Identifier: Apache-2.0
// Runs a job by stepping or by skipping, and computes jobs and utilisation of a GEMM
// (sq_core_run.h).
#include "sim/block/core/sq_core_run.h"

#include <assert.h>
#include <string.h>

#include "sim/block/flow/sq_skip.h"
#include "sim/io/sq_checked.h"

// Everything that evolves during a job.
struct run {
    struct sq_core_sim core;
    struct sq_streams streams;
};

static void cycle(struct run *w, const struct sq_job *new_job)
{
    struct sq_core_in in = {.job_valid = new_job != NULL};
    struct sq_core_out out;
    if (new_job)
        in.job = *new_job;
    sq_streams_drive(&w->streams, &in);
    sq_core_comb(&w->core, &in, &out);
    sq_streams_clock(&w->streams, &in, &out);
    sq_core_clock(&w->core, &in);
}

static void start(struct run *w, const struct sq_core_config *config, const struct sq_job *job,
                  const struct sq_rates *rates)
{
    const struct sq_stall stall[4] = {{SQ_STALL_INTERVAL, rates->act},
                                      {SQ_STALL_INTERVAL, rates->lo},
                                      {SQ_STALL_INTERVAL, rates->hi},
                                      {SQ_STALL_INTERVAL, rates->out}};
    assert(job->groups >= 1 && job->group_banks >= 1 && job->group_banks <= SQ_JOB_GROUP_BANKS_MAX);
    memset(w, 0, sizeof *w);
    sq_core_reset(&w->core, config);
    sq_streams_init(&w->streams, stall, 0);
    sq_streams_add(&w->streams, config, job);
    cycle(w, job);
}

struct sq_core_stats sq_core_run_step(const struct sq_core_config *config, const struct sq_job *job,
                                      const struct sq_rates *rates)
{
    struct run w;
    start(&w, config, job, rates);
    while (sq_core_active(&w.core))
        cycle(&w, NULL);
    return w.core.stats;
}

// ---- fast engine ----------------------------------------------------------------------------
//
// Timing depends on how much work is left only through "is this the last bank of the group", "is
// this the first", "are there groups left" and "has the source run dry".

static void visit(struct run *w, struct sq_skip_mark *mark, bool within_group)
{
    struct sq_core_state *const s = &w->core.state;
    struct sq_skip_here here;
    sq_skip_begin(&here, w, sizeof *w);
    sq_skip_add(&here, SQ_COUNTS(w->core.stats.cycles, w->core.stats));
    sq_skip_add(&here, SQ_COUNTS_DOWN(w->streams.act.left));
    sq_skip_add(&here, SQ_COUNTS_DOWN(w->streams.lo.left));
    sq_skip_add(&here, SQ_COUNTS_DOWN(w->streams.hi.left));
    if (within_group) {
        sq_skip_add(&here, SQ_COUNTS_UP(s->low_bank, s->group_banks));
        sq_skip_add(&here, SQ_COUNTS_UP(s->high_bank, s->group_banks));
    } else {
        sq_skip_add(&here, SQ_COUNTS_DOWN(s->low_groups));
        sq_skip_add(&here, SQ_COUNTS_DOWN(s->high_groups));
        sq_skip_add(&here, SQ_COUNTS_DOWN(s->out_groups));
    }
    (void)sq_skip_visit(mark, &here);
}

struct sq_core_stats sq_core_run_fast(const struct sq_core_config *config, const struct sq_job *job,
                                      const struct sq_rates *rates)
{
    struct run w;
    struct sq_skip_mark bank, group;
    bank.valid = group.valid = false;
    start(&w, config, job, rates);
    const struct sq_core_state *s = &w.core.state;

    while (sq_core_active(&w.core)) {
        const uint32_t old_bank = s->low_bank, old_groups = s->low_groups;
        cycle(&w, NULL);
        if (s->low_groups != old_groups) {
            bank.valid = false;
            visit(&w, &group, false);
        } else if (s->low_bank != old_bank) {
            visit(&w, &bank, true);
        }
    }
    return w.core.stats;
}

uint64_t sq_causes_sum(const uint64_t counts[SQ_N_CAUSES])
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < SQ_N_CAUSES; i++)
        sum += counts[i];
    return sum;
}

// ---- products -------------------------------------------------------------------------------

unsigned sq_core_join_banks(struct sq_core_config *config, size_t group)
{
    unsigned banks = 1;
    while (2 * config->bank <= config->low_lanes && 2 * config->bank <= SQ_BANK_MAX &&
           group % (2 * config->bank) == 0) {
        config->bank *= 2;
        config->high_per_bank *= 2;
        banks *= 2;
    }
    return banks;
}

struct sq_core_config sq_gemm_core(const struct sq_core_config *config,
                                   const struct sq_format *format, size_t k_padded)
{
    struct sq_core_config core = *config;
    (void)sq_core_join_banks(&core, sq_group_len(format, k_padded));
    return core;
}

enum sq_status sq_gemm_job(const struct sq_core_config *config, const struct sq_format *format,
                           size_t m, size_t n, size_t k_padded, struct sq_job *job,
                           struct sq_error *err)
{
    const size_t tiles_m = sq_ceil_div(m, config->rows), tiles_n = sq_ceil_div(n, config->cols);
    const size_t groups = sq_n_groups(format, k_padded);
    const size_t banks = sq_group_len(format, k_padded) / config->bank;
    if (banks > SQ_JOB_GROUP_BANKS_MAX)
        return SQ_FAIL(err, SQ_ERR_RANGE, "group of %zu banks, need <= %u", banks,
                       SQ_JOB_GROUP_BANKS_MAX);
    if (tiles_m > SQ_JOB_GROUPS_MAX / tiles_n || tiles_m * tiles_n > SQ_JOB_GROUPS_MAX / groups)
        return SQ_FAIL(err, SQ_ERR_RANGE, "%zu x %zu tiles of %zu groups, need <= %u together",
                       tiles_m, tiles_n, groups, SQ_JOB_GROUPS_MAX);
    *job = (struct sq_job){(uint32_t)banks, (uint32_t)(tiles_m * tiles_n * groups)};
    return SQ_OK;
}

static double pe_cycles(const struct sq_core_config *config, uint64_t cycles)
{
    return (double)cycles * config->rows * config->cols;
}

double sq_utilisation_low(const struct sq_core_config *config, size_t m, size_t n, size_t k,
                          uint64_t cycles)
{
    return sq_utilisation((double)m * (double)n * (double)k,
                          pe_cycles(config, cycles) * config->low_lanes);
}

double sq_utilisation_high(const struct sq_core_config *config, size_t m, size_t n, size_t k,
                           uint64_t cycles)
{
    const double high = (double)k / config->bank * config->high_per_bank;
    return sq_utilisation((double)m * (double)n * high,
                          pe_cycles(config, cycles) * config->high_lanes);
}
