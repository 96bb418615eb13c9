// SPDX-License-Identifier: Apache-2.0
// Dense PE, the baseline of area comparisons: one product per element of a bank, output-stationary.
// Operand registers are outside, shared by rows and columns; the tail is that of all PEs.
module sq_pe_dense #(
  parameter  int unsigned Lanes = 16,
  parameter  int unsigned AW = 8,
  parameter  int unsigned BW = 4,
  parameter  int unsigned AccW = 32,
  localparam int unsigned SumW = AW + BW + $clog2(Lanes)
) (
  input  logic                clk_i, en_i,
  input  logic [Lanes*AW-1:0] a_i,
  input  logic [Lanes*BW-1:0] b_i,
  input  logic                acc_i,    // one stage behind the operands, as in sq_acc
  input  logic                first_i,
  input  logic                last_i,
  output logic [AccW-1:0]     p_o
);

  logic signed [SumW-1:0] sum;

  sq_dot #(.Lanes(Lanes), .AW(AW), .BW(BW)) u_dot (.a_i, .b_i, .sum_o(sum));
  sq_acc #(.SumW(SumW), .AccW(AccW)) u_acc (
    .clk_i, .en_i, .sum_i(sum), .acc_i, .first_i, .last_i, .p_o
  );

endmodule
