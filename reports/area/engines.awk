# SPDX-License-Identifier: Apache-2.0
# awk -f engines.awk ENGINES.csv: a line for each engine, in each library um2 and NAND2 equivalents, in the first one also what the parts take.
BEGIN { FS = ","; columns = split("nangate45 sg13g2 osu018", library, " ") }
FNR == 1 { print "<!-- make area-engines -->"; next }
!($1 in seen) { seen[$1]; engine[++n] = $1 }
{ area[$1, $2] = sprintf("%.0f | %.0f", $3, $4); has[$2] }
$2 == library[1] && $6 {
  pes[$1] = operators[$1] = encoder[$1] = 0
  for (i = split($6, part, " "); i > 0; i--) {
    split(part[i], p, ":")
    if (p[1] ~ /^sq_pe/) pes[$1] += p[3]
    else if (p[1] ~ /^sq_(fp_|requant)/) operators[$1] += p[3]
    else if (p[1] ~ /^sq_(topk|block_)/) encoder[$1] += p[3]
  }
  rest[$1] = $3 - pes[$1] - operators[$1] - encoder[$1]
}
END {
  print "<!-- table: engines -->"
  head = "| engine |"; rule = "|---|"
  for (c = 1; c <= columns; c++) if (library[c] in has) { head = head " " library[c] ": um2 | NAND2 |"; rule = rule "---:|---:|" }
  print head " " library[1] ", um2 of it: PEs | binary32 operators | top-k, block scales, codes | the rest |"; print rule "---:|---:|---:|---:|"
  for (i = 1; i <= n; i++) {
    e = engine[i]; line = "| `" e "` |"
    for (c = 1; c <= columns; c++) if (library[c] in has) line = line " " ((e, library[c]) in area ? area[e, library[c]] : "|") " |"
    if (e in rest) line = line sprintf(" %.0f | %.0f | %.0f | %.0f |", pes[e], operators[e], encoder[e], rest[e])
    else line = line " | | | |"
    print line
  }
  print "<!-- end -->"
}
