// SPDX-License-Identifier: Apache-2.0
// Calibrates, encodes, runs and scores a model under one recipe or several (sq_eval.h).
#include "sim/llm/sq_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/format/sq_cost.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/llm/sq_layer_file.h"
#include "sim/llm/sq_layer_scan.h"

// One format on its way through the blocks.
struct run {
    const struct sq_recipe *r;     // NULL: the model as it is
    bool is_from_file;             // weights from `file`, else quantized here
    struct sq_layer_file file;     //
    struct sq_layer_choice choice; // of the scan
    double nbits, weights;         // of the layers so far
    double columns;                // with padding
    double act_nbits, inputs;      // bits of a token's activations, their number
    struct sq_llama eval;          //
    struct sq_llama behind;        // calibration behind encoded layers; empty: it is the shared one
    struct sq_eval_job *job;       //
    struct sq_token_score *score;  // [tokens]
};

// All of them, and what they share.
struct evaluation {
    const struct sq_checkpoint *ck;
    const struct sq_tokens *calib_tokens, *tokens; // calib_tokens may be NULL
    struct run run[SQ_EVAL_JOBS];
    size_t n_runs;
    struct sq_llama calib; // the model as it is over the calibration tokens; empty: nobody needs it
    unsigned needs;        // of all that read it, enum sq_need
    const float *reference; // last hidden states of the model as it is; NULL: not compared
    const struct sq_eval_watch *watch; // may be NULL
};

static void say(const struct sq_eval_watch *watch, enum sq_eval_stage stage, size_t block,
                size_t n_blocks)
{
    if (watch)
        watch->begins(watch->context, stage, block, n_blocks);
}

// Whether it differs from the model as it is.
static bool is_compared(const struct sq_eval_job *job)
{
    return job->r || job->cache || job->softmax_lanes;
}

static bool is_calibrated(const struct run *run)
{
    return run->r && !run->is_from_file && sq_recipe_needs_calibration(run->r);
}

// in: what the shared calibration saw.
static enum sq_status encode(struct run *run, size_t block, const struct sq_eval_inputs *in,
                             struct sq_quant_layer layer[SQ_BLOCK_LAYERS], struct sq_error *err)
{
    if (run->is_from_file)
        return sq_layer_file_block(&run->file, &run->eval.ck->layer[block * SQ_BLOCK_LAYERS],
                                   SQ_BLOCK_LAYERS, layer, err);
    if (run->behind.ck)
        return sq_eval_encode_behind(&run->behind, block, run->r, &run->choice, layer, err);
    // What others need and this recipe does not is none of its business.
    struct sq_eval_inputs mine = *in;
    if (!(sq_recipe_needs(run->r) & SQ_NEED_SAMPLE))
        memset(mine.sample, 0, sizeof mine.sample);
    return sq_eval_encode(run->eval.ck, block, run->r, is_calibrated(run) ? &mine : NULL,
                          &run->choice, layer, err);
}

static void count(struct run *run, size_t block, const struct sq_quant_layer *layer)
{
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++) {
        const char *name = run->eval.ck->layer[block * SQ_BLOCK_LAYERS + i].name;
        run->nbits += sq_quant_layer_nbits(&layer[i]);
        run->weights += (double)layer[i].n * (double)layer[i].k_orig;
        run->columns += (double)layer[i].n * (double)layer[i].k;
        run->act_nbits +=
            (double)layer[i].k_orig * sq_cost_act_nbits(sq_recipe_of_layer(run->r, name));
        run->inputs += (double)layer[i].k_orig;
    }
}

// One block of run j.
static enum sq_status step(struct evaluation *e, size_t j, size_t block,
                           const struct sq_eval_inputs *in, struct sq_error *err)
{
    struct run *run = &e->run[j];
    SQ_CLOSED(sq_eval_layers_free) struct sq_quant_layer layer[SQ_BLOCK_LAYERS] = {0};
    const size_t at = block * e->n_runs + j, n_blocks = e->ck->config.n_layers * e->n_runs;
    if (!run->r) {
        say(e->watch, SQ_EVAL_REFERENCE, at, n_blocks);
        return sq_llama_block(&run->eval, block, NULL, NULL, err);
    }
    say(e->watch, SQ_EVAL_ENCODING, at, n_blocks);
    const enum sq_status status = encode(run, block, in, layer, err);
    say(e->watch, SQ_EVAL_PRODUCTS, at, n_blocks);
    SQ_TRY(status);
    SQ_TRY(sq_eval_block(&run->eval, block, run->r, layer, run->choice.is_dense, run->job->report,
                         run->job->context, err));
    count(run, block, layer);
    return SQ_OK;
}

