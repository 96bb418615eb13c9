// SPDX-License-Identifier: Apache-2.0
// A sum of products of two parts, times the scales of its two blocks, added up in binary32 over the
// blocks of a row (SPEC Q.7): what sq_pe_parts has for each pair of parts.
module sq_parts_tail #(
  parameter  int unsigned SumW = 16,
  parameter  int unsigned ActScale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned WeightScale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned Fraction = 0,  // fraction bits of the products
  parameter  int unsigned Sums = 0,
  localparam int unsigned ActSigW = sq_pkg::scale_sig_w(ActScale),
  localparam int unsigned WeightSigW = sq_pkg::scale_sig_w(WeightScale)
) (
  input  logic                   clk_i, en_i,
  input  logic signed [SumW-1:0] sum_i,
  input  logic [ActSigW-1:0]     act_sig_i,
  input  logic [7:0]             act_exp_i,
  input  logic [WeightSigW-1:0]  weight_sig_i,
  input  logic [7:0]             weight_exp_i,
  // as in sq_acc_binary32
  input  logic                   acc_i,
  input  logic                   first_i,
  input  logic                   last_i,
  input  logic [31:0]            begin_i,
  output logic [31:0]            y_o
);

  localparam int unsigned SigW = sq_pkg::pair_sig_w(ActScale, WeightScale);
  localparam int unsigned ExpW = sq_pkg::pair_exp_w(ActScale, WeightScale);
  localparam bit IsWide = ActScale == sq_pkg::SCALE_E8M0 || WeightScale == sq_pkg::SCALE_E8M0;
  logic [SigW-1:0] sig;
  logic signed [ExpW-1:0] exp;
  sq_scale_pair #(
    .ActScale(ActScale), .WeightScale(WeightScale), .Fraction(Fraction)
  ) u_pair (
    .act_sig_i, .act_exp_i, .weight_sig_i, .weight_exp_i, .sig_o(sig), .exp_o(exp)
  );
  sq_acc_binary32 #(.SumW(SumW), .SigW(SigW), .ExpW(ExpW), .IsWide(IsWide), .Sums(Sums)) u_acc (
    .clk_i, .en_i, .sum_i, .sig_i(sig), .exp_i(exp), .acc_i, .first_i, .last_i, .begin_i,
    .y_o
  );

endmodule
