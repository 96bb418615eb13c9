#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The tests of the sm_80 kernels on the PTX that nvcc makes of them (ptx.h): asm strings, host code and
# all. Then the same PTX with one mistake in it, of the kind that an asm string of gpu/sq_ptx.cuh may
# have: the test of that kernel must fail. Needs nvcc for the build, and no GPU.
. "$(dirname "$0")/../cli/lib.sh"
BIN=${PTX_BIN:-$(dirname "$SQSIM")/tests/gpu/ptx}
[ -x "$BIN/test_imma" ] || { echo "1..0 # SKIP no nvcc: kernels only in the emulator"; exit 0; }

run() { bash -c "timeout 120 '$BIN/$1'; exit \$?" >"$W/log" 2>&1; }
passes() { run "$1" || { tail -3 "$W/log" | sed 's/^/# /'; return 1; }; }
# Found by a wrong result or by what the interpreter refuses; never because nothing was changed.
fails() { # TEST REGEX=>TEXT [LINE]
  ! CMOCKA_TEST_ABORT=1 SQ_PTX_EDIT=$2 run "$1" || return 1
  echo "# $(grep -h 'ptx:\|emulate:\|want\|ERROR\|error: Failure' "$W/log" | head -1 | cut -c1-120)"
  ! grep -q 'SQ_PTX_EDIT' "$W/log" && grep -q -- "${3:-ptx:\|emulate:\|want\|ERROR\|error: Failure}" "$W/log"
}
misses() { ! SQ_PTX_EDIT=$2 run "$1" && grep -q 'changes nothing' "$W/log"; }

for t in test_imma test_sp24 test_gemv test_gemv_gqsa test_gemv_encode test_gpu_encode; do
  ok "$t passes on PTX" passes $t
done
while IFS='|' read -r name edit t; do
  ok "$t finds: $name" fails "$t" "$edit"
done <<'END'
mma s8, registers of A swapped|(mma.sync.aligned.m16n8k32.*?\}, *\{)(%r\d+), *(%r\d+)=>$1$3, $2|test_imma
mma s8, registers of B swapped|(mma.sync.aligned.m16n8k32.*?\}, *\{.*?\}, *\{)(%r\d+), *(%r\d+)=>$1$3, $2|test_imma
mma s8, sums not added to|(mma.sync.aligned.m16n8k32.*\}, *)\{.*?\};=>$1{0, 0, 0, 0};|test_imma
mma s4, registers of A swapped|(mma.sync.aligned.m16n8k64.*?\}, *\{%r\d+, *)(%r\d+), *(%r\d+)=>$1$3, $2|test_imma
ldmatrix transposed|m8n8.x4.shared=>m8n8.x4.trans.shared|test_imma
copies waited for one group too late|wait_group 2=>wait_group 3|test_imma
copies not committed|cp.async.commit_group;=>|test_imma
copies of tails not filled with zeros|(cp.async.cg.*, 16, )%r\d+;=>$0116;|test_imma
no barrier in the loop|bar.sync\s+0;=>|test_imma
mma.sp, registers of B swapped|(mma.sp.*?\}, *\{.*?\}, *\{%r\d+, *)(%r\d+), *(%r\d+)=>$1$3, $2|test_sp24
mma.sp, metadata of another register|(mma.sp.*\{(%r\d+).*?), *%r\d+, *0x0;=>$1, $2, 0x0;|test_sp24
mma.sp, selector 1|(mma.sp.*), *0x0;=>$1, 0x1;|test_sp24
fma f16x2, factor and addend swapped|(fma.rn.f16x2 %r\d+, *%r\d+, *)(%r\d+), *(%r\d+)=>$1$3, $2|test_gemv
stream of 16 bytes, words swapped|(no_allocate.v4.u32 *\{)(%r\d+), *(%r\d+)=>$1$3, $2|test_gemv
dp4a, sum and operand swapped|(dp4a.s32.s32\s+%r\d+, *%r\d+, *)(%r\d+), *(%r\d+)=>$1$3, $2|test_gemv_gqsa
a slot without its mark|(st.relaxed.gpu.global.u64 \[%rd\d+\], *)%rd\d+=>$010|test_gemv_gqsa
a slot not emptied|mov.u64\s+%rd\d+, 0;[^;]*st.relaxed[^;]*;=>|test_gemv_gqsa
END
ok "an unknown opcode is named" fails test_sp24 'm8n8.x4.shared=>m8n8.x2.shared' 'unknown opcode ldmatrix.sync.aligned.m8n8.x2'
ok "a mistake that is nowhere is refused" misses test_sp24 'nowhere=>x'
finish
