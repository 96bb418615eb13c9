#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The sheet of all formats (make sheet): every format of the program is on it, every name in sheet.txt leads to a figure, a
# missing figure is a dash with its reason, and the committed page is what the program and its sources say now.
. "$(dirname "$0")/../cli/lib.sh"
F=$ROOT/reports/formats
cd "$ROOT" || exit 1

# ---- the page from figures alone ----------------------------------------------------------------
head=$(grep -m1 '^format,' "$F/sheet.csv")
toy() { # COLUMN=VALUE...: a row
  awk -F, -v given="$*" 'NR == 1 {n = split(given, g, ";"); for (i = 1; i <= n; i++) {split(g[i], p, "="); v[p[1]] = p[2]}
    for (i = 1; i <= NF; i++) printf("%s%s", (i > 1 ? "," : ""), v[$i]); print ""}' <<<"$head"
}
{ echo "# test"; echo "$head"
  toy "format=whole;tiny_weight_bits=4.5;tiny_loss=1.25;tiny_kl=.1;tiny_kl_low=.05;tiny_kl_high=.2;tiny_act_bits=8;prefill_cycles=2500000;decode_cycles=100000;prefill_gpu_s=.0125;decode_gpu_s=.001;pe_nangate45=3000;array_nangate45=>4000;engine_nangate45=500.4;joined=1.5;joined_gpu=1.25 to 1.75;joined_paper=1.75;paper_more=.1"
  toy "format=bare;prefill_cycles=1;decode_cycles=1;prefill_gpu_s=1;decode_gpu_s=1;area_from=- nobody built it"; } >"$W/toy.csv"
awk -f "$F/sheet.awk" "$W/toy.csv" >"$W.out"
ok "the page is made" [ $? = 0 ]
cell() { grep "^| $1 |" "$W.out" | cut -d'|' -f"$2" | sed 's/^ *//; s/ *$//'; }
is() { ok "$1, cell $2: $3" [ "$(cell "$1" "$2")" = "$3" ]; }
is whole 3 4.50
is whole 4 1.2500
is whole 5 "0.1000 [0.0500, 0.2000]"
is whole 8 -
is whole 12 8
is whole 13 2.50
is whole 15 12.5
is whole 18 "at least 4000"
is whole 19 -
is whole 21 500
is whole 22 -
is whole 24 "1.25 to 1.75"
is whole 25 1.75
is bare 4 -
is bare 17 -
ok "a loss that is missing is named" grep -q '^\* tiny-llama: not measured for bare\.$' "$W.out"
ok "and so on" grep -q '^\* SmolLM2: not measured for whole; bare\.$' "$W.out"
ok "an area that is missing has its reason" grep -q '^\* area: nobody built it: bare\.$' "$W.out"
ok "as many cells in each row" [ "$(grep '^|' "$W.out" | awk -F'|' '{print NF}' | sort -u | wc -l)" = 1 ]

# ---- every name leads somewhere -----------------------------------------------------------------
grep -v '^#' "$F/sheet.txt" | sed 's/ *| */|/g' >"$W/rows"
ok "every format of the program has a row" diff <(cut -d'|' -f4 "$W/rows" | cut -d' ' -f1 | sort -u) \
  <("$SQSIM" run --complete | awk -F '\t' '$1 == "--format" {print $3}' | tr ' ' '\n' | sort)
lost=
while IFS='|' read -r label variant small run from row paper engine; do
  [ "$variant" = reference ] || grep -qF "$variant${small:+ $small}," "$F/kl-tiny-llama.csv" || lost+=" $label: variant;"
  [ "${from%% *}" = - ] || awk -F, -v l="$label" '$1 == l && $(NF - 8) $(NF - 6) == "" {exit 1}' <(grep -v '^#' "$F/sheet.csv") || lost+=" $label: area;"
  [ -z "$engine" ] || grep -q "^$engine,nangate45," reports/area/engines.csv || lost+=" $label: $engine;"
  [ -z "$row" ] || grep -qF "| $row |" reports/gpu/README.md || lost+=" $label: $row;"
  [ -z "$paper" ] || grep -qF "Llama-3-8B,$paper," "$F/paper.csv" || lost+=" $label: $paper;"
