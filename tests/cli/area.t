#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim area, on blocks of a few cells (the cache of the repository is used, so that a second run
# takes no time): what is printed, that every option changes what it should, and the refusals.
# tests/unit/synth/test_synth counts cells and checks the cache; the library is osu018.
. "$(dirname "$0")/lib.sh"

LIB=/usr/share/qflow/tech/osu018/osu018_stdcells.lib
if [ ! -r $LIB ]; then
  sq area --block mul
  ok "without the default library: exit 3" [ "$RC" = 3 ]
  ok "... and its package is named" grep -q "package qflow-tech-osu018" "$W.err"
  skip "everything else" "$LIB is not there (package qflow-tech-osu018)"
  finish
fi

# value KEY: of the first line of the output.
value() { head -1 "$W.out" | grep -o "\"$1\":[^,}]*" | head -1 | cut -d: -f2-; }
lines() { [ "$(wc -l <"$W.out")" = "$1" ] || { echo "# $(wc -l <"$W.out") lines, want $1"; return 1; }; }

# ---- what is printed
accept "one block" area --block mul --a-bits 2 --b-bits 2
ok "first line: command, revision, tools, library" grep -Eq \
  '^# sqsim area --block mul --a-bits 2 --b-bits 2 \| sqsim [0-9.]+, revision .* \| Yosys [0-9].*osu018_stdcells.lib, digest [0-9a-f]{32}$' "$W.out"
cp "$W.out" "$W/text"
accept "as JSON" area --block mul --a-bits 2 --b-bits 2 --json
ok "one object, one summary" lines 2
for key in block module parameters area_um2 nand2_equivalents critical_path_ns sequential_share \
  weights_per_cycle um2_per_weight_cycle mapper n_cells cells liberty provenance; do
  ok "key $key" [ -n "$(value $key)" ]
done
ok "summary has library and versions" grep -q \
  '"summary":true.*"liberty_digest":"[0-9a-f]*".*"nand2":"NAND2X1".*"yosys":"Yosys' <(tail -1 "$W.out")
ok "osu018 puts no wires into delays: text and JSON say so" [ "$(grep -c 'Delays: no wires\.$' "$W/text"),$(value wire_load)" = 1,null ]
area=$(value area_um2)
ok "text and JSON agree on the area" grep -Eq "^mul +${area%.*}\." "$W/text"
ok "NAND2 equivalents are area / 24" awk "BEGIN{exit !($area/24-$(value nand2_equivalents)<1e-6)}"
# The cells of the row, each with its area in the library, must add up.
sum=$(value cells >/dev/null; head -1 "$W.out" | grep -o '"cells":{[^}]*}' | grep -o '[A-Z0-9]*":[0-9]*' |
  while IFS='":' read -r cell _ n; do
    a=$(awk -v c="cell ($cell)" 'index($0,c){f=1} f&&/area/{gsub(/[^0-9.]/,"");print;exit}' $LIB)
    echo "$a * $n"
  done | paste -sd+ | sed 's/^$/0/' | awk '{n=split($0,t,"+"); for(i=1;i<=n;i++){split(t[i],f,"*"); s+=f[1]*f[2]} print s}')
ok "the area is that of the cells ($sum)" awk "BEGIN{exit !($sum==$area)}"

# ---- the chip: refusals; tests/unit/synth/test_synth counts parts and paths of a small one
refuse_chip() { # WHAT SENTENCE OPTIONS...
  sq area "${@:3}"
  ok "$1: exit 2" [ "$RC" = 2 ]
  ok "... and says why" grep -q -- "$2" "$W.err"
}
refuse_chip "a chip without memories" "buffers of 53248 B, need at most 8192 B as flip-flops" --block top
refuse_chip "a machine that is no chip" "has no key 'chip'" --block top --machine sim/machines/default.yaml
refuse_chip "a format that the chip does not run" "the chip does not run" --block top --of spqr
refuse_chip "an option of the format" "weight-bits = 99, need 2..16 for dense" --block top --of dense:weight-bits=99
refuse_chip "no format" "'nosuch' is no format with values" --block top --of nosuch
refuse_chip "a folder without memories" "holds no memory of sq_sram" --block top --sram /usr/share/qflow
refuse_chip "--sram without the chip" "--sram needs --block top" --block mul --sram sim/machines

# ---- options
change() { # WHAT BASE... -- OPTIONS...: the option changes the area
  local what=$1 before; shift
  local base=()
  while [ "$1" != -- ]; do base+=("$1"); shift; done
  shift
  sq area --json "${base[@]}"; before=$(value area_um2)
  sq area --json "${base[@]}" "$@"
  ok "$what: $before -> $(value area_um2)" \
    [ "$RC" = 0 -a -n "$before" -a "$before" != "$(value area_um2)" ]
}
small=(--bank 4 --sparsity 0.5 --gather crossbar)
change "--a-bits" --block mul --a-bits 2 --b-bits 2 -- --a-bits 3
change "--b-bits" --block mul --a-bits 2 --b-bits 2 -- --b-bits 3
sq area --json --block mul --block mul_star --a-bits 2 --b-bits 2
ok "--block repeats: two rows of different blocks" \
  [ "$(grep -o '"block":"[a-z_]*"' "$W.out" | paste -sd,)" = '"block":"mul","block":"mul_star"' ]
