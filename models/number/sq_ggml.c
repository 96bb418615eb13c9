// SPDX-License-Identifier: Apache-2.0
// Unpacks and decodes a block of each of ggml's formats (sq_ggml.h).
#include "models/number/sq_ggml.h"

#include <string.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_half.h"
#include "models/number/sq_q4k.h"

enum { LEN = SQ_GGML_LEN };

static uint16_t u16_at(const uint8_t *in)
{
    return (uint16_t)(in[0] | in[1] << 8);
}

static float half_at(const uint8_t *in)
{
    return sq_half_to_float(u16_at(in));
}

unsigned sq_ggml_nibble(const uint8_t *nibbles, unsigned length, unsigned i)
{
    return i < length / 2 ? nibbles[i] & 15u : nibbles[i - length / 2] >> 4;
}

// ---- integers at scales -----------------------------------------------------------------------

// d, the minimum, the fifth bits and the codes stand one behind the other.
static void unpack_32(const struct sq_ggml_type *t, const uint8_t *in, struct sq_ggml_block *b)
{
    const uint8_t *at = in + 2, *high = NULL;
    b->d = u16_at(in);
    if (t->has_min) {
        b->m = u16_at(at);
        at += 2;
    }
    if (t->bits == 5) {
        high = at;
        at += LEN / 8;
    }
    for (unsigned i = 0; i < LEN; i++) {
        const unsigned fifth = high ? (unsigned)high[i / 8] >> i % 8 & 1u : 0;
        b->code[i] =
            (uint8_t)(t->bits == 8 ? at[i] ^ 0x80u : sq_ggml_nibble(at, LEN, i) | fifth << 4);
    }
}

// Q5_K is Q4_K with 32 bytes of fifth bits between minima and nibbles.
static void unpack_q45_k(const struct sq_ggml_type *t, const uint8_t *in, struct sq_ggml_block *b)
{
    enum { HEAD = SQ_Q4K_HEAD_NBYTES };
    const uint8_t *high = t->bits == 5 ? in + HEAD : NULL;
    uint8_t q4k[SQ_Q4K_NBYTES];
    struct sq_q4k s;
    memcpy(q4k, in, HEAD);
    memcpy(q4k + HEAD, in + HEAD + (high ? LEN : 0), sizeof q4k - HEAD);
    sq_q4k_unpack(q4k, &s);
    b->d = s.d;
    b->m = s.dmin;
    memcpy(b->scale, s.scale, sizeof s.scale);
    memcpy(b->min, s.min, sizeof s.min);
    memcpy(b->code, s.code, sizeof s.code);
    for (unsigned i = 0; high && i < SQ_GGML_K_LEN; i++)
        b->code[i] |= (uint8_t)(((unsigned)high[i % LEN] >> i / LEN & 1u) << 4);
}

// Both halves of 128 values alike: value 32g + l has nibble g / 2 of byte 32 (g % 2) + l, and the
// bits 2g, 2g + 1 of upper byte l.
static void unpack_q6_k(const struct sq_ggml_type *t, const uint8_t *in, struct sq_ggml_block *b)
{
    const uint8_t *low = in, *high = in + 128, *scale = in + 192;
    (void)t;
    b->d = u16_at(in + 208);
    for (unsigned j = 0; j < SQ_GGML_SUBS; j++)
        b->scale[j] = scale[j] ^ 0x80u;
    for (unsigned i = 0; i < SQ_GGML_K_LEN; i++) {
        const unsigned half = i / 128, g = i % 128 / 32, l = i % 32;
        const unsigned nibble = low[64 * half + 32 * (g % 2) + l] >> 4 * (g / 2) & 15u;
        b->code[i] = (uint8_t)(nibble | (high[32 * half + l] >> 2 * g & 3u) << 4);
    }
}

