#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sq_operand_buffer, and sq_sram in it. Sampled: jobs of up to 4 x 4 tiles with strides forwards and
# backwards, halves kept for up to three jobs, poisoned beats, stalls of jobs, fill and sink, resets. The
# memory as an array, as a netlist of flops, and put together from macros of a library whose behaviour
# stands in sram_ihp.sv: two macros wide and two deep. Then faults, each of which must be found.
. "$(dirname "$0")/lib.sh"
T="1'b1"

campaign operand_buffer 80 4000
netlist operand_buffer w16 20 1000

M=$W/macros
mkdir -p "$M/build" "$M/sim/cosim"
cp -r "$ROOT/rtl" "$M/"
cp "$ROOT"/sim/cosim/sq_{bridge,rtl}.h "$M/sim/cosim/"
cp "$ROOT/tests/rtl/sram_ihp.sv" "$M/rtl/top/"
sed -i '2i top/sram_ihp.sv' "$M/rtl/files.f"
sq_of "$M" cosim --block operand_buffer --point w64 --parameter Depth=100 --parameter Macro=64 --cases 12 --seed "$SEED" --json
ok "four macros a half" clean 3000
for macro in 256 512 1024 2048; do
  ok "macro of $macro words" verilator --lint-only -Wall -I"$M/rtl" "$M/rtl/lint.vlt" "$M/rtl/sq_pkg.sv" \
    "$M/rtl/top/sram_ihp.sv" "$M/rtl/top/sq_sram.sv" --top-module sq_sram -GWidth=136 -GDepth=3000 -GMacro=$macro \
    -Wno-MULTITOP -Wno-UNUSEDSIGNAL -Wno-DECLFILENAME
done
refuse "Macro = 128, need 0, 64, 256, 512, 1024 or 2048 words" cosim --block operand_buffer --parameter Macro=128

mutate tile_of_columns_too_few_in_the_last_row operand_buffer w16 any rtl/top/sq_operand_buffer.sv \
  "s/col_q <= col_end ? cols_q :/col_q <= col_end ? cols_q - CountW'(row_q == CountW'(1) \&\& cols_q != '0) :/"
mutate half_swapped_a_job_late operand_buffer w16 any rtl/top/sq_operand_buffer.sv \
  "s/^  logic fill_half_q, /  logic late_q;\n&/; s/read_half_q <= 1'b0;/& late_q <= 1'b0;/; s/if (half_out) read_half_q <= !read_half_q;/if (read \&\& job_end) begin late_q <= !keep_q; if (late_q) read_half_q <= !read_half_q; end/"
mutate kept_half_let_go operand_buffer w16 any rtl/top/sq_operand_buffer.sv "s/job_end && !keep_q/job_end/"
mutate last_place_of_a_ragged_tile operand_buffer w16 value rtl/top/sq_operand_buffer.sv \
  "s/beat_end ? next_col : place_q + beat_stride_q/beat_end ? next_col : place_q + (beat_q == 1 \&\& row_q == 0 ? '0 : beat_stride_q)/"
mutate row_begins_where_a_column_would operand_buffer w16 value rtl/top/sq_operand_buffer.sv \
  "s/place_q <= col_end ? next_row : /place_q <= /; s/^  localparam int unsigned BeatW/  wire unused_next = ^next_row;\n&/"
mutate skid_of_one operand_buffer w16 any rtl/top/sq_operand_buffer.sv "s/2'(coming_q) < 2'd2/2'(coming_q) < 2'd1/"
mutate skid_overrun operand_buffer w16 any rtl/top/sq_operand_buffer.sv "s/2'(coming_q) < 2'd2/2'(coming_q) < 2'd3/"
mutate half_filled_while_read operand_buffer w16 any rtl/top/sq_operand_buffer.sv "s/in_ready_o = .*/in_ready_o = $T;/"
mutate poison_forgotten operand_buffer w16 value rtl/top/sq_operand_buffer.sv "s/\.poison_i(in_poison_i)/.poison_i(1'b0 \&\& in_poison_i)/"
mutate job_taken_a_cycle_late operand_buffer w16 cycle rtl/top/sq_operand_buffer.sv "s/ || (read \&\& job_end);/;/"
mutate state_that_a_reset_forgets operand_buffer w16 any rtl/top/sq_operand_buffer.sv "s/read_half_q <= 1'b0;/read_half_q <= read_half_q;/"
finish
