#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim energy on the smallest array, and on a layer: what is printed, that parts sum up to the last
# digit, that options change what they should and nothing else, and the refusals. The joules of single
# cells are worked out in tests/unit/synth/test_energy.c, changes of whole netlists are compared in
# tests/sim/test_toggle.c.
. "$(dirname "$0")/lib.sh"

LIB=/usr/share/qflow/tech/osu018/osu018_stdcells.lib
refuse "need --block B, or --layer" energy
refuse "did you mean array" energy --block arry
refuse "has [0-9]* points, need --point, such as int4x4" energy --block array
refuse "\-\-point = int5x5" energy --block array --point int5x5
refuse "\-\-format needs --layer" energy --block array --point int4x4 --format dense
refuse "MODEL needs --layer" energy "$ROOT/traces/tiny-llama"
refuse "\-\-tokens needs --layer" energy --block array --point int4x4 --tokens x
refuse "\-\-point with --layer" energy --layer '*' --point int4x4
refuse "none of .* layers, such as" energy --layer nothing
refuse "\-\-clock = 0, need 0.01" energy --block array --point int4x4 --clock 0
refuse "\-\-cycles = 0, need 1" energy --block array --point int4x4 --cycles 0
refuse "\-\-period = 0, need 0.01" energy --block array --point int4x4 --period 0
refuse "cannot open\|No such file" energy --block array --point int4x4 --liberty none.lib
if [ ! -r $LIB ] || ! command -v yosys >/dev/null; then
  skip "everything else" "no yosys, or no $LIB (package qflow-tech-osu018)"
  finish
fi
refuse "no operands are drawn for dma\|environment" energy --block dma --point "$("$SQSIM" cosim --block dma --list | awk 'NR == 1 { print $1 }')"

small=(--block array --point int4x4 --rows 1 --cols 1 --bank 4 --cycles 8)
says "a block: operands are labelled" "drawn operands, of no model: seed 1" energy "${small[@]}"
ok "golden check" out_has "outputs equal the golden model, handshakes the cycle model"
# Rows of the table between its head and the total add up, in both columns.
sums() {
  awk '/zero delay/ { on = 1; next }
    on && /total/ { exit !(sprintf("%.3f", a) == $2 && sprintf("%.3f", b) == $3 && $2 > 0 && $3 > $2) }
    on { a += $(NF - 1); b += $NF }' "$W.out"
}
ok "parts sum up to the total in the last digit" sums

