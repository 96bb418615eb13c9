#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Block-scaled formats in hardware: sq_array_scaled against the formats' own product (SPEC Q.7) and
# exact sums, sq_act_scale against their encoder. Directed: every kind of error alone in every line. Sampled, with scales that are zero, subnormal and
# no number, ties, sums beyond both ends of binary32, and K of the largest layer at the ends of the
# exact accumulators. Then mutants, the faults that people plant and find in such units: each must be
# found. SQ_BS_CASES: so many cases of each block at every point as well, not at the quick ones alone (10^7
# beats: 36000).
. "$(dirname "$0")/lib.sh"

if [ -n "$SQ_BS_CASES" ]; then
  sq cosim --block array_scaled --cases "$SQ_BS_CASES" --seed "$SEED" --json
  ok "arrays at every point" clean 60000
  ok "fifty-one points ran" [ "$(number points)" = 51 ]
  sq cosim --block act_scale --cases "$SQ_BS_CASES" --seed "$SEED" --json
  ok "encoder at every point" clean 25000
fi
campaign array_scaled 180 30000 "arrays: NVFP4, NVINT4, MXFP4, split codes, own high scale, tables, exact sums"
campaign act_scale 270 15000 "encoder: scale, mask and codes"
netlist array_scaled split_a_pow4 8 300
netlist act_scale own_b16 10 300
netlist array_scaled mxfp4_aligned 6 300

