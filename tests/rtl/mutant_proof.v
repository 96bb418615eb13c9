// SPDX-License-Identifier: Apache-2.0
// For proofs of equal next states: an asynchronous reset as a condition on the next state.
(* techmap_celltype = "$adff" *)
module mutant_proof_adff #(
  parameter WIDTH = 1,
  parameter CLK_POLARITY = 1,
  parameter ARST_POLARITY = 1,
  parameter ARST_VALUE = 0
) (
  input CLK,
  input ARST,
  input [WIDTH-1:0] D,
  output [WIDTH-1:0] Q
);
  wire [WIDTH-1:0] next = (ARST == ARST_POLARITY) ? ARST_VALUE : D;
  \$dff #(.WIDTH(WIDTH), .CLK_POLARITY(CLK_POLARITY)) _TECHMAP_REPLACE_ (
    .CLK(CLK), .D(next), .Q(Q)
  );
endmodule
