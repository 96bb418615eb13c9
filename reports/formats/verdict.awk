# SPDX-License-Identifier: Apache-2.0
# awk -f verdict.awk -v library=NAME [-v clocks=CSV] [-v energy=CSV] [-v points=HEIGHT] [-v side=1] [-v lists=N] AREAS MORE_AREAS ROWS SMOLLM2 TINY [GEMMA]: the page of
# RULE.md for one library. clocks: netlists at periods, verdict_clock.csv; energy: reports/energy/energy.csv, if it is there. With points what the picture draws, lines "label|um2 a product|KL|low|high"; with side the KL of weights alone and of both sides;
# with lists=1 what beats what is listed for 32 rows alone, with lists=0 for none. AREAS are
# scaled.csv and verdict_area.csv, which goes before; the last ones are CSV files of kl_grid. What is not measured has no verdict.
function trim(s) { gsub(/^ +| +$/, "", s); return s }
# t of a two-sided 95 % interval with n - 1 degrees of freedom.
function student(n,   t, k) {
  k = split("12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228", t, " ")
  return n - 1 <= k ? t[n - 1] : 1.96 + 2.5 / (n - 1)
}
# KL(a) / KL(b): the geometric mean over sequences, and a t interval of its logarithm; false where one is not measured.
function ratio(model, a, b,   i, n, A, B, d, sum, squares) {
  if (!((model, a) in by_sequence) || !((model, b) in by_sequence)) return 0
  n = split(by_sequence[model, a], A, " ")
  if (split(by_sequence[model, b], B, " ") != n || n < 2) return 0
  sum = squares = 0
  for (i = 1; i <= n; i++) { d = log(A[i] / B[i]); sum += d; squares += d * d }
  sum /= n
  d = squares / n - sum * sum
  d = student(n) * sqrt((d > 0 ? d : 0) / (n - 1))
  value = exp(sum); low = exp(sum - d); high = exp(sum + d)
  return 1
}
function shown(model, a, b) { return a != b && ratio(model, a, b) ? sprintf("%.3f [%.3f, %.3f]", value, low, high) : a == b ? "1" : "" }

# Netlists of units, and fJ a MAC inside PEs of the smallest ones, without delays and with them.
BEGIN {
  while (clocks && (getline row_of_clocks < clocks) > 0) {
    split(row_of_clocks, c, ",")
    if (c[2] != library) continue
    k = ++netlists[c[1]]; net_area[c[1], k] = c[4]; net_path[c[1], k] = c[5]
  }
  while (energy && (getline row_of_energy < energy) > 0) {
    split(row_of_energy, c, ",")
    if (c[1] == library && c[2] == "pes" && c[6] == "") joules[c[3], c[9]] = c[11]
  }
}

FNR == 1 { file++ }
file <= 2 && !/^#/ { split($0, c, ","); if (c[2] == library) { area[c[1]] = c[3]; path[c[1]] = c[4] } next }
file == 3 && !/^#/ && NF {
  split($0, c, "|")
  label[++rows] = trim(c[1]); variant[rows] = trim(c[2])
  split(trim(c[3]), u, " "); pe[rows] = u[1]; one[rows] = u[2]
  encoder[rows] = trim(c[4])
  split(trim(c[5]), u, " "); lane[rows] = u[1]; sum_bits[rows] = u[2]
  is_main[rows] = c[6] ~ /main/; sets_clock[rows] = c[6] ~ /clock/
  next
}
file >= 4 && FNR > 2 {
  split($0, c, ",")
  model = file == 4 ? "smollm2" : file == 5 ? "tiny" : "gemma"
  bits[c[1]] = c[2]; kl[model, c[1]] = c[7]; kl_low[model, c[1]] = c[8]; kl_high[model, c[1]] = c[9]
  by_sequence[model, c[1]] = c[15]
}

