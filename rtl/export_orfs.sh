#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The files of a block for OpenROAD-flow-scripts, as `make export-orfs` has them: sources with all that they name, and for each
# platform a configuration and constraints. export_orfs.sh DESIGN PERIOD OUT: a name of `sqsim area --list` or a module, with
# parameters where they differ (array_int4x8:Rows=4,Cols=4), ns, a folder.
set -euo pipefail
design=$1 period=$2 out=$3/designs
root=$(dirname "$0")
block=${design%%:*} others=${design#"${design%%:*}"} others=${others#:}
[[ $design =~ ^[a-z0-9_]+(:[A-Z][A-Za-z0-9]*=[0-9]+(,[A-Z][A-Za-z0-9]*=[0-9]+)*)?$ ]] || { echo "export-orfs: DESIGN = $design, need NAME:PARAMETER=NUMBER,..." >&2; exit 2; }
unit=$("${SQSIM:-build/sqsim}" area --list --json | grep -F "\"block\":\"$block\"," | grep -F '"parameters":{' || true)
[ -n "$unit" ] || ! grep -qx "[a-z]*/*$block\.sv" "$root/files.f" || unit="\"module\":\"$block\",\"parameters\":{}"
[ -n "$unit" ] || { echo "export-orfs: DESIGN = $design, need a unit of sqsim area --list with parameters, or a module of rtl/" >&2; exit 2; }
awk -v p="$period" 'BEGIN { exit !(p > 0 && p <= 1000) }' || { echo "export-orfs: PERIOD = $period, need more than 0 and at most 1000 ns" >&2; exit 2; }
top=$(sed 's/.*"module":"\([a-z0-9_]*\)".*/\1/' <<<"$unit")
parameters=$(sed 's/.*"parameters":{\([^}]*\)}.*/\1/; s/[",:]/ /g; s/  */ /g; s/^ //; s/ $//' <<<"$unit")
parameters=$(tr '=,' ' ' <<<"$parameters $others" | awk '{ for (i = 1; i < NF; i += 2) { if (!($i in value)) name[++n] = $i; value[$i] = $(i + 1) }
  for (i = 1; i <= n; i++) printf "%s%s %s", (i > 1 ? " " : ""), name[i], value[name[i]] }')
design=${design//[:=,]/_}

# What the module names, and what that names.
declare -A file=() needed=()
while read -r f; do file[$(basename "$f" .sv)]=$f; done <"$root/files.f"
names=("$top")
for ((i = 0; i < ${#names[@]}; i++)); do
  [ -z "${needed[${names[i]}]:-}" ] || continue
  needed[${names[i]}]=1
  for name in $(sed 's#//.*##' "$root/${file[${names[i]}]}" | grep -ow 'sq_[a-z0-9_]*' | sort -u); do
    [ -z "${file[$name]:-}" ] || names+=("$name")
  done
done
mkdir -p "$out/src/$design"
cp "$root/sq_assert.svh" "$out/src/$design/"
sources=
while read -r f; do
  name=$(basename "$f" .sv)
  [ -n "${needed[$name]:-}" ] || continue
  cp "$root/$f" "$out/src/$design/"
  sources+=" \$(DESIGN_HOME)/src/$design/$name.sv"
done <"$root/files.f"

for platform in ihp-sg13g2 nangate45; do
  mkdir -p "$out/$platform/$design"
  cat >"$out/$platform/$design/config.mk" <<END
export DESIGN_NAME = $top
export DESIGN_NICKNAME = $design
export PLATFORM = $platform
export VERILOG_FILES =$sources
export VERILOG_INCLUDE_DIRS = \$(DESIGN_HOME)/src/$design
export VERILOG_TOP_PARAMS = $parameters
export SDC_FILE = \$(DESIGN_HOME)/$platform/$design/constraint.sdc
export CORE_UTILIZATION = 70
END
  # A fifth of the period is outside, at inputs and at outputs; resets are asynchronous and held for many cycles. It is no scan test.
  cat >"$out/$platform/$design/constraint.sdc" <<END
set period $period
set port [get_ports -quiet clk_i]
if {[llength \$port] > 0} { create_clock -name clk -period \$period \$port } else { create_clock -name clk -period \$period }
set inputs {}
foreach input [all_inputs] { if {[lsearch {clk_i rst_ni test_en_i} [get_property \$input full_name]] < 0} { lappend inputs \$input } }
set_input_delay [expr .2 * \$period] -clock clk \$inputs
set_output_delay [expr .2 * \$period] -clock clk [all_outputs]
set reset [get_ports -quiet rst_ni]
if {[llength \$reset] > 0} { set_false_path -from \$reset }
set test [get_ports -quiet test_en_i]
if {[llength \$test] > 0} { set_case_analysis 0 \$test }
END
done
echo "copy $out into flow/ of OpenROAD-flow-scripts, then there: make DESIGN_CONFIG=designs/ihp-sg13g2/$design/config.mk"
