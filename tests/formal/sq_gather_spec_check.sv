// SPDX-License-Identifier: Apache-2.0
// Gather against its specification, SPEC A.6 "decode bank" and D.8, and not against another
// circuit of rtl/: walk the bank in ascending order; the c-th mask code owns slot c, whose
// activation is that of its place; low codes are 0 where masked; more than k mask codes own no slot,
// and slots that nobody owns give 0. The high lanes of one beat are slots step * Lanes and on.
// For every code, activation and step; ranks come in Beats parts of a bank, as in sq_core.
module sq_gather_spec_check #(
  parameter  int unsigned BankLen = 8,
  parameter  int unsigned HighPerBank = 4,
  parameter  int unsigned Lanes = 2,      // high lanes
  parameter  int unsigned LowLanes = 8,   // elements of a step
  parameter  int unsigned ActW = 2,
  parameter  int unsigned LowW = 2,
  parameter  int unsigned Gather = sq_pkg::GATHER_CROSSBAR,
  localparam int unsigned RankW = sq_pkg::index_w(HighPerBank),
  localparam int unsigned CountW = $clog2(BankLen + 1),
  localparam int unsigned Steps = sq_pkg::ceil_div(HighPerBank, Lanes),
  localparam int unsigned StepW = sq_pkg::index_w(Steps),
  localparam int unsigned Parts = BankLen / LowLanes,
  localparam int unsigned CtlW = sq_pkg::gather_ctl_w(Gather, BankLen, Lanes)
) (
  input logic [BankLen*LowW-1:0] code_i,
  input logic [BankLen*ActW-1:0] act_i,
  input logic [StepW-1:0]        step_i
);
  // The circuit.
  logic [BankLen*LowW-1:0] clean;
  logic [BankLen-1:0] slot;
  logic [BankLen*RankW-1:0] rank;
  logic [(Parts+1)*CountW-1:0] count;
  logic [CtlW-1:0] ctl;
  logic [Lanes*ActW-1:0] act;
  logic legal;
  assign legal = 32'(step_i) < Steps;
  assign count[CountW-1:0] = '0;
  for (genvar p = 0; p < Parts; p++) begin : gen_part
    sq_gather_rank #(
      .Lanes(LowLanes), .LowW(LowW), .BankLen(BankLen), .HighPerBank(HighPerBank)
    ) u_rank (
      .code_i(code_i[p*LowLanes*LowW+:LowLanes*LowW]), .lane_i({LowLanes{1'b1}}),
      .count_i(count[p*CountW+:CountW]), .clean_o(clean[p*LowLanes*LowW+:LowLanes*LowW]),
      .slot_o(slot[p*LowLanes+:LowLanes]), .rank_o(rank[p*LowLanes*RankW+:LowLanes*RankW]),
      .count_o(count[(p+1)*CountW+:CountW])
    );
  end
  sq_gather_sel #(
    .BankLen(BankLen), .HighPerBank(HighPerBank), .Lanes(Lanes), .Gather(Gather)
  ) u_sel (.slot_i(slot), .rank_i(rank), .base_i(RankW'(step_i * Lanes)), .ctl_o(ctl));
  sq_gather_mux #(.BankLen(BankLen), .Lanes(Lanes), .ActW(ActW), .Gather(Gather)) u_mux (
    .ctl_i(ctl), .act_i, .act_o(act)
  );

  // The specification, element by element.
  logic [BankLen*LowW-1:0] spec_clean;
  logic [Lanes*ActW-1:0] spec_act;
  logic [CountW-1:0] c;
  always_comb begin
    c = '0;
    spec_clean = code_i;
    spec_act = '0;
    for (int i = 0; i < BankLen; i++) begin
      if (code_i[i*LowW+:LowW] == {1'b1, {LowW - 1{1'b0}}}) begin
        spec_clean[i*LowW+:LowW] = '0;
        for (int h = 0; h < Lanes; h++)
          if (32'(c) == 32'(step_i) * Lanes + h && 32'(c) < HighPerBank)
            spec_act[h*ActW+:ActW] = act_i[i*ActW+:ActW];
        c = c + 1'b1;
      end
    end
  end

  always_comb begin
    Cleaned : assert (clean == spec_clean);
    Counted : assert (count[Parts*CountW+:CountW] == c);
    Gathered : assert (!legal || act == spec_act);
  end
endmodule
