// SPDX-License-Identifier: Apache-2.0
// sq_dma_burst, a circuit without registers, at the widths of the chip: for every address of whole beats and every
// number of beats that is left.
//
//   InPage   the burst ends in the page of 4 KiB in which it begins
//   Short    it has at most MaxBurst beats, and at most those that are left
//   Longest  it is shorter than both only where the page ends
//   Follows  the next one, if any, begins behind it, and has the beats that this one leaves
//   Last     nothing is left behind the last one, and only behind that
//   Limit    beside the next one stands its own limit
module sq_dma_burst_check #(
  parameter int unsigned DataW = 64,
  parameter int unsigned MaxBurst = 256
) (
  input logic [sq_pkg::ADDR_W-1:0] addr_i,
  input logic [31:0] left_i
);
  localparam int unsigned SizeW = $clog2(DataW / 8);
  localparam int unsigned AddrW = sq_pkg::ADDR_W;
  logic [AddrW-1:0] addr, next_addr;
  logic [31:0] left, next_left, beats, end_of_burst;
  logic [7:0] len;
  logic [8:0] next_limit;
  logic last;
  assign addr = (addr_i >> SizeW) << SizeW;
  assign left = left_i == '0 ? 32'd1 : left_i;
  sq_dma_burst #(.DataW(DataW), .AddrW(AddrW), .CountW(32), .MaxBurst(MaxBurst)) dut (
    .addr_i(addr), .left_i(left), .limit_i(sq_pkg::burst_limit(addr[11:0], SizeW, MaxBurst)), .len_o(len), .last_o(last),
    .next_addr_o(next_addr), .next_left_o(next_left), .next_limit_o(next_limit)
  );
  assign beats = 32'(len) + 32'd1;
  assign end_of_burst = 32'(addr[11:0]) + (beats << SizeW);
  always_comb begin
    InPage : assert (end_of_burst <= 32'd4096);
    Short : assert (beats <= MaxBurst && beats <= left);
    Longest : assert (beats == MaxBurst || beats == left || end_of_burst == 32'd4096);
    Follows : assert ((last || next_addr == addr + AddrW'(beats << SizeW)) && next_left == left - beats);
    Last : assert (last == (next_left == '0));
    Limit : assert (next_limit == sq_pkg::burst_limit(next_addr[11:0], SizeW, MaxBurst));
  end
endmodule
