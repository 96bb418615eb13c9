#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checkpoints that other programs quantized. Each method of foreign_write.py, which computes the values of its random
# codes by itself: the model as it is has the loss of the same weights as plain floats to the last digit; a format
# of ours holds the codes where one can, and its loss is that of a file of ours with the same codes. 90 damaged and
# contradictory files are refused, each by name. Bits of the file go through RTL.
. "$(dirname "$0")/../cli/lib.sh"
WRITE="python3 $ROOT/tests/llm/foreign_write.py"
trap 'chmod -R u+w "$W"; rm -rf "$W" "$W".*' EXIT
# Notes aside: what is said of the weights is in $W.notes.
sq() {
  sq_all "$@"
  grep ': note: ' "$W.err" >"$W.notes"
  sed -i '/: note: /d; /^sqsim: bubblewrap (bwrap) does not run here/d' "$W.err"
}
AS_IT_IS="--format dense --weight-bits 16 --act-bits 16 --json"

# method NAME HELD: a part of what is said of it.
method() {
  local name=$1 held=$2
  $WRITE "$name" "$W/$name" || { echo "Bail out! foreign_write.py $name"; exit 1; }
  Q=$name/q
  if [[ $name == gguf-* ]]; then
    python3 "$ROOT/tests/llm/gguf_write.py" "$W/$Q" "$W/$Q/m.gguf" || { echo "Bail out! gguf_write.py"; exit 1; }
    Q=$Q/m.gguf
  fi
  sq eval "$Q" $AS_IT_IS
  got=$(number loss)
  sq eval "$name/f" $AS_IT_IS
  ok "$name: the values of its definition" [ -n "$got" -a "$got" = "$(number loss)" ]
  sq eval "$Q" --summary --json
  loss=$(number loss)
  ok "$name: $held" grep -qF "$held" "$W.notes"
  case $held in *_g[0-9]*) ok "... whose values are these" awk "BEGIN {exit !($(number kl_mean) < 1e-11)}" ;; esac
}
# superblocks NAME: in the layer whose rows have 256 columns, beside Q8_0 of the others.
superblocks() {
  method "$1" "7 of 7 layers are held code by code, by int8_g32_f16 (weights alone)"
}
# ours NAME: its codes in a file of ours.
ours() {
  sq quantize "$Q" -o "$1.st"
  sq eval "$Q" --weights "$1.st" --summary --json
  ok "$1: the same loss from a file of ours" [ "$(number loss)" = "$loss" ]
}
while read -r name held; do
  method "$name" "$held"
  case $held in *held*) ours "$name" ;; esac
done <<'END'
ct-nvfp4 held code by code, by nvfp4 (both operands)
ct-nvfp4-a16 held code by code, by nvfp4 (weights alone)
ct-mxfp4 held code by code, by mxfp4 (weights alone)
ct-w8a8 held code by code, by dense W8A8 (both operands)
ct-w4a16 held code by code, by dense W4 (weights alone)
ct-w4a8 held code by code, by dense W4A8 (both operands)
modelopt-nvfp4 held code by code, by nvfp4 (both operands)
fp8-block its scales are no powers of two
fp8-ue8m0 held code by code, by mxfp8 (weights alone)
ct-w8a8-zero it has zero points
ct-w3 held code by code, by dense W3
gptq held code by code, by dense W4 (weights alone)
gptq-mislabelled every zero point is stored as 8, which gptq (checkpoint_format) would make 9
gptq-order its columns are in groups by g_idx
awq held code by code, by int4_zero_g64_f16 (weights alone)
bnb-nf4-double its values are a table of floats
ct-mxfp6 held code by code, by mxfp6 (weights alone)
ct-names 6 of 7 layers are multiplied as the values
ct-rotated held code by code, by dense W4 (weights alone)
gptq-4-least held code by code, by int4_zero_g64_f16 (weights alone)
gptq-dynamic 1 of 7 layers are multiplied as the values
gguf-mxfp4 held code by code, by mxfp4 (weights alone)
gguf-nvfp4 held code by code, by nvfp4 (weights alone)
gguf-q4_0 held code by code, by int4_g32_f16 (weights alone)
gguf-q5_0 held code by code, by int5_g32_f16 (weights alone)
gguf-q8_0 held code by code, by int8_g32_f16 (weights alone)
gguf-q4_1 held code by code, by int4_min_g32_f16 (weights alone)
gguf-q5_1 held code by code, by int5_min_g32_f16 (weights alone)
END
superblocks gguf-q4_k
superblocks gguf-q6_k
if daily "the other variants"; then
  superblocks gguf-q2_k
  superblocks gguf-q3_k
  superblocks gguf-q5_k
  while read -r name held; do
    method "$name" "$held"
  done <<'END'
