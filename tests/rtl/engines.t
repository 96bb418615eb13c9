#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Engines: jobs of stored bits to words of outputs, with what was wrong in the job. Sampled: quick points,
# all stalls, resets. Directed: every kind of error alone in a beat of a job, a right job behind it; sums
# at both ends of their range. Then faults where parts meet: an error that is dropped, a beat lost
# under a stall, two streams or counts exchanged, an end one beat off.
. "$(dirname "$0")/lib.sh"
T="1'b1" F="1'b0"

campaign engine_array 60 200000
campaign engine_static 20 400000
campaign engine_gqsa 60 12000
campaign engine_spqt 30 50000
campaign engine_dynamic 45 5000
campaign engine_core_act 60 30000
campaign engine_spqr 30 15000
# Those of spqt and spqr take Yosys many minutes: `make mutants` builds them. Number 5 is in engine_scaled.t.
# NUMBER BLOCK POINT MIN_BEATS
while read -r number block point beats; do
  todays "netlist of $block" "$number" 6 && netlist "$block" "$point" 6 "$beats"
done <<'END'
0 engine_array dense 1000
1 engine_static b4_tied 1000
2 engine_gqsa g4 500
3 engine_dynamic radix 300
4 engine_core_act one 300
END

E=rtl/array/sq_engine_array.sv L=rtl/array/sq_engine_tail.sv
mutate array_mask_error_dropped engine_array sp24 value $E "s/= mask_error;/= mask_error \&\& $F;/"
mutate array_code_error_of_the_last_beat_lost engine_array dense value $E "s/{code_q\[Stages-1:0\], code_error}/{code_q[Stages-1:0], before_q}/"
mutate array_scale_error_of_one_side engine_array compact value rtl/array/sq_engine_scales.sv "s/= |bad_col_lo || |bad_col_hi || (/= (/; s/^  assign error_o/  wire unused_col = ^{bad_col_lo, bad_col_hi};\n&/"
mutate array_beat_lost_under_a_stall engine_array sp24 any $E "s/assign plain_ready_o = array_ready \&\& in_busy \&\& coded_valid_i;/assign plain_ready_o = array_ready \&\& in_busy;/"
mutate array_weights_not_awaited engine_array sp24 any $E "s/in_valid_i(in_busy \&\& plain_valid_i \&\& coded_valid_i)/in_valid_i(in_busy \&\& coded_valid_i)/"
mutate array_counts_exchanged engine_array sp24 any $E "s/job_inner_i(job_groups_i), .job_middle_i(16'd1), .job_outer_i(job_tiles_i)/job_inner_i(job_tiles_i), .job_middle_i(16'd1), .job_outer_i(job_groups_i)/"
mutate array_errors_of_the_job_before engine_array sp24 value $L "s/job_last ? '0 : known/known/"
mutate array_held_tile_counted_early engine_array dense value $L "s/((Hold == 1 || (Hold == 2 \&\& !tile_fire_i)) ? '0 : tile_error_i)/tile_error_i/"
mutate array_last_with_every_word engine_array sp24 value $L "s/= word_tag_i\[sq_pkg::N_ERRORS\] \&\& word_ends/= word_tag_i[sq_pkg::N_ERRORS]/"
mutate array_groups_of_a_byte engine_array dense any rtl/flow/sq_engine_count.sv "s/middle_q == middle_n_q - 1'b1/middle_q[7:0] == 8'(middle_n_q - 1'b1)/"
mutate array_high_code_of_the_second_bank engine_array compact value $E "s/bad_high\[i\] = CheckHigh \&\&/bad_high[i] = CheckHigh \&\& i \/ HighLen % Banks == 0 \&\&/"
mutate array_a_beat_less_of_a_group engine_array sp24 any rtl/flow/sq_engine_count.sv "s/inner_q == inner_n_q - 1'b1/inner_q == inner_n_q - 1'b1 - CountW'(outer_q == 1 \&\& inner_n_q > 1)/"

