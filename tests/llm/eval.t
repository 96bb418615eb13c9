#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim eval and quantize --algorithm gptq: every flag changes what it says, a file of weights gives
# the loss of the same recipe, every bad value and every option without meaning is refused.
. "$(dirname "$0")/../cli/lib.sh"

# A short sequence of the embedded model is enough to tell recipes apart.
few_tokens 64 120
e() { sq eval --sequences 1 --summary --json "$@"; }
g() { e --calib-sequences 3 "$@"; }
loss() { number loss; }
differs() { [ "$RC" = 0 ] && [ "$(loss)" != "$base" ]; }

says "the model as it is: reference is named" '"format":"reference"' eval --sequences 1 --format dense --weight-bits 16 --act-bits 16 --json
ok "and is not compared with itself" out_has '"kl_mean":null.*"top1_agreement":null'
reference=$(loss)
e --algorithm rtn
base=$(loss)
ok "keys of the summary" out_has '"loss":.*"perplexity":.*"tokens":.*"format":"sq_w"'
ok "provenance" out_has '"provenance":{"tool":"sqsim .*"data":"real"'
ok "quantized is near the reference" \
  awk "BEGIN{d = $base - $reference; exit !(d != 0 && d < 0.2 && d > -0.2)}"
ok "beside the model as it is: the same loss" [ "$(number loss_reference)" = "$reference" ]
ok "KL: 0 < median < mean < 99 %, most tops agree" awk "BEGIN{exit !(0 < $(number kl_median) && \
  $(number kl_median) < $(number kl_mean) && $(number kl_mean) < $(number kl_p99) && \
  0.5 < $(number top1_agreement) && $(number top1_agreement) < 1)}"
ok "one sequence has no interval" out_has '"loss_difference_se":null,"loss_difference_95":null,"kl_mean":[^,]*,"kl_mean_95":null'
note() { sq_all eval --format dense --algorithm rtn --summary --json "$@"; grep '95 %' "$W.err"; }
ok "and a note says so" [ "$(note --sequences 1)" = "sqsim eval: note: no 95 % intervals of one sequence, need 16 or more" ]
ok "of a softmax alone as well" [ "$(note --sequences 2 --format dense --weight-bits 16 --act-bits 16 --softmax 32)" = "sqsim eval: note: 95 % intervals of 2 sequences are too narrow, need 16 or more" ]
for n in 2 15; do
  ok "$n sequences: a note" [ "$(note --sequences $n)" = "sqsim eval: note: 95 % intervals of $n sequences are too narrow, need 16 or more" ]
done
ok "16 sequences: no note" [ -z "$(note --sequences 16)" ]
ok "16 sequences: an interval" out_has '"kl_mean_95":\[0'
ok "the model as it is: no note" [ -z "$(note --sequences 2 --weight-bits 16 --act-bits 16)" ]

# ---- every flag ---------------------------------------------------------------------------------
for flags in "--bank 8" "--sparsity 0.5" "--high-bits 4 --low-bits 2" "--low-bits 3" "--act-bits 4" \
  "--group 32" "--group row" "--variant tied" "--variant split" "--variant fp" \
  "--format sq_a_dynamic" "--format dense" \
  "--format dense --weight-bits 6" "--format dense --act-bits 5"; do
  e --algorithm rtn $flags
  ok "$flags" differs
done
cp "$SQSIM_HOME/traces/tiny-llama/tokens_eval.safetensors" "$W/other.safetensors"
cp "$SQSIM_HOME/traces/tiny-llama/tokens_calib.safetensors" "$W/calib.safetensors"
e --algorithm rtn --tokens calib.safetensors; ok "--tokens" differs
e --algorithm rtn --sequences 2; ok "--sequences" differs
ok "two have one" out_has '"kl_mean_95":\[0\.[0-9]*,0\.[0-9]*\]'
g; ok "--algorithm gptq is the default" differs
base=$(loss)
for flags in "--score c1" "--score c2" "--score c3" "--lazy" "--percdamp 0.5" "--smooth 0.25" "--smooth none" \
  "--calib other.safetensors" "--format sq_a_static"; do
  g $flags; ok "$flags" differs
