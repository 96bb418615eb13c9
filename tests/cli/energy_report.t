#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# reports/energy: its scripts on figures that are easy to follow (a ranking that differs between libraries, or between
# zero delay and delays, is undecided), and the page, which shows the tables of both files.
. "$(dirname "$0")/lib.sh"
E=$ROOT/reports/energy
table() { awk -v name="$1" '$0 == "<!-- table: " name " -->" {on = 1; next} $0 == "<!-- end -->" {on = 0} on' "$W.out"; }
cell() { table "$1" | awk -F' *[|] *' -v row="$2" -v col="$3" 'NR == 1 {for (i = 2; i < NF; i++) if ($i == col) c = i} $2 == row {print $c}'; }

# PE A burns less than B everywhere, less than C without delays only, less than D in one library only, E is known in one.
head=library,list,name,block,operands,period_ns,path_ns,macs,mode,fj_per_mac,inside,inside_clock,inside_leakage,output,select,settled_ns
row() { printf '%s,%s,%s,array,drawn,%s,%s,16,%s,%s,%s,1,1,0,%s,2\n' "$@"; } # ... period path mode block inside select
{ echo "$head"
  row l1 pes A '' '' zero_delay 20 10 0; row l1 pes A '' '' with_delays 30 15 0
  row l1 pes B '' '' zero_delay 20 11 0; row l1 pes B '' '' with_delays 30 16 0
  row l1 pes C '' '' zero_delay 20 12 0; row l1 pes C '' '' with_delays 30 14 0
  row l1 pes D '' '' zero_delay 20 13 0; row l1 pes D '' '' with_delays 30 17 0
  row l1 pes E '' '' zero_delay 20 9 0; row l1 pes E '' '' with_delays 30 9 0
  row l1 banks 4 '' '' zero_delay 50 40 10; row l1 banks 4 '' '' with_delays 90 80 60
  row l1 pes A 2 3 zero_delay 30 20 0; row l1 pes A 2 3 with_delays 60 45 0
  row l2 pes A '' '' zero_delay 20 10 0; row l2 pes A '' '' with_delays 30 15 0
  row l2 pes B '' '' zero_delay 20 11 0; row l2 pes B '' '' with_delays 30 16 0
  row l2 pes C '' '' zero_delay 20 12 0; row l2 pes C '' '' with_delays 30 14 0
  row l2 pes D '' '' zero_delay 20 9 0; row l2 pes D '' '' with_delays 30 12 0
} >"$W/energy.csv"
printf '# PE|what\nA|a|\nB|b|\nC|c|\nD|d|\nE|e|\n' >"$W/pes.txt"
{ awk -f "$E/table.awk" "$W/pes.txt" "$W/energy.csv"; awk -f "$E/banks.awk" "$W/energy.csv"; } >"$W.out"
ok "less in both libraries and both modes" [ "$(cell order A B) $(cell order B A)" = "less more" ]
ok "another order with delays: undecided" [ "$(cell order A C)" = undecided ]
ok "another order in a library: undecided" [ "$(cell order A D)" = undecided ]
ok "what one library lacks is of the others" [ "$(cell order E A)" = less ]
ok "joules of a PE" grep -qx '| A | 10 | 15 | 1.50 | 10 | 15 | 1.50 |' <(table inside)
ok "... no figure where there is none" grep -qx '| E | 9 | 9 | 1.00 | | | |' <(table inside)
ok "the netlist for a period, which it does not meet" grep -qx '| A | 3.00, not met | 20 | 2.00 | 45 | 3.00 |' <(table sized)
ok "selection of a bank" grep -qx '| 4 | 40 | 25 % | 80 | 75 % |' <(table banks)

# Two parts of 1 to 3 and 0 to 10 against 2 to 4 and 0 to 10: they share the place in the range.
token() { echo "l1,m,decode_1,$1,$2,1,$3,.002,$4,$5,.002,$6"; }
{ echo library,model,phase,dram,format,seconds,products_low_j,,,dram_low_j,,
  for dram in d1 d2; do
    token $dram x .001 .003 0 .010; token $dram y .002 .004 0 .010
    token $dram z .001 .003 0 $([ $dram = d1 ] && echo .012 || echo .008)
  done; } >"$W/tokens.csv"
awk -f "$E/tokens.awk" "$W/tokens.csv" >"$W.out"
ok "a token" grep -qx '| x | 1.00, 4.00, 13.0 | 1000000 |' <(table "tokens m decode_1")
ok "ranges overlap, and the difference has one sign" [ "$(cell "order m decode_1" x y)" = less ]
ok "... by the type of DRAM: undecided" [ "$(cell "order m decode_1" x z)" = undecided ]

# Boards: 1/2 and 1/4 of FP8; PEs 1/3 without delays, 1/5 with them.
printf '%s\n' gpu,file,dtype,rows,pJ_mac_p10,pJ_mac_median,pJ_mac_p90,W_median \
  X,gemm_x_sxm_vllm_0.1.csv,bfloat16,1,3,4,5,1 X,gemm_x_sxm_vllm_0.1.csv,fp8,1,1.5,2,3,1 X,gemm_x_sxm_vllm_0.1.csv,nvfp4,1,.5,1,1.5,1 \
  Y,gemm_y_trtllm_2.csv,bfloat16,1,3,6,8,1 Y,gemm_y_trtllm_2.csv,fp8_block,1,3,4,5,1 Y,gemm_y_trtllm_2.csv,nvfp4,1,1,1,1,1 >"$W/gpu_energy_per_mac.csv"
{ echo "$head"; row l1 pes nvfp4 '' '' zero_delay 20 10 0; row l1 pes nvfp4 '' '' with_delays 30 12 0
  row l1 pes mxfp8 '' '' zero_delay 20 30 0; row l1 pes mxfp8 '' '' with_delays 30 60 0; } >"$W/energy.csv"
awk -f "$E/boards.awk" "$W/gpu_energy_per_mac.csv" "$W/energy.csv" >"$W.out"
ok "a board, with its range" grep -qx '| X vllm 0.1, fp8 | 0.50 | 0.17 to 1.00 |' <(table boards)
ok "... of which a block has the scale" grep -qx '| Y trtllm 2, fp8_block | 0.25 | 0.20 to 0.33 |' <(table boards)
ok "PEs inside and below" grep -qx '| l1, inside of the PE | 0.33 | inside | 0.20 | below |' <(table boards_ours)
ok "PEs above" grep -qx '| l1, block of 1x1 | 1.00 | above | 1.00 | above |' <(table boards_ours)
ok "BF16 is of boards alone" grep -qx '| X vllm 0.1, fp8 | 2.00 | 0.25 |' <(table boards_bf16)

boards=${SQ_DATA:-none}/gpu_measured/gpu_energy_per_mac.csv
[ -f "$boards" ] || boards=
"$E/tables.sh" "$boards" >"$W.md"
ok "the page shows the tables" "$ROOT/reports/area/page.sh" --check "$W.md" "$E/README.md"
finish
