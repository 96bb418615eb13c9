// SPDX-License-Identifier: Apache-2.0
// The assertion words. Labelled immediate assertions in clocked blocks, empty under SYNTHESIS.
// SQ_ASSERT_BEGIN, once per module, makes the flop that gates them: off until the first cycle after
// reset. Its declaration has the initial value, as the standard lets no initial block write what an
// always_ff writes; it has one because random-reset simulation and proofs start from anywhere.
`ifndef SQ_ASSERT_SVH
`define SQ_ASSERT_SVH

`ifdef SYNTHESIS
`define SQ_ASSERT_BEGIN
`define SQ_ASSERT(Name, expr)
`define SQ_HELD(Name, valid, ready, data)
`else
`define SQ_ASSERT_BEGIN \
  logic sva_ok_q = 1'b0; \
  always_ff @(posedge clk_i or negedge rst_ni) \
    if (!rst_ni) sva_ok_q <= 1'b0; \
    else sva_ok_q <= 1'b1;

`define SQ_ASSERT(Name, expr) \
  always_ff @(posedge clk_i) \
    if (sva_ok_q) begin \
      Name : assert (expr); \
    end

// A stream output: once valid, valid and data hold until taken.
`define SQ_HELD(Name, valid, ready, data) \
  logic Name``_valid_q, Name``_ready_q; \
  logic [$bits(data)-1:0] Name``_data_q; \
  always_ff @(posedge clk_i) begin \
    Name``_valid_q <= valid; \
    Name``_ready_q <= ready; \
    Name``_data_q <= data; \
    if (sva_ok_q && Name``_valid_q && !Name``_ready_q) begin \
      Name : assert (valid && data == Name``_data_q); \
    end \
  end
`endif

`endif
