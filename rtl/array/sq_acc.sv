// SPDX-License-Identifier: Apache-2.0
// The tail of a PE: sum register, accumulator, output register. The total of a group waits in the
// output register, so the next group can start. Datapath only: no reset, no handshake.
module sq_acc #(
  parameter int unsigned SumW = 16,
  parameter int unsigned AccW = 32
) (
  input  logic                   clk_i,
  input  logic                   en_i,     // all stages move
  input  logic signed [SumW-1:0] sum_i,
  input  logic                   acc_i,    // sum_q belongs to a bank
  input  logic                   first_i,  // ... the first of its group
  input  logic                   last_i,   // ... the last of its group
  output logic [AccW-1:0]        p_o       // total of the last finished group
);

  logic signed [SumW-1:0] sum_q;
  logic signed [AccW-1:0] acc_d, acc_q, result_q;

  assign acc_d = (first_i ? '0 : acc_q) + AccW'(sum_q);

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      sum_q <= sum_i;
      if (acc_i) acc_q <= acc_d;
      if (acc_i && last_i) result_q <= acc_d;
    end
  end

  assign p_o = result_q;

endmodule
