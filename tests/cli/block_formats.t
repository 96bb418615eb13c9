#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The block-scaled formats (SPEC Q) in eval, quantize, inspect, run and sweep: every option changes what
# it says, stored bits are those of SPEC Q.5, a file gives the loss of the same recipe, every lie in a file
# and every option out of place is one line.
. "$(dirname "$0")/lib.sh"
# Under the sanitizers, where an eval takes ten times as long, every path runs once; what the figures
# are is for the plain build.
FORMATS="mxfp4 mxfp6 mxfp8 mxint8 mxplus nvfp4 nvfp4_46 nvint4 nvint5 if4 razer sq_b"

e() { sq eval --sequences 1 --summary --json "$@"; }
loss() { number loss; }
differs() { [ "$RC" = 0 ] && [ "$(loss)" != "$base" ]; }
less() { awk "BEGIN{exit !($1 < $2)}"; }
near() { awk "BEGIN{d = $1 - $2; exit !(d >= 0 && d < $3)}"; } # GOT WANT BY

# 2 x 64 F32 weights, 0.25 to 8 of both signs.
header='{"w.weight":{"dtype":"F16","shape":[2,64],"data_offsets":[0,256]}}'
tensor "$W/w.safetensors" "$header" 0
for ((i = 0; i < 128; i++)); do
  printf "\\x$(printf %02x $((i * 37 & 255)))\\x$(printf %02x $((0x34 + i * 7 % 19 + (i & 1) * 128)))"
done >>"$W/w.safetensors"

# from FILE OFFSET HEX...: a copy at $W/lie with these bytes OFFSET bytes before its end.
from() {
  local file=$1 offset=$2 hex bytes=; shift 2
  for hex in "$@"; do bytes+="\\x$hex"; done
  [ "$file" = lie ] || cp "$W/$file" "$W/lie"
  undigested "$W/lie"
  printf "$bytes" | dd of="$W/lie" bs=1 seek=$(($(stat -c %s "$W/lie") - offset)) conv=notrunc status=none
}
edit() { LC_ALL=C sed "s|$2|$3|" "$W/$1" >"$W/lie" && undigested "$W/lie"; }

# ---- each through files: bits, validity, the same loss --------------------------------------------
declare -A plain # the loss of each
set -- 4.25 6.25 8.25 8.25 4.40625 4.5 4.5 4.5 5.5 4.5 4.5 4.75
for f in $FORMATS; do
  e --format $f
  base=$(loss) bits=$(number stored_bits_per_weight)
  plain[$f]=$base
  # beside Q.5's: a global scale a layer, of sq_b one a row (32 / K), rows in whole bytes
  ok "$f: $1 bits and what stands above blocks" near "$bits" "$1" 0.126
  san || { e --format $f --jobs 3; ok "$f: --jobs changes nothing" [ "$(loss)" = "$base" ]; }
  accept "$f: quantize" quantize --format $f -o $f.st --json
  ok "$f: the same bits" [ "$(number stored_bits_per_weight)" = "$bits" ]
  accept "$f: inspect" inspect $f.st
  e --weights $f.st; ok "$f: eval reads what quantize wrote" [ "$(loss)" = "$base" ]
  ok "$f: and says what it is" out_has "\"format\":\"$f\".*\"algorithm\":\"file\""
  shift
done

# ---- options --------------------------------------------------------------------------------------
o() { # FORMAT OPTION...: another loss, and through a file the same one
  local f=$1; shift
  base=${plain[$f]}
  san || { e --format $f "$@"; ok "$f $*" differs; }
  base=$(loss)
  case "$*" in *act* | *gptq* | *static*) san && accept "$f $*" eval --sequences 1 --summary --format $f "$@"; return ;; esac
  accept "$f $*: quantize" quantize --format $f "$@" -o o.st
  san || { e --weights o.st; ok "$f $*: from its file" [ "$(loss)" = "$base" ]; }
}
for f in mxfp4 mxfp6 mxfp8 mxint8; do o $f --rule ceil; done
o mxfp6 --element e3m2
o mxfp8 --element e5m2
for f in mxplus nvfp4 if4 sq_b; do o $f --operand weights; o $f --operand act; done
o mxfp4 --rotate 16
o mxfp4 --rotate 32
o nvint4 --rotate 16
o nvint4 --rotate 16-integer
for s in "nvfp4 --scale-by error" "nvfp4 --scale-by weights" "nvint4 --scale-by error" "nvint5 --scale-by error"; do o $s; done
for s in "--bank 16" "--high-per-bank 1" "--high-per-bank 16" "--element fp" "--high-scale bank" \
  "--codes split" "--codes split --step pow2" "--codes split --step-by maximum" "--rotate 32"; do o sq_b $s; done
