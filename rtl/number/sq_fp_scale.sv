// SPDX-License-Identifier: Apache-2.0
// A binary32 value times sig_i * 2^(exp_i - 23), what sq_fp_mul_wide gives: rounded once, to nearest,
// ties to even; subnormals in and out. sig_i = 0 gives a zero, of an infinity NaN;
// every NaN is 7fc00000. Cut = 1: three registers inside, as in sq_fp_mul.
module sq_fp_scale #(
  parameter bit Cut = 1'b0
) (
  input  logic              clk_i,  // Cut
  input  logic              en_i,
  input  logic [31:0]       a_i,
  input  logic [23:0]       sig_i,
  input  logic signed [9:0] exp_i,  // -298 .. 256
  output logic [31:0]       y_o
);

  logic a_sub;
  logic [23:0] a_sig;
  assign a_sub = a_i[30:23] == 8'd0;
  assign a_sig = {!a_sub, a_i[22:0]};

  logic [47:0] product;
  sq_mul_sig #(.Cut(Cut)) u_mul (.clk_i, .en_i, .a_i(a_sig), .b_i(sig_i), .p_o(product));

  // Biased exponent of bit 47, as in sq_fp_mul.
  logic signed [10:0] exp, exp_of;
  logic sign_of;
  logic [31:0] finite;
  assign exp = 11'(a_i[30:23]) + 11'(a_sub) + 11'(exp_i) + 11'd1;
  sq_delay #(.Width(12), .Stages(Cut ? 2 : 0)) u_exp (
    .clk_i, .en_i, .x_i({a_i[31], exp}), .x_o({sign_of, exp_of})
  );
  sq_fp_round #(.SigW(48), .Cut(Cut)) u_round (
    .clk_i, .en_i, .sign_i(sign_of), .exp_i(exp_of), .sig_i(product), .y_o(finite)
  );

  logic is_top, is_nan, sign, nan, infinite;
  assign is_top = a_i[30:23] == 8'hff;
  assign is_nan = is_top && (a_i[22:0] != '0 || sig_i == '0);
  sq_delay #(.Width(3), .Stages(Cut ? 3 : 0)) u_special (
    .clk_i, .en_i, .x_i({is_nan, is_top, a_i[31]}), .x_o({nan, infinite, sign})
  );
  always_comb begin
    if (nan) y_o = 32'h7fc00000;
    else if (infinite) y_o = {sign, 8'hff, 23'd0};
    else y_o = finite;
  end

endmodule
