// SPDX-License-Identifier: Apache-2.0
// Rows of block-scaled formats (sq_bs.h), 16 blocks beside each other: element i of all of them is
// a vector, so that scales, candidates and squared errors need no sum across one. The results are
// those of sq_bs_choose and sq_bs_encode, which have the rules one block at a time.
#include <math.h>
#include <string.h>

#include "models/sq_bs.h"
#include "models/sq_codes.h"
#include "models/sq_gemm_kernels.h"

#define INLINE static inline __attribute__((always_inline))

enum { LANES = 16, CANDIDATES = 5, SPLIT_MIN = -136, SPLIT_MAX = 119 };

// 16 blocks of a row, by element and block.
struct tile {
    float x[SQ_BS_BLOCK_MAX][LANES];
    int32_t is_high[SQ_BS_BLOCK_MAX][LANES];
    int32_t code[SQ_BS_BLOCK_MAX][LANES], high[SQ_BS_BLOCK_MAX][LANES];
    float amax[SQ_BS_PARTS][LANES], step[SQ_BS_PARTS][LANES];
    int32_t scale[SQ_BS_PARTS][LANES]; // codes
};

// ---- one number -----------------------------------------------------------------------------

INLINE uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

// Magnitude code of m >= 0 (sq_fp_encode), without branches.
INLINE int32_t magnitude_code(float m, unsigned fraction, int bias, int32_t last)
{
    const float least = bias == 1 ? 1.0f : bias == 3 ? 0x1p-2f : bias == 7 ? 0x1p-6f : 0x1p-14f;
    const float steps = (float)(1 << fraction) / least; // a step below the normal numbers
    const unsigned drop = 23 - fraction;
    const int32_t below = (int32_t)rintf((m < least ? m : least) * steps);
    const uint32_t bits = bits_of(m);
    const uint32_t rounded = bits + (UINT32_C(1) << (drop - 1)) - 1 + (bits >> drop & 1u);
    const int32_t above = (int32_t)(rounded >> drop) - ((127 - bias) << fraction);
    return m < least ? below : above > last ? last : above;
}

// A code with its sign; of SQ zero has none.
INLINE int32_t signed_code(int32_t magnitude, float x, int32_t sign, bool has_zero_sign)
{
    const bool is_negative = has_zero_sign ? bits_of(x) >> 31 : x < 0;
    return is_negative && (has_zero_sign || magnitude) ? magnitude | sign : magnitude;
}

INLINE int32_t integer_code(float steps, float most, int32_t mask)
{
    const float q = rintf(steps);
    return (int32_t)(q > most ? most : q < -most ? -most : q) & mask;
}

INLINE int32_t code_of(enum sq_element e, float q, bool is_sq)
{
    const float m = fabsf(q);
    return e == SQ_ELEMENT_E2M1   ? signed_code(magnitude_code(m, 1, 1, 0x7), q, 0x8, !is_sq)
           : e == SQ_ELEMENT_E2M3 ? signed_code(magnitude_code(m, 3, 1, 0x1f), q, 0x20, !is_sq)
           : e == SQ_ELEMENT_E3M2 ? signed_code(magnitude_code(m, 2, 3, 0x1f), q, 0x20, !is_sq)
           : e == SQ_ELEMENT_E4M3 ? signed_code(magnitude_code(m, 3, 7, 0x7e), q, 0x80, !is_sq)
           : e == SQ_ELEMENT_E5M2 ? signed_code(magnitude_code(m, 2, 15, 0x7b), q, 0x80, !is_sq)
           : e == SQ_ELEMENT_INT4 ? integer_code(q, 7, 0xf)
           : e == SQ_ELEMENT_INT5 ? integer_code(q, 15, 0x1f)
           : e == SQ_ELEMENT_INT8 ? integer_code(q, 127, 0xff)
                                  : integer_code(q * 64, 127, 0xff); // MXINT8
}

// The scale of x >= 0 as E4M3, and its value: a normal number's bits, or multiples of 2^-9.
INLINE int32_t e4m3_code(float x)
{
    return magnitude_code(x, 3, 7, 0x7e);
}

INLINE float e4m3_value(int32_t code)
{
    const uint32_t bits = ((uint32_t)code << 20) + (UINT32_C(120) << 23);
    float v;
    memcpy(&v, &bits, sizeof v);
    return code < 8 ? (float)code * 0x1p-9f : v;
}

