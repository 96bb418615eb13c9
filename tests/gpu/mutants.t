#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kernels with one synchronisation missing or misplaced: each copy is compiled for the emulator and
# linked with the test of its kernel, which must fail, within a few seeds. The same way with nothing
# changed the test passes under every seed.
. "$(dirname "$0")/../cli/lib.sh"
BUILD=${MUTANT_BUILD:-$(dirname "$SQSIM")}
CXX=${CXX_GPU:-g++}
SEEDS=${SEEDS:-"1 2 3 4"}
command -v ccache >/dev/null && CXX="ccache $CXX"

M=$BUILD/emu/mutant # a lasting place, for the compiler cache
mkdir -p "$M"
LIBS="-llapacke -lopenblas -ljansson -lcyaml -lsqlite3 -lcsv -lxxhash -lpcre2-8 -lutf8proc -lz -lm -ldl -lpthread"

build() { # KERNEL TEST SED: the program $M/mutant
  sed -e "$3" "$ROOT/gpu/$1.cu" >"$M/$1.cu"
  if [ -n "$3" ] && cmp -s "$M/$1.cu" "$ROOT/gpu/$1.cu"; then
    echo "# nothing was changed by: $3"
    return 1
  fi
  (cd "$ROOT" && $CXX -std=c++17 -DSQ_EMULATE -O2 -ffp-contract=off -Wno-unknown-pragmas -I. -x c++ \
    -c "$M/$1.cu" -o "$M/$1.o") || return 1
  # shellcheck disable=SC2086,SC2046
  ${CXX_GPU:-g++} "$BUILD/tests/gpu/$2.o" "$M/$1.o" \
    $(find "$BUILD/emu" -maxdepth 1 -name '*.o' ! -name "$1.o" ! -name '*_jobs.o' ! -name 'sq_layer_bench.o' \
      ! -name sq_measure.o ! -name sq_facts.o ! -name sq_peaks.o ! -name fake_device.o) \
    "$BUILD/obj/gpu/sq_record.o" "$BUILD/obj/gpu/sq_stored.o" \
    "$BUILD/libsqsim.a" "$BUILD/libsqmodels.a" $LIBS -fopenmp -lcmocka -o "$M/mutant"
}

# An abort, a failed check and a hang (two minutes) are all the same here.
passes() { SQ_SEED=$1 bash -c "timeout 120 '$M/mutant'; exit \$?" >"$W/log" 2>&1; }
all_pass() { local s; for s in $SEEDS; do passes "$s" || { tail -3 "$W/log" | sed 's/^/# /'; return 1; }; done; }
one_fails() {
  local s
  for s in $SEEDS; do
    passes "$s" || { echo "# seed $s: $(grep -h 'emulate:\|want' "$W/log" | head -1 | cut -c1-100)"; return 0; }
  done
  return 1
}

mutant() { # KERNEL TEST NAME SED
  ok "$1, $3: compiles" build "$1" "$2" "$4" || return
  ok "$1, $3: is found" one_fails
}

ok "sq_gemm_wgmma as it is: compiles" build sq_gemm_wgmma test_wgmma ""
ok "sq_gemm_wgmma as it is: passes" all_pass
ok "sq_gemm_imma as it is: compiles" build sq_gemm_imma test_imma ""
ok "sq_gemm_imma as it is: passes" all_pass
while IFS='|' read -r kernel test name change; do
  mutant "$kernel" "$test" "$name" "$change"
done <<'END'
sq_gemm_wgmma|test_wgmma|no wait for the last products|/multiply_part<false>/{n;d}
sq_gemm_wgmma|test_wgmma|no wait for the step before|/^        wgmma_wait<1>();/d
sq_gemm_wgmma|test_wgmma|no wait between the parts|/multiply_part<true>/{n;d}
sq_gemm_wgmma|test_wgmma|no fence|/^    wgmma_fence();/d
sq_gemm_wgmma|test_wgmma|a stage is released before it is read|s/^        wgmma_wait<1>();/release(ring, at.stage);&/;/if (before >= 0)/,+1d;/^        release(ring, before);/d
sq_gemm_wgmma|test_wgmma|no wait for a full stage|/mbarrier_wait(&ring.full/d
sq_gemm_wgmma|test_wgmma|no wait for an empty stage|/mbarrier_wait(&ring.empty/d
sq_gemm_wgmma|test_wgmma|no cluster barrier at the end|/cluster_sync(); .. no block leaves/d
sq_gemm_imma|test_imma|a stage is loaded before all have read it|/__syncthreads(); .. the stage/d;s/^        load(step + kStages - 1);/&__syncthreads();/
sq_gemm_imma|test_imma|no barrier in the loop|/__syncthreads(); .. the stage/d
sq_gemm_imma|test_imma|no wait for the copies|/cp_async_wait<kStages - 2>()/d
END
finish
