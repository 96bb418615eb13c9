// SPDX-License-Identifier: Apache-2.0
// Block-scaled products element by element, in the widest arithmetic (sq_bs_plain.h).
//
// Sums of a block are exact in any order, so the loops may be vectors: every element product is a
// multiple of 2^-18 below 2^18 (E4M3 x E4M3 is the widest), 32 of them need 41 bits of binary64's
// 53. E5M2 alone does not fit, 2^-32 .. 2^37: its blocks are summed in integers of 128 bits.
#include "models/scaled/sq_bs_plain.h"

#include <string.h>

#include "models/number/sq_dot.h"

enum { CHANNELS = SQ_BS_PLAIN_CHANNELS }; // of a block of weights
_Static_assert((int)SQ_BS_PLAIN_CHANNELS == (int)SQ_DOT_CHANNELS, "a block is a vector of sums");
__extension__ typedef __int128 int128;

// Rows of one operand: elements by part [parts][k], scales [parts][blocks].
struct plane {
    double *element, *scale;
};

static size_t n_blocks(const struct sq_bs *c)
{
    return c->k / c->f.block;
}

static size_t row_doubles(const struct sq_bs *c)
{
    return sq_bs_n_parts(&c->f) * (c->k + n_blocks(c));
}

size_t sq_bs_plain_scratch(const struct sq_bs *w)
{
    return (1 + CHANNELS) * row_doubles(w) * sizeof(double);
}

// Row `row` of *c, one element every `stride` doubles; part p is `part_stride` doubles on. The
// elements of the other part are 0.
static void load_row(const struct sq_bs *c, size_t row, size_t stride, struct plane to)
{
    const size_t b = c->f.block, blocks = n_blocks(c);
    for (unsigned p = 0; p < sq_bs_n_parts(&c->f); p++)
        for (size_t j = 0; j < blocks; j++) {
            float element[SQ_BS_BLOCK_MAX];
            sq_bs_elements(c, row, j, element);
            for (size_t i = 0; i < b; i++) {
                const size_t at = j * b + i;
                const bool is_high = c->is_high && c->is_high[row * c->k + at];
                const bool is_own = (is_high && sq_bs_n_parts(&c->f) == 2) == (p != 0);
                to.element[(p * c->k + at) * stride] = is_own ? (double)element[i] : 0;
            }
            const bool has_scale = sq_bs_has_scale(&c->f, p);
            to.scale[(p * blocks + j) * stride] =
                has_scale ? (double)sq_bs_scale(&c->f, p, sq_bs_scale_at(c, p, row * blocks + j))
                          : 1;
        }
}

// ---- one block ------------------------------------------------------------------------------

// Elements are whole multiples of 2^-16. Rounded once, straight to binary32: a sum in binary64
// would round twice.
static void dot_e5m2(const double *x, const double *w, size_t len, float sum[CHANNELS])
{
    for (size_t c = 0; c < CHANNELS; c++) {
        int128 s = 0;
        for (size_t i = 0; i < len; i++)
            s += (int128)(int64_t)(x[i] * 0x1p16) * (int64_t)(w[i * CHANNELS + c] * 0x1p16);
        sum[c] = (float)s * 0x1p-32f; // exact: far from a subnormal
    }
}

static void block_sums(const struct sq_bs_format *f, const double *x, const double *w,
                       float sum[CHANNELS])
{
    double exact[CHANNELS];
    if (f->element == SQ_ELEMENT_E5M2) {
        dot_e5m2(x, w, f->block, sum);
        return;
    }
    sq_dot(x, w, f->block, exact);
    for (size_t c = 0; c < CHANNELS; c++)
        sum[c] = (float)exact[c];
}

// ---- all of them ----------------------------------------------------------------------------

// A product of two scales to the nearest number of 24 bits, ties to even, whatever its exponent.
static double to_24_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + (UINT64_C(1) << 28) - 1 + (bits >> 29 & 1)) >> 29 << 29;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// A[pq] of one token and CHANNELS channels. The product of a binary32 and one of 24 bits is exact in
// binary64, so that it is rounded once.
static void accumulate(const struct sq_bs *c, const struct plane *x, const struct plane *w,
                       float a[CHANNELS])
{
    for (size_t ch = 0; ch < CHANNELS; ch++)
        a[ch] = 0;
    for (size_t j = 0; j < n_blocks(c); j++) {
        float sum[CHANNELS];
        block_sums(&c->f, x->element + j * c->f.block, w->element + j * c->f.block * CHANNELS, sum);
        for (size_t ch = 0; ch < CHANNELS; ch++)
            a[ch] = a[ch] + (float)((double)sum[ch] *
                                    to_24_bits(x->scale[j] * w->scale[j * CHANNELS + ch]));
    }
}

static struct plane part_of(const struct sq_bs *c, struct plane all, unsigned part, size_t stride)
{
    return (struct plane){all.element + part * c->k * stride,
                          all.scale + part * n_blocks(c) * stride};
}

static struct plane planes(const struct sq_bs *c, double *at, size_t rows)
{
    return (struct plane){at, at + rows * sq_bs_n_parts(&c->f) * c->k};
}

void sq_bs_plain_load(const struct sq_bs *w, size_t c0, void *scratch)
{
    double *const at = scratch;
    const struct plane ws = planes(w, at, CHANNELS);
    const size_t n = w->n - c0 < CHANNELS ? w->n - c0 : CHANNELS;
    for (size_t i = 0; n < CHANNELS && i < CHANNELS * row_doubles(w); i++)
        at[i] = 0; // channels beyond the last
    for (size_t c = 0; c < n; c++)
        load_row(w, c0 + c, CHANNELS, (struct plane){ws.element + c, ws.scale + c});
}

void sq_bs_plain(const struct sq_bs *w, size_t c0, const struct sq_bs *x, size_t t, void *scratch,
                 float y[CHANNELS])
{
    double *const at = scratch;
    const unsigned n_parts = sq_bs_n_parts(&w->f);
    const size_t n = w->n - c0 < CHANNELS ? w->n - c0 : CHANNELS;
    const struct plane ws = planes(w, at, CHANNELS);
    const struct plane xs = planes(x, at + CHANNELS * row_doubles(w), 1);
    load_row(x, t, 1, xs);
    for (size_t c = 0; c < CHANNELS; c++)
        y[c] = 0;
    for (unsigned q = 0; q < n_parts; q++)
        for (unsigned p = 0; p < n_parts; p++) {
            const struct plane xp = part_of(x, xs, q, 1), wp = part_of(w, ws, p, CHANNELS);
            float a[CHANNELS];
            accumulate(w, &xp, &wp, a);
            for (size_t c = 0; c < n; c++)
                y[c] = sq_combine_add_scaled(y[c], a[c], w->global[p][c0 + c], x->global[q][t]);
        }
}