// The value of a scale as E8M0: a normal number's bits, or 2^-127.
INLINE float e8m0_value(int32_t code)
{
    const uint32_t bits = code > 0 ? (uint32_t)code << 23 : UINT32_C(1) << 22;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

// The value of a code of E2M1, without a table.
INLINE float e2m1_value(int32_t code)
{
    const int32_t m = code & 7, v = m + (m > 4 ? m - 4 : 0) + (m > 6 ? 2 : 0);
    return (float)(code & 8 ? -v : v) * 0.5f;
}

// ---- elements of a tile ---------------------------------------------------------------------

// x / step, and whether there is a step.
INLINE float quotient(float x, float step)
{
    return x / (step > 0 ? step : 1);
}

INLINE void encode_one_part(struct tile *t, unsigned block, enum sq_element e)
{
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const int32_t code = code_of(e, quotient(t->x[i][l], t->step[0][l]), false);
            t->code[i][l] = t->step[0][l] > 0 ? code : 0;
        }
}

INLINE void encode_plus(struct tile *t, unsigned block)
{
    encode_one_part(t, block, SQ_ELEMENT_E2M1);
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const float q = quotient(t->x[i][l], t->step[0][l]), steps = rintf(fabsf(q) * 2);
            const int32_t m = steps > 15 ? 7 : steps < 8 ? 0 : (int32_t)steps - 8;
            const int32_t code = m | (bits_of(q) >> 31 ? 8 : 0);
            // Not in a block of scale code 0: sq_bs_encode_marked takes the mark away.
            const bool is_plus = (t->is_high[i][l] != 0) & (t->scale[0][l] > 0);
            t->code[i][l] = is_plus ? code : t->code[i][l];
        }
}

INLINE void encode_two_floats(struct tile *t, unsigned block)
{
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const bool is_high = t->is_high[i][l];
            const float step = is_high ? t->step[1][l] : t->step[0][l];
            const float q = quotient(t->x[i][l], step);
            const int32_t h = code_of(SQ_ELEMENT_E4M3, q, true);
            const int32_t c = code_of(SQ_ELEMENT_E2M1, q, true);
            t->high[i][l] = is_high && step > 0 ? h : 0;
            t->code[i][l] = !is_high && step > 0 ? c : 0;
        }
}

// INT4 and INT8: they differ in how far they reach.
INLINE void encode_two_integers(struct tile *t, unsigned block)
{
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const bool is_high = t->is_high[i][l];
            const float step = is_high ? t->step[1][l] : t->step[0][l];
            const int32_t c =
                integer_code(quotient(t->x[i][l], step), is_high ? 127 : 7, is_high ? 0xff : 0xf);
            t->high[i][l] = is_high && step > 0 ? c : 0;
            t->code[i][l] = !is_high && step > 0 ? c : 0;
        }
}

// 16 H + L of an element.
INLINE float split_code(float x, bool is_high, float step)
{
    const float q = rintf(quotient(x, step));
    const float most = is_high ? SPLIT_MAX : 7, least = is_high ? SPLIT_MIN : -7;
    return q > most ? most : q < least ? least : q;
}

INLINE void encode_split(struct tile *t, unsigned block)
{
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const float step = t->step[0][l];
            const int32_t c =
                step > 0 ? (int32_t)split_code(t->x[i][l], t->is_high[i][l], step) : 0;
            t->code[i][l] = c & 15;
            t->high[i][l] = t->is_high[i][l] ? (c - (((c & 15) ^ 8) - 8)) / 16 & 15 : 0;
        }
}

// ---- scales ---------------------------------------------------------------------------------

INLINE void largest(struct tile *t, unsigned block, bool has_high)
{
    uint32_t amax[SQ_BS_PARTS][LANES] = {{0}};
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const uint32_t m = bits_of(t->x[i][l]) & 0x7fffffffu; // ordered as the numbers are
            const uint32_t all = has_high ? 0 - (uint32_t)(t->is_high[i][l] != 0) : 0;
            const uint32_t low = m & ~all, high = m & all; // no branch: it becomes vectors
            amax[0][l] = low > amax[0][l] ? low : amax[0][l];
            amax[1][l] = high > amax[1][l] ? high : amax[1][l];
        }
    memcpy(t->amax, amax, sizeof amax);
}

INLINE void e4m3_scales(struct tile *t, unsigned part, float top, float global)
{
    for (unsigned l = 0; l < LANES; l++) {
        const int32_t code = e4m3_code(t->amax[part][l] / top / global);
        t->scale[part][l] = code;
        t->step[part][l] = e4m3_value(code) * global;
    }
}

