// SPDX-License-Identifier: Apache-2.0
// Rows of block-scaled formats, 16 blocks beside each other: element i of all of them is a vector,
// so that scales, candidates and squared errors need no sum across one. A kind (sq_bs_kind.h) writes
// what it does to such a tile as one inline function, and SQ_BS_LOOPS compiles it for each level of the
// processor. The results are those of its choose and encode. Internal to the files of kinds.
#pragma once

#include <math.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_lanes.h"
#include "models/number/sq_transpose.h"
#include "models/scaled/sq_bs_integer.h"
#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_bs_scale.h"

enum { LANES = 16 };

// 16 blocks of a row, by element and block.
struct sq_bs_tile {
    float x[SQ_BS_BLOCK_MAX][LANES];
    int32_t is_high[SQ_BS_BLOCK_MAX][LANES];
    int32_t code[SQ_BS_BLOCK_MAX][LANES], high[SQ_BS_BLOCK_MAX][LANES];
    float amax[SQ_BS_PARTS][LANES], step[SQ_BS_PARTS][LANES];
    int32_t scale[SQ_BS_PARTS][LANES]; // codes
    int32_t sub[SQ_BS_SUBS][LANES];    // TABLE
    float zero[LANES], offset[LANES];  // TABLE with a zero point
};

// ---- one number -----------------------------------------------------------------------------

// A code with its sign; of SQ zero has none.
INLINE int32_t sq_bs_signed_code(int32_t magnitude, float x, int32_t sign, bool has_zero_sign)
{
    const bool is_negative = has_zero_sign ? sq_bits_of(x) >> 31 : x < 0;
    return is_negative && (has_zero_sign || magnitude) ? magnitude | sign : magnitude;
}

INLINE int32_t sq_bs_integer_code(float steps, float most, int32_t mask)
{
    const float q = rintf(steps);
    return (int32_t)(q > most ? most : q < -most ? -most : q) & mask;
}

INLINE int32_t sq_bs_code_of(enum sq_element e, float q, bool is_sq)
{
    const float m = fabsf(q);
    return e == SQ_ELEMENT_E2M1
               ? sq_bs_signed_code(sq_bs_magnitude_code(m, 1, 1, 0x7), q, 0x8, !is_sq)
           : e == SQ_ELEMENT_E2M3
               ? sq_bs_signed_code(sq_bs_magnitude_code(m, 3, 1, 0x1f), q, 0x20, !is_sq)
           : e == SQ_ELEMENT_E3M2
               ? sq_bs_signed_code(sq_bs_magnitude_code(m, 2, 3, 0x1f), q, 0x20, !is_sq)
           : e == SQ_ELEMENT_E4M3
               ? sq_bs_signed_code(sq_bs_magnitude_code(m, 3, 7, 0x7e), q, 0x80, !is_sq)
           : e == SQ_ELEMENT_E5M2
               ? sq_bs_signed_code(sq_bs_magnitude_code(m, 2, 15, 0x7b), q, 0x80, !is_sq)
           : e == SQ_ELEMENT_INT4 ? sq_bs_integer_code(q, 7, 0xf)
           : e == SQ_ELEMENT_INT5 ? sq_bs_integer_code(q, 15, 0x1f)
           : e == SQ_ELEMENT_INT8 ? sq_bs_integer_code(q, 127, 0xff)
                                  : sq_bs_integer_code(q * 64, 127, 0xff); // MXINT8
}

// The value of a code of E2M1, without a table.
INLINE float sq_bs_e2m1_value(int32_t code)
{
    const int32_t m = code & 7, v = m + (m > 4 ? m - 4 : 0) + (m > 6 ? 2 : 0);
    return (float)(code & 8 ? -v : v) * 0.5f;
}

// x / step, and whether there is a step.
INLINE float sq_bs_quotient(float x, float step)
{
    return x / (step != 0 ? step : 1);
}

