#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim sweep: every flag changes what it says; every bad specification is refused before any work;
# a database survives kills at random moments, company and full disks, and ends with the same bytes.
. "$(dirname "$0")/lib.sh"
SEED=${SQ_SEED:-1}
RANDOM=$SEED

# 1,440 points, timing only: a second.
cat >"$W/fast.yaml" <<'EOF'
name: fast
axes:
  n: [256, 1000]
  k: [256..4096*2]
  m: [1..128*2]
  bank: [8, 32, 128]
  sparsity: [0.5, 0.875]
  low_lanes: [8, 16]
  high_lanes: [2, 4]
constraints: ["high_lanes * 2 <= low_lanes / 2"]
measures: [cycles, bound_cycles, macs, utilisation_low, utilisation_high, stored_bits, causes]
EOF
sed 's/name: fast/name: small/; s/m: .*/m: [4, 8]/' "$W/fast.yaml" >"$W/small.yaml"
points=1440

# ---- flags ------------------------------------------------------------------------------------
says "--dry-run: counts the points" "^fast: $points points (0 combinations without legal format or core, 480 excl" sweep fast.yaml --dry-run
cat >"$W/banks.yaml" <<'EOF'
name: banks
axes: {format: [sq_w], bank: [4, 32], sparsity: [.5, .875], m: [4], n: [64], k: [256], high_lanes: [4], low_lanes: [16]}
measures: [stored_bits]
EOF
says "a grid with combinations that no format has: they are listed: 4 weights do not hold half a high one" '^no legal format or core: {.*"sparsity":0.875.*"bank":4\|^no legal format or core: {.*"bank":4.*"sparsity":0.875' sweep banks.yaml --dry-run
accept "... as JSON" sweep banks.yaml --dry-run --json
ok "each an object" [ "$(grep -c '^{"illegal":{' "$W.out")" = "$(number illegal)" ]
ok "--dry-run writes nothing" [ ! -e "$W/sweep.db" ]
says "a sweep: computed all" "$points computed, 0 already there" sweep fast.yaml --db a.db -o a.csv
says "--dry-run beside a database: counts what is there" "0 computed, $points already there" sweep fast.yaml --db a.db --dry-run
if command -v sqlite3 >/dev/null; then
  cp "$W/a.db" "$W/dry.db"
  sqlite3 "$W/dry.db" "UPDATE point SET measures = replace(measures, '1', '2') WHERE parameters = (SELECT min(parameters) FROM point)"
  says "a damaged row: is computed anew, and said" "^1 rows of the database were damaged and computed anew" sweep fast.yaml --db dry.db
fi
ok "CSV: head, one line per point" [ "$(wc -l <"$W/a.csv")" = $((points + 1)) ]
ok "provenance beside it" grep -qx '{"command":"sqsim sweep","sweep":"fast","provenance":{"tool":.*"revision":.*}}' "$W/a.csv.json"
ok "which is JSON" python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$W/a.csv.json"
ok "a plain reader takes the CSV" python3 -c '
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert len(rows) == int(sys.argv[2]) and all(int(r["cycles"]) > 0 and None not in r for r in rows)' "$W/a.csv" "$points"
says "again: computes nothing" "0 computed, $points already there" sweep fast.yaml --db a.db --output=again.csv
ok "and exports the same" cmp "$W/a.csv" "$W/again.csv"
accept "--jobs 4" sweep fast.yaml --db jobs.db --jobs 4 -o jobs.csv
ok "same bytes at any --jobs" cmp "$W/a.csv" "$W/jobs.csv"
accept "--json" sweep small.yaml --db small.db --json
ok "one line per point and a summary" [ "$(wc -l <"$W.out")" = 361 ]
ok "point" out_has '^{"sweep":"small","key":"[0-9a-f]\{32\}","m":4,.*,"cycles":[0-9]*,.*"provenance":{"tool"'
ok "summary" [ "$(number points),$(number computed),$(number cached)" = 360,360,0 ]
accept "the default database" sweep small.yaml
ok "is sweep.db" [ -s "$W/sweep.db" ]
accept "two sweeps in one database" sweep small.yaml --db a.db --json
ok "stay apart" [ "$(number computed)" = 360 ]
accept "the first one again" sweep fast.yaml --db a.db -o again.csv
ok "is unharmed" cmp "$W/a.csv" "$W/again.csv"

# The values are those of `sqsim run`, in every key that both have, at 8 points drawn by the seed.
for line in $(tail -n +2 "$W/a.csv" | awk -F, -v seed="$SEED" 'BEGIN { srand(seed) } { print rand() "\t" $0 }' | sort -n | head -8 | cut -f 2); do
  IFS=, read -r m n k _ _ bank sparsity _ _ _ _ _ _ low high _ <<<"$line"
  accept "run" run --m "$m" --n "$n" --k "$k" --bank "$bank" --sparsity "$sparsity" --low-lanes "$low" --high-lanes "$high" --timing-only --json
  { head -1 "$W/a.csv"; echo "$line"; tail -1 "$W.out"; } >"$W/both"
  ok "sweep = run at $m,$n,$k,$bank,$sparsity,$low,$high" python3 -c '
import json, sys
names, values, run = open(sys.argv[1]).read().splitlines()
run = json.loads(run)
run |= {p + "_" + c: v for p in ("low", "high") for c, v in run["causes"][p].items()}
both = {n: (v, run[n]) for n, v in zip(names.split(","), values.split(",")) if n in run and n not in ("format", "gather")}
assert len(both) > 25 and all(float(a) == b for a, b in both.values()), both' "$W/both"
done

