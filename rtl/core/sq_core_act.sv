// SPDX-License-Identifier: Apache-2.0
// Activation SQ with own scales and a dynamic mask on sq_core, whose sides are exchanged: a column
// is a token and has the codes, a row is an output channel and has plain weights. INT8 codes of a
// tile of tokens come once, are masked, requantised and kept; the weights come in steps, banks of a
// pass in the order of the tile, for `passes` passes.
//
//   sq_act_quant -> sq_act_buffer (low codes) -> sq_bank_steps -> sq_core, lo
//                -> sq_act_buffer (high codes) -> sq_pipe_reg -> sq_bank_steps -> sq_core, hi
//   weights, jobs -> sq_core
// A bank occupies the MACs for the larger of ceil(b/L) and ceil(k/H) cycles, and a mask takes 1
// (rank) or HighW cycles (radix: a cycle per magnitude bit, one to hand over). They never wait for
// a mask after the first tile if passes times the former is at least the latter (SPEC C.4). The
// high path works a bank behind the low one: the register in front of it takes that bank out of
// the store, so that the place of a tile is free as soon as the low path has left it.
//
// Jobs are the core's: a scale group of a job is `group_banks` banks of one pass, which divides the
// banks of the tile; one job may go over any number of tiles. A group is a tile of sums.
`include "sq_assert.svh"

module sq_core_act #(
  parameter int unsigned Rows = 2,  // output channels
  parameter int unsigned Cols = 2,  // tokens
  parameter int unsigned LowLanes = 8,
  parameter int unsigned HighLanes = 2,
  parameter int unsigned BankLen = 16,
  parameter int unsigned HighPerBank = 4,
  parameter int unsigned WeightW = 4,
  parameter int unsigned LowW = 4,
  parameter int unsigned HighW = 8,
  parameter int unsigned MulW = 16,
  parameter int unsigned ShiftW = 6,
  parameter int unsigned AccW = 32,
  parameter int unsigned Depth = 8,  // banks of a tile, at most: K / BankLen
  parameter int unsigned PassW = 8,
  parameter int unsigned Topk = sq_pkg::TOPK_RADIX,
  parameter int unsigned Gather = sq_pkg::GATHER_CROSSBAR,
  parameter bit          CheckWeights = 1'b0  // out_error_o; 0: it says nothing
) (
  input  logic                             clk_i, rst_ni,
  // activations: a bank of all tokens
  input  logic                             in_valid_i,
  output logic                             in_ready_o,
  input  logic                             in_last_i,    // the last of its tile
  input  logic [PassW-1:0]                 in_passes_i,  // of the tile; read with its last bank
  input  logic [Cols*MulW-1:0]             in_mul_i,     // per token, of this bank: code to low
  input  logic [Cols*ShiftW-1:0]           in_shift_i,   // code (sq_act_quant)
  input  logic [Cols*BankLen*HighW-1:0]    in_code_i,
  // weights: one step of a bank
  input  logic                             weight_valid_i,
  output logic                             weight_ready_o,
  input  logic [Rows*LowLanes*WeightW-1:0] weight_code_i,
  // jobs
  input  logic                             job_valid_i,
  output logic                             job_ready_o,
  input  logic [sq_pkg::GROUP_BANKS_W-1:0] job_group_banks_i,
  input  logic [sq_pkg::GROUPS_W-1:0]      job_groups_i,
  // tiles of sums
  output logic                             out_valid_o,
  input  logic                             out_ready_i,
  output logic [Rows*Cols*AccW-1:0]        out_p_lo_o, out_p_hi_o,
  output logic                             out_error_o  // a weight of the group is -2^(w-1)
);

  localparam int unsigned LowBankW = Cols * BankLen * LowW;
  localparam int unsigned HighBankW = Cols * HighPerBank * HighW;

  // ---- masks and codes, kept --------------------------------------------------------------------
  logic quant_valid, last;
  logic [PassW-1:0] passes;
  logic [LowBankW-1:0] low, stored_low;
  logic [HighBankW-1:0] high, stored_high, next_high;
  logic low_place, high_place;  // the stores take a bank
  logic low_valid, low_taken, high_valid, high_taken, next_valid, next_taken;

  sq_act_quant #(
    .Lines(Cols), .BankLen(BankLen), .HighPerBank(HighPerBank), .LowW(LowW), .HighW(HighW),
    .MulW(MulW), .ShiftW(ShiftW), .FlagW(PassW + 1), .Topk(Topk), .Gather(Gather)
  ) u_quant (
    .clk_i, .rst_ni,
    .in_valid_i, .in_ready_o, .in_flags_i({in_passes_i, in_last_i}), .in_mul_i, .in_shift_i,
    .in_code_i,
    .out_valid_o(quant_valid), .out_ready_i(low_place && high_place),
    .out_flags_o({passes, last}), .out_low_o(low), .out_high_o(high)
  );
  sq_act_buffer #(.Width(LowBankW), .Depth(Depth), .PassW(PassW)) u_low_store (
    .clk_i, .rst_ni,
    .in_valid_i(quant_valid && high_place), .in_ready_o(low_place), .in_data_i(low),
    .in_last_i(last), .in_passes_i(passes),
    .out_valid_o(low_valid), .out_ready_i(low_taken), .out_data_o(stored_low),
    .out_last_o()
  );
  sq_act_buffer #(.Width(HighBankW), .Depth(Depth), .PassW(PassW)) u_high_store (
    .clk_i, .rst_ni,
    .in_valid_i(quant_valid && low_place), .in_ready_o(high_place), .in_data_i(high),
    .in_last_i(last), .in_passes_i(passes),
    .out_valid_o(high_valid), .out_ready_i(high_taken), .out_data_o(stored_high),
    .out_last_o()
  );
  sq_pipe_reg #(.Width(HighBankW)) u_next (
    .clk_i, .rst_ni,
    .in_valid_i(high_valid), .in_ready_o(high_taken), .in_data_i(stored_high),
    .out_valid_o(next_valid), .out_ready_i(next_taken), .out_data_o(next_high)
  );

  // ---- steps, core ------------------------------------------------------------------------------
  logic lo_valid, lo_ready, hi_valid, hi_ready;
  logic [Cols*LowLanes*LowW-1:0] lo;
  logic [Cols*HighLanes*HighW-1:0] hi;

  sq_bank_steps #(
    .Lines(Cols), .Lanes(LowLanes), .BankLen(BankLen), .Width(LowW)
  ) u_low_steps (
    .clk_i, .rst_ni,
    .in_valid_i(low_valid), .in_ready_o(low_taken), .in_data_i(stored_low),
    .out_valid_o(lo_valid), .out_ready_i(lo_ready), .out_data_o(lo)
  );
  sq_bank_steps #(
    .Lines(Cols), .Lanes(HighLanes), .BankLen(HighPerBank), .Width(HighW)
  ) u_high_steps (
    .clk_i, .rst_ni,
    .in_valid_i(next_valid), .in_ready_o(next_taken), .in_data_i(next_high),
    .out_valid_o(hi_valid), .out_ready_i(hi_ready), .out_data_o(hi)
  );

  logic bank_error;
  logic [Cols-1:0] mask_error;  // never: a TopK mask has k ones, a low code is no mask code
  sq_core #(
    .Rows(Rows), .Cols(Cols), .LowLanes(LowLanes), .HighLanes(HighLanes), .BankLen(BankLen),
    .HighPerBank(HighPerBank), .ActW(WeightW), .LowW(LowW), .HighW(HighW), .AccW(AccW),
    .Gather(Gather), .Counters(1'b0), .CheckAct(CheckWeights)
  ) u_core (
    .clk_i, .rst_ni,
    .job_valid_i, .job_ready_o, .job_group_banks_i, .job_groups_i,
    .act_valid_i(weight_valid_i), .act_ready_o(weight_ready_o), .act_data_i(weight_code_i),
    .lo_valid_i(lo_valid), .lo_ready_o(lo_ready), .lo_data_i(lo),
    .hi_valid_i(hi_valid), .hi_ready_o(hi_ready), .hi_data_i(hi),
    .out_valid_o, .out_ready_i, .out_p_lo_o, .out_p_hi_o, .out_error_o(bank_error),
    .out_code_error_o(out_error_o), .mask_error_o(mask_error),
    .low_counts_o(), .high_counts_o()
  );

  wire unused_mask_error = ^{mask_error, bank_error};

  `SQ_ASSERT_BEGIN
  `SQ_ASSERT(MasksLegal, mask_error == '0)

endmodule
