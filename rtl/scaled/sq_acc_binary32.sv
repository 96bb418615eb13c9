// SPDX-License-Identifier: Apache-2.0
// The tail of a PE that adds in binary32 (SPEC Q.7): sum register, scaled sum, accumulator, output
// register. A = fl(A + fl(P * sig * 2^(exp + Bias))), blocks in the order in which they come.
//
// P of more than 24 bits is rounded to binary32 first, as Q.7 has it. Where P * sig has at most 24
// bits, only its exponent can round: where IsWide says that exponents reach the ends of binary32
// (E8M0). Datapath only, like sq_acc. Sums = 1: A begins with begin_i in place of 0. SignW = 1: a sign stands above the
// significand.
module sq_acc_binary32 #(
  parameter int unsigned SumW = 13,
  parameter int unsigned SigW = 8,
  parameter int unsigned SignW = 0,
  parameter int unsigned ExpW = 7,  // signed
  parameter bit          IsWide = 1'b0,
  parameter int unsigned Sums = 0
) (
  input  logic                   clk_i,
  input  logic                   en_i,     // all stages move
  input  logic signed [SumW-1:0] sum_i,
  input  logic [SigW-1:0]        sig_i,    // of the block that sum_i belongs to
  input  logic signed [ExpW-1:0] exp_i,    // of the lowest bit of sum_i * sig_i
  input  logic                   acc_i,    // the scaled sum belongs to a bank
  input  logic                   first_i,  // ... the first of its group
  input  logic                   last_i,   // ... the last of its group
  input  logic [31:0]            begin_i,  // with first_i; Sums
  output logic [31:0]            y_o       // total of the last finished group
);

  if (SumW > 255) begin : gen_bad
    $error("SumW <= 255");
  end
  logic signed [SumW-1:0] sum_q;
  logic [SigW-1:0] sig_q;
  logic signed [ExpW-1:0] exp_q;
  logic [31:0] scaled, scaled_q, acc_d, acc_q, result_q;

  // Sign and magnitude; -2^(SumW-1) is its own.
  logic [SumW-1:0] magnitude;
  assign magnitude = sum_q[SumW-1] ? SumW'(0) - sum_q : sum_q;

  // (float)P = kept * 2^up; without rounding, kept is P.
  localparam bit IsRounded = SumW > 25;
  localparam int unsigned KeptW = IsRounded ? 24 : SumW;
  localparam int unsigned FactorW = SigW - SignW;
  localparam int unsigned MagW = KeptW + FactorW;
  logic negative;
  assign negative = sum_q[SumW-1] ^ (SignW > 0 && sig_q[SigW-1]);
  logic [KeptW-1:0] kept;
  logic [MagW-1:0] product;
  logic [7:0] up;
  if (IsRounded) begin : gen_float
    localparam int unsigned TopSteps = $clog2(SumW);
    logic [SumW-1:0] top;
    logic [TopSteps-1:0] zeros;
    logic [24:0] rounded;
    logic is_odd;
    always_comb begin
      top = magnitude;
      for (int unsigned i = 0; i < TopSteps; i++) begin
        zeros[TopSteps-1-i] = top >> (SumW - (32'd1 << (TopSteps - 1 - i))) == '0;
        if (zeros[TopSteps-1-i]) top = top << (32'd1 << (TopSteps - 1 - i));
      end
    end
    assign is_odd = |(top << 25) || top[SumW-24];
    assign rounded = {1'b0, top[SumW-1 -: 24]} + 25'(top[SumW-25] && is_odd);
    assign kept = rounded[24] ? 24'h800000 : rounded[23:0];
    assign up = 8'(SumW - 24) - 8'(zeros) + 8'(rounded[24]);
  end else begin : gen_whole
    assign kept = magnitude;
    assign up = '0;
  end
  if (FactorW == 1) begin : gen_power
    assign product = {1'b0, sig_q[0] ? kept : KeptW'(0)};
  end else begin : gen_product
    logic signed [MagW+1:0] full;
    logic unused_full;
    sq_mul #(.AW(KeptW + 1), .BW(FactorW + 1)) u_mul (
      .a_i({1'b0, kept}), .b_i({1'b0, sig_q[FactorW-1:0]}), .p_o(full)
    );
    assign unused_full = ^full[MagW+1:MagW];
    assign product = full[MagW-1:0];
  end

  if (IsWide || MagW > 24) begin : gen_round
    localparam int unsigned RoundW = MagW < 27 ? 27 : MagW;
    sq_fp_round #(.SigW(RoundW)) u_round (
      .clk_i(1'b0), .en_i(1'b0),
      .sign_i(negative), .exp_i(11'(exp_q) + 11'($signed(up)) + 11'(127 + MagW - 1)),
      .sig_i(RoundW'(product) << (RoundW - MagW)), .y_o(scaled)
    );
  end else begin : gen_exact
    wire unused_up = ^up;
    // Leading zeros, counted on the way as in sq_fp_round.
    localparam int unsigned Steps = $clog2(MagW);
    logic [MagW-1:0] top;
    logic [Steps-1:0] zeros;
    logic [7:0] exp;
    always_comb begin
      top = product;
      for (int unsigned i = 0; i < Steps; i++) begin
        zeros[Steps-1-i] = top >> (MagW - (32'd1 << (Steps - 1 - i))) == '0;
        if (zeros[Steps-1-i]) top = top << (32'd1 << (Steps - 1 - i));
      end
    end
    assign exp = 8'(exp_q) + 8'(127 + MagW - 1) - 8'(zeros);
    assign scaled = top[MagW-1] ? {negative, exp, 23'({top, 24'd0} >> MagW)} : '0;
  end

  logic [31:0] start;
  if (Sums != 0) begin : gen_sums
    assign start = begin_i;
  end else begin : gen_no_sums
    wire unused_begin = ^begin_i;
    assign start = 32'd0;
  end
  sq_fp_add u_add (.clk_i(1'b0), .en_i(1'b0), .a_i(first_i ? start : acc_q), .b_i(scaled_q), .y_o(acc_d));

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      sum_q <= sum_i;
      sig_q <= sig_i;
      exp_q <= exp_i;
      scaled_q <= scaled;
      if (acc_i) acc_q <= acc_d;
      if (acc_i && last_i) result_q <= acc_d;
    end
  end

  assign y_o = result_q;

endmodule
