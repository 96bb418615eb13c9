#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim quantize: every flag changes what it says, every bad value and every bad file is refused.
. "$(dirname "$0")/lib.sh"

# 4 x 256 F16 weights of varied size: bytes 0..255 in both halves, exponents kept finite by header
# order (little-endian: the high byte decides; 0x00..0x7b and 0x80..0xfb only).
header='{"w.weight":{"dtype":"F16","shape":[4,256],"data_offsets":[0,2048]}}'
tensor "$W/good.safetensors" "$header" 0
for ((i = 0; i < 1024; i++)); do
  printf "\\x$(printf %02x $((i * 37 & 255)))\\x$(printf %02x $((0x30 + i * 7 % 11 + (i & 1) * 128)))"
done >>"$W/good.safetensors"
q() { sq quantize good.safetensors --algorithm rtn --json "$@"; }

# Plain tensors have no calibration tokens: round to nearest, and a note says so, on stderr.
sq quantize good.safetensors --json
ok "default format" [ "$RC" = 0 ]
ok "plain tensors: rounded to nearest" [ "$(number algorithm)" = '"rtn"' ]
ok "a note says so" grep -qx "sqsim quantize: note: no calibration tokens here, weights by --algorithm rtn .*" "$W.err"
cp "$W.out" "$W.default"
refuse "calibration needs a model directory" quantize good.safetensors --algorithm gptq
refuse "calibration needs a model directory" quantize good.safetensors --calib no-matter
accept "the same where it is asked for, and no note" quantize good.safetensors --json --algorithm rtn
ok "and the same lines" cmp "$W.out" "$W.default"
rm "$W.default"
ok "one line per layer and a summary" [ "$(wc -l <"$W.out")" = 2 ]
ok "the layer" out_has '"layer":"w","n":4,"k":256,"k_padded":256,"stored_bits_per_weight":6.5'
base=$(number sqnr_db)
ok "SQNR is plausible" awk "BEGIN{exit !($base > 15 && $base < 60)}"
ok "provenance" out_has '"provenance":{"tool":"sqsim .*"data":"real"'
says "text has the layer" '^w  *4 x 256  *256  *6.5' quantize good.safetensors --algorithm rtn

# ---- each format flag moves bits or SQNR as SPEC A.5 says -----------------------------------------
bits() { number equivalent_bits; }
q --high-bits 4 --low-bits 2; ok "--high-bits 4 --low-bits 2" [ "$(bits)" = 3.0 ]
q --low-bits 3;               ok "--low-bits" [ "$(bits)" = 5.0 ]
q --sparsity 0.875;           ok "--sparsity" [ "$(bits)" = 5.0 ]
q --sparsity=.5;              ok "--sparsity=.5" [ "$(bits)" = 8.0 ]
q --bank 8;                   ok "--bank keeps the bits" [ "$(bits)" = 6.0 ]
ok "--bank changes the selection" [ "$(number sqnr_db)" != "$base" ]
ok "--bank is reported" [ "$(number bank),$(number high_per_bank)" = 8,2 ]
q --group 64;                 ok "--group 64 stores more scales" [ "$(number stored_bits_per_weight)" = 7.0 ]
q --group row;                ok "--group row" [ "$(number stored_bits_per_weight)" = 6.25 ]
row=$(cat "$W.out"); q --group 0; ok "--group 0 is --group row" [ "$(cat "$W.out")" = "$row" ]
q --format sq_w;              ok "--format sq_w is the default" [ "$(number sqnr_db)" = "$base" ]

# ---- output ---------------------------------------------------------------------------------------
accept "-o" quantize good.safetensors --algorithm rtn -o a.safetensors --jobs 1
accept "--output, more threads" quantize good.safetensors --algorithm rtn --output=b.safetensors --jobs 7
ok "same bytes at any --jobs" cmp "$W/a.safetensors" "$W/b.safetensors"
accept "inspect validates it" inspect a.safetensors --json
ok "stored bits agree" [ "$(number stored_bits_per_weight)" = 6.5 ]
ok "without -o nothing is written" [ "$(ls "$W" | wc -l)" = 3 ]