e --format sq_b --codes split --high-per-bank 4
ok "split, k = 4 of 32: 5.75 bits" near "$(number stored_bits_per_weight)" 5.75 0.001
e --format sq_b --codes split --high-per-bank 4 --step pow2
ok "with a power of two nothing stands above" [ "$(number stored_bits_per_weight)" = 5.75 ]
e --format mxfp4 --operand act
ok "activations alone: weights have no stored form" [ "$(number stored_bits_per_weight)" = null ]

c() { e --calib-sequences 2 "$@"; }
error() { sq eval --sequences 1 "$@"; awk '/proj/ {s += $7 ^ 2} END {print s}' "$W.out"; }
san && skip "gptq halves the squared error" "minutes under the sanitizers"
san || for f in mxfp4 nvint4 "sq_b --codes split" "mxfp4 --rotate 32"; do
  rtn=$(error --format $f --operand weights)
  ok "$f: gptq halves the squared error" less "$(error --format $f --operand weights --algorithm gptq --calib-sequences 8)" "$rtn / 2"
done
for f in nvfp4 razer sq_b; do
  base=${plain[$f]}
  c --format $f --act-scale static; ok "$f --act-scale static" differs
  base=$(loss)
  sq quantize --format $f --act-scale static --calib-sequences 2 -o s.st
  e --format $f --act-scale static --calib-sequences 2; base=$(loss)
  e --weights s.st; ok "$f: static scales from a file" [ "$(loss)" = "$base" ]
  c --format $f --act-scale token2; ok "$f --act-scale token2" differs
  sq quantize --format $f --act-scale token2 -o s.st
  e --format $f --act-scale token2; base=$(loss)
  e --weights s.st; ok "$f: powers of two from a file" [ "$(loss)" = "$base" ]
done

# ---- refusals of files: from the end, 2 rows of 64 ------------------------------------------------
quantized() { sq quantize w.safetensors --format "$@"; ok "quantize $1" [ "$RC" = 0 ]; }
quantized mxfp8 -o a.st # codes 128, scale 4
from a.st 132 7f; refuse "row 0, column 0: code 0x7f is no value" inspect lie
from a.st 1 ff; refuse "scale\[3\] has code 0xff, need 0..0xfe" inspect lie
edit a.st '"element":"3"' '"element":"4"'; from lie 132 7c; refuse "code 0x7c is no value" inspect lie
edit a.st '"element":"3"' '"element":"2"'; refuse "element of '' is no number in 3..4" inspect lie
edit a.st '"w.k_orig":"64"' '"w.k_orig":"63"'; refuse "row 0, column 63: padding is not zero" inspect lie
edit a.st '"w.k_orig":"64"' '"w.k_orig":"32"'; refuse "K = 64, k_orig = 32 is padded to 32" inspect lie
edit a.st '"rotate":"0"' '"rotate":"4"'; refuse "rotate of '' is no number in 0..3" inspect lie
quantized nvint5 -o b.st # global 4, codes 80, scale 8
from b.st 92 00 00 00 00; refuse "global\[0\] = 0, need finite and > 0" inspect lie
from b.st 92 00 00 c0 7f; refuse "global\[0\] = nan" inspect lie
from b.st 8 7f; refuse "scale\[0\] has code 0x7f, need 0..0x7e" inspect lie
from b.st 8 b8; refuse "scale\[0\] has code 0xb8" inspect lie
from b.st 88 10; refuse "code 0x10 is no value" inspect lie
edit b.st '"rotate":"0"' '"rotate":"2"'; refuse "rotate = 32, need a divisor of the block of 16" inspect lie
quantized sq_b -o c.st # global_high 8, global 4, codes 64, high 8, scale 4
from c.st 76 88 88; refuse "row 0, bank 0: .* high elements, need 2" inspect lie
from c.st 12 80; refuse "code 0x80 is no value" inspect lie
edit c.st '"k":"2"' '"k":"4"'; refuse "its metadata need 8" inspect lie
edit c.st '"k":"2"' '"k":"0"'; refuse "k of '' is no number in 1..16" inspect lie
edit c.st '"bank":"32"' '"bank":"24"'; refuse "bank = 24, need 16 or 32" inspect lie
edit c.st '"codes":"0"' '"codes":"1"'; refuse "mask of layer 'w' is missing\|its metadata need" inspect lie
quantized sq_b --codes split -o d.st # global 4, codes 64, high 4, mask 16, scale 4
from d.st 20 ff; refuse "high elements, need 2" inspect lie
quantized mxplus -o p.st # codes 64, place 4, scale 4
from p.st 7 fc; refuse "padding bits are not zero" inspect lie
from p.st 4 00; refuse "block 0: its largest element is said to be" inspect lie
edit p.st '"w.scale":' '"w.scake":'; refuse "tensor scale of layer 'w' is missing" inspect lie

