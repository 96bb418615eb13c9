// SPDX-License-Identifier: Apache-2.0
// sqsim quantize of formats with parts: the layers stay in memory, encoded, until the file is
// written, since their sizes are known only then.
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cmd_quantize.h"
#include "sim/format/sq_quantize.h"
#include "sim/format/sq_weight_file.h"
#include "sim/llm/sq_sensitivity_scan.h"
#include "sim/llm/sq_spqt_greedy.h"

// ---- what is printed ------------------------------------------------------------------------

struct work {
    const struct sq_quantize_arguments *in;
    const struct sq_checkpoint *ck;
    struct sq_recipe r;
    struct sq_quant_layer *layer; // [n_layers]
    uint8_t *is_dense;            // [n_layers]
    struct sq_sqnr sqnr;
    double weights, nbits;
};

static json_t *json_number(double db)
{
    return isnan(db) ? json_null() : isinf(db) ? json_string("inf") : json_real(db);
}

static void print_layer(const struct work *work, size_t i, double bits, double db)
{
    const struct sq_layer *l = &work->ck->layer[i];
    const size_t padded = sq_recipe_padded(&work->r, l->k);
    if (!work->in->is_json) {
        printf("%-36s %6zu x %-6zu %8zu %8.4f %9.3f%s\n", l->name, l->n, l->k, padded, bits, db,
               work->is_dense[i] ? " dense" : "");
        return;
    }
    const struct sq_quant_layer *q = &work->layer[i];
    struct sq_figure figure[SQ_FIGURES_MAX];
    const size_t n_figures = q->format->figures ? q->format->figures(q->state, figure) : 0;
    json_t *o = json_object();
    json_object_set_new(o, "layer", sq_cli_json_text(l->name));
    json_object_set_new(o, "n", json_integer((json_int_t)l->n));
    json_object_set_new(o, "k", json_integer((json_int_t)l->k));
    json_object_set_new(o, "k_padded", json_integer((json_int_t)padded));
    json_object_set_new(o, "stored_bits_per_weight", json_real(bits));
    json_object_set_new(o, "sqnr_db", json_number(db));
    json_object_set_new(o, "dense", json_boolean(work->is_dense[i]));
    for (size_t f = 0; f < n_figures; f++)
        json_object_set_new(o, figure[f].key, json_number(figure[f].value));
    sq_cli_json_line(o);
}

static void print_summary(const struct work *work)
{
    const double bits = work->nbits / work->weights, db = sq_sqnr_db(&work->sqnr);
    const char *output = work->in->output, *padding = work->r.format->padding;
    if (!work->in->is_json) {
        printf("%zu layers, %.0f weights, %.4f stored bits per weight, SQNR %.3f dB%s%s\n",
               work->ck->n_layers, work->weights, bits, db, padding ? ", " : "",
               padding ? padding : "");
        if (output)
            printf("written: %s\n", output);
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "summary", json_true());
    json_object_set_new(o, "layers", json_integer((json_int_t)work->ck->n_layers));
    json_object_set_new(o, "weights", json_integer((json_int_t)work->weights));
    sq_cli_recipe_json(&work->r, SQ_IN_QUANTIZE, o);
    json_object_set_new(o, "stored_bits_per_weight", json_real(bits));
    json_object_set_new(o, "sqnr_db", json_number(db));
    json_object_set_new(o, "output", output ? sq_cli_json_text(output) : json_null());
    json_object_set_new(o, "provenance",
                        sq_cli_provenance(sq_quantize_source(work->ck), "golden model", 0));
    sq_cli_json_line(o);
}

// ---- work -----------------------------------------------------------------------------------

// Layer i, w[n][k], is encoded: measure, print. w is not changed.
static enum sq_status finish_layer(struct work *work, size_t i, const float *w,
                                   struct sq_error *err)
{
    const struct sq_quant_layer *q = &work->layer[i];
    const size_t n = q->n, k = q->k_orig;
    struct sq_sqnr sqnr = {0};
    float *row = malloc(k * sizeof *row);
    if (!row)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a row of %zu", k);
    for (size_t r = 0; r < n; r++) {
        q->format->decode_row(q->state, r, row);
        for (size_t j = 0; j < k; j++) {
            const double exact = (double)w[r * k + j], error = exact - (double)row[j];
            sqnr.signal += exact * exact;
            sqnr.noise += error * error;
        }
    }
    free(row);
    const double nbits = sq_quant_layer_nbits(q), weights = (double)n * (double)k;
    print_layer(work, i, nbits / weights, sq_sqnr_db(&sqnr));
    work->sqnr.signal += sqnr.signal;
    work->sqnr.noise += sqnr.noise;
    work->nbits += nbits;
    work->weights += weights;
    sq_cli_progress("layers", i + 1, work->ck->n_layers);
    return SQ_OK;
}

static enum sq_status read_layer(const struct work *work, size_t i, float **w, struct sq_error *err)
{
    const struct sq_layer *l = &work->ck->layer[i];
    *w = calloc(l->n, l->k * sizeof **w);
    if (!*w)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for layer %.60s", l->name);
    return sq_checkpoint_read_layer(work->ck, i, *w, err);
}

// Layer i without calibration.
static enum sq_status do_layer(struct work *work, size_t i, struct sq_error *err)
{
    const struct sq_layer *l = &work->ck->layer[i];
    const struct sq_quant_input none = {0};
    struct sq_error why;
    float *w;
    enum sq_status status = read_layer(work, i, &w, err);
    if (status == SQ_OK) {
        status = sq_quant_layer_init(&work->layer[i], &work->r, w, l->n, l->k, &none, &why);
        if (status != SQ_OK)
            (void)SQ_FAIL(err, status, "layer %.60s: %.160s", l->name, why.text);
    }
    if (status == SQ_OK)
        status = finish_layer(work, i, w, err);
    free(w);
    return status;
}

