#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes every table of this folder from the config of its model: traces/workloads/make.sh [FOLDER]
set -eu
here=$(dirname "$0")
to=${1:-$here}
sqsim=${SQSIM:-$here/../../build/sqsim}
for config in "$here"/*.json; do
    model=$(basename "$config" .json)
    "$sqsim" inspect --gemms "$config" --phase prefill --seq 2048 -o "$to/${model}_prefill_2048.csv"
    for batch in 1 32; do
        "$sqsim" inspect --gemms "$config" --phase decode --batch $batch -o "$to/${model}_decode_$batch.csv"
    done
done
"$sqsim" inspect --gemms "$here/qwen3-30b-a3b.json" --phase decode --batch 32 --routing skewed \
    -o "$to/qwen3-30b-a3b_decode_32_skewed.csv"
