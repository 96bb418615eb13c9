#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The decode formats spqt and spqr through eval, quantize and inspect: every flag changes what it
# says, a file gives the loss of its recipe, the bytes of the file are the bits that are printed,
# and every refusal of SPEC G.4, H.3 and H.4 is met by a file that is wrong in that one place.
. "$(dirname "$0")/lib.sh"

e() { sq eval --sequences 1 --calib-sequences 3 --summary --json "$@"; }
loss() { number loss; }
same() { [ "$RC" = 0 ] && [ "$(loss)" = "$base" ]; }
differs() { [ "$RC" = 0 ] && [ "$(loss)" != "$base" ]; }
between() { awk "BEGIN{exit !($1 < $2 && $2 < $3)}"; }

# ---- eval ---------------------------------------------------------------------------------------
d() { sq eval --sequences 1 --summary --json "$@"; } # without calibration
d --format dense --weight-bits 16 --act-bits 16; reference=$(loss)
d --format spqt --prefill dense; dense=$(loss)
ok "Q4_K, no column skipped: near the reference" between "$reference-0.05" "$dense" "$reference+0.05"
ok "says so" out_has '"format":"spqt".*"algorithm":"q4_k".*"prefill":"dense".*"act":"binary32"'
last=$dense
for p in 0.25 0.5 0.8; do
  e --format spqt --sparsity $p
  ok "more columns skipped cost more: $p" between "$last" "$(loss)" 9
  last=$(loss)
done
e --format spqt; base=$(loss)
ok "rows are padded, and it is said" out_has '"padding":"rows padded to superblocks of 256"'
e --format spqt --sparsity 0.5 --workers 64 --prefill sparse; ok "defaults of spqt" same
e --format spqt --jobs 3; ok "--jobs changes nothing" same
for flags in "--sparsity 0.51" "--workers 3" "--calib-sequences 1"; do
  e --format spqt $flags; ok "spqt $flags" differs
done
d --format spqt --prefill dense; ok "spqt --prefill dense" differs
e --format spqt --sparsity 0.03; base=$(loss)
e --format spqt --sparsity 0.03 --thresholds uniform; ok "uniform thresholds are the default" same
e --format spqt --sparsity 0.03 --thresholds greedy; ok "spqt --thresholds greedy" differs
ok "and named" out_has '"thresholds":"greedy"'
e --format spqr; base=$(loss)
ok "spqr is near the reference" between "$reference-0.05" "$base" "$reference+0.05"
ok "and named" out_has '"format":"spqr","padding":"rows and columns.*"act":"binary16"'
e --format spqr --outliers 0.2 --outlier-form relative --outlier-layout csr --percdamp 1 --act-bits 16
ok "defaults of spqr" same
bits=$(number stored_bits_per_weight)
e --format spqr --jobs 3; ok "--jobs changes nothing" same
e --format spqr --outlier-layout ptcsr; ok "the layout changes no value" same
ok "but the bits" between "$bits" "$(number stored_bits_per_weight)" 9
for flags in "--outliers 0.1" "--outliers 1e6" "--outlier-form absolute" "--percdamp 0.01" \
  "--calib-sequences 2"; do
  e --format spqr $flags; ok "spqr $flags" differs
done
e --format spqr --outliers 1e6
ok "no outliers: 4 bits, a row offset and a column index" \
  between 4.16 "$(number stored_bits_per_weight)" 4.17
sq eval --sequences 1 --calib-sequences 3 --format spqt
ok "text: bits of a layer of 128 rows" grep -q 'k_proj *128 x 256 *32   9.0010 ' "$W.out"
ok "text: padding" grep -q 'stored bits per weight, rows padded to superblocks of 256$' "$W.out"

# ---- options ------------------------------------------------------------------------------------
refuse "--sparsity = 0.96, need 0..0.95 for spqt" eval --format spqt --sparsity 0.96
for v in 0 1025 many; do refuse "--workers = .*need 1..1024" eval --format spqt --workers $v; done
for v in 0 -1 nan inf x; do refuse "--outliers = .*need" eval --format spqr --outliers=$v; done
refuse "--prefill = none, need sparse or dense\|--prefill = none" eval --format spqt --prefill none
refuse "--outlier-layout = coo" eval --format spqr --outlier-layout coo
refuse "dense prefill skips nothing" eval --format spqt --prefill dense --sparsity 0.5
refuse "dense prefill skips nothing" eval --format spqt --prefill dense --thresholds greedy
refuse "--thresholds = teal" eval --format spqt --thresholds teal
refuse "--thresholds needs --format spqt" eval --format spqr --thresholds greedy
for f in sq_w sp24 spqr; do
  refuse "--workers needs --format spqt" eval --format $f --workers 4
  refuse "--prefill needs --format spqt" eval --format $f --prefill dense
