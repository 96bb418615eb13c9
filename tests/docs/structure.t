#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The shape of the sources, by grep: sim/ is its folders and no more, includes are spelled from the
# root and point down, no module includes itself over others, comments are sentences, folders are small, a file over 700 lines is
# named. Includes of gpu/ are left out: its headers are written for what includes them.
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
ORDER="io dram block synth place format cosim energy machine serve llm gpu sweep cli"
SOURCES=$(find models sim lib tests reports -name '*.[ch]' -o -name '*.cpp' | sort)

T=$(mktemp) || exit 1
trap 'rm -f "$T" "$T".*' EXIT

none "sim/ holds its fourteen folders" \
  "$(ls sim | grep -vxE "${ORDER// /|}|machines|sweeps|sysc|rules.mk|README.md")"

# FROM TO of every include. Verilated classes have no place of their own; the bridge is compiled where
# a block is built, beside what it includes.
grep -HoE '^#include "[^"]+"' $SOURCES | grep -v '"V[a-z_]*\.h"' | sed 's/:#include "/ /; s/"$//' >"$T"
none "includes are spelled from the root" \
  "$(sed 's/[.]block[.]h$/.block/' "$T" | grep -v '^sim/cosim/sq_bridge.h' | while read -r from to; do [ -e "$to" ] || echo "$from: $to"; done)"

# The driver of the chip needs nothing of ours: models of a host include it as firmware does.
none "includes point down" "$(awk -v order="$ORDER" '
  BEGIN { n = split(order, name); for (i = 1; i <= n; i++) rank["sim/" name[i]] = i; rank["sim/sysc"] = n + 1 }
  function folder(f, part, k) { k = split(f, part, "/"); return k > 2 ? part[1] "/" part[2] : part[1] }
  $1 ~ /^sim\// && $2 ~ /^sim\// && rank[folder($2)] > rank[folder($1)] { print }
  $1 ~ /^(sim|lib)\// && $2 ~ /^(gpu|tests|reports|sim\/cli)\// && $1 !~ /^sim\/cli/ { print }
  $1 ~ /^models\// && $2 !~ /^models\// { print }
  $1 !~ /^(lib|tests)\// && $2 ~ /^lib\// && $2 != "lib/sq_driver.h" { print }
  $1 !~ /^tests\// && $2 ~ /^tests\// && $2 !~ /emulate/ { print }' "$T")"

# A family of formats has a room, sim/format/ROOM/: it includes itself and what the formats share, which includes no room.
ROOMS="core scaled sp24 gqsa spqt spqr"
none "rooms of sim/format include themselves and what is shared" "$(awk -v rooms=" $ROOMS " '
  function room(f, part, k) { k = split(f, part, "/"); return part[1] "/" part[2] != "sim/format" ? "out" : index(rooms, " " part[3] " ") ? part[3] : "shared" }
  room($2) != "shared" && room($2) != "out" && room($1) != room($2) && room($1) != "out" { print }' "$T")"

# A paper is in its room and nowhere else: `make without R=gqsa` takes it out. gpu/ is left out: the measuring program names all.
none "no file outside includes a file of the rooms sp24, gqsa, spqt and spqr" "$(awk '
  function room(f) { return match(f, "/(sp24|gqsa|spqt|spqr)/") ? substr(f, RSTART, RLENGTH) : "" }
  room($2) != "" && room($1) != room($2)' "$T" | grep -v '^tests/gpu/')"

# Rooms have the same names on every floor: the table of docs/architecture.md has each, and no other. A floor is a column.
sed -n '/^<!-- rooms -->/,/^$/p' docs/architecture.md | awk -F'|' '/^[|] room/ {for (i = 3; i < NF; i++) {floor[i] = $i; gsub(/[ `]/, "", floor[i])}; n = NF}
  /^[|] `/ {gsub(/[ `]/, "", $2); k = split($2, room, ","); for (r = 1; r <= k; r++) for (i = 3; i < n; i++) if ($i ~ /[^ ]/) print floor[i] "/" room[r]}' |
  sort >"$T.table"
