// SPDX-License-Identifier: Apache-2.0
// Whether scales of a tile, as sq_output has them, hold one that no encoder writes: a scale is a
// positive number (SPEC A.8). Only those count that are read: high ones of columns with TwoCols, of
// rows with TwoRows. One scale of a row is a factor, read with the last scale group of an output alone.
module sq_engine_scales #(
  parameter int unsigned Rows = 2,
  parameter int unsigned Cols = 2,
  parameter bit          TwoCols = 1'b0,
  parameter bit          TwoRows = 1'b0
) (
  input  logic               rows_i,  // factors of rows are read; two scales of a row always are
  input  logic [Cols*32-1:0] col_lo_i, col_hi_i,
  input  logic [Rows*32-1:0] row_lo_i, row_hi_i,
  output logic               error_o
);

  logic [Cols-1:0] bad_col_lo, bad_col_hi;
  logic [Rows-1:0] bad_row_lo, bad_row_hi;
  for (genvar c = 0; c < Cols; c++) begin : gen_col
    logic [31:0] lo, hi;
    assign lo = col_lo_i[c*32 +: 32];
    assign hi = col_hi_i[c*32 +: 32];
    assign bad_col_lo[c] = lo[31] || &lo[30:23] || lo[30:0] == '0;
    assign bad_col_hi[c] = TwoCols && (hi[31] || &hi[30:23] || hi[30:0] == '0);
  end
  for (genvar r = 0; r < Rows; r++) begin : gen_row
    logic [31:0] lo, hi;
    assign lo = row_lo_i[r*32 +: 32];
    assign hi = row_hi_i[r*32 +: 32];
    assign bad_row_lo[r] = lo[31] || &lo[30:23] || lo[30:0] == '0;
    assign bad_row_hi[r] = TwoRows && (hi[31] || &hi[30:23] || hi[30:0] == '0);
  end
  assign error_o = |bad_col_lo || |bad_col_hi || ((rows_i || TwoRows) && (|bad_row_lo || |bad_row_hi));

endmodule
