#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim itself: help, version, unknown commands; and for every command: --help, unknown and
# abbreviated options, missing values, surplus arguments. The list of commands comes from --help.
. "$(dirname "$0")/lib.sh"

says "--help names the exit codes" "Exit status: 0 done, 1 a check failed, 2 bad input" --help
commands=$(awk '/^  [a-z-]+ /{print $1}' "$W.out")
ok "--help lists commands" [ "$(wc -w <<<"$commands")" = 14 ]
accept "--version" --version
ok "version is a number" grep -Eq '^sqsim [0-9]+\.[0-9]+\.[0-9]+$' "$W.out"

ok "and a revision" grep -Eq '^revision [0-9a-z.-]+$' "$W.out"
accept "-h" -h
ok "is --help" cmp -s "$W.out" <("$SQSIM" --help)
accept "--complete" --complete
ok "lists the commands" [ "$(cut -f1 "$W.out")" = "$commands" ]
ok "each with a summary" [ -z "$(awk -F '\t' 'NF != 2 || $2 == ""' "$W.out")" ]

refuse "no command, see sqsim --help"
refuse "did you mean quantize" quantise
refuse "did you mean inspect" insp
refuse "command = frobnicate, need" frobnicate
refuse "command = , need" ""
refuse "command = --josn, need" --josn
refuse 'command = a\\u000ab, need' $'a\nb'
# Escapes, C1 controls, writing directions, broken UTF-8: visible on stderr and stdout.
steering=$'a\033[31m\xc2\x9b\xe2\x80\xae\xff'
refuse 'command = a\\u001b\[31m\\u009b\\u202e\\xff, need' "$steering"
visible() { ! LC_ALL=C grep -q "[^[:print:][:space:]]" "$1" && ! LC_ALL=C grep -q $'\r' "$1"; }
printf 'Layer,M,N,K,Count,\n%b,1,64,64,1,\n' "$steering" >"$W/$steering.csv"
sed 's/^name: .*/name: "m\\nok 1 \\x9b\\u202e"/' sim/machines/edge4.yaml >"$W/m.yaml"
sq run --machine m.yaml --workload "$steering.csv"
ok "file names, layers and machines that steer a terminal" [ "$RC" = 0 ]
ok "are visible" grep -qF 'a\u001b[31m\u009b\u202e\xff.csv on machine m\u000aok 1 \u009b\u202e:' "$W.out"
ok "layers too" grep -qF 'a\u001b[31m\u009b\u202e\xff ' "$W.out"
ok "and nothing else" visible "$W.out"
sq run --machine m.yaml --workload "$steering.csv" --json
ok "nor in JSON" visible "$W.out"
ok "which is valid and complete" python3 -c '
import json, sys
layer, total = [json.loads(line) for line in open(sys.argv[1])]
assert layer["layer"] == "a\\u001b[31m\\u009b\\u202e\\xff"
assert total["machine"] == "m\nok 1 \x9b\u202e" and total["workload"].endswith("\\xff.csv")' "$W.out"
rm "$W/$steering.csv" "$W/m.yaml"
refuse "command = x" "$(printf 'x%.0s' {1..5000})"

for c in $commands; do
  says "$c --help shows usage" "^Usage: sqsim $c" "$c" --help
  ok "$c --help has examples" out_has "^  sqsim $c"
  accept "$c -h" "$c" -h
  ok "$c -h is --help" cmp -s "$W.out" <("$SQSIM" "$c" --help)
  accept "$c --complete" "$c" --complete
  ok "$c --complete lists the options" cmp <(cut -f1 "$W.out" | grep -vx -e --help | sort) \
    <("$SQSIM" "$c" --help | grep -oE '^  (    |-[a-z], )--[a-z0-9-]+' | grep -oE -e '--[a-z0-9-]+' | sort)
  ok "$c --complete has three columns" [ -z "$(awk -F '\t' 'NF != 3' "$W.out")" ]
  refuse "unknown option --no-such-option" "$c" --no-such-option
  refuse "unknown option --jsn, did you mean --json" "$c" --jsn
  refuse "unknown option --js, did you mean --json" "$c" --js
  refuse "option --json takes no value" "$c" --json=1
  refuse "unknown option -Z" "$c" -Z
  refuse "unexpected argument '[abc]'\|need\|cannot" "$c" a b c d
done

# With a format --help begins with its options and what they mean for it; no option is left out.
options_of() { grep -oE '^  (    |-[a-z], )--[a-z0-9-]+' "$W.out" | grep -oE -e '--[a-z0-9-]+' | sort; }
for c in eval quantize run cosim; do
  sq "$c" --help; options_of >"$W/all"
  for words in "--format sq_b --help" "--help --format=sq_b"; do
    accept "$c $words" "$c" $words
    ok "begins with them" [ "$(grep -m 2 -E '^ +Options of|^ +(-., )?--' "$W.out" | sed 's/^ *//; s/  .*//' | tr '\n' ' ' | grep -c '^Options of sq_b: --')" = 1 ]
    ok "for that format" eval "! sed -n '/Options of sq_b:/,/Options of the command:/p' '$W.out' | grep -Eq 'sq_w|gqsa|dense:'"
    ok "has all options, once" cmp "$W/all" <(options_of)
  done
