// SPDX-License-Identifier: Apache-2.0
// The signed product as Yosys builds it from `*`: what sq_mul is compared with in reports/area. No
// part of the design.
module synth_mul_star #(
  parameter int unsigned AW = 8,
  parameter int unsigned BW = 8
) (
  input  logic signed [AW-1:0]    a_i,
  input  logic signed [BW-1:0]    b_i,
  output logic signed [AW+BW-1:0] p_o
);

  assign p_o = a_i * b_i;

endmodule
