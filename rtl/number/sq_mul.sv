// SPDX-License-Identifier: Apache-2.0
// Signed multiplier, the only one in the design: Baugh-Wooley partial products summed by a
// carry-save array. Smaller than Yosys's own signed `*` (reports/area). Exact for all operands.
//
//   p = a*b = sum over i,j of pp[j][i] * 2^(i+j) + 2^(AW-1) + 2^(BW-1) + 2^(AW+BW-1)  mod 2^(AW+BW)
//   pp[j][i] = a[i] & b[j], inverted where exactly one of i, j is its operand's sign position.
//
// The constants cost no adder: row 1 has two addends where the lower two constants differ, the last
// addition has a free carry input of 2^AW where they are equal, and the highest one inverts a bit.
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

  // A row of the array per bit of the narrower operand.
  localparam bit          Swap = BW > AW;
  localparam int unsigned RowW = Swap ? BW : AW;
  localparam int unsigned Rows = Swap ? AW : BW;
  localparam bit          IsSquare = AW == BW;
  localparam logic [PW-1:0] Correction =
      IsSquare ? '0 : (PW'(1) << (AW - 1)) + (PW'(1) << (BW - 1));
  localparam logic [RowW-1:0] Sign = RowW'(1) << (RowW - 1);

  logic [RowW-1:0] wide;
  logic [Rows-1:0] narrow;
  if (Swap) begin : gen_swapped
    assign wide = b_i;
    assign narrow = a_i;
  end else begin : gen_straight
    assign wide = a_i;
    assign narrow = b_i;
  end

  logic [RowW-1:0] pp;  // partial product of row j ...
  logic [PW-1:0] row, major;  // ... shifted into place; majority of the three addends
  logic [PW-1:0] sum, carry;  // carry-save state; the carries end above bit Rows

  always_comb begin
    sum = '0;
    carry = '0;
    for (int unsigned j = 0; j < Rows; j++) begin
      // Inverted: the sign of wide, or in the sign row of narrow everything else.
      pp = (wide & {RowW{narrow[j]}}) ^ ((j == Rows - 1) ? ~Sign : Sign);
      row = PW'(pp) << j;
      major = (sum & carry) | (row & (sum | carry));
      sum = sum ^ carry ^ row;
      carry = major << 1;
      if (j == 0) carry = Correction;
    end
  end

  logic [RowW-1:0] upper;  // x - ~y = x + y + 1
  assign upper = IsSquare ? sum[PW-1:Rows] - ~carry[PW-1:Rows] : sum[PW-1:Rows] + carry[PW-1:Rows];
  assign p_o = {!upper[RowW-1], upper[RowW-2:0], sum[Rows-1:0]};

  wire unused_carry = ^carry[Rows-1:0];

endmodule
