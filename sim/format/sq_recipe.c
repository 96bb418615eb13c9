// SPDX-License-Identifier: Apache-2.0
#include "sim/format/sq_recipe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/quant/sq_algorithm2.h"
#include "models/quant/sq_codes_alloc.h"
#include "models/quant/sq_smooth.h"
#include "models/sq_mac.h"
#include "sim/format/sq_system.h"

enum { TOKENS = 128, CHANNELS = 64 }; // of one piece of work

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static enum sq_status no_memory(size_t n, size_t k, struct sq_error *err)
{
    return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a layer of %zu x %zu", n, k);
}

// ---- the recipe -----------------------------------------------------------------------------

struct sq_recipe sq_recipe_default(void)
{
    return (struct sq_recipe){.weight = {SQ_GRID_DENSE, 0, 4},
                              .act = {SQ_GRID_DENSE, 0, 8},
                              .group = 128,
                              .is_gptq = true,
                              .percdamp = 0.01,
                              .alpha = 0.5};
}

static bool is_mixed_act(const struct sq_recipe *r)
{
    return !r->is_act_f16 && sq_grid_is_mixed(&r->act);
}

static enum sq_status check_pair(const struct sq_recipe *r, struct sq_error *err)
{
    const bool is_fp = r->weight.kind == SQ_GRID_FP, is_fp8 = r->act.kind == SQ_GRID_FP8;
    if (is_mixed_act(r) && sq_grid_is_mixed(&r->weight))
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "weights or activations may be sparse-quantized, never both");
    if (is_fp != (is_fp8 && !r->is_act_f16) || r->act.kind == SQ_GRID_FP)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "fp weights need fp8 activations, and only they");
    if (r->is_act_f16 && r->weight.kind != SQ_GRID_DENSE)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "16-bit activations need dense weights");
    if (!r->is_act_f16 && r->act.kind == SQ_GRID_DENSE && r->weight.kind == SQ_GRID_OWN &&
        r->act.low_bits != 4 && r->act.low_bits != 8)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "act-bits = %u, need 4 or 8 beside sparse-quantized weights",
                       r->act.low_bits);
    return SQ_OK;
}

static enum sq_status check_offline(const struct sq_recipe *r, struct sq_error *err)
{
    if (!(r->alpha >= 0 && r->alpha <= 1))
        return SQ_FAIL(err, SQ_ERR_RANGE, "alpha = %g, need 0..1", r->alpha);
    if (!(r->percdamp >= 0 && r->percdamp <= 1))
        return SQ_FAIL(err, SQ_ERR_RANGE, "percdamp = %g, need 0..1", r->percdamp);
    return SQ_OK;
}

enum sq_status sq_recipe_check(const struct sq_recipe *r, struct sq_error *err)
{
    if (r->system != SQ_SYSTEM_GRID) {
        const struct sq_system_ops *ops = sq_system_ops(r->system);
        if (!ops)
            return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "system = %u is not built",
                           (unsigned)r->system);
        if (r->is_smooth)
            return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "smooth: %s has no smoothing", ops->name);
        SQ_TRY(ops->check(r, err));
        return check_offline(r, err);
    }
    SQ_TRY(sq_grid_check(&r->weight, err));
    if (!r->is_act_f16)
        SQ_TRY(sq_grid_check(&r->act, err));
    SQ_TRY(check_pair(r, err));
    if (r->group != 0 && r->group != 32 && r->group != 64 && r->group != 128)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "group = %u, need 32, 64, 128 or 0 (row)",
                       r->group);
    if (sq_grid_is_mixed(&r->weight) || is_mixed_act(r)) {
        const struct sq_format f = {8, 4, r->bank, r->high_per_bank,
                                    is_mixed_act(r) ? 0 : r->group};
        SQ_TRY(sq_format_check(&f, err));
    }
    return check_offline(r, err);
}

unsigned sq_recipe_needs(const struct sq_recipe *r)
{
    if (r->system != SQ_SYSTEM_GRID)
        return sq_system_ops(r->system)->needs(r);
    return (r->is_smooth ? SQ_NEED_INPUTS : 0u) | (r->is_gptq ? SQ_NEED_FACTOR : 0u) |
           (is_mixed_act(r) && r->select == SQ_SELECT_STATIC ? SQ_NEED_INPUTS : 0u);
}

