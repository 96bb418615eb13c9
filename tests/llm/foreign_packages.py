# SPDX-License-Identifier: Apache-2.0
# foreign_packages.py MODEL_DIR OUT: the model quantized by the Python package compressed-tensors, a directory OUT/NAME/q for each of its
# schemes, and in OUT/NAME/f the weights as its own decoder gives them, in F32. Prints the names.
# foreign_packages.py decode DIR OUT: the weights of DIR, which sqsim wrote, as the package gives them.
import json, os, sys
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.compressors.format import infer_module_format
from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
from compressed_tensors.quantization import QuantizationConfig, preset_name_to_scheme
from compressed_tensors.quantization.lifecycle.forward import dequantize
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from safetensors.torch import load_file, save_file

SCHEMES = ["NVFP4A16", "NVFP4", "MXFP4A16", "MXFP4", "MXFP8", "FP8", "FP8_DYNAMIC", "FP8_BLOCK", "W4A16", "W4A16_ASYM", "W8A8"]

def ranges(w, a):
    """smallest and largest weight of what shares a scale"""
    n, k = w.shape
    if a.strategy in ("group", "tensor_group"):
        v = w.reshape(n, k // a.group_size, a.group_size)
        return v.amin(-1), v.amax(-1)
    if a.strategy == "block":
        r, c = a.block_structure
        v = torch.nn.functional.pad(w, (0, -k % c, 0, -n % r))
        v = v.reshape(v.shape[0] // r, r, v.shape[1] // c, c)
        return v.amin((1, 3)), v.amax((1, 3))
    return (w.amin(1, keepdim=True), w.amax(1, keepdim=True)) if a.strategy == "channel" else (w.min().reshape(1), w.max().reshape(1))

def quantized(w, scheme):
    a = scheme.weights
    state = {"weight": w}
    g = generate_gparam(w.min(), w.max()).reshape(1) if a.strategy == "tensor_group" else None
    scale, zero = calculate_qparams(*ranges(w, a), a, global_scale=g)
    state["weight_scale"] = scale.float()
    if g is not None:
        state["weight_global_scale"] = g
    if not a.symmetric:
        state["weight_zero_point"] = zero
    form = BaseCompressor.get_value_from_registry(infer_module_format(torch.nn.Linear, scheme).value)
    packed = form.compress(state, scheme)
    if "weight_packed" in packed and packed["weight_packed"].dtype is torch.uint8:  # its decoder, in binary32
        codes = unpack_fp4_from_uint8(packed["weight_packed"], *w.shape, dtype=torch.float32)
        values = dequantize(x_q=codes, scale=form._decompress_scale(packed["weight_scale"], torch.float32), args=a, global_scale=g, dtype=torch.float32)
    else:
        values = form.decompress(packed, scheme)["weight"]
    if scheme.input_activations is not None and a.strategy == "tensor_group":
        packed["input_global_scale"] = torch.tensor([2688 / 8.0])
    return infer_module_format(torch.nn.Linear, scheme).value, packed, values.float()

def main(model, out):
    weights = {k: v.float() for k, v in load_file(f"{model}/model.safetensors").items()}
    config = json.load(open(f"{model}/config.json"))
    for name in SCHEMES:
        scheme = preset_name_to_scheme(name, ["Linear"])
        q, f = {}, {}
        for key, w in weights.items():
            if "_proj.weight" not in key:
                q[key] = f[key] = w
                continue
            form, packed, f[key] = quantized(w, scheme)
            q.update({key[:-6] + part: t.contiguous() for part, t in packed.items()})
        group = {"targets": ["Linear"], "weights": scheme.weights.model_dump(mode="json"),
                 "input_activations": scheme.input_activations and scheme.input_activations.model_dump(mode="json")}
        said = {"quant_method": "compressed-tensors", "format": form, "ignore": ["lm_head"], "config_groups": {"group_0": group}}
        for folder, tensors, more in ("q", q, {"quantization_config": said}), ("f", f, {}):
            os.makedirs(f"{out}/{name}/{folder}")
            save_file({k: v.clone() for k, v in tensors.items()}, f"{out}/{name}/{folder}/model.safetensors")
            json.dump({**config, **more}, open(f"{out}/{name}/{folder}/config.json", "w"))
        print(name)

def decode(directory, out):
    """what the package makes of a directory that sqsim wrote: its config read by the package, each layer by its decoder"""
    config = json.load(open(f"{directory}/config.json"))
    said = QuantizationConfig.model_validate(config.pop("quantization_config"))
    scheme = said.config_groups["group_0"]
    tensors, f, layers = load_file(f"{directory}/model.safetensors"), {}, {}
    for key, t in tensors.items():
        layer, _, part = key.rpartition(".")
        if "_proj" in key:
            layers.setdefault(layer, {})[part] = t
        else:
            f[key] = t
    form = BaseCompressor.get_value_from_registry(infer_module_format(torch.nn.Linear, scheme).value)
    for layer, state in layers.items():
        if said.format in ("nvfp4-pack-quantized", "mxfp4-pack-quantized"):
            n, k = state["weight_packed"].shape
            codes = unpack_fp4_from_uint8(state["weight_packed"], n, 2 * k, dtype=torch.float32)
            f[layer + ".weight"] = dequantize(x_q=codes, scale=form._decompress_scale(state["weight_scale"], torch.float32), args=scheme.weights,
                                              global_scale=state.get("weight_global_scale"), dtype=torch.float32)
        else:
            f[layer + ".weight"] = form.decompress(state, scheme)["weight"].float()
    os.makedirs(out)
    save_file({k: v.clone().contiguous() for k, v in f.items()}, f"{out}/model.safetensors")
    json.dump(config, open(f"{out}/config.json", "w"))

if __name__ == "__main__":
    decode(*sys.argv[2:]) if sys.argv[1] == "decode" else main(*sys.argv[1:])
