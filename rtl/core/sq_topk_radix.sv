// SPDX-License-Identifier: Apache-2.0
// TopK of a bank by bisection of the magnitude, one bit per cycle from the top (SPEC C.3, D.8).
// Latency MagW + 1, one bank every MagW + 1 cycles.
//
// The threshold T of SPEC D.8 is not kept. What matters of it is, per element, whether the bits seen
// so far are above T (gt) or equal to it (eq). A bit of T is 1 where gt and the eq elements with
// that bit are at least k; so after the last bit popcount(gt) < k <= popcount(gt | eq), and the tie
// pass fills up with the lowest eq elements.
`include "sq_assert.svh"

module sq_topk_radix #(
  parameter int unsigned BankLen = 16,
  parameter int unsigned HighPerBank = 4,
  parameter int unsigned MagW = 7
) (
  input  logic                    clk_i, rst_ni,
  // magnitudes of a bank
  input  logic                    in_valid_i,
  output logic                    in_ready_o,
  input  logic [BankLen*MagW-1:0] in_mag_i,
  // its mask
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic [BankLen-1:0]      out_mask_o
);

  localparam int unsigned CountW = $clog2(BankLen + 1);
  localparam int unsigned StepW = sq_pkg::index_w(MagW + 1);

  logic busy_q;
  logic [StepW-1:0] step_q;  // bits done; MagW: the mask is offered
  logic [BankLen*MagW-1:0] mag_q;  // each element shifted up by the bits done
  logic [BankLen-1:0] gt_q, eq_q, has_bit, above;
  logic [CountW-1:0] n_above, n_gt;
  logic last, fire, enough;

  assign last = step_q == StepW'(MagW);
  assign out_valid_o = busy_q && last;
  assign in_ready_o = !busy_q || (last && out_ready_i);
  assign fire = in_valid_i && in_ready_o;

  for (genvar i = 0; i < BankLen; i++) begin : gen_bit
    assign has_bit[i] = mag_q[i*MagW+MagW-1];
  end
  assign above = gt_q | (eq_q & has_bit);  // mag >= T with this bit set
  sq_popcount #(.Width(BankLen)) u_above (.bit_i(above), .count_o(n_above));
  assign enough = n_above >= CountW'(HighPerBank);

  // Tie pass.
  sq_popcount #(.Width(BankLen)) u_gt (.bit_i(gt_q), .count_o(n_gt));
  logic [CountW-1:0] need, prefix;  // eq elements to take, eq elements before this one
  assign need = CountW'(HighPerBank) - n_gt;
  always_comb begin
    prefix = '0;
    for (int unsigned i = 0; i < BankLen; i++) begin
      out_mask_o[i] = gt_q[i] || (eq_q[i] && prefix < need);
      prefix = prefix + CountW'(eq_q[i]);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      step_q <= '0;
    end else if (fire) begin
      busy_q <= 1'b1;
      step_q <= '0;
    end else if (busy_q && !last) begin
      step_q <= step_q + 1'b1;
    end else if (out_valid_o && out_ready_i) begin
      busy_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (fire) begin
      mag_q <= in_mag_i;
      gt_q <= '0;
      eq_q <= '1;
    end else if (!last) begin
      for (int unsigned i = 0; i < BankLen; i++) begin
        mag_q[i*MagW +: MagW] <= mag_q[i*MagW +: MagW] << 1;
      end
      eq_q <= eq_q & (has_bit ^ {BankLen{!enough}});
      if (!enough) gt_q <= above;
    end
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, out_mask_o)

endmodule
