// SPDX-License-Identifier: Apache-2.0
// High path of a PE: H products of high codes and gathered activations, and their sum.
// Combinational. Lanes beyond the last slot of a bank see activation 0, so their code is ignored.
module sq_mac_high #(
  parameter  int unsigned Lanes = 4,
  parameter  int unsigned ActW = 8,
  parameter  int unsigned HighW = 8,
  localparam int unsigned ProdW = ActW + HighW,
  localparam int unsigned SumW = ProdW + $clog2(Lanes)
) (
  input  logic [Lanes*ActW-1:0]  act_i,   // gathered, lane 0 in the low bits, signed
  input  logic [Lanes*HighW-1:0] code_i,  // signed
  output logic signed [SumW-1:0] sum_o
);

  sq_dot #(.Lanes(Lanes), .AW(ActW), .BW(HighW)) u_dot (.a_i(act_i), .b_i(code_i), .sum_o(sum_o));

endmodule
