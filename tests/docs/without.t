#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A paper can be taken out: without its room the sources build, lint and pass `make quick` (make without), one room a day.
# What is no room, and a room that others include, is refused.
. "$(dirname "$0")/../cli/lib.sh"
unset MAKEFLAGS MAKELEVEL MFLAGS
cd "$ROOT" || exit
if ! git ls-files --error-unmatch Makefile >/dev/null 2>&1; then
  skip "make without" "no git checkout"
  finish
fi
without() { # ROOM: its status; what it says is in $W.out, $W.err
  make without R="$1" SHORT=1 >"$W.out" 2>"$W.err" && return
  grep -hE "^not ok|^#  |[Ee]rror|^without|Failed|Dubious|: line [0-9]" "$W.out" "$W.err" | head -20 | sed 's/^/# /'
  return 1
}
ok "no room" [ "$(tests/without.sh nosuch 2>&1; echo $?)" = "without: R = nosuch, need a room of sim/format"$'\n'2 ]
ok "a room that others include" grep -q "^without: core is held by" <(tests/without.sh core 2>&1)
day=0
for room in gqsa sp24 spqt spqr; do
  todays "without $room" $((day++)) 4 && ok "without $room" without $room
done
finish
