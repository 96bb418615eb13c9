#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim explain sum: sums that GPUs made (traces/tensor_core, and all rows of SQ_DATA where that is) are made to the bit
# by the rule of their device and by no neighbour of it; --fit finds that rule; what is shown adds up; refusals.
. "$(dirname "$0")/../cli/lib.sh"
T=$ROOT/traces/tensor_core
folders=$T
if [ -n "$SQ_DATA" ]; then folders="$T $SQ_DATA/tensor_core"; else echo "# skipped: all rows of the GPUs: SQ_DATA is not set"; fi

for set in v100_fp16:v100 a100_bf16:a100 a100_fp16:a100 h100_bf16:h100 h100_fp16:h100 h100_e4m3:h100 h100_e5m2:h100 ada_e4m3:ada \
  b200_bf16:b200 b200_e4m3:b200; do
  name=${set%:*}
  for folder in $folders; do
    file=$(ls "$folder/$name".csv*)
    accept "$name: ${folder##*/}" explain sum --rule ${set#*:} --type ${name#*_} --vectors "$file" --json
    ok "... every sum to the bit" grep -Eq '"rows":(60|2500),"differ":0' "$W.out"
  done
  sq explain sum --fit "$T/$name.csv" --json
  ok "... and --fit names the device" grep -q "\"devices\":\"[a-z0-9, ]*${set#*:}" "$W.out"
done
# Each parameter counts: a rule that is off by one of them does not give the sums.
wrong() { # FILE TYPE RULE: the rule as a row of YAML
  printf 'name: wrong\nsource: a test\nsums: [{inputs: [any], %s}]\n' "$3" >"$W/wrong.yaml"
  sq explain sum --rule "$W/wrong.yaml" --type $2 --vectors "$T/$1.csv"
  ok "$1: not $3" [ "$RC" = 1 ] && grep -q '^[1-9][0-9]* of 60 sums differ' "$W.out"
}
for rule in "step: 16, aligned: 25" "step: 4, aligned: 24" "step: 8, aligned: 23" "step: 8, aligned: 24, exponent: value" \
  "step: 8, aligned: 24, rounding: nearest" "step: 8, aligned: 24, c: after" "step: 8, aligned: 24, c: none" \
  "step: 8, aligned: 24, kept: 22" "step: 8, aligned: 24, groups: 2" "step: 0, aligned: exact, rounding: nearest"; do
  wrong a100_fp16 fp16 "$rule"
done
wrong ada_e4m3 e4m3 "step: 32, aligned: 13"
wrong ada_e4m3 e4m3 "step: 16, aligned: 13, exponent: value"
wrong ada_e4m3 e4m3 "step: 16, aligned: 13, last: 10"
wrong h100_e4m3 e4m3 "step: 32, aligned: 14, c: none"

# The next input tells the first rule from the other one.
sq explain sum --fit "$T/b200_e4m3.csv" --json
ok "a set that leaves rules open has a next input" python3 - "$SQSIM" "$W.out" "$W" <<'END'
import json, os, subprocess, sys
os.chdir(sys.argv[3])
lines = [json.loads(l) for l in open(sys.argv[2])]
rules, end = lines[:-1], lines[-1]
assert end["rules"] == len(rules) > 1 and rules[0]["devices"] == "b200"
n, gives = end["next"], []
for r in rules[0], rules[n["other"] - 1]:
    open("rule.yaml", "w").write("name: r\nsource: fitted\nsums: [{inputs: [any], step: %d, groups: %d, aligned: %s, exponent: %s, kept: %d, "
        "rounding: %s, c: %s}]\n" % (r["step"], r["groups"], r["aligned"], r["exponent"], r["kept"], r["rounding"],
        {"among the terms": "among", "after each step": "after", "left out": "none"}[r["c"]]))
    out = subprocess.run([sys.argv[1], "explain", "sum", "--rule", "./rule.yaml", "--type", r["type"], "--a", n["a"], "--b", n["b"],
        "--c", n["c"], "--json"], capture_output=True, text=True, check=True).stdout
    gives.append(json.loads(out.splitlines()[-1])["result"])
assert gives == [n["first_gives"], n["other_gives"]] and gives[0] != gives[1], gives
END
# What a step shows adds up to its result, by Python's fractions.
sq explain sum --rule ada --type e4m3 --a "$(cut -d, -f1 "$T/ada_e4m3.csv" | sed -n 5p)" --b "$(cut -d, -f2 "$T/ada_e4m3.csv" | sed -n 5p)" \
  --c "$(cut -d, -f3 "$T/ada_e4m3.csv" | sed -n 5p)" --json
ok "terms, places and sums of the steps" python3 - "$W.out" <<'END'
import json, math, struct, sys
from fractions import Fraction as F
*steps, end = [json.loads(l) for l in open(sys.argv[1])]
value = lambda h: F(struct.unpack(">f", bytes.fromhex(h[2:]))[0])
assert len(steps) == 2
for s in steps:
    unit = F(2) ** s["last_place"]
    cut = lambda v: math.trunc(F(v) / unit) * unit
    terms, kept = ([F(float.fromhex(v)) for v in s[k]] for k in ("terms", "kept"))
    assert kept == [cut(t) for t in terms]
    assert F(float.fromhex(s["sum"])) == sum(kept) + cut(value(s["before"]))
    assert s["last_place"] == s["largest_exponent"] - 13
assert value(end["result"]) == value(steps[-1]["after"]) and set(end["others"]) == {"aligned", "h100", "b200", "exact", "binary32"}
END

# The page shows what the command prints.
line=$(sed -n "s/^    sqsim \(explain sum .* --b '.*'\)$/\1/p" "$ROOT/docs/sums.md" | head -1)
eval "accept 'the example of docs/sums.md' $line"
ok "... prints what stands there" cmp -s "$W.out" <(sed -n '/^```text/,/^```$/p' "$ROOT/docs/sums.md" | grep -v '^```')

refuse "TOPIC = none, need sum" explain
refuse "TOPIC = mean, need sum" explain mean
refuse "needs --a and --b, or --vectors, or --fit" explain sum
refuse "a = ..zz, need at most 65536 codes of bf16 in hex" explain sum --a "3f80 zz" --b "3f80 3f80"
refuse "a = ..7f38, need at most 65536 codes of e4m3 in hex, 1..2 digits each, blanks between" explain sum --type e4m3 --a 7f38 --b 38
refuse "a has 2 codes, b 1, need as many" explain sum --a "3f80 3f80" --b 3f80
refuse "c = 1.0, need a binary32 in hex" explain sum --a 3f80 --b 3f80 --c 1.0
refuse "a = ..1f, need at most 65536 codes of e2m1" explain sum --rule exact --type e2m1 --a 1f --b 0f
refuse "sum = h101, need one of: a100, ada, aligned, b200" explain sum --rule h101 --a 3f80 --b 3f80
refuse "type = e2m1: h100 has no sums of it, need fp16" explain sum --type e2m1 --a 1 --b 1
refuse "columns, need a, b, c and d" explain sum --fit <(printf 'a,b,c,d\n3f,3f\n')
refuse "line 1, need a,b,c,d" explain sum --fit <(printf 'x,y\n')
refuse "no rows, need one at least" explain sum --fit <(printf 'a,b,c,d\n')
refuse "row 2: 2 codes, need 1 as in row 1" explain sum --fit <(printf 'a,b,c,d\n38,38,0,0\n38 38,38 38,0,0\n')
refuse "cannot be opened" explain sum --vectors none.csv
printf 'name: x\nsource: y\nsums: [{inputs: [bf16], step: 8, aligned: 60}]\n' >"$W/x.yaml"
refuse "aligned = 60, need exact, or 7..48" explain sum --rule ./x.yaml --a 1 --b 1
refuse "sum = h100: it has no sums of e2m1" eval --format nvfp4 --sum h100
refuse "sum = h100: it says how products are summed, need no --accumulate" eval --format mxfp8 --sum h100 --accumulate 13
finish
