// SPDX-License-Identifier: Apache-2.0
// Split codes on activations with a dynamic mask, stored: mask units, compaction, sq_act_buffer,
// sq_array. A tile of activations (all banks of K) comes once; the weights of `passes` column
// tiles come in a stream of their own, banks of a pass in the order of the tile. A tile of sums
// leaves per pass. With the radix TopK (9 cycles a bank) the array never waits for a mask when
// tiles are used 9 times or more (SPEC C.4); sq_array_dynamic, which masks a bank for each use, waits
// 8 cycles of 9.
//
//   mask unit -> rank (1 stage) -> compact, store -> array
// Weights meet the stored banks in front of the array: each side's ready depends on the other's
// valid in the same cycle.
// What is stored of a bank: low nibbles, k upper nibbles, mask: 4 + 4 k/b + 1 bits an element.
`include "sq_assert.svh"

module sq_array_stored #(
  parameter int unsigned Rows = 2,
  parameter int unsigned Cols = 2,
  parameter int unsigned Banks = 1,
  parameter int unsigned BankLen = 16,
  parameter int unsigned HighPerBank = 4,
  parameter int unsigned Depth = 8,  // beats of a tile, at most: K / (Banks * BankLen)
  parameter int unsigned WeightW = 4,
  parameter int unsigned AccW = 32,
  parameter int unsigned PassW = 8,
  parameter int unsigned Topk = sq_pkg::TOPK_RADIX,
  parameter int unsigned Gather = sq_pkg::GATHER_CROSSBAR
) (
  input  logic                                 clk_i,
  input  logic                                 rst_ni,
  // activations: Banks banks of all rows
  input  logic                                 in_valid_i,
  output logic                                 in_ready_o,
  input  logic                                 in_last_i,    // the last of its tile
  input  logic [PassW-1:0]                     in_passes_i,  // of the tile; read with its last beat
  input  logic [Rows*Banks*BankLen*8-1:0]      in_act_i,     // code + 8 (sq_act_split)
  // weights: Banks banks of all columns
  input  logic                                 weight_valid_i,
  output logic                                 weight_ready_o,
  input  logic [Cols*Banks*BankLen*WeightW-1:0] weight_code_i,
  // tiles
  output logic                                 out_valid_o,
  input  logic                                 out_ready_i,
  output logic [Rows*Cols*AccW-1:0]            out_p_o
);

  localparam int unsigned Units = Rows * Banks;
  localparam int unsigned RankW = sq_pkg::index_w(HighPerBank);
  localparam int unsigned CountW = $clog2(BankLen + 1);
  localparam int unsigned CtlW = sq_pkg::gather_ctl_w(Gather, BankLen, HighPerBank);
  localparam int unsigned LowBankW = BankLen * 4;
  localparam int unsigned HighBankW = HighPerBank * 4;

  // ---- mask units in lock step, their flags beside them -----------------------------------------
  logic [Units-1:0] front_ready, front_valid;
  logic stage_ready, stage_valid_q, store_ready;
  logic [PassW:0] flags, flags_q, stage_flags_q;  // {passes, last}

  assign in_ready_o = front_ready[0];
  always_ff @(posedge clk_i) begin
    if (in_ready_o) flags_q <= {in_passes_i, in_last_i};
  end
  if (Topk == sq_pkg::TOPK_RANK) begin : gen_two
    logic [PassW:0] flags_q2;
    always_ff @(posedge clk_i) begin
      if (in_ready_o) flags_q2 <= flags_q;
    end
    assign flags = flags_q2;
  end else begin : gen_one
    assign flags = flags_q;
  end

  // ---- ranks, compaction ------------------------------------------------------------------------
  assign stage_ready = !stage_valid_q || store_ready;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) stage_valid_q <= 1'b0;
    else if (stage_ready) stage_valid_q <= front_valid[0];
  end
  always_ff @(posedge clk_i) begin
    if (stage_ready) stage_flags_q <= flags;
  end

  logic [Units*LowBankW-1:0] low_q, stored_low;
  logic [Units*HighBankW-1:0] high, stored_high;
  logic [Units*BankLen-1:0] mask_q, stored_mask;

  for (genvar i = 0; i < Units; i++) begin : gen_front
    logic [LowBankW-1:0] split_low;
    logic [BankLen*4-1:0] split_high, split_high_q;
    logic [BankLen-1:0] split_mask, slot, slot_q, unused_clean;
    logic [BankLen*RankW-1:0] rank, rank_q;
    logic [CountW-1:0] unused_count;  // a TopK mask has k ones
    logic [CtlW-1:0] ctl;
    sq_act_split #(.BankLen(BankLen), .HighPerBank(HighPerBank), .Topk(Topk)) u_split (
      .clk_i, .rst_ni,
      .in_valid_i, .in_ready_o(front_ready[i]), .in_code_i(in_act_i[i*BankLen*8 +: BankLen*8]),
      .out_valid_o(front_valid[i]), .out_ready_i(stage_ready),
      .out_low_o(split_low), .out_high_o(split_high), .out_mask_o(split_mask)
    );
    sq_gather_rank #(
      .Lanes(BankLen), .LowW(1), .BankLen(BankLen), .HighPerBank(HighPerBank)
    ) u_rank (
      .code_i(split_mask), .lane_i({BankLen{1'b1}}), .count_i({CountW{1'b0}}),
      .clean_o(unused_clean), .slot_o(slot), .rank_o(rank), .count_o(unused_count)
    );
    always_ff @(posedge clk_i) begin
      if (stage_ready) begin
        low_q[i*LowBankW +: LowBankW] <= split_low;
        mask_q[i*BankLen +: BankLen] <= split_mask;
        split_high_q <= split_high;
        slot_q <= slot;
        rank_q <= rank;
      end
    end
    sq_gather_sel #(
      .BankLen(BankLen), .HighPerBank(HighPerBank), .Lanes(HighPerBank), .Gather(Gather)
    ) u_sel (
      .slot_i(slot_q), .rank_i(rank_q), .base_i({RankW{1'b0}}), .ctl_o(ctl)
    );
    sq_gather_mux #(
      .BankLen(BankLen), .Lanes(HighPerBank), .ActW(4), .Gather(Gather), .Window(1'b1)
    ) u_mux (
      .ctl_i(ctl), .act_i(split_high_q), .act_o(high[i*HighBankW +: HighBankW])
    );
  end

  // ---- store, array -----------------------------------------------------------------------------
  logic store_valid, array_ready, last;

  sq_act_buffer #(
    .Width(Units * (LowBankW + HighBankW + BankLen)), .Depth(Depth), .PassW(PassW)
  ) u_store (
    .clk_i, .rst_ni,
    .in_valid_i(stage_valid_q), .in_ready_o(store_ready), .in_data_i({low_q, high, mask_q}),
    .in_last_i(stage_flags_q[0]), .in_passes_i(stage_flags_q[PassW:1]),
    .out_valid_o(store_valid), .out_ready_i(array_ready && weight_valid_i),
    .out_data_o({stored_low, stored_high, stored_mask}), .out_last_o(last)
  );
  assign weight_ready_o = store_valid && array_ready;

  // As in sq_array_dynamic: p_hi is 0, nothing is malformed.
  sq_array #(
    .Rows(Rows), .Cols(Cols), .Banks(Banks), .BankLen(BankLen), .HighPerBank(HighPerBank),
    .Layout(sq_pkg::LAYOUT_SPLIT), .OnActs(1), .OneAcc(1),
    .PlainW(WeightW), .LowW(4), .HighW(4), .AccW(AccW), .Gather(Gather)
  ) u_array (
    .clk_i, .rst_ni,
    .in_valid_i(store_valid && weight_valid_i), .in_ready_o(array_ready), .in_last_i(last),
    .in_plain_i(weight_code_i), .in_low_i(stored_low), .in_high_i(stored_high),
    .in_mask_i(stored_mask),
    .out_valid_o, .out_ready_i, .out_p_lo_o(out_p_o), .out_p_hi_o(),
    .out_error_o()
  );

  logic unused_lock_step;
  assign unused_lock_step = ^{front_ready, front_valid};

  `SQ_ASSERT_BEGIN
  `SQ_ASSERT(LockStep, front_ready == {Units{front_ready[0]}} &&
             front_valid == {Units{front_valid[0]}})

endmodule
