#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The whole measuring program on a device that is not there (fake_device.cpp: kernels in the emulator,
# times by a formula): every family is a process of its own, so one that hangs, fails or crashes
# leaves the records of all others, and so does a run that is killed; exit codes.
. "$(dirname "$0")/../cli/lib.sh"
MEASURE=${FAKE_MEASURE:-$(dirname "$SQSIM")/tests/gpu/fake_measure}
VERIFY=${GPU_VERIFY:-$(dirname "$SQSIM")/gpu/sq_gpu_verify}
mkdir -p "$W/reports/gpu" "$W/traces/gpu/operand"
ln -s "$ROOT/traces/tiny-llama" "$W/traces/tiny-llama"
R=$W/reports/gpu/emulator.jsonl

measure() { # SECONDS FAULT [more]: $RC, $W.out
  (cd "$W" && SQ_FAKE_FAULT=$2 timeout $HANG "$MEASURE" "$1" ${3+"$3"} >"$W.out" 2>"$W.err" </dev/null)
  RC=$?
}
records() { grep -c "\"name\":\"$1" "$R"; }
says() { grep -q "^family *$1 *$2" "$W.out" || { grep '^family' "$W.out" | sed 's/^/# /'; return 1; }; }
same_but() { # FAMILIES: every other family has as many records as without a fault
  local family
  for family in sq_gemm_pair sq_gemm_wgmma_s8 sq_gemm_wgmma_sp24 sq_gemm_imma sq_gemm_sp24 sq_gemv sq_encode; do
    [[ " $1 " = *" $family "* ]] || [ "$(records $family)" = "${WANT[$family]}" ] ||
      { echo "# $family: $(records $family) records, want ${WANT[$family]}"; return 1; }
  done
}
valid() { # what verify says of the stored records; the traces are the emulator's, so aside with them
  (cd "$W" && rm -rf traces/gpu/*.safetensors && "$VERIFY" >"$W.out" 2>&1; [ $? = 3 ]) ||
    { sed 's/^/# /' "$W.out"; return 1; }
}

declare -A WANT
measure 1500 ""
ok "no fault: exit 0" [ "$RC" = 0 ]
for family in sq_gemm_pair sq_gemm_wgmma_s8 sq_gemm_wgmma_sp24 sq_gemm_imma sq_gemm_sp24 sq_gemv sq_encode; do
  WANT[$family]=$(records $family)
  ok "records of $family" [ "${WANT[$family]}" -gt 0 ]
done
ok "the ceilings of one process are in the records of another" grep -q '"copy_gbps":4000' "$R"
ok "decode kernels have the fit of all shapes" grep -q '"t0_fit_us":2\.[45]' "$R"
ok "no library, so no ceiling of 2:4" [ "$(grep -c '"sp24_int8_tops":0.0' "$R")" = "$(wc -l <"$R")" ]
ok "reasons of lower clocks are recorded" grep -q '"throttle_reasons":' "$R"
ok "every record is valid" valid
ok "nothing else is left" [ "$(ls "$W/reports/gpu")" = emulator.jsonl ]

measure 1500 sp24:fail:time,decode:crash:time,ceilings:crash:open
ok "one fails, one crashes, no ceilings: exit 1, not 3" [ "$RC" = 1 ]
ok "what failed is named" says sp24 failed
ok "what crashed is named" says decode "ended by a signal"
ok "all others have their records" same_but "sq_gemm_sp24 sq_gemv"
ok "which are valid" valid
measure 1500 "" more
ok "more: what was left over is measured, exit 0" [ "$RC" = 0 ]
ok "every family has its records once" same_but ""
ok "what was there is not measured again" grep -q '^stored *encode' "$W.out"
measure 150 imma:hang:open
ok "a family that hangs: exit 1" [ "$RC" = 1 ]
ok "its time was up" says imma "ended: its time was up"
ok "those before it have their records" [ "$(records sq_gemv)" -gt 0 ]

# A run that is killed while a family hangs, as the machine that lends the device would do.
(cd "$W" && SQ_FAKE_FAULT=imma:hang:open exec "$MEASURE" 1500 >/dev/null 2>&1) &
run=$!
for _ in $(seq 1800); do
  sleep 1
  [ -e "$R" ] && [ "$(records sq_gemv)" = "${WANT[sq_gemv]}" ] && break
done
kill -KILL $run
wait $run 2>/dev/null
ok "killed: what was measured before is there" [ "$(records sq_gemv)" = "${WANT[sq_gemv]}" ]
ok "and valid" valid
(cd "$W" && "$MEASURE" 0 >/dev/null 2>&1)
ok "no budget: exit 2" [ $? = 2 ]
finish
