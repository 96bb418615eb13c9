// SPDX-License-Identifier: Apache-2.0
// A processor beside the chip: a PicoRV32 with memory of its own, sq_top, and a memory that both share. What the program
// writes to one register leaves; the addresses are those of lib/firmware/sq_text.c. params.svh: parameters of sq_top.
module sq_soc #(
  parameter int unsigned Words = 1 << 18  // of 64 bits, of the shared memory
) (
  input  logic        clk_i, rst_ni,
  output logic        out_valid_o,  // a token, or with out_end_o how it ended
  output logic        out_end_o,
  output logic [31:0] out_data_o
);
  logic [31:0] program_mem[16384];
  logic [63:0] shared_mem[Words];
  initial begin
    $readmemh("program.hex", program_mem);
    $readmemh("image.hex", shared_mem);
  end

  // ---- the processor ------------------------------------------------------------------------------
  logic valid, ready_q, unused_instr;
  logic [31:0] addr, wdata, rdata_q;
  logic [3:0] wstrb;
  picorv32 #(.ENABLE_MUL(1), .ENABLE_DIV(1), .BARREL_SHIFTER(1)) u_cpu (
    .clk(clk_i), .resetn(rst_ni), .mem_valid(valid), .mem_instr(unused_instr), .mem_ready(ready_q),
    .mem_addr(addr), .mem_wdata(wdata), .mem_wstrb(wstrb), .mem_rdata(rdata_q),
    .pcpi_wr(1'b0), .pcpi_rd('0), .pcpi_wait(1'b0), .pcpi_ready(1'b0), .irq('0)
  );
  // AXI4-Lite: one access at a time.
  logic lite_q, awvalid_q, wvalid_q, arvalid_q, awready, wready, arready, bvalid, rvalid, access;
  logic [31:0] rdata;
  assign access = valid && !ready_q && !lite_q;
  assign out_valid_o = access && addr[31:28] == 4'h1 && wstrb != '0;
  assign out_end_o = addr[2];
  assign out_data_o = wdata;
  always_ff @(posedge clk_i) begin
    ready_q <= access && addr[31:28] != 4'h2;
    if (access && addr[31:28] == 4'h0) begin
      rdata_q <= program_mem[addr[15:2]];
      for (int unsigned i = 0; i < 4; i++) if (wstrb[i]) program_mem[addr[15:2]][8*i +: 8] <= wdata[8*i +: 8];
    end else if (access && addr[31:28] == 4'h8) rdata_q <= addr[2] ? shared_mem[addr[$clog2(Words)+2:3]][63:32] : shared_mem[addr[$clog2(Words)+2:3]][31:0];
    if (access && addr[31:28] == 4'h2) begin
      lite_q <= 1'b1;
      awvalid_q <= wstrb != '0;
      wvalid_q <= wstrb != '0;
      arvalid_q <= wstrb == '0;
    end
    if (awvalid_q && awready) awvalid_q <= 1'b0;
    if (wvalid_q && wready) wvalid_q <= 1'b0;
    if (arvalid_q && arready) arvalid_q <= 1'b0;
    if (lite_q && (bvalid || rvalid)) begin
      lite_q <= 1'b0;
      ready_q <= 1'b1;
      rdata_q <= rdata;
    end
    if (!rst_ni) {ready_q, lite_q, awvalid_q, wvalid_q, arvalid_q} <= '0;
  end

  // ---- the chip and the memory: a burst at a time of each direction ----------------------------------
  logic m_arvalid, m_awvalid, m_wvalid, m_wlast, m_rready, m_bready, w_busy_q, b_valid_q;
  logic [47:0] m_araddr, m_awaddr, r_addr_q, w_addr_q;
  logic [7:0] m_arlen;
  logic [63:0] m_wdata;
  logic [7:0] m_wstrb;
  logic [8:0] r_left_q;
  sq_top #(
    `include "params.svh"
  ) u_top (
    .clk_i, .rst_ni, .test_en_i(1'b0),
    .s_axil_awvalid(awvalid_q), .s_axil_awready(awready), .s_axil_awaddr(addr[7:0]), .s_axil_awprot('0),
    .s_axil_wvalid(wvalid_q), .s_axil_wready(wready), .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
    .s_axil_bvalid(bvalid), .s_axil_bready(lite_q), .s_axil_bresp(),
    .s_axil_arvalid(arvalid_q), .s_axil_arready(arready), .s_axil_araddr(addr[7:0]), .s_axil_arprot('0),
    .s_axil_rvalid(rvalid), .s_axil_rready(lite_q), .s_axil_rdata(rdata), .s_axil_rresp(),
    .irq_o(),
    .m_axi_arvalid(m_arvalid), .m_axi_arready(r_left_q == '0), .m_axi_arid(), .m_axi_araddr(m_araddr), .m_axi_arlen(m_arlen),
    .m_axi_arsize(), .m_axi_arburst(), .m_axi_arlock(), .m_axi_arcache(), .m_axi_arprot(), .m_axi_arqos(),
    .m_axi_rvalid(r_left_q != '0), .m_axi_rready(m_rready), .m_axi_rid('0), .m_axi_rdata(shared_mem[r_addr_q[$clog2(Words)+2:3]]),
    .m_axi_rresp('0), .m_axi_rlast(r_left_q == 9'd1),
    .m_axi_awvalid(m_awvalid), .m_axi_awready(!w_busy_q && !b_valid_q), .m_axi_awid(), .m_axi_awaddr(m_awaddr), .m_axi_awlen(),
    .m_axi_awsize(), .m_axi_awburst(), .m_axi_awlock(), .m_axi_awcache(), .m_axi_awprot(), .m_axi_awqos(),
    .m_axi_wvalid(m_wvalid), .m_axi_wready(w_busy_q), .m_axi_wdata(m_wdata), .m_axi_wstrb(m_wstrb), .m_axi_wlast(m_wlast),
    .m_axi_bvalid(b_valid_q), .m_axi_bready(m_bready), .m_axi_bid('0), .m_axi_bresp('0)
  );
  always_ff @(posedge clk_i) begin
    if (r_left_q == '0 && m_arvalid) begin
      r_left_q <= 9'(m_arlen) + 9'd1;
      r_addr_q <= m_araddr;
    end else if (r_left_q != '0 && m_rready) begin
      r_left_q <= r_left_q - 9'd1;
      r_addr_q <= r_addr_q + 48'd8;
    end
    if (m_awvalid && !w_busy_q && !b_valid_q) begin
      w_busy_q <= 1'b1;
      w_addr_q <= m_awaddr;
    end else if (w_busy_q && m_wvalid) begin
      for (int unsigned i = 0; i < 8; i++) if (m_wstrb[i]) shared_mem[w_addr_q[$clog2(Words)+2:3]][8*i +: 8] <= m_wdata[8*i +: 8];
      w_addr_q <= w_addr_q + 48'd8;
      w_busy_q <= !m_wlast;
      b_valid_q <= m_wlast;
    end
    if (b_valid_q && m_bready) b_valid_q <= 1'b0;
    if (access && addr[31:28] == 4'h8)
      for (int unsigned i = 0; i < 4; i++)
        if (wstrb[i]) shared_mem[addr[$clog2(Words)+2:3]][32*32'(addr[2])+8*i +: 8] <= wdata[8*i +: 8];
    if (!rst_ni) begin
      r_left_q <= '0;
      {w_busy_q, b_valid_q} <= '0;
    end
  end
endmodule
