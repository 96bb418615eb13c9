# SPDX-License-Identifier: Apache-2.0
# Prints from pes.txt, formats.txt and energy.csv tables of the PEs and of the formats' blocks, and which of two burns less. That is
# decided where it is so in every library that has both, without delays and with them; everything else is undecided.
# A table stands between "<!-- table: NAME -->" and "<!-- end -->", for reports/area/page.sh.
BEGIN { FS = "," }
/^#/ || $1 == "library" { next }
/\|/ { split($0, part, "|"); operands[part[1]] = part[2]; next }
$2 == "banks" { next }
{
  of = $2 == "formats" ? "formats" : $6 == "" ? "pes" : "sized"
  if (!((of, $3) in row)) { row[of, $3]; name[of, ++n[of]] = $3 }
  if (!((of, $1) in seen)) { seen[of, $1]; library[of, ++n_libraries[of]] = $1 }
  k = of SUBSEP $1 SUBSEP $3 SUBSEP $9
  all[k] = $10; inside[k] = $11; clock[k] = $12; leakage[k] = $13; block[$3] = $4
  settled[of, $1, $3] = $16; period[of, $1] = $6; path[of, $1, $3] = $7
}
function order(of, a, b,  i, m, x, y, less, more) {
  for (i = 1; i <= n_libraries[of]; i++)
    for (m = 0; m < 2; m++) {
      x = of SUBSEP library[of, i] SUBSEP a SUBSEP (m ? "with_delays" : "zero_delay")
      y = of SUBSEP library[of, i] SUBSEP b SUBSEP (m ? "with_delays" : "zero_delay")
      if (!(x in inside) || !(y in inside)) continue
      if (inside[x] < inside[y]) less++; else more++
    }
  return less + more == 0 ? "" : !more ? "less" : !less ? "more" : "undecided"
}
function start(of, table, first,  j) {
  printf "<!-- table: %s -->\n| %s |", table, first
  for (j = 1; j <= n_libraries[of]; j++) printf " %s: zero delay | with delays | ratio |", library[of, j]
  printf "\n|---|"
  for (j = 1; j <= n_libraries[of]; j++) printf "---:|---:|---:|"
  print ""
}
function energies(of, v, table, first,  i, j, z, d) {
  start(of, table, first)
  for (i = 1; i <= n[of]; i++) {
    printf "| %s |", name[of, i]
    for (j = 1; j <= n_libraries[of]; j++) {
      z = of SUBSEP library[of, j] SUBSEP name[of, i] SUBSEP "zero_delay"; d = of SUBSEP library[of, j] SUBSEP name[of, i] SUBSEP "with_delays"
      if (z in v) printf " %.0f | %.0f | %.2f |", v[z], v[d], v[d] / v[z]; else printf " | | |"
    }
    print ""
  }
  print "<!-- end -->\n"
}
function orders(of, table,  i, j) {
  printf "<!-- table: %s -->\n| |", table
  for (j = 1; j <= n[of]; j++) printf " %s |", name[of, j]
  printf "\n|---|"; for (j = 1; j <= n[of]; j++) printf "---|"
  print ""
  for (i = 1; i <= n[of]; i++) {
    printf "| %s |", name[of, i]
    for (j = 1; j <= n[of]; j++) printf " %s |", i == j ? "" : order(of, name[of, i], name[of, j])
    print ""
  }
  print "<!-- end -->\n"
}
# Prints what the clock of a PE takes and what a PE leaks at 10 ns, whether anything changes or not.
function fixed(  i, j, k) {
  printf "<!-- table: fixed -->\n| PE |"
  for (j = 1; j <= n_libraries["pes"]; j++) printf " %s: clock pins | leakage |", library["pes", j]
  printf "\n|---|"; for (j = 1; j <= n_libraries["pes"]; j++) printf "---:|---:|"
  print ""
  for (i = 1; i <= n["pes"]; i++) {
    printf "| %s |", name["pes", i]
    for (j = 1; j <= n_libraries["pes"]; j++) {
      k = "pes" SUBSEP library["pes", j] SUBSEP name["pes", i] SUBSEP "zero_delay"
      if (k in clock) printf " %.0f | %.1f |", clock[k], leakage[k]; else printf " | |"
    }
    print ""
  }
  print "<!-- end -->\n"
}
# The netlist for a period beside the smallest one: fJ a MAC, and whether it meets the period.
function sized(  i, j, s, a, p) {
  if (!n["sized"]) return
  printf "<!-- table: sized -->\n| PE |"
  for (j = 1; j <= n_libraries["sized"]; j++)
    printf " %s, %s ns: path | zero delay | to the smallest | with delays | to the smallest |", library["sized", j], period["sized", library["sized", j]]
  printf "\n|---|"; for (j = 1; j <= n_libraries["sized"]; j++) printf "---:|---:|---:|---:|---:|"
  print ""
  for (i = 1; i <= n["sized"]; i++) {
    p = name["sized", i]
    printf "| %s |", p
    for (j = 1; j <= n_libraries["sized"]; j++) {
      s = "sized" SUBSEP library["sized", j] SUBSEP p; a = "pes" SUBSEP library["sized", j] SUBSEP p
      if (!((s SUBSEP "zero_delay") in inside)) { printf " | | | | |"; continue }
      printf " %.2f%s |", path[s], (path[s] > period["sized", library["sized", j]] ? ", not met" : "")
      printf " %.0f | %.2f |", inside[s, "zero_delay"], inside[s, "zero_delay"] / inside[a, "zero_delay"]
      printf " %.0f | %.2f |", inside[s, "with_delays"], inside[s, "with_delays"] / inside[a, "with_delays"]
    }
    print ""
  }
  print "<!-- end -->\n"
}
function legend(of, table,  i) {
  printf "<!-- table: %s -->\n| PE | operands |\n|---|---|\n", table
  for (i = 1; i <= n[of]; i++) printf "| %s | %s |\n", name[of, i], operands[name[of, i]]
  print "<!-- end -->\n"
}
END {
  print ""
  legend("pes", "legend")
  energies("pes", inside, "inside", "PE, fJ a MAC inside of it")
  energies("pes", all, "all", "PE, fJ a MAC of its block of 1x1")
  fixed()
  orders("pes", "order")
  energies("formats", inside, "layer_inside", "format, fJ a MAC inside of the PE")
  energies("formats", all, "layer_all", "format, fJ a MAC of its engine with 1x1 PEs")
  orders("formats", "layer_order")
  sized()
}
