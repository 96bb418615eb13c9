#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A new seed each day: random cases of every block at its quick points, the RTL in lock step with its models.
# Only equality is asked for. Bounds on how much was compared, and which faults are tried, keep the seed of
# the other tests: with a new one they would hold or not by luck. SEED=n repeats a day.
. "$(dirname "$0")/lib.sh"

same() { # no mismatch; else what differs, and the commands that repeat it
  [ "$RC" = 0 ] && [ "$(number value_mismatches)" = 0 ] && [ "$(number cycle_mismatches)" = 0 ] && return
  echo "# exit $RC"; sed -n 's/.*"again":"\([^"]*\)".*/# again: \1/p' "$W.out" | head -3; head -3 "$W.err" | sed 's/^/# /'
  return 1
}

echo "# $0: seed $DAY; make t T=rtl/daily.t SEED=$DAY repeats it" >&2
for case in 50 51 52; do # behind the directed ones
  sq cosim --block all --point quick --case $case --seed "$DAY" --json
  ok "case $case of every block, seed $DAY: no difference" same
done
finish
