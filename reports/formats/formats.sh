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

echo "<!-- make formats: formats.sh; $("$SQSIM" --version | head -1); revision $(git describe --always --dirty 2>/dev/null || echo unknown) -->"

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
formats=("dense --weight-bits 16 --act-bits 16" "dense --weight-bits 8" "dense --weight-bits 6" "dense --weight-bits 4" "dense --weight-bits 2"
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

# ---- balance ----------------------------------------------------------------------------------
all_layers() { # WORKERS: the sum over the layers of GQSA
  "$SQSIM" schedule "$work/gqsa.st" --workers "$1" | grep '^all layers'
}
for f in gqsa spqt spqr; do
  "$SQSIM" quantize --format $f --output "$work/$f.st" >/dev/null
  printf '\n## Balance of %s on tiny-llama, 16 workers\n\n```text\n' $f
  "$SQSIM" schedule "$work/$f.st" --workers 16
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