# A database of somebody else: whatever its schema has beside ours could drop rows, so that nothing is written to it.
if python3 -c 'import sqlite3' 2>/dev/null; then
  change() { python3 -c 'import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.executescript(sys.argv[2]); d.close()' "$W/$1" "$2"; }
  text_of() { echo "PRAGMA writable_schema = ON; UPDATE sqlite_master SET $1 WHERE name = '$2'; PRAGMA writable_schema = OFF;"; }
  other_schema() { # WHAT SQL NAME: the sentence names NAME
    cp "$W/small.db" "$W/foreign.db"
    change foreign.db "$2"
    rm -f "$W"/foreign.db-*
    for c in "sweep small.yaml --db foreign.db" "report --db foreign.db" "report --changes small.db foreign.db"; do
      sq $c
      ok "a database with $1: $c" [ "$RC$(wc -l <"$W.err")$(grep -cE "another schema than sqsim writes: $3;|$3" "$W.err")" = 211 ]
    done
    ok "... is left as it was" [ "$(python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0)' "$W/foreign.db")" = True ]
  }
  other_schema "a unique index" 'DELETE FROM point; CREATE UNIQUE INDEX evil ON point(sweep)' evil
  other_schema "a partial index" 'DELETE FROM point; CREATE UNIQUE INDEX evil ON point(provenance) WHERE parameters > 0' evil
  other_schema "an index on an expression" "CREATE INDEX evil ON point(parameters || 'x')" evil
  other_schema "a trigger" 'CREATE TRIGGER evil AFTER INSERT ON point BEGIN DELETE FROM point; END;' evil
  other_schema "a view" 'CREATE VIEW evil AS SELECT * FROM point' evil
  other_schema "another table" 'CREATE TABLE zzz(a)' zzz
  other_schema "a constraint" 'DROP TABLE point; CREATE TABLE point(sweep TEXT NOT NULL, parameters TEXT NOT NULL, key TEXT NOT NULL, measures TEXT NOT NULL,
    provenance INTEGER NOT NULL REFERENCES provenance(id), digest TEXT NOT NULL, PRIMARY KEY(sweep)) WITHOUT ROWID' point
  other_schema "a default on conflict" "$(text_of "sql = replace(sql, 'PRIMARY KEY(sweep, parameters)', 'PRIMARY KEY(sweep, parameters) ON CONFLICT IGNORE')" point)" point
  other_schema "two tables in one page" "$(text_of "rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'sweep')" point)" "its pages contradict each other"
  other_schema "a table without a page" "$(text_of "rootpage = 0" point)" "its pages contradict each other"
  cp "$W/small.db" "$W/view.db"
  change view.db 'ALTER TABLE point RENAME TO kept; CREATE VIEW point AS SELECT * FROM kept;'
  refuse "view.db" report --db view.db
  refuse "view.db" sweep small.yaml --db view.db
else
  skip "a database of somebody else" "python3 without sqlite3"
fi

# ---- an output is none of the inputs --------------------------------------------------------------
cp "$W/small.yaml" "$W/in.yaml"
cp "$W/small.db" "$W/in.db"
ln "$W/in.db" "$W/hard.db"
ln -s in.db "$W/soft.db"
cp "$W/small.yaml" "$W/spec.json"
cp "$SQSIM_HOME/sim/machines/default.yaml" "$W/own.yaml"
sed 's/^axes:/axes:\n  machine: [own.yaml]/; /lanes/d; s/causes/dram_bytes/' "$W/small.yaml" >"$W/machine.yaml"
for output in in.db ./in.db hard.db soft.db in.db-wal in.db-shm in.db-journal; do
  refuse "'$output': it is an input" sweep in.yaml --db in.db -o "$output"
done
refuse "'new.db': it is an input" sweep in.yaml --db new.db -o new.db
refuse "'new.db-wal': it is an input" sweep in.yaml --db new.db -o new.db-wal
refuse "'in.yaml': it is an input" sweep in.yaml --db in.db -o in.yaml
refuse "'spec.json': it is an input" sweep spec.json --db in.db -o spec
refuse "'new.json': it is an input" sweep in.yaml --db new.json -o new
refuse "'own.yaml': it is an input" sweep machine.yaml --db machine.db -o own.yaml
accept "a new name" sweep in.yaml --db in.db -o in.csv

# ---- shards and merge -------------------------------------------------------------------------
for i in 1 2 3; do
  accept "--shard $i/3" sweep fast.yaml --db "s$i.db" --shard "$i/3" -o "s$i.csv"
  ok "is a third of it" [ "$(grep -vc '^#\|^m,' "$W/s$i.csv")" = $((points / 3)) ]
done
says "--merge: says how many" "3 databases merged into merged.db, $points points added" sweep --merge s1.db s2.db s3.db --db merged.db
says "the merged database: is complete" "0 computed, $points already there" sweep fast.yaml --db merged.db -o merged.csv
ok "same bytes" cmp "$W/a.csv" "$W/merged.csv"
accept "merging again" sweep --merge s1.db --db merged.db --json
ok "adds nothing" [ "$(number added)" = 0 ]
if command -v sqlite3 >/dev/null; then
  sums="SELECT count(*), group_concat(key || measures) FROM point"
  cp "$W/s1.db" "$W/other.db"
  # One point of it by another specification: it has other measures, and so another key.
  sed 's/^measures: .*/measures: [cycles]/; s/n: .*/n: [256]/; s/k: .*/k: [256]/; s/m: .*/m: [1]/
    s/bank: .*/bank: [8]/; s/sparsity: .*/sparsity: [0.5]/; s/low_lanes: .*/low_lanes: [8]/
    s/high_lanes: .*/high_lanes: [2]/' "$W/fast.yaml" >"$W/one.yaml"
  accept "one point by another specification" sweep one.yaml --db other.db --json
  ok "is computed" [ "$(number computed)" = 1 ]
  before=$(sqlite3 "$W/merged.db" "$sums")
  sq sweep --merge other.db --db merged.db
  ok "a contradicting database" refused_well "'other.db' holds another result of fast" "" ""
  sq sweep --merge other.db --db merged.db
  ok "adds nothing" [ "$(sqlite3 "$W/merged.db" "$sums")" = "$before" ]
  accept "an out-of-date row" sweep fast.yaml --db other.db --shard 1/3 --json
  ok "is computed again" [ "$(number computed)" = 1 ]
  sqlite3 "$W/other.db" "UPDATE point SET measures = '{\"cycles\":1}'
    WHERE parameters = (SELECT max(parameters) FROM point)"
  sq sweep --merge other.db --db merged.db
  ok "a damaged row is not merged" refused_well "'other.db' is damaged: point {.* does not match" "" ""
  accept "a damaged row" sweep fast.yaml --db other.db --shard 1/3 --json
  ok "is computed again as well" [ "$(number computed)" = 1 ]
  sqlite3 "$W/other.db" "PRAGMA user_version = 1"
  refuse "sweep database of version 1, need 2: run the sweep into a new one" report --db other.db
else
  skip "contradicting databases" "no sqlite3 program"
