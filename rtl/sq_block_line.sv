// SPDX-License-Identifier: Apache-2.0
// Edge of sq_array_scaled: a block of codes of a line (row or column) as the integers that its PEs
// multiply, and its scale as significand and exponent (SPEC Q.1, Q.3). Combinational, once a line.
//
//   E2M1  twice its value, -12 .. 12
//   E4M3  value = sig_o * 2^(exp_o - 9), exp_o = 0 for subnormals and the smallest normals
//   E8M0  value = 2^(exp_o - 127), sig_o = 1
//   POW4  value = 2^exp_o, sig_o = 1
// A scale that is no number, or has a sign, is an error; its block is taken as zeros.
module sq_block_line #(
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned Element = sq_pkg::ELEMENT_E2M1,
  parameter  int unsigned Scale = sq_pkg::SCALE_E4M3,
  localparam int unsigned CodeW = sq_pkg::element_code_w(Element),
  localparam int unsigned ElementW = sq_pkg::element_w(Element),
  localparam int unsigned SigW = sq_pkg::scale_sig_w(Scale)
) (
  input  logic [BankLen*CodeW-1:0]    code_i,  // element 0 in the low bits
  input  logic [7:0]                  scale_i,
  output logic [BankLen*ElementW-1:0] element_o,
  output logic [SigW-1:0]             sig_o,
  output logic [7:0]                  exp_o,
  output logic                        error_o
);

  if (Scale == sq_pkg::SCALE_E4M3) begin : gen_e4m3
    assign error_o = scale_i[7] || scale_i[6:0] == 7'h7f;
    assign sig_o = {scale_i[6:3] != '0, scale_i[2:0]};
    assign exp_o = {4'd0, scale_i[6:3] == '0 ? 4'd0 : scale_i[6:3] - 4'd1};
  end else if (Scale == sq_pkg::SCALE_E8M0) begin : gen_e8m0
    assign error_o = scale_i == 8'hff;
    assign sig_o = 1'b1;
    assign exp_o = scale_i;
  end else if (Scale == sq_pkg::SCALE_POW4) begin : gen_pow4
    assign error_o = scale_i[7:4] != '0;
    assign sig_o = 1'b1;
    assign exp_o = {4'd0, scale_i[3:0]};
  end else begin : gen_none
    logic unused_scale;
    assign unused_scale = ^scale_i;
    assign error_o = 1'b0;
    assign sig_o = 1'b1;
    assign exp_o = '0;
  end

  for (genvar i = 0; i < BankLen; i++) begin : gen_element
    logic [ElementW-1:0] element;
    if (Element == sq_pkg::ELEMENT_E2M1) begin : gen_e2m1
      logic [3:0] magnitude;  // 0, 1, 2, 3, 4, 6, 8, 12
      always_comb begin
        case (code_i[i*4 +: 3])
          3'd5: magnitude = 4'd6;
          3'd6: magnitude = 4'd8;
          3'd7: magnitude = 4'd12;
          default: magnitude = {1'b0, code_i[i*4 +: 3]};
        endcase
      end
      assign element = code_i[i*4+3] ? 5'd0 - {1'b0, magnitude} : {1'b0, magnitude};
    end else begin : gen_int
      assign element = code_i[i*CodeW +: CodeW];
    end
    assign element_o[i*ElementW +: ElementW] = error_o ? '0 : element;
  end

endmodule
