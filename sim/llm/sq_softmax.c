// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/sq_softmax.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

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
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + 0x3f800000u;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

// Softmax of row[0..n), the rest of the row 0.
static inline __attribute__((always_inline)) void softmax_body(float *row, size_t n, size_t width)
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
    memset(row + n, 0, (width - n) * sizeof *row);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void softmax_avx2(float *row, size_t n, size_t width)
{
    softmax_body(row, n, width);
}
#endif

void sq_softmax_prefix(float *row, size_t n, size_t width)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        softmax_avx2(row, n, width);
        return;
    }
#endif
    softmax_body(row, n, width);
}

// gate = silu(gate) * up, silu(g) = g / (1 + e^-g)
static inline __attribute__((always_inline)) void swiglu_body(float *gate, const float *up,
                                                              size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const float g = gate[i], e = exp_nonpositive(-fabsf(g));
        gate[i] = g * (g > 0 ? 1 : e) / (1 + e) * up[i];
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void swiglu_avx2(float *gate, const float *up, size_t n)
{
    swiglu_body(gate, up, n);
}
__attribute__((target("avx512f,avx512dq,prefer-vector-width=512"))) static void
swiglu_avx512(float *gate, const float *up, size_t n)
{
    swiglu_body(gate, up, n);
}
#endif

// The same bits by each: every element is computed for itself.
void sq_swiglu(float *gate, const float *up, size_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
        swiglu_avx512(gate, up, n);
        return;
    }
    if (__builtin_cpu_supports("avx2")) {
        swiglu_avx2(gate, up, n);
        return;
    }
#endif
    swiglu_body(gate, up, n);
}
