#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --format sp24 and gqsa in eval, quantize and inspect: every flag changes what it says, a file gives
# the loss of the same recipe, every refusal of SPEC E.8 and F.4 is one line.
. "$(dirname "$0")/lib.sh"

e() { sq eval --sequences 1 --summary --json "$@"; }
g() { e --calib-sequences 2 "$@"; }
loss() { number loss; }
differs() { [ "$RC" = 0 ] && [ "$(loss)" != "$base" ]; }
less() { awk "BEGIN{exit !($1 < $2)}"; }

# 4 x 64 F32 weights, exact in few bits, of both signs (as quantize.t makes its F16 ones).
header='{"w.weight":{"dtype":"F16","shape":[4,64],"data_offsets":[0,512]}}'
tensor "$W/w.safetensors" "$header" 0
for ((i = 0; i < 256; i++)); do
  printf "\\x$(printf %02x $((i * 37 & 255)))\\x$(printf %02x $((0x30 + i * 7 % 11 + (i & 1) * 128)))"
done >>"$W/w.safetensors"

# from FILE OFFSET HEX...: a copy at $W/lie with these bytes OFFSET bytes before its end.
from() {
  local file=$1 offset=$2 hex bytes=; shift 2
  for hex in "$@"; do bytes+="\\x$hex"; done
  cp "$W/$file" "$W/lie"
  undigested "$W/lie"
  printf "$bytes" | dd of="$W/lie" bs=1 seek=$(($(stat -c %s "$W/lie") - offset)) conv=notrunc status=none
}
# edit FILE FROM TO: a copy with another header, of the same length.
edit() { LC_ALL=C sed "s|$2|$3|" "$W/$1" >"$W/lie" && undigested "$W/lie"; }

# ---- 2:4 ------------------------------------------------------------------------------------------
says "sp24 of plain tensors: 5 bits and a scale a row" '"layer":"w","n":4,"k":64,"k_padded":64,"stored_bits_per_weight":5.5' quantize w.safetensors --format sp24 --algorithm rtn --json -o p.safetensors
ok "summary" out_has '"format":"sp24","algorithm":"rtn","prune":"magnitude"'
db=$(number sqnr_db)
says "inspect: valid, the same bits" '"format":"sp24","operands":1,"stored_bits_per_weight":5.5,"valid":true' inspect p.safetensors --json
accept "inspect, tensors by name" inspect p.safetensors
ok "s_w, values, meta" [ "$(grep -c 'w.s_w .*F32 .*\[4\]\|w.values .*I8 .*\[4, 32\]\|w.meta .*U8 .*\[4, 8\]' "$W.out")" = 3 ]
ok "values decode to half of the weights" less 3 "$db"
accept "text" quantize w.safetensors --format sp24 --algorithm rtn
refuse "more than two non-zeros" quantize w.safetensors --format sp24 --algorithm rtn --prune none -o x
from p.safetensors 31 40; refuse "columns 8..11: metadata 0x0, need two ascending" inspect lie
from p.safetensors 31 14; refuse "columns 12..15: metadata 0x1, need two ascending" inspect lie
from p.safetensors 31 54; refuse "columns 12..15: metadata 0x5, need two ascending" inspect lie
from p.safetensors 31 45; refuse "columns 8..11: metadata 0x5, need" inspect lie
from p.safetensors 160 80; refuse "code -128, need -127..127" inspect lie
from p.safetensors 176 00 00 c0 7f; refuse "scale\[0\] = nan, need finite and > 0" inspect lie
edit p.safetensors '"w.k_orig":"64"' '"w.k_orig":"62"'; refuse "K = 62, need a multiple of 4" inspect lie
edit p.safetensors '"w.K":"64"' '"w.K":"68"'; refuse "K = 68, k_orig = 64 is padded to 64" inspect lie
edit p.safetensors '"w.N":"4"' '"w.N":"5"'; refuse "dimension 0 is 4, its metadata need 5" inspect lie
edit p.safetensors '"version":"1"' '"version":"2"'; refuse "version = 2, need 1" inspect lie
edit p.safetensors '"w.meta":' '"w.mate":'; refuse "its metadata need 64" inspect lie
edit p.safetensors '"w.meta":' '"v.meta":'; refuse "'v.meta' belongs to no layer" inspect lie
head -c -1 "$W/p.safetensors" >"$W/lie"; refuse "lie" inspect lie
tensor "$W/k6" '{"w":{"dtype":"F32","shape":[2,6],"data_offsets":[0,48]}}' 48
refuse "2:4 needs K to be a multiple of 4" quantize k6 --format sp24
refuse "--sparsity = 0.75, need 0.5" quantize w.safetensors --format sp24 --sparsity 0.75
for v in "4 64 3.5" "6 16 6.0" "16 row 9.0"; do
  set -- $v
  accept "sp24 of $1 bits, group $2" quantize w.safetensors --format sp24 --algorithm rtn --weight-bits $1 --group $2 --json -o wide.safetensors
  ok "$3 stored bits" out_has "\"stored_bits_per_weight\":$3"
  accept "its file" inspect wide.safetensors --json
  ok "the same bits" out_has "\"stored_bits_per_weight\":$3,\"valid\":true"
