// SPDX-License-Identifier: Apache-2.0
// What the decoder of SpQR words must deliver (SPEC H.2, H.3): from the 16 words of a tile the
// 3-bit codes of its weights, the two 3-bit codes of each tile row, and the four FP16 of the second
// order, which lie byte by byte in the words.
#pragma once

#include <stdint.h>

enum { SQ_SPQR_TILE = 16 };

// Why a tile is refused; several may apply.
enum sq_spqr_error {
    SQ_SPQR_RESERVED = 1,   // bits 63:62 of a word
    SQ_SPQR_DUPLICATE = 2,  // rows 2i and 2i+1 carry different bytes
    SQ_SPQR_NON_FINITE = 4, // an FP16 of the second order is infinity or NaN
};

struct sq_spqr_tile {
    uint8_t code[SQ_SPQR_TILE][SQ_SPQR_TILE]; // [row][column], 0..7
    uint8_t scale[SQ_SPQR_TILE];              // a_r, 0..7
    uint8_t zero[SQ_SPQR_TILE];               // c_r, 0..7
    uint16_t second[4];                       // q_ss, q_zs, q_sz, q_zz: FP16 patterns
    unsigned error; // of enum sq_spqr_error; of bytes that differ, row 2i's counts
};

void sq_spqr_dec_tile(const uint64_t word[SQ_SPQR_TILE], struct sq_spqr_tile *tile);
