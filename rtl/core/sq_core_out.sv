// SPDX-License-Identifier: Apache-2.0
// The engine of SQ on weights with own scales: sq_core with its output stage. Stored bits in, outputs out:
//
//   act      codes of activations ----------+
//   lo, hi   low codes with mask codes, high ones --+-> sq_core -> sq_output -> words
//   scale    binary32, of columns and rows ----------------------------^
// Each scale group of a job meets a beat of scales, and those with scale_last_i make outputs. Hold = 1,
// the default: the high path has no register for its totals, so that it would stand still while a
// tile is read. What the core waits for the output stage is its cause `blocked_output`.
//
// What is malformed counts as it stands; its kind comes out with the outputs of its scale group and all
// later ones of the job: MASK (a bank without exactly k mask codes), CODE (an activation or a high
// code of -2^(w-1)), SCALE (not a positive number).
//
// IsFp = 1: codes of floating point (SPEC A.9), low ones E2M1, the others E4M3, of which NaN and -0 are
// of no value: CODE, taken as zeros. Totals are fixed-point numbers of 48 bits, exact in scale groups of
// up to 2674 high codes (448 * 448 each) and of any length a job can have.
`include "sq_assert.svh"

module sq_core_out #(
  parameter  int unsigned Rows = 2,
  parameter  int unsigned Cols = 2,
  parameter  int unsigned LowLanes = 16,
  parameter  int unsigned HighLanes = 4,
  parameter  int unsigned BankLen = 32,
  parameter  int unsigned HighPerBank = 8,
  parameter  int unsigned ActW = 8,
  parameter  int unsigned LowW = 4,
  parameter  int unsigned HighW = 8,
  parameter  int unsigned Gather = sq_pkg::GATHER_CROSSBAR,
  parameter  int unsigned IsFp = 0,  // ActW = HighW = 8, LowW = 4
  // output stage
  parameter  int unsigned Lanes = 2,
  parameter  int unsigned Form = sq_pkg::COMBINE_TWO,
  parameter  int unsigned OutKind = sq_pkg::OUT_BINARY32,
  parameter  int unsigned PortLen = 1,
  parameter  int unsigned Depth = 2,
  parameter  int unsigned Hold = 1,
  parameter  bit          Counters = 1'b1,  // cause counters; 0 for area
  parameter  int unsigned CountStart = 0,   // sq_core
  localparam int unsigned CountsW = sq_pkg::N_CAUSES * sq_pkg::COUNT_W,
  localparam int unsigned OutW = sq_pkg::out_w(OutKind)
) (
  input  logic                             clk_i, rst_ni,
  // job: `groups` scale groups of `group_banks` banks, both >= 1
  input  logic                             job_valid_i,
  output logic                             job_ready_o,
  input  logic [sq_pkg::GROUP_BANKS_W-1:0] job_group_banks_i,
  input  logic [sq_pkg::GROUPS_W-1:0]      job_groups_i,
  // activations
  input  logic                             act_valid_i,
  output logic                             act_ready_o,
  input  logic [Rows*LowLanes*ActW-1:0]    act_data_i,
  // low codes
  input  logic                             lo_valid_i,
  output logic                             lo_ready_o,
  input  logic [Cols*LowLanes*LowW-1:0]    lo_data_i,
  // high codes
  input  logic                             hi_valid_i,
  output logic                             hi_ready_o,
  input  logic [Cols*HighLanes*HighW-1:0]  hi_data_i,
  // scales of a group
  input  logic                             scale_valid_i,
  output logic                             scale_ready_o,
  input  logic                             scale_last_i,
  input  logic [Cols*32-1:0]               scale_col_lo_i, scale_col_hi_i,
  input  logic [Rows*32-1:0]               scale_row_lo_i, scale_row_hi_i,
  // outputs
  output logic                             out_valid_o,
  input  logic                             out_ready_i,
  output logic [PortLen*OutW-1:0]          out_y_o,
  output logic                             out_last_o,   // of the job
  output logic [sq_pkg::N_ERRORS-1:0]      out_error_o,
  // status: cycles of the job per cause
  output logic [CountsW-1:0]               low_counts_o, high_counts_o
);

  // Products of E2M1 and of E4M3 with E4M3 are multiples of 2^-10 and of 2^-18.
  localparam int unsigned AccW = IsFp != 0 ? 48 : 32;
  localparam int unsigned ActFraction = sq_pkg::element_fraction(sq_pkg::ELEMENT_E4M3);
  localparam int unsigned LoFraction =
      IsFp != 0 ? ActFraction + sq_pkg::element_fraction(sq_pkg::ELEMENT_E2M1) : 0;
  localparam int unsigned HiFraction = IsFp != 0 ? 2 * ActFraction : 0;

  logic tile_valid, tile_ready, mask_error, code_error;
  logic [Rows*Cols*AccW-1:0] p_lo, p_hi;
  logic [Cols-1:0] unused_mask_error;

  sq_core #(
    .Rows(Rows), .Cols(Cols), .LowLanes(LowLanes), .HighLanes(HighLanes), .BankLen(BankLen),
    .HighPerBank(HighPerBank), .ActW(ActW), .LowW(LowW), .HighW(HighW), .AccW(AccW),
    .Gather(Gather), .IsFp(IsFp),
    .Counters(Counters), .CountStart(CountStart), .CheckAct(1'b1), .CheckHigh(1'b1)
  ) u_core (
    .clk_i, .rst_ni,
    .job_valid_i, .job_ready_o, .job_group_banks_i, .job_groups_i,
    .act_valid_i, .act_ready_o, .act_data_i,
    .lo_valid_i, .lo_ready_o, .lo_data_i,
    .hi_valid_i, .hi_ready_o, .hi_data_i,
    .out_valid_o(tile_valid), .out_ready_i(tile_ready), .out_p_lo_o(p_lo), .out_p_hi_o(p_hi),
    .out_error_o(mask_error), .out_code_error_o(code_error), .mask_error_o(unused_mask_error),
    .low_counts_o, .high_counts_o
  );

  // ---- errors, the end of the job -----------------------------------------------------------------
  logic stage_valid, stage_ready, wrong_scale;
  logic [sq_pkg::N_ERRORS-1:0] tile_error, scale_error;
  logic [sq_pkg::N_ERRORS:0] stage_tag, word_tag;
  logic unused_has_room, unused_side, unused_first, unused_last;
  always_comb begin
    tile_error = '0;
    tile_error[sq_pkg::ERROR_MASK] = mask_error;
    tile_error[sq_pkg::ERROR_CODE] = code_error;
    scale_error = '0;
    scale_error[sq_pkg::ERROR_SCALE] = wrong_scale;
  end

  sq_engine_scales #(
    .Rows(Rows), .Cols(Cols), .TwoCols(Form == sq_pkg::COMBINE_TWO),
    .TwoRows(Form == sq_pkg::COMBINE_SCALED)
  ) u_scales (
    .rows_i(scale_last_i), .col_lo_i(scale_col_lo_i), .col_hi_i(scale_col_hi_i),
    .row_lo_i(scale_row_lo_i), .row_hi_i(scale_row_hi_i), .error_o(wrong_scale)
  );
  sq_engine_tail #(
    .CountW(sq_pkg::GROUPS_W), .Words(Rows * Cols / PortLen), .Hold(Hold)
  ) u_tail (
    .clk_i, .rst_ni,
    .job_valid_i(job_valid_i && job_ready_o), .job_ready_o(unused_has_room),
    .job_inner_i(job_groups_i), .job_middle_i(sq_pkg::GROUPS_W'(1)),
    .job_outer_i(sq_pkg::GROUPS_W'(1)), .job_side_i(1'b0),
    .tile_fire_i(tile_valid && tile_ready), .tile_error_i(tile_error),
    .scale_valid_i, .scale_ready_o, .scale_error_i(scale_error),
    .stage_valid_o(stage_valid), .stage_ready_i(stage_ready), .side_o(unused_side),
    .stage_first_o(unused_first), .stage_last_o(unused_last), .stage_tag_o(stage_tag),
    .word_fire_i(out_valid_o && out_ready_i), .word_tag_i(word_tag), .word_last_o(out_last_o),
    .word_error_o(out_error_o)
  );

  sq_output #(
    .Rows(Rows), .Cols(Cols), .Lanes(Lanes), .Form(Form), .OutKind(OutKind), .PortLen(PortLen),
    .Depth(Depth), .Hold(Hold), .TagW(sq_pkg::N_ERRORS + 1), .SumW(AccW), .LoFraction(LoFraction),
    .HiFraction(HiFraction)
  ) u_output (
    .clk_i, .rst_ni,
    .in_valid_i(tile_valid), .in_ready_o(tile_ready), .in_p_lo_i(p_lo), .in_p_hi_i(p_hi),
    .in_tag_i({(sq_pkg::N_ERRORS + 1){1'b0}}),  // a sized zero: Yosys reads the module again for '0
    .scale_valid_i(stage_valid), .scale_ready_o(stage_ready), .scale_last_i,
    .scale_col_lo_i, .scale_col_hi_i, .scale_row_lo_i, .scale_row_hi_i, .scale_tag_i(stage_tag),
    .scale_carry_i(1'b0), .scale_keep_i(1'b0), .scale_part_i(2'b00),
    .carry_valid_i(1'b0), .carry_ready_o(), .carry_sum_i({(Lanes * 32){1'b0}}),
    .keep_valid_o(), .keep_sum_o(), .keep_tag_o(),
    .out_valid_o, .out_ready_i, .out_y_o, .out_tag_o(word_tag)
  );

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_y_o, out_last_o, out_error_o})

endmodule
