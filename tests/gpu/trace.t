#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kernel traces through everything: the kernels, run in the emulator, write them (make_traces);
# `sqsim cosim` takes each through golden model, cycle model and RTL without a difference, and those
# of formats that the chip runs through the chip, too; of their images image.py computes the outputs.
# A trace with one bit changed fails, so does RTL with one wrong line, and what is damaged or does not
# fit is refused. Then the traces of a GPU, where the repository holds any: the same without a
# difference, and none that only the emulator made.
#
# Directed: every system. Every tensor is altered in tests/gpu/test_golden.cpp, five places of each
# file here, with the digest of the whole file out of the way.
. "$(dirname "$0")/../rtl/lib.sh"
MAKE_TRACES=${MAKE_TRACES:-$(dirname "$SQSIM")/tests/gpu/make_traces}
SYSTEMS="sq_w sq_a_static sq_a_static_s4 sq_a_dynamic w8a8 w4a8 w4a4 w4a4_s4 sp24 gqsa spqt spqr"

clean() { # TRACES: exit 0, no mismatch, so many traces
  [ "$RC" = 0 ] && [ "$(number value_mismatches)" = 0 ] && [ "$(number cycle_mismatches)" = 0 ] &&
    [ "$(number traces)" = "$1" ] && return
  echo "# exit $RC, $(number traces) traces"; tail -3 "$W.out" | sed 's/^/# /'
  head -3 "$W.err" | sed 's/^/# /'
  return 1
}
mkdir -p "$W/t"
ok "the kernels in the emulator write traces" \
  bash -c "'$MAKE_TRACES' '$ROOT/traces/tiny-llama' '$W/t' >'$W.out' 2>&1 || ! sed 's/^/# /' '$W.out'"
ok "one of each system" [ "$(cd "$W/t" && echo *.safetensors)" = \
  "$(for s in $SYSTEMS; do echo "$s.safetensors"; done | sort | tr '\n' ' ' | sed 's/ $//')" ]

