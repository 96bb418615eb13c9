// SPDX-License-Identifier: Apache-2.0
// The engine of SQ on activations with one mask for all tokens (SPEC B.5): sq_engine_array where the mask is
// wired, as in sq_array_static. The channels of a bank are stored in the order of the codes, those of
// low precision first, and so are the weights. There is no error of masks.
module sq_engine_static #(
  parameter  int unsigned Rows = 2,
  parameter  int unsigned Cols = 2,
  parameter  int unsigned Banks = 1,
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighPerBank = 4,
  parameter  int unsigned OneAcc = 0,
  parameter  int unsigned WeightW = 4,
  parameter  int unsigned LowW = 4,
  parameter  int unsigned HighW = 8,
  // output stage
  parameter  int unsigned Lanes = 2,
  parameter  int unsigned Form = sq_pkg::COMBINE_SCALED,
  parameter  int unsigned OutKind = sq_pkg::OUT_BINARY32,
  parameter  int unsigned PortLen = 1,
  parameter  int unsigned Depth = 2,
  parameter  int unsigned Hold = 0,
  localparam int unsigned LowLen = BankLen - HighPerBank,
  localparam int unsigned OutW = sq_pkg::out_w(OutKind)
) (
  input  logic                                    clk_i, rst_ni,
  // jobs, all counts >= 1
  input  logic                                    job_valid_i,
  output logic                                    job_ready_o,
  input  logic [15:0]                             job_beats_i, job_groups_i, job_tiles_i,
  // Banks banks of all tokens
  input  logic                                    act_valid_i,
  output logic                                    act_ready_o,
  input  logic [Rows*Banks*LowLen*LowW-1:0]       act_low_i,
  input  logic [Rows*Banks*HighPerBank*HighW-1:0] act_high_i,
  // ... and of all output channels, low channels of each bank first
  input  logic                                    weight_valid_i,
  output logic                                    weight_ready_o,
  input  logic [Cols*Banks*BankLen*WeightW-1:0]   weight_code_i,
  // scales of a group
  input  logic                                    scale_valid_i,
  output logic                                    scale_ready_o,
  input  logic [Cols*32-1:0]                      scale_col_lo_i, scale_col_hi_i,
  input  logic [Rows*32-1:0]                      scale_row_lo_i, scale_row_hi_i,
  // outputs
  output logic                                    out_valid_o,
  input  logic                                    out_ready_i,
  output logic [PortLen*OutW-1:0]                 out_y_o,
  output logic                                    out_last_o,  // of the job
  output logic [sq_pkg::N_ERRORS-1:0]             out_error_o
);

  localparam logic [BankLen-1:0] Mask = {{HighPerBank{1'b1}}, {LowLen{1'b0}}};

  sq_engine_array #(
    .Rows(Rows), .Cols(Cols), .Banks(Banks), .BankLen(BankLen), .HighPerBank(HighPerBank),
    .Layout(sq_pkg::LAYOUT_COMPACT), .OnActs(1), .OneAcc(OneAcc), .PlainW(WeightW), .LowW(LowW),
    .HighW(HighW), .Lanes(Lanes), .Form(Form), .OutKind(OutKind), .PortLen(PortLen), .Depth(Depth),
    .Hold(Hold)
  ) u_engine (
    .clk_i, .rst_ni,
    .job_valid_i, .job_ready_o, .job_beats_i, .job_groups_i, .job_tiles_i,
    .job_carry_i(1'b0), .job_keep_i(1'b0), .job_part_i(2'b00),
    .plain_valid_i(weight_valid_i), .plain_ready_o(weight_ready_o), .plain_code_i(weight_code_i),
    .coded_valid_i(act_valid_i), .coded_ready_o(act_ready_o), .coded_low_i(act_low_i),
    .coded_high_i(act_high_i), .coded_mask_i({(Rows * Banks){Mask}}),
    .scale_valid_i, .scale_ready_o,
    .scale_col_lo_i, .scale_col_hi_i, .scale_row_lo_i, .scale_row_hi_i,
    .out_valid_o, .out_ready_i, .out_y_o, .out_last_o, .out_error_o,
    .carry_valid_i(1'b0), .carry_ready_o(), .carry_sum_i({(Lanes * 32){1'b0}}),
    .keep_valid_o(), .keep_sum_o(), .keep_last_o(), .keep_error_o()
  );

endmodule