change "--bank" --block gather_mux "${small[@]}" -- --bank 8
change "--sparsity" --block gather_mux "${small[@]}" -- --sparsity 0.75
change "--act-bits" --block gather_mux "${small[@]}" -- --act-bits 4
change "--gather" --block gather_mux "${small[@]}" -- --gather log
change "--low-bits" --block gather_rank "${small[@]}" -- --low-bits 2
change "--low-lanes" --block mac_low --act-bits 4 --low-bits 2 --low-lanes 1 -- --low-lanes 2
change "--high-lanes" --block mac_high --act-bits 4 --high-bits 4 --low-bits 2 --high-lanes 1 -- \
  --high-lanes 2
change "--high-bits" --block mac_high --act-bits 4 --high-bits 4 --low-bits 2 --high-lanes 1 -- \
  --high-bits 8
finish_core=(--block core --bank 4 --sparsity 0.5 --gather crossbar --act-bits 4 --high-bits 4
  --low-bits 2 --low-lanes 1 --high-lanes 1 --rows 1 --cols 1)
# At a clock: relaxed, the smallest netlist; below its path, another recipe, larger and met.
if sq area --json --block dot --low-lanes 2 --a-bits 4 --b-bits 3; [ "$(value critical_path_ns)" = null ]; then
  sq area --block mul --period 5
  ok "--period without OpenSTA: exit 3" [ "$RC" = 3 -a "$(wc -l <"$W.err")" = 1 ]
else
  path=$(value critical_path_ns) smallest=$(value area_um2)
  less=$(awk "BEGIN{print $path*0.9}") twice=$(awk "BEGIN{print $path*2}")
  accept "--period" area --json --block dot --low-lanes 2 --a-bits 4 --b-bits 3 --period "$twice,$less,0.01"
  ok "... a row per period, and the summary" lines 4
  ok "... met, met, not met" [ "$(grep -o '"is_met":[a-z]*' "$W.out" | cut -d: -f2 | paste -sd,)" = true,true,false ]
  at=($(grep -o '"critical_path_ns":[0-9.]*' "$W.out" | cut -d: -f2)) um2=($(grep -o '"area_um2":[0-9.]*' "$W.out" | cut -d: -f2))
  ok "... paths ${at[*]} beside periods $twice $less" awk "BEGIN{exit !(${at[0]}<=$twice && ${at[1]}<=$less && ${at[2]}>0.01)}"
  ok "... areas ${um2[*]}, smallest netlist $smallest" awk "BEGIN{exit !(${um2[0]}<=$smallest && ${um2[1]}>${um2[0]})}"
  sq area --block dot --low-lanes 2 --a-bits 4 --b-bits 3 --period "$less"
  ok "... as text" grep -Eq '^ *[0-9.]+ yes dot ' "$W.out"
fi
if command -v script >/dev/null; then
  (cd "$W" && script -qec "'$SQSIM' area --block mul --a-bits 4 --b-bits 3" /dev/null </dev/null) >"$W/raw"
  tr '\r' '\n' <"$W/raw" | sed 's/\x1b\[K//g' | grep . >"$W/said"
  ok "a terminal: what is at work, before it is done" grep -q '^area: 0 of 1 done; at work: mul for [0-9]* s$' "$W/said"
else
  skip "progress on a terminal" "no script"
fi
change "--rows" "${finish_core[@]}" -- --rows 2
sq area --json "${finish_core[@]}"; one=$(value area_um2)
sq area --json "${finish_core[@]}" --rows 1 --cols 2 --keep-parts
ok "--cols: $one -> $(value area_um2)" awk "BEGIN{exit !($(value area_um2) > 1.2 * $one)}"
ok "--keep-parts: said so, no delay" \
  [ "$RC" = 0 -a "$(value keep_parts)" = true -a "$(value critical_path_ns)" = null ]
parts() { grep -o '"sq_[a-z0-9_]*":{"count":[0-9]*,"um2":[0-9.]*' "$W.out"; }
add_up() { parts | awk -F: -v all="$(value area_um2)" -v n="$1" '{ sum += $4 } END { exit !(NR > n && sum > all - .01 && sum < all + .01) }'; }
ok "... parts that add up to its area" add_up 1
if daily "parts in parts"; then
  sq area --json --block engine_gqsa --keep-parts
  ok "... of an engine: a part in parts, counted in each" grep -q '"sq_fp_round":{"count":[2-9]' <(parts)
  ok "... that add up to its area" add_up 5
