#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The wires that sqsim area --wires estimates beside those that qrouter lays through the same places, in the library OSU 0.18 um:
# route.sh SQSIM OUT BLOCK...: a row of docs/wires.md for each block.
set -euo pipefail
sqsim=$1 out=$2 osu=/usr/share/qflow/tech/osu018
shift 2
[ -r $osu/osu018_stdcells.lef ] && command -v qrouter >/dev/null || { echo "area-route: no qrouter with OSU 0.18: skipped" >&2; exit 0; }
mkdir -p "$out"
echo '<!-- table: wires_route -->'
echo "| block | cells | nets without a route | um: trees | routed | routed more |"
echo "|---|---|---|---|---|---|"
for block; do
  "$sqsim" area --block "$block" --json --liberty $osu/osu018_stdcells.lib --wires --lef $osu/osu018_stdcells.lef --wire 1,.2 --def "$out/$block.def" >"$out/$block.json"
  # Tracks of the library; a port gets a shape on the nearest crossing; qrouter wants the name of a net on its own line.
  awk '/^DIEAREA/ { width = $7; height = $8 }
    /^COMPONENTS/ { for (l = 1; l <= 6; l++) { up = l % 2 == 0; step = up ? l == 6 ? 1600 : 800 : 1000
      printf "TRACKS %s %d DO %d STEP %d LAYER metal%d ;\n", up ? "X" : "Y", step / 2, int(((up ? width : height) - step / 2) / step) + 1, step, l } }
    /^- p[0-9]+ \+ NET/ { x = int($15 / 800) * 800 + 400; y = int($16 / 1000) * 1000 + 500; x -= x > width ? 800 : 0; y -= y > height ? 1000 : 0
      print $1, $2, $3, $4, $5, $6, $7, $8, "+ USE SIGNAL + LAYER metal3 ( -200 -200 ) ( 200 200 ) + PLACED (", x, y, ") N ;"; next }
    /^NETS/ { nets = 1 }
    nets && /^- / { name = $2; $1 = $2 = ""; sub(/;$/, ""); print "- " name "\n  " $0 "\n  ;"; next }
    { print }' "$out/$block.def" >"$out/$block-in.def"
  printf '%s\n' "verbose 0" "read_lef $osu/osu018_stdcells.lef" "read_def $out/$block-in.def" "vdd vdd" "gnd gnd" "layers 6" stage1 stage2 "write_def $out/$block-out.def" quit >"$out/$block.tcl"
  qrouter -nog -s "$out/$block.tcl" >"$out/$block.log" 2>&1 </dev/null
  awk -v block="$block" -v trees="$(sed -n 's/.*"length_um":\([0-9.]*\).*/\1/p' "$out/$block.json")" '
    /^COMPONENTS/ { cells = $2 }
    /^- [np][0-9]+ *$/ { missing += pins > 1 && !is_routed; pins = is_routed = 0 }
    /^  +\( / { pins = gsub(/\( /, "&") }
    /ROUTED|NEW/ {
      is_routed = 1
      for (i = 1; i <= NF; i++)
        if ($i == "ROUTED" || $i == "NEW") is_first = 1
        else if ($i == "(") { x = $(i + 1) == "*" ? at_x : $(i + 1); y = $(i + 2) == "*" ? at_y : $(i + 2)
          if (!is_first) um += ((x > at_x ? x - at_x : at_x - x) + (y > at_y ? y - at_y : at_y - y)) / 1000
          at_x = x; at_y = y; is_first = 0 } }
    END { missing += pins > 1 && !is_routed
      printf "| `%s` | %d | %d | %.0f | %.0f | %.1f %% |\n", block, cells, missing, trees, um, 100 * (um / trees - 1) }' "$out/$block-out.def"
done
echo '<!-- end -->'
