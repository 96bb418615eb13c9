// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/sq_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/format/sq_grid_format.h"
#include "sim/format/sq_weight_file.h"
#include "sim/llm/sq_sensitivity_scan.h"
#include "sim/llm/sq_spqt_greedy.h"

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
    if (status == SQ_OK)
        status = sq_eval_block(&run->eval, block, run->r, layer, run->is_dense, run->report,
                               run->context, err);
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
    if (r->format->parts)
        return eval_system_file(path, &run, ck, tokens, result, err);
    SQ_TRY(sq_trace_open(&trace, path, err));
    run.trace = &trace;
    const enum sq_status status = run_all(&run, ck, tokens, result, err);
    sq_trace_close(&trace);
    return status;
}
