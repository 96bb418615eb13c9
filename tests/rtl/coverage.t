#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `make coverage` judges with, on one small point: it counts, and can say no: to a bit that is
# left, a stale waiver, a goal that is missed, a constant that toggled.
. "$(dirname "$0")/../cli/lib.sh"
mkdir "$W/points"
: >"$W/none"
# Three cases of a seed that covers the lines and leaves bits that more cases toggle.
(cd "$W" && "$SQSIM" cosim --block topk --point all4x2r --cases 3 --seed 2 \
  --coverage "$W/points" >"$W.out" 2>"$W.err"); RC=$?
ok "a point leaves its counters" [ "$RC" = 0 -a -s "$W/points/topk_all4x2r_coverage.dat" ]
clock_counts() { grep -a "o"$'\x02'"clk_i"$'\x01' "$W"/points/*.dat | sed 's/.* //' | sort -u; }
ok "the counter of the clock, which tied bits have too, is 0" [ "$(clock_counts)" = 0 ]
judge() { # WAIVERS GOAL CONSTANTS
  awk -v json=0 -v constants="$3" -v waivers="$1" -v rtl="$ROOT/rtl" -v line_goal="$2" \
    -v toggle_goal="$2" -f "$ROOT/tests/rtl/coverage/coverage_point.awk" -f "$ROOT/tests/rtl/coverage/coverage.awk" \
    "$W"/points/*.dat >"$W.out" 2>"$W.err"
  RC=$?
}
judge "$W/none" 50 "$W/none"
ok "coverage of one point" out_has "^sq_topk_radix.sv "
ok "no module is there that was not built" bash -c "! grep -q '^sq_topk_rank.sv' '$W.out'"
ok "a bit that is left is an error" [ "$RC" = 1 ]
ok "and counted" grep -q 'neither covered, proven constant nor waived' "$W.err"
echo '* toggle . # all' >"$W/all"
judge "$W/all" 50 "$W/none"
ok "waivers for all that is left" [ "$RC" = 0 ]
echo 'sq_topk_radix.sv toggle ^no_such_signal # stale' >>"$W/all"
judge "$W/all" 50 "$W/none"
ok "an unused waiver is an error" [ "$RC" = 1 -a "$(grep -c 'unused waiver' "$W.err")" = 1 ]
sed -i '$d' "$W/all"
judge "$W/all" 100.5 "$W/none"
ok "a goal that is missed is an error" [ "$RC" = 1 -a "$(grep -c 'need 100.5' "$W.err")" = 1 ]

# Constants of that point, of a run of a case: what more cases toggle must not be among them.
constants() { "$ROOT/tests/rtl/coverage/constants.sh" "$SQSIM" "$W" 1 >"$W.out" 2>"$W.err"; RC=$?; }
cp "$W/points/topk_all4x2r_coverage.dat" "$W/merged.dat"
constants
ok "constants are proven" [ "$RC" = 0 -a -s "$W/constants.txt" ]
ok "the children of leaves are among them" grep -qxF 'sq_popcount.sv node[8][0]' "$W/constants.txt"
judge "$W/all" 50 "$W/constants.txt"
ok "they have their column" out_has "^total .* $(wc -l <"$W/constants.txt") "
mkdir "$W/more"
(cd "$W" && "$SQSIM" cosim --block topk --point all4x2r --cases 200 \
  --coverage "$W/more" >"$W.out" 2>"$W.err")
n_never() { awk -f "$ROOT/tests/rtl/coverage/coverage_point.awk" -f <(echo 'kind_of($0) == "toggle" && !is_covered("toggle", $NF)') "$1" | wc -l; }
ok "more cases toggle more bits" [ "$(n_never "$W"/more/*.dat)" -lt "$(n_never "$W/merged.dat")" ]
cp "$W"/more/*.dat "$W/points"
constants
ok "none of them was called a constant" [ "$RC" = 0 ]
sed -i '/sq_popcount.*\x01o\x02node\[8\]\[0\]\x01/ s/[0-9]*$/2097154/' "$W"/points/*.dat
constants
ok "a constant that toggled is an error" [ "$RC" = 1 ]
ok "and named" grep -qF "called a constant: sq_popcount.sv node[8][0]" "$W.err"

refuse "not --netlist" cosim --coverage . --netlist
refuse "not --layers" cosim --coverage . --layers
finish
