#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A file of the right container and the wrong contents, one that unpacks without end, and a reader
# that goes away. Each was once answered with numbers, memory or noise.
. "$(dirname "$0")/lib.sh"
TINY=$SQSIM_HOME/traces/tiny-llama

# ---- what sqsim wrote is no checkpoint: its scales were timed and encoded again ---------------
tensor "$W/good" '{"w.weight":{"dtype":"F32","shape":[16,256],"data_offsets":[0,16384]}}' 16384
accept "a file of encoded weights" quantize good --algorithm rtn -o enc
accept "and one of another format" quantize good --format sp24 --algorithm rtn -o sp24
tensor "$W/masks" '{"__metadata__":{"system":"sq_a","producer":"golden","version":"1"},"w.mask":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}' 4
commands() { # FILE PATTERN
  refuse "$2" run "$1"
  refuse "$2" run "$1" --timing-only
  refuse "$2" run "$1" --format dense
  refuse "$2" quantize "$1"
  refuse "$2" cosim "$1" --m 2
  refuse "$2" eval "$1"
}
commands enc "holds weights encoded as sq_w, which inspect takes"
commands sp24 "holds weights encoded as sp24, which inspect takes"
commands masks "holds channel masks of sq_a, which inspect takes"
accept "inspect takes it" inspect enc
accept "inspect takes that" inspect sp24
tensor "$W/trace" '{"__metadata__":{"system":"gqsa","producer":"cuda","version":"1"},"y":{"dtype":"F32","shape":[4,16],"data_offsets":[0,256]}}' 256
for c in run quantize eval; do
  refuse "holds a kernel trace of gqsa, which cosim takes" $c trace
done
refuse "holds tokens, which --tokens takes" run "$TINY/tokens_eval.safetensors"
refuse "holds tokens, which --tokens takes" quantize "$TINY/tokens_eval.safetensors"

# ---- a file called .gguf is refused as one, whatever is in it ------------------------------------
head -c 300 "$W/good" >"$W/junk.gguf"
for c in inspect run quantize eval; do refuse "junk.gguf: does not begin with GGUF" $c junk.gguf; done

# ---- a head of its own, and a config that ties it ---------------------------------------------
mkdir "$W/tied"
python3 - "$TINY" "$W/tied" <<'PY'
import json, struct, sys
src, dst = sys.argv[1:]
raw = open(src + "/model.safetensors", "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
header, data = json.loads(raw[8:8 + n]), raw[8 + n:]
config = json.load(open(src + "/config.json"))
config["tie_word_embeddings"] = True
json.dump(config, open(dst + "/config.json", "w"))
embed = dict(header["model.embed_tokens.weight"])
a, b = embed["data_offsets"]
head = data[a:b]
header.pop("lm_head.weight", None)
def write(name, head):
    h = dict(header)
    end = max(t["data_offsets"][1] for k, t in h.items() if k != "__metadata__")
    h["lm_head.weight"] = dict(embed, data_offsets=[end, end + len(head)])
    text = json.dumps(h).encode()
    open(dst + "/" + name, "wb").write(struct.pack("<Q", len(text)) + text + data[:end] + head)
write("same", head)
write("other", head[:-1] + bytes([head[-1] ^ 1]))
PY
if [ -s "$W/tied/other" ]; then
  mv "$W/tied/same" "$W/tied/model.safetensors"
  accept "a stored head equal to the embedding" inspect tied
  mv "$W/tied/other" "$W/tied/model.safetensors"
  refuse "tie_word_embeddings is true, but lm_head.weight is not" inspect tied
  refuse "tie_word_embeddings is true, but lm_head.weight is not" run tied --timing-only
  refuse "tie_word_embeddings is true, but lm_head.weight is not" eval tied
else
  skip "tied heads" "no python3"
fi

# ---- a .gz of 400 kB that becomes 400 MB ------------------------------------------------------
head -c 400000000 /dev/zero | tr '\0' ' ' | gzip >"$W/bomb.lib.gz"
# 1 GB of address space, libraries and the threads of OpenBLAS among it.
bomb() { (ulimit -v 1000000; sq area --block mac_low --liberty bomb.lib.gz; exit "$RC"); RC=$?; }
if (ulimit -v 1000000; "$SQSIM" --version >/dev/null 2>&1); then
  bomb
else
  echo "# no limit of address space: the sanitizers reserve more"
  sq area --block mac_low --liberty bomb.lib.gz
fi
ok "refused with the limit" [ "$RC" = 2 ]
ok "in one sentence" grep -q "bomb.lib.gz' holds more than 256 MiB of text, need less" "$W.err"
{ printf 'library (x) {'; head -c 100001 /dev/zero | sed 's/\x00/cell(a){}/g'; printf '}'; } >"$W/cells.lib"
refuse "more than 100000 cells" area --block mac_low --liberty cells.lib
rm "$W/bomb.lib.gz" "$W/cells.lib"

# ---- `| head`: the end of the reader is no error ----------------------------------------------
closed() { # ARGS...: the reader takes one byte of what does not fit a pipe
  (cd "$W" && { timeout $HANG "$SQSIM" "$@" 2>"$W.err"; echo $? >"$W.rc"; } | head -c 1 >/dev/null)
  RC=$(cat "$W.rc"); rm "$W.rc"
  [ ! -s "$W.err" ] && [ "$RC" = 141 ] && return
  echo "# exit $RC"; sed 's/^/# stderr: /' "$W.err"
  return 1
}
{ echo Layer,M,N,K,; for i in {1..3000}; do echo "a$i,64,64,64,"; done; } >"$W/long.csv"
ok "run ends without a word" closed run --workload long.csv --json --machine "$SQSIM_HOME/sim/machines/h200.yaml"
names=$(for i in {1..2000}; do printf '"a%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},' $i; done)
tensor "$W/long" "{${names%,}}" 0
ok "inspect ends without a word" closed inspect long
ok "and with --json" closed inspect long --json
sq inspect long
ok "what is read to its end is done" [ "$RC" = 0 ]
(cd "$W" && "$SQSIM" inspect long >/dev/full 2>"$W.err"); RC=$?
ok "a full disk is an error still" [ "$RC" = 2 ]
ok "and says so" grep -q "cannot write standard output" "$W.err"
# ---- a file that becomes shorter while it is mapped: one line and exit 2, not SIGBUS
if san; then
  skip "a file that becomes shorter" "the sanitizers have a handler of their own"
else
  python3 -c 'import json, struct, sys
n = 1 << 28
h = json.dumps({"model.layers.0.mlp.up_proj.weight": {"dtype": "BF16", "shape": [8192, n >> 14], "data_offsets": [0, n]}}).encode()
f = open(sys.argv[1], "wb"); f.write(struct.pack("<Q", len(h)) + h); f.truncate(8 + len(h) + n)' "$W/long.safetensors"
  (cd "$W" && exec "$SQSIM" quantize long.safetensors -o out.st >"$W.out" 2>"$W.err" </dev/null) &
  pid=$!
  until grep -q long.safetensors /proc/$pid/maps 2>/dev/null || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
  truncate -s 100 "$W/long.safetensors"
  wait $pid
  RC=$?
  ok "a file that becomes shorter while it is read" [ "$RC" = 2 -a "$(wc -l <"$W.err")" = 1 -a ! -e "$W/out.st" ]
  ok "... is named" grep -Eq "long.safetensors' (became shorter|.*bytes)|long.safetensors" "$W.err"
fi

finish
