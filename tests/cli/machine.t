#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim run on machines, sqsim inspect --gemms: every flag does something, every bad file is refused.
. "$(dirname "$0")/lib.sh"
T=$SQSIM_HOME/traces/workloads
M=$SQSIM_HOME/sim/machines
cycles() { number cycles; }
less() { [ "$1" -lt "$2" ] || { echo "# $1 is not below $2"; return 1; }; }
run() { sq run --json "$@"; [ "$RC" = 0 ] || sed 's/^/# stderr: /' "$W.err"; }

# ---- names of layers ------------------------------------------------------------------------
for l in q k v o; do echo "model.layers.10.self_attn.${l}_proj,1,64,64"; done | sed '1i Layer,M,N,K' >"$W/long.csv"
sq run --workload long.csv
ok "names longer than the column are not cut to the same text" [ "$RC,$(grep -cE '^model.layers.10.self_attn.[qkvo]_proj  *1x64x64 ' "$W.out")" = 0,4 ]

# ---- inspect --gemms -------------------------------------------------------------------------------
says "GEMMs on stdout: default: prefill of 2048" "^q_proj,2048,8192,8192,80,$" inspect --gemms "$T/llama-3-70b.json"
says "--seq sets M" "^q_proj,128,8192,8192,80,$" inspect --gemms "$T/llama-3-70b.json" --seq 128
says "--batch multiplies M" "^q_proj,384,8192,8192,80,$" inspect --gemms "$T/llama-3-70b.json" --seq 128 --batch 3
says "--phase decode: decode: M = batch" "^q_proj,3,8192,8192,80,$" inspect --gemms "$T/llama-3-70b.json" --phase decode --batch 3
says "--routing skewed: the first expert sees all tokens" "^expert_0-0.gate_proj,32," inspect --gemms "$T/qwen3-30b-a3b.json" --phase decode --batch 32 --routing skewed
accept "--gemms --json" inspect --gemms "$T/llama-3-8b.json" --json
ok "parameters of SPEC I" [ "$(number parameters_used)" = 6979321856 ]
accept "--gemms --json of 70B" inspect --gemms "$T/llama-3-70b.json" --json
ok "MACs with all their digits" [ "$(number macs)" = 140187732541440 ]
accept "4096 sequences" inspect --gemms "$T/llama-3-70b.json" --batch 4096 --json
ok "and beyond 2^53" [ "$(number macs)" = 574208952489738240 ]
printf 'Layer,M,N,K,Count\na,16777213,8191,8193,1\n' >"$W/exact.csv"
run --workload exact.csv --machine "$SQSIM_HOME/sim/machines/server64.yaml" --format nvfp4
ok "run: all digits" [ "$(number macs)" = 1125899688738819 ]

