// SPDX-License-Identifier: Apache-2.0
// PE of sq_array_scaled: a block a cycle of BankLen products and their sum P, exact; then P times
// the scales of the two blocks, added up over the blocks of a row (SPEC Q.7). Elements and scales
// come decoded from the edge (sq_block_line).
//
// HighLanes > 0, split codes: upper nibbles of the activations meet the weights that the select
// controls pick, P = sum of low products + 16 * sum of high ones. OwnHigh: high codes are INT8 at one
// scale of the row, and their products have an accumulator of their own (Acc = FIXED).
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
  localparam int unsigned ActW = sq_pkg::element_w(ActElement),
  localparam int unsigned WeightW = sq_pkg::element_w(WeightElement),
  localparam int unsigned ActSigW = sq_pkg::scale_sig_w(ActScale),
  localparam int unsigned WeightSigW = sq_pkg::scale_sig_w(WeightScale),
  localparam int unsigned HighW = (OwnHigh != 0) ? 8 : 4,
  localparam int unsigned Lanes = (HighLanes > 0) ? HighLanes : 1,  // one unused lane without
  localparam int unsigned CtlW = sq_pkg::gather_ctl_w(sq_pkg::GATHER_CROSSBAR, BankLen, Lanes)
) (
  input  logic                       clk_i,
  input  logic                       en_i,
  // blocks of the row and of the column
  input  logic [BankLen*ActW-1:0]    act_i,
  input  logic [Lanes*HighW-1:0]     high_i,
  input  logic [CtlW-1:0]            high_ctl_i,
  input  logic [ActSigW-1:0]         act_sig_i,
  input  logic [7:0]                 act_exp_i,
  input  logic [BankLen*WeightW-1:0] weight_i,
  input  logic [WeightSigW-1:0]      weight_sig_i,
  input  logic [7:0]                 weight_exp_i,
  // one stage before the accumulator, as in its tail
  input  logic                       acc_i,
  input  logic                       first_i,
  input  logic                       last_i,
  output logic [AccW-1:0]            y_o,
  output logic [31:0]                y_high_o  // OwnHigh
);

  if (OwnHigh != 0 && (HighLanes == 0 || Acc != sq_pkg::ACC_FIXED)) begin : gen_bad
    $error("OwnHigh needs high lanes and exact sums");
  end

  localparam int unsigned LowSumW = ActW + WeightW + $clog2(BankLen);
  localparam int unsigned HighSumW = HighW + WeightW + $clog2(Lanes);
  localparam int unsigned Split = (OwnHigh != 0) ? 0 : HighLanes;  // split codes of a bank
  // The largest |P|: split codes are -136 at least, E2M1 is 12 at most.
  localparam int unsigned SumMax = sq_pkg::element_max(WeightElement) *
      (sq_pkg::element_max(ActElement) * (BankLen - Split) + 136 * Split);
  localparam int unsigned SumW = $clog2(SumMax + 1) + 1;

  // ---- P
  logic signed [LowSumW-1:0] low_sum;
  logic signed [SumW-1:0] sum;
  sq_dot #(.Lanes(BankLen), .AW(ActW), .BW(WeightW)) u_low (
    .a_i(act_i), .b_i(weight_i), .sum_o(low_sum)
  );
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
      assign sum = SumW'(low_sum) + (SumW'(high_sum) <<< 4);
    end
  end else begin : gen_low
    logic unused_high;
    assign unused_high = ^{high_i, high_ctl_i};
    assign y_high_o = '0;
    assign sum = low_sum[SumW-1:0];
    if (SumW < LowSumW) begin : gen_unused
      logic unused_top;  // a copy of the sign
      assign unused_top = ^low_sum[LowSumW-1:SumW];
    end
  end

  // ---- the scale of the pair of blocks: a product of significands, a sum of exponents
  localparam bit IsPair = ActSigW > 1 && WeightSigW > 1;
  localparam int unsigned SigW = IsPair ? ActSigW + WeightSigW :
      (ActSigW > WeightSigW) ? ActSigW : WeightSigW;
  logic [SigW-1:0] sig;
  if (IsPair) begin : gen_pair
    logic signed [SigW+1:0] product;
    logic unused_product;
    sq_mul #(.AW(ActSigW + 1), .BW(WeightSigW + 1)) u_mul (
      .a_i({1'b0, act_sig_i}), .b_i({1'b0, weight_sig_i}), .p_o(product)
    );
    assign unused_product = ^product[SigW+1:SigW];
    assign sig = product[SigW-1:0];
  end else if (ActSigW > 1) begin : gen_act
    logic unused_sig;
    assign unused_sig = weight_sig_i[0];
    assign sig = act_sig_i;
  end else if (WeightSigW > 1) begin : gen_weight
    logic unused_sig;
    assign unused_sig = act_sig_i[0];
    assign sig = weight_sig_i;
  end else begin : gen_one
    logic unused_sig;
    assign unused_sig = act_sig_i[0] ^ weight_sig_i[0];
    assign sig = 1'b1;
  end

  // ---- the tail
  if (Acc == sq_pkg::ACC_FIXED) begin : gen_fixed
    localparam int unsigned ShiftW =
        ((ActScale == sq_pkg::SCALE_NONE || WeightScale == sq_pkg::SCALE_NONE) ? 4 : 5);
    logic unused_exp;
    assign unused_exp = ^{act_exp_i[7:4], weight_exp_i[7:4]};
    sq_acc_fixed #(.SumW(SumW), .SigW(SigW), .ShiftW(ShiftW), .AccW(AccW)) u_acc (
      .clk_i, .en_i, .sum_i(sum), .sig_i(sig),
      .shift_i(ShiftW'(act_exp_i[3:0]) + ShiftW'(weight_exp_i[3:0])),
      .acc_i, .first_i, .last_i, .y_o
    );
  end else begin : gen_binary32
    localparam bit IsWide = ActScale == sq_pkg::SCALE_E8M0 || WeightScale == sq_pkg::SCALE_E8M0;
    localparam int unsigned ExpW = IsWide ? 10 : 7;
    // Of a code 0, in two's complement: what the exponents of the scales and E2M1 count from.
    localparam int unsigned Base = scale_base(ActScale) + scale_base(WeightScale) +
        sq_pkg::element_fraction(ActElement) + sq_pkg::element_fraction(WeightElement);
    logic signed [ExpW-1:0] exp;
    if (IsWide) begin : gen_wide
      assign exp = ExpW'(act_exp_i) + ExpW'(weight_exp_i) - ExpW'(Base);
    end else begin : gen_narrow
      logic unused_exp;
      assign unused_exp = ^{act_exp_i[7:4], weight_exp_i[7:4]};
      assign exp = ExpW'(act_exp_i[3:0]) + ExpW'(weight_exp_i[3:0]) - ExpW'(Base);
    end
    sq_acc_binary32 #(.SumW(SumW), .SigW(SigW), .ExpW(ExpW), .IsWide(IsWide)) u_acc (
      .clk_i, .en_i, .sum_i(sum), .sig_i(sig), .exp_i(exp), .acc_i, .first_i, .last_i, .y_o
    );
  end

  function automatic int unsigned scale_base(int unsigned scale);
    case (scale)
      sq_pkg::SCALE_E4M3: scale_base = 9;
      sq_pkg::SCALE_E8M0: scale_base = 127;
      default: scale_base = 0;
    endcase
  endfunction

endmodule
