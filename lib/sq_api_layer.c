// SPDX-License-Identifier: Apache-2.0
// Layers of sqsim.h: encode, golden product, decode.
#include <math.h>
#include <stdlib.h>

#include "lib/sq_api.h"
#include "models/quant/sq_smooth.h"
#include "sim/llm/sq_layer_scan.h"
#include "sim/machine/sq_mapping.h"

enum { N_SAMPLE = 512 }; // tokens that formats with a sample see, as in an evaluation

static enum sq_status check_size(const char *name, size_t v, struct sq_error *err)
{
    if (v >= 1 && v <= SQ_GEMM_MAX)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_RANGE, "%s = %zu, need 1..%llu", name, v,
                   (unsigned long long)SQ_GEMM_MAX);
}

// ---- encoding -------------------------------------------------------------------------------

// What init() wants to know of x[m][k]. The members of *in that are no views belong to the others.
struct known {
    struct sq_calibration calibration;
    struct sq_factor factor;
    float *sigma, *wx;
};

static enum sq_status smooth(struct known *known, const struct sq_recipe *r, const float *w,
                             size_t n, size_t k, struct sq_error *err)
{
    known->wx = calloc(k, sizeof *known->wx);
    known->sigma = calloc(k, sizeof *known->sigma);
    SQ_NEED(known->wx && known->sigma, err, "%zu smoothed channels", k);
    sq_smooth_weights(w, n, k, known->wx);
    sq_smooth_sigma(known->calibration.abs_max, known->wx, k, r->alpha, known->sigma);
    return SQ_OK;
}

static enum sq_status calibrate(struct known *known, const struct sq_recipe *r, const float *w,
                                size_t n, size_t k, const float *x, size_t m,
                                struct sq_quant_input *in, struct sq_error *err)
{
    const unsigned needs = sq_recipe_needs(r);
    if (!sq_recipe_needs_calibration(r))
        return SQ_OK;
    SQ_FAIL_IF(!x || m == 0, err, SQ_ERR_ARG, "this format needs calibration tokens x[m][k]");
    SQ_TRY(check_size("m", m, err));
    SQ_TRY(sq_calibration_init(&known->calibration, k, (needs & SQ_NEED_HESSIAN) == SQ_NEED_HESSIAN,
                               err));
    SQ_TRY(sq_calibration_add(&known->calibration, x, m, err));
    if (r->is_smooth)
        SQ_TRY(smooth(known, r, w, n, k, err));
    if ((needs & SQ_NEED_FACTOR) == SQ_NEED_FACTOR) {
        SQ_TRY(sq_factor_init(&known->factor, &known->calibration, known->sigma, r->percdamp, err));
        in->factor = &known->factor;
    }
    in->calibration = &known->calibration;
    in->sigma = known->sigma;
    in->sample = x;
    in->n_sample = m < N_SAMPLE ? m : N_SAMPLE;
    return SQ_OK;
}

static enum sq_status encode(const struct sqsim_format *format, const float *w, size_t n, size_t k,
                             const float *x, size_t m, struct sqsim_layer *layer,
                             struct sq_error *err)
{
    const struct sq_recipe *r = &format->recipe;
    struct known known = {0};
    struct sq_quant_input in = {0};
    SQ_FAIL_IF(format->purpose != SQSIM_VALUES, err, SQ_ERR_ARG,
               "the format was made for SQSIM_TIME, need SQSIM_VALUES");
    SQ_FAIL_IF(sq_layer_scan_is_needed(r), err, SQ_ERR_UNSUPPORTED,
               "thresholds = greedy and dense-layers compare the layers of a model");
    SQ_TRY(check_size("n", n, err));
    SQ_TRY(check_size("k", k, err));
    layer->recipe = *r;
    layer->input = sq_digest_of(w, n * k * sizeof *w);
    enum sq_status status = calibrate(&known, r, w, n, k, x, m, &in, err);
    SQ_THEN(status, sq_quant_layer_init(&layer->quant, r, w, n, k, &in, err));
    sq_calibration_free(&known.calibration);
    sq_factor_free(&known.factor);
    SQ_FREE(known.sigma, known.wx);
    return status;
}

