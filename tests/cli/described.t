#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Formats that a description says (SPEC Q.9): random ones and those of sim/format/scaled/formats encode random weights byte for
# byte as tests/unit/scaled/described.py does, which was written from SPEC alone; HiFloat4 and MXFP4 even give the values of their
# authors' arithmetic; a file is read back and decodes to the same numbers; a description that cannot be is refused in one line.
. "$(dirname "$0")/lib.sh"
FORMATS=$ROOT/sim/format/scaled/formats
san || export LIBRARY=$(dirname "$SQSIM")/libsqsim.so
model() { # ARGS...: described.py with the program, in a folder of its own
  local way=$1; shift
  mkdir -p "$W/d"
  timeout $HANG python3 "$ROOT/tests/unit/scaled/described.py" "$way" "$SQSIM" "$W/d" "$@" >"$W.out" 2>&1 || { sed 's/^/# /' "$W.out"; return 1; }
}
ok "30 random descriptions" model random 0 30 "${SQ_SEED:-1}"
daily "270 more" && ok "270 more" model random 30 270 "${SQ_SEED:-1}"
ok "what vectors asks of a unit for 5 of them" model cases 0 5 "${SQ_SEED:-1}"
daily "for 60" && ok "for 60" model cases 5 55 "${SQ_SEED:-1}"
ok "the vectors of SPEC, V22, V23, V24, V25, V26, V27 and V28" model vectors
ok "the descriptions that come with sqsim" model files "$FORMATS"/*.yaml
ok "... whose values are those that papers and programs define" model values "$FORMATS"/*.yaml
ok "HiFloat4: 100 tensors as its authors encode them" model authors hif4 "$FORMATS/hif4.yaml"
ok "MXFP4 even: 100 tensors as compressed-tensors encodes them" model authors mxfp4 "$FORMATS/mxfp4_even.yaml"

# ---- through files ------------------------------------------------------------------------------------------------
loss() { number loss; }
e() { sq eval --sequences 1 --summary --json "$@"; }
for f in hif4 mixfp4 nf4; do
  [ $f = hif4 ] || daily "$f through files" || continue
  e --format $f; base=$(loss)
  ok "$f: a loss" [ "$RC" = 0 ]
  accept "$f: quantize" quantize --format $f -o $f.st --json
  e --weights $f.st; ok "$f: eval reads what quantize wrote" [ "$(loss)" = "$base" ]
  cp "$FORMATS/$f.yaml" "$W/mine.yaml"
  e --format mine.yaml; ok "$f: by its path" [ "$(loss)" = "$base" ]
done
rm -f "$W/mine.yaml"

# ---- files that cannot be ---------------------------------------------------------------------------------------
python3 - "$W/w.safetensors" <<'E'
import json, math, struct, sys
x = struct.pack("<62f", *(math.sin(i * i) for i in range(62)))
header = json.dumps({"w.weight": {"dtype": "F32", "shape": [1, 62], "data_offsets": [0, len(x)]}})
open(sys.argv[1], "wb").write(struct.pack("<Q", len(header)) + header.encode() + x)
E
lie() { # PATTERN FORMAT TENSOR OFFSET BYTES: one tensor of a file changed so is refused
  [ -e "$W/$2.s" ] || accept "quantize $2" quantize w.safetensors --format $2 -o $2.s
  cp "$W/$2.s" "$W/lie"
  printf "$5" | dd of="$W/lie" bs=1 seek=$(($(place "$W/lie" "w.$3") + $4)) conv=notrunc status=none
  undigested "$W/lie"
  refuse "$1" inspect lie
}
lie "scale\[0\] has code 0xff, need 0..0xfe" hif4 scale 0 '\xff'
lie "padding is not zero" hif4 codes 31 '\x10'
lie "scale\[0\] has code 0x7f, need 0..0x7e" sfp4 scale 0 '\x7f'
lie "code 0x8 is no value" sfp4 codes 0 '\x08'
lie "the mask keeps others than 4 of 8" nvfp4_sparse mask 0 '\xff'
lie "columns from 0 on: the mask keeps others" nvfp4_sparse codes 0 '\x00'
lie "blocks.0.zero = 0x7c00, need a finite binary16" kivi_g32 sub 0 '\x00\x7c'
lie "is no value" sfp4 sub 0 '\xff' # of three grids the fourth
edit() { # PATTERN FROM TO: the description of a file changed so is refused
  sed "s/name: hif4/name: mine/" "$FORMATS/hif4.yaml" >"$W/mine.yaml"
  [ -e "$W/mine.s" ] || accept "quantize mine.yaml" quantize w.safetensors --format mine.yaml -o mine.s
  LC_ALL=C sed "s|$2|$3|" "$W/mine.s" >"$W/lie"
  undigested "$W/lie"
  refuse "$1" inspect lie
}
edit "dimension 1 is 1, its metadata need 2" "length: 64" "length: 32"
edit "grid s1p2: 8 values, need 16" "bits: 4" "bits: 5"
edit "rule = amax / 0" "amax / 7" "amax / 0"
edit "has the name othr" "name: mine" "name: othr"

# ---- as built in, and without RTL ------------------------------------------------------------------------------------
cat >"$W/same.py" <<'P'
import json, sys
def read(p):
    b = open(p, "rb").read()
    n = int.from_bytes(b[:8], "little")
    return {k.split(".")[-1]: b[8 + n:][slice(*t["data_offsets"])] for k, t in json.loads(b[8:8 + n]).items() if k != "__metadata__"}
assert read(sys.argv[1]) == read(sys.argv[2])
P
same() { # BUILT-IN DESCRIPTION: encode weights alike
  sq quantize w.safetensors --format $1 -o a.s && sq quantize w.safetensors --format $2 -o b.s
  ok "$2 is $1" python3 "$W/same.py" "$W/a.s" "$W/b.s"
}
same mxint8 mxint8_ocp
same mxfp8 mxfp8_e4m3
same mxfp6 mxfp6_e2m3
same "mxfp6 --element e3m2" mxfp6_e3m2
small="--m 1 --n 64 --k 64 --timing-only"
for command in "run $small --format" "area --units-of" "cosim --layers --format"; do
  refuse "no RTL has elements.grids of 16 lists, need at most 4" $command blockdialect
done
sed 's/scale: f16/scale: e4m3/; s/zero: int/zero: min/' >"$W/zero.yaml" <<'Y'
name: rounded
elements: {bits: 4, grids: {q: uint}}
blocks: [{length: 32, scale: f16, rule: range / 15, zero: int}]
tensor_scale: none
Y
refuse "no RTL has blocks.0.keep = .4, 8., need none" run $small --format nvfp4_sparse
refuse "no RTL has blocks.0.zero = min, need none or int" run $small --format zero.yaml --operand act
refuse "operand = both: products of codes have no sums for blocks.1.scale of integers" run $small --format q6_k --operand both
refuse "no RTL has blocks.1.scale of integers" run $small --format q6_k --operand act
refuse "operand = act: no RTL has blocks.0.zero = min beside" run $small --format q4_1 --operand act
refuse "vectors have scales of 8 bits, no blocks.0.scale = f16" quantize --vectors --format awq_g128 -o "$W"
sed -i 's/uint/int/; s/bits: 4/bits: 7/; s/range.*min/amax \/ 63/' "$W/zero.yaml"
refuse "no RTL has elements.bits = 7 with these grids" run $small --format zero.yaml

# ---- descriptions that cannot be ------------------------------------------------------------------------------------
cat >"$W/two" <<'Y'
name: two
source: nobody
elements:
  bits: 4
  grids:
    a: [0, .5, 1, 1.5, 2, 3, 4, 6]
    b: [0, 1, 2, 3, 4, 5, 6, 7, ~, -7, -6, -5, -4, -3, -2, -1]
blocks:
  - length: 16
    scale: e4m3
    rule: [amax / 6, amax / 7]
    search: [2, 2]
    by: squared_error
    stored: scale_sign
tensor_scale: token
operands: both
Y
cat >"$W/one" <<'Y'
name: one
elements: {bits: 4, grids: {s1p2: [0, .25, .5, .75, 1, 1.25, 1.5, 1.75]}}
blocks:
  - {length: 64, scale: e6m2, rule: amax / 7}
  - {length: 8, scale: pow2, bits: 1, at: 4}
  - {length: 4, scale: pow2, bits: 1, at: 2}
tensor_scale: none
Y
cat >"$W/mx" <<'Y'
name: mx
elements: {bits: 4, grids: {e2m1: [0, .5, 1, 1.5, 2, 3, 4, 6]}}
blocks: [{length: 32, scale: e8m0, rule: even(amax / 6)}]
tensor_scale: none
Y
cat >"$W/keep" <<'Y'
name: keep
elements: {bits: 4, grids: {q: int}}
blocks: [{length: 16, scale: f16, rule: amax / 7, keep: [4, 8], keep_by: pairs}]
tensor_scale: none
Y
cat >"$W/fine" <<'Y'
name: fine
elements: {bits: 4, grids: {q: uint}}
blocks: [{length: 128, scale: f16, rule: range / 15, zero: min}, {length: 8, scale: uint6}]
tensor_scale: none
operands: weights
Y
cat >"$W/zero" <<'Y'
name: zero
elements: {bits: 4, grids: {q: uint}}
blocks: [{length: 32, scale: f16, rule: range / 15, zero: int}]
tensor_scale: none
Y
take() { sq quantize w.safetensors --format d.yaml; }
for base in two one mx zero keep fine; do
  cp "$W/$base" "$W/d.yaml"
  take
  ok "$base is one" [ "$RC" = 0 ]
done
while IFS='|' read -r base change; do # what is next to the first of these that is refused below
  sed "$change" "$W/$base" >"$W/d.yaml"
  take
  ok "$base: $change is one, too" [ "$RC$(cmp "$W/$base" "$W/d.yaml" | wc -l)" = 01 ]
done <<'END'
two|s/, 4, 6\]/, 4, 512]/
two|s/length: 16/length: 8/
two|s/length: 16/length: 256/
two|s/search: .*/search: [16, 16]/
two|s/^name: two/name: abcdefghijabcdefghijabcdefghijk/
zero|s/zero: int/zero: min/
fine|s/range . 15, zero: min/max \/ -8/; s/uint6/int8/
keep|s/4, 8]/2, 16]/
END
# hostile BASE SED PATTERN: the description changed so is refused in a line that matches.
hostile() {
  sed "$2" "$W/$1" >"$W/d.yaml"
  ok "$1: $2 changes it" [ "$(cmp "$W/$1" "$W/d.yaml" 2>&1 | wc -l)" = 1 ]
  refuse "$3" quantize w.safetensors --format d.yaml
}
while IFS='|' read -r base change pattern; do
  hostile "$base" "$change" "$pattern"
