#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# reports/accuracy: kl_grid measures a list, goes on where it stopped and tells inputs apart;
# kl_table's verdicts follow from the numbers alone; model.sh says what it could not do.
. tests/cli/lib.sh
BUILD_DIR=$(dirname "$SQSIM")
cat >"$W/list.txt" <<'E'
# a comment
## Two tables | dense operand=act act-bits=4
INT8 | dense operand=act act-bits=8
INT4 | dense operand=act act-bits=4
split | sq_b operand=act codes=split
E
cp -r traces/tiny-llama "$W/model"
grid() { # SEQUENCES LIST
  (cd "$W" && timeout $HANG "$BUILD_DIR/kl_grid" model model/tokens_eval.safetensors \
    model/tokens_calib.safetensors "$1" "$2" kl.csv r1 >"$W.out" 2>"$W.err")
  RC=$?
}
rows() { grep -c '^[a-z].*,r1,' "$W/kl.csv"; }
grid 3 list.txt
ok "three variants, three rows" [ "$RC" = 0 -a "$(rows)" = 3 ]
cp "$W/kl.csv" "$W/first.csv"
grid 3 list.txt
ok "measured rows are not measured again" cmp -s "$W/kl.csv" "$W/first.csv"
head -c -20 "$W/first.csv" >"$W/kl.csv" # a kill in the last row
grid 3 list.txt
ok "a torn row is measured again" [ "$RC" = 0 -a "$(rows)" = 3 ]
ok "and comes out the same" [ "$(cut -d, -f1-12,14,15 "$W/kl.csv" | sed 1,2d)" = \
  "$(cut -d, -f1-12,14,15 "$W/first.csv" | sed 1,2d)" ]
grid 2 list.txt
ok "rows of other sequences are refused" [ "$RC" = 2 -a "$(wc -l <"$W.err")" = 1 ]
ok "with a reason" grep -q "is of other inputs" "$W.err"
(cd "$W" && "$SQSIM" eval model --format sq_b --operand act --codes split --sequences 3 --summary --json) >"$W.out"
ok "KL is that of eval" awk -v a="$(number kl_mean)" -v b="$(grep '^sq_b' "$W/kl.csv" | cut -d, -f7)" \
  'BEGIN{d = a - b; exit !(d < 1e-6 && d > -1e-6)}'
echo "bad | nosuch bits=4" >"$W/bad.txt"
grid 3 bad.txt
ok "an unknown format is refused" [ "$RC" = 2 ]

# ---- verdicts -----------------------------------------------------------------------------------
row() { echo "$1,4,,3,0.1,0.01,$2,$2,$2,0,0,0.9,1,r1,$3"; } # VARIANT KL KL_BY_SEQUENCE
{ echo "# kl_grid: 4 sequences"; echo columns
  row a 1 "1 1 1 1"; row b 2 "2 2 2 2"; row c 1 "0.2 1.8 0.3 1.7"; } >"$W/t.csv"
printf '## T | b\nA | a\nB | b\nC | c\nD | d\n' >"$W/t.txt"
printf '%s\n' 'half | a | b | 0.5' 'more | b | a | 1' 'open | c | a | 1' 'none | d | a | 1' >"$W/v.txt"
"$BUILD_DIR/kl_table" "$W/t.txt" "$W/t.csv" "$W/v.txt" "make this" >"$W.out"
ok "confirmed" out_has '^| half .*0\.500 \[0\.500, 0\.500\].*| confirmed |$'
ok "withdrawn" out_has '^| more .*\*\*withdrawn\*\* |$'
ok "open" out_has '^| open .*open: the interval holds both |$'
ok "not measured" out_has '^1 more claims wait for variants'
ok "rows carry intervals and bits" out_has '^| A | 4 |  | 1.0000 \[1.0000, 1.0000\] | 0.500 \[0.500, 0.500\]'
ok "what is missing is said, and what measures it" out_has '^1 variants of t.txt are not measured yet: `make this` goes on'
ok "the page begins with it" out_has '^<!-- make this: kl_table of kl_grid: 4 sequences -->'

# ---- the subject --------------------------------------------------------------------------------
PIP_INDEX_URL=http://127.0.0.1:9/ PIP_RETRIES=0 PIP_NO_CACHE_DIR=1 PIP_CONFIG_FILE=/dev/null \
  reports/accuracy/model.sh smollm2 "$W/s" >"$W.out" 2>"$W.err"
ok "without network: exit 3, one line" [ $? = 3 -a "$(cat "$W.out" "$W.err" | wc -l)" = 1 ]
ok "that says what to do" out_has "skipped: .*SMOLLM2=FILE\|skipped: no python3"
ok "and leaves no half file" [ -z "$(find "$W/s" -name '*.new' -o -name 'pip-*' -o -name '*.gguf')" ]
echo x >"$W/copy.gguf"
reports/accuracy/model.sh smollm2 "$W/s" "$W/copy.gguf"
ok "a copy is taken, its tokens beside it" cmp -s "$W/s/model.gguf" "$W/copy.gguf"
ok "token files are there" [ -f "$W/s/tokens_eval.safetensors" -a -f "$W/s/tokens_calib.safetensors" ]
finish
