#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqsim run --phase decode on a chip with encoder, vector and attention unit: what each part of a token takes are the counters that the
# same token leaves on the chip (`generate --vector`), by layers and passes at once. Random small models (shared heads, biases, norms of
# queries, odd widths) on random machines, whose every token is token 0: weights are any, lm_head is zeros. 50 of them in `make test-daily`, or SQ_MACHINES.
. "$(dirname "$0")/../cli/lib.sh"
cd "$W" || exit 1

draw() { # NUMBER: model m, machine.yaml, options
  python3 - "$SEED" "$1" "$SQSIM_HOME/traces/tiny-llama/tokens_eval.safetensors" >options <<'EOS'
import json, os, random, shutil, struct, sys
r = random.Random("token." + sys.argv[1] + "." + sys.argv[2])
bus = r.choice([4, 8, 8, 16])
int8 = r.random() < .4
head = bus * r.randint(1, max(1, 32 // bus))
group, kv = r.randint(1, 3), r.randint(1, 2)
hidden = r.choice([32, 64, 96, 128])
inner, layers = 32 * r.randint(1, 5), r.randint(1, 2)
kind = r.choice(["llama", "qwen2", "qwen3"])
tied = r.random() < .5
config = {"model_type": kind, "hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": layers, "num_attention_heads": group * kv,
  "num_key_value_heads": kv, "head_dim": head, "vocab_size": 256, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 1e4,
  "tie_word_embeddings": tied, "bos_token_id": 0, "eos_token_id": 1}
some = struct.pack("<1024f", *(r.gauss(0, .1) for _ in range(1024)))
shapes = {"model.embed_tokens": [256, hidden], "model.norm": [hidden]}
if not tied: shapes["lm_head"] = [256, hidden]
q, k = group * kv * head, kv * head
for i in range(layers):
    at = f"model.layers.{i}."
    shapes |= {at + n: s for n, s in {"self_attn.q_proj": [q, hidden], "self_attn.k_proj": [k, hidden], "self_attn.v_proj": [k, hidden], "self_attn.o_proj": [hidden, q],
      "mlp.gate_proj": [inner, hidden], "mlp.up_proj": [inner, hidden], "mlp.down_proj": [hidden, inner], "input_layernorm": [hidden],
      "post_attention_layernorm": [hidden]}.items()}
    if kind == "qwen3": shapes |= {at + "self_attn.q_norm": [head], at + "self_attn.k_norm": [head]}
    if kind == "qwen2": shapes |= {at + f"self_attn.{n}_proj.bias": [w] for n, w in (("q", q), ("k", k), ("v", k))}
header, data = {}, b""
for name, shape in shapes.items():
    n = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
    zero = name == "lm_head" or (tied and "embed" in name)
    header[name if "bias" in name else name + ".weight"] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + n]}
    data += bytes(n) if zero else (some * (n // len(some) + 1))[:n]
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
os.makedirs("m", exist_ok=True)
json.dump(config, open("m/config.json", "w"))
shutil.copy(sys.argv[3], "m/tokens_eval.safetensors") # a token is a byte
open("m/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
form = r.choice(["dense --weight-bits 8", "mxfp4", "nvfp4", "sq_w --bank 16", "nvint4", "sq_b"] + ["gqsa --scope row"] * (2 if q >= 32 else 0)) # of one group of K gqsa keeps none
rows = 1 if "gqsa" in form else r.choice([1, 2, 4])
cols = 1 if "gqsa" in form else r.choice([c for c in (1, 2, 4, 8) if rows == 1 or 2 * c % bus == 0])
size = 1
while size < head: size *= 2
open("machine.yaml", "w").write(f"""name: random
clock: {100 * r.randint(2, 20)} MHz
cores: 1
core:
  rows: {rows}
  cols: {cols}
buffers:
  activation: {1 << r.randint(3, 5)} KiB
  weight: {1 << r.randint(3, 6)} KiB
  scale: {1 << r.randint(2, 4)} KiB
  output: {rows * cols << r.randint(4, 8)} B
dram:
  bandwidth: {r.randint(1, 20)} GB/s
  latency: {r.randint(0, 80)} ns
  burst: {r.choice([16, 32, 64])} B
chip:
  bus: {bus} B
  burst: {1 << r.randint(0, 6)}
  outstanding: {r.randint(2, 32)}
  writes: {r.randint(1, 16)}
  encoder: yes
  vector: yes
  attend: {r.randint(1, 4)}
  head: {size}
  cache: {"int8" if int8 else "binary16"}
""")
print(r.randint(2, 9), form)
EOS
}
counters() { # of the last token of `generate`, or of `run`: parts, then the sums
  python3 -c '
import json, sys
l = [json.loads(x) for x in open(sys.argv[1])]
t = l[-2] if "id" in l[-2] else l[-1]
parts = l[-2].get("parts") or {x["part"]: x["cycles"] for x in l[:-1]}
print(*parts.items(), *(t[k] for k in ("cycles", "busy", "wait", "blocked", "read_bytes", "write_bytes")))' "$W.out"
}
n=0 machines=${SQ_MACHINES:-4}
[ "$machines" != 4 ] || ! daily "50 models and machines" || machines=50
for ((i = 0; i < machines; i++)); do
  draw $i
  read -r tokens format <options
  scale=
  case $format in nv* | sq_b*) scale="--act-scale token2" ;; sq_w*) scale="--algorithm rtn" ;; gqsa*) scale="--algorithm rtn --prune magnitude" ;; esac
  sq run m --phase decode --context "$tokens" --machine machine.yaml --format $format --json
  if [ "$RC" = 2 ]; then # what the chip is too small for, or cannot be
    sed 's/^/# /' "$W.err"
    continue
  fi
  timed=$(counters)
  sq generate m --prompt '' --vector --on chip --tokens "$tokens" --machine machine.yaml --format $format $scale --json
  ok "$i: $format, token $tokens: the counters of the chip are those of run --phase" [ "$RC$(counters)" = "0$timed" ]
  rm -rf ran && cp machine.yaml ran.yaml && cp -r m ran && at="--context $tokens --format $format" want=$timed
  n=$((n + 1))
