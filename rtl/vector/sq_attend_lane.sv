// SPDX-License-Identifier: Apache-2.0
// A lane of the attention unit for one query: its elements of the query and of the accumulators, one for each beat
// of the head, with the multiplier and the adder that all passes over them share.
//
//   key     product = q * x                       to the tree of the head
//   value   acc = acc + e * x, or acc * e + x     where the key's score is the largest so far
//           acc = e * x                           at the first key, whose e is 1; in the last pass acc * e
//
//   operands | product: four stages | acc: four stages
// What is added is chosen five cycles after the beat, acc is written eight after it, so that it may be read nine after it.
module sq_attend_lane #(
  parameter  int unsigned Beats = 4,
  localparam int unsigned BeatW = sq_pkg::index_w(Beats)
) (
  input  logic             clk_i, q_write_i,
  input  logic [31:0]      q_i,
  // a beat
  input  logic [BeatW-1:0] at_i,
  input  logic             is_value_i,
  input  logic             of_acc_i,  // acc is what e multiplies
  input  logic [31:0]      e_i, x_i,
  output logic [31:0]      product_o,
  // the same beat, five and eight cycles later
  input  logic [BeatW-1:0] add_at_i,
  input  logic             add_x_i,   // acc was multiplied
  input  logic             add_none_i,
  input  logic [31:0]      add_i,     // x
  input  logic             write_i,
  input  logic [BeatW-1:0] write_at_i,
  // the accumulator of beat at_i
  output logic [31:0]      acc_o
);

  logic [31:0] q_q[Beats], acc_q[Beats];
  logic [31:0] a_q, b_q, product, product_q, other, sum;
  assign acc_o = acc_q[at_i];
  sq_fp_mul #(.Cut(1'b1)) u_product (.clk_i, .en_i(1'b1), .a_i(a_q), .b_i(b_q), .y_o(product));
  // -0 changes no number.
  assign other = add_none_i ? 32'h80000000 : add_x_i ? add_i : acc_q[add_at_i];
  sq_fp_add #(.Cut(1'b1)) u_sum (.clk_i, .en_i(1'b1), .a_i(product_q), .b_i(other), .y_o(sum));
  always_ff @(posedge clk_i) begin
    if (q_write_i) q_q[at_i] <= q_i;
    a_q <= is_value_i ? e_i : q_q[at_i];
    b_q <= of_acc_i ? acc_o : x_i;
    product_q <= product;
    if (write_i) acc_q[write_at_i] <= sum;
  end
  assign product_o = product_q;

endmodule
