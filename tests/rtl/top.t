#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sq_top, the chip, against its models: a host behind AXI4-Lite and a memory behind AXI4 are its environment, and every
# signal of both buses and the interrupt are compared in every cycle. Exhausted: six bus faults in every beat of a short layer
# (descriptor, operands, outputs) with four memories, and 180 descriptors that must be refused (each bit without a name, each of KIND, regions that end a beat beyond 2^48), each followed by a layer that
# must be right; an error in sums that are kept while outputs wait for the memory; a tile as long as half a buffer, of up to 4096 beats; a block of as many tiles as a job has; the longest transfers, up to 131,072 beats of the bus; a write
# that clears interrupts in every cycle around the end of a layer; a reset in every cycle of a short layer, behind it one that is whole, and of a ring of two; an abort in every cycle of that ring, and in every fourth of one whose buffers are full; a watchdog of every length, and one of more than 2^16 cycles; a ring of 267 slots, and one that ends beyond 2^48. Sampled: shapes, blocks and their order, ragged blocks, chunks of K and ragged ones, illegal operands, waits of host and memory, polling and
# interrupt, starts while a layer runs, writes that change nothing, images and rings at addresses of 48 bits: at 0, across a multiple of 4 GiB, each region above another one, up to 2^48; resets. Proven: what the ports of AXI say that never changes. A layer of the embedded model goes from its image to its outputs, with the engine busy
# in at least 97 % of all cycles. Then faults, each of which must be found.
. "$(dirname "$0")/lib.sh"
T="1'b1" F="1'b0" S=rtl/top/sq_sequencer.sv R=rtl/top/sq_top_regs.sv

# 25 cases of each of eight points: sixteen are directed, the others are drawn. A campaign without those is refused. In `make test` one
# point has them all; seven have faults of the bus (cases 0 to 3) behind an ideal memory and one of three others, and no resets,
# aborts and watchdogs in every cycle (8 to 12), which ask of registers, sequencer and DMA: three quarters of the time. The
# faults that aborts find are at w8a8, and one at w4a8, which has the aborts of a ring (9), too.
SEVEN="w4a8 own nvfp4 sq_b gqsa block scaled"
CASES="w8a8 $SEVEN:0:25"
daily "each directed case at eight points" || CASES="w8a8:0:25
$SEVEN:0:1
gqsa scaled:1:1
w4a8 own sq_b:2:1
nvfp4 block:3:1
$SEVEN:4:4
w4a8:9:1
$SEVEN:13:12"
while IFS=: read -r points first each; do
  sq cosim --block top $(printf -- '--point %s ' $points) --case "$first" --cases $((each * $(wc -w <<<"$points"))) --seed "$SEED" --json
  ok "$points: $each cases from $first on" clean $((10000 * each))
  ok "... at each point" [ "$(grep -v '"summary"' "$W.out" | grep -c "\"cases\":$each,")" = "$(wc -w <<<"$points")" ]
done <<<"$CASES"
refuse "cases = 135 on 8 points, need at least 136: the first 16 of a point of top are directed" cosim --block top --point quick --cases 135
sq cosim --block top --point deep --case 6 --json
ok "transfers of 131,072 beats, loads and stores" clean 280000

# What no model has: identifiers, CACHE, PROT, LOCK and QOS.
sideband() { # RTL_DIR [PARAMETER PROT]
  yosys -q -p "read_verilog -sv -defer -I$1 $1/sq_pkg.sv $1/top/sq_regs_pkg.sv $1/top/sq_top.sv
    hierarchy -top sq_top -chparam IdW 3 -chparam Id 5 $2; proc; opt_clean
    sat -ignore_unknown_cells -verify $(printf -- '-prove m_axi_%s ' {ar,aw}{id\ 5,cache\ 3,prot\ ${3:-2},lock\ 0,qos\ 0})" >"$W.out" 2>&1
}
ok "each transaction has its identifier, is data, not secure, unprivileged, buffered and not cached" sideband rtl
ok "... or what Prot says" sideband rtl '-chparam Prot 1' 1
mutant writes_of_another_cache rtl/top/sq_top.sv "s/= {2{4'b0011}}/= {4'b0011, 4'b0010}/" && {
  sideband "$W/writes_of_another_cache/rtl"
  ok "writes_of_another_cache: found" grep -q 'proof did fail' "$W.out"
}

# What units say of descriptors at their limits, which would run for long, and of those next to them; heads of 16 in beats of 4, two queries.
sound() { # RTL_DIR UNIT PARAMETERS; lines of a verdict and of words
  local want words w at proofs=
  while read -r want words; do
    proofs+="sat -ignore_unknown_cells -verify -set sound_i 1 -prove is_sound $want"
    for w in $words; do
      at=$(sed -n "s/.* DESC_${w%%=*} = \([0-9]*\);.*/\1/p" rtl/top/sq_regs_pkg.sv)
      proofs+=" -set desc_i[$((32 * at + 31)):$((32 * at))] $((${w#*=}))"
    done
    proofs+="; "
  done
  yosys -q -p "read_verilog -sv -defer -I$1 $1/sq_pkg.sv $1/top/sq_regs_pkg.sv $1/vector/$2.sv; hierarchy -top $2 $3; proc; opt_clean; $proofs" >"$W.out" 2>&1
}
ok "limits of attention" sound rtl sq_top_attend "-chparam Attend 130" <<'END'
1 TILES=8<<16|1 BLOCK=1
1 TILES=16<<16|2 BLOCK=65536
0 TILES=16<<16|2 BLOCK=65537
0 TILES=16<<16|2 BLOCK=1<<31
0 TILES=16<<16|2 BLOCK=0
0 TILES=16<<16|3 BLOCK=65536
0 TILES=16<<16 BLOCK=65536
0 TILES=20<<16|2 BLOCK=65536
0 TILES=6<<16|2 BLOCK=65536
0 TILES=2 BLOCK=65536
END
ok "limits of the vector unit" sound rtl sq_top_vector <<'END'
1 TILES=65535 BLOCK=(1<<32)-1 VECTOR=1<<6
1 TILES=1 BLOCK=1 VECTOR=1<<9
0 TILES=0 BLOCK=(1<<32)-1 VECTOR=1<<6
0 TILES=65535 BLOCK=0 VECTOR=1<<6
0 TILES=65535 BLOCK=1 VECTOR=0
1 TILES=65535 BLOCK=1 VECTOR=2<<4|1<<6
0 TILES=65535 BLOCK=1 VECTOR=3<<4|1<<6
0 TILES=65535 BLOCK=1 VECTOR=1<<14|1<<9
1 TILES=65535 BLOCK=1 VECTOR=1<<14|3<<9
END
# Codes of a cache times scales that are infinite, zero, no number, the least and the largest.
codes() { # RTL_DIR; lines "code scale value"
  local code scale y proofs=
  while read -r code scale y; do proofs+="sat -verify -set code_i 8'h$code -set scale_i 16'h$scale -prove y_o 32'h$y; "; done
  yosys -q -p "read_verilog -sv -defer -I$1 $1/number/sq_fp_from_half.sv $1/number/sq_mul.sv $1/vector/sq_attend_code.sv; hierarchy -top sq_attend_code; proc; flatten; opt_clean; $proofs" >"$W.out" 2>&1
}
ok "codes of attention times special scales" codes rtl <<'END'
00 7c00 7fc00000
00 fc00 7fc00000
01 7c00 7f800000
ff 7c00 ff800000
7f 7e01 7fc00000
00 3c00 00000000
00 bc00 80000000
05 8000 80000000
80 7bff caffe000
80 0001 b7000000
03 0001 34400000
END
# In a test of a scan chain the engine's clock runs, and all resets are the pin's.
scan() { # RTL_DIR
  yosys -q -p "read_verilog -sv -defer -I$1 $1/sq_pkg.sv $1/top/sq_regs_pkg.sv $1/top/sq_top.sv $1/flow/sq_reset_sync.sv $1/flow/sq_clock_gate.sv
    hierarchy -top sq_top; proc; flatten; opt_clean; select -assert-count 1 w:u_gate.gen_gate.en_q
    sat -ignore_unknown_cells -seq 2 -prove-skip 1 -set test_en_i 1 -verify $(printf -- '-prove %s ' rst_n\ rst_ni core_rst_n\ rst_ni u_gate.gen_gate.en_q\ 1)" >"$W.out" 2>&1
}
ok "test_en_i: the clock of the engine runs, resets are rst_ni" scan rtl
mutant reset_of_the_core_in_a_test rtl/top/sq_top.sv "s/test_en_i ? rst_ni : ring_rst_n/ring_rst_n/" && {
  scan "$W/reset_of_the_core_in_a_test/rtl"
  ok "reset_of_the_core_in_a_test: found" grep -q 'proof did fail' "$W.out"
}