done
ok "half of the machines ran" [ $((2 * n)) -ge "$machines" ]
# The check itself: a cycle more of latency.
sed -i 's/latency: \([0-9]*\) ns/latency: 1\1 ns/' ran.yaml
sq run ran --phase decode $at --machine ran.yaml --json
ok "a memory further away is found" [ "$RC" = 0 -a "$(counters)" != "$want" ]
# Rows: each format is a chip of its own, whose token takes as long.
alone=$(number ms)
sq run ran --phase decode $at --machine ran.yaml --and dense --fair none --json
ok "a row has the time of its program" [ "$RC$(head -1 "$W.out" | grep -o '"ms":[^,]*')" = "0\"ms\":$alone" ]
if daily "a row by the chip's netlist"; then
  sed 's/rows: 2/rows: 1/; s/cols: 4/cols: 1/; s/16 KiB/512 B/; s/32 KiB/1 KiB/; s/8 KiB/128 B/; s/4 KiB/64 B/; s/bus: 8/bus: 4/' "$ROOT/sim/machines/chip.yaml" >small.yaml
  printf '  encoder: yes\n  vector: yes\n  attend: 1\n  head: 32\n' >>small.yaml
  accept "area of a chip" area --block top --machine small.yaml --of dense --json
  units() { python3 -c 'import json, sys; o = json.loads(sys.stdin.readline()); u = {k: v["um2"] for k, v in o["units"].items()}
print(*("%.9g" % (1e-6 * x) for x in (u["attention"], u["vector unit"], u["encoder"], u["DMA and ring"] + u["control"], sum(u.values()))), o["min_period_ns"])' <"$W.out"; }
  row() { python3 -c 'import json, sys; o = json.loads(sys.stdin.readline()); print(*("%.9g" % o[k + "mm2"] for k in ("attend_", "vector_", "encoder_", "dma_", "")), o["netlist_ns"])' <"$W.out"; }
  units=$(units)
  sq run --phase decode --context 3 --machine small.yaml --format dense --and nvfp4 --machine-clock --json
  ok "... its units are those of area, and add up" [ -n "$units" -a "$RC$(row)" = "0$units" ]
fi
for o in "--phase decode --and dense --fair peak" "--phase decode --and dense --period 9" "--phase prefill" "--phase serve --tables t" "--phase decode --batch 2" "--phase decode --chips 2" "--phase decode --kv-format int8" \
  "--phase decode --head-format layers"; do
  refuse "computes a token by itself" run m $o --machine machine.yaml --format mxfp4
done
refuse "need a folder with weights or a GGUF file" run llama-3-8b --phase decode --machine machine.yaml --format mxfp4
refuse "a model with 0 tokens in the cache" run m --phase decode --context 0 --machine machine.yaml --format mxfp4
sed -i 's/encoder: yes/encoder: no/' machine.yaml
refuse "chip.encoder: no with machine random" run m --phase decode --machine machine.yaml --format mxfp4
finish
