// SPDX-License-Identifier: Apache-2.0
// Cycles per cause of one path during a job. Above Start, the counts sum to the cycles of the job.
//
// A job starts at Start, so that a test reaches the carries above what a run can count.
module sq_cause_count #(
  parameter int unsigned Start = 0
) (
  input  logic                                      clk_i, rst_ni,
  input  logic                                      clear_i,   // a job starts
  input  logic                                      active_i,  // this cycle belongs to a job
  input  logic [sq_pkg::CAUSE_W-1:0]                cause_i,
  output logic [sq_pkg::N_CAUSES*sq_pkg::COUNT_W-1:0] counts_o
);

  for (genvar i = 0; i < sq_pkg::N_CAUSES; i++) begin : gen_count
    logic [sq_pkg::COUNT_W-1:0] count_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) count_q <= sq_pkg::COUNT_W'(Start);
      else if (clear_i) count_q <= sq_pkg::COUNT_W'(Start);
      else if (active_i && cause_i == sq_pkg::CAUSE_W'(i)) count_q <= count_q + 1'b1;
    end
    assign counts_o[i*sq_pkg::COUNT_W +: sq_pkg::COUNT_W] = count_q;
  end

endmodule
