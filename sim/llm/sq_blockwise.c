// SPDX-License-Identifier: Apache-2.0
// Collects the inputs of a block's layers, encodes the layers, and runs the block with them
// (sq_blockwise.h).
#include "sim/llm/sq_blockwise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/quant/sq_blas.h"
#include "models/quant/sq_smooth.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/format/sq_quantize.h"

// The layers that share input i of a block.
static const struct {
    size_t first, end;
} shared[SQ_BLOCK_INPUTS] = {{0, 3}, {3, 4}, {4, 6}, {6, 7}};

size_t sq_block_input_of(size_t layer)
{
    size_t i = 0;
    while (layer % SQ_BLOCK_LAYERS >= shared[i].end)
        i++;
    return i;
}

// ---- calibration ----------------------------------------------------------------------------

struct collector {
    struct sq_eval_inputs *in;
    unsigned needs;
};

static enum sq_status keep_sample(const struct sq_llama_linear *l, struct sq_eval_inputs *in,
                                  size_t i, struct sq_error *err)
{
    in->n_sample = l->m < SQ_EVAL_SAMPLE ? l->m : SQ_EVAL_SAMPLE;
    in->sample[i] = malloc(in->n_sample * l->k * sizeof(float));
    SQ_NEED(in->sample[i], err, "%zu tokens of %zu channels", in->n_sample, l->k);
    memcpy(in->sample[i], l->x, in->n_sample * l->k * sizeof(float));
    return SQ_OK;
}

static enum sq_status collect(void *context, const struct sq_llama_linear *l, bool *is_done,
                              struct sq_error *err)
{
    const struct collector *c = context;
    (void)is_done;
    if (l->layer != l->shared)
        return SQ_OK;
    const size_t i = sq_block_input_of(l->layer);
    if (c->needs & SQ_NEED_SAMPLE)
        SQ_TRY(keep_sample(l, c->in, i, err));
    SQ_TRY(sq_calibration_init(&c->in->calibration[i], l->k,
                               (c->needs & SQ_NEED_HESSIAN) == SQ_NEED_HESSIAN, err));
    return sq_calibration_add(&c->in->calibration[i], l->x, l->m, err);
}

enum sq_status sq_eval_collect(struct sq_llama *s, size_t block, unsigned needs,
                               struct sq_eval_inputs *in, struct sq_error *err)
{
    struct collector c = {in, needs};
    *in = (struct sq_eval_inputs){0};
    return sq_llama_block(s, block, collect, &c, err);
}

void sq_eval_inputs_free(struct sq_eval_inputs *in)
{
    for (size_t i = 0; i < SQ_BLOCK_INPUTS; i++) {
        sq_calibration_free(&in->calibration[i]);
        free(in->sample[i]);
    }
    *in = (struct sq_eval_inputs){0};
}

// ---- quantizing -----------------------------------------------------------------------------

// sigma[k] of the layers that share one input, in memory the caller frees.
static enum sq_status smooth(const struct sq_checkpoint *ck, size_t first, size_t end,
                             const struct sq_calibration *c, double alpha, float *w, float **sigma,
                             struct sq_error *err)
{
    const size_t k = ck->layer[first].k;
    SQ_FREED float *wx = calloc(k, sizeof *wx);
    *sigma = calloc(k, sizeof **sigma);
    SQ_NEED(wx && *sigma, err, "%zu smoothed channels", k);
    for (size_t i = first; i < end; i++) {
        SQ_TRY(sq_checkpoint_read_layer(ck, i, w, err));
        sq_smooth_weights(w, ck->layer[i].n, k, wx);
    }
    sq_smooth_sigma(c->abs_max, wx, k, alpha, *sigma);
    return SQ_OK;
}

// One block on its way.
struct encoding {
    const struct sq_checkpoint *ck;
    const struct sq_recipe *r;
    const struct sq_eval_inputs *in;      // NULL: not calibrated
    const struct sq_layer_choice *choice; // NULL: none
    float *w;                             // scratch for the largest layer
};