ct-fp8-channel its scales are no powers of two
ct-w3-loose held code by code, by dense W3 (weights alone)
quark-mxfp4 held code by code, by mxfp4 (weights alone)
ct-mxfp8 held code by code, by mxfp8 (both operands)
ct-fp8-block its scales are no powers of two
ct-w4a16-zero held code by code, by int4_zero_g64_f16 (weights alone)
ct-fp8-tensor its scales are no powers of two
ct-w8a8-lowest a code is -128
ct-w3-loose-zero held code by code, by int3_zero_g32_f16 (weights alone)
ct-w5-loose-zero held code by code, by int5_zero_g64_f16 (weights alone)
ct-w6-loose-zero held code by code, by int6_zero_g64_f16 (weights alone)
ct-w4a16-none held code by code, by dense W4 (weights alone)
ct-w4afp8 the file has activations of 8-bit floats beside weights of integers
ct-fp8-text its scales are no powers of two
gptq-2-least held code by code, by int2_zero_g64_f16 (weights alone)
gptq-3-least held code by code, by int3_zero_g64_f16 (weights alone)
gptq-8-least held code by code, by int8_zero_g64_f16 (weights alone)
gptq-v2-least held code by code, by int4_zero_g64_f16 (weights alone)
ct-w4a16-lowest held code by code, by dense W4
ct-w4a16-order its columns are in groups by g_idx
ct-w8a16 held code by code, by dense W8
modelopt-fp8 its scales are no powers of two
fp8-power held code by code, by mxfp8 (weights alone)
fp8-e5m2 its scales are no powers of two
gptq-zero held code by code, by int4_zero_g64_f16 (weights alone)
gptq-v2 held code by code, by int4_zero_g64_f16 (weights alone)
gptq-8 a code is -128
gptq-3 held code by code, by dense W3
bnb-nf4 its values are a table of floats
END
fi

# What the package compressed-tensors itself writes, of the embedded model.
if daily "files of the package compressed-tensors"; then
  if "${PYTHON:-python3}" -c 'import compressed_tensors, safetensors, torch' 2>/dev/null; then
    "${PYTHON:-python3}" "$ROOT/tests/llm/foreign_packages.py" "$ROOT/traces/tiny-llama" "$W/package" >"$W.list" || { echo "Bail out! foreign_packages.py"; exit 1; }
    while read -r name; do
      cp "$ROOT"/traces/tiny-llama/tokens_* "$W/package/$name/q"
      cp "$ROOT"/traces/tiny-llama/tokens_* "$W/package/$name/f"
      sq eval "package/$name/q" $AS_IT_IS --sequences 4
      got=$(number loss)
      sq eval "package/$name/f" $AS_IT_IS --sequences 4
      ok "$name: the values of the package's own decoder" [ -n "$got" -a "$got" = "$(number loss)" ]
    done <"$W.list"
    rm -rf "$W/package"
  else
    skip "values of the package's own decoder" "${PYTHON:-python3} has no compressed_tensors: pip install compressed-tensors torch"
  fi
fi

# Bits of the file: a code of -8 takes no fifth bit, and scales have 16; a decode reads as many bytes, and lm_head in 16 bits.
$WRITE ct-w4a16-lowest "$W/bits"
sq eval bits/q --summary --json
ok "4 bits and 16 of 64 columns" [ "$(number stored_bits_per_weight)" = 4.25 ]
sq run bits/q --phase decode --operand both --act-bits 8 --json
ok "and in a decode" [ "$(number stored_bits_per_weight),$(number weights_bytes)" = "4.25,$(((3 * 128 * 256 + 3 * 128 * 128) * 17 / 32 + 2 * 128 * 256))" ]
sq run bits/q --operand both --act-bits 8 --json
ok "and on a machine" [ "$(number stored_bits_per_weight)" = 4.25 ]
sed -i 's/"quant_method"/"new_key": 1, "quant_method"/; s/"weights": {/"weights": {"newer": 2, /' "$W/bits/q/config.json"
sq eval bits/q --summary --json
ok "keys that nobody knows are listed" grep -q 'has keys that are not known and not used: new_key, newer$' "$W.notes"
# The bytes of the file are those that our file holds.
ok "codes and scales are the bytes of the file" python3 - "$W/ct-nvfp4/q/model.safetensors" "$W/ct-nvfp4.st" <<'END'
import json, struct, sys
def load(path):
    data = open(path, "rb").read()
    n, = struct.unpack("<Q", data[:8])
    head = json.loads(data[8:8 + n])
    head.pop("__metadata__", None)
    return {k: data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]] for k, v in head.items()}