for d in models sim/block sim/format rtl gpu tests/unit; do find "$d" -mindepth 1 -maxdepth 1 -type d; done | sort >"$T.rooms"
none "every room is in the table of docs/architecture.md, and the other way round" "$(comm -3 "$T.table" "$T.rooms")"
none "no other folder has such rooms" "$(find models sim rtl gpu tests -mindepth 1 -type d |
  grep -E '/(number|flow|core|array|scaled|sp24|gqsa|spqt|spqr|output|top)$' | sort | comm -13 "$T.rooms" -)"

# Shared code knows no format: it says no name of one, and asks the table. Left out are the rooms, the one list, blocks (whose
# points are named after what they multiply) and comments. "dense" is also a word for what is not 2:4; nvfp4 is a data type in
# the files of aiconfigurator; the cosimulation of a core still makes its operands by the route of sq_w.
NAMES=$(sed -n 's/^    FORMAT(\([a-z0-9_]*\)).*/\1/p' sim/format/sq_formats.c | paste -sd'|')
SHARED=$(grep -E '^(sim|lib)/' <<<"$SOURCES" | grep -vE "^sim/block/|^sim/format/(${ROOMS// /|})/|^sim/format/sq_formats\.c")
none "the list of formats is read" "$([ -n "$NAMES" ] || echo "no FORMAT() in sim/format/sq_formats.c")"
none "shared code names no format" "$(grep -nE "\"($NAMES)\"|\<sq_format_($NAMES)\>" $SHARED |
  sed 's#//.*##; s#/\*.*##' | grep -E "\"($NAMES)\"|\<sq_format_($NAMES)\>" | grep -v '"dense"' |
  grep -v '^sim/gpu/sq_gpu_records.c:.*{"nvfp4", SQ_GPU_NVFP4')"
none "shared code includes no room of a format" "$(awk -v rooms=" $ROOMS " '
  function room(f, part) { split(f, part, "/"); return part[1] "/" part[2] == "sim/format" && index(rooms, " " part[3] " ") }
  $1 ~ /^(sim|lib)\// && !room($1) && room($2) && $1 " " $2 != "sim/cosim/sq_route_cosim.c sim/format/core/sq_w_route.h" { print }' "$T")"

