// SPDX-License-Identifier: Apache-2.0
// Chooses scales and codes for each kind of grid, and says what the codes stand for (sq_grid.h).
#include "models/number/sq_grid.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/number/sq_fp.h"
#include "models/number/sq_lanes.h"

const char *sq_grid_name(enum sq_grid_kind kind)
{
    static const char *const name[SQ_GRID_KINDS] = {"dense", "own", "tied", "split",
                                                    "shift", "fp",  "fp8"};
    assert((unsigned)kind < SQ_GRID_KINDS);
    return name[kind];
}

bool sq_grid_is_mixed(const struct sq_grid *g)
{
    return g->kind != SQ_GRID_DENSE && g->kind != SQ_GRID_FP8;
}

bool sq_grid_is_single(const struct sq_grid *g)
{
    return g->kind == SQ_GRID_DENSE || g->kind == SQ_GRID_TIED || g->kind == SQ_GRID_SPLIT;
}

enum sq_status sq_grid_check(const struct sq_grid *g, struct sq_error *err)
{
    const unsigned h = g->high_bits, l = g->low_bits;
    if (g->kind == SQ_GRID_DENSE) {
        if (h == 0 && l >= 2 && l <= 8)
            return SQ_OK;
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "dense codes of %u bits, need 2..8", l);
    }
    if (g->kind == SQ_GRID_FP || g->kind == SQ_GRID_FP8) {
        if (l == (g->kind == SQ_GRID_FP ? 4u : 8u) && h == (g->kind == SQ_GRID_FP ? 8u : 0u))
            return SQ_OK;
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s codes of %u/%u bits, need %s",
                       sq_grid_name(g->kind), h, l, g->kind == SQ_GRID_FP ? "8/4" : "8");
    }
    if ((h == 8 && l >= 2 && l <= 4) || (h == 4 && (l == 2 || l == 3)))
        return SQ_OK;
    if (g->kind == SQ_GRID_SPLIT && h == 12 && l == 4)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                   "high/low bits = %u/%u, need 8/4, 8/3, 8/2, 4/2, 4/3 or, split, 12/4", h, l);
}

// ---- split codes ----------------------------------------------------------------------------

// H has high - low bits and spans its whole two's complement range, and so does L.
static int split_min(const struct sq_grid *g)
{
    return -(1 << (g->high_bits - 1)) - (1 << (g->low_bits - 1));
}

static int split_max(const struct sq_grid *g)
{
    return (1 << (g->high_bits - 1)) - (1 << (g->low_bits - 1)) - 1;
}

int sq_split_lower(const struct sq_grid *g, int16_t code)
{
    return sq_sign_extend((uint32_t)code & ((1u << g->low_bits) - 1), g->low_bits);
}

int sq_split_upper(const struct sq_grid *g, int16_t code)
{
    return (code - sq_split_lower(g, code)) / (1 << g->low_bits); // exact
}

// ---- scales and codes -----------------------------------------------------------------------

// s = amax / most, or 1 where that is zero (SPEC 0.3).
static float scale(float amax, float most)
{
    const float s = amax / most;
    return s > 0 ? s : 1.0f;
}

// s_hi = 2^e s_lo, the smallest e at which amax_hi does not clip; exact but for subnormal scales,
// where both are 1.
static void shift_scales(const struct sq_grid *g, float amax_lo, float amax_hi, float *s_lo,
                         float *s_hi)
{
    const float most = (float)sq_qmax(g->high_bits),
                least = scale(amax_lo, (float)sq_qmax(g->low_bits));
    int e = -SQ_SHIFT_MAX;
    while (e < SQ_SHIFT_MAX && most * ldexpf(least, e) < amax_hi)
        e++;
    *s_lo = least;
    *s_hi = ldexpf(least, e);
    if (!(amax_lo > 0))
        *s_lo = *s_hi = scale(amax_hi, most);
    else if (most * *s_hi < amax_hi) { // further apart than the shifter reaches
        *s_hi = scale(amax_hi, most);
        *s_lo = ldexpf(*s_hi, -SQ_SHIFT_MAX);
    }
    if (*s_lo < 0x1p-126f || *s_hi < 0x1p-126f)
        *s_lo = *s_hi = 1;
}

