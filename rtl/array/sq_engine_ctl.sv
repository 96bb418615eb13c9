// SPDX-License-Identifier: Apache-2.0
// Control of an engine whose operands are two streams that go together, and whose tiles are Pairs
// tiles of sq_output (a total of each pair of parts): which beat ends a tile, and sq_engine_tail
// behind it, whose scales stand for all pairs. A job is `tiles` tiles of `blocks` beats of both
// operands and one beat of scales.
// Sums = 1: the totals of a job with job_carry_i begin with those of before (array_carry_o stands with
// the first beat of each tile); those of one with job_keep_i leave as they are, a pair at a time, each
// pair like a tile of its own, and no words of them come.
`include "sq_assert.svh"

module sq_engine_ctl #(
  parameter  int unsigned Pairs = 1,
  parameter  int unsigned Words = 1,  // of a tile of outputs
  parameter  int unsigned Hold = 0,   // of sq_output
  parameter  int unsigned Sums = 0,
  localparam int unsigned PairW = sq_pkg::index_w(Pairs)
) (
  input  logic                        clk_i, rst_ni,
  // jobs, both counts >= 1
  input  logic                        job_valid_i,
  output logic                        job_ready_o,
  input  logic [15:0]                 job_blocks_i, job_tiles_i,
  input  logic                        job_carry_i,  // Sums, also the next one
  input  logic                        job_keep_i,
  // operands, together to the array
  input  logic                        act_valid_i,
  output logic                        act_ready_o,
  input  logic                        weight_valid_i,
  output logic                        weight_ready_o,
  output logic                        array_valid_o,
  input  logic                        array_ready_i,
  output logic                        array_last_o, array_carry_o,
  // a tile of a pair, as sq_output takes it
  input  logic                        tile_fire_i,
  input  logic [sq_pkg::N_ERRORS-1:0] tile_error_i,
  // scales, Pairs times to the output stage
  input  logic                        scale_valid_i,
  output logic                        scale_ready_o,
  input  logic                        scale_error_i,
  output logic                        stage_valid_o,
  input  logic                        stage_ready_i,
  output logic                        stage_last_o, stage_keep_o,
  output logic [PairW-1:0]            stage_pair_o,
  output logic [sq_pkg::N_ERRORS:0]   stage_tag_o,   // the tile ends its job; errors
  // words
  input  logic                        word_fire_i,
  input  logic [sq_pkg::N_ERRORS:0]   word_tag_i,
  output logic                        word_last_o,   // of the job
  output logic [sq_pkg::N_ERRORS-1:0] word_error_o
);

  // ---- jobs: counted at the operands and, two jobs later at most, at the scales -----------------
  logic in_job_ready, scale_job_ready, in_busy, in_fire, unused_in_tiles, unused_in_job;
  assign job_ready_o = in_job_ready && scale_job_ready;

  sq_engine_count u_in_count (
    .clk_i, .rst_ni,
    .job_valid_i(job_valid_i && scale_job_ready), .job_ready_o(in_job_ready),
    .job_inner_i(job_blocks_i), .job_middle_i(job_tiles_i), .job_outer_i(16'd1),
    .busy_o(in_busy), .step_i(in_fire),
    .inner_last_o(array_last_o), .middle_last_o(unused_in_tiles), .last_o(unused_in_job)
  );

  // ---- operands ---------------------------------------------------------------------------------
  assign array_valid_o = in_busy && act_valid_i && weight_valid_i;
  assign act_ready_o = array_ready_i && in_busy && weight_valid_i;
  assign weight_ready_o = array_ready_i && in_busy && act_valid_i;
  assign in_fire = array_valid_o && array_ready_i;

  if (Sums != 0) begin : gen_carry
    logic carry_q, first_q;  // of the job; the next beat is the first of a tile
    assign array_carry_o = carry_q && first_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) first_q <= 1'b1;
      else if (in_fire) first_q <= array_last_o;
    end
    always_ff @(posedge clk_i) if (in_job_ready) carry_q <= job_carry_i;
  end else begin : gen_no_carry
    wire unused_carry = job_carry_i;
    assign array_carry_o = 1'b0;
  end

  // ---- scales, errors, words --------------------------------------------------------------------
  logic [PairW-1:0] pair_q;
  logic is_end, unused_first, unused_last;  // the pair is the last of its tile
  logic [sq_pkg::N_ERRORS-1:0] scale_errors;
  assign is_end = pair_q == PairW'(Pairs - 1);
  assign stage_last_o = is_end || stage_keep_o;
  assign stage_pair_o = pair_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pair_q <= '0;
    else if (stage_valid_o && stage_ready_i) pair_q <= is_end ? '0 : pair_q + 1'b1;
  end
  always_comb begin
    scale_errors = '0;
    scale_errors[sq_pkg::ERROR_SCALE] = scale_error_i;
  end
  sq_engine_tail #(.Words(Words), .Hold(Hold)) u_tail (
    .clk_i, .rst_ni,
    .job_valid_i(job_valid_i && job_ready_o), .job_ready_o(scale_job_ready),
    .job_inner_i(16'd1), .job_middle_i(16'd1), .job_outer_i(job_tiles_i),
    .job_side_i(Sums != 0 && job_keep_i),
    .tile_fire_i, .tile_error_i,
    .scale_valid_i, .scale_ready_o, .scale_error_i(scale_errors),
    .stage_valid_o, .stage_ready_i(stage_ready_i && is_end), .side_o(stage_keep_o),
    .stage_first_o(unused_first), .stage_last_o(unused_last), .stage_tag_o,
    .word_fire_i, .word_tag_i, .word_last_o, .word_error_o
  );

  logic unused;
  assign unused = ^{unused_in_tiles, unused_in_job, unused_first, unused_last};

  `SQ_ASSERT_BEGIN
  `SQ_HELD(ArrayHeldOnStall, array_valid_o, array_ready_i, array_last_o)

endmodule
