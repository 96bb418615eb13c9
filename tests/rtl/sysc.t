#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SystemC: C models and verilated RTL of core and gather agree in every output of every cycle, and
# the TLM-2.0 platform computes the golden sums in the cycle model's time. One program on a platform with the chip
# gives the same memory and counters loosely timed, stepped and as RTL. Different seeds give different runs.
build=$(dirname "${SQSIM:-build/sqsim}")
if [ ! -e /usr/include/systemc.h ]; then
  echo "1..0 # SKIP no SystemC (Debian: libsystemc-dev)"
  exit 0
fi
ulimit -t 7200 # seconds of the processor, as in tests/cli/lib.sh
echo 1..7
out=$(env -u MAKEFLAGS make -s sysc BUILD="$build" CASES=200 SEED="${SQ_SEED:-1}" 2>&1)
n=0
check() { # DESCRIPTION PATTERN
  n=$((n + 1))
  if grep -Eq "$2" <<<"$out"; then echo "ok $n - $1"; else
    echo "not ok $n - $1"
    tail -5 <<<"$out" | sed 's/^/# /'
  fi
}
check "200 jobs of the core and its gather in lock step" '^PASS sysc: core 200 jobs, [0-9]{4,} cycles'
check "the gather moved banks" 'gather [0-9]+ cycles, [0-9]{4,} beats'
check "the platform's values and latency" '^PASS platform: [0-9]{3,} checks'
check "the chip in three speeds: the same memory and counters" '^PASS: 120 layers and 80 rings on LT, stepping and RTL .*, [1-9][0-9]* of the rings aborted; .*; 0 differences'
check "equal cycles on LT, stepping and AT of the layers of tiny-llama, dense" '^PASS: dense W8A8, [0-9]+ cycles'
check "... nvfp4" '^PASS: nvfp4, [0-9]+ cycles'
grep -E '^(LT|stepping|AT) ' <<<"$out" | sed 's/^/# /'
export SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1
first=$("$build/sysc/sq_sc_lockstep" 20 5) second=$("$build/sysc/sq_sc_lockstep" 20 6)
out=$([ "${first%;*}" != "${second%;*}" ] && grep -q ^PASS <<<"$first$second" && echo differ)
check "the seed matters" '^differ$'