// Of each lane the candidate with the smallest squared error so far.
struct least {
    double error[LANES];
    int32_t scale[LANES];
    float step[LANES];
};

// The error of the tile at a step; ascending index, in binary64.
INLINE void try_scale(struct tile *t, unsigned block, bool is_split, const int32_t scale[LANES],
                      const float step[LANES], struct least *best)
{
    double sum[LANES] = {0};
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const float x = t->x[i][l];
            const float element =
                is_split ? split_code(x, t->is_high[i][l], step[l])
                         : e2m1_value(code_of(SQ_ELEMENT_E2M1, quotient(x, step[l]), false));
            const float value = step[l] > 0 ? element * step[l] + 0.0f : 0;
            const double e = (double)x - (double)value;
            sum[l] += e * e;
        }
    for (unsigned l = 0; l < LANES; l++)
        if (sum[l] < best->error[l]) {
            best->error[l] = sum[l];
            best->scale[l] = scale[l];
            best->step[l] = step[l];
        }
}

INLINE void take(struct tile *t, const struct least *best)
{
    memcpy(t->scale[0], best->scale, sizeof best->scale);
    memcpy(t->step[0], best->step, sizeof best->step);
}

INLINE void four_six_scales(struct tile *t, unsigned block, float global)
{
    static const float top[2] = {6, 4};
    struct least best;
    for (unsigned i = 0; i < 2; i++) {
        int32_t scale[LANES];
        float step[LANES];
        for (unsigned l = 0; l < LANES; l++) {
            scale[l] = e4m3_code(t->amax[0][l] / top[i] / global);
            step[l] = e4m3_value(scale[l]) * global;
            best.error[l] = i ? best.error[l] : (double)INFINITY;
            best.scale[l] = i ? best.scale[l] : scale[l];
            best.step[l] = i ? best.step[l] : step[l];
        }
        try_scale(t, block, false, scale, step, &best);
    }
    take(t, &best);
}

// The exponent of the smallest power of two >= x > 0.
static int ceil_exponent(float x)
{
    int e;
    return frexpf(x, &e) > 0.5f ? e : e - 1;
}

INLINE void split_scales(const struct sq_bs_format *f, struct tile *t, float global)
{
    struct least best;
    for (unsigned i = 0; i < (f->is_by_maximum ? 1 : CANDIDATES); i++) {
        int32_t scale[LANES];
        float step[LANES];
        for (unsigned l = 0; l < LANES; l++) {
            const float low = t->amax[0][l] / 7, high = t->amax[1][l] / (float)SPLIT_MAX;
            const float most = low > high ? low : high;
            const float eighths = 1 - (float)i / 16;
            if (f->is_power_of_two) {
                scale[l] = most > 0 ? sq_e8m0_encode(ceil_exponent(most) - (int)i) : 0;
                step[l] = e8m0_value(scale[l]);
            } else {
                scale[l] = most > 0 ? e4m3_code(most * eighths / global) : 0;
                step[l] = e4m3_value(scale[l]) * global;
            }
            best.error[l] = i ? best.error[l] : (double)INFINITY;
            best.scale[l] = i ? best.scale[l] : scale[l];
            best.step[l] = i ? best.step[l] : step[l];
        }
        if (!f->is_by_maximum)
            try_scale(t, f->block, true, scale, step, &best);
    }
    take(t, &best);
}

// Powers of two by the rule that sq_bs_choose has: the exponent of amax less that of the largest
// element, one more where CEIL finds amax above it.
INLINE void mx_scales(const struct sq_bs_format *f, struct tile *t)
{
    const uint32_t fraction = (UINT32_C(1) << 23) - 1, top = bits_of(sq_element_max(f->element));
    const bool is_ceil = f->rule == SQ_BS_CEIL;
    const int32_t less =
        is_ceil ? (int32_t)(top >> 23) - SQ_E8M0_BIAS : sq_element_emax(f->element);
    for (unsigned l = 0; l < LANES; l++) {
        const float amax = t->amax[0][l];
        const bool is_small = amax < 0x1p-100f; // it may be subnormal
        const uint32_t bits = bits_of(is_small ? amax * 0x1p24f : amax);
        const int32_t more = is_ceil && (bits & fraction) > (top & fraction);
        const int32_t code = (int32_t)(bits >> 23) - (is_small ? 24 : 0) - less + more;
        const int32_t most = SQ_E8M0_NAN - 1, scale = code < 0 ? 0 : code > most ? most : code;
        t->scale[0][l] = scale;
        t->step[0][l] = e8m0_value(scale);
    }
}

