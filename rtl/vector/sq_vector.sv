// SPDX-License-Identifier: Apache-2.0
// Vector unit (SPEC R.4): what a model computes element by element, in binary32, an operation a beat for all lanes.
//
//   y = f(a * b + c)    f: x, e^x, 1 / x, 1 / sqrt(x)
//   red                 largest y, or sum of the y, of all lanes and of the beats since in_last_i
//
//   product | sum | f: six stages | lanes in pairs: $clog2(Lanes) stages | with the beats before
//
// Latency 9 + $clog2(Lanes), a beat a cycle. Every beat gives an output beat, with red as far as it has come.
// Stages move together; they stop while the last one holds a beat that is not taken.
// Cut = 1, for a short clock period: product, sum and each join of two lanes take four stages, f nine, so the latency is
// 18 + 4 $clog2(Lanes); and a beat that is added to those before it waits a cycle in front of the last stage.
`include "sq_assert.svh"

module sq_vector #(
  parameter int unsigned Lanes = 16,  // a power of two
  parameter int unsigned Cut = 0
) (
  input  logic                clk_i, rst_ni,
  // operands, binary32, lane 0 in the low bits
  input  logic                in_valid_i,
  output logic                in_ready_o,
  input  logic [1:0]          in_f_i,  // sq_pkg::VECTOR_*
  input  logic                in_sum_i,  // red is a sum, else the largest
  input  logic                in_last_i,  // of the row that red goes over
  input  logic [Lanes*32-1:0] in_a_i, in_b_i, in_c_i,
  // results
  output logic                out_valid_o,
  input  logic                out_ready_i,
  output logic [Lanes*32-1:0] out_y_o,
  output logic [31:0]         out_red_o
);

  if (Lanes < 1 || Lanes > 64 || (Lanes & (Lanes - 1)) != 0) begin : gen_bad
    $error("Lanes: a power of two, 1..64");
  end

  localparam int unsigned Levels = $clog2(Lanes);
  localparam bit IsCut = Cut != 0;
  localparam int unsigned Step = IsCut ? 4 : 1;  // stages of a product, a sum, a join
  localparam int unsigned Front = 2 * Step + (IsCut ? 9 : 6);  // stages up to y
  localparam int unsigned Stages = Front + Step * Levels + 1;

  // ---- control

  logic [Stages-1:0] valid_q;
  logic [Stages-2:0] sum_q, last_q;
  logic [1:0] f;  // behind product and sum
  logic advance, is_first_q, adds, waited_q;
  assign adds = IsCut && valid_q[Stages-2] && sum_q[Stages-2] && !is_first_q;
  assign advance = (!valid_q[Stages-1] || out_ready_i) && (!adds || waited_q);
  assign in_ready_o = advance;
  assign out_valid_o = valid_q[Stages-1];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      is_first_q <= 1'b1;
      waited_q <= 1'b0;
    end else begin
      waited_q <= adds && !advance;
      if (advance) begin
        valid_q <= {valid_q[Stages-2:0], in_valid_i};
        if (valid_q[Stages-2]) is_first_q <= last_q[Stages-2];
      end else if (out_ready_i) begin
        valid_q[Stages-1] <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (advance) begin
      sum_q <= {sum_q[Stages-3:0], in_sum_i};
      last_q <= {last_q[Stages-3:0], in_last_i};
    end
  end
  sq_delay #(.Width(2), .Stages(2 * Step)) u_f (.clk_i, .en_i(advance), .x_i(in_f_i), .x_o(f));

  // ---- lanes

  logic [Lanes*32-1:0] y;
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic [31:0] product, product_q, c_q, x, x_q;
    sq_fp_mul #(.Cut(IsCut)) u_product (.clk_i, .en_i(advance), .a_i(in_a_i[l*32 +: 32]), .b_i(in_b_i[l*32 +: 32]), .y_o(product));
    sq_fp_add #(.Cut(IsCut)) u_sum (.clk_i, .en_i(advance), .a_i(product_q), .b_i(c_q), .y_o(x));
    sq_delay #(.Width(32), .Stages(Step)) u_c (.clk_i, .en_i(advance), .x_i(in_c_i[l*32 +: 32]), .x_o(c_q));
    always_ff @(posedge clk_i) begin
      if (advance) begin
        product_q <= product;
        x_q <= x;
      end
    end
    sq_vector_func #(.Cut(IsCut)) u_func (
      .clk_i, .advance_i(advance), .f_i(f), .x_i(x_q), .y_o(y[l*32 +: 32])
    );
  end

  // ---- one value of all lanes, in pairs: node n of 1 .. Lanes-1 joins nodes 2n and 2n+1, lanes are the leaves

  logic [2*Lanes*32-1:0] node;
  wire unused_node = ^node[31:0];
  assign node[31:0] = '0;
  assign node[2*Lanes*32-1 -: Lanes*32] = y;
  for (genvar n = 1; n < Lanes; n++) begin : gen_node
    logic [31:0] joined, joined_q;
    sq_vector_join #(.Cut(IsCut)) u_join (
      .clk_i, .en_i(advance), .is_sum_i(sum_q[Front - 1 + Step * (Levels - $clog2(n + 1))]),
      .a_i(node[2*n*32 +: 32]), .b_i(node[(2*n+1)*32 +: 32]), .y_o(joined)
    );
    always_ff @(posedge clk_i) if (advance) joined_q <= joined;
    assign node[n*32 +: 32] = joined_q;
  end

  logic [31:0] red, red_q;
  sq_vector_join #(.Halved(IsCut)) u_red (
    .clk_i, .en_i(1'b1), .is_sum_i(sum_q[Stages-2]), .a_i(red_q), .b_i(node[63:32]), .y_o(red)
  );
  always_ff @(posedge clk_i) begin
    if (advance && valid_q[Stages-2]) red_q <= is_first_q ? node[63:32] : red;
  end
  assign out_red_o = red_q;

  // The results of the lanes, beside their way to red.
  sq_delay #(.Width(Lanes * 32), .Stages(Step * Levels + 1)) u_y (.clk_i, .en_i(advance), .x_i(y), .x_o(out_y_o));

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_y_o, out_red_o})

endmodule
