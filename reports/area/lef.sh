# SPDX-License-Identifier: Apache-2.0
# Sourced: what `sqsim area` needs to place in a library.
lef_of() { # LIBERTY FOLDER: its name into `name`, options into `placed`; FOLDER has wire_rc.csv and the LEF files (docs/data.md). Status 1: no such library
  local lef
  case $1 in *sg13g2*) name=sg13g2 lef=("$2"/sg13g2_tech.lef "$2"/sg13g2_stdcell.lef) ;;
    *nangate45*) name=nangate45 lef=("$2"/Nangate*.tech.lef "$2"/Nangate*.macro.mod.lef) ;; *) return 1 ;; esac
  placed=(--json --liberty "$1" --wires --lef "$(IFS=,; echo "${lef[*]}")"
    --wire "$(awk -F, -v l=$name '$1 == l && ($2 == "signal" || /used for signals/) { v = 1e3 * $3 "," 1e3 * $4 } END { print v }' "$2/wire_rc.csv")")
}