bool sq_recipe_needs_calibration(const struct sq_recipe *r)
{
    return sq_recipe_needs(r) != 0;
}

size_t sq_recipe_padded(const struct sq_recipe *r, size_t k_orig)
{
    const size_t bank = r->bank ? r->bank : 1, unit = r->group > bank ? r->group : bank;
    return (k_orig + unit - 1) / unit * unit; // both are powers of two
}

// ---- quantizing -----------------------------------------------------------------------------

static enum sq_status encode(struct sq_quant_layer *q, const struct sq_recipe *r, const float *w,
                             const struct sq_quant_input *in, struct sq_error *err)
{
    if (r->is_gptq)
        return sq_gptq_encode(&q->w, w, in->factor, &r->gptq, NULL, err);
    float *score = malloc(q->w.k * sizeof *score);
    if (!score)
        return no_memory(q->w.n, q->w.k, err);
    const enum sq_status status = sq_codes_encode_rtn(&q->w, w, score, err);
    free(score);
    return status;
}

static enum sq_status pack(struct sq_quant_layer *q, const struct sq_recipe *r,
                           struct sq_error *err)
{
    const struct sq_format f = {r->weight.high_bits, r->weight.low_bits, r->bank, r->high_per_bank,
                                r->group};
    SQ_TRY(sq_operand_alloc(&q->packed, &f, q->w.n, q->w.k_orig, err));
    return sq_codes_pack(&q->w, &q->packed.m, err);
}

static enum sq_status fill_mask(struct sq_quant_layer *q, const struct sq_recipe *r, const float *w,
                                const struct sq_quant_input *in, struct sq_error *err)
{
    const size_t k = q->w.k_orig;
    float *abar = malloc(k * sizeof *abar), *wbar = malloc(k * sizeof *wbar);
    q->mask = malloc(q->w.k);
    enum sq_status status = SQ_OK;
    if (!abar || !wbar || !q->mask) {
        status = no_memory(q->w.n, k, err);
    } else {
        sq_mean_act(in->calibration->abs_sum, in->calibration->n_tokens, q->sigma, k, abar);
        sq_mean_weight(w, q->w.n, k, wbar);
        status = sq_static_mask(abar, r->is_mask_by_act ? NULL : wbar, k, q->w.k, r->bank,
                                r->high_per_bank, q->mask, err);
    }
    free(abar);
    free(wbar);
    return status;
}

static enum sq_status quantize(struct sq_quant_layer *q, const struct sq_recipe *r, float *w,
                               const struct sq_quant_input *in, struct sq_error *err)
{
    const size_t n = q->w.n, k = q->w.k_orig;
    if (!q->ops)
        SQ_TRY(sq_codes_alloc(&q->w, err));
    if (in->sigma) {
        q->sigma = malloc(k * sizeof *q->sigma);
        if (!q->sigma)
            return no_memory(n, k, err);
        memcpy(q->sigma, in->sigma, k * sizeof *q->sigma);
        sq_smooth_apply_weights(w, n, k, q->sigma);
    }
    if (q->ops)
        return q->ops->init(&q->state, r, w, n, k, in, err);
    if (is_mixed_act(r) && r->select == SQ_SELECT_STATIC)
        SQ_TRY(fill_mask(q, r, w, in, err));
    SQ_TRY(encode(q, r, w, in, err));
    return q->w.grid.kind == SQ_GRID_OWN ? pack(q, r, err) : SQ_OK;
}

enum sq_status sq_quant_layer_init(struct sq_quant_layer *q, const struct sq_recipe *r, float *w,
                                   size_t n, size_t k, const struct sq_quant_input *in,
                                   struct sq_error *err)
{
    const struct sq_system_ops *ops = sq_system_ops(r->system);
    const bool is_mixed = sq_grid_is_mixed(&r->weight);
    const size_t padded = sq_recipe_padded(r, k);
    if (ops)
        *q = (struct sq_quant_layer){.w = {.n = n, .k = k, .k_orig = k}, .ops = ops};
    else
        *q = (struct sq_quant_layer){.w = {.grid = r->weight,
                                           .n = n,
                                           .k = padded,
                                           .k_orig = k,
                                           .group = r->group ? r->group : padded,
                                           .bank = is_mixed ? r->bank : 0,
                                           .high_per_bank = is_mixed ? r->high_per_bank : 0}};
    const enum sq_status status = quantize(q, r, w, in, err);
    if (status != SQ_OK)
        sq_quant_layer_free(q);
    return status;
}

