# SPDX-License-Identifier: Apache-2.0
# Of pes.txt and energy.csv: a table of the PEs, and which of two burns less. That is decided where it is so in every
# library, without delays and with them; everything else is undecided.
BEGIN { FS = "," }
/^#/ || $1 == "library" { next }
/\|/ { split($0, part, "|"); format[part[1]] = part[2]; next }
{
  if (!($2 in row)) { row[$2] = ++n; pe[n] = $2 }
  if (!($1 in seen)) { seen[$1]; library[++n_libraries] = $1 }
  c = $1 SUBSEP $5
  if (!(c in known)) { known[c]; column[++n_columns] = c }
  all[row[$2], c] = $6; inside[row[$2], c] = $7
}
function order(a, b,  i, less, more) {
  for (i = 1; i <= n_columns; i++)
    if (inside[a, column[i]] < inside[b, column[i]]) less++; else more++
  return !more ? "less" : !less ? "more" : "undecided"
}
function table(v, title,  i, j) {
  print title "\n"
  printf "| PE |"
  for (j = 1; j <= n_libraries; j++) printf " %s: zero delay | with delays | ratio |", library[j]
  printf "\n|---|"
  for (j = 1; j <= n_libraries; j++) printf "---:|---:|---:|"
  print ""
  for (i = 1; i <= n; i++) {
    printf "| %s |", pe[i]
    for (j = 1; j <= n_libraries; j++) {
      z = v[i, library[j] SUBSEP "zero_delay"]; d = v[i, library[j] SUBSEP "with_delays"]
      printf " %.0f | %.0f | %.2f |", z, d, d / z
    }
    print ""
  }
  print ""
}
END {
  print "| PE | operands |\n|---|---|"
  for (i = 1; i <= n; i++) printf "| %s | %s |\n", pe[i], format[pe[i]]
  print ""
  table(inside, "fJ a MAC inside of the PE:")
  table(all, "fJ a MAC of the 1x1 block, with its operand registers, decoders, masks and control, which an array shares among its PEs:")
  print "Inside of the PE, the row burns less or more than the column, or that is undecided:\n"
  printf "| |"; for (j = 1; j <= n; j++) printf " %s |", pe[j]
  printf "\n|---|"; for (j = 1; j <= n; j++) printf "---|"
  print ""
  for (i = 1; i <= n; i++) {
    printf "| %s |", pe[i]
    for (j = 1; j <= n; j++) printf " %s |", i == j ? "" : order(i, j)
    print ""
  }
}
