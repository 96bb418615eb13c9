// SPDX-License-Identifier: Apache-2.0
// For drivers of sq_top: offsets of its registers and of the words of a descriptor, in bytes; a field
// is (word >> _SHIFT) & _MASK. What they mean is in docs/registers.md.
// Written from sim/block/top/sq_regs.c by tests/unit/top/test_regs.c (UPDATE=1).
#ifndef SQ_REGS_DRIVER_H
#define SQ_REGS_DRIVER_H

// clang-format off
#define SQ_REG_ID_VALUE 0x504f5453u
#define SQ_REG_VERSION_VALUE 11u
#define SQ_DESC_KIND_VALUE 0x5351u
#define SQ_DESC_KIND_ENCODE 0x4551u
#define SQ_DESC_KIND_VECTOR 0x5651u
#define SQ_DESC_KIND_ATTEND 0x4151u
#define SQ_DESC_NBYTES 64u
#define SQ_SLOT_NBYTES 128u

#define SQ_REG_ID_OFFSET 0x00u
#define SQ_REG_VERSION_OFFSET 0x04u
#define SQ_REG_ARRAY_OFFSET 0x08u
#define SQ_REG_CODES_OFFSET 0x0cu
#define SQ_REG_BUFFER_OFFSET 0x10u
#define SQ_REG_BUS_OFFSET 0x14u
#define SQ_REG_ENGINE_OFFSET 0x18u
#define SQ_REG_SCALED_OFFSET 0x1cu
#define SQ_REG_CONTROL_OFFSET 0x20u
#define SQ_REG_STATUS_OFFSET 0x24u
#define SQ_REG_IRQ_ENABLE_OFFSET 0x28u
#define SQ_REG_IRQ_STATE_OFFSET 0x2cu
#define SQ_REG_DESCRIPTOR_OFFSET 0x30u
#define SQ_REG_CYCLES_OFFSET 0x40u
#define SQ_REG_BUSY_CYCLES_OFFSET 0x44u
#define SQ_REG_WAIT_CYCLES_OFFSET 0x48u
#define SQ_REG_BLOCKED_CYCLES_OFFSET 0x4cu
#define SQ_REG_READ_BEATS_OFFSET 0x50u
#define SQ_REG_WRITE_BEATS_OFFSET 0x54u
#define SQ_REG_COUNTER_HIGH_OFFSET 0x58u
#define SQ_REG_SCALES_OFFSET 0x5cu
#define SQ_REG_SUMS_OFFSET 0x60u
#define SQ_REG_RING_BASE_OFFSET 0x64u
#define SQ_REG_RING_SIZE_OFFSET 0x68u
#define SQ_REG_HEAD_OFFSET 0x6cu
#define SQ_REG_TAIL_OFFSET 0x70u
#define SQ_REG_WATCHDOG_OFFSET 0x74u
#define SQ_REG_READ_WAIT_OFFSET 0x78u
#define SQ_REG_READ_FULL_OFFSET 0x7cu
#define SQ_REG_WRITE_WAIT_OFFSET 0x80u
#define SQ_REG_DESCRIPTOR_HIGH_OFFSET 0x84u
#define SQ_REG_RING_BASE_HIGH_OFFSET 0x88u
#define SQ_REG_ATTEND_OFFSET 0x8cu
#define SQ_REG_ARRAY_ROWS_SHIFT 0u
#define SQ_REG_ARRAY_ROWS_MASK 0xffu // rows of a tile (tokens)
#define SQ_REG_ARRAY_COLS_SHIFT 8u
#define SQ_REG_ARRAY_COLS_MASK 0xffu // columns of a tile (channels)
#define SQ_REG_ARRAY_BANK_SHIFT 16u
#define SQ_REG_ARRAY_BANK_MASK 0xffffu // elements of K in a beat of operands
#define SQ_REG_CODES_ACT_SHIFT 0u
#define SQ_REG_CODES_ACT_MASK 0xffu // bits of an activation
#define SQ_REG_CODES_WEIGHT_SHIFT 8u
#define SQ_REG_CODES_WEIGHT_MASK 0xffu // bits of a weight
#define SQ_REG_CODES_OUT_SHIFT 16u
#define SQ_REG_CODES_OUT_MASK 0xffu // 0 binary32, 1 bfloat16, 2 INT8
#define SQ_REG_CODES_ENCODE_SHIFT 24u
#define SQ_REG_CODES_ENCODE_MASK 0x1u // 1: descriptors of kind encode run, which make activations of bfloat16
#define SQ_REG_CODES_VECTOR_SHIFT 25u
#define SQ_REG_CODES_VECTOR_MASK 0x1u // 1: descriptors of kind vector run, passes over rows of binary32
#define SQ_REG_BUFFER_ACT_SHIFT 0u
#define SQ_REG_BUFFER_ACT_MASK 0xffffu // beats of activations
#define SQ_REG_BUFFER_WEIGHT_SHIFT 16u
#define SQ_REG_BUFFER_WEIGHT_MASK 0xffffu // beats of weights
#define SQ_REG_ENGINE_LAYOUT_SHIFT 0u
#define SQ_REG_ENGINE_LAYOUT_MASK 0xfu // 0 dense, 1 mask codes, 2 split codes, 3 compact, 4 two of four; 5 kept groups of weights with an index (sq_engine_gqsa)
#define SQ_REG_ENGINE_ON_ACTS_SHIFT 4u
#define SQ_REG_ENGINE_ON_ACTS_MASK 0x1u // the activations have this layout, else the weights
#define SQ_REG_ENGINE_ONE_ACC_SHIFT 5u
#define SQ_REG_ENGINE_ONE_ACC_MASK 0x1u // one sum, else one of low and one of high codes
#define SQ_REG_ENGINE_FORM_SHIFT 6u
#define SQ_REG_ENGINE_FORM_MASK 0x3u // scales: 0 one, 1 two a channel, 2 two a token, 3 above blocks with their own
#define SQ_REG_ENGINE_HIGH_W_SHIFT 8u
#define SQ_REG_ENGINE_HIGH_W_MASK 0xffu // bits of a high code
#define SQ_REG_ENGINE_HIGH_SHIFT 16u
#define SQ_REG_ENGINE_HIGH_MASK 0xffffu // high codes of a bank
#define SQ_REG_SCALED_ELEMENT_SHIFT 0u
#define SQ_REG_SCALED_ELEMENT_MASK 0xffu // 0 INT4, 1 INT5, 2 E2M1, 3 E2M3, 4 E3M2, 5 E4M3, 6 E5M2, 8 MXINT8, 9 E2M1 with a place (MX+), 10 IF4, 11 RaZeR, 12 a table of a description
#define SQ_REG_SCALED_SCALE_SHIFT 8u
#define SQ_REG_SCALED_SCALE_MASK 0xffu // of a block: 1 E4M3, 2 E8M0, 4 UE5M3, 5 E6M2, 6 F16, 7 BF16, 8 F32
#define SQ_REG_SCALED_HIGH_SHIFT 16u
#define SQ_REG_SCALED_HIGH_MASK 0xffu // the high codes of a block, if ENGINE.HIGH is not 0: 0 upper nibbles with mask bits, 1 at a scale of the row, 2 at a second scale of the block
#define SQ_REG_CONTROL_START_SHIFT 0u
#define SQ_REG_CONTROL_START_MASK 0x1u // a 1 runs the layer that DESCRIPTOR points at
#define SQ_REG_CONTROL_ABORT_SHIFT 1u
#define SQ_REG_CONTROL_ABORT_MASK 0x1u // a 1 without START ends the layer that runs, and the ring behind it; without meaning where nothing runs
#define SQ_REG_STATUS_BUSY_SHIFT 0u
#define SQ_REG_STATUS_BUSY_MASK 0x1u // a layer runs
#define SQ_REG_STATUS_REFUSED_SHIFT 1u
#define SQ_REG_STATUS_REFUSED_MASK 0x1u // the descriptor cannot be run; nothing was written
#define SQ_REG_STATUS_OPERAND_SHIFT 2u
#define SQ_REG_STATUS_OPERAND_MASK 0x1u // an operand with wrong parity was multiplied
#define SQ_REG_STATUS_ABORTED_SHIFT 3u
#define SQ_REG_STATUS_ABORTED_MASK 0x1u // the layer was ended by ABORT; its outputs mean nothing
#define SQ_REG_STATUS_READ_SHIFT 4u
#define SQ_REG_STATUS_READ_MASK 0x7u // the first error of reads: 2 SLVERR, 3 DECERR, 4 LAST too early, 5 LAST too late
#define SQ_REG_STATUS_EXPIRED_SHIFT 7u
#define SQ_REG_STATUS_EXPIRED_MASK 0x1u // the layer was ended by WATCHDOG; its outputs mean nothing
#define SQ_REG_STATUS_WRITTEN_SHIFT 8u
#define SQ_REG_STATUS_WRITTEN_MASK 0x7u // the first error of writes: 2 SLVERR, 3 DECERR
#define SQ_REG_STATUS_ENGINE_SHIFT 12u
#define SQ_REG_STATUS_ENGINE_MASK 0x7u // errors in operands: bit 0 a code that stands for no value, bit 1 a scale that is no positive number, bit 2 a malformed mask or index
#define SQ_REG_IRQ_ENABLE_DONE_SHIFT 0u
#define SQ_REG_IRQ_ENABLE_DONE_MASK 0x1u // 1: the interrupt output is high while IRQ_STATE.DONE is
#define SQ_REG_IRQ_ENABLE_ERROR_SHIFT 1u
#define SQ_REG_IRQ_ENABLE_ERROR_MASK 0x1u // the same of IRQ_STATE.ERROR
#define SQ_REG_IRQ_STATE_DONE_SHIFT 0u
#define SQ_REG_IRQ_STATE_DONE_MASK 0x1u // the layer of START has ended, with an error or without; the ring has come to TAIL or was aborted; or a descriptor of it with KIND.NOTICE has its record
#define SQ_REG_IRQ_STATE_ERROR_SHIFT 1u
#define SQ_REG_IRQ_STATE_ERROR_MASK 0x1u // a layer has ended with a STATUS other than 0
#define SQ_REG_SCALES_ROWS_SHIFT 0u
#define SQ_REG_SCALES_ROWS_MASK 0xffffu // beats of the scales of rows
#define SQ_REG_SCALES_COLS_SHIFT 16u
#define SQ_REG_SCALES_COLS_MASK 0xffffu // beats of the scales of columns
#define SQ_REG_SUMS_TILES_SHIFT 0u
#define SQ_REG_SUMS_TILES_MASK 0xffffu // tiles of outputs
#define SQ_REG_SUMS_PARTS_SHIFT 16u
#define SQ_REG_SUMS_PARTS_MASK 0x1u // integers of a scale group that goes on wait beside the sums; else in their place, so that CHUNK.PART needs a layer of one group and one sum of a PE. Without meaning where ENGINE.FORM is 3, which takes CHUNK.PART
#define SQ_REG_RING_SIZE_SLOTS_SHIFT 0u
#define SQ_REG_RING_SIZE_SLOTS_MASK 0xffffu // slots
#define SQ_REG_HEAD_SLOT_SHIFT 0u
#define SQ_REG_HEAD_SLOT_MASK 0xffffu // its number, from 0 on
#define SQ_REG_TAIL_SLOT_SHIFT 0u
#define SQ_REG_TAIL_SLOT_MASK 0xffffu // its number
#define SQ_REG_DESCRIPTOR_HIGH_ADDRESS_SHIFT 0u
#define SQ_REG_DESCRIPTOR_HIGH_ADDRESS_MASK 0xffffu // bits 47..32
#define SQ_REG_RING_BASE_HIGH_ADDRESS_SHIFT 0u
#define SQ_REG_RING_BASE_HIGH_ADDRESS_MASK 0xffffu // bits 47..32
#define SQ_REG_ATTEND_QUERIES_SHIFT 0u
#define SQ_REG_ATTEND_QUERIES_MASK 0xfu // queries that share a cache, at most
#define SQ_REG_ATTEND_INT8_SHIFT 4u
#define SQ_REG_ATTEND_INT8_MASK 0x1u // keys and values are INT8 with a scale, else binary16
#define SQ_REG_ATTEND_HEAD_SHIFT 5u
#define SQ_REG_ATTEND_HEAD_MASK 0xfu // elements of a head, at most: 2 to the power of this