done <"$W/rows"
ok "variants, areas, rows of make joined and lines of the paper are there$lost" [ -z "$lost" ]

# ---- the committed page -------------------------------------------------------------------------
at() { awk -F, -v f="$1" -v c="$2" '/^#/ {next} !n {n = NF; for (i = 1; i <= NF; i++) if ($i == c) k = i; next} $1 == f {print $k}' "$F/sheet.csv"; }
sq run --machine "$ROOT/sim/machines/server64.yaml" --workload "$ROOT/traces/workloads/llama-3-8b_prefill_2048.csv" --format nvfp4 --json
ok "cycles are those of run" [ "$(at NVFP4 prefill_cycles)" = "$(number cycles)" ]
ok "KL is that of smollm2.csv" [ "$(at W4A4 smollm2_kl)" = "$(awk -F, '$1 == "dense weight-bits=4 act-bits=4" {print $7}' reports/accuracy/smollm2.csv)" ]
"$F/sheet.sh" "$SQSIM" >"$W/now.csv"
ok "sheet.csv is what its sources and the program say (make sheet)" cmp <(grep -v '^#' "$F/sheet.csv") "$W/now.csv"
row() { awk -F, -v f="$1" -v c="$2" '/^#/ {next} !n {n = NF; for (i = 1; i <= NF; i++) if ($i == c) k = i; next} index($3, f) == 1 {print $k; exit}' "$F/row.csv"; }
"$F/sheet.sh" results >"$W/results.md"
ok "the first table of README.md is what reports/ say (make results)" reports/area/page.sh --check "$W/results.md" README.md
rows=$(grep -vc '^#' "$F/row.txt")
ok "... a row for each of row.txt, at most eight" [ "$(grep -cE '^[|] `[^|]+ [|] [0-9.]+ [|] [0-9.]+ [|] (1|[0-9.]+ \[[0-9.]+, [0-9.]+\]) [|] [0-9]+x[0-9]+x[0-9]+ [|] [0-9.]+ [|]' README.md)" = "$rows" -a "$rows" -le 8 ]
awk -F' *[|] *' '/table: results/ {on = 1} on && $12 ~ /^[0-9]+$/ {print $12} on && /end -->/ {exit}' README.md >"$W/order"
ok "... sorted by ms x mm2" [ "$(sort -n "$W/order")" = "$(head -n "$rows" "$W/order")" ]
ok "... and the table by clock in reports/formats is that of row.csv" reports/area/page.sh --check "$W/results.md" "$F/README.md"
ok "... whose KL is that of the claims' page" [ "$(awk -F, '$1 == "nvint4 algorithm=gptq" {printf "%.4f", $7}' reports/accuracy/smollm2_claims.csv)" = "$(row '`nvint4`' kl)" ]
ok "... its verdict has its figures" grep -qE 'has 0\.[0-9]+ \[.*times the KL of `nvfp4`' README.md
ok "... and the GPU three" grep -qE 'in BF16 is 1\.19, 1\.38, 1\.50$' README.md
near0() { [ "$1,$2" = 0.0,0 ] || [ "$1,$2" = 0.0,0.0 ] || near "$@"; }
# ---- one row, one design (row.csv) -----------------------------------------------------------------
near() { awk -v a="$1" -v b="$2" -v by="${3:-1e-9}" 'BEGIN {d = a - b; exit !(a != "" && b > 0 && (d < 0 ? -d : d) <= by * b)}' || { echo "# '$1' is not '$2'"; return 1; }; }
ok "row.csv: clock, area, parts of the time, tokens and ms x mm2 of a row belong together; silicon is filled to within 3 %" awk -F, -v rows="$rows" '
  /^#/ {next} !n {n = NF; for (i = 1; i <= NF; i++) at[$i] = i; next}
  function v(c) {return $at[c]} function is(a, b) {if (a < b * .999999999 || a > b * 1.000000001) {print "# " $1 " " $3 ": " a " is not " b; bad = 1}}
  {seen++; is(v("mm2"), v("pe_mm2") + v("line_mm2") + v("second_mm2") + v("output_mm2") + v("sram_mm2") + v("vector_mm2")); bad = bad || v("filled") > 1 || v("filled") < .97
   if (v("meets") == 0) next
   bad = bad || v("netlist_ns") > v("period_ns") || !(v("vector_ghz") > 0); is(v("ms_mm2"), v("ms") * v("mm2"))
   is(v("ms"), v("linear_ms") + v("head_ms") + v("attention_ms") + v("vector_ms") + v("memory_ms")); is(v("tokens_per_second"), 1000 * v("batch") / v("ms"))}
  END {exit bad || seen != 6 * rows}' "$F/row.csv"
