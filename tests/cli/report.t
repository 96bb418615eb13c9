#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim report, of one database and of two: every flag changes what it says, every bad database is refused, the
# files hold all points, and the page works in a real browser (headless Chromium, where installed).
. "$(dirname "$0")/lib.sh"
REDIGEST=${REDIGEST:-$(dirname "$SQSIM")/tests/cli/redigest}

cat >"$W/one.yaml" <<'EOS'
name: one
title: Banks </script> & "sparsity" against lanes
axes:
  n: [256]
  k: [512, 1024]
  bank: [4..128*2]
  sparsity: [0.5, 0.75, 0.875, 0.9375]
  high_lanes: [2, 4]
measures: [stored_bits, cycles, utilisation_low, causes]
EOS
sed "s,@,$ROOT/sim/machines,g" >"$W/mach.yaml" <<'EOS'
name: mach
axes:
  machine: [@/default.yaml, @/edge4.yaml]
  m: [1, 32]
  n: [2048]
  k: [2048]
  bank: [16, 32]
measures: [cycles, time_ms, memory_cycles, causes]
EOS
printf '%s\n' 'name: two' 'axes:' '  n: [64]' '  k: [64..8192]' 'measures: [cycles]' >"$W/two.yaml"
sq sweep one.yaml --db a.db -o one.csv
sq sweep two.yaml --db a.db --jobs 2
sq sweep one.yaml --db sweep.db

# ---- text ---------------------------------------------------------------------------------------
accept "report" report --db a.db
ok "provenance in line 1" [ "$(head -1 "$W.out" | grep -c '^# sqsim report, one; .*"revision"')" = 1 ]
ok "points and axes" out_has "^84 points; varied: k bank sparsity high_lanes; fixed: n=256 m=32\|^84 points; varied: k bank"
ok "ranges" out_has "^cycles  *[0-9]* .*bank="
ok "both sweeps" out_has "^# sqsim report, two"
accept "--sweep" report --db a.db --sweep two
ok "only that one" [ "$(grep -c '^# sqsim report' "$W.out")" = 1 ]
accept "--json" report --db a.db --json
ok "sweeps and summary" [ "$(wc -l <"$W.out"),$(number sweeps),$(number points)" = 3,2,8213 ]
accept "the default database" report --json
ok "is sweep.db" [ "$(number points)" = 84 ]
ok "without -o nothing is written" [ ! -e "$W/report" ]

# ---- workloads and machines, each by itself -------------------------------------------------------
sq sweep "$ROOT/sim/sweeps/mixed.yaml" --db mixed.db
accept "prefill and decode on two machines" report --db mixed.db -o mixed
ok "four of workload and machine" [ "$(grep -c '^== workload=.* machine=.*: 30 points$' "$W.out")" = 4 ]
ok "ranges and a heat map of each" [ "$(grep -c '^time_ms ' "$W.out"),$(grep -c '^cycles, smallest of each' "$W.out")" = 4,4 ]
says "--json: counts them" '"sweep":"mixed".*"points":120,"pairs":4,"stale":0,"unchecked":null' report --db mixed.db --json
ok "the page's data: four pairs, each row in its own" python3 - "$W/mixed/index.html" <<'EOS'
import json, sys
sweep = json.loads(open(sys.argv[1]).read().split('id="data">')[1].split("</script>")[0])["sweeps"][0]
pairs = [(p["of"]["workload"], p["of"]["machine"]) for p in sweep["pairs"]]
assert len(set(pairs)) == len(pairs) == 4, pairs
assert [p["points"] for p in sweep["pairs"]] == [30] * 4
assert all(pairs[r["pair"]] == (r["p"]["workload"], r["p"]["machine"]) for r in sweep["rows"])
EOS
printf '%s\n' 'name: passes' 'axes: {machine: [default], workload: [smollm2-135m], format: [nvfp4], context: [64, 512], batch: [1, 4],' \
  '  kv_bits: [8, 16], rows: [8, 32]}' 'measures: [tokens_per_second, dram_bytes]' >"$W/passes.yaml"
