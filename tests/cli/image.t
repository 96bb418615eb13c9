#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim image: what it writes is judged by image.py, which reads LAYER.json and LAYER.bin and computes the outputs from the bits in
# memory alone; --check must take that memory and no other. Sampled: ten layers, W8A8, W4A8, sq_w, sq_a_dynamic, nvfp4, if4, razer and sq_b, two tiles; ragged tokens; K in chunks.
. "$(dirname "$0")/lib.sh"
cd "$W" || exit 1
mkdir images

judged() { # FORMAT LAYER OPTION...: image, run by the script, outputs checked; then one bit of them is wrong
  local format=$1 layer=$2 name; shift 2
  sq image --format "$format" --algorithm rtn --layer "*.0.$layer" -o images "$@"
  ok "image of $layer, $format $*" [ "$RC" = 0 ]
  name=images/model.layers.0.$layer
  python3 "$ROOT/tests/cli/image.py" $name.json $name.bin >after.bin
  sq image --format "$format" --algorithm rtn --layer "*.0.$layer" --check after.bin "$@" --json
  ok "its outputs are those of the layer" [ "$RC$(number wrong)" = 00 ]
  python3 -c 'import json, sys
memory = bytearray(open("after.bin", "rb").read())
layer = json.load(open(sys.argv[1]))
address, nbytes = layer["regions"]["out"]
at, right = address + nbytes - 4 - layer["base"], lambda: int.from_bytes(memory[at:at + 4], "little")
expected = right()
memory[at] ^= 1
open("wrong.bin", "wb").write(memory)
print(f"FAIL: 1 of {nbytes // 4} words of outputs differ, the first at 0x{address + nbytes - 4:08x}: got 0x{right():08x}, expected 0x{expected:08x}")
' $name.json >want
  sq image --format "$format" --algorithm rtn --layer "*.0.$layer" --check wrong.bin "$@"
  ok "a wrong bit in the last of them is found" [ "$RC" = 1 ]
  ok "... and said, with the word" cmp -s want <(tail -1 "$W.out")
}
judged dense mlp.down_proj --m 1 --rows 1 --cols 4
judged sq_w self_attn.k_proj --m 5 --depth 10
judged sq_a_dynamic self_attn.v_proj --m 5 --depth 10
judged nvfp4 self_attn.k_proj --m 5
judged if4 self_attn.v_proj --m 5
judged razer self_attn.v_proj --m 5
judged dense self_attn.k_proj --weight-bits 8 --m 5
judged nvfp4 mlp.down_proj --m 1 --rows 1 --cols 4 --depth 10
judged sq_b self_attn.v_proj --m 3 --bank 16 --depth 10
judged dense self_attn.q_proj --group 32 --m 5 --depth 10
judged dense self_attn.v_proj --group row --m 5 --depth 9
ok "K, a scale group, in parts" grep -qE '"part": [1-9],' images/model.layers.0.self_attn.v_proj.json
judged nvfp4 self_attn.v_proj --m 5 --machine "$ROOT/sim/machines/chip.yaml" --base 0x80000000
ok "the array of the machine" grep -q "\"Rows\": $(sed -n 's/.*rows: *\([0-9]*\).*/\1/p' "$ROOT/sim/machines/chip.yaml" | head -1)," images/model.layers.0.self_attn.v_proj.json
ok "the descriptor at the base" grep -q '"descriptor": 2147483648,' images/model.layers.0.self_attn.v_proj.json
# Bits 19 and 20 of an address are the bank.
sed '/^dram:/,/^  burst:/d' "$ROOT/sim/machines/chip.yaml" >banks.yaml
printf '%s\n' 'dram:' '  device: ddr4-2400' '  map: row-rank-bank-row4-column-group-pseudo-channel' '  placement: banks' >>banks.yaml
judged nvfp4 self_attn.o_proj --m 5 --machine banks.yaml --base 0x101000
ok "operands in different banks" python3 -c 'import json
o = json.load(open("images/model.layers.0.self_attn.o_proj.json"))
banks = [o["regions"][name][0] >> 19 & 3 for name in ("act", "row_scale", "weight", "col_scale", "out")]
assert banks == [0, 1, 2, 3, 0] and o["placement"] == "banks", o'
ok "K of 8 scale groups in chunks of one" grep -q '"chunk": 1,' images/model.layers.0.self_attn.q_proj.json

# Of several layers all have their files or none has.
mkdir -p parts/model.layers.0.self_attn.v_proj.json
refuse "v_proj.json': it is a directory" image --format dense --algorithm rtn --layer '*.0.self_attn.[qkv]_proj' -o parts

