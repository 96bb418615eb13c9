// SPDX-License-Identifier: Apache-2.0
// sq_gqsa_walk for all matrices of up to 12 groups, up to 3 in a row: a step per group, one for a
// row without groups, none else; the flags of rows and matrix where they belong; a group is taken
// only for a row that waits for one. The harness lists the rows inside, at most Rows.
module sq_gqsa_walk_check #(
  parameter int unsigned Rows = 3
) (
  input logic       clk_i, in_valid_i,
  input logic [1:0] groups_i,  // of the row that the offset ends
  input logic       in_last_i, group_valid_i,
  input logic [1:0] group_index_i,
  input logic       out_ready_i
);
  logic rst_n;
  initial rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic in_ready, in_fire, in_last, group_ready, group_fire, out_valid, out_fire;
  logic first, last, empty, end_of_matrix;
  logic [1:0] row, group;
  logic [3:0] at, offset, x, offset_q;
  logic [2:0] error;
  logic started_q;  // row_index[0] went
  assign offset = started_q ? offset_q + 4'(groups_i) : '0;
  assign in_last = in_last_i || (started_q && offset_q > 4'd9);  // a matrix without rows, too
  sq_gqsa_walk #(.GroupLen(4), .GroupW(2), .AtW(4), .RowW(2)) dut (
    .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready), .in_offset_i(offset),
    .in_limit_i(3'd4), .in_last_i(in_last), .group_valid_i, .group_ready_o(group_ready),
    .group_index_i, .out_valid_o(out_valid), .out_ready_i, .out_row_o(row), .out_at_o(at),
    .out_group_o(group), .out_x_o(x), .out_first_o(first), .out_last_o(last), .out_empty_o(empty),
    .out_end_o(end_of_matrix), .out_error_o(error)
  );
  assign in_fire = in_valid_i && in_ready;
  assign group_fire = group_valid_i && group_ready;
  assign out_fire = out_valid && out_ready_i;

  sq_stream_rules #(.Inside(3 * Rows), .LostWait(2), .LiveWait(2), .OweW(2)) u_rules (
    .clk_i, .rst_ni(rst_n), .offered_i(in_valid_i && group_valid_i),
    .needed_i(in_valid_i && group_valid_i), .in_fire_i(in_fire),
    .owe_i(!started_q ? 2'd0 : groups_i == 2'd0 ? 2'd1 : groups_i), .out_valid_i(out_valid),
    .out_ready_i
  );

  // Rows inside, the oldest in the low bits: {ends the matrix, groups}.
  logic [3*Rows-1:0] rows_q, rows;
  logic [2:0] n_q, n;
  logic [1:0] step_q;      // of the oldest row
  logic [3:0] waiting_q;   // groups that rows inside wait for
  logic [1:0] oldest;
  logic row_out;
  assign oldest = rows_q[1:0];
  assign row_out = out_fire && (oldest == 2'd0 || step_q == oldest - 2'd1);
  always_comb begin
    rows = row_out ? rows_q >> 3 : rows_q;
    n = n_q - 3'(row_out);
    if (in_fire && started_q) begin
      for (int i = 0; i < Rows; i++) if (n == 3'(i)) rows[3*i+:3] = {in_last, groups_i};
      n = n + 3'd1;
    end
  end
  always_ff @(posedge clk_i) begin
    rows_q <= rows;
    if (!rst_n) begin
      started_q <= 1'b0;
      offset_q <= '0;
      n_q <= '0;
      step_q <= '0;
      waiting_q <= '0;
    end else begin
      if (in_fire) begin
        started_q <= !in_last;
        offset_q <= offset;
      end
      n_q <= n;
      if (out_fire) step_q <= row_out ? '0 : step_q + 2'd1;
      waiting_q <= waiting_q + ((in_fire && started_q) ? 4'(groups_i) : '0) - 4'(group_fire);
    end
  end

  always_comb begin
    if (rst_n) begin
      RowsInside : assert (n_q <= 3'(Rows));
      GroupsOfRows : assert (!group_fire || waiting_q != '0);
      FlagsOfRow : assert (!out_valid || n_q != '0 && first == (step_q == '0) &&
          last == (oldest == 2'd0 || step_q == oldest - 2'd1) && empty == (oldest == 2'd0) &&
          end_of_matrix == (last && rows_q[2]));
    end
  end
endmodule
