#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a DRAM that keeps time costs against bandwidth and latency alone: timing.sh SQSIM [CSV], lines
# of a device and a workload with ideal and timed cycles of each format as CSV (standard output), and with CSV the page of them.
# The machine is sim/machines/edge4.yaml, or the chip sim/machines/chip16.yaml, with the device; ideal: the device's peak (to .1 GB/s), the
# latency of a closed bank, its bursts. No cycles: the chip, or its array, does not run the format.
# timing.sh SQSIM queues: lines "device,outstanding,queue,cycles,rows", a layer on the chip with so many bursts of the DMA under way and so
# deep a queue of each bank; rows: share of the clocks of the data bus in which rows were opened or closed.
set -euo pipefail
sqsim=$(readlink -f "$1")
export SQSIM_HOME=${SQSIM_HOME:-$(readlink -f "$(dirname "$0")/../..")}
devices=${DEVICES:-"ddr4-2400 ddr5-4800 lpddr5-6400 hbm3 gddr6-14"}
formats="dense nvfp4 mxfp4 mxint8 sq_b sp24 gqsa spqt"

if [ $# = 2 ] && [ "$2" != queues ]; then
  awk -F, '
    /^#/ { next }
    $1 == "device" {
      printf "| device | workload |"; for (i = 3; i <= NF; i += 2) { name[i] = $i; printf " %s |", $i }
      printf " ranking |\n|---|---|"; for (i = 3; i <= NF + 2; i += 2) printf "---|"; print ""; next
    }
    {
      swaps = ""
      printf "| %s | %s |", $1, $2
      for (i = 3; i <= NF; i += 2) if ($(i + 1)) printf " %.1f %% |", 100 * ($(i + 1) / $i - 1); else printf " - |"
      for (i = 3; i <= NF; i += 2) for (j = 3; j <= NF; j += 2)
        if ($(j + 1) && $i < $j && $(i + 1) > $(j + 1)) swaps = swaps (swaps ? ", " : "") name[j] " before " name[i]
      printf " %s |\n", swaps ? swaps : "the same"
    }' "$2"
  exit
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The layers of a decode of Llama-3-8B; of a prefill of 256 tokens the largest, its cycles stand for all.
# On the chip a layer of 4096 x 1024 elements, of 8 tokens and of 128.
declare -A shapes=([decode]="--workload $SQSIM_HOME/traces/workloads/llama-3-8b_decode_1.csv" [prefill]="--m 256 --n 14336 --k 4096"
  [chip-decode]="--m 8 --n 1024 --k 4096" [chip-prefill]="--m 128 --n 1024 --k 4096")
cycles() { # MACHINE SHAPES FORMAT
  if "$sqsim" run --machine "$1" ${shapes[$2]} --format "$3" --json >"$work/out" 2>"$work/err"; then
    tail -1 "$work/out" | grep -o '"cycles":[0-9]*' | cut -d: -f2
  else
    grep -qE 'the chip does not|need one column of PEs' "$work/err" || { cat "$work/err" >&2; return 1; }
  fi
}
machine() { # BASE KEY...: base.yaml with that DRAM
  sed '/^dram:/,/^  burst/d' "$SQSIM_HOME/sim/machines/$1.yaml"
  shift
  printf '%s\n' dram: "${@/#/  }"
}

if [ "${2:-}" = queues ]; then
  echo "device,outstanding,queue,cycles,rows"
  for device in ddr4-2400 lpddr5-6400; do
    for outstanding in 2 4 8 16; do
      for queue in 1 2 4 8 16; do
        machine chip16 "device: $device" "queue: $queue" | sed "s/outstanding: .*/outstanding: $outstanding/" >"$work/queue.yaml"
        "$sqsim" run --machine "$work/queue.yaml" --m 8 --n 1024 --k 1024 --format nvfp4 --json >"$work/out"
        tail -1 "$work/out" | awk -v row="$device,$outstanding,$queue" '{
          match($0, /"cycles":[0-9]+/); cycles = substr($0, RSTART + 9, RLENGTH - 9)
          match($0, /"dram_clocks":[{][^}]*/); n = split(substr($0, RSTART + 15, RLENGTH - 15), part, /[:,]/)
          for (i = 2; i <= n; i += 2) { sum += part[i]; if (part[i - 1] == "\"rows\"") rows = part[i] }
          printf "%s,%d,%.5f\n", row, cycles, rows / sum }'
      done
    done
  done
  exit
fi
printf 'device,workload'; printf ',%s,timed' $formats; echo
for device in $devices; do
  channels=1
  [ "$device" != hbm3 ] || channels=4
  "$sqsim" run --device "$device" --channels $channels --refresh none --json >"$work/device"
  peak=$(tail -1 "$work/device" | grep -o '"peak_bytes_per_second":[0-9.]*' | cut -d: -f2)
  ns=$(grep -m1 '"closed bank"' "$work/device" | grep -o '"ns":[0-9.]*' | cut -d: -f2)
  burst=64
  case $device in lpddr5-6400 | hbm3 | gddr6-14) burst=32 ;; esac
  peak=$(awk "BEGIN {printf \"%.1f\", $peak / 1e9}")
  for workload in decode prefill chip-decode chip-prefill; do
    base=edge4
    [[ $workload != chip-* ]] || base=chip16
    machine $base "device: $device" "channels: $channels" >"$work/timed.yaml"
    machine $base "bandwidth: $peak GB/s" "latency: $ns ns" "burst: $burst B" >"$work/ideal.yaml"
    printf '%s,%s' "$device" "$workload"
    for format in $formats; do
      for memory in ideal timed; do
        n=$(cycles "$work/$memory.yaml" $workload $format)
        printf ',%s' "$n"
      done
    done
    echo
  done
done