# ---- no difference
# SYSTEM BLOCKS MIN_BEATS
while read -r system blocks beats; do
  sq cosim "t/$system.safetensors" --json
  ok "$system: golden model, cycle model, RTL" clean 1
  ok "$system: the emulator made it, and it says so" out_has '"producer":"emulator"'
  ok "$system: $blocks" [ "$(grep -o '"block":"[a-z0-9_, ]*"' "$W.out" | cut -d'"' -f4 | tr '\n' , | tr -d ' ')" = "golden,$blocks,$blocks," ]
  ok "$system: $beats beats" [ "$(number beats)" -ge "$beats" ]
done <<'END'
sq_w core 10000
sq_a_static array_static 8000
sq_a_static_s4 array_static 8000
sq_a_dynamic topk,array 8000
w8a8 array 16000
w4a8 array 16000
w4a4 array 16000
w4a4_s4 array 16000
sp24 meta24,array 40000
gqsa gqsa_walk,array 4000
spqt spqt_idx 300
spqr spqr_dec 1000
END
sq cosim t/gqsa.safetensors --rows 3 --json
ok "rows that no token fills" clean 1

# ---- the chip: from memory to memory, behind a memory with wait states, with a fault and two resets
CHIP="w8a8 w4a8 w4a4 w4a4_s4 sp24 sq_w sq_a_static sq_a_static_s4 sq_a_dynamic"
of_chip() { # VALUES: no difference, golden model and chip, so many outputs are those of the kernel
  clean 1 && [ "$(grep -o '"block":"[a-z]*"' "$W.out" | cut -d'"' -f4 | tr '\n' ,)" = "golden,top,top," ] &&
    [ "$(sed -n '2s/.*"values":\([0-9]*\),.*/\1/p' "$W.out")" = "$1" ]
}
for system in $CHIP; do
  case $system in w4a4* | sq_a_static_s4) daily "$system on the chip" || continue ;; esac # its parameters are those of another
  sq cosim --block top "t/$system.safetensors" --json
  ok "$system on the chip: every output is the kernel's" of_chip $((16 * 128))
  ok "... with two resets" [ "$(number resets)" = 2 ]
done
# shellcheck disable=SC2046
sq cosim --block top --free-streams $(printf 't/%s.safetensors ' $CHIP) --json
ok "all behind an ideal memory" clean 9
ok "... without a reset" [ "$(number resets)" = 0 ]
ok "... 16 x 128 outputs of 16 or 8 beats on 1 x 2 PEs: work of that many cycles" \
  [ "$(grep -o '"chip_busy":[0-9]*' "$W.out" | cut -d: -f2 | sort -nu | tr '\n' ' ')" = "8192 16384 " ]
sq cosim --block top --depth 8 t/w8a8.safetensors --rows 3 --cols 2 --json
ok "a scale group longer than half a buffer, in parts" of_chip $((16 * 128))
if daily "chunks of K, the chip of a machine"; then
  sq cosim --block top --depth 8 t/sq_w.safetensors --rows 3 --cols 2 --json
  ok "K in chunks, rows that no token fills" of_chip $((16 * 128))
  sq cosim --block top --machine "$ROOT/sim/machines/chip.yaml" --free-streams t/w4a8.safetensors --json
  ok "the chip of a machine" of_chip $((16 * 128))
  sed -n 's/.*"chip_cycles":\([0-9]*\).*/\1/p' "$W.out" >"$W/cycles"
  sq run --machine "$ROOT/sim/machines/chip.yaml" --m 16 --n 128 --k 256 --format dense --weight-bits 4 --group row --json
  ok "... takes the cycles that run says" grep -q "\"cycles\":$(cat "$W/cycles")[,}]" "$W.out"
fi
mkdir "$W/images"
for system in w8a8 sq_w; do
  sq image "t/$system.safetensors" -o images --json
  ok "image of $system" [ "$RC$(number layers)" = 01 ]
  (cd "$W/images" && python3 "$ROOT/tests/cli/image.py" $system.json $system.bin >after.bin)
  sq image "t/$system.safetensors" --check images/after.bin --json
  ok "... its outputs by image.py are the kernel's" [ "$RC$(number wrong)" = 00 ]
done
refuse "49152 bytes, the outputs end at 57344" image t/w8a8.safetensors --check images/after.bin
if daily "the netlist as well"; then
  sq cosim --netlist t/spqr.safetensors --json
  ok "the netlist as well" clean 1
fi
sq cosim t/spqt.safetensors t/spqr.safetensors
ok "several, for a reader" bash -c "[ $RC = 0 ] && grep -q '^PASS: 2 traces' '$W.out'"

# ---- one bit
LC_ALL=C sed 's/"producer":"emulator"/"producer":"emulatos"/' "$W/t/spqr.safetensors" >"$W/flip.safetensors"
refuse "flip.safetensors is damaged: it does not match its sq_digest" cosim flip.safetensors
undigested "$W"/t/*.safetensors # of the whole file; tests/cli/bitflip.t has those
flip() { # FILE OFFSET BIT
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1")
  printf "\\$(printf %03o $((byte ^ 1 << $3)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
fails() { # exit 1 with a mismatch, or 2 with one sentence
  [ "$RC" = 1 ] && grep -q '^MISMATCH' "$W.out" && return
  [ "$RC" = 2 ] && [ "$(wc -l <"$W.err")" = 1 ]
}
all_fail() { # SYSTEM: five places of the data, each alone; in `make test` one of them
  local file="$W/t/$1.safetensors" size header at i
  size=$(stat -c %s "$file")
  header=$((8 + $(od -An -tu8 -N 8 "$file")))
  for i in $([ "$SQ_TIER" = test ] && echo $((DAY % 5)) || seq 0 4); do
    at=$((header + (size - header - 1) * i / 4))
    flip "$file" "$at" $((i + 2))
    sq cosim "t/$1.safetensors"
    flip "$file" "$at" $((i + 2))
    fails || { echo "# byte $at bit $((i + 2)): exit $RC"; return 1; }
  done
}
for system in $SYSTEMS; do
  ok "$system: a trace with one bit changed fails" all_fail "$system"
done
flip "$W/t/sq_w.safetensors" $(($(stat -c %s "$W/t/sq_w.safetensors") - 1)) 0 # of `hi`
sq cosim t/sq_w.safetensors
ok "a wrong output: exit 1, tensor and both values" \
  bash -c "[ $RC = 1 ] && grep -q 'MISMATCH .*hi\[8191\] = 0x.*, the golden model gives 0x' '$W.out'"
sq cosim t/sq_w.safetensors --json
ok "the same for a program" bash -c "[ $RC = 1 ] && grep -q 'difference.*hi\[8191\]' '$W.out'"
refuse "hi\[8191\] = 0x.*, the golden model gives 0x" image t/sq_w.safetensors
flip "$W/t/sq_w.safetensors" $(($(stat -c %s "$W/t/sq_w.safetensors") - 1)) 0

# ---- RTL with one wrong line: the blocks are really asked
wrong_rtl() { # NAME SYSTEM FILE SED_SCRIPT OPTION...
  local name=$1 system=$2; mutant "$name" "$3" "$4" || return; shift 4
  sq_of "$W/$name" cosim "t/$system.safetensors" "$@" -o "$W/$name"
  ok "$name: found" bash -c "[ $RC = 1 ] && grep -q '^MISMATCH $system-' '$W.out'"
}
wrong_rtl threshold_excludes_equal spqt rtl/spqt/sq_spqt_idx.sv \
  's/magnitude >= in_theta_i/magnitude > in_theta_i/'
wrong_rtl order_kept_across_rows gqsa rtl/gqsa/sq_gqsa_walk.sv \
  's/!empty && !first_q && group/!empty \&\& group/'
wrong_rtl words_over_each_other w8a8 rtl/top/sq_gear.sv \
  "s/(left == LevelW'(u) || left == '0)/(left != '0 || left == '0)/" --block top
wrong_rtl scales_of_one_group sq_w rtl/top/sq_sequencer.sv \
  's/16.d1 : load_groups;/16'"'d1 : 16'"'d1;/' --block top --free-streams
wrong_rtl response_not_awaited w4a8 rtl/top/sq_sequencer.sv \
  "s/assign all_done = .*/assign all_done = !load_active;/" --block top --free-streams
[ ! -d "$W/response_not_awaited" ] || ok "... with a waveform" [ -s "$W/response_not_awaited/w4a8-top-tile0/wave.fst" ]

# ---- refusals
altered() { # NAME SYSTEM SED_SCRIPT: a copy with its header edited, the length kept
  sed "$3" "$W/t/$2.safetensors" >"$W/$1.safetensors"
}
altered rows w8a8 's/"M":"16"/"M":"17"/'
refuse "tensor x = F32 of 4096 elements, need F32 of 4352" cosim rows.safetensors
altered width sq_a_static 's/"K":"256"/"K":"255"/'
refuse "tensor x = F32" cosim width.safetensors
altered bank sq_a_dynamic 's/"bank":"32"/"bank":"1x"/'
refuse "metadata bank = 1x, need 2\.\." cosim bank.safetensors
altered high sq_w 's/"k":"8"/"k":"0"/'
refuse "metadata k = 0, need 1\.\.31" cosim high.safetensors
altered flags sq_a_static 's/"flags":"static"/"flags":"statik"/'
refuse "metadata flags = statik, need static or dynamic" cosim flags.safetensors
altered system gqsa 's/"system":"gqsa"/"system":"gqsb"/'
refuse "metadata system = gqsb, need sq_w" cosim system.safetensors
altered producer spqt 's/"producer":"emulator"/"producer":"someone "/'
refuse "metadata producer = someone" cosim producer.safetensors
altered digest w4a8 's/xxh3-128:[0-9a-f]/xxh3-128:g/'
refuse "input_digest = xxh3-128:g" cosim digest.safetensors
altered version spqr 's/"version":"1"/"version":"2"/'
refuse "metadata version = 2, need 1" cosim version.safetensors
head -c 30000 "$W/t/sp24.safetensors" >"$W/short.safetensors"
refuse "short.safetensors" cosim short.safetensors
refuse "short.safetensors" cosim t/spqr.safetensors short.safetensors
refuse "no kernel trace\|metadata M = missing" cosim t/operand/sq_w.safetensors
refuse "with --point" cosim t/spqr.safetensors --point w4
refuse "with --block" cosim t/spqr.safetensors --block topk
refuse "with a format option" cosim t/sq_w.safetensors --bank 16
refuse "with --mutants" cosim t/spqr.safetensors --mutants 3
for system in spqt spqr; do
  refuse "metadata system = $system, need sq_w, dense, sq_a, sp24, gqsa on the chip" cosim --block top t/$system.safetensors
done
refuse "gqsa: the chip does not run such a trace" cosim --block top t/gqsa.safetensors # it has no codes of activations
refuse "tensor s_a is missing" image t/gqsa.safetensors
refuse "tensor s_x = F32 of 16 elements, need F32 of 17" image rows.safetensors
refuse "--depth needs --block top" cosim t/w8a8.safetensors --depth 9
refuse "--machine needs --block top" cosim t/w8a8.safetensors --machine "$ROOT/sim/machines/chip.yaml"
refuse "with --free-streams" cosim t/w8a8.safetensors --free-streams
refuse "with --layers" cosim --block top t/w8a8.safetensors --layers
refuse "with --cases\|--case" cosim --block top t/w8a8.safetensors --case 3
refuse "with a format option" cosim --block top t/w8a8.safetensors --weight-bits 4
refuse "low-lanes has no use on the chip" cosim --block top t/w8a8.safetensors --low-lanes 4
refuse "with --m, need a trace" image t/w8a8.safetensors --m 8
refuse "with --layer, need a trace" image t/w8a8.safetensors --layer '*'
refuse "with a format option, need a trace" image t/w8a8.safetensors --format dense

# ---- traces of a GPU
stored=("$ROOT"/traces/gpu/*.safetensors)
if [ -e "${stored[0]}" ]; then
  sq cosim "${stored[@]}" --json
  ok "${#stored[@]} traces of a GPU" clean "${#stored[@]}"
  ok "a GPU made them" bash -c "! grep -q '\"producer\":\"emulator\"' '$W.out'"
else
  skip "traces of a GPU" "the repository holds no traces/gpu"
fi
finish
