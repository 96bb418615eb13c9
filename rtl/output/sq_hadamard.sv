// SPDX-License-Identifier: Apache-2.0
// Rotation of activations in front of an encoder (SPEC Q.6): every Len elements times the Hadamard
// matrix, over the root of Len. Elements are bfloat16, finite. Sums are binary32, or integers with
// one exponent where Bits says of how many (sq_hadamard_integer, 3 stages). In binary32:
//
//   x  ->  stage 1: a + b, a - b of neighbours  ->  stage 2: of distance 2  ->  ...  ->  log2(Len)
//      ->  times 1 / sqrt(Len), rounded to bfloat16 where IsBf16  ->  y
//
// Every sum is rounded once, in a stage of its own; the stages move together and stop while the
// output is not taken. Latency log2(Len) + 1, of integers 3; Len elements a cycle.
`include "sq_assert.svh"

module sq_hadamard #(
  parameter  int unsigned Len = 16,    // 2..32, a power of two
  parameter  int unsigned IsBf16 = 1,  // what leaves: bfloat16 or binary32
  parameter  int unsigned Bits = 0,    // 0: binary32 sums; 9..16: of integers, Len 4 or 16
  localparam int unsigned OutW = (IsBf16 != 0) ? 16 : 32
) (
  input  logic                clk_i, rst_ni,
  // elements of one token, 0 in the low bits
  input  logic                in_valid_i,
  output logic                in_ready_o,
  input  logic [Len*16-1:0]   in_x_i,
  // the same, rotated
  output logic                out_valid_o,
  input  logic                out_ready_i,
  output logic [Len*OutW-1:0] out_y_o
);

  localparam int unsigned Stages = $clog2(Len);
  localparam int unsigned Depth = (Bits != 0) ? 3 : Stages + 1;  // registers from x to y

  if (Len < 2 || Len > 32 || (Len & (Len - 1)) != 0) begin : gen_bad
    $error("Len is a power of two, 2..32");
  end

  // (float)(1 / sqrt(Len)): a power of two, or 1 / sqrt(2) = 0x3f3504f3 over one.
  localparam int unsigned Halves = Stages / 2;
  localparam logic [31:0] Unit = ((Stages & 1) != 0) ? 32'h3f3504f3 - (Halves << 23)
                                                    : 32'h3f800000 - (Halves << 23);

  logic advance;
  logic [Depth-1:0] valid_q;
  assign advance = !valid_q[Depth-1] || out_ready_i;
  assign in_ready_o = advance;
  assign out_valid_o = valid_q[Depth-1];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (advance) valid_q <= {valid_q[Depth-2:0], in_valid_i};
  end

  if (Bits != 0) begin : gen_integer
    sq_hadamard_integer #(.Len(Len), .Bits(Bits), .IsBf16(IsBf16)) u_rotate (
      .clk_i, .advance_i(advance), .x_i(in_x_i), .y_o(out_y_o)
    );
  end else begin : gen_binary32_sums
    logic [(Stages+1)*Len*32-1:0] x;  // in front of every stage, and behind the last
    for (genvar i = 0; i < Len; i++) begin : gen_in
      assign x[i*32 +: 32] = {in_x_i[i*16 +: 16], 16'd0};
    end
    for (genvar s = 0; s < Stages; s++) begin : gen_stage
      for (genvar i = 0; i < Len; i++) begin : gen_sum
        localparam int unsigned Near = s*Len + (i & ~(1 << s));  // a; b is 2^s behind it
        localparam int unsigned Far = Near + (1 << s);
        localparam bit IsDifference = (i & (1 << s)) != 0;
        logic [31:0] sum, sum_q;
        sq_fp_add u_add (
          .clk_i(1'b0), .en_i(1'b0),
          .a_i(x[Near*32 +: 32]), .b_i(x[Far*32 +: 32] ^ {IsDifference, 31'd0}), .y_o(sum)
        );
        always_ff @(posedge clk_i) begin
          if (advance) sum_q <= sum;
        end
        assign x[((s+1)*Len + i)*32 +: 32] = sum_q;
      end
    end

    for (genvar i = 0; i < Len; i++) begin : gen_out
      logic [31:0] y;
      logic [OutW-1:0] out, out_q;
      sq_fp_mul u_unit (
        .clk_i(1'b0), .en_i(1'b0), .a_i(x[(Stages*Len + i)*32 +: 32]), .b_i(Unit), .y_o(y));
      if (IsBf16 != 0) begin : gen_bf16
        logic unused_low;
        logic [31:0] rounded;
        assign rounded = y + 32'h7fff + 32'(y[16]);
        assign out = rounded[31:16];
        assign unused_low = ^rounded[15:0];
      end else begin : gen_binary32
        assign out = y;
      end
      always_ff @(posedge clk_i) begin
        if (advance) out_q <= out;
      end
      assign out_y_o[i*OutW +: OutW] = out_q;
    end
  end

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, out_y_o)

endmodule
