#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# GGUF where a model directory is taken: the embedded model written as GGUF gives what its directory
# gives, in every command; and every value of every type of tensor is that of the Python package
# gguf, where PYTHON (python3) has it. GGUF_MODEL names a real file to compare as well.
. "$(dirname "$0")/../cli/lib.sh"
DUMP=${DUMP:-$(dirname "$SQSIM")/tests/llm/gguf_dump}
PYTHON=${PYTHON:-python3}
MODEL=$SQSIM_HOME/traces/tiny-llama
cp "$MODEL"/tokens_*.safetensors "$W"
python3 "$ROOT/tests/llm/gguf_write.py" "$MODEL" "$W/m.gguf" || { echo "Bail out! gguf_write.py"; exit 1; }

# same DESCRIPTION ARGS...: MODEL in ARGS is the directory, then the file; the output must not differ.
same() {
  local what=$1; shift
  sq "${@/MODEL/$MODEL}"
  sed "s,$MODEL,MODEL,g" "$W.out" >"$W/want"
  sq "${@/MODEL/m.gguf}"
  sed 's/m\.gguf/MODEL/g' "$W.out" >"$W/got"
  ok "$what" [ "$RC" = 0 -a -s "$W/got" ]
  ok "$what, the same as from the directory" cmp "$W/want" "$W/got"
}
same "loss and layers, tokens beside the file" eval MODEL --algorithm rtn --sequences 2
same "calibrated" eval MODEL --format sq_a_static --sequences 1 --calib-sequences 2 --summary
same "quantize" quantize MODEL --algorithm rtn
same "quantize, calibrated" quantize MODEL --format sp24 --calib-sequences 2
same "cycles and values" run MODEL --m 4
same "cycles of drawn groups" run MODEL --m 4 --format gqsa
same "a decode" run MODEL --phase decode --context 64 --format nvfp4
if command -v verilator >/dev/null; then
  LAYERS='*.[01].self_attn.k_proj'
  daily "the RTL of all layers" && LAYERS='*'
  same "co-simulation" cosim --layers MODEL --m 1 --layer "$LAYERS" --algorithm rtn
else
  skip "co-simulation" "no verilator"
fi
cat >"$W/s.yaml" <<END
name: s
axes: {model: [$W/m.gguf, $MODEL], bank: [32], algorithm: [rtn]}
measures: [cycles, weight_sqnr_db]
END
accept "a sweep" sweep s.yaml --db s.db -o s.csv
ok "has the same measures for both" [ "$(grep -v '^#' "$W/s.csv" | tail -2 | grep -oE '[0-9.]+,[0-9.]+,[^0-9]*$' | sort -u | wc -l)" = 1 ]

says "inspect: tensors as stored" '^blk.0.attn_q.weight  *F16  *131072  \[256, 256\]' inspect m.gguf
ok "metadata" out_has '^  general.languages = \[2 string\]$'
ok "config" out_has '^  hidden_size = 256$'
ok "total" out_has '^GGUF version 3: 20 tensors'
accept "--json" inspect m.gguf --json
ok "config as JSON" [ "$(number kind),$(number num_hidden_layers),$(number version)" = '"gguf",2,3' ]

python3 "$ROOT/tests/llm/gguf_write.py" "$MODEL" "$W/other.gguf" general.architecture=$'mamba\e[31m'
says "a model of another kind is shown: and why it does not run, visibly" 'no model that sqsim runs: .*mamba\\u001b' inspect other.gguf
refuse "mamba.*need LlamaForCausalLM" eval other.gguf
refuse "need LlamaForCausalLM" quantize other.gguf
head -c 100000 "$W/m.gguf" >"$W/cut.gguf"
for command in inspect eval quantize run "cosim --layers"; do
  refuse "the file is truncated" $command cut.gguf
done
mkdir "$W/alone" && cp "$W/m.gguf" "$W/alone"
refuse "alone/tokens_eval.safetensors" eval alone/m.gguf --algorithm rtn

# ---- the package gguf -----------------------------------------------------------------------------
cat >"$W/package.py" <<'EOS'
# A file of every type in OUT, or with one argument more the dump of FILE against the package.
import sys
import numpy as np, gguf
from gguf import GGMLQuantizationType as T

