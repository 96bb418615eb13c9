// SPDX-License-Identifier: Apache-2.0
// Where outputs are in their tile, which leaves as Words beats: whether the beat at hand is its last.
module sq_engine_words #(
  parameter int unsigned Words = 1
) (
  input  logic clk_i, rst_ni,
  input  logic step_i,  // the beat goes
  output logic last_o
);

  localparam int unsigned WordW = sq_pkg::index_w(Words);
  logic [WordW-1:0] word_q;
  assign last_o = word_q == WordW'(Words - 1);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) word_q <= '0;
    else if (step_i) word_q <= last_o ? '0 : word_q + 1'b1;
  end

endmodule
