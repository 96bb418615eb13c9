// SPDX-License-Identifier: Apache-2.0
// Product of two scales, binary32, as a significand of 24 bits (to nearest, ties to even) and an
// exponent of any size, so that it neither overflows nor underflows (SPEC Q.7):
//
//   sig_o * 2^(exp_o - 23), sig_o has its top bit set
// A factor that is no scale (zero, negative, no finite number) makes sig_o 0. Cut = 1: three registers inside,
// behind the shifts and as in sq_mul_sig.
module sq_fp_mul_wide #(
  parameter bit Cut = 1'b0
) (
  input  logic              clk_i,  // Cut
  input  logic              en_i,
  input  logic [31:0]       a_i, b_i,
  output logic [23:0]       sig_o,
  output logic signed [9:0] exp_o
);

  // Factors with their leading ones in place: significand * 2^(exponent - 150).
  logic [63:0] factor;
  logic [47:0] sig;
  logic [19:0] exp;
  logic [1:0] is_scale;
  assign factor = {b_i, a_i};
  for (genvar f = 0; f < 2; f++) begin : gen_factor
    logic [31:0] x, top;
    logic [4:0] zeros;
    assign x = factor[f*32 +: 32];
    assign is_scale[f] = !x[31] && x[30:23] != 8'hff && x[30:0] != '0;
    always_comb begin
      top = {x[30:23] != 8'd0, x[22:0], 8'd0};
      for (int unsigned i = 0; i < 5; i++) begin
        zeros[4-i] = top >> (32 - (32'd1 << (4 - i))) == '0;
        if (zeros[4-i]) top = top << (32'd1 << (4 - i));
      end
    end
    assign sig[f*24 +: 24] = top[31:8];
    assign exp[f*10 +: 10] = 10'(x[30:23]) + 10'(x[30:23] == 8'd0) - 10'(zeros);
  end

  logic [47:0] shifted, product;
  logic are_scales;
  logic [9:0] exp_sum, exp_of;
  assign exp_sum = exp[9:0] + exp[19:10] - 10'd254;
  sq_delay #(.Width(48), .Stages(Cut ? 1 : 0)) u_shifted (.clk_i, .en_i, .x_i(sig), .x_o(shifted));
  sq_delay #(.Width(11), .Stages(Cut ? 3 : 0)) u_exp (
    .clk_i, .en_i, .x_i({is_scale == 2'b11, exp_sum}), .x_o({are_scales, exp_of})
  );
  sq_mul_sig #(.Cut(Cut)) u_mul (
    .clk_i, .en_i, .a_i(shifted[23:0]), .b_i(shifted[47:24]), .p_o(product)
  );

  // 1.x or 1x.x; rounding may carry into the next power of two.
  logic carry, half, sticky, up, over;
  logic [23:0] kept;
  logic [24:0] rounded;
  assign carry = product[47];
  assign kept = carry ? product[47:24] : product[46:23];
  assign half = carry ? product[23] : product[22];
  assign sticky = |product[21:0] || (carry && product[22]);
  assign up = half && (sticky || kept[0]);
  assign rounded = {1'b0, kept} + 25'(up);
  assign over = rounded[24];
  assign sig_o = !are_scales ? 24'd0 : over ? 24'h800000 : rounded[23:0];
  // 150 - 23 a factor; a product of two significands of 2^23 has its point at bit 46
  assign exp_o = exp_of + 10'(carry) + 10'(over);

endmodule