layers() { # SENTENCE MIN_BEATS OPTION...
  sq cosim --block top --layers "${@:3}" --json
  ok "$1" clean "$2"
}
layers "a layer on the chip, behind an ideal memory" 15000 --free-streams --format dense --weight-bits 8 --layer '*.0.mlp.gate_proj' --algorithm rtn
ok "512 x 256 channels, 8 tokens on 1 x 2 PEs: 32768 cycles of work in at most 33781" [ "$(number cycles)" -le 33781 ]
ok "... without a reset" [ "$(number resets)" = 0 ]
layers "a layer in eight chunks of K, with wait states, a fault of the bus and resets" 12000 \
  --format dense --group 32 --layer '*.0.self_attn.k_proj' --rows 2 --cols 2 --depth 10 --algorithm rtn
ok "... two of these" [ "$(number resets)" = 2 ]
refuse "--depth needs --block top --layers" cosim --depth 10 --layers
for format in sq_w "sp24 --prune magnitude --algorithm rtn" sq_a_static "sq_a_dynamic --algorithm rtn" nvfp4 if4 mxplus hif4 sq_b "sq_b --codes split --bank 16"; do
  case $format in sq_[wa]* | sp24* | if4 | mxplus | *split*) daily "a layer of $format on the chip" || continue ;; esac # gpu/trace.t has one, or nvfp4 and sq_b but for a table
  # shellcheck disable=SC2086
  layers "a layer of $format on the chip" 2500 --format $format --layer '*.0.self_attn.k_proj'
  ok "... of parameters with names" grep -q '"shape":"DataW=[0-9]* Rows=[0-9]* Cols=' "$W.out"
done
M=$W/one.yaml # exact sums: a product that binary32 does not give
sed 's/rows: 2/rows: 1/; s/cols: 4/cols: 2/; s/output: .*/output: 1 KiB/' "$ROOT/sim/machines/chip.yaml" >"$M"
daily "exact and aligned sums on 2x4 PEs" && M=$ROOT/sim/machines/chip.yaml
sed 's/^core:.*/&\n  sum: exact/' "$M" >"$W/exact.yaml"
sed 's/^core:.*/&\n  sum: exact\n  cut: 2\n  carry: 16/' "$M" >"$W/saved.yaml"
layers "a layer of exact sums on the chip" 2500 --machine exact.yaml --format nvint4 --algorithm rtn --layer '*.0.self_attn.k_proj'
layers "a ring of two of them, carries saved" 5000 --ring --machine saved.yaml --format nvfp4 --algorithm rtn --layer '*.0.self_attn.[kv]_proj'
sed 's/^core:.*/&\n  sum: aligned\n  aligned: 13/; s/  \(activation\|weight\): .*/  \1: 512 B/' "$M" >"$W/aligned.yaml"
sed 's/^core:.*/&\n  sum: after\n  aligned: 25/' "$M" >"$W/after.yaml"
layers "a layer of aligned sums on the chip, in chunks of K" 2500 --machine aligned.yaml --format mxfp4 --algorithm rtn --layer '*.0.self_attn.k_proj'
layers "a ring of two with products aligned, added in binary32" 5000 \
  --ring --machine after.yaml --format mxfp8 --algorithm rtn --layer '*.0.self_attn.[kv]_proj'
refuse "core.aligned = 13: need binary32 for this format" cosim --block top --layers --machine aligned.yaml --format nvfp4 --layer '*.0.self_attn.k_proj'
refuse "need binary32 for this format, exact sums are of scales of E4M3" cosim --block top --layers --machine exact.yaml --format mxfp4 --layer '*.0.self_attn.k_proj'
layers "encode, q, k, v of kept groups as one ring, blocks with padding among them, with wait states, a fault of the bus and resets" 12000 \
  --ring --encode inputs --format gqsa --layer '*.0.self_attn.[qkv]_proj' --m 3 --rows 2 --cols 1
ok "... each with its record" [ "$(grep -c '"slot":[0-3],"chip_cycles":[1-9]' "$W.out")" = 4 ]
refuse "array 1x2: need one column of PEs" cosim --block top --layers --format gqsa --algorithm rtn
layers "... a chain of two, each encoded from bfloat16 outputs" 7000 \
  --ring --encode outputs --format gqsa --algorithm rtn --prune magnitude --layer '*.0.self_attn.[qo]_proj' --m 2 --rows 2 --cols 1 --free-streams
layers "three layers as one ring with one interrupt, with wait states, a fault of the bus and resets" 20000 \
  --ring --format dense --group 32 --layer '*.0.self_attn.[qkv]_proj' --m 4 --rows 2 --cols 2 --depth 10 --algorithm rtn
ok "... each with its record" [ "$(grep -c '"slot":[0-2],"chip_cycles":[1-9]' "$W.out")" = 3 ]
refuse "--ring needs --block top --layers and one format" cosim --ring --layers
layers "a layer whose weights lie across 4 GiB" 5000 \
  --format dense --weight-bits 8 --group row --layer '*.0.self_attn.k_proj' --m 3 --base 0x8ffffd000 --algorithm rtn
layers "a layer of blocks that ends at 2^48" 2500 --format nvfp4 --algorithm rtn --layer '*.0.self_attn.k_proj' --base 0xffffffff6000
layers "a ring with an encoder, across 4 GiB" 5000 \
  --ring --encode inputs --format dense --layer '*.0.self_attn.[kv]_proj' --m 3 --rows 2 --cols 4 --free-streams --base 0x2ffffe000 --algorithm rtn
refuse "that end at 2^48 or before" cosim --block top --layers --format dense --algorithm rtn --layer '*.0.self_attn.k_proj' --base 0xfffffffff000
refuse "--base = 0x1000000000000, need a multiple of 4096, 0..0xfffffffff000" cosim --block top --layers --base 0x1000000000000
refuse "--base needs --block top --layers" cosim --layers --base 4096
# The chip encodes: one ring with one interrupt of an encoder and the layers that share what it wrote; a chain of eight layers,
# each from the outputs of the one before.
layers "encode, q, k, v as one ring, from bfloat16 inputs, with wait states, a fault of the bus and resets" 20000 \
  --ring --encode inputs --format dense --layer '*.0.self_attn.[qkv]_proj' --m 3 --rows 2 --cols 4 --algorithm rtn
ok "... each with its record" [ "$(grep -c '"slot":[0-3],"chip_cycles":[1-9]' "$W.out")" = 4 ]
layers "encode, gate, up" 20000 \
  --ring --encode inputs --format dense --layer '*.0.mlp.[gu]*_proj' --m 3 --rows 2 --cols 4 --free-streams --algorithm rtn
ok "... in three slots of four" grep -q '"slots":4,' "$W.out"
layers "a chain of eight layers, each encoded from the outputs of the one before" 60000 \
  --ring --encode outputs --format dense --weight-bits 8 --layer '*.[oqgd]*_proj' --m 2 --rows 2 --cols 4 --free-streams --algorithm rtn
ok "... in seventeen slots" grep -q '"slots":17,' "$W.out"
codes=(--ring --encode codes --format dense --weight-bits 8 --group 64 --rows 2 --cols 4)
layers "a chain of four layers whose INT8 outputs move to where the next one reads them" 30000 \
  "${codes[@]}" --layer '*.0.*[oqgd]*_proj' --m 3 --free-streams --algorithm rtn
ok "... in nine slots" grep -q '"slots":9,' "$W.out"
layers "a chain of two, with wait states, a fault of the bus and resets" 20000 "${codes[@]}" --layer '*.0.self_attn.[qo]_proj' --m 2 --algorithm rtn
for format in sq_w sq_a_dynamic; do
  refuse "INT8 outputs are activations of dense layers alone" cosim --block top --layers --ring --encode codes --format $format --algorithm rtn --layer '*.0.self_attn.q_proj'