done
refuse "group = 8, need row, 16" quantize w.safetensors --format sp24 --group 8
refuse "weight-bits = 3, need 4..8 or 16" quantize w.safetensors --format sp24 --weight-bits 3
refuse "weights of 16 bits have no scales" quantize w.safetensors --format sp24 --weight-bits 16 --group 64
refuse "act-bits = 8, need 16 beside weights of 16 bits" eval --format sp24 --weight-bits 16 --act-bits 8
refuse "dense-layers = 0.5 needs 8 bits" eval --format sp24 --weight-bits 4 --dense-layers 0.5
refuse "no block multiplies binary16 by 2:4" cosim --format sp24 --weight-bits 16 --layers
refuse "engine of gqsa has codes of 4 bits" cosim --format gqsa --weight-bits 8 --layers
refuse "no banks, high or low codes" quantize w.safetensors --format sp24 --bank 8
refuse "prune = none needs algorithm rtn" quantize w.safetensors --format sp24 --prune none --algorithm gptq
refuse "calibration needs a model directory" quantize w.safetensors --format sp24 --prune wanda
sq quantize w.safetensors --format sp24 --algorithm rtn --calib x -o unused.safetensors
ok "calibration that nothing needs" [ $RC = 0 ]
ok "is said not to be used" grep -q "note: calibration tokens are not used" "$W.err"
refuse "nothing here uses a damped Hessian" quantize w.safetensors --format sp24 --algorithm rtn --percdamp 0.1
refuse "--score: sp24 has --prune" quantize w.safetensors --format sp24 --score c0
refuse "--prune = x, need magnitude" eval --format sp24 --prune x
refuse "lite needs --format gqsa" eval --format sp24 --algorithm lite
refuse "lite needs --format gqsa" eval --algorithm lite
refuse "lite needs --format gqsa" quantize --algorithm lite
refuse "act-bits = 4, need 8 or 16" eval --format sp24 --act-bits 4
refuse "--prune needs --format sp24 or gqsa" eval --prune wanda
refuse "--dense-layers needs --format sp24" eval --dense-layers 0.5
refuse "--dense-layers = 1.5, need 0..1" eval --format sp24 --dense-layers 1.5
refuse "sp24 has no smoothing" eval --format sp24 --smooth 0.5
refuse "train: dense is not trained" quantize --format dense --train bqpo
refuse "need none, bqpo, e2e or both" quantize --format gqsa --train all
refuse "seed needs --train" quantize --format gqsa --seed 3
refuse "needs --format sq_a_dynamic" eval --format sp24 --select fp
refuse "--sparsity = 0.2, need 0.5..0.9375" eval --sparsity 0.2
refuse "--group = 16, need 32, 64, 128 or row" eval --group 16

e --format sp24 --algorithm rtn
base=$(loss)
ok "stored bits are in the summary" [ "$(number stored_bits_per_weight)" = 5.11111111111 ]
g --format sp24 --algorithm rtn --prune wanda; ok "--prune wanda" differs
wanda=$(loss)
g --format sp24 --algorithm rtn --prune sparsegpt; ok "--prune sparsegpt" differs
g --format sp24; ok "joint is the default" differs
joint=$(loss)
ok "joint beats magnitude" less "$joint" "$base"
ok "joint beats Wanda, then INT8" less "$joint" "$wanda"
g --format sp24 --prune sparsegpt --algorithm gptq --jobs 3; ok "--jobs changes nothing" [ "$(loss)" = "$joint" ]
base=$joint
g --format sp24 --percdamp 0.5; ok "--percdamp" differs
g --format sp24 --dense-layers 0.25; ok "--dense-layers" differs
ok "the sensitive layers help" less "$(loss)" "$joint"
ok "and are counted" [ "$(number dense_layers)" = 4 ]
ok "and cost" less 5.2 "$(number stored_bits_per_weight)"

