// SPDX-License-Identifier: Apache-2.0
// Signed multiplier, the only one in the design: Baugh-Wooley partial products summed by a
// carry-save array. Smaller than Yosys's own signed `*` (reports/area). Exact for all operands.
//
//   p = a*b = sum over i,j of pp[j][i] * 2^(i+j) + 2^(AW-1) + 2^(BW-1) + 2^(AW+BW-1)  mod 2^(AW+BW)
//   pp[j][i] = a[i] & b[j], inverted where exactly one of i, j is its operand's sign position.
module sq_mul #(
  parameter  int unsigned AW = 8,
  parameter  int unsigned BW = 8,
  localparam int unsigned PW = AW + BW
) (
  input  logic signed [AW-1:0] a_i,
  input  logic signed [BW-1:0] b_i,
  output logic signed [PW-1:0] p_o
);

  if (AW < 2 || BW < 2) begin : gen_bad
    $error("AW and BW >= 2");
  end

  localparam logic [PW-1:0] Correction =
      (PW'(1) << (AW - 1)) + (PW'(1) << (BW - 1)) + (PW'(1) << (PW - 1));
  localparam logic [AW-1:0] SignA = AW'(1) << (AW - 1);

  logic [AW-1:0] pp;  // partial product of row j ...
  logic [PW-1:0] row, major;  // ... shifted into place; majority of the three addends
  logic [PW-1:0] sum, carry;  // carry-save state

  always_comb begin
    sum = Correction;
    carry = '0;
    for (int unsigned j = 0; j < BW; j++) begin
      // Inverted: the sign of a, or in the sign row of b everything else.
      pp = (a_i & {AW{b_i[j]}}) ^ ((j == BW - 1) ? ~SignA : SignA);
      row = PW'(pp) << j;
      major = (sum & carry) | (row & (sum | carry));
      sum = sum ^ carry ^ row;
      carry = major << 1;
    end
  end

  assign p_o = sum + carry;

endmodule
