// SPDX-License-Identifier: Apache-2.0
// The product of SpQR for many tokens (SPEC H.7). A lane is a token, and a register holds a row of a
// tile row for one worker, so every output adds its columns, outliers and workers in the order of
// sq_spqr_gemv.
#include <math.h>
#include <string.h>

#include "models/number/sq_grid.h"
#include "models/number/sq_half.h"
#include "models/number/sq_lanes.h"
#include "models/spqr/sq_spqr.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { T = SQ_SPQR_TILE, WORKERS_MAX = 16 };

typedef float tile_rows[T][SQ_LANES]; // [row][token]

// The tiles of one worker: acc[row] = fma(w, x, acc[row]), tiles and columns ascending. x is
// [column][token], plane [column][row]; n columns, those of each workers-th tile from `first` on.
// The product of two binary16 numbers is exact in binary32, so that a product and a sum round like
// one fma.
typedef void worker_fn(const float *plane, const float *x, size_t first, size_t n, unsigned workers,
                       tile_rows acc);

SQ_LANES_BODY void worker_body(const float *plane, const float *x, size_t first, size_t n,
                               unsigned workers, tile_rows acc)
{
    for (unsigned half = 0; half < T; half += 4) { // rows that stay in registers
        sq_lanes s[4] = {{0}, {0}, {0}, {0}};
        for (size_t j = first * T; j < n; j += (size_t)workers * T)
            for (size_t c = j; c < j + T; c++) {
                const sq_lanes a = *sq_lanes_from(x + c * SQ_LANES);
#pragma GCC unroll 4
                for (unsigned r = 0; r < 4; r++)
                    s[r] += plane[c * T + half + r] * a;
            }
#pragma GCC unroll 4
        for (unsigned r = 0; r < 4; r++)
            *sq_lanes_to(acc[half + r]) = s[r];
    }
}

#define WORKER(name, target)                                                                       \
    SQ_LANES_OF(target, void, , name,                                                              \
                (const float *plane, const float *x, size_t first, size_t n, unsigned workers,     \
                 tile_rows acc),                                                                   \
                worker_body(plane, x, first, n, workers, acc))
WORKER(worker_portable, )
#if defined(__x86_64__)
WORKER(worker_avx2, SQ_LANES_AVX2)
SQ_LANES_AVX512 static void worker_avx512(const float *plane, const float *x, size_t first,
                                          size_t n, unsigned workers, tile_rows acc)
{
    __m512 s[T];
#pragma GCC unroll 16
    for (unsigned r = 0; r < T; r++)
        s[r] = _mm512_setzero_ps();
    for (size_t j = first * T; j < n; j += (size_t)workers * T)
        for (size_t c = j; c < j + T; c++) {
            const __m512 a = _mm512_load_ps(x + c * SQ_LANES);
            const float *w = plane + c * T;
#pragma GCC unroll 16
            for (unsigned r = 0; r < T; r++)
                s[r] = _mm512_fmadd_ps(_mm512_set1_ps(w[r]), a, s[r]);
        }
#pragma GCC unroll 16
    for (unsigned r = 0; r < T; r++)
        _mm512_store_ps(acc[r], s[r]);
}
#endif

// Entry e of a row is its worker e % workers', after all tiles.
typedef void outliers_fn(const struct sq_spqr *m, size_t row, unsigned workers, const float *x,
                         tile_rows *acc);

SQ_LANES_BODY void outliers_body(const struct sq_spqr *m, size_t row, unsigned workers,
                                 const float *x, tile_rows *acc)
{
    const uint32_t *at = m->outliers.row_offsets;
    for (unsigned r = 0; r < T && row + r < m->n; r++)
        for (uint32_t e = at[row + r]; e < at[row + r + 1]; e++) {
            const uint32_t entry = m->outliers.col_val[e];
            const float w = sq_half_to_float((uint16_t)(entry >> 16));
            sq_lanes_at *sum = sq_lanes_to(acc[(e - at[row + r]) % workers][r]);
            *sum += w * *sq_lanes_from(x + (entry & 0xffffu) * SQ_LANES);
        }
}

SQ_LANES_EACH(void, , outliers,
              (const struct sq_spqr *m, size_t row, unsigned workers, const float *x,
               tile_rows *acc),
              m, row, workers, x, acc)

struct kernel {
    worker_fn *worker;
    outliers_fn *outliers;
};

// The workers ascending, rounded to binary16: y[token][row] of n_tokens, n_rows. False where one
// leaves binary16.
static bool finish(tile_rows *acc, unsigned workers, size_t n_tokens, size_t n_rows, size_t stride,
                   float *y)
{
    float amax[2], *sum = &acc[0][0][0];
    const size_t n = n_rows * SQ_LANES;
    for (unsigned u = 1; u < workers; u++) {
        const float *of = &acc[u][0][0];
#pragma omp simd
        for (size_t i = 0; i < n; i++)
            sum[i] += of[i];
    }
    sq_half_round_all(sum, n, sum);
    sq_grid_amax(sum, NULL, n, amax);
    for (size_t t = 0; t < n_tokens; t++)
        for (size_t r = 0; r < n_rows; r++)
            y[t * stride + r] = sum[r * SQ_LANES + t];
    return isfinite(amax[0]);
}

size_t sq_spqr_gemm_scratch(const struct sq_spqr *m)
{
    return sq_spqr_padded(m->k) * SQ_LANES * sizeof(float);
}

// SQ_LANES tokens, of which n are real.
static bool do_tokens(const struct sq_spqr_gemm *g, const struct kernel *kernel, size_t first,
                      size_t n, float *x)
{
    const size_t k = sq_spqr_padded(g->m->k);
    const unsigned workers = sq_spqr_workers(g->m->k);
    bool is_finite = true;
    memset(x, 0, k * SQ_LANES * sizeof *x);
    for (size_t t = 0; t < n; t++)
        for (size_t i = 0; i < k; i++)
            x[i * SQ_LANES + t] = g->x[(first + t) * k + i];
    for (size_t row = 0; row < g->m->n; row += T) {
        _Alignas(64) tile_rows acc[WORKERS_MAX];
        const size_t n_rows = g->m->n - row < T ? g->m->n - row : T;
        for (unsigned u = 0; u < workers; u++)
            kernel->worker(g->plane + row * k, x, u, k, workers, acc[u]);
        kernel->outliers(g->m, row, workers, x, acc);
        is_finite &= finish(acc, workers, n, n_rows, g->m->n, g->y + first * g->m->n + row);
    }
    return is_finite;
}

enum sq_status sq_spqr_gemm(const struct sq_spqr_gemm *g, size_t n_tokens, void *scratch,
                            struct sq_error *err)
{
    const enum sq_lanes_level level = (enum sq_lanes_level)g->level;
    const struct kernel kernel = {SQ_LANES_AT(worker, level), SQ_LANES_AT(outliers, level)};
    bool is_finite = true;
    for (size_t t = 0; t < n_tokens; t += SQ_LANES)
        is_finite &=
            do_tokens(g, &kernel, t, n_tokens - t < SQ_LANES ? n_tokens - t : SQ_LANES, scratch);
    for (size_t t = 0; !is_finite && t < n_tokens; t++) // the sentence of the first one
        SQ_TRY(sq_spqr_gemv(g->m, NULL, g->plane, g->x + t * sq_spqr_padded(g->m->k),
                            g->y + t * g->m->n, err));
    return SQ_OK;
}
