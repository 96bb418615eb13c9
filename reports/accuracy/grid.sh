#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Losses of banks, sparsities and precisions. grid.sh list: the variants for kl_grid, whose labels are places in the tables:
# NAME;ALGORITHM SMOOTH of plain integers, NAME;SPARSITY;BITS;BANK of others. BITS are of the operand that is sparse-quantized
# (SPEC A.5: masks of activations are not counted, that of split weights is). grid.sh page LIST CSV: the tables, whose cells
# are nats per token.
set -euo pipefail

row() { # NAME SPARSITY|all FORMAT OPTIONS...: at every legal bank
  awk -v name="$1" -v only="$2" -v variant="${*:3}" -v high="$h" -v low="$l" 'BEGIN {
    is_w = variant ~ /^sq_w/
    for (bank = 4; bank <= 128; bank *= 2)
      for (s = .5; s < .95; s += (1 - s) / 2)
        if (bank * (1 - s) >= 1 && (only == "all" || only == s))
          printf "%s;%g;%g;%d | %s bank=%d sparsity=%g\n", name, s, variant ~ /=split/ ? low + (1 - s) * (high - low) + is_w : \
            (is_w ? 1 : s) * low + (1 - s) * high, bank, variant, bank, s }'
}
list() {
  local wa a pair smooth algorithm kind name o h l plain="algorithm=gptq smooth=none"
  for wa in 8,8 6,8 5,8 4,8 4,16 6,6 4,6 4,5 6,4 5,4 4,4 8,4; do
    for smooth in none 0.5; do
      for algorithm in rtn gptq; do
        echo "W${wa/,/A};$algorithm $smooth | dense weight-bits=${wa%,*} act-bits=${wa#*,} algorithm=$algorithm smooth=$smooth"
      done
    done
  done
  for pair in 8/4 8/3 8/2 4/2; do
    h=${pair%/*} l=${pair#*/} o="high-bits=${pair%/*} low-bits=${pair#*/}"
    for a in "4 static" "8 dynamic"; do
      row "W4A(own $pair) ${a#* }" all "sq_a_${a#* }" $o $plain
      if [ $pair = 8/4 ] || [ "$a" = "4 static" ]; then row "W(own $pair)A${a% *}" all sq_w $o act-bits=${a% *} $plain; fi
      [ $pair = 8/4 ] || continue
      for kind in "sq_w act-bits=${a% *}" "sq_a_${a#* }"; do
        name="W4A(own 8/4) ${a#* }"
        [ "${kind::4}" = sq_a ] || name="W(own 8/4)A${a% *}"
        row "$name, rtn" .75 $kind $o algorithm=rtn smooth=none
        row "$name, SmoothQuant 0.5" .75 $kind $o algorithm=gptq smooth=0.5
      done
    done
  done
  h=8 l=4 o="high-bits=8 low-bits=4"
  for a in score=c1 score=c2 score=c3 lazy; do
    row "W(own 8/4)A4, score ${a#score=}" .75 sq_w $o act-bits=4 $a $plain
  done | sed 's/score lazy;/score c0_lazy;/'
  row "W4A(own 8/4) static, mask by |x| alone" .75 sq_a_static $o mask-score=act $plain
  row "W4A(own 8/4) dynamic, INT8 selection" .75 sq_a_dynamic $o select=int8 $plain
  for kind in tied split; do
    for a in 4 8; do row "W($kind 8/4)A$a" .75 sq_w variant=$kind $o act-bits=$a $plain; done
    for a in static dynamic; do row "W4A($kind 8/4) $a" .75 sq_a_$a variant=$kind $o $plain; done
  done
  row "W(fp 8/4)A(fp8)" .875 sq_w variant=fp $o $plain
}
page() { # LIST CSV
  awk -F' [|] ' 'NR == FNR {n = split($0, f, ","); if (FNR > 2) {loss[f[1]] = sprintf("%.4f", f[4] + f[5]); reference = f[4]}; next}
    {split($1, at, ";"); cell[at[1], at[2], at[4]] = loss[$2]}
    !(at[3] ? (at[1], at[2]) in seen : at[1] in seen) {if (at[3]) {seen[at[1], at[2]]; bits[++n_rows] = $1} else {seen[at[1]]; plain[++n_plain] = at[1]}}
    END {
      printf "Reference, binary32: %.6f\n\n", reference
      print "| plain | RTN | GPTQ | RTN, SmoothQuant .5 | GPTQ, SmoothQuant .5 |\n|---|---|---|---|---|"
      for (i = 1; i <= n_plain; i++) {
        k = plain[i]
        print "| " k " | " cell[k, "rtn none", ""] " | " cell[k, "gptq none", ""] " | " cell[k, "rtn 0.5", ""] " | " cell[k, "gptq 0.5", ""] " |"
      }
      print "\n| recipe | sparsity | bits | b=4 | 8 | 16 | 32 | 64 | 128 |\n|---|---|---|---|---|---|---|---|---|"
      for (i = 1; i <= n_rows; i++) {
        split(bits[i], at, ";")
        name = at[1]; gsub(/[|]/, "\\\\|", name)
        line = "| " name " | " at[2] " | " at[3] " |"
        for (bank = 4; bank <= 128; bank *= 2) line = line " " cell[at[1], at[2], bank] " |"
        print line
      }
    }' "$2" "$1"
}
"$@"
