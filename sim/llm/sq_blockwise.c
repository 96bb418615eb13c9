// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/sq_blockwise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/quant/sq_blas.h"
#include "models/quant/sq_smooth.h"
#include "sim/format/sq_format_ops.h"

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
    if (!in->sample[i])
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu tokens of %zu channels",
                       in->n_sample, l->k);
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

enum sq_status sq_eval_calibrate(struct sq_llama *s, size_t block, bool has_hessian,
                                 struct sq_calibration calibration[SQ_BLOCK_INPUTS],
                                 struct sq_error *err)
{
    struct sq_eval_inputs in;
    const enum sq_status status =
        sq_eval_collect(s, block, has_hessian ? SQ_NEED_HESSIAN : SQ_NEED_INPUTS, &in, err);
    memcpy(calibration, in.calibration, sizeof in.calibration);
    return status;
}

// ---- quantizing -----------------------------------------------------------------------------

// sigma[k] of the layers that share one input, in memory the caller frees.
static enum sq_status smooth(const struct sq_checkpoint *ck, size_t first, size_t end,
                             const struct sq_calibration *c, double alpha, float *w, float **sigma,
                             struct sq_error *err)
{
    const size_t k = ck->layer[first].k;
    float *wx = calloc(k, sizeof *wx);
    *sigma = calloc(k, sizeof **sigma);
    enum sq_status status =
        wx && *sigma ? SQ_OK
                     : SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory to smooth %zu channels", k);
    for (size_t i = first; status == SQ_OK && i < end; i++) {
        status = sq_checkpoint_read_layer(ck, i, w, err);
        if (status == SQ_OK)
            sq_smooth_weights(w, ck->layer[i].n, k, wx);
    }
    if (status == SQ_OK)
        sq_smooth_sigma(c->abs_max, wx, k, alpha, *sigma);
    free(wx);
    return status;
}

// One block on its way.
struct encoding {
    const struct sq_checkpoint *ck;
    const struct sq_recipe *r;
    const struct sq_eval_inputs *in; // NULL: not calibrated
    const uint8_t *is_dense;         // by layer of the model; NULL: none
    float *w;                        // scratch for the largest layer
};

static enum sq_status encode_layer(const struct encoding *e, size_t l,
                                   const struct sq_quant_input *in, struct sq_quant_layer *layer,
                                   struct sq_error *err)
{
    SQ_TRY(sq_checkpoint_read_layer(e->ck, l, e->w, err));
    return sq_quant_layer_init(layer, e->r, e->w, e->ck->layer[l].n, e->ck->layer[l].k, in, err);
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
    enum sq_status status = SQ_OK;
    if (e->r->is_smooth)
        status = smooth(e->ck, first, end, c, e->r->alpha, e->w, &sigma, err);
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
        in.is_dense = e->is_dense && e->is_dense[l];
        in.layer = l;
        status = encode_layer(e, l, &in, &layer[l - block * SQ_BLOCK_LAYERS], &why);
        if (status != SQ_OK)
            (void)SQ_FAIL(err, status, "layer %.60s: %.160s", e->ck->layer[l].name, why.text);
    }
    sq_factor_free(&factor);
    free(sigma);
    return status;
}

enum sq_status sq_eval_encode(const struct sq_checkpoint *ck, size_t block,
                              const struct sq_recipe *r, const struct sq_eval_inputs *in,
                              const uint8_t *is_dense, struct sq_quant_layer layer[SQ_BLOCK_LAYERS],
                              struct sq_error *err)
{
    size_t largest = 0;
    memset(layer, 0, SQ_BLOCK_LAYERS * sizeof *layer);
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++) {
        const struct sq_layer *l = &ck->layer[block * SQ_BLOCK_LAYERS + i];
        largest = l->n * l->k > largest ? l->n * l->k : largest;
    }
    const struct encoding e = {ck, r, in, is_dense, malloc(largest * sizeof(float))};
    enum sq_status status =
        e.w ? SQ_OK : SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for block %zu", block);
    for (size_t i = 0; status == SQ_OK && i < SQ_BLOCK_INPUTS; i++)
        status = encode_shared(&e, block, i, layer, err);
    free(e.w);
    for (size_t i = 0; status != SQ_OK && i < SQ_BLOCK_LAYERS; i++)
        sq_quant_layer_free(&layer[i]);
    return status;
}

