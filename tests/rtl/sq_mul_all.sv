// SPDX-License-Identifier: Apache-2.0
// Every multiplier width of the design side by side, for the exhaustive test.
module sq_mul_all (
  input  logic signed [7:0]  a_i, b_i,
  output logic signed [15:0] p88_o,
  output logic signed [11:0] p84_o, p48_o,
  output logic signed [10:0] p83_o,
  output logic signed [9:0]  p82_o,
  output logic signed [7:0]  p44_o,
  output logic signed [6:0]  p43_o,
  output logic signed [5:0]  p42_o,
  output logic signed [11:0] p66_o,
  output logic signed [13:0] p86_o
);
  sq_mul #(.AW(8), .BW(8)) u_88 (.a_i(a_i), .b_i(b_i), .p_o(p88_o));
  sq_mul #(.AW(8), .BW(4)) u_84 (.a_i(a_i), .b_i(b_i[3:0]), .p_o(p84_o));
  sq_mul #(.AW(4), .BW(8)) u_48 (.a_i(a_i[3:0]), .b_i(b_i), .p_o(p48_o));
  sq_mul #(.AW(8), .BW(3)) u_83 (.a_i(a_i), .b_i(b_i[2:0]), .p_o(p83_o));
  sq_mul #(.AW(8), .BW(2)) u_82 (.a_i(a_i), .b_i(b_i[1:0]), .p_o(p82_o));
  sq_mul #(.AW(4), .BW(4)) u_44 (.a_i(a_i[3:0]), .b_i(b_i[3:0]), .p_o(p44_o));
  sq_mul #(.AW(4), .BW(3)) u_43 (.a_i(a_i[3:0]), .b_i(b_i[2:0]), .p_o(p43_o));
  sq_mul #(.AW(4), .BW(2)) u_42 (.a_i(a_i[3:0]), .b_i(b_i[1:0]), .p_o(p42_o));
  sq_mul #(.AW(6), .BW(6)) u_66 (.a_i(a_i[5:0]), .b_i(b_i[5:0]), .p_o(p66_o));
  sq_mul #(.AW(8), .BW(6)) u_86 (.a_i(a_i), .b_i(b_i[5:0]), .p_o(p86_o));
endmodule
