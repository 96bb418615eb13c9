// SPDX-License-Identifier: Apache-2.0
// SQ activations with a static mask (SPEC B.5, A.6b): the mask belongs to the layer; its channels
// are reordered once, in the weights, and per token both parts arrive compact: of each bank its
// BankLen - HighPerBank low codes, then its HighPerBank high codes, and the weights in that order.
// No mask, no ranks, no muxes are left: sq_array in the compact format with a constant mask, of
// which synthesis keeps two dense dot products.
module sq_array_static #(
  parameter  int unsigned Rows = 2,
  parameter  int unsigned Cols = 2,
  parameter  int unsigned Banks = 1,
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighPerBank = 4,
  parameter  int unsigned OneAcc = 0,  // 1: tied scales (SPEC A.3)
  parameter  int unsigned WeightW = 4,
  parameter  int unsigned LowW = 4,
  parameter  int unsigned HighW = 8,
  parameter  int unsigned AccW = 32,
  localparam int unsigned LowLen = BankLen - HighPerBank
) (
  input  logic                                 clk_i, rst_ni,
  // Banks banks of all lines
  input  logic                                 in_valid_i,
  output logic                                 in_ready_o,
  input  logic                                 in_last_i,    // the last of its group
  input  logic [Rows*Banks*LowLen*LowW-1:0]    in_low_i,
  input  logic [Rows*Banks*HighPerBank*HighW-1:0] in_high_i,
  input  logic [Cols*Banks*BankLen*WeightW-1:0] in_weight_i, // of a bank: low channels, then high
  // tiles
  output logic                                 out_valid_o,
  input  logic                                 out_ready_i,
  output logic [Rows*Cols*AccW-1:0]            out_p_lo_o,
  output logic [Rows*Cols*AccW-1:0]            out_p_hi_o    // 0 with OneAcc
);

  localparam logic [BankLen-1:0] Mask = {{HighPerBank{1'b1}}, {LowLen{1'b0}}};

  sq_array #(
    .Rows(Rows), .Cols(Cols), .Banks(Banks), .BankLen(BankLen), .HighPerBank(HighPerBank),
    .Layout(sq_pkg::LAYOUT_COMPACT), .OnActs(1), .OneAcc(OneAcc),
    .PlainW(WeightW), .LowW(LowW), .HighW(HighW), .AccW(AccW)
  ) u_array (
    .clk_i, .rst_ni,
    .in_valid_i, .in_ready_o, .in_last_i, .in_plain_i(in_weight_i), .in_low_i, .in_high_i,
    .in_mask_i({(Rows * Banks){Mask}}),
    .out_valid_o, .out_ready_i, .out_p_lo_o, .out_p_hi_o, .out_error_o()  // the mask has k ones
  );

endmodule
