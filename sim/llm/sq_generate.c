// SPDX-License-Identifier: Apache-2.0
// Encodes a model, and writes tokens with it (sq_generate.h).
#include "sim/llm/sq_generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/output/sq_combine.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/llm/sq_blockwise.h"
#include "sim/llm/sq_layer_scan.h"
#include "sim/llm/sq_logits.h"

struct generation {
    const struct sq_checkpoint *ck;
    const struct sq_generate_options *o;
    const struct sq_generate_watch *watch;
    struct sq_layer_choice choice;
    struct sq_quant_layer *layer; // [n_layers]; NULL: the model as it is
    struct sq_llama llama;
    struct sq_chip_cost cost; // of the piece at hand
    // With a vector unit: lm_head [vocab_size][hidden_size]; on a chip the program of a token, and what its parts took.
    float *head;
    struct sq_token_program program;
    struct sq_chip_cost part[SQ_TOKEN_PARTS];
    float *logit;
    double *p; // [vocab_size]
    struct sq_rng rng;
};

// ---- encoding ---------------------------------------------------------------------------------------

static enum sq_status encode_block(struct generation *g, struct sq_llama *calib, size_t block,
                                   struct sq_error *err)
{
    const size_t first = block * SQ_BLOCK_LAYERS;
    struct sq_quant_layer *const layer = g->layer + first;
    const struct sq_recipe *const r = g->o->recipe;
    if (g->o->file)
        return sq_layer_file_block(g->o->file, &g->ck->layer[first], SQ_BLOCK_LAYERS, layer, err);
    return calib && r->is_sequential
               ? sq_eval_encode_behind(calib, block, r, &g->choice, layer, err)
               : sq_eval_calibrated(calib, g->ck, block, r, &g->choice, layer, err);
}

static enum sq_status encode(struct generation *g, struct sq_error *err)
{
    const size_t n_blocks = g->ck->config.n_layers;
    const bool is_calibrated = !g->o->file && sq_recipe_needs_calibration(g->o->recipe);
    SQ_CLOSED(sq_llama_free) struct sq_llama calib = {0};
    g->layer = calloc(g->ck->n_layers, sizeof *g->layer);
    SQ_NEED(g->layer, err, "%zu layers", g->ck->n_layers);
    SQ_FAIL_IF(is_calibrated && !g->o->calib, err, SQ_ERR_ARG,
               "this recipe needs calibration tokens");
    if (is_calibrated) {
        SQ_TRY(sq_layer_scan(g->ck, g->o->calib, g->o->recipe, &g->choice, err));
        SQ_TRY(sq_llama_init(&calib, g->ck, g->o->calib, err));
    }
    for (size_t i = 0; i < n_blocks; i++) {
        SQ_TRY(encode_block(g, is_calibrated ? &calib : NULL, i, err));
        if (g->watch->encoded)
            g->watch->encoded(g->watch->context, i + 1, n_blocks);
    }
    return SQ_OK;
}

static size_t most_likely(const float *logit, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        best = logit[i] > logit[best] ? i : best;
    return best;
}

// ---- a pass -----------------------------------------------------------------------------------------

// Inputs and outputs rounded to bfloat16, as they lie in memory between the steps of a chip.
static enum sq_status multiply_halves(const struct sq_quant_layer *q, const struct sq_recipe *r,
                                      const struct sq_llama_linear *l, struct sq_error *err)
{
    SQ_FREED float *const x = malloc(l->m * l->k * sizeof *x);
    SQ_NEED(x, err, "%zu inputs", l->m * l->k);
    for (size_t i = 0; i < l->m * l->k; i++)
        x[i] = sq_combine_round_bf16(l->x[i]);
    SQ_TRY(sq_quant_layer_apply(q, r, x, l->m, l->y, err));
    for (size_t i = 0; i < l->m * l->n; i++)
        l->y[i] = sq_combine_round_bf16(l->y[i]);
    return SQ_OK;
}

