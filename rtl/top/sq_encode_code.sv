// SPDX-License-Identifier: Apache-2.0
// Elements of a token, bfloat16, to INT8 codes at its scale: x / scale as binary32 rounds it, then to the nearest integer,
// ties to even (models/core/sq_act_token.h). Six stages, which move with en_i.
//
//   S1       the dividend: the significand, moved by the difference of the exponents
//   S2..S5   two bits each of the quotient's integer, by subtraction
//   S6       the code: nearer to the middle of two integers than half the last place of binary32 is the middle
module sq_encode_code #(
  parameter int unsigned Lanes = 1
) (
  input  logic                clk_i,
  input  logic                en_i,
  input  logic [Lanes*16-1:0] x_i,
  input  logic [23:0]         sig_i,  // of the scale, from sq_encode_scale
  input  logic [7:0]          exp_i,
  output logic [Lanes*8-1:0]  code_o
);

  localparam int unsigned Steps = 4;
  logic [23:0] sig_q[Steps + 1];
  logic [8:0] scale_exp;
  assign scale_exp = (exp_i == '0) ? 9'd1 : {1'b0, exp_i};
  always_ff @(posedge clk_i) begin
    if (en_i) begin
      sig_q[0] <= sig_i;
      for (int unsigned s = 0; s < Steps; s++) sig_q[s+1] <= sig_q[s];
    end
  end

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    // S1
    logic [15:0] x, dividend;
    logic [8:0] up;  // exponents' difference and 1, signed
    assign x = x_i[l*16 +: 16];
    assign up = ((x[14:7] == '0) ? 9'd1 : {1'b0, x[14:7]}) + 9'd1 - scale_exp;
    always_comb begin
      dividend = {8'd0, x[14:7] != '0, x[6:0]};
      if (up[8] || &x[14:7]) dividend = '0;
      else if (up > 9'd8) dividend = dividend << 8;
      else dividend = dividend << up[3:0];
    end

    // S2 .. S5: the dividend has 15 zeros behind it; what lies above the eighth bit of the quotient begins the remainder.
    logic [15:0] dividend_q;
    logic [23:0] rest_q[Steps];
    logic [7:0] quo_q[Steps];
    logic [Steps:0] minus_q;
    logic [Steps-1:0] most_q;  // more than eight bits of a quotient
    always_ff @(posedge clk_i) begin
      if (en_i) begin
        dividend_q <= dividend;
        minus_q <= {minus_q[Steps-1:0], x[15]};
        most_q <= {most_q[Steps-2:0], {1'b0, dividend_q, 7'd0} >= sig_q[0]};
      end
    end
    for (genvar s = 0; s < Steps; s++) begin : gen_step
      logic [24:0] first, second;
      logic [23:0] rest, left;
      logic [5:0] quo;
      logic high, low;  // bits of the quotient
      if (s == 0) begin : gen_begin
        assign rest = {1'b0, dividend_q, 7'd0};
        assign quo = '0;
      end else begin : gen_on
        logic unused_top;
        assign rest = rest_q[s-1];
        assign quo = quo_q[s-1][5:0];
        assign unused_top = ^quo_q[s-1][7:6];
      end
      assign first = {rest, 1'b0};
      assign high = first >= {1'b0, sig_q[s]};
      assign left = high ? 24'(first - {1'b0, sig_q[s]}) : first[23:0];
      assign second = {left, 1'b0};
      assign low = second >= {1'b0, sig_q[s]};
      always_ff @(posedge clk_i) begin
        if (en_i) begin
          rest_q[s] <= low ? 24'(second - {1'b0, sig_q[s]}) : second[23:0];
          quo_q[s] <= {quo, high, low};
        end
      end
    end

    // S6
    logic signed [25:0] beyond, near;
    logic is_middle, is_up;
    logic [8:0] rounded;
    logic [6:0] magnitude;
    assign beyond = $signed({1'b0, rest_q[Steps-1], 1'b0}) - $signed({2'b0, sig_q[Steps]});
    always_comb begin
      near = '0;
      for (int unsigned b = 0; b < 8; b++)
        if (quo_q[Steps-1][b]) near = $signed(26'(sig_q[Steps]) >> (23 - b));
    end
    assign is_middle = beyond <= near && beyond >= -near;
    assign is_up = is_middle ? quo_q[Steps-1][0] : !beyond[25];
    assign rounded = {1'b0, quo_q[Steps-1]} + 9'(is_up);
    assign magnitude = (most_q[Steps-1] || rounded > 9'd127) ? 7'd127 : rounded[6:0];
    always_ff @(posedge clk_i) begin
      if (en_i) code_o[l*8 +: 8] <= minus_q[Steps] ? -{1'b0, magnitude} : {1'b0, magnitude};
    end
  end

endmodule
