# SPDX-License-Identifier: Apache-2.0
# Prints from energy.csv and gpu_energy_per_mac.csv (whole-board pJ a MAC of GPUs by format) the joules a MAC of NVFP4 over
# those of FP8, of the boards and of the PEs nvfp4 and mxfp8. A ratio is "inside" if it lies between the least and the largest median of
# the boards. There is no PE for BF16.
BEGIN { FS = "," }
/^#/ || $1 == "library" || $1 == "gpu" { next }
FILENAME ~ /gpu_energy_per_mac/ {
  name = $1 " " $2
  sub(/gemm_[a-z0-9_]*_(vllm|trtllm)/, substr($2, match($2, /vllm|trtllm/), RLENGTH), name); sub(/\.csv$/, "", name); sub(/_/, " ", name)
  if (!(name in seen)) { seen[name]; board[++n] = name }
  pj[name, $3] = $6; low[name, $3] = $5; high[name, $3] = $7
  next
}
$2 == "pes" && $6 == "" && ($3 == "nvfp4" || $3 == "mxfp8") {
  if (!($1 in known)) { known[$1]; library[++n_libraries] = $1 }
  inside[$1, $3, $9] = $11; all[$1, $3, $9] = $10
}
function board_row(b, fp8,  r) {
  if (!((b, "nvfp4") in pj) || !((b, fp8) in pj)) return
  r = pj[b, "nvfp4"] / pj[b, fp8]
  if (!least || r < least) least = r
  if (r > most) most = r
  printf "| %s, %s | %.2f | %.2f to %.2f |\n", b, fp8, r, low[b, "nvfp4"] / high[b, fp8], high[b, "nvfp4"] / low[b, fp8]
}
function verdict(r) { return r < least ? "below" : r > most ? "above" : "inside" }
function our_row(v, l, what,  z, d) {
  if (!((l, "nvfp4", "zero_delay") in v) || !((l, "mxfp8", "zero_delay") in v)) return
  z = v[l, "nvfp4", "zero_delay"] / v[l, "mxfp8", "zero_delay"]
  d = v[l, "nvfp4", "with_delays"] / v[l, "mxfp8", "with_delays"]
  printf "| %s, %s | %.2f | %s | %.2f | %s |\n", l, what, z, verdict(z), d, verdict(d)
}
END {
  print "\n<!-- table: boards -->\n| board, NVFP4 over | median | p10 over p90 to p90 over p10 |\n|---|---:|---:|"
  for (i = 1; i <= n; i++) { board_row(board[i], "fp8"); board_row(board[i], "fp8_block") }
  printf "<!-- end -->\n\n<!-- table: boards_ours -->\n| nvfp4 over mxfp8; boards: %.2f to %.2f | zero delay | | with delays | |\n|---|---:|---|---:|---|\n", least, most
  for (i = 1; i <= n_libraries; i++) { our_row(inside, library[i], "inside of the PE"); our_row(all, library[i], "block of 1x1") }
  print "<!-- end -->\n\n<!-- table: boards_bf16 -->\n| board | BF16 over FP8 | NVFP4 over BF16 |\n|---|---:|---:|"
  for (i = 1; i <= n; i++) {
    fp8 = (board[i], "fp8") in pj ? "fp8" : "fp8_block"
    printf "| %s, %s | %.2f | %s |\n", board[i], fp8, pj[board[i], "bfloat16"] / pj[board[i], fp8], \
      (board[i], "nvfp4") in pj ? sprintf("%.2f", pj[board[i], "nvfp4"] / pj[board[i], "bfloat16"]) : ""
  }
  print "<!-- end -->"
}