# A model through a file: dense layers among the others.
# 256 tokens for calibration: offsets 0 and 256, then letters.
tensor "$W/other.safetensors" '{"ids":{"dtype":"I32","shape":[256],"data_offsets":[16,1040]},"offsets":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}}' 0
{ printf '\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0'
  for ((i = 0; i < 256; i++)); do printf "\\x$(printf %02x $((97 + i * i % 25)))\0\0\0"; done
} >>"$W/other.safetensors"
e --calib other.safetensors --format sp24 --dense-layers 0.25; base=$(loss)
accept "quantize a model" quantize --format sp24 --algorithm gptq --dense-layers 0.25 --calib other.safetensors -o m.safetensors
e --weights m.safetensors
ok "eval reads what quantize wrote" [ "$(loss)" = "$base" ]
ok "and says what it is" out_has '"format":"sp24".*"algorithm":"file"'
refuse "only --act-bits is free" eval --weights m.safetensors --prune wanda
refuse "does not hold model.layers.0.self_attn.q_proj" eval --weights p.safetensors --sequences 1

# ---- GQSA -----------------------------------------------------------------------------------------
says "gqsa of plain tensors: SPEC F.6" '"layer":"w","n":4,"k":64,"k_padded":64,"stored_bits_per_weight":3.75' quantize w.safetensors --format gqsa --algorithm rtn --scope row --json -o q.safetensors
ok "schedules of the kept groups" out_has '"groups_kept":8.0,"slice_k_loss":2.0,"slice_k_dynamic_loss":2.0,"stream_k_loss":1.0'
ok "defaults" out_has '"format":"gqsa","algorithm":"rtn","prune":"magnitude","sparsity":0.5,"group":16,"scope":"row"'
accept "inspect" inspect q.safetensors
ok "tensors by name" [ "$(grep -c 'w.row_index .*I32 .*\[5\]\|w.s_w .*F16 .*\[8\]\|w.groups .*U8 .*\[8, 2\]\|w.values .*U8 .*\[8, 8\]\|w.zero .*U8 .*\[4\]' "$W.out")" = 5 ]
db() { number sqnr_db; }
q() { sq quantize w.safetensors --format gqsa --algorithm rtn --json "$@"; }
q; base=$(db)
q --group 8; ok "--group" [ "$(db)" != "$base" ]
ok "--group is reported" [ "$(number group)" = 8 ]
q --sparsity 0.25; ok "--sparsity 0.25" less "$base" "$(db)"
q --sparsity 0.75; ok "--sparsity 0.75" less "$(db)" "$base"
# From the end: zero 4, values 64, groups 16, s_w 16, row_index 20.
from q.safetensors 84 00 00 00 00; refuse "groups\[1\] = 0 after 0 in row 0, need ascending" inspect lie
from q.safetensors 82 04; refuse "groups\[1\] = 4, need 0..3" inspect lie
from q.safetensors 120 01; refuse "row_index\[0\] = 1, need 0" inspect lie
from q.safetensors 112 01; refuse "row_index\[2\] = 1, need at least 2" inspect lie
from q.safetensors 104 07; refuse "row_index\[4\] = 7, need 8" inspect lie
from q.safetensors 100 00 7e; refuse "scale\[0\] = .*nan, need finite" inspect lie
from q.safetensors 98 00 00; refuse "scale\[1\] = 0, need finite and > 0" inspect lie
edit q.safetensors '"group":"16"' '"group":"12"'; refuse "group = 12, need 4, 8, 16" inspect lie
edit q.safetensors '"group":"16"' '"group":"32"'; refuse "its metadata need 16" inspect lie
edit q.safetensors '"w.K":"64"' '"w.K":"72"'; refuse "K = 72, k_orig = 64 is padded to 64" inspect lie
edit q.safetensors '"w.k_orig":"64"' '"w.k_orig":"63"'; refuse "padding is not zero" inspect lie
edit q.safetensors '"group":"16"' '"group":"xx"'; refuse "group of '' is no number in 4..128" inspect lie
accept "an odd number of groups" quantize w.safetensors --format gqsa --algorithm rtn --sparsity 0.55 -o odd.safetensors
from odd.safetensors 1 f0; refuse "need an upper half of 0" inspect lie
for v in 3 12 256; do refuse "--group = $v, need" quantize w.safetensors --format gqsa --group $v; done
for v in 0 1 -0.5 nan; do refuse "--sparsity = .*need" quantize w.safetensors --format gqsa --sparsity $v; done
refuse "group = 0, need 4" quantize w.safetensors --format gqsa --group row
refuse "--scope = column, need matrix" eval --format gqsa --scope column
refuse "--scope needs --format gqsa" eval --format sp24 --scope row
refuse "--dense-layers needs --format sp24" eval --format gqsa --dense-layers 0.5
refuse "act-bits = 4, need 8 or 16 for gqsa" eval --format gqsa --act-bits 4
refuse "--score needs --prune sparsegpt" eval --format gqsa --prune wanda --score c0
refuse "prune = none" eval --format gqsa --prune none
refuse "calibration needs a model directory" quantize w.safetensors --format gqsa --algorithm lite
tensor "$W/big" '{"w":{"dtype":"F32","shape":[1,16],"data_offsets":[0,64]}}' 60
printf '\0\0\0\x7f' >>"$W/big"
refuse "scale = .* of a group, need at most 65504" quantize big --format gqsa --sparsity 0.01

