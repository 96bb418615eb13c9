#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# engines.sh SQSIM CSV LIBERTY...: area of whole engines with their parts, lines "engine,library,um2,nand2,revision,part:instances:um2 ..." that CSV
# lacks. One that takes more than LIMIT seconds (900) is left out, with a line that says so. ENGINES="..." measures those alone.
set -euo pipefail
sqsim=$1 csv=$2; shift 2
here=$(dirname "$(readlink -f "$0")")
engines=${ENGINES:-engine_dense core_out engine_sq_a_static engine_sq_a_compact engine_sp24 engine_gqsa engine_nvfp4_x engine_mxfp4_x engine_sq_b_own_x
  engine_sq_a_dynamic engine_sq_a_stored engine_spqr engine_spqt}
limit=${LIMIT:-900}
flat=engine_gqsa # in one piece: kept apart, its few operators would not lose what their operands do not need. Those of SpQt and SpQR take hours so.
[ -f "$csv" ] || echo "# make area-engines: engine,library,um2,nand2,revision,part:instances:um2 ..." >"$csv"
for file; do
  name=$(basename "$file") name=${name%%[_.]*} library=(--liberty "$file")
  [ "$name" != osu018 ] || library=()
  for engine in $engines; do
    grep -q "^$engine,$name," "$csv" && continue
    status=0 out= keep=--keep-parts
    [[ " $flat " != *" $engine "* ]] || keep=
    out=$(timeout "$limit" "$sqsim" area --block "$engine" $keep "${library[@]}" --json </dev/null) || status=$?
    case $status in
      0) parts=$(grep -o '"sq_[a-z0-9_]*":{"count":[0-9]*,"um2":[0-9.]*}' <<<"$out" | sed 's/[^a-z0-9_:.]//g; s/count://; s/um2:/:/' | paste -sd' ') || true
         awk -v keys="block,=$name,area_um2,nand2_equivalents,revision,=$parts" -f "$here/fields.awk" <<<"$out" >>"$csv" ;;
      124) echo "engines.sh: $engine in $name is left out: more than $limit s" >&2 ;;
      *) exit $status ;;
    esac
  done
done