void sq_quant_layer_free(struct sq_quant_layer *q)
{
    if (q->ops)
        q->ops->free(q->state);
    sq_codes_free(&q->w);
    sq_operand_free(&q->packed);
    free(q->sigma);
    free(q->mask);
    *q = (struct sq_quant_layer){0};
}

double sq_quant_layer_nbits(const struct sq_quant_layer *q)
{
    const struct sq_codes *w = &q->w;
    if (q->ops)
        return q->ops->stored_nbits(q->state);
    if (q->packed.buffer)
        return sq_stored_bits_per_weight(&q->packed.m) * (double)w->n * (double)w->k_orig;
    if (w->grid.kind != SQ_GRID_DENSE)
        return NAN;
    return (double)w->n * ((double)w->k * w->grid.low_bits + 32.0 * (double)(w->k / w->group));
}

// ---- multiplying ----------------------------------------------------------------------------

// The error of the first piece that failed, so that it does not depend on timing.
struct first_error {
    size_t piece;
    struct sq_error e;
};

static void note(struct first_error *first, size_t piece, const struct sq_error *e)
{
#pragma omp critical(sq_recipe_error)
    if (first->e.code == SQ_OK || piece < first->piece)
        *first = (struct first_error){piece, *e};
}

static enum sq_status outcome(const struct first_error *first, struct sq_error *err)
{
    if (first->e.code == SQ_OK)
        return SQ_OK;
    return SQ_FAIL(err, first->e.code, "tokens from %zu: %.200s", first->piece, first->e.text);
}

// Tokens of a packed layer as integers.
static enum sq_status quantize_tokens(const struct sq_matrix *w, const struct sq_recipe *r,
                                      const float *x, size_t m, int8_t *act, float *s_a,
                                      struct sq_error *err)
{
    struct first_error first = {0};
#pragma omp parallel for schedule(dynamic)
    for (size_t t = 0; t < m; t += TOKENS) {
        struct sq_error e;
        if (sq_act_quantize(x + t * w->k_orig, min_size(TOKENS, m - t), w->k_orig, w->k,
                            r->act.low_bits, act + t * w->k, s_a + t, &e) != SQ_OK)
            note(&first, t, &e);
    }
    return outcome(&first, err);
}

// Packed SQ weights: threads share out the channels, so that each row is unpacked once.
static enum sq_status apply_packed(const struct sq_quant_layer *q, const struct sq_recipe *r,
                                   const float *x, size_t m, float *y, struct sq_error *err)
{
    const struct sq_matrix *w = &q->packed.m;
    const size_t scratch_nbytes = (sq_gemm_scratch_nbytes(w) + 63) / 64 * 64;
    int8_t *act = malloc(m * w->k);
    float *s_a = malloc(m * sizeof *s_a);
    bool is_out_of_memory = !act || !s_a;
    enum sq_status status = SQ_OK;
    if (!is_out_of_memory)
        status = quantize_tokens(w, r, x, m, act, s_a, err);
    if (!is_out_of_memory && status == SQ_OK) {
#pragma omp parallel for schedule(dynamic)
        for (size_t n = 0; n < w->n; n += CHANNELS) {
            void *scratch = aligned_alloc(64, scratch_nbytes);
            if (scratch) {
                sq_gemm_sq_w(w, act, s_a, m, n, min_size(n + CHANNELS, w->n), y, NULL, NULL,
                             scratch);
            } else {
#pragma omp atomic write
                is_out_of_memory = true;
            }
            free(scratch);
        }
    }
    free(act);
    free(s_a);
    return is_out_of_memory ? no_memory(w->n, w->k, err) : status;
}

