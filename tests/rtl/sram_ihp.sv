// SPDX-License-Identifier: Apache-2.0
// verilator lint_off DECLFILENAME
// The behaviour of the memories RM_IHPSG13_1P_*x64_c2_bm_bist that sq_sram (Macro != 0) is put together
// from, as their data sheets have it; a write leaves noise on the output, which nobody may look at.
`define SRAM(Words, AddrW) \
module RM_IHPSG13_1P_``Words``x64_c2_bm_bist ( \
  input  logic A_CLK, A_MEN, A_WEN, A_REN, A_DLY, \
  input  logic [AddrW-1:0] A_ADDR, \
  input  logic [63:0] A_DIN, A_BM, \
  output logic [63:0] A_DOUT, \
  input  logic A_BIST_CLK, A_BIST_EN, A_BIST_MEN, A_BIST_WEN, A_BIST_REN, \
  input  logic [AddrW-1:0] A_BIST_ADDR, \
  input  logic [63:0] A_BIST_DIN, A_BIST_BM \
); \
  logic [63:0] word_q[Words]; \
  logic unused; \
  assign unused = ^{A_DLY, A_BIST_CLK, A_BIST_EN, A_BIST_MEN, A_BIST_WEN, A_BIST_REN, A_BIST_ADDR, \
                    A_BIST_DIN, A_BIST_BM}; \
  always_ff @(posedge A_CLK) begin \
    if (A_MEN && A_WEN) word_q[A_ADDR] <= (A_DIN & A_BM) | (word_q[A_ADDR] & ~A_BM); \
    if (A_MEN) A_DOUT <= A_REN ? word_q[A_ADDR] : ~A_DIN; \
  end \
endmodule
`SRAM(64, 6)
`SRAM(256, 8)
`SRAM(512, 9)
`SRAM(1024, 10)
`SRAM(2048, 11)
