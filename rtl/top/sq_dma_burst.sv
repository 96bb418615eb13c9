// SPDX-License-Identifier: Apache-2.0
// The next burst of a transfer: left_i beats, at most limit_i. limit_i is MaxBurst, or the beats to the end of the
// 4 KiB page if they are fewer; it comes with the address (sq_pkg::burst_limit), so that no sum waits for a
// comparison. The next_ outputs are valid while last_o is low.
module sq_dma_burst #(
  parameter  int unsigned DataW = 64,
  parameter  int unsigned AddrW = 32,
  parameter  int unsigned CountW = 16,
  parameter  int unsigned MaxBurst = 256
) (
  input  logic [AddrW-1:0]  addr_i,  // a multiple of a beat's bytes
  input  logic [CountW-1:0] left_i,  // beats, >= 1
  input  logic [8:0]        limit_i,  // of addr_i
  output logic [7:0]        len_o,  // beats of the burst less 1, as in AXI
  output logic              last_o,  // no burst follows
  output logic [AddrW-1:0]  next_addr_o,
  output logic [CountW-1:0] next_left_o,
  output logic [8:0]        next_limit_o
);

  localparam int unsigned Bytes = DataW / 8;
  localparam int unsigned SizeW = $clog2(Bytes);
  localparam int unsigned LeftW = (CountW > 9) ? CountW : 9;
  if (DataW != 8 << SizeW || SizeW > 7 || AddrW < 12 || MaxBurst < 1 || MaxBurst > 256) begin : gen_bad
    $error("DataW = 8, 16, 32, ... 1024, AddrW >= 12, MaxBurst = 1..256");
  end

  assign last_o = LeftW'(left_i) <= LeftW'(limit_i);
  assign len_o = (last_o ? 8'(left_i) : 8'(limit_i)) - 1'b1;
  assign next_addr_o = addr_i + (AddrW'(limit_i) << SizeW);
  assign next_left_o = last_o ? '0 : left_i - CountW'(limit_i);
  assign next_limit_o = sq_pkg::burst_limit(next_addr_o[11:0], SizeW, MaxBurst);

endmodule
