// SPDX-License-Identifier: Apache-2.0
// The scale of a pair of blocks: a product of significands and a sum of exponents (sq_block_line),
// exact, but that of F32 is rounded to 24 bits; above the
// significand its sign where a scale has one. Fraction: fraction bits of the element products, so that sum * sig_o * 2^exp_o is the value.
// Combinational.
module sq_scale_pair #(
  parameter  int unsigned ActScale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned WeightScale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned Fraction = 0,
  localparam int unsigned ActSigW = sq_pkg::scale_sig_w(ActScale),
  localparam int unsigned WeightSigW = sq_pkg::scale_sig_w(WeightScale),
  localparam int unsigned SigW = sq_pkg::pair_sig_w(ActScale, WeightScale),
  localparam int unsigned ExpW = sq_pkg::pair_exp_w(ActScale, WeightScale)
) (
  input  logic [ActSigW-1:0]     act_sig_i,
  input  logic [7:0]             act_exp_i,
  input  logic [WeightSigW-1:0]  weight_sig_i,
  input  logic [7:0]             weight_exp_i,
  output logic [SigW-1:0]        sig_o,
  output logic signed [ExpW-1:0] exp_o
);

  localparam int unsigned ActMagW = ActSigW - sq_pkg::scale_sign_w(ActScale);
  localparam int unsigned WeightMagW = WeightSigW - sq_pkg::scale_sign_w(WeightScale);
  localparam int unsigned MagW = SigW - sq_pkg::pair_sign_w(ActScale, WeightScale);
  logic sign, unused_sign;  // of the product
  assign unused_sign = sign;
  assign sign = (ActSigW > ActMagW && act_sig_i[ActSigW-1]) ^ (WeightSigW > WeightMagW && weight_sig_i[WeightSigW-1]);
  // What the exponents of the scales and the elements count from.
  localparam int unsigned Base = sq_pkg::scale_fraction(ActScale) + sq_pkg::scale_fraction(WeightScale) + Fraction;
  if (sq_pkg::pair_rounds(ActScale, WeightScale)) begin : gen_rounded
    localparam int unsigned FullW = ActMagW + WeightMagW;
    localparam int unsigned RoundW = FullW < 27 ? 27 : FullW;
    logic signed [FullW+1:0] product;
    logic unused_product;
    logic [31:0] y;
    sq_mul #(.AW(ActMagW + 1), .BW(WeightMagW + 1)) u_mul (
      .a_i({1'b0, act_sig_i[ActMagW-1:0]}), .b_i({1'b0, weight_sig_i[WeightMagW-1:0]}), .p_o(product)
    );
    assign unused_product = ^product[FullW+1:FullW];
    sq_fp_round #(.SigW(RoundW)) u_round (
      .clk_i(1'b0), .en_i(1'b0), .sign_i(sign), .exp_i(11'(127 + FullW - 1)),
      .sig_i(RoundW'(product[FullW-1:0]) << (RoundW - FullW)), .y_o(y)
    );
    assign sig_o = {y[31], y[30:23] != '0, y[22:0]};
    assign exp_o = ExpW'(act_exp_i) + ExpW'(weight_exp_i) + ExpW'(y[30:23]) - ExpW'(150 + Base);
  end else if (ActSigW > 1 && WeightSigW > 1) begin : gen_pair
    logic signed [MagW+1:0] product;
    logic unused_product;
    sq_mul #(.AW(ActMagW + 1), .BW(WeightMagW + 1)) u_mul (
      .a_i({1'b0, act_sig_i[ActMagW-1:0]}), .b_i({1'b0, weight_sig_i[WeightMagW-1:0]}), .p_o(product)
    );
    assign unused_product = ^product[MagW+1:MagW];
    assign sig_o[MagW-1:0] = product[MagW-1:0];
    if (SigW > MagW) begin : gen_sign
      assign sig_o[MagW] = sign;
    end
  end else if (ActSigW > 1) begin : gen_act
    wire unused_sig = weight_sig_i[0];
    assign sig_o = act_sig_i;
  end else if (WeightSigW > 1) begin : gen_weight
    wire unused_sig = act_sig_i[0];
    assign sig_o = weight_sig_i;
  end else begin : gen_one
    wire unused_sig = act_sig_i[0] ^ weight_sig_i[0];
    assign sig_o = 1'b1;
  end

  if (sq_pkg::pair_rounds(ActScale, WeightScale)) begin : gen_of_round
  end else if (ExpW == 10) begin : gen_wide
    assign exp_o = ExpW'(act_exp_i) + ExpW'(weight_exp_i) - ExpW'(Base);
  end else begin : gen_narrow
    localparam int unsigned ActExpW = sq_pkg::scale_exp_w(ActScale);
    localparam int unsigned WeightExpW = sq_pkg::scale_exp_w(WeightScale);
    wire unused_exp = ^{act_exp_i[7:ActExpW], weight_exp_i[7:WeightExpW]};
    assign exp_o = ExpW'(act_exp_i[ActExpW-1:0]) + ExpW'(weight_exp_i[WeightExpW-1:0]) - ExpW'(Base);
  end

endmodule