# A text of others never becomes a path: each name that is put behind a folder stands here, with what makes it safe.
#   our own words: blocks, formats, shipped files, digests, names of files that we have written
#   listed: what readdir() gave; tested: sq_name_is_* or is_plain_file_name refused others; quoted: sq_quote_file
# sq_synth_include.c reads what a source includes, by design.
cat >"$T.allowed" <<'END'
sim/cli/sq_cli.c relative              our own words
sim/cli/compare/sq_cmd_compare_input.c machine our own words
sim/cli/compare/sq_cmd_compare_input.c records our own words
sim/cli/sq_cmd_image.c ending          quoted
sim/cli/compare/sq_cmd_compare_joined.c name  our own words
sim/cli/cosim/sq_cosim_report.c name         quoted
sim/cli/run/sq_cmd_run_serve.c sq_profile_names our own words
sim/cosim/sq_rtl_build.c after         our own words
sim/cosim/sq_rtl_build.c depends       our own words
sim/cosim/sq_rtl_build.c folder        our own words
sim/cosim/sq_rtl_build.c hex           our own words
sim/cosim/sq_rtl_build.c line          our own words
sim/cosim/sq_rtl_build.c name          our own words
sim/cosim/sq_rtl_build.c own           our own words
sim/cosim/sq_rtl_build.c passing       our own words
sim/format/file/sq_vectors_file.c name      our own words
sim/io/sq_cache.c d_name               listed
sim/io/sq_cache.c name                 listed
sim/io/sq_confine.c name               our own words
sim/io/sq_confine.c part               our own words
sim/io/sq_home.c pattern        our own words
sim/io/sq_home.c return         what the user names, to read
sim/llm/foreign/sq_foreign_write.c file our own words
sim/llm/sq_reference.c d_name          listed
sim/llm/sq_reference.c files           our own words
sim/llm/sq_reference.c hex             our own words
sim/llm/sq_shards.c name               tested
sim/llm/text/sq_tokens.c name               our own words
sim/sweep/sq_report_write.c name       tested
sim/sweep/sq_sweep_machine.c SQ_SWEEP_PATH_SIZE the user's own specification
sim/synth/sq_synth_cache.c hex         our own words
sim/synth/sq_synth_cache.c name        our own words
sim/synth/sq_synth_cache.c suffix      tested
sim/sweep/sq_sweep_kl.c digest         our own words
sim/synth/sq_synth_clock.c file        our own words
sim/synth/sq_synth_count.c mapper      our own words
sim/synth/sq_synth_include.c name      an include
sim/synth/sq_synth_macro.c best        listed
sim/synth/sq_synth_parts.c own          no path but a part of a chip
sim/synth/sq_synth_run.c d_name        listed
sim/synth/sq_synth_run.c log           our own words
sim/synth/sq_synth_run.c mapper        our own words
sim/synth/sq_synth_run.c name          our own words
sim/synth/sq_synth_source.c name       tested
END
for f in $(grep -E '^(sim|lib)/.*\.c$' <<<"$SOURCES"); do
  tr '\n' ' ' <"$f" | grep -oE 'printf\([^;]*"[^";]*/%[-.0-9*]*s[^;]*' | grep -oE '/%[-.0-9*]*s[^"]*",.*' |
    sed -E 's/\) (>=|<|==) .*//; s/\[[^]]*\]//g; s/[^A-Za-z0-9_]*$//; s/.*[^A-Za-z0-9_]//' | sed "s#^#$f #"
done | sort -u >"$T.made"
none "no path is made of a name that is not known to be safe" \
  "$(awk '{ print $1, $2 }' "$T.allowed" | sort | comm -13 - "$T.made")"
none "... and the list holds no others" "$(awk '{ print $1, $2 }' "$T.allowed" | sort | comm -23 - "$T.made")"
# Outputs have one writer (sq_outfile); other files are those of tools in a work folder that is new.
none "files are written by sq_outfile" "$(grep -nE '\<fopen\([^)]*"[wa]|\<creat\(|O_CREAT' $(grep -E '^(sim|lib)/' <<<"$SOURCES") |
  grep -vE '^sim/io/sq_(file|cache)\.c|^sim/cosim/sq_rtl_build\.c:[0-9]*: *FILE \*out = fopen\(path, "we"\)|^sim/synth/sq_synth_source\.c|^sim/io/sq_process\.c|^sim/sweep/sq_sweep_db\.c')"

# A module is x.c, x.h and the like; tsort names the modules of a circle.
none "no circle of includes" "$(sed -E 's/\.(c|h|cu|cuh|cpp)( |$)/ /g' "$T" |
  awk '$1 != $2 { print $1, $2 }' | sort -u | tsort 2>&1 >/dev/null)"

# A comment has a subject, the name below it: none begins with "Of". Every source says at its top what it does.
WRITTEN=$(find models sim lib gpu rtl tests reports python Makefile -type f ! -path 'tests/cli/*' ! -path '*/corpus/*' \
  \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.sv' -o -name '*.svh' -o -name '*.sh' \
  -o -name '*.t' -o -name '*.awk' -o -name '*.py' -o -name '*.mk' -o -name Makefile \) | sort)
none "no comment begins with \"Of\"" "$(grep -nE '^[[:space:]]*(//|#|/\*)<?[[:space:]]*Of ' $WRITTEN)"
# Words that no engineer looks for: say memo, entry, state, predicts, interface, tiling, partial sums, capacity.
none "every word is the field's" "$(grep -nwiE 'fore(tells?|told)|seams?|laps?|courses|worlds?' $WRITTEN |
  grep -vE '^tests/(docs/(structure|docs).t|fuzz/fuzz_tokenizer_json.c):')"
