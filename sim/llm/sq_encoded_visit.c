// SPDX-License-Identifier: Apache-2.0
// Calibrates and encodes a model block by block, and hands each layer to the caller
// (sq_encoded_visit.h).
#include "sim/llm/sq_encoded_visit.h"

#include "sim/format/sq_format_ops.h"
#include "sim/llm/sq_blockwise.h"
#include "sim/llm/sq_layer_scan.h"

struct walk {
    const struct sq_checkpoint *ck;
    const struct sq_encoded_options *o;
    const struct sq_recipe *r;
    struct sq_layer_choice choice;
    sq_encoded_visit *visit;
    void *context;
    const struct sq_quant_layer *layer; // of the block
};

// ---- without calibration --------------------------------------------------------------------

static enum sq_status encode_one(void *context, size_t index, const char *name, const float *x,
                                 const float *w, size_t m, size_t n, size_t k, struct sq_error *err)
{
    struct walk *v = context;
    const struct sq_quant_input none = {0};
    SQ_CLOSED(sq_quant_layer_free) struct sq_quant_layer q = {0};
    struct sq_error why;
    if (!v->o->is_wanted[index])
        return SQ_OK;
    if (v->o->file) {
        SQ_TRY(sq_layer_file_find(v->o->file, name, n, k, &q, err));
    } else {
        const enum sq_status status = sq_quant_layer_init(&q, v->r, w, n, k, &none, &why);
        SQ_FAIL_IF(status != SQ_OK, err, status, "layer %.60s: %.160s", name, why.text);
    }
    return v->visit(v->context, index, &q, x, m, err);
}

// ---- calibrated, block by block -------------------------------------------------------------

static bool wants_any(const struct walk *v, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (v->o->is_wanted[i])
            return true;
    return false;
}

static enum sq_status hook(void *context, const struct sq_llama_linear *l, bool *is_done,
                           struct sq_error *err)
{
    struct walk *v = context;
    *is_done = false; // the model goes on in binary32
    if (!v->o->is_wanted[l->layer])
        return SQ_OK;
    return v->visit(v->context, l->layer, &v->layer[l->layer % SQ_BLOCK_LAYERS], l->x, v->o->m,
                    err);
}

static enum sq_status do_block(struct walk *v, struct sq_llama *calib, struct sq_llama *seen,
                               size_t block, struct sq_error *err)
{
    const size_t first = block * SQ_BLOCK_LAYERS;
    SQ_CLOSED(sq_eval_layers_free) struct sq_quant_layer layer[SQ_BLOCK_LAYERS] = {0};
    if (!wants_any(v, first, first + SQ_BLOCK_LAYERS)) {
        SQ_TRY(sq_llama_block(calib, block, NULL, NULL, err));
        return sq_llama_block(seen, block, NULL, NULL, err);
    }
    SQ_TRY(sq_eval_calibrated(calib, v->ck, block, v->r, &v->choice, layer, err));
    v->layer = layer;
    return sq_llama_block(seen, block, hook, v, err);
}

static enum sq_status do_blocks(struct walk *v, const struct sq_tokens *calib,
                                const struct sq_tokens *seen, struct sq_error *err)
{
    SQ_CLOSED(sq_llama_free) struct sq_llama a = {0};
    SQ_CLOSED(sq_llama_free) struct sq_llama b = {0};
    SQ_TRY(sq_llama_init(&a, v->ck, calib, err));
    SQ_TRY(sq_llama_init(&b, v->ck, seen, err));
    for (size_t i = 0; i < v->ck->config.n_layers; i++)
        if (wants_any(v, i * SQ_BLOCK_LAYERS, v->ck->n_layers)) // this one or one after it
            SQ_TRY(do_block(v, &a, &b, i, err));
    return SQ_OK;
}

static enum sq_status calibrated(struct walk *v, struct sq_error *err)
{
    const struct sq_checkpoint *ck = v->ck;
    SQ_CLOSED(sq_tokens_free) struct sq_tokens calib = {0};
    SQ_CLOSED(sq_tokens_free) struct sq_tokens seen = {0};
    char beside[1024];
    sq_tokens_beside(v->o->model, "tokens_calib.safetensors", beside, sizeof beside);
    SQ_TRY(sq_tokens_read(&calib, v->o->calib ? v->o->calib : beside, ck->config.vocab_size,
                          ck->config.max_position, err));
    enum sq_status status = sq_layer_scan(ck, &calib, v->r, &v->choice, err);
    SQ_THEN(status, sq_model_tokens(ck, v->o->model, v->o->source, v->o->m, &seen, err));
    SQ_THEN(status, do_blocks(v, &calib, &seen, err));
    sq_layer_scan_free(&v->choice);
    return status;
}

enum sq_status sq_encoded_layers(const struct sq_checkpoint *ck, const struct sq_encoded_options *o,
                                 sq_encoded_visit *visit, void *context, bool *is_real,
                                 struct sq_error *err)
{
    struct walk v = {.ck = ck, .o = o, .r = o->recipe, .visit = visit, .context = context};
    const char *other = v.r->format->uncalibrated;
    *is_real = ck->is_model;
    if (o->file || !sq_recipe_needs_calibration(v.r))
        return sq_model_visit(ck, o->model, o->source, o->m, o->seed, encode_one, &v, is_real, err);
    SQ_FAIL_IF(!ck->is_model, err, SQ_ERR_UNSUPPORTED,
               "calibration needs a model directory with config.json%s%s%s", other ? "; " : "",
               other ? other : "", other ? " needs none" : "");
    return calibrated(&v, err);
}
