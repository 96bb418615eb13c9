// SPDX-License-Identifier: Apache-2.0
// Grids where one side of the product stays binary32, and rotated ones (sq_grid_format.h).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/quant/sq_codes_alloc.h"
#include "models/sq_bs.h"
#include "models/sq_gemm_values.h"
#include "sim/format/sq_grid_format.h"

static enum sq_status no_memory(size_t m, size_t k, struct sq_error *err)
{
    return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu rows of %zu", m, k);
}

enum sq_status sq_grid_rotated(unsigned rotation, const float *x, size_t m, size_t k, float **out,
                               struct sq_error *err)
{
    *out = NULL;
    if (k % rotation != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "rotate = %u, need a divisor of K = %zu", rotation, k);
    *out = malloc(m * k * sizeof **out);
    if (!*out)
        return no_memory(m, k, err);
    memcpy(*out, x, m * k * sizeof **out);
    for (size_t i = 0; i < m; i++)
        sq_bs_rotate(*out + i * k, k, rotation);
    return SQ_OK;
}

enum sq_status sq_grid_keep_values(struct sq_grid_layer *q, const struct sq_recipe *r,
                                   const float *w, struct sq_error *err)
{
    const size_t n = q->w.n, k = q->w.k_orig;
    const bool is_kept = r->bs.operand == SQ_OPERAND_ACT;
    q->values = malloc(n * k * sizeof *q->values);
    if (!q->values)
        return no_memory(n, k, err);
    for (size_t i = 0; is_kept && i < n * k; i++)
        if (!isfinite(w[i]))
            return SQ_FAIL(err, SQ_ERR_NON_FINITE, "w[%zu][%zu] = %g, need a finite number", i / k,
                           i % k, (double)w[i]);
    if (is_kept)
        memcpy(q->values, w, n * k * sizeof *q->values);
    for (size_t row = 0; !is_kept && row < n; row++) {
        if (q->packed.buffer)
            sq_decode_row(&q->packed.m, row, q->values + row * k);
        else
            sq_codes_decode_row(&q->w, row, q->values + row * k);
    }
    return SQ_OK;
}

// What the codes of x[m][k_orig] stand for.
static enum sq_status through_codes(const struct sq_grid_layer *q, const struct sq_recipe *r,
                                    const float *x, size_t m, float *out, struct sq_error *err)
{
    struct sq_codes a = sq_grid_act_codes(q, r, m);
    float *score = malloc(2 * a.k * sizeof *score);
    enum sq_status status = score ? sq_codes_alloc(&a, err) : no_memory(m, a.k, err);
    if (status == SQ_OK)
        status = sq_codes_encode_act(&a, x, r->select, q->mask, score, err);
    for (size_t t = 0; status == SQ_OK && t < m; t++)
        sq_codes_decode_row(&a, t, out + t * a.k_orig);
    free(score);
    sq_codes_free(&a);
    return status;
}

enum sq_status sq_grid_apply_values(const struct sq_grid_layer *q, const struct sq_recipe *r,
                                    const float *x, size_t m, float *y, struct sq_error *err)
{
    const size_t k = q->w.k_orig, nbytes = sq_gemm_values_scratch(m, k);
    float *values = malloc(m * k * sizeof *values);
    void *scratch = aligned_alloc(64, (nbytes + 63) / 64 * 64);
    enum sq_status status = values && scratch ? SQ_OK : no_memory(m, k, err);
    for (size_t i = 0; status == SQ_OK && i < m * k; i++)
        if (!isfinite(x[i]))
            status = SQ_FAIL(err, SQ_ERR_NON_FINITE, "x[%zu][%zu] = %g, need a finite number",
                             i / k, i % k, (double)x[i]);
    if (status == SQ_OK && r->bs.operand == SQ_OPERAND_ACT)
        status = through_codes(q, r, x, m, values, err);
    if (status == SQ_OK)
        sq_gemm_values(q->values, q->w.n, r->bs.operand == SQ_OPERAND_ACT ? values : x, m, k, y,
                       scratch);
    free(values);
    free(scratch);
    return status;
}
