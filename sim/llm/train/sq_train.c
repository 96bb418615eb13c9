// SPDX-License-Identifier: Apache-2.0
// The two stages of training over the blocks of a model (sq_train.h).
#include "sim/llm/train/sq_train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/sq_rng.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/llm/sq_reference.h"
#include "sim/llm/train/sq_block_grad.h"

_Static_assert((int)SQ_GRAD_LAYERS == 7, "the layers of a block");

struct training {
    const struct sq_checkpoint *ck;
    const struct sq_tokens *tokens;
    const struct sq_recipe *r;
    struct sq_quant_layer *layer;
    const struct sq_train *how;
    struct sq_llama plain; // the model as it is: embedding, rotation, targets
    size_t *first;         // [n]: the first token of each sequence of that length
    size_t n, length, batch;
    struct sq_block_grad b;
    float *gains, *biases;      // of the block at hand
    float *rows, *wanted;       // [batch * length][hidden]
    float *d_w[SQ_GRAD_LAYERS]; //
    struct sq_tune *tune;       // of the block, or of all
    struct sq_rng rng;
};

enum sq_status sq_train_check(const struct sq_checkpoint *ck, const struct sq_recipe *r,
                              struct sq_error *err)
{
    const struct sq_model_config *c = &ck->config;
    SQ_FAIL_IF(!r->format->values->tune, err, SQ_ERR_UNSUPPORTED,
               "train: %s is not trained, need gqsa or sp24", r->format->name);
    SQ_FAIL_IF(!ck->is_model, err, SQ_ERR_UNSUPPORTED,
               "train: needs a model directory with config.json, or GGUF");
    if (c->has_qk_norm || c->has_post_norm || c->is_geglu || c->local_window > 0 ||
        c->attention_cap > 0 || c->logit_cap > 0 || c->has_offset_gain)
        return SQ_FAIL(
            err, SQ_ERR_UNSUPPORTED,
            "train: blocks as Llama, Mistral or Qwen 2 has them, need no norms of heads, "
            "no windows, no GeGLU");
    return SQ_OK;
}

// ---- memory -------------------------------------------------------------------------------------

static enum sq_status pick(struct training *t, struct sq_error *err)
{
    const size_t *offset = t->tokens->offset;
    for (size_t i = 0; i < t->tokens->n_sequences; i++)
        if (offset[i + 1] - offset[i] > t->length)
            t->length = offset[i + 1] - offset[i];
    t->first = calloc(t->tokens->n_sequences, sizeof *t->first);
    SQ_NEED(t->first, err, "%zu sequences", t->tokens->n_sequences);
    for (size_t i = 0; i < t->tokens->n_sequences; i++)
        if (offset[i + 1] - offset[i] == t->length)
            t->first[t->n++] = offset[i];
    t->batch = t->how->batch < t->n ? t->how->batch : t->n;
    return SQ_OK;
}

static enum sq_status set_up(struct training *t, struct sq_error *err)
{
    const struct sq_model_config *c = &t->ck->config;
    SQ_TRY(pick(t, err));
    SQ_TRY(sq_llama_init(&t->plain, t->ck, t->tokens, err));
    const struct sq_grad_shape shape = {.hidden = c->hidden_size,
                                        .intermediate = c->intermediate_size,
                                        .n_heads = c->n_heads,
                                        .n_kv_heads = c->n_kv_heads,
                                        .head_dim = c->head_dim,
                                        .eps = c->rms_norm_eps,
                                        .query_scale = c->query_scale,
                                        .rotation = t->plain.rotation,
                                        .n_sequences = t->batch,
                                        .length = t->length};
    SQ_TRY(sq_block_grad_init(&t->b, &shape, err));
    const size_t n = t->batch * t->length * c->hidden_size;
    size_t bias = 0;
    for (size_t i = 0; i < SQ_GRAD_LAYERS; i++) {
        bias += t->ck->layer[i].n;
        t->d_w[i] = malloc(t->ck->layer[i].n * t->ck->layer[i].k * sizeof(float));
        SQ_NEED(t->d_w[i], err, "the gradient of %.60s", t->ck->layer[i].name);
    }
    t->gains = malloc(3 * c->hidden_size * sizeof(float));
    t->biases = malloc(bias * sizeof(float));
    t->rows = malloc(n * sizeof(float));
    t->wanted = malloc(n * sizeof(float));
    t->tune = calloc(t->ck->n_layers, sizeof *t->tune);
    return SQ_HAVE(t->gains && t->biases && t->rows && t->wanted && t->tune, err,
                   "training on %zu tokens", t->batch * t->length);
}

static void free_tunes(struct training *t)
{
    for (size_t i = 0; t->tune && i < t->ck->n_layers; i++)
        sq_tune_free(&t->tune[i]);
}