fi
sq area --json "${small[@]}" --block gather_mux; before=$(value area_um2)
sq area --json "${small[@]}" --block gather_mux --group 32
ok "--group does not change the hardware" [ "$before" = "$(value area_um2)" ]
sq area --json --block gather --bank 4 --sparsity 0.5 --act-bits 4
ok "gather: unit, rank, select and mux, both architectures" lines 8
cp "$W.out" "$W/jobs1"
sq area --json --block gather --bank 4 --sparsity 0.5 --act-bits 4 --jobs 3
ok "--jobs changes nothing but the command line" \
  diff <(sed 's/"command":"[^"]*"//' "$W/jobs1") <(sed 's/"command":"[^"]*"//' "$W.out")
fields() { awk -v keys="$1" -f "$ROOT/reports/area/fields.awk" "$W/jobs1"; } # by which reports read it
ok "fields.awk: a line for each row, with a word between its values" \
  [ "$(fields block,=word,area_um2 | grep -c "^gather[a-z_]*,word,[0-9.]*$")" = "$(grep -c "^{.block" "$W/jobs1")" ]
ok "... of no row: the library" [ "$(fields =nand2,nand2_um2,=)" = "nand2,24.0," ]
ok "... null is empty" [ "$(awk -v keys=a,b,c -f "$ROOT/reports/area/fields.awk" <<<'{"a":"x","d":{"e":2},"b":null,"c":1.5}')" = "x,,1.5" ]
accept "--output" area --block mul --a-bits 2 --b-bits 2 --output "$W/file"
ok "... is what standard output gets" diff <(tail -n +2 "$W/text") <(tail -n +2 "$W/file")
ok "... and standard output is empty" [ ! -s "$W.out" ]
gzip -c $LIB >"$W/osu.lib.gz"
sq area --json --block mul --a-bits 2 --b-bits 2 --liberty "$W/osu.lib.gz"
ok "--liberty: the same from a .gz" [ "$(value area_um2)" = "$area" ]
sed 's/(1,pf)/(1,PF)/' $LIB >"$W/capitals.lib"
sq area --json --block mul --a-bits 2 --b-bits 2 --liberty "$W/capitals.lib"
ok "--liberty: a unit in capitals" [ "$(value area_um2)" = "$area" ]
sed 's/^area : 24/area : 12/' $LIB >"$W/half.lib"
sq area --json --block mul --a-bits 2 --b-bits 2 --liberty "$W/half.lib"
ok "--liberty: other areas, other result" [ "$RC" = 0 -a "$(value area_um2)" != "$area" ]

# ---- all names
accept "--list" area --list
ok "every name, by group" [ "$(wc -l <"$W.out")" -gt 200 ]
ok "... a unit with its group, module and parameters" grep -Eq '^dma +dma +sq_dma +DataW=64 ' "$W.out"
accept "... as JSON" area --list --json
names=$(grep -o '"block":"[a-z0-9_]*"' "$W.out" | cut -d'"' -f4)
ok "... no name twice" [ -z "$(sort <<<"$names" | uniq -d)" ]

# ---- parts of the chip
large=()
daily "the DMA and the sequencer, too" && large=(--block dma --block sequencer)
accept "parts of the chip" area --json --block block_walk --block gear --block fifo "${large[@]}"
ok "... take no weights" [ "$(grep -c '"weights_per_cycle":null' "$W.out")" = "$(grep -c '"block":' "$W.out")" ]
ok "... have modules of rtl/top" out_has '"block":"block_walk","module":"sq_block_walk"'
walk=$(value area_um2)
accept "a source that is ours: read once" area --json --source "$ROOT/rtl/top/sq_block_walk.sv" --top sq_block_walk --clock clk_i
ok "... the same area" awk "BEGIN{d=$(value area_um2)/$walk-1; exit !(d*d<1e-4)}"
cp "$ROOT/rtl/flow/sq_fifo.sv" "$W/mine_fifo.sv"
accept "a module of ours in a file of another name" area --json --source mine_fifo.sv --top sq_fifo --clock clk_i
echo 'module use_fifo (input clk_i, rst_ni, v, r, input [7:0] d, output [7:0] q, output o, i);
  sq_fifo u (.clk_i, .rst_ni, .in_valid_i(v), .in_ready_o(i), .in_data_i(d), .out_valid_o(o), .out_ready_i(r), .out_data_o(q));
endmodule' >"$W/use.sv"
accept "... used by another source" area --json --source use.sv --source mine_fifo.sv --top use_fifo --clock clk_i

# ---- refusals
refuse "did you mean gather_mux" area --block gather_mix
refuse "need one of [0-9]* names of area --list" area --block frobnicate
refuse "did you mean sequencer" area --block seqencer
refuse "--block has no use with --list" area --list --block mul
refuse "--period has no use with --list" area --list --period 2
refuse "bits = 1, need 2..16" area --block mul --a-bits 1
refuse "bits = 17, need 2..16" area --block mul --b-bits 17
refuse "bits = x, need 2..16" area --block mul --b-bits x
refuse "a-bits needs --block mul" area --block pe --a-bits 4
refuse "b-bits needs --block mul" area --b-bits 4
refuse "period = 0, need 0.01..1000" area --block mul --period 0
refuse "period = x, need 0.01..1000" area --block mul --period 2,x
refuse "a period is empty" area --block mul --period 2,,3
refuse "a period is empty" area --block mul --period ''
refuse "more than 32 periods" area --block mul --period "$(seq -s, 1 33)"
refuse "keep-parts has none" area --block core --keep-parts --period 2
refuse "jobs = 0, need 1..64" area --jobs 0
refuse "keep-parts needs --block core or a unit" area --keep-parts
refuse "keep-parts needs --block core or a unit, not mul" area --block core --block mul --keep-parts
refuse "bank = 12" area --block pe --bank 12
refuse "lanes = 0" area --block pe --low-lanes 0
refuse "sparsity" area --block pe --bank 4 --sparsity 0.9375
refuse "cannot open" area --block mul --liberty "$W/none.lib"
refuse "it is a directory" area --block mul --liberty "$W"
head -c 50000 $LIB >"$W/cut.lib"
refuse "cut.lib' line [0-9]*: the file ends inside" area --block mul --liberty "$W/cut.lib"
head -c 5000 "$W/osu.lib.gz" >"$W/cut.lib.gz"
refuse "truncated gzip" area --block mul --liberty "$W/cut.lib.gz"
echo "module m; endmodule" >"$W/verilog.lib"
refuse "this is no Liberty file" area --block mul --liberty "$W/verilog.lib"
: >"$W/empty.lib"
refuse "this is no Liberty file" area --block mul --liberty "$W/empty.lib"
sed 's/ff (/fx (/; s/ff(/fx(/' $LIB >"$W/noff.lib"
refuse "no flip-flop" area --block mul --liberty "$W/noff.lib"
sed 's/"(!(A B))"/"(!(A+B))"/' $LIB >"$W/nonand.lib"
refuse "no 2-input NAND" area --block mul --liberty "$W/nonand.lib"
# Names that Yosys would run as commands: the map of the full adder was text pasted together, and
# 2169643e78 spells "!id>x". The wrapper looks into the working directory before it is emptied.
name="F u0();wire [39:0]_TECHMAP_DO_=40'h2169643e78;F"
sed "s/cell (FAX1)/cell (\"$name\")/" $LIB >"$W/run.lib"
printf '%s\n' '#!/bin/sh' 'yosys "$@"; code=$?' "[ ! -e x ] || touch '$W/CANARY'" 'exit $code' >"$W/yosys.sh"
chmod +x "$W/yosys.sh"
BWRAP=/nonexistent YOSYS=$W/yosys.sh refuse 'cell ("F u0();wire .*F"), need letters, digits and _' \
  area --block mul --a-bits 4 --b-bits 4 --liberty "$W/run.lib"
ok "no command ran" [ ! -e "$W/CANARY" ]
sed 's/pin(YC)/pin("Y;C")/; s/pin (YC)/pin ("Y;C")/' $LIB >"$W/pin.lib"
refuse 'pin ("Y;C"), need letters' area --block mul --a-bits 4 --b-bits 4 --liberty "$W/pin.lib"
refuse "cannot write" area --block mul --a-bits 2 --b-bits 2 --output "$W/no/file"

# ---- a module of one's own; MINE is the worked example of sim/synth/README.md
cat >"$W/my mac.sv" <<'EOS'
module my_mac #(parameter int unsigned W = 4) (
  input  logic               clk,
  input  logic signed [W-1:0] a_i,
  input  logic signed [7:0]   b_i,
  output logic signed [23:0]  sum_o
);
  always_ff @(posedge clk) sum_o <= sum_o + a_i * b_i;
