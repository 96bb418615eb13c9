#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Random campaigns of the blocks that end in numbers: the output stage, the core with it, the
# scaling behind sums of GQSA and SpQR, the weights of Q4_K, the accumulators in binary32, the vector and the attention unit. Sampled
# at their quick points. Directed: sums of numbers 22 to 28 places apart, which the sticky bit alone
# rounds, and products of significands of nothing but ones; a core, with and without its stage, of
# more rows and columns than the tables have. Then faults that passed before: a P one bit short, one
# side's scale, a queue that wraps at another depth, ends that are no ends, status of the other path,
# errors that are dropped or stand with another beat. The core with codes of floating point ends in its own faults: a bit of its
# sums, the largest shift of a product, codes of no value; one day in six its netlist runs, too.
. "$(dirname "$0")/lib.sh"
T="1'b1" F="1'b0"

# More cases than a block has directed ones at each of its points.
campaign output 180 10000
campaign core_out 120 200000
campaign gqsa_scale 60 2500
campaign spqr_scale 40 6000
campaign fp_mac 90 15000
campaign q4k_weight 20 5000
campaign vector 30 9000
campaign attend 12 15000
netlist vector l1 60 3000
sq cosim --rows 5 --cols 6 --low-lanes 1 --high-lanes 1 --bank 4 --sparsity 0.5 --cases 20 --seed "$SEED" --json
ok "a core of 5 x 6 PEs, L = H = 1" clean 10000
sq cosim --block core_out --point one --rows 5 --cols 6 --cases 30 --seed "$SEED" --json
ok "the same with its output stage" clean 10000

# ---- values -----------------------------------------------------------------------------------
mutate p_of_31_bits output one value rtl/output/sq_output.sv \
  "s/slot_last, whole_lo & /slot_last, {whole_lo[Lanes*32-2] || (whole_lo[Lanes*32-1] \&\& $F), whole_lo[Lanes*32-2:0]} \& /"
mutate p_of_21_bits_in_an_engine engine_array dense value rtl/array/sq_engine_array.sv \
  "s/\.in_p_lo_i(p_lo)/.in_p_lo_i({32'(\$signed(p_lo[Rows*Cols*32-12 -: 21])), p_lo[Rows*Cols*32-33:0]})/"
mutate token_scale_of_the_first_group gqsa_scale two value rtl/gqsa/sq_gqsa_scale.sv \
  "s/s_a_q <= in_s_a_i;/if (seen_q == 0) s_a_q <= in_s_a_i; seen_q <= in_last_i ? 0 : 1;/; s/^  logic valid_q, last_q, moves, ready;/  logic seen_q = 0;\n&/"
mutate two_to_the_16_is_nan fp_mac half value rtl/number/sq_fp_to_half.sv \
  "s/else if (exponent > 8'd142) y_o = .*/else if (exponent > 8'd142) y_o = a_i[30:0] == 31'h47800000 ? 16'h7e00 : {a_i[31], 15'h7c00};/"
mutate last_that_is_no_end fp_mac whole value rtl/number/sq_fp_mac.sv 's/ends = end_q\[1\] || last_q\[1\]/ends = end_q[1]/'
mutate int8_of_2_to_the_23 output int8 value rtl/output/sq_output.sv \
  "s/exponent >= 8'd150 ? 6'd0/exponent > 8'd150 ? 6'd0 : exponent == 8'd150 ? 6'd63/"
mutate sticky_25_places_away fp_mac whole value rtl/number/sq_fp_add.sv \
  "s/assign sticky = |/assign sticky = distance != 8'd25 \&\& |/"
mutate sticky_25_places_away_in_binary16 fp_mac half_1 value rtl/number/sq_fp_add.sv \
  "s/assign sticky = |/assign sticky = distance != 8'd25 \&\& |/"
mutate product_of_all_ones fp_mac whole value rtl/number/sq_fp_mul.sv \
  "s/  logic \[47:0\] product;/&\n  logic ones; assign ones = \&a_sig \&\& \&b_sig;/; s/\.sig_i(product)/.sig_i(product ^ {24'd0, ones, 23'd0})/"
mutate zero_by_the_other_scale spqr_scale w1 value rtl/spqr/sq_spqr_scale.sv 's/\.z_i(zz)/.z_i(sz)/; s/^  localparam int unsigned Stages = 5;/&\n  logic unused_zz; assign unused_zz = ^zz;/'
mutate minimum_of_zero_sign q4k_weight b4 value rtl/spqt/sq_q4k_weight.sv 's/{!min_q\[Block\*32+31\], /{min_q[Block*32+31], /'

