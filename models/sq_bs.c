// SPDX-License-Identifier: Apache-2.0
// Formats and single blocks (sq_bs.h).
#include "models/sq_bs.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/sq_codes.h"

static const struct sq_grid split_grid = {SQ_GRID_SPLIT, 8, 4};
enum { SPLIT_MAX = 119, CANDIDATES = 5, PLUS_STEPS = 8 };

// ---- the format -----------------------------------------------------------------------------

static enum sq_status check_sq(const struct sq_bs_format *f, struct sq_error *err)
{
    if (f->element != SQ_ELEMENT_INT4 && (f->element != SQ_ELEMENT_E2M1 || f->is_split))
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "element = %s, need int4%s",
                       sq_element_name(f->element), f->is_split ? " for split codes" : " or e2m1");
    if (f->high_per_block < 1 || f->high_per_block > f->block / 2)
        return SQ_FAIL(err, SQ_ERR_RANGE, "high-per-bank = %u, need 1..%u", f->high_per_block,
                       f->block / 2);
    return SQ_OK;
}

enum sq_status sq_bs_check(const struct sq_bs_format *f, struct sq_error *err)
{
    if (f->block != 16 && f->block != 32)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "bank = %u, need 16 or 32", f->block);
    if ((unsigned)f->element >= SQ_ELEMENTS || (unsigned)f->rule > SQ_BS_CEIL)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "element or rule is unknown");
    return f->kind == SQ_BS_SQ ? check_sq(f, err) : SQ_OK;
}

unsigned sq_bs_n_parts(const struct sq_bs_format *f)
{
    return f->kind == SQ_BS_SQ && !f->is_split ? 2 : 1;
}

enum sq_element sq_bs_high_element(const struct sq_bs_format *f)
{
    return f->element == SQ_ELEMENT_E2M1 ? SQ_ELEMENT_E4M3 : SQ_ELEMENT_INT8;
}

bool sq_bs_is_e8m0(const struct sq_bs_format *f)
{
    return f->kind == SQ_BS_MX || f->kind == SQ_BS_PLUS ||
           (f->kind == SQ_BS_SQ && f->is_split && f->is_power_of_two);
}

bool sq_bs_has_global(const struct sq_bs_format *f, unsigned part)
{
    return part < sq_bs_n_parts(f) && !sq_bs_is_e8m0(f);
}

bool sq_bs_has_scale(const struct sq_bs_format *f, unsigned part)
{
    return part == 0 || (part < sq_bs_n_parts(f) && f->is_high_block);
}

double sq_bs_bits(const struct sq_bs_format *f)
{
    const double b = f->block, dense = sq_element_bits(f->element);
    const unsigned n_scales = 1u + sq_bs_has_scale(f, 1);
    double bits = dense + 8 * n_scales / b;
    if (f->kind == SQ_BS_PLUS)
        bits += 5 / b; // the place of the largest
    if (f->kind == SQ_BS_SQ)
        bits += (f->is_split ? 4 : 8) * f->high_per_block / b + (f->is_split ? 1 : 0);
    return bits;
}

// ---- scales ---------------------------------------------------------------------------------

// Largest magnitude of an element of the part.
static float top(const struct sq_bs_format *f, unsigned part)
{
    return part == 0 ? sq_element_max(f->element) : sq_element_max(sq_bs_high_element(f));
}

static void choose_high(const struct sq_bs_format *f, const float *x, size_t n, uint8_t *is_high)
{
    float score[SQ_BS_BLOCK_MAX];
    for (size_t i = 0; i < n; i++)
        score[i] = fabsf(x[i]);
    sq_mask_row(score, f->block, n, f->block, f->kind == SQ_BS_SQ ? f->high_per_block : 1, is_high);
}

static void amax_of(const float *x, size_t n, const uint8_t *is_high, float amax[SQ_BS_PARTS])
{
    amax[0] = amax[1] = 0;
    for (size_t i = 0; i < n; i++) {
        float *a = &amax[is_high && is_high[i]];
        *a = fmaxf(*a, fabsf(x[i]));
    }
}

static float positive(float x)
{
    return x > 0 ? x : 1.0f;
}