a, b = load(sys.argv[1]), load(sys.argv[2])
layers = [k[:-6] for k in b if k.endswith(".codes")]
g = lambda x: struct.unpack("<f", x)[0]
sys.exit(not (len(layers) == 7 and all(
    b[n + ".codes"] == a[n + ".weight_packed"] and b[n + ".scale"] == a[n + ".weight_scale"] and
    b[n + ".global"] == struct.pack("<f", 1 / g(a[n + ".weight_global_scale"])) and
    b[n + ".act_global"] == struct.pack("<f", 1 / g(a[n + ".input_global_scale"])) for n in layers)))
END
sq inspect ct-nvfp4/q --json
ok "inspect names convention and format" [ "$(grep -o '"convention":"compressed-tensors NVFP4","format":"nvfp4"' "$W.out" | wc -l)" = 7 ]
$WRITE ct-nvfp4-reciprocal "$W/r"
sq inspect r/q
ok "a reciprocal scale is noticed" grep -q 'weight_global_scale. = 0.0001: divided by it, as compressed-tensors has it, .* the file may hold the reciprocal' "$W.notes"
sq eval ct-mxfp4/q --format nvfp4 --summary
ok "values that are encoded again are said to be" grep -q 'quantized already (compressed-tensors MXFP4): their values are encoded again' "$W.notes"

# What quantize --as writes comes back with the same codes: the loss is that of a file of ours.
as() { # PROGRAM OPTIONS...
  local program=$1 to=as; shift
  [ "$program" = gguf ] && to=as/m.gguf
  rm -rf "$W/as" && mkdir "$W/as" && cp "$W"/ct-nvfp4/f/tokens_* "$W/as"
  sq quantize ct-nvfp4/f --as "$program" "$@" --algorithm rtn -o $to
  ok "--as $program $*" [ "$RC" = 0 ]
  sq quantize ct-nvfp4/f "$@" --algorithm rtn -o as.st
  sq eval ct-nvfp4/f --weights as.st --summary --json
  loss=$(number loss)
  sq eval ct-nvfp4/f --weights $to --summary --json
  ok "has the loss of a file of ours" [ -n "$loss" -a "$(number loss)" = "$loss" ]
  rm -f "$W/as.st"
}
as modelopt --format nvfp4 --act-scale static
as compressed-tensors --format mxfp4
as compressed-tensors --format dense
as gguf --format mxfp4 --operand weights
as gguf --format nvfp4 --act-scale static
if daily "other formats as other programs have them"; then
  as modelopt --format nvfp4 --operand weights --scale-by weights
  as modelopt --format nvfp4_46 --operand weights
  as compressed-tensors --format mxfp8
  as compressed-tensors --format dense --operand weights
  as compressed-tensors --format dense --weight-bits 8 --group row
  as compressed-tensors --format dense --weight-bits 8 --operand weights --group 32
  if "${PYTHON:-python3}" -c 'import compressed_tensors, safetensors, torch' 2>/dev/null; then
    for format in "nvfp4 --operand weights" "nvfp4 --act-scale static" mxfp4 mxfp8 "dense --operand weights" "dense --weight-bits 8 --group row"; do
      rm -rf "$W/as" "$W/decoded" && mkdir "$W/as"
      sq quantize --as compressed-tensors --format $format --algorithm rtn -o as
      "${PYTHON:-python3}" "$ROOT/tests/llm/foreign_packages.py" decode "$W/as" "$W/decoded" || { echo "Bail out! foreign_packages.py decode"; exit 1; }
      cp "$ROOT"/traces/tiny-llama/tokens_* "$W/as"
      cp "$ROOT"/traces/tiny-llama/tokens_* "$W/decoded"
      sq eval as $AS_IT_IS --sequences 4
      got=$(number loss)
      sq eval decoded $AS_IT_IS --sequences 4
      ok "--as compressed-tensors --format $format: the package decodes the same weights" [ -n "$got" -a "$got" = "$(number loss)" ]
    done
    rm -rf "$W/decoded"
  else
    skip "the package decodes what is written" "${PYTHON:-python3} has no compressed_tensors: pip install compressed-tensors torch"
  fi
