#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Faults that Yosys puts into the netlist of each block, and whether the co-simulation finds them.
#
#   mutants.sh SQSIM LIST SURVIVORS OUT_DIR [SEED[,SEED...]] [JOBS]
#
# LIST      lines "block point mutants cases", each for every seed; "tables": those that the blocks
#           name (`cosim --list --json`)
# SURVIVORS lines "block point seed pattern # reason": why a fault that was not found may stay. The
#           pattern is a regular expression over the line that Yosys lists the fault with. A reason
#           of one of these seeds that no survivor needs is an error.
# A survivor is first given to ABC, which is to prove that no input, however long, shows the fault:
# from the state after reset on, every output is the same in every cycle; or to find an input that
# shows it within SHOWN_FRAMES cycles. What has no proof within PROOF_SECONDS (300, of processor time:
# the load does not matter) needs a reason.
# First all faults are simulated, then what was not found goes to the prover, JOBS at a time.
# Writes OUT_DIR/mutants.jsonl and prints a table; exit 1 with an open survivor, or with less than
# 99 in a hundred found or proven equal. What ran to its end stays in OUT_DIR/done under a digest of
# the sources and is not run again; proofs stay under one of the netlist.
SQSIM=$1 LIST=$2 SURVIVORS=$3 OUT=$4 SEEDS=${5:-1} JOBS=${6:-1}
YOSYS=${YOSYS:-yosys} ABC=${ABC:-yosys-abc}
HERE=$(realpath "$(dirname "$0")") ROOT=$(realpath "$HERE/../..")
PROOF_SECONDS=${PROOF_SECONDS:-300} SHOWN_FRAMES=16 SHOWN_CONFLICTS=20000
FAILED=0 N_ALL=0 N_KILLED=0 N_PROVEN=0 N_REASON=0
mkdir -p "$OUT/done" || exit 2
: >"$OUT/mutants.jsonl" && : >"$OUT/survivors.txt" || exit 2
# Digest of what a result of a block depends on: of the tables of other blocks only that of core.
code_of() {
  cat "${SQSIM_HOME:-$ROOT}"/rtl/{*.sv,*.svh,*/*.sv} "$ROOT"/models/{,*/}*.[ch] "$ROOT"/sim/cosim/*.[ch] \
    $(ls "$ROOT"/sim/block/*/*.[ch] | grep -v '_block\.c$') \
    $(ls "$ROOT"/sim/block/*/sq_"$1".block 2>/dev/null; grep -lE "\"$1\"|/sq_$1\.block\.h\"" "$ROOT"/sim/block/*/*_block.c) "$ROOT"/sim/block/core/sq_core_block.c | sha256sum | cut -c1-16
}

if [ "$LIST" = tables ]; then
  LIST=$OUT/list.txt
  "$SQSIM" cosim --block all --list --json | sed -n 's/^{"block":"\([^"]*\)".*"point":"\([^"]*\)".*"mutants":\([0-9]*\),"mutant_cases":\([0-9]*\).*/\1 \2 \3 \4/p' >"$LIST"
  [ -s "$LIST" ] || { echo "mutants: no list of points"; exit 2; }
fi

field() { sed -n "s/.*\"$2\": *\"\{0,1\}\([^\",}]*\).*/\1/p" <<<"$1"; }

# abc FILE COMMANDS: ABC within the limit, what it says into FILE.log.
abc() {
  (ulimit -t $PROOF_SECONDS; "$ABC" -c "$2") >"$1.log" 2>&1
  [ $? != 127 ] || { echo "$ABC does not run" >&2; return 2; }
}
# netlist DIR OUT NUMBER...: OUT.aag, gates with those faults. Registers start as a reset leaves them,
# those without one at 0 (the simulation starts them at random: there a proof covers less); the clock is no part of it.
netlist() {
  local dir=$1 out=$2 number
  shift 2
  {
    echo "read_ilang $dir/original.il"
    for number; do sed -n "${number}p" "$dir/mutants.txt"; done
    cat <<EOF
memory
sim -q -clock clk_i -resetn rst_ni -n 0 -w
async2sync
setundef -init -zero
dffunmap
techmap
opt -fast -nodffe -nosdff
aigmap
opt_clean
write_aiger -zinit -ascii -map $out.map $out.aag
EOF
  } >"$out.ys"
  "$YOSYS" -q -s "$out.ys" >"$out.log" 2>&1 || { tail -1 "$out.log" >&2; return 2; }
}
effect() { # OUT FAULTS [OWN]: the circuit of effect.awk, into OUT.blif, of OWN into OUT.own.blif
  awk -v faults="$2" -v own="$3" -v map="$1.map" -f "$HERE/effect.awk" "$1.aag" >"$1${3:+.own}.blif"
}

