// SPDX-License-Identifier: Apache-2.0
// Dot product of two vectors of signed lanes, exact. Combinational: the multipliers of sq_mul and
// a balanced adder tree.
module sq_dot #(
  parameter  int unsigned Lanes = 16,
  parameter  int unsigned AW = 8,
  parameter  int unsigned BW = 4,
  localparam int unsigned SumW = AW + BW + $clog2(Lanes)
) (
  input  logic [Lanes*AW-1:0]    a_i,  // lane 0 in the low bits
  input  logic [Lanes*BW-1:0]    b_i,
  output logic signed [SumW-1:0] sum_o
);

  localparam int unsigned ProdW = AW + BW;

  logic [Lanes*ProdW-1:0] product;
  for (genvar i = 0; i < Lanes; i++) begin : gen_lane
    sq_mul #(.AW(AW), .BW(BW)) u_mul (
      .a_i(a_i[i*AW +: AW]), .b_i(b_i[i*BW +: BW]), .p_o(product[i*ProdW +: ProdW])
    );
  end

  // The tree adds products in offset binary, p + 2^(ProdW-1): without signs an adder is one bit
  // shorter. What all offsets sum up to is taken away at the end; for 2^n lanes that is the top bit.
  //
  // Heap order: node 0 is the sum, node n adds nodes 2n+1 and 2n+2, the last Lanes nodes are the
  // products. Synthesis trims each adder to the bits its operands need.
  localparam logic [SumW-1:0] Offset = SumW'(Lanes) << (ProdW - 1);
  logic [SumW-1:0] node[2*Lanes-1];
  always_comb begin
    for (int unsigned i = 0; i < Lanes; i++) begin
      node[Lanes-1+i] = SumW'({!product[i*ProdW+ProdW-1], product[i*ProdW +: ProdW-1]});
    end
    for (int unsigned i = 1; i < Lanes; i++) begin
      node[Lanes-1-i] = node[2*(Lanes-1-i)+1] + node[2*(Lanes-1-i)+2];
    end
  end
  assign sum_o = $signed(node[0] - Offset);

endmodule