fi
if command -v parallel >/dev/null; then
  (cd "$W" && parallel "$SQSIM" sweep fast.yaml --db p{}.db --shard {}/4 ::: 1 2 3 4 >"$W.out" 2>&1)
  sq sweep --merge p1.db p2.db p3.db p4.db --db p.db
  sq sweep fast.yaml --db p.db -o p.csv
  ok "GNU parallel" cmp "$W/a.csv" "$W/p.csv"
else
  skip "GNU parallel" "it is not installed"
fi

# ---- on a terminal ----------------------------------------------------------------------------
# Something is said from the start; what was found counts neither as work done nor into the pace.
if command -v script >/dev/null; then
  terminal() { (cd "$W" && script -qec "'$SQSIM' sweep fast.yaml --db $1" /dev/null </dev/null) | tr '\r' '\n' | grep . >"$W.out"; }
  cp "$W/s2.db" "$W/half.db"
  terminal half.db
  ok "the first line says what is read" [ "$(head -1 "$W.out" | cut -c1-20)" = "fast: reading models" ]
  ok "what was found comes first, without a pace" \
    [ "$(grep -m1 "/$points" "$W.out" | sed 's/\x1b\[K//')" = "fast $((points / 3))/$points" ]
  ok "and all is done in the end" grep -q "fast $points/$points" "$W.out"
  terminal half.db
  ok "with all found: no pace" bash -c "! grep -q ETA '$W.out' && grep -q '^fast $points/$points' '$W.out'"
else
  skip "a terminal" "no script program"
fi
sq sweep fast.yaml --db half2.db
ok "no terminal: nothing on stderr" [ ! -s "$W.err" ]

# ---- killed, in company -----------------------------------------------------------------------
# Fifty kills at random moments between start and end; every eighth time from nothing again, so
# that the first moments of a database are hit as well.
kills=0
for ((i = 0; i < 400 && kills < 50; i++)); do
  if [ $((kills % 8)) = 0 ]; then rm -f "$W"/killed.db*; fi
  (cd "$W" && exec "$SQSIM" sweep fast.yaml --db killed.db --jobs 2 >/dev/null 2>&1) &
  pid=$!
  sleep "$(printf 0.%03d $((RANDOM % 70 + 3)))"
  kill -9 $pid 2>/dev/null && kills=$((kills + 1))
  wait $pid 2>/dev/null
done 2>/dev/null
ok "killed 50 times" [ $kills = 50 ]
accept "one more run finishes it" sweep fast.yaml --db killed.db -o killed.csv
ok "same bytes as undisturbed (seed $SEED)" cmp "$W/a.csv" "$W/killed.csv"

for i in 1 2 3 4; do
  (cd "$W" && "$SQSIM" sweep fast.yaml --db together.db --jobs 2 -o "t$i.csv" >"t$i.log" 2>&1 ||
     echo "exit $?" >>"t$i.log") &
done
wait
ok "four processes on one new database" [ -z "$(grep -h exit "$W"/t?.log)" ]
for i in 1 2 3 4; do ok "process $i: same bytes" cmp "$W/a.csv" "$W/t$i.csv"; done

# ---- where it cannot write --------------------------------------------------------------------
# A full disk is played by the limit on file sizes.
(ulimit -f 300; cd "$W" && timeout $HANG "$SQSIM" sweep fast.yaml --db full.db >"$W.out" 2>"$W.err")
RC=$?
ok "full disk" refused_well "cannot write database 'full.db'" "" ""
says "with room again: it goes on" "computed, [1-9][0-9]* already there" sweep fast.yaml --db full.db -o full.csv
ok "same bytes as undisturbed" cmp "$W/a.csv" "$W/full.csv"
if mkdir "$W/tiny" && mount -t tmpfs -o size=512k none "$W/tiny" 2>/dev/null; then
  sq sweep fast.yaml --db tiny/full.db
  ok "full file system" refused_well "cannot write database 'tiny/full.db'" "" ""
  rm -f "$W"/full.db* && cp "$W"/tiny/full.db* "$W" && umount "$W/tiny"
  says "moved to a larger one: it goes on there" "computed, [1-9][0-9]* already there" sweep fast.yaml --db full.db -o full.csv
  ok "to the same bytes" cmp "$W/a.csv" "$W/full.csv"
else
  skip "full file system" "no permission to mount one"
fi
(ulimit -f 34; cd "$W" && timeout $HANG "$SQSIM" sweep small.yaml --db small.db -o cut.csv >"$W.out" 2>"$W.err")
RC=$?
ok "CSV on a full disk" refused_well "cannot write" "" ""
ok "leaves no half file" [ -z "$(ls "$W" | grep cut)" ]

# A read-only directory: as oneself, or as nobody where one is root.
mkdir "$W/locked" && cp "$W/small.db" "$W/locked/old.db" && chmod -R a-w "$W/locked"
as=""
if [ "$(id -u)" = 0 ]; then
  chmod 755 "$W"
  as="setpriv --reuid 65534 --clear-groups"
fi
if $as test -x "$SQSIM" -a -r "$W/small.yaml" 2>/dev/null; then
  for db in new old; do
    (cd "$W" && $as timeout $HANG "$SQSIM" sweep small.yaml --db locked/$db.db >"$W.out" 2>"$W.err")
    RC=$?
    ok "read-only directory, $db database" refused_well "cannot .* database 'locked/$db.db': Permission denied" "" ""
  done
  ok "nothing was made there" [ "$(ls "$W/locked")" = old.db ]
else
  skip "read-only directory" "root may write everywhere, and nobody may not run $SQSIM"
fi