endmodule
EOS
mine=(area --json --source "my mac.sv" --top my_mac --clock clk)
accept "--source beside ours" "${mine[@]}" --param W=3 --block mul --a-bits 2 --b-bits 2
ok "two rows and a summary" lines 3
ok "module and parameter" out_has '^{"block":"my_mac","module":"my_mac","parameters":{"W":3}'
ok "no weights, no area per weight" out_has '"weights_per_cycle":null,"um2_per_weight_cycle":null'
small=$(value area_um2)
accept "cached" "${mine[@]}" --param W=3
ok "the same" [ "$(value area_um2)" = "$small" ]
accept "--param, --weights" "${mine[@]}" --param W=6 --weights 2
ok "larger" awk "BEGIN{exit !($(value area_um2) > $small)}"
ok "per weight" awk "BEGIN{exit !($(value um2_per_weight_cycle) * 2 == $(value area_um2))}"
slow=$(value critical_path_ns)
sed 's/sum_o + a_i/a_i/' "$W/my mac.sv" >"$W/mine.sv"
accept "another content" area --json --source mine.sv --top my_mac --param W=6 --clock clk
[ "$slow" = null ] || ok "is another result" [ "$(value critical_path_ns)" != "$slow" ]
sed 's/+ a_i \*/+ a_i */; s/b_i;/;/' "$W/my mac.sv" >"$W/broken.sv"
# Errors have the user's own path, whatever the copy that Yosys reads is called, and a line.
refuse "my_mac: broken.sv:7: syntax error" area --source broken.sv --top my_mac
mkdir "$W/of mine" && cp "$W/broken.sv" "$W/of mine/a b.sv"
refuse "my_mac: ./of mine/a b.sv:7: syntax error" area --source "./of mine/a b.sv" --top my_mac
cp "$W/broken.sv" "$W/of mine/broken.svh"; echo '`include "broken.svh"' >"$W/of mine/top.sv"
refuse "my_mac: of mine/broken.svh:7: syntax error" area --source "of mine/top.sv" --top my_mac
sed '/always_ff/s/sum_o + a_i/bb/; s/^module/\/\/ bb\nmodule/' "$W/my mac.sv" >"$W/undeclared.sv"
line=$(grep -n '[^/] *bb' "$W/undeclared.sv" | grep -v '//' | head -1 | cut -d: -f1)
refuse "my_mac: undeclared.sv:$line: Identifier .*bb' is implicitly declared" area --source undeclared.sv --top my_mac --clock clk
# The clock: a path found with none, or with another port, has no meaning.
accept "the path of its flip-flops" "${mine[@]}" --param W=3
path=$(value critical_path_ns)
sq area --json --source "my mac.sv" --top my_mac --param W=3
ok "without --clock: the only one, and said" [ "$RC" = 0 -a "$(value clock)" = '"clk"' -a \
  "$(value critical_path_ns)" = "$path" -a "$(cat "$W.err")" = "sqsim area: my_mac is clocked by port clk alone" ]