# Parts of what 16 weights a cycle share in an array of 16384 products a cycle; 0 where something is not measured or not built.
function wide(i) { return pe[i] ~ /b32|_two/ ? 2 : 1 } # in 16 weights
function times(u) { return u ~ /^[0-9]+\*/ ? u + 0 : 1 } # N*unit
function name_of(u) { sub(/^[0-9]+\*/, "", u); return u }
function pes(i) { return (pe[i] in area) ? area[pe[i]] / wide(i) : 0 }
function column() { return area["array_nvint4_a_1x2"] - area["array_nvint4_a"] - area["pe_nvint4_a_fixed"] }
function line(i, height,   all) {
  if (!(one[i] in area) || !(pe[i] in area) || !("array_nvint4_a_1x2" in area)) return 0
  all = area[one[i]] - area[pe[i]]
  return (all - wide(i) * column()) * height / 1024 + column() / height
}
function slow(kind, u) { if (path[u] > slowest[kind]) slowest[kind] = path[u] }
function encode(i, height,   n, u, k, m, sum) {
  sum = 0
  n = split(encoder[i], u, " ")
  for (k = 1; k <= n; k++) {
    m = 1
    if (u[k] == "?") { bound[i] = 1; continue }
    if (u[k] ~ /^-/) { m = -1; u[k] = substr(u[k], 2) }
    m *= times(u[k]); u[k] = name_of(u[k])
    if (!(u[k] in area)) return 0
    slow("encoder", u[k])
    sum += m * area[u[k]] * height / 1024
  }
  return sum
}
function output(i) { return (lane[i] in area) ? 4 * area[lane[i]] / 1024 + 2 * area["nand2"] * sum_bits[i] / wide(i) : 0 }
function array(i, height) {
  if (!((i, height) in share))
    share[i, height] = pes(i) && line(i, height) && encode(i, height) && output(i) ? \
      pes(i) + line(i, height) + encode(i, height) + output(i) : 0
  return share[i, height]
}

# ---- at a clock period: of each unit the smallest netlist that meets it ------------------------
function at(u, period,   k, least) {
  least = path[u] != "" && path[u] + 0 <= period ? area[u] : 0
  for (k = 1; k <= netlists[u]; k++)
    if (net_path[u, k] + 0 <= period && (!least || net_area[u, k] + 0 < least)) least = net_area[u, k] + 0
  return least
}
function quickest(u,   k, least) {
  if (netlists[u]) least = path[u] + 0
  for (k = 1; k <= netlists[u]; k++) if (!least || net_path[u, k] + 0 < least) least = net_path[u, k] + 0
  return least + 0
}
# The area of a unit in front of a row: of one that meets the period, or of two that take turns and meet twice the period. Two have
# registers, six NAND2 a bit, that hold the 16 bits of each element. N*unit: N of them share the elements of a row.
function front(i, u, period,   one_of, pair, n) {
  n = times(u); u = name_of(u)
  one_of = at(u, period); pair = at(u, 2 * period)
  if (pair) pair = 2 * (pair + 6 * area["nand2"] * 16 * 16 * wide(i) / n)
  return n * (one_of && (!pair || one_of < pair) ? one_of : pair)
}
# The shortest period of the PE and of all that stands in front of a row; 0: not measured or not built.
function reach(i,   n, u, k, one_of, slowest_of) {
  slowest_of = quickest(pe[i])
  n = slowest_of ? split(encoder[i], u, " ") : 0
  for (k = 1; k <= n; k++) {
    one_of = name_of(u[k]) ~ /^[a-z]/ ? quickest(name_of(u[k])) / 2 : 0
    if (!one_of) return 0
    if (one_of > slowest_of) slowest_of = one_of
  }
  return slowest_of + 0
}
# Five percent longer than the rows that set it need: a few picoseconds cut nobody off.
function common(   i, longest) {
  for (i = 1; i <= rows; i++)
    if (sets_clock[i]) { if (!reach(i)) return 0; if (reach(i) > longest) longest = reach(i) }
  return 1.05 * longest
}
# As array(); where a combine lane is slower than the clock, more of them take turns.
function timed(i, height, period,   n, u, k, sum, lanes) {
  if (!period || !array(i, height) || !reach(i) || !at(pe[i], period) || i in bound) return 0
  n = split(encoder[i], u, " ")
  for (k = 1; k <= n; k++) {
    if (!front(i, u[k], period)) return 0
    sum += front(i, u[k], period) * height / 1024
  }
  lanes = int(path[lane[i]] / period); if (lanes < path[lane[i]] / period) lanes++
  return at(pe[i], period) / wide(i) + line(i, height) + sum + lanes * 4 * area[lane[i]] / 1024 + 2 * area["nand2"] * sum_bits[i] / wide(i)
}
# What areas are compared by: um2, or um2 times ns where clocks differ; steps of a search for speed count up to 3 %.
function figure(i, height) {
  return clock == "common" ? timed(i, height, common()) : clock == "fastest" ? timed(i, height, reach(i)) * reach(i) : array(i, height)
}