// Codes of two bits of both halves of 128 values: bits 2g, 2g + 1 of byte l for value 32g + l.
static unsigned pair_at(const uint8_t *in, unsigned i)
{
    return (unsigned)in[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3u;
}

static void unpack_q2_k(const struct sq_ggml_type *t, const uint8_t *in, struct sq_ggml_block *b)
{
    (void)t;
    b->d = u16_at(in + 80);
    b->m = u16_at(in + 82);
    for (unsigned j = 0; j < SQ_GGML_SUBS; j++) {
        b->scale[j] = in[j] & 15u;
        b->min[j] = in[j] >> 4;
    }
    for (unsigned i = 0; i < SQ_GGML_K_LEN; i++)
        b->code[i] = (uint8_t)pair_at(in + 16, i);
}

// Scale j: four bits in byte j % 8, two above them in byte 8 + j % 4.
static void unpack_q3_k(const struct sq_ggml_type *t, const uint8_t *in, struct sq_ggml_block *b)
{
    const uint8_t *third = in, *pair = in + 32, *scale = in + 96;
    (void)t;
    b->d = u16_at(in + 108);
    for (unsigned j = 0; j < SQ_GGML_SUBS; j++)
        b->scale[j] = (uint8_t)(((unsigned)scale[j % 8] >> 4 * (j / 8) & 15u) |
                                ((unsigned)scale[8 + j % 4] >> 2 * (j / 4) & 3u) << 4);
    for (unsigned i = 0; i < SQ_GGML_K_LEN; i++)
        b->code[i] = (uint8_t)(pair_at(pair, i) | ((unsigned)third[i % 32] >> i / 32 & 1u) << 2);
}

#define OF_32(...)                                                                                 \
    {                                                                                              \
        .length = LEN, .group = LEN, .unpack = unpack_32, __VA_ARGS__                              \
    }
#define OF_256(...)                                                                                \
    {                                                                                              \
        .length = SQ_GGML_K_LEN, __VA_ARGS__                                                       \
    }

const struct sq_ggml_type sq_ggml_as_q8_0 = OF_32(.bits = 8, .middle = 128),
                          sq_ggml_as_q4_0 = OF_32(.bits = 4, .middle = 8),
                          sq_ggml_as_q4_1 = OF_32(.bits = 4, .has_min = true),
                          sq_ggml_as_q5_0 = OF_32(.bits = 5, .middle = 16),
                          sq_ggml_as_q5_1 = OF_32(.bits = 5, .has_min = true),
                          sq_ggml_as_q4_k = OF_256(.group = 32, .bits = 4, .scale_bits = 6,
                                                   .has_min = true, .unpack = unpack_q45_k),
                          sq_ggml_as_q5_k = OF_256(.group = 32, .bits = 5, .scale_bits = 6,
                                                   .has_min = true, .unpack = unpack_q45_k),
                          sq_ggml_as_q6_k =
                              OF_256(.group = 16, .bits = 6, .middle = 32, .scale_bits = 8,
                                     .scale_middle = 128, .unpack = unpack_q6_k),
                          sq_ggml_as_q2_k = OF_256(.group = 16, .bits = 2, .scale_bits = 4,
                                                   .has_min = true, .unpack = unpack_q2_k),
                          sq_ggml_as_q3_k =
                              OF_256(.group = 16, .bits = 3, .middle = 4, .scale_bits = 6,
                                     .scale_middle = 32, .unpack = unpack_q3_k);

void sq_ggml_values(const struct sq_ggml_type *t, const uint8_t *in, float *v)
{
    struct sq_ggml_block b;
    t->unpack(t, in, &b);
    const float d = sq_half_to_float(b.d), m = t->has_min ? sq_half_to_float(b.m) : 0;
    for (unsigned i = 0; i < t->length; i++) {
        const unsigned j = i / t->group;
        const float step = t->scale_bits ? d * (float)((int)b.scale[j] - t->scale_middle) : d;
        const float product = step * (float)((int)b.code[i] - t->middle);
        const float least = t->scale_bits ? -(m * (float)b.min[j]) : m;
        v[i] = t->has_min ? product + least : product;
    }
}

// ---- other values -----------------------------------------------------------------------------

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