mutate segment_of_the_other_octave vector l1 value rtl/vector/sq_vector_func.sv "s/place = {f_q, is_odd, /place = {f_q, !is_odd, /"
mutate rounded_up_below_zero vector l2 value rtl/vector/sq_vector_func.sv "s/is_minus ? 37'd0 - {1'b0, magnitude}/is_minus ? ~{1'b0, magnitude}/"
mutate one_coefficient_a_bit_off vector l2 value rtl/vector/sq_vector_table.sv "s/9'h1c5: .* = {29'h0*\([0-9a-f]*\)[0-9a-f], /9'h1c5: {c0_o, c1_o, c2_o} = {29'h\10, /"
mutate largest_by_its_bits_alone vector l2 value rtl/vector/sq_vector_join.sv "s/a_i\[31\] ? ~a_i\[30:0\] : a_i\[30:0\]/a_i[30:0]/"
mutate added_before_it_is_there vector cut any rtl/vector/sq_vector.sv "s/(!adds || waited_q)/(!adds || waited_q || $T)/"
mutate first_beat_waits vector cut cycle rtl/vector/sq_vector.sv "s/ \&\& !is_first_q;/ \&\& (!is_first_q || $T);/"
mutate taken_while_another_waits vector cut any rtl/vector/sq_vector.sv "s/end else if (out_ready_i) begin/end else if (out_ready_i \&\& $F) begin/"
mutate row_that_never_ends vector l1 value rtl/vector/sq_vector.sv "s/is_first_q <= last_q\[Stages-2\]/is_first_q <= last_q[Stages-2] \&\& $F/"

mutate largest_of_the_first_key attend two value rtl/vector/sq_attend.sv "s/has_score \&\& (is_larger || is_first_score_q)/has_score \&\& is_first_score_q/"
mutate largest_of_the_job_before attend two value rtl/vector/sq_attend.sv "s/else if (ask_sum) is_first_score_q <= 1'b1/else if (ask_sum) is_first_score_q <= $F/"
mutate sum_of_every_beat attend two value rtl/vector/sq_attend.sv "s/write_q\[7\] \&\& ~|write_at/write_q[7]/"
mutate larger_a_key_late attend one value rtl/vector/sq_attend.sv "s/Stages(ExpStages - 1)) u_larger/Stages(ExpStages)) u_larger/"
mutate odd_beat_with_the_pair_before attend four value rtl/vector/sq_attend_pair.sv "s/is_second_q ? first_q : 32'h80000000/is_second_q || last_i ? first_q : 32'h80000000/"
mutate first_minus_zero attend two value rtl/vector/sq_attend_lane.sv "s/add_none_i ? 32'h80000000/add_none_i ? 32'd0/"
mutate accumulator_read_too_early attend two cycle rtl/vector/sq_attend.sv "s/Loop = 9;/Loop = 8;/"
mutate one_key_fewer_ahead attend four cycle rtl/vector/sq_attend.sv "s/ahead == AheadW'(Ahead)/ahead >= AheadW'(Ahead - 1)/"
mutate scale_of_the_key_for_its_value attend int8 value rtl/vector/sq_attend.sv "s/is_value_q ? v_scale_i : k_scale_i/is_value_q \&\& $F ? v_scale_i : k_scale_i/"
mutate code_of_minus_128 attend int8 value rtl/vector/sq_attend_code.sv "s/assign is_top = product\[18\]/assign is_top = product[18] || code_i == 8'h80/"
mutate infinity_times_zero attend int8 value rtl/vector/sq_attend_code.sv "s/scale\[22\] || code_i == '0 ?/scale[22] ?/"
mutate outputs_of_the_first_query attend two value rtl/vector/sq_attend.sv "s/if (head_q == HeadW'(h)) out_y_o/if (head_q == HeadW'(h) \&\& $F) out_y_o/"
mutate low_half_of_log2_e attend two value rtl/vector/sq_vector_func.sv "s/17'h03b29/17'h03b09/"
mutate low_half_of_a_falling_slope attend two value rtl/vector/sq_vector_func.sv "s/{{11{low_q\[35\]}}, low_q\[35:11\]}/36'(\$unsigned(low_q[35:11]))/"

