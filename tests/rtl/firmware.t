#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Text from RTL with no host: lib/firmware/sq_text.c, compiled for rv32im, on a PicoRV32 beside sq_top and a memory with the
# program of a token (soc/sq_soc.sv), in one Verilator model: `make firmware`. Judged by `sqsim generate`, whose golden model computes the
# same steps. Skipped where the compiler, Verilator or the Python package pythondata-cpu-picorv32 (PYTHON) is missing.
. "$(dirname "$0")/lib.sh"
CC32=riscv64-unknown-elf-gcc COPY=riscv64-unknown-elf-objcopy TOKENS=${SQ_TOKENS:-3} PROMPT=${SQ_PROMPT:-T}
FORMAT=(--format nvfp4 --act-scale token2)
cpu=$("${PYTHON:-python3}" -c 'import pythondata_cpu_picorv32 as p; print(p.data_location)' 2>/dev/null)/picorv32.v
if ! command -v $CC32 >/dev/null; then skip "firmware" "no $CC32"; finish; fi
ok "the firmware compiles" $CC32 -march=rv32im -mabi=ilp32 -Os -std=c99 -Wall -Wextra -Werror -ffreestanding -nostdlib -fno-tree-loop-distribute-patterns \
  -ffunction-sections -Wl,--gc-sections -I"$ROOT" -T "$ROOT/lib/firmware/sq_text.ld" "$ROOT/lib/firmware/sq_text.c" "$ROOT/lib/sq_driver.c" -o "$W/text.elf"
$COPY -O binary "$W/text.elf" "$W/text.bin"
ok "... to less than 4 KiB: $(stat -c %s "$W/text.bin") bytes" [ "$(stat -c %s "$W/text.bin")" -lt 4096 ]
if ! command -v verilator >/dev/null; then skip "text from RTL alone" "no verilator"; finish; fi
if [ ! -e "$cpu" ]; then skip "text from RTL alone" "no pythondata-cpu-picorv32"; finish; fi

mkdir "$W/soc"
sq image "${FORMAT[@]}" --token --cols 4 --positions 64 --base 0x80000000 -o soc
ok "the program of a token" [ "$RC" = 0 ]
sq generate --prompt "$PROMPT" "${FORMAT[@]}" --vector --tokens "$TOKENS" --json
sed -n 's/.*"token":[0-9]*,"id":\([0-9]*\),.*/\1/p' "$W.out" >"$W/want"
cd "$W/soc" || exit
sed -n 's/^  "\([A-Z][A-Za-z]*\)": \([0-9]*\),*$/.\1(\2)/p' token.json | paste -sd, >params.svh
od -An -v -tx8 -w8 token.bin >image.hex
{ od -An -v -tx4 -w4 ../text.bin; echo @3c00; printf '%x\n' $((${#PROMPT} + 1)) "$TOKENS" 0; printf '%s' "$PROMPT" | od -An -v -tx1 -w1; } >program.hex
(cd "$ROOT" && verilator --cc --exe --build -O3 --x-assign fast --x-initial fast -Wno-fatal -Wno-lint -Wno-style -Wno-MULTIDRIVEN --top-module sq_soc \
  -CFLAGS -O2 --Mdir "$W/soc/obj" -I"$W/soc" rtl/verilate.vlt -f sqsim.f "$cpu" tests/rtl/soc/sq_soc.sv "$ROOT/tests/rtl/soc/sq_soc.cpp") >build.log 2>&1
ok "a processor beside sq_top" [ $? = 0 ] || tail -5 build.log | sed 's/^/# /'
./obj/Vsq_soc $((400000 * (TOKENS + ${#PROMPT} + 1))) >text
ok "text of RTL alone: $(tail -1 text)" cmp <(sed '$d' text) ../want
sed -i "$((0x80 / 8 + 1))s/.*/0000000000000000/" image.hex
./obj/Vsq_soc 500000 >text
ok "a descriptor of zeros: the slot that failed ($(tail -1 text))" [ "$(tail -1 text | cut -d' ' -f2)" = 5 ]
finish
