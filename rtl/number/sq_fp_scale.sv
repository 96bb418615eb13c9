// SPDX-License-Identifier: Apache-2.0
// A binary32 value times sig_i * 2^(exp_i - 23), what sq_fp_mul_wide gives: rounded once, to nearest,
// ties to even; subnormals in and out. Combinational. sig_i = 0 gives a zero, of an infinity NaN;
// every NaN is 7fc00000.
module sq_fp_scale (
  input  logic [31:0]       a_i,
  input  logic [23:0]       sig_i,
  input  logic signed [9:0] exp_i,  // -298 .. 256
  output logic [31:0]       y_o
);

  logic a_sub;
  logic [23:0] a_sig;
  assign a_sub = a_i[30:23] == 8'd0;
  assign a_sig = {!a_sub, a_i[22:0]};

  logic signed [49:0] product;
  logic unused_product;
  sq_mul #(.AW(25), .BW(25)) u_mul (.a_i({1'b0, a_sig}), .b_i({1'b0, sig_i}), .p_o(product));
  assign unused_product = ^product[49:48];

  // Biased exponent of bit 47, as in sq_fp_mul.
  logic signed [10:0] exp;
  logic [31:0] finite;
  assign exp = 11'(a_i[30:23]) + 11'(a_sub) + 11'(exp_i) + 11'd1;
  sq_fp_round #(.SigW(48)) u_round (
    .sign_i(a_i[31]), .exp_i(exp), .sig_i(product[47:0]), .y_o(finite)
  );

  logic is_top, is_nan;
  assign is_top = a_i[30:23] == 8'hff;
  assign is_nan = is_top && (a_i[22:0] != '0 || sig_i == '0);
  always_comb begin
    if (is_nan) y_o = 32'h7fc00000;
    else if (is_top) y_o = {a_i[31], 8'hff, 23'd0};
    else y_o = finite;
  end

endmodule
