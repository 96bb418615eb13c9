// SPDX-License-Identifier: Apache-2.0
// Decodes a block of each of ggml's formats (sq_ggml.h).
#include "models/number/sq_ggml.h"

#include <string.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_half.h"
#include "models/number/sq_q4k.h"

enum { LEN = SQ_GGML_LEN };

static float half_at(const uint8_t *in)
{
    return sq_half_to_float((uint16_t)(in[0] | in[1] << 8));
}

unsigned sq_ggml_nibble(const uint8_t *nibbles, unsigned length, unsigned i)
{
    return i < length / 2 ? nibbles[i] & 15u : nibbles[i - length / 2] >> 4;
}

unsigned sq_ggml_code(const uint8_t *nibbles, const uint8_t *high, unsigned i)
{
    const unsigned low = sq_ggml_nibble(nibbles, LEN, i);
    return high ? low | ((unsigned)high[i / 8] >> i % 8 & 1u) << 4 : low;
}

// ---- blocks of 32 ---------------------------------------------------------------------------

void sq_ggml_q8_0(const uint8_t *in, float *v)
{
    const float d = half_at(in);
    for (unsigned i = 0; i < LEN; i++)
        v[i] = (float)(int8_t)in[2 + i] * d;
}

void sq_ggml_q4_0(const uint8_t *in, float *v)
{
    const float d = half_at(in);
    for (unsigned i = 0; i < LEN; i++)
        v[i] = d * (float)((int)sq_ggml_code(in + 2, NULL, i) - 8);
}

void sq_ggml_q4_1(const uint8_t *in, float *v)
{
    const float d = half_at(in), m = half_at(in + 2);
    for (unsigned i = 0; i < LEN; i++) {
        const float product = d * (float)sq_ggml_code(in + 4, NULL, i);
        v[i] = product + m;
    }
}

void sq_ggml_q5_0(const uint8_t *in, float *v)
{
    const float d = half_at(in);
    for (unsigned i = 0; i < LEN; i++)
        v[i] = d * (float)((int)sq_ggml_code(in + 6, in + 2, i) - 16);
}

void sq_ggml_q5_1(const uint8_t *in, float *v)
{
    const float d = half_at(in), m = half_at(in + 2);
    for (unsigned i = 0; i < LEN; i++) {
        const float product = d * (float)sq_ggml_code(in + 8, in + 4, i);
        v[i] = product + m;
    }
}

// Twice the values of E2M1.
static const int8_t fp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
static const int8_t nonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};

void sq_ggml_iq4_nl(const uint8_t *in, float *v)
{
    const float d = half_at(in);
    for (unsigned i = 0; i < LEN; i++)
        v[i] = d * (float)nonlinear[sq_ggml_nibble(in + 2, LEN, i)];
}

void sq_ggml_mxfp4(const uint8_t *in, float *v)
{
    // 2^(e - 128): a subnormal number of binary32 below 2.
    const uint32_t bits = in[0] < 2 ? UINT32_C(0x00200000) << in[0] : (uint32_t)(in[0] - 1) << 23;
    const float d = sq_float_of(bits);
    for (unsigned i = 0; i < LEN; i++)
        v[i] = d * (float)fp4[sq_ggml_nibble(in + 1, LEN, i)];
}

// Half of a scale; 0x7f is 0, and so is what the sign bit adds to nothing.
static float half_scale(uint8_t code)
{
    const unsigned exponent = (unsigned)code >> 3 & 15u, fraction = code & 7u;
    if (code == 0 || code == 0x7f)
        return 0;
    return exponent == 0 ? (float)fraction * 0x1p-10f
                         : (float)(8 + fraction) * (float)(1u << exponent) * 0x1p-11f;
}

void sq_ggml_nvfp4(const uint8_t *in, float *v)
{
    for (unsigned i = 0; i < SQ_GGML_NVFP4_LEN; i++)
        v[i] = half_scale(in[i / 16]) * (float)fp4[sq_ggml_nibble(in + 4 + i / 16 * 8, 16, i % 16)];
}

// ---- superblocks of 256 ---------------------------------------------------------------------

void sq_ggml_q4_k(const uint8_t *in, float *v)
{
    struct sq_q4k s;
    sq_q4k_unpack(in, &s);
    sq_q4k_decode(&s, v);
}

