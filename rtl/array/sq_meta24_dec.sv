// SPDX-License-Identifier: Apache-2.0
// 2:4 metadata of one group of four (SPEC E.2): nibble i0 | i1 << 2 with i0 < i1 into the select
// controls of sq_gather_mux (one-hot crossbar, bank of 4, two lanes). The ten other nibbles raise
// error_o and select nothing. Combinational.
module sq_meta24_dec (
  input  logic [3:0] meta_i,
  output logic [7:0] ctl_o,   // [3:0] element of value 0, [7:4] of value 1
  output logic       error_o
);

  assign error_o = meta_i[1:0] >= meta_i[3:2];
  for (genvar i = 0; i < 4; i++) begin : gen_elem
    assign ctl_o[i] = !error_o && meta_i[1:0] == 2'(i);
    assign ctl_o[4+i] = !error_o && meta_i[3:2] == 2'(i);
  end

endmodule