# The PEs of two rows as a machine has them, at their clock: linear layers and vector unit of `run` without any synthesis.
for of in '`dense`; W4A8' '`nvfp4`'; do
  name=${of//\`/} name=${name%%;*} lanes=$(row "$of" low_lanes) bits=$([ "$name" = nvfp4 ] && echo 16 || echo 32)
  sed "s/^clock: .*/clock: $(awk -v ns="$(row "$of" period_ns)" 'BEGIN {printf "%.12f", 1000 / ns}') MHz/; s/^  lanes: .*/&\n  clock: $(row "$of" vector_ghz) GHz/" "$ROOT/sim/machines/default.yaml" >"$W/row.yaml"
  sq run llama-3-8b --phase decode --batch 8 --context 2048 --kv-format int8 --machine row.yaml --format "$name" --rows "$(row "$of" rows)" --cols "$(row "$of" cols)" \
    --low-lanes $((lanes * bits / 32 - 2)) --high-lanes 1 --json
  for part in linear vector; do
    ok "$name: $part" near "$(grep "\"part\":\"$part\"" "$W.out" | grep -o '"ms":[^,]*' | cut -d: -f2)" "$(row "$of" ${part}_ms)"
  done
done
LIB=$DATA/liberty/sg13g2_stdcell_typ_1p20V_25C.lib
if ! command -v yosys >/dev/null || [ ! -f "$LIB" ]; then
  skip "two rows by their command" "no yosys, or no $LIB"
elif daily "two rows of README.md, every figure by their command, at this revision"; then # 150 s of the processor; with the netlists in build/synth none
  sq run llama-3-8b --phase decode --batch 8 --context 2048 --kv-format int8 --head-format dense:weight-bits=8 --format dense --and dense:weight-bits=8 --liberty "$LIB" --period 12ns \
    --sram-area "$DATA/liberty/sram_sg13g2" --energy "$F/row_energy.jsonl" --kv-energy "$F/row_energy.jsonl" --head-energy "$F/row_energy.jsonl" --json
  for of in 4 8; do
    for c in netlist_ns filled pe_mm2 second_mm2 output_mm2 sram_mm2 vector_mm2 vector_clock_ghz=vector_ghz mm2 ms linear_ms attention_ms tokens_per_second ttft_ms \
      energy_low_j_per_token=low_j energy_high_j_per_token=high_j ms_mm2; do
      ok "W${of}A8: $c" near0 "$(grep "\"weight_bits\":$of," "$W.out" | grep -o "\"${c%=*}\":[^,}]*" | cut -d: -f2)" "$(row "\`dense\`; W${of}A8" "${c#*=}")" 1e-6
    done
  done
fi
ok "row.csv: who adds exactly" [ "$(awk -F, '/exact$/ {print $3}' "$F/row.csv" | sort -u | tr -d '\n')" = '`nvfp4``nvint4`' ]
# PEs of which both sums are built: the row takes the exact one.
ok "the exact sum is smaller and faster in each library of scaled.csv" awk -F, '$1 ~ /^pe_nvfp4(_fixed)?$/ {um2[$1, $2] = $3; ns[$1, $2] = $4; l[$2]}
  END {for (x in l) {n++; bad = bad || um2["pe_nvfp4_fixed", x] >= um2["pe_nvfp4", x] || ns["pe_nvfp4_fixed", x] >= ns["pe_nvfp4", x]} exit bad || n < 5}' reports/area/scaled.csv
ok "sheet.md is what sheet.csv says" cmp <(awk -f "$F/sheet.awk" "$F/sheet.csv") <(sed -n '/^| format/,$p' "$F/sheet.md")
finish
