#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim run --share: Stream-K and balanced columns are ideal on real patterns, slices are not.
. "$(dirname "$0")/lib.sh"

few_tokens 4
for f in gqsa spqt spqr; do accept "a file of $f" quantize --format $f -o $f.st; done
each() { # CONDITION of awk over the layers, whose fields are in v[]
  grep '"layer"' "$W.out" | awk -F'[,:{}]' '{for (i = 2; i < NF; i += 2) {gsub(/"/, "", $i); v[$i] = $(i + 1)}
    n++; if (!('"$1"')) {print "# " $0; bad = 1}} END {exit bad || n != 14}'
}
for p in 1 7 32 64 1024; do
  accept "gqsa, $p workers" run --share gqsa.st --workers $p --json
  ok "Stream-K within one group of ideal" each 'v["stream_k"] >= v["ideal"] && v["stream_k"] <= v["ideal"] + 1'
  ok "slices never beat it" each 'v["slice_k"] >= v["stream_k"] && v["slice_k_dynamic"] >= v["stream_k"]'
done
accept "one worker" run --share gqsa.st --workers 1 --json
ok "has all groups either way" each 'v["slice_k"] == v["ideal"] && v["stream_k"] == v["ideal"]'
accept "tiles of one row" run --share gqsa.st --workers 16 --tile-rows 1 --json
one=$(number slice_k)
accept "tiles of 64 rows" run --share gqsa.st --workers 16 --tile-rows 64 --json
ok "are coarser" [ "$(number slice_k)" -gt "$one" ]
for p in 3 16 64; do
  accept "spqt, $p workers" run --share spqt.st --workers $p --m 16 --json
  ok "balanced is ideal" each 'v["balanced"] == v["ideal"]'
  ok "fixed slices are not" [ "$(number static)" -gt "$(number balanced)" ]
done
accept "fewer tokens" run --share spqt.st --m 8 --json; few=$(number ideal)
accept "more tokens" run --share spqt.st --m 16 --json
ok "have more work" [ "$(number ideal)" -gt "$few" ]
accept "spqr" run --share spqr.st --json
ok "PTCSR pads" each 'v["ptcsr"] >= v["outlier_bytes"] && v["csr"] == v["outlier_bytes"] + 4 * (v["n"] + 1)'
accept "where its outliers lie" quantize --format spqr --json
ok "rows and groups as counted in the file" python3 - "$W/spqr.st" "$W.out" <<'EOS'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
n, = struct.unpack_from("<Q", data)
head = json.loads(data[8:8 + n])
def part(name, kind):
    begin, end = (8 + n + at for at in head[name]["data_offsets"])
    return struct.unpack(f"<{(end - begin) // struct.calcsize(kind)}{kind}", data[begin:end])
for row in [json.loads(line) for line in open(sys.argv[2])][:-1]:
    at, entry, perm = (part(f"{row['layer']}.{key}", kind) for key, kind in (("row_offsets", "I"), ("col_val", "I"), ("in_perm", "H")))
    held = sorted((b - a for a, b in zip(at, at[1:])), reverse=True)
    groups = {(r, perm[e & 65535] // 16) for r in range(row["n"]) for e in entry[at[r]:at[r + 1]]}
    want = len(entry), next(i for i in range(len(held) + 1) if 2 * sum(held[:i]) >= len(entry)), len(groups)
    assert (row["outlier_count"], row["rows_of_half"], row["groups_of_16"]) == want, (row, want)
    assert row["groups_of_16"] <= row["outlier_count"] >= row["groups_of_16_random"] > 0.7 * len(entry), row
EOS
says "as text: says what is counted" "^bytes of the outliers" run --share spqr.st
accept "the default output" run --share gqsa.st
ok "a line per layer and the sum" [ "$(grep -c '%' "$W.out")" = 15 ]
python3 - "$W/long" <<'EOS'
import json, struct, sys
names = ["model.language_model.layers.0.self_attn.%s_proj.weight" % c for c in "qk"]
n = 64 * 256 * 4
head = {name: {"dtype": "F32", "shape": [64, 256], "data_offsets": [i * n, (i + 1) * n]} for i, name in enumerate(names)}
text = json.dumps(head).encode()
data = b"".join(struct.pack("<f", (i * 37 % 101) / 101 - .4) for i in range(2 * 64 * 256))
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + data)
EOS
accept "layers of long names" quantize long --format gqsa --algorithm rtn -o long.st
sq run --share long.st
ok "are told apart" [ "$(grep -cE 'self_attn.(q|k)_proj(.weight)? ' "$W.out")" = 2 ]

accept "a file of sp24" quantize --format sp24 -o sp24.st
refuse "format sp24 has the same work in every row" run --share sp24.st
accept "a file of spqr, PTCSR" quantize --format spqr --outlier-layout ptcsr -o ptcsr.st
refuse "holds PTCSR, need CSR" run --share ptcsr.st
refuse "no file given" run --share
refuse "workers = 0, need 1..65536" run --share gqsa.st --workers 0
refuse "tile-rows = 0" run --share gqsa.st --tile-rows 0
refuse "m = 0" run --share spqt.st --m 0
refuse "unexpected argument" run --share gqsa.st spqt.st
refuse "absent" run --share absent.st
refuse "absent" run --share --weights spqt.st absent
head -c 3000 "$W/gqsa.st" >"$W/cut.st"; refuse "cut.st" run --share cut.st
D=$DATA/models/stories260K
if [ -d "$D" ]; then
  refuse "is not in the file" run --share --weights spqt.st "$D"
else
  skip "another model" "SQ_DATA has no models/stories260K"
fi
finish
