# SPDX-License-Identifier: Apache-2.0
# awk -f verdict.awk -v library=NAME scaled.csv verdict.txt [smollm2.csv]: the page of RULE.md. Areas of one library;
# rows without a line in smollm2.csv carry the pilot's KL and no verdict.
function trim(s) { gsub(/^ +| +$/, "", s); return s }
function random(n) { seed = seed * 16807 % 2147483647; return int(seed / 2147483647 * n) + 1 }

# KL(a) / KL(b) over the same sequences: value, low, high.
function ratio(a, b,   i, r, s, n, x, y, A, B, drawn) {
  n = split(sequences[a], A, " ")
  split(sequences[b], B, " ")
  x = y = 0
  for (i = 1; i <= n; i++) { x += A[i]; y += B[i] }
  value = x / y
  seed = 1
  for (r = 1; r <= 2000; r++) {
    x = y = 0
    for (i = 1; i <= n; i++) { s = random(n); x += A[s]; y += B[s] }
    drawn[r] = x / y
  }
  sort(drawn, 2000)
  low = drawn[51]; high = drawn[1950]
}
function sort(d, n,   gap, i, j, t) {
  for (gap = int(n / 2); gap > 0; gap = int(gap / 2))
    for (i = gap + 1; i <= n; i++) {
      t = d[i]
      for (j = i; j > gap && d[j - gap] > t; j -= gap) d[j] = d[j - gap]
      d[j] = t
    }
}

FNR == 1 { file++ }
file == 1 && !/^#/ { n = split($0, c, ","); if (c[2] == library) { area[c[1]] = c[3]; path[c[1]] = c[4] } next }
file == 2 && /^#/ { next }
file == 2 {
  split($0, c, "|")
  label[++rows] = trim(c[1]); variant[rows] = trim(c[2]); bits[rows] = trim(c[3]); pilot[rows] = trim(c[4])
  split(trim(c[5]), u, " "); pe[rows] = u[1]; one[rows] = u[2]
  encoder[rows] = trim(c[6])
  split(trim(c[7]), u, " "); lane[rows] = u[1]; sum_bits[rows] = u[2]
  next
}
file == 3 && FNR > 2 {
  n = split($0, c, ",")
  for (i = 1; i <= rows; i++) if (variant[i] == c[1]) { kl[i] = c[7]; bits[i] = c[2]; kl_low[i] = c[8]; kl_high[i] = c[9]; sequences[i] = c[15] }
}

# The parts of a PE's share of an array; 0 where something is not built or not measured.
function pes(i) { return area[pe[i]] * (pe[i] ~ /b32/ ? .5 : 1) }
function slow(kind, u) { if (path[u] > slowest[kind]) slowest[kind] = path[u] }
function line(i) { return (one[i] in area) && (pe[i] in area) ? (area[one[i]] - area[pe[i]]) / 32 : 0 }
function encode(i,   n, u, k, m, sum) {
  sum = 0
  n = split(encoder[i], u, " ")
  for (k = 1; k <= n; k++) {
    m = 1
    if (u[k] == "?") { bound[i] = 1; continue }
    if (u[k] ~ /^-/) { m = -1; u[k] = substr(u[k], 2) }
    if (u[k] ~ /^[0-9]+\*/) { m = u[k] + 0; sub(/^[0-9]+\*/, "", u[k]) }
    if (!(u[k] in area)) return 0
    slow("encoder", u[k])
    sum += m * area[u[k]] / 32
  }
  return sum
}
function output(i) {
  return (lane[i] in area) ? 4 * area[lane[i]] / 1024 + 2 * area["nand2"] * sum_bits[i] * (pe[i] ~ /b32/ ? .5 : 1) : 0
}
function array(i) {
  if (!(i in share)) share[i] = pes(i) && line(i) && encode(i) && output(i) ? pes(i) + line(i) + encode(i) + output(i) : 0
  return share[i]
}
function lacks(a, b,   what) { # what row a lacks to beat row b
  what = ""
  if (!(a in kl) || !(b in kl)) what = what " KL?"
  else {
    if (!((a, b) in upper)) { ratio(a, b); upper[a, b] = high }
    if (upper[a, b] >= 1) what = what " KL"
  }
  if (bits[a] > bits[b]) what = what " bits"
  if (!array(a) || !array(b)) what = what " area?"
  else if (array(a) > array(b) * 1.01) what = what (b in bound ? " area?" : " area")
  else if (a in bound) what = what " area?"
  return what
}
function cell(x) { return x ? sprintf("%.*f", library ~ /^asap7/ ? 1 : 0, x) : "" }
END {
  print "\n| activations in | bits | KL | to NVFP4 | PE, um2 | line | encoder | output | array, um2 a PE |\n|---|---|---|---|---|---|---|---|---|"
  for (i = 1; i <= rows; i++) if (label[i] == "NVFP4") base = i
  for (i = 1; i <= rows; i++) {
    r = i == base ? "1" : ""
    if (i != base && (i in kl) && (base in kl)) { ratio(i, base); r = sprintf("%.3f [%.3f, %.3f]", value, low, high) }
    printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", label[i], bits[i],
      (i in kl) ? sprintf("%.4f [%.4f, %.4f]", kl[i], kl_low[i], kl_high[i]) : pilot[i] != "" ? pilot[i] " (pilot)" : "",
      r, cell(pes(i)), cell(line(i)), cell(encode(i)), cell(output(i)), (i in bound && array(i) ? "at least " : "") cell(array(i))
    slow("PE", pe[i]); slow("output", lane[i])
    if (!(i in kl)) no_kl = no_kl (no_kl ? "; " : "") label[i]
    if (!array(i)) no_area = no_area (no_area ? "; " : "") label[i]
  }
  period = slowest["PE"]
  for (kind in slowest) if (slowest[kind] > period) period = slowest[kind]
  printf "\n%s; every part meets %.2f ns: PEs %.2f, encoders %.2f, the combine lane %.2f (netlists of smallest area, OpenSTA). At least: a part of the encoder is not built.\n",
    library, period, slowest["PE"], slowest["encoder"], slowest["output"]
  if (no_kl) print "\n**KL not measured yet**, so no verdict: " no_kl "."
  if (no_area) print "\n**Area not measured, or not built**: " no_area "."
  print "\n| row | beats | is beaten by | no verdict against (what it lacks to win) |\n|---|---|---|---|"
  for (i = 1; i <= rows; i++) {
    wins = loses = open = ""
    for (j = 1; j <= rows; j++) {
      if (i == j) continue
      mine = lacks(i, j)
      if (mine == "") wins = wins (wins ? "; " : "") label[j]
      else if (lacks(j, i) == "") loses = loses (loses ? "; " : "") label[j]
      else if (label[j] ~ /^(NVFP4|NVINT4, Hadamard 16|NVINT5|INT6 per token|INT8 per token)$/)
        open = open (open ? "; " : "") label[j] ":" mine
    }
    printf "| %s | %s | %s | %s |\n", label[i], wins, loses, open
  }
}
