// SPDX-License-Identifier: Apache-2.0
// A counter of the chip. It counts a cycle behind what it counts, so that what says so has this module's two flip-flops
// to drive and not the 64 of every counter. A reset sets the first of them, and the first edge behind it the counter.
module sq_top_count #(
  parameter int unsigned Start = 0  // where a reset and begin_i let it begin
) (
  input  logic        clk_i, rst_ni, begin_i, add_i,
  output logic [63:0] count_o
);

  logic begin_q, add_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      begin_q <= 1'b1;
      add_q <= 1'b0;
    end else begin
      begin_q <= begin_i;
      add_q <= add_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (begin_q) count_o <= 64'(Start);
    else if (add_q) count_o <= count_o + 1'b1;
  end

endmodule
