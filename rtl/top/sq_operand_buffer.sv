// SPDX-License-Identifier: Apache-2.0
// Operands between memory and engine: two halves, each a memory of one port. While jobs read one half,
// beats fill the other one.
//
//   fill  beats go to the places 0, 1, 2, ... of a half; the one with in_last_i completes it. Halves are
//         filled in turn, and a half takes beats only while it is empty.
//   job   three nested counters, row tiles, column tiles within them, beats within those, make the places
//           base + row * row_stride + col * col_stride + beat * beat_stride     modulo 2^AddrW
//         of the half whose turn it is, one a cycle, once that half is complete. With job_keep_i the half
//         stays for the next job; otherwise it is empty when the job has read its last place, and the
//         other half's turn comes.
//   out   a beat as it was filled in; out_last_o: the last of a column tile. Their number never depends on errors.
//   error a beat that was read two cycles ago was poisoned (in_poison_i), or the memory has lost a bit of it: one
//         cycle after it was first offered, whether it has been taken or waits.
//
// A job may be taken in the cycle in which the one before it reads its last place, so that beats leave in
// every cycle. A place is read in one cycle and offered in the next one; when the engine stalls, the beat
// that comes out of the memory, and the one behind it, wait in two registers (the skid).
// A reset empties both halves and ends the job.
`include "sq_assert.svh"

module sq_operand_buffer #(
  parameter  int unsigned Width = 64,  // bits of a beat, whole bytes
  parameter  int unsigned Depth = 256,  // beats of a half
  parameter  int unsigned CountW = 16,  // bits of the counters
  parameter  int unsigned Macro = 0,  // sq_sram
  localparam int unsigned AddrW = $clog2(Depth)
) (
  input  logic              clk_i, rst_ni,
  // jobs; all counts >= 1
  input  logic              job_valid_i,
  output logic              job_ready_o,
  input  logic [AddrW-1:0]  job_base_i,
  input  logic [CountW-1:0] job_rows_i, job_cols_i, job_beats_i,
  input  logic [AddrW-1:0]  job_row_stride_i, job_col_stride_i, job_beat_stride_i,
  input  logic              job_keep_i,
  // fill
  input  logic              in_valid_i,
  output logic              in_ready_o,
  input  logic [Width-1:0]  in_data_i,
  input  logic              in_poison_i, in_last_i,
  // beats
  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic [Width-1:0]  out_data_o,
  output logic              out_last_o, error_o
);

  if (Depth < 2) begin : gen_bad
    $error("Depth >= 2");
  end

  // ---- halves -----------------------------------------------------------------------------------
  logic [1:0] full_q;
  logic fill_half_q, read_half_q;
  logic [AddrW-1:0] fill_q;  // the place that the next beat goes to
  logic fill, half_in, read, half_out;

  assign in_ready_o = !full_q[fill_half_q];
  assign fill = in_valid_i && in_ready_o;
  assign half_in = fill && in_last_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      full_q <= 2'b00;
      fill_half_q <= 1'b0;
      read_half_q <= 1'b0;
      fill_q <= '0;
    end else begin
      full_q <= (full_q | {half_in && fill_half_q, half_in && !fill_half_q}) &
                ~{half_out && read_half_q, half_out && !read_half_q};
      if (fill) fill_q <= half_in ? '0 : fill_q + 1'b1;
      if (half_in) fill_half_q <= !fill_half_q;
      if (half_out) read_half_q <= !read_half_q;
    end
  end

  // ---- the job ----------------------------------------------------------------------------------
  logic busy_q, keep_q;
  logic [CountW-1:0] row_q, col_q, beat_q, cols_q, beats_q;  // left behind this one; of the job, less 1
  logic [AddrW-1:0] place_q, col_place_q, row_place_q;  // of the beat, of the first one of each tile
  logic [AddrW-1:0] row_stride_q, col_stride_q, beat_stride_q, next_col, next_row;
  logic beat_end, col_end, job_end, job_in;
  logic coming_q;  // the word that was read a cycle ago
  logic [1:0] waiting_q;  // beats in the skid

  assign beat_end = beat_q == '0;
  assign col_end = beat_end && col_q == '0;
  assign job_end = col_end && row_q == '0;
  // Room for it in the skid, even if nothing leaves.
  assign read = busy_q && full_q[read_half_q] && waiting_q + 2'(coming_q) < 2'd2;
  assign half_out = read && job_end && !keep_q;
  assign job_ready_o = !busy_q || (read && job_end);
  assign job_in = job_valid_i && job_ready_o;
  assign next_col = col_place_q + col_stride_q;
  assign next_row = row_place_q + row_stride_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else if (job_ready_o) busy_q <= job_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (job_in) begin
      keep_q <= job_keep_i;
      row_q <= job_rows_i - 1'b1;
      col_q <= job_cols_i - 1'b1;
      beat_q <= job_beats_i - 1'b1;
      cols_q <= job_cols_i - 1'b1;
      beats_q <= job_beats_i - 1'b1;
      place_q <= job_base_i;
      col_place_q <= job_base_i;
      row_place_q <= job_base_i;
      row_stride_q <= job_row_stride_i;
      col_stride_q <= job_col_stride_i;
      beat_stride_q <= job_beat_stride_i;
    end else if (read) begin
      beat_q <= beat_end ? beats_q : beat_q - 1'b1;
      if (beat_end) col_q <= col_end ? cols_q : col_q - 1'b1;
      if (col_end) row_q <= row_q - 1'b1;
      place_q <= col_end ? next_row : beat_end ? next_col : place_q + beat_stride_q;
      if (beat_end) col_place_q <= col_end ? next_row : next_col;
      if (col_end) row_place_q <= next_row;
    end
  end

  // ---- the memories -----------------------------------------------------------------------------
  logic [2*Width-1:0] word;  // of each half
  logic [1:0] wrong;
  for (genvar h = 0; h < 2; h++) begin : gen_half
    logic writes, reads;
    assign writes = fill && fill_half_q == 1'(h);
    assign reads = read && read_half_q == 1'(h);
    sq_sram #(.Width(Width), .Depth(Depth), .Macro(Macro)) u_sram (
      .clk_i, .en_i(writes || reads), .write_i(writes), .addr_i(writes ? fill_q : place_q),
      .data_i(in_data_i), .poison_i(in_poison_i),
      .data_o(word[h*Width +: Width]), .error_o(wrong[h])
    );
  end

  // ---- the skid ---------------------------------------------------------------------------------
  localparam int unsigned BeatW = Width + 1;  // last, data
  logic coming_half_q, coming_last_q, came_q, came_half_q, out_fire, keep_first;
  logic [BeatW-1:0] coming, first_q, second_q;

  assign coming = {coming_last_q, coming_half_q ? word[Width +: Width] : word[0 +: Width]};
  assign out_valid_o = coming_q || waiting_q != 2'd0;
  assign {out_last_o, out_data_o} = waiting_q != 2'd0 ? first_q : coming;
  assign out_fire = out_valid_o && out_ready_i;
  assign error_o = came_q && wrong[came_half_q];
  assign keep_first = waiting_q == 2'd2 || (waiting_q == 2'd1 && !out_fire);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      coming_q <= 1'b0;
      came_q <= 1'b0;
      waiting_q <= 2'd0;
    end else begin
      coming_q <= read;
      came_q <= coming_q;
      waiting_q <= waiting_q + 2'(coming_q) - 2'(out_fire);
    end
  end

  always_ff @(posedge clk_i) begin
    if (read) begin
      coming_half_q <= read_half_q;
      coming_last_q <= beat_end;
    end
    came_half_q <= coming_half_q;
    if (!keep_first) first_q <= coming;
    else if (out_fire) first_q <= second_q;
    if (coming_q) second_q <= coming;
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_data_o, out_last_o})
  `SQ_ASSERT(FillFits, !fill || in_last_i || fill_q != AddrW'(Depth - 1))
  `SQ_ASSERT(SomeBeats, !job_in || (job_rows_i != '0 && job_cols_i != '0 && job_beats_i != '0))

endmodule
