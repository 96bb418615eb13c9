// SPDX-License-Identifier: Apache-2.0
// Dot product of two vectors of decoded elements (sq_block_line), exact. Combinational. Integers go
// through sq_dot. Elements with an exponent (E4M3, E5M2) are a signed significand in the low bits
// and a shift above it: significands are multiplied, and the product is shifted by both.
module sq_dot_element #(
  parameter  int unsigned Lanes = 16,
  parameter  int unsigned AElement = sq_pkg::ELEMENT_E4M3,
  parameter  int unsigned BElement = sq_pkg::ELEMENT_E4M3,
  localparam int unsigned AW = sq_pkg::element_w(AElement),
  localparam int unsigned BW = sq_pkg::element_w(BElement),
  localparam int unsigned SumW = sq_pkg::element_dot_w(AElement, BElement, Lanes)
) (
  input  logic [Lanes*AW-1:0]    a_i,  // lane 0 in the low bits
  input  logic [Lanes*BW-1:0]    b_i,
  output logic signed [SumW-1:0] sum_o
);

  localparam int unsigned AExpW = sq_pkg::element_exp_w(AElement);
  localparam int unsigned BExpW = sq_pkg::element_exp_w(BElement);

  if (AExpW == 0 && BExpW == 0) begin : gen_integer
    sq_dot #(.Lanes(Lanes), .AW(AW), .BW(BW)) u_dot (.a_i, .b_i, .sum_o);
  end else begin : gen_float
    localparam int unsigned ASigW = AW - AExpW;
    localparam int unsigned BSigW = BW - BExpW;
    localparam int unsigned ProdW = ASigW + BSigW;
    logic [Lanes*SumW-1:0] term;
    for (genvar i = 0; i < Lanes; i++) begin : gen_lane
      logic signed [ProdW-1:0] product;
      logic [5:0] a_exp, b_exp;
      sq_mul #(.AW(ASigW), .BW(BSigW)) u_mul (
        .a_i(a_i[i*AW +: ASigW]), .b_i(b_i[i*BW +: BSigW]), .p_o(product)
      );
      if (AExpW > 0) begin : gen_a
        assign a_exp = 6'(a_i[i*AW+ASigW +: AExpW]);
      end else begin : gen_no_a
        assign a_exp = '0;
      end
      if (BExpW > 0) begin : gen_b
        assign b_exp = 6'(b_i[i*BW+BSigW +: BExpW]);
      end else begin : gen_no_b
        assign b_exp = '0;
      end
      assign term[i*SumW +: SumW] = SumW'(product) << (a_exp + b_exp);
    end

    // Heap order, as in sq_dot.
    logic [SumW-1:0] node[2*Lanes-1];
    always_comb begin
      for (int unsigned i = 0; i < Lanes; i++) node[Lanes-1+i] = term[i*SumW +: SumW];
      for (int unsigned i = 1; i < Lanes; i++) begin
        node[Lanes-1-i] = node[2*(Lanes-1-i)+1] + node[2*(Lanes-1-i)+2];
      end
    end
    assign sum_o = $signed(node[0]);
  end

endmodule
