#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `sqsim cosim` leaves of a failing case: the sentence, the operands, a waveform in which the
# marker is on the divergent cycle with cycles behind it, and the wrong element beside the right one.
# RTL that does not build: the tool's first complaint. One bug in the gather; hang.t has a waveform of
# every block.
. "$(dirname "$0")/lib.sh"

ok "the bug differs" tests/rtl/gather_bug.sh "$W/bug"
sq_of "$W/bug" cosim --block gather --point p03 --cases 40 -o "$W/waves"
ok "found: exit 1" [ "$RC" = 1 ]
ok "element, row and lane" out_has "MISMATCH gather.*: act\[2\], row 1, lane 0: rtl 0x"
ok "its operands: codes and activations" bash -c "grep -q '^    code  *[0-9a-f]' '$W.out' && grep -q '^    act  *[0-9a-f]' '$W.out'"

dir=$(dirname "$(find "$W/waves" -name wave.fst)")
read -r cycle rtl model < <(sed -n \
  's/^MISMATCH.*cycle \([0-9]*\), .*rtl 0x\([0-9a-f]*\) .*model 0x\([0-9a-f]*\) .*/\1 \2 \3/p' "$W.out")
read -r _ marker _ < <(grep '^\*' "$dir/wave.gtkw")
ok "the marker is on cycle $cycle, a cycle is 1000 units" [ "$marker" = $((1000 * cycle)) ]
for signal in one_act one_model_act one_differs_act out_act_o model_out_act_i in_code_i; do
  ok "the save file has $signal" grep -q "TOP.cosim.$signal\\[" "$dir/wave.gtkw"
done
from=$(sed -n 's/^\[timestart\] //p' "$dir/wave.gtkw")
ok "the window begins before the marker" [ "$from" -lt "$marker" ]

if command -v fst2vcd >/dev/null; then
  fst2vcd "$dir/wave.fst" >"$W/wave.vcd"
  at() { # SIGNAL: its value at the marker, in binary
    awk -v name="$1" -v t="$marker" '$1 == "$var" && $5 == name { id = $4 }
      /^#/ { if (substr($0, 2) + 0 > t) exit }
      /^b/ && $2 == id { v = substr($1, 2) } END { print v }' "$W/wave.vcd"
  }
  low8() { echo $((0x$1 & 255)); }
  ok "RTL at the marker" [ $((2#$(at one_act))) = "$(low8 "$rtl")" ]
  ok "the model beside it" [ $((2#$(at one_model_act))) = "$(low8 "$model")" ]
  ok "bit 2 differs" [ $((2#$(at one_differs_act))) = 4 ]
  last=$(grep '^#' "$W/wave.vcd" | tail -1)
  ok "two cycles and more behind it" [ "${last#\#}" -ge $((marker + 2000)) ]
  signals=$(grep -o 'TOP\.[a-zA-Z0-9_.]*' "$dir/wave.gtkw" | sed 's/.*\.//' | sort -u)
  for signal in $signals; do
    grep -q " $signal " "$W/wave.vcd" || echo "$signal"
  done >"$W/absent"
  ok "every signal of the save file is in the wave" [ ! -s "$W/absent" ]
else
  skip "what the wave holds" "no fst2vcd (Debian: gtkwave)"
fi

# ---- what is left of a case -------------------------------------------------------------------
# The activations of the core's high path lose bit 0, which is then used by nothing: lint would say so, the
# co-simulation builds it and shrinks the first case that fails, hundreds of equal banks, to one.
mkdir -p "$W/core" && cp -r "$W/bug/." "$W/core/" && cp rtl/core/sq_gather.sv "$W/core/rtl/core/"
sed -i "s/gathered_q <= gathered;/gathered_q <= {gathered[HighLanes*ActW-1:1], 1'b0};/" "$W/core/rtl/core/sq_pe.sv"
core() { sq_of "$W/core" cosim "$@"; }
core --point p03 --cases 6 -o "$W/waves-core"
ok "a bug that leaves a bit unused is found: exit 1" [ "$RC" = 1 ]
ok "shrunk to one bank of one job" out_has "shrunk to 1 job(s), 1 input beat(s); stalls job=free/1 act=free/1 lo=free/1 hi=free/1 out=free/1"
ok "which fails in the first ten cycles" out_has "MISMATCH core-p03-seed1-case1: cycle [0-9], beat 0: p_hi"
again=$(sed -n 's/^  again: sqsim //p' "$W.out")
ok "the command that repeats it" [ "$again" = "cosim --block core --point p03 --seed 1 --case 1" ]
core ${again#cosim }
ok "does" out_has "MISMATCH core-p03-seed1-case1: cycle [0-9], beat 0: p_hi"
core --rows 2 --cols 1 --bank 4 --sparsity 0.5 --low-bits 3 --low-lanes 8 --high-lanes 2 --case 1
again=$(sed -n 's/^  again: sqsim //p' "$W.out")
ok "of a point of one's own, too: exit 1" [ "$RC" = 1 -a "$(grep -o -e --case <<<"$again" | wc -l)" = 1 ]
core ${again#cosim }
ok "with its case once" [ "$RC" = 1 -a "$again" = "$(sed -n 's/^  again: sqsim //p' "$W.out")" ]

# ---- --waves ----------------------------------------------------------------------------------
accept "--waves --json" cosim --block gather --point p03 --waves "$W/asked" --json
ok "one object" [ "$(wc -l <"$W.out")" = 1 ]
ok "it parses" python3 -c 'import json, sys; json.load(open(sys.argv[1]))["provenance"]' "$W.out"
ok "no difference" out_has '"kind":"none"'
ok "the files are there" [ -s "$W/asked/wave.fst" -a -s "$W/asked/wave.gtkw" ]

# ---- RTL that does not build ------------------------------------------------------------------
mkdir -p "$W/broken" && cp -r "$W/bug/." "$W/broken/" && cp rtl/core/sq_gather.sv "$W/broken/rtl/core/"
line=$(grep -n 'assign in_ready_o' rtl/core/sq_gather.sv | cut -d: -f1)
sed -i "${line}s/advance;/advance +;/" "$W/broken/rtl/core/sq_gather.sv"
sq_of "$W/broken" cosim --block gather --point p03 --cases 2
ok "RTL that does not build: exit 1" [ "$RC" = 1 ]
ok "the first complaint with file and line" grep -q "%Error: rtl/core/sq_gather.sv:$line:" "$W.err"
ok "in one line" [ "$(wc -l <"$W.err")" = 1 ]
finish
