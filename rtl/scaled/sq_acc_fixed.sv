// SPDX-License-Identifier: Apache-2.0
// The tail of a PE that adds scaled sums exactly: sum register, accumulator, output register.
// A = A + (P * sig << shift), an integer that every order of blocks makes the same. AccW is what the
// largest sum needs; sim/block/scaled/sq_array_scaled_block.c derives it. With TwoBlocks, A = A + T, T that sum
// of two blocks: it is narrower than A, and so is its adder. Datapath only, like sq_acc.
module sq_acc_fixed #(
  parameter  int unsigned SumW = 12,
  parameter  int unsigned SigW = 4,
  parameter  int unsigned ShiftW = 4,
  parameter  int unsigned AccW = 41,
  parameter  int unsigned TwoBlocks = 0,
  localparam int unsigned Blocks = (TwoBlocks != 0) ? 2 : 1,
  localparam int unsigned ProdW = SumW + SigW
) (
  input  logic                     clk_i,
  input  logic                     en_i,     // all stages move
  input  logic [Blocks*SumW-1:0]   sum_i,    // signed; block 0 in the low bits
  input  logic [Blocks*SigW-1:0]   sig_i,    // of the block that sum_i belongs to
  input  logic [Blocks*ShiftW-1:0] shift_i,
  input  logic                     acc_i,    // sum_q belongs to a bank
  input  logic                     first_i,  // ... the first of its group
  input  logic                     last_i,   // ... the last of its group
  output logic [AccW-1:0]          y_o       // total of the last finished group
);

  localparam int unsigned PairW = ProdW + 2 ** ShiftW;  // of T
  logic [Blocks*SumW-1:0] sum_q;
  logic [Blocks*SigW-1:0] sig_q;
  logic [Blocks*ShiftW-1:0] shift_q;
  logic [Blocks*ProdW-1:0] product;
  logic [AccW-1:0] scaled, acc_d, acc_q, result_q;

  for (genvar b = 0; b < Blocks; b++) begin : gen_block
    if (SigW == 1) begin : gen_power  // sig_i is 1
      logic unused_sig;
      assign unused_sig = sig_q[b];
      assign product[b*ProdW +: ProdW] = ProdW'($signed(sum_q[b*SumW +: SumW]));
    end else begin : gen_product
      logic signed [ProdW:0] full;  // the sign bit of a significand is 0
      logic unused_full;
      sq_mul #(.AW(SumW), .BW(SigW + 1)) u_mul (
        .a_i(sum_q[b*SumW +: SumW]), .b_i({1'b0, sig_q[b*SigW +: SigW]}), .p_o(full)
      );
      assign unused_full = full[ProdW];
      assign product[b*ProdW +: ProdW] = full[ProdW-1:0];
    end
  end

  if (TwoBlocks != 0) begin : gen_two
    logic signed [PairW-1:0] first, second, pair;
    assign first = PairW'($signed(product[0 +: ProdW])) << shift_q[0 +: ShiftW];
    assign second = PairW'($signed(product[ProdW +: ProdW])) << shift_q[ShiftW +: ShiftW];
    assign pair = first + second;
    assign scaled = AccW'(pair);
  end else begin : gen_one
    assign scaled = AccW'($signed(product)) << shift_q;
  end
  assign acc_d = (first_i ? '0 : acc_q) + scaled;

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      sum_q <= sum_i;
      sig_q <= sig_i;
      shift_q <= shift_i;
      if (acc_i) acc_q <= acc_d;
      if (acc_i && last_i) result_q <= acc_d;
    end
  end

  assign y_o = result_q;

endmodule
