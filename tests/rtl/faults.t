#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Faults put into the RTL by hand, each of which the co-simulation once let pass: status outputs that
# are wrong between the ends of jobs, sums and counts too narrow for the largest layer, a beat too
# many, one side that is not waited for, registers that a reset forgets. Each is a copy of the
# sources with one edit. A failed assertion is a mismatch with case, seed and command like any other.
. "$(dirname "$0")/lib.sh"
T="1'b1" F="1'b0"

# ---- status -----------------------------------------------------------------------------------
mutate mask_error_late core p03 value rtl/core/sq_core.sv \
  "s/assign mask_error_o\[c\] = mask_error_q;/logic late_q; always_ff @(posedge clk_i or negedge rst_ni) if (!rst_ni) late_q <= $F; else late_q <= mask_error_q; assign mask_error_o[c] = late_q;/"
mutate mask_error_on_stall core p03 value rtl/core/sq_core.sv \
  's/assign mask_error_o\[c\] = mask_error_q;/assign mask_error_o[c] = mask_error_q || (out_valid_o \&\& !out_ready_i);/'
mutate counters_run_on core p03 cycle rtl/flow/sq_cause_count.sv \
  "s/active_i && cause_i/(active_i || count_q != '0) \&\& cause_i/"
mutate beat_after_the_last meta24 g1 cycle rtl/sp24/sq_meta24.sv \
  "s/assign out_valid_o = valid_q2;/logic [5:0] idle_q; always_ff @(posedge clk_i or negedge rst_ni) if (!rst_ni) idle_q <= '0; else if (in_valid_i || valid_q2) idle_q <= '0; else if (idle_q != '1) idle_q <= idle_q + $T; assign out_valid_o = valid_q2 || idle_q == 6'd50;/"

# ---- ranges -----------------------------------------------------------------------------------
mutate p_lo_of_24_bits core p03 value rtl/core/sq_pe.sv "s/low_result_q <= low_acc_d/low_result_q <= AccW'(\$signed(24'(low_acc_d)))/"
mutate p_hi_of_26_bits core p03 value rtl/core/sq_pe.sv "s/p_hi_o = high_acc_q/p_hi_o = AccW'(\$signed(26'(high_acc_q)))/"
mutate sum_of_22_bits array int4x8 value rtl/array/sq_acc.sv "s/result_q <= acc_d/result_q <= AccW'(\$signed(22'(acc_d)))/"
mutate bank_of_15_bits core p03 cycle rtl/core/sq_core_ctl.sv \
  "s/low_bank_q == group_banks_q - 1'b1/low_bank_q[14:0] == 15'(group_banks_q - $T)/"
mutate groups_of_31_bits core p03 cycle rtl/core/sq_core_ctl.sv \
  "s/out_groups_q <= job_groups_i/out_groups_q <= {$F, job_groups_i[30:0]}/"
mutate rows_of_8_bits gqsa_walk g128 value rtl/gqsa/sq_gqsa_walk.sv \
  "s/row_q + 1'b1/{row_q[RowW-1:8], row_q[7:0] + $T}/"
mutate offset_of_16_bits gqsa_walk g128 value rtl/gqsa/sq_gqsa_walk.sv \
  "s/at_q <= at_q + 1'b1/at_q <= {at_q[AtW-1:16], at_q[15:0] + $T}/"
mutate segments_of_8_bits spqt_idx s64 value rtl/spqt/sq_spqt_idx.sv \
  "s/(segment_q + (SegmentW + 1)'(1));/{segment_q[SegmentW:8], segment_q[7:0] + $T};/"
mutate passes_of_7_bits act_buffer d1 cycle rtl/array/sq_act_buffer.sv \
  "s/pass_q + PassW'(1) == passes_q\[read_bank_q\]/7'(pass_q + PassW'(1)) == 7'(passes_q[read_bank_q])/"

mutate p_hi_of_30_bits core p03 value rtl/core/sq_pe.sv "s/p_hi_o = high_acc_q/p_hi_o = AccW'(\$signed(30'(high_acc_q)))/"
mutate acc_of_31_bits array split_w value rtl/array/sq_acc.sv "s/if (acc_i) acc_q <= acc_d/if (acc_i) acc_q <= AccW'(\$signed(31'(acc_d)))/"
mutate many_banks_and_groups core p03 any rtl/core/sq_core_ctl.sv \
  "s/group_banks_q <= job_group_banks_i/group_banks_q <= job_group_banks_i - 16'(job_group_banks_i[15] \&\& job_groups_i != 1)/"
mutate offset_of_20_bits gqsa_walk g16 any rtl/gqsa/sq_gqsa_walk.sv \
  "s/at_q <= at_q + 1'b1/at_q <= {at_q[AtW-1:20], at_q[19:0] + 20'd1}/"

mutate high_sum_of_one_bit_less core p03 value rtl/core/sq_pe.sv \
  "s/high_sum_q <= high_sum;/high_sum_q <= (high_sum[HighSumW-1] ^ high_sum[HighSumW-2]) ? ~high_sum : high_sum;/"
mutate first_offset_of_16_bits gqsa_walk g16 value rtl/gqsa/sq_gqsa_walk.sv \
  "s/offset_error_q <= in_offset_i != '0/offset_error_q <= in_offset_i[15:0] != '0/"
