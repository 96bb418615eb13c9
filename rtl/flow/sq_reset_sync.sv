// SPDX-License-Identifier: Apache-2.0
// A reset that ends with an edge of the clock: rst_no falls with rst_ni at once, and rises behind the second edge of
// clk_i after it. What it resets then sees the end of the reset in one and the same cycle. In a test (test_en_i) rst_no is
// rst_ni, so that no flip-flop of a scan chain resets others.
module sq_reset_sync (
  input  logic clk_i, rst_ni, test_en_i,
  output logic rst_no
);

`ifdef SYNTHESIS
  logic first_q, last_q;
`else
  logic first_q = 1'b1, last_q = 1'b1;  // a simulator sees rst_no fall, also where no clock runs in the first reset
`endif
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {last_q, first_q} <= 2'b00;
    else {last_q, first_q} <= {first_q, 1'b1};
  end
  assign rst_no = test_en_i ? rst_ni : last_q;

endmodule
