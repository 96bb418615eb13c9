// SPDX-License-Identifier: Apache-2.0
// Gather, the select half of stage 3 of SPEC D.8: turns the ranks of one bank into the controls of
// sq_gather_mux for slots base_i .. base_i + Lanes - 1. One instance per column serves all rows.
// Combinational.
//
//   crossbar  ctl[h*BankLen + i] = 1: lane h takes element i (one-hot per lane)
//   log       ctl[s*BankLen + j] = 1: after stage s position j holds what stood at j + 2^s
//             ctl[Stages*BankLen + h] = 1: lane h holds an element (0 otherwise)
//             The distance of an element is the number of elements before it that are not taken;
//             it never decreases along the bank, so moving by 1, 2, 4, ... never collides.
module sq_gather_sel #(
  parameter  int unsigned BankLen = 32,
  parameter  int unsigned HighPerBank = 8,
  parameter  int unsigned Lanes = 4,
  parameter  int unsigned Gather = sq_pkg::GATHER_CROSSBAR,
  localparam int unsigned RankW = sq_pkg::index_w(HighPerBank),
  localparam int unsigned Stages = $clog2(BankLen),
  localparam int unsigned CtlW = sq_pkg::gather_ctl_w(Gather, BankLen, Lanes)
) (
  input  logic [BankLen-1:0]       slot_i,  // element owns a slot
  input  logic [BankLen*RankW-1:0] rank_i,  // which
  input  logic [RankW-1:0]         base_i,  // slot of lane 0 in this beat, a multiple of Lanes
  output logic [CtlW-1:0]          ctl_o
);

  if (Gather == sq_pkg::GATHER_CROSSBAR) begin : gen_crossbar
    for (genvar h = 0; h < Lanes; h++) begin : gen_lane
      // Lanes beyond the last slot of a bank select nothing.
      logic [RankW:0] slot;
      assign slot = (RankW + 1)'(base_i) + (RankW + 1)'(h);
      for (genvar i = 0; i < BankLen; i++) begin : gen_elem
        assign ctl_o[h*BankLen+i] =
            slot_i[i] && ((RankW + 1)'(rank_i[i*RankW +: RankW]) == slot);
      end
    end
  end else begin : gen_log
    localparam int unsigned DistW = Stages;  // distance 0..BankLen-1
    logic [DistW-1:0] travel[BankLen];  // how far the element standing here still has to move
    logic [BankLen-1:0] held;  // an element stands here
    logic [RankW:0] lane;  // rank - base, borrow in the top bit
    logic take;

    // Positions are updated in ascending order, so position j still sees j + Hop of the stage before.
    always_comb begin
      for (int unsigned i = 0; i < BankLen; i++) begin
        lane = {1'b0, rank_i[i*RankW +: RankW]} - {1'b0, base_i};
        held[i] = slot_i[i] && !lane[RankW] && 32'(lane) < Lanes;
        travel[i] = DistW'(i) - DistW'(lane[RankW-1:0]);
      end
      for (int unsigned s = 0; s < Stages; s++) begin
        for (int unsigned j = 0; j < BankLen; j++) begin
          take = 1'b0;
          if (j + (1 << s) < BankLen) take = held[j+(1<<s)] && travel[j+(1<<s)][s];
          held[j] = take || (held[j] && !travel[j][s]);
          if (take) travel[j] = travel[j+(1<<s)];
          ctl_o[s*BankLen+j] = take;
        end
      end
      ctl_o[Stages*BankLen +: Lanes] = held[Lanes-1:0];
    end
  end

endmodule
