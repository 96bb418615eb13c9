#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The corpus of every harness, tests/fuzz/corpus/NAME.tar.xz, once through it. REPLAY names the folder of
# the programs, which make builds with the compiler and sanitizers of everything else.
REPLAY=${REPLAY:-$(dirname "$SQSIM")/tests/fuzz}
export ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
W=$(mktemp -d "${TMPDIR:-/tmp}/sq-fuzz-XXXXXX")
trap 'rm -rf "$W"' EXIT
ulimit -t 7200 # seconds of the processor, as in tests/cli/lib.sh
n=0 failed=0
for archive in tests/fuzz/corpus/*.tar.xz; do
  name=$(basename "$archive" .tar.xz)
  n=$((n + 1))
  mkdir "$W/$name" && tar xf "$archive" -C "$W/$name"
  if "$REPLAY/$name" "$W/$name" >"$W/out" 2>&1; then
    echo "ok $n - $name: $(tail -1 "$W/out")"
  else
    echo "not ok $n - $name"; sed 's/^/# /' "$W/out" | head -40; failed=1
  fi
done
echo "1..$n"
exit $failed