mutate high_sums_of_15_bits_passed_on engine_static b8 value rtl/array/sq_engine_array.sv \
  "s/\.in_p_hi_i(p_hi)/.in_p_hi_i({32'(\$signed(p_hi[110:96])), 32'(\$signed(p_hi[78:64])), 32'(\$signed(p_hi[46:32])), 32'(\$signed(p_hi[14:0]))})/; s/^endmodule/  wire unused_high = ^p_hi; endmodule/"
mutate matrix_without_rows gqsa_walk g16 any rtl/gqsa/sq_gqsa_walk.sv "s/start_q <= !in_last_i/start_q <= $T/"

# ---- corners ------------------------------------------------------------------------------------
mutate all_masked_is_legal core p03 value rtl/core/sq_core.sv \
  "s/low_bank_last \&\& count != CountW'(HighPerBank);/low_bank_last \&\& count != CountW'(HighPerBank) \&\& count != CountW'(BankLen);/"
mutate all_weights_minus_one array int4x8 value rtl/array/sq_pe_dense.sv "s/\.sum_i(sum)/.sum_i(sum - SumW'(\&b_i))/"
mutate all_equal_one_less topk b16r value rtl/core/sq_topk_radix.sv "s/ - n_gt;/ - n_gt - CountW'(\&eq_q);/"
mutate infinity_is_legal spqt_idx s32f value rtl/spqt/sq_spqt_idx.sv \
  "s/illegal\[i\] = &in_x_i\[i\*XW+10 +: 5\]/illegal[i] = \&in_x_i[i*XW+10 +: 5] \&\& in_x_i[i*XW +: 10] != '0/"
mutate infinite_dmin_is_legal q4k_dec b16 value rtl/spqt/sq_q4k_dec.sv "s/&head_q\[30:26\] ||/\&head_q[30:26] \&\& head_q[25:16] != '0 ||/"
mutate least_factor q4k_dec b16 value rtl/spqt/sq_q4k_scale.sv "s/zeros = 5'd16;/zeros = 5'd15;/"
mutate bfloat16_half_up combine two_bf16 value rtl/output/sq_combine.sv "s/32'(ended\[16\])/32'd1/"
mutate zero_times_infinity combine two value rtl/number/sq_fp_mul.sv "s/(a_top && b_i\[30:0\] == '0) ||/$F ||/"
mutate comparison_without_bit_11 fp_mac whole value rtl/number/sq_fp_add.sv \
  "s/swap = b_i\[30:0\] > a_i\[30:0\]/swap = {b_i[30:12], b_i[10:0]} > {a_i[30:12], a_i[10:0]}/"
mutate half_of_the_least fp_mac half_1 value rtl/number/sq_fp_to_half.sv "s/exponent < 8'd102/exponent < 8'd103/"
mutate largest_magnitude_less core_act rank value rtl/core/sq_act_quant.sv "s/value\[MagW-1:0\] == '0 ? '1 :/value[MagW-1:0] == '0 ? ~MagW'(1) :/"
mutate nan_of_low_bits_is_infinity fp_mac whole value rtl/number/sq_fp_mul.sv "s/a_i\[22:0\] != '0/a_i[22:4] != '0/"
mutate masked_zero_is_zero act_scale own_b16 value rtl/scaled/sq_act_scale.sv \
  "s/OwnHigh != 0 && mask_q4\[i\])/OwnHigh != 0 \&\& mask_q4[i] \&\& x_q4[i*16 +: 15] != '0)/"
mutate rounded_to_infinity combine two value rtl/number/sq_fp_round.sv \
  "s/else y_o = {sign, rounded}/else y_o = {sign, rounded - 31'(rounded == {8'hff, 23'd0})}/"

# ---- one side, resets -------------------------------------------------------------------------
mutate high_path_not_awaited core_act high any rtl/core/sq_core_act.sv \
  's/out_ready_i(low_place && high_place)/out_ready_i(low_place)/'
mutate step_not_reset core_act high any rtl/core/sq_bank_steps.sv \
  "s/if (!rst_ni) step_q <= '0;/if (!rst_ni) step_q <= step_q;/"

mutate synchronous_reset act_buffer d4 any rtl/array/sq_act_buffer.sv "s/ or negedge rst_ni//; 1i // verilator lint_off SYNCASYNCNET"

# ---- an assertion -----------------------------------------------------------------------------
SQ_TIER='' FAULTS=1 mutate assertion act_buffer d4 cycle rtl/array/sq_act_buffer.sv \
  "s/|| in_passes_i != '0/|| in_passes_i != PassW'(3)/"
ok "it is named" grep -q '"kind":"assertion","signal":"sq_act_buffer.SomePass"' "$W.out"
ok "standard output holds nothing but JSON" bash -c "! grep -qv '^{.*}\$' '$W.out'"
again=$(sed -n 's/.*"again":"sqsim \([^"]*\)".*/\1/p' "$W.out")
ok "a command is there to repeat it" [ -n "$again" ]
sq_of "$W/assertion" $again
ok "it does" bash -c "[ $RC = 1 ] && grep -q 'MISMATCH.*SomePass: assertion failed' '$W.out'"
ok "and names itself" grep -qF "again: sqsim $again" "$W.out"
finish
