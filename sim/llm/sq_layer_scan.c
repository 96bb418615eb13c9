// SPDX-License-Identifier: Apache-2.0
// Runs the scan that the recipe's format asks for: how much the output of each layer suffers, or a
// sparsity for each layer (sq_layer_scan.h).
#include "sim/llm/sq_layer_scan.h"

#include <math.h>
#include <stdlib.h>

#include "models/quant/sq_sensitivity.h"
#include "sim/format/sq_format_ops.h"
#include "sim/llm/sq_sparsity_scan.h"

// Relative output error of an encoded layer on its calibration inputs; w is overwritten.
static enum sq_status relative_error(const struct sq_quant_layer *q, float *w,
                                     const struct sq_calibration *c, double *error,
                                     struct sq_error *err)
{
    const size_t n = q->n, k = q->k_orig;
    double signal, noise;
    SQ_FREED float *row = malloc(k * sizeof *row);
    SQ_NEED(row, err, "a row of %zu", k);
    SQ_TRY(sq_output_energy(c, w, n, &signal, err));
    for (size_t i = 0; i < n; i++) {
        q->format->values->decode_row(q->state, i, row);
        for (size_t j = 0; j < k; j++)
            w[i * k + j] -= row[j];
    }
    SQ_TRY(sq_output_energy(c, w, n, &noise, err));
    *error = signal > 0 ? sqrt(noise / signal) : 0;
    return SQ_OK;
}

static enum sq_status measure_block(struct sq_llama *s, size_t block, const struct sq_recipe *r,
                                    double *error, struct sq_error *err)
{
    const struct sq_checkpoint *const ck = s->ck;
    SQ_CLOSED(sq_eval_inputs_free) struct sq_eval_inputs in = {0};
    SQ_CLOSED(sq_eval_layers_free) struct sq_quant_layer layer[SQ_BLOCK_LAYERS] = {0};
    SQ_TRY(sq_eval_collect(s, block, sq_recipe_needs(r) | SQ_NEED_HESSIAN, &in, err));
    SQ_TRY(sq_eval_encode(ck, block, r, &in, NULL, layer, err));
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++) {
        const size_t l = block * SQ_BLOCK_LAYERS + i;
        SQ_FREED float *w = malloc(ck->layer[l].n * ck->layer[l].k * sizeof *w);
        SQ_TRY(w ? sq_checkpoint_read_layer(ck, l, w, err)
                 : SQ_NO_MEMORY(err, "layer %.60s", ck->layer[l].name));
        SQ_TRY(relative_error(&layer[i], w, &in.calibration[sq_block_input_of(i)], &error[l], err));
    }
    return SQ_OK;
}

// Selective sparsity: error[n_layers] of every layer under r->format with nothing dense (relative
// output error on its calibration inputs), and which round(dense_fraction * n_layers) stay
// dense.
static enum sq_status find_sensitive(const struct sq_checkpoint *ck, const struct sq_tokens *calib,
                                     const struct sq_recipe *r, double dense_fraction,
                                     double *error, uint8_t *is_dense, struct sq_error *err)
{
    SQ_CLOSED(sq_llama_free) struct sq_llama s = {0};
    SQ_TRY(sq_llama_init(&s, ck, calib, err));
    for (size_t b = 0; b < ck->config.n_layers; b++)
        SQ_TRY(measure_block(&s, b, r, error, err));
    return sq_sensitive_layers(error, ck->n_layers, dense_fraction, is_dense, err);
}

static enum sq_scan scan_of(const struct sq_recipe *r, double *share)
{
    const struct sq_format_values *v = r->format->values;
    return v->scan ? v->scan(r, share) : SQ_SCAN_NOTHING;
}

bool sq_layer_scan_is_needed(const struct sq_recipe *r)
{
    double share;
    return scan_of(r, &share) != SQ_SCAN_NOTHING;
}

static enum sq_status no_memory(const struct sq_checkpoint *ck, struct sq_error *err)
{
    return SQ_NO_MEMORY(err, "%zu layers", ck->n_layers);
}

enum sq_status sq_layer_scan(const struct sq_checkpoint *ck, const struct sq_tokens *calib,
                             const struct sq_recipe *r, struct sq_layer_choice *choice,
                             struct sq_error *err)
{
    double share;
    const enum sq_scan scan = scan_of(r, &share);
    double *number = calloc(ck->n_layers, sizeof *number);
    enum sq_status status = number ? SQ_OK : no_memory(ck, err);
    *choice = (struct sq_layer_choice){0};
    if (status == SQ_OK && scan == SQ_SCAN_DENSE) {
        choice->is_dense = calloc(ck->n_layers, 1);
        status = choice->is_dense
                     ? find_sensitive(ck, calib, r, share, number, choice->is_dense, err)
                     : no_memory(ck, err);
    }
    if (status == SQ_OK && scan == SQ_SCAN_SPARSITY) {
        status = sq_sparsity_scan_layers(ck, calib, r, share, number, err);
        choice->sparsity = number;
    } else {
        free(number);
    }
    return SQ_ELSE(status, sq_layer_scan_free(choice));
}

void sq_layer_scan_free(struct sq_layer_choice *choice)
{
    SQ_FREE(choice->is_dense, choice->sparsity);
    *choice = (struct sq_layer_choice){0};
}