done <<'END'
two|/^name/d|name
two|/^    b:/{p;:x;s/^    \([a-z]*\):/    \1x:/;p;/x\{16\}/!bx}|more than 16 grids
keep|s/4, 8]/8, 8]/|keep = .8, 8., need pairs, 1 to m - 1 of m = 4 to 16
keep|s/4, 8]/3, 8]/|keep = .3, 8.
keep|s/4, 8]/4, 32]/|keep = .4, 32.
keep|s/4, 8]/4, 0]/|keep = .4, 0., need m > 0
keep|s/4, 8]/4]/|keep: need .n, m.
keep|s/pairs/thirds/|keep_by = thirds, need one of elements, pairs
keep|s/keep: .4, 8., //|keep_by: need keep
keep|s/amax/max/|keep with rule = max
keep|s/q: int/q: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]/|keep with a grid without 0
two|s/^name: two/name: 9two/|name.*9two
two|s/^name: two/name: Two/|name.*Two
two|s/^name: two/name: two words/|name
two|s/^name: two/name: abcdefghijabcdefghijabcdefghijkl/|name.*31
two|s/^name: two/name: $(touch x)/|name
two|s/^name: two/name: ""/|name
two|s/nobody/"a\\x07b"/|source
two|s/^source.*/colour: red/|colour
two|s/^operands.*/&\nname: three/|name
two|/^elements/,/^ *b:/d|elements
two|s/bits: 4/bits: 0/|bits = 0, need 1\.\.8
two|s/bits: 4/bits: 9/|bits = 9, need 1\.\.8
two|s/bits: 4/bits: -4/|bits
two|s/bits: 4/bits: four/|bits
two|s/bits: 4/bits: 3/|grid.* 8 values\|grid.* 16 values\|values
two|/bits: 4/d|bits
two|/^ *[ab]:/d|grids
two|s/^ *b:.*/&\n    c: [0, 1, 2, 3, 4, 5, 6, 7]\n    d: [0, 1, 2, 3, 4, 5, 6, 7]\n    e: [0, 1, 2, 3, 4, 5, 6, 7]/|grids
two|s/^    b:/    a:/|a
two|s/ 4, 6\]/ 4]/|7 values
two|s/, -1\]/, -1, 1]/|17 values
two|s/a: \[0, /a: [.25, /|grid a: no value 0
two|s/a: \[0, .5, 1,/a: [0, .5, .5,/|grid a: value 0.5 .*need it once
two|s/, 4, 6\]/, 4, 6.3]/|2^-9
two|s/, 4, 6\]/, 4, 513]/|513.*512
two|s/a: \[0, .5/a: [0, .001953125/|3584 in units of 2^-9, need at most 2047
two|s/, 4, 6\]/, 4, -6]/|-6
two|s/, 4, 6\]/, 4, nan]/|nan
two|s/, 4, 6\]/, 4, .inf]/|inf
two|s/, 4, 6\]/, 4, 1e400]/|1e400\|inf
two|s/, 4, 6\]/, 4, six]/|six
two|s/, 4, 6\]/, 4, 0x6]/|0x6
two|s/a: .*/a: [~, ~, ~, ~, ~, ~, ~, ~]/|a
two|s/a: .*/a: []/|a
two|s/a: .*/a: 6/|a
two|s/length: 16/length: 12/|length = 12
two|s/length: 16/length: 4/|length = 4
two|s/length: 16/length: 512/|length = 512
two|s/length: 16/length: 0/|length
two|s/length: 16/length: 4294967312/|length
two|s/scale: e4m3/scale: fp16/|fp16
two|s/scale: e4m3/scale: pow2/|pow2
two|/ scale: e4m3/d|scale
two|s/amax . 6,/amax \/ 0,/|0
two|s/amax . 6,/amax \/ -6,/|-6
two|s/amax . 6,/amax \/ nan,/|nan
two|s/amax . 6,/amax \/ 1e39,/|1e39\|inf
two|s/amax . 6,/amax * 6,/|amax \* 6
two|s/amax . 6,/mean \/ 6,/|mean
two|s/amax . 6,/amax \/ 6 7,/|6 7
two|s/amax . 6,/floor(amax \/ 6),/|floor
two|s/rule: .*/rule: []/|rule
two|s/amax . 6,/amax \/ 6, amax \/ 5,/|3 
two|s/search: .*/search: [17, 0]/|17.*16
two|s/search: .*/search: [-1, 0]/|search
two|s/search: .*/search: [1]/|search
two|s/search: .*/search: [1, 2, 3]/|search
two|s/search: .*/search: wide/|search
two|/ by:/d|by
two|s/by: .*/by: cosine/|cosine
two|/stored/d|stored
two|s/stored: .*/stored: nowhere/|nowhere
two|s/scale: e4m3/scale: ue5m3/|scale_sign
two|s/^ *b:.*/&\n    c: [0, 1, 2, 3, 4, 5, 6, 8]\n    d: [0, 1, 2, 3, 4, 5, 7, 8]/; s/rule: .*/rule: amax \/ 6/|scale_sign
two|s/tensor_scale: token/tensor_scale: row/|row
two|s/operands: both/operands: none/|none
two|s/^blocks:/blocks: []\nother:/|other\|blocks
two|/^blocks/,$d|blocks
two|s/.*//|empty\|no \|missing\|YAML
two|1s/^/x: \&x [1]\ny: *x\n/|alias\|unknown\|x
one|s/rule: amax . 7/rule: amax \/ 7, stored: scale_sign/|stored
one|s/length: 8/length: 24/|length = 24
one|s/length: 8/length: 64/|length = 64
one|s/length: 4,/length: 8,/|length = 8
one|s/bits: 1, at: 4/bits: 3, at: 4/|bits = 3
one|s/bits: 1, at: 4/bits: 0, at: 4/|bits = 0
one|s/at: 4/at: 0/|at = 0
one|s/at: 4/at: -1/|at
one|s/at: 4/at: nan/|at
one|s/length: 8, scale: pow2/length: 8, scale: e4m3/|e4m3
one|s/scale: pow2, bits: 1, at: 4/scale: uint6/|blocks.1.scale = uint6, need it as blocks.1 alone
one|s/scale: pow2, bits: 1, at: 4/scale: pow2, at: 4/|key bits is missing
fine|s/uint6/uint6, bits: 6/|blocks.1.scale = uint6, need it as blocks.1 alone
fine|s/uint6/uint5/|uint5
fine|s/length: 8/length: 4/|8 to 64, at most 16
fine|s/length: 128/length: 256/|at most 16
fine|s/length: 8/length: 128/|8 to 64
fine|s/uint6/int6/|range with zero min without one
fine|s/zero: min/zero: f16/|range with zero min
fine|s/range . 15, zero: min/max \/ -8/|max with a sign
fine|s/range . 15, zero: min/rms \/ 2/|need rule amax
fine|s/f16, rule: range . 15, zero: min/e4m3, rule: amax \/ 15/|need scale f16, bf16 or f32
fine|s/range . 15, zero: min/[amax \/ 15, amax \/ 14], by: squared_error/|one divisor
fine|s/operands: weights/operands: both/|blocks.1.scale of integers
one|s/length: 8, scale: pow2/length: 8, scale: pow2, rule: amax \/ 2/|rule
one|s/ *- .length: 4.*/&\n  - {length: 2, scale: pow2, bits: 1, at: 1}/|4\|blocks
one|s/bits: 1, at/bits: 2, at/; s/1.75\]/100]/|25600.*2047
mx|s/even(amax . 6)/amax \/ 6/|amax \/ 6
mx|s/even(amax . 6)/even(amax \/ 6/|even(amax
mx|s/even(amax . 6)/round(amax \/ 6)/|round
mx|s/even(amax . 6)/[even(amax \/ 6), floor(amax \/ 6)], by: squared_error/|even\|floor\|rule
mx|s/3, 4, 6\]/3, 4, 5]/; s/even(amax . 6)/even(amax \/ 2)/; s/2, 3, 4/2, 2.5, 3/|even\|2
mx|s/even(amax . 6)/ceil(amax \/ 6), search: [1, 1], by: squared_error/|search
mx|s/tensor_scale: none/tensor_scale: token/|tensor_scale
mx|/tensor_scale/d|tensor_scale
mx|s/tensor_scale: none/&\n---\nname: other/|document
mx|s/e2m1:/"e2\\e[31mm1":/|grids
mx|s/e8m0/"e8\\e[31mm0"/|blocks.0.scale: need one line
mx|s/even(amax . 6)/even(amax \/ 1025)/|1025
two|s/b: .*/b: ints/|grid b: ints, need values, or int
two|s/b: .*/b: e2m2/|e2m2.*4 bits
two|s/b: .*/b: e5m0/|e5m0
two|s/scale: e4m3/scale: f16/|scale_sign
one|s/scale: e6m2/scale: f16, zero: float/|zero = float, need one of none, int, f16, min
one|s/scale: e6m2/scale: f16, zero: int/|zero
one|s/scale: e6m2/scale: f16, zero_bits: 4/|zero_bits = 4
one|s/e6m2, rule: amax . 7/bf16, rule: amax \/ 7, divide: bfloat16/|divide = bfloat16 with scale bf16
one|s/amax . 7/range \/ 7/|rule = range, need a zero
one|s/amax . 7/median \/ 7/|median
one|s/amax . 7/percentile(101) \/ 7/|percentile(101)
one|s/amax . 7/percentile(0) \/ 7/|percentile(0)
one|s/amax . 7/percentile(99 \/ 7/|percentile(99
one|s/amax . 7/percentile \/ 7/|percentile
one|s/amax . 7/least_squares \/ 7/|no sub-blocks
one|s/amax . 7/max \/ -7/|max: need scale f16
one|s/amax . 7/amax \/ -7/|amax / -7
one|s/tensor_scale: none/tensor_scale: token/; s/e6m2/f32/|tensor_scale of scale f32
zero|s/range/amax/|zero: rule is not range
zero|s/range . 15/[range \/ 15, rms \/ 15]/|2 divisors\|behind range\|one divisor
zero|s/zero: int/zero: int, zero_bits: 9/|zero_bits = 9, need 1\.\.8
zero|s/zero: int/zero: min, zero_bits: 4/|zero_bits = 4, need none
zero|s/uint/e2m1/|zero: need one grid
zero|s/tensor_scale: none/tensor_scale: token/|tensor_scale
zero|s/zero: int/zero: int, search: [1, 1], by: squared_error/|search
zero|s/f16/e8m0/|need floor\|e8m0
zero|s/zero: int/zero: f16/|operand = both.*zero = f16
zero|s/zero: int/zero: min/; s/scale: f16/scale: bf16/|operand = both.*zero = min
zero|s/zero: int/zero: min/; s/uint/[0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]/|operand = both.*zero = min
zero|s/uint/[0, 512, 0, 511.998046875, ~, ~, ~, ~, ~, ~, ~, ~, ~, ~, ~, ~]/|less zero points
END
printf 'name: x\nelements: \x00\x01\xff' >"$W/d.yaml"; refuse "d.yaml" quantize w.safetensors --format d.yaml
{ cat "$W/one"; head -c 1100000 /dev/zero | tr '\0' '#'; } >"$W/d.yaml"; refuse "d.yaml" quantize w.safetensors --format d.yaml
rm "$W/d.yaml"; refuse "d.yaml" quantize w.safetensors --format d.yaml
mkdir "$W/d.yaml"; refuse "d.yaml" quantize w.safetensors --format d.yaml
rmdir "$W/d.yaml"
finish
