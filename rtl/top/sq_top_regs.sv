// SPDX-License-Identifier: Apache-2.0
// The registers of sq_top behind AXI4-Lite (docs/registers.md): a start, a status, an interrupt, and
// counters that run while a layer does.
//
//   write  address and data may come in any order; the write is done, and answered, when both are there
//   read   answered in the cycle behind its address
// Each channel keeps one transfer, and no ready depends on a valid. An address that is in no row of the
// table, a write to what can only be read, a write of less than a word, and a start while a layer runs
// are answered with SLVERR and change nothing.
// A counter has 64 bits. A read of its register gives the low ones and keeps the high ones of that cycle in
// COUNTER_HIGH.
`include "sq_assert.svh"

module sq_top_regs #(
  // what the chip is
  parameter int unsigned Rows = 2,
  parameter int unsigned Cols = 2,
  parameter int unsigned BankLen = 16,
  parameter int unsigned ActW = 8,
  parameter int unsigned WeightW = 8,
  parameter int unsigned HighW = 4,
  parameter int unsigned HighPerBank = 1,
  parameter int unsigned Layout = 0,
  parameter int unsigned OnActs = 0,
  parameter int unsigned OneAcc = 1,
  parameter int unsigned Form = 0,
  parameter int unsigned OutKind = sq_pkg::OUT_BINARY32,
  parameter int unsigned Element = 0,
  parameter int unsigned Scale = 0,
  parameter int unsigned High = 0,
  parameter int unsigned ActDepth = 256,
  parameter int unsigned RowDepth = 256,
  parameter int unsigned WeightDepth = 256,
  parameter int unsigned ColDepth = 256,
  parameter int unsigned SumTiles = 16,
  parameter int unsigned Parts = 1,
  parameter int unsigned DataW = 64,
  parameter int unsigned Encode = 0,
  parameter int unsigned Vector = 0,
  parameter int unsigned Attend = 0,
  parameter int unsigned CountStart = 0  // where counters begin: other than 0 in tests of their carries
) (
  input  logic        clk_i, rst_ni,
  // AXI4-Lite
  input  logic        lite_aw_valid_i,
  output logic        lite_aw_ready_o,
  input  logic [7:0]  lite_aw_addr_i,
  input  logic        lite_w_valid_i,
  output logic        lite_w_ready_o,
  input  logic [31:0] lite_w_data_i,
  input  logic [3:0]  lite_w_strb_i,
  output logic        lite_b_valid_o,
  input  logic        lite_b_ready_i,
  output logic [1:0]  lite_b_resp_o,
  input  logic        lite_ar_valid_i,
  output logic        lite_ar_ready_o,
  input  logic [7:0]  lite_ar_addr_i,
  output logic        lite_r_valid_o,
  input  logic        lite_r_ready_i,
  output logic [31:0] lite_r_data_o,
  output logic [1:0]  lite_r_resp_o,
  output logic        irq_o,
  // the layer
  output logic        start_o,       // for a cycle
  output logic [sq_pkg::ADDR_W-1:0] descriptor_o,  // its address
  output logic        ring_o,        // the ring has descriptors
  output logic        abort_o,       // for a cycle
  output logic        rewind_o,      // for a cycle
  output logic [sq_pkg::ADDR_W-1:0] base_o,
  output logic [15:0] size_o, tail_o,
  output logic [31:0] watchdog_o,
  input  logic [15:0] head_i,
  input  logic        begin_i,       // each for a cycle: a layer begins, has ended, nothing runs any more
  input  logic        end_i, done_i,
  input  logic        notice_i,      // the interrupt
  input  logic        aborting_i,
  input  logic        run_i,         // while the layer runs
  output logic [511:0] record_o,     // of the layer that has ended
  // what happens in a cycle
  input  logic        refused_i, aborted_i, expired_i, operand_i,
  input  logic [2:0]  read_status_i,   // 0: nothing wrong
  input  logic [2:0]  write_status_i, engine_i,
  input  logic        busy_i,   // the engine takes operands
  input  logic        wait_i,   // an operand is missing
  input  logic        read_i,   // a beat came
  input  logic        write_i,  // a beat went
  input  logic        read_wait_i,  // a beat could come, one could not be taken, an address or a beat could not go
  input  logic        read_full_i, write_wait_i
);

  localparam logic [1:0] Slverr = 2'b10;
  if (Rows > 255 || Cols > 255 || BankLen > 65535 || ActW > 255 || WeightW > 255 || OutKind > 255 || HighW > 255 ||
      HighPerBank > 65535 || Layout > 15 || OnActs > 1 || OneAcc > 1 || Form > 3 ||
      (sq_pkg::element_kind(Element) != sq_pkg::ELEMENT_TABLE && Element > 255) || Scale > 255 ||
      High > 255 || ActDepth > 65535 || RowDepth > 65535 || WeightDepth > 65535 || ColDepth > 65535 ||
      SumTiles > 65535 || Parts > 1) begin : gen_bad
    $error("each parameter in its field of docs/registers.md");
  end

  // ---- writes -------------------------------------------------------------------------------------
  logic aw_q, w_q, write, write_ok, start;
  logic [7:0] aw_addr_q;
  logic [31:0] aw_word, w_data_q;
  logic [3:0] w_strb_q;
  logic busy_q, ring_q, begins_ring, bad;
  logic [1:0] irq_enable_q, irq_state_q;
  logic [sq_pkg::ADDR_W-1:0] descriptor_q, base_q;
  logic [31:0] watchdog_q;
  logic [15:0] size_q, tail_q;

  assign lite_aw_ready_o = !aw_q;
  assign lite_w_ready_o = !w_q;
  assign write = aw_q && w_q && !lite_b_valid_o;

  always_comb begin
    case (aw_word)
      sq_regs_pkg::REG_CONTROL: write_ok = !busy_q || !w_data_q[sq_regs_pkg::REG_CONTROL_START_LOW];
      sq_regs_pkg::REG_RING_BASE,
      sq_regs_pkg::REG_RING_BASE_HIGH,
      sq_regs_pkg::REG_RING_SIZE: write_ok = !busy_q;
      sq_regs_pkg::REG_TAIL: write_ok = w_data_q < 32'(size_q) && !(busy_q && !ring_q) && !aborting_i &&
                                       (sq_pkg::ADDR_W+1)'(base_q) + (sq_pkg::ADDR_W+1)'({size_q, 7'd0}) <= (sq_pkg::ADDR_W+1)'(1) << sq_pkg::ADDR_W;
      sq_regs_pkg::REG_WATCHDOG,
      sq_regs_pkg::REG_IRQ_ENABLE,
      sq_regs_pkg::REG_IRQ_STATE,
      sq_regs_pkg::REG_DESCRIPTOR,
      sq_regs_pkg::REG_DESCRIPTOR_HIGH: write_ok = 1'b1;
      default: write_ok = 1'b0;
    endcase
    if (w_strb_q != 4'hf) write_ok = 1'b0;
    if (aw_addr_q[1:0] != 2'b00) write_ok = 1'b0;
  end
  assign aw_word = 32'(aw_addr_q[7:2]);
  assign start = write && write_ok && aw_word == sq_regs_pkg::REG_CONTROL && w_data_q[0];
  assign start_o = start;
  assign descriptor_o = descriptor_q;
  assign abort_o = write && write_ok && aw_word == sq_regs_pkg::REG_CONTROL &&
                   w_data_q[sq_regs_pkg::REG_CONTROL_ABORT_LOW] && busy_q;
  assign rewind_o = write && write_ok && (aw_word == sq_regs_pkg::REG_RING_BASE || aw_word == sq_regs_pkg::REG_RING_BASE_HIGH ||
                    aw_word == sq_regs_pkg::REG_RING_SIZE);
  assign tail_o = (write && write_ok && aw_word == sq_regs_pkg::REG_TAIL) ? w_data_q[15:0] : tail_q;
  assign begins_ring = write && write_ok && aw_word == sq_regs_pkg::REG_TAIL && !busy_q && w_data_q[15:0] != head_i;
  assign ring_o = busy_q && ring_q;
  assign base_o = base_q;
  assign size_o = size_q;
  assign watchdog_o = watchdog_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      aw_q <= 1'b0;
      w_q <= 1'b0;
      lite_b_valid_o <= 1'b0;
      busy_q <= 1'b0;
      ring_q <= 1'b0;
      irq_enable_q <= '0;
      irq_state_q <= '0;
      descriptor_q <= '0;
      base_q <= '0;
      size_q <= '0;
      tail_q <= '0;
      watchdog_q <= '0;
    end else begin
      if (lite_aw_ready_o) aw_q <= lite_aw_valid_i;
      else if (write) aw_q <= 1'b0;
      if (lite_w_ready_o) w_q <= lite_w_valid_i;
      else if (write) w_q <= 1'b0;
      if (write) lite_b_valid_o <= 1'b1;
      else if (lite_b_ready_i) lite_b_valid_o <= 1'b0;
      if (start || begins_ring) begin
        busy_q <= 1'b1;
        ring_q <= begins_ring;
      end else if (done_i) busy_q <= 1'b0;
      if (write && write_ok && aw_word == sq_regs_pkg::REG_IRQ_ENABLE) irq_enable_q <= w_data_q[1:0];
      if (write && write_ok && aw_word == sq_regs_pkg::REG_DESCRIPTOR) descriptor_q[31:0] <= w_data_q;
      if (write && write_ok && aw_word == sq_regs_pkg::REG_DESCRIPTOR_HIGH)
        descriptor_q[sq_pkg::ADDR_W-1:32] <= w_data_q[sq_pkg::ADDR_W-33:0];
      if (write && write_ok && aw_word == sq_regs_pkg::REG_RING_BASE) base_q[31:0] <= {w_data_q[31:7], 7'd0};
      if (write && write_ok && aw_word == sq_regs_pkg::REG_RING_BASE_HIGH)
        base_q[sq_pkg::ADDR_W-1:32] <= w_data_q[sq_pkg::ADDR_W-33:0];
      if (write && write_ok && aw_word == sq_regs_pkg::REG_RING_SIZE) size_q <= w_data_q[15:0];
      if (write && write_ok && aw_word == sq_regs_pkg::REG_WATCHDOG) watchdog_q <= w_data_q;
      tail_q <= rewind_o ? '0 : tail_o;
      if (notice_i) irq_state_q[0] <= 1'b1;
      else if (write && write_ok && aw_word == sq_regs_pkg::REG_IRQ_STATE && w_data_q[0])
        irq_state_q[0] <= 1'b0;
      if (end_i && bad) irq_state_q[1] <= 1'b1;
      else if (write && write_ok && aw_word == sq_regs_pkg::REG_IRQ_STATE && w_data_q[1])
        irq_state_q[1] <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (lite_aw_ready_o) aw_addr_q <= lite_aw_addr_i;
    if (lite_w_ready_o) begin
      w_data_q <= lite_w_data_i;
      w_strb_q <= lite_w_strb_i;
    end
    if (write) lite_b_resp_o <= write_ok ? 2'b00 : Slverr;
  end
  assign irq_o = |(irq_enable_q & irq_state_q);

  // ---- status and counters ------------------------------------------------------------------------
  localparam int unsigned Counters = 9;
  logic refused_q, operand_q, aborted_q, expired_q;
  logic [2:0] read_status_q, write_status_q, engine_q;
  logic [63:0] cycles_q, busy_cycles_q, wait_cycles_q, blocked_cycles_q, read_beats_q, write_beats_q;
  logic [63:0] read_wait_q, read_full_q, write_wait_q;
  logic [Counters*64-1:0] count_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      refused_q <= 1'b0;
      operand_q <= 1'b0;
      aborted_q <= 1'b0;
      expired_q <= 1'b0;
      read_status_q <= 3'd0;
      write_status_q <= 3'd0;
      engine_q <= 3'd0;
    end else if (begin_i) begin
      refused_q <= 1'b0;
      operand_q <= 1'b0;
      aborted_q <= 1'b0;
      expired_q <= 1'b0;
      read_status_q <= 3'd0;
      write_status_q <= 3'd0;
      engine_q <= 3'd0;
    end else if (run_i) begin
      refused_q <= refused_q || refused_i;
      aborted_q <= aborted_i;
      expired_q <= expired_i;
      operand_q <= operand_q || operand_i;
      if (read_status_q == 3'd0) read_status_q <= read_status_i;
      if (write_status_q == 3'd0) write_status_q <= write_status_i;
      engine_q <= engine_q | engine_i;
    end else if (end_i && write_status_q == 3'd0) begin
      write_status_q <= write_status_i;  // of the record
    end
  end
  logic [Counters-1:0] counts;  // in this cycle
  assign counts = {write_wait_i, read_full_i, read_wait_i, write_i, read_i, !busy_i && !wait_i, wait_i, busy_i, 1'b1};
  for (genvar i = 0; i < Counters; i++) begin : gen_count
    sq_top_count #(.Start(CountStart)) u_count (
      .clk_i, .rst_ni, .begin_i, .add_i(run_i && counts[i]), .count_o(count_q[i*64 +: 64])
    );
  end
  assign {write_wait_q, read_full_q, read_wait_q, write_beats_q, read_beats_q, blocked_cycles_q, wait_cycles_q, busy_cycles_q,
          cycles_q} = count_q;
  assign bad = refused_q || operand_q || aborted_q || expired_q || read_status_q != 3'd0 || write_status_q != 3'd0 ||
               engine_q != 3'd0 || write_status_i != 3'd0 ||
               (run_i && (refused_i || operand_i || read_status_i != 3'd0 || engine_i != 3'd0));

  // ---- reads --------------------------------------------------------------------------------------
  logic read_ok, is_count, ar_fire;
  logic [31:0] read_data, status, high_q;
  logic [63:0] count;
  assign lite_ar_ready_o = !lite_r_valid_o;
  assign ar_fire = lite_ar_valid_i && lite_ar_ready_o;

  always_comb begin
    status = '0;
    status[sq_regs_pkg::REG_STATUS_BUSY_LOW] = busy_q;
    status[sq_regs_pkg::REG_STATUS_REFUSED_LOW] = refused_q;
    status[sq_regs_pkg::REG_STATUS_OPERAND_LOW] = operand_q;
    status[sq_regs_pkg::REG_STATUS_ABORTED_LOW] = aborted_q;
    status[sq_regs_pkg::REG_STATUS_EXPIRED_LOW] = expired_q;
    status[sq_regs_pkg::REG_STATUS_READ_LOW +: 3] = read_status_q;
    status[sq_regs_pkg::REG_STATUS_WRITTEN_LOW +: 3] = write_status_q;
    status[sq_regs_pkg::REG_STATUS_ENGINE_LOW +: 3] = engine_q;
  end
  assign record_o = {64'd0, write_beats_q, read_beats_q, blocked_cycles_q, wait_cycles_q, busy_cycles_q, cycles_q,
                     16'd0, head_i, 1'b1, status[30:1], 1'b0};
  always_comb begin
    read_ok = lite_ar_addr_i[1:0] == 2'b00;
    is_count = 1'b0;
    count = '0;
    read_data = '0;
    case (32'(lite_ar_addr_i[7:2]))
      sq_regs_pkg::REG_ID: read_data = sq_regs_pkg::ID_VALUE;
      sq_regs_pkg::REG_VERSION: read_data = sq_regs_pkg::VERSION_VALUE;
      sq_regs_pkg::REG_ARRAY: read_data = {16'(BankLen), 8'(Cols), 8'(Rows)};
      sq_regs_pkg::REG_CODES: read_data = {6'd0, Vector != 0, Encode != 0, 8'(OutKind), 8'(WeightW), 8'(ActW)};
      sq_regs_pkg::REG_ATTEND: read_data = 32'(Attend);
      sq_regs_pkg::REG_ENGINE:
        read_data = {16'(HighPerBank), 8'(HighW), 2'(Form), 1'(OneAcc), 1'(OnActs), 4'(Layout)};
      sq_regs_pkg::REG_SCALED: read_data = {8'd0, 8'(High), 8'(Scale), 8'(sq_pkg::element_kind(Element))};
      sq_regs_pkg::REG_BUFFER: read_data = {16'(WeightDepth), 16'(ActDepth)};
      sq_regs_pkg::REG_SCALES: read_data = {16'(ColDepth), 16'(RowDepth)};
      sq_regs_pkg::REG_SUMS: read_data = {15'd0, 1'(Parts), 16'(SumTiles)};
      sq_regs_pkg::REG_BUS: read_data = DataW / 8;
      sq_regs_pkg::REG_CONTROL: read_data = '0;
      sq_regs_pkg::REG_STATUS: read_data = status;
      sq_regs_pkg::REG_IRQ_ENABLE: read_data = {30'd0, irq_enable_q};
      sq_regs_pkg::REG_IRQ_STATE: read_data = {30'd0, irq_state_q};
      sq_regs_pkg::REG_DESCRIPTOR: read_data = descriptor_q[31:0];
      sq_regs_pkg::REG_DESCRIPTOR_HIGH: read_data = 32'(descriptor_q[sq_pkg::ADDR_W-1:32]);
      sq_regs_pkg::REG_RING_BASE: read_data = base_q[31:0];
      sq_regs_pkg::REG_RING_BASE_HIGH: read_data = 32'(base_q[sq_pkg::ADDR_W-1:32]);
      sq_regs_pkg::REG_RING_SIZE: read_data = {16'd0, size_q};
      sq_regs_pkg::REG_HEAD: read_data = {16'd0, head_i};
      sq_regs_pkg::REG_TAIL: read_data = {16'd0, tail_q};
      sq_regs_pkg::REG_WATCHDOG: read_data = watchdog_q;
      sq_regs_pkg::REG_CYCLES: {is_count, count} = {1'b1, cycles_q};
      sq_regs_pkg::REG_BUSY_CYCLES: {is_count, count} = {1'b1, busy_cycles_q};
      sq_regs_pkg::REG_WAIT_CYCLES: {is_count, count} = {1'b1, wait_cycles_q};
      sq_regs_pkg::REG_BLOCKED_CYCLES: {is_count, count} = {1'b1, blocked_cycles_q};
      sq_regs_pkg::REG_READ_BEATS: {is_count, count} = {1'b1, read_beats_q};
      sq_regs_pkg::REG_WRITE_BEATS: {is_count, count} = {1'b1, write_beats_q};
      sq_regs_pkg::REG_READ_WAIT: {is_count, count} = {1'b1, read_wait_q};
      sq_regs_pkg::REG_READ_FULL: {is_count, count} = {1'b1, read_full_q};
      sq_regs_pkg::REG_WRITE_WAIT: {is_count, count} = {1'b1, write_wait_q};
      sq_regs_pkg::REG_COUNTER_HIGH: read_data = high_q;
      default: read_ok = 1'b0;
    endcase
    if (is_count) read_data = count[31:0];
    if (!read_ok) read_data = '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) lite_r_valid_o <= 1'b0;
    else if (lite_ar_ready_o) lite_r_valid_o <= lite_ar_valid_i;
    else if (lite_r_ready_i) lite_r_valid_o <= 1'b0;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) high_q <= '0;
    else if (ar_fire && read_ok && is_count) high_q <= count[63:32];
  end
  always_ff @(posedge clk_i) begin
    if (ar_fire) begin
      lite_r_data_o <= read_data;
      lite_r_resp_o <= read_ok ? 2'b00 : Slverr;
    end
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(BHeld, lite_b_valid_o, lite_b_ready_i, lite_b_resp_o)
  `SQ_HELD(RHeld, lite_r_valid_o, lite_r_ready_i, {lite_r_data_o, lite_r_resp_o})
  `SQ_ASSERT(DoneOfLayer, busy_q || !done_i)

endmodule
