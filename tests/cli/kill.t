#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs killed at random moments, by KILL, TERM and INT in turn: nothing that they started stays,
# nothing is half written, and the next run says what an undisturbed one says. KILLS per command
# (`make kill-test KILLS=50`); what processes are ours is told by a mark in their environment. No
# verdict depends on time: how soon they were gone is printed.
. "$(dirname "$0")/lib.sh"
SEED=${SQ_SEED:-1}
KILLS=${KILLS:-$([ "$SQ_TIER" = test ] && echo 1 || echo 3)}
RANDOM=$SEED
LIB=/usr/share/qflow/tech/osu018/osu018_stdcells.lib
MARK=SQ_KILL_MARK=$W
HOME_DIR=$W/home
mkdir "$HOME_DIR"
for part in rtl sim traces; do ln -s "$ROOT/$part" "$HOME_DIR/$part"; done
export SQSIM_HOME=$HOME_DIR

cat >"$W/sweep.yaml" <<'EOS'
name: kill
axes:
  model: [traces/tiny-llama]
  bank: [4, 8]
  sparsity: [0.5]
  gather: [crossbar, log]
  low_lanes: [4]
  high_lanes: [2]
measures: [cycles, gather_area_um2]
EOS
sweep=(sweep sweep.yaml --db kill.db --jobs 2 -o out)
area=(area --json --jobs 2 --block gather_mux --block gather_rank --bank 4 --sparsity 0.5 --act-bits 4
  --output out)
cosim=(cosim --block topk --point b8 --cases 20)
quantize=(quantize traces/tiny-llama --algorithm rtn -o out)
ln -s "$ROOT/traces" "$W/traces"

ours() { grep -lsF "$MARK" /proc/[0-9]*/environ; }
partial() { find "$W" -name '*.work-*' -o -name '*.tmp-*' -o -name 'build.log'; }

# Milliseconds until none of ours is left; a minute guards against a hang.
gone() {
  local start now
  start=$(date +%s%3N)
  while [ -n "$(ours)" ]; do
    now=$(date +%s%3N)
    [ $((now - start)) -lt 60000 ] || { echo "# left: $(ours | xargs)"; return 1; }
    sleep 0.02
  done
  now=$(date +%s%3N)
  [ $((now - start)) -le "$WORST" ] || WORST=$((now - start))
}

start() { # ARGS...: in the background, with INT as a terminal would have it
  (cd "$W" && exec env --default-signal=INT,HUP,TERM "$MARK" "$SQSIM" "$@" >"$W.out" 2>"$W.err" </dev/null) &
  PID=$!
}

fresh() { rm -rf "$W/home/build" "$W"/kill.db* "$W/out"; }

# What a run leaves: its file, or what it printed.
result() { if [ -e "$W/out" ]; then sha256sum <"$W/out"; else sha256sum <"$W.out"; fi; }

# After signal $1: the message of a sweep, nothing half-written, and, unless it was KILL, nothing at
# all beside what is complete.
left_well() {
  if [ "$1" != KILL ] && [ -n "$(partial)" ]; then
    echo "# left by $1: $(partial | xargs)"; return 1
  fi
  [ "$2" != quantize ] || [ ! -e "$W/out" ] || [ "$(result)" = "$WANT" ] || return 1
  [ "$2" != sweep ] || [ "$1" = KILL ] && return
  [ ! -s "$W.err" ] && return # before anything
  grep -Eqx 'sqsim sweep: ([0-9]+ of 4 points kept|stopped before the first point); run again to resume' "$W.err"
}

# One kill of $1 by signal $2 after $3 ms; 2: it had finished by then.
kill_once() {
  local name=$1 signal=$2 code number kept
  local -n command=$name
  start "${command[@]}"
  sleep "$(printf '%d.%03d' $(($3 / 1000)) $(($3 % 1000)))"
  kill -"$signal" $PID 2>/dev/null
  wait $PID 2>/dev/null
  code=$?
  number=$(kill -l "$signal")
  gone || return 1
  [ $code = 0 ] && return 2
  [ $code = $((128 + number)) ] || { echo "# exit $code after $signal"; cat "$W.err"; return 1; }
  left_well "$signal" "$name" || { echo "# after $signal at $3 ms"; sed 's/^/# /' "$W.err"; return 1; }
  kept=$(sed -n 's/.*: \([0-9]*\) of 4 points kept.*/\1/p' "$W.err")
  sq "${command[@]}"
  [ "$RC" = 0 ] && [ ! -s "$W.err" ] && [ "$(result)" = "$WANT" ] && [ -z "$(partial)" ] || {
    echo "# after $signal at $3 ms: exit $RC, left: $(partial | xargs)"; sed 's/^/# /' "$W.err"
    return 1
  }
  [ -z "$kept" ] || grep -q "$((4 - kept)) computed, $kept already" "$W.out" || {
    echo "# $kept points kept, then"; cat "$W.out"; return 1
  }
}

# Each begins with an empty cache; the run after it finds what it left.
kill_many() {
  local name=$1 signals=(KILL TERM INT) begin ms tries=0 done=0 failed=0
  local -n reference=$name
  fresh
  begin=$(date +%s%3N)
  sq "${reference[@]}"
  ms=$(($(date +%s%3N) - begin))
  ok "$name: undisturbed" [ "$RC" = 0 ]
  WANT=$(result) WORST=0
  while [ $done -lt "$KILLS" ] && [ $failed = 0 ] && [ $((tries++)) -lt $((40 * KILLS)) ]; do
    fresh
    kill_once "$name" "${signals[(done + DAY) % 3]}" $((RANDOM % (ms + 1)))
    case $? in 0) done=$((done + 1)) ;; 1) failed=1 ;; esac
  done
  ok "$name: killed $done times in $tries runs, all gone after at most $WORST ms, next run right" \
    [ $failed = 0 ] && [ $done = "$KILLS" ]
}

# Tools that never end, with a child of their own: none of them outlives the program.
stuck() { # VARIABLE TOOL COMMAND_NAME
  local signal failed=0
  local -n command=$3
  cat >"$W/stuck" <<EOS
#!/bin/sh
case "\$1" in -V | --version) exec $2 "\$1" ;; esac
sleep 1000 &
touch '$W/is-stuck'
sleep 1000
EOS
  chmod +x "$W/stuck"
  for signal in KILL TERM INT HUP; do
    fresh
    rm -f "$W/is-stuck"
    export "$1=$W/stuck" BWRAP=/nonexistent # a confined tool could not write is-stuck
    start "${command[@]}"
    unset "$1" BWRAP
    while [ ! -e "$W/is-stuck" ] && kill -0 $PID 2>/dev/null; do sleep 0.02; done
    kill -$signal $PID
    wait $PID 2>/dev/null
    [ $? = $((128 + $(kill -l $signal))) ] && gone && left_well $signal "$3" || failed=1
  done
  ok "$3: a $2 that hangs, gone with KILL, TERM, INT and HUP after at most $WORST ms" [ $failed = 0 ]
}

if command -v verilator >/dev/null; then
  WORST=0
  stuck VERILATOR verilator cosim
fi
if command -v yosys >/dev/null && [ -r $LIB ]; then
  WORST=0
  stuck YOSYS yosys area
  stuck YOSYS yosys sweep
fi
if command -v verilator >/dev/null; then kill_many cosim; else skip cosim "no verilator"; fi
if command -v yosys >/dev/null && [ -r $LIB ]; then
  kill_many area
  kill_many sweep
else
  skip "area and sweep" "no yosys, or no $LIB (package qflow-tech-osu018)"
fi
kill_many quantize

finish
