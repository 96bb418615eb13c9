# SPDX-License-Identifier: Apache-2.0
# awk -f engines.awk ENGINES.csv: a line for each engine, in each library um2, NAND2 equivalents, the longest path.
BEGIN { FS = ","; columns = split("nangate45 sg13g2 osu018", library, " ") }
FNR == 1 { print "<!-- make area-engines -->"; next }
!($1 in seen) { seen[$1]; engine[++n] = $1 }
{ area[$1, $2] = sprintf("%.0f | %.0f | %s", $3, $4, $5 == "null" ? "" : sprintf("%.2f", $5)); has[$2] }
END {
  print "<!-- table: engines -->"
  head = "| engine |"; rule = "|---|"
  for (c = 1; c <= columns; c++) if (library[c] in has) { head = head " " library[c] ": um2 | NAND2 | path, ns |"; rule = rule "---:|---:|---:|" }
  print head; print rule
  for (i = 1; i <= n; i++) {
    line = "| `" engine[i] "` |"
    for (c = 1; c <= columns; c++) if (library[c] in has) line = line " " ((engine[i], library[c]) in area ? area[engine[i], library[c]] : "| |") " |"
    print line
  }
  print "<!-- end -->"
}
