// SPDX-License-Identifier: Apache-2.0
// Elements of a token, bfloat16, over the power of two above its blocks (sq_encode_power). One stage, which moves with
// en_i.
//
// What is no number is 0. With HasPower what is below 2^-126, before or behind the division, is a zero of its sign, and
// what is beyond bfloat16 its largest number.
module sq_encode_over #(
  parameter int unsigned Lanes = 1,
  parameter bit          HasPower = 1'b1
) (
  input  logic                clk_i, en_i,
  input  logic [Lanes*16-1:0] x_i,
  input  logic signed [8:0]   power_i,
  output logic [Lanes*16-1:0] x_o
);

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic [15:0] x, over;
    assign x = x_i[l*16 +: 16];
    if (HasPower) begin : gen_power
      logic signed [9:0] exp;
      assign exp = $signed({2'b0, x[14:7]}) - 10'(power_i);
      always_comb begin
        over = {x[15], exp[7:0], x[6:0]};
        if (x[14:7] == '0 || exp < 10'sd1) over = {x[15], 15'd0};
        else if (exp > 10'sd254) over = {x[15], 15'h7f7f};
        if (&x[14:7]) over = '0;
      end
    end else begin : gen_plain
      wire unused_power = ^power_i;
      assign over = (&x[14:7]) ? 16'd0 : x;
    end
    always_ff @(posedge clk_i) begin
      if (en_i) x_o[l*16 +: 16] <= over;
    end
  end

endmodule
