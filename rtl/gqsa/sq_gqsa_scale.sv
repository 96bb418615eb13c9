// SPDX-License-Identifier: Apache-2.0
// Zero and scale of GQSA behind the sums of kept groups (SPEC F.5):
//
//   P = sum q x - z sum x   exact       y = y + (float)P s   group by group of a row, ascending
//   at the end of a row  y s_a
// A beat is a kept group of a row for Lanes tokens: the array gives sum q x of the unsigned codes and,
// from a column of ones, sum x; z and s (binary16) belong to the group. A row without groups is one
// beat of zeros with in_last_i. One output beat per row.
//
// A tag of TagW bits stands with a group; that of the last one of a row leaves with its output.
//
//   P | sq_combine, form ONE
// Latency 5, a beat per cycle; the first stage and sq_combine wait on their own.
`include "sq_assert.svh"

module sq_gqsa_scale #(
  parameter  int unsigned Lanes = 2,
  parameter  int unsigned SumW = 24,  // of in_p_i: 4 bits by 8, 128 of a group, need 20
  parameter  int unsigned TagW = 1,
  localparam int unsigned ProdW = SumW + 5
) (
  input  logic                  clk_i, rst_ni,
  // a group
  input  logic                  in_valid_i,
  output logic                  in_ready_o,
  input  logic                  in_last_i,   // of its row
  input  logic [Lanes*SumW-1:0] in_p_i,      // sum q x, per token
  input  logic [Lanes*SumW-1:0] in_sum_i,    // sum x, per token
  input  logic [3:0]            in_zero_i,
  input  logic [15:0]           in_scale_i,  // binary16, finite
  input  logic [Lanes*32-1:0]   in_s_a_i,    // of the token, binary32; read with in_last_i
  input  logic [TagW-1:0]       in_tag_i,
  // outputs of a row
  output logic                  out_valid_o,
  input  logic                  out_ready_i,
  output logic [Lanes*32-1:0]   out_y_o,
  output logic [TagW-1:0]       out_tag_o
);

  if (ProdW + 1 > 32) begin : gen_bad
    $error("SumW <= 26");
  end

  logic valid_q, last_q, moves, ready;
  assign moves = !valid_q || ready;
  assign in_ready_o = moves;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (moves) valid_q <= in_valid_i;
  end

  logic [31:0] scale, scale_q;
  logic [Lanes*32-1:0] p_q, s_a_q;
  logic [TagW-1:0] tag_q;
  sq_fp_from_half u_scale (.a_i(in_scale_i), .y_o(scale));
  always_ff @(posedge clk_i) begin
    if (moves) begin
      last_q <= in_last_i;
      scale_q <= scale;
      s_a_q <= in_s_a_i;
      tag_q <= in_tag_i;
    end
  end

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic signed [ProdW-1:0] shift;
    logic signed [ProdW:0] p;
    sq_mul #(.AW(SumW), .BW(5)) u_mul (
      .a_i(in_sum_i[l*SumW +: SumW]), .b_i({1'b0, in_zero_i}), .p_o(shift)
    );
    assign p = (ProdW + 1)'($signed(in_p_i[l*SumW +: SumW])) - (ProdW + 1)'(shift);
    always_ff @(posedge clk_i) if (moves) p_q[l*32 +: 32] <= 32'(p);
  end

  sq_combine #(.Lanes(Lanes), .Slots(1), .Form(sq_pkg::COMBINE_ONE), .IsBf16(0), .TagW(TagW)) u_combine (
    .clk_i, .rst_ni,
    .in_valid_i(valid_q), .in_ready_o(ready), .in_last_i(last_q),
    .in_p_lo_i(p_q), .in_p_hi_i({Lanes{32'd0}}), .in_s_lo_i({Lanes{scale_q}}), .in_s_hi_i({Lanes{32'd0}}),
    .in_s_a_i(s_a_q), .in_sum_i({Lanes{32'd0}}), .in_tag_i(tag_q),
    .out_valid_o, .out_ready_i, .out_y_o, .out_sum_o(), .out_tag_o
  );

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_y_o, out_tag_o})

endmodule
