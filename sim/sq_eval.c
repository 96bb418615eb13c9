// SPDX-License-Identifier: Apache-2.0
#include "sq_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sq_blas.h"
#include "sq_smooth.h"

// The layers that share input i of a block.
static const struct {
    size_t first, end;
} shared[SQ_BLOCK_INPUTS] = {{0, 3}, {3, 4}, {4, 6}, {6, 7}};

// ---- calibration ----------------------------------------------------------------------------

struct collector {
    struct sq_calibration *calibration;
    bool has_hessian;
};

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
    SQ_TRY(sq_calibration_init(&c->calibration[i], l->k, c->has_hessian, err));
    return sq_calibration_add(&c->calibration[i], l->x, l->m, err);
}

enum sq_status sq_eval_calibrate(struct sq_llama *s, size_t block, bool has_hessian,
                                 struct sq_calibration calibration[SQ_BLOCK_INPUTS],
                                 struct sq_error *err)
{
    struct collector c = {calibration, has_hessian};
    memset(calibration, 0, SQ_BLOCK_INPUTS * sizeof *calibration);
    return sq_llama_block(s, block, collect, &c, err);
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

// Layers [first, end) of the checkpoint, which share one input; w is scratch for the largest.
static enum sq_status quantize_shared(const struct sq_checkpoint *ck, size_t first, size_t end,
                                      const struct sq_recipe *r, const struct sq_calibration *c,
                                      float *w, struct sq_quant_layer *layer, struct sq_error *err)
{
    float *sigma = NULL;
    struct sq_factor factor = {0};
    enum sq_status status = SQ_OK;
    if (r->is_smooth)
        status = smooth(ck, first, end, c, r->alpha, w, &sigma, err);
    if (status == SQ_OK && r->is_gptq)
        status = sq_factor_init(&factor, c, sigma, r->percdamp, err);
    const struct sq_quant_input in = {c, sigma, &factor};
    for (size_t i = first; status == SQ_OK && i < end; i++) {
        status = sq_checkpoint_read_layer(ck, i, w, err);
        if (status == SQ_OK)
            status = sq_quant_layer_init(&layer[i - first], r, w, ck->layer[i].n, ck->layer[i].k,
                                         &in, err);
    }
    sq_factor_free(&factor);
    free(sigma);
    return status;
}

enum sq_status sq_eval_quantize(const struct sq_checkpoint *ck, size_t block,
                                const struct sq_recipe *r, const struct sq_calibration *calibration,
                                struct sq_quant_layer layer[SQ_BLOCK_LAYERS], struct sq_error *err)
{
    size_t largest = 0;
    memset(layer, 0, SQ_BLOCK_LAYERS * sizeof *layer);
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++) {
        const struct sq_layer *l = &ck->layer[block * SQ_BLOCK_LAYERS + i];
        largest = l->n * l->k > largest ? l->n * l->k : largest;
    }
    float *w = malloc(largest * sizeof *w);
    enum sq_status status =
        w ? SQ_OK : SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for block %zu", block);
    for (size_t i = 0; status == SQ_OK && i < SQ_BLOCK_INPUTS; i++)
        status = quantize_shared(
            ck, block * SQ_BLOCK_LAYERS + shared[i].first, block * SQ_BLOCK_LAYERS + shared[i].end,
            r, calibration ? &calibration[i] : NULL, w, layer + shared[i].first, err);
    free(w);
    for (size_t i = 0; status != SQ_OK && i < SQ_BLOCK_LAYERS; i++)
        sq_quant_layer_free(&layer[i]);
    return status;
}

// ---- evaluating -----------------------------------------------------------------------------

struct evaluation {
    const struct sq_recipe *r;
    const struct sq_quant_layer *layer;
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
                                       .mask = q->mask,
                                       .k_padded = q->w.k};
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
    if (q->mask)
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
    struct evaluation e = {r, layer, report, context};
    return sq_llama_block(s, block, replace, &e, err);
}

// What one evaluation is made of.
struct run {
    const struct sq_recipe *r;    // NULL: the model as it is
    const struct sq_trace *trace; // NULL: weights are quantized here
    struct sq_llama *calib;       // NULL: not calibrated
    struct sq_llama eval;
    sq_eval_report *report;
    void *context;
};

