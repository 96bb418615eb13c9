// SPDX-License-Identifier: Apache-2.0
// sq_dma between any source of transfers and words and any memory, legal or not: what it asks keeps the
// rules of AXI4 (sq_axi_check inside of it), also where aborts come at any time. Before the first of these a transfer
// ends, at the latest, with the most beats that it can have.
//   ErrorOfItsOwn  behind an abort no write has the error of one before it
//   NothingOffered when it says that nothing is under way, no address and no beat is offered
module sq_dma_check #(
  parameter int unsigned MaxBurst = 2,
  parameter int unsigned Writes = 2,
  parameter int unsigned CountW = 2  // transfers of 1 .. 2^CountW - 1 beats
) (
  input logic        clk_i, job_valid_i, job_first_i, job_write_i,
  input logic [12:0] job_addr_i,
  input logic [CountW-1:0] job_beats_i,
  input logic        in_valid_i,
  input logic [7:0]  in_data_i,
  input logic        out_ready_i, abort_i, ar_ready_i, r_valid_i,
  input logic [1:0]  r_resp_i,
  input logic        r_last_i, aw_ready_i, w_ready_i, b_valid_i,
  input logic [1:0]  b_resp_i
);
  logic rst_n;
  initial rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic out_valid, out_last, b_ready, idle, ar_valid, aw_valid, w_valid;
  logic [2:0] write_status;
  logic [CountW-1:0] beats;
  assign beats = job_beats_i == '0 ? CountW'(1) : job_beats_i;
  sq_dma #(
    .DataW(8), .AddrW(13), .CountW(CountW), .DestW(1), .MaxBurst(MaxBurst), .Outstanding(2), .Writes(Writes), .Quiet(2)
  ) dut (
    .clk_i, .rst_ni(rst_n),
    .job_valid_i, .job_ready_o(), .job_first_i, .job_write_i, .job_addr_i,
    .job_beats_i(beats), .job_dest_i(1'b0),
    .in_valid_i, .in_ready_o(), .in_data_i,
    .out_valid_o(out_valid), .out_ready_i, .out_data_o(), .out_dest_o(), .out_poison_o(),
    .out_last_o(out_last), .out_status_o(),
    .axi_ar_valid_o(ar_valid), .axi_ar_ready_i(ar_ready_i), .axi_ar_addr_o(), .axi_ar_len_o(),
    .axi_ar_size_o(), .axi_ar_burst_o(),
    .axi_r_valid_i(r_valid_i), .axi_r_ready_o(), .axi_r_data_i(8'd0), .axi_r_resp_i(r_resp_i),
    .axi_r_last_i(r_last_i),
    .axi_aw_valid_o(aw_valid), .axi_aw_ready_i(aw_ready_i), .axi_aw_addr_o(), .axi_aw_len_o(),
    .axi_aw_size_o(), .axi_aw_burst_o(),
    .axi_w_valid_o(w_valid), .axi_w_ready_i(w_ready_i), .axi_w_data_o(), .axi_w_strb_o(), .axi_w_last_o(),
    .axi_b_valid_i(b_valid_i), .axi_b_ready_o(b_ready), .axi_b_resp_i(b_resp_i),
    .abort_i, .idle_o(idle), .write_done_o(), .write_status_o(write_status)
  );

  logic [CountW-1:0] given_q;  // beats of the transfer that comes out
  logic out_fire, aborted_q;
  logic wrong_q;  // a response was an error, since an abort was over
  assign out_fire = out_valid && out_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_n) given_q <= '0;
    else if (out_fire) given_q <= out_last ? '0 : given_q + 1'b1;
    aborted_q <= rst_n && (aborted_q || abort_i);
    wrong_q <= rst_n && !idle && (wrong_q || (b_valid_i && b_ready && b_resp_i[1]));
  end
  always_comb begin
    if (rst_n) begin
      LastInTime : assert (aborted_q || !out_valid || out_last || given_q < CountW'(2 ** CountW - 2));
      ErrorOfItsOwn : assert (write_status == 3'd0 || wrong_q);
      NothingOffered : assert (!idle || !(ar_valid || aw_valid || w_valid));
    end
  end
endmodule
