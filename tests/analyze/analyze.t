#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/analyze: cppcheck finds in the sources what the baseline has, no more and no less (gcc -fanalyzer, a minute,
# is for `make analyze`); and faults planted in a copy, by tool: a leak, a null dereference, an index out of bounds.
. tests/cli/lib.sh
hold() { "$1/tests/analyze/hold.sh" "${@:2}" >"$W.out" 2>&1; RC=$?; }
shown() { [ "$RC" = "$1" ] && return; sed 's/^/# /' "$W.out" | head -20; return 1; }

C=$W/copy
mkdir "$C" "$C/tests"
cp -r models sim lib "$C"
ln -s "$PWD/build" "$C/build" # tables of blocks as C
cp -r tests/analyze "$C/tests"
B=$C/tests/analyze/baseline.txt F=models/core/sq_mac.c

for tool in cppcheck gcc; do
  hold . $tool $F
  if [ $RC = 77 ]; then skip "$tool" "$(sed 's/^analyze: //' "$W.out")"; continue; fi
  ok "$tool: nothing new in $F" shown 0

  cp "$C/$F" "$W/kept"
  cat >>"$C/$F" <<'CODE'
#include <stdlib.h>
int planted_leak(int n);
int planted_leak(int n)
{
    int *p = malloc(sizeof *p);
    if (!p)
        return 0;
    *p = n;
    return *p + 1;
}
int planted_null(int n);
int planted_null(int n)
{
    int *p = NULL;
    if (n > 3)
        p = &n;
    return n > 4 ? 0 : *p;
}
int planted_index(void);
int planted_index(void)
{
    int a[4] = {1, 2, 3, 4};
    return a[4] + a[0];
}
CODE
  hold "$C" $tool $F
  ok "$tool: planted faults are found" shown 1
  ok "$tool: a leak, by its function" grep -q "key: $tool .* $F planted_leak " "$W.out"
  ok "$tool: a null dereference" grep -q "key: $tool .* $F planted_null " "$W.out"
  ok "$tool: an index out of bounds" grep -q "key: $tool .* $F planted_index " "$W.out"
  ok "$tool: and how to see them" grep -q "see it: .* $F\$" "$W.out"
  cp "$B" "$W/baseline"
  sed -n 's/^  key: \(.*\)/\1 # accepted: planted/p' "$W.out" >>"$B"
  hold "$C" $tool $F
  ok "$tool: with their keys in the baseline nothing is new" shown 0
  sed -i '1i // a line more' "$C/$F"
  hold "$C" $tool $F
  ok "$tool: nor when their lines move" shown 0
  sed -i 's/ # accepted: planted//' "$B"
  hold "$C" $tool $F
  ok "$tool: a key without a reason fails" shown 1
  ok "$tool: and is told" grep -q "no reason given: .*planted_null" "$W.out"
  cp "$W/baseline" "$B"
  cp "$W/kept" "$C/$F"
  echo "$tool rule $F planted_gone nothing # accepted: planted" >>"$B"
  hold "$C" $tool $F
  ok "$tool: a finding that is gone fails" shown 1
  ok "$tool: and is told" grep -q "found no more, .*planted_gone" "$W.out"
  sed -i "s/^version $tool .*/version $tool 0.1/" "$B"
  hold "$C" $tool $F
  ok "$tool: another version is skipped" shown 77
  ok "$tool: and says why" grep -q "$tool skipped: here is version .*, the findings of the baseline are those of 0.1" "$W.out"
  cp "$W/baseline" "$B"
done

hold . cppcheck
if [ $RC = 77 ]; then skip "cppcheck over all sources" "$(sed 's/^analyze: //' "$W.out")"; else
  ok "cppcheck over all sources: the findings of the baseline" shown 0
fi
finish
