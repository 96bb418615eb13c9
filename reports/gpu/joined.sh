#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The formats that a paper gives a speedup of, one row each, from `sqsim compare --joined`: joined.sh SQSIM
set -euo pipefail
"$1" compare --joined --json | awk '
  function text(key) {return match($0, "\"" key "\":\"[^\"]*\"") ? substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 5) : ""}
  function number(key) {return match($0, "\"" key "\":[-0-9.e+]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0 : 0}
  function range(list,   v, n) { # of numbers, sorted by value
    n = sorted(list, v)
    return n == 0 ? "-" : v[1] == v[n] ? v[1] : v[1] " to " v[n]
  }
  function sorted(list, v,   n, i, j, t) {
    n = split(list, v, " ")
    for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) {t = v[j]; v[j] = v[j - 1]; v[j - 1] = t}
    return n
  }
  function middle(list,   v, n) {n = sorted(list, v); return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2}
  function put(list, key) {return number(key) > 0 ? list sprintf(" %.2f", number(key)) : list}
  function rank(x, y,   i, j, m, p, q, s, u, w) { # Spearman
    m = (n + 1) / 2
    for (i = 1; i <= n; i++) {
      p = q = 0.5 - m
      for (j = 1; j <= n; j++) {p += x[j] < x[i] ? 1 : x[j] == x[i] ? .5 : 0; q += y[j] < y[i] ? 1 : y[j] == y[i] ? .5 : 0}
      s += p * q; u += p * p; w += q * q
    }
    return sprintf("%.2f", s / sqrt(u * w))
  }
  number("paper_speedup") == 0 {next}
  {key = text("format") ", M " text("m")}
  key != name[n] {name[++n] = key; paper[n] = number("paper_speedup"); note[n] = text("note")}
  {simulated[n] = put(simulated[n], "simulated_speedup"); measured[n] = put(measured[n], "measured_speedup")
   predicted[n] = put(predicted[n], "speedup"); roofline[n] = put(roofline[n], "roofline_speedup")}
  END {
    print "| format | accelerator, simulated | GPUs, measured | GPUs, predicted | by the roofline | paper | where they differ, why |"
    print "|---|---|---|---|---|---|---|"
    for (i = 1; i <= n; i++) {
      printf "| %s | %s | %s | %s | %s | %.2f | %s |\n", name[i], range(simulated[i]), range(measured[i]), range(predicted[i]), range(roofline[i]), paper[i], note[i]
      a[i] = middle(simulated[i]); g[i] = middle(measured[i] != "" ? measured[i] : predicted[i]); p[i] = paper[i]
    }
    printf "\nRank correlation over these %d rows, medians over GPUs, measured where there are: accelerator and GPU %s, accelerator and paper %s, GPU and paper %s.\n", n, rank(a, g), rank(a, p), rank(g, p)
  }'
