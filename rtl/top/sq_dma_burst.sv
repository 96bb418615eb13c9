// SPDX-License-Identifier: Apache-2.0
// The next burst of a transfer: as many beats as are left, at most MaxBurst, and none beyond the end of
// the 4 KiB page in which it begins.
module sq_dma_burst #(
  parameter  int unsigned DataW = 64,
  parameter  int unsigned AddrW = 32,
  parameter  int unsigned CountW = 16,
  parameter  int unsigned MaxBurst = 256
) (
  input  logic [AddrW-1:0]  addr_i,  // of whole beats
  input  logic [CountW-1:0] left_i,  // beats, >= 1
  output logic [7:0]        len_o,  // beats of the burst, less 1, as AXI has it
  output logic              last_o,  // nothing is left behind it
  output logic [AddrW-1:0]  next_addr_o,
  output logic [CountW-1:0] next_left_o
);

  localparam int unsigned Bytes = DataW / 8;
  localparam int unsigned SizeW = $clog2(Bytes);
  localparam int unsigned PageW = 12 - SizeW;  // bits of a beat's number in its page
  localparam int unsigned RoomW = (PageW + 1 > 9) ? PageW + 1 : 9;
  localparam int unsigned LeftW = (CountW > RoomW) ? CountW : RoomW;
  if (DataW != 8 << SizeW || SizeW > 7 || AddrW < 12 || MaxBurst < 1 || MaxBurst > 256) begin : gen_bad
    $error("DataW = 8, 16, 32, ... 1024, AddrW >= 12, MaxBurst = 1..256");
  end

  logic [RoomW-1:0] room, limit, n;
  assign room = (RoomW'(1) << PageW) - RoomW'(addr_i[11:SizeW]);
  assign limit = (room < RoomW'(MaxBurst)) ? room : RoomW'(MaxBurst);
  assign last_o = LeftW'(left_i) <= LeftW'(limit);
  assign n = last_o ? RoomW'(left_i) : limit;
  assign len_o = 8'(n - 1'b1);
  assign next_addr_o = addr_i + (AddrW'(n) << SizeW);
  assign next_left_o = left_i - CountW'(n);

endmodule