#define SQ_DESC_KIND_OFFSET 0x00u
#define SQ_DESC_ACT_OFFSET 0x04u
#define SQ_DESC_WEIGHT_OFFSET 0x08u
#define SQ_DESC_ROW_SCALE_OFFSET 0x0cu
#define SQ_DESC_COL_SCALE_OFFSET 0x10u
#define SQ_DESC_OUT_OFFSET 0x14u
#define SQ_DESC_TILES_OFFSET 0x18u
#define SQ_DESC_BLOCK_OFFSET 0x1cu
#define SQ_DESC_BEATS_OFFSET 0x20u
#define SQ_DESC_CHUNK_OFFSET 0x24u
#define SQ_DESC_OPERANDS_HIGH_OFFSET 0x28u
#define SQ_DESC_SCALES_HIGH_OFFSET 0x2cu
#define SQ_DESC_OUT_HIGH_OFFSET 0x30u
#define SQ_DESC_VECTOR_OFFSET 0x34u
#define SQ_DESC_KIND_KIND_SHIFT 0u
#define SQ_DESC_KIND_KIND_MASK 0xffffu // 5351h; 4551h is an encoder, 5651h a pass of the vector unit, 4151h attention (below)
#define SQ_DESC_KIND_COLS_OUTER_SHIFT 16u
#define SQ_DESC_KIND_COLS_OUTER_MASK 0x1u // 0: all blocks of columns for one block of rows; 1: the other way round
#define SQ_DESC_KIND_NOTICE_SHIFT 17u
#define SQ_DESC_KIND_NOTICE_MASK 0x1u // in the ring: 1 sets IRQ_STATE.DONE when its record is written, unless the layer was ended early
#define SQ_DESC_KIND_CODES_SHIFT 18u
#define SQ_DESC_KIND_CODES_MASK 0x1u // of an encoder: 1: the outputs are INT8 codes, which move
#define SQ_DESC_TILES_ROWS_SHIFT 0u
#define SQ_DESC_TILES_ROWS_MASK 0xffffu // tiles of rows
#define SQ_DESC_TILES_COLS_SHIFT 16u
#define SQ_DESC_TILES_COLS_MASK 0xffffu // tiles of columns
#define SQ_DESC_BLOCK_ROWS_SHIFT 0u
#define SQ_DESC_BLOCK_ROWS_MASK 0xffffu // tiles of rows
#define SQ_DESC_BLOCK_COLS_SHIFT 16u
#define SQ_DESC_BLOCK_COLS_MASK 0xffffu // tiles of columns
#define SQ_DESC_BEATS_BEATS_SHIFT 0u
#define SQ_DESC_BEATS_BEATS_MASK 0xffffu // beats of a scale group; with LAYOUT 5 beats of activations of a tile of rows, all of K
#define SQ_DESC_BEATS_GROUPS_SHIFT 16u
#define SQ_DESC_BEATS_GROUPS_MASK 0xffffu // scale groups; with LAYOUT 5 beats of weights of a block of columns, one of the kept groups each
#define SQ_DESC_CHUNK_GROUPS_SHIFT 0u
#define SQ_DESC_CHUNK_GROUPS_MASK 0xffffu // scale groups, at most BEATS.GROUPS
#define SQ_DESC_CHUNK_PART_SHIFT 16u
#define SQ_DESC_CHUNK_PART_MASK 0xffffu // 0, or with GROUPS = 1 beats of a scale group that is longer than a chunk, fewer than BEATS.BEATS; with LAYOUT 5 blocks of columns that the layer has
#define SQ_DESC_OPERANDS_HIGH_ACT_SHIFT 0u
#define SQ_DESC_OPERANDS_HIGH_ACT_MASK 0xffffu // of ACT
#define SQ_DESC_OPERANDS_HIGH_WEIGHT_SHIFT 16u
#define SQ_DESC_OPERANDS_HIGH_WEIGHT_MASK 0xffffu // of WEIGHT
#define SQ_DESC_SCALES_HIGH_ROWS_SHIFT 0u
#define SQ_DESC_SCALES_HIGH_ROWS_MASK 0xffffu // of ROW_SCALE
#define SQ_DESC_SCALES_HIGH_COLS_SHIFT 16u
#define SQ_DESC_SCALES_HIGH_COLS_MASK 0xffffu // of COL_SCALE
#define SQ_DESC_OUT_HIGH_OUT_SHIFT 0u
#define SQ_DESC_OUT_HIGH_OUT_MASK 0xffffu // of OUT
#define SQ_DESC_VECTOR_F_SHIFT 0u
#define SQ_DESC_VECTOR_F_MASK 0x3u // f: 0 x as it is, 1 e^x, 2 1 / x, 3 1 / sqrt(x)
#define SQ_DESC_VECTOR_B_SHIFT 2u
#define SQ_DESC_VECTOR_B_MASK 0x3u // b: 0 a constant, 1 a row, 2 one element a row, 3 a itself
#define SQ_DESC_VECTOR_C_SHIFT 4u
#define SQ_DESC_VECTOR_C_MASK 0x3u // c: 0 a constant, 1 a row, 2 one element a row
#define SQ_DESC_VECTOR_RED_SHIFT 6u
#define SQ_DESC_VECTOR_RED_MASK 0x3u // of the y: 0 nothing, 1 their sum, 2 the largest, 3 the index of the first largest
#define SQ_DESC_VECTOR_ALL_SHIFT 8u
#define SQ_DESC_VECTOR_ALL_MASK 0x1u // RED goes over all rows, else over each
#define SQ_DESC_VECTOR_Y_SHIFT 9u
#define SQ_DESC_VECTOR_Y_MASK 0x3u // y is: 0 not written, 1 written as binary32, 2 as bfloat16, 3 as binary16
#define SQ_DESC_VECTOR_A_HALF_SHIFT 11u
#define SQ_DESC_VECTOR_A_HALF_MASK 0x1u // 1: a is bfloat16, else binary32
#define SQ_DESC_VECTOR_B_HALF_SHIFT 12u
#define SQ_DESC_VECTOR_B_HALF_MASK 0x1u // the same of b
#define SQ_DESC_VECTOR_C_HALF_SHIFT 13u
#define SQ_DESC_VECTOR_C_HALF_MASK 0x1u // the same of c
#define SQ_DESC_VECTOR_Y_BYTE_SHIFT 14u
#define SQ_DESC_VECTOR_Y_BYTE_MASK 0x1u // with Y = 3: the low 8 bits of y are written

#define SQ_RECORD_STATUS_OFFSET 0x40u
#define SQ_RECORD_SLOT_OFFSET 0x44u
#define SQ_RECORD_CYCLES_OFFSET 0x48u
#define SQ_RECORD_BUSY_CYCLES_OFFSET 0x50u
#define SQ_RECORD_WAIT_CYCLES_OFFSET 0x58u
#define SQ_RECORD_BLOCKED_CYCLES_OFFSET 0x60u
#define SQ_RECORD_READ_BEATS_OFFSET 0x68u
#define SQ_RECORD_WRITE_BEATS_OFFSET 0x70u
#define SQ_RECORD_STATUS_DONE_SHIFT 31u
#define SQ_RECORD_STATUS_DONE_MASK 0x1u // always 1: the record was written

#endif
