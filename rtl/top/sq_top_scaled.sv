// SPDX-License-Identifier: Apache-2.0
// sq_engine_scaled behind the buffers of sq_top: beats as they lie in memory become blocks. Both operands are
// stored in the same way: of all lines the codes, the high codes, the mask, the scales of the block, its scales of
// high codes, its places and its sub-blocks' bits, as far as Element and High have them. Of scales above the blocks a beat is the low
// ones of all lines, then the high ones where parts have their own. Sums that come in are put together to tiles.
module sq_top_scaled #(
  parameter  int unsigned Rows = 2,
  parameter  int unsigned Cols = 2,
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighPerBank = 0,  // sq_engine_scaled, as those below; of both operands
  parameter  int unsigned High = sq_pkg::HIGH_SPLIT,
  parameter  int unsigned Element = sq_pkg::ELEMENT_E2M1,
  parameter  int unsigned Scale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned BlockSum = 0,  // sq_top
  parameter  int unsigned OutKind = sq_pkg::OUT_BINARY32,
  parameter  int unsigned PortLen = 1,
  localparam bit          HasHigh = HighPerBank > 0,
  localparam int unsigned Lanes = HasHigh ? HighPerBank : 1,
  localparam int unsigned CodeLineW = BankLen * sq_pkg::element_code_w(Element),
  localparam int unsigned HighLineW = Lanes * sq_pkg::element_code_w(sq_pkg::high_element(High, Element)),
  localparam int unsigned MaskW = (HasHigh && High == sq_pkg::HIGH_SPLIT) ? BankLen : 1,
  localparam int unsigned PlaceW = sq_pkg::index_w(BankLen),
  localparam int unsigned LineW = sq_pkg::scaled_line_w(BankLen, HighPerBank, High, Element, Scale),
  localparam int unsigned ActBits = Rows * LineW,
  localparam int unsigned WeightBits = Cols * LineW,
  localparam int unsigned Pairs = HasHigh ? sq_pkg::parts_pairs(High, 1) : 1,
  localparam int unsigned RowBits = Rows * 32 * (Pairs > 1 ? 2 : 1),
  localparam int unsigned ColBits = Cols * 32 * (Pairs == 4 ? 2 : 1),
  localparam int unsigned OutW = sq_pkg::out_w(OutKind)
) (
  input  logic                        clk_i, rst_ni,
  // jobs, as those of the engine
  input  logic                        job_valid_i,
  output logic                        job_ready_o,
  input  logic [15:0]                 job_blocks_i, job_tiles_i,
  input  logic                        job_carry_i, job_keep_i,
  // beats of the buffers
  input  logic                        act_valid_i,
  output logic                        act_ready_o,
  input  logic [ActBits-1:0]          act_i,
  input  logic                        weight_valid_i,
  output logic                        weight_ready_o,
  input  logic [WeightBits-1:0]       weight_i,
  input  logic                        scale_valid_i,
  output logic                        scale_ready_o,
  input  logic [RowBits-1:0]          row_scale_i,
  input  logic [ColBits-1:0]          col_scale_i,
  // outputs, and sums of them, Lanes a beat
  output logic                        out_valid_o,
  input  logic                        out_ready_i,
  output logic [PortLen*OutW-1:0]     out_y_o,
  output logic                        out_last_o,
  output logic [sq_pkg::N_ERRORS-1:0] out_error_o,
  input  logic                        carry_valid_i,
  output logic                        carry_ready_o,
  input  logic [PortLen*32-1:0]       carry_sum_i,
  output logic                        keep_valid_o,
  output logic [PortLen*32-1:0]       keep_sum_o,
  output logic                        keep_last_o,
  output logic [sq_pkg::N_ERRORS-1:0] keep_error_o
);

  // Where the fields of a line begin in a beat of one line, and its end; of n lines n times that. A field that lines do
  // not have is 0.
  localparam bit HasMask = HasHigh && High == sq_pkg::HIGH_SPLIT;
  localparam bit HasHighScale = HasHigh && High == sq_pkg::HIGH_BLOCK;
  localparam bit HasPlace = Element == sq_pkg::ELEMENT_PLUS;
  localparam bit HasSub = sq_pkg::element_sub_w(Element) > 0;
  localparam int unsigned HighAt = CodeLineW;
  localparam int unsigned MaskAt = HighAt + (HasHigh ? HighLineW : 0);
  localparam int unsigned ScaleAt = MaskAt + (HasMask ? BankLen : 0);
  localparam int unsigned ScaleW = sq_pkg::scale_code_w(Scale);
  localparam int unsigned HighScaleAt = ScaleAt + ScaleW;
  localparam int unsigned PlaceAt = HighScaleAt + (HasHighScale ? 8 : 0);
  localparam int unsigned SubAt = PlaceAt + (HasPlace ? PlaceW : 0);
  localparam int unsigned SubPortW = sq_pkg::sub_port_w(Element);
  logic [Rows*HighLineW-1:0] act_high;
  logic [Cols*HighLineW-1:0] weight_high;
  logic [Rows*MaskW-1:0] act_mask;
  logic [Cols*MaskW-1:0] weight_mask;
  logic [Rows*8-1:0] act_high_scale;
  logic [Cols*8-1:0] weight_high_scale;
  logic [Rows*PlaceW-1:0] act_place;
  logic [Cols*PlaceW-1:0] weight_place;
  logic [Rows*SubPortW-1:0] act_sub;
  logic [Cols*SubPortW-1:0] weight_sub;
  logic [Rows*32-1:0] row_hi;
  logic [Cols*32-1:0] col_hi;
  assign act_high = HasHigh ? act_i[(HasHigh ? Rows * HighAt : 0) +: Rows*HighLineW] : '0;
  assign weight_high = HasHigh ? weight_i[(HasHigh ? Cols * HighAt : 0) +: Cols*HighLineW] : '0;
  assign act_mask = HasMask ? act_i[(HasMask ? Rows * MaskAt : 0) +: Rows*MaskW] : '0;
  assign weight_mask = HasMask ? weight_i[(HasMask ? Cols * MaskAt : 0) +: Cols*MaskW] : '0;
  assign act_high_scale = HasHighScale ? act_i[(HasHighScale ? Rows * HighScaleAt : 0) +: Rows*8] : '0;
  assign weight_high_scale = HasHighScale ? weight_i[(HasHighScale ? Cols * HighScaleAt : 0) +: Cols*8] : '0;
  assign act_place = HasPlace ? act_i[(HasPlace ? Rows * PlaceAt : 0) +: Rows*PlaceW] : '0;
  assign weight_place = HasPlace ? weight_i[(HasPlace ? Cols * PlaceAt : 0) +: Cols*PlaceW] : '0;
  assign act_sub = HasSub ? act_i[(HasSub ? Rows * SubAt : 0) +: Rows*SubPortW] : '0;
  assign weight_sub = HasSub ? weight_i[(HasSub ? Cols * SubAt : 0) +: Cols*SubPortW] : '0;
  assign row_hi = (Pairs > 1) ? row_scale_i[RowBits-1 -: Rows*32] : '0;
  assign col_hi = (Pairs == 4) ? col_scale_i[ColBits-1 -: Cols*32] : '0;

  localparam int unsigned TileW = Pairs * Rows * Cols * 32;
  logic tile_valid, tile_ready;
  logic [1:0] unused_flags;
  logic [TileW-1:0] tile;
  sq_gear #(.InW(PortLen * 32), .OutW(TileW)) u_carry (
    .clk_i, .rst_ni, .in_valid_i(carry_valid_i), .in_ready_o(carry_ready_o), .in_data_i(carry_sum_i),
    .in_tail_i({sq_pkg::index_w(PortLen * 4){1'b0}}), .in_poison_i(1'b0), .in_last_i(1'b0), .out_valid_o(tile_valid), .out_ready_i(tile_ready), .out_data_o(tile),
    .out_poison_o(unused_flags[0]), .out_last_o(unused_flags[1])
  );

  // Exact sums end with their job: all of K is one chunk (sq_sequencer refuses others).
  localparam int unsigned Acc = (BlockSum != 0) ? sq_pkg::ACC_FIXED + sq_pkg::field(BlockSum, 14, 2) : sq_pkg::ACC_BINARY32;
  sq_engine_scaled #(
    .Rows(Rows), .Cols(Cols), .BankLen(BankLen), .HighPerBank(HighPerBank), .High(High),
    .WeightHigh(HasHigh ? 1 : 0), .ActElement(Element), .WeightElement(Element), .ActScale(Scale),
    .WeightScale(Scale), .Lanes(PortLen), .OutKind(OutKind), .PortLen(PortLen), .Depth(sq_pkg::output_depth(sq_pkg::COMBINE_FLOAT, OutKind)),
    .Hold(2), .Sums(Acc == sq_pkg::ACC_FIXED ? 0 : 1), .Acc(Acc),
    .AccW(BlockSum != 0 ? sq_pkg::field(BlockSum, 0, 7) : 32), .Cut(sq_pkg::field(BlockSum, 7, 2)), .Carry(sq_pkg::field(BlockSum, 9, 5))
  ) u_engine (
    .clk_i, .rst_ni, .job_valid_i, .job_ready_o, .job_blocks_i, .job_tiles_i, .job_carry_i, .job_keep_i,
    .act_valid_i, .act_ready_o, .act_x_i(1'b0), .act_code_i(act_i[Rows*CodeLineW-1:0]), .act_high_i(act_high),
    .act_mask_i(act_mask), .act_scale_i(act_i[Rows*ScaleAt +: Rows*ScaleW]), .act_high_scale_i(act_high_scale),
    .act_place_i(act_place), .act_sub_i(act_sub), .weight_valid_i, .weight_ready_o, .weight_code_i(weight_i[Cols*CodeLineW-1:0]),
    .weight_high_i(weight_high), .weight_mask_i(weight_mask), .weight_scale_i(weight_i[Cols*ScaleAt +: Cols*ScaleW]),
    .weight_high_scale_i(weight_high_scale), .weight_place_i(weight_place), .weight_sub_i(weight_sub),
    .scale_valid_i, .scale_ready_o, .scale_col_lo_i(col_scale_i[Cols*32-1:0]), .scale_col_hi_i(col_hi),
    .scale_row_lo_i(row_scale_i[Rows*32-1:0]), .scale_row_hi_i(row_hi),
    .out_valid_o, .out_ready_i, .out_y_o, .out_last_o, .out_error_o,
    .carry_valid_i(tile_valid), .carry_ready_o(tile_ready), .carry_y_i(tile), .keep_valid_o, .keep_sum_o,
    .keep_last_o, .keep_error_o
  );

endmodule
