#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a DRAM that keeps time costs against bandwidth and latency alone: timing.sh SQSIM [CSV], lines
# "device,workload,format,ideal cycles,timed cycles" to CSV (standard output), and with CSV the page of them.
# The machine is sim/machines/edge4.yaml with the device; ideal: the device's peak, the latency of a closed bank, its bursts.
set -euo pipefail
sqsim=$(readlink -f "$1")
export SQSIM_HOME=${SQSIM_HOME:-$(readlink -f "$(dirname "$0")/../..")}
devices="ddr4-2400 ddr5-4800 lpddr5-6400 hbm3 gddr6-14"
formats="dense nvfp4 mxfp4 mxint8 sq_b sp24 gqsa spqt"

if [ $# = 2 ]; then
  awk -F, '
    NR == 1 || /^#/ { next }
    { key = $1 "," $2; if (!(key in n)) order[++keys] = key
      i = ++n[key]; name[key, i] = $3; ideal[key, i] = $4; timed[key, i] = $5 }
    END {
      printf "| device | workload |"; for (i = 1; i <= n[order[1]]; i++) printf " %s |", name[order[1], i]
      printf " ranking |\n|---|---|"; for (i = 0; i <= n[order[1]]; i++) printf "---|"; print ""
      for (k = 1; k <= keys; k++) {
        key = order[k]; split(key, part, ","); swaps = ""
        printf "| %s | %s |", part[1], part[2]
        for (i = 1; i <= n[key]; i++) printf " %.1f %% |", 100 * (timed[key, i] / ideal[key, i] - 1)
        for (i = 1; i <= n[key]; i++) for (j = 1; j <= n[key]; j++)
          if (ideal[key, i] < ideal[key, j] && timed[key, i] > timed[key, j])
            swaps = swaps (swaps ? ", " : "") name[key, j] " before " name[key, i]
        printf " %s |\n", swaps ? swaps : "the same"
      }
    }' "$2"
  exit
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The layers of a decode of Llama-3-8B; of a prefill of 256 tokens the largest, its cycles stand for all.
declare -A shapes=([decode]="--workload $SQSIM_HOME/traces/workloads/llama-3-8b_decode_1.csv" [prefill]="--m 256 --n 14336 --k 4096")
cycles() { # MACHINE SHAPES FORMAT
  "$sqsim" run --machine "$1" ${shapes[$2]} --format "$3" --json 2>"$work/err" | tail -1 | grep -o '"cycles":[0-9]*' | cut -d: -f2
}
echo "device,workload,format,ideal,timed"
for device in $devices; do
  channels=1
  [ "$device" != hbm3 ] || channels=4
  for kind in timed ideal; do sed '/^dram:/,/^  burst/d' "$SQSIM_HOME/sim/machines/edge4.yaml" >"$work/$kind.yaml"; done
  printf 'dram:\n  device: %s\n  channels: %s\n' "$device" $channels >>"$work/timed.yaml"
  "$sqsim" run --device "$device" --channels $channels --refresh none --json >"$work/device"
  peak=$(tail -1 "$work/device" | grep -o '"peak_bytes_per_second":[0-9.]*' | cut -d: -f2)
  ns=$(grep -m1 '"closed bank"' "$work/device" | grep -o '"ns":[0-9.]*' | cut -d: -f2)
  burst=64
  case $device in lpddr5-6400 | hbm3 | gddr6-14) burst=32 ;; esac
  printf 'dram:\n  bandwidth: %s kB/s\n  latency: %s ns\n  burst: %s B\n' "$(awk "BEGIN {printf \"%.0f\", $peak / 1000}")" "$ns" $burst >>"$work/ideal.yaml"
  for workload in decode prefill; do
    for format in $formats; do
      echo "$device,$workload,$format,$(cycles "$work/ideal.yaml" $workload $format),$(cycles "$work/timed.yaml" $workload $format)"
    done
  done
done