# shown OUT NUMBER: the cycle in which an input shows the fault, if it is one of the first and the search
# is easy: then there is no proof to look for.
shown() {
  local own=$1.own
  effect "$1" "$2" own &&
    abc "$own" "read_blif $own.blif; strash; scleanup; bmc3 -F $SHOWN_FRAMES -C $SHOWN_CONFLICTS" || return 2
  sed -n 's/.*was asserted in frame \([0-9]*\)\..*/\1/p' "$own.log"
}

# unseen OUT NUMBER...: prints "NUMBER equal" of the faults that change no output and no next state,
# in every state that the netlist reaches without them, and "NUMBER open CYCLE" of those that an input
# shows. One circuit for all: what is equal or constant in the netlist is found once (scorr), and most
# faults fall to it; for the others ABC looks for such an input, then for an inductive invariant (pdr).
# If scorr does not end for all, each is tried alone.
unseen() {
  local out=$1 number line cycle latches outputs n=0
  shift
  rm -f "$out.aig"
  effect "$out" "$*" && abc "$out" "read_blif $out.blif; strash; scleanup; scorr; write_aiger $out.aig" || return 2
  if [ ! -s "$out.aig" ]; then
    [ $# = 1 ] || for number; do unseen "$out" "$number"; done
    return
  fi
  read -r _ _ _ latches outputs _ < <(head -1 "$out.aig")
  for line in $(head -n $((1 + latches + outputs)) "$out.aig" | tail -n "$outputs"); do
    if [ "$line" = 0 ]; then echo "$1 equal"
    elif cycle=$(shown "$out" "$1") && [ -n "$cycle" ]; then echo "$1 open $cycle"
    elif [ "$line" != 1 ]; then
      abc "$out" "read_aiger $out.aig; cone -s -O $n; scleanup; pdr; print_status" || return 2
      grep -q '^Status = 1 ' "$out.log" && echo "$1 equal"
    fi
    shift
    n=$((n + 1))
  done
}

# proven OUT NUMBER: whether the netlist has the same outputs with the fault and without, while
# its registers may differ. 0 proven, 1 not, 2 a tool failed.
proven() {
  effect "$1" "$2" own &&
    abc "$1.own" "read_blif $1.own.blif; strash; scleanup; scorr; pdr; print_status" || return 2
  grep -q '^Status = 1 ' "$1.own.log"
}

# explained BLOCK POINT SEED CHANGE: prints the reason given for a survivor.
explained() {
  local block point seed pattern line
  while IFS= read -r line; do
    [[ $line =~ ^[[:space:]]*(#|$) ]] && continue
    read -r block point seed pattern <<<"${line%% # *}"
    [ "$block $point $seed" = "$1 $2 $3" ] || continue
    grep -Eq -- "$pattern" <<<"$4" && { echo "$line" >>"$OUT/used.txt"; echo "${line#* # }"; return 0; }
  done <"$SURVIVORS"
  return 1
}

# proofs_of RESULT: the file of what the prover said of its faults. It belongs to the netlist and to
# the faults in it, whatever was simulated.
proofs_of() {
  local dir
  if [ ! -s "$1.netlist" ]; then
    dir=$(field "$(tail -1 "$1")" directory)
    [ -s "$dir/original.il" ] || return 1
    cat "$dir/original.il" "$dir/mutants.txt" | sha256sum | cut -c1-32 >"$1.netlist"
  fi
  echo "$OUT/done/$(cat "$1.netlist").said"
}

# judge RESULT NUMBER...: asks the prover about survivors and keeps what it says.
judge() {
  local result=$1 said dir file number settled numbers=()
  said=$(proofs_of "$1") || return
  dir=$(field "$(tail -1 "$result")" directory)
  file=$(mktemp "$OUT/proof.XXXXXX")
  shift
  for number; do # of a clock nothing is proven
    if sed -n "${number}p" "$dir/mutants.txt" | grep -q -- '-port CLK '; then echo "$number open" >>"$said"
    else numbers+=("$number"); fi
  done
  if [ ${#numbers[@]} -gt 0 ] && netlist "$dir" "$file" "${numbers[@]}"; then
    settled=$(unseen "$file" "${numbers[@]}")
    for number in "${numbers[@]}"; do
      if grep "^$number " <<<"$settled" >>"$said"; then continue; fi
      if proven "$file" "$number"; then echo "$number equal" >>"$said"
      elif [ $? = 1 ]; then echo "$number open" >>"$said"; fi
    done
  fi
  rm -f "$file" "$file".*
}
# survivors RESULT: their numbers.
survivors() { sed -n 's/.*"mutant": *\([0-9]*\).*"killed": *false.*/\1/p' "$1"; }

# verdict RESULT NUMBER CHANGE BLOCK POINT SEED: of a survivor.
verdict() {
  local said
  said=$(grep "^$2 " "$(proofs_of "$1")" 2>/dev/null | tail -1)
  if [ "$said" = "$2 equal" ]; then echo "proven equal"
  else explained "$4" "$5" "$6" "$3" || echo "OPEN${said#"$2 open"}" | sed 's/OPEN \(.*\)/OPEN: an input shows it in cycle \1/'; fi
}

: >"$OUT/used.txt"
result_of() { echo "$OUT/done/$1-$2-$3-$4-$5-$(code_of "$1")"; } # BLOCK POINT COUNT CASES SEED
for seed in ${SEEDS//,/ }; do
  while read -r block point count cases; do
    case $block in ''|'#'*) continue ;; esac
    result=$(result_of "$block" "$point" "$count" "$cases" "$seed")
    [ -s "$result" ] && continue
    begin=$SECONDS
    "$SQSIM" cosim --block "$block" --point "$point" --mutants "$count" --cases "$cases" \
      --seed "$seed" --jobs "$JOBS" --json >"$result.new" ||
      { echo "failed: $block $point"; FAILED=1; continue; }
    mv "$result.new" "$result"
    echo "simulated: $block $point, seed $seed: $(field "$(tail -1 "$result")" killed) of $count found, $((SECONDS - begin)) s" >&2
  done <"$LIST"
done

export OUT HERE YOSYS ABC PROOF_SECONDS SHOWN_FRAMES SHOWN_CONFLICTS
export -f abc netlist effect shown unseen proven proofs_of judge field
for seed in ${SEEDS//,/ }; do
  while read -r block point count cases; do
    case $block in ''|'#'*) continue ;; esac
    result=$(result_of "$block" "$point" "$count" "$cases" "$seed")
    [ -s "$result" ] || continue
    echo "$result" $(for number in $(survivors "$result"); do
      grep -q "^$number " "$(proofs_of "$result")" 2>/dev/null || echo "$number"
    done)
  done <"$LIST"
done | grep ' ' >"$OUT/to_prove.txt"
xargs -r -P "$JOBS" -L 1 bash -c 'judge "$@"' judge <"$OUT/to_prove.txt"

printf '%-13s %-12s %4s %6s %8s %6s %6s %6s\n' block point seed cells mutants found equal other
for seed in ${SEEDS//,/ }; do
  while read -r block point count cases; do
    case $block in ''|'#'*) continue ;; esac
    result=$(result_of "$block" "$point" "$count" "$cases" "$seed")
    [ -s "$result" ] || continue
    killed=$(field "$(tail -1 "$result")" killed) equal=0
    while IFS= read -r line; do
      number=$(field "$line" mutant) change=$(field "$line" change)
      why=$(verdict "$result" "$number" "$change" "$block" "$point" "$seed")
      case $why in
        'proven equal') equal=$((equal + 1)) ;;
        OPEN*) FAILED=1 ;;
        *) N_REASON=$((N_REASON + 1)) ;;
      esac
      [[ $change == *' -src '* ]] && source=" at ${change##*-src }" || source=
      echo "$block $point $seed-$number: ${change%% -src*}$source: $why" >>"$OUT/survivors.txt"
    done < <(grep '"killed":false' "$result")
    sed '$s/^{/{"proven_equal":'$equal',/' "$result" >>"$OUT/mutants.jsonl"
    printf '%-13s %-12s %4s %6d %8d %6d %6d %6d\n' "$block" "$point" "$seed" \
      "$(field "$(tail -1 "$result")" cells)" "$count" "$killed" $equal \
      $((count - killed - equal))
    N_ALL=$((N_ALL + count)) N_KILLED=$((N_KILLED + killed)) N_PROVEN=$((N_PROVEN + equal))
  done <"$LIST"
done
cat "$OUT/survivors.txt"

while IFS= read -r line; do
  [[ $line =~ ^[[:space:]]*(#|$) ]] && continue
  read -r _ _ seed _ <<<"$line"
  [[ ,$SEEDS, == *,$seed,* ]] || continue
  grep -qxF -- "$line" "$OUT/used.txt" || { echo "unused reason: $line"; FAILED=1; }
done <"$SURVIVORS"
rm -f "$OUT/used.txt" "$OUT/to_prove.txt"
[ "$N_ALL" -gt 0 ] && [ $((100 * (N_KILLED + N_PROVEN))) -ge $((99 * N_ALL)) ] || FAILED=1
echo "$N_ALL mutants, $N_KILLED killed, $N_PROVEN proven equal, $N_REASON explained," \
  "$((N_ALL - N_KILLED - N_PROVEN - N_REASON)) open, seed $SEEDS"
printf '{"summary":true,"mutants":%d,"killed":%d,"proven_equal":%d,"explained":%d,"seeds":"%s"}\n' \
  $N_ALL $N_KILLED $N_PROVEN $N_REASON "$SEEDS" >>"$OUT/mutants.jsonl"
exit $FAILED
