// SPDX-License-Identifier: Apache-2.0
// Activations of bfloat16 to integers of `bits` bits, 2..8, with one scale a token, in integers, as sq_encode does it: the
// same bits as sq_scale_from_amax and sq_quantize give in binary32 (tests/unit/core/test_mac.c).
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { SQ_BF16_MAGNITUDE = 0x7fff };

// A number that is no infinity and no NaN.
bool sq_bf16_is_finite(uint16_t x);

// The scale of a token, sig * 2^(max(exponent, 1) - 150): sig below 2^24, from 2^23 on unless exponent is 0.
struct sq_act_token {
    uint32_t sig, exponent;
};
// amax: the largest magnitude of the token's elements, finite. Its scale is amax / the largest code, or 1 where amax is 0.
struct sq_act_token sq_act_token_of(uint16_t amax, unsigned bits);
uint32_t sq_act_token_bits(const struct sq_act_token *t); // binary32
// The code of an element; of one that is not finite 0, of one beyond amax any.
int8_t sq_act_token_code(const struct sq_act_token *t, uint16_t x, unsigned bits);