static void clean(struct training *t)
{
    free_tunes(t);
    for (size_t i = 0; i < SQ_GRAD_LAYERS; i++)
        free(t->d_w[i]);
    sq_block_grad_free(&t->b);
    sq_llama_free(&t->plain);
    SQ_FREE(t->tune, t->first, t->gains, t->biases, t->rows, t->wanted);
}

// ---- a block --------------------------------------------------------------------------------------

static const struct sq_recipe *recipe_of(const struct training *t, size_t layer)
{
    return sq_recipe_of_layer(t->r, t->ck->layer[layer].name);
}

// The parameters of a layer as it is encoded.
static enum sq_status take(struct training *t, size_t layer, struct sq_error *err)
{
    const struct sq_quant_layer *q = &t->layer[layer];
    SQ_TRY(sq_train_check(t->ck, recipe_of(t, layer), err));
    SQ_TRY(q->format->values->tune(q->state, &t->tune[layer], err));
    sq_tune_forward(&t->tune[layer]);
    return SQ_OK;
}

static enum sq_status give_back(struct training *t, size_t layer, struct sq_error *err)
{
    struct sq_quant_layer *q = &t->layer[layer];
    return q->format->values->retune(q->state, recipe_of(t, layer), &t->tune[layer], err);
}

// Gains, biases and weights of a block into t->b.
static enum sq_status enter(struct training *t, size_t block, struct sq_error *err)
{
    static const char *const name[2] = {"input_layernorm", "post_attention_layernorm"};
    const size_t hidden = t->ck->config.hidden_size;
    float *bias = t->biases;
    for (size_t i = 0; i < 2; i++) {
        char full[80];
        snprintf(full, sizeof full, "model.layers.%zu.%s.weight", block, name[i]);
        SQ_TRY(sq_checkpoint_read(t->ck, full, t->gains + i * hidden, hidden, err));
        t->b.norm[i] = t->gains + i * hidden;
    }
    for (size_t i = 0; i < SQ_GRAD_LAYERS; i++) {
        const struct sq_layer *l = &t->ck->layer[block * SQ_GRAD_LAYERS + i];
        t->b.w[i] = t->tune[block * SQ_GRAD_LAYERS + i].value;
        t->b.bias[i] = l->bias ? bias : NULL;
        if (l->bias)
            SQ_TRY(sq_tensor_read_f32(l->bias, bias, err));
        bias += l->n;
    }
    return SQ_OK;
}

// The sequences of a batch between a stream of all tokens and rows; sequence i is which[i].
static void move(const struct training *t, const size_t *which, float *stream, float *rows,
                 bool is_back)
{
    const size_t n = t->length * t->ck->config.hidden_size;
    for (size_t i = 0; i < t->batch; i++) {
        float *at = stream + t->first[which[i]] * t->ck->config.hidden_size;
        memcpy(is_back ? at : rows + i * n, is_back ? rows + i * n : at, n * sizeof *rows);
    }
}

enum { BATCH_MAX = 64 };

// Batch `at` of all sequences, the last ones again where they do not fill it.
static void in_order(const struct training *t, size_t at, size_t which[BATCH_MAX])
{
    for (size_t i = 0; i < t->batch; i++)
        which[i] = at + i < t->n ? at + i : t->n - 1;
}

static void at_random(struct training *t, size_t which[BATCH_MAX])
{
    for (size_t i = 0; i < t->batch; i++)
        which[i] = sq_rng_below(&t->rng, (uint32_t)t->n);
}

static void say(const struct training *t, const char *stage, size_t done, size_t all)
{
    if (t->how->watch)
        t->how->watch(t->how->context, stage, done, all);
}

static double part_of(const struct training *t, size_t step)
{
    return 0.5 * (1 + cos(acos(-1.0) * (double)step / (double)t->how->steps));
}

static void step_layers(struct training *t, size_t first, size_t step)
{
    for (size_t i = 0; i < SQ_GRAD_LAYERS; i++) {
        struct sq_tune *tune = &t->tune[first + i];
        sq_tune_step(tune, step + 1, part_of(t, step));
        sq_tune_forward(tune);
    }
}

// ---- BQPO -----------------------------------------------------------------------------------------

// |Y - Y'| / |Y| of the block over all sequences, and with is_kept the stream after it.
static double block_error(struct training *t, float *stream, bool is_kept)
{
    const size_t n = t->batch * t->length * t->ck->config.hidden_size;
    double noise = 0, signal = 0;
    for (size_t at = 0; at < t->n; at += t->batch) {
        size_t which[BATCH_MAX];
        in_order(t, at, which);
        move(t, which, stream, t->rows, false);
        move(t, which, t->plain.h, t->wanted, false);
        sq_block_grad_forward(&t->b, t->rows, t->rows);
        for (size_t i = 0; i < n; i++) {
            const double d = (double)t->rows[i] - (double)t->wanted[i];
            noise += d * d;
            signal += (double)t->wanted[i] * (double)t->wanted[i];
        }
        if (is_kept)
            move(t, which, stream, t->rows, true);
    }
    return sqrt(noise / signal);
}