refuse "clock = clkk: my_mac has no such input of one bit, did you mean clk?" area --source "my mac.sv" --top my_mac --clock clkk
refuse "clock = sum_o: my_mac has no such input of one bit" area --source "my mac.sv" --top my_mac --clock sum_o
cat >"$W/clocks.sv" <<'EOS'
module two (input ck_a, input ck_b, input [1:0] d, output logic [1:0] q);
  always_ff @(posedge ck_a) q[0] <= d[0] & q[1];
  always_ff @(posedge ck_b) q[1] <= d[1] & q[0];
endmodule
module gated (input clk, input en, input d, output logic q, output logic r);
  wire gck = clk & en;
  always_ff @(posedge gck) q <= d;
  always_ff @(posedge clk) r <= d & q;
endmodule
module divided (input clk, input d, output logic q, output logic half);
  always_ff @(posedge clk) half <= ~half;
  always_ff @(posedge half) q <= d;
endmodule
module sums (input [3:0] a, input [3:0] b, input x, output [3:0] y);
  assign y = a + b + x;
endmodule
module odd (input \clk;exec , input d, output logic q);
  always_ff @(posedge \clk;exec ) q <= d;
endmodule
EOS
clocks=(area --json --source clocks.sv --top)
refuse "two has flip-flops clocked by ck_a, ck_b: name the port" "${clocks[@]}" two
refuse "clock = ck_a: two has flip-flops clocked by ck_a, ck_b, need one clock for all" "${clocks[@]}" two --clock ck_a
refuse "gated has flip-flops clocked by clk, gck: name the port" "${clocks[@]}" gated
refuse "odd has flip-flops clocked by clk;exec: name the port" "${clocks[@]}" odd
refuse "clock = x: two has no such input" "${clocks[@]}" two --clock x
accept "a clock behind a gate" "${clocks[@]}" gated --clock clk
[ "$path" = null ] || refuse "divided has flip-flops that the clock clk does not reach" "${clocks[@]}" divided --clock clk
# A module at the other edge of the clock has the path of its twin: between registers, from inputs, to
# outputs, from input to output. The library has no flip-flop of the falling edge, so that the two are
# the same netlist but for an inverter of the clock; none of 10 ns, in which the half of a period hides.
awk '/^cell *\(DFFNEGX1\)/ { skip = 1 } /^cell *\(/ && !/DFFNEGX1/ { skip = 0 } !skip' $LIB >"$W/rising.lib"
cat >"$W/rise.sv" <<'EOS'
module acc (input clk, input [7:0] d, output logic [7:0] q); logic [7:0] r;
  always_ff @(posedge clk) begin r <= d; q <= q + r; end endmodule
module deep (input clk, input [5:0] d, output logic [11:0] q); logic [5:0] r;
  always_ff @(posedge clk) begin r <= d; q <= r * r; end endmodule