accept "JSON" energy "${small[@]}" --json
cp "$W.out" "$W/first"
# An expression over the first line of a file, $r.
value() { perl -MJSON::PP -e '$r = decode_json(<STDIN>); sub sum { my $s = 0; for my $p (@{shift()->{parts_aj}}) { $s += $p->{$_} for @_ } $s }
  print eval $ARGV[0]' "$1" <"${2:-$W.out}"; }
ok "512 cycles of 4 MACs" [ "$(value '"$r->{cycles} $r->{beats} $r->{macs}"')" = "512 512 2048" ]
ok "it is golden" [ "$(value '$r->{is_golden}')" = 1 ]
accept "... again" energy "${small[@]}" --json
ok "two runs, the same joules" cmp -s "$W.out" "$W/first"
if [ -f "$DATA/lef/sg13g2_stdcell.lef" ]; then
  sg=(energy "${small[@]}" --json --liberty "$DATA/liberty/sg13g2_stdcell_typ_1p20V_25C.lib")
  sq "${sg[@]}"; cp "$W.out" "$W/bare"
  accept "placed wires" "${sg[@]}" --wires --lef "$DATA/lef/sg13g2_tech.lef,$DATA/lef/sg13g2_stdcell.lef" --wire 2.07,.173
  ok "... take joules of their own, a tenth or so" \
    awk "BEGIN { s = $(value '$r->{zero_delay}{wires_share}'); exit !(s > .05 && s < .3) }"
  ok "... pins take what they took" [ "$(value 'sum($r->{zero_delay}, "switching")')" = "$(value 'sum($r->{zero_delay}, "switching")' "$W/bare")" ]
  ok "... no wires without --wires" [ "$(value 'sum($r->{zero_delay}, "wires")' "$W/bare")" = 0 ]
  ok "... parts sum up" [ "$(value 'sum($r->{with_delays}, qw(switching internal clock leakage wires))')" = "$(value '$r->{with_delays}{total_aj}')" ]
  cp "$W.out" "$W/placed"
  accept "... as text" "${sg[@]/--json/--seed=1}" --wires --lef "$DATA/lef/sg13g2_tech.lef,$DATA/lef/sg13g2_stdcell.lef" --wire 2.07,.173
  ok "... the text says the same" python3 "$ROOT/tests/llm/figures.py" said "$W.out" "$W/placed"
  accept "wires of twice the farads" "${sg[@]}" --wires --lef "$DATA/lef/sg13g2_tech.lef,$DATA/lef/sg13g2_stdcell.lef" --wire 2.07,.346
  ok "... have twice the farads, and leave the pins theirs" \
    [ "$(value 'sprintf "%.9g %.9g", $r->{wire_pf}, $r->{pin_pf}')" = "$(value 'sprintf "%.9g %.9g", 2 * $r->{wire_pf}, $r->{pin_pf}' "$W/placed")" ]
else
  skip "placed wires" "no lef in SQ_DATA"
fi
accept "another seed" energy "${small[@]}" --json --seed 2
ok "... other joules" [ "$(value '$r->{zero_delay}{total_aj}')" != "$(value '$r->{zero_delay}{total_aj}' "$W/first")" ]
accept "a clock of half the frequency" energy "${small[@]}" --json --clock 20
leak() { value 'sum($r->{zero_delay}, "leakage")' "$1"; }
rest() { value 'sum($r->{zero_delay}, qw(switching internal clock))' "$1"; }
# Each part is rounded to a whole attojoule.
ok "leaks twice as much" awk "BEGIN { exit !(($(leak "$W.out") - 2 * $(leak "$W/first"))^2 <= 24^2) }"
ok "... and burns the same otherwise" [ "$(rest "$W.out")" = "$(rest "$W/first")" ]

ok "the smallest netlist has no period" [ "$(value 'defined $r->{period_ns} || defined $r->{path_ns} ? 1 : 0' "$W/first")" = 0 ]
if command -v sta >/dev/null; then
  accept "a netlist for a clock" energy "${small[@]}" --period 3 --json
  ok "... is golden, larger, and burns more" [ "$(value '$r->{is_golden} && $r->{n_cells} > '"$(value '$r->{n_cells}' "$W/first")"' && $r->{with_delays}{total_aj} > '"$(value '$r->{with_delays}{total_aj}' "$W/first")")" = 1 ]
  ok "... and settles sooner" [ "$(value '$r->{period_ns} == 3 && $r->{path_ns} > 0 && $r->{settled_ns} < '"$(value '$r->{settled_ns}' "$W/first")")" = 1 ]
else
  skip "a netlist for a clock" "no sta"
fi

# The measures of a sweep.
printf '%s\n' 'name: e' 'axes: {n: [64], k: [256], bank: [4], low_lanes: [1], high_lanes: [1]}' \
  'measures: [pe_fj_per_mac, pe_fj_per_mac_delays]' >"$W/e.yaml"
accept "the core" energy --block core --bank 4 --low-lanes 1 --high-lanes 1 --json
want=$(value 'join ",", map sprintf("%.3f", $r->{$_}{inside_pes_aj} / 1e3 / $r->{macs}), qw(zero_delay with_delays)')
accept "a sweep" sweep e.yaml --db e.db -o e.csv
ok "... has the same joules inside of its PE" [ "$(awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i} END {printf "%.3f,%.3f", $at["pe_fj_per_mac"], $at["pe_fj_per_mac_delays"]}' "$W/e.csv")" = "$want" ]

# Engines: one of three a day.
if todays "a layer" 0 3; then
  accept "a layer" energy --format dense --m 1 --layer '*.0.self_attn.k_proj' --block engine_array --cycles 4 --json
  ok "... is golden, with its name" [ "$(value '"$r->{is_golden} $r->{operands} $r->{format}"')" = "1 layer dense" ]
fi
# MACs: elements of K times outputs, of what reaches the array.
number=0
for format in nvfp4 gqsa; do
  number=$((number + 1))
  todays "a layer in $format" $number 3 || continue
  accept "a layer in $format" energy --format $format --m 1 --layer '*.0.self_attn.k_proj' --cycles 64 --json
  ok "... is golden" [ "$(value '$r->{is_golden}')" = 1 ]
  ok "... 16 MACs a beat, joules a MAC" [ "$(value '$r->{beats} > 0 && $r->{macs} == 16 * $r->{beats} && $r->{zero_delay}{fj_per_mac} > 0')" = 1 ]
  ok "... its recipe" [ "$(value '$r->{recipe}{format}')" = $format ]
done
refuse "no layer in dense goes through it" energy --format dense --m 1 --layer '*.0.self_attn.k_proj' --block gather
finish
