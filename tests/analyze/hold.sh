#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tests/analyze/hold.sh cppcheck|gcc [FILE...]
# What cppcheck or `gcc -fanalyzer` finds in the C of models/, sim/ and lib/ (or in FILEs of them), held against
# tests/analyze/baseline.txt. Exit 0: the same findings; 1: one that is not in the baseline, one of the baseline that
# is found no more, or a line of it without a reason; 77: not the version that the baseline was made with.
cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C
tool=$1; shift
BASELINE=tests/analyze/baseline.txt
CPPCHECK=${CPPCHECK:-cppcheck} ANALYZE_CC=${ANALYZE_CC:-gcc} JOBS=${JOBS:-1}

case $tool in
cppcheck) version=$("$CPPCHECK" --version 2>/dev/null | sed 's/^Cppcheck //') ;;
gcc) version=$("$ANALYZE_CC" -dumpfullversion 2>/dev/null) ;;
*) echo "usage: tests/analyze/hold.sh cppcheck|gcc [FILE...]" >&2; exit 2 ;;
esac
wanted=$(sed -n "s/^version $tool //p" "$BASELINE")
if [ "$version" != "$wanted" ]; then
  echo "analyze: $tool skipped: here is version ${version:-none}, the findings of the baseline are those of $wanted"
  exit 77
fi

W=$(mktemp -d) || exit 1
trap 'rm -rf "$W"' EXIT
if [ $# -gt 0 ]; then printf '%s\n' "$@"; else find models sim lib -name '*.c' | sort; fi >"$W/files"

# SQ_CODE and SQ_REVISION are made by the build; OpenMP is left out, since gcc takes its outlined loops for leaks.
SEES="-std=c11 -I. -Ibuild -D_GNU_SOURCE -DSQ_CODE=\"\" -DSQ_REVISION=\"\""
GCC="$SEES -O1 -include tests/analyze/told.h -Wno-unknown-pragmas -fanalyzer -fdiagnostics-plain-output"
# readdir_r, which cppcheck asks for, is the one that glibc advises against.
CPP="--std=c11 --enable=warning,portability --library=posix,gnu --force --inline-suppr --quiet -I. -Ibuild -DSQ_CODE=\"\" \
 --suppress=missingIncludeSystem --suppress=readdirCalled"
if [ "$tool" = gcc ]; then
  see="$ANALYZE_CC $GCC -S -o /dev/null"
  xargs -a "$W/files" -P "$JOBS" -I{} sh -c \
    "$ANALYZE_CC $(sed 's/"/\\"/g' <<<"$GCC") -fdiagnostics-path-format=none -S -o /dev/null {} >\"$W/\$(echo {} | tr / ,).out\" 2>&1"
  ran=$?
  cat "$W"/*.out >"$W/out" 2>/dev/null
else
  see="$CPPCHECK $CPP"
  "$CPPCHECK" $CPP --template='{file}:{line}: warning: {message} [{id}]' --file-list="$W/files" >"$W/out" 2>&1
  ran=$?
fi
awk -v tool="$tool" -f tests/analyze/keys.awk "$W/out" | sort -u >"$W/found"
failed=0
if [ "$ran" != 0 ] && ! grep -q ': error: \|: fatal error: ' "$W/out"; then
  echo "analyze: $tool ended with status $ran"; tail -5 "$W/out"; failed=1
fi

# ---- the baseline: "KEY # false positive: why" or "KEY # accepted: why" ----------------------------
REASON=' # (false positive|accepted): .'
grep -Ev "^(#|version |\$)" "$BASELINE" >"$W/lines"
if grep -Ev "$REASON" "$W/lines" | sed 's/^/analyze: no reason given: /' | grep .; then failed=1; fi
sed -E "s/$REASON.*//" "$W/lines" | awk -v tool="$tool" -v all=$(($# == 0)) \
  'NR == FNR { is_named[$1] = 1; next } $1 == tool && (all || ($3 in is_named))' "$W/files" - | sort >"$W/known"
cut -f1 "$W/found" | sort -u >"$W/keys"

while IFS= read -r key; do
  failed=1
  echo "analyze: new finding:"
  awk -F'\t' -v key="$key" '$1 "" == key { print "  " $2 }' "$W/found"
  echo "  key: $key"
  echo "  see it: $see $(cut -d' ' -f3 <<<"$key")"
done < <(comm -23 "$W/keys" "$W/known")
while IFS= read -r key; do
  failed=1
  echo "analyze: found no more, its line of $BASELINE goes: $key"
done < <(comm -13 "$W/keys" "$W/known")
echo "analyze: $tool $version, $(wc -l <"$W/files") files, $(wc -l <"$W/keys") findings, $(wc -l <"$W/known") known"
exit $failed
