// SPDX-License-Identifier: Apache-2.0
// TopK of a bank by ranks (SPEC C.3, D.8): all pairs are compared at once. Latency 2, one bank per
// cycle.
//
//   S1  ge of each pair j < i: mag_j >= mag_i, so that the lower index wins a tie
//   S2  rank_i = how many elements beat i; the mask is rank_i < k
// Stages move together: a mask that is not taken holds both.
`include "sq_assert.svh"

module sq_topk_rank #(
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighPerBank = 4,
  parameter  int unsigned MagW = 7,
  localparam int unsigned Pairs = BankLen * (BankLen - 1) / 2
) (
  input  logic                    clk_i, rst_ni,
  // magnitudes of a bank
  input  logic                    in_valid_i,
  output logic                    in_ready_o,
  input  logic [BankLen*MagW-1:0] in_mag_i,
  // its mask
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic [BankLen-1:0]      out_mask_o
);

  localparam int unsigned RankW = $clog2(BankLen);

  logic advance, valid_q, valid_q2;
  logic [Pairs-1:0] ge, ge_q;  // pair (j, i), j < i, at i(i-1)/2 + j
  logic [BankLen-1:0] mask, mask_q2;

  assign advance = !valid_q2 || out_ready_i;
  assign in_ready_o = advance;
  assign out_valid_o = valid_q2;
  assign out_mask_o = mask_q2;

  for (genvar i = 1; i < BankLen; i++) begin : gen_compare
    for (genvar j = 0; j < i; j++) begin : gen_pair
      assign ge[i*(i-1)/2+j] = in_mag_i[j*MagW +: MagW] >= in_mag_i[i*MagW +: MagW];
    end
  end

  for (genvar i = 0; i < BankLen; i++) begin : gen_rank
    logic [BankLen-2:0] beaten;  // by each of the others
    logic [RankW-1:0] rank;
    for (genvar j = 0; j < i; j++) begin : gen_lower
      assign beaten[j] = ge_q[i*(i-1)/2+j];
    end
    for (genvar j = i + 1; j < BankLen; j++) begin : gen_higher
      assign beaten[j-1] = !ge_q[j*(j-1)/2+i];
    end
    sq_popcount #(.Width(BankLen - 1)) u_count (.bit_i(beaten), .count_o(rank));
    assign mask[i] = rank < RankW'(HighPerBank);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      valid_q2 <= 1'b0;
    end else if (advance) begin
      valid_q <= in_valid_i;
      valid_q2 <= valid_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance) begin
      ge_q <= ge;
      mask_q2 <= mask;
    end
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, out_mask_o)

endmodule
