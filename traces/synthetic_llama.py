#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model of the shape of Llama-3.2-1B with synthetic weights, to time `sqsim eval` on its size.

    python3 traces/synthetic_llama.py build/llama-1b
    build/sqsim eval build/llama-1b --format nvfp4 --algorithm rtn --summary

Its losses mean nothing: weights are drawn from N(0, 0.02), of a pool of 2^20 numbers that every row
begins at another place of, norms are 1, tokens are drawn evenly. Both files say "synthetic".
"""
import json
import os
import random
import struct
import sys

POOL = 1 << 20
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048,
    "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 128256,
    "max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
    "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
                     "high_freq_factor": 4.0, "original_max_position_embeddings": 8192},
    "tie_word_embeddings": True, "torch_dtype": "bfloat16"}


def shapes():
    h, ffn = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    kv = CONFIG["num_key_value_heads"] * CONFIG["head_dim"]
    yield "model.embed_tokens.weight", (CONFIG["vocab_size"], h)
    yield "model.norm.weight", (h,)
    for i in range(CONFIG["num_hidden_layers"]):
        for name, shape in (
                ("input_layernorm", (h,)), ("post_attention_layernorm", (h,)),
                ("self_attn.q_proj", (h, h)), ("self_attn.k_proj", (kv, h)),
                ("self_attn.v_proj", (kv, h)), ("self_attn.o_proj", (h, h)),
                ("mlp.gate_proj", (ffn, h)), ("mlp.up_proj", (ffn, h)),
                ("mlp.down_proj", (h, ffn))):
            yield f"model.layers.{i}.{name}.weight", shape


def header(tensors):
    entries, at = {"__metadata__": {"source": "synthetic"}}, 0
    for name, dtype, shape, nbytes in tensors:
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + nbytes]}
        at += nbytes
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def bfloat16(values):
    return b"".join(struct.pack("<f", v)[2:] for v in values)


def write_weights(path, rng):
    pool = bfloat16(rng.gauss(0, 0.02) for _ in range(POOL)) * 2
    tensors = [(n, "BF16", s, 2 * s[0] * (s[1] if len(s) > 1 else 1)) for n, s in shapes()]
    with open(path, "wb") as f:
        f.write(header(tensors))
        for _, _, shape, nbytes in tensors:
            if len(shape) == 1:
                f.write(bfloat16([1.0]) * shape[0])
                continue
            row = nbytes // shape[0]
            for _ in range(shape[0]):
                first = 2 * rng.randrange(POOL)
                f.write(pool[first:first + row])


def write_tokens(path, rng, sequences, length):
    ids = [rng.randrange(CONFIG["vocab_size"]) for _ in range(sequences * length)]
    offsets = [i * length for i in range(sequences + 1)]
    with open(path, "wb") as f:
        f.write(header([("offsets", "I64", (len(offsets),), 8 * len(offsets)),
                        ("ids", "I32", (len(ids),), 4 * len(ids))]))
        f.write(struct.pack(f"<{len(offsets)}q{len(ids)}i", *offsets, *ids))


def main():
    if len(sys.argv) != 2:
        sys.exit("need a directory to write into")
    folder, rng = sys.argv[1], random.Random(1)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(CONFIG, f, indent=1)
    write_weights(os.path.join(folder, "model.safetensors"), rng)
    write_tokens(os.path.join(folder, "tokens_eval.safetensors"), rng, 8, 512)


if __name__ == "__main__":
    main()