accept "-o" inspect --gemms "$T/llama-3-8b.json" --phase decode -o t.csv
ok "-o writes the table" cmp "$W/t.csv" "$T/llama-3-8b_decode_1.csv"
accept "a directory with config.json" inspect --gemms "$SQSIM_HOME/traces/tiny-llama"
ok "the embedded model by default" cmp "$W.out" <("$SQSIM" inspect --gemms)
for csv in "$T"/*.csv; do
  [ -e "$W/all" ] || { mkdir "$W/all"; SQSIM=$SQSIM "$T/make.sh" "$W/all"; }
  ok "shipped $(basename "$csv") is what make.sh makes" cmp "$csv" "$W/all/$(basename "$csv")"
done
rm -rf "$W/all"
refuse "need prefill or decode" inspect --gemms "$T/llama-3-8b.json" --phase train
refuse "batch = 0" inspect --gemms "$T/llama-3-8b.json" --batch 0
refuse "seq = 1099511627776" inspect --gemms "$T/llama-3-8b.json" --seq 1099511627776
refuse "need 1..16777216 together" inspect --gemms "$T/llama-3-8b.json" --seq 16777216 --batch 2
refuse "--seq with --phase decode" inspect --gemms "$T/llama-3-8b.json" --phase decode --seq 3
refuse "--json and --output" inspect --gemms "$T/llama-3-8b.json" --json -o x.csv
refuse "cannot open\|No such\|not" inspect --gemms /nonexistent.json
refuse "cannot\|No such\|not" inspect --gemms "$T/llama-3-8b.json" -o no/such/x.csv
refuse "it lies among devices" inspect --gemms "$T/llama-3-8b.json" -o /dev/fd/1

# ---- run ------------------------------------------------------------------------------------
run --workload "$T/llama-3-8b_decode_1.csv"
decode=$(cycles)
ok "decode runs" [ "$RC" = 0 ]
ok "decode is memory-bound" grep -q '"summary".*"bound":"memory"' "$W.out"
ok "the sum counts rows Count times" [ "$(number macs)" = 6979321856 ]
ok "default machine" grep -q '"machine":"default"' "$W.out"
ok "run --json: no lm_head" grep -q '"summary".*"has_lm_head":false' "$W.out"
without='^without lm_head, the product with the vocabulary (docs/limits.md)$'
{ cat "$T/llama-3-8b_decode_1.csv"; echo lm_head,1,128256,4096,1,; } >"$W/head.csv"
for m in default h200; do
  sq run --workload "$T/llama-3-8b_decode_1.csv" --machine "$M/$m.yaml" --format dense; ok "$m: the head says so" out_has "$without"
  sq run --workload head.csv --machine "$M/$m.yaml" --format dense; ok "$m: not of a table with one" [ "$RC$(grep -c "$without" "$W.out")" = 00 ]
  run --workload head.csv --machine "$M/$m.yaml" --format dense; ok "$m: --json of it" grep -q '"summary".*"has_lm_head":true' "$W.out"
done
sq inspect --gemms "$T/llama-3-8b.json" --json; ok "--gemms --json" grep -q '"summary".*"has_lm_head":false' "$W.out"
sq inspect --gemms --help; ok "--gemms --help" out_has "lm_head"
run --workload "$T/llama-3-8b_decode_1.csv" --machine "$M/server64.yaml"
ok "--machine: a faster one" less "$(cycles)" "$decode"
run --workload "$T/llama-3-8b_prefill_2048.csv"
sq_w=$(cycles)
ok "prefill is compute-bound" grep -q '"summary".*"bound":"compute"' "$W.out"
run --workload "$T/llama-3-8b_prefill_2048.csv" --format dense --weight-bits 8
w8=$(cycles)
ok "dense W8A8 is slower" less "$sq_w" "$w8"
run --workload "$T/llama-3-8b_prefill_2048.csv" --format dense --weight-bits 4
w4=$(cycles)
ok "dense W4A8 is faster than SQ" less "$w4" "$sq_w"
# Decode is bound by memory: cycles are bytes over bandwidth, in the order of the stored bits.
previous=0
for f in "spqt --sparsity 0.65" spqt gqsa "sq_a_static --weight-bits 4" "spqr --outliers 0.01" sp24 sq_w "dense --weight-bits 8"; do
  run --workload "$T/llama-3-8b_decode_1.csv" --format $f
  ok "decode: --format $f is slower than the one before" less "$previous" "$(cycles)"
  previous=$(cycles)
done
# SpQt by hand: K = 3072, half of it active, one token, one superblock high: one engine has it, and takes 8 beats
# of codes for each of about 1536 superblocks; a byte more for each chunk of K. Index unit: 96 segments of 16 columns, 8 a cycle, latency 3.
# Zigzag, bursts of 64: 7/12 of 144 bytes a column (P10); row: all of them.
spqt() { run --m 1 --n 256 --k 3072 --machine "$M/default.yaml" --format spqt "$@"; }
spqt; busy=$(number busy); zigzag=$(cycles)
near() { # VALUE EXPECTED PER_MILLE
  [ $((($1 - $2) * 1000)) -le $(($2 * $3)) ] && [ $((($2 - $1) * 1000)) -le $(($2 * $3)) ] ||
    { echo "# $1 is not within $3/1000 of $2"; return 1; }
}
ok "spqt: codes of 7/12 of the columns" near "$(number lo)" $((256 * 3072 / 2 * 7 / 12)) 1
ok "their scales" near "$(number scale)" $((256 * 3072 / 16 * 7 / 12)) 1
ok "the steps of active columns" near "$busy" $((8 * 1536)) 100
ok "one token: no engine waits for another" [ "$(number imbalance)" = 0 ]
ok "the index unit goes ahead" [ "$(number index)" = $((96 * 2 + 3)) ]
ok "layout is named" grep -q '"layout":"zigzag","act_bits"' "$W.out"
spqt --layout zigzag
ok "default of --layout" [ "$(cycles)" = "$zigzag" ]
spqt --layout row
ok "--layout row fetches every code" [ "$(number lo)" = $((256 * 3072 / 2)) ]
ok "and every scale" [ "$(number scale)" = $((256 * 3072 / 16)) ]
ok "and takes longer" less "$zigzag" "$(cycles)"
spqt --layout row --sparsity 0.99
ok "--layout row saves where whole bursts are inactive" less "$(number lo)" $((256 * 3072 / 2))
# One of several tokens has more active columns than the others.
run --m 32 --n 256 --k 3072 --machine "$M/default.yaml" --format spqt
ok "engines of other tokens wait" less 0 "$(number imbalance)"
# Engines of GQSA that share the groups evenly take the mean; else the one whose channels have most decides.
gqsa() { run --m 512 --n 4096 --k 4096 --format gqsa "$@"; }
gqsa; stream=$(($(number busy) + $(number imbalance)))
ok "engines that share the groups have as many" [ "$(number imbalance)" = 0 ]
ok "gqsa says by which law groups are drawn" grep -q '"drawn":"groups of a row binomial' "$W.out"
gqsa --schedule slice_k; slice=$(($(number busy) + $(number imbalance)))
ok "--schedule slice_k waits for the engine with most groups" less "$stream" "$slice"
ok "which is imbalance" less 0 "$(number imbalance)"
gqsa --schedule slice_k --scope row
ok "--scope row: every engine has as many" less "$(number imbalance)" 1
run --m 512 --n 4096 --k 4096 --format spqr --act-bits 16
ok "spqr waits for the engine with the most outliers" less 0 "$(number imbalance)"
# Masks: the serial unit is hidden behind enough tiles of channels (SPEC C.4), not behind one.
low() { tail -1 "$W.out" | grep -o '"low":{[^}]*' | grep -o "\"$1\":[0-9]*" | cut -d: -f2; }
mask() { # N TOPK: waiting for masks, in thousandths of the busy cycles
  run --n "$1" --m 64 --k 2048 --format sq_a_dynamic --topk "$2" && echo $(($(low wait_mask) * 1000 / $(low busy)))
}
hidden=$(mask 4096 radix); bare=$(mask 32 radix); rank=$(mask 32 rank)
ok "one tile of channels: eight cycles a bank for each of work" near "$bare" $((976 * 1000 / 128)) 50
ok "the unit of a bank a cycle is shorter" less "$rank" "$bare"
ok "128 tiles of channels hide most of it" less "$hidden" 600
# Elements of MX, bits and all: 4.25, 6.25 and 8.25 of them.
stored() { run --m 1 --n 4096 --k 4096 --format "$@" && number lo; }
ok "mxfp6 has the bits of FP6" [ "$(stored mxfp6)" = $((4096 * 4096 * 6 / 8)) ]
ok "mxfp8 those of FP8" [ "$(stored mxfp8)" = $((4096 * 4096)) ]
ok "of e5m2 as well" [ "$(stored mxfp8 --element e5m2)" = $((4096 * 4096)) ]
ok "which is named" grep -q '"element":"e5m2"' "$W.out"
run --m 64 --n 128 --k 256 --format dense
ok "nothing is drawn of a dense matrix" [ -z "$(grep '"drawn":"' "$W.out")" ]
# Banks narrower than L: several in a beat, so that b = 4 takes no longer than b = 16.
bank() { run --m 256 --n 1024 --k 4096 --machine "$M/default.yaml" --bank "$1" --sparsity 0.75 && low busy; }
ok "four banks of 4 in a beat of 16" [ "$(bank 4)" = "$(bank 16)" ]
alone() { sq "$1" "${@:3}" --m 256 --n 1024 --k 4096 --sparsity 0.75 --bank "$2" --json && number cycles; }
ok "of a core alone as well" [ "$(alone run 4 --timing-only)" = "$(alone run 16 --timing-only)" ]
ok "and explained" [ "$(alone run 4 --explain cycles)" = "$(alone run 4 --timing-only)" ]
ok "which says how many" [ "$(alone run 4 --timing-only > /dev/null; number banks_per_beat)" = 4 ]
sq run --m 256 --n 1024 --k 4096 --timing-only --bank 4
ok "in its first line" grep -q 'L=16, H=4, 4 banks a beat$' "$W.out"
# The port that finished tiles leave through.
sed 's/output: 64 B.*/output: 4 B/' "$M/default.yaml" >"$W/port.yaml"
run --m 64 --n 4096 --k 256 --machine "$M/default.yaml"; wide=$(cycles)
run --m 64 --n 4096 --k 256 --machine port.yaml
ok "a narrow port blocks outputs" less $((2 * wide)) "$(cycles)"
ok "and says so" less 100000 "$(number blocked_output)"
sed -i 's/output: 4 B/output: 0 B/' "$W/port.yaml"
refuse "core.output = 0 B, need 1..8192 B" run --machine port.yaml --m 1 --n 32 --k 32
# A DRAM alone.
run --device ddr4-2400
ok "a device: a line for each measure" [ "$(grep -c '"measure"' "$W.out")" = 13 ]
ok "... its row hit takes CL and a burst" grep -q '"measure":"row hit","refresh_policy":null,"clocks":20,"ns":16.66' "$W.out"
run --device gddr6-14 --channels 2 --refresh none
ok "a device of ranges: both ends" [ "$(grep -c '"end":"slow"' "$W.out"),$(grep -c '"end":"fast"' "$W.out")" = 8,8 ]
refuse "device = ddr9, need one of: ddr4-2400" run --device ddr9
timed() { sed '/^dram:/,$d' "$M/edge4.yaml" >"$W/timed.yaml"; printf 'dram:\n' >>"$W/timed.yaml"; printf '  %s\n' "$@" >>"$W/timed.yaml"; }
small() { run --machine timed.yaml --m 4 --n 512 --k 512 --format nvfp4 --causes; }
timed "device: ddr4-2400"; small; ddr4=$(cycles)
ok "a machine with DDR4" grep -q '"dram_clocks":{"peak":' "$W.out"
run "$T/smollm2-135m.json" --phase decode --context 64 --machine timed.yaml
ok "a token of a model behind DDR4, whose scores stay on the chip" grep -q '"part":"attention"' "$W.out"
timed "device: ddr4-2400" "channels: 4"; small
ok "four channels take less" less "$(cycles)" "$ddr4"
timed "device: ddr4-2400" "map: pages"; small
ok "a map that stays in a bank group takes more" less "$ddr4" "$(cycles)"
timed "device: lpddr5-6400"; small
ok "a device of ranges has two ends" less "$(cycles)" "$(number cycles_slow)"
timed "device: ddr4-2400" "latency: 9 ns"
refuse "dram.latency = 9 ns, need no such key with dram.device" run --machine timed.yaml --m 1 --n 32 --k 32
timed "channels: 2" "bandwidth: 9 GB/s" "latency: 9 ns" "burst: 64 B"
refuse "dram.channels = 2, need no such key without dram.device" run --machine timed.yaml --m 1 --n 32 --k 32
timed "bandwidth: 9 GB/s"
refuse "dram.latency is missing, need it without dram.device" run --machine timed.yaml --m 1 --n 32 --k 32
timed "device: ddr9"; refuse "device = ddr9, need one of" run --machine timed.yaml --m 1 --n 32 --k 32
timed "device: hbm2" "page: ajar"; refuse "dram.page = ajar, need one of: open, closed" run --machine timed.yaml --m 1 --n 32 --k 32
refuse "refresh = bank, need all or none" run --device ddr4-2400 --refresh bank