enum sqsim_status sqsim_encode(const sqsim_format *format, const float *w, size_t n, size_t k,
                               const float *x, size_t m, sqsim_layer **layer,
                               struct sqsim_error *err)
{
    SQ_API_ENTER();
    SQ_API_MAKE(layer, "a layer", encode(format, w, n, k, x, m, *layer, &inner), free);
}

void sqsim_layer_free(sqsim_layer *layer)
{
    if (layer)
        sq_quant_layer_free(&layer->quant);
    free(layer);
}

// ---- use ------------------------------------------------------------------------------------

size_t sqsim_layer_n(const sqsim_layer *layer)
{
    return layer->quant.n;
}

size_t sqsim_layer_k(const sqsim_layer *layer)
{
    return layer->quant.k_orig;
}

double sqsim_layer_bits(const sqsim_layer *layer)
{
    const struct sq_quant_layer *q = &layer->quant;
    return sq_quant_layer_nbits(q) / ((double)q->n * (double)q->k_orig);
}

enum sqsim_status sqsim_product(const sqsim_layer *layer, const float *x, size_t m, float *y,
                                struct sqsim_error *err)
{
    SQ_API_ENTER();
    struct sq_error inner;
    enum sq_status status = check_size("m", m, &inner);
    SQ_THEN(status, sq_quant_layer_apply(&layer->quant, &layer->recipe, x, m, y, &inner));
    return sq_api_status(status, &inner, err);
}

enum sqsim_status sqsim_decode(const sqsim_layer *layer, float *w, struct sqsim_error *err)
{
    SQ_API_ENTER();
    const struct sq_quant_layer *q = &layer->quant;
    (void)err; // a layer that exists decodes
    for (size_t row = 0; row < q->n; row++) {
        float *to = w + row * q->k_orig;
        q->format->values->decode_row(q->state, row, to);
        for (size_t j = 0; q->sigma && j < q->k_orig; j++)
            to[j] /= q->sigma[j];
    }
    return SQSIM_OK;
}

// ---- stored tensors -------------------------------------------------------------------------

const char *sqsim_layer_format(const sqsim_layer *layer)
{
    return layer->recipe.format->name;
}

static size_t parts_of(const struct sqsim_layer *l, struct sq_part part[SQ_LAYER_PARTS_MAX])
{
    return isnan(sqsim_layer_bits(l)) ? 0 : sq_layer_parts(&l->quant, part);
}

static bool find_part(const struct sqsim_layer *l, size_t i, struct sq_part *part)
{
    struct sq_part all[SQ_LAYER_PARTS_MAX];
    if (i >= parts_of(l, all))
        return false;
    *part = all[i];
    return true;
}

size_t sqsim_layer_n_parts(const sqsim_layer *layer)
{
    struct sq_part all[SQ_LAYER_PARTS_MAX];
    return parts_of(layer, all);
}

const char *sqsim_layer_part_name(const sqsim_layer *layer, size_t i)
{
    struct sq_part part;
    return find_part(layer, i, &part) ? part.name : NULL;
}

const char *sqsim_layer_part_dtype(const sqsim_layer *layer, size_t i)
{
    struct sq_part part;
    return find_part(layer, i, &part) ? sq_dtype_name(part.dtype) : NULL;
}

size_t sqsim_layer_part_shape(const sqsim_layer *layer, size_t i, size_t shape[3])
{
    struct sq_part part;
    if (!find_part(layer, i, &part))
        return 0;
    for (unsigned d = 0; d < part.n_dims; d++)
        shape[d] = part.dim[d];
    return part.n_dims;
}

const void *sqsim_layer_part_data(const sqsim_layer *layer, size_t i)
{
    struct sq_part part;
    return find_part(layer, i, &part) ? part.data : NULL;
}
