// SPDX-License-Identifier: Apache-2.0
// Product of two significands of 24 bits. Cut = 1: the products with both halves of b_i, then their sum,
// with a register after each step.
module sq_mul_sig #(
  parameter bit Cut = 1'b0
) (
  input  logic        clk_i, en_i,
  input  logic [23:0] a_i, b_i,
  output logic [47:0] p_o
);

  if (Cut) begin : gen_halves
    logic signed [37:0] low, high;
    logic [35:0] low_q, high_q, upper;
    logic unused_signs;
    sq_mul #(.AW(25), .BW(13)) u_low (.a_i({1'b0, a_i}), .b_i({1'b0, b_i[11:0]}), .p_o(low));
    sq_mul #(.AW(25), .BW(13)) u_high (.a_i({1'b0, a_i}), .b_i({1'b0, b_i[23:12]}), .p_o(high));
    assign unused_signs = ^{low[37:36], high[37:36]};
    sq_delay #(.Width(72)) u_halves (
      .clk_i, .en_i, .x_i({high[35:0], low[35:0]}), .x_o({high_q, low_q})
    );
    assign upper = high_q + 36'(low_q[35:12]);
    sq_delay #(.Width(48)) u_sum (.clk_i, .en_i, .x_i({upper, low_q[11:0]}), .x_o(p_o));
  end else begin : gen_whole
    logic signed [49:0] product;
    logic unused_signs;
    sq_mul #(.AW(25), .BW(25)) u_mul (.a_i({1'b0, a_i}), .b_i({1'b0, b_i}), .p_o(product));
    assign unused_signs = ^{clk_i, en_i, product[49:48]};
    assign p_o = product[47:0];
  end

endmodule
