// SPDX-License-Identifier: Apache-2.0
// Gives the sequencer one descriptor after the other: that of a start, or those of the ring in memory, from HEAD up to
// TAIL. A slot of the ring has 128 bytes: a descriptor, and a record that is written when its layer has ended.
//
//   start_i   runs the descriptor at descriptor_i, without a record
//   ring_i    runs what the ring has; it stays high until done_o
//   layer     run_o is high while the sequencer works. Its end is end_o, behind the record where there is one.
//   abort_i   ends the layer that runs, and the ring behind it. After watchdog_i cycles (0: never) a layer ends, too,
//             and the ring goes on. What is under way on the bus comes to its end (drain_o, until dma_idle_i); then
//             all but DMA and registers is reset (core_rst_no, of a flip-flop: it ends with the first clock after rst_ni).
//   done_o    nothing runs behind this cycle: the start's layer has ended, or the ring is at TAIL or was aborted.
`include "sq_assert.svh"

module sq_ring #(
  parameter int unsigned DataW = 64  // bits of a beat of the bus
) (
  input  logic             clk_i, rst_ni,
  // registers
  input  logic             start_i, ring_i, abort_i,
  input  logic             rewind_i,  // HEAD becomes 0; only while nothing runs
  input  logic [sq_pkg::ADDR_W-1:0] descriptor_i, base_i,
  input  logic [15:0]      size_i,  // slots
  input  logic [15:0]      tail_i,
  input  logic [31:0]      watchdog_i,
  output logic [15:0]      head_o,
  output logic             begin_o,  // of a layer
  output logic             run_o, end_o, done_o,
  output logic             notice_o,  // the interrupt
  output logic             aborting_o,
  output logic             aborted_o,  // the layer ends early
  output logic             expired_o,
  input  logic [511:0]     record_i,
  // sequencer
  output logic [sq_pkg::ADDR_W-1:0] descriptor_o,
  input  logic             layer_done_i,
  input  logic             layer_notice_i,  // an interrupt behind it
  // DMA: the transfer of the record, and its beats
  output logic             dma_valid_o,
  input  logic             dma_ready_i,
  output logic [sq_pkg::ADDR_W-1:0] dma_addr_o,
  output logic [31:0]      dma_beats_o,
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [DataW-1:0] out_data_o,
  input  logic             write_done_i,
  output logic             drain_o,
  input  logic             dma_idle_i,
  output logic             core_rst_no
);

  localparam int unsigned Beats = 512 / DataW;
  localparam int unsigned BeatW = (Beats > 1) ? $clog2(Beats) : 1;
  if (DataW < 16 || DataW > 512 || 512 % DataW != 0) begin : gen_bad
    $error("DataW = 16, 32, 64, ... 512");
  end

  typedef enum logic [2:0] {IDLE, LAYER, DRAIN, CLEAR, RECORD, WRITE, ANSWER} state_e;
  state_e state_q, state_d;
  logic from_ring_q, abort_q, cut_q;  // cut: the layer has ended early
`ifdef SYNTHESIS
  logic core_rst_q;
`else
  logic core_rst_q = 1'b1;  // a simulation that begins with a 0 would not see the first reset of the core as an edge
`endif
  logic [15:0] head_q, next_head;
  logic [31:0] watch_q;  // cycles of the layer
  logic [sq_pkg::ADDR_W-1:0] slot;
  logic [BeatW-1:0] beat_q;
  logic last_beat, more, cut, ends;

  assign next_head = (head_q + 1'b1 == size_i) ? '0 : head_q + 1'b1;
  assign more = next_head != tail_i && !abort_q;
  assign expired_o = cut && !abort_q;
  assign aborted_o = cut && abort_q;
  assign cut = state_q == LAYER && !layer_done_i && (abort_q || (watchdog_i != '0 && watch_q >= watchdog_i - 1'b1));
  assign ends = (state_q == LAYER && layer_done_i) || state_q == CLEAR;  // of the layer, before the record
  assign last_beat = out_ready_i && beat_q == BeatW'(Beats - 1);

  always_comb begin
    state_d = state_q;
    case (state_q)
      IDLE: if (start_i || ring_i) state_d = LAYER;
      LAYER: if (layer_done_i) state_d = from_ring_q ? RECORD : IDLE;
             else if (cut) state_d = DRAIN;
      DRAIN: if (dma_idle_i) state_d = CLEAR;
      CLEAR: state_d = from_ring_q ? RECORD : IDLE;
      RECORD: if (dma_ready_i) state_d = WRITE;
      WRITE: if (last_beat) state_d = ANSWER;
      default: if (write_done_i) state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= IDLE;
      core_rst_q <= 1'b0;
      abort_q <= 1'b0;
      head_q <= '0;
    end else begin
      state_q <= state_d;
      core_rst_q <= state_d != CLEAR;
      abort_q <= (abort_q || abort_i) && !done_o;
      if (rewind_i) head_q <= '0;
      else if (state_q == ANSWER && write_done_i) head_q <= next_head;
    end
  end
  always_ff @(posedge clk_i) begin
    if (begin_o) begin
      from_ring_q <= !start_i;
      watch_q <= '0;
      cut_q <= 1'b0;
    end else if (run_o) begin
      watch_q <= watch_q + 1'b1;
      cut_q <= cut;
    end
    beat_q <= (state_q == WRITE) ? beat_q + BeatW'(out_ready_i) : '0;
  end

  assign head_o = head_q;
  assign begin_o = state_q == IDLE && (start_i || ring_i);
  assign run_o = state_q == LAYER;
  assign end_o = (ends && !from_ring_q) || (state_q == ANSWER && write_done_i);
  assign done_o = end_o && !(from_ring_q && more);
  assign notice_o = done_o || (end_o && !cut_q && layer_notice_i);
  assign aborting_o = abort_q;
  assign drain_o = state_q == DRAIN;
  assign core_rst_no = core_rst_q;

  assign slot = base_i + sq_pkg::ADDR_W'({head_q, 7'd0});
  assign descriptor_o = start_i ? descriptor_i : slot;
  assign dma_valid_o = state_q == RECORD;
  assign dma_addr_o = {slot[sq_pkg::ADDR_W-1:7], 7'd64};
  assign dma_beats_o = 32'(Beats);
  assign out_valid_o = state_q == WRITE;
  assign out_data_o = DataW'(record_i >> (32'(beat_q) * DataW));

  `SQ_ASSERT_BEGIN
  `SQ_ASSERT(StartWhenIdle, !start_i || (state_q == IDLE && !ring_i))
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, out_data_o)

endmodule
