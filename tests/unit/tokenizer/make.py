# SPDX-License-Identifier: Apache-2.0
# Writes model.json and vectors.json beside this file: a small byte-level BPE trained on the text
# below, and what the Python package tokenizers (0.23) makes of texts under the pre-tokenizers of
# GPT-2, Llama 3, Qwen 2 and SmolLM. tests/unit/llm/test_tokenizer.c asks for the same ids.
import json, os
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
bytes_of = lambda regex: pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=regex)
split = lambda regex: pre_tokenizers.Sequence(
    [pre_tokenizers.Split(Regex(regex), "isolated"), bytes_of(False)])
KINDS = {"gpt-2": bytes_of(True), "llama-bpe": split(LLAMA3), "qwen2": split(LLAMA3.replace("{1,3}", "")),
         "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(True), bytes_of(True)])}
TEXTS = [
    "", " ", "the", "The model's weights aren't what THEY'LL say they're: it's 1234567 of 89.",
    "a  b   c\n\n  d\t\te \r\n\r\nf\n", "x" * 70 + " " * 40 + "\n" * 9 + "!" * 30 + "12" * 20,
    "na\u00efve cafe\u0301 \u00e9t\u00e9 \u1e69 s\u0323\u0307 \u212b A\u030a \u0958 \ud55c\uae00 \u1112\u1161\u11ab",
    "\u4f60\u597d\uff0c\u4e16\u754c \u0645\u0631\u062d\u0628\u0627 \U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea",
    "\u180ea\u180e b\u00a0c\u2003d\u3000e\u0085f\u2028g\u200bh\x1ci\x00j\x7f", "IT'S it\u017f '\u017f 'S '\u212a \u2019s",
    "\u00bd \u00b2 \u2167 \u0663\u0664 \u1369 123\u0664", "<|end|><|endo|>x <|end|> caf\u00e9 cafe\u0301<|END|><|en",
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
]
TEXTS.append("".join(chr(c) for c in range(1, 0x250)))
text = open(os.path.join(HERE, "..", "..", "..", "docs", "glossary.md")).read()


base = Tokenizer(models.BPE())
base.pre_tokenizer = KINDS["gpt-2"]
base.train_from_iterator([text], trainers.BpeTrainer(vocab_size=420, show_progress=False,
                         initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
model = json.loads(base.to_str())["model"]
n = len(model["vocab"])
out = []
for kind, steps in KINDS.items():
    model["ignore_merges"] = kind == "llama-bpe"
    t = Tokenizer.from_str(json.dumps({**json.loads(base.to_str()), "model": model}))
    t.pre_tokenizer = steps
    if kind == "qwen2":
        t.normalizer = normalizers.NFC()
    t.add_special_tokens([AddedToken(x, normalized=False) for x in ("<|end|>", "<|endo|>")])
    t.add_tokens([AddedToken("caf\u00e9", normalized=True)])
    whole = json.loads(t.to_str())
    out.append({"name": kind, **{k: whole[k] for k in ("added_tokens", "normalizer", "pre_tokenizer")},
                "ignore_merges": model["ignore_merges"],
                "ids": [t.encode(x).ids for x in TEXTS]})
# A line each, so that a change can be read.
json.dump({"vocab": model["vocab"], "merges": model["merges"]}, open(HERE + "/model.json", "w"))
with open(HERE + "/vectors.json", "w") as f:
    f.write('{"texts":' + json.dumps(TEXTS) + ',\n"kinds":[\n')
    f.write(",\n".join(json.dumps(k, separators=(",", ":")) for k in out) + "]}\n")
