# SPDX-License-Identifier: Apache-2.0
# sqsim run --explain table10 --json | awk -f paper.awk paper.csv -: the points of the paper's Figure 5, model,format,speedup,loss more.
FILENAME != "-" { split($0, c, ","); p[c[1], c[2]] = c[3]; next }
function value(key,   v) {
  if (!match($0, "\"" key "\":\"?[^,\"}]*")) return ""
  v = substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
  sub(/^"/, "", v)
  return v
}
function point(model, format, speedup) {
  if ((model, format) in p) printf "%s,%s,%s,%.6f\n", model, format, speedup, log(p[model, format] / p[model, "BF16"])
}
!value("model") { next }
value("sparsity") == 0.5 { point(value("model"), "GPTQ W4A8", 1); point(value("model"), "W4A(SQ6) static", value("paper_speedup")) }
value("sparsity") == 0.75 { point(value("model"), "W4A(SQ5) static", value("paper_speedup")); point(value("model"), "GPTQ W4A4", value("r")) }
