// SPDX-License-Identifier: Apache-2.0
// Streams of sq_spqr_dec: tiles of 16 / Words beats, nothing of a tile before it is complete, all of
// it after, the first beat in the next cycle; the row codes in order.
module sq_spqr_dec_check #(
  parameter  int unsigned Words = 4,
  parameter  int unsigned Inside = 16 / Words,
  localparam int unsigned Beats = 16 / Words,
  localparam int unsigned AtW = $clog2(Beats + 1)
) (
  input logic                clk_i, in_valid_i,
  input logic [Words*64-1:0] in_word_i,
  input logic                out_ready_i
);
  logic rst_n;
  initial rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic in_ready, in_fire, out_valid, out_last;
  logic [Words*48-1:0] code;
  logic [Words*3-1:0] scale, zero;
  logic [63:0] second;
  logic [2:0] error;
  logic [AtW-1:0] in_q, out_q;
  sq_spqr_dec #(.Words(Words)) dut (
    .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready), .in_word_i,
    .out_valid_o(out_valid), .out_ready_i, .out_code_o(code), .out_scale_o(scale),
    .out_zero_o(zero), .out_second_o(second), .out_last_o(out_last), .out_error_o(error)
  );
  assign in_fire = in_valid_i && in_ready;
  sq_stream_rules #(.Inside(Inside), .LostWait(1), .LiveWait(1), .OweW(AtW)) u_rules (
    .clk_i, .rst_ni(rst_n), .offered_i(in_valid_i), .needed_i(1'b1), .in_fire_i(in_fire),
    .owe_i(in_q == AtW'(Beats - 1) ? AtW'(Beats) : '0), .out_valid_i(out_valid), .out_ready_i
  );
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      in_q <= '0;
      out_q <= '0;
    end else begin
      if (in_fire) in_q <= in_q == AtW'(Beats - 1) ? '0 : in_q + 1'b1;
      if (out_valid && out_ready_i) out_q <= out_q == AtW'(Beats - 1) ? '0 : out_q + 1'b1;
    end
  end
  always_comb begin
    if (rst_n) begin
      LastOfTile : assert (!out_valid || out_last == (out_q == AtW'(Beats - 1)));
    end
  end
endmodule
