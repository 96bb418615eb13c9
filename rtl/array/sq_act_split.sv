// SPDX-License-Identifier: Apache-2.0
// Dynamic mask unit for split codes on activations: a bank of codes in, its mask (TopK of the
// magnitudes, SPEC C) and both planes out. A code c in -136..119 arrives as c + 8, 8 bits signed:
// then its upper four bits are H, and the lower ones L + 8 of c = 16 H + L (SPEC A.11).
//
//   masked      low = L, high = H
//   otherwise   low = c, clamped to -7..7; high is not used
// The upper nibbles leave uncompacted: sq_array_code has the select controls that compact them.
// Timing is that of sq_topk.
module sq_act_split #(
  parameter int unsigned BankLen = 16,
  parameter int unsigned HighPerBank = 4,
  parameter int unsigned Topk = sq_pkg::TOPK_RANK
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // a bank
  input  logic                 in_valid_i,
  output logic                 in_ready_o,
  input  logic [BankLen*8-1:0] in_code_i,  // code + 8, element 0 in the low bits
  // its planes
  output logic                 out_valid_o,
  input  logic                 out_ready_i,
  output logic [BankLen*4-1:0] out_low_o,
  output logic [BankLen*4-1:0] out_high_o,
  output logic [BankLen-1:0]   out_mask_o
);

  if (Topk == sq_pkg::TOPK_TREE) begin : gen_bad_topk
    $error("Topk is TOPK_RANK or TOPK_RADIX");
  end

  localparam int unsigned MagW = 8;  // 0..136

  logic [BankLen*MagW-1:0] mag;
  logic [BankLen*8-1:0] code;  // beside the mask

  for (genvar i = 0; i < BankLen; i++) begin : gen_mag
    logic signed [8:0] value;  // the code itself
    assign value = 9'($signed(in_code_i[i*8 +: 8])) - 9'sd8;
    assign mag[i*MagW +: MagW] = value[8] ? 8'(-value) : 8'(value);
  end

  sq_topk #(.BankLen(BankLen), .HighPerBank(HighPerBank), .MagW(MagW), .Topk(Topk)) u_topk (
    .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .in_mag_i(mag),
    .out_valid_o, .out_ready_i, .out_mask_o
  );

  // The codes travel with the magnitudes.
  logic [BankLen*8-1:0] code_q;
  always_ff @(posedge clk_i) begin
    if (in_ready_o) code_q <= in_code_i;
  end
  if (Topk == sq_pkg::TOPK_RANK) begin : gen_two
    logic [BankLen*8-1:0] code_q2;
    always_ff @(posedge clk_i) begin
      if (in_ready_o) code_q2 <= code_q;
    end
    assign code = code_q2;
  end else begin : gen_one
    assign code = code_q;
  end

  for (genvar i = 0; i < BankLen; i++) begin : gen_planes
    logic signed [8:0] value;
    logic [3:0] clamped;
    assign value = 9'($signed(code[i*8 +: 8])) - 9'sd8;
    always_comb begin
      if (value > 9'sd7) clamped = 4'd7;
      else if (value < -9'sd7) clamped = 4'd9;  // -7
      else clamped = value[3:0];
    end
    assign out_low_o[i*4 +: 4] = out_mask_o[i] ? {!code[i*8+3], code[i*8 +: 3]} : clamped;
    assign out_high_o[i*4 +: 4] = code[i*8+4 +: 4];
  end

endmodule
