// SPDX-License-Identifier: Apache-2.0
// Loads the integers, scales and marks of a row, and computes its reach (sq_bs_lane.h).
#include "models/scaled/sq_bs_lane.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_bs_table.h"
#include "models/scaled/sq_bs_tile.h"

enum { EXPONENT_MAX = 40 }; // of a scale of E8M0 that is not far from 1

// ---- elements -------------------------------------------------------------------------------

static enum sq_element element_of(const struct sq_bs_format *f, unsigned part)
{
    return part ? sq_bs_high_element(f) : f->element;
}

bool sq_bs_is_wide(const struct sq_bs_format *f, unsigned part)
{
    const enum sq_element e = element_of(f, part);
    const struct sq_bs_table *t = sq_bs_table_of(f);
    return t ? t->most > SQ_BS_TABLE_MOST : e == SQ_ELEMENT_E4M3 || e == SQ_ELEMENT_E5M2;
}

int64_t sq_bs_most(const struct sq_bs_format *f, unsigned part)
{
    return sq_bs_table_of(f) ? sq_bs_table_of(f)->most
           : f->kind->most   ? f->kind->most
                             : sq_element_type(element_of(f, part))->lowest;
}

void sq_bs_tables_of(const struct sq_bs_format *f, struct sq_bs_tables *t)
{
    for (unsigned p = 0; p < sq_bs_n_parts(f); p++) {
        for (unsigned i = 0; i < 256; i++)
            t->scale[p][i] = sq_bs_scale(f, p, i);
        const struct sq_bs_table *const own = sq_bs_table_of(f);
        t->unit[p] = sq_bs_is_wide(f, p) ? 1
                     : own               ? ldexpf(1, -(int)own->fraction)
                           : ldexpf(1, -(int)sq_element_type(element_of(f, p))->fraction);
        for (unsigned i = 0; sq_bs_is_wide(f, p) && i < 256; i++)
            t->value[p][i] = own ? ldexp(own->value[0][i] == SQ_BS_NO_VALUE ? 0 : own->value[0][i],
                                         -(int)own->fraction)
                                 : (double)sq_element_decode(element_of(f, p), (uint8_t)i);
    }
}

// A small float of a sign, `exponent` and `fraction` bits, in units of its smallest number.
INLINE int float_code(int code, int exponent, int fraction)
{
    const int sign = 1 << (exponent + fraction), e = (code & (sign - 1)) >> fraction;
    const int is_normal = e > 0, low = code & ((1 << fraction) - 1);
    const int v = (low | is_normal << fraction) << (e - is_normal);
    return code & sign ? -v : v;
}

INLINE int int_code(int code, int bits)
{
    const int sign = 1 << (bits - 1);
    return ((code & (2 * sign - 1)) ^ sign) - sign;
}

INLINE int integer_of(enum sq_element e, int code)
{
    return e == SQ_ELEMENT_E2M1   ? float_code(code, 2, 1)
           : e == SQ_ELEMENT_E2M3 ? float_code(code, 2, 3)
           : e == SQ_ELEMENT_E3M2 ? float_code(code, 3, 2)
           : e == SQ_ELEMENT_INT4 ? int_code(code, 4)
           : e == SQ_ELEMENT_INT5 ? int_code(code, 5)
                                  : int_code(code, 8);
}

// What the loops below are compiled for, once an element, without a branch in them.
INLINE void integers_of(enum sq_element e, const uint8_t *code, size_t n, int16_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (int16_t)integer_of(e, code[i]);
}

INLINE void decode(enum sq_element e, const uint8_t *code, size_t n, int16_t *out)
{
    switch (e) {
    case SQ_ELEMENT_E2M1:
        integers_of(SQ_ELEMENT_E2M1, code, n, out);
        break;
    case SQ_ELEMENT_E2M3:
        integers_of(SQ_ELEMENT_E2M3, code, n, out);
        break;
    case SQ_ELEMENT_E3M2:
        integers_of(SQ_ELEMENT_E3M2, code, n, out);
        break;
    case SQ_ELEMENT_INT4:
        integers_of(SQ_ELEMENT_INT4, code, n, out);
        break;
    case SQ_ELEMENT_INT5:
        integers_of(SQ_ELEMENT_INT5, code, n, out);
        break;
    default:
        integers_of(SQ_ELEMENT_INT8, code, n, out);
    }
}