int sq_grid_shift(float s_lo, float s_hi)
{
    int lo, hi;
    (void)frexpf(s_lo, &lo);
    (void)frexpf(s_hi, &hi);
    return hi - lo;
}

void sq_grid_scales(const struct sq_grid *g, float amax_lo, float amax_hi, float *s_lo, float *s_hi)
{
    const float low = g->kind == SQ_GRID_FP    ? scale(amax_lo, SQ_E2M1_MAX)
                      : g->kind == SQ_GRID_FP8 ? scale(amax_lo, SQ_E4M3_MAX)
                                               : sq_scale_from_amax(amax_lo, g->low_bits);
    *s_lo = *s_hi = low;
    if (g->kind == SQ_GRID_OWN) {
        *s_hi = sq_scale_from_amax(amax_hi, g->high_bits);
    } else if (g->kind == SQ_GRID_FP) {
        *s_hi = scale(amax_hi, SQ_E4M3_MAX);
    } else if (g->kind == SQ_GRID_TIED) {
        const float ratio = (float)(1 << (g->high_bits - g->low_bits));
        const float a = amax_lo / (float)sq_qmax(g->low_bits);
        const float b = amax_hi / (float)sq_qmax(g->high_bits) * ratio;
        *s_lo = scale(a > b ? a : b, 1);
        *s_hi = *s_lo / ratio;
        if (!(*s_hi > 0)) { // underflow
            *s_lo = 1;
            *s_hi = 1 / ratio;
        }
    } else if (g->kind == SQ_GRID_SHIFT) {
        shift_scales(g, amax_lo, amax_hi, s_lo, s_hi);
    } else if (g->kind == SQ_GRID_SPLIT && !(amax_lo > 0)) {
        *s_lo = *s_hi = scale(amax_hi, (float)split_max(g));
    }
}

static int16_t clamp(float q, int min, int max)
{
    return (int16_t)(q < (float)min ? min : q > (float)max ? max : (int)q);
}

int16_t sq_grid_code(const struct sq_grid *g, float x, bool is_high, float s_lo, float s_hi)
{
    switch (g->kind) {
    case SQ_GRID_FP:
        return is_high ? sq_e4m3_encode(x / s_hi) : sq_e2m1_encode(x / s_lo);
    case SQ_GRID_FP8:
        return sq_e4m3_encode(x / s_lo);
    case SQ_GRID_SPLIT:
        return is_high ? clamp(rintf(x / s_lo), split_min(g), split_max(g))
                       : sq_quantize(x, s_lo, g->low_bits);
    default:
        return is_high ? sq_quantize(x, s_hi, g->high_bits) : sq_quantize(x, s_lo, g->low_bits);
    }
}

// ---- rows in vectors ------------------------------------------------------------------------

// Each body is compiled for several instruction sets; the values are the same.
#define BODY static inline __attribute__((always_inline))

// Bit patterns of magnitudes have the order of the magnitudes, NaN the largest.
BODY void amax_body(const float *x, const uint8_t *is_high, size_t n, int32_t *low, int32_t *high)
{
    int32_t lo = 0, hi = 0;
    if (!is_high) {
#pragma omp simd reduction(max : lo)
        for (size_t i = 0; i < n; i++) {
            int32_t bits;
            memcpy(&bits, x + i, sizeof bits);
            bits &= INT32_MAX;
            lo = bits > lo ? bits : lo;
        }
    } else {
#pragma omp simd reduction(max : lo, hi)
        for (size_t i = 0; i < n; i++) {
            int32_t bits;
            memcpy(&bits, x + i, sizeof bits);
            bits &= INT32_MAX;
            const int32_t of_high = bits & -(int32_t)is_high[i], of_low = bits ^ of_high;
            lo = of_low > lo ? of_low : lo;
            hi = of_high > hi ? of_high : hi;
        }
    }
    *low = lo;
    *high = hi;
}

// Clamping before rounding gives what rounding before clamping gives, and keeps the quotient where
// adding 1.5 * 2^23 rounds it to the nearest integer, ties to even.
BODY int16_t integer_code(float x, float s, float least, float most)
{
    const float magic = 0x1.8p23f;
    float q = x / s;
    q = q < least ? least : q;
    q = q > most ? most : q;
    return (int16_t)((q + magic) - magic);
}

struct integer_codes {
    float s[2], min[2], max[2]; // of low and high elements
};

