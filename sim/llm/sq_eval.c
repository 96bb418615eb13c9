// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/sq_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/format/sq_cost.h"
#include "sim/format/sq_layer_file.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/llm/sq_sensitivity_scan.h"
#include "sim/llm/sq_sparsity_scan.h"

// What one evaluation is made of.
struct run {
    const struct sq_recipe *r;        // NULL: the model as it is
    const struct sq_layer_file *file; // weights from there; NULL: quantized here
    struct sq_llama *calib;           // NULL: not calibrated
    const uint8_t *is_dense;          // by layer of the model; NULL: none
    double nbits, weights, columns;   // of the layers so far; columns: with padding
    double act_nbits, inputs;         // of them: bits of a token's activations, their number
    struct sq_llama eval;
    sq_eval_report *report;
    void *context;
    const float *reference;            // last hidden states of the model as it is; NULL: alone
    struct sq_divergence *divergence;  // from it
    const struct sq_eval_watch *watch; // may be NULL
};

static void say(const struct sq_eval_watch *watch, enum sq_eval_stage stage, size_t block,
                size_t n_blocks)
{
    if (watch)
        watch->begins(watch->context, stage, block, n_blocks);
}

// The layers of a block from a file.
static enum sq_status load(const struct run *run, size_t block,
                           struct sq_quant_layer layer[SQ_BLOCK_LAYERS], struct sq_error *err)
{
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++) {
        const struct sq_layer *l = &run->eval.ck->layer[block * SQ_BLOCK_LAYERS + i];
        SQ_TRY(sq_layer_file_find(run->file, l->name, l->n, l->k, &layer[i], err));
    }
    return SQ_OK;
}

static double act_nbits(const struct run *run, size_t block, size_t i)
{
    const struct sq_layer *l = &run->eval.ck->layer[block * SQ_BLOCK_LAYERS + i];
    return sq_cost_act_nbits(sq_recipe_of_layer(run->r, l->name));
}

// One block of both token sets, in lock step.
static enum sq_status step(struct run *run, size_t block, struct sq_error *err)
{
    struct sq_eval_inputs in = {0};
    struct sq_quant_layer layer[SQ_BLOCK_LAYERS] = {0};
    enum sq_status status = SQ_OK;
    const size_t n_blocks = run->eval.ck->config.n_layers;
    if (!run->r) {
        say(run->watch, SQ_EVAL_REFERENCE, block, n_blocks);
        return sq_llama_block(&run->eval, block, NULL, NULL, err);
    }
    const bool is_behind = run->calib && run->r->is_sequential;
    if (run->calib && !is_behind)
        say(run->watch, SQ_EVAL_CALIBRATION, block, n_blocks);
    if (run->calib && !is_behind)
        status = sq_eval_collect(run->calib, block, sq_recipe_needs(run->r), &in, err);
    say(run->watch, SQ_EVAL_ENCODING, block, n_blocks);
    if (is_behind)
        status = sq_eval_encode_behind(run->calib, block, run->r, run->is_dense, layer, err);
    if (status == SQ_OK && !is_behind)
        status = run->file ? load(run, block, layer, err)
                           : sq_eval_encode(run->eval.ck, block, run->r, run->calib ? &in : NULL,
                                            run->is_dense, layer, err);
    sq_eval_inputs_free(&in);
    say(run->watch, SQ_EVAL_PRODUCTS, block, n_blocks);
    if (status == SQ_OK)
        status = sq_eval_block(&run->eval, block, run->r, layer, run->is_dense, run->report,
                               run->context, err);
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++) {
        if (status == SQ_OK) {
            run->nbits += sq_quant_layer_nbits(&layer[i]);
            run->weights += (double)layer[i].n * (double)layer[i].k_orig;
            run->columns += (double)layer[i].n * (double)layer[i].k;
            run->act_nbits += (double)layer[i].k_orig * act_nbits(run, block, i);
            run->inputs += (double)layer[i].k_orig;
        }
        sq_quant_layer_free(&layer[i]);
    }
    return status;
}

// The loss of the tokens, and where there is a reference how far from it they are.
static enum sq_status score(struct run *run, double *nll, struct sq_error *err)
{
    struct sq_llama *s = &run->eval;
    if (!run->reference)
        return sq_llama_nll(s, nll, err);
    const size_t count = sq_tokens_count(s->tokens);
    struct sq_token_score *token = calloc(count, sizeof *token);
    enum sq_status status =
        token ? sq_llama_norm(s, err)
              : SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for the scores of %zu tokens", count);
    if (status == SQ_OK)
        status = sq_logits_score(s->ck, s->tokens, s->x, run->reference, token, err);
    if (status == SQ_OK)
        status = sq_logits_nll(s->tokens, token, nll, err);
    if (status == SQ_OK)
        status = sq_divergence_of(s->tokens, token, run->divergence, err);
    free(token);
    return status;
}

static enum sq_status run_all(struct run *run, const struct sq_checkpoint *ck,
                              const struct sq_tokens *tokens, struct sq_eval_result *result,
                              struct sq_error *err)
{
    double nll = 0;
    *result = (struct sq_eval_result){0};
    if (sq_tokens_predicted(tokens) == 0)
        return SQ_FAIL(err, SQ_ERR_RANGE, "no token is predicted, need 1 or more");
    if (run->r)
        SQ_TRY(sq_recipe_check(run->r, err));
    enum sq_status status = sq_llama_init(&run->eval, ck, tokens, err);
    for (size_t i = 0; status == SQ_OK && i < ck->config.n_layers; i++)
        status = step(run, i, err);
    say(run->watch, SQ_EVAL_SCORES, ck->config.n_layers, ck->config.n_layers);
    if (status == SQ_OK)
        status = score(run, &nll, err);
    sq_llama_free(&run->eval);
    result->n_tokens = sq_tokens_predicted(tokens);
    result->loss = nll / (double)result->n_tokens;
    result->perplexity = exp(result->loss);
    result->stored_bits = run->r ? run->nbits / run->weights : NAN;
    result->payload_bits = run->r ? run->nbits / run->columns : NAN;
    result->act_bits = run->r ? run->act_nbits / run->inputs : NAN;
    for (size_t i = 0; run->is_dense && i < ck->n_layers; i++)
        result->n_dense_layers += run->is_dense[i];
    return status;
}

