// SPDX-License-Identifier: Apache-2.0
// sq_sram around a macro of a library that loses a bit: at most one, any one. What the macro keeps is not looked at
// here (tests/rtl/operand_buffer.t does): it shows the word that is offered to it.
//
//   LossTold     a bit of the data that is lost is told
//   PoisonTold   so is a word that comes with poison_i
module sq_sram_check #(
  parameter int unsigned Width = 24  // two bytes or more: a lost bit hides the poison of one
) (
  input logic             clk_i, en_i, write_i,
  input logic [Width-1:0] data_i,
  input logic             poison_i
);
  logic error;
  logic [Width-1:0] data;
  sq_sram #(.Width(Width), .Depth(64), .Macro(64)) dut (
    .clk_i, .en_i, .write_i, .addr_i(6'd0), .data_i, .poison_i, .data_o(data), .error_o(error)
  );

  logic read_q, lost_q, poisoned_q;  // once a word is read; of the word of the cycle before
  initial {read_q, lost_q, poisoned_q} = 3'b000;
  always_ff @(posedge clk_i) begin
    if (en_i && !write_i) read_q <= 1'b1;
    lost_q <= read_q && data != data_i;
    poisoned_q <= read_q && poison_i;
  end
  always_comb begin
    LossTold : assert (!lost_q || error);
    PoisonTold : assert (!poisoned_q || error);
  end
endmodule

// The macro that sq_sram names.
module RM_IHPSG13_1P_64x64_c2_bm_bist (
  input  logic        A_CLK, A_MEN, A_WEN, A_REN, A_DLY,
  input  logic [5:0]  A_ADDR,
  input  logic [63:0] A_DIN, A_BM,
  output logic [63:0] A_DOUT,
  input  logic        A_BIST_CLK, A_BIST_EN, A_BIST_MEN, A_BIST_WEN, A_BIST_REN,
  input  logic [5:0]  A_BIST_ADDR,
  input  logic [63:0] A_BIST_DIN, A_BIST_BM
);
  (* anyseq *) logic [6:0] place;  // from 64 on none
  assign A_DOUT = A_DIN ^ (64'd1 << place);
  logic unused;
  assign unused = ^{A_CLK, A_MEN, A_WEN, A_REN, A_DLY, A_ADDR, A_BM, A_BIST_CLK, A_BIST_EN, A_BIST_MEN, A_BIST_WEN,
                    A_BIST_REN, A_BIST_ADDR, A_BIST_DIN, A_BIST_BM};
endmodule
