// SPDX-License-Identifier: Apache-2.0
#include "sim/cosim/sq_core_cosim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/sq_gather.h"
#include "sim/cosim/sq_beat.h"

#define CYCLES_WITHOUT_PROGRESS 100000u // far above the longest stall (16000 cycles)

uint64_t sq_core_golden_tile(const struct sq_core_config *config,
                             const struct sq_core_operands *operands, uint64_t first, uint32_t n,
                             int32_t *p_lo, int32_t *p_hi)
{
    const unsigned b = config->bank, k = config->high_per_bank;
    const size_t tile = (size_t)config->rows * config->cols;
    uint64_t illegal = 0;

    memset(p_lo, 0, tile * sizeof *p_lo);
    memset(p_hi, 0, tile * sizeof *p_hi);
    for (uint64_t j = first; j < first + n; j++)
        for (unsigned r = 0; r < config->rows; r++)
            for (unsigned c = 0; c < config->cols; c++) {
                const uint64_t at = j % operands->n_banks;
                const int8_t *act = operands->act + (at * config->rows + r) * b;
                const int8_t *lo = operands->lo + (at * config->cols + c) * b;
                const int8_t *hi = operands->hi + (at * config->cols + c) * k;
                int8_t clean[SQ_BANK_MAX], gathered[SQ_BANK_MAX];
                if (!sq_gather_bank(lo, act, b, k, config->low_bits, clean, gathered))
                    illegal |= UINT64_C(1) << c;
                int32_t *const sum_lo = &p_lo[(size_t)r * config->cols + c];
                int32_t *const sum_hi = &p_hi[(size_t)r * config->cols + c];
                for (unsigned i = 0; i < b; i++)
                    *sum_lo += clean[i] * act[i];
                for (unsigned t = 0; t < k; t++)
                    *sum_hi += hi[t] * gathered[t];
            }
    return illegal;
}

// ---- one run --------------------------------------------------------------------------------

// The port words of one stream.
struct beat {
    uint32_t *words;
    size_t n_words;
};

struct run {
    const struct sq_core_case *c;
    const struct sq_rtl_api *rtl;
    void *model;
    struct sq_core_sim sim;
    struct sq_streams streams;
    struct sq_rng noise;
    struct beat act, lo, hi;
    uint64_t act_beat, lo_beat, hi_beat; // beats offered so far and taken
    bool act_fresh, lo_fresh, hi_fresh;  // the offered beat has been filled in
    unsigned job;                        // next to be accepted
    uint32_t gap;                        // idle cycles left before it is offered
    uint64_t tile_bank;                  // first bank of the next tile
    uint32_t tiles_left;                 // of the running job
    uint32_t tile_banks;                 // banks of a tile of the running job
    uint64_t illegal;                    // columns with an illegal bank so far (golden model)
    int32_t *p_lo, *p_hi;
    uint32_t *got_lo, *got_hi;
    struct sq_core_cosim_result *result;
};

static bool alloc_run(struct run *run)
{
    const struct sq_core_config *g = &run->c->config;
    const size_t tile = (size_t)g->rows * g->cols;
    run->act.n_words = sq_beat_words((size_t)g->rows * g->low_lanes * g->act_bits);
    run->lo.n_words = sq_beat_words((size_t)g->cols * g->low_lanes * g->low_bits);
    run->hi.n_words = sq_beat_words((size_t)g->cols * g->high_lanes * g->high_bits);
    run->act.words = calloc(run->act.n_words, sizeof(uint32_t));
    run->lo.words = calloc(run->lo.n_words, sizeof(uint32_t));
    run->hi.words = calloc(run->hi.n_words, sizeof(uint32_t));
    run->p_lo = calloc(tile, sizeof(int32_t));
    run->p_hi = calloc(tile, sizeof(int32_t));
    run->got_lo = calloc(tile + 1, sizeof(uint32_t));
    run->got_hi = calloc(tile + 1, sizeof(uint32_t));
    return run->act.words && run->lo.words && run->hi.words && run->p_lo && run->p_hi &&
           run->got_lo && run->got_hi;
}

static void free_run(struct run *run)
{
    if (run->model)
        run->rtl->destroy(run->model);
    free(run->act.words);
    free(run->lo.words);
    free(run->hi.words);
    free(run->p_lo);
    free(run->p_hi);
    free(run->got_lo);
    free(run->got_hi);
}

