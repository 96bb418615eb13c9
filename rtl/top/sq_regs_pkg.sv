// SPDX-License-Identifier: Apache-2.0
// The registers of sq_top in words of 32 bits, and the words of a descriptor. A field begins at bit _LOW
// and has _W bits.
// Written from sim/block/top/sq_regs.c by tests/unit/top/test_regs.c (UPDATE=1).
package sq_regs_pkg;

  localparam int unsigned ID_VALUE = 1347376211;
  localparam int unsigned VERSION_VALUE = 11;
  localparam int unsigned DESC_KIND_VALUE = 21329;
  localparam int unsigned DESC_KIND_ENCODE = 17745;
  localparam int unsigned DESC_KIND_VECTOR = 22097;
  localparam int unsigned DESC_KIND_ATTEND = 16721;
  localparam int unsigned DESC_WORDS = 16;
  localparam int unsigned DESC_JOB_TILES = 65535;
  // The bits that have a name, of a layer, an encoder, a vector, attention; the last word is first.
  localparam logic [32*DESC_WORDS-1:0] DESC_NAMED = {
    32'h00000000, 32'h00000000, 32'h00000000, 32'h0000ffff,
    32'hffffffff, 32'hffffffff, 32'hffffffff, 32'hffffffff,
    32'hffffffff, 32'hffffffff, 32'hffffffff, 32'hffffffff,
    32'hffffffff, 32'hffffffff, 32'hffffffff, 32'h0003ffff
  };
  localparam logic [32*DESC_WORDS-1:0] DESC_ENCODE_NAMED = {
    32'h00000000, 32'h00000000, 32'h00000000, 32'h0000ffff,
    32'h0000ffff, 32'h0000ffff, 32'h00000000, 32'h0000ffff,
    32'h00000000, 32'hffffffff, 32'hffffffff, 32'h00000000,
    32'hffffffff, 32'h00000000, 32'hffffffff, 32'h0006ffff
  };
  localparam logic [32*DESC_WORDS-1:0] DESC_VECTOR_NAMED = {
    32'h00000000, 32'h00000000, 32'h00007fff, 32'h0000ffff,
    32'hffffffff, 32'hffffffff, 32'hffffffff, 32'hffffffff,
    32'hffffffff, 32'h0000ffff, 32'hffffffff, 32'hffffffff,
    32'hffffffff, 32'hffffffff, 32'hffffffff, 32'h0002ffff
  };
  localparam logic [32*DESC_WORDS-1:0] DESC_ATTEND_NAMED = {
    32'h00000000, 32'h00000000, 32'h00000000, 32'h0000ffff,
    32'h0000ffff, 32'hffffffff, 32'hffffffff, 32'hffffffff,
    32'hffffffff, 32'hffffffff, 32'hffffffff, 32'h00000000,
    32'hffffffff, 32'hffffffff, 32'hffffffff, 32'h0002ffff
  };

  localparam int unsigned REG_ID = 0;
  localparam int unsigned REG_VERSION = 1;
  localparam int unsigned REG_ARRAY = 2;
  localparam int unsigned REG_CODES = 3;
  localparam int unsigned REG_BUFFER = 4;
  localparam int unsigned REG_BUS = 5;
  localparam int unsigned REG_ENGINE = 6;
  localparam int unsigned REG_SCALED = 7;
  localparam int unsigned REG_CONTROL = 8;
  localparam int unsigned REG_STATUS = 9;
  localparam int unsigned REG_IRQ_ENABLE = 10;
  localparam int unsigned REG_IRQ_STATE = 11;
  localparam int unsigned REG_DESCRIPTOR = 12;
  localparam int unsigned REG_CYCLES = 16;
  localparam int unsigned REG_BUSY_CYCLES = 17;
  localparam int unsigned REG_WAIT_CYCLES = 18;
  localparam int unsigned REG_BLOCKED_CYCLES = 19;
  localparam int unsigned REG_READ_BEATS = 20;
  localparam int unsigned REG_WRITE_BEATS = 21;
  localparam int unsigned REG_COUNTER_HIGH = 22;
  localparam int unsigned REG_SCALES = 23;
  localparam int unsigned REG_SUMS = 24;
  localparam int unsigned REG_RING_BASE = 25;
  localparam int unsigned REG_RING_SIZE = 26;
  localparam int unsigned REG_HEAD = 27;
  localparam int unsigned REG_TAIL = 28;
  localparam int unsigned REG_WATCHDOG = 29;
  localparam int unsigned REG_READ_WAIT = 30;
  localparam int unsigned REG_READ_FULL = 31;
  localparam int unsigned REG_WRITE_WAIT = 32;
  localparam int unsigned REG_DESCRIPTOR_HIGH = 33;
  localparam int unsigned REG_RING_BASE_HIGH = 34;
  localparam int unsigned REG_ATTEND = 35;
  localparam int unsigned REG_ARRAY_ROWS_LOW = 0; localparam int unsigned REG_ARRAY_ROWS_W = 8;
  localparam int unsigned REG_ARRAY_COLS_LOW = 8; localparam int unsigned REG_ARRAY_COLS_W = 8;
  localparam int unsigned REG_ARRAY_BANK_LOW = 16; localparam int unsigned REG_ARRAY_BANK_W = 16;
  localparam int unsigned REG_CODES_ACT_LOW = 0; localparam int unsigned REG_CODES_ACT_W = 8;
  localparam int unsigned REG_CODES_WEIGHT_LOW = 8; localparam int unsigned REG_CODES_WEIGHT_W = 8;
  localparam int unsigned REG_CODES_OUT_LOW = 16; localparam int unsigned REG_CODES_OUT_W = 8;
  localparam int unsigned REG_CODES_ENCODE_LOW = 24; localparam int unsigned REG_CODES_ENCODE_W = 1;
  localparam int unsigned REG_CODES_VECTOR_LOW = 25; localparam int unsigned REG_CODES_VECTOR_W = 1;
  localparam int unsigned REG_BUFFER_ACT_LOW = 0; localparam int unsigned REG_BUFFER_ACT_W = 16;
  localparam int unsigned REG_BUFFER_WEIGHT_LOW = 16; localparam int unsigned REG_BUFFER_WEIGHT_W = 16;
  localparam int unsigned REG_ENGINE_LAYOUT_LOW = 0; localparam int unsigned REG_ENGINE_LAYOUT_W = 4;
  localparam int unsigned REG_ENGINE_ON_ACTS_LOW = 4; localparam int unsigned REG_ENGINE_ON_ACTS_W = 1;
  localparam int unsigned REG_ENGINE_ONE_ACC_LOW = 5; localparam int unsigned REG_ENGINE_ONE_ACC_W = 1;
  localparam int unsigned REG_ENGINE_FORM_LOW = 6; localparam int unsigned REG_ENGINE_FORM_W = 2;
  localparam int unsigned REG_ENGINE_HIGH_W_LOW = 8; localparam int unsigned REG_ENGINE_HIGH_W_W = 8;
  localparam int unsigned REG_ENGINE_HIGH_LOW = 16; localparam int unsigned REG_ENGINE_HIGH_W = 16;
  localparam int unsigned REG_SCALED_ELEMENT_LOW = 0; localparam int unsigned REG_SCALED_ELEMENT_W = 8;
  localparam int unsigned REG_SCALED_SCALE_LOW = 8; localparam int unsigned REG_SCALED_SCALE_W = 8;
  localparam int unsigned REG_SCALED_HIGH_LOW = 16; localparam int unsigned REG_SCALED_HIGH_W = 8;
  localparam int unsigned REG_CONTROL_START_LOW = 0; localparam int unsigned REG_CONTROL_START_W = 1;
  localparam int unsigned REG_CONTROL_ABORT_LOW = 1; localparam int unsigned REG_CONTROL_ABORT_W = 1;
  localparam int unsigned REG_STATUS_BUSY_LOW = 0; localparam int unsigned REG_STATUS_BUSY_W = 1;
  localparam int unsigned REG_STATUS_REFUSED_LOW = 1; localparam int unsigned REG_STATUS_REFUSED_W = 1;
  localparam int unsigned REG_STATUS_OPERAND_LOW = 2; localparam int unsigned REG_STATUS_OPERAND_W = 1;
  localparam int unsigned REG_STATUS_ABORTED_LOW = 3; localparam int unsigned REG_STATUS_ABORTED_W = 1;
  localparam int unsigned REG_STATUS_READ_LOW = 4; localparam int unsigned REG_STATUS_READ_W = 3;
  localparam int unsigned REG_STATUS_EXPIRED_LOW = 7; localparam int unsigned REG_STATUS_EXPIRED_W = 1;
  localparam int unsigned REG_STATUS_WRITTEN_LOW = 8; localparam int unsigned REG_STATUS_WRITTEN_W = 3;
  localparam int unsigned REG_STATUS_ENGINE_LOW = 12; localparam int unsigned REG_STATUS_ENGINE_W = 3;
  localparam int unsigned REG_IRQ_ENABLE_DONE_LOW = 0; localparam int unsigned REG_IRQ_ENABLE_DONE_W = 1;
  localparam int unsigned REG_IRQ_ENABLE_ERROR_LOW = 1; localparam int unsigned REG_IRQ_ENABLE_ERROR_W = 1;
  localparam int unsigned REG_IRQ_STATE_DONE_LOW = 0; localparam int unsigned REG_IRQ_STATE_DONE_W = 1;
  localparam int unsigned REG_IRQ_STATE_ERROR_LOW = 1; localparam int unsigned REG_IRQ_STATE_ERROR_W = 1;
  localparam int unsigned REG_SCALES_ROWS_LOW = 0; localparam int unsigned REG_SCALES_ROWS_W = 16;
  localparam int unsigned REG_SCALES_COLS_LOW = 16; localparam int unsigned REG_SCALES_COLS_W = 16;
  localparam int unsigned REG_SUMS_TILES_LOW = 0; localparam int unsigned REG_SUMS_TILES_W = 16;
  localparam int unsigned REG_SUMS_PARTS_LOW = 16; localparam int unsigned REG_SUMS_PARTS_W = 1;
  localparam int unsigned REG_RING_SIZE_SLOTS_LOW = 0; localparam int unsigned REG_RING_SIZE_SLOTS_W = 16;
  localparam int unsigned REG_HEAD_SLOT_LOW = 0; localparam int unsigned REG_HEAD_SLOT_W = 16;
  localparam int unsigned REG_TAIL_SLOT_LOW = 0; localparam int unsigned REG_TAIL_SLOT_W = 16;
  localparam int unsigned REG_DESCRIPTOR_HIGH_ADDRESS_LOW = 0; localparam int unsigned REG_DESCRIPTOR_HIGH_ADDRESS_W = 16;
  localparam int unsigned REG_RING_BASE_HIGH_ADDRESS_LOW = 0; localparam int unsigned REG_RING_BASE_HIGH_ADDRESS_W = 16;
  localparam int unsigned REG_ATTEND_QUERIES_LOW = 0; localparam int unsigned REG_ATTEND_QUERIES_W = 4;
  localparam int unsigned REG_ATTEND_INT8_LOW = 4; localparam int unsigned REG_ATTEND_INT8_W = 1;
  localparam int unsigned REG_ATTEND_HEAD_LOW = 5; localparam int unsigned REG_ATTEND_HEAD_W = 4;

  localparam int unsigned DESC_KIND = 0;
  localparam int unsigned DESC_ACT = 1;
  localparam int unsigned DESC_WEIGHT = 2;
  localparam int unsigned DESC_ROW_SCALE = 3;
  localparam int unsigned DESC_COL_SCALE = 4;
  localparam int unsigned DESC_OUT = 5;
  localparam int unsigned DESC_TILES = 6;
  localparam int unsigned DESC_BLOCK = 7;
  localparam int unsigned DESC_BEATS = 8;
  localparam int unsigned DESC_CHUNK = 9;
  localparam int unsigned DESC_OPERANDS_HIGH = 10;
  localparam int unsigned DESC_SCALES_HIGH = 11;
  localparam int unsigned DESC_OUT_HIGH = 12;
  localparam int unsigned DESC_VECTOR = 13;
  localparam int unsigned DESC_KIND_KIND_LOW = 0; localparam int unsigned DESC_KIND_KIND_W = 16;
  localparam int unsigned DESC_KIND_COLS_OUTER_LOW = 16; localparam int unsigned DESC_KIND_COLS_OUTER_W = 1;
  localparam int unsigned DESC_KIND_NOTICE_LOW = 17; localparam int unsigned DESC_KIND_NOTICE_W = 1;
  localparam int unsigned DESC_KIND_CODES_LOW = 18; localparam int unsigned DESC_KIND_CODES_W = 1;
  localparam int unsigned DESC_TILES_ROWS_LOW = 0; localparam int unsigned DESC_TILES_ROWS_W = 16;
  localparam int unsigned DESC_TILES_COLS_LOW = 16; localparam int unsigned DESC_TILES_COLS_W = 16;
  localparam int unsigned DESC_BLOCK_ROWS_LOW = 0; localparam int unsigned DESC_BLOCK_ROWS_W = 16;
  localparam int unsigned DESC_BLOCK_COLS_LOW = 16; localparam int unsigned DESC_BLOCK_COLS_W = 16;
  localparam int unsigned DESC_BEATS_BEATS_LOW = 0; localparam int unsigned DESC_BEATS_BEATS_W = 16;
  localparam int unsigned DESC_BEATS_GROUPS_LOW = 16; localparam int unsigned DESC_BEATS_GROUPS_W = 16;
  localparam int unsigned DESC_CHUNK_GROUPS_LOW = 0; localparam int unsigned DESC_CHUNK_GROUPS_W = 16;
  localparam int unsigned DESC_CHUNK_PART_LOW = 16; localparam int unsigned DESC_CHUNK_PART_W = 16;
  localparam int unsigned DESC_OPERANDS_HIGH_ACT_LOW = 0; localparam int unsigned DESC_OPERANDS_HIGH_ACT_W = 16;
  localparam int unsigned DESC_OPERANDS_HIGH_WEIGHT_LOW = 16; localparam int unsigned DESC_OPERANDS_HIGH_WEIGHT_W = 16;
  localparam int unsigned DESC_SCALES_HIGH_ROWS_LOW = 0; localparam int unsigned DESC_SCALES_HIGH_ROWS_W = 16;
  localparam int unsigned DESC_SCALES_HIGH_COLS_LOW = 16; localparam int unsigned DESC_SCALES_HIGH_COLS_W = 16;
  localparam int unsigned DESC_OUT_HIGH_OUT_LOW = 0; localparam int unsigned DESC_OUT_HIGH_OUT_W = 16;
  localparam int unsigned DESC_VECTOR_F_LOW = 0; localparam int unsigned DESC_VECTOR_F_W = 2;
  localparam int unsigned DESC_VECTOR_B_LOW = 2; localparam int unsigned DESC_VECTOR_B_W = 2;
  localparam int unsigned DESC_VECTOR_C_LOW = 4; localparam int unsigned DESC_VECTOR_C_W = 2;
  localparam int unsigned DESC_VECTOR_RED_LOW = 6; localparam int unsigned DESC_VECTOR_RED_W = 2;
  localparam int unsigned DESC_VECTOR_ALL_LOW = 8; localparam int unsigned DESC_VECTOR_ALL_W = 1;
  localparam int unsigned DESC_VECTOR_Y_LOW = 9; localparam int unsigned DESC_VECTOR_Y_W = 2;
  localparam int unsigned DESC_VECTOR_A_HALF_LOW = 11; localparam int unsigned DESC_VECTOR_A_HALF_W = 1;
  localparam int unsigned DESC_VECTOR_B_HALF_LOW = 12; localparam int unsigned DESC_VECTOR_B_HALF_W = 1;
  localparam int unsigned DESC_VECTOR_C_HALF_LOW = 13; localparam int unsigned DESC_VECTOR_C_HALF_W = 1;
  localparam int unsigned DESC_VECTOR_Y_BYTE_LOW = 14; localparam int unsigned DESC_VECTOR_Y_BYTE_W = 1;

  // An address of a descriptor, whose low half is that word; the high halves stand in their order from
  // OPERANDS_HIGH on.
  function automatic logic [47:0] desc_address(logic [32*DESC_WORDS-1:0] desc, int unsigned low);
    desc_address = {desc[32*DESC_OPERANDS_HIGH+16*(low-DESC_ACT) +: 16], desc[32*low +: 32]};
  endfunction

endpackage
