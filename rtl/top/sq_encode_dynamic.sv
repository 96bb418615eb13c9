// SPDX-License-Identifier: Apache-2.0
// Banks of all rows of a tile for sq_encode: the HighPerBank elements of largest magnitude are high, ties to the lowest
// index (sq_topk), and what it makes of a bank is a beat of activations of LAYOUT_COMPACT:
//
//   out_beat_o  [Rows] low codes of the elements that are not high, ascending; [Rows] high codes; [Rows] mask bits
// With first_i a bank has magnitudes alone. Then low_o becomes, a cycle behind the beat, the largest of each row
// that is not high.
//
// A bank is held until its beat is taken. Masks take a cycle for each bit of a magnitude, so it is offered 17 cycles behind
// the one in which the bank came.
`include "sq_assert.svh"

module sq_encode_dynamic #(
  parameter  int unsigned Rows = 2,
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighPerBank = 4,
  parameter  int unsigned LowW = 4,
  parameter  int unsigned HighW = 8,
  localparam int unsigned MagW = 15,  // of bfloat16
  localparam int unsigned LowLen = BankLen - HighPerBank,
  localparam int unsigned BeatW = Rows * (LowLen * LowW + HighPerBank * HighW + BankLen)
) (
  input  logic                    clk_i, rst_ni,
  // a bank: magnitudes, both codes of each element
  input  logic                    first_i,
  input  logic                    in_valid_i,
  output logic                    in_ready_o,
  input  logic [Rows*BankLen*MagW-1:0] in_mag_i,
  input  logic [Rows*BankLen*LowW-1:0] in_low_i,
  input  logic [Rows*BankLen*HighW-1:0] in_high_i,
  // its beat
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic [BeatW-1:0]        out_beat_o,
  // the largest magnitudes that are not high, of all banks since clear_i
  input  logic                    clear_i,
  output logic [Rows*MagW-1:0]    low_o
);

  localparam int unsigned CodesW = LowW + HighW;
  localparam int unsigned HeldW = (CodesW > MagW) ? CodesW : MagW;

  logic full_q, valid_q;  // a bank is there; and its mask
  logic take, leave;
  logic [Rows-1:0] unit_ready, unit_valid;
  assign leave = valid_q && out_ready_i;
  assign in_ready_o = !full_q || leave;
  assign out_valid_o = valid_q;
  assign take = in_valid_i && in_ready_o;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      full_q <= 1'b0;
      valid_q <= 1'b0;
    end else begin
      full_q <= take || (full_q && !leave);
      valid_q <= unit_valid[0] || (valid_q && !leave);
    end
  end

  for (genvar r = 0; r < Rows; r++) begin : gen_row
    logic [BankLen*MagW-1:0] mag, key;
    logic [BankLen*HeldW-1:0] held_q;
    logic [BankLen-1:0] mask, mask_q, rest;
    logic [MagW-1:0] low, low_q, largest_q;
    assign mag = in_mag_i[r*BankLen*MagW +: BankLen*MagW];
    assign rest = ~mask_q;
    sq_topk #(.BankLen(BankLen), .HighPerBank(HighPerBank), .MagW(MagW), .Topk(sq_pkg::TOPK_RADIX)) u_topk (
      .clk_i, .rst_ni, .in_valid_i(take), .in_ready_o(unit_ready[r]), .in_mag_i(mag),
      .out_valid_o(unit_valid[r]), .out_ready_i(1'b1), .out_mask_o(mask)
    );
    always_ff @(posedge clk_i) begin
      if (unit_valid[0]) mask_q <= mask;
    end

    // ---- elements, and the largest low one ----------------------------------------------------------
    logic [BankLen*LowW-1:0] low_code;
    logic [BankLen*HighW-1:0] high_code;
    for (genvar i = 0; i < BankLen; i++) begin : gen_element
      logic [HeldW-1:0] held;
      logic [CodesW-1:0] codes;
      assign held = held_q[i*HeldW +: HeldW];
      assign codes = {in_high_i[(r*BankLen+i)*HighW +: HighW], in_low_i[(r*BankLen+i)*LowW +: LowW]};
      always_ff @(posedge clk_i) begin
        if (take) held_q[i*HeldW +: HeldW] <= first_i ? HeldW'(mag[i*MagW +: MagW]) : HeldW'(codes);
      end
      assign key[i*MagW +: MagW] = mask_q[i] ? '0 : held[MagW-1:0];
      assign low_code[i*LowW +: LowW] = held[LowW-1:0];
      assign high_code[i*HighW +: HighW] = held[CodesW-1 -: HighW];
    end
    logic [BankLen-1:0] unused_first;
    sq_topk_first #(.BankLen(BankLen), .KeyW(MagW)) u_low (.key_i(key), .first_o(unused_first), .max_o(low));
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        low_q <= '0;
        largest_q <= '0;
      end else begin
        low_q <= (valid_q && first_i) ? low : '0;
        largest_q <= clear_i ? '0 : (low_q > largest_q) ? low_q : largest_q;
      end
    end
    assign low_o[r*MagW +: MagW] = largest_q;

    // ---- the beat -----------------------------------------------------------------------------------
    sq_gather_pick #(.BankLen(BankLen), .Picked(LowLen), .Width(LowW)) u_pick_low (
      .pick_i(rest), .x_i(low_code), .x_o(out_beat_o[r*LowLen*LowW +: LowLen*LowW])
    );
    sq_gather_pick #(.BankLen(BankLen), .Picked(HighPerBank), .Width(HighW)) u_pick_high (
      .pick_i(mask_q), .x_i(high_code), .x_o(out_beat_o[Rows*LowLen*LowW+r*HighPerBank*HighW +: HighPerBank*HighW])
    );
    assign out_beat_o[Rows*(LowLen*LowW+HighPerBank*HighW)+r*BankLen +: BankLen] = mask_q;
  end

  `SQ_ASSERT_BEGIN
  `SQ_ASSERT(UnitsMoveTogether, unit_valid == {Rows{unit_valid[0]}} && unit_ready == {Rows{unit_ready[0]}})
  `SQ_ASSERT(UnitIsFree, !take || unit_ready[0])
  `SQ_ASSERT(MaskHasRoom, !unit_valid[0] || !valid_q)
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, out_beat_o)

endmodule
