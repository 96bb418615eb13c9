// SPDX-License-Identifier: Apache-2.0
// sq_engine_gqsa behind the buffers of sq_top: beats as they lie in memory become its streams.
//
//   act     a group of all tokens, K/G of them for each job        row_scale   s_a of all tokens, a beat a job
//   weight  kept groups: index, codes, zero, scale; job_kept_i     col_scale   where the groups of each row end: the
//           of them for each job, whatever the offsets say                     offsets behind the first one, which is 0
// Kept groups behind the last row of a job are padding and are thrown away; the last outputs wait for that, so that
// nothing of a layer is under way when it has ended. An offset beyond job_kept_i counts as job_kept_i + 1: one group is
// missing, which is zeros, whose scale is an error. So as many beats of each operand move as the descriptor says, an
// error ends nothing early, and a job with one takes no longer than its groups and rows do.
`include "sq_assert.svh"

module sq_top_gqsa #(
  parameter  int unsigned Rows = 2,  // tokens
  parameter  int unsigned GroupLen = 16,
  parameter  int unsigned GroupW = 6,  // sq_engine_gqsa, as that above
  parameter  int unsigned IsBf16 = 0,  // 1: outputs rounded to bfloat16, ties to even
  localparam int unsigned OutW = IsBf16 != 0 ? 16 : 32,
  localparam int unsigned AtW = 16,
  localparam int unsigned ActBits = Rows * GroupLen * 8,
  localparam int unsigned WeightBits = sq_pkg::kept_w(GroupLen, GroupW)
) (
  input  logic                        clk_i, rst_ni,
  // jobs: a tile of tokens times job_rows_i rows of the matrix
  input  logic                        job_valid_i,
  output logic                        job_ready_o,
  input  logic [15:0]                 job_groups_i,  // K/G, 1 .. 2^GroupW
  input  logic [15:0]                 job_rows_i,  // 1 .. 65534
  input  logic [15:0]                 job_kept_i,
  // beats of the buffers
  input  logic                        act_valid_i,
  output logic                        act_ready_o,
  input  logic [ActBits-1:0]          act_i,
  input  logic                        row_valid_i,
  output logic                        row_ready_o,
  input  logic [Rows*32-1:0]          row_i,
  input  logic                        weight_valid_i,
  output logic                        weight_ready_o,
  input  logic [WeightBits-1:0]       weight_i,
  input  logic                        col_valid_i,
  output logic                        col_ready_o,
  input  logic [AtW-1:0]              col_i,
  // outputs, those of a row of the matrix together
  output logic                        out_valid_o,
  input  logic                        out_ready_i,
  output logic [Rows*OutW-1:0]        out_y_o,
  output logic                        out_last_o,
  output logic [sq_pkg::N_ERRORS-1:0] out_error_o
);

  logic [3:0] jobs_q;  // whose last outputs have not left
  logic [15:0] left_q;  // kept groups of the job that have not come from the buffer
  logic [15:0] kept_q, end_at;  // kept groups of the job; the offset that the engine gets
  logic zero_q;  // the first offset is still to be given
  logic y_valid, y_wait;  // outputs of the engine; they wait
  logic takes_job, engine_ready, offset_ready, kept_ready, job_fire;
  assign takes_job = row_valid_i && left_q == '0;
  assign job_ready_o = engine_ready && takes_job;
  assign job_fire = job_valid_i && job_ready_o;
  assign row_ready_o = job_fire;
  assign col_ready_o = offset_ready && !zero_q;
  // An engine that takes jobs has walked all rows.
  assign weight_ready_o = left_q != '0 && (kept_ready || engine_ready);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      jobs_q <= '0;
      left_q <= '0;
      zero_q <= 1'b0;
    end else begin
      jobs_q <= jobs_q + 4'(job_fire) - 4'(out_valid_o && out_ready_i && out_last_o);
      if (job_fire) left_q <= job_kept_i;
      else if (weight_valid_i && weight_ready_o) left_q <= left_q - 1'b1;
      zero_q <= job_fire || (zero_q && !offset_ready);
    end
  end

  always_ff @(posedge clk_i) if (job_fire) kept_q <= job_kept_i;
  assign end_at = zero_q ? '0 : (col_i > kept_q) ? kept_q + 1'b1 : col_i;

  logic [WeightBits-1:0] kept;
  logic [Rows*32-1:0] y;
  logic [sq_pkg::N_INDEX_ERRORS-1:0] error;
  assign kept = (left_q == '0) ? {WeightBits{1'b0}} : weight_i;
  sq_engine_gqsa #(.Rows(Rows), .GroupLen(GroupLen), .GroupW(GroupW), .AtW(AtW)) u_engine (
    .clk_i, .rst_ni,
    .job_valid_i(job_valid_i && takes_job), .job_ready_o(engine_ready), .job_groups_i(job_groups_i[GroupW:0]),
    .job_offsets_i(job_rows_i + 1'b1), .job_s_a_i(row_i),
    .act_valid_i, .act_ready_o, .act_code_i(act_i),
    .offset_valid_i(col_valid_i || zero_q), .offset_ready_o(offset_ready), .offset_at_i(end_at),
    .kept_valid_i(weight_valid_i || left_q == '0), .kept_ready_o(kept_ready),
    .kept_index_i(kept[GroupW-1:0]), .kept_code_i(kept[GroupW +: GroupLen*4]),
    .kept_zero_i(kept[GroupW+GroupLen*4 +: 4]), .kept_scale_i(kept[GroupW+GroupLen*4+4 +: 16]),
    .out_valid_o(y_valid), .out_ready_i(out_ready_i && !y_wait), .out_y_o(y), .out_last_o, .out_error_o(error)
  );
  if (IsBf16 != 0) begin : gen_bf16
    for (genvar r = 0; r < Rows; r++) begin : gen_row
      logic [31:0] rounded;
      logic unused_low;
      assign rounded = y[r*32 +: 32] + 32'h7fff + 32'(y[r*32 + 16]);
      assign out_y_o[r*16 +: 16] = rounded[31:16];
      assign unused_low = ^rounded[15:0];
    end
  end else begin : gen_binary32
    assign out_y_o = y;
  end
  assign y_wait = out_last_o && left_q != '0 && jobs_q == 4'd1;  // else they are of a job before
  assign out_valid_o = y_valid && !y_wait;
  assign out_error_o = {error[sq_pkg::ERROR_MASK] || error[sq_pkg::ERROR_INDEX], error[1:0]};

  wire unused_groups = ^job_groups_i;

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_y_o, out_last_o, out_error_o})
  `SQ_ASSERT(JobsAreCounted, !job_fire || jobs_q != '1)
  `SQ_ASSERT(GroupsFit, !job_fire || (job_groups_i != '0 && 32'(job_groups_i) <= 2**GroupW))

endmodule