// A block of all of them.
static enum sq_status step_all(struct evaluation *e, size_t block, struct sq_error *err)
{
    SQ_CLOSED(sq_eval_inputs_free) struct sq_eval_inputs in = {0};
    if (e->calib.ck) {
        say(e->watch, SQ_EVAL_CALIBRATION, block * e->n_runs, e->ck->config.n_layers * e->n_runs);
        SQ_TRY(sq_eval_collect(&e->calib, block, e->needs, &in, err));
    }
    for (size_t j = 0; j < e->n_runs; j++)
        SQ_TRY(step(e, j, block, &in, err));
    return SQ_OK;
}

// ---- scores -----------------------------------------------------------------------------------

// The loss of every run, and where there is a reference how far from it they are.
static enum sq_status score(struct evaluation *e, struct sq_error *err)
{
    const size_t n = sq_tokens_count(e->tokens);
    const float *x[SQ_EVAL_JOBS];
    struct sq_token_score *token[SQ_EVAL_JOBS];
    for (size_t j = 0; j < e->n_runs; j++) {
        struct run *run = &e->run[j];
        struct sq_llama *s = &run->eval;
        run->score = calloc(n, sizeof *run->score);
        SQ_NEED(run->score, err, "the scores of %zu tokens", n);
        SQ_TRY(sq_llama_norm(s, err)); // into memory that they share
        memcpy(s->h, s->x, n * e->ck->config.hidden_size * sizeof *s->h);
        x[j] = s->h;
        token[j] = run->score;
    }
    SQ_TRY(sq_logits_score_all(e->ck, e->tokens, x, e->n_runs, e->reference, token, err));
    for (size_t j = 0; j < e->n_runs; j++) {
        struct run *run = &e->run[j];
        struct sq_eval_result *result = &run->job->result;
        double nll;
        SQ_TRY(sq_logits_nll(e->tokens, run->score, &nll, err));
        if (is_compared(run->job) && e->reference)
            SQ_TRY(sq_divergence_of(e->tokens, run->score, &run->job->divergence, err));
        if (j > 0 && is_compared(run->job) && is_compared(e->run[0].job) && e->reference)
            SQ_TRY(sq_divergence_compare(e->tokens, e->run[0].score, run->score, &run->job->pair,
                                         err));
        result->n_tokens = sq_tokens_predicted(e->tokens);
        result->loss = nll / (double)result->n_tokens;
        result->perplexity = exp(result->loss);
        result->stored_bits = run->r ? run->nbits / run->weights : NAN;
        result->payload_bits = run->r ? run->nbits / run->columns : NAN;
        result->act_bits = run->r ? run->act_nbits / run->inputs : NAN;
        for (size_t i = 0; run->choice.is_dense && i < e->ck->n_layers; i++)
            result->n_dense_layers += run->choice.is_dense[i];
    }
    return SQ_OK;
}

// ---- before the first block -------------------------------------------------------------------

static enum sq_status scan(struct evaluation *e, struct run *run, struct sq_error *err)
{
    if (!sq_layer_scan_is_needed(run->r))
        return SQ_OK;
    say(e->watch, SQ_EVAL_SCAN, 0, e->ck->config.n_layers);
    return sq_layer_scan(e->ck, e->calib_tokens, run->r, &run->choice, err);
}

// Weights, scans and the passes over the calibration tokens of run j.
static enum sq_status prepare(struct evaluation *e, struct run *run, struct sq_error *err)
{
    if (!run->r)
        return SQ_OK;
    SQ_TRY(sq_recipe_check(run->r, err));
    if (run->job->path) {
        SQ_TRY(sq_layer_file_open(&run->file, run->job->path, NULL, err));
        run->is_from_file = true;
    }
    if (!is_calibrated(run))
        return SQ_OK;
    SQ_FAIL_IF(!e->calib_tokens, err, SQ_ERR_ARG, "this recipe needs calibration tokens");
    SQ_TRY(scan(e, run, err));
    if (run->r->is_sequential)
        return sq_llama_init(&run->behind, e->ck, e->calib_tokens, err);
    e->needs |= sq_recipe_needs(run->r);
    return e->calib.ck ? SQ_OK : sq_llama_init(&e->calib, e->ck, e->calib_tokens, err);
}

