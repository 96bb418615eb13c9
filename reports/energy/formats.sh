#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# formats.sh SQSIM FOLDER LIBERTY...: FOLDER/LIBRARY.jsonl of every library, what sqsim energy --json prints
# for a layer of the embedded model in each format of formats.txt: tables for sqsim run --energy.
set -euo pipefail
sqsim=$1 folder=$2; shift 2
here=$(dirname "$0")
mkdir -p "$folder"
for liberty in "$@"; do
  out=$folder/$(basename "$liberty" | sed 's/[._].*//').jsonl
  while IFS='|' read -r name options _; do
    [[ $name == \#* ]] && continue
    # shellcheck disable=SC2086
    "$sqsim" energy $options --layer '*.0.mlp.up_proj' --cycles 64 --clock 10 --liberty "$liberty" --json
  done <"$here/formats.txt" >"$out.new"
  mv "$out.new" "$out"
done
