#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Layers of a model in every format, through the blocks of the format (sqsim cosim --layers): no
# difference of RTL, models and the layer's own integers; one planted cycle and one planted bit in a
# block are found, per format.
#
# Directed: one small layer per format, its variants, other tokens, several layers; every layer of the
# embedded model in the default format is in cosim.t, in every format in `make cosim-all`.
. "$(dirname "$0")/lib.sh"
ONE="--layer model.layers.0.self_attn.k_proj --m 2 --rows 1 --cols 1"
few_tokens 4
SQSIM_HOME=$ROOT CALIB="--calib $W/home/traces/tiny-llama/tokens_calib.safetensors" # what needs none says so
file() { (cd "$ROOT" && ls rtl/*/"$1"); } # NAME: where a module lies
blocks() { grep -o '"block":"[a-z0-9_]*"' | cut -d'"' -f4 | tr '\n' ,; }

# ---- no difference
# OPTIONS : BLOCKS : BEATS at least
while IFS=: read -r options blocks beats; do
  case $options in *"--low-lanes 8"* | *"sp24 --weight-bits"* | *split* | *tied* | *"--bank 16 --weight-bits 8"* | *ptcsr*)
    daily "$options: no difference" || continue ;; esac
  # shellcheck disable=SC2086
  sq cosim --layers $ONE $options $CALIB --json
  ok "$options: no difference" clean "$beats"
  ok "$options: $blocks" [ "$(grep -v '"summary"' "$W.out" | blocks)" = "$blocks," ]
  ok "$options: the last line names them" grep -q "\"summary\":true,\"block\":\"${blocks//,/, }\"" "$W.out"
done <<'END'
--format sq_w --bank 4 --sparsity 0.5 --act-bits 4 --low-lanes 2 --high-lanes 1:core,gather,core_out:20000
--format sq_w --bank 4 --sparsity 0.5 --act-bits 4 --low-lanes 8 --high-lanes 3:core,gather,core_out:20000
--format sq_w --variant fp --algorithm rtn --bank 4 --sparsity 0.5 --low-lanes 2 --high-lanes 1:core_out:100000
--format dense --weight-bits 2 --act-bits 4 --algorithm rtn:engine_array:4000
--format sq_a_static --bank 4 --weight-bits 2:engine_static:8000
--format sq_a_dynamic --bank 4 --weight-bits 2 --algorithm rtn:engine_dynamic:8000
--format sp24 --prune magnitude --algorithm rtn:meta24,engine_array:6000
--format sp24 --weight-bits 4 --group 64 --prune magnitude --algorithm rtn:meta24,engine_array:6000
--format gqsa --group 4:engine_gqsa:8000
--format spqt:engine_spqt:4000
--format spqr:engine_spqr:4000
--format sq_w --variant tied --bank 4 --sparsity 0.5 --act-bits 4:engine_array:4000
--format sq_a_static --variant split --bank 4 --weight-bits 2:engine_array:4000
--format sq_a_dynamic --variant tied --select int8 --bank 4 --weight-bits 2:engine_dynamic:4000
--format sq_a_dynamic --select int8_mul --bank 4 --weight-bits 2 --algorithm rtn:engine_dynamic,engine_core_act:8000
--format sq_a_dynamic --select int8_mul --bank 16 --weight-bits 8 --low-lanes 5 --high-lanes 3:engine_dynamic,engine_core_act:8000
--format spqr --outlier-layout ptcsr:engine_spqr:4000
--format mxplus:engine_scaled:4000
--format mixfp4:engine_scaled:4000
--format hif4:engine_scaled:2000
--format q4_0 --operand both:engine_scaled:4000
--format awq_g128 --operand both:engine_scaled:1500
--format fp8_b128:engine_scaled:1500
--format sq_b --bank 16 --high-per-bank 1 --act-scale token2:engine_scaled:8000
--format sq_b --codes split --bank 16:engine_scaled:8000
END

# ---- a matrix that drawn ones of gqsa and drawn vectors of spqt do not reach: N x K = 192 x 1536
perl -e '
  my ($n, $k) = (192, 1536);
  my $h = sprintf q({"w":{"dtype":"F32","shape":[%d,%d],"data_offsets":[0,%d]}}), $n, $k, 4 * $n * $k;
  srand 1;
  print pack("Q<", length $h), $h, map { pack "f<", rand() - 0.5 } 1 .. $n * $k' >"$W/bag.safetensors"
sq cosim bag.safetensors --format gqsa --group 4 --algorithm rtn --m 1 --rows 1 --cols 1 --json
ok "gqsa, a job of 384 groups of activations" clean 30000
sq cosim bag.safetensors --format spqt --sparsity 0 --m 1 --json
ok "spqt, 1536 columns" clean 20000
# ---- codes of floating point: a scale group of more high codes than 48 bits are exact for
perl -e '
  my $k = 11264;
  my $h = sprintf q({"w":{"dtype":"F32","shape":[1,%d],"data_offsets":[0,%d]}}), $k, 4 * $k;
  print pack("Q<", length $h), $h, map { pack "f<", $_ % 7 - 3 } 1 .. $k' >"$W/long.safetensors"
refuse "group = 11264 has 2816 high codes, need at most 2674 with variant fp" cosim long.safetensors --format sq_w --variant fp --group row --algorithm rtn --m 1
refuse "calibration needs a model directory" cosim bag.safetensors --format spqr

# ---- stalls and resets: on without a word; they cost cycles and nothing else
FEW="--act-bits 4 --low-lanes 2 --high-lanes 1" CORE="--bank 4 --sparsity 0.5 $FEW --algorithm rtn"
for f in "sq_w --bank 4 --sparsity 0.5 $FEW" "dense --weight-bits 2 --act-bits 4" "gqsa --group 4" mxplus; do # whose models are there
  sq cosim --layers $ONE --format $f --algorithm rtn --json --seed "$SEED"
  ok "$f: resets on the way" bash -c "[ $RC = 0 ] && [ '$(number resets)' -ge 1 ]"
  stalled=$(grep -v summary "$W.out" | grep -o '"cycles":[0-9]*' | tail -1 | cut -d: -f2) values=$(number integers)
  sq cosim --layers $ONE --format $f --algorithm rtn --json --seed "$SEED" --free-streams
  free=$(grep -v summary "$W.out" | grep -o '"cycles":[0-9]*' | tail -1 | cut -d: -f2)
  ok "$f: none with --free-streams" bash -c "[ $RC = 0 ] && [ '$(number resets)' = 0 ]"
  ok "$f: all outputs leave all the same" [ "$values" -ge "$(number integers)" ]
  [[ $f = sq_w* ]] || ok "$f: $stalled cycles, free $free" [ "$stalled" -gt "$free" ]
done
refuse "--free-streams needs --layers" cosim --free-streams

# What only a stall or a reset shows: RTL with one line changed, the layer found wrong, and not with free
# streams.
hidden() { # NAME FILE SED_SCRIPT
  local home=$W/$1
  mutant "$1" "$(file "$2")" "$3" || return
  ln -sfn "$ROOT/traces" "$home/traces"
  for streams in "" --free-streams; do
    sq_of "$home" cosim --layers $ONE --format dense --algorithm rtn --output "$W/waves" $streams # 1: found, 0: not
    ok "$1${streams:+, $streams}" [ $RC = $([ "$streams" ] && echo 0 || echo 1) ]
  done
}
hidden "a word lost under a stall" sq_output.sv \
  's/^    \.out_valid_o, \.out_ready_i, \.out_data_o(out_y_o)/    .out_valid_o, .out_ready_i(1'"'"'b1), .out_data_o(out_y_o)/'
hidden "a register that outlives a reset" sq_array.sv \
  's/^      first_q <= 1.b1;//; s/^endmodule/  initial first_q = 1'"'"'b1;\nendmodule/'

# ---- one cycle, one bit: the RTL with one line changed, the program the same
fault() { # FORMAT value|cycle|both OPTIONS FILE SED_SCRIPT [FILE SED_SCRIPT]
  local home=$W/$1_$2 what="$1, a $2" command="cosim --layers $ONE --format $1 $3 --json"
  [ "$2" = both ] && what="$1, a cycle and a value"
  [ "$2" = any ] && what="$1, a cycle or a value"
  [ "$2" != both ] || ok "$what: $6 differs" edited second "$(file "$6")" "$7"
  mutant "$1_$2" "$(file "$4")" "$5" || return
  [ "$2" != both ] || mv "$W/second.edited" "$home/$(file "$6")"
  ln -sfn "$ROOT/traces" "$home/traces"
  # shellcheck disable=SC2086
  sq_of "$home" $command
  if [ "$2" = both ]; then
    ok "$what: found" bash -c "[ $RC = 1 ] && [ '$(number value_mismatches)' -ge 1 ] &&
      [ '$(number cycle_mismatches)' -ge 1 ]"
  else
    ok "$what: found" fails "$2"
  fi
}
LATE='s/in_ready_o = advance;/in_ready_o = advance \&\& !result_valid_q;/'
fault sq_w both "$CORE" \
  sq_core_ctl.sv 's/ && !(high_fire_o && high_bank_last);/;/' \
  sq_gather.sv 's/out_act_o = gathered_q3;/out_act_o = gathered_q3 ^ 1;/'
fault sq_w value "--variant fp --bank 4 --sparsity 0.5 --low-lanes 2 --high-lanes 1 --algorithm rtn" sq_core_out.sv \
  's/LoFraction(LoFraction)/LoFraction(HiFraction)/'
fault dense cycle "--weight-bits 2 --act-bits 4 --algorithm rtn" sq_array.sv "$LATE"
fault dense value "--weight-bits 2 --act-bits 4 --algorithm rtn" sq_array.sv \
  's/plain_q <= in_plain_i;/plain_q <= in_plain_i ^ 1;/'
fault sq_a_static cycle "--bank 4 --weight-bits 2 --algorithm rtn" sq_array.sv "$LATE"
fault sq_a_static value "--bank 4 --weight-bits 2 --algorithm rtn" sq_engine_static.sv 's/{Mask}/{Mask >> 1}/'
fault sq_a_dynamic cycle "--bank 4 --weight-bits 2 --algorithm rtn" sq_topk_rank.sv 's/assign in_ready_o = \(.*\);/assign in_ready_o = (\1) \&\& !out_valid_o;/'
fault sq_a_dynamic value "--bank 4 --weight-bits 2 --algorithm rtn" sq_topk_rank.sv 's/ >= in_mag_i/ > in_mag_i/'
fault sq_a_dynamic cycle "--select int8_mul --bank 4 --algorithm rtn" sq_core_act.sv \
  's/in_valid_i(high_valid), .in_ready_o(high_taken)/in_valid_i(high_valid \&\& !next_valid), .in_ready_o(high_taken)/'
fault sq_a_dynamic value "--select int8_mul --bank 4 --algorithm rtn" sq_act_quant.sv 's/in_shift_i(lane_shift)/in_shift_i(lane_shift ^ 1)/'
fault sp24 both "--algorithm rtn" sq_meta24.sv 's/taken_q2 <= taken;/taken_q2 <= taken ^ 1;/' sq_array.sv "$LATE"
fault gqsa value "--group 4 --algorithm rtn" sq_engine_gqsa.sv 's/mem\[kept_index_i\]/mem[kept_index_i ^ 1]/'
fault gqsa cycle "--group 4 --algorithm rtn" sq_array.sv "$LATE"
fault spqt cycle "" sq_spqt_idx.sv 's/moves2 = !valid_q2 || takes;/moves2 = !valid_q2;/'
fault spqt value "" sq_q4k_dec.sv 's/code_q <= code;/code_q <= code ^ 1;/'
fault spqr cycle "" sq_spqr_dec.sv 's/(write_q == read_q && out_ready_i)/(write_q == read_q \&\& out_ready_i \&\& write_q != 0)/'
fault spqr value "" sq_spqr_dec.sv 's/row_q\[write_q\] <= row;/row_q[write_q] <= row ^ 64;/'

# ---- the same in what makes outputs of sums
fault sq_w cycle "$CORE" sq_output.sv 's/in_ready_o = !held_q || (slot_fire && is_end);/in_ready_o = !held_q;/'
fault sq_w value "$CORE" sq_output.sv 's/p_hi_q <= in_p_hi_i;/p_hi_q <= in_p_hi_i ^ 1;/'
fault sq_a_dynamic cycle "--bank 4 --weight-bits 2 --algorithm rtn" sq_combine.sv \
  's/out_valid_q <= valid_q\[Stages-1\] \&\& last_q/out_valid_q <= valid_q[Stages-1] \&\& valid_q[0] \&\& last_q/'
fault sp24 value "--algorithm rtn" sq_output.sv 's/assign s_a = row_lo;/assign s_a = row_lo ^ 1;/'
# The array does not wait within a tile, so that a word is lost: a value differs, or its cycle, whichever is first.
fault gqsa any "--group 4 --algorithm rtn" sq_gqsa_scale.sv 's/in_ready_o = moves;/in_ready_o = moves \&\& !(valid_q \&\& last_q);/'
fault gqsa value "--group 4 --algorithm rtn" sq_gqsa_scale.sv 's/{1.b0, in_zero_i}/{in_zero_i, 1'"'"'b0}/'
fault spqr value "" sq_spqr_scale.sv 's/weight_q <= weight;/weight_q <= weight ^ 1;/'
fault spqr cycle "" sq_engine_spqr.sv 's/assign act_ready_o = loading_q;/assign act_ready_o = loading_q \&\& !step_valid_q;/'
fault spqt cycle "--sparsity 0.4" sq_q4k_weight.sv 's/in_ready_o = moves;/in_ready_o = moves \&\& !last_q;/'
fault spqt value "--sparsity 0.4" sq_fp_mac.sv 's/product_q <= product;/product_q <= product ^ 1;/'

fault mxfp4 value "--algorithm rtn" sq_block_scale.sv "s/amax_i\[14:7\] - 8'd2 : 8'd0/amax_i[14:7] - 8'd1 : 8'd0/"
fault mxplus value "--algorithm rtn" sq_block_line.sv "s/if (is_largest) magnitude/if (is_largest \&\& code[0]) magnitude/"
fault sq_b value "--bank 16 --high-per-bank 1 --algorithm rtn" sq_engine_scaled.sv 's/pair\[1\] ? scale_row_hi_i/pair[0] ? scale_row_hi_i/'
fault sq_b cycle "--bank 16 --high-per-bank 1 --algorithm rtn" sq_scaled_ctl.sv 's/in_ready_o = !(acc_o/in_ready_o = !(result_valid_q) \&\& !(acc_o/'

# ---- from a file: the same layer, the same beats and cycles. FORMAT OPTIONS / those of the run; of models that are there
for each in "sq_w --bank 4 --sparsity 0.5 --algorithm rtn/$FEW" sq_w "sq_w --variant tied" "sq_w --variant fp --algorithm rtn" "dense --weight-bits 2 --algorithm rtn/--act-bits 4" "sq_a_static --bank 4 --weight-bits 2 --smooth 0.5" "sq_a_dynamic --algorithm rtn" sp24 mxplus "sq_b --codes split --bank 16"; do
  f=${each%/*} more=${each#"${each%/*}"}
  case $f in *smooth* | *codes* | dense* | "sq_w --bank"*) ;; *" "* | sp24 | sq_w) daily "$f: layers of a file" || continue ;; esac
  sq quantize --format $f $CALIB -o f.st
  sq cosim --layers $ONE --format $f $CALIB ${more#/} --json
  sed 's/"provenance".*//' "$W.out" >"$W/encoded"
  sq cosim --layers $ONE --weights f.st ${more#/} --json
  ok "$f: layers of a file" [ "$RC" = 0 ]
  ok "$f: are those of the recipe" cmp <(sed 's/"provenance".*//' "$W.out") "$W/encoded"
done
refuse "--weights FILE says the format" cosim --layers --weights f.st --format dense
refuse "--weights FILE says the format" cosim --layers --weights f.st --bank 8
tensor "$W/w.st" '{"w":{"dtype":"F32","shape":[16,32],"data_offsets":[0,2048]}}' 2048
refuse "the file of weights does not hold w" cosim --layers w.st --weights f.st
refuse "--weights needs --layers" cosim --weights f.st

# ---- selection and refusals
sq cosim --layers --format spqt --layer 'model.layers.?.self_attn.[qk]_proj' --m 3 --json
ok "--layer takes patterns" [ "$(number layers)" = 4 ]
sq cosim --layers --format sp24 --layer '*.1.self_attn.v_proj' --m 3 --rows 2 --cols 3
ok "tiles that neither tokens nor channels fill" bash -c "[ $RC = 0 ] && grep -q '^PASS: 1 layers' '$W.out'"
sq cosim --layers --format spqt --layer '*.1.mlp.down_proj' --m 1 --tokens "$ROOT/traces/tiny-llama/tokens_eval.safetensors"
ok "other tokens, for a reader" bash -c "[ $RC = 0 ] && grep -q '^PASS: 1 layers' '$W.out'"
refuse "--layer = q_proj, none of 14 layers" cosim --layers --layer q_proj
refuse "--layer needs --layers" cosim --layer '*'
refuse "--calib needs --layers" cosim --calib x
sq cosim --layers $ONE --format dense --weight-bits 2 --act-bits 4 --algorithm rtn --calib x
ok "tokens that nothing needs: said, and not read" bash -c "[ $RC = 0 ] && grep -q 'note: calibration tokens are not used' '$W.err'"
refuse "--act-bits = 16: no block" cosim --layers --format dense --act-bits 16
refuse "--act-bits = 16: no block" cosim --layers --format gqsa --act-bits 16
refuse "variant = fp: the chip multiplies integers" cosim --block top --layers --variant fp --algorithm rtn --layer '*.0.self_attn.k_proj'
refuse "--operand = act: no block" cosim --layers --format nvfp4 --operand act
refuse "--operand = weights: no block" cosim --layers --format sq_b --operand weights
refuse "select = int8_mul: variant = tied, high-bits = 8, need own and 8" cosim --layers --format sq_a_dynamic --select int8_mul --variant tied
refuse "select = int8_mul: variant = own, high-bits = 4, need own and 8" cosim --layers --format sq_a_dynamic --select int8_mul --high-bits 4 --low-bits 2
refuse "--dense-layers = 0.5: a layer that stays dense" cosim --layers --format sp24 --dense-layers 0.5
refuse "--bank" cosim --layers --format gqsa --bank 8
refuse "--format = gqsa needs --layers" cosim --format gqsa
refuse "--algorithm needs --layers" cosim --algorithm rtn
refuse "--bank with --format all" cosim --layers --format all --bank 8
refuse "--format = all needs --layers" cosim --format all
refuse "--point = p01 with --layers" cosim --layers --point p01
refuse "--m = 100000, need 1\.\." cosim --layers --format spqt --m 100000
finish
