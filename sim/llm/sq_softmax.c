// SPDX-License-Identifier: Apache-2.0
// Computes softmax and gates in plain C or in vectors of AVX2 and AVX-512 (sq_softmax.h).
#include "sim/llm/sq_softmax.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_lanes.h"

// e^x for x <= 0, relative error below 2e-7: x = i ln 2 + r, e^r by its Taylor polynomial, 2^i by
// its bits. expf would be most of the time of a small model; this one is done in vectors.
static inline __attribute__((always_inline)) float exp_nonpositive(float x)
{
    const float magic = 0x1.8p23f; // adding it rounds to an integer, found in the low bits
    x = x < -87.0f ? -87.0f : x;   // keeps NaN
    const float shifted = x * 0x1.715476p0f + magic, i = shifted - magic;
    const float r = x - i * 0x1.62e4p-1f - i * 0x1.7f7d1cp-20f;
    const float p =
        1 + r * (1 + r * (0x1p-1f +
                          r * (0x1.555556p-3f +
                               r * (0x1.555556p-5f + r * (0x1.111112p-7f + r * 0x1.6c16c2p-10f)))));
    return p * sq_float_of((sq_bits_of(shifted) << 23) + 0x3f800000u);
}

// Softmax of row[0..n).
static inline __attribute__((always_inline)) void softmax_body(float *row, size_t n)
{
    float max = row[0], sum = 0;
#pragma omp simd reduction(max : max)
    for (size_t i = 0; i < n; i++)
        max = row[i] > max ? row[i] : max;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) {
        row[i] = exp_nonpositive(row[i] - max);
        sum += row[i];
    }
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        row[i] /= sum;
}

#if defined(__x86_64__)
SQ_LANES_AVX2 static void softmax_avx2(float *row, size_t n)
{
    softmax_body(row, n);
}
#endif

void sq_softmax(float *row, size_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        softmax_avx2(row, n);
        return;
    }
#endif
    softmax_body(row, n);
}

// g / (1 + e^-x)
static inline __attribute__((always_inline)) float gated(float g, float x)
{
    const float e = exp_nonpositive(-fabsf(x));
    return g * (x > 0 ? 1 : e) / (1 + e);
}

static inline __attribute__((always_inline)) void swiglu_body(float *gate, const float *up,
                                                              size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        gate[i] = gated(gate[i], gate[i]) * up[i];
}

static inline __attribute__((always_inline)) void geglu_body(float *gate, const float *up, size_t n)
{
    const float twice = 2 * 0x1.988454p-1f; // sqrt(2 / pi)
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const float g = gate[i], u = g * (1 + 0.044715f * (g * g));
        gate[i] = gated(g, twice * u) * up[i];
    }
}

// The same bits by each: every element is computed for itself.
SQ_LANES_EACH(void, , swiglu, (float *gate, const float *up, size_t n), gate, up, n)
SQ_LANES_EACH(void, , geglu, (float *gate, const float *up, size_t n), gate, up, n)

void sq_swiglu(float *gate, const float *up, size_t n)
{
    SQ_LANES_BEST(swiglu)(gate, up, n);
}

void sq_geglu(float *gate, const float *up, size_t n)
{
    SQ_LANES_BEST(geglu)(gate, up, n);
}
