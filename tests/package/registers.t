#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The registers as others' tools read them: SystemRDL and IP-XACT say what sq_regs.h says, and both the same. PeakRDL's compiler
# and its importer read them where PYTHON has systemrdl-compiler and peakrdl-ipxact.
. "$(dirname "$0")/../cli/lib.sh"
PYTHON=${PYTHON:-python3}
registers() { "$PYTHON" tests/package/registers.py "$@" >"$W/$1"; }
ok "the macros of sq_regs.h" registers header lib/sq_regs.h
ok "IP-XACT is XML with registers" registers ipxact rtl/top/sq_top.xml
if command -v xmllint >/dev/null; then ok "xmllint reads it" xmllint --noout rtl/top/sq_top.xml
else skip "xmllint reads it" "no xmllint (libxml2-utils)"; fi
ok "41 fields or more" [ "$(wc -l <"$W/header")" -ge 41 ]
ok "the same names, offsets and bits" cmp <(cut -f1-5 "$W/ipxact" | sort) <(sort "$W/header")
ok "SystemRDL has them in this order" cmp <(sed -nE 's/.* \} (\w+)\[([0-9]+):([0-9]+)\];$/\1 \3 \2/p' rtl/top/sq_top.rdl) \
  <(awk '{print $3, $4, $4 + $5 - 1}' "$W/ipxact")
if "$PYTHON" -c 'import systemrdl' 2>/dev/null; then
  ok "PeakRDL's compiler reads it" registers peakrdl rtl/top/sq_top.rdl
  ok "and it says the same of access and meaning" cmp "$W/peakrdl" "$W/ipxact"
else skip "PeakRDL's compiler" "$PYTHON has no systemrdl-compiler"; fi
if "$PYTHON" -c 'import peakrdl_ipxact' 2>/dev/null; then
  ok "PeakRDL imports the IP-XACT" registers peakrdl-ipxact rtl/top/sq_top.xml
  ok "and has the same of it" cmp "$W/peakrdl-ipxact" "$W/ipxact"
else skip "PeakRDL's importer of IP-XACT" "$PYTHON has no peakrdl-ipxact"; fi
finish
