// SPDX-License-Identifier: Apache-2.0
// Encodes elements of a token, bfloat16, as integers: x / scale is rounded to binary32, then to the nearest integer,
// ties to even (models/core/sq_act_token.h). Six stages, which move with en_i.
//
//   S1       the dividend: the significand, shifted by the difference of the exponents
//   S2..S5   two bits each of the quotient's integer part, by subtraction; one bit each where Bits <= 4
//   S6       the code: a quotient that binary32 rounds to the middle of two integers goes to the even one
module sq_encode_code #(
  parameter int unsigned Lanes = 1,
  parameter int unsigned Bits = 8  // of a code, 2..8
) (
  input  logic                clk_i, en_i,
  input  logic [Lanes*16-1:0] x_i,
  input  logic [23:0]         sig_i,  // of the scale, from sq_encode_scale
  input  logic [7:0]          exp_i,
  output logic [Lanes*Bits-1:0] code_o
);

  if (Bits < 2 || Bits > 8) begin : gen_bad
    $error("Bits = 2..8");
  end

  localparam int unsigned Steps = 4;
  localparam int unsigned PerStep = (Bits > Steps) ? 2 : 1;
  localparam int unsigned QuoW = Steps * PerStep;
  localparam logic [QuoW:0] Most = (QuoW+1)'((1 << (Bits - 1)) - 1);
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
    logic [15:0] x;
    logic [QuoW+7:0] dividend;
    logic [8:0] up;  // exponents' difference and 1, signed
    assign x = x_i[l*16 +: 16];
    assign up = ((x[14:7] == '0) ? 9'd1 : {1'b0, x[14:7]}) + 9'd1 - scale_exp;
    always_comb begin
      dividend = (QuoW+8)'({x[14:7] != '0, x[6:0]});
      if (up[8] || &x[14:7]) dividend = '0;
      else if (32'(up) > QuoW) dividend = dividend << QuoW;
      else dividend = dividend << up[3:0];
    end

    // S2 .. S5: 15 zeros follow the dividend; its bits above the quotient's QuoW bits are the first remainder.
    logic [QuoW+7:0] dividend_q;
    logic [23:0] begin_rest;
    logic [23:0] rest_q[Steps];
    logic [QuoW-1:0] quo_q[Steps];
    logic [Steps:0] minus_q;
    logic [Steps-1:0] most_q;  // the quotient has more than QuoW bits
    assign begin_rest = {1'b0, dividend_q, {(15 - QuoW){1'b0}}};
    always_ff @(posedge clk_i) begin
      if (en_i) begin
        dividend_q <= dividend;
        minus_q <= {minus_q[Steps-1:0], x[15]};
        most_q <= {most_q[Steps-2:0], begin_rest >= sig_q[0]};
      end
    end
    for (genvar s = 0; s < Steps; s++) begin : gen_step
      logic [23:0] rest, left;
      logic [24:0] next;
      logic [PerStep-1:0] bits;  // of the quotient
      logic [QuoW-1:0] quo;
      if (s == 0) begin : gen_begin
        assign rest = begin_rest;
        assign quo = QuoW'(bits);
      end else begin : gen_on
        logic unused_top;
        assign rest = rest_q[s-1];
        assign quo = {quo_q[s-1][QuoW-PerStep-1:0], bits};
        assign unused_top = ^quo_q[s-1][QuoW-1 -: PerStep];
      end
      always_comb begin
        left = rest;
        for (int unsigned i = 0; i < PerStep; i++) begin
          next = {left, 1'b0};
          bits[PerStep-1-i] = next >= {1'b0, sig_q[s]};
          left = bits[PerStep-1-i] ? 24'(next - {1'b0, sig_q[s]}) : next[23:0];
        end
      end
      always_ff @(posedge clk_i) begin
        if (en_i) begin
          rest_q[s] <= left;
          quo_q[s] <= quo;
        end
      end
    end

    // S6
    logic signed [25:0] beyond, near;
    logic is_middle, is_up;
    logic [QuoW:0] rounded;
    logic [Bits-2:0] magnitude;
    assign beyond = $signed({1'b0, rest_q[Steps-1], 1'b0}) - $signed({2'b0, sig_q[Steps]});
    always_comb begin
      near = '0;
      for (int unsigned b = 0; b < QuoW; b++)
        if (quo_q[Steps-1][b]) near = $signed(26'(sig_q[Steps]) >> (23 - b));
    end
    assign is_middle = beyond <= near && beyond >= -near;
    assign is_up = is_middle ? quo_q[Steps-1][0] : !beyond[25];
    assign rounded = {1'b0, quo_q[Steps-1]} + (QuoW+1)'(is_up);
    assign magnitude = (most_q[Steps-1] || rounded > Most) ? Most[Bits-2:0] : rounded[Bits-2:0];
    always_ff @(posedge clk_i) begin
      if (en_i) code_o[l*Bits +: Bits] <= minus_q[Steps] ? -{1'b0, magnitude} : {1'b0, magnitude};
    end
  end

endmodule
