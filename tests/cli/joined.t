#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `sqsim compare --joined`: its figures are those of the files, of `run` and of `run --explain table10`; each
# difference is the product of its steps; a made file gives numbers known beforehand;
# reports/gpu prints what the command says now, and the findings there are true of it.
. "$(dirname "$0")/lib.sh"
M=$SQSIM_HOME/sim/machines
D=$SQSIM_HOME/traces/gpu_measured
F=$D/formats.csv
less() { awk -v a="$1" -v b="$2" 'BEGIN {exit !(a != "" && a < b)}' || { echo "# $1 is not below $2"; return 1; }; }
near() { awk -v a="$1" -v b="$2" 'BEGIN {exit !(a > b * .9999 && a < b * 1.0001)}' || { echo "# $1 is not $2"; return 1; }; }
of() { # FORMAT M RECORDS KEY
  grep -F "{\"format\":\"$1\",\"m\":\"$2\",\"records\":$3" "$W.out" | grep -o "\"$4\":[^,}]*" | cut -d: -f2
}
geomean() { awk '{s += log($1); n++} END {printf "%.9g", exp(s / n)}'; }

# ---- the command ------------------------------------------------------------------------------
accept "in words" compare --joined
cp "$W.out" "$W/text"
ok "every format stands there" [ "$(grep -c ', M ' "$W/text")" -ge "$(($(wc -l <"$F") - 1))" ]
ok "the baseline stands in every line" [ "$(grep -cE '^  .* [0-9]+ \|.*\| +[-0-9.x]+ +[0-9.]+x +[0-9.]+x \|' "$W/text")" = "$(sed '/^Static/,$d' "$W/text" | grep -cE '^  .* [0-9]+ \|')" ]
accept "JSON" compare --joined --json
cp "$W.out" "$W/json"
ok "as many lines" [ "$(($(wc -l <"$W/json") - 1))" = "$(sed '/^Static/,$d' "$W/text" | grep -cE '^  .* [0-9]+ \|')" ]
ok "and the same speedups: measured, predicted, by the roofline" cmp <(sed '/^Static/,$d' "$W/text" | awk -F'|' '/^  .* [0-9]+ \|/ {split($3, v, " "); print v[1], v[2], v[3]}') <(awk '
  function get(key) {return match($0, "\"" key "\":[0-9.e+-]+") ? sprintf("%.2fx", substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)) : "-"}
  !/"summary"/ {print get("measured_speedup"), get("speedup"), get("roofline_speedup")}' "$W/json")