# Several layers in one image: image.py runs one after the other in that memory; the slots hold the same descriptors.
ring=(image --ring --format dense --algorithm rtn --layer '*.0.self_attn.[kv]_proj' --m 5 --base 0x80000000)
sq "${ring[@]}" -o images
ok "an image of two layers" [ "$RC" = 0 ]
python3 - images/ring <<'PY' && for i in 0 1; do python3 "$ROOT/tests/cli/image.py" ring$i.json ring.bin >after.bin && mv after.bin ring.bin && rm ring$i.json; done
import json, shutil, sys
ring, memory = json.load(open(sys.argv[1] + ".json")), open(sys.argv[1] + ".bin", "rb").read()
assert (ring["ring_base"], ring["ring_size"], ring["tail"], ring["bytes"]) == (0x80000000, 3, 2, len(memory))
for i, layer in enumerate(ring["layers"]):
    at = layer["descriptor"] - layer["base"]
    assert memory[128 * i:128 * i + 64] == memory[at:at + 64] and at >= 8192
    json.dump(layer, open(f"ring{i}.json", "w"))
shutil.copy(sys.argv[1] + ".bin", "ring.bin")
PY
sq "${ring[@]}" --check ring.bin --json
ok "the outputs of both are in it" [ "$RC$(number wrong)$(number words)" = 001536 ]
sq "${ring[@]}" --check images/ring.bin
ok "... and not before" [ "$RC" = 1 ]

# The chip encodes: what an encoder wrote is what the layers behind it read.
chained() { # SLOTS WORDS FORMAT OPTION...: image.py runs the ring, slot after slot
  local slots=$1 words=$2 format=$3 i; shift 3
  local chain=(image --ring --format "$format" --algorithm rtn --m 3 --rows 2 --cols 4 "$@")
  sq "${chain[@]}" -o images
  cp images/ring.bin ring.bin
  python3 -c 'import json
ring, memory = json.load(open("images/ring.json")), open("ring.bin", "rb").read()
for i, layer in enumerate(ring["layers"]):
    assert memory[128 * i:128 * i + 64] == memory[layer["descriptor"]:layer["descriptor"] + 64]
    json.dump(layer, open(f"ring{i}.json", "w"))'
  for ((i = 0; i < slots; i++)); do python3 "$ROOT/tests/cli/image.py" ring$i.json ring.bin >after.bin && mv after.bin ring.bin; done
  sq "${chain[@]}" --check ring.bin --json
  ok "a ring in which the chip encodes $format, $*" [ "$RC$(number wrong)$(number words)/$(ls ring?.json | wc -l)" = "00$words/$slots" ]
  rm ring?.json
}
chained 3 1540 dense --encode inputs --layer '*.0.self_attn.[kv]_proj'
chained 4 3080 dense --encode outputs --layer '*.0.self_attn.[qo]_proj'
chained 4 1796 dense --encode codes --layer '*.0.self_attn.[qo]_proj'
chained 3 1544 sq_a_dynamic --encode inputs --layer '*.0.self_attn.[kv]_proj'
chained 4 3088 sq_a_dynamic --encode outputs --layer '*.0.self_attn.[qo]_proj'

sq image --format dense --algorithm rtn --layer '*.0.self_attn.k_proj' --weight-bits 8 --m 5 --json
ok "the digest is that of the file" grep -q "\"digest\":$(sed -n 's/.*"digest": \(.*\),/\1/p' images/model.layers.0.self_attn.k_proj.json)" "$W.out"
refuse "the chip does not run its layers" image --format spqr
# The program of a token: its header is that of lib/sq_driver.h; the ring's first descriptor reads the row of a token.
sq image --format mxfp4 --token --cols 4 --base 0x80000000 -o images
ok "the program of a token" out_has "92 descriptors, one doorbell a token, 256 positions"
python3 - images/token <<'PY'
import json, struct, sys
token, memory = json.load(open(sys.argv[1] + ".json")), open(sys.argv[1] + ".bin", "rb").read()
word = lambda at: struct.unpack_from("<I", memory, at)[0]
magic, base, high, vocab, positions, result, patches, n, tail = struct.unpack_from("<9I", memory)
assert (magic, base, high, vocab, positions, n, tail) == (0x4b545153, 0x80000000, 0, 256, 256, 16, 92)
assert token["bytes"] == len(memory) > result and token["descriptors"] == sum(token["parts"].values()) == 92
assert word(128) & 0xffff == 0x5651
at, first, stride, by = struct.unpack_from("<4I", memory, patches)
assert (at, first, stride, by) == (132, word(132), 4 * 256, 0)
PY
ok "... as its header says" [ $? = 0 ]
refuse "--token with --ring" image --token --ring --format dense
refuse "tiles of 2 x 2, heads of 32" image --token --format mxfp4
refuse "4 GiB" image --token --format mxfp4 --cols 4 --base 0xfffff000
refuse "257 positions, need at most 256" image --token --format mxfp4 --cols 4 --positions 257
refuse "--encode needs --ring" image --encode inputs --format dense
refuse "--act-bits = 16: no block multiplies binary16, need 4..8 in RTL" image --format dense --act-bits 16
refuse "variant = fp: the chip multiplies integers, need own, tied or split" image --format sq_w --variant fp --algorithm rtn
refuse "none of 14 layers, such as model.layers.0.self_attn.q_proj" image --format dense --algorithm rtn --layer x
refuse "check of 14 layers, need one" image --format dense --algorithm rtn --check after.bin
refuse "bytes, the outputs end at" image --format dense --algorithm rtn --layer '*.0.mlp.up_proj' --check images/model.layers.0.self_attn.k_proj.json
refuse "cannot make the folder 'no/where': No such file" image --format dense --algorithm rtn -o no/where
accept "a folder that is not there is made" image --format dense --algorithm rtn --layer '*.0.self_attn.k_proj' -o nowhere
ok "... with its files" [ -s "$W/nowhere/model.layers.0.self_attn.k_proj.bin" ]
sq image --format dense --algorithm rtn --group row --depth 8 --layer '*.0.self_attn.k_proj' --json
ok "a scale group of 16 beats in parts of at most 8" grep -qE '"part":[1-8],' "$W.out"
for base in 1 4095 0x1001 -4096 0x1000000000000 x 0x '' 010x; do
  refuse "--base = $base, need a multiple of 4096, 0..0xfffffffff000" image --format dense --base "$base"