sq sweep passes.yaml --db passes.db
accept "whole passes of two contexts and two batches" report --db passes.db -o passes
ok "each context and batch by itself, both caches together" [ "$(grep -c '^== context=[0-9]* batch=[14]: 4 points$' "$W.out")" = 4 ]
ok "... on the page, too" grep -q '"of":{"workload":"smollm2-135m","machine":"default","context":64,"batch":1},"points":4}' "$W/passes/index.html"

# ---- points that the specification no longer has ---------------------------------------------------
cp "$W/sweep.db" "$W/stale.db"
sed 's/bank: .*/bank: [16, 32]/; s/n: .*/n: [256]/' "$W/one.yaml" >"$W/fewer.yaml"
sq sweep fewer.yaml --db stale.db -o fewer.csv
says "a specification with fewer banks: their points are left out" '^32 points; varied: k bank' report --db stale.db -o stale
ok "and counted" out_has '^52 points that the specification no longer has are left out'
ok "CSV is that of the sweep" cmp "$W/fewer.csv" "$W/stale/one.csv"
ok "JSON holds the same" [ "$(grep -c '"key"' "$W/stale/results.json")" = 32 ]
ok "the page as well, and says so" grep -q '"points":32,"stale":52,"unchecked":""' "$W/stale/index.html"
says "--json: says so" '"points":32,"pairs":2,"stale":52,"unchecked":null' report --db stale.db --json
cp "$ROOT/sim/machines/edge4.yaml" "$W/gone.yaml"
printf '%s\n' 'name: gone' 'axes:' '  machine: [gone.yaml]' '  n: [256]' '  k: [512]' '  bank: [16, 32]' 'measures: [cycles]' >"$W/of_gone.yaml"
sq sweep of_gone.yaml --db gone.db
rm "$W/gone.yaml"
says "a machine that is not here any more: all points, and why" "^not compared with the specification: .*cannot open 'gone.yaml'" report --db gone.db
printf '%s\n' 'name: one' 'axes:' '  n: [64]' '  k: [64]' 'measures: [cycles]' >"$W/other.yaml"
if command -v sqlite3 >/dev/null; then
  cp "$W/sweep.db" "$W/other.db"; sq sweep other.yaml --db other.db
  sqlite3 "$W/other.db" "DELETE FROM point WHERE parameters LIKE '{\"m\":32,\"n\":64,%'"
  refuse "sweep one: none of its 84 points is of its specification" report --db other.db -o none
fi

# ---- files --------------------------------------------------------------------------------------
accept "-o" report --db a.db -o out
ok "page, JSON, a CSV per sweep" [ "$(ls "$W/out" | tr '\n' ' ')" = "index.html one.csv results.json two.csv " ]
ok "CSV is the sweep's" cmp "$W/one.csv" "$W/out/one.csv"
ok "CSV holds all" [ "$(wc -l <"$W/out/two.csv")" = 8130 ]
ok "JSON holds all" [ "$(grep -c '"key"' "$W/out/results.json")" = 8213 ]
ok "JSON is valid" python3 -c 'import json,sys; assert len(json.load(open(sys.argv[1]))) == 8213' "$W/out/results.json"
accept "--output again" report --db a.db --output=again
ok "same bytes" diff -r "$W/out" "$W/again"
D3=/usr/share/javascript/d3/d3.min.js
ok "D3 as Debian has it" python3 -c 'import sys; sys.exit(open(sys.argv[1]).read() not in open(sys.argv[2]).read())' $D3 "$W/out/index.html"
python3 -c 'import sys; sys.stdout.write(open(sys.argv[2]).read().replace(open(sys.argv[1]).read(), ""))' $D3 "$W/out/index.html" >"$W/ours.html"
ok "no address outside the page" [ -z "$(grep -o 'https\?://[^" )]*' "$W/ours.html" | grep -v www.w3.org/2000/svg)" ]
ok "of D3 only names of XML" [ -z "$(grep -o 'https\?://[^" )]*' $D3 | grep -v '^http://www.w3.org/')" ]
ok "titles cannot end the data" [ "$(grep -c '</script>' "$W/out/index.html")" = 3 ]