static void train_block(struct training *t, size_t block, float *stream)
{
    const size_t n = t->batch * t->length * t->ck->config.hidden_size;
    for (size_t step = 0; step < t->how->steps; step++) {
        size_t which[BATCH_MAX];
        say(t, "train: BQPO", block * t->how->steps + step, t->ck->config.n_layers * t->how->steps);
        at_random(t, which);
        move(t, which, stream, t->rows, false);
        move(t, which, t->plain.h, t->wanted, false);
        sq_block_grad_forward(&t->b, t->rows, t->rows);
        for (size_t i = 0; i < n; i++)
            t->rows[i] = 2 * (t->rows[i] - t->wanted[i]) / (float)n;
        sq_block_grad_backward(&t->b, t->rows, t->d_w);
        for (size_t i = 0; i < SQ_GRAD_LAYERS; i++)
            sq_tune_backward(&t->tune[block * SQ_GRAD_LAYERS + i], t->d_w[i]);
        step_layers(t, block * SQ_GRAD_LAYERS, step);
    }
}

static enum sq_status bqpo_block(struct training *t, size_t block, float *stream,
                                 struct sq_train_result *result, struct sq_error *err)
{
    const size_t first = block * SQ_GRAD_LAYERS, end = first + SQ_GRAD_LAYERS;
    const double n_blocks = (double)t->ck->config.n_layers;
    for (size_t i = first; i < end; i++) {
        SQ_TRY(take(t, i, err));
        sq_tune_begin(&t->tune[i], t->how->rate);
    }
    SQ_TRY(enter(t, block, err));
    SQ_TRY(sq_llama_block(&t->plain, block, NULL, NULL, err));
    const double before = block_error(t, stream, false);
    train_block(t, block, stream);
    const double after = block_error(t, stream, false);
    const bool is_better = after < before;
    for (size_t i = first; i < end; i++) {
        if (is_better)
            SQ_TRY(give_back(t, i, err));
        sq_tune_free(&t->tune[i]);
        SQ_TRY(take(t, i, err));
    }
    SQ_TRY(enter(t, block, err));
    result->error_before += before / n_blocks;
    result->error_after += block_error(t, stream, true) / n_blocks;
    for (size_t i = first; i < end; i++)
        sq_tune_free(&t->tune[i]);
    return SQ_OK;
}

static enum sq_status bqpo(struct training *t, struct sq_train_result *result, struct sq_error *err)
{
    const size_t nbytes = sq_tokens_count(t->tokens) * t->ck->config.hidden_size * sizeof(float);
    SQ_FREED float *stream = malloc(nbytes);
    SQ_NEED(stream, err, "%zu tokens", sq_tokens_count(t->tokens));
    memcpy(stream, t->plain.h, nbytes);
    result->error_before = result->error_after = 0;
    for (size_t block = 0; block < t->ck->config.n_layers; block++)
        SQ_TRY(bqpo_block(t, block, stream, result, err));
    return SQ_OK;
}

// ---- E2E-OQP --------------------------------------------------------------------------------------

struct end {
    const float *reference; // [tokens][hidden], normed
    float *embedded;        // [tokens][hidden]
    float *head;            // [vocab][hidden]
    float *scratch;         // of sq_head_grad
    float *in;              // [blocks + 1][batch * length][hidden]
};

// KL of a batch; the inputs of all blocks stay in e->in, the gradient by the last is in t->rows.
static enum sq_status forward(struct training *t, const struct end *e, const size_t *which,
                              double *kl, struct sq_error *err)
{
    const struct sq_model_config *c = &t->ck->config;
    const size_t tokens = t->batch * t->length, n = tokens * c->hidden_size;
    move(t, which, e->embedded, e->in, false);
    move(t, which, (float *)e->reference, t->wanted, false);
    for (size_t block = 0; block < c->n_layers; block++) {
        SQ_TRY(enter(t, block, err));
        sq_block_grad_forward(&t->b, e->in + block * n, e->in + (block + 1) * n);
    }
    *kl = sq_head_grad(e->in + c->n_layers * n, t->gains + 2 * c->hidden_size, c->rms_norm_eps,
                       e->head, t->wanted, tokens, c->hidden_size, c->vocab_size, t->rows,
                       e->scratch);
    return SQ_OK;
}

static enum sq_status kl_of_all(struct training *t, const struct end *e, double *mean,
                                struct sq_error *err)
{
    size_t n = 0;
    *mean = 0;
    for (size_t at = 0; at < t->n; at += t->batch, n++) {
        size_t which[BATCH_MAX];
        double kl;
        in_order(t, at, which);
        SQ_TRY(forward(t, e, which, &kl, err));
        *mean += kl;
    }
    *mean /= (double)n;
    return SQ_OK;
}

