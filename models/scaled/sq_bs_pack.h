// SPDX-License-Identifier: Apache-2.0
// Block-scaled rows as they are stored: little-endian bit streams (SPEC 0.5) of whole bytes a row,
// padding bits 0.
//
//   CODES  K codes of the element's bits. SQ: 1000b where an element is high; SPLIT: L
//   HIGH   the high codes, ascending position: SQ 8 bits; SPLIT H, 4 bits
//   MASK   SPLIT: K bits, 1 where an element is high
//   INDEX  PLUS: 5 bits a block, the place of its largest element; 0 in a block of scale code 0
//   SUB    TABLE: of a block its grid, where the scale does not say it, then the exponents by level
//
// Scales are bytes as they stand in struct sq_bs.
#pragma once

#include "models/scaled/sq_bs.h"

enum sq_bs_stream { SQ_BS_CODES, SQ_BS_HIGH, SQ_BS_MASK, SQ_BS_INDEX, SQ_BS_SUB, SQ_BS_STREAMS };

// Bits of a block; 0 where the format has no such stream.
unsigned sq_bs_stream_bits(const struct sq_bs_format *f, enum sq_bs_stream s);
// Bytes of a row of k columns; 0 where the format has no such stream.
size_t sq_bs_row_nbytes(const struct sq_bs_format *f, size_t k, enum sq_bs_stream s);

void sq_bs_pack_row(const struct sq_bs *c, size_t row, enum sq_bs_stream s, uint8_t *out);
// Codes, marks and places of a row whose scales are in *c already; in[s] NULL where there is no
// such stream. Refuses what no encoder writes: codes of no number, high elements other than k in a
// block, bits in padding (SQ_ERR_CODE, SQ_ERR_MASK_COUNT, SQ_ERR_PADDING, SQ_ERR_INDEX).
enum sq_status sq_bs_unpack_row(struct sq_bs *c, size_t row, const uint8_t *const in[SQ_BS_STREAMS],
                                struct sq_error *err);
// Scales of blocks and globals: NaN, infinities, signs, zero globals (SQ_ERR_SCALE).
enum sq_status sq_bs_check_scales(const struct sq_bs *c, struct sq_error *err);
