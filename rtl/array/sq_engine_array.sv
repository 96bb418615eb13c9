// SPDX-License-Identifier: Apache-2.0
// The engine of formats that sq_array takes as they are stored: dense, SQ with mask codes, split codes,
// compact parts with mask bits, 2:4 with its nibbles. Stored bits in, outputs out:
//
//   plain   codes of the plain operand ---+
//   coded   codes, mask bits or nibbles --+-> sq_array -> sq_output -> words
//   scale   binary32, of columns and rows ----------------^
// A job is `tiles` tiles of outputs of `groups` scale groups each, of `beats` beats of both operands
// each; a scale group has a beat of scales. With OnActs = 0 the coded operand is the weights.
//
// Sums = 1: outputs may come of several jobs along K. The tiles of a job with job_carry_i begin with the sums
// that come on `carry`; those of one with job_keep_i leave as sums on `keep`, Lanes a beat in the order in
// which they come back, and take no word of outputs. Whoever listens has room for them.
// Sums = 2: such a job may be part of a scale group. With job_part_i[0] it goes on with a group, with [1] the group goes
// on behind it (a job of one group a tile): the group's integers come and go beside the sums, or with Sums = 3 in their place.
//
// A beat that is malformed counts as it stands; its kind comes out with the outputs of its tile and
// all later ones of the job, complete with the last word: MASK (sq_array), CODE (a code of -2^(w-1)
// where it is neither a mask code nor a nibble of a split code), SCALE (not a positive number).
`include "sq_assert.svh"

module sq_engine_array #(
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
  parameter  int unsigned Sums = 0,
  localparam int unsigned CodedLines = (OnActs != 0) ? Rows : Cols,
  localparam int unsigned PlainLines = (OnActs != 0) ? Cols : Rows,
  localparam int unsigned LowLanes = sq_pkg::low_lanes(Layout, BankLen, HighPerBank),
  localparam int unsigned MaskW = sq_pkg::mask_w(Layout, BankLen),
  localparam int unsigned Plain = PlainLines * Banks * BankLen,
  localparam int unsigned Low = CodedLines * Banks * LowLanes,
  localparam int unsigned High = CodedLines * Banks * HighLen,
  localparam int unsigned OutW = sq_pkg::out_w(OutKind),
  localparam int unsigned KeptW = 32 * sq_pkg::kept_words(Sums, Form)
) (
  input  logic                               clk_i, rst_ni,
  // jobs, all counts >= 1
  input  logic                               job_valid_i,
  output logic                               job_ready_o,
  input  logic [15:0]                        job_beats_i, job_groups_i, job_tiles_i,
  input  logic                               job_carry_i,  // Sums, also the next one
  input  logic                               job_keep_i,
  input  logic [1:0]                         job_part_i,  // Sums = 2, 3
  // Banks banks of all lines of the plain operand
  input  logic                               plain_valid_i,
  output logic                               plain_ready_o,
  input  logic [Plain*PlainW-1:0]            plain_code_i,
  // ... and of the coded one
  input  logic                               coded_valid_i,
  output logic                               coded_ready_o,
  input  logic [Low*LowW-1:0]                coded_low_i,
  input  logic [High*HighW-1:0]              coded_high_i,
  input  logic [CodedLines*Banks*MaskW-1:0]  coded_mask_i,
  // scales of a group
  input  logic                               scale_valid_i,
  output logic                               scale_ready_o,
  input  logic [Cols*32-1:0]                 scale_col_lo_i, scale_col_hi_i,
  input  logic [Rows*32-1:0]                 scale_row_lo_i, scale_row_hi_i,
  // outputs
  output logic                               out_valid_o,
  input  logic                               out_ready_i,
  output logic [PortLen*OutW-1:0]            out_y_o,
  output logic                               out_last_o,   // of the job
  output logic [sq_pkg::N_ERRORS-1:0]         out_error_o,
  // sums of outputs: of jobs before, for later ones (sq_output)
  input  logic                               carry_valid_i,
  output logic                               carry_ready_o,
  input  logic [Lanes*KeptW-1:0]             carry_sum_i,
  output logic                               keep_valid_o,
  output logic [Lanes*KeptW-1:0]             keep_sum_o,
  output logic                               keep_last_o,  // of the job
  output logic [sq_pkg::N_ERRORS-1:0]        keep_error_o
);

  // ---- jobs: counted at the operands and, two jobs later at most, at the scales ------------------
  logic in_job_ready, scale_job_ready, in_busy, in_fire, in_last, unused_middle, unused_job;
  assign job_ready_o = in_job_ready && scale_job_ready;

  sq_engine_count u_in_count (
    .clk_i, .rst_ni,
    .job_valid_i(job_valid_i && scale_job_ready), .job_ready_o(in_job_ready),
    .job_inner_i(job_beats_i), .job_middle_i(job_groups_i), .job_outer_i(job_tiles_i),
    .busy_o(in_busy), .step_i(in_fire),
    .inner_last_o(in_last), .middle_last_o(unused_middle), .last_o(unused_job)
  );

  // ---- operands ----------------------------------------------------------------------------------
  logic array_ready, tile_valid, tile_ready, mask_error;
  logic [Rows*Cols*32-1:0] p_lo, p_hi;
  assign plain_ready_o = array_ready && in_busy && coded_valid_i;
  assign coded_ready_o = array_ready && in_busy && plain_valid_i;
  assign in_fire = array_ready && in_busy && plain_valid_i && coded_valid_i;

  sq_array #(
    .Rows(Rows), .Cols(Cols), .Banks(Banks), .BankLen(BankLen), .HighPerBank(HighPerBank),
    .HighLen(HighLen), .Layout(Layout), .OnActs(OnActs), .OneAcc(OneAcc), .PlainW(PlainW),
    .LowW(LowW), .HighW(HighW), .Gather(Gather)
  ) u_array (
    .clk_i, .rst_ni,
    .in_valid_i(in_busy && plain_valid_i && coded_valid_i), .in_ready_o(array_ready),
    .in_last_i(in_last), .in_plain_i(plain_code_i), .in_low_i(coded_low_i),
    .in_high_i(coded_high_i), .in_mask_i(coded_mask_i),
    .out_valid_o(tile_valid), .out_ready_i(tile_ready), .out_p_lo_o(p_lo), .out_p_hi_o(p_hi),
    .out_error_o(mask_error)
  );

  // ---- outputs -----------------------------------------------------------------------------------
  logic stage_valid, stage_ready, stage_first, stage_last, keep, carry, keep_ends_job, keep_ends;
  logic [1:0] part;
  logic [sq_pkg::N_ERRORS:0] stage_tag, word_tag;

  sq_output #(
    .Rows(Rows), .Cols(Cols), .Lanes(Lanes), .Form(Form), .OutKind(OutKind), .PortLen(PortLen),
    .Depth(Depth), .Hold(Hold), .Sums(Sums), .TagW(sq_pkg::N_ERRORS + 1)
  ) u_output (
    .clk_i, .rst_ni,
    .in_valid_i(tile_valid), .in_ready_o(tile_ready), .in_p_lo_i(p_lo), .in_p_hi_i(p_hi),
    .in_tag_i({(sq_pkg::N_ERRORS + 1){1'b0}}),  // a sized zero: Yosys reads the module again for '0
    .scale_valid_i(stage_valid), .scale_ready_o(stage_ready), .scale_last_i(stage_last),
    .scale_col_lo_i, .scale_col_hi_i, .scale_row_lo_i, .scale_row_hi_i, .scale_tag_i(stage_tag),
    .scale_carry_i(carry && stage_first), .scale_keep_i(keep && stage_last), .scale_part_i(part),
    .carry_valid_i, .carry_ready_o, .carry_sum_i, .keep_valid_o, .keep_sum_o,
    .keep_tag_o({keep_ends_job, keep_error_o}),
    .out_valid_o, .out_ready_i, .out_y_o, .out_tag_o(word_tag)
  );

  if (Sums != 0) begin : gen_keep  // the beat of sums that is shown is the last of its tile
    sq_engine_words #(.Words(Rows * Cols / Lanes)) u_keep (
      .clk_i, .rst_ni, .step_i(keep_valid_o), .last_o(keep_ends)
    );
  end else begin : gen_no_keep
    assign keep_ends = 1'b0;
  end
  assign keep_last_o = keep_ends_job && keep_ends;

  // ---- errors ------------------------------------------------------------------------------------
  // Illegal codes of a group go beside the array, whose stages move while it is ready.
  localparam bit CheckLow = Layout != sq_pkg::LAYOUT_SENTINEL && Layout != sq_pkg::LAYOUT_SPLIT;
  localparam bit CheckHigh = Layout == sq_pkg::LAYOUT_SENTINEL || Layout == sq_pkg::LAYOUT_COMPACT;
  logic [Plain-1:0] bad_plain;
  logic [Low-1:0] bad_low;
  logic [High-1:0] bad_high;
  for (genvar i = 0; i < Plain; i++) begin : gen_plain
    assign bad_plain[i] = plain_code_i[i*PlainW +: PlainW] == PlainW'(1 << (PlainW - 1));
  end
  for (genvar i = 0; i < Low; i++) begin : gen_low
    assign bad_low[i] = CheckLow && coded_low_i[i*LowW +: LowW] == LowW'(1 << (LowW - 1));
  end
  for (genvar i = 0; i < High; i++) begin : gen_high
    assign bad_high[i] = CheckHigh && coded_high_i[i*HighW +: HighW] == HighW'(1 << (HighW - 1));
  end

  localparam int unsigned Stages = sq_pkg::operand_stages(Layout);  // of the array, before its sums
  logic code_error, before_q, group_error_q;
  logic [Stages:0] ends_q, code_q;  // of the beat in each stage: it ends a group; codes up to it
  assign code_error = before_q || |bad_plain || |bad_low || |bad_high;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      before_q <= 1'b0;
      ends_q <= '0;
    end else begin
      if (in_fire) before_q <= code_error && !in_last;
      if (array_ready) ends_q <= {ends_q[Stages-1:0], in_fire && in_last};
    end
  end
  always_ff @(posedge clk_i) begin
    if (array_ready) begin
      code_q <= {code_q[Stages-1:0], code_error};
      if (ends_q[Stages]) group_error_q <= code_q[Stages];
    end
  end

  logic wrong_scale;
  logic [sq_pkg::N_ERRORS-1:0] tile_error, scale_error;
  always_comb begin
    tile_error = '0;
    tile_error[sq_pkg::ERROR_MASK] = mask_error;
    tile_error[sq_pkg::ERROR_CODE] = group_error_q;
    scale_error = '0;
    scale_error[sq_pkg::ERROR_SCALE] = wrong_scale;
  end

  sq_engine_scales #(
    .Rows(Rows), .Cols(Cols), .TwoCols(Form == sq_pkg::COMBINE_TWO),
    .TwoRows(Form == sq_pkg::COMBINE_SCALED)
  ) u_scales (
    .rows_i(stage_last), .col_lo_i(scale_col_lo_i), .col_hi_i(scale_col_hi_i),
    .row_lo_i(scale_row_lo_i), .row_hi_i(scale_row_hi_i), .error_o(wrong_scale)
  );
  sq_engine_tail #(.Words(Rows * Cols / PortLen), .Hold(Hold), .SideW(4)) u_tail (
    .clk_i, .rst_ni,
    .job_valid_i(job_valid_i && job_ready_o), .job_ready_o(scale_job_ready),
    .job_inner_i(job_groups_i), .job_middle_i(16'd1), .job_outer_i(job_tiles_i),
    .job_side_i({job_part_i, job_keep_i, job_carry_i}),
    .tile_fire_i(tile_valid && tile_ready), .tile_error_i(tile_error),
    .scale_valid_i, .scale_ready_o, .scale_error_i(scale_error),
    .stage_valid_o(stage_valid), .stage_ready_i(stage_ready), .side_o({part, keep, carry}),
    .stage_first_o(stage_first), .stage_last_o(stage_last), .stage_tag_o(stage_tag),
    .word_fire_i(out_valid_o && out_ready_i), .word_tag_i(word_tag), .word_last_o(out_last_o),
    .word_error_o(out_error_o)
  );

  logic unused;
  assign unused = ^{unused_middle, unused_job};

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_y_o, out_last_o, out_error_o})

endmodule
