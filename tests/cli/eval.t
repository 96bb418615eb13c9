#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim eval and quantize --algorithm gptq: every flag changes what it says, a file of weights gives
# the loss of the same recipe, every bad value and every option without meaning is refused.
. "$(dirname "$0")/lib.sh"

# One short sequence of the embedded model is enough to tell recipes apart.
e() { sq eval --sequences 1 --summary --json "$@"; }
g() { e --calib-sequences 3 "$@"; }
loss() { number loss; }
differs() { [ "$RC" = 0 ] && [ "$(loss)" != "$base" ]; }

accept "the model as it is" eval --sequences 1 --format dense --weight-bits 16 --act-bits 16 --json
ok "reference is named" out_has '"format":"reference"'
reference=$(loss)
e --algorithm rtn
base=$(loss)
ok "keys of the summary" out_has '"loss":.*"perplexity":.*"tokens":.*"format":"sq_w"'
ok "provenance" out_has '"provenance":{"tool":"sqsim .*"data":"real"'
ok "quantized is near the reference" \
  awk "BEGIN{d = $base - $reference; exit !(d != 0 && d < 0.2 && d > -0.2)}"
ok "perplexity is the exponential" \
  awk "BEGIN{d = $(number perplexity) - exp($base); exit !(d < 1e-9 && d > -1e-9)}"

# ---- every flag ---------------------------------------------------------------------------------
for flags in "--bank 8" "--sparsity 0.5" "--high-bits 4 --low-bits 2" "--low-bits 3" "--act-bits 4" \
  "--group 32" "--group row" "--variant tied" "--variant split" "--variant fp" \
  "--format sq_a_dynamic" "--format dense" \
  "--format dense --weight-bits 6" "--format dense --act-bits 5"; do
  e --algorithm rtn $flags
  ok "$flags" differs
done
cp "$ROOT/traces/tiny-llama/tokens_eval.safetensors" "$W/other.safetensors"
cp "$ROOT/traces/tiny-llama/tokens_calib.safetensors" "$W/calib.safetensors"
e --algorithm rtn --tokens calib.safetensors; ok "--tokens" differs
e --algorithm rtn --sequences 2; ok "--sequences" differs
g; ok "--algorithm gptq is the default" differs
base=$(loss)
for flags in "--score c1" "--score c2" "--score c3" "--lazy" "--percdamp 0.5" "--smooth 0.5" \
  "--calib other.safetensors" "--format sq_a_static"; do
  g $flags; ok "$flags" differs
done
e --calib-sequences 2; ok "--calib-sequences" differs
g --calib calib.safetensors; ok "--calib is the one beside the model" [ "$(loss)" = "$base" ]
g --score c0; ok "--score c0 is the default" [ "$(loss)" = "$base" ]
g --jobs 3; ok "--jobs changes nothing" [ "$(loss)" = "$base" ]
e --format sq_a_dynamic --algorithm rtn; base=$(loss)
e --format sq_a_dynamic --algorithm rtn --select int8; ok "--select int8" differs
g --format sq_a_static --algorithm rtn; base=$(loss)
g --format sq_a_static --algorithm rtn --mask-score act; ok "--mask-score act" differs

# ---- layers -------------------------------------------------------------------------------------
sq eval --sequences 1 --calib-sequences 3 --json --format sq_a_static --algorithm rtn
ok "one line per layer and a summary" [ "$(wc -l <"$W.out")" = 15 ]
ok "metrics of a layer" grep -q '"relative_error":0\.[0-9]*,"sqnr_db":[0-9.]*,"mask_recall":0\.' "$W.out"
sq eval --sequences 1 --algorithm rtn
ok "text: a line per layer" grep -q '^model.layers.1.mlp.down_proj  *256 x 512 ' "$W.out"
ok "text: the loss" grep -q '^loss [0-9.]* nats per token, perplexity' "$W.out"

# ---- masks ----------------------------------------------------------------------------------------
accept "--output" eval --sequences 1 --calib-sequences 3 --format sq_a_static --algorithm rtn -o m.safetensors
accept "inspect reads the masks" inspect m.safetensors --json
ok "the layers are there" out_has 'model.layers.1.mlp.down_proj.perm_hi'
refuse "writes static masks" eval -o x.safetensors
refuse "does not go with --summary" eval --format sq_a_static --summary -o x.safetensors

# ---- weights through a file -----------------------------------------------------------------------
e --algorithm rtn --bank 16 --act-bits 4; base=$(loss)
accept "quantize" quantize --bank 16 -o rtn.safetensors
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
refuse "--smooth = 2, need 0..1" eval --smooth 2
refuse "act-bits = 5, need 4 or 8" eval --act-bits 5
refuse "no-such" eval no-such-directory
refuse "no-such.safetensors" eval --tokens no-such.safetensors
refuse "only --act-bits is free" eval --weights x.safetensors --bank 8
refuse "no-such.safetensors" eval --weights no-such.safetensors
refuse "need --algorithm gptq" quantize --score c0
refuse "need --algorithm gptq" quantize --calib x
header='{"ids":{"dtype":"I32","shape":[2],"data_offsets":[16,24]},"offsets":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}}'
tensor "$W/t.safetensors" "$header" 0
printf '\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\0\1\0\0' >>"$W/t.safetensors"
refuse "ids\[1\] = 256, need 0..255, the vocabulary" eval --tokens t.safetensors
refuse "need 0..255" eval --calib t.safetensors --sequences 1
refuse "directory with config.json" eval "$ROOT/traces/tiny-llama/model.safetensors"
refuse "nothing here needs calibration" eval --algorithm rtn --calib x.safetensors
refuse "nothing here needs calibration" eval --algorithm rtn --calib-sequences 2
refuse "--sequences = 0, need 1.." eval --sequences 0
refuse "model directory" quantize --algorithm gptq "$ROOT/traces/tiny-llama/model.safetensors"
finish
