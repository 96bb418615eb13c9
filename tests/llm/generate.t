#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim generate: the golden model, both bodies of the cycle model and the RTL write the same text with the same
# logits, in the cycles of `sqsim run`; options change what they say; refusals. tests/unit/llm/test_generate.c has formats
# and the comparison with eval.
. "$(dirname "$0")/../cli/lib.sh"

export OMP_NUM_THREADS=1
g() { sq generate --prompt 'The ' --json "$@"; }
short() { sq generate --prompt T --json "$@"; } # half the steps
logits() { tail -1 "$W.out" | sed 's/.*"logits":"\([^"]*\)".*/\1/'; }
text() { tail -1 "$W.out" | sed 's/.*"text":"\([^"]*\)".*/\1/'; }

g --format nvfp4 --tokens 24
ok "the model goes on" [ "$(text)" = "little girl was so happy" ]
g --format nvfp4 --tokens 3
golden=$(logits)
for on in chip stepping rtl; do
  g --format nvfp4 --tokens 3 --on $on
  ok "$on: the logits of the golden model" [ "$RC$(logits)" = "0$golden" ]
  ok "$on: the same cycles" [ "$(number cycles)" = "${cycles:=$(number cycles)}" ]
done
second=$(sed -n 2p "$W.out" | sed 's/.*"cycles":\([0-9]*\).*/\1/')
sq run --machine chip --format nvfp4 --m 1 --json
ok "a token takes the cycles of run" [ "$(number cycles)" = "$second" ]
# The program of a token: all of it on the chip, one doorbell a token; other bits, the text of these scales.
token=(--format nvfp4 --act-scale token2 --vector)
g "${token[@]}" --tokens 24
ok "the program of a token: the same text" [ "$(text)" = "little girl was so excit" ]
g "${token[@]}" --tokens 2
vector=$(logits)
g --format nvfp4 --tokens 2
ok "... by other logits" [ -n "$vector" -a "$vector" != "$(logits)" ]
g "${token[@]}" --tokens 2 --on chip
ok "... chip: those logits" [ "$RC$(logits)" = "0$vector" ]
short "${token[@]}" --tokens 2
golden=$(logits) cycles=
for on in chip stepping rtl; do
  short "${token[@]}" --tokens 2 --on $on
  ok "... $on: the logits of its steps by models/" [ "$RC$(logits)" = "0$golden" ]
  ok "... $on: 92 descriptors a token, the same cycles" [ "$(number layers)+$(number passes),$(number cycles)" = "42+234,${cycles:=$(number cycles)}" ]
  moves=$(sed -n 2p "$W.out" | grep -o '"moves":"[^"]*"')
  [ $on = chip ] || ok "... $on: every beat of the bus in its cycle" [ -n "$moves" -a "$moves" = "${first:=$moves}" ]
done
g "${token[@]}" --kv-format int8 --tokens 24
ok "... a cache of INT8: the same text" [ "$(text)" = "little girl was so excit" ]
g "${token[@]}" --kv-format int8 --tokens 2
int8=$(logits)
ok "... by other logits" [ "$int8" != "$vector" ]
for on in chip rtl; do
  [ $on = chip ] || daily "the RTL with a cache of INT8" || continue
  g "${token[@]}" --kv-format int8 --tokens 2 --on $on
  ok "... $on: the logits of its steps by models/" [ "$RC$(logits)" = "0$int8" ]
done
sed 's/rows: .*/rows: 1/; s/cols: .*/cols: 1/' "$ROOT/sim/machines/chip.yaml" >"$W/one.yaml"
for format in "dense --weight-bits 8" "sq_w --algorithm rtn" "sq_b --act-scale token2" "gqsa --algorithm rtn --prune magnitude"; do
  m=() golden=
  [[ $format = gqsa* ]] && m=(--machine one.yaml)
  for on in golden chip rtl; do
    [ $on = golden ] || [[ $format = gqsa* ]] || daily "$on: the program of a token in $format" || continue
    # shellcheck disable=SC2086
    if [ $on = golden ]; then short --vector --format $format --tokens 2; else short --vector --format $format --tokens 2 --on $on "${m[@]}"; fi
    ok "... $on: $format, the logits of its steps by models/" [ "$RC$(logits)" = "0${golden:=$(logits)}" ]
  done