# 1: a is better than b; 0: they tie; -1: worse; "?": not known.
function by_kl(a, b,   m, sign, models, s) {
  if ((a, b) in known) return known[a, b]
  models = split("smollm2 tiny gemma", m, " ")
  s = ""
  for (k = 1; k <= models && s != "?"; k++) {
    if (!ratio(m[k], variant[a], variant[b])) { if (k <= 2) s = "?" }
    else { sign = high < 1 ? 1 : low > 1 ? -1 : 0; s = k == 1 || s == sign ? sign : 0 }
  }
  return known[a, b] = s
}
function by_bits(a, b,   x, y) {
  if (!(variant[a] in bits) || !(variant[b] in bits)) return "?"
  x = bits[variant[a]]; y = bits[variant[b]]
  return x < y ? 1 : x > y ? -1 : 0
}
function by_area(a, b, height,   x, y, width, sign) {
  x = figure(a, height); y = figure(b, height); width = clock ? 1.03 : 1.01
  if (!x || !y) return "?"
  sign = x < y / width ? 1 : x > y * width ? -1 : 0
  if (sign != 1 && (b in bound)) return "?" # b may be larger
  if (sign != -1 && (a in bound)) return "?"
  return sign
}
function judge(a, b, height,   x, y, z) {
  x = by_kl(a, b); y = by_bits(a, b); z = by_area(a, b, height)
  if (x "" == "?" || y "" == "?" || z "" == "?") return "?"
  if (x == 0 && y == 0 && z == 0) return "tie"
  return x >= 0 && y >= 0 && z >= 0 ? "beats" : x <= 0 && y <= 0 && z <= 0 ? "loses" : "trade"
}
function cell(x) { return x ? sprintf("%.*f", library ~ /^asap7/ ? 1 : 0, x) : "" }
function most(i, height) { return (i in bound && array(i, height) ? "at least " : "") cell(array(i, height)) }
function add(list, what) { return list (list == "" ? "" : "; ") what }
# KL of weights alone, or of both sides, of the format of row i.
function sides(operand, i,   v) {
  v = variant[i]
  sub(/operand=act/, "operand=" operand, v)
  if (operand == "weights") sub(/ act-scale=token2/, "", v)
  return v
}
function table_of_sides(   i, k, s, v, w, any, text, told) {
  print "\n| format | weights: KL | to NVFP4 | tiny-llama, to NVFP4 | both: KL | to NVFP4 | tiny-llama, to NVFP4 |\n|---|---|---|---|---|---|---|"
  split("weights both", s, " ")
  for (i = 1; i <= rows; i++) {
    any = 0; text = "| " label[i] " |"
    if (variant[i] in told) continue # another PE of the same format
    told[variant[i]]
    for (k = 1; k <= 2; k++) {
      v = sides(s[k], i); w = sides(s[k], base)
      any = any || (("smollm2", v) in kl) || (("tiny", v) in kl)
      text = text sprintf(" %s | %s | %s |", (("smollm2", v) in kl) ? sprintf("%.4f [%.4f, %.4f]", kl["smollm2", v], kl_low["smollm2", v],
        kl_high["smollm2", v]) : "", shown("smollm2", v, w), shown("tiny", v, w))
    }
    if (any && variant[i] ~ /operand=act/) print text
  }
}
# pJ are those of the netlists of smallest area, as reports/energy has them.
function burnt(i,   name) {
  name = pe[i]; sub(/^pe_/, "", name); sub(/_fixed$|_acc[0-9]+$/, "", name)
  return ((name, "with_delays") in joules) ? sprintf("%.0f to %.0f", joules[name, "zero_delay"], joules[name, "with_delays"]) : ""
}
function table_of_clocks(   i, j, h, m, modes, v, text, some) {
  if (!common()) return
  printf "\nAt clocks: the common one has %.2f ns; um2 times ns at the fastest of each.\n", common()
  print "\n| activations in | 32 rows, common | 16 rows | 8 rows | fastest, ns | 32 rows, um2 ns | 16 rows | 8 rows |\n|---|---|---|---|---|---|---|---|"
  for (i = 1; i <= rows; i++) {
    if (!reach(i) || i in bound) continue
    printf "| %s |", label[i]
    for (h = 1; h <= heights; h++) printf " %s |", cell(timed(i, height[h], common()))
    printf " %.2f |", reach(i)
    for (h = 1; h <= heights; h++) printf " %s |", cell(timed(i, height[h], reach(i)) * reach(i))
    print ""
  }
  print "\n| the first against the second | relaxed: 32 rows | 16 | 8 | common: 32 | 16 | 8 | fastest: 32 | 16 | 8 |\n|---|---|---|---|---|---|---|---|---|---|"
  modes = split("relaxed common fastest", v, " ")
  for (i = 1; i <= rows; i++)
    for (j = i + 1; j <= rows; j++) {
      if (!is_main[i] || !is_main[j]) continue
      printf "| %s against %s |", label[i], label[j]
      for (m = 1; m <= modes; m++)
        for (h = 1; h <= heights; h++) {
          clock = m == 1 ? "" : v[m]
          text = judge(i, j, height[h])
          printf " %s |", text == "?" ? "" : text
        }
      print ""
    }
  clock = ""
}
# What the rule charges and does not: areas without encoders, as if codes were stored once and read again, and bits of operands at the edge.
function table_of_edges(   i, h) {
  print "\n| main rows | without encoders: 32 rows | 16 | 8 | bits a cycle at the edge: 32 | 16 | 8 |\n|---|---|---|---|---|---|---|"
  for (i = 1; i <= rows; i++) {
    if (!is_main[i] || !array(i, 32)) continue
    printf "| %s |", label[i]
    for (h = 1; h <= heights; h++) printf " %s |", cell(array(i, height[h]) - encode(i, height[h]))
    for (h = 1; h <= heights; h++) printf " %.0f |", height[h] * 16 * wide(i) * bits[variant[i]] + 1024 / height[h] * 64
    print ""
  }
}
END {
  for (i = 1; i <= rows; i++) if (label[i] == "NVFP4") base = i
  if (side) { table_of_sides(); exit }
  if (points) {
    for (i = 1; i <= rows; i++)
      if (array(i, points) && ("smollm2", variant[i]) in kl)
        printf "%s|%.2f|%s|%s|%s\n", (i in bound ? ">" : "") label[i], array(i, points) / 16, kl["smollm2", variant[i]],
          kl_low["smollm2", variant[i]], kl_high["smollm2", variant[i]]
    exit
  }
  heights = split("32 16 8", height, " ")
  print "\n| activations in | bits | KL | to NVFP4 | PE, um2 | fJ a MAC | line | encoder | output | 32 rows | 16 rows | 8 rows | KL, tiny-llama, to NVFP4 | KL, Gemma-3-270M, to NVFP4 | constant scale, to token2 |"
  print "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
  for (i = 1; i <= rows; i++) {
    v = variant[i]; constant = v
    sub(/act-scale=token2/, "act-scale=static", constant)
    printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", label[i], bits[v],
      (("smollm2", v) in kl) ? sprintf("%.4f [%.4f, %.4f]", kl["smollm2", v], kl_low["smollm2", v], kl_high["smollm2", v]) : "",
      shown("smollm2", v, variant[base]), cell(pes(i)), burnt(i), cell(line(i, 32)), cell(encode(i, 32)), cell(output(i)),
      most(i, 32), most(i, 16), most(i, 8), shown("tiny", v, variant[base]), shown("gemma", v, variant[base]), constant == v ? "" : shown("smollm2", constant, v)
    slow("PE", pe[i]); slow("output", lane[i])
    if (!(("smollm2", v) in kl) || !(("tiny", v) in kl)) no_kl = add(no_kl, label[i])
    if (!array(i, 32)) no_area = add(no_area, label[i])
  }
  printf "\n%s: slowest PE %.2f ns, encoder %.2f, combine lane %.2f (netlists of smallest area, OpenSTA).\n", library, slowest["PE"],
    slowest["encoder"], slowest["output"]
  if (no_kl) print "\n**KL not measured**, so no verdict: " no_kl "."
  if (no_area) print "\n**Area not measured, or not built**, so no verdict: " no_area "."
  for (h = 1; h <= (lists == "" ? heights : lists); h++) {
    printf "\n| %d rows | beats | is beaten by | ties with | better KL for more area or bits |\n|---|---|---|---|---|\n", height[h]
    for (i = 1; i <= rows; i++) {
      wins = loses = ties = trades = ""; some = 0
      for (j = 1; j <= rows; j++) {
        if (i == j) continue
        v = judge(i, j, height[h])
        some = some || v != "?"
        if (v == "beats") wins = add(wins, label[j])
        if (v == "loses") loses = add(loses, label[j])
        if (v == "tie") ties = add(ties, label[j])
        if (v == "trade" && by_kl(i, j) == 1) trades = add(trades, label[j])
      }
      if (some) printf "| %s | %s | %s | %s | %s |\n", label[i], wins, loses, ties, trades
    }
  }
  table_of_edges()
  table_of_clocks()
}
