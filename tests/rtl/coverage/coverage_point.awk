# SPDX-License-Identifier: Apache-2.0
# What a line of a coverage file of Verilator says.

# value(LINE, KEY): one of its fields.
function value(text, key,    i, rest) {
  i = index(text, "\001" key "\002")
  if (i == 0) return ""
  rest = substr(text, i + length(key) + 2)
  i = index(rest, "\001")
  return i > 0 ? substr(rest, 1, i - 1) : rest
}
# line, toggle, or "" of what is not counted; the clock is not (write_coverage of sim/cosim/sq_rtl.h).
function kind_of(text,    page) {
  page = value(text, "page")
  if (page ~ /^v_toggle/ && value(text, "o") == "clk_i") return ""
  return page ~ /^v_toggle/ ? "toggle" : page ~ /^v_(line|branch)/ ? "line" : ""
}
function file_of(text,    file) {
  file = value(text, "f")
  sub(/.*\//, "", file)
  return file
}
# The name of a bit in every list: "file signal[bit]".
function bit_of(file, what) { return file " " what (what ~ /\]$/ ? "" : "[0]") }
# A bit toggled when it rose and fell after reset within one run (SQ_RTL_TWICE of sim/cosim/sq_rtl.h).
function is_covered(kind, hits) { return hits >= (kind == "line" ? 1 : 1048576) }
