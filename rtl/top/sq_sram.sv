// SPDX-License-Identifier: Apache-2.0
// A memory of one port with a parity bit for each byte. In each cycle in which en_i is high one word is
// written, or read; a word that is read stands on data_o from the next cycle on, until the next access.
// error_o says a cycle later that the parity of that word is wrong: the check has a register of its own behind
// the memory. A word that is written with poison_i has wrong parity on purpose: whoever reads it sees that it is no data.
//
// Macro = 0: an array, for simulation and where a library has no memories. Otherwise a grid of macros of
// that many words of 64 bits (IHP SG13G2), as wide and as deep as Width and Depth need.
// An instance of the library's macro of so many words.
`define SQ_SRAM_MACRO(Words) \
  RM_IHPSG13_1P_``Words``x64_c2_bm_bist u_macro ( \
    .A_CLK(clk_i), .A_MEN(chosen), .A_WEN(write_i), .A_REN(!write_i), .A_ADDR(place), \
    .A_DIN(padded[c*MacroW +: MacroW]), .A_BM('1), .A_DLY(1'b1), .A_DOUT(read[At +: MacroW]), \
    .A_BIST_CLK(1'b0), .A_BIST_EN(1'b0), .A_BIST_MEN(1'b0), .A_BIST_WEN(1'b0), .A_BIST_REN(1'b0), \
    .A_BIST_ADDR('0), .A_BIST_DIN('0), .A_BIST_BM('0) \
  );

module sq_sram #(
  parameter  int unsigned Width = 64,  // bits of a word, whole bytes
  parameter  int unsigned Depth = 256,  // words
  parameter  int unsigned Macro = 0,  // words of a macro: 64, 256, 512, 1024, 2048; 0: an array
  localparam int unsigned AddrW = $clog2(Depth)
) (
  input  logic             clk_i, en_i, write_i,
  input  logic [AddrW-1:0] addr_i,
  input  logic [Width-1:0] data_i,
  input  logic             poison_i,  // of the word that is written
  output logic [Width-1:0] data_o,
  output logic             error_o  // of the word that stood on data_o in the cycle before
);

  if (Width < 8 || Width % 8 != 0 || Depth < 2) begin : gen_bad
    $error("Width in whole bytes, Depth >= 2");
  end

  localparam int unsigned Bytes = Width / 8;
  localparam int unsigned StoredW = Width + Bytes;  // parity above the data

  logic [StoredW-1:0] stored, word;
  logic [Bytes-1:0] wrong_q;

  assign stored[Width-1:0] = data_i;
  assign data_o = word[Width-1:0];
  for (genvar b = 0; b < Bytes; b++) begin : gen_parity
    assign stored[Width+b] = ^data_i[b*8 +: 8] ^ poison_i;
    always_ff @(posedge clk_i) wrong_q[b] <= ^word[b*8 +: 8] ^ word[Width+b];
  end
  assign error_o = |wrong_q;

  if (Macro == 0) begin : gen_array
    logic [StoredW-1:0] word_q[Depth];
    logic [StoredW-1:0] read_q;
    always_ff @(posedge clk_i) begin
      if (en_i && write_i) word_q[addr_i] <= stored;
      if (en_i && !write_i) read_q <= word_q[addr_i];
    end
    assign word = read_q;
  end else begin : gen_macros
    localparam int unsigned MacroW = 64;
    localparam int unsigned Wide = sq_pkg::ceil_div(StoredW, MacroW);
    localparam int unsigned Deep = sq_pkg::ceil_div(Depth, Macro);
    localparam int unsigned InW = $clog2(Macro);  // address bits of a macro
    localparam int unsigned RowW = sq_pkg::index_w(Deep);

    logic [Wide*MacroW-1:0] padded;
    logic [InW-1:0] place;
    logic [RowW-1:0] row, row_q;
    logic [Deep*Wide*MacroW-1:0] read;
    assign padded = (Wide * MacroW)'(stored);
    assign place = InW'(addr_i);
    assign row = (Deep > 1) ? RowW'(addr_i >> InW) : '0;
    always_ff @(posedge clk_i) begin
      if (en_i && !write_i) row_q <= row;
    end
    for (genvar r = 0; r < Deep; r++) begin : gen_row
      logic chosen;
      assign chosen = en_i && row == RowW'(r);
      for (genvar c = 0; c < Wide; c++) begin : gen_macro
        localparam int unsigned At = (r * Wide + c) * MacroW;
        if (Macro == 64) begin : gen_64
          `SQ_SRAM_MACRO(64)
        end else if (Macro == 256) begin : gen_256
          `SQ_SRAM_MACRO(256)
        end else if (Macro == 512) begin : gen_512
          `SQ_SRAM_MACRO(512)
        end else if (Macro == 1024) begin : gen_1024
          `SQ_SRAM_MACRO(1024)
        end else if (Macro == 2048) begin : gen_2048
          `SQ_SRAM_MACRO(2048)
        end else begin : gen_bad
          $error("Macro = 0, 64, 256, 512, 1024 or 2048");
        end
      end
    end
    logic [Wide*MacroW-1:0] chosen_word;
    always_comb begin
      chosen_word = '0;
      for (int unsigned r = 0; r < Deep; r++)
        if (row_q == RowW'(r)) chosen_word = read[r*Wide*MacroW +: Wide*MacroW];
    end
    assign word = chosen_word[StoredW-1:0];
    if (Wide * MacroW > StoredW) begin : gen_surplus
      wire unused_bits = ^chosen_word[Wide*MacroW-1:StoredW];
    end
  end

endmodule
`undef SQ_SRAM_MACRO
