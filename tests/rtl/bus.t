#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The bus of the chip, judged by what shares nothing with this project: cocotbext-axi is host and memory of sq_top
# (rtl/cocotb/test_top.py), and image.py, which knows only what LAYER.json says, computes the memory that must come.
# Sampled: parts of a layer at random addresses, waits of all ten channels, bus errors in every region, accesses to registers
# while a layer runs, resets. Then faults, each of which must be found. Skipped where cocotb, cocotbext-axi, Icarus
# or Yosys is missing (PYTHON names a Python that has the packages).
. "$(dirname "$0")/lib.sh"
PYTHON=${PYTHON:-python3}
T="1'b1" F="1'b0" D=rtl/top/sq_dma.sv R=rtl/top/sq_top_regs.sv
NAME=$W/model.layers.0.self_attn.k_proj

sq image --format dense --algorithm rtn --layer '*.0.self_attn.k_proj' --m 3 --rows 1 --cols 2 --group row --depth 48 -o .
ok "an image" [ "$RC" = 0 ]
"$PYTHON" "$ROOT/tests/cli/image.py" "$NAME.json" "$NAME.bin" >"$W/want.bin"
sq image --format dense --algorithm rtn --layer '*.0.self_attn.k_proj' --m 3 --rows 1 --cols 2 --group row --depth 48 --check want.bin
ok "the memory after it has the outputs of the golden model" [ "$RC" = 0 ]

bus() { # FOLDER TEST RTL: in a Python that may be the one of a virtual environment
  SQ_SEED=$SEED timeout $HANG "$PYTHON" "$ROOT/rtl/cocotb/run_top.py" "$NAME.json" "$W/want.bin" "$@" >"$W.out" 2>&1 </dev/null
  RC=$?
}
passed() { # exit 0, else what failed
  [ "$RC" = 0 ] && return
  echo "# exit $RC"; grep -E 'FAIL|Error|Exception|cocotb:' "$W.out" | head -20 | sed 's/^/# /'
  return 1
}
bus "$W/bus"
if [ "$RC" = 77 ]; then
  skip "sq_top between the models of cocotbext-axi" "$(tail -1 "$W.out")"
  finish
fi
ok "sq_top between the models of cocotbext-axi" passed
ok "six tests ran" grep -q '^cocotb: 6 tests of the chip, 0 failed$' "$W.out"


# Other chips: bits of codes, rows and columns, bytes of the bus, a coded format.
chip() { # ROWS COLS BUS OPTION...: one test of an image for such a chip
  local name=$NAME at=$W/chip_$1_$2_$3
  mkdir "$at"
  sed "s/rows: 2/rows: $1/; s/cols: 4/cols: $2/; s/bus: .*/bus: $3 B/; s/output: .*/output: 1 KiB/" "$ROOT/sim/machines/chip.yaml" >"$at/chip.yaml"
  shift 3
  sq image --algorithm rtn --layer '*.0.self_attn.k_proj' --m 3 --machine "$at/chip.yaml" "$@" -o "$at"
  NAME=$at/${NAME##*/}
  "$PYTHON" "$ROOT/tests/cli/image.py" "$NAME.json" "$NAME.bin" >"$W/want.bin" && bus "$at/bus" layers_with_few_waits
  NAME=$name
  passed
}
if daily "other chips between the models of cocotbext-axi"; then
  cp "$W/want.bin" "$W/first.bin"
  ok "W8A8, tiles of 2 x 1, a bus of 32 bits" chip 2 1 4 --format dense --weight-bits 8 --group row
  ok "sq_w, tiles of 1 x 2, a bus of 128 bits" chip 1 2 16 --format sq_w
  ok "W4A8, tiles of 2 x 2, a bus of 256 bits" chip 2 2 32 --format dense --group row
  mv "$W/first.bin" "$W/want.bin"
fi

fault() { # NAME TEST FILE SED_SCRIPT: the test must find it
  mutant "$1" "$3" "$4" || return
  bus "$W/$1/bus" "$2" "$W/$1/rtl"
  ok "$1: found" failed
}
failed() { # a test failed, and it ran
  [ "$RC" = 1 ] && return
  echo "# exit $RC"; tail -5 "$W.out" | sed 's/^/# /'
  return 1
}
fault wlast_a_beat_early layers_with_few_waits $D "s/assign axi_w_last_o = .*/assign axi_w_last_o = data_left_q == 8'd1;/"
fault read_address_withdrawn layers_with_many_waits $D "s/else if (axi_ar_ready_i) axi_ar_valid_o <= $F;/else axi_ar_valid_o <= $F;/"
fault write_address_withdrawn layers_with_many_waits $D "s/else if (axi_aw_ready_i) axi_aw_valid_o <= $F;/else axi_aw_valid_o <= $F;/"
fault page_crossed_by_a_beat layers_at_full_speed rtl/sq_pkg.sv "s/room = (13'd4096 - 13'(addr)) >> size;/room = ((13'd4096 - 13'(addr)) >> size) + 13'(addr >> size != '0);/"
fault word_lost_when_memory_waits layers_with_few_waits $D "s/assign data_ready = .*/assign data_ready = data_q;/"
fault response_never_taken layers_at_full_speed $D "s/assign axi_b_ready_o = .*/assign axi_b_ready_o = open_q != '0 \&\& !data_q \&\& !axi_aw_valid_o \&\& !axi_b_valid_i;/"
fault address_changes_when_memory_waits layers_with_many_waits $D "s/^    if (issue && !broken) begin/    if (cur_q \&\& !broken) begin/"
fault burst_of_another_length layers_at_full_speed $D "s/axi_ar_len_o <= len;/axi_ar_len_o <= len | 8'd1;/"
fault half_a_beat_written layers_at_full_speed $D "s/assign axi_w_strb_o = .*/assign axi_w_strb_o = {{(Bytes\/2){$F}}, {(Bytes\/2){$T}}};/"
fault errors_of_reads_ignored bus_errors $D "s/axi_r_resp_i\[1\] ?/(axi_r_resp_i[1] \&\& $F) ?/"
fault errors_of_writes_ignored bus_errors $D "s/axi_b_resp_i\[1\] ?/(axi_b_resp_i[1] \&\& $F) ?/"
fault register_response_withdrawn registers $R "s/else if (lite_b_ready_i) lite_b_valid_o <= $F;/else lite_b_valid_o <= $F;/"
fault register_value_changes registers $R "s/if (ar_fire) begin/if (lite_ar_valid_i) begin/"
fault register_written_without_data registers $R "s/assign write = .*/assign write = aw_q \&\& !lite_b_valid_o;/"
fault interrupt_stays layers_at_full_speed $R "s/^        irq_state_q\[0\] <= $F;/        irq_state_q[0] <= $T;/"
fault state_that_a_reset_forgets reset_while_a_layer_runs $D "s/^      axi_ar_valid_o <= $F;/      axi_ar_valid_o <= axi_ar_valid_o;/"
finish
