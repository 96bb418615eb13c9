// SPDX-License-Identifier: Apache-2.0
// Rows x Cols PEs for block-scaled operands with high elements (SPEC Q.5) on both sides, or, with
// WeightHigh = 0, on that of the activations: output-stationary, a block of every line per cycle.
// How high elements are stored (High) and what becomes of malformed blocks: sq_parts_line. The totals
// of all pairs of parts come together, pair after pair; scales above the blocks are left to what takes
// them.
//
//   stages 1, 2    sq_parts_line
//   sum            of each pair, with significand and exponent of its pair of scales
//   scaled         sums times their scales
//   accumulators, output registers
`include "sq_assert.svh"

module sq_array_parts #(
  parameter  int unsigned Rows = 2,
  parameter  int unsigned Cols = 2,
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighPerBank = 2,
  parameter  int unsigned High = sq_pkg::HIGH_OWN,
  parameter  int unsigned WeightHigh = 1,
  parameter  int unsigned ActElement = sq_pkg::ELEMENT_INT4,
  parameter  int unsigned WeightElement = sq_pkg::ELEMENT_INT4,
  parameter  int unsigned ActScale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned WeightScale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned Sums = 0,  // totals may begin with those that come on carry
  localparam int unsigned ActHighElement = sq_pkg::high_element(High, ActElement),
  localparam int unsigned WeightHighElement = sq_pkg::high_element(High, WeightElement),
  localparam int unsigned ActCodeW = sq_pkg::element_code_w(ActElement),
  localparam int unsigned ActHighCodeW = sq_pkg::element_code_w(ActHighElement),
  localparam int unsigned WeightCodeW = sq_pkg::element_code_w(WeightElement),
  localparam int unsigned WeightHighCodeW = sq_pkg::element_code_w(WeightHighElement),
  localparam int unsigned Pes = Rows * Cols,
  localparam int unsigned Pairs = sq_pkg::parts_pairs(High, WeightHigh)
) (
  input  logic                                        clk_i, rst_ni,
  // a block of every row and column, line after line; last: of all of K
  input  logic                                        in_valid_i,
  output logic                                        in_ready_o,
  input  logic                                        in_last_i,
  input  logic                                        in_carry_i,  // with the first beat of a tile; Sums
  input  logic [Rows*BankLen*ActCodeW-1:0]            in_act_i,
  input  logic [Rows*HighPerBank*ActHighCodeW-1:0]    in_act_high_i,
  input  logic [Rows*BankLen-1:0]                     in_act_mask_i,           // SPLIT
  input  logic [Rows*8-1:0]                           in_act_scale_i,
  input  logic [Rows*8-1:0]                           in_act_high_scale_i,     // BLOCK
  input  logic [Cols*BankLen*WeightCodeW-1:0]         in_weight_i,
  input  logic [Cols*HighPerBank*WeightHighCodeW-1:0] in_weight_high_i,        // WeightHigh
  input  logic [Cols*BankLen-1:0]                     in_weight_mask_i,
  input  logic [Cols*8-1:0]                           in_weight_scale_i, in_weight_high_scale_i,
  // totals to begin with, as a tile; Sums
  input  logic                                        carry_valid_i,
  output logic                                        carry_ready_o,
  input  logic [Pairs*Pes*32-1:0]                     carry_y_i,
  // a tile: binary32, a pair of parts after the other, each PE after PE
  output logic                                        out_valid_o,
  input  logic                                        out_ready_i,
  output logic [Pairs*Pes*32-1:0]                     out_y_o,
  output logic [sq_pkg::N_ERRORS-1:0]                 out_error_o
);

  localparam int unsigned ErrorW = sq_pkg::N_ERRORS;
  localparam int unsigned ActHighScale = sq_pkg::high_scale(High, ActScale);
  localparam int unsigned WeightHighScale = sq_pkg::high_scale(High, WeightScale);
  localparam int unsigned ActLineW = BankLen * sq_pkg::element_w(ActElement);
  localparam int unsigned ActHighLineW = HighPerBank * sq_pkg::element_w(ActHighElement);
  localparam int unsigned ActPlaneW = BankLen * sq_pkg::element_w(ActHighElement);
  localparam int unsigned WeightLineW = BankLen * sq_pkg::element_w(WeightElement);
  localparam int unsigned WeightHighLineW = HighPerBank * sq_pkg::element_w(WeightHighElement);
  localparam int unsigned ActSigW = sq_pkg::scale_sig_w(ActScale);
  localparam int unsigned ActHighSigW = sq_pkg::scale_sig_w(ActHighScale);
  localparam int unsigned WeightSigW = sq_pkg::scale_sig_w(WeightScale);
  localparam int unsigned WeightHighSigW = sq_pkg::scale_sig_w(WeightHighScale);
  localparam int unsigned CtlW =
      sq_pkg::gather_ctl_w(sq_pkg::GATHER_CROSSBAR, BankLen, HighPerBank);

  // ---- control ----------------------------------------------------------------------------------
  logic advance, acc, first, carry, last;
  logic [Rows*ErrorW-1:0] row_error;
  logic [Cols*ErrorW-1:0] col_error;
  logic [ErrorW-1:0] error;
  always_comb begin
    error = '0;
    for (int unsigned r = 0; r < Rows; r++) error = error | row_error[r*ErrorW +: ErrorW];
    for (int unsigned c = 0; c < Cols; c++) error = error | col_error[c*ErrorW +: ErrorW];
  end
  sq_scaled_ctl #(
    .Stages(sq_pkg::scaled_stages(sq_pkg::ACC_BINARY32, HighPerBank, 0)), .Sums(Sums)
  ) u_ctl (
    .clk_i, .rst_ni, .in_valid_i, .in_ready_o(advance), .in_last_i, .in_carry_i,
    .in_error_i(error), .carry_valid_i, .carry_ready_o, .acc_o(acc), .first_o(first), .carry_o(carry),
    .last_o(last), .out_valid_o, .out_ready_i, .out_error_o
  );
  assign in_ready_o = advance;
  logic [Pairs*Pes*32-1:0] start;
  assign start = carry_y_i & {(Pairs * Pes * 32){carry}};

  // ---- rows -------------------------------------------------------------------------------------
  logic [Rows*ActLineW-1:0] act;
  logic [Rows*ActHighLineW-1:0] act_high;
  logic [Rows*CtlW-1:0] act_ctl;
  logic [Rows*ActPlaneW-1:0] act_plane;
  logic [Rows*ActSigW-1:0] act_sig;
  logic [Rows*ActHighSigW-1:0] act_high_sig;
  logic [Rows*8-1:0] act_exp, act_high_exp;
  for (genvar r = 0; r < Rows; r++) begin : gen_row
    sq_parts_line #(
      .BankLen(BankLen), .HighPerBank(HighPerBank), .High(High), .Element(ActElement),
      .Scale(ActScale)
    ) u_line (
      .clk_i, .en_i(advance), .code_i(in_act_i[r*BankLen*ActCodeW +: BankLen*ActCodeW]),
      .high_i(in_act_high_i[r*HighPerBank*ActHighCodeW +: HighPerBank*ActHighCodeW]),
      .mask_i(in_act_mask_i[r*BankLen +: BankLen]), .scale_i(in_act_scale_i[r*8 +: 8]),
      .high_scale_i(in_act_high_scale_i[r*8 +: 8]), .error_o(row_error[r*ErrorW +: ErrorW]),
      .low_o(act[r*ActLineW +: ActLineW]), .high_o(act_high[r*ActHighLineW +: ActHighLineW]),
      .ctl_o(act_ctl[r*CtlW +: CtlW]), .plane_o(act_plane[r*ActPlaneW +: ActPlaneW]),
      .sig_o(act_sig[r*ActSigW +: ActSigW]), .exp_o(act_exp[r*8 +: 8]),
      .high_sig_o(act_high_sig[r*ActHighSigW +: ActHighSigW]),
      .high_exp_o(act_high_exp[r*8 +: 8])
    );
  end

  // ---- columns ----------------------------------------------------------------------------------
  logic [Cols*WeightLineW-1:0] weight;
  logic [Cols*WeightHighLineW-1:0] weight_high;
  logic [Cols*CtlW-1:0] weight_ctl;
  logic [Cols*WeightSigW-1:0] weight_sig;
  logic [Cols*WeightHighSigW-1:0] weight_high_sig;
  logic [Cols*8-1:0] weight_exp, weight_high_exp;
  if (WeightHigh != 0) begin : gen_high_columns
    for (genvar c = 0; c < Cols; c++) begin : gen_col
      sq_parts_line #(
        .BankLen(BankLen), .HighPerBank(HighPerBank), .High(High), .Element(WeightElement),
        .Scale(WeightScale)
      ) u_line (
        .clk_i, .en_i(advance),
        .code_i(in_weight_i[c*BankLen*WeightCodeW +: BankLen*WeightCodeW]),
        .high_i(in_weight_high_i[c*HighPerBank*WeightHighCodeW +: HighPerBank*WeightHighCodeW]),
        .mask_i(in_weight_mask_i[c*BankLen +: BankLen]), .scale_i(in_weight_scale_i[c*8 +: 8]),
        .high_scale_i(in_weight_high_scale_i[c*8 +: 8]), .error_o(col_error[c*ErrorW +: ErrorW]),
        .low_o(weight[c*WeightLineW +: WeightLineW]),
        .high_o(weight_high[c*WeightHighLineW +: WeightHighLineW]),
        .ctl_o(weight_ctl[c*CtlW +: CtlW]), .plane_o(),
        .sig_o(weight_sig[c*WeightSigW +: WeightSigW]), .exp_o(weight_exp[c*8 +: 8]),
        .high_sig_o(weight_high_sig[c*WeightHighSigW +: WeightHighSigW]),
        .high_exp_o(weight_high_exp[c*8 +: 8])
      );
    end
  end else begin : gen_low_columns
    localparam int unsigned ColumnW = WeightLineW + WeightSigW + 8;
    logic [Cols*ColumnW-1:0] column, column_q1, column_q2;
    wire unused_high = ^{in_weight_high_i, in_weight_mask_i, in_weight_high_scale_i};
    assign weight_high = '0;
    assign weight_ctl = '0;
    assign weight_high_sig = '0;
    assign weight_high_exp = '0;
    for (genvar c = 0; c < Cols; c++) begin : gen_col
      logic scale_error, code_error, unused_place;
      sq_block_line #(.BankLen(BankLen), .Element(WeightElement), .Scale(WeightScale)) u_line (
        .code_i(in_weight_i[c*BankLen*WeightCodeW +: BankLen*WeightCodeW]),
        .skip_i({BankLen{1'b0}}), .scale_i(in_weight_scale_i[c*8 +: 8]),
        .place_i({sq_pkg::index_w(BankLen){1'b0}}), .sub_i(1'b0),
        .element_o(column[c*ColumnW +: WeightLineW]),
        .sig_o(column[c*ColumnW+WeightLineW +: WeightSigW]),
        .exp_o(column[c*ColumnW+WeightLineW+WeightSigW +: 8]), .error_o(scale_error),
        .code_error_o(code_error), .place_error_o(unused_place)
      );
      always_comb begin
        col_error[c*ErrorW +: ErrorW] = '0;
        col_error[c*ErrorW+sq_pkg::ERROR_CODE] = code_error;
        col_error[c*ErrorW+sq_pkg::ERROR_SCALE] = scale_error;
      end
      assign weight[c*WeightLineW +: WeightLineW] = column_q2[c*ColumnW +: WeightLineW];
      assign weight_sig[c*WeightSigW +: WeightSigW] =
          column_q2[c*ColumnW+WeightLineW +: WeightSigW];
      assign weight_exp[c*8 +: 8] = column_q2[c*ColumnW+WeightLineW+WeightSigW +: 8];
    end
    always_ff @(posedge clk_i) begin
      if (advance) begin
        column_q1 <= column;
        column_q2 <= column_q1;
      end
    end
  end

  // ---- PEs --------------------------------------------------------------------------------------
  for (genvar p = 0; p < Pes; p++) begin : gen_pe
    localparam int unsigned Row = p / Cols;
    localparam int unsigned Col = p % Cols;
    logic [Pairs*32-1:0] begin_y, y;
    sq_pe_parts #(
      .BankLen(BankLen), .HighLanes(HighPerBank), .High(High), .WeightHigh(WeightHigh),
      .ActElement(ActElement), .WeightElement(WeightElement), .ActScale(ActScale),
      .WeightScale(WeightScale), .Sums(Sums)
    ) u_pe (
      .clk_i, .en_i(advance),
      .act_i(act[Row*ActLineW +: ActLineW]),
      .act_high_i(act_high[Row*ActHighLineW +: ActHighLineW]),
      .act_ctl_i(act_ctl[Row*CtlW +: CtlW]), .act_plane_i(act_plane[Row*ActPlaneW +: ActPlaneW]),
      .act_sig_i(act_sig[Row*ActSigW +: ActSigW]), .act_exp_i(act_exp[Row*8 +: 8]),
      .act_high_sig_i(act_high_sig[Row*ActHighSigW +: ActHighSigW]),
      .act_high_exp_i(act_high_exp[Row*8 +: 8]),
      .weight_i(weight[Col*WeightLineW +: WeightLineW]),
      .weight_high_i(weight_high[Col*WeightHighLineW +: WeightHighLineW]),
      .weight_ctl_i(weight_ctl[Col*CtlW +: CtlW]),
      .weight_sig_i(weight_sig[Col*WeightSigW +: WeightSigW]),
      .weight_exp_i(weight_exp[Col*8 +: 8]),
      .weight_high_sig_i(weight_high_sig[Col*WeightHighSigW +: WeightHighSigW]),
      .weight_high_exp_i(weight_high_exp[Col*8 +: 8]),
      .acc_i(acc), .first_i(first), .last_i(last), .begin_i(begin_y), .y_o(y)
    );
    for (genvar k = 0; k < Pairs; k++) begin : gen_pair
      assign begin_y[k*32 +: 32] = start[(k*Pes+p)*32 +: 32];
      assign out_y_o[(k*Pes+p)*32 +: 32] = y[k*32 +: 32];
    end
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(TileHeldOnStall, out_valid_o, out_ready_i, {out_y_o, out_error_o})

endmodule