def write(path):
    w, r = gguf.GGUFWriter(path, "llama"), np.random.default_rng(1)
    normal = lambda *shape: r.standard_normal(shape).astype(np.float32)
    w.add_tensor("F32", normal(5, 7))
    w.add_tensor("F16", normal(300).astype(np.float16))
    for t in (T.BF16, T.Q8_0, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1):
        x = normal(6, 512) * np.exp2(r.integers(-20, 12, (6, 1)).astype(np.float32))
        w.add_tensor(t.name, gguf.quantize(x, t), raw_dtype=t)
    for t, half in ((T.Q4_K, (0, 2)), (T.Q5_K, (0, 2)), (T.Q6_K, (208,)), (T.Q8_0, (0,)),
                    (T.Q4_0, (0,)), (T.Q4_1, (0, 2)), (T.Q5_0, (0,)), (T.Q5_1, (0, 2)), (T.Q2_K, (80, 82)),
                    (T.Q3_K, (108,)), (T.TQ1_0, (52,)), (T.TQ2_0, (64,)), (T.IQ4_NL, (0,)), (T.IQ4_XS, (0,)),
                    (T.MXFP4, ()), (T.NVFP4, ())):
        length, nbytes = gguf.GGML_QUANT_SIZES[t]
        x = r.integers(0, 256, (500, nbytes), dtype=np.uint8)  # every bit free
        for h in half:
            x[(x[:, h + 1] & 0x7c) == 0x7c, h + 1] ^= 0x40  # but neither NaN nor infinity
        if t is T.MXFP4:
            x[:, 0] &= 0xbf
        w.add_tensor(t.name + ".bits", x, raw_dtype=t)
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()

def compare(path, dump):
    import json, struct
    whole = np.memmap(dump, np.uint8, "r")
    n = struct.unpack("<Q", whole[:8].tobytes())[0]
    header, values, wrong = json.loads(whole[8:8 + n].tobytes()), 0, 0
    for t in gguf.GGUFReader(path).tensors:
        want = np.ascontiguousarray(gguf.dequantize(t.data, t.tensor_type).astype(np.float32))
        h = header[t.name]
        got = whole[8 + n:][slice(*h["data_offsets"])].view(np.uint8).tobytes()
        assert h["shape"] == [int(d) for d in t.shape[::-1]], t.name
        differ = int((want.view(np.uint32).ravel() != np.frombuffer(got, np.uint32)).sum())
        values, wrong = values + want.size, wrong + differ
        if differ:
            print(f"# {t.name}: {differ} of {want.size} values differ")
    print(f"# {len(gguf.GGUFReader(path).tensors)} tensors, {values} values, {wrong} differ")
    sys.exit(wrong != 0)

write(sys.argv[1]) if len(sys.argv) == 2 else compare(*sys.argv[1:])
EOS
if ! "$PYTHON" -c 'import numpy, gguf' 2>/dev/null; then
  skip "values against the package gguf" "$PYTHON has no gguf and numpy: pip install gguf"
else
  ok "the package writes every type" "$PYTHON" "$W/package.py" "$W/types.gguf"
  ok "dump" eval '"$DUMP" "$W/types.gguf" "$W/types.st" >/dev/null'
  while read -r format; do
    like=$(grep -o ggml <<<"$format")
    sq quantize --as gguf --format $format -o as.gguf
    sq quantize --format $format -o as.st
    ok "--as gguf --format $format: the package decodes the same values${like:+ and encodes the same bytes}" "$PYTHON" "$ROOT/tests/llm/gguf_as.py" "$ROOT/traces/tiny-llama" "$W/as.gguf" "$W/as.st" $like
  done <<'END'
mxfp4 --operand weights --like ggml
mxfp4 --operand weights
nvfp4 --act-scale static
nvfp4 --operand weights --like te
nvfp4 --operand weights --like ggml
dense --weight-bits 8 --group 32 --operand weights --algorithm rtn --like ggml
END
  ok "every value, bit by bit" "$PYTHON" "$W/package.py" "$W/types.gguf" "$W/types.st"
  for real in $GGUF_MODEL; do
    ok "dump of $real" eval '"$DUMP" "$real" "$W/real.st"'
    ok "every value of $real" "$PYTHON" "$W/package.py" "$real" "$W/real.st"
    rm -f "$W/real.st"
  done
fi
finish
