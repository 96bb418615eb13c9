// SPDX-License-Identifier: Apache-2.0
// Dynamic activation SQ from INT8 codes (SPEC C.1, SEL_SRC = INT8): a bank of `Lines` tokens in,
// its two parts out, in place (SPEC A.6b): low codes with mask codes where the mask is, high codes
// compact in ascending position.
//
//   mask    TopK of the magnitudes
//   masked  the code as it is; its low code is the mask code
//   others  Qs(code * mul / 2^shift), mul / 2^shift = scale of the codes / scale of the low part
//
//   sq_topk -> ranks | select, move | hold     3 stages that move with those of sq_requant
// Latency is that of sq_topk and 3. The magnitude has HighW - 1 bits: the code -2^(HighW-1), which
// SPEC 0.3 does not have, ranks like -qmax, to which Qs would have clamped it.
module sq_act_quant #(
  parameter int unsigned Lines = 1,
  parameter int unsigned BankLen = 16,
  parameter int unsigned HighPerBank = 4,
  parameter int unsigned LowW = 4,
  parameter int unsigned HighW = 8,
  parameter int unsigned MulW = 16,
  parameter int unsigned ShiftW = 6,
  parameter int unsigned FlagW = 1,  // of what travels with the bank
  parameter int unsigned Topk = sq_pkg::TOPK_RANK,
  parameter int unsigned Gather = sq_pkg::GATHER_CROSSBAR
) (
  input  logic                               clk_i, rst_ni,
  // a bank of all lines
  input  logic                               in_valid_i,
  output logic                               in_ready_o,
  input  logic [FlagW-1:0]                   in_flags_i,
  input  logic [Lines*MulW-1:0]              in_mul_i,   // signed, > 0 for a ratio of scales
  input  logic [Lines*ShiftW-1:0]            in_shift_i,
  input  logic [Lines*BankLen*HighW-1:0]     in_code_i,  // line 0, element 0 in the low bits
  // its parts
  output logic                               out_valid_o,
  input  logic                               out_ready_i,
  output logic [FlagW-1:0]                   out_flags_o,
  output logic [Lines*BankLen*LowW-1:0]      out_low_o,
  output logic [Lines*HighPerBank*HighW-1:0] out_high_o
);

  if (Topk == sq_pkg::TOPK_TREE) begin : gen_bad_topk
    $error("Topk is TOPK_RANK or TOPK_RADIX");
  end

  localparam int unsigned MagW = HighW - 1;
  localparam int unsigned RankW = sq_pkg::index_w(HighPerBank);
  localparam int unsigned CountW = $clog2(BankLen + 1);
  localparam int unsigned CtlW = sq_pkg::gather_ctl_w(Gather, BankLen, HighPerBank);
  localparam int unsigned BankW = BankLen * HighW;
  localparam int unsigned HighBankW = HighPerBank * HighW;
  localparam int unsigned SideW = FlagW + Lines * (MulW + ShiftW + BankW);
  localparam logic [LowW-1:0] MaskCode = LowW'(1) << (LowW - 1);

  // ---- masks: units in lock step, the bank beside them ------------------------------------------
  logic [Lines-1:0] topk_ready, topk_valid;
  logic [Lines*BankLen-1:0] mask;
  logic [SideW-1:0] side, side_q;
  logic [FlagW-1:0] flags;
  logic [Lines*MulW-1:0] mul;
  logic [Lines*ShiftW-1:0] shift;
  logic [Lines*BankW-1:0] code;
  logic advance;  // the three stages behind the masks move

  assign in_ready_o = topk_ready[0];
  always_ff @(posedge clk_i) begin
    if (in_ready_o) side_q <= {in_flags_i, in_mul_i, in_shift_i, in_code_i};
  end
  if (Topk == sq_pkg::TOPK_RANK) begin : gen_two
    logic [SideW-1:0] side_q2;
    always_ff @(posedge clk_i) begin
      if (in_ready_o) side_q2 <= side_q;
    end
    assign side = side_q2;
  end else begin : gen_one
    assign side = side_q;
  end
  assign {flags, mul, shift, code} = side;

  // ---- low codes: all lanes, masked or not ------------------------------------------------------
  logic [Lines*BankLen*MulW-1:0] lane_mul;
  logic [Lines*BankLen*ShiftW-1:0] lane_shift;
  logic [Lines*BankLen*LowW-1:0] low;

  sq_requant #(
    .Lanes(Lines*BankLen), .OutW(LowW), .AccW(HighW), .MulW(MulW), .ShiftW(ShiftW)
  ) u_requant (
    .clk_i, .rst_ni,
    .in_valid_i(topk_valid[0]), .in_ready_o(advance),
    .in_acc_i(code), .in_mul_i(lane_mul), .in_shift_i(lane_shift),
    .out_valid_o, .out_ready_i, .out_code_o(low)
  );

  logic [FlagW-1:0] flags_q, flags_q2, flags_q3;
  always_ff @(posedge clk_i) begin
    if (advance) begin
      flags_q <= flags;
      flags_q2 <= flags_q;
      flags_q3 <= flags_q2;
    end
  end
  assign out_flags_o = flags_q3;

  for (genvar l = 0; l < Lines; l++) begin : gen_line
    logic [BankLen*MagW-1:0] mag;
    for (genvar i = 0; i < BankLen; i++) begin : gen_lane
      logic [HighW-1:0] value;
      assign value = in_code_i[(l*BankLen+i)*HighW +: HighW];
      assign mag[i*MagW +: MagW] = !value[HighW-1] ? value[MagW-1:0] :
          value[MagW-1:0] == '0 ? '1 : -value[MagW-1:0];
      assign lane_mul[(l*BankLen+i)*MulW +: MulW] = mul[l*MulW +: MulW];
      assign lane_shift[(l*BankLen+i)*ShiftW +: ShiftW] = shift[l*ShiftW +: ShiftW];
    end
    sq_topk #(.BankLen(BankLen), .HighPerBank(HighPerBank), .MagW(MagW), .Topk(Topk)) u_topk (
      .clk_i, .rst_ni, .in_valid_i, .in_ready_o(topk_ready[l]), .in_mag_i(mag),
      .out_valid_o(topk_valid[l]), .out_ready_i(advance),
      .out_mask_o(mask[l*BankLen +: BankLen])
    );

    // ---- high codes -----------------------------------------------------------------------------
    logic [BankLen-1:0] unused_clean, slot, slot_q, slot_q2, slot_q3;  // a mask has k ones
    logic [BankLen*RankW-1:0] rank, rank_q;
    logic [CountW-1:0] unused_count;
    logic [CtlW-1:0] ctl;
    logic [BankW-1:0] code_q;
    logic [HighBankW-1:0] high, high_q2, high_q3;

    sq_gather_rank #(
      .Lanes(BankLen), .LowW(1), .BankLen(BankLen), .HighPerBank(HighPerBank)
    ) u_rank (
      .code_i(mask[l*BankLen +: BankLen]), .lane_i({BankLen{1'b1}}), .count_i({CountW{1'b0}}),
      .clean_o(unused_clean), .slot_o(slot), .rank_o(rank), .count_o(unused_count)
    );
    sq_gather_sel #(
      .BankLen(BankLen), .HighPerBank(HighPerBank), .Lanes(HighPerBank), .Gather(Gather)
    ) u_sel (
      .slot_i(slot_q), .rank_i(rank_q), .base_i({RankW{1'b0}}), .ctl_o(ctl)
    );
    sq_gather_mux #(
      .BankLen(BankLen), .Lanes(HighPerBank), .ActW(HighW), .Gather(Gather), .Window(1'b1)
    ) u_mux (
      .ctl_i(ctl), .act_i(code_q), .act_o(high)
    );

    always_ff @(posedge clk_i) begin
      if (advance) begin
        slot_q <= slot;
        rank_q <= rank;
        code_q <= code[l*BankW +: BankW];
        slot_q2 <= slot_q;
        high_q2 <= high;
        slot_q3 <= slot_q2;
        high_q3 <= high_q2;
      end
    end
    assign out_high_o[l*HighBankW +: HighBankW] = high_q3;
    for (genvar i = 0; i < BankLen; i++) begin : gen_low
      assign out_low_o[(l*BankLen+i)*LowW +: LowW] =
          slot_q3[i] ? MaskCode : low[(l*BankLen+i)*LowW +: LowW];
    end
  end

  wire unused_lock_step = ^{topk_ready, topk_valid};

endmodule
