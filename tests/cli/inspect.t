#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim inspect: plain files, encoded files, model directories, and files that lie.
. "$(dirname "$0")/lib.sh"

tensor "$W/two" '{"__metadata__":{"note":"a\u001b[31m\nb"},"x":{"dtype":"BF16","shape":[2,64],"data_offsets":[0,256]},"s":{"dtype":"I64","shape":[],"data_offsets":[256,264]}}' 264
says "plain file: tensor line" '^x  *BF16  *256  \[2, 64\]' inspect two
ok "scalar" out_has '^s  *I64  *8  \[\]'
ok "metadata on one line, without escape sequences" out_has '^  note = a\\u001b\[31m\\u000ab$'
ok "total" out_has '^safetensors: 2 tensors, 264 bytes$'
says "--json: tensor object" '^{"tensor":"x","dtype":"BF16","shape":\[2,64\],"bytes":256}$' inspect two --json
ok "summary last" grep -q '"summary":true,"kind":"safetensors","tensors":2,"bytes":264' <(tail -1 "$W.out")

tensor "$W/bidi" '{"__metadata__":{"by":"\u009b31m\u202ex"},"a\u202eb\u0085":{"dtype":"I64","shape":[],"data_offsets":[0,8]}}' 8
says "C1 and bidi characters: are visible in names" '^a\\u202eb\\u0085  *I64' inspect bidi
ok "and in metadata" out_has '^  by = \\u009b31m\\u202ex$'
says "in JSON: as JSON escapes" '^{"tensor":"a\\u202eb\\u0085",' inspect bidi --json
ok "which mean the same" python3 -c 'import json,sys; assert json.loads(open(sys.argv[1]).readline())["tensor"] == "a\u202eb\u0085"' "$W.out"

accept "encode" quantize two --algorithm rtn --bank 16 -o enc
says "encoded file: format and validity" 'SQ(8,4,16,0.75) G=128, 1 operands, .* valid' inspect enc
ok "padding is named" out_has '2 x 64 *padded to 128'
accept "encoded, JSON" inspect --json enc
ok "kind and format" [ "$(number kind),$(number bank),$(number valid)" = '"sq_w",16,true' ]

# Two mask codes more somewhere in the low stream (it ends 64 bytes before the end of the file): that
# bank no longer holds k of them.
undigested "$W/enc"
size=$(stat -c %s "$W/enc")
refused=0
for back in $(seq 1 8); do
  cp "$W/enc" "$W/bad"
  printf '\x88' | dd of="$W/bad" bs=1 seek=$((size - 64 - back)) conv=notrunc status=none
  sq inspect bad
  [ "$RC" = 2 ] && [ "$(wc -l <"$W.err")" = 1 ] && grep -q "is not valid" "$W.err" && refused=$((refused + 1))
done
ok "damaged streams are refused ($refused of 8)" [ $refused -ge 6 ]
sed 's/"bank":"16"/"bank":"64"/' "$W/enc" >"$W/bad"
refuse "sqsim inspect: " inspect bad
sed 's/"h_low":"4"/"h_low":"7"/' "$W/enc" >"$W/bad"
refuse "high-bits/low-bits = 8/7" inspect bad
head -c $((size - 1)) "$W/enc" >"$W/bad"
refuse "truncated" inspect bad
{ cat "$W/enc"; printf x; } >"$W/bad"
refuse "bytes of data" inspect bad

refuse "No such file" inspect none
refuse "config.json': No such file" inspect .
refuse "unexpected argument 'enc'" inspect two enc
mkfifo "$W/fifo"
refuse "it is no regular file" inspect fifo

real=$DATA/models/stories260K
if [ -d "$real" ]; then
  says "model directory: its config" '"intermediate_size":172' inspect "$real" --json
  mkdir "$W/model" && cp "$real/model.safetensors" "$W/model"
  sed 's/"hidden_size": 64/"hidden_size": 65/' "$real/config.json" >"$W/model/config.json"
  refuse "hidden_size\|shape" inspect model
  printf '[[[[[[[[[[[[[[[[[[[[[[' >"$W/model/config.json"
  refuse "nests deeper" inspect model
else
  skip "model directory" "SQ_DATA has no models/stories260K"
fi
finish