BODY void codes_body(const struct integer_codes *c, const float *x, const uint8_t *is_high,
                     size_t n, int16_t *code)
{
    if (!is_high) {
        const float s = c->s[0], min = c->min[0], max = c->max[0];
#pragma omp simd
        for (size_t i = 0; i < n; i++)
            code[i] = integer_code(x[i], s, min, max);
        return;
    }
    const struct integer_codes by = *c;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const float low = is_high[i] ? 0.0f : 1.0f; // selection by products: both factors exact
        const float high = 1.0f - low;
        code[i] =
            integer_code(x[i], low * by.s[0] + high * by.s[1], low * by.min[0] + high * by.min[1],
                         low * by.max[0] + high * by.max[1]);
    }
}

SQ_LANES_EACH(void, , amax,
              (const float *x, const uint8_t *is_high, size_t n, int32_t *low, int32_t *high), x,
              is_high, n, low, high)
SQ_LANES_EACH(void, , codes,
              (const struct integer_codes *c, const float *x, const uint8_t *is_high, size_t n,
               int16_t *code),
              c, x, is_high, n, code)

void sq_grid_amax(const float *x, const uint8_t *is_high, size_t n, float amax[2])
{
    int32_t bits[2];
    SQ_LANES_BEST(amax)(x, is_high, n, &bits[0], &bits[1]);
    memcpy(amax, bits, sizeof bits);
}

void sq_grid_codes(const struct sq_grid *g, const float *x, const uint8_t *is_high, size_t n,
                   float s_lo, float s_hi, int16_t *code)
{
    if (g->kind == SQ_GRID_FP || g->kind == SQ_GRID_FP8) {
        for (size_t i = 0; i < n; i++)
            code[i] = sq_grid_code(g, x[i], is_high && is_high[i], s_lo, s_hi);
        return;
    }
    const float low = (float)sq_qmax(g->low_bits);
    const bool is_split = g->kind == SQ_GRID_SPLIT, has_high = sq_grid_is_mixed(g);
    const float high = has_high && !is_split ? (float)sq_qmax(g->high_bits) : low;
    const struct integer_codes c = {.s = {s_lo, is_split ? s_lo : s_hi},
                                    .min = {-low, is_split ? (float)split_min(g) : -high},
                                    .max = {low, is_split ? (float)split_max(g) : high}};
    SQ_LANES_BEST(codes)(&c, x, is_high, n, code);
}

float sq_grid_value(const struct sq_grid *g, int16_t code, bool is_high, float s_lo, float s_hi)
{
    switch (g->kind) {
    case SQ_GRID_FP:
        return is_high ? sq_e4m3_decode((uint8_t)code) * s_hi
                       : sq_e2m1_decode((uint8_t)code) * s_lo;
    case SQ_GRID_FP8:
        return sq_e4m3_decode((uint8_t)code) * s_lo;
    case SQ_GRID_SPLIT:
        return (float)code * s_lo;
    default:
        return (float)code * (is_high ? s_hi : s_lo);
    }
}

void sq_grid_values(const struct sq_grid *g, const int16_t *code, const uint8_t *is_high, size_t n,
                    float s_lo, float s_hi, float *value)
{
    const float high = g->kind == SQ_GRID_SPLIT ? s_lo : s_hi;
    if (g->kind == SQ_GRID_FP || g->kind == SQ_GRID_FP8) {
        for (size_t i = 0; i < n; i++)
            value[i] = sq_grid_value(g, code[i], is_high && is_high[i], s_lo, s_hi);
    } else if (is_high) {
#pragma omp simd
        for (size_t i = 0; i < n; i++)
            value[i] = (float)code[i] * (is_high[i] ? high : s_lo);
    } else {
#pragma omp simd
        for (size_t i = 0; i < n; i++)
            value[i] = (float)code[i] * s_lo;
    }
}

int16_t sq_grid_merged(const struct sq_grid *g, int16_t code, bool is_high)
{
    assert(sq_grid_is_single(g));
    if (g->kind == SQ_GRID_TIED && !is_high)
        return (int16_t)(code * (1 << (g->high_bits - g->low_bits)));
    return code;
}

float sq_grid_single_scale(const struct sq_grid *g, float s_lo, float s_hi)
{
    return g->kind == SQ_GRID_TIED ? s_hi : s_lo;
}
