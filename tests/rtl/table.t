#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The decoders that the program writes for tables of values (SPEC Q.9): the one in the tree, and those of random tables,
# 2 to 5 bits, 1 to 4 grids, with and without exponents and codes of no value, at every code, grid and exponent, as Yosys
# evaluates the source and, of each fourth, the gates that it makes of it; and Verilator reads them without a warning. A
# decoder with one value off is found.
. "$(dirname "$0")/lib.sh"
TABLE_CHECK=${TABLE_CHECK:-$(dirname "$SQSIM")/tests/rtl/table_check}
N_TABLES=40

"$TABLE_CHECK" >"$W/sq_element_table.sv"
ok "the decoder in the tree is what the program writes" cmp "$W/sq_element_table.sv" "$ROOT/rtl/scaled/sq_element_table.sv"

ok "... and no table of its shape takes it" eval '"$TABLE_CHECK" own 2>/dev/null'

evaluates() { # what Yosys finds is what the tables say
  (cd "$W" && timeout $HANG "${YOSYS:-yosys}" script.ys) 2>&1 | grep '^Eval result' >"$W/found"
  cmp -s "$W/found" "$W/expected"
}
"$TABLE_CHECK" "$SEED" $N_TABLES "$W"
ok "$N_TABLES random tables: $(grep -c element_o "$W/expected") elements" evaluates
ok "... and not few" [ "$(grep -c element_o "$W/found")" -gt 2000 ]

unread=""
for f in "$W"/table*.sv; do
  mkdir -p "$W/one" && cp "$f" "$W/one/sq_element_table.sv"
  (cd "$W/one" && "${VERILATOR:-verilator}" --lint-only -Wall sq_element_table.sv) >"$W.err" 2>&1 && [ ! -s "$W.err" ] ||
    unread+=" ${f##*/}"
done
ok "Verilator reads them without a warning" [ -z "$unread" ]
[ -z "$unread" ] || echo "#$unread"

sed -i -E '0,/: value = .*d[0-9]+;/s/(: value = .*d)[0-9]+;/\10;/' "$W/table3.sv"
ok "one value off is found" eval '! evaluates'
finish
