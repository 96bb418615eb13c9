// SPDX-License-Identifier: Apache-2.0
// Where an engine is in its job of `outer` times `middle` times `inner` beats: three nested counters,
// that follow one of its streams. A job may come in the cycle in which the last beat of the job before
// goes, so that none is lost between two jobs. A count of 0 stands for 2^CountW.
`include "sq_assert.svh"

module sq_engine_count #(
  parameter int unsigned CountW = 16
) (
  input  logic              clk_i, rst_ni,
  // jobs
  input  logic              job_valid_i,
  output logic              job_ready_o,
  input  logic [CountW-1:0] job_inner_i, job_middle_i, job_outer_i,
  // beats
  output logic              busy_o,         // a job is here
  input  logic              step_i,         // a beat of it goes
  output logic              inner_last_o,   // that beat is the last of `inner`
  output logic              middle_last_o,  // ... and these are the last of `middle`
  output logic              last_o          // ... and these the last of the job
);

  logic busy_q;
  logic [CountW-1:0] inner_q, middle_q, outer_q;  // beats done
  logic [CountW-1:0] inner_n_q, middle_n_q, outer_n_q;

  assign inner_last_o = inner_q == inner_n_q - 1'b1;
  assign middle_last_o = inner_last_o && middle_q == middle_n_q - 1'b1;
  assign last_o = middle_last_o && outer_q == outer_n_q - 1'b1;
  assign busy_o = busy_q;
  assign job_ready_o = !busy_q || (step_i && last_o);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
    end else if (job_ready_o) begin
      busy_q <= job_valid_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (job_ready_o) begin
      inner_q <= '0;
      middle_q <= '0;
      outer_q <= '0;
      inner_n_q <= job_inner_i;
      middle_n_q <= job_middle_i;
      outer_n_q <= job_outer_i;
    end else if (step_i) begin
      inner_q <= inner_last_o ? '0 : inner_q + 1'b1;
      if (inner_last_o) middle_q <= middle_last_o ? '0 : middle_q + 1'b1;
      if (middle_last_o) outer_q <= outer_q + 1'b1;
    end
  end

  `SQ_ASSERT_BEGIN
  `SQ_ASSERT(StepOfJob, busy_q || !step_i)

endmodule
