// SPDX-License-Identifier: Apache-2.0
// Gather, stages 1 and 2 of SPEC D.8 for `Lanes` consecutive codes of one bank: detect the mask
// code, clean the low codes, and give each masked position its rank among the masked positions of
// the bank. A bank longer than the lanes comes in steps; count_i carries the population so far.
// Combinational.
module sq_gather_rank #(
  parameter  int unsigned Lanes = 16,
  parameter  int unsigned LowW = 4,
  parameter  int unsigned BankLen = 32,
  parameter  int unsigned HighPerBank = 8,
  localparam int unsigned RankW = sq_pkg::index_w(HighPerBank),
  localparam int unsigned CountW = $clog2(BankLen + 1)
) (
  input  logic [Lanes*LowW-1:0]  code_i,   // lane 0 in the low bits
  input  logic [Lanes-1:0]       lane_i,   // lane holds an element of the bank
  input  logic [CountW-1:0]      count_i,  // mask codes in earlier steps of the bank
  output logic [Lanes*LowW-1:0]  clean_o,  // code, 0 where masked or no element
  output logic [Lanes-1:0]       slot_o,   // masked and rank < k: owns a slot
  output logic [Lanes*RankW-1:0] rank_o,   // the slot it owns
  output logic [CountW-1:0]      count_o   // mask codes up to and including this step
);

  localparam logic [LowW-1:0] MaskCode = LowW'(1) << (LowW - 1);

  logic [Lanes-1:0] masked;
  for (genvar i = 0; i < Lanes; i++) begin : gen_detect
    assign masked[i] = lane_i[i] && code_i[i*LowW +: LowW] == MaskCode;
    assign clean_o[i*LowW +: LowW] = (lane_i[i] && !masked[i]) ? code_i[i*LowW +: LowW] : '0;
  end

  // Exclusive prefix count.
  logic [CountW-1:0] count;
  always_comb begin
    count = count_i;
    for (int unsigned i = 0; i < Lanes; i++) begin
      slot_o[i] = masked[i] && count < CountW'(HighPerBank);
      rank_o[i*RankW +: RankW] = count[RankW-1:0];
      count = count + CountW'(masked[i]);
    end
  end
  assign count_o = count;

endmodule
