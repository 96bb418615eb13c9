# SPDX-License-Identifier: Apache-2.0
# For the tests of co-simulated blocks, on top of tests/cli/lib.sh: results
# are the JSON lines of `sqsim cosim`, and a mutant is a copy of the sources with one edit.
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
SEED=${SQ_SEED:-1}
# One in so many of the faults put in by hand is tried; the day says which; `make mutation` tries all (1), `make test`
# none. It runs the campaigns that find them all the same.
FAULTS=${SQ_FAULTS:-12} FAULT=0
tried() { # NAME: whether the next fault is, else a skipped test says so
  FAULT=$((FAULT + 1))
  daily "$1" && { [ $(((FAULT + DAY) % FAULTS)) = 0 ] || { skip "$1" "make mutation tries every fault"; return 1; }; }
}

# points BLOCK: options for its quick points; in `make test` for its first one and those of the faults of any list.
points() {
  [ "$SQ_TIER" = test ] || { echo "--point quick"; return; }
  { echo; sed -nE "s/^(FAULTS=1 )?mutate [^ ]+ $1 ([^ ]+) .*/\2/p" "$ROOT"/tests/rtl/*.t; } >"$W/named"
  "$SQSIM" cosim --block "$1" --list --json | sed -n 's/.*"point":"\([^"]*\)","quick":true.*/\1/p' |
    awk 'NR == FNR { named[$1]; next } FNR == 1 || $1 in named { print "--point", $1 }' "$W/named" -
  rm "$W/named"
}

# sq_of HOME ARG...: the program in $W, on the sources of that folder
sq_of() {
  (cd "$W" && SQSIM_HOME=$1 timeout $HANG "$SQSIM" "${@:2}" >"$W.out" 2>"$W.err" </dev/null)
  RC=$?
}

# campaign BLOCK CASES MIN_BEATS [SENTENCE]: at its quick points (points), no mismatch
campaign() {
  sq cosim --block "$1" $(points "$1") --cases "$2" --seed "$SEED" --json
  ok "${4:-$1 at its quick points}" clean "$3"
}

netlist() { # BLOCK POINT CASES MIN_BEATS: gates of Yosys in the place of the RTL
  daily "netlist of $1" || return 0
  sq cosim --netlist --block "$1" --point "$2" --cases "$3" --seed "$SEED" --json
  ok "netlist of $1" clean "$4"
}

clean() { # MIN_BEATS: no mismatch, exit 0, at least that many transfers were compared, and half of the cases gave outputs
  [ "$RC" = 0 ] && [ "$(number value_mismatches)" = 0 ] && [ "$(number cycle_mismatches)" = 0 ] &&
    [ "$(number beats)" -ge "$1" ] && [ $((2 * $(number active))) -ge "$(number cases)" ] && return
  echo "# exit $RC, beats $(number beats), $(number active) of $(number cases) cases with outputs"; head -3 "$W.err" | sed 's/^/# /'
  return 1
}

# edited NAME FILE SED_SCRIPT: the file as $W/NAME.edited. Each s/// of the script must change what those
# before it left: one whose line has gone would leave a smaller fault than its name says, or none.
edited() {
  local to=$W/$1.edited command
  cp "$ROOT/$2" "$to" || return 1
  while IFS= read -r -d '' command; do
    cp "$to" "$to.before"
    sed -i "$command" "$to"
    cmp -s "$to.before" "$to" && { echo "# $2 has nothing for $command"; return 1; }
  done < <(printf '%s\0' "${3//; s\//$'\a's/}" | tr '\a' '\0')
  return 0
}

sources() { # DIR: what a co-simulation builds from
  mkdir -p "$1/build/rtl" "$1/sim/cosim"
  cp -r "$ROOT"/build/rtl/headers-* "$1/build/rtl/" 2>/dev/null
  cp -r "$ROOT/rtl" "$1/"
  cp "$ROOT"/sim/cosim/sq_{bridge,rtl}.h "$1/sim/cosim/"
}

# mutant NAME FILE SED_SCRIPT: sources with one edit in $W/NAME, if the fault is one of those tried. Whether the
# edit finds its lines is asked of every fault.
mutant() {
  ok "$1: the mutant differs" edited "$@"
  tried "$1" || return
  sources "$W/$1"
  mv "$W/$1.edited" "$W/$1/$2"
}

mutate() { # NAME BLOCK POINT value|cycle|any FILE SED_SCRIPT: the program is the same
  mutant "$1" "$5" "$6" || return
  sq_of "$W/$1" cosim --block "$2" --point "$3" --cases 30 --json
  ok "$1: found" fails "$4"
}

# What became of a fault that is not found as it should be: a source that does not build is no survivor.
outcome() {
  case $RC$(head -c 1 "$W.out") in
    0*) echo "# survives: no difference" ;;
    1?) echo "# found, but not so: $(grep -m1 MISMATCH "$W.out" || tail -1 "$W.out")" ;;
    *) echo "# did not build or run, exit $RC: $(head -1 "$W.err")" ;;
  esac
  return 1
}
fails() { # KIND: exit 1 and a mismatch of that kind
  local value cycle
  value=$(number value_mismatches) cycle=$(number cycle_mismatches)
  case $1 in
    value) [ "$RC" = 1 ] && [ "$value" -ge 1 ] && return ;;
    cycle) [ "$RC" = 1 ] && [ "$cycle" -ge 1 ] && return ;;
    any) [ "$RC" = 1 ] && [ $((value + cycle)) -ge 1 ] && return ;;
  esac
  outcome
}
