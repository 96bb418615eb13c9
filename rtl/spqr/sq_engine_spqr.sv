// SPDX-License-Identifier: Apache-2.0
// The engine of SpQR (SPEC H): multiplies a token by 3-bit weights, whose scales and zeros are 3-bit codes
// themselves, and by sparse outliers. It takes stored bits and gives outputs:
//
//   act     16 elements of the token ------------------> memory --------------------+
//   tile    words -> sq_spqr_dec -> sq_spqr_scale -> 16 x 16 weights, by columns ---+-> sq_fp_mac -> outputs
//   offset  row offsets of the outliers (CSR) --+-> outliers of 16 rows, kept ------+
//   entry   outliers ---------------------------+
// A job is a token; its elements come first, in the order of the words' columns. Then come, for each row of
// tiles, 16 row offsets (17 for the first one), its outliers as CSR stores them, and the words of its tiles,
// worker by worker: worker u has the tiles u, u + workers, ... and in each row the outliers u, u + workers, ....
// The worker's steps are the columns of its tiles, then its outliers, each with zeros for the 15 other rows; a
// step of zeros ends them. An output beat is a row of tiles. The next job is taken when the last step of this
// one has gone to sq_fp_mac.
//
// An offset that is below the one before it, or that gives 16 rows more than 2^OutlierW outliers, is replaced by
// the nearest valid one; an outlier beyond the token's last column counts as zero. An error is reported with the
// outputs of its row of tiles and all later ones of the job: CODE (an element or an outlier is infinite or NaN; an
// outlier of 0 in column 0; bits 63:62 of a word are not 0, or a byte differs from its copy), SCALE (a second-order
// number is infinite or NaN), INDEX (an offset as above; columns beyond the token or not ascending).
`include "sq_assert.svh"

module sq_engine_spqr #(
  parameter int unsigned TileW = 4,     // a token has at most 16 * 2^TileW elements
  parameter int unsigned OutlierW = 6   // 16 rows have at most 2^OutlierW outliers
) (
  input  logic           clk_i, rst_ni,
  // jobs
  input  logic           job_valid_i,
  output logic           job_ready_o,
  input  logic [TileW:0] job_tiles_i,    // K / 16, 1 .. 2^TileW
  input  logic [15:0]    job_rows_i,     // rows of tiles, >= 1
  input  logic [4:0]     job_workers_i,  // 1, 2, 4, 8 or 16, divides the tiles
  // activations
  input  logic           act_valid_i,
  output logic           act_ready_o,
  input  logic [255:0]   act_x_i,        // binary16
  // words of tiles
  input  logic           tile_valid_i,
  output logic           tile_ready_o,
  input  logic [63:0]    tile_word_i,
  // row offsets
  input  logic           offset_valid_i,
  output logic           offset_ready_o,
  input  logic [31:0]    offset_at_i,
  // outliers
  input  logic           entry_valid_i,
  output logic           entry_ready_o,
  input  logic [15:0]    entry_column_i,
  input  logic [15:0]    entry_value_i,  // binary16
  // outputs
  output logic           out_valid_o,
  input  logic           out_ready_i,
  output logic [255:0]   out_y_o,        // binary16, of 16 rows
  output logic           out_last_o,     // of the job
  output logic [sq_pkg::N_INDEX_ERRORS-1:0] out_error_o
);

  localparam int unsigned Errors = sq_pkg::N_INDEX_ERRORS;
  localparam int unsigned CountW = OutlierW + 1;
  localparam logic [31:0] Most = 32'd1 << OutlierW;
  localparam int unsigned ColumnW = TileW + 4;
  if (TileW < 1 || TileW > 11 || OutlierW < 4 || OutlierW > 16) begin : gen_bad
    $error("1 <= TileW <= 11, 4 <= OutlierW <= 16");
  end

  // ---- weights: a tile comes row by row and leaves column by column, while the next one comes ----------
  logic dec_valid, dec_ready, scale_valid, scale_ready, dec_last, unused_last;
  logic [47:0] dec_code;
  logic [2:0] dec_scale, dec_zero, dec_error, scale_error;
  logic [63:0] dec_second;
  logic [255:0] weights;
  sq_spqr_dec #(.Words(1)) u_dec (
    .clk_i, .rst_ni,
    .in_valid_i(tile_valid_i), .in_ready_o(tile_ready_o), .in_word_i(tile_word_i),
    .out_valid_o(dec_valid), .out_ready_i(dec_ready), .out_code_o(dec_code), .out_scale_o(dec_scale),
    .out_zero_o(dec_zero), .out_second_o(dec_second), .out_last_o(dec_last), .out_error_o(dec_error)
  );
  sq_spqr_scale #(.Words(1)) u_scale (
    .clk_i, .rst_ni,
    .in_valid_i(dec_valid), .in_ready_o(dec_ready), .in_code_i(dec_code), .in_scale_i(dec_scale),
    .in_zero_i(dec_zero), .in_second_i(dec_second), .in_last_i(dec_last), .in_error_i(dec_error),
    .out_valid_o(scale_valid), .out_ready_i(scale_ready), .out_weight_o(weights),
    .out_last_o(unused_last), .out_error_o(scale_error)
  );

  logic [1:0] full_q;
  logic fill_q, drain_q, tile_in, tile_out, row_fire, column_fire;
  logic [3:0] fill_row_q, column_q;
  logic [2:0] tile_error_q[2];
  logic [255:0] row_q[32];  // [tile][row]
  assign scale_ready = !full_q[fill_q];
  assign row_fire = scale_valid && scale_ready;
  assign tile_in = row_fire && fill_row_q == 4'd15;
  assign tile_out = column_fire && column_q == 4'd15;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      full_q <= '0;
      fill_q <= 1'b0;
      drain_q <= 1'b0;
      fill_row_q <= '0;
      column_q <= '0;
    end else begin
      for (int unsigned t = 0; t < 2; t++) begin
        if (tile_in && fill_q == t[0]) full_q[t] <= 1'b1;
        else if (tile_out && drain_q == t[0]) full_q[t] <= 1'b0;
      end
      if (row_fire) fill_row_q <= fill_row_q + 1'b1;
      if (tile_in) fill_q <= !fill_q;
      if (column_fire) column_q <= column_q + 1'b1;
      if (tile_out) drain_q <= !drain_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (row_fire) begin
      row_q[{fill_q, fill_row_q}] <= weights;
      tile_error_q[fill_q] <= scale_error;
    end
  end

  // ---- jobs: activations, then for each row of tiles offsets, outliers, shares ---------------------------
  logic busy_q, loading_q, offsets_q, entries_q, dense_q, sparse_q;
  logic job_fire, act_fire, act_last, offset_fire, offsets_end, entry_fire, entries_end;
  logic dense_end, share_fire, row_ends, job_ends, step_moves;
  logic [TileW:0] tiles_q;
  logic [15:0] rows_q;  // to come
  logic [4:0] workers_q;
  logic [TileW-1:0] load_q, share_tile_q;
  logic [3:0] worker_q;
  logic last_worker;

  assign job_ready_o = !busy_q;
  assign act_ready_o = loading_q;
  assign offset_ready_o = offsets_q;
  assign entry_ready_o = entries_q;
  assign job_fire = job_valid_i && !busy_q;
  assign act_fire = act_valid_i && loading_q;
  assign act_last = {1'b0, load_q} == tiles_q - 1'b1;
  assign offset_fire = offset_valid_i && offsets_q;
  assign entry_fire = entry_valid_i && entries_q;
  assign last_worker = {1'b0, worker_q} == workers_q - 1'b1;
  assign row_ends = share_fire && last_worker;
  assign job_ends = row_ends && rows_q == 16'd1;

  logic [CountW-1:0] count, next_count;  // outliers of the row of tiles, known with its last offset
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      loading_q <= 1'b0;
      offsets_q <= 1'b0;
      entries_q <= 1'b0;
      dense_q <= 1'b0;
      sparse_q <= 1'b0;
    end else begin
      if (job_fire) busy_q <= 1'b1;
      else if (job_ends) busy_q <= 1'b0;
      if (job_fire) loading_q <= 1'b1;
      else if (act_fire && act_last) loading_q <= 1'b0;
      if ((act_fire && act_last) || (row_ends && !job_ends)) offsets_q <= 1'b1;
      else if (offsets_end) offsets_q <= 1'b0;
      if (offsets_end && next_count != '0) entries_q <= 1'b1;
      else if (entries_end) entries_q <= 1'b0;
      if ((offsets_end && next_count == '0) || entries_end || (share_fire && !last_worker))
        dense_q <= 1'b1;
      else if (dense_end) dense_q <= 1'b0;
      if (dense_end) sparse_q <= 1'b1;
      else if (share_fire) sparse_q <= 1'b0;
    end
  end

  logic [255:0] x_mem[2**TileW];
  always_ff @(posedge clk_i) begin
    if (act_fire) x_mem[load_q] <= act_x_i;
    if (job_fire) begin
      tiles_q <= job_tiles_i;
      rows_q <= job_rows_i;
      workers_q <= job_workers_i;
      load_q <= '0;
      worker_q <= '0;
      share_tile_q <= '0;
    end else begin
      if (act_fire) load_q <= load_q + 1'b1;
      if (row_ends) rows_q <= rows_q - 1'b1;
      if (share_fire) worker_q <= last_worker ? '0 : worker_q + 1'b1;
      if (share_fire) share_tile_q <= last_worker ? '0 : TileW'(worker_q) + 1'b1;
      else if (tile_out) share_tile_q <= share_tile_q + TileW'(workers_q);
    end
  end

  // ---- outliers: where each of 16 rows begins, and what they are ------------------------------------------
  logic based_q;  // the first offset of the job is here
  logic [31:0] base_q, before_q, at;
  logic [3:0] offset_row_q;
  logic [CountW-1:0] end_q[16];  // of each row
  logic low, high;
  assign low = offset_at_i < before_q;
  assign high = offset_at_i - base_q > Most && !low;
  assign at = low ? before_q : high ? base_q + Most : offset_at_i;
  assign offsets_end = offset_fire && based_q && offset_row_q == 4'd15;
  assign next_count = CountW'(at - base_q);

  logic [OutlierW-1:0] entry_q;
  logic [31:0] entry_mem[2**OutlierW];
  logic [15:0] before_column_q, begins;
  logic missing, disorder;
  assign count = end_q[15];
  assign entries_end = entry_fire && {1'b0, entry_q} == count - 1'b1;
  for (genvar r = 0; r < 16; r++) begin : gen_begin
    if (r == 0) begin : gen_first
      assign begins[r] = entry_q == '0;
    end else begin : gen_row
      assign begins[r] = end_q[r-1] == {1'b0, entry_q};
    end
  end
  assign missing = {4'd0, entry_column_i[15:4]} >= 16'(tiles_q);
  assign disorder = begins == '0 && entry_column_i <= before_column_q;

  always_ff @(posedge clk_i) begin
    if (job_fire) based_q <= 1'b0;
    else if (offset_fire) based_q <= 1'b1;
    if (offset_fire) begin
      before_q <= based_q ? at : offset_at_i;
      if (!based_q) base_q <= offset_at_i;
      else if (offsets_end) base_q <= at;
      offset_row_q <= based_q ? offset_row_q + 1'b1 : '0;
      if (based_q) end_q[offset_row_q] <= next_count;
      entry_q <= '0;
    end
    if (entry_fire) begin
      entry_q <= entry_q + 1'b1;
      before_column_q <= entry_column_i;
      entry_mem[entry_q] <= missing ? 32'd0 : {entry_value_i, entry_column_i};
    end
  end

  // ---- steps -----------------------------------------------------------------------------------------------
  // The share of a worker is its tiles, then its outliers row by row, then a step of zeros.
  logic [4:0] scan_row_q;
  logic [CountW:0] scan_q, row_end;
  logic has_outlier, outlier_fire, scan_next;
  logic [31:0] outlier;
  always_comb begin
    row_end = '0;
    for (int unsigned r = 0; r < 16; r++)
      row_end = row_end | ({1'b0, end_q[r]} & {(CountW + 1){scan_row_q == 5'(r)}});
  end
  assign column_fire = dense_q && full_q[drain_q] && step_moves;
  assign dense_end = tile_out && {1'b0, share_tile_q} + (TileW + 1)'(workers_q) >= tiles_q;
  assign has_outlier = sparse_q && !scan_row_q[4] && scan_q < row_end;
  assign outlier_fire = has_outlier && step_moves;
  assign scan_next = sparse_q && !scan_row_q[4] && !has_outlier;
  assign share_fire = sparse_q && scan_row_q[4] && step_moves;
  assign outlier = entry_mem[scan_q[OutlierW-1:0]];

  always_ff @(posedge clk_i) begin
    if (dense_end) begin
      scan_row_q <= '0;
      scan_q <= (CountW + 1)'(worker_q);
    end else if (scan_next) begin
      scan_row_q <= scan_row_q + 1'b1;
      scan_q <= row_end + (CountW + 1)'(worker_q);
    end else if (outlier_fire) begin
      scan_q <= scan_q + (CountW + 1)'(workers_q);
    end
  end

  logic [255:0] segment, w, step_w_q, xs, step_x_q;
  logic [ColumnW-1:0] place;
  logic [15:0] x;
  assign place = dense_q ? {share_tile_q, column_q} : outlier[ColumnW-1:0];
  assign segment = x_mem[place[ColumnW-1:4]];
  always_comb begin
    x = '0;
    for (int unsigned i = 0; i < 16; i++) x = x | (segment[i*16 +: 16] & {16{place[3:0] == 4'(i)}});
  end
  for (genvar r = 0; r < 16; r++) begin : gen_row_of_step
    logic [255:0] row;
    logic [15:0] weight;
    logic mine;
    assign row = row_q[{drain_q, 4'(r)}];
    always_comb begin
      weight = '0;
      for (int unsigned i = 0; i < 16; i++)
        weight = weight | (row[i*16 +: 16] & {16{column_q == 4'(i)}});
    end
    assign mine = has_outlier && scan_row_q == 5'(r);
    assign w[r*16 +: 16] = dense_q ? weight : mine ? outlier[31:16] : 16'd0;
    assign xs[r*16 +: 16] = (dense_q || mine) ? x : 16'd0;
  end

  wire unused_outlier = ^outlier[15:0];

  logic step_valid_q, step_end_q, step_last_q, step_job_q, mac_ready;
  assign step_moves = !step_valid_q || mac_ready;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) step_valid_q <= 1'b0;
    else if (step_moves) step_valid_q <= column_fire || outlier_fire || share_fire;
  end

  // ---- errors, known with the step that ends the row of tiles ------------------------------------------------
  logic [Errors-1:0] errors_q, found, step_error_q;
  logic [15:0] bad_x;
  logic [2:0] tile_error;
  for (genvar i = 0; i < 16; i++) begin : gen_bad_x
    assign bad_x[i] = &act_x_i[i*16+10 +: 5];
  end
  assign tile_error = tile_error_q[drain_q];
  always_comb begin
    found = '0;
    found[sq_pkg::ERROR_CODE] = (act_fire && |bad_x) ||
        (entry_fire && (&entry_value_i[14:10] || {entry_value_i, entry_column_i} == '0)) ||
        (tile_out && |tile_error[1:0]);
    found[sq_pkg::ERROR_SCALE] = tile_out && tile_error[2];
    found[sq_pkg::ERROR_INDEX] = (offset_fire && based_q && (low || high)) ||
        (entry_fire && (missing || disorder));
  end
  always_ff @(posedge clk_i) begin
    if (job_fire) errors_q <= '0;
    else errors_q <= errors_q | found;
    if (step_moves) begin
      step_w_q <= w;
      step_x_q <= xs;
      step_end_q <= share_fire;
      step_last_q <= row_ends;
      step_job_q <= job_ends;
      step_error_q <= errors_q;
    end
  end

  // ---- sums ------------------------------------------------------------------------------------------------------
  sq_fp_mac #(.Lanes(16), .IsHalf(1)) u_mac (
    .clk_i, .rst_ni,
    .in_valid_i(step_valid_q), .in_ready_o(mac_ready), .in_end_i(step_end_q),
    .in_last_i(step_last_q), .in_w_i(step_w_q), .in_x_i(step_x_q),
    .out_valid_o, .out_ready_i, .out_y_o
  );

  // An output's flags pass through as many stages as its sums in sq_fp_mac, whose stages move while it is ready.
  localparam int unsigned TagW = Errors + 1;
  logic [2:0] tagged_q;  // a step that gives an output is in the stage
  logic [TagW-1:0] tag_q, tag_q2, tag_q3, out_tag_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) tagged_q <= '0;
    else if (mac_ready) tagged_q <= {tagged_q[1:0], step_valid_q && step_last_q};
  end
  always_ff @(posedge clk_i) begin
    if (mac_ready) begin
      tag_q <= {step_job_q, step_error_q};
      tag_q2 <= tag_q;
      tag_q3 <= tag_q2;
      if (tagged_q[2]) out_tag_q <= tag_q3;
    end
  end
  assign {out_last_o, out_error_o} = out_tag_q;

  wire unused_all = ^{unused_last, unused_outlier};

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_y_o, out_last_o, out_error_o})
  `SQ_ASSERT(OnePhase, !(dense_q && sparse_q) && !(offsets_q && entries_q))

endmodule
