// SPDX-License-Identifier: Apache-2.0
// The largest of BankLen keys by knock-out, its place one-hot; ties to the lowest index.
// Combinational.
//
// Heap order: node n is the larger one of nodes 2n+1 and 2n+2, the last BankLen nodes are the keys.
// Back from node 0 the winners of the winners lead to one key.
module sq_topk_first #(
  parameter int unsigned BankLen = 16,  // a power of two, so that a left node has the lower indices
  parameter int unsigned KeyW = 8
) (
  input  logic [BankLen*KeyW-1:0] key_i,  // unsigned, element 0 in the low bits
  output logic [BankLen-1:0]      first_o,
  output logic [KeyW-1:0]         max_o
);

  if (BankLen < 2 || 2 ** $clog2(BankLen) != BankLen) begin : gen_bad
    $error("BankLen is a power of two");
  end

  logic [KeyW-1:0] node[2*BankLen-1];
  logic is_left[BankLen-1], is_way[2*BankLen-1];
  always_comb begin
    for (int unsigned i = 0; i < BankLen; i++) node[BankLen-1+i] = key_i[i*KeyW +: KeyW];
    for (int unsigned i = 1; i < BankLen; i++) begin
      is_left[BankLen-1-i] = node[2*(BankLen-1-i)+1] >= node[2*(BankLen-1-i)+2];
      node[BankLen-1-i] =
          is_left[BankLen-1-i] ? node[2*(BankLen-1-i)+1] : node[2*(BankLen-1-i)+2];
    end
    is_way[0] = 1'b1;
    for (int unsigned n = 0; n < BankLen - 1; n++) begin
      is_way[2*n+1] = is_way[n] && is_left[n];
      is_way[2*n+2] = is_way[n] && !is_left[n];
    end
    for (int unsigned i = 0; i < BankLen; i++) first_o[i] = is_way[BankLen-1+i];
  end
  assign max_o = node[0];

endmodule
