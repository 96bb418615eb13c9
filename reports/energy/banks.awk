# SPDX-License-Identifier: Apache-2.0
# Of banks.csv: the core of SQ on weights by its bank, and the share of what selects the high elements.
BEGIN { FS = "," }
/^#/ || $1 == "library" { next }
{
  if (!($1 in seen)) { seen[$1]; library[++n] = $1 }
  if (!($2 in known)) { known[$2]; bank[++m] = $2 }
  inside[$1, $2, $5] = $7; select[$1, $2, $5] = $9
}
END {
  print "fJ a MAC inside of the PE of `core` by bank at a sparsity of .75, and of it what selects high elements (crossbar):\n"
  printf "| bank |"; for (i = 1; i <= n; i++) printf " %s: zero delay | selection | with delays | selection |", library[i]
  printf "\n|---:|"; for (i = 1; i <= n; i++) printf "---:|---:|---:|---:|"
  print ""
  for (j = 1; j <= m; j++) {
    printf "| %s |", bank[j]
    for (i = 1; i <= n; i++) {
      z = library[i] SUBSEP bank[j] SUBSEP "zero_delay"; d = library[i] SUBSEP bank[j] SUBSEP "with_delays"
      printf " %.0f | %.0f %% | %.0f | %.0f %% |", inside[z], 100 * select[z] / inside[z], inside[d], 100 * select[d] / inside[d]
    }
    print ""
  }
  print ""
}
