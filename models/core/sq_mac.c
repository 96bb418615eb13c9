// SPDX-License-Identifier: Apache-2.0
// Activation quantizer, one group's dot product, and the FP32 combine, each as SPEC A.7 writes it.
// The matrix product that uses them in blocks is sq_gemm.c.
#include "models/core/sq_mac.h"
#include "models/number/sq_grid.h"
#include "models/output/sq_combine.h"

#include <math.h>
#include <string.h>

static enum sq_status quantize_token(const float *x, size_t token, size_t k_orig, unsigned act_bits,
                                     int8_t *codes, float *s_a, struct sq_error *err)
{
    enum { CHUNK = 256 };
    const struct sq_grid grid = {SQ_GRID_DENSE, 0, act_bits};
    float amax[2];
    sq_grid_amax(x, NULL, k_orig, amax);
    for (size_t i = 0; !isfinite(amax[0]) && i < k_orig; i++)
        SQ_FAIL_IF(!isfinite(x[i]), err, SQ_ERR_NON_FINITE,
                   "x[%zu][%zu] = %g, need a finite number", token, i, (double)x[i]);
    *s_a = sq_scale_from_amax(amax[0], act_bits);
    for (size_t i = 0; i < k_orig; i += CHUNK) {
        const size_t n = k_orig - i < CHUNK ? k_orig - i : CHUNK;
        int16_t wide[CHUNK];
        sq_grid_codes(&grid, x + i, NULL, n, *s_a, *s_a, wide);
        for (size_t j = 0; j < n; j++)
            codes[i + j] = (int8_t)wide[j];
    }
    return SQ_OK;
}

enum sq_status sq_act_quantize(const float *x, size_t m, size_t k_orig, size_t k, unsigned act_bits,
                               int8_t *codes, float *s_a, struct sq_error *err)
{
    SQ_FAIL_IF(act_bits != 4 && act_bits != 8, err, SQ_ERR_UNSUPPORTED,
               "act-bits = %u, need 4 or 8", act_bits);
    SQ_FAIL_IF(m == 0 || k_orig == 0 || k_orig > k, err, SQ_ERR_SHAPE,
               "M = %zu, K = %zu of which %zu are real, need 1 <= real <= K and M >= 1", m, k,
               k_orig);
    for (size_t token = 0; token < m; token++) {
        int8_t *row = codes + token * k;
        SQ_TRY(quantize_token(x + token * k_orig, token, k_orig, act_bits, row, &s_a[token], err));
        memset(row + k_orig, 0, k - k_orig);
    }
    return SQ_OK;
}

float sq_combine(const int32_t *p_lo, const int32_t *p_hi, const float *s_lo, const float *s_hi,
                 size_t n_groups)
{
    float y = 0.0f;
    for (size_t g = 0; g < n_groups; g++)
        y = sq_combine_group(SQ_COMBINE_TWO, y, p_lo[g], p_hi[g], s_lo[g], s_hi[g], 1.0f);
    return y;
}