// ---- a tile ---------------------------------------------------------------------------------

INLINE void encode_elements(const struct sq_bs_format *f, struct tile *t, unsigned block)
{
    switch (f->element) {
    case SQ_ELEMENT_E2M1:
        encode_one_part(t, block, SQ_ELEMENT_E2M1);
        break;
    case SQ_ELEMENT_E2M3:
        encode_one_part(t, block, SQ_ELEMENT_E2M3);
        break;
    case SQ_ELEMENT_E3M2:
        encode_one_part(t, block, SQ_ELEMENT_E3M2);
        break;
    case SQ_ELEMENT_E4M3:
        encode_one_part(t, block, SQ_ELEMENT_E4M3);
        break;
    case SQ_ELEMENT_E5M2:
        encode_one_part(t, block, SQ_ELEMENT_E5M2);
        break;
    case SQ_ELEMENT_INT4:
        encode_one_part(t, block, SQ_ELEMENT_INT4);
        break;
    case SQ_ELEMENT_INT5:
        encode_one_part(t, block, SQ_ELEMENT_INT5);
        break;
    case SQ_ELEMENT_INT8:
        encode_one_part(t, block, SQ_ELEMENT_INT8);
        break;
    default:
        encode_one_part(t, block, SQ_ELEMENT_MXINT8);
    }
}

INLINE void encode_sq(const struct sq_bs_format *f, struct tile *t, const float *global)
{
    largest(t, f->block, true);
    if (f->is_split) {
        split_scales(f, t, global[0]);
        encode_split(t, f->block);
        return;
    }
    e4m3_scales(t, 0, sq_element_max(f->element), global[0]);
    if (f->is_high_block)
        e4m3_scales(t, 1, sq_element_max(sq_bs_high_element(f)), global[1]);
    for (unsigned l = 0; !f->is_high_block && l < LANES; l++)
        t->step[1][l] = global[1];
    if (f->element == SQ_ELEMENT_INT4)
        encode_two_integers(t, f->block);
    else
        encode_two_floats(t, f->block);
}

INLINE void tile_body(const struct sq_bs_format *f, struct tile *t, const float *global)
{
    if (f->kind == SQ_BS_SQ) {
        encode_sq(f, t, global);
        return;
    }
    largest(t, f->block, false);
    if (f->kind == SQ_BS_NV && f->is_four_six)
        four_six_scales(t, f->block, global[0]);
    else if (f->kind == SQ_BS_NV)
        e4m3_scales(t, 0, sq_element_max(f->element), global[0]);
    else
        mx_scales(f, t);
    if (f->kind == SQ_BS_PLUS)
        encode_plus(t, f->block);
    else
        encode_elements(f, t, f->block);
}

// ---- rows -----------------------------------------------------------------------------------

// Blocks j .. j + n of a row into a tile, zeros behind its last real element.
static void load_tile(const struct sq_bs *c, size_t row, size_t j, size_t n, const float *x,
                      struct tile *t)
{
    const size_t b = c->f.block;
    const uint8_t *is_high = c->is_high ? c->is_high + row * c->k : NULL;
    for (size_t l = 0; l < LANES; l++) {
        const size_t first = (j + l) * b;
        const size_t real = l >= n || first >= c->k_orig ? 0 : c->k_orig - first;
        for (size_t i = 0; i < b; i++)
            t->x[i][l] = i < real ? x[first + i] : 0;
        for (size_t i = 0; is_high && i < b; i++)
            t->is_high[i][l] = l < n && is_high[first + i];
    }
}

// The same of 16 whole blocks.
INLINE void load_whole(const struct sq_bs *c, size_t row, size_t j, size_t b, const float *x,
                       struct tile *t)
{
    const float *from = x + j * b;
    const uint8_t *is_high = c->is_high ? c->is_high + row * c->k + j * b : NULL;
    for (size_t i = 0; i < b; i++)
#pragma GCC unroll 16
        for (size_t l = 0; l < LANES; l++)
            t->x[i][l] = from[l * b + i];
    for (size_t i = 0; is_high && i < b; i++)
#pragma GCC unroll 16
        for (size_t l = 0; l < LANES; l++)
            t->is_high[i][l] = is_high[l * b + i];
}

