#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The table of README.md that puts accelerator, GPU and papers side by side is what its command prints
# now; `explain table10` and it agree on what the paper says.
. "$(dirname "$0")/lib.sh"
TABLE=$ROOT/reports/gpu/joined.sh
(cd "$ROOT" && "$TABLE" "$SQSIM" >"$W.out" 2>"$W.err")
ok "the command prints a table" [ $? = 0 ]
ok "eleven rows" [ "$(grep -c '^| [A-Z2]' "$W.out")" = 11 ]
ok "every cell is a number, every row has its reason" awk -F'|' '/^\| [A-Z2]/ {n++
  if ($3 + 0 < 0.5 || $4 + 0 < 0.5 || $6 + 0 < 0.5 || length($7) < 10) {print "# " $0; bad = 1}} END {exit bad || n != 11}' "$W.out"
ok "README.md has it (make joined)" cmp "$W.out" \
  <(awk '/^<!-- \/joined -->/ {on = 0} on {print} /^<!-- joined -->/ {on = 1}' "$ROOT/README.md")
sq explain table10 --json
for paper in $(grep -o '"paper_speedup":[0-9.]*' "$W.out" | cut -d: -f2); do
  ok "Table 10: $paper is in the table" grep -q "| SQ activations .*| $paper |" "$ROOT/README.md"
done
finish