# ---- refusals ---------------------------------------------------------------------------------
spec() { # AXES [MEASURES [REST]]
  printf 'name: bad\naxes:\n%b\nmeasures: [%s]\n%b\n' "$1" "${2:-cycles}" "$3" >"$W/bad.yaml"
}
no() { # PATTERN AXES [MEASURES [REST]]
  local pattern=$1; shift
  spec "$@"
  refuse "$pattern" sweep bad.yaml --db none.db
}
no "axis fair needs axis machine" '  fair: [peak]'
no "unknown key 'bnak', did you mean bank? (line 3)" '  bnak: [8]'
no "key 'n' does not belong here (line 5)" '  bank: [8]' cycles 'n: 3'
no "unknown key 'mesures', did you mean measures" '  bank: [8]' cycles 'mesures: [cycles]'
no "'bad.yaml' line 3: bank = \[\], need a list of at least 1" '  bank: []'
no "'bad.yaml' has key 'bank' twice" '  bank: [8]\n  bank: [16]'
no "axis bank = 12, need 4, 8, 16" '  bank: [12]'
no "axis bank = 256, need 4..128" '  bank: [8, 256]'
no "axis bank = -8, need 4..128" '  bank: [-8]'
no "axis bank = 8x, need a number" '  bank: [8x]'
no "axis bank = nan, need a number" '  bank: [nan]'
no "axis bank has 8 twice" '  bank: [8, 16, 8]'
no "axis rows = 2.5, need 1..64" '  rows: [2.5]'
no "axis sparsity = 0.6" '  sparsity: [0.6]'
no "axis group = 48, need 32, 64, 128 or row" '  group: [48]'
no "axis act_bits = 6, need 4 or 8" '  act_bits: [6]'
no "axis precision = 8/5, need one of 8/4, 8/3" '  precision: [8/5]'
no "axis gather = crossbra, need .*did you mean crossbar" '  gather: [crossbra]'
no "axis gather has log twice" '  gather: [log, log]'
no "range 9..3, need A..B" '  m: [9..3]'
no "range 1..9+0, need A..B" '  m: [1..9+0]'
no "range 1..9\*1, need A..B" '  m: [1..9*1]'
no "axis n without axis k" '  n: [64]'
no "axis model together with n and k" '  n: [64]\n  k: [64]\n  model: [x]'
no "axis model has 'x' twice" '  model: [x, x]'
no "unknown measure 'cycels', did you mean cycles" '  bank: [8]' cycels
no "unknown measure 'charge', need causes or one of the [0-9]* that .sqsim sweep --measures. lists" '  bank: [8]' charge
no "unknown measure 'energy', did you mean energy_per_token" '  bank: [8]' energy
accept "the list of measures" sweep --measures --json
ok "has each of its measures, with unit and basis" [ "$(grep -c '"measure":"[a-z0-9_]*","unit":"[^"]*","basis":"[^"]' "$W.out")" -ge 28 ]
refuse "--dry-run has no use with --measures" sweep --measures --dry-run
no "a measure of values with axes n and k" '  n: [64]\n  k: [64]' relative_error
no "of the core's PE and gather are of format sq_w, not of sp24" '  format: [sp24]\n  machine: [sim/machines/default.yaml]' pe_area_um2
no "'bad.yaml' line 3: bank = 8, need a list, as \[A, B\]" '  bank: 8'
no "line 3: bank = {a: 1}, need a list" '  bank: {a: 1}'
no "line 4: measures = {a: 1}\], need one value" '  bank: [8]' '{a: 1}'
no "line 3: bank = \[8\]\], need one value" '  bank: [[8]]'
no "is no YAML: .*, at or after line 3" '  bank: [8'
no "has an alias" '  bank: &a [8]\n  m: *a'
yaml() { # PATTERN TEXT: the whole file
  printf "$2" >"$W/bad.yaml"
  refuse "$1" sweep bad.yaml --db none.db
}
yaml "'bad.yaml' lacks key 'axes'" 'name: x\nmeasures: [cycles]\n'
yaml "'bad.yaml' line 1: name = xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.., need at most 60 characters" \
  "name: $(printf 'x%.0s' {1..70})\naxes: {bank: [8]}\nmeasures: [cycles]\n"
yaml "'bad.yaml' line 1: name = \"\", need at least 1 character$" 'name: ""\naxes: {bank: [8]}\nmeasures: [cycles]\n'
yaml "'bad.yaml' line 3: measures = nothing, need a list" 'name: x\naxes: {bank: [8]}\nmeasures:\n'
yaml "'bad.yaml' is one value or a list, need keys with values" '[x]\n'
yaml "'bad.yaml' holds no keys and values" '# nothing\n'
yaml "'bad.yaml' is no YAML: it holds a zero byte" '\0\1\2'
yaml "'bad.yaml' is no YAML: .*UTF-8" 'name: \377\n'

no "unknown name 'bnak', did you mean bank" '  bank: [8]' cycles 'constraints: ["bnak < 9"]'
no "need one of <= >=" '  bank: [8]' cycles 'constraints: ["bank = 9"]'
no "goes on after" '  bank: [8]' cycles 'constraints: ["bank < 9 9"]'
no "need TERM OP TERM" '  bank: [8]' cycles 'constraints: ["< 9"]'
no "macs is not among the measures" '  bank: [8]' cycles 'constraints: ["macs < 9"]'
no "compared with its own axis" '  bank: [8]' cycles 'constraints: ["bank == log"]'
no "no point is left of 2: 0 have no legal format or core, 2 are excluded" '  bank: [8, 16]' cycles \
  'constraints: ["bank < 8"]'
no "sparsity = 0.9375 leaves no high code in bank = 4, need bank >= 16" '  bank: [4]\n  sparsity: [0.9375]'
no "1e+12 points, need 1..10000000" '  n: [1..1000000]\n  k: [1..1000]\n  m: [1..1000]'
no "bad.yaml" '  bank: &x [8]\n  rows: *x' # aliases
spec '  bank: [8]'; sed -i 's/^name: bad/name: a b/' "$W/bad.yaml"
refuse "name = a b, need letters" sweep bad.yaml --db none.db
: >"$W/bad.yaml"; refuse "is empty" sweep bad.yaml
head -c 3000 /dev/urandom >"$W/bad.yaml"; refuse "bad.yaml" sweep bad.yaml
head -c 1100000 /dev/zero | tr '\0' '#' >"$W/bad.yaml"; refuse "has 1100000 bytes" sweep bad.yaml
refuse "cannot open 'none.yaml': No such file" sweep none.yaml
refuse "cannot read '.': it is a directory" sweep .
refuse "needs a specification" sweep
refuse "unexpected argument 'small.yaml'" sweep fast.yaml small.yaml
spec '  model: [no/such/model]' relative_error
refuse "cannot open 'no/such/model" sweep bad.yaml --db none.db
for v in 0 -1 257 two ""; do refuse "--jobs = .*need 1..256" sweep small.yaml --jobs "$v"; done
for v in 0/3 4/3 3 a/b /3 1/ -1/3 1/0 ""; do
  refuse "--shard = .*need I/N" sweep small.yaml --shard "$v"
done
refuse "No such file or directory" sweep small.yaml --db no/such/x.db
refuse "the name of the database is empty" sweep small.yaml --db ""
refuse "cannot open database '.': it is no regular file" sweep small.yaml --db .
refuse "cannot open database '/dev/full'" sweep small.yaml --db /dev/full
refuse "fast.yaml': file is not a database" sweep small.yaml --db fast.yaml
refuse "No such file or directory" sweep small.yaml --db none.db -o no/such/x.csv
refuse "--merge needs the databases" sweep --merge --db none.db
refuse "cannot open database 'none.db': No such file" sweep --merge none.db --db none2.db
refuse "--output has no use with --merge" sweep --merge a.db --db none.db -o x
refuse "--shard has no use with --merge" sweep --merge a.db --db none.db --shard 1/2
refuse "--dry-run has no use with --merge" sweep --merge a.db --db none.db --dry-run

# Machines, workloads and formats: the values are those of `sqsim run` on the same machine.
T=traces/workloads/llama-3-8b_decode_32.csv
printf '%s\n' 'name: machines' 'axes:' "  workload: [$T]" \
  '  machine: [sim/machines/default.yaml, sim/machines/server64.yaml]' \
  '  format: [sq_w, dense, sq_a_static, sq_a_dynamic, sp24, gqsa, spqt, spqr]' '  weight_bits: [4, 8]' \
  '  sparsity: [0.5, 0.75]' '  fair: [none]' 'measures: [cycles, time_ms, dram_bytes, utilisation_low, stored_bits, causes]' >"$W/machines.yaml"
accept "every format on two machines" sweep machines.yaml --db m.db -o m.csv
ok "one head for all formats" [ "$(grep -c '^workload' "$W/m.csv")" = 1 ]
ok "an axis that a format lacks makes no points" [ "$(wc -l <"$W/m.csv")" = $((1 + 2 * (2 + 2 + 4 + 4 + 1 + 2 + 2 + 1))) ]
point() { # FORMAT MACHINE SPARSITY WEIGHT_BITS: cycles of that row
  awk -F, -v f="$1" -v m="sim/machines/$2.yaml" -v s="$3" -v w="$4" '
    NR == 1 {for (i = 1; i <= NF; i++) c[$i] = i}
    NR > 1 && $c["format"] == f && $c["machine"] == m && $c["sparsity"] == s && $c["weight_bits"] == w {
      print $c["cycles"] " " $c["dram_bytes"]}' "$W/m.csv"
}
same_as_run() { # FORMAT MACHINE SPARSITY WEIGHT_BITS OPTION...
  local want; want=$(point "$1" "$2" "$3" "$4")
  sq run --workload "$SQSIM_HOME/$T" --machine "$SQSIM_HOME/sim/machines/$2.yaml" --format "$1" "${@:5}" --json
  ok "$1 on $2 is that of run" [ "$want" = "$(number cycles) $(number bytes)" ]
}
same_as_run sq_w default 0.75 "" --sparsity 0.75
same_as_run dense server64 "" 4 --weight-bits 4
same_as_run sq_a_dynamic server64 0.5 4 --sparsity 0.5 --weight-bits 4
same_as_run gqsa default 0.5 "" --sparsity 0.5
same_as_run spqt server64 0.75 "" --sparsity 0.75
same_as_run sp24 default "" ""
same_as_run spqr server64 "" ""
# Fair machines, by peak; by area where there are tools for it.
LIB=/usr/share/qflow/tech/osu018/osu018_stdcells.lib by="peak"
if command -v yosys >/dev/null && [ -r $LIB ]; then by="peak area"; else skip "fair: area" "no yosys, or no $LIB"; fi
printf '%s\n' 'name: fair' 'axes:' '  machine: [sim/machines/default.yaml]' '  m: [64]' '  n: [4096]' '  k: [4096]' \
  '  low_lanes: [4]' '  high_lanes: [1]' '  format: [sq_w, dense]' '  weight_bits: [4]' "  fair: [none, ${by/ /, }]" \
  'measures: [cycles, format_low_lanes, format_high_lanes, format_area_um2]' >"$W/fair.yaml"
accept "fair machines" sweep fair.yaml --db fair.db -o fair.csv
for f in sq_w dense; do
  for w in none $by; do
    sq run --m 64 --n 4096 --k 4096 --low-lanes 4 --high-lanes 1 --machine "$SQSIM_HOME/sim/machines/default.yaml" \
      --format "$f" $([ $f = dense ] && echo --weight-bits 4) --fair "$w" --json
    area=$(tail -1 "$W.out" | grep -o '"pe_area_um2":[0-9.]*' | cut -d: -f2)
    lanes="$(number low_lanes),$(number high_lanes)"
    [ "$w" = none ] && lanes="[0-9]*,[0-9]*"
    ok "$f, fair by $w, is that of run" grep -q "^[^,]*,64,4096,4096,$f,.*,$w,$(number cycles),$lanes,${area%.*}[.0-9]*,[^,]*\$" "$W/fair.csv"
  done
done
# Several formats on a machine are of equal silicon where nothing is said.
sed '/^  fair:/d' "$W/fair.yaml" >"$W/usual.yaml"
if [ "$by" = "peak area" ]; then
  accept "formats without axis fair" sweep usual.yaml --db usual.db -o usual.csv
  ok "... are of equal silicon, and it says so" [ "$(grep -c ',area,' "$W/usual.csv"),$(grep -vxFf "$W/fair.csv" "$W/usual.csv" | wc -l),$(grep -c '^formats of equal silicon: ' "$W.out")" = 2,0,1 ]
  says "their report: ... too" "^formats of equal silicon: PEs and decoders of lines that fill that of the machine's own PEs" report --db usual.db
  sed -i 's/dense\]/dense, mxint8]/; s/high_lanes: .*/high_lanes: [1]/; s/measures: .*/measures: [cycles, stored_bits]/' "$W/usual.yaml"
  accept "a format of which RTL has no such PE" sweep usual.yaml --db usual2.db -o usual2.csv
  ok "... has the bits of its shapes, and says why no time" grep -q ',mxint8,.*,area,,8.25,"\?cycles: fair = area: RTL has no PE of mxint8' "$W/usual2.csv"
fi
(cd "$W" && PATH=/nowhere "$SQSIM" sweep usual.yaml --db none.db 2>"$W.err"); RC=$?
ok "without yosys: exit 3, and the way out" [ "$RC,$(grep -c 'get PEs of equal silicon unless axis fair says none' "$W.err")" = 3,1 ]
sed -i 's/default.yaml/chip.yaml/; /lanes:/d' "$W/usual.yaml"
refuse "formats of equal silicon: chip chip states no multipliers, need axes low_lanes and high_lanes, or fair: \[none\]" sweep usual.yaml --db none.db
sed 's/,32,/,0,/' "$SQSIM_HOME/$T" >"$W/zero.csv"
printf '%s\n' 'name: z' 'axes: {workload: [zero.csv]}' 'measures: [cycles]' >"$W/z.yaml"
refuse "zero.csv" sweep z.yaml --db z.db
ok "before any work" [ ! -e "$W/z.db" ]

# ---- a constraint on what is measured -------------------------------------------------------------
printf '%s\n' 'name: limit' 'axes: {machine: [default], n: [256], k: [512], m: [32], format: [dense], rows: [4, 16, 32]}' \
  'constraints: ["cycles <= 1000"]' 'measures: [cycles, dram_bytes]' >"$W/limit.yaml"
sq sweep limit.yaml --db limit.db --json
limited() { awk '/"rows"/ {match($0, /"cycles":[0-9]+/); c = substr($0, RSTART + 9, RLENGTH - 9) + 0; out = /"dram_bytes":null,"notes":"dram_bytes: not cycles <= 1000"/
  in_ = /"dram_bytes":[0-9]/; if (c > limit ? !out : !in_) bad = 1; n[c > limit]++} END {exit bad || n[0] + n[1] != 3 || (both && !(n[0] && n[1]))}' limit="$1" both="$2" "$W.out"; }
ok "points beyond it keep the measure that it names alone" limited 1000 1
sed -i 's/<= 1000/<= 1000000/' "$W/limit.yaml"
sq sweep limit.yaml --db limit.db --json
ok "another limit computes them anew" [ "$(number computed),$(grep -c '"dram_bytes":[0-9]' "$W.out")" = 3,3 ]

# ---- what is around the cores, k and codes of sq_b ----------------------------------------------
mkdir -p "$W/below"
cp "$SQSIM_HOME/sim/machines/default.yaml" "$W/below/mine.yaml"
printf '%s\n' 'name: around' 'axes:' '  machine: [mine.yaml]' '  m: [64]' '  n: [512]' '  k: [512]' '  format: [sq_b, dense]' \
  '  weight_bits: [4]' '  high_per_bank: [1, 2]' '  codes: [sentinel, split]' '  cores: [1, 4]' '  clock_ghz: [0.5, 1]' \
  '  bandwidth_gb_s: [64, 128]' '  output_bytes: [16, 64]' '  act_buffer_kib: [128]' '  weight_buffer_kib: [64]' '  out_buffer_kib: [256]' '  fair: [none]' \
  'constraints: ["high_per_bank <= 2"]' 'measures: [cycles, time_ms, stored_bits, utilisation_high]' >"$W/below/around.yaml"
accept "axes of a machine that lies beside the specification" sweep below/around.yaml --db around.db -o around.csv --json
ok "80 points: dense has neither k nor codes" [ "$(number points)" = 80 ]
around() { # CORES CLOCK BANDWIDTH OUTPUT K CODES: cycles and stored bits of sq_b
  awk -F, -v v="$1,$2,$3,$4,$5,$6" 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next}
    $at["format"] == "sq_b" && $at["cores"] "," $at["clock_ghz"] "," $at["bandwidth_gb_s"] "," $at["output_bytes"] "," $at["high_per_bank"] "," $at["codes"] == v {
      print $at["cycles"] "," $at["stored_bits"]}' "$W/around.csv"
}
for v in "1 0.5 64 16 1 sentinel" "4 1 128 64 2 split" "4 0.5 128 16 2 sentinel"; do
  set -- $v
  sed "s/^clock: .*/clock: $2 GHz/; s/^cores: .*/cores: $1/; s/bandwidth: .*/bandwidth: $3 GB\/s/; s/^  output: 64 B.*/  output: $4 B/
    s/^  activation: .*/  activation: 128 KiB/; s/^  weight: .*/  weight: 64 KiB/; s/^  output: 512 KiB/  output: 256 KiB/" \
    "$SQSIM_HOME/sim/machines/default.yaml" >"$W/like.yaml"
  sq run --machine like.yaml --m 64 --n 512 --k 512 --format sq_b --high-per-bank $5 --codes $6 --json
  ok "$v: cycles and stored bits of run" [ "$(around $v)" = "$(number cycles),$(number stored_bits_per_weight)" ]