enum sq_status sq_eval_quantize(const struct sq_checkpoint *ck, size_t block,
                                const struct sq_recipe *r, const struct sq_calibration *calibration,
                                struct sq_quant_layer layer[SQ_BLOCK_LAYERS], struct sq_error *err)
{
    struct sq_eval_inputs in = {0};
    if (calibration)
        memcpy(in.calibration, calibration, sizeof in.calibration);
    return sq_eval_encode(ck, block, r, calibration ? &in : NULL, NULL, layer, err);
}

// ---- evaluating -----------------------------------------------------------------------------

struct evaluation {
    const struct sq_recipe *r;
    const struct sq_quant_layer *layer;
    const uint8_t *is_dense; // by layer of the model; NULL: none
    sq_eval_report *report;
    void *context;
};

static enum sq_status measure(const struct evaluation *e, const struct sq_llama_linear *l,
                              struct sq_error *err)
{
    const struct sq_quant_layer *q = &e->layer[l->layer % SQ_BLOCK_LAYERS];
    struct sq_layer_metrics metrics = {.name = l->name,
                                       .n = l->n,
                                       .k = l->k,
                                       .mask_recall = NAN,
                                       .mask = sq_quant_layer_mask(q),
                                       .k_padded = q->k,
                                       .stored_bits =
                                           sq_quant_layer_nbits(q) / ((double)l->n * (double)l->k),
                                       .is_dense = e->is_dense && e->is_dense[l->layer]};
    double *want = malloc(l->m * l->n * sizeof *want), signal = 0, noise = 0;
    enum sq_status status =
        want ? sq_blas_xwt_f64(l->x, l->w, l->m, l->n, l->k, want, err)
             : SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for the reference of %.60s", l->name);
    for (size_t i = 0; status == SQ_OK && i < l->m * l->n; i++) {
        const double d = want[i] - (double)l->y[i];
        signal += want[i] * want[i];
        noise += d * d;
    }
    free(want);
    SQ_TRY(status);
    if (signal == 0)
        return SQ_FAIL(err, SQ_ERR_RANGE, "layer %.60s: the reference output is 0 everywhere",
                       l->name);
    metrics.relative_error = sqrt(noise / signal);
    metrics.sqnr_db = noise == 0 ? INFINITY : 10 * log10(signal / noise);
    if (metrics.mask)
        SQ_TRY(sq_quant_layer_recall(q, e->r, l->x, l->m, &metrics.mask_recall, err));
    e->report(e->context, &metrics);
    return SQ_OK;
}

static enum sq_status replace(void *context, const struct sq_llama_linear *l, bool *is_done,
                              struct sq_error *err)
{
    const struct evaluation *e = context;
    const struct sq_quant_layer *q = &e->layer[l->layer % SQ_BLOCK_LAYERS];
    SQ_TRY(sq_quant_layer_apply(q, e->r, l->x, l->m, l->y, err));
    *is_done = true;
    return e->report ? measure(e, l, err) : SQ_OK;
}

enum sq_status sq_eval_block(struct sq_llama *s, size_t block, const struct sq_recipe *r,
                             const struct sq_quant_layer layer[SQ_BLOCK_LAYERS],
                             const uint8_t *is_dense, sq_eval_report *report, void *context,
                             struct sq_error *err)
{
    struct evaluation e = {r, layer, is_dense, report, context};
    return sq_llama_block(s, block, replace, &e, err);
}
