#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# scaled.sh SQSIM JOBS LIBERTY...: what an array of block-scaled formats and of their rivals is made of
# (reports/formats/RULE.md): PEs with accumulators as wide as K = 28672 needs, arrays of 1 x 1, units in
# front of a row, the unit behind. Lines "unit,library,um2,path_ns,flops"; what is cached is not made again.
# UNITS="..." measures those alone, UNITS_sg13g2="..." in that library.
set -e -o pipefail
sqsim=$1 jobs=$2
shift 2
here=$(dirname "$(readlink -f "$0")")
units=${UNITS:-pe_int4x4_acc22 pe_int4x6_acc24 pe_int4x8_acc26 pe_nvfp4_a_fixed pe_nvint4_a_fixed pe_nvint5_a_fixed
  pe_split_e4m3_a_k1_fixed pe_split_e4m3_a_k2_fixed pe_split_e4m3_a_k4_fixed pe_split_pow2_a_k1_fixed
  pe_split_pow2_a_k2_fixed pe_split_pow2_a_k4_fixed pe_own_e4m3_a_b32k1_fixed pe_own_e4m3_a_b32k2_fixed pe_own_a_b32k2 pe_own_a_b32k4
  pe_int8x8_acc30 array_int4x4_acc22 array_int4x6_acc24 array_int4x8_acc26 array_nvfp4_a array_nvint4_a array_nvint5_a
  array_split_e4m3_a_k1 array_split_e4m3_a_k2 array_split_e4m3_a_k4 array_split_pow2_a_k1 array_split_pow2_a_k2
  array_split_pow2_a_k4 array_own_e4m3_a_b32k1 array_own_e4m3_a_b32k2 array_own_a_b32k2
  array_own_a_b32k4
  line_split_a line_split_a_full line_split_a_k2 line_split_a_k2_full combine_one combine_two
  act_int4 act_int6 act_int8 act_scale_nvfp4 act_scale_nvint4 act_scale_nvint5 act_scale_own_b32k1 act_scale_own_b32k2
  act_scale_split_e4m3_k1_tree act_scale_split_e4m3_k2_tree act_scale_split_pow2_k1_tree act_scale_split_pow2_k2_tree
  act_scale_split_e4m3_k4 act_scale_split_pow2_k4
  pe_split_a_k2_acc24 pe_own_a_k1 pe_own_a_k2 pe_own_a_k4
  pe_nvfp4 pe_nvint4 pe_nvfp4_a pe_split_e4m3_a_k2 pe_nvfp4_fixed}
# measure LIBRARY FILE PATTERN OPTION...: the units that match
measure() {
  local blocks lines name=$1 file=$2
  blocks=$(printf -- '--block %s\n' $list | grep -E "$3") || return 0
  shift 3
  lines=$("$sqsim" area --jobs "$jobs" $blocks "$@" --json --liberty "$file")
  awk -v keys="block,=$name,area_um2,critical_path_ns,sequential_share" -f "$here/fields.awk" <<<"$lines"
  awk -v keys="=nand2,=$name,nand2_um2,=,=" -f "$here/fields.awk" <<<"$lines"
}
for file; do
  name=$(basename "$file") name=${name%%[_.]*}
  list=UNITS_$name list=${!list:-$units}
  { measure "$name" "$file" ' (pe|act|line|combine)_'
    measure "$name" "$file" ' array_' --rows 1 --cols 1 --keep-parts; } | sort -t, -k1,1 -u
done
