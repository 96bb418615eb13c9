// SPDX-License-Identifier: Apache-2.0
// The layers of a model with the inputs they see, and the error of their outputs (sq_layer.h).
#include <math.h>
#include <stdlib.h>

#include "models/sq_rng.h"
#include "sim/llm/sq_layer.h"
#include "sim/llm/sq_llama.h"

struct sq_sqnr sq_output_error(const float *x, const float *w, const float *y, size_t m, size_t n,
                               size_t k)
{
    struct sq_sqnr sum = {0};
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double want = 0;
            for (size_t e = 0; e < k; e++)
                want += (double)x[i * k + e] * (double)w[j * k + e];
            const double d = want - (double)y[i * n + j];
            sum.noise += d * d;
            sum.signal += want * want;
        }
    return sum;
}

struct visitor {
    sq_layer_visit *visit;
    void *context;
    size_t m;
};

static enum sq_status hook(void *context, const struct sq_llama_linear *l, bool *is_done,
                           struct sq_error *err)
{
    const struct visitor *v = context;
    const float *w;
    SQ_TRY(sq_llama_weights(l, &w, err));
    *is_done = false; // the model goes on in binary32
    return v->visit(v->context, l->layer, l->name, l->x, w, v->m, l->n, l->k, err);
}

enum sq_status sq_model_tokens(const struct sq_checkpoint *ck, const char *model,
                               const struct sq_token_source *given, size_t m,
                               struct sq_tokens *tokens, struct sq_error *err)
{
    struct sq_token_source source = given ? *given : (struct sq_token_source){0};
    SQ_TRY(sq_token_source_read(&source, ck, model, "tokens_calib.safetensors", tokens, err));
    const size_t count = sq_tokens_count(tokens);
    size_t n = 1;
    while (n < tokens->n_sequences && tokens->offset[n] < m)
        n++;
    tokens->n_sequences = n;
    if (count >= m)
        return SQ_OK;
    sq_tokens_free(tokens);
    return SQ_FAIL(err, SQ_ERR_RANGE, "--m = %zu, need 1..%zu, the tokens there are", m, count);
}

static enum sq_status visit_model(const struct sq_checkpoint *ck, const char *model,
                                  const struct sq_token_source *given, struct visitor *v,
                                  struct sq_error *err)
{
    SQ_CLOSED(sq_tokens_free) struct sq_tokens tokens = {0};
    SQ_CLOSED(sq_llama_free) struct sq_llama llama = {0};
    SQ_TRY(sq_model_tokens(ck, model, given, v->m, &tokens, err));
    SQ_TRY(sq_llama_init(&llama, ck, &tokens, err));
    for (size_t b = 0; b < ck->config.n_layers; b++)
        SQ_TRY(sq_llama_block(&llama, b, hook, v, err));
    return SQ_OK;
}

// Box-Muller, one of each pair.
static float normal(struct sq_rng *r)
{
    const double u = 1.0 - sq_rng_unit(r), v = sq_rng_unit(r);
    return (float)(sqrt(-2 * log(u)) * cos(2 * acos(-1.0) * v));
}

static enum sq_status visit_bag(const struct sq_checkpoint *ck, uint64_t seed, struct visitor *v,
                                struct sq_error *err)
{
    for (size_t i = 0; i < ck->n_layers; i++) {
        const struct sq_layer *l = &ck->layer[i];
        struct sq_rng r = {seed + i};
        SQ_FREED float *w = calloc(l->n, l->k * sizeof *w), *x = calloc(v->m, l->k * sizeof *x);
        SQ_NEED(w && x, err, "layer %.60s", l->name);
        for (size_t e = 0; e < v->m * l->k; e++)
            x[e] = normal(&r);
        SQ_TRY(sq_checkpoint_read_layer(ck, i, w, err));
        SQ_TRY(v->visit(v->context, i, l->name, x, w, v->m, l->n, l->k, err));
    }
    return SQ_OK;
}

enum sq_status sq_model_visit(const struct sq_checkpoint *ck, const char *model_path,
                              const struct sq_token_source *source, size_t m, uint64_t seed,
                              sq_layer_visit *visit, void *context, bool *is_real,
                              struct sq_error *err)
{
    struct visitor v = {visit, context, m};
    *is_real = ck->is_model;
    if (ck->is_model)
        return visit_model(ck, model_path, source, &v, err);
    SQ_FAIL_IF(source && (source->tokens || source->text), err, SQ_ERR_ARG,
               "%s given, but %.80s is no model directory", source->text ? "--text" : "--tokens",
               model_path);
    return visit_bag(ck, seed, &v, err);
}
