#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stored bits per weight are one number, whoever says them: eval, quantize, the file (inspect), run and sweep, of every format
# on the embedded model. Where weights decide them (outliers of spqr), a sweep of a model encodes it, and who has only shapes
# says that it expects. unit/format/test_stored_bits.c has every format with 50 random sets of options.
. "$(dirname "$0")/lib.sh"
few_tokens 4
FORMATS=$(sed -n 's/^    FORMAT(\([a-z0-9_]*\)).*/\1/p' "$ROOT/sim/format/sq_formats.c")
ok "the formats" [ "$(wc -w <<<"$FORMATS")" -ge 18 ]
cat >"$W/s.yaml" <<EOF
name: s
axes:
  machine: [sim/machines/default.yaml]
  format: [$(echo $FORMATS | sed 's/ /, /g')]
  m: [4]
  weight_bits: [4]
  bank: [32]
  sparsity: [0.5]
  group: [32]
  algorithm: [rtn]
  fair: [none]
measures: [stored_bits, cycles]
EOF
accept "a sweep of every format" sweep s.yaml --db s.db -o s.csv --json
ok "encodes spqr alone, whose outliers decide" [ "$(number encoded)" = 1 ]
swept() { # FORMAT COLUMN
  awk -F, -v f="$1" -v c="$2" 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next} $at["format"] == f {print $at[c]}' "$W/s.csv"
}
same() { awk -v a="$1" -v b="$2" 'BEGIN {exit !(a + 0 > 0 && a - b == 0)}'; } # 5.0 is 5
for f in $FORMATS; do
  case $f in
  dense) o="--weight-bits 4 --group 32" ;;
  sq_w | sq_a_*) o="--bank 32 --sparsity 0.5 --group 32" ;;
  gqsa) o="--sparsity 0.5 --group 32" ;;
  sq_b) o="--bank 32" ;;
  *) o= ;;
  esac
  case $f in dense | sq_w | sq_a_* | mx* | nv* | sq_b) a="--algorithm rtn" ;; *) a= ;; esac
  sq quantize --format $f $o $a -o "$W/f.safetensors" --json
  bits=$(number stored_bits_per_weight)
  ok "$f: a number" awk "BEGIN {exit !($bits > 2 && $bits < 12)}"
  sq inspect "$W/f.safetensors" --json;                         ok "$f: the file, $bits" [ "$(number stored_bits_per_weight)" = "$bits" ]
  sq eval --format $f $o $a --sequences 1 --summary --json;     ok "$f: eval" [ "$(number stored_bits_per_weight)" = "$bits" ]
  ok "$f: sweep" same "$(swept $f stored_bits)" "$bits"
  sq run --format $f $o --m 4 "$ROOT/traces/tiny-llama" --json
  run=$(number stored_bits_per_weight) expected=$(tail -1 "$W.out" | grep -o '"stored_bits_expected":[^,]*' | cut -d: -f2)
  if [ $f = spqr ]; then
    ok "$f: run expects, by outliers" [ "$expected" = '"outliers"' ]
    sq run --format $f --m 4 "$W/f.safetensors" --json
    ok "$f: run of the file counts" [ "$(number stored_bits_per_weight)" = "$bits" ]
    sq run --format $f --m 4 --n 64 --k 64
    ok "$f: text says so" grep -q 'stored bits per weight, expected by the share of outliers$' "$W.out"
  else
    ok "$f: run, which counts" [ "$run,${expected/null/}" = "$bits," ]
  fi
done
sed -i 's/format: .*/format: [spqr, dense]/; s/  m: .*/  m: [4]\n  n: [64]\n  k: [64]/' "$W/s.yaml"
accept "spqr by its shape" sweep s.yaml --db e.db -o s.csv --json
ok "encodes nothing" [ "$(number encoded)" = 0 ]
ok "and says that it expects" grep -q ',spqr,.*,"stored_bits: expected, by the share of outliers"$' "$W/s.csv"
ok "of dense there is nothing to say" [ "$(swept dense notes)" = "" ]
finish
