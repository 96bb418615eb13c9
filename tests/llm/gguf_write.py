# SPDX-License-Identifier: Apache-2.0
# gguf_write.py MODEL_DIR OUT.gguf [KEY=TEXT ...]: a Hugging Face directory of the Llama type as
# GGUF version 3, in the dtypes it has, rows of q and k in pairs as llama.cpp's converter writes them.
# Standard library only; KEY=TEXT replaces or adds metadata.
import json, os, struct, sys

string = lambda text: struct.pack("<Q", len(text.encode("utf-8", "surrogateescape"))) + \
    text.encode("utf-8", "surrogateescape")
WHOLE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
BLOCK = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate",
         "post_attention_layernorm": "ffn_norm", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8, "Q2_K": 10, "Q3_K": 11, "Q4_K": 12, "Q5_K": 13, "Q6_K": 14, "BF16": 30, "MXFP4": 39, "NVFP4": 40}

def value(v):
    if isinstance(v, str):
        return struct.pack("<I", 8) + string(v)
    if isinstance(v, bool):
        return struct.pack("<I?", 7, v)
    if isinstance(v, float):
        return struct.pack("<If", 6, v)
    if isinstance(v, int):
        return struct.pack("<II", 4, v)
    head, body = value(v[0])[:4], b"".join(value(e)[4:] for e in v)
    return struct.pack("<I", 9) + head + struct.pack("<Q", len(v)) + body

def container(values, tensors):
    """values: {key: value}; tensors: [(name, shape, type number, bytes)]"""
    out, at = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(values))], 0
    out += [string(k) + value(v) for k, v in values.items()]
    for name, shape, kind, data in tensors:
        out.append(string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], kind, at))
        at += (len(data) + 31) // 32 * 32
    head = b"".join(out)
    pad = lambda data: data + bytes(-len(data) % 32)
    return pad(head) + b"".join(pad(t[3]) for t in tensors)

def paired(data, rows, heads):
    row, half = len(data) // rows, rows // heads // 2
    order = [h * 2 * half + j * half + i for h in range(heads) for i in range(half) for j in (0, 1)]
    return b"".join(data[r * row:(r + 1) * row] for r in order)

def main(directory, out, *more):
    c = json.load(open(os.path.join(directory, "config.json")))
    whole = open(os.path.join(directory, "model.safetensors"), "rb").read()
    n = struct.unpack("<Q", whole[:8])[0]
    tensors = []
    for name, t in json.loads(whole[8:8 + n]).items():
        if name == "__metadata__":
            continue
        data = whole[8 + n:][slice(*t["data_offsets"])]
        part, kind = name.rsplit(".", 1)
        if part.startswith("model.layers."):
            block, part = part[len("model.layers."):].split(".", 1)
            if BLOCK[part] in ("attn_q", "attn_k") and kind != "scale":
                heads = c["num_attention_heads" if BLOCK[part] == "attn_q" else "num_key_value_heads"]
                data = paired(data, t["shape"][0], heads)
            part = f"blk.{block}.{BLOCK[part]}"
        else:
            part = WHOLE[part]
        tensors.append((f"{part}.{kind}", t["shape"], TYPES[t["dtype"]], data))
    values = {
        "general.architecture": "llama", "llama.block_count": c["num_hidden_layers"],
        "llama.context_length": c["max_position_embeddings"], "llama.embedding_length": c["hidden_size"],
        "llama.feed_forward_length": c["intermediate_size"],
        "llama.attention.head_count": c["num_attention_heads"],
        "llama.attention.head_count_kv": c["num_key_value_heads"],
        "llama.attention.layer_norm_rms_epsilon": float(c["rms_norm_eps"]),
        "llama.rope.freq_base": float(c["rope_theta"]), "general.languages": ["en", "de"]}
    values.update(kv.split("=", 1) for kv in more)
    open(out, "wb").write(container(values, tensors))

if __name__ == "__main__":
    main(*sys.argv[1:])
