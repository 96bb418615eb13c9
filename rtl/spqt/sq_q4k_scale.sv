// SPDX-License-Identifier: Apache-2.0
// A binary16 number times 0..63 as binary32, exact: 11 and 6 bits make 17. An exponent of 31 counts
// like the others (the caller refuses it); the sign is kept, of zero too.
module sq_q4k_scale (
  input  logic [15:0] half_i,
  input  logic [5:0]  factor_i,
  output logic [31:0] out_o
);

  logic is_normal;
  logic [10:0] significand;
  logic [16:0] product;  // times 2^(exponent - 25)
  logic [4:0] exponent;
  assign is_normal = |half_i[14:10];
  assign significand = {is_normal, half_i[9:0]};
  assign exponent = is_normal ? half_i[14:10] : 5'd1;
  assign product = 17'(significand) * 17'(factor_i);

  // Normalized step by step: `shifted` has its first one in bit 16, `zeros` stood above it.
  logic [16:0] shifted;
  logic [4:0] zeros;
  always_comb begin
    shifted = product;
    zeros = '0;
    if (shifted[16:1] == '0) begin  // 16
      shifted = {shifted[0], 16'b0};
      zeros = 5'd16;
    end else begin
      if (shifted[16:9] == '0) begin
        shifted = {shifted[8:0], 8'b0};
        zeros = zeros + 5'd8;
      end
      if (shifted[16:13] == '0) begin
        shifted = {shifted[12:0], 4'b0};
        zeros = zeros + 5'd4;
      end
      if (shifted[16:15] == '0) begin
        shifted = {shifted[14:0], 2'b0};
        zeros = zeros + 5'd2;
      end
      if (!shifted[16]) begin
        shifted = {shifted[15:0], 1'b0};
        zeros = zeros + 5'd1;
      end
    end
  end

  // The first one stands for 2^(16 - zeros + exponent - 25); biased by 127.
  logic [7:0] biased;
  wire unused_one = shifted[16];
  assign biased = 8'd118 + 8'(exponent) - 8'(zeros);
  assign out_o = {half_i[15], product == '0 ? 31'b0 : {biased, shifted[15:0], 7'b0}};

endmodule
