// SPDX-License-Identifier: Apache-2.0
// sq_array with its output stage: banks and scales in, outputs out. A group of beats that ends with
// in_last_i is a scale group; it meets a beat of scales, the last of which makes outputs. Tiles wait
// in the total registers of the PEs, so that the array works while one is read (sq_output, Hold = 0).
// With each word stands whether a mask of its scale groups was malformed (sq_array).
module sq_array_out #(
  parameter  int unsigned Rows = 2,
  parameter  int unsigned Cols = 2,
  parameter  int unsigned Banks = 1,
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighPerBank = 4,
  parameter  int unsigned HighLen = HighPerBank,
  parameter  int unsigned Layout = sq_pkg::LAYOUT_SPLIT,
  parameter  int unsigned OnActs = 1,
  parameter  int unsigned OneAcc = 1,
  parameter  int unsigned PlainW = 4,
  parameter  int unsigned LowW = 4,
  parameter  int unsigned HighW = 4,
  parameter  int unsigned Gather = sq_pkg::GATHER_CROSSBAR,
  // output stage
  parameter  int unsigned Lanes = 2,
  parameter  int unsigned Form = sq_pkg::COMBINE_ONE,
  parameter  int unsigned OutKind = sq_pkg::OUT_BINARY32,
  parameter  int unsigned PortLen = 1,
  parameter  int unsigned Depth = 2,
  parameter  int unsigned Hold = 0,
  localparam int unsigned CodedLines = (OnActs != 0) ? Rows : Cols,
  localparam int unsigned PlainLines = (OnActs != 0) ? Cols : Rows,
  localparam int unsigned LowLanes = sq_pkg::low_lanes(Layout, BankLen, HighPerBank),
  localparam int unsigned MaskW = sq_pkg::mask_w(Layout, BankLen),
  localparam int unsigned OutW = sq_pkg::out_w(OutKind)
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  // Banks banks of all lines
  input  logic                                in_valid_i,
  output logic                                in_ready_o,
  input  logic                                in_last_i,   // the last of its scale group
  input  logic [PlainLines*Banks*BankLen*PlainW-1:0] in_plain_i,
  input  logic [CodedLines*Banks*LowLanes*LowW-1:0] in_low_i,
  input  logic [CodedLines*Banks*HighLen*HighW-1:0] in_high_i,
  input  logic [CodedLines*Banks*MaskW-1:0]   in_mask_i,
  // scales of a group
  input  logic                                scale_valid_i,
  output logic                                scale_ready_o,
  input  logic                                scale_last_i,
  input  logic [Cols*32-1:0]                  scale_col_lo_i,
  input  logic [Cols*32-1:0]                  scale_col_hi_i,
  input  logic [Rows*32-1:0]                  scale_row_lo_i,
  input  logic [Rows*32-1:0]                  scale_row_hi_i,
  // outputs
  output logic                                out_valid_o,
  input  logic                                out_ready_i,
  output logic [PortLen*OutW-1:0]             out_y_o,
  output logic                                out_error_o
);

  logic tile_valid, tile_ready, tile_error;
  logic [Rows*Cols*32-1:0] p_lo, p_hi;

  sq_array #(
    .Rows(Rows), .Cols(Cols), .Banks(Banks), .BankLen(BankLen), .HighPerBank(HighPerBank),
    .HighLen(HighLen), .Layout(Layout), .OnActs(OnActs), .OneAcc(OneAcc), .PlainW(PlainW),
    .LowW(LowW), .HighW(HighW), .Gather(Gather)
  ) u_array (
    .clk_i, .rst_ni,
    .in_valid_i, .in_ready_o, .in_last_i, .in_plain_i, .in_low_i, .in_high_i, .in_mask_i,
    .out_valid_o(tile_valid), .out_ready_i(tile_ready), .out_p_lo_o(p_lo), .out_p_hi_o(p_hi),
    .out_error_o(tile_error)
  );
  sq_output #(
    .Rows(Rows), .Cols(Cols), .Lanes(Lanes), .Form(Form), .OutKind(OutKind), .PortLen(PortLen),
    .Depth(Depth), .Hold(Hold)
  ) u_output (
    .clk_i, .rst_ni,
    .in_valid_i(tile_valid), .in_ready_o(tile_ready), .in_p_lo_i(p_lo), .in_p_hi_i(p_hi),
    .in_tag_i(tile_error), .scale_valid_i, .scale_ready_o, .scale_last_i,
    .scale_col_lo_i, .scale_col_hi_i, .scale_row_lo_i, .scale_row_hi_i, .scale_tag_i(1'b0),
    .scale_carry_i(1'b0), .scale_keep_i(1'b0),
    .carry_valid_i(1'b0), .carry_ready_o(), .carry_sum_i({(Lanes * 32){1'b0}}),
    .keep_valid_o(), .keep_sum_o(), .keep_tag_o(),
    .out_valid_o, .out_ready_i, .out_y_o, .out_tag_o(out_error_o)
  );

endmodule
