// SPDX-License-Identifier: Apache-2.0
// PE for a coded operand of two planes, Banks banks per cycle: a low plane of LowLanes codes a bank,
// and HighLanes high codes that meet the elements of the plain operand which the select controls pick.
// The controls come from sq_array_code, shared by all PEs of a row or column.
//
//   LowGather   the low plane is compact as well and has selects of its own
//   OneAcc      p_lo = sum of 2^LowShift * low products + 2^HighShift * high products
//               (tied scales: LowShift = 4; split codes: HighShift = 4); p_hi is 0
//   otherwise   p_lo and p_hi apart, a scale each (SPEC A.7)
module sq_pe_mixed #(
  parameter  int unsigned Banks = 1,
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned LowLanes = 16,
  parameter  int unsigned HighLanes = 4,
  parameter  int unsigned PlainW = 8,
  parameter  int unsigned LowW = 4,
  parameter  int unsigned HighW = 8,
  parameter  int unsigned AccW = 32,
  parameter  bit          LowGather = 1'b0,
  parameter  bit          OneAcc = 1'b0,
  parameter  int unsigned LowShift = 0,
  parameter  int unsigned HighShift = 0,
  parameter  int unsigned Gather = sq_pkg::GATHER_CROSSBAR,
  localparam int unsigned HighCtlW = sq_pkg::gather_ctl_w(Gather, BankLen, HighLanes),
  localparam int unsigned LowCtlW = LowGather ? sq_pkg::gather_ctl_w(Gather, BankLen, LowLanes) : 1
) (
  input  logic                       clk_i, en_i,
  input  logic [Banks*BankLen*PlainW-1:0]  plain_i,
  input  logic [Banks*LowLanes*LowW-1:0]   low_i,
  input  logic [Banks*LowCtlW-1:0]         low_ctl_i,
  input  logic [Banks*HighLanes*HighW-1:0] high_i,
  input  logic [Banks*HighCtlW-1:0]        high_ctl_i,
  input  logic                       acc_i,    // one stage behind the operands, as in sq_acc
  input  logic                       first_i,
  input  logic                       last_i,
  output logic [AccW-1:0]            p_lo_o, p_hi_o
);

  localparam int unsigned LowSumW = PlainW + LowW + $clog2(Banks * LowLanes);
  localparam int unsigned HighSumW = PlainW + HighW + $clog2(Banks * HighLanes);

  logic [Banks*LowLanes*PlainW-1:0] low_plain;
  logic [Banks*HighLanes*PlainW-1:0] high_plain;
  logic signed [LowSumW-1:0] low_sum;
  logic signed [HighSumW-1:0] high_sum;

  for (genvar n = 0; n < Banks; n++) begin : gen_bank
    if (LowGather) begin : gen_low_gather
      sq_gather_mux #(
        .BankLen(BankLen), .Lanes(LowLanes), .ActW(PlainW), .Gather(Gather), .Window(1'b1)
      ) u_mux (
        .ctl_i(low_ctl_i[n*LowCtlW +: LowCtlW]),
        .act_i(plain_i[n*BankLen*PlainW +: BankLen*PlainW]),
        .act_o(low_plain[n*LowLanes*PlainW +: LowLanes*PlainW])
      );
    end else begin : gen_low_dense
      wire unused_ctl = low_ctl_i[n];
      assign low_plain[n*LowLanes*PlainW +: LowLanes*PlainW] =
          plain_i[n*BankLen*PlainW +: BankLen*PlainW];
    end
    sq_gather_mux #(
      .BankLen(BankLen), .Lanes(HighLanes), .ActW(PlainW), .Gather(Gather), .Window(1'b1)
    ) u_mux (
      .ctl_i(high_ctl_i[n*HighCtlW +: HighCtlW]),
      .act_i(plain_i[n*BankLen*PlainW +: BankLen*PlainW]),
      .act_o(high_plain[n*HighLanes*PlainW +: HighLanes*PlainW])
    );
  end

  sq_mac_low #(.Lanes(Banks*LowLanes), .ActW(PlainW), .LowW(LowW)) u_low (
    .act_i(low_plain), .code_i(low_i), .sum_o(low_sum)
  );
  sq_mac_high #(.Lanes(Banks*HighLanes), .ActW(PlainW), .HighW(HighW)) u_high (
    .act_i(high_plain), .code_i(high_i), .sum_o(high_sum)
  );

  if (OneAcc) begin : gen_one
    localparam int unsigned LowShiftedW = LowSumW + LowShift;
    localparam int unsigned HighShiftedW = HighSumW + HighShift;
    localparam int unsigned SumW = ((LowShiftedW > HighShiftedW) ? LowShiftedW : HighShiftedW) + 1;
    logic signed [SumW-1:0] sum;
    assign sum = (SumW'(low_sum) <<< LowShift) + (SumW'(high_sum) <<< HighShift);
    sq_acc #(.SumW(SumW), .AccW(AccW)) u_acc (
      .clk_i, .en_i, .sum_i(sum), .acc_i, .first_i, .last_i, .p_o(p_lo_o)
    );
    assign p_hi_o = '0;
  end else begin : gen_two
    sq_acc #(.SumW(LowSumW), .AccW(AccW)) u_acc_lo (
      .clk_i, .en_i, .sum_i(low_sum), .acc_i, .first_i, .last_i, .p_o(p_lo_o)
    );
    sq_acc #(.SumW(HighSumW), .AccW(AccW)) u_acc_hi (
      .clk_i, .en_i, .sum_i(high_sum), .acc_i, .first_i, .last_i, .p_o(p_hi_o)
    );
  end

endmodule
