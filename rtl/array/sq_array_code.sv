// SPDX-License-Identifier: Apache-2.0
// Operand registers of one bank of a line (row or column) of the coded operand of sq_array, and its
// select logic, shared by all PEs of the line.
//
//   dense, 2:4       stage 1  codes, decoded metadata
//   mixed formats    stage 1  low plane (mask codes cleaned), high codes, ranks of the high elements
//                    stage 2  low plane, high codes, select controls
// HighLen = BankLen: the high codes of all elements arrive and are compacted here, with the same
// controls; HighLen = HighPerBank: they arrive compact.
module sq_array_code #(
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighPerBank = 4,
  parameter  int unsigned HighLen = HighPerBank,
  parameter  int unsigned Layout = sq_pkg::LAYOUT_SPLIT,
  parameter  int unsigned LowW = 4,
  parameter  int unsigned HighW = 4,
  parameter  int unsigned Gather = sq_pkg::GATHER_CROSSBAR,
  localparam int unsigned LowLanes = sq_pkg::low_lanes(Layout, BankLen, HighPerBank),
  localparam int unsigned MaskW = sq_pkg::mask_w(Layout, BankLen),
  localparam bit          IsMixed = sq_pkg::operand_stages(Layout) == 2,
  localparam bit          LowGather = Layout == sq_pkg::LAYOUT_COMPACT,
  localparam int unsigned HighCtlW = IsMixed ?
      sq_pkg::gather_ctl_w(Gather, BankLen, HighPerBank) : 2 * BankLen,
  localparam int unsigned LowCtlW = LowGather ?
      sq_pkg::gather_ctl_w(Gather, BankLen, LowLanes) : 1
) (
  input  logic                         clk_i, en_i,
  // a bank; `high` and `mask` unused where the format has none
  input  logic [LowLanes*LowW-1:0]     low_i,
  input  logic [HighLen*HighW-1:0]     high_i,
  input  logic [MaskW-1:0]             mask_i,   // mask bits, or 2:4 nibbles
  output logic                         error_o,  // malformed: not k high elements, illegal nibble
  // to the PEs
  output logic [LowLanes*LowW-1:0]     low_o,
  output logic [HighPerBank*HighW-1:0] high_o,
  output logic [HighCtlW-1:0]          high_ctl_o,
  output logic [LowCtlW-1:0]           low_ctl_o
);

  logic [LowLanes*LowW-1:0] low_q;

  if (IsMixed) begin : gen_mixed
    localparam int unsigned RankW = sq_pkg::index_w(HighPerBank);
    localparam int unsigned CountW = $clog2(BankLen + 1);
    logic [LowLanes*LowW-1:0] clean, low_q2;
    logic [BankLen-1:0] slot, slot_q;
    logic [BankLen*RankW-1:0] rank, rank_q;
    logic [CountW-1:0] count;
    logic [HighLen*HighW-1:0] high_q;
    logic [HighPerBank*HighW-1:0] high, high_q2;
    logic [HighCtlW-1:0] ctl, ctl_q2;

    if (Layout == sq_pkg::LAYOUT_SENTINEL) begin : gen_sentinel
      wire unused_mask = mask_i[0];
      sq_gather_rank #(
        .Lanes(BankLen), .LowW(LowW), .BankLen(BankLen), .HighPerBank(HighPerBank)
      ) u_rank (
        .code_i(low_i), .lane_i({BankLen{1'b1}}), .count_i({CountW{1'b0}}),
        .clean_o(clean), .slot_o(slot), .rank_o(rank), .count_o(count)
      );
    end else begin : gen_mask  // one-bit codes whose mask code is 1
      logic [BankLen-1:0] unused_clean;
      assign clean = low_i;
      sq_gather_rank #(
        .Lanes(BankLen), .LowW(1), .BankLen(BankLen), .HighPerBank(HighPerBank)
      ) u_rank (
        .code_i(mask_i), .lane_i({BankLen{1'b1}}), .count_i({CountW{1'b0}}),
        .clean_o(unused_clean), .slot_o(slot), .rank_o(rank), .count_o(count)
      );
    end
    assign error_o = count != CountW'(HighPerBank);

    sq_gather_sel #(
      .BankLen(BankLen), .HighPerBank(HighPerBank), .Lanes(HighPerBank), .Gather(Gather)
    ) u_sel (
      .slot_i(slot_q), .rank_i(rank_q), .base_i({RankW{1'b0}}), .ctl_o(ctl)
    );

    if (HighLen == BankLen) begin : gen_compact
      sq_gather_mux #(
        .BankLen(BankLen), .Lanes(HighPerBank), .ActW(HighW), .Gather(Gather), .Window(1'b1)
      ) u_mux (
        .ctl_i(ctl), .act_i(high_q), .act_o(high)
      );
    end else begin : gen_compacted
      assign high = high_q;
    end

    if (LowGather) begin : gen_low_gather
      localparam int unsigned LowRankW = sq_pkg::index_w(LowLanes);
      logic [BankLen-1:0] unused_clean, low_slot, low_slot_q;
      logic [BankLen*LowRankW-1:0] low_rank, low_rank_q;
      logic [CountW-1:0] unused_count;
      logic [LowCtlW-1:0] low_ctl, low_ctl_q2;
      sq_gather_rank #(
        .Lanes(BankLen), .LowW(1), .BankLen(BankLen), .HighPerBank(LowLanes)
      ) u_low_rank (
        .code_i(~mask_i), .lane_i({BankLen{1'b1}}), .count_i({CountW{1'b0}}),
        .clean_o(unused_clean), .slot_o(low_slot), .rank_o(low_rank), .count_o(unused_count)
      );
      sq_gather_sel #(
        .BankLen(BankLen), .HighPerBank(LowLanes), .Lanes(LowLanes), .Gather(Gather)
      ) u_low_sel (
        .slot_i(low_slot_q), .rank_i(low_rank_q), .base_i({LowRankW{1'b0}}), .ctl_o(low_ctl)
      );
      always_ff @(posedge clk_i) begin
        if (en_i) begin
          low_slot_q <= low_slot;
          low_rank_q <= low_rank;
          low_ctl_q2 <= low_ctl;
        end
      end
      assign low_ctl_o = low_ctl_q2;
    end else begin : gen_low_dense
      assign low_ctl_o = '0;
    end

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        low_q <= clean;
        high_q <= high_i;
        slot_q <= slot;
        rank_q <= rank;

        low_q2 <= low_q;
        high_q2 <= high;
        ctl_q2 <= ctl;
      end
    end
    assign low_o = low_q2;
    assign high_o = high_q2;
    assign high_ctl_o = ctl_q2;

  end else begin : gen_single
    wire unused_high = ^high_i;
    always_ff @(posedge clk_i) begin
      if (en_i) low_q <= low_i;
    end
    assign low_o = low_q;
    assign high_o = '0;
    assign low_ctl_o = '0;

    if (Layout == sq_pkg::LAYOUT_SP24) begin : gen_24
      logic [HighCtlW-1:0] ctl, ctl_q;
      logic [BankLen/4-1:0] error;
      for (genvar g = 0; g < BankLen / 4; g++) begin : gen_group
        sq_meta24_dec u_dec (
          .meta_i(mask_i[g*4 +: 4]), .ctl_o(ctl[g*8 +: 8]), .error_o(error[g])
        );
      end
      always_ff @(posedge clk_i) begin
        if (en_i) ctl_q <= ctl;
      end
      assign high_ctl_o = ctl_q;
      assign error_o = |error;
    end else begin : gen_dense
      wire unused_mask = mask_i[0];
      assign high_ctl_o = '0;
      assign error_o = 1'b0;
    end
  end

endmodule
