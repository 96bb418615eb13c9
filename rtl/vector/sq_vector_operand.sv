// SPDX-License-Identifier: Apache-2.0
// An operand of a vector descriptor: beats of the bus become beats of Lanes binary32 elements. From is
// sq_pkg::VECTOR_FROM_*: a constant; a row, of which a beat of bfloat16 (half_i) gives two; one element for a whole row,
// which stands in the low bits of its beat. Depth beats are kept.
module sq_vector_operand #(
  parameter  int unsigned DataW = 64,
  parameter  int unsigned Depth = 16,
  localparam int unsigned Lanes = DataW / 32
) (
  input  logic             clk_i, rst_ni,
  // descriptor
  input  logic [1:0]       from_i,
  input  logic             half_i,
  input  logic [31:0]      value_i,  // the constant
  // beats of the bus
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [DataW-1:0] in_data_i,
  // elements
  output logic             out_valid_o,
  input  logic             out_take_i,
  input  logic             out_end_i,  // of the row, with the beat that is taken
  output logic [DataW-1:0] out_data_o
);

  logic is_row, is_one, upper_q, here, pop;
  logic [DataW-1:0] beat;
  assign is_row = from_i == sq_pkg::VECTOR_FROM_ROW;
  assign is_one = from_i == sq_pkg::VECTOR_FROM_ONE;
  assign out_valid_o = here || !(is_row || is_one);
  assign pop = out_take_i && (out_end_i || (is_row && (!half_i || upper_q)));

  sq_fifo #(.Width(DataW), .Depth(Depth)) u_beats (
    .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .in_data_i, .out_valid_o(here),
    .out_ready_i(pop && (is_row || is_one)), .out_data_o(beat)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) upper_q <= 1'b0;
    else if (out_take_i) upper_q <= half_i && !upper_q && !out_end_i;
  end

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic [31:0] word;
    logic [15:0] half;
    assign word = is_one ? beat[31:0] : beat[l*32 +: 32];
    assign half = is_one ? beat[15:0] : upper_q ? beat[(Lanes+l)*16 +: 16] : beat[l*16 +: 16];
    assign out_data_o[l*32 +: 32] = !(is_row || is_one) ? value_i : half_i ? {half, 16'd0} : word;
  end

endmodule
