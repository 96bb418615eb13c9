// SPDX-License-Identifier: Apache-2.0
// What every block with streams promises, whatever it computes. A harness says how many output
// beats each accepted input beat owes, and these rules watch the ports:
//
//   NothingInvented  an output beat is offered only while one is owed
//   NothingHoarded   at most Inside beats are owed: the block stalls its source in time
//   NothingLost      while one is owed, what it needs is offered and the sink is ready, fewer than
//                    LostWait cycles pass without an output, whether or not more input comes
//   Live             while all inputs are offered and the sink is ready, fewer than LiveWait cycles
//                    pass without a transfer
// Waiting cycles add up over stalls, so that no state is a trap.
//   OfferHeld        an offer stays until it is taken
// Together, over all time: the outputs are as many as are owed, no more and no less.
module sq_stream_rules #(
  parameter  int unsigned Inside = 2,
  parameter  int unsigned LostWait = 4,
  parameter  int unsigned LiveWait = 4,
  parameter  int unsigned OweW = 1,
  localparam int unsigned CountW = $clog2(Inside + 2 ** OweW),
  localparam int unsigned LostW = $clog2(LostWait + 1),
  localparam int unsigned LiveW = $clog2(LiveWait + 1)
) (
  input logic            clk_i, rst_ni,
  input logic            offered_i,    // every input stream has a beat
  input logic            needed_i,     // what an owed beat needs beside the sink
  input logic            in_fire_i,    // some input beat is taken
  input logic [OweW-1:0] owe_i,        // output beats that it owes
  input logic            out_valid_i, out_ready_i
);
  logic [CountW-1:0] owed_q;
  logic [LostW-1:0] lost_q;
  logic [LiveW-1:0] stuck_q;
  logic held_q, out_fire;

  assign out_fire = out_valid_i && out_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      owed_q <= '0;
      lost_q <= '0;
      stuck_q <= '0;
      held_q <= 1'b0;
    end else begin
      owed_q <= owed_q + (in_fire_i ? CountW'(owe_i) : '0) - CountW'(out_fire);
      if (owed_q == '0 || out_fire) lost_q <= '0;
      else if (needed_i && out_ready_i && lost_q != LostW'(LostWait)) lost_q <= lost_q + 1'b1;
      if (in_fire_i || out_fire) stuck_q <= '0;
      else if (offered_i && out_ready_i && stuck_q != LiveW'(LiveWait)) stuck_q <= stuck_q + 1'b1;
      held_q <= out_valid_i && !out_ready_i;
    end
  end

  always_comb begin
    if (rst_ni) begin
      NothingInvented : assert (!out_valid_i || owed_q != '0);
      NothingHoarded : assert (owed_q <= CountW'(Inside));
      NothingLost : assert (lost_q != LostW'(LostWait));
      Live : assert (stuck_q != LiveW'(LiveWait));
      OfferHeld : assert (!held_q || out_valid_i);
    end
  end
endmodule
