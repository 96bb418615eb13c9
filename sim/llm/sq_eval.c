// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/sq_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/quant/sq_blas.h"
#include "models/quant/sq_smooth.h"
#include "sim/format/sq_grid_format.h"
#include "sim/format/sq_weight_file.h"
#include "sim/llm/sq_spqt_greedy.h"

// The layers that share input i of a block.
static const struct {
    size_t first, end;
} shared[SQ_BLOCK_INPUTS] = {{0, 3}, {3, 4}, {4, 6}, {6, 7}};

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
    size_t i = 0;
    while (shared[i].first != l->layer % SQ_BLOCK_LAYERS)
        i++;
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
                             sq_eval_report *report, void *context, struct sq_error *err)
{
    struct evaluation e = {r, layer, NULL, report, context};
    return sq_llama_block(s, block, replace, &e, err);
}

// What one evaluation is made of.
struct run {
    const struct sq_recipe *r;         // NULL: the model as it is
    const struct sq_trace *trace;      // weights from a file, in the SQ-format
    const struct sq_weight_file *file; // or in another format; both NULL: quantized here
    struct sq_llama *calib;            // NULL: not calibrated
    const uint8_t *is_dense;           // by layer of the model; NULL: none
    double nbits, weights;             // of the layers so far
    struct sq_llama eval;
    sq_eval_report *report;
    void *context;
};

static enum sq_status check_loaded(const struct sq_layer *l, size_t n, size_t k,
                                   struct sq_error *err)
{
    if (n == l->n && k == l->k)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_SHAPE, "layer %.60s is %zu x %zu in the file, need %zu x %zu",
                   l->name, n, k, l->n, l->k);
}

static enum sq_status not_in_file(const struct sq_layer *l, struct sq_error *err)
{
    return SQ_FAIL(err, SQ_ERR_DAMAGED, "the file of weights does not hold %.60s", l->name);
}

static enum sq_status load_packed(const struct run *run, const struct sq_layer *l,
                                  struct sq_quant_layer *layer, struct sq_error *err)
{
    size_t entry = 0;
    while (entry < run->trace->n_operands && strcmp(run->trace->entry[entry].name, l->name) != 0)
        entry++;
    if (entry == run->trace->n_operands)
        return not_in_file(l, err);
    const struct sq_trace_entry *e = &run->trace->entry[entry];
    SQ_TRY(check_loaded(l, e->n, e->k_orig, err));
    struct sq_grid_layer *w = calloc(1, sizeof *w);
    if (!w)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for layer %.60s", l->name);
    w->w = (struct sq_codes){.grid = run->r->weight, .n = e->n, .k = e->k, .k_orig = e->k_orig};
    *layer = (struct sq_quant_layer){
        .format = &sq_format_sq_w, .state = w, .n = e->n, .k = e->k, .k_orig = e->k_orig};
    return sq_trace_load(run->trace, entry, &w->packed, err);
}

static enum sq_status load_system(const struct run *run, const struct sq_layer *l,
                                  struct sq_quant_layer *layer, struct sq_error *err)
{
    size_t entry = 0;
    while (entry < run->file->n_layers && strcmp(run->file->layer[entry].name, l->name) != 0)
        entry++;
    if (entry == run->file->n_layers)
        return not_in_file(l, err);
    SQ_TRY(check_loaded(l, run->file->layer[entry].n, run->file->layer[entry].k_orig, err));
    return sq_weight_file_load(run->file, entry, layer, err);
}

// The layers of a block from a file.
static enum sq_status load(const struct run *run, size_t block,
                           struct sq_quant_layer layer[SQ_BLOCK_LAYERS], struct sq_error *err)
{
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++) {
        const struct sq_layer *l = &run->eval.ck->layer[block * SQ_BLOCK_LAYERS + i];
        SQ_TRY(run->file ? load_system(run, l, &layer[i], err)
                         : load_packed(run, l, &layer[i], err));
    }
    return SQ_OK;
}

// One block of both token sets, in lock step.
static enum sq_status step(struct run *run, size_t block, struct sq_error *err)
{
    struct sq_eval_inputs in = {0};
    struct sq_quant_layer layer[SQ_BLOCK_LAYERS] = {0};
    enum sq_status status = SQ_OK;
    if (!run->r)
        return sq_llama_block(&run->eval, block, NULL, NULL, err);
    if (run->calib)
        status = sq_eval_collect(run->calib, block, sq_recipe_needs(run->r), &in, err);
    if (status == SQ_OK)
        status = run->trace || run->file
                     ? load(run, block, layer, err)
                     : sq_eval_encode(run->eval.ck, block, run->r, run->calib ? &in : NULL,
                                      run->is_dense, layer, err);
    sq_eval_inputs_free(&in);
    const struct evaluation e = {run->r, layer, run->is_dense, run->report, run->context};
    if (status == SQ_OK)
        status = sq_llama_block(&run->eval, block, replace, (void *)(uintptr_t)&e, err);
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++) {
        if (status == SQ_OK) {
            run->nbits += sq_quant_layer_nbits(&layer[i]);
            run->weights += (double)layer[i].n * (double)layer[i].k_orig;
        }
        sq_quant_layer_free(&layer[i]);
    }
    return status;
}

