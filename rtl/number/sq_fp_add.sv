// SPDX-License-Identifier: Apache-2.0
// Sum of two binary32 values, rounded to nearest, ties to even; subnormals in and out. Exact zeros
// of unlike signs, and differences of equals, are +0. Every NaN is 7fc00000. Cut = 1: three registers inside, of
// the operands in order, of their sum, and of sq_fp_round. Halved = 1: that of the sum alone.
module sq_fp_add #(
  parameter bit Cut = 1'b0,
  parameter bit Halved = 1'b0
) (
  input  logic        clk_i,  // Cut, Halved
  input  logic        en_i,
  input  logic [31:0] a_i, b_i,
  output logic [31:0] y_o
);

  // The larger magnitude first.
  logic swap;
  logic [31:0] more, less;
  assign swap = b_i[30:0] > a_i[30:0];
  assign more = swap ? b_i : a_i;
  assign less = swap ? a_i : b_i;

  logic more_sub, less_sub;
  logic [7:0] distance;
  assign more_sub = more[30:23] == 8'd0;
  assign less_sub = less[30:23] == 8'd0;
  assign distance = more[30:23] + 8'(more_sub) - less[30:23] - 8'(less_sub);

  // Carry, 24 bits, guard, round and sticky: enough for a sum that is rounded once.
  logic [27:0] more_sig, less_sig, more_of, less_of, aligned, sum, sum_of;
  logic [7:0] distance_of;
  logic is_difference, is_less_off, are_negative, is_negative, sticky, sign;
  logic [10:0] exp, exp_of;
  logic [31:0] finite;
  assign more_sig = {1'b0, !more_sub, more[22:0], 3'd0};
  assign less_sig = {1'b0, !less_sub, less[22:0], 3'd0};
  assign is_difference = more[31] ^ less[31];
  sq_delay #(.Width(65), .Stages(Cut ? 1 : 0)) u_ordered (
    .clk_i, .en_i, .x_i({more_sig, less_sig, distance, is_difference}),
    .x_o({more_of, less_of, distance_of, is_less_off})
  );
  assign sticky = |(less_of & ~({28{1'b1}} << distance_of));
  assign aligned = {less_of >> distance_of} | 28'(sticky);
  assign sum = is_less_off ? more_of - aligned : more_of + aligned;
  sq_delay #(.Width(28), .Stages(Cut || Halved ? 1 : 0)) u_sum (.clk_i, .en_i, .x_i(sum), .x_o(sum_of));
  assign exp = 11'(more[30:23]) + 11'(more_sub) + 11'd1;
  sq_delay #(.Width(13), .Stages(Cut ? 2 : Halved ? 1 : 0)) u_exp (
    .clk_i, .en_i, .x_i({more[31], more[31] && less[31], exp}), .x_o({is_negative, are_negative, exp_of})
  );
  assign sign = sum_of == '0 ? are_negative : is_negative;
  sq_fp_round #(.SigW(28), .Cut(Cut)) u_round (
    .clk_i, .en_i, .sign_i(sign), .exp_i(exp_of), .sig_i(sum_of), .y_o(finite)
  );

  logic more_top, is_nan, nan, infinite, sign_of;
  assign more_top = more[30:23] == 8'hff;
  assign is_nan = more_top && (more[22:0] != '0 || (less[30:23] == 8'hff && is_difference));
  sq_delay #(.Width(3), .Stages(Cut ? 3 : Halved ? 1 : 0)) u_special (
    .clk_i, .en_i, .x_i({is_nan, more_top, more[31]}), .x_o({nan, infinite, sign_of})
  );
  always_comb begin
    if (nan) y_o = 32'h7fc00000;
    else if (infinite) y_o = {sign_of, 8'hff, 23'd0};
    else y_o = finite;
  end

endmodule
