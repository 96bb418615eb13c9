// SPDX-License-Identifier: Apache-2.0
// The control of an engine around sq_output: which scales end an output and a job, what was wrong in
// the job up to them, and which word is the last. A job is `outer` times `middle` times `inner` scale
// groups; the last of `inner` makes outputs. What else its outputs need to know of a job comes with it
// as side data and stands while its scales go. Two jobs wait here, at most: an engine takes no more of
// them, or has a core, which takes one when the tiles of the one before have left.
`include "sq_assert.svh"

module sq_engine_tail #(
  parameter int unsigned CountW = 16,
  parameter int unsigned Words = 1,  // of a tile of outputs
  parameter int unsigned Hold = 0,   // of sq_output
  parameter int unsigned SideW = 1
) (
  input  logic                        clk_i, rst_ni,
  // jobs, all counts >= 1
  input  logic                        job_valid_i,
  output logic                        job_ready_o,
  input  logic [CountW-1:0]           job_inner_i, job_middle_i, job_outer_i,
  input  logic [SideW-1:0]            job_side_i,
  // a tile of sums, as sq_output takes it
  input  logic                        tile_fire_i,
  input  logic [sq_pkg::N_ERRORS-1:0] tile_error_i,
  // scales, to the output stage
  input  logic                        scale_valid_i,
  output logic                        scale_ready_o,
  input  logic [sq_pkg::N_ERRORS-1:0] scale_error_i,  // of these scales
  output logic                        stage_valid_o,
  input  logic                        stage_ready_i,
  output logic [SideW-1:0]            side_o,         // of their job
  output logic                        stage_first_o,  // the first of `middle` times `inner`
  output logic                        stage_last_o,   // the last of `inner`
  output logic [sq_pkg::N_ERRORS:0]   stage_tag_o,    // the tile ends its job; errors
  // words
  input  logic                        word_fire_i,
  input  logic [sq_pkg::N_ERRORS:0]   word_tag_i,
  output logic                        word_last_o,    // of the job
  output logic [sq_pkg::N_ERRORS-1:0] word_error_o
);

  // ---- jobs -------------------------------------------------------------------------------------
  logic next_valid, next_ready, busy, fire, middle_last, job_last;
  logic [SideW+3*CountW-1:0] next;
  sq_fifo #(.Width(SideW + 3 * CountW), .Depth(2)) u_next (
    .clk_i, .rst_ni,
    .in_valid_i(job_valid_i), .in_ready_o(job_ready_o),
    .in_data_i({job_side_i, job_outer_i, job_middle_i, job_inner_i}),
    .out_valid_o(next_valid), .out_ready_i(next_ready), .out_data_o(next)
  );
  sq_engine_count #(.CountW(CountW)) u_count (
    .clk_i, .rst_ni,
    .job_valid_i(next_valid), .job_ready_o(next_ready),
    .job_inner_i(next[CountW-1:0]), .job_middle_i(next[2*CountW-1:CountW]),
    .job_outer_i(next[3*CountW-1:2*CountW]),
    .busy_o(busy), .step_i(fire),
    .inner_last_o(stage_last_o), .middle_last_o(middle_last), .last_o(job_last)
  );
  always_ff @(posedge clk_i) if (next_ready) side_o <= next[3*CountW +: SideW];

  // ---- scales -----------------------------------------------------------------------------------
  assign stage_valid_o = scale_valid_i && busy;
  assign scale_ready_o = stage_ready_i && busy;
  assign fire = stage_valid_o && stage_ready_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) stage_first_o <= 1'b1;
    else if (fire) stage_first_o <= middle_last;
  end

  // ---- errors -----------------------------------------------------------------------------------
  // A tile goes with its scales, or before them if it is held; then with Hold = 1 the next one may go with them.
  logic [sq_pkg::N_ERRORS-1:0] known, errors_q;
  assign known = errors_q | scale_error_i |
      ((Hold == 1 || (Hold == 2 && !tile_fire_i)) ? '0 : tile_error_i);
  assign stage_tag_o = {job_last, known};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) errors_q <= '0;
    else errors_q <= (!fire ? errors_q : job_last ? '0 : known) |
                     ((tile_fire_i && (Hold == 1 || (Hold == 2 && !fire))) ? tile_error_i : '0);
  end

  // ---- words ------------------------------------------------------------------------------------
  logic word_ends;
  sq_engine_words #(.Words(Words)) u_words (
    .clk_i, .rst_ni, .step_i(word_fire_i), .last_o(word_ends)
  );
  assign word_last_o = word_tag_i[sq_pkg::N_ERRORS] && word_ends;
  assign word_error_o = word_tag_i[sq_pkg::N_ERRORS-1:0];

  `SQ_ASSERT_BEGIN
  `SQ_ASSERT(HasRoom, !job_valid_i || job_ready_o)
  `SQ_ASSERT(TileOfJob, !tile_fire_i || busy || next_valid)

endmodule
