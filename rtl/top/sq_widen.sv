// SPDX-License-Identifier: Apache-2.0
// Puts Ratio words together to one, the first in the low bits. It holds one wide word, and takes the
// first word of the next one in the cycle in which that leaves.
`include "sq_assert.svh"

module sq_widen #(
  parameter int unsigned WordW = 8,
  parameter int unsigned Ratio = 2
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  // words
  input  logic                   in_valid_i,
  output logic                   in_ready_o,
  input  logic [WordW-1:0]       in_data_i,
  input  logic                   in_poison_i,
  input  logic                   in_last_i,
  // wide words: poisoned if one of them was; last if the last one of them was
  output logic                   out_valid_o,
  input  logic                   out_ready_i,
  output logic [Ratio*WordW-1:0] out_data_o,
  output logic                   out_poison_o,
  output logic                   out_last_o
);

  localparam int unsigned CountW = sq_pkg::index_w(Ratio);
  logic [CountW-1:0] count_q;
  logic take, ends;

  assign in_ready_o = !out_valid_o || out_ready_i;
  assign take = in_valid_i && in_ready_o;
  assign ends = count_q == CountW'(Ratio - 1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      out_valid_o <= 1'b0;
    end else begin
      if (take) count_q <= ends ? '0 : count_q + 1'b1;
      if (in_ready_o) out_valid_o <= in_valid_i && ends;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      out_data_o <= (Ratio * WordW)'({in_data_i, out_data_o} >> WordW);
      out_poison_o <= in_poison_i || (count_q != '0 && out_poison_o);
      out_last_o <= in_last_i;
    end
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_data_o, out_poison_o, out_last_o})

endmodule