void sq_bs_globals_of(const struct sq_bs_format *f, const float amax[SQ_BS_PARTS],
                      float global[SQ_BS_PARTS])
{
    global[0] = global[1] = 1;
    if (sq_bs_is_e8m0(f))
        return;
    float g = amax[0] / (SQ_E4M3_MAX * top(f, 0));
    if (f->kind == SQ_BS_SQ && f->is_split)
        g = fmaxf(g, amax[1] / (SQ_E4M3_MAX * SPLIT_MAX));
    global[0] = positive(g);
    if (sq_bs_n_parts(f) == 2)
        global[1] =
            positive(f->is_high_block ? amax[1] / (SQ_E4M3_MAX * top(f, 1)) : amax[1] / top(f, 1));
}

// The exponent of the smallest power of two with top * 2^e >= amax > 0, exactly.
static int ceil_exponent(float amax, float most)
{
    int e_amax, e_most;
    const float m_amax = frexpf(amax, &e_amax), m_most = frexpf(most, &e_most);
    return e_amax - e_most + (m_amax > m_most);
}

static uint8_t mx_scale(const struct sq_bs_format *f, float amax)
{
    if (amax == 0)
        return 0;
    return sq_e8m0_encode(f->rule == SQ_BS_CEIL
                              ? ceil_exponent(amax, top(f, 0))
                              : sq_floor_log2(amax) - sq_element_emax(f->element));
}

void sq_bs_steps(const struct sq_bs_format *f, const float global[SQ_BS_PARTS],
                 struct sq_bs_block *b)
{
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        b->step[p] = p >= sq_bs_n_parts(f)   ? 0
                     : sq_bs_is_e8m0(f)      ? sq_e8m0_decode(b->scale[p])
                     : sq_bs_has_scale(f, p) ? sq_e4m3_decode(b->scale[p]) * global[p]
                                             : global[p];
}

// What the n elements of the block become as *b has it.
static void values_of(const struct sq_bs_format *f, const float *x, size_t n,
                      const struct sq_bs_block *b, float value[SQ_BS_BLOCK_MAX])
{
    int16_t code[SQ_BS_BLOCK_MAX];
    const bool is_split = f->kind == SQ_BS_SQ && f->is_split && b->step[0] > 0;
    if (is_split) // the same in vectors: 16 H + L is the code
        sq_grid_codes(&split_grid, x, b->is_high, n, b->step[0], b->step[0], code);
    for (size_t i = 0; i < n; i++)
        value[i] = is_split ? (float)code[i] * b->step[0] + 0.0f
                            : sq_bs_value(f, b, i, sq_bs_encode(f, b, i, x[i]));
}

// Squared error of the block as *b has it, in binary64 by ascending index.
static double error_of(const struct sq_bs_format *f, const float *x, size_t n,
                       const struct sq_bs_block *b)
{
    float value[SQ_BS_BLOCK_MAX];
    double sum = 0;
    values_of(f, x, n, b, value);
    for (size_t i = 0; i < n; i++) {
        const double e = (double)x[i] - (double)value[i];
        sum += e * e;
    }
    return sum;
}

// The candidate with the smallest squared error; ties: the first.
static void least_error(const struct sq_bs_format *f, const float *x, size_t n,
                        const float global[SQ_BS_PARTS], const uint8_t *candidate,
                        size_t n_candidates, struct sq_bs_block *b)
{
    double best = INFINITY;
    uint8_t scale = candidate[0];
    for (size_t i = 0; i < n_candidates; i++) {
        b->scale[0] = candidate[i];
        sq_bs_steps(f, global, b);
        const double e = error_of(f, x, n, b);
        if (e < best) {
            best = e;
            scale = candidate[i];
        }
    }
    b->scale[0] = scale;
}

// 4/6: the scale at which the largest element is 6, and that at which it is 4 (SPEC Q.3).
static void choose_four_six(const struct sq_bs_format *f, const float *x, size_t n, float amax,
                            const float global[SQ_BS_PARTS], struct sq_bs_block *b)
{
    const uint8_t candidate[2] = {sq_e4m3_encode(amax / 6.0f / global[0]),
                                  sq_e4m3_encode(amax / 4.0f / global[0])};
    least_error(f, x, n, global, candidate, 2, b);
}

// The step of a bank of split codes: the smallest at which nothing clips, t, or the best of five
// candidates: E4M3 of t * (1, 15/16, 7/8, 13/16, 3/4), or five powers of two from above t
// downwards.
static void choose_split(const struct sq_bs_format *f, const float *x, size_t n,
                         const float amax[SQ_BS_PARTS], const float global[SQ_BS_PARTS],
                         struct sq_bs_block *b)
{
    uint8_t candidate[CANDIDATES];
    const float low = amax[0] / top(f, 0), high = amax[1] / (float)SPLIT_MAX;
    const float t = fmaxf(low, high);
    for (int i = 0; i < CANDIDATES; i++)
        candidate[i] = t == 0               ? 0
                       : f->is_power_of_two ? sq_e8m0_encode(ceil_exponent(t, 1) - i)
                                            : sq_e4m3_encode(t * (1 - (float)i / 16) / global[0]);
    least_error(f, x, n, global, candidate, f->is_by_maximum ? 1 : CANDIDATES, b);
}

