// SPDX-License-Identifier: Apache-2.0
// The engine of block-scaled formats (SPEC Q): MX formats and MX+, NVFP4, NVINT4, NVINT5, IF4, RaZeR, and banks
// with high elements, on the side of the activations or (WeightHigh) on both. Stored bits in, outputs
// out:
//
//   act     blocks of all rows ------[Encode: sq_act_blocks]--+
//   weight  blocks of all columns ----------------------------+-> array -> sq_output -> words
//   scale   binary32, above the blocks of columns and rows -----------------^
// A job is `tiles` tiles of outputs of `blocks` beats of both operands and a beat of scales each.
// Encode = 1: activations come as bfloat16, divided by what stands above their blocks (SPEC Q.5b):
// a constant of the layer, or known of the token since the layer before put it out.
//
// The array is sq_array_scaled, or sq_array_parts where both sides have high elements, or those
// of the activations have codes of their own; this one gives a total for each pair of parts, which go
// through the output stage one after the other: the scales are those of their parts.
//
// Sums = 1: outputs may come of several jobs along K. A tile of a job with job_carry_i begins with the
// totals that come on `carry`, a tile a beat; those of a job with job_keep_i leave on `keep`, Lanes a
// beat in the same order (pairs of parts, PEs), and take no word of outputs. Whoever listens has room.
//
// A beat that is malformed counts as the array says; its kind comes out with the outputs of its
// tile and all later ones of the job, complete with the last word: CODE (no value), SCALE (no
// number; an activation that is not finite), MASK (other than HighPerBank high elements, a place in a
// block of scale 0).
//
// Acc, AccW, Cut, Carry: what adds up the blocks (sq_pe_scaled). Exact totals become binary32 in the output stage, one
// rounding each; they have no parts and go into no later job.
`include "sq_assert.svh"

module sq_engine_scaled #(
  parameter  int unsigned Rows = 2,
  parameter  int unsigned Cols = 2,
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned HighPerBank = 0,
  parameter  int unsigned High = sq_pkg::HIGH_SPLIT,
  parameter  int unsigned WeightHigh = 0,
  parameter  int unsigned ActElement = sq_pkg::ELEMENT_E2M1,
  parameter  int unsigned WeightElement = sq_pkg::ELEMENT_E2M1,
  parameter  int unsigned ActScale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned WeightScale = sq_pkg::SCALE_E4M3,
  parameter  int unsigned Encode = 0,
  parameter  int unsigned Topk = sq_pkg::TOPK_RANK,  // Encode
  parameter  int unsigned Acc = sq_pkg::ACC_BINARY32,
  parameter  int unsigned AccW = 32,
  parameter  int unsigned Cut = 0,
  parameter  int unsigned Carry = 0,
  // output stage
  parameter  int unsigned Lanes = 2,
  parameter  int unsigned OutKind = sq_pkg::OUT_BINARY32,
  parameter  int unsigned PortLen = 1,
  parameter  int unsigned Depth = 2,
  parameter  int unsigned Hold = 0,
  parameter  int unsigned Sums = 0,
  localparam bit          HasHigh = HighPerBank > 0,
  localparam bit          IsSplit = High == sq_pkg::HIGH_SPLIT,
  localparam int unsigned HighLanes = HasHigh ? HighPerBank : 1,
  localparam int unsigned MaskW = (HasHigh && IsSplit) ? BankLen : 1,
  localparam int unsigned PlaceW = sq_pkg::index_w(BankLen),
  localparam int unsigned ActScaleW = sq_pkg::scale_code_w(ActScale),
  localparam int unsigned WeightScaleW = sq_pkg::scale_code_w(WeightScale),
  localparam int unsigned ActSubW = sq_pkg::sub_port_w(ActElement),
  localparam int unsigned WeightSubW = sq_pkg::sub_port_w(WeightElement),
  localparam int unsigned XW = (Encode != 0) ? Rows * BankLen * 16 : 1,
  localparam int unsigned ActLineW = BankLen * sq_pkg::element_code_w(ActElement),
  localparam int unsigned WeightLineW = BankLen * sq_pkg::element_code_w(WeightElement),
  localparam int unsigned ActHighW =
      HighLanes * sq_pkg::element_code_w(sq_pkg::high_element(High, ActElement)),
  localparam int unsigned WeightHighW =
      HighLanes * sq_pkg::element_code_w(sq_pkg::high_element(High, WeightElement)),
  localparam int unsigned Pes = Rows * Cols,
  localparam bit          HasParts = HasHigh && (WeightHigh != 0 || !IsSplit),
  localparam int unsigned Pairs = HasParts ? sq_pkg::parts_pairs(High, WeightHigh) : 1,
  localparam int unsigned OutW = sq_pkg::out_w(OutKind)
) (
  input  logic                        clk_i, rst_ni,
  // jobs, both counts >= 1
  input  logic                        job_valid_i,
  output logic                        job_ready_o,
  input  logic [15:0]                 job_blocks_i, job_tiles_i,
  input  logic                        job_carry_i,  // Sums, also the next one
  input  logic                        job_keep_i,
  // a block of every row: bfloat16, or as it is stored
  input  logic                        act_valid_i,
  output logic                        act_ready_o,
  input  logic [XW-1:0]               act_x_i,           // Encode
  input  logic [Rows*ActLineW-1:0]    act_code_i,
  input  logic [Rows*ActHighW-1:0]    act_high_i,        // HighPerBank > 0, compact
  input  logic [Rows*MaskW-1:0]       act_mask_i,        // SPLIT
  input  logic [Rows*ActScaleW-1:0]   act_scale_i,
  input  logic [Rows*8-1:0]           act_high_scale_i,  // BLOCK
  input  logic [Rows*PlaceW-1:0]      act_place_i,       // PLUS
  input  logic [Rows*ActSubW-1:0]     act_sub_i,         // TABLE
  // ... and of every column; high elements with WeightHigh
  input  logic                        weight_valid_i,
  output logic                        weight_ready_o,
  input  logic [Cols*WeightLineW-1:0] weight_code_i,
  input  logic [Cols*WeightHighW-1:0] weight_high_i,
  input  logic [Cols*MaskW-1:0]       weight_mask_i,
  input  logic [Cols*WeightScaleW-1:0] weight_scale_i,
  input  logic [Cols*8-1:0]           weight_high_scale_i,
  input  logic [Cols*PlaceW-1:0]      weight_place_i,
  input  logic [Cols*WeightSubW-1:0]  weight_sub_i,
  // scales above the blocks of a tile, of low and of high elements
  input  logic                        scale_valid_i,
  output logic                        scale_ready_o,
  input  logic [Cols*32-1:0]          scale_col_lo_i, scale_col_hi_i,
  input  logic [Rows*32-1:0]          scale_row_lo_i, scale_row_hi_i,
  // outputs
  output logic                        out_valid_o,
  input  logic                        out_ready_i,
  output logic [PortLen*OutW-1:0]     out_y_o,
  output logic                        out_last_o,        // of the job
  output logic [sq_pkg::N_ERRORS-1:0] out_error_o,
  // totals, binary32: of jobs before, for later ones; Sums
  input  logic                        carry_valid_i,
  output logic                        carry_ready_o,
  input  logic [Pairs*Pes*32-1:0]     carry_y_i,
  output logic                        keep_valid_o,
  output logic [Lanes*32-1:0]         keep_sum_o,
  output logic                        keep_last_o,       // of the job
  output logic [sq_pkg::N_ERRORS-1:0] keep_error_o
);

  if (sq_pkg::element_kind(ActElement) == sq_pkg::ELEMENT_TABLE && (Encode != 0 || HasHigh)) begin : gen_bad
    $error("blocks of a table come coded, without high elements");
  end
  if (Acc == sq_pkg::ACC_FIXED && (HasParts || Sums != 0)) begin : gen_bad_acc
    $error("exact sums have one part and end with their job");
  end
  localparam int unsigned TotalW = sq_pkg::total_w(Acc, AccW, Carry);
  if (Acc == sq_pkg::ACC_FIXED && TotalW == 32) begin : gen_bad_total
    $error("totals of 32 bits are binary32: exact ones have more or fewer");
  end
  if (Acc >= sq_pkg::ACC_ALIGNED && HasParts) begin : gen_bad_aligned
    $error("aligned sums have one part");
  end
  localparam int unsigned TotalFraction =
      sq_pkg::scale_fraction(ActScale) + sq_pkg::scale_fraction(WeightScale) +
      sq_pkg::element_fraction(ActElement) + sq_pkg::element_fraction(WeightElement);
  localparam int unsigned PairW = sq_pkg::index_w(Pairs);
  localparam int unsigned ErrorW = sq_pkg::N_ERRORS;

  // ---- activations ------------------------------------------------------------------------------
  logic blocks_valid, blocks_ready;
  logic [Rows*ActLineW-1:0] act_code;
  logic [Rows*ActHighW-1:0] act_high;
  logic [Rows*MaskW-1:0] act_mask;
  logic [Rows*ActScaleW-1:0] act_scale;
  if (Encode != 0) begin : gen_encode
    localparam int unsigned EncodedMaskW = HasHigh ? BankLen : 1;
    logic [Rows*EncodedMaskW-1:0] mask;
    logic unused_stored;
    sq_act_blocks #(
      .Rows(Rows), .BankLen(BankLen), .HighPerBank(HighPerBank), .High(High),
      .Element(ActElement), .Scale(ActScale), .Topk(Topk)
    ) u_blocks (
      .clk_i, .rst_ni, .in_valid_i(act_valid_i), .in_ready_o(act_ready_o), .in_x_i(act_x_i),
      .out_valid_o(blocks_valid), .out_ready_i(blocks_ready), .out_code_o(act_code),
      .out_high_o(act_high), .out_mask_o(mask), .out_scale_o(act_scale)
    );
    if (EncodedMaskW == MaskW) begin : gen_mask
      assign act_mask = mask;
    end else begin : gen_no_mask  // its codes say it
      wire unused_mask = ^mask;
      assign act_mask = '0;
    end
    assign unused_stored = ^{act_code_i, act_high_i, act_mask_i, act_scale_i};
  end else begin : gen_coded
    wire unused_x = ^act_x_i;
    assign blocks_valid = act_valid_i;
    assign act_ready_o = blocks_ready;
    assign act_code = act_code_i;
    assign act_high = act_high_i;
    assign act_mask = act_mask_i;
    assign act_scale = act_scale_i;
  end

  // ---- control ----------------------------------------------------------------------------------
  logic array_valid, array_ready, array_last, array_carry, tile_valid, tile_ready;
  logic pair_valid, pair_ready, stage_valid, stage_ready, stage_last, stage_keep, scale_error;
  logic [PairW-1:0] pair;
  logic [ErrorW:0] stage_tag, word_tag;
  logic [ErrorW-1:0] tile_error;
  sq_engine_ctl #(.Pairs(Pairs), .Words(Pes / PortLen), .Hold(Hold), .Sums(Sums)) u_ctl (
    .clk_i, .rst_ni, .job_valid_i, .job_ready_o, .job_blocks_i, .job_tiles_i, .job_carry_i, .job_keep_i,
    .act_valid_i(blocks_valid), .act_ready_o(blocks_ready), .weight_valid_i, .weight_ready_o,
    .array_valid_o(array_valid), .array_ready_i(array_ready), .array_last_o(array_last),
    .array_carry_o(array_carry),
    .tile_fire_i(pair_valid && pair_ready), .tile_error_i(tile_error),
    .scale_valid_i, .scale_ready_o, .scale_error_i(scale_error),
    .stage_valid_o(stage_valid), .stage_ready_i(stage_ready), .stage_last_o(stage_last),
    .stage_keep_o(stage_keep), .stage_pair_o(pair), .stage_tag_o(stage_tag),
    .word_fire_i(out_valid_o && out_ready_i), .word_tag_i(word_tag), .word_last_o(out_last_o),
    .word_error_o(out_error_o)
  );

  // ---- the array: totals of a tile, pair after pair ---------------------------------------------
  logic [Pairs*Pes*TotalW-1:0] total;
  logic [Pes*TotalW-1:0] p;
  if (HasParts) begin : gen_parts
    logic unused_place;
    logic [Rows*BankLen-1:0] row_mask;
    logic [Cols*BankLen-1:0] col_mask;
    assign unused_place = ^{act_place_i, weight_place_i, act_sub_i, weight_sub_i};
    if (IsSplit) begin : gen_mask
      assign row_mask = act_mask;
      assign col_mask = weight_mask_i;
    end else begin : gen_no_mask
      wire unused_mask = ^{act_mask, weight_mask_i};
      assign row_mask = '0;
      assign col_mask = '0;
    end
    sq_array_parts #(
      .Rows(Rows), .Cols(Cols), .BankLen(BankLen), .HighPerBank(HighPerBank), .High(High),
      .WeightHigh(WeightHigh), .ActElement(ActElement), .WeightElement(WeightElement),
      .ActScale(ActScale), .WeightScale(WeightScale), .Sums(Sums)
    ) u_array (
      .clk_i, .rst_ni, .in_valid_i(array_valid), .in_ready_o(array_ready), .in_last_i(array_last),
      .in_carry_i(array_carry), .carry_valid_i, .carry_ready_o, .carry_y_i,
      .in_act_i(act_code), .in_act_high_i(act_high), .in_act_mask_i(row_mask),
      .in_act_scale_i(act_scale), .in_act_high_scale_i(act_high_scale_i),
      .in_weight_i(weight_code_i), .in_weight_high_i(weight_high_i), .in_weight_mask_i(col_mask),
      .in_weight_scale_i(weight_scale_i), .in_weight_high_scale_i(weight_high_scale_i),
      .out_valid_o(tile_valid), .out_ready_i(tile_ready), .out_y_o(total), .out_error_o(tile_error)
    );
  end else begin : gen_scaled
    logic [Pes*32-1:0] y, y_top, unused_high;
    logic unused_parts;
    assign unused_parts =
        ^{weight_high_i, weight_mask_i, act_high_scale_i, weight_high_scale_i, unused_high};
    for (genvar i = 0; i < Pes; i++) begin : gen_total
      logic [63:0] word;
      assign word = {y_top[i*32 +: 32], y[i*32 +: 32]};
      assign total[i*TotalW +: TotalW] = word[TotalW-1:0];
      if (TotalW < 64) begin : gen_unused
        wire unused_word = ^word[63:TotalW];
      end
    end
    sq_array_scaled #(
      .Rows(Rows), .Cols(Cols), .BankLen(BankLen), .HighPerBank(HighPerBank),
      .ActElement(ActElement), .WeightElement(WeightElement), .ActScale(ActScale),
      .WeightScale(WeightScale), .Acc(Acc), .AccW(AccW), .Cut(Cut), .Carry(Carry), .Sums(Sums)
    ) u_array (
      .clk_i, .rst_ni, .in_valid_i(array_valid), .in_ready_o(array_ready), .in_last_i(array_last),
      .in_carry_i(array_carry), .carry_valid_i, .carry_ready_o, .carry_y_i,
      .in_act_i(act_code), .in_high_i(act_high), .in_mask_i(act_mask), .in_act_scale_i(act_scale),
      .in_act_place_i(act_place_i), .in_act_sub_i(act_sub_i), .in_weight_i(weight_code_i),
      .in_weight_scale_i(weight_scale_i), .in_weight_place_i(weight_place_i), .in_weight_sub_i(weight_sub_i),
      .out_valid_o(tile_valid), .out_ready_i(tile_ready), .out_y_o(y),
      .out_y_top_o(y_top), .out_y_high_o(unused_high), .out_error_o(tile_error)
    );
  end
  sq_bank_steps #(.Lanes(Pes), .BankLen(Pairs * Pes), .Width(TotalW)) u_pairs (
    .clk_i, .rst_ni, .in_valid_i(tile_valid), .in_ready_o(tile_ready), .in_data_i(total),
    .out_valid_o(pair_valid), .out_ready_i(pair_ready), .out_data_o(p)
  );

  // ---- scales: high ones of the column with every second pair, of the row behind those ---------
  logic [Cols*32-1:0] scale_col;
  logic [Rows*32-1:0] scale_row;
  if (Pairs == 4) begin : gen_four
    assign scale_col = pair[0] ? scale_col_hi_i : scale_col_lo_i;
    assign scale_row = pair[1] ? scale_row_hi_i : scale_row_lo_i;
  end else if (Pairs == 2) begin : gen_two
    assign scale_col = scale_col_lo_i;
    assign scale_row = pair[0] ? scale_row_hi_i : scale_row_lo_i;
  end else begin : gen_one
    wire unused_pair = pair[0];
    assign scale_col = scale_col_lo_i;
    assign scale_row = scale_row_lo_i;
  end
  sq_engine_scales #(
    .Rows(Rows), .Cols(Cols), .TwoCols(Pairs == 4), .TwoRows(Pairs > 1)
  ) u_scales (
    .rows_i(1'b1), .col_lo_i(scale_col_lo_i), .col_hi_i(scale_col_hi_i),
    .row_lo_i(scale_row_lo_i), .row_hi_i(scale_row_hi_i), .error_o(scale_error)
  );

  // ---- outputs ----------------------------------------------------------------------------------
  // Totals that are kept go through the stage with scales of 1, which change no bit of them.
  logic keep_ends_job, keep_ends;
  localparam logic [31:0] One = 32'h3f800000;
  sq_output #(
    .Rows(Rows), .Cols(Cols), .Lanes(Lanes), .Form(sq_pkg::COMBINE_FLOAT), .OutKind(OutKind),
    .PortLen(PortLen), .Depth(Depth), .Hold(Hold), .Sums(Sums), .TagW(ErrorW + 1), .SumW(TotalW), .Carry(Carry),
    .LoFraction(Acc == sq_pkg::ACC_FIXED ? TotalFraction : 0)
  ) u_output (
    .clk_i, .rst_ni,
    .in_valid_i(pair_valid), .in_ready_o(pair_ready), .in_p_lo_i(p), .in_p_hi_i({(Pes * TotalW){1'b0}}),
    .in_tag_i({(ErrorW + 1){1'b0}}),
    .scale_valid_i(stage_valid), .scale_ready_o(stage_ready), .scale_last_i(stage_last),
    .scale_col_lo_i(stage_keep ? {Cols{One}} : scale_col), .scale_col_hi_i({(Cols * 32){1'b0}}),
    .scale_row_lo_i(stage_keep ? {Rows{One}} : scale_row), .scale_row_hi_i({(Rows * 32){1'b0}}), .scale_tag_i(stage_tag),
    .scale_carry_i(1'b0), .scale_keep_i(stage_keep), .scale_part_i(2'b00),
    .carry_valid_i(1'b0), .carry_ready_o(), .carry_sum_i({(Lanes * 32){1'b0}}),
    .keep_valid_o, .keep_sum_o, .keep_tag_o({keep_ends_job, keep_error_o}),
    .out_valid_o, .out_ready_i, .out_y_o, .out_tag_o(word_tag)
  );
  if (Sums != 0) begin : gen_keep  // the beat that is shown is the last of its tile
    sq_engine_words #(.Words(Pairs * Pes / Lanes)) u_keep (
      .clk_i, .rst_ni, .step_i(keep_valid_o), .last_o(keep_ends)
    );
  end else begin : gen_no_keep
    assign keep_ends = 1'b0;
  end
  assign keep_last_o = keep_ends_job && keep_ends;

  `SQ_ASSERT_BEGIN
  `SQ_HELD(OutHeldOnStall, out_valid_o, out_ready_i, {out_y_o, out_last_o, out_error_o})

endmodule
