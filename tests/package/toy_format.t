#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A format costs one line: toy_format.c beside a list of formats with one name more, linked with the
# objects of the program as they are, is a format of quantize, inspect, eval, run, compare's GPUs and
# sweep, with its own options, refusals and help. A block-scaled format of a kind that models/ has
# costs two: its table and its name. One of a kind of its own costs the file of the kind, too; no RTL has it.
. "$(dirname "$0")/../cli/lib.sh"

BUILD=$(dirname "$SQSIM")
SAN=
case $BUILD in *san) SAN="-fsanitize=address,undefined -fno-sanitize-recover=all" ;; esac

# ---- the lines
sed 's/^    FORMAT(sq_b) .*/&\n    FORMAT(toy) \\/; s/^    FORMAT(nvint5) .*/&\n    FORMAT(nvfp6) \\\n    FORMAT(mine) \\/' "$ROOT/sim/format/sq_formats.c" >"$W/sq_formats.c"
ok "one line more for each" [ "$(diff "$ROOT/sim/format/sq_formats.c" "$W/sq_formats.c" | grep -c '^[<>]')" = 3 ]
{ cat "$ROOT/sim/format/scaled/sq_nv_format.c"; echo 'NV(nvfp6, SQ_ELEMENT_E2M3);'
  echo 'extern const struct sq_bs_kind sq_bs_mine; CHOSEN(mine, &sq_bs_mine);'; } >"$W/sq_nv_format.c"
# the kind of tests/unit/scaled/test_bs_kind.c: a sign in the scale of a block says what a code stands for
{ printf '#include "%s"\n' math.h models/scaled/sq_bs_kind.h models/number/sq_codes.h
  sed -n '/^enum { FIFTH/,/is_scale};$/p' "$ROOT/tests/unit/scaled/test_bs_kind.c" |
    sed 's/^static const struct sq_bs_kind razer_kind = {.name = "razer"/const struct sq_bs_kind sq_bs_mine = {.name = "mine"/'
} >"$W/mine.c"
link() {
  local objects=
  for c in "$ROOT"/sim/cli/*.c "$ROOT"/sim/cli/*/*.c; do c=${c#"$ROOT/"}; objects="$objects $BUILD/obj/${c%.c}.o"; done
  gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror $SAN -fopenmp -O1 \
    -I"$ROOT" "$ROOT/tests/package/toy_format.c" "$W/sq_formats.c" "$W/sq_nv_format.c" "$W/mine.c" $objects \
    "$BUILD/libsqsim.a" "$BUILD/libsqmodels.a" \
    $(sed -n 's/^LDLIBS *[:+]*= *//p' "$ROOT/Makefile") -o "$W/sqsim" >"$W.out" 2>&1 || ! sed 's/^/# /' "$W.out"
}
ok "compiled and linked beside the program's own objects" link
SQSIM=$W/sqsim

value() { sed -n 's/.*"'"$1"'":\("[^"]*"\|[^,}]*\).*/\1/p' "$W.out" | tail -1; }

# ---- values: 1 bit a weight and a scale a row
accept "quantize --format toy" quantize --format toy --json -o "$W/t.st"
ok "a bit a weight and 32 a row" awk "BEGIN { exit !($(value stored_bits_per_weight) > 1.05 && $(value stored_bits_per_weight) < 1.3) }"
ok "its option is shown" [ "$(value toy_scale)" = '"mean"' ]
sqnr=$(value sqnr_db)
accept "its option" quantize --format toy --toy-scale max --json
ok "the largest magnitude is worse than the mean" awk "BEGIN { exit !($(value sqnr_db) < $sqnr) }"
accept "inspect" inspect "$W/t.st" --json
ok "inspect knows the file" [ "$(value format)" = '"toy"' ]
accept "eval --format toy" eval --format toy --sequences 1 --json
loss=$(value loss)
accept "eval --weights" eval --weights "$W/t.st" --sequences 1 --json
ok "the file has the same loss" [ "$(value loss)" = "$loss" ]

# ---- a variant of a family: E2M3 in blocks of 16 has all values of E2M1 and more
accept "quantize --format nvfp4" quantize --format nvfp4 --json
nvfp4=$(value sqnr_db)
accept "quantize --format nvfp6" quantize --format nvfp6 --json -o "$W/r.st"
ok "two bits more of a fraction" awk "BEGIN { exit !($(value sqnr_db) > $nvfp4 + 6) }"
accept "inspect of nvfp6" inspect "$W/r.st" --json
ok "inspect knows nvfp6" [ "$(value format)" = '"nvfp6"' ]
accept "vectors of nvfp6" quantize --vectors --format nvfp6 --json

accept "eval of a kind of one's own" eval --format mine --sequences 1
for command in "cosim --layers" "cosim --layers --block top" image "run --m 1 --n 16 --k 16 --machine $SQSIM_HOME/sim/machines/chip.yaml"; do
  refuse "format = mine: no block multiplies codes of kind mine, need one of the kinds mx, plus, nv" $command --format mine
done

# ---- time: 768 bit products of the default core make 96 elements of 1 x 8 bits a cycle
sq run --format toy --m 32 --n 4096 --k 4096 --json
ok "run --format toy" [ "$RC" = 0 ]
ok "its bytes: K / 8 bits and a scale a row" [ "$(sed -n 's/.*"lo":\([0-9]*\).*/\1/p' "$W.out" | tail -1)" = 2097152 ]
ok "its activation bits are shown" [ "$(value act_bits)" = 8 ]
sq run --format toy --m 1 --n 4096 --k 4096 --machine "$SQSIM_HOME/sim/machines/h200.yaml"
ok "run on a GPU" [ "$RC" = 0 ]

# ---- sweep: its axes are those of its options
cat >"$W/s.yaml" <<'Y'
name: toy
axes: {format: [toy, sq_w], bank: [16, 32], n: [256], k: [256], machine: [sim/machines/default.yaml], fair: [none]}
measures: [cycles, stored_bits]
Y
sq sweep s.yaml --db "$W/s.db" -o "$W/s.csv"
ok "sweep" [ "$RC" = 0 ]
ok "one point of toy, two of sq_w" [ "$(grep -c ',toy,' "$W/s.csv")$(grep -c ',sq_w,' "$W/s.csv")" = 12 ]

# ---- what it does not have is refused, and help and names know it
refuse "--bank: toy has no banks" eval --format toy --bank 8
refuse "--toy-scale needs --format toy" eval --toy-scale max
refuse "--toy-scale = least, need mean or max for toy" eval --format toy --toy-scale least
refuse "sq_b or toy" eval --format tory
refuse "--format = toy: no block takes its layers" cosim --layers --format toy
refuse "act-bits = 16, need 4 or 8 for toy" run --format toy --m 1 --n 1 --k 1 --act-bits 16
refuse "format toy has the same work in every row" run --share t.st
sq eval --help
ok "--help tells of its option" grep -q "toy: scale of a row" "$W.out"

finish
