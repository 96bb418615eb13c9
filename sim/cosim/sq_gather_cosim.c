// SPDX-License-Identifier: Apache-2.0
#include "sim/cosim/sq_gather_cosim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/sq_gather.h"
#include "sim/block/sq_gather_sim.h"
#include "sim/cosim/sq_beat.h"

struct run {
    const struct sq_core_case *c;
    const struct sq_rtl_api *rtl;
    void *model;
    struct sq_gather_sim sim;
    struct sq_source source, sink;
    struct sq_rng noise; // unused lanes do not exist here, sq_beat_fill wants one
    uint64_t sent, received;
    uint32_t *code, *act; // the offered bank
    size_t code_words, act_words;
    uint32_t *got_clean, *got_act;
    struct sq_core_cosim_result *result;
};

static bool alloc_run(struct run *run)
{
    const struct sq_core_config *g = &run->c->config;
    run->code_words = sq_beat_words((size_t)g->bank * g->low_bits);
    run->act_words = sq_beat_words((size_t)g->rows * g->bank * g->act_bits);
    run->code = calloc(run->code_words, sizeof(uint32_t));
    run->act = calloc(run->act_words, sizeof(uint32_t));
    run->got_clean = calloc(run->code_words, sizeof(uint32_t));
    run->got_act = calloc(run->act_words, sizeof(uint32_t));
    return run->code && run->act && run->got_clean && run->got_act;
}

static void free_run(struct run *run)
{
    if (run->model)
        run->rtl->destroy(run->model);
    free(run->code);
    free(run->act);
    free(run->got_clean);
    free(run->got_act);
}

static bool differ(struct run *run, enum sq_mismatch_kind kind, const char *what, unsigned row,
                   unsigned col, int64_t got, int64_t want)
{
    if (got == want)
        return false;
    run->result->mismatch =
        (struct sq_mismatch){kind, run->result->cycles, run->received, row, col, what, got, want};
    return true;
}

// The bank that leaves against the golden model; row = token, col = element or slot.
static bool check_beat(struct run *run, const struct sq_rtl_gather_out *got)
{
    const struct sq_core_config *g = &run->c->config;
    const int8_t *lo = run->c->operands.lo + run->received * g->bank;
    const int8_t *act = run->c->operands.act + run->received * g->rows * g->bank;
    const enum sq_mismatch_kind kind = SQ_MISMATCH_VALUE;
    int8_t clean[SQ_BANK_MAX], gathered[SQ_BANK_MAX];

    run->rtl->gather_beat(run->model, run->got_clean, run->got_act);
    for (unsigned r = 0; r < g->rows; r++) {
        const bool legal = sq_gather_bank(lo, act + r * g->bank, g->bank, g->high_per_bank,
                                          g->low_bits, clean, gathered);
        if (differ(run, SQ_MISMATCH_MASK_ERROR, "out_error_o", r, 0, got->error, !legal))
            return false;
        for (unsigned t = 0; t < g->high_per_bank; t++)
            if (differ(run, kind, "act", r, t,
                       sq_beat_field(run->got_act, r * g->high_per_bank + t, g->act_bits),
                       gathered[t]))
                return false;
    }
    for (unsigned i = 0; i < g->bank; i++)
        if (differ(run, kind, "clean", 0, i, sq_beat_field(run->got_clean, i, g->low_bits),
                   clean[i]))
            return false;
    return true;
}

static bool cycle(struct run *run)
{
    const struct sq_core_config *g = &run->c->config;
    const struct sq_core_operands *o = &run->c->operands;
    const bool valid = sq_source_valid(&run->source), ready = sq_sink_ready(&run->sink);
    struct sq_gather_out want;
    struct sq_rtl_gather_out got;

    if (valid) {
        sq_beat_fill(run->code, run->code_words, o->lo + run->sent * g->bank, 1, g->bank, g->bank,
                     0, g->low_bits, &run->noise);
        sq_beat_fill(run->act, run->act_words, o->act + run->sent * g->rows * g->bank, g->rows,
                     g->bank, g->bank, 0, g->act_bits, &run->noise);
    }
    sq_gather_comb(&run->sim, ready, &want);
    const struct sq_rtl_gather_in drive = {valid, ready, run->code, run->act};
    run->rtl->gather_comb(run->model, &drive, &got);
    if (differ(run, SQ_MISMATCH_HANDSHAKE, "in_ready_o", 0, 0, got.in_ready, want.in_ready) ||
        differ(run, SQ_MISMATCH_HANDSHAKE, "out_valid_o", 0, 0, got.out_valid, want.out_valid))
        return false;
    const bool in_fire = valid && want.in_ready, out_fire = want.out_valid && ready;
    if (out_fire && !check_beat(run, &got))
        return false;
    run->sent += in_fire;
    run->received += out_fire;
    run->result->beats += (uint64_t)in_fire + out_fire;
    run->result->tiles += out_fire;
    sq_gather_clock(&run->sim, valid, ready);
    sq_source_clock(&run->source, in_fire);
    sq_sink_clock(&run->sink, out_fire);
    run->rtl->clock(run->model);
    run->result->cycles++;
    return true;
}

enum sq_status sq_gather_cosim_run(const struct sq_core_case *c, const struct sq_rtl_api *rtl,
                                   const char *fst_path, uint64_t fst_from,
                                   struct sq_core_cosim_result *result, struct sq_error *err)
{
    struct run run = {.c = c, .rtl = rtl, .result = result};
    enum sq_status status = SQ_OK;

    memset(result, 0, sizeof *result);
    assert(c->config.cols == 1);
    if (!alloc_run(&run)) {
        status = SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a co-simulation");
        goto out;
    }
    run.model = rtl->create(c->seed, fst_path, fst_from);
    if (!run.model) {
        status = SQ_FAIL(err, SQ_ERR_IO, "cannot write the trace %s", fst_path ? fst_path : "");
        goto out;
    }
    sq_source_init(&run.source, &c->stall[0], c->seed);
    sq_source_init(&run.sink, &c->stall[3], c->seed + 1);
    run.source.left = c->operands.n_banks;
    while (run.received < c->operands.n_banks && cycle(&run))
        continue;
out:
    free_run(&run);
    return status;
}
