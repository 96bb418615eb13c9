#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The shape of the sources, by grep: sim/ is its folders and no more, includes are spelled from the
# root and point down, no module includes itself over others, a file over 700 lines is named. gpu/ is left out: its headers are
# written for what includes them.
cd "$(dirname "$0")/../.." || exit 1
N=0 FAILED=0
none() { # DESCRIPTION LINES: ok when there are no lines
  local lines=$2
  N=$((N + 1))
  if [ -z "$lines" ]; then echo "ok $N - $1"; return; fi
  echo "not ok $N - $1"
  sed 's/^/# /' <<<"$lines" | head -20
  FAILED=1
}
# From the bottom: a folder includes itself and what stands before it.
ORDER="io block synth format cosim energy machine llm gpu sweep cli"
SOURCES=$(find models sim lib tests reports -name '*.[ch]' -o -name '*.cpp' | sort)

T=$(mktemp) || exit 1
trap 'rm -f "$T"' EXIT

none "sim/ holds its eleven folders" \
  "$(ls sim | grep -vxE "${ORDER// /|}|machines|sweeps|sysc|rules.mk|README.md")"

# FROM TO of every include. Verilated classes have no place of their own; the bridge is compiled where
# a block is built, beside what it includes.
grep -HoE '^#include "[^"]+"' $SOURCES | grep -v '"V[a-z_]*\.h"' | sed 's/:#include "/ /; s/"$//' >"$T"
none "includes are spelled from the root" \
  "$(grep -v '^sim/cosim/sq_bridge.h' "$T" | while read -r from to; do [ -e "$to" ] || echo "$from: $to"; done)"

none "includes point down" "$(awk -v order="$ORDER" '
  BEGIN { n = split(order, name); for (i = 1; i <= n; i++) rank["sim/" name[i]] = i; rank["sim/sysc"] = n + 1 }
  function folder(f, part, k) { k = split(f, part, "/"); return k > 2 ? part[1] "/" part[2] : part[1] }
  $1 ~ /^sim\// && $2 ~ /^sim\// && rank[folder($2)] > rank[folder($1)] { print }
  $1 ~ /^(sim|lib)\// && $2 ~ /^(gpu|tests|reports|sim\/cli)\// && $1 !~ /^sim\/cli/ { print }
  $1 ~ /^models\// && $2 !~ /^models\// { print }
  $1 !~ /^(lib|tests)\// && $2 ~ /^lib\// { print }
  $1 !~ /^tests\// && $2 ~ /^tests\// && $2 !~ /emulate/ { print }' "$T")"

# A family of formats has a room, sim/format/NAME/: it includes itself and the core beside the rooms. The core includes no room.
none "rooms of sim/format include themselves and the core" "$(awk '
  function room(f, part, k) { k = split(f, part, "/"); return part[1] "/" part[2] != "sim/format" ? "out" : k > 3 ? part[3] : "core" }
  room($2) != "core" && room($2) != "out" && room($1) != room($2) && room($1) != "out" { print }' "$T")"

# Shared code knows no format: it says no name of one, and asks the table. Left out are the rooms, the one list, blocks (whose
# points are named after what they multiply) and comments. "dense" is also a word for what is not 2:4; nvfp4 is a data type in
# the files of aiconfigurator; the cosimulation of a core still makes its operands by the route of sq_w.
NAMES=$(sed -n 's/^    FORMAT(\([a-z0-9_]*\)).*/\1/p' sim/format/sq_formats.c | paste -sd'|')
SHARED=$(grep -E '^(sim|lib)/' <<<"$SOURCES" | grep -vE '^sim/block/|^sim/format/[a-z0-9]+/|^sim/format/sq_formats\.c')
none "the list of formats is read" "$([ -n "$NAMES" ] || echo "no FORMAT() in sim/format/sq_formats.c")"
none "shared code names no format" "$(grep -nE "\"($NAMES)\"|\<sq_format_($NAMES)\>" $SHARED |
  sed 's#//.*##; s#/\*.*##' | grep -E "\"($NAMES)\"|\<sq_format_($NAMES)\>" | grep -v '"dense"' |
  grep -v '^sim/gpu/sq_gpu_records.c:.*{"nvfp4", SQ_GPU_NVFP4')"
none "shared code includes no room of a format" "$(awk '
  function room(f, part, k) { k = split(f, part, "/"); return part[1] "/" part[2] == "sim/format" && k > 3 }
  $1 ~ /^(sim|lib)\// && !room($1) && room($2) && $1 " " $2 != "sim/cosim/sq_route_cosim.c sim/format/grid/sq_w_route.h" { print }' "$T")"

# A module is x.c, x.h and the like; tsort names the modules of a circle.
none "no circle of includes" "$(sed -E 's/\.(c|h|cu|cuh|cpp)( |$)/ /g' "$T" |
  awk '$1 != $2 { print $1, $2 }' | sort -u | tsort 2>&1 >/dev/null)"

# A file is one idea, however long: above 700 lines it is worth a second look.
wc -l $SOURCES | awk '$1 > 700 && $2 != "total" { print "# warning: " $2 " has " $1 " lines" }'
echo "1..$N"
exit $FAILED
