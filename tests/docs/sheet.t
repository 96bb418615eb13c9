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
"$F/sheet.sh" results >"$W/results.md"
ok "the first table of README.md is what reports/ say (make results)" reports/area/page.sh --check "$W/results.md" README.md
ok "... nine rows, in each the stored bits, KL with its interval, and RTL that agrees" [ "$(grep -cE '^[|] [^|]+ [|] [0-9.]+ [|] [0-9.]+ \[[0-9.]+, [0-9.]+\] [|].* 0 of [0-9]{5,} [|]$' README.md)" = 9 ]
ok "... its verdict has its figures" grep -qE 'has 0\.[0-9]+ \[.*times the KL of `nvfp4`' README.md
ok "... and the GPU three" grep -qE 'in BF16 is [0-9.]+, [0-9.]+, [0-9.]+$' README.md
ok "sheet.md is what sheet.csv says" cmp <(awk -f "$F/sheet.awk" "$F/sheet.csv") <(sed -n '/^| format/,$p' "$F/sheet.md")
finish