static enum sq_status evaluate(struct evaluation *e, struct sq_error *err)
{
    const size_t n_blocks = e->ck->config.n_layers * e->n_runs;
    SQ_FAIL_IF(sq_tokens_predicted(e->tokens) == 0, err, SQ_ERR_RANGE,
               "no token is predicted, need 1 or more");
    for (size_t j = 0; j < e->n_runs; j++)
        SQ_TRY(prepare(e, &e->run[j], err));
    for (size_t j = 0; j < e->n_runs; j++)
        SQ_TRY(j ? sq_llama_init_beside(&e->run[j].eval, &e->run[0].eval, err)
                 : sq_llama_init(&e->run[0].eval, e->ck, e->tokens, err));
    for (size_t j = 0; j < e->n_runs; j++) {
        e->run[j].eval.cache = e->run[j].job->cache;
        e->run[j].eval.is_cached_before = e->run[j].job->is_cached_before;
        e->run[j].eval.softmax_lanes = e->run[j].job->softmax_lanes;
    }
    for (size_t i = 0; i < e->ck->config.n_layers; i++)
        SQ_TRY(step_all(e, i, err));
    say(e->watch, SQ_EVAL_SCORES, n_blocks, n_blocks);
    return score(e, err);
}

static void clean(struct evaluation *e)
{
    for (size_t j = e->n_runs; j-- > 0;) { // the first owns the memory of the others
        struct run *run = &e->run[j];
        sq_llama_free(&run->eval);
        sq_llama_free(&run->behind);
        if (run->is_from_file)
            sq_layer_file_close(&run->file);
        sq_layer_scan_free(&run->choice);
        free(run->score);
    }
    sq_llama_free(&e->calib);
}

static enum sq_status evaluate_jobs(const struct sq_checkpoint *ck, const struct sq_tokens *calib,
                                    const struct sq_tokens *tokens, struct sq_eval_job *job,
                                    size_t n_jobs, const float *reference,
                                    const struct sq_eval_watch *watch, struct sq_error *err)
{
    SQ_FREED struct evaluation *e = calloc(1, sizeof *e);
    SQ_NEED(e, err, "%zu formats", n_jobs);
    *e = (struct evaluation){.ck = ck,
                             .calib_tokens = calib,
                             .tokens = tokens,
                             .n_runs = n_jobs,
                             .reference = reference,
                             .watch = watch};
    for (size_t j = 0; j < n_jobs; j++) {
        job[j].result = (struct sq_eval_result){0};
        e->run[j] = (struct run){.r = job[j].r, .job = &job[j]};
    }
    const enum sq_status status = evaluate(e, err);
    clean(e);
    return status;
}

// ---- entries ----------------------------------------------------------------------------------

enum sq_status sq_eval(const struct sq_checkpoint *ck, const struct sq_tokens *calib,
                       const struct sq_tokens *tokens, const struct sq_recipe *r,
                       sq_eval_report *report, void *context, struct sq_eval_result *result,
                       struct sq_error *err)
{
    struct sq_eval_job job = {.r = r, .report = report, .context = context};
    const enum sq_status status = evaluate_jobs(ck, calib, tokens, &job, 1, NULL, NULL, err);
    *result = job.result;
    return status;
}

enum sq_status sq_eval_file(const struct sq_checkpoint *ck, const char *path,
                            const struct sq_tokens *tokens, const struct sq_recipe *r,
                            sq_eval_report *report, void *context, struct sq_eval_result *result,
                            struct sq_error *err)
{
    struct sq_eval_job job = {.r = r, .path = path, .report = report, .context = context};
    const enum sq_status status = evaluate_jobs(ck, NULL, tokens, &job, 1, NULL, NULL, err);
    *result = job.result;
    return status;
}

enum sq_status sq_eval_jobs(const struct sq_checkpoint *ck, const struct sq_tokens *calib,
                            const struct sq_tokens *tokens, struct sq_eval_job *job, size_t n_jobs,
                            const struct sq_reference_cache *cache,
                            const struct sq_eval_watch *watch, struct sq_error *err)
{
    SQ_FREED float *x = NULL;
    bool has_reference = false;
    SQ_FAIL_IF(n_jobs < 1 || n_jobs > SQ_EVAL_JOBS, err, SQ_ERR_RANGE, "%zu formats, need 1..%d",
               n_jobs, SQ_EVAL_JOBS);
    for (size_t j = 0; j < n_jobs; j++)
        has_reference = has_reference || is_compared(&job[j]);
    SQ_TRY(has_reference ? sq_reference_states(ck, tokens, cache, watch, &x, err) : SQ_OK);
    return evaluate_jobs(ck, calib, tokens, job, n_jobs, x, watch, err);
}
