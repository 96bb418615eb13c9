// SPDX-License-Identifier: Apache-2.0
// PE of sq_array_scaled: a block a cycle of BankLen products and their sum P, exact; then P times
// the scales of the two blocks, added up over the blocks of a row (SPEC Q.7). Elements and scales
// come decoded from the edge (sq_block_line).
//
// HighLanes > 0, split codes: upper nibbles of the activations meet the weights that the select
// controls pick, P = sum of low products + 16 * sum of high ones. OwnHigh: high codes are INT8 at one
// scale of the row, and their products have an accumulator of their own (Acc = FIXED).
// Sums (Acc = BINARY32): totals begin with begin_i in place of 0.
// TwoBlocks: two blocks of either side a cycle, the earlier one in the low bits, with one accumulator;
// exact sums, no high lanes.
// Cut (Acc = FIXED): registers in the tail, so many stages more before the accumulator; no OwnHigh.
// Carry (Acc = FIXED): totals leave as segments and saved carries (sq_acc_fixed).
// Acc = ALIGNED, AFTER: products are cut off at one place (sq_acc_aligned), AccW bits below their largest exponent. Both
// sides are small floats, as signs and magnitudes, at scales of E8M0.
module sq_pe_scaled #(
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighLanes = 0,
  parameter  int unsigned ActElement = sq_pkg::ELEMENT_E2M1,
  parameter  int unsigned WeightElement = sq_pkg::ELEMENT_INT4,
  parameter  int unsigned ActScale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned WeightScale = sq_pkg::SCALE_NONE,
  parameter  int unsigned Acc = sq_pkg::ACC_BINARY32,
  parameter  int unsigned AccW = 32,
  parameter  int unsigned OwnHigh = 0,
  parameter  int unsigned HighAccW = 32,
  parameter  int unsigned Sums = 0,
  parameter  int unsigned TwoBlocks = 0,
  parameter  int unsigned Cut = 0,
  parameter  int unsigned Carry = 0,
  localparam int unsigned Blocks = (TwoBlocks != 0) ? 2 : 1,
  localparam int unsigned ActW = sq_pkg::element_w(ActElement),
  localparam int unsigned WeightW = sq_pkg::element_w(WeightElement),
  localparam int unsigned ActSigW = sq_pkg::scale_sig_w(ActScale),
  localparam int unsigned WeightSigW = sq_pkg::scale_sig_w(WeightScale),
  localparam int unsigned HighW = (OwnHigh != 0) ? 8 : 4,
  localparam int unsigned Lanes = (HighLanes > 0) ? HighLanes : 1,  // one unused lane without
  localparam int unsigned CtlW = sq_pkg::gather_ctl_w(sq_pkg::GATHER_CROSSBAR, BankLen, Lanes),
  localparam int unsigned OutW = sq_pkg::total_w(Acc, AccW, Carry)
) (
  input  logic                              clk_i, en_i,
  // blocks of the row and of the column
  input  logic [Blocks*BankLen*ActW-1:0]    act_i,
  input  logic [Lanes*HighW-1:0]            high_i,
  input  logic [CtlW-1:0]                   high_ctl_i,
  input  logic [Blocks*ActSigW-1:0]         act_sig_i,
  input  logic [Blocks*8-1:0]               act_exp_i,
  input  logic [Blocks*BankLen*WeightW-1:0] weight_i,
  input  logic [Blocks*WeightSigW-1:0]      weight_sig_i,
  input  logic [Blocks*8-1:0]               weight_exp_i,
  // with what the accumulator of its tail adds
  input  logic                              acc_i,
  input  logic                              first_i,
  input  logic                              last_i,
  input  logic [31:0]                       begin_i,
  output logic [OutW-1:0]                   y_o,
  output logic [31:0]                       y_high_o  // OwnHigh
);

  if (OwnHigh != 0 && (HighLanes == 0 || Acc != sq_pkg::ACC_FIXED)) begin : gen_bad
    $error("OwnHigh needs high lanes and exact sums");
  end
  if (TwoBlocks != 0 && (HighLanes > 0 || Acc != sq_pkg::ACC_FIXED)) begin : gen_bad_two
    $error("TwoBlocks needs exact sums and no high lanes");
  end
  if ((Cut != 0 || Carry != 0) && (OwnHigh != 0 || Acc != sq_pkg::ACC_FIXED)) begin : gen_bad_cut
    $error("Cut and Carry need exact sums and no high codes of their own");
  end
  if (Acc == sq_pkg::ACC_FIXED &&
      (sq_pkg::scale_exp_w(ActScale) > 4 || sq_pkg::scale_exp_w(WeightScale) > 4)) begin : gen_bad_scale
    $error("exact sums need scales of E4M3 or POW4");
  end

  localparam bit IsAligned = Acc >= sq_pkg::ACC_ALIGNED;
  if (IsAligned && (HighLanes > 0 || ActScale != sq_pkg::SCALE_E8M0 || WeightScale != sq_pkg::SCALE_E8M0 ||
                    sq_pkg::element_mantissa(ActElement) == 0 || ActElement != WeightElement)) begin : gen_bad_aligned
    $error("aligned sums need small floats of one kind at scales of E8M0, no high lanes");
  end
  localparam int unsigned LowSumW =
      sq_pkg::element_dot_w(ActElement, WeightElement, BankLen);
  localparam int unsigned HighSumW = HighW + WeightW + $clog2(Lanes);
  localparam int unsigned Split = (OwnHigh != 0) ? 0 : HighLanes;  // split codes of a bank
  // The largest |P|: split codes are -136 at least, E2M1 is 12 at most. Of elements with an exponent
  // the sum is as wide as that of their products.
  localparam bit IsFloat = sq_pkg::element_exp_w(ActElement) > 0 ||
      sq_pkg::element_exp_w(WeightElement) > 0;
  localparam int unsigned SumMax = sq_pkg::element_max(WeightElement) *
      (sq_pkg::element_max(ActElement) * (BankLen - Split) + 136 * Split);
  localparam int unsigned SumW = IsFloat ? LowSumW : $clog2(SumMax + 1) + 1;

  // ---- P of each block, and the scale of its pair of blocks
  localparam int unsigned SigW = sq_pkg::pair_sig_w(ActScale, WeightScale);
  localparam int unsigned ExpW = sq_pkg::pair_exp_w(ActScale, WeightScale);
  localparam int unsigned ShiftW =  // FIXED
      ((ActScale == sq_pkg::SCALE_NONE || WeightScale == sq_pkg::SCALE_NONE) ? 4 : 5);
  localparam int unsigned ShiftMax = sq_pkg::scale_exp_max(ActScale) + sq_pkg::scale_exp_max(WeightScale);
  logic [Blocks*LowSumW-1:0] low_sum;
  logic [Blocks*SumW-1:0] sum;
  logic [Blocks*SigW-1:0] sig;
  logic [Blocks*ExpW-1:0] exp;
  logic [Blocks*ShiftW-1:0] shift;
  for (genvar b = 0; b < Blocks; b++) begin : gen_block
    if (IsAligned) begin : gen_columns
      assign low_sum[b*LowSumW +: LowSumW] = '0;
    end else begin : gen_dot
      sq_dot_element #(
        .Lanes(BankLen), .AElement(ActElement), .BElement(WeightElement)
      ) u_low (
        .a_i(act_i[b*BankLen*ActW +: BankLen*ActW]),
        .b_i(weight_i[b*BankLen*WeightW +: BankLen*WeightW]), .sum_o(low_sum[b*LowSumW +: LowSumW])
      );
    end
    sq_scale_pair #(
      .ActScale(ActScale), .WeightScale(WeightScale),
      .Fraction(sq_pkg::element_fraction(ActElement) + sq_pkg::element_fraction(WeightElement))
    ) u_pair (
      .act_sig_i(act_sig_i[b*ActSigW +: ActSigW]), .act_exp_i(act_exp_i[b*8 +: 8]),
      .weight_sig_i(weight_sig_i[b*WeightSigW +: WeightSigW]),
      .weight_exp_i(weight_exp_i[b*8 +: 8]),
      .sig_o(sig[b*SigW +: SigW]), .exp_o(exp[b*ExpW +: ExpW])
    );
    assign shift[b*ShiftW +: ShiftW] =
        ShiftW'(act_exp_i[b*8 +: 4]) + ShiftW'(weight_exp_i[b*8 +: 4]);
  end
  if (HighLanes > 0) begin : gen_high
    logic [Lanes*WeightW-1:0] picked;
    logic signed [HighSumW-1:0] high_sum;
    sq_gather_mux #(.BankLen(BankLen), .Lanes(Lanes), .ActW(WeightW), .Window(1'b1)) u_mux (
      .ctl_i(high_ctl_i), .act_i(weight_i), .act_o(picked)
    );
    sq_dot #(.Lanes(Lanes), .AW(HighW), .BW(WeightW)) u_high (
      .a_i(high_i), .b_i(picked), .sum_o(high_sum)
    );
    if (OwnHigh != 0) begin : gen_own
      logic [HighAccW-1:0] y_high;
      sq_acc #(.SumW(HighSumW), .AccW(HighAccW)) u_acc (
        .clk_i, .en_i, .sum_i(high_sum), .acc_i, .first_i, .last_i, .p_o(y_high)
      );
      assign y_high_o = 32'($signed(y_high));
      assign sum = low_sum[SumW-1:0];
    end else begin : gen_split
      assign y_high_o = '0;
      assign sum = SumW'($signed(low_sum)) + (SumW'(high_sum) <<< 4);
    end
  end else begin : gen_low
    wire unused_high = ^{high_i, high_ctl_i};
    assign y_high_o = '0;
    for (genvar b = 0; b < Blocks; b++) begin : gen_sum
      assign sum[b*SumW +: SumW] = low_sum[b*LowSumW +: SumW];
      if (SumW < LowSumW) begin : gen_unused
        logic unused_top;  // a copy of the sign
        assign unused_top = ^low_sum[b*LowSumW+SumW +: LowSumW-SumW];
      end
    end
  end

  // ---- the tail
  if (Acc == sq_pkg::ACC_FIXED) begin : gen_fixed
    wire unused_exp = ^{exp, begin_i};
    sq_acc_fixed #(
      .SumW(SumW), .SigW(SigW), .ShiftW(ShiftW), .ShiftMax(ShiftMax), .AccW(AccW), .TwoBlocks(TwoBlocks), .Cut(Cut),
      .Carry(Carry)
    ) u_acc (
      .clk_i, .en_i, .sum_i(sum), .sig_i(sig), .shift_i(shift), .acc_i, .first_i, .last_i, .y_o
    );
  end else if (IsAligned) begin : gen_aligned
    localparam int unsigned Columns = sq_pkg::element_columns(ActElement, WeightElement);
    localparam int unsigned CountW = $clog2(BankLen + 1);
    logic [Columns*CountW-1:0] count;
    logic [CountW-1:0] negative;
    logic [5:0] most;
    logic any, unused_sum;
    assign unused_sum = ^{sum, sig, shift, last_i};
    sq_dot_columns #(.Lanes(BankLen), .AElement(ActElement), .BElement(WeightElement)) u_columns (
      .a_i(act_i), .b_i(weight_i), .count_o(count), .negative_o(negative), .exp_o(most), .any_o(any)
    );
    sq_acc_aligned #(
      .Lanes(BankLen), .Columns(Columns), .Aligned(AccW), .After(Acc == sq_pkg::ACC_AFTER ? 1 : 0), .Sums(Sums),
      .Mantissa(sq_pkg::element_mantissa(ActElement) + sq_pkg::element_mantissa(WeightElement))
    ) u_acc (
      .clk_i, .en_i, .count_i(count), .negative_i(negative), .most_i(most), .any_i(any), .exp_i(exp), .acc_i, .first_i,
      .begin_i, .y_o
    );
  end else begin : gen_binary32
    wire unused_shift = ^shift;
    localparam bit IsWide = ActScale == sq_pkg::SCALE_E8M0 || WeightScale == sq_pkg::SCALE_E8M0;
    sq_acc_binary32 #(
      .SumW(SumW), .SigW(SigW), .SignW(sq_pkg::pair_sign_w(ActScale, WeightScale)), .ExpW(ExpW), .IsWide(IsWide), .Sums(Sums)
    ) u_acc (
      .clk_i, .en_i, .sum_i(sum), .sig_i(sig), .exp_i(exp), .acc_i, .first_i, .last_i, .begin_i, .y_o
    );
  end

endmodule