# ---- commands of the DRAM, of whole layers --------------------------------------------------------
JUDGE=$ROOT/tests/unit/dram/judge.py DEVICES=$ROOT/sim/dram/devices
judged() { python3 "$JUDGE" "$DEVICES/$1.yaml" "$W/$2.csv" "${@:3}" >"$W/judged" || { sed 's/^/# /' "$W/judged"; return 1; }; }
doubted() { ! python3 "$JUDGE" "$DEVICES/$1.yaml" "$W/$2.csv" "${@:3}" >"$W/judged" && grep -q "$doubt" "$W/judged"; }
layer() { # MACHINE DEVICE REFRESH KEY...: the commands of a layer of it
  local machine=$1 device=$2 refresh=$3; shift 3
  sed "/^dram:/,/^  burst:/d" "$M/$machine.yaml" >"$W/timed.yaml"
  printf '%s\n' dram: "  device: $device" "  refresh: $refresh" >>"$W/timed.yaml"
  printf '  %s\n' "$@" >>"$W/timed.yaml"
  sq run --machine timed.yaml --m 8 --n 2048 --k 1024 --format nvfp4 --json --commands commands.csv
}
layer edge4 ddr4-2400 all "channels: 1"
bursts() { echo $((($(number act) + $(number act_scale) + $(number lo) + $(number scale) + 63) / 64)) $(($(number out) / 64)); }
ok "a machine's layer: the second judge passes its commands, and all bytes came" judged ddr4-2400 commands all $(bursts)
sed '/,PRE,/d' "$W/commands.csv" >"$W/open.csv"; doubt="is open"; ok "... not without precharges" doubted ddr4-2400 open all
sed '/,REFA,/d' "$W/commands.csv" >"$W/weak.csv"; doubt="refreshes"; ok "... not without refreshes" doubted ddr4-2400 weak all
awk -F, -v OFS=, '$3 == "RD" && was == "ACT" {$1--} {was = $3} 1' "$W/commands.csv" >"$W/early.csv"
doubt="RD of bank .*ACT of the bank"; ok "... not with reads a clock early" doubted ddr4-2400 early all
layer chip lpddr4-3200 bank "map: pages" "page: closed" "queue: 2"
ok "a chip's layer, banks refreshed one by one" judged lpddr4-3200 commands bank
ok "... rows are closed by their last burst, banks refreshed" [ "$(grep -c ',\(RDA\|WRA\),' "$W/commands.csv"),$(grep -c REFA "$W/commands.csv")" = "$(($(grep -c ,ACT, "$W/commands.csv") - $(grep -c ,PRE, "$W/commands.csv"))),0" ]
if daily "commands of every device"; then
  for device in ddr4-3200 ddr5-4800 gddr6-14 hbm2 hbm2e hbm3 lpddr5-6400; do for map in groups xor banks pages; do
    for machine in chip edge4; do
      layer $machine $device all "channels: 2" "map: $map"
      ok "$machine, $device, $map" judged $device commands all
    done
  done; done