// Integers of a part without its kind's marks of one part.
INLINE void load_integers(const struct sq_bs *c, size_t row, unsigned part, int16_t *x)
{
    const size_t at = row * c->k, k = c->k;
    decode(element_of(&c->f, part), (part ? c->high : c->code) + at, k, x);
    if (!c->f.kind->has_two_parts)
        return;
    const uint8_t *is_high = c->is_high + at;
    for (size_t i = 0; i < k; i++)
        x[i] = (is_high[i] != 0) == (part != 0) ? x[i] : 0;
}

INLINE void sums_of(const int16_t *x, size_t n_blocks, size_t block, int32_t *sum)
{
    for (size_t j = 0; j < n_blocks; j++, x += block) {
        int32_t s = 0;
        for (size_t i = 0; i < block; i++)
            s += x[i];
        sum[j] = s;
    }
}

// The integers of a row and their sums; `marked`: what the kind does to marked elements.
INLINE void integers_body(const struct sq_bs *c, size_t row, struct sq_bs_lane *l,
                          const struct sq_bs_loops *own)
{
    const size_t at = row * c->k;
    for (unsigned p = 0; p < sq_bs_n_parts(&c->f); p++) {
        if (sq_bs_is_wide(&c->f, p))
            continue;
        if (!sq_bs_table_of(&c->f))
            load_integers(c, row, p, l->x[p]);
        if (own->marked)
            own->marked(c->code + at, c->high ? c->high + at : NULL, c->is_high + at, c->k,
                        l->x[p]);
        if (own->scaled)
            own->scaled(c, row, l->x[p]);
        if (c->f.block == 16)
            sums_of(l->x[p], c->k / 16, 16, l->sum[p]);
        else if (c->f.block == 32)
            sums_of(l->x[p], c->k / 32, 32, l->sum[p]);
        else
            sums_of(l->x[p], c->k / c->f.block, c->f.block, l->sum[p]);
    }
}

INLINE void bytes_body(const int16_t *x, size_t n, int offset, uint8_t *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(x[i] + offset);
}

typedef void integers_fn(const struct sq_bs *c, size_t row, struct sq_bs_lane *l,
                         const struct sq_bs_loops *own);
typedef void bytes_fn(const int16_t *x, size_t n, int offset, uint8_t *to);

#define AT(level, target)                                                                          \
    target static void integers_##level(const struct sq_bs *c, size_t row, struct sq_bs_lane *l,   \
                                        const struct sq_bs_loops *own)                             \
    {                                                                                              \
        integers_body(c, row, l, own);                                                             \
    }                                                                                              \
    target static void bytes_##level(const int16_t *x, size_t n, int offset, uint8_t *to)          \
    {                                                                                              \
        bytes_body(x, n, offset, to);                                                              \
    }
AT(portable, )
AT(avx2, SQ_LANES_AVX2)
AT(avx512, SQ_LANES_AVX512)

static integers_fn *const integers_at[SQ_BS_LEVELS] = {integers_portable, integers_avx2,
                                                       integers_avx512};
static bytes_fn *const bytes_at[SQ_BS_LEVELS] = {bytes_portable, bytes_avx2, bytes_avx512};

// Reads the integers of a kind that has no loops, element by element and part by part.
static void integers_by_element(const struct sq_bs *c, size_t row, const struct sq_bs_tables *t,
                                struct sq_bs_lane *l)
{
    const size_t b = c->f.block;
    for (size_t j = 0; j < c->k / b; j++) {
        float element[SQ_BS_BLOCK_MAX];
        sq_bs_elements(c, row, j, element);
        for (unsigned p = 0; p < sq_bs_n_parts(&c->f); p++) {
            l->sum[p][j] = 0;
            for (size_t i = 0; i < b; i++) {
                const size_t at = j * b + i;
                const bool is_high = c->is_high && c->is_high[row * c->k + at];
                const bool is_own = (is_high && c->f.kind->has_two_parts) == (p != 0);
                l->x[p][at] = is_own ? (int16_t)(element[i] / t->unit[p]) : 0;
                l->sum[p][j] += l->x[p][at];
            }
        }
    }
}

