// SPDX-License-Identifier: Apache-2.0
// sq_top as a system takes it: ports by the names of the AXI specification, m_axi_* the manager of its memory, s_axil_*
// its registers. Transactions carry the identifier Id, so that their answers come in order; they are data, secure and
// unprivileged (PROT 000b), and may be buffered, not cached (CACHE 0011b). Of the registers PROT says nothing.
module sq_chip #(
  parameter  int unsigned DataW = 64,
  parameter  int unsigned Rows = 2,
  parameter  int unsigned Cols = 2,
  parameter  int unsigned BankLen = 4,
  parameter  int unsigned ActW = 8,
  parameter  int unsigned WeightW = 8,
  parameter  int unsigned Layout = sq_pkg::LAYOUT_DENSE,
  parameter  int unsigned HighPerBank = 1,
  parameter  int unsigned HighW = 4,
  parameter  int unsigned OnActs = 0,
  parameter  int unsigned OneAcc = 1,
  parameter  int unsigned Form = sq_pkg::COMBINE_ONE,
  parameter  int unsigned OutKind = sq_pkg::OUT_BINARY32,
  parameter  int unsigned PortLen = 1,
  parameter  int unsigned ActDepth = 64,
  parameter  int unsigned RowDepth = 64,
  parameter  int unsigned WeightDepth = 64,
  parameter  int unsigned ColDepth = 64,
  parameter  int unsigned SumTiles = 16,
  parameter  int unsigned MaxBurst = 16,
  parameter  int unsigned Outstanding = 4,
  parameter  int unsigned Quiet = 400,
  parameter  int unsigned Macro = 0,
  parameter  int unsigned Element = sq_pkg::ELEMENT_INT4,
  parameter  int unsigned Scale = sq_pkg::SCALE_NONE,
  parameter  int unsigned High = sq_pkg::HIGH_SPLIT,
  parameter  int unsigned CountStart = 0,
  parameter  int unsigned Parts = 1,
  parameter  int unsigned IdW = 1,  // bits of an identifier
  parameter  int unsigned Id = 0,
  localparam int unsigned Bytes = DataW / 8
) (
  input  logic             clk_i,
  input  logic             rst_ni,
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
  output logic [31:0]      m_axi_araddr,
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
  output logic [31:0]      m_axi_awaddr,
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

  sq_top #(
    .DataW(DataW), .Rows(Rows), .Cols(Cols), .BankLen(BankLen), .ActW(ActW), .WeightW(WeightW), .Layout(Layout),
    .HighPerBank(HighPerBank), .HighW(HighW), .OnActs(OnActs), .OneAcc(OneAcc), .Form(Form), .OutKind(OutKind),
    .PortLen(PortLen), .ActDepth(ActDepth), .RowDepth(RowDepth), .WeightDepth(WeightDepth),
    .ColDepth(ColDepth), .SumTiles(SumTiles), .MaxBurst(MaxBurst), .Outstanding(Outstanding), .Quiet(Quiet), .Macro(Macro),
    .Element(Element), .Scale(Scale), .High(High), .CountStart(CountStart), .Parts(Parts)
  ) u_top (
    .clk_i, .rst_ni,
    .lite_aw_valid_i(s_axil_awvalid), .lite_aw_ready_o(s_axil_awready), .lite_aw_addr_i(s_axil_awaddr),
    .lite_w_valid_i(s_axil_wvalid), .lite_w_ready_o(s_axil_wready), .lite_w_data_i(s_axil_wdata),
    .lite_w_strb_i(s_axil_wstrb), .lite_b_valid_o(s_axil_bvalid), .lite_b_ready_i(s_axil_bready),
    .lite_b_resp_o(s_axil_bresp), .lite_ar_valid_i(s_axil_arvalid), .lite_ar_ready_o(s_axil_arready),
    .lite_ar_addr_i(s_axil_araddr), .lite_r_valid_o(s_axil_rvalid), .lite_r_ready_i(s_axil_rready),
    .lite_r_data_o(s_axil_rdata), .lite_r_resp_o(s_axil_rresp), .irq_o,
    .axi_ar_valid_o(m_axi_arvalid), .axi_ar_ready_i(m_axi_arready), .axi_ar_addr_o(m_axi_araddr),
    .axi_ar_len_o(m_axi_arlen), .axi_ar_size_o(m_axi_arsize), .axi_ar_burst_o(m_axi_arburst),
    .axi_r_valid_i(m_axi_rvalid), .axi_r_ready_o(m_axi_rready), .axi_r_data_i(m_axi_rdata),
    .axi_r_resp_i(m_axi_rresp), .axi_r_last_i(m_axi_rlast),
    .axi_aw_valid_o(m_axi_awvalid), .axi_aw_ready_i(m_axi_awready), .axi_aw_addr_o(m_axi_awaddr),
    .axi_aw_len_o(m_axi_awlen), .axi_aw_size_o(m_axi_awsize), .axi_aw_burst_o(m_axi_awburst),
    .axi_w_valid_o(m_axi_wvalid), .axi_w_ready_i(m_axi_wready), .axi_w_data_o(m_axi_wdata),
    .axi_w_strb_o(m_axi_wstrb), .axi_w_last_o(m_axi_wlast),
    .axi_b_valid_i(m_axi_bvalid), .axi_b_ready_o(m_axi_bready), .axi_b_resp_i(m_axi_bresp)
  );
  if (IdW < 1 || IdW > 32 || (IdW < 32 && Id >> IdW != 0)) begin : gen_bad
    $error("IdW = 1..32, Id in IdW bits");
  end
  assign {m_axi_arid, m_axi_awid} = {2{IdW'(Id)}};
  assign {m_axi_arlock, m_axi_awlock} = 2'b00;
  assign {m_axi_arcache, m_axi_awcache} = {2{4'b0011}};
  assign {m_axi_arprot, m_axi_awprot} = 6'd0;
  assign {m_axi_arqos, m_axi_awqos} = 8'd0;

  logic unused;
  assign unused = ^{m_axi_rid, m_axi_bid, s_axil_awprot, s_axil_arprot};

endmodule
