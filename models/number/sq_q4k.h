// SPDX-License-Identifier: Apache-2.0
// The Q4_K superblock of ggml: 256 values in 144 bytes, 4.5 bits each (SPEC G.3, G.5).
//
// A superblock is 8 blocks of 32 values. Block j has a 6-bit scale sc_j and a 6-bit minimum m_j;
// the superblock has d and dmin, binary16:
//
//   w = D q - Mn,  D = d sc_j,  Mn = dmin m_j,  q in 0..15       each operation one binary32
//   rounding
//
//   byte 0..1 d   2..3 dmin   4..15 scales and minima   16..143 codes
//   byte 16 + 32u + l: value 64u + l in the low nibble, value 64u + 32 + l in the high one
//
// Nothing here allocates.
#pragma once

#include <stdint.h>

#include "models/sq_status.h"

enum {
    SQ_Q4K_LEN = 256,
    SQ_Q4K_BLOCKS = 8,
    SQ_Q4K_BLOCK_LEN = 32,
    SQ_Q4K_HEAD_NBYTES = 16, // before the codes
    SQ_Q4K_NBYTES = 144
};

struct sq_q4k {
    uint16_t d, dmin;             // binary16 patterns
    uint8_t scale[SQ_Q4K_BLOCKS]; // 0..63
    uint8_t min[SQ_Q4K_BLOCKS];   // 0..63
    uint8_t code[SQ_Q4K_LEN];     // 0..15
};

void sq_q4k_pack(const struct sq_q4k *s, uint8_t out[SQ_Q4K_NBYTES]);
void sq_q4k_unpack(const uint8_t in[SQ_Q4K_NBYTES], struct sq_q4k *s);

// The search of SPEC G.5 in binary32, operation by operation, equal to ggml's reference quantizer
// wherever that one is defined (its integer rounding is not for |value| >= 2^22, which only blocks
// whose values span less than 2^-118 reach; rounding to nearest and the clamp hold there too).
// SQ_ERR_NON_FINITE and SQ_ERR_OVERFLOW (d or dmin beyond 65504) name the value; then *s is of no
// use.
enum sq_status sq_q4k_encode(const float v[SQ_Q4K_LEN], struct sq_q4k *s, struct sq_error *err);

// d and dmin are finite and not negative: SQ_ERR_SCALE. All other bits are free.
enum sq_status sq_q4k_check(const struct sq_q4k *s, struct sq_error *err);

// The weight of a code: step and minimum of its block, two roundings (SPEC G.3).
float sq_q4k_value(float step, float min, unsigned code);
void sq_q4k_decode(const struct sq_q4k *s, float v[SQ_Q4K_LEN]);