done
layers "encode, q, k, v with a mask for each token as one ring, with wait states, a fault of the bus and resets" 20000 \
  --ring --encode inputs --format sq_a_dynamic --layer '*.0.self_attn.[qkv]_proj' --m 3 --rows 1 --cols 4 --algorithm rtn
layers "... a chain of four layers" 30000 \
  --ring --encode outputs --format sq_a_dynamic --layer '*.[oq]_proj' --m 3 --rows 1 --cols 4 --free-streams --algorithm rtn
for options in "sq_a_static --smooth none" "sq_a_dynamic --select int8" "sq_a_dynamic --variant tied"; do
  refuse "sq_a_dynamic (variant = own, select = fp)" cosim --block top --layers --ring --encode inputs --algorithm rtn --format $options
done
layers "encode, q, k, v of blocks as one ring, in eight chunks of K, with wait states, a fault of the bus and resets" 20000 \
  --ring --encode inputs --format nvfp4 --act-scale token2 --algorithm rtn --layer '*.0.self_attn.[qkv]_proj' --m 3 --rows 2 --cols 2 --depth 10
ok "... each with its record" [ "$(grep -c '"slot":[0-3],"chip_cycles":[1-9]' "$W.out")" = 4 ]
layers "a chain of four layers of sq_b, in chunks of K, with four totals of each output" 20000 \
  --ring --encode outputs --format sq_b --bank 16 --act-scale token2 --algorithm rtn --layer '*.[oq]_proj' --m 3 --rows 2 --cols 2 --depth 10 --free-streams
ok "... in nine slots" grep -q '"slots":9,' "$W.out"
for format in mxfp4 "sq_b --codes split --step pow2 --step-by maximum" "nvint5 --act-scale token2" "sq_b --act-scale token2" \
  "nvfp4_46 --act-scale token2 --errors integer" "if4 --act-scale token2 --errors integer" \
  "nvint4 --scale-by error --act-scale token2 --errors integer"; do
  daily "an encoder of $format" || continue
  # shellcheck disable=SC2086
  layers "an encoder of $format" 2000 \
    --ring --encode inputs --format $format --algorithm rtn --layer '*.0.self_attn.k_proj' --m 3 --rows 2 --cols 2 --free-streams
done
for format in nvfp4 mxfp8 "nvfp4_46 --act-scale token2"; do
  # shellcheck disable=SC2086
  refuse "errors = integer), not those of this recipe" cosim --block top --layers --ring --encode inputs --algorithm rtn --format $format
done
refuse "256 inputs, the layer before has 128 outputs, need the same" cosim --block top --layers --ring --encode outputs --format dense --algorithm rtn --layer '*.0.*_proj'
refuse "--encode needs --ring" cosim --block top --layers --encode inputs
# Counters and those of `run`: chip_counters.t.
cd "$W" || exit 1
refuse "--machine needs --block top --layers" cosim --machine one.yaml --layers
refuse "--machine with --depth" cosim --block top --layers --machine one.yaml --depth 9
refuse "machine default has no key 'chip'" cosim --block top --layers --machine "$ROOT/sim/machines/default.yaml"
cd "$ROOT" || exit 1
refuse "format spqr: the chip does not run its layers" cosim --block top --layers --format spqr

# Beats of operands of thousands of bytes, which no point has: the sequencer alone.
sequencer() {
  verilator --cc --exe --build -O1 --assert -Irtl -y rtl -y rtl/top --top-module sq_sequencer --Mdir "$W/sequencer" \
    -GDataW=32 -GActDepth=64 -GWeightDepth=64 -GActBytes=1023 -GRowBytes=1026 -GWeightBytes=65535 -GColBytes=512 -GOutBytes=301 \
    rtl/lint.vlt rtl/sq_pkg.sv rtl/top/sq_regs_pkg.sv rtl/top/sq_sequencer.sv "$ROOT/tests/rtl/tb_sq_sequencer.cpp" \
    >"$W/sequencer.log" 2>&1 || { tail -5 "$W/sequencer.log" | sed 's/^/# /'; return 1; }
  "$W/sequencer/Vsq_sequencer" | sed 's/^/# /'
  return "${PIPESTATUS[0]}"
}
ok "beats of operands of up to 65535 bytes" sequencer

# ---- blocks -----------------------------------------------------------------------------------------
mutate ragged_block_whole top w8a8 any rtl/top/sq_block_walk.sv "s/assign rows_o = .*/assign rows_o = row_block_i;/"
mutate block_lost_at_the_edge top w8a8 any rtl/top/sq_block_walk.sv "s/assign cols_end = .*/assign cols_end = col_left_q < col_block_i + col_block_i;/"
mutate kept_operand_loaded_again top w8a8 any rtl/top/sq_block_walk.sv "s/rows_new_o <= !rows_keep_o;/rows_new_o <= $T;/"
mutate kept_operand_let_go top w8a8 any rtl/top/sq_top.sv "s/job_keep_i(keep_cols)/job_keep_i(keep_cols \&\& $F)/"
mutate order_of_blocks_ignored top w8a8 any $S "s/assign cols_outer = .*/assign cols_outer = $F \&\& kind[16];/"

# ---- transfers --------------------------------------------------------------------------------------
mutate inner_operand_not_from_its_start top w8a8 any $S "s/is_first = cols_first;/is_first = cols_first \&\& rows_first;/"
mutate store_of_a_row_of_tiles top w8a8 any $S "s/factor_b = load_cols;/factor_b = 16'd1;/"
mutate outputs_over_those_before top w8a8 any $S "s/default: pointer_q\[4\] <= next;/default: pointer_q[4] <= {here_q[47:32], $F, here_q[31:0]};/"
mutate scales_of_one_group top w8a8 any $S "s/16'd1 : load_groups;/16'd1 : 16'd1;/"
mutate response_not_awaited top w8a8 any $S "s/assign all_done = .*/assign all_done = !load_active;/"
mutate stores_without_response_of_two_bits top w8a8 any $S "s/logic \[4:0\] owed_q;/logic [1:0] owed_q;/; s/owed_q + 5'(issue && kind_q == Store) - 5'(write_done_i)/owed_q + 2'(issue \&\& kind_q == Store) - 2'(write_done_i)/"
mutate store_of_an_old_layer_owed top w8a8 any $S "s/if (!rst_ni) owed_q <= '0;/if (!rst_ni) owed_q <= owed_q;/"

