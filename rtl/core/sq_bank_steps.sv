// SPDX-License-Identifier: Apache-2.0
// A bank in, its steps of `Lanes` elements out, a step per cycle; the bank leaves with its last
// step. Inverse of sq_bank_buf. In the last step of a bank that is no multiple of the lanes the
// surplus lanes are 0. One register, the step: data and valid pass through.
`include "sq_assert.svh"

module sq_bank_steps #(
  parameter  int unsigned Lines = 1,
  parameter  int unsigned Lanes = 4,
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned Width = 4,  // bits per element
  localparam int unsigned Steps = sq_pkg::ceil_div(BankLen, Lanes),
  localparam int unsigned StepW = sq_pkg::index_w(Steps)
) (
  input  logic                           clk_i, rst_ni,
  // a bank of all lines
  input  logic                           in_valid_i,
  output logic                           in_ready_o,
  input  logic [Lines*BankLen*Width-1:0] in_data_i,  // element 0 in the low bits
  // a step of it
  output logic                           out_valid_o,
  input  logic                           out_ready_i,
  output logic [Lines*Lanes*Width-1:0]   out_data_o
);

  localparam int unsigned LineW = Lanes * Width;

  logic [StepW-1:0] step_q;
  logic last;

  assign last = step_q == StepW'(Steps - 1);
  assign out_valid_o = in_valid_i;
  assign in_ready_o = out_ready_i && last;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) step_q <= '0;
    else if (out_valid_o && out_ready_i) step_q <= last ? '0 : step_q + 1'b1;
  end

  for (genvar l = 0; l < Lines; l++) begin : gen_line
    logic [Steps*LineW-1:0] bank;
    assign bank = (Steps * LineW)'(in_data_i[l*BankLen*Width +: BankLen*Width]);
    always_comb begin
      out_data_o[l*LineW +: LineW] = '0;
      for (int unsigned s = 0; s < Steps; s++) begin
        if (step_q == StepW'(s)) out_data_o[l*LineW +: LineW] = bank[s*LineW +: LineW];
      end
    end
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, out_data_o)

endmodule