quantized if4 -o i.st # global 4, codes 64, scale 8: by its sign a block is INT4, where code 8 is no value
from i.st 8 b8; from lie 72 08; refuse "row 0, column 0: code 0x8 is no value" inspect lie
from i.st 8 38; from lie 72 08; accept "in a block of E2M1 it is -0" inspect lie
from i.st 8 ff; refuse "scale\[0\] has code 0xff, need 0..0xfe" inspect lie
quantized nvint4 --scale-by weights -o w.st
edit w.st '"scale_by":"2"' '"scale_by":"3"'; refuse "scale_by of '' is no number in 0..2" inspect lie

# ---- refusals of options --------------------------------------------------------------------------
refuse "--rule needs --format mxfp4, mxfp6, mxfp8 or mxint8" eval --format nvfp4 --rule ceil
refuse "--element = e4m3, need e2m3 or e3m2 for mxfp6; e4m3 needs --format mxfp8" eval --format mxfp6 --element e4m3
refuse "--bank: mxfp4 has no banks" eval --format mxfp4 --bank 16
refuse "--bank = 8, need 16 or 32" eval --format sq_b --bank 8
refuse "high-per-bank = 9, need 1..8" eval --format sq_b --bank 16 --high-per-bank 9
refuse "high-per-bank = 17, need 1..16" eval --format sq_b --high-per-bank 17
refuse "step = pow2 needs --codes split" eval --format sq_b --step pow2
refuse "step-by = maximum needs --codes split" eval --format sq_b --step-by maximum
refuse "element = fp needs --codes sentinel" eval --format sq_b --codes split --element fp
refuse "high-scale = bank needs --codes sentinel" eval --format sq_b --codes split --high-scale bank
refuse "rotate = 32, need a divisor of the block of 16" eval --format nvfp4 --rotate 32
refuse "operand = act leaves the weights as they are" eval --format mxfp4 --operand act --algorithm gptq
refuse "operand = act leaves the weights as they are" quantize --format mxfp4 --operand act
refuse "act-scale = static: --operand weights" eval --format nvfp4 --operand weights --act-scale static
refuse "scale-by = weights: --operand act leaves weights" eval --format nvint4 --operand act --scale-by weights
refuse "scale-by.* nvfp4, nvint4 or nvint5" eval --format if4 --scale-by error
refuse "percdamp needs --algorithm gptq" eval --format mxfp4 --percdamp 0.1
refuse "smooth does not go with --act-scale static" eval --format nvfp4 --act-scale static --smooth 0.5
refuse "smooth does not go with --rotate and GPTQ" eval --format nvfp4 --rotate 16 --algorithm gptq --smooth 0.5
accept "SmoothQuant before blocks" eval --format nvfp4 --operand act --smooth 0.5 --sequences 2 --calib-sequences 4 --summary
refuse "only --act-bits is free" eval --weights mxfp4.st --rule ceil
refuse "calibration needs a model directory" quantize w.safetensors --format nvfp4 --act-scale static
refuse "has the same work in every row" run --share mxfp4.st
# ---- time and traffic -----------------------------------------------------------------------------
r() { sq run --m 32 --n 4096 --k 4096 --machine "$SQSIM_HOME/sim/machines/default.yaml" --json "$@"; }
stream() { grep -o '"bytes_by_stream":{[^}]*}' "$W.out" | tail -1 | grep -o "\"$1\":[0-9]*" | cut -d: -f2; }
r --format mxfp4
ok "mxfp4: 4 bits, and 8 a block of 32" [ "$(stream lo),$(stream scale),$(stream act_scale)" = "8388608,524288,0" ]
r --format "$SQSIM_HOME/sim/format/scaled/formats/q4_0.yaml" --operand both
ok "q4_0: 16 bits a block of 32" [ "$(stream lo),$(stream scale)" = "8388608,1048576" ]
r --format "$SQSIM_HOME/sim/format/scaled/formats/q4_1.yaml" --operand both
ok "q4_1: four blocks for one, also of activations, which no longer fit into their buffer" [ "$(stream lo),$(stream scale),$(stream act)" = "33554432,4194304,1179648" ]
r --format sq_b
ok "sq_b: 8 bits for 2 of 32, 4 bytes a row" [ "$(stream lo),$(stream hi),$(stream scale)" = "8388608,1048576,540672" ]
r --format sq_b --codes split
ok "split: nibbles and a mask" [ "$(stream hi),$(stream index),$(stream scale)" = "524288,2097152,524288" ]
ok "and one scale a token" [ "$(stream act),$(stream act_scale)" = "90112,128" ]
r --format nvfp4 --operand act
ok "activations alone: INT4 weights, a scale a row" [ "$(stream lo),$(stream scale),$(stream act)" = "8388608,16384,73728" ]
refuse "operand = weights: no unit takes" run --m 32 --n 64 --k 64 --machine "$SQSIM_HOME/sim/machines/default.yaml" --format nvfp4 --operand weights
for f in $FORMATS; do r --format $f; ok "run --format $f" [ "$RC" = 0 ]; done
cat >"$W/s.yaml" <<'Y'
name: blocks
axes: {format: [mxfp4, nvint5, sq_b], bank: [16, 32, 64], n: [256], k: [256], machine: [sim/machines/default.yaml], fair: [none]}
measures: [cycles, stored_bits]
Y
sq sweep s.yaml --db "$W/s.db" -o "$W/s.csv"
ok "sweep: banks only of sq_b, 16 and 32" [ "$RC:$(grep -c ',mxfp4,' "$W/s.csv"),$(grep -c ',nvint5,' "$W/s.csv"),$(grep -c ',sq_b,' "$W/s.csv")" = 0:1,1,2 ]