# A cell of a map has the best of its points: the least, or of what should be large the most.
best() {
  node - "$ROOT/sim/sweep/sq_report.html" <<'END'
const page = require("fs").readFileSync(process.argv[2], "utf8"), el = (tag, at, ...of) => ({tag, at, of, style: {}, append(...more) { of.push(...more); }});
const code = [/const more = .*/, /const num = .*/, /function heatMap\([^]*?\n}\n/].map(part => page.match(part)[0]).join("\n") + "return heatMap";
const map = new Function("el", "sweep", "show", "point", "label", "figure", code)(el, {pairs: [1]}, String, () => "", m => m, (name, svg) => svg);
const rows = [16, 32].flatMap(bank => [.5, .75].flatMap(sparsity => [3, 1, 2].map(v => ({p: {bank, sparsity}, m: {cycles: v + bank, utilisation_low: v + bank}}))));
const shown = m => map(0, rows, m).of.filter(e => e.tag === "text" && e.at.class).map(e => e.of[0]).join();
process.exit(shown("cycles") === "17,17,33,33" && shown("utilisation_low") === "19,19,35,35" ? 0 : 1);
END
}
if command -v node >/dev/null; then ok "page: maps show the best" best; else skip "page: maps show the best" "node is not installed"; fi

# ---- the page in a browser ----------------------------------------------------------------------
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
look() { # ADDRESS: the page after its scripts ran in $W.dom, the log in $W.err
  (cd "$W" && HOME=$W timeout $HANG "$browser" --headless --no-sandbox --disable-gpu \
    --disable-dev-shm-usage --user-data-dir="$W/profile" --enable-logging=stderr --v=0 \
    --allow-file-access-from-files --virtual-time-budget=20000 --dump-dom "$1" >"$W.dom" 2>"$W.err")
}
clean() { ! grep -i "console.*\(error\|uncaught\|warn\|violates\)" "$W.err"; }
rows() { grep -o '<tbody>.*</tbody>' <(tr -d '\n' <"$W.dom") | head -1 | grep -o '<tr>' | wc -l; }
if [ -n "$browser" ]; then
  look "file://$W/out/index.html"
  ok "page: no console errors" clean
  ok "page: fronts, maps, causes drawn" [ "$(grep -o '<svg' "$W.dom" | wc -l)" -ge 6 ]
  ok "page: title as given" grep -q '<h1 id="title">Banks &lt;/script&gt; &amp; "sparsity"' "$W.dom"
  ok "page: all points in the table" [ "$(rows)" = 84 ]
  # bars: each cause drawn, the cycles of the run
  bars_sum() { grep -o 'data-cycles="[^"]*" data-sum="[^"]*"' "$W.dom" | tr '"' ' ' |
    awk '{n++; if ($2 != $4) bad++} END {exit !(n >= '"$1"' && !bad)}'; }
  ok "page: causes add up to the cycles" bars_sum 80
  ok "page: whole labels" grep -q '>bank=16 sparsity=0.9375 high_lanes=4<' "$W.dom"
  ok "page: under their workload" grep -q '<h3>k=512</h3>' "$W.dom"
  ok "page: saved as SVG" [ "$(grep -o 'Save as SVG</button>' "$W.dom" | wc -l)" -ge 6 ]
  ok "page: links" grep -q '<a href="one.csv">' "$W.dom"
  look "file://$W/out/index.html#one?bank=32%20sparsity%3C0.9%20high_lanes!=2"
  ok "filter: no console errors" clean
  ok "filter: six points" [ "$(rows)" = 6 ]
  ok "filter: says so" grep -q '>6 of 84 points shown' "$W.dom"
  look "file://$W/out/index.html#one?bnak=32"
  ok "bad filter: says so" grep -q 'Cannot read "bnak=32" in the filter' "$W.dom"
  sq sweep mach.yaml --db m.db
  sq report --db m.db -o mach
  look "file://$W/mach/index.html"
  ok "machine: causes with memory add up to the cycles" bars_sum 16
  ok "machine: memory is drawn" grep -q '<title>[^<]*memory [0-9]* cycles' <(tr '\n' ' ' <"$W.dom")
  look "file://$W/out/index.html#one?bank=32?x=stored_bits&y=cycles&colour=sparsity&log=y&sort=-cycles"
  ok "state: no console errors" clean
  ok "state: axes of the address" grep -q 'aria-label="cycles against stored_bits, ' "$W.dom"
  ok "state: colour of the address" grep -q 'id="legend">sparsity:' "$W.dom"
  ok "state: order of the address" grep -q 'data-column="cycles" aria-sort="descending"' "$W.dom"
  # Ties of the front: equal in both numbers, all ringed. Points on the front of each pair, by Python.
  fronts_of() { # JSON SWEEP X Y: of both less is better but for utilisation
    python3 - "$@" <<'EOS'
import json, sys
path, sweep, x, y = sys.argv[1:]
axes, pairs = ["model", "workload", "machine", "m", "n", "k"], {}
for r in json.load(open(path)):
    if r["sweep"] == sweep:
        of = tuple(r["parameters"].get(a) for a in axes)
        pairs.setdefault(of, []).append([r["measures"][k] * (-1 if "util" in k else 1) for k in (x, y)])
for p in pairs.values():
    print(sum(not any(q[0] <= a[0] and q[1] <= a[1] and q != a for q in p) for a in p), "of", len(p))
EOS
  }
  drawn() { grep -o '[0-9]* of [0-9]* points on the front"' "$W.dom" | sed 's/ points.*//'; }
  want=$(fronts_of "$W/out/results.json" one cycles stored_bits)
  look "file://$W/out/index.html#one??x=cycles&y=stored_bits"
  ok "front: one of each k" [ "$(drawn)" = "$want" ]
  ok "front: there are ties" [ "${want%% *}" -ge 2 ]
  # A line for each colour: the front of its own points; its knee is the best x within 2 % of its best y.
  look "file://$W/mixed/index.html#mixed??x=time_ms&y=utilisation_low&colour=rows&pair=0"
  ok "series: no console errors" clean
  ok "series: a line for each number of rows" [ "$(grep -o 'data-series="[0-9]*"' "$W.dom" | tr '\n' ' ')" = 'data-series="8" data-series="16" data-series="32" ' ]
  ok "series: their knees" [ "$(grep -o '<p class="knees">[^<]*' "$W.dom" | sed 's/.*Knees: //; s/\.$//' | tr ';' '\n' | grep -o 'time_ms [0-9.]*, util.*')" = "$(
    python3 - "$W/mixed/results.json" <<'EOS'
import json, sys
rows = json.load(open(sys.argv[1]))
pair = lambda r: (r["parameters"]["workload"], r["parameters"]["machine"])
first = [r for r in rows if pair(r) == pair(rows[0])]
show = lambda v: repr(float("%.5g" % v)).removesuffix(".0")
for n in (8, 16, 32):
    of = [(r["measures"]["time_ms"], r["measures"]["utilisation_low"]) for r in first if r["parameters"]["rows"] == n]
    best = max(u for _, u in of)
    knee = min(p for p in of if p[1] >= .98 * best)
    if knee[1] != best:
        print("time_ms %s, utilisation_low %s" % tuple(map(show, knee)))
EOS
  )" ]
  look "file://$W/mixed/index.html"
  ok "mixed: no console errors" clean
  ok "mixed: four fronts" [ "$(grep -o ' data-front="' "$W.dom" | wc -l)" = 4 ]
  ok "mixed: each of its own points" [ "$(drawn)" = "$(fronts_of "$W/mixed/results.json" mixed time_ms utilisation_low)" ]
  ok "mixed: heat maps of each" [ "$(grep -o 'aria-label="time_ms by bank and sparsity"' "$W.dom" | wc -l)" = 4 ]
  ok "mixed: tables of each" [ "$(grep -o '<tr class="pair"><th[^>]*>workload=llama-3-8b_[a-z]*_[0-9]* machine=[a-z0-9]*<' "$W.dom" | sort -u | wc -l)" = 4 ]
  look "file://$W/mixed/index.html#mixed??pair=3&zoom=3,100,1000,0.1,1"
  ok "mixed: one pair of the address" [ "$(grep -o ' data-front="' "$W.dom" | wc -l),$(rows)" = 1,30 ]
  # Formats with banks beside one without, of 16 pairs with long names; no measure of quality; large numbers.
  cat >"$W/cost.yaml" <<'END'
name: cost
axes:
  format: [sq_w, nvfp4]
  bank: [16, 32]
  sparsity: [0.5, 0.75]
  n: [4096, 8192]
  k: [4096, 8192]
  m: [1, 512]
  machine: [server64, sim/machines/edge4.yaml]
  fair: [none]
measures: [macs, cycles, dram_bytes]
END
  sq sweep cost.yaml --db cost.db
  sq report --db cost.db -o cost
  sq report --db cost.db
  ok "formats on machines: what they have in common, in text" out_has "^formats not of equal silicon: PEs as the machine has them"
  look "file://$W/cost/index.html#cost?format=nvfp4?x=macs&y=cycles&log="
  ok "... and on the page" grep -q 'Formats not of equal silicon: PEs as the machine has them' "$W.dom"
  ok "no banks: no console errors" clean
  ok "no banks: no maps, said so" grep -q '<div id="maps"><p>No point shown has both.' "$W.dom"
  ok "no banks: no picture of no columns" [ -z "$(grep -o 'viewBox="0 0 50 ' "$W.dom")" ]
  ok "no quality: said above the front" grep -q '<p id="quality">Quality not measured: ' "$W.dom"
  ok "large numbers: short at the axes" grep -Eq '<text[^>]*>[0-9.]+ G</text>' "$W.dom"
  ok "large numbers: none whole" [ -z "$(grep -o '<g class="tick[^/]*<text[^>]*>[0-9]\{6,\}</text>' "$W.dom")" ]
  look "file://$W/cost/index.html"
  ok "maps of those with banks" [ "$(grep -o 'aria-label="cycles by bank and sparsity"' "$W.dom" | wc -l)" = 16 ]
  cat >"$W/phone.html" <<'END'
<!DOCTYPE html><body style="margin:0"><iframe src="cost/index.html" style="width:390px;height:800px;border:0"></iframe>
<script>onload = () => setTimeout(() => { document.title = "wide " +
  document.querySelector("iframe").contentDocument.documentElement.scrollWidth; }, 3000);</script>
END
  look "file://$W/phone.html"
  wide=$(sed -n 's/.*<title>wide \([0-9]*\)<.*/\1/p' "$W.dom")
  ok "a phone of 390 pixels shows all of its width ($wide)" [ "${wide:-999}" -le 390 ]
  look "file://$W/stale/index.html"
  ok "stale: said on the page" grep -q '52 points that the specification no longer has are left out' "$W.dom"

  # ---- what the page may run: its own scripts and style, nothing else
  policy=$(grep -o 'Content-Security-Policy" content="[^"]*' "$W/out/index.html" | cut -d'"' -f3)
  ok "policy: nothing from anywhere, scripts and style by hash" grep -Eqx "default-src 'none'; script-src( 'sha256-[^']{44}'){2}; style-src 'sha256-[^']{44}'; img-src data:; base-uri 'none'; form-action 'none'" <<<"$policy"
  python3 - "$W/out/index.html" "$W/out/planted.html" <<'EOS'
import sys
planted = """<script>document.body.dataset.script = 1</script><img src=x onerror="document.body.dataset.handler = 1">
<p style="color: red" id="styled"></p><iframe src="javascript:parent.document.body.dataset.address = 1"></iframe></body>"""
open(sys.argv[2], "w").write(open(sys.argv[1]).read().replace("</body>", planted))
EOS
  look "file://$W/out/planted.html"
  ok "policy: planted scripts and styles do not run" eval '! grep -Eq "data-(script|handler|address)=" "$W.dom"'
  ok "policy: refused by it" [ "$(grep -c "violates the following Content Security Policy" "$W.err")" -ge 4 ]
  ok "policy: the page is drawn all the same" [ "$(rows)" = 84 ]
  sed 's/<meta http-equiv="Content-Security-Policy"[^>]*>//' "$W/out/planted.html" >"$W/out/open.html"
  look "file://$W/out/open.html"
  ok "policy: without it they would run" grep -Eq 'data-script="1"' "$W.dom"
  rm "$W/out/planted.html" "$W/out/open.html"
  if command -v sqlite3 >/dev/null; then
    cp "$W/m.db" "$W/label.db"
    sqlite3 "$W/label.db" "UPDATE point SET parameters = replace(parameters, '$ROOT/sim/machines/edge4.yaml', '<img src=x onerror=document.body.dataset.ran=1><script>document.body.dataset.ran=1')"
    sqlite3 "$W/label.db" "UPDATE sweep SET spec = 'none'" # no specification that would leave the label out
    "$REDIGEST" "$W/label.db"
    sq report --db label.db -o label
    look "file://$W/label/index.html"
    ok "a label with markup is text" grep -q '&lt;img src=x onerror=document.body.dataset.ran=1&gt;' "$W.dom"
    ok "and does not run" eval '! grep -q "data-ran=" "$W.dom"'
  fi
  cat >"$W/phone.html" <<'EOS'
<!DOCTYPE html><title>phone</title><iframe id="f" src="out/index.html" style="width:390px;height:900px;border:0"></iframe>
<script>onload = () => setTimeout(() => { const d = f.contentDocument;
  const out = [...d.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > 390.5 && !e.closest(".scroll, pre"));
  document.body.dataset.phone = `${d.documentElement.scrollWidth} of 390, ${out.length} outside`; }, 1500)</script>
EOS
  look "file://$W/phone.html"
  ok "390 pixels: nothing sticks out" grep -Eq 'data-phone="3[0-9]* of 390, 0 outside"' "$W.dom"
  AXE=${AXE:-$(python3 -c 'import axe_core_python, os; print(os.path.dirname(axe_core_python.__file__) + "/axe.min.js")' 2>/dev/null)}
  if [ -r "$AXE" ]; then
    python3 - "$AXE" "$W/out/index.html" "$W/out/axe.html" <<'EOS'
import sys
import re
axe, page = open(sys.argv[1]).read().replace("</script", "<\\/script"), open(sys.argv[2]).read()
page = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", page) # axe is not the page's own
run = """<script>onload = () => setTimeout(() => axe.run(document).then(r => {
  document.body.dataset.axe = r.violations.length + " violations " + r.violations.map(v => v.id) +
    " of " + (r.passes.length + r.violations.length); }), 800);</script>"""
open(sys.argv[3], "w").write(page.replace("</body>", "<script>" + axe + "</script>" + run + "</body>"))
EOS
    look "file://$W/out/axe.html"
    ok "axe: 0 violations" grep -Eq 'data-axe="0 violations  of [3-9][0-9]"' "$W.dom"
    rm -f "$W/out/axe.html"
  else
    skip "axe: 0 violations" "no axe.min.js (AXE=FILE, or the Python package axe-core-python)"
  fi
  look "file://$W/out/index.html#two"
  ok "large sweep: first 5000, and says so" [ "$(rows)" = 5000 ]
  ok "large sweep: aloud" grep -q 'The page holds the first 5000 of 8129 points' "$W.dom"
  sed 's/const data = /const data = undefined_name + /' "$W/out/index.html" >"$W/out/broken.html"
  look "file://$W/out/broken.html"
  ok "a page that was changed is refused, and that noticed" eval '! clean >/dev/null && [ "$(rows)" = 0 ]'
  sed -i 's/<meta http-equiv="Content-Security-Policy"[^>]*>//' "$W/out/broken.html"
  look "file://$W/out/broken.html"
  ok "a broken page would be noticed" eval '! clean >/dev/null'
  rm -f "$W.dom" "$W/out/broken.html"
else
  skip "the page in a browser" "no Chromium"
fi

# ---- two databases ------------------------------------------------------------------------------
cp "$W/a.db" "$W/b.db"
says "the changes of equals: 8213 equal" "^8213 points equal, 0 changed, 0 only in a.db, 0 only in b.db" report --changes a.db b.db
accept "--sweep" report --changes a.db sweep.db --sweep one --json
ok "84 equal" [ "$(number same),$(number only_a)" = 84,0 ]
sq report --changes a.db sweep.db --json
ok "exit 1 where points are missing" [ "$RC,$(number only_a),$(number only_b)" = 1,8129,0 ]
sed 's/stored_bits, //; s/high_lanes: .*/high_lanes: [4]/' "$W/one.yaml" >"$W/changed.yaml"
sq sweep changed.yaml --db b.db
sq report --changes a.db b.db
ok "a measure that went away" [ "$RC" = 1 ]
ok "is named with its points" out_has "^stored_bits  *42 "
ok "and counted" out_has "^8171 points equal, 42 changed, 0 only"
sq report --changes a.db b.db --json
ok "JSON" out_has '^{"measure":"stored_bits","points":42,"was":[0-9.]*,"is":null'
for f in a.db b.db; do refuse "cannot open database 'none.db'" report --changes $f none.db; done
refuse "cannot open database 'none.db'" report --changes none.db a.db
refuse "needs two databases" report --changes a.db
refuse "unexpected argument 'c'" report --changes a.db b.db c
refuse "did you mean --json" report --changes a.db b.db --jsn
refuse "holds no sweep 'three'" report --changes a.db b.db --sweep three

# ---- refusals -----------------------------------------------------------------------------------
refuse "cannot open database 'none.db': No such file" report --db none.db
refuse "one.yaml': file is not a database" report --db one.yaml
: >"$W/empty.db"; refuse "'empty.db' is an empty database" report --db empty.db
head -c 5000 "$W/a.db" >"$W/cut.db"; refuse "cut.db" report --db cut.db
if command -v sqlite3 >/dev/null; then
  sqlite3 "$W/foreign.db" "CREATE TABLE t(x)"
  refuse "'foreign.db' is no sweep database" report --db foreign.db
  cp "$W/sweep.db" "$W/lying.db"
  sqlite3 "$W/lying.db" "UPDATE point SET measures = '[1'"
  refuse "lying.db. is damaged: point {.* does not match its digest; run the sweep again" report --db lying.db -o none
  cp "$W/sweep.db" "$W/none.db" && sqlite3 "$W/none.db" "DELETE FROM point"
  refuse "holds no points" report --db none.db
  # Names that left the directory or were addresses of scripts.
  for name in ../../x /tmp/x javascript:alert a/b .. "" "a b" $'a\nb' "$(printf 'x%.0s' {1..200})"; do
    cp "$W/sweep.db" "$W/name.db"
    sqlite3 "$W/name.db" "UPDATE point SET sweep = '$name'; UPDATE sweep SET name = '$name'"
    "$REDIGEST" "$W/name.db"
    refuse "sweep name = '.*, need letters, digits, _ and -" report --db name.db -o none
    refuse "sweep name = '" report --db name.db --json
    refuse "sweep name = '" report --changes name.db sweep.db
  done
  # Texts that broke results.json, the page and the first line of the CSV file.
  evil() { # TEXT COLUMN...: of the points
    cp "$W/sweep.db" "$W/evil.db"
    sqlite3 "$W/evil.db" "$1"
    "$REDIGEST" "$W/evil.db"
  }
  for text in '{"tool":"x"}]' '"x"' '[]' '' '{' '{"a":1,"a":2}' '{"a":1}]},"sweeps":[{"name":"y"'; do
    evil "UPDATE provenance SET text = '$text'"
    refuse "provenance = .*, need a JSON object" report --db evil.db -o none
  done
  for column in parameters measures; do
    for text in '{"a":[1]}' '{"a":{"b":1}}' '{"a":1}]' '"x"'; do
      evil "DELETE FROM point WHERE parameters <> (SELECT min(parameters) FROM point); UPDATE point SET $column = '$text'"
      refuse "a row that is no flat object" report --db evil.db -o none
    done
  done
  evil "UPDATE sweep SET title = CAST(x'61ff' AS TEXT)"
  refuse "title of sweep one = 'a\\\\xff', need UTF-8" report --db evil.db -o none
  evil "UPDATE sweep SET spec = CAST(x'61ff' AS TEXT)"
  refuse "spec of sweep one = 'a\\\\xff', need UTF-8" report --db evil.db -o none
  text='</script><script>alert(1)</script><!-- "\\ '$'\u2028\u202e\033[31m'
  evil "UPDATE sweep SET title = '$text', spec = '$text';
    UPDATE provenance SET text = '{
\"tool\":\"</script>,1,2\\n3\"}'"
  accept "texts that look like a page" report --db evil.db -o evil
  ok "none reaches the terminal" [ "$(LC_ALL=C grep -c $'[\033\x80-\xff]' "$W.out")" = 0 ]
  ok "none ends the data" [ "$(grep -c '</script>' "$W/evil/index.html")" = 3 ]
  ok "the data is JSON and holds them" python3 - "$W/evil" "$text" <<'EOS'
import json, sys
page = open(sys.argv[1] + "/index.html").read()
data = json.loads(page.split('id="data">')[1].split("</script>")[0])
assert data["sweeps"][0]["title"] == data["sweeps"][0]["spec"] == sys.argv[2]
assert data["sweeps"][0]["provenance"] == [{"tool": "</script>,1,2\n3"}]
assert len(json.load(open(sys.argv[1] + "/results.json"))) == 84
EOS
  ok "the CSV has its lines" [ "$(wc -l <"$W/evil/one.csv")" = 85 ]
  rm -r "$W/evil"
else
  skip "foreign databases" "no sqlite3 program"
fi
refuse "holds no sweep 'three'" report --db a.db --sweep three
refuse "cannot make 'no/such': No such file" report --db a.db -o no/such
refuse "one.yaml" report --db a.db -o one.yaml
refuse "--output = ''" report --db a.db -o ""
sq report --db a.db -o /dev/full; ok "a device is no directory" [ "$RC" = 2 ]
(ulimit -f 40; cd "$W" && timeout $HANG "$SQSIM" report --db a.db -o full >"$W.out" 2>"$W.err"); RC=$?
ok "files that grow too large" refused_well "cannot write 'full/.*': File too large" "" ""
ok "leave nothing" [ ! -e "$W/full" ]

# ---- where nothing can be written ---------------------------------------------------------------
# In a mount namespace of its own, where the system allows one.
mounted() { # SCRIPT: in $W
  (cd "$W" && SQSIM=$SQSIM timeout $HANG unshare -rm bash -c "$1" >"$W.out" 2>"$W.err" </dev/null); RC=$?
}
mkdir "$W/disk"
if unshare -rm mount -t tmpfs -o size=64k none "$W/disk" 2>/dev/null; then
  for size in 8k 64k 1m; do # the first file, the second, the page
    mounted "mount -t tmpfs -o size=$size none disk && mkdir disk/old && echo old >disk/old/index.html &&
      { \"\$SQSIM\" report --db a.db -o disk/old; rc=\$?; cat disk/old/*; ls disk/old; exit \$rc; }"
    ok "a full disk, $size" refused_well "cannot write 'disk/old/.*': No space left on device" "" ""
    ok "is as before" [ "$(cat "$W.out")" = "old
index.html" ]
  done
  mounted "mount --bind . disk && mount -o remount,bind,ro disk && \"\$SQSIM\" report --db disk/a.db"
  ok "a database on a read-only disk" accepted
  cp "$W.out" "$W/ro.out"
else
  skip "full and read-only disks" "no mount namespace"
fi
# As a user without permission: root's own permissions stop nothing.
mkdir "$W/ro" "$W/ro #1%41?"
cp "$W/a.db" "$W/ro/"; cp "$W/a.db" "$W/ro #1%41?/"; chmod 444 "$W"/ro*/a.db; chmod 555 "$W"/ro*/
chmod 755 "$W"
as_nobody=()
if [ "$(id -u)" = 0 ]; then as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups); fi
if "${as_nobody[@]}" test -r "$W/ro/a.db" -a -x "$SQSIM" -a ! -w "$W/ro" 2>/dev/null; then
  unprivileged() {
    (cd "$W" && timeout $HANG "${as_nobody[@]}" "$SQSIM" "$@" >"$W.out" 2>"$W.err" </dev/null); RC=$?
  }
  accept "the report" report --db a.db
  cp "$W.out" "$W/want.out"
  for dir in "ro" "ro #1%41?"; do
    unprivileged report --db "$dir/a.db"
    ok "a database in a read-only directory, '$dir'" accepted
    ok "the same report" diff -q "$W/want.out" <(sed "s|$dir/||" "$W.out")
  done
  unprivileged sweep one.yaml --db ro/a.db
  ok "is not written" refused_well "ro/a.db" "" ""
  chmod 755 "$W/ro"; cp "$W/a.db" "$W/ro/log.db"; echo x >"$W/ro/log.db-wal"; chmod 555 "$W/ro"
  unprivileged report --db ro/log.db
  ok "a log that cannot be read" refused_well "'ro/log.db-wal' beside it holds results" "" ""
else
  skip "a read-only directory" "no user without permission"
fi
finish
