// SPDX-License-Identifier: Apache-2.0
// What sq_act_quant must deliver for one bank of activations in INT8 codes (SPEC C.1, SEL_SRC =
// INT8): the mask of its largest magnitudes, the high codes, and the others requantised to low
// codes.
#pragma once

#include <stdint.h>

// The ratio s8 / s_lo of the scales of the codes and of the low part as mul / 2^shift
// (sq_requant_choose), and the widths of the codes: low_bits 2..8, high_bits 2..8.
struct sq_act_quant {
    int16_t mul;
    unsigned shift, low_bits, high_bits;
};

// Makes the ratio from the two scales. Where it is out of reach it is 0: low codes that all are zero
// have no largest one, and so no scale to be made from.
struct sq_act_quant sq_act_quant_of(float s8, float s_lo, unsigned low_bits, unsigned high_bits);

// code[bank] -> lo[bank], hi[k], the in-place layout of SPEC A.6b. Masked are the k largest |code|,
// ties to the lowest index; their low code is the mask code, their high code is the code, ascending
// in position. The others: Qs(code * s8, s_lo, low_bits) by sq_requant. The code -2^(high_bits-1),
// which SPEC 0.3 does not have, ranks like -qmax, to which Qs would have clamped it.
void sq_act_quant_bank(const struct sq_act_quant *q, const int8_t *code, unsigned bank, unsigned k,
                       int8_t *lo, int8_t *hi);