static enum sq_status train_end(struct training *t, const struct end *e, struct sq_error *err)
{
    const size_t n_blocks = t->ck->config.n_layers;
    const size_t n = t->batch * t->length * t->ck->config.hidden_size;
    for (size_t step = 0; step < t->how->steps; step++) {
        size_t which[BATCH_MAX];
        double kl;
        say(t, "train: E2E-OQP", step, t->how->steps);
        at_random(t, which);
        SQ_TRY(forward(t, e, which, &kl, err));
        for (size_t block = n_blocks; block-- > 0;) {
            SQ_TRY(enter(t, block, err));
            sq_block_grad_forward(&t->b, e->in + block * n, t->wanted); // for what backward reads
            sq_block_grad_backward(&t->b, t->rows, t->d_w);
            for (size_t i = 0; i < SQ_GRAD_LAYERS; i++)
                sq_tune_backward(&t->tune[block * SQ_GRAD_LAYERS + i], t->d_w[i]);
        }
        for (size_t block = 0; block < n_blocks; block++)
            step_layers(t, block * SQ_GRAD_LAYERS, step);
    }
    return SQ_OK;
}

static enum sq_status e2e_with(struct training *t, struct end *e, struct sq_train_result *result,
                               struct sq_error *err)
{
    const struct sq_model_config *c = &t->ck->config;
    SQ_TRY(sq_checkpoint_read(t->ck, "model.norm.weight", t->gains + 2 * c->hidden_size,
                              c->hidden_size, err));
    SQ_TRY(sq_checkpoint_read(
        t->ck, c->tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight", e->head,
        c->vocab_size * c->hidden_size, err));
    for (size_t i = 0; i < t->ck->n_layers; i++) {
        SQ_TRY(take(t, i, err));
        SQ_TRY(sq_tune_freeze(&t->tune[i], err));
        sq_tune_begin(&t->tune[i], t->how->rate);
    }
    SQ_TRY(kl_of_all(t, e, &result->kl_before, err));
    SQ_TRY(train_end(t, e, err));
    SQ_TRY(kl_of_all(t, e, &result->kl_after, err));
    if (!(result->kl_after < result->kl_before)) {
        result->kl_after = result->kl_before;
        return SQ_OK;
    }
    for (size_t i = 0; i < t->ck->n_layers; i++)
        SQ_TRY(give_back(t, i, err));
    return SQ_OK;
}

static enum sq_status e2e(struct training *t, struct sq_train_result *result, struct sq_error *err)
{
    const struct sq_model_config *c = &t->ck->config;
    const size_t tokens = t->batch * t->length;
    SQ_FREED float *reference = NULL;
    struct sq_llama embedded;
    SQ_TRY(sq_reference_states(t->ck, t->tokens, NULL, NULL, &reference, err));
    enum sq_status status = sq_llama_init_beside(&embedded, &t->plain, err);
    struct end e = {.reference = reference,
                    .embedded = status == SQ_OK ? embedded.h : NULL,
                    .head = malloc(c->vocab_size * c->hidden_size * sizeof(float)),
                    .scratch =
                        malloc(2 * tokens * (c->vocab_size + c->hidden_size) * sizeof(float)),
                    .in = malloc((c->n_layers + 1) * tokens * c->hidden_size * sizeof(float))};
    SQ_THEN(status, SQ_HAVE(e.head && e.scratch && e.in, err, "training on %zu tokens", tokens));
    SQ_THEN(status, e2e_with(t, &e, result, err));
    if (e.embedded)
        sq_llama_free(&embedded);
    SQ_FREE(e.head, e.scratch, e.in);
    return status;
}

enum sq_status sq_train_layers(const struct sq_checkpoint *ck, const struct sq_tokens *tokens,
                               const struct sq_recipe *r, struct sq_quant_layer *layer,
                               const struct sq_train *how, struct sq_train_result *result,
                               struct sq_error *err)
{
    struct training t = {
        .ck = ck, .tokens = tokens, .r = r, .layer = layer, .how = how, .rng = {how->seed}};
    *result = (struct sq_train_result){NAN, NAN, NAN, NAN};
    SQ_TRY(sq_train_check(ck, r, err));
    SQ_FAIL_IF(how->batch < 1 || how->batch > BATCH_MAX, err, SQ_ERR_RANGE,
               "batch = %zu, need 1..%d", how->batch, BATCH_MAX);
    enum sq_status status = set_up(&t, err);
    if (status == SQ_OK && how->has_bqpo)
        status = bqpo(&t, result, err);
    if (status == SQ_OK && how->has_e2e)
        status = e2e(&t, result, err);
    clean(&t);
    return status;
}
