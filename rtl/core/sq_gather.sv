// SPDX-License-Identifier: Apache-2.0
// Gather unit of SPEC D.8 as a block of its own: a bank of low codes and the activations of `Rows`
// tokens in, the k activations at the masked positions of each token out, ascending. Latency 3,
// one bank per cycle. sq_core uses the same rank, select and mux, with the bank registers it has
// anyway.
//
//   S1  detect the mask code, clean the low codes, rank the masked positions
//   S2  turn ranks into select controls (shared by all rows)
//   S3  move the data
// Stages move together: a beat that is not taken holds all three.
`include "sq_assert.svh"

module sq_gather #(
  parameter  int unsigned Rows = 1,  // tokens that share the select logic
  parameter  int unsigned BankLen = 32,
  parameter  int unsigned HighPerBank = 8,
  parameter  int unsigned ActW = 8,
  parameter  int unsigned LowW = 4,
  parameter  int unsigned Gather = sq_pkg::GATHER_CROSSBAR,
  localparam int unsigned RankW = sq_pkg::index_w(HighPerBank),
  localparam int unsigned CountW = $clog2(BankLen + 1)
) (
  input  logic                             clk_i, rst_ni,
  // a bank
  input  logic                             in_valid_i,
  output logic                             in_ready_o,
  input  logic [BankLen*LowW-1:0]          in_code_i,
  input  logic [Rows*BankLen*ActW-1:0]     in_act_i,
  // its gathered activations
  output logic                             out_valid_o,
  input  logic                             out_ready_i,
  output logic [BankLen*LowW-1:0]          out_clean_o,  // low codes, 0 where masked
  output logic [Rows*HighPerBank*ActW-1:0] out_act_o,
  output logic                             out_error_o   // not exactly k mask codes
);

  localparam int unsigned CtlW = sq_pkg::gather_ctl_w(Gather, BankLen, HighPerBank);

  logic advance;  // all stages move
  logic valid_q, valid_q2, valid_q3, error_q, error_q2, error_q3;
  logic [BankLen*LowW-1:0] clean, clean_q, clean_q2, clean_q3;
  logic [Rows*BankLen*ActW-1:0] act_q, act_q2;
  logic [BankLen-1:0] slot, slot_q;
  logic [BankLen*RankW-1:0] rank, rank_q;
  logic [CountW-1:0] count;
  logic [CtlW-1:0] ctl, ctl_q2;
  logic [Rows*HighPerBank*ActW-1:0] gathered, gathered_q3;

  assign advance = !valid_q3 || out_ready_i;
  assign in_ready_o = advance;
  assign out_valid_o = valid_q3;
  assign out_error_o = error_q3;
  assign out_clean_o = clean_q3;
  assign out_act_o = gathered_q3;

  sq_gather_rank #(
    .Lanes(BankLen), .LowW(LowW), .BankLen(BankLen), .HighPerBank(HighPerBank)
  ) u_rank (
    .code_i(in_code_i), .lane_i({BankLen{1'b1}}), .count_i({CountW{1'b0}}),
    .clean_o(clean), .slot_o(slot), .rank_o(rank), .count_o(count)
  );

  sq_gather_sel #(
    .BankLen(BankLen), .HighPerBank(HighPerBank), .Lanes(HighPerBank), .Gather(Gather)
  ) u_sel (
    .slot_i(slot_q), .rank_i(rank_q), .base_i({RankW{1'b0}}), .ctl_o(ctl)
  );

  for (genvar r = 0; r < Rows; r++) begin : gen_row
    sq_gather_mux #(
      .BankLen(BankLen), .Lanes(HighPerBank), .ActW(ActW), .Gather(Gather)
    ) u_mux (
      .ctl_i(ctl_q2),
      .act_i(act_q2[r*BankLen*ActW +: BankLen*ActW]),
      .act_o(gathered[r*HighPerBank*ActW +: HighPerBank*ActW])
    );
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      valid_q2 <= 1'b0;
      valid_q3 <= 1'b0;
    end else if (advance) begin
      valid_q <= in_valid_i;
      valid_q2 <= valid_q;
      valid_q3 <= valid_q2;
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance) begin
      clean_q <= clean;
      act_q <= in_act_i;
      slot_q <= slot;
      rank_q <= rank;
      error_q <= count != CountW'(HighPerBank);

      clean_q2 <= clean_q;
      act_q2 <= act_q;
      ctl_q2 <= ctl;
      error_q2 <= error_q;

      clean_q3 <= clean_q2;
      gathered_q3 <= gathered;
      error_q3 <= error_q2;
    end
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_clean_o, out_act_o, out_error_o})

endmodule