mutate static_mask_one_channel_off engine_static b8 value rtl/array/sq_engine_static.sv "s/{Mask}/{Mask >> 1}/"
mutate static_scales_of_the_columns_exchanged engine_static b8 value rtl/array/sq_engine_static.sv "s/^    \.scale_col_lo_i, /    .scale_col_lo_i({scale_col_lo_i[31:0], scale_col_lo_i[Cols*32-1:32]}), /"

G=rtl/gqsa/sq_engine_gqsa.sv
mutate gqsa_index_error_dropped engine_gqsa g4 value $G "s/if (tile_index) known/if (tile_index \&\& $F) known/"
mutate gqsa_scale_error_of_the_step_before engine_gqsa g16 value $G "s/if (tile_scale || s_a_error_q)/if (side_q[Stages*SideW+20] || s_a_error_q)/; s/tile_scale, tile_zero, tile_factor}/unused_scale, tile_zero, tile_factor}/; s/tile_index, tile_scale, tile_fire;/tile_index, unused_scale, tile_fire;/"
mutate gqsa_code_error_of_the_first_group_alone engine_gqsa g4 value $G "s/act_fire \&\& act_bad) code/act_fire \&\& act_bad \&\& load_q == '0) code/"
mutate gqsa_errors_of_the_job_before engine_gqsa g4 value $G "s/tile_end ? '0 : known/known/"
mutate gqsa_scale_of_the_token_of_the_next_job engine_gqsa g16 any $G "s/if (act_fire \&\& act_last) walking_q <= $T;/if (act_fire \&\& act_last) walking_q <= $T;\n      else if (offset_fire \&\& offsets_q == 16'd1) walking_q <= $F;/"
mutate gqsa_index_beyond_the_groups_finds_some engine_gqsa g16 value $G "s/({1'b0, kept_index_i} < groups_q) ? mem/(groups_q != '0) ? mem/"
mutate gqsa_empty_row_repeats_a_group engine_gqsa g4 value $G "s/step_empty ? 16'd0 : scale_q/scale_q/"
mutate gqsa_group_lost_under_a_stall engine_gqsa g4 any $G "s/assign kept_fire = kept_valid_i \&\& kept_ready_o;/assign kept_fire = kept_valid_i;/"
mutate gqsa_one_offset_too_few engine_gqsa g4 any $G "s/in_last_i(offsets_q == 16'd1)/in_last_i(offsets_q == 16'd2)/"
mutate gqsa_zero_of_the_step_behind engine_gqsa g4 value $G "s/in_zero_i(tile_zero)/in_zero_i(side_q[Stages*SideW+16 +: 4])/"

S=rtl/spqt/sq_engine_spqt.sv
mutate spqt_index_error_of_the_first_column_dropped engine_spqt b4 value $S "s/if (wrong_column) index/if (wrong_column \&\& at_q != '0) index/"
mutate spqt_theta_error_dropped engine_spqt b4 value $S "s/if (mac_theta || weight_error)/if ((mac_theta \&\& $F) || weight_error)/"
mutate spqt_scale_error_dropped engine_spqt b4 value $S "s/if (mac_theta || weight_error)/if (mac_theta || (weight_error \&\& $F))/"
mutate spqt_code_error_of_the_job_before engine_spqt b4 value $S "s/code_error_q <= idx_error;/code_error_q <= idx_error || code_error_q;/"
mutate spqt_errors_of_the_job_before engine_spqt b4 value $S "s/(mac_job \&\& turn_last) ? '0 : known/known/"
mutate spqt_share_a_column_early engine_spqt b4 value $S "s/rest < workers_q;/rest <= workers_q;/"
mutate spqt_x_of_the_column_behind engine_spqt b4 value $S "s/if (dec_fire \&\& is_first) column_q/if (super_fire) column_q/"
mutate spqt_x_of_a_neighbour engine_spqt b4 value $S "s/column_q\[LocalW-1:0\] == LocalW'(l)}/column_q[LocalW-1:0] == LocalW'(l ^ 1)}/"
mutate spqt_last_with_two_rows engine_spqt b4 value $S "s/is_last_column \&\& blocks_q == 16'd1,/is_last_column \&\& blocks_q <= 16'd2,/"
mutate spqt_job_a_cycle_early engine_spqt b4 any $S "s/job_ready_o = !busy_q;/job_ready_o = !busy_q || job_ends;/"
mutate spqt_no_column_no_output engine_spqt b4 any $S "s/walking_q \&\& (none || block_valid_i)/walking_q \&\& block_valid_i/"
mutate spqt_word_of_columns_twice engine_spqt b4 value $S "s/else if (lane_q == LaneW'(IdxLanes - 1)) word_q/else if (lane_q == LaneW'(IdxLanes - 2)) word_q/"
mutate spqt_tag_of_the_step_behind engine_spqt b4 value $S "s/if (tagged_q\[2\]) out_tag_q <= tag_q3;/if (tagged_q[2]) out_tag_q <= tag_q2;/"
mutate turns_share_of_a_neighbour fp_mac turns value rtl/number/sq_fp_mac.sv "s/: sum_first_q\[Turns-1\] ? acc_q/: sum_first_q[0] ? acc_q/"

