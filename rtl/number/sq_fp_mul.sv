// SPDX-License-Identifier: Apache-2.0
// Product of two binary32 values, rounded to nearest, ties to even; subnormals in and out. Every NaN
// is 7fc00000. Cut = 1: three registers inside (sq_mul_sig, sq_fp_round).
module sq_fp_mul #(
  parameter bit Cut = 1'b0
) (
  input  logic        clk_i,  // Cut
  input  logic        en_i,
  input  logic [31:0] a_i, b_i,
  output logic [31:0] y_o
);

  logic [7:0] a_exp, b_exp;
  logic [23:0] a_sig, b_sig;
  logic a_sub, b_sub;
  assign a_exp = a_i[30:23];
  assign b_exp = b_i[30:23];
  assign a_sub = a_exp == 8'd0;
  assign b_sub = b_exp == 8'd0;
  assign a_sig = {!a_sub, a_i[22:0]};
  assign b_sig = {!b_sub, b_i[22:0]};

  logic [47:0] product;
  sq_mul_sig #(.Cut(Cut)) u_mul (.clk_i, .en_i, .a_i(a_sig), .b_i(b_sig), .p_o(product));

  // Biased exponent of bit 47, which is the carry of the product: one above the sum.
  logic signed [10:0] exp, exp_of;
  logic sign_of;
  logic [31:0] finite;
  assign exp = 11'(a_exp) + 11'(a_sub) + 11'(b_exp) + 11'(b_sub) - 11'd126;
  sq_delay #(.Width(12), .Stages(Cut ? 2 : 0)) u_exp (
    .clk_i, .en_i, .x_i({a_i[31] ^ b_i[31], exp}), .x_o({sign_of, exp_of})
  );
  sq_fp_round #(.SigW(48), .Cut(Cut)) u_round (
    .clk_i, .en_i, .sign_i(sign_of), .exp_i(exp_of), .sig_i(product), .y_o(finite)
  );

  logic a_top, b_top, is_nan, sign, nan, infinite;
  assign a_top = a_exp == 8'hff;
  assign b_top = b_exp == 8'hff;
  assign is_nan = (a_top && a_i[22:0] != '0) || (b_top && b_i[22:0] != '0) ||
      (a_top && b_i[30:0] == '0) || (b_top && a_i[30:0] == '0);
  sq_delay #(.Width(3), .Stages(Cut ? 3 : 0)) u_special (
    .clk_i, .en_i, .x_i({is_nan, a_top || b_top, a_i[31] ^ b_i[31]}), .x_o({nan, infinite, sign})
  );
  always_comb begin
    if (nan) y_o = 32'h7fc00000;
    else if (infinite) y_o = {sign, 8'hff, 23'd0};
    else y_o = finite;
  end

endmodule
