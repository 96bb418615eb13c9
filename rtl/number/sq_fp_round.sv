// SPDX-License-Identifier: Apache-2.0
// The end of every binary32 operation: sign, exponent and an exact significand become the nearest
// binary32, ties to even, subnormals kept, infinity beyond the range.
//
//   value = (-1)^sign_i * sig_i * 2^(exp_i - 127 - (SigW - 1)),   SigW >= 27
//
// so that a significand with its top bit set has the biased exponent exp_i. What lies below the
// lowest bit of sig_i is or'ed into that bit by the caller (sticky). Cut = 1: a register in the middle, where
// the significand has its top bit set.
module sq_fp_round #(
  parameter int unsigned SigW = 32,
  parameter bit          Cut = 1'b0
) (
  input  logic               clk_i,  // Cut
  input  logic               en_i, sign_i,
  input  logic signed [10:0] exp_i,  // -500 .. 500
  input  logic [SigW-1:0]    sig_i,
  output logic [31:0]        y_o
);

  // To the top, by powers of two: leading zeros are counted on the way.
  localparam int unsigned Steps = $clog2(SigW);
  logic [SigW-1:0] top;
  logic [Steps-1:0] zeros;
  always_comb begin
    top = sig_i;
    for (int unsigned i = 0; i < Steps; i++) begin
      zeros[Steps-1-i] = top >> (SigW - (32'd1 << (Steps - 1 - i))) == '0;
      if (zeros[Steps-1-i]) top = top << (32'd1 << (Steps - 1 - i));
    end
  end

  // Back again where that takes the exponent below 1: a subnormal has no leading one.
  logic signed [10:0] from, exp, down;
  logic [Steps-1:0] shift;
  logic is_sub, is_less, sign, sticky, up;
  logic [24:0] kept;
  logic [23:0] moved;  // without the leading one
  sq_delay #(.Width(1 + 11 + Steps + 25 + 1), .Stages(Cut ? 1 : 0)) u_top (
    .clk_i, .en_i, .x_i({sign_i, exp_i, zeros, top[SigW-1 -: 25], |top[SigW-26:0]}),
    .x_o({sign, from, shift, kept, is_less})
  );
  assign exp = from - 11'(shift);
  assign is_sub = exp <= 0;
  assign down = is_sub ? 11'sd1 - exp : 11'sd0;
  assign moved = 24'(kept >> down);
  assign sticky = is_less || |(kept & ~({25{1'b1}} << down));
  assign up = moved[0] && (sticky || moved[1]);

  // The carry of the fraction goes into the exponent: subnormal to normal, largest to infinity.
  // With Cut the high half is there with and without the carry out of the low one.
  logic [30:0] unrounded, rounded;
  assign unrounded = {is_sub ? 8'd0 : exp[7:0], moved[23:1]};
  if (Cut) begin : gen_halves
    assign rounded = {up && unrounded[14:0] == '1 ? unrounded[30:15] + 1'b1 : unrounded[30:15], unrounded[14:0] + 15'(up)};
  end else begin : gen_whole
    assign rounded = unrounded + 31'(up);
  end
  always_comb begin
    if (!kept[24]) y_o = {sign, 31'd0};
    else if (exp >= 255) y_o = {sign, 8'hff, 23'd0};
    else y_o = {sign, rounded};
  end

endmodule