done
e --calib-sequences 2; ok "--calib-sequences" differs
g --calib calib.safetensors; ok "--calib is the one beside the model" [ "$(loss)" = "$base" ]
g --smooth 0.5; ok "--smooth 0.5 is the default of Algorithm 1" [ "$(loss)" = "$base" ]
g --score c0; ok "--score c0 is the default" [ "$(loss)" = "$base" ]
# More than the 512 tokens that a product of calibration takes at once.
e --calib-sequences 5; base=$(loss); e --calib-sequences 5 --jobs 3; ok "--jobs changes nothing" [ "$(loss)" = "$base" ]
e --format sq_a_dynamic --algorithm rtn; base=$(loss)
e --format sq_a_dynamic --algorithm rtn --select int8; ok "--select int8" differs
e --format sq_a_dynamic --algorithm rtn --select int8_mul; ok "--select int8_mul" differs
g --format sq_a_static --algorithm rtn; base=$(loss)
g --format sq_a_static --algorithm rtn --mask-score act; ok "--mask-score act" differs

# ---- layers -------------------------------------------------------------------------------------
sq eval --sequences 1 --calib-sequences 3 --json --format sq_a_static --algorithm rtn
ok "one line per layer and a summary" [ "$(wc -l <"$W.out")" = 15 ]
ok "metrics of a layer" grep -q '"relative_error":0\.[0-9]*,"sqnr_db":[0-9.]*,"mask_recall":0\.' "$W.out"
sq eval --sequences 1 --algorithm rtn
ok "text: a line per layer" grep -q '^model.layers.1.mlp.down_proj  *256 x 512 ' "$W.out"
ok "text: the loss" grep -q '^loss [0-9.]* nats per token, perplexity' "$W.out"
ok "text: both of them" grep -qx 'activations of 8 bits, 6.5000 stored bits per weight' <(grep -B1 '^loss' "$W.out")
ok "text: and in each layer" grep -q '^model.layers.1.mlp.down_proj  *256 x 512  *8   6.5000 ' "$W.out"
ok "text: the comparison" grep -q '^against the model as it is: loss .*; KL mean .*; top-1 agreement 0' \
  "$W.out"

# ---- bits of an activation --------------------------------------------------------------------------
# By SPEC A.6b, Q.2, Q.3, Q.5; and what a machine moves for them is the same, up to whole bytes.
bits() { # BITS FORMAT OPTIONS
  local want=$1
  shift
  sq eval --format "$@" --algorithm rtn --sequences 1 --calib-sequences 1 --json
  ok "activation bits of $*" [ "$(number activation_bits)" = "$want" ]
  ok "of each layer of $*" [ "$(grep -c "\"activation_bits\":$want," "$W.out")" = 15 ]
}
moved() { # FORMAT: of one token of 4096 channels
  sq run --format "$1" --m 1 --n 64 --k 4096 --machine "$ROOT/sim/machines/default.yaml" --json
  awk -v b="$(grep -o '"act":[0-9]*' "$W.out" | head -1 | cut -d: -f2)" 'BEGIN {printf "%.4g", b / 512}'
}
bits 8.0 dense
bits 4.0 dense --act-bits 4
bits 8.0 sq_w
bits 5.0 sq_a_static
bits 6.0 sq_a_dynamic
bits 5.5 sq_a_dynamic --sparsity 0.875
bits 32.0 dense --operand weights
bits 4.5 nvfp4
bits 4.25 mxfp4
bits 4.75 sq_b
for f in dense=8 sq_a_static=5 sq_a_dynamic=6 nvfp4=4.5 mxfp4=4.25 sq_b=4.75; do
  ok "moved for ${f%=*}" [ "$(moved "${f%=*}")" = "${f#*=}" ]
done
for f in spqt=32.0 spqr=16.0; do
  sq eval --format "${f%=*}" --sequences 1 --calib-sequences 1 --summary --json
  ok "activation bits of ${f%=*}" [ "$(number activation_bits)" = "${f#*=}" ]
done
sq eval --format dense --algorithm rtn --layer-format '*.down_proj=sq_a_dynamic' --sequences 1 --json
ok "of a mixed model: the mean" [ "$(number activation_bits)" = 7.5 ] # 512 of 2048 inputs have 6
ok "and of each layer its own" [ "$(grep -c '"activation_bits":6.0,' "$W.out")" = 2 ]

