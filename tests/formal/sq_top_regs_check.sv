// SPDX-License-Identifier: Apache-2.0
// sq_top_regs between any host, one that keeps the rules of AXI4-Lite or not, and any layer:
//
//   u_reads, u_writes  sq_stream_rules: a response for each address that was taken, for each pair of address and data;
//                      none without them, none lost, none withdrawn
//   AddressKept        addresses and data are taken ahead of the other by one transfer at most
//   Answered           a response is OKAY or SLVERR, and is the same until it is taken (BHeld, RHeld)
//   PartsRefused       a write of less than a word is answered with SLVERR
//   CrookedRefused     a read between two registers is answered with SLVERR
//   InterruptKept      the end of a layer sets the interrupt state, also where a write clears it in that very cycle
//   RingBegins         a new TAIL that is not HEAD has begun the ring a cycle later
//   IdRead             the first register is read, and its value is the identity
module sq_top_regs_check #(
  parameter int unsigned Depth = 16,       // as the register BUFFER has it
  parameter int unsigned Ahead = 1,        // addresses without data, data without an address
  parameter int unsigned WriteInside = 2,  // writes that are not answered
  parameter int unsigned WriteWait = 2,    // cycles to a response
  parameter int unsigned WriteLive = 2     // cycles from one transfer to the next
) (
  input logic        clk_i, aw_valid_i,
  input logic [7:0]  aw_addr_i,
  input logic        w_valid_i,
  input logic [31:0] w_data_i,
  input logic [3:0]  w_strb_i,
  input logic        b_ready_i, ar_valid_i,
  input logic [7:0]  ar_addr_i,
  input logic        r_ready_i, done_i,
  input logic [15:0] head_i, event_i
);
  logic rst_n;
  initial rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic aw_ready, w_ready, b_valid, ar_ready, r_valid, start, busy_q;
  logic [1:0] b_resp, r_resp;
  logic [31:0] r_data;
  logic ring, rewind;
  logic [15:0] tail;
  sq_top_regs #(.ActDepth(Depth)) dut (
    .clk_i, .rst_ni(rst_n),
    .lite_aw_valid_i(aw_valid_i), .lite_aw_ready_o(aw_ready), .lite_aw_addr_i(aw_addr_i),
    .lite_w_valid_i(w_valid_i), .lite_w_ready_o(w_ready), .lite_w_data_i(w_data_i), .lite_w_strb_i(w_strb_i),
    .lite_b_valid_o(b_valid), .lite_b_ready_i(b_ready_i), .lite_b_resp_o(b_resp),
    .lite_ar_valid_i(ar_valid_i), .lite_ar_ready_o(ar_ready), .lite_ar_addr_i(ar_addr_i),
    .lite_r_valid_o(r_valid), .lite_r_ready_i(r_ready_i), .lite_r_data_o(r_data), .lite_r_resp_o(r_resp),
    .irq_o(), .start_o(start), .descriptor_o(), .ring_o(ring), .abort_o(), .rewind_o(rewind), .base_o(), .size_o(), .tail_o(tail),
    .watchdog_o(), .head_i(head_i), .begin_i(start), .end_i(done_i && busy_q), .done_i(done_i && busy_q),
    .notice_i(done_i && busy_q), .aborting_i(event_i[15]), .run_i(busy_q), .record_o(), .aborted_i(event_i[15]),
    .expired_i(event_i[15]),
    .refused_i(event_i[0]), .operand_i(event_i[1]), .read_status_i(event_i[4:2]), .write_status_i(event_i[7:5]),
    .engine_i(event_i[10:8]), .busy_i(event_i[11]), .wait_i(event_i[12]), .read_i(event_i[13]), .write_i(event_i[14]),
    .read_wait_i(event_i[12]), .read_full_i(event_i[13]), .write_wait_i(event_i[14])
  );
  always_ff @(posedge clk_i) busy_q <= rst_n && (start || (busy_q && !done_i));  // a layer ends once

  // ---- writes: an address and its data are a pair, in the order of both ---------------------------
  logic [1:0] aw_q, w_q;  // taken, of no pair yet
  logic aw_fire, w_fire, pair;
  assign aw_fire = aw_valid_i && aw_ready;
  assign w_fire = w_valid_i && w_ready;
  assign pair = (aw_q != '0 || aw_fire) && (w_q != '0 || w_fire);
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      aw_q <= '0;
      w_q <= '0;
    end else begin
      aw_q <= aw_q + 2'(aw_fire) - 2'(pair);
      w_q <= w_q + 2'(w_fire) - 2'(pair);
    end
  end
  sq_stream_rules #(.Inside(WriteInside), .LostWait(WriteWait), .LiveWait(WriteLive)) u_writes (
    .clk_i, .rst_ni(rst_n), .offered_i(aw_valid_i && w_valid_i), .needed_i(1'b1), .in_fire_i(pair), .owe_i(1'b1),
    .out_valid_i(b_valid), .out_ready_i(b_ready_i)
  );
  sq_stream_rules #(.Inside(1), .LostWait(1), .LiveWait(1)) u_reads (
    .clk_i, .rst_ni(rst_n), .offered_i(ar_valid_i), .needed_i(1'b1), .in_fire_i(ar_valid_i && ar_ready), .owe_i(1'b1),
    .out_valid_i(r_valid), .out_ready_i(r_ready_i)
  );

  // The strobes of writes without a response, the oldest first; the last address that was read.
  logic [2:0] whole_q, whole;  // with a new one at its place
  logic [1:0] data_q, place;   // data taken, not yet answered
  logic b_fire;
  logic [7:0] addr_q;
  logic end_q, behind_end_q;  // a layer ended a cycle ago; did when the last address was taken
  assign b_fire = b_valid && b_ready_i;
  assign place = data_q - 2'(b_fire);
  always_comb begin
    whole = b_fire ? whole_q >> 1 : whole_q;
    if (w_fire) whole[place] = w_strb_i == 4'hf;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_n) data_q <= '0;
    else data_q <= data_q + 2'(w_fire) - 2'(b_fire);
    whole_q <= whole;
    if (ar_valid_i && ar_ready) addr_q <= ar_addr_i;
    end_q <= rst_n && done_i && busy_q;
    if (ar_valid_i && ar_ready) behind_end_q <= end_q;
  end

  logic [15:0] tail_q;  // as it was a cycle ago, or set up anew
  logic bell_q;
  always_ff @(posedge clk_i) begin
    tail_q <= rst_n && !rewind ? tail : '0;
    bell_q <= rst_n && tail != tail_q && tail != head_i;
  end

  always_comb begin
    if (rst_n) begin
      RingBegins : assert (!bell_q || ring);
      AddressKept : assert (aw_q <= 2'(Ahead) && w_q <= 2'(Ahead));
      Answered : assert (!(b_valid && b_resp[0]) && !(r_valid && r_resp[0]));
      PartsRefused : assert (!b_valid || whole_q[0] || b_resp == 2'b10);
      CrookedRefused : assert (!r_valid || addr_q[1:0] == 2'b00 || (r_resp == 2'b10 && r_data == '0));
      InterruptKept : assert (!r_valid || addr_q != {6'(sq_regs_pkg::REG_IRQ_STATE), 2'b00} || !behind_end_q || r_data[0]);
      IdRead : assert (!r_valid || addr_q != '0 || (r_resp == 2'b00 && r_data == sq_regs_pkg::ID_VALUE));
    end
  end
endmodule