// x * by, rounded to odd: it compares to numbers of fewer bits as the exact product does. by: a bfloat16.
INLINE float sq_bs_product_odd(float x, float by)
{
    const double exact = (double)x * (double)by;
    const float near = (float)exact;
    const bool is_exact = (double)near == exact;
    const bool is_beyond = fabs((double)near) > fabs(exact);
    return sq_float_of((sq_bits_of(near) - is_beyond) | (is_exact ? 0 : 1u));
}

// ---- one element at a time: what most kinds do ------------------------------------------------

INLINE struct sq_bs_code sq_bs_plain_encode(const struct sq_bs_format *f,
                                            const struct sq_bs_block *b, size_t i, float x, float q)
{
    (void)b, (void)i, (void)x;
    return (struct sq_bs_code){sq_element_encode(f->element, q), 0};
}

INLINE float sq_bs_plain_element(const struct sq_bs_format *f, const struct sq_bs_block *b,
                                 size_t i, struct sq_bs_code c)
{
    (void)b, (void)i;
    return sq_element_decode(f->element, c.code);
}

// ---- elements and scales of a tile ------------------------------------------------------------

// Codes of all elements at step[0].
INLINE void sq_bs_tile_codes(struct sq_bs_tile *t, unsigned block, enum sq_element e)
{
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const int32_t code = sq_bs_code_of(e, sq_bs_quotient(t->x[i][l], t->step[0][l]), false);
            t->code[i][l] = t->step[0][l] > 0 ? code : 0;
        }
}

// The same, compiled for each element.
INLINE void sq_bs_tile_elements(enum sq_element e, struct sq_bs_tile *t, unsigned block)
{
    switch (e) {
    case SQ_ELEMENT_E2M1:
        sq_bs_tile_codes(t, block, SQ_ELEMENT_E2M1);
        break;
    case SQ_ELEMENT_E2M3:
        sq_bs_tile_codes(t, block, SQ_ELEMENT_E2M3);
        break;
    case SQ_ELEMENT_E3M2:
        sq_bs_tile_codes(t, block, SQ_ELEMENT_E3M2);
        break;
    case SQ_ELEMENT_E4M3:
        sq_bs_tile_codes(t, block, SQ_ELEMENT_E4M3);
        break;
    case SQ_ELEMENT_E5M2:
        sq_bs_tile_codes(t, block, SQ_ELEMENT_E5M2);
        break;
    case SQ_ELEMENT_INT4:
        sq_bs_tile_codes(t, block, SQ_ELEMENT_INT4);
        break;
    case SQ_ELEMENT_INT5:
        sq_bs_tile_codes(t, block, SQ_ELEMENT_INT5);
        break;
    case SQ_ELEMENT_INT8:
        sq_bs_tile_codes(t, block, SQ_ELEMENT_INT8);
        break;
    default:
        sq_bs_tile_codes(t, block, SQ_ELEMENT_MXINT8);
    }
}

// Largest magnitudes of the blocks; those of marked elements apart.
INLINE void sq_bs_tile_amax(struct sq_bs_tile *t, unsigned block, bool has_high)
{
    uint32_t amax[SQ_BS_PARTS][LANES] = {{0}};
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const uint32_t m = sq_bits_of(t->x[i][l]) & 0x7fffffffu; // ordered as the numbers are
            const uint32_t all = has_high ? 0 - (uint32_t)(t->is_high[i][l] != 0) : 0;
            const uint32_t low = m & ~all, high = m & all; // no branch: it becomes vectors
            amax[0][l] = low > amax[0][l] ? low : amax[0][l];
            amax[1][l] = high > amax[1][l] ? high : amax[1][l];
        }
    memcpy(t->amax, amax, sizeof amax);
}

// E4M3 scales of a part, and its steps.
INLINE void sq_bs_tile_scales(struct sq_bs_tile *t, unsigned part, float top, float global)
{
    for (unsigned l = 0; l < LANES; l++) {
        const int32_t code = sq_bs_e4m3_code(t->amax[part][l] / top / global);
        t->scale[part][l] = code;
        t->step[part][l] = sq_bs_e4m3_value(code) * global;
    }
}

