#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim run --phase: a whole pass of a model. Bytes of the cache equal a count by hand, the parts are those of the
# same products alone and add up, each option does something, what does not fit is refused by how much.
. "$(dirname "$0")/../cli/lib.sh"
T=$SQSIM_HOME/traces/workloads
M=$SQSIM_HOME/sim/machines
sed 's/capacity: .*/capacity: 900000 GB/' "$M/server64.yaml" >"$W/large.yaml"
run() { sq run --json "$@"; [ "$RC" = 0 ] || sed 's/^/# stderr: /' "$W.err"; }
part() { grep "\"part\":\"$1\"" "$W.out" | grep -o "\"$2\":[0-9.e+-]*" | cut -d: -f2; }
near() { awk -v a="$1" -v b="$2" -v by="${3:-1e-9}" 'BEGIN { d = a - b; exit !((d < 0 ? -d : d) <= by * b) }' || { echo "# $1 is not $2"; return 1; }; }
more() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }' || { echo "# $1 is not above $2"; return 1; }; }
decode() { run "$1" --machine large.yaml --phase decode --format dense "${@:2}"; }

# ---- bytes of the cache by hand: K and V, layers, heads, elements of a head, bytes, tokens, sequences -------
decode llama-3-8b --context 4096 --batch 32
ok "llama-3-8b, 16 bits" [ "$(number kv_bytes)" = $((2 * 32 * 8 * 128 * 2 * 4096 * 32)) ]
ok "attention reads all of it" near "$(part attention bytes)" $((2 * 32 * 8 * 128 * 2 * 4096 * 32)) 1e-3
ok "and writes a row of each" near "$(part memory bytes)" $((32 * 4096 * 2 + 32 * 32 * 32 * 128 * 2 + 2 * 32 * 8 * 128 * 2 * 32))
ok "products of attention" [ "$(part attention macs)" = $((2 * 32 * 32 * 128 * 4096 * 32)) ]
decode llama-3-8b --context 4096 --batch 32 --kv-format int8
ok "int8: a scale of 32 bits a row" [ "$(number kv_bytes)" = $((2 * 32 * 8 * (128 + 4) * 4096 * 32)) ]
decode llama-3-70b --context 131072 --kv-format int4
ok "llama-3-70b, int4" [ "$(number kv_bytes)" = $((2 * 80 * 8 * (64 + 4) * 131072)) ]
decode qwen3-30b-a3b --context 128 --batch 64
ok "qwen3-30b-a3b" [ "$(number kv_bytes)" = $((2 * 48 * 4 * 128 * 2 * 128 * 64)) ]
decode deepseek-v3 --context 8192 --batch 2
ok "deepseek-v3: latent rows, which all heads share" [ "$(number kv_bytes)" = $((61 * (512 + 64) * 2 * 8192 * 2)) ]
ok "its products" [ "$(part attention macs)" = $((61 * 128 * (576 + 512) * 8192 * 2)) ]
decode smollm2-135m --context 8192 --kv-format mxfp8
ok "smollm2, mxfp8" [ "$(number kv_bytes)" = $((2 * 30 * 3 * (64 + 2) * 8192)) ]

# Weights in memory: all experts, though few work; the embedding in 16 bits, unless lm_head is it.
decode qwen3-30b-a3b --weight-bits 8 --group row
linear=$((48 * (2048 * (32 + 4 + 4 + 32) * 128 + 2048 * 128 + 128 * 3 * 768 * 2048)))
ok "qwen3-30b-a3b: 8 bits of 30 billion" near "$(number weights_bytes)" $((linear + 4 * 151936 * 2048)) 0.004

# ---- windows ------------------------------------------------------------------------------------
sed 's/"llama"/"mistral"/; s/"vocab/"sliding_window": 1024, "vocab/' "$T/llama-3-8b.json" >"$W/window.json"
decode window.json --context 4096
ok "a window bounds the cache" [ "$(number kv_bytes)" = $((2 * 32 * 8 * 128 * 2 * 1024)) ]
ok "and the products" [ "$(part attention macs)" = $((2 * 32 * 32 * 128 * 1024)) ]
sed 's/"llama"/"mistral"/; /vocab_size/d; s/"num_key_value_heads": 8,/"num_key_value_heads": 8/' "$T/llama-3-8b.json" >"$W/class.json"
decode class.json --context 8192
ok "what a config leaves out is that of its class: the window of Mistral" [ "$(number kv_bytes)" = $((2 * 32 * 8 * 128 * 2 * 4096)) ]
sed -i 's/"mistral"/"gemma3_text"/; s/"vocab/"head_dim": 128, "sliding_window_pattern": 4, "vocab/' "$W/window.json"
decode window.json --context 4096
ok "one layer in four has none" [ "$(number kv_bytes)" = $((2 * 8 * 128 * 2 * (24 * 1024 + 8 * 4096))) ]

