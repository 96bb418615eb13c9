// SPDX-License-Identifier: Apache-2.0
// The engine of SQ with a mask for each token (SPEC B.5, C): sq_engine_array, whose mask bits are made here
// from what the operand was before it was coded. Stored bits in, outputs out:
//
//   x       magnitudes of all elements ----> sq_topk, one for each bank ----+ mask bits
//   coded   codes, low and high parts --------------------------------------+
//   plain   codes of the plain operand -------------------------------------+-> sq_engine_array -> words
//   scale   binary32, of columns and rows ----------------------------------+
// Codes stand as an encoder with the same rule wrote them: low ones of what the mask leaves, high ones of
// what it takes, each ascending. Masks are made ahead, as far as sq_topk goes; a beat of codes goes with
// its masks. There is no error of masks: they have k ones.
`include "sq_assert.svh"

module sq_engine_dynamic #(
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
  // masks
  parameter  int unsigned MagW = 15,  // of bfloat16; 7: of INT8
  parameter  int unsigned Topk = sq_pkg::TOPK_RADIX,
  localparam int unsigned CodedLines = (OnActs != 0) ? Rows : Cols,
  localparam int unsigned PlainLines = (OnActs != 0) ? Cols : Rows,
  localparam int unsigned LowLanes = sq_pkg::low_lanes(Layout, BankLen, HighPerBank),
  localparam int unsigned Plain = PlainLines * Banks * BankLen,
  localparam int unsigned Low = CodedLines * Banks * LowLanes,
  localparam int unsigned High = CodedLines * Banks * HighLen,
  localparam int unsigned OutW = sq_pkg::out_w(OutKind)
) (
  input  logic                               clk_i, rst_ni,
  // jobs, all counts >= 1
  input  logic                               job_valid_i,
  output logic                               job_ready_o,
  input  logic [15:0]                        job_beats_i, job_groups_i, job_tiles_i,
  // Banks banks of all lines of the plain operand
  input  logic                               plain_valid_i,
  output logic                               plain_ready_o,
  input  logic [Plain*PlainW-1:0]            plain_code_i,
  // ... and of the coded one
  input  logic                               coded_valid_i,
  output logic                               coded_ready_o,
  input  logic [Low*LowW-1:0]                coded_low_i,
  input  logic [High*HighW-1:0]              coded_high_i,
  // scales of a group
  input  logic                               scale_valid_i,
  output logic                               scale_ready_o,
  input  logic [Cols*32-1:0]                 scale_col_lo_i, scale_col_hi_i,
  input  logic [Rows*32-1:0]                 scale_row_lo_i, scale_row_hi_i,
  // magnitudes of the coded operand
  input  logic                               x_valid_i,
  output logic                               x_ready_o,
  input  logic [CodedLines*Banks*BankLen*MagW-1:0] x_mag_i,  // element 0 in the low bits
  // outputs
  output logic                               out_valid_o,
  input  logic                               out_ready_i,
  output logic [PortLen*OutW-1:0]            out_y_o,
  output logic                               out_last_o,   // of the job
  output logic [sq_pkg::N_ERRORS-1:0]         out_error_o
);

  if (Layout != sq_pkg::LAYOUT_COMPACT && Layout != sq_pkg::LAYOUT_SPLIT) begin : gen_bad
    $error("Layout is that of compact parts or split codes");
  end

  // ---- masks: all banks of a beat in the same cycles ------------------------------------------------
  localparam int unsigned Units = CodedLines * Banks;
  logic [Units-1:0] unit_ready, unit_valid;
  logic [Units*BankLen-1:0] mask;
  logic mask_valid, mask_taken, coded_ready;
  for (genvar i = 0; i < Units; i++) begin : gen_bank
    sq_topk #(.BankLen(BankLen), .HighPerBank(HighPerBank), .MagW(MagW), .Topk(Topk)) u_topk (
      .clk_i, .rst_ni,
      .in_valid_i(x_valid_i), .in_ready_o(unit_ready[i]),
      .in_mag_i(x_mag_i[i*BankLen*MagW +: BankLen*MagW]),
      .out_valid_o(unit_valid[i]), .out_ready_i(mask_taken), .out_mask_o(mask[i*BankLen +: BankLen])
    );
  end
  assign x_ready_o = &unit_ready;
  assign mask_valid = &unit_valid;
  assign mask_taken = coded_ready && coded_valid_i;
  assign coded_ready_o = coded_ready && mask_valid;

  // ---- products ---------------------------------------------------------------------------------------
  sq_engine_array #(
    .Rows(Rows), .Cols(Cols), .Banks(Banks), .BankLen(BankLen), .HighPerBank(HighPerBank),
    .HighLen(HighLen), .Layout(Layout), .OnActs(OnActs), .OneAcc(OneAcc), .PlainW(PlainW),
    .LowW(LowW), .HighW(HighW), .Gather(Gather), .Lanes(Lanes), .Form(Form), .OutKind(OutKind),
    .PortLen(PortLen), .Depth(Depth), .Hold(Hold)
  ) u_engine (
    .clk_i, .rst_ni,
    .job_valid_i, .job_ready_o, .job_beats_i, .job_groups_i, .job_tiles_i,
    .job_carry_i(1'b0), .job_keep_i(1'b0), .job_part_i(2'b00),
    .plain_valid_i, .plain_ready_o, .plain_code_i,
    .coded_valid_i(coded_valid_i && mask_valid), .coded_ready_o(coded_ready),
    .coded_low_i, .coded_high_i, .coded_mask_i(mask),
    .scale_valid_i, .scale_ready_o, .scale_col_lo_i, .scale_col_hi_i, .scale_row_lo_i, .scale_row_hi_i,
    .out_valid_o, .out_ready_i, .out_y_o, .out_last_o, .out_error_o,
    .carry_valid_i(1'b0), .carry_ready_o(), .carry_sum_i({(Lanes * 32){1'b0}}),
    .keep_valid_o(), .keep_sum_o(), .keep_last_o(), .keep_error_o()
  );

  `SQ_ASSERT_BEGIN
  `SQ_ASSERT(UnitsTogether, (&unit_valid || !(|unit_valid)) && (&unit_ready || !(|unit_ready)))
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_y_o, out_last_o, out_error_o})

endmodule
