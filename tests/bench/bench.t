#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every benchmark runs, for a moment, and says what it should: no figure is judged. Each format has its
# product, its encoder, its machine, its sweep and its evaluation; the JSON has the rows of the text.
. tests/cli/lib.sh
BUILD=$(dirname "$SQSIM")
for name in $(tests/bench/bench.sh --list); do
  timeout $HANG tests/bench/bench.sh "$BUILD" "$W/$name.json" --quick "$name" >"$W/$name.txt" 2>"$W/$name.err"
  rc=$?
  ok "bench_$name runs" [ $rc = 0 ]
  sed 's/^/# /' "$W/$name.err"
  ok "bench_$name: nothing on stderr" [ ! -s "$W/$name.err" ]
  ok "bench_$name: rows as JSON" python3 - "$W/$name.json" "$W/$name.txt" <<'P'
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
text = [l for l in open(sys.argv[2]) if l.startswith("  ")]
assert len(rows) == len(text) > 0, (len(rows), len(text))
for r, line in zip(rows, text):
    assert line[2:].startswith(r["name"]), (r, line)
    assert len(r) > 2 and all(v is None or v >= 0 for k, v in r.items() if k not in ("part", "name")), r
P
done
# formats NAME PART: every format of the program has a row.
formats() {
  python3 - "$W/$1.json" "$2" $(sed -n '/^<!-- formats -->/,/^$/s/^| `\([^`]*\)` .*/\1/p' sim/format/README.md) <<'P'
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
names = {r["name"].split()[0] for r in rows if r["part"].startswith(sys.argv[2])}
missing = set(sys.argv[3:]) - names
assert len(sys.argv) > 3 and not missing, missing
P
}
ok "a product of every format" formats product product
ok "an encoder of every format" formats product encoder
ok "every format on a machine" formats machine llama
ok "every format in a sweep" formats sweep points
ok "an evaluation of every format" formats eval evaluation
ok "the kernel of OpenBLAS is named" grep -q '^OpenBLAS kernel [A-Za-z0-9]' "$W/product.txt"
kernel() { # the same with OPENBLAS_CORETYPE in the environment: bench_product starts itself without it
  [ "$(OPENBLAS_CORETYPE=Prescott "$BUILD/tests/bench/bench_product" --quick 256 | head -1)" = \
    "$(grep '^OpenBLAS' "$W/product.txt")" ]
}
ok "OPENBLAS_CORETYPE pins nothing" kernel
ok "RTL, lock step and model of the core" grep -q '^  core ' "$W/core.txt"
ok "RTL, stepping and fast way of the chip" grep -q '^  2x4, ' "$W/chip.txt"
ok "a layer of real size on it" grep -q '^  4096x4096x4096 ' "$W/chip.txt"
BENCH_JSON=/nowhere/x "$BUILD/tests/bench/bench_gemm" --quick >/dev/null 2>"$W/err"
ok "a file that cannot be written ends a benchmark" [ $? = 3 -a -s "$W/err" ]
finish
