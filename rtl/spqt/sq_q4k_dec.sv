// SPDX-License-Identifier: Apache-2.0
// Decoder of Q4_K superblocks (SPEC G.3): 256 weights in 144 bytes, `Bytes` of them a beat, in order.
//
//   byte 0..1 d   2..3 dmin   4..15 scales and minima of 8 blocks, 6 bits each   16..143 codes
//   byte 16 + 32u + l: weight 64u + l in the low nibble, weight 64u + 32 + l in the high one
//
// A beat of codes gives 2 Bytes weights: of block 2u from the low nibbles, of 2u+1 from the high
// ones, and for both blocks D = d sc and Mn = dmin m as binary32, which are exact: w = D q - Mn. The
// multiplication by activations in binary32 belongs behind it and is not here.
//
// The header is kept; its beats give nothing. Beats of codes leave a cycle later, one a cycle.
`include "sq_assert.svh"

module sq_q4k_dec #(
  parameter int unsigned Bytes = 16  // 4, 8 or 16
) (
  input  logic                 clk_i, rst_ni,
  // a superblock, beat by beat
  input  logic                 in_valid_i,
  output logic                 in_ready_o,
  input  logic [Bytes*8-1:0]   in_data_i,
  // codes of two blocks
  output logic                 out_valid_o,
  input  logic                 out_ready_i,
  output logic [Bytes*8-1:0]   out_code_o,   // 2 Bytes of 4 bits: block 2u, block 2u+1
  output logic [63:0]          out_step_o,   // {D of 2u+1, D of 2u}, binary32
  output logic [63:0]          out_min_o,    // {Mn of 2u+1, Mn of 2u}
  output logic                 out_last_o,   // of the superblock
  output logic                 out_error_o   // d or dmin infinite, NaN or negative
);

  if (Bytes != 4 && Bytes != 8 && Bytes != 16) begin : gen_bad
    $error("Bytes is 4, 8 or 16");
  end

  localparam int unsigned Head = 16 / Bytes;  // beats of the header
  localparam int unsigned Beats = 144 / Bytes;
  localparam int unsigned PlaceW = $clog2(Beats);
  localparam int unsigned PairBeats = 32 / Bytes;  // of two blocks

  // ---- control ------------------------------------------------------------------------------------
  logic [PlaceW-1:0] place_q;  // of the next beat
  logic out_valid_q, moves, in_fire, is_head, is_last;

  assign moves = !out_valid_q || out_ready_i;
  assign in_ready_o = moves;
  assign out_valid_o = out_valid_q;
  assign in_fire = in_valid_i && moves;
  assign is_head = place_q < PlaceW'(Head);
  assign is_last = place_q == PlaceW'(Beats - 1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      place_q <= '0;
      out_valid_q <= 1'b0;
    end else begin
      if (in_fire) place_q <= is_last ? '0 : place_q + 1'b1;
      if (moves) out_valid_q <= in_valid_i && !is_head;
    end
  end

  // ---- header: its beats shift in from the top ----------------------------------------------------
  logic [127:0] head_q;
  if (Bytes == 16) begin : gen_whole
    always_ff @(posedge clk_i) begin
      if (in_fire && is_head) head_q <= in_data_i;
    end
  end else begin : gen_part
    always_ff @(posedge clk_i) begin
      if (in_fire && is_head) head_q <= {in_data_i, head_q[127:Bytes*8]};
    end
  end

  // Scales and minima of all blocks: byte b of the 12 is at bits 32 + 8b.
  logic [8*6-1:0] scale, min;
  for (genvar j = 0; j < 4; j++) begin : gen_block
    assign scale[j*6 +: 6] = head_q[32+8*j +: 6];
    assign min[j*6 +: 6] = head_q[64+8*j +: 6];
    assign scale[(j+4)*6 +: 6] = {head_q[32+8*j+6 +: 2], head_q[96+8*j +: 4]};
    assign min[(j+4)*6 +: 6] = {head_q[64+8*j+6 +: 2], head_q[96+8*j+4 +: 4]};
  end

  // Scales and minima of the two blocks of this beat.
  logic [3:0] pair;  // one-hot
  logic [11:0] scales, mins;
  for (genvar u = 0; u < 4; u++) begin : gen_pair
    assign pair[u] = place_q >= PlaceW'(Head + u*PairBeats) &&
                     place_q < PlaceW'(Head + u*PairBeats + PairBeats);
  end
  always_comb begin
    scales = '0;
    mins = '0;
    for (int unsigned u = 0; u < 4; u++) begin
      scales = scales | (scale[u*12 +: 12] & {12{pair[u]}});
      mins = mins | (min[u*12 +: 12] & {12{pair[u]}});
    end
  end

  // ---- steps --------------------------------------------------------------------------------------
  logic [63:0] step, minimum;
  for (genvar i = 0; i < 2; i++) begin : gen_scaled
    sq_q4k_scale u_step (
      .half_i(head_q[15:0]), .factor_i(scales[i*6 +: 6]), .out_o(step[i*32 +: 32])
    );
    sq_q4k_scale u_min (
      .half_i(head_q[31:16]), .factor_i(mins[i*6 +: 6]), .out_o(minimum[i*32 +: 32])
    );
  end

  logic error;
  assign error = &head_q[14:10] || &head_q[30:26] ||
                 (head_q[15] && |head_q[14:0]) || (head_q[31] && |head_q[30:16]);

  logic [Bytes*8-1:0] code, code_q;
  logic [63:0] step_q, minimum_q;
  logic last_q, error_q;
  for (genvar i = 0; i < Bytes; i++) begin : gen_code
    assign code[i*4 +: 4] = in_data_i[i*8 +: 4];
    assign code[(Bytes+i)*4 +: 4] = in_data_i[i*8+4 +: 4];
  end
  always_ff @(posedge clk_i) begin
    if (moves) begin
      code_q <= code;
      step_q <= step;
      minimum_q <= minimum;
      last_q <= is_last;
      error_q <= error;
    end
  end
  assign out_code_o = code_q;
  assign out_step_o = step_q;
  assign out_min_o = minimum_q;
  assign out_last_o = last_q;
  assign out_error_o = error_q;

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i,
           {out_code_o, out_step_o, out_min_o, out_last_o, out_error_o})

endmodule
