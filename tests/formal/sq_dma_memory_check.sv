// SPDX-License-Identifier: Apache-2.0
// sq_dma behind a memory that keeps the rules of AXI4 but takes any time: it answers what was asked, in order,
// with LAST on the last beat, any error among them. sq_stream_rules count beats of transfers: as many leave as were asked for, read
// or written, and none is stuck.
//
//   OpenBound       no more than Outstanding bursts are read at once
//   ReadOfRequest   a beat is taken only of a burst that was asked for
//   ReadTaken       a beat is taken in the cycle after the sink was ready, at the latest
//   AnswerTaken     a response is taken as soon as address and data have gone
//   WritesBound     no more than Writes bursts are written at once
//   LastUnderstood  with such a memory no LAST is ever wrong
module sq_dma_memory_check #(
  parameter int unsigned MaxBurst = 2,
  parameter int unsigned CountW = 2,  // transfers of 1 .. 2^CountW - 1 beats
  parameter int unsigned ReadInside = 12,
  parameter int unsigned ReadWait = 12,
  parameter int unsigned WriteInside = 8,
  parameter int unsigned WriteWait = 12,
  parameter int unsigned LiveWait = 12,
  parameter int unsigned Open = 2,
  parameter int unsigned Writes = 2,
  parameter int unsigned WritesOpen = 2
) (
  input logic        clk_i, job_valid_i, job_first_i, job_write_i,
  input logic [12:0] job_addr_i,
  input logic [CountW-1:0] job_beats_i,
  input logic        in_valid_i, out_ready_i, ar_ready_i, r_valid_i,
  input logic [1:0]  r_resp_i,
  input logic        aw_ready_i, w_ready_i, b_valid_i,
  input logic [1:0]  b_resp_i
);
  logic rst_n;
  initial rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic job_ready, in_ready, out_valid, ar_valid, r_valid, r_ready, r_last, aw_valid, w_valid, w_last, b_valid, b_ready;
  logic [2:0] out_status;
  logic [7:0] ar_len;
  logic [CountW-1:0] beats;
  assign beats = job_beats_i == '0 ? CountW'(1) : job_beats_i;
  sq_dma #(
    .DataW(8), .AddrW(13), .CountW(CountW), .DestW(1), .MaxBurst(MaxBurst), .Outstanding(2), .Writes(Writes), .Quiet(2)
  ) dut (
    .clk_i, .rst_ni(rst_n),
    .job_valid_i, .job_ready_o(job_ready), .job_first_i, .job_write_i, .job_addr_i,
    .job_beats_i(beats), .job_dest_i(1'b0),
    .in_valid_i, .in_ready_o(in_ready), .in_data_i(8'd0),
    .out_valid_o(out_valid), .out_ready_i, .out_data_o(), .out_dest_o(), .out_poison_o(),
    .out_last_o(), .out_status_o(out_status),
    .axi_ar_valid_o(ar_valid), .axi_ar_ready_i(ar_ready_i), .axi_ar_addr_o(), .axi_ar_len_o(ar_len),
    .axi_ar_size_o(), .axi_ar_burst_o(),
    .axi_r_valid_i(r_valid), .axi_r_ready_o(r_ready), .axi_r_data_i(8'd0), .axi_r_resp_i(r_resp_i),
    .axi_r_last_i(r_last),
    .axi_aw_valid_o(aw_valid), .axi_aw_ready_i(aw_ready_i), .axi_aw_addr_o(), .axi_aw_len_o(),
    .axi_aw_size_o(), .axi_aw_burst_o(),
    .axi_w_valid_o(w_valid), .axi_w_ready_i(w_ready_i), .axi_w_data_o(), .axi_w_strb_o(), .axi_w_last_o(w_last),
    .axi_b_valid_i(b_valid), .axi_b_ready_o(b_ready), .axi_b_resp_i(b_resp_i),
    .abort_i(1'b0), .idle_o(), .write_done_o(), .write_status_o()
  );

  // ---- memory: bursts whose addresses it has taken ------------------------------------------------
  logic [1:0] open_q;
  logic [7:0] len_q, next_len_q, beat_q;  // of the burst that is read, and of the one behind it
  logic ar_fire, r_fire, end_fire;
  assign ar_fire = ar_valid && ar_ready_i;
  assign r_valid = r_valid_i && open_q != '0;
  assign r_last = beat_q == len_q;
  assign r_fire = r_valid && r_ready;
  assign end_fire = r_fire && r_last;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      open_q <= '0;
      beat_q <= '0;
    end else begin
      open_q <= open_q + 2'(ar_fire) - 2'(end_fire);
      if (r_fire) beat_q <= r_last ? '0 : beat_q + 1'b1;
      if (end_fire) len_q <= next_len_q;
      if (ar_fire) begin
        next_len_q <= ar_len;
        if (open_q == 2'(end_fire)) len_q <= ar_len;
      end
    end
  end

  // ---- memory: the writes that it has to answer ---------------------------------------------------
  logic [1:0] addresses_q, bursts_q;  // that it has taken, and not answered
  logic whole;
  assign whole = addresses_q != '0 && bursts_q != '0;
  assign b_valid = b_valid_i && whole;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      addresses_q <= '0;
      bursts_q <= '0;
    end else begin
      addresses_q <= addresses_q + 2'(aw_valid && aw_ready_i) - 2'(b_valid && b_ready);
      bursts_q <= bursts_q + 2'(w_valid && w_ready_i && w_last) - 2'(b_valid && b_ready);
    end
  end

  // ---- beats of transfers -------------------------------------------------------------------------
  logic job_fire, all_offered;
  assign job_fire = job_valid_i && job_ready;
  assign all_offered = ar_ready_i && r_valid_i && aw_ready_i && w_ready_i && b_valid_i && in_valid_i;
  sq_stream_rules #(.Inside(ReadInside), .LostWait(ReadWait), .LiveWait(LiveWait), .OweW(CountW)) u_reads (
    .clk_i, .rst_ni(rst_n), .offered_i(job_valid_i && all_offered), .needed_i(all_offered),
    .in_fire_i(job_fire), .owe_i(job_write_i ? CountW'(0) : beats), .out_valid_i(out_valid), .out_ready_i
  );
  sq_stream_rules #(.Inside(WriteInside), .LostWait(WriteWait), .LiveWait(LiveWait), .OweW(CountW)) u_writes (
    .clk_i, .rst_ni(rst_n), .offered_i(job_valid_i && all_offered && out_ready_i), .needed_i(all_offered && out_ready_i),
    .in_fire_i(job_fire), .owe_i(job_write_i ? beats : CountW'(0)), .out_valid_i(w_valid), .out_ready_i(w_ready_i)
  );

  logic stuck_q;
  always_ff @(posedge clk_i) stuck_q <= rst_n && open_q != '0 && !r_ready && out_ready_i;
  always_comb begin
    if (rst_n) begin
      OpenBound : assert (open_q <= 2'(Open));
      ReadOfRequest : assert (!r_ready || open_q != '0 || ar_valid);
      ReadTaken : assert (!stuck_q || r_ready);
      AnswerTaken : assert (!whole || b_ready);
      WritesBound : assert (addresses_q <= 2'(WritesOpen) && bursts_q <= 2'(WritesOpen));
      LastUnderstood : assert (!out_valid || out_status < 3'd4);
    end
  end
endmodule
