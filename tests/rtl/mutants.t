#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A sample of `make mutants`: faults in the netlists of three small blocks, found by the
# co-simulation or proven equal; and that the tools which judge can say no: a stale reason is an error.
. "$(dirname "$0")/../cli/lib.sh"
SEED=1 # of the faults; the survivors below are known

refuse "--mutants = 0, need 1" cosim --block topk --point b8 --mutants 0
refuse "--mutants = 3 with 0 of --point, need one" cosim --block topk --mutants 3
refuse "need one block" cosim --block all --mutants 3 --point quick
refuse "need quick or all" cosim --block all --point b8
refuse "need one block" cosim --block all --list
refuse "not --waves" cosim --mutants 2 --point p01 --waves w
daily "faults in netlists" || finish

cat >"$W/list" <<'X'
topk   all4x2r 8 40
meta24 g1      6 40
gather p03     6 40
X
: >"$W/none"
"$ROOT/tests/rtl/mutants.sh" "$SQSIM" "$W/list" "$W/none" "$W/mutants" $SEED 1 >"$W.out" 2>&1; RC=$?
sed 's/^/# /' "$W.out"
open=$(sed -n 's/.* \([0-9]*\) open, seed.*/\1/p' "$W.out")
ok "20 faults, none open" [ "$open" = 0 ]
ok "20 faults ran" [ "$(grep -c '"mutant":' "$W/mutants/mutants.jsonl")" = 20 ]
echo "topk all4x2r $SEED . # stale" >"$W/stale"
head -1 "$W/list" | sed 's/ 8 / 2 /' >"$W/one"
"$ROOT/tests/rtl/mutants.sh" "$SQSIM" "$W/one" "$W/stale" "$W/mutants" $SEED 1 >"$W.out" 2>&1; RC=$?
ok "a reason without a survivor is an error" [ "$RC" = 1 ]
ok "it is named" out_has "unused reason: topk all4x2r"

# Faults that one case leaves and two cases find: the proof must not call them equal.
echo "topk b8 12 1" >"$W/one"
"$ROOT/tests/rtl/mutants.sh" "$SQSIM" "$W/one" "$W/none" "$W/mutants" 4 1 >"$W.out" 2>&1; RC=$?
open=$(sed -n 's/.* \([0-9]*\) open, seed.*/\1/p' "$W.out")
ok "one case leaves faults open" [ "$RC" = 1 -a "$open" -ge 1 ]
ok "an input shows each" [ "$(grep -c 'OPEN: an input shows it in cycle [0-9]' "$W.out")" = "$open" ]
(cd "$W" && "$SQSIM" cosim --block topk --point b8 --mutants 12 --cases 20 --seed 4 --json \
  >"$W.out" 2>"$W.err"); RC=$?
ok "more cases find them all" [ "$RC" = 0 -a "$(number killed)" = 12 ]
finish
