// SPDX-License-Identifier: Apache-2.0
// Words of InW bits become words of OutW bits, one behind the other, the first in the low bits: a gearbox.
// Words come in transfers. in_last_i ends one, and the next one begins with a word of its own:
//
//   Flush = 0  of the last word in_tail_i bytes count, all if that is 0; they end a word that leaves
//   Flush = 1  the last word that leaves is filled up with zeros
// A word is taken while what waits is less than a word that leaves, or leaves in that cycle. out_poison_o: a word
// that came with in_poison_i has bits in it.
`include "sq_assert.svh"

module sq_gear #(
  parameter  int unsigned InW = 64,  // whole bytes, as OutW
  parameter  int unsigned OutW = 144,
  parameter  bit          Flush = 1'b0,
  localparam int unsigned TailW = sq_pkg::index_w(InW / 8)
) (
  input  logic             clk_i, rst_ni,
  // words
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [InW-1:0]   in_data_i,
  input  logic [TailW-1:0] in_tail_i,
  input  logic             in_poison_i, in_last_i,
  // words of the other width; last: of the transfer
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [OutW-1:0]  out_data_o,
  output logic             out_poison_o, out_last_o
);

  // All is counted in units that divide both widths.
  localparam int unsigned UnitW = sq_pkg::gcd(InW, OutW);
  localparam int unsigned In = InW / UnitW;
  localparam int unsigned Out = OutW / UnitW;
  localparam int unsigned Room = Flush ? sq_pkg::ceil_div(Out - 1 + In, Out) * Out : Out - 1 + In;
  localparam int unsigned LevelW = $clog2(Room + 1);
  localparam int unsigned RoomW = Room * UnitW;
  if (InW % 8 != 0 || OutW % 8 != 0 || InW < 8 || OutW < 8) begin : gen_bad
    $error("InW and OutW in whole bytes");
  end

  logic [LevelW-1:0] level_q, left, come;  // units that wait; without those that leave; that come
  logic [RoomW-1:0] data_q, rest;
  logic ended_q;  // the last word has come
  logic poison_q, last_poison_q;  // of the units of the word that leaves next; of the word that came last
  logic take, leave;

  assign out_valid_o = level_q >= LevelW'(Out);
  assign out_data_o = data_q[OutW-1:0];
  assign out_poison_o = poison_q;
  assign out_last_o = ended_q && level_q == LevelW'(Out);
  assign leave = out_valid_o && out_ready_i;
  assign left = leave ? level_q - LevelW'(Out) : level_q;
  assign in_ready_o = ended_q ? left == '0 : left < LevelW'(Out);
  assign take = in_valid_i && in_ready_o;
  assign rest = leave ? RoomW'((RoomW + 1)'(data_q) >> OutW) : data_q;

  if (Flush) begin : gen_flush
    wire unused_tail = ^in_tail_i;
    localparam int unsigned Filled = In + Out - 1;
    assign come = in_last_i ? LevelW'((32'(left) + Filled) / Out * Out) - left : LevelW'(In);
  end else if (In == 1) begin : gen_whole
    wire unused_tail = ^in_tail_i;
    assign come = LevelW'(1);
  end else begin : gen_tail
    logic [TailW-1:0] tail;
    logic unused_tail;
    assign tail = in_tail_i / TailW'(UnitW / 8);
    assign unused_tail = ^tail;
    assign come = in_last_i && in_tail_i != '0 ? LevelW'(tail) : LevelW'(In);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      level_q <= '0;
      ended_q <= 1'b1;
    end else begin
      level_q <= take ? left + come : left;
      if (take) ended_q <= in_last_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      poison_q <= in_poison_i || (left != '0 && (leave ? last_poison_q : poison_q));
      last_poison_q <= in_poison_i;
    end else if (leave) begin
      poison_q <= last_poison_q;
    end
  end

  // What comes lies above what waits; there is nothing above that, but bytes behind the end of a transfer.
  if (In == 1) begin : gen_one
    always_ff @(posedge clk_i) begin
      for (int unsigned u = 0; u < Room; u++)
        if (take && (left == LevelW'(u) || left == '0))
          data_q[u*UnitW +: UnitW] <= u == 0 || left != '0 ? in_data_i : {UnitW{1'b0}};
    end
    wire unused_rest = ^rest;
  end else begin : gen_many
    localparam int unsigned ShiftW = LevelW + $clog2(UnitW);
    logic [ShiftW-1:0] shift;
    assign shift = ShiftW'(left) * ShiftW'(UnitW);
    always_ff @(posedge clk_i) begin
      if (take) data_q <= (ended_q ? {RoomW{1'b0}} : rest) | (RoomW'(in_data_i) << shift);
      else if (leave) data_q <= rest;
    end
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_data_o, out_poison_o, out_last_o})
  `SQ_ASSERT(WholeWords, !ended_q || Flush || level_q % LevelW'(Out) == '0)

endmodule
