#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Co-simulation of what stands around the arrays: decoders and walkers of SpQR, SpQt and GQSA, the
# requantiser, the store of masked activations and the arrays with it. Exhausted: every mask of two
# segments of 8, every matrix of 3 rows of 4 groups. Sampled: the rest, malformed input and stalls
# on all sides. Then mutants, each of which must be found.
. "$(dirname "$0")/../cli/lib.sh"
SEED=${SQ_SEED:-1}

sq() { # builds take longer than the minute of lib.sh
  (cd "$W" && timeout 1800 "$SQSIM" "$@" >"$W.out" 2>"$W.err" </dev/null)
  RC=$?
}
clean() { # MIN_BEATS: no mismatch, exit 0, and at least that many transfers were compared
  [ "$RC" = 0 ] && [ "$(number value_mismatches)" = 0 ] && [ "$(number cycle_mismatches)" = 0 ] &&
    [ "$(number beats)" -ge "$1" ] && return
  echo "# exit $RC, beats $(number beats)"; head -3 "$W.err" | sed 's/^/# /'
  return 1
}
exhausted() { [ "$(grep -c '"exhausted":true' "$W.out")" -ge "$1" ]; }

# BLOCK CASES MIN_BEATS WHAT NETLIST_POINT
while read -r block cases beats point what; do
  sq cosim --block "$block" --point quick --cases "$cases" --seed "$SEED" --json
  ok "$block: $what" clean "$beats"
  case $block in
    spqt_idx) ok "every mask of two segments" exhausted 1 ;;
    gqsa_walk) ok "every matrix of 3 rows of 4 groups" exhausted 1 ;;
  esac
  sq cosim --netlist --block "$block" --point "$point" --cases 10 --seed "$SEED" --json
  ok "$block: netlist" clean 50
done <<'END'
spqr_dec 200 20000 w4 words to codes, scale, zero and second order
spqt_idx 150 200000 long threshold, prefix sum, packed indices
gqsa_walk 200 100000 all3x4 steps of a BSR matrix
requant 100 8000 narrow sums to codes
act_store 120 5000 d4 tiles given several times
array_s 40 3000 radix stored masks in front of an array
array_static 60 5000 b8 static mask, both parts compact
END

# Mutants: a copy of the sources with one edit, the program is the same.
mutate() { # NAME BLOCK POINT value|cycle|any FILE SED_SCRIPT
  mkdir -p "$W/$1/build" "$W/$1/sim"
  cp -r "$ROOT/rtl" "$W/$1/"
  cp -r "$ROOT/sim/bridge" "$ROOT/sim/sq_rtl.h" "$W/$1/sim/"
  sed -i "$6" "$W/$1/$5"
  ok "$1: the mutant differs" bash -c "! cmp -s '$ROOT/$5' '$W/$1/$5'"
  (cd "$W" && SQSIM_HOME=$W/$1 timeout 900 "$SQSIM" cosim --block "$2" --point "$3" --cases 30 \
    --json >"$W.out" 2>"$W.err" </dev/null)
  RC=$?
  ok "$1: found" fails "$4"
}
fails() { # KIND: exit 1 and a mismatch of that kind
  local value cycle
  value=$(number value_mismatches) cycle=$(number cycle_mismatches)
  case $1 in
    value) [ "$RC" = 1 ] && [ "$value" -ge 1 ] && return ;;
    cycle) [ "$RC" = 1 ] && [ "$cycle" -ge 1 ] && return ;;
    any) [ "$RC" = 1 ] && [ $((value + cycle)) -ge 1 ] && return ;;
  esac
  echo "# exit $RC"; tail -3 "$W.out" | sed 's/^/# /'; head -3 "$W.err" | sed 's/^/# /'
  return 1
}
mutate copy_not_compared spqr_dec w1 value rtl/sq_spqr_dec.sv \
  's/piece != second_q\[63:56\]/1'"'"'b0/'
mutate tile_one_beat_early spqr_dec w4 cycle rtl/sq_spqr_dec.sv \
  's/assign tile_in = in_fire && write_q == Last/assign tile_in = in_fire \&\& write_q == Last - 1/'
mutate threshold_excludes_equal spqt_idx all8 any rtl/sq_spqt_idx.sv \
  's/magnitude >= in_theta_i/magnitude > in_theta_i/'
mutate end_costs_a_cycle spqt_idx long cycle rtl/sq_spqt_idx.sv \
  's/out_ready_i && (ends || (/out_ready_i \&\& ((/'
mutate empty_row_swallows_a_group gqsa_walk all3x4 cycle rtl/sq_gqsa_walk.sv \
  's/assign group_ready_o = row_valid_q && !empty/assign group_ready_o = row_valid_q/'
mutate order_kept_across_rows gqsa_walk g16 value rtl/sq_gqsa_walk.sv \
  's/!empty && !first_q && group/!empty \&\& group/'
mutate half_rounds_up requant int8 value rtl/sq_requant.sv \
  's/(|dropped || moved\[1\])/(|dropped || 1'"'"'b1)/'
mutate one_pass_too_few act_store d4 any rtl/sq_act_store.sv \
  's/pass_q + PassW.(1) == passes/pass_q + PassW'"'"'(2) == passes/'
mutate weights_not_awaited array_s radix any rtl/sq_array_s.sv \
  's/in_valid_i(store_valid && weight_valid_i)/in_valid_i(store_valid)/'
mutate parts_swapped array_static b8 value rtl/sq_array_static.sv \
  's/{{HighPerBank{1.b1}}, {LowLen{1.b0}}}/{{LowLen{1'"'"'b0}}, {HighPerBank{1'"'"'b1}}}/'
finish