# ---- a trained model whose K is no multiple of a block --------------------------------------------
real=$DATA/models/stories260K
if [ -d "$real" ]; then
  s() { sq eval "$real" --sequences 4 --summary --json "$@"; }
  s --format nvfp4; nv=$(loss)
  s --format mxfp4; ok "stories260K: nvfp4 beats mxfp4" less "$nv" "$(loss)"
  s --format sq_b --high-per-bank 1; ok "stories260K: sq_b beats nvfp4" less "$(loss)" "$nv"
  s --format mxfp4 --rotate 32; ok "stories260K: rotated, with padding" [ "$RC" = 0 ]
else
  skip "stories260K" "SQ_DATA has no models/stories260K"
fi

# Sums of a tensor core: unit/scaled/test_bs_accumulate.c judges them.
loss() { sq eval --summary --sequences 1 --json "$@"; number loss; }
near() { awk -v a="$1" -v b="$2" -v by="$3" 'BEGIN { d = a - b; exit !(a > 0 && d < by && d > -by) }'; }
plain=$(loss --format mxfp8)
ok "accumulate 52 loses next to nothing" near "$(loss --format mxfp8 --accumulate 52)" "$plain" 1e-6
narrow=$(loss --format mxfp8 --accumulate 13)
ok "accumulate 13 loses something" [ "$narrow" != "$plain" ]
ok "... but not much" near "$narrow" "$plain" .02
ok "the length of a chunk counts" [ "$(loss --format mxfp8 --accumulate 13 --chunk 8)" != "$narrow" ]
refuse "chunk needs --accumulate" eval --format nvfp4 --chunk 16
refuse "--chunk = 513, need 8..512" eval --format nvfp4 --accumulate 13 --chunk 513
refuse "--accumulate = 12" eval --format nvfp4 --accumulate 12
refuse "accumulate = 13: it adds products of codes, need --operand both" eval --format mxfp4 --accumulate 13 --operand weights
refuse "accumulate = 13: blocks add as SPEC Q.7 has it, need spec in RTL" cosim --layers --format nvfp4 --accumulate 13
refuse "accumulate = 13: blocks add" generate --prompt a --format nvfp4 --accumulate 13 --on chip
finish
