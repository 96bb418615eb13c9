# SPDX-License-Identifier: Apache-2.0
# CSV of accuracy_grid -> Markdown tables. A cell is nats per token, or a relative output error.
#   awk -F, -f tables.awk build/tiny-llama.csv
BEGIN { split("4 8 16 32 64 128", banks, " "); split("0.5 0.75 0.875 0.9375", sparsities, " ") }
/^#/ || $1 == "family" { next }
{
  family = $1; format = $2; variant = $3; pair = $4 "/" $5; bank = $6; s = $7
  wbits = $8; abits = $9; algorithm = $10; score = $11; smooth = $12; bits = $13; value = $14
  if (family == "reference") reference = value
  else if (family == "baseline") {
    key = "W" wbits "A" abits
    if (!(key in seen)) { order[++n_base] = key; seen[key] = 1 }
    base[key, algorithm, smooth] = value
  } else {
    name = format == "sq_w" ? "W(" variant " " pair ")A" abits : "W" wbits "A(" variant " " pair ") " substr(format, 6)
    if (variant == "fp") name = "W(fp 8/4)A(fp8)"
    if (family == "rtn") name = name ", rtn"
    if (family == "smooth") name = name ", SmoothQuant " smooth
    if (family == "score") name = name ", score " score
    if (family == "mask" && format == "sq_a_static") name = name ", mask by |x| alone"
    if (family == "mask" && format != "sq_a_static") name = "W4A(" variant " " pair ") dynamic, INT8 selection"
    if (!(name in known)) { names[++n_names] = name; known[name] = 1 }
    cell[name, s, bank] = value
    width[name, s] = bits
  }
}
function show(v) { return v == "" ? "" : sprintf("%.4f", v) }
END {
  if (reference != "") printf "Reference, binary32: %.6f\n\n", reference
  print "| plain | RTN | GPTQ | RTN, SmoothQuant .5 | GPTQ, SmoothQuant .5 |\n|---|---|---|---|---|"
  for (i = 1; i <= n_base; i++) {
    k = order[i]
    print "| " k " | " show(base[k, "rtn", "-1"]) " | " show(base[k, "gptq", "-1"]) " | " \
      show(base[k, "rtn", "0.5"]) " | " show(base[k, "gptq", "0.5"]) " |"
  }
  print "\n| recipe | sparsity | bits | b=4 | 8 | 16 | 32 | 64 | 128 |\n|---|---|---|---|---|---|---|---|---|"
  for (i = 1; i <= n_names; i++)
    for (j = 1; j <= 4; j++) {
      name = names[i]; s = sparsities[j]
      if ((name, s) in width) {
        row = name
        gsub(/[|]/, "\\\\|", row)
        row = "| " row " | " s " | " width[name, s] " |"
        for (b = 1; b <= 6; b++) row = row " " show(cell[name, s, banks[b]]) " |"
        print row
      }
    }
}
