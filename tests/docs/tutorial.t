#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs/tutorial.md, docs/describe.md, docs/checkpoint.md and the five minutes of README.md, followed as they stand: every command exits 0, and prints
# what the text says of it.
. "$(dirname "$0")/../cli/lib.sh"
mkdir -p "$W/bin" "$W/build"
ln -s "$SQSIM" "$W/bin/sqsim"
ln -s "$SQSIM" "$W/build/sqsim"
ln -s "$ROOT/sim" "$ROOT/traces" "$W"
follow() { # COMMANDS: in $W
  (cd "$W" && PATH=$W/bin:$PATH timeout $HANG bash -euc "$1" >"$W.out" 2>"$W.err" </dev/null)
  RC=$?
  [ $RC = 0 ] || sed 's/^/# /' "$W.err"
  return $RC
}
block() { # NUMBER [DOCUMENT]
  awk '/^```sh/ {n++; on = 1; next} /^```/ {on = 0} on && n == want' want="$1" "$ROOT/docs/${2:-tutorial.md}"
}

n=$(grep -c '^```sh' "$ROOT/docs/tutorial.md")
ok "the tutorial has its steps" [ "$n" = 6 ]
says=("" "stored bits\|bits" "KL mean" "cycles" "0 value mismatches, 0 cycle mismatches" "meta24" "cycles")
for i in $(seq "$n"); do
  ok "step $((i + 1))" follow "$(block "$i")"
  ok "step $((i + 1)) prints ${says[i]}" grep -q "${says[i]}" "$W.out"
  [ "$i" = 3 ] && cp "$W.out" "$W/times"
done
ok "the page is there" [ -s "$W/page/index.html" ]

# What the text of step 4 says of its four lines.
said() { grep -q "$1" "$ROOT/docs/tutorial.md"; } # PATTERN
used() { sed -n "$1s/.*low path \([0-9.]*\) %.*/\1/p" "$W/times"; } # LINE
ok "all are memory-bound" [ "$(grep -c 'memory-bound, 4.5000 stored bits' "$W/times")" = 4 ]
ok "the use of prefill is what the text says" said "multipliers work $(printf %.0f "$(used 1)") % of the time"
ok "the use of decode, too" said "work $(used 3) % of it"
ok "both formats take the same time" [ "$(sed 's/ MAC, \([0-9]*\) .*/ \1/' "$W/times" | sort -u | wc -l)" = 2 ]

files_of "$ROOT/docs/describe.md"
ok "the format of the guide is no part of sqsim" [ ! -e "$ROOT/sim/format/scaled/formats/if3.yaml" ]
# What readme.t runs to compare its output is not run again, unless it leaves a file.
of_guide() { # DOCUMENT
  local i command
  for ((i = 1; i <= $(grep -c '^```sh' "$ROOT/docs/$1"); i++)); do
    command=$(block "$i" "$1")
    [[ $command == *" -o "* || $command == *$'\n'* ]] || ! grep -qF -- "<!-- run: $command" "$ROOT/docs/$1" || continue
    [[ $command != "sqsim area --units-of "* ]] || daily "$1: $command" || continue # cli/area.t has a smaller one
    ok "$1, command $i" follow "$command"
  done
}
of_guide describe.md
ok "your format: four lengths, other bits each" [ "$(grep -o '[0-9.]* stored' "$W.out" | sort -u | wc -l)" = 4 ]
of_guide checkpoint.md

while read -r command; do
  [[ $command != *" area "* ]] || daily "five minutes: $command" || continue
  ok "five minutes: $command" follow "$command"
done < <(sed -n '/^## Five minutes/,/^## Questions/s/^    \(build\/sqsim .*[^ ]\) *# .*/\1/p' "$ROOT/README.md")
ok "their page is there" [ -s "$W/page/results.json" ]
finish