done
for f in dense gqsa spqt; do
  refuse "--outliers needs --format spqr" eval --format $f --outliers 0.3
  refuse "--outlier-form needs --format spqr" eval --format $f --outlier-form absolute
  refuse "--outlier-layout needs --format spqr" eval --format $f --outlier-layout ptcsr
done
for f in spqt spqr; do
  refuse "--algorithm: $f has one algorithm" eval --format $f --algorithm rtn
  refuse "--algorithm: $f has one algorithm" quantize --format $f --algorithm rtn
  refuse "--score: $f" eval --format $f --score c0
  refuse "--group: the groups of $f are fixed" eval --format $f --group 32
  refuse "--prune needs" eval --format $f --prune wanda
  refuse "has no banks" eval --format $f --bank 8
  refuse "has no smoothing" eval --format $f --smooth 0.5
done
refuse "--percdamp: nothing here" eval --format spqt --percdamp 0.1
refuse "spqt multiplies binary32 activations" eval --format spqt --act-bits 8
refuse "--act-bits = 8, need 16 for spqr" eval --format spqr --act-bits 8
refuse "spqr has --outliers" eval --format spqr --sparsity 0.5

# ---- files --------------------------------------------------------------------------------------
cp "$SQSIM_HOME/traces/tiny-llama/tokens_calib.safetensors" "$W/calib"
for f in spqt spqr "spqr --outlier-layout ptcsr" "spqt --sparsity 0.02 --thresholds greedy"; do
  name=$(echo "$f" | tr -d ' -')
  accept "quantize $f" quantize --format $f --calib-sequences 3 -o "$name" --json
  bits=$(number stored_bits_per_weight)
  accept "inspect $f" inspect "$name" --json
  ok "the file has the bits that are printed" \
    awk "BEGIN{d = $(number bytes) * 8 / 1179648 - $bits; exit !(d < 1e-9 && d > -1e-9)}"
  ok "and says so itself" awk "BEGIN{exit !($(number stored_bits_per_weight) == $bits)}"
  sq eval --sequences 1 --calib-sequences 3 --summary --json --format $f; base=$(loss)
  sq eval --sequences 1 --summary --json --weights "$name"; ok "the loss of its recipe" same
done
refuse "--act-bits: spqt has binary32 activations" eval --weights spqt --act-bits 8
refuse "only --act-bits is free" eval --weights spqt --workers 3

# bad PATTERN FILE TENSOR OFFSET BYTES: one tensor changed; inspect and eval must both refuse it.
bad() {
  cp "$W/$2" "$W/bad"
  undigested "$W/bad"
  printf "$5" | dd of="$W/bad" bs=1 seek=$(($(place "$W/bad" "$L.$3") + $4)) conv=notrunc status=none
  refuse "$1" inspect bad
  refuse "$1" eval --sequences 1 --weights bad
}
# lie PATTERN FILE FROM TO: metadata of the same length.
lie() {
  LC_ALL=C sed "s/$3/$4/" "$W/$2" >"$W/bad"
  undigested "$W/bad"
  refuse "$1" inspect bad
}
word() { od -An -t x4 -j $(($(place "$W/$1" "$L.$2") + 4 * $3)) -N 4 "$W/$1" | tr -d ' '; }
le() { printf '\\x%s\\x%s\\x%s\\x%s' "${1:6:2}" "${1:4:2}" "${1:2:2}" "${1:0:2}"; }

L=model.layers.1.mlp.up_proj # 512 x 256
bad "superblock row 0 column 3: d = inf" spqt superblocks 432 '\0\x7c'
bad "superblock row 1 column 0: dmin = -" spqt superblocks $((144 * 256 + 3)) '\x80\xff\xff'
bad "theta = -" spqt theta 3 '\xbf'
bad "theta = nan" spqt theta 0 '\0\0\xc0\x7f'
lie "dimension 0 is 2, its metadata need 3" spqt "up_proj.N\":\"512" "up_proj.N\":\"513" # N % 256
lie "dimension 1 is 256, its metadata need 255" spqt "up_proj.K\":\"256\",\"$L.k_orig\":\"256" \
  "up_proj.K\":\"255\",\"$L.k_orig\":\"255"
lie "workers.*no number in 1..1024" spqt 'workers":"64' 'workers":"00'

