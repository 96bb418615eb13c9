// SPDX-License-Identifier: Apache-2.0
// Store of masked activations: takes a tile of beats once and gives it `passes` times, so that what
// made the beats (a mask unit of several cycles a bank) works once per tile and not once per column
// pass. Two tiles: while one is given, the next one comes in. It is complete in time, and the array
// behind never waits for a mask, if a tile is used at least as many times as the mask unit needs
// cycles for a bank (SPEC C.4: N >= N_t * (nbits + 1)).
//
// A tile may be read from the cycle after its last beat came; its place is free from the cycle
// after its last beat went.
`include "sq_assert.svh"

module sq_act_buffer #(
  parameter  int unsigned Width = 16,
  parameter  int unsigned Depth = 8,  // beats of a tile, at most
  parameter  int unsigned PassW = 8,
  localparam int unsigned PlaceW = sq_pkg::index_w(Depth)
) (
  input  logic             clk_i, rst_ni,
  // tiles
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [Width-1:0] in_data_i,
  input  logic             in_last_i,    // last beat of its tile
  input  logic [PassW-1:0] in_passes_i,  // of the tile, >= 1; read with its last beat
  // each tile, passes times
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [Width-1:0] out_data_o,
  output logic             out_last_o    // last beat of a pass
);

  localparam int unsigned AddressW = $clog2(2 * Depth);

  logic write_bank_q, read_bank_q;
  logic [1:0] full_q;
  logic [PlaceW-1:0] write_q, read_q, end_q[2];  // end: place of the last beat
  logic [PassW-1:0] pass_q, passes_q[2];  // passes done, passes wanted
  logic in_fire, out_fire, tile_in, pass_out, tile_out;

  assign in_ready_o = !full_q[write_bank_q];
  assign out_valid_o = full_q[read_bank_q];
  assign out_last_o = read_q == end_q[read_bank_q];
  assign in_fire = in_valid_i && in_ready_o;
  assign out_fire = out_valid_o && out_ready_i;
  assign tile_in = in_fire && in_last_i;
  assign pass_out = out_fire && out_last_o;
  assign tile_out = pass_out && pass_q + PassW'(1) == passes_q[read_bank_q];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_bank_q <= 1'b0;
      read_bank_q <= 1'b0;
      full_q <= 2'b00;
      write_q <= '0;
      read_q <= '0;
      pass_q <= '0;
    end else begin
      if (in_fire) write_q <= tile_in ? '0 : write_q + 1'b1;
      if (tile_in) write_bank_q <= !write_bank_q;
      if (out_fire) read_q <= pass_out ? '0 : read_q + 1'b1;
      if (pass_out) pass_q <= tile_out ? '0 : pass_q + 1'b1;
      if (tile_out) read_bank_q <= !read_bank_q;
      full_q <= (full_q | {tile_in && write_bank_q, tile_in && !write_bank_q}) &
                ~{tile_out && read_bank_q, tile_out && !read_bank_q};
    end
  end

  logic [Width-1:0] beat_q[2*Depth];
  logic [AddressW-1:0] write_place, read_place;
  assign write_place = AddressW'(write_q) + (write_bank_q ? AddressW'(Depth) : '0);
  assign read_place = AddressW'(read_q) + (read_bank_q ? AddressW'(Depth) : '0);
  assign out_data_o = beat_q[read_place];

  always_ff @(posedge clk_i) begin
    if (in_fire) beat_q[write_place] <= in_data_i;
    if (tile_in) begin
      end_q[write_bank_q] <= write_q;
      passes_q[write_bank_q] <= in_passes_i;
    end
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_data_o, out_last_o})
  `SQ_ASSERT(TileFits, !in_fire || in_last_i || write_q != PlaceW'(Depth - 1))
  `SQ_ASSERT(SomePass, !tile_in || in_passes_i != '0)

endmodule
