// SPDX-License-Identifier: Apache-2.0
// sq_fp_mac: dot products in binary32, share by share.
#include "models/number/sq_fp_mac.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_half.h"
#include "models/output/sq_combine.h"
#include "sim/block/number/sq_fp_mac.block.h"

static unsigned width_of(const unsigned *v)
{
    return v[IS_HALF] ? 16 : 32;
}

// A number of a short fraction, so that there are ties, or of few; infinities and NaN are illegal.
static int32_t draw_number(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind)
{
    const unsigned fraction = v[IS_HALF] ? 10 : 23, bias = v[IS_HALF] ? 15 : 127;
    const uint32_t any = (uint32_t)sq_rng_next(rng), sign = any >> 31;
    const uint32_t low =
        any & ((1u << fraction) - 1) & (UINT32_MAX << sq_rng_below(rng, fraction + 1));
    uint32_t exponent = bias - 6 + sq_rng_below(rng, 12);
    if (kind == SQ_STIMULUS_EXTREME) // subnormal numbers, results beyond the range
        exponent = (uint32_t[]){0, 1, bias / 2, bias,
                                2 * bias}[sq_rng_below(rng, sq_rng_below(rng, 2) ? 5 : 2)];
    else if (kind == SQ_STIMULUS_ILLEGAL)
        exponent = sq_rng_below(rng, 2 * bias + 2);
    if (kind == SQ_STIMULUS_FEW) // sums that cancel
        return (int32_t)(sign << (width_of(v) - 1) | (sq_rng_below(rng, 4) ? bias << fraction : 0));
    return (int32_t)(sign << (width_of(v) - 1) | exponent << fraction | low);
}

// Two steps whose products differ by k^2 of about n^2: n n and -(n - k)(n + k), or the other way
// round. Their sum almost cancels, in a share or between two, and each bit decides alone which of
// them is larger.
static void draw_near(const unsigned *v, struct sq_rng *rng, bool is_second, int32_t *record)
{
    const size_t lanes = v[LANES], stride = FLAGS + 2 * lanes;
    const int32_t one = v[IS_HALF] ? 1 : 1 << 12; // n of 11 bits, of 12: products are exact
    const int32_t bias = v[IS_HALF] ? 15 << 10 : 127 << 23;
    int32_t *const w = record + FLAGS, *const x = w + lanes;
    for (size_t l = 0; l < lanes; l++) {
        const int32_t n = bias + (256 + (int32_t)sq_rng_below(rng, v[IS_HALF] ? 512 : 1536)) * one;
        const int32_t k = (int32_t)sq_rng_below(rng, 1u << sq_rng_below(rng, 9)) * one;
        if (!is_second) {
            const bool is_square = sq_rng_below(rng, 2);
            w[l] = is_square ? n : n - k;
            x[l] = is_square ? n : n + k;
            continue;
        }
        const int32_t *const first = w + l - stride;
        const int32_t mean = (first[0] + first[lanes]) / 2,
                      other = first[0] == first[lanes] ? k : 0;
        w[l] = (int32_t)((uint32_t)(mean - other) | UINT32_C(1) << (width_of(v) - 1));
        x[l] = mean + other;
    }
}

// A binary16 of that biased exponent, at times a power of two.
static int32_t draw_half(struct sq_rng *rng, uint32_t exponent)
{
    const uint32_t any = (uint32_t)sq_rng_next(rng);
    return (int32_t)((any & 0x8000) | exponent << 10 | (any >> 31 ? any & 0x3ff : 0));
}

// Products of 2^-27 to 2^-22: of binary16 the least is 2^-24, and half of it is a tie with 0.
static void draw_tiny(const unsigned *v, struct sq_rng *rng, int32_t *record)
{
    for (size_t l = 0; l < v[LANES]; l++) {
        const uint32_t exponent = 1 + sq_rng_below(rng, 2);
        record[FLAGS + l] = draw_half(rng, exponent);
        record[FLAGS + v[LANES] + l] = draw_half(rng, 3 + sq_rng_below(rng, 5) - exponent);
    }
}

