// SPDX-License-Identifier: Apache-2.0
// An element, bfloat16, over the scale of its block, as a code: to nearest, ties to even, saturating
// (SPEC Q.1). Combinational, exact: the quotient is made bit by bit, and what is left makes a tie no
// tie.
//
//   HasHigh = 0   code_o is the code; a zero of E2M1 keeps its sign
//   HasHigh = 1   split codes: where high_i, c = 16 H + L in -136 .. 119, code_o = L, upper_o = H;
//                 else code_o is INT4
//   IF4, RAZER    elements of the block are INT4 where signed_i, else E2M1; E2M1 with 5, or -5 where
//                 signed_i, whose code is that of -0
module sq_block_code #(
  parameter  int unsigned Element = sq_pkg::ELEMENT_E2M1,
  parameter  int unsigned Scale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned HasHigh = 0,
  parameter  int unsigned CodeW = sq_pkg::element_code_w(Element)  // INT4: of any integer up to 8
) (
  input  logic [15:0]      x_i,
  input  logic             high_i,
  input  logic             signed_i,  // IF4, RAZER: sign of the scale
  input  logic             none_i,  // scale 0: so is every element
  input  logic [3:0]       sig_i,   // of the scale, 8 .. 15: value sig_i * 2^(exp_i - 130)
  input  logic [7:0]       exp_i,   // E8M0: the code, value 2^(exp_i - 127)
  output logic [CodeW-1:0] code_o,
  output logic [3:0]       upper_o
);

  // |x| / scale in units of 2^-Fraction is `units`, and more where `sticky`.
  localparam bit IsIf4 = Element == sq_pkg::ELEMENT_IF4;
  localparam bit IsRazer = Element == sq_pkg::ELEMENT_RAZER;
  localparam bit IsFloat = Element == sq_pkg::ELEMENT_E2M1 || IsIf4 || IsRazer;
  localparam bit IsDivided = Scale == sq_pkg::SCALE_E4M3;
  localparam int unsigned Fraction = IsFloat ? 2 : 1;
  localparam int unsigned Need = (HasHigh != 0) ? 9 : CodeW + (IsFloat ? 1 : 0);
  localparam int unsigned QuotientW = IsDivided ? Need + 1 : 8;

  logic [7:0] sig, exp;
  assign sig = {x_i[14:7] != '0, x_i[6:0]};
  assign exp = x_i[14:7] == '0 ? 8'd1 : x_i[14:7];

  logic [QuotientW-1:0] quotient;
  logic left;
  if (IsDivided) begin : gen_divide
    logic [Need+3:0] numerator;
    logic [4:0] rest;
    assign numerator = (Need + 4)'(sig) << (Need - 4);
    always_comb begin
      rest = {2'b0, numerator[Need+3 -: 3]};
      for (int unsigned i = 0; i < QuotientW; i++) begin
        rest = {rest[3:0], numerator[Need-i]};
        quotient[Need-i] = rest >= {1'b0, sig_i};
        if (quotient[Need-i]) rest = rest - {1'b0, sig_i};
      end
      left = rest != '0;
    end
  end else begin : gen_power
    wire unused_sig = ^sig_i;
    assign quotient = sig;
    assign left = 1'b0;
  end

  // To units. Values beyond the quotient's bits saturate.
  localparam int unsigned Base = IsDivided ? Need - Fraction : 7 - Fraction;
  logic signed [9:0] down;
  logic is_beyond, sticky;
  logic [QuotientW-1:0] units;
  assign down = 10'(Base) + $signed({2'b0, exp_i}) - $signed({2'b0, exp});
  assign is_beyond = down < 0;
  assign units = quotient >> down;
  assign sticky = left || |(quotient & ~({QuotientW{1'b1}} << down));

  logic sign;
  assign sign = x_i[15];
  if (!IsIf4 && !IsRazer) begin : gen_unsigned
    wire unused_signed = signed_i;
  end
  if (IsFloat) begin : gen_e2m1
    // Above how many of the middles .25, .75, 1.25, 1.75, 2.5, 3.5, 5; ties to the even code.
    logic [6:0] passed;
    logic [2:0] magnitude;
    logic [3:0] e2m1;
    wire unused_high = high_i;
    for (genvar i = 0; i < 7; i++) begin : gen_middle
      localparam int unsigned Middle = (i < 4) ? 2 * i + 1 : (i == 4) ? 10 : (i == 5) ? 14 : 20;
      assign passed[i] = is_beyond || units > QuotientW'(Middle) ||
          (units == QuotientW'(Middle) && (sticky || i % 2 == 1));
    end
    sq_popcount #(.Width(7)) u_count (.bit_i(passed), .count_o(magnitude));
    assign e2m1 = {sign, magnitude};
    assign upper_o = '0;
    if (IsIf4) begin : gen_if4  // the quotient has two fraction bits
      logic [QuotientW-1:0] whole;
      logic [3:0] size, int4;
      assign whole = (units >> 2) + QuotientW'(units[1] && (units[0] || sticky || units[2]));
      assign size = (is_beyond || whole > QuotientW'(7)) ? 4'd7 : whole[3:0];
      assign int4 = sign ? 4'd0 - size : size;
      assign code_o = none_i ? 4'd0 : signed_i ? int4 : e2m1;
    end else if (IsRazer) begin : gen_razer  // between 4.5 and 5.5; no sign of zero
      logic is_fifth;
      assign is_fifth = sign == signed_i && !is_beyond && units < QuotientW'(22) &&
          (units > QuotientW'(18) || (units == QuotientW'(18) && sticky));
      assign code_o = none_i ? 4'd0 : is_fifth ? 4'd8 : magnitude == '0 ? 4'd0 : e2m1;
    end else begin : gen_plain
      assign code_o = none_i ? 4'd0 : e2m1;
    end
  end else begin : gen_int
    localparam logic [QuotientW-1:0] Most = 2 ** (CodeW - 1) - 1;
    logic [QuotientW-1:0] whole;
    logic [CodeW-1:0] low, low_code;
    assign whole = (units >> 1) + QuotientW'(units[0] && (sticky || units[1]));
    assign low = (is_beyond || whole > Most) ? CodeW'(Most) : whole[CodeW-1:0];
    assign low_code = none_i ? '0 : sign ? CodeW'(0) - low : low;
    if (HasHigh != 0) begin : gen_split
      logic [7:0] most, magnitude, biased;  // biased: c + 8, in -128 .. 127
      assign most = sign ? 8'd136 : 8'd119;
      assign magnitude = (is_beyond || whole > QuotientW'(most)) ? most : whole[7:0];
      assign biased = none_i ? 8'd8 : sign ? 8'd8 - magnitude : 8'd8 + magnitude;
      assign code_o = high_i ? {!biased[3], biased[2:0]} : low_code;
      assign upper_o = high_i ? biased[7:4] : 4'd0;
    end else begin : gen_plain
      wire unused_high = high_i;
      assign code_o = low_code;
      assign upper_o = '0;
    end
  end

endmodule
