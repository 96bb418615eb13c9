#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# measure.sh SQSIM FOLDER MODEL LIBERTY...: what sqsim energy --json prints for every row of pes.txt and banks.txt
# (drawn operands) and of formats.txt (a layer of MODEL), into FOLDER/LIBRARY/LIST/NAME.jsonl; PEs also in a netlist
# for a clock period, into pes.PERIOD. A file of the same command and revision stays, so that a run that was stopped goes
# on. A row that takes more than LIMIT seconds (600) is left out, with a line that says so.
set -euo pipefail
sqsim=$1 folder=$2 model=$3; shift 3
here=$(dirname "$0")
layer=model.layers.0.mlp.up_proj
revision=$(reports/revision.sh)

# What the file was made by: its last line says so.
is_made() { # FILE COMMAND
  [[ $revision != *-dirty ]] && [ -s "$1" ] && tail -1 "$1" | grep -qF "\"command\":\"sqsim $2\"" &&
    tail -1 "$1" | grep -qF "\"revision\":\"$revision\""
}

measure() { # FILE OPTION...
  local out=$1 status=0; shift
  is_made "$out" "energy $* --json" && return
  mkdir -p "$(dirname "$out")"
  rm -f "$out"
  timeout "${LIMIT:-600}" "$sqsim" energy "$@" --json >"$out.new" || status=$?
  case $status in
    0) mv "$out.new" "$out" ;;
    124) echo "measure.sh: ${out%.jsonl} is left out: more than ${LIMIT:-600} s" >&2 ;;
    1) echo "measure.sh: ${out%.jsonl} is left out: $(grep -o '"difference":"[^"]*"' "$out.new" | head -1)" >&2 ;;
    *) exit $status ;;
  esac
  rm -f "$out.new"
}

list() { # OF FOLDER OPTION...
  local of=$1 into=$2 name options; shift 2
  while IFS='|' read -r name a b; do
    [[ $name == \#* || -z $name ]] && continue
    options=$([ "$of" = formats ] && echo "$a" || echo "$b")
    # shellcheck disable=SC2086
    measure "$into/${name// /_}.jsonl" $options "$@"
  done <"$here/$of.txt"
}

# The quick lists of all libraries come first.
for of in pes banks formats pes.sized; do
  for liberty in "$@"; do
    library=$(basename "$liberty" | sed 's/[._].*//')
    case $library in # a period that the smallest netlists of most PEs do not reach, ns
      nangate45) period=2.5 ;; sg13g2) period=6 ;; sky130hd) period=10 ;; *) period= ;;
    esac
    drawn=(--rows 1 --cols 1 --clock 10 --liberty "$liberty")
    case $of in
      formats) list formats "$folder/$library/formats" "$model" --layer $layer --cycles 64 --clock 10 --liberty "$liberty" ;;
      pes.sized) [ -z "$period" ] || list pes "$folder/$library/pes.$period" "${drawn[@]}" --period "$period" ;;
      *) list $of "$folder/$library/$of" "${drawn[@]}" ;;
    esac
  done
done
