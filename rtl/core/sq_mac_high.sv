// SPDX-License-Identifier: Apache-2.0
// High path of a PE: H products of high codes and gathered activations, and their sum.
// Combinational. Lanes beyond the last slot of a bank see activation 0, so their code is ignored.
// Integers; IsFp = 1: elements of E4M3 and E4M3 as sq_block_line makes them (SPEC A.9).
module sq_mac_high #(
  parameter  int unsigned Lanes = 4,
  parameter  int unsigned ActW = 8,
  parameter  int unsigned HighW = 8,
  parameter  int unsigned IsFp = 0,
  localparam int unsigned ProdW = ActW + HighW,
  localparam int unsigned SumW = IsFp != 0 ?
      sq_pkg::element_dot_w(sq_pkg::ELEMENT_E4M3, sq_pkg::ELEMENT_E4M3, Lanes) :
      ProdW + $clog2(Lanes)
) (
  input  logic [Lanes*ActW-1:0]  act_i,   // gathered, lane 0 in the low bits, signed
  input  logic [Lanes*HighW-1:0] code_i,  // signed
  output logic signed [SumW-1:0] sum_o
);

  if (IsFp != 0) begin : gen_fp
    sq_dot_element #(
      .Lanes(Lanes), .AElement(sq_pkg::ELEMENT_E4M3), .BElement(sq_pkg::ELEMENT_E4M3)
    ) u_dot (.a_i(act_i), .b_i(code_i), .sum_o(sum_o));
  end else begin : gen_integer
    sq_dot #(.Lanes(Lanes), .AW(ActW), .BW(HighW)) u_dot (.a_i(act_i), .b_i(code_i), .sum_o(sum_o));
  end

endmodule