void sq_bs_lane_bytes(const int16_t *x, size_t n, int offset, uint8_t *to)
{
    bytes_at[sq_bs_level()](x, n, offset, to);
}

void sq_bs_lane_values(const struct sq_bs_lane *l, const struct sq_bs *c, size_t row, unsigned part,
                       const struct sq_bs_tables *t)
{
    if (row >= c->n) {
        memset(l->value, 0, c->k * sizeof *l->value);
        return;
    }
    const uint8_t *code = (part ? c->high : c->code) + row * c->k;
    const uint8_t *is_high = c->f.kind->has_two_parts ? c->is_high + row * c->k : NULL;
    const bool is_wide = sq_bs_is_wide(&c->f, part);
    for (size_t i = 0; is_wide && i < c->k; i++)
        l->value[i] = t->value[part][code[i]];
    const struct sq_bs_table *table = sq_bs_table_of(&c->f);
    for (size_t i = c->k_orig; is_wide && table && table->lacks_zero && i < c->k; i++)
        l->value[i] = 0;
    for (size_t i = 0; is_wide && is_high && i < c->k; i++)
        l->value[i] = (is_high[i] != 0) == (part != 0) ? l->value[i] : 0;
    for (size_t i = 0; !is_wide && i < c->k; i++)
        l->value[i] = l->x[part][i];
}

// ---- blocks ---------------------------------------------------------------------------------

// Bit i: mark[i] is 1; of 8 marks at a time.
static uint32_t marks_of(const uint8_t *mark, size_t n)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t eight;
        memcpy(&eight, mark + i, sizeof eight);
        eight = (eight & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080);
        bits |= (uint32_t)(eight >> 56) << i;
    }
    return bits;
}

// E8M0 only: a block of zeros has no scale to speak of.
static bool is_zero(const struct sq_bs *c, const struct sq_bs_lane *l, size_t j,
                    const uint8_t *code)
{
    const size_t b = c->f.block;
    unsigned any = 0;
    if (sq_bs_is_wide(&c->f, 0))
        for (size_t i = 0; i < b; i++)
            any |= code[i] & 0x7fu;
    else
        for (size_t i = 0; i < b; i++)
            any |= (unsigned)l->x[0][j * b + i];
    return any == 0;
}

// Binades from the last bit of the smallest E5M2 number of a block to the largest, 0 without any.
static unsigned span(const uint8_t *code, size_t n)
{
    unsigned largest = 0, smallest = 0xff;
    for (size_t i = 0; i < n; i++) {
        const unsigned magnitude = code[i] & 0x7fu;
        largest = magnitude > largest ? magnitude : largest;
        smallest = magnitude > 0 && magnitude < smallest ? magnitude : smallest;
    }
    largest >>= 2; // exponents; the subnormal ones' last bit is that of exponent 1
    smallest >>= 2;
    return largest == 0 ? 3 : largest - (smallest > 0 ? smallest : 1) + 3;
}

// Scales of a row whose format has E8M0, its only part, and its reach.
static void load_e8m0(const struct sq_bs *c, size_t row, const struct sq_bs_tables *t,
                      struct sq_bs_lane *l)
{
    const size_t b = c->f.block, n = c->k / b;
    for (size_t j = 0; j < n; j++) {
        const uint8_t *code = c->code + row * c->k + j * b, s = c->scale[0][row * n + j];
        const bool is_none = is_zero(c, l, j, code);
        l->scale[0][j] = (is_none ? 1 : t->scale[0][s]) * t->unit[0];
        if (!is_none && abs(s - SQ_E8M0_BIAS) > EXPONENT_MAX)
            l->reach = SQ_BS_REACH_NONE;
        if (c->f.element == SQ_ELEMENT_E5M2) {
            const unsigned own = span(code, b);
            l->reach = own > l->reach ? (uint8_t)own : l->reach;
        }
    }
}