fi
timed "device: ddr4-2400"
refuse "--commands needs --machine, --n and --k" run --machine timed.yaml --commands c.csv
refuse "--commands: machine edge4 has no key dram.device" run --machine "$M/edge4.yaml" --m 1 --n 32 --k 32 --commands c.csv
refuse "map = row, need a field channel" run --device ddr4-2400 --map row
refuse "channels = 3, need a power of two" run --device hbm2 --channels 3
refuse "--map needs --device" run --map xor
run --workload "$T/llama-3-8b_decode_1.csv" --format gqsa
ok "other formats have no index unit" [ "$(number index)" = 0 ]
run --workload "$T/llama-3-8b_decode_1.csv" --format spqr --outliers 0.02 --act-bits 16
ok "--outliers costs bytes" grep -q '"summary".*"outliers":0.02' "$W.out"
run --workload "$T/llama-3-8b_prefill_2048.csv" --format dense
ok "--weight-bits is 4 by default, as in eval" [ "$(cycles)" = "$w4" ]
run --m 1 --n 256 --k 256 --format dense
alone=$(cycles)
run --m 1 --n 256 --k 256 --format dense --machine "$M/default.yaml"
ok "a format runs on the default machine" [ -n "$alone" -a "$(cycles)" = "$alone" ]
run --workload "$T/llama-3-8b_prefill_2048.csv" --format dense --weight-bits 16 --act-bits 16
ok "dense W16A16 is slower still" less "$w8" "$(cycles)"
run --workload "$T/llama-3-8b_prefill_2048.csv" --sparsity 0.5
ok "--sparsity 0.5: the high path decides" less "$sq_w" "$(cycles)"
run --workload "$T/llama-3-8b_prefill_2048.csv" --high-lanes 2
ok "--high-lanes overrides the machine's" less "$sq_w" "$(cycles)"
run --workload "$T/llama-3-8b_prefill_2048.csv" --rows 16
ok "--rows overrides the machine's" less "$sq_w" "$(cycles)"
run --machine "$M/default.yaml" --m 64 --n 128 --k 256
ok "one GEMM on a machine" [ "$(number macs)" = 2097152 ]
ok "it reports the streams" grep -q '"bytes_by_stream":{"act":' "$W.out"
run --machine "$M/default.yaml" --m 7
ok "the embedded model on a machine" grep -q '"layer":"model.layers.0' "$W.out"
sq run --workload "$T/llama-3-8b_decode_1.csv" --causes
ok "--causes prints memory" out_has "memory [0-9]"
ok "--causes prints the plan" out_has "cores 1x1x1"

# The core alone and the same core on a machine with a huge DRAM: the machine takes no less.
sed -e 's/bandwidth: .*/bandwidth: 900 TB\/s/; s/latency: .*/latency: 0 ns/' "$M/default.yaml" >"$W/fast.yaml"
run --m 64 --n 128 --k 4096 --timing-only
core=$(cycles)
run --m 64 --n 128 --k 4096 --machine fast.yaml
ok "machine >= core" less "$core" "$(cycles)"
ok "machine <= core + 10 %" less "$(cycles)" $((core * 11 / 10))
rm "$W/fast.yaml"

printf 'Layer,M,N,K,\na,1,2,3,\n' >"$W/w.csv"
printf 'Layer,M,N,K,\na,0,2,3,\n' >"$W/zero.csv"
printf 'Layer,M,N,K,\na,1,2,1099511627776,\n' >"$W/huge.csv"
printf 'Layer,M,N,K,\n' >"$W/none.csv"
sed 's/cores: 1/cores: 0/' "$M/default.yaml" >"$W/zero.yaml"
sed 's/bandwidth: 128 GB.s/bandwidth: -3 GB\/s/' "$M/default.yaml" >"$W/negative.yaml"
sed 's/clock: 1 GHz/clock: 1/' "$M/default.yaml" >"$W/unitless.yaml"
sed 's/weight: 256 KiB/weight: 64 B/' "$M/default.yaml" >"$W/tiny.yaml"
sed 's/latency/latncy/' "$M/default.yaml" >"$W/typo.yaml"
refuse "M = 0, need 1..16777216" run --workload zero.csv
# The documented limits together: this printed 835596.8 % of the low path, and cycles below the bound.
printf 'Layer,M,N,K,\nhuge,16777216,16777216,16777216,\n' >"$W/limits.csv"
for f in sq_w dense sq_a_static sq_a_dynamic sp24; do
  refuse "more than 9223372036854775807 cycles" run --workload limits.csv --format $f \
    --rows 1 --cols 1 --low-lanes 1 --high-lanes 1 --json
done
for f in gqsa spqt spqr; do # a core has the multipliers of one engine; gqsa moves too many bytes before that
  refuse "more than 9223372036854775807 \(cycles\|bytes\)" run --workload limits.csv --format $f \
    --rows 3 --cols 3 --low-lanes 128 --high-lanes 1 --json
done
refuse "more than 9223372036854775807 bytes" run --workload limits.csv --json
printf 'Layer,M,N,K,Count,\nlarge,4194304,4194304,4194304,1000000,\n' >"$W/large.csv"
run --workload large.csv --machine "$M/server64.yaml"
ok "totals of repeated rows do not wrap" awk -F'"cycles":|"bound_cycles":|"utilisation_low":' '
  { split($2, b, ","); split($3, c, ","); split($4, u, ",") }
  { print "# bound " b[1] " cycles " c[1] " use " u[1] }
  NR == 1 { row = c[1]; bound = b[1] }
  END { exit !(c[1] / row > 999999 && c[1] / row < 1000001 && b[1] / bound > 999999 && c[1] >= b[1] && u[1] > 0 && u[1] <= 1) }' "$W.out"
refuse "K = 1099511627776" run --workload huge.csv
refuse "a header and no rows" run --workload none.csv
refuse "cannot\|No such\|not" run --workload absent.csv
refuse "cores = 0, need 1..1024" run --machine zero.yaml --workload w.csv
refuse "dram.bandwidth = -3 GB/s" run --machine negative.yaml --workload w.csv
refuse "clock = 1, need a unit" run --machine unitless.yaml --workload w.csv
refuse "does not hold one tile" run --machine tiny.yaml --workload w.csv
refuse "did you mean latency" run --machine typo.yaml --workload w.csv
refuse "cannot\|No such\|not" run --machine absent.yaml
refuse "machine = chipp: no such file, and no such name in sim/machines (did you mean chip?)" run --machine chipp
refuse "no such name in traces/workloads (did you mean llama-3-8b?)" run llama3-8b --phase decode
refuse "core options have no use on machine h200" run --machine "$M/h200.yaml" --workload w.csv --rows 4
refuse "--causes have no use on machine h200" run --machine "$M/h200.yaml" --workload w.csv --causes
refuse "--records has no use on machine default" run --workload w.csv --records w.csv
refuse "--records needs --machine" run --records w.csv
refuse "no column gpu" run --machine "$M/h200.yaml" --workload w.csv --records w.csv
refuse "need sq_w, dense, sq_a_static" run --workload w.csv --format sparse
refuse "--weight-bits = 1, need 2..16" run --workload w.csv --format dense --weight-bits 1
refuse "--weight-bits has no use with --format sq_w" run --workload w.csv --weight-bits 8
refuse "--seed has no use on a machine" run --format dense --seed 3
refuse "--outliers has no use with --format gqsa" run --workload w.csv --format gqsa --outliers 0.1
refuse "--sparsity has no use with --format dense" run --workload w.csv --format dense --sparsity 0.5
refuse "--sparsity = 1, need" run --workload w.csv --format spqt --sparsity 1
refuse "--group = 3, need 4..128" run --workload w.csv --format gqsa --group 3
refuse "--group has no use with --format spqr" run --workload w.csv --format spqr --group 64
refuse "--layout has no use with --format gqsa" run --workload w.csv --format gqsa --layout row
refuse "--schedule has no use with --format sq_w" run --workload w.csv --schedule static
refuse "--layout = column, need zigzag or row" run --workload w.csv --format spqt --layout column
refuse "--schedule = even, need stream_k or slice_k" run --workload w.csv --format gqsa --schedule even
refuse "--schedule has no use with --format spqt" run --workload w.csv --format spqt --schedule static
printf 'name: small\nclock: 1 GHz\ncores: 1\ncore: {rows: 3, cols: 3, low_lanes: 16, high_lanes: 4, low_bits: 4, high_bits: 8, act_bits: 8, gather: crossbar}\nbuffers: {activation: 64 KiB, weight: 64 KiB, output: 64 KiB}\ndram: {bandwidth: 1 GB/s, latency: 100 ns, burst: 64 B}\n' >"$W/small.yaml"
refuse "18 multipliers of the width that spqt needs, need 32 for one engine" run --machine small.yaml --m 1 --n 8 --k 64 --format spqt
refuse "--layout has no use with --format sq_w" run --m 1 --n 1 --k 1 --layout row
refuse "--outliers = 0.5, need 0..0.25" run --workload w.csv --format spqr --outliers 0.5
refuse "--act-bits = 12" run --workload w.csv --act-bits 12
refuse "act-bits = 16, need 4 or 8" run --workload w.csv --act-bits 16
refuse "act-bits = 16, need 4 or 8" run --m 1 --n 1 --k 1 --act-bits 16
refuse "need one of them" run --workload w.csv --m 3
refuse "need one of them" run --workload w.csv --n 3 --k 3
refuse "need one of them" run --workload w.csv "$SQSIM_HOME/traces/tiny-llama"
refuse "--tokens has no use" run --workload w.csv --tokens x
refuse "--seed has no use" run --workload w.csv --seed 2
refuse "--jobs has no use" run --workload w.csv --jobs 2

