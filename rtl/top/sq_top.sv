// SPDX-License-Identifier: Apache-2.0
// The chip: runs layers from memory to memory. A host writes operands and a descriptor into memory and the
// descriptor's address into a register, starts, and gets an interrupt when the outputs lie in memory
// (docs/registers.md).
//
//   s_axil  registers, AXI4-Lite          sq_top_regs -> sq_sequencer -> jobs, transfers
//   m_axi   memory, AXI4 manager          sq_dma -> sq_top_operand (4) -> engine -> sq_gear -> sq_fifo -> sq_dma
// Ports have the names of the AXI specification. Transactions carry the identifier Id, so that their answers come in
// order; they are data, unprivileged, secure as Prot says (010b: not), and may be buffered, not cached (CACHE 0011b). Of the
// registers PROT says nothing.
// Form says which engine: FLOAT is sq_engine_scaled, both operands in blocks with Element, Scale, High and
// HighPerBank. Layout LAYOUT_KEPT is sq_engine_gqsa, with groups of BankLen weights. All others are sq_engine_array. Layout
// says how one of its operands is stored (OnActs: the activations, else the weights); the other one has plain codes.
// Codes have ActW and WeightW bits, and HighW bits where Layout has a second kind. Form says which scales there are. How operands and outputs lie in memory is said in README.md beside this file.
// A layer whose K is too long for the buffers is worked on in chunks of scale groups, or of parts of one. Between them
// the binary32 sums of a block's outputs, and the integer ones of a group that goes on, wait in a buffer of their own
// (u_sums), and each goes on from where it was, so that the bits are those of a whole K.
// An error ends nothing early: as many beats move as without one, the outputs of the layer hold no meaning,
// STATUS says what happened, and the next layer is right.
`include "sq_assert.svh"

module sq_top #(
  parameter  int unsigned DataW = 64,  // bits of a beat of the bus
  parameter  int unsigned Rows = 2,  // of a tile: tokens
  parameter  int unsigned Cols = 2,  // channels
  parameter  int unsigned BankLen = 4,  // elements of K in a beat
  parameter  int unsigned ActW = 8,
  parameter  int unsigned WeightW = 8,
  parameter  int unsigned Layout = sq_pkg::LAYOUT_DENSE,  // sq_engine_array, as those up to Form
  parameter  int unsigned HighPerBank = 1,
  parameter  int unsigned HighW = 4,
  parameter  int unsigned OnActs = 0,
  parameter  int unsigned OneAcc = 1,
  parameter  int unsigned Form = sq_pkg::COMBINE_ONE,
  parameter  int unsigned OutKind = sq_pkg::OUT_BINARY32,
  parameter  int unsigned PortLen = 1,  // outputs that leave the engine together
  parameter  int unsigned ActDepth = 64,  // beats of half a buffer, of each operand
  parameter  int unsigned RowDepth = 64,
  parameter  int unsigned WeightDepth = 64,
  parameter  int unsigned ColDepth = 64,
  parameter  int unsigned SumTiles = 16,  // tiles of outputs whose sums half a buffer holds between chunks of K
  parameter  int unsigned MaxBurst = 16,
  parameter  int unsigned Outstanding = 4,
  parameter  int unsigned Writes = 4,
  parameter  int unsigned Quiet = 400,  // sq_dma
  parameter  int unsigned Macro = 0,  // sq_sram
  parameter  int unsigned Element = sq_pkg::ELEMENT_INT4,  // sq_engine_scaled, as those below; of both operands
  parameter  int unsigned Scale = sq_pkg::SCALE_NONE,
  parameter  int unsigned High = sq_pkg::HIGH_SPLIT,
  parameter  int unsigned Parts = 1,  // 1: room for sums and integers of each output between chunks of K; 0: for one of them
  parameter  int unsigned Encode = 0,  // sq_encode: 0 none, else elements a cycle, which divide Cols and DataW / 16
  parameter  int unsigned Choose = sq_pkg::CHOOSE_LARGEST,  // how the encoder finds the scale of a block
  parameter  int unsigned Vector = 0,  // 1: sq_top_vector, with a lane for each 32 bits of DataW
  parameter  int unsigned Attend = 0,  // 0: none, else sq_top_attend: queries that share a cache + 16 where it is INT8 + 32 log2(largest head)
  parameter  int unsigned BlockSum = 0,  // sq_engine_scaled: 0 adds blocks in binary32, else AccW + 128 Cut + 512 Carry + 16384 (Acc - 1)
  parameter  int unsigned CountStart = 0,  // where counters begin: other than 0 in tests of their carries
  parameter  int unsigned Gate = 1,  // the clock of the engine stands still between jobs; 0: it never does
  parameter  int unsigned IdW = 1,  // bits of an identifier
  parameter  int unsigned Id = 0,  // which all transactions carry
  parameter  int unsigned Prot = 2,  // AxPROT of all: unprivileged, not secure, data
  localparam int unsigned Bytes = DataW / 8
) (
  input  logic             clk_i, rst_ni,
  input  logic             test_en_i,  // test of a scan chain: all clocks run, all resets are rst_ni
  // registers, AXI4-Lite
  input  logic             s_axil_awvalid,
  output logic             s_axil_awready,
  input  logic [7:0]       s_axil_awaddr,
  input  logic [2:0]       s_axil_awprot,
  input  logic             s_axil_wvalid,
  output logic             s_axil_wready,
  input  logic [31:0]      s_axil_wdata,
  input  logic [3:0]       s_axil_wstrb,
  output logic             s_axil_bvalid,
  input  logic             s_axil_bready,
  output logic [1:0]       s_axil_bresp,
  input  logic             s_axil_arvalid,
  output logic             s_axil_arready,
  input  logic [7:0]       s_axil_araddr,
  input  logic [2:0]       s_axil_arprot,
  output logic             s_axil_rvalid,
  input  logic             s_axil_rready,
  output logic [31:0]      s_axil_rdata,
  output logic [1:0]       s_axil_rresp,
  output logic             irq_o,
  // memory, AXI4
  output logic             m_axi_arvalid,
  input  logic             m_axi_arready,
  output logic [IdW-1:0]   m_axi_arid,
  output logic [sq_pkg::ADDR_W-1:0] m_axi_araddr,
  output logic [7:0]       m_axi_arlen,
  output logic [2:0]       m_axi_arsize,
  output logic [1:0]       m_axi_arburst,
  output logic             m_axi_arlock,
  output logic [3:0]       m_axi_arcache,
  output logic [2:0]       m_axi_arprot,
  output logic [3:0]       m_axi_arqos,
  input  logic             m_axi_rvalid,
  output logic             m_axi_rready,
  input  logic [IdW-1:0]   m_axi_rid,
  input  logic [DataW-1:0] m_axi_rdata,
  input  logic [1:0]       m_axi_rresp,
  input  logic             m_axi_rlast,
  output logic             m_axi_awvalid,
  input  logic             m_axi_awready,
  output logic [IdW-1:0]   m_axi_awid,
  output logic [sq_pkg::ADDR_W-1:0] m_axi_awaddr,
  output logic [7:0]       m_axi_awlen,
  output logic [2:0]       m_axi_awsize,
  output logic [1:0]       m_axi_awburst,
  output logic             m_axi_awlock,
  output logic [3:0]       m_axi_awcache,
  output logic [2:0]       m_axi_awprot,
  output logic [3:0]       m_axi_awqos,
  output logic             m_axi_wvalid,
  input  logic             m_axi_wready,
  output logic [DataW-1:0] m_axi_wdata,
  output logic [Bytes-1:0] m_axi_wstrb,
  output logic             m_axi_wlast,
  input  logic             m_axi_bvalid,
  output logic             m_axi_bready,
  input  logic [IdW-1:0]   m_axi_bid,
  input  logic [1:0]       m_axi_bresp
);

  // Bits of a beat of each operand; sums of a PE.
  localparam bit IsScaled = Form == sq_pkg::COMBINE_FLOAT;
  localparam bit IsIndexed = !IsScaled && Layout == sq_pkg::LAYOUT_KEPT;
  localparam bit HasHigh = Layout != sq_pkg::LAYOUT_DENSE && Layout != sq_pkg::LAYOUT_SP24;
  localparam bit HasMask = Layout != sq_pkg::LAYOUT_DENSE && Layout != sq_pkg::LAYOUT_SENTINEL;
  localparam int unsigned CodedLineW =
      sq_pkg::low_lanes(Layout, BankLen, HighPerBank) * ((OnActs != 0) ? ActW : WeightW) +
      (HasHigh ? HighPerBank * HighW : 0) + (HasMask ? sq_pkg::mask_w(Layout, BankLen) : 0);
  localparam int unsigned ScaledLineW = sq_pkg::scaled_line_w(BankLen, HighPerBank, High, Element, Scale);
  localparam int unsigned Pairs = (IsScaled && HighPerBank > 0) ? sq_pkg::parts_pairs(High, 1) : 1;
  localparam int unsigned ActBits = Rows * (IsScaled ? ScaledLineW : (OnActs != 0) ? CodedLineW : BankLen * ActW);
  localparam int unsigned WeightBits =
      IsIndexed ? sq_pkg::kept_w(BankLen, $clog2(ActDepth)) : Cols * (IsScaled ? ScaledLineW : (OnActs != 0) ? BankLen * WeightW : CodedLineW);
  localparam int unsigned RowBits = Rows * 32 * ((Form == sq_pkg::COMBINE_SCALED || Pairs > 1) ? 2 : 1);
  localparam int unsigned ColBits = IsIndexed ? 16 : Cols * 32 * ((Form == sq_pkg::COMBINE_TWO || Pairs == 4) ? 2 : 1);
  localparam int unsigned WordW = PortLen * sq_pkg::out_w(OutKind);
  localparam int unsigned TileW = Rows * Cols * sq_pkg::out_w(OutKind);
  localparam int unsigned ActAddrW = $clog2(ActDepth);
  localparam int unsigned RowAddrW = $clog2(RowDepth);
  localparam int unsigned WeightAddrW = $clog2(WeightDepth);
  localparam int unsigned ColAddrW = $clog2(ColDepth);
  localparam int unsigned SizeW = $clog2(Bytes);
  localparam int unsigned SumW = PortLen * 32 * sq_pkg::kept_words(sq_pkg::top_sums(Parts, Form), Form);
  localparam int unsigned Slots = Pairs * Rows * Cols / PortLen;  // beats of sums of a tile
  localparam int unsigned SumAddrW = $clog2(SumTiles * Slots);
  localparam bit IsDynamic = OnActs != 0 && Layout == sq_pkg::LAYOUT_COMPACT && OneAcc == 0 && Form == sq_pkg::COMBINE_SCALED;
  if (Encode != 0 && !(IsScaled ? sq_pkg::encodes(HighPerBank, High, Element, Scale, Choose) : OnActs != 0 ? IsDynamic : ActW == 8)) begin : gen_bad_encode
    $error("Encode makes INT8 of plain activations (ActW = 8, OnActs = 0), coded ones (LAYOUT_COMPACT, COMBINE_SCALED), or blocks of those that sq_pkg::encodes");
  end
  if (DataW % WordW != 0 || Rows * Cols % PortLen != 0 || (!IsIndexed && SumTiles * Slots < 2) || Slots > 65535) begin : gen_bad
    $error("tiles of outputs in whole words, beats of whole words, two beats of sums, at most 65535 of a tile");
  end
  if (IdW < 1 || IdW > 32 || (IdW < 32 && Id >> IdW != 0) || Prot > 7) begin : gen_bad_id
    $error("IdW = 1..32, Id in IdW bits, Prot = 0..7");
  end

  if (IsIndexed && (Cols != 1 || ColDepth > 65534 || PortLen != Rows || ActW != 8 || WeightW != 4 || OnActs != 0 || OneAcc != 1 ||
                    Form != sq_pkg::COMBINE_ONE || OutKind == sq_pkg::OUT_INT8)) begin : gen_bad_kept
    $error("LAYOUT_KEPT: Cols = 1, ColDepth <= 65534, PortLen = Rows, ActW = 8, WeightW = 4, OnActs = 0, OneAcc = 1, Form ONE, no INT8");
  end

  // Behind the end of a reset three cycles pass in which the chip answers nothing.
  logic rst_n, awake_q, aw_ready, w_ready, ar_ready;
  sq_reset_sync u_reset (.clk_i, .rst_ni, .test_en_i, .rst_no(rst_n));
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) awake_q <= 1'b0;
    else awake_q <= 1'b1;
  end
  assign s_axil_awready = aw_ready && awake_q;
  assign s_axil_wready = w_ready && awake_q;
  assign s_axil_arready = ar_ready && awake_q;

  // ---- registers ----------------------------------------------------------------------------------
  logic start, done, refused, ring, abort, rewind, begins, ends, ended, notice, aborting, running, aborted, expired;
  logic [sq_pkg::ADDR_W-1:0] descriptor, ring_base;
  logic [31:0] watchdog;
  logic [15:0] ring_size, tail, head;
  logic [511:0] record;
  logic [2:0] read_status, write_status, engine_errors;
  logic operand_error, busy_q, missing_q;  // busy and missing: of the cycle before

  sq_top_regs #(
    .Rows(Rows), .Cols(Cols), .BankLen(BankLen), .ActW(ActW), .WeightW(WeightW), .HighW(HighW),
    .HighPerBank(HighPerBank), .Layout(Layout), .OnActs(OnActs), .OneAcc(OneAcc), .Form(Form), .OutKind(OutKind),
    .Element(Element), .Scale(Scale), .High(High), .ActDepth(ActDepth), .RowDepth(RowDepth),
    .WeightDepth(WeightDepth), .ColDepth(ColDepth), .SumTiles(SumTiles), .Parts(Parts), .DataW(DataW),
    .Encode(Encode), .Vector(Vector), .Attend(Attend), .CountStart(CountStart)
  ) u_regs (
    .clk_i, .rst_ni(rst_n),
    .lite_aw_valid_i(s_axil_awvalid && awake_q), .lite_aw_ready_o(aw_ready), .lite_aw_addr_i(s_axil_awaddr),
    .lite_w_valid_i(s_axil_wvalid && awake_q), .lite_w_ready_o(w_ready), .lite_w_data_i(s_axil_wdata),
    .lite_w_strb_i(s_axil_wstrb), .lite_b_valid_o(s_axil_bvalid), .lite_b_ready_i(s_axil_bready),
    .lite_b_resp_o(s_axil_bresp), .lite_ar_valid_i(s_axil_arvalid && awake_q), .lite_ar_ready_o(ar_ready),
    .lite_ar_addr_i(s_axil_araddr), .lite_r_valid_o(s_axil_rvalid), .lite_r_ready_i(s_axil_rready),
    .lite_r_data_o(s_axil_rdata), .lite_r_resp_o(s_axil_rresp), .irq_o,
    .start_o(start), .descriptor_o(descriptor), .ring_o(ring), .abort_o(abort), .rewind_o(rewind),
    .base_o(ring_base), .size_o(ring_size), .tail_o(tail), .watchdog_o(watchdog), .head_i(head),
    .begin_i(begins), .end_i(ends), .done_i(ended), .notice_i(notice), .aborting_i(aborting), .run_i(running),
    .record_o(record), .refused_i(refused), .aborted_i(aborted), .expired_i(expired),
    .operand_i(operand_error), .read_status_i(read_status), .write_status_i(write_status),
    .engine_i(engine_errors), .busy_i(busy_q), .wait_i(missing_q),
    .read_i(m_axi_rvalid && m_axi_rready), .write_i(m_axi_wvalid && m_axi_wready),
    .read_wait_i(m_axi_rready && !m_axi_rvalid), .read_full_i(m_axi_rvalid && !m_axi_rready),
    .write_wait_i((m_axi_awvalid && !m_axi_awready) || (m_axi_wvalid && !m_axi_wready))
  );

  // ---- ring ---------------------------------------------------------------------------------------
  // A layer that ends early leaves the core (all but registers, ring and DMA) as a reset does.
  logic core_rst_n, ring_rst_n, drain, idle, want_notice;
  assign core_rst_n = test_en_i ? rst_ni : ring_rst_n;
  logic record_valid, record_word_valid, record_word_ready, to_dma_ready, word_ready, write_done;
  logic [sq_pkg::ADDR_W-1:0] layer_at, record_addr;
  logic [31:0] record_beats;
  logic [DataW-1:0] record_word;

  sq_ring #(.DataW(DataW)) u_ring (
    .clk_i, .rst_ni(rst_n), .start_i(start), .ring_i(ring), .abort_i(abort), .rewind_i(rewind), .descriptor_i(descriptor),
    .base_i(ring_base), .size_i(ring_size), .tail_i(tail), .watchdog_i(watchdog), .head_o(head),
    .begin_o(begins), .run_o(running), .end_o(ends), .done_o(ended), .notice_o(notice), .aborting_o(aborting),
    .aborted_o(aborted), .expired_o(expired), .record_i(record),
    .descriptor_o(layer_at), .layer_done_i(done), .layer_notice_i(want_notice),
    .dma_valid_o(record_valid), .dma_ready_i(to_dma_ready), .dma_addr_o(record_addr), .dma_beats_o(record_beats),
    .out_valid_o(record_word_valid), .out_ready_i(record_word_ready), .out_data_o(record_word),
    .write_done_i(write_done), .drain_o(drain), .dma_idle_i(idle), .core_rst_no(ring_rst_n)
  );

  // ---- sequencer ----------------------------------------------------------------------------------
  logic dma_valid, dma_ready, dma_first, dma_write;
  logic [sq_pkg::ADDR_W-1:0] dma_addr, layer_addr;
  logic [31:0] dma_beats, layer_beats;
  logic [2:0] dma_dest;
  logic [5:0] job_valid, job_ready;
  logic [15:0] job_rows, job_cols, job_tiles, job_beats, job_groups, job_tile_beats, job_scale_beats;
  logic keep_rows, keep_row_scale, keep_cols, keep_col_scale, job_first, job_last;
  logic [1:0] job_part;
  logic load_valid, load_ready, load_poison, load_last;
  logic [DataW-1:0] load;
  logic [2:0] load_dest, load_status;
  logic [SizeW-1:0] dma_tail, layer_tail, load_tail;
  logic [2:0] layer_dest;
  logic layer_valid, layer_write;
  logic encode, encode_sound, encoding, encode_done, encode_refused, encode_error;
  logic away, is_vector, vectoring, vector, vector_sound, vector_done, vector_refused, vector_busy, vector_wait;
  logic vector_asks, vector_write, vector_ready, vector_word_valid;
  logic [1:0] vector_part;
  logic [sq_pkg::ADDR_W-1:0] vector_addr;
  logic [31:0] vector_beats;
  logic [DataW-1:0] vector_word;
  logic is_attend, attending, attend, attend_sound, attend_done, attend_refused, attend_busy, attend_wait;
  logic attend_asks, attend_write, attend_ready, attend_word_valid;
  logic [sq_pkg::ADDR_W-1:0] attend_addr;
  logic [31:0] attend_beats;
  logic [DataW-1:0] attend_word;
  logic encode_asks, encode_write, encode_ready, encode_word_valid;
  logic [sq_pkg::ADDR_W-1:0] encode_addr;
  logic [31:0] encode_beats;
  logic [SizeW-1:0] encode_tail;
  logic [DataW-1:0] encode_word;
  logic [32*sq_regs_pkg::DESC_WORDS-1:0] desc;

  sq_sequencer #(
    .DataW(DataW), .ActDepth(ActDepth), .RowDepth(RowDepth), .WeightDepth(WeightDepth), .ColDepth(ColDepth),
    .SumTiles(BlockSum != 0 && sq_pkg::field(BlockSum, 14, 2) == 0 ? 0 : SumTiles), .ActBytes(sq_pkg::ceil_div(ActBits, 8)), .RowBytes(RowBits / 8),
    .WeightBytes(sq_pkg::ceil_div(WeightBits, 8)), .ColBytes(ColBits / 8), .OutBytes(TileW / 8),
    .ScaleOnce((IsScaled || IsIndexed) ? 1 : 0), .Indexed(IsIndexed ? 1 : 0), .Encode(Encode), .Vector(Vector), .Attend(Attend), .PartGroups((IsScaled || Parts != 0) ? 2 : (Form == sq_pkg::COMBINE_ONE) ? 1 : 0)
  ) u_sequencer (
    .clk_i, .rst_ni(core_rst_n),
    .start_i(begins), .descriptor_i(layer_at), .done_o(done), .refused_o(refused), .notice_o(want_notice),
    .encode_o(encode), .encode_sound_o(encode_sound), .vector_o(vector), .vector_sound_o(vector_sound), .attend_o(attend), .attend_sound_o(attend_sound), .away_o(away), .desc_o(desc),
    .away_done_i(encode_done || vector_done || attend_done), .away_refused_i(encode_refused || vector_refused || attend_refused),
    .dma_valid_o(layer_valid), .dma_ready_i(dma_ready), .dma_first_o(dma_first), .dma_write_o(layer_write),
    .dma_addr_o(layer_addr), .dma_beats_o(layer_beats), .dma_dest_o(layer_dest),
    .dma_tail_o(layer_tail), .write_done_i(write_done && running && !away),
    .in_valid_i(load_valid && load_dest == 3'd4), .in_data_i(load), .in_poison_i(load_poison),
    .in_last_i(load_last),
    .job_valid_o(job_valid), .job_ready_i(job_ready), .job_rows_o(job_rows), .job_cols_o(job_cols),
    .job_tiles_o(job_tiles), .job_beats_o(job_beats), .job_groups_o(job_groups),
    .job_tile_beats_o(job_tile_beats), .job_scale_beats_o(job_scale_beats), .job_keep_rows_o(keep_rows),
    .job_keep_row_scale_o(keep_row_scale), .job_keep_cols_o(keep_cols), .job_keep_col_scale_o(keep_col_scale),
    .job_first_o(job_first), .job_last_o(job_last), .job_part_o(job_part)
  );

  // ---- encoder ------------------------------------------------------------------------------------
  // While it, the vector unit or attention works the sequencer has no transfer.
  assign dma_valid = layer_valid || encode_asks || vector_asks || attend_asks;
  assign dma_write = encode_asks ? encode_write : vector_asks ? vector_write : attend_asks ? attend_write : layer_write;
  assign dma_addr = encode_asks ? encode_addr : vector_asks ? vector_addr : attend_asks ? attend_addr : layer_addr;
  assign dma_beats = encode_asks ? encode_beats : vector_asks ? vector_beats : attend_asks ? attend_beats : layer_beats;
  assign dma_dest = encode_asks ? 3'd5 : vector_asks ? 3'd6 : attend_asks ? 3'd7 : layer_dest;
  assign dma_tail = encode_asks ? encode_tail : vector_asks ? SizeW'(vector_part) : attend_asks ? '0 : layer_tail;
  assign is_vector = Vector != 0 && 32'(desc[32*sq_regs_pkg::DESC_KIND +: 16]) == sq_regs_pkg::DESC_KIND_VECTOR;
  assign is_attend = Attend != 0 && 32'(desc[32*sq_regs_pkg::DESC_KIND +: 16]) == sq_regs_pkg::DESC_KIND_ATTEND;
  assign encoding = away && !is_vector && !is_attend;
  assign attending = away && is_attend;
  assign vectoring = away && is_vector;
  if (Encode != 0) begin : gen_encode
    sq_encode #(
      .DataW(DataW), .Rows(Rows), .Cols(Cols), .BankLen(BankLen), .Lanes(Encode),
      .CanMove(!IsScaled && OnActs == 0 && OutKind == sq_pkg::OUT_INT8), .IsDynamic(IsDynamic), .LowW(ActW), .HighW(HighW),
      .IsScaled(IsScaled),
      .HighPerBank(HighPerBank), .High(High), .Element(Element), .Scale(Scale), .Choose(Choose)
    ) u_encode (
      .clk_i, .rst_ni(core_rst_n), .start_i(encode), .sound_i(encode_sound),
      .codes_i(desc[32*sq_regs_pkg::DESC_KIND+sq_regs_pkg::DESC_KIND_CODES_LOW]),
      .from_i(sq_regs_pkg::desc_address(desc, sq_regs_pkg::DESC_OUT)), .act_i(sq_regs_pkg::desc_address(desc, sq_regs_pkg::DESC_ACT)),
      .row_scale_i(sq_regs_pkg::desc_address(desc, sq_regs_pkg::DESC_ROW_SCALE)),
      .rows_i(desc[32*sq_regs_pkg::DESC_TILES +: 16]), .cols_i(desc[32*sq_regs_pkg::DESC_TILES+16 +: 16]),
      .beats_i(desc[32*sq_regs_pkg::DESC_BEATS +: 16]),
      .done_o(encode_done), .refused_o(encode_refused), .error_o(encode_error),
      .dma_valid_o(encode_asks), .dma_ready_i(dma_ready), .dma_write_o(encode_write), .dma_addr_o(encode_addr),
      .dma_beats_o(encode_beats), .dma_tail_o(encode_tail), .write_done_i(write_done && running && encoding),
      .in_valid_i(load_valid && load_dest == 3'd5 && !drain), .in_ready_o(encode_ready), .in_data_i(load),
      .in_tail_i(load_tail), .in_last_i(load_last),
      .out_valid_o(encode_word_valid), .out_ready_i(word_ready && running && encoding), .out_data_o(encode_word)
    );
  end else begin : gen_no_encode
    assign {encode_done, encode_refused, encode_error, encode_asks, encode_write, encode_word_valid} = '0;
    assign encode_ready = 1'b1;
    assign {encode_addr, encode_beats} = '0;
    assign encode_tail = '0;
    assign encode_word = '0;
    wire unused_encode = ^{encode, encode_sound, encode_ready};
  end

  // ---- vector unit --------------------------------------------------------------------------------
  if (Vector != 0) begin : gen_vector
    sq_top_vector #(.DataW(DataW)) u_vector (
      .clk_i, .rst_ni(core_rst_n), .start_i(vector), .sound_i(vector_sound), .desc_i(desc), .done_o(vector_done),
      .refused_o(vector_refused), .busy_o(vector_busy), .wait_o(vector_wait),
      .dma_valid_o(vector_asks), .dma_ready_i(dma_ready), .dma_write_o(vector_write), .dma_addr_o(vector_addr),
      .dma_beats_o(vector_beats), .dma_part_o(vector_part), .write_done_i(write_done && running && vectoring),
      .in_valid_i(load_valid && load_dest == 3'd6 && !drain), .in_ready_o(vector_ready), .in_data_i(load),
      .in_part_i(load_tail[1:0]),
      .out_valid_o(vector_word_valid), .out_ready_i(word_ready && running && vectoring), .out_data_o(vector_word)
    );
  end else begin : gen_no_vector
    assign {vector_done, vector_refused, vector_busy, vector_asks, vector_write, vector_word_valid} = '0;
    assign {vector_ready, vector_wait} = 2'b11;
    assign vector_part = '0;
    assign {vector_addr, vector_beats} = '0;
    assign vector_word = '0;
    wire unused_vector = ^{vector, vector_sound};
  end

  // ---- attention ----------------------------------------------------------------------------------
  if (Attend != 0) begin : gen_attend
    sq_top_attend #(.DataW(DataW), .Attend(Attend)) u_attend (
      .clk_i, .rst_ni(core_rst_n), .start_i(attend), .sound_i(attend_sound), .desc_i(desc), .done_o(attend_done),
      .refused_o(attend_refused), .busy_o(attend_busy), .wait_o(attend_wait),
      .dma_valid_o(attend_asks), .dma_ready_i(dma_ready), .dma_write_o(attend_write), .dma_addr_o(attend_addr),
      .dma_beats_o(attend_beats), .write_done_i(write_done && running && attending),
      .in_valid_i(load_valid && load_dest == 3'd7 && !drain), .in_ready_o(attend_ready), .in_data_i(load),
      .out_valid_o(attend_word_valid), .out_ready_i(word_ready && running && attending), .out_data_o(attend_word)
    );
  end else begin : gen_no_attend
    assign {attend_done, attend_refused, attend_busy, attend_asks, attend_write, attend_word_valid} = '0;
    assign {attend_ready, attend_wait} = 2'b11;
    assign {attend_addr, attend_beats} = '0;
    assign attend_word = '0;
    wire unused_attend = ^{attend, attend_sound};
  end
  wire unused_desc = ^desc;
  logic [15:0] act_beats, act_cols;  // beats of activations of a tile, how often
  assign act_beats = IsIndexed ? job_beats : job_tile_beats;
  assign act_cols = IsIndexed ? 16'd1 : job_cols;

  // ---- memory -------------------------------------------------------------------------------------
  logic store_valid, store_ready;
  logic [DataW-1:0] store;
  assign dma_ready = to_dma_ready && running;
  assign store_ready = word_ready && running;
  assign record_word_ready = word_ready;

  sq_dma #(
    .DataW(DataW), .AddrW(sq_pkg::ADDR_W), .CountW(32), .DestW(SizeW + 3), .MaxBurst(MaxBurst), .Outstanding(Outstanding),
    .Writes(Writes), .Quiet(Quiet)
  ) u_dma (
    .clk_i, .rst_ni(rst_n),
    .job_valid_i((dma_valid && running) || record_valid), .job_ready_o(to_dma_ready),
    .job_first_i(dma_first && !record_valid), .job_write_i(dma_write || record_valid),
    .job_addr_i(record_valid ? record_addr : dma_addr), .job_beats_i(record_valid ? record_beats : dma_beats),
    .job_dest_i({dma_tail, dma_dest}),
    .in_valid_i(((store_valid || encode_word_valid || vector_word_valid || attend_word_valid) && running) || record_word_valid), .in_ready_o(word_ready),
    .in_data_i(record_word_valid ? record_word : encoding ? encode_word : vectoring ? vector_word : attending ? attend_word : store),
    .out_valid_o(load_valid), .out_ready_i(load_ready), .out_data_o(load), .out_dest_o({load_tail, load_dest}),
    .out_poison_o(load_poison), .out_last_o(load_last), .out_status_o(load_status),
    .axi_ar_valid_o(m_axi_arvalid), .axi_ar_ready_i(m_axi_arready), .axi_ar_addr_o(m_axi_araddr),
    .axi_ar_len_o(m_axi_arlen), .axi_ar_size_o(m_axi_arsize), .axi_ar_burst_o(m_axi_arburst),
    .axi_r_valid_i(m_axi_rvalid), .axi_r_ready_o(m_axi_rready), .axi_r_data_i(m_axi_rdata),
    .axi_r_resp_i(m_axi_rresp), .axi_r_last_i(m_axi_rlast),
    .axi_aw_valid_o(m_axi_awvalid), .axi_aw_ready_i(m_axi_awready), .axi_aw_addr_o(m_axi_awaddr),
    .axi_aw_len_o(m_axi_awlen), .axi_aw_size_o(m_axi_awsize), .axi_aw_burst_o(m_axi_awburst),
    .axi_w_valid_o(m_axi_wvalid), .axi_w_ready_i(m_axi_wready), .axi_w_data_o(m_axi_wdata),
    .axi_w_strb_o(m_axi_wstrb), .axi_w_last_o(m_axi_wlast),
    .axi_b_valid_i(m_axi_bvalid), .axi_b_ready_o(m_axi_bready), .axi_b_resp_i(m_axi_bresp),
    .abort_i(drain), .idle_o(idle), .write_done_o(write_done), .write_status_o(write_status)
  );
  assign {m_axi_arid, m_axi_awid} = {2{IdW'(Id)}};
  assign {m_axi_arlock, m_axi_awlock} = 2'b00;
  assign {m_axi_arcache, m_axi_awcache} = {2{4'b0011}};
  assign {m_axi_arprot, m_axi_awprot} = {2{3'(Prot)}};
  assign {m_axi_arqos, m_axi_awqos} = 8'd0;
  assign read_status = (load_valid && load_ready && load_poison) ? load_status : 3'd0;

  // ---- operands -----------------------------------------------------------------------------------
  logic [3:0] in_ready, valid, ready, wrong;
  logic [ActBits-1:0] act;
  logic [RowBits-1:0] row_scale;
  logic [WeightBits-1:0] weight;
  logic [ColBits-1:0] col_scale;
  always_comb begin
    case (drain ? 3'd4 : load_dest)
      3'd0: load_ready = in_ready[0];
      3'd1: load_ready = in_ready[1];
      3'd2: load_ready = in_ready[2];
      3'd3: load_ready = in_ready[3];
      3'd5: load_ready = encode_ready;
      3'd6: load_ready = vector_ready;
      3'd7: load_ready = attend_ready;
      default: load_ready = 1'b1;
    endcase
  end

  sq_top_operand #(.DataW(DataW), .Width(ActBits), .Depth(ActDepth), .Macro(Macro)) u_act (
    .clk_i, .rst_ni(core_rst_n), .job_valid_i(job_valid[0]), .job_ready_o(job_ready[0]), .job_rows_i(job_rows),
    .job_cols_i(act_cols), .job_beats_i(act_beats), .job_row_stride_i(ActAddrW'(act_beats)),
    .job_col_stride_i({ActAddrW{1'b0}}), .job_beat_stride_i(ActAddrW'(1)), .job_keep_i(keep_rows),
    .in_valid_i(load_valid && load_dest == 3'd0 && !drain), .in_ready_o(in_ready[0]), .in_data_i(load), .in_tail_i(load_tail),
    .in_poison_i(load_poison), .in_last_i(load_last),
    .out_valid_o(valid[0]), .out_ready_i(ready[0]), .out_data_o(act), .error_o(wrong[0])
  );
  sq_top_operand #(.DataW(DataW), .Width(RowBits), .Depth(RowDepth), .Macro(Macro)) u_row_scale (
    .clk_i, .rst_ni(core_rst_n), .job_valid_i(job_valid[1]), .job_ready_o(job_ready[1]), .job_rows_i(job_rows),
    .job_cols_i(act_cols), .job_beats_i(job_scale_beats), .job_row_stride_i(RowAddrW'(1)),
    .job_col_stride_i({RowAddrW{1'b0}}), .job_beat_stride_i({RowAddrW{1'b0}}), .job_keep_i(keep_row_scale),
    .in_valid_i(load_valid && load_dest == 3'd1 && !drain), .in_ready_o(in_ready[1]), .in_data_i(load), .in_tail_i(load_tail),
    .in_poison_i(load_poison), .in_last_i(load_last),
    .out_valid_o(valid[1]), .out_ready_i(ready[1]), .out_data_o(row_scale), .error_o(wrong[1])
  );
  sq_top_operand #(.DataW(DataW), .Width(WeightBits), .Depth(WeightDepth), .Macro(Macro)) u_weight (
    .clk_i, .rst_ni(core_rst_n), .job_valid_i(job_valid[2]), .job_ready_o(job_ready[2]), .job_rows_i(job_rows),
    .job_cols_i(act_cols), .job_beats_i(job_tile_beats), .job_row_stride_i({WeightAddrW{1'b0}}),
    .job_col_stride_i(WeightAddrW'(job_tile_beats)), .job_beat_stride_i(WeightAddrW'(1)), .job_keep_i(keep_cols),
    .in_valid_i(load_valid && load_dest == 3'd2 && !drain), .in_ready_o(in_ready[2]), .in_data_i(load), .in_tail_i(load_tail),
    .in_poison_i(load_poison), .in_last_i(load_last),
    .out_valid_o(valid[2]), .out_ready_i(ready[2]), .out_data_o(weight), .error_o(wrong[2])
  );
  sq_top_operand #(.DataW(DataW), .Width(ColBits), .Depth(ColDepth), .Macro(Macro)) u_col_scale (
    .clk_i, .rst_ni(core_rst_n), .job_valid_i(job_valid[3]), .job_ready_o(job_ready[3]), .job_rows_i(job_rows),
    .job_cols_i(job_cols), .job_beats_i(job_scale_beats), .job_row_stride_i({ColAddrW{1'b0}}),
    .job_col_stride_i(ColAddrW'(job_scale_beats)), .job_beat_stride_i(ColAddrW'(1)), .job_keep_i(keep_col_scale),
    .in_valid_i(load_valid && load_dest == 3'd3 && !drain), .in_ready_o(in_ready[3]), .in_data_i(load), .in_tail_i(load_tail),
    .in_poison_i(load_poison), .in_last_i(load_last),
    .out_valid_o(valid[3]), .out_ready_i(ready[3]), .out_data_o(col_scale), .error_o(wrong[3])
  );

  // Sums of outputs between two chunks of K: the engine fills a half while it reads the other one.
  logic keep_valid, keep_last, carry_valid, carry_ready, carry_wrong, sums_ready, unused_carry_last;
  logic [SumW-1:0] keep_sum, carry_sum;
  logic [sq_pkg::N_ERRORS-1:0] keep_error;
  if (IsIndexed) begin : gen_no_sums
    assign {job_ready[5], sums_ready, carry_valid, carry_wrong, unused_carry_last} = '0;
    assign carry_sum = '0;
    wire unused_sums = ^{job_valid[5], keep_sum, carry_ready};
  end else begin : gen_sums
    sq_operand_buffer #(.Width(SumW), .Depth(SumTiles * Slots), .CountW(16), .Macro(Macro)) u_sums (
      .clk_i, .rst_ni(core_rst_n), .job_valid_i(job_valid[5]), .job_ready_o(job_ready[5]), .job_base_i({SumAddrW{1'b0}}),
      .job_rows_i(16'd1), .job_cols_i(job_tiles), .job_beats_i(16'(Slots)),
      .job_row_stride_i({SumAddrW{1'b0}}), .job_col_stride_i(SumAddrW'(Slots)), .job_beat_stride_i(SumAddrW'(1)),
      .job_keep_i(1'b0), .in_valid_i(keep_valid), .in_ready_o(sums_ready), .in_data_i(keep_sum),
      .in_poison_i(1'b0), .in_last_i(keep_last),
      .out_valid_o(carry_valid), .out_ready_i(carry_ready), .out_data_o(carry_sum),
      .out_last_o(unused_carry_last), .error_o(carry_wrong)
    );
  end

  // ---- engine -------------------------------------------------------------------------------------
  logic y_valid, y_ready, y_last;
  logic [WordW-1:0] y;
  logic [sq_pkg::N_ERRORS-1:0] y_error;
  assign operand_error = |wrong || carry_wrong;
  // Counters are behind a register, so that no stall reaches them. Around a layer no operand is there.
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) begin
      busy_q <= 1'b0;
      missing_q <= 1'b1;
    end else begin
      busy_q <= vectoring ? vector_busy : attending ? attend_busy : IsIndexed ? valid[2] && ready[2] : valid[0] && ready[0];
      missing_q <= vectoring ? vector_wait : attending ? attend_wait : !(IsIndexed || valid[0]) || !valid[2];
    end
  end
  assign engine_errors = ((y_valid && y_ready && y_last) ? y_error : '0) |
                         ((keep_valid && keep_last) ? keep_error : '0) |
                         (encode_error ? 3'd1 : 3'd0);

  // The engine has a clock of its own. It stands still when no job is in the engine and none, nor an operand, is offered;
  // Tail cycles later, when what a job leaves in its registers has settled.
  localparam logic [3:0] Tail = 4'd15;
  logic engine_clk, has_work, runs, job_comes, outputs_end, sums_end;
  logic [3:0] inside_q, tail_q;  // jobs that the engine has taken, less those whose last outputs or sums have left it
  assign has_work = |valid || carry_valid || job_valid[4] || inside_q != '0;
  assign runs = has_work || tail_q != '0;
  assign job_comes = job_valid[4] && job_ready[4];
  assign outputs_end = y_valid && y_ready && y_last;
  assign sums_end = keep_valid && keep_last;
  always_ff @(posedge clk_i or negedge core_rst_n) begin
    if (!core_rst_n) begin
      inside_q <= '0;
      tail_q <= Tail;
    end else begin
      inside_q <= inside_q + 4'(job_comes) - 4'(outputs_end) - 4'(sums_end);
      tail_q <= has_work ? Tail : tail_q - 4'(tail_q != '0);
    end
  end
  sq_clock_gate #(.Gate(Gate)) u_gate (.clk_i, .en_i(runs), .test_en_i, .clk_o(engine_clk));

  if (IsIndexed) begin : gen_kept
    sq_top_gqsa #(.Rows(Rows), .GroupLen(BankLen), .GroupW(ActAddrW), .IsBf16(OutKind == sq_pkg::OUT_BFLOAT16 ? 1 : 0)) u_engine (
      .clk_i(engine_clk), .rst_ni(core_rst_n), .job_valid_i(job_valid[4]), .job_ready_o(job_ready[4]),
      .job_groups_i(act_beats), .job_rows_i(job_cols), .job_kept_i(desc[32*sq_regs_pkg::DESC_BEATS+16 +: 16]),
      .act_valid_i(valid[0]), .act_ready_o(ready[0]), .act_i(act), .row_valid_i(valid[1]), .row_ready_o(ready[1]),
      .row_i(row_scale), .weight_valid_i(valid[2]), .weight_ready_o(ready[2]), .weight_i(weight),
      .col_valid_i(valid[3]), .col_ready_o(ready[3]), .col_i(col_scale),
      .out_valid_o(y_valid), .out_ready_i(y_ready), .out_y_o(y), .out_last_o(y_last), .out_error_o(y_error)
    );
    assign {carry_ready, keep_valid, keep_last} = '0;
    assign keep_sum = '0;
    assign keep_error = '0;
    wire unused_job = ^{job_first, job_last, job_groups, job_tiles, job_part, carry_sum};
  end else begin : gen_engine
    logic scale_ready;
    assign ready[1] = scale_ready && valid[3];
    assign ready[3] = scale_ready && valid[1];
    if (IsScaled) begin : gen_scaled
      sq_top_scaled #(
        .Rows(Rows), .Cols(Cols), .BankLen(BankLen), .HighPerBank(HighPerBank), .High(High), .Element(Element),
        .Scale(Scale), .BlockSum(BlockSum), .OutKind(OutKind), .PortLen(PortLen)
      ) u_engine (
        .clk_i(engine_clk), .rst_ni(core_rst_n), .job_valid_i(job_valid[4]), .job_ready_o(job_ready[4]), .job_blocks_i(job_tile_beats),
        .job_tiles_i(job_tiles), .job_carry_i(!job_first), .job_keep_i(!job_last),
        .act_valid_i(valid[0]), .act_ready_o(ready[0]), .act_i(act), .weight_valid_i(valid[2]),
        .weight_ready_o(ready[2]), .weight_i(weight), .scale_valid_i(valid[1] && valid[3]),
        .scale_ready_o(scale_ready), .row_scale_i(row_scale), .col_scale_i(col_scale),
        .out_valid_o(y_valid), .out_ready_i(y_ready), .out_y_o(y), .out_last_o(y_last), .out_error_o(y_error),
        .carry_valid_i(carry_valid), .carry_ready_o(carry_ready), .carry_sum_i(carry_sum),
        .keep_valid_o(keep_valid), .keep_sum_o(keep_sum), .keep_last_o(keep_last), .keep_error_o(keep_error)
      );
      wire unused_counts = ^{job_beats, job_groups, job_part};
    end else begin : gen_array
      sq_top_array #(
        .Rows(Rows), .Cols(Cols), .BankLen(BankLen), .ActW(ActW), .WeightW(WeightW), .Layout(Layout),
        .HighPerBank(HighPerBank), .HighW(HighW), .OnActs(OnActs), .OneAcc(OneAcc), .Form(Form), .OutKind(OutKind),
        .PortLen(PortLen), .Parts(Parts)
      ) u_engine (
        .clk_i(engine_clk), .rst_ni(core_rst_n), .job_valid_i(job_valid[4]), .job_ready_o(job_ready[4]), .job_beats_i(job_beats), .job_groups_i(job_groups),
        .job_tiles_i(job_tiles), .job_carry_i(!job_first), .job_keep_i(!job_last), .job_part_i(job_part),
        .act_valid_i(valid[0]), .act_ready_o(ready[0]), .act_i(act), .weight_valid_i(valid[2]),
        .weight_ready_o(ready[2]), .weight_i(weight), .scale_valid_i(valid[1] && valid[3]),
        .scale_ready_o(scale_ready), .row_scale_i(row_scale), .col_scale_i(col_scale),
        .out_valid_o(y_valid), .out_ready_i(y_ready), .out_y_o(y), .out_last_o(y_last), .out_error_o(y_error),
        .carry_valid_i(carry_valid), .carry_ready_o(carry_ready), .carry_sum_i(carry_sum),
        .keep_valid_o(keep_valid), .keep_sum_o(keep_sum), .keep_last_o(keep_last), .keep_error_o(keep_error)
      );
    end
  end

  // ---- outputs ------------------------------------------------------------------------------------
  logic wide_valid, wide_ready;
  logic [1:0] unused_flags;
  logic [DataW-1:0] wide;
  sq_gear #(.InW(WordW), .OutW(DataW), .Flush(1'b1)) u_gear (
    .clk_i, .rst_ni(core_rst_n), .in_valid_i(y_valid), .in_ready_o(y_ready), .in_data_i(y),
    .in_tail_i({sq_pkg::index_w(WordW / 8){1'b0}}), .in_poison_i(1'b0),
    .in_last_i(y_last), .out_valid_o(wide_valid), .out_ready_i(wide_ready), .out_data_o(wide),
    .out_poison_o(unused_flags[0]), .out_last_o(unused_flags[1])
  );
  sq_fifo #(.Width(DataW), .Depth(MaxBurst < 2 ? 2 : MaxBurst)) u_store (
    .clk_i, .rst_ni(core_rst_n), .in_valid_i(wide_valid), .in_ready_o(wide_ready), .in_data_i(wide),
    .out_valid_o(store_valid), .out_ready_i(store_ready), .out_data_o(store)
  );
  wire unused_bits = ^{unused_flags, unused_carry_last, sums_ready, m_axi_rid, m_axi_bid, s_axil_awprot, s_axil_arprot};

  // The half that sums go to was read to its end before: those sums went into the tiles in front of these.
  `SQ_ASSERT_BEGIN
  `SQ_ASSERT(JobsAreCounted, !job_comes || inside_q != '1)
  `SQ_ASSERT(EndsOfAJob, !(outputs_end || sums_end) || inside_q != '0)
  `SQ_ASSERT(SumsHaveRoom, !keep_valid || sums_ready)

endmodule
