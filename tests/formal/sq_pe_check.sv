// SPDX-License-Identifier: Apache-2.0
// Range of the accumulators (SPEC R.3, 0.6): sq_pe holds the exact sum of a group, which is computed here in 40 bits, for all step sums of |sum| <= LowStep or HighStep and all groups of
// at most Steps steps, K = 28672 by default: lanes * 7 * 127 and lanes * 127 * 127. One bit less than
// the largest legal sum needs, and the proof must fail. The sums come from nowhere: the script takes
// the multipliers out, and joins the wires marked `keep` to those of the same name in dut.
module sq_pe_check #(
  parameter  int unsigned LowLanes = 16,
  parameter  int unsigned HighLanes = 4,
  parameter  int unsigned AccW = 32,
  parameter  int unsigned K = 28672,
  localparam logic signed [39:0] LowStep = 7 * 127 * LowLanes,
  localparam logic signed [39:0] HighStep = 127 * 127 * HighLanes,
  localparam int unsigned LowSumW = 12 + $clog2(LowLanes),
  localparam int unsigned HighSumW = 16 + $clog2(HighLanes)
) (
  input logic clk_i, low_en_i, low_acc_i,
  input logic low_first_i,
  input logic low_last_i, high_en_i, high_acc_i,
  input logic high_first_i
);
  logic rst_n;
  initial rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  (* keep *) logic signed [LowSumW-1:0] low_sum, low_sum_q;
  (* keep *) logic signed [HighSumW-1:0] high_sum, high_sum_q;
  (* keep *) logic signed [AccW-1:0] low_acc_q;
  logic [AccW-1:0] p_lo, p_hi;
  sq_pe #(
    .LowLanes(LowLanes), .HighLanes(HighLanes), .BankLen(32), .AccW(AccW)
  ) dut (
    .clk_i, .low_en_i, .low_act_i('0), .low_code_i('0), .low_acc_i, .low_first_i(low_first),
    .low_last_i, .high_en_i, .gather_ctl_i('0), .bank_act_i('0), .high_code_i('0), .high_acc_i,
    .high_first_i(high_first), .p_lo_o(p_lo), .p_hi_o(p_hi)
  );

  // A group starts with `first` and ends before its sum could pass that of K elements: the bound
  // grows with each step.
  localparam logic signed [39:0] LowMax = 40'(7 * 127 * K);
  localparam logic signed [39:0] HighMax = 40'(127 * 127 * K);
  logic low_first, high_first, low_known_q, high_known_q, total_known_q;
  logic signed [39:0] low_q, high_q, total_q, low, high, low_bound_q, high_bound_q;
  assign low_first = low_first_i || !low_known_q || low_bound_q > LowMax - LowStep;
  assign high_first = high_first_i || !high_known_q || high_bound_q > HighMax - HighStep;
  assign low = (low_first ? 40'sd0 : low_q) + 40'(low_sum_q);
  assign high = (high_first ? 40'sd0 : high_q) + 40'(high_sum_q);
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      low_known_q <= 1'b0;
      high_known_q <= 1'b0;
      total_known_q <= 1'b0;
    end else begin
      if (low_en_i && low_acc_i) begin
        low_known_q <= 1'b1;
        low_q <= low;
        low_bound_q <= (low_first ? 40'sd0 : low_bound_q) + LowStep;
        if (low_last_i) begin
          total_q <= low;
          total_known_q <= 1'b1;
        end
      end
      if (high_en_i && high_acc_i) begin
        high_known_q <= 1'b1;
        high_q <= high;
        high_bound_q <= (high_first ? 40'sd0 : high_bound_q) + HighStep;
      end
    end
  end

  always_comb begin
    assume (low_sum <= LowStep && low_sum >= -LowStep);
    assume (high_sum <= HighStep && high_sum >= -HighStep);
    assume (low_sum_q <= LowStep && low_sum_q >= -LowStep);
    assume (high_sum_q <= HighStep && high_sum_q >= -HighStep);
    if (rst_n) begin
      LowExact : assert (!low_known_q || 40'(low_acc_q) == low_q);
      LowTotal : assert (!total_known_q || 40'($signed(p_lo)) == total_q);
      LowBound : assert (!low_known_q || low_bound_q <= LowMax && low_bound_q >= LowStep &&
          low_q <= low_bound_q && low_q >= -low_bound_q);
      HighExact : assert (!high_known_q || 40'($signed(p_hi)) == high_q);
      HighBound : assert (!high_known_q || high_bound_q <= HighMax && high_bound_q >= HighStep &&
          high_q <= high_bound_q && high_q >= -high_bound_q);
    end
  end
endmodule
