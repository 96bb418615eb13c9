# SPDX-License-Identifier: Apache-2.0
"""Encoded weights back in a Hugging Face directory, for tools that know only that (lm-eval, vLLM)."""
import json
import os
import shutil

import numpy

from . import _library as _lib

_DTYPES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}


def _convert(w, dtype):
    """float32 to the bytes of a dtype, rounded to nearest even."""
    if dtype == "F32":
        return w.astype("<f4")
    if dtype == "F16":
        half = w.astype("<f2")
        if not numpy.isfinite(half).all():
            raise ValueError("a weight does not fit float16; float32 and bfloat16 hold it")
        return half
    bits = w.astype("<f4").view("<u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


def _read_header(path):
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    return header, 8 + length


def _export_file(source, target, weights, dtype):
    """One shard; returns the layers replaced and the bytes of its data."""
    header, start = _read_header(source)
    # The digest of a file of ours is of its bytes, which change.
    metadata = {k: v for k, v in header.pop("__metadata__", {}).items() if k != "sq_digest"}
    new, at, replaced = {"__metadata__": {**metadata, "format": "pt"}}, 0, set()
    width = 4 if dtype == "F32" else 2
    order = sorted(header, key=lambda name: header[name]["data_offsets"][0])
    for name in order:
        layer, old = name.removesuffix(".weight"), header[name]
        nbytes, entry = old["data_offsets"][1] - old["data_offsets"][0], dict(old)
        if name.endswith(".weight") and layer in weights:
            nbytes = width * int(numpy.prod(old["shape"]))
            entry["dtype"] = dtype
            replaced.add(layer)
        entry["data_offsets"] = [at, at + nbytes]
        new[name], at = entry, at + nbytes
    text = json.dumps(new, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    data = numpy.memmap(source, dtype=numpy.uint8, mode="r")
    with open(target, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            layer, (first, end) = name.removesuffix(".weight"), header[name]["data_offsets"]
            if layer not in replaced:
                file.write(data[start + first:start + end].tobytes())
                continue
            w = weights[layer].decode()
            if list(w.shape) != header[name]["shape"]:
                raise ValueError(f"{layer} is {list(w.shape)} in the file, {header[name]['shape']} in the model")
            file.write(_convert(w, dtype).tobytes())
    return replaced, at


def export_huggingface(model, weights, target, dtype="float32"):
    """A copy of the directory `model` in `target`, with the weights of a .sq.safetensors file (or a
    WeightFile) decoded in their places. float32 holds what the codes stand for; float16 and bfloat16
    round it. Activations are not quantized there, and spqt's thresholds are in no weight. `target`
    must not exist; it appears complete or not at all."""
    from . import WeightFile

    model, target = os.fsdecode(_lib.path(model, "model")), os.fsdecode(_lib.path(target, "target"))
    if dtype not in _DTYPES:
        raise ValueError(f"dtype = {dtype}, need {', '.join(_DTYPES)}")
    if os.path.exists(target):
        raise FileExistsError(f"{target} exists")
    if not isinstance(weights, WeightFile):
        weights = WeightFile(weights)
    work = f"{target.rstrip('/')}.new-{os.getpid()}"
    os.makedirs(work)
    try:
        replaced, total = set(), 0
        for name in sorted(os.listdir(model)):
            source, to = os.path.join(model, name), os.path.join(work, name)
            if name.endswith(".safetensors") and name.startswith("model"):
                here, nbytes = _export_file(source, to, weights, _DTYPES[dtype])
                replaced |= here
                total += nbytes
            elif os.path.isfile(source):
                shutil.copyfile(source, to)
        lost = sorted(set(weights) - replaced)
        if lost:
            raise ValueError(f"the model has no {lost[0]}.weight")
        _edit(os.path.join(work, "config.json"), lambda c: c.update(torch_dtype=dtype))
        index = os.path.join(work, "model.safetensors.index.json")
        if os.path.exists(index):
            _edit(index, lambda i: i.setdefault("metadata", {}).update(total_size=total))
        os.rename(work, target)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


def _edit(path, change):
    with open(path, encoding="utf-8") as file:
        value = json.load(file)
    change(value)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=2)