// ---- the candidate with the smallest squared error --------------------------------------------

// The best candidate so far, for each lane.
struct sq_bs_least {
    double error[LANES];
    int32_t scale[LANES];
    float step[LANES];
};

// Before candidate i is tried: the first one is the best so far.
INLINE void sq_bs_least_start(struct sq_bs_least *best, unsigned i, const int32_t scale[LANES],
                              const float step[LANES])
{
    for (unsigned l = 0; i == 0 && l < LANES; l++) {
        best->error[l] = (double)INFINITY;
        best->scale[l] = scale[l];
        best->step[l] = step[l];
    }
}

// The error of the tile at a step; ascending index, in binary64. `element`: what is multiplied of
// element i of block l.
INLINE void
sq_bs_least_try(const struct sq_bs_tile *t, unsigned block,
                float (*element)(const struct sq_bs_tile *t, unsigned i, unsigned l, float step),
                const int32_t scale[LANES], const float step[LANES], struct sq_bs_least *best)
{
    double sum[LANES] = {0};
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const float value = step[l] > 0 ? element(t, i, l, step[l]) * step[l] + 0.0f : 0;
            const double e = (double)t->x[i][l] - (double)value;
            sum[l] += e * e;
        }
    for (unsigned l = 0; l < LANES; l++)
        if (sum[l] < best->error[l]) {
            best->error[l] = sum[l];
            best->scale[l] = scale[l];
            best->step[l] = step[l];
        }
}

// The same with errors in integers; the scale above the blocks is 2^above.
INLINE void sq_bs_integer_try(const struct sq_bs_tile *t, unsigned block, enum sq_bs_values of,
                              const int32_t scale[LANES], const float step[LANES], int32_t above,
                              struct sq_bs_least *best)
{
    int32_t sum[LANES] = {0}, e[LANES], s[LANES];
    for (unsigned l = 0; l < LANES; l++) {
        e[l] = sq_bs_exponent_of(t->amax[0][l]);
        s[l] = sq_bs_error_step(scale[l], e[l], above);
    }
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const float x = t->x[i][l];
            const int32_t d = sq_bs_error_of(of, sq_bs_error_units(x, e[l]), s[l]);
            sum[l] += d * d;
        }
    for (unsigned l = 0; l < LANES; l++)
        if (sum[l] < best->error[l]) {
            best->error[l] = sum[l];
            best->scale[l] = scale[l];
            best->step[l] = step[l];
        }
}

INLINE void sq_bs_least_take(struct sq_bs_tile *t, const struct sq_bs_least *best)
{
    memcpy(t->scale[0], best->scale, sizeof best->scale);
    memcpy(t->step[0], best->step, sizeof best->step);
}

// ---- a tile and its row -----------------------------------------------------------------------

// Blocks j .. j + n of a row into a tile, zeros behind its last real element.
INLINE void sq_bs_tile_load_some(const struct sq_bs *c, size_t row, size_t j, size_t n,
                                 const float *x, struct sq_bs_tile *t)
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
INLINE void sq_bs_tile_load(const struct sq_bs *c, size_t row, size_t j, size_t b, const float *x,
                            struct sq_bs_tile *t)
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
INLINE void sq_bs_tile_store_plane(int32_t code[][LANES], size_t b, size_t n, uint8_t *to)
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

typedef void sq_bs_tile_body(const struct sq_bs_format *f, struct sq_bs_tile *t, unsigned block,
                             const float *global);
// 16 whole blocks of a row into a tile; n blocks of it as bytes to where they belong.
typedef void sq_bs_tile_in(const struct sq_bs *c, size_t row, size_t j, size_t b, const float *x,
                           struct sq_bs_tile *t);
typedef void sq_bs_tile_out(struct sq_bs *c, size_t row, size_t j, size_t n, size_t b,
                            struct sq_bs_tile *t);

