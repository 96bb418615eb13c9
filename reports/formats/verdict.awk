# SPDX-License-Identifier: Apache-2.0
# awk -f verdict.awk -v library=NAME [-v points=HEIGHT] [-v side=1] AREAS MORE_AREAS ROWS SMOLLM2 TINY: the page of RULE.md for one library; with
# points what the picture draws, lines "label|um2 a product|KL|low|high"; with side the KL of weights alone and of both sides. AREAS are
# scaled.csv and verdict_area.csv, which goes before; the last two are CSV files of kl_grid. What is not measured has no verdict.
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

FNR == 1 { file++ }
file <= 2 && !/^#/ { split($0, c, ","); if (c[2] == library) { area[c[1]] = c[3]; path[c[1]] = c[4] } next }
file == 3 && !/^#/ && NF {
  split($0, c, "|")
  label[++rows] = trim(c[1]); variant[rows] = trim(c[2])
  split(trim(c[3]), u, " "); pe[rows] = u[1]; one[rows] = u[2]
  encoder[rows] = trim(c[4])
  split(trim(c[5]), u, " "); lane[rows] = u[1]; sum_bits[rows] = u[2]
  next
}
file >= 4 && FNR > 2 {
  split($0, c, ",")
  model = file == 4 ? "smollm2" : "tiny"
  bits[c[1]] = c[2]; kl[model, c[1]] = c[7]; kl_low[model, c[1]] = c[8]; kl_high[model, c[1]] = c[9]
  by_sequence[model, c[1]] = c[15]
}

# Parts of what 16 weights a cycle share in an array of 16384 products a cycle; 0 where something is not measured or not built.
function wide(i) { return pe[i] ~ /b32/ ? 2 : 1 } # in 16 weights
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
    if (u[k] ~ /^[0-9]+\*/) { m = u[k] + 0; sub(/^[0-9]+\*/, "", u[k]) }
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

# 1: a is better than b; 0: they tie; -1: worse; "?": not known.
function by_kl(a, b,   m, sign, models, s) {
  if ((a, b) in known) return known[a, b]
  models = split("smollm2 tiny", m, " ")
  s = ""
  for (k = 1; k <= models && s != "?"; k++) {
    if (!ratio(m[k], variant[a], variant[b])) s = "?"
    else { sign = high < 1 ? 1 : low > 1 ? -1 : 0; s = k == 1 || s == sign ? sign : 0 }
  }
  return known[a, b] = s
}
function by_bits(a, b,   x, y) {
  if (!(variant[a] in bits) || !(variant[b] in bits)) return "?"
  x = bits[variant[a]]; y = bits[variant[b]]
  return x < y ? 1 : x > y ? -1 : 0
}
function by_area(a, b, height,   x, y, sign) {
  x = array(a, height); y = array(b, height)
  if (!x || !y) return "?"
  sign = x < y / 1.01 ? 1 : x > y * 1.01 ? -1 : 0
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
function table_of_sides(   i, k, s, v, w, any, text) {
  print "\n| format | weights: KL | to NVFP4 | tiny-llama, to NVFP4 | both: KL | to NVFP4 | tiny-llama, to NVFP4 |\n|---|---|---|---|---|---|---|"
  split("weights both", s, " ")
  for (i = 1; i <= rows; i++) {
    any = 0; text = "| " label[i] " |"
    for (k = 1; k <= 2; k++) {
      v = sides(s[k], i); w = sides(s[k], base)
      any = any || (("smollm2", v) in kl) || (("tiny", v) in kl)
      text = text sprintf(" %s | %s | %s |", (("smollm2", v) in kl) ? sprintf("%.4f [%.4f, %.4f]", kl["smollm2", v], kl_low["smollm2", v],
        kl_high["smollm2", v]) : "", shown("smollm2", v, w), shown("tiny", v, w))
    }
    if (any && variant[i] ~ /operand=act/) print text
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
  print "\n| activations in | bits | KL | to NVFP4 | PE, um2 | line | encoder | output | 32 rows | 16 rows | 8 rows | KL, tiny-llama, to NVFP4 | constant scale, to token2 |"
  print "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
  for (i = 1; i <= rows; i++) {
    v = variant[i]; constant = v
    sub(/act-scale=token2/, "act-scale=static", constant)
    printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", label[i], bits[v],
      (("smollm2", v) in kl) ? sprintf("%.4f [%.4f, %.4f]", kl["smollm2", v], kl_low["smollm2", v], kl_high["smollm2", v]) : "",
      shown("smollm2", v, variant[base]), cell(pes(i)), cell(line(i, 32)), cell(encode(i, 32)), cell(output(i)),
      most(i, 32), most(i, 16), most(i, 8), shown("tiny", v, variant[base]), constant == v ? "" : shown("smollm2", constant, v)
    slow("PE", pe[i]); slow("output", lane[i])
    if (!(("smollm2", v) in kl) || !(("tiny", v) in kl)) no_kl = add(no_kl, label[i])
    if (!array(i, 32)) no_area = add(no_area, label[i])
  }
  printf "\n%s: slowest PE %.2f ns, encoder %.2f, combine lane %.2f (netlists of smallest area, OpenSTA).\n", library, slowest["PE"],
    slowest["encoder"], slowest["output"]
  if (no_kl) print "\n**KL not measured**, so no verdict: " no_kl "."
  if (no_area) print "\n**Area not measured, or not built**, so no verdict: " no_area "."
  for (h = 1; h <= heights; h++) {
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
}
