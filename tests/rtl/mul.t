#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The multiplier, exhausted: the RTL and the netlist that Yosys makes of it.
. "$(dirname "$0")/../cli/lib.sh"

build_and_run() { # NAME SOURCES...: a verilated tb_sq_mul in $W/NAME
  local name=$1; shift
  verilator --cc --exe --build -O3 -Wno-fatal --top-module sq_mul_all --Mdir "$W/$name" "$@" \
    "$ROOT/tests/rtl/tb_sq_mul.cpp" -MAKEFLAGS "OPT_FAST=-O1 OPT_SLOW=-O0" >"$W/$name.log" 2>&1 \
    || { tail -5 "$W/$name.log" | sed 's/^/# /'; return 1; }
  "$W/$name/Vsq_mul_all" | sed 's/^/# /'
  return "${PIPESTATUS[0]}"
}
ok "RTL: every pair of every width" build_and_run rtl "$ROOT/rtl/number/sq_mul.sv" "$ROOT/tests/rtl/sq_mul_all.sv"

daily "netlist, and a wrong bit" || finish
yosys -q -p "read_verilog -nodpi -sv $ROOT/rtl/number/sq_mul.sv $ROOT/tests/rtl/sq_mul_all.sv; \
  synth -flatten -top sq_mul_all; write_verilog -noattr $W/netlist.v" >/dev/null 2>&1
ok "netlist: the same" build_and_run netlist "$W/netlist.v"

# A multiplier with one wrong bit must not pass.
sed 's/carry = major << 1;/carry = major << 1 ^ PW'"'"'(a_i[0]);/' "$ROOT/rtl/number/sq_mul.sv" >"$W/sq_mul.sv"
ok "the mutant differs from the source" bash -c "! cmp -s '$ROOT/rtl/number/sq_mul.sv' '$W/sq_mul.sv'"
ok "a flipped bit is found" bash -c "! (. /dev/stdin; build_and_run mutant '$W/sq_mul.sv' '$ROOT/tests/rtl/sq_mul_all.sv' >/dev/null)" <<<"W='$W'; ROOT='$ROOT'; $(declare -f build_and_run)"
finish