# ---- chunks of K ------------------------------------------------------------------------------------
mutate chunk_a_group_too_long top w8a8 any rtl/top/sq_block_walk.sv "s/assign chunk_last_o = .*/assign chunk_last_o = group_left_q <= group_chunk_i + 16'd1;/"
mutate ragged_chunk_whole top w8a8 any rtl/top/sq_block_walk.sv "s/assign beats_o = .*/assign beats_o = beat_chunk_i;/"
mutate chunks_of_the_block_before top w8a8 any $S "s/is_new ? pointer : start;/is_new ? pointer : base_q;/"
mutate row_scales_loaded_for_each_chunk top w8a8 any $S "s/need = load_active && rows_new && chunk_first;/need = load_active \&\& rows_new;/"
mutate row_scales_let_go top w8a8 any $S "s/job_keep_row_scale_o <= keep_rows || .*/job_keep_row_scale_o <= keep_rows;/"
mutate integers_of_a_part_lost top w8a8 any rtl/output/sq_output.sv "s/(slot_carry\[At+l\*32 +: 32\] & {32{slot_part\[0\]}})/(slot_carry[At+l*32 +: 32] \& {32{slot_part[0] \&\& $F}})/"
mutate high_integers_are_the_low_ones top own any rtl/output/sq_output.sv "s/slot_carry\[At+(Lanes+l)\*32 +: 32\]/slot_carry[At+l*32 +: 32]/"
mutate part_combined_too_early top w4a8 any rtl/output/sq_output.sv "s/assign goes_on = .*/assign goes_on = $F;/"
mutate sum_of_a_part_as_its_sum top w8a8 any rtl/output/sq_output.sv "s/ \&\& !(Sums == 3 \&\& slot_part\[0\])//"
mutate part_over_the_end_of_its_group top own any rtl/top/sq_block_walk.sv "s/beat_left_q <= part_i \&\& group_last_o ? 32'(group_beats_i) :/beat_left_q <=/"
mutate scales_of_a_part_let_go top own any $S "s/!job_group_last || (keep_cols/(keep_cols/"
mutate scales_of_a_part_loaded_again top own any $S "s/group_first \&\& (cols_new/(cols_new/"
mutate part_as_long_as_its_group top w8a8 any $S "s/part_beats < beats/part_beats <= beats/"
mutate part_of_two_groups top w4a8 any $S "s/(chunk == 16'd1 \&\& part_beats/(part_beats/"
mutate parts_that_it_has_no_room_for top w8a8 any $S "s/PartGroups == 1 \&\& groups == 16'd1/PartGroups == 1/"
mutate outputs_of_each_chunk top w8a8 any $S "s/need = load_active && (Indexed != 0 ? chunk_first : chunk_last);/need = load_active;/"
mutate more_sums_than_room top w8a8 any $S "s/32'(SumTiles))/32'(SumTiles + 1))/"
mutate chunk_longer_than_k top w8a8 any $S "s/chunk <= groups \&\& *$/$T \&\&/"
mutate sums_in_another_order top w8a8 any rtl/array/sq_engine_array.sv "s/scale_carry_i(carry && stage_first)/scale_carry_i(carry \&\& stage_last)/"
mutate sums_of_another_tile top w8a8 any rtl/top/sq_top.sv "s/job_col_stride_i(SumAddrW'(Slots))/job_col_stride_i(SumAddrW'(0))/"
mutate sums_forgotten top w8a8 any rtl/output/sq_combine.sv "s/is_first_q ? begin_y :/is_first_q ? 32'd0 :/; s/^    logic \[31:0\] begin_y,.*/&\n    logic unused_begin; assign unused_begin = ^begin_y;/"
mutate sums_of_16_bits top w8a8 any rtl/output/sq_combine.sv "s/out_sum_q <= ended_y/out_sum_q <= {ended_y[31:16], 16'd0}/"
mutate sums_times_the_token_scale top w8a8 any rtl/output/sq_combine.sv "s/out_sum_q <= ended_y/out_sum_q <= ended/"
mutate transfers_of_12_bits top w4a8 any rtl/top/sq_top.sv "s/record_beats : dma_beats),/record_beats : {20'd0, dma_beats[11:0]}),/"
mutate transfers_of_16_bits top deep any rtl/top/sq_top.sv "s/record_beats : dma_beats),/record_beats : {16'd0, dma_beats[15:0]}),/"
mutate errors_kept_while_a_last_word_waits top w4a8 any rtl/top/sq_top.sv "s/((keep_valid && keep_last) ? keep_error/((keep_valid \&\& keep_last \&\& !(y_valid \&\& y_last \&\& !y_ready)) ? keep_error/"
# Sums that are stored with wrong parity: STATUS.OPERAND tells them.
mutate sum_with_wrong_parity top w8a8 any rtl/top/sq_top.sv "s/\.in_poison_i(1'b0), \.in_last_i(keep_last)/.in_poison_i(keep_last), .in_last_i(keep_last)/"
[ ! -d "$W/sum_with_wrong_parity" ] || ok "... by STATUS" grep -q '"signal":"\(host.status\|s_axil_rdata\)' "$W.out"
mutate errors_of_a_chunk_lost top w8a8 any rtl/top/sq_top.sv "s/keep_last) ? keep_error/keep_last) ? 3'd0/"

# ---- operands and outputs ---------------------------------------------------------------------------
G=rtl/top/sq_gear.sv
mutate poison_of_the_first_word_only top w4a8 any $G "s/poison_q <= in_poison_i || (left/poison_q <= (in_poison_i \&\& left == '0) || (left/"
mutate words_over_each_other top nvfp4 any $G "s/(RoomW'(in_data_i) << shift)/RoomW'(in_data_i)/"
mutate padding_that_counts top w4a8 any $G "s/assign come = in_last_i \&\& in_tail_i != '0 ?/assign come = in_last_i \&\& in_tail_i == '1 ?/"
mutate padding_of_what_was_before top nvfp4 any $G "s/(ended_q ? {RoomW{1'b0}} : rest)/rest/"
mutate outputs_without_their_end top block any $G "s/assign come = in_last_i ? LevelW'((32'(left)/assign come = in_last_i \&\& $F ? LevelW'((32'(left)/"
mutate tail_of_the_transfer_before top nvfp4 any $S "s/tail_q <= span_q\[SizeW-1:0\] + 1'b1;/if (kind_q[0]) &/"
mutate beats_cut_down top nvfp4 any $S "s/check_q != Last ? '0 : '1;/check_q != Last ? '0 : '0;/"
mutate scales_of_columns_alone_go top w4a8 any rtl/top/sq_top.sv "s/assign ready\[3\] = .*/assign ready[3] = scale_ready;/"
mutate replay_of_a_row_too_few top w8a8 any rtl/top/sq_top.sv "s/job_row_stride_i(RowAddrW'(1))/job_row_stride_i(RowAddrW'(0))/"
mutate errors_of_the_engine_lost top w8a8 any rtl/top/sq_top.sv "s/y_ready && y_last) ? y_error/y_ready \&\& y_last \&\& !store_valid) ? y_error/"

mutate high_codes_of_the_channel_before top own any rtl/top/sq_top_array.sv "s/assign high = coded\[HighAt +: HighBits\]/assign high = HighBits'({coded[HighAt +: HighBits], coded[HighAt +: HighW]})/"
mutate second_scale_is_the_first top own any rtl/top/sq_top_array.sv "s/assign col_hi = col_scale_i\[ColBits-1 -: Cols\*32\]/assign col_hi = col_scale_i[Cols*32-1:0]/"

# ---- block-scaled formats ---------------------------------------------------------------------------
B=rtl/top/sq_top_scaled.sv C=rtl/array/sq_engine_ctl.sv L=rtl/array/sq_engine_tail.sv E=rtl/scaled/sq_engine_scaled.sv
mutate scales_of_the_block_before_theirs top nvfp4 any $B "s/weight_scale_i(weight_i\[Cols\*ScaleAt +: Cols\*ScaleW\])/weight_scale_i(weight_i[Cols*ScaleAt-4 +: Cols*ScaleW])/"
mutate totals_of_another_pe top nvfp4 any $B "s/carry_y_i(tile)/carry_y_i({tile[31:0], tile[TileW-1:32]})/"
mutate totals_forgotten top nvfp4 any rtl/scaled/sq_acc_binary32.sv "s/assign start = begin_i;/assign start = begin_i \& 32'd0;/"
mutate totals_begin_each_block top nvfp4 any $C "s/assign array_carry_o = carry_q && first_q;/assign array_carry_o = carry_q;/"
mutate totals_not_awaited top nvfp4 any rtl/scaled/sq_scaled_ctl.sv "s/assign waits = .*/assign waits = $F;/"
mutate totals_times_their_scales top nvfp4 any $E "s/stage_keep ? {Cols{One}} : scale_col/scale_col/"
mutate totals_of_parts_added_up top sq_b any $C "s/assign stage_last_o = is_end || stage_keep_o;/assign stage_last_o = is_end;/"
mutate totals_kept_a_job_early top nvfp4 any $L "s/if (next_ready) side_o <= /side_o <= /"
mutate high_row_scales_are_the_low_ones top sq_b any $B "s/row_scale_i\[RowBits-1 -: Rows\*32\]/row_scale_i[Rows*32-1:0]/"
mutate high_codes_of_the_row_swapped top sq_b any $B "s/act_i\[(HasHigh ? Rows \* HighAt : 0) +: Rows\*HighLineW\]/{act_i[Rows*HighAt +: 8], act_i[Rows*HighAt+8 +: Rows*HighLineW-8]}/"
mutate column_scales_loaded_for_each_chunk top nvfp4 any $S "s/(ScaleOnce != 0 ? cols_new && chunk_first :/(ScaleOnce != 0 ? cols_new :/"
mutate column_scales_let_go top nvfp4 any $S "s/job_keep_col_scale_o <= ScaleOnce != 0 ? keep_cols || (Indexed == 0 && !job_last) :/job_keep_col_scale_o <= ScaleOnce != 0 ? keep_cols :/"
mutate column_scales_of_each_block top nvfp4 any $S "s/ScaleOnce != 0 ? 16'd1 : load_groups/load_groups/"
mutate errors_of_kept_totals_lost top nvfp4 any $E "s/keep_ends_job && keep_ends;/keep_ends_job \&\& keep_ends \&\& !(|keep_error_o);/"

