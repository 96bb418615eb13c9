// SPDX-License-Identifier: Apache-2.0
// The product of SpQt for many tokens (SPEC G.7). A lane is a row of a superblock, so every output
// adds its columns and then its workers in the order of sq_spqt_gemv. Rows go in slices that stay
// in registers over a worker's columns; the columns of one worker stay in the first cache for all
// tokens.
#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/number/sq_lanes.h"
#include "models/spqt/sq_spqt.h"

enum {
    TOKENS = 64,               // of a piece
    SLICE_MAX = 8 * SQ_LANES,  // rows of a slice
    TILE = 4,                  // tokens that share every column
    TILE_SLICE = 4 * SQ_LANES, // and the rows of their slice
    ROWS = SQ_Q4K_LEN,         //
};

// Share after share of n things among workers, as sq_spqt_share has them, without divisions.
struct shares {
    size_t begin, quotient, remainder, carry;
};

static struct shares shares_of(size_t n, unsigned workers)
{
    return (struct shares){.quotient = n / workers, .remainder = n % workers};
}

static inline size_t next_share(struct shares *s, unsigned workers)
{
    s->carry += s->remainder;
    const size_t is_more = s->carry >= workers;
    s->carry -= is_more ? workers : 0;
    s->begin += s->quotient + is_more;
    return s->begin;
}

// One worker of one token: n_vectors * SQ_LANES rows of the columns idx[begin, end), added to sum.
SQ_LANES_BODY void add_share(const float *plane, const float *x, const uint32_t *idx, size_t begin,
                             size_t end, unsigned n_vectors, float *sum)
{
    sq_lanes acc[SLICE_MAX / SQ_LANES];
#pragma GCC unroll 8
    for (unsigned v = 0; v < n_vectors; v++)
        acc[v] = (sq_lanes){0};
    for (size_t e = begin; e < end; e++) {
        const float *w = plane + (size_t)ROWS * idx[e], a = x[idx[e]];
#pragma GCC unroll 8
        for (unsigned v = 0; v < n_vectors; v++)
            acc[v] += a * *sq_lanes_from(w + v * SQ_LANES);
    }
#pragma GCC unroll 8
    for (unsigned v = 0; v < n_vectors; v++)
        *sq_lanes_to(sum + v * SQ_LANES) += acc[v];
}

// A slice of n_vectors * SQ_LANES rows, active columns only.
SQ_LANES_BODY void slice_body(const struct sq_spqt_gemm *g, const float *plane, size_t first,
                              size_t n, unsigned n_vectors, float sum[TOKENS][SLICE_MAX])
{
    struct shares share[TOKENS];
    for (size_t t = 0; t < n; t++)
        share[t] = shares_of(g->n_idx[first + t], g->workers);
    for (unsigned p = 0; p < g->workers; p++)
        for (size_t t = 0; t < n; t++) {
            const size_t begin = share[t].begin, end = next_share(&share[t], g->workers);
            if (begin < end)
                add_share(plane, g->x + (first + t) * g->m->k, g->idx + (first + t) * g->m->k,
                          begin, end, n_vectors, sum[t]);
        }
}

// TILE tokens of TILE_SLICE rows over the columns [begin, end): all are active.
SQ_LANES_BODY void add_tile(const float *plane, const float *x, size_t k, size_t begin, size_t end,
                            float sum[][SLICE_MAX])
{
    enum { VECTORS = TILE_SLICE / SQ_LANES };
    sq_lanes acc[TILE][VECTORS];
#pragma GCC unroll 4
    for (unsigned t = 0; t < TILE; t++)
#pragma GCC unroll 4
        for (unsigned v = 0; v < VECTORS; v++)
            acc[t][v] = (sq_lanes){0};
    for (size_t c = begin; c < end; c++) {
        const float *w = plane + ROWS * c;
#pragma GCC unroll 4
        for (unsigned v = 0; v < VECTORS; v++) {
            const sq_lanes row = *sq_lanes_from(w + v * SQ_LANES);
#pragma GCC unroll 4
            for (unsigned t = 0; t < TILE; t++)
                acc[t][v] += x[t * k + c] * row;
        }
    }
#pragma GCC unroll 4
    for (unsigned t = 0; t < TILE; t++)
#pragma GCC unroll 4
        for (unsigned v = 0; v < VECTORS; v++)
            *sq_lanes_to(sum[t] + v * SQ_LANES) += acc[t][v];
}

