// SPDX-License-Identifier: Apache-2.0
// The functions of a lane of the vector unit (SPEC R.4): x as it is, e^x, 1 / x, 1 / sqrt(x). Latency 6, a value a
// cycle; the caller moves the stages.
//
//   x * log2(e) | place: segment, u, exponent | segment's c0 c1 c2 | c1 + c2 u | c0 + (c1 + c2 u) u | rounded
// Cut = 1: latency 9, with registers inside the first, fifth and sixth stage.
module sq_vector_func #(
  parameter bit Cut = 1'b0
) (
  input  logic        clk_i, advance_i,
  input  logic [1:0]  f_i,  // sq_pkg::VECTOR_*
  input  logic [31:0] x_i,
  output logic [31:0] y_o
);

  localparam int unsigned UW = 22;  // of u

  // ---- x log2(e), in units of 2^-28 once it is shifted

  localparam int unsigned C = Cut ? 1 : 0;
  logic [55:0] product, product_q;
  logic [31:0] x_q;
  logic [1:0] f_q;
  logic [24:0] sig;
  assign sig = {1'b0, x_i[30:23] != 8'd0, x_i[22:0]};
  if (Cut) begin : gen_halves
    logic signed [41:0] low, high;
    logic [39:0] low_q, high_q;
    logic unused_signs;
    sq_mul #(.AW(25), .BW(17)) u_low (.a_i(sig), .b_i(17'h03b29), .p_o(low));
    sq_mul #(.AW(25), .BW(17)) u_high (.a_i(sig), .b_i(17'h0b8aa), .p_o(high));
    assign unused_signs = ^{low[41:40], high[41:40]};
    sq_delay #(.Width(80)) u_product (
      .clk_i, .en_i(advance_i), .x_i({high[39:0], low[39:0]}), .x_o({high_q, low_q})
    );
    assign product = {high_q + 40'(low_q[39:16]), low_q[15:0]};
  end else begin : gen_whole
    logic signed [57:0] whole;
    logic unused_signs;
    sq_mul #(.AW(25), .BW(33)) u_log2_e (.a_i(sig), .b_i({1'b0, 32'hb8aa3b29}), .p_o(whole));
    assign unused_signs = ^whole[57:56];
    assign product = whole[55:0];
  end
  sq_delay #(.Width(34), .Stages(1 + C)) u_x (
    .clk_i, .en_i(advance_i), .x_i({f_i, x_i}), .x_o({f_q, x_q})
  );
  always_ff @(posedge clk_i) if (advance_i) product_q <= product;

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
  logic signed [10:0] exp, exp_of;  // where it enters, and beside p
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
  logic is_nan, is_given, is_given_of, sign, sign_of;
  logic [31:0] given, given_of;
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

  logic [28:0] c0, c0_q, c0_q2, c0_of;
  logic signed [23:0] c1, c1_q, slope, slope_q;
  logic [14:0] c2, c2_q;
  logic signed [30:0] bend;
  logic [24:0] rise;  // without the bits below p's
  logic [28:0] p_q;
  sq_vector_table u_table (.place_i(place_q), .c0_o(c0), .c1_o(c1), .c2_o(c2));
  sq_mul #(.AW(16), .BW(15)) u_bend (
    .a_i({1'b0, c2_q}), .b_i({1'b0, u_q2[UW-1:8]}), .p_o(bend)
  );
  wire unused_bend = ^{bend[30:29], bend[13:0]};
  assign slope = c1_q + $signed({9'd0, bend[28:14]});
  if (Cut) begin : gen_rise_halves
    logic signed [35:0] low, high, low_q, high_q, sum;
    logic unused_rise;
    sq_mul #(.AW(24), .BW(12)) u_low (.a_i(slope_q), .b_i({1'b0, u_q3[10:0]}), .p_o(low));
    sq_mul #(.AW(24), .BW(12)) u_high (.a_i(slope_q), .b_i({1'b0, u_q3[21:11]}), .p_o(high));
    sq_delay #(.Width(72)) u_halves (
      .clk_i, .en_i(advance_i), .x_i({high, low}), .x_o({high_q, low_q})
    );
    assign sum = high_q + {{11{low_q[35]}}, low_q[35:11]};
    assign rise = sum[35:11];
    assign unused_rise = ^{sum[10:0], low_q[10:0]};
  end else begin : gen_rise_whole
    logic signed [46:0] whole;
    logic unused_rise;
    sq_mul #(.AW(24), .BW(UW + 1)) u_rise (.a_i(slope_q), .b_i({1'b0, u_q3}), .p_o(whole));
    assign rise = {whole[45], whole[45:UW]};
    assign unused_rise = ^{whole[46], whole[UW-1:0]};
  end
  sq_delay #(.Width(29), .Stages(C)) u_c0 (.clk_i, .en_i(advance_i), .x_i(c0_q2), .x_o(c0_of));
  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      {place_q, u_q} <= {place, u};
      {c0_q, c1_q, c2_q, u_q2} <= {c0, c1, c2, u_q};
      {c0_q2, slope_q, u_q3} <= {c0_q, slope, u_q2};
      p_q <= c0_of + {{4{rise[24]}}, rise};
    end
  end

  logic [31:0] rounded, y_q;
  sq_delay #(.Width(12), .Stages(4 + C)) u_exp (
    .clk_i, .en_i(advance_i), .x_i({sign, exp}), .x_o({sign_of, exp_of})
  );
  sq_delay #(.Width(33), .Stages(4 + 2 * C)) u_given (
    .clk_i, .en_i(advance_i), .x_i({is_given, given}), .x_o({is_given_of, given_of})
  );
  sq_fp_round #(.SigW(29), .Cut(Cut)) u_round (
    .clk_i, .en_i(advance_i), .sign_i(sign_of), .exp_i(exp_of), .sig_i(p_q), .y_o(rounded)
  );
  always_ff @(posedge clk_i) if (advance_i) y_q <= is_given_of ? given_of : rounded;
  assign y_o = y_q;

endmodule