# ---- sums that GPUs made, by aligned tails: rows of a, b, c, d through an array of one PE -------------
cat >"$W/rows.cpp" <<'EOT'
#include <cstdio>
#include <cstdlib>
#include "Vsq_array_scaled.h"
static Vsq_array_scaled top;
static void tick()
{
    top.clk_i = 0, top.eval(), top.clk_i = 1, top.eval();
}
int main(int, char **v) // lines of codes of a and of b, n each, c, d; which are apart
{
    const unsigned n = std::atoi(v[1]), bank = std::atoi(v[2]);
    unsigned a[64], b[64], c, d, rows = 0, apart = 0;
    top.out_ready_i = top.rst_ni = top.carry_valid_i = 1;
    top.in_act_scale_i = top.in_weight_scale_i = 127;
    top.rst_ni = 0, tick(), top.rst_ni = 1;
    for (;; rows++) {
        for (unsigned i = 0; i < 2 * n; i++)
            if (std::scanf("%x", i < n ? &a[i] : &b[i - n]) != 1)
                return std::printf("%u rows, %u apart\n", rows, apart), 0;
        if (std::scanf("%x %x", &c, &d) != 2)
            return 1;
        top.carry_y_i = c;
        for (unsigned at = 0; at < n; at += bank) {
            for (unsigned i = 0; i < bank; i++) {
                top.in_act_i[i / 4] = top.in_act_i[i / 4] >> 8 | a[at + i] << 24;
                top.in_weight_i[i / 4] = top.in_weight_i[i / 4] >> 8 | b[at + i] << 24;
            }
            top.in_valid_i = 1, top.in_carry_i = at == 0, top.in_last_i = at + bank == n;
            tick();
        }
        top.in_valid_i = 0;
        for (unsigned i = 0; i < 9 && !top.out_valid_o; i++)
            tick();
        apart += !top.out_valid_o || top.out_y_o != d;
        tick();
    }
}
EOT
array() { # NAME BANK ELEMENT ACC BITS; Verilator's own objects are those of the first
  local p own
  own=$(ls "$W"/*/verilated*.o 2>/dev/null | tr '\n' ' ')
  for p in $(sed -n 's|/[^/]*$||p' "$ROOT/rtl/files.f" | sort -u); do set -- "$@" -y "$ROOT/rtl/$p"; done
  verilator --cc --exe --build -O3 -Wno-fatal "$ROOT/rtl/verilate.vlt" -I"$ROOT/rtl" --top-module sq_array_scaled --Mdir "$W/$1" -GRows=1 -GCols=1 -GBankLen="$2" -GActElement="$3" \
    -GWeightElement="$3" -GActScale=2 -GWeightScale=2 -GAcc="$4" -GAccW="$5" -GSums=1 "${@:6}" "$ROOT/rtl/sq_pkg.sv" \
    "$ROOT/rtl/scaled/sq_array_scaled.sv" "$W/rows.cpp" ${own:+-LDFLAGS "$own"} \
    -MAKEFLAGS "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0 VM_PARALLEL_BUILDS=0 ${own:+VM_GLOBAL_FAST=}" >"$W/$1.log" 2>&1 || tail -3 "$W/$1.log"
}
rows() { # NAME SET LENGTH BANK C: the array of NAME on rows of the repository, and of SQ_DATA; C: in place of c
  { sed 1d "$ROOT/traces/tensor_core/$2.csv"; zcat "$DATA/tensor_core/$2.csv.gz" 2>/dev/null | sed 1d; } |
    awk -F, -v c="$5" '{ print $1, $2, c != "" ? c : $3, $4 }' | "$W/$1/Vsq_array_scaled" "$3" "$4" >"$W/$1.out"
  sed 's/^/# /' "$W/$1.out"
}
apart() { # NAME LEAST: of so many rows at least; status: as grep
  [ "$(sed -n 's/ rows.*//p' "$W/$1.out")" -ge 60 ] && grep -q ", $2 apart" "$W/$1.out"
}
array h100 32 5 2 13 && rows h100 h100_e4m3 32 32 0
ok "sums of an H100 in E4M3: none apart" apart h100 0
rows h100 ada_e4m3 32 32
ok "... in blocks of 32 not those of an Ada" apart h100 '[1-9][0-9]*'
array ada 16 5 2 13 && rows ada ada_e4m3 32 16
ok "sums of an Ada in E4M3, 16 products a step, c among them: none apart" apart ada 0
array b200 32 5 3 25 && rows b200 b200_e4m3 32 32
ok "sums of a B200 in E4M3, c added after: none apart" apart b200 0
array e5m2 32 6 2 13 && rows e5m2 h100_e5m2 32 32 0
ok "sums of an H100 in E5M2: none apart" apart e5m2 0

# ---- ties and scales of the encoder -----------------------------------------------------------
T="1'b1" F="1'b0"
mutate tie_goes_up act_scale nvint4 value rtl/scaled/sq_block_code.sv "s/sticky || units\[1\]/& || $T/"
mutate tie_of_e2m1_goes_up act_scale nvfp4 value rtl/scaled/sq_block_code.sv "s/sticky || i % 2 == 1/& || $T/"
mutate rest_forgotten act_scale nvfp4 value rtl/scaled/sq_block_code.sv "s/left = rest != '0;/left = $F;/"
mutate high_code_clips_early act_scale split value rtl/scaled/sq_block_code.sv "s/8'd136/8'd119/"
mutate scale_tie_goes_up act_scale nvfp4 value rtl/scaled/sq_block_scale.sv "s/sticky || kept\[1\]/& || $T/"
mutate scale_truncated act_scale split value rtl/scaled/sq_block_scale.sv \
  "s/assign up = .*;/assign up = $F \&\& kept[0] \&\& (sticky || kept[1]);/"
mutate subnormal_scale_flushed act_scale nvfp4 value rtl/scaled/sq_block_scale.sv \
  "s/assign scale_o = code > 11'h7e/assign scale_o = is_sub ? 8'd0 : code > 11'h7e/"
mutate scale_code_7f_written act_scale nvint5 value rtl/scaled/sq_block_scale.sv "s/code > 11'h7e ? 8'h7e/code > 11'h7f ? 8'h7f/"
mutate power_of_two_below act_scale split_pow2 value rtl/scaled/sq_block_scale.sv "s/numerator != Divisor)/numerator != Divisor \&\& $F)/"
mutate scale_of_low_elements_alone act_scale split value rtl/scaled/sq_act_scale.sv "s/high_scale > low_scale ?/high_scale > low_scale \&\& $F ?/"
mutate own_high_rounds_down act_scale own_b32 value rtl/scaled/sq_block_code.sv "s/units\[0\] \&\& (sticky/CodeW != 8 \&\& &/"
mutate own_scale_in_other_units act_scale own_b16 value rtl/scaled/sq_act_scale.sv "s/120 - Shift/120 - (OwnHigh != 0 ? 3 : 0)/"
mutate own_code_in_the_low_plane act_scale own_b16 value rtl/scaled/sq_act_scale.sv "s/OwnHigh != 0 \&\& mask_q4/OwnHigh == 2 \&\& mask_q4/"
mutate tie_of_the_tree_goes_up topk all4x3t value rtl/core/sq_topk_first.sv "s/+1\] >= node/+1] > node/"
mutate second_may_be_the_first topk all8x2t value rtl/core/sq_topk_tree.sv "s/{!first_q\[i\],/{$T,/"

mutate error_counts_beyond_127 act_scale nvint4_searched value rtl/scaled/sq_block_error.sv "s/size\[9:7\] != '0 ?/size[9:8] != '0 ?/"
mutate error_of_the_upper_neighbour act_scale nvfp4_searched value rtl/scaled/sq_block_error.sv "s/? middle\[5\] : middle\[1\]/? middle[5] : middle[2]/"
mutate step_beyond_reach_wraps act_scale nvint4_searched value rtl/scaled/sq_block_error.sv "s/wide\[13:10\] != '0 ? 11'd1024 :/wide[13:10] != '0 \&\& $F ? 11'd1024 :/"
mutate equal_errors_take_the_last act_scale nvint4_searched value rtl/scaled/sq_act_scale.sv "s/SumW\] < least/SumW] <= least/"
mutate int4_of_if4_ties_go_up act_scale if4 value rtl/scaled/sq_block_code.sv "s/units\[0\] || sticky || units\[2\]/& || $T/"
mutate tie_to_the_fifth act_scale razer value rtl/scaled/sq_block_code.sv "s/QuotientW'(18) \&\& sticky/QuotientW'(18)/"
mutate fifth_of_the_other_sign act_scale razer value rtl/scaled/sq_act_scale.sv "s/? negative : ~negative/? ~negative : negative/"
mutate lowest_of_if4_counts array_scaled if4_a_fixed value rtl/scaled/sq_block_line.sv "s/is_none\[i\] ? 5'd0 : scale_i/scale_i/"
mutate fifth_has_one_sign array_scaled razer value rtl/scaled/sq_block_line.sv "s/scale_i\[7\] ? -5'sd10 : 5'sd10/5'sd10/"

# ---- tables: their decoder, grids, exponents of sub-blocks, scales of more than E4M3's bits ------
LINE=rtl/scaled/sq_block_line.sv
mutate value_of_a_table_off array_scaled mixfp4 value rtl/scaled/sq_element_table.sv "s/4'b1_101: value = 4'd5/4'b1_101: value = 4'd6/"
mutate grid_of_a_table_ignored array_scaled mixfp4 value $LINE "s/grid = {1'b0, scale_i\[7\]};/grid = 2'd0;/"
mutate exponents_of_the_wrong_level array_scaled hif4 value $LINE "s/i\*Lowers\/BankLen/i*Uppers\/BankLen/"
mutate exponent_of_one_level_alone array_scaled hif4 value $LINE "s/upper + lower;/upper;/"
mutate grid_of_its_lower_bit array_scaled three_grids value $LINE "s/grid = 2'(sub_i\[GridW-1:0\]);/grid = {1'b0, sub_i[0]};/"
mutate e6m2_has_subnormals array_scaled hif4 value $LINE "s/{1'b1, scale_i\[1:0\]}/{scale_i[7:2] != '0, scale_i[1:0]}/"
mutate exponent_of_e6m2_cut array_scaled hif4 value rtl/sq_pkg.sv "s/SCALE_E6M2: scale_exp_w = 6/SCALE_E6M2: scale_exp_w = 5/"
mutate ue5m3_in_other_units array_scaled ue5m3 value rtl/sq_pkg.sv "s/SCALE_UE5M3: scale_fraction = 17/SCALE_UE5M3: scale_fraction = 16/"
mutate sign_of_f16_forgotten array_scaled q4_0 value rtl/scaled/sq_scale_pair.sv "s/ ^ (WeightSigW > WeightMagW/ ^ ($F \&\& WeightSigW > WeightMagW/"
mutate sign_of_f16_at_one_operand array_scaled awq value rtl/scaled/sq_acc_binary32.sv "s/SignW > 0 \&\& sig_q/SignW > 1 \&\& sig_q/"
mutate subnormal_f16_flushed array_scaled q4_0 value $LINE "s/scale_i\[FloatFracW-1:0\]}/scale_i[FloatFracW-1:0] \& {FloatFracW{exp != '0}}}/"
mutate infinite_f16_counts array_scaled q4_0 value $LINE "s/error_o = exp == '1;/error_o = $F;/"
mutate product_of_f32_cut_off array_scaled f32 value rtl/scaled/sq_scale_pair.sv "s/RoundW'(product\[FullW-1:0\])/RoundW'({product[FullW-1:24], 24'd0})/"
mutate zero_point_added array_scaled awq value $LINE "s/value - zero;/value + zero;/"
mutate zero_point_of_three_bits array_scaled awq value $LINE "s/zero = ElementW'(sub_i)/zero = ElementW'(sub_i[2:0])/"
mutate scale_ff_of_e6m2_counts array_scaled hif4 value $LINE "s/error_o = scale_i == 8'hff;/error_o = 1'b0;/"

# ---- scales, sums and order in the PE ---------------------------------------------------------
mutate code_7f_is_a_number array_scaled nvfp4 value rtl/scaled/sq_block_line.sv "s/ || scale_i\[6:0\] == 7'h7f//"
mutate block_of_a_bad_scale_counts array_scaled nvfp4 value rtl/scaled/sq_block_line.sv "s/error_o ? '0 : element/element/"
mutate subnormal_scale_has_a_leading_one array_scaled nvfp4 value rtl/scaled/sq_block_line.sv \
  "s/{scale_i\[6:3\] != '0, scale_i\[2:0\]}/{$T, scale_i[2:0]}/"
mutate sum_one_bit_short array_scaled nvfp4 value rtl/scaled/sq_acc_binary32.sv \
  "s/sum_q <= sum_i;/sum_q <= {sum_i[SumW-2] || (sum_i[SumW-1] \&\& $F), sum_i[SumW-2:0]};/"
mutate sum_one_bit_short_exact array_scaled split_a_fixed value rtl/scaled/sq_acc_fixed.sv \
  "s/sum_q <= sum_i;/sum_q <= {sum_i[SumW-2] || (sum_i[SumW-1] \&\& $F), sum_i[SumW-2:0]};/"
mutate accumulator_one_bit_short array_scaled split_a_fixed value rtl/scaled/sq_acc_fixed.sv \
  "s/result_q <= acc_d;/result_q <= AccW'(\$signed(acc_d[AccW-2:0]));/"
mutate lowest_bit_lost array_scaled nvint4 value rtl/scaled/sq_acc_binary32.sv \
  "s/assign product = full\[MagW-1:0\];/assign product = {full[MagW-1:1], full[0] \&\& $F};/"
mutate two_interleaved_sums array_scaled nvfp4 value rtl/scaled/sq_acc_binary32.sv \
  "s/if (acc_i) acc_q <= acc_d;/if (acc_i) begin acc_q <= first_i ? '0 : other_q; other_q <= acc_d; end/; s/result_q <= acc_d;/result_q <= both;/; s/^  logic \[31:0\] scaled, /  logic [31:0] other_q, both; sq_fp_add u_both (.clk_i(1'b0), .en_i(1'b0), .a_i(acc_d), .b_i(first_i ? 32'd0 : other_q), .y_o(both));\n&/"
mutate subnormal_sum_flushed array_scaled mxfp4 value rtl/number/sq_fp_round.sv "s/if (!kept\[24\])/if (!kept[24] || is_sub)/"
mutate tie_of_the_sum_goes_up array_scaled nvfp4 value rtl/number/sq_fp_round.sv "s/sticky || moved\[1\]/& || $T/"
mutate high_nibbles_not_shifted array_scaled split value rtl/scaled/sq_pe_scaled.sv 's/high_sum) <<< 4/high_sum)/'
mutate exponent_one_bit_short array_scaled mxfp4 value rtl/scaled/sq_scale_pair.sv \
  "s/ExpW'(weight_exp_i) -/(ExpW'(weight_exp_i) \& ExpW'(254)) -/"
mutate high_sum_one_bit_short array_scaled own_b32 value rtl/array/sq_acc.sv \
  "s/sum_q <= sum_i;/sum_q <= {sum_i[SumW-2] || (sum_i[SumW-1] \&\& $F), sum_i[SumW-2:0]};/"
mutate shift_of_two_scales_one_bit_short array_scaled nvfp4_fixed value rtl/scaled/sq_pe_scaled.sv "s/SCALE_NONE) ? 4 : 5);/SCALE_NONE) ? 4 : 4);/"
mutate second_block_at_the_scale_of_the_first array_scaled nvfp4_a_two value rtl/scaled/sq_acc_fixed.sv "s/<< by\[ShiftW +: ShiftW\]/<< by[0 +: ShiftW]/"
mutate sum_of_two_blocks_two_bits_short array_scaled nvfp4_a_two value rtl/scaled/sq_acc_fixed.sv "s/ScaledW = ProdW + ShiftMax/ScaledW = ProdW + ShiftMax - 2/"
mutate second_block_only_with_the_last array_scaled nvint4_a_two value rtl/scaled/sq_acc_fixed.sv "s/assign scaled = first + second;/assign scaled = first + (last_i ? second : '0);/"
mutate cut_shift_of_the_block_behind array_scaled nvfp4_cut1 value rtl/scaled/sq_acc_fixed.sv "s/\$signed(factor)) << by;/\$signed(factor)) << shift_q;/"
mutate saved_total_overwritten array_scaled nvfp4_saved any rtl/scaled/sq_scaled_ctl.sv "s/(last_o || Result == 0)/last_o/"
mutate cut_counts_one_stage array_scaled nvfp4_cut2 any rtl/sq_pkg.sv "s/((k > 0) ? 1 : 0) + cut;/((k > 0) ? 1 : 0) + (cut + 1) \/ 2;/"
mutate cut_term_one_bit_short array_scaled nvfp4_cut2 value rtl/scaled/sq_acc_fixed.sv "s/AccW'(\$signed(term));/AccW'(\$signed(term[ScaledW-3:0]));/"
mutate saved_carry_of_the_group_before array_scaled nvfp4_saved value rtl/scaled/sq_acc_fixed.sv "s/Width'(kept\[AccW+Number-1\])/Width'(acc_q[AccW+Number-1])/"
mutate saved_carry_into_its_own_segment array_scaled nvfp4_saved value rtl/scaled/sq_acc_fixed.sv "s/Width'(kept\[AccW+Number-1\])/Width'(kept[AccW+(Number+1)%((AccW-1)\/SegmentW)])/"
mutate saved_carry_lost_at_the_end array_scaled split_a_saved value rtl/scaled/sq_acc_fixed.sv "s/assign y_o = acc_q;/assign y_o = acc_q \& ~(OutW'(1) << AccW);/"
mutate blocks_of_a_row_swapped array_scaled nvint4_a_two value rtl/scaled/sq_array_scaled.sv "s/Block = r \* Blocks + b;/Block = r * Blocks + Blocks - 1 - b;/"
mutate second_weight_scale_is_the_first array_scaled razer_two value rtl/scaled/sq_array_scaled.sv "s/\.scale_i(in_weight_scale_i\[Block\*WeightScaleW/.scale_i(in_weight_scale_i[c*Blocks*WeightScaleW/"
mutate error_of_the_third_column_lost array_scaled mxplus value rtl/scaled/sq_array_scaled.sv "s/assign weight_error\[c\] = |scale_error;/assign weight_error[c] = |scale_error \&\& c != 2;/"
mutate error_of_the_second_block_lost array_scaled nvfp4_a_two value rtl/scaled/sq_array_scaled.sv "s/assign act_error\[r\] = |scale_error;/assign act_error[r] = scale_error[0];/"
mutate tile_overwritten array_scaled split cycle rtl/scaled/sq_scaled_ctl.sv "s/assign in_ready_o = .*/assign in_ready_o = $T;/"
mutate sum_of_fp8_not_rounded_first array_scaled mxfp8 value rtl/scaled/sq_acc_binary32.sv "s/top\[SumW-25\] \&\& is_odd/$F \&\& is_odd/"
mutate largest_like_the_others array_scaled mxplus value rtl/scaled/sq_block_line.sv "s/if (is_largest) magnitude/if (is_largest \&\& $F) magnitude/"
mutate infinity_is_a_number array_scaled mxfp8_e5m2 value rtl/scaled/sq_block_line.sv "s/code\[6:2\] == '1/code[6:0] == '1/"

# ---- aligned sums -----------------------------------------------------------------------------
A=rtl/scaled/sq_acc_aligned.sv D=rtl/scaled/sq_dot_columns.sv
mutate aligned_toward_minus_infinity array_scaled mxfp8_aligned value $A "s/? negative_q : count_q/? CountW'(0) : count_q/"
mutate aligned_zeros_have_an_exponent array_scaled mxfp4_aligned value $D "s/assign any_o = .*/assign any_o = 1'b1;/"
mutate aligned_exponent_by_value array_scaled mxfp8_aligned value $D "s/a_exp + b_exp : 6'd0/a_exp + b_exp + 6'((AMagW+BMagW)'(a) * (AMagW+BMagW)'(b) >> (AMagW+BMagW-1)) : 6'd0/"
mutate aligned_sum_so_far_ignored array_scaled mxfp4_aligned value $A "s/before_any \&\& before_top > e_products;/before_any \&\& before_top > e_products + 1;/"
mutate aligned_infinity_goes_on array_scaled mxfp4_aligned value $A "s/assign is_infinite = before_any .*/assign is_infinite = $F;/"
mutate aligned_subnormal_not_placed array_scaled mxfp8_aligned value $A "s/deep > 0 ? norm >> deep\[4:0\] : norm/norm/"
mutate aligned_least_exponent_lower array_scaled mxfp8_aligned value $A "s/largest > -126) ? largest : -12'sd126/largest > -133) ? largest : -12'sd133/"
mutate aligned_opposite_one_off array_scaled mxfp8_aligned value $A "s/(MagW+1)'(1) : (MagW+1)'(2)/(MagW+1)'(2) : (MagW+1)'(2)/"
mutate aligned_total_overwritten array_scaled mxfp4_aligned any rtl/scaled/sq_array_scaled.sv "s/Carry == 0 \&\& !IsAligned ? 1 : 0/Carry == 0 ? 1 : 0/"
mutate aligned_after_one_cycle_early array_scaled mxfp8_after any rtl/sq_pkg.sv "s/ACC_AFTER) ? 3 : 1/ACC_AFTER) ? 2 : 1/"
finish
