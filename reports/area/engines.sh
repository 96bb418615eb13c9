#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# engines.sh SQSIM CSV LIBERTY...: area of whole engines, from stored bits to outputs, lines "engine,library,um2,nand2,path_ns,flops,revision"
# that CSV lacks. One that takes more than LIMIT seconds (900) is left out, with a line that says so. ENGINES="..." measures those alone.
set -euo pipefail
sqsim=$1 csv=$2; shift 2
engines=${ENGINES:-engine_dense core_out engine_sq_a_static engine_sq_a_compact engine_sp24 engine_gqsa engine_nvfp4_x engine_mxfp4_x engine_sq_b_own_x
  engine_sq_a_dynamic engine_sq_a_stored engine_spqr engine_spqt}
limit=${LIMIT:-900}
number='\([^,]*\)'
[ -f "$csv" ] || echo "# make area-engines: engine,library,um2,nand2,path_ns,flops,revision" >"$csv"
for file; do
  name=$(basename "$file") name=${name%%[_.]*} library=(--liberty "$file")
  [ "$name" != osu018 ] || library=()
  for engine in $engines; do
    grep -q "^$engine,$name," "$csv" && continue
    status=0 out=
    out=$(timeout "$limit" "$sqsim" area --block "$engine" "${library[@]}" --json </dev/null) || status=$?
    case $status in
      0) sed -n "s/^{\"block\":.*\"area_um2\":$number,\"nand2_equivalents\":$number,.*\"critical_path_ns\":$number,\"sequential_share\":$number,.*\"revision\":\"\([^\"]*\)\".*/$engine,$name,\1,\2,\3,\4,\5/p" \
           <<<"$out" >>"$csv" ;;
      124) echo "engines.sh: $engine in $name is left out: more than $limit s" >&2 ;;
      *) exit $status ;;
    esac
  done
done
