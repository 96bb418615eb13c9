// SPDX-License-Identifier: Apache-2.0
// What a block loses at one candidate for its scale: a sum of squared errors in integers (SPEC Q.5d). Combinational.
//
// Magnitudes q_i have 8 bits in units of the largest one's last place (exponent exp_i). The step S, the
// scale in the same units, is its significand shifted up. Of each element the nearest value v S / 2 is found by
// halving, v in halves of E2M1 or INT4; |2 q - v S| counts up to 127.
//   HasFifth   RAZER: where fifth_i, 5 is a value as well
module sq_block_error #(
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned Element = sq_pkg::ELEMENT_INT4,  // or E2M1
  parameter  int unsigned HasFifth = 0,
  localparam int unsigned SumW = 14 + $clog2(BankLen)  // of squares of seven bits
) (
  input  logic [BankLen*8-1:0] q_i,  // element 0 in the low bits
  input  logic [BankLen-1:0]   fifth_i,
  input  logic [7:0]           exp_i,    // at least 1
  input  logic [6:0]           scale_i,  // E4M3 without sign
  output logic [SumW-1:0]      sum_o
);

  if (Element != sq_pkg::ELEMENT_INT4 && Element != sq_pkg::ELEMENT_E2M1) begin : gen_bad
    $error("errors are those of INT4 and E2M1");
  end

  // ---- S ----------------------------------------------------------------------------------------
  // At 1024 all that is nearer than 0 is beyond the reach of q.
  localparam logic signed [9:0] Base = 10'sd124;  // 127 + 7 fraction bits of q, less 10 of the scale
  localparam logic signed [9:0] UpMax = 10'sd10;
  logic signed [9:0] shift;
  logic [3:0] sig, up;
  logic [13:0] wide;
  logic [10:0] step;
  assign sig = {scale_i[6:3] != '0, scale_i[2:0]};
  assign shift = Base + $signed({6'd0, scale_i[6:3] == '0 ? 4'd1 : scale_i[6:3]}) - $signed({2'b0, exp_i});
  assign up = shift < 0 ? 4'd0 : shift > UpMax ? UpMax[3:0] : shift[3:0];
  assign wide = {10'd0, sig} << up;
  assign step = wide[13:10] != '0 ? 11'd1024 : wide[10:0];

  // ---- values, and the middles between them -------------------------------------------------------
  // 4 q is compared with the sum of two neighbours times S. Ten bits hold what can be passed.
  logic [9:0] value[8], middle[7];
  for (genvar i = 0; i < 8; i++) begin : gen_value
    localparam int unsigned V = halves(i);
    logic [15:0] product;
    logic unused_top;
    assign product = 16'(step) * 16'(V);
    assign value[i] = product[9:0];
    assign unused_top = ^product[15:10];
    if (i > 0) begin : gen_middle
      logic [15:0] sum;
      assign sum = 16'(step) * 16'(V + halves(i - 1));
      assign middle[i-1] = sum[15:10] != '0 ? '1 : sum[9:0];
    end
  end
  logic [15:0] fifth;
  logic [9:0] fifth_value;
  assign fifth = 16'(step) * 16'd10;
  assign fifth_value = fifth[15:10] != '0 ? '1 : fifth[9:0];

  // ---- elements -----------------------------------------------------------------------------------
  logic [SumW-1:0] node[2*BankLen-1];
  logic [BankLen*14-1:0] square;
  for (genvar i = 0; i < BankLen; i++) begin : gen_element
    logic [7:0] q;
    logic [9:0] nearest;
    logic index2, index1, index0;
    logic [6:0] error, magnitude;
    assign q = q_i[i*8 +: 8];
    assign index2 = {q, 2'b0} > middle[3];
    assign index1 = {q, 2'b0} > (index2 ? middle[5] : middle[1]);
    assign index0 = {q, 2'b0} > (index2 ? (index1 ? middle[6] : middle[4])
                                            : (index1 ? middle[2] : middle[0]));
    always_comb begin
      case ({index2, index1, index0})
        3'd0: nearest = value[0];
        3'd1: nearest = value[1];
        3'd2: nearest = value[2];
        3'd3: nearest = value[3];
        3'd4: nearest = value[4];
        3'd5: nearest = value[5];
        3'd6: nearest = value[6];
        default: nearest = value[7];
      endcase
    end
    assign error = distance(q, nearest);
    if (HasFifth != 0) begin : gen_fifth
      logic [6:0] other;
      assign other = distance(q, fifth_value);
      assign magnitude = (fifth_i[i] && other < error) ? other : error;
    end else begin : gen_no_fifth
      wire unused_fifth = fifth_i[i];
      assign magnitude = error;
    end
    assign square[i*14 +: 14] = squared(magnitude);
  end
  if (HasFifth == 0) begin : gen_unused
    wire unused_value = ^fifth_value;
  end

  always_comb begin
    for (int unsigned i = 0; i < BankLen; i++) node[BankLen-1+i] = SumW'(square[i*14 +: 14]);
    for (int unsigned i = 1; i < BankLen; i++) begin
      node[BankLen-1-i] = node[2*(BankLen-1-i)+1] + node[2*(BankLen-1-i)+2];
    end
  end
  assign sum_o = node[0];

  // Values of the eight magnitudes, in halves.
  function automatic int unsigned halves(int unsigned index);
    halves = 2 * index;
    if (Element == sq_pkg::ELEMENT_E2M1) begin
      case (index)
        5: halves = 6;
        6: halves = 8;
        7: halves = 12;
        default: halves = index;
      endcase
    end
  endfunction

  // |2 q - v|, 127 at most.
  function automatic logic [6:0] distance(logic [7:0] q, logic [9:0] v);
    logic [10:0] difference;
    logic [9:0] size;
    difference = {2'b0, q, 1'b0} - {1'b0, v};
    size = difference[10] ? 10'd0 - difference[9:0] : difference[9:0];
    distance = size[9:7] != '0 ? '1 : size[6:0];
  endfunction

  // A bit times itself is itself, two different ones stand twice.
  function automatic logic [13:0] squared(logic [6:0] m);
    squared = '0;
    for (int unsigned i = 0; i < 7; i++) begin
      if (m[i]) squared = squared + ((14'(m) >> (i + 1)) << (2 * i + 2)) + (14'd1 << (2 * i));
    end
  endfunction

endmodule
