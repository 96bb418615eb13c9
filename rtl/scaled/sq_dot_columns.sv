// SPDX-License-Identifier: Apache-2.0
// Products of two vectors of elements as what sq_acc_aligned cuts off at any place: for each bit of their magnitudes, how
// many lanes have it. A lane whose product is negative counts its inverted bits; with the number of those lanes, N,
//   sum of products = sum of count[j] * 2^j - N * (2^Columns - 1),
// and of products without their bits below d it is the same with N in place of count[j], j < d. exp_o: the largest
// exponent of the products that are not 0, in steps from the smallest one; a product has the sum of those of its factors,
// a subnormal its type's smallest. Combinational. Elements are signs and magnitudes (sq_block_line).
module sq_dot_columns #(
  parameter  int unsigned Lanes = 32,
  parameter  int unsigned AElement = sq_pkg::ELEMENT_E2M1,
  parameter  int unsigned BElement = sq_pkg::ELEMENT_E2M1,
  localparam int unsigned AW = sq_pkg::element_w(AElement),
  localparam int unsigned BW = sq_pkg::element_w(BElement),
  localparam int unsigned Columns = sq_pkg::element_columns(AElement, BElement),
  localparam int unsigned CountW = $clog2(Lanes + 1)
) (
  input  logic [Lanes*AW-1:0]       a_i,  // lane 0 in the low bits
  input  logic [Lanes*BW-1:0]       b_i,
  output logic [Columns*CountW-1:0] count_o,
  output logic [CountW-1:0]         negative_o,
  output logic [5:0]                exp_o,
  output logic                      any_o  // a product is not 0
);

  localparam int unsigned AExpW = sq_pkg::element_exp_w(AElement);
  localparam int unsigned BExpW = sq_pkg::element_exp_w(BElement);
  localparam int unsigned AMagW = AW - AExpW - 1;
  localparam int unsigned BMagW = BW - BExpW - 1;
  logic [Columns*Lanes-1:0] column;
  logic [Lanes-1:0] is_negative, is_product;
  logic [Lanes*6-1:0] exp;

  for (genvar i = 0; i < Lanes; i++) begin : gen_lane
    logic [AMagW-1:0] a;
    logic [BMagW-1:0] b;
    logic [5:0] a_exp, b_exp;
    logic [Columns-1:0] product;
    assign a = a_i[i*AW +: AMagW];
    assign b = b_i[i*BW +: BMagW];
    if (AExpW > 0) begin : gen_a
      assign a_exp = 6'(a_i[i*AW+AMagW+1 +: AExpW]);
      assign b_exp = 6'(b_i[i*BW+BMagW+1 +: BExpW]);
      assign product = Columns'((AMagW+BMagW)'(a) * (AMagW+BMagW)'(b)) << (a_exp + b_exp);
    end else begin : gen_integer
      always_comb begin
        a_exp = '0;
        b_exp = '0;
        for (int unsigned n = sq_pkg::element_mantissa(AElement) + 1; n < AMagW; n++)
          if (a[n]) a_exp = 6'(n - sq_pkg::element_mantissa(AElement));
        for (int unsigned n = sq_pkg::element_mantissa(BElement) + 1; n < BMagW; n++)
          if (b[n]) b_exp = 6'(n - sq_pkg::element_mantissa(BElement));
      end
      assign product = Columns'(a) * Columns'(b);
    end
    assign is_negative[i] = a_i[i*AW+AMagW] ^ b_i[i*BW+BMagW];
    assign is_product[i] = a != '0 && b != '0;
    assign exp[i*6 +: 6] = is_product[i] ? a_exp + b_exp : 6'd0;
    for (genvar j = 0; j < Columns; j++) begin : gen_bit
      assign column[j*Lanes+i] = product[j] ^ is_negative[i];
    end
  end

  for (genvar j = 0; j < Columns; j++) begin : gen_column
    sq_popcount #(.Width(Lanes)) u_count (.bit_i(column[j*Lanes +: Lanes]), .count_o(count_o[j*CountW +: CountW]));
  end
  sq_popcount #(.Width(Lanes)) u_negative (.bit_i(is_negative), .count_o(negative_o));

  logic [5:0] node[2*Lanes-1];
  always_comb begin
    for (int unsigned i = 0; i < Lanes; i++) node[Lanes-1+i] = exp[i*6 +: 6];
    for (int unsigned i = 1; i < Lanes; i++)
      node[Lanes-1-i] = node[2*(Lanes-1-i)+1] > node[2*(Lanes-1-i)+2] ? node[2*(Lanes-1-i)+1] : node[2*(Lanes-1-i)+2];
  end
  assign exp_o = node[0];
  assign any_o = |is_product;

endmodule