void sq_bs_choose(const struct sq_bs_format *f, const float *x, size_t n,
                  const float global[SQ_BS_PARTS], struct sq_bs_block *b)
{
    float amax[SQ_BS_PARTS];
    memset(b, 0, sizeof *b);
    if (f->kind == SQ_BS_SQ)
        choose_high(f, x, n, b->is_high);
    amax_of(x, n, f->kind == SQ_BS_SQ ? b->is_high : NULL, amax);
    if (f->kind == SQ_BS_MX || f->kind == SQ_BS_PLUS) {
        b->scale[0] = mx_scale(f, amax[0]);
        if (f->kind == SQ_BS_PLUS && b->scale[0] > 0)
            choose_high(f, x, n, b->is_high);
    } else if (f->kind == SQ_BS_NV && f->is_four_six) {
        choose_four_six(f, x, n, amax[0], global, b);
    } else if (f->kind == SQ_BS_SQ && f->is_split) {
        choose_split(f, x, n, amax, global, b);
    } else {
        for (unsigned p = 0; p < sq_bs_n_parts(f); p++)
            if (sq_bs_has_scale(f, p))
                b->scale[p] = sq_e4m3_encode(amax[p] / top(f, p) / global[p]);
    }
    sq_bs_steps(f, global, b);
}

// ---- elements -------------------------------------------------------------------------------

// The largest element of a PLUS block, 4 <= |x| / step < 8: the sign, and three fraction bits of
// 1.xxx * 4.
static uint8_t encode_largest(float x)
{
    const float steps = rintf(fabsf(x) * 2);
    const unsigned m = steps > 2 * PLUS_STEPS - 1 ? PLUS_STEPS - 1
                       : steps < PLUS_STEPS       ? 0
                                                  : (unsigned)steps - PLUS_STEPS;
    return (uint8_t)(m | (signbit(x) ? 8u : 0));
}

static uint8_t encode_sq(enum sq_element e, float x)
{
    return e == SQ_ELEMENT_E2M1   ? sq_e2m1_encode(x) // -0 is the mask code
           : e == SQ_ELEMENT_E4M3 ? sq_e4m3_encode(x)
                                  : sq_element_encode(e, x);
}

struct sq_bs_code sq_bs_encode(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                               float x)
{
    const bool is_high = b->is_high[i];
    const float step = b->step[is_high && sq_bs_n_parts(f) == 2];
    struct sq_bs_code c = {0, 0};
    if (!(step > 0))
        return c;
    const float q = x / step;
    if (f->kind == SQ_BS_SQ && f->is_split) {
        const int16_t code = sq_grid_code(&split_grid, x, is_high, step, step);
        c.code = (uint8_t)sq_split_lower(&split_grid, code) & 15u;
        c.high = is_high ? (uint8_t)sq_split_upper(&split_grid, code) & 15u : 0;
    } else if (f->kind == SQ_BS_SQ) {
        if (is_high)
            c.high = encode_sq(sq_bs_high_element(f), q);
        else
            c.code = encode_sq(f->element, q);
    } else {
        c.code = is_high ? encode_largest(q) : sq_element_encode(f->element, q);
    }
    return c;
}

float sq_bs_element(const struct sq_bs_format *f, bool is_high, struct sq_bs_code c)
{
    if (!is_high)
        return sq_element_decode(f->element, c.code);
    if (f->kind == SQ_BS_PLUS) {
        const float m = 4 + 0.5f * (float)(c.code & 7u);
        return c.code & 8u ? -m : m;
    }
    if (f->is_split)
        return 16 * sq_element_decode(f->element, c.high) + sq_element_decode(f->element, c.code);
    return sq_element_decode(sq_bs_high_element(f), c.high);
}

float sq_bs_value(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                  struct sq_bs_code c)
{
    const bool is_high = b->is_high[i];
    return sq_bs_element(f, is_high, c) * b->step[is_high && sq_bs_n_parts(f) == 2] + 0.0f;
}
