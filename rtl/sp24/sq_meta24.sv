// SPDX-License-Identifier: Apache-2.0
// 2:4 unit: metadata and activations of `Groups` groups of four in, the two activations that meet
// the stored values of each group out (SPEC E). Latency 2, one beat per cycle.
//
//   S1  decode the metadata (shared by all rows)
//   S2  move the data through 4:1 muxes
// Stages move together: a beat that is not taken holds both.
`include "sq_assert.svh"

module sq_meta24 #(
  parameter int unsigned Rows = 1,  // tokens that share the decoder
  parameter int unsigned Groups = 4,  // 4: one 16-bit metadata word (SPEC E.3)
  parameter int unsigned ActW = 8
) (
  input  logic                          clk_i, rst_ni,
  // metadata and activations
  input  logic                          in_valid_i,
  output logic                          in_ready_o,
  input  logic [Groups*4-1:0]           in_meta_i,  // group 0 in the low bits
  input  logic [Rows*Groups*4*ActW-1:0] in_act_i,
  // selected activations
  output logic                          out_valid_o,
  input  logic                          out_ready_i,
  output logic [Rows*Groups*2*ActW-1:0] out_act_o,    // 0 where the nibble is illegal
  output logic [Groups-1:0]             out_error_o   // illegal nibble
);

  logic advance, valid_q, valid_q2;
  logic [Groups*8-1:0] ctl, ctl_q;
  logic [Groups-1:0] error, error_q, error_q2;
  logic [Rows*Groups*4*ActW-1:0] act_q;
  logic [Rows*Groups*2*ActW-1:0] taken, taken_q2;

  assign advance = !valid_q2 || out_ready_i;
  assign in_ready_o = advance;
  assign out_valid_o = valid_q2;
  assign out_act_o = taken_q2;
  assign out_error_o = error_q2;

  for (genvar g = 0; g < Groups; g++) begin : gen_group
    sq_meta24_dec u_dec (
      .meta_i(in_meta_i[g*4 +: 4]), .ctl_o(ctl[g*8 +: 8]), .error_o(error[g])
    );
    for (genvar r = 0; r < Rows; r++) begin : gen_row
      sq_gather_mux #(.BankLen(4), .Lanes(2), .ActW(ActW)) u_mux (
        .ctl_i(ctl_q[g*8 +: 8]),
        .act_i(act_q[(r*Groups+g)*4*ActW +: 4*ActW]),
        .act_o(taken[(r*Groups+g)*2*ActW +: 2*ActW])
      );
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      valid_q2 <= 1'b0;
    end else if (advance) begin
      valid_q <= in_valid_i;
      valid_q2 <= valid_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance) begin
      ctl_q <= ctl;
      act_q <= in_act_i;
      error_q <= error;
      taken_q2 <= taken;
      error_q2 <= error_q;
    end
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_act_o, out_error_o})

endmodule
