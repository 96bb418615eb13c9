#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Encoded weights in files, every format of quantize and every way to store one: eval of the file is
# eval of the recipe bit by bit (loss, KL, errors of every layer, bits), inspect finds it valid with
# the same bits, and what no encoder writes is refused. Refusals of single codes: unit/number/test_codes_pack.c.
. "$(dirname "$0")/lib.sh"

few="--calib-sequences 2 --json"
# What eval says of the layers, and of the whole but how it came about.
said() { sed -E 's/"(format|algorithm|prune|sparsity|scope|dense_fraction|outliers|percdamp|thresholds)":.*"layer_format"/"layer_format"/' "$W.out"; }
# Under the sanitizers one in eight: each takes ten times as long there, by the same code.
N_HOLDS=0 SAMPLE=1
san && SAMPLE=8
holds() { # FORMAT OPTIONS...; 1: not in the sample
  [ $((N_HOLDS++ % SAMPLE)) = 0 ] || return 1
  sq quantize --format "$@" $few -o f.st
  ok "$*: written" [ "$RC" = 0 ]
  local bits db
  bits=$(number stored_bits_per_weight) act=$(number activation_bits)
  accept "$*: inspect" inspect f.st --json
  ok "$*: valid, the same bits" [ "$(number valid),$(number stored_bits_per_weight)" = "true,$bits" ]
  sq eval --format "$@" --sequences 1 $few
  ok "$*: the same bits in eval" [ "$(number stored_bits_per_weight),$(number activation_bits)" = "$bits,$act" ]
  said >"$W/recipe"
  accept "$*: eval of the file" eval --weights f.st --sequences 1 --json
  said >"$W/file"
  ok "$*: is eval of the recipe" cmp "$W/file" "$W/recipe"
  return 0
}
for f in $("$SQSIM" quantize --complete | awk -F '\t' '$1 == "--format" {print $3}'); do holds "$f"; done
for v in tied split fp; do holds sq_w --variant $v; done
for v in tied split shift; do
  holds sq_a_static --variant $v --sparsity 0.875
  holds sq_a_dynamic --variant $v --algorithm rtn --weight-bits 5
done
holds sq_w --lazy --score c3 --bank 16 --group row
holds sq_w --rotate 16 --algorithm rtn
holds sq_w --operand weights --low-bits 3
holds dense --operand weights --weight-bits 3 --group row
holds dense --rotate 32 --algorithm rtn
holds sq_a_static --mask-score act
holds sq_a_dynamic --select int8
holds sq_a_dynamic --select int8_mul
holds sq_a_dynamic --variant split --high-bits 12 --rotate 16 --algorithm rtn

# ---- SmoothQuant: the vector is in the file ------------------------------------------------------------
for f in dense "dense --operand weights" sq_w "sq_w --variant split" sq_a_static "sq_a_dynamic --algorithm rtn" mxfp4 \
  "sq_b --algorithm gptq"; do
  holds $f --smooth 0.25 || continue
  ok "$f: alpha is in the file" [ "$(number smooth)" = 0.25 ]
  sq eval --format $f --sequences 1 $few
  ok "$f: and does something" [ "$(number kl_mean)" != "$(tail -1 "$W/file" | grep -o '"kl_mean":[^,]*' | cut -d: -f2)" ]
done

# ---- activations of a reader's choice, and not ---------------------------------------------------------
sq quantize --format dense --algorithm rtn -o f.st
for b in 4 6 16; do
  sq eval --weights f.st --act-bits $b --sequences 1 --summary --json
  file=$(number loss)
  sq eval --format dense --algorithm rtn --act-bits $b --sequences 1 --summary --json
  ok "dense: --act-bits $b beside the file" [ "$(number loss)" = "$file" ]
