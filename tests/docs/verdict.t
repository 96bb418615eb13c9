#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The page of reports/formats/RULE.md from numbers alone: what beats what, ties and trades said to be such, shapes of the
# array, rotations, an area that is a lower bound, three clocks, two models that must agree; and that the committed page and its cycles
# are what rows, areas, losses and the program say.
. "$(dirname "$0")/../cli/lib.sh"

# PE 1000; array of 1 x 1: 1320; a column 128, so that a row has 192 of its own; encoders of 320 and 3200; combine 0, no bits.
cat >"$W/area" <<'CSV'
# test
array_p,lib,1320,,.5
enc_big,lib,3200,1.5,.5
enc_small,lib,320,1.5,.5
turn,lib,1600,1.5,.5
lane,lib,256,3,.5
nand2,lib,1,,
pe_p,lib,1000,2,.5
pe_q,lib,1000,2,.5
pe_nvint4_a_fixed,lib,700,2,.5
pe_b32,lib,2000,2,.5
array_b32,lib,2640,,.5
pe_p_two,lib,2000,2,.5
array_p_two,lib,2640,,.5
array_nvint4_a,lib,1,,.5
CSV
cat >"$W/more" <<'CSV'
# test
array_nvint4_a,lib,800,,.5
array_nvint4_a_1x2,lib,1628,,.5
CSV
cat >"$W/rows" <<'TXT'
# label | variant | PE, array | encoder | lane, bits
NVFP4 | base | pe_p array_p | enc_small | lane 8 | main clock
better | half | pe_p array_p | enc_small | lane 8 | main
larger | half | pe_p array_p | enc_big | lane 8 | main
slow | half | pe_q array_p | enc_small | lane 8 | main
turned | half | pe_p array_p | enc_small turn | lane 8
more bits | fat | pe_p array_p | enc_small | lane 8
unknown | absent | pe_p array_p | enc_small | lane 8
bounded | half | pe_p array_p | enc_small ? | lane 8
not built | half | ? ? | ? | lane 8
half a PE | half | pe_b32 array_b32 | 2*enc_small -enc_small | lane 16
two blocks | half | pe_p_two array_p_two | 2*enc_small | lane 16
two turned | half | pe_p_two array_p_two | 2*turn | lane 16
one model | single | pe_p array_p | enc_small | lane 8
third model | third | pe_p array_p | enc_small | lane 8
TXT
for model in smollm2 tiny; do printf '# kl\nvariant,act_bits\n' >"$W/$model"; done
row() { # VARIANT BITS "KL ..." ["KL ..."]: of either model
  local kl=$3
  for model in smollm2 tiny; do echo "$1,$2,,,,,.1,.1,.1,,,,,,$kl" >>"$W/$model"; kl=${4:-$3}; done
}
row base 4.5 ".20 .21 .19 .20"
row half 4.5 ".10 .11 .09 .10"
row fat 5 ".10 .11 .09 .10"
row single 4.5 ".10 .11 .09 .10" ".20 .22 .18 .20"
row third 4.5 ".10 .11 .09 .10"
page() { awk "$@" -v library=lib -f "$ROOT/reports/formats/verdict.awk" "$W/area" "$W/more" "$W/rows" "$W/smollm2" "$W/tiny" ${third:+"$third"}; }
# A third model judges the rows that it has.
printf '# kl\nvariant,act_bits\nbase,4.5,,,,,.1,.1,.1,,,,,,.20 .21 .19 .20\nthird,4.5,,,,,.1,.1,.1,,,,,,.20 .22 .18 .20\n' >"$W/gemma"
third="$W/gemma" page >"$W.out"
at() { awk -v h="| $1 rows |" -v l="| $2 |" -F' *[|] *' 'index($0, h) == 1 {on = 1} on && index($0, l) == 1 {print $'"$3"'; exit}' "$W.out"; }
has() { [[ "; $(at "$1" "$2" "$3");" == *"; $4;"* ]]; }
ok "a third model that does not agree: a tie in KL" has 32 "third model" 5 NVFP4
ok "it takes nothing from rows that it lacks" has 32 better 3 NVFP4
page >"$W.out"
ok "the page is made" [ $? = 0 ]
ok "without a third model, two decide" has 32 "third model" 3 NVFP4
cells() { ok "$1, $2: $3" test "$(grep "^| $1 |" "$W.out" | head -1 | cut -d'|' -f"$2" | tr -d ' ')" = "$3"; }
cells NVFP4 6 1000
cells NVFP4 8 10   # 192 / 32 and 128 / 32
cells NVFP4 9 10   # 320 / 32
cells NVFP4 10 17   # 1 and two NAND2 for each of 8 bits
cells NVFP4 11 1037
cells NVFP4 12 1033 # 16 rows: 192 / 64, 128 / 16, 320 / 64, 17
cells NVFP4 13 1037 # 8 rows: 192 / 128, 128 / 8, 320 / 128, 17
cells turned 11 1087
cells "half a PE" 11 1043 # 384 / 32, 128 / 32, 320 / 32, 17
cells "two blocks" 11 1053 # 1000, 384 / 32, 128 / 32, 2 * 320 / 32, 1, 16
cells better 5 "0.499[0.467,0.533]"
ok "half the KL, no more bits, no more area: beats" has 32 better 3 NVFP4
ok "the other side says so" has 32 NVFP4 4 better
ok "equal in all is a tie" has 32 better 5 "half a PE"
ok "both ways" has 32 "half a PE" 5 better
ok "more area for a better KL is a trade" has 32 larger 6 NVFP4
ok "and no win" [ -z "$(at 32 larger 3)" ]
ok "fewer rows share an encoder among more columns" has 8 turned 6 NVFP4
ok "more bits are a trade" has 32 "more bits" 6 NVFP4
ok "a lower bound wins nothing" [ -z "$(at 32 bounded 3)$(at 32 bounded 5)" ]
ok "a better KL on one model of two is a tie in KL" has 32 "one model" 5 NVFP4
ok "no KL, no verdict" grep -q '^\*\*KL not measured\*\*.*: unknown\.' "$W.out"
ok "no area, no verdict" grep -q '^\*\*Area not measured, or not built\*\*.*: not built\.' "$W.out"
ok "neither has a line in the tables of verdicts" [ "$(grep -c '^| unknown \|^| not built ' "$W.out")" = 2 ]
ok "the slowest parts are named" grep -q 'slowest PE 2.00 ns, encoder 1.50, combine lane 3.00' "$W.out"
ok "no netlists at periods, no table of clocks" [ "$(grep -c '^At clocks' "$W.out")" = 0 ]
# pe_q needs twice the period for the same area; enc_big has no netlist at a period; two small encoders may take turns.
cat >"$W/clocks" <<'CSV'
# unit,library,period_ns,um2,path_ns
pe_p,lib,1,1500,1.2
pe_p,lib,1.5,1200,1.4
pe_p,other,1,1,.1
pe_q,lib,1,1500,2.4
enc_small,lib,1,640,1.2
pe_p_two,lib,1,2600,1.2
turn,lib,2,1700,2.2
CSV
page -v clocks="$W/clocks" >"$W.out"
ok "the common clock is that of the rows which set it" grep -q 'the common one has 1.26 ns' "$W.out"
# 1500 of PE, 10 of line, 640 / 32, three lanes in turn, 16.
ok "areas at the common clock, and at the fastest of a row" grep -qx '| NVFP4 | 1549 | 1540 | 1542 | 1.20 | 1859 | 1848 | 1850 |' "$W.out"
# Two of 1600 in turn that hold 16 elements each, 6272 / 32 more.
ok "two slower units in front of a row" grep -qx '| turned | 1745 | 1638 | 1590 | 1.20 | 2094 | 1966 | 1909 |' "$W.out"
# Half of 2600, 16 of line, two of 640 / 32, three lanes in turn, 16; two times two of 1600 that hold 16 elements each.
ok "two units in front of a row" grep -qx '| two blocks | 1375 | 1353 | 1348 | 1.20 | 1650 | 1624 | 1618 |' "$W.out"
ok "two pairs that take turns" grep -qx '| two turned | 1727 | 1529 | 1436 | 1.20 | 2072 | 1835 | 1723 |' "$W.out"
ok "who does not reach the clock has no figure there" grep -qx '| slow |  |  |  | 2.00 | 2076 | 2068 | 2076 |' "$W.out"
ok "a unit without netlists at periods: no line" [ -z "$(sed -n '/^At clocks/,/first against/p' "$W.out" | grep '^| larger |')" ]
ok "verdicts at every clock" grep -qx '| NVFP4 against better | loses | loses | loses | loses | loses | loses | loses | loses | loses |' "$W.out"
ok "no verdict without a figure" grep -qx '| NVFP4 against larger | trade | trade | trade |  |  |  |  |  |  |' "$W.out"
ok "um2 times ns decide at the fastest clocks" grep -qx '| NVFP4 against slow | loses | loses | loses |  |  |  | trade | trade | trade |' "$W.out"
cat >"$W/energy" <<'CSV'
lib,pes,p,b,o,,,1,zero_delay,9,8
lib,pes,p,b,o,,,1,with_delays,19,18.4
lib,pes,p,b,o,1,1,1,with_delays,29,28
CSV
page -v energy="$W/energy" >"$W.out"
cells NVFP4 7 8to18
# 32 rows of 72 bits, 32 columns of 64; encoders of 320 and 3200 for 32 rows of 1024 PEs taken away.
ok "areas without encoders, and bits at the edge" grep -qx '| NVFP4 | 1027 | 1028 | 1034 | 4352 | 5248 | 8768 |' "$W.out"
page -v points=16 >"$W.out"
ok "points of the picture: um2 a product" grep -q '^NVFP4|64.56|.1|.1|.1$' "$W.out"
ok "lower bounds are marked" grep -q '^>bounded|' "$W.out"