// Fills in the beats that are offered for the first time in this cycle.
static void offer_beats(struct run *run, const struct sq_core_in *in)
{
    const struct sq_core_config *g = &run->c->config;
    const struct sq_core_operands *o = &run->c->operands;
    const unsigned low_steps = run->sim.low_steps, high_steps = run->sim.high_steps;

    if (in->act_valid && !run->act_fresh) {
        const uint64_t j = run->act_beat / low_steps % o->n_banks;
        sq_beat_fill(run->act.words, run->act.n_words, o->act + j * g->rows * g->bank, g->rows,
                     g->low_lanes, g->bank, (unsigned)(run->act_beat % low_steps), g->act_bits,
                     &run->noise);
        run->act_fresh = true;
    }
    if (in->lo_valid && !run->lo_fresh) {
        const uint64_t j = run->lo_beat / low_steps % o->n_banks;
        sq_beat_fill(run->lo.words, run->lo.n_words, o->lo + j * g->cols * g->bank, g->cols,
                     g->low_lanes, g->bank, (unsigned)(run->lo_beat % low_steps), g->low_bits,
                     &run->noise);
        run->lo_fresh = true;
    }
    if (in->hi_valid && !run->hi_fresh) {
        const uint64_t j = run->hi_beat / high_steps % o->n_banks;
        sq_beat_fill(run->hi.words, run->hi.n_words, o->hi + j * g->cols * g->high_per_bank,
                     g->cols, g->high_lanes, g->high_per_bank,
                     (unsigned)(run->hi_beat % high_steps), g->high_bits, &run->noise);
        run->hi_fresh = true;
    }
}

static bool differ(struct run *run, enum sq_mismatch_kind kind, const char *what, int64_t got,
                   int64_t want)
{
    struct sq_mismatch *m = &run->result->mismatch;
    if (got == want)
        return false;
    m->kind = kind;
    m->cycle = run->result->cycles;
    m->tile = run->result->tiles;
    m->what = what;
    m->got = got;
    m->want = want;
    return true;
}

static bool check_handshakes(struct run *run, const struct sq_rtl_core_out *got,
                             const struct sq_core_out *want)
{
    const enum sq_mismatch_kind k = SQ_MISMATCH_HANDSHAKE;
    return !differ(run, k, "job_ready_o", got->job_ready, want->job_ready) &&
           !differ(run, k, "act_ready_o", got->act_ready, want->act_ready) &&
           !differ(run, k, "lo_ready_o", got->lo_ready, want->lo_ready) &&
           !differ(run, k, "hi_ready_o", got->hi_ready, want->hi_ready) &&
           !differ(run, k, "out_valid_o", got->out_valid, want->out_valid);
}

// A tile leaves: its integers against the golden model.
static bool check_tile(struct run *run)
{
    const struct sq_core_config *g = &run->c->config;
    run->illegal |= sq_core_golden_tile(g, &run->c->operands, run->tile_bank, run->tile_banks,
                                        run->p_lo, run->p_hi);
    run->rtl->core_tile(run->model, run->got_lo, run->got_hi);
    for (unsigned i = 0; i < g->rows * g->cols; i++) {
        const bool bad =
            differ(run, SQ_MISMATCH_VALUE, "p_lo", (int32_t)run->got_lo[i], run->p_lo[i]) ||
            differ(run, SQ_MISMATCH_VALUE, "p_hi", (int32_t)run->got_hi[i], run->p_hi[i]);
        if (bad) {
            run->result->mismatch.row = i / g->cols;
            run->result->mismatch.col = i % g->cols;
            return false;
        }
    }
    run->tile_bank += run->tile_banks;
    run->tiles_left--;
    run->result->tiles++;
    return true;
}

// After the last tile of a job: counters and the sticky error flags.
static bool check_job_end(struct run *run)
{
    uint32_t low[SQ_N_CAUSES], high[SQ_N_CAUSES], error[2] = {0, 0};
    const struct sq_core_stats *want = &run->sim.stats;
    run->rtl->core_status(run->model, low, high, error);
    for (unsigned i = 0; i < SQ_N_CAUSES; i++) {
        const char *name = sq_cause_name((enum sq_cause)i);
        if (differ(run, SQ_MISMATCH_COUNTER, name, low[i], (int64_t)want->low[i]) ||
            differ(run, SQ_MISMATCH_COUNTER, name, high[i], (int64_t)want->high[i]))
            return false;
    }
    const uint64_t flags = (uint64_t)error[1] << 32 | error[0];
    run->result->stats = *want;
    return !differ(run, SQ_MISMATCH_MASK_ERROR, "mask_error_o", (int64_t)flags,
                   (int64_t)run->illegal);
}