// Q4_K with 32 bytes of fifth bits between scales and nibbles.
void sq_ggml_q5_k(const uint8_t *in, float *v)
{
    enum { HEAD = 16, HIGH = 32 };
    uint8_t q4k[SQ_GGML_Q4_K_NBYTES];
    struct sq_q4k s;
    memcpy(q4k, in, HEAD);
    memcpy(q4k + HEAD, in + HEAD + HIGH, sizeof q4k - HEAD);
    sq_q4k_unpack(q4k, &s);
    for (unsigned i = 0; i < SQ_Q4K_LEN; i++)
        s.code[i] |= (uint8_t)(((unsigned)in[HEAD + i % HIGH] >> i / HIGH & 1u) << 4);
    sq_q4k_decode(&s, v);
}

// Both halves of 128 values alike: value 32g + l has nibble g / 2 of byte 32 (g % 2) + l, and the
// bits 2g, 2g + 1 of upper byte l.
void sq_ggml_q6_k(const uint8_t *in, float *v)
{
    const uint8_t *low = in, *high = in + 128, *scale = in + 192;
    const float d = half_at(in + 208);
    for (unsigned i = 0; i < SQ_GGML_K_LEN; i++) {
        const unsigned half = i / 128, g = i % 128 / 32, l = i % 32;
        const unsigned nibble = low[64 * half + 32 * (g % 2) + l] >> 4 * (g / 2) & 15u;
        const unsigned upper = high[32 * half + l] >> 2 * g & 3u;
        const float step = d * (float)(int8_t)scale[i / 16];
        v[i] = step * (float)((int)(nibble | upper << 4) - 32);
    }
}

// Codes of two bits of both halves of 128 values: bits 2g, 2g + 1 of byte l for value 32g + l.
static unsigned pair_at(const uint8_t *in, unsigned i)
{
    return (unsigned)in[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3u;
}

void sq_ggml_q2_k(const uint8_t *in, float *v)
{
    const float d = half_at(in + 80), dmin = half_at(in + 82);
    for (unsigned i = 0; i < SQ_GGML_K_LEN; i++) {
        const float step = d * (float)(in[i / 16] & 15u), least = dmin * (float)(in[i / 16] >> 4);
        const float product = step * (float)pair_at(in + 16, i);
        v[i] = product - least;
    }
}

// Scale j: four bits in byte j % 8, two above them in byte 8 + j % 4.
void sq_ggml_q3_k(const uint8_t *in, float *v)
{
    const uint8_t *third = in, *pair = in + 32, *scale = in + 96;
    const float d = half_at(in + 108);
    for (unsigned i = 0; i < SQ_GGML_K_LEN; i++) {
        const unsigned j = i / 16, low = (unsigned)scale[j % 8] >> 4 * (j / 8) & 15u;
        const unsigned high = (unsigned)scale[8 + j % 4] >> 2 * (j / 4) & 3u;
        const unsigned bit = (unsigned)third[i % 32] >> i / 32 & 1u;
        const float step = d * (float)((int)(low | high << 4) - 32);
        v[i] = step * (float)((int)(pair_at(pair, i) | bit << 2) - 4);
    }
}

// Digit `place` of base 3 of a byte, the largest first: the byte is a fraction of 256.
static int digit_at(uint8_t byte, unsigned place)
{
    static const uint8_t power[] = {1, 3, 9, 27, 81};
    const uint8_t left = (uint8_t)(byte * power[place]);
    return (int)((unsigned)left * 3 >> 8);
}

void sq_ggml_tq1_0(const uint8_t *in, float *v)
{
    const float d = half_at(in + 52);
    for (unsigned i = 0; i < SQ_GGML_K_LEN; i++) {
        const int digit = i < 160   ? digit_at(in[i % 32], i / 32)
                          : i < 240 ? digit_at(in[32 + (i - 160) % 16], (i - 160) / 16)
                                    : digit_at(in[48 + (i - 240) % 4], (i - 240) / 4);
        v[i] = d * (float)(digit - 1);
    }
}

void sq_ggml_tq2_0(const uint8_t *in, float *v)
{
    const float d = half_at(in + 64);
    for (unsigned i = 0; i < SQ_GGML_K_LEN; i++)
        v[i] = d * (float)((int)pair_at(in, i) - 1);
}

void sq_ggml_iq4_xs(const uint8_t *in, float *v)
{
    const float d = half_at(in);
    const unsigned high = (unsigned)(in[2] | in[3] << 8);
    for (unsigned i = 0; i < SQ_GGML_K_LEN; i++) {
        const unsigned b = i / LEN, low = (unsigned)in[4 + b / 2] >> 4 * (b % 2) & 15u;
        const float step = d * (float)((int)(low | (high >> 2 * b & 3u) << 4) - 32);
        v[i] = step * (float)nonlinear[sq_ggml_nibble(in + 8 + 16 * b, LEN, i % LEN)];
    }
}