static enum sq_status multiply(void *context, const struct sq_llama_linear *l, bool *is_done,
                               struct sq_error *err)
{
    struct generation *const g = context;
    const struct sq_quant_layer *const q = &g->layer[l->layer];
    const struct sq_recipe *const r = sq_recipe_of_layer(g->o->recipe, l->name);
    struct sq_chip_cost cost;
    *is_done = true;
    if (!g->o->chip)
        return g->o->vector_nbytes > 0 ? multiply_halves(q, r, l, err)
                                       : sq_quant_layer_apply(q, r, l->x, l->m, l->y, err);
    SQ_TRY(sq_chip_linear_apply(g->o->chip, q, r, l->name, l->x, l->m, l->y, &cost, err));
    sq_chip_cost_add(&g->cost, &cost);
    return SQ_OK;
}

// A token after the other through the program of a token, whose choice is that of the logits.
static enum sq_status pass_on_chip(struct generation *g, const int32_t *id, size_t n,
                                   struct sq_error *err)
{
    size_t offset[] = {0, 1};
    memset(g->part, 0, sizeof g->part);
    for (size_t i = 0; i < n; i++) {
        const struct sq_tokens one = {
            .n_sequences = 1, .offset = offset, .id = (int32_t *)(uintptr_t)(id + i)};
        int32_t next;
        SQ_TRY(sq_llama_next(&g->llama, &one, err));
        SQ_TRY(sq_token_program_run(&g->program, g->o->chip, id[i], g->llama.past, g->part, &next,
                                    g->logit, err));
        SQ_FAIL_IF((size_t)next != most_likely(g->logit, g->program.vocab), err, SQ_ERR_INTERNAL,
                   "the chip says token %d, of the logits %zu is it", (int)next,
                   most_likely(g->logit, g->program.vocab));
    }
    for (unsigned i = 0; i < SQ_TOKEN_PARTS; i++)
        sq_chip_cost_add(&g->cost, &g->part[i]);
    return SQ_OK;
}

// The logits after the last of these tokens.
static enum sq_status pass(struct generation *g, const int32_t *id, size_t n, struct sq_error *err)
{
    size_t offset[] = {0, n};
    const struct sq_tokens piece = {
        .n_sequences = 1, .offset = offset, .id = (int32_t *)(uintptr_t)id};
    const size_t width = g->ck->config.hidden_size;
    g->cost = (struct sq_chip_cost){0};
    if (g->program.word)
        return pass_on_chip(g, id, n, err);
    SQ_TRY(sq_llama_next(&g->llama, &piece, err));
    for (size_t b = 0; b < g->ck->config.n_layers; b++)
        SQ_TRY(sq_llama_block(&g->llama, b, g->layer ? multiply : NULL, g, err));
    SQ_TRY(sq_llama_norm(&g->llama, err));
    if (g->head)
        return sq_vector_steps_head(g->o->vector_nbytes, g->head, g->llama.x + (n - 1) * width,
                                    g->ck->config.vocab_size, width, g->logit, err);
    return sq_logits_of(g->ck, g->llama.x + (n - 1) * width, g->logit, err);
}

// ---- the next token -----------------------------------------------------------------------------------

// p[n] = e^((logit - the largest) / t); their sum.
static double weigh(const float *logit, size_t n, double t, double *p)
{
    const double most = (double)logit[most_likely(logit, n)];
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        p[i] = exp(((double)logit[i] - most) / t);
        sum += p[i];
    }
    return sum;
}

static size_t draw(struct generation *g, size_t n)
{
    const double sum = weigh(g->logit, n, g->o->temperature, g->p);
    double left = sq_rng_unit(&g->rng) * sum;
    size_t i = 0;
    while (i + 1 < n && left >= g->p[i])
        left -= g->p[i++];
    return i;
}

static enum sq_status choose(struct generation *g, size_t number, size_t m, int32_t *id,
                             struct sq_error *err)
{
    const size_t n = g->ck->config.vocab_size;
    for (size_t i = 0; i < n; i++)
        SQ_FAIL_IF(!isfinite(g->logit[i]), err, SQ_ERR_NON_FINITE, "logit %zu of token %zu is %g",
                   i, number, (double)g->logit[i]);
    const size_t best = g->o->temperature > 0 ? draw(g, n) : most_likely(g->logit, n);
    const double sum = weigh(g->logit, n, 1, g->p);
    const struct sq_generate_token token = {.number = number,
                                            .id = (int32_t)best,
                                            .nll = log(sum) - log(g->p[best]),
                                            .logit = g->logit,
                                            .m = m,
                                            .cost = g->cost,
                                            .part = g->program.word ? g->part : NULL,
                                            .moves = g->program.moves};
    *id = token.id;
    g->watch->written(g->watch->context, &token);
    return SQ_OK;
}

