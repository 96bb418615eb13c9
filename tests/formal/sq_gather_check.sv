// SPDX-License-Identifier: Apache-2.0
// The two gathers select the same activations, for every mask, every activation and every slot base:
// crossbar = log network, proven by SAT per bank and lane count.
module sq_gather_check #(
  parameter  int unsigned BankLen = 8,
  parameter  int unsigned HighPerBank = 4,
  parameter  int unsigned Lanes = 2,
  parameter  int unsigned ActW = 2,
  localparam int unsigned RankW = sq_pkg::index_w(HighPerBank),
  localparam int unsigned CountW = $clog2(BankLen + 1),
  localparam int unsigned Stages = $clog2(BankLen),
  localparam int unsigned LogW = Stages * BankLen + Lanes,
  localparam int unsigned CrossbarW = Lanes * BankLen
) (
  input logic [BankLen*2-1:0]    code_i,
  input logic [BankLen*ActW-1:0] act_i,
  input logic [RankW-1:0]        step_i
);
  logic [BankLen*2-1:0] clean;
  logic [BankLen-1:0] slot;
  logic [BankLen*RankW-1:0] rank;
  logic [CountW-1:0] count;
  logic [RankW-1:0] base;
  logic [LogW-1:0] log_ctl;
  logic [CrossbarW-1:0] crossbar_ctl;
  logic [Lanes*ActW-1:0] log_act, crossbar_act;

  assign base = RankW'(step_i * Lanes);
  sq_gather_rank #(
    .Lanes(BankLen), .LowW(2), .BankLen(BankLen), .HighPerBank(HighPerBank)
  ) u_rank (
    .code_i, .lane_i({BankLen{1'b1}}), .count_i({CountW{1'b0}}),
    .clean_o(clean), .slot_o(slot), .rank_o(rank), .count_o(count)
  );
  sq_gather_sel #(
    .BankLen(BankLen), .HighPerBank(HighPerBank), .Lanes(Lanes), .Gather(sq_pkg::GATHER_LOG)
  ) u_log_sel (.slot_i(slot), .rank_i(rank), .base_i(base), .ctl_o(log_ctl));
  sq_gather_sel #(
    .BankLen(BankLen), .HighPerBank(HighPerBank), .Lanes(Lanes),
    .Gather(sq_pkg::GATHER_CROSSBAR)
  ) u_crossbar_sel (.slot_i(slot), .rank_i(rank), .base_i(base), .ctl_o(crossbar_ctl));
  sq_gather_mux #(
    .BankLen(BankLen), .Lanes(Lanes), .ActW(ActW), .Gather(sq_pkg::GATHER_LOG)
  ) u_log_mux (.ctl_i(log_ctl), .act_i, .act_o(log_act));
  sq_gather_mux #(
    .BankLen(BankLen), .Lanes(Lanes), .ActW(ActW), .Gather(sq_pkg::GATHER_CROSSBAR)
  ) u_crossbar_mux (.ctl_i(crossbar_ctl), .act_i, .act_o(crossbar_act));

  logic unused_outputs;
  assign unused_outputs = ^{clean, count};

  always_comb begin
    SameActivations : assert (log_act == crossbar_act);
  end
endmodule
