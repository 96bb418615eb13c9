// SPDX-License-Identifier: Apache-2.0
// Rows x Cols PEs for block-scaled formats (SPEC Q), output-stationary, a block of every line per
// cycle: MX formats and MX+, NVFP4, NVINT4, NVINT5, and activations of split codes with a step per bank
// (HighPerBank > 0; Q.5), or of high elements at a scale of the row (OwnHigh), against INT4 weights.
// The scale of a block is worked in by the PE; a scale above the blocks is left to what takes the
// outputs, once for all of K. With TwoBlocks a beat has two blocks of every line, and a PE adds both to
// one accumulator; a row of K that has an odd number of blocks ends with one of zeros.
//
//   stage 1        decoded elements and scales (split: low nibbles, ranks of the high ones)
//   [stage 2]      split: select controls
//   sum            P, significand and exponent of the pair of scales
//   [scaled]       BINARY32: P times its scale; FIXED: Cut stages of its tail; AFTER: what a block adds, as binary32
//   accumulator, output register (none with Carry, ALIGNED, AFTER)
// An error is one of the group: a code of no value, a scale that is no number, whose block counts as
// zeros, or a bank with other than HighPerBank mask bits, of which the first ones count.
`include "sq_assert.svh"

module sq_array_scaled #(
  parameter  int unsigned Rows = 2,
  parameter  int unsigned Cols = 2,
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighPerBank = 0,
  parameter  int unsigned ActElement = sq_pkg::ELEMENT_E2M1,
  parameter  int unsigned WeightElement = sq_pkg::ELEMENT_E2M1,
  parameter  int unsigned ActScale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned WeightScale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned Acc = sq_pkg::ACC_BINARY32,
  parameter  int unsigned AccW = 32,
  parameter  int unsigned OwnHigh = 0,  // 1: high codes INT8 at the row's own scale, sentinel codes
  parameter  int unsigned HighAccW = 32,
  parameter  int unsigned Sums = 0,  // totals may begin with those that come on carry; not FIXED
  parameter  int unsigned TwoBlocks = 0,  // 1: FIXED, no high elements, no PLUS
  parameter  int unsigned Cut = 0,  // registers in the tails (sq_acc_fixed): FIXED, no OwnHigh
  parameter  int unsigned Carry = 0,  // totals are segments of so many bits, carries above them; as Cut
  localparam int unsigned Blocks = (TwoBlocks != 0) ? 2 : 1,
  localparam int unsigned ActCodeW = sq_pkg::element_code_w(ActElement),
  localparam int unsigned WeightCodeW = sq_pkg::element_code_w(WeightElement),
  localparam int unsigned HighW = (OwnHigh != 0) ? 8 : 4,
  localparam int unsigned MaskW = (HighPerBank > 0 && OwnHigh == 0) ? BankLen : 1,
  localparam int unsigned Lanes = (HighPerBank > 0) ? HighPerBank : 1,
  localparam int unsigned PlaceW = sq_pkg::index_w(BankLen),
  localparam int unsigned ActScaleW = sq_pkg::scale_code_w(ActScale),
  localparam int unsigned WeightScaleW = sq_pkg::scale_code_w(WeightScale),
  localparam int unsigned ActSubW = sq_pkg::sub_port_w(ActElement),
  localparam int unsigned WeightSubW = sq_pkg::sub_port_w(WeightElement),
  localparam int unsigned Pes = Rows * Cols
) (
  input  logic                                       clk_i, rst_ni,
  // a block of every row and column, or two, line after line; last: of all of K
  input  logic                                       in_valid_i,
  output logic                                       in_ready_o,
  input  logic                                       in_last_i,
  input  logic                                       in_carry_i,  // with the first beat of a tile; Sums
  input  logic [Rows*Blocks*BankLen*ActCodeW-1:0]    in_act_i,
  input  logic [Rows*Lanes*HighW-1:0]                in_high_i,  // upper nibbles or INT8, compact
  input  logic [Rows*MaskW-1:0]                      in_mask_i,
  input  logic [Rows*Blocks*ActScaleW-1:0]           in_act_scale_i,
  input  logic [Rows*PlaceW-1:0]                     in_act_place_i,  // PLUS: of the largest
  input  logic [Rows*Blocks*ActSubW-1:0]             in_act_sub_i,  // TABLE: beside codes and scale
  input  logic [Cols*Blocks*BankLen*WeightCodeW-1:0] in_weight_i,
  input  logic [Cols*Blocks*WeightScaleW-1:0]        in_weight_scale_i,
  input  logic [Cols*PlaceW-1:0]                     in_weight_place_i,
  input  logic [Cols*Blocks*WeightSubW-1:0]          in_weight_sub_i,
  // totals to begin with, as a tile; Sums
  input  logic                                       carry_valid_i,
  output logic                                       carry_ready_o,
  input  logic [Pes*32-1:0]                          carry_y_i,
  // a tile, PE after PE: binary32, or AccW bits (and carries) as two words
  output logic                                       out_valid_o,
  input  logic                                       out_ready_i,
  output logic [Pes*32-1:0]                          out_y_o, out_y_top_o,
  output logic [Pes*32-1:0]                          out_y_high_o,  // OwnHigh: integers
  output logic [sq_pkg::N_ERRORS-1:0]                out_error_o
);

  localparam int unsigned SumW = sq_pkg::total_w(Acc, AccW, Carry);
  localparam bit IsAligned = Acc >= sq_pkg::ACC_ALIGNED;
  if (SumW > 64 || (Acc == sq_pkg::ACC_BINARY32 && AccW != 32)) begin : gen_bad_acc
    $error("AccW and the carries <= 64 bits, AccW = 32 for binary32");
  end
  if (HighPerBank > 0 && ActElement != sq_pkg::ELEMENT_INT4) begin : gen_bad_high
    $error("split codes have low nibbles of INT4");
  end
  if (TwoBlocks != 0 && (HighPerBank > 0 || ActElement == sq_pkg::ELEMENT_PLUS ||
                         Acc != sq_pkg::ACC_FIXED)) begin : gen_bad_two
    $error("TwoBlocks needs exact sums, no high elements, no PLUS");
  end

  localparam int unsigned Layout =
      (OwnHigh != 0) ? sq_pkg::LAYOUT_SENTINEL : sq_pkg::LAYOUT_SPLIT;
  localparam int unsigned HighLineW = Lanes * HighW;
  localparam int unsigned ActW = sq_pkg::element_w(ActElement);
  localparam int unsigned WeightW = sq_pkg::element_w(WeightElement);
  localparam int unsigned ActSigW = sq_pkg::scale_sig_w(ActScale);
  localparam int unsigned WeightSigW = sq_pkg::scale_sig_w(WeightScale);
  localparam int unsigned ActLineW = Blocks * BankLen * ActW;
  localparam int unsigned WeightLineW = Blocks * BankLen * WeightW;
  localparam int unsigned ActSigsW = Blocks * ActSigW;
  localparam int unsigned WeightSigsW = Blocks * WeightSigW;
  localparam int unsigned ExpsW = Blocks * 8;
  localparam int unsigned CtlW =
      sq_pkg::gather_ctl_w(sq_pkg::GATHER_CROSSBAR, BankLen, Lanes);
  localparam int unsigned Stages = sq_pkg::scaled_stages(Acc, HighPerBank, Cut);

  // ---- control ----------------------------------------------------------------------------------
  localparam int unsigned ErrorW = sq_pkg::N_ERRORS;
  logic advance, acc, first, carry, last;
  logic [Rows-1:0] act_error, act_code_error, act_place_error, mask_error;
  logic [Cols-1:0] weight_error, weight_code_error, weight_place_error;
  logic [ErrorW-1:0] error;
  always_comb begin
    error = '0;
    error[sq_pkg::ERROR_CODE] = |{act_code_error, weight_code_error};
    error[sq_pkg::ERROR_SCALE] = |{act_error, weight_error};
    error[sq_pkg::ERROR_MASK] = |{act_place_error, mask_error, weight_place_error};
  end
  sq_scaled_ctl #(.Stages(Stages), .Sums(Sums), .Result(Carry == 0 && !IsAligned ? 1 : 0)) u_ctl (
    .clk_i, .rst_ni, .in_valid_i, .in_ready_o(advance), .in_last_i, .in_carry_i,
    .in_error_i(error), .carry_valid_i, .carry_ready_o, .acc_o(acc), .first_o(first), .carry_o(carry),
    .last_o(last), .out_valid_o, .out_ready_i, .out_error_o
  );
  assign in_ready_o = advance;
  logic [Pes*32-1:0] start;
  assign start = carry_y_i & {(Pes * 32){carry}};

  // ---- rows -------------------------------------------------------------------------------------
  logic [Rows*ActLineW-1:0] act;
  logic [Rows*HighLineW-1:0] high;
  logic [Rows*CtlW-1:0] high_ctl;
  logic [Rows*ActSigsW-1:0] act_sig;
  logic [Rows*ExpsW-1:0] act_exp;

  for (genvar r = 0; r < Rows; r++) begin : gen_row
    logic [ActLineW-1:0] element;
    logic [ActSigsW-1:0] sig, sig_q;
    logic [ExpsW-1:0] exp, exp_q;
    logic [Blocks-1:0] scale_error, code_error, place_error;
    logic [BankLen-1:0] skip;  // low nibbles are any; 1000 is the mask code
    if (OwnHigh != 0) begin : gen_skip_all
      assign skip = '1;
    end else if (HighPerBank > 0) begin : gen_skip_mask
      assign skip = in_mask_i[r*MaskW +: MaskW];
    end else begin : gen_skip_none
      assign skip = '0;
    end
    for (genvar b = 0; b < Blocks; b++) begin : gen_block
      localparam int unsigned Block = r * Blocks + b;
      sq_block_line #(.BankLen(BankLen), .Element(ActElement), .Scale(ActScale), .Magnitude(IsAligned)) u_line (
        .code_i(in_act_i[Block*BankLen*ActCodeW +: BankLen*ActCodeW]), .skip_i(skip),
        .scale_i(in_act_scale_i[Block*ActScaleW +: ActScaleW]), .place_i(in_act_place_i[r*PlaceW +: PlaceW]),
        .sub_i(in_act_sub_i[Block*ActSubW +: ActSubW]),
        .element_o(element[b*BankLen*ActW +: BankLen*ActW]),
        .sig_o(sig[b*ActSigW +: ActSigW]), .exp_o(exp[b*8 +: 8]), .error_o(scale_error[b]),
        .code_error_o(code_error[b]), .place_error_o(place_error[b])
      );
    end
    assign act_error[r] = |scale_error;
    assign act_place_error[r] = |place_error;
    if (OwnHigh != 0) begin : gen_high_code
      logic [Lanes-1:0] is_lowest;
      for (genvar t = 0; t < Lanes; t++) begin : gen_lane
        assign is_lowest[t] = in_high_i[r*HighLineW+t*HighW +: HighW] == {1'b1, {(HighW - 1){1'b0}}};
      end
      assign act_code_error[r] = |code_error || |is_lowest;
    end else begin : gen_no_high_code
      assign act_code_error[r] = |code_error;
    end
    always_ff @(posedge clk_i) begin
      if (advance) begin
        sig_q <= sig;
        exp_q <= exp;
      end
    end

    if (HighPerBank > 0) begin : gen_split
      logic [ActSigsW-1:0] sig_q2;
      logic [ExpsW-1:0] exp_q2;
      logic unused_low_ctl;
      sq_array_code #(
        .BankLen(BankLen), .HighPerBank(Lanes), .Layout(Layout), .HighW(HighW)
      ) u_code (
        .clk_i, .en_i(advance), .low_i(element),
        .high_i(act_error[r] ? HighLineW'(0) : in_high_i[r*HighLineW +: HighLineW]),
        .mask_i(in_mask_i[r*MaskW +: MaskW]), .error_o(mask_error[r]),
        .low_o(act[r*ActLineW +: ActLineW]), .high_o(high[r*HighLineW +: HighLineW]),
        .high_ctl_o(high_ctl[r*CtlW +: CtlW]), .low_ctl_o(unused_low_ctl)
      );
      always_ff @(posedge clk_i) begin
        if (advance) begin
          sig_q2 <= sig_q;
          exp_q2 <= exp_q;
        end
      end
      assign act_sig[r*ActSigsW +: ActSigsW] = sig_q2;
      assign act_exp[r*ExpsW +: ExpsW] = exp_q2;
    end else begin : gen_dense
      logic [ActLineW-1:0] element_q;
      wire unused_high = ^{in_high_i[r*HighLineW +: HighLineW], in_mask_i[r*MaskW +: MaskW]};
      always_ff @(posedge clk_i) begin
        if (advance) element_q <= element;
      end
      assign act[r*ActLineW +: ActLineW] = element_q;
      assign act_sig[r*ActSigsW +: ActSigsW] = sig_q;
      assign act_exp[r*ExpsW +: ExpsW] = exp_q;
      assign high[r*HighLineW +: HighLineW] = '0;
      assign high_ctl[r*CtlW +: CtlW] = '0;
      assign mask_error[r] = 1'b0;
    end
  end

  // ---- columns ----------------------------------------------------------------------------------
  logic [Cols*WeightLineW-1:0] weight;
  localparam int unsigned ColumnW = WeightLineW + WeightSigsW + ExpsW;
  logic [Cols*WeightSigsW-1:0] weight_sig;
  logic [Cols*ExpsW-1:0] weight_exp;
  logic [Cols*ColumnW-1:0] column, column_q;

  for (genvar c = 0; c < Cols; c++) begin : gen_col
    logic [Blocks-1:0] scale_error, code_error, place_error;
    for (genvar b = 0; b < Blocks; b++) begin : gen_block
      localparam int unsigned Block = c * Blocks + b;
      sq_block_line #(.BankLen(BankLen), .Element(WeightElement), .Scale(WeightScale), .Magnitude(IsAligned)) u_line (
        .code_i(in_weight_i[Block*BankLen*WeightCodeW +: BankLen*WeightCodeW]),
        .skip_i({BankLen{1'b0}}),
        .scale_i(in_weight_scale_i[Block*WeightScaleW +: WeightScaleW]), .place_i(in_weight_place_i[c*PlaceW +: PlaceW]),
        .sub_i(in_weight_sub_i[Block*WeightSubW +: WeightSubW]),
        .element_o(column[c*ColumnW+b*BankLen*WeightW +: BankLen*WeightW]),
        .sig_o(column[c*ColumnW+WeightLineW+b*WeightSigW +: WeightSigW]),
        .exp_o(column[c*ColumnW+WeightLineW+WeightSigsW+b*8 +: 8]), .error_o(scale_error[b]),
        .code_error_o(code_error[b]), .place_error_o(place_error[b])
      );
    end
    assign weight_error[c] = |scale_error;
    assign weight_code_error[c] = |code_error;
    assign weight_place_error[c] = |place_error;
    assign weight[c*WeightLineW +: WeightLineW] = column_q[c*ColumnW +: WeightLineW];
    assign weight_sig[c*WeightSigsW +: WeightSigsW] = column_q[c*ColumnW+WeightLineW +: WeightSigsW];
    assign weight_exp[c*ExpsW +: ExpsW] = column_q[c*ColumnW+WeightLineW+WeightSigsW +: ExpsW];
  end
  logic [Cols*ColumnW-1:0] column_q1;
  always_ff @(posedge clk_i) begin
    if (advance) column_q1 <= column;
  end
  if (HighPerBank > 0) begin : gen_column_two
    logic [Cols*ColumnW-1:0] column_q2;
    always_ff @(posedge clk_i) begin
      if (advance) column_q2 <= column_q1;
    end
    assign column_q = column_q2;
  end else begin : gen_column_one
    assign column_q = column_q1;
  end

  // ---- PEs --------------------------------------------------------------------------------------
  for (genvar p = 0; p < Pes; p++) begin : gen_pe
    localparam int unsigned Row = p / Cols;
    localparam int unsigned Col = p % Cols;
    logic [SumW-1:0] y;
    logic [63:0] word;
    sq_pe_scaled #(
      .BankLen(BankLen), .HighLanes(HighPerBank), .ActElement(ActElement),
      .WeightElement(WeightElement), .ActScale(ActScale), .WeightScale(WeightScale), .Acc(Acc),
      .AccW(AccW), .OwnHigh(OwnHigh), .HighAccW(OwnHigh != 0 ? HighAccW : 32), .Sums(Sums),
      .TwoBlocks(TwoBlocks), .Cut(Cut), .Carry(Carry)
    ) u_pe (
      .clk_i, .en_i(advance),
      .act_i(act[Row*ActLineW +: ActLineW]), .high_i(high[Row*HighLineW +: HighLineW]),
      .high_ctl_i(high_ctl[Row*CtlW +: CtlW]),
      .act_sig_i(act_sig[Row*ActSigsW +: ActSigsW]), .act_exp_i(act_exp[Row*ExpsW +: ExpsW]),
      .weight_i(weight[Col*WeightLineW +: WeightLineW]),
      .weight_sig_i(weight_sig[Col*WeightSigsW +: WeightSigsW]),
      .weight_exp_i(weight_exp[Col*ExpsW +: ExpsW]),
      .acc_i(acc), .first_i(first), .last_i(last), .begin_i(start[p*32 +: 32]), .y_o(y),
      .y_high_o(out_y_high_o[p*32 +: 32])
    );
    assign word = Acc == sq_pkg::ACC_FIXED && Carry == 0 ? 64'($signed(y)) : 64'(y);
    assign out_y_o[p*32 +: 32] = word[31:0];
    assign out_y_top_o[p*32 +: 32] = word[63:32];
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(TileHeldOnStall, out_valid_o, out_ready_i, {out_y_o, out_y_top_o, out_y_high_o, out_error_o})

endmodule
