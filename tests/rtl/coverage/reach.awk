# SPDX-License-Identifier: Apache-2.0
# How far the sums of a campaign came, from the lines of `sqsim cosim --json`: the highest |sum| that
# left, of the smaller one of both signs, over the largest that SPEC 0.6 has (struct sq_block, limit).
#
#   awk [-v markdown=1] -f reach.awk LINES
#
# A line per accumulator of a block: its points, and the least of them. Exit 1 where that is below
# 100 %, or where there is no accumulator.
function name(key,    at, rest) {
  at = index($0, "\"" key "\":\"")
  rest = substr($0, at + length(key) + 4)
  return substr(rest, 1, index(rest, "\"") - 1)
}
match($0, /"reach":\{[^}]+\}/) {
  n = split(substr($0, RSTART + 9, RLENGTH - 10), pair, ",")
  for (i = 1; i <= n; i++) {
    split(pair[i], part, ":")
    key = name("block") " " part[1]
    gsub(/"/, "", key)
    if (!(key in points)) { order[++n_keys] = key; least[key] = part[2] + 0 }
    points[key]++
    if (part[2] + 0 < least[key]) { least[key] = part[2] + 0; where[key] = name("point") }
  }
}
END {
  printf markdown ? "|block|sum|points|reached|\n|---|---|---|---|\n" : "%-22s %7s %8s\n", "sum", "points",
         "reached"
  for (k = 1; k <= n_keys; k++) {
    key = order[k]
    split(key, part, " ")
    percent = sprintf("%.2f", int(10000 * least[key]) / 100)
    if (markdown) printf "|%s|`%s`|%d|%s %%|\n", part[1], part[2], points[key], percent
    else printf "%-22s %7d %7s%%%s\n", key, points[key], percent,
                least[key] < 1 ? " at " where[key] : ""
    failed = failed || least[key] < 1
  }
  exit failed || n_keys == 0
}
