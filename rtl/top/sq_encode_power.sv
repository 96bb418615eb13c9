// SPDX-License-Identifier: Apache-2.0
// The scale above the blocks of a token from its largest magnitude, bfloat16 without sign: the smallest power of two g
// with g * Limit >= amax (SPEC Q.5b, token2), 1 where amax is 0. Combinational.
//
//   Parts = 2   that of high elements; low ones have a sixteenth of it (1 where amax is 0)
module sq_encode_power #(
  parameter int unsigned Limit = 2688,  // at most 8 significant bits; 0: g is 1
  parameter int unsigned Parts = 1
) (
  input  logic [14:0]         amax_i,  // less than 2^-126 counts as 0
  output logic signed [8:0]   power_o,  // g = 2^power_o
  output logic [Parts*32-1:0] scale_o  // binary32, of low elements first
);

  if (Limit == 0) begin : gen_none
    wire unused_amax = ^amax_i;
    assign power_o = '0;
    assign scale_o = {Parts{32'h3f800000}};
  end else begin : gen_power
    localparam int unsigned LimitExp = $clog2(Limit + 1) - 1;
    localparam logic [6:0] Fraction = 7'((Limit << 7) >> LimitExp);  // below the leading one
    logic is_zero;
    assign is_zero = amax_i[14:7] == '0;
    assign power_o = is_zero ? 9'sd0 : 9'($signed({2'b0, amax_i[14:7]}) - 10'(127 + LimitExp) + 10'(amax_i[6:0] > Fraction));
    if (Parts == 2) begin : gen_two
      assign scale_o = is_zero ? {2{32'h3f800000}} : {binary32(power_o), binary32(power_o - 9'sd4)};
    end else begin : gen_one
      assign scale_o = binary32(power_o);
    end
  end

  // 2^power, power from -149 on.
  function automatic logic [31:0] binary32(logic signed [8:0] power);
    binary32 = {1'b0, 8'(power + 9'sd127), 23'd0};
    if (power < -9'sd126) binary32 = 32'd1 << 5'(power + 9'sd149);
  endfunction

endmodule
