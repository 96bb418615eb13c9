// SPDX-License-Identifier: Apache-2.0
// An operand on its way: beats of the bus become beats of the operand, which lie packed in whole bytes, and
// go into a buffer that jobs read.
module sq_top_operand #(
  parameter  int unsigned DataW = 64,
  parameter  int unsigned Width = 64,  // bits of a beat of the operand; kept in whole bytes
  parameter  int unsigned Depth = 256,
  parameter  int unsigned Macro = 0,
  localparam int unsigned AddrW = $clog2(Depth),
  localparam int unsigned TailW = sq_pkg::index_w(DataW / 8)
) (
  input  logic             clk_i, rst_ni,
  // jobs, as those of sq_operand_buffer from base 0 on
  input  logic             job_valid_i,
  output logic             job_ready_o,
  input  logic [15:0]      job_rows_i, job_cols_i, job_beats_i,
  input  logic [AddrW-1:0] job_row_stride_i, job_col_stride_i, job_beat_stride_i,
  input  logic             job_keep_i,
  // beats of the bus
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [DataW-1:0] in_data_i,
  input  logic [TailW-1:0] in_tail_i,  // bytes that count of the last one, 0: all
  input  logic             in_poison_i, in_last_i,
  // beats of the operand
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [Width-1:0] out_data_o,
  output logic             error_o
);

  localparam int unsigned KeptW = 8 * sq_pkg::ceil_div(Width, 8);
  logic wide_valid, wide_ready, wide_poison, wide_last, unused_last;
  logic [KeptW-1:0] wide, kept;

  sq_gear #(.InW(DataW), .OutW(KeptW)) u_gear (
    .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .in_data_i, .in_tail_i, .in_poison_i, .in_last_i,
    .out_valid_o(wide_valid), .out_ready_i(wide_ready), .out_data_o(wide), .out_poison_o(wide_poison),
    .out_last_o(wide_last)
  );
  sq_operand_buffer #(.Width(KeptW), .Depth(Depth), .CountW(16), .Macro(Macro)) u_buffer (
    .clk_i, .rst_ni, .job_valid_i, .job_ready_o, .job_base_i({AddrW{1'b0}}), .job_rows_i, .job_cols_i,
    .job_beats_i, .job_row_stride_i, .job_col_stride_i, .job_beat_stride_i, .job_keep_i,
    .in_valid_i(wide_valid), .in_ready_o(wide_ready), .in_data_i(wide),
    .in_poison_i(wide_poison), .in_last_i(wide_last),
    .out_valid_o, .out_ready_i, .out_data_o(kept), .out_last_o(unused_last), .error_o
  );
  assign out_data_o = kept[Width-1:0];
  if (KeptW > Width) begin : gen_bits
    wire unused_kept = ^kept[KeptW-1:Width];
  end

endmodule