# ---- encoded layers: what their rows have -----------------------------------------------------
if [ -f "$SQSIM_HOME/traces/tiny-llama/config.json" ]; then
  plain="--prune magnitude --algorithm rtn" # no calibration
  for f in "gqsa $plain" "spqr --calib-sequences 1" "sp24 $plain"; do sq quantize --format $f -o "${f%% *}.sq.safetensors" --json; done
  run --format gqsa --schedule slice_k; drawn=$(number imbalance)
  ok "of shapes alone they are drawn" grep -q '"drawn":"groups of a row.*"own":null' "$W.out"
  run --format gqsa --schedule slice_k gqsa.sq.safetensors
  ok "of a file they are its own" grep -q '"drawn":null,"own":"kept groups"' "$W.out"
  ok "which are others" [ "$(number imbalance)" != "$drawn" ]
  ok "the provenance says so" grep -q '"data":"layers of a file"' "$W.out"
  ok "its share of groups" grep -q '"group":16,"sparsity":0.5,' "$W.out"
  sq quantize --format gqsa $plain --group 32 --sparsity 0.75 -o other.sq.safetensors --json
  run --format gqsa other.sq.safetensors
  ok "of another file others" grep -q '"group":32,"sparsity":0.75,' "$W.out"
  run --format spqr; drawn=$(number bytes)
  run --format spqr spqr.sq.safetensors
  ok "spqr: outliers that its rows have" grep -q '"own":"outliers"' "$W.out"
  ok "and their bytes" [ "$(number bytes)" != "$drawn" ]
  run --format sp24; drawn=$(cycles)
  run --format sp24 sp24.sq.safetensors
  ok "sp24: every row has as much" [ "$(cycles)" = "$drawn" ]
  ok "nothing is its own" grep -q '"drawn":null,"own":null' "$W.out"
  sq quantize --format spqt --calib-sequences 1 -o spqt.sq.safetensors --json
  run --format spqt --m 1 spqt.sq.safetensors; drawn=$(cycles)
  ok "spqt: a file says no columns" grep -q '"drawn":"active columns.*"own":null' "$W.out"
  run --format spqt --m 1 --weights spqt.sq.safetensors
  ok "tokens do" grep -q '"drawn":null,"own":"active columns"' "$W.out"
  ok "which are others" [ "$(cycles)" != "$drawn" ]
  ok "the provenance says so" grep -q '"data":"layers of a file, tokens of a model"' "$W.out"
  run --format spqt --m 8 --weights spqt.sq.safetensors; one=$(number sparsity)
  run --format spqt --m 8 --weights spqt.sq.safetensors --tokens "$SQSIM_HOME/traces/tiny-llama/tokens_eval.safetensors"
  ok "other tokens have others" [ "$(number sparsity)" != "$one" ]
  run --format gqsa --m 8 --weights gqsa.sq.safetensors; seen=$(cycles)
  run --format gqsa --m 8 gqsa.sq.safetensors
  ok "gqsa: the rows are the same" [ "$(cycles)" = "$seen" ]
  refuse "need --format spqt" run --format gqsa --weights spqt.sq.safetensors
  refuse "need one of them" run --format spqt --weights spqt.sq.safetensors --n 8 --k 8
  refuse "need one of them" run --format spqt --weights spqt.sq.safetensors --workload w.csv
  refuse "no use on a GPU" run --machine "$SQSIM_HOME/sim/machines/h200.yaml" --format spqt --weights spqt.sq.safetensors
  refuse "the file holds layers of format spqr, need --format spqr" run --format gqsa spqr.sq.safetensors
  cp "$W/gqsa.sq.safetensors" "$W/bad.sq.safetensors"
  printf 'x' | dd of="$W/bad.sq.safetensors" bs=1 seek=40 conv=notrunc 2>/dev/null
  refuse "bad.sq.safetensors" run --format gqsa bad.sq.safetensors
fi

