// SPDX-License-Identifier: Apache-2.0
// Rotation in integers with one exponent for all Len elements (sq_bs_rotate_integer): the largest
// element has Bits bits, the others lose what lies below its last bit. Sums are exact.
//
//   x  ->  align: largest exponent, every element an integer of Bits bits
//      ->  sums: log2(Len) levels of integer butterflies
//      ->  y: back to bfloat16, rounded to even, or to binary32, exact
//
// Each arrow to the right ends in a register; all move where advance_i is set. Elements are bfloat16
// and finite. No result is subnormal, since the exponent is limited from below.
module sq_hadamard_integer #(
  parameter  int unsigned Len = 16,    // 4 or 16: the root is a power of two
  parameter  int unsigned Bits = 10,   // of an aligned element, 9..16
  parameter  int unsigned IsBf16 = 1,  // what leaves: bfloat16 or binary32
  localparam int unsigned OutW = (IsBf16 != 0) ? 16 : 32
) (
  input  logic                clk_i, advance_i,
  input  logic [Len*16-1:0]   x_i,
  output logic [Len*OutW-1:0] y_o
);

  localparam int unsigned Stages = $clog2(Len);
  localparam int unsigned SumW = Bits + Stages;
  localparam int unsigned MagW = SumW - 1;  // of a sum: the largest element is below 2^(Bits-1)

  if ((Len != 4 && Len != 16) || Bits < 9 || Bits > 16) begin : gen_bad
    $error("Len is 4 or 16, Bits 9..16");
  end

  // ---- the largest exponent: of nodes 2n and 2n + 1 in node n, the elements from node Len on ------

  logic [7:0] node[2*Len];
  always_comb begin
    node[0] = 8'd0;
    for (int unsigned i = 0; i < Len; i++) node[Len+i] = x_i[i*16+7 +: 8];
    for (int unsigned i = 1; i < Len; i++) begin
      node[Len-i] = node[2*(Len-i)] > node[2*(Len-i)+1] ? node[2*(Len-i)] : node[2*(Len-i)+1];
    end
  end
  logic [7:0] top;
  assign top = node[1] > 8'(Bits + 1) ? node[1] : 8'(Bits + 1);

  // ---- aligned integers, then their sums ------------------------------------------------------

  logic [7:0] top_q, sum_top_q;
  logic [Len*Bits-1:0] code_q;
  for (genvar i = 0; i < Len; i++) begin : gen_align
    logic [7:0] exponent, down;
    logic [Bits-1:0] significand;  // a fraction bit behind the integer: halves round away from zero
    logic [Bits-1:0] moved;
    logic [Bits-2:0] magnitude;
    assign exponent = x_i[i*16 + 7 +: 8] == 8'd0 ? 8'd1 : x_i[i*16 + 7 +: 8];
    assign down = top - exponent;
    assign significand = Bits'({x_i[i*16 + 7 +: 8] != 8'd0, x_i[i*16 +: 7]}) << (Bits - 8);
    assign moved = significand >> down;
    assign magnitude = moved[Bits-1:1] + (Bits-1)'(moved[0]);
    always_ff @(posedge clk_i) begin
      if (advance_i) begin
        code_q[i*Bits +: Bits] <=
            x_i[i*16 + 15] ? Bits'(0) - {1'b0, magnitude} : {1'b0, magnitude};
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (advance_i) top_q <= top;
    if (advance_i) sum_top_q <= top_q;
  end
  for (genvar l = 0; l < Stages; l++) begin : gen_level
    localparam int unsigned W = Bits + l;  // of an element; its sum has a bit more
    logic [Len*W-1:0] from;
    logic [Len*(W+1)-1:0] to;
    if (l == 0) begin : gen_first
      assign from = code_q;
    end else begin : gen_next
      assign from = gen_level[l-1].to;
    end
    for (genvar i = 0; i < Len; i++) begin : gen_sum
      localparam int unsigned Near = i & ~(1 << l);  // a; b is 2^l behind it
      localparam int unsigned Far = Near + (1 << l);
      localparam bit IsDifference = (i & (1 << l)) != 0;
      logic [W:0] a, b;
      assign a = {from[Near*W + W - 1], from[Near*W +: W]};
      assign b = {from[Far*W + W - 1], from[Far*W +: W]};
      assign to[i*(W+1) +: W+1] = IsDifference ? a - b : a + b;
    end
  end
  logic [Len*SumW-1:0] sum_q;
  always_ff @(posedge clk_i) begin
    if (advance_i) sum_q <= gen_level[Stages-1].to;
  end

  // ---- back to numbers: sum * 2^(top - 127 - (Bits - 2)) / sqrt(Len) ----------------------------

  for (genvar i = 0; i < Len; i++) begin : gen_out
    localparam int unsigned Steps = $clog2(MagW);
    logic [SumW-1:0] sum;
    logic [MagW-1:0] magnitude, leading;  // leading: shifted until its top bit is set
    logic [Steps-1:0] zeros;
    logic signed [10:0] exponent;  // biased, of a sum with its top bit set
    logic [OutW-1:0] out, out_q;
    assign sum = sum_q[i*SumW +: SumW];
    assign magnitude = sum[SumW-1] ? MagW'(0) - sum[MagW-1:0] : sum[MagW-1:0];
    always_comb begin
      leading = magnitude;
      for (int unsigned k = 0; k < Steps; k++) begin
        zeros[Steps-1-k] = leading >> (MagW - (32'd1 << (Steps - 1 - k))) == '0;
        if (zeros[Steps-1-k]) leading = leading << (32'd1 << (Steps - 1 - k));
      end
    end
    assign exponent = 11'({3'd0, sum_top_q}) + 11'(MagW - 1) - 11'(Bits - 2) - 11'(Stages / 2) - 11'(zeros);
    if (IsBf16 != 0) begin : gen_bf16
      logic up;
      logic [14:0] rounded;
      assign up = leading[MagW-9] && (|leading[MagW-10:0] || leading[MagW-8]);
      assign rounded = {exponent[7:0], leading[MagW-2 -: 7]} + 15'(up);
      assign out = !leading[MagW-1]  ? 16'd0
                   : exponent >= 255 ? {sum[SumW-1], 15'h7f80} : {sum[SumW-1], rounded};
    end else begin : gen_binary32
      assign out = !leading[MagW-1]  ? 32'd0
                   : exponent >= 255 ? {sum[SumW-1], 31'h7f800000}
                                     : {sum[SumW-1], exponent[7:0], leading[MagW-2:0], {(24-MagW){1'b0}}};
    end
    always_ff @(posedge clk_i) begin
      if (advance_i) out_q <= out;
    end
    assign y_o[i*OutW +: OutW] = out_q;
  end

endmodule
