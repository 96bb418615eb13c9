// SPDX-License-Identifier: Apache-2.0
// Two-entry stream register: one beat per cycle, one cycle of latency, and no combinational path
// between its two sides, so it cuts long ready chains.
`include "sq_assert.svh"

module sq_pipe_reg #(
  parameter int unsigned Width = 8
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

  logic head_valid_q, skid_valid_q;  // head: what the output shows; skid: one beat behind it
  logic [Width-1:0] head_q, skid_q;
  logic head_valid_d, skid_valid_d, push, pop;

  assign in_ready_o = !skid_valid_q;
  assign out_valid_o = head_valid_q;
  assign out_data_o = head_q;
  assign push = in_valid_i && in_ready_o;
  assign pop = out_valid_o && out_ready_i;

  always_comb begin
    head_valid_d = head_valid_q;
    skid_valid_d = skid_valid_q;
    if (pop || !head_valid_q) begin  // the head is free: skid first, else the arriving beat
      head_valid_d = skid_valid_q || push;
      skid_valid_d = 1'b0;
    end else if (push) begin
      skid_valid_d = 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_valid_q <= 1'b0;
      skid_valid_q <= 1'b0;
    end else begin
      head_valid_q <= head_valid_d;
      skid_valid_q <= skid_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (pop || !head_valid_q) head_q <= skid_valid_q ? skid_q : in_data_i;
    if (push) skid_q <= in_data_i;
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, out_data_o)
  `SQ_ASSERT(SkidBehindHead, head_valid_q || !skid_valid_q)

endmodule
