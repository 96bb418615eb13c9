// SPDX-License-Identifier: Apache-2.0
// Runs a block at trial sparsities, and shares its budget out by the error of its output
// (sq_sparsity_scan.h).
#include "sim/llm/sq_sparsity_scan.h"

#include <stdlib.h>
#include <string.h>

#include "models/quant/sq_threshold.h"
#include "sim/format/sq_format_ops.h"

// One block: its layers, what they see, and the residual stream before and after it.
struct block {
    struct sq_llama *s;
    size_t index, n; // n: numbers in the stream
    const struct sq_recipe *r;
    struct sq_layer_choice none; // no thresholds of their own
    struct sq_quant_layer layer[SQ_BLOCK_LAYERS];
    struct sq_histogram histogram[SQ_BLOCK_INPUTS];
    float *before, *after;
};

static enum sq_status error_of(void *context, const double *sparsity, double *error,
                               struct sq_error *err)
{
    struct block *b = context;
    float theta[SQ_BLOCK_INPUTS];
    for (size_t i = 0; i < SQ_BLOCK_INPUTS; i++)
        SQ_TRY(sq_threshold(&b->histogram[i], sparsity[i], &theta[i], err));
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++)
        b->r->format->values->set_threshold(b->layer[i].state, theta[sq_block_input_of(i)]);
    memcpy(b->s->h, b->before, b->n * sizeof *b->before);
    SQ_TRY(sq_eval_block(b->s, b->index, b->r, b->layer, NULL, NULL, NULL, err));
    *error = 0;
    for (size_t i = 0; i < b->n; i++) {
        const double d = (double)b->s->h[i] - (double)b->after[i];
        *error += d * d;
    }
    return SQ_OK;
}

// Runs the block unquantized and fills *b; the stream then has passed the block.
static enum sq_status prepare(struct block *b, struct sq_error *err)
{
    SQ_CLOSED(sq_eval_inputs_free) struct sq_eval_inputs in = {0};
    memcpy(b->before, b->s->h, b->n * sizeof *b->before);
    SQ_TRY(sq_eval_collect(b->s, b->index, SQ_NEED_INPUTS | SQ_NEED_SAMPLE, &in, err));
    memcpy(b->after, b->s->h, b->n * sizeof *b->after);
    SQ_TRY(sq_eval_encode(b->s->ck, b->index, b->r, NULL, &b->none, b->layer, err));
    for (size_t i = 0; i < SQ_BLOCK_INPUTS; i++) {
        SQ_TRY(sq_histogram_init(&b->histogram[i], err));
        SQ_TRY(sq_histogram_add(&b->histogram[i], in.sample[i], in.n_sample * in.calibration[i].k,
                                err));
    }
    return SQ_OK;
}

static enum sq_status do_block(struct block *b, double target, double *sparsity,
                               struct sq_error *err)
{
    double weight_count[SQ_BLOCK_INPUTS] = {0}, of_input[SQ_BLOCK_INPUTS];
    enum sq_status status = prepare(b, err);
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++) {
        const struct sq_layer *l = &b->s->ck->layer[b->index * SQ_BLOCK_LAYERS + i];
        weight_count[sq_block_input_of(i)] += (double)l->n * (double)l->k;
    }
    SQ_THEN(status, sq_sparsity_scan(weight_count, SQ_BLOCK_INPUTS, target, SQ_SCAN_STEP,
                                     SQ_SCAN_LIMIT, error_of, b, of_input, err));
    for (size_t i = 0; status == SQ_OK && i < SQ_BLOCK_LAYERS; i++)
        sparsity[i] = of_input[sq_block_input_of(i)];
    memcpy(b->s->h, b->after, b->n * sizeof *b->after);
    sq_eval_layers_free(&b->layer);
    for (size_t i = 0; i < SQ_BLOCK_INPUTS; i++)
        sq_histogram_free(&b->histogram[i]);
    return status;
}

enum sq_status sq_sparsity_scan_layers(const struct sq_checkpoint *ck,
                                       const struct sq_tokens *calib, const struct sq_recipe *r,
                                       double target, double *sparsity, struct sq_error *err)
{
    struct sq_tokens few = *calib;
    SQ_CLOSED(sq_llama_free) struct sq_llama s = {0};
    while (few.n_sequences > 1 && sq_tokens_count(&few) > SQ_SCAN_TOKENS)
        few.n_sequences--;
    SQ_TRY(sq_llama_init(&s, ck, &few, err));
    struct block b = {.s = &s, .n = sq_tokens_count(&few) * ck->config.hidden_size, .r = r};
    b.none.sparsity = calloc(ck->n_layers, sizeof(double));
    b.before = malloc(b.n * sizeof *b.before);
    b.after = malloc(b.n * sizeof *b.after);
    enum sq_status status =
        SQ_HAVE(b.before && b.after && b.none.sparsity, err, "%zu tokens", sq_tokens_count(&few));
    for (; status == SQ_OK && b.index < ck->config.n_layers; b.index++)
        status = do_block(&b, target, sparsity + b.index * SQ_BLOCK_LAYERS, err);
    SQ_FREE(b.none.sparsity, b.before, b.after);
    return status;
}