INLINE void sq_bs_tile_store(struct sq_bs *c, size_t row, size_t j, size_t n, size_t b,
                             struct sq_bs_tile *t)
{
    sq_bs_tile_store_plane(t->code, b, n, c->code + row * c->k + j * b);
    if (c->high)
        sq_bs_tile_store_plane(t->high, b, n, c->high + row * c->k + j * b);
}

#if defined(__x86_64__)
// The same by transposition of 16 x 16 numbers.
SQ_LANES_AVX512 INLINE void sq_bs_tile_load_avx512(const struct sq_bs *c, size_t row, size_t j,
                                                   size_t b, const float *x, struct sq_bs_tile *t)
{
    const __m512i one = _mm512_set1_epi32(1);
    for (size_t first = 0; first < b; first += LANES) {
        __m512i v[LANES];
#pragma GCC unroll 16
        for (size_t l = 0; l < LANES; l++)
            v[l] = _mm512_loadu_si512(x + (j + l) * b + first);
        sq_transpose16(v);
#pragma GCC unroll 16
        for (size_t l = 0; l < LANES; l++)
            _mm512_storeu_si512(t->x[first + l], v[l]);
    }
    if (!c->is_high)
        return;
    uint32_t mark[LANES]; // bit i: element i
    for (size_t l = 0; l < LANES; l++) {
        const uint8_t *from = c->is_high + row * c->k + (j + l) * b;
        const __m256i marks =
            b == 32 ? _mm256_loadu_si256((const __m256i *)(const void *)from)
                    : _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)from));
        mark[l] = _mm256_test_epi8_mask(marks, marks) & (uint32_t)((UINT64_C(1) << b) - 1);
    }
    __m512i left = _mm512_loadu_si512(mark);
    for (size_t i = 0; i < b; i++, left = _mm512_srli_epi32(left, 1))
        _mm512_storeu_si512(t->is_high[i], _mm512_and_si512(left, one));
}

// Codes are bytes: four elements of a block in a number.
SQ_LANES_AVX512 INLINE __m512i sq_bs_tile_four(int32_t code[4][LANES])
{
    const __m512i a = _mm512_loadu_si512(code[0]), b = _mm512_loadu_si512(code[1]),
                  c = _mm512_loadu_si512(code[2]), d = _mm512_loadu_si512(code[3]);
    return _mm512_or_si512(_mm512_or_si512(a, _mm512_slli_epi32(b, 8)),
                           _mm512_or_si512(_mm512_slli_epi32(c, 16), _mm512_slli_epi32(d, 24)));
}

// b / 4 numbers of codes and as many of high codes are a row of the transposed matrix.
SQ_LANES_AVX512 INLINE void sq_bs_tile_store_avx512(struct sq_bs *c, size_t row, size_t j, size_t n,
                                                    size_t b, struct sq_bs_tile *t)
{
    const size_t at = row * c->k + j * b;
    _Alignas(64) uint8_t byte[LANES][64];
    __m512i v[LANES];
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++)
        v[i] = i < b / 4              ? sq_bs_tile_four(t->code + 4 * i)
               : c->high && i < b / 2 ? sq_bs_tile_four(t->high + 4 * (i - b / 4))
                                      : _mm512_setzero_si512();
    sq_transpose16(v);
#pragma GCC unroll 16
    for (size_t l = 0; l < LANES; l++)
        _mm512_store_si512(byte[l], v[l]);
    for (size_t l = 0; l < n; l++)
        memcpy(c->code + at + l * b, byte[l], b);
    for (size_t l = 0; c->high && l < n; l++)
        memcpy(c->high + at + l * b, byte[l] + b, b);
}
#else
#define sq_bs_tile_load_avx512 sq_bs_tile_load
#define sq_bs_tile_store_avx512 sq_bs_tile_store
#endif