static enum sq_status encode_layer(const struct encoding *e, size_t l,
                                   const struct sq_quant_input *in, struct sq_quant_layer *layer,
                                   struct sq_error *err)
{
    SQ_TRY(sq_checkpoint_read_layer(e->ck, l, e->w, err));
    return sq_quant_layer_init(layer, sq_recipe_of_layer(e->r, e->ck->layer[l].name), e->w,
                               e->ck->layer[l].n, e->ck->layer[l].k, in, err);
}

// The recipe of the layers [first, end), which share an input: of all of them one smoothing.
static enum sq_status shared_smoothing(const struct encoding *e, size_t first, size_t end,
                                       const struct sq_recipe **of, struct sq_error *err)
{
    *of = sq_recipe_of_layer(e->r, e->ck->layer[first].name);
    for (size_t l = first + 1; l < end; l++) {
        const struct sq_recipe *r = sq_recipe_of_layer(e->r, e->ck->layer[l].name);
        SQ_FAIL_IF(r->is_smooth != (*of)->is_smooth || (r->is_smooth && r->alpha != (*of)->alpha),
                   err, SQ_ERR_ARG, "layers %.60s and %.60s share an input, need one smooth",
                   e->ck->layer[first].name, e->ck->layer[l].name);
    }
    return SQ_OK;
}

// The layers of block `block` that share input i.
static enum sq_status encode_shared(const struct encoding *e, size_t block, size_t i,
                                    struct sq_quant_layer *layer, struct sq_error *err)
{
    const size_t first = block * SQ_BLOCK_LAYERS + shared[i].first;
    const size_t end = block * SQ_BLOCK_LAYERS + shared[i].end;
    const struct sq_calibration *c = e->in ? &e->in->calibration[i] : NULL;
    float *sigma = NULL;
    struct sq_factor factor = {0};
    const struct sq_recipe *r;
    enum sq_status status = shared_smoothing(e, first, end, &r, err);
    if (status == SQ_OK && r->is_smooth)
        status = smooth(e->ck, first, end, c, r->alpha, e->w, &sigma, err);
    const bool has_factor = (sq_recipe_needs(e->r) & SQ_NEED_FACTOR) == SQ_NEED_FACTOR;
    if (status == SQ_OK && has_factor)
        status = sq_factor_init(&factor, c, sigma, e->r->percdamp, err);
    struct sq_quant_input in = {.calibration = c,
                                .sigma = sigma,
                                .factor = has_factor ? &factor : NULL,
                                .sample = e->in ? e->in->sample[i] : NULL,
                                .n_sample = e->in ? e->in->n_sample : 0};
    for (size_t l = first; status == SQ_OK && l < end; l++) {
        struct sq_error why;
        if (e->choice) {
            in.is_dense = e->choice->is_dense && e->choice->is_dense[l];
            in.sparsity = e->choice->sparsity ? &e->choice->sparsity[l] : NULL;
        }
        status = encode_layer(e, l, &in, &layer[l - block * SQ_BLOCK_LAYERS], &why);
        if (status != SQ_OK)
            (void)SQ_FAIL(err, status, "layer %.60s: %.160s", e->ck->layer[l].name, why.text);
    }
    sq_factor_free(&factor);
    free(sigma);
    return status;
}

// *e.w for the largest layer of the block.
static enum sq_status encoding_init(struct encoding *e, size_t block, struct sq_error *err)
{
    size_t largest = 0;
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++) {
        const struct sq_layer *l = &e->ck->layer[block * SQ_BLOCK_LAYERS + i];
        largest = l->n * l->k > largest ? l->n * l->k : largest;
    }
    e->w = malloc(largest * sizeof *e->w);
    return SQ_HAVE(e->w, err, "block %zu", block);
}

