# SPDX-License-Identifier: Apache-2.0
# Prints from tokens.csv the energy of a token (low, high with one gate for the clock of the array, high), and which of two formats needs less. Each part of both lies at the same
# place of its range, so that the difference is least, or largest, at one end of every part. It is decided
# where it has one sign in every library and with every type of DRAM.
BEGIN { FS = "," }
/^#/ { next }
$1 == "library" { for (i = 7; i < NF; i += 3) { part[++n_parts] = $i; sub(/_low_j$/, "", part[n_parts]) } next }
{
  where = $2 SUBSEP $3
  if (!(where in seen)) { seen[where]; place[++n_places] = where }
  if (!($5 in known)) { known[$5]; format[++n] = $5 }
  if (!($1 in libraries)) { libraries[$1]; library[++n_libraries] = $1 }
  if (!($4 in drams)) { drams[$4]; dram[++n_drams] = $4 }
  k = where SUBSEP $1 SUBSEP $4 SUBSEP $5
  seconds[where, $5] = $6
  for (p = 1; p <= n_parts; p++) { low[k, part[p]] = $(3 * p + 4); gated[k] += $(3 * p + 5); high[k, part[p]] = $(3 * p + 6) }
}
# -1: a needs less in every case that has both, 1: more, 0: undecided.
function order(where, a, b,  i, j, p, x, y, d, e, least, most, less, more) {
  for (i = 1; i <= n_libraries; i++)
    for (j = 1; j <= n_drams; j++) {
      x = where SUBSEP library[i] SUBSEP dram[j] SUBSEP a; y = where SUBSEP library[i] SUBSEP dram[j] SUBSEP b
      if (!((x, part[1]) in low) || !((y, part[1]) in low)) continue
      least = most = 0
      for (p = 1; p <= n_parts; p++) {
        d = low[x, part[p]] - low[y, part[p]]; e = high[x, part[p]] - high[y, part[p]]
        least += d < e ? d : e; most += d < e ? e : d
      }
      if (most < 0) less++; else if (least > 0) more++; else return 0
    }
  return less && !more ? -1 : more && !less ? 1 : 0
}
function sum(k, end,  p, s) { for (p = 1; p <= n_parts; p++) s += end ? high[k, part[p]] : low[k, part[p]]; return s }
function figure(x) { return sprintf(x < 10 ? "%.2f" : x < 100 ? "%.1f" : "%.0f", x) }
END {
  for (w = 1; w <= n_places; w++) {
    split(place[w], name, SUBSEP)
    printf "<!-- table: tokens %s %s -->\n| %s, mJ a token with %s, low, high with a gate, high |", name[1], name[2], name[1], dram[1]
    for (i = 1; i <= n_libraries; i++) printf " %s |", library[i]
    print " us a token |"
    printf "|---|"; for (i = 1; i <= n_libraries + 1; i++) printf "---:|"
    print ""
    for (f = 1; f <= n; f++) {
      printf "| %s |", format[f]
      for (i = 1; i <= n_libraries; i++) {
        k = place[w] SUBSEP library[i] SUBSEP dram[1] SUBSEP format[f]
        if (!((k, part[1]) in low)) printf " |"
        else printf " %s, %s, %s |", figure(1e3 * sum(k, 0)), figure(1e3 * gated[k]), figure(1e3 * sum(k, 1))
      }
      printf " %s |\n", figure(1e6 * seconds[place[w], format[f]])
    }
    printf "<!-- end -->\n\n<!-- table: parts %s %s -->\n| %s, mJ of each part |", name[1], name[2], library[1]
    for (p = 1; p <= n_parts; p++) printf " %s |", part[p]
    printf "\n|---|"; for (p = 1; p <= n_parts; p++) printf "---:|"
    print ""
    for (f = 1; f <= n; f++) {
      k = place[w] SUBSEP library[1] SUBSEP dram[1] SUBSEP format[f]
      printf "| %s |", format[f]
      for (p = 1; p <= n_parts; p++) printf " %.3g to %.3g |", 1e3 * low[k, part[p]], 1e3 * high[k, part[p]]
      print ""
    }
    printf "<!-- end -->\n\n<!-- table: order %s %s -->\n| |", name[1], name[2]; for (j = 1; j <= n; j++) printf " %s |", format[j]
    printf "\n|---|"; for (j = 1; j <= n; j++) printf "---|"
    print ""
    for (i = 1; i <= n; i++) {
      printf "| %s |", format[i]
      for (j = 1; j <= n; j++) {
        o = i == j ? 9 : order(place[w], format[i], format[j])
        printf " %s |", (o == 9 ? "" : o < 0 ? "less" : o > 0 ? "more" : "undecided")
      }
      print ""
    }
    print "<!-- end -->\n"
  }
}