// ---- all of it ----------------------------------------------------------------------------------------

static bool is_end(const struct sq_generate_options *o, int32_t id)
{
    size_t i = 0;
    while (i < o->n_ends && o->end[i] != id)
        i++;
    return i < o->n_ends;
}

static enum sq_status write_tokens(struct generation *g, struct sq_error *err)
{
    const struct sq_generate_options *const o = g->o;
    int32_t id;
    SQ_TRY(pass(g, o->prompt, o->n_prompt, err));
    SQ_TRY(choose(g, 0, o->n_prompt, &id, err));
    for (size_t i = 1; i < o->n_tokens && !is_end(o, id); i++) {
        SQ_TRY(pass(g, &id, 1, err));
        SQ_TRY(choose(g, i, 1, &id, err));
    }
    return SQ_OK;
}

static enum sq_status read_head(struct generation *g, struct sq_error *err)
{
    const struct sq_model_config *const c = &g->ck->config;
    const size_t n = c->vocab_size * c->hidden_size;
    g->head = malloc(n * sizeof *g->head);
    SQ_NEED(g->head, err, "lm_head of %zu elements", n);
    return sq_checkpoint_read(
        g->ck, c->tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight", g->head, n,
        err);
}

static enum sq_status set_up(struct generation *g, struct sq_error *err)
{
    const struct sq_generate_options *const o = g->o;
    const size_t length = o->n_prompt + o->n_tokens - 1, vocabulary = g->ck->config.vocab_size;
    size_t offset[] = {0, o->n_prompt};
    const struct sq_tokens longest = {.n_sequences = 1, .offset = offset};
    SQ_FAIL_IF(length > g->ck->config.max_position, err, SQ_ERR_RANGE,
               "a prompt of %zu tokens and %zu more, need at most %zu together, the "
               "model's context and one",
               o->n_prompt, o->n_tokens, g->ck->config.max_position + 1);
    g->logit = malloc(vocabulary * sizeof *g->logit);
    g->p = malloc(vocabulary * sizeof *g->p);
    SQ_NEED(g->logit && g->p, err, "%zu logits", vocabulary);
    SQ_TRY(sq_llama_init_cached(&g->llama, g->ck, &longest, length, err));
    g->llama.steps_nbytes = o->vector_nbytes;
    g->llama.has_int8 = o->vector_nbytes > 0 && o->has_int8;
    g->llama.softmax_lanes = o->vector_nbytes > 0 ? SQ_LLAMA_ATTEND : 0;
    return o->vector_nbytes > 0 && !o->chip ? read_head(g, err) : SQ_OK;
}

static enum sq_status make_program(struct generation *g, struct sq_error *err)
{
    struct sq_token_builder *b;
    enum sq_status status = sq_token_begin(&b, g->ck, g->o->recipe, g->o->chip,
                                           g->o->n_prompt + g->o->n_tokens - 1, &g->program, err);
    for (size_t i = 0; status == SQ_OK && i < g->ck->n_layers; i++)
        status = sq_token_layer(b, i, &g->layer[i], err);
    SQ_THEN(status, sq_token_end(b, err));
    sq_token_builder_free(b);
    return status;
}

enum sq_status sq_generate(const struct sq_checkpoint *ck, const struct sq_generate_options *o,
                           const struct sq_generate_watch *watch, struct sq_error *err)
{
    struct generation g = {.ck = ck, .o = o, .watch = watch, .rng = {o->seed}};
    enum sq_status status = set_up(&g, err);
    if (status == SQ_OK && !sq_recipe_is_reference(o->recipe))
        status = encode(&g, err);
    if (status == SQ_OK && o->chip && o->vector_nbytes > 0)
        status = make_program(&g, err);
    SQ_THEN(status, write_tokens(&g, err));
    sq_token_program_free(&g.program);
    free(g.head);
    for (size_t i = 0; g.layer && i < ck->n_layers; i++)
        sq_quant_layer_free(&g.layer[i]);
    free(g.layer);
    sq_layer_scan_free(&g.choice);
    sq_llama_free(&g.llama);
    SQ_FREE(g.logit, g.p);
    return status;
}
