// SPDX-License-Identifier: Apache-2.0
// Runs descriptors of kind vector on the chip (rtl/top/vector.md): a pass over rows in memory,
//
//   y = f(a * b + c)     of each element of a row; each of the operands is a row, one element a row, or a constant
//   red                  sum of the y, largest y or its index, of each row or of all rows
//
//   start_i    the descriptor stands at desc_i and stays; sound_i: it came whole, and no bit is set that has no name
//   done_o     for a cycle; with refused_o nothing has happened. Else the last response of memory has come.
// A row is worked on in chunks of ChunkBeats beats of the unit. The transfers of a chunk are those of a, b, c, then of y, and
// behind its last one, of red. They are asked for while fewer than two chunks wait for the unit, so that what is read always
// finds a place. Elements behind the end of a row are written as 0.
`include "sq_assert.svh"

module sq_top_vector #(
  parameter  int unsigned DataW = 64,  // bits of a beat of the bus, a lane for each 32
  localparam int unsigned SizeW = $clog2(DataW / 8)
) (
  input  logic             clk_i, rst_ni,
  // descriptor
  input  logic             start_i, sound_i,
  input  logic [32*sq_regs_pkg::DESC_WORDS-1:0] desc_i,
  output logic             done_o, refused_o,
  // the unit takes a beat; an operand of it is missing
  output logic             busy_o, wait_o,
  // transfers
  output logic             dma_valid_o,
  input  logic             dma_ready_i,
  output logic             dma_write_o,
  output logic [sq_pkg::ADDR_W-1:0] dma_addr_o,
  output logic [31:0]      dma_beats_o,
  output logic [1:0]       dma_part_o,  // a, b, c
  input  logic             write_done_i,
  // beats of operands
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [DataW-1:0] in_data_i,
  input  logic [1:0]       in_part_i,
  // beats of results
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [DataW-1:0] out_data_o
);

  localparam int unsigned AddrW = sq_pkg::ADDR_W;
  localparam int unsigned Lanes = DataW / 32;
  localparam int unsigned LaneW = $clog2(Lanes);
  localparam int unsigned ChunkBeats = 16;
  localparam int unsigned Parts = 5;  // a, b, c, y, red
  localparam logic [2:0] Last = 3'(Parts - 1);
  if (DataW < 32 || DataW > 512 || DataW != 8 << SizeW) begin : gen_bad
    $error("DataW = 32, 64, ... 512");
  end

  // ---- the descriptor -----------------------------------------------------------------------------
  logic [31:0] option, n, row_words, row_halves, row_quarters;
  logic [15:0] rows;
  logic [AddrW-1:0] addr[Parts];
  logic [15:0] stride[Parts];  // beats of the bus from a row to the next
  logic [31:0] row_beats[Parts];
  logic [Parts-1:0] used, one, half;
  logic [1:0] f, b_from, c_from, red, y_form;
  logic all_rows, is_sum, is_byte;  // y is its low byte
  assign option = desc_i[32*sq_regs_pkg::DESC_VECTOR +: 32];
  assign n = desc_i[32*sq_regs_pkg::DESC_BLOCK +: 32];
  assign rows = desc_i[32*sq_regs_pkg::DESC_TILES +: 16];
  assign {all_rows, red, c_from, b_from, f} = option[8:0];
  assign y_form = option[10:9];
  assign is_byte = option[14];
  assign half = {1'b0, y_form[1], option[13:11]};
  assign is_sum = red == sq_pkg::VECTOR_RED_NONE || red == sq_pkg::VECTOR_RED_SUM;
  assign one = {1'b1, 1'b0, c_from == sq_pkg::VECTOR_FROM_ONE, b_from == sq_pkg::VECTOR_FROM_ONE, 1'b0};
  assign used = {red != sq_pkg::VECTOR_RED_NONE, y_form != sq_pkg::VECTOR_Y_NONE,
                 c_from != sq_pkg::VECTOR_FROM_CONSTANT,
                 b_from == sq_pkg::VECTOR_FROM_ROW || b_from == sq_pkg::VECTOR_FROM_ONE, 1'b1};
  assign addr[0] = sq_regs_pkg::desc_address(desc_i, sq_regs_pkg::DESC_ACT);
  assign addr[1] = sq_regs_pkg::desc_address(desc_i, sq_regs_pkg::DESC_WEIGHT);
  assign addr[2] = sq_regs_pkg::desc_address(desc_i, sq_regs_pkg::DESC_ROW_SCALE);
  assign addr[3] = sq_regs_pkg::desc_address(desc_i, sq_regs_pkg::DESC_OUT);
  assign addr[4] = sq_regs_pkg::desc_address(desc_i, sq_regs_pkg::DESC_COL_SCALE);
  assign {stride[1], stride[0]} = desc_i[32*sq_regs_pkg::DESC_BEATS +: 32];
  assign {stride[3], stride[2]} = desc_i[32*sq_regs_pkg::DESC_CHUNK +: 32];
  assign stride[4] = {15'd0, !all_rows};
  assign row_words = 32'((33'(n) + 33'(Lanes - 1)) >> LaneW);
  assign row_halves = 32'((33'(n) + 33'(2 * Lanes - 1)) >> (LaneW + 1));
  assign row_quarters = 32'((33'(n) + 33'(4 * Lanes - 1)) >> (LaneW + 2));
  for (genvar p = 0; p < Parts; p++) begin : gen_row_beats
    assign row_beats[p] = one[p] ? 32'd1 : (p == 3 && is_byte) ? row_quarters : half[p] ? row_halves : row_words;
  end

  logic run, all_done, is_sound;
  logic [Parts*AddrW-1:0] addrs;
  logic [Parts*16-1:0] strides;
  logic [Parts*32-1:0] beats;
  for (genvar p = 0; p < Parts; p++) begin : gen_region
    assign addrs[p*AddrW +: AddrW] = addr[p];
    assign strides[p*16 +: 16] = stride[p];
    assign beats[p*32 +: 32] = row_beats[p];
  end
  assign is_sound = sound_i && rows != '0 && n != '0 && c_from != 2'd3 && (!is_byte || y_form == sq_pkg::VECTOR_Y_BINARY16) && (used[3] || used[4]);
  sq_top_check #(.DataW(DataW), .Parts(Parts)) u_check (
    .clk_i, .rst_ni, .start_i, .all_done_i(all_done), .used_i(used), .addr_i(addrs), .rows_less_i({Parts{rows - 16'd1}}),
    .stride_i(strides), .beats_i(beats), .run_o(run), .done_o, .refused_o,
    .sound_i(is_sound)
  );

  // ---- transfers ----------------------------------------------------------------------------------
  logic [2:0] part_q;
  logic [15:0] rows_q;  // that are to be asked for
  logic [31:0] left_q;  // elements of the row
  logic [AddrW-1:0] at_q[Parts], row_q[Parts];
  logic [4:0] owed_q;  // writes without their response
  logic [1:0] chunks_q;  // that were asked for, and have not gone through the unit
  logic first_q, row_ends, need, goes_on, issue, chunk_goes, chunk_ends;
  logic [31:0] chunk, words, halves, quarters;
  localparam logic [31:0] Chunk = 32'(ChunkBeats * Lanes);
  assign row_ends = left_q <= Chunk;
  assign chunk = row_ends ? left_q : Chunk;
  assign words = (chunk + 32'(Lanes - 1)) >> LaneW;
  assign halves = (chunk + 32'(2 * Lanes - 1)) >> (LaneW + 1);
  assign quarters = (chunk + 32'(4 * Lanes - 1)) >> (LaneW + 2);
  always_comb begin
    need = used[4] && row_ends && (!all_rows || rows_q == 16'd1);
    dma_addr_o = at_q[4];
    dma_beats_o = 32'd1;
    for (int unsigned p = 0; p < Parts - 1; p++)
      if (part_q == 3'(p)) begin
        need = used[p] && (!one[p] || first_q);
        dma_addr_o = at_q[p];
        dma_beats_o = one[p] ? 32'd1 : (p == 3 && is_byte) ? quarters : half[p] ? halves : words;
      end
  end
  assign dma_valid_o = run && rows_q != '0 && need && (part_q != '0 || !chunks_q[1]);
  assign dma_write_o = part_q >= 3'd3;
  assign dma_part_o = part_q[1:0];
  assign issue = dma_valid_o && dma_ready_i;
  assign goes_on = run && rows_q != '0 && (issue || !need);
  assign chunk_goes = issue && part_q == '0;
  assign all_done = rows_q == '0 && owed_q == '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      owed_q <= '0;
      chunks_q <= '0;
    end else begin
      owed_q <= owed_q + 5'(issue && dma_write_o) - 5'(write_done_i);
      chunks_q <= chunks_q + 2'(chunk_goes) - 2'(chunk_ends);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!run) begin
      part_q <= '0;
      rows_q <= rows;
      left_q <= n;
      first_q <= 1'b1;
    end else if (goes_on) begin
      part_q <= (part_q == Last) ? '0 : part_q + 1'b1;
      if (part_q == Last) begin
        first_q <= row_ends;
        left_q <= row_ends ? n : left_q - Chunk;
        rows_q <= rows_q - 16'(row_ends);
      end
    end
  end
  for (genvar p = 0; p < Parts; p++) begin : gen_at
    logic [AddrW-1:0] next_row;
    assign next_row = row_q[p] + (AddrW'(stride[p]) << SizeW);
    always_ff @(posedge clk_i) begin
      if (!run) begin
        at_q[p] <= addr[p];
        row_q[p] <= addr[p];
      end else if (goes_on && part_q == Last && row_ends) begin
        at_q[p] <= next_row;
        row_q[p] <= next_row;
      end else if (issue && part_q == 3'(p)) begin
        at_q[p] <= at_q[p] + (AddrW'(dma_beats_o) << SizeW);
      end
    end
  end

  // ---- operands -----------------------------------------------------------------------------------
  logic [2:0] ready, valid;
  logic [DataW-1:0] a, b, c, b_row;
  logic take, ends, unit_ready, all_valid;
  logic [31:0] b_value, c_value;
  assign b_value = addr[1][31:0];
  assign c_value = addr[2][31:0];
  assign in_ready_o = (in_part_i == 2'd0) ? ready[0] : (in_part_i == 2'd1) ? ready[1] : ready[2];
  sq_vector_operand #(.DataW(DataW), .Depth(2*ChunkBeats)) u_a (
    .clk_i, .rst_ni, .from_i(sq_pkg::VECTOR_FROM_ROW), .half_i(half[0]), .value_i(32'd0),
    .in_valid_i(in_valid_i && in_part_i == 2'd0), .in_ready_o(ready[0]), .in_data_i,
    .out_valid_o(valid[0]), .out_take_i(take), .out_end_i(ends), .out_data_o(a)
  );
  sq_vector_operand #(.DataW(DataW), .Depth(2*ChunkBeats)) u_b (
    .clk_i, .rst_ni, .from_i(b_from), .half_i(half[1]), .value_i(b_value),
    .in_valid_i(in_valid_i && in_part_i == 2'd1), .in_ready_o(ready[1]), .in_data_i,
    .out_valid_o(valid[1]), .out_take_i(take), .out_end_i(ends), .out_data_o(b_row)
  );
  sq_vector_operand #(.DataW(DataW), .Depth(2*ChunkBeats)) u_c (
    .clk_i, .rst_ni, .from_i(c_from), .half_i(half[2]), .value_i(c_value),
    .in_valid_i(in_valid_i && in_part_i == 2'd2), .in_ready_o(ready[2]), .in_data_i,
    .out_valid_o(valid[2]), .out_take_i(take), .out_end_i(ends), .out_data_o(c)
  );
  assign b = (b_from == sq_pkg::VECTOR_FROM_A) ? a : b_row;

  // ---- beats to the unit --------------------------------------------------------------------------
  // Lanes behind the end of a row get what changes no sum and no largest value.
  logic [15:0] in_rows_q;
  logic [31:0] in_left_q, fill;
  logic [3:0] in_beat_q;  // of its chunk
  logic [DataW-1:0] unit_a, unit_b, unit_c, y;
  logic [31:0] unit_red;
  logic y_valid, y_ready;
  assign ends = in_left_q <= 32'(Lanes);
  assign all_valid = &valid && run;
  assign take = all_valid && unit_ready;
  assign chunk_ends = take && (ends || in_beat_q == 4'(ChunkBeats - 1));
  assign busy_o = take;
  assign wait_o = !all_valid;
  always_comb begin
    case (f)
      sq_pkg::VECTOR_PLAIN: fill = is_sum ? 32'h00000000 : 32'hff800000;
      sq_pkg::VECTOR_EXP: fill = 32'hff800000;
      default: fill = is_sum ? 32'h7f800000 : 32'h80000000;
    endcase
  end
  for (genvar l = 0; l < Lanes; l++) begin : gen_fill
    logic here;
    assign here = in_left_q > 32'(l);
    assign unit_a[l*32 +: 32] = here ? a[l*32 +: 32] : fill;
    assign unit_b[l*32 +: 32] = here ? b[l*32 +: 32] : 32'h3f800000;
    assign unit_c[l*32 +: 32] = here ? c[l*32 +: 32] : 32'h80000000;
  end
  always_ff @(posedge clk_i) begin
    if (!run) begin
      in_rows_q <= rows;
      in_left_q <= n;
      in_beat_q <= '0;
    end else if (take) begin
      in_rows_q <= in_rows_q - 16'(ends);
      in_left_q <= ends ? n : in_left_q - 32'(Lanes);
      in_beat_q <= ends ? '0 : in_beat_q + 1'b1;
    end
  end
  sq_vector #(.Lanes(Lanes), .Cut(1)) u_unit (
    .clk_i, .rst_ni, .in_valid_i(all_valid), .in_ready_o(unit_ready), .in_f_i(f), .in_sum_i(red == sq_pkg::VECTOR_RED_SUM),
    .in_last_i(ends && (!all_rows || in_rows_q == 16'd1)), .in_a_i(unit_a), .in_b_i(unit_b), .in_c_i(unit_c),
    .out_valid_o(y_valid), .out_ready_i(y_ready), .out_y_o(y), .out_red_o(unit_red)
  );

  // ---- results ------------------------------------------------------------------------------------
  // A beat of y, of two of 16 bits, or of four of bytes; behind the end of a row, or of all, red waits for its turn.
  logic [15:0] out_rows_q;
  logic [31:0] out_left_q, base_q2, index_q, index, last_red_q, red_q;
  logic [1:0] piece_q, last_piece;  // of the beat of the bus
  logic red_valid_q, begins_q, out_ends, span_ends, word_comes, better, leaves;
  logic [DataW-1:0] kept;  // y without what lies behind the end of a row
  logic [DataW/2-1:0] halves_of;
  logic [DataW/4-1:0] bytes_of;
  logic [DataW-1:0] packed_y, held_q;
  assign out_ends = out_left_q <= 32'(Lanes);
  assign span_ends = out_ends && (!all_rows || out_rows_q == 16'd1);
  assign last_piece = is_byte ? 2'd3 : {1'b0, half[3]};
  assign word_comes = used[3] && (piece_q == last_piece || out_ends);
  assign y_ready = !red_valid_q && (!word_comes || out_ready_i);
  assign leaves = y_valid && y_ready;
  assign out_valid_o = red_valid_q || (y_valid && word_comes);
  assign out_data_o = red_valid_q ? DataW'(red_q) : half[3] ? packed_y : kept;
  always_comb begin
    packed_y = held_q;
    for (int unsigned i = 0; i < 4; i++) if (is_byte && piece_q == 2'(i)) packed_y[i*DataW/4 +: DataW/4] = bytes_of;
    for (int unsigned i = 0; i < 2; i++) if (!is_byte && piece_q == 2'(i)) packed_y[i*DataW/2 +: DataW/2] = halves_of;
  end
  for (genvar l = 0; l < Lanes; l++) begin : gen_kept
    logic [31:0] rounded;
    logic [15:0] unused_rounded, binary16;
    assign kept[l*32 +: 32] = (out_left_q > 32'(l)) ? y[l*32 +: 32] : 32'd0;
    assign rounded = kept[l*32 +: 32] + 32'h7fff + 32'(kept[l*32+16]);
    sq_fp_to_half u_half (.a_i(kept[l*32 +: 32]), .y_o(binary16));
    assign halves_of[l*16 +: 16] = y_form == sq_pkg::VECTOR_Y_BINARY16 ? binary16 : rounded[31:16];
    assign bytes_of[l*8 +: 8] = kept[l*32 +: 8];
    assign unused_rounded = rounded[15:0];
  end
  // The first element that is as large as the largest so far, where that has changed.
  assign better = begins_q || unit_red != last_red_q;
  always_comb begin
    index = index_q;
    for (int unsigned i = 0; i < Lanes; i++)
      if (better && y[(Lanes-1-i)*32 +: 32] == unit_red) index = base_q2 + 32'(Lanes - 1 - i);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      red_valid_q <= 1'b0;
      begins_q <= 1'b1;
      piece_q <= '0;
    end else begin
      if (leaves) begin
        begins_q <= span_ends;
        piece_q <= (piece_q == last_piece || out_ends) ? '0 : piece_q + 1'b1;
      end
      if (leaves && span_ends && used[4]) red_valid_q <= 1'b1;
      else if (out_ready_i) red_valid_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!run) begin
      out_rows_q <= rows;
      out_left_q <= n;
      base_q2 <= '0;
      held_q <= '0;
    end else if (leaves) begin
      held_q <= (piece_q == last_piece || out_ends) ? '0 : packed_y;
      out_rows_q <= out_rows_q - 16'(out_ends);
      out_left_q <= out_ends ? n : out_left_q - 32'(Lanes);
      base_q2 <= span_ends ? '0 : base_q2 + (out_ends ? out_left_q : 32'(Lanes));
    end
    if (leaves) begin
      last_red_q <= unit_red;
      index_q <= index;
      red_q <= (red == sq_pkg::VECTOR_RED_INDEX) ? index : unit_red;
    end
  end
  wire unused_option = ^option[31:15];

  `SQ_ASSERT_BEGIN
  `SQ_ASSERT(OperandsHavePlace, !in_valid_i || in_ready_o)
  `SQ_HELD(TransferHeld, dma_valid_o, dma_ready_i, {dma_write_o, dma_addr_o, dma_beats_o, dma_part_o})
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, out_data_o)

endmodule