mutate sub_blocks_of_the_scales_before_theirs top hif4 any $B "s/(HasSub ? Cols \* SubAt : 0)/(HasSub ? Rows * SubAt : 0)/"
mutate binary16_of_a_byte top awq any $B "s/HighScaleAt = ScaleAt + ScaleW/HighScaleAt = ScaleAt + 8/"
mutate high_scale_of_activations_is_the_low_one top block any $B "s/(HasHighScale ? Rows \* HighScaleAt : 0) +: Rows\*8/(HasHighScale ? Rows * ScaleAt : 0) +: Rows*8/"

# ---- kept groups ------------------------------------------------------------------------------------
I=rtl/gqsa/sq_top_gqsa.sv
mutate padding_not_awaited top gqsa any $I "s/assign y_wait = .*/assign y_wait = out_last_o \&\& $F \&\& jobs_q[0];/"
mutate outputs_of_the_job_before_wait top gqsa any $I "s/ \&\& jobs_q == 4'd1;/ \&\& |jobs_q;/"
mutate ends_beyond_the_groups top gqsa any $I "s/(col_i > kept_q) ? kept_q + 1'b1 : col_i/col_i/"
mutate missing_groups_not_made_up top gqsa any $I "s/kept_valid_i(weight_valid_i || left_q == '0)/kept_valid_i(weight_valid_i)/"
mutate missing_groups_are_the_last_one top gqsa any $I "s/assign kept = .*/assign kept = weight_i;/"
mutate padding_of_the_block_before_taken top gqsa any $I "s/assign takes_job = .*/assign takes_job = row_valid_i;/"
mutate wrong_index_not_told top gqsa any $I "s/error\[sq_pkg::ERROR_MASK\] || error\[sq_pkg::ERROR_INDEX\]/error[sq_pkg::ERROR_MASK] || (error[sq_pkg::ERROR_INDEX] \&\& $F)/"
mutate outputs_stored_behind_the_last_chunk top gqsa any $S "s/Indexed != 0 ? chunk_first : chunk_last/chunk_last/"
mutate activations_loaded_for_each_chunk top gqsa any $S "s/Indexed != 0 ? rows_new && chunk_first :/Indexed != 0 ? rows_new :/"
mutate activations_of_all_columns top gqsa any rtl/top/sq_top.sv "s/assign act_cols = .*/assign act_cols = job_cols;/"
mutate indices_of_all_groups_are_none top gqsa any $I "s/job_groups_i(job_groups_i\[GroupW:0\])/job_groups_i({$F, job_groups_i[GroupW-1:0]})/"
mutate blocks_too_few top gqsa any $S "s/JobTiles: fits = Indexed != 0 ? product_q >= 32'(cols)/JobTiles: fits = Indexed != 0 ? $T/"
mutate a_block_too_many top gqsa any $S "s/ColScales: fits = Indexed != 0 ? product_q < 32'(cols)/ColScales: fits = Indexed != 0 ? $T/"
mutate weights_of_each_column_beyond_memory top gqsa any $S "s/assign weight_tiles = .*/assign weight_tiles = cols;/"
mutate two_tiles_of_rows_a_block top gqsa any $S "s/(Indexed == 0 || (row_block == 16'd1 \&\&/(Indexed == 0 || (/"
mutate more_columns_than_scales top gqsa any $S "s/32'(col_block) <= 32'(ColDepth) :/$T :/"
mutate kept_groups_that_wait_counted_as_missing top gqsa any rtl/top/sq_top.sv "s/: !(IsIndexed || valid\[0\]) || !valid\[2\]/: !valid[0] || !valid[2]/"

# ---- descriptor -------------------------------------------------------------------------------------
mutate half_a_descriptor_runs top w8a8 any $S "s/sound_q <= sound_q && !in_poison_i/sound_q <= sound_q \&\& !(in_poison_i \&\& in_last_i)/"
mutate block_that_does_not_fit top w8a8 any $S "s/product_q <= 32'(ActDepth)/product_q <= 32'(ActDepth + 1)/"
mutate scales_that_do_not_fit top own any $S "s/product_q <= 32'(ColDepth)/product_q <= 32'(ColDepth + 64)/"
mutate tiles_of_one_axis top w8a8 any $S "s/JobTiles: {factor_a, factor_b} = .*/JobTiles: {factor_a, factor_b} = {16'd1, col_block};/"
mutate tiles_of_16_bits top w4a8 any $S "s/product_q <= (chunk == groups/32'(product_q[15:0]) <= (chunk == groups/"
mutate no_tiles top w8a8 any $S "s/assign counts = rows != '0 && cols != '0 &&/assign counts =/"
mutate crooked_address top w8a8 any $S "s/ | row_scale\[SizeW-1:0\]//"

mutate bit_without_a_name top w8a8 any $S "s/(desc_q & ~sq_regs_pkg::DESC_NAMED) == '0/(desc_q[479:0] \& ~sq_regs_pkg::DESC_NAMED[479:0]) == '0/"
mutate region_a_beat_beyond_memory top w8a8 any $S "s/MemoryBeats - (base_q >> SizeW)/MemoryBeats - (base_q >> SizeW) + 48'd1/"
mutate region_up_to_the_end_refused top w8a8 any $S "s/MemoryBeats - (base_q >> SizeW)/MemoryBeats - (base_q >> SizeW) - 48'd1/"
mutate row_scales_that_do_not_fit top block any $S "s/32'(row_block) <= 32'(RowDepth)/$T/"
mutate slots_of_a_short_ring top w8a8 any rtl/top/sq_ring.sv "s/({head_q, 7'd0})/({head_q[7:0], 7'd0})/"
mutate error_outlives_an_abort top w4a8 any rtl/top/sq_dma.sv "s/if (idle_o) status_q/if (idle_o \&\& $F) status_q/"
mutate doorbell_in_an_abort top w8a8 any rtl/top/sq_top_regs.sv "s/ \&\& !aborting_i \&\&/ \&\&/"
mutate error_lost_in_the_cycle_of_a_clear top w8a8 any $R "s/if (end_i && bad) irq_state_q\[1\] <= 1'b1;/if (end_i \&\& bad \&\& !(write \&\& aw_word == sq_regs_pkg::REG_IRQ_STATE)) irq_state_q[1] <= 1'b1;/"
mutate status_of_a_record_lost top w8a8 any $R "s/end_i && write_status_q == 3'd0/end_i \&\& write_status_q == 3'd0 \&\& $F/"
mutate ring_beyond_memory top w8a8 any rtl/top/sq_top_regs.sv "s/(sq_pkg::ADDR_W+1)'(base_q) + .*;/$T;/"
mutate region_far_beyond_memory top w4a8 any $S "s/(!is_far \&\& /(/"
mutate long_tile_beyond_memory top w8a8 any $S "s/ || of_region == EndWeightHigh;/;/"
mutate region_end_without_what_its_low_half_borrows top w8a8 any $S "s/left_low\[HalfW\] ? left_less : left_high/left_high/"
mutate first_transfer_in_beats_of_the_bus top w8a8 any $S "s/state_q == CHECK \&\& check_q != Last ? ratio/state_q == CHECK ? ratio/"
mutate outputs_not_looked_at top w8a8 any $S "s/EndOut: part = Store;/EndOut: part = 3'd1;/"
mutate chunk_of_17_bits top w8a8 any $S "s/TileBeats: fits = product_q <= 32'd65535;/TileBeats: fits = product_q <= 32'd131071;/"
mutate weights_that_do_not_fit top w8a8 any $S "s/product_q <= 32'(WeightDepth);/product_q <= 32'(WeightDepth + 1);/"
mutate column_scales_beyond_memory top w8a8 any $S "s/EndColScale: {factor_a, factor_b} = .*/EndColScale: {factor_a, factor_b} = {cols, 16'd1};/"
mutate parts_with_more_sums_than_room top w8a8 any $S "s/(chunk == groups && !is_part ? sq_regs_pkg/(chunk == groups ? sq_regs_pkg/"
mutate descriptor_up_to_the_end_refused top w8a8 any $S "s/at_q <= AddrW'(0) - AddrW'(DescBytes);/at_q < AddrW'(0) - AddrW'(DescBytes);/"
mutate job_of_a_tile_less top w4a8 any $S "s/sq_regs_pkg::DESC_JOB_TILES :/sq_regs_pkg::DESC_JOB_TILES - 32'd1 :/"
mutate rows_of_8_bits top w4a8 any rtl/top/sq_operand_buffer.sv "s/row_q <= job_rows_i - 1'b1;/row_q <= (job_rows_i - 1'b1) \& CountW'(255);/"
mutate kind_of_15_bits top w4a8 any $S "s/32'(kind\[15:0\]) == sq_regs_pkg::DESC_KIND_ENCODE/32'(kind[14:0]) == sq_regs_pkg::DESC_KIND_ENCODE/"
mutate descriptor_across_the_end top w8a8 any $S "s/ \&\& at_q <= AddrW'(0) - AddrW'(DescBytes);/;/"

