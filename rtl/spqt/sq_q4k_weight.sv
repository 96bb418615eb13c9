// SPDX-License-Identifier: Apache-2.0
// Weights of Q4_K behind sq_q4k_dec (SPEC G.3): w = D q - Mn in binary32, each operation rounded (D q is
// exact). A beat is Bytes codes of block 2u and Bytes of block 2u+1, as the decoder gives them.
//
//   D q | D q - Mn
// Latency 2, a beat per cycle. Stages move together: a beat that is not taken holds both.
`include "sq_assert.svh"

module sq_q4k_weight #(
  parameter int unsigned Bytes = 16
) (
  input  logic                clk_i, rst_ni,
  // what sq_q4k_dec gives
  input  logic                in_valid_i,
  output logic                in_ready_o,
  input  logic [Bytes*8-1:0]  in_code_i,
  input  logic [63:0]         in_step_i, in_min_i,
  input  logic                in_last_i, in_error_i,
  // weights, binary32
  output logic                out_valid_o,
  input  logic                out_ready_i,
  output logic [Bytes*64-1:0] out_weight_o,
  output logic                out_last_o,
  output logic                out_error_o  // as it came
);

  logic valid_q, valid_q2, last_q, last_q2, error_q, error_q2, moves;
  logic [63:0] min_q;
  assign moves = !valid_q2 || out_ready_i;
  assign in_ready_o = moves;
  assign out_valid_o = valid_q2;
  assign out_last_o = last_q2;
  assign out_error_o = error_q2;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      valid_q2 <= 1'b0;
    end else if (moves) begin
      valid_q <= in_valid_i;
      valid_q2 <= valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (moves) begin
      last_q <= in_last_i;
      last_q2 <= last_q;
      error_q <= in_error_i;
      error_q2 <= error_q;
      min_q <= in_min_i;
    end
  end

  for (genvar i = 0; i < 2 * Bytes; i++) begin : gen_weight
    localparam int unsigned Block = i / Bytes;
    logic [31:0] code, product, product_q, weight, weight_q;
    sq_fp_from_int u_code (.clk_i(1'b0), .en_i(1'b0), .a_i({28'd0, in_code_i[i*4 +: 4]}), .y_o(code));
    sq_fp_mul u_product (
      .clk_i(1'b0), .en_i(1'b0), .a_i(in_step_i[Block*32 +: 32]), .b_i(code), .y_o(product));
    sq_fp_add u_weight (
      .clk_i(1'b0), .en_i(1'b0),
      .a_i(product_q), .b_i({!min_q[Block*32+31], min_q[Block*32 +: 31]}), .y_o(weight)
    );
    always_ff @(posedge clk_i) begin
      if (moves) begin
        product_q <= product;
        weight_q <= weight;
      end
    end
    assign out_weight_o[i*32 +: 32] = weight_q;
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_weight_o, out_last_o, out_error_o})

endmodule