D=rtl/array/sq_engine_dynamic.sv
mutate dynamic_codes_without_their_mask engine_dynamic rank any $D "s/assign coded_ready_o = coded_ready \&\& mask_valid;/assign coded_ready_o = coded_ready;/"
mutate dynamic_mask_goes_alone engine_dynamic radix any $D "s/assign mask_taken = coded_ready \&\& coded_valid_i;/assign mask_taken = coded_ready;/"
mutate dynamic_mask_waits_for_the_next_codes engine_dynamic rank any $D "s/assign mask_taken = coded_ready \&\& coded_valid_i;/assign mask_taken = coded_ready \&\& coded_valid_i \&\& !out_valid_o;/"
mutate dynamic_products_without_mask engine_dynamic radix any $D "s/\.coded_valid_i(coded_valid_i \&\& mask_valid)/.coded_valid_i(coded_valid_i)/"
mutate dynamic_masks_of_rows_exchanged engine_dynamic rank value $D "s/\.coded_mask_i(mask)/.coded_mask_i({mask[BankLen-1:0], mask[Units*BankLen-1:BankLen]})/"
mutate dynamic_magnitude_without_its_top_bit engine_dynamic narrow value $D "s/\.in_mag_i(x_mag_i\[i\*BankLen\*MagW +: BankLen\*MagW\])/.in_mag_i({1'b0, x_mag_i[i*BankLen*MagW +: BankLen*MagW-1]})/"
mutate dynamic_tie_to_the_highest engine_dynamic rank value rtl/core/sq_topk_rank.sv 's/ >= in_mag_i/ > in_mag_i/'

C=rtl/core/sq_engine_core_act.sv
mutate core_act_code_of_the_last_bank_alone engine_core_act rank value $C "s/act_before_q || |bad_act/|bad_act/"
mutate core_act_code_of_the_tile_before engine_core_act rank value $C "s/act_error \&\& !tile_last/act_error/"
mutate core_act_code_with_other_tokens engine_core_act rank value $C "s/= first_scales \&\& tile_error/= tile_error/"
mutate core_act_error_of_weights_dropped engine_core_act few value $C "s/= weight_error;/= weight_error \&\& $F;/"
mutate core_act_tokens_for_channels engine_core_act rank value $C "s/p_lo\[(c\*Rows+r)\*32/p_lo[(r*Cols+c)*32/"
mutate core_act_job_without_room_at_the_core engine_core_act few any $C "s/act_job_ready \&\& core_job_room \&\& tail_job_ready/act_job_ready \&\& tail_job_ready/; s/job_valid_i \&\& core_job_room \&\& tail/job_valid_i \&\& tail/; s/act_job_ready, core_job_room,/act_job_ready, unused_room,/; s/in_ready_o(core_job_room)/in_ready_o(unused_room)/"
mutate core_act_tiles_of_8_bits engine_core_act one any $C "s/.job_outer_i(job_tiles_i),$/.job_outer_i({8'd0, job_tiles_i[7:0]}),/"
mutate core_act_sums_of_two_bytes engine_core_act one any $C "s/{job_banks_i, job_sums_i}/{job_banks_i, job_sums_i \& SumsW'(65535)}/"
mutate core_act_last_with_every_tile_of_tokens engine_core_act one value $L "s/assign stage_tag_o = {job_last, known}/assign stage_tag_o = {middle_last, known}/"
mutate core_act_held_tile_counted_early engine_core_act rank value $L "s/((Hold == 1 || (Hold == 2 \&\& !tile_fire_i)) ? '0 : tile_error_i)/tile_error_i/"
mutate core_act_first_scales_of_every_output engine_core_act rank any $L "s/else if (fire) stage_first_o <= middle_last;/else if (fire) stage_first_o <= stage_last_o;/"
mutate core_act_scale_of_the_high_part_unchecked engine_core_act rank value rtl/array/sq_engine_scales.sv "s/|bad_row_lo || |bad_row_hi/|bad_row_lo/; s/^  assign error_o/  wire unused_hi = ^bad_row_hi;\n&/"

