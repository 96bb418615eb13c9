#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Faults that Yosys puts into the netlist of each block, and whether the co-simulation finds them.
#
#   mutants.sh SQSIM LIST SURVIVORS OUT_DIR [SEED] [JOBS]
#
# LIST      lines "block point mutants cases"; "tables": those that the blocks name
#           (`cosim --list --json`)
# SURVIVORS lines "block point pattern # reason": why a fault that was not found may stay. The
#           pattern is a regular expression over the line that Yosys lists the fault with. A reason
#           that no survivor needs is an error.
# A survivor is first given to ABC, which is to prove that no input, however long, shows the fault:
# from all registers at 0 on, every output is the same in every cycle. What that leaves open needs a
# reason.
# Writes OUT_DIR/mutants.jsonl and prints a table; exit 1 with an open survivor, or with less than
# 95 in a hundred found.
SQSIM=$1 LIST=$2 SURVIVORS=$3 OUT=$4 SEED=${5:-1} JOBS=${6:-1}
YOSYS=${YOSYS:-yosys} ABC=${ABC:-yosys-abc}
PROOF_SECONDS=300 # of processor time: what is proven does not depend on the load
FAILED=0 N_ALL=0 N_KILLED=0 N_PROVEN=0 N_REASON=0
mkdir -p "$OUT" || exit 2
: >"$OUT/mutants.jsonl" && : >"$OUT/survivors.txt" || exit 2

if [ "$LIST" = tables ]; then
  LIST=$OUT/list.txt
  "$SQSIM" cosim --block all --list --json | sed -n 's/^{"block":"\([^"]*\)".*"point":"\([^"]*\)".*"mutants":\([0-9]*\),"mutant_cases":\([0-9]*\).*/\1 \2 \3 \4/p' >"$LIST"
  [ -s "$LIST" ] || { echo "mutants: no list of points"; exit 2; }
fi

field() { sed -n "s/.*\"$2\": *\"\{0,1\}\([^\",}]*\).*/\1/p" <<<"$1"; }

# proven DIR NUMBER: netlist with and without fault NUMBER have the same outputs. Registers that
# agree are merged (scorr); for what is left ABC looks for an inductive invariant (pdr). Clocks are not
# part of the proof. The simulation starts registers without reset at random: there the proof covers
# less.
proven() {
  local change
  change=$(sed -n "$2p" "$1/mutants.txt" | sed 's/-ctrl mutsel [0-9]* [0-9]* //')
  [[ $change == *"-port CLK "* ]] && return 1
  "$YOSYS" -q >"$OUT/proof.log" 2>&1 -p "
    read_ilang $1/original.il
    rename -top gold
    design -stash gold
    read_ilang $1/original.il
    $change
    rename -top gate
    design -stash gate
    design -copy-from gold gold
    design -copy-from gate gate
    miter -equiv -flatten gold gate miter
    hierarchy -top miter
    memory
    async2sync
    setundef -init -zero
    dffunmap
    techmap
    opt -fast -nodffe -nosdff
    aigmap
    opt_clean
    write_aiger $OUT/proof.aig" || { tail -1 "$OUT/proof.log"; FAILED=1; return 1; }
  (ulimit -t $PROOF_SECONDS; exec "$ABC" -c "read $OUT/proof.aig; scorr; pdr; print_status" \
    >"$OUT/proof.log" 2>&1)
  [ $? != 127 ] || { echo "$ABC does not run"; FAILED=1; return 1; }
  grep -q '^Status = 1 ' "$OUT/proof.log"
}

# explained BLOCK POINT CHANGE: prints the reason given for a survivor.
explained() {
  local block point pattern line
  while IFS= read -r line; do
    [[ $line =~ ^[[:space:]]*(#|$) ]] && continue
    read -r block point pattern <<<"${line%% # *}"
    [ "$block" = "$1" ] && [ "$point" = "$2" ] || continue
    grep -Eq -- "$pattern" <<<"$3" && { echo "$line" >>"$OUT/used.txt"; echo "${line#* # }"; return 0; }
  done <"$SURVIVORS"
  return 1
}

: >"$OUT/used.txt"
printf '%-12s %-14s %7s %8s %7s %9s %6s\n' block point cells mutants killed survived s
while read -r block point count cases; do
  case $block in ''|'#'*) continue ;; esac
  begin=$SECONDS
  "$SQSIM" cosim --block "$block" --point "$point" --mutants "$count" --cases "$cases" \
    --seed "$SEED" --jobs "$JOBS" --json >"$OUT/one.jsonl" ||
    { echo "failed: $block $point"; FAILED=1; continue; }
  cat "$OUT/one.jsonl" >>"$OUT/mutants.jsonl"
  summary=$(tail -1 "$OUT/one.jsonl")
  killed=$(field "$summary" killed)
  printf '%-12s %-14s %7d %8d %7d %9d %6d\n' "$block" "$point" "$(field "$summary" cells)" \
    "$count" "$killed" $((count - killed)) $((SECONDS - begin))
  N_ALL=$((N_ALL + count)) N_KILLED=$((N_KILLED + killed))
done <"$LIST"
rm -f "$OUT/one.jsonl"

# The survivors, now that all have run.
while IFS= read -r line; do
  block=$(field "$line" block) point=$(field "$line" point)
  number=$(field "$line" mutant) change=$(field "$line" change)
  dir=$(grep "\"summary\":true,\"block\":\"$block\",\"point\":\"$point\"" "$OUT/mutants.jsonl" | tail -1)
  if proven "$(field "$dir" directory)" "$number"; then
    N_PROVEN=$((N_PROVEN + 1)); verdict="proven equal"
  elif reason=$(explained "$block" "$point" "$change"); then
    N_REASON=$((N_REASON + 1)); verdict="$reason"
  else
    FAILED=1; verdict=OPEN
  fi
  [[ $change == *' -src '* ]] && source=" at ${change##*-src }" || source=
  echo "$block $point $number: ${change%% -src*}$source: $verdict" |
    tee -a "$OUT/survivors.txt"
done < <(grep '"killed":false' "$OUT/mutants.jsonl")

while IFS= read -r line; do
  [[ $line =~ ^[[:space:]]*(#|$) ]] && continue
  grep -qxF -- "$line" "$OUT/used.txt" || { echo "unused reason: $line"; FAILED=1; }
done <"$SURVIVORS"
rm -f "$OUT/used.txt" "$OUT"/proof.*
[ "$N_ALL" -gt 0 ] && [ $((100 * N_KILLED)) -ge $((95 * N_ALL)) ] || FAILED=1
echo "$N_ALL mutants, $N_KILLED killed, $N_PROVEN proven equal, $N_REASON explained," \
  "$((N_ALL - N_KILLED - N_PROVEN - N_REASON)) open, seed $SEED"
printf '{"summary":true,"mutants":%d,"killed":%d,"proven_equal":%d,"explained":%d,"seed":%s}\n' \
  $N_ALL $N_KILLED $N_PROVEN $N_REASON "$SEED" >>"$OUT/mutants.jsonl"
exit $FAILED
