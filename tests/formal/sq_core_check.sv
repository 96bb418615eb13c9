// SPDX-License-Identifier: Apache-2.0
// sq_core, control and stream registers together: every job of up to 2 groups of up to 2 banks, one
// after the other for ever, gives its tiles, under all stalls of all five sides.
module sq_core_check #(
  parameter int unsigned LowLanes = 2,
  parameter int unsigned HighLanes = 1,
  parameter int unsigned Inside = 2
) (
  input logic        clk_i, job_valid_i,
  input logic        two_banks_i, two_groups_i,
  input logic        act_valid_i, lo_valid_i, hi_valid_i, out_ready_i,
  input logic [31:0] data_i
);
  logic rst_n;
  initial rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic job_ready, act_ready, lo_ready, hi_ready, out_valid, offered;
  logic [7:0] p_lo, p_hi;
  logic mask_error;
  sq_core #(
    .Rows(1), .Cols(1), .LowLanes(LowLanes), .HighLanes(HighLanes), .BankLen(4), .HighPerBank(2),
    .ActW(2), .LowW(2), .HighW(2), .AccW(8), .Counters(1'b0)
  ) dut (
    .clk_i, .rst_ni(rst_n), .job_valid_i, .job_ready_o(job_ready),
    .job_group_banks_i(two_banks_i ? 16'd2 : 16'd1), .job_groups_i(two_groups_i ? 32'd2 : 32'd1),
    .act_valid_i, .act_ready_o(act_ready), .act_data_i(data_i[2*LowLanes-1:0]),
    .lo_valid_i, .lo_ready_o(lo_ready), .lo_data_i(data_i[8+:2*LowLanes]),
    .hi_valid_i, .hi_ready_o(hi_ready), .hi_data_i(data_i[16+:2*HighLanes]),
    .out_valid_o(out_valid), .out_ready_i, .out_p_lo_o(p_lo), .out_p_hi_o(p_hi),
    .out_error_o(), .mask_error_o(mask_error), .low_counts_o(), .high_counts_o()
  );
  assign offered = act_valid_i && lo_valid_i && hi_valid_i;
  // 2 banks of at most 4 low steps and 2 high ones, and the pipeline.
  sq_stream_rules #(.Inside(Inside), .LostWait(24), .LiveWait(10), .OweW(2)) u_rules (
    .clk_i, .rst_ni(rst_n), .offered_i(offered && job_valid_i), .needed_i(offered),
    .in_fire_i(job_valid_i && job_ready), .owe_i(two_groups_i ? 2'd2 : 2'd1),
    .out_valid_i(out_valid), .out_ready_i
  );
endmodule
