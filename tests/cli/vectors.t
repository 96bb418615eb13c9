#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim quantize --vectors: the suite of every block-scaled format answers itself, in both kinds of file; a unit for
# NVFP4, IF4 and RaZeR in Python, written without the models, passes it; and of ten planted defects each is
# found and named by the first rule that it breaks. Malformed answers are one line.
. "$(dirname "$0")/lib.sh"
first() { sed -n 's/^FAIL: rule \([a-z_]*\): .*/\1/p' "$W.out"; }

for f in mxfp4 mxfp6 mxfp8 mxint8 mxplus nvfp4 nvfp4_46 nvint4 nvint5 if4 razer sq_b; do
  accept "$f: a suite" quantize --vectors --format $f -o .
  for kind in jsonl safetensors; do
    sq quantize --vectors --format $f --check $f.$kind
    ok "$f: answers itself, $kind" [ "$RC" = 0 -a "$(grep -c '^PASS: ' "$W.out")" = 1 ]
  done
done
cp "$W/nvfp4.jsonl" "$W/again"
sq quantize --vectors --format nvfp4 -o .
ok "the same suite again" cmp -s "$W/nvfp4.jsonl" "$W/again"
accept "nvfp4 --scale-by error" quantize --vectors --format nvfp4 --scale-by error -o .
sq quantize --vectors --format nvfp4 --check nvfp4.jsonl
ok "nvfp4 --scale-by error: has other scales" [ "$RC" = 1 -a "$(first)" = scale ]
cp "$W/again" "$W/nvfp4.jsonl"
for o in "--codes split" "--codes split --step pow2 --bank 16" "--element fp" "--high-scale bank"; do
  accept "sq_b $o" quantize --vectors --format sq_b $o -o .
  sq quantize --vectors --format sq_b $o --check sq_b.jsonl
  ok "sq_b $o: answers itself" [ "$RC" = 0 ]
  sq quantize --vectors --format sq_b --check sq_b.jsonl
  ok "sq_b $o: is another format" [ "$RC" != 0 ]
done

device() { # DEFECT [FORMAT]
  local f=${2:-nvfp4}
  python3 "$ROOT/tests/cli/vectors_device.py" $f "$W/$f.jsonl" "$W/answers.jsonl" $1
  sq quantize --vectors --format $f --check answers.jsonl
}
for f in nvfp4 if4 razer; do
  device "" $f
  ok "$f: another implementation passes" [ "$RC" = 0 ]
  [ "$RC" = 0 ] || sed 's/^/# /' "$W.out"
done
for f in if4 razer; do
  device sign $f
  ok "$f: defect sign breaks rule decode first" [ "$RC" = 1 -a "$(first)" = decode ]
  device first $f
  ok "$f: defect first breaks rule scale first" [ "$RC" = 1 -a "$(first)" = scale ]
done
while read -r defect rule; do
  device $defect
  ok "$defect breaks rule $rule first" [ "$RC" = 1 -a "$(first)" = "$rule" ]
  [ "$(first)" = "$rule" ] || tail -5 "$W.out" | sed 's/^/# /'
done <<'END'
roundtrip encode
away tie
lsb dot
wide accumulate
reverse accumulate
flush code
nan scale
late accumulate
END
ok "what is missing is counted" out_has "64 of 64 cases not answered"
# A unit that flushes subnormal scales where it multiplies, and nowhere else.
device flush
grep -v '"rule": "code"' "$W/answers.jsonl" >"$W/products.jsonl"
grep '"rule":"code"' "$W/nvfp4.jsonl" >>"$W/products.jsonl"
sq quantize --vectors --format nvfp4 --check products.jsonl
ok "flush of subnormal scales in the product" [ "$RC" = 1 -a "$(first)" = scaled ]
ok "with its first case" grep -q '^  model: y ' "$W.out"
sq quantize --vectors --format nvfp4 --check products.jsonl --json
ok "as JSON" [ "$RC" = 1 -a "$(number broken)" = '"scaled"' ]

refuse "need mxfp4|mxfp6" quantize --vectors --format sq_w
refuse "need mxfp4|mxfp6" quantize --vectors
for lie in '{"rule":"tie","case":99,"out":{"code":[0]}}|case = 99' '{"rule":"tie","case":0,"out":{"code":[256]}}|0..255' \
  '{"rule":"tie","case":0,"out":{"code":[0,0]}}|needs 1 integers, got 2' '{"rule":"tie","case":0}|no object' \
  '{"rule":"knot","case":0,"out":{}}|none of this suite' '{"rule":"tie","out":{"code":[1]}}|case' 'x|line 1'; do
  echo "${lie%%|*}" >"$W/lie.jsonl"
  refuse "${lie#*|}" quantize --vectors --format nvfp4 --check lie.jsonl
done
refuse "lie" quantize --vectors --format nvfp4 --check no/lie.jsonl
refuse "tensor decode.value needs" quantize --vectors --format mxfp6 --check nvfp4.safetensors
refuse "nowhere" quantize --vectors --format nvfp4 -o nowhere
# ---- answers of no size, and of too much ----------------------------------------------------------------
: >"$W/empty"
sq quantize --vectors --format nvfp4 --check empty
ok "an empty file answers nothing" [ "$RC" = 1 ]
truncate -s 1100M "$W/large"
refuse "'large' has [0-9]* bytes, need at most" quantize --vectors --format nvfp4 --check large
refuse "'large' has [0-9]* bytes, need at most" compare --gpu large --machine "$SQSIM_HOME/sim/machines/h200.yaml"
refuse "'large' has [0-9]* bytes, need at most" run --machine "$SQSIM_HOME/sim/machines/server64.yaml" --m 4 --n 64 --k 64 --energy large
rm "$W/empty" "$W/large"

# ---- both files or none ------------------------------------------------------------------------------
for ending in jsonl safetensors; do
  mkdir "$W/pair"; mkfifo "$W/pair/nvfp4.$ending"
  sq quantize --vectors --format nvfp4 -o pair
  ok "a FIFO in place of .$ending is refused" [ "$RC$(grep -c 'it is no regular file' "$W.err")" = 21 ]
  ok "... and no other file is left" [ "$(ls -A "$W/pair")" = nvfp4.$ending ]
  rm -r "$W/pair"
done
mkdir "$W/pair"
(ulimit -f 150; sq quantize --vectors --format nvfp4 -o pair; exit "$RC"); RC=$?
ok "without room for the second there is no first" [ "$RC$(ls -A "$W/pair")" = 2 ]
accept "the suite" quantize --vectors --format nvfp4 -o pair
ok "... is two files" [ "$(ls "$W/pair")" = $'nvfp4.jsonl\nnvfp4.safetensors' ]
cp "$W/pair/nvfp4.jsonl" "$W/answers"
refuse "it is an input" quantize --vectors --format nvfp4 --check pair/nvfp4.jsonl -o pair

finish
