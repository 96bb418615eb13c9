// SPDX-License-Identifier: Apache-2.0
// Combine unit (SPEC A.7, R.1): the integer sums of a scale group times their scales, added up in
// binary32 over the groups, at the end times the token's scale, out as binary32 or bfloat16. One
// rounding an operation, in the order of models/output/sq_combine.h; Form says which.
//
// A beat holds the sums of one group of Lanes outputs; outputs come Slots beats apart, so that
// Lanes units serve a tile of Lanes * Slots outputs: Slots beats of group 0, Slots of group 1, ....
// in_last_i stands with all beats of the last group, each of which gives an output beat.
//
//   integers to binary32 | products | [sum of the two | [times s_g |]] Y = Y + t | end, out
//   FLOAT: s_lo s_a      | p_lo times it |                             Y = Y + t | out
// Sums = 1: the sums begin with in_sum_i, which stands with the beats of the first group, in place of 0;
// beside each output out_sum_o is its sum before the end, so that another group may go on from it.
// The integers have SumW bits, in units of 2^-LoFraction and 2^-HiFraction.
// Latency combine_stages + 1, a beat per cycle. Stages move together; they stop while
// an output waits for a place. A tag of TagW bits stands with a beat and leaves with its output.
`include "sq_assert.svh"

module sq_combine #(
  parameter  int unsigned Lanes = 4,
  parameter  int unsigned Slots = 1,
  parameter  int unsigned Form = sq_pkg::COMBINE_TWO,
  parameter  int unsigned IsBf16 = 0,  // 1: bfloat16 out
  parameter  int unsigned Sums = 0,  // 1: sums go in and out
  parameter  int unsigned SumW = 32,  // FLOAT: 32
  parameter  int unsigned LoFraction = 0,
  parameter  int unsigned HiFraction = 0,
  parameter  int unsigned TagW = 1,
  localparam int unsigned OutW = IsBf16 != 0 ? 16 : 32
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  // sums of a group, lane 0 in the low bits
  input  logic                  in_valid_i,
  output logic                  in_ready_o,
  input  logic                  in_last_i,
  input  logic [Lanes*SumW-1:0] in_p_lo_i,  // FLOAT: binary32
  input  logic [Lanes*SumW-1:0] in_p_hi_i,  // TWO, SCALED
  input  logic [Lanes*32-1:0]   in_s_lo_i,  // binary32, like the others
  input  logic [Lanes*32-1:0]   in_s_hi_i,  // TWO, SCALED
  input  logic [Lanes*32-1:0]   in_s_a_i,   // of the token, with in_last_i; SCALED: s_g; FLOAT: all
  input  logic [Lanes*32-1:0]   in_sum_i,  // Sums: binary32
  input  logic [TagW-1:0]       in_tag_i,
  // outputs
  output logic                  out_valid_o,
  input  logic                  out_ready_i,
  output logic [Lanes*OutW-1:0] out_y_o,
  output logic [Lanes*32-1:0]   out_sum_o,  // Sums: binary32; else 0
  output logic [TagW-1:0]       out_tag_o
);

  if (Slots < 1 || Form > sq_pkg::COMBINE_FLOAT || (Form == sq_pkg::COMBINE_FLOAT && SumW != 32)) begin : gen_bad
    $error("Slots >= 1, Form 0..3, sums of FLOAT of 32 bits");
  end

  localparam int unsigned Stages = sq_pkg::combine_stages(Form);
  localparam int unsigned SlotW = Slots > 1 ? $clog2(Slots) : 1;

  // ---- control: valid and last of every stage, what the sum stage is at

  logic [Stages-1:0] valid_q, last_q;
  logic advance, sums, out_valid_q;
  logic is_first_q, is_end;
  logic [SlotW-1:0] slot_q;
  assign advance = !(valid_q[Stages-1] && last_q[Stages-1] && out_valid_q && !out_ready_i);
  assign in_ready_o = advance;
  assign out_valid_o = out_valid_q;
  assign sums = advance && valid_q[Stages-2];
  assign is_end = slot_q == SlotW'(Slots - 1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      last_q <= '0;
      out_valid_q <= 1'b0;
      is_first_q <= 1'b1;
      slot_q <= '0;
    end else begin
      if (advance) begin
        valid_q <= {valid_q[Stages-2:0], in_valid_i};
        last_q <= {last_q[Stages-2:0], in_last_i};
        out_valid_q <= valid_q[Stages-1] && last_q[Stages-1] || out_valid_q && !out_ready_i;
      end
      if (sums) begin
        slot_q <= is_end ? '0 : slot_q + SlotW'(1);
        if (is_end) is_first_q <= last_q[Stages-2];
      end
    end
  end

  logic [Stages*TagW-1:0] tag_q;  // the newest in the low bits
  logic [TagW-1:0] out_tag_q;
  always_ff @(posedge clk_i) begin
    if (advance) begin
      tag_q <= (Stages * TagW)'({tag_q, in_tag_i});
      if (valid_q[Stages-1] && last_q[Stages-1]) out_tag_q <= tag_q[Stages*TagW-1 -: TagW];
    end
  end
  assign out_tag_o = out_tag_q;

  // ---- lanes

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic [31:0] lo, lo_q, t_lo, t_lo_q, s_a_q2;
    always_ff @(posedge clk_i) begin
      if (advance) begin
        lo_q <= lo;
        t_lo_q <= t_lo;
      end
    end
    if (Form == sq_pkg::COMBINE_FLOAT) begin : gen_pair
      logic [23:0] sig, sig_q;
      logic signed [9:0] exp, exp_q;
      assign lo = in_p_lo_i[l*SumW +: 32];
      sq_fp_mul_wide u_pair (
        .a_i(in_s_lo_i[l*32 +: 32]), .b_i(in_s_a_i[l*32 +: 32]), .sig_o(sig), .exp_o(exp)
      );
      sq_fp_scale u_t_lo (.a_i(lo_q), .sig_i(sig_q), .exp_i(exp_q), .y_o(t_lo));
      always_ff @(posedge clk_i) begin
        if (advance) begin
          sig_q <= sig;
          exp_q <= exp;
        end
      end
      assign s_a_q2 = '0;  // not read
    end else begin : gen_single
      logic [31:0] s_lo_q, s_a_q, s_a;
      sq_fp_from_int #(.Width(SumW), .Fraction(LoFraction)) u_lo (
        .a_i(in_p_lo_i[l*SumW +: SumW]), .y_o(lo)
      );
      sq_fp_mul u_t_lo (.a_i(lo_q), .b_i(s_lo_q), .y_o(t_lo));
      always_ff @(posedge clk_i) begin
        if (advance) begin
          s_lo_q <= in_s_lo_i[l*32 +: 32];
          s_a_q <= in_s_a_i[l*32 +: 32];
          s_a <= s_a_q;
        end
      end
      assign s_a_q2 = s_a;
    end

    logic [31:0] t, s_a;  // what is added, and the scale that travels with it
    if (Form == sq_pkg::COMBINE_ONE || Form == sq_pkg::COMBINE_FLOAT) begin : gen_one
      logic unused_hi;
      assign unused_hi = ^{in_p_hi_i[l*SumW +: SumW], in_s_hi_i[l*32 +: 32]};
      assign t = t_lo_q;
      assign s_a = s_a_q2;
    end else begin : gen_two
      logic [31:0] hi, hi_q, s_hi_q, t_hi, t_hi_q, both, both_q, s_a_q3;
      sq_fp_from_int #(.Width(SumW), .Fraction(HiFraction)) u_hi (
        .a_i(in_p_hi_i[l*SumW +: SumW]), .y_o(hi)
      );
      sq_fp_mul u_t_hi (.a_i(hi_q), .b_i(s_hi_q), .y_o(t_hi));
      sq_fp_add u_both (.a_i(t_lo_q), .b_i(t_hi_q), .y_o(both));
      always_ff @(posedge clk_i) begin
        if (advance) begin
          hi_q <= hi;
          s_hi_q <= in_s_hi_i[l*32 +: 32];
          t_hi_q <= t_hi;
          both_q <= both;
          s_a_q3 <= s_a_q2;
        end
      end
      if (Form == sq_pkg::COMBINE_TWO) begin : gen_plain
        assign t = both_q;
        assign s_a = s_a_q3;
      end else begin : gen_scaled
        logic [31:0] scaled, scaled_q;
        sq_fp_mul u_scaled (.a_i(both_q), .b_i(s_a_q3), .y_o(scaled));
        always_ff @(posedge clk_i) if (advance) scaled_q <= scaled;
        assign t = scaled_q;
        assign s_a = 32'h3f800000;
      end
    end

    // The sums so far, the newest in the low bits: that of the same output is Slots beats old.
    logic [Slots*32-1:0] y_q;
    logic [31:0] y, s_a_end_q, begin_y;
    sq_fp_add u_y (
      .a_i(is_first_q ? begin_y : y_q[Slots*32-1 -: 32]), .b_i(t), .y_o(y)
    );
    if (Sums != 0) begin : gen_sums
      logic [(Stages-1)*32-1:0] sum_q;  // on its way to the sum stage, the newest in the low bits
      logic [31:0] out_sum_q;
      assign begin_y = sum_q[(Stages-1)*32-1 -: 32];
      assign out_sum_o[l*32 +: 32] = out_sum_q;
      always_ff @(posedge clk_i) begin
        if (advance) begin
          sum_q <= ((Stages - 1) * 32)'({sum_q, in_sum_i[l*32 +: 32]});
          if (valid_q[Stages-1] && last_q[Stages-1]) out_sum_q <= y_q[31:0];
        end
      end
    end else begin : gen_no_sums
      logic unused_sum;
      assign unused_sum = ^in_sum_i[l*32 +: 32];
      assign begin_y = 32'd0;
      assign out_sum_o[l*32 +: 32] = 32'd0;
    end
    always_ff @(posedge clk_i) begin
      if (sums) begin
        y_q <= (Slots * 32)'({y_q, y});
        s_a_end_q <= s_a;
      end
    end

    // The end: times the token's scale; -0 becomes +0.
    logic [31:0] product, ended;
    if (Form == sq_pkg::COMBINE_SCALED || Form == sq_pkg::COMBINE_FLOAT) begin : gen_no_product
      assign product = y_q[31:0];
      logic unused_s_a;
      assign unused_s_a = ^s_a_end_q;
    end else begin : gen_product
      sq_fp_mul u_end (.a_i(y_q[31:0]), .b_i(s_a_end_q), .y_o(product));
    end
    assign ended = {product[31] && product[30:0] != '0, product[30:0]};

    logic [OutW-1:0] out, out_q;
    if (IsBf16 != 0) begin : gen_bf16
      logic unused_low;
      logic [31:0] rounded;
      assign rounded = ended + 32'h7fff + 32'(ended[16]);
      assign out = rounded[31:16];
      assign unused_low = ^rounded[15:0];
    end else begin : gen_binary32
      assign out = ended;
    end
    always_ff @(posedge clk_i) begin
      if (advance && valid_q[Stages-1] && last_q[Stages-1]) out_q <= out;
    end
    assign out_y_o[l*OutW +: OutW] = out_q;
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_y_o, out_tag_o})

endmodule