static void draw_rows(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, int32_t *record,
                      uint32_t *len)
{
    const size_t stride = FLAGS + 2 * (size_t)v[LANES];
    // A NaN hides what follows, so its case has one step; one bit tells that NaN from infinity.
    const bool is_nan = sq_rng_below(rng, kind == SQ_STIMULUS_ILLEGAL ? 2 : 16) == 0;
    const bool is_tiny = v[IS_HALF] && kind == SQ_STIMULUS_EXTREME && sq_rng_below(rng, 2);
    const bool is_alone = is_nan || is_tiny;
    const unsigned shares = is_alone ? 1 : 1 + sq_rng_below(rng, SHARES_MAX);
    const bool is_near = kind == SQ_STIMULUS_FEW && sq_rng_below(rng, 2);
    unsigned n = 0;
    for (unsigned s = 0; s < shares; s++) {
        const unsigned steps = is_alone ? 1 : 1 + sq_rng_below(rng, STEPS_MAX);
        for (unsigned i = 0; i < steps; i++, record += stride) {
            record[1] = s + 1 == shares && i + 1 == steps;
            record[0] =
                record[1] ? (int32_t)sq_rng_below(rng, 2) : i + 1 == steps; // last is an end
            for (size_t e = FLAGS; e < stride; e++)
                record[e] = draw_number(v, rng, is_nan ? SQ_STIMULUS_UNIFORM : kind);
            if (is_nan)
                record[FLAGS + sq_rng_below(rng, (uint32_t)stride - FLAGS)] =
                    v[IS_HALF] ? 0x7c00 | 1 << sq_rng_below(rng, 10)
                               : 0x7f800000 | 1 << sq_rng_below(rng, 23);
            if (is_tiny)
                draw_tiny(v, rng, record);
            if (is_near)
                draw_near(v, rng, n % 2, record);
            n++;
        }
        len[0] += steps;
    }
}

// ---- rows that take turns: a lane for each of them, and back ----------------------------------

struct wide {
    unsigned v[TURNS + 1];
    size_t stride, narrow; // of a record with all lanes, of one of the block
};

static struct wide wide_of(const unsigned *v)
{
    const unsigned lanes = v[LANES] * v[TURNS];
    return (struct wide){
        {lanes, v[IS_HALF], 1}, FLAGS + 2 * (size_t)lanes, FLAGS + 2 * (size_t)v[LANES]};
}

// A step of all rows, and its records, one behind the other.
static void take_turns(const unsigned *v, const int32_t *step, int32_t *record)
{
    const struct wide w = wide_of(v);
    const size_t lanes = v[LANES];
    for (unsigned t = 0; t < v[TURNS]; t++, record += w.narrow) {
        memcpy(record, step, FLAGS * sizeof *step);
        memcpy(record + FLAGS, step + FLAGS + t * lanes, lanes * sizeof *step);
        memcpy(record + FLAGS + lanes, step + FLAGS + w.v[LANES] + t * lanes, lanes * sizeof *step);
    }
}

static void gather_turns(const unsigned *v, const int32_t *record, int32_t *step)
{
    const struct wide w = wide_of(v);
    const size_t lanes = v[LANES];
    memcpy(step, record, FLAGS * sizeof *step);
    for (unsigned t = 0; t < v[TURNS]; t++, record += w.narrow) {
        memcpy(step + FLAGS + t * lanes, record + FLAGS, lanes * sizeof *step);
        memcpy(step + FLAGS + w.v[LANES] + t * lanes, record + FLAGS + lanes, lanes * sizeof *step);
    }
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    const struct wide w = wide_of(v);
    SQ_FREED int32_t *const steps = calloc(SHARES_MAX * STEPS_MAX, w.stride * sizeof *steps);
    (void)number;
    assert(steps);
    draw_rows(w.v, rng, kind, steps, len);
    for (uint32_t i = 0; i < len[0]; i++)
        take_turns(v, steps + i * w.stride, record + i * v[TURNS] * w.narrow);
    len[0] *= v[TURNS];
}

