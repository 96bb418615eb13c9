// SPDX-License-Identifier: Apache-2.0
// Runs descriptors of kind attend on the chip (rtl/top/attend.md): attention of up to Heads queries that share a cache, which
// is read once. Rows in memory: queries and outputs of binary32; keys and values of codes, in front of which with INT8 a
// beat with their scale stands.
//
//   start_i    the descriptor stands at desc_i and stays; sound_i: it came whole, and no bit is set that has no name
//   done_o     for a cycle; with refused_o nothing has happened. Else the last response of memory has come.
// All that is read comes through one queue, in the order in which sq_attend takes it: queries, keys until Ahead of them wait
// for their values, a value and a key in turn, the values that are left. It is asked for while the queue has a place
// for each of its beats. The outputs are asked for last.
`include "sq_assert.svh"

module sq_top_attend #(
  parameter  int unsigned DataW = 64,  // bits of a beat of the bus, a lane for each code in it
  parameter  int unsigned Attend = 129,  // Heads + 16 IsInt8 + 32 log2(HeadDim) of sq_attend
  localparam int unsigned SizeW = $clog2(DataW / 8)
) (
  input  logic             clk_i, rst_ni,
  // descriptor
  input  logic             start_i, sound_i,
  input  logic [32*sq_regs_pkg::DESC_WORDS-1:0] desc_i,
  output logic             done_o, refused_o,
  // a beat leaves the queue; there is none in it
  output logic             busy_o, wait_o,
  // transfers
  output logic             dma_valid_o,
  input  logic             dma_ready_i,
  output logic             dma_write_o,
  output logic [sq_pkg::ADDR_W-1:0] dma_addr_o,
  output logic [31:0]      dma_beats_o,
  input  logic             write_done_i,
  // beats that were read
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [DataW-1:0] in_data_i,
  // beats of outputs
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [DataW-1:0] out_data_o
);

  localparam int unsigned AddrW = sq_pkg::ADDR_W;
  localparam int unsigned Heads = sq_pkg::field(Attend, 0, 4);
  localparam int unsigned IsInt8 = sq_pkg::field(Attend, 4, 1);
  localparam int unsigned HeadDim = 1 << sq_pkg::field(Attend, 5, 4);
  localparam int unsigned CodeW = IsInt8 != 0 ? 8 : 16;
  localparam int unsigned Lanes = DataW / CodeW;
  localparam int unsigned LaneW = $clog2(Lanes);
  localparam int unsigned Words = 32 / CodeW;  // beats of the bus of a beat of binary32
  localparam int unsigned BeatW = sq_pkg::index_w(HeadDim / Lanes);
  localparam int unsigned HeadW = sq_pkg::index_w(Heads);
  localparam int unsigned Ahead = 8;
  localparam int unsigned Chunk = 16;  // beats of a transfer that reads, at most
  localparam int unsigned Depth = 64;  // of the queue
  localparam int unsigned Parts = 4;  // q, k, v, out
  localparam logic [1:0] Query = 2'd0, Key = 2'd1, Value = 2'd2, Out = 2'd3;
  if (DataW < 32 || DataW > 512 || DataW != 8 << SizeW || Attend >= 512) begin : gen_bad
    $error("DataW = 32, 64, ... 512, Attend < 512");
  end

  // ---- the descriptor -----------------------------------------------------------------------------
  logic [15:0] queries, size, beats, keys_less, row_beats[Parts], stride[Parts];
  logic [31:0] keys;
  logic [AddrW-1:0] addr[Parts];
  logic [Parts*AddrW-1:0] addrs;
  logic [Parts*32-1:0] all_beats;
  logic run, all_done, is_sound;
  assign {size, queries} = desc_i[32*sq_regs_pkg::DESC_TILES +: 32];
  assign keys = desc_i[32*sq_regs_pkg::DESC_BLOCK +: 32];
  assign keys_less = 16'(keys - 32'd1);
  assign beats = size >> LaneW;
  assign addr[0] = sq_regs_pkg::desc_address(desc_i, sq_regs_pkg::DESC_ACT);
  assign addr[1] = sq_regs_pkg::desc_address(desc_i, sq_regs_pkg::DESC_WEIGHT);
  assign addr[2] = sq_regs_pkg::desc_address(desc_i, sq_regs_pkg::DESC_ROW_SCALE);
  assign addr[3] = sq_regs_pkg::desc_address(desc_i, sq_regs_pkg::DESC_OUT);
  assign {stride[1], stride[0]} = desc_i[32*sq_regs_pkg::DESC_BEATS +: 32];
  assign {stride[3], stride[2]} = desc_i[32*sq_regs_pkg::DESC_CHUNK +: 32];
  for (genvar p = 0; p < Parts; p++) begin : gen_region
    assign row_beats[p] = (p == 1 || p == 2) ? beats + 16'(IsInt8) : 16'(beats * 16'(Words));
    assign addrs[p*AddrW +: AddrW] = addr[p];
    assign all_beats[p*32 +: 32] = 32'(row_beats[p]);
  end
  assign is_sound = sound_i && queries != '0 && queries <= 16'(Heads) && size != '0 && size <= 16'(HeadDim) &&
                    (size & 16'(Lanes - 1)) == '0 && keys != '0 && keys <= 32'd65536;
  sq_top_check #(.DataW(DataW), .Parts(Parts)) u_check (
    .clk_i, .rst_ni, .start_i, .all_done_i(all_done), .used_i({Parts{1'b1}}), .addr_i(addrs),
    .rows_less_i({queries - 16'd1, keys_less, keys_less, queries - 16'd1}),
    .stride_i({stride[3], stride[2], stride[1], stride[0]}), .beats_i(all_beats), .run_o(run), .done_o, .refused_o,
    .sound_i(is_sound)
  );

  // ---- transfers ----------------------------------------------------------------------------------
  logic [1:0] part_q;
  logic active_q;  // some are to be asked for
  logic [15:0] heads_q, asked_q, n, left;  // queries, or outputs, to come; beats of the row
  logic [16:0] keys_q, values_q;
  logic [3:0] ahead_q;
  logic [6:0] free_q;  // places of the queue for which nothing was asked
  logic [4:0] owed_q;  // writes without their response
  logic [AddrW-1:0] row_q[Parts], row;
  logic [15:0] of_row;
  logic issue, row_ends, pop;
  always_comb begin
    {row, of_row} = {row_q[Parts-1], row_beats[Parts-1]};
    for (int unsigned p = 0; p < Parts - 1; p++) if (part_q == 2'(p)) {row, of_row} = {row_q[p], row_beats[p]};
  end
  assign left = of_row - asked_q;
  assign dma_write_o = part_q == Out;
  assign n = (dma_write_o || left < 16'(Chunk)) ? left : 16'(Chunk);
  assign row_ends = n == left;
  assign dma_valid_o = run && active_q && (dma_write_o || 16'(free_q) >= n);
  assign dma_addr_o = row + (AddrW'(asked_q) << SizeW);
  assign dma_beats_o = 32'(n);
  assign issue = dma_valid_o && dma_ready_i;
  assign all_done = !active_q && owed_q == '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) owed_q <= '0;
    else owed_q <= owed_q + 5'(issue && dma_write_o) - 5'(write_done_i);
  end
  always_ff @(posedge clk_i) begin
    if (!run) begin
      part_q <= Query;
      active_q <= 1'b1;
      heads_q <= queries;
      {keys_q, values_q} <= {2{keys[16:0]}};
      ahead_q <= '0;
      asked_q <= '0;
      free_q <= 7'(Depth);
    end else begin
      free_q <= free_q + 7'(pop) - (issue && !dma_write_o ? n[6:0] : 7'd0);
      if (issue) asked_q <= row_ends ? '0 : asked_q + n;
      if (issue && row_ends)
        case (part_q)
          Key: begin
            keys_q <= keys_q - 1'b1;
            ahead_q <= ahead_q + 1'b1;
            if (ahead_q == 4'(Ahead - 1) || keys_q == 17'd1) part_q <= Value;
          end
          Value: begin
            values_q <= values_q - 1'b1;
            ahead_q <= ahead_q - 1'b1;
            part_q <= (values_q == 17'd1) ? Out : (keys_q == '0) ? Value : Key;
          end
          default: begin
            heads_q <= (heads_q == 16'd1) ? queries : heads_q - 1'b1;
            if (heads_q == 16'd1) begin
              part_q <= Key;
              active_q <= !dma_write_o;
            end
          end
        endcase
    end
  end
  for (genvar p = 0; p < Parts; p++) begin : gen_at
    always_ff @(posedge clk_i) begin
      if (!run) row_q[p] <= addr[p];
      else if (issue && row_ends && part_q == 2'(p)) row_q[p] <= row_q[p] + (AddrW'(stride[p]) << SizeW);
    end
  end

  // ---- the queue, and what it is for the unit ------------------------------------------------------
  logic here, job_ready, told_q, q_ready, k_ready, v_ready, is_whole, has_scale;
  logic [DataW-1:0] beat;
  logic [1:0] word_q;  // of a beat of queries
  logic [(Words-1)*DataW-1:0] words_q;
  logic [15:0] scale;
  sq_fifo #(.Width(DataW), .Depth(Depth)) u_queue (
    .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .in_data_i, .out_valid_o(here), .out_ready_i(pop), .out_data_o(beat)
  );
  assign pop = here && (q_ready || k_ready || v_ready);
  assign busy_o = pop;
  assign wait_o = !here;
  assign is_whole = word_q == 2'(Words - 1);
  always_ff @(posedge clk_i) begin
    if (!run) word_q <= '0;
    else if (pop && q_ready) word_q <= is_whole ? '0 : word_q + 1'b1;
    if (pop) words_q <= ((Words-1)*DataW)'({beat, words_q} >> DataW);
    told_q <= run && (told_q || job_ready);
  end
  if (IsInt8 != 0) begin : gen_scale
    logic [BeatW-1:0] code_q;
    logic [15:0] scale_q;
    logic has_q;
    assign has_scale = has_q;
    assign scale = scale_q;
    always_ff @(posedge clk_i) begin
      if (pop && !has_q) scale_q <= beat[15:0];
      if (!run) {has_q, code_q} <= '0;
      else if (pop && !q_ready) begin
        has_q <= !has_q || code_q != BeatW'(beats - 16'd1);
        if (has_q) code_q <= (code_q == BeatW'(beats - 16'd1)) ? '0 : code_q + 1'b1;
      end
    end
  end else begin : gen_no_scale
    assign has_scale = 1'b1;
    assign scale = '0;
  end

  logic y_valid;
  logic [1:0] out_word_q;
  logic [Lanes*32-1:0] y;
  sq_attend #(.Lanes(Lanes), .Heads(Heads), .HeadDim(HeadDim), .Ahead(Ahead), .IsInt8(IsInt8)) u_unit (
    .clk_i, .rst_ni, .job_valid_i(run && !told_q), .job_ready_o(job_ready), .job_keys_i(keys_less),
    .job_beats_i(BeatW'(beats - 16'd1)), .job_heads_i(HeadW'(queries - 16'd1)),
    .q_valid_i(here && is_whole), .q_ready_o(q_ready), .q_x_i({beat, words_q}),
    .k_valid_i(here && has_scale), .k_ready_o(k_ready), .k_x_i(beat), .k_scale_i(scale),
    .v_valid_i(here && has_scale), .v_ready_o(v_ready), .v_x_i(beat), .v_scale_i(scale),
    .out_valid_o(y_valid), .out_ready_i(out_ready_i && out_word_q == 2'(Words - 1)), .out_y_o(y)
  );
  assign out_valid_o = y_valid;
  always_comb begin
    out_data_o = y[DataW-1:0];
    for (int unsigned w = 1; w < Words; w++) if (out_word_q == 2'(w)) out_data_o = y[w*DataW +: DataW];
  end
  always_ff @(posedge clk_i) begin
    if (!run) out_word_q <= '0;
    else if (out_valid_o && out_ready_i) out_word_q <= (out_word_q == 2'(Words - 1)) ? '0 : out_word_q + 1'b1;
  end

  `SQ_ASSERT_BEGIN
  `SQ_ASSERT(BeatsHavePlace, !in_valid_i || in_ready_o)
  `SQ_HELD(TransferHeld, dma_valid_o, dma_ready_i, {dma_write_o, dma_addr_o, dma_beats_o})
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, out_data_o)

endmodule
