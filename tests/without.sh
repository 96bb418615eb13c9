#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make without R=gqsa: the tracked files in build/without/gqsa, without the room gqsa on any floor and its lines in the
# lists of blocks, formats, points of the chip, RTL files, rooms and measured formats. What is left builds, lints (SHORT=1: in short) and passes `make quick`,
# and the room's formats are unknown. A room that others include stays: this says what holds it.
set -eo pipefail
cd "$(dirname "$0")/.."
[[ ${1-} =~ ^[a-z0-9_]+$ ]] || { echo "without: R = ${1-}, need a room of sim/format" >&2; exit 2; }
R=$1 D=$PWD/build/without/$1 MAKE=${MAKE:-make} JOBS=${JOBS:-$(nproc)}
FLOORS="models sim/block sim/format rtl gpu tests/unit"
[ -d "sim/format/$R" ] || { echo "without: R = $R, need a room of sim/format" >&2; exit 2; }
git ls-files --error-unmatch Makefile >/dev/null || exit 3
held=$(git ls-files '*.[ch]' | grep -vE "^(${FLOORS// /|})/$R/|^(gpu|tests/gpu)/" |
  xargs grep -lE "^#include \"(${FLOORS// /|})/$R/" || true)
[ -z "$held" ] || { printf 'without: %s is held by\n%s\n' "$R" "$held" >&2; exit 1; }

rm -rf "$D"
mkdir -p "$D"
git ls-files -z | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh | xargs -0 cp --parents -t "$D"
reports/revision.sh >"$D/REVISION"
blocks=$(ls "sim/block/$R" 2>/dev/null | sed -n 's/^sq_\(.*\)_block\.c$/\1/p' | paste -sd'|')
formats=$(ls "sim/format/$R" | sed -n 's/^sq_\(.*\)_format\.c$/\1/p' | paste -sd'|')
for floor in $FLOORS; do rm -rf "${D:?}/$floor/$R"; done
n=0
drop() { # FILE REGEX: lines of a list
  sed -Ei "\\#$2#d" "$D/$1"
  n=$((n + $(diff "$1" "$D/$1" | grep -c '^<' || true)))
}
drop sim/block/flow/sq_block.h "^ +X\\(($blocks)\\) *\\\\"
drop sim/format/sq_formats.c "^ +FORMAT\\(($formats)\\) *\\\\"
drop sim/block/top/sq_top_block.c "^ +\\{\"$R\", "
drop rtl/files.f "^$R/"
drop docs/architecture.md "^\\| \`$R\` "
drop traces/gpu_measured/formats.csv "--format ($formats)[ ,]"
echo "without $R: $n lines of lists outside the room"
{ grep -lE "^#include \"(${FLOORS// /|})/$R/" "$D"/tests/gpu/*.cpp || true; } | xargs -r rm # tests of its kernels
for f in sqsim.f sqsim.core Bender.yml; do sed -i "\\#rtl/$R/#d" "$D/$f"; done # made of files.f

# Rows and documents of more than the room's are still there: tests leave out what names the room.
export GIT_CEILING_DIRECTORIES=$PWD/build SQ_WITHOUT=$R SQ_WHOLE=$PWD
unset MAKEFLAGS MFLAGS MAKELEVEL SQSIM_HOME
"$MAKE" -C "$D" --no-print-directory -j"$JOBS" all
for f in ${formats//|/ }; do
  rc=0 said=$("$D/build/sqsim" run --m 1 --n 64 --k 64 --format "$f" 2>&1) || rc=$?
  [ $rc = 2 ] && grep -q "format = $f, need" <<<"$said" || { echo "without: --format $f: exit $rc, $said" >&2; exit 1; }
done
"$MAKE" -C "$D" --no-print-directory lint SHORT="$SHORT"
"$MAKE" -C "$D" --no-print-directory JOBS="$JOBS" quick