module pass (input clk, input d, output logic q); always_ff @(posedge clk) q <= d; endmodule
module from (input clk, input [4:0] d, e, output logic [4:0] q); always_ff @(posedge clk) q <= d * e; endmodule
module to (input clk, input [4:0] d, output [9:0] q); logic [4:0] r; always_ff @(posedge clk) r <= d; assign q = r * r; endmodule
module through (input clk, input [4:0] a, b, input d, output logic q, output [9:0] y);
  always_ff @(posedge clk) q <= d; assign y = a * b; endmodule
module reset (input clk, input rst_n, input [7:0] d, output logic [7:0] q); logic [7:0] r;
  always_ff @(posedge clk or negedge rst_n) if (!rst_n) begin r <= 0; q <= 0; end else begin r <= d; q <= q + r; end endmodule
EOS
sed 's/posedge clk/negedge clk/' "$W/rise.sv" >"$W/fall.sv"
sed 's/posedge clk/posedge n/; s/);/); wire n = ~clk;/' "$W/rise.sv" >"$W/not.sv"
sed 's/posedge clk/negedge g/; s/input clk,/input clk, input en,/; s/);/); wire g = clk | en;/' "$W/rise.sv" >"$W/gate.sv"
near() { awk "BEGIN{d=$1-$2; exit !(d*d < ${3:-1e-6})}" || { echo "# $1, want $2"; return 1; }; }
timed() { sq area --json --liberty rising.lib --source "$1" --top "$2" "${@:3}"; } # FILE MODULE OPTIONS...
[ "$path" = null ] && skip "paths of falling edges" "no OpenSTA" || for m in acc deep pass from to through reset; do
  case $m in acc | through) ;; *) daily "$m: paths of falling edges" || continue ;; esac
  timed rise.sv $m; rise=$(value critical_path_ns)
  for f in fall not gate; do
    timed $f.sv $m --clock clk
    [ $f = gate ] && most=1e-3 || most=1e-6 # the gate is mapped with the rest
    ok "$m: $f.sv has the path of its twin" near "$(value critical_path_ns)" "$rise" $most
    ok "... in a whole period" near "$(value min_period_ns)" "$rise" $most
  done
  timed fall.sv $m --period "$(awk "BEGIN{print 1.01 * $rise}")"
  ok "$m: met above it by its smallest netlist" out_has '"is_met":true,"recipe":"area"'
done
# Both edges in one module: a path from one to the other has half a period, all others a whole one.
cat >"$W/edges.sv" <<'EOS'
module half (input clk, input [5:0] d, output logic [11:0] q); logic [5:0] r;
  always_ff @(posedge clk) r <= d; always_ff @(negedge clk) q <= r * r; endmodule
module whole (input clk, input [4:0] d, e, output logic [4:0] q, output logic p);
  always_ff @(posedge clk) p <= d[0]; always_ff @(negedge clk) q <= d * e; endmodule
EOS
if [ "$path" != null ]; then
  timed rise.sv deep; rise=$(value critical_path_ns)
  timed edges.sv half; half=$(value critical_path_ns)
  ok "from a rise to a fall: the path itself, $half" near "$half" "$rise" 0.01
  ok "... in half a period" near "$(value min_period_ns)" "$(awk "BEGIN{print 2 * $half}")"
  timed edges.sv half --period "$(awk "BEGIN{print 2.02 * $half}")"
  ok "... met" out_has '"is_met":true'
  timed edges.sv half --period 0.02
  ok "... not met" out_has '"is_met":false'
  timed rise.sv from; rise=$(value critical_path_ns)
  timed edges.sv whole
  ok "two edges, no path from one to the other: a whole period" near "$(value min_period_ns)" "$rise" 0.01
  sq area --liberty rising.lib --source edges.sv --top half
  ok "text: the clock that the path needs" grep -q ' path ns *clock ns ' "$W.out"
fi
sq "${clocks[@]}" sums
ok "no flip-flops: said, path from input to output" [ "$RC" = 0 -a "$(value clock)" = null -a \
  "$(cat "$W.err")" = "sqsim area: sums has no flip-flops: its path is from input to output" ]
[ "$path" = null ] || ok "... which is longer than a gate" awk "BEGIN{exit !($(value critical_path_ns) > 0.3)}"
refuse "clock = clk: sums has no such input" "${clocks[@]}" sums --clock clk
refuse "object for defparam .X" "${mine[@]}" --param X=1
refuse "Module .nope' not found" area --source mine.sv --top nope
refuse "--top = 'a b', need a Verilog identifier" area --source mine.sv --top 'a b'
refuse "--param = 'a;b', need a Verilog" area --source mine.sv --top my_mac --param 'a;b=1'
refuse "--param = 'W', need NAME=N" area --source mine.sv --top my_mac --param W
refuse "--param = -1, need 0" area --source mine.sv --top my_mac --param W=-1
refuse "needs --top MODULE" area --source mine.sv
refuse "--param needs --source FILE" area --param W=1
refuse "none.sv" area --source none.sv --top my_mac

