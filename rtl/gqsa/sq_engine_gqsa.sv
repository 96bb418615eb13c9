// SPDX-License-Identifier: Apache-2.0
// The engine of GQSA (SPEC F): Rows tokens times a matrix of kept groups. Stored bits in, outputs out:
//
//   act     codes of a group of all tokens, K/G of them --> memory
//   offset  row offsets -----------+                           |
//   kept    index, codes, zero, ---+-> sq_gqsa_walk -> group --+-> sq_array -> sq_gqsa_scale -> outputs
//           scale of a kept group         of activations            sum q x, sum x
// A job first loads the activations of its tokens, then walks the rows. `offsets` is the number of rows
// plus one; the scales of the tokens come with the job. An output beat is a row of the matrix for all
// tokens. The next job is taken when the last sums of this one have left the array: until then nothing
// of it can be mixed with the next.
//
// What is malformed is walked as sq_gqsa_walk says; an index of K/G or more finds zeros. Its kind comes
// out with the outputs of its row and all later ones of the job: CODE (an activation of -128: of all rows),
// SCALE (not a positive number), INDEX (offsets that decrease or do not begin at 0; an index of K/G or
// more, or not above the one before).
`include "sq_assert.svh"

module sq_engine_gqsa #(
  parameter  int unsigned Rows = 2,  // tokens
  parameter  int unsigned GroupLen = 16,  // G, a power of two
  parameter  int unsigned GroupW = 6,  // group index: 2^GroupW groups of activations are held
  parameter  int unsigned AtW = 32,  // row offset
  localparam int unsigned ActW = Rows * GroupLen * 8
) (
  input  logic                  clk_i, rst_ni,
  // jobs
  input  logic                  job_valid_i,
  output logic                  job_ready_o,
  input  logic [GroupW:0]       job_groups_i,   // K/G, 1 .. 2^GroupW
  input  logic [15:0]           job_offsets_i,  // rows + 1, >= 2
  input  logic [Rows*32-1:0]    job_s_a_i,      // binary32, of each token
  // activations
  input  logic                  act_valid_i,
  output logic                  act_ready_o,
  input  logic [ActW-1:0]       act_code_i,     // [token][G]
  // row offsets
  input  logic                  offset_valid_i,
  output logic                  offset_ready_o,
  input  logic [AtW-1:0]        offset_at_i,
  // kept groups
  input  logic                  kept_valid_i,
  output logic                  kept_ready_o,
  input  logic [GroupW-1:0]     kept_index_i,
  input  logic [GroupLen*4-1:0] kept_code_i,
  input  logic [3:0]            kept_zero_i,
  input  logic [15:0]           kept_scale_i,   // binary16
  // outputs
  output logic                  out_valid_o,
  input  logic                  out_ready_i,
  output logic [Rows*32-1:0]    out_y_o,        // binary32, of each token
  output logic                  out_last_o,     // of the job
  output logic [sq_pkg::N_INDEX_ERRORS-1:0] out_error_o
);

  localparam int unsigned Errors = sq_pkg::N_INDEX_ERRORS;
  localparam int unsigned RowW = 16;
  localparam int unsigned SumW = 13 + $clog2(GroupLen);  // of G products of 4 bits and 8 signed ones

  // ---- jobs: activations, then offsets ------------------------------------------------------------
  logic loading_q, walking_q, act_fire, act_last, act_bad, offset_fire, job_ends;
  logic [GroupW:0] groups_q;
  logic [GroupW-1:0] load_q;   // of the next group of activations
  logic [15:0] offsets_q;      // to come
  logic [Rows*32-1:0] s_a_q;
  logic offers, code_error_q, s_a_error_q;

  assign job_ready_o = !loading_q && !walking_q;
  assign act_ready_o = loading_q;
  assign act_fire = act_valid_i && loading_q;
  assign act_last = {1'b0, load_q} == groups_q - 1'b1;
  assign offers = walking_q && offsets_q != '0;  // an offset

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      loading_q <= 1'b0;
      walking_q <= 1'b0;
    end else begin
      if (job_valid_i && job_ready_o) loading_q <= 1'b1;
      else if (act_fire && act_last) loading_q <= 1'b0;
      if (act_fire && act_last) walking_q <= 1'b1;
      else if (job_ends) walking_q <= 1'b0;
    end
  end

  logic [Rows*GroupLen-1:0] bad_act;
  for (genvar i = 0; i < Rows * GroupLen; i++) begin : gen_act
    assign bad_act[i] = act_code_i[i*8 +: 8] == 8'h80;
  end
  assign act_bad = |bad_act;
  logic [Rows-1:0] bad_s_a;
  for (genvar r = 0; r < Rows; r++) begin : gen_s_a
    logic [31:0] s;
    assign s = job_s_a_i[r*32 +: 32];
    assign bad_s_a[r] = s[31] || &s[30:23] || s[30:0] == '0;
  end

  always_ff @(posedge clk_i) begin
    if (job_valid_i && job_ready_o) begin
      groups_q <= job_groups_i;
      offsets_q <= job_offsets_i;
      s_a_q <= job_s_a_i;
      load_q <= '0;
      code_error_q <= 1'b0;
      s_a_error_q <= |bad_s_a;
    end else begin
      if (act_fire) load_q <= load_q + 1'b1;
      if (act_fire && act_bad) code_error_q <= 1'b1;
      if (offset_fire) offsets_q <= offsets_q - 1'b1;
    end
  end

  // ---- walk ---------------------------------------------------------------------------------------
  logic walk_offset_ready, walk_valid, array_ready, step_last, step_empty, step_end;
  logic [2:0] step_error;
  logic kept_fire;
  assign offset_ready_o = walk_offset_ready && offers;
  assign offset_fire = offset_valid_i && offset_ready_o;
  assign kept_fire = kept_valid_i && kept_ready_o;

  logic [RowW-1:0] unused_row;
  logic [AtW-1:0] unused_at;
  logic [GroupW-1:0] unused_group;
  logic [GroupW+$clog2(GroupLen)-1:0] unused_x;
  logic unused_first;
  sq_gqsa_walk #(.GroupLen(GroupLen), .GroupW(GroupW), .AtW(AtW), .RowW(RowW)) u_walk (
    .clk_i, .rst_ni,
    .in_valid_i(offset_valid_i && offers), .in_ready_o(walk_offset_ready),
    .in_offset_i(offset_at_i), .in_limit_i(groups_q), .in_last_i(offsets_q == 16'd1),
    .group_valid_i(kept_valid_i), .group_ready_o(kept_ready_o), .group_index_i(kept_index_i),
    .out_valid_o(walk_valid), .out_ready_i(array_ready),
    .out_row_o(unused_row), .out_at_o(unused_at), .out_group_o(unused_group), .out_x_o(unused_x),
    .out_first_o(unused_first), .out_last_o(step_last), .out_empty_o(step_empty),
    .out_end_o(step_end), .out_error_o(step_error)
  );

  // The memory is read as the walker takes the group, so that both stand in its output together.
  logic [ActW-1:0] mem[2**GroupW];
  logic [ActW-1:0] act_q;
  logic [GroupLen*4-1:0] code_q;
  logic [3:0] zero_q;
  logic [15:0] scale_q;
  always_ff @(posedge clk_i) begin
    if (act_fire) mem[load_q] <= act_code_i;
    if (kept_fire) begin
      act_q <= ({1'b0, kept_index_i} < groups_q) ? mem[kept_index_i] : '0;
      code_q <= kept_code_i;
      zero_q <= kept_zero_i;
      scale_q <= kept_scale_i;
    end
  end

  // ---- sums of codes times activations, and of activations ------------------------------------------
  localparam int unsigned LowW = 5;  // 0..15, signed
  logic [2*GroupLen*LowW-1:0] low;
  for (genvar i = 0; i < GroupLen; i++) begin : gen_code
    assign low[i*LowW +: LowW] = {1'b0, code_q[i*4 +: 4]};
    assign low[(GroupLen+i)*LowW +: LowW] = LowW'(1);
  end

  logic tile_valid, tile_ready, unused_error;
  logic [Rows*2*32-1:0] p_lo, unused_p_hi;
  sq_array #(
    .Rows(Rows), .Cols(2), .Banks(1), .BankLen(GroupLen), .HighPerBank(1), .HighLen(1),
    .Layout(sq_pkg::LAYOUT_DENSE), .OnActs(0), .OneAcc(1), .PlainW(8), .LowW(LowW), .HighW(4)
  ) u_array (
    .clk_i, .rst_ni,
    .in_valid_i(walk_valid), .in_ready_o(array_ready), .in_last_i(1'b1),
    .in_plain_i(act_q), .in_low_i(low),
    .in_high_i(8'd0), .in_mask_i(2'd0),
    .out_valid_o(tile_valid), .out_ready_i(tile_ready), .out_p_lo_o(p_lo), .out_p_hi_o(unused_p_hi),
    .out_error_o(unused_error)
  );

  // What belongs to a step goes beside the array, whose stages move while it is ready. A row without groups
  // is a step of scale 0, whatever the array sums.
  localparam int unsigned Stages = sq_pkg::operand_stages(sq_pkg::LAYOUT_DENSE);
  localparam int unsigned SideW = 24;
  logic [SideW-1:0] side, tile_side_q;
  logic [(Stages+1)*SideW-1:0] side_q;
  logic [Stages:0] step_q;  // a step is in the stage
  logic bad_scale;
  assign bad_scale = scale_q[15] || &scale_q[14:10] || scale_q[14:0] == '0;
  assign side = {
    step_last, step_end, |step_error, bad_scale && !step_empty,
    zero_q, step_empty ? 16'd0 : scale_q
  };
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) step_q <= '0;
    else if (array_ready) step_q <= {step_q[Stages-1:0], walk_valid};
  end
  always_ff @(posedge clk_i) begin
    if (array_ready) begin
      side_q <= {side_q[Stages*SideW-1:0], side};
      if (step_q[Stages]) tile_side_q <= side_q[Stages*SideW +: SideW];
    end
  end

  // ---- outputs --------------------------------------------------------------------------------------
  logic tile_last, tile_end, tile_index, tile_scale, tile_fire;
  logic [3:0] tile_zero;
  logic [15:0] tile_factor;
  logic [Errors-1:0] errors_q, known;  // kinds up to the step at hand
  assign {tile_last, tile_end, tile_index, tile_scale, tile_zero, tile_factor} = tile_side_q;
  assign tile_fire = tile_valid && tile_ready;
  assign job_ends = tile_fire && tile_end;
  always_comb begin
    known = errors_q;
    if (code_error_q) known[sq_pkg::ERROR_CODE] = 1'b1;
    if (tile_scale || s_a_error_q) known[sq_pkg::ERROR_SCALE] = 1'b1;
    if (tile_index) known[sq_pkg::ERROR_INDEX] = 1'b1;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) errors_q <= '0;
    else if (tile_fire) errors_q <= tile_end ? '0 : known;
  end

  logic [Rows*SumW-1:0] sum_qx, sum_x;
  logic [Rows-1:0] unused_top;
  for (genvar r = 0; r < Rows; r++) begin : gen_sum
    assign sum_qx[r*SumW +: SumW] = p_lo[2*r*32 +: SumW];
    assign sum_x[r*SumW +: SumW] = p_lo[(2*r+1)*32 +: SumW];
    assign unused_top[r] = ^{p_lo[2*r*32+SumW +: 32-SumW], p_lo[(2*r+1)*32+SumW +: 32-SumW]};
  end

  sq_gqsa_scale #(.Lanes(Rows), .SumW(SumW), .TagW(Errors + 1)) u_scale (
    .clk_i, .rst_ni,
    .in_valid_i(tile_valid), .in_ready_o(tile_ready), .in_last_i(tile_last),
    .in_p_i(sum_qx), .in_sum_i(sum_x), .in_zero_i(tile_zero), .in_scale_i(tile_factor),
    .in_s_a_i(s_a_q), .in_tag_i({tile_end, known}),
    .out_valid_o, .out_ready_i, .out_y_o, .out_tag_o({out_last_o, out_error_o})
  );

  wire unused_all = ^{unused_row, unused_at, unused_group, unused_x, unused_first, unused_p_hi,
                        unused_error, unused_top};

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_y_o, out_last_o, out_error_o})

endmodule