done
sq quantize --format sq_a_dynamic --algorithm rtn -o f.st
refuse "--act-bits: sq_a has --high-bits and --low-bits" eval --weights f.st --act-bits 4
sq quantize --format sq_w --operand weights --algorithm rtn -o f.st
refuse "--act-bits: operand = weights leaves activations" eval --weights f.st --act-bits 4
sq quantize --format sq_w --variant fp --algorithm rtn -o f.st
refuse "fp weights need fp8 activations" eval --weights f.st --act-bits 4
rm "$W"/*
refuse "leaves the weights as they are" quantize --format dense --operand act -o x
refuse "weight-bits = 16 is no encoding" quantize --format dense --weight-bits 16 -o x
refuse "sq_w has --high-bits and --low-bits" quantize --weight-bits 4 -o x
refuse "calibration needs a model directory" quantize "$ROOT/traces/tiny-llama/model.safetensors" --smooth 0.5

# ---- files that lie ------------------------------------------------------------------------------------
# edit FROM TO: a copy of the file with another header, of the same length.
edit() { LC_ALL=C sed "s|$1|$2|" "$W/f.st" >"$W/lie" && undigested "$W/lie"; }
lies() { # PATTERN FROM TO
  edit "$2" "$3"
  ok "'$2' is there" bash -c "! cmp -s '$W/f.st' '$W/lie'"
  refuse "$1" inspect lie
}
q() { sq quantize "$@" -o f.st; ok "quantize $*" [ "$RC" = 0 ]; }
layer=model.layers.0.self_attn.q_proj
q --format sq_a_static --calib-sequences 1 --smooth 0.5
lies "metadata grid of '' is no number in 0..0" '"grid":"0"' '"grid":"1"'
lies "metadata act_grid of '' is no number in 1..4" '"act_grid":"1"' '"act_grid":"5"'
lies "high/low bits = 7/4" '"act_high":"8"' '"act_high":"7"'
lies "metadata h_low of '' is no number in 2..8" '"h_low":"4"' '"h_low":"9"'
lies "its metadata need" '"h_low":"4"' '"h_low":"3"'
lies "group = 127" '"group":"128"' '"group":"127"'
lies "high codes per bank = 9" '"k":"8"' '"k":"9"'
lies "its metadata need" '"k":"8"' '"k":"4"'
lies "metadata operand of '' is no number in 0..1" '"operand":"0"' '"operand":"2"'
lies "static masks are of channels" '"rotate":"0"' '"rotate":"1"'
lies "metadata smooth = 1.5, need 0..1" '"smooth":"0.5"' '"smooth":"1.5"'
lies "metadata smooth = nan, need 0..1" '"smooth":"0.5"' '"smooth":"nan"'
lies "tensors, more than its format knows" '"smooth":"0.5"' '"smoath":"0.5"'
lies "tensor sigma of layer '$layer' is missing" "\"$layer.sigma\"" "\"$layer.sigmo\""
lies "tensor mask of layer '$layer' is missing" "\"$layer.mask\"" "\"$layer.musk\""
lies "tensor lo of layer '$layer' is missing" "\"$layer.lo\"" "\"$layer.la\""
edit '"system":"sq_a_static"' '"system":"sq_a_statik"'
refuse "system = sq_a_statik" eval --weights lie
lies "version = 2, need 1" '"version":"1"' '"version":"2"'
q --format sq_a_dynamic --algorithm rtn
lies "metadata select of '' is no number in 1..3" '"select":"1"' '"select":"0"'
q --variant split --algorithm rtn
lies "of activations only" '"grid":"3"' '"grid":"4"'
lies "is missing\|need\|not valid" '"grid":"3"' '"grid":"5"'
lies "metadata grid of '' is no number in 1..5" '"grid":"3"' '"grid":"0"'
lies "high/low bits = 4/4" '"h_high":"8"' '"h_high":"4"'
q --format sp24 --algorithm rtn
LC_ALL=C sed 's|"producer":"golden"|"smooth":   "0.125"|' "$W/f.st" >"$W/lie" && undigested "$W/lie"
refuse "metadata smooth = 0.125, need 0..1, of a format that has it" inspect lie
finish