cd "$ROOT" || exit 1
reports/formats/verdict_page.sh >"$W.out"
ok "verdict.md is what its inputs say (make verdict)" cmp "$W.out" <(sed 1d reports/formats/verdict.md)
reports/formats/verdict.sh cycles "$SQSIM" >"$W.out"
ok "its cycles are what the program says" cmp "$W.out" <(sed -n '/^| activations in | 32 rows, prefill/,$p' reports/formats/verdict.md)

# Formats and a description beside each other, the smallest KL first (make verdict FORMATS=...).
daily "formats ranked" || finish
printf '%s\n' 'name: tern8' 'elements: {bits: 2, grids: {t: [0, 1]}}' 'blocks: [{length: 8, scale: e8m0, rule: floor}]' 'tensor_scale: none' >"$W/tern8.yaml"
reports/formats/rank.sh "$SQSIM" traces/tiny-llama 2 "$W/tern8.yaml" sq_b >"$W.out"
ok "a description is ranked" [ "$(sed 1,2d "$W.out" | cut -d'|' -f2 | tr -d ' \n')" = sq_btern8.yaml ]
ok "at its bits and area" grep -Eq '^\| tern8.yaml \| 3.0000 \| 1\.[0-9]+ \| .* \| [0-9]+ \| [0-9]+ \| [0-9.]+ \|$' "$W.out"
ok "sq_b, whose PE has two parts, has its area" grep -Eq '^\| sq_b .* \| [0-9]+ \| [0-9]+ \| [0-9.]+ \|$' "$W.out"
finish
