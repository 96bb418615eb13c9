#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Speedups of the same formats on the simulated accelerator, on a GPU and in their papers, side by
# side, with rank correlations: joined.sh SQSIM [README]. With README, its table between the lines
# "<!-- joined -->" and "<!-- /joined -->" is replaced; else the table goes to stdout.
set -euo pipefail
SQSIM=$(readlink -f "$1")
W=traces/workloads
seconds() { # MACHINE WORKLOAD OPTIONS...
  local machine=$1 workload=$2
  shift 2
  "$SQSIM" run --machine "sim/machines/$machine.yaml" --workload "$W/$workload.csv" "$@" --json |
    tail -1 | grep -o '"seconds":[^,}]*' | cut -d: -f2
}
kernel() { # WORKLOAD KERNEL BASE: speedup on the H200 of one kernel over another
  "$SQSIM" compare --machine sim/machines/h200.yaml --workload "$W/$1.csv" --json |
    awk -v fast="\"kernel\":\"$2\"" -v slow="\"kernel\":\"$3\"" '
      {match($0, /"seconds":[^,}]*/); t = substr($0, RSTART + 10, RLENGTH - 10)}
      index($0, fast) {f = t} index($0, slow) {s = t} END {print s / f}'
}
measured_24() { # GPU: median of INT8 2:4 over dense INT8 at M >= 2048
  awk -F, -v OFS=, '$4 == "INT8" && $7 >= 2048 {k = $7 OFS $8 OFS $9; if ($3 == "dense") d[k] = $10; else s[k] = $10}
    END {for (k in s) if (k in d) print d[k] / s[k]}' "traces/gpu_measured/$1.csv" | sort -n |
    awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'
}
row() { # NAME SIMULATED GPU BASIS PAPER REASON
  awk -v n="$1" -v a="$2" -v g="$3" -v b="$4" -v p="$5" -v r="$6" \
    'BEGIN {printf "| %s | %.2f | %.2f | %s | %s | %s |\n", n, a, g, b, p, r}'
}
over() { # WORKLOAD MACHINE "BASE OPTIONS" "OPTIONS"
  # shellcheck disable=SC2086
  awk -v b="$(seconds "$2" "$1" $3)" -v f="$(seconds "$2" "$1" $4)" 'BEGIN {print b / f}'
}

split_rows() { # MODEL WORKLOAD PAPER...
  local i=0 s paper=("${@:3}")
  for s in 0.5 0.75 0.875; do
    row "SQ activations $1, s = $s, over W4A8" \
      "$(over "$2" default "--format dense --weight-bits 4" "--format sq_a_static --weight-bits 4 --sparsity $s")" \
      "$(kernel "$2" "SQ BF16+FP8 s=$s" BF16)" "modelled, BF16+FP8 over BF16" "${paper[i]}" \
      "$([ "$1" = 70B ] && echo "the array waits for its DRAM in part; by the law of the power limit r is 1.6 on the H200, 1.92 in the paper" || echo "the paper pays for gather and quantising in small GEMM (r = 1.26); neither model does")"
    i=$((i + 1))
  done
}
bytes() { # WORKLOAD "BASE OPTIONS" "OPTIONS": how many times fewer bytes
  local n
  # shellcheck disable=SC2086
  for options in "$2" "$3"; do
    n+=" $("$SQSIM" run --machine sim/machines/default.yaml --workload "$W/$1.csv" $options --json |
      tail -1 | grep -o '"bytes":[^,}]*' | cut -d: -f2)"
  done
  awk '{printf "%.2f", $1 / $2}' <<<"$n"
}
# The papers: SQ-format Table 10 (also explain table10); 2:4, the vendor's figures of an H100; W4 over
# FP16 and GQSA, its Tables 10 and 16; SpQt's GEMV at 50 %; the SpQR thesis' mean on an A100.
rows() {
  local options d=llama-2-7b_decode_1 wide="--format dense --weight-bits 16 --act-bits 16" w4="--format dense --weight-bits 4 --act-bits 8"
  split_rows 70B llama-3-70b_prefill_2048 1.32 1.56 1.71
  split_rows 8B llama-3-8b_prefill_2048 1.07 1.14 1.17
  row "2:4 INT8 over INT8, prefill" "$(over llama-2-7b_prefill_2048 default "--format dense --weight-bits 8" "--format sp24")" \
    "$(measured_24 A100)" "measured, A100" 1.35 "the array reads 5 of 8 bits; the figure is of an H100, published as 1.3 to 1.4"
  row "W4 over FP16, decode" "$(over $d default "$wide" "$w4")" "$(over $d h200 "$wide" "$w4")" "modelled" 2.19 \
    "bytes give $(bytes $d "$wide" "$w4"); its W4 kernel reached 36 % of the memory's rate, FP16 60 %; launches on the GPU"
  row "GQSA W4S50 over W4, decode" "$(over $d default "$w4" "--format gqsa")" "$(over $d h200 "$w4" "--format gqsa")" "modelled" 1.70 \
    "bytes give $(bytes $d "$w4" "--format gqsa"); the paper's W4 baseline is slow"
  row "SpQt at 50 % over its dense form, decode" "$(over $d default "--format spqt --sparsity 0" "--format spqt --sparsity 0.5")" \
    "$(over $d h200 "--format spqt --sparsity 0" "--format spqt --sparsity 0.5")" "modelled" 1.78 \
    "the paper's GPU is Apple's; skipped columns are counted in the bytes, launches are not skipped"
  row "SpQR over FP16, decode" "$(over $d default "$wide" "--format spqr --act-bits 16")" \
    "$(over $d h200 "$wide" "--format spqr --act-bits 16")" "modelled" 1.65 \
    "the published kernel waits for instructions, which neither model counts"
}
rank() { # COLUMN COLUMN: Spearman over the rows on stdin
  awk -F'|' -v x="$1" -v y="$2" '{a[NR] = $x + 0; b[NR] = $y + 0}
    function at(v, i,   j, r) {r = 0.5; for (j = 1; j <= NR; j++) r += v[j] < v[i] ? 1 : v[j] == v[i] ? .5 : 0; return r}
    END {m = (NR + 1) / 2; for (i = 1; i <= NR; i++) {p = at(a, i) - m; q = at(b, i) - m; s += p * q; u += p * p; w += q * q}
         printf "%.2f", s / sqrt(u * w)}'
}
table() {
  local lines
  lines=$(rows)
  echo "| format | accelerator, simulated | GPU | which | paper | where they differ, why |"
  echo "|---|---|---|---|---|---|"
  echo "$lines"
  echo
  echo "Rank correlation over these $(wc -l <<<"$lines") rows: accelerator and GPU $(rank 3 4 <<<"$lines"), accelerator and paper $(rank 3 6 <<<"$lines"), GPU and paper $(rank 4 6 <<<"$lines")."
}
if [ $# -lt 2 ]; then
  table
  exit
fi
table >"$2.table"
awk -v t="$2.table" '/^<!-- \/joined -->/ {on = 0} !on {print} /^<!-- joined -->/ {on = 1; while ((getline l < t) > 0) print l}' "$2" >"$2.new"
mv "$2.new" "$2"
rm "$2.table"
