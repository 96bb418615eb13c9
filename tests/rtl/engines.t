#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Engines: jobs of stored bits to words of outputs, with what was wrong in the job. Sampled: quick points,
# all stalls, resets. Directed: every kind of error alone in a beat of a job, a right job behind it; sums
# at both ends of their range. Then faults where parts meet: an error that is dropped, a beat lost
# under a stall, two streams or counts exchanged, an end one beat off.
. "$(dirname "$0")/lib.sh"
T="1'b1" F="1'b0"

# BLOCK CASES MIN_BEATS
while read -r block cases beats; do
  sq cosim --block "$block" --point quick --cases "$cases" --seed "$SEED" --json
  ok "$block at its quick points" clean "$beats"
done <<'END'
engine_array 60 200000
END
# BLOCK POINT MIN_BEATS
while read -r block point beats; do
  sq cosim --netlist --block "$block" --point "$point" --cases 6 --seed "$SEED" --json
  ok "netlist of $block" clean "$beats"
done <<'END'
engine_array dense 1000
END

E=rtl/sq_engine_array.sv
mutate array_mask_error_dropped engine_array sp24 value $E "s/= mask_error;/= mask_error \&\& $F;/"
mutate array_code_error_of_the_last_beat_lost engine_array dense value $E "s/{code_q\[Stages-1:0\], code_error}/{code_q[Stages-1:0], before_q}/"
mutate array_scale_error_of_one_side engine_array compact value $E "s/= |bad_col || (/= (/; s/logic unused_job;/logic unused_col; assign unused_col = ^bad_col;\n  &/"
mutate array_beat_lost_under_a_stall engine_array sp24 any $E "s/assign plain_ready_o = array_ready \&\& in_busy \&\& coded_valid_i;/assign plain_ready_o = array_ready \&\& in_busy;/"
mutate array_counts_exchanged engine_array sp24 any $E "s/{job_tiles_i, job_groups_i}/{job_groups_i, job_tiles_i}/"
mutate array_errors_of_the_job_before engine_array sp24 value $E "s/scale_job_last ? '0 : known/known/"
mutate array_held_tile_counted_early engine_array dense value $E "s/scale_errors | ((Hold != 0) ? '0 : tile_errors)/scale_errors | tile_errors/"
mutate array_last_with_every_word engine_array sp24 value $E "s/= tile_ends_job \&\& word_ends/= tile_ends_job/"
mutate array_a_beat_less_of_a_group engine_array sp24 any rtl/sq_engine_count.sv "s/inner_q == inner_n_q - 1'b1/inner_q == inner_n_q - 1'b1 - CountW'(outer_q == 1 \&\& inner_n_q > 1)/"
finish