// The layers of a block from a file.
static enum sq_status load(const struct run *run, size_t block,
                           struct sq_quant_layer layer[SQ_BLOCK_LAYERS], struct sq_error *err)
{
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++) {
        const struct sq_layer *l = &run->eval.ck->layer[block * SQ_BLOCK_LAYERS + i];
        size_t entry = 0;
        while (entry < run->trace->n_operands &&
               strcmp(run->trace->entry[entry].name, l->name) != 0)
            entry++;
        if (entry == run->trace->n_operands)
            return SQ_FAIL(err, SQ_ERR_DAMAGED, "the file of weights does not hold %.60s", l->name);
        SQ_TRY(sq_trace_load(run->trace, entry, &layer[i].packed, err));
        const struct sq_matrix *m = &layer[i].packed.m;
        if (m->n != l->n || m->k_orig != l->k)
            return SQ_FAIL(err, SQ_ERR_SHAPE,
                           "layer %.60s is %zu x %zu in the file, need %zu x %zu", l->name, m->n,
                           m->k_orig, l->n, l->k);
        layer[i].w =
            (struct sq_codes){.grid = run->r->weight, .n = m->n, .k = m->k, .k_orig = m->k_orig};
    }
    return SQ_OK;
}

// One block of both token sets, in lock step.
static enum sq_status step(struct run *run, size_t block, struct sq_error *err)
{
    struct sq_calibration calibration[SQ_BLOCK_INPUTS] = {0};
    struct sq_quant_layer layer[SQ_BLOCK_LAYERS] = {0};
    enum sq_status status = SQ_OK;
    if (!run->r)
        return sq_llama_block(&run->eval, block, NULL, NULL, err);
    if (run->calib)
        status = sq_eval_calibrate(run->calib, block, run->r->is_gptq, calibration, err);
    if (status == SQ_OK)
        status = run->trace ? load(run, block, layer, err)
                            : sq_eval_quantize(run->eval.ck, block, run->r,
                                               run->calib ? calibration : NULL, layer, err);
    for (size_t i = 0; i < SQ_BLOCK_INPUTS; i++)
        sq_calibration_free(&calibration[i]);
    if (status == SQ_OK)
        status = sq_eval_block(&run->eval, block, run->r, layer, run->report, run->context, err);
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++)
        sq_quant_layer_free(&layer[i]);
    return status;
}

static enum sq_status run_all(struct run *run, const struct sq_checkpoint *ck,
                              const struct sq_tokens *tokens, struct sq_eval_result *result,
                              struct sq_error *err)
{
    double nll = 0;
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
    return status;
}

enum sq_status sq_eval(const struct sq_checkpoint *ck, const struct sq_tokens *calib,
                       const struct sq_tokens *tokens, const struct sq_recipe *r,
                       sq_eval_report *report, void *context, struct sq_eval_result *result,
                       struct sq_error *err)
{
    struct sq_llama c = {0};
    struct run run = {.r = r, .report = report, .context = context};
    if (r && sq_recipe_needs_calibration(r)) {
        if (!calib)
            return SQ_FAIL(err, SQ_ERR_ARG, "this recipe needs calibration tokens");
        SQ_TRY(sq_llama_init(&c, ck, calib, err));
        run.calib = &c;
    }
    const enum sq_status status = run_all(&run, ck, tokens, result, err);
    sq_llama_free(&c);
    return status;
}

enum sq_status sq_eval_file(const struct sq_checkpoint *ck, const char *path,
                            const struct sq_tokens *tokens, const struct sq_recipe *r,
                            sq_eval_report *report, void *context, struct sq_eval_result *result,
                            struct sq_error *err)
{
    struct sq_trace trace;
    SQ_TRY(sq_trace_open(&trace, path, err));
    struct run run = {.r = r, .trace = &trace, .report = report, .context = context};
    const enum sq_status status = run_all(&run, ck, tokens, result, err);
    sq_trace_close(&trace);
    return status;
}