s="--format gqsa --sparsity 0.3"
g $s --algorithm rtn --prune sparsegpt; rtn=$(loss); base=$rtn
g $s --algorithm rtn --prune sparsegpt --score c1; ok "--score" differs
g $s --algorithm rtn --prune wanda; ok "--prune wanda" differs
g $s; gptq=$(loss)
ok "compensation beats none" less "$gptq" "$rtn"
base=$gptq
g $s --scope row; ok "--scope row" differs
g $s --act-bits 16; ok "--act-bits 16" differs
g $s --algorithm lite; ok "lite beats none" less "$(loss)" "$rtn"
g $s --sparsity 0.5; ok "--sparsity" less "$gptq" "$(loss)"
e --calib other.safetensors $s --algorithm lite --act-bits 16; base=$(loss)
accept "quantize a model" quantize $s --algorithm lite --calib other.safetensors -o m.safetensors
e --weights m.safetensors --act-bits 16
ok "eval reads what quantize wrote" [ "$(loss)" = "$base" ]

# ---- training: on the calibration each stage loses less or changes nothing; the bytes do not depend on threads ----
t() { accept "train $1" quantize --format $1 --train both --train-steps 8 --calib other.safetensors --json "${@:2}"; }
for f in "gqsa --algorithm rtn" "gqsa --weight-bits 16" "sp24 --weight-bits 4 --group 64" "sp24 --weight-bits 16"; do
  t "$f" -o trained.safetensors --jobs 1
  ok "no block is worse" less "$(number block_error)" "$(number block_error_before) + 1e-12"
  [[ $f != *16 ]] && ok "scales lower the KL" less "$(number calib_kl)" "$(number calib_kl_before)"
done
t "sp24 --weight-bits 16" -o again.safetensors --jobs 3
ok "the same bytes" cmp -s "$W/trained.safetensors" "$W/again.safetensors"
ok "seed, steps, seconds, memory" out_has '"train":"both","train_steps":8,.*"seed":1,.*"train_seconds":[0-9.]*,"peak_memory_bytes":[0-9]'
accept "the file beside its format, paired" eval --format sp24 --weight-bits 16 --calib other.safetensors --tokens other.safetensors --and-weights trained.safetensors --summary --json
ok "fewer nats" less "$(sed -n 2p "$W.out" | grep -o '"kl_mean":[^,]*' | cut -d: -f2)" "$(sed -n 1p "$W.out" | grep -o '"kl_mean":[^,]*' | cut -d: -f2)"

# ---- a trained model ------------------------------------------------------------------------------
real=$DATA/models/stories260K
daily "losses of another model" && if [ -d "$real" ]; then
  r() { sq eval "$real" --sequences 4 --calib-sequences 16 --summary --json "$@"; }
  r --format sp24 --prune wanda --algorithm rtn; wanda=$(loss)
  r --format sp24; ok "stories260K: SparseGPT joint beats Wanda, then INT8" less "$(loss)" "$wanda"
  r $s --prune sparsegpt --algorithm rtn; rtn=$(loss)
  r $s --algorithm gptq; ok "stories260K: compensation beats none" less "$(loss)" "$rtn"
  r $s --algorithm lite; ok "stories260K: refitted survivors beat none" less "$(loss)" "$rtn"
else
  skip "stories260K" "SQ_DATA has no models/stories260K"
fi
finish