static void load_scales(const struct sq_bs *c, size_t row, const struct sq_bs_tables *t,
                        struct sq_bs_lane *l)
{
    const size_t n = c->k / c->f.block;
    const struct sq_bs_table *const table = sq_bs_table_of(&c->f);
    for (size_t j = 0; table && sq_bs_scale_is_float(table->scale) && j < n; j++) {
        const float s = sq_bs_float_value(table->scale, sq_bs_scale_at(c, 0, row * n + j));
        l->scale[0][j] = s * t->unit[0];
        if (s != 0 && abs(ilogbf(s)) > EXPONENT_MAX)
            l->reach = SQ_BS_REACH_NONE;
    }
    if (table && sq_bs_scale_is_float(table->scale))
        return;
    for (unsigned p = 0; p < sq_bs_n_parts(&c->f); p++)
        for (size_t j = 0; j < n; j++)
            l->scale[p][j] =
                (sq_bs_has_scale(&c->f, p) ? t->scale[p][c->scale[p][row * n + j]] : 1) *
                t->unit[p];
}

static void load_marks(const struct sq_bs *c, size_t row, struct sq_bs_lane *l)
{
    const size_t b = c->f.block;
    for (size_t j = 0; j < c->k / b; j++) {
        l->mark[j] = marks_of(c->is_high + row * c->k + j * b, b);
        if ((unsigned)__builtin_popcount(l->mark[j]) > c->f.high_per_block)
            l->reach = SQ_BS_REACH_NONE;
    }
}

void sq_bs_lane_load(struct sq_bs_lane *l, const struct sq_bs *c, size_t row,
                     const struct sq_bs_tables *t)
{
    const size_t n = c->k / c->f.block;
    l->reach = 0;
    if (row >= c->n) {
        for (unsigned p = 0; p < SQ_BS_PARTS; p++) {
            memset(l->x[p], 0, c->k * sizeof *l->x[p]);
            memset(l->sum[p], 0, n * sizeof *l->sum[p]);
            memset(l->scale[p], 0, n * sizeof *l->scale[p]);
        }
        memset(l->mark, 0, n * sizeof *l->mark);
        return;
    }
    if (c->f.kind->loops)
        integers_at[sq_bs_level()](c, row, l, &c->f.kind->loops[sq_bs_level()]);
    else if (!sq_bs_is_wide(&c->f, 0))
        integers_by_element(c, row, t, l);
    else // what its codes stand for is not in the tables
        l->reach = SQ_BS_REACH_NONE;
    if (sq_bs_is_e8m0(&c->f))
        load_e8m0(c, row, t, l);
    else
        load_scales(c, row, t, l);
    if (c->high)
        load_marks(c, row, l);
}

// ---- memory ---------------------------------------------------------------------------------

static size_t round_up(size_t n)
{
    return (n + 63) / 64 * 64;
}

size_t sq_bs_lane_nbytes(size_t k, size_t n_blocks)
{
    return 2 * round_up(2 * k) + round_up(8 * k) + round_up(k) + 5 * round_up(4 * n_blocks);
}

struct sq_bs_lane sq_bs_lane_in(void *memory, size_t k, size_t n_blocks)
{
    uint8_t *at = memory;
    struct sq_bs_lane l = {0};
    for (unsigned p = 0; p < SQ_BS_PARTS; p++, at += round_up(2 * k))
        l.x[p] = (int16_t *)(void *)at;
    l.value = (double *)(void *)at;
    at += round_up(8 * k);
    l.byte = at;
    at += round_up(k);
    for (unsigned p = 0; p < SQ_BS_PARTS; p++, at += 2 * round_up(4 * n_blocks)) {
        l.sum[p] = (int32_t *)(void *)at;
        l.scale[p] = (float *)(void *)(at + round_up(4 * n_blocks));
    }
    l.mark = (uint32_t *)(void *)at;
    return l;
}
