#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# wires.sh SQSIM JOBS LEF_DIR LIBERTY...: smallest netlists of PEs and gathers without wires, with the library's load and placed, as
# a table of docs/wires.md. LEF_DIR: wire_rc.csv and the LEF files of the libraries, *tech*.lef first (docs/data.md).
set -e -o pipefail
. reports/area/lef.sh
pes=${PES-pe_int4x8 pe_int8x8 pe_nvfp4_fixed} banks=${BANKS-8 16 32 64} # which rows
sqsim=$1 jobs=$2 dir=$3; shift 3
echo '<!-- table: wires_rank -->'
echo '| block | library | um2 | um a cell | ns: no wires | library'"'"'s load | placed | um2 x ns by the first: no wires | library'"'"'s load | placed |'
echo '|---|---|---|---|---|---|---|---|---|---|'
for liberty; do
  lef_of "$liberty" "$dir" || continue
  place() { "$sqsim" area "$@" --jobs "$jobs" "${placed[@]}"; }
  { [ -z "$pes" ] || place $(printf ' --block %s' $pes)
    for bank in $banks; do for log in 0 1; do
      place --source rtl/core/sq_gather.sv --top sq_gather --clock clk_i --param Rows=1 --param BankLen=$bank --param HighPerBank=$((bank / 4)) --param ActW=8 \
        --param LowW=4 --param Gather=$log
    done; done; } |
    awk -v lib=$name '
      function get(key) { return match($0, "\"" key "\":[^,}]*") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : "" }
      /"path_without_ns"/ {
        bank = get("BankLen"); um2 = get("area_um2"); name = get("block"); gsub(/"/, "", name)
        split("path_without_ns,path_library_ns,critical_path_ns", key, ",")
        printf "| `%s`%s | %s | %.0f | %.1f", name, bank ? ", bank " bank (get("Gather") + 0 ? ", log network" : ", crossbar") : "", lib, um2, get("um_per_cell")
        for (i = 1; i <= 3; i++) { ns[i] = get(key[i]); printf " | %.2f", ns[i] }
        for (i = 1; i <= 3; i++) { if (!((bank, i) in first)) first[bank, i] = um2 * ns[i]; printf " | %.2f", um2 * ns[i] / first[bank, i] }
        print " |"
      }'
done
echo '<!-- end -->'
