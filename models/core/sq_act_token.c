// SPDX-License-Identifier: Apache-2.0
// Divides significands of bfloat16, first by the largest code, then by the scale that came out (sq_act_token.h).
#include "models/core/sq_act_token.h"

#include "models/core/sq_format.h"

enum { BITS_MAX = 8, HIDDEN = 1 << 7, SIG = 1 << 23 };

bool sq_bf16_is_finite(uint16_t x)
{
    return (x >> 7 & 0xff) != 0xff;
}

// The significand of x, an integer of 8 bits, and its exponent: |x| = sig * 2^(exponent - 134).
static uint32_t unpack(uint16_t x, uint32_t *exponent)
{
    const uint32_t field = x >> 7 & 0xff;
    *exponent = field > 0 ? field : 1;
    return (x & (HIDDEN - 1u)) | (field > 0 ? HIDDEN : 0u);
}

// A quotient of 24 bits after the point, and so many of them too many: one or two of a number that stays normal. The
// divisor has seven bits, and what it is too large by goes into the exponent.
struct sq_act_token sq_act_token_of(uint16_t amax, unsigned bits)
{
    const unsigned up = BITS_MAX - bits;
    const uint32_t divisor = (uint32_t)sq_qmax(bits) << up;
    uint32_t exponent;
    const uint32_t a = unpack(amax, &exponent);
    const uint64_t all = (uint64_t)a << 24;
    const uint32_t quotient = (uint32_t)(all / divisor);
    const bool is_two = quotient >> 25, is_left = all % divisor != 0;
    exponent += up;
    const uint32_t drop = exponent < 8 ? 9 - exponent : is_two ? 2 : 1;
    const uint32_t kept = quotient >> drop, half = quotient >> (drop - 1) & 1;
    const bool is_more = is_left || (quotient & ((1u << (drop - 1)) - 1)) != 0;
    const uint32_t sig = kept + (half && (is_more || (kept & 1)));
    if (a == 0)
        return (struct sq_act_token){SIG, 127};
    return (struct sq_act_token){sig, exponent < 8 ? sig >> 23 : exponent - (is_two ? 6 : 7)};
}

uint32_t sq_act_token_bits(const struct sq_act_token *t)
{
    return t->exponent << 23 | (t->sig & (SIG - 1u));
}

// x / scale = n / sig with n a multiple of 2^15, of 31 bits; what is less is below half. binary32 rounds the quotient
// before it is rounded to an integer: nearer to the middle of two than half its last place is the middle.
int8_t sq_act_token_code(const struct sq_act_token *t, uint16_t x, unsigned bits)
{
    const int32_t most = sq_qmax(bits);
    uint32_t exponent;
    const uint32_t a = unpack(x, &exponent);
    const int up = (int)exponent + 1 - (int)(t->exponent > 0 ? t->exponent : 1);
    const uint32_t n = up < 0 ? 0 : a << (up > 8 ? 8 : up);
    if (!sq_bf16_is_finite(x))
        return 0;
    if (n << 7 >= t->sig) // sq_encode_code has at most eight bits of the quotient
        return (int8_t)(x >> 15 ? -most : most);
    const uint32_t all = n << 15, code = all / t->sig, rest = all % t->sig;
    const int32_t beyond = (int32_t)(2 * rest) - (int32_t)t->sig;
    uint32_t log = 0;
    while (code >> log > 1)
        log++;
    const uint32_t near = code > 0 ? t->sig >> (23 - log) : 0;
    const bool is_middle = (uint32_t)(beyond < 0 ? -beyond : beyond) <= near;
    const uint32_t rounded = code + (is_middle ? code & 1 : beyond > 0);
    const int32_t magnitude = (int32_t)rounded > most ? most : (int32_t)rounded;
    return (int8_t)(x >> 15 ? -magnitude : magnitude);
}
