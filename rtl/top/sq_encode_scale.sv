// SPDX-License-Identifier: Apache-2.0
// The scale of a token from its largest magnitude, bfloat16 without sign: amax / the largest code in binary32, 1 where
// amax is 0 (models/core/sq_act_token.h). One bit of the quotient a cycle.
//
//   load_i   takes amax_i; then 32 cycles with step_i, and one with round_i, behind which the scale stands
module sq_encode_scale #(
  parameter int unsigned Bits = 8  // of a code, 2..8; the largest is 127 at 8
) (
  input  logic        clk_i, load_i, step_i, round_i,
  input  logic [14:0] amax_i,
  output logic [23:0] sig_o,  // from 2^23 on, unless exp_o is 0
  output logic [7:0]  exp_o
);

  if (Bits < 2 || Bits > 8) begin : gen_bad
    $error("Bits = 2..8");
  end

  // The divisor has seven bits: what it is too large by goes into the exponent.
  localparam logic [8:0] Up = 9'd8 - 9'(Bits);
  localparam logic [7:0] Divisor = 8'(((1 << (Bits - 1)) - 1) << Up);
  logic [7:0] next, drop;
  logic [8:0] exp;
  logic [7:0] num_q;  // bits of the dividend that are to come; behind them zeros
  logic [6:0] rest_q;
  logic [25:0] quo_q;  // 24 bits behind the point
  logic fits, is_two, half, more;
  logic [25:0] kept, below;
  logic [23:0] sig;

  assign exp = ((amax_i[14:7] == '0) ? 9'd1 : {1'b0, amax_i[14:7]}) + Up;
  assign next = {rest_q, num_q[7]};
  assign fits = next >= Divisor;

  // One or two bits are too many where the scale stays normal, more where it does not.
  assign is_two = quo_q[25];
  assign drop = (exp < 9'd8) ? 8'd9 - exp[7:0] : is_two ? 8'd2 : 8'd1;
  assign kept = quo_q >> drop;
  assign below = quo_q & ~({26{1'b1}} << drop);
  assign half = |(below & (26'd1 << (drop - 1'b1)));
  assign more = rest_q != '0 || (below & ~(26'd1 << (drop - 1'b1))) != '0;
  assign sig = kept[23:0] + 24'(half && (more || kept[0]));

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      num_q <= {amax_i[14:7] != '0, amax_i[6:0]};
      rest_q <= '0;
      quo_q <= '0;
    end else if (step_i) begin
      num_q <= num_q << 1;
      rest_q <= fits ? 7'(next - Divisor) : next[6:0];
      quo_q <= {quo_q[24:0], fits};
    end
    if (round_i) begin
      sig_o <= (amax_i == '0) ? 24'h800000 : sig;
      exp_o <= (amax_i == '0) ? 8'd127 : (exp < 9'd8) ? {7'd0, sig[23]} : 8'(exp - (is_two ? 9'd6 : 9'd7));
    end
  end

  wire unused_kept = ^kept[25:24];

endmodule
