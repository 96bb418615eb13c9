// SPDX-License-Identifier: Apache-2.0
// From a descriptor that goes to a unit of the chip to its end: looks at the regions of memory that the unit uses, one in
// each cycle, refuses what ends beyond 2^ADDR_W or begins beside a beat of the bus, and says when the unit may run.
//
//   start_i   the descriptor is there, and stays; sound_i: all else that is asked of it holds
//   run_o     the unit runs, until all_done_i
//   done_o    for a cycle; with refused_o nothing has happened
module sq_top_check #(
  parameter  int unsigned DataW = 64,
  parameter  int unsigned Parts = 5,  // regions, at most 5
  localparam int unsigned SizeW = $clog2(DataW / 8),
  localparam int unsigned AddrW = sq_pkg::ADDR_W
) (
  input  logic                   clk_i, rst_ni, start_i, sound_i,
  input  logic                   all_done_i,
  // regions: whether it is used, its begin, rows less one, beats of the bus from a row to the next, beats of a row
  input  logic [Parts-1:0]       used_i,
  input  logic [Parts*AddrW-1:0] addr_i,
  input  logic [Parts*16-1:0]    rows_less_i, stride_i,
  input  logic [Parts*32-1:0]    beats_i,
  output logic                   run_o, done_o, refused_o
);

  localparam logic [AddrW:0] MemoryBeats = (AddrW+1)'(1) << (AddrW - SizeW);
  typedef enum logic [1:0] {IDLE, CHECK, RUN} state_e;
  state_e state_q;
  logic [2:0] check_q;
  logic [31:0] product_q, beats_q, mux_beats;
  logic [15:0] mux_stride, mux_rows;
  logic [AddrW-1:0] base_q, mux_addr;
  logic [AddrW:0] end_q;
  logic [1:0] used_q;
  logic mux_used, good_q, aligned, last_check;
  always_comb begin
    {mux_used, mux_addr, mux_rows, mux_stride, mux_beats} = '0;
    aligned = 1'b1;
    for (int unsigned p = 0; p < Parts; p++) begin
      if (check_q == 3'(p)) begin
        mux_used = used_i[p];
        mux_addr = addr_i[p*AddrW +: AddrW];
        mux_rows = rows_less_i[p*16 +: 16];
        mux_stride = stride_i[p*16 +: 16];
        mux_beats = beats_i[p*32 +: 32];
      end
      if (used_i[p] && addr_i[p*AddrW +: SizeW] != '0) aligned = 1'b0;
    end
  end
  assign last_check = state_q == CHECK && check_q == 3'd7;
  assign refused_o = last_check && !good_q;
  assign run_o = state_q == RUN;
  assign done_o = refused_o || (run_o && all_done_i);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= IDLE;
    else
      case (state_q)
        IDLE: if (start_i) state_q <= CHECK;
        CHECK: if (last_check) state_q <= good_q ? RUN : IDLE;
        default: if (all_done_i) state_q <= IDLE;
      endcase
  end
  // The product of rows and stride, the end, the verdict.
  always_ff @(posedge clk_i) begin
    check_q <= (state_q == CHECK) ? check_q + 1'b1 : '0;
    product_q <= 32'(mux_rows) * 32'(mux_stride);
    {beats_q, base_q} <= {mux_beats, mux_addr};
    end_q <= (AddrW+1)'(product_q) + (AddrW+1)'(beats_q) + ((AddrW+1)'(base_q) >> SizeW);
    used_q <= {used_q[0], mux_used};
    if (state_q == IDLE) good_q <= sound_i && aligned;
    else if (state_q == CHECK && check_q >= 3'd2 && used_q[1] && end_q > MemoryBeats) good_q <= 1'b0;
  end

endmodule
