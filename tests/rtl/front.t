#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Co-simulation of what stands around the arrays: decoders and walkers of SpQR, SpQt and GQSA, the
# requantiser, the combine unit, the store of masked activations, the array of reordered channels. Exhausted: every mask of two
# segments of 8, every matrix of 3 rows of 4 groups. Sampled: the rest, malformed input and stalls
# on all sides. Then mutants, each of which must be found; of those and the netlists, see lib.sh.
. "$(dirname "$0")/lib.sh"

exhausted() { [ "$(grep -c '"exhausted":true' "$W.out")" -ge "$1" ]; }

# BLOCK CASES MIN_BEATS WHAT NETLIST_POINT
while read -r block cases beats point what; do
  campaign "$block" "$cases" "$beats" "$block: $what"
  case $block in
    spqt_idx) ok "every mask of two segments" exhausted 1 ;;
    gqsa_walk) ok "every matrix of 3 rows of 4 groups" exhausted 1 ;;
  esac
  daily "netlist of $block" && tried "netlist of $block" && netlist "$block" "$point" 10 50
done <<'END'
spqr_dec 200 20000 w4 words to codes, scale, zero and second order
spqt_idx 150 200000 long threshold, prefix sum, packed indices
q4k_dec 200 4000 b16 superblocks to codes, steps and minima
gqsa_walk 200 100000 all3x4 steps of a BSR matrix
requant 100 8000 narrow sums to codes
act_buffer 120 5000 d4 tiles given several times
array_static 60 5000 b8 static mask, both parts compact
hadamard 60 3000 two activations to rotated ones
combine 200 20000 two_bf16 sums of scale groups to binary32 and bfloat16
END

# Mutants: a copy of the sources with one edit, the program is the same.
mutate copy_not_compared spqr_dec w1 value rtl/spqr/sq_spqr_dec.sv \
  's/piece != second_q\[63:56\]/1'"'"'b0/'
mutate tile_one_beat_early spqr_dec w4 cycle rtl/spqr/sq_spqr_dec.sv \
  's/assign tile_in = in_fire && write_q == Last/assign tile_in = in_fire \&\& write_q == Last - 1/'
mutate threshold_excludes_equal spqt_idx all8 any rtl/spqt/sq_spqt_idx.sv \
  's/magnitude >= in_theta_i/magnitude > in_theta_i/'
mutate end_costs_a_cycle spqt_idx long cycle rtl/spqt/sq_spqt_idx.sv \
  's/out_ready_i && (ends || (/out_ready_i \&\& ((/'
mutate zero_keeps_its_exponent q4k_dec b16 value rtl/spqt/sq_q4k_scale.sv "s/product == '0 ? 31'b0 : //"
mutate header_costs_no_cycle q4k_dec b4 cycle rtl/spqt/sq_q4k_dec.sv \
  's/out_valid_q <= in_valid_i && !is_head/out_valid_q <= in_valid_i/'
mutate empty_row_swallows_a_group gqsa_walk all3x4 cycle rtl/gqsa/sq_gqsa_walk.sv \
  's/assign group_ready_o = row_valid_q && !empty/assign group_ready_o = row_valid_q/'
mutate order_kept_across_rows gqsa_walk g16 value rtl/gqsa/sq_gqsa_walk.sv \
  's/!empty && !first_q && group/!empty \&\& group/'
mutate half_rounds_up requant int8 value rtl/output/sq_requant.sv \
  's/(|dropped || moved\[1\])/(|dropped || 1'"'"'b1)/'
mutate one_pass_too_few act_buffer d4 any rtl/array/sq_act_buffer.sv \
  's/pass_q + PassW.(1) == passes/pass_q + PassW'"'"'(2) == passes/'
mutate parts_swapped array_static b8 value rtl/array/sq_array_static.sv \
  's/{{HighPerBank{1.b1}}, {LowLen{1.b0}}}/{{LowLen{1'"'"'b0}}, {HighPerBank{1'"'"'b1}}}/'
mutate lowest_bit_of_a_sum_is_not_sticky hadamard integer10 value rtl/output/sq_hadamard_integer.sv \
  's/|leading\[MagW-10:0\]/|leading[MagW-10:1]/'
mutate int_ties_up combine one value rtl/number/sq_fp_round.sv \
  's/sticky || moved\[1\]/sticky || moved[1] || 1'"'"'b1/'
mutate sticky_of_subnormals_lost combine two value rtl/number/sq_fp_round.sv \
  's/ || |(kept & ~({25{1.b1}} << down))//'
mutate sum_not_cleared combine two value rtl/output/sq_combine.sv \
  's/is_first_q <= last_q\[Issue-1\]/is_first_q <= 1'"'"'b0/'
mutate minus_zero_leaves combine two value rtl/output/sq_combine.sv \
  's/product\[31\] && product\[30:0\] != .0/product[31]/'
mutate guard_bit_short combine two value rtl/number/sq_fp_add.sv \
  's/| 28.(sticky)/| 28'"'"'(sticky \&\& distance < 6)/'
mutate subnormal_part_of_half_its_size combine float value rtl/number/sq_fp_scale.sv "s/ + 11'(a_sub)//"
mutate output_not_awaited combine one any rtl/output/sq_combine.sv \
  's/assign advance = Cut != 0 || !(valid_q\[Stages-1\] && last_q\[Stages-1\] && out_valid_q && !out_ready_i)/assign advance = out_ready_i || !out_valid_q/'
finish
