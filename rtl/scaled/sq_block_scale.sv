// SPDX-License-Identifier: Apache-2.0
// The scale of a block from its largest magnitude, bfloat16 without sign: what the elements reach
// at most, Top, divides it (SPEC Q.2, Q.3, Q.5). Combinational, exact.
//
//   E4M3             amax / Top, to nearest, ties to even; 448 at most; in units of 2^-Shift
//   E8M0             the smallest power of two >= amax / Top, 2^-127 at least
//   E8M0, Top = 0    rule ocp of E2M1: 2^(floor(log2 amax) - 2)
module sq_block_scale #(
  parameter int unsigned Scale = sq_pkg::SCALE_E4M3,
  parameter int unsigned Top = 6,  // 4, 6, 7, 15, 119
  parameter int unsigned Shift = 0  // E4M3
) (
  input  logic [14:0] amax_i,
  output logic [7:0]  scale_o
);

  if (Top > 255) begin : gen_bad
    $error("Top <= 255");
  end
  if (Top == 0) begin : gen_ocp
    wire unused_fraction = ^amax_i[6:0];
    assign scale_o = amax_i[14:7] > 8'd2 ? amax_i[14:7] - 8'd2 : 8'd0;
  end else begin : gen_divide
    // Top = Divisor * 2^(TopExp - 7), Divisor in 128 .. 255; then amax / Top is 1.xx * 2^exp. What
    // has no leading one is too small for any scale.
    localparam int unsigned TopExp = $clog2(Top + 1) - 1;
    localparam logic [8:0] Divisor = 9'(Top << (7 - TopExp));
    logic [7:0] sig;
    logic less;
    logic [8:0] numerator;
    logic signed [9:0] exp;
    assign sig = {1'b1, amax_i[6:0]};
    assign less = {1'b0, sig} < Divisor;
    assign numerator = less ? {sig, 1'b0} : {1'b0, sig};
    assign exp = $signed({2'b0, amax_i[14:7]}) - 10'(127 + TopExp - Shift) - 10'(less);

    if (Scale == sq_pkg::SCALE_E8M0) begin : gen_ceil
      logic signed [9:0] code;
      assign code = exp + 10'sd127 + 10'(numerator != Divisor);
      assign scale_o = code < 0 ? 8'd0 : code[7:0];
    end else begin : gen_e4m3
      // Five bits of the quotient, 1.xxxx, and whether anything is left.
      logic [4:0] quotient;
      logic [9:0] rest;
      always_comb begin
        rest = {1'b0, numerator};
        for (int unsigned i = 0; i < 5; i++) begin
          quotient[4-i] = rest >= {1'b0, Divisor};
          if (quotient[4-i]) rest = rest - {1'b0, Divisor};
          rest = rest << 1;
        end
      end
      // Below 2^-6 a subnormal: multiples of 2^-9.
      logic is_sub, sticky, up;
      logic [9:0] down;
      logic [4:0] kept;  // three fraction bits and the one below them
      logic [10:0] code;
      assign is_sub = exp < -10'sd6;
      assign down = is_sub ? 10'(-10'sd6 - exp) : 10'd0;
      assign kept = quotient >> down;
      assign sticky = rest != '0 || |(quotient & ~(5'h1f << down));
      assign up = kept[0] && (sticky || kept[1]);
      assign code = (is_sub ? 11'd0 : 11'(exp + 10'sd6) << 3) + 11'(kept[4:1]) + 11'(up);
      assign scale_o = code > 11'h7e ? 8'h7e : code[7:0];
    end
  end

endmodule