R=rtl/spqr/sq_engine_spqr.sv
mutate spqr_column_beyond_the_token_counts engine_spqr t4 value $R "s/<= missing ? 32'd0 : {/<= (missing \&\& $F) ? 32'd0 : {/"
mutate spqr_sixteen_workers_are_eight engine_spqr t16 any $R "s/assign last_worker = .*/assign last_worker = worker_q[2:0] == 3'(workers_q - 1'b1);/"
mutate spqr_all_there_can_be_are_too_many engine_spqr t4 value $R "s/base_q > Most/base_q >= Most/"
mutate spqr_column_of_twelve_bits engine_spqr t4 value $R "s/{4'd0, entry_column_i\[15:4\]}/{8'd0, entry_column_i[11:4]}/"
mutate spqr_order_error_dropped engine_spqr t4 value $R "s/(missing || disorder)/(missing || (disorder \&\& $F))/"
mutate spqr_order_over_the_end_of_a_row engine_spqr t4 value $R "s/assign disorder = begins == '0 \&\& /assign disorder = entry_q != '0 \&\& /"
mutate spqr_offset_that_falls engine_spqr t4 any $R "s/assign at = low ? before_q :/assign at = low ? base_q :/"
mutate spqr_offsets_of_the_row_before engine_spqr t4 any $R "s/else if (offsets_end) base_q <= at;/else if (offsets_end \&\& low) base_q <= at;/"
mutate spqr_outliers_of_the_next_worker engine_spqr t4 any $R "s/scan_q <= row_end + (CountW + 1)'(worker_q);/scan_q <= row_end;/"
mutate spqr_last_outlier_of_a_row_lost engine_spqr t4 any $R "s/scan_q < row_end;/scan_q + 1'b1 < row_end;/"
mutate spqr_rows_for_columns engine_spqr t4 value $R "s/assign row = row_q\[{drain_q, 4'(r)}\];/assign row = row_q[{drain_q, column_q}];/; s/weight | (row\[i\*16 +: 16\] \& {16{column_q == 4'(i)}})/weight | (row[i*16 +: 16] \& {16{i == r}})/"
mutate spqr_tile_overwritten engine_spqr t4 any $R "s/assign scale_ready = !full_q\[fill_q\];/assign scale_ready = $T;/"
mutate spqr_error_of_the_tile_that_fills engine_spqr t4 value $R "s/assign tile_error = tile_error_q\[drain_q\];/assign tile_error = tile_error_q[fill_q];/"
mutate spqr_errors_of_the_job_before engine_spqr t4 value $R "s/if (job_fire) errors_q <= '0;/if (job_fire \&\& errors_q[0]) errors_q <= '0;/"
mutate spqr_x_beside_an_outlier engine_spqr t4 value $R "s/assign place = dense_q ? {share_tile_q, column_q} : outlier\[ColumnW-1:0\];/assign place = dense_q ? {share_tile_q, column_q} : outlier[ColumnW-1:0] ^ ColumnW'(1);/"
mutate spqr_tiles_not_worker_by_worker engine_spqr t4 any $R "s/share_tile_q + TileW'(workers_q);/share_tile_q + 1'b1;/"
mutate spqr_step_lost_under_a_stall engine_spqr t4 any $R "s/full_q\[drain_q\] \&\& step_moves;/full_q[drain_q];/"
finish
