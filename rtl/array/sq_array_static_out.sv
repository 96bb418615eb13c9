// SPDX-License-Identifier: Apache-2.0
// sq_array_static with its output stage, as sq_array_out.
module sq_array_static_out #(
  parameter  int unsigned Rows = 2,
  parameter  int unsigned Cols = 2,
  parameter  int unsigned Banks = 1,
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighPerBank = 4,
  parameter  int unsigned OneAcc = 0,
  parameter  int unsigned WeightW = 4,
  parameter  int unsigned LowW = 4,
  parameter  int unsigned HighW = 8,
  // output stage
  parameter  int unsigned Lanes = 2,
  parameter  int unsigned Form = sq_pkg::COMBINE_SCALED,
  parameter  int unsigned OutKind = sq_pkg::OUT_BINARY32,
  parameter  int unsigned PortLen = 1,
  parameter  int unsigned Depth = 2,
  parameter  int unsigned Hold = 0,
  localparam int unsigned LowLen = BankLen - HighPerBank,
  localparam int unsigned OutW = sq_pkg::out_w(OutKind)
) (
  input  logic                                 clk_i,
  input  logic                                 rst_ni,
  // Banks banks of all lines
  input  logic                                 in_valid_i,
  output logic                                 in_ready_o,
  input  logic                                 in_last_i,    // the last of its scale group
  input  logic [Rows*Banks*LowLen*LowW-1:0]    in_low_i,
  input  logic [Rows*Banks*HighPerBank*HighW-1:0] in_high_i,
  input  logic [Cols*Banks*BankLen*WeightW-1:0] in_weight_i, // of a bank: low channels, then high
  // scales of a group
  input  logic                                 scale_valid_i,
  output logic                                 scale_ready_o,
  input  logic                                 scale_last_i,
  input  logic [Cols*32-1:0]                   scale_col_lo_i,
  input  logic [Cols*32-1:0]                   scale_col_hi_i,
  input  logic [Rows*32-1:0]                   scale_row_lo_i,
  input  logic [Rows*32-1:0]                   scale_row_hi_i,
  // outputs
  output logic                                 out_valid_o,
  input  logic                                 out_ready_i,
  output logic [PortLen*OutW-1:0]              out_y_o
);

  logic tile_valid, tile_ready;
  logic [Rows*Cols*32-1:0] p_lo, p_hi;

  sq_array_static #(
    .Rows(Rows), .Cols(Cols), .Banks(Banks), .BankLen(BankLen), .HighPerBank(HighPerBank),
    .OneAcc(OneAcc), .WeightW(WeightW), .LowW(LowW), .HighW(HighW)
  ) u_array (
    .clk_i, .rst_ni,
    .in_valid_i, .in_ready_o, .in_last_i, .in_low_i, .in_high_i, .in_weight_i,
    .out_valid_o(tile_valid), .out_ready_i(tile_ready), .out_p_lo_o(p_lo), .out_p_hi_o(p_hi)
  );
  sq_output #(
    .Rows(Rows), .Cols(Cols), .Lanes(Lanes), .Form(Form), .OutKind(OutKind), .PortLen(PortLen),
    .Depth(Depth), .Hold(Hold)
  ) u_output (
    .clk_i, .rst_ni,
    .in_valid_i(tile_valid), .in_ready_o(tile_ready), .in_p_lo_i(p_lo), .in_p_hi_i(p_hi),
    .in_tag_i(1'b0), .scale_valid_i, .scale_ready_o, .scale_last_i,
    .scale_col_lo_i, .scale_col_hi_i, .scale_row_lo_i, .scale_row_hi_i, .scale_tag_i(1'b0),
    .scale_carry_i(1'b0), .scale_keep_i(1'b0),
    .carry_valid_i(1'b0), .carry_ready_o(), .carry_sum_i({(Lanes * 32){1'b0}}),
    .keep_valid_o(), .keep_sum_o(), .keep_tag_o(),
    .out_valid_o, .out_ready_i, .out_y_o, .out_tag_o()
  );

endmodule
