// SPDX-License-Identifier: Apache-2.0
// Attention unit (SPEC R.5): attention of Heads queries that share a cache, which it streams once. Of each key:
//
//   s = q . k                            the elements in pairs, neighbours first
//   e = e^(m - s), m = s                 where s is above the largest score m so far; else e = e^(s - m)
//   sum = sum * e + 1                    or sum + e
//   acc = acc * e + v                    or acc + e * v, element by element
// and behind the last one out = acc * (1 / sum).
//
// A job brings `beats` beats of each of its queries, then of every key and of every value; outputs leave query by query. Keys go Ahead of their values, after that
// a value and a key are taken in turn, so that a key takes 2 beats cycles, and at least Loop + 1 - beats
// between one value and the next, since what is added must be there.
//
//   operands | product (4) | lanes in pairs (4 each) | beats in pairs (4 each) | m | s - m (4) | e^x (9) | queue
// Nothing stalls inside: a key is taken only where the queue has room for its e.
`include "sq_assert.svh"

module sq_attend #(
  parameter  int unsigned Lanes = 4,     // elements of a beat, a power of two
  parameter  int unsigned Heads = 2,     // queries side by side
  parameter  int unsigned HeadDim = 16,  // the largest head: Lanes times a power of two
  parameter  int unsigned Ahead = 4,     // keys whose values are still to come, at most
  parameter  int unsigned IsInt8 = 0,    // the cache has codes of INT8 and a scale, else binary16
  localparam int unsigned CodeW = IsInt8 != 0 ? 8 : 16,
  localparam int unsigned Beats = HeadDim / Lanes,
  localparam int unsigned BeatW = sq_pkg::index_w(Beats),
  localparam int unsigned HeadW = sq_pkg::index_w(Heads)
) (
  input  logic                      clk_i, rst_ni,
  // how much follows, each less one
  input  logic                      job_valid_i,
  output logic                      job_ready_o,
  input  logic [15:0]               job_keys_i,
  input  logic [BeatW-1:0]          job_beats_i,  // of a head
  input  logic [HeadW-1:0]          job_heads_i,  // queries; the others compute what nobody reads
  // queries, one after the other, binary32, the scale of the scores in them; lane 0 in the low bits
  input  logic                      q_valid_i,
  output logic                      q_ready_o,
  input  logic [Lanes*32-1:0]       q_x_i,
  // the cache; scale, binary16: of the codes of the beat
  input  logic                      k_valid_i,
  output logic                      k_ready_o,
  input  logic [Lanes*CodeW-1:0]    k_x_i,
  input  logic [15:0]               k_scale_i,
  input  logic                      v_valid_i,
  output logic                      v_ready_o,
  input  logic [Lanes*CodeW-1:0]    v_x_i,
  input  logic [15:0]               v_scale_i,
  // outputs, binary32, in the order of the queries
  output logic                      out_valid_o,
  input  logic                      out_ready_i,
  output logic [Lanes*32-1:0]       out_y_o
);

  if (Lanes < 1 || Lanes > 64 || (Lanes & (Lanes - 1)) != 0) begin : gen_bad_lanes
    $error("Lanes: a power of two, 1..64");
  end
  if (Beats * Lanes != HeadDim || (Beats & (Beats - 1)) != 0 || HeadDim > 256) begin : gen_bad_head
    $error("HeadDim: Lanes times a power of two, at most 256");
  end
  if (Heads < 1 || Ahead < 2) begin : gen_bad
    $error("Heads >= 1, Ahead >= 2");
  end

  localparam int unsigned Loop = 9;  // cycles from reading an accumulator to reading it again
  localparam int unsigned LaneLevels = $clog2(Lanes);
  localparam int unsigned BeatLevels = $clog2(Beats);
  localparam int unsigned KeyStages = 5 + 4 * LaneLevels;  // up to the sum of a beat's lanes
  localparam int unsigned ExpStages = 14;  // from the largest score to the queue
  localparam int unsigned AheadW = $clog2(Ahead + 1);

  // ---- control: passes of beats over the head, one after the other

  localparam logic [2:0] Job = 3'd0, Query = 3'd1, Cache = 3'd2, Sum = 3'd3, Scale = 3'd4, Drain = 3'd5;
  logic [2:0] state_q;
  logic [BeatW-1:0] beats_q, at_q;
  logic [HeadW-1:0] heads_q, head_q;  // of the job; whose query comes, or whose outputs leave
  logic [16:0] keys_q, values_q;  // still to come
  logic [AheadW-1:0] ahead_q;
  logic is_value_q, is_first_q;  // the pass is one of values, the first one
  logic [3:0] wait_q;  // cycles until all accumulators of the pass before may be read

  logic has_e, take_key, take_value, scale, moves, is_last, is_last_head, is_free;
  logic [AheadW-1:0] ahead;
  assign is_free = at_q != '0 || wait_q == '0;
  assign job_ready_o = state_q == Job;
  assign q_ready_o = state_q == Query;
  assign k_ready_o = state_q == Cache && !is_value_q;
  assign v_ready_o = state_q == Cache && is_value_q && is_free && has_e;
  assign out_valid_o = state_q == Drain && is_free;
  assign take_key = k_valid_i && k_ready_o;
  assign take_value = v_valid_i && v_ready_o;
  assign scale = state_q == Scale && has_e;
  assign moves = (q_valid_i && q_ready_o) || take_key || take_value || scale || (out_valid_o && out_ready_i);
  assign is_last = at_q == beats_q;
  assign is_last_head = head_q == heads_q;
  assign ahead = is_value_q ? ahead_q - 1'b1 : ahead_q + 1'b1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Job;
      at_q <= '0;
      head_q <= '0;
      ahead_q <= '0;
      wait_q <= '0;
    end else begin
      if (wait_q != '0) wait_q <= wait_q - 1'b1;
      if (moves) at_q <= is_last ? '0 : at_q + 1'b1;
      if (moves && is_last && (state_q == Query || state_q == Drain)) head_q <= is_last_head ? '0 : head_q + 1'b1;
      if ((take_value || scale) && is_last) wait_q <= 32'(beats_q) >= Loop - 1 ? '0 : 4'(Loop - 1) - 4'(beats_q);
      if ((take_key || take_value) && is_last) ahead_q <= ahead;
      case (state_q)
        Job: if (job_valid_i) state_q <= Query;
        Query: if (moves && is_last && is_last_head) state_q <= Cache;
        Cache: if (take_value && is_last && values_q == 17'd1) state_q <= Sum;
        Sum: if (wait_q == '0) state_q <= Scale;
        Scale: if (moves && is_last) state_q <= Drain;
        default: if (moves && is_last && is_last_head) state_q <= Job;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (job_valid_i && job_ready_o) begin
      beats_q <= job_beats_i;
      heads_q <= job_heads_i;
      keys_q <= 17'(job_keys_i) + 17'd1;
      values_q <= 17'(job_keys_i) + 17'd1;
      is_value_q <= 1'b0;
      is_first_q <= 1'b1;
    end
    if (take_key && is_last) begin
      keys_q <= keys_q - 1'b1;
      is_value_q <= ahead == AheadW'(Ahead) || keys_q == 17'd1;
    end
    if (take_value && is_last) begin
      values_q <= values_q - 1'b1;
      is_value_q <= keys_q == '0;
      is_first_q <= 1'b0;
    end
  end

  // ---- a beat for all queries, and the same beat when something is added to its products and when that is written

  logic is_write;
  logic [Lanes*32-1:0] x, add_x;
  logic [BeatW-1:0] add_at, write_at;
  logic add_none;
  logic [7:0] write_q;
  logic [15:0] x_scale;
  logic unused_scale;
  assign x_scale = is_value_q ? v_scale_i : k_scale_i;
  assign unused_scale = ^x_scale;
  for (genvar l = 0; l < Lanes; l++) begin : gen_x
    logic [CodeW-1:0] code;
    assign code = is_value_q ? v_x_i[l*CodeW +: CodeW] : k_x_i[l*CodeW +: CodeW];
    if (IsInt8 != 0) begin : gen_int8
      sq_attend_code u_x (.code_i(code), .scale_i(x_scale), .y_o(x[l*32 +: 32]));
    end else begin : gen_half
      sq_fp_from_half u_x (.a_i(code), .y_o(x[l*32 +: 32]));
    end
  end
  assign is_write = take_value || scale;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) write_q <= '0;
    else write_q <= {write_q[6:0], is_write};
  end
  sq_delay #(.Width(Lanes * 32 + BeatW + 1), .Stages(5)) u_add (
    .clk_i, .en_i(1'b1), .x_i({x, at_q, is_first_q || scale}), .x_o({add_x, add_at, add_none})
  );
  sq_delay #(.Width(BeatW), .Stages(3)) u_write (.clk_i, .en_i(1'b1), .x_i(add_at), .x_o(write_at));

  // Beats of keys, valid and last, up to the sum of the lanes.
  logic [KeyStages-1:0] key_q, key_last_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) key_q <= '0;
    else key_q <= KeyStages'({key_q, take_key});
  end
  always_ff @(posedge clk_i) key_last_q <= KeyStages'({key_last_q, is_last});

  // ---- queries: lanes, and their products in pairs: node n of 1 .. Lanes-1 adds nodes 2n and 2n+1, lanes are the leaves

  logic [Heads-1:0] is_more;  // of the e that is next: its score was the largest
  logic [Heads*32-1:0] e, dot, total;
  logic [Heads*Lanes*32-1:0] acc;
  for (genvar h = 0; h < Heads; h++) begin : gen_head
    logic of_acc, add_acc;
    logic [2*Lanes*32-1:0] node;
    logic unused_node;
    assign of_acc = is_write && (is_more[h] || scale);
    sq_delay #(.Width(1), .Stages(5)) u_more (.clk_i, .en_i(1'b1), .x_i(of_acc), .x_o(add_acc));
    assign unused_node = ^node[31:0];
    assign node[31:0] = '0;
    assign dot[h*32 +: 32] = node[63:32];
    for (genvar l = 0; l < Lanes; l++) begin : gen_lane
      sq_attend_lane #(.Beats(Beats)) u_lane (
        .clk_i, .q_write_i(q_valid_i && q_ready_o && head_q == HeadW'(h)), .q_i(q_x_i[l*32 +: 32]),
        .at_i(at_q), .is_value_i(is_value_q), .of_acc_i(of_acc), .e_i(e[h*32 +: 32]), .x_i(x[l*32 +: 32]),
        .product_o(node[(Lanes+l)*32 +: 32]),
        .add_at_i(add_at), .add_x_i(add_acc), .add_none_i(add_none), .add_i(add_x[l*32 +: 32]),
        .write_i(write_q[7]), .write_at_i(write_at), .acc_o(acc[(h*Lanes+l)*32 +: 32])
      );
    end
    for (genvar n = 1; n < Lanes; n++) begin : gen_node
      logic [31:0] sum, sum_q;
      sq_fp_add #(.Cut(1'b1)) u_sum (
        .clk_i, .en_i(1'b1), .a_i(node[2*n*32 +: 32]), .b_i(node[(2*n+1)*32 +: 32]), .y_o(sum)
      );
      always_ff @(posedge clk_i) sum_q <= sum;
      assign node[n*32 +: 32] = sum_q;
    end
    // The sum of the e is an element whose values are 1.
    logic [31:0] unused_product;
    sq_attend_lane #(.Beats(1)) u_total (
      .clk_i, .q_write_i(1'b0), .q_i(32'd0), .at_i(1'b0), .is_value_i(1'b1), .of_acc_i(of_acc), .e_i(e[h*32 +: 32]),
      .x_i(32'h3f800000), .product_o(unused_product), .add_at_i(1'b0), .add_x_i(add_acc), .add_none_i(add_none),
      .add_i(32'h3f800000), .write_i(write_q[7] && ~|write_at), .write_at_i(1'b0), .acc_o(total[h*32 +: 32])
    );
  end

  always_comb begin
    out_y_o = acc[Lanes*32-1:0];
    for (int unsigned h = 1; h < Heads; h++) if (head_q == HeadW'(h)) out_y_o = acc[h*Lanes*32 +: Lanes*32];
  end

  // ---- scores: beats in pairs

  logic [BeatLevels:0] level_valid, level_last;
  logic [(BeatLevels+1)*Heads*32-1:0] level;
  assign level_valid[0] = key_q[KeyStages-1];
  assign level_last[0] = key_last_q[KeyStages-1];
  assign level[Heads*32-1:0] = dot;
  for (genvar i = 0; i < BeatLevels; i++) begin : gen_level
    sq_attend_pair #(.Heads(Heads)) u_pair (
      .clk_i, .rst_ni, .valid_i(level_valid[i]), .last_i(level_last[i]), .x_i(level[i*Heads*32 +: Heads*32]),
      .valid_o(level_valid[i+1]), .last_o(level_last[i+1]), .y_o(level[(i+1)*Heads*32 +: Heads*32])
    );
  end
  logic has_score, unused_last;
  logic [Heads*32-1:0] score;
  assign has_score = level_valid[BeatLevels];
  assign unused_last = level_last[BeatLevels];
  assign score = level[BeatLevels*Heads*32 +: Heads*32];

  // ---- the largest score, and e; in the end 1 / sum instead

  logic is_first_score_q, ask_sum;
  logic [ExpStages-1:0] exp_q;
  logic [Heads*33-1:0] made;
  assign ask_sum = state_q == Sum && wait_q == '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      exp_q <= '0;
      is_first_score_q <= 1'b1;
    end else begin
      // 1 / sum has no difference in front of it
      exp_q <= {exp_q[ExpStages-2:4], exp_q[3] || ask_sum, exp_q[2:0], has_score};
      if (has_score) is_first_score_q <= 1'b0;
      else if (ask_sum) is_first_score_q <= 1'b1;
    end
  end
  for (genvar h = 0; h < Heads; h++) begin : gen_score
    logic [31:0] s, s_rank, m_q, m_rank, less_q, more_q, difference, x_q, y;
    logic [1:0] f_q;
    logic is_larger, is_larger_q;
    assign s = score[h*32 +: 32];
    assign s_rank = {!s[31], s[31] ? ~s[30:0] : s[30:0]};
    assign m_rank = {!m_q[31], m_q[31] ? ~m_q[30:0] : m_q[30:0]};
    assign is_larger = !is_first_score_q && s_rank > m_rank;
    sq_fp_add #(.Cut(1'b1)) u_difference (
      .clk_i, .en_i(1'b1), .a_i(less_q), .b_i({!more_q[31], more_q[30:0]}), .y_o(difference)
    );
    sq_vector_func #(.Cut(1'b1)) u_exp (.clk_i, .advance_i(1'b1), .f_i(f_q), .x_i(x_q), .y_o(y));
    sq_delay #(.Width(1), .Stages(ExpStages - 1)) u_larger (
      .clk_i, .en_i(1'b1), .x_i(is_larger_q), .x_o(made[h*33])
    );
    assign made[h*33+1 +: 32] = y;
    always_ff @(posedge clk_i) begin
      if (has_score && (is_larger || is_first_score_q)) m_q <= s;
      // The first e is e^0.
      less_q <= is_first_score_q ? 32'd0 : is_larger ? m_q : s;
      more_q <= is_first_score_q ? 32'd0 : is_larger ? s : m_q;
      is_larger_q <= is_larger;
      x_q <= ask_sum ? total[h*32 +: 32] : difference;
      f_q <= ask_sum ? sq_pkg::VECTOR_RECIPROCAL : sq_pkg::VECTOR_EXP;
    end
  end

  logic [Heads*33-1:0] next;
  logic has_room;
  sq_fifo #(.Width(Heads * 33), .Depth(Ahead)) u_queue (
    .clk_i, .rst_ni, .in_valid_i(exp_q[ExpStages-1]), .in_ready_o(has_room), .in_data_i(made),
    .out_valid_o(has_e), .out_ready_i(is_write && is_last), .out_data_o(next)
  );
  for (genvar h = 0; h < Heads; h++) begin : gen_e
    assign is_more[h] = next[h*33];
    assign e[h*32 +: 32] = next[h*33+1 +: 32];
  end

  `SQ_ASSERT_BEGIN
  `SQ_ASSERT(RoomForEach, has_room || !exp_q[ExpStages-1])
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, out_y_o)

endmodule
