# SPDX-License-Identifier: Apache-2.0
"""Encoded weights back in a Hugging Face directory, for tools that know only that (lm-eval, vLLM)."""
import ctypes
import fnmatch
import json
import math
import os
import shutil
import warnings

import numpy

from . import _library as _lib

_DTYPES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}
_INDEX = "model.safetensors.index.json"

# What a checkpoint has beside its weights; names as Hugging Face gives them, of licences in any case.
_KEPT = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "tokenizer.model",
         "special_tokens_map.json", "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt", "chat_template.jinja",
         "chat_template.json"]
_LICENCES = ["license*", "licence*", "copying*", "notice*", "use_policy*"]

# The same of a GGUF file; all but the config may be missing there.
_OF_GGUF = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"]


def _convert(w, dtype):
    """float32 to the bytes of a dtype, rounded to nearest even."""
    if dtype == "F32":
        return w.astype("<f4")
    if dtype == "F16":
        with numpy.errstate(over="ignore"):
            half = w.astype("<f2")
        if not numpy.isfinite(half).all():
            raise ValueError("a weight does not fit float16; float32 and bfloat16 hold it")
        return half
    bits = w.astype("<f4").view("<u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


def _check_shape(layer, w, shape):
    if list(w.shape) != list(shape):
        raise ValueError(f"{layer} is {list(w.shape)} in the file of weights, {list(shape)} in the model")
    return w


class _Writer:
    """A safetensors file of tensors that come one after the other."""

    def __init__(self, path, tensors, metadata=None):
        """tensors: [(name, dtype, shape, bytes)]"""
        header, self.nbytes = {"__metadata__": {**(metadata or {}), "format": "pt"}}, 0
        for name, dtype, shape, nbytes in tensors:
            end = self.nbytes + nbytes
            header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [self.nbytes, end]}
            self.nbytes = end
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        self.file = open(path, "wb")
        self.file.write(len(text).to_bytes(8, "little") + text)

    def __enter__(self):
        return self.file

    def __exit__(self, *_):
        self.file.close()


# ---- a directory --------------------------------------------------------------------------------


def _read_header(path):
    _lib.safetensors_check(_lib.path(path, "model"))  # what is sound is read without doubts
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return json.loads(file.read(length)), 8 + length


def _export_file(source, target, weights, dtype):
    """One shard; returns the layers replaced and the bytes of its data."""
    header, start = _read_header(source)
    # The digest of a file of ours is of its bytes, which change.
    metadata = {k: v for k, v in header.pop("__metadata__", {}).items() if k != "sq_digest"}
    order = sorted(header, key=lambda name: header[name]["data_offsets"][0])
    layers = {name: name.removesuffix(".weight") for name in order
              if name.endswith(".weight") and name.removesuffix(".weight") in weights}
    tensors = []
    for name in order:
        first, end = header[name]["data_offsets"]
        shape, kept = header[name]["shape"], (header[name]["dtype"], end - first)
        new = (dtype, (4 if dtype == "F32" else 2) * math.prod(shape))
        kind, nbytes = new if name in layers else kept
        tensors.append((name, kind, shape, nbytes))
    data = numpy.memmap(source, dtype=numpy.uint8, mode="r")
    writer = _Writer(target, tensors, metadata)
    with writer as file:
        for name in order:
            first, end = header[name]["data_offsets"]
            if name in layers:
                w = _check_shape(layers[name], weights[layers[name]].decode(), header[name]["shape"])
                file.write(_convert(w, dtype).tobytes())
            else:
                file.write(data[start + first:start + end].tobytes())
    return set(layers.values()), writer.nbytes


def _shards(model):
    index = os.path.join(model, _INDEX)
    if not os.path.exists(index):
        return ["model.safetensors"]
    with open(index, encoding="utf-8") as file:
        names = sorted(set(json.load(file)["weight_map"].values()))
    for name in names:
        if os.path.basename(name) != name or not name.endswith(".safetensors"):
            raise ValueError(f"{_INDEX} names the shard {name!r}, need a .safetensors file beside it")
    return names


def _is_kept(name):
    return name in _KEPT or any(fnmatch.fnmatchcase(name.lower(), pattern) for pattern in _LICENCES)


def _is_own(model, source):
    """Whether a file is none of a link's making: no link, or one into the store that huggingface_hub keeps its files in."""
    if not os.path.islink(source):
        return True
    snapshots = os.path.dirname(os.path.realpath(model))
    store = os.path.join(os.path.dirname(snapshots), "blobs")
    return os.path.basename(snapshots) == "snapshots" and os.path.dirname(os.path.realpath(source)) == store


