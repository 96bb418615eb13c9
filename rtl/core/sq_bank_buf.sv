// SPDX-License-Identifier: Apache-2.0
// Double buffer of one bank. Steps of `Lanes` elements collect in the fill half; the last step moves
// them, together with itself, to the bank half, which holds until the next bank is complete. The
// fill half therefore stores all steps but the last. No reset: the control knows what is valid.
module sq_bank_buf #(
  parameter  int unsigned Lanes = 16,
  parameter  int unsigned BankLen = 32,
  parameter  int unsigned Width = 8,  // bits per element
  localparam int unsigned Steps = sq_pkg::ceil_div(BankLen, Lanes),
  localparam int unsigned StepW = sq_pkg::index_w(Steps)
) (
  input  logic                     clk_i,
  input  logic                     step_valid_i,
  input  logic [StepW-1:0]         step_i,       // which step of the bank
  input  logic                     step_last_i,  // it is the last
  input  logic [Lanes*Width-1:0]   data_i,       // element 0 of the step in the low bits
  output logic [BankLen*Width-1:0] bank_o        // the last complete bank
);

  localparam int unsigned Kept = (Steps - 1) * Lanes;  // elements in the fill half
  localparam int unsigned Tail = BankLen - Kept;  // elements of the last step

  logic [BankLen*Width-1:0] bank_q;

  if (Steps == 1) begin : gen_one_step
    wire unused_step = ^step_i;
    always_ff @(posedge clk_i) begin
      if (step_valid_i && step_last_i) bank_q <= data_i[0 +: BankLen*Width];
    end
  end else begin : gen_steps
    logic [Kept*Width-1:0] fill_q;
    for (genvar s = 0; s < Steps - 1; s++) begin : gen_fill
      always_ff @(posedge clk_i) begin
        if (step_valid_i && step_i == StepW'(s)) begin
          fill_q[s*Lanes*Width +: Lanes*Width] <= data_i;
        end
      end
    end
    always_ff @(posedge clk_i) begin
      if (step_valid_i && step_last_i) bank_q <= {data_i[0 +: Tail*Width], fill_q};
    end
  end

  if (Tail < Lanes) begin : gen_surplus
    logic unused_lanes;  // surplus lanes of the last step; used by the other steps if there are any
    assign unused_lanes = ^data_i[Lanes*Width-1 : Tail*Width];
  end

  assign bank_o = bank_q;

endmodule
