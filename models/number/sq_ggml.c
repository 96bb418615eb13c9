// SPDX-License-Identifier: Apache-2.0
// Decodes a block of each of ggml's formats (sq_ggml.h).
#include "models/number/sq_ggml.h"

#include <string.h>

#include "models/number/sq_half.h"
#include "models/number/sq_q4k.h"

enum { LEN = SQ_GGML_LEN, HALF = LEN / 2 };

static float half_at(const uint8_t *in)
{
    return sq_half_to_float((uint16_t)(in[0] | in[1] << 8));
}

// Code i of 32 nibbles; with the fifth bits of `high`, which is NULL without them.
static unsigned code_at(const uint8_t *nibbles, const uint8_t *high, unsigned i)
{
    const unsigned low = i < HALF ? nibbles[i] & 15u : nibbles[i - HALF] >> 4;
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
        v[i] = d * (float)((int)code_at(in + 2, NULL, i) - 8);
}

void sq_ggml_q4_1(const uint8_t *in, float *v)
{
    const float d = half_at(in), m = half_at(in + 2);
    for (unsigned i = 0; i < LEN; i++) {
        const float product = d * (float)code_at(in + 4, NULL, i);
        v[i] = product + m;
    }
}

void sq_ggml_q5_0(const uint8_t *in, float *v)
{
    const float d = half_at(in);
    for (unsigned i = 0; i < LEN; i++)
        v[i] = d * (float)((int)code_at(in + 6, in + 2, i) - 16);
}

void sq_ggml_q5_1(const uint8_t *in, float *v)
{
    const float d = half_at(in), m = half_at(in + 2);
    for (unsigned i = 0; i < LEN; i++) {
        const float product = d * (float)code_at(in + 8, in + 4, i);
        v[i] = product + m;
    }
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
