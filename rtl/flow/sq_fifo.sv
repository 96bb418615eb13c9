// SPDX-License-Identifier: Apache-2.0
// A queue of Depth beats: one in and one out per cycle, latency 1. Ready does not depend on the
// other side, so that no chain of ready goes through it. A queue of more than eight beats has a flip-flop for each
// place that may be read next, so that none drives the whole multiplexer.
`include "sq_assert.svh"

module sq_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 2  // >= 2: with one place every other cycle would be lost
) (
  input  logic             clk_i, rst_ni,
  // input stream
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [Width-1:0] in_data_i,
  // output stream
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [Width-1:0] out_data_o
);

  if (Depth < 2) begin : gen_bad
    $error("Depth >= 2");
  end

  localparam int unsigned PlaceW = sq_pkg::index_w(Depth);
  localparam int unsigned CountW = $clog2(Depth + 1);
  localparam logic [PlaceW-1:0] Last = PlaceW'(Depth - 1);

  logic [CountW-1:0] count_q;
  logic [PlaceW-1:0] write_q;
  logic push, pop;

  assign in_ready_o = count_q != CountW'(Depth);
  assign out_valid_o = count_q != '0;
  assign push = in_valid_i && in_ready_o;
  assign pop = out_valid_o && out_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      write_q <= '0;
    end else begin
      count_q <= count_q + CountW'(push) - CountW'(pop);
      if (push) write_q <= (write_q == Last) ? '0 : write_q + 1'b1;
    end
  end

  logic [Width-1:0] beat_q[Depth];
  always_ff @(posedge clk_i) begin
    if (push) beat_q[write_q] <= in_data_i;
  end
  if (Depth > 8) begin : gen_one_hot
    logic [Depth-1:0] at_q;
    logic [Width-1:0] data;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) at_q <= Depth'(1);
      else if (pop) at_q <= {at_q[Depth-2:0], at_q[Depth-1]};
    end
    always_comb begin
      data = '0;
      for (int unsigned i = 0; i < Depth; i++) data = data | (beat_q[i] & {Width{at_q[i]}});
    end
    assign out_data_o = data;
  end else begin : gen_place
    logic [PlaceW-1:0] read_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) read_q <= '0;
      else if (pop) read_q <= (read_q == Last) ? '0 : read_q + 1'b1;
    end
    assign out_data_o = beat_q[read_q];
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, out_data_o)

endmodule
