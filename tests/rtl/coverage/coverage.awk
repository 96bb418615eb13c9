# SPDX-License-Identifier: Apache-2.0
# Line and toggle coverage per file from a merged file of verilator_coverage.
#
#   awk -v json=0 -v constants=FILE -v waivers=FILE -v rtl=DIR -f coverage_point.awk -f coverage.awk MERGED.dat
#
# Points of one place in differently parameterised modules are one point: a line or branch arm by
# file, line, column and kind; a toggle by file, signal and bit. A line is covered when it ran, a
# bit when it rose and fell after reset within one run. Constants: "file signal[bit]" of the bits that
# are proven to be none (constants.sh); they do not count. Waivers: file or *, kind, a regular
# expression (toggle: of SIGNAL[BIT]; line: of the text of the line), " # " and the reason. A waived
# point does not count; a waiver that no uncovered point needs is an error. Exit 1 below the goals,
# with a bit that is left, or with an unused waiver. The goal of bits is one without waivers.
function percent(n, of) { return of > 0 ? sprintf("%.2f", 100 * n / of) : "-" }
function source(file, number,    path, n) {
  if (!((file, 0) in text)) {
    path = rtl "/" file
    for (n = 1; (getline text[file, n] < path) > 0; n++) continue
    close(path)
    text[file, 0] = n
  }
  return text[file, number]
}
BEGIN {
  while ((getline line < constants) > 0) constant[line]
  while ((getline line < waivers) > 0) {
    if (line ~ /^ *(#|$)/) continue
    reason_at = index(line, " # ")
    split(line, word, " ")
    pattern = substr(line, 1, reason_at - 1)
    sub(/^[^ ]+ +[^ ]+ +/, "", pattern)
    sub(/ +$/, "", pattern)
    if (reason_at == 0 || word[2] !~ /^(line|toggle)$/ || pattern == "") {
      print "coverage: a waiver without file, kind, pattern or reason: " line > "/dev/stderr"
      failed = 1
      continue
    }
    n_waivers++
    w_file[n_waivers] = word[1]; w_kind[n_waivers] = word[2]; w_pattern[n_waivers] = pattern
    w_reason[n_waivers] = substr(line, reason_at + 3)
  }
}
/^C / {
  count = $NF
  data = substr($0, 4, length($0) - 5 - length(count))
  file = file_of(data)
  what = value(data, "o")
  kind = kind_of(data)
  if (kind == "") next
  if (kind == "line") what = value(data, "l") ":" value(data, "n") " " what
  key = kind SUBSEP file SUBSEP what
  if (!(key in hits)) { order[++n_points] = key; at[key] = value(data, "l") }
  hits[key] += count
  files[file] = 1
}
END {
  for (p = 1; p <= n_points; p++) {
    key = order[p]
    split(key, part, SUBSEP)
    kind = part[1]; file = part[2]; what = part[3]
    if (is_covered(kind, hits[key])) { n[file, kind]++; covered[file, kind]++; continue }
    if (kind == "toggle" && bit_of(file, what) in constant) { n_constant[file]++; continue }
    subject = kind == "toggle" ? what : source(file, at[key])
    for (w = 1; w <= n_waivers; w++)
      if ((w_file[w] == file || w_file[w] == "*") && w_kind[w] == kind && subject ~ w_pattern[w]) break
    if (w <= n_waivers) { used[w]++; waived[file, kind]++; continue }
    n[file, kind]++
    missing[++n_missing] = sprintf("%s:%s: %s %s", file, at[key], kind,
                                   kind == "toggle" ? what : what ": " subject)
  }
  n_files = 0
  for (file in files) names[++n_files] = file
  for (i = 2; i <= n_files; i++)  # by name
    for (j = i; j > 1 && names[j] < names[j-1]; j--) {
      swap = names[j]; names[j] = names[j-1]; names[j-1] = swap
    }
  if (!json) printf "%-22s %7s %7s %7s %7s  %9s %9s %8s %7s %7s\n", "file", "lines", "covered",
                    "waived", "%", "bits", "toggled", "constant", "waived", "%"
  for (i = 1; i <= n_files + 1; i++) {
    file = i <= n_files ? names[i] : "total"
    if (i <= n_files) {
      n_constant["total"] += n_constant[file]
      for (k = 1; k <= 2; k++) {
        kind = k == 1 ? "line" : "toggle"
        n["total", kind] += n[file, kind]
        covered["total", kind] += covered[file, kind]
        waived["total", kind] += waived[file, kind]
      }
    }
    lines = n[file, "line"] + 0; bits = n[file, "toggle"] + 0
    line_percent = percent(covered[file, "line"], lines)
    bit_percent = percent(covered[file, "toggle"], bits)
    if (!json)
      printf "%-22s %7d %7d %7d %7s  %9d %9d %8d %7d %7s\n", file, lines, covered[file, "line"],
             waived[file, "line"], line_percent, bits, covered[file, "toggle"],
             n_constant[file], waived[file, "toggle"], bit_percent
    else
      printf "{\"%s\":%s\"lines\":%d,\"lines_covered\":%d,\"lines_waived\":%d,\"bits\":%d," \
             "\"bits_toggled\":%d,\"bits_constant\":%d,\"bits_waived\":%d}\n",
             i <= n_files ? "file" : "summary", i <= n_files ? "\"" file "\"," : "true,", lines,
             covered[file, "line"], waived[file, "line"], bits, covered[file, "toggle"],
             n_constant[file], waived[file, "toggle"]
  }
  toggled = covered["total", "toggle"]
  free = n["total", "toggle"] + waived["total", "toggle"]
  free_percent = percent(toggled, free)
  if (!json) {
    printf "bits without waivers: %s %% of %d; without proven constants %s %% of %d\n",
           percent(toggled, free + n_constant["total"]), free + n_constant["total"], free_percent, free
    for (m = 1; m <= n_missing; m++) print "uncovered " missing[m]
    for (w = 1; w <= n_waivers; w++)
      printf "waived %d: %s %s %s: %s\n", used[w], w_file[w], w_kind[w], w_pattern[w], w_reason[w]
  }
  for (w = 1; w <= n_waivers; w++)
    if (!used[w]) {
      print "coverage: unused waiver: " w_file[w] " " w_kind[w] " " w_pattern[w] > "/dev/stderr"
      failed = 1
    }
  if (n_missing > 0) {
    printf "coverage: %d lines and bits neither covered, proven constant nor waived\n", n_missing > "/dev/stderr"
    failed = 1
  }
  if (line_percent == "-" || bit_percent == "-" || line_percent + 0 < line_goal ||
      free_percent + 0 < toggle_goal) {
    printf "coverage: lines %s %%, need %s; toggle %s %% of what is no constant, need %s\n",
           line_percent, line_goal, free_percent, toggle_goal > "/dev/stderr"
    failed = 1
  }
  exit failed
}
