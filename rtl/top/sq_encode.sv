// SPDX-License-Identifier: Apache-2.0
// Encodes activations on the chip: outputs of one layer, bfloat16 in memory, become codes and scales that the next layer
// reads (README.md beside this file). INT8 with one scale a token, amax / 127; with IsDynamic banks of low and high codes,
// each with a scale a token (sq_encode_dynamic); or, with IsScaled, blocks as sq_act_blocks makes them, of elements over
// a power of two above the blocks of a token where their scales are E4M3 (sq_encode_power).
//
//   regions    a tile of rows begins a beat of the bus in each of the three, and lies there in one piece:
//              out        cols tiles of [Rows][Cols] bfloat16, which are read
//              act        beats banks of [Rows][BankLen] codes, zeros behind the last column; IsDynamic: beats as
//                         sq_encode_dynamic makes them; IsScaled: blocks of [Rows] lines as sq_top_scaled has them
//              row_scale  [Rows] binary32, twice where high elements have a scale of their own
// With codes_i (CanMove) the outputs are INT8 codes, whose scale stands in memory: they go to act as they are, and
// nothing is written to row_scale, whose address is 0.
//
//   start_i    the descriptor stands at the inputs and stays; sound_i: it came whole, and no bit is set that has no name
//   done_o     for a cycle; with refused_o nothing has happened. Behind the last response of memory else.
// A tile of rows is read twice: for the largest magnitude of each row (IsDynamic: and the largest that is not high), then
// for the codes. Lanes elements of a row come a cycle. An element that is no number counts as 0 and raises error_o.
`include "sq_assert.svh"

module sq_encode #(
  parameter  int unsigned DataW = 64,  // bits of a beat of the bus
  parameter  int unsigned Rows = 2,  // of a tile
  parameter  int unsigned Cols = 4,
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned Lanes = 1,  // divides Cols and the elements of a beat of the bus
  parameter  bit          CanMove = 1'b0,  // codes_i may be 1
  parameter  bit          IsDynamic = 1'b0,  // HighPerBank codes of a bank have HighW bits, the others LowW
  parameter  int unsigned LowW = 4,
  parameter  int unsigned HighW = 8,
  parameter  bit          IsScaled = 1'b0,  // blocks, as those below say (sq_pkg::encodes)
  parameter  int unsigned HighPerBank = 0,
  parameter  int unsigned High = sq_pkg::HIGH_SPLIT,
  parameter  int unsigned Element = sq_pkg::ELEMENT_E2M1,
  parameter  int unsigned Scale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned Choose = sq_pkg::CHOOSE_LARGEST,
  localparam int unsigned SizeW = $clog2(DataW / 8)
) (
  input  logic             clk_i, rst_ni,
  // descriptor
  input  logic             start_i, sound_i, codes_i,
  input  logic [sq_pkg::ADDR_W-1:0] from_i, act_i, row_scale_i,
  input  logic [15:0]      rows_i,  // tiles
  input  logic [15:0]      cols_i, beats_i,
  output logic             done_o, refused_o, error_o,
  // transfers
  output logic             dma_valid_o,
  input  logic             dma_ready_i,
  output logic             dma_write_o,
  output logic [sq_pkg::ADDR_W-1:0] dma_addr_o,
  output logic [31:0]      dma_beats_o,
  output logic [SizeW-1:0] dma_tail_o,
  input  logic             write_done_i,
  // beats of the outputs
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [DataW-1:0] in_data_i,
  input  logic [SizeW-1:0] in_tail_i,
  input  logic             in_last_i,
  // beats of codes and scales
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [DataW-1:0] out_data_o
);

  localparam int unsigned AddrW = sq_pkg::ADDR_W;
  localparam int unsigned Parts = (IsDynamic || (IsScaled && HighPerBank > 0 && High == sq_pkg::HIGH_OWN)) ? 2 : 1;
  localparam int unsigned MagW = 15;
  localparam int unsigned ElementW = IsDynamic ? MagW + HighW + LowW : IsScaled ? 16 : 8;  // of what waits for its bank
  localparam int unsigned LineW =
      IsDynamic ? (BankLen - HighPerBank) * LowW + HighPerBank * HighW + BankLen :
      IsScaled ? sq_pkg::scaled_line_w(BankLen, HighPerBank, High, Element, Scale) : BankLen * 8;
  localparam int unsigned ActW = sq_pkg::ceil_div(Rows * LineW, 8) * 8;
  localparam int unsigned LastByte = DataW / 8 - 1;
  localparam int unsigned ActBytes = ActW / 8;
  localparam int unsigned TileBytes = Rows * Cols * 2;
  localparam int unsigned RowBeats = sq_pkg::ceil_div(Rows * Parts * 4, DataW / 8);
  if (IsScaled && !sq_pkg::encodes(HighPerBank, High, Element, Scale, Choose)) begin : gen_bad_format
    $error("no encoder of such blocks");
  end
  if ((IsScaled || IsDynamic) && CanMove) begin : gen_bad_move
    $error("codes that move are INT8");
  end
  if (IsScaled && IsDynamic) begin : gen_bad_kind
    $error("blocks have no codes of LowW bits");
  end
  if (Lanes < 1 || Cols % Lanes != 0 || DataW % (16 * Lanes) != 0) begin : gen_bad
    $error("Lanes divides Cols and DataW / 16");
  end

  // ---- the descriptor -----------------------------------------------------------------------------
  // The product of rows and the beats of a tile of rows, of each region in turn, a bit a cycle.
  typedef enum logic [1:0] {IDLE, CHECK, RUN} state_e;
  state_e state_q;
  logic [5:0] check_q;
  logic [31:0] stride_q[3];  // beats of the bus of a tile of rows
  logic [SizeW-1:0] tail_q;
  logic [47:0] product_q, product;
  logic [31:0] stride;
  logic [AddrW-1:0] base;
  logic good_q, fits, last_check, all_done;
  logic [47:0] from_nbytes, act_nbytes;
  logic is_codes;
  assign is_codes = CanMove && codes_i;
  assign from_nbytes = 48'(cols_i) * (is_codes ? 48'(Rows * Cols) : 48'(TileBytes));
  assign act_nbytes = 48'(beats_i) * 48'(ActBytes);

  always_comb begin
    case (check_q[5:4])
      2'd0: {stride, base} = {stride_q[0], from_i};
      2'd1: {stride, base} = {stride_q[1], act_i};
      default: {stride, base} = {stride_q[2], row_scale_i};
    endcase
  end
  assign product = (check_q[3:0] == '0 ? 48'd0 : product_q << 1) + (rows_i[~check_q[3:0]] ? 48'(stride) : 48'd0);
  assign fits = check_q[3:0] != '1 || (AddrW+1)'(product) + ((AddrW+1)'(base) >> SizeW) <= (AddrW+1)'(1) << (AddrW - SizeW);
  assign last_check = state_q == CHECK && check_q == 6'd47;
  assign refused_o = last_check && !(good_q && fits);
  assign done_o = refused_o || (state_q == RUN && all_done);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= IDLE;
    else
      case (state_q)
        IDLE: if (start_i) state_q <= CHECK;
        CHECK: if (last_check) state_q <= refused_o ? IDLE : RUN;
        default: if (all_done) state_q <= IDLE;
      endcase
  end
  always_ff @(posedge clk_i) begin
    check_q <= (state_q == CHECK) ? check_q + 1'b1 : '0;
    product_q <= product;
    if (state_q == IDLE) begin
      stride_q[0] <= 32'((from_nbytes + 48'(LastByte)) >> SizeW);
      stride_q[1] <= 32'((act_nbytes + 48'(LastByte)) >> SizeW);
      stride_q[2] <= 32'(RowBeats);
      tail_q <= from_nbytes[SizeW-1:0];
      good_q <= sound_i && (!codes_i || (CanMove && row_scale_i == '0)) && rows_i != '0 && cols_i != '0 && beats_i != '0 &&
                ((from_i[SizeW-1:0] | act_i[SizeW-1:0] | row_scale_i[SizeW-1:0]) == '0) &&
                48'(cols_i) * 48'(Cols) <= 48'(beats_i) * 48'(BankLen);
    end else begin
      good_q <= good_q && fits;
    end
  end

  // ---- transfers ----------------------------------------------------------------------------------
  // A tile of rows is read; its codes are written, while it is read again; its scales are written. Codes have
  // their transfer before the beats that they come of, which else would wait for them. Of codes that move there are
  // these two transfers only.
  logic [1:0] kind_q;
  logic [15:0] left_q;
  logic [AddrW-1:0] at_q[3];
  logic [4:0] owed_q;  // writes without their response
  logic issue, last_of_tile;
  assign last_of_tile = kind_q == (is_codes ? 2'd2 : 2'd3);
  assign dma_valid_o = state_q == RUN && left_q != '0;
  assign dma_write_o = kind_q[0];
  assign dma_tail_o = kind_q[0] ? '0 : tail_q;
  assign issue = dma_valid_o && dma_ready_i;
  assign all_done = left_q == '0 && owed_q == '0;
  always_comb begin
    case (kind_q)
      2'd1: {dma_addr_o, dma_beats_o} = {at_q[1], stride_q[1]};
      2'd3: {dma_addr_o, dma_beats_o} = {at_q[2], stride_q[2]};
      default: {dma_addr_o, dma_beats_o} = {at_q[0], stride_q[0]};
    endcase
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) owed_q <= '0;
    else owed_q <= owed_q + 5'(issue && dma_write_o) - 5'(write_done_i);
  end
  always_ff @(posedge clk_i) begin
    if (state_q != RUN) begin
      kind_q <= {1'b0, is_codes};
      left_q <= rows_i;
      at_q[0] <= from_i;
      at_q[1] <= act_i;
      at_q[2] <= row_scale_i;
    end else if (issue) begin
      kind_q <= last_of_tile ? {1'b0, is_codes} : kind_q + 1'b1;
      if (last_of_tile) begin
        left_q <= left_q - 1'b1;
        for (int unsigned i = 0; i < 3; i++) at_q[i] <= at_q[i] + (AddrW'(stride_q[i]) << SizeW);
      end
    end
  end

  // ---- elements -----------------------------------------------------------------------------------
  typedef enum logic [2:0] {LARGEST, SETTLE, DIVIDE, CODES, FLUSH, SCALES} pass_e;  // SETTLE: IsDynamic, banks of LARGEST
  localparam int unsigned Groups = Cols / Lanes;
  localparam int unsigned GroupW = sq_pkg::index_w(Groups);
  localparam int unsigned RowW = sq_pkg::index_w(Rows);
  localparam logic [5:0] LastStep = IsScaled ? 6'd0 : 6'd33;
  pass_e pass_q;
  logic words_ready, word_valid, word_ready, word_last, take, unused_poison;
  logic moved_ready, moved_valid, moved_last, moved_go, move;  // codes that move
  logic [Lanes*8-1:0] moved;
  logic [Lanes*16-1:0] word;
  logic [GroupW-1:0] group_q;
  logic [RowW-1:0] row_q;
  logic [MagW-1:0] largest_q[Rows];
  logic [MagW-1:0] largest;
  logic [Rows*MagW-1:0] low_largest;
  logic wrong;
  logic [5:0] step_q;
  logic [Rows*Parts*32-1:0] scales;
  logic en, is_first, is_flush, flushed, scales_go, bank_ready, bank_go;
  assign is_first = pass_q == LARGEST || pass_q == SETTLE;
  assign is_flush = pass_q == FLUSH || pass_q == SETTLE;

  sq_gear #(.InW(DataW), .OutW(Lanes*16)) u_words (
    .clk_i, .rst_ni, .in_valid_i(in_valid_i && !is_codes), .in_ready_o(words_ready), .in_data_i, .in_tail_i,
    .in_poison_i(1'b0), .in_last_i, .out_valid_o(word_valid), .out_ready_i(word_ready), .out_data_o(word), .out_poison_o(unused_poison),
    .out_last_o(word_last)
  );
  if (CanMove) begin : gen_moved
    logic unused_moved;
    sq_gear #(.InW(DataW), .OutW(Lanes*8)) u_moved (
      .clk_i, .rst_ni, .in_valid_i(in_valid_i && is_codes), .in_ready_o(moved_ready), .in_data_i, .in_tail_i,
      .in_poison_i(1'b0), .in_last_i, .out_valid_o(moved_valid), .out_ready_i(moved_go), .out_data_o(moved),
      .out_poison_o(unused_moved), .out_last_o(moved_last)
    );
  end else begin : gen_none_moved
    assign {moved_ready, moved_valid, moved_last, moved} = '0;
  end
  assign in_ready_o = is_codes ? moved_ready : words_ready;
  assign moved_go = pass_q == CODES && !bank_ready;
  assign word_ready = (pass_q == LARGEST && (!IsDynamic || en)) || (pass_q == CODES && en);
  assign take = word_valid && word_ready;
  assign move = moved_valid && moved_go;
  assign error_o = take && pass_q == LARGEST && wrong;

  always_comb begin
    largest = largest_q[row_q];
    wrong = 1'b0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (&word[l*16+7 +: 8]) wrong = 1'b1;
      else if (word[l*16 +: 15] > largest) largest = word[l*16 +: 15];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pass_q <= LARGEST;
    else
      case (pass_q)
        LARGEST:
          if (moved_valid) pass_q <= CODES;
          else if (take && word_last) pass_q <= IsDynamic ? SETTLE : DIVIDE;
        SETTLE: if (flushed) pass_q <= DIVIDE;
        DIVIDE: if (step_q == LastStep) pass_q <= CODES;
        CODES: if ((take && word_last) || (move && moved_last)) pass_q <= FLUSH;
        FLUSH: if (flushed) pass_q <= is_codes ? LARGEST : SCALES;
        default: if (scales_go) pass_q <= LARGEST;
      endcase
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      group_q <= '0;
      row_q <= '0;
    end else if (take) begin
      group_q <= (group_q == GroupW'(Groups - 1)) ? '0 : group_q + 1'b1;
      if (group_q == GroupW'(Groups - 1)) row_q <= (row_q == RowW'(Rows - 1)) ? '0 : row_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    step_q <= (pass_q == DIVIDE) ? step_q + 1'b1 : '0;
  end
  for (genvar r = 0; r < Rows; r++) begin : gen_row
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) largest_q[r] <= '0;
      else if (scales_go) largest_q[r] <= '0;
      else if (take && pass_q == LARGEST && row_q == RowW'(r)) largest_q[r] <= largest;
    end
  end

  // ---- codes, or what they are made of ------------------------------------------------------------
  localparam int unsigned Stages = IsScaled ? 1 : 6;
  logic [Stages-1:0] codes_q;  // stages of sq_encode_code, sq_encode_over that hold some
  logic [Lanes*ElementW-1:0] code;
  assign en = !codes_q[Stages-1] || !bank_ready;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) codes_q <= '0;
    else if (en) codes_q <= Stages'({codes_q, take && (IsDynamic || pass_q == CODES)});
  end
  if (IsScaled) begin : gen_over
    localparam bit HasPower = Scale == sq_pkg::SCALE_E4M3;
    localparam int unsigned Top = (Element == sq_pkg::ELEMENT_INT5) ? 15 : (Element == sq_pkg::ELEMENT_INT4) ? 7 : 6;
    localparam int unsigned Limit = !HasPower ? 0 : (Parts == 2) ? 127 : 448 * Top;
    logic [Rows*9-1:0] power;
    for (genvar r = 0; r < Rows; r++) begin : gen_row
      logic [Parts*32-1:0] scale;
      sq_encode_power #(.Limit(Limit), .Parts(Parts)) u_power (
        .amax_i(largest_q[r]), .power_o(power[r*9 +: 9]), .scale_o(scale)
      );
      for (genvar p = 0; p < Parts; p++) begin : gen_part
        assign scales[(p*Rows+r)*32 +: 32] = scale[p*32 +: 32];
      end
    end
    sq_encode_over #(.Lanes(Lanes), .HasPower(HasPower)) u_over (
      .clk_i, .en_i(en), .x_i(word), .power_i(power[32'(row_q)*9 +: 9]), .x_o(code)
    );
  end else begin : gen_code
    logic [Parts*Rows*24-1:0] sig;
    logic [Parts*Rows*8-1:0] exp;
    for (genvar p = 0; p < Parts; p++) begin : gen_part
      localparam int unsigned Bits = !IsDynamic ? 8 : (p == 0) ? LowW : HighW;
      localparam int unsigned At = (p == 0) ? 0 : LowW;
      for (genvar r = 0; r < Rows; r++) begin : gen_row
        logic [MagW-1:0] amax;
        assign amax = (p + 1 == Parts) ? largest_q[r] : low_largest[r*MagW +: MagW];
        sq_encode_scale #(.Bits(Bits)) u_scale (
          .clk_i, .load_i(step_q == '0), .step_i(step_q != LastStep), .round_i(step_q == LastStep),
          .amax_i(amax), .sig_o(sig[(p*Rows+r)*24 +: 24]), .exp_o(exp[(p*Rows+r)*8 +: 8])
        );
        assign scales[(p*Rows+r)*32 +: 32] = {1'b0, exp[(p*Rows+r)*8 +: 8], sig[(p*Rows+r)*24 +: 23]};
      end
      logic [Lanes*Bits-1:0] of_part;
      sq_encode_code #(.Lanes(Lanes), .Bits(Bits)) u_code (
        .clk_i, .en_i(en), .x_i(word), .sig_i(sig[(p*Rows+32'(row_q))*24 +: 24]), .exp_i(exp[(p*Rows+32'(row_q))*8 +: 8]),
        .code_o(of_part)
      );
      for (genvar l = 0; l < Lanes; l++) begin : gen_lane
        assign code[l*ElementW+At +: Bits] = of_part[l*Bits +: Bits];
      end
    end
    if (IsDynamic) begin : gen_magnitude
      logic [Lanes*MagW-1:0] mag, mag_late;
      sq_delay #(.Width(Lanes*MagW), .Stages(Stages)) u_late (.clk_i, .en_i(en), .x_i(mag), .x_o(mag_late));
      for (genvar l = 0; l < Lanes; l++) begin : gen_lane
        assign mag[l*MagW +: MagW] = (&word[l*16+7 +: 8]) ? '0 : word[l*16 +: MagW];
        assign code[l*ElementW+LowW+HighW +: MagW] = mag_late[l*MagW +: MagW];
      end
    end
  end

  // ---- banks --------------------------------------------------------------------------------------
  // Columns that wait, of all rows; those of a tile count when it is whole. What lies behind them is 0.
  localparam int unsigned Slots = BankLen + Cols - 1;
  localparam int unsigned SlotW = $clog2(Slots + Cols + 1);
  logic [SlotW-1:0] have_q, place;
  logic [GroupW-1:0] to_group_q;
  logic [RowW-1:0] to_row_q;
  logic [15:0] banks_q;  // that are to come
  logic [Lanes*ElementW-1:0] next_code;
  logic [15:0] beats_left;
  logic put, tile_ends, bank_taken, codes_valid, scales_valid;
  logic reload;  // banks and beats of a pass that comes
  assign reload = state_q == CHECK || (is_flush && flushed);
  logic [Rows*BankLen*ElementW-1:0] bank;
  logic [DataW-1:0] codes_data;
  logic [1:0] unused_codes;
  assign bank_ready = have_q >= SlotW'(BankLen) || (is_flush && codes_q == '0 && banks_q != '0);
  assign bank_go = bank_ready && bank_taken;
  assign flushed = codes_q == '0 && beats_left == '0;
  assign put = (codes_q[Stages-1] && !bank_ready) || move;
  assign next_code = is_codes ? (Lanes*ElementW)'(moved) : code;
  assign place = have_q + SlotW'(32'(to_group_q) * Lanes);
  assign tile_ends = to_group_q == GroupW'(Groups - 1) && to_row_q == RowW'(Rows - 1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      have_q <= '0;
      to_group_q <= '0;
      to_row_q <= '0;
    end else if (put) begin
      to_group_q <= (to_group_q == GroupW'(Groups - 1)) ? '0 : to_group_q + 1'b1;
      if (to_group_q == GroupW'(Groups - 1)) to_row_q <= (to_row_q == RowW'(Rows - 1)) ? '0 : to_row_q + 1'b1;
      if (tile_ends) have_q <= have_q + SlotW'(Cols);
    end else if (bank_go) begin
      have_q <= (have_q >= SlotW'(BankLen)) ? have_q - SlotW'(BankLen) : '0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (reload) banks_q <= beats_i;
    else if (bank_go) banks_q <= banks_q - 1'b1;
  end
  for (genvar r = 0; r < Rows; r++) begin : gen_line
    logic [Slots*ElementW-1:0] line_q;
    assign bank[r*BankLen*ElementW +: BankLen*ElementW] = line_q[BankLen*ElementW-1:0];
    for (genvar i = 0; i < Slots; i++) begin : gen_slot
      logic [ElementW-1:0] next;
      if (i + BankLen < Slots) begin : gen_shift
        assign next = line_q[(i+BankLen)*ElementW +: ElementW];
      end else begin : gen_end
        assign next = '0;
      end
      localparam int unsigned Lane = i;
      logic here;
      logic [ElementW-1:0] lane_code;
      always_comb begin
        here = 1'b0;
        lane_code = '0;
        for (int unsigned l = 0; l < Lanes; l++)
          if (place + SlotW'(l) == SlotW'(Lane)) begin
            here = 1'b1;
            lane_code = next_code[l*ElementW +: ElementW];
          end
      end
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) line_q[i*ElementW +: ElementW] <= '0;
        else if (bank_go) line_q[i*ElementW +: ElementW] <= next;
        else if (put && here && to_row_q == RowW'(r)) line_q[i*ElementW +: ElementW] <= lane_code;
      end
    end
  end

  // A beat of activations: a bank of codes, or what sq_encode_dynamic or sq_act_blocks makes of it.
  logic beat_valid, beat_ready, beat_leaves;
  logic [ActW-1:0] beat;
  if (IsScaled) begin : gen_blocks
    localparam int unsigned CodeW = Rows * BankLen * sq_pkg::element_code_w(Element);
    localparam bit HasMask = HighPerBank > 0 && High == sq_pkg::HIGH_SPLIT;
    localparam int unsigned HighBits =
        Rows * ((HighPerBank > 0) ? HighPerBank : 1) * sq_pkg::element_code_w(sq_pkg::high_element(High, Element));
    logic [CodeW-1:0] codes;
    logic [HighBits-1:0] high;
    logic [Rows*((HighPerBank > 0) ? BankLen : 1)-1:0] mask;
    logic [Rows*8-1:0] scale;
    sq_act_blocks #(
      .Rows(Rows), .BankLen(BankLen), .HighPerBank(HighPerBank), .High(High), .Element(Element), .Scale(Scale),
      .Choose(Choose), .Topk((HighPerBank <= 2) ? sq_pkg::TOPK_TREE : sq_pkg::TOPK_RANK)
    ) u_blocks (
      .clk_i, .rst_ni, .in_valid_i(bank_ready), .in_ready_o(bank_taken), .in_x_i(bank),
      .out_valid_o(beat_valid), .out_ready_i(beat_ready), .out_code_o(codes), .out_high_o(high), .out_mask_o(mask),
      .out_scale_o(scale)
    );
    assign beat_leaves = beat_valid && beat_ready;
    if (HasMask) begin : gen_mask
      assign beat = ActW'({scale, mask, high, codes});
    end else if (HighPerBank > 0) begin : gen_high
      wire unused_mask = ^mask;
      assign beat = ActW'({scale, high, codes});
    end else begin : gen_plain
      wire unused_high = ^{high, mask};
      assign beat = ActW'({scale, codes});
    end
  end else if (IsDynamic) begin : gen_dynamic
    logic [Rows*BankLen*MagW-1:0] mag;
    logic [Rows*BankLen*LowW-1:0] low;
    logic [Rows*BankLen*HighW-1:0] high;
    logic made_valid, made_ready;
    for (genvar i = 0; i < Rows * BankLen; i++) begin : gen_element
      assign {mag[i*MagW +: MagW], high[i*HighW +: HighW], low[i*LowW +: LowW]} = bank[i*ElementW +: ElementW];
    end
    logic [Rows*LineW-1:0] made;
    sq_encode_dynamic #(
      .Rows(Rows), .BankLen(BankLen), .HighPerBank(HighPerBank), .LowW(LowW), .HighW(HighW)
    ) u_dynamic (
      .clk_i, .rst_ni, .first_i(is_first), .in_valid_i(bank_ready), .in_ready_o(bank_taken), .in_mag_i(mag),
      .in_low_i(low), .in_high_i(high), .out_valid_o(made_valid), .out_ready_i(made_ready), .out_beat_o(made),
      .clear_i(scales_go), .low_o(low_largest)
    );
    assign beat_valid = made_valid && !is_first;
    assign made_ready = beat_ready || is_first;
    assign beat_leaves = made_valid && made_ready;
    assign beat = ActW'(made);
  end else begin : gen_codes
    assign beat_valid = bank_ready;
    assign bank_taken = beat_ready;
    assign beat_leaves = bank_go;
    assign beat = bank;
  end
  if (!IsDynamic) begin : gen_one
    assign low_largest = '0;
    wire unused_low = ^{low_largest, is_first};
  end
  if (IsScaled || IsDynamic) begin : gen_inside
    logic [15:0] beats_q;  // that have not left
    assign beats_left = beats_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) beats_q <= '0;
      else if (reload) beats_q <= beats_i;
      else if (beat_leaves) beats_q <= beats_q - 1'b1;
    end
  end else begin : gen_none_inside
    assign beats_left = banks_q;
    wire unused_leaves = beat_leaves;
  end
  sq_gear #(.InW(ActW), .OutW(DataW), .Flush(1'b1)) u_codes (
    .clk_i, .rst_ni, .in_valid_i(beat_valid), .in_ready_o(beat_ready), .in_data_i(beat),
    .in_tail_i({sq_pkg::index_w(ActW / 8){1'b0}}), .in_poison_i(1'b0), .in_last_i(beats_left == 16'd1),
    .out_valid_o(codes_valid), .out_ready_i(out_ready_i && !scales_valid), .out_data_o(codes_data),
    .out_poison_o(unused_codes[0]), .out_last_o(unused_codes[1])
  );

  // ---- scales -------------------------------------------------------------------------------------
  logic scales_ready;
  logic [DataW-1:0] scales_data;
  logic [1:0] unused_scales;
  assign scales_go = pass_q == SCALES && !codes_valid && scales_ready;
  sq_gear #(.InW(Rows*Parts*32), .OutW(DataW), .Flush(1'b1)) u_scales (
    .clk_i, .rst_ni, .in_valid_i(pass_q == SCALES && !codes_valid), .in_ready_o(scales_ready), .in_data_i(scales),
    .in_tail_i({sq_pkg::index_w(Rows * Parts * 4){1'b0}}), .in_poison_i(1'b0), .in_last_i(1'b1),
    .out_valid_o(scales_valid), .out_ready_i, .out_data_o(scales_data),
    .out_poison_o(unused_scales[0]), .out_last_o(unused_scales[1])
  );
  assign out_valid_o = scales_valid || codes_valid;
  assign out_data_o = scales_valid ? scales_data : codes_data;
  wire unused_bits = ^{unused_poison, unused_codes, unused_scales};

  `SQ_ASSERT_BEGIN
  `SQ_ASSERT(BanksAreEnough, !bank_go || banks_q != '0)
  `SQ_HELD(TransferHeld, dma_valid_o, dma_ready_i, {dma_write_o, dma_addr_o, dma_beats_o, dma_tail_o})
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, out_data_o)

endmodule