# ---- errors: what is malformed goes with the outputs that it spoils, and with no others --------------
mutate mask_error_dropped_in_core_out core_out pass value rtl/core/sq_core_out.sv "s/= mask_error;/= mask_error \&\& $F;/"
mutate code_error_of_activations_dropped core_out pass value rtl/core/sq_core.sv "s/= act_error || high_error;/= high_error;/; s/^  logic act_error, /  logic unused_act; assign unused_act = act_error;\n&/"
mutate code_error_of_the_last_high_step core_out slow value rtl/core/sq_core.sv "s/bad_hs_q || (group_q \&\& !high_first)/bad_hs_q/; s/^  if (CheckHigh)/  logic unused_first; assign unused_first = high_first;\n&/"
mutate code_error_of_a_lane_beyond_the_bank core_out int8 value rtl/core/sq_core.sv "s/HighLanes < HighPerBank \&\&/HighLanes < BankLen \&\&/"
mutate scale_error_of_tokens_with_every_group core_out pass value rtl/array/sq_engine_scales.sv "s/((rows_i || TwoRows) \&\&/((rows_i || !TwoRows) \&\&/"
mutate errors_of_the_core_job_before core_out one value rtl/array/sq_engine_tail.sv "s/job_last ? '0 : known/known/"
mutate mask_error_of_the_last_bank_alone core_out slow value rtl/core/sq_core.sv "s/error_ls_q || (group_error_q \&\& !low_first)/error_ls_q || (group_error_q \&\& !low_first \&\& $F)/"
mutate mask_error_of_the_group_before core_out slow value rtl/core/sq_core.sv "s/error_ls_q || (group_error_q \&\& !low_first)/error_ls_q || group_error_q/"
mutate mask_error_a_stage_early core_out slow value rtl/core/sq_core.sv "s/error_ls_q <= error_l2_q;/error_ls_q <= error_l1_q;/"
mutate error_a_beat_late q4k_weight b4 value rtl/spqt/sq_q4k_weight.sv "s/logic valid_q, valid_q2,/logic late_q; always_ff @(posedge clk_i) if (moves) late_q <= error_q2;\n  &/; s/= error_q2;\$/= late_q;/"
mutate error_kinds_exchanged spqr_scale w1 value rtl/spqr/sq_spqr_scale.sv "s/in_error_i};/in_error_i[0], in_error_i[2:1]};/"

# ---- codes of floating point (SPEC A.9): sums as long as they are exact, codes of no value ---------
mutate fp_sum_of_47_bits core_out fp value rtl/core/sq_core_out.sv "s/IsFp != 0 ? 48 : 32/IsFp != 0 ? 47 : 32/"
mutate fp_largest_shift core_out fp value rtl/scaled/sq_dot_element.sv "s/<< (a_exp + b_exp)/<< (a_exp + b_exp - 6'(a_exp + b_exp == 6'd28))/"
mutate fp_minus_zero_is_a_code core_out fp value rtl/core/sq_core.sv "s/HasMinusZero(1'b0)/HasMinusZero(1'b1)/"
mutate fp_code_error_of_a_lane_beyond_the_bank core_out fp value rtl/core/sq_core.sv "s/HighLanes >= HighPerBank;/HighLanes >= BankLen;/"
mutate fp_sums_a_place_off core_out fp_odd value rtl/output/sq_combine.sv "s/Fraction(HiFraction)/Fraction(LoFraction)/"
if todays "netlist of core_out, codes of floating point" 0 6; then
  sq cosim --netlist --block core_out --point fp --cases 14 --seed "$SEED" --json
  ok "netlist of core_out, codes of floating point" clean 200000
fi

# ---- times, status ------------------------------------------------------------------------------
mutate queue_that_wraps_at_another_depth output scaled any rtl/flow/sq_fifo.sv "s/(write_q == Last) ? '0 : write_q/(write_q == Last \&\& Depth != 3) ? '0 : write_q/"
mutate counters_of_the_other_path core_out slow cycle rtl/core/sq_core.sv \
  "s/\.active_i(active), \.cause_i(high_cause)/.active_i(active), .cause_i(low_cause)/"
mutate state_that_a_reset_forgets gqsa_scale two any rtl/output/sq_combine.sv "s/^      is_first_q <= $T;/      is_first_q <= is_first_q;/"

# ---- sizes ---------------------------------------------------------------------------------------
large() { # NAME BLOCK FILE SED_SCRIPT: of the core of 5 x 6 PEs
  mutant "$1" "$3" "$4" || return
  local more=(--low-lanes 1 --high-lanes 1 --bank 4 --sparsity 0.5)
  [ "$2" = core ] || more=(--point one)
  sq_of "$W/$1" cosim --block "$2" --rows 5 --cols 6 "${more[@]}" --cases 30 --json
  ok "$1: found" fails value
}
large fifth_row_is_the_first core rtl/core/sq_core.sv 's/low_act_i(act_l2_q\[r\*/low_act_i(act_l2_q[(r%4)*/'
large sixth_column_is_the_second core_out rtl/core/sq_core.sv 's/high_code_i(high_code_q\[c\*/high_code_i(high_code_q[(c%5)*/'
finish
