// SPDX-License-Identifier: Apache-2.0
// Dynamic mask of a bank (SPEC C): the k elements of largest magnitude, ties to the lowest index
// (SPEC 0.4). Magnitudes are unsigned: |code| of INT8 (7 bits) or INT4 (3), the 15 bits below the
// sign of FP16 or BF16, which order like the numbers.
module sq_topk #(
  parameter int unsigned BankLen = 16,
  parameter int unsigned HighPerBank = 4,
  parameter int unsigned MagW = 7,
  parameter int unsigned Topk = sq_pkg::TOPK_RANK
) (
  input  logic                    clk_i, rst_ni,
  // magnitudes of a bank
  input  logic                    in_valid_i,
  output logic                    in_ready_o,
  input  logic [BankLen*MagW-1:0] in_mag_i,  // element 0 in the low bits
  // its mask
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic [BankLen-1:0]      out_mask_o
);

  if (HighPerBank < 1 || HighPerBank >= BankLen || MagW < 1) begin : gen_bad
    $error("1 <= HighPerBank < BankLen, MagW >= 1");
  end

  if (Topk == sq_pkg::TOPK_RANK) begin : gen_rank
    sq_topk_rank #(.BankLen(BankLen), .HighPerBank(HighPerBank), .MagW(MagW)) u_rank (
      .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .in_mag_i, .out_valid_o, .out_ready_i, .out_mask_o
    );
  end else if (Topk == sq_pkg::TOPK_TREE) begin : gen_tree
    sq_topk_tree #(.BankLen(BankLen), .HighPerBank(HighPerBank), .MagW(MagW)) u_tree (
      .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .in_mag_i, .out_valid_o, .out_ready_i, .out_mask_o
    );
  end else begin : gen_radix
    sq_topk_radix #(.BankLen(BankLen), .HighPerBank(HighPerBank), .MagW(MagW)) u_radix (
      .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .in_mag_i, .out_valid_o, .out_ready_i, .out_mask_o
    );
  end

endmodule
