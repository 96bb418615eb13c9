# SPDX-License-Identifier: Apache-2.0
# Output of measure.sh -> the tables of reports/area/README.md. Areas in um2, paths in ns.
#   awk -f figures.awk DIR/*.txt
# A table stands between "<!-- table: NAME -->" and "<!-- end -->"; page.sh copies it into the page.
FNR == 1 {
  file = FILENAME; sub(/.*\//, "", file)
  lib = file; sub(/\..*/, "", lib); sub(/sc7p5t$/, "", lib)
  if (!(lib in seen)) { seen[lib] = 1; libs[++n_libs] = lib }
  if (file ~ /more/) first = lib
  if (head == "") { split($0, part, " [|] "); head = part[2] " | " part[3] " | " part[4] }
}
# LIBRARY.period.txt, given alone: two columns more in front, the period and whether it is met.
/^ +[0-9.]+ (yes|no) / {
  t = $1 + 0; b = $3
  if (!((lib, t) in timed)) { timed[lib, t] = 1; n_timed++; timed_lib[n_timed] = lib; timed_ns[n_timed] = t }
  at[lib, t, b] = $4; is_met[lib, t, b] = $2 == "yes"; reached[lib, t, b] = $8
  next
}
/^#/ || NF < 8 || $2 + 0 <= 0 || $1 == "block" { next }
{
  key = $1
  for (i = 9; i <= NF; i++)
    if ($1 ~ /^array/ ? $i ~ /^Rows=/ : ($1 == "dot" || $1 ~ /^mul/) ? $i ~ /^[AB]W=/ : $1 ~ /^gather/ && $i ~ /^(BankLen|Gather)=/) key = key " " $i
  area[lib, key] = $2; path[lib, key] = $6
  if (file ~ /table/) table[key] = $2
}

function have(l, k) { return area[l, k] > 0 }
function round(v, digits) { return sprintf("%." digits "f", v) }
function size8(l, k) { return have(l, k) ? round(area[l, k] / 64, 1) : "" }
function size(l, k) { return have(l, k) ? round(area[l, k], area[l, k] < 1000 ? 1 : 0) : "" }
function ratio(a, b) { return a > 0 && b > 0 ? sprintf("%+.1f %%", 100 * (a / b - 1)) : "" }
function open_table(name, title,   i) {
  print "<!-- table: " name " -->"
  printf "| %s |", title
}
function over_libs(   i, line, rule) {
  for (i = 1; i <= n_libs; i++) { printf " %s |", libs[i]; rule = rule "---|" }
  print "\n|---|" rule
}
function close_table() { print "<!-- end -->\n" }

# The law of arrays: area = Rows * Cols * PE + what is paid per line; from the PE and an 8 x 8 array.
function pe_of(k) { sub(/^array/, "pe", k); sub(/_(rank|radix)$/, "", k); return k }
function line_of(l, k) { return (area[l, k " Rows=8"] - 64 * area[l, pe_of(k)]) / 8 }
function law(l, k, n) { return have(l, k " Rows=8") ? area[l, pe_of(k)] + line_of(l, k) / n : 0 }
# The smallest n from which an n x n array `a` is at most `part` of array `b`; "never" where no n is.
function from_size(l, a, b, part,   per_pe, per_line, n) {
  if (!have(l, a " Rows=8")) return ""
  per_pe = part * area[l, pe_of(b)] - area[l, pe_of(a)]
  per_line = line_of(l, a) - part * line_of(l, b)
  if (per_pe <= 0) return "never"
  n = per_line / per_pe
  return n <= 1 ? 1 : (n == int(n) ? n : int(n) + 1)
}
function versus(a, b,   i) {
  printf "| %s against %s |", substr(a, 4), substr(b, 4)
  for (i = 1; i <= n_libs; i++) printf " %s |", have(libs[i], a) && have(libs[i], b) ? ratio(area[libs[i], a], area[libs[i], b]) : ""
  print ""
}

# At a clock: both must meet it.
function clocked(i, b) { b = "pe_" b; return is_met[timed_lib[i], timed_ns[i], b] ? at[timed_lib[i], timed_ns[i], b] : 0 }
function clocked_size(i, b,   a, l) {
  a = clocked(i, b); l = timed_lib[i]
  if (a > 0) return round(a, a < 1000 ? 1 : 0)
  return (l, timed_ns[i], "pe_" b) in at ? "not below " reached[l, timed_ns[i], "pe_" b] : ""
}

# Table 9 of the paper: its parts, in its unit: the low-bit multipliers of a SQ unit are .42. Sixteen
# weights a cycle, bank 16, four of them high; `low` bits of activation reach the low path. A sum is a
# dot product less its products, an accumulator a PE less its dot product.
function product(l, x, y, n) { return n * area[l, "mul AW=" x " BW=" y] }
function reading(l, low, x, y, shared,   unit, m, sum, acc, tail, g, total, dm, ds, dense) {
  if (!have(l, "mul AW=8 BW=8")) return
  unit = 0.42 / product(l, low, 4, 16)
  m = product(l, 8, 8, 4)
  sum = area[l, "mac_high"] - m + area[l, "dot AW=" low " BW=4"] - product(l, low, 4, 16)
  dense = area[l, "pe_int" y "x" x]
  tail = dense - area[l, "dot AW=" x " BW=" y]
  acc = 2 * tail
  g = area[l, "gather_mux BankLen=16 Gather=0"]
  if (!shared) g += area[l, "gather_rank BankLen=16"] + area[l, "gather_select BankLen=16 Gather=0"]
  dm = product(l, x, y, 16)
  ds = area[l, "dot AW=" x " BW=" y] - dm
  total = m + sum + acc + 0.42 / unit + g
  printf "| low path %dx4, gather %s | %s | %s | %s | .42 | %s | %s | INT%dx%d | %s | %s | %s | %s | %s |\n", low, shared ? "muxes" : "whole", \
    round(m * unit, 2), round(sum * unit, 2), round(acc * unit, 2), round(g * unit, 2), round(total * unit, 2), y, x, \
    round(dm * unit, 2), round(ds * unit, 2), round(tail * unit, 2), round(dense * unit, 2), ratio(total, dense)
}

function clock_tables(   n, m, i, j, name, pair, ab) {
  print "<!-- table: clock -->"
  printf "| library, period in ns |"; n = split("int4x6 int4x8 int6x6 int6x8 sentinel split_w split_a split_a_k2", name, " ")
  for (j = 1; j <= n; j++) printf " %s |", name[j]
  print "\n|---|---|---|---|---|---|---|---|---|"
  for (i = 1; i <= n_timed; i++) {
    printf "| %s, %s |", timed_lib[i], timed_ns[i]
    for (j = 1; j <= n; j++) printf " %s |", clocked_size(i, name[j])
    print ""
  }
  close_table()

  print "<!-- table: clock_versus -->"
  m = split("split_a_k2:int4x8 split_a_k2:int4x6 split_a_k2:int6x6 split_a:int4x8 split_a:int6x6 split_w:int6x8 sentinel:int6x8", pair, " ")
  printf "| library, period in ns |"
  for (j = 1; j <= m; j++) { split(pair[j], ab, ":"); printf " %s against %s |", ab[1], ab[2] }
  print "\n|---|---|---|---|---|---|---|---|"
  for (i = 1; i <= n_timed; i++) {
    printf "| %s, %s |", timed_lib[i], timed_ns[i]
    for (j = 1; j <= m; j++) { split(pair[j], ab, ":"); printf " %s |", ratio(clocked(i, ab[1]), clocked(i, ab[2])) }
    print ""
  }
  close_table()
}

END {
  print "<!-- make area" (n_timed > 0 ? "-clock" : "") " | " head " -->\n"
  if (n_timed > 0) { clock_tables(); exit }

  open_table("pe", "PE, 16 weights a cycle"); over_libs()
  n = split("int4x4 int4x6 int4x8 int6x6 int6x8 int8x8 sentinel tied split_w split_w_2b8 split_a split_a_k2", name, " ")
  for (j = 1; j <= n; j++) {
    printf "| %s |", name[j]
    for (i = 1; i <= n_libs; i++) printf " %s |", size(libs[i], "pe_" name[j])
    print ""
  }
  close_table()

  open_table("versus", "PE"); over_libs()
  versus("pe_split_a_k2", "pe_int4x8"); versus("pe_split_a_k2", "pe_int4x6"); versus("pe_split_a_k2", "pe_int6x6")
  versus("pe_split_a", "pe_int4x8"); versus("pe_split_a", "pe_int4x6"); versus("pe_split_a", "pe_int6x6")
  versus("pe_split_w", "pe_int6x8"); versus("pe_split_w_2b8", "pe_int6x8")
  versus("pe_sentinel", "pe_int6x8"); versus("pe_sentinel", "pe_int6x6"); versus("pe_tied", "pe_int6x6")
  close_table()

  open_table("path", "longest path, ns"); over_libs()
  n = split("int4x6 int4x8 int6x6 int6x8 sentinel split_w split_a split_a_k2", name, " ")
  for (j = 1; j <= n; j++) {
    printf "| %s |", name[j]
    for (i = 1; i <= n_libs; i++) printf " %s |", path[libs[i], "pe_" name[j]]
    print ""
  }
  close_table()

  open_table("array8", "array of 8 x 8 in one piece, per PE"); over_libs()
  n = split("int4x6 int4x8 split_a_k2", name, " ")
  for (j = 1; j <= n; j++) {
    printf "| %s |", name[j]
    for (i = 1; i <= n_libs; i++) printf " %s |", size8(libs[i], "array_" name[j] " Rows=8")
    print ""
  }
  close_table()

  print "<!-- table: array32 -->"
  print "| array of 32 x 32 in one piece | library | per PE | by the law | against INT4x8 | against INT4x6 |\n|---|---|---|---|---|---|"
  n = split("int4x6 int4x8 split_a_k2", name, " ")
  for (i = 1; i <= n_libs; i++) {
    l = libs[i]
    for (j = 1; j <= n; j++) {
      key = "array_" name[j]; big = key " Rows=32"
      if (!have(l, big)) continue
      print "| " name[j] " | " l " | " round(area[l, big] / 1024, 1) " | " (have(l, key " Rows=8") ? round(law(l, key, 32), 1) : "") " | " \
        ratio(area[l, big], area[l, "array_int4x8 Rows=32"]) " | " ratio(area[l, big], area[l, "array_int4x6 Rows=32"]) " |"
    }
  }
  close_table()

  open_table("law", "n x n arrays by the law, k = 2"); over_libs()
  m = split("16 32 64 128", sizes, " ")
  for (b = 1; b <= 2; b++) {
    unit = "array_split_a_k2"; base = b == 1 ? "array_int4x8" : "array_int4x6"
    for (j = 1; j <= m; j++) {
      printf "| static, n = %s, against %s |", sizes[j], b == 1 ? "INT4x8" : "INT4x6"
      for (i = 1; i <= n_libs; i++) printf " %s |", ratio(law(libs[i], unit, sizes[j]), law(libs[i], base, sizes[j]))
      print ""
    }
    printf "| static, %s from n = |", b == 1 ? "25 % below INT4x8" : "below INT4x6"
    for (i = 1; i <= n_libs; i++) printf " %s |", from_size(libs[i], unit, base, b == 1 ? 0.75 : 1)
    print ""
  }
  close_table()

  print "<!-- table: nine -->"
  print "| " first " | mult. | adder | acc. | low mult. | gather | **SQ** | baseline | mult. | adder | acc. | **total** | SQ |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
  print "| the paper, quoted | .42 | .24 | .21 | .42 | .783 | 2.073 | INT6 | 2.23 | 1.00 | .002 | 3.232 | -35.9 % |"
  for (s = 1; s >= 0; s--)
    for (b = 1; b <= 4; b++)
      reading(first, b % 2 ? 4 : 8, b <= 2 ? 6 : 8, 6, s)
  close_table()

  print "<!-- table: bank -->"
  print "| osu018, per weight and cycle | b = 4 | 8 | 16 | 32 | 64 | 128 |\n|---|---|---|---|---|---|---|"
  for (g = 0; g <= 1; g++)
    for (p = 1; p <= 4; p++) {
      what = p == 1 ? "rank" : p == 2 ? "select" : p == 3 ? "mux" : "sum"
      if (p == 1 && g == 1) continue
      printf "| %s |", p == 1 ? "gather: ranks (a column)" : (g ? "log: " : "crossbar: ") (p == 2 ? "selects (a column)" : p == 3 ? "muxes (a PE)" : "sum")
      for (b = 4; b <= 128; b *= 2) {
        r = area["osu018", "gather_rank BankLen=" b]; s = area["osu018", "gather_select BankLen=" b " Gather=" g]; m = area["osu018", "gather_mux BankLen=" b " Gather=" g]
        v = p == 1 ? r : p == 2 ? s : p == 3 ? m : r + s + m
        printf " %s |", (v > 0 ? round(v / b, 0) : "")
      }
      print ""
    }
  for (t = 1; t <= 2; t++) {
    what = t == 1 ? "rank" : "radix"
    printf "| TopK, %s (%s) |", what, t == 1 ? "a bank a cycle" : "a bank in 8 cycles"
    for (b = 4; b <= 128; b *= 2) printf " %s |", have("osu018", "topk_" what "_b" b) ? round(area["osu018", "topk_" what "_b" b] / b, 0) : ""
    print ""
  }
  close_table()
}
