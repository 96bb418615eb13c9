#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every harness builds for libFuzzer, where clang is, and takes its committed corpus: what `make fuzz` begins with.
# replay.t runs the same corpora with the compiler of the product. Not optimised, in a folder of its own: compiling is a fourth of
# the time, and the sanitizers see all that an optimiser would take away. Two minutes of two cores: on one day of six.
skipped() { echo "ok 1 - harnesses for libFuzzer # SKIP $1"; echo 1..1; exit; }
command -v "${CLANG:-clang}" >/dev/null || skipped "no ${CLANG:-clang}"
[ "$SQ_TIER" != test ] || skipped "make test-daily, on one day of six"
[ "$SQ_FAULTS" = 1 ] || [ $((${SQ_DAILY:-${SQ_SEED:-1}} % 6)) = 1 ] || skipped "on one day of six; make test-all and make fuzz build them"
export ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
W=$(mktemp -d "${TMPDIR:-/tmp}/sq-fuzz-XXXXXX")
trap 'rm -rf "$W"' EXIT
DIR=build/fuzz-test
n=1 failed=0
if env -u MAKEFLAGS -u MAKELEVEL make --no-print-directory SAN=0 -j2 FUZZ_DIR=$DIR FUZZ_OPT='-O0 -gline-tables-only' fuzz-build \
  >"$W/out" 2>&1; then
  echo "ok 1 - make fuzz-build"
else
  echo "not ok 1 - make fuzz-build"; grep -m5 -i error "$W/out" | sed 's/^/# /'; echo 1..1; exit 1
fi
for source in tests/fuzz/fuzz_*.c; do
  name=$(basename "$source" .c) name=${name#fuzz_}
  n=$((n + 1))
  mkdir "$W/$name"
  if tar xf "tests/fuzz/corpus/$name.tar.xz" -C "$W/$name" 2>"$W/out" &&
    "$DIR/$name" -runs=0 -max_len=4096 -rss_limit_mb=2048 "$W/$name" >"$W/out" 2>&1; then
    echo "ok $n - $name: $(grep -ao 'INITED cov: [0-9]*' "$W/out")"
  else
    echo "not ok $n - $name"; tail -20 "$W/out" | sed 's/^/# /'; failed=1
  fi
done
echo "1..$n"
exit $failed
