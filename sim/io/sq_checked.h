// SPDX-License-Identifier: Apache-2.0
// Counts of cycles and bytes that a user's sizes can drive out of 64 bits. They are summed by
// saturating steps: what once does not fit is SQ_COUNT_OVER from then on, through every further sum
// and product, and whoever owns the result refuses it (sq_mapping_make). No sum wraps.
#pragma once

#include <assert.h>
#include <stdint.h>

// The largest count that is printed: every reader of JSON with 64-bit integers takes it.
#define SQ_COUNT_MAX ((uint64_t)INT64_MAX)
// "Does not fit". Never a count.
#define SQ_COUNT_OVER UINT64_MAX

static inline uint64_t sq_sat_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? SQ_COUNT_OVER : sum;
}

// 0 times anything is 0, SQ_COUNT_OVER too: a term that does not occur does not count.
static inline uint64_t sq_sat_mul(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? SQ_COUNT_OVER : product;
}

// The greatest common divisor; of 0 and a: a.
static inline uint64_t sq_gcd(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static inline uint64_t sq_larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t sq_smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t sq_ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b > 0); // a + b - 1 may not fit
}

// *sum += n * x.
static inline void sq_sat_sum(uint64_t *sum, uint64_t n, uint64_t x)
{
    *sum = sq_sat_add(*sum, sq_sat_mul(n, x));
}

// The only place where a utilisation is made: `done` of the `room` there was, 0..1. More than was
// room for (beyond the rounding of sums) is a bug of the caller, never an input's fault. Both are
// binary64: exact up to 2^53, to 15 digits above.
static inline double sq_utilisation(double done, double room)
{
    const double share = done / room;
    assert(done >= 0 && room > 0 && share <= 1 + 1e-9);
    return share < 1 ? share : 1;
}