# An output is none of the inputs, by whatever name, and no file of a folder that is one.
cp -r "$SQSIM_HOME/traces/tiny-llama" "$W/own"; chmod -R u+w "$W/own"
ln "$W/own/model.safetensors" "$W/hard"
ln -s own/model.safetensors "$W/soft"
for file in "$W"/own/*; do refuse "it is an input" quantize own --algorithm rtn -o "own/${file##*/}"; done
for file in hard soft ./own/../own/model.safetensors; do refuse "'$file': it is an input" quantize own --algorithm rtn -o $file; done
refuse "'own/model.safetensors': it is an input" quantize own/model.safetensors --algorithm rtn -o own/model.safetensors
refuse "it is an input" inspect --gemms own/config.json -o own/config.json
refuse "it is an input" inspect --gemms own -o own/config.json
accept "a new file in that folder" quantize own --algorithm rtn -o own/encoded
rm -r "$W/own" "$W/hard" "$W/soft"

refuse "option -o needs a value" quantize good.safetensors -o
refuse "cannot write '': the file name is empty" quantize good.safetensors -o ""
refuse "cannot write '.': it is a directory" quantize good.safetensors -o .
refuse "No such file or directory" quantize good.safetensors -o no/such/x
refuse "cannot write 'x/': it names a directory" quantize good.safetensors -o x/
refuse "cannot write '/dev/full': it is no regular file" quantize good.safetensors -o /dev/full
refuse "it is no regular file" quantize good.safetensors -o /dev/null
mkdir "$W/locked" && chmod a-w "$W/locked"
if [ "$(id -u)" = 0 ]; then
  skip "read-only output directory" "root may write everywhere"
  skip "unreadable input" "root may read everything"
else
  refuse "Permission denied" quantize good.safetensors -o locked/x
  cp "$W/good.safetensors" "$W/secret" && chmod a-r "$W/secret"
  refuse "Permission denied" quantize secret
fi

# A full disk: the file size limit stops the write in the middle; the old file survives.
echo old >"$W/kept"
(ulimit -f 1; cd "$W" && timeout $HANG "$SQSIM" quantize good.safetensors -o kept >"$W.out" 2>"$W.err")
RC=$?
ok "full disk" refused_well "cannot write 'kept': File too large" "" ""
ok "the old file survives" [ "$(cat "$W/kept")" = old ]
ok "no temporary file is left" [ -z "$(ls -A "$W" | grep tmp)" ]
(cd "$W" && timeout $HANG "$SQSIM" quantize good.safetensors -o new >/dev/full 2>"$W.err"); RC=$?
ok "standard output full" refused_well "cannot write standard output" "" ""
ok "and no output file either" [ ! -e "$W/new" ]

# ---- bad values -------------------------------------------------------------------------------------
for v in 0 -1 5 33 256 99999999999999999999 abc 8x "" " 8" 0x8 8.0 +8; do
  refuse "--bank = .*need" quantize good.safetensors --bank "$v"
done
for v in 0 -8 3 6 16 eight; do refuse "high-bits.* = $v" quantize good.safetensors --high-bits="$v"; done
for v in 0 -4 1 5 8 four; do refuse "low-bits.* = $v" quantize good.safetensors --low-bits="$v"; done
for v in 0 1 -0.5 0.6 250 nan inf half "" 0.5x; do
  refuse "--sparsity = .*need" quantize good.safetensors --sparsity "$v"
done
for v in -1 1 16 48 256 rows 99999999999999999999; do
  refuse "--group = .*need 32, 64, 128 or row" quantize good.safetensors --group "$v"
