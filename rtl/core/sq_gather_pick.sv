// SPDX-License-Identifier: Apache-2.0
// The marked elements of a bank, of which there are Picked, one behind the other in ascending order. Combinational.
module sq_gather_pick #(
  parameter int unsigned BankLen = 16,
  parameter int unsigned Picked = 4,
  parameter int unsigned Width = 4
) (
  input  logic [BankLen-1:0]       pick_i,
  input  logic [BankLen*Width-1:0] x_i,  // element 0 in the low bits
  output logic [Picked*Width-1:0]  x_o
);

  localparam int unsigned RankW = sq_pkg::index_w(Picked);
  localparam int unsigned CountW = $clog2(BankLen + 1);
  logic [BankLen-1:0] unused_clean, slot;
  logic [BankLen*RankW-1:0] rank;
  logic [CountW-1:0] unused_count;
  logic [Picked*BankLen-1:0] ctl;
  sq_gather_rank #(.Lanes(BankLen), .LowW(1), .BankLen(BankLen), .HighPerBank(Picked)) u_rank (
    .code_i(pick_i), .lane_i({BankLen{1'b1}}), .count_i({CountW{1'b0}}),
    .clean_o(unused_clean), .slot_o(slot), .rank_o(rank), .count_o(unused_count)
  );
  sq_gather_sel #(.BankLen(BankLen), .HighPerBank(Picked), .Lanes(Picked)) u_sel (
    .slot_i(slot), .rank_i(rank), .base_i({RankW{1'b0}}), .ctl_o(ctl)
  );
  sq_gather_mux #(.BankLen(BankLen), .Lanes(Picked), .ActW(Width), .Window(1'b1)) u_mux (.ctl_i(ctl), .act_i(x_i), .act_o(x_o));

endmodule