# ---- a machine that is a chip: tests/rtl/chip_counters.t holds its cycles to the RTL ----------------
chip() { sed "$1" "$M/chip.yaml" >"$W/chip.yaml"; }
run --m 8 --n 64 --k 512 --machine "$M/chip.yaml" --format dense --weight-bits 8; whole=$(cycles)
ok "it says what its cycles are" grep -q '"basis":"modelled (cycle model of the chip, equal to RTL; DRAM modelled)"' "$W.out"
ok "a tile of 2x4 outputs takes 32 beats of 16" [ "$(low busy)" = $((4 * 16 * 32)) ]
ok "its cycles are busy, waiting and blocked" [ $(($(low busy) + $(low memory) + $(low blocked_output))) = "$whole" ]
chip 's/bandwidth: .*/bandwidth: 2 GB\/s/'
run --m 8 --n 64 --k 512 --machine chip.yaml --format dense --weight-bits 8
ok "a slower DRAM takes longer" less "$whole" "$(cycles)"
chip 's/latency: .*/latency: 400 ns/'
run --m 8 --n 64 --k 512 --machine chip.yaml --format dense --weight-bits 8
ok "... and one that is further away" less "$whole" "$(cycles)"
chip 's/activation: .*/activation: 2 KiB/'
run --m 8 --n 64 --k 512 --machine chip.yaml --format dense --weight-bits 8
ok "... and smaller buffers: K in chunks" less "$whole" "$(cycles)"
run --workload "$T/llama-3-70b_prefill_2048.csv" --machine "$M/chip.yaml" --format dense --weight-bits 8
ok "a model of 70 G weights" [ "$RC,$(low busy)" = "0,$(($(number macs) / 128))" ]
run --machine "$M/chip.yaml" --m 2048 --n 4096 --k 4096 --format dense --weight-bits 8
ok "K that fills half a buffer goes in chunks: the engine is busy in 60 % of the cycles" less "$(cycles)" $((2048 * 4096 / 8 * 256 * 10 / 6))
run --machine "$M/chip.yaml" --format sp24
ok "the embedded model" grep -q '"layer":"model.layers.0' "$W.out"
printf '%s\n' 'name: s' 'axes:' '  format: [dense]' '  weight_bits: [8]' '  act_bits: [8]' '  m: [8]' '  n: [64]' '  k: [512]' \
  "  machine: [$M/chip.yaml]" 'measures: [cycles]' >"$W/s.yaml"
sq sweep s.yaml --db s.db -o s.csv
ok "a sweep" grep -q ",$whole," "$W/s.csv"
chip 's/bus: .*/bus: 6 B/'; refuse "chip.bus = 6 B, need 4, 8, 16, 32 or 64 B" run --machine chip.yaml --m 1 --n 1 --k 1
chip 's/bus: .*/bus: 8/'; refuse "chip.bus = 8, need a unit" run --machine chip.yaml --m 1 --n 1 --k 1
chip 's/  burst: 32/  burst: 0/'; refuse "chip.burst = 0, need 1..256" run --machine chip.yaml --m 1 --n 1 --k 1
chip 's/outstanding: .*/outstanding: 33/'; refuse "chip.outstanding = 33, need 2..32" run --machine chip.yaml --m 1 --n 1 --k 1
chip 's/writes: .*/&\n  encoder: may/'; refuse "chip.encoder = may, need one of: no, yes" run --machine chip.yaml --m 1 --n 1 --k 1
chip 's/writes: .*/&\n  attend: 9/'; refuse "chip.attend = 9, need 1..8" run --machine chip.yaml --m 1 --n 1 --k 1
chip 's/writes: .*/&\n  attend: 2\n  head: 96/'; refuse "chip.head = 96, need a power of two, 4 (a beat of codes) .. 256" run --machine chip.yaml --m 1 --n 1 --k 1
chip 's/writes: .*/&\n  cache: int8/'; refuse "chip.cache without chip.attend" run --machine chip.yaml --m 1 --n 1 --k 1
chip 's/writes: .*/writes: 17/'; refuse "chip.writes = 17, need 1..16" run --machine chip.yaml --m 1 --n 1 --k 1
chip 's/outstanding/outstandin/'; refuse "did you mean outstanding" run --machine chip.yaml --m 1 --n 1 --k 1
chip 's/cores: 1/cores: 2/'; refuse "cores = 2, need 1 with chip" run --machine chip.yaml --m 1 --n 1 --k 1
chip 's/bandwidth: .*/bandwidth: 8.0001 GB\/s/'; refuse "dram.bandwidth = 8.0001 GB/s: at 1000 MHz a burst of 64 B takes 640000 / 80001 cycles, .* 8 GB/s is near" run --machine chip.yaml --m 8 --n 64 --k 512 --format dense
chip 's/latency: .*/latency: 11 us/'; refuse "dram.latency = 11000 cycles, need 0..10000 with chip" run --machine chip.yaml --m 8 --n 64 --k 512 --format dense
for key in "low_lanes: 16" "high_lanes: 4" "low_bits: 4" "high_bits: 8" "act_bits: 8"; do
  chip "s/  cols: .*/&\n  $key/"; refuse "core.${key%%:*} = ${key#*: }, need core.low_lanes and core.high_lanes with it" run --machine chip.yaml --m 8 --n 64 --k 512 --format dense
done
for key in "gather: crossbar" "output: 64 B"; do
  chip "s/  cols: .*/&\n  $key/"; refuse "core.${key%%:*} = ${key#*: }, need no such key with chip" run --machine chip.yaml --m 8 --n 64 --k 512 --format dense
done
sed '/low_bits/d' "$M/default.yaml" >"$W/bare.yaml"; refuse "core.low_bits is missing" run --machine bare.yaml --m 8 --n 64 --k 512
refuse "--gather: a chip (machine chip) has a crossbar" run --machine "$M/chip.yaml" --m 8 --n 64 --k 512 --format dense --gather log
for o in "--low-lanes 8" "--high-lanes 2"; do refuse "chip chip states no multipliers, need both" run --machine "$M/chip.yaml" --m 8 --n 64 --k 512 --format dense $o; done
chip_sweep() { printf '%s\n' 'name: c' 'axes:' "$@" '  m: [8]' '  n: [64]' '  k: [512]' "  machine: [$M/chip.yaml]" 'measures: [cycles]' >"$W/c.yaml"; }
for a in "gather: [log]" "output_bytes: [8]"; do
  chip_sweep "  $a" '  format: [sq_w]'; refuse "axis ${a%%:*}: the PEs of a chip" sweep c.yaml --db c.db
done
for a in "low_lanes: [8]" "high_lanes: [2]"; do
  chip_sweep "  $a" '  format: [sq_w]'; refuse "axis ${a%%:*}: chip chip states no multipliers, need low_lanes and high_lanes" sweep c.yaml --db c.db
