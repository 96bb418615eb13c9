// SPDX-License-Identifier: Apache-2.0
// Encoders of all rows side by side (sq_act_scale): blocks of bfloat16 in, blocks as they are stored
// out, upper nibbles and high codes compact. All rows move together.
//
// A block with an element that is not finite gets the code of a scale that is no number, and zeros.
`include "sq_assert.svh"

module sq_act_blocks #(
  parameter  int unsigned Rows = 2,
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighPerBank = 0,
  parameter  int unsigned High = sq_pkg::HIGH_SPLIT,
  parameter  int unsigned Element = sq_pkg::ELEMENT_E2M1,
  parameter  int unsigned Scale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned Topk = sq_pkg::TOPK_RANK,
  parameter  int unsigned Choose = sq_pkg::CHOOSE_LARGEST,
  localparam int unsigned CodeW = sq_pkg::element_code_w(Element),
  localparam int unsigned MaskW = (HighPerBank > 0) ? BankLen : 1,
  localparam int unsigned Lanes = (HighPerBank > 0) ? HighPerBank : 1,
  localparam int unsigned HighW = sq_pkg::element_code_w(sq_pkg::high_element(High, Element))
) (
  input  logic                          clk_i, rst_ni,
  // a block of every row
  input  logic                          in_valid_i,
  output logic                          in_ready_o,
  input  logic [Rows*BankLen*16-1:0]    in_x_i,
  // its codes
  output logic                          out_valid_o,
  input  logic                          out_ready_i,
  output logic [Rows*BankLen*CodeW-1:0] out_code_o,
  output logic [Rows*Lanes*HighW-1:0]   out_high_o,
  output logic [Rows*MaskW-1:0]         out_mask_o,
  output logic [Rows*8-1:0]             out_scale_o
);

  if (High == sq_pkg::HIGH_BLOCK && HighPerBank > 0) begin : gen_bad
    $error("sq_act_scale has no high codes at a scale of their block");
  end

  localparam int unsigned OwnHigh = (HighPerBank > 0 && High == sq_pkg::HIGH_OWN) ? 1 : 0;
  localparam int unsigned PlainHighW = (OwnHigh != 0) ? HighPerBank * 8 : MaskW * 4;
  localparam logic [7:0] NoScale = (Scale == sq_pkg::SCALE_E8M0) ? 8'hff : 8'h7f;

  // ---- blocks that are not finite: the flags of those inside, of which there are 7 at most -----
  logic [Rows-1:0] bad, bad_out;
  logic unused_ready, unused_valid;
  sq_fifo #(.Width(Rows), .Depth(8)) u_bad (
    .clk_i, .rst_ni,
    .in_valid_i(in_valid_i && in_ready_o), .in_ready_o(unused_ready), .in_data_i(bad),
    .out_valid_o(unused_valid), .out_ready_i(out_valid_o && out_ready_i), .out_data_o(bad_out)
  );

  // ---- rows -------------------------------------------------------------------------------------
  logic [Rows-1:0] in_ready, out_valid;
  assign in_ready_o = in_ready[0];
  assign out_valid_o = out_valid[0];
  for (genvar r = 0; r < Rows; r++) begin : gen_row
    logic [BankLen-1:0] is_bad;
    logic [BankLen*16-1:0] x;
    logic [7:0] scale;
    logic [PlainHighW-1:0] high;
    logic [MaskW-1:0] mask;
    for (genvar i = 0; i < BankLen; i++) begin : gen_element
      assign is_bad[i] = &in_x_i[(r*BankLen+i)*16+7 +: 8];
    end
    assign bad[r] = |is_bad;
    assign x = bad[r] ? '0 : in_x_i[r*BankLen*16 +: BankLen*16];
    sq_act_scale #(
      .BankLen(BankLen), .HighPerBank(HighPerBank), .Element(Element), .Scale(Scale), .Topk(Topk),
      .OwnHigh(OwnHigh), .Choose(Choose)
    ) u_scale (
      .clk_i, .rst_ni, .in_valid_i, .in_ready_o(in_ready[r]), .in_x_i(x),
      .out_valid_o(out_valid[r]), .out_ready_i, .out_scale_o(scale),
      .out_code_o(out_code_o[r*BankLen*CodeW +: BankLen*CodeW]), .out_high_o(high),
      .out_mask_o(mask)
    );
    assign out_scale_o[r*8 +: 8] = bad_out[r] ? NoScale : scale;
    assign out_mask_o[r*MaskW +: MaskW] = mask;

    if (HighPerBank > 0 && OwnHigh == 0) begin : gen_compact
      sq_gather_pick #(.BankLen(BankLen), .Picked(HighPerBank), .Width(4)) u_pick (
        .pick_i(mask), .x_i(high), .x_o(out_high_o[r*Lanes*HighW +: Lanes*HighW])
      );
    end else if (HighPerBank > 0) begin : gen_own
      assign out_high_o[r*Lanes*HighW +: Lanes*HighW] = high;
    end else begin : gen_no_high
      wire unused_high = ^high;
      assign out_high_o[r*Lanes*HighW +: Lanes*HighW] = '0;
    end
  end

  wire unused_shake = ^{in_ready, out_valid};

  `SQ_ASSERT_BEGIN
  `SQ_ASSERT(FlagsFit, unused_ready)
  `SQ_ASSERT(FlagsAreThere, unused_valid || !out_valid_o)
  `SQ_ASSERT(RowsMoveTogether, in_ready == {Rows{in_ready[0]}} && out_valid == {Rows{out_valid[0]}})

endmodule
