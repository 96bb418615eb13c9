// SPDX-License-Identifier: Apache-2.0
// Sum of two binary32 values, or the larger one: -0 is below +0, NaN (7fc00000) above all. Cut = 1: three registers
// inside; Halved = 1: one inside the sum alone, which is there a cycle after its operands.
module sq_vector_join #(
  parameter bit Cut = 1'b0,
  parameter bit Halved = 1'b0
) (
  input  logic        clk_i,  // Cut, Halved
  input  logic        en_i, is_sum_i,
  input  logic [31:0] a_i, b_i,
  output logic [31:0] y_o
);

  logic [31:0] sum, a_rank, b_rank, larger;
  logic is_sum;
  sq_fp_add #(.Cut(Cut), .Halved(Halved)) u_sum (.clk_i, .en_i, .a_i, .b_i, .y_o(sum));
  assign a_rank = {!a_i[31], a_i[31] ? ~a_i[30:0] : a_i[30:0]};
  assign b_rank = {!b_i[31], b_i[31] ? ~b_i[30:0] : b_i[30:0]};
  sq_delay #(.Width(33), .Stages(Cut ? 3 : 0)) u_larger (
    .clk_i, .en_i, .x_i({is_sum_i, b_rank > a_rank ? b_i : a_i}), .x_o({is_sum, larger})
  );
  assign y_o = is_sum ? sum : larger;

endmodule