# ---- addresses of 48 bits ---------------------------------------------------------------------------
# A high half that is lost, or that of another word; sums that end at 4 GiB.
for region in act weight row_scale col_scale out; do
  mutate "high_half_of_$region" top w8a8 any $S "s/assign $region = \(.*\);/assign $region = \1 \& 48'hffffffff;/"
done
mutate high_halves_of_operands_swapped top w8a8 any rtl/top/sq_regs_pkg.sv "s/16\*(low-DESC_ACT) +: 16/16*((low-DESC_ACT) ^ 1) +: 16/"
mutate high_half_of_the_descriptor top w8a8 any $R "s/descriptor_q\[sq_pkg::ADDR_W-1:32\] <= .*/descriptor_q[sq_pkg::ADDR_W-1:32] <= '0;/"
mutate high_half_of_the_ring top w8a8 any $R "s/base_q\[sq_pkg::ADDR_W-1:32\] <= .*/base_q[sq_pkg::ADDR_W-1:32] <= '0;/"
mutate ring_moved_while_it_runs top w8a8 any $R "s/^ *sq_regs_pkg::REG_RING_BASE_HIGH,$//; s/sq_regs_pkg::REG_WATCHDOG,/sq_regs_pkg::REG_WATCHDOG, sq_regs_pkg::REG_RING_BASE_HIGH,/"
mutate slots_across_4_gib top w8a8 any rtl/top/sq_ring.sv "s/assign slot = .*/assign slot = {base_i[47:32], base_i[31:0] + 32'({head_q, 7'd0})};/"
mutate transfers_across_4_gib top w8a8 any $S "s/(AddrW-32)'(pointed\[32\])/(AddrW-32)'(pointed[32] \&\& $F)/"
mutate bursts_across_4_gib top w8a8 any rtl/top/sq_dma_burst.sv "s/assign next_addr_o = .*/assign next_addr_o = {addr_i[AddrW-1:32], addr_i[31:0] + (32'(limit_i) << SizeW)};/"
mutate encoder_across_4_gib top w4a8 any rtl/top/sq_encode.sv "s/at_q\[i\] <= at_q\[i\] + .*/at_q[i] <= {at_q[i][47:32], at_q[i][31:0] + (stride_q[i] << SizeW)};/"
mutate high_half_of_what_the_encoder_reads top w4a8 any rtl/top/sq_top.sv "s/from_i(sq_regs_pkg::desc_address(desc, sq_regs_pkg::DESC_OUT))/from_i(48'(desc[32*sq_regs_pkg::DESC_OUT +: 32]))/"

# ---- ring -------------------------------------------------------------------------------------------
Q=rtl/top/sq_ring.sv D=rtl/top/sq_dma.sv
mutate ring_beyond_its_end top w8a8 any $Q "s/(head_q + 1'b1 == size_i) ? '0 : head_q/(head_q == size_i) ? '0 : head_q/"
mutate ring_ends_a_slot_early top w8a8 any $Q "s/assign more = next_head != tail_i/assign more = next_head + 1'b1 != tail_i/"
mutate doorbell_in_the_last_cycle_lost top w8a8 any $R "s/assign tail_o = .*/assign tail_o = tail_q;/"
mutate record_of_the_next_slot top w8a8 any $Q "s/assign dma_addr_o = \(.*\);/assign dma_addr_o = \1 + 48'd128;/"
mutate notice_of_every_layer top w8a8 any $Q "s/ \&\& layer_notice_i);/);/"
mutate no_notice_of_a_layer top w8a8 any $Q "s/assign notice_o = .*/assign notice_o = done_o;/"
mutate abort_that_does_not_end_the_ring top w8a8 any $Q "s/ \&\& !abort_q;/;/"
mutate abort_that_stays top w8a8 any $Q "s/abort_q <= (abort_q || abort_i) \&\& !done_o/abort_q <= abort_q || abort_i/"
mutate core_not_cleared top w8a8 any rtl/top/sq_ring.sv "s/core_rst_q <= state_d != CLEAR/core_rst_q <= 1'b1/"
mutate bursts_behind_an_abort top w8a8 any $D "s/ \&\& !abort_i;/;/"
mutate strobes_behind_an_abort top w8a8 any $D "s/axi_w_strb_o = {Bytes{!void_q}}/axi_w_strb_o = {Bytes{!(void_q \&\& $F)}}/"
mutate idle_before_the_response top w8a8 any $D "s/open_q == '0 \&\& !busy_q \&\& !data_valid;/$T;/"
mutate watchdog_a_cycle_late top w8a8 any $Q "s/watch_q >= watchdog_i - 1'b1/watch_q >= watchdog_i/"
mutate watchdog_lowered_while_a_layer_runs top w8a8 any $Q "s/watch_q >= watchdog_i - 1'b1/watch_q == watchdog_i - 1'b1/"
mutate watchdog_of_16_bits top w8a8 any $Q "s/watch_q <= watch_q + 1'b1;/watch_q <= {16'd0, watch_q[15:0] + 16'd1};/"
mutate aborted_is_expired top w8a8 any $Q "s/assign aborted_o = .*/assign aborted_o = $F;/; s/assign expired_o = .*/assign expired_o = cut;/"
mutate record_with_the_status_of_the_start top w8a8 any $R "s/1'b1, status\[30:1\], 1'b0}/1'b1, 30'd0, 1'b0}/"
mutate start_while_the_ring_runs top w8a8 any $R "s/assign ring_o = .*/assign ring_o = ring_q;/"

# ---- encoder ----------------------------------------------------------------------------------------
K=rtl/top/sq_encode.sv
mutate largest_of_the_first_row_of_all top w4a8 any $K "s/row_q == RowW'(r)) largest_q/row_q == RowW'(0)) largest_q/"
mutate middle_of_two_codes_goes_up top w4a8 any rtl/top/sq_encode_code.sv "s/is_middle ? quo_q\[Steps-1\]\[0\]/is_middle ? $T/"
mutate middle_that_binary32_does_not_see top w4a8 any rtl/top/sq_encode_code.sv "s/if (quo_q\[Steps-1\]\[b\]) near =/if (quo_q[Steps-1][b] \&\& $F) near =/"
mutate scale_cut_off top w4a8 any rtl/top/sq_encode_scale.sv "s/24'(half && (more || kept\[0\]))/24'(half \&\& more \&\& $F)/"
mutate scales_before_the_codes top w4a8 any $K "s/pass_q == SCALES && !codes_valid/pass_q == SCALES/g; s/wire unused_bits = ^{/wire unused_bits = ^{codes_valid, /"
mutate banks_behind_the_last_column_left_out top w4a8 any $K "s/assign flushed = .*/assign flushed = codes_q == '0;/"
mutate encoder_beyond_memory top w4a8 any $K "s/(AddrW+1)'(product) + ((AddrW+1)'(base) >> SizeW) <= /(AddrW+1)'(product) <= /"
mutate element_that_is_no_number_not_told top w4a8 any $K "s/assign error_o = .*/assign error_o = $F \&\& wrong;/"
mutate last_response_not_awaited top w4a8 any $K "s/assign all_done = .*/assign all_done = left_q == '0;/"
mutate encoder_with_a_bit_without_a_name top w4a8 any $S "s/assign encode_sound_o = .*/assign encode_sound_o = sound_q;/"
mutate encoder_region_up_to_the_end top w4a8 any $K "s/((AddrW+1)'(base) >> SizeW) <= (AddrW/((AddrW+1)'(base) >> SizeW) < (AddrW/"
mutate encoder_tile_of_16_bits top w4a8 any $K "s/from_nbytes = 48'(cols_i) \* (is_codes ? 48'(Rows \* Cols) : 48'(TileBytes));/from_nbytes = 48'(16'(cols_i * (is_codes ? 16'(Rows * Cols) : 16'(TileBytes))));/"
mutate encoder_tail_of_codes_alone top scaled any $K "s/dma_tail_o = kind_q\[0\] ? '0 : tail_q;/dma_tail_o = is_codes ? tail_q : '0;/"
mutate encoder_banks_too_few top w4a8 any $K "s/48'(cols_i) \* 48'(Cols) <= 48'(beats_i) \* 48'(BankLen);/48'(cols_i) * 48'(Cols) < 48'(beats_i) * 48'(BankLen) + 48'(BankLen);/"
mutate encoder_subnormal_scale top w4a8 any rtl/top/sq_encode_code.sv "s/(exp_i == '0) ? 9'd1 : {$F, exp_i}/{$F, exp_i}/"
mutate kept_outputs_cut_off top gqsa any rtl/gqsa/sq_top_gqsa.sv "s/ + 32'h7fff + 32'(y\[r\*32 + 16\])//"
mutate kept_outputs_of_the_first_row top gqsa any rtl/gqsa/sq_top_gqsa.sv "s/out_y_o\[r\*16 +: 16\] = rounded/out_y_o[r*16 +: 16] = gen_row[0].rounded/"
mutate encoder_no_number_in_a_second_lane top nvfp4 any $K "s/if (&word\[l\*16+7 +: 8\]) wrong = $T;/if (\&word[l*16+7 +: 8]) wrong = l == 0;/"