# ---- progress ---------------------------------------------------------------------------------------
short="--sequences 1 --calib-sequences 1 --summary"
accept "no terminal: nothing on stderr" eval $short
cp "$W.out" "$W/plain"
sq eval $short --progress
ok "--progress: the same output" cmp "$W.out" "$W/plain"
sed 's/ (.*//' "$W.err" >"$W/said"
ok "--progress: from the start, what is being done" [ "$(cat "$W/said")" = "eval: reading tokens
eval: the model as it is, blocks: 0/2
eval: the model as it is, blocks: 1/2
eval: calibration, blocks 0/2
eval: encoding, blocks 0/2
eval: products, blocks 0/2
eval: calibration, blocks 1/2
eval: encoding, blocks 1/2
eval: products, blocks 1/2
eval: scores, blocks 2/2" ]
ok "--progress: pace and what is left" grep -q '^eval: products, blocks 1/2 ([0-9.e+-]*/s, ETA [0-9]* s)$' "$W.err"
sq eval $short --progress --format sp24 --dense-layers 0.2
ok "--progress: what is chosen per layer" grep -q '^eval: what each layer is to be' "$W.err"
sq quantize --algorithm rtn --progress
ok "quantize --progress" [ "$(sed -n '1p;$p' "$W.err" | sed 's/ (.*//')" = "quantize: layers 0/14
quantize: layers 14/14" ]
if command -v script >/dev/null; then
  (cd "$W" && script -qec "'$SQSIM' eval $short" /dev/null </dev/null) >"$W/raw"
  tr '\r' '\n' <"$W/raw" | sed 's/\x1b\[K//g' | grep . >"$W/said"
  ok "a terminal: from the start" [ "$(head -1 "$W/said")" = "eval: reading tokens" ]
  ok "a terminal: with what is left" grep -q '^eval: products, blocks 1/2 (.*ETA' "$W/said"
  ok "a terminal: the output behind it, then the note" [ "$(tail -4 "$W/said")" = "$(cat "$W/plain"; sed '/note/!d' "$W/said")" ]
else
  skip "a terminal" "no script program"
fi

# ---- several formats --------------------------------------------------------------------------------
# In one run each says what it says alone, to the last digit, and in the order in which they are named.
short="--sequences 2 --calib-sequences 3 --json"
sq quantize --format gqsa --algorithm rtn -o file.safetensors
: >"$W/alone"
for f in "nvfp4 --algorithm gptq" "sq_b --bank 16" "sq_a_static --smooth 0.25" "dense --weight-bits 16 --act-bits 16" \
  "sp24 --dense-layers 0.2" "spqt" "spqr" "dense --layer-format *.down_proj=sq_w" "gqsa --algorithm lite"; do
  set -f; sq eval $short --format $f; set +f
  cat "$W.out" >>"$W/alone"
done
sq eval $short --weights file.safetensors
cat "$W.out" >>"$W/alone"
set -f
accept "ten formats in one run" eval $short --format nvfp4 --algorithm gptq --and sq_b --bank 16 \
  --and sq_a_static --smooth 0.25 --and dense --weight-bits 16 --act-bits 16 --and sp24 --dense-layers 0.2 --and spqt --and spqr \
  --and dense --layer-format '*.down_proj=sq_w' --and gqsa --algorithm lite
set +f
head -n -15 "$W/alone" >"$W/nine"
# But for what compares a format with the first one, which a run of its own cannot say.
unpaired() { sed -E 's/,"kl_ratio":.*"kl_difference_95":(null|\[[^]]*\])//' "$@"; }
ok "each as alone" cmp <(unpaired "$W.out") <(unpaired "$W/nine")
ok "all but the first and the model as it is are compared with the first" [ "$(grep -c '"kl_ratio":[0-9]' "$W.out")" = 7 ]
sq eval $short --weights file.safetensors --and gqsa --algorithm lite
ok "a file of weights is one of them" cmp <(head -15 "$W.out") <(tail -15 "$W/alone")
ok "a summary for each" [ "$(grep -c '^{"summary":true' "$W.out")" = 2 ]
sq eval $short --sequential --format nvfp4 --algorithm gptq; cp "$W.out" "$W/alone"
sq eval $short --sequential --format mxfp4 --algorithm gptq; cat "$W.out" >>"$W/alone"
sq eval $short --sequential --format nvfp4 --algorithm gptq --and mxfp4 --algorithm gptq
ok "sequential calibration: as alone" cmp <(unpaired "$W.out") <(unpaired "$W/alone")
sq eval --sequences 2 --summary --and nvfp4
ok "text: a line with the name of each" [ "$(grep -c '^SQ(8,4,32,0.75)\|^nvfp4 ' "$W.out")" = 2 -a "$(grep -c '^loss' "$W.out")" = 2 ]
refuse "--and = nosuch, need" eval --format nvfp4 --and nosuch
refuse "--format = nvfp4 behind --and, need it before" eval --and sq_b --format nvfp4
refuse "sq_w has\|nvfp4" eval --and nvfp4 --sparsity 0.5
refuse "--and: 17 formats, need 1..16" eval $(printf -- '--and nvfp4 %.0s' $(seq 16))
refuse "--output does not go with --and" eval --format sq_a_static --and sq_a_static -o x.safetensors
rm -f "$W/alone" "$W/nine" "$W/file.safetensors"

# ---- little to go by --------------------------------------------------------------------------------
header='{"ids":{"dtype":"I32","shape":[2],"data_offsets":[16,24]},"offsets":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}}'
tensor "$W/two.safetensors" "$header" 0
printf '\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\101\0\0\0\102\0\0\0' >>"$W/two.safetensors"
sq eval --format dense --algorithm rtn --summary --tokens two.safetensors
ok "perplexity of one token: a note" [ "$RC" = 0 -a "$(cat "$W.err")" = "sqsim eval: note: loss and perplexity \
are of 1 predicted token, which says little of a model" ]
ok "and the result" out_has '^loss .*, 1 tokens'
python3 - "$ROOT/traces/tiny-llama" "$W/zeros" <<'P'
import json, os, shutil, struct, sys
shutil.copytree(sys.argv[1], sys.argv[2])
path = os.path.join(sys.argv[2], "model.safetensors")
data = bytearray(open(path, "rb").read())
n = struct.unpack("<Q", data[:8])[0]
first, end = json.loads(data[8:8 + n])["model.layers.1.mlp.up_proj.weight"]["data_offsets"]
data[8 + n + first:8 + n + end] = bytes(end - first)
open(path, "wb").write(data)
P
says "a layer of zeros: its errors are no numbers" 'up_proj".*"relative_error":null,"sqnr_db":null' eval zeros --format dense --algorithm rtn --sequences 1 --json
ok "and every line is JSON" python3 -c "import json,sys; [json.loads(l, parse_constant=sys.exit) for l in open('$W.out')]"
sq eval zeros --format dense --algorithm rtn --sequences 1
ok "text: a dash" out_has '^model.layers.1.mlp.up_proj  *512 x 256 .* - *-$'
rm -rf "$W/zeros"

# ---- masks ----------------------------------------------------------------------------------------
accept "--output" eval --sequences 1 --calib-sequences 3 --format sq_a_static --algorithm rtn -o m.safetensors
says "inspect reads the masks: the layers are there" 'model.layers.1.mlp.down_proj.perm_hi' inspect m.safetensors --json
refuse "writes static masks" eval -o x.safetensors
refuse "does not go with --summary" eval --format sq_a_static --summary -o x.safetensors

# ---- weights through a file -----------------------------------------------------------------------
few_tokens 16 120
cp "$SQSIM_HOME/traces/tiny-llama/tokens_eval.safetensors" "$W/other.safetensors"
e --algorithm rtn --bank 16 --act-bits 4; base=$(loss)
accept "quantize" quantize --algorithm rtn --bank 16 -o rtn.safetensors
e --weights rtn.safetensors --act-bits 4
ok "eval reads what quantize wrote" [ "$(loss)" = "$base" ]
e --calib other.safetensors --act-bits 4; base=$(loss)
accept "quantize --algorithm gptq" quantize --algorithm gptq --calib other.safetensors -o w.safetensors \
  --json
ok "the algorithm is reported" out_has '"algorithm":"gptq"'
c0=$(number sqnr_db)
e --weights w.safetensors --act-bits 4
ok "eval reads what quantize --algorithm gptq wrote" [ "$(loss)" = "$base" ]
for flags in "--score c3" "--percdamp 1"; do
  sq quantize --algorithm gptq --calib other.safetensors --json $flags
  ok "quantize $flags" [ "$(number sqnr_db)" != "$c0" ]
done
sq quantize --algorithm gptq --json; ok "quantize --calib" [ "$(number sqnr_db)" != "$c0" ]

# ---- refusals -----------------------------------------------------------------------------------
rm -f "$W"/*
refuse "need dense, sq_w, sq_a_static\|sq_w" eval --format sq_x
refuse "--act-bits = 3, need 4..8 or 16" eval --act-bits 3
refuse "--bank = 129, need 4..128" eval --bank 129
refuse "bank" eval --bank 24
refuse "sparsity" eval --bank 4 --sparsity 0.9375
refuse "no banks, high or low codes" eval --format dense --bank 8
refuse "no banks, high or low codes" eval --format dense --variant own
refuse "sq_w has --high-bits" eval --weight-bits 4
refuse "has --high-bits and --low-bits" eval --format sq_a_static --act-bits 4
refuse "need --format sq_w --algorithm gptq" eval --algorithm rtn --score c0
refuse "need --format sq_w --algorithm gptq" eval --format dense --lazy
refuse "needs --algorithm gptq" eval --algorithm rtn --percdamp 0.1
refuse "needs --format sq_a_dynamic" eval --select fp
refuse "needs --format sq_a_static" eval --format sq_a_dynamic --mask-score act
refuse "16 bits need --format dense" eval --act-bits 16
refuse "needs --act-bits 16" eval --format dense --weight-bits 16
refuse "--smooth = 2, need 0..1 or none" eval --smooth 2
refuse "--smooth = off, need 0..1 or none" eval --smooth off
# One side alone, rotations, and codes of activations only.
less() { awk "BEGIN{exit !($1 < $2)}"; }
between() { awk "BEGIN{exit !($1 < $2 && $2 < $3)}"; }
kl() { # FORMAT OPTIONS: mean KL of two sequences
  sq eval --format "$@" --sequences 2 --summary --json
  number kl_mean
}
plain=$(kl dense --operand act --act-bits 4)
ok "three nibbles at one step beat two" less "$(kl sq_a_dynamic --operand act --variant split --high-bits 12)" \
  "$(kl sq_a_dynamic --operand act --variant split)"
ok "tied by a shift lies between own scales and plain INT4" between \
  "$(kl sq_a_dynamic --operand act)" "$(kl sq_a_dynamic --operand act --variant shift)" "$plain"
ok "E4M3 activations beat INT4" less "$(kl dense --operand act --act-element fp8)" "$plain"
ok "a rotation helps INT4 activations" less "$(kl dense --operand act --act-bits 4 --rotate 16)" "$plain"
ok "weights alone lose less than with INT4 activations" less "$(kl dense --operand weights --algorithm rtn)" \
  "$(kl dense --act-bits 4 --algorithm rtn)"
ok "rotated weights and activations" less "$(kl dense --act-bits 4 --algorithm rtn --rotate 16)" \
  "$(kl dense --act-bits 4 --algorithm rtn)"
ok "own weights alone" less "$(kl sq_w --operand weights --algorithm rtn)" "$(kl sq_w --act-bits 4 --algorithm rtn)"
static=$(kl sq_a_static --operand act) dynamic=$(kl sq_a_dynamic --operand act)
ok "masks per layer: static, but where elements change" between "$dynamic" \
  "$(kl sq_a_static --operand act --layer-format '*.down_proj=sq_a_dynamic')" "$static"
ok "every layer by a rule is that format" [ "$dynamic" = \
  "$(kl sq_a_static --operand act --layer-format '*=sq_a_dynamic')" ]
mixed=$(kl sq_a_static --operand act --smooth none --layer-format '*.up_proj=sq_a_dynamic')
ok "the first rule that matches counts" [ -n "$mixed" -a "$mixed" = \
  "$(kl sq_a_dynamic --operand act --smooth none --layer-format '*.up_proj=sq_a_dynamic,*=sq_a_static')" ]
ok "a rule has options of its own" less "$(kl sq_a_dynamic --operand act --layer-format '*=sq_a_dynamic:sparsity=0.5')" "$dynamic"
# Behind what was encoded before: other inputs, for a calibrated format; the first input is the same.
sq eval --format dense --act-bits 4 --sequences 2 --calib-sequences 8 --json
cp "$W.out" "$W/as_it_is"; plain=$(number kl_mean)
sq eval --format dense --act-bits 4 --sequences 2 --calib-sequences 8 --sequential --json
ok "sequential calibration is another" [ "$(number kl_mean)" != "$plain" ]
ok "but for the first input" [ "$(head -3 "$W.out")" = "$(head -3 "$W/as_it_is")" ]
ok "and different behind it" [ "$(sed -n 4p "$W.out")" != "$(sed -n 4p "$W/as_it_is")" ]
refuse "nothing here needs calibration" eval --format dense --algorithm rtn --sequential
refuse "is the first match of no layer" eval --layer-format 'nosuch=dense'
refuse "is the first match of no layer" eval --layer-format '*=dense,*.up_proj=sq_w'
refuse "is no format with values" eval --layer-format '*=nosuch'
refuse "need up to 16 of PATTERN=FORMAT" eval --layer-format 'x'
refuse "layer-format: sparsity = 2" eval --layer-format '*=sq_w:sparsity=2'
refuse "weight-bits = 16 is no encoding" eval --layer-format '*=dense:weight-bits=16:act-bits=16'
refuse "only --act-bits is free" eval --weights x.st --layer-format '*=dense'
refuse "share an input, need one smooth" eval --format sq_a_static --operand act --layer-format '*.up_proj=sq_a_dynamic'
refuse "share an input, need one smooth" eval --format dense --algorithm rtn --smooth 0.5 --layer-format '*.q_proj=sp24'
refuse "operand = act leaves the weights as they are" eval --format dense --operand act --weight-bits 4
refuse "operand = act leaves the weights as they are" eval --format dense --operand act --algorithm gptq
refuse "operand = act needs encoded activations" eval --format sq_w --operand act
refuse "operand = weights leaves activations as they are" eval --format dense --operand weights --act-bits 8
refuse "operand = weights: sq_a_dynamic encodes activations" eval --format sq_a_dynamic --operand weights
refuse "act-element = fp8 needs --operand act" eval --format dense --act-element fp8
refuse "act-bits = 4, need 8 with --act-element fp8" eval --format dense --operand act --act-element fp8 --act-bits 4
refuse "rotate needs --algorithm rtn" eval --format dense --rotate 16
refuse "rotate: static masks" eval --format sq_a_static --operand act --rotate 16
refuse "of activations only" eval --format sq_w --variant shift
refuse "high-bits/low-bits = 12/4" eval --format sq_w --variant split --high-bits 12
refuse "high-bits/low-bits = 12/4" eval --format sq_a_dynamic --high-bits 12
refuse "act-bits = 5, need 4 or 8" eval --act-bits 5
refuse "no-such" eval no-such-directory
refuse "no-such.safetensors" eval --tokens no-such.safetensors
refuse "only --act-bits is free" eval --weights x.safetensors --bank 8
refuse "no-such.safetensors" eval --weights no-such.safetensors
refuse "need --format sq_w --algorithm gptq" quantize --algorithm rtn --score c0
header='{"ids":{"dtype":"I32","shape":[2],"data_offsets":[16,24]},"offsets":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}}'
tensor "$W/t.safetensors" "$header" 0
printf '\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\0\1\0\0' >>"$W/t.safetensors"
refuse "ids\[1\] = 256, need 0..255, the vocabulary" eval --tokens t.safetensors
refuse "need 0..255" eval --calib t.safetensors --sequences 1
refuse "directory with config.json" eval "$ROOT/traces/tiny-llama/model.safetensors"
sq eval --algorithm rtn --sequences 1 --summary --json
cp "$W.out" "$W/plain"
sq eval --algorithm rtn --sequences 1 --summary --json --calib x.safetensors
ok "calibration tokens that nothing needs change nothing" cmp "$W.out" "$W/plain"
ok "and a note says so" grep -q "note: calibration tokens are not used" "$W.err"
refuse "--sequences = 0, need 1.." eval --sequences 0
# A file of encoded weights says nothing that is not in it.
for f in gqsa sp24; do
  sq quantize --format $f --algorithm rtn -o $f.safetensors
  sq eval --weights $f.safetensors --sequences 1 --summary --json
  ok "weights of $f: no recipe that the file does not have" \
    bash -c "! grep -qE '\"(prune|sparsity|scope|dense_fraction)\"' '$W.out' && grep -q '\"format\":\"$f\"' '$W.out'"
done
refuse "model directory" quantize --algorithm gptq "$ROOT/traces/tiny-llama/model.safetensors"

# ---- the KV cache in a format -------------------------------------------------------------------
ASIS="--format dense --weight-bits 16 --act-bits 16"
kv() { e $ASIS --kv-format "$@"; }
kv bf16
ok "a cache of 16 bits leaves the model as it is" [ "$(loss)" = "$reference" -a "$(number kv_stored_bits)" = 16.0 ]
kv int8; int8=$(number kl_mean)
ok "int8: 32 elements and a scale of 32 bits" [ "$(number kv_stored_bits)" = 9.0 ]
kv int4; int4=$(number kl_mean)
ok "fewer bits are further away" awk "BEGIN{exit !(0 < $int8 && 10 * $int8 < $int4)}"
kv dense:weight-bits=4:rotate=32
ok "a rotated head is nearer" awk "BEGIN{exit !(0 < $(number kl_mean) && $(number kl_mean) < $int4)}"
kv int4 --kv-keys before
ok "--kv-keys before" [ "$RC" = 0 -a "$(number kl_mean)" != "$int4" -a "$(number kv_keys)" = '"before"' ]
says "text says it: with the bits" "^KV cache in int4, 5.0000 stored bits an element, keys after rotation$" eval --sequences 1 --summary --format nvfp4 --kv-format int4
refuse "kv-format: 'int3' is no format with values" eval --kv-format int3
refuse "sq_a_static needs calibration, which a cache does not have" eval --kv-format sq_a_static
refuse "kv-keys = between, need after or before" eval --kv-format int4 --kv-keys between
refuse "--kv-keys needs --kv-format" eval --kv-keys before
e $ASIS --softmax 32
ok "softmax of the vector unit: other bits, KL below 1e-9" awk "BEGIN{exit !(0 < $(number kl_mean) && $(number kl_mean) < 1e-9 && $(number softmax_lanes) == 32)}"
e $ASIS --softmax attend
ok "attention unit: a cache in binary16, KL below 1e-6" awk "BEGIN{exit !(0 < $(number kl_mean) && $(number kl_mean) < 1e-6)}"
e $ASIS --softmax attend --kv-format int8
UNIT=$(number kl_mean)
e $ASIS --kv-format int8
ok "on an INT8 cache it adds less than a hundredth" awk "BEGIN{d = $UNIT / $(number kl_mean) - 1; exit !(d != 0 && d < .01 && d > -.01)}"
refuse "softmax = 3, need 1, 2, 4, 8, 16, 32 or 64 lanes, or attend" eval --softmax 3
PYTHON=${PYTHON:-python3}
if "$PYTHON" -c 'import numpy' 2>/dev/null; then
  "$PYTHON" tests/llm/kv_cache.py "$SQSIM_HOME/traces/tiny-llama" 2 >"$W/numpy" || { echo "Bail out! kv_cache.py"; exit 1; }
  for k in bf16 int8 int4 "int4 --kv-keys before" mxfp8 mxfp4 nvfp4; do
    sq eval --sequences 2 --summary --json $ASIS --kv-format $k
    ok "$k: loss and KL of numpy" awk -v name="$(sed 's/ --kv-keys /-/' <<<"$k")" -v loss="$(loss)" -v kl="$(number kl_mean)" '
      function near(a, b) { return a - b < 1e-4 && b - a < 1e-4 }
      $1 == name { print "# " loss " " kl ", numpy " $2 " " $3; good = near(loss, $2) && near(kl, $3) } END { exit !good }' "$W/numpy"
  done
else
  skip "caches: loss and KL of numpy" "$PYTHON has no numpy"
fi

# ---- formats in pairs -----------------------------------------------------------------------------
sq eval --sequences 4 --summary --json --format nvfp4 --and nvfp4 --and mxfp4
first() { grep '"summary"' "$W.out" | sed -n "$1p" | grep -o "\"$2\":[^,}]*" | cut -d: -f2; }
ok "the first has none" [ "$(first 1 kl_ratio)" = null ]
ok "a format against itself" [ "$(first 2 kl_ratio)$(first 2 kl_difference)" = 1.00.0 ]
ok "whose interval has no width" grep -q '"kl_ratio_95":\[1.0,1.0\],"kl_difference":0.0,"kl_difference_95":\[0.0,0.0\]' "$W.out"
ok "ratio and difference are those of both means" awk -v a="$(first 1 kl_mean)" -v b="$(first 3 kl_mean)" -v r="$(first 3 kl_ratio)" \
  -v d="$(first 3 kl_difference)" 'BEGIN{x = r - b / a; y = d - (b - a); exit !(b > a && x < 1e-9 && x > -1e-9 && y < 1e-9 && y > -1e-9)}'
sq eval --sequences 4 --summary --format nvfp4 --and mxfp4
ok "and for people" out_has "^against the first format: KL times .*, 95 % .*; +.* (in pairs over the same sequences)$"
finish
