// SPDX-License-Identifier: Apache-2.0
// Edge of sq_array_parts: a block of a line (row or column) whose HighPerBank largest elements are high
// ones (SPEC Q.5), as its PEs take it. High says how they are stored:
//
//   SPLIT       mask bits, compact upper nibbles H of elements 16 H + L, at the one scale
//   OWN, BLOCK  1000b in the low codes, compact high codes (INT8 beside INT4, E4M3 beside E2M1) at a
//               scale of the row, which is left to what takes the outputs; at one of the block
//
//   stage 1   decoded elements and scales, ranks of the high elements
//   stage 2   the same with select controls
// A mask with other than HighPerBank ones is an error; the first ones count, but for one that stands
// too far up for its lane (sq_gather_mux, Window).
module sq_parts_line #(
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighPerBank = 2,
  parameter  int unsigned High = sq_pkg::HIGH_OWN,
  parameter  int unsigned Element = sq_pkg::ELEMENT_INT4,
  parameter  int unsigned Scale = sq_pkg::SCALE_E4M3,
  localparam int unsigned HighElement = sq_pkg::high_element(High, Element),
  localparam int unsigned HighScale = sq_pkg::high_scale(High, Scale),
  localparam int unsigned CodeW = sq_pkg::element_code_w(Element),
  localparam int unsigned HighCodeW = sq_pkg::element_code_w(HighElement),
  localparam int unsigned LowW = sq_pkg::element_w(Element),
  localparam int unsigned HighW = sq_pkg::element_w(HighElement),
  localparam int unsigned SigW = sq_pkg::scale_sig_w(Scale),
  localparam int unsigned HighSigW = sq_pkg::scale_sig_w(HighScale),
  localparam int unsigned CtlW =
      sq_pkg::gather_ctl_w(sq_pkg::GATHER_CROSSBAR, BankLen, HighPerBank)
) (
  input  logic                             clk_i, en_i,
  // a block as it is stored
  input  logic [BankLen*CodeW-1:0]         code_i,
  input  logic [HighPerBank*HighCodeW-1:0] high_i,
  input  logic [BankLen-1:0]               mask_i,        // SPLIT
  input  logic [7:0]                       scale_i,
  input  logic [7:0]                       high_scale_i,  // BLOCK
  output logic [sq_pkg::N_ERRORS-1:0]      error_o,
  // to the PEs, two cycles later
  output logic [BankLen*LowW-1:0]          low_o,
  output logic [HighPerBank*HighW-1:0]     high_o,
  output logic [CtlW-1:0]                  ctl_o,
  output logic [BankLen*HighW-1:0]         plane_o,       // high elements in their places, else 0
  output logic [SigW-1:0]                  sig_o,
  output logic [7:0]                       exp_o,
  output logic [HighSigW-1:0]              high_sig_o,
  output logic [7:0]                       high_exp_o
);

  localparam bit IsSplit = High == sq_pkg::HIGH_SPLIT;

  // ---- marks, elements and scales ---------------------------------------------------------------
  logic [BankLen-1:0] mask;
  logic [BankLen*LowW-1:0] element, low;
  logic [HighPerBank*HighW-1:0] high_element, high;
  logic [SigW-1:0] sig, sig_q1, sig_q2;
  logic [HighSigW-1:0] high_sig, high_sig_q1, high_sig_q2;
  logic [7:0] exp, exp_q1, exp_q2, high_exp, high_exp_q1, high_exp_q2;
  logic scale_error, code_error, high_scale_error, high_code_error, mask_error;
  logic unused_place, unused_high_place;

  for (genvar i = 0; i < BankLen; i++) begin : gen_mark
    assign mask[i] = IsSplit ? mask_i[i] :
        code_i[i*CodeW +: CodeW] == {1'b1, {(CodeW - 1){1'b0}}};
    assign low[i*LowW +: LowW] = (!IsSplit && mask[i]) ? '0 : element[i*LowW +: LowW];
  end
  if (!IsSplit) begin : gen_unused_mask
    wire unused_mask = ^mask_i;
  end

  sq_block_line #(.BankLen(BankLen), .Element(Element), .Scale(Scale)) u_low (
    .code_i, .skip_i(mask), .scale_i, .place_i({sq_pkg::index_w(BankLen){1'b0}}), .sub_i(1'b0),
    .element_o(element), .sig_o(sig), .exp_o(exp), .error_o(scale_error),
    .code_error_o(code_error), .place_error_o(unused_place)
  );
  sq_block_line #(
    .BankLen(HighPerBank), .Element(HighElement), .Scale(HighScale), .HasMinusZero(1'b0)
  ) u_high (
    .code_i(high_i), .skip_i({HighPerBank{IsSplit}}), .scale_i(high_scale_i),
    .place_i({sq_pkg::index_w(HighPerBank){1'b0}}), .sub_i(1'b0),
    .element_o(high_element), .sig_o(high_sig), .exp_o(high_exp), .error_o(high_scale_error),
    .code_error_o(high_code_error), .place_error_o(unused_high_place)
  );
  assign high = (IsSplit && scale_error) ? '0 : high_element;

  always_comb begin
    error_o = '0;
    error_o[sq_pkg::ERROR_CODE] = code_error || high_code_error;
    error_o[sq_pkg::ERROR_SCALE] = scale_error || high_scale_error;
    error_o[sq_pkg::ERROR_MASK] = mask_error;
  end

  // ---- ranks, then controls ---------------------------------------------------------------------
  logic unused_low_ctl;
  sq_array_code #(
    .BankLen(BankLen), .HighPerBank(HighPerBank), .Layout(sq_pkg::LAYOUT_SPLIT), .LowW(LowW),
    .HighW(HighW)
  ) u_code (
    .clk_i, .en_i, .low_i(low), .high_i(high), .mask_i(mask), .error_o(mask_error),
    .low_o, .high_o, .high_ctl_o(ctl_o), .low_ctl_o(unused_low_ctl)
  );
  always_ff @(posedge clk_i) begin
    if (en_i) begin
      sig_q1 <= sig;
      sig_q2 <= sig_q1;
      exp_q1 <= exp;
      exp_q2 <= exp_q1;
      high_sig_q1 <= high_sig;
      high_sig_q2 <= high_sig_q1;
      high_exp_q1 <= high_exp;
      high_exp_q2 <= high_exp_q1;
    end
  end
  assign sig_o = sig_q2;
  assign exp_o = exp_q2;
  assign high_sig_o = high_sig_q2;
  assign high_exp_o = high_exp_q2;

  // Lane t holds an element of places t .. BankLen - HighPerBank + t.
  always_comb begin
    plane_o = '0;
    for (int unsigned t = 0; t < HighPerBank; t++) begin
      for (int unsigned i = t; i <= BankLen - HighPerBank + t; i++) begin
        plane_o[i*HighW +: HighW] = plane_o[i*HighW +: HighW] |
            (high_o[t*HighW +: HighW] & {HighW{ctl_o[t*BankLen+i]}});
      end
    end
  end

endmodule