mutate codes_that_move_and_have_scales top w4a8 any $K "s/(CanMove \&\& row_scale_i == '0)/CanMove/"
mutate codes_that_move_read_as_halves top w4a8 any $K "s/is_codes ? 48'(Rows \* Cols) : /(is_codes \&\& $F) ? 48'(Rows * Cols) : /"
mutate code_moves_into_a_full_bank top w4a8 any $K "s/assign moved_go = .*/assign moved_go = pass_q == CODES;/"
mutate scales_behind_codes_that_move top w4a8 any $K "s/kind_q == (is_codes ? 2'd2 : 2'd3)/kind_q == 2'd3/"
mutate last_code_that_moves_ends_nothing top w4a8 any $K "s/ || (move \&\& moved_last)) pass_q/ || (move \&\& moved_last \&\& $F)) pass_q/"
mutate banks_of_codes_not_counted top w4a8 any $K "s/assign reload = .*/assign reload = pass_q == DIVIDE;/"

POWER=rtl/top/sq_encode_power.sv
mutate power_at_its_end_one_more top nvfp4 any $POWER "s/amax_i\[6:0\] > Fraction/amax_i[6:0] >= Fraction/"
mutate low_elements_at_an_eighth top sq_b any $POWER "s/power_o - 9'sd4/power_o - 9'sd3/"
mutate scale_of_a_token_of_zeros top sq_b any $POWER "s/is_zero ? {2{32'h3f800000}} : /(is_zero \&\& $F) ? {2{32'h3f800000}} : /"
mutate small_element_goes_around top sq_b any rtl/top/sq_encode_over.sv "s/ || exp < 10'sd1/ || (exp < 10'sd1 \&\& $F)/"
mutate block_with_an_infinity top nvfp4 any rtl/top/sq_encode_over.sv "s/if (&x\[14:7\]) over/if (\&x[14:7] \&\& $F) over/"
mutate last_block_before_it_came top nvfp4 any $K "s/assign beats_left = beats_q;/assign beats_left = beats_q == 16'd2 ? 16'd1 : beats_q;/"
mutate high_codes_below_the_low_ones top sq_b any $K "s/ActW'({scale, high, codes})/ActW'({scale, codes, high})/"

M=rtl/top/sq_encode_dynamic.sv
mutate largest_low_of_all_elements top scaled any $M "s/mask_q\[i\] ? '0 : held/(mask_q[i] \&\& $F) ? '0 : held/"
mutate largest_low_of_the_tile_before top scaled any $M "s/clear_i ? '0/(clear_i \&\& $F) ? '0/"
mutate largest_low_of_the_last_bank top scaled any $M "s/(low_q > largest_q) ? low_q : largest_q/(low_q != '0) ? low_q : largest_q/"
mutate bank_before_its_beat_left top scaled any $M "s/!full_q || leave;/!full_q || valid_q;/"
mutate high_codes_of_low_elements top scaled any $M "s/.pick_i(mask_q)/.pick_i(rest)/"
mutate masks_without_high_elements top scaled any $M "s/+: BankLen\] = mask_q;/+: BankLen] = rest;/"
mutate masks_of_codes top scaled any $K "s/? '0 : word\[l\*16 +: MagW\];/? '0 : {word[l*16+3 +: 12], 3'd0};/"
mutate high_element_that_is_no_number top scaled any $K "s/mag\[l\*MagW +: MagW\] = (/mag[l*MagW +: MagW] = ($F \&\& /"
mutate scales_of_parts_swapped top scaled any $K "s/amax = (p + 1 == Parts)/amax = (p == 0)/"
mutate divided_before_the_last_bank top scaled any $K "s/IsDynamic ? SETTLE : DIVIDE/DIVIDE/"
mutate beats_of_the_first_pass_written top scaled any $K "s/beat_valid = made_valid \&\& !is_first/beat_valid = made_valid \&\& !(is_first \&\& $F)/"
mutate element_behind_a_full_bank_lost top scaled any $K "s/(!IsDynamic || en)/(!IsDynamic || en || $T)/"
mutate low_scale_without_its_exponent top scaled any rtl/top/sq_encode_scale.sv "s/ + Up;/;/"
mutate subnormal_low_scale top scaled any rtl/top/sq_encode_scale.sv "s/(exp < 9'd8) ? {7'd0, sig\[23\]}/(exp < 9'd4) ? {7'd0, sig[23]}/"

# ---- vector unit ------------------------------------------------------------------------------------
V=rtl/vector/sq_top_vector.sv
mutate vector_region_up_to_the_end top w8a8 any rtl/vector/sq_top_check.sv "s/end_q > MemoryBeats/end_q >= MemoryBeats/"
mutate vector_last_response_not_awaited top w8a8 any $V "s/assign all_done = .*/assign all_done = rows_q == '0;/"
mutate vector_chunk_that_finds_no_place top w8a8 any $V "s/!chunks_q\[1\])/$T)/"
mutate vector_fill_of_a_sum top w8a8 any $V "s/fill = is_sum ? 32'h00000000 : 32'hff800000/fill = 32'hff800000/"
mutate vector_rows_that_never_end_a_span top w8a8 any $V "s/in_last_i(ends \&\& (!all_rows || in_rows_q == 16'd1))/in_last_i(ends \&\& !all_rows)/"
mutate vector_last_of_equal_elements top w8a8 any $V "s/assign better = .*/assign better = begins_q || unit_red == y[31:0] || unit_red != last_red_q;/"
mutate vector_index_of_the_row top w8a8 any $V "s/base_q2 <= span_ends ?/base_q2 <= out_ends ?/"
mutate vector_bfloat16_cut_off top sq_b any $V "s/ + 32'h7fff + 32'(kept\[l\*32+16\])//"
mutate vector_tail_of_a_row_written top w8a8 any $V "s/(out_left_q > 32'(l)) ? y/(out_left_q > 32'(l) || $T) ? y/"
mutate vector_halves_of_the_row_before top w8a8 any rtl/vector/sq_vector_operand.sv "s/half_i \&\& !upper_q \&\& !out_end_i/half_i \&\& !upper_q/"
mutate vector_bit_without_a_name top w8a8 any $S "s/assign vector_sound_o = .*/assign vector_sound_o = sound_q;/"
mutate vector_bytes_kept_for_the_next_beat top w8a8 any $V "s/held_q <= (piece_q == last_piece || out_ends) ? '0 : packed_y/held_q <= packed_y/"
mutate vector_bytes_of_bfloat16 top w8a8 any $V "s/(!is_byte || y_form == sq_pkg::VECTOR_Y_BINARY16) \&\& //"
mutate vector_waits_not_counted top w8a8 any rtl/top/sq_top.sv "s/missing_q <= vectoring ? vector_wait : /missing_q <= /"

