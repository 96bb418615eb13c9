// SPDX-License-Identifier: Apache-2.0
// Runs a layer: fetches its descriptor, looks at it, walks its blocks (sq_block_walk), and says what the
// DMA moves and what buffers and engine work on.
//
//   fetch   the descriptor, by a transfer of its own to DestDescriptor. One that came with an error, has bits
//           without a name that are not 0, or asks for what does not fit into the buffers or below 2^ADDR_W, is
//           refused: refused_o with done_o, and nothing else happens.
//   loads   for each step (a chunk of K of a block) its activations, scales of rows, weights, scales of columns,
//           as far as the step before had others; behind the last chunk the store of the block.
//   jobs    for each step one to every buffer and the engine, each taken when it is ready for it. An
//           operand that the next step has too is kept. A step that is not the first of its block also has a job
//           for the buffer of sums.
//   done_o  for a cycle, when the last store has its response.
//   encode, vector, attend  a descriptor of these kinds goes to sq_encode, sq_top_vector or sq_top_attend, which looks at it itself and does all.
// A buffer gets the loads of the next block while a job reads its other half. A load that waits for room,
// and a store that waits for the one before it, wait for jobs whose own loads and stores are before them
// in the DMA's order; so nothing waits for ever.
`include "sq_assert.svh"

module sq_sequencer #(
  parameter  int unsigned DataW = 64,
  // beats in half a buffer, of each operand
  parameter  int unsigned ActDepth = 256,
  parameter  int unsigned RowDepth = 256,
  parameter  int unsigned WeightDepth = 256,
  parameter  int unsigned ColDepth = 256,
  parameter  int unsigned SumTiles = 16,  // tiles of outputs in half the buffer of sums
  // bytes of a beat of each operand, and of a tile of outputs
  parameter  int unsigned ActBytes = 8,
  parameter  int unsigned RowBytes = 8,
  parameter  int unsigned WeightBytes = 8,
  parameter  int unsigned ColBytes = 8,
  parameter  int unsigned OutBytes = 8,
  parameter  int unsigned ScaleOnce = 0,  // 1: a tile of columns has a beat of scales, not each of its scale groups
  parameter  int unsigned Encode = 0,  // 1: there is one
  parameter  int unsigned Vector = 0,  // likewise
  parameter  int unsigned Attend = 0,  // likewise
  parameter  int unsigned PartGroups = 2,  // chunks that are parts of a group: 0 none, 1 of layers of one group, 2 of any
  parameter  int unsigned Indexed = 0,  // 1: a block of weights is BEATS.GROUPS beats, and an index says what is of which column
  localparam int unsigned SizeW = $clog2(DataW / 8)
) (
  input  logic             clk_i, rst_ni,
  // the layer
  input  logic             start_i,  // only while none runs
  input  logic [sq_pkg::ADDR_W-1:0] descriptor_i,
  output logic             done_o, refused_o,
  output logic             notice_o,  // its descriptor wants an interrupt behind it
  // sq_encode, sq_top_vector, sq_top_attend: a descriptor for it, from encode_o, vector_o or attend_o on until it has ended (away_o); sound: it came
  // whole, no other bit is set
  output logic             encode_o, encode_sound_o, vector_o, vector_sound_o,
  output logic             attend_o, attend_sound_o, away_o,
  output logic [32*sq_regs_pkg::DESC_WORDS-1:0] desc_o,
  input  logic             away_done_i, away_refused_i,
  // transfers of the DMA; destinations are those of sq_top
  output logic             dma_valid_o,
  input  logic             dma_ready_i,
  output logic             dma_first_o,
  output logic             dma_write_o,
  output logic [sq_pkg::ADDR_W-1:0] dma_addr_o,
  output logic [31:0]      dma_beats_o,
  output logic [2:0]       dma_dest_o,
  output logic [SizeW-1:0] dma_tail_o,  // bytes that count of its last beat, 0: all
  input  logic             write_done_i,
  // beats of the descriptor
  input  logic             in_valid_i,
  input  logic [DataW-1:0] in_data_i,
  input  logic             in_poison_i, in_last_i,
  // jobs: of the buffers (act, row scale, weight, column scale), of the engine, of the sums
  output logic [5:0]       job_valid_o,
  input  logic [5:0]       job_ready_i,
  output logic [15:0]      job_rows_o, job_cols_o, job_tiles_o,
  output logic [15:0]      job_beats_o,  // of a scale group
  output logic [15:0]      job_groups_o, job_tile_beats_o,
  output logic [15:0]      job_scale_beats_o,  // of a tile
  output logic             job_keep_rows_o, job_keep_row_scale_o, job_keep_cols_o,
  output logic             job_keep_col_scale_o,
  output logic             job_first_o,  // chunk of its block
  output logic             job_last_o,
  output logic [1:0]       job_part_o  // it goes on with a scale group [0], that goes on behind it [1]
);

  localparam int unsigned DescW = 32 * sq_regs_pkg::DESC_WORDS;
  localparam int unsigned DescBytes = DescW / 8;
  localparam int unsigned AddrW = sq_pkg::ADDR_W;
  localparam logic [AddrW-1:0] MemoryBeats = AddrW'(1) << (AddrW - SizeW);
  if (DataW != 8 << SizeW || DataW > DescW || DataW < 16 || SumTiles > 65535) begin : gen_bad
    $error("DataW = 16, 32, 64, ... 512, SumTiles = 0..65535");
  end
  if (ActDepth < 2 || ActDepth > 65535 || RowDepth < 2 || RowDepth > 65535 || WeightDepth < 2 ||
      WeightDepth > 65535 || ColDepth < 2 || ColDepth > 65535) begin : gen_bad_depth
    $error("half a buffer holds 2..65535 beats");
  end
  if (ActBytes < 1 || ActBytes > 65535 || RowBytes < 1 || RowBytes > 65535 || WeightBytes < 1 ||
      WeightBytes > 65535 || ColBytes < 1 || ColBytes > 65535 || OutBytes < 1 || OutBytes > 65535) begin : gen_bad_bytes
    $error("a beat of an operand and a tile of outputs are 1..65535 bytes");
  end
  localparam logic [2:0] DestDescriptor = 3'd4, Store = 3'd4;

  typedef enum logic [2:0] {IDLE, ASK, FETCH, CHECK, RUN, AWAY} state_e;
  state_e state_q;
  logic last_check, all_done, sound_q;
  logic [4:0] check_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= IDLE;
    else
      case (state_q)
        IDLE: if (start_i) state_q <= ASK;
        ASK: if (dma_ready_i) state_q <= FETCH;
        FETCH: if (in_valid_i && in_last_i) state_q <= CHECK;
        CHECK: if (encode_o || vector_o || attend_o) state_q <= AWAY;
               else if (last_check) state_q <= sound_q ? RUN : IDLE;
        AWAY: if (away_done_i) state_q <= IDLE;
        default: if (all_done) state_q <= IDLE;
      endcase
  end
  assign away_o = state_q == AWAY;
  assign refused_o = (last_check && !sound_q) || (away_o && away_refused_i);
  assign done_o = (last_check && !sound_q) || (state_q == RUN && all_done) || (away_o && away_done_i);

  // ---- the descriptor -----------------------------------------------------------------------------
  logic [DescW-1:0] desc_q;
  logic [31:0] kind;
  logic [AddrW-1:0] at_q, act, row_scale, weight, col_scale, out;
  logic [15:0] rows, cols, row_block, col_block, beats, groups, chunk, part_beats;
  logic [15:0] k_beats, weight_tiles;  // beats that a group of the walk has; tiles of weights, or their blocks
  logic cols_outer, is_part;
  assign kind = desc_q[sq_regs_pkg::DESC_KIND*32 +: 32];
  assign act = sq_regs_pkg::desc_address(desc_q, sq_regs_pkg::DESC_ACT);
  assign weight = sq_regs_pkg::desc_address(desc_q, sq_regs_pkg::DESC_WEIGHT);
  assign row_scale = sq_regs_pkg::desc_address(desc_q, sq_regs_pkg::DESC_ROW_SCALE);
  assign col_scale = sq_regs_pkg::desc_address(desc_q, sq_regs_pkg::DESC_COL_SCALE);
  assign out = sq_regs_pkg::desc_address(desc_q, sq_regs_pkg::DESC_OUT);
  assign {cols, rows} = desc_q[sq_regs_pkg::DESC_TILES*32 +: 32];
  assign {col_block, row_block} = desc_q[sq_regs_pkg::DESC_BLOCK*32 +: 32];
  assign {groups, beats} = desc_q[sq_regs_pkg::DESC_BEATS*32 +: 32];
  assign {part_beats, chunk} = desc_q[sq_regs_pkg::DESC_CHUNK*32 +: 32];
  assign is_part = Indexed == 0 && part_beats != '0;
  assign k_beats = Indexed != 0 ? 16'd1 : beats;
  assign weight_tiles = Indexed != 0 ? part_beats : cols;
  assign cols_outer = kind[sq_regs_pkg::DESC_KIND_COLS_OUTER_LOW];
  assign notice_o = kind[sq_regs_pkg::DESC_KIND_NOTICE_LOW];
  assign desc_o = desc_q;
  assign encode_o = Encode != 0 && state_q == CHECK && 32'(kind[15:0]) == sq_regs_pkg::DESC_KIND_ENCODE;
  assign encode_sound_o = sound_q && (desc_q & ~sq_regs_pkg::DESC_ENCODE_NAMED) == '0;
  assign vector_o = Vector != 0 && state_q == CHECK && 32'(kind[15:0]) == sq_regs_pkg::DESC_KIND_VECTOR;
  assign vector_sound_o = sound_q && (desc_q & ~sq_regs_pkg::DESC_VECTOR_NAMED) == '0;
  assign attend_o = Attend != 0 && state_q == CHECK && 32'(kind[15:0]) == sq_regs_pkg::DESC_KIND_ATTEND;
  assign attend_sound_o = sound_q && (desc_q & ~sq_regs_pkg::DESC_ATTEND_NAMED) == '0;

  always_ff @(posedge clk_i) begin
    if (start_i) at_q <= descriptor_i;
    if (state_q == FETCH && in_valid_i) desc_q <= DescW'({in_data_i, desc_q} >> DataW);
  end

  // What it must be: a layer, no count of 0, whole beats of the bus; then, a product in each cycle, the beats
  // of a chunk of a tile and all of it, the tiles of a job, of which there is no more than sums have room where there
  // are several chunks, the blocks of all operands; last, where each region ends, were each of its beats on beats of
  // the bus of its own. The beats of a tile, of 32 bits, are multiplied in two halves. A product is looked at two
  // cycles behind its factors, a region three cycles; the verdict stands in sound_q at last.
  localparam logic [4:0] TileBeats = 5'd0, AllBeats = 5'd1, JobTiles = 5'd2, ColScales = 5'd3, Acts = 5'd4, Weights = 5'd5,
                         EndOut = 5'd6, EndRowScale = 5'd7, EndColScale = 5'd8, EndAct = 5'd9,
                         EndActHigh = 5'd10, EndWeight = 5'd11, EndWeightHigh = 5'd12, Last = 5'd16;
  logic counts, aligned, fits, is_high_half, is_far;
  logic [4:0] of_factors, of_product, of_region;  // the factors, product, region that are looked at
  logic [31:0] product_q, all_beats_q;
  logic [AddrW-1:0] base_q, span_low, room_q;  // room: beats of the bus behind a region's begin, or its low half
  logic [AddrW:0] left;  // behind its end; the high bit: it ends beyond memory
  logic [47:0] span_q;  // bytes of a transfer, beats of the bus of a region
  logic [15:0] tile_beats_q;  // of a chunk
  assign of_factors = check_q - 5'd1;
  assign of_product = check_q - 5'd2;
  assign of_region = check_q - 5'd3;
  assign counts = rows != '0 && cols != '0 && row_block != '0 && col_block != '0 && beats != '0 && groups != '0 &&
                  chunk != '0 && chunk <= groups &&
                  (Indexed != 0 ? 32'(col_block) <= 32'(ColDepth) : 32'(row_block) <= 32'(RowDepth)) &&
                  (Indexed == 0 || (row_block == 16'd1 && part_beats != '0)) &&
                  (!is_part || (chunk == 16'd1 && part_beats < beats &&
                               (PartGroups > 1 || (PartGroups == 1 && groups == 16'd1))));
  assign aligned = (act[SizeW-1:0] | row_scale[SizeW-1:0] | weight[SizeW-1:0] | col_scale[SizeW-1:0] |
                    out[SizeW-1:0]) == '0;
  always_comb begin
    case (of_product)
      TileBeats: fits = product_q <= 32'd65535;
      JobTiles: fits = Indexed != 0 ? product_q >= 32'(cols) : product_q <= (chunk == groups && !is_part ? sq_regs_pkg::DESC_JOB_TILES : 32'(SumTiles));
      ColScales: fits = Indexed != 0 ? product_q < 32'(cols) : product_q <= 32'(ColDepth);
      Acts: fits = product_q <= 32'(ActDepth);
      Weights: fits = product_q <= 32'(WeightDepth);
      default: fits = of_region < EndOut || of_region > EndWeightHigh || (!is_far && !left[AddrW]);
    endcase
  end
  assign is_high_half = of_region == EndActHigh || of_region == EndWeightHigh;
  assign is_far = is_high_half && span_q[47:32] != '0;
  assign span_low = is_high_half ? {span_q[31:0], 16'd0} : span_q;
  // In two halves, of which the high one is there with and without what the low one borrows.
  localparam int unsigned HalfW = AddrW / 2;
  logic [HalfW:0] left_low, left_high, left_less;
  assign left_low = (HalfW+1)'(room_q[HalfW-1:0]) - (HalfW+1)'(span_low[HalfW-1:0]);
  assign left_high = (HalfW+1)'(room_q[AddrW-1:HalfW]) - (HalfW+1)'(span_low[AddrW-1:HalfW]);
  assign left_less = (HalfW+1)'(room_q[AddrW-1:HalfW]) - (HalfW+1)'(span_low[AddrW-1:HalfW]) - 1'b1;
  assign left = {left_low[HalfW] ? left_less : left_high, left_low[HalfW-1:0]};
  assign last_check = state_q == CHECK && check_q == Last;

  always_ff @(posedge clk_i) begin
    if (state_q == ASK) sound_q <= at_q[SizeW-1:0] == '0 && at_q <= AddrW'(0) - AddrW'(DescBytes);
    else if (state_q == FETCH && in_valid_i) sound_q <= sound_q && !in_poison_i;
    else if (state_q == CHECK)
      sound_q <= sound_q && fits && counts && aligned &&
                 32'(kind[15:0]) == sq_regs_pkg::DESC_KIND_VALUE && (desc_q & ~sq_regs_pkg::DESC_NAMED) == '0;
    check_q <= (state_q == CHECK) ? check_q + 1'b1 : '0;
    if (state_q == CHECK && of_product == TileBeats) tile_beats_q <= product_q[15:0];
    if (state_q == CHECK && of_product == AllBeats) all_beats_q <= product_q;
    room_q <= (of_region == EndAct || of_region == EndWeight) ? left[AddrW-1:0] : MemoryBeats - (base_q >> SizeW);
  end

  // ---- loads and stores ---------------------------------------------------------------------------
  // The transfer that is looked at: 0..3 the operands, as DMA destinations, 4 its store; its length takes three cycles:
  // factors, product, bytes; the first one is ready when the checks end. part: the same, or the region that is checked.
  logic [2:0] kind_q, part, part_q;
  logic [1:0] looked_q;
  logic transfer_q, need, issue, looked_at, is_first, is_new;
  logic load_active, rows_new, cols_new, rows_first, cols_first, chunk_first, chunk_last, step;
  logic [15:0] load_rows, load_cols, load_groups, load_beats;
  logic [1:0] unused_load;
  logic group_first, unused_last;
  assign step = state_q == RUN && load_active && looked_at && kind_q == Store;

  sq_block_walk u_load (
    .clk_i, .rst_ni, .cols_outer_i(cols_outer), .rows_i(rows), .cols_i(cols), .row_block_i(row_block),
    .col_block_i(col_block), .groups_i(groups), .beats_i(all_beats_q), .group_chunk_i(chunk),
    .beat_chunk_i(tile_beats_q), .part_i(is_part), .group_beats_i(beats),
    .start_i(state_q == CHECK), .some_i(last_check && sound_q), .advance_i(step), .active_o(load_active),
    .rows_o(load_rows), .cols_o(load_cols), .rows_first_o(rows_first), .cols_first_o(cols_first),
    .rows_new_o(rows_new), .cols_new_o(cols_new), .rows_keep_o(unused_load[0]), .cols_keep_o(unused_load[1]),
    .groups_o(load_groups), .beats_o(load_beats), .chunk_first_o(chunk_first), .chunk_last_o(chunk_last),
    .group_first_o(group_first), .group_last_o(unused_last)
  );
  logic [15:0] factor_a, factor_b, factor_a_q, factor_b_q;
  logic [15:0] nbytes, ratio, of_beat;  // of a beat; beats of the bus that it needs
  logic [AddrW:0] pointer_q[5], pointed, next;  // behind what was moved last: bits 47..32, a carry into them, 31..0
  logic [AddrW-1:0] start_q[4];  // the first chunk of the block at hand
  logic [AddrW-1:0] pointer, start, addr, here_q;  // here: addr, a cycle old
  logic [31:0] length;  // of a transfer
  logic [SizeW-1:0] round;

  assign issue = state_q == RUN && need && looked_q == 2'd3 && (!transfer_q || dma_ready_i);
  assign looked_at = issue || !need;
  always_comb begin
    part = kind_q;
    if (state_q == CHECK)
      case (of_factors)
        EndOut: part = Store;
        EndRowScale: part = 3'd1;
        EndColScale: part = 3'd3;
        EndWeight, EndWeightHigh: part = 3'd2;
        default: part = 3'd0;
      endcase
  end
  always_comb begin
    need = load_active && (Indexed != 0 ? rows_new && chunk_first : rows_new || !(chunk_first && chunk_last));
    is_first = rows_first;
    is_new = rows_new;
    pointed = pointer_q[0];
    start = start_q[0];
    factor_a = load_rows;
    factor_b = Indexed != 0 ? beats : load_beats;
    case (kind_q)
      3'd0: ;
      3'd1: begin
        need = load_active && rows_new && chunk_first;
        pointed = pointer_q[1];
        start = start_q[1];
        factor_b = 16'd1;
      end
      3'd2: begin
        need = load_active && (cols_new || !(chunk_first && chunk_last));
        is_first = cols_first;
        is_new = cols_new;
        pointed = pointer_q[2];
        start = start_q[2];
        factor_a = Indexed != 0 ? 16'd1 : load_cols;
        factor_b = load_beats;
      end
      3'd3: begin
        need = load_active && (ScaleOnce != 0 ? cols_new && chunk_first :
                               group_first && (cols_new || !(chunk_first && chunk_last)));
        is_first = cols_first;
        is_new = cols_new;
        pointed = pointer_q[3];
        start = start_q[3];
        factor_a = load_cols;
        factor_b = ScaleOnce != 0 ? 16'd1 : load_groups;
      end
      default: begin
        need = load_active && (Indexed != 0 ? chunk_first : chunk_last);
        is_first = 1'b0;
        is_new = 1'b1;
        pointed = pointer_q[4];
        factor_b = load_cols;
      end
    endcase
    if (state_q == CHECK)
      case (check_q)
        TileBeats: {factor_a, factor_b} = {is_part ? part_beats : k_beats, chunk};
        AllBeats: {factor_a, factor_b} = {k_beats, groups};
        JobTiles: {factor_a, factor_b} = {Indexed != 0 ? part_beats : row_block, col_block};
        ColScales: {factor_a, factor_b} = {col_block, Indexed != 0 ? part_beats - 1'b1 : ScaleOnce != 0 ? 16'd1 : chunk};
        Acts: {factor_a, factor_b} = {Indexed != 0 ? beats : tile_beats_q, row_block};
        Weights: {factor_a, factor_b} = {tile_beats_q, Indexed != 0 ? 16'd1 : col_block};
        EndOut: {factor_a, factor_b} = {rows, cols};
        EndRowScale: {factor_a, factor_b} = {rows, 16'd1};
        EndColScale: {factor_a, factor_b} = {cols, ScaleOnce != 0 ? 16'd1 : groups};
        EndAct: {factor_a, factor_b} = {rows, Indexed != 0 ? beats : all_beats_q[15:0]};
        EndActHigh: {factor_a, factor_b} = {rows, Indexed != 0 ? 16'd0 : all_beats_q[31:16]};
        EndWeight: {factor_a, factor_b} = {weight_tiles, all_beats_q[15:0]};
        EndWeightHigh: {factor_a, factor_b} = {weight_tiles, all_beats_q[31:16]};
        default: ;  // of the first transfer
      endcase
  end
  always_ff @(posedge clk_i) begin
    part_q <= part;
    case (part)
      3'd0: base_q <= act;
      3'd1: base_q <= row_scale;
      3'd2: base_q <= weight;
      3'd3: base_q <= col_scale;
      default: base_q <= out;
    endcase
  end
  always_comb begin
    case (part_q)
      3'd0: {nbytes, ratio} = {16'(ActBytes), 16'(sq_pkg::ceil_div(ActBytes, DataW / 8))};
      3'd1: {nbytes, ratio} = {16'(RowBytes), 16'(sq_pkg::ceil_div(RowBytes, DataW / 8))};
      3'd2: {nbytes, ratio} = {16'(WeightBytes), 16'(sq_pkg::ceil_div(WeightBytes, DataW / 8))};
      3'd3: {nbytes, ratio} = {16'(ColBytes), 16'(sq_pkg::ceil_div(ColBytes, DataW / 8))};
      default: {nbytes, ratio} = {16'(OutBytes), 16'(sq_pkg::ceil_div(OutBytes, DataW / 8))};
    endcase
  end
  assign of_beat = state_q == CHECK && check_q != Last ? ratio : nbytes;
  assign round = state_q == CHECK && check_q != Last ? '0 : '1;  // up to whole beats of the bus
  assign length = 32'(span_q >> SizeW);
  always_ff @(posedge clk_i) begin
    {factor_a_q, factor_b_q} <= {factor_a, factor_b};
    product_q <= 32'(factor_a_q) * 32'(factor_b_q);
    span_q <= 48'(product_q) * 48'(of_beat) + 48'(round);
    here_q <= addr;
  end
  // The first chunk of a block lies where this block's chunks begin, or behind the block before it.
  assign addr = !chunk_first && kind_q != Store ? pointer : is_first ? base_q : is_new ? pointer : start;
  // A transfer has less than 4 GiB. The carry out of the low half is added when the pointer is looked at.
  assign next = {here_q[AddrW-1:32], 33'(here_q[31:0]) + (33'(length) << SizeW)};
  assign pointer = {pointed[AddrW:33] + (AddrW-32)'(pointed[32]), pointed[31:0]};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) transfer_q <= 1'b0;
    else if (state_q == RUN) transfer_q <= issue || (transfer_q && !dma_ready_i);
  end
  always_ff @(posedge clk_i) begin
    if (state_q != RUN) begin
      kind_q <= 3'd0;
      looked_q <= 2'd3;
      pointer_q[4] <= {out[AddrW-1:32], 1'b0, out[31:0]};
    end else if (!looked_at) begin
      if (looked_q != 2'd3) looked_q <= looked_q + 1'b1;
    end else begin
      kind_q <= (kind_q == Store) ? 3'd0 : kind_q + 1'b1;
      looked_q <= 2'd0;
      if (need) begin
        case (kind_q)
          3'd0: begin
            pointer_q[0] <= next;
            if (chunk_first) start_q[0] <= here_q;
          end
          3'd1: begin
            pointer_q[1] <= next;
            if (chunk_first) start_q[1] <= here_q;
          end
          3'd2: begin
            pointer_q[2] <= next;
            if (chunk_first) start_q[2] <= here_q;
          end
          3'd3: begin
            pointer_q[3] <= next;
            if (chunk_first) start_q[3] <= here_q;
          end
          default: pointer_q[4] <= next;
        endcase
      end
    end
  end

  // The transfer that is shown.
  logic write_q;
  logic [2:0] dest_q;
  logic [AddrW-1:0] addr_q;
  logic [31:0] beats_q;
  logic [SizeW-1:0] tail_q;
  always_ff @(posedge clk_i) begin
    if (issue) begin
      write_q <= kind_q == Store;
      dest_q <= kind_q;
      addr_q <= here_q;
      beats_q <= length;
      tail_q <= span_q[SizeW-1:0] + 1'b1;
    end
  end
  assign dma_valid_o = state_q == ASK || transfer_q;
  assign dma_first_o = state_q == ASK;
  assign dma_write_o = state_q != ASK && write_q;
  assign dma_addr_o = (state_q == ASK) ? {at_q[AddrW-1:SizeW], SizeW'(0)} : addr_q;
  assign dma_beats_o = (state_q == ASK) ? 32'(DescW / DataW) : beats_q;
  assign dma_dest_o = (state_q == ASK) ? DestDescriptor : dest_q;
  assign dma_tail_o = (state_q == ASK) ? '0 : tail_q;

  logic [4:0] owed_q;  // stores without their response
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) owed_q <= '0;
    else owed_q <= owed_q + 5'(issue && kind_q == Store) - 5'(write_done_i);
  end
  assign all_done = !load_active && owed_q == '0;

  // ---- jobs ---------------------------------------------------------------------------------------
  logic job_active, next_job, keep_rows, keep_cols, job_first, job_last, job_group_first, job_group_last;
  logic [15:0] job_rows, job_cols, job_groups, job_tile_beats;
  logic [15:0] job_tiles_q;  // of the job that comes next; two cycles lie between jobs, and the first is known in the checks
  logic [1:0] unused_first, unused_job;
  logic [5:0] pending_q;
  assign next_job = state_q == RUN && job_active && pending_q == '0;

  sq_block_walk u_job (
    .clk_i, .rst_ni, .cols_outer_i(cols_outer), .rows_i(rows), .cols_i(cols), .row_block_i(row_block),
    .col_block_i(col_block), .groups_i(groups), .beats_i(all_beats_q), .group_chunk_i(chunk),
    .beat_chunk_i(tile_beats_q), .part_i(is_part), .group_beats_i(beats),
    .start_i(state_q == CHECK), .some_i(last_check && sound_q), .advance_i(next_job), .active_o(job_active),
    .rows_o(job_rows), .cols_o(job_cols), .rows_first_o(unused_first[0]), .cols_first_o(unused_first[1]),
    .rows_new_o(unused_job[0]), .cols_new_o(unused_job[1]), .rows_keep_o(keep_rows), .cols_keep_o(keep_cols),
    .groups_o(job_groups), .beats_o(job_tile_beats), .chunk_first_o(job_first), .chunk_last_o(job_last),
    .group_first_o(job_group_first), .group_last_o(job_group_last)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pending_q <= '0;
    else if (!next_job) pending_q <= pending_q & ~job_ready_i;
    else if (Indexed != 0) pending_q <= {1'b0, job_first, job_first, 1'b1, job_first, job_first};
    else pending_q <= {!job_first, 5'b11111};
  end
  always_ff @(posedge clk_i) begin
    job_tiles_q <= 16'(32'(job_rows) * 32'(job_cols));
    if (next_job) begin
      job_rows_o <= job_rows;
      job_cols_o <= job_cols;
      job_tiles_o <= job_tiles_q;
      job_groups_o <= job_groups;
      job_tile_beats_o <= job_tile_beats;
      job_keep_rows_o <= keep_rows && (Indexed != 0 || (job_first && job_last));
      job_keep_row_scale_o <= keep_rows || (Indexed == 0 && !job_last);
      job_keep_cols_o <= keep_cols && job_first && job_last;
      job_keep_col_scale_o <= ScaleOnce != 0 ? keep_cols || (Indexed == 0 && !job_last) :
                              !job_group_last || (keep_cols && job_first && job_last);
      job_first_o <= job_first;
      job_last_o <= job_last;
      job_part_o <= {!job_group_last, !job_group_first};
    end
  end
  assign job_valid_o = pending_q;
  assign job_beats_o = is_part ? job_tile_beats_o : beats;
  assign job_scale_beats_o = ScaleOnce != 0 ? 16'd1 : job_groups_o;

  wire unused_bits = ^{unused_load, unused_job, unused_first, unused_last};

  `SQ_ASSERT_BEGIN
  `SQ_HELD(TransferHeld, dma_valid_o, dma_ready_i, {dma_first_o, dma_write_o, dma_addr_o, dma_beats_o, dma_dest_o,
           dma_tail_o})
  `SQ_ASSERT(StartWhenIdle, !start_i || state_q == IDLE)
  `SQ_ASSERT(ResponseOfStore, !write_done_i || owed_q != '0)

endmodule
