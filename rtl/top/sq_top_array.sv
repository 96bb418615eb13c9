// SPDX-License-Identifier: Apache-2.0
// sq_engine_array behind the buffers of sq_top: beats as they lie in memory become its operands. The plain
// operand is codes. Of the coded one a beat is low codes, high codes and mask of all its lines, as far as Layout
// has them. Of scales it is the low ones of all lines, then the high ones where Form reads two.
module sq_top_array #(
  parameter  int unsigned Rows = 2,
  parameter  int unsigned Cols = 2,
  parameter  int unsigned BankLen = 4,
  parameter  int unsigned ActW = 8,
  parameter  int unsigned WeightW = 8,
  parameter  int unsigned Layout = sq_pkg::LAYOUT_DENSE,  // sq_engine_array, as those below
  parameter  int unsigned HighPerBank = 1,
  parameter  int unsigned HighW = 4,
  parameter  int unsigned OnActs = 0,
  parameter  int unsigned OneAcc = 1,
  parameter  int unsigned Form = sq_pkg::COMBINE_ONE,
  parameter  int unsigned OutKind = sq_pkg::OUT_BINARY32,
  parameter  int unsigned PortLen = 1,
  parameter  int unsigned Parts = 1,  // sq_top
  localparam bit          HasHigh = Layout != sq_pkg::LAYOUT_DENSE && Layout != sq_pkg::LAYOUT_SP24,
  localparam bit          HasMask = Layout != sq_pkg::LAYOUT_DENSE && Layout != sq_pkg::LAYOUT_SENTINEL,
  localparam int unsigned CodedLines = (OnActs != 0) ? Rows : Cols,
  localparam int unsigned LowW = (OnActs != 0) ? ActW : WeightW,
  localparam int unsigned PlainW = (OnActs != 0) ? WeightW : ActW,
  localparam int unsigned LowBits = CodedLines * sq_pkg::low_lanes(Layout, BankLen, HighPerBank) * LowW,
  localparam int unsigned HighBits = CodedLines * HighPerBank * HighW,
  localparam int unsigned MaskBits = CodedLines * sq_pkg::mask_w(Layout, BankLen),
  localparam int unsigned HighAt = LowBits,
  localparam int unsigned MaskAt = LowBits + (HasHigh ? HighBits : 0),
  localparam int unsigned CodedBits = MaskAt + (HasMask ? MaskBits : 0),
  localparam int unsigned PlainBits = (Rows + Cols - CodedLines) * BankLen * PlainW,
  localparam int unsigned ActBits = (OnActs != 0) ? CodedBits : PlainBits,
  localparam int unsigned WeightBits = (OnActs != 0) ? PlainBits : CodedBits,
  localparam int unsigned RowBits = Rows * 32 * (Form == sq_pkg::COMBINE_SCALED ? 2 : 1),
  localparam int unsigned ColBits = Cols * 32 * (Form == sq_pkg::COMBINE_TWO ? 2 : 1),
  localparam int unsigned OutW = sq_pkg::out_w(OutKind),
  localparam int unsigned Sums = sq_pkg::top_sums(Parts, Form),
  localparam int unsigned KeptW = 32 * sq_pkg::kept_words(Sums, Form)
) (
  input  logic                        clk_i, rst_ni,
  // jobs, as those of the engine
  input  logic                        job_valid_i,
  output logic                        job_ready_o,
  input  logic [15:0]                 job_beats_i, job_groups_i, job_tiles_i,
  input  logic                        job_carry_i, job_keep_i,
  input  logic [1:0]                  job_part_i,
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
  input  logic [PortLen*KeptW-1:0]    carry_sum_i,
  output logic                        keep_valid_o,
  output logic [PortLen*KeptW-1:0]    keep_sum_o,
  output logic                        keep_last_o,
  output logic [sq_pkg::N_ERRORS-1:0] keep_error_o
);

  logic [CodedBits-1:0] coded;
  logic [PlainBits-1:0] plain;
  logic plain_valid, plain_ready, coded_valid, coded_ready;
  if (OnActs != 0) begin : gen_coded_acts
    assign coded = act_i;
    assign plain = weight_i;
    assign {coded_valid, plain_valid} = {act_valid_i, weight_valid_i};
    assign {act_ready_o, weight_ready_o} = {coded_ready, plain_ready};
  end else begin : gen_coded_weights
    assign coded = weight_i;
    assign plain = act_i;
    assign {coded_valid, plain_valid} = {weight_valid_i, act_valid_i};
    assign {weight_ready_o, act_ready_o} = {coded_ready, plain_ready};
  end
  logic [HighBits-1:0] high;
  logic [MaskBits-1:0] mask;
  if (HasHigh) begin : gen_high
    assign high = coded[HighAt +: HighBits];
  end else begin : gen_no_high
    assign high = {HighBits{1'b0}};
  end
  if (HasMask) begin : gen_mask
    assign mask = coded[MaskAt +: MaskBits];
  end else begin : gen_no_mask
    assign mask = {MaskBits{1'b0}};
  end
  logic [Rows*32-1:0] row_hi;
  logic [Cols*32-1:0] col_hi;
  if (Form == sq_pkg::COMBINE_SCALED) begin : gen_row_hi
    assign row_hi = row_scale_i[RowBits-1 -: Rows*32];
  end else begin : gen_no_row_hi
    assign row_hi = {(Rows * 32){1'b0}};
  end
  if (Form == sq_pkg::COMBINE_TWO) begin : gen_col_hi
    assign col_hi = col_scale_i[ColBits-1 -: Cols*32];
  end else begin : gen_no_col_hi
    assign col_hi = {(Cols * 32){1'b0}};
  end

  sq_engine_array #(
    .Rows(Rows), .Cols(Cols), .Banks(1), .BankLen(BankLen), .HighPerBank(HighPerBank), .HighLen(HighPerBank),
    .Layout(Layout), .OnActs(OnActs), .OneAcc(OneAcc), .PlainW(PlainW), .LowW(LowW), .HighW(HighW),
    .Lanes(PortLen), .Form(Form), .OutKind(OutKind), .PortLen(PortLen), .Depth(sq_pkg::output_depth(Form, OutKind)),
    .Hold(2), .Sums(Sums)
  ) u_engine (
    .clk_i, .rst_ni,
    .job_valid_i, .job_ready_o, .job_beats_i, .job_groups_i, .job_tiles_i, .job_carry_i, .job_keep_i, .job_part_i,
    .plain_valid_i(plain_valid), .plain_ready_o(plain_ready), .plain_code_i(plain),
    .coded_valid_i(coded_valid), .coded_ready_o(coded_ready), .coded_low_i(coded[LowBits-1:0]),
    .coded_high_i(high), .coded_mask_i(mask), .scale_valid_i, .scale_ready_o,
    .scale_col_lo_i(col_scale_i[Cols*32-1:0]), .scale_col_hi_i(col_hi),
    .scale_row_lo_i(row_scale_i[Rows*32-1:0]), .scale_row_hi_i(row_hi),
    .out_valid_o, .out_ready_i, .out_y_o, .out_last_o, .out_error_o,
    .carry_valid_i, .carry_ready_o, .carry_sum_i, .keep_valid_o, .keep_sum_o, .keep_last_o, .keep_error_o
  );

endmodule