done
# ---- a DRAM that keeps time ----------------------------------------------------------------------
printf '%s\n' 'name: drams' 'axes: {machine: [mine.yaml], m: [4], n: [256], k: [256], format: [nvfp4, dense], weight_bits: [4],' \
  '  device: [ddr4-2400, hbm2], channels: [1, 2, 3], map: [groups, pages], page: [open, closed], fair: [none]}' 'measures: [cycles]' >"$W/below/drams.yaml"
accept "axes of a DRAM" sweep below/drams.yaml --db drams.db -o drams.csv --json
ok "32 points: three channels are none" [ "$(number points)" = 32 ]
sed '/^dram:/,$d' "$W/below/mine.yaml" >"$W/drams.m.yaml"
printf 'dram:\n  device: hbm2\n  channels: 2\n  map: pages\n  page: closed\n' >>"$W/drams.m.yaml"
sq run --machine drams.m.yaml --m 4 --n 256 --k 256 --format nvfp4 --json
ok "cycles of run" grep -q ",nvfp4,.*,hbm2,2,pages,closed,none,$(number cycles)," "$W/drams.csv"
part() { sq sweep "$SQSIM_HOME/sim/sweeps/drams.yaml" --shard 3/64 --db part.db --json; }
part
ok "a shard of five devices x four maps x eight formats" [ "$(number computed),$(number cached)" = 5,0 ]
part
ok "... goes on where it was" [ "$(number computed),$(number cached)" = 0,5 ]
accept "... has a page" report --db part.db -o drams.page
ok "... with its title" grep -q 'Five DRAMs, four maps of addresses and eight formats' "$W/drams.page/index.html"
ok "a blank measure says why" grep -q ',dense,.*,,utilisation_high: dense has no high path; clock: axis clock_ghz$' "$W/around.csv"
accept "as text" report --db around.db
ok "so does the text" grep -qx 'of [0-9]* points: utilisation_high: dense has no high path; clock: axis clock_ghz' "$W.out"
accept "as a page" report --db around.db -o around.page
ok "and the page" grep -q '"notes":"utilisation_high: dense has no high path; clock: axis clock_ghz"' "$W/around.page/index.html"
cp "$W/below/mine.yaml" "$W/mine.yaml"; sed -i 's/^cores: .*/cores: 2/' "$W/mine.yaml"
sed '/cores:/d; s/^name: .*/name: near/' "$W/below/around.yaml" >"$W/below/near.yaml"
accept "a machine in the working directory" sweep below/near.yaml --db near.db -o near.csv
cp "$W/mine.yaml" "$W/below/mine.yaml"; rm "$W/mine.yaml"
accept "is the one that is taken" sweep below/near.yaml --db near2.db -o near2.csv
ok "before one beside the specification" cmp "$W/near.csv" "$W/near2.csv"

