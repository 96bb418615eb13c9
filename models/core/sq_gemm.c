// SPDX-License-Identifier: Apache-2.0
// The product of SPEC A.7 on packed weights: sq_gemm_codes with grid own; each row is unpacked on its
// way into cells, the layout of its kernels (models/number/sq_codes_dot.h).
#include <assert.h>
#include <string.h>

#include "models/number/sq_codes.h"
#include "models/number/sq_gemm_kernels.h"

_Static_assert(127LL * 128 * SQ_GROUP_LEN_MAX <= INT32_MAX, "a group's sums fit INT32");

// Widens k bytes in the second half of a plane to int16, in place, front to back.
static void widen(int16_t *plane, size_t k)
{
    const int8_t *narrow = (const int8_t *)plane + k;
    for (size_t i = 0; i < k; i++)
        plane[i] = narrow[i];
}

void sq_gemm_sq_w_row(const void *from, size_t row, int16_t *plane, size_t stride, float *s_lo,
                      float *s_hi)
{
    const struct sq_matrix *w = from;
    const size_t n_groups = sq_n_groups(&w->format, w->k);
    int16_t *const high = plane + stride;
    sq_row_planes(w, row, (int8_t *)plane + w->k, (int8_t *)high + w->k, NULL);
    widen(plane, w->k);
    widen(high, w->k);
    memcpy(s_lo, w->s_lo + row * n_groups, n_groups * sizeof *s_lo);
    memcpy(s_hi, w->s_hi + row * n_groups, n_groups * sizeof *s_hi);
}

struct sq_codes sq_gemm_sq_w_codes(const struct sq_matrix *w)
{
    const struct sq_format *f = &w->format;
    return (struct sq_codes){.grid = {SQ_GRID_OWN, f->high_bits, f->low_bits},
                             .n = w->n,
                             .k = w->k,
                             .k_orig = w->k,
                             .group = sq_group_len(f, w->k),
                             .bank = f->bank,
                             .high_per_bank = f->high_per_bank};
}

struct sq_codes sq_gemm_act_codes(float *s_a, size_t m, size_t k)
{
    return (struct sq_codes){.grid = {SQ_GRID_DENSE, 0, 8},
                             .n = m,
                             .k = k,
                             .k_orig = k,
                             .group = k,
                             .s_lo = s_a,
                             .s_hi = s_a};
}

size_t sq_gemm_scratch_nbytes(const struct sq_matrix *w)
{
    const struct sq_codes codes = sq_gemm_sq_w_codes(w), x = sq_gemm_act_codes(NULL, 1, w->k);
    size_t most = 0;
    for (unsigned kernel = SQ_GEMM_PORTABLE; kernel < SQ_GEMM_N_KERNELS; kernel++) {
        const struct sq_gemm_codes g = {.x = &x, .w = &codes, .kernel = kernel};
        if (!sq_gemm_kernel_is_supported((enum sq_gemm_kernel)kernel))
            continue;
        const size_t nbytes = sq_gemm_codes_scratch(&g);
        most = nbytes > most ? nbytes : most;
    }
    return most;
}

void sq_gemm_sq_w_with(enum sq_gemm_kernel kernel, const struct sq_matrix *w, const int8_t *act,
                       const float *s_a, size_t m, size_t n0, size_t n1, float *y, int32_t *p_lo,
                       int32_t *p_hi, void *scratch)
{
    float *const s = (float *)(uintptr_t)s_a; // read only
    const struct sq_codes codes = sq_gemm_sq_w_codes(w), x = sq_gemm_act_codes(s, m, w->k);
    const struct sq_gemm_codes g = {.x = &x,
                                    .w = &codes,
                                    .act = act,
                                    .row = sq_gemm_sq_w_row,
                                    .from = w,
                                    .n0 = n0,
                                    .n1 = n1,
                                    .y = y,
                                    .p_lo = p_lo,
                                    .p_hi = p_hi,
                                    .kernel = kernel};
    assert(n1 <= w->n);
    if (n0 < n1)
        sq_gemm_codes(&g, 0, m, scratch);
}

void sq_gemm_sq_w(const struct sq_matrix *w, const int8_t *act, const float *s_a, size_t m,
                  size_t n0, size_t n1, float *y, int32_t *p_lo, int32_t *p_hi, void *scratch)
{
    sq_gemm_sq_w_with(SQ_GEMM_AUTO, w, act, s_a, m, n0, n1, y, p_lo, p_hi, scratch);
}