enum sq_status sq_eval_encode(const struct sq_checkpoint *ck, size_t block,
                              const struct sq_recipe *r, const struct sq_eval_inputs *in,
                              const struct sq_layer_choice *choice,
                              struct sq_quant_layer layer[SQ_BLOCK_LAYERS], struct sq_error *err)
{
    struct encoding e = {ck, r, in, choice, NULL};
    memset(layer, 0, SQ_BLOCK_LAYERS * sizeof *layer);
    enum sq_status status = encoding_init(&e, block, err);
    for (size_t i = 0; status == SQ_OK && i < SQ_BLOCK_INPUTS; i++)
        status = encode_shared(&e, block, i, layer, err);
    free(e.w);
    for (size_t i = 0; status != SQ_OK && i < SQ_BLOCK_LAYERS; i++)
        sq_quant_layer_free(&layer[i]);
    return status;
}

enum sq_status sq_eval_calibrated(struct sq_llama *calib, const struct sq_checkpoint *ck,
                                  size_t block, const struct sq_recipe *r,
                                  const struct sq_layer_choice *choice,
                                  struct sq_quant_layer layer[SQ_BLOCK_LAYERS],
                                  struct sq_error *err)
{
    SQ_CLOSED(sq_eval_inputs_free) struct sq_eval_inputs in = {0};
    if (calib)
        SQ_TRY(sq_eval_collect(calib, block, sq_recipe_needs(r), &in, err));
    return sq_eval_encode(ck, block, r, calib ? &in : NULL, choice, layer, err);
}

void sq_eval_layers_free(struct sq_quant_layer (*layer)[SQ_BLOCK_LAYERS])
{
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++)
        sq_quant_layer_free(&(*layer)[i]);
}

// A pass of a block whose first layers are encoded: what the layers after them see.
struct behind {
    const struct encoding *e;
    const struct sq_quant_layer *layer;
    size_t n_encoded; // layers of the block
    struct collector collector;
};

static enum sq_status collect_behind(void *context, const struct sq_llama_linear *l, bool *is_done,
                                     struct sq_error *err)
{
    const struct behind *b = context;
    const size_t i = l->layer % SQ_BLOCK_LAYERS;
    struct collector collector = b->collector;
    if (i == b->n_encoded)
        return collect(&collector, l, is_done, err);
    *is_done = i < b->n_encoded;
    return *is_done ? sq_quant_layer_apply(&b->layer[i], sq_recipe_of_layer(b->e->r, l->name), l->x,
                                           l->m, l->y, err)
                    : SQ_OK;
}

// before: the stream in front of the block.
static enum sq_status encode_behind(struct behind *b, struct sq_llama *s, size_t block,
                                    const float *before, struct sq_quant_layer *layer,
                                    struct sq_error *err)
{
    const size_t nbytes = sq_tokens_count(s->tokens) * s->ck->config.hidden_size * sizeof *s->h;
    for (size_t i = 0; i < SQ_BLOCK_INPUTS; i++) {
        b->n_encoded = shared[i].first;
        SQ_TRY(sq_llama_block(s, block, collect_behind, b, err));
        memcpy(s->h, before, nbytes);
        SQ_TRY(encode_shared(b->e, block, i, layer, err));
    }
    b->n_encoded = SQ_BLOCK_LAYERS;
    return sq_llama_block(s, block, collect_behind, b, err);
}

enum sq_status sq_eval_encode_behind(struct sq_llama *s, size_t block, const struct sq_recipe *r,
                                     const struct sq_layer_choice *choice,
                                     struct sq_quant_layer layer[SQ_BLOCK_LAYERS],
                                     struct sq_error *err)
{
    const size_t nbytes = sq_tokens_count(s->tokens) * s->ck->config.hidden_size * sizeof *s->h;
    struct sq_eval_inputs in = {0};
    struct encoding e = {s->ck, r, &in, choice, NULL};
    struct behind b = {.e = &e, .layer = layer, .collector = {&in, sq_recipe_needs(r)}};
    float *before = malloc(nbytes);
    memset(layer, 0, SQ_BLOCK_LAYERS * sizeof *layer);
    enum sq_status status =
        before ? encoding_init(&e, block, err) : SQ_NO_MEMORY(err, "block %zu", block);
    if (before)
        memcpy(before, s->h, nbytes);
    SQ_THEN(status, encode_behind(&b, s, block, before, layer, err));
    sq_eval_inputs_free(&in);
    SQ_FREE(before, e.w);
    for (size_t i = 0; status != SQ_OK && i < SQ_BLOCK_LAYERS; i++)
        sq_quant_layer_free(&layer[i]);
    return status;
}