fi
mkdir -p "$W/as"
sq quantize ct-nvfp4/f --as compressed-tensors --format nvfp4 --operand weights -o as
ok "a scale that is no reciprocal is told of, or there is none" [ "$RC" = 0 ]
refuse "as = modelopt: of mxfp4, need blocks of 16 in FP4" quantize ct-nvfp4/f --as modelopt --format mxfp4 -o as
refuse "as = compressed-tensors: a scale of each token .* need --act-scale static or --operand weights" quantize ct-nvfp4/f --as compressed-tensors --format nvfp4 -o as
refuse "no place for layers of gqsa" quantize ct-nvfp4/f --as compressed-tensors --format gqsa --algorithm rtn -o as
refuse "with 5 bits, need integers of 4 or 8" quantize ct-nvfp4/f --as compressed-tensors --format dense --weight-bits 5 -o as
refuse "as = gguf: of mxfp8 no type has the blocks" quantize ct-nvfp4/f --as gguf --format mxfp8 --operand weights -o x
refuse "as = gguf: it says nothing of activations, need --operand weights" quantize ct-nvfp4/f --as gguf --format mxfp4 -o x
refuse "nothing of activations but a constant scale, need --operand weights or --act-scale static" quantize ct-nvfp4/f --as gguf --format nvfp4 -o x
refuse "need a number of binary16" quantize ct-nvfp4/f --as gguf --format dense --weight-bits 8 --group 32 --operand weights --algorithm rtn -o x
refuse "like = ggml: Q8_0, need" quantize --format dense --like ggml --algorithm rtn
refuse "is a file, need a folder" quantize ct-nvfp4/f --as modelopt --format nvfp4 --operand weights -o ct-nvfp4.st
refuse "cannot make the folder 'no/where'" quantize ct-nvfp4/f --as modelopt --format nvfp4 --operand weights -o no/where
# All of it or nothing, and no file that a link of MODEL leads to.
cp -r "$W/ct-nvfp4/f" "$W/links"; rm -f "$W"/links/tokens_*
echo secret >"$W/secret"; ln -s ../secret "$W/links/chat_template.jinja"; ln -s /dev/zero "$W/links/merges.txt"; echo '{}' >"$W/links/vocab.json"
MXFP4="--format mxfp4 --algorithm rtn"
sq quantize links --as compressed-tensors $MXFP4 -o linked
ok "links are not followed, with a note" grep -q 'links in MODEL are not followed, so the folder lacks: merges.txt, chat_template.jinja' "$W.notes"
ok "files beside them are copied" [ "$RC" = 0 -a "$(ls -m "$W/linked")" = "config.json, model.safetensors, vocab.json" ]
mkdir -p "$W"/hub/{blobs,snapshots}; mv "$W/links" "$W/hub/snapshots/1"; echo blob >"$W/hub/blobs/ab"
ln -sf ../../blobs/ab "$W/hub/snapshots/1/chat_template.jinja"; rm -rf "$W/linked"
sq quantize hub/snapshots/1 --as compressed-tensors $MXFP4 -o linked
ok "but into the blobs of a snapshot" [ "$(cat "$W/linked/chat_template.jinja")" = blob -a ! -e "$W/linked/merges.txt" ]
mkfifo "$W/hub/snapshots/1/tokenizer.model"; rm -rf "$W/linked"
refuse "tokenizer.model': it is no regular file" quantize hub/snapshots/1 --as compressed-tensors $MXFP4 -o linked
rm "$W/hub/snapshots/1/tokenizer.model"; mkdir -p "$W/linked/config.json"; echo old >"$W/linked/model.safetensors"
refuse "config.json': it is a directory" quantize hub/snapshots/1 --as compressed-tensors $MXFP4 -o linked
rmdir "$W/linked/config.json"; mkfifo "$W/linked/config.json"
refuse "config.json': it is no regular file" quantize hub/snapshots/1 --as compressed-tensors $MXFP4 -o linked
mv "$W/hub/snapshots/1/config.json" "$W/real.json"; ln -s ../../../real.json "$W/hub/snapshots/1/config.json"; rm -r "$W/linked"
refuse "config.json of MODEL is a link, need a file" quantize hub/snapshots/1 --as compressed-tensors $MXFP4 -o linked
rm -rf "$W/hub" "$W/real.json" "$W/linked" "$W/secret"
refuse "as needs --output" quantize ct-nvfp4/f --as modelopt --format nvfp4 --operand weights
rm -rf "$W/as"

