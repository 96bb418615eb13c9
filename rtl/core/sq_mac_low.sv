// SPDX-License-Identifier: Apache-2.0
// Low path of a PE: L products of low codes and activations, and their sum. Combinational.
// Integers; IsFp = 1: elements of E4M3 and E2M1 as sq_block_line makes them (SPEC A.9).
module sq_mac_low #(
  parameter  int unsigned Lanes = 16,
  parameter  int unsigned ActW = 8,
  parameter  int unsigned LowW = 4,
  parameter  int unsigned IsFp = 0,
  localparam int unsigned ProdW = ActW + LowW,  // (-2^(A-1))(-2^(L-1)) still fits
  localparam int unsigned SumW = IsFp != 0 ?
      sq_pkg::element_dot_w(sq_pkg::ELEMENT_E4M3, sq_pkg::ELEMENT_E2M1, Lanes) :
      ProdW + $clog2(Lanes)
) (
  input  logic [Lanes*ActW-1:0]  act_i,   // lane 0 in the low bits, signed
  input  logic [Lanes*LowW-1:0]  code_i,  // cleaned: 0 where masked
  output logic signed [SumW-1:0] sum_o
);

  if (IsFp != 0) begin : gen_fp
    sq_dot_element #(
      .Lanes(Lanes), .AElement(sq_pkg::ELEMENT_E4M3), .BElement(sq_pkg::ELEMENT_E2M1)
    ) u_dot (.a_i(act_i), .b_i(code_i), .sum_o(sum_o));
  end else begin : gen_integer
    sq_dot #(.Lanes(Lanes), .AW(ActW), .BW(LowW)) u_dot (.a_i(act_i), .b_i(code_i), .sum_o(sum_o));
  end

endmodule
