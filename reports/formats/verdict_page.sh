#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# verdict_page.sh [CYCLES]: verdict.md from what is measured: a section for each library that has a column (verdict_area.csv), and the
# cycles, as verdict.sh printed them into CYCLES; without it, those of the page. LISTS=3: what beats what at each shape, in each library.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
f=reports/formats energy=reports/energy/energy.csv
[ -f $energy ] || energy=
printf '# The verdict\n\nBy the rule of [RULE.md](RULE.md). Areas: %s; KL: %s (SmolLM2), %s (tiny-llama), %s (Gemma-3-270M).\n' \
  "$(head -1 reports/area/scaled.csv | sed 's/^# //')" "$(sed -n '1s/^# kl_grid: \(.*\), inputs.*/\1/p' $f/verdict_smollm2.csv)" \
  "$(sed -n '1s/^# kl_grid: \(.*\), inputs.*/\1/p' $f/verdict_tiny.csv)" \
  "$(sed -n '1s/^# kl_grid: \(.*\), inputs.*/\1/p' $f/verdict_gemma3.csv)"
printf '\n`make verdict-page` draws KL against um2 a product into `verdict.svg`. The list of what beats what is that of 32 rows in the first library;\n'
printf '`LISTS=3 reports/formats/verdict_page.sh` prints those of each shape in each library. The main rows are compared at each.\n'
lists=${LISTS:-1}
for library in $(sed -n 's/^array_nvint4_a_1x2,\([^,]*\),.*/\1/p' $f/verdict_area.csv); do
  printf '\n## %s\n' "$library"
  awk -v library="$library" -v lists="$lists" -v clocks=$f/verdict_clock.csv -v energy=$energy -f $f/verdict.awk reports/area/scaled.csv $f/verdict_area.csv $f/verdict.txt $f/verdict_smollm2.csv $f/verdict_tiny.csv $f/verdict_gemma3.csv
  lists=${LISTS:-0}
done
printf '\n## Weights, and both sides\n\nKL of the weights in the format, and of weights and activations, round to nearest. No verdict: the areas above are of PEs whose weights are INT4.\n'
awk -v side=1 -f $f/verdict.awk reports/area/scaled.csv $f/verdict_area.csv $f/verdict.txt $f/verdict_smollm2.csv $f/verdict_tiny.csv
printf '\n## Cycles\n\nLlama-3-8B, prefill of 2048 tokens and decode of one, on arrays of equal products a cycle.\n\n'
if [ -n "${1:-}" ]; then cat "$1"; else sed -n '/^| activations in | 32 rows, prefill/,$p' $f/verdict.md; fi
