// SPDX-License-Identifier: Apache-2.0
// Numbers to codes, host and device, bit-identical to models/ (SPEC 0.3, A.9): integer quantizer,
// BF16, E4M3, power-of-two scales. tests/gpu/test_quant.cpp compares them with the golden model.
#pragma once

#include <cmath>
#include <cstring>

#include "gpu/sq_cuda.cuh"

SQ_HD uint32_t sq_float_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
SQ_HD float sq_float_from_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

// Round to nearest even, |x| < 2^31.
SQ_HD int sq_rne(float x)
{
#ifdef __CUDA_ARCH__
    return __float2int_rn(x);
#else
    return static_cast<int>(rintf(x));
#endif
}

// ---- integer codes ------------------------------------------------------------------------------

// The scale of SPEC 0.3 and what a division by it costs: the reciprocal once per scale, then two
// Newton steps per element instead of a full division. The quotient is correctly rounded for scales
// of [2^-80, 2^80] wherever it is >= 1/4, which is all that rounding to an integer can see; outside
// of that range it is divided.
struct SqScale {
    float s, reciprocal;
    bool is_plain;
};
SQ_HD SqScale sq_scale(float amax, int qmax)
{
    float s = amax / static_cast<float>(qmax);
    s = s == 0.0f ? 1.0f : s;
    return {s, 1.0f / s, s >= 8.271806e-25f && s <= 1.208926e24f};
}
SQ_HD int sq_code(float x, const SqScale &scale, int qmax)
{
    float q;
    if (scale.is_plain) {
        q = x * scale.reciprocal;
        q = fmaf(fmaf(-q, scale.s, x), scale.reciprocal, q);
        q = fmaf(fmaf(-q, scale.s, x), scale.reciprocal, q);
    } else {
        q = x / scale.s;
    }
    const float most = static_cast<float>(qmax);
    q = q > most ? most : q < -most ? -most : q;
    return sq_rne(q);
}

// ---- small floats -------------------------------------------------------------------------------

SQ_HD float sq_from_bf16(uint16_t h)
{
    return sq_float_from_bits(static_cast<uint32_t>(h) << 16);
}
// Round to nearest even; x is finite and does not round beyond the largest BF16.
SQ_HD uint16_t sq_to_bf16(float x)
{
    const uint32_t u = sq_float_bits(x);
    return static_cast<uint16_t>((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

// binary32 -> binary16 (SPEC N.1), nearest, ties to even; beyond 65504 infinity. x is no NaN.
SQ_HD uint16_t sq_to_f16(float x)
{
    const uint32_t u = sq_float_bits(x), sign = u >> 16 & 0x8000u, magnitude = u & 0x7fffffffu;
    if (magnitude < 0x33000000u) // below 2^-25
        return static_cast<uint16_t>(sign);
    const bool is_normal = magnitude >= 0x38800000u;
    const uint32_t v = is_normal ? magnitude - (112u << 23) : (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t shift = is_normal ? 13u : 126u - (magnitude >> 23);
    const uint32_t r = v + (1u << (shift - 1)) - 1u + (v >> shift & 1u);
    return static_cast<uint16_t>(
        sign | (magnitude >= 0x47800000u || r >> shift >= 0x7c00u ? 0x7c00u : r >> shift));
}
SQ_HD float sq_from_f16(uint16_t h) // finite
{
    const uint32_t exponent = h >> 10 & 31u, fraction = h & 1023u;
    const float a = exponent ? sq_float_from_bits((exponent + 112u) << 23 | fraction << 13)
                             : static_cast<float>(fraction) * 5.9604644775390625e-8f;
    return h & 0x8000u ? -a : a;
}

// E4M3 of SPEC A.9: nearest, ties to even, saturates at 448; zero is +0.
SQ_HD uint8_t sq_to_e4m3(float x)
{
    const float a = fabsf(x);
    uint32_t code;
    if (a >= 448.0f) {
        code = 0x7e;
    } else if (a < 0.015625f) { // 2^-6: subnormal steps of 2^-9; 8 is the first normal
        code = static_cast<uint32_t>(sq_rne(a * 512.0f));
    } else {
        const uint32_t u = sq_float_bits(a);
        code = ((u + 0x7ffffu + (u >> 20 & 1u)) >> 20) - ((127u - 7u) << 3);
    }
    return static_cast<uint8_t>(code != 0 && x < 0 ? code | 0x80u : code);
}
SQ_HD float sq_from_e4m3(uint8_t code)
{
    const uint32_t exponent = code >> 3 & 15u, fraction = code & 7u;
    const float a = exponent ? sq_float_from_bits((exponent + 120u) << 23 | fraction << 20)
                             : static_cast<float>(fraction) * 0.001953125f;
    return code & 0x80u ? -a : a;
}

// The smallest power of two s >= 2^-100 with amax <= 448 s; 1 where amax is 0. Dividing by it is
// exact, so the BF16 part of a (BF16, FP8) pair can carry it without rounding again.
SQ_HD float sq_pow2_scale(float amax)
{
    if (amax == 0.0f)
        return 1.0f;
    const uint32_t u = sq_float_bits(amax);
    int exponent = static_cast<int>(u >> 23) - 127 - 8; // amax in [1, 2) 2^(exponent + 8)
    if ((u & 0x7fffffu) > 0x600000u)                    // beyond 1.75 * 2^8 = 448
        exponent++;
    exponent = exponent < -100 ? -100 : exponent;
    return sq_float_from_bits(static_cast<uint32_t>(exponent + 127) << 23);
}
