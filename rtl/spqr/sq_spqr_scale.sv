// SPDX-License-Identifier: Apache-2.0
// Scales of SpQR behind sq_spqr_dec (SPEC H.2): codes to weights in binary16, every operation rounded.
//
//   s = q_ss (a - q_sz)    z = q_zs (c - q_zz)    w = s (code - z)
// A row of 16 codes has eight values, so eight are made, and each weight selects one of them.
//
//   a - q_sz, c - q_zz | s, z | code - z | eight values | select
// Latency 5, a beat per cycle. Stages move together: a beat that is not taken holds all of them.
`include "sq_assert.svh"

module sq_spqr_scale #(
  parameter int unsigned Words = 1  // tile rows a beat
) (
  input  logic                clk_i, rst_ni,
  // what sq_spqr_dec gives
  input  logic                in_valid_i,
  output logic                in_ready_o,
  input  logic [Words*48-1:0] in_code_i,
  input  logic [Words*3-1:0]  in_scale_i, in_zero_i,
  input  logic [63:0]         in_second_i,
  input  logic                in_last_i,
  input  logic [2:0]          in_error_i,
  // weights, [row][column]
  output logic                out_valid_o,
  input  logic                out_ready_i,
  output logic [Words*256-1:0] out_weight_o,
  output logic                out_last_o,
  output logic [2:0]          out_error_o  // as it came
);

  localparam int unsigned Stages = 5;
  logic [Stages-1:0] valid_q, last_q;
  logic [3*Stages-1:0] error_q;
  logic moves;
  assign moves = !valid_q[Stages-1] || out_ready_i;
  assign in_ready_o = moves;
  assign out_valid_o = valid_q[Stages-1];
  assign out_last_o = last_q[Stages-1];
  assign out_error_o = error_q[3*Stages-1 -: 3];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (moves) valid_q <= {valid_q[Stages-2:0], in_valid_i};
  end
  always_ff @(posedge clk_i) begin
    if (moves) begin
      last_q <= {last_q[Stages-2:0], in_last_i};
      error_q <= {error_q[3*Stages-4:0], in_error_i};
    end
  end

  // Scales of second order, for the second step.
  logic [15:0] ss, zs, sz, zz, ss_q, zs_q;
  assign {zz, sz, zs, ss} = in_second_i;
  always_ff @(posedge clk_i) begin
    if (moves) begin
      ss_q <= ss;
      zs_q <= zs;
    end
  end

  for (genvar r = 0; r < Words; r++) begin : gen_row
    logic [47:0] code_q, code_q2, code_q3, code_q4;
    logic [15:0] a_d, c_d, a_q, c_q, s, z, s_q2, z_q2, s_q3;
    sq_fp_half_ops u_s (
      .code_i(in_scale_i[r*3 +: 3]), .z_i(sz), .d_o(a_d), .s_i(ss_q), .d_i(a_q), .y_o(s)
    );
    sq_fp_half_ops u_z (
      .code_i(in_zero_i[r*3 +: 3]), .z_i(zz), .d_o(c_d), .s_i(zs_q), .d_i(c_q), .y_o(z)
    );
    always_ff @(posedge clk_i) begin
      if (moves) begin
        code_q <= in_code_i[r*48 +: 48];
        code_q2 <= code_q;
        code_q3 <= code_q2;
        code_q4 <= code_q3;
        a_q <= a_d;
        c_q <= c_d;
        s_q2 <= s;
        z_q2 <= z;
        s_q3 <= s_q2;
      end
    end

    logic [127:0] value_q;  // of code 0 in the low bits
    for (genvar v = 0; v < 8; v++) begin : gen_value
      logic [15:0] d, d_q, y;
      sq_fp_half_ops u_w (
        .code_i(3'(v)), .z_i(z_q2), .d_o(d), .s_i(s_q3), .d_i(d_q), .y_o(y)
      );
      always_ff @(posedge clk_i) begin
        if (moves) begin
          d_q <= d;
          value_q[v*16 +: 16] <= y;
        end
      end
    end

    for (genvar j = 0; j < 16; j++) begin : gen_weight
      logic [15:0] weight, weight_q;
      always_comb begin
        weight = '0;
        for (int unsigned v = 0; v < 8; v++) begin
          weight = weight | (value_q[v*16 +: 16] & {16{code_q4[3*j +: 3] == 3'(v)}});
        end
      end
      always_ff @(posedge clk_i) if (moves) weight_q <= weight;
      assign out_weight_o[(r*16+j)*16 +: 16] = weight_q;
    end
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_weight_o, out_last_o, out_error_o})

endmodule
