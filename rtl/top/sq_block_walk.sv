// SPDX-License-Identifier: Apache-2.0
// The blocks of a layer in the order in which they are worked on: a matrix of rows_i x cols_i tiles,
// cut into blocks of at most row_block_i x col_block_i tiles. With cols_outer_i = 0 the columns are
// walked for each block of rows; otherwise the rows for each block of columns. It moves on when
// advance_i is high, and is behind the last block when active_o is low.
`include "sq_assert.svh"

module sq_block_walk (
  input  logic        clk_i,
  input  logic        rst_ni,
  // the layer; all counts >= 1, unchanged while active_o is high
  input  logic        cols_outer_i,
  input  logic [15:0] rows_i,
  input  logic [15:0] cols_i,
  input  logic [15:0] row_block_i,
  input  logic [15:0] col_block_i,
  input  logic        start_i,
  input  logic        advance_i,
  // the block
  output logic        active_o,
  output logic [15:0] rows_o,  // its tiles
  output logic [15:0] cols_o,
  output logic        rows_first_o,  // its rows are the first of the layer
  output logic        cols_first_o,
  output logic        rows_new_o,  // its rows are not those of the block before it
  output logic        cols_new_o,
  output logic        rows_keep_o,  // its rows are those of the block behind it, too
  output logic        cols_keep_o
);

  logic [15:0] row_left_q, col_left_q;  // tiles from this block on
  logic rows_end, cols_end, move;

  assign rows_end = row_left_q <= row_block_i;
  assign cols_end = col_left_q <= col_block_i;
  assign rows_o = rows_end ? row_left_q : row_block_i;
  assign cols_o = cols_end ? col_left_q : col_block_i;
  // The outer ones stay until the inner ones end; the inner ones, if they are a single block.
  assign rows_keep_o = cols_outer_i ? rows_first_o && rows_end && !cols_end : !cols_end;
  assign cols_keep_o = cols_outer_i ? !rows_end : cols_first_o && cols_end && !rows_end;
  assign move = active_o && advance_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) active_o <= 1'b0;
    else if (start_i) active_o <= 1'b1;
    else if (move && rows_end && cols_end) active_o <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
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
  `SQ_ASSERT(SomeTiles, !active_o || (rows_o != '0 && cols_o != '0))

endmodule
