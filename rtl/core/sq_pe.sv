// SPDX-License-Identifier: Apache-2.0
// Processing element: both paths of one (token, output channel) pair, output-stationary. The core
// decides when: it enables each path and marks the first and last step of a scale group.
//
//   low path   operands -> sum_q -> acc_q; at the last step of a group the total goes to result_q,
//              so the next group can start while the high path, one bank behind, finishes this one
//   high path  gather mux -> act_q -> sum_q -> acc_q; the total stays in acc_q until taken
// Datapath only: no reset, no handshake.
module sq_pe #(
  parameter  int unsigned LowLanes = 16,
  parameter  int unsigned HighLanes = 4,
  parameter  int unsigned BankLen = 32,
  parameter  int unsigned ActW = 8,
  parameter  int unsigned LowW = 4,
  parameter  int unsigned HighW = 8,
  parameter  int unsigned AccW = 32,
  parameter  int unsigned Gather = sq_pkg::GATHER_CROSSBAR,
  parameter  int unsigned IsFp = 0,  // sq_mac_low, sq_mac_high
  localparam int unsigned CtlW = sq_pkg::gather_ctl_w(Gather, BankLen, HighLanes)
) (
  input  logic                        clk_i,
  // low path: enable; then, one stage apart, operands and accumulate controls
  input  logic                        low_en_i,
  input  logic [LowLanes*ActW-1:0]    low_act_i,
  input  logic [LowLanes*LowW-1:0]    low_code_i,
  input  logic                        low_acc_i,    // sum_q belongs to a step
  input  logic                        low_first_i,  // ... the first of its group
  input  logic                        low_last_i,   // ... the last of its group
  // high path: the same; the code arrives one stage after the gather controls
  input  logic                        high_en_i,
  input  logic [CtlW-1:0]             gather_ctl_i,
  input  logic [BankLen*ActW-1:0]     bank_act_i,
  input  logic [HighLanes*HighW-1:0]  high_code_i,
  input  logic                        high_acc_i,
  input  logic                        high_first_i,
  // totals of the last finished group
  output logic [AccW-1:0]             p_lo_o, p_hi_o
);

  localparam int unsigned LowSumW = IsFp != 0 ?
      sq_pkg::element_dot_w(sq_pkg::ELEMENT_E4M3, sq_pkg::ELEMENT_E2M1, LowLanes) :
      ActW + LowW + $clog2(LowLanes);
  localparam int unsigned HighSumW = IsFp != 0 ?
      sq_pkg::element_dot_w(sq_pkg::ELEMENT_E4M3, sq_pkg::ELEMENT_E4M3, HighLanes) :
      ActW + HighW + $clog2(HighLanes);

  // Low path.
  logic signed [LowSumW-1:0] low_sum, low_sum_q;
  logic signed [AccW-1:0] low_acc_d, low_acc_q, low_result_q;

  sq_mac_low #(.Lanes(LowLanes), .ActW(ActW), .LowW(LowW), .IsFp(IsFp)) u_mac_low (
    .act_i(low_act_i), .code_i(low_code_i), .sum_o(low_sum)
  );

  assign low_acc_d = (low_first_i ? '0 : low_acc_q) + AccW'(low_sum_q);

  always_ff @(posedge clk_i) begin
    if (low_en_i) begin
      low_sum_q <= low_sum;
      if (low_acc_i) low_acc_q <= low_acc_d;
      if (low_acc_i && low_last_i) low_result_q <= low_acc_d;
    end
  end

  // High path.
  logic [HighLanes*ActW-1:0] gathered, gathered_q;
  logic signed [HighSumW-1:0] high_sum, high_sum_q;
  logic signed [AccW-1:0] high_acc_q;

  sq_gather_mux #(
    .BankLen(BankLen), .Lanes(HighLanes), .ActW(ActW), .Gather(Gather)
  ) u_gather_mux (
    .ctl_i(gather_ctl_i), .act_i(bank_act_i), .act_o(gathered)
  );

  sq_mac_high #(.Lanes(HighLanes), .ActW(ActW), .HighW(HighW), .IsFp(IsFp)) u_mac_high (
    .act_i(gathered_q), .code_i(high_code_i), .sum_o(high_sum)
  );

  always_ff @(posedge clk_i) begin
    if (high_en_i) begin
      gathered_q <= gathered;
      high_sum_q <= high_sum;
      if (high_acc_i) high_acc_q <= (high_first_i ? '0 : high_acc_q) + AccW'(high_sum_q);
    end
  end

  assign p_lo_o = low_result_q;
  assign p_hi_o = high_acc_q;

endmodule
