// SPDX-License-Identifier: Apache-2.0
// Encoder in front of sq_array_scaled: a block of activations to its scale and codes, at run time
// (SPEC Q.2, Q.3; Q.5 with the step by maximum). Activations are bfloat16, finite, divided by the
// scale above the blocks before they come, which is a constant of the layer.
//
//   [S1, S2]  split codes, own scale: mask, the HighPerBank largest magnitudes (sq_topk; radix: 16
//             cycles)
//   S3        the largest magnitude of the block, of low and high elements apart; own: high elements
//   S4        the scale; own: high codes. With a choice (Choose): its candidates
//   [SE]      choice: the candidate with the least squared error in integers, ties to the first (Q.5d)
//   S5        codes
// OwnHigh: the scale above the blocks is that of the row's high elements, which are INT8 then as they
// come, compact in ascending position; low ones are sentinel codes, their scales count in units of
// 2^-4 (what the low part has above its blocks is a sixteenth of the scale of the high one).
// Candidates, in this order: SEARCH the scale by the largest element, then the two codes below it, ascending;
// FOUR_SIX scales at which the largest is 6 and 4; IF4 those at which it is 6 in E2M1 and 7 in INT4; RAZER
// one scale, with +5 and with -5 for the code of -0.
// A block a cycle; S3 to S5 move together, and stop while an output is not taken.
`include "sq_assert.svh"

module sq_act_scale #(
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighPerBank = 0,
  parameter  int unsigned Element = sq_pkg::ELEMENT_E2M1,
  parameter  int unsigned Scale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned Topk = sq_pkg::TOPK_RANK,
  parameter  int unsigned OwnHigh = 0,
  parameter  int unsigned Choose = sq_pkg::CHOOSE_LARGEST,
  localparam int unsigned CodeW = sq_pkg::element_code_w(Element),
  localparam int unsigned MaskW = (HighPerBank > 0) ? BankLen : 1,
  localparam int unsigned HighW = (OwnHigh != 0) ? HighPerBank * 8 : MaskW * 4
) (
  input  logic                     clk_i, rst_ni,
  // a block
  input  logic                     in_valid_i,
  output logic                     in_ready_o,
  input  logic [BankLen*16-1:0]    in_x_i,  // bfloat16, element 0 in the low bits
  // its codes; split: low nibbles, upper ones not compact, mask; own: high codes, mask
  output logic                     out_valid_o,
  input  logic                     out_ready_i,
  output logic [7:0]               out_scale_o,
  output logic [BankLen*CodeW-1:0] out_code_o,
  output logic [HighW-1:0]         out_high_o,
  output logic [MaskW-1:0]         out_mask_o
);

  if (Scale != sq_pkg::SCALE_E4M3 && Scale != sq_pkg::SCALE_E8M0) begin : gen_bad_scale
    $error("Scale is E4M3 or E8M0");
  end
  if (HighPerBank > 0 && Element != sq_pkg::ELEMENT_INT4) begin : gen_bad_high
    $error("split codes have low nibbles of INT4");
  end
  if (OwnHigh != 0 && (HighPerBank == 0 || Scale != sq_pkg::SCALE_E4M3)) begin : gen_bad_own
    $error("OwnHigh needs high elements and a scale of E4M3");
  end

  if (Choose != sq_pkg::CHOOSE_LARGEST && (HighPerBank > 0 || Scale != sq_pkg::SCALE_E4M3)) begin : gen_bad_choose
    $error("a choice is one of scales of E4M3 without high elements");
  end
  localparam bit IsIf4 = Element == sq_pkg::ELEMENT_IF4;
  localparam bit IsRazer = Element == sq_pkg::ELEMENT_RAZER;
  if ((IsIf4 || IsRazer) != (Choose == sq_pkg::CHOOSE_SIGN)) begin : gen_bad_sign
    $error("IF4 and RAZER choose the sign of a scale, others have none");
  end

  localparam bit HasChoice = Choose != sq_pkg::CHOOSE_LARGEST;
  localparam int unsigned Last = HasChoice ? 3 : 2;
  logic advance;
  logic [Last:0] valid_q;  // of S3, S4, [SE], S5
  logic valid;
  logic [BankLen*16-1:0] x, x_q3, x_q4;
  logic [BankLen-1:0] mask, mask_q3, mask_q4;
  assign advance = !valid_q[Last] || out_ready_i;
  assign out_valid_o = valid_q[Last];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (advance) valid_q <= {valid_q[Last-1:0], valid};
  end

  // ---- S1, S2 -----------------------------------------------------------------------------------
  if (HighPerBank > 0) begin : gen_mask
    logic [BankLen*15-1:0] mag;
    localparam int unsigned MaskStages = (Topk == sq_pkg::TOPK_RADIX) ? 1 :
        (Topk == sq_pkg::TOPK_TREE) ? HighPerBank : 2;
    logic [BankLen*16-1:0] x_q1;
    for (genvar i = 0; i < BankLen; i++) begin : gen_mag
      assign mag[i*15 +: 15] = in_x_i[i*16 +: 15];
    end
    sq_topk #(.BankLen(BankLen), .HighPerBank(HighPerBank), .MagW(15), .Topk(Topk)) u_topk (
      .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .in_mag_i(mag),
      .out_valid_o(valid), .out_ready_i(advance), .out_mask_o(mask)
    );
    always_ff @(posedge clk_i) begin
      if (in_ready_o) x_q1 <= in_x_i;
    end
    if (MaskStages == 2) begin : gen_two
      logic [BankLen*16-1:0] x_q2;
      always_ff @(posedge clk_i) begin
        if (in_ready_o) x_q2 <= x_q1;
      end
      assign x = x_q2;
    end else begin : gen_one
      assign x = x_q1;
    end
  end else begin : gen_no_mask
    assign valid = in_valid_i;
    assign in_ready_o = advance;
    assign x = in_x_i;
    assign mask = '0;
  end

  // ---- S3 ---------------------------------------------------------------------------------------
  logic [14:0] low_max, high_max, low_max_q, high_max_q;
  logic [BankLen*15-1:0] low_mag, high_mag;
  for (genvar i = 0; i < BankLen; i++) begin : gen_part
    assign low_mag[i*15 +: 15] = mask[i] ? 15'd0 : x[i*16 +: 15];
    assign high_mag[i*15 +: 15] = mask[i] ? x[i*16 +: 15] : 15'd0;
  end
  sq_topk_first #(.BankLen(BankLen), .KeyW(15)) u_low_max (
    .key_i(low_mag), .first_o(), .max_o(low_max)
  );
  sq_topk_first #(.BankLen(BankLen), .KeyW(15)) u_high_max (
    .key_i(high_mag), .first_o(), .max_o(high_max)
  );

  // ---- S4 ---------------------------------------------------------------------------------------
  localparam bit IsOcp = Scale == sq_pkg::SCALE_E8M0 && Element == sq_pkg::ELEMENT_E2M1;
  localparam int unsigned Top = IsOcp ? 0 : (Element == sq_pkg::ELEMENT_E2M1 || IsIf4 || IsRazer) ? 6 :
      (Element == sq_pkg::ELEMENT_INT5) ? 15 : 7;
  localparam int unsigned Shift = (OwnHigh != 0) ? 4 : 0;
  logic [7:0] low_scale, scale, scale_q4, scale_q5;
  sq_block_scale #(.Scale(Scale), .Top(Top), .Shift(Shift)) u_low (
    .amax_i(low_max_q), .scale_o(low_scale)
  );
  if (HighPerBank > 0 && OwnHigh == 0) begin : gen_high_scale  // codes of scales order like scales
    logic [7:0] high_scale;
    sq_block_scale #(.Scale(Scale), .Top(119)) u_high (.amax_i(high_max_q), .scale_o(high_scale));
    assign scale = high_scale > low_scale ? high_scale : low_scale;
  end else begin : gen_low_scale
    wire unused_high_max = ^high_max_q;
    assign scale = low_scale;
  end

  // ---- SE ---------------------------------------------------------------------------------------
  logic [BankLen*16-1:0] x_s5;
  logic [7:0] scale_s5;
  if (HasChoice) begin : gen_choice
    localparam int unsigned Candidates = (Choose == sq_pkg::CHOOSE_SEARCH) ? 3 : 2;
    localparam int unsigned SumW = 14 + $clog2(BankLen);
    localparam int unsigned OtherTop = (Choose == sq_pkg::CHOOSE_FOUR_SIX) ? 4 : 7;
    logic [Candidates*8-1:0] candidate;
    logic [Candidates*SumW-1:0] sum;
    logic [7:0] exp_max, exp_max_q, chosen;
    logic [SumW-1:0] least;
    logic [BankLen*8-1:0] q, q_q;
    logic [BankLen-1:0] negative;
    assign exp_max = low_max_q[14:7] == '0 ? 8'd1 : low_max_q[14:7];
    for (genvar i = 0; i < BankLen; i++) begin : gen_units
      logic [7:0] exp;
      assign exp = x_q3[i*16+7 +: 8] == '0 ? 8'd1 : x_q3[i*16+7 +: 8];
      assign q[i*8 +: 8] = {x_q3[i*16+7 +: 8] != '0, x_q3[i*16 +: 7]} >> (exp_max - exp);
      assign negative[i] = x_q4[i*16+15];
    end
    if (Choose == sq_pkg::CHOOSE_SEARCH) begin : gen_search
      for (genvar c = 0; c < Candidates; c++) begin : gen_candidate
        localparam logic [7:0] Less = (c == 0) ? 8'd0 : 8'(Candidates - c);
        assign candidate[c*8 +: 8] = scale_q4 > Less ? scale_q4 - Less : 8'd0;
      end
    end else if (Choose == sq_pkg::CHOOSE_SIGN && IsRazer) begin : gen_fifth
      assign candidate = {1'b1, scale_q4[6:0], scale_q4};
    end else begin : gen_other
      logic [7:0] other;
      logic [6:0] other_q;
      wire unused_sign = other[7];
      sq_block_scale #(.Scale(Scale), .Top(OtherTop)) u_other (.amax_i(low_max_q), .scale_o(other));
      always_ff @(posedge clk_i) begin
        if (advance) other_q <= other[6:0];
      end
      assign candidate = {IsIf4, other_q, scale_q4};
    end
    for (genvar c = 0; c < Candidates; c++) begin : gen_error
      sq_block_error #(
        .BankLen(BankLen), .HasFifth(IsRazer ? 1 : 0),
        .Element((Element == sq_pkg::ELEMENT_INT4 || (IsIf4 && c == 1)) ? sq_pkg::ELEMENT_INT4
                                                                     : sq_pkg::ELEMENT_E2M1)
      ) u_error (
        .q_i(q_q), .fifth_i(candidate[c*8+7] ? negative : ~negative), .exp_i(exp_max_q),
        .scale_i(candidate[c*8 +: 7]), .sum_o(sum[c*SumW +: SumW])
      );
    end
    always_comb begin
      chosen = candidate[7:0];
      least = sum[SumW-1:0];
      for (int unsigned c = 1; c < Candidates; c++) begin
        if (sum[c*SumW +: SumW] < least) begin
          chosen = candidate[c*8 +: 8];
          least = sum[c*SumW +: SumW];
        end
      end
    end
    always_ff @(posedge clk_i) begin
      if (advance) begin
        exp_max_q <= exp_max;
        q_q <= q;
        scale_s5 <= chosen;
        x_s5 <= x_q4;
      end
    end
  end else begin : gen_no_choice
    assign scale_s5 = scale_q4;
    assign x_s5 = x_q4;
  end

  // ---- S5 ---------------------------------------------------------------------------------------
  // The scale is sig * 2^(exp - 130). A subnormal E4M3 is shifted until its leading one is in place, too.
  localparam logic [7:0] ExpMin = 8'(120 - Shift);  // of the smallest normal one
  logic [3:0] sig;
  logic [7:0] exp;
  logic none;
  if (Scale == sq_pkg::SCALE_E4M3) begin : gen_e4m3
    always_comb begin
      if (scale_s5[6:3] != '0) {sig, exp} = {1'b1, scale_s5[2:0], ExpMin + {4'd0, scale_s5[6:3]}};
      else if (scale_s5[2]) {sig, exp} = {scale_s5[2:0], 1'b0, ExpMin};
      else if (scale_s5[1]) {sig, exp} = {scale_s5[1:0], 2'b0, ExpMin - 8'd1};
      else {sig, exp} = {4'd8, ExpMin - 8'd2};
    end
    assign none = scale_s5[6:0] == '0;
  end else begin : gen_e8m0
    assign sig = 4'd8;
    assign exp = scale_s5;
    assign none = 1'b0;
  end

  localparam bit IsSplit = HighPerBank > 0 && OwnHigh == 0;
  logic [BankLen*CodeW-1:0] code, code_q;
  logic [BankLen*4-1:0] upper;
  for (genvar i = 0; i < BankLen; i++) begin : gen_code
    logic [CodeW-1:0] one;
    sq_block_code #(.Element(Element), .Scale(Scale), .HasHigh(IsSplit ? 1 : 0)) u_code (
      .x_i(x_s5[i*16 +: 16]), .high_i(mask_q4[i]), .signed_i(scale_s5[7]), .none_i(none), .sig_i(sig), .exp_i(exp),
      .code_o(one), .upper_o(upper[i*4 +: 4])
    );
    assign code[i*CodeW +: CodeW] = (OwnHigh != 0 && mask_q4[i]) ? CodeW'(1) << (CodeW - 1) : one;
  end

  always_ff @(posedge clk_i) begin
    if (advance) begin
      low_max_q <= low_max;
      high_max_q <= high_max;
      x_q3 <= x;
      mask_q3 <= mask;
      scale_q4 <= scale;
      x_q4 <= x_q3;
      mask_q4 <= mask_q3;
      scale_q5 <= scale_s5;
      code_q <= code;
    end
  end
  assign out_scale_o = scale_q5;
  assign out_code_o = code_q;

  // ---- high elements ----------------------------------------------------------------------------
  if (HighPerBank > 0) begin : gen_out_mask
    logic [BankLen-1:0] mask_q5;
    always_ff @(posedge clk_i) begin
      if (advance) mask_q5 <= mask_q4;
    end
    assign out_mask_o = mask_q5;
  end else begin : gen_no_out_mask
    assign out_mask_o = '0;
  end

  if (OwnHigh != 0) begin : gen_own
    localparam int unsigned RankW = sq_pkg::index_w(HighPerBank);
    localparam int unsigned CountW = $clog2(BankLen + 1);
    logic [BankLen-1:0] unused_clean, slot;
    logic [BankLen*RankW-1:0] rank;
    logic [CountW-1:0] unused_count;  // a mask has k ones
    logic [HighPerBank*BankLen-1:0] ctl;
    logic [HighPerBank*16-1:0] high_x, high_x_q3;
    logic [HighW-1:0] high, high_q4, high_q5;
    logic [HighPerBank*4-1:0] unused_upper;
    sq_gather_rank #(
      .Lanes(BankLen), .LowW(1), .BankLen(BankLen), .HighPerBank(HighPerBank)
    ) u_rank (
      .code_i(mask), .lane_i({BankLen{1'b1}}), .count_i({CountW{1'b0}}),
      .clean_o(unused_clean), .slot_o(slot), .rank_o(rank), .count_o(unused_count)
    );
    sq_gather_sel #(.BankLen(BankLen), .HighPerBank(HighPerBank), .Lanes(HighPerBank)) u_sel (
      .slot_i(slot), .rank_i(rank), .base_i({RankW{1'b0}}), .ctl_o(ctl)
    );
    sq_gather_mux #(
      .BankLen(BankLen), .Lanes(HighPerBank), .ActW(16), .Window(1'b1)
    ) u_mux (.ctl_i(ctl), .act_i(x), .act_o(high_x));
    for (genvar t = 0; t < HighPerBank; t++) begin : gen_high
      sq_block_code #(
        .Element(sq_pkg::ELEMENT_INT4), .Scale(sq_pkg::SCALE_E8M0), .CodeW(8)
      ) u_code (
        .x_i(high_x_q3[t*16 +: 16]), .high_i(1'b0), .signed_i(1'b0), .none_i(1'b0), .sig_i(4'd8), .exp_i(8'd127),
        .code_o(high[t*8 +: 8]), .upper_o(unused_upper[t*4 +: 4])
      );
    end
    always_ff @(posedge clk_i) begin
      if (advance) begin
        high_x_q3 <= high_x;
        high_q4 <= high;
        high_q5 <= high_q4;
      end
    end
    assign out_high_o = high_q5;
  end else if (HighPerBank > 0) begin : gen_split
    logic [BankLen*4-1:0] upper_q;
    always_ff @(posedge clk_i) begin
      if (advance) upper_q <= upper;
    end
    assign out_high_o = upper_q;
  end else begin : gen_no_high
    assign out_high_o = '0;
  end
  if (!IsSplit) begin : gen_unused
    wire unused_upper = ^upper;
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_scale_o, out_code_o, out_high_o, out_mask_o})

endmodule