// n tokens, a multiple of TILE.
SQ_LANES_BODY void dense_body(const struct sq_spqt_gemm *g, const float *plane, size_t first,
                              size_t n, float sum[TOKENS][SLICE_MAX])
{
    struct shares share = shares_of(g->m->k, g->workers);
    for (unsigned p = 0; p < g->workers; p++) {
        const size_t begin = share.begin, end = next_share(&share, g->workers);
        for (size_t t = 0; begin < end && t < n; t += TILE)
            add_tile(plane, g->x + (first + t) * g->m->k, g->m->k, begin, end, sum + t);
    }
}

typedef float sums[SLICE_MAX];
typedef void slice_fn(const struct sq_spqt_gemm *g, const float *plane, size_t first, size_t n,
                      sums *sum);

#define SLICES(level, target, n_vectors)                                                           \
    target static void slice_##level(const struct sq_spqt_gemm *g, const float *plane,             \
                                     size_t first, size_t n, sums *sum)                            \
    {                                                                                              \
        slice_body(g, plane, first, n, n_vectors, sum);                                            \
    }                                                                                              \
    target static void dense_##level(const struct sq_spqt_gemm *g, const float *plane,             \
                                     size_t first, size_t n, sums *sum)                            \
    {                                                                                              \
        dense_body(g, plane, first, n, sum);                                                       \
    }
SLICES(portable, , 4)
#if defined(__x86_64__)
SLICES(avx2, SQ_LANES_AVX2, 4)
SLICES(avx512, SQ_LANES_AVX512, 8)
#endif

struct kernel {
    slice_fn *sparse, *dense;
    size_t slice; // rows of a sparse one
};

// Rows [row, row + slice) of n tokens.
static void do_slice(const struct sq_spqt_gemm *g, const struct kernel *kernel, size_t row,
                     size_t slice, size_t first, size_t n)
{
    const float *plane =
        g->plane + row / ROWS * ROWS * g->m->k + row % ROWS; // of the superblock row
    const size_t left = g->m->n - row, here = left < slice ? left : slice;
    _Alignas(64) float sum[TOKENS][SLICE_MAX];
    memset(sum, 0, n * sizeof *sum);
    if (g->idx) {
        kernel->sparse(g, plane, first, n, sum);
    } else {
        kernel->dense(g, plane, first, n / TILE * TILE, sum);
    }
    for (size_t t = 0; t < n; t++)
        memcpy(g->y + (first + t) * g->m->n + row, sum[t], here * sizeof **sum);
}

size_t sq_spqt_select(const float *x, size_t k, float theta, uint32_t *idx)
{
    size_t n = 0;
    for (size_t i = 0; i < k; i++) { // written, and kept only where it is active
        idx[n] = (uint32_t)i;
        n += fabsf(x[i]) >= theta;
    }
    return n;
}

void sq_spqt_gemm(const struct sq_spqt_gemm *g, size_t m_tokens)
{
    const enum sq_lanes_level level = sq_lanes_level_of((enum sq_lanes_level)g->level);
    const struct kernel kernel = {SQ_LANES_AT(slice, level), SQ_LANES_AT(dense, level),
                                  (level == SQ_LANES_OF_AVX512 ? 8 : 4) * SQ_LANES};
    const size_t whole = g->idx ? m_tokens : m_tokens / TILE * TILE;
    const size_t slice = g->idx ? kernel.slice : TILE_SLICE;
    assert(g->workers >= 1);
    for (size_t row = 0; row < g->m->n; row += slice)
        for (size_t first = 0; first < whole; first += TOKENS)
            do_slice(g, &kernel, row, slice, first,
                     whole - first < TOKENS ? whole - first : TOKENS);
    if (whole < m_tokens)
        sq_spqt_gemm_dense(g->m, g->plane, g->x + whole * g->m->k, m_tokens - whole, g->workers,
                           g->y + whole * g->m->n);
}