# ---- a home whose path ABC would not take
mkdir -p "$W/a b;#'c"
for part in rtl sim traces; do ln -s "$ROOT/$part" "$W/a b;#'c/$part"; done
SQSIM_HOME="$W/a b;#'c" accept "below a path with blank, ;, # and quote" area --block mul --a-bits 2 --b-bits 2 --json
ok "the same area" [ "$(value area_um2)" = "$area" ]

# ---- the page
{ echo; awk -f "$ROOT/reports/area/scaled.awk" "$ROOT"/reports/{area/scaled,accuracy/smollm2}.csv
  awk -f "$ROOT/reports/area/engines.awk" "$ROOT/reports/area/engines.csv"; } >"$W/csv.md"
ok "reports/area/README.md shows the tables of scaled.csv and engines.csv" "$ROOT/reports/area/page.sh" --check "$W/csv.md" "$ROOT/reports/area/README.md"
sed '/^| INT6 per token |/s/| \([0-9]\)/| 1\1/' "$ROOT/reports/area/README.md" >"$W/page.md"
ok "... and a changed digit is found" bash -c "! '$ROOT/reports/area/page.sh' --check '$W/csv.md' '$W/page.md' >/dev/null"

# ---- the wire load of a library
if [ -f "$DATA/liberty/sg13g2_stdcell_typ_1p20V_25C.lib" ]; then
  small=(area --block mul --a-bits 2 --b-bits 2 --json --liberty "$DATA/liberty/sg13g2_stdcell_typ_1p20V_25C.lib")
  sq "${small[@]}"
  loaded=$(value critical_path_ns)
  ok "SG13G2: its name" [ "$(value wire_load)" = '"1k"' ]
  sq "${small[@]}" --no-wire-load
  ok "... and the same netlist without it is faster" [ "$(value wire_load),$(awk "BEGIN {print $(value critical_path_ns) < .9 * $loaded}")" = null,1 ]
else
  skip "a wire load" "no sg13g2 in SQ_DATA"
fi

