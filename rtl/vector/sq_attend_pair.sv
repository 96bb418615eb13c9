// SPDX-License-Identifier: Apache-2.0
// Sums of the beats of a head in pairs, neighbours first, Heads side by side; the last of an odd number passes. Latency
// 4, a beat a cycle.
module sq_attend_pair #(
  parameter int unsigned Heads = 1
) (
  input  logic                clk_i, rst_ni,
  // beats of a head
  input  logic                valid_i, last_i,
  input  logic [Heads*32-1:0] x_i,
  // sums
  output logic                valid_o, last_o,
  output logic [Heads*32-1:0] y_o
);

  logic is_second_q;
  logic [3:0] valid_q, last_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      is_second_q <= 1'b0;
      valid_q <= '0;
    end else begin
      if (valid_i) is_second_q <= !is_second_q && !last_i;
      valid_q <= {valid_q[2:0], valid_i && (is_second_q || last_i)};
    end
  end
  always_ff @(posedge clk_i) last_q <= {last_q[2:0], last_i};
  assign valid_o = valid_q[3];
  assign last_o = last_q[3];

  for (genvar h = 0; h < Heads; h++) begin : gen_head
    logic [31:0] first_q, y, y_q;
    sq_fp_add #(.Cut(1'b1)) u_sum (
      .clk_i, .en_i(1'b1), .a_i(is_second_q ? first_q : 32'h80000000), .b_i(x_i[h*32 +: 32]), .y_o(y)
    );
    always_ff @(posedge clk_i) begin
      if (valid_i) first_q <= x_i[h*32 +: 32];
      y_q <= y;
    end
    assign y_o[h*32 +: 32] = y_q;
  end

endmodule
