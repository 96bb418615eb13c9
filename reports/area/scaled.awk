# SPDX-License-Identifier: Apache-2.0
# awk -f scaled.awk scaled.csv [smollm2.csv]: tables of block-scaled PEs and what an array of them has besides, for
# reports/area/README.md. KL: SmolLM2-135M, activations alone, of reports/accuracy, or in brackets the pilot's (SPEC Q.8). um2
# of b32 units are per 16 weights a cycle.
BEGIN {
  FS = ","
  nv = " operand=act"
  e4m3 = "sq_b operand=act codes=split bank=16 high-per-bank="
  pow2 = "sq_b operand=act codes=split step=pow2 bank=16 high-per-bank="
  own = "sq_b operand=act bank=32 high-per-bank="
  n = split("pe_int4x4_acc22|INT4 per token|22|dense operand=act act-bits=4|6.0;" \
    "pe_int4x6_acc24|INT6 per token|24|dense operand=act act-bits=6|.44;" \
    "pe_int4x8_acc26|INT8 per token|26|dense operand=act act-bits=8|.029;pe_int8x8_acc30|INT8 per token, weights INT8|30||;" \
    "pe_nvint4_a_fixed|NVINT4|40|nvint4" nv "|.30;pe_nvint4_a_fixed|NVINT4 with Hadamard-16, the rotation not in it|40|nvint4" nv " rotate=16|.118;" \
    "pe_nvfp4_a_fixed|NVFP4|41|nvfp4" nv "|.188;pe_nvint5_a_fixed|NVINT5|41|nvint5" nv "|.087;" \
    "pe_split_e4m3_a_k1_fixed|split, E4M3 step of a bank, k = 1 of 16|41|" e4m3 "1|.057;" \
    "pe_split_e4m3_a_k2_fixed|k = 2|42|" e4m3 "2|.038;pe_split_e4m3_a_k4_fixed|k = 4|42|" e4m3 "4|.02;" \
    "pe_split_pow2_a_k1_fixed|split, power-of-two step of a bank, k = 1 of 16|38|" pow2 "1|;" \
    "pe_split_pow2_a_k2_fixed|k = 2|39|" pow2 "2|.080;pe_split_pow2_a_k4_fixed|k = 4|40|" pow2 "4|;" \
    "pe_own_e4m3_a_b32k1_fixed|low codes at a block's scale, high ones at the row's, k = 1 of 32 (half a PE of 32 weights)|40, 21|" own "1|.105;" \
    "pe_own_e4m3_a_b32k2_fixed|k = 2 of 32|40, 22|" own "2|.059;" \
    "pe_own_a_b32k2|own scales per token, two accumulators, k = 2 of 32 (half)|22, 22|sq_a_dynamic operand=act sparsity=0.9375|;" \
    "pe_own_a_b32k4|k = 4 of 32 (half)|23, 23|sq_a_dynamic operand=act sparsity=0.875|.128;" \
    "pe_own_a_k1|k = 1 of 16|22, 22||;pe_own_a_k2|k = 2|23, 23||;pe_own_a_k4|k = 4|24, 24||;" \
    "pe_split_a_k2_acc24|split, one step per token, k = 2 of 16|24||5.9;" \
    "pe_nvfp4_a|NVFP4, blocks added in binary32|32|nvfp4" nv "|.188;" \
    "pe_split_e4m3_a_k2|split, E4M3, k = 2, blocks added in binary32|32|" e4m3 "2|.038;" \
    "pe_nvfp4|NVFP4 on both sides, binary32|32||;pe_nvfp4_fixed|NVFP4 on both sides, exact|59||;pe_nvint4|NVINT4 on both sides, binary32|32||", row, ";")
}
/^#/ { next }
FILENAME ~ /smollm2/ { kl[$1] = $7; next }
{ area[$1, $2] = $3 * ($1 ~ /b32/ ? .5 : 1); path[$1, $2] = $4; if (!($2 in seen)) { seen[$2]; library[++libraries] = $2 } units[$1, $2] = $3 }
function kl_of(variant, pilot) { return variant in kl ? sprintf("%.3f", kl[variant]) : pilot != "" ? "(" pilot ")" : "" }
END {
  for (l = 1; l <= libraries; l++) {
    t = library[l]
    print "<!-- table: scaled_" t " -->"
    print "| " t "; activations in, weights INT4 | accumulators, bits | um2 | path, ns | against NVFP4 | against INT6 | KL |\n|---|---|---|---|---|---|---|"
    for (i = 1; i <= n; i++) {
      split(row[i], c, "|")
      a = area[c[1], t]
      if (!a) continue
      printf "| %s | %s | %.*f | %.2f | %+.1f %% | %+.1f %% | %s |\n", c[2], c[3], t ~ /^asap7/ ? 1 : 0, a, path[c[1], t],
        100 * (a / area["pe_nvfp4_a_fixed", t] - 1), 100 * (a / area["pe_int4x6_acc24", t] - 1), kl_of(c[4], c[5])
    }
    print "<!-- end -->\n"
    print "<!-- table: scaled_row_" t " -->"
    print "| " t "; around the PEs | um2 | path, ns |\n|---|---|---|"
    m = split("act_int4 act_int6 act_int8 act_scale_nvfp4 act_scale_nvint4 act_scale_nvint5 act_scale_split_e4m3_k1_tree " \
      "act_scale_split_e4m3_k2_tree act_scale_split_e4m3_k2 act_scale_split_e4m3_k4 act_scale_split_pow2_k1_tree act_scale_split_pow2_k2_tree " \
      "act_scale_split_pow2_k4 act_scale_own_b32k1 act_scale_own_b32k2 line_split_a_k2 combine_one combine_two", u, " ")
    for (i = 1; i <= m; i++)
      if ((u[i], t) in area) printf "| %s | %.*f | %.2f |\n", u[i], t ~ /^asap7/ ? 1 : 0, units[u[i], t], path[u[i], t]
    print "<!-- end -->\n"
  }
}
