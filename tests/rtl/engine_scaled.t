#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The engine of the block-scaled formats: jobs of stored bits, or of bfloat16 activations, to words of
# outputs with what was wrong in the job. Sampled: quick points, all stalls, resets. Directed: every
# kind of error alone in a beat of a job, a right job behind it; sums of blocks at both ends of their
# range, of every pair of parts alone; sums that almost cancel. Then faults where parts meet: an error
# that is dropped, pairs or scales exchanged, a beat lost under a stall.
. "$(dirname "$0")/lib.sh"
T="1'b1" F="1'b0"

campaign engine_scaled 90 15000
todays "netlist of engine_scaled" 5 6 && netlist engine_scaled mxplus 6 500

E=rtl/scaled/sq_engine_scaled.sv C=rtl/array/sq_engine_ctl.sv J=rtl/array/sq_engine_tail.sv P=rtl/scaled/sq_pe_parts.sv L=rtl/scaled/sq_parts_line.sv A=rtl/scaled/sq_act_blocks.sv
mutate scaled_pairs_exchanged engine_scaled own value $P "s/y_o\[Row\*32 +: 32\]/y_o[other]/; s/y_o\[32 +: 32\]/y_o[Row*32 +: 32]/; s/y_o\[other\]/y_o[32 +: 32]/"
mutate scaled_scale_of_the_low_part_for_the_high_one engine_scaled own value $E "s/pair\[1\] ? scale_row_hi_i/pair[0] ? scale_row_hi_i/"
mutate scaled_mask_error_of_weights_dropped engine_scaled block_fp value $L "s/= mask_error;/= mask_error \&\& Element != 2;/"
mutate scaled_mask_error_hidden_by_a_scale engine_scaled own value $L "s/= mask_error;/= mask_error \&\& !scale_error;/"
mutate scaled_code_error_of_high_codes_dropped engine_scaled own value $L "s/= code_error || high_code_error;/= code_error || (high_code_error \&\& $F);/"
mutate scaled_errors_of_the_job_before engine_scaled nvfp4 value $J "s/job_last ? '0 : known/known/"
mutate scaled_held_tile_counted_early engine_scaled block_fp value $J "s/((Hold == 1 || (Hold == 2 \&\& !tile_fire_i)) ? '0 : tile_error_i)/tile_error_i/"
mutate scaled_infinite_activation_passes engine_scaled mxfp4 value $A "s/bad_out\[r\] ? NoScale : scale/bad_out[r] \&\& $F ? NoScale : scale/"
mutate scaled_flag_of_the_next_block engine_scaled nvint4_a value $A "s/out_ready_i(out_valid_o \&\& out_ready_i), .out_data_o(bad_out)/out_ready_i(out_ready_i), .out_data_o(bad_out)/"
mutate scaled_beat_lost_under_a_stall engine_scaled mxfp8 any $C "s/assign weight_ready_o = array_ready_i \&\& in_busy \&\& act_valid_i;/assign weight_ready_o = array_ready_i \&\& in_busy;/"
mutate scaled_scales_leave_with_the_first_pair engine_scaled own any $C "s/stage_ready_i \&\& is_end/stage_ready_i \&\& pair_q == 0/"
X=rtl/number/sq_fixed_float.sv
mutate scaled_carry_resolved_one_segment_below engine_scaled nvfp4_saved value $X "s/carries\[(i+1)\*Carry\]/carries[i*Carry]/"
mutate scaled_exact_in_other_units engine_scaled nvfp4_exact value rtl/scaled/sq_engine_scaled.sv "s/sq_pkg::scale_fraction(WeightScale) +/sq_pkg::scale_fraction(WeightScale) + 1 +/"
mutate scaled_total_one_cycle_late engine_scaled nvfp4_saved value rtl/output/sq_combine.sv "s/Stages(First - LoCut)/Stages(First - LoCut + Cut)/"
finish
