// SPDX-License-Identifier: Apache-2.0
// PE of sq_array_parts: a block a cycle of operands whose elements have two parts, low ones and
// HighLanes high ones (SPEC Q.5, Q.7). Elements and scales come decoded from the edge (sq_parts_line).
// The sum of a pair of parts takes the elements that are of these parts on both sides:
//
//   low of both             BankLen products
//   high of the row         its HighLanes elements times low weights of their places
//   high of the column      (WeightHigh) its elements times low activations of their places
//   high of both            (WeightHigh) ... times high activations, where one stands there
// SPLIT: all of them are one sum, P = low + 16 (.. + ..) + 256 high, with one scale. OWN, BLOCK: each
// has its own pair of scales and its own accumulator in binary32: Pairs totals, low of both first,
// then high of the column, of the row, of both.
module sq_pe_parts #(
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighLanes = 2,
  parameter  int unsigned High = sq_pkg::HIGH_OWN,
  parameter  int unsigned WeightHigh = 1,
  parameter  int unsigned ActElement = sq_pkg::ELEMENT_INT4,
  parameter  int unsigned WeightElement = sq_pkg::ELEMENT_INT4,
  parameter  int unsigned ActScale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned WeightScale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned Sums = 0,  // totals begin with begin_i in place of 0
  localparam int unsigned ActHighElement = sq_pkg::high_element(High, ActElement),
  localparam int unsigned WeightHighElement = sq_pkg::high_element(High, WeightElement),
  localparam int unsigned ActHighScale = sq_pkg::high_scale(High, ActScale),
  localparam int unsigned WeightHighScale = sq_pkg::high_scale(High, WeightScale),
  localparam int unsigned ActW = sq_pkg::element_w(ActElement),
  localparam int unsigned ActHighW = sq_pkg::element_w(ActHighElement),
  localparam int unsigned WeightW = sq_pkg::element_w(WeightElement),
  localparam int unsigned WeightHighW = sq_pkg::element_w(WeightHighElement),
  localparam int unsigned ActSigW = sq_pkg::scale_sig_w(ActScale),
  localparam int unsigned ActHighSigW = sq_pkg::scale_sig_w(ActHighScale),
  localparam int unsigned WeightSigW = sq_pkg::scale_sig_w(WeightScale),
  localparam int unsigned WeightHighSigW = sq_pkg::scale_sig_w(WeightHighScale),
  localparam int unsigned CtlW = sq_pkg::gather_ctl_w(sq_pkg::GATHER_CROSSBAR, BankLen, HighLanes),
  localparam int unsigned Pairs = sq_pkg::parts_pairs(High, WeightHigh)
) (
  input  logic                             clk_i, en_i,
  // blocks of the row and of the column
  input  logic [BankLen*ActW-1:0]          act_i,
  input  logic [HighLanes*ActHighW-1:0]    act_high_i,
  input  logic [CtlW-1:0]                  act_ctl_i,
  input  logic [BankLen*ActHighW-1:0]      act_plane_i,  // high elements in their places
  input  logic [ActSigW-1:0]               act_sig_i,
  input  logic [7:0]                       act_exp_i,
  input  logic [ActHighSigW-1:0]           act_high_sig_i,
  input  logic [7:0]                       act_high_exp_i,
  input  logic [BankLen*WeightW-1:0]       weight_i,
  input  logic [HighLanes*WeightHighW-1:0] weight_high_i,
  input  logic [CtlW-1:0]                  weight_ctl_i,
  input  logic [WeightSigW-1:0]            weight_sig_i,
  input  logic [7:0]                       weight_exp_i,
  input  logic [WeightHighSigW-1:0]        weight_high_sig_i,
  input  logic [7:0]                       weight_high_exp_i,
  // one stage before the accumulator, as in its tail
  input  logic                             acc_i,
  input  logic                             first_i,
  input  logic                             last_i,
  input  logic [Pairs*32-1:0]              begin_i,
  output logic [Pairs*32-1:0]              y_o
);

  localparam bit IsSplit = High == sq_pkg::HIGH_SPLIT;
  localparam int unsigned LowSumW = sq_pkg::element_dot_w(ActElement, WeightElement, BankLen);
  localparam int unsigned RowSumW = sq_pkg::element_dot_w(ActHighElement, WeightElement, HighLanes);
  localparam int unsigned ColSumW = sq_pkg::element_dot_w(ActElement, WeightHighElement, HighLanes);
  localparam int unsigned BothSumW =
      sq_pkg::element_dot_w(ActHighElement, WeightHighElement, HighLanes);

  // ---- sums -------------------------------------------------------------------------------------
  logic signed [LowSumW-1:0] low_sum;
  logic signed [RowSumW-1:0] row_sum;
  logic signed [ColSumW-1:0] col_sum;
  logic signed [BothSumW-1:0] both_sum;
  logic [HighLanes*WeightW-1:0] row_weight;
  sq_dot_element #(
    .Lanes(BankLen), .AElement(ActElement), .BElement(WeightElement)
  ) u_low (
    .a_i(act_i), .b_i(weight_i), .sum_o(low_sum)
  );
  sq_gather_mux #(.BankLen(BankLen), .Lanes(HighLanes), .ActW(WeightW), .Window(1'b1)) u_row_mux (
    .ctl_i(act_ctl_i), .act_i(weight_i), .act_o(row_weight)
  );
  sq_dot_element #(
    .Lanes(HighLanes), .AElement(ActHighElement), .BElement(WeightElement)
  ) u_row (
    .a_i(act_high_i), .b_i(row_weight), .sum_o(row_sum)
  );
  if (WeightHigh != 0) begin : gen_column
    logic [HighLanes*ActW-1:0] col_act;
    logic [HighLanes*ActHighW-1:0] col_high;
    sq_gather_mux #(.BankLen(BankLen), .Lanes(HighLanes), .ActW(ActW), .Window(1'b1)) u_mux (
      .ctl_i(weight_ctl_i), .act_i(act_i), .act_o(col_act)
    );
    sq_gather_mux #(.BankLen(BankLen), .Lanes(HighLanes), .ActW(ActHighW), .Window(1'b1)) u_high_mux (
      .ctl_i(weight_ctl_i), .act_i(act_plane_i), .act_o(col_high)
    );
    sq_dot_element #(
      .Lanes(HighLanes), .AElement(ActElement), .BElement(WeightHighElement)
    ) u_col (
      .a_i(col_act), .b_i(weight_high_i), .sum_o(col_sum)
    );
    sq_dot_element #(
      .Lanes(HighLanes), .AElement(ActHighElement), .BElement(WeightHighElement)
    ) u_both (
      .a_i(col_high), .b_i(weight_high_i), .sum_o(both_sum)
    );
  end else begin : gen_no_column
    wire unused_column = ^{weight_high_i, weight_ctl_i, act_plane_i};
    assign col_sum = '0;
    assign both_sum = '0;
  end

  // ---- scales and accumulators ------------------------------------------------------------------
  if (IsSplit) begin : gen_split
    // The largest |P|: -136 squared where both are high, -8 elsewhere.
    localparam int unsigned SumMax = 136 * 136 * HighLanes + 64 * (BankLen - HighLanes);
    localparam int unsigned SumW = $clog2(SumMax + 1) + 1;
    logic signed [SumW-1:0] sum;
    logic unused_high_scale;
    assign unused_high_scale =
        ^{act_high_sig_i, act_high_exp_i, weight_high_sig_i, weight_high_exp_i};
    assign sum = SumW'(low_sum) + ((SumW'(row_sum) + SumW'(col_sum)) <<< 4) +
                 (SumW'(both_sum) <<< 8);
    sq_parts_tail #(
      .SumW(SumW), .ActScale(ActScale), .WeightScale(WeightScale), .Fraction(0), .Sums(Sums)
    ) u_tail (
      .clk_i, .en_i, .sum_i(sum), .act_sig_i, .act_exp_i, .weight_sig_i, .weight_exp_i,
      .acc_i, .first_i, .last_i, .begin_i, .y_o
    );
  end else begin : gen_parts
    localparam int unsigned Row = (WeightHigh != 0) ? 2 : 1;
    localparam int unsigned ActFraction = sq_pkg::element_fraction(ActElement);
    localparam int unsigned ActHighFraction = sq_pkg::element_fraction(ActHighElement);
    localparam int unsigned WeightFraction = sq_pkg::element_fraction(WeightElement);
    localparam int unsigned WeightHighFraction = sq_pkg::element_fraction(WeightHighElement);
    sq_parts_tail #(
      .SumW(LowSumW), .ActScale(ActScale), .WeightScale(WeightScale),
      .Fraction(ActFraction + WeightFraction), .Sums(Sums)
    ) u_low_tail (
      .clk_i, .en_i, .sum_i(low_sum), .act_sig_i, .act_exp_i, .weight_sig_i, .weight_exp_i,
      .acc_i, .first_i, .last_i,
      .begin_i(begin_i[31:0]), .y_o(y_o[31:0])
    );
    sq_parts_tail #(
      .SumW(RowSumW), .ActScale(ActHighScale), .WeightScale(WeightScale),
      .Fraction(ActHighFraction + WeightFraction), .Sums(Sums)
    ) u_row_tail (
      .clk_i, .en_i, .sum_i(row_sum), .act_sig_i(act_high_sig_i), .act_exp_i(act_high_exp_i),
      .weight_sig_i, .weight_exp_i, .acc_i, .first_i, .last_i,
      .begin_i(begin_i[Row*32 +: 32]), .y_o(y_o[Row*32 +: 32])
    );
    if (WeightHigh != 0) begin : gen_column_tails
      sq_parts_tail #(
        .SumW(ColSumW), .ActScale(ActScale), .WeightScale(WeightHighScale),
        .Fraction(ActFraction + WeightHighFraction), .Sums(Sums)
      ) u_col_tail (
        .clk_i, .en_i, .sum_i(col_sum), .act_sig_i, .act_exp_i,
        .weight_sig_i(weight_high_sig_i), .weight_exp_i(weight_high_exp_i),
        .acc_i, .first_i, .last_i,
        .begin_i(begin_i[32 +: 32]), .y_o(y_o[32 +: 32])
      );
      sq_parts_tail #(
        .SumW(BothSumW), .ActScale(ActHighScale), .WeightScale(WeightHighScale),
        .Fraction(ActHighFraction + WeightHighFraction), .Sums(Sums)
      ) u_both_tail (
        .clk_i, .en_i, .sum_i(both_sum), .act_sig_i(act_high_sig_i),
        .act_exp_i(act_high_exp_i), .weight_sig_i(weight_high_sig_i),
        .weight_exp_i(weight_high_exp_i), .acc_i, .first_i, .last_i,
        .begin_i(begin_i[96 +: 32]), .y_o(y_o[96 +: 32])
      );
    end else begin : gen_no_tails
      wire unused_sums = ^{col_sum, both_sum, weight_high_sig_i, weight_high_exp_i};
    end
  end

endmodule