static enum sq_status run_all(struct run *run, const struct sq_checkpoint *ck,
                              const struct sq_tokens *tokens, struct sq_eval_result *result,
                              struct sq_error *err)
{
    double nll = 0;
    *result = (struct sq_eval_result){0};
    if (run->r)
        SQ_TRY(sq_recipe_check(run->r, err));
    enum sq_status status = sq_llama_init(&run->eval, ck, tokens, err);
    for (size_t i = 0; status == SQ_OK && i < ck->config.n_layers; i++)
        status = step(run, i, err);
    if (status == SQ_OK)
        status = sq_llama_nll(&run->eval, &nll, err);
    sq_llama_free(&run->eval);
    result->n_tokens = sq_tokens_predicted(tokens);
    result->loss = nll / (double)result->n_tokens;
    result->perplexity = exp(result->loss);
    result->stored_bits = run->r ? run->nbits / run->weights : NAN;
    for (size_t i = 0; run->is_dense && i < ck->n_layers; i++)
        result->n_dense_layers += run->is_dense[i];
    return status;
}

enum sq_status sq_eval(const struct sq_checkpoint *ck, const struct sq_tokens *calib,
                       const struct sq_tokens *tokens, const struct sq_recipe *r,
                       sq_eval_report *report, void *context, struct sq_eval_result *result,
                       struct sq_error *err)
{
    struct sq_llama c = {0};
    struct run run = {.r = r, .report = report, .context = context};
    uint8_t *is_dense = NULL;
    double *error = NULL, *sparsity = NULL;
    struct sq_recipe greedy;
    enum sq_status status = r ? sq_recipe_check(r, err) : SQ_OK;
    if (status == SQ_OK && r && sq_recipe_needs_calibration(r)) {
        if (!calib)
            return SQ_FAIL(err, SQ_ERR_ARG, "this recipe needs calibration tokens");
        if (r->dense_fraction > 0) {
            is_dense = calloc(ck->n_layers, 1);
            error = calloc(ck->n_layers, sizeof *error);
            status = is_dense && error ? sq_eval_sensitive(ck, calib, r, error, is_dense, err)
                                       : SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu layers",
                                                 ck->n_layers);
            run.is_dense = is_dense;
        }
        if (r->is_greedy) {
            sparsity = calloc(ck->n_layers, sizeof *sparsity);
            status = sparsity ? sq_spqt_greedy_layers(ck, calib, r, sparsity, err)
                              : SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu layers",
                                        ck->n_layers);
            greedy = *r;
            greedy.layer_sparsity = sparsity;
            run.r = &greedy;
        }
        if (status == SQ_OK)
            status = sq_llama_init(&c, ck, calib, err);
        run.calib = &c;
    }
    if (status == SQ_OK)
        status = run_all(&run, ck, tokens, result, err);
    sq_llama_free(&c);
    free(is_dense);
    free(error);
    free(sparsity);
    return status;
}

static enum sq_status eval_system_file(const char *path, struct run *run,
                                       const struct sq_checkpoint *ck,
                                       const struct sq_tokens *tokens,
                                       struct sq_eval_result *result, struct sq_error *err)
{
    struct sq_weight_file file;
    SQ_TRY(sq_weight_file_open(&file, path, err));
    run->file = &file;
    const enum sq_status status = run_all(run, ck, tokens, result, err);
    sq_weight_file_close(&file);
    return status;
}

enum sq_status sq_eval_file(const struct sq_checkpoint *ck, const char *path,
                            const struct sq_tokens *tokens, const struct sq_recipe *r,
                            sq_eval_report *report, void *context, struct sq_eval_result *result,
                            struct sq_error *err)
{
    struct run run = {.r = r, .report = report, .context = context};
    struct sq_trace trace;
    if (r->format != &sq_format_sq_w)
        return eval_system_file(path, &run, ck, tokens, result, err);
    SQ_TRY(sq_trace_open(&trace, path, err));
    run.trace = &trace;
    const enum sq_status status = run_all(&run, ck, tokens, result, err);
    sq_trace_close(&trace);
    return status;
}
