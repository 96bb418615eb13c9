#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `make verdict` measures beside KL, and does not measure again (RULE.md):
#   verdict.sh areas SQSIM CSV LIBERTY...   units that scaled.csv lacks, lines "unit,library,um2,path_ns,flops" appended to CSV
#   verdict.sh clocks SQSIM CSV LIBERTY...  PEs and encoders at the periods below, lines "unit,library,period_ns,um2,path_ns" to CSV
#   verdict.sh cycles SQSIM                 a table of cycles of the rows of verdict.txt, on arrays of 16384 products a cycle
# UNITS="..." measures those alone. A netlist that takes more than LIMIT seconds (none: no limit) is left out, with a line that says so.
set -euo pipefail
what=$1 sqsim=$(readlink -f "$2")
here=$(dirname "$(readlink -f "$0")")
export SQSIM_HOME=${SQSIM_HOME:-$(readlink -f "$here/../..")}

# Units of verdict.txt whose RTL is newer than scaled.csv, or which it does not have.
one="--rows 1 --cols 1 --keep-parts"
units="pe_nvfp4_a_two_fixed;array_nvfp4_a_two $one;pe_nvint4_a_two_fixed;array_nvint4_a_two $one
pe_nvfp4_a_fixed;array_nvfp4_a $one;pe_nvint4_a_fixed;array_nvint4_a $one
array_nvint4_a_1x2 --block array_nvint4_a --rows 1 --cols 2 --keep-parts
pe_own_e4m3_a_b32k1_fixed;array_own_e4m3_a_b32k1 $one;act_scale_mxfp4;pe_mxfp4_a_b32;array_mxfp4_a_b32 $one
pe_nvint5_a_fixed;array_nvint5_a $one;pe_own_e4m3_a_b32k2_fixed;array_own_e4m3_a_b32k2 $one
pe_split_e4m3_a_k2_fixed;array_split_e4m3_a_k2 $one;hadamard_16_integer
pe_mxfp6_a_b32;array_mxfp6_a_b32 $one;pe_mxfp8_a_b32;array_mxfp8_a_b32 $one;pe_mxint8_a_b32;array_mxint8_a_b32 $one
act_scale_nvint4_searched;act_scale_nvfp4_searched;act_scale_nvfp4_46;act_scale_if4;act_scale_razer
pe_if4_a_fixed;array_if4_a $one;pe_razer_a_fixed;array_razer_a $one"

# Keys (fields.awk) of the row of `sqsim area --json OPTION...`: a line of CSV.
measured() { # UNIT KEYS OPTION...
  local unit=$1 keys=$2 status=0 out; shift 2
  out=$(${LIMIT:+timeout "$LIMIT"} "$sqsim" area "$@" --json </dev/null) || status=$?
  [ $status != 124 ] || echo "verdict.sh: $unit is left out ($*): more than $LIMIT s" >&2
  [ $status = 0 ] || [ $status = 124 ] || exit $status
  awk -v keys="$keys" -f "$here/../area/fields.awk" <<<"$out"
}
is_wanted() { [[ -z ${UNITS:-} || " $UNITS " == *" $1 "* ]]; } # UNIT

areas() { # CSV LIBERTY...; osu018 stands for the library of the program
  local csv=$1 file name unit options; shift
  [ -f "$csv" ] || echo "# make verdict: unit,library,um2,path_ns,flops" >"$csv"
  for file; do
    name=$(basename "$file") name=${name%%[_.]*}
    tr ';' '\n' <<<"$units" | while read -r unit options; do
      is_wanted "$unit" && ! grep -q "^$unit,$name," "$csv" || continue
      [[ $options == *--block* ]] || options="--block $unit $options"
      [ "$name" = osu018 ] || options+=" --liberty $file"
      measured "$unit" "=$unit,=$name,area_um2,critical_path_ns,sequential_share" \
        $options >>"$csv"
    done
  done
}

