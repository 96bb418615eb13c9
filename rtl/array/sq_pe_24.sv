// SPDX-License-Identifier: Apache-2.0
// 2:4 PE: each group of four meets two stored values, the other operand comes through 4:1 muxes
// whose controls are shared (sq_meta24_dec). Half the multipliers of a dense PE.
module sq_pe_24 #(
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned PlainW = 8,
  parameter  int unsigned ValueW = 8,
  parameter  int unsigned AccW = 32,
  localparam int unsigned Groups = BankLen / 4,
  localparam int unsigned SumW = PlainW + ValueW + $clog2(2 * Groups)
) (
  input  logic                       clk_i, en_i,
  input  logic [BankLen*PlainW-1:0]  plain_i,
  input  logic [2*Groups*ValueW-1:0] value_i,
  input  logic [8*Groups-1:0]        ctl_i,    // of sq_meta24_dec, group 0 in the low bits
  input  logic                       acc_i,    // one stage behind the operands, as in sq_acc
  input  logic                       first_i,
  input  logic                       last_i,
  output logic [AccW-1:0]            p_o
);

  logic [2*Groups*PlainW-1:0] taken;
  logic signed [SumW-1:0] sum;

  for (genvar g = 0; g < Groups; g++) begin : gen_group
    sq_gather_mux #(.BankLen(4), .Lanes(2), .ActW(PlainW)) u_mux (
      .ctl_i(ctl_i[g*8 +: 8]), .act_i(plain_i[g*4*PlainW +: 4*PlainW]),
      .act_o(taken[g*2*PlainW +: 2*PlainW])
    );
  end

  sq_dot #(.Lanes(2*Groups), .AW(PlainW), .BW(ValueW)) u_dot (
    .a_i(taken), .b_i(value_i), .sum_o(sum)
  );
  sq_acc #(.SumW(SumW), .AccW(AccW)) u_acc (
    .clk_i, .en_i, .sum_i(sum), .acc_i, .first_i, .last_i, .p_o
  );

endmodule
