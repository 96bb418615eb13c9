// SPDX-License-Identifier: Apache-2.0
// Split codes on activations with a dynamic mask: a mask unit per row and bank in front of sq_array.
// Weights wait beside the activations, so that both meet. With the rank TopK a beat enters per cycle
// and the MACs never wait for a mask. The radix TopK takes 9 cycles a bank; only reusing stored
// masks 9 times or more hides it (SPEC C.4; sq_array_stored).
module sq_array_dynamic #(
  parameter int unsigned Rows = 2,
  parameter int unsigned Cols = 2,
  parameter int unsigned Banks = 1,
  parameter int unsigned BankLen = 16,
  parameter int unsigned HighPerBank = 4,
  parameter int unsigned WeightW = 4,
  parameter int unsigned AccW = 32,
  parameter int unsigned Topk = sq_pkg::TOPK_RANK,
  parameter int unsigned Gather = sq_pkg::GATHER_CROSSBAR
) (
  input  logic                                 clk_i,
  input  logic                                 rst_ni,
  // Banks banks of all lines
  input  logic                                 in_valid_i,
  output logic                                 in_ready_o,
  input  logic                                 in_last_i,    // the last of its group
  input  logic [Rows*Banks*BankLen*8-1:0]      in_act_i,     // code + 8 (sq_act_split)
  input  logic [Cols*Banks*BankLen*WeightW-1:0] in_weight_i,
  // tiles
  output logic                                 out_valid_o,
  input  logic                                 out_ready_i,
  output logic [Rows*Cols*AccW-1:0]            out_p_o
);

  localparam int unsigned Units = Rows * Banks;
  localparam int unsigned WeightsW = Cols * Banks * BankLen * WeightW;

  // All mask units move in lock step.
  logic [Units-1:0] front_ready, front_valid;
  logic array_ready;
  logic [Units*BankLen*4-1:0] low, high;
  logic [Units*BankLen-1:0] mask;

  for (genvar i = 0; i < Units; i++) begin : gen_front
    sq_act_split #(.BankLen(BankLen), .HighPerBank(HighPerBank), .Topk(Topk)) u_split (
      .clk_i, .rst_ni,
      .in_valid_i, .in_ready_o(front_ready[i]), .in_code_i(in_act_i[i*BankLen*8 +: BankLen*8]),
      .out_valid_o(front_valid[i]), .out_ready_i(array_ready),
      .out_low_o(low[i*BankLen*4 +: BankLen*4]), .out_high_o(high[i*BankLen*4 +: BankLen*4]),
      .out_mask_o(mask[i*BankLen +: BankLen])
    );
  end
  assign in_ready_o = front_ready[0];

  logic last;
  logic [WeightsW-1:0] weight, weight_q;
  logic last_q;
  always_ff @(posedge clk_i) begin
    if (in_ready_o) begin
      weight_q <= in_weight_i;
      last_q <= in_last_i;
    end
  end
  if (Topk == sq_pkg::TOPK_RANK) begin : gen_two
    logic [WeightsW-1:0] weight_q2;
    logic last_q2;
    always_ff @(posedge clk_i) begin
      if (in_ready_o) begin
        weight_q2 <= weight_q;
        last_q2 <= last_q;
      end
    end
    assign weight = weight_q2;
    assign last = last_q2;
  end else begin : gen_one
    assign weight = weight_q;
    assign last = last_q;
  end

  // One sum, p_hi is 0; a TopK mask has k ones, so nothing is malformed.
  sq_array #(
    .Rows(Rows), .Cols(Cols), .Banks(Banks), .BankLen(BankLen), .HighPerBank(HighPerBank),
    .HighLen(BankLen), .Layout(sq_pkg::LAYOUT_SPLIT), .OnActs(1), .OneAcc(1),
    .PlainW(WeightW), .LowW(4), .HighW(4), .AccW(AccW), .Gather(Gather)
  ) u_array (
    .clk_i, .rst_ni,
    .in_valid_i(front_valid[0]), .in_ready_o(array_ready), .in_last_i(last),
    .in_plain_i(weight), .in_low_i(low), .in_high_i(high), .in_mask_i(mask),
    .out_valid_o, .out_ready_i, .out_p_lo_o(out_p_o), .out_p_hi_o(),
    .out_error_o()
  );

  logic unused_lock_step;
  assign unused_lock_step = ^{front_ready, front_valid};

endmodule
