// SPDX-License-Identifier: Apache-2.0
// Control of sq_core: when each path accepts a step, moves and delivers. sim/block/core/sq_core_sim.c is its
// twin, signal by signal.
//
//   low path   accepts one step of a bank per cycle (activation beat and low-code beat together);
//              LowSteps steps fill the bank buffer, the last one hands the bank over to the high
//              path, which must have released the previous one
//   high path  works on the handed-over bank, HighSteps steps of one high-code beat each
//   results    a tile leaves when both paths have finished the group
// Pipelines after acceptance, each moving only with its enable:
//   low   accept -> l1 -> l2 -> sum -> accumulate     (l2 keeps the low result one cycle shorter)
//   high  accept -> gathered -> sum -> accumulate
module sq_core_ctl #(
  parameter  int unsigned LowSteps = 2,   // ceil(b / L)
  parameter  int unsigned HighSteps = 2,  // ceil(k / H)
  localparam int unsigned LowStepW = sq_pkg::index_w(LowSteps),
  localparam int unsigned HighStepW = sq_pkg::index_w(HighSteps)
) (
  input  logic                             clk_i, rst_ni,
  // job: `groups` scale groups of `group_banks` banks, both >= 1
  input  logic                             job_valid_i,
  output logic                             job_ready_o,
  input  logic [sq_pkg::GROUP_BANKS_W-1:0] job_group_banks_i,
  input  logic [sq_pkg::GROUPS_W-1:0]      job_groups_i,
  // streams (behind their pipe registers)
  input  logic                             act_valid_i,
  output logic                             act_ready_o,
  input  logic                             lo_valid_i,
  output logic                             lo_ready_o,
  input  logic                             hi_valid_i,
  output logic                             hi_ready_o,
  output logic                             out_valid_o,
  input  logic                             out_ready_i,
  // low path controls
  output logic                             low_en_o,
  output logic                             low_fire_o,       // accept a step
  output logic [LowStepW-1:0]              low_step_o,       // which step of the bank
  output logic                             low_bank_last_o,  // it is the last
  output logic                             low_acc_o,
  output logic                             low_first_o,
  output logic                             low_last_o,
  // high path controls
  output logic                             high_en_o, high_fire_o,
  output logic [HighStepW-1:0]             high_step_o,
  output logic                             high_acc_o,
  output logic                             high_first_o,
  // what each path did in this cycle
  output logic                             active_o,  // a job is running
  output logic [sq_pkg::CAUSE_W-1:0]       low_cause_o, high_cause_o
);

  localparam int unsigned BanksW = sq_pkg::GROUP_BANKS_W;
  localparam int unsigned GroupsW = sq_pkg::GROUPS_W;

  // Job and progress. *_groups_q count down the groups not yet finished by each part.
  logic [BanksW-1:0] group_banks_q, low_bank_q, high_bank_q;  // bank of the group, from 0
  logic [GroupsW-1:0] low_groups_q, high_groups_q, out_groups_q;
  logic [LowStepW-1:0] low_step_q;
  logic [HighStepW-1:0] high_step_q;
  logic started_q;  // a bank of this job has been completed

  // Pipeline flags: valid, first and last of the group.
  logic l1_valid_q, l1_first_q, l1_last_q, l2_valid_q, l2_first_q, l2_last_q;
  logic ls_valid_q, ls_first_q, ls_last_q, h1_valid_q, h1_first_q, h1_last_q;
  logic hs_valid_q, hs_first_q, hs_last_q;
  logic bank_full_q;    // the high path holds a bank
  logic low_result_q;   // the low total of a group waits
  logic high_result_q;  // the high total of a group waits

  logic job_fire, out_fire, low_left, low_group_last, low_blocked;
  logic high_left, high_bank_last, high_group_last;

  assign job_ready_o = out_groups_q == '0;
  assign job_fire = job_valid_i && job_ready_o;
  assign active_o = out_groups_q != '0;

  // Results.
  assign out_valid_o = low_result_q && high_result_q;
  assign out_fire = out_valid_o && out_ready_i;

  // High path.
  assign high_left = high_groups_q != '0;
  assign high_en_o = !(hs_valid_q && high_result_q && !out_fire);
  assign hi_ready_o = high_left && high_en_o && bank_full_q;
  assign high_fire_o = hi_ready_o && hi_valid_i;
  assign high_step_o = high_step_q;
  assign high_bank_last = high_step_q == HighStepW'(HighSteps - 1);
  assign high_group_last = high_bank_last && high_bank_q == group_banks_q - 1'b1;

  // Low path. The last step of a bank needs the bank buffer, free or just being freed.
  assign low_left = low_groups_q != '0;
  assign low_en_o = !(ls_valid_q && ls_last_q && low_result_q && !out_fire);
  assign low_bank_last_o = low_step_q == LowStepW'(LowSteps - 1);
  assign low_group_last = low_bank_last_o && low_bank_q == group_banks_q - 1'b1;
  assign low_blocked = low_bank_last_o && bank_full_q && !(high_fire_o && high_bank_last);
  assign low_fire_o = low_left && low_en_o && !low_blocked && act_valid_i && lo_valid_i;
  assign act_ready_o = low_fire_o;
  assign lo_ready_o = low_fire_o;
  assign low_step_o = low_step_q;

  assign low_acc_o = ls_valid_q;
  assign low_first_o = ls_first_q;
  assign low_last_o = ls_last_q;
  assign high_acc_o = hs_valid_q;
  assign high_first_o = hs_first_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      group_banks_q <= '0;
      low_groups_q <= '0;
      high_groups_q <= '0;
      out_groups_q <= '0;
      low_bank_q <= '0;
      high_bank_q <= '0;
      low_step_q <= '0;
      high_step_q <= '0;
      started_q <= 1'b0;
      bank_full_q <= 1'b0;
      low_result_q <= 1'b0;
      high_result_q <= 1'b0;
      l1_valid_q <= 1'b0;
      l2_valid_q <= 1'b0;
      ls_valid_q <= 1'b0;
      h1_valid_q <= 1'b0;
      hs_valid_q <= 1'b0;
    end else begin
      // Job.
      if (job_fire) begin
        group_banks_q <= job_group_banks_i;
        low_groups_q <= job_groups_i;
        high_groups_q <= job_groups_i;
        out_groups_q <= job_groups_i;
        started_q <= 1'b0;
      end
      if (out_fire) out_groups_q <= out_groups_q - 1'b1;

      // Low path.
      if (low_fire_o) begin
        low_step_q <= low_bank_last_o ? '0 : low_step_q + 1'b1;
        if (low_bank_last_o) low_bank_q <= low_group_last ? '0 : low_bank_q + 1'b1;
        if (low_group_last) low_groups_q <= low_groups_q - 1'b1;
        if (low_bank_last_o) started_q <= 1'b1;
      end
      if (low_en_o) begin
        l1_valid_q <= low_fire_o;
        l2_valid_q <= l1_valid_q;
        ls_valid_q <= l2_valid_q;
      end
      if (low_en_o && ls_valid_q && ls_last_q) low_result_q <= 1'b1;
      else if (out_fire) low_result_q <= 1'b0;

      // Bank buffer: handed over by the low path, released by the high path.
      if (low_fire_o && low_bank_last_o) bank_full_q <= 1'b1;
      else if (high_fire_o && high_bank_last) bank_full_q <= 1'b0;

      // High path.
      if (high_fire_o) begin
        high_step_q <= high_bank_last ? '0 : high_step_q + 1'b1;
        if (high_bank_last) high_bank_q <= high_group_last ? '0 : high_bank_q + 1'b1;
        if (high_group_last) high_groups_q <= high_groups_q - 1'b1;
      end
      if (high_en_o) begin
        h1_valid_q <= high_fire_o;
        hs_valid_q <= h1_valid_q;
      end
      if (high_en_o && hs_valid_q && hs_last_q) high_result_q <= 1'b1;
      else if (out_fire) high_result_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (low_en_o) begin
      l1_first_q <= low_bank_q == '0 && low_step_q == '0;
      l1_last_q <= low_group_last;
      l2_first_q <= l1_first_q;
      l2_last_q <= l1_last_q;
      ls_first_q <= l2_first_q;
      ls_last_q <= l2_last_q;
    end
    if (high_en_o) begin
      h1_first_q <= high_bank_q == '0 && high_step_q == '0;
      h1_last_q <= high_group_last;
      hs_first_q <= h1_first_q;
      hs_last_q <= h1_last_q;
    end
  end

  // Causes, first that applies.
  always_comb begin
    if (!low_left) low_cause_o = sq_pkg::CAUSE_W'(sq_pkg::CAUSE_DRAINING);
    else if (!low_en_o) low_cause_o = sq_pkg::CAUSE_W'(sq_pkg::CAUSE_BLOCKED_OUTPUT);
    else if (low_blocked) low_cause_o = sq_pkg::CAUSE_W'(sq_pkg::CAUSE_WAIT_HIGH);
    else if (!act_valid_i) low_cause_o = sq_pkg::CAUSE_W'(sq_pkg::CAUSE_WAIT_ACT);
    else if (!lo_valid_i) low_cause_o = sq_pkg::CAUSE_W'(sq_pkg::CAUSE_WAIT_WEIGHT);
    else low_cause_o = sq_pkg::CAUSE_W'(sq_pkg::CAUSE_BUSY);

    if (!high_left) high_cause_o = sq_pkg::CAUSE_W'(sq_pkg::CAUSE_DRAINING);
    else if (!high_en_o) high_cause_o = sq_pkg::CAUSE_W'(sq_pkg::CAUSE_BLOCKED_OUTPUT);
    else if (!bank_full_q) high_cause_o = sq_pkg::CAUSE_W'(
        started_q ? sq_pkg::CAUSE_WAIT_MASK : sq_pkg::CAUSE_FILLING);
    else if (!hi_valid_i) high_cause_o = sq_pkg::CAUSE_W'(sq_pkg::CAUSE_WAIT_WEIGHT);
    else high_cause_o = sq_pkg::CAUSE_W'(sq_pkg::CAUSE_BUSY);
  end

endmodule