// Codes as bytes, by element and block, to where they belong.
INLINE void store_codes(int32_t code[][LANES], size_t b, size_t n, uint8_t *to)
{
    uint8_t byte[SQ_BS_BLOCK_MAX][LANES];
    for (size_t i = 0; i < b; i++)
        for (size_t l = 0; l < LANES; l++)
            byte[i][l] = (uint8_t)code[i][l];
    for (size_t l = 0; l < n; l++)
#pragma GCC unroll 16
        for (size_t i = 0; i < b; i++)
            to[l * b + i] = byte[i][l];
}

static void store_scales(struct sq_bs *c, size_t row, size_t j, size_t n, const struct tile *t)
{
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        for (size_t l = 0; sq_bs_has_scale(&c->f, p) && l < n; l++)
            c->scale[p][row * (c->k / c->f.block) + j + l] = (uint8_t)t->scale[p][l];
}

// Blocks j .. j + n, n <= LANES, of a row.
INLINE void tile_of_row(struct sq_bs *c, size_t row, size_t j, size_t n, size_t b, const float *x,
                        const float *global)
{
    struct tile t;
    if (n == LANES && (j + LANES) * b <= c->k_orig)
        load_whole(c, row, j, b, x, &t);
    else
        load_tile(c, row, j, n, x, &t);
    tile_body(&c->f, &t, global);
    store_codes(t.code, b, n, c->code + row * c->k + j * b);
    if (c->f.kind == SQ_BS_SQ)
        store_codes(t.high, b, n, c->high + row * c->k + j * b);
    store_scales(c, row, j, n, &t);
}

typedef void tile_fn(struct sq_bs *c, size_t row, size_t j, size_t n, const float *x,
                     const float *global);

#define TILE(level, target)                                                                        \
    target static void tile_##level(struct sq_bs *c, size_t row, size_t j, size_t n,               \
                                    const float *x, const float *global)                           \
    {                                                                                              \
        if (c->f.block == 16)                                                                      \
            tile_of_row(c, row, j, n, 16, x, global);                                              \
        else                                                                                       \
            tile_of_row(c, row, j, n, 32, x, global);                                              \
    }
TILE(portable, )
#if defined(__x86_64__)
TILE(avx2, __attribute__((target("avx2"))))
TILE(avx512, __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512"))))
#endif

static tile_fn *select_tile(void)
{
#if defined(__x86_64__)
    if (sq_gemm_kernel_is_supported(SQ_GEMM_VNNI) && __builtin_cpu_supports("avx512dq"))
        return tile_avx512;
    if (sq_gemm_kernel_is_supported(SQ_GEMM_AVX2))
        return tile_avx2;
#endif
    return tile_portable;
}

void sq_bs_mark_row(struct sq_bs *c, size_t row, const float *x)
{
    const size_t b = c->f.block;
    const unsigned k = c->f.kind == SQ_BS_SQ ? c->f.high_per_block : 1;
    float score[LANES * SQ_BS_BLOCK_MAX];
    for (size_t first = 0; c->is_high && first < c->k; first += LANES * b) {
        const size_t n = c->k - first < LANES * b ? c->k - first : LANES * b;
        const size_t left = first < c->k_orig ? c->k_orig - first : 0, real = left < n ? left : n;
        for (size_t i = 0; i < real; i++)
            score[i] = fabsf(x[first + i]);
        sq_mask_row(score, n, real, (unsigned)b, k, c->is_high + row * c->k + first);
    }
}

// A block of PLUS of scale code 0 has no largest element.
static void unmark_zeros(struct sq_bs *c, size_t row)
{
    const size_t b = c->f.block, blocks = c->k / b;
    for (size_t j = 0; j < blocks; j++)
        if (c->scale[0][row * blocks + j] == 0)
            memset(c->is_high + row * c->k + j * b, 0, b);
}

void sq_bs_encode_marked(struct sq_bs *c, size_t row, const float *x)
{
    const size_t blocks = c->k / c->f.block;
    tile_fn *const tile = select_tile();
    float global[SQ_BS_PARTS];
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        global[p] = c->global[p] ? c->global[p][row] : 1;
    for (size_t j = 0; j < blocks; j += LANES) {
        const size_t n = blocks - j < LANES ? blocks - j : LANES;
        tile(c, row, j, n, x, global);
    }
    if (c->f.kind == SQ_BS_PLUS)
        unmark_zeros(c, row);
}

void sq_bs_encode_row(struct sq_bs *c, size_t row, const float *x)
{
    sq_bs_mark_row(c, row, x);
    sq_bs_encode_marked(c, row, x);
}
