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
// FLOAT with SumW other than 32: p_lo is a total of sq_acc_fixed, and becomes binary32 beside the product of the scales
// (sq_fixed_float, Carry, LoFraction).
// Sums = 1: the sums begin with in_sum_i, which stands with the beats of the first group, in place of 0;
// beside each output out_sum_o is its sum before the end, so that another group may go on from it.
// The integers have SumW bits, in units of 2^-LoFraction and 2^-HiFraction.
// Cut = 1: for a short clock period, an operation takes several stages (sq_fp_mul, sq_fp_add, sq_fp_from_int,
// sq_fp_mul_wide), the end product as well. The sums so far wait in a queue. Nothing stops then: outputs must be taken
// at once, and beats of the same outputs come at least combine_spacing cycles apart (sq_output sees to both).
// Latency combine_stages + 1, a beat per cycle. Stages move together; with Cut = 0 they stop while
// an output waits for a place. A tag of TagW bits stands with a beat and leaves with its output.
`include "sq_assert.svh"

module sq_combine #(
  parameter  int unsigned Lanes = 4,
  parameter  int unsigned Slots = 1,
  parameter  int unsigned Form = sq_pkg::COMBINE_TWO,
  parameter  int unsigned IsBf16 = 0,  // 1: bfloat16 out
  parameter  int unsigned Sums = 0,  // 1: sums go in and out
  parameter  int unsigned SumW = 32,  // FLOAT: 32 where p_lo is binary32
  parameter  int unsigned Carry = 0,
  parameter  int unsigned LoFraction = 0,
  parameter  int unsigned HiFraction = 0,
  parameter  int unsigned TagW = 1,
  parameter  int unsigned Cut = 0,
  localparam int unsigned OutW = IsBf16 != 0 ? 16 : 32
) (
  input  logic                  clk_i, rst_ni,
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

  if (Slots < 1 || Form > sq_pkg::COMBINE_FLOAT || (Form != sq_pkg::COMBINE_FLOAT && Carry != 0)) begin : gen_bad
    $error("Slots >= 1, Form 0..3, carries of FLOAT alone");
  end

  localparam bit HasEnd = Form == sq_pkg::COMBINE_ONE || Form == sq_pkg::COMBINE_TWO;
  // Registers of the operations: the first one, a product, a sum; up to the sums so far, to what is added to them.
  localparam int unsigned First = Cut == 0 ? 1 : (Form == sq_pkg::COMBINE_FLOAT) ? 4 : 2;
  localparam int unsigned Mul = (Cut != 0) ? 4 : 1;
  localparam int unsigned Add = sq_pkg::combine_spacing(Cut);
  localparam int unsigned Stages = sq_pkg::combine_stages(Form, Cut);
  localparam int unsigned At = Stages - (Cut != 0 && HasEnd ? Mul : 0);
  localparam int unsigned Issue = At - Add;
  localparam int unsigned SlotW = Slots > 1 ? $clog2(Slots) : 1;

  // ---- control: valid and last of every stage, what the sum stage is at

  logic [Stages-1:0] valid_q, last_q;
  logic advance, issue, sums, out_valid_q, is_first_q, is_end;
  logic [SlotW-1:0] slot_q;
  assign advance = Cut != 0 || !(valid_q[Stages-1] && last_q[Stages-1] && out_valid_q && !out_ready_i);
  assign in_ready_o = advance;
  assign out_valid_o = out_valid_q;
  assign issue = advance && valid_q[Issue-1];
  assign sums = advance && valid_q[At-2];
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
      if (issue) begin
        slot_q <= is_end ? '0 : slot_q + SlotW'(1);
        if (is_end) is_first_q <= last_q[Issue-1];
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

  // ---- the sums so far: that of the same output is Slots beats old

  logic [Lanes*32-1:0] y, so_far;
  `SQ_ASSERT_BEGIN
  if (Cut != 0) begin : gen_queue
    logic so_far_valid, queue_ready;
    sq_fifo #(.Width(Lanes * 32), .Depth(Slots < 2 ? 2 : Slots)) u_so_far (
      .clk_i, .rst_ni,
      .in_valid_i(sums && !last_q[At-2]), .in_ready_o(queue_ready), .in_data_i(y),
      .out_valid_o(so_far_valid), .out_ready_i(issue && !is_first_q), .out_data_o(so_far)
    );
    `SQ_ASSERT(SumIsThere, !issue || is_first_q || so_far_valid)
    `SQ_ASSERT(RoomForSum, !sums || last_q[At-2] || queue_ready)
    wire unused_flags = ^{so_far_valid, queue_ready};
  end else begin : gen_ring
    for (genvar l = 0; l < Lanes; l++) begin : gen_lane
      logic [Slots*32-1:0] y_q;  // the newest in the low bits
      assign so_far[l*32 +: 32] = y_q[Slots*32-1 -: 32];
      always_ff @(posedge clk_i) if (sums) y_q <= (Slots * 32)'({y_q, y[l*32 +: 32]});
    end
  end

  // ---- lanes

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic [31:0] lo_q, t_lo, t_lo_q;
    always_ff @(posedge clk_i) if (advance) t_lo_q <= t_lo;
    if (Form == sq_pkg::COMBINE_FLOAT) begin : gen_pair
      logic [23:0] sig, sig_q;
      logic signed [9:0] exp, exp_q;
      sq_fp_mul_wide #(.Cut(Cut != 0)) u_pair (
        .clk_i, .en_i(advance),
        .a_i(in_s_lo_i[l*32 +: 32]), .b_i(in_s_a_i[l*32 +: 32]), .sig_o(sig), .exp_o(exp)
      );
      localparam int unsigned LoCut = (SumW != 32 && Cut != 0) ? 2 : 0;  // registers of sq_fixed_float
      logic [31:0] lo;
      if (SumW != 32) begin : gen_fixed
        sq_fixed_float #(.Width(SumW), .Carry(Carry), .Fraction(LoFraction), .Cut(Cut != 0)) u_fixed (
          .clk_i, .en_i(advance), .a_i(in_p_lo_i[l*SumW +: SumW]), .y_o(lo)
        );
      end else begin : gen_binary32
        assign lo = in_p_lo_i[l*SumW +: 32];
      end
      sq_delay #(.Width(32), .Stages(First - LoCut)) u_lo (.clk_i, .en_i(advance), .x_i(lo), .x_o(lo_q));
      sq_fp_scale #(.Cut(Cut != 0)) u_t_lo (
        .clk_i, .en_i(advance), .a_i(lo_q), .sig_i(sig_q), .exp_i(exp_q), .y_o(t_lo)
      );
      always_ff @(posedge clk_i) begin
        if (advance) begin
          sig_q <= sig;
          exp_q <= exp;
        end
      end
    end else begin : gen_single
      logic [31:0] lo, s_lo_q;
      sq_fp_from_int #(.Width(SumW), .Fraction(LoFraction), .Cut(Cut != 0)) u_lo (
        .clk_i, .en_i(advance), .a_i(in_p_lo_i[l*SumW +: SumW]), .y_o(lo)
      );
      always_ff @(posedge clk_i) if (advance) lo_q <= lo;
      sq_delay #(.Width(32), .Stages(First)) u_s_lo (
        .clk_i, .en_i(advance), .x_i(in_s_lo_i[l*32 +: 32]), .x_o(s_lo_q)
      );
      sq_fp_mul #(.Cut(Cut != 0)) u_t_lo (.clk_i, .en_i(advance), .a_i(lo_q), .b_i(s_lo_q), .y_o(t_lo));
    end

    logic [31:0] t;  // what is added
    if (Form == sq_pkg::COMBINE_ONE || Form == sq_pkg::COMBINE_FLOAT) begin : gen_one
      wire unused_hi = ^{in_p_hi_i[l*SumW +: SumW], in_s_hi_i[l*32 +: 32]};
      assign t = t_lo_q;
    end else begin : gen_two
      logic [31:0] hi, hi_q, s_hi_q, t_hi, t_hi_q, both, both_q;
      sq_fp_from_int #(.Width(SumW), .Fraction(HiFraction), .Cut(Cut != 0)) u_hi (
        .clk_i, .en_i(advance), .a_i(in_p_hi_i[l*SumW +: SumW]), .y_o(hi)
      );
      sq_delay #(.Width(32), .Stages(First)) u_s_hi (
        .clk_i, .en_i(advance), .x_i(in_s_hi_i[l*32 +: 32]), .x_o(s_hi_q)
      );
      sq_fp_mul #(.Cut(Cut != 0)) u_t_hi (.clk_i, .en_i(advance), .a_i(hi_q), .b_i(s_hi_q), .y_o(t_hi));
      sq_fp_add #(.Cut(Cut != 0)) u_both (
        .clk_i, .en_i(advance), .a_i(t_lo_q), .b_i(t_hi_q), .y_o(both)
      );
      always_ff @(posedge clk_i) begin
        if (advance) begin
          hi_q <= hi;
          t_hi_q <= t_hi;
          both_q <= both;
        end
      end
      if (Form == sq_pkg::COMBINE_TWO) begin : gen_plain
        assign t = both_q;
      end else begin : gen_scaled
        logic [31:0] s_g, scaled, scaled_q;
        sq_delay #(.Width(32), .Stages(Issue - Mul)) u_s_g (
          .clk_i, .en_i(advance), .x_i(in_s_a_i[l*32 +: 32]), .x_o(s_g)
        );
        sq_fp_mul #(.Cut(Cut != 0)) u_scaled (.clk_i, .en_i(advance), .a_i(both_q), .b_i(s_g), .y_o(scaled));
        always_ff @(posedge clk_i) if (advance) scaled_q <= scaled;
        assign t = scaled_q;
      end
    end

    logic [31:0] begin_y, y_q, ended_y;  // a new sum begins with; the newest sum, and beside what ends
    sq_fp_add #(.Cut(Cut != 0)) u_y (
      .clk_i, .en_i(advance),
      .a_i(is_first_q ? begin_y : so_far[l*32 +: 32]), .b_i(t), .y_o(y[l*32 +: 32])
    );
    always_ff @(posedge clk_i) if (sums) y_q <= y[l*32 +: 32];
    if (Sums != 0) begin : gen_sums
      logic [31:0] out_sum_q;
      sq_delay #(.Width(32), .Stages(Issue)) u_begin (
        .clk_i, .en_i(advance), .x_i(in_sum_i[l*32 +: 32]), .x_o(begin_y)
      );
      sq_delay #(.Width(32), .Stages(Stages - At)) u_ended (
        .clk_i, .en_i(advance), .x_i(y_q), .x_o(ended_y)
      );
      assign out_sum_o[l*32 +: 32] = out_sum_q;
      always_ff @(posedge clk_i) begin
        if (advance && valid_q[Stages-1] && last_q[Stages-1]) out_sum_q <= ended_y;
      end
    end else begin : gen_no_sums
      wire unused_sum = ^in_sum_i[l*32 +: 32];
      assign begin_y = 32'd0;
      assign ended_y = 32'd0;
      assign out_sum_o[l*32 +: 32] = ended_y;
    end

    // The end: times the token's scale; -0 becomes +0.
    logic [31:0] product, ended;
    if (HasEnd) begin : gen_product
      logic [31:0] s_a, s_a_q, y_end;
      sq_delay #(.Width(32), .Stages(At - 1)) u_s_a (
        .clk_i, .en_i(advance), .x_i(in_s_a_i[l*32 +: 32]), .x_o(s_a)
      );
      always_ff @(posedge clk_i) if (sums) s_a_q <= s_a;
      sq_fp_mul #(.Cut(Cut != 0)) u_end (.clk_i, .en_i(advance), .a_i(y_q), .b_i(s_a_q), .y_o(y_end));
      sq_delay #(.Width(32), .Stages((Cut != 0) ? 1 : 0)) u_product (.clk_i, .en_i(advance), .x_i(y_end), .x_o(product));
    end else begin : gen_no_product
      assign product = y_q;
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

  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_y_o, out_tag_o})
  `SQ_ASSERT(TakenAtOnce, Cut == 0 || !out_valid_o || out_ready_i)

endmodule
