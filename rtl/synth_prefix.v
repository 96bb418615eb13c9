// SPDX-License-Identifier: Apache-2.0
// Techmap: $alu of more than `RIPPLE bits as a parallel prefix adder (Sklansky: ceil(log2 bits)
// levels). Shorter ones are left to synth_alu.v.
(* techmap_celltype = "$alu" *)
module synth_prefix (A, B, CI, BI, X, Y, CO);
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
  wire _TECHMAP_FAIL_ = Y_WIDTH <= `RIPPLE;
  (* force_downto *) wire [Y_WIDTH-1:0] AA, BB, B_ext;
  \$pos #(.A_SIGNED(A_SIGNED), .A_WIDTH(A_WIDTH), .Y_WIDTH(Y_WIDTH)) A_conv (.A(A), .Y(AA));
  \$pos #(.A_SIGNED(B_SIGNED), .A_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH)) B_conv (.A(B), .Y(B_ext));
  assign BB = BI ? ~B_ext : B_ext;
  assign X = AA ^ BB;

  // Level j knows generate and propagate of bit i down to the multiple of 2^j at or below it; the
  // carry input is the generate of bit 0.
  localparam W = Y_WIDTH;
  localparam LEVELS = $clog2(W);
  wire [(LEVELS+1)*W-1:0] g, p;
  assign p[W-1:0] = X;
  assign g[0] = (AA[0] & BB[0]) | (X[0] & CI);
  genvar i, j;
  generate
    for (i = 1; i < W; i = i + 1) begin: first
      assign g[i] = AA[i] & BB[i];
    end
    for (j = 0; j < LEVELS; j = j + 1) begin: level
      for (i = 0; i < W; i = i + 1) begin: slice
        if ((i >> j) & 1) begin
          assign g[(j+1)*W+i] = g[j*W+i] | (p[j*W+i] & g[j*W+((i>>j)<<j)-1]);
          assign p[(j+1)*W+i] = p[j*W+i] & p[j*W+((i>>j)<<j)-1];
        end else begin
          assign g[(j+1)*W+i] = g[j*W+i];
          assign p[(j+1)*W+i] = p[j*W+i];
        end
      end
    end
  endgenerate
  assign CO = g[LEVELS*W +: W];
  assign Y = X ^ ((CO << 1) | CI);
endmodule
