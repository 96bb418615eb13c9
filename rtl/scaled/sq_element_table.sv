// SPDX-License-Identifier: Apache-2.0
// The decoder of a table of values (SPEC Q.9), which the program writes: a code and the grid of its block to what is
// multiplied, in units of 2^-1, times 2^shift_i. Combinational. A code that stands for nothing (-) counts as 0.
//
//   code    grid 0    grid 1
//   s000         0         0
//   s001       0.5       0.5
//   s010         1         1
//   s011       1.5       1.5
//   s100         2         2
//   s101         3       2.5
//   s110         4         3
//   s111         6       3.5
// s is the sign.
module sq_element_table #(
  parameter int unsigned Element = 100664524
) (
  input  logic [3:0]        code_i,
  input  logic [1:0]        grid_i,
  input  logic [2:0]        shift_i,
  output logic signed [4:0] element_o,
  output logic              none_o
);

  if (Element != 100664524) begin : gen_bad
    $error("the decoder is that of another table");
  end
  logic [3:0] value;
  always_comb begin
    case ({grid_i[0], code_i[2:0]})
      4'b0_001: value = 4'd1;
      4'b0_010: value = 4'd2;
      4'b0_011: value = 4'd3;
      4'b0_100: value = 4'd4;
      4'b0_101: value = 4'd6;
      4'b0_110: value = 4'd8;
      4'b0_111: value = 4'd12;
      4'b1_001: value = 4'd1;
      4'b1_010: value = 4'd2;
      4'b1_011: value = 4'd3;
      4'b1_100: value = 4'd4;
      4'b1_101: value = 4'd5;
      4'b1_110: value = 4'd6;
      4'b1_111: value = 4'd7;
      default: value = '0;
    endcase
  end
  assign none_o = 1'b0;
  logic [4:0] magnitude;
  assign magnitude = {1'b0, value};
  assign element_o = code_i[3] ? 5'd0 - magnitude : magnitude;
  wire unused_select = ^{grid_i, shift_i};

endmodule
