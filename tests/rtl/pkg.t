#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# rtl/sq_pkg.sv against the C headers: all constants, and the width functions over the parameters
# that blocks use. Verilator and Yosys both elaborate the check; a package with any one constant or
# function off by one is refused by both.
. "$(dirname "$0")/../cli/lib.sh"
PKG_CHECK=${PKG_CHECK:-$(dirname "$SQSIM")/tests/rtl/pkg_check}
"$PKG_CHECK" >"$W/pkg_check.sv" || { echo "Bail out! $PKG_CHECK does not run"; exit 1; }

verilator_takes() {
  (cd "$W" && timeout $HANG "${VERILATOR:-verilator}" --lint-only -Wno-DECLFILENAME "$1" pkg_check.sv) >"$W.err" 2>&1
}
yosys_takes() {
  (cd "$W" && timeout $HANG "${YOSYS:-yosys}" -q -p "read_verilog -nodpi -sv $1 pkg_check.sv; hierarchy -top pkg_check") \
    >"$W.err" 2>&1
}
cp "$ROOT/rtl/sq_pkg.sv" "$W/sq_pkg.sv"
names=$(sed -nE 's/^ *localparam int unsigned ([A-Z0-9_]+) = .*/\1/p; s/^ *function automatic int unsigned ([a-z_]+)\(.*/\1/p' \
  "$W/sq_pkg.sv" | grep -vxE 'operand_stages|gather_ctl_w|scale_sig_w|scale_sign_w|pair_sign_w|scale_exp_w|scale_exp_max|scale_fraction|field|element_exp_w|element_dot_w|element_shift|element_mantissa|element_columns|pair_sig_w|pair_exp_w|high_scale') # those are of the RTL alone
for name in $names; do
  grep -q "sq_pkg::$name\b" "$W/pkg_check.sv" || echo "$name"
done >"$W/left"
ok "every constant and width of the package is checked" [ ! -s "$W/left" ]
sed 's/^/# /' "$W/left"
ok "Verilator: the package is what C says" verilator_takes sq_pkg.sv
ok "Yosys: the same" yosys_takes sq_pkg.sv

off_by_one() { # NAME: a package in which it is one more
  sed -E "s/^( *localparam int unsigned $1 = )([0-9]+);/\1\2 + 1;/; s/^( *$1 = .*);\$/\1 + 1;/; s/^( *default: $1 = .*);\$/\1 + 1;/" \
    "$W/sq_pkg.sv" >"$W/wrong.sv"
  ! cmp -s "$W/sq_pkg.sv" "$W/wrong.sv" && ! verilator_takes wrong.sv && grep -q "sq_pkg::$1" "$W.err" &&
    ! yosys_takes wrong.sv && grep -q "gen_bad\|sq_pkg::$1\|error" "$W.err"
}
for name in $names; do
  ok "$name off by one is refused" off_by_one "$name"
  daily "the other constants off by one" || break
done
finish
