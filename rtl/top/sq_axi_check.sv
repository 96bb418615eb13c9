// SPDX-License-Identifier: Apache-2.0
// What an AXI4 manager with up to Writes bursts of writes in flight must keep, as assertions; nothing is driven. It only
// watches, in simulation and in proofs. An address of a write is shown when all beats of those before have gone.
`include "sq_assert.svh"

module sq_axi_check #(
  parameter int unsigned DataW = 64,
  parameter int unsigned AddrW = 32,
  parameter int unsigned MaxBurst = 256,
  parameter int unsigned Writes = 1
) (
  input logic               clk_i, rst_ni,
  // read addresses
  input logic               ar_valid_i,
  input logic               ar_ready_i,
  input logic [AddrW-1:0]   ar_addr_i,
  input logic [7:0]         ar_len_i,
  input logic [2:0]         ar_size_i,
  input logic [1:0]         ar_burst_i,
  // write addresses
  input logic               aw_valid_i,
  input logic               aw_ready_i,
  input logic [AddrW-1:0]   aw_addr_i,
  input logic [7:0]         aw_len_i,
  input logic [2:0]         aw_size_i,
  input logic [1:0]         aw_burst_i,
  // write data
  input logic               w_valid_i,
  input logic               w_ready_i,
  input logic [DataW-1:0]   w_data_i,
  input logic [DataW/8-1:0] w_strb_i,
  input logic               w_last_i,
  // write responses
  input logic               b_valid_i,
  input logic               b_ready_i
);

  localparam int unsigned SizeW = $clog2(DataW / 8);
  if (DataW != 8 << SizeW || SizeW > 7 || MaxBurst < 1 || MaxBurst > 256) begin : gen_bad
    $error("DataW = 8, 16, 32, ... 1024, MaxBurst = 1..256");
  end

  // The last byte of a burst lies in the page of the first one.
  logic ar_in_page, aw_in_page, ar_whole, aw_whole;
  assign ar_in_page = 21'(ar_addr_i[11:0]) + ((21'(ar_len_i) + 21'd1) << SizeW) <= 21'd4096;
  assign aw_in_page = 21'(aw_addr_i[11:0]) + ((21'(aw_len_i) + 21'd1) << SizeW) <= 21'd4096;
  assign ar_whole = (ar_addr_i >> SizeW) << SizeW == ar_addr_i;
  assign aw_whole = (aw_addr_i >> SizeW) << SizeW == aw_addr_i;

  // Writes in flight: the last one's address is shown, its beats go; then its response is owed as those before it.
  localparam int unsigned OpenW = $clog2(Writes + 1);
  logic shown_q, open_q;  // the address was shown before this cycle, and beats were to go
  logic [OpenW-1:0] owed_q;  // responses of those whose address was shown before this cycle
  logic [7:0] beat_q, len_q;
  logic aw_begins, w_fire, b_fire, open;
  logic [7:0] len;
  assign aw_begins = aw_valid_i && !shown_q;
  assign open = open_q || aw_begins;
  assign len = aw_begins ? aw_len_i : len_q;
  assign w_fire = w_valid_i && w_ready_i;
  assign b_fire = b_valid_i && b_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      shown_q <= 1'b0;
      open_q <= 1'b0;
      owed_q <= '0;
      beat_q <= '0;
    end else begin
      shown_q <= aw_valid_i && !aw_ready_i;
      open_q <= open && !(w_fire && w_last_i);
      owed_q <= owed_q + OpenW'(aw_begins) - OpenW'(b_fire);
      if (w_fire) beat_q <= w_last_i ? '0 : beat_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (aw_begins) len_q <= aw_len_i;
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(ArHeld, ar_valid_i, ar_ready_i, {ar_addr_i, ar_len_i, ar_size_i, ar_burst_i})
  `SQ_HELD(AwHeld, aw_valid_i, aw_ready_i, {aw_addr_i, aw_len_i, aw_size_i, aw_burst_i})
  `SQ_HELD(WHeld, w_valid_i, w_ready_i, {w_data_i, w_strb_i, w_last_i})
  `SQ_ASSERT(ArInPage, !ar_valid_i || ar_in_page)
  `SQ_ASSERT(AwInPage, !aw_valid_i || aw_in_page)
  `SQ_ASSERT(ArShort, !ar_valid_i || 9'(ar_len_i) < 9'(MaxBurst))
  `SQ_ASSERT(AwShort, !aw_valid_i || 9'(aw_len_i) < 9'(MaxBurst))
  `SQ_ASSERT(ArWhole, !ar_valid_i || (ar_whole && ar_size_i == 3'(SizeW) && ar_burst_i == 2'b01))
  `SQ_ASSERT(AwWhole, !aw_valid_i || (aw_whole && aw_size_i == 3'(SizeW) && aw_burst_i == 2'b01))
  `SQ_ASSERT(FewWrites, !aw_begins || owed_q != OpenW'(Writes))
  `SQ_ASSERT(WritesInOrder, !aw_begins || !open_q)
  `SQ_ASSERT(DataOfWrite, !w_valid_i || open)
  `SQ_ASSERT(LastOfWrite, !w_valid_i || w_last_i == (beat_q == len))
  `SQ_ASSERT(ResponseOfWrite, !b_ready_i || owed_q > OpenW'(shown_q || open_q))

endmodule
