// SPDX-License-Identifier: Apache-2.0
// Index collector of SpQt (SPEC G.2, G.6): segments of SegLen activations in, the columns with
// |x| >= theta out, ascending, up to Lanes of them a beat. A beat gives each of Lanes workers one
// column, so they differ by at most one; for the contiguous slices of SPEC G.7 the beats go to a
// memory that is Lanes wide, and the last one carries n_ns.
//
//   S1  threshold: magnitudes compare as unsigned numbers, INT8 |code| or FP16 without its sign
//   S2  prefix count of the elements that are not kept, in log2(SegLen) steps; it says how far each
//       kept one moves down, which it does by 1, 2, 4, ... and so never collides (sq_gather_sel)
//   S3  buffer: the compact lanes go behind the indices that stay. It takes a segment when fewer
//       than Lanes stay. An index is {segment, lane}, so that only log2(SegLen) bits move.
// Latency 3, a segment per cycle where no more than Lanes are kept in each. A full beat leaves at
// once; the last segment completes the last beat, which may be empty.
`include "sq_assert.svh"

module sq_spqt_idx #(
  parameter  int unsigned SegLen = 32,  // a power of two, 8..64
  parameter  int unsigned Lanes = 8,  // indices of a beat, 1..64
  parameter  int unsigned Fp16 = 0,  // 1: FP16 patterns; 0: INT8 codes
  parameter  int unsigned IndexW = 16,  // columns of a vector <= 2^IndexW
  localparam int unsigned XW = (Fp16 != 0) ? 16 : 8,
  localparam int unsigned MagW = (Fp16 != 0) ? 15 : 8,
  localparam int unsigned CountW = $clog2(Lanes + 1)
) (
  input  logic                    clk_i, rst_ni,
  // a segment
  input  logic                    in_valid_i,
  output logic                    in_ready_o,
  input  logic [SegLen*XW-1:0]    in_x_i,      // element 0 in the low bits
  input  logic [MagW-1:0]         in_theta_i,  // threshold of this segment's vector
  input  logic                    in_last_i,   // ends the vector
  // indices
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic [Lanes*IndexW-1:0] out_index_o,  // 0 beyond n
  output logic [CountW-1:0]       out_n_o,
  output logic [IndexW:0]         out_total_o,  // indices of the vector up to this beat
  output logic                    out_last_o,   // the vector ends
  output logic                    out_error_o   // with last: an x was illegal (-128, infinity, NaN)
                                                // or the vector longer than 2^IndexW
);

  localparam int unsigned LocalW = $clog2(SegLen);
  if (SegLen < 8 || SegLen > 64 || SegLen != (1 << LocalW)) begin : gen_bad_segment
    $error("SegLen is 8, 16, 32 or 64");
  end
  if (Lanes < 1 || Lanes > 64 || IndexW < LocalW + 1) begin : gen_bad_lanes
    $error("1 <= Lanes <= 64, IndexW > log2(SegLen)");
  end

  localparam int unsigned SegmentW = IndexW - LocalW;
  localparam int unsigned RankW = $clog2(SegLen + 1);  // 0..SegLen
  localparam int unsigned Places = Lanes - 1 + SegLen;
  localparam int unsigned HeldW = $clog2(Places + 1);

  // ---- stages -----------------------------------------------------------------------------------
  logic valid_q, valid_q2, takes, moves, moves2;
  assign moves2 = !valid_q2 || takes;
  assign moves = !valid_q || moves2;
  assign in_ready_o = moves;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      valid_q2 <= 1'b0;
    end else begin
      if (moves) valid_q <= in_valid_i;
      if (moves2) valid_q2 <= valid_q;
    end
  end

  // ---- S1 ---------------------------------------------------------------------------------------
  logic [SegLen-1:0] keep, illegal, keep_q;
  logic [SegmentW:0] segment_q;  // of the next one; the top bit stays once it is set
  logic [SegmentW-1:0] segment_q1;
  logic last_q, error_q;

  for (genvar i = 0; i < SegLen; i++) begin : gen_threshold
    logic [MagW-1:0] magnitude;
    if (Fp16 != 0) begin : gen_half
      wire unused_sign = in_x_i[i*XW+15];
      assign magnitude = in_x_i[i*XW +: 15];
      assign illegal[i] = &in_x_i[i*XW+10 +: 5];
    end else begin : gen_byte
      assign magnitude = in_x_i[i*XW+7] ? -in_x_i[i*XW +: 8] : in_x_i[i*XW +: 8];
      assign illegal[i] = in_x_i[i*XW +: 8] == 8'h80;
    end
    assign keep[i] = magnitude >= in_theta_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) segment_q <= '0;
    else if (in_valid_i && moves) begin
      if (in_last_i) segment_q <= '0;
      else segment_q <= {segment_q[SegmentW], {SegmentW{1'b0}}} |
                        (segment_q + (SegmentW + 1)'(1));
    end
  end

  always_ff @(posedge clk_i) begin
    if (moves) begin
      keep_q <= keep;
      segment_q1 <= segment_q[SegmentW-1:0];
      last_q <= in_last_i;
      error_q <= |illegal || segment_q[SegmentW];
    end
  end

  // ---- S2 ---------------------------------------------------------------------------------------
  logic [SegLen*LocalW-1:0] lane, lane_q2;  // compact: the element that comes to each place
  logic [RankW-1:0] n_q2;
  logic [SegmentW-1:0] segment_q2;
  logic last_q2, error_q2;

  logic [RankW-1:0] gap[SegLen];  // elements up to this one that are not kept
  logic [SegLen-1:0] held;
  logic [LocalW-1:0] travel[SegLen];  // of the element that stands here, from where it came
  logic take;
  // Both loops update in place: a step reads only what it does not change, or changes later.
  always_comb begin
    for (int unsigned i = 0; i < SegLen; i++) gap[i] = RankW'(!keep_q[i]);
    for (int unsigned s = 0; s < LocalW; s++) begin
      for (int unsigned i = 0; i < SegLen; i++) begin
        if (((i >> s) & 1) != 0) gap[i] = gap[i] + gap[((i>>s)<<s)-1];
      end
    end
    held = keep_q;
    for (int unsigned i = 0; i < SegLen; i++) travel[i] = gap[i][LocalW-1:0];
    for (int unsigned s = 0; s < LocalW; s++) begin
      for (int unsigned j = 0; j < SegLen; j++) begin
        take = 1'b0;
        if (j + (1 << s) < SegLen) take = held[j+(1<<s)] && travel[j+(1<<s)][s];
        held[j] = take || (held[j] && !travel[j][s]);
        if (take) travel[j] = travel[j+(1<<s)];
      end
    end
    for (int unsigned j = 0; j < SegLen; j++) lane[j*LocalW +: LocalW] = LocalW'(j) + travel[j];
  end

  always_ff @(posedge clk_i) begin
    if (moves2) begin
      lane_q2 <= lane;
      n_q2 <= RankW'(SegLen) - gap[SegLen-1];
      segment_q2 <= segment_q1;
      last_q2 <= last_q;
      error_q2 <= error_q;
    end
  end

  // ---- S3 ---------------------------------------------------------------------------------------
  logic [HeldW-1:0] held_q, stay;  // indices in the buffer; those that stay there in this cycle
  logic held_last_q, held_error_q, ends, full, fire, push;
  logic [Places*IndexW-1:0] place_q, place;
  logic [IndexW:0] sent_q;  // indices of the vector that left

  assign full = held_q >= HeldW'(Lanes);
  assign ends = held_last_q && held_q <= HeldW'(Lanes);
  assign out_valid_o = held_last_q || full;
  assign fire = out_valid_o && out_ready_i;
  assign stay = !fire ? held_q : ends ? '0 : held_q - HeldW'(Lanes);
  assign takes = !out_valid_o ||
                 (out_ready_i && (ends || (!held_last_q && stay < HeldW'(Lanes))));
  assign push = valid_q2 && takes;

  // Place p: one of the first `stay`, or the lane that stands p - stay in its segment.
  logic [Lanes-1:0] start;  // stay == t
  for (genvar t = 0; t < Lanes; t++) begin : gen_start
    assign start[t] = stay == HeldW'(t);
  end
  for (genvar p = 0; p < Places; p++) begin : gen_place
    logic [IndexW-1:0] kept;
    logic [LocalW-1:0] moved;
    if (p + Lanes < Places) begin : gen_shift
      assign kept = fire ? place_q[(p+Lanes)*IndexW +: IndexW] : place_q[p*IndexW +: IndexW];
    end else begin : gen_end
      assign kept = place_q[p*IndexW +: IndexW];
    end
    always_comb begin
      moved = '0;
      for (int unsigned t = (p < SegLen) ? 0 : p + 1 - SegLen; t < Lanes && t <= p; t++) begin
        moved = moved | (lane_q2[(p-t)*LocalW +: LocalW] & {LocalW{start[t]}});
      end
    end
    assign place[p*IndexW +: IndexW] = (HeldW'(p) < stay) ? kept : {segment_q2, moved};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      held_q <= '0;
      held_last_q <= 1'b0;
      held_error_q <= 1'b0;
      sent_q <= '0;
    end else begin
      held_q <= stay + (push ? HeldW'(n_q2) : '0);
      if (push) held_last_q <= last_q2;
      else if (fire && ends) held_last_q <= 1'b0;
      held_error_q <= (held_error_q && !(fire && ends)) || (push && error_q2);
      if (fire) sent_q <= ends ? '0 : out_total_o;
    end
  end

  always_ff @(posedge clk_i) begin
    if (fire || push) place_q <= place;
  end

  assign out_n_o = full ? CountW'(Lanes) : CountW'(held_q);
  assign out_last_o = ends;
  assign out_total_o = sent_q + (IndexW + 1)'(out_n_o);
  assign out_error_o = ends && held_error_q;
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    assign out_index_o[l*IndexW +: IndexW] =
        (HeldW'(l) < held_q) ? place_q[l*IndexW +: IndexW] : '0;
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i,
           {out_index_o, out_n_o, out_total_o, out_last_o, out_error_o})
  `SQ_ASSERT(BufferHolds, {1'b0, held_q} <= (HeldW + 1)'(Places))

endmodule
