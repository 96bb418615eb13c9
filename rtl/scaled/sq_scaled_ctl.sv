// SPDX-License-Identifier: Apache-2.0
// Control of sq_array_scaled and sq_array_parts: flags of the beat in each stage and, last, of what
// is accumulated. All stages move together; they stop while a finished tile finds the one before
// not taken. An error is one of the group.
// Result = 0: PEs have no register for their totals, so that all stages stop while the next group would be accumulated
// before the tile is taken.
// Sums = 1: a tile whose first beat comes with in_carry_i begins with totals of before (carry), and
// all stages wait for them when this beat is the next to be accumulated.
module sq_scaled_ctl #(
  parameter int unsigned Stages = 2,  // between the operands and the accumulator
  parameter int unsigned Sums = 0,
  parameter int unsigned Result = 1
) (
  input  logic                        clk_i, rst_ni,
  // a beat
  input  logic                        in_valid_i,
  output logic                        in_ready_o,
  input  logic                        in_last_i,
  input  logic                        in_carry_i,  // Sums, as the two below
  input  logic [sq_pkg::N_ERRORS-1:0] in_error_i,
  // totals to begin with, of a whole tile
  input  logic                        carry_valid_i,
  output logic                        carry_ready_o,
  // to the PEs; in_ready_o: all stages move
  output logic                        acc_o,
  output logic                        first_o,
  output logic                        carry_o,  // with first_o: the tile begins with them
  output logic                        last_o,
  // a tile
  output logic                        out_valid_o,
  input  logic                        out_ready_i,
  output logic [sq_pkg::N_ERRORS-1:0] out_error_o
);

  localparam int unsigned ErrorW = sq_pkg::N_ERRORS;
  logic [Stages:0] valid_q, last_q;
  logic [(Stages+1)*ErrorW-1:0] error_q;  // the newest in the low bits
  logic first_q;  // the next sum to be accumulated starts a group
  logic [ErrorW-1:0] group_error_q, group_error, result_error_q;
  logic result_valid_q;

  assign acc_o = valid_q[Stages];
  assign first_o = first_q;
  assign last_o = last_q[Stages];
  if (Sums != 0) begin : gen_carry
    logic [Stages:0] carry_q;
    assign carry_o = carry_q[Stages];
    assign carry_ready_o = in_ready_o && acc_o && carry_o;
    always_ff @(posedge clk_i) if (in_ready_o) carry_q <= {carry_q[Stages-1:0], in_carry_i};
  end else begin : gen_no_carry
    wire unused_carry = in_carry_i;
    assign {carry_o, carry_ready_o} = '0;
  end
  logic waits;
  assign waits = acc_o && carry_o && !carry_valid_i;
  assign in_ready_o = !(acc_o && (last_o || Result == 0) && result_valid_q && !out_ready_i) && !waits;
  assign out_valid_o = result_valid_q;
  assign out_error_o = result_error_q;
  assign group_error = error_q[Stages*ErrorW +: ErrorW] | (first_q ? '0 : group_error_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      first_q <= 1'b1;
      result_valid_q <= 1'b0;
    end else begin
      if (in_ready_o) valid_q <= {valid_q[Stages-1:0], in_valid_i};
      if (in_ready_o && acc_o) first_q <= last_o;
      if (in_ready_o && acc_o && last_o) result_valid_q <= 1'b1;
      else if (out_ready_i) result_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (in_ready_o) begin
      last_q <= {last_q[Stages-1:0], in_last_i};
      error_q <= {error_q[Stages*ErrorW-1:0], in_error_i};
      if (acc_o) group_error_q <= group_error;
      if (acc_o && last_o) result_error_q <= group_error;
    end
  end

endmodule
