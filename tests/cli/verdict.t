#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The page of reports/formats/RULE.md from numbers alone: what beats what, what is missing, an area that is a lower
# bound; and that the committed page is what its rows and areas say.
. "$(dirname "$0")/lib.sh"

# PE 1000; array of 1 x 1: a line of 320; encoders of 320 and 3200; combine 0, no bits.
cat >"$W/area" <<'CSV'
# test
array_p,lib,1320,,.5
enc_big,lib,3200,1.5,.5
enc_small,lib,320,1.5,.5
lane,lib,256,3,.5
nand2,lib,1,,
pe_p,lib,1000,2,.5
pe_b32,lib,2000,2,.5
array_b32,lib,2640,,.5
CSV
cat >"$W/rows" <<'TXT'
# label | variant | bits | pilot | PE, array | encoder | lane, bits
NVFP4 | base | 4.5 | | pe_p array_p | enc_small | lane 8
better | half | 4.5 | | pe_p array_p | enc_small | lane 8
larger | half | 4.5 | | pe_p array_p | enc_big | lane 8
more bits | fat | 5 | | pe_p array_p | enc_small | lane 8
unknown | absent | 4.5 | .1 | pe_p array_p | enc_small | lane 8
bounded | half | 4.5 | | pe_p array_p | enc_small ? | lane 8
not built | half | 4.5 | | pe_x array_p | enc_small | lane 8
half a PE | half | 4.5 | | pe_b32 array_b32 | 2*enc_small -enc_small | lane 16
TXT
printf '# kl\nvariant,act_bits\n' >"$W/kl"
row() { echo "$1,$2,,,,,$3,$3,$3,,,,,,$4" >>"$W/kl"; }
row base 4.5 .2 ".20 .21 .19 .20"
row half 4.5 .1 ".10 .11 .09 .10"
row fat 5 .1 ".10 .11 .09 .10"
awk -v library=lib -f "$ROOT/reports/formats/verdict.awk" "$W/area" "$W/rows" "$W/kl" >"$W.out"
ok "the page is made" [ $? = 0 ]
line() { grep "^| $1 |" "$W.out" | tail -1; } # of the second table
cells() { ok "$1: $2" test "$(grep "^| $1 |" "$W.out" | head -1 | cut -d'|' -f"$2" | tr -d ' ')" = "$3"; }
cells NVFP4 6 1000
cells NVFP4 7 10
cells NVFP4 8 10
cells NVFP4 9 17
cells NVFP4 10 1037
cells "half a PE" 10 1047
ok "half the KL, no more bits, no more area: beats" grep -q '^| better | NVFP4' <(line better)
ok "the other side says so" grep -q '^| NVFP4 |.*| better; half a PE |' <(line NVFP4)
ok "more area is no win" grep -q '^| larger |  |.*| NVFP4: area |' <(line larger)
ok "more bits are none" grep -q '| NVFP4: bits |' <(line "more bits")
ok "no KL, no verdict" grep -q '| NVFP4: KL? |' <(line unknown)
ok "a lower bound wins nothing" grep -q '^| bounded |  |.*| NVFP4: area? |' <(line bounded)
ok "a PE that is not there neither" grep -q '| NVFP4: area? |' <(line "not built")
ok "within 1 % counts as equal" grep -q '^| half a PE | NVFP4' <(line "half a PE")
ok "rows without KL are named" grep -q '^\*\*KL not measured yet.*: unknown\.' "$W.out"
ok "rows without area are named" grep -q '^\*\*Area not measured, or not built\*\*: not built\.' "$W.out"
ok "the period is that of the slowest part" grep -q 'every part meets 3.00 ns' "$W.out"

cd "$ROOT" || exit 1
for library in $(sed 1d reports/area/scaled.csv | cut -d, -f2 | uniq); do
  awk -v library="$library" -f reports/formats/verdict.awk reports/area/scaled.csv reports/formats/verdict.txt \
    reports/accuracy/smollm2.csv
done >"$W.out"
ok "verdict.md is what its inputs say (make verdict)" cmp <(grep '^[|*]' "$W.out") \
  <(grep '^[|*]' reports/formats/verdict.md)
finish
