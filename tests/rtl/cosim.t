#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Co-simulation on the unchanged sources: quick points of both blocks, the netlist, whole layers of
# real models; every option of `sqsim cosim`. SQ_SEED sets the seed.
. "$(dirname "$0")/lib.sh"

sq cosim $(points core) --cases 180 --seed "$SEED" --json
ok "quick points, core" clean 100000
daily "six points ran" && ok "six points ran" [ "$(number points)" -ge 6 ]
ok "all cases ran" [ "$(number cases)" = 180 ]
ok "the seed is reported" [ "$(number seed)" = "$SEED" ]
cp "$W.out" "$W/first"
sq cosim --point p01 --point p03 --cases 60 --seed "$SEED" --jobs 2 --json
cp "$W.out" "$W/two"
sq cosim --point p01 --point p03 --cases 60 --seed "$SEED" --jobs 1 --json
ok "the result does not depend on --jobs" cmp -s "$W.out" "$W/two"
sq cosim --point p01 --cases 6 --seed 99 --json
beats=$(number beats)
sq cosim --point p01 --cases 6 --seed 100 --json
ok "--seed changes the cases" [ "$beats" != "$(number beats)" ]

sq cosim --point p01 --case 7 --seed 5 --json
ok "--case runs one case" [ "$(number cases)" = 1 -a "$(number beats)" -gt 0 ]
cycles=$(number cycles)
sq cosim --point p01 --case 7 --cases 2 --seed 5 --json
ok "--case with --cases: from it on" [ "$(number cases)" = 2 -a "$(number cycles)" -gt "$cycles" ]
sq cosim --point p01 --point p03 --case 7 --seed 5 --json
ok "cases of two points differ" bash -c '[ "$(sed -n "s/.*\"cycles\":\([0-9]*\).*/\1/p" "$1" | head -2 | sort -u | wc -l)" = 2 ]' - "$W.out"
awk -f "$ROOT/tests/rtl/coverage/reach.awk" "$W/first" >"$W/reach"
ok "every sum of the quick points reaches its end" [ $? = 0 ]
ok "both sums of the core" [ "$(grep -c '^core p_' "$W/reach")" = 2 ]
rm "$W/reach"

sq cosim --block gather --point p03 --point p11 --cases 60 --seed "$SEED" --json
ok "gather, crossbar" clean 5000
sq cosim --block gather --point p15 --cases 30 --seed "$SEED" --json
ok "gather, log" clean 2000
netlist core p01 20 10000
netlist gather p07 20 1000

sq cosim --bank 8 --sparsity 0.5 --low-bits 2 --act-bits 4 --rows 1 --cols 1 --low-lanes 3 \
  --high-lanes 2 --gather log --cases 20 --json
ok "a point of one's own" clean 5000
ok "it is the one that was asked for" grep -q '"rows":1,"cols":1,"low_lanes":3,"high_lanes":2,"act_bits":4,"gather":"log","bank":8' "$W.out"

# One of each shape in one half of the model with its own tokens, in the other with others.
ONE='*.0.*[qken]_proj' OTHER='*.1.*[qken]_proj' PARTS=4
daily "each half with all tokens" && ONE='*' OTHER='*' PARTS=1
sq cosim --layers --layer "$ONE" --json
ok "layers of the embedded model" clean $((200000 / PARTS))
ok "all of them" [ "$(number layers)" = $([ "$ONE" = '*' ] && echo 14 || echo 4) ]
sq cosim "$ROOT/traces/tiny-llama" --layer "$OTHER" --m 3 --tokens "$ROOT/traces/tiny-llama/tokens_eval.safetensors" --json
ok "other tokens, M not a multiple of the rows" clean $((100000 / PARTS))
real=$DATA/models/stories260K
if [ -d "$real" ]; then
  ONE='*.0.mlp.down_proj' LEAST=2000
  daily "each layer of stories260K" && ONE='*' LEAST=30000
  sq cosim "$real" --m 2 --bank 4 --sparsity 0.5 --group 32 --layer "$ONE" --json
  ok "stories260K, K = 172 padded" clean $LEAST
else
  skip "stories260K, K = 172 padded" "SQ_DATA has no models/stories260K"
fi

sq cosim --list
ok "--list shows at least 16 points" [ "$(grep -c '^p[0-9]' "$W.out")" -ge 16 ]
refuse "--cases = 0, need 1\.\." cosim --cases 0
refuse "--cases = -1" cosim --cases -1
refuse "--cases = ten" cosim --cases ten
refuse "cases = 5 on 1 points, need at least 6: the first 5 of a point of core are directed" cosim --point p01 --cases 5
refuse "cases = 3000 on" cosim --block all --cases 3000
refuse "--case = -1" cosim --case -1
refuse "not of --layers" cosim --case 3 --layers
refuse "--seed = x" cosim --seed x
refuse "--jobs = 65" cosim --jobs 65
refuse "did you mean quick" cosim --point quik
refuse "did you mean gather" cosim --block gathr
refuse "--m = 0" cosim --layers --m 0
refuse "--rows = 0" cosim --rows 0
refuse "--high-lanes = 8" cosim --bank 4 --sparsity 0.5 --high-lanes 8
refuse "another" cosim --point p01 --bank 8
refuse "cannot" cosim /nonexistent
refuse "need 1\.\." cosim --layers --m 1000000
SQSIM_HOME_SAVED=$SQSIM_HOME
sq_env() { (cd "$W" && env "$1" timeout $HANG "$SQSIM" cosim --point p01 --cases 6 >"$W.out" 2>"$W.err"); RC=$?; }
sq_env VERILATOR=/nonexistent/verilator
ok "without Verilator: exit 3 and the package name" bash -c "[ $RC = 3 ] && grep -q 'package verilator' '$W.err'"
finish
