// SPDX-License-Identifier: Apache-2.0
// sq_bank_steps: the steps of a bank in order, the bank taken with the last of them, for banks that
// are a multiple of the lanes and others.
module sq_bank_steps_check #(
  parameter  int unsigned BankLen = 4,
  parameter  int unsigned Lanes = 2,
  localparam int unsigned Steps = sq_pkg::ceil_div(BankLen, Lanes),
  localparam int unsigned AtW = $clog2(Steps + 1)
) (
  input logic               clk_i, in_valid_i,
  input logic [BankLen-1:0] in_data_i,
  input logic               out_ready_i
);
  logic rst_n;
  initial rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // The source keeps to its side of the handshake: an offer stays as it is until it is taken.
  logic in_valid, held_q;
  logic [BankLen-1:0] in_data, data_q;
  assign in_valid = held_q || in_valid_i;
  assign in_data = held_q ? data_q : in_data_i;
  always_ff @(posedge clk_i) begin
    if (!rst_n) held_q <= 1'b0;
    else held_q <= in_valid && !in_ready;
    data_q <= in_data;
  end

  logic in_ready, out_valid;
  logic [Lanes-1:0] out_data;
  logic [AtW-1:0] step_q;
  logic [Steps*Lanes-1:0] padded;
  sq_bank_steps #(.Lines(1), .Lanes(Lanes), .BankLen(BankLen), .Width(1)) dut (
    .clk_i, .rst_ni(rst_n), .in_valid_i(in_valid), .in_ready_o(in_ready),
    .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data)
  );
  assign padded = (Steps * Lanes)'(in_data) >> (step_q * Lanes);
  always_ff @(posedge clk_i) begin
    if (!rst_n) step_q <= '0;
    else if (out_valid && out_ready_i) step_q <= step_q == AtW'(Steps - 1) ? '0 : step_q + 1'b1;
  end
  always_comb begin
    if (rst_n) begin
      StepPerOffer : assert (out_valid == in_valid);
      TakenWithLast : assert ((in_valid && in_ready) ==
          (in_valid && out_ready_i && step_q == AtW'(Steps - 1)));
      ElementsInOrder : assert (!out_valid || out_data == padded[Lanes-1:0]);
    end
  end
endmodule
