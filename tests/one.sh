#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One test, built if it must be: one.sh BUILD "TEST [PATTERN ...]", as `make t T="TEST PATTERN"` calls it.
# TEST is a path below tests/ (unit/gqsa/test_gqsa, cli/area.t) or a name that only one of them has (gqsa, area).
# PATTERN, with * and ?, picks tests of a program by name; of a shell test it picks the lines to print and to
# judge, while the whole script runs. R=ROOM: its unit tests, the tests that bear its name, its blocks against their RTL.
set -uo pipefail
build=$1
set -f; set -- ${2:-}; set +f
test=${1:-}
[ $# = 0 ] || shift

all() { (cd tests && ls */test_*.c unit/*/test_*.c */test_*.cpp */*.t | sed 's/\.\(c\|cpp\)$//'); }
if [ -z "$test$*" ] && [ -n "${R:-}" ]; then
  found=$(all | grep -E "^unit/$R/|/(test_)?$R[_.]|/(test_)?$R\$" | sed "s|.*\\.t$|tests/&|; t; s|^|$build/tests/|")
  [ -d "rtl/$R" ] && [ -n "$found" ] || { echo "make t: R = $R, need a room: $(cd rtl && echo */)" >&2; exit 2; }
  make --no-print-directory for-rtl $(grep -v '\.t$' <<<"$found") T= R= >/dev/null && prove $found || exit 1
  "$build/sqsim" cosim --block all --list --json | sed -n 's/.*"block":"\([^"]*\)","top":"\([^"]*\)".*/\1 \2/p' | sort -u |
    while read -r block top; do
      [ ! -e "rtl/$R/$top.sv" ] || "$build/sqsim" cosim --block "$block" --point quick --cases "${CASES:-40}" --seed "$SQ_SEED" </dev/null || exit 1
    done
  exit
fi
if [ -z "$test" ]; then
  echo 'make t T=TEST ["T=TEST PATTERN"]; TEST is one of:' >&2
  all | column -c 100 >&2
  exit 2
fi
found=$(all | grep -xE "(.*/)?(test_)?${test//./\\.}(\.t)?" || true)
case $(wc -w <<<"$found") in
0) echo "make t: no test is called $test; near it: $(all | grep -iF -- "${test##*/}" | head -5 | tr '\n' ' ')" >&2; exit 2 ;;
1) ;;
*) echo "make t: $test is $(echo $found); give one with its folder" >&2; exit 2 ;;
esac

case $found in
*.t)
  make --no-print-directory "for-${found%%/*}" T= >/dev/null || exit 1
  [ $# -gt 0 ] || exec prove -v "tests/$found"
  bash "tests/$found" | awk -v patterns="$*" '
    BEGIN { n = split(patterns, p, " "); for (i = 1; i <= n; i++) { gsub(/[].[^$+(){}|\\]/, "\\\\&", p[i]); gsub(/\*/, ".*", p[i]); gsub(/\?/, ".", p[i]) } }
    /^(not )?ok / { name = $0; sub(/^(not )?ok [0-9]+ - /, "", name); on = 0
      for (i = 1; i <= n; i++) if (name ~ "^" p[i] "$") on = 1
      if (on) { seen++; bad += /^not/; print }; next }
    on && /^#/
    END { if (!seen) { print "make t: no line matches " patterns > "/dev/stderr"; exit 2 } exit bad > 0 }' ;;
*)
  make --no-print-directory "$build/tests/$found" >/dev/null || exit 1
  exec "$build/tests/$found" "$@" ;;
esac
