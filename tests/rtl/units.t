#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Co-simulation of the blocks with one input and one output stream: TopK, 2:4, arrays. Exhausted:
# every bank of the TopK points all*, all 16 and all 256 pairs of metadata nibbles. Sampled: the
# other points, stalls on both sides. Then mutants, each of which must be found.
. "$(dirname "$0")/lib.sh"

exhausted() { [ "$(grep -c '"exhausted":true' "$W.out")" -ge "$1" ]; }

sq cosim --block topk --point quick --cases 70 --seed "$SEED" --json
ok "TopK, rank and radix" clean 150000
ok "every bank of five small points" exhausted 5
sq cosim --block meta24 --point quick --cases 60 --seed "$SEED" --json
ok "2:4 select" clean 3000
ok "all 16 nibbles and all 256 pairs" exhausted 2
campaign array 200 20000 "arrays: baselines, SQ, tied, split codes, compact, 2:4"
daily "ten points ran" && ok "ten points ran" [ "$(number points)" -ge 10 ]
netlist array split_a_2b8 20 500
sq cosim --netlist --block topk --point all4x3r --cases 5 --seed "$SEED" --json
ok "netlist of the radix TopK, every bank" clean 8192

# A row whose line has gone is told, also where only one of its commands has nothing to change.
stale() { ! edited stale rtl/core/sq_topk_rank.sv "$1" >/dev/null; }
ok "an edit of a line that is not there" stale 's/no such line//'
ok "... behind one that is" stale 's/ >= in_mag_i/ > in_mag_i/; s/no such line//'
ok "... before it" stale 's/no such line//; s/ >= in_mag_i/ > in_mag_i/'
ok "... and one of lines that are" edited stale rtl/core/sq_topk_rank.sv 's/ >= in_mag_i/ > in_mag_i/; s/^endmodule/\n&/'

# Mutants: a copy of the sources with one edit, the program is the same.
mutate() { # NAME BLOCK POINT PATTERN FILE SED_SCRIPT
  mutant "$1" "$5" "$6" || return
  sq_of "$W/$1" cosim --block "$2" --point "$3" --cases 30 --output "$W/waves-$1"
  ok "$1: found" fails "$4"
}
fails() { # PATTERN: exit 1 and a MISMATCH line with it
  [ "$RC" = 1 ] && grep -q "MISMATCH.*$1" "$W.out" || outcome
}
mutate tie_to_the_highest_index topk all4x2 mask rtl/core/sq_topk_rank.sv 's/ >= in_mag_i/ > in_mag_i/'
mutate radix_one_cycle_early topk all4x2r ready_o rtl/core/sq_topk_radix.sv \
  's/!busy_q || (last/!busy_q || (1'"'"'b1/'
mutate nibble_equal_is_legal meta24 g1 'error\|act' rtl/array/sq_meta24_dec.sv 's/\[1:0\] >= meta/[1:0] > meta/'
mutate high_not_shifted array split_a_2b8 p_lo rtl/array/sq_array.sv 's/HighShift(IsSplit ? LowW : 0)/HighShift(0)/'
mutate tile_lost array split_a_2b8 'valid_o\|ready_o' rtl/array/sq_array.sv \
  's/assign advance = .*/assign advance = 1'"'"'b1;/'

sq cosim --block array --list
ok "--list shows the array points" [ "$(wc -l <"$W.out")" -ge 20 ]
refuse "did you mean split_a" cosim --block array --point splita
refuse "only the points" cosim --block spqr_dec --bank 16

# Sizes of one's own: Rows * Cols that the lanes of the stage do not divide, exact sums of another bank.
BANK=32 ROWS=2 COLS=3
daily "larger sizes of one's own" && BANK=64 ROWS=3 COLS=5
while read -r block more; do
  sq cosim --block "$block" $more --cases 16 --seed "$SEED" --json
  ok "$block $more" clean 100
  ok "is that point" [ "$(grep -c '"point":"custom"' "$W.out")" = 1 ]
done <<END
core_out --rows 3 --cols 5 --bank 16 --low-lanes 5 --parameter Depth=3
array_scaled --point split_a_fixed --rows 1 --cols 3 --bank 32
array_scaled --point razer_two --rows 2 --cols 3
topk --bank $BANK --high-per-bank 3 --parameter MagW=5
engine_array --point split --rows $ROWS --cols $COLS --bank 16 --sparsity 0.5
END
ok "the parameters are those that were asked for" out_has "\"Rows\":$ROWS,\"Cols\":$COLS,\"Banks\":2,\"BankLen\":16,\"HighPerBank\":8"
refuse "rows = 65, need 1..64" cosim --block engine_array --rows 65
refuse "BankLen = 12, need one of 4, 8, 16, 32, 64, 128" cosim --block core_out --bank 12
refuse "HighPerBank = 8, need less than BankLen = 8" cosim --block array --point split_a --bank 8 --high-per-bank 8
refuse "Lanes = 4, need a divisor of Rows \\* Cols = 15" cosim --block core_out --rows 3 --cols 5 --parameter Lanes=4
refuse "ActW = 4, HighW = 8, LowW = 4, need 8, 8, 4 with IsFp = 1" cosim --block core_out --point fp --parameter ActW=4
refuse "Depth = 1, need 2..64" cosim --block output --parameter Depth=1
refuse "did you mean Lanes" cosim --block fp_mac --parameter Lanez=3
refuse "fp_mac has no parameter Rows" cosim --block fp_mac --rows 3
refuse "Layout of array comes with --point; free are Rows, Cols" cosim --block array --parameter Layout=2
refuse "need NAME=N" cosim --block array --parameter Rows
refuse "Rows of array is given twice" cosim --block array --rows 2 --parameter Rows=3
refuse "high-per-bank of the core follows from --sparsity" cosim --high-per-bank 3
refuse "high-per-bank of sq_w follows from --sparsity" run --m 1 --n 64 --k 64 --high-per-bank 3
refuse "core options" cosim --parameter Rows=3
refuse "only the points" cosim --block array --layers
finish