done
sed 's/  writes: .*/&\n  attend: 1\n  head: 32\n  cache: int8/' "$ROOT/sim/machines/chip.yaml" >"$W/attend.yaml"
g "${token[@]}" --machine attend.yaml --tokens 2 --on chip
ok "... a machine that says so, a query at a time" [ "$RC$(logits)" = "0$int8" ]
refuse "--kv-format with machine chip, whose chip.attend says it" generate --prompt T "${token[@]}" --machine attend.yaml --kv-format int8 --on chip
refuse "--kv-format has no use without --vector" generate --prompt T --format nvfp4 --kv-format int8
refuse "the program of a token takes a format, and inputs that are not divided (--smooth)" generate --prompt T --format sq_w --algorithm rtn --smooth 0.5 --vector --on chip
refuse "the chip's encoder makes INT8" generate --prompt T --format nvfp4 --vector --on chip
g --format sq_a_dynamic --algorithm rtn --tokens 2
golden=$(logits)
g --format sq_a_dynamic --algorithm rtn --tokens 2 --on chip
ok "calibrated, by codes: the logits of the golden model" [ "$(logits)" = "$golden" ]

g --tokens 12 --temperature 3 --format mxfp4
first=$(text)
g --tokens 12 --temperature 3 --format mxfp4 --seed 1
ok "a seed draws the same text" [ "$(text)" = "$first" ]
g --tokens 12 --temperature 3 --format mxfp4 --seed 2
ok "another seed another one" [ "$(text)" != "$first" ]
g --tokens 12 --temperature 1e-3 --format mxfp4
cold=$(text)
g --tokens 12 --format mxfp4
ok "without heat the most likely one" [ "$(text)" = "$cold" ]
# The end of a text: a number or a list, of generation_config.json before config.json. Tokens behind it are not counted.
cp -r "$SQSIM_HOME/traces/tiny-llama" "$W/m"
chmod -R u+w "$W/m"
ends() { # WANT TEXT: of m as it is now
  sq generate m --prompt 'The ' --json --format nvfp4 --tokens 24
  ok "$3: ends" [ "$(text),$(tail -1 "$W.out" | grep -o '"tokens":[0-9]*')" = "$1,\"tokens\":$2" ]
}
sed -i 's/"eos_token_id": 0/"eos_token_id": 103/' "$W/m/config.json"
ends 'little ' 8 "a number"
sed -i 's/"eos_token_id": 103/"eos_token_id": [2, 116]/' "$W/m/config.json"
ends li 3 "a list"
echo '{"eos_token_id": [101]}' >"$W/m/generation_config.json"
ends littl 6 "generation_config.json"
echo '{"eos_token_id": ["x"]}' >"$W/m/generation_config.json"
refuse "generation_config.json: eos_token_id, need numbers" generate m --prompt a
# Special tokens of a template, before the text and behind it, whatever their number.
rm "$W/m/generation_config.json"
python3 - "$W/m" <<'END'
import json, sys
chars = [c for c in range(256) if 33 <= c <= 126 or 161 <= c <= 172 or 174 <= c]
letter = {**{c: chr(c) for c in chars}, **{c: chr(256 + i) for i, c in enumerate(c for c in range(256) if c not in chars)}}
names = ["<a>", "<b>", "<c>"]
json.dump({"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
  "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<a>", "type_id": 0}}, {"SpecialToken": {"id": "<b>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<c>", "type_id": 0}}],
    "pair": [], "special_tokens": {n: {"id": n, "ids": [84 + 20 * i], "tokens": [n]} for i, n in enumerate(names)}},
  "model": {"type": "BPE", "vocab": {letter[i]: i for i in range(256)}, "merges": []}}, open(sys.argv[1] + "/tokenizer.json", "w"))