def _export_directory(model, work, weights, dtype):
    replaced, total = set(), 0
    for name in _shards(model):
        here, nbytes = _export_file(os.path.join(model, name), os.path.join(work, name), weights, _DTYPES[dtype])
        replaced |= here
        total += nbytes
    for name in sorted(os.listdir(model)):
        source = os.path.join(model, name)
        if not os.path.isfile(source) or not (_is_kept(name) or name == _INDEX):
            continue
        if not _is_own(model, source):
            if name in ("config.json", _INDEX):
                raise ValueError(f"{name} is a link, need a file")
            warnings.warn(f"{name} is a link: it is not followed, and the checkpoint has none", stacklevel=4)
            continue
        shutil.copyfile(source, os.path.join(work, name))
    if os.path.exists(os.path.join(work, _INDEX)):
        _edit(os.path.join(work, _INDEX), lambda i: i.setdefault("metadata", {}).update(total_size=total))
    return replaced


# ---- a GGUF file ----------------------------------------------------------------------------------


class _Model(_lib.Owner):
    __slots__ = ()

    @classmethod
    def open(cls, path):
        return cls._own(_lib.model_open(_lib.path(path, "model")), _lib.model_close)

    def tensors(self):
        """[(name, shape)]"""
        return [(_lib.model_tensor_name(self._handle, i).decode(), _lib.shape(_lib.model_tensor_shape, self._handle, i))
                for i in range(_lib.model_n_tensors(self._handle))]

    def read(self, i, shape):
        w = numpy.empty(shape, dtype=numpy.float32)
        _lib.model_tensor_read(self._handle, i, w.ctypes.data)
        return w

    def text(self, name):
        text = ctypes.c_char_p()
        _lib.model_file(self._handle, name.encode(), ctypes.byref(text))
        return text.value.decode()


def _export_gguf(model, work, weights, dtype):
    gguf, replaced, kind = _Model.open(model), set(), _DTYPES[dtype]
    tensors = gguf.tensors()
    for name, _ in tensors:
        if not name.startswith(("model.", "lm_head.")):
            raise ValueError(f"tensor {name} of the GGUF file has no place in a Hugging Face checkpoint")
    width = 4 if kind == "F32" else 2
    with _Writer(os.path.join(work, "model.safetensors"),
                 [(name, kind, shape, width * math.prod(shape)) for name, shape in tensors]) as file:
        for i, (name, shape) in enumerate(tensors):
            layer = name.removesuffix(".weight")
            if name.endswith(".weight") and layer in weights:
                w = _check_shape(layer, weights[layer].decode(), shape)
                replaced.add(layer)
            else:
                w = gguf.read(i, shape)
            file.write(_convert(w, kind).tobytes())
    for name in _OF_GGUF:
        try:
            text = gguf.text(name)
        except _lib.Error as why:
            if name == "config.json" or why.status != 12:  # SQSIM_ERR_UNSUPPORTED: it is not in the file
                raise
            warnings.warn(f"the checkpoint has no {name}: {why}", stacklevel=4)
            continue
        with open(os.path.join(work, name), "w", encoding="utf-8") as file:
            file.write(text)
    return replaced


# ---- both ---------------------------------------------------------------------------------------


def export_huggingface(model, weights, target, dtype="float32"):
    """`model`, a Hugging Face directory or a GGUF file, as the directory `target`, with the weights of a
    .sq.safetensors file (or a WeightFile) decoded in their places. float32 holds what the codes stand
    for; float16 and bfloat16 round it. Activations are not quantized there, and spqt's thresholds are
    in no weight. `target` must not exist; it appears complete or not at all.

    Of a directory come along config, tokenizer, generation_config and licence, and the other tensors as
    they are. A link among these files is not followed, unless it leads into the cache of huggingface_hub,
    and a warning says so. Of a GGUF file the other tensors are in `dtype`, too, and config and tokenizer are made
    from its metadata; a warning says which of them it does not hold (no SentencePiece tokenizer)."""
    from . import WeightFile

    model, target = os.fsdecode(_lib.path(model, "model")), os.fsdecode(_lib.path(target, "target"))
    if dtype not in _DTYPES:
        raise ValueError(f"dtype = {dtype}, need {', '.join(_DTYPES)}")
    if os.path.lexists(target):
        raise FileExistsError(f"{target} exists")
    if not isinstance(weights, WeightFile):
        weights = WeightFile(weights)
    work = f"{target.rstrip('/')}.new-{os.getpid()}"
    os.makedirs(work)
    try:
        export = _export_directory if os.path.isdir(model) else _export_gguf
        replaced = export(model, work, weights, dtype)
        lost = sorted(set(weights) - replaced)
        if lost:
            raise ValueError(f"the model has no {lost[0]}.weight")
        _edit(os.path.join(work, "config.json"), lambda c: c.update(torch_dtype=dtype))
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
