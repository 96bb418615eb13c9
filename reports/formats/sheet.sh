#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every format with all that is known of it, a line of CSV each: sheet.sh SQSIM. Rows are those of sheet.txt; losses of
# kl-tiny-llama.csv, kl-stories260k.csv and reports/accuracy/smollm2.csv, areas of verdict.md, reports/area, papers of
# reports/gpu (make joined) and paper.csv; cycles and times of sqsim run. An empty cell: no command has written it.
# sheet.sh results: the first table of README.md with its verdict, and that by library and clock, from what reports/ hold.
set -euo pipefail
HERE=$(dirname "$(readlink -f "$0")")
[ "$1" = results ] || SQSIM=$(readlink -f "$1")
cd "$HERE/../.."

results() {
  "$HERE/row.sh" table "$HERE/row.csv"
  awk -F' *[|] *' '
    FNR == 1 {file++; on = 0}
    file == 1 && /^## / {on = $0}
    file == 1 && on ~ /^## (nangate45|Weights)/ && !(on $2 in cells) {cells[on $2] = $0}
    function cell(section, row, i,   v) {split(cells["## " section row], v, / *[|] */); return v[i]}
    END {
      sq = "block-scaled, own high scale, 1 of 32"
      printf "\nVerdict: with activations alone encoded in 4.5 bits, `sq_b` with 1 of 32 high has %s times the KL of `nvfp4` on SmolLM2. Its\n" \
        "array has %.1f %% less area with 32 rows and %.1f %% less with 8, at a relaxed clock. With weights encoded, too, the ratio is %s.\n", cell("nangate45", sq, 5), 100 - 100 * cell("nangate45", sq, 11) / cell("nangate45", "NVFP4", 11), \
        100 - 100 * cell("nangate45", sq, 13) / cell("nangate45", "NVFP4", 13), cell("Weights, and both sides", sq, 7)
    }' "$HERE/verdict.md"
  perl -MJSON::PP -ne '$r = decode_json $_; ($p, $t) = ($r->{problem}, $r->{timing});
    next if $p->{M} != 4096 || $r->{source} ne "measured" || $t->{includes} =~ /^encode/;
    ($shape, $us, $of) = ("$p->{N} $p->{K}", $t->{median_us}, "$r->{kernel}{name} $r->{kernel}{variant} $p->{dtype_a}");
    $best{$shape} = $us if $of eq "cublaslt tuned bf16" && $us < ($best{$shape} // 1e9);
    push @{$runs{$of}}, [$shape, $us, $r->{derived}{speedup_vs}{bf16_cublaslt}];
    sub median { my @x = sort { $a <=> $b } @_; sprintf "%.2f", ($x[$#x / 2] + $x[@x / 2]) / 2 }
    sub run { my $of = shift; median(map $_->[2], @{$runs{$of}}) }
    END { @split = map "sq_gemm_pair s$_ bf16+e4m3", 50, 75, 87.5;
      printf "An H100 was measured at 4096 tokens: one kernel that multiplies .5, .75 or .875 of the channels in FP8 and the others in BF16 is %s\n" .
        "times as fast as cuBLASLt in BF16 in the same run, whose power was limited, and %s times as fast as its best of any run; activations come\n" .
        "encoded. cuBLASLt in FP8 alone is faster than each: %s times, %s with fast sums ([reports/gpu](reports/gpu/README.md)).\n", join(", ", map run($_), @split),
        join(", ", map { my $of = $_; median(map $best{$_->[0]} / $_->[1], @{$runs{$of}}) } @split), run("cublaslt tuned e4m3"), run("cublaslt tuned_fast_accum e4m3") }' \
    reports/gpu/nvidia_h100_80gb_hbm3.jsonl
}
if [ "$1" = results ]; then
  printf '<!-- make results -->\n<!-- table: results -->\n'
  results
  printf '<!-- end -->\n<!-- table: clocks -->\n'
  "$HERE/row.sh" clocks "$HERE/row.csv"
  echo '<!-- end -->'
  exit
fi
export SQSIM_HOME=${SQSIM_HOME:-$PWD}
MACHINE=server64 GPU=h200 MODEL=llama-3-8b LIBRARIES="nangate45 sg13g2"

seconds() { # MACHINE PHASE "FORMAT OPTION=VALUE...": of its last line; "not modelled" where a GPU has no time for it
  local option options=() run
  for option in ${3#* }; do [ "$option" = "${3%% *}" ] || options+=("--${option%%=*}" "${option#*=}"); done
  if run=$("$SQSIM" run --machine "sim/machines/$1.yaml" --workload "traces/workloads/${MODEL}_$2.csv" --format "${3%% *}" \
    "${options[@]}" --json 2>&1); then
    tail -1 <<<"$run" | grep -o "\"$4\":[^,}]*" | cut -d: -f2
  elif [[ $run == *"not modelled on a GPU"* ]]; then
    echo "not modelled"
  else
    echo "$run" >&2
    return 1
  fi
}
loss() { # CSV VARIANT: weight bits, activation bits, loss, loss more, KL and its interval
  [ -f "$1" ] || { echo ",,,,,,"; return; }
  awk -F, -v v="$2" 'NR > 2 && v == "reference" {print ",," $4 ",0,0,,"; found = 1; exit}
    NR > 2 && $1 == v {printf "%s,%s,%.6f,%s,%s,%s,%s\n", $3, $2, $4 + $5, $5, $7, $8, $9; found = 1; exit}
    END {if (!found) print ",,,,,,"}' "$1"
}
area() { # LIBRARY KIND NAME: um2 of a PE, um2 a PE of its 32 x 32 array
  case $2 in
  verdict | pe) awk -F' *[|] *' -v l="## $1" -v n="$3" -v pe="$2" '/^## / {on = $0 == l} on && $2 == n && NF > 10 && !found {
      sub("at least ", ">", $10); print $6 "," (pe == "pe" ? "" : $10); found = 1} END {if (!found) print ","}' "$HERE/verdict.md" ;;
  scaled) awk -F, -v l="$1" -v n="$3" '$1 == n && $2 == l {printf "%.0f", $3} END {print ","}' reports/area/scaled.csv ;;
  figures) awk -F' *[|] *' -v l="$1" -v n="$3" '/table: pe -->/ {on = 1} /<!-- end/ {on = 0}
      on && !head && /^[|]/ {for (i = 2; i < NF; i++) at[$i] = i; head = 1} on && $2 == n {u = $at[l]} END {print u ","}' reports/area/README.md ;;
  *) echo "," ;;
  esac
}
engine() { # LIBRARY NAME: um2 of a whole engine
  awk -F, -v l="$1" -v n="$2" '$1 == n && $2 == l {printf "%.0f", $3}' reports/area/engines.csv
}
joined() { # ROW: speedups of the accelerator, of GPUs as predicted, of the paper; a range is "LOWEST to HIGHEST"
  awk -F' *[|] *' -v n="$1" '/^<!-- papers/ {on = 1} /^<!-- .papers/ {on = 0} on && n != "" && $2 == n {print $3 "," $5 "," $7; found = 1}
    END {if (!found) print ",,"}' reports/gpu/README.md
}
paper() { # FORMAT: loss more in nats a word, ln of the ratio of perplexities
  awk -F, -v n="$1" '$1 == "Llama-3-8B" {p[$2] = $3} END {if (n in p) printf "%.3f", log(p[n] / p["BF16"]); print ""}' "$HERE/paper.csv"
}
subject="weight_bits act_bits loss more kl kl_low kl_high"
printf 'format,run'
for s in tiny stories smollm2; do for c in $subject; do printf ',%s_%s' $s "$c"; done; done
printf ',prefill_cycles,decode_cycles,prefill_gpu_s,decode_gpu_s'
for l in $LIBRARIES; do printf ',engine_%s' "$l"; done
for l in $LIBRARIES; do printf ',pe_%s,array_%s' "$l" "$l"; done
printf ',joined,joined_gpu,joined_paper,paper_more,area_from\n'
grep -v '^#' "$HERE/sheet.txt" | sed 's/ *| */|/g' | while IFS='|' read -r label variant small run from row paper engine; do
  printf '%s,%s' "$label" "$run"
  printf ',%s' "$(loss "$HERE/kl-tiny-llama.csv" "$variant${small:+ $small}")" \
    "$(loss "$HERE/kl-stories260k.csv" "$variant${small:+ $small}")" "$(loss reports/accuracy/smollm2.csv "$variant")" \
    "$(seconds $MACHINE prefill_2048 "$run" cycles)" "$(seconds $MACHINE decode_1 "$run" cycles)" \
    "$(seconds $GPU prefill_2048 "$run" seconds)" "$(seconds $GPU decode_1 "$run" seconds)"
  for l in $LIBRARIES; do printf ',%s' "$(engine "$l" "$engine")"; done
  for l in $LIBRARIES; do printf ',%s' "$(area "$l" "${from%% *}" "${from#* }")"; done
  printf ',%s' "$(joined "$row")" "$(paper "$paper")" "${from//,/;}"
  printf '\n'
done