# ---- attention ----------------------------------------------------------------------------------------
A=rtl/vector/sq_top_attend.sv
mutate attend_last_response_not_awaited top w8a8 any $A "s/assign all_done = .*/assign all_done = !active_q;/"
mutate attend_one_place_too_many_of_the_queue top w8a8 any $A "s/16'(free_q) >= n)/16'(free_q) + 16'd1 >= n)/"
mutate attend_seven_keys_ahead top w8a8 any $A "s/ahead_q == 4'(Ahead - 1)/ahead_q == 4'(Ahead - 2)/"
mutate attend_values_by_the_stride_of_keys top w8a8 any $A "s/(AddrW'(stride\[p\]) << SizeW)/(AddrW'(stride[p == 2 ? 1 : p]) << SizeW)/"
mutate attend_upper_half_of_a_query_first top w8a8 any $A "s/q_x_i({beat, words_q})/q_x_i({words_q, beat})/"
mutate attend_lower_half_of_outputs_twice top w8a8 any $A "s/out_data_o = y\[w\*DataW +: DataW\]/out_data_o = y[0 +: DataW]/"
mutate attend_last_key_not_asked_for top w8a8 any $A "s/keys_q == 17'd1) part_q/keys_q == 17'd2) part_q/"
mutate attend_scale_of_other_bits top sq_b any $A "s/scale_q <= beat\[15:0\]/scale_q <= beat[31:16]/"
mutate attend_codes_without_their_scale top sq_b any $A "s/has_q <= !has_q || code_q != .*/has_q <= $T;/"
mutate attend_more_queries_than_the_unit_has top w8a8 any $A "s/queries <= 16'(Heads) \&\& //"
mutate attend_half_a_beat_of_codes top w8a8 any $A "s/(size \& 16'(Lanes - 1)) == '0 \&\& //"
mutate attend_more_than_65536_keys top w8a8 any $A "s/ \&\& keys <= 32'd65536//"
mutate attend_bit_without_a_name top w8a8 any $S "s/assign attend_sound_o = .*/assign attend_sound_o = sound_q;/"
mutate attend_waits_not_counted top w8a8 any rtl/top/sq_top.sv "s/attending ? attend_wait : //"

# ---- registers --------------------------------------------------------------------------------------
mutate interrupt_a_cycle_early top w8a8 any $R "s/assign irq_o = .*/assign irq_o = |(irq_enable_q \& (irq_state_q | {1'b0, done_i}));/"
mutate interrupt_cleared_by_any_write top w8a8 any $R "s/REG_IRQ_STATE \&\& w_data_q\[0\]/REG_IRQ_STATE/"
mutate interrupt_enabled_by_any_bit top w8a8 any $R "s/irq_enable_q <= w_data_q\[1:0\]/irq_enable_q <= {2{|w_data_q}}/"
mutate second_write_hides_the_first_response top w8a8 any $R "s/assign write = .*/assign write = aw_q \&\& w_q;/"
mutate start_by_any_write top w8a8 any $R "s/REG_CONTROL \&\& w_data_q\[0\]/REG_CONTROL/"
mutate descriptor_below_2_gib top w8a8 any $S "s/{at_q\[AddrW-1:SizeW\], SizeW'(0)}/{at_q[AddrW-1:32], 1'b0, at_q[30:SizeW], SizeW'(0)}/"
mutate interrupt_without_leave top w8a8 any $R "s/assign irq_o = .*/assign irq_o = |irq_state_q;/"
mutate interrupt_lost top w8a8 any $R "s/if (notice_i) irq_state_q\[0\] <= $T;/if (notice_i \&\& !lite_b_valid_o) irq_state_q[0] <= $T;/"
mutate clear_wins_over_the_end top w8a8 any $R "s/if (notice_i) irq_state_q\[0\] <= $T;/if (notice_i \&\& !(write \&\& write_ok \&\& aw_word == sq_regs_pkg::REG_IRQ_STATE \&\& w_data_q[0])) irq_state_q[0] <= $T;/"
mutate start_while_a_layer_runs top w8a8 any $R "s/write_ok = !busy_q || /write_ok = $T || /"
mutate written_between_two_registers top w8a8 any $R "s/if (aw_addr_q\[1:0\] != 2'b00) write_ok = $F;//"
mutate read_between_two_registers top w8a8 any $R "s/read_ok = lite_ar_addr_i\[1:0\] == 2'b00;/read_ok = $T;/"
mutate counter_of_32_bits top nvfp4 any rtl/top/sq_top_count.sv "s/count_o <= count_o + 1'b1;/count_o[31:0] <= count_o[31:0] + 1'b1;/"
mutate counter_that_goes_on top w8a8 any rtl/top/sq_top_count.sv "s/if (begin_q) count_o/if (begin_q \&\& $F) count_o/"
mutate high_half_of_any_read top nvfp4 any $R "s/if (ar_fire && read_ok && is_count) high_q/if (ar_fire) high_q/"
mutate half_a_word_written top w8a8 any $R "s/if (w_strb_q != 4'hf) write_ok = $F;//"
mutate status_of_the_layer_before top w8a8 any $R "0,/read_status_q <= 3'd0;/! s/read_status_q <= 3'd0;//"
mutate last_error_wins top w8a8 any $R "s/if (read_status_q == 3'd0) read_status_q <= read_status_i;/if (read_status_i != 3'd0) read_status_q <= read_status_i;/"
mutate cycles_that_stop_early top w8a8 any $R "s/busy_i, 1'b1};/busy_i, !refused_i};/"
mutate beats_that_did_not_fit_counted_as_missing top w8a8 any $R "s/counts = {write_wait_i, read_full_i, read_wait_i/counts = {write_wait_i, read_full_i, read_wait_i || read_full_i/"
mutate full_buffers_not_counted top w8a8 any rtl/top/sq_top.sv "s/read_full_i(m_axi_rvalid && !m_axi_rready)/read_full_i(m_axi_rvalid \&\& !m_axi_rready \&\& $F)/"
mutate write_addresses_that_wait_not_counted top w8a8 any rtl/top/sq_top.sv "s/write_wait_i((m_axi_awvalid && !m_axi_awready) || /write_wait_i(/"
mutate clock_of_the_engine_stops_early top w4a8 any rtl/top/sq_top.sv "s/ || job_valid\[4\] || inside_q != '0;/ || job_valid[4];/"
mutate answers_while_a_reset_ends top w8a8 any rtl/top/sq_top.sv "s/assign s_axil_arready = ar_ready && awake_q/assign s_axil_arready = ar_ready/"
mutate size_does_not_rewind top w8a8 any $R "s/aw_word == sq_regs_pkg::REG_RING_SIZE);/$F);/"
mutate base_does_not_rewind top w8a8 any $R "s/(aw_word == sq_regs_pkg::REG_RING_BASE || aw_word == sq_regs_pkg::REG_RING_BASE_HIGH ||/(/"
mutate tail_stays_at_a_rewind top w8a8 any $R "s/tail_q <= rewind_o ? '0 : tail_o;/tail_q <= tail_o;/"
mutate tail_as_large_as_the_ring top w8a8 any $R "s/write_ok = w_data_q < 32'(size_q)/write_ok = w_data_q <= 32'(size_q)/"
mutate doorbell_while_a_start_runs top w8a8 any $R "s/ \&\& !(busy_q \&\& !ring_q) \&\& !aborting_i/ \&\& !aborting_i/"
mutate record_error_without_interrupt top w4a8 any $R "s/engine_q != 3'd0 || write_status_i != 3'd0 ||/engine_q != 3'd0 ||/"
mutate high_half_of_a_refused_read top nvfp4 any $R "s/if (ar_fire \&\& read_ok \&\& is_count) high_q/if (ar_fire \&\& is_count) high_q/"
mutate watchdog_without_a_reset top w8a8 any $R "s/^      watchdog_q <= '0;/      watchdog_q <= watchdog_q;/"
mutate state_that_a_reset_forgets top w8a8 any $R "s/      busy_q <= $F;/      busy_q <= busy_q;/"
finish
