// SPDX-License-Identifier: Apache-2.0
// Output stage behind a core or an array (SPEC R.1): tiles of sums, integers of SumW bits (in units of
// 2^-LoFraction and 2^-HiFraction), one per scale group, and
// their scales become outputs on a port of PortLen outputs a word.
//
//   in     [Rows][Cols] sums of a scale group, a tile per beat
//   scale  a beat per tile: scales of the columns and of the rows, and whether the group is the
//          last of its outputs
//   out    the outputs of a tile, row by row, PortLen a word
// What the scales are to sq_combine, by Form:
//   ONE     t = P_lo col_lo                                at the end times row_lo
//   TWO     t = P_lo col_lo + P_hi col_hi                  at the end times row_lo
//   SCALED  t = (P_lo row_lo + P_hi row_hi) col_lo
//   FLOAT   t = P_lo (col_lo row_lo)                       P_lo is binary32, or exact with SumW other than 32 (sq_array_scaled)
// OutKind: binary32, bfloat16, or INT8: the output rounded to the nearest integer, ties to even,
// clamped to -127..127 (its scale is taken into the others).
//
//   tile -> Lanes outputs per cycle -> sq_combine [-> sq_requant] -> sq_fifo -> words
// A tile takes Rows * Cols / Lanes cycles. Hold = 1: it is moved at once to registers of its own, so
// that PEs without a register for their totals go on; 0: it stays where it is until its last cycle.
// Hold = 2, for a short clock period: it goes on in the cycle in which it comes, and what has to wait does so in
// registers, so that in_ready_o is a flip-flop's; registers stand behind the slot and behind the sums of integers, and sq_combine is cut into more
// stages, which never stop: a slot of outputs goes when the queue has a place for them that nothing before it
// needs. For an output in each cycle Depth is at least output_depth. Tiles of the same outputs begin at least combine_spacing cycles
// apart.
// A tag of TagW bits (kinds of errors) stands with a tile as long as the tile is offered; those of
// the tiles of an output, or'ed, leave with each of its words. The queue of Depth beats keeps outputs
// while the port takes them, as the next tile comes; with a beat for each cycle of a tile only a port
// that is too slow over all groups stops the PEs.
// Sums = 1: binary32 sums come in and go out, so that outputs may come of several stretches of K. Sums = 2: also integers,
// so that a stretch may end inside a scale group: beside each sum lie P_lo and, where Form reads it, P_hi of the group
// up to there. Those that come in are added to the tile; those that go out are not combined. Sums = 3: P_lo stands in the
// place of the sum, which is 0 then: all of K is one group.
`include "sq_assert.svh"

module sq_output #(
  parameter  int unsigned Rows = 2,
  parameter  int unsigned Cols = 2,
  parameter  int unsigned Lanes = 2,  // divides Rows * Cols
  parameter  int unsigned Form = sq_pkg::COMBINE_TWO,
  parameter  int unsigned OutKind = sq_pkg::OUT_BINARY32,
  parameter  int unsigned PortLen = 1,  // divides Lanes
  parameter  int unsigned Depth = 2,  // >= 2
  parameter  int unsigned Hold = 0,  // 0..2
  parameter  int unsigned Sums = 0,
  parameter  int unsigned TagW = 1,
  parameter  int unsigned SumW = 32,
  parameter  int unsigned Carry = 0,  // FLOAT: exact sums with saved carries (sq_acc_fixed)
  parameter  int unsigned LoFraction = 0,
  parameter  int unsigned HiFraction = 0,
  localparam int unsigned OutW = sq_pkg::out_w(OutKind),
  localparam int unsigned KeptW = 32 * sq_pkg::kept_words(Sums, Form)  // of an output, between two stretches
) (
  input  logic                      clk_i, rst_ni,
  // tiles of sums
  input  logic                      in_valid_i,
  output logic                      in_ready_o,
  input  logic [Rows*Cols*SumW-1:0] in_p_lo_i,
  input  logic [Rows*Cols*SumW-1:0] in_p_hi_i,  // TWO, SCALED
  input  logic [TagW-1:0]           in_tag_i,
  // scales of a tile, binary32
  input  logic                      scale_valid_i,
  output logic                      scale_ready_o,
  input  logic                      scale_last_i,
  input  logic [Cols*32-1:0]        scale_col_lo_i,
  input  logic [Cols*32-1:0]        scale_col_hi_i,  // TWO
  input  logic [Rows*32-1:0]        scale_row_lo_i,
  input  logic [Rows*32-1:0]        scale_row_hi_i,  // SCALED
  input  logic [TagW-1:0]           scale_tag_i,  // or'ed to that of the tile
  input  logic                      scale_carry_i,  // with the first group; Sums
  input  logic                      scale_keep_i,  // with the last group; Sums
  input  logic [1:0]                scale_part_i,  // Sums = 2, 3: integers come [0], go [1]
  // sums in, out: of all lanes binary32, then P_lo, P_hi; Sums
  input  logic                      carry_valid_i,
  output logic                      carry_ready_o,
  input  logic [Lanes*KeptW-1:0]    carry_sum_i,
  output logic                      keep_valid_o,
  output logic [Lanes*KeptW-1:0]    keep_sum_o,
  output logic [TagW-1:0]           keep_tag_o,
  // outputs
  output logic                      out_valid_o,
  input  logic                      out_ready_i,
  output logic [PortLen*OutW-1:0]   out_y_o,
  output logic [TagW-1:0]           out_tag_o
);

  localparam int unsigned Tile = Rows * Cols;
  localparam int unsigned Slots = Tile / Lanes;
  localparam int unsigned SlotW = sq_pkg::index_w(Slots);
  localparam int unsigned Cut = (Hold == 2) ? 1 : 0;
  localparam int unsigned Spacing = sq_pkg::combine_spacing(Cut);
  if (Hold > 2) begin : gen_bad_hold
    $error("Hold 0..2");
  end
  if (Slots * Lanes != Tile || Lanes % PortLen != 0) begin : gen_bad
    $error("Lanes divides Rows * Cols, PortLen divides Lanes");
  end
  if (Sums > 3 || (Sums > 1 && SumW != 32) || (Sums == 3 && Form != sq_pkg::COMBINE_ONE)) begin : gen_bad_sums
    $error("Sums 0..3, integers of 32 bits with 2 and 3, one sum of a PE with 3");
  end

  // ---- a tile, slot by slot ---------------------------------------------------------------------
  logic [SlotW-1:0] slot_q;
  logic tile_valid, slot_valid, slot_ready, slot_fire, is_end, has_carry, has_place, may_go, beat_valid, beat_ready;
  assign is_end = slot_q == SlotW'(Slots - 1);
  assign has_carry = Sums == 0 || !scale_carry_i || carry_valid_i;
  assign slot_valid = tile_valid && scale_valid_i && may_go;
  assign slot_fire = slot_valid && slot_ready;
  assign scale_ready_o = slot_ready && tile_valid && may_go && is_end;
  assign carry_ready_o = Sums != 0 && scale_carry_i && slot_ready && tile_valid && scale_valid_i && has_place;
  if (Cut != 0) begin : gen_places
    localparam int unsigned PlaceW = $clog2(Depth + 1);
    logic [PlaceW-1:0] owed_q;  // outputs on their way and in the queue
    logic owes;
    assign has_place = owed_q != PlaceW'(Depth) || !scale_last_i || (Sums != 0 && scale_keep_i);
    assign owes = slot_fire && scale_last_i && !(Sums != 0 && scale_keep_i);
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) owed_q <= '0;
      else owed_q <= owed_q + PlaceW'(owes) - PlaceW'(beat_valid && beat_ready);
    end
  end else begin : gen_no_places
    assign has_place = 1'b1;
  end
  if (Spacing > Slots) begin : gen_pause  // a tile of the same outputs waits until the sums of the one before are there
    localparam int unsigned PauseW = $clog2(Spacing);
    logic [PauseW-1:0] pause_q;
    assign may_go = has_carry && has_place && pause_q == '0;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) pause_q <= '0;
      else if (slot_fire && is_end && !scale_last_i) pause_q <= PauseW'(Spacing - Slots);
      else if (slot_ready && pause_q != '0) pause_q <= pause_q - 1'b1;
    end
  end else begin : gen_no_pause
    assign may_go = has_carry && has_place;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) slot_q <= '0;
    else if (slot_fire) slot_q <= is_end ? '0 : slot_q + 1'b1;
  end

  logic [Slots-1:0] at;  // one-hot
  for (genvar s = 0; s < Slots; s++) begin : gen_at
    assign at[s] = slot_q == SlotW'(s);
  end

  logic [Lanes*SumW-1:0] p_lo, p_hi;
  logic [TagW-1:0] tag;
  if (Hold == 2) begin : gen_skid
    logic held_q, take;
    logic [Tile*SumW-1:0] p_lo_q, p_hi_q, now_lo, now_hi;  // the next slot in the low bits
    logic [TagW-1:0] tag_q;
    assign in_ready_o = !held_q;
    assign take = in_valid_i && in_ready_o;
    assign tile_valid = held_q || in_valid_i;
    assign now_lo = held_q ? p_lo_q : in_p_lo_i;
    assign now_hi = held_q ? p_hi_q : in_p_hi_i;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) held_q <= 1'b0;
      else if (take || held_q) held_q <= !(slot_fire && is_end);
    end
    always_ff @(posedge clk_i) begin
      if (take) tag_q <= in_tag_i;
      if (take || slot_fire) begin
        p_lo_q <= slot_fire ? now_lo >> (Lanes * SumW) : now_lo;
        p_hi_q <= slot_fire ? now_hi >> (Lanes * SumW) : now_hi;
      end
    end
    assign p_lo = now_lo[Lanes*SumW-1:0];
    assign p_hi = now_hi[Lanes*SumW-1:0];
    assign tag = (held_q ? tag_q : in_tag_i) | scale_tag_i;
  end else if (Hold != 0) begin : gen_hold
    logic held_q, take;
    logic [Tile*SumW-1:0] p_lo_q, p_hi_q;  // the next slot in the low bits
    logic [TagW-1:0] tag_q;
    assign in_ready_o = !held_q || (slot_fire && is_end);
    assign take = in_valid_i && in_ready_o;
    assign tile_valid = held_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) held_q <= 1'b0;
      else if (in_ready_o) held_q <= in_valid_i;
    end
    always_ff @(posedge clk_i) begin
      if (take) begin
        p_lo_q <= in_p_lo_i;
        p_hi_q <= in_p_hi_i;
        tag_q <= in_tag_i;
      end else if (slot_fire) begin
        p_lo_q <= p_lo_q >> (Lanes * SumW);
        p_hi_q <= p_hi_q >> (Lanes * SumW);
      end
    end
    assign p_lo = p_lo_q[Lanes*SumW-1:0];
    assign p_hi = p_hi_q[Lanes*SumW-1:0];
    assign tag = tag_q | scale_tag_i;
  end else begin : gen_pass
    assign in_ready_o = slot_ready && scale_valid_i && may_go && is_end;
    assign tile_valid = in_valid_i;
    assign tag = in_tag_i | scale_tag_i;
    always_comb begin
      p_lo = '0;
      p_hi = '0;
      for (int unsigned s = 0; s < Slots; s++) begin
        p_lo = p_lo | (in_p_lo_i[s*Lanes*SumW +: Lanes*SumW] & {(Lanes * SumW){at[s]}});
        p_hi = p_hi | (in_p_hi_i[s*Lanes*SumW +: Lanes*SumW] & {(Lanes * SumW){at[s]}});
      end
    end
  end

  // Scales of a lane: of the column and the row that its output has in this slot.
  logic [Lanes*32-1:0] col_lo, col_hi, row_lo, row_hi;
  for (genvar l = 0; l < Lanes; l++) begin : gen_scale
    if (Lanes % Cols == 0) begin : gen_col_fixed
      assign col_lo[l*32 +: 32] = scale_col_lo_i[(l%Cols)*32 +: 32];
      assign col_hi[l*32 +: 32] = scale_col_hi_i[(l%Cols)*32 +: 32];
    end else begin : gen_col
      always_comb begin
        col_lo[l*32 +: 32] = '0;
        col_hi[l*32 +: 32] = '0;
        for (int unsigned s = 0; s < Slots; s++) begin
          col_lo[l*32 +: 32] = col_lo[l*32 +: 32] |
              (scale_col_lo_i[((s*Lanes+l)%Cols)*32 +: 32] & {32{at[s]}});
          col_hi[l*32 +: 32] = col_hi[l*32 +: 32] |
              (scale_col_hi_i[((s*Lanes+l)%Cols)*32 +: 32] & {32{at[s]}});
        end
      end
    end
    always_comb begin
      row_lo[l*32 +: 32] = '0;
      row_hi[l*32 +: 32] = '0;
      for (int unsigned s = 0; s < Slots; s++) begin
        row_lo[l*32 +: 32] = row_lo[l*32 +: 32] |
            (scale_row_lo_i[((s*Lanes+l)/Cols)*32 +: 32] & {32{at[s]}});
        row_hi[l*32 +: 32] = row_hi[l*32 +: 32] |
            (scale_row_hi_i[((s*Lanes+l)/Cols)*32 +: 32] & {32{at[s]}});
      end
    end
  end

  logic [Lanes*32-1:0] s_lo, s_hi, s_a;
  if (Form == sq_pkg::COMBINE_SCALED) begin : gen_scaled
    wire unused_col_hi = ^col_hi;
    assign s_lo = row_lo;
    assign s_hi = row_hi;
    assign s_a = col_lo;
  end else begin : gen_weights
    wire unused_row_hi = ^row_hi;
    assign s_lo = col_lo;
    assign s_hi = col_hi;
    assign s_a = row_lo;
  end

  // ---- what a slot gives ------------------------------------------------------------------------
  localparam int unsigned SlotBits = 2 + Lanes * (2 * SumW + 3 * 32 + KeptW) + TagW + 4;
  logic slot_last, slot_end, slot_moves, slot_carries, slot_keep;
  logic [1:0] slot_part;
  logic [Lanes*SumW-1:0] slot_lo, slot_hi;
  logic [Lanes*32-1:0] slot_s_lo, slot_s_hi, slot_s_a;
  logic [Lanes*KeptW-1:0] slot_carry;
  logic [TagW-1:0] slot_tag;
  sq_delay #(.Width(SlotBits), .Stages(Cut)) u_slot (
    .clk_i, .en_i(slot_ready),
    .x_i({scale_last_i, is_end, p_lo, p_hi, s_lo, s_hi, s_a, carry_sum_i, tag, scale_carry_i, scale_keep_i, scale_part_i}),
    .x_o({slot_last, slot_end, slot_lo, slot_hi, slot_s_lo, slot_s_hi, slot_s_a, slot_carry, slot_tag, slot_carries, slot_keep,
          slot_part})
  );

  // What the tiles before had, of the same outputs.
  logic [TagW-1:0] before_q, all_tags;
  assign all_tags = slot_tag | before_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) before_q <= '0;
    else if (slot_moves && slot_end) before_q <= slot_last ? '0 : all_tags;
  end

  // ---- integers of a group of which more comes --------------------------------------------------
  localparam int unsigned PartW = Sums > 1 ? 32 * sq_pkg::kept_parts(Form) : 0;  // of an output
  localparam int unsigned UnitTagW = TagW + 2 + Lanes * PartW;
  logic [Lanes*SumW-1:0] whole_lo, whole_hi;
  logic [Lanes*32-1:0] carry_y, keep_y;
  logic [UnitTagW-1:0] tag_in, tag_out;
  logic goes_on;
  assign goes_on = Sums > 1 && slot_part[1];
  assign tag_in[TagW+1:0] = {goes_on, Sums != 0 && slot_keep, all_tags};
  assign carry_y = slot_carry[Lanes*32-1:0] & {(Lanes * 32){slot_carries && !(Sums == 3 && slot_part[0])}};
  if (Sums > 1) begin : gen_parts
    localparam int unsigned At = Sums == 3 ? 0 : Lanes * 32;  // of P_lo
    for (genvar l = 0; l < Lanes; l++) begin : gen_lane
      assign whole_lo[l*32 +: 32] = slot_lo[l*32 +: 32] + (slot_carry[At+l*32 +: 32] & {32{slot_part[0]}});
      if (PartW == 64) begin : gen_hi
        assign whole_hi[l*32 +: 32] = slot_hi[l*32 +: 32] +
                                      (slot_carry[At+(Lanes+l)*32 +: 32] & {32{slot_part[0]}});
        assign tag_in[TagW+2+(Lanes+l)*32 +: 32] = whole_hi[l*32 +: 32];
      end else begin : gen_no_hi
        assign whole_hi[l*32 +: 32] = slot_hi[l*32 +: 32];
      end
      assign tag_in[TagW+2+l*32 +: 32] = whole_lo[l*32 +: 32];
    end
    if (Sums == 3) begin : gen_one
      assign keep_sum_o = tag_out[TagW+1] ? tag_out[UnitTagW-1:TagW+2] : keep_y;
    end else begin : gen_both
      assign keep_sum_o = {tag_out[UnitTagW-1:TagW+2], keep_y};
    end
  end else begin : gen_no_parts
    assign whole_lo = slot_lo;
    assign whole_hi = slot_hi;
    assign keep_sum_o = keep_y;
    wire unused_part = ^{slot_part, tag_out[TagW+1]};
  end
  if (Sums == 2) begin : gen_flag
    wire unused_flag = tag_out[TagW+1];
  end

  // ---- outputs ----------------------------------------------------------------------------------
  localparam int unsigned UnitW = OutKind == sq_pkg::OUT_BFLOAT16 ? 16 : 32;
  logic unit_valid, unit_keep, y_valid, y_ready, queue_valid, queue_ready;
  logic [Lanes*UnitW-1:0] unit_y;
  logic [Lanes*OutW-1:0] queue_y, beat_y;
  logic [TagW-1:0] unit_tag, queue_tag;

  // What of it goes to sq_combine.
  localparam int unsigned UnitBits = 1 + Lanes * (2 * SumW + 4 * 32) + UnitTagW;
  logic unit_in_valid, unit_in_last;
  logic [Lanes*SumW-1:0] unit_lo, unit_hi;
  logic [Lanes*32-1:0] unit_s_lo, unit_s_hi, unit_s_a, unit_sum;
  logic [UnitTagW-1:0] unit_tag_in;
  sq_delay #(.Width(UnitBits), .Stages(Cut)) u_unit (
    .clk_i, .en_i(slot_ready),
    .x_i({slot_last, whole_lo & {(Lanes * SumW){!goes_on}}, whole_hi & {(Lanes * SumW){!goes_on}},
          slot_s_lo & {(Lanes * 32){!goes_on}}, slot_s_hi & {(Lanes * 32){!goes_on}},
          slot_s_a & {(Lanes * 32){!goes_on}}, carry_y, tag_in}),
    .x_o({unit_in_last, unit_lo, unit_hi, unit_s_lo, unit_s_hi, unit_s_a, unit_sum, unit_tag_in})
  );
  if (Cut != 0) begin : gen_slot_valid
    logic [1:0] valid_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid_q <= '0;
      else if (slot_ready) valid_q <= {valid_q[0], slot_valid};
    end
    assign unit_in_valid = valid_q[1];
    assign slot_moves = valid_q[0] && slot_ready;
  end else begin : gen_slot_now
    assign unit_in_valid = slot_valid;
    assign slot_moves = slot_fire;
  end
  sq_combine #(
    .Lanes(Lanes), .Slots(Slots), .Form(Form),
    .IsBf16(OutKind == sq_pkg::OUT_BFLOAT16 ? 1 : 0), .Sums(Sums), .SumW(SumW),
    .Carry(Carry), .LoFraction(LoFraction), .HiFraction(HiFraction), .TagW(UnitTagW), .Cut(Cut)
  ) u_combine (
    .clk_i, .rst_ni,
    .in_valid_i(unit_in_valid), .in_ready_o(slot_ready), .in_last_i(unit_in_last),
    .in_p_lo_i(unit_lo), .in_p_hi_i(unit_hi), .in_s_lo_i(unit_s_lo), .in_s_hi_i(unit_s_hi),
    .in_s_a_i(unit_s_a), .in_sum_i(unit_sum), .in_tag_i(unit_tag_in),
    .out_valid_o(unit_valid), .out_ready_i(unit_keep || y_ready), .out_y_o(unit_y),
    .out_sum_o(keep_y), .out_tag_o(tag_out)
  );
  assign {unit_keep, unit_tag} = tag_out[TagW:0];
  assign keep_valid_o = unit_valid && unit_keep;
  assign keep_tag_o = unit_tag;
  assign y_valid = unit_valid && !unit_keep;

  if (OutKind == sq_pkg::OUT_INT8) begin : gen_int8
    // y = significand * 2^(exponent - 150); beyond a shift of 63 nothing is left of it.
    logic [Lanes*25-1:0] significand;
    logic [Lanes*6-1:0] shift;
    for (genvar l = 0; l < Lanes; l++) begin : gen_lane
      logic [31:0] y;
      logic [7:0] exponent;
      logic [24:0] magnitude;
      assign y = unit_y[l*32 +: 32];
      assign exponent = y[30:23];
      assign magnitude = {1'b0, exponent != '0, y[22:0]};
      assign significand[l*25 +: 25] = y[31] ? 25'd0 - magnitude : magnitude;
      assign shift[l*6 +: 6] = exponent >= 8'd150 ? 6'd0 :
                               exponent < 8'd87 ? 6'd63 : 6'(8'd150 - exponent);
    end
    sq_requant #(.Lanes(Lanes), .OutW(8), .AccW(25), .MulW(2), .ShiftW(6)) u_requant (
      .clk_i, .rst_ni,
      .in_valid_i(y_valid), .in_ready_o(y_ready), .in_acc_i(significand),
      .in_mul_i({Lanes{2'b01}}), .in_shift_i(shift),
      .out_valid_o(queue_valid), .out_ready_i(queue_ready), .out_code_o(queue_y)
    );
    logic [3*TagW-1:0] tag_q;  // of its three stages
    always_ff @(posedge clk_i) begin
      if (y_ready) tag_q <= (3 * TagW)'({tag_q, unit_tag});
    end
    assign queue_tag = tag_q[3*TagW-1 -: TagW];
  end else begin : gen_float
    assign queue_valid = y_valid;
    assign y_ready = queue_ready;
    assign queue_y = unit_y;
    assign queue_tag = unit_tag;
  end

  sq_fifo #(.Width(Lanes * OutW + TagW), .Depth(Depth)) u_queue (
    .clk_i, .rst_ni,
    .in_valid_i(queue_valid), .in_ready_o(queue_ready), .in_data_i({queue_tag, queue_y}),
    .out_valid_o(beat_valid), .out_ready_i(beat_ready), .out_data_o({out_tag_o, beat_y})
  );
  sq_bank_steps #(.Lines(1), .Lanes(PortLen), .BankLen(Lanes), .Width(OutW)) u_words (
    .clk_i, .rst_ni,
    .in_valid_i(beat_valid), .in_ready_o(beat_ready), .in_data_i(beat_y),
    .out_valid_o, .out_ready_i, .out_data_o(out_y_o)
  );

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_y_o, out_tag_o})

endmodule
