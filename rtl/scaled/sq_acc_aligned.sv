// SPDX-License-Identifier: Apache-2.0
// The accumulator of a PE that sums as tensor cores do (SPEC Q.11, models/number/sq_sum.h). A step adds a block of products
// (sq_dot_columns) to the sum so far, A. e is the largest exponent of the products and of A, at least -126. All of them are
// truncated toward zero to multiples of 2^(e - Aligned) and added exactly; then A is truncated to Aligned fraction bits. From
// 2^128 on A is infinite, and stays so.
//
// The register holds sign, magnitude and exponent of the lowest bit of A before its truncation, which the next step and y_o
// do. A stays in it until it is taken (sq_scaled_ctl, Result = 0). After = 1: A is no term of a step; the sum of the step, of
// at most 23 fraction bits, is added to A in binary32, and acc_i and first_i come two cycles later.
module sq_acc_aligned #(
  parameter  int unsigned Lanes = 32,
  parameter  int unsigned Columns = 8,
  parameter  int unsigned Mantissa = 2,  // the place of a product's exponent is this many bits above its lowest one
  parameter  int unsigned Aligned = 13,
  parameter  int unsigned After = 0,
  parameter  int unsigned Sums = 0,
  localparam int unsigned CountW = $clog2(Lanes + 1)
) (
  input  logic                      clk_i,
  input  logic                      en_i,  // all stages move
  input  logic [Columns*CountW-1:0] count_i,  // sq_dot_columns, with the three below
  input  logic [CountW-1:0]         negative_i,
  input  logic [5:0]                most_i,
  input  logic                      any_i,
  input  logic signed [9:0]         exp_i,  // of the lowest bit of a product
  input  logic                      acc_i,
  input  logic                      first_i,
  input  logic [31:0]               begin_i,  // with first_i; Sums
  output logic [31:0]               y_o
);

  if (Aligned < Mantissa + 2 || Aligned > (After != 0 ? 25 : 23)) begin : gen_bad
    $error("Aligned: Mantissa + 2 .. 23, 25 with After");
  end
  localparam int unsigned Up = Aligned - Mantissa;
  localparam int unsigned MagW = Aligned + 3 + $clog2(Lanes);
  localparam int unsigned Steps = $clog2(MagW);
  localparam int unsigned SumW = Columns + CountW + 1;
  localparam int unsigned WideW = SumW + Up;
  logic [Columns*CountW-1:0] count_q;
  logic [CountW-1:0] negative_q;
  logic [5:0] most_q;
  logic any_q;
  logic signed [9:0] exp_q;
  logic [MagW-1:0] mag_q, mag_d;
  logic sign_q, sign_d;
  logic signed [11:0] low_q, low_d;

  // ---- A with its leading one at the top
  logic [MagW-1:0] norm;
  logic [Steps-1:0] zeros;
  logic signed [11:0] top;  // exponent of A
  always_comb begin
    norm = mag_q;
    for (int unsigned i = 0; i < Steps; i++) begin
      zeros[Steps-1-i] = norm >> (MagW - (32'd1 << (Steps - 1 - i))) == '0;
      if (zeros[Steps-1-i]) norm = norm << (32'd1 << (Steps - 1 - i));
    end
  end
  assign top = low_q + 12'(MagW - 1) - 12'(zeros);

  // ---- the sum so far of this step
  logic [Aligned:0] so_far;
  logic before_sign, before_any, is_infinite;
  logic signed [11:0] before_top;
  if (After != 0) begin : gen_none
    assign {so_far, before_sign, before_any, is_infinite} = '0;
    assign before_top = '0;
  end else begin : gen_among
    logic [Aligned:0] begin_mag;
    logic [7:0] begin_exp;
    if (Sums != 0) begin : gen_sums
      assign begin_exp = begin_i[30:23];
      assign begin_mag = {begin_exp != '0, begin_i[22 -: Aligned]};
    end else begin : gen_no_sums
      assign begin_exp = '0;
      assign begin_mag = '0;
      wire unused_begin = ^begin_i;
    end
    assign so_far = first_i ? begin_mag : norm[MagW-1 -: Aligned+1];
    assign before_sign = first_i ? begin_i[31] : sign_q;
    assign before_any = first_i ? begin_mag != '0 : norm[MagW-1];
    assign before_top = first_i ? 12'(begin_exp) + 12'(begin_exp == '0) - 12'd127 : top;
    assign is_infinite = before_any && before_top >= 128;
  end

  // ---- e; `above` is its distance from the exponent of the smallest product
  logic signed [11:0] product_low, largest, e_products, above, above_products, above_before;
  logic is_before;
  assign product_low = 12'(exp_q) + 12'(Mantissa);
  assign largest = product_low + 12'(most_q);
  assign e_products = (any_q && largest > -126) ? largest : -12'sd126;
  assign above_products = e_products - product_low;
  assign is_before = before_any && before_top > e_products;
  assign above_before = before_top - product_low;
  assign above = is_before ? above_before : above_products;
  assign low_d = (is_before ? before_top : e_products) - 12'(Aligned);

  // ---- truncated products: a row for each bit of the counts, and one of negative_q - negative_q * 2^Columns, in carry-save
  localparam int unsigned Rows = CountW + 1;
  logic [Columns*CountW-1:0] counted;
  logic [SumW-1:0] row[3*Rows-4];
  logic [SumW-1:0] sum;
  logic [WideW-1:0] wide;
  logic [6:0] by;
  for (genvar j = 0; j < Columns; j++) begin : gen_column
    assign counted[j*CountW +: CountW] = above > $signed(12'(j + Up)) ? negative_q : count_q[j*CountW +: CountW];
  end
  always_comb begin
    for (int unsigned b = 0; b < CountW; b++) begin
      row[b] = '0;
      for (int unsigned j = 0; j < Columns; j++) row[b][j+b] = counted[j*CountW+b];
    end
    row[0][Columns] = 1'b1;
    row[CountW] = {~{1'b0, negative_q}, Columns'(negative_q)};
    for (int unsigned n = 0; n < Rows - 2; n++) begin
      row[Rows+2*n] = row[3*n] ^ row[3*n+1] ^ row[3*n+2];
      row[Rows+2*n+1] = ((row[3*n] & row[3*n+1]) | (row[3*n+2] & (row[3*n] | row[3*n+1]))) << 1;
    end
  end
  assign sum = row[3*Rows-6] + row[3*Rows-5];
  assign by = above[6:0];
  assign wide = $signed({sum, {Up{1'b0}}}) >>> by;  // where above > 127, sum is 0

  // ---- A, truncated; the total and its negative
  logic signed [11:0] down;
  logic [Aligned:0] kept;
  logic [MagW:0] a, total, opposite;
  assign down = e_products - before_top;
  assign kept = !is_before && before_any ? (down > $signed(12'(Aligned)) ? '0 : so_far >> down[4:0]) : so_far;
  assign a = (MagW+1)'(kept) ^ {(MagW+1){before_sign}};
  assign total = a + wide[MagW:0] + (MagW+1)'(before_sign);
  assign opposite = ~a + ~wide[MagW:0] + (before_sign ? (MagW+1)'(1) : (MagW+1)'(2));
  assign sign_d = is_infinite ? before_sign : total[MagW];
  assign mag_d = is_infinite ? {so_far, {(MagW-Aligned-1){1'b0}}} : total[MagW] ? opposite[MagW-1:0] : total[MagW-1:0];

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      count_q <= count_i;
      negative_q <= negative_i;
      most_q <= most_i;
      any_q <= any_i;
      exp_q <= exp_i;
      if (acc_i || After != 0) begin
        mag_q <= mag_d;
        sign_q <= sign_d;
        low_q <= is_infinite ? 12'sd128 : low_d;
      end
    end
  end

  // ---- A as a binary32, truncated
  localparam int unsigned Kept = (Aligned < 23) ? Aligned : 23;
  logic [MagW-1:0] placed;
  logic [31:0] y;
  logic signed [11:0] deep;  // binary places below the smallest normal number
  logic unused_bits;
  assign deep = -12'sd126 - top;
  assign placed = deep > 0 ? norm >> deep[4:0] : norm;
  always_comb begin
    y = {sign_q, 31'd0};
    if (mag_q != '0) begin
      if (top >= 128) y[30:23] = 8'hff;
      else begin
        y[30:23] = deep > 0 ? 8'd0 : 8'(top + 12'sd127);
        y[22 -: Kept] = placed[MagW-2 -: Kept];
      end
    end
  end
  assign unused_bits = ^{placed, wide, opposite};

  if (After != 0) begin : gen_after
    logic [31:0] y_q, held, acc_d, acc_q;
    assign held = first_i ? begin_i : acc_q;
    sq_fp_add u_add (.clk_i(1'b0), .en_i(1'b0), .a_i(held), .b_i(y_q), .y_o(acc_d));
    always_ff @(posedge clk_i) begin
      if (en_i) begin
        y_q <= y;
        if (acc_i) acc_q <= held[30:23] == '1 ? held : acc_d;
      end
    end
    assign y_o = acc_q;
  end else begin : gen_in_place
    assign y_o = y;
  end

endmodule
