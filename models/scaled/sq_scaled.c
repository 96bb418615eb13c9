// SPDX-License-Identifier: Apache-2.0
// Looks up what the numbers of sq_array_scaled mean, and bounds its integer sums (sq_scaled.h).
#include "models/scaled/sq_scaled.h"

#include <assert.h>

enum {
    SPLIT_LOWEST = 136,
    PLUS_MOST = 15,
    IF4_MOST = 14,
    IF4_LEAST_CODE = 9,
    E4M3_TOP = 14 << 14,
    POW4_TOP = 1 << 15
};

static const struct sq_element_type *type(enum sq_scaled_element e)
{
    return sq_element_type(sq_scaled_element_of(e));
}

enum sq_element sq_scaled_element_of(enum sq_scaled_element e)
{
    static const enum sq_element of[] = {
        [SQ_SCALED_INT4] = SQ_ELEMENT_INT4,     [SQ_SCALED_INT5] = SQ_ELEMENT_INT5,
        [SQ_SCALED_E2M1] = SQ_ELEMENT_E2M1,     [SQ_SCALED_E2M3] = SQ_ELEMENT_E2M3,
        [SQ_SCALED_E3M2] = SQ_ELEMENT_E3M2,     [SQ_SCALED_E4M3_ELEMENT] = SQ_ELEMENT_E4M3,
        [SQ_SCALED_E5M2] = SQ_ELEMENT_E5M2,     [SQ_SCALED_INT8] = SQ_ELEMENT_INT8,
        [SQ_SCALED_MXINT8] = SQ_ELEMENT_MXINT8, [SQ_SCALED_PLUS] = SQ_ELEMENT_E2M1,
        [SQ_SCALED_IF4] = SQ_ELEMENT_E2M1,      [SQ_SCALED_RAZER] = SQ_ELEMENT_E2M1};
    return of[e];
}

unsigned sq_scaled_code_bits(enum sq_scaled_element e)
{
    return type(e)->bits;
}

// The bits of what is multiplied: an integer in two's complement. E4M3 and E5M2 take 9, a signed
// significand of 4 and of 3 bits and a shift of 4 and of 5 bits.
unsigned sq_scaled_element_bits(enum sq_scaled_element e)
{
    unsigned bits = 1;
    if (e == SQ_SCALED_E4M3_ELEMENT || e == SQ_SCALED_E5M2)
        return 9;
    while (UINT32_C(1) << (bits - 1) < (type(e)->is_int ? type(e)->lowest : type(e)->most + 1))
        bits++;
    return bits;
}

unsigned sq_scaled_element_fraction(enum sq_scaled_element e)
{
    return type(e)->fraction;
}

unsigned sq_scaled_element_max(enum sq_scaled_element e)
{
    return e == SQ_SCALED_PLUS ? PLUS_MOST : e == SQ_SCALED_IF4 ? IF4_MOST : type(e)->lowest;
}

bool sq_scaled_has_sign(enum sq_scaled_element e)
{
    return e == SQ_SCALED_IF4 || e == SQ_SCALED_RAZER;
}

uint8_t sq_scaled_element_end(enum sq_scaled_element e, bool is_negative)
{
    const unsigned sign = 1u << (sq_scaled_code_bits(e) - 1);
    unsigned magnitude = sign - 1; // all ones, but for what is no number
    if (e == SQ_SCALED_IF4)        // of a block of INT4
        return (uint8_t)(is_negative ? IF4_LEAST_CODE : magnitude);
    if (type(e)->is_int)
        return (uint8_t)(is_negative ? sign : magnitude);
    while (!sq_element_is_number(sq_scaled_element_of(e), (uint8_t)magnitude))
        magnitude--;
    return (uint8_t)(is_negative ? sign | magnitude : magnitude);
}

bool sq_scaled_is_scale(enum sq_scaled_scale s, uint8_t code)
{
    switch (s) {
    case SQ_SCALED_E4M3:
        return code < 0x7f;
    case SQ_SCALED_E8M0:
        return code != SQ_E8M0_NAN;
    case SQ_SCALED_POW4:
        return code < 16;
    default:
        return true;
    }
}

uint32_t sq_scaled_units(enum sq_scaled_scale s, uint8_t code)
{
    assert(s != SQ_SCALED_E8M0);
    const uint32_t exponent = code >> 3, fraction = code & 7u;
    return s == SQ_SCALED_NONE   ? 1
           : s == SQ_SCALED_POW4 ? UINT32_C(1) << code
           : exponent == 0       ? fraction
                                 : (8 + fraction) << (exponent - 1);
}

enum sq_scaled_element sq_scaled_high_element(enum sq_scaled_high high,
                                              enum sq_scaled_element element)
{
    return high == SQ_SCALED_SPLIT     ? SQ_SCALED_INT4
           : element == SQ_SCALED_E2M1 ? SQ_SCALED_E4M3_ELEMENT
                                       : SQ_SCALED_INT8;
}

unsigned sq_scaled_pairs(enum sq_scaled_high high, bool has_weight_high)
{
    return high == SQ_SCALED_SPLIT ? 1 : has_weight_high ? 4 : 2;
}

static int64_t top(enum sq_scaled_scale s)
{
    return s == SQ_SCALED_E4M3 ? E4M3_TOP : s == SQ_SCALED_POW4 ? POW4_TOP : 1;
}

int64_t sq_scaled_limit(enum sq_scaled_element act, enum sq_scaled_element weight,
                        enum sq_scaled_scale act_scale, enum sq_scaled_scale weight_scale,
                        unsigned bank, unsigned high, unsigned k)
{
    const int64_t row =
        (int64_t)sq_scaled_element_max(act) * (bank - high) + (int64_t)SPLIT_LOWEST * high;
    return row * sq_scaled_element_max(weight) * top(act_scale) * top(weight_scale) * (k / bank);
}