# ---- time on a table, quality on a model ----------------------------------------------------------
if [ -f "$SQSIM_HOME/traces/tiny-llama/config.json" ]; then
  printf '%s\n' 'name: join' 'axes:' '  machine: [sim/machines/default.yaml]' '  workload: [traces/workloads/llama-3-8b_decode_1.csv]' \
    '  model: [traces/tiny-llama]' '  format: [nvfp4, mxfp4]' '  fair: [none]' 'measures: [cycles, kl, kl_low, kl_high]' >"$W/join.yaml"
  accept "a table beside a model" sweep join.yaml --db join.db -o join.csv
  for f in nvfp4 mxfp4; do
    sq run --format $f --workload "$SQSIM_HOME/traces/workloads/llama-3-8b_decode_1.csv" --json; cycles=$(number cycles)
    sq eval --format $f --algorithm rtn --summary --json
    interval=$(grep -o '"kl_mean_95":[^]]*' "$W.out" | sed 's/.*\[//')
    ok "$f: cycles of the table, KL of the model, with its interval" grep -q ",$f,rtn,none,$cycles,$(number kl_mean),$interval," "$W/join.csv"
  done
  ok "and says which is of which" [ "$(grep -c ',"cycles: of workload llama-3-8b_decode_1; kl, kl_low, kl_high: of model tiny-llama"$' "$W/join.csv")" = 2 ]
  touch "$W/before"
  sed 's/default.yaml/edge4.yaml/' "$W/join.yaml" >"$W/join2.yaml"
  accept "on another machine" sweep join2.yaml --db join2.db -o join2.csv
  kl_of() { grep -o ',[0-9.]*,[0-9.]*,[0-9.]*,"cycles' "$1"; }
  ok "KL is kept" [ "$(kl_of "$W/join.csv")" = "$(kl_of "$W/join2.csv")" -a -z "$(find "$SQSIM_HOME/build/kl" -name kl -newer "$W/before")" ]
