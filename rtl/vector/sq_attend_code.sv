// SPDX-License-Identifier: Apache-2.0
// An INT8 code times a binary16 scale, as binary32, exact: significands of 8 and 11 bits. Every NaN is 7fc00000.
module sq_attend_code (
  input  logic [7:0]  code_i,
  input  logic [15:0] scale_i,
  output logic [31:0] y_o
);

  logic [31:0] code, scale;
  logic signed [20:0] product;
  logic [9:0] exp;
  logic is_top, sign, unused_low;
  // The magnitude of a code as a subnormal of binary16: in units of 2^-24.
  sq_fp_from_half u_code (.a_i({code_i[7], 7'd0, code_i[7] ? 8'd0 - code_i : code_i}), .y_o(code));
  sq_fp_from_half u_scale (.a_i(scale_i), .y_o(scale));
  sq_mul #(.AW(9), .BW(12)) u_product (
    .a_i({2'b01, code[22:16]}), .b_i({2'b01, scale[22:13]}), .p_o(product)
  );
  assign is_top = product[18];  // 2 and more
  assign exp = 10'(code[30:23]) + 10'(scale[30:23]) + 10'(is_top) - 10'd103;
  assign sign = code[31] ^ scale[31];
  assign unused_low = ^{code[15:0], scale[12:0], product[20:19], exp[9:8]};
  always_comb begin
    if (scale[30:23] == 8'hff) y_o = scale[22] || code_i == '0 ? 32'h7fc00000 : {sign, 8'hff, 23'd0};
    else if (code_i == '0 || scale[30:23] == '0) y_o = {sign, 31'd0};
    else y_o = {sign, exp[7:0], is_top ? product[17:0] : {product[16:0], 1'b0}, 5'd0};
  end

endmodule
