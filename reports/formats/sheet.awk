# SPDX-License-Identifier: Apache-2.0
# awk -f sheet.awk sheet.csv: the page of it. A dash is a figure that no command has written; below the table, why.
BEGIN { FS = ","; n_subjects = split("tiny stories smollm2", subject, " "); split("tiny-llama,stories260K,SmolLM2", name, ",") }
/^#/ { next }
!columns { for (columns = 1; columns <= NF; columns++) at[$columns] = columns; next }
function field(c) { return $at[c] }
function note(kind, row) { if (!((kind, row) in noted)) { noted[kind, row]; notes[kind] = notes[kind] (notes[kind] ? "; " : "") row } }
function number(c, format, scale, kind) {
  if (field(c) == "") { if (kind) note(kind, field("format")); return "-" }
  if (field(c) == "not modelled") return "not modelled"
  return sprintf(format, field(c) * scale)
}
function text(c) { return field(c) == "" ? "-" : field(c) }
function kl(s) {
  if (field("format") == "FP16") return "0"
  if (field(s "_kl") == "") return "-"
  return sprintf("%.4f [%.4f, %.4f]", field(s "_kl"), field(s "_kl_low"), field(s "_kl_high"))
}
function area(c, kind,   v) {
  v = field(c)
  if (v == "") { note(kind, field("format")); return "-" }
  return (v ~ /^>/ ? "at least " substr(v, 2) : v) (field("area_from") ~ /^figures/ ? " (wide)" : "")
}
{
  row = "| " field("format") " |"
  for (i = 1; i <= n_subjects; i++) {
    s = subject[i]
    row = row " " (field("format") == "FP16" ? "" : number(s "_weight_bits", "%.2f", 1)) " | " number(s "_loss", "%.4f", 1, "loss " name[i]) " | " kl(s) " |"
  }
  act = field("smollm2_act_bits") != "" ? "smollm2_act_bits" : "tiny_act_bits"
  row = row " " (field("format") == "FP16" ? "16" : number(act, "%.4g", 1)) " |"
  row = row " " number("prefill_cycles", "%.2f", 1e-6) " | " number("decode_cycles", "%.2f", 1e-6) " |"
  row = row " " number("prefill_gpu_s", "%.1f", 1e3) " | " number("decode_gpu_s", "%.2f", 1e3) " |"
  reason = field("area_from") ~ /^-/ ? substr(field("area_from"), 3) : "not synthesized in that library, or the array not for that PE"
  row = row " " area("pe_nangate45", "area: " reason) " | " area("array_nangate45", "area: " reason) " | " area("pe_sg13g2", "area: " reason) " |"
  row = row " " area("array_sg13g2", "area: " reason) " |"
  row = row " " number("engine_nangate45", "%.0f", 1) " | " number("engine_sg13g2", "%.0f", 1) " |"
  row = row " " text("joined") " | " text("joined_gpu") " | " number("joined_paper", "%.2f", 1, "paper") " | " number("paper_more", "+%.3f", 1) " |"
  rows[++n] = row
}
END {
  head = "| format |"
  for (i = 1; i <= n_subjects; i++) head = head " " name[i] ": bits | loss | KL |"
  head = head " activation, bits | prefill, 10^6 cycles | decode | prefill, ms on an H200 | decode | PE, um2 in Nangate45 | array, a PE |" \
    " PE, um2 in sg13g2 | array, a PE | engine, um2 in Nangate45 | in sg13g2 | accelerator: times as fast as its base | GPUs, predicted | paper | paper: loss more |"
  print head
  gsub(/[^|]+/, "---", head)
  print head
  for (i = 1; i <= n; i++) print rows[i]
  print "\n**Where there is a dash**\n"
  for (i = 1; i <= n_subjects; i++) if (notes["loss " name[i]]) print "* " name[i] ": not measured for " notes["loss " name[i]] "."
  for (k in notes) if (k ~ /^area: /) order[++m] = k
  for (i = 1; i <= m; i++) for (j = i + 1; j <= m; j++) if (order[j] < order[i]) { t = order[i]; order[i] = order[j]; order[j] = t }
  for (i = 1; i <= m; i++) print "* " order[i] ": " notes[order[i]] "."
  print "* paper: no speedup of it that stands in [make joined](../gpu/README.md#beside-the-claims-of-papers), or no perplexity that its paper prints for this setting."
}
