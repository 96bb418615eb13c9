#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench.sh BUILD JSON [--quick] [NAME ...]: runs the benchmarks (all of tests/bench, or those named; --list
# lists them), prints their tables, and leaves all rows in JSON: an object with `command`, `revision`,
# `processor` and `rows`, an array of objects with `part`, `name` and figures (tests/bench/bench.h).
# Exit 3 where a benchmark could not measure. JSON is replaced when all are through, not before.
set -euo pipefail
export LC_ALL=C
all=$(for f in tests/bench/bench_*.c; do basename "${f/bench_/}" .c; done)
[ "${1-}" != --list ] || { echo "$all"; exit; }
build=$1 json=$2 quick=
shift 2
[ "${1-}" != --quick ] || { quick=--quick; shift; }
[ $# != 0 ] || set -- $all
lines=$(mktemp)
trap 'rm -f "$lines" "$json.new"' EXIT
unset OPENBLAS_CORETYPE # it would pin SGEMM to the kernel of another processor
for name; do
  program=$build/tests/bench/bench_$name
  echo "== ${program##*/}"
  BENCH_JSON=$lines "$program" ${quick:+"$quick"} || { echo "bench: ${program##*/} failed" >&2; exit 3; }
  echo
done
processor=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1 | tr -d '"\\')
{
  printf '{"command":"make bench%s","revision":"%s","processor":"%s","rows":[\n' "${quick:+-check}" \
    "$(reports/revision.sh)" "$processor"
  sed '$!s/$/,/' "$lines"
  echo ']}'
} >"$json.new"
mv "$json.new" "$json"
echo "revision $(reports/revision.sh), $processor: $(wc -l <"$lines") rows in $json"