static enum sq_status eval_recipe(struct run *run, const struct sq_checkpoint *ck,
                                  const struct sq_tokens *calib, const struct sq_tokens *tokens,
                                  struct sq_eval_result *result, struct sq_error *err)
{
    const struct sq_recipe *r = run->r;
    struct sq_llama c = {0};
    uint8_t *is_dense = NULL;
    double *error = NULL, *sparsity = NULL;
    struct sq_recipe greedy;
    enum sq_status status = r ? sq_recipe_check(r, err) : SQ_OK;
    if (status == SQ_OK && r && sq_recipe_needs_calibration(r)) {
        if (!calib)
            return SQ_FAIL(err, SQ_ERR_ARG, "this recipe needs calibration tokens");
        if (r->dense_fraction > 0 || r->is_greedy)
            say(run->watch, SQ_EVAL_SCAN, 0, ck->config.n_layers);
        if (r->dense_fraction > 0) {
            is_dense = calloc(ck->n_layers, 1);
            error = calloc(ck->n_layers, sizeof *error);
            status = is_dense && error ? sq_eval_sensitive(ck, calib, r, error, is_dense, err)
                                       : SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu layers",
                                                 ck->n_layers);
            run->is_dense = is_dense;
        }
        if (r->is_greedy) {
            sparsity = calloc(ck->n_layers, sizeof *sparsity);
            status = sparsity ? sq_sparsity_scan_layers(ck, calib, r, sparsity, err)
                              : SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu layers",
                                        ck->n_layers);
            greedy = *r;
            greedy.layer_sparsity = sparsity;
            run->r = &greedy;
        }
        if (status == SQ_OK)
            status = sq_llama_init(&c, ck, calib, err);
        run->calib = &c;
    }
    if (status == SQ_OK)
        status = run_all(run, ck, tokens, result, err);
    sq_llama_free(&c);
    free(is_dense);
    free(error);
    free(sparsity);
    return status;
}

enum sq_status sq_eval(const struct sq_checkpoint *ck, const struct sq_tokens *calib,
                       const struct sq_tokens *tokens, const struct sq_recipe *r,
                       sq_eval_report *report, void *context, struct sq_eval_result *result,
                       struct sq_error *err)
{
    struct run run = {.r = r, .report = report, .context = context};
    return eval_recipe(&run, ck, calib, tokens, result, err);
}

static enum sq_status eval_file(struct run *run, const char *path, const struct sq_checkpoint *ck,
                                const struct sq_tokens *tokens, struct sq_eval_result *result,
                                struct sq_error *err)
{
    struct sq_layer_file file;
    SQ_TRY(sq_layer_file_open(&file, path, NULL, err));
    run->file = &file;
    const enum sq_status status = run_all(run, ck, tokens, result, err);
    sq_layer_file_close(&file);
    return status;
}

enum sq_status sq_eval_file(const struct sq_checkpoint *ck, const char *path,
                            const struct sq_tokens *tokens, const struct sq_recipe *r,
                            sq_eval_report *report, void *context, struct sq_eval_result *result,
                            struct sq_error *err)
{
    struct run run = {.r = r, .report = report, .context = context};
    return eval_file(&run, path, ck, tokens, result, err);
}

// The last hidden states of the model as it is; all else of its pass is gone before the other's.
static enum sq_status reference_states(const struct sq_checkpoint *ck,
                                       const struct sq_tokens *tokens,
                                       const struct sq_eval_watch *watch, float **x,
                                       struct sq_error *err)
{
    struct sq_llama s;
    const size_t count = sq_tokens_count(tokens), nbytes = ck->config.hidden_size * sizeof **x;
    SQ_TRY(sq_llama_init(&s, ck, tokens, err));
    enum sq_status status = SQ_OK;
    for (size_t i = 0; status == SQ_OK && i < ck->config.n_layers; i++) {
        say(watch, SQ_EVAL_REFERENCE, i, ck->config.n_layers);
        status = sq_llama_block(&s, i, NULL, NULL, err);
    }
    if (status == SQ_OK)
        status = sq_llama_norm(&s, err);
    *x = calloc(count, nbytes);
    if (status == SQ_OK && !*x)
        status = SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for the states of %zu tokens", count);
    if (status == SQ_OK)
        memcpy(*x, s.x, count * nbytes);
    sq_llama_free(&s);
    return status;
}

enum sq_status sq_eval_compared(const struct sq_checkpoint *ck, const struct sq_tokens *calib,
                                const char *path, const struct sq_tokens *tokens,
                                const struct sq_recipe *r, sq_eval_report *report, void *context,
                                const struct sq_eval_watch *watch, struct sq_eval_result *result,
                                struct sq_divergence *divergence, struct sq_error *err)
{
    float *x = NULL;
    struct run run = {
        .r = r, .report = report, .context = context, .divergence = divergence, .watch = watch};
    if (!r)
        return run_all(&run, ck, tokens, result, err);
    enum sq_status status = reference_states(ck, tokens, watch, &x, err);
    run.reference = x;
    if (status == SQ_OK)
        status = path ? eval_file(&run, path, ck, tokens, result, err)
                      : eval_recipe(&run, ck, calib, tokens, result, err);
    free(x);
    return status;
}