// A decoder block, calibrated on *calib.
static enum sq_status do_block(struct work *work, struct sq_llama *calib, size_t block,
                               struct sq_error *err)
{
    const size_t first = block * SQ_BLOCK_LAYERS;
    struct sq_eval_inputs in = {0};
    enum sq_status status = sq_eval_collect(calib, block, sq_recipe_needs(&work->r), &in, err);
    if (status == SQ_OK)
        status = sq_eval_encode(work->ck, block, &work->r, &in, work->is_dense, work->layer + first,
                                err);
    sq_eval_inputs_free(&in);
    for (size_t i = first; status == SQ_OK && i < first + SQ_BLOCK_LAYERS; i++) {
        float *w = NULL;
        status = read_layer(work, i, &w, err);
        if (status == SQ_OK)
            status = finish_layer(work, i, w, err);
        free(w);
    }
    return status;
}

// Which layers stay dense.
static enum sq_status choose_dense(struct work *work, const struct sq_tokens *tokens,
                                   struct sq_error *err)
{
    if (!(work->r.dense_fraction > 0))
        return SQ_OK;
    double *error = calloc(work->ck->n_layers, sizeof *error);
    const enum sq_status status =
        error ? sq_eval_sensitive(work->ck, tokens, &work->r, error, work->is_dense, err)
              : SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu layers", work->ck->n_layers);
    free(error);
    return status;
}

static enum sq_status do_model(struct work *work, const char *model, struct sq_error *err)
{
    const struct sq_model_config *c = &work->ck->config;
    struct sq_tokens tokens;
    struct sq_llama calib = {0};
    char beside[4096];
    if (!work->ck->is_model)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "calibration needs a model directory with config.json%s%s",
                       work->r.format->uncalibrated ? "; none need " : "",
                       work->r.format->uncalibrated ? work->r.format->uncalibrated : "");
    snprintf(beside, sizeof beside, "%s/tokens_calib.safetensors", model);
    SQ_TRY(sq_tokens_read(&tokens, work->in->calib ? work->in->calib : beside, c->vocab_size,
                          c->max_position, err));
    double *sparsity = work->r.is_greedy ? calloc(work->ck->n_layers, sizeof *sparsity) : NULL;
    enum sq_status status = choose_dense(work, &tokens, err);
    if (status == SQ_OK && work->r.is_greedy && !sparsity)
        status = SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu layers", work->ck->n_layers);
    if (status == SQ_OK && sparsity)
        status = sq_spqt_greedy_layers(work->ck, &tokens, &work->r, sparsity, err);
    work->r.layer_sparsity = sparsity;
    if (status == SQ_OK)
        status = sq_llama_init(&calib, work->ck, &tokens, err);
    for (size_t b = 0; status == SQ_OK && b < c->n_layers; b++)
        status = do_block(work, &calib, b, err);
    work->r.layer_sparsity = NULL;
    free(sparsity);
    sq_llama_free(&calib);
    sq_tokens_free(&tokens);
    return status;
}

static enum sq_status write_file(const struct work *work, struct sq_error *err)
{
    const struct sq_checkpoint *ck = work->ck;
    struct sq_weight_item *item = calloc(ck->n_layers, sizeof *item);
    if (!item)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu layers", ck->n_layers);
    for (size_t i = 0; i < ck->n_layers; i++) {
        const struct sq_layer *l = &ck->layer[i];
        item[i] = (struct sq_weight_item){
            l->name, l->n, l->k, sq_digest_of(l->weight->data, l->weight->nbytes), &work->layer[i]};
        sq_checkpoint_forget(ck, l->weight);
    }
    const enum sq_status status = sq_weight_file_write(
        work->in->output, &work->r, sq_quantize_source(ck), item, ck->n_layers, err);
    free(item);
    return status;
}

static enum sq_status encode(struct work *work, const char *model, struct sq_error *err)
{
    if (!work->in->is_json)
        printf("%s\n%-36s %15s %8s %8s %9s\n", work->r.format->name, "layer", "N x K     ",
               "k_padded", "bits", "SQNR dB");
    if (sq_recipe_needs_calibration(&work->r))
        return do_model(work, model, err);
    for (size_t i = 0; i < work->ck->n_layers; i++)
        SQ_TRY(do_layer(work, i, err));
    return SQ_OK;
}

enum sq_status sq_quantize_parts(const struct sq_quantize_arguments *in,
                                 const struct sq_checkpoint *ck, const char *model,
                                 struct sq_error *err)
{
    struct work work = {.in = in,
                        .ck = ck,
                        .r = in->r,
                        .layer = calloc(ck->n_layers, sizeof *work.layer),
                        .is_dense = calloc(ck->n_layers, 1)};
    omp_set_num_threads((int)in->jobs);
    enum sq_status status = SQ_OK;
    if (!work.layer || !work.is_dense)
        status = SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu layers", ck->n_layers);
    if (status == SQ_OK)
        status = encode(&work, model, err);
    if (status == SQ_OK && (ferror(stdout) || fflush(stdout) != 0))
        status = SQ_FAIL(err, SQ_ERR_IO, "cannot write standard output: %s", strerror(errno));
    if (status == SQ_OK && in->output)
        status = write_file(&work, err);
    if (status == SQ_OK)
        print_summary(&work);
    for (size_t i = 0; work.layer && i < ck->n_layers; i++)
        sq_quant_layer_free(&work.layer[i]);
    free(work.layer);
    free(work.is_dense);
    return status;
}