fi

# ---- values and areas -------------------------------------------------------------------------
if [ -f "$SQSIM_HOME/traces/tiny-llama/config.json" ]; then
  few_tokens 4
  sed "s|traces/workloads|$ROOT/traces/workloads|; s/nvfp4, mxfp4/rule.yaml/; s/cycles, kl, kl_low, kl_high/cycles, kl/" "$W/join.yaml" >"$W/rules.yaml"
  for rule in 4 3 4; do # a description of one name, whose KL is kept by what it says
    printf '%s\n' 'name: rule' 'elements: {bits: 3, grids: {fp3: [0, 1, 2, 4]}}' "blocks: [{length: 16, scale: e4m3, rule: amax / $rule}]" 'tensor_scale: token' >"$W/rule.yaml"
    accept "KL of amax / $rule" sweep rules.yaml --db rules.db -o rules.csv
    tail -1 "$W/rules.csv" >>"$W/rules"
  done
  ok "... another one for another rule" [ "$(sort -u "$W/rules" | wc -l),$(sed -n 1p "$W/rules")" = "2,$(sed -n 3p "$W/rules")" ]
  printf '%s\n' 'name: v' 'axes:' '  bank: [8, 64]' '  m: [4]' '  sparsity: [0.5, 0.875]' \
    'measures: [relative_error, weight_sqnr_db, stored_bits, cycles]' >"$W/v.yaml"
  accept "values of the embedded model" sweep v.yaml --db v.db -o v1.csv
  accept "on two threads" sweep v.yaml --db v2.db -o v2.csv --jobs 2
  ok "same bytes" cmp "$W/v1.csv" "$W/v2.csv"
  ok "a larger bank is more accurate, more sparsity less" awk -F, '
    NR > 1 {e[NR] = $15}
    END {exit !(e[4] < e[2] && e[5] < e[3] && e[3] > e[2] && e[2] > 0 && e[3] < 0.2)}' "$W/v1.csv"
  accept "quantize" quantize --bank 64 --sparsity 0.875 --json
  ok "its SQNR is the sweep's" awk \
    "BEGIN{d = $(tail -1 "$W/v1.csv" | cut -d, -f16) - $(number sqnr_db); exit !(d * d < 1e-12)}"
  ok "so are the stored bits" [ "$(tail -1 "$W/v1.csv" | cut -d, -f17)" = \
    "$(number stored_bits_per_weight)" ]
  if san; then
    skip "perplexity" "minutes under the sanitizers"
  else
    printf '%s\n' 'name: ppl' 'axes:' '  bank: [32]' '  algorithm: [rtn, gptq]' 'measures: [loss, perplexity]' \
      >"$W/ppl.yaml"
    sq sweep ppl.yaml --db v.db -o ppl.csv; ok "perplexity" accepted
    sq eval --algorithm gptq --summary --json; ok "eval" [ "$RC" = 0 ]
    ok "is eval's" awk \
      "BEGIN{d = $(tail -1 "$W/ppl.csv" | cut -d, -f16) - $(number perplexity); exit !(d * d < 1e-16)}"
    ok "the algorithm matters" [ "$(cut -d, -f16 "$W/ppl.csv" | sort -u | wc -l)" = 3 ]
  fi
else
  skip "values" "traces/tiny-llama does not exist"
