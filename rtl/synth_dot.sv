// SPDX-License-Identifier: Apache-2.0
// sq_dot for speed: the same values, but the partial products of all lanes meet in one carry-save
// tree with one adder at its end, instead of an adder per product and per node. sim/synth/sq_synth_run.c
// reads it over rtl/number/sq_dot.sv where a recipe says so (sq_synth.h); the simulation never does.
// tests/unit/synth/test_synth proves netlists made with it equal to sq_dot.
//
//   a*b = sum over i,j of pp[j][i] * 2^(i+j) + 2^(AW-1) + 2^(BW-1) - 2^(AW+BW-1)   (sq_mul.sv)
module sq_dot #(
  parameter  int unsigned Lanes = 16,
  parameter  int unsigned AW = 8,
  parameter  int unsigned BW = 4,
  localparam int unsigned SumW = AW + BW + $clog2(Lanes)
) (
  input  logic [Lanes*AW-1:0]    a_i,
  input  logic [Lanes*BW-1:0]    b_i,
  output logic signed [SumW-1:0] sum_o
);

  // A row per lane and bit of the narrower operand, and one for the constants of all lanes.
  localparam bit          Swap = BW > AW;
  localparam int unsigned RowW = Swap ? BW : AW;
  localparam int unsigned Bits = Swap ? AW : BW;
  localparam int unsigned Rows = Lanes * Bits + 1;
  localparam logic [RowW-1:0] Sign = RowW'(1) << (RowW - 1);
  localparam logic [SumW-1:0] Correction = SumW'(Lanes) *
      ((SumW'(1) << (AW - 1)) + (SumW'(1) << (BW - 1)) - (SumW'(1) << (AW + BW - 1)));

  logic [RowW-1:0] pp[Rows-1];
  for (genvar i = 0; i < Lanes; i++) begin : gen_lane
    for (genvar j = 0; j < Bits; j++) begin : gen_bit
      logic [RowW-1:0] wide;
      logic narrow;
      if (Swap) begin : gen_swapped
        assign wide = b_i[i*BW +: BW];
        assign narrow = a_i[i*AW + j];
      end else begin : gen_straight
        assign wide = a_i[i*AW +: AW];
        assign narrow = b_i[i*BW + j];
      end
      assign pp[j*Lanes+i] = (wide & {RowW{narrow}}) ^ ((j == Bits - 1) ? ~Sign : Sign);
    end
  end

  // A queue: every step takes the three oldest rows and appends their sum and carry, so all rows
  // pass about the same number of full adders. Rows of equal weight are neighbours.
  logic [SumW-1:0] row[3*Rows-4];
  always_comb begin
    row[0] = Correction;
    for (int unsigned j = 0; j < Bits; j++) begin
      for (int unsigned i = 0; i < Lanes; i++) row[1+j*Lanes+i] = SumW'(pp[j*Lanes+i]) << j;
    end
    for (int unsigned n = 0; n < Rows - 2; n++) begin
      row[Rows+2*n] = row[3*n] ^ row[3*n+1] ^ row[3*n+2];
      row[Rows+2*n+1] =
          ((row[3*n] & row[3*n+1]) | (row[3*n+2] & (row[3*n] | row[3*n+1]))) << 1;
    end
  end
  assign sum_o = $signed(row[3*Rows-6] + row[3*Rows-5]);

endmodule
