#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The tables of reports/formats, from the CSV files beside it and from SQSIM: formats.sh SQSIM
set -euo pipefail
SQSIM=$(readlink -f "$1")
HERE=$(dirname "$(readlink -f "$0")")
ROOT=$HERE/../..
export SQSIM_HOME=${SQSIM_HOME:-$ROOT}
cd "$ROOT"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

number() { # KEY: its value in the last line of stdin, a JSON object
  tail -1 | sed -n "s/.*\"$1\":\([-0-9.e+]*\).*/\1/p"
}
table() { # HEAD...: the head of a Markdown table
  local IFS='|'
  printf '|%s|\n|' "$*"
  printf -- '---|%.0s' "$@"
  printf '\n'
}

echo "<!-- make formats: formats.sh; $("$SQSIM" --version | head -1); revision $(reports/revision.sh) -->"

# ---- accuracy ---------------------------------------------------------------------------------
for csv in tiny-llama stories260k opt-125m-profile; do
  [ -f "$HERE/$csv.csv" ] || continue
  printf '\n## Accuracy on %s\n\n%s\n\n' "$csv" "$([ $csv = opt-125m-profile ] &&
    echo 'Relative output error of synthetic layers under a real outlier profile.' ||
    echo 'Nats per token over all evaluation tokens.')"
  table "about" format weights activations "stored bits" value
  awk -F, '!/^#/ && $1 != "class" {printf "|%s|%s|%s|%s|%s|%.4f|\n", $1 == "-" ? "" : $1 " bits", $2, $3, $4, $5, $6}' "$HERE/$csv.csv"
done

# ---- cycles and bytes -------------------------------------------------------------------------
formats=("dense --weight-bits 16 --act-bits 16 --group row" "dense --weight-bits 8" "dense --weight-bits 6" "dense --weight-bits 4" "dense --weight-bits 2"
  "sq_w --bank 32 --sparsity 0.75" "sq_a_static --weight-bits 4 --sparsity 0.75" "sq_a_dynamic --weight-bits 4 --sparsity 0.75"
  "sp24" "gqsa --sparsity 0.5 --group 16" "gqsa --sparsity 0.5 --group 16 --act-bits 16"
  "spqt --sparsity 0.5 --act-bits 16" "spqr --outliers 0.01 --act-bits 16")
for machine in default server64; do
  for phase in prefill_2048 decode_1 decode_32; do
    printf '\n## Machine %s, %s: milliseconds (bound)\n\n' "$machine" "$phase"
    table "format" llama-2-7b llama-3-8b llama-3-70b
    for f in "${formats[@]}"; do
      row="|$f|"
      for model in llama-2-7b llama-3-8b llama-3-70b; do
        # shellcheck disable=SC2086
        "$SQSIM" run --machine "sim/machines/$machine.yaml" --workload "traces/workloads/${model}_$phase.csv" \
          --format $f --json >"$work/run"
        row+="$(number seconds <"$work/run" | awk '{printf "%.4g", 1e3 * $1}')"
        row+=" ($(tail -1 "$work/run" | sed -n 's/.*"bound":"\([a-z]*\)".*/\1/p'))|"
      done
      echo "$row"
    done
  done
done

# ---- a GPU ------------------------------------------------------------------------------------
gpu=h200
models=(llama-2-7b llama-3-8b llama-3-70b)
records=$("$ROOT/reports/gpu/records.sh" "$SQSIM" "sim/machines/$gpu.yaml")
for phase in prefill_2048 decode_1; do
  printf '\n## GPU %s, %s: milliseconds predicted by its model, and measured\n\n' $gpu $phase
  table "format" $(printf '%s measured ' "${models[@]}")
  for f in "${formats[@]}"; do
    row="|$f|"
    for model in "${models[@]}"; do
      # shellcheck disable=SC2086
      "$SQSIM" run --machine "sim/machines/$gpu.yaml" --workload "traces/workloads/${model}_$phase.csv" \
        --format $f ${records:+--records "$records"} --json >"$work/run"
      for key in seconds measured_seconds; do
        value=$(number $key <"$work/run")
        row+="$([ -n "$value" ] && awk -v v="$value" 'BEGIN {printf "%.4g", 1e3 * v}' || echo 'not measured')|"
      done
    done
    echo "$row"
  done
done

# ---- layouts and schedules of SpQt ------------------------------------------------------------
spqt() { # OPTIONS...: one token, Llama-2-7B, default machine
  "$SQSIM" run --machine sim/machines/default.yaml --workload traces/workloads/llama-2-7b_decode_1.csv \
    --format spqt --act-bits 16 --json "$@" >"$work/run"
}
weights() { awk -v l="$(number lo <"$work/run")" -v s="$(number scale <"$work/run")" 'BEGIN {printf "%.0f", l + s}'; }
printf '\n## SpQt, one token through Llama-2-7B on machine default\n\n'
table "sparsity" "zigzag GB" "row GB" "zigzag share" "row share" "zigzag ms" "row ms" "index unit, cycles" \
  "busy, balanced" "busy, static slices"
spqt --sparsity 0
all=$(weights)
for s in 0 0.25 0.4 0.5 0.65 0.9 0.99; do
  spqt --sparsity $s --layout row
  row=$(weights) row_s=$(number seconds <"$work/run")
  spqt --sparsity $s --schedule static
  static=$(number busy <"$work/run")
  spqt --sparsity $s
  awk -v s=$s -v z="$(weights)" -v r="$row" -v all="$all" -v zs="$(number seconds <"$work/run")" -v rs="$row_s" \
    -v i="$(number index <"$work/run")" -v b="$(number busy <"$work/run")" -v st="$static" 'BEGIN {
    printf "|%s|%.3f|%.3f|%.3f|%.3f|%.2f|%.2f|%d|%d|%d|\n", s, z / 1e9, r / 1e9, z / all, r / all, 1e3 * zs, 1e3 * rs, i, b, st}'
done

# ---- balance ----------------------------------------------------------------------------------
all_layers() { # WORKERS: the sum over the layers of GQSA
  "$SQSIM" run --share "$work/gqsa.st" --workers "$1" | grep '^all layers'
}
for f in gqsa spqt spqr; do
  "$SQSIM" quantize --format $f --output "$work/$f.st" >/dev/null
  printf '\n## Balance of %s on tiny-llama, 16 workers\n\n```text\n' $f
  "$SQSIM" run --share "$work/$f.st" --workers 16
  printf '```\n'
done
printf '\n## GQSA with other numbers of workers\n\n```text\n'
for p in 8 16 32 64; do printf '%2d workers  %s\n' $p "$(all_layers $p)"; done
printf '```\n'

# ---- silicon ----------------------------------------------------------------------------------
if command -v yosys >/dev/null; then
  printf '\n## Decode hardware, osu018\n\n```text\n'
  "$SQSIM" area --block gather --bank 32 --block topk_rank_b32 --block topk_radix_b32 --block meta24 \
    --block gqsa_walk --block spqt_idx --block spqr_dec
  printf '```\n'
fi
