// SPDX-License-Identifier: Apache-2.0
// A binary32 number as the nearest binary16 (SPEC N.1), ties to even, subnormals kept, infinity
// beyond the range; a NaN 7e00.
module sq_fp_to_half (
  input  logic [31:0] a_i,
  output logic [15:0] y_o
);

  // Below 2^-14 the point moves up to 13 places more, and with it all is lost below 2^-25.
  logic is_sub, is_lost;
  logic [7:0] exponent;
  logic [3:0] down;
  assign exponent = a_i[30:23];
  assign is_sub = exponent < 8'd113;
  assign is_lost = exponent < 8'd102;
  assign down = is_sub && !is_lost ? 4'(8'd113 - exponent) : 4'd0;

  // 11 bits and one below them; what is dropped.
  logic [23:0] significand;
  logic [11:0] kept;
  logic sticky, up;
  assign significand = {exponent != '0, a_i[22:0]};
  assign kept = 12'(significand[23:12] >> down);
  assign sticky = |significand[11:0] || |(significand[23:12] & ~({12{1'b1}} << down));
  assign up = kept[0] && (sticky || kept[1]);

  // The carry of the fraction goes into the exponent.
  logic [4:0] biased;
  logic [14:0] rounded;
  assign biased = is_sub ? 5'd0 : 5'(exponent - 8'd112);
  assign rounded = {biased, kept[10:1]} + 15'(up);
  wire unused_one = kept[11];

  always_comb begin
    if (exponent == 8'hff) y_o = a_i[22:0] == '0 ? {a_i[31], 15'h7c00} : 16'h7e00;
    else if (is_lost) y_o = {a_i[31], 15'd0};
    else if (exponent > 8'd142) y_o = {a_i[31], 15'h7c00};
    else y_o = {a_i[31], rounded};
  end

endmodule