// Blocks j .. j + n, n <= LANES, of a row: struct sq_bs_loops.
INLINE void sq_bs_tile_of_row(sq_bs_tile_body *body, sq_bs_tile_in *in, sq_bs_tile_out *out,
                              struct sq_bs *c, size_t row, size_t j, size_t n, size_t b,
                              const float *x, const float *global)
{
    const size_t blocks = c->k / b;
    struct sq_bs_tile t;
    if (n == LANES && (j + LANES) * b <= c->k_orig)
        in(c, row, j, b, x, &t);
    else
        sq_bs_tile_load_some(c, row, j, n, x, &t);
    body(&c->f, &t, (unsigned)b, global);
    out(c, row, j, n, b, &t);
    for (size_t i = 0, subs = sq_bs_n_subs(&c->f); c->sub && i < subs; i++)
        for (size_t l = 0; l < n; l++)
            c->sub[(row * blocks + j + l) * subs + i] = (uint8_t)t.sub[i][l];
    const size_t nbytes = sq_bs_scale_nbytes(&c->f);
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        for (size_t l = 0; c->scale[p] && l < n; l++)
            for (size_t i = 0; i < nbytes; i++)
                c->scale[p][(row * blocks + j + l) * nbytes + i] =
                    (uint8_t)((uint32_t)t.scale[p][l] >> 8 * i);
}

#define SQ_BS_TILE_AT(body, level, in, out, target)                                                \
    target static void body##_##level(struct sq_bs *c, size_t row, size_t j, size_t n,             \
                                      const float *x, const float *global)                         \
    {                                                                                              \
        if (c->f.block == 16)                                                                      \
            sq_bs_tile_of_row(body, in, out, c, row, j, n, 16, x, global);                         \
        else if (c->f.block == 32)                                                                 \
            sq_bs_tile_of_row(body, in, out, c, row, j, n, 32, x, global);                         \
        else                                                                                       \
            sq_bs_tile_of_row(body, sq_bs_tile_load, sq_bs_tile_store, c, row, j, n, c->f.block,   \
                              x, global);                                                          \
    }
#define SQ_BS_TILES(body)                                                                          \
    SQ_BS_TILE_AT(body, portable, sq_bs_tile_load, sq_bs_tile_store, )                             \
    SQ_BS_TILE_AT(body, avx2, sq_bs_tile_load, sq_bs_tile_store, SQ_LANES_AVX2)                    \
    SQ_BS_TILE_AT(body, avx512, sq_bs_tile_load_avx512, sq_bs_tile_store_avx512, SQ_LANES_AVX512)
#define SQ_BS_MARKED_AT(body, level, target)                                                       \
    target static void body##_##level(const uint8_t *code, const uint8_t *high,                    \
                                      const uint8_t *is_high, size_t n, int16_t *x)                \
    {                                                                                              \
        body(code, high, is_high, n, x);                                                           \
    }

// struct sq_bs_loops name[SQ_BS_LEVELS] of an inline sq_bs_tile_body; and of an inline function for
// marked elements.
#define SQ_BS_LOOPS(name, body)                                                                    \
    SQ_BS_TILES(body)                                                                              \
    static const struct sq_bs_loops name[SQ_BS_LEVELS] = {                                         \
        {body##_portable, NULL, NULL}, {body##_avx2, NULL, NULL}, {body##_avx512, NULL, NULL}};
#define SQ_BS_LOOPS_MARKED(name, body, marked)                                                     \
    SQ_BS_TILES(body)                                                                              \
    SQ_BS_MARKED_AT(marked, portable, )                                                            \
    SQ_BS_MARKED_AT(marked, avx2, SQ_LANES_AVX2)                                                   \
    SQ_BS_MARKED_AT(marked, avx512, SQ_LANES_AVX512)                                               \
    static const struct sq_bs_loops name[SQ_BS_LEVELS] = {                                         \
        {body##_portable, marked##_portable, NULL},                                                \
        {body##_avx2, marked##_avx2, NULL},                                                        \
        {body##_avx512, marked##_avx512, NULL}};
#define SQ_BS_SCALED_AT(body, level, target)                                                       \
    target static void body##_##level(const struct sq_bs *c, size_t row, int16_t *x)               \
    {                                                                                              \
        body(c, row, x);                                                                           \
    }
