// SPDX-License-Identifier: Apache-2.0
// A clock that stands still: clk_o has the pulse that begins at an edge of clk_i if en_i was high before that edge, in
// the second half of the cycle. A flow puts the integrated clock gate of its library in place of this module; here a
// flip-flop of the falling edge does what the latch of such a cell does, so that both tools read the same. In a test
// (test_en_i, the pin TE of such a cell) every pulse comes.
// With Gate = 0 clk_o is clk_i.
module sq_clock_gate #(
  parameter int unsigned Gate = 1
) (
  input  logic clk_i, en_i, test_en_i,
  output logic clk_o
);

  if (Gate != 0) begin : gen_gate
    logic en_q;
    always_ff @(negedge clk_i) en_q <= en_i || test_en_i;
    assign clk_o = clk_i && en_q;
  end else begin : gen_none
    wire unused_en = en_i ^ test_en_i;
    assign clk_o = clk_i;
  end

endmodule
