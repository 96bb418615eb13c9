// SPDX-License-Identifier: Apache-2.0
// Moves transfers between a memory behind AXI4 and streams of beats, in the order in which they come.
//
//   job   a transfer: job_beats_i whole beats from job_addr_i on, read from memory to the stream `out`
//         for buffer job_dest_i, or written (job_write_i) with the beats of the stream `in`. job_first_i:
//         it begins a new piece of work, see below.
//   read  INCR bursts of at most MaxBurst beats, none across 4 KiB, with up to Outstanding of them asked
//         ahead, over the ends of transfers as well. Beats leave in the order of the transfers.
//   write beside the reads: a burst begins when address and beats of the one before it have gone, with up to Writes of
//         them without their responses, over the ends of transfers as well. write_done_o is high for a cycle when a
//         transfer has its last response, with its status. A read does not wait for a write before it.
//
// An error never changes how many beats move. A beat that came with SLVERR or DECERR is poisoned, and
// the rest goes on. When LAST comes too early or does not come, nobody knows which beats are whose: from
// that beat on, all beats of this piece of work are poisoned and no more is asked for, until a transfer
// with job_first_i. That one begins when all reads before it have ended and, in this case, when Quiet
// cycles have passed without a beat; what comes meanwhile is dropped.
// out_status_o: the first error of the transfer up to this beat: 0, 2 SLVERR, 3 DECERR (as AXI has them),
// 4 LAST too early, 5 LAST too late. A response to a write that is an error is told by write_status_o.
// While abort_i is high nothing begins, and what has begun is brought to its end on the bus: beats that were asked for
// are taken, a burst that is written gets its beats, without strobes, and its response. idle_o says that no more is
// under way; abort_i stays until then, no transfer and no beat to write is offered, and beats that were read are taken.
// A reset forgets all transfers; the memory must be reset with it.
`include "sq_assert.svh"

module sq_dma #(
  parameter  int unsigned DataW = 64,  // 8, 16, 32, ... 1024
  parameter  int unsigned AddrW = 32,
  parameter  int unsigned CountW = 16,  // bits of the number of beats
  parameter  int unsigned DestW = 3,
  parameter  int unsigned MaxBurst = 256,  // 1..256
  parameter  int unsigned Outstanding = 4,  // bursts that are read at once, >= 2
  parameter  int unsigned Writes = 4,  // bursts that are written at once, 1..16
  parameter  int unsigned Quiet = 1024,  // longer than the memory ever waits between two beats
  localparam int unsigned Bytes = DataW / 8
) (
  input  logic              clk_i, rst_ni,
  // transfers
  input  logic              job_valid_i,
  output logic              job_ready_o,
  input  logic              job_first_i,
  input  logic              job_write_i,
  input  logic [AddrW-1:0]  job_addr_i,
  input  logic [CountW-1:0] job_beats_i,  // >= 1
  input  logic [DestW-1:0]  job_dest_i,
  // beats to write
  input  logic              in_valid_i,
  output logic              in_ready_o,
  input  logic [DataW-1:0]  in_data_i,
  // beats that were read
  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic [DataW-1:0]  out_data_o,
  output logic [DestW-1:0]  out_dest_o,
  output logic              out_poison_o,
  output logic              out_last_o,  // of the transfer
  output logic [2:0]        out_status_o,
  // AXI4, manager
  output logic              axi_ar_valid_o,
  input  logic              axi_ar_ready_i,
  output logic [AddrW-1:0]  axi_ar_addr_o,
  output logic [7:0]        axi_ar_len_o,
  output logic [2:0]        axi_ar_size_o,
  output logic [1:0]        axi_ar_burst_o,
  input  logic              axi_r_valid_i,
  output logic              axi_r_ready_o,
  input  logic [DataW-1:0]  axi_r_data_i,
  input  logic [1:0]        axi_r_resp_i,
  input  logic              axi_r_last_i,
  output logic              axi_aw_valid_o,
  input  logic              axi_aw_ready_i,
  output logic [AddrW-1:0]  axi_aw_addr_o,
  output logic [7:0]        axi_aw_len_o,
  output logic [2:0]        axi_aw_size_o,
  output logic [1:0]        axi_aw_burst_o,
  output logic              axi_w_valid_o,
  input  logic              axi_w_ready_i,
  output logic [DataW-1:0]  axi_w_data_o,
  output logic [Bytes-1:0]  axi_w_strb_o,
  output logic              axi_w_last_o,
  input  logic              axi_b_valid_i,
  output logic              axi_b_ready_o,
  input  logic [1:0]        axi_b_resp_i,
  // status
  input  logic              abort_i,
  output logic              idle_o,  // while abort_i is high
  output logic              write_done_o,
  output logic [2:0]        write_status_o
);

  // sq_dma_burst says which DataW and MaxBurst there are.
  if (Outstanding < 2 || Writes < 1 || Writes > 16 || Quiet < 1) begin : gen_bad
    $error("Outstanding >= 2, Writes = 1..16, Quiet >= 1");
  end

  localparam int unsigned QuietW = $clog2(Quiet + 1);

  // ---- the transfer whose bursts come next --------------------------------------------------------
  logic cur_q, first_q, write_q;
  logic [AddrW-1:0] addr_q, next_addr;
  logic [CountW-1:0] left_q, next_left;
  logic [8:0] limit_q, next_limit;  // beats of the next burst, at most
  logic [DestW-1:0] dest_q;
  logic [7:0] len;
  logic last_burst, may_start, issue, hand_over, broken, broken_q, slot_ready, slot_valid;
  logic [QuietW-1:0] quiet_q;

  assign job_ready_o = !cur_q;
  // The first transfer of a piece of work waits for the reads before it, and for silence after an error.
  assign may_start = !first_q || (!slot_valid && (!broken_q || quiet_q == QuietW'(Quiet)));
  assign broken = broken_q && !first_q;  // no more is asked for
  assign issue = cur_q && !write_q && may_start && slot_ready && (!axi_ar_valid_o || axi_ar_ready_i) && !abort_i;

  sq_dma_burst #(.DataW(DataW), .AddrW(AddrW), .CountW(CountW), .MaxBurst(MaxBurst)) u_read (
    .addr_i(addr_q), .left_i(left_q), .limit_i(limit_q), .len_o(len), .last_o(last_burst),
    .next_addr_o(next_addr), .next_left_o(next_left), .next_limit_o(next_limit)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cur_q <= 1'b0;
      axi_ar_valid_o <= 1'b0;
    end else begin
      if (job_ready_o) cur_q <= job_valid_i;
      else if (hand_over || (issue && last_burst) || abort_i) cur_q <= 1'b0;
      if (issue && !broken) axi_ar_valid_o <= 1'b1;
      else if (axi_ar_ready_i) axi_ar_valid_o <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (job_ready_o) begin
      first_q <= job_first_i;
      write_q <= job_write_i;
      addr_q <= job_addr_i;
      left_q <= job_beats_i;
      limit_q <= sq_pkg::burst_limit(job_addr_i[11:0], $clog2(Bytes), MaxBurst);
      dest_q <= job_dest_i;
    end else if (issue) begin
      first_q <= 1'b0;
      addr_q <= next_addr;
      left_q <= next_left;
      limit_q <= next_limit;
    end
    if (issue && !broken) begin
      axi_ar_addr_o <= addr_q;
      axi_ar_len_o <= len;
    end
  end

  // ---- beats that come -----------------------------------------------------------------------------
  // A slot for each burst that was asked for; while broken, for each that nobody asks for any more.
  localparam int unsigned SlotW = 8 + 1 + DestW;
  localparam int unsigned BeatW = DataW + DestW + 1 + 1 + 3;
  logic [7:0] slot_len, beat_q;
  logic slot_last, slot_end, beat_ready, beat, wrong, pad, poison;
  logic [DestW-1:0] slot_dest;
  logic [2:0] error, status, status_q, broken_status_q;

  sq_fifo #(.Width(SlotW), .Depth(Outstanding)) u_slots (
    .clk_i, .rst_ni,
    .in_valid_i(issue), .in_ready_o(slot_ready), .in_data_i({len, last_burst, dest_q}),
    .out_valid_o(slot_valid), .out_ready_i(beat && slot_end),
    .out_data_o({slot_len, slot_last, slot_dest})
  );

  assign slot_end = beat_q == slot_len;
  assign axi_r_ready_o = broken_q || (slot_valid && beat_ready);
  assign pad = broken_q && slot_valid;
  assign beat = slot_valid && beat_ready && (broken_q || axi_r_valid_i);
  assign wrong = !broken_q && axi_r_last_i != slot_end;
  assign error = broken_q ? broken_status_q :
                 wrong ? (axi_r_last_i ? 3'd4 : 3'd5) :
                 axi_r_resp_i[1] ? {1'b0, axi_r_resp_i} : 3'd0;
  assign status = (status_q != 3'd0) ? status_q : error;
  assign poison = error != 3'd0;

  sq_pipe_reg #(.Width(BeatW)) u_out (
    .clk_i, .rst_ni,
    .in_valid_i(beat), .in_ready_o(beat_ready),
    .in_data_i({pad ? DataW'(0) : axi_r_data_i, slot_dest, poison, slot_last && slot_end, status}),
    .out_valid_o, .out_ready_i,
    .out_data_o({out_data_o, out_dest_o, out_poison_o, out_last_o, out_status_o})
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beat_q <= '0;
      status_q <= 3'd0;
      broken_q <= 1'b0;
      quiet_q <= '0;
    end else begin
      if (beat) begin
        beat_q <= slot_end ? '0 : beat_q + 1'b1;
        status_q <= (slot_last && slot_end) ? 3'd0 : status;
      end
      if (idle_o) status_q <= 3'd0;
      if (beat && wrong) broken_q <= 1'b1;
      else if (cur_q && first_q && (issue || hand_over)) broken_q <= 1'b0;
      if (!broken_q || axi_ar_valid_o || axi_r_valid_i) quiet_q <= '0;
      else if (quiet_q != QuietW'(Quiet)) quiet_q <= quiet_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (beat && wrong) broken_status_q <= error;
  end

  // ---- writes ---------------------------------------------------------------------------------------
  localparam int unsigned OpenW = $clog2(Writes + 1);
  logic busy_q, data_q;  // a transfer has bursts that have not begun; beats of the last one that has are to go
  logic void_q;  // beats go without data
  logic [OpenW-1:0] open_q;  // bursts that have begun and have no response
  logic [Writes-1:0] ends_q;  // of each of these, the oldest first: it is the last of its transfer
  logic [AddrW-1:0] to_q, next_to;
  logic [CountW-1:0] to_left_q, next_to_left;
  logic [8:0] to_limit_q, next_to_limit;
  logic [7:0] to_len, data_left_q;
  logic data_valid, data_ready, begins, to_last, w_fire, w_ends, w_held, b_fire;
  logic [DataW-1:0] data;
  logic [2:0] write_status, write_status_q;

  assign hand_over = cur_q && write_q && may_start && !busy_q && !abort_i;
  assign begins = busy_q && (!data_q || w_ends) && (!axi_aw_valid_o || axi_aw_ready_i) &&
                  open_q != OpenW'(Writes) && !abort_i;
  assign axi_b_ready_o = open_q > OpenW'(data_q || axi_aw_valid_o);
  assign b_fire = axi_b_valid_i && axi_b_ready_o;
  assign write_status = (write_status_q != 3'd0 && !write_done_o) ? write_status_q :
                        axi_b_resp_i[1] ? {1'b0, axi_b_resp_i} : 3'd0;

  sq_dma_burst #(.DataW(DataW), .AddrW(AddrW), .CountW(CountW), .MaxBurst(MaxBurst)) u_write (
    .addr_i(to_q), .left_i(to_left_q), .limit_i(to_limit_q), .len_o(to_len), .last_o(to_last),
    .next_addr_o(next_to), .next_left_o(next_to_left), .next_limit_o(next_to_limit)
  );
  sq_pipe_reg #(.Width(DataW)) u_in (
    .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .in_data_i,
    .out_valid_o(data_valid), .out_ready_i(data_ready), .out_data_o(data)
  );
  assign axi_w_valid_o = data_q && (data_valid || void_q);
  assign axi_w_data_o = data & {DataW{!void_q}};
  assign axi_w_last_o = data_left_q == '0;
  assign axi_w_strb_o = {Bytes{!void_q}};
  assign data_ready = void_q || (data_q && axi_w_ready_i);
  assign w_fire = axi_w_valid_o && axi_w_ready_i;
  assign w_ends = w_fire && axi_w_last_o;
  assign w_held = axi_w_valid_o && !axi_w_ready_i;  // a beat that is offered stays as it is
  assign idle_o = void_q && abort_i && !cur_q && !axi_ar_valid_o && !slot_valid && !out_valid_o &&
                  open_q == '0 && !busy_q && !data_valid;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      data_q <= 1'b0;
      void_q <= 1'b0;
      open_q <= '0;
      ends_q <= '0;
      axi_aw_valid_o <= 1'b0;
      write_done_o <= 1'b0;
      write_status_q <= 3'd0;
    end else begin
      void_q <= (abort_i && !w_held) || (void_q && data_q);
      if (hand_over) busy_q <= 1'b1;
      else if ((begins && to_last) || abort_i) busy_q <= 1'b0;
      if (begins) axi_aw_valid_o <= 1'b1;
      else if (axi_aw_ready_i) axi_aw_valid_o <= 1'b0;
      if (begins) data_q <= 1'b1;
      else if (w_ends) data_q <= 1'b0;
      open_q <= open_q + OpenW'(begins) - OpenW'(b_fire);
      ends_q <= (ends_q >> b_fire) | (Writes'(begins && to_last) << (open_q - OpenW'(b_fire)));
      write_done_o <= b_fire && ends_q[0];
      if (b_fire) write_status_q <= write_status;
      else if (write_done_o || idle_o) write_status_q <= 3'd0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (hand_over) begin
      to_q <= addr_q;
      to_left_q <= left_q;
      to_limit_q <= limit_q;
    end else if (begins) begin
      to_q <= next_to;
      to_left_q <= next_to_left;
      to_limit_q <= next_to_limit;
    end
    if (begins) begin
      axi_aw_addr_o <= to_q;
      axi_aw_len_o <= to_len;
      data_left_q <= to_len;
    end else if (w_fire) data_left_q <= data_left_q - 1'b1;
  end
  assign write_status_o = write_done_o ? write_status_q : 3'd0;

  localparam logic [2:0] Size = 3'($clog2(Bytes));
  assign axi_ar_size_o = Size;
  assign axi_aw_size_o = Size;
  assign axi_ar_burst_o = 2'b01;
  assign axi_aw_burst_o = 2'b01;

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i,
           {out_data_o, out_dest_o, out_poison_o, out_last_o, out_status_o})
  `SQ_ASSERT(SomeBeats, !(job_valid_i && job_ready_o) || job_beats_i != '0)
`ifndef SYNTHESIS
  sq_axi_check #(.DataW(DataW), .AddrW(AddrW), .MaxBurst(MaxBurst), .Writes(Writes)) u_check (
    .clk_i, .rst_ni,
    .ar_valid_i(axi_ar_valid_o), .ar_ready_i(axi_ar_ready_i), .ar_addr_i(axi_ar_addr_o),
    .ar_len_i(axi_ar_len_o), .ar_size_i(axi_ar_size_o), .ar_burst_i(axi_ar_burst_o),
    .aw_valid_i(axi_aw_valid_o), .aw_ready_i(axi_aw_ready_i), .aw_addr_i(axi_aw_addr_o),
    .aw_len_i(axi_aw_len_o), .aw_size_i(axi_aw_size_o), .aw_burst_i(axi_aw_burst_o),
    .w_valid_i(axi_w_valid_o), .w_ready_i(axi_w_ready_i), .w_data_i(axi_w_data_o),
    .w_strb_i(axi_w_strb_o), .w_last_i(axi_w_last_o),
    .b_valid_i(axi_b_valid_i), .b_ready_i(axi_b_ready_o)
  );
`endif

endmodule
