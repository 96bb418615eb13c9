#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The co-simulation must fail when RTL, cycle model or golden model change by one cycle or one bit.
# Each mutant is a copy of the sources with one edit; the program must print the divergence, exit 1
# and leave a waveform.
. "$(dirname "$0")/../cli/lib.sh"

copy() { # NAME FILE SED_SCRIPT: a copy of the sources with one file edited
  mkdir -p "$W/$1/build"
  cp -a "$ROOT/rtl" "$ROOT/sim" "$ROOT/models" "$ROOT/lib" "$ROOT/tests" "$ROOT/Makefile" "$W/$1/"
  mkdir "$W/$1/traces"
  edit "$@"
}
edit() { # NAME FILE SED_SCRIPT
  sed -i "$3" "$W/$1/$2"
  ! cmp -s "$ROOT/$2" "$W/$1/$2"
}
fails() { # PATTERN: exit 1 and a MISMATCH line with it
  [ "$RC" = 1 ] && grep -q "MISMATCH.*$1" "$W.out" && return
  echo "# exit $RC"; tail -3 "$W.out" | sed 's/^/# /'; head -3 "$W.err" | sed 's/^/# /'
  return 1
}
run() { # NAME PROGRAM BLOCK [POINT]
  (cd "$W" && SQSIM_HOME=$W/$1 timeout $HANG "$2" cosim --block "$3" --point "${4:-p03}" --cases 40 \
    --output "$W/waves-$1" >"$W.out" 2>"$W.err" </dev/null)
  RC=$?
}
# But for the first, with NOW=1, `make test` asks only whether the edits find their lines.
now() { [ -n "$NOW" ] || daily "$1"; }
mutate_rtl() { # NAME BLOCK PATTERN FILE SED_SCRIPT
  ok "$1: the mutant differs" copy "$1" "$4" "$5"
  now "$1" || return
  run "$1" "$SQSIM" "$2"
  ok "$1: found" fails "$3"
}
# mutate_c: as mutate_rtl, with the program built from the copy: of what is built, the file that was edited.
built() { # NAME
  cp -a "$(dirname "$SQSIM")/obj" "$(dirname "$SQSIM")"/*.[ach] "$W/$1/build/"
  make -s -C "$W/$1" build/sqsim
}
mutate_c() {
  ok "$1: the mutant differs" copy "$1" "$4" "$5"
  now "$1" || return
  ok "$1: builds" built "$1"
  run "$1" "$W/$1/build/sqsim" "$2"
  ok "$1: found" fails "$3"
}
# In the RTL of the chip, and in its model alike: what stands around it must complain.
mutate_both() { # NAME POINT PATTERN RTL_FILE SED_SCRIPT C_FILE SED_SCRIPT
  ok "$1: the mutant differs" copy "$1" "$6" "$7"
  ok "$1: ... in the RTL" edit "$1" "$4" "$5"
  now "$1" || return
  ok "$1: builds" built "$1"
  run "$1" "$W/$1/build/sqsim" top "$2"
  ok "$1: found" fails "$3"
}

NOW=1 mutate_rtl rtl_one_cycle core "ready_o\|valid_o" rtl/core/sq_core_ctl.sv \
  's/ && !(high_fire_o && high_bank_last);/;/'
dir=$(dirname "$(find "$W/waves-rtl_one_cycle" -name wave.fst | head -1)")
ok "a waveform and its save file are left" [ -s "$dir/wave.fst" -a -s "$dir/wave.gtkw" ]
ok "the case was shrunk to one job" out_has "shrunk to 1 job"
mutate_rtl rtl_one_bit core "p_lo\|p_hi" rtl/number/sq_mul.sv 's/carry = major << 1;/carry = (major << 1) ^ PW'"'"'(a_i[0]);/'
daily "operands are printed in hex" && ok "operands are printed in hex" out_has "^    act  *[0-9a-f][0-9a-f] "
mutate_rtl rtl_counter core "filling\|wait_mask" rtl/core/sq_core_ctl.sv \
  's/started_q ? sq_pkg::CAUSE_WAIT_MASK : sq_pkg::CAUSE_FILLING/started_q ? sq_pkg::CAUSE_FILLING : sq_pkg::CAUSE_WAIT_MASK/'
mutate_rtl rtl_gather_cycle gather "valid_o\|ready_o" rtl/core/sq_gather.sv 's/advance = !valid_q3 || out_ready_i/advance = out_ready_i/'
mutate_rtl rtl_gather_tie gather "act\|clean\|error" rtl/core/sq_gather_rank.sv \
  's/count < CountW.(HighPerBank)/count < CountW'"'"'(HighPerBank - 1)/'
mutate_c model_one_cycle core "ready_o\|valid_o" sim/block/core/sq_core_sim.c 's/d->ls_valid = s->l2_valid;/d->ls_valid = s->l1_valid;/'
mutate_c golden_mask_is_minus_8 core "p_lo" models/core/sq_gather.c \
  's/lo_clean\[i\] = is_high ? 0 : lo_codes\[i\];/lo_clean[i] = lo_codes[i];/'
mutate_both status_of_two_operands w8a8 "host.status_of_region" rtl/top/sq_top.sv \
  's/operand_error = |wrong ||/operand_error = |wrong[1:0] ||/' \
  sim/block/top/sq_top_sim.c 's/in->operand |= s->operand/in->operand |= i < 2 \&\& s->operand/'
mutate_both clear_wins_over_the_end w8a8 "host.no_end\|progress" rtl/top/sq_top_regs.sv \
  "s/if (notice_i) irq_state_q/if (notice_i \&\& !(write \&\& write_ok \&\& aw_word == sq_regs_pkg::REG_IRQ_STATE \&\& w_data_q[0])) irq_state_q/" \
  sim/block/top/sq_top_regs_sim.c 's/if (in->notice)/if (in->notice \&\& !(writes_to(s, SQ_REG_IRQ_STATE) \&\& s->w_data \& 1))/'
finish
