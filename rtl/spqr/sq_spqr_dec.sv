// SPDX-License-Identifier: Apache-2.0
// Decoder of SpQR words (SPEC H.3): tiles of 16 x 16 weights, a 64-bit word per tile row, `Words`
// of them a beat, in order.
//
//   63:62  61:54           6+3j+2 : 6+3j   5:3   2:0
//   0      second order    w_j, j 0..15    c_r   a_r        row r has byte r/2 of {zz, sz, zs, ss}
//
// How far it goes: to what feeds the integer array that all formats share. Out come, per tile row,
// 16 codes of 3 bits (unsigned: the array takes them as 4 bits signed, a bank of 16 a column), the
// two codes of its scale and zero, and with each beat the four FP16 of the tile. The array sums
// w*x, and x once for all rows; the FP16 steps s_r = ss (a_r - sz), z_r = zs (c_r - zz) and
// s_r (sum wx - z_r sum x) belong behind it, once per 16 weights, and are not here.
//
// The second order is complete, and known to be consistent, only after the last word. So a tile
// waits in a buffer of one tile, and leaves as the next one takes its places: a beat per cycle, the
// first one a cycle after the last word came.
`include "sq_assert.svh"

module sq_spqr_dec #(
  parameter int unsigned Words = 1  // a power of two up to 16: columns of the array
) (
  input  logic                 clk_i, rst_ni,
  // Words rows of a tile
  input  logic                 in_valid_i,
  output logic                 in_ready_o,
  input  logic [Words*64-1:0]  in_word_i,
  // the same rows decoded
  output logic                 out_valid_o,
  input  logic                 out_ready_i,
  output logic [Words*48-1:0]  out_code_o,    // [row][column], 3 bits each
  output logic [Words*3-1:0]   out_scale_o,   // a_r
  output logic [Words*3-1:0]   out_zero_o,    // c_r
  output logic [63:0]          out_second_o,  // {q_zz, q_sz, q_zs, q_ss}
  output logic                 out_last_o,    // last rows of the tile
  output logic [2:0]           out_error_o    // tile: {FP16 not finite, bytes differ, bits 63:62}
);

  if (Words != 1 && Words != 2 && Words != 4 && Words != 8 && Words != 16) begin : gen_bad
    $error("Words is 1, 2, 4, 8 or 16");
  end

  localparam int unsigned Beats = 16 / Words;
  localparam int unsigned PlaceW = sq_pkg::index_w(Beats);
  localparam logic [PlaceW-1:0] Last = PlaceW'(Beats - 1);

  // ---- control: places of the buffer fill and empty in the same order -------------------------
  logic reading_q;  // a whole tile is inside
  logic [PlaceW-1:0] write_q, read_q;
  logic in_fire, out_fire, tile_in, tile_out;

  assign out_valid_o = reading_q;
  assign in_ready_o =
      !reading_q || write_q < read_q || (write_q == read_q && out_ready_i);
  assign in_fire = in_valid_i && in_ready_o;
  assign out_fire = out_valid_o && out_ready_i;
  assign tile_in = in_fire && write_q == Last;
  assign tile_out = out_fire && read_q == Last;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      reading_q <= 1'b0;
      write_q <= '0;
      read_q <= '0;
    end else begin
      if (tile_in) reading_q <= 1'b1;
      else if (tile_out) reading_q <= 1'b0;
      if (in_fire) write_q <= (write_q == Last) ? '0 : write_q + 1'b1;
      if (out_fire) read_q <= (read_q == Last) ? '0 : read_q + 1'b1;
    end
  end

  // ---- rows -----------------------------------------------------------------------------------
  logic [Words*54-1:0] row, row_out;
  logic [Words*54-1:0] row_q[Beats];
  logic [Words*8-1:0] piece;
  logic [Words-1:0] reserved;

  for (genvar i = 0; i < Words; i++) begin : gen_word
    assign row[i*54 +: 54] = in_word_i[i*64 +: 54];
    assign piece[i*8 +: 8] = in_word_i[i*64+54 +: 8];
    assign reserved[i] = |in_word_i[i*64+62 +: 2];
    assign out_scale_o[i*3 +: 3] = row_out[i*54 +: 3];
    assign out_zero_o[i*3 +: 3] = row_out[i*54+3 +: 3];
    assign out_code_o[i*48 +: 48] = row_out[i*54+6 +: 48];
  end

  always_ff @(posedge clk_i) begin
    if (in_fire) row_q[write_q] <= row;
  end
  assign row_out = row_q[read_q];
  assign out_last_o = read_q == Last;

  // ---- second order: bytes shift in from the top, every other row -----------------------------
  logic [63:0] second, second_q, second_out_q;
  logic differ;  // a byte and its copy, in this beat
  if (Words == 1) begin : gen_byte
    assign second = write_q[0] ? second_q : {piece, second_q[63:8]};
    assign differ = write_q[0] && piece != second_q[63:56];
  end else begin : gen_bytes
    localparam int unsigned Pairs = Words / 2;
    logic [Pairs*8-1:0] even;
    logic [Pairs-1:0] odd_differs;
    for (genvar i = 0; i < Pairs; i++) begin : gen_pair
      assign even[i*8 +: 8] = piece[2*i*8 +: 8];
      assign odd_differs[i] = piece[2*i*8 +: 8] != piece[(2*i+1)*8 +: 8];
    end
    assign differ = |odd_differs;
    if (Words == 16) begin : gen_all
      logic [63:0] unused_second;
      assign unused_second = second_q;
      assign second = even;
    end else begin : gen_some
      assign second = {even, second_q[63:Pairs*8]};
      logic [Pairs*8-1:0] unused_second;
      assign unused_second = second_q[Pairs*8-1:0];
    end
  end

  logic [1:0] error, error_q, error_out_q;  // of the words so far
  logic [3:0] not_finite;
  assign error = ((write_q == '0) ? 2'b00 : error_q) | {differ, |reserved};
  for (genvar i = 0; i < 4; i++) begin : gen_half
    assign not_finite[i] = &second_out_q[i*16+10 +: 5];
  end
  assign out_second_o = second_out_q;
  assign out_error_o = {|not_finite, error_out_q};

  always_ff @(posedge clk_i) begin
    if (in_fire) begin
      second_q <= second;
      error_q <= error;
    end
    if (tile_in) begin
      second_out_q <= second;
      error_out_q <= error;
    end
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i,
           {out_code_o, out_scale_o, out_zero_o, out_second_o, out_last_o, out_error_o})
  `SQ_ASSERT(WriteBehindRead, !reading_q || write_q <= read_q)

endmodule
