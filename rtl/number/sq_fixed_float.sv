// SPDX-License-Identifier: Apache-2.0
// A total of sq_acc_fixed as the nearest binary32, ties to even, in units of 2^-Fraction: what stands behind the PEs, once
// for each lane of outputs. Carry > 0: first its saved carries are added, each to the segment that it goes into.
// Cut = 1: a register behind that addition and one inside sq_fp_round.
module sq_fixed_float #(
  parameter  int unsigned Width = 62,  // of the total with its carries, 27..64
  parameter  int unsigned Carry = 16,
  parameter  int unsigned Fraction = 20,
  parameter  bit          Cut = 1'b0,
  localparam int unsigned AccW = (Carry != 0) ? Width - (Width - 1) / (Carry + 1) : Width
) (
  input  logic             clk_i,  // Cut
  input  logic             en_i,
  input  logic [Width-1:0] a_i,
  output logic [31:0]      y_o
);

  logic [AccW-1:0] resolved, whole;
  if (Carry != 0) begin : gen_carries
    logic [AccW-1:0] carries;
    always_comb begin
      carries = '0;
      for (int unsigned i = 0; i < Width - AccW; i++) carries[(i+1)*Carry] = a_i[AccW+i];
    end
    assign resolved = a_i[AccW-1:0] + carries;
  end else begin : gen_whole
    assign resolved = a_i;
  end
  sq_delay #(.Width(AccW), .Stages(Cut ? 1 : 0)) u_resolved (.clk_i, .en_i, .x_i(resolved), .x_o(whole));
  sq_fp_from_int #(.Width(AccW), .Fraction(Fraction), .Cut(Cut)) u_float (.clk_i, .en_i, .a_i(whole), .y_o);

endmodule
