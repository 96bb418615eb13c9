// SPDX-License-Identifier: Apache-2.0
// The functions of a lane of the vector unit (SPEC R.4): x as it is, e^x, 1 / x, 1 / sqrt(x). Latency 6, a value a
// cycle; the caller moves the stages.
//
//   x * log2(e) | place: segment, u, exponent | segment's c0 c1 c2 | c1 + c2 u | c0 + (c1 + c2 u) u | rounded
module sq_vector_func (
  input  logic        clk_i,
  input  logic        advance_i,
  input  logic [1:0]  f_i,  // sq_pkg::VECTOR_*
  input  logic [31:0] x_i,
  output logic [31:0] y_o
);

  localparam int unsigned UW = 22;  // of u

  // ---- x log2(e), in units of 2^-28 once it is shifted

  logic signed [57:0] product;
  logic [55:0] product_q;
  logic [31:0] x_q;
  logic [1:0] f_q;
  sq_mul #(.AW(25), .BW(33)) u_log2_e (
    .a_i({1'b0, x_i[30:23] != 8'd0, x_i[22:0]}), .b_i({1'b0, 32'hb8aa3b29}), .p_o(product)
  );
  logic unused_product;
  assign unused_product = ^product[57:56];
  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      product_q <= product[55:0];
      x_q <= x_i;
      f_q <= f_i;
    end
  end

  // ---- where x lies: function and segment, u, biased exponent of the result's 1

  logic [7:0] e;
  logic is_minus, is_odd, unused_high;
  logic [35:0] magnitude;
  logic [36:0] z;
  logic [55:0] shifted;
  assign e = x_q[30:23];
  assign is_minus = x_q[31];
  assign is_odd = !e[0];
  assign shifted = product_q >> (8'd153 - e);  // e <= 133
  assign magnitude = shifted[35:0];
  assign unused_high = ^shifted[55:36];
  assign z = is_minus ? 37'd0 - {1'b0, magnitude} : {1'b0, magnitude};

  logic [8:0] place, place_q;
  logic [UW-1:0] u, u_q, u_q2, u_q3;
  logic signed [10:0] exp, exp_q, exp_q2, exp_q3, exp_q4;
  always_comb begin
    place = {f_q, 1'b0, z[27:22]};
    u = z[21:0];
    exp = {{2{z[36]}}, z[36:28]} + 11'd127;
    case (f_q)
      sq_pkg::VECTOR_RECIPROCAL: begin
        place = {f_q, x_q[22:16]};
        u = {x_q[15:0], 6'd0};
        exp = 11'd254 - 11'(e);
      end
      sq_pkg::VECTOR_RSQRT: begin
        place = {f_q, is_odd, x_q[22:17]};
        u = {x_q[16:0], 5'd0};
        exp = (11'd381 - 11'(e) + 11'(is_odd)) >> 1;
      end
      default: ;
    endcase
  end

  // Results that no polynomial gives: x itself, zeros, infinities, NaN.
  logic is_nan, is_given, sign;
  logic [31:0] given;
  logic [3:0] is_given_q, sign_q;
  logic [31:0] given_q, given_q2, given_q3, given_q4;
  assign is_nan = e == 8'hff && x_q[22:0] != '0;
  assign sign = is_minus && f_q == sq_pkg::VECTOR_RECIPROCAL;
  always_comb begin
    is_given = 1'b1;
    given = x_q;
    if (is_nan) begin
      given = 32'h7fc00000;
    end else begin
      case (f_q)
        sq_pkg::VECTOR_EXP: begin
          is_given = e > 8'd133;
          given = is_minus ? 32'd0 : 32'h7f800000;
        end
        sq_pkg::VECTOR_RECIPROCAL: begin
          is_given = e == 8'd0 || e == 8'hff;
          given = {is_minus, e == 8'd0 ? 31'h7f800000 : 31'd0};
        end
        sq_pkg::VECTOR_RSQRT: begin
          is_given = e == 8'd0 || e == 8'hff || is_minus;
          if (e == 8'd0) given = {is_minus, 31'h7f800000};
          else given = is_minus ? 32'h7fc00000 : 32'd0;
        end
        default: ;
      endcase
    end
  end

  // ---- the quadratic

  logic [28:0] c0, c0_q, c0_q2;
  logic signed [23:0] c1, c1_q, slope, slope_q;
  logic [14:0] c2, c2_q;
  logic signed [30:0] bend;
  logic signed [46:0] rise;
  logic [28:0] p_q;
  logic unused_rounded;
  sq_vector_table u_table (.place_i(place_q), .c0_o(c0), .c1_o(c1), .c2_o(c2));
  sq_mul #(.AW(16), .BW(15)) u_bend (
    .a_i({1'b0, c2_q}), .b_i({1'b0, u_q2[UW-1:8]}), .p_o(bend)
  );
  assign slope = c1_q + $signed({9'd0, bend[28:14]});
  sq_mul #(.AW(24), .BW(UW + 1)) u_rise (.a_i(slope_q), .b_i({1'b0, u_q3}), .p_o(rise));
  assign unused_rounded = ^{rise[46], rise[UW-1:0], bend[30:29], bend[13:0]};
  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      {place_q, u_q} <= {place, u};
      {exp_q4, exp_q3, exp_q2, exp_q} <= {exp_q3, exp_q2, exp_q, exp};
      {given_q4, given_q3, given_q2, given_q} <= {given_q3, given_q2, given_q, given};
      is_given_q <= {is_given_q[2:0], is_given};
      sign_q <= {sign_q[2:0], sign};
      {c0_q, c1_q, c2_q, u_q2} <= {c0, c1, c2, u_q};
      {c0_q2, slope_q, u_q3} <= {c0_q, slope, u_q2};
      p_q <= c0_q2 + {{5{rise[45]}}, rise[45:UW]};
    end
  end

  logic [31:0] rounded, y_q;
  sq_fp_round #(.SigW(29)) u_round (
    .clk_i(1'b0), .en_i(1'b0), .sign_i(sign_q[3]), .exp_i(exp_q4), .sig_i(p_q), .y_o(rounded)
  );
  always_ff @(posedge clk_i) if (advance_i) y_q <= is_given_q[3] ? given_q4 : rounded;
  assign y_o = y_q;

endmodule
