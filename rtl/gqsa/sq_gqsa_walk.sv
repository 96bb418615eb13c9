// SPDX-License-Identifier: Apache-2.0
// Walker of the group indices of a BSR matrix (SPEC F.4): row offsets and group columns in, a step
// per kept group out, with the places of its codes, scale and zero, and of its activations.
//
// The row stream carries row_index[0 .. N], the group stream groups[0 .. nnz-1]. One step per cycle
// when nothing stalls. A row without groups gives one step as well, marked empty: y[n] = 0 has to
// be written by somebody. So a row costs max(1, groups) cycles, and nothing beyond that; loading an
// offset costs no cycle, except row_index[0].
//
// in_ready_o depends on group_valid_i in the same cycle: the next offset is read as the last group
// of a row goes. A source whose valid waits for no ready, as all here, makes no loop of that.
//
// Malformed matrices are walked to their end and flagged: a row whose offset decreases is empty,
// and the next one starts where it would have. How many groups there are the sender knows: a
// group that is missing stalls the walker, one too many belongs to the next matrix.
`include "sq_assert.svh"

module sq_gqsa_walk #(
  parameter  int unsigned GroupLen = 16,  // G, a power of two
  parameter  int unsigned GroupW = 16,  // group index
  parameter  int unsigned AtW = 32,  // row offset
  parameter  int unsigned RowW = 16,
  localparam int unsigned XW = GroupW + $clog2(GroupLen)
) (
  input  logic              clk_i, rst_ni,
  // row offsets
  input  logic              in_valid_i,
  output logic              in_ready_o,
  input  logic [AtW-1:0]    in_offset_i,
  input  logic [GroupW:0]   in_limit_i,    // K/G, read with row_index[0]
  input  logic              in_last_i,     // row_index[N]
  // group indices
  input  logic              group_valid_i,
  output logic              group_ready_o,
  input  logic [GroupW-1:0] group_index_i,
  // steps
  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic [RowW-1:0]   out_row_o,
  output logic [AtW-1:0]    out_at_o,      // place in values, scale and zero
  output logic [GroupW-1:0] out_group_o,   // 0 in an empty row
  output logic [XW-1:0]     out_x_o,       // first activation of the group
  output logic              out_first_o,   // of its row
  output logic              out_last_o,    // of its row
  output logic              out_empty_o,   // a row without groups
  output logic              out_end_o,     // last of the matrix
  output logic [2:0]        out_error_o    // {not ascending, >= K/G, offset decreases or does not
                                           // start at 0}
);

  localparam int unsigned ShiftW = $clog2(GroupLen);
  if (GroupLen < 2 || GroupLen != (1 << ShiftW)) begin : gen_bad
    $error("GroupLen is a power of two, >= 2");
  end

  // ---- the row being walked ---------------------------------------------------------------------
  logic start_q, row_valid_q;  // row_index[0] was read; a row is here
  logic fresh_q;  // row 0 comes next
  logic row_last_q, offset_error_q, first_q;
  logic [AtW-1:0] at_q, end_q;  // end_q stays when the row is done: the next one starts there
  logic [RowW-1:0] row_q;
  logic [GroupW:0] limit_q;
  logic [GroupW-1:0] before_q;  // group of the step before

  logic moves, empty, step, ends, decreases, out_valid_q;
  assign moves = !out_valid_q || out_ready_i;
  assign empty = at_q == end_q;
  assign step = row_valid_q && (empty || group_valid_i);
  assign ends = step && (empty || at_q + AtW'(1) == end_q);
  assign group_ready_o = row_valid_q && !empty && moves;
  assign in_ready_o = !row_valid_q || (ends && moves);

  // A matrix that ends in this cycle: the next offset is a row_index[0].
  logic started, in_fire;
  assign started = start_q && !(ends && moves && row_last_q);
  assign in_fire = in_valid_i && in_ready_o;
  assign decreases = in_offset_i < end_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      start_q <= 1'b0;
      row_valid_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else begin
      if (in_fire && !started) start_q <= !in_last_i;
      else start_q <= started;
      if (in_fire) row_valid_q <= started;
      else if (ends && moves) row_valid_q <= 1'b0;
      if (moves) out_valid_q <= step;
    end
  end

  always_ff @(posedge clk_i) begin
    if (in_fire && !started) begin
      at_q <= in_offset_i;
      end_q <= in_offset_i;
      fresh_q <= 1'b1;
      limit_q <= in_limit_i;
      offset_error_q <= in_offset_i != '0;
    end else if (in_fire) begin
      end_q <= decreases ? end_q : in_offset_i;
      fresh_q <= 1'b0;
      row_q <= fresh_q ? '0 : row_q + 1'b1;
      row_last_q <= in_last_i;
      offset_error_q <= decreases || (fresh_q && offset_error_q);
      first_q <= 1'b1;
      at_q <= end_q;
    end else if (step && moves && !empty) begin
      at_q <= at_q + 1'b1;
      first_q <= 1'b0;
    end
    if (group_valid_i && group_ready_o) before_q <= group_index_i;
  end

  // ---- steps ------------------------------------------------------------------------------------
  logic [RowW-1:0] out_row_q;
  logic [AtW-1:0] out_at_q;
  logic [GroupW-1:0] out_group_q;
  logic out_first_q, out_last_q, out_empty_q, out_end_q;
  logic [2:0] out_error_q;

  always_ff @(posedge clk_i) begin
    if (moves) begin
      out_row_q <= row_q;
      out_at_q <= at_q;
      out_group_q <= empty ? '0 : group_index_i;
      out_first_q <= first_q;
      out_last_q <= ends;
      out_empty_q <= empty;
      out_end_q <= ends && row_last_q;
      out_error_q <= {!empty && !first_q && group_index_i <= before_q,
                      !empty && {1'b0, group_index_i} >= limit_q,
                      offset_error_q};
    end
  end

  assign out_valid_o = out_valid_q;
  assign out_row_o = out_row_q;
  assign out_at_o = out_at_q;
  assign out_group_o = out_group_q;
  assign out_x_o = {out_group_q, {ShiftW{1'b0}}};
  assign out_first_o = out_first_q;
  assign out_last_o = out_last_q;
  assign out_empty_o = out_empty_q;
  assign out_end_o = out_end_q;
  assign out_error_o = out_error_q;

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i,
           {out_row_o, out_at_o, out_group_o, out_x_o, out_first_o, out_last_o, out_empty_o,
            out_end_o, out_error_o})

endmodule