fi
SQSIM_HOME=$ROOT
# A description as a format of the axis, with another value, and again after it has changed.
# ---- whole passes: tokens a second are those of run --phase -------------------------------------------
cat >"$W/tokens.yaml" <<'EOF'
name: tokens
axes: {workload: [traces/workloads/smollm2-135m.json], machine: [sim/machines/edge4.yaml], format: [nvfp4, dense], context: [64, 512], batch: [1, 8], kv_bits: [4, 16], fair: [none]}
measures: [tokens_per_second, ttft_ms, time_ms, dram_bytes, utilisation_low, energy_per_token, energy_per_token_low]
EOF
. "$ROOT/tests/docs/energy_table.sh"
{ table 320000 640000; vector_line; } >"$W/joules.jsonl"
refuse "energy_per_token needs --energy" sweep tokens.yaml --db tokens.db
refuse "--dram needs --energy" sweep tokens.yaml --db tokens.db --dram lpddr4
accept "whole passes" sweep tokens.yaml --db tokens.db -o tokens.csv --energy joules.jsonl
row() { awk -F, -v f="$1" -v c="$2" -v b="$3" -v k="$4" -v col="$5" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
  $at["format"] == f && $at["context"] == c && $at["batch"] == b && $at["kv_bits"] == k { print $at[col] }' "$W/tokens.csv"; }
close_to() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && (a - b) / b < 1e-9 && (b - a) / b < 1e-9) }' || { echo "# $1 is not $2"; return 1; }; }
for f in nvfp4 dense; do
  sq run smollm2-135m --machine edge4 --phase decode --context 512 --batch 8 --format $f --kv-format int4 $([ $f = nvfp4 ] || echo --energy joules.jsonl) --json
  ok "$f: tokens a second as run says" close_to "$(row $f 512 8 4 tokens_per_second)" "$(number tokens_per_second)"
  ok "$f: the first token" close_to "$(row $f 512 8 4 ttft_ms)" "$(number ttft_ms)"
  ok "$f: bytes" close_to "$(row $f 512 8 4 dram_bytes)" "$(number bytes)"
done
ok "dense: joules of a token" close_to "$(row dense 512 8 4 energy_per_token)" "$(number energy_high_j_per_token)"
ok "... and their low end" close_to "$(row dense 512 8 4 energy_per_token_low)" "$(number energy_low_j_per_token)"
sed 's/nvfp4, dense/dense/; s/64, 512/64/; s/1, 8/1/; s/4, 16/4/; s/name: .*/name: key/' "$W/tokens.yaml" >"$W/key.yaml"
sed 's/low: \([0-9]\)/low: 1\1/; s/high: \([0-9]\)/high: 1\1/' "$ROOT/sim/machines/memory/default.yaml" >"$W/memory.yaml"
{ table 330000 640000; vector_line; } >"$W/joules2.jsonl"
for o in joules.jsonl:1 joules.jsonl:0 "joules.jsonl --dram hbm2:1" "joules.jsonl --memory memory.yaml:1" joules2.jsonl:1; do
  says "joules by ${o%:*}: ... ${o#*:} computed" "^${o#*:} computed\| ${o#*:} computed" sweep key.yaml --db key.db --energy ${o%:*}
done
ok "a format that nobody measured has none, and the row says so" grep -q ",nvfp4,.*energy_per_token, energy_per_token_low: --energy has no joules of this recipe" "$W/tokens.csv"
ok "causes are not counted, and the row says so" grep -q "utilisation_low: of a whole pass no causes are counted" "$W/tokens.csv"
sed 's/64, 512/1000000/; s/edge4/default/; s/db/d2/' "$W/tokens.yaml" >"$W/full.yaml"
accept "what does not fit" sweep full.yaml --db full.db -o full.csv --energy joules.jsonl
ok "has no tokens, and the row says why" grep -q "tokens_per_second, ttft_ms, energy_per_token, energy_per_token_low: weights and KV cache are more than the machine's capacity" "$W/full.csv"
sed 's/smollm2-135m.json/smollm2-135m_decode_1.csv/' "$W/tokens.yaml" >"$W/table.yaml"
refuse "axis context needs a workload that is a config.json" sweep table.yaml --db t.db
sed 's/kv_bits: .4, 16./kv_bits: [5]/' "$W/tokens.yaml" >"$W/bits.yaml"
refuse "kv_bits = 5, need 4, 8 or 16" sweep bits.yaml --db t.db
sed 's/machine: .sim.machines.edge4.yaml., //' "$W/tokens.yaml" >"$W/nowhere.yaml"
refuse "need axis machine" sweep nowhere.yaml --db t.db

cat >"$W/mine.yaml" <<'EOF'
name: mine
elements: {bits: 3, grids: {fp3: [0, 1, 2, 4]}}
blocks: [{length: 16, scale: e4m3, rule: amax / 4}]
tensor_scale: token
EOF
printf '%s\n' 'name: own' 'axes:' '  machine: [sim/machines/default.yaml]' '  m: [4]' '  n: [64]' '  k: [64]' \
  '  format: [nvfp4, hif4, mine.yaml, mine.yaml@blocks.0.length=8@blocks.0.scale=ue5m3]' '  fair: [none]' 'measures: [stored_bits, dram_bytes]' >"$W/own.yaml"
accept "descriptions in a sweep" sweep own.yaml --db own.db -o own.csv
ok "their names and bits" [ "$(cut -d, -f5,8 "$W/own.csv" | tail -4 | tr '\n' ' ')" = \
  "nvfp4,4.5078125 hif4,4.5 mine,3.5078125 mine_length_8_scale_ue5m3,4.0078125 " ]
sed -i 's/length: 16/length: 32/' "$W/mine.yaml"
accept "a description that changed" sweep own.yaml --db own.db -o own.csv
ok "is computed again" out_has "1 computed, 3 already there" # the variant has its own length
refuse "has no value at blocks.1.length" run --format "$W/mine.yaml@blocks.1.length=8" --m 1 --n 32 --k 32
refuse "length = 12, need" run --format "$W/mine.yaml@blocks.0.length=12" --m 1 --n 32 --k 32
cat >"$W/area.yaml" <<'EOF'
name: area
axes:
  n: [64]
  k: [64]
  bank: [4]
  gather: [crossbar, log]
  low_lanes: [4]
  high_lanes: [1]
measures: [gather_area_um2]
EOF
if command -v yosys >/dev/null; then
  accept "gather areas" sweep area.yaml --db area.db -o area.csv
  ok "differ and are positive" awk -F, \
    'NR > 1 {a[NR] = $16} END {exit !(a[2] > 0 && a[3] > 0 && a[2] != a[3])}' "$W/area.csv"
  refuse "none.lib" sweep area.yaml --db none.db --liberty none.lib
else
  skip "areas" "no yosys"
fi
finish
