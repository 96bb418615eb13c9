# SPDX-License-Identifier: Apache-2.0
# Prints from energy.csv the core of SQ on weights by its bank, and the share of what selects the high elements.
BEGIN { FS = "," }
$2 != "banks" { next }
{
  if (!($1 in seen)) { seen[$1]; library[++n] = $1 }
  if (!($3 in known)) { known[$3]; bank[++m] = $3 }
  inside[$1, $3, $9] = $11; select[$1, $3, $9] = $15
}
END {
  if (!n) exit
  print "<!-- table: banks -->"
  printf "| bank |"; for (i = 1; i <= n; i++) printf " %s: zero delay | selection | with delays | selection |", library[i]
  printf "\n|---:|"; for (i = 1; i <= n; i++) printf "---:|---:|---:|---:|"
  print ""
  for (j = 1; j <= m; j++) {
    printf "| %s |", bank[j]
    for (i = 1; i <= n; i++) {
      z = library[i] SUBSEP bank[j] SUBSEP "zero_delay"; d = library[i] SUBSEP bank[j] SUBSEP "with_delays"
      if (!(z in inside)) printf " | | | |"
      else printf " %.0f | %.0f %% | %.0f | %.0f %% |", inside[z], 100 * select[z] / inside[z], inside[d], 100 * select[d] / inside[d]
    }
    print ""
  }
  print "<!-- end -->\n"
}
