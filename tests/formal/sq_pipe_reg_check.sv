// SPDX-License-Identifier: Apache-2.0
// sq_pipe_reg against a queue of at most two beats: nothing lost, doubled, reordered or changed, and
// the handshake rules. Proven by induction, for all inputs and all time.
module sq_pipe_reg_check #(
  parameter int unsigned Width = 3
) (
  input logic             clk_i, in_valid_i,
  input logic [Width-1:0] in_data_i,
  input logic             out_ready_i
);
  logic rst_n;
  initial rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic in_ready, out_valid;
  logic [Width-1:0] out_data;
  sq_pipe_reg #(.Width(Width)) dut (
    .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready), .in_data_i,
    .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data)
  );

  // The register's second entry; the proof script joins them to dut.skid_q and dut.skid_valid_q.
  (* keep *) logic [Width-1:0] skid;
  (* keep *) logic skid_valid;

  // The queue: entry 0 is the oldest.
  logic [1:0] count;
  logic [Width-1:0] entry0, entry1;
  logic push, pop;
  assign push = in_valid_i && in_ready && rst_n;
  assign pop = out_valid && out_ready_i && rst_n;
  initial count = 2'd0;
  always_ff @(posedge clk_i) begin
    count <= count + 2'(push) - 2'(pop);
    if (pop) entry0 <= (count == 2'd2) ? entry1 : in_data_i;
    else if (push && count == 2'd0) entry0 <= in_data_i;
    if (push && (count == 2'd2 ? pop : count == 2'd1 && !pop)) entry1 <= in_data_i;
  end

  always_comb begin
    if (rst_n) begin
      CountBound : assert (count <= 2'd2);
      ValidWhenHeld : assert (out_valid == (count != 2'd0));
      ReadyWhenRoom : assert (in_ready == (count != 2'd2));
      OldestFirst : assert (count == 2'd0 || out_data == entry0);
      // What induction needs to know about the second entry.
      SecondEntry : assert (count != 2'd2 || skid == entry1);
      SkidMeansTwo : assert (skid_valid == (count == 2'd2));
    end
  end
endmodule
