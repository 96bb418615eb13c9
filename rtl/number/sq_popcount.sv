// SPDX-License-Identifier: Apache-2.0
// Number of ones, combinational. Heap order: node n counts its own bit and the nodes 2n+1 and 2n+2,
// so that every adder uses its carry input and a full adder removes one bit.
module sq_popcount #(
  parameter  int unsigned Width = 16,
  localparam int unsigned CountW = $clog2(Width + 1)
) (
  input  logic [Width-1:0]  bit_i,
  output logic [CountW-1:0] count_o
);

  logic [CountW-1:0] node[2*Width+1];  // the second half stays 0: children of leaves
  always_comb begin
    for (int unsigned n = Width; n < 2 * Width + 1; n++) node[n] = '0;
    for (int unsigned i = 0; i < Width; i++) begin
      node[Width-1-i] =
          node[2*(Width-1-i)+1] + node[2*(Width-1-i)+2] + CountW'(bit_i[Width-1-i]);
    end
  end
  assign count_o = node[0];

endmodule
