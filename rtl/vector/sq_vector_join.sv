// SPDX-License-Identifier: Apache-2.0
// Sum of two binary32 values, or the larger one: -0 is below +0, NaN (7fc00000) above all.
module sq_vector_join (
  input  logic        is_sum_i,
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic [31:0] y_o
);

  logic [31:0] sum, a_rank, b_rank;
  sq_fp_add u_sum (.clk_i(1'b0), .en_i(1'b0), .a_i, .b_i, .y_o(sum));
  assign a_rank = {!a_i[31], a_i[31] ? ~a_i[30:0] : a_i[30:0]};
  assign b_rank = {!b_i[31], b_i[31] ? ~b_i[30:0] : b_i[30:0]};
  assign y_o = is_sum_i ? sum : b_rank > a_rank ? b_i : a_i;

endmodule