done
# Multipliers of a chip: half of them take twice the beats, in a sweep as well; as many columns as they pay for are fair.
lanes=(--machine "$M/chip.yaml" --m 8 --n 64 --k 512 --format dense --weight-bits 8)
run "${lanes[@]}" --low-lanes 16 --high-lanes 4
half=$(cycles)
ok "8 products of 8 bits in 768 bit products: twice the beats" [ "$(low busy)" = $((4 * 16 * 64)) ]
ok "... and the JSON says so" [ "$(number bit_products),$(number bit_products_reference)" = 512,768 ]
run "${lanes[@]}" --low-lanes 32 --high-lanes 8
ok "16 of them in 1536" [ "$(low busy),$(cycles)" = "$((4 * 16 * 32)),$whole" ]
chip_sweep '  low_lanes: [16]' '  high_lanes: [4]' '  format: [dense]' '  weight_bits: [8]' '  act_bits: [8]'
sq sweep c.yaml --db c.db -o c.csv
ok "a sweep over lanes" grep -q ",$half," "$W/c.csv"
sq run "${lanes[@]}" --low-lanes 16 --high-lanes 4 --fair peak
ok "fair by peak: 2x6 PEs of 512 are no more than 2x4 of 768" out_has "a chip of 2x6 PEs, 8 elements of K and 512 bit products"
refuse "fair = peak: chip chip states no multipliers, need core.low_lanes and core.high_lanes" run "${lanes[@]}" --fair peak
refuse "need at least 1536 for the 32 elements of K that a beat of this format has" run --machine "$M/chip.yaml" --m 8 --n 64 --k 512 --format sq_w --low-lanes 16 --high-lanes 4
# All formats are read before the first of them is synthesized.
for bad in dense:bank=0 dense:weight-bits=99 nosuch; do
  refuse "--and" run --phase decode --context 16 --format dense --and mxfp8 --and $bad
  ok "before a head is printed" [ ! -s "$W.out" ]
done
sq run --phase decode --context 16 --machine "$M/chip.yaml" --low-lanes 16 --high-lanes 4 --format dense --kv-format dense --head-format layers --fair peak --and nvfp4 --and mxfp8 --json
ok "rows of chips of equal bit products" [ "$(grep -o '"cols":[0-9]*' "$W.out" | tr '\n' ' ')" = '"cols":6 "cols":12 ' ]
ok "... and why one has none: heads of 32 in beats of 64" grep -q '"format":"mxfp8","why":"layer: metadata K = 32, need a multiple of 64' "$W.out"
# What binds: a DRAM that is faster than the bus leaves the bus.
chip 's/bandwidth: .*/bandwidth: 64 GB\/s/'
sq run --machine chip.yaml --m 2 --n 4096 --k 1024 --format dense --weight-bits 8
ok "the bus binds" out_has "bus-bound"
ok "a clock that no netlist was asked about is called decreed" out_has "its clock is decreed, no netlist was asked"
chip 's/bandwidth: .*/bandwidth: 4 GB\/s/'
sq run --machine chip.yaml --m 2 --n 4096 --k 1024 --format dense --weight-bits 8
ok "... or the DRAM" out_has "memory-bound"
chip 's/output: .*/output: 8 KiB/'; refuse "buffers.output = 8192 B: half of it holds 128 tiles, need 1..64 on the chip" run --machine chip.yaml --m 8 --n 64 --k 512 --format dense
chip 's/rows: .*/rows: 1/; s/cols: .*/cols: 3/; s/output: .*/output: 512 B/'; sq run --machine chip.yaml --m 8 --n 64 --k 512 --format dense
ok "a tile of 12 bytes behind a bus of 8" out_has "8x64x512 .* compute"
for b in activation weight scale; do
  chip "s/$b: .*/$b: 2 MiB/"; refuse "buffers.$b = 2097152 B: half of it holds" run --machine chip.yaml --m 8 --n 64 --k 512 --format dense
done
sed 's/  weight: .*/&\n  scale: 1 KiB/' "$M/default.yaml" >"$W/scale.yaml"; refuse "buffers.scale = 1 KiB, need no such key without chip" run --machine scale.yaml --m 8 --n 64 --k 512
chip 's/rows: .*/rows: 32/; s/cols: .*/cols: 64/'; refuse "need at most 4608 and 1024 on the chip" run --machine chip.yaml --m 8 --n 64 --k 512 --format dense
chip 's/weight: .*/weight: 64 B/'; refuse "half of it holds 0 beats, need 2.." run --machine chip.yaml --m 8 --n 64 --k 512 --format dense --weight-bits 8
refuse "format spqr: the chip does not run its layers" run --machine "$M/chip.yaml" --m 8 --n 64 --k 512 --format spqr
refuse "no block multiplies" run --machine "$M/chip.yaml" --m 8 --n 64 --k 512 --format dense --act-bits 16
refuse "tiles, need at most 65535 of each on the chip" run --machine "$M/chip.yaml" --m 262144 --n 64 --k 512 --format dense
refuse "65536 x 16 tiles, need at most 65535 of each on the chip" run --machine "$M/chip.yaml" --m 131072 --n 64 --k 512 --format dense

# Weights and their scales in decode: the bytes of their stored bits and at most 3 % (operands lie packed); 2:4 pays, of any K.
stored() { # of the line of a layer
  head -1 "$W.out" | python3 -c '
import json, sys
o = json.loads(sys.stdin.read())
moved = sum(o["bytes_by_stream"][s] for s in ("lo", "hi", "index", "scale"))
sys.exit(not 1 <= moved / (o["n"] * o["k"] * o["stored_bits_per_weight"] / 8) <= 1.03)'
}
for machine in chip chip16; do
  for format in nvfp4 "dense --weight-bits 4" sq_w sp24 sq_b; do
    # shellcheck disable=SC2086
    sq run --machine "$M/$machine.yaml" --m 1 --n 4096 --k 4096 --timing-only --format $format --json
    ok "$machine: weights of $format in decode are their stored bits" stored
  done
  for k in 4096 14336; do
    run --machine "$M/$machine.yaml" --m 64 --n 4096 --k $k --timing-only --format dense --weight-bits 8; dense=$(cycles)
    run --machine "$M/$machine.yaml" --m 64 --n 4096 --k $k --timing-only --format sp24
    ok "$machine: 2:4 with K = $k takes no longer than dense" less "$(cycles)" "$dense"
  done
done

# ---- fair machines --------------------------------------------------------------------------
real() { tail -1 "$W.out" | grep -o "\"$1\":[0-9.e+]*" | cut -d: -f2; }
run --m 64 --n 256 --k 512 --machine "$M/default.yaml"; as_is=$(cycles)
ok "machines are not fair by themselves" grep -q '"fair":"none"' "$W.out"
run --m 64 --n 256 --k 512 --fair peak
ok "--fair peak: L = 16, H = 4 are best for SQ(8,4) at s = .75" [ "$(number low_lanes) $(number high_lanes) $(cycles)" = "16 4 $as_is" ]
ok "it says so" grep -q '"fair":"peak","bit_products":768,"bit_products_reference":768,"pe_area_um2":null' "$W.out"
run --m 64 --n 4096 --k 4096 --machine "$M/default.yaml" --bank 8 --sparsity 0.875 --low-bits 2; as_is=$(cycles)
run --m 64 --n 4096 --k 4096 --bank 8 --sparsity 0.875 --low-bits 2 --fair peak
ok "codes of two bits: four banks of 8 in a beat" [ "$(number low_lanes) $(number high_lanes)" = "32 4" ]
ok "which takes less" less "$(cycles)" "$as_is"
sq run --m 64 --n 64 --k 64 --format dense --fair peak
ok "a line of the text says it" out_has "^fair by peak: a PE of 768 bit products, where the machine's has 768"
refuse "--fair = even, need none, peak or area" run --m 1 --n 1 --k 1 --fair even
refuse "--liberty needs --fair area" run --m 1 --n 1 --k 1 --liberty x
refuse "--fair has no use on a GPU" run --m 1 --n 1 --k 1 --fair peak --machine "$M/h200.yaml"
LIB=/usr/share/qflow/tech/osu018/osu018_stdcells.lib
fair() { run --m 64 --n 256 --k 512 --low-lanes 2 --high-lanes 1 --fair area "$@"; }
if ! command -v yosys >/dev/null || [ ! -r $LIB ]; then
  sq run --m 1 --n 1 --k 1 --format dense --fair area
  ok "--fair area without a tool or library: exit 3" [ "$RC" = 3 ]
  skip "--fair area" "no yosys, or no $LIB (package qflow-tech-osu018)"
