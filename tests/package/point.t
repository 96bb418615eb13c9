#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim point: a design has the row that `sqsim sweep` computes of it; many designs on standard input are answered one by
# one; refusals. python/search.py on top of it: with Optuna it finds the front of a grid that a sweep computes whole.
. "$(dirname "$0")/../cli/lib.sh"
members() { # the last line without what names its run
  tail -1 "$W.out" | sed 's/"sweep":"[a-z]*","key":"[0-9a-f]*",//; s/,"provenance":.*//'
}
cat >"$W/d.yaml" <<'END'
machine: default
workload: smollm2-135m
format: nvfp4
rows: 16
batch: 4
context: 512
kv_bits: 8
measures: [tokens_per_second, ttft_ms, stored_bits]
END
printf '%s\n' 'name: one' 'axes: {machine: [default], workload: [smollm2-135m], format: [nvfp4], rows: [16], batch: [4],' \
  '  context: [512], kv_bits: [8]}' 'measures: [tokens_per_second, ttft_ms, stored_bits]' >"$W/one.yaml"
accept "a design" point d.yaml --json
point=$(members)
accept "the same as a sweep" sweep one.yaml --db one.db --json
ok "has the same row" [ "$point" = "$(tail -2 "$W.out" | head -1 | sed 's/"sweep":"[a-z]*","key":"[0-9a-f]*",//; s/,"provenance":.*//')" ]
accept "in words" point d.yaml
ok "says its measures" out_has "^  tokens_per_second  *$(grep -o '"tokens_per_second":[0-9.]*' <<<"$point" | cut -d: -f2)"
printf '{"machine": "default", "workload": "smollm2-135m", "format": "nvfp4", "rows": 16, "batch": 4, "context": 512,\n "kv_bits": 8,
 "measures": ["tokens_per_second", "ttft_ms", "stored_bits"]}\n' >"$W/d.json"
accept "in JSON" point d.json --json
ok "it is the same" [ "$point" = "$(members)" ]
run=$(cd "$W" && "$SQSIM" run smollm2-135m --phase decode --batch 4 --context 512 --rows 16 --format nvfp4 --kv-format int8 --json | tail -1)
ok "tokens a second are those of run" [ "$(grep -o '"tokens_per_second":[0-9.]*' <<<"$run")" = "$(grep -o '"tokens_per_second":[0-9.]*' <<<"$point")" ]

# ---- a search's end of the pipe -----------------------------------------------------------------
tr -d '\n' <"$W/d.json" >"$W/lines"
printf '\n\n%s\n%s\n' '{"format": "sq_w", "bank": 8, "sparsity": 0.9, "n": 64, "k": 512, "measures": ["cycles"]}' \
  '{"format": "sq_w", "bank": 16, "n": 64, "k": 512, "measures": ["cycles"]}' >>"$W/lines"
(cd "$W" && "$SQSIM" point --json <lines >"$W.out" 2>"$W.err"); RC=$?
ok "designs on standard input" [ "$RC,$(wc -l <"$W.out"),$(wc -c <"$W.err")" = 0,3,0 ]
ok "in their order" [ "$(head -1 "$W.out" | grep -c tokens_per_second),$(tail -1 "$W.out" | grep -c '"cycles":[0-9]')" = 1,1 ]
ok "what is wrong with one is said there" grep -q '^{"error":"'"'standard input': axis sparsity = 0.9, need 0.5, 0.75, 0.875 or 0.9375"'"}$' "$W.out"

