#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Line and toggle coverage of rtl/ by the co-simulation.
#
#   coverage.sh SQSIM OUT_DIR [SEED] [JOBS]
#
# Builds the points that the tables of the blocks name (`cosim --list --json`) with counters, runs
# their cases, merges what they leave with verilator_coverage, takes out the bits that constants.sh
# proves to be none, and prints coverage.awk's table and what is not covered, and how far each sum
# came of what it must hold. OUT_DIR gets merged.dat, constants.txt, coverage.txt, coverage.jsonl,
# reach.txt.
# Exit 1 with a mismatch, below the goals (98 % of lines and 97 % of bits without waivers, all lines
# and bits with them, all of the range of every sum), with an unused waiver or with a module that no
# point builds.
SQSIM=$1 OUT=$2 SEED=${3:-1} JOBS=${4:-1}
HERE=$(realpath "$(dirname "$0")")
RTL=$(realpath "$HERE/../../../rtl")
VERILATOR_COVERAGE=${VERILATOR_COVERAGE:-verilator_coverage}
FAILED=0
mkdir -p "$OUT/points" && rm -f "$OUT"/points/*.dat || exit 2

points() { # "block cases point point ..." of every block
  "$SQSIM" cosim --block all --list --json | sed -n \
    's/^{"block":"\([^"]*\)".*"point":"\([^"]*\)".*"coverage_cases":\([1-9][0-9]*\).*/\1 \3 \2/p' |
    awk '$1 != b { if (b) print line; b = $1; line = $1 " " $2 } { line = line " " $3 }
      END { print line }'
}
: >"$OUT/all.jsonl"
points >"$OUT/points.txt"
[ -s "$OUT/points.txt" ] || { echo "coverage: no list of points"; exit 1; }
while read -r block cases points; do
  options=()
  for p in $points; do options+=(--point "$p"); done
  "$SQSIM" cosim --block "$block" --cases "$cases" --seed "$SEED" --jobs "$JOBS" \
    --coverage "$OUT/points" --json "${options[@]}" >"$OUT/run.jsonl" || FAILED=1
  cat "$OUT/run.jsonl" >>"$OUT/all.jsonl"
  tail -1 "$OUT/run.jsonl" | sed -E 's/[{"]//g; s/summary:true,block://; s/,netlist.*//; s/,/, /g'
done <"$OUT/points.txt"
[ $FAILED = 0 ] || { echo "coverage: a campaign failed"; exit 1; }

"$VERILATOR_COVERAGE" --write "$OUT/merged.dat" "$OUT"/points/*.dat >/dev/null || exit 1
"$HERE/constants.sh" "$SQSIM" "$OUT" "$JOBS" || { echo "coverage: no proof of constants"; exit 1; }
report() { # JSON OUTPUT
  awk -v json="$1" -v constants="$OUT/constants.txt" -v waivers="$HERE/coverage_waivers.txt" \
    -v rtl="$RTL" -v line_goal=98 -v toggle_goal=97 -f "$HERE/coverage_point.awk" \
    -f "$HERE/coverage.awk" "$OUT/merged.dat" >"$2"
}
report 1 "$OUT/coverage.jsonl" 2>/dev/null
report 0 "$OUT/coverage.txt" || FAILED=1
cat "$OUT/coverage.txt"
awk -f "$HERE/reach.awk" "$OUT/all.jsonl" >"$OUT/reach.txt" || FAILED=1
cat "$OUT/reach.txt"
while read -r file; do # a package has no signals
  file=${file##*/}
  [ "$file" = sq_pkg.sv ] || grep -q "^$file " "$OUT/coverage.txt" ||
    { echo "coverage: no point builds $file"; FAILED=1; }
done <"$RTL/files.f"
exit $FAILED
