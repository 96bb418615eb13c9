// SPDX-License-Identifier: Apache-2.0
// TopK of a bank for one or two high elements: BankLen - 1 comparisons for each in place of those of
// all pairs. Latency HighPerBank, one bank per cycle.
//
//   S1    the largest
//   [S2]  the largest of the others
// Stages move together: a mask that is not taken holds all.
`include "sq_assert.svh"

module sq_topk_tree #(
  parameter int unsigned BankLen = 16,
  parameter int unsigned HighPerBank = 2,
  parameter int unsigned MagW = 7
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

  if (HighPerBank < 1 || HighPerBank > 2) begin : gen_bad
    $error("HighPerBank is 1 or 2");
  end

  logic advance;
  logic [HighPerBank-1:0] valid_q;
  logic [BankLen-1:0] first, first_q;
  assign advance = !valid_q[HighPerBank-1] || out_ready_i;
  assign in_ready_o = advance;
  assign out_valid_o = valid_q[HighPerBank-1];

  sq_topk_first #(.BankLen(BankLen), .KeyW(MagW)) u_first (
    .key_i(in_mag_i), .first_o(first), .max_o()
  );
  always_ff @(posedge clk_i) begin
    if (advance) first_q <= first;
  end

  if (HighPerBank == 2) begin : gen_second
    logic [BankLen*MagW-1:0] mag_q;
    logic [BankLen*(MagW+1)-1:0] key;  // the first one behind all others
    logic [BankLen-1:0] second, mask_q2;
    for (genvar i = 0; i < BankLen; i++) begin : gen_key
      assign key[i*(MagW+1) +: MagW+1] = {!first_q[i], mag_q[i*MagW +: MagW]};
    end
    sq_topk_first #(.BankLen(BankLen), .KeyW(MagW + 1)) u_second (
      .key_i(key), .first_o(second), .max_o()
    );
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid_q <= '0;
      else if (advance) valid_q <= {valid_q[0], in_valid_i};
    end
    always_ff @(posedge clk_i) begin
      if (advance) begin
        mag_q <= in_mag_i;
        mask_q2 <= first_q | second;
      end
    end
    assign out_mask_o = mask_q2;
  end else begin : gen_one
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid_q <= '0;
      else if (advance) valid_q <= in_valid_i;
    end
    assign out_mask_o = first_q;
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, out_mask_o)

endmodule
