// SPDX-License-Identifier: Apache-2.0
// s * (code - z) in binary16, each operation rounded (SPEC H.2), as two steps that a pipeline may cut:
// d = code - z, and y = s * d. Computed in binary32 and rounded once more, which changes nothing:
// 24 bits are twice 11 and two.
module sq_fp_half_ops (
  // first step
  input  logic [2:0]  code_i,
  input  logic [15:0] z_i,
  output logic [15:0] d_o,
  // second step
  input  logic [15:0] s_i, d_i,
  output logic [15:0] y_o
);

  logic [31:0] code, z, difference, s, d, product;
  always_comb begin
    case (code_i)
      3'd0: code = 32'h00000000;
      3'd1: code = 32'h3f800000;
      3'd2: code = 32'h40000000;
      3'd3: code = 32'h40400000;
      3'd4: code = 32'h40800000;
      3'd5: code = 32'h40a00000;
      3'd6: code = 32'h40c00000;
      default: code = 32'h40e00000;
    endcase
  end
  sq_fp_from_half u_z (.a_i(z_i), .y_o(z));
  sq_fp_add u_difference (
    .clk_i(1'b0), .en_i(1'b0), .a_i(code), .b_i({!z[31], z[30:0]}), .y_o(difference));
  sq_fp_to_half u_d (.a_i(difference), .y_o(d_o));

  sq_fp_from_half u_s (.a_i(s_i), .y_o(s));
  sq_fp_from_half u_in (.a_i(d_i), .y_o(d));
  sq_fp_mul u_product (.clk_i(1'b0), .en_i(1'b0), .a_i(s), .b_i(d), .y_o(product));
  sq_fp_to_half u_y (.a_i(product), .y_o);

endmodule
