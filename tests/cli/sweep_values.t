#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Values and areas of a sweep over formats and machines: one encoding for all that only machines tell apart, and the measures
# are those of run, quantize, eval and area.
. "$(dirname "$0")/lib.sh"
D=$SQSIM_HOME/sim/machines/default.yaml
cat >"$W/v.yaml" <<'EOF'
name: v
axes:
  machine: [sim/machines/default.yaml, sim/machines/server64.yaml]
  m: [4, 8]
  format: [dense, gqsa, nvfp4]
  group: [32]
  rows: [16, 32]
  fair: [none]
measures: [relative_error, weight_sqnr_db, loss, stored_bits, cycles]
EOF
few_tokens 4
accept "values of three formats on two machines" sweep v.yaml --db v.db -o v.csv --json
ok "24 points" [ "$(number points)" = 24 ]
ok "three encodings" [ "$(number encoded)" = 3 ]
at() { # FORMAT COLUMN: its values, each once
  awk -F, -v f="$1" -v c="$2" 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next} $at["format"] == f {print $at[c]}' "$W/v.csv" | sort -u
}
same() { awk -v a="$1" -v b="$2" 'BEGIN {d = a - b; exit !(a != "" && b != "" && a != 0 && d * d <= 1e-20 * a * a)}'; }
for f in dense gqsa nvfp4; do
  case $f in dense | gqsa) o="--group 32" ;; *) o="" ;; esac
  ok "$f: one loss for all machines and tokens" [ "$(at $f loss | wc -l)" = 1 ]
  ok "$f: an error for each number of tokens" [ "$(at $f relative_error | wc -l)" = 2 ]
  sq eval --format $f $o --summary --json
  ok "$f: the loss of eval" same "$(at $f loss)" "$(number loss)"
  sq quantize --format $f $o --json
  ok "$f: the SQNR of quantize" same "$(at $f weight_sqnr_db)" "$(number sqnr_db)"
  ok "$f: its stored bits" same "$(at $f stored_bits)" "$(number stored_bits_per_weight)"
done
ok "cycles differ by machine, rows and tokens" [ "$(at nvfp4 cycles | wc -l)" -ge 6 ]
accept "again" sweep v.yaml --db v.db --json
ok "nothing is encoded" [ "$(number encoded),$(number computed)" = 0,0 ]
sed -i 's/^measures.*/measures: [stored_bits, cycles]/' "$W/v.yaml"
accept "without values" sweep v.yaml --db t.db --json
ok "nothing is encoded either" [ "$(number encoded),$(number computed)" = 0,24 ]

# ---- areas --------------------------------------------------------------------------------------
SQSIM_HOME=$ROOT LIB=/usr/share/qflow/tech/osu018/osu018_stdcells.lib
if command -v yosys >/dev/null && [ -r $LIB ]; then
  mm2=", area_mm2" # netlists of a vector unit and of output stages, which llm/pass.t has
  daily "area_mm2 of a sweep" || mm2=
  printf '%s\n' 'name: a' 'axes:' '  machine: [sim/machines/default.yaml, sim/machines/server64.yaml]' '  m: [1]' '  n: [64]' '  k: [64]' \
    '  low_lanes: [2]' '  high_lanes: [1]' '  rows: [8]' '  format: [sq_w, dense]' '  weight_bits: [4]' '  fair: [none, area]' \
    "measures: [array_area_um2, format_area_um2$mm2, netlist_ghz, cycles, time_ms]" >"$W/a.yaml"
  MEM=$DATA/liberty/sram_sg13g2
  accept "areas" sweep a.yaml --db a.db -o a.csv $([ ! -d "$MEM" ] || echo --sram-area "$MEM")
  area() { awk -F, -v f="$1" -v m="$2" -v w="$3" 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next}
    $at["format"] == f && $at["machine"] ~ m && $at["fair"] == w {print $at[c]}' c="${4:-array_area_um2}" "$W/${5:-a.csv}"; }
  sq area --block pe --gather crossbar --low-lanes 2 --high-lanes 1 --json
  pe=$(grep '"block":"pe"' "$W.out" | grep -o '"area_um2":[^,]*' | cut -d: -f2)
  ok "sq_w on one core: the PE of area, 8 x 32 times" same "$(area sq_w default none)" "$(awk -v a="$pe" 'BEGIN {print a * 256}')"
  ns=$(grep '"block":"pe"' "$W.out" | grep -o '"min_period_ns":[^,]*' | cut -d: -f2)
  ok "at the clock of that netlist" same "$(area sq_w default none netlist_ghz)" "$(awk -v ns="$ns" 'BEGIN {printf "%.15g", 1 / ns}')"
  ok "... which times have, and the row says so" [ "$(area sq_w default none time_ms | cut -c1-9),$(grep -c 'clock: smallest netlist of the PE' "$W/a.csv")" = \
    "$(awk -v c="$(area sq_w default none cycles)" -v ns="$ns" 'BEGIN {printf "%.15g", c * ns * 1e-6}' | cut -c1-9),8" ]
  ok "on 64 cores" same "$(area sq_w server64 none)" "$(awk -v a="$pe" 'BEGIN {print a * 256 * 64}')"
  if [ "$mm2" ]; then
    sq area --block vector_cut --json
    vector=$(head -1 "$W.out" | grep -o '"area_um2":[^,]*' | cut -d: -f2)
    sram=0
    [ ! -d "$MEM" ] || sram=$(grep -m1 -H -o 'area *: *[0-9.]*' "$MEM"/*x64_*.lib | sed 's/.*_\([0-9]*\)x64_.*: */\1 /' |
      awk '{u = $2 / $1 / 64; if (!n++ || u < least) least = u} END {printf "%.9f", least * 8 * 1048576e-6}') # 1 MiB
    sq area --block combine_two --json
    one() { head -1 "$W.out" | grep -o "\"$1\":[^,]*" | cut -d: -f2; }
    lanes=$(awk -v ns="$ns" -v its="$(one min_period_ns)" 'BEGIN {t = its / ns; print 32 * (t > int(t) ? int(t) + 1 : t)}')
    ok "area_mm2: PEs, 32 lanes of the vector unit, buffers, lanes of the output stage for 64 bytes a cycle" same "$(area sq_w default none area_mm2)" "$(awk -v a="$pe" -v v="$vector" -v s="$sram" -v o="$lanes" -v c="$(one area_um2)" 'BEGIN {printf "%.15g", a * 256e-6 + v * 32e-6 + o * c * 1e-6 + s}')"
    [ -d "$MEM" ] || ok "without buffers it says so" grep -q 'area_mm2: without buffers (--sram-area)' "$W/a.csv"
  fi
  sq run --m 1 --n 64 --k 64 --low-lanes 2 --high-lanes 1 --rows 8 --machine "$D" --format dense --weight-bits 4 --fair area --json
  ok "dense, fair by area: the PE of run" same "$(area dense default area)" "$(awk -v a="$(number pe_area_um2)" -v n="$(number rows)" -v m="$(number cols)" 'BEGIN {print a * n * m}')"
  sed -i 's/format: .*/format: [mxint8]/; /weight_bits/d; s/fair: .*/fair: [none]/; s/, netlist_ghz.*/]/' "$W/a.yaml"
  accept "a format without a PE" sweep a.yaml --db n.db -o n.csv
  ok "has no area" [ "$(grep -c ',mxint8,' "$W/n.csv")$(area mxint8 . none array_area_um2 n.csv)$(area mxint8 . none format_area_um2 n.csv)" = 2 ]
else
  skip "areas" "no yosys, or no $LIB"
fi
finish
