#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A second account of a real model: five formats of weights on SmolLM2 by numpy (smollm2.py), losses
# within 0.001; the loss of its own weights by transformers (smollm2_transformers.py), within 0.0001. SMOLLM2 names the GGUF file (build/smollm2/model.gguf, of `make smollm2`), PYTHON a
# python3 with numpy and gguf, for the latter with transformers 4 and flax as well.
. tests/cli/lib.sh
SMOLLM2=${SMOLLM2:-$(dirname "$SQSIM")/smollm2/model.gguf}
PYTHON=${PYTHON:-python3}
if [ ! -f "$SMOLLM2" ]; then
  skip "losses equal to numpy's" "no $SMOLLM2: make smollm2 fetches it"
  finish
fi
# The states of the model as it is, kept by the first run, are those that the second computes anew.
kept() { sq eval "$(realpath "$SMOLLM2")" --sequences 2 --format dense --algorithm rtn --summary --json --progress "$@"; }
kept
cp "$W.out" "$W/first"
kept
ok "a kept reference: the same to the last digit" cmp -s "$W.out" "$W/first"
ok "and no pass for it" [ "$RC" = 0 -a "$(grep -c 'the model as it is' "$W.err")" = 0 ]
kept --no-cache
ok "--no-cache: the same" cmp -s "$W.out" "$W/first"
ok "by a pass" [ "$(grep -c 'the model as it is' "$W.err")" = 30 ]
if ! "$PYTHON" -c 'import numpy, gguf' 2>/dev/null; then
  skip "losses equal to numpy's" "$PYTHON has not both numpy and gguf"
  finish
fi
# The first 96 tokens, as a file of their own.
"$PYTHON" - "$W/t.safetensors" <<'E'
import json, struct, sys
with open('traces/smollm2/tokens_eval.safetensors', 'rb') as f:
    head = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
    body = f.read()
at = head['ids']['data_offsets'][0]
data = struct.pack('<2q', 0, 96) + body[at:at + 4 * 96]
head = json.dumps({'offsets': {'dtype': 'I64', 'shape': [2], 'data_offsets': [0, 16]},
                   'ids': {'dtype': 'I32', 'shape': [96], 'data_offsets': [16, 400]}}).encode()
head += b' ' * (-len(head) % 8)
open(sys.argv[1], 'wb').write(struct.pack('<Q', len(head)) + head + data)
E
"$PYTHON" tests/llm/smollm2.py "$SMOLLM2" "$W/t.safetensors" >"$W/numpy" || { echo "Bail out! smollm2.py"; exit 1; }
compare() { # NAME OPTIONS...
  local name=$1 want; shift
  want=$(awk -v n="$name" '$1 == n {print $2}' "$W/numpy")
  sq eval "$SMOLLM2" --tokens t.safetensors --summary --json "$@"
  echo "# $name: $(number loss), numpy $want"
  ok "$name: the loss of numpy" awk -v a="$(number loss)" -v b="$want" \
    'BEGIN{d = a - b; exit !(a > 0 && b > 0 && d < 1e-3 && d > -1e-3)}'
}
RTN="--operand weights --algorithm rtn"
compare reference --format dense --weight-bits 16 --act-bits 16
compare int6 --format dense --weight-bits 6 $RTN
compare int4 --format dense --weight-bits 4 $RTN
compare sq --format sq_w $RTN
compare nvfp4 --format nvfp4 $RTN
compare split --format sq_b --codes split --bank 16 --high-per-bank 2 $RTN
# Text: each token is the one that numpy takes for the most likely behind those before.
sq generate "$SMOLLM2" --prompt The --tokens 64 --format dense --weight-bits 16 --act-bits 16 --algorithm rtn --json
first=$("$PYTHON" -c 'import sys, gguf; f = gguf.GGUFReader(sys.argv[1]).fields["tokenizer.ggml.tokens"]
print([bytes(f.parts[i]) for i in f.data].index(b"The"))' "$SMOLLM2")
"$PYTHON" tests/llm/numpy_llama.py "$SMOLLM2" "$first" $(sed -n 's/.*"id":\([0-9]*\),.*/\1/p' "$W.out") >"$W/numpy"
ok "64 tokens of numpy" [ "$(awk '$1 == $2' "$W/numpy" | wc -l)" = 64 ]
if "$PYTHON" -c 'import transformers.models.llama.modeling_flax_llama' 2>/dev/null; then
  want=$("$PYTHON" tests/llm/smollm2_transformers.py "$SMOLLM2" "$W/t.safetensors" 2>/dev/null)
  sq eval "$SMOLLM2" --tokens t.safetensors --format dense --weight-bits 16 --act-bits 16 --summary --json
  echo "# $(number loss), transformers $want"
  ok "the loss of transformers" awk -v a="$(number loss)" -v b="$want" \
    'BEGIN{d = a - b; exit !(a > 0 && b > 0 && d < 1e-4 && d > -1e-4)}'
else
  skip "the loss of transformers" "$PYTHON has not both transformers 4 and flax"
fi
finish