// ---- directed cases -------------------------------------------------------------------------

enum { NEAREST = 22, FARTHEST = 28, N_FRACTIONS = 6, SIGNIFICANDS = 96, POWER = 12 };

static unsigned fraction_bits(const unsigned *v)
{
    return v[IS_HALF] ? 10 : 23;
}

// (1 + fraction / 2^bits) 2^exponent
static int32_t number(const unsigned *v, bool is_negative, int exponent, uint32_t fraction)
{
    const unsigned bits = fraction_bits(v), bias = v[IS_HALF] ? 15 : 127;
    return (int32_t)((uint32_t)is_negative << (width_of(v) - 1) |
                     (uint32_t)(exponent + (int)bias) << bits | fraction);
}

// The same product in every lane.
static void put_step(const unsigned *v, bool is_end, bool is_last, int32_t w, int32_t x,
                     int32_t *record)
{
    record[0] = is_end || is_last;
    record[1] = is_last;
    for (size_t l = 0; l < v[LANES]; l++) {
        record[FLAGS + l] = w;
        record[FLAGS + v[LANES] + l] = x;
    }
}

// 2^k and 2^(k - d) (1 + e), of any signs and order, d around the place where nothing but the sticky
// bit is left of the smaller one: 2^k - 2^(k-25) (1 + e) is rounded by it alone. Added within a
// share or between two. Of binary16 2^k is taken off again, which shows how the sum was rounded.
static enum sq_status draw_far(struct sq_case *c, struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    const size_t stride = FLAGS + 2 * (size_t)v[LANES];
    const uint32_t bits = fraction_bits(v), ones = (1u << bits) - 1;
    const uint32_t fraction[N_FRACTIONS] = {0, 1, ones, 1u << (bits - 1), 2, ones - 1};
    const uint32_t steps = v[IS_HALF] ? 3 : 2;
    const int32_t one = number(v, false, 0, 0), small = number(v, false, -4, 0);
    SQ_TRY(sq_case_room(c, (size_t)(FARTHEST - NEAREST + 1) * N_FRACTIONS * 16, steps, err));
    int32_t *record = c->beats;
    for (size_t g = 0; g < c->n_groups; g++, record += steps * stride) {
        const bool is_minus = g & 1, is_other = g & 2, is_swapped = g & 4, is_shared = !(g & 8);
        const int d = NEAREST + (int)(g / 16 / N_FRACTIONS);
        const int32_t large = number(v, is_minus, POWER, 0);
        const int32_t near =
            number(v, is_minus ^ is_other, POWER - d + 4, fraction[g / 16 % N_FRACTIONS]);
        int32_t *const first = record + (is_swapped ? stride : 0), *const second =
                                                                       record +
                                                                       (is_swapped ? 0 : stride);
        const bool is_end = steps == 2;
        put_step(v, !is_shared || first != record, first != record && is_end, large, one, first);
        put_step(v, !is_shared || second != record, second != record && is_end, near, small,
                 second);
        if (!is_end)
            put_step(v, true, true, number(v, !is_minus, POWER, 0), one, record + 2 * stride);
        c->len[g][0] = steps;
    }
    return SQ_OK;
}

// Significands of nothing but ones, on one side or both, at times all but one bit.
static enum sq_status draw_ones(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    const size_t stride = FLAGS + 2 * (size_t)v[LANES];
    const uint32_t bits = fraction_bits(v), ones = (1u << bits) - 1;
    SQ_TRY(sq_case_room(c, SIGNIFICANDS, 1, err));
    for (size_t g = 0; g < SIGNIFICANDS; g++) {
        const uint32_t other = g % 4 < 2    ? ones
                               : g % 4 == 2 ? ones ^ 1u << sq_rng_below(rng, bits)
                                            : (uint32_t)sq_rng_next(rng) & ones;
        const int32_t w = number(v, g & 8, (int)sq_rng_below(rng, 7) - 3, g & 4 ? other : ones);
        const int32_t x = number(v, g & 16, (int)sq_rng_below(rng, 7) - 3, g & 4 ? ones : other);
        put_step(v, g & 32, true, w, x, c->beats + g * stride);
        c->len[g][0] = 1;
    }
    return SQ_OK;
}

