#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Proofs by Yosys' SAT solver: the stream register by induction, the equality of the two gathers for
# every input. Each proof is also tried on a wrong copy, where it must fail.
. "$(dirname "$0")/../cli/lib.sh"

# prove RTL_DIR TOP PARAMETERS SAT_OPTIONS [COMMANDS before the proof]
prove() {
  local rtl=$1 top=$2 parameters=$3 options=$4 join=${5:-}
  timeout $HANG yosys -q -p "read_verilog -formal -sv -I $rtl $rtl/sq_pkg.sv $rtl/sq_pipe_reg.sv \
    $rtl/sq_gather_rank.sv $rtl/sq_gather_sel.sv $rtl/sq_gather_mux.sv $ROOT/tests/formal/$top.sv; \
    hierarchy -check -top $top $parameters; proc; async2sync; memory_map; flatten; $join opt; \
    sat -verify -prove-asserts $options" >"$W/log" 2>&1
}
pipe_reg() {
  prove "$1" sq_pipe_reg_check "" "-tempinduct -seq 1 -set-at 1 rst_n 0" \
    "connect -set skid dut.skid_q; connect -set skid_valid dut.skid_valid_q;"
}
refuted() { ! pipe_reg "$1" && grep -q "proof did fail" "$W/log"; }
ok "sq_pipe_reg: induction" pipe_reg "$ROOT/rtl"
cp -r "$ROOT/rtl" "$W/rtl"
sed -i 's/if (push) skid_q <= in_data_i;/skid_q <= in_data_i;/' "$W/rtl/sq_pipe_reg.sv"
ok "an overwritten second beat is refuted" refuted "$W/rtl"

cp -r "$ROOT/rtl" "$W/select"
sed -i 's/slot_i\[i\] && ((RankW/((RankW/' "$W/select/sq_gather_sel.sv"
gather() { prove "$1" sq_gather_check "$p" ""; }
unequal() { ! gather "$1" && grep -q "proof did fail" "$W/log"; }
for point in "4 2 1" "4 1 1" "8 4 2" "8 2 2" "8 4 4" "16 4 4" "16 8 3" "16 1 2"; do
  read -r b k lanes <<<"$point"
  p="-chparam BankLen $b -chparam HighPerBank $k -chparam Lanes $lanes"
  ok "gathers equal: bank $b, k $k, lanes $lanes" gather "$ROOT/rtl"
  ok "a crossbar that takes unmarked elements is refuted" unequal "$W/select"
done
finish
