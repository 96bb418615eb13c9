#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `run --machine` says of a chip is what the verilated chip counts: the cycles of each layer, and in how many of them the engine
# works, waits for operands, or cannot take them. The host reads these counters behind the layer, behind an ideal memory.
# Exhausted: the layers of the embedded model's first block on 1x2 PEs, in eight formats, and on the chip of
# sim/machines/chip.yaml, 2x4 PEs, in nvfp4 (SQ_CHIP=all: both blocks, eight formats on either chip). A memory a cycle further away is found.
. "$(dirname "$0")/lib.sh"
cd "$W" || exit 1
LAYERS='model.layers.0.*' N_LAYERS=7
[ "${SQ_CHIP:-}" = all ] && LAYERS='*' N_LAYERS=14

counters() { # of the lines of cosim or run: a layer, and its four counters
  python3 -c '
import fnmatch, json, sys
for line in open(sys.argv[1]):
    o = json.loads(line)
    if "layer" not in o or not fnmatch.fnmatch(o["layer"], sys.argv[2]):
        continue
    low = o["causes"]["low"] if "causes" in o else None
    n = [o["cycles"], low["busy"], low["memory"], low["blocked_output"]] if low else \
        [o["chip_" + c] for c in ("cycles", "busy", "wait", "blocked")]
    assert n[0] == sum(n[1:])
    print(o["layer"], *n)' "$1" "$LAYERS"
}
alike() { # of both, so many lines that are the same
  counters "$W.out" >run.counters && [ "$(wc -l <rtl.counters)" = $N_LAYERS ] && diff rtl.counters run.counters
}
chip() { # MACHINE OPTION...
  local machine=$1; shift
  sq cosim --block top --layers --free-streams --machine "$machine" --layer "$LAYERS" "$@" --json
  ok "$(basename "$machine"), $*: $N_LAYERS layers on the RTL" clean $((2800 * N_LAYERS))
  counters "$W.out" >rtl.counters
  sq run --machine "$machine" --m 8 "$@" --json
  ok "... the four counters of each are those of run" alike
}
small() { # BUFFER OPTION...: 1x2 PEs, half a buffer of activations of so much is 256 beats
  local buffer=$1; shift
  sed "s/rows: 2/rows: 1/; s/cols: 4/cols: 2/; s/activation: .*/activation: $buffer/; s/weight: .*/weight: 1 MiB/; s/output: .*/output: 1 KiB/" \
    "${MACHINE:-$ROOT/sim/machines/chip.yaml}" >small.yaml
  chip small.yaml "$@"
}
small "8 KiB" --format dense --weight-bits 8
lanes() { # LOW HIGH BUFFER OPTION...: the same with multipliers that the machine states
  cp "$ROOT/sim/machines/chip.yaml" shipped.yaml
  sed -i "s/^  cols: .*/&\n  low_lanes: $1\n  high_lanes: $2/" shipped.yaml
  MACHINE=shipped.yaml small "${@:3}"
}
if daily "beats as long as stated multipliers"; then
  lanes 16 4 "4 KiB" --format dense --weight-bits 8
  lanes 16 8 "16 KiB" --format sp24
fi
small "16 KiB" --format sq_w
small "12 KiB" --format sq_a_dynamic
small "12 KiB" --format sq_b
if daily "counters of the other formats"; then
  small "8 KiB" --format dense --weight-bits 4
  small "8 KiB" --format sp24
  small "12 KiB" --format sq_a_static
  small "8 KiB" --format nvfp4
fi
more=""
[ "${SQ_CHIP:-}" = all ] && more="dense:--weight-bits=4 dense:--weight-bits=8 sq_w sp24 sq_a_static sq_a_dynamic sq_b"
cp "$ROOT/sim/machines/chip.yaml" .
for options in $more nvfp4; do
  IFS=: read -ra words <<<"$options"
  chip chip.yaml --format "${words[@]}"
done

# The same behind a DRAM that keeps time: an answer of the RTL's memory in another cycle would show in every counter. One
# is slow enough to be waited for, with rows that conflict; on a device of ranges cosim and run take the fast end.
timed() { # NAME KEYS FORMAT...
  sed "s/^clock: .*/clock: ${CLOCK:-1 GHz}/; s/^  bandwidth:.*/  $2/; /^  latency:/d; /^dram:/,/^[a-z]*:/{/^  burst: [0-9]* B/d}" "$ROOT/sim/machines/chip.yaml" >"$1.yaml"
  local name=$1; shift 2
  chip "$name.yaml" --format "$@"
}
timed ddr4 'device: ddr4-2400' nvfp4
timed lpddr4 'device: lpddr4-3200\n  map: row-rank-bank-row2-column-group-pseudo-channel\n  placement: banks\n  page: closed\n  queue: 2\n  refresh: bank' nvfp4
daily "counters behind other devices" && for device in ddr5-4800 hbm3 gddr6-14; do
  timed "$device" "device: $device\n  channels: 2\n  map: xor" nvfp4
done

# Random memories by the seed, one layer each: SQ_DRAMS=200.
random_memory() { # NUMBER: keys of a machine
  python3 - "$SEED" "$1" <<'EOS'
import random, sys
r = random.Random(sys.argv[1] + "." + sys.argv[2])
devices = "ddr4-2400 ddr4-3200 ddr5-4800 gddr6-14 hbm2 hbm2e hbm3 lpddr4-3200 lpddr5-6400".split()
device = r.choice(devices)
refresh = ["all", "none"] + (["bank"] if device[:3] not in ("ddr",) else [])
print(f"device: {device}", f"channels: {r.choice([1, 2, 4])}", f"map: {r.choice(['groups', 'xor', 'banks', 'pages', 'row-rank-bank-row3-column-group-pseudo-channel'])}",
      f"page: {r.choice(['open', 'closed'])}", f"placement: {r.choice(['packed', 'banks'])}", f"refresh: {r.choice(refresh)}", f"queue: {r.randint(1, 16)}", sep="\\n  ")
EOS
}
if daily "random memories"; then
  LAYERS='model.layers.0.self_attn.k_proj' N_LAYERS=1
  for ((i = 0; i < ${SQ_DRAMS:-6}; i++)); do
    CLOCK="$((200 + 137 * i % 1800)) MHz" timed random "$(random_memory $i)" nvfp4
  done
  LAYERS='model.layers.0.*' N_LAYERS=7
fi

# ---- the check itself: a memory that is a cycle further away takes other cycles
sed 's/latency: 40 ns/latency: 41 ns/' chip.yaml >far.yaml
sq run --machine far.yaml --m 8 --format nvfp4 --json
differs() { ! alike >/dev/null; }
ok "a cycle more of latency is found in the counters" differs
finish
