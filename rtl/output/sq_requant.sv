// SPDX-License-Identifier: Apache-2.0
// Integer requantiser: INT32 sums back to codes, acc * mul / 2^shift, rounded to nearest with ties
// to even (rne of SPEC 0.2) and clamped to -qmax .. qmax (SPEC 0.3: the mask code never leaves).
// Each lane has its multiplier and shift; they stand for s_a * s_w / s_out of token and channel.
//
//   S1  product, exact
//   S2  floor of the shifted product; does it fit; round up?
//   S3  round, clamp
// Latency 3, one beat per cycle. Stages move together: a beat that is not taken holds all three.
`include "sq_assert.svh"

module sq_requant #(
  parameter int unsigned Lanes = 4,
  parameter int unsigned OutW = 8,  // 2..8
  parameter int unsigned AccW = 32,
  parameter int unsigned MulW = 16,
  parameter int unsigned ShiftW = 6
) (
  input  logic                    clk_i, rst_ni,
  // sums
  input  logic                    in_valid_i,
  output logic                    in_ready_o,
  input  logic [Lanes*AccW-1:0]   in_acc_i,    // signed; lane 0 in the low bits
  input  logic [Lanes*MulW-1:0]   in_mul_i,    // signed, > 0 for a ratio of scales
  input  logic [Lanes*ShiftW-1:0] in_shift_i,
  // codes
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic [Lanes*OutW-1:0]   out_code_o
);

  if (OutW < 2 || OutW > 8 || AccW < OutW) begin : gen_bad
    $error("2 <= OutW <= 8, AccW >= OutW");
  end

  localparam int unsigned ProdW = AccW + MulW;
  localparam logic [OutW-1:0] QMax = {1'b0, {(OutW - 1){1'b1}}};

  logic advance, valid_q, valid_q2, valid_q3;
  assign advance = !valid_q3 || out_ready_i;
  assign in_ready_o = advance;
  assign out_valid_o = valid_q3;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      valid_q2 <= 1'b0;
      valid_q3 <= 1'b0;
    end else if (advance) begin
      valid_q <= in_valid_i;
      valid_q2 <= valid_q;
      valid_q3 <= valid_q2;
    end
  end

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic [ProdW-1:0] product, product_q;
    logic [ShiftW-1:0] shift_q;
    sq_mul #(.AW(AccW), .BW(MulW)) u_mul (
      .a_i(in_acc_i[l*AccW +: AccW]), .b_i(in_mul_i[l*MulW +: MulW]), .p_o(product)
    );

    // One bit below the point is kept by the shift; `below` says whether it drops a one.
    logic signed [ProdW:0] wide;
    logic [ProdW:0] moved, dropped;
    logic fits, up;
    assign wide = {product_q, 1'b0};
    assign moved = wide >>> shift_q;
    assign dropped = ~({(ProdW + 1){1'b1}} << shift_q) & wide;
    assign fits = moved[ProdW:OutW] == {(ProdW - OutW + 1){moved[ProdW]}};
    assign up = moved[0] && (|dropped || moved[1]);

    logic fits_q2, negative_q2, up_q2;
    logic [OutW-1:0] floor_q2;
    logic signed [OutW:0] rounded;
    logic [OutW-1:0] code, code_q3;
    assign rounded = (OutW + 1)'($signed(floor_q2)) + (OutW + 1)'(up_q2);
    always_comb begin
      if (!fits_q2) code = negative_q2 ? -QMax : QMax;
      else if (rounded > $signed({1'b0, QMax})) code = QMax;
      else if (rounded < -$signed({1'b0, QMax})) code = -QMax;
      else code = rounded[OutW-1:0];
    end

    always_ff @(posedge clk_i) begin
      if (advance) begin
        product_q <= product;
        shift_q <= in_shift_i[l*ShiftW +: ShiftW];
        fits_q2 <= fits;
        negative_q2 <= moved[ProdW];
        up_q2 <= up;
        floor_q2 <= moved[OutW:1];
        code_q3 <= code;
      end
    end
    assign out_code_o[l*OutW +: OutW] = code_q3;
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, out_code_o)

endmodule
