#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# clock.sh SQSIM JOBS DIR LIBERTY...: the PEs at clock periods, into DIR/LIBRARY.period.txt; figures.awk
# then makes tables of them. Periods are given for the libraries below, others are left out.
set -e -o pipefail
sqsim=$(realpath "$1") jobs=$2 out=$3
shift 3
mkdir -p "$out"
rm -f "$out"/*.txt
pes=
for pe in int4x6 int4x8 int6x6 int6x8 sentinel split_w split_a split_a_k2; do pes+=" --block pe_$pe"; done

# From what ripple sums reach down to what every PE reaches, ns.
for file; do
  name=$(basename "$file")
  name=${name%%[_.]*}
  case $name in
    nangate45) periods=3,2.1,1.9,1.7,1.5,1.25 ;;
    sg13g2) periods=7.7,5.2 ;;
    *) continue ;;
  esac
  "$sqsim" area --jobs "$jobs" --liberty "$file" $pes --period "$periods" >"$out/$name.period.new"
  mv "$out/$name.period.new" "$out/$name.period.txt"
done
