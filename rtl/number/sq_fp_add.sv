// SPDX-License-Identifier: Apache-2.0
// Sum of two binary32 values, rounded to nearest, ties to even; subnormals in and out. Exact zeros
// of unlike signs, and differences of equals, are +0. Every NaN is 7fc00000.
module sq_fp_add (
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
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
  logic [27:0] more_sig, less_sig, aligned, sum;
  logic sticky, is_difference;
  assign more_sig = {1'b0, !more_sub, more[22:0], 3'd0};
  assign less_sig = {1'b0, !less_sub, less[22:0], 3'd0};
  assign sticky = |(less_sig & ~({28{1'b1}} << distance));
  assign aligned = {less_sig >> distance} | 28'(sticky);
  assign is_difference = more[31] ^ less[31];
  assign sum = is_difference ? more_sig - aligned : more_sig + aligned;

  logic sign;
  logic [31:0] finite;
  assign sign = sum == '0 ? more[31] && less[31] : more[31];
  sq_fp_round #(.SigW(28)) u_round (
    .sign_i(sign), .exp_i(11'(more[30:23]) + 11'(more_sub) + 11'd1), .sig_i(sum), .y_o(finite)
  );

  logic more_top, is_nan;
  assign more_top = more[30:23] == 8'hff;
  assign is_nan = more_top && (more[22:0] != '0 || (less[30:23] == 8'hff && is_difference));
  always_comb begin
    if (is_nan) y_o = 32'h7fc00000;
    else if (more_top) y_o = {more[31], 8'hff, 23'd0};
    else y_o = finite;
  end

endmodule