# ---- placed wires
if [ -f "$DATA/lef/sg13g2_stdcell.lef" ] && [ "$path" != null ]; then
  rc=$(awk -F, '$2 == "signal" { printf "%g,%g", 1e3 * $3, 1e3 * $4 }' "$DATA/lef/wire_rc.csv")
  lef=$DATA/lef/sg13g2_tech.lef,$DATA/lef/sg13g2_stdcell.lef
  small=(area --block mul --a-bits 4 --b-bits 4 --json --liberty "$DATA/liberty/sg13g2_stdcell_typ_1p20V_25C.lib" --no-wire-load)
  sq "${small[@]}"; none=$(value critical_path_ns)
  placed=("${small[@]}" --wires --lef "$lef" --wire "$rc")
  accept "--wires" "${placed[@]}"
  fixed() { sed 's/"seconds_host":[0-9.e-]*/_/' "$W.out"; }
  long=$(value critical_path_ns) um=$(value length_um)
  ok "no wire load, and the path without wires is that of --no-wire-load" [ "$(value wire_load),$(value path_without_ns)" = "null,$none" ]
  ok "placed wires make the path longer: $none -> $long" awk "BEGIN{exit !($long > $none && $long < 1.5 * $none)}"
  ok "their length is that of cells side by side: $(value um_per_cell) um a cell" awk "BEGIN{u=$(value um_per_cell); exit !(u > 4 && u < 20)}"
  ok "... and their capacitance that of so many um" awk "BEGIN{c=$(value capacitance_pf)/$um/${rc#*,}*1e3; exit !(c > .9 && c <= 1)}"
  sq "${placed[@]}" --seed 2
  ok "another seed, other places" [ "$(value length_um)" != "$um" ]
  sq "${placed[@]}" --utilisation .3
  ok "more room, longer wires" awk "BEGIN{exit !($(value length_um) > $um && $(value utilisation) < .4)}"
  sq "${placed[@]}" --wire "$(awk "BEGIN{print 3*${rc%,*}}"),$(awk "BEGIN{print 3*${rc#*,}}")"
  ok "wires of thrice as much: a longer path, the same places" \
    awk "BEGIN{exit !($(value critical_path_ns) > $long && $(value length_um) == $um)}"
  sq "${small[@]}" --wires --lef "$lef"
  ok "layers of the LEF have less than half of that" awk "BEGIN{exit !($(value critical_path_ns) < $long && $(value critical_path_ns) > $none)}"
  half=$(awk "BEGIN{print .5 * ($none + $long)}")
  sq "${placed[@]}" --period "$half"
  ok "a period that the smallest netlist meets without wires alone" awk "BEGIN{exit !($(value min_period_ns) <= $half)}"
  sq "${placed[@]}" --period .9
  cells=$(head -1 "$W.out" | grep -o '"cells":{[^}]*}' | grep -o '":[0-9][0-9]*' | tr -dc '0-9\n' | paste -sd+ | bc) sized=$(value n_sized)
  ok "larger cells and buffers for the wires, $(value path_placed_ns) -> $(value critical_path_ns): never a longer path" \
    awk "BEGIN{exit !($sized + $(value n_buffers) > 0 && $(value critical_path_ns) < $(value path_placed_ns))}"
  ok "... they are in the cells and the area" [ "$cells" = "$(value n_cells)" -a "$(grep -c '"sg13g2_[a-z0-9]*_[248]":' "$W.out")" = 1 ]
  fixed >"$W/placed"
  rm -rf "$ROOT"/build/synth/sq_mul-*-time
  sq "${placed[@]}" --period .9
  ok "... the same seed, the same bytes: places, sizes, buffers" diff "$W/placed" <(fixed)
  sq $(printf '%s\n' "${placed[@]}" | grep -v json)
  ok "text: length, a cell, without wires, time" grep -q "path ns no wires ns *wires um *um/cell *took s" "$W.out"
  ok "... says what is in the delays" grep -q "Delays: placed wires\.$" "$W.out"
  accept "--svg" "${placed[@]}" --svg "$W/mul.svg" --def "$W/mul.def"
  ok "--def has every cell once" [ "$(grep -c '^- c.* PLACED' "$W/mul.def")" = "$(value n_cells)" ]
  ok "... has each cell in the rows, once, by its part" \
    [ "$(grep -c '^M\|^<path fill' "$W/mul.svg"),$(grep -o '([0-9]*)</text>' "$W/mul.svg" | awk -F"[()]" "{ n += \$2 } END { print n }")" = "$(value n_cells),$(value n_cells)" ]
  ok "... and the longest path, from pin to pin" grep -Eq 'points="([0-9.]+,[0-9.]+ ){4,}"' "$W/mul.svg"
  refuse "svg takes one row, not 2" "${placed[@]}" --block mul_star --svg "$W/two.svg"
  refuse "utilisation = .99, need 0.1..0.95" "${placed[@]}" --utilisation .99
  refuse "need OHM,FF" "${small[@]}" --wires --lef "$lef" --wire 2
  refuse "wire = 0, need 1e-06..1000" "${small[@]}" --wires --lef "$lef" --wire 2,0
  refuse "the LEF files have no macro [A-Z0-9]*X1" area --block mul --a-bits 2 --b-bits 2 --wires --lef "$lef"
  refuse "need --wire OHM,FF" "${small[@]}" --wires --lef "$DATA/lef/sg13g2_stdcell.lef"
else
  skip "placed wires" "no lef in SQ_DATA, or no OpenSTA"
fi
refuse "svg needs --wires" area --block mul --svg x.svg
refuse "def needs --wires" area --block mul --def x.def
refuse "wires needs --lef" area --block mul --wires
refuse "lef needs --wires" area --block mul --lef x.lef
refuse "wire needs --wires" area --block mul --wire 1,1
refuse "need FILE,..." area --block mul --wires --lef a,,b
refuse "places flat netlists: leave out --keep-parts" area --block core --keep-parts --wires --lef a
refuse "cannot open 'none.lef'" area --block mul --wires --lef none.lef

# ---- missing tools
# The hardware of a description: a ternary element costs a fraction of the line of E2M1.
cat >"$W/tern8.yaml" <<'EOF'
name: tern8
elements: {bits: 2, grids: {t: [0, 1]}}
blocks: [{length: 8, scale: e8m0, rule: floor}]
tensor_scale: none
EOF
accept "--units-of a description" area --units-of tern8.yaml --rows 1 --cols 1 --json
ok "PE, line and array" [ "$(grep -o '"block":"[a-z0-9_]*"' "$W.out" | cut -d'"' -f4 | tr '\n' ' ')" = "pe_tern8 line_tern8 array_tern8 " ]
ok "the line is the decoder of the table" awk "BEGIN{exit !($(grep line_tern8 "$W.out" | grep -o '"area_um2":[0-9.]*' | cut -d: -f2) < 2000)}"
refuse "need a block-scaled format, both sides encoded" area --units-of dense
refuse "need a format or a description" area --units-of none.yaml
mkdir "$W/bin"
YOSYS=/nonexistent/yosys sq area --block mul
ok "no yosys: exit 3, one line with its package" \
  [ "$RC" = 3 -a "$(grep -c 'package yosys' "$W.err")" = 1 -a "$(wc -l <"$W.err")" = 1 ]
STA=/nonexistent/sta sq area --block mul --a-bits 2 --b-bits 2 --json
ok "no OpenSTA: exit 0, one line, no delay" \
  [ "$RC" = 0 -a "$(value critical_path_ns)" = null -a "$(wc -l <"$W.err")" = 1 ]
finish