# ---- refusals ------------------------------------------------------------------------------------
bad() { printf '%s\n' "$2" >"$W/bad.yaml"; refuse "$1" point bad.yaml; }
refuse "needs DESIGN, or --json" point
refuse "cannot open 'none.yaml'" point none.yaml
bad "unknown key 'bnk', did you mean bank" '{bnk: 8, measures: [cycles]}'
bad "measures" '{n: 64, k: 512}'
bad "unknown measure 'cycle', did you mean cycles" '{n: 64, k: 512, measures: [cycle]}'
bad "axis bank = 8..16, need one value" '{n: 64, k: 512, bank: 8..16, measures: [cycles]}'
bad "axis bank = 12" '{n: 64, k: 512, bank: 12, measures: [cycles]}'
bad "axis act_bits = 6" '{n: 64, k: 512, act_bits: 6, measures: [cycles]}'
bad "axis group = 16, format dense takes 32, 64, 128 or row" '{machine: default, n: 64, k: 512, format: dense, group: 16, measures: [cycles]}'
bad "bank" '{n: 64, k: 512, bank: [8], measures: [cycles]}'
bad "axis device needs axis machine" '{n: 64, k: 512, device: hbm3, measures: [cycles]}'
bad "one value or a list" 'measures'

# ---- a search --------------------------------------------------------------------------------------
PYTHON=${PYTHON:-python3}
cat >"$W/space.yaml" <<'END'
name: space
axes:
  machine: [default]
  workload: [smollm2-135m]
  format: [dense, nvfp4, sq_w]
  rows: [4, 16]
  cols: [8..32*2]
  low_lanes: [4, 8, 16]
  high_lanes: [1, 2, 4]
  bandwidth_gb_s: [32, 64, 128]
  fair: [none]
constraints: [high_lanes * 4 == low_lanes]
measures: [tokens_per_second]
END
# Share of the area under the front of the sweep's rows, of bandwidths upwards, that the search's rows have.
cat >"$W/share.py" <<'END'
import json, sys
def area(rows):
    points = sorted((r["bandwidth_gb_s"], r["tokens_per_second"]) for r in rows)
    best = {b: max(t for c, t in points if c <= b) for b in [p[0] for p in points]}
    edges = sorted(best) + [256]
    return sum(best[a] * (b - a) for a, b in zip(edges, edges[1:]))
rows = [[json.loads(l) for l in open(p)] for p in sys.argv[1:3]]
all_, found = ([r for r in part if "tokens_per_second" in r] for part in rows)
print(area(found) / area(all_))
END
if "$PYTHON" -c 'import optuna, yaml' 2>/dev/null; then
  accept "every point of a grid" sweep space.yaml --db space.db --json
  cp "$W.out" "$W/all"
  for sampler in tpe nsga2; do
    (cd "$W" && "$PYTHON" "$ROOT/python/search.py" space.yaml --maximize tokens_per_second --minimize bandwidth_gb_s --trials 120 \
      --sampler $sampler --sqsim "$SQSIM" >"$W/$sampler" 2>"$W.err"); RC=$?
    ok "$sampler ends, and says whose clock it was" [ "$RC" = 0 -a "$(tail -1 "$W/$sampler" | grep -c '"clock":\["the machine.s file"\]')" = 1 ]
    share=$("$PYTHON" "$W/share.py" "$W/all" "$W/$sampler")
    ok "and finds 98 % of the front's area" awk -v s="$share" 'BEGIN {print "# " s; exit !(s >= .98 && s <= 1.000001)}'
  done
  for trials in 10 20; do
    (cd "$W" && "$PYTHON" "$ROOT/python/search.py" space.yaml --maximize tokens_per_second --minimize bandwidth_gb_s --trials $trials \
      --storage "sqlite:///$W/s.db" --constraint 'tokens_per_second <= 300' --sqsim "$SQSIM" >"$W.out" 2>"$W.err")
    ok "a search that is kept goes on: $trials" [ "$(number trials)" = $trials ]
  done
  ok "its front keeps the constraint" awk 'match($0, /"tokens_per_second":[0-9.]*/) {if (substr($0, RSTART + 20, RLENGTH - 20) > 300) bad = 1} END {exit bad}' "$W.out"
else
  skip "searches by TPE and NSGA-II" "$PYTHON has no optuna"
  (cd "$W" && "$PYTHON" "$ROOT/python/search.py" space.yaml --maximize tokens_per_second 2>"$W.err"); RC=$?
  ok "search.py says what is missing" [ "$RC,$(grep -c 'optuna is not installed' "$W.err")" = 1,1 ]
fi
finish