// m <= TOKENS tokens of any other pair of grids.
static enum sq_status apply_codes(const struct sq_quant_layer *q, const struct sq_recipe *r,
                                  const float *x, size_t m, float *y, struct sq_error *err)
{
    const bool is_mixed = sq_grid_is_mixed(&r->act);
    struct sq_codes a = {.grid = r->act,
                         .n = m,
                         .k = q->w.k,
                         .k_orig = q->w.k_orig,
                         .group = q->w.k,
                         .bank = is_mixed ? r->bank : 0,
                         .high_per_bank = is_mixed ? r->high_per_bank : 0};
    SQ_TRY(sq_codes_alloc(&a, err));
    const struct sq_gemm_codes g = {&a, &q->w, y, NULL, NULL};
    float *score = malloc(2 * a.k * sizeof *score);
    void *scratch = aligned_alloc(64, (sq_gemm_codes_scratch(&g) + 63) / 64 * 64);
    enum sq_status status = sq_gemm_codes_check(&g, err);
    if (status == SQ_OK && (!score || !scratch))
        status = no_memory(q->w.n, q->w.k, err);
    if (status == SQ_OK)
        status = sq_codes_encode_act(&a, x, r->select, q->mask, score, err);
    if (status == SQ_OK)
        sq_gemm_codes(&g, 0, m, scratch);
    free(score);
    free(scratch);
    sq_codes_free(&a);
    return status;
}

static enum sq_status apply_f16(const struct sq_quant_layer *q, const float *x, size_t m, float *y,
                                struct sq_error *err)
{
    void *scratch = malloc(sq_gemm_f16_scratch(&q->w, m));
    if (!scratch)
        return no_memory(q->w.n, q->w.k, err);
    const enum sq_status status = sq_gemm_f16(&q->w, x, m, y, scratch, err);
    free(scratch);
    return status;
}

static enum sq_status apply(const struct sq_quant_layer *q, const struct sq_recipe *r,
                            const float *x, size_t m, float *y, struct sq_error *err)
{
    struct first_error first = {0};
    if (q->packed.buffer)
        return apply_packed(q, r, x, m, y, err);
#pragma omp parallel for schedule(dynamic)
    for (size_t t = 0; t < m; t += TOKENS) {
        const size_t n = min_size(TOKENS, m - t);
        const float *xt = x + t * q->w.k_orig;
        struct sq_error e;
        float *yt = y + t * q->w.n;
        const enum sq_status status = q->ops          ? q->ops->apply(q->state, r, xt, n, yt, &e)
                                      : r->is_act_f16 ? apply_f16(q, xt, n, yt, &e)
                                                      : apply_codes(q, r, xt, n, yt, &e);
        if (status != SQ_OK)
            note(&first, t, &e);
    }
    return outcome(&first, err);
}

// x / sigma in memory the caller frees; *status tells of failure.
static float *smoothed(const struct sq_quant_layer *q, const float *x, size_t m,
                       struct sq_error *err, enum sq_status *status)
{
    float *xs = malloc(m * q->w.k_orig * sizeof *xs);
    *status = xs ? SQ_OK : no_memory(m, q->w.k_orig, err);
    if (xs)
        sq_smooth_apply_act(x, m, q->w.k_orig, q->sigma, xs);
    return xs;
}

enum sq_status sq_quant_layer_apply(const struct sq_quant_layer *q, const struct sq_recipe *r,
                                    const float *x, size_t m, float *y, struct sq_error *err)
{
    enum sq_status status = SQ_OK;
    float *xs = q->sigma ? smoothed(q, x, m, err, &status) : NULL;
    if (status == SQ_OK)
        status = apply(q, r, xs ? xs : x, m, y, err);
    free(xs);
    return status;
}

enum sq_status sq_quant_layer_recall(const struct sq_quant_layer *q, const struct sq_recipe *r,
                                     const float *x, size_t m, double *recall, struct sq_error *err)
{
    const size_t k = q->w.k, k_orig = q->w.k_orig;
    float *score = malloc(k_orig * sizeof *score);
    uint8_t *is_high = malloc(k);
    double sum = 0;
    for (size_t t = 0; score && is_high && t < m; t++) {
        for (size_t i = 0; i < k_orig; i++)
            score[i] = fabsf(x[t * k_orig + i]) / (q->sigma ? q->sigma[i] : 1);
        sq_mask_row(score, k, k_orig, r->bank, r->high_per_bank, is_high);
        sum += sq_mask_recall(q->mask, is_high, 1, k);
    }
    *recall = sum / (double)m;
    const bool is_done = score && is_high;
    free(score);
    free(is_high);
    return is_done ? SQ_OK : no_memory(m, k, err);
}
