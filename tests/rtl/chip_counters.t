#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `run --machine` says of a chip is what the verilated chip counts: the cycles of each layer, and in how many of them the engine
# works, waits for operands, or cannot take them. The host reads these counters behind the layer, behind an ideal memory.
# Exhausted: the layers of the embedded model's first block on 1x2 PEs, in eight formats, and on the chip of
# sim/machines/chip.yaml, 2x4 PEs, in nvfp4 (SQ_CHIP=all: both blocks, eight formats on either chip). Sampled: memories, and machines with their formats and tokens. A memory a cycle further away is found.
. "$(dirname "$0")/lib.sh"
cd "$W" || exit 1
LAYERS='model.layers.0.*' N_LAYERS=7
[ "$SQ_TIER" = test ] && LAYERS='model.layers.0.*[qken]_proj' N_LAYERS=4 # one of each shape
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
  sq cosim --block top --layers --free-streams --machine "$machine" --layer "$LAYERS" --m "${TOKENS:-8}" --algorithm rtn "$@" --json
  ok "$(basename "$machine"), $*: $N_LAYERS layers on the RTL" clean $((${MIN_BEATS:-2800} * N_LAYERS))
  counters "$W.out" >rtl.counters
  sq run --machine "$machine" --m "${TOKENS:-8}" "$@" --json
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
small "12 KiB" --format sq_a_dynamic
if daily "counters of the other formats"; then
  small "16 KiB" --format sq_w
  small "12 KiB" --format sq_b
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
cp rtl.counters ideal.counters
# Kept groups: their time is that of the offsets, which `run` has where all channels keep as many.
sed 's/cols: 4/cols: 1/' "$ROOT/sim/machines/chip.yaml" >kept.yaml
chip kept.yaml --format gqsa --scope row
ALL=$LAYERS N_ALL=$N_LAYERS

# The same behind a DRAM that keeps time: an answer of the RTL's memory in another cycle would show in every counter. One
# is slow enough to be waited for, with rows that conflict; on a device of ranges cosim and run take the fast end.
timed() { # NAME KEYS FORMAT...
  sed "s/^clock: .*/clock: ${CLOCK:-1 GHz}/; s/^  bandwidth:.*/  $2/; /^  latency:/d; /^dram:/,/^[a-z]*:/{/^  burst: [0-9]* B/d}" "$ROOT/sim/machines/chip.yaml" >"$1.yaml"
  local name=$1; shift 2
  chip "$name.yaml" --format "$@"
}
timed ddr4 'device: ddr4-2400' nvfp4
# The engine stands still for so long at this clock that a clock of its own which stops after 64 cycles loses outputs.
CLOCK="1810 MHz" timed lpddr4 'device: lpddr4-3200\n  map: row-rank-bank-row2-column-group-pseudo-channel\n  placement: banks\n  page: closed\n  queue: 2\n  refresh: bank' nvfp4
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

# Random machines by the seed, a random layer each in one of the formats, ragged in its tokens; every third machine is behind a DRAM that
# keeps time, and some take only what one tile needs. SQ_MACHINES=300.
random_machine() { # NUMBER: random.yaml; tokens, layer and options
  python3 - "$SEED" "$1" "$(random_memory "$1")" >random.options <<'EOS'
import random, sys
r = random.Random("machine." + sys.argv[1] + "." + sys.argv[2])
kib = lambda low, high: f"{1 << r.randint(low, high)} KiB"
rows, cols = r.choice([1, 1, 2, 3, 4]), r.choice([2, 2, 4])
dram = sys.argv[3].replace("\\n", "\n") if int(sys.argv[2]) % 3 == 2 else \
    f"bandwidth: {r.randint(1, 20)} GB/s\n  latency: {r.randint(0, 80)} ns\n  burst: {r.choice([16, 32, 64])} B"
open("random.yaml", "w").write(f"""name: random
clock: {100 * r.randint(2, 20)} MHz
cores: 1
core:
  rows: {rows}
  cols: {cols}
buffers:
  activation: {kib(1, 5)}
  weight: {kib(1, 6)}
  scale: {kib(1, 3)}
  output: {rows * cols << r.randint(4, 9)} B
dram:
  {dram}
chip:
  bus: {r.choice([4, 8, 16])} B
  burst: {1 << r.randint(0, 6)}
  outstanding: {r.randint(2, 32)}
  writes: {r.randint(1, 16)}
""")
formats = ["dense --weight-bits 4", "dense --weight-bits 8", "sp24", "sq_w", "sq_a_static", "sq_a_dynamic", "mxfp4", "mxfp8", "mxint8", "nvfp4", "nvint5",
           "if4", "sq_b", "sq_b --codes split --bank 16"]
print(r.randint(1, 19), "model.layers.%d.%s_proj" % (r.randint(0, 1), r.choice(["self_attn.q", "self_attn.k", "self_attn.v", "self_attn.o"])),
      "--format", r.choice(formats))
EOS
}
random_machines() { # FIRST END
  N_LAYERS=1 MIN_BEATS=200
  for ((i = $1; i < $2; i++)); do
    random_machine $i
    read -ra words <random.options
    TOKENS=${words[0]} LAYERS=${words[1]}
    sq run --machine random.yaml --m "$TOKENS" "${words[@]:2}" --json
    [ "$RC" = 2 ] && continue # its buffers hold no tile
    chip random.yaml "${words[@]:2}"
    n_machines=$((n_machines + 1))
  done
}
# The chip of chip.yaml, whose RTL is there, with clock, memory, tokens and layer of two of them.
for i in 0 2; do
  random_machine $i
  read -r TOKENS LAYERS _ <random.options
  { sed "/^dram:/,\$d; s/^clock: .*/$(grep ^clock: random.yaml)/" chip.yaml; sed -n '/^dram:/,/^chip:/p' random.yaml | sed '$d'; sed -n '/^chip:/,$p' chip.yaml; } >mixed.yaml
  N_LAYERS=1 MIN_BEATS=200 chip mixed.yaml --format nvfp4
done
n_machines=0 from=${SQ_MACHINES_FROM:-0}
if daily "random machines"; then
  random_machines "$from" $((from + ${SQ_MACHINES:-4}))
  ok "random machines: $n_machines of ${SQ_MACHINES:-4} ran" [ $((4 * n_machines)) -ge "${SQ_MACHINES:-4}" ]
fi
# ---- the check itself: a memory that is a cycle further away takes other cycles
sed 's/latency: 40 ns/latency: 41 ns/' chip.yaml >far.yaml
mv ideal.counters rtl.counters
LAYERS=$ALL N_LAYERS=$N_ALL TOKENS=''
sq run --machine far.yaml --m 8 --format nvfp4 --json
differs() { ! alike >/dev/null; }
ok "a cycle more of latency is found in the counters" differs
finish
