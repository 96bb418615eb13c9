// SPDX-License-Identifier: Apache-2.0
// Constants and width functions shared by all modules. models/core/sq_config.h and sim/block/flow/sq_cause.h hold
// the C side of the enumerations; tests/rtl/pkg.t checks that both say the same.
package sq_pkg;

  localparam int unsigned ADDR_W = 48;  // bits of an address of memory, in bytes, in sq_top

  // Gather architectures: enum sq_gather_arch.
  localparam int unsigned GATHER_CROSSBAR = 0;  // one-hot AND-OR select per slot
  localparam int unsigned GATHER_LOG = 1;  // log2(b) compaction stages

  // TopK architectures (SPEC C.3): enum sq_topk_arch.
  localparam int unsigned TOPK_RANK = 0;  // all pairs at once, one bank per cycle
  localparam int unsigned TOPK_RADIX = 1;  // one magnitude bit per cycle
  localparam int unsigned TOPK_TREE = 2;  // by knock-out, one bank per cycle, one or two elements

  // What the coded operand of sq_array looks like: enum sq_array_layout.
  localparam int unsigned LAYOUT_DENSE = 0;  // one code per element
  localparam int unsigned LAYOUT_SENTINEL = 1;  // low codes with mask codes, compact high codes
  localparam int unsigned LAYOUT_SPLIT = 2;  // low nibbles, mask bits, compact upper nibbles
  localparam int unsigned LAYOUT_COMPACT = 3;  // mask bits, compact low codes, compact high codes
  localparam int unsigned LAYOUT_SP24 = 4;  // 2:4: compact values, metadata nibbles
  localparam int unsigned LAYOUT_KEPT = 5;  // of sq_top: kept groups of weights, each with its index (sq_engine_gqsa)

  // Order of the steps of sq_combine: enum sq_combine_form.
  localparam int unsigned COMBINE_ONE = 0;  // one sum
  localparam int unsigned COMBINE_TWO = 1;  // two sums, scales of the weights
  localparam int unsigned COMBINE_SCALED = 2;  // two sums, scales of the token, then one of the group
  localparam int unsigned COMBINE_FLOAT = 3;  // a binary32 sum, the product of two scales

  // Functions of sq_vector: enum sq_vector_func.
  localparam logic [1:0] VECTOR_PLAIN = 2'd0;
  localparam logic [1:0] VECTOR_EXP = 2'd1;
  localparam logic [1:0] VECTOR_RECIPROCAL = 2'd2;
  localparam logic [1:0] VECTOR_RSQRT = 2'd3;
  // A descriptor of kind vector: where an operand comes from, what red is, how y is written (docs/registers.md).
  localparam logic [1:0] VECTOR_FROM_CONSTANT = 2'd0;
  localparam logic [1:0] VECTOR_FROM_ROW = 2'd1;
  localparam logic [1:0] VECTOR_FROM_ONE = 2'd2;
  localparam logic [1:0] VECTOR_FROM_A = 2'd3;
  localparam logic [1:0] VECTOR_RED_NONE = 2'd0;
  localparam logic [1:0] VECTOR_RED_SUM = 2'd1;
  localparam logic [1:0] VECTOR_RED_INDEX = 2'd3;
  localparam logic [1:0] VECTOR_Y_NONE = 2'd0;
  localparam logic [1:0] VECTOR_Y_BFLOAT16 = 2'd2;
  localparam logic [1:0] VECTOR_Y_BINARY16 = 2'd3;

  // What leaves sq_output: enum sq_output_kind.
  localparam int unsigned OUT_BINARY32 = 0;
  localparam int unsigned OUT_BFLOAT16 = 1;
  localparam int unsigned OUT_INT8 = 2;  // rounded to the nearest integer

  // Elements of sq_array_scaled as they are stored: enum sq_scaled_element.
  localparam int unsigned ELEMENT_INT4 = 0;
  localparam int unsigned ELEMENT_INT5 = 1;
  localparam int unsigned ELEMENT_E2M1 = 2;
  localparam int unsigned ELEMENT_E2M3 = 3;
  localparam int unsigned ELEMENT_E3M2 = 4;
  localparam int unsigned ELEMENT_E4M3 = 5;
  localparam int unsigned ELEMENT_E5M2 = 6;
  localparam int unsigned ELEMENT_INT8 = 7;
  localparam int unsigned ELEMENT_MXINT8 = 8;  // in steps of 1/64
  localparam int unsigned ELEMENT_PLUS = 9;  // E2M1; the largest of a block is 1.3 fixed point
  localparam int unsigned ELEMENT_IF4 = 10;  // E2M1, or INT4 where the scale of the block has a sign
  localparam int unsigned ELEMENT_RAZER = 11;  // E2M1; -0 is 5 with the sign of the scale
  localparam int unsigned ELEMENT_TABLE = 12;  // what sq_element_table decodes

  // A table (SPEC Q.9) is a number of these fields, from the lowest bit on:
  //   0  ELEMENT_TABLE                         5  bits of a code, less 2     7  fraction bits
  //   10 the sign of the scale is the grid     11 stored bits of the grid
  //   13, 15  bits of the exponent of each sub-block of the first and of the second level
  //   17 log2 of the sub-blocks of the first level in a block, 20 of the second in one of the first
  //   23 largest magnitude of what is multiplied, 1..127
  //   30 a zero point, of which field 17 has the bits less 1, and which codes are taken from; then 11 to 16 are 0

  // The scale of a block: enum sq_scaled_scale.
  localparam int unsigned SCALE_NONE = 0;
  localparam int unsigned SCALE_E4M3 = 1;
  localparam int unsigned SCALE_E8M0 = 2;
  localparam int unsigned SCALE_POW4 = 3;  // 2^0 .. 2^15 times what the row has in common
  localparam int unsigned SCALE_UE5M3 = 4;  // 2^-17 .. 114688
  localparam int unsigned SCALE_E6M2 = 5;  // 2^-48 .. 1.5 * 2^15, no zero
  localparam int unsigned SCALE_F16 = 6;  // IEEE 754 binary16, of either sign, as the two below
  localparam int unsigned SCALE_BF16 = 7;  // bfloat16
  localparam int unsigned SCALE_F32 = 8;  // binary32

  // How sq_act_scale finds the scale of a block: enum sq_scaled_choose.
  localparam int unsigned CHOOSE_LARGEST = 0;  // from its largest element
  localparam int unsigned CHOOSE_SEARCH = 1;  // that one or one a little below, by the squared error
  localparam int unsigned CHOOSE_FOUR_SIX = 2;  // the largest element of E2M1 becomes 6 or 4
  localparam int unsigned CHOOSE_SIGN = 3;  // IF4 and RAZER: their sign too

  // High elements of a block and what stores them: enum sq_scaled_high.
  localparam int unsigned HIGH_SPLIT = 0;  // mask bits, upper nibbles at the scale of the block
  localparam int unsigned HIGH_OWN = 1;  // mask codes, high codes at a scale of the row
  localparam int unsigned HIGH_BLOCK = 2;  // mask codes, high codes at a second scale of the block

  // What adds up the scaled sums of blocks: enum sq_scaled_acc.
  localparam int unsigned ACC_BINARY32 = 0;  // one rounding an addition (SPEC Q.7)
  localparam int unsigned ACC_FIXED = 1;  // an integer wide enough for all of them: exact
  localparam int unsigned ACC_ALIGNED = 2;  // each product is cut off, and the sum so far (SPEC Q.11); AccW: bits kept
  localparam int unsigned ACC_AFTER = 3;  // products are, and their sum is added in binary32

  // Kinds of errors of stored operands, a bit each: enum sq_scaled_error.
  localparam int unsigned ERROR_CODE = 0;  // a code of no value
  localparam int unsigned ERROR_SCALE = 1;
  localparam int unsigned ERROR_MASK = 2;  // not k high elements; a place where there is none
  localparam int unsigned N_ERRORS = 3;
  localparam int unsigned ERROR_INDEX = 3;  // of formats whose operands are found by indices
  localparam int unsigned N_INDEX_ERRORS = 4;

  // What a path did in one cycle: enum sq_cause. Exactly one applies in every cycle of a job.
  localparam int unsigned CAUSE_BUSY = 0;  // a step was accepted
  localparam int unsigned CAUSE_FILLING = 1;  // no bank has been completed yet
  localparam int unsigned CAUSE_WAIT_ACT = 2;  // no activation beat
  localparam int unsigned CAUSE_WAIT_WEIGHT = 3;  // no code beat
  localparam int unsigned CAUSE_WAIT_HIGH = 4;  // the bank buffer is held by the high path
  localparam int unsigned CAUSE_WAIT_MASK = 5;  // no complete bank, hence no mask
  localparam int unsigned CAUSE_BLOCKED_OUTPUT = 6;  // results not taken
  localparam int unsigned CAUSE_DRAINING = 7;  // all steps of the job were accepted
  localparam int unsigned N_CAUSES = 8;
  localparam int unsigned CAUSE_W = 3;

  localparam int unsigned COUNT_W = 32;  // a cause counter
  localparam int unsigned GROUP_BANKS_W = 16;  // banks per scale group of a job
  localparam int unsigned GROUPS_W = 32;  // scale groups (accumulator tiles) of a job

  function automatic int unsigned ceil_div(int unsigned a, int unsigned b);
    ceil_div = (a + b - 1) / b;
  endfunction

  function automatic int unsigned gcd(int unsigned a, int unsigned b);
    int unsigned rest, next;
    gcd = a;
    rest = b;
    for (int unsigned i = 0; i < 64; i++)  // more steps than numbers of 32 bits take
      if (rest != 0) begin
        next = gcd % rest;
        gcd = rest;
        rest = next;
      end
  endfunction

  // Bits of an index 0..n-1, at least 1.
  function automatic int unsigned index_w(int unsigned n);
    index_w = (n > 1) ? $clog2(n) : 1;
  endfunction

  // sq_array: elements of the dense plane of one bank, bits of its mask (explicit mask bits or 2:4
  // nibbles; 1 unused bit where there is none), and register stages before the PEs.
  function automatic int unsigned low_lanes(int unsigned fmt, int unsigned b, int unsigned k);
    case (fmt)
      sq_pkg::LAYOUT_COMPACT: low_lanes = b - k;
      sq_pkg::LAYOUT_SP24: low_lanes = b / 2;
      default: low_lanes = b;
    endcase
  endfunction

  function automatic int unsigned mask_w(int unsigned fmt, int unsigned b);
    case (fmt)
      sq_pkg::LAYOUT_DENSE, sq_pkg::LAYOUT_SENTINEL: mask_w = 1;
      default: mask_w = b;
    endcase
  endfunction

  // Bits of a kept group: index, codes of 4 bits, zero, scale.
  function automatic int unsigned kept_w(int unsigned group_len, int unsigned index_bits);
    kept_w = index_bits + group_len * 4 + 4 + 16;
  endfunction

  function automatic int unsigned operand_stages(int unsigned fmt);
    case (fmt)
      sq_pkg::LAYOUT_DENSE, sq_pkg::LAYOUT_SP24: operand_stages = 1;
      default: operand_stages = 2;
    endcase
  endfunction

  // Beats of 2^size bytes from an address to the end of its 4 KiB page, at most max.
  function automatic logic [8:0] burst_limit(logic [11:0] addr, int unsigned size, int unsigned most);
    logic [12:0] room;
    room = (13'd4096 - 13'(addr)) >> size;
    burst_limit = (32'(room) < most) ? room[8:0] : 9'(most);
  endfunction

  // Register stages of sq_combine before its output register; cut: an operation takes several.
  function automatic int unsigned combine_stages(int unsigned form, int unsigned cut);
    if (cut == 0) combine_stages = ((form == sq_pkg::COMBINE_FLOAT) ? 0 : form) + 3;
    else
      case (form)
        sq_pkg::COMBINE_ONE: combine_stages = 14;
        sq_pkg::COMBINE_FLOAT: combine_stages = 12;
        default: combine_stages = 18;
      endcase
  endfunction

  // Cycles from a beat of an output to the next one of the same.
  function automatic int unsigned combine_spacing(int unsigned cut);
    combine_spacing = (cut != 0) ? 4 : 1;
  endfunction

  // Beats that the queue of sq_output, Hold = 2, needs for an output in each cycle: from a slot to the last word.
  function automatic int unsigned output_depth(int unsigned form, int unsigned kind);
    output_depth = combine_stages(form, 1) + 4 + ((kind == sq_pkg::OUT_INT8) ? 3 : 0);
  endfunction

  // sq_output: integers of an output with Form; words that wait of it between two stretches of K.
  function automatic int unsigned kept_parts(int unsigned form);
    kept_parts = (form == COMBINE_TWO || form == COMBINE_SCALED) ? 2 : 1;
  endfunction

  function automatic int unsigned kept_words(int unsigned sums, int unsigned form);
    kept_words = sums == 2 ? 1 + kept_parts(form) : 1;
  endfunction

  // Sums of the engine in sq_top.
  function automatic int unsigned top_sums(int unsigned parts, int unsigned form);
    top_sums = form == COMBINE_FLOAT ? 1 : parts != 0 ? 2 : form == COMBINE_ONE ? 3 : 1;
  endfunction

  // Bits of an output.
  function automatic int unsigned out_w(int unsigned kind);
    case (kind)
      sq_pkg::OUT_INT8: out_w = 8;
      sq_pkg::OUT_BFLOAT16: out_w = 16;
      default: out_w = 32;
    endcase
  endfunction

  // Bits at..at + width - 1 of the number of a table; what a number says apart from them.
  function automatic int unsigned field(int unsigned element, int unsigned at, int unsigned width);
    field = (element >> at) & ((32'd1 << width) - 1);
  endfunction

  function automatic int unsigned element_kind(int unsigned element);
    element_kind = field(element, 0, 5);
  endfunction

  // Whether the sign of a block's scale says what its elements stand for.
  function automatic int unsigned element_has_sign(int unsigned element);
    case (element_kind(element))
      sq_pkg::ELEMENT_TABLE: element_has_sign = field(element, 10, 1);
      sq_pkg::ELEMENT_IF4, sq_pkg::ELEMENT_RAZER: element_has_sign = 1;
      default: element_has_sign = 0;
    endcase
  endfunction

  // Bits of the zero point of a block.
  function automatic int unsigned element_zero_w(int unsigned element);
    element_zero_w = (field(element, 30, 1) != 0) ? field(element, 17, 3) + 1 : 0;
  endfunction

  // Bits of a block beside codes and scale, as they are stored: of its grid, then the exponents of its sub-blocks; or of
  // its zero point.
  function automatic int unsigned element_sub_w(int unsigned element);
    case (element_kind(element))
      sq_pkg::ELEMENT_TABLE:
        element_sub_w = (element_zero_w(element) > 0) ? element_zero_w(element) : field(element, 11, 2) + (field(element, 13, 2) << field(element, 17, 3)) +
            (field(element, 15, 2) << (field(element, 17, 3) + field(element, 20, 3)));
      default: element_sub_w = 0;
    endcase
  endfunction

  // Width of a port for them: one unused bit without.
  function automatic int unsigned sub_port_w(int unsigned element);
    sub_port_w = (element_sub_w(element) > 0) ? element_sub_w(element) : 1;
  endfunction

  // Bits of an element as it is stored and, signed, as it is multiplied; fraction bits of the latter:
  // E2M1 is counted in halves, -12 .. 12. Of E4M3 and E5M2 a significand and, above it, a shift are
  // multiplied (element_exp_w bits); the largest magnitude is that of the shifted one.
  function automatic int unsigned element_code_w(int unsigned element);
    case (element_kind(element))
      sq_pkg::ELEMENT_TABLE: element_code_w = 2 + field(element, 5, 2);
      sq_pkg::ELEMENT_INT5: element_code_w = 5;
      sq_pkg::ELEMENT_E2M3, sq_pkg::ELEMENT_E3M2: element_code_w = 6;
      sq_pkg::ELEMENT_E4M3, sq_pkg::ELEMENT_E5M2, sq_pkg::ELEMENT_INT8, sq_pkg::ELEMENT_MXINT8:
        element_code_w = 8;
      default: element_code_w = 4;
    endcase
  endfunction

  function automatic int unsigned element_w(int unsigned element);
    case (element_kind(element))
      sq_pkg::ELEMENT_TABLE: element_w = $clog2(element_max(element) + 1) + 1;
      sq_pkg::ELEMENT_INT4: element_w = 4;
      sq_pkg::ELEMENT_E2M3: element_w = 7;
      sq_pkg::ELEMENT_INT8, sq_pkg::ELEMENT_MXINT8: element_w = 8;
      sq_pkg::ELEMENT_E4M3, sq_pkg::ELEMENT_E5M2: element_w = 9;
      sq_pkg::ELEMENT_E3M2: element_w = 10;
      default: element_w = 5;
    endcase
  endfunction

  function automatic int unsigned element_exp_w(int unsigned element);
    case (element)
      sq_pkg::ELEMENT_E4M3: element_exp_w = 4;
      sq_pkg::ELEMENT_E5M2: element_exp_w = 5;
      default: element_exp_w = 0;
    endcase
  endfunction

  function automatic int unsigned element_fraction(int unsigned element);
    case (element_kind(element))
      sq_pkg::ELEMENT_TABLE: element_fraction = field(element, 7, 3);
      sq_pkg::ELEMENT_E2M1, sq_pkg::ELEMENT_PLUS, sq_pkg::ELEMENT_IF4, sq_pkg::ELEMENT_RAZER:
        element_fraction = 1;
      sq_pkg::ELEMENT_E2M3: element_fraction = 3;
      sq_pkg::ELEMENT_E3M2: element_fraction = 4;
      sq_pkg::ELEMENT_E4M3: element_fraction = 9;
      sq_pkg::ELEMENT_E5M2: element_fraction = 16;
      sq_pkg::ELEMENT_MXINT8: element_fraction = 6;
      default: element_fraction = 0;
    endcase
  endfunction

  function automatic int unsigned element_max(int unsigned element);  // the largest magnitude
    case (element_kind(element))
      sq_pkg::ELEMENT_TABLE: element_max = field(element, 23, 7);
      sq_pkg::ELEMENT_INT5: element_max = 16;
      sq_pkg::ELEMENT_E2M1, sq_pkg::ELEMENT_RAZER: element_max = 12;
      sq_pkg::ELEMENT_IF4: element_max = 14;
      sq_pkg::ELEMENT_PLUS: element_max = 15;
      sq_pkg::ELEMENT_E2M3: element_max = 60;
      sq_pkg::ELEMENT_INT8, sq_pkg::ELEMENT_MXINT8: element_max = 128;
      sq_pkg::ELEMENT_E3M2: element_max = 448;
      sq_pkg::ELEMENT_E4M3: element_max = 448 << 9;
      sq_pkg::ELEMENT_E5M2: element_max = 7 << 29;
      default: element_max = 8;
    endcase
  endfunction

  // Bits of a sum of `lanes` products of two elements: of their significands, shifted by at most 14
  // (E4M3) and 29 (E5M2) places.
  function automatic int unsigned element_dot_w(int unsigned a, int unsigned b, int unsigned lanes);
    element_dot_w = sq_pkg::element_w(a) - sq_pkg::element_exp_w(a) + sq_pkg::element_w(b) -
        sq_pkg::element_exp_w(b) + sq_pkg::element_shift(a) + sq_pkg::element_shift(b) +
        $clog2(lanes);
  endfunction

  function automatic int unsigned element_shift(int unsigned element);
    case (element)
      sq_pkg::ELEMENT_E4M3: element_shift = 14;
      sq_pkg::ELEMENT_E5M2: element_shift = 29;
      default: element_shift = 0;
    endcase
  endfunction

  // Bits of a scale: of its code, of its significand as an integer and, above that, its sign, and of the exponent.
  function automatic int unsigned scale_code_w(int unsigned scale);
    scale_code_w = (scale == sq_pkg::SCALE_F32) ? 32 : (scale_sign_w(scale) > 0) ? 16 : 8;
  endfunction

  function automatic int unsigned scale_sign_w(int unsigned scale);
    scale_sign_w = (scale >= sq_pkg::SCALE_F16) ? 1 : 0;
  endfunction

  function automatic int unsigned scale_sig_w(int unsigned scale);
    case (scale)
      sq_pkg::SCALE_F16: scale_sig_w = 12;
      sq_pkg::SCALE_BF16: scale_sig_w = 9;
      sq_pkg::SCALE_F32: scale_sig_w = 25;
      sq_pkg::SCALE_E4M3, sq_pkg::SCALE_UE5M3: scale_sig_w = 4;
      sq_pkg::SCALE_E6M2: scale_sig_w = 3;
      default: scale_sig_w = 1;
    endcase
  endfunction

  function automatic int unsigned scale_exp_w(int unsigned scale);
    case (scale)
      sq_pkg::SCALE_E8M0, sq_pkg::SCALE_BF16, sq_pkg::SCALE_F32: scale_exp_w = 8;
      sq_pkg::SCALE_UE5M3, sq_pkg::SCALE_F16: scale_exp_w = 5;
      sq_pkg::SCALE_E6M2: scale_exp_w = 6;
      default: scale_exp_w = 4;
    endcase
  endfunction

  // What exponents of a scale count from: it is sig_o * 2^(exp_o - this) (sq_block_line).
  function automatic int unsigned scale_fraction(int unsigned scale);
    case (scale)
      sq_pkg::SCALE_E4M3: scale_fraction = 9;
      sq_pkg::SCALE_E8M0: scale_fraction = 127;
      sq_pkg::SCALE_UE5M3: scale_fraction = 17;
      sq_pkg::SCALE_E6M2: scale_fraction = 50;
      sq_pkg::SCALE_F16: scale_fraction = 24;
      sq_pkg::SCALE_BF16: scale_fraction = 133;
      sq_pkg::SCALE_F32: scale_fraction = 149;
      default: scale_fraction = 0;
    endcase
  endfunction

  // The largest exponent of scales that exact sums take (exp_o of sq_block_line).
  function automatic int unsigned scale_exp_max(int unsigned scale);
    case (scale)
      sq_pkg::SCALE_E4M3: scale_exp_max = 14;
      sq_pkg::SCALE_POW4: scale_exp_max = 15;
      default: scale_exp_max = 0;
    endcase
  endfunction

  // Whether the product of two scales is rounded to 24 bits.
  function automatic bit pair_rounds(int unsigned a, int unsigned b);
    pair_rounds = a == sq_pkg::SCALE_F32 || b == sq_pkg::SCALE_F32;
  endfunction

  // Bits of the significand, with its sign above it, and of the exponent of a pair of scales (sq_scale_pair).
  function automatic int unsigned pair_sign_w(int unsigned a, int unsigned b);
    pair_sign_w = (scale_sign_w(a) + scale_sign_w(b) > 0) ? 1 : 0;
  endfunction

  function automatic int unsigned pair_sig_w(int unsigned a, int unsigned b);
    pair_sig_w = (scale_sig_w(a) > 1 ? scale_sig_w(a) - scale_sign_w(a) : 0) +
        (scale_sig_w(b) > 1 ? scale_sig_w(b) - scale_sign_w(b) : 0);
    pair_sig_w = pair_rounds(a, b) ? 25 : (pair_sig_w == 0) ? 1 : pair_sig_w + pair_sign_w(a, b);
  endfunction

  function automatic int unsigned pair_exp_w(int unsigned a, int unsigned b);
    pair_exp_w = (a == sq_pkg::SCALE_E8M0 || b == sq_pkg::SCALE_E8M0 || a >= sq_pkg::SCALE_BF16 || b >= sq_pkg::SCALE_BF16) ? 10 :
        (a == sq_pkg::SCALE_E6M2 || b == sq_pkg::SCALE_E6M2 || pair_sign_w(a, b) > 0) ? 8 : 7;
  endfunction

  // Register stages of sq_array_scaled between its operands and the accumulator.
  function automatic int unsigned scaled_stages(int unsigned acc, int unsigned k, int unsigned cut);
    scaled_stages = ((acc == sq_pkg::ACC_BINARY32) ? 2 : (acc == sq_pkg::ACC_AFTER) ? 3 : 1) + ((k > 0) ? 1 : 0) + cut;
  endfunction

  // Mantissa bits of elements that sq_dot_columns takes; bits of the magnitude of a product of two.
  function automatic int unsigned element_mantissa(int unsigned element);
    case (element)
      sq_pkg::ELEMENT_E2M3, sq_pkg::ELEMENT_E4M3: element_mantissa = 3;
      sq_pkg::ELEMENT_E3M2, sq_pkg::ELEMENT_E5M2: element_mantissa = 2;
      sq_pkg::ELEMENT_E2M1: element_mantissa = 1;
      default: element_mantissa = 0;
    endcase
  endfunction

  function automatic int unsigned element_columns(int unsigned a, int unsigned b);
    element_columns = element_dot_w(a, b, 1) - 2;
  endfunction

  // Bits of a total of sq_pe_scaled.
  function automatic int unsigned total_w(int unsigned acc, int unsigned acc_w, int unsigned carry);
    total_w = (acc == sq_pkg::ACC_FIXED) ? fixed_w(acc_w, carry) : 32;
  endfunction

  // Bits of a total of sq_acc_fixed: with Carry > 0 a carry for each of its segments but the top one.
  function automatic int unsigned fixed_w(int unsigned acc_w, int unsigned carry);
    fixed_w = (carry != 0) ? acc_w + ceil_div(acc_w, carry) - 1 : acc_w;
  endfunction

  // The kind of the high elements of a line of sq_array_parts and of their scale; how many pairs of
  // parts have a total of their own.
  function automatic int unsigned high_element(int unsigned high, int unsigned element);
    high_element = sq_pkg::ELEMENT_INT8;
    if (element == sq_pkg::ELEMENT_E2M1) high_element = sq_pkg::ELEMENT_E4M3;
    if (high == sq_pkg::HIGH_SPLIT) high_element = sq_pkg::ELEMENT_INT4;
  endfunction

  function automatic int unsigned high_scale(int unsigned high, int unsigned scale);
    high_scale = (high == sq_pkg::HIGH_BLOCK) ? scale : sq_pkg::SCALE_NONE;
  endfunction

  function automatic int unsigned parts_pairs(int unsigned high, int unsigned weight_high);
    parts_pairs = (high == sq_pkg::HIGH_SPLIT) ? 1 : (weight_high != 0) ? 4 : 2;
  endfunction

  // Bits of a block of a line as it is stored: codes, high codes, mask, scales, place, bits of sub-blocks.
  function automatic int unsigned scaled_line_w(int unsigned b, int unsigned k, int unsigned high,
                                                int unsigned element, int unsigned scale);
    scaled_line_w = b * element_code_w(element) + scale_code_w(scale) + element_sub_w(element);
    if (k > 0) scaled_line_w = scaled_line_w + k * element_code_w(high_element(high, element));
    if (k > 0 && high == sq_pkg::HIGH_SPLIT) scaled_line_w = scaled_line_w + b;
    if (k > 0 && high == sq_pkg::HIGH_BLOCK) scaled_line_w = scaled_line_w + 8;
    if (element == sq_pkg::ELEMENT_PLUS) scaled_line_w = scaled_line_w + index_w(b);
  endfunction

  // Blocks that sq_encode makes; sq_encode_makes in C.
  function automatic bit encodes(int unsigned k, int unsigned high, int unsigned element, int unsigned scale,
                                 int unsigned choose);
    encodes = 1'b0;
    if (scale == sq_pkg::SCALE_E4M3 && k > 0) begin
      encodes = element == sq_pkg::ELEMENT_INT4 && high == sq_pkg::HIGH_OWN && choose == sq_pkg::CHOOSE_LARGEST;
    end else if (scale == sq_pkg::SCALE_E4M3) begin
      case (element)
        sq_pkg::ELEMENT_E2M1: encodes = choose != sq_pkg::CHOOSE_SIGN;
        sq_pkg::ELEMENT_INT4: encodes = choose == sq_pkg::CHOOSE_LARGEST || choose == sq_pkg::CHOOSE_SEARCH;
        sq_pkg::ELEMENT_INT5: encodes = choose == sq_pkg::CHOOSE_LARGEST;
        default: encodes = element_has_sign(element) != 0 && element_kind(element) != sq_pkg::ELEMENT_TABLE &&
            choose == sq_pkg::CHOOSE_SIGN;
      endcase
    end else if (scale == sq_pkg::SCALE_E8M0 && choose == sq_pkg::CHOOSE_LARGEST) begin
      encodes = (k > 0) ? element == sq_pkg::ELEMENT_INT4 && high == sq_pkg::HIGH_SPLIT : element == sq_pkg::ELEMENT_E2M1;
    end
  endfunction

  // Controls of sq_gather_mux.
  function automatic int unsigned gather_ctl_w(int unsigned arch, int unsigned b, int unsigned lanes);
    gather_ctl_w = (arch == sq_pkg::GATHER_LOG) ? $clog2(b) * b + lanes : lanes * b;
  endfunction

endpackage
