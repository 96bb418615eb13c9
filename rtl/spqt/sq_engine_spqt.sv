// SPDX-License-Identifier: Apache-2.0
// The engine of SpQt (SPEC G): a token times a matrix of Q4_K superblocks that run down its columns, of
// which only those of active columns are read. Stored bits in, outputs out:
//
//   act    segments of the token --+--> memory ------------------------+
//                                  +--> sq_spqt_idx -> columns -+      | x of the column
//   block  superblocks of the active columns --> sq_q4k_dec ----+-> sq_q4k_weight -> sq_fp_mac -> outputs
//
// A job is a token: its segments come first, then, for each row of superblocks, the superblocks of its
// active columns in ascending order, each with the column that it is of. What fetches them has found
// these columns, too; the engine says where both differ. The next job is taken when the last superblock
// is in. `workers` share the active columns of a row as SPEC G.7 says: each sums its own, then the sums
// are added.
//
// A row of superblocks gives 128 / Bytes output beats. Beat i has the sums of the weights that byte
// 16 + i Bytes of the superblocks and the following ones hold, low nibbles first. Where no column is active
// the engine feeds itself a superblock of zeros.
//
// What is malformed is multiplied as it stands. Its kind comes out with the outputs of its row and all
// later ones of the job: CODE (an x that is no number: of all rows), SCALE (theta no number: of all
// rows; d or dmin infinite, NaN or negative), INDEX (the superblock of another column).
`include "sq_assert.svh"

module sq_engine_spqt #(
  parameter  int unsigned SegLen = 16,  // elements of a segment, 8, 16, 32 or 64
  parameter  int unsigned IdxLanes = 8,  // columns that sq_spqt_idx finds in a cycle
  parameter  int unsigned IndexW = 8,  // a token has at most 2^IndexW columns
  parameter  int unsigned Bytes = 16,  // of a superblock in a beat: 4, 8 or 16
  localparam int unsigned LocalW = $clog2(SegLen),
  localparam int unsigned SegmentW = IndexW - LocalW,
  localparam int unsigned Lanes = 2 * Bytes
) (
  input  logic                 clk_i, rst_ni,
  // jobs
  input  logic                 job_valid_i,
  output logic                 job_ready_o,
  input  logic [SegmentW:0]    job_segments_i,  // K / SegLen, 1 .. 2^SegmentW
  input  logic [15:0]          job_blocks_i,    // rows of superblocks, >= 1
  input  logic [IndexW:0]      job_workers_i,   // >= 1
  input  logic [14:0]          job_theta_i,     // binary16 without its sign
  // activations
  input  logic                 act_valid_i,
  output logic                 act_ready_o,
  input  logic [SegLen*16-1:0] act_x_i,         // binary16
  // superblocks
  input  logic                 block_valid_i,
  output logic                 block_ready_o,
  input  logic [IndexW-1:0]    block_column_i,  // read with the first beat of a superblock
  input  logic [Bytes*8-1:0]   block_data_i,
  // outputs
  output logic                 out_valid_o,
  input  logic                 out_ready_i,
  output logic [Lanes*32-1:0]  out_y_o,         // binary32
  output logic                 out_last_o,      // of the job
  output logic [sq_pkg::N_INDEX_ERRORS-1:0] out_error_o
);

  localparam int unsigned Errors = sq_pkg::N_INDEX_ERRORS;
  localparam int unsigned Turns = 128 / Bytes;  // beats of codes of a superblock
  localparam int unsigned Beats = 144 / Bytes;
  localparam int unsigned Head = Beats - Turns;
  localparam int unsigned PlaceW = $clog2(Beats);
  localparam int unsigned FoundW = $clog2(IdxLanes + 1);

  // ---- jobs: activations, until all columns are found; then superblocks ----------------------------
  logic busy_q, loading_q, walking_q, job_fire, act_fire, load_last, found_all, job_ends;
  logic [SegmentW:0] segments_q;
  logic [SegmentW-1:0] load_q;  // of the next segment
  logic [15:0] blocks_q;        // rows to come
  logic [IndexW:0] workers_q;
  logic [14:0] theta_q;

  assign job_ready_o = !busy_q;
  assign job_fire = job_valid_i && !busy_q;
  assign load_last = {1'b0, load_q} == segments_q - 1'b1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      loading_q <= 1'b0;
      walking_q <= 1'b0;
    end else begin
      if (job_fire) busy_q <= 1'b1;
      else if (job_ends) busy_q <= 1'b0;
      if (job_fire) loading_q <= 1'b1;
      else if (act_fire && load_last) loading_q <= 1'b0;
      if (found_all) walking_q <= 1'b1;
      else if (job_ends) walking_q <= 1'b0;
    end
  end

  // ---- active columns -------------------------------------------------------------------------------
  logic idx_ready, idx_valid, idx_last, idx_error, code_error_q;
  logic [IdxLanes*IndexW-1:0] idx_index;
  logic [FoundW-1:0] unused_n;
  logic [IndexW:0] idx_total, n_q;
  assign act_ready_o = loading_q && idx_ready;
  assign act_fire = act_valid_i && act_ready_o;
  sq_spqt_idx #(.SegLen(SegLen), .Lanes(IdxLanes), .Fp16(1), .IndexW(IndexW)) u_idx (
    .clk_i, .rst_ni,
    .in_valid_i(act_valid_i && loading_q), .in_ready_o(idx_ready),
    .in_x_i(act_x_i), .in_theta_i(theta_q), .in_last_i(load_last),
    .out_valid_o(idx_valid), .out_ready_i(1'b1), .out_index_o(idx_index), .out_n_o(unused_n),
    .out_total_o(idx_total), .out_last_o(idx_last), .out_error_o(idx_error)
  );
  assign found_all = idx_valid && idx_last;

  // A word of columns and where it is written; the columns are read one by one.
  localparam int unsigned Words = (2**IndexW + IdxLanes - 1) / IdxLanes + 1;  // the last may be empty
  localparam int unsigned WordW = $clog2(Words);
  localparam int unsigned LaneW = sq_pkg::index_w(IdxLanes);
  logic [IdxLanes*IndexW-1:0] column_mem[Words];
  logic [SegLen*16-1:0] x_mem[2**SegmentW];
  logic [WordW-1:0] found_q, word_q;
  logic [LaneW-1:0] lane_q;
  logic super_fire, row_ends;

  always_ff @(posedge clk_i) begin
    if (job_fire) begin
      segments_q <= job_segments_i;
      workers_q <= job_workers_i;
      theta_q <= job_theta_i;
      load_q <= '0;
      found_q <= '0;
    end else begin
      if (act_fire) load_q <= load_q + 1'b1;
      if (idx_valid) found_q <= found_q + 1'b1;
    end
    if (act_fire) x_mem[load_q] <= act_x_i;
    if (idx_valid) column_mem[found_q] <= idx_index;
    if (found_all) begin
      n_q <= idx_total;
      code_error_q <= idx_error;
    end
  end

  // ---- superblocks ------------------------------------------------------------------------------------
  logic none, dec_in_valid, dec_in_ready, dec_fire, is_first, is_code, super_ends, is_last_column;
  logic [PlaceW-1:0] place_q;
  logic [IndexW:0] at_q;  // columns of the row that are in
  assign none = n_q == '0;
  assign dec_in_valid = walking_q && (none || block_valid_i);
  assign block_ready_o = walking_q && !none && dec_in_ready;
  assign dec_fire = dec_in_valid && dec_in_ready;
  assign is_first = place_q == '0;
  assign is_code = place_q >= PlaceW'(Head);
  assign super_ends = place_q == PlaceW'(Beats - 1);
  assign super_fire = dec_fire && super_ends;
  assign is_last_column = none || at_q == n_q - 1'b1;
  assign row_ends = super_fire && is_last_column;
  assign job_ends = row_ends && blocks_q == 16'd1;

  logic [IdxLanes*IndexW-1:0] columns;
  logic [IndexW-1:0] column, column_q;
  logic index_error_q, wrong_column;
  assign columns = column_mem[word_q];
  always_comb begin
    column = '0;
    for (int unsigned l = 0; l < IdxLanes; l++)
      column = column | (columns[l*IndexW +: IndexW] & {IndexW{lane_q == LaneW'(l)}});
  end
  assign wrong_column = dec_fire && is_first && !none && block_column_i != column;

  // The share ends with column i where a multiple of n lies in [(i+1) workers, (i+2) workers): rest is
  // the way to the next one.
  logic [IndexW:0] rest_q, rest;
  logic share_ends;
  assign rest = (rest_q >= workers_q) ? rest_q - workers_q : rest_q - workers_q + n_q;
  assign share_ends = none || workers_q >= n_q || rest < workers_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) place_q <= '0;
    else if (dec_fire) place_q <= super_ends ? '0 : place_q + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (job_fire) begin
      blocks_q <= job_blocks_i;
      index_error_q <= 1'b0;
      at_q <= '0;
      word_q <= '0;
      lane_q <= '0;
      rest_q <= '0;
    end else begin
      if (row_ends) blocks_q <= blocks_q - 1'b1;
      if (wrong_column) index_error_q <= 1'b1;
      if (super_fire) begin
        at_q <= is_last_column ? '0 : at_q + 1'b1;
        lane_q <= (is_last_column || lane_q == LaneW'(IdxLanes - 1)) ? '0 : lane_q + 1'b1;
        if (is_last_column) word_q <= '0;
        else if (lane_q == LaneW'(IdxLanes - 1)) word_q <= word_q + 1'b1;
        rest_q <= (is_last_column || workers_q >= n_q) ? '0 : rest;
      end
    end
    if (dec_fire && is_first) column_q <= column;
  end

  // ---- weights ------------------------------------------------------------------------------------------
  logic dec_valid, dec_ready, dec_error, dec_last, weight_valid, weight_error, unused_last, mac_ready;
  logic [Bytes*8-1:0] dec_code;
  logic [63:0] dec_step, dec_min;
  logic [Lanes*32-1:0] weight;
  sq_q4k_dec #(.Bytes(Bytes)) u_dec (
    .clk_i, .rst_ni,
    .in_valid_i(dec_in_valid), .in_ready_o(dec_in_ready),
    .in_data_i(none ? {Bytes*8{1'b0}} : block_data_i),
    .out_valid_o(dec_valid), .out_ready_i(dec_ready), .out_code_o(dec_code), .out_step_o(dec_step),
    .out_min_o(dec_min), .out_last_o(dec_last), .out_error_o(dec_error)
  );
  sq_q4k_weight #(.Bytes(Bytes)) u_weight (
    .clk_i, .rst_ni,
    .in_valid_i(dec_valid), .in_ready_o(dec_ready), .in_code_i(dec_code), .in_step_i(dec_step),
    .in_min_i(dec_min), .in_last_i(dec_last), .in_error_i(dec_error),
    .out_valid_o(weight_valid), .out_ready_i(mac_ready), .out_weight_o(weight),
    .out_last_o(unused_last), .out_error_o(weight_error)
  );

  // What goes with a beat of codes stands beside it in both.
  localparam int unsigned SideW = 16 + 6;
  logic [SegLen*16-1:0] segment;
  logic [15:0] x;
  logic [SideW-1:0] side, side_q, side_q2, side_q3;
  assign segment = x_mem[column_q[IndexW-1:LocalW]];
  always_comb begin
    x = '0;
    for (int unsigned l = 0; l < SegLen; l++)
      x = x | (segment[l*16 +: 16] & {16{column_q[LocalW-1:0] == LocalW'(l)}});
  end
  assign side = {
    none ? 16'd0 : x, share_ends, is_last_column, is_last_column && blocks_q == 16'd1,
    code_error_q, &theta_q[14:10], index_error_q
  };
  always_ff @(posedge clk_i) begin
    if (dec_fire && is_code) side_q <= side;
    if (dec_ready) begin
      side_q2 <= side_q;
      side_q3 <= side_q2;
    end
  end

  // ---- sums ---------------------------------------------------------------------------------------------
  logic [15:0] mac_x;
  logic [31:0] wide_x;
  logic mac_end, mac_last, mac_job, mac_code, mac_theta, mac_index, mac_fire, turn_last;
  assign {mac_x, mac_end, mac_last, mac_job, mac_code, mac_theta, mac_index} = side_q3;
  assign mac_fire = weight_valid && mac_ready;
  sq_fp_from_half u_x (.a_i(mac_x), .y_o(wide_x));
  sq_fp_mac #(.Lanes(Lanes), .IsHalf(0), .Turns(Turns)) u_mac (
    .clk_i, .rst_ni,
    .in_valid_i(weight_valid), .in_ready_o(mac_ready), .in_end_i(mac_end), .in_last_i(mac_last),
    .in_w_i(weight), .in_x_i({Lanes{wide_x}}),
    .out_valid_o, .out_ready_i, .out_y_o
  );

  // Kinds up to the step at hand; they and the last word of the job stand beside the sums, whose stages
  // move while sq_fp_mac is ready.
  logic [Errors-1:0] errors_q, known;
  logic [$clog2(Turns)-1:0] turn_q;
  assign turn_last = &turn_q;
  always_comb begin
    known = errors_q;
    if (mac_code) known[sq_pkg::ERROR_CODE] = 1'b1;
    if (mac_theta || weight_error) known[sq_pkg::ERROR_SCALE] = 1'b1;
    if (mac_index) known[sq_pkg::ERROR_INDEX] = 1'b1;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      errors_q <= '0;
      turn_q <= '0;
    end else if (mac_fire) begin
      errors_q <= (mac_job && turn_last) ? '0 : known;
      turn_q <= turn_q + 1'b1;
    end
  end

  localparam int unsigned TagW = Errors + 1;
  logic [2:0] tagged_q;  // a step that gives a word is in the stage
  logic [TagW-1:0] tag_q, tag_q2, tag_q3, out_tag_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) tagged_q <= '0;
    else if (mac_ready) tagged_q <= {tagged_q[1:0], weight_valid && mac_last};
  end
  always_ff @(posedge clk_i) begin
    if (mac_ready) begin
      tag_q <= {mac_job && turn_last, known};
      tag_q2 <= tag_q;
      tag_q3 <= tag_q2;
      if (tagged_q[2]) out_tag_q <= tag_q3;
    end
  end
  assign {out_last_o, out_error_o} = out_tag_q;

  wire unused_all = ^{unused_n, unused_last};

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_y_o, out_last_o, out_error_o})
  `SQ_ASSERT(FoundInOrder, !walking_q || !idx_valid)

endmodule