none "a sentence stands at the top of every source" "$(awk '
  FNR == 1 { if (file && !said) print file; file = FILENAME; said = 0; top = 1; next }
  top && /^\/\/.*[.:]$/ { said = 1 }
  !/^\/\// { top = 0 }
  END { if (!said) print file }' $(grep -E '\.(c|cpp|cu|sv)$' <<<"$WRITTEN"))"

# A folder has at most 40 files; pictures, data and corpora are not counted.
LARGE=""
none "no folder has more than 40 files" "$(find models sim lib gpu rtl tests reports docs python -type f ! -path '*/corpus/*' \
  ! -path '*/__pycache__/*' ! -name '*.svg' ! -name '*.png' ! -name '*.csv' ! -name '*.jsonl' ! -name '*.safetensors' |
  sed 's#/[^/]*$##' | sort | uniq -c | awk -v large=" $LARGE " '$1 > 40 && !index(large, " " $2 " ") { print $2 ": " $1 }')"

# rtl/files.f is the one list of RTL files that is written by hand: packages.t makes three of it, tools the reports.
none "one list of RTL files" "$(grep -roE '\<sq_[a-z0-9_]+\.sv\>' --exclude-dir=corpus *.f *.yml *.core rtl sim tests lib python docs |
  sort -u | cut -d: -f1 | uniq -c | awk -v half=$(($(wc -l <rtl/files.f) / 2)) '$1 > half { print $2 }' |
  grep -vxE 'rtl/files\.f|sqsim\.f|sqsim\.core|Bender\.yml')"

# What an engine on the chip touches outside of its rooms: at most ten files, which the guide names.
grep -rlE 'TOP_KEPT|LAYOUT_KEPT|gqsa_chip|gqsa_route|sq_top_gqsa|sq_engine_gqsa' models lib rtl sim/block sim/cosim sim/format/top sim/llm/chip sim/machine |
  grep -vE '/gqsa/|\.(md|rdl|xml)$|^lib/sq_regs\.h$' | sort >"$T.touched"
sed -n '/^## A further engine/,/^## What/p' rtl/top/engine.md | grep '^| `' | cut -d'|' -f2 | grep -o '[a-z][^`, ]*' | sort >"$T.guide"
none "an engine on the chip touches the files that its guide names" "$(comm -3 "$T.touched" "$T.guide")"
none "... at most ten" "$(sed -n 11p "$T.guide")"

# Two files whose functions call each other are one file, or three. The core's table names its directed cases, which is no call.
find "$(dirname "${SQSIM:-build/sqsim}")/obj" -name '*.o' | sed 's#.*/obj/\(.*\)\.o#\1.c &#' |
  while read -r source object; do [ -e "$source" ] && echo "$object"; done | xargs nm -A -g >"$T.symbols"
none "no circle of calls between two files" "$(sed -E 's/^[^:]*\/obj\/([^:]*)\.o:[0-9a-f]* */\1 /' "$T.symbols" | awk '
  $2 == "T" { home[$3] = $1; n++ } $2 == "U" { from[++m] = $1; name[m] = $3 }
  END { if (n < 500) print n + 0 " functions in the objects"
    for (i = 1; i <= m; i++) if (name[i] in home) calls[from[i], home[name[i]]]
    for (c in calls) { split(c, f, SUBSEP); if (f[1] < f[2] && (f[2], f[1]) in calls) print f[1] " " f[2] } }' |
  grep -vx 'sim/block/core/sq_core_block sim/block/core/sq_core_directed')"

# A file is one idea, however long: above 700 lines it is worth a second look.
wc -l $SOURCES | awk '$1 > 700 && $2 != "total" { print "# warning: " $2 " has " $1 " lines" }'
echo "1..$N"
exit $FAILED
