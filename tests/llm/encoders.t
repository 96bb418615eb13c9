#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --like: codes, scales and what is above them of 300 random tensors, a third of them with ties, zeros or ranges beyond
# E4M3, equal a second writing of each encoder in plain Python (encoders.py); SPEC's own differ, so that the judge
# sees the difference; FP4 that an RTX 5080 wrote has the published hashes; refusals.
. "$(dirname "$0")/../cli/lib.sh"
JUDGE="python3 $ROOT/tests/llm/encoders.py"
$JUDGE make "$W/t.st" "${SEED:-1}" || { echo "Bail out! encoders.py"; exit 1; }

differ() { # ENCODER FORMAT: how many of the tensors in o.st
  $JUDGE judge "$1" "$2" "$W/t.st" "$W/o.st" >"$W.judge"
  tail -1 "$W.judge" | sed 's/ .*//'
}
while read -r like format; do
  sq quantize t.st --format "$format" --like "$like" -o o.st
  n=$(differ "$like" "$format")
  ok "$format like $like: 0 of 300 tensors differ" [ "$RC$n" = 00 ]
  [ "$n" = 0 ] || sed 's/^/# /' "$W.judge"
  [ "$like" = te ] || [ "$like" = quark ] || continue
  sq quantize t.st --format "$format" -o o.st
  n=$(differ "$like" "$format")
  ok "... of SPEC's own $n" [ "${n:-0}" -gt 0 ]
done <<'END'
te nvfp4
te nvfp4_46
ct nvfp4
ct-bf16 nvfp4
modelopt nvfp4
ggml nvfp4
ct mxfp4
quark mxfp4
ggml mxfp4
END

$JUDGE hashes make "$W/h.st"
for like in te spec; do
  sq quantize h.st --format nvfp4 --like $like -o o.st
  $JUDGE hashes judge "$W/o.st" >"$W.judge"
  ok "$like: the hashes of codes and scales that an RTX 5080 wrote" [ $? = 0 ]
done

says "eval takes it: ... and says so" '"like":"te"' eval --format nvfp4 --like te --sequences 2 --summary --json
refuse "like = quark: it has no such blocks, need te, ct, ct-bf16, modelopt or ggml" quantize --format nvfp4 --like quark
refuse "like = te: it has no such blocks, need ct, ct-bf16, quark or ggml" quantize --format mxfp4 --like te
refuse "like = ct: it has no such blocks, need te" quantize --format nvfp4_46 --like ct
refuse "need nvfp4, nvfp4_46 or mxfp4" quantize --format if4 --like te
refuse "like = te: it decides how weights are encoded, need no --algorithm gptq" quantize --format nvfp4 --like te --algorithm gptq
refuse "need no --scale-by" quantize --format nvfp4 --like te --scale-by error
refuse "need no --rule" quantize --format mxfp4 --like ct --rule ceil
refuse "need no --operand act" eval --format nvfp4 --like te --operand act
refuse "like: vectors are those of SPEC" quantize --vectors --format nvfp4 --like te
refuse "like = torch" quantize --format nvfp4 --like torch
finish