# PEs at a period that nothing reaches, where the search ends with the fastest netlist that it makes, and at longer ones; encoders, of
# which two may take turns, at about twice what PEs reach: the last of them.
timed="pe_nvfp4_a_fixed pe_nvint4_a_fixed pe_own_e4m3_a_b32k1_fixed act_scale_nvfp4 act_scale_nvint4 hadamard_16_integer act_scale_own_b32k1
pe_if4_a_fixed pe_razer_a_fixed act_scale_if4 act_scale_razer act_scale_nvint4_searched pe_own_e4m3_a_b32k2_fixed act_scale_own_b32k2
act_scale_nvfp4_searched act_scale_nvfp4_46 pe_nvfp4_a_two_fixed pe_nvint4_a_two_fixed
pe_nvint5_a_fixed act_scale_nvint5 pe_int4x6_acc24 act_int6 pe_int4x8_acc26 act_int8"
periods_nangate45="0.5 1.4 2 2.6" periods_sg13g2="4.5 9" periods_osu018="1.5 5 7 10"
clocks() { # CSV LIBERTY...
  local csv=$1 file name unit period periods library; shift
  [ -f "$csv" ] || echo "# make verdict: unit,library,period_ns,um2,path_ns" >"$csv"
  for file; do
    name=$(basename "$file") name=${name%%[_.]*}
    periods=periods_$name periods=${!periods} library=(--liberty "$file")
    [ "$name" != osu018 ] || library=()
    for unit in $timed; do
      is_wanted "$unit" || continue
      for period in $([[ $unit == pe_* ]] && echo "${periods% *}" || echo "${periods##* }"); do
        grep -q "^$unit,$name,$period," "$csv" && continue
        measured "$unit" "=$unit,=$name,=$period,area_um2,critical_path_ns" \
          --block "$unit" --period "$period" "${library[@]}" >>"$csv"
      done
    done
  done
}

# The machine's PE has the lanes of the PE in verdict.txt: 16 weights a cycle, or 32 in half as many columns.
machine() { # ROWS COLS CORES LOW_LANES HIGH_LANES
  sed "s/^cores: .*/cores: $3/; s/^  rows: .*/  rows: $1/; s/^  cols: .*/  cols: $2/; s/low_lanes: .*/low_lanes: $4/
    s/high_lanes: .*/high_lanes: $5/; s/act_bits: .*/act_bits: 4/" "$SQSIM_HOME/sim/machines/server64.yaml"
}
cycles() {
  local file label variant pe options word k width lanes shape phase
  file=$(mktemp --suffix=.yaml)
  trap "rm -f '$file'" EXIT
  echo "| activations in | 32 rows, prefill | decode | 16 rows, prefill | decode | 8 rows, prefill | decode |"
  echo "|---|---|---|---|---|---|---|"
  grep -v '^#' "$here/verdict.txt" | sed 's/ *| */|/g' | while IFS='|' read -r label variant pe _; do
    [ "$pe" != "? ?" ] && [[ $variant == *act-scale=token2* || $variant == mx* ]] || continue
    options=(--format "${variant%% *}") k=1 width=16 lanes=16
    for word in ${variant#* }; do
      case $word in act-scale=* | scale-by=* | errors=* | rotate=*) ;; *) options+=("--${word%%=*}" "${word#*=}") ;; esac
      case $word in high-per-bank=*) k=${word#*=} ;; esac
    done
    [[ $pe != *b32* && $pe != *_two* ]] || width=32
    lanes=$width
    case $variant in # products of more than 4 x 4 bits
      nvint5*) lanes=20 ;; mxfp6*) lanes=48 ;; mxfp8* | mxint8*) lanes=64 ;;
    esac
    printf '| %s |' "$label"
    for shape in "32 32 64" "16 64 64" "8 64 128"; do
      set -- $shape
      machine "$1" $(($2 * 16 / width)) "$3" "$lanes" "$k" >"$file"
      for phase in prefill_2048 decode_1; do
        printf ' %s |' "$("$sqsim" run --machine "$file" --workload "$SQSIM_HOME/traces/workloads/llama-3-8b_$phase.csv" \
          "${options[@]}" --json | tail -1 | grep -o '"cycles":[0-9]*' | cut -d: -f2)"
      done
    done
    echo
  done
}
shift 2
"$what" "$@"
