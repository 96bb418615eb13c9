// SPDX-License-Identifier: Apache-2.0
// sq_act_buffer against a list of tiles in the harness, for all tiles of 1 .. Depth beats given
// 1 .. 3 times: never more than two tiles inside, each given in order, whole, as often as asked.
module sq_act_buffer_check #(
  parameter  int unsigned Depth = 2,
  localparam int unsigned AtW = $clog2(Depth + 1)
) (
  input logic       clk_i, in_valid_i,
  input logic       in_data_i, in_last_i,
  input logic [1:0] in_passes_i,
  input logic       out_ready_i
);
  logic rst_n;
  initial rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic in_ready, in_fire, in_last, out_valid, out_fire, out_data, out_last;
  logic [1:0] passes;
  assign passes = in_passes_i == 2'd0 ? 2'd1 : in_passes_i;
  sq_act_buffer #(.Width(1), .Depth(Depth), .PassW(2)) dut (
    .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready), .in_data_i, .in_last_i(in_last),
    .in_passes_i(passes), .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data),
    .out_last_o(out_last)
  );
  assign in_fire = in_valid_i && in_ready;
  assign out_fire = out_valid && out_ready_i;

  // Tile 0 is the oldest; beats of tile t in tile_t_q, the next one's in next_q.
  logic [Depth-1:0] tile0_q, tile1_q, next_q, next;
  logic [AtW-1:0] len0_q, len1_q, written_q, given_q;
  logic [1:0] passes0_q, passes1_q, pass_q, tiles_q;
  logic pass_end, tile_in, tile_out;
  assign in_last = in_last_i || written_q == AtW'(Depth - 1);  // the sender keeps to Depth
  assign tile_in = in_fire && in_last;
  assign pass_end = given_q == len0_q - 1'b1;
  assign tile_out = out_fire && pass_end && pass_q == passes0_q - 2'd1;
  always_comb begin
    next = next_q;
    for (int i = 0; i < Depth; i++) if (written_q == AtW'(i)) next[i] = in_data_i;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      written_q <= '0;
      given_q <= '0;
      pass_q <= '0;
      tiles_q <= '0;
    end else begin
      if (in_fire) written_q <= in_last ? '0 : written_q + 1'b1;
      if (out_fire) begin
        given_q <= pass_end ? '0 : given_q + 1'b1;
        if (pass_end) pass_q <= tile_out ? '0 : pass_q + 2'd1;
      end
      tiles_q <= tiles_q + 2'(tile_in) - 2'(tile_out);
    end
    if (in_fire) next_q <= next;
    if (tile_out) begin
      tile0_q <= tile1_q;
      len0_q <= len1_q;
      passes0_q <= passes1_q;
    end
    if (tile_in && tiles_q - 2'(tile_out) == 2'd0) begin
      tile0_q <= next;
      len0_q <= written_q + 1'b1;
      passes0_q <= passes;
    end else if (tile_in) begin
      tile1_q <= next;
      len1_q <= written_q + 1'b1;
      passes1_q <= passes;
    end
  end

  always_comb begin
    if (rst_n) begin
      // Bounds: a beat enters only where its tile has a place.
      TwoTiles : assert (tiles_q <= 2'd2 && !(in_fire && tiles_q == 2'd2));
      // A complete tile is offered, an incomplete one is not.
      OfferedWhenComplete : assert (out_valid == (tiles_q != 2'd0));
      // There is a place while fewer than two tiles are complete.
      TakesWhenRoom : assert (in_ready == (tiles_q != 2'd2));
      BeatsInOrder : assert (!out_valid || out_data == tile0_q[given_q]);
      LastOfPass : assert (!out_valid || out_last == pass_end);
    end
  end
endmodule