# ---- prefill: the triangle -----------------------------------------------------------------------
run llama-3-8b --machine large.yaml --phase prefill --seq 2048 --format dense
ok "a prompt multiplies the triangle" near "$(part attention macs)" $((2 * 32 * 32 * 128 * 2048 * 2049 / 2)) 1e-3
alone=$(number ms)
run llama-3-8b --machine large.yaml --phase prefill --seq 512 --context 1536 --format dense
ok "the last chunk of it the rest" near "$(part attention macs)" $((2 * 32 * 32 * 128 * 512 * (1536 + 2048 + 1) / 2)) 1e-3
decode llama-3-8b --context 2048
ok "the first token comes after the prompt" near "$(number ttft_ms)" "$alone"

# ---- the parts are the same products alone, and add up --------------------------------------------
run llama-3-8b --phase decode --batch 32 --context 128 --format dense
ms=$(number ms)
linear=$(part linear ms); head=$(part head ms)
ok "parts add up" near "$ms" "$(grep -o '"ms":[0-9.e+-]*' "$W.out" | head -6 | cut -d: -f2 | paste -sd+ | bc -l)" 1e-8
run --workload "$T/llama-3-8b_decode_32.csv" --format dense
ok "linear layers as in the table" near "$linear" "$(awk -v c="$(number cycles)" 'BEGIN { printf "%.9f", c * 1e-6 }')"
printf 'Layer,M,N,K,\nlm_head,32,128256,4096,\n' >"$W/head.csv"
run --workload head.csv --format dense --weight-bits 16 --act-bits 16
ok "lm_head as eval leaves it, without scales" near "$head" "$(awk -v c="$(number cycles)" 'BEGIN { printf "%.9f", c * 1e-6 }')"
for f in "layers --format spqt" "dense:weight-bits=8 --format dense --weight-bits 8"; do
  run llama-3-8b --phase decode --batch 32 --context 128 --format spqt --head-format ${f%% *}; head=$(part head ms)
  run --workload head.csv ${f#* }
  ok "or in the format that is named, ${f%% *}" near "$head" "$(awk -v c="$(number cycles)" 'BEGIN { printf "%.9f", c * 1e-6 }')"
done
for m in default edge4 large.yaml; do
  run smollm2-135m --machine "$m" --phase decode --context 128 --format dense; few=$(number tokens_per_second)
  run smollm2-135m --machine "$m" --phase decode --context 131072 --format dense; many=$(number tokens_per_second)
  ok "$m: a longer context is slower" more "$few" "$many"
  run smollm2-135m --machine "$m" --phase decode --context 131072 --format dense --kv-format int4
  ok "$m: fewer bits of the cache are faster" more "$(number tokens_per_second)" "$many"
done
run qwen3-30b-a3b --machine large.yaml --phase decode --batch 32 --format dense; balanced=$(part linear ms)
run qwen3-30b-a3b --machine large.yaml --phase decode --batch 32 --format dense --routing skewed
ok "skewed routing reads fewer experts" more "$balanced" "$(part linear ms)"
sed 's/lanes: 32/lanes: 64/' "$W/large.yaml" >"$W/lanes.yaml"
decode llama-3-8b; vector=$(part vector ms)
run llama-3-8b --machine lanes.yaml --phase decode --format dense
ok "twice the lanes: a token waits for the unit's latency, not longer" more "$vector" "$(part vector ms)"
run llama-3-8b --machine large.yaml --phase prefill --seq 2048 --format dense; vector=$(part vector ms)
adds=$(awk 'BEGIN { printf "%.6f", 64 * (2048 / 64 * 4096 / 32 + 18 + 4 * 5) * 1e-6 }')
ok "64 sums of 2048 rows on 64 units of 32 lanes" [ "$(number add)" = "$(awk -v x="$adds" 'BEGIN { print x + 0 }')" ]
run llama-3-8b --machine lanes.yaml --phase prefill --seq 2048 --format dense
ok "twice the lanes take half the time of a prompt" near "$vector" "$(part vector ms | awk '{ print 2 * $1 }')" 0.03

# ---- joules of the vector units, by hand ------------------------------------------------------------------
. "$ROOT/tests/docs/energy_table.sh"
{ table 320000 640000; vector_line; } >"$W/joules.jsonl"
run smollm2-135m --phase decode --context 512 --batch 4 --format dense --energy joules.jsonl
vector() { grep -o '"part":"vector"[^}]*' "$W.out" | grep -o "\"$1_pj\":[0-9]*" | cut -d: -f2; }
# 30 layers: norms of 576 (3 n + 1), rotary (2 n), softmax (3 n + 1), gates (4 n), sums (n); and the last norm.
ops=$((4 * (61 * (3 * 576 + 1) + 30 * (12 * 2 * 64 + 9 * (3 * 512 + 1) + 4 * 1536 + 2 * 576))))
ok "vector: changes and clock pins of an operation, leakage" near "$(vector low)" "$(awk -v n=$ops -v ms="$(number ms)" 'BEGIN { printf "%.12g", n * .11 + 32 * 1e-7 * ms * 1e-3 * 1e12 }')" 1e-6
ok "... with delays and a clock that never stops" near "$(vector high)" "$(awk -v n=$ops -v ms="$(number ms)" 'BEGIN { printf "%.12g", n * .2 + 32 * ms * 1e6 * .01 + 32 * 1e-7 * ms * 1e-3 * 1e12 }')" 1e-6
ok "... while it has work" near "$(vector gated)" "$(awk -v n=$ops -v ms="$(number ms)" -v v="$(part vector ms)" 'BEGIN { printf "%.12g", n * .2 + 32 * v * 1e6 * .01 + 32 * 1e-7 * ms * 1e-3 * 1e12 }')" 1e-6
{ cat "$W/joules.jsonl"; vector_line; } >"$W/two.jsonl"
# lm_head in the format of the layers has their joules, by either way; those of the cache's products come on top.
pj() { run smollm2-135m --phase decode --context 512 --batch 4 --format dense --energy joules.jsonl "$@"; grep -o '"energy_high_j_per_token":[^,]*' "$W.out" | cut -d: -f2; }
as=(--head-format dense:group=128) cache=(--kv-format dense:group=128)
ok "--head-energy: joules of lm_head's products" near "$(pj "${as[@]}" --head-energy joules.jsonl)" "$(pj --head-format layers)" 1e-12
ok "... of which --head-format alone has none" more "$(pj "${as[@]}" --head-energy joules.jsonl)" "$(pj "${as[@]}")"
ok "... nor those of attention, which --kv-energy gives" near "$(awk -v a="$(pj "${cache[@]}" --kv-energy joules.jsonl "${as[@]}" --head-energy joules.jsonl)" -v b="$(pj "${cache[@]}" "${as[@]}" --head-energy joules.jsonl)" 'BEGIN { printf "%.12g", a - b }')" \
  "$(awk -v a="$(pj "${cache[@]}" --kv-energy joules.jsonl)" -v b="$(pj "${cache[@]}")" 'BEGIN { printf "%.12g", a - b }')" 1e-6
refuse "--head-energy needs --energy" run --phase decode --head-energy joules.jsonl
refuse "two lines of block vector" run --phase decode --format dense --energy two.jsonl
{ table 320000 640000; vector_line | sed 's/007"/008"/'; } >"$W/other.jsonl"
refuse "need one" run --phase decode --format dense --energy other.jsonl

# ---- chips: half of heads, columns and cache, and a ring --------------------------------------------------
decode llama-3-8b --context 4096 --batch 8; one=$(number kv_bytes); macs=$(part attention macs); weights=$(number weights_bytes)
decode llama-3-8b --context 4096 --batch 8 --chips 4
ok "four chips: a quarter of the cache and its products" [ "$((4 * $(number kv_bytes))),$((4 * $(part attention macs)))" = "$one,$macs" ]
ok "and of the weights" near "$((4 * $(number weights_bytes)))" "$weights" 1e-3
ok "six steps of a ring, twice a layer and for the embedding" near "$(part link ms)" "$(awk 'BEGIN { printf "%.9f", 65 * 6 * (8 * 4096 * 2 / 4 / 450e9 + 1e-6) * 1e3 }')" 1e-6
run deepseek-v3 --machine server64 --phase decode --format nvfp4 --chips 8
ok "eight chips hold DeepSeek-V3" [ "$RC" = 0 ]
refuse "chips = 3, need a divisor of 32 heads" run llama-3-8b --phase decode --chips 3
grep -v 'link\|bandwidth: 16\|latency: 1 us' "$M/default.yaml" >"$W/alone.yaml"
refuse "2 chips of machine default, need its key link" run llama-3-8b --phase decode --chips 2 --machine alone.yaml

# ---- models ------------------------------------------------------------------------------------
says "the embedded model: what is modelled is said" "vector unit of a core: 1 of 32 lanes, by the cycle model of sq_vector" run --phase decode --context 64
ok "whose clock it is" out_has "1 GHz is decreed, no netlist was asked"
ok "that other formats have other areas" out_has "not of one area with other formats (--fair area)"
accept "a folder" run --phase prefill --seq 16 "$SQSIM_HOME/traces/tiny-llama"

# ---- a row of formats: each figure is that of its own command ------------------------------------------
says "formats as they are: the heading says so" "^formats not of equal silicon" run --phase decode --context 16 --format dense --and sq_w --fair none
refuse "--period needs --and" run --phase decode --period 8ns
refuse "--period needs --fair area and no --machine-clock" run --phase decode --period 8ns --machine-clock --and sq_w
refuse "period = 8 km: unknown unit\|--period = 8 km" run --phase decode --period "8 km" --and sq_w
refuse "need 0.01..1000" run --phase decode --period 0 --and sq_w
refuse "--wires needs --and" run --phase decode --wires --lef a
refuse "--wires needs --fair area" run --phase decode --wires --lef a --and sq_w --fair none
refuse "--seed with --phase needs --wires" run --phase decode --seed 2 --and sq_w
refuse "--kl needs --and" run --phase decode --kl "$W/head.csv"
refuse "and: 'int9' is no format with values" run --phase decode --fair none --and int9
if command -v yosys >/dev/null && [ -r /usr/share/qflow/tech/osu018/osu018_stdcells.lib ]; then
  table 320000 640000 >"$W/energy.jsonl"
  sed 's/low_lanes: 16/low_lanes: 2/; s/high_lanes: 4/high_lanes: 1/' "$M/default.yaml" >"$W/small.yaml"
  (cd "$W" && "$SQSIM" eval --sequences 2 --format dense --algorithm rtn --and dense --weight-bits 8 --algorithm rtn --summary --json >kl.jsonl 2>/dev/null)
  MEM=$DATA/liberty/sram_sg13g2
  # Rows of other PEs with one output stage, whose netlist takes half a minute.
  sq run smollm2-135m --machine small.yaml --phase decode --context 512 --format dense --and dense:weight-bits=8 --and mxint8 --period 8ns --kl kl.jsonl --energy energy.jsonl \
    $([ ! -d "$MEM" ] || printf '%s\n' --sram-area "$MEM") --json
  of() { sed -n "$1p" "$W/rows" | grep -o "\"$2\":[^,}]*" | cut -d: -f2; }
  cp "$W.out" "$W/rows"; cp "$W.out" "$W/period"
  ok "two rows, and why a third has none" [ "$(grep -c netlist_ns "$W/rows")" = 2 -a "$(grep -c '"refused":\[{"format":"mxint8","why":"fair = area: RTL has no PE of mxint8' "$W/rows")" = 1 ]
  for row in 1 2; do
    ok "row $row: KL is that of eval" [ "$(of $row kl_mean)" = "$(sed -n "${row}p" "$W/kl.jsonl" | grep -o '"kl_mean":[^,]*' | cut -d: -f2)" ]
    ok "... its milliseconds are those of its parts" awk "BEGIN { x = $(of $row ms) - $(of $row linear_ms) - $(of $row head_ms) - $(of $row attention_ms) - $(of $row vector_ms) - $(of $row memory_ms); exit !(x ^ 2 < 1e-12) }"
    ok "... and so is its interval" [ "[$(of $row kl_low),$(of $row kl_high)]" = "$(sed -n "${row}p" "$W/kl.jsonl" | grep -o '"kl_mean_95":[^]]*]' | cut -d: -f2)" ]
  done
  if [ -d "$MEM" ]; then
    # 1 MiB in the densest memory of 64 bits.
    densest=$(grep -m1 -H -o 'area *: *[0-9.]*' "$MEM"/*x64_*.lib | sed 's/.*_\([0-9]*\)x64_.*: */\1 /' | awk '{u = $2 / $1 / 64; if (!n++ || u < least) least = u} END {printf "%.9f", least * 8 * 1048576e-6}')
    ok "buffers: the densest memory" near "$(of 1 sram_mm2)" "$densest"
    ok "... which are in the sum" near "$(of 2 mm2)" "$(echo "$(of 2 pe_mm2) + $densest + $(of 2 output_mm2) + $(of 2 vector_mm2)" | bc -l)"
  else
    skip "area of buffers" "no $MEM"
  fi
  sq area --block vector_cut --json
  ok "vector units: 32 lanes" near "$(of 2 vector_mm2)" "$(awk -v a="$(head -1 "$W.out" | grep -o '"area_um2":[^,]*' | cut -d: -f2)" 'BEGIN { printf "%.12g", a * 32e-6 }')"
  ok "their clock is that of their netlist" near "$(of 2 vector_clock_ghz)" "$(awk -v t="$(head -1 "$W.out" | grep -o '"min_period_ns":[^,]*' | cut -d: -f2)" 'BEGIN { print t == "" ? 1 : 1 / t }')" 1e-5
  sq area --source "$ROOT/rtl/array/sq_pe_dense.sv" --top sq_pe_dense --clock clk_i --param Lanes="$(of 2 low_lanes)" --param AW=8 --param BW=8 --period 8 --json
  ok "mm2 is that of area" near "$(of 2 pe_mm2)" "$(awk -v a="$(head -1 "$W.out" | grep -o '"area_um2":[^,]*' | cut -d: -f2)" -v n="$(($(of 2 rows) * $(of 2 cols)))" 'BEGIN { print a * n * 1e-6 }')" 1e-4
  if [ "$(of 2 netlist_ns)" != null ]; then
    ok "the period, too" near "$(of 2 netlist_ns)" "$(head -1 "$W.out" | grep -o '"min_period_ns":[^,]*' | cut -d: -f2)"
    ok "the clock is that of all rows" [ "$(of 1 clock_ghz),$(of 2 clock_ghz),$(of 1 meets_clock)$(of 2 meets_clock)" = 0.125,0.125,truetrue ]
    # Both rows have one PE, which no group changes.
    tiny() { sq run smollm2-135m --machine small.yaml --phase decode --context 16 --format dense --and dense:group=64 --json "$@"; cp "$W.out" "$W/rows"; }
    tiny --period 2GHz
    ok "a row that no PE's netlist reaches says so, and has no time" [ "$(of 1 meets_clock),$(of 1 ms),$(of 2 tokens_per_second)" = false,null,null ]
    ok "... and its fastest netlist" awk "BEGIN {exit !($(of 1 netlist_ns) > 0.5)}"
    cost() { awk "BEGIN {print $(of 1 netlist_ns) * $(of 1 pe_mm2) / $(of 1 rows) / $(of 1 cols)}"; }
    if daily "the knee"; then
      fast=$(cost)
      tiny --period 100ns; small=$(cost)
      tiny
      ok "the knee: less um2 x ns than the smallest netlist, and hardly more than one for 2 GHz" awk "BEGIN {exit !($(cost) <= 1.05 * $fast && $(cost) < $small)}"
    fi
    # Placed, one row: clock and area are those of its PE as area places it.
    if daily "placed rows"; then
      wires=(--wires --lef /usr/share/qflow/tech/osu018/osu018_stdcells.lef)
      sq run smollm2-135m --machine small.yaml --phase decode --context 16 --format sq_w --and sq_w --period 100 "${wires[@]}" --json; cp "$W.out" "$W/rows"
      sq area --block pe --low-lanes "$(of 1 low_lanes)" --high-lanes "$(of 1 high_lanes)" --gather crossbar --period 100 "${wires[@]}" --json
      ok "placed rows have the clock of the placed PE" near "$(of 1 netlist_ns)" "$(head -1 "$W.out" | grep -o '"min_period_ns":[^,]*' | cut -d: -f2)"
      ok "... and say so" [ "$(of 1 is_placed)" = true ]
      ok "... its area, too" near "$(of 1 pe_mm2)" "$(awk -v a="$(head -1 "$W.out" | grep -o '"area_um2":[^,]*' | cut -d: -f2)" -v n="$(($(of 1 rows) * $(of 1 cols)))" 'BEGIN { print a * n * 1e-6 }')" 1e-4
    fi
    cp "$W/period" "$W/rows"
    sed -i "s/clock: .*/clock: $(of 1 clock_ghz) GHz/; s/  lanes: .*/&\n  clock: $(of 1 vector_clock_ghz) GHz/" "$W/small.yaml"
    run smollm2-135m --machine small.yaml --phase decode --context 512 --format dense --energy energy.jsonl \
      --rows "$(of 1 rows)" --cols "$(of 1 cols)" --low-lanes $(($(of 1 low_lanes) - 2)) --high-lanes 1
    ok "time and tokens a second" near "$(of 1 tokens_per_second)" "$(number tokens_per_second)" 1e-4
    ok "joules" near "$(of 1 energy_high_j_per_token)" "$(grep -o '"energy_high_j_per_token":[^,]*' "$W.out" | cut -d: -f2)" 1e-4
  fi
else
  skip "a row of formats" "yosys or qflow-tech-osu018 is not installed"
fi

# ---- a trace of requests: at the nodes of its table times are those of whole passes ------------------------------
prefill() { run llama-3-8b --machine large.yaml --phase prefill --format nvfp4 --kv-format int8 "$@"; number ms; }
serve() { run llama-3-8b --machine large.yaml --phase serve --format nvfp4 --kv-format int8 --requests trace.csv "$@"; }
of() { grep "\"measure\":\"$1\"" "$W.out" | grep -o "\"$2\":[0-9.e+-]*" | cut -d: -f2; }
whole=$(prefill --seq 1024)
run llama-3-8b --machine large.yaml --phase decode --format nvfp4 --kv-format int8 --context 1024; token=$(number ms)
printf 'arrived_at,num_prefill_tokens,num_decode_tokens\n0,1024,1\n' >"$W/trace.csv"
serve
ok "a prompt alone takes a prefill" near "$(of ttft mean_ms)" "$whole" 1e-6
printf 'arrived_at,num_prefill_tokens,num_decode_tokens\n0,1023,2\n1000,1023,2\n' >"$W/trace.csv"
serve
ok "and its next token a decode" near "$(of tpot max_ms)" "$token" 1e-6
ok "two far apart do not wait" [ "$(of wait max_ms)" = 0.0 ]
if [ -r "$DATA/traces/azure2023_splitwise_conv.csv" ]; then
  cp "$DATA/traces/azure2023_splitwise_conv.csv" "$W/trace.csv"
  serve
  ok "19366 requests: every token once" [ "$(number prompt_tokens) $(number new_tokens)" = "$(awk -F, 'NR > 1 { p += $2; n += $3 } END { print p, n }' "$W/trace.csv")" ]
  ok "each has its times" [ "$(of latency requests)" = 19366 ]
else
  skip "an Azure trace" "SQ_DATA is not set"
fi
sed 's/capacity: .*/capacity: 6.2 GB/' "$M/server64.yaml" >"$W/small_cache.yaml"
printf 'arrived_at,num_prefill_tokens,num_decode_tokens\n0,1000000,25\n' >"$W/one.csv"
mkdir -p "$W/partly/tp1/per_sequence.csv"
refuse "per_sequence.csv': it is a directory" run llama-3-8b --machine large.yaml --phase serve --format nvfp4 --kv-format int8 --tables partly
sq run llama-3-8b --machine large.yaml --phase serve --format nvfp4 --kv-format int8 --tables profile
ok "tables for other simulators" [ "$RC" = 0 -a "$(find "$W/profile" -type f | wc -l)" = 7 ]
run llama-3-8b --machine large.yaml --phase decode --format nvfp4 --kv-format int8 --context 1024 --batch 8
ok "products of 32 layers" near "$(awk -F, '$2 == 8 && /proj/ { s += $3 } END { print 32e-3 * s }' "$W/profile/tp1/dense.csv")" "$(part linear ms)" 1e-4
ok "lm_head" near "$(awk -F, '$1 == "lm_head" && $2 == 8 { print 1e-3 * $3 }' "$W/profile/tp1/per_sequence.csv")" "$(part head ms)" 1e-4
vector() { awk -F, '$2 == 8 && (/rotary/ || /act_fn/) { s += $3 } /layernorm/ && $2 == 8 { s += ($1 == "layernorm") ? 2 * $3 : $3 / 32 } END { print 32e-3 * s }' "$W/profile/tp1/dense.csv"; }
attention=$(awk -F, '$1 == 0 && $2 == 0 && $3 == 8 && $4 == 1024 { print 32e-3 * $5 }' "$W/profile/tp1/attention.csv")
ok "attention, softmax and the rest of the vector unit" near "$(awk -v a="$attention" -v v="$(vector)" 'BEGIN { print a + v }')" "$(awk -v a="$(part attention ms)" -v v="$(part vector ms)" 'BEGIN { print a + v }')" 1e-4
ok "aiconfigurator's columns" [ "$(awk -F, '$4 == 8 && $11 == 1023 { print $12 == '"$(awk -v a="$attention" 'BEGIN { print a / 32 }')"' }' "$W/profile/tp1/generation_attention_perf.csv")" = 1 ]
ok "products there, too" near "$(awk -F, '$5 == 8 && $6 == 4096 && $7 == 14336 { print $8 }' "$W/profile/tp1/gemm_perf.csv")" "$(awk -F, '$1 == "down_proj" && $2 == 8 { print 1e-3 * $3 }' "$W/profile/tp1/dense.csv")" 1e-4
refuse "without experts and latent attention" run deepseek-v3 --machine large.yaml --phase serve --format nvfp4 --tables other
refuse "request 1 needs 1000025 tokens" run llama-3-8b --machine small_cache.yaml --phase serve --format nvfp4 --requests one.csv
refuse "needs --requests FILE or --tables DIR" run llama-3-8b --phase serve
refuse "--requests needs --phase serve" run llama-3-8b --phase decode --requests trace.csv
refuse "--context has no use with --phase serve" run llama-3-8b --phase serve --requests trace.csv --context 5
refuse "need 1..8, the tokens of a step" run llama-3-8b --phase serve --requests trace.csv --token-budget 8 --sequences 9

# ---- refusals ------------------------------------------------------------------------------------
refuse "weights of 5.81 GB and a cache of 68.72 GB are 57.35 GB more than the capacity of machine default, 17.18 GB" \
  run llama-3-8b --phase decode --context 16384 --batch 32 --format dense
refuse "context = 0, need 1" run llama-3-8b --phase decode --context 0
refuse "--seq with --phase decode" run llama-3-8b --phase decode --seq 4
refuse "need prefill, decode or serve" run llama-3-8b --phase train
refuse "kv-format: 'int5' is no format with values" run llama-3-8b --phase decode --kv-format int5
refuse "head-format: 'int5' is no format with values" run llama-3-8b --phase decode --head-format int5
refuse "head-format: weight-bits = 1, need 2..16" run llama-3-8b --phase decode --head-format dense:weight-bits=1
refuse "kv-format: group = 3" run llama-3-8b --phase decode --kv-format dense:group=3
refuse "on a GPU, need a machine" run llama-3-8b --phase decode --machine h200
refuse "needs --energy" run llama-3-8b --phase decode --kv-energy "$W/head.csv"
refuse "needs --phase\|no use without" run llama-3-8b --batch 3
sed 's/lanes: 32/lanes: 0/' "$M/default.yaml" >"$W/lanes.yaml"
sed 's/16 GiB/16/' "$M/default.yaml" >"$W/large.yaml"
refuse "vector.lanes = 0, need 1..4096" run llama-3-8b --phase decode --machine lanes.yaml
refuse "capacity = 16, need a unit" run llama-3-8b --phase decode --machine large.yaml
finish
