// SPDX-License-Identifier: Apache-2.0
// sq_core_ctl for all jobs of up to 3 groups of up to 3 banks, one after the other for ever, under
// all stalls: no deadlock, and every beat is used exactly once, in its own group.
module sq_core_ctl_check #(
  parameter int unsigned LowSteps = 2,
  parameter int unsigned HighSteps = 2,
  parameter int unsigned Wait = 8
) (
  input logic       clk_i, job_valid_i,
  input logic [1:0] group_banks_i, groups_i,
  input logic       act_valid_i, lo_valid_i, hi_valid_i, out_ready_i
);
  logic rst_n;
  initial rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  localparam int unsigned StepW = $clog2(LowSteps + HighSteps + 1);
  logic job_valid, job_ready, job_fire, act_ready, lo_ready, hi_ready, out_valid, out_fire;
  logic low_en, low_fire, low_bank_last, low_acc, low_first, low_last;
  logic high_en, high_fire, high_acc, high_first, active;
  logic [sq_pkg::index_w(LowSteps)-1:0] low_step;
  logic [sq_pkg::index_w(HighSteps)-1:0] high_step;
  logic [sq_pkg::CAUSE_W-1:0] low_cause, high_cause;

  assign job_valid = job_valid_i && group_banks_i != 2'd0 && groups_i != 2'd0;
  sq_core_ctl #(.LowSteps(LowSteps), .HighSteps(HighSteps)) dut (
    .clk_i, .rst_ni(rst_n), .job_valid_i(job_valid), .job_ready_o(job_ready),
    .job_group_banks_i(sq_pkg::GROUP_BANKS_W'(group_banks_i)),
    .job_groups_i(sq_pkg::GROUPS_W'(groups_i)),
    .act_valid_i, .act_ready_o(act_ready), .lo_valid_i, .lo_ready_o(lo_ready),
    .hi_valid_i, .hi_ready_o(hi_ready), .out_valid_o(out_valid), .out_ready_i,
    .low_en_o(low_en), .low_fire_o(low_fire), .low_step_o(low_step),
    .low_bank_last_o(low_bank_last), .low_acc_o(low_acc), .low_first_o(low_first),
    .low_last_o(low_last), .high_en_o(high_en), .high_fire_o(high_fire), .high_step_o(high_step),
    .high_acc_o(high_acc), .high_first_o(high_first), .active_o(active),
    .low_cause_o(low_cause), .high_cause_o(high_cause)
  );
  assign job_fire = job_valid && job_ready;
  assign out_fire = out_valid && out_ready_i;

  // The job as its sender knows it, and how far each part is: accepted steps, accumulated steps.
  logic [1:0] banks_q, tiles_q;  // banks of a group; tiles still to come
  logic [1:0] low_bank_q, high_bank_q, low_group_q, high_group_q;
  logic [StepW-1:0] low_step_q, high_step_q;
  logic low_bank_end, high_bank_end;
  logic [1:0] sum_low_bank_q, sum_high_bank_q;
  logic [StepW-1:0] sum_low_step_q, sum_high_step_q;
  logic low_sum, high_sum, sum_low_end, sum_high_end;
  logic [1:0] low_totals_q, high_totals_q;  // complete, not yet in a tile that was taken
  logic [1:0] handed_q;                     // banks that the high path holds
  logic [3:0] stuck_q;

  assign low_bank_end = low_fire && low_step_q == StepW'(LowSteps - 1);
  assign high_bank_end = high_fire && high_step_q == StepW'(HighSteps - 1);
  assign low_sum = low_acc && low_en;
  assign high_sum = high_acc && high_en;
  assign sum_low_end = sum_low_step_q == StepW'(LowSteps - 1) && sum_low_bank_q == banks_q - 2'd1;
  assign sum_high_end = sum_high_step_q == StepW'(HighSteps - 1) && sum_high_bank_q == banks_q - 2'd1;

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      tiles_q <= '0;
      low_group_q <= '0;
      high_group_q <= '0;
      low_bank_q <= '0;
      high_bank_q <= '0;
      low_step_q <= '0;
      high_step_q <= '0;
      sum_low_bank_q <= '0;
      sum_high_bank_q <= '0;
      sum_low_step_q <= '0;
      sum_high_step_q <= '0;
      low_totals_q <= '0;
      high_totals_q <= '0;
      handed_q <= '0;
      stuck_q <= '0;
    end else begin
      if (job_fire) begin
        banks_q <= group_banks_i;
        tiles_q <= groups_i;
        low_group_q <= groups_i;
        high_group_q <= groups_i;
      end
      if (out_fire) tiles_q <= tiles_q - 2'd1;
      if (low_fire) begin
        low_step_q <= low_bank_end ? '0 : low_step_q + 1'b1;
        if (low_bank_end) begin
          low_bank_q <= low_bank_q == banks_q - 2'd1 ? '0 : low_bank_q + 2'd1;
          if (low_bank_q == banks_q - 2'd1) low_group_q <= low_group_q - 2'd1;
        end
      end
      if (high_fire) begin
        high_step_q <= high_bank_end ? '0 : high_step_q + 1'b1;
        if (high_bank_end) begin
          high_bank_q <= high_bank_q == banks_q - 2'd1 ? '0 : high_bank_q + 2'd1;
          if (high_bank_q == banks_q - 2'd1) high_group_q <= high_group_q - 2'd1;
        end
      end
      handed_q <= handed_q + 2'(low_bank_end) - 2'(high_bank_end);
      if (low_sum) begin
        sum_low_step_q <= sum_low_step_q == StepW'(LowSteps - 1) ? '0 : sum_low_step_q + 1'b1;
        if (sum_low_step_q == StepW'(LowSteps - 1))
          sum_low_bank_q <= sum_low_end ? '0 : sum_low_bank_q + 2'd1;
      end
      if (high_sum) begin
        sum_high_step_q <= sum_high_step_q == StepW'(HighSteps - 1) ? '0 : sum_high_step_q + 1'b1;
        if (sum_high_step_q == StepW'(HighSteps - 1))
          sum_high_bank_q <= sum_high_end ? '0 : sum_high_bank_q + 2'd1;
      end
      low_totals_q <= low_totals_q + 2'(low_sum && sum_low_end) - 2'(out_fire);
      high_totals_q <= high_totals_q + 2'(high_sum && sum_high_end) - 2'(out_fire);
      if (low_fire || high_fire || out_fire || tiles_q == '0) stuck_q <= '0;
      else if (act_valid_i && lo_valid_i && hi_valid_i && out_ready_i && stuck_q != 4'(Wait))
        stuck_q <= stuck_q + 1'b1;
    end
  end

  always_comb begin
    if (rst_n) begin
      // With all streams offered and the sink ready, a job always goes on.
      Live : assert (stuck_q != 4'(Wait));
      // A job takes and gives exactly its beats, then the next one may come.
      BeatsOfJob : assert (!(low_fire && low_group_q == '0) && !(high_fire && high_group_q == '0) &&
          !(out_valid && tiles_q == '0) && job_ready == (tiles_q == '0) &&
          active == (tiles_q != '0) && (tiles_q != '0 || low_group_q == '0 && high_group_q == '0));
      // Both operands of a step go together, and only a step that is offered goes.
      BeatsTogether : assert (low_fire == (act_valid_i && act_ready) &&
          low_fire == (lo_valid_i && lo_ready) && high_fire == (hi_valid_i && hi_ready));
      // Steps are numbered as they were accepted.
      StepNumber : assert ((!low_fire || StepW'(low_step) == low_step_q &&
          low_bank_last == low_bank_end) && (!high_fire || StepW'(high_step) == high_step_q));
      // A bank is gathered from after it is complete and before the next one takes its place.
      BankHandedOver : assert (handed_q <= 2'd1 && !(high_fire && handed_q == '0));
      // A sum starts with its group, takes its steps and no other, and ends.
      LowSum : assert (!low_sum ||
          low_first == (sum_low_step_q == '0 && sum_low_bank_q == '0) && low_last == sum_low_end);
      HighSum : assert (!high_sum ||
          high_first == (sum_high_step_q == '0 && sum_high_bank_q == '0));
      // A total waits until its tile is taken, and nothing is written over it: the next low total
      // comes after, and the next high sum, whose register it is, starts after.
      LowTotalKept : assert (!(low_sum && sum_low_end && low_totals_q != '0 && !out_fire));
      HighTotalKept : assert (!(high_sum && high_totals_q != '0 && !out_fire));
      // A tile is offered exactly when both totals are there.
      TileComplete : assert (out_valid == (low_totals_q != '0 && high_totals_q != '0));
    end
  end
endmodule
