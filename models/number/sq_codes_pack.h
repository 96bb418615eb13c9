// SPDX-License-Identifier: Apache-2.0
// Rows of codes of any grid as they are stored: little-endian bit streams (SPEC 0.5) of whole bytes
// a row, padding bits 0.
//
//   LOW   K codes of low_bits; where an element is high, own and tied: the mask code, fp: 1000b,
//         split: L, the low nibble
//   HIGH  mixed: the high codes, ascending position, high_bits each; split: H, high_bits - low_bits
//   MASK  split: K bits, 1 where an element is high
//
// own and tied are the packed SQ-format (SPEC A.6). Scales: s_lo of all, s_hi of own and fp; of the
// others it follows from s_lo.
#pragma once

#include "models/number/sq_codes.h"

enum sq_codes_stream { SQ_CODES_LOW, SQ_CODES_HIGH, SQ_CODES_MASK, SQ_CODES_STREAMS };

// Bytes of a row of c->k columns; 0 where the grid has no such stream.
size_t sq_codes_row_nbytes(const struct sq_codes *c, enum sq_codes_stream s);
bool sq_codes_has_high_scale(const struct sq_grid *g);

void sq_codes_pack_row(const struct sq_codes *c, size_t row, enum sq_codes_stream s, uint8_t *out);
// Codes and marks of a row; in[s] NULL where there is no such stream. Refuses what no encoder
// writes: codes of no value, high elements other than k in a bank, codes in padding columns, bits
// in padding (SQ_ERR_CODE, SQ_ERR_MASK_COUNT, SQ_ERR_PADDING).
enum sq_status sq_codes_unpack_row(struct sq_codes *c, size_t row,
                                   const uint8_t *const in[SQ_CODES_STREAMS], struct sq_error *err);
// s_lo, and where it is stored s_hi, were set: checks them (SQ_ERR_SCALE), sets the other.
enum sq_status sq_codes_settle_scales(struct sq_codes *c, struct sq_error *err);
