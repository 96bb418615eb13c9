// SPDX-License-Identifier: Apache-2.0
// A binary16 number as binary32, exact; subnormals become normal, a NaN 7fc00000.
module sq_fp_from_half (
  input  logic [15:0] a_i,
  output logic [31:0] y_o
);

  logic is_top, is_sub;
  assign is_top = &a_i[14:10];
  assign is_sub = a_i[14:10] == '0;

  // A subnormal: its first one goes to bit 10.
  logic [10:0] shifted;
  logic [3:0] zeros;
  always_comb begin
    shifted = {1'b0, a_i[9:0]};
    zeros = '0;
    if (shifted[10:3] == '0) begin
      shifted = {shifted[2:0], 8'd0};
      zeros = 4'd8;
    end
    if (shifted[10:7] == '0) begin
      shifted = {shifted[6:0], 4'd0};
      zeros = zeros + 4'd4;
    end
    if (shifted[10:9] == '0) begin
      shifted = {shifted[8:0], 2'd0};
      zeros = zeros + 4'd2;
    end
    if (!shifted[10]) begin
      shifted = {shifted[9:0], 1'd0};
      zeros = zeros + 4'd1;
    end
  end

  wire unused_one = shifted[10];
  always_comb begin
    if (is_top) y_o = a_i[9:0] == '0 ? {a_i[15], 8'hff, 23'd0} : 32'h7fc00000;
    else if (!is_sub) y_o = {a_i[15], 8'(a_i[14:10]) + 8'd112, a_i[9:0], 13'd0};
    else if (a_i[9:0] == '0) y_o = {a_i[15], 31'd0};
    else y_o = {a_i[15], 8'd113 - 8'(zeros), shifted[9:0], 13'd0};
  end

endmodule
