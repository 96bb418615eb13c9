// SPDX-License-Identifier: Apache-2.0
// Streams of sq_spqt_idx: Lanes indices in every beat but the last of a vector, one last beat for
// each vector, which comes; never stuck. The module's own assertions bound its buffer. That the
// indices are those of all kept columns is the co-simulation's affair: a count of them through
// prefix sums is beyond pdr. Vectors of up to 3 segments.
module sq_spqt_idx_check #(
  parameter int unsigned Lanes = 2
) (
  input logic       clk_i, in_valid_i,
  input logic [7:0] keep_i,
  input logic       in_last_i, out_ready_i
);
  logic rst_n;
  initial rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  localparam int unsigned NW = $clog2(Lanes + 1);
  logic in_ready, in_fire, in_last, out_valid, out_fire, out_last, error;
  logic [63:0] x;
  logic [Lanes*5-1:0] index;
  logic [NW-1:0] n;
  logic [5:0] total;
  logic [1:0] segment_q;
  always_comb for (int i = 0; i < 8; i++) x[8*i+:8] = {7'd0, keep_i[i]};
  assign in_last = in_last_i || segment_q == 2'd2;
  sq_spqt_idx #(.SegLen(8), .Lanes(Lanes), .IndexW(5)) dut (
    .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready), .in_x_i(x), .in_theta_i(8'd1),
    .in_last_i(in_last), .out_valid_o(out_valid), .out_ready_i, .out_index_o(index), .out_n_o(n),
    .out_total_o(total), .out_last_o(out_last), .out_error_o(error)
  );
  assign in_fire = in_valid_i && in_ready;
  assign out_fire = out_valid && out_ready_i;

  // Vectors whose last segment is inside.
  logic [2:0] ends_q, lost_q, stuck_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      segment_q <= '0;
      ends_q <= '0;
      lost_q <= '0;
      stuck_q <= '0;
    end else begin
      if (in_fire) segment_q <= in_last ? '0 : segment_q + 2'd1;
      ends_q <= ends_q + 3'(in_fire && in_last) - 3'(out_fire && out_last);
      if (out_fire || ends_q == '0) lost_q <= '0;
      else if (out_ready_i && lost_q != 3'd7) lost_q <= lost_q + 3'd1;
      if (in_fire || out_fire) stuck_q <= '0;
      else if (in_valid_i && out_ready_i && stuck_q != 3'd7) stuck_q <= stuck_q + 3'd1;
    end
  end
  always_comb begin
    if (rst_n) begin
      // Full beats, but for the last of a vector, with which all of it is out.
      FullBeats : assert (!out_valid || n == NW'(Lanes) || out_last && n <= NW'(Lanes));
      // An end leaves once, and 3 cycles of a ready sink never pass without a beat while one is inside.
      EndOnce : assert (!out_valid || !out_last || ends_q != '0);
      EndComes : assert (lost_q < 3'd3);
      Live : assert (stuck_q < 3'd1);
    end
  end
endmodule
