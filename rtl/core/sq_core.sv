// SPDX-License-Identifier: Apache-2.0
// Core for SQ weights: Rows x Cols PEs, output-stationary. Row r holds token r, column c output
// channel c; activations are broadcast along rows, codes along columns.
//
//   act  [Rows][LowLanes] activations, one step of a bank per beat
//   lo   [Cols][LowLanes] low codes of the same step, mask codes included
//   hi   [Cols][HighLanes] high codes, ceil(k/H) beats per bank; lanes beyond k are ignored
//   out  [Rows][Cols] totals P_lo and P_hi of one scale group (SPEC A.7), one tile per beat
// Lane 0, row 0 and column 0 sit in the low bits. In the last step of a bank that is no multiple of
// LowLanes the surplus lanes are ignored. Per bank the low path takes ceil(b/L) cycles and the high
// path ceil(k/H), one bank apart; with free streams a group takes the larger of both, times its
// banks.
//
// IsFp = 1: the low codes are E2M1, whose -0 is the mask code, the high ones and the activations E4M3
// (SPEC A.9). sq_block_line makes elements of them where they come in, and totals are fixed-point
// numbers, P_lo in units of 2^-10, P_hi of 2^-18. Nothing else, and no cycle, differs.
//
// Double buffer: the steps of a bank collect in `fill`; its last step moves the whole bank to
// `bank`, where the high path gathers from it. Ranks are counted while the steps arrive, so the
// select logic (one per column, shared by the rows) starts from finished ranks.
`include "sq_assert.svh"

module sq_core #(
  parameter  int unsigned Rows = 2,
  parameter  int unsigned Cols = 2,
  parameter  int unsigned LowLanes = 16,
  parameter  int unsigned HighLanes = 4,
  parameter  int unsigned BankLen = 32,
  parameter  int unsigned HighPerBank = 8,
  parameter  int unsigned ActW = 8,
  parameter  int unsigned LowW = 4,
  parameter  int unsigned HighW = 8,
  parameter  int unsigned AccW = 32,
  parameter  int unsigned Gather = sq_pkg::GATHER_CROSSBAR,
  parameter  bit          Counters = 1'b1,  // cause counters; 0 for area
  parameter  int unsigned CountStart = 0,   // where they start: other than 0 in tests of their carries
  parameter  bit          CheckAct = 1'b0,   // out_code_error_o is of the activations
  parameter  bit          CheckHigh = 1'b0,  // ... of the high codes
  parameter  int unsigned IsFp = 0,  // ActW = HighW = 8, LowW = 4
  localparam int unsigned CountsW = sq_pkg::N_CAUSES * sq_pkg::COUNT_W
) (
  input  logic                             clk_i, rst_ni,
  // job: `groups` scale groups of `group_banks` banks, both >= 1
  input  logic                             job_valid_i,
  output logic                             job_ready_o,
  input  logic [sq_pkg::GROUP_BANKS_W-1:0] job_group_banks_i,
  input  logic [sq_pkg::GROUPS_W-1:0]      job_groups_i,
  // activations
  input  logic                             act_valid_i,
  output logic                             act_ready_o,
  input  logic [Rows*LowLanes*ActW-1:0]    act_data_i,
  // low codes
  input  logic                             lo_valid_i,
  output logic                             lo_ready_o,
  input  logic [Cols*LowLanes*LowW-1:0]    lo_data_i,
  // high codes
  input  logic                             hi_valid_i,
  output logic                             hi_ready_o,
  input  logic [Cols*HighLanes*HighW-1:0]  hi_data_i,
  // accumulator tiles
  output logic                             out_valid_o,
  input  logic                             out_ready_i,
  output logic [Rows*Cols*AccW-1:0]        out_p_lo_o, out_p_hi_o,
  output logic                             out_error_o,  // a bank of the group without exactly k mask codes
  output logic                             out_code_error_o,  // a code of no value among those that are checked
  // status
  output logic [Cols-1:0]                  mask_error_o,  // sticky: a bank without exactly k mask codes
  output logic [CountsW-1:0]               low_counts_o,  // cycles of the job per cause
  output logic [CountsW-1:0]               high_counts_o
);

  if (Rows < 1 || Cols < 1 || LowLanes < 1 || HighLanes < 1) begin : gen_bad_size
    $error("Rows, Cols, LowLanes, HighLanes >= 1");
  end
  if (HighPerBank < 1 || HighPerBank >= BankLen || HighLanes > BankLen) begin : gen_bad_bank
    $error("1 <= HighPerBank < BankLen, HighLanes <= BankLen");
  end
  if (IsFp != 0 && (ActW != 8 || LowW != 4 || HighW != 8)) begin : gen_bad_fp
    $error("codes of floating point have ActW = 8, LowW = 4, HighW = 8");
  end

  localparam int unsigned LowSteps = sq_pkg::ceil_div(BankLen, LowLanes);
  localparam int unsigned HighSteps = sq_pkg::ceil_div(HighPerBank, HighLanes);
  localparam int unsigned LowStepW = sq_pkg::index_w(LowSteps);
  localparam int unsigned HighStepW = sq_pkg::index_w(HighSteps);
  localparam int unsigned RankW = sq_pkg::index_w(HighPerBank);
  localparam int unsigned CountW = $clog2(BankLen + 1);
  localparam int unsigned CtlW = sq_pkg::gather_ctl_w(Gather, BankLen, HighLanes);

  // Streams behind their pipe registers.
  logic act_valid, act_ready, lo_valid, lo_ready, hi_valid, hi_ready;
  logic [Rows*LowLanes*ActW-1:0] act;
  logic [Cols*LowLanes*LowW-1:0] lo;
  logic [Cols*HighLanes*HighW-1:0] hi;

  sq_pipe_reg #(.Width(Rows*LowLanes*ActW)) u_act_reg (
    .clk_i, .rst_ni,
    .in_valid_i(act_valid_i), .in_ready_o(act_ready_o), .in_data_i(act_data_i),
    .out_valid_o(act_valid), .out_ready_i(act_ready), .out_data_o(act)
  );
  sq_pipe_reg #(.Width(Cols*LowLanes*LowW)) u_lo_reg (
    .clk_i, .rst_ni,
    .in_valid_i(lo_valid_i), .in_ready_o(lo_ready_o), .in_data_i(lo_data_i),
    .out_valid_o(lo_valid), .out_ready_i(lo_ready), .out_data_o(lo)
  );
  sq_pipe_reg #(.Width(Cols*HighLanes*HighW)) u_hi_reg (
    .clk_i, .rst_ni,
    .in_valid_i(hi_valid_i), .in_ready_o(hi_ready_o), .in_data_i(hi_data_i),
    .out_valid_o(hi_valid), .out_ready_i(hi_ready), .out_data_o(hi)
  );

  // Control.
  logic low_en, low_fire, low_bank_last, low_acc, low_first, low_last;
  logic high_en, high_fire, high_acc, high_first;
  logic [LowStepW-1:0] low_step;
  logic [HighStepW-1:0] high_step;
  logic active;
  logic [sq_pkg::CAUSE_W-1:0] low_cause, high_cause;

  sq_core_ctl #(.LowSteps(LowSteps), .HighSteps(HighSteps)) u_ctl (
    .clk_i, .rst_ni,
    .job_valid_i, .job_ready_o, .job_group_banks_i, .job_groups_i,
    .act_valid_i(act_valid), .act_ready_o(act_ready),
    .lo_valid_i(lo_valid), .lo_ready_o(lo_ready),
    .hi_valid_i(hi_valid), .hi_ready_o(hi_ready),
    .out_valid_o, .out_ready_i,
    .low_en_o(low_en), .low_fire_o(low_fire), .low_step_o(low_step),
    .low_bank_last_o(low_bank_last),
    .low_acc_o(low_acc), .low_first_o(low_first), .low_last_o(low_last),
    .high_en_o(high_en), .high_fire_o(high_fire), .high_step_o(high_step),
    .high_acc_o(high_acc), .high_first_o(high_first),
    .active_o(active), .low_cause_o(low_cause), .high_cause_o(high_cause)
  );

  // Slot of lane 0 in this high step, and the lanes that hold an element in this low step.
  logic [RankW-1:0] slot_base;
  logic [LowLanes-1:0] lane_used;
  assign slot_base = RankW'(32'(high_step) * HighLanes);
  for (genvar i = 0; i < LowLanes; i++) begin : gen_used
    // Only the last step can be short.
    localparam bit InLast = (LowSteps - 1) * LowLanes + i < BankLen;
    assign lane_used[i] = InLast || !low_bank_last;
  end

  // ---- what is multiplied -----------------------------------------------------------------------
  // A code of no value (SPEC 0.3): the lowest integer; NaN and -0 of E4M3, as zeros.
  localparam int unsigned ActElementW = IsFp != 0 ? sq_pkg::element_w(sq_pkg::ELEMENT_E4M3) : ActW;
  localparam int unsigned LowElementW = IsFp != 0 ? sq_pkg::element_w(sq_pkg::ELEMENT_E2M1) : LowW;
  localparam int unsigned HighElementW = IsFp != 0 ? sq_pkg::element_w(sq_pkg::ELEMENT_E4M3) : HighW;
  logic [Rows*LowLanes*ActElementW-1:0] act_element;
  logic [Cols*HighLanes*HighElementW-1:0] hi_element;
  logic act_bad, hi_bad;  // one among the codes of a step

  if (IsFp != 0) begin : gen_fp
    logic [Cols*HighLanes-1:0] hi_surplus;
    for (genvar i = 0; i < Cols * HighLanes; i++) begin : gen_surplus
      assign hi_surplus[i] = 32'(high_step) * HighLanes + i % HighLanes >= HighPerBank;
    end
    sq_block_line #(
      .BankLen(Rows * LowLanes), .Element(sq_pkg::ELEMENT_E4M3), .Scale(sq_pkg::SCALE_NONE),
      .HasMinusZero(1'b0)
    ) u_act_line (
      .code_i(act), .skip_i(~{Rows{lane_used}}), .scale_i(8'd0),
      .place_i({sq_pkg::index_w(Rows * LowLanes){1'b0}}), .sub_i(1'b0), .element_o(act_element),
      .sig_o(), .exp_o(), .error_o(), .code_error_o(act_bad), .place_error_o()
    );
    sq_block_line #(
      .BankLen(Cols * HighLanes), .Element(sq_pkg::ELEMENT_E4M3), .Scale(sq_pkg::SCALE_NONE),
      .HasMinusZero(1'b0)
    ) u_hi_line (
      .code_i(hi), .skip_i(hi_surplus), .scale_i(8'd0),
      .place_i({sq_pkg::index_w(Cols * HighLanes){1'b0}}), .sub_i(1'b0), .element_o(hi_element),
      .sig_o(), .exp_o(), .error_o(), .code_error_o(hi_bad), .place_error_o()
    );
  end else begin : gen_integer
    logic [Rows*LowLanes-1:0] bad;
    logic [Cols*HighLanes-1:0] high_bad;
    for (genvar i = 0; i < Rows * LowLanes; i++) begin : gen_act
      assign bad[i] = lane_used[i%LowLanes] && act[i*ActW +: ActW] == ActW'(1 << (ActW - 1));
    end
    for (genvar i = 0; i < Cols * HighLanes; i++) begin : gen_high
      assign high_bad[i] = 32'(high_step) * HighLanes + i % HighLanes < HighPerBank &&
                           hi[i*HighW +: HighW] == HighW'(1 << (HighW - 1));
    end
    assign act_element = act;
    assign hi_element = hi;
    assign act_bad = |bad;
    assign hi_bad = |high_bad;
  end

  // ---- rows: activations ------------------------------------------------------------------------
  localparam int unsigned ActStepW = LowLanes * ActElementW;
  localparam int unsigned ActBankW = BankLen * ActElementW;
  logic [Rows*ActStepW-1:0] act_l1_q, act_l2_q;  // low operands
  logic [Rows*ActBankW-1:0] bank_act;  // the bank the high path works on

  for (genvar r = 0; r < Rows; r++) begin : gen_row
    sq_bank_buf #(.Lanes(LowLanes), .BankLen(BankLen), .Width(ActElementW)) u_buf (
      .clk_i, .step_valid_i(low_fire), .step_i(low_step), .step_last_i(low_bank_last),
      .data_i(act_element[r*ActStepW +: ActStepW]), .bank_o(bank_act[r*ActBankW +: ActBankW])
    );

    always_ff @(posedge clk_i) begin
      if (low_en) begin
        act_l1_q[r*ActStepW +: ActStepW] <= act_element[r*ActStepW +: ActStepW];
        act_l2_q[r*ActStepW +: ActStepW] <= act_l1_q[r*ActStepW +: ActStepW];
      end
    end
  end

  // ---- columns: codes and select controls -------------------------------------------------------
  localparam int unsigned LowStepCodeW = LowLanes * LowElementW;
  localparam int unsigned HighStepCodeW = HighLanes * HighElementW;
  logic [Cols*LowStepCodeW-1:0] code_l1_q, code_l2_q;  // cleaned low codes
  logic [Cols*HighStepCodeW-1:0] high_code_q;
  logic [Cols*CtlW-1:0] gather_ctl;

  logic [Cols-1:0] bank_error;  // of the step that is accepted, if it ends a bank

  for (genvar c = 0; c < Cols; c++) begin : gen_col
    logic [LowLanes*LowW-1:0] clean;
    logic [LowStepCodeW-1:0] low_element;
    logic [LowLanes-1:0] slot;
    logic [LowLanes*RankW-1:0] rank;
    logic [LowLanes*(RankW+1)-1:0] tag;  // per lane: owns a slot, which
    logic [BankLen*(RankW+1)-1:0] bank_tag;
    logic [BankLen-1:0] bank_slot;
    logic [BankLen*RankW-1:0] bank_rank;
    logic [CountW-1:0] count, count_q;
    logic mask_error_q;

    sq_gather_rank #(
      .Lanes(LowLanes), .LowW(LowW), .BankLen(BankLen), .HighPerBank(HighPerBank)
    ) u_rank (
      .code_i(lo[c*LowLanes*LowW +: LowLanes*LowW]), .lane_i(lane_used), .count_i(count_q),
      .clean_o(clean), .slot_o(slot), .rank_o(rank), .count_o(count)
    );

    if (IsFp != 0) begin : gen_low_fp
      sq_block_line #(
        .BankLen(LowLanes), .Element(sq_pkg::ELEMENT_E2M1), .Scale(sq_pkg::SCALE_NONE)
      ) u_line (
        .code_i(clean), .skip_i({LowLanes{1'b0}}), .scale_i(8'd0),
        .place_i({sq_pkg::index_w(LowLanes){1'b0}}), .sub_i(1'b0), .element_o(low_element),
        .sig_o(), .exp_o(), .error_o(), .code_error_o(), .place_error_o()
      );
    end else begin : gen_low_integer
      assign low_element = clean;
    end
    for (genvar i = 0; i < LowLanes; i++) begin : gen_tag
      assign tag[i*(RankW+1) +: RankW+1] = {slot[i], rank[i*RankW +: RankW]};
    end
    sq_bank_buf #(.Lanes(LowLanes), .BankLen(BankLen), .Width(RankW + 1)) u_buf (
      .clk_i, .step_valid_i(low_fire), .step_i(low_step), .step_last_i(low_bank_last),
      .data_i(tag), .bank_o(bank_tag)
    );
    for (genvar i = 0; i < BankLen; i++) begin : gen_untag
      assign {bank_slot[i], bank_rank[i*RankW +: RankW]} = bank_tag[i*(RankW+1) +: RankW+1];
    end

    sq_gather_sel #(
      .BankLen(BankLen), .HighPerBank(HighPerBank), .Lanes(HighLanes), .Gather(Gather)
    ) u_sel (
      .slot_i(bank_slot), .rank_i(bank_rank), .base_i(slot_base),
      .ctl_o(gather_ctl[c*CtlW +: CtlW])
    );

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        count_q <= '0;
        mask_error_q <= 1'b0;
      end else if (low_fire) begin
        count_q <= low_bank_last ? '0 : count;
        if (bank_error[c]) mask_error_q <= 1'b1;
      end
    end
    assign bank_error[c] = low_bank_last && count != CountW'(HighPerBank);
    assign mask_error_o[c] = mask_error_q;

    always_ff @(posedge clk_i) begin
      if (low_en) begin
        code_l1_q[c*LowStepCodeW +: LowStepCodeW] <= low_element;
        code_l2_q[c*LowStepCodeW +: LowStepCodeW] <= code_l1_q[c*LowStepCodeW +: LowStepCodeW];
      end
      if (high_en) begin
        high_code_q[c*HighStepCodeW +: HighStepCodeW] <=
            hi_element[c*HighStepCodeW +: HighStepCodeW];
      end
    end
  end

  // Malformed banks of a group go beside its low products, to its total.
  logic error_l1_q, error_l2_q, error_ls_q, group_error_q, group_error;
  assign group_error = error_ls_q || (group_error_q && !low_first);
  always_ff @(posedge clk_i) begin
    if (low_en) begin
      error_l1_q <= |bank_error;
      error_l2_q <= error_l1_q;
      error_ls_q <= error_l2_q;
      if (low_acc) group_error_q <= group_error;
      if (low_acc && low_last) out_error_o <= group_error;
    end
  end

  // ... and so do codes that no encoder writes (SPEC 0.3), those of both paths to their own totals.
  logic act_error, high_error;
  assign out_code_error_o = act_error || high_error;
  if (CheckAct) begin : gen_check_act
    logic bad_l1_q, bad_l2_q, bad_ls_q, group_q, group, result_q;
    assign group = bad_ls_q || (group_q && !low_first);
    always_ff @(posedge clk_i) begin
      if (low_en) begin
        bad_l1_q <= act_bad;
        bad_l2_q <= bad_l1_q;
        bad_ls_q <= bad_l2_q;
        if (low_acc) group_q <= group;
        if (low_acc && low_last) result_q <= group;
      end
    end
    assign act_error = result_q;
  end else begin : gen_any_act
    wire unused_act_bad = act_bad;
    assign act_error = 1'b0;
  end
  if (CheckHigh) begin : gen_check_high
    logic bad_h1_q, bad_hs_q, group_q;
    always_ff @(posedge clk_i) begin
      if (high_en) begin
        bad_h1_q <= hi_bad;
        bad_hs_q <= bad_h1_q;
        if (high_acc) group_q <= bad_hs_q || (group_q && !high_first);
      end
    end
    assign high_error = group_q;
  end else begin : gen_any_high
    wire unused_hi_bad = hi_bad;
    assign high_error = 1'b0;
  end

  // ---- PEs --------------------------------------------------------------------------------------
  for (genvar r = 0; r < Rows; r++) begin : gen_pe_row
    for (genvar c = 0; c < Cols; c++) begin : gen_pe
      sq_pe #(
        .LowLanes(LowLanes), .HighLanes(HighLanes), .BankLen(BankLen),
        .ActW(ActElementW), .LowW(LowElementW), .HighW(HighElementW), .AccW(AccW),
        .Gather(Gather), .IsFp(IsFp)
      ) u_pe (
        .clk_i,
        .low_en_i(low_en),
        .low_act_i(act_l2_q[r*ActStepW +: ActStepW]),
        .low_code_i(code_l2_q[c*LowStepCodeW +: LowStepCodeW]),
        .low_acc_i(low_acc), .low_first_i(low_first), .low_last_i(low_last),
        .high_en_i(high_en),
        .gather_ctl_i(gather_ctl[c*CtlW +: CtlW]),
        .bank_act_i(bank_act[r*ActBankW +: ActBankW]),
        .high_code_i(high_code_q[c*HighStepCodeW +: HighStepCodeW]),
        .high_acc_i(high_acc), .high_first_i(high_first),
        .p_lo_o(out_p_lo_o[(r*Cols+c)*AccW +: AccW]),
        .p_hi_o(out_p_hi_o[(r*Cols+c)*AccW +: AccW])
      );
    end
  end

  // ---- counters ---------------------------------------------------------------------------------
  if (Counters) begin : gen_counters
    logic clear;
    assign clear = job_valid_i && job_ready_o;
    sq_cause_count #(.Start(CountStart)) u_low (
      .clk_i, .rst_ni, .clear_i(clear), .active_i(active), .cause_i(low_cause),
      .counts_o(low_counts_o)
    );
    sq_cause_count #(.Start(CountStart)) u_high (
      .clk_i, .rst_ni, .clear_i(clear), .active_i(active), .cause_i(high_cause),
      .counts_o(high_counts_o)
    );
  end else begin : gen_no_counters
    wire unused_causes = ^{active, low_cause, high_cause};
    assign low_counts_o = '0;
    assign high_counts_o = '0;
  end

  // high_fire only matters to the control and its counters.
  wire unused_high_fire = high_fire;

  `SQ_ASSERT_BEGIN
  `SQ_HELD(TileHeldOnStall, out_valid_o, out_ready_i, {out_p_lo_o, out_p_hi_o, out_error_o, out_code_error_o})

endmodule
