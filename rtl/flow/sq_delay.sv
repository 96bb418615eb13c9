// SPDX-License-Identifier: Apache-2.0
// Registers in a row that move together while en_i is high; with Stages = 0 a wire. So an operator can be
// cut into stages, and what travels beside it takes as many.
module sq_delay #(
  parameter int unsigned Width = 8,
  parameter int unsigned Stages = 1
) (
  input  logic             clk_i, en_i,
  input  logic [Width-1:0] x_i,
  output logic [Width-1:0] x_o
);

  if (Stages == 0) begin : gen_wire
    logic unused;
    assign unused = ^{clk_i, en_i};
    assign x_o = x_i;
  end else begin : gen_stages
    logic [Stages*Width-1:0] x_q;  // the newest in the low bits
    always_ff @(posedge clk_i) begin
      if (en_i) x_q <= (Stages * Width)'({x_q, x_i});
    end
    assign x_o = x_q[Stages*Width-1 -: Width];
  end

endmodule
