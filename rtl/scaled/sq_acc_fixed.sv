// SPDX-License-Identifier: Apache-2.0
// The tail of a PE that adds scaled sums exactly: sum register, accumulator, output register.
// A = A + (P * sig << shift), an integer that every order of blocks makes the same. AccW is what the
// largest sum needs; sim/block/scaled/sq_array_scaled_block.c derives it. With TwoBlocks, A = A + T, T that sum
// of two blocks: it is narrower than A, and so is its adder. Datapath only, like sq_acc.
//
// Cut = 1: a register behind the product; 2: behind the shift, too, so that only the addition is in the loop.
// acc_i, first_i and last_i come so many cycles later.
//
// Carry > 0: the accumulator adds in segments of so many bits. The carry out of a segment is kept in a bit and comes into
// the next one with the next block, so that no carry is longer than a segment: A is the segments plus the carries, each at
// the place of the segment it goes into. y_o has both, carries above (sq_pkg::fixed_w); sq_fixed_float makes a number of it.
// There is no output register then: a total stays in the accumulator, and sq_scaled_ctl adds nothing before it is taken.
module sq_acc_fixed #(
  parameter  int unsigned SumW = 12,
  parameter  int unsigned SigW = 4,
  parameter  int unsigned ShiftW = 4,
  parameter  int unsigned ShiftMax = 14,
  parameter  int unsigned AccW = 41,
  parameter  int unsigned TwoBlocks = 0,
  parameter  int unsigned Cut = 0,
  parameter  int unsigned Carry = 0,
  localparam int unsigned Blocks = (TwoBlocks != 0) ? 2 : 1,
  localparam int unsigned ProdW = SumW + SigW,
  localparam int unsigned SegmentW = (Carry != 0) ? Carry : AccW,
  localparam int unsigned OutW = sq_pkg::fixed_w(AccW, Carry)
) (
  input  logic                     clk_i,
  input  logic                     en_i,     // all stages move
  input  logic [Blocks*SumW-1:0]   sum_i,    // signed; block 0 in the low bits
  input  logic [Blocks*SigW-1:0]   sig_i,    // of the block that sum_i belongs to
  input  logic [Blocks*ShiftW-1:0] shift_i,  // 0..ShiftMax
  input  logic                     acc_i,    // what is added belongs to a bank
  input  logic                     first_i,  // ... the first of its group
  input  logic                     last_i,   // ... the last of its group
  output logic [OutW-1:0]          y_o       // total of the last finished group
);

  if (Cut > 2) begin : gen_bad_cut
    $error("Cut 0..2");
  end
  localparam int unsigned ScaledW = ProdW + ShiftMax + Blocks - 1;
  logic [Blocks*SumW-1:0] sum_q;
  logic [Blocks*SigW-1:0] sig_q;
  logic [Blocks*ShiftW-1:0] shift_q, by;
  logic [Blocks*ProdW-1:0] product, factor;
  logic [ScaledW-1:0] scaled, term;
  logic [AccW-1:0] addend;
  logic [OutW-1:0] acc_d, acc_q, kept;

  for (genvar b = 0; b < Blocks; b++) begin : gen_block
    if (SigW == 1) begin : gen_power  // sig_i is 1
      wire unused_sig = sig_q[b];
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

  sq_delay #(.Width(Blocks * (ProdW + ShiftW)), .Stages(Cut > 0 ? 1 : 0)) u_product (
    .clk_i, .en_i, .x_i({product, shift_q}), .x_o({factor, by})
  );

  if (TwoBlocks != 0) begin : gen_two
    logic signed [ScaledW-1:0] first, second;
    assign first = ScaledW'($signed(factor[0 +: ProdW])) << by[0 +: ShiftW];
    assign second = ScaledW'($signed(factor[ProdW +: ProdW])) << by[ShiftW +: ShiftW];
    assign scaled = first + second;
  end else begin : gen_one
    assign scaled = ScaledW'($signed(factor)) << by;
  end
  sq_delay #(.Width(ScaledW), .Stages(Cut > 1 ? 1 : 0)) u_scaled (
    .clk_i, .en_i, .x_i(scaled), .x_o(term)
  );
  assign addend = AccW'($signed(term));
  assign kept = first_i ? '0 : acc_q;
  for (genvar at = 0; at < AccW; at += SegmentW) begin : gen_segment
    localparam int unsigned Number = at / SegmentW;
    localparam bit IsTop = at + SegmentW >= AccW;  // its carry is beyond A
    localparam int unsigned Width = IsTop ? AccW - at : SegmentW;
    logic [Width-1:0] carried;
    logic [Width:0] total;
    if (at == 0) begin : gen_lowest
      assign carried = '0;
    end else begin : gen_carried
      assign carried = Width'(kept[AccW+Number-1]);
    end
    assign total = {1'b0, kept[at +: Width]} + {1'b0, addend[at +: Width]} + {1'b0, carried};
    assign acc_d[at +: Width] = total[Width-1:0];
    if (IsTop) begin : gen_top
      wire unused_carry = total[Width];
    end else begin : gen_kept
      assign acc_d[AccW+Number] = total[Width];
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      sum_q <= sum_i;
      sig_q <= sig_i;
      shift_q <= shift_i;
      if (acc_i) acc_q <= acc_d;
    end
  end

  if (Carry != 0) begin : gen_in_place
    wire unused_last = last_i;
    assign y_o = acc_q;
  end else begin : gen_result
    logic [OutW-1:0] result_q;
    always_ff @(posedge clk_i) if (en_i && acc_i && last_i) result_q <= acc_d;
    assign y_o = result_q;
  end

endmodule
