#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --text: windows, strides and BOS printed with every perplexity, the same figures as from a token
# file of the same ids; and ids against the Python package tokenizers on English text and on every
# character of Unicode, where PYTHON (python3) has it.
. "$(dirname "$0")/../cli/lib.sh"
DUMP=${DUMP:-$(dirname "$SQSIM")/tests/llm/token_dump}
PYTHON=${PYTHON:-python3}
MODEL=$SQSIM_HOME/traces/tiny-llama
EVAL="--format dense --weight-bits 16 --act-bits 16 --summary"

# A tokenizer for the embedded model, whose tokens are bytes: the byte-level alphabet and no merges.
mkdir "$W/m" && cp "$MODEL"/* "$W/m"
python3 - "$W/m/tokenizer.json" <<'EOS'
import json, sys
keep = [*range(33, 127), *range(0xa1, 0xad), *range(0xae, 0x100)]
letter = {b: chr(b) for b in keep}
letter.update({b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in keep)})
json.dump({"added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
           "model": {"type": "BPE", "vocab": {letter[b]: b for b in range(256)}, "merges": []}}, open(sys.argv[1], "w"))
EOS
printf 'Once upon a time, there was a little girl named Lily. She loved to play outside in the park with her dog, and one day they found a big red ball under the old tree.\n' >"$W/story"
[ "$(wc -c <"$W/story")" -ge 128 ] || { echo "Bail out! story"; exit 1; }
# The same ids as a token file: sequences of 64.
python3 - "$W/story" "$W/ids" <<'EOS'
import json, struct, sys
text = open(sys.argv[1], "rb").read()[:128]
head = json.dumps({"offsets": {"dtype": "I64", "shape": [3], "data_offsets": [0, 24]},
                   "ids": {"dtype": "I32", "shape": [128], "data_offsets": [24, 24 + 512]}}).encode()
open(sys.argv[2], "wb").write(struct.pack("<Q", len(head)) + head + struct.pack("<3q", 0, 64, 128) +
                              struct.pack("<128i", *text))
EOS
says "a text: windows, stride and BOS beside the perplexity" 'perplexity .*, 126 tokens, 2 windows of 64 tokens, stride 64, BOS none' eval m --text story --window 64 $EVAL
loss=$(grep -o 'loss [0-9.]*' "$W.out")
says "its ids as a token file: the same loss ($loss)" "^$loss " eval m --tokens ids $EVAL
ok "whose sequences are said" out_has '2 sequences of a token file'
accept "overlap" eval m --text story --window 64 --stride 32 $EVAL --json
ok "predicts what is new" [ "$(number window),$(number stride),$(number bos),$(number sequences),$(number tokens)" = '64,32,"none",4,159' ]
says "BOS before every window: is part of it" ', 126 tokens, 2 windows of 64 tokens, stride 63, BOS each' eval m --text story --window 64 --bos each $EVAL
says "BOS before the text: is said" 'BOS first' eval m --text story --window 64 --bos first $EVAL
says "the default window: is the text, where that is shorter" ', 1 window of [0-9]* tokens, stride 256, BOS none' eval m --text story $EVAL
accept "calibration text" eval m --format sq_a_static --tokens ids --calib-text story --window 32 --calib-sequences 2 --summary
accept "quantize by a text" quantize m --algorithm gptq --calib-text story --calib-sequences 1 --window 64
sq run m --text story --m 8
ok "run" [ "$RC" = 0 ]
sq run m --tokens ids --m 8; cp "$W.out" "$W/want"; sq run m --text story --m 8
ok "sees the same activations" cmp "$W/want" "$W.out"

refuse "need one of them" eval m --text story --tokens ids
# The embedded model says in its token files that a token is a byte: the same as by the alphabet of bytes.
says "a model whose tokens are bytes: BOS first, as its token files have it" '2 windows of 64 tokens, stride 64, BOS first' eval --text story --window 64 $EVAL
cp "$W.out" "$W/bytes"; sq eval m --text story --window 64 --bos first $EVAL
ok "the same figures" [ "$(grep perplexity "$W/bytes")" = "$(grep perplexity "$W.out")" ]
printf 'Caf\351, byte by byte: a text that is no UTF-8. %.0s' 1 2 3 >"$W/latin1"
accept "bytes are never broken" eval --text latin1 $EVAL
mkdir "$W/silent" && cp "$MODEL"/* "$W/silent" && cp "$W/ids" "$W/silent/tokens_eval.safetensors"
refuse "tokenizer.json'" eval silent --text story
refuse "window = 1, need 2" eval m --text story --window 1
refuse "window = 257, need 2..256" eval m --text story --window 257
refuse "stride = 65, need 1..64" eval m --text story --window 64 --stride 65
refuse "cut a text" eval m --tokens ids --window 64
refuse "bos" eval m --text story --bos all
sq eval m --calib-text story $EVAL
ok "a text that nothing needs" [ $RC = 0 ]
ok "is said not to be used" grep -q "note: calibration tokens are not used" "$W.err"
sq quantize m --algorithm rtn --calib-text story -o unused.safetensors
ok "the same when quantizing" [ $RC = 0 ]
ok "is said as well" grep -q "note: calibration tokens are not used" "$W.err"
printf 'ab\377' >"$W/latin"
refuse "no UTF-8 at byte 2" eval m --text latin
printf 'a' >"$W/short"
refuse "1 tokens, need 2" eval m --text short
refuse "short-of-it" eval m --text short-of-it
rm "$W/m/tokenizer.json" && touch "$W/m/tokenizer.model"
refuse "SentencePiece tokenizer.model" eval m --text story

# ---- the package tokenizers -----------------------------------------------------------------------
cat >"$W/package.py" <<'EOS'
# Trains a vocabulary under each pre-tokenizer, and compares the ids of every text.
import os, subprocess, sys, unicodedata
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

DUMP, W, ENGLISH = sys.argv[1:]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
level = lambda regex: pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=regex)
split = lambda regex: pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(regex), "isolated"), level(False)])
KINDS = {"gpt-2": level(True), "llama-bpe": split(LLAMA3), "qwen2": split(LLAMA3.replace("{1,3}", "")),
         "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(True), level(True)])}
# Characters that Unicode 3.2 had: packages differ in what newer ones are.
old = [chr(c) for c in range(1, 0x30000) if unicodedata.ucd_3_2_0.category(chr(c)) not in ("Cn", "Cs")]
english = open(ENGLISH, newline="").read()
while len(english) < 1 << 20:
    english += english
texts = {"English": english[:1300000], "Unicode": "".join(old), "Unicode, spaced": " ".join(old),
         "Unicode, between letters and digits": "".join(f"a{c}b {c}1{c}\n" for c in old[::3]),
         "torture": " " * 3000 + "x" * 5000 + "\n" * 3000 + "1234567 it's IT'S we'LL <|im_start|><|im_<|endoftext|>caf\u00e9 cafe\u0301 " * 50}
wrong = 0
for kind, steps in KINDS.items():
    t = Tokenizer(models.BPE(ignore_merges=kind == "llama-bpe"))
    t.pre_tokenizer = steps
    if kind == "qwen2":
        t.normalizer = normalizers.NFC()
    t.train_from_iterator([english[:300000]], trainers.BpeTrainer(vocab_size=2000, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|endoftext|>", "<|im_start|>"]))
    t.add_tokens([AddedToken("caf\u00e9", normalized=True), AddedToken("<|im_", normalized=False)])
    path = os.path.join(W, kind + ".json")
    t.save(path)
    for name, text in texts.items():
        with open(os.path.join(W, "text"), "w", newline="") as f:
            f.write(text)
        out = subprocess.run([DUMP, path, os.path.join(W, "text")], stdout=subprocess.PIPE, check=True).stdout
        got, want = [int(x) for x in out.split()], t.encode(text).ids
        if got != want:
            wrong += 1
            i = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
            print(f"# {kind}, {name}: token {i} differs, {got[i:i + 4]}, want {want[i:i + 4]}")
        else:
            print(f"# {kind}, {name}: {len(text.encode())} bytes, {len(want)} ids equal")
sys.exit(wrong != 0)
EOS
english=$DATA/text/wikitext2_raw_test.txt
[ -r "$english" ] || { english=$W/english; cat "$ROOT"/docs/*.md "$ROOT"/docs/spec/*.md "$ROOT"/README.md >"$english"; }
if "$PYTHON" -c 'import tokenizers' 2>/dev/null; then
  ok "ids of the package tokenizers" "$PYTHON" "$W/package.py" "$DUMP" "$W" "$english"
else
  skip "ids of the package tokenizers" "$PYTHON has no tokenizers: pip install tokenizers"
fi
finish