done
for v in 0 -1 1025 many 1e3; do refuse "--jobs = .*need 1..1024" quantize good.safetensors --jobs "$v"; done
refuse "--format = sqw, need sq_w" quantize good.safetensors --format sqw
refuse "no multiple of bank" quantize good.safetensors --bank 128 --group 64
refuse "leaves no high code in bank = 4" quantize good.safetensors --bank 4 --sparsity 0.9375
refuse "--high-bits/low-bits = 4/4" quantize good.safetensors --high-bits 4
refuse "unknown option --act-bits" quantize good.safetensors --act-bits 8
refuse "unexpected argument 'second'" quantize good.safetensors second

# ---- bad files --------------------------------------------------------------------------------------
refuse "cannot open 'none': No such file" quantize none -o x
: >"$W/empty"; refuse "0 bytes" quantize empty -o x
head -c 100 "$W/good.safetensors" >"$W/cut"; refuse "truncated\|in a file of" quantize cut -o x
head -c 40 /dev/urandom >"$W/noise"; refuse "header" quantize noise -o x
mkfifo "$W/fifo"; refuse "it is no regular file" quantize fifo -o x
refuse "it is no regular file" quantize /dev/zero -o x
refuse "config.json': No such file" quantize . -o x
tensor "$W/ints" '{"w":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]}}' 16
refuse "no two-dimensional" quantize ints -o x
tensor "$W/gap" '{"w":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}' 8
refuse "hole" quantize gap -o x
tensor "$W/huge" '{"w":{"dtype":"F32","shape":[4000000000,4000000000],"data_offsets":[0,8]}}' 8
refuse "overflows" quantize huge -o x
tensor "$W/name" '{"w\u000a\u001b[31m":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}' 1
refuse "control character" quantize name -o x
tensor "$W/nan" '{"w":{"dtype":"F32","shape":[1,64],"data_offsets":[0,256]}}' 252
printf '\0\0\xc0\x7f' >>"$W/nan"
refuse "element 63 of tensor 'w' is NaN" quantize nan -o x

# ---- undefined and exact ----------------------------------------------------------------------------
tensor "$W/zero" '{"w":{"dtype":"F32","shape":[1,64],"data_offsets":[0,256]}}' 0
head -c 256 /dev/zero >>"$W/zero"
accept "all-zero weights" quantize zero --algorithm rtn --json
ok "SQNR of zero weights is null" [ "$(number sqnr_db)" = null ]
sq quantize zero --algorithm rtn
ok "and in text a dash" [ "$(grep -c 'nan' "$W.out")" = 0 -a "$(grep -c ' -$' "$W.out")" = 1 -a \
  "$(grep -c 'SQNR - dB' "$W.out")" = 1 ]
tensor "$W/scaled" '{"w":{"dtype":"F32","shape":[1,64],"data_offsets":[0,256]},"w.weight_scale":{"dtype":"F32","shape":[1,1],"data_offsets":[256,260]}}' 260
refuse "'w.weight_scale' belongs to weights that are quantized already" quantize scaled -o x

# ---- the real models, where they are ----------------------------------------------------------------
real=$DATA/models/stories260K
if [ -d "$real" ]; then
  accept "stories260K" quantize "$real" --json -o s.safetensors
  ok "35 layers" [ "$(number layers)" = 35 ]
  ok "K = 172 is padded to 256" out_has '"layer":"model.layers.0.mlp.down_proj","n":64,"k":172,"k_padded":256'
  accept "and validates" inspect s.safetensors
else
  skip "stories260K" "SQ_DATA has no models/stories260K"
fi
if [ -f "$SQSIM_HOME/traces/tiny-llama/config.json" ]; then
  accept "the embedded model is the default" quantize --json
  ok "its SQNR" awk "BEGIN{exit !($(number sqnr_db) > 20)}"
else
  skip "the embedded model" "traces/tiny-llama does not exist"
fi
# An output that cannot be written is refused before anything is encoded, of every kind of file.
for f in sq_w gqsa nvfp4; do
  sq quantize --format $f --algorithm rtn -o no/such/x.safetensors
  ok "$f: no folder for the output" [ "$RC" = 2 ]
  ok "$f: no layer was encoded" [ "$(grep -c ' x ' "$W.out")" = 0 ]
done
finish
