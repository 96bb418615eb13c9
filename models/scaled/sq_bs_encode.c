// SPDX-License-Identifier: Apache-2.0
// Rows of block-scaled formats (sq_bs.h): marks, then scales and codes, by the loops of the kind or
// block by block.
#include <string.h>

#include "models/number/sq_gemm_kernels.h"
#include "models/scaled/sq_bs_kind.h"

enum { LANES = 16 }; // blocks of a tile

enum sq_bs_level sq_bs_level(void)
{
#if defined(__x86_64__)
    if (sq_gemm_kernel_is_supported(SQ_GEMM_VNNI) && __builtin_cpu_supports("avx512dq"))
        return SQ_BS_AVX512;
    if (sq_gemm_kernel_is_supported(SQ_GEMM_AVX2))
        return SQ_BS_AVX2;
#endif
    return SQ_BS_PORTABLE;
}

// A block of scale code 0 has no place.
static void unmark_zeros(struct sq_bs *c, size_t row)
{
    const size_t b = c->f.block, blocks = c->k / b;
    for (size_t j = 0; j < blocks; j++)
        if (c->scale[0][row * blocks + j] == 0)
            memset(c->is_high + row * c->k + j * b, 0, b);
}

// What choose and encode say.
static void encode_block(struct sq_bs *c, size_t row, size_t j, const float *x, const float *global)
{
    const size_t b = c->f.block, first = j * b;
    const size_t left = first < c->k_orig ? c->k_orig - first : 0, n = left < b ? left : b;
    struct sq_bs_block block;
    sq_bs_choose(&c->f, x + first, n, global, &block);
    sq_bs_put_block(c, row, j, &block);
    for (size_t i = 0; i < b; i++)
        sq_bs_put(c, row, first + i, sq_bs_encode(&c->f, &block, i, i < n ? x[first + i] : 0));
}

void sq_bs_encode_marked(struct sq_bs *c, size_t row, const float *x)
{
    const size_t blocks = c->k / c->f.block;
    const struct sq_bs_loops *loops = c->f.kind->loops;
    float global[SQ_BS_PARTS];
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        global[p] = c->global[p] ? c->global[p][row] : 1;
    for (size_t j = 0; loops && j < blocks; j += LANES) {
        const size_t n = blocks - j < LANES ? blocks - j : LANES;
        loops[sq_bs_level()].tile(c, row, j, n, x, global);
    }
    for (size_t j = 0; !loops && j < blocks; j++)
        encode_block(c, row, j, x, global);
    if (c->f.kind->marks == SQ_BS_PLACED)
        unmark_zeros(c, row);
}

void sq_bs_encode_row(struct sq_bs *c, size_t row, const float *x)
{
    sq_bs_mark_row(c, row, x);
    sq_bs_encode_marked(c, row, x);
}
