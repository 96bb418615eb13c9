// SPDX-License-Identifier: Apache-2.0
// A signed integer in units of 2^-Fraction as the nearest binary32, ties to even (SPEC A.7, A.9: (float)P).
// Cut: sq_fp_round.
module sq_fp_from_int #(
  parameter int unsigned Width = 32,  // 27..64
  parameter int unsigned Fraction = 0,
  parameter bit          Cut = 1'b0
) (
  input  logic             clk_i,  // Cut
  input  logic             en_i,
  input  logic [Width-1:0] a_i,
  output logic [31:0]      y_o
);

  logic [Width-1:0] magnitude;
  assign magnitude = a_i[Width-1] ? Width'(0) - a_i : a_i;
  sq_fp_round #(.SigW(Width), .Cut(Cut)) u_round (
    .clk_i, .en_i, .sign_i(a_i[Width-1]), .exp_i(11'(126 + Width - Fraction)), .sig_i(magnitude), .y_o
  );

endmodule
