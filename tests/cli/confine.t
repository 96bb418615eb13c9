#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a foreign file may make the tools do: nothing but what is asked for. Sources of `area --source`
# that run commands, read files elsewhere or do not end: each is refused or ended, in one sentence, and
# none leaves a file.
. "$(dirname "$0")/lib.sh"

LIB=/usr/share/qflow/tech/osu018/osu018_stdcells.lib
if [ ! -r $LIB ] || ! command -v "${YOSYS:-yosys}" >/dev/null; then
  skip "sources that attack" "needs yosys and $LIB (package qflow-tech-osu018)"
  finish
fi
mkdir "$W/home" "$W/src"
ln -s "$ROOT/rtl" "$ROOT/sim" "$ROOT/traces" "$W/home" # so that the cache is ours
export SQSIM_HOME=$W/home

# src NAME: a source from standard input.
src() { cat >"$W/src/$1"; }

# ---- commands: libc by way of DPI-C, which Yosys evaluates while it elaborates
dpi() { # COMMAND: SystemVerilog text of functions whose evaluation runs it
  local text=$1 i
  echo 'import "DPI-C" function chandle mmap(chandle, integer, integer, integer, integer, integer);'
  echo 'import "DPI-C" function chandle memset(chandle, integer, integer);'
  echo 'import "DPI-C" function integer system(chandle);'
  echo "localparam [63:0] B = mmap(64'h20000000, 4096, 3, 50, -1, 0);"
  for ((i = 0; i < ${#text}; i++)); do
    printf "localparam [63:0] C%d = memset(64'h%x, %d, 1);\n" $i $((0x20000000 + i)) "'${text:i:1}"
  done
  echo "localparam integer X = system(64'h20000000);"
}
ports='(input clk_i, input [7:0] a_i, output [7:0] y_o)'
{ echo "module evil $ports;"; dpi "touch $W/RAN"; echo 'assign y_o = a_i + X[7:0]; endmodule'; } | src dpi.sv
{ echo 'package evil_pkg;'; dpi "touch $W/RAN"
  echo "endpackage module evil $ports; assign y_o = a_i + evil_pkg::X[7:0]; endmodule"; } | src package.sv
{ echo "module evil $ports;"; echo 'import "DPI-C" function integer system(chandle);'
  echo 'function automatic integer f(input integer n); f = system(n); endfunction'
  echo 'localparam integer X = f(0); assign y_o = a_i + X[7:0]; endmodule'; } | src function.sv
for f in dpi package function; do
  rm -rf "$W/home/build"
  sq area --source src/$f.sv --top evil
  ok "DPI-C in $f.sv: refused in one line" [ "$RC" = 2 -a "$(wc -l <"$W.err")" = 1 ]
done
ok "no command ran" [ ! -e "$W/RAN" ]

finish
