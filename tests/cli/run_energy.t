#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim run --energy: joules of a chip by part against a calculation by hand, parts that sum to the last
# digit, what a figure of the table or of the memory moves and what it does not, and the refusals. The
# table is written by hand here: what sqsim energy prints is tested in energy.t.
. "$(dirname "$0")/lib.sh"
value() { perl -MJSON::PP -e 'local $/ = "\n"; my @r = map decode_json($_), <STDIN>; $r = $r[$ARGV[1] // -1];
  sub part { my ($p, $e) = @_; (map $_->{"${e}_pj"}, grep $_->{part} eq $p, @{$r->{energy_parts}})[0] }
  sub sum { my $e = shift; my $s = 0; $s += $_->{"${e}_pj"} for @{$r->{energy_parts}}; $s }
  print eval $ARGV[0]' "$@" <"$W.out"; }

. "$ROOT/tests/docs/energy_table.sh"
table 320000 640000 >"$W/t.jsonl"
memory() { # DRAM_LOW
  cat <<END
name: m
dram:
  - {type: one, low: $1 pJ/bit, high: 9 pJ/bit, source: s}
  - {type: two, low: 20 pJ/bit, high: 20 pJ/bit, source: s}
sram: {read_low: 1 pJ/bit, read_high: 2 pJ/bit, write_low: 3 pJ/bit, write_high: 4 pJ/bit,
  leak_low: 10 pW/bit, leak_high: 10 pW/bit, source: s}
END
}
memory 5 >"$W/m.yaml"
# 32 tokens, 64 channels, K = 256: two tiles of 32x32 that see the 32 tokens; all operands are loaded once.
gemm=(run --m 32 --n 64 --k 256 --format dense --weight-bits 4 --json)
accept "a GEMM" "${gemm[@]}" --energy t.jsonl --memory m.yaml
cp "$W.out" "$W/first"
# Each part, on drawn machines: tests/llm/figures.py.
work() { value '1 - ($r->{causes}{low}{memory} + ($r->{causes}{low}{index} // 0)) / $r->{cycles}'; }
ok "some cycles have a job" [ "$(value "$(work) > .2 && $(work) < .9")" = 1 ]
ok "the gate stops no more than clocks" [ "$(value 'part("dram", "gated") == part("dram", "high") && part("products", "gated") == part("products", "high") && part("array_leakage", "gated") == part("array_leakage", "high")')" = 1 ]
# Activations twice, weights once; weights hold codes and a scale for 128. Sums of 4 bytes for every chunk of K.
chunks=$("$SQSIM" "${gemm[@]/--json/--causes}" 2>/dev/null | sed -n 's/.*blocks [0-9]*x[0-9]*x\([0-9]*\) .*/\1/p')
act=$((32 * 256 * 8 * 2)) sums=$((32 * 64 * 32 * chunks))
weight() { value '8 * ($r->{bytes_by_stream}{lo} + $r->{bytes_by_stream}{hi} + $r->{bytes_by_stream}{index} + $r->{bytes_by_stream}{scale})'; }
ok "joules a token" [ "$(value 'abs($r->{energy_low_j_per_token} * 32 / ($r->{energy_low_pj} * 1e-12) - 1) < 1e-9')" = 1 ]

# Doubling one figure doubles its part and moves no other.
others() { value 'join " ", map "$_->{part} $_->{low_pj} $_->{high_pj}", grep $_->{part} ne "'"$1"'", @{$r->{energy_parts}}'; }
was_p=$(others products) was_d=$(others dram)
table 640000 1280000 >"$W/t2.jsonl"
accept "twice the joules of a PE" "${gemm[@]}" --energy t2.jsonl --memory m.yaml
ok "... twice the products" [ "$(value 'part("products", "low") . " " . part("products", "high")')" = "10486 20972" ]
ok "... and nothing else" [ "$(others products)" = "$was_p" ]
# A DRAM that keeps time: commands in place of bits. 4494 pJ a read of 64 B; standby of 367 mW, with banks open 422.
sed '/^dram:/,/^  burst/d' "$ROOT/sim/machines/default.yaml" >"$W/timed.yaml"
printf 'dram:\n  device: ddr4-2400\n' >>"$W/timed.yaml"
accept "a DRAM that keeps time" "${gemm[@]}" --machine timed.yaml --energy t.jsonl --memory m.yaml
ok "its standby is the range" [ "$(value 'abs(part("dram", "high") - part("dram", "low") - 55 * $r->{seconds} * 1e9) < 2')" = 1 ]
ok "its reads are in it" [ "$(value 'my $b = $r->{bytes_by_stream}; my $n = ($b->{act} + $b->{lo}) / 64; my $w = part("dram", "low") - 367e9 * $r->{seconds}; $w > 4494 * $n && $w < 2 * 4494 * $n + 16 * 11814 + 3990 * $b->{out} / 32')" = 1 ]
ok "it says so" grep -q '"dram_type":"ddr4-2400","dram_source":"commands' "$W.out"
accept "--dram counts bits" "${gemm[@]}" --machine timed.yaml --energy t.jsonl --memory m.yaml --dram two
ok "... 20 pJ each" [ "$(value 'my $s = 0; $s += $_ for values %{$r->{bytes_by_stream}}; abs(part("dram", "low") - 160 * $s) < 2')" = 1 ]
accept "another type of DRAM" "${gemm[@]}" --energy t.jsonl --memory m.yaml --dram two
ok "... 20 pJ a bit" [ "$(value 'part("dram", "low") == 160 * $r->{bytes} && $r->{dram_type} eq "two"')" = 1 ]
ok "... and nothing else" [ "$(others dram)" = "$was_d" ]
accept "... again" "${gemm[@]}" --energy t.jsonl --memory m.yaml
ok "two runs, the same joules" [ "$(grep -o '"energy_parts".*"edp_low' "$W.out" | sort -u)" = "$(grep -o '"energy_parts".*"edp_low' "$W/first" | sort -u)" ]

# A chip: its engine as it was measured, clock pins and leakage of its netlist, words of its memories. 64 tiles of 32 beats; a word
# of 64 bits has parity, so a beat of 256 bits takes 320, and scales of 64 and of 128 bits take 128 and 192, for 4 groups of a tile.
chip_table 10 >"$W/c.jsonl"
chip=(run --m 8 --n 64 --k 512 --format dense --weight-bits 4 --memory m.yaml --json)
sq "${chip[@]}" --machine "$ROOT/sim/machines/chip.yaml" --energy c.jsonl
ok "a chip: a clock above that of its netlist is warned of" [ "$RC$(grep -c 'needs 10 ns a cycle, the clock of 1 GHz has 1 ns' "$W.err")" = 01 ]
ok "... parts sum" [ "$(value 'sum("low") == $r->{energy_low_pj} && sum("high") == $r->{energy_high_pj} && sum("gated") == $r->{energy_gated_pj}')" = 1 ]
of_chip() { value 'my $l = $r->{causes}{low}; my ($c, $b, $w) = ($r->{cycles}, $l->{busy}, $l->{memory}); '"$1"; }
ok "... 2048 beats of 128 MACs at 1.25 fJ" [ "$(of_chip '"$b " . part("products", "low") . " " . part("products", "high")')" = "2048 328 655" ]
ok "... clock pins of the engine where it takes a beat, and always" [ "$(of_chip 'abs(part("array_clock", "low") - 3 * $b) < 1 && abs(part("array_clock", "high") - 3 * $c) < 1')" = 1 ]
ok "... a gate saves the cycles that wait for operands" [ "$(of_chip '$w > 0 && abs(part("array_clock", "high") - part("array_clock", "gated") - 3 * $w) < 1')" = 1 ]
ok "... and no other clock" [ "$(of_chip 'abs(part("chip_clock", "gated") - .5 * $c) < 1 && part("chip_clock", "low") == part("chip_clock", "high")')" = 1 ]
ok "... leakage" [ "$(of_chip 'abs(part("array_leakage", "low") - 30e6 * $r->{seconds}) < 1 && abs(part("chip_leakage", "high") - 5e6 * $r->{seconds}) < 1')" = 1 ]
chunks=$(cd "$W" && "$SQSIM" "${chip[@]/--json/--causes}" --machine "$ROOT/sim/machines/chip.yaml" --energy c.jsonl 2>/dev/null | sed -n 's/.*blocks 1x[0-9]*x\([0-9]*\) .*/\1/p')
ok "... words that are read, those of sums between chunks of K too" [ "$(value 'part("sram_read", "low")')" = $((2048 * 640 + 64 * 4 * 320 + (chunks - 1) * 64 * 4 * 128)) ]
ok "... and written, as often as operands are loaded" [ "$(value 'part("sram_write", "low") % 3 == 0 && part("sram_write", "low") >= 3 * (4 * 32 * 320 + 16 * 32 * 320)')" = 1 ]
ok "... leakage of 16, 32, twice 8 and 4 KiB" [ "$(value 'abs(part("sram_leakage", "low") - 8 * 1024 * (16 + 32 + 2 * 8 + 4) * 10 * $r->{seconds}) < 1')" = 1 ]
ok "... and bytes" [ "$(value 'part("dram", "low") == 40 * $r->{bytes}')" = 1 ]
sed 's/^clock: .*/clock: netlist/' "$ROOT/sim/machines/chip.yaml" >"$W/netlist.yaml"
accept "the clock of the netlist" "${chip[@]}" --machine netlist.yaml --energy c.jsonl
ok "... is 100 MHz" [ "$(value 'abs($r->{seconds} / $r->{cycles} / 1e-8 - 1) < 1e-9')" = 1 ]
chip_table 14.49 >"$W/odd.jsonl"
accept "... of 14.49 ns" "${chip[@]}" --machine netlist.yaml --energy odd.jsonl
ok "... is a thousandth slower at most" [ "$(value 'my $p = 1e9 * $r->{seconds} / $r->{cycles}; $p >= 14.49 && $p < 14.52')" = 1 ]
refuse "clock = netlist, need a frequency here" run --m 8 --n 64 --k 512 --format dense --machine netlist.yaml
refuse "a line of the recipe has not 2x4 PEs (sqsim energy --machine)" "${chip[@]}" --machine "$ROOT/sim/machines/chip.yaml" --energy t.jsonl
grep -v '"block":"top"' "$W/c.jsonl" >"$W/no.jsonl"; refuse "no.jsonl: no line of this chip" "${chip[@]}" --machine "$ROOT/sim/machines/chip.yaml" --energy no.jsonl
sed 's/"ActDepth":256/"ActDepth":128/' "$W/c.jsonl" >"$W/no.jsonl"; refuse "no.jsonl: no line of this chip" "${chip[@]}" --machine "$ROOT/sim/machines/chip.yaml" --energy no.jsonl
sed 's/"BankLen":16},"liberty/"BankLen":8},"liberty/' "$W/c.jsonl" >"$W/no.jsonl"; refuse "do not take 16 elements a beat" "${chip[@]}" --machine "$ROOT/sim/machines/chip.yaml" --energy no.jsonl
sed '/"block":"top"/s/0000007/0000008/' "$W/c.jsonl" >"$W/no.jsonl"; refuse "need one library" "${chip[@]}" --machine "$ROOT/sim/machines/chip.yaml" --energy no.jsonl
sed 's/"clock_fj":300,//' "$W/c.jsonl" >"$W/no.jsonl"; refuse "part DMA and ring/sq_dma of the chip has no joules" "${chip[@]}" --machine "$ROOT/sim/machines/chip.yaml" --energy no.jsonl
sed 's/"DMA and ring.sq_dma"/"sq_dma"/' "$W/c.jsonl" >"$W/no.jsonl"; refuse "part sq_dma of the chip has no unit" "${chip[@]}" --machine "$ROOT/sim/machines/chip.yaml" --energy no.jsonl
sed 's/"min_period_ns":10/"min_period_ns":null/' "$W/c.jsonl" >"$W/no.jsonl"; refuse "has no min_period_ns" "${chip[@]}" --machine netlist.yaml --energy no.jsonl
sed 's/"Macro":256/"Macro":0/' "$W/c.jsonl" >"$W/flops.jsonl"
accept "the words of flip-flops take nothing" "${chip[@]}" --machine netlist.yaml --energy flops.jsonl
ok "... of memories" [ "$(value 'part("sram_read", "high") + part("sram_write", "high") + part("sram_leakage", "high")')" = 0 ]

# A token that a chip computes by itself; each part, on a drawn context: tests/llm/figures.py.
{ cat "$ROOT/sim/machines/chip.yaml"; printf '  encoder: yes\n  vector: yes\n  attend: 2\n  head: 32\n'; } >"$W/token.yaml"
token_table 10 >"$W/token.jsonl"
token=(run --phase decode --context 6 --machine token.yaml --format dense --memory m.yaml --json)
accept_note() { sq "${token[@]}" --energy "$1"; sed -i '/^sqsim run: note: the netlist/d' "$W.err"; }
has() { value 'join " ", map $_->{part}, grep $_->{part} =~ /^(vector|attention)$/, @{$r->{energy}{energy_parts}}'; }
accept_note token.jsonl
ok "a token of a chip: joules of its units" [ "$RC$(has)" = "0vector attention" ]
grep -v '"block":"attend"' "$W/token.jsonl" >"$W/no.jsonl"; accept_note no.jsonl
ok "... no line of attention, no such part" [ "$RC$(has)" = 0vector ]
sed 's/"HeadDim":32/"HeadDim":64/; /"block":"vector"/d' "$W/token.jsonl" >"$W/no.jsonl"; accept_note no.jsonl
ok "... nor of a unit of other heads; none of a vector unit" [ "$RC$(has)" = 0 ]
sed '$p' "$W/token.jsonl" >"$W/no.jsonl"; refuse "no.jsonl: two lines of block attend, need one" "${token[@]}" --energy no.jsonl
sed '$s/0000007/0000008/' "$W/token.jsonl" >"$W/no.jsonl"; refuse "liberty_digest of engine and block attend" "${token[@]}" --energy no.jsonl
sed '$s/"is_golden":true/"is_golden":false/' "$W/token.jsonl" >"$W/no.jsonl"; refuse "a line of block attend is not golden" "${token[@]}" --energy no.jsonl
sed '$s/"is_golden"/"outputs":0,&/' "$W/token.jsonl" >"$W/no.jsonl"; refuse "no.jsonl: outputs = 0, need 1" "${token[@]}" --energy no.jsonl
refuse "c.jsonl: no line of this chip" "${token[@]}" --energy c.jsonl
refuse "kv-energy with machine chip: its chip computes a token by itself" "${token[@]}" --energy token.jsonl --kv-energy token.jsonl

refuse "--machine needs --layer" energy --block array --point int4x8 --machine "$ROOT/sim/machines/chip.yaml"
refuse "--block with --machine, whose chip has one engine" energy --layer '*.0.*' --block engine_array --machine "$ROOT/sim/machines/chip.yaml"
refuse "format spqr: the chip does not run its layers; it runs all formats but spqt, spqr" energy --layer '*.0.*' --format spqr --machine "$ROOT/sim/machines/chip.yaml"
refuse "has no key 'chip'" energy --layer '*.0.*' --format dense --machine "$ROOT/sim/machines/default.yaml"

# The same from the netlists themselves: 1x2 PEs of 8 elements, buffers of flip-flops.
if daily "a chip by its own netlists"; then
  sed 's/rows: 2/rows: 1/; s/  cols: 4/  cols: 2\n  low_lanes: 8\n  high_lanes: 2/; s/16 KiB/256 B/; s/32 KiB/1 KiB/; s/8 KiB/64 B/; s/4 KiB/64 B/' "$ROOT/sim/machines/chip.yaml" >"$W/tiny.yaml"
  accept "the engine on a layer's operands" energy --layer 'model.layers.0.self_attn.k_proj' --format dense --machine tiny.yaml --m 4 --cycles 96 --json
  cp "$W.out" "$W/own.jsonl"
  ok "... golden, with outputs" grep -q '"outputs":[1-9][0-9]*,"is_golden":true' "$W.out"
  accept "the chip's netlist" area --block top --machine tiny.yaml --of dense --json
  cat "$W.out" >>"$W/own.jsonl"
  sq run --m 4 --n 128 --k 256 --format dense --machine tiny.yaml --energy own.jsonl --memory m.yaml --json
  ok "parts sum" [ "$(value 'sum("low") == $r->{energy_low_pj} && sum("high") == $r->{energy_high_pj} && sum("gated") == $r->{energy_gated_pj}')" = 1 ]
  by_hand() { # joules of changes a beat, and of clock pins a cycle on either side, from the lines themselves
    python3 - "$W/own.jsonl" "$W.out" <<'END'
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
run = json.loads(open(sys.argv[2]).readline())
engine = next(l for l in lines if l.get("block") == "engine_array")
chip = next(l for l in lines if l.get("block") == "top")
pj = {p["part"]: p for p in run["energy_parts"]}
why = run["causes"]["low"]
def change(mode):
    return sum(p["switching"] + p["internal"] for p in engine[mode]["parts_aj"]) * 1e-6 / engine["beats"]
for unit in chip["units"]:
    own = sum(part["um2"] for n, part in chip["parts"].items() if n.startswith(unit + "/"))
    assert abs(own - chip["units"][unit]["um2"]) < 1e-6 * own, (unit, own)
assert abs(sum(u["um2"] for u in chip["units"].values()) - chip["area_um2"]) < 1e-6 * chip["area_um2"]
assert max(u.get("path_ns", 0) for u in chip["units"].values()) <= chip["min_period_ns"] + .01
rest = [n for n in chip["parts"] if n.split("/")[1].startswith(("sq_top", "sq_ring", "sq_dma", "sq_sequencer", "sq_operand_buffer", "sq_sram"))]
clock = {s: sum(chip["parts"][n]["clock_fj"] for n in chip["parts"] if (n in rest) == (s == "rest")) * 1e-3 for s in ("rest", "engine")}
low = sum(pj[p]["low_pj"] for p in ("products", "lines", "output"))
high = sum(pj[p]["high_pj"] for p in ("products", "lines", "output"))
assert abs(low - why["busy"] * change("zero_delay")) < 3, (low, why["busy"] * change("zero_delay"))
assert abs(high - why["busy"] * change("with_delays")) < 3
assert abs(pj["chip_clock"]["high_pj"] - run["cycles"] * clock["rest"]) < 1
assert abs(pj["array_clock"]["high_pj"] - run["cycles"] * clock["engine"]) < 1
assert abs(pj["array_clock"]["high_pj"] - pj["array_clock"]["gated_pj"] - why["memory"] * clock["engine"]) < 1
END
  }
  ok "... each is what its own command says, times what the run counts" by_hand
fi

# Rows times their count are the sum. With one token the weights are read by one row of PEs.
printf 'Layer,M,N,K,Count,\na,1,64,256,3,\nb,1,128,256,2,\n' >"$W/w.csv"
accept "a workload" run --workload w.csv --format dense --weight-bits 4 --energy t.jsonl --memory m.yaml --json
total=$(value '$r->{energy_high_pj}')
ok "rows add up" [ "$((3 * $(value '$r->{energy_high_pj}' 0) + 2 * $(value '$r->{energy_high_pj}' 1)))" = "$total" ]
ok "one token" [ "$(value 'abs($r->{energy_high_j_per_token} / ($r->{energy_high_pj} * 1e-12) - 1) < 1e-9')" = 1 ]
sq run --workload w.csv --format dense --weight-bits 4 --energy t.jsonl --memory m.yaml
text_sums() { awk '/ of high$/ { on = 1; next } on && $1 == "total" { exit !(sprintf("%.6f", l) == $2 && sprintf("%.6f", g) == $3 && sprintf("%.6f", h) == $4) } on { l += $2; g += $3; h += $4 }' "$W.out"; }
ok "text sums up" text_sums

# The columns of gqsa choose their own groups: activations once, or for each of 64 columns the kept half.
sed 's/"recipe":{[^}]*}/"recipe":{"format":"gqsa","weight_bits":4,"group":16,"sparsity":0.5,"scope":"matrix","schedule":"stream_k","act_bits":8}/' "$W/t.jsonl" >"$W/g.jsonl"
accept "columns with their own elements" run --m 1 --n 64 --k 256 --format gqsa --energy g.jsonl --memory m.yaml --json
ok "... read 64 halves of 256 activations, not two tiles' all" [ "$(value 'part("sram_read", "high") / 2 - part("sram_read", "low")')" = $((8 * 256 * (64 / 2 - 64 / 32))) ]

# A macro of our own, with energies that are none.
macro 1 1 >"$W/macro.lib"
accept "a macro of our own" "${gemm[@]}" --energy t.jsonl --memory m.yaml --sram macro.lib
wide() { value 'part("sram_write", "high") / part("sram_write", "low") . " " . part("sram_read", "high") / part("sram_read", "low")'; }
ok "a write takes at most what its bus does by its dearer edge" [ "$(wide)" = "6 1" ]
macro 1 1 3 0 >"$W/macro.lib"
accept "... the other one" "${gemm[@]}" --energy t.jsonl --memory m.yaml --sram macro.lib
ok "... of 3" [ "$(wide)" = "4 1" ]
for value in +inf inf 1e400 1e30 -1 nan; do
  macro $value 1 >"$W/macro.lib"
  refuse "macro.lib" "${gemm[@]}" --energy t.jsonl --memory m.yaml --sram macro.lib
  macro 1 $value >"$W/macro.lib"
  refuse "macro.lib" "${gemm[@]}" --energy t.jsonl --memory m.yaml --sram macro.lib
done

if [ -d "$DATA/liberty/sram_sg13g2" ]; then
  S=$DATA/liberty/sram_sg13g2/RM_IHPSG13_1P_
  accept "a macro" "${gemm[@]}" --energy t.jsonl --memory m.yaml --sram "${S}64x64_c2_bm_bist_typ_1p20V_25C.lib"
  bits=$((act + $(weight) + sums))
  ok "39.0507 pJ for a word of 64 bits" [ "$(value "abs(part('sram_read', 'low') - $bits * 39.0507 / 64) < 1 && part('sram_read', 'high') == part('sram_read', 'low')")" = 1 ]
  bits=$(($(weight) + 8 * (32 * 256 + 32 * 4) + sums))
  ok "50.4983 pJ to write one, of the bus at most .2390 more" [ "$(value "abs(part('sram_write', 'low') - $bits * 50.4983 / 64) < 1 && abs(part('sram_write', 'high') - $bits * (50.4983 + .2390) / 64) < 1")" = 1 ]
  accept "two macros" "${gemm[@]}" --energy t.jsonl --memory m.yaml --sram "${S}2048x64_c2_bm_bist_typ_1p20V_25C.lib" --sram "${S}64x64_c2_bm_bist_typ_1p20V_25C.lib"
  low=$(value 'part("sram_read", "low")') high=$(value 'part("sram_read", "high")')
  ok "... span a range" awk "BEGIN { exit !($high / $low > 122.3940 / 39.0507 - .001 && $high / $low < 122.3940 / 39.0507 + .001) }"
  accept "the usual SRAM is these two" "${gemm[@]}" --energy t.jsonl
  ok "... within a thousandth" [ "$(value "abs(part('sram_read', 'low') / $low - 1) < 1e-3 && abs(part('sram_read', 'high') / $high - 1) < 1e-3")" = 1 ]
  refuse "no SRAM macro" "${gemm[@]}" --energy t.jsonl --sram "$DATA/liberty/sg13g2_stdcell_typ_1p20V_25C.lib"
else
  skip "SRAM macros" "no SQ_DATA with liberty/sram_sg13g2"
fi

# Library, node and the clock that the netlist reaches; the machine has 1 GHz.
note='^sqsim run: note: the netlist of these joules needs 8.66 ns a cycle, the clock of 1 GHz has 1 ns'
sed 's/"is_golden"/"liberty":"pdk\/osu018_stdcells.lib","settled_ns":8.66,"path_ns":null,&/' "$W/t.jsonl" >"$W/slow.jsonl"
sq_all "${gemm[@]}" --energy slow.jsonl --memory m.yaml
ok "a slow netlist: a note" [ "$RC$(grep -c "$note" "$W.err")" = 01 ]
ok "... and in the summary" grep -q '"energy_library":"osu018_stdcells.lib, 180 nm",.*"energy_needs_ns":8.66' "$W.out"
sq_all "${gemm[@]/--json/--causes}" --energy slow.jsonl --memory m.yaml
ok "... and node in the head" out_has "layer of engine_array, library osu018_stdcells.lib, 180 nm;"
sed 's/8.66,"path_ns":null/0.5,"path_ns":8.66/; s/osu018/mine/' "$W/slow.jsonl" >"$W/path.jsonl"
sq_all "${gemm[@]}" --energy path.jsonl --memory m.yaml
ok "a long path: a note" [ "$RC$(grep -c "$note" "$W.err")" = 01 ]
ok "... of a node that no list has" grep -q '"energy_library":"mine_stdcells.lib, node unknown"' "$W.out"
sed -i 's/8.66/0.99/' "$W/path.jsonl"
accept "a fast netlist: no note" "${gemm[@]}" --energy path.jsonl --memory m.yaml

refuse "\-\-memory needs --energy" run --m 1 --n 64 --k 64 --memory m.yaml
refuse "\-\-dram needs --energy" run --m 1 --n 64 --k 64 --dram lpddr4
refuse "\-\-sram needs --energy" run --m 1 --n 64 --k 64 --sram x.lib
refuse "no use on a GPU" run --m 1 --n 64 --k 64 --format dense --machine "$SQSIM_HOME/sim/machines/h200.yaml" --energy t.jsonl
refuse "no layer of this format and these options" run --m 1 --n 64 --k 64 --format nvfp4 --energy t.jsonl
refuse "cannot open\|No such file" run --m 1 --n 64 --k 64 --format dense --energy none.jsonl
refuse "need one of: one, two" "${gemm[@]}" --energy t.jsonl --memory m.yaml --dram three
memory 10 >"$W/bad.yaml"
refuse "dram.low = 10 pJ/bit, need at most dram.high = 9 pJ/bit" "${gemm[@]}" --energy t.jsonl --memory bad.yaml
memory "5 GB" | sed 's/ pJ.bit, high: 9/, high: 9/' >"$W/bad.yaml"
refuse "dram.low = 5 GB, need a unit: fJ/bit or pJ/bit" "${gemm[@]}" --energy t.jsonl --memory bad.yaml
bad() { # PATTERN SED
  sed "$2" "$W/t.jsonl" >"$W/bad.jsonl"
  refuse "$1" "${gemm[@]}" --energy bad.jsonl
}
bad "not golden" 's/"is_golden":true/"is_golden":false/'
bad "has not 1x1 PEs" 's/"Rows":1/"Rows":2/'
bad "macs = " 's/"macs":32/"macs":-1/'
bad "need 0" 's/"internal":40000/"internal":-40000/'
bad "more joules inside of PEs" 's/"pes_aj":{"switching":320000/"pes_aj":{"switching":960000/'
bad "block of lines of the same recipe" '1{p;s/engine_array/array/}'
bad "liberty_digest of lines" '1{p;s/7",/8",/}'
bad "bad.jsonl" 's/^{/[/'
: >"$W/bad.jsonl"
refuse "no layer of this format" "${gemm[@]}" --energy bad.jsonl
finish