bad "tile (0, 0) row 2: word 0x.*need bits 63:62 0" spqr dense64 23 '\xff'
bad "tile (0, 1) rows 4 and 5: second-order bytes" spqr dense64 $((128 + 8 * 5 + 7)) '\x3f'
bad "q_zz = 0x.*need a finite binary16" spqr dense64 $((8 * 14 + 6)) \
  '\0\x1f\0\0\0\0\0\0\0\x1f'
lie "dimension 0 is 32, its metadata need 33" spqr "up_proj.N\":\"512" "up_proj.N\":\"513" # N % 16
bad "in_perm\[1\] = .*need each of 0..255 once" spqr in_perm 0 '\x05\0\x05\0'
bad "in_perm\[0\] = 256, need each" spqr in_perm 0 '\0\x01'
first=$(word spqr col_val 0) second=$(word spqr col_val 1)
ok "two outliers in row 0" [ "$(word spqr row_offsets 1)" \> 00000001 ]
bad "row 0: an outlier 0x00000000" spqr col_val 0 '\0\0\0\0'
bad "row 0: outlier in column 256, need 0..255" spqr col_val 0 '\0\x01'
bad "row 0: outlier in column .* behind column" spqr col_val 0 "$(le $second)$(le $first)"
bad "row 0 column .*: outlier 0x7c00 is not finite" spqr col_val 2 '\0\x7c'
bad "row_offsets\[0\] = 1, need 0" spqr row_offsets 0 '\x01'
bad "row_offsets\[2\] = .*, below" spqr row_offsets 8 '\0\0\0\0'
bad "row_offsets ends at .*, the outliers at" spqr row_offsets 2048 '\0\0\xff\x7f'

P=spqroutlier-layoutptcsr
P=$(echo "$P" | tr -d -)
bad "outlier 1 stands behind a missing one" $P col_val 0 '\0\0\0\0' # its row has more
bad "block 0 has .* words, need a multiple of 16" $P row_offsets 4 '\x21'
bad "offsets\[0\] = 16, need 0" $P row_offsets 0 '\x10'
bad "outlier in column 511, need 0..255" $P col_val 0 '\xff\x01'
n=$((16#$(word $P row_offsets 1))) # words of block 0: its last 16 end the longest row
{ head -c 64 /dev/zero | sed 's/\x00/\\0/g'; } >"$W.zeros"
bad "block 0 has $n words, its longest row needs $((n - 16))" $P col_val $((4 * (n - 16))) \
  "$(cat "$W.zeros")"
rm -f "$W.zeros"
lie "ptcsr.*no number in 0..1" $P 'ptcsr":"1' 'ptcsr":"2'
lie "row_offsets.*need 257" $P 'ptcsr":"1' 'ptcsr":"0'

# ---- layers that cannot be --------------------------------------------------------------------------
tensor "$W/huge" '{"w":{"dtype":"F32","shape":[1,64],"data_offsets":[0,256]}}' 252
printf '\0\0\0\x7e' >>"$W/huge" # 2^125
refuse "binary16" quantize huge --format spqt --prefill dense
refuse "config.json" quantize huge --format spqr
refuse "config.json" quantize huge --format spqt

# ---- stories260K, where it is -----------------------------------------------------------------------
real=$DATA/models/stories260K
if [ -d "$real" ]; then
  for f in spqt spqr; do
    accept "stories260K in $f" quantize "$real" --calib-sequences 4 --format $f --json -o s
    weights=$(number weights) bits=$(number stored_bits_per_weight)
    accept "and validates" inspect s --json
    ok "its file has the bits that are printed" \
      awk "BEGIN{d = $(number bytes) * 8 / $weights - $bits; exit !(d < 1e-9 && d > -1e-9)}"
  done
  ok "down_proj: K = 172 is padded to 176" out_has '"operand":"model.layers.0.mlp.down_proj","n":64,"k":172,"k_padded":176'
  if daily "losses of stories260K"; then
    sq eval "$real" --calib-sequences 4 --sequences 8 --summary --json --format spqr; spqr=$(loss)
    sq eval "$real" --calib-sequences 4 --sequences 8 --summary --json --format spqr --outliers 1e6
    ok "outliers help" between "$spqr" "$(loss)" 3
    sq eval "$real" --calib-sequences 4 --sequences 8 --summary --json --format spqr --outlier-form absolute
    ok "adding what the kernel adds helps" between "$spqr" "$(loss)" 3
  fi
else
  skip "stories260K" "SQ_DATA has no models/stories260K"
fi
finish
