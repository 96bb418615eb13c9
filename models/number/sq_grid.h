// SPDX-License-Identifier: Apache-2.0
// The grid of values an element may take: how one number becomes a code and what the code means, in
// every format of the accuracy engine. RTN, GPTQ and the activation quantizers share it.
//
//   dense  one code of low_bits at scale s_lo                               SPEC 0.3
//   own    low and high elements, a scale each: the SQ-format               SPEC A.3, A.6
//   tied   as own, s_hi = s_lo / 2^(high-low): one integer accumulator      SPEC A.3
//   split  one scale; a high code is 2^low * H + L, L the dense low nibble of every element, H the
//          compact upper part; it reaches -136..119 (8/4) at the low step and clips beyond. 12/4: H
//          is two nibbles, -2056..2039
//   shift  as own, the larger scale 2^e times the smaller, 0 <= e <= 15: one accumulator and a
//          shifter of the high or the low products
//   fp     low E2M1, high E4M3, a scale each                                SPEC A.9
//   fp8    one E4M3 code: activations beside fp weights                     SPEC A.9
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

enum sq_grid_kind {
    SQ_GRID_DENSE,
    SQ_GRID_OWN,
    SQ_GRID_TIED,
    SQ_GRID_SPLIT,
    SQ_GRID_SHIFT,
    SQ_GRID_FP,
    SQ_GRID_FP8,
    SQ_GRID_KINDS
};

struct sq_grid {
    enum sq_grid_kind kind;
    unsigned high_bits, low_bits; // dense: low_bits 2..8, high_bits 0; fp: 8, 4; fp8: 0, 8
};

const char *sq_grid_name(enum sq_grid_kind kind); // "dense", "own", ...

// Whether some elements of a bank are high.
bool sq_grid_is_mixed(const struct sq_grid *g);

// Whether the products sum as integers in one accumulator without a shifter (dense, tied, split).
bool sq_grid_is_single(const struct sq_grid *g);

// SQ_ERR_UNSUPPORTED for bit widths the kind does not have.
enum sq_status sq_grid_check(const struct sq_grid *g, struct sq_error *err);

// The scales of a set of elements from the largest magnitudes of its low and of its high ones
// (amax_hi is ignored by dense and fp8). Both scales are > 0; those without meaning equal s_lo.
//   tied: the smallest s_lo at which neither part clips.
//   split: amax_lo / qmax; amax_hi over the largest code where all low elements are 0.
//   shift: s_lo = amax_lo / qmax, s_hi the smallest 2^e s_lo, -15 <= e <= 15, at which no high
//          element clips; its own scale where all low elements are 0. e > 15: s_lo rises instead.
void sq_grid_scales(const struct sq_grid *g, float amax_lo, float amax_hi, float *s_lo,
                    float *s_hi);

// The largest magnitudes of the low and of the high elements of x[n]; is_high may be NULL: all low.
// Infinite or NaN where one of them is.
void sq_grid_amax(const float *x, const uint8_t *is_high, size_t n, float amax[2]);

// Code of x, finite, as a low or a high element; clamps or saturates.
int16_t sq_grid_code(const struct sq_grid *g, float x, bool is_high, float s_lo, float s_hi);

// The same for n elements; is_high may be NULL: all low.
void sq_grid_codes(const struct sq_grid *g, const float *x, const uint8_t *is_high, size_t n,
                   float s_lo, float s_hi, int16_t *code);

// What a code stands for: scale * code, one rounding.
float sq_grid_value(const struct sq_grid *g, int16_t code, bool is_high, float s_lo, float s_hi);

// The same of n codes; is_high may be NULL: all low.
void sq_grid_values(const struct sq_grid *g, const int16_t *code, const uint8_t *is_high, size_t n,
                    float s_lo, float s_hi, float *value);

// Single-accumulator kinds: the integer that is multiplied, at scale sq_grid_single_scale. tied: a
// low code times 2^(high-low), at s_hi; else the code itself, at s_lo.
int16_t sq_grid_merged(const struct sq_grid *g, int16_t code, bool is_high);
float sq_grid_single_scale(const struct sq_grid *g, float s_lo, float s_hi);

// split: code = 2^low_bits * upper + lower, lower in -2^(low-1) .. 2^(low-1)-1.
int sq_split_lower(const struct sq_grid *g, int16_t code);
int sq_split_upper(const struct sq_grid *g, int16_t code);

// shift: s_hi = 2^e s_lo.
enum { SQ_SHIFT_MAX = 15 };
int sq_grid_shift(float s_lo, float s_hi);