done
refuse "from address 0xfffffffff000 on, need operands and outputs of 4 GiB at most that end at 2^48 or before" image --format dense --algorithm rtn --layer '*.0.mlp.up_proj' --base 0xfffffffff000
for own in rows cols; do refuse "--machine with --$own, which it says itself" image --machine chip --$own 2; done
refuse "--machine with --depth, which it says itself" image --machine chip --depth 64
refuse "machine edge4 has no key 'chip'" image --machine edge4 --format dense
refuse "need 8..32768" image --format dense --depth 7
refuse "need at most 4608 and 1024 on the chip" image --format mxint8 --algorithm rtn --rows 32 --cols 32

# ---- a tensor's name is no path --------------------------------------------------------------------------------------------
# Every odd name gives two files of its own inside the folder, and nothing outside changes.
mkdir -p victim/up evil out
names=(../../victim/pwn ../victim/pwn "$W/victim/pwn" .. . .hidden a/b 'a%2Fb' up/../../victim/pwn 'back\slash' "$(printf 'n%.0s' {1..240})a" "$(printf 'n%.0s' {1..240})b"
  "$(printf '/%.0s' {1..70})")
python3 - evil/model.safetensors "${names[@]}" <<'PY'
import json, struct, sys
data, header = b"", {}
for name in sys.argv[2:]:
    header[name + ".weight"] = {"dtype": "F32", "shape": [16, 256], "data_offsets": [len(data), len(data) + 16384]}
    data += struct.pack("<4096f", *((i * 37 % 101 - 50) / 64 for i in range(4096)))
text = json.dumps(header).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + data)
PY
outside() { find . -path ./out -prune -o -type f -print | sort | xargs -d '\n' md5sum; }
before=$(outside)
accept "layers with names like paths" image evil/model.safetensors --format dense --algorithm rtn --m 1 -o out
ok "nothing outside of the folder changed" [ "$(outside)" = "$before" ]
ok "two files a layer, none hidden, no folder" [ "$(ls out | wc -l)/$(find out -mindepth 1 -type d | wc -l)" = $((2 * ${#names[@]}))/0 ]
ok "and each says its whole name" [ "$(cat out/*.json | grep -c '"layer"')" = ${#names[@]} ]

# ---- files appear whole, under their own name or not at all -------------------------------------------------------------------
one=(image --format dense --algorithm rtn --layer '*.0.self_attn.k_proj' --m 1)
name=model.layers.0.self_attn.k_proj
for ending in bin json; do
  rm -rf out; mkdir out
  mkfifo out/$name.$ending
  sq "${one[@]}" -o out
  ok "a FIFO in place of .$ending is refused" [ "$RC$(grep -c 'it is no regular file' "$W.err")" = 21 ]
  ok "... and no other file is left" [ "$(ls out)" = $name.$ending ]
  rm out/$name.$ending
  echo precious >victim/file
  ln -s "$W/victim/file" out/$name.$ending
  accept "a link in place of .$ending" "${one[@]}" -o out
  ok "... is replaced, not followed" [ "$(cat victim/file)$(stat -c %F out/$name.$ending)" = "preciousregular file" ]
done
cp out/$name.bin old.bin
(ulimit -f 1; sq "${one[@]}" --rows 4 -o out; exit "$RC"); RC=$?
ok "without room it is refused" [ "$RC" = 2 ]
ok "... and the old file stays whole" cmp old.bin out/$name.bin
ok "... with nothing beside it" [ "$(ls -A out | wc -l)" = 2 ]
cp -r "$SQSIM_HOME/traces/tiny-llama" own; chmod u+w own
python3 - own/config.safetensors <<'PY'
import json, struct, sys
text = json.dumps({"config.weight": {"dtype": "F32", "shape": [16, 256], "data_offsets": [0, 16384]}}).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + bytes(16384))
PY
cp own/config.json config.before
sq image own/config.safetensors --format dense --algorithm rtn --m 1 --tokens own/config.json -o own
ok "a layer called config does not replace an input config.json" cmp own/config.json config.before
finish