// ---- evaluating -----------------------------------------------------------------------------

struct evaluation {
    const struct sq_checkpoint *ck;
    const struct sq_recipe *r;
    const struct sq_quant_layer *layer; // of the block
    const uint8_t *is_dense;            // by layer of the model; NULL: none
    sq_eval_report *report;
    void *context;
};

static enum sq_status measure(const struct evaluation *e, const struct sq_llama_linear *l,
                              struct sq_error *err)
{
    const struct sq_quant_layer *q = &e->layer[l->layer % SQ_BLOCK_LAYERS];
    struct sq_layer_metrics metrics = {
        .name = l->name,
        .n = l->n,
        .k = l->k,
        .mask_recall = NAN,
        .mask = sq_quant_layer_mask(q),
        .k_padded = q->k,
        .stored_bits = sq_quant_layer_nbits(q) / ((double)l->n * (double)l->k),
        .act_bits = sq_cost_act_nbits(sq_recipe_of_layer(e->r, l->name)),
        .is_dense = e->is_dense && e->is_dense[l->layer]};
    const float *w;
    SQ_TRY(sq_llama_weights(l, &w, err));
    double *want = malloc(l->m * l->n * sizeof *want), signal = 0, noise = 0;
    enum sq_status status = want ? sq_blas_xwt_f64(l->x, w, l->m, l->n, l->k, want, err)
                                 : SQ_NO_MEMORY(err, "the reference of %.60s", l->name);
    for (size_t i = 0; status == SQ_OK && i < l->m * l->n; i++) {
        const double d = want[i] - (double)l->y[i];
        signal += want[i] * want[i];
        noise += d * d;
    }
    free(want);
    SQ_TRY(status);
    const struct sq_sqnr sum = {signal, noise};
    metrics.relative_error = sq_sqnr_relative(&sum);
    metrics.sqnr_db = sq_sqnr_db(&sum);
    if (metrics.mask)
        SQ_TRY(sq_quant_layer_recall(q, sq_recipe_of_layer(e->r, l->name), l->x, l->m,
                                     &metrics.mask_recall, err));
    e->report(e->context, &metrics);
    return SQ_OK;
}

// All layers with one input at the first of them.
static enum sq_status replace(void *context, const struct sq_llama_linear *l, bool *is_done,
                              struct sq_error *err)
{
    const struct evaluation *e = context;
    struct sq_shared_layers all = {.n = l->n_shared};
    _Static_assert(sizeof all.y == sizeof l->shared_y, "as many layers share an input");
    for (size_t i = 0; i < all.n; i++) {
        all.q[i] = &e->layer[l->layer % SQ_BLOCK_LAYERS + i];
        all.r[i] = sq_recipe_of_layer(e->r, e->ck->layer[l->layer + i].name);
        all.y[i] = l->shared_y[i];
    }
    if (all.n > 0)
        SQ_TRY(sq_quant_layers_apply(&all, l->x, l->m, err));
    *is_done = true;
    return e->report ? measure(e, l, err) : SQ_OK;
}

enum sq_status sq_eval_block(struct sq_llama *s, size_t block, const struct sq_recipe *r,
                             const struct sq_quant_layer layer[SQ_BLOCK_LAYERS],
                             const uint8_t *is_dense, sq_eval_report *report, void *context,
                             struct sq_error *err)
{
    struct evaluation e = {s->ck, r, layer, is_dense, report, context};
    return sq_llama_block(s, block, replace, &e, err);
}
