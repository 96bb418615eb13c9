// SPDX-License-Identifier: Apache-2.0
// The engine of SQ on activations whose masks are made of INT8 codes (SPEC C.1), once for a tile of
// tokens and all its tiles of channels: sq_core_act with its output stage. Stored bits in, outputs out:
//
//   act     INT8 codes of all tokens, and how they become low codes -+
//   weight  codes, a step of a bank ---------------------------------+-> sq_core_act -> sq_output -> words
//   scale   binary32, of channels (columns) and tokens (rows) -------------------------^
// A job is `tiles` tiles of tokens; each is taken once and goes with `passes` tiles of channels, whose
// outputs are of `groups` scale groups of `banks` banks. Activations come a bank of all tokens a beat,
// tile by tile; weights for each tile of tokens again; a beat of scales for each scale group.
//
// A code of -2^(w-1) counts as it stands; CODE comes out with the outputs of its scale group (of a
// weight) or of its tile of tokens (of an activation) and all later ones of the job, and so does SCALE
// (not a positive number). There is no error of masks: they have k ones.
`include "sq_assert.svh"

module sq_engine_core_act #(
  parameter  int unsigned Rows = 2,  // tokens
  parameter  int unsigned Cols = 2,  // output channels
  parameter  int unsigned LowLanes = 8,
  parameter  int unsigned HighLanes = 2,
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighPerBank = 4,
  parameter  int unsigned WeightW = 4,
  parameter  int unsigned LowW = 4,
  parameter  int unsigned HighW = 8,
  parameter  int unsigned MulW = 16,
  parameter  int unsigned Topk = sq_pkg::TOPK_RADIX,
  parameter  int unsigned Gather = sq_pkg::GATHER_CROSSBAR,
  parameter  int unsigned TileBanks = 8,  // groups * banks of a job, at most
  parameter  int unsigned PassW = 8,
  // output stage
  parameter  int unsigned Lanes = 2,
  parameter  int unsigned Form = sq_pkg::COMBINE_SCALED,
  parameter  int unsigned OutKind = sq_pkg::OUT_BINARY32,
  parameter  int unsigned PortLen = 1,
  parameter  int unsigned Depth = 2,
  parameter  int unsigned Hold = 1,
  localparam int unsigned ShiftW = 6,
  localparam int unsigned OutW = sq_pkg::out_w(OutKind)
) (
  input  logic                             clk_i, rst_ni,
  // jobs, all counts >= 1
  input  logic                             job_valid_i,
  output logic                             job_ready_o,
  input  logic [15:0]                      job_banks_i, job_groups_i,
  input  logic [PassW-1:0]                 job_passes_i,
  input  logic [15:0]                      job_tiles_i,
  input  logic [sq_pkg::GROUPS_W-1:0]      job_sums_i,  // groups * passes * tiles
  // activations: a bank of all tokens
  input  logic                             act_valid_i,
  output logic                             act_ready_o,
  input  logic [Rows*MulW-1:0]             act_mul_i,
  input  logic [Rows*ShiftW-1:0]           act_shift_i,
  input  logic [Rows*BankLen*HighW-1:0]    act_code_i,
  // weights: a step of a bank of all channels
  input  logic                             weight_valid_i,
  output logic                             weight_ready_o,
  input  logic [Cols*LowLanes*WeightW-1:0] weight_code_i,
  // scales of a group
  input  logic                             scale_valid_i,
  output logic                             scale_ready_o,
  input  logic [Cols*32-1:0]               scale_col_lo_i, scale_col_hi_i,
  input  logic [Rows*32-1:0]               scale_row_lo_i, scale_row_hi_i,
  // outputs
  output logic                             out_valid_o,
  input  logic                             out_ready_i,
  output logic [PortLen*OutW-1:0]          out_y_o,
  output logic                             out_last_o,   // of the job
  output logic [sq_pkg::N_ERRORS-1:0]      out_error_o
);

  if (PassW < 1 || PassW > 16) begin : gen_bad
    $error("PassW = 1..16");
  end

  // ---- jobs: counted at the activations, at the core, at the scales ------------------------------
  localparam int unsigned SumsW = sq_pkg::GROUPS_W;
  logic act_job_ready, core_job_room, tail_job_ready, job_fire;
  logic act_busy, act_fire, tile_last, unused_inner, unused_end, core_job_valid, core_job_ready;
  logic [15+SumsW:0] core_job;
  logic [PassW-1:0] passes_q;  // of the job at the activations
  assign job_ready_o = act_job_ready && core_job_room && tail_job_ready;
  assign job_fire = job_valid_i && job_ready_o;

  sq_engine_count u_act_count (
    .clk_i, .rst_ni,
    .job_valid_i(job_valid_i && core_job_room && tail_job_ready), .job_ready_o(act_job_ready),
    .job_inner_i(job_banks_i), .job_middle_i(job_groups_i), .job_outer_i(job_tiles_i),
    .busy_o(act_busy), .step_i(act_fire),
    .inner_last_o(unused_inner), .middle_last_o(tile_last), .last_o(unused_end)
  );
  always_ff @(posedge clk_i) if (job_fire) passes_q <= job_passes_i;

  sq_fifo #(.Width(16 + SumsW), .Depth(2)) u_core_job (
    .clk_i, .rst_ni,
    .in_valid_i(job_fire), .in_ready_o(core_job_room), .in_data_i({job_banks_i, job_sums_i}),
    .out_valid_o(core_job_valid), .out_ready_i(core_job_ready), .out_data_o(core_job)
  );

  // ---- operands -----------------------------------------------------------------------------------
  logic mask_ready, tile_valid, tile_ready, weight_error;
  logic [Cols*Rows*32-1:0] p_lo, p_hi;  // of the core: a row is a channel
  assign act_ready_o = mask_ready && act_busy;
  assign act_fire = act_valid_i && act_ready_o;

  sq_core_act #(
    .Rows(Cols), .Cols(Rows), .LowLanes(LowLanes), .HighLanes(HighLanes), .BankLen(BankLen),
    .HighPerBank(HighPerBank), .WeightW(WeightW), .LowW(LowW), .HighW(HighW), .MulW(MulW),
    .ShiftW(ShiftW), .Depth(TileBanks), .PassW(PassW), .Topk(Topk), .Gather(Gather),
    .CheckWeights(1'b1)
  ) u_core (
    .clk_i, .rst_ni,
    .in_valid_i(act_valid_i && act_busy), .in_ready_o(mask_ready), .in_last_i(tile_last),
    .in_passes_i(passes_q), .in_mul_i(act_mul_i), .in_shift_i(act_shift_i), .in_code_i(act_code_i),
    .weight_valid_i, .weight_ready_o, .weight_code_i,
    .job_valid_i(core_job_valid), .job_ready_o(core_job_ready),
    .job_group_banks_i(core_job[SumsW +: 16]), .job_groups_i(core_job[SumsW-1:0]),
    .out_valid_o(tile_valid), .out_ready_i(tile_ready), .out_p_lo_o(p_lo), .out_p_hi_o(p_hi),
    .out_error_o(weight_error)
  );

  // A row of the output stage is a token.
  logic [Rows*Cols*32-1:0] token_p_lo, token_p_hi;
  for (genvar r = 0; r < Rows; r++) begin : gen_row
    for (genvar c = 0; c < Cols; c++) begin : gen_col
      assign token_p_lo[(r*Cols+c)*32 +: 32] = p_lo[(c*Rows+r)*32 +: 32];
      assign token_p_hi[(r*Cols+c)*32 +: 32] = p_hi[(c*Rows+r)*32 +: 32];
    end
  end

  // ---- errors, the end of the job -----------------------------------------------------------------
  // No more tiles of tokens than these are on the way from their last bank to their first scales: a bank
  // each in TopK (at most 2) and requantisation (3), the stores (2), the core (6).
  localparam int unsigned TilesOnTheWay = 16;
  logic [Rows*BankLen-1:0] bad_act;
  logic act_error, act_before_q, tile_room, tile_error_valid, tile_error, first_scales, scale_fire;
  for (genvar i = 0; i < Rows * BankLen; i++) begin : gen_act
    assign bad_act[i] = act_code_i[i*HighW +: HighW] == HighW'(1 << (HighW - 1));
  end
  assign act_error = act_before_q || |bad_act;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) act_before_q <= 1'b0;
    else if (act_fire) act_before_q <= act_error && !tile_last;
  end
  sq_fifo #(.Width(1), .Depth(TilesOnTheWay)) u_tile_error (
    .clk_i, .rst_ni,
    .in_valid_i(act_fire && tile_last), .in_ready_o(tile_room), .in_data_i(act_error),
    .out_valid_o(tile_error_valid), .out_ready_i(scale_fire && first_scales), .out_data_o(tile_error)
  );

  logic stage_valid, stage_ready, stage_last, wrong_scale, unused_side;
  logic [sq_pkg::N_ERRORS-1:0] sums_error, scale_error;
  logic [sq_pkg::N_ERRORS:0] stage_tag, word_tag;
  assign scale_fire = stage_valid && stage_ready;
  always_comb begin
    sums_error = '0;
    sums_error[sq_pkg::ERROR_CODE] = weight_error;
    scale_error = '0;
    scale_error[sq_pkg::ERROR_SCALE] = wrong_scale;
    scale_error[sq_pkg::ERROR_CODE] = first_scales && tile_error;
  end

  sq_engine_scales #(
    .Rows(Rows), .Cols(Cols), .TwoCols(Form == sq_pkg::COMBINE_TWO),
    .TwoRows(Form == sq_pkg::COMBINE_SCALED)
  ) u_scales (
    .rows_i(stage_last), .col_lo_i(scale_col_lo_i), .col_hi_i(scale_col_hi_i),
    .row_lo_i(scale_row_lo_i), .row_hi_i(scale_row_hi_i), .error_o(wrong_scale)
  );
  sq_engine_tail #(.Words(Rows * Cols / PortLen), .Hold(Hold)) u_tail (
    .clk_i, .rst_ni,
    .job_valid_i(job_fire), .job_ready_o(tail_job_ready),
    .job_inner_i(job_groups_i), .job_middle_i(16'(job_passes_i)), .job_outer_i(job_tiles_i),
    .job_side_i(1'b0),
    .tile_fire_i(tile_valid && tile_ready), .tile_error_i(sums_error),
    .scale_valid_i, .scale_ready_o, .scale_error_i(scale_error),
    .stage_valid_o(stage_valid), .stage_ready_i(stage_ready), .side_o(unused_side),
    .stage_first_o(first_scales), .stage_last_o(stage_last), .stage_tag_o(stage_tag),
    .word_fire_i(out_valid_o && out_ready_i), .word_tag_i(word_tag), .word_last_o(out_last_o),
    .word_error_o(out_error_o)
  );

  sq_output #(
    .Rows(Rows), .Cols(Cols), .Lanes(Lanes), .Form(Form), .OutKind(OutKind), .PortLen(PortLen),
    .Depth(Depth), .Hold(Hold), .TagW(sq_pkg::N_ERRORS + 1)
  ) u_output (
    .clk_i, .rst_ni,
    .in_valid_i(tile_valid), .in_ready_o(tile_ready), .in_p_lo_i(token_p_lo), .in_p_hi_i(token_p_hi),
    .in_tag_i({(sq_pkg::N_ERRORS + 1){1'b0}}),  // a sized zero: Yosys reads the module again for '0
    .scale_valid_i(stage_valid), .scale_ready_o(stage_ready), .scale_last_i(stage_last),
    .scale_col_lo_i, .scale_col_hi_i, .scale_row_lo_i, .scale_row_hi_i, .scale_tag_i(stage_tag),
    .scale_carry_i(1'b0), .scale_keep_i(1'b0), .scale_part_i(2'b00),
    .carry_valid_i(1'b0), .carry_ready_o(), .carry_sum_i({(Lanes * 32){1'b0}}),
    .keep_valid_o(), .keep_sum_o(), .keep_tag_o(),
    .out_valid_o, .out_ready_i, .out_y_o, .out_tag_o(word_tag)
  );

  `SQ_ASSERT_BEGIN
  `SQ_ASSERT(TilesHaveRoom, tile_room)
  `SQ_ASSERT(TileKnown, !(scale_fire && first_scales) || tile_error_valid)
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_y_o, out_last_o, out_error_o})

endmodule
