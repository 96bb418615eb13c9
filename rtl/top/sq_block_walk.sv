// SPDX-License-Identifier: Apache-2.0
// Says the steps of a layer in order. A layer is a matrix of rows_i x cols_i tiles in blocks of at most row_block_i x
// col_block_i. With cols_outer_i = 0 all blocks of columns are walked for each block of rows, otherwise all blocks of rows
// for each block of columns. A step is a block and a chunk of K: at most group_chunk_i of the layer's groups_i scale groups
// (beat_chunk_i of beats_i beats), or with part_i at most beat_chunk_i beats of one group of group_beats_i. advance_i
// takes the next step; active_o is low after the last.
`include "sq_assert.svh"

module sq_block_walk (
  input  logic        clk_i, rst_ni,
  // the layer; all counts >= 1, unchanged while active_o is high
  input  logic        cols_outer_i,
  input  logic [15:0] rows_i, cols_i, row_block_i, col_block_i,
  input  logic [15:0] groups_i,
  input  logic [31:0] beats_i,
  input  logic [15:0] group_chunk_i, beat_chunk_i,
  input  logic        part_i,
  input  logic [15:0] group_beats_i,
  input  logic        start_i,
  input  logic        some_i,  // with start_i: there is a layer
  input  logic        advance_i,
  // the block
  output logic        active_o,
  output logic [15:0] rows_o,  // its tiles
  output logic [15:0] cols_o,
  output logic        rows_first_o,  // its rows are the first of the layer
  output logic        cols_first_o,
  output logic        rows_new_o,  // its rows are not those of the block before it
  output logic        cols_new_o,
  output logic        rows_keep_o,  // its rows are those of the next block, too
  output logic        cols_keep_o,
  // the chunk
  output logic [15:0] groups_o,
  output logic [15:0] beats_o,  // of a tile
  output logic        chunk_first_o,
  output logic        chunk_last_o,
  output logic        group_first_o,  // it begins with the start of a group
  output logic        group_last_o  // it ends with the end of a group
);

  logic [15:0] row_left_q, col_left_q;  // tiles from this block on
  logic [15:0] group_left_q;  // groups and beats from this chunk on
  logic [31:0] beat_left_q;  // with part_i those of the group
  logic rows_end, cols_end, groups_end, chunk_move, move;

  assign rows_end = row_left_q <= row_block_i;
  assign cols_end = col_left_q <= col_block_i;
  assign rows_o = rows_end ? row_left_q : row_block_i;
  assign cols_o = cols_end ? col_left_q : col_block_i;
  // The outer loop's block stays until the inner loop ends; that of the inner loop stays if there is no other.
  assign rows_keep_o = cols_outer_i ? rows_first_o && rows_end && !cols_end : !cols_end;
  assign cols_keep_o = cols_outer_i ? !rows_end : cols_first_o && cols_end && !rows_end;
  assign groups_end = group_left_q <= group_chunk_i;
  assign group_last_o = !part_i || beat_left_q <= 32'(beat_chunk_i);
  assign chunk_last_o = groups_end && group_last_o;
  assign groups_o = groups_end ? group_left_q : group_chunk_i;
  assign beats_o = (part_i ? group_last_o : groups_end) ? beat_left_q[15:0] : beat_chunk_i;
  assign chunk_move = active_o && advance_i;
  assign move = chunk_move && chunk_last_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) active_o <= 1'b0;
    else if (start_i) active_o <= some_i;
    else if (move && rows_end && cols_end) active_o <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (start_i || move) begin
      group_left_q <= groups_i;
      beat_left_q <= part_i ? 32'(group_beats_i) : beats_i;
      chunk_first_o <= 1'b1;
      group_first_o <= 1'b1;
    end else if (chunk_move) begin
      if (group_last_o) group_left_q <= group_left_q - group_chunk_i;
      beat_left_q <= part_i && group_last_o ? 32'(group_beats_i) : beat_left_q - 32'(beat_chunk_i);
      chunk_first_o <= 1'b0;
      group_first_o <= group_last_o;
    end
    if (start_i) begin
      row_left_q <= rows_i;
      rows_first_o <= 1'b1;
      rows_new_o <= 1'b1;
    end else if (move) begin
      rows_new_o <= !rows_keep_o;
      if (!rows_keep_o) begin
        row_left_q <= rows_end ? rows_i : row_left_q - row_block_i;
        rows_first_o <= rows_end;
      end
    end
    if (start_i) begin
      col_left_q <= cols_i;
      cols_first_o <= 1'b1;
      cols_new_o <= 1'b1;
    end else if (move) begin
      cols_new_o <= !cols_keep_o;
      if (!cols_keep_o) begin
        col_left_q <= cols_end ? cols_i : col_left_q - col_block_i;
        cols_first_o <= cols_end;
      end
    end
  end

  `SQ_ASSERT_BEGIN
  `SQ_ASSERT(SomeTiles, !active_o || (rows_o != '0 && cols_o != '0 && groups_o != '0 && beats_o != '0))

endmodule