done
sq eval --format nvpf4 --help
ok "of no format: as without" cmp "$W.out" <("$SQSIM" eval --help)
# What an option may be, and is where nobody gives it, comes from the row and the field of the command.
sq area --complete
ok "--complete has the words of a command's own options" grep -qx -- $'--gather\tA\tcrossbar log' "$W.out"
sq area --help
ok "--help has the default of the command" grep -q -- '--rows=N .*1..64 (2)$' "$W.out"
sq cosim --help
ok "which differs" grep -q -- '--rows=N .*1..64 (32)$' "$W.out"
ok "--help has headings" [ "$(grep -c '^ Format:$\|^ Core:$\|^ Output and work:$' "$W.out")" = 3 ]
refuse "--point given more than 64 times" cosim $(printf -- '--point all %.0s' {1..65})
refuse '--act-bits = 5, need 4 or 8$' area --act-bits 5
# ---- modes ------------------------------------------------------------------------------------------
refuse "--share and --explain given, need one of them" run --share --explain cycles
refuse "--machine has no use with --share" run --share x --machine default
refuse "--bank has no use with --share" run --share x --bank 16
refuse "MODEL has no use with --explain" run --explain v13 x
refuse "--workers needs --share" run --workers 4
refuse "--phase needs --gemms" inspect --phase decode
refuse "MODEL has no use with --vectors" quantize --vectors --format nvfp4 x
refuse "--window has no use with --vectors" quantize --vectors --format nvfp4 --window 16
refuse "--db has no use with --changes" report --changes a b --db c
refuse "A B needs --changes" report a b

rm -f "$W"/*

# OpenBLAS maps a buffer for each of its threads before main, for ever where there is no room: the
# program could not end.
if ! san; then
  limited() { # KIB ARGS...
    (ulimit -v "$1"; shift; unset OPENBLAS_NUM_THREADS; cd "$W" && exec timeout $HANG "$SQSIM" "$@" >"$W.out" 2>"$W.err" </dev/null)
    RC=$?
  }
  limited 120000 --version
  ok "--version in 120 MB" [ "$RC" = 0 -a ! -s "$W.err" ]
  limited 120000 run --m 4 --n 64 --k 64
  ok "a command in 120 MB: exit 3, one line" \
    [ "$RC" = 3 -a "$(wc -l <"$W.err")" = 1 -a "$(grep -c 'limit of memory (ulimit -v) is 120000 KiB, need at least' "$W.err")" = 1 ]
  limited 500000 run --m 4 --n 64 --k 64 --json
  ok "... in 500 MB: done" [ "$RC" = 0 ]
  # OpenBLAS waits for ever for a buffer that does not fit: each thread takes one.
  for kib in 330000 400000 450000 524288 700000; do
    limited $kib quantize --jobs 7
    ok "quantize in $kib KiB: done, or one sentence" [ "$RC" = 0 -o "$(wc -l <"$W.err")$(grep -cE 'limit of memory|out of memory' "$W.err")" = 11 ]
  done
  ok "... it is done in 700 MB" [ "$RC" = 0 ]
fi
cd "$W" && "$SQSIM" --help >/dev/full 2>"$W.err"; RC=$?; cd "$ROOT" || exit
ok "help on a full disk" refused_well "cannot write standard output" "" ""
# ---- closed descriptors -----------------------------------------------------------------------------
# What is printed never goes into the file that is opened next, and lost output is an error.
quantize=(quantize --algorithm rtn -o)
accept "a file" "${quantize[@]}" want.st
for closed in '>&-' '2>&-' '<&-' '>&- 2>&-' '<&- >&- 2>&-'; do
  echo precious >"$W/keep.st"
  (cd "$W" && eval "\"$SQSIM\" quantize --algorithm rtn -o keep.st >/dev/null 2>/dev/null $closed"); RC=$?
  case $closed in
  *'>&- 2'* | '>&-') ok "$closed: refused, and the old file stays" [ "$RC$(cat "$W/keep.st")" = 2precious ] ;;
  *) ok "$closed: the file is whole" [ "$RC$(cmp "$W/keep.st" "$W/want.st")" = 0 ] ;;
  esac
done
(cd "$W" && "$SQSIM" image --format dense --algorithm rtn --layer '*.0.mlp.up_proj' --m 1 -o . >&- 2>"$W.err"); RC=$?
ok "image without standard output says so" [ "$RC$(grep -c 'cannot write standard output' "$W.err")" = 21 ]
ok "... and prints into no file" [ "$(head -c1 "$W"/model.*.json)" = "{" ]

finish
