// SPDX-License-Identifier: Apache-2.0
// The blocks that give one beat for each they take, or one for each group: sq_stream_rules with the
// latency of SPEC C.3, D.8 and E. LostWait = latency makes it exact: a beat that is taken in cycle t
// is offered in cycle t + latency at the latest, cycles in which the sink was not ready left out.
module sq_units_check #(
  parameter int unsigned Unit = 0,      // see the cases below
  parameter int unsigned Latency = 2,
  parameter int unsigned Inside = 2,
  parameter int unsigned Every = 1,     // cycles between two beats that are taken
  parameter int unsigned Layout = sq_pkg::LAYOUT_DENSE
) (
  input logic        clk_i, in_valid_i, in_last_i, out_ready_i,
  input logic [95:0] data_i
);
  logic rst_n;
  initial rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic in_ready, out_valid, owe;
  assign owe = Unit == 4 ? in_last_i : 1'b1;
  sq_stream_rules #(.Inside(Inside), .LostWait(Latency), .LiveWait(Every)) u_rules (
    .clk_i, .rst_ni(rst_n), .offered_i(in_valid_i), .needed_i(1'b1),
    .in_fire_i(in_valid_i && in_ready), .owe_i(owe), .out_valid_i(out_valid), .out_ready_i
  );

  case (Unit)
    0: begin : gen_topk_rank
      logic [3:0] mask;
      sq_topk #(.BankLen(4), .HighPerBank(2), .MagW(3), .Topk(sq_pkg::TOPK_RANK)) dut (
        .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready), .in_mag_i(data_i[11:0]),
        .out_valid_o(out_valid), .out_ready_i, .out_mask_o(mask)
      );
    end
    1: begin : gen_topk_radix
      logic [3:0] mask;
      sq_topk #(.BankLen(4), .HighPerBank(2), .MagW(7), .Topk(sq_pkg::TOPK_RADIX)) dut (
        .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready),
        .in_mag_i(data_i[27:0]),
        .out_valid_o(out_valid), .out_ready_i, .out_mask_o(mask)
      );
    end
    2: begin : gen_meta24
      logic [3:0] act;
      logic error;
      sq_meta24 #(.Rows(1), .Groups(1), .ActW(2)) dut (
        .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready), .in_meta_i(data_i[3:0]),
        .in_act_i(data_i[11:4]), .out_valid_o(out_valid), .out_ready_i, .out_act_o(act),
        .out_error_o(error)
      );
    end
    3: begin : gen_gather
      logic [7:0] clean;
      logic [3:0] act;
      logic error;
      sq_gather #(.Rows(1), .BankLen(4), .HighPerBank(2), .ActW(2), .LowW(2)) dut (
        .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready), .in_code_i(data_i[7:0]),
        .in_act_i(data_i[15:8]), .out_valid_o(out_valid), .out_ready_i, .out_clean_o(clean),
        .out_act_o(act), .out_error_o(error)
      );
    end
    4: begin : gen_array
      logic [7:0] p_lo, p_hi;
      logic error;
      localparam int unsigned LowBits = 2 * sq_pkg::low_lanes(Layout, 4, 1);
      sq_array #(
        .Rows(1), .Cols(1), .Banks(1), .BankLen(4), .HighPerBank(1), .Layout(Layout), .OnActs(0),
        .OneAcc(0), .PlainW(2), .LowW(2), .HighW(2), .AccW(8)
      ) dut (
        .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready), .in_last_i,
        .in_plain_i(data_i[7:0]), .in_low_i(data_i[8+:LowBits]), .in_high_i(data_i[17:16]),
        .in_mask_i(data_i[20+:sq_pkg::mask_w(Layout, 4)]), .out_valid_o(out_valid), .out_ready_i,
        .out_p_lo_o(p_lo), .out_p_hi_o(p_hi), .out_error_o(error)
      );
    end
    5: begin : gen_act_quant
      logic flags;
      logic [7:0] low;
      logic [3:0] high;
      sq_act_quant #(
        .Lines(1), .BankLen(4), .HighPerBank(1), .LowW(2), .HighW(4), .MulW(2), .ShiftW(2),
        .Topk(Every == 1 ? sq_pkg::TOPK_RANK : sq_pkg::TOPK_RADIX)
      ) dut (
        .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready), .in_flags_i(data_i[0]),
        .in_mul_i(data_i[2:1]), .in_shift_i(data_i[4:3]), .in_code_i(data_i[23:8]),
        .out_valid_o(out_valid), .out_ready_i, .out_flags_o(flags), .out_low_o(low),
        .out_high_o(high)
      );
    end
    default: begin : gen_requant
      logic [1:0] code;
      sq_requant #(.Lanes(1), .OutW(2), .AccW(4), .MulW(2), .ShiftW(2)) dut (
        .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready), .in_acc_i(data_i[3:0]),
        .in_mul_i(data_i[5:4]), .in_shift_i(data_i[7:6]), .out_valid_o(out_valid), .out_ready_i,
        .out_code_o(code)
      );
    end
  endcase
endmodule
