// SPDX-License-Identifier: Apache-2.0
// Dot products in binary32, in a given order, of Lanes rows: of binary16 numbers, whose products are
// exact, out in binary16 (SpQR, SPEC H.7), or of binary32 numbers, each product rounded (SpQt, SPEC G.7).
//
//   acc = acc + w x    beat by beat; after in_end_i (the end of a worker's share)
//   sum = sum + acc    and after in_last_i sum leaves, rounded to binary16
// The first beat after an end adds to +0; the first share is the sum. A lane that has no more to add
// is given a zero, which changes nothing: no partial sum is -0.
//
// A lane may have several rows, which take turns: beat i is of row i mod Turns, and Turns beats in a row
// bear the same end and last. Then Turns outputs leave, one for each. A row stands in a ring of
// registers, of which the oldest is that of the next beat.
//
//   product | acc | sum | output
// Latency 4, a beat per cycle. Stages move together; they stop while an output waits for a place.
`include "sq_assert.svh"

module sq_fp_mac #(
  parameter  int unsigned Lanes = 1,
  parameter  int unsigned IsHalf = 1,  // 1: binary16 in and out
  parameter  int unsigned Turns = 1,  // rows of a lane
  localparam int unsigned NumW = IsHalf != 0 ? 16 : 32
) (
  input  logic                  clk_i, rst_ni,
  // a step of all rows
  input  logic                  in_valid_i,
  output logic                  in_ready_o,
  input  logic                  in_end_i,   // of a share; stands with in_last_i too
  input  logic                  in_last_i,  // of the rows
  input  logic [Lanes*NumW-1:0] in_w_i, in_x_i,
  // sums of all rows
  output logic                  out_valid_o,
  input  logic                  out_ready_i,
  output logic [Lanes*NumW-1:0] out_y_o
);

  logic [2:0] valid_q, last_q;
  logic [1:0] end_q;
  logic [Turns-1:0] acc_first_q, sum_first_q;  // ring
  logic out_valid_q, advance, ends, sum_first;
  assign advance = !(valid_q[2] && last_q[2] && out_valid_q && !out_ready_i);
  assign in_ready_o = advance;
  assign out_valid_o = out_valid_q;
  assign ends = end_q[1] || last_q[1];
  assign sum_first = ends ? last_q[1] : sum_first_q[Turns-1];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      acc_first_q <= '1;
      sum_first_q <= '1;
      out_valid_q <= 1'b0;
    end else begin
      if (advance) begin
        valid_q <= {valid_q[1:0], in_valid_i};
        if (valid_q[0]) acc_first_q <= Turns'({acc_first_q, end_q[0] || last_q[0]});
        if (valid_q[1]) sum_first_q <= Turns'({sum_first_q, sum_first});
        out_valid_q <= valid_q[2] && last_q[2] || out_valid_q && !out_ready_i;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (advance) begin
      last_q <= {last_q[1:0], in_last_i};
      end_q <= {end_q[0], in_end_i};
    end
  end

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic [31:0] w, x, product, product_q, acc, sum, added;
    logic [Turns*32-1:0] acc_q, sum_q;  // rings
    logic [NumW-1:0] out, out_q;
    if (IsHalf != 0) begin : gen_half
      sq_fp_from_half u_w (.a_i(in_w_i[l*16 +: 16]), .y_o(w));
      sq_fp_from_half u_x (.a_i(in_x_i[l*16 +: 16]), .y_o(x));
      sq_fp_to_half u_out (.a_i(sum_q[31:0]), .y_o(out));
    end else begin : gen_whole
      assign w = in_w_i[l*32 +: 32];
      assign x = in_x_i[l*32 +: 32];
      assign out = sum_q[31:0];
    end
    sq_fp_mul u_product (.clk_i(1'b0), .en_i(1'b0), .a_i(w), .b_i(x), .y_o(product));
    sq_fp_add u_acc (
      .clk_i(1'b0), .en_i(1'b0),
      .a_i(acc_first_q[Turns-1] ? 32'd0 : acc_q[(Turns-1)*32 +: 32]), .b_i(product_q), .y_o(acc)
    );
    sq_fp_add u_sum (
      .clk_i(1'b0), .en_i(1'b0),
      .a_i(sum_q[(Turns-1)*32 +: 32]), .b_i(acc_q[31:0]), .y_o(added));
    assign sum = !ends ? sum_q[(Turns-1)*32 +: 32] : sum_first_q[Turns-1] ? acc_q[31:0] : added;
    always_ff @(posedge clk_i) begin
      if (advance) begin
        product_q <= product;
        if (valid_q[0]) acc_q <= (Turns*32)'({acc_q, acc});
        if (valid_q[1]) sum_q <= (Turns*32)'({sum_q, sum});
        if (valid_q[2] && last_q[2]) out_q <= out;
      end
    end
    assign out_y_o[l*NumW +: NumW] = out_q;
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, out_y_o)

endmodule