END
sq generate m --prompt 'xh' --json --format nvfp4 --tokens 1
ok "two before, one behind" [ "$(number prompt_tokens)" = 5 ]
around=$(logits)
rm "$W/m/tokenizer.json"
sed -i 's/"bos_token_id": 0/"bos_token_id": 84/' "$W/m/config.json"
sq generate m --prompt 'hxh|' --json --format nvfp4 --tokens 1
ok "in their order" [ "$(logits)" = "$around" ]
if [ -w /dev/full ]; then
  "$SQSIM" generate --prompt a --tokens 2 --format nvfp4 >/dev/full 2>"$W.err"
  ok "a full disk is called that" [ $? = 2 -a "$(grep -c 'No space left on device' "$W.err")" = 1 ]
fi
says "for people: ... text" '^The li$' generate --prompt 'The ' --format nvfp4 --tokens 2 --on chip
ok "... where the cycles went" out_has '28 layers of a chip with 2 x 4 PEs (chip), [0-9]* cycles: the engine multiplies in'
ok "... and whose clock it is" out_has 'tokens a second behind the prompt at 1000 MHz, a clock that chip says and no netlist'
accept "the model as it is" generate --prompt '' --format dense --weight-bits 16 --act-bits 16 --tokens 2
# Unquantized it writes what an independent program takes for the most likely token each time, given those before.
if ! "${PYTHON:-python3}" -c 'import numpy' 2>/dev/null; then skip "64 tokens of numpy" "no numpy"
else
  sq generate --prompt 'To be' --tokens 64 --format dense --weight-bits 16 --act-bits 16 --algorithm rtn --json
  "${PYTHON:-python3}" tests/llm/numpy_llama.py traces/tiny-llama 0 $(printf 'To be' | od -An -tu1) \
    $(sed -n 's/.*"id":\([0-9]*\),.*/\1/p' "$W.out") | tail -64 >"$W/numpy"
  ok "64 tokens of numpy" [ "$(awk '$1 == $2' "$W/numpy" | wc -l)" = 64 ]
fi

# A checkpoint that another program quantized: its own codes, which are those of the direct way here.
sq quantize --as modelopt --format nvfp4 --act-scale static -o q
g --format nvfp4 --act-scale static --tokens 3
golden=$(logits)
for on in golden chip rtl; do
  [ $on != rtl ] || daily "the RTL with the codes of the file" || continue
  sq generate q --prompt 'The ' --json --tokens 3 --on $on
  ok "$on: the codes of the file give the logits of the direct way" [ "$(logits)" = "$golden" ]
  ok "... and are said to be taken" grep -q 'modelopt NVFP4: 14 of 14 layers are held code by code, by nvfp4' "$W.err"
done
g --weights q --tokens 3
ok "--weights of another model takes them, too" [ "$(logits)" = "$golden" ]
sq generate q --prompt 'The ' --json --tokens 3 --format nvfp4
ok "--format encodes the values again" grep -q 'their values are encoded again' "$W.err"
sq run q --json
ok "run takes the format of the file" out_has '"format":"nvfp4"'
refuse "--weights FILE says the format" generate --prompt a --weights q --format nvfp4
refuse "--weights FILE says the format" generate --prompt a --weights q --calib q/tokens_calib.safetensors

refuse "--prompt" generate
refuse "--tokens = 0" generate --prompt a --tokens 0
refuse "--on = gpu" generate --prompt a --on gpu
refuse "a prompt of 2 tokens and 256 more, need at most 257 together" generate --prompt a --tokens 256
refuse "spqr: the chip does not run its layers" generate --prompt a --format spqr --on chip
refuse "has no key 'chip'" generate --prompt a --on chip --format nvfp4 --machine default
refuse "--machine has no use" generate --prompt a --machine chip
refuse "sqsim generate: " generate --prompt a "$ROOT/traces/tiny-llama/model.safetensors"
finish
