#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# rank.sh SQSIM MODEL SEQUENCES FORMAT...: formats and descriptions (docs/describe.md) beside each other, by KL: a table of stored bits,
# KL of MODEL with its 95 % interval, um2 of the PE and of the decoder of a line for each weight that enters in a cycle, in the library of the
# program, and ms of one token of Llama-3-8B's layers on sim/machines/default.yaml. What has no PE of its own has none in the table.
set -euo pipefail
sqsim=$1 model=$2 sequences=$3; shift 3
here=$(dirname "$(readlink -f "$0")") home=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
take() { awk -v keys="$1" -f "$here/../area/fields.awk" | tail -1; }
row() { # FORMAT
  local loss interval time pe line units
  loss=$("$sqsim" eval "$model" --format "$1" --sequences "$sequences" --summary --json 2>/dev/null | tail -1)
  interval=$(grep -o '"kl_mean_95":\[[^]]*\]' <<<"$loss" | tr -d '"[]' | cut -d: -f2)
  time=$("$sqsim" run --machine "$home/sim/machines/default.yaml" --workload "$home/traces/workloads/llama-3-8b_decode_1.csv" --format "$1" --json | tail -1 | take seconds)
  units=$("$sqsim" area --units-of "$1" --rows 1 --cols 1 --json 2>/dev/null) || units=
  pe=$(grep '"block":"pe_' <<<"$units" | take um2_per_weight_cycle || true)
  line=$(grep '"block":"line_' <<<"$units" | take um2_per_weight_cycle || true)
  awk -v f="$1" -v loss="$(take stored_bits_per_weight,kl_mean <<<"$loss")" -v i="$interval" -v t="$time" -v pe="$pe" -v line="$line" 'BEGIN {
    split(loss, l, ","); split(i, c, ","); sub(/.*\//, "", f)
    printf "%.6f\t| %s | %.4f | %.5f | %.5f .. %.5f | %s | %s | %.2f |\n", l[2], f, l[1], l[2], c[1], c[2],
      pe == "" ? "-" : sprintf("%.0f", pe), line == "" ? "-" : sprintf("%.0f", line), 1000 * t }'
}
echo "| format | stored bits | KL | 95 % | PE um2/(w/c) | line um2/(w/c) | ms a token |"
echo "|---|---|---|---|---|---|---|"
for f; do row "$f"; done | sort -n | cut -f2-
