// SPDX-License-Identifier: Apache-2.0
// Techmap: $alu, the sum and difference of Yosys, as a chain of full adders (synth_front.ys).
(* techmap_celltype = "$alu" *)
module synth_alu (A, B, CI, BI, X, Y, CO);
  parameter A_SIGNED = 0;
  parameter B_SIGNED = 0;
  parameter A_WIDTH = 1;
  parameter B_WIDTH = 1;
  parameter Y_WIDTH = 1;
  (* force_downto *) input [A_WIDTH-1:0] A;
  (* force_downto *) input [B_WIDTH-1:0] B;
  (* force_downto *) output [Y_WIDTH-1:0] X, Y;
  input CI, BI;
  (* force_downto *) output [Y_WIDTH-1:0] CO;
  (* force_downto *) wire [Y_WIDTH-1:0] AA, BB;
  \$pos #(.A_SIGNED(A_SIGNED), .A_WIDTH(A_WIDTH), .Y_WIDTH(Y_WIDTH)) A_conv (.A(A), .Y(AA));
  (* force_downto *) wire [Y_WIDTH-1:0] B_buf;
  \$pos #(.A_SIGNED(B_SIGNED), .A_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH)) B_conv (.A(B), .Y(B_buf));
  assign BB = BI ? ~B_buf : B_buf;
  wire [Y_WIDTH:0] C;
  assign C[0] = CI;
  genvar i;
  generate for (i = 0; i < Y_WIDTH; i = i + 1) begin: slice
    assign X[i] = AA[i] ^ BB[i];
    assign Y[i] = X[i] ^ C[i];
    assign C[i+1] = (AA[i] & BB[i]) | (X[i] & C[i]);
    assign CO[i] = C[i+1];
  end endgenerate
endmodule
