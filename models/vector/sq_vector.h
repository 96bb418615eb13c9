// SPDX-License-Identifier: Apache-2.0
// The vector unit (SPEC R.4): what a model computes element by element, in binary32 to the bit.
//
// A beat has one operation for all lanes:
//
//   y = f(a * b + c)      product, sum and f are each rounded to nearest, ties to even
//   red                   largest y, or sum of the y, of all lanes and of the beats since the last one of a row
//
// A softmax, a norm, a gate, a rotary embedding and a sum are a few such passes over a row; the functions below
// issue their beats, in the order of the hardware (rtl/vector/sq_vector.sv).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SQ_VECTOR_LANES_MAX = 64 };

// f: x as it is, e^x, 1 / x, 1 / sqrt(x). Errors against the exact value, in units in the last place of a normal
// result (tests/unit/vector/test_vector.c): below 0.85, 0.91 and 1.27. A subnormal x counts as a zero of its sign
// for 1 / x and 1 / sqrt(x); of a negative x the latter is NaN. Every NaN is 7fc00000.
enum sq_vector_func {
    SQ_VECTOR_PLAIN,
    SQ_VECTOR_EXP,
    SQ_VECTOR_RECIPROCAL,
    SQ_VECTOR_RSQRT,
    SQ_VECTOR_FUNCS
};
float sq_vector_func(enum sq_vector_func f, float x);

// Order of the numbers as that of integers: -0 is below +0, and NaN above all.
int32_t sq_vector_rank(float x);

// A segment of a function's range: (c0 + c1 u + c2 u^2) 2^-28, u in 0..1 from one end of it to the other.
struct sq_vector_segment {
    int32_t c0, c1, c2; // 29 bits, 24 with the sign, 15
};
enum { SQ_VECTOR_SEGMENTS = 128 }; // of a function; e^x has half as many
extern const struct sq_vector_segment sq_vector_exp_table[SQ_VECTOR_SEGMENTS / 2];
extern const struct sq_vector_segment sq_vector_reciprocal_table[SQ_VECTOR_SEGMENTS];
extern const struct sq_vector_segment sq_vector_rsqrt_table[SQ_VECTOR_SEGMENTS];

struct sq_vector_beat {
    enum sq_vector_func f;
    bool is_sum, is_last; // red is a sum, else the largest; the row ends here
    float a[SQ_VECTOR_LANES_MAX], b[SQ_VECTOR_LANES_MAX], c[SQ_VECTOR_LANES_MAX];
};

// A unit of 1, 2, 4, .. SQ_VECTOR_LANES_MAX lanes; zero but for `lanes`, and `see`, where it is not NULL, gets every beat.
struct sq_vector_unit {
    unsigned lanes;
    void (*see)(void *context, const struct sq_vector_beat *beat);
    void *context;
    bool has_red;
    float red;
};

// One beat: y[lanes] and the unit's red. Lanes are reduced in pairs, neighbours first, and the beat's value joins
// that of the beats before it. -0 is below +0 and NaN above all, where the largest is asked for.
void sq_vector_step(struct sq_vector_unit *unit, const struct sq_vector_beat *beat, float *y);

// Rows of n >= 1 elements in place. The last beat of a pass is filled up with values that change nothing. Passes:
//
//   softmax  largest; e^(x - largest) and its sum; [1 / sum;] times 1 / sum
//   norm     sum of squares; [1 / sqrt(sum * (1 / n) + eps);] times that; times gain
//   gate     e^-g; 1 / (1 + e^-g); g times that; times up
//   rotary   x * cosine; partner * sine + that (the caller's sine has the sign)
//   add      x + y
//
// [ ]: one beat.
void sq_vector_softmax(struct sq_vector_unit *unit, float *x, size_t n);
void sq_vector_norm(struct sq_vector_unit *unit, float *x, const float *gain, float eps, size_t n);
void sq_vector_gate(struct sq_vector_unit *unit, float *gate, const float *up, size_t n);
void sq_vector_rotary(struct sq_vector_unit *unit, float *x, const float *partner,
                      const float *cosine, const float *sine, size_t n);
void sq_vector_add(struct sq_vector_unit *unit, float *x, const float *y, size_t n);
