// SPDX-License-Identifier: Apache-2.0
// A signed 32-bit integer as the nearest binary32, ties to even (SPEC A.7: (float)P).
module sq_fp_from_int (
  input  logic [31:0] a_i,
  output logic [31:0] y_o
);

  logic [31:0] magnitude;
  assign magnitude = a_i[31] ? 32'd0 - a_i : a_i;
  sq_fp_round #(.SigW(32)) u_round (
    .sign_i(a_i[31]), .exp_i(11'sd158), .sig_i(magnitude), .y_o
  );

endmodule