// Every power of two that a product can be, and what lies below the next one, in both signs: among
// them the first that binary16 has no number for, and those where it loses bits.
static enum sq_status draw_powers(struct sq_case *c, struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    const size_t stride = FLAGS + 2 * (size_t)v[LANES];
    const int most = v[IS_HALF] ? 15 : 127, least = 1 - most;
    const uint32_t ones = (1u << fraction_bits(v)) - 1;
    const size_t n = (size_t)(2 * (most - least) + 1);
    SQ_TRY(sq_case_room(c, 4 * n, 1, err));
    for (size_t g = 0; g < c->n_groups; g++) {
        const int exponent = 2 * least + (int)(g % n), w = exponent / 2;
        put_step(v, true, true, number(v, g / n & 1, w, g / n & 2 ? ones : 0),
                 number(v, false, exponent - w, 0), c->beats + g * stride);
        c->len[g][0] = 1;
    }
    return SQ_OK;
}

static enum sq_status draw_directed(struct sq_case *c, unsigned n, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    const struct wide w = wide_of(v);
    struct sq_point point = *c->point;
    SQ_CLOSED(sq_case_free) struct sq_case all = *c;
    memcpy(point.value, w.v, sizeof w.v);
    all.point = &point;
    SQ_TRY(n == 0   ? draw_far(&all, err)
           : n == 1 ? draw_ones(&all, rng, err)
                    : draw_powers(&all, err));
    c->n_groups = all.n_groups;
    c->n_beats = all.n_beats * v[TURNS];
    SQ_TRY(sq_case_alloc(c, err));
    for (size_t g = 0; g < all.n_groups; g++)
        c->len[g][0] = all.len[g][0] * v[TURNS];
    for (size_t i = 0; i < all.n_beats; i++)
        take_turns(v, all.beats + i * w.stride, c->beats + i * v[TURNS] * w.narrow);
    return SQ_OK;
}

// Way 0: the first step of all rows goes.
static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    const size_t step = v[TURNS] * wide_of(v).narrow;
    if (way > 0 || len[0] == v[TURNS])
        return false;
    len[0] -= v[TURNS];
    memmove(record, record + step, len[0] / v[TURNS] * step * sizeof *record);
    return true;
}

static float number_of(const unsigned *v, int32_t bits)
{
    return v[IS_HALF] ? sq_half_to_float((uint16_t)bits) : sq_word_float(bits);
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const struct wide w = wide_of(v);
    const size_t lanes = w.v[LANES];
    SQ_FREED struct sq_fp_mac *const sum = calloc(lanes, sizeof *sum);
    SQ_FREED int32_t *const step = malloc(w.stride * sizeof *step);
    assert(sum && step);
    for (uint32_t i = 0; i < in->len[0]; i += v[TURNS]) {
        gather_turns(v, in->record + i * w.narrow, step);
        for (size_t l = 0; l < lanes; l++)
            sq_fp_mac_step(&sum[l], number_of(v, step[FLAGS + l]),
                           number_of(v, step[FLAGS + lanes + l]), step[0] || step[1]);
    }
    for (size_t l = 0; l < lanes; l++) {
        const float y = sum[l].sum;
        if (v[IS_HALF])
            out[l] = y != y ? 0x7e00 : sq_f32_to_f16(y); // infinity minus infinity
        else
            out[l] = (int32_t)sq_combine_bits(y);
    }
    return v[TURNS];
}