# A model that is quantized in part.
$WRITE modelopt-nvfp4 "$W/part" model.layers.0.self_attn.o_proj model.layers.0.mlp.down_proj
sq eval part/q --summary --json
ok "a layer that is not quantized stays as it is" grep -q 'held code by code, by nvfp4' "$W.notes"
ok "and is named" grep -q '2 of 7 layers are multiplied as the values they stand for; model.layers.0.self_attn.o_proj: it is not quantized' "$W.notes"
refuse "o_proj is kept as the values that its file stores" cosim --layers part/q --m 1 --layer '*o_proj'
refuse "2 of 7 layers are in no format of ours" quantize part/q -o x
refuse "no format holds the codes of 'ct-w8a8-zero/q' .model.layers.0.self_attn.q_proj: it has zero points" cosim --layers ct-w8a8-zero/q --m 1
refuse "no format holds the codes of 'ct-w8a8-zero/q'" image ct-w8a8-zero/q
# Codes and zero points of the file go through the RTL of an engine, and of the chip.
refuse "no block multiplies binary32, need both" cosim --layers awq/q --m 1
accept "AWQ in the RTL of the engine" cosim --layers awq/q --operand both --m 1
ok "... 0 differences" grep -q 'PASS: 7 layers.* 0 value mismatches, 0 cycle mismatches' "$W.out"
accept "AWQ in the RTL of the chip" cosim --block top --layers awq/q --operand both --m 1 --layer '*k_proj'
ok "... 0 differences" grep -q 'PASS: 1 layers.* 0 value mismatches, 0 cycle mismatches' "$W.out"
accept "Q4_0 of a GGUF file in the RTL of the engine" cosim --layers gguf-q4_0/q/m.gguf --operand both --m 1 --layer '*k_proj'
ok "... 0 differences" grep -q 'PASS: 1 layers.* 0 value mismatches, 0 cycle mismatches' "$W.out"
accept "Q4_1 of a GGUF file in the RTL of the engine" cosim --layers gguf-q4_1/q/m.gguf --operand both --m 1 --layer '*k_proj'
ok "... 0 differences" grep -q 'PASS: 1 layers.* 0 value mismatches, 0 cycle mismatches' "$W.out"
refuse "blocks.1.scale of integers, need weights or act" cosim --layers gguf-q4_k/q/m.gguf --operand both --m 1 --layer '*down_proj'
refuse "weights FILE says the format" eval ct-nvfp4/f --weights ct-nvfp4/q --bank 32
refuse "holds plain weights, need encoded layers" eval ct-nvfp4/f --weights ct-nvfp4/f

# Experts of gpt-oss in a file without a config.
$WRITE gpt-oss "$W/oss.safetensors"
accept "experts of gpt-oss" quantize oss.safetensors -o oss.st
ok "are layers of MXFP4" [ "$(grep -c 'gate_up_proj.[012] .*4.2500' "$W.out")" = 3 ]
bytes() { tail -c +$((1 + $(place "$W/$1" "model.layers.0.mlp.experts.gate_up_proj$2") + $4)) "$W/$1" | head -c "$3" | od -An -v -tx1; }
for e in 0 1 2; do
  ok "... expert $e has its codes and scales" [ "$(bytes oss.st .$e.codes 1024 0; bytes oss.st .$e.scale 64 0)" = "$(bytes oss.safetensors _blocks 1024 $((1024 * e)); bytes oss.safetensors _scales 64 $((64 * e)))" ]
done

# ---- refusals -------------------------------------------------------------------------------
mkdir "$W/damaged"
$WRITE damaged "$W/damaged" >"$W.list" || { echo "Bail out! foreign_write.py damaged"; exit 1; }
while read -r dir words; do
  refuse "$words" quantize "${dir#"$W/"}"
done <"$W.list"
ok "so many were" [ "$(wc -l <"$W.list")" -ge 120 ]

# ---- RTL ------------------------------------------------------------------------------------
if command -v verilator >/dev/null; then
  says "its own bits through the engine: without a mismatch" '^PASS: 1 layers.* 0 value mismatches, 0 cycle mismatches' cosim --layers ct-nvfp4/q --m 2 --layer '*k_proj'
  says "and through the chip: without a mismatch" '^PASS: 1 layers.* 0 value mismatches, 0 cycle mismatches' cosim --block top --layers ct-nvfp4/q --m 2 --layer '*k_proj'
  says "integers of four bits beside eight: without a mismatch" '^PASS: 1 layers.* 0 value mismatches, 0 cycle mismatches' cosim --block top --layers ct-w4a8/q --m 2 --layer '*k_proj'
  says "weights alone, with activations of the same format: without a mismatch" '^PASS: 1 layers.* 0 value mismatches, 0 cycle mismatches' cosim --layers ct-mxfp4/q --operand both --m 2 --layer '*k_proj'
else
  skip "co-simulation" "no verilator"
fi
mkdir "$W/images"
accept "an image of the chip" image ct-nvfp4/q --layer '*k_proj' -o images
refuse "need both in RTL" image ct-mxfp4/q --layer '*k_proj'
finish