// What fired in this cycle.
static void count_beats(struct run *run, const struct sq_core_in *in, const struct sq_core_out *out)
{
    const bool act = in->act_valid && out->act_ready, lo = in->lo_valid && out->lo_ready;
    const bool hi = in->hi_valid && out->hi_ready, tile = out->out_valid && in->out_ready;
    run->act_beat += act;
    run->lo_beat += lo;
    run->hi_beat += hi;
    run->act_fresh = run->act_fresh && !act;
    run->lo_fresh = run->lo_fresh && !lo;
    run->hi_fresh = run->hi_fresh && !hi;
    run->result->beats += (uint64_t)act + lo + hi + tile;
}

// One cycle of both sides. False: they differ.
static bool cycle(struct run *run)
{
    const struct sq_core_case *c = run->c;
    const bool is_idle = !sq_core_active(&run->sim);
    struct sq_core_in in = {.job_valid = run->job < c->n_jobs && run->gap == 0};
    struct sq_core_out out;
    struct sq_rtl_core_out got;

    if (is_idle && run->gap > 0)
        run->gap--;
    // A job that is not offered is noise.
    const uint32_t noise = (uint32_t)(run->result->cycles * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    in.job = in.job_valid ? c->job[run->job] : (struct sq_job){noise & 0xffff, noise};
    sq_streams_drive(&run->streams, &in);
    sq_core_comb(&run->sim, &in, &out);
    offer_beats(run, &in);
    const struct sq_rtl_core_in drive = {.job_valid = in.job_valid,
                                         .act_valid = in.act_valid,
                                         .lo_valid = in.lo_valid,
                                         .hi_valid = in.hi_valid,
                                         .out_ready = in.out_ready,
                                         .group_banks = in.job.group_banks,
                                         .groups = in.job.groups,
                                         .act = run->act.words,
                                         .lo = run->lo.words,
                                         .hi = run->hi.words};
    run->rtl->core_comb(run->model, &drive, &got);
    if (!check_handshakes(run, &got, &out))
        return false;
    if (out.out_valid && in.out_ready && !check_tile(run))
        return false;
    count_beats(run, &in, &out);

    const bool was_active = sq_core_active(&run->sim);
    if (in.job_valid && out.job_ready) {
        run->tile_banks = in.job.group_banks;
        run->tiles_left = in.job.groups;
        run->job++;
        run->gap = c->job_gap;
    }
    sq_streams_clock(&run->streams, &in, &out);
    sq_core_clock(&run->sim, &in);
    run->rtl->clock(run->model);
    run->result->cycles++;
    return !was_active || sq_core_active(&run->sim) || check_job_end(run);
}

static void run_to_end(struct run *run)
{
    uint64_t quiet = 0, beats = 0;
    run->gap = run->c->job_gap;
    while (run->job < run->c->n_jobs || sq_core_active(&run->sim) || run->gap > 0) {
        if (!cycle(run) || (run->c->max_cycles > 0 && run->result->cycles == run->c->max_cycles))
            return;
        quiet = run->result->beats == beats ? quiet + 1 : 0;
        beats = run->result->beats;
        if (quiet > CYCLES_WITHOUT_PROGRESS) {
            (void)differ(run, SQ_MISMATCH_HANG, "progress", 0, 1);
            return;
        }
    }
}

enum sq_status sq_core_cosim_run(const struct sq_core_case *c, const struct sq_rtl_api *rtl,
                                 const char *fst_path, uint64_t fst_from,
                                 struct sq_core_cosim_result *result, struct sq_error *err)
{
    struct run run = {.c = c, .rtl = rtl, .result = result, .noise = {c->seed}};
    memset(result, 0, sizeof *result);
    assert(c->n_jobs >= 1 && c->n_jobs <= SQ_CASE_JOBS_MAX);

    enum sq_status status = SQ_OK;
    if (!alloc_run(&run)) {
        status = SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a co-simulation");
        goto out;
    }
    run.model = rtl->create(c->seed, fst_path, fst_from);
    if (!run.model) {
        status = SQ_FAIL(err, SQ_ERR_IO, "cannot write the trace %s", fst_path ? fst_path : "");
        goto out;
    }
    sq_core_reset(&run.sim, &c->config);
    sq_streams_init(&run.streams, c->stall, c->seed);
    for (unsigned i = 0; i < c->n_jobs; i++)
        sq_streams_add(&run.streams, &c->config, &c->job[i]);
    run_to_end(&run);
out:
    free_run(&run);
    return status;
}