ok "formats in the summary" [ "$(number formats)" = "$(($(wc -l <"$F") - 1))" ]
ok "steps lead from simulated to measured, or predicted" awk '
  function get(key) {return match($0, "\"" key "\":[-0-9.e+]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0 : 0}
  /"summary"/ || /"simulated_speedup":null/ {next}
  {p = get("simulated_speedup") * get("data sheet") * get("power") * get("launch and tail") * get("quantizing")
   e = get("speedup"); if (/"library":[0-9]/) {p *= get("library"); e = get("measured_speedup")}
   if (p < e * .9999 || p > e * 1.0001) {print "# " p " is not " e ": " $0; bad = 1} n++}
  END {exit bad || n < 80}' "$W/json"
ok "nine files, each with a measured line" [ "$(grep -o '"records":"[^"]*"' "$W/json" | sort -u | wc -l)" = 9 ]
ok "INT4 was measured nowhere" [ "$(grep '"format":"SQ INT8+INT4' "$W/json" | grep -vc '"measured_speedup":null')" = 0 ]
ok "and is predicted where a GPU has it" [ "$(grep -c '"format":"SQ INT8+INT4 s=0.5, 70B"' "$W/json")" = 4 ]

# ---- against the files --------------------------------------------------------------------------
sq compare --joined --json
ok "INT8 2:4 on the A100" near "$(of "INT8 2:4 over INT8" ">=128" '"A100.csv"' measured_speedup)" "$(awk -F, -v OFS=, '$4 == "INT8" && $7 >= 128 {
  k = $7 OFS $8 OFS $9; if ($3 == "dense") d[k] = $10; else s[k] = $10} END {for (k in s) if (k in d) print d[k] / s[k]}' "$D/A100.csv" | geomean)"
ok "INT8 over FP8 on the B200" near "$(of "INT8 over FP8" ">=2048" '"B200.csv"' measured_speedup)" "$(awk -F, -v OFS=, '$3 == "dense" && $7 >= 2048 {
  t[$4, $7 OFS $8 OFS $9] = $11} END {for (i in t) {split(i, x, SUBSEP); if (x[1] == "FP8" && ("INT8", x[2]) in t) print t[i] / t["INT8", x[2]]}}' "$D/B200.csv" | geomean)"
for s in 0.5 0.75 0.875; do
  ok "split of BF16 and FP8, s = $s, on the RTX 4090" near "$(of "SQ BF16+FP8 s=$s" ">=2048" '"RTX4090.csv"' measured_speedup)" "$(awk -F, -v OFS=, -v s=$s '
    $3 == "dense" && $7 >= 2048 {t[$4, $7 OFS $8 OFS $9] = $10}
    END {for (i in t) {split(i, x, SUBSEP); if (x[1] == "BF16" && ("FP8", x[2]) in t) print t[i] / ((1 - s) * t[i] + s * t["FP8", x[2]])}}' "$D/RTX4090.csv" | geomean)"
done

# ---- against run -----------------------------------------------------------------------------------
seconds() { # OPTIONS...: on the accelerator
  "$SQSIM" run --machine "$M/default.yaml" --workload "$SQSIM_HOME/traces/workloads/llama-2-7b_decode_1.csv" "$@" --json | tail -1 | grep -o '"seconds":[^,}]*' | cut -d: -f2
}
ok "GQSA, as run times it" near "$(of "GQSA W4S50 over W4A8" 1 null simulated_speedup | tail -1)" \
  "$(awk -v a="$(seconds --format dense --weight-bits 4 --act-bits 8)" -v b="$(seconds --format gqsa)" 'BEGIN {printf "%.9g", a / b}')"
sq run --explain table10 --json
for paper in $(grep -o '"paper_speedup":[0-9.]*' "$W.out" | cut -d: -f2); do
  ok "Table 10: $paper" grep -q "\"format\":\"SQ INT8+INT4 .*\"paper_speedup\":$paper[,}]" "$W/json"
done

# ---- a made file -----------------------------------------------------------------------------------
# BF16 takes 10 us and 1 us for 100 of K, FP8 8 us and 1 us for 200. The split of K = 4000 with s = 0.5 is two GEMMs of
# 2000: 30 + 18 us, and one kernel of (50 + 28) / 2 us; s = 0.75 needs FP8 at 3000, between two measured.
{ echo gpu,sparsity,dtype_in,dtype_out,M,N,K,lat_us
  for k in 500 1000 2000 4000 8000; do
    echo "RTX4090,dense,BF16,BF16,256,1024,$k,$(awk -v k=$k 'BEGIN {print 10 + k / 100}')"
    echo "RTX4090,dense,FP8,BF16,256,1024,$k,$(awk -v k=$k 'BEGIN {print 8 + k / 200}')"
  done; } >"$W/made.csv"
head -1 "$F" >"$W/one.csv"
{ cat "$W/one.csv"; echo 'half,256,256,,,SQ BF16+FP8 s=0.5,BF16,llama-2-7b_prefill_2048,,,'
  echo 'most,256,256,,,SQ BF16+FP8 s=0.75,BF16,llama-2-7b_prefill_2048,,,'; } >"$W/two.csv"
GPUS=(--gpu made.csv --machine "$M/rtx4090.yaml" --gpu "$D/A100.csv" --machine "$M/a100_pcie_80g.yaml")
accept "a file and a table of my own" compare --joined --json --formats two.csv "${GPUS[@]}"
known() { # SHARE KIND-OF-SUM: over K of 1000, 2000, 4000, 8000 (halves are measured), quarters over 2000, 4000, 8000
  awk -v s="$1" -v way="$2" 'function bf(k) {return 10 + k / 100} function fp(k) {return 8 + k / 200}
    BEGIN {for (k = s == .5 ? 1000 : 2000; k <= 8000; k *= 2)
      print bf(k) / (way == "two" ? bf((1 - s) * k) + fp(s * k) : (1 - s) * bf(k) + s * fp(k))}' | geomean
}
for s in 0.5 0.75; do
  name=$([ $s = 0.5 ] && echo half || echo most)
  ok "$name: in two kernels" near "$(of $name 256 '"made.csv"' two_kernels_speedup)" "$(known $s two)"
  ok "$name: in one" near "$(of $name 256 '"made.csv"' one_kernel_speedup)" "$(known $s one)"
done
ok "no accelerator was asked" [ "$(of half 256 '"made.csv"' simulated_speedup)" = null ]
if command -v gnuplot >/dev/null; then
  accept "--plot" compare --joined --formats two.csv "${GPUS[@]}" --plot p.svg
  ok "a panel for each format" [ "$(grep -c -E '>(half|most)<' "$W/p.svg")" = 2 ]
  rm -f "$W/p.svg"
else
  skip "--plot" "no gnuplot"
fi

# ---- refusals ---------------------------------------------------------------------------------------
row() { { cat "$W/one.csv"; echo "$1"; } >"$W/bad.csv"; }
bad() { row "$2"; refuse "$1" compare --joined --formats bad.csv; }
bad "m_min = '0', need 1..16777216" 'x,0,4,,,INT8,BF16,llama-2-7b_decode_1,,,'
bad "m_max = '3', need m_min or more" 'x,4,3,,,INT8,BF16,llama-2-7b_decode_1,,,'
bad "kernel = 'INT9', no kernel" 'x,1,4,,,INT9,BF16,llama-2-7b_decode_1,,,'
bad "kernel = 'SQ BF16+FP8 s=1'" 'x,1,4,,,SQ BF16+FP8 s=1,BF16,llama-2-7b_decode_1,,,'
bad "base_kernel = 'SQ BF16+FP8 s=0.5', need no split" 'x,1,4,,,INT8,SQ BF16+FP8 s=0.5,llama-2-7b_decode_1,,,'
bad "kernel = 'INT8', and the base" 'x,1,4,,,INT8,,llama-2-7b_decode_1,,,'
bad "format = '', and kernel too" 'x,1,4,,,,,llama-2-7b_decode_1,,,'
bad "format = .--format gsqa., --format = gsqa, need" 'x,1,4,--format gsqa,--format dense,,,llama-2-7b_decode_1,,,'
bad "need options of a format" 'x,1,4,--help --x,--format dense,,,llama-2-7b_decode_1,,,'
bad "need options of a format" 'x,1,4,gqsa,--format dense,,,llama-2-7b_decode_1,,,'
bad "no kernel in gpu/ multiplies" 'x,1,4,--format mxfp4,--format dense,,,llama-2-7b_decode_1,,,'
bad "need the name of a table" 'x,1,4,,,INT8,BF16,../../x,,,'
bad "paper = '-2', need a speedup" 'x,1,4,,,INT8,BF16,llama-2-7b_decode_1,-2,,'
bad "line 2: 3 columns, need 11" 'x,1,4'
cp "$W/made.csv" "$W/bad.csv"
refuse "line 1: need the columns name,m_min" compare --joined --formats bad.csv
refuse "holds no format" compare --joined --formats one.csv
refuse "absent.csv" compare --joined --formats absent.csv
refuse "--formats has no use with --cross" compare --cross --formats one.csv
refuse "need one" compare --cross --joined
refuse "--worst has no use with --joined" compare --joined --worst 3
refuse "one machine, need at least two" compare --joined --gpu "$D/A100.csv" --machine "$M/a100_pcie_80g.yaml"

# ---- the documents -----------------------------------------------------------------------------------
between() { awk -v m="$2" '$0 == "<!-- /" m " -->" {on = 0} on {print} $0 == "<!-- " m " -->" {on = 1}' "$1"; }
(cd "$ROOT" && reports/gpu/joined.sh "$SQSIM" >"$W/table" 2>"$W.err")
ok "reports/gpu has the table (make joined)" cmp "$W/table" <(between "$ROOT/reports/gpu/README.md" papers)
ok "a row for every format that a paper has" [ "$(grep -c '^| [A-Z].* | [0-9.]* | ' "$W/table")" = "$(grep -cE ',[0-9]\.[0-9]+,' "$F")" ]
(cd "$ROOT" && reports/gpu/findings.sh "$SQSIM" >"$W/findings" 2>"$W.err")
ok "five findings" [ "$(grep -c '^\*\*' "$W/findings")" = 5 ]
ok "reports/gpu has them (make gpu-report)" cmp "$W/findings" <(between "$ROOT/reports/gpu/README.md" findings)

# ---- the findings are true ---------------------------------------------------------------------------
cp "$W/json" "$W.out"
TRT=gemm_b200_sxm_trtllm_1.3.0rc20.csv
ok "B200: 2:4 in FP4 slower than dense" less "$(of "NVFP4 2:4 over NVFP4" ">=2048" '"B200.csv"' measured_speedup)" 1
for kind in BF16 FP8; do
  ok "B200: 2:4 in $kind faster" less 1 "$(of "$kind 2:4 over $kind" ">=2048" '"B200.csv"' measured_speedup)"
done
ok "B200: dense INT8 slower than FP8" less "$(of "INT8 over FP8" ">=2048" '"B200.csv"' measured_speedup)" 0.5
ok "B200: and than BF16" less "$(of "INT8 over BF16" ">=128" '"B200.csv"' measured_speedup)" 1
ok "RTX 4090: faster than FP8" less 1 "$(of "INT8 over FP8" ">=2048" '"RTX4090.csv"' measured_speedup)"
ok "B200: INT8 2:4 gains more than zeros can" less 2 "$(of "INT8 2:4 over INT8" ">=2048" '"B200.csv"' measured_speedup)"
while read -r s paper; do
  for file in RTX4090 B200; do
    ok "$file: kernels alone reach $paper within 3 %" less "$(awk -v p="$paper" 'BEGIN {print p * .97}')" "$(of "SQ BF16+FP8 s=$s" ">=2048" "\"$file.csv\"" measured_speedup)"
  done
  ok "layers of a framework do not, s = $s" less "$(of "SQ BF16+FP8 s=$s" ">=2048" "\"$TRT\"" measured_speedup)" "$(awk -v p="$paper" 'BEGIN {print p * .85}')"
done <<<"0.5 1.32
0.75 1.56
0.875 1.71"
for file in gemm_a100_sxm_trtllm_1.0.0.csv gemm_h200_sxm_trtllm_1.2.0rc5.csv gemm_l40s_trtllm_1.0.0.csv; do
  ok "$file: W4A16 pays for one token more than for many" less "$(of "W4A16 over BF16" ">=128" "\"$file\"" measured_speedup)" "$(of "W4A16 over BF16" 1 "\"$file\"" measured_speedup)"
done
finish