else
  PATH=/nowhere "$SQSIM" run --m 1 --n 1 --k 1 --format dense --fair area 2>"$W.err"; RC=$?
  ok "--fair area without yosys: exit 3" [ "$RC" = 3 ]
  fair --format dense --weight-bits 4; lanes=$(number low_lanes) um2=$(real pe_area_um2) most=$(real pe_area_reference_um2)
  cp "$W.out" "$W.fair"
  sq area --block pe --low-lanes 2 --high-lanes 1 --gather crossbar --json
  ok "the machine's own PE is that of sqsim area" [ "$(head -1 "$W.out" | grep -o '"area_um2":[0-9.]*' | cut -d: -f2)" = "$most" ]
  dense() {
    sed 's/sq_pe_dense/mine/' "$SQSIM_HOME/rtl/array/sq_pe_dense.sv" >"$W/mine.sv"
    sq area --source mine.sv --top mine --param "Lanes=$1" --param AW=8 --param BW=4 --json
    grep -o '"area_um2":[0-9.]*' "$W.out" | tail -1 | cut -d: -f2
  }
  ok "W4A8: as many lanes as fit, by $lanes of $um2 um2 in $most" awk "BEGIN {exit !($um2 <= $most)}"
  ok "a power of two that divides groups; twice as many do not" awk "BEGIN {exit !($((128 % lanes)) == 0 && $(dense $((2 * lanes))) > $most)}"
  ok "the silicon of the machine's own PEs is filled to within 3 %" awk "BEGIN {f = $(sed -n '$p' "$W.fair" | grep -o '"rows":[0-9]*,"cols":[0-9]*' | sed 's/[^0-9,]//g; s/,/*/') * $um2 / (1024 * $most); exit !(f <= 1 && f > 0.97)}"
  ok "the library is named" grep -q '"liberty_digest":"[0-9a-f]*"' "$W.fair"
  run --m 1 --n 1 --k 1 --low-lanes 2 --high-lanes 1 --fair area --format nvfp4
  ok "a larger PE: fewer of it" awk -v a="$(real pe_area_um2)" -v n="$(($(number cols) * $(number rows)))" -v most="$most" 'BEGIN {f = n * a / (1024 * most); exit !(a > most && f <= 1 && f > 0.9)}'
  refuse "fair = area: the smallest PE of nvfp4 has [0-9]* um2, need at most the ${most%.*} of the machine's own 1 columns" \
    run --m 1 --n 1 --k 1 --low-lanes 2 --high-lanes 1 --cols 1 --fair area --format nvfp4
  if daily "a row of a machine of three oblong cores"; then # its lines: sim/test_fair.c
    sed 's/cores: 1/cores: 3/; s/rows: 32/rows: 24/; s/cols: 32/cols: 40/; s/low_lanes: 16/low_lanes: 2/; s/high_lanes: 4/high_lanes: 1/' "$M/default.yaml" >"$W/oblong.yaml"
    run --phase decode --context 16 --machine oblong.yaml --format nvfp4 --sum binary32 --and dense --fair area --kv-format int8 --head-format dense:weight-bits=8 --period 10MHz
    of() { head -1 "$W.row" | grep -o "\"$1\":[^,]*" | cut -d: -f2; }
    cp "$W.out" "$W.row"
    ok "attention and lm_head are on hardware that the row has" [ "$(of attention_on),$(of head_on),$(of second_rows),$(of second_cols)" = '"second","second",6,20' ]
    ok "its milliseconds are those of its parts" awk "BEGIN { x = $(of ms) - $(of linear_ms) - $(of head_ms) - $(of attention_ms) - $(of vector_ms) - $(of memory_ms); exit !(x ^ 2 < 1e-12) }"
    sq area --block line_nvfp4 --period 100 --json
    blocks=$(($(of low_lanes) / 16)); [ "$blocks" -gt 0 ] || blocks=1
    ok "decoders of the rows and columns of all cores" awk -v got="$(of line_mm2)" -v um2="$(head -1 "$W.out" | grep -o '"area_um2":[0-9.]*' | cut -d: -f2)" -v lines="$((blocks * 3 * ($(of rows) + $(of cols))))" \
      'BEGIN { want = 1e-6 * um2 * lines; exit !(got > 0 && (got - want) ^ 2 < 1e-12 * want ^ 2) }'
    ok "mm2 is the sum of its parts" awk "BEGIN { x = $(of mm2) - $(of pe_mm2) - $(of line_mm2) - $(of output_mm2) - $(of second_mm2) - $(of vector_mm2); exit !(x ^ 2 < 1e-18) }"
  fi
  refuse "fair = area: RTL has no PE of mxint8" run --m 1 --n 1 --k 1 --low-lanes 2 --high-lanes 1 --fair area --format mxint8
  refuse "none.lib" run --m 1 --n 1 --k 1 --fair area --liberty none.lib
fi

D=$DATA/workloads/scalesim
for f in GEMM_mnk_gpt2 GEMM_mnk_transformer_partial GEMM_mnk_vit_l GEMM_mnk_vit_s ispass25_models_vit_bg \
         llama_llama3b mlperf_Transformer mlperf_Transformer_short translation_gpt2 \
         translation_gpt2_multihead_layers; do
  if [ -e "$D/$f.csv" ]; then
    run --workload "$D/$f.csv"
    ok "SCALE-Sim $f.csv as it is" [ "$RC" = 0 ]
  else
    skip "SCALE-Sim $f.csv" "SQ_DATA has no workloads/scalesim"
  fi
done
if [ -e "$D/sparsity_gemm.csv" ]; then
  refuse "column Sparsity is not read" run --workload "$D/sparsity_gemm.csv"
fi
finish
