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
LIBS="-llapacke -lopenblas -ljansson -lcyaml -lyaml -lsqlite3 -lcsv -lxxhash -lpcre2-8 -lutf8proc -lz -lm -ldl -lpthread"

# FILE KERNEL TEST SED: the program $M/mutant, of gpu/array/KERNEL.cu with gpu/array/FILE (itself, or a header that
# it includes by name) changed. A header is found beside the copy; the compiler cache is not to
# remember where it was the time before.
build() {
  rm -rf "$M/gpu"
  mkdir -p "$M/gpu/array"
  cp "$ROOT/gpu/array/$2.cu" "$M/$2.cu"
  local to=$M/gpu/array/$1
  [ "$1" = "$2.cu" ] && to=$M/$1
  sed -e "$4" "$ROOT/gpu/array/$1" >"$to"
  if [ -n "$4" ] && cmp -s "$to" "$ROOT/gpu/array/$1"; then
    echo "# nothing was changed by: $4"
    return 1
  fi
  (cd "$ROOT" && CCACHE_NODIRECT=1 $CXX -std=c++17 -DSQ_EMULATE -O2 -ffp-contract=off -Wno-unknown-pragmas -I. -x c++ \
    -c "$M/$2.cu" -o "$M/$2.o") || return 1
  # shellcheck disable=SC2086,SC2046
  ${CXX_GPU:-g++} "$BUILD/tests/gpu/$3.o" "$M/$2.o" \
    $(find "$BUILD/emu" -maxdepth 1 -name '*.o' ! -name "$2.o" ! -name '*_jobs.o' ! -name 'sq_layer_bench.o' \
      ! -name sq_measure.o ! -name sq_facts.o ! -name sq_peaks.o ! -name fake_device.o) \
    "$BUILD/obj/gpu/measure/sq_record.o" "$BUILD/obj/gpu/measure/sq_stored.o" \
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

mutant() { # FILE KERNEL TEST NAME SED
  ok "$2, $4: compiles" build "$1" "$2" "$3" "$5" || return
  ok "$2, $4: is found" one_fails
}

for kernel in wgmma wgmma_s8 imma; do
  ok "sq_gemm_$kernel as it is: compiles" build sq_gemm_$kernel.cu sq_gemm_$kernel test_$kernel ""
  ok "sq_gemm_$kernel as it is: passes" all_pass
done
# The pipeline, in each kernel that uses it.
while IFS='|' read -r name change; do
  for kernel in wgmma wgmma_s8; do
    mutant sq_wgmma.cuh sq_gemm_$kernel test_$kernel "$name" "$change"
  done
done <<'END'
no wait for the step before|/^    wgmma_wait<1>();/d
no fence|/^    wgmma_fence();/d
a stage is released before it is read|s/^    wgmma_wait<1>();/sq_wgmma_release(ring, at.stage);&/;/if (before >= 0)/,+1d;/^        sq_wgmma_release(ring, before);/d
no wait for a full stage|/mbarrier_wait(&ring.full/d
no wait for an empty stage|/mbarrier_wait(&ring.empty/d
no cluster barrier at the end|/cluster_sync(); .. no block leaves/d
END
while IFS='|' read -r kernel test name change; do
  mutant "$kernel.cu" "$kernel" "$test" "$name" "$change"
done <<'END'
sq_gemm_wgmma|test_wgmma|no wait for the last products|/multiply_part<false>/{n;d}
sq_gemm_wgmma|test_wgmma|no wait between the parts|/multiply_part<true>/{n;d}
sq_gemm_wgmma_s8|test_wgmma_s8|no wait for the last products|0,/^        wgmma_wait<0>();/{//d}
sq_gemm_wgmma_s8|test_wgmma_s8|one set of metadata registers|s/set\[1\]/set[0]/
sq_gemm_wgmma_s8|test_wgmma_s8|metadata that nobody wrote|s/const bool is_inside = .*/const bool is_inside = true;/
sq_gemm_wgmma_s8|test_wgmma_s8|unpacked into registers in use|/ldmatrix_x4(packed/,/wgmma_wait<0>/{/wgmma_wait<0>/d}
sq_gemm_imma|test_imma|a stage is loaded before all have read it|/__syncthreads(); .. the stage/d;s/^        load(step + kStages - 1);/&__syncthreads();/
sq_gemm_imma|test_imma|no barrier in the loop|/__syncthreads(); .. the stage/d
sq_gemm_imma|test_imma|no wait for the copies|/cp_async_wait<kStages - 2>()/d
END
finish
