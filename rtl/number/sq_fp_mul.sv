// SPDX-License-Identifier: Apache-2.0
// Product of two binary32 values, rounded to nearest, ties to even; subnormals in and out. Every NaN
// is 7fc00000.
module sq_fp_mul (
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
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

  logic signed [49:0] product;
  logic unused_product;
  sq_mul #(.AW(25), .BW(25)) u_mul (.a_i({1'b0, a_sig}), .b_i({1'b0, b_sig}), .p_o(product));
  assign unused_product = ^product[49:48];

  // Biased exponent of bit 47, which is the carry of the product: one above the sum.
  logic signed [10:0] exp;
  logic [31:0] finite;
  assign exp = 11'(a_exp) + 11'(a_sub) + 11'(b_exp) + 11'(b_sub) - 11'd126;
  sq_fp_round #(.SigW(48)) u_round (
    .sign_i(a_i[31] ^ b_i[31]), .exp_i(exp), .sig_i(product[47:0]), .y_o(finite)
  );

  logic a_top, b_top, is_nan;
  assign a_top = a_exp == 8'hff;
  assign b_top = b_exp == 8'hff;
  assign is_nan = (a_top && a_i[22:0] != '0) || (b_top && b_i[22:0] != '0) ||
      (a_top && b_i[30:0] == '0) || (b_top && a_i[30:0] == '0);
  always_comb begin
    if (is_nan) y_o = 32'h7fc00000;
    else if (a_top || b_top) y_o = {a_i[31] ^ b_i[31], 8'hff, 23'd0};
    else y_o = finite;
  end

endmodule
