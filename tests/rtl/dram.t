#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Faults put into the DRAM by hand, among them those that other simulators had: each must be found by the test that is
# named with it (tests/unit/dram/test_dram.c).
. "$(dirname "$0")/lib.sh"
BUILD=$(dirname "$SQSIM")
LIBS="$BUILD/libsqsim.a $BUILD/libsqmodels.a -lcyaml -lyaml -ljansson -lxxhash -lm -lz -lpthread -lcmocka"
cc_with() { # FOLDER ARGS...: headers of the folder before those of the sources
  local at=$1; shift
  ${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -fopenmp $(san && echo -fsanitize=address,undefined) -I"$at" -I"$ROOT" "$@"
}
test_object() { cc_with "$W/$1" -DSQ_PARTS='"/dev/null"' -c "$ROOT/tests/unit/dram/test_dram.c" -o "$W/$1/test.o"; }
linked() { # NAME OBJECT...: the library has what the objects have not
  local name=$1; shift
  cc_with "$W/$name" "$@" $LIBS -o "$W/$name/test"
}
passes() { (cd "$W" && "$W/none/test" "$@" >"$W.out" 2>&1); }
mkdir "$W/none"
ok "the test is built" test_object none
ok "... and linked" linked none "$W/none/test.o"
ok "without a fault it passes" passes

found() { # NAME TEST
  (cd "$W" && timeout $HANG "$W/$1/test" "$2" >"$W.out" 2>&1) && { tail -2 "$W.out" | sed 's/^/# /'; return 1; }
  grep -q '^not ok' "$W.out"
}
made() { # NAME: of the sources that were edited; of all where one is a header
  local objects=() f test=$W/none/test.o
  if ls "$W/$1"/sim/dram/*.h >"$W.out" 2>&1; then
    cp -n "$ROOT"/sim/dram/*.c "$W/$1/sim/dram/"
    test_object "$1" && test=$W/$1/test.o
  fi
  for f in "$W/$1"/sim/dram/*.c; do
    cc_with "$W/$1" -c "$f" -o "$f.o" || return 1
    objects+=("$f.o")
  done
  linked "$1" "$test" "${objects[@]}"
}
plant() { # NAME TEST FILE SED_SCRIPT [FILE SED_SCRIPT]
  local name=$1 test=$2
  shift 2
  mkdir -p "$W/$name/sim/dram"
  while [ $# -gt 0 ]; do
    ok "$name: the fault differs" edited "$name" "sim/dram/$1" "$2"
    mv "$W/$name.edited" "$W/$name/sim/dram/$1"
    shift 2
  done
  tried "$name" || return
  ok "$name: builds" made "$name"
  ok "$name: found" found "$name" "$test"
  rm -rf "${W:?}/$name"
}
plant edge_a_clock_early 'every_pair*' sq_dram_rules.c 's/put(r, bank, ACT, READ, T(RCDRD));/put(r, bank, ACT, READ, T(RCDRD) - 1);/'
plant equal_to_the_boundary_refused 'every_pair*' sq_dram_rules.c 's/gap\[i\] > at\[i\])/gap[i] + 1 > at[i])/; s/at\[i\] = now + (uint64_t)gap\[i\];/at[i] = now + (uint64_t)gap[i] + 1;/'
plant write_latency_twice 'every_pair*' sq_dram_rules.c 's/put(r, rank, WRITE, READ, written + T(WTRS));/put(r, rank, WRITE, READ, written + T(CWL) + T(WTRS));/'
plant turn_forgotten 'every_pair*' sq_dram_rules.c 's/put(r, rank, READ, WRITE, T(RTW));//'
plant recovery_forgotten 'every_pair*' sq_dram_rules.c 's/put(r, bank, WR, PRE, written + T(WR));/put(r, bank, WR, PRE, written);/'
plant group_forgotten 'every_pair*' sq_dram_rules.c 's/put(r, group, READ, READ, T(CCDL));//'
plant ranks_forgotten 'pairs_of_two*' sq_dram_rules.c 's/put_others(r, d, burst);/(void)put_others;/'
plant window_of_five 'the_fifth*' sq_dram_rules.h 's/window\[SQ_DRAM_RANKS_MAX\]\[4\];/window[SQ_DRAM_RANKS_MAX][5];/' \
  sq_dram_rules.c 's/(t->oldest\[rank\] + 1) % 4/(t->oldest[rank] + 1) % 5/'
plant window_begins_early 'the_fifth*' sq_dram_rules.c 's/now + r->length\[command\] + (uint64_t)r->window/now + (uint64_t)r->window/'
plant refresh_lost 'traces*' sq_dram.c 's/rank\[rank\].due += sq_dram_interval(s);/rank[rank].due += 2 * sq_dram_interval(s);/'
plant refresh_after_its_own_time 'traces_of_random*' sq_dram.c 's/SQ_DRAM_T_REFIpb : SQ_DRAM_T_REFI\]/SQ_DRAM_T_REFIpb : SQ_DRAM_T_RFC]/'
plant refresh_of_open_banks 'traces*' sq_dram.c 's/n_open ? SQ_DRAM_PREA : SQ_DRAM_REFA/n_open > 99 ? SQ_DRAM_PREA : SQ_DRAM_REFA/'
plant two_addresses_at_one_place 'every_map*' sq_dram_map.c 's/p.at\[SQ_DRAM_BANK\] ^= row/p.at[SQ_DRAM_BANK] |= row/'
plant columns_deducted_twice 'every_map*' sq_dram_map.c 's|log2_of(d->columns / d->burst)|log2_of(d->columns / d->burst / d->burst)|'
plant last_beat_early 'unloaded*' sq_dram_rules.c 's/d->t\[SQ_DRAM_T_DQSCK\] + (uint32_t)burst;/d->t[SQ_DRAM_T_DQSCK] + (uint32_t)burst - 1;/'
plant age_ignored 'no_burst*' sq_dram.c 's/\*old = w->number < \*old ? w->number : \*old;/(void)old;/'
finish
