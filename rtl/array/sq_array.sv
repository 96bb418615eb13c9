// SPDX-License-Identifier: Apache-2.0
// Rows x Cols PEs that take Banks banks of both operands per cycle, in every format: the array in
// which formats are compared at equal throughput. Output-stationary; a group of beats ends with
// in_last_i and gives one tile. Rows hold tokens, columns output channels.
//
// One operand is coded (Layout), the other plain, PlainW bits an element. OnActs = 0: weights are
// coded, a line per column, and activations plain, a line per row. OnActs = 1: the other way round.
//
//   dense     [BankLen] low codes
//   sentinel  [BankLen] low codes with mask codes, [HighPerBank] high codes          SPEC A.6
//   split     [BankLen] lower nibbles, mask bits, [HighPerBank] upper nibbles        SPEC A.11
//   compact   [BankLen - HighPerBank] low codes, mask bits, [HighPerBank] high codes  SPEC A.6b
//   sp24      [BankLen / 2] values in `low`, [BankLen / 4] nibbles in `mask`          SPEC E.2
//
// OneAcc: one accumulator. split: low + 2^LowW * high; sentinel and compact: the tied scales of
// SPEC A.3, 2^(HighW-LowW) * low + high. Otherwise P_lo and P_hi apart.
//
// Pipeline: operand registers (1 stage, 2 for mixed formats) -> sum -> accumulator -> output. All
// stages move together; they stop only when a finished group meets a tile that was not taken.
`include "sq_assert.svh"

module sq_array #(
  parameter  int unsigned Rows = 2,
  parameter  int unsigned Cols = 2,
  parameter  int unsigned Banks = 1,
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighPerBank = 4,
  parameter  int unsigned HighLen = HighPerBank,  // BankLen: uncompacted, see sq_array_code
  parameter  int unsigned Layout = sq_pkg::LAYOUT_SPLIT,
  parameter  int unsigned OnActs = 1,  // 0 or 1
  parameter  int unsigned OneAcc = 1,  // 0 or 1
  parameter  int unsigned PlainW = 4,
  parameter  int unsigned LowW = 4,
  parameter  int unsigned HighW = 4,
  parameter  int unsigned AccW = 32,
  parameter  int unsigned Gather = sq_pkg::GATHER_CROSSBAR,
  localparam int unsigned CodedLines = (OnActs != 0) ? Rows : Cols,
  localparam int unsigned PlainLines = (OnActs != 0) ? Cols : Rows,
  localparam int unsigned LowLanes = sq_pkg::low_lanes(Layout, BankLen, HighPerBank),
  localparam int unsigned MaskW = sq_pkg::mask_w(Layout, BankLen)
) (
  input  logic                                clk_i, rst_ni,
  // Banks banks of all lines
  input  logic                                in_valid_i,
  output logic                                in_ready_o,
  input  logic                                in_last_i,   // the last of its group
  input  logic [PlainLines*Banks*BankLen*PlainW-1:0] in_plain_i,
  input  logic [CodedLines*Banks*LowLanes*LowW-1:0] in_low_i,
  input  logic [CodedLines*Banks*HighLen*HighW-1:0] in_high_i,
  input  logic [CodedLines*Banks*MaskW-1:0]   in_mask_i,
  // tiles
  output logic                                out_valid_o,
  input  logic                                out_ready_i,
  output logic [Rows*Cols*AccW-1:0]           out_p_lo_o, out_p_hi_o,
  output logic                                out_error_o  // a bank of the group was malformed
);

  if (BankLen < 2 || (Layout == sq_pkg::LAYOUT_SP24 && BankLen % 4 != 0)) begin : gen_bad_bank
    $error("BankLen >= 2, for 2:4 a multiple of 4");
  end
  if (HighPerBank < 1 || HighPerBank >= BankLen) begin : gen_bad_high
    $error("1 <= HighPerBank < BankLen");
  end
  if (HighLen != HighPerBank && HighLen != BankLen) begin : gen_bad_len
    $error("HighLen is HighPerBank or BankLen");
  end

  localparam int unsigned Stages = sq_pkg::operand_stages(Layout);
  localparam bit IsMixed = Stages == 2;
  localparam bit LowGather = Layout == sq_pkg::LAYOUT_COMPACT;
  localparam bit IsSplit = Layout == sq_pkg::LAYOUT_SPLIT;
  localparam int unsigned HighCtlW = IsMixed ?
      sq_pkg::gather_ctl_w(Gather, BankLen, HighPerBank) : 2 * BankLen;
  localparam int unsigned LowCtlW = LowGather ?
      sq_pkg::gather_ctl_w(Gather, BankLen, LowLanes) : 1;

  // ---- control ----------------------------------------------------------------------------------
  // Flags of the beat in each operand stage and, last, of the sum.
  logic [Stages:0] valid_q, last_q, error_q;
  logic first_q;  // the next sum to be accumulated starts a group
  logic group_error_q, group_error, result_valid_q, result_error_q, advance, acc, last;
  logic [CodedLines*Banks-1:0] line_error;

  assign acc = valid_q[Stages];
  assign last = last_q[Stages];
  assign advance = !(acc && last && result_valid_q && !out_ready_i);
  assign in_ready_o = advance;
  assign out_valid_o = result_valid_q;
  assign out_error_o = result_error_q;
  assign group_error = error_q[Stages] || (group_error_q && !first_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      first_q <= 1'b1;
      result_valid_q <= 1'b0;
    end else begin
      if (advance) valid_q <= {valid_q[Stages-1:0], in_valid_i};
      if (advance && acc) first_q <= last;
      if (advance && acc && last) result_valid_q <= 1'b1;
      else if (out_ready_i) result_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance) begin
      last_q <= {last_q[Stages-1:0], in_last_i};
      error_q <= {error_q[Stages-1:0], |line_error};
      if (acc) group_error_q <= group_error;
      if (acc && last) result_error_q <= group_error;
    end
  end

  // ---- operands ---------------------------------------------------------------------------------
  localparam int unsigned PlainLineW = Banks * BankLen * PlainW;
  localparam int unsigned LowBankW = LowLanes * LowW;
  localparam int unsigned HighBankW = HighPerBank * HighW;
  localparam int unsigned LowLineW = Banks * LowBankW;
  localparam int unsigned HighLineW = Banks * HighBankW;
  localparam int unsigned HighCtlLineW = Banks * HighCtlW;
  localparam int unsigned LowCtlLineW = Banks * LowCtlW;

  logic [PlainLines*PlainLineW-1:0] plain, plain_q;
  if (IsMixed) begin : gen_plain_two
    logic [PlainLines*PlainLineW-1:0] plain_q2;
    always_ff @(posedge clk_i) begin
      if (advance) plain_q2 <= plain_q;
    end
    assign plain = plain_q2;
  end else begin : gen_plain_one
    assign plain = plain_q;
  end
  always_ff @(posedge clk_i) begin
    if (advance) plain_q <= in_plain_i;
  end

  logic [CodedLines*LowLineW-1:0] low;
  logic [CodedLines*HighLineW-1:0] high;
  logic [CodedLines*HighCtlLineW-1:0] high_ctl;
  logic [CodedLines*LowCtlLineW-1:0] low_ctl;

  for (genvar i = 0; i < CodedLines * Banks; i++) begin : gen_line  // line by line, bank by bank
    sq_array_code #(
      .BankLen(BankLen), .HighPerBank(HighPerBank), .HighLen(HighLen), .Layout(Layout),
      .LowW(LowW), .HighW(HighW), .Gather(Gather)
    ) u_code (
      .clk_i, .en_i(advance),
      .low_i(in_low_i[i*LowBankW +: LowBankW]),
      .high_i(in_high_i[i*HighLen*HighW +: HighLen*HighW]),
      .mask_i(in_mask_i[i*MaskW +: MaskW]),
      .error_o(line_error[i]),
      .low_o(low[i*LowBankW +: LowBankW]),
      .high_o(high[i*HighBankW +: HighBankW]),
      .high_ctl_o(high_ctl[i*HighCtlW +: HighCtlW]),
      .low_ctl_o(low_ctl[i*LowCtlW +: LowCtlW])
    );
  end

  // ---- PEs --------------------------------------------------------------------------------------
  for (genvar r = 0; r < Rows; r++) begin : gen_row
    for (genvar c = 0; c < Cols; c++) begin : gen_col
      localparam int unsigned Coded = (OnActs != 0) ? r : c;
      localparam int unsigned Plain = (OnActs != 0) ? c : r;
      localparam int unsigned Pe = r * Cols + c;
      if (Layout == sq_pkg::LAYOUT_DENSE) begin : gen_dense
        sq_pe_dense #(.Lanes(Banks*BankLen), .AW(PlainW), .BW(LowW), .AccW(AccW)) u_pe (
          .clk_i, .en_i(advance),
          .a_i(plain[Plain*PlainLineW +: PlainLineW]), .b_i(low[Coded*LowLineW +: LowLineW]),
          .acc_i(acc), .first_i(first_q), .last_i(last), .p_o(out_p_lo_o[Pe*AccW +: AccW])
        );
        assign out_p_hi_o[Pe*AccW +: AccW] = '0;
      end else if (Layout == sq_pkg::LAYOUT_SP24) begin : gen_24
        sq_pe_24 #(.BankLen(Banks*BankLen), .PlainW(PlainW), .ValueW(LowW), .AccW(AccW)) u_pe (
          .clk_i, .en_i(advance),
          .plain_i(plain[Plain*PlainLineW +: PlainLineW]),
          .value_i(low[Coded*LowLineW +: LowLineW]),
          .ctl_i(high_ctl[Coded*HighCtlLineW +: HighCtlLineW]),
          .acc_i(acc), .first_i(first_q), .last_i(last), .p_o(out_p_lo_o[Pe*AccW +: AccW])
        );
        assign out_p_hi_o[Pe*AccW +: AccW] = '0;
      end else begin : gen_mixed
        sq_pe_mixed #(
          .Banks(Banks), .BankLen(BankLen), .LowLanes(LowLanes), .HighLanes(HighPerBank),
          .PlainW(PlainW), .LowW(LowW), .HighW(HighW), .AccW(AccW),
          .LowGather(LowGather), .OneAcc(OneAcc != 0),
          .LowShift(IsSplit ? 0 : HighW - LowW), .HighShift(IsSplit ? LowW : 0), .Gather(Gather)
        ) u_pe (
          .clk_i, .en_i(advance),
          .plain_i(plain[Plain*PlainLineW +: PlainLineW]),
          .low_i(low[Coded*LowLineW +: LowLineW]),
          .low_ctl_i(low_ctl[Coded*LowCtlLineW +: LowCtlLineW]),
          .high_i(high[Coded*HighLineW +: HighLineW]),
          .high_ctl_i(high_ctl[Coded*HighCtlLineW +: HighCtlLineW]),
          .acc_i(acc), .first_i(first_q), .last_i(last),
          .p_lo_o(out_p_lo_o[Pe*AccW +: AccW]), .p_hi_o(out_p_hi_o[Pe*AccW +: AccW])
        );
      end
    end
  end

  if (!IsMixed) begin : gen_unused
    wire unused_high = ^{high, high_ctl, low_ctl};
  end else if (!LowGather) begin : gen_unused_low
    wire unused_low_ctl = ^low_ctl;
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(TileHeldOnStall, out_valid_o, out_ready_i, {out_p_lo_o, out_p_hi_o, out_error_o})

endmodule
