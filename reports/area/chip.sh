#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# chip.sh SQSIM SRAM LIBERTY...: longest paths of the parts of sim/machines/chip.yaml for dense W4A8, netlists of smallest area,
# a column a library, as a table of reports/area/README.md. The memories are those of SRAM in each of them.
set -e -o pipefail
sqsim=$1 sram=$2; shift 2
for liberty; do
  name=$(basename "$liberty" | sed 's/[_.].*//')
  "$sqsim" area --block top --machine sim/machines/chip.yaml --of dense --liberty "$liberty" --sram "$sram" |
    awk -v name="$name" '
      function most(row, ns) { if (ns != "-" && ns + 0 > at[row] + 0) at[row] = ns }
      /^top / { most("whole", $6) }
      /^sq_pe_/ { most("PE", $5) }
      /^sq_(engine|array)/ { most("control and operand registers of the engine", $5) }
      /^sq_(output|fp)/ { most("output stage", $5) }
      /^sq_(operand_buffer|sram|top_operand)/ { most("buffers and memories", $5) }
      /^sq_dma/ { most("DMA", $5) }
      /^sq_sequencer/ { most("sequencer", $5) }
      /^sq_top_(regs|count)/ { most("registers", $5) }
      /^sq_top / { most("queues and gearboxes", $5) }
      END {
        if (!at["whole"] || !at["PE"]) exit 1
        for (row in at) printf "%s|%s|%.2f\n", name, row, at[row]
        printf "%s|clock, MHz|%.1f\n%s|whole / PE|%.2f\n", name, 1000 / at["whole"], name, at["whole"] / at["PE"]
      }'
done | awk -F'|' '
  !($1 in seen) { seen[$1]; lib[++n] = $1 }
  { ns[$1, $2] = $3 }
  END {
    print "<!-- table: chip_paths -->"
    printf "| longest path that ends in it, ns |"; for (i = 1; i <= n; i++) printf " %s |", lib[i]
    printf "\n|---|"; for (i = 1; i <= n; i++) printf "---|"
    print ""
    rows = "PE;control and operand registers of the engine;output stage;buffers and memories;DMA;sequencer;registers;queues and gearboxes;whole;clock, MHz;whole / PE"
    count = split(rows, row, ";")
    for (r = 1; r <= count; r++) {
      printf "| %s |", row[r]; for (i = 1; i <= n; i++) printf " %s |", ns[lib[i], row[r]]
      print ""
    }
    print "<!-- end -->"
  }'
