# SPDX-License-Identifier: Apache-2.0
# gguf_as.py MODEL_DIR FILE.gguf OURS.safetensors: what `quantize --as gguf` wrote of a model of the Llama type, by the
# package gguf: the values of every layer are those of our own file of the same codes, bit by bit; with a fourth
# argument, of files by --like ggml, the bytes of every layer are also those of the package's own encoder.
import json, struct, sys
import numpy as np, gguf
from gguf import GGMLQuantizationType as T

def load(path):
    data = open(path, "rb").read()
    n, = struct.unpack("<Q", data[:8])
    head = json.loads(data[8:8 + n])
    head.pop("__metadata__", None)
    return {k: (v["dtype"], v["shape"], data[8 + n:][slice(*v["data_offsets"])]) for k, v in head.items()}

def floats(entry):
    dtype, shape, raw = entry
    if dtype == "BF16":
        return (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
    return np.frombuffer(raw, {"F16": np.float16, "F32": np.float32}[dtype]).astype(np.float32).reshape(shape)

E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6] * 2, np.float32) * np.repeat(np.float32([1, -1]), 8)
E4M3 = np.array([m * 2.0 ** -9 if e == 0 else (8 + m) * 2.0 ** (e - 10) for e in range(16) for m in range(8)], np.float32)

def ours(file, name):
    """Values of a layer of our own file."""
    if name + ".s_lo" in file:
        scale, code = floats(file[name + ".s_lo"]), np.frombuffer(file[name + ".lo"][2], np.int8)
        return code.reshape(*scale.shape, -1).astype(np.float32) * scale[..., None]
    _, (n, nbytes), raw = file[name + ".codes"]
    packed = np.frombuffer(raw, np.uint8).reshape(n, nbytes)
    code = np.stack([packed & 15, packed >> 4], -1).reshape(n, -1)
    scale = np.frombuffer(file[name + ".scale"][2], np.uint8).reshape(n, -1)
    if name + ".global" in file:
        value = E2M1[code].reshape(*scale.shape, -1) * E4M3[scale][..., None]
        return value * floats(file[name + ".global"])
    return E2M1[code].reshape(*scale.shape, -1) * np.exp2(scale.astype(np.float32) - 127)[..., None]

NAMES = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
         "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
model, path, own, *like = sys.argv[1:]
config = json.load(open(f"{model}/config.json"))
weights, file = load(f"{model}/model.safetensors"), load(own)
tensors = {t.name: t for t in gguf.GGUFReader(path).tensors}
layers = wrong = 0
for name, t in tensors.items():
    part = name.split(".")
    if t.tensor_type not in (T.MXFP4, T.NVFP4, T.Q8_0):
        continue
    layer = f"model.layers.{part[1]}.{NAMES[part[2]]}"
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}.get(part[2])
    x, want = floats(weights[layer + ".weight"]), ours(file, layer)
    rows = np.arange(len(x))
    if heads:
        rows = rows.reshape(heads, 2, -1).swapaxes(1, 2).ravel()
    got = gguf.dequantize(t.data, t.tensor_type).astype(np.float32)
    above = tensors.get(name[:-6] + "scale")
    got = got * above.data[0] if above else got
    same = np.array_equal(got.ravel(), want.reshape(len(x), -1)[rows].ravel())
    if like and t.tensor_type is not T.NVFP4:
        same = same and np.array_equal(gguf.quantize(np.ascontiguousarray(x[rows]), t.tensor_type), t.data)
    layers, wrong = layers + 1, wrong + (not same)
print(f"{layers} layers, {wrong} differ")
sys.exit(layers == 0 or wrong != 0)
