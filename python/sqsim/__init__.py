# SPDX-License-Identifier: Apache-2.0
"""sqsim: sparse-quantized LLM formats. Encode, multiply in bit-exact integers, time, evaluate.

    import numpy, sqsim
    layer = sqsim.encode(w, "sq_w", algorithm="rtn", bank=64)       # w[n, k]
    y = layer.product(x)                                           # x[m, k] -> y[m, n]
    sqsim.cycles("sq_w", 2048, 28672, 8192)["cycles"]

Names of formats and options are those of `sqsim eval` and `sqsim run`, with "_" for "-". What
libsqsim refuses raises sqsim.Error with its sentence.
"""
import collections.abc
import ctypes
import math

import numpy

from . import _library as _lib
from ._library import Error

__all__ = ["Error", "Image", "Layer", "WeightFile", "cycles", "dot", "encode", "evaluate", "export_huggingface",
           "formats", "frame", "needs_calibration", "read_json", "read_sweep", "tokenize", "unpack",
           "validate", "version", "write", "__version__"]

_VALUES, _TIME = 0, 1
_DTYPES = {"F32": "<f4", "F16": "<f2", "U8": "u1", "I8": "i1", "I32": "<i4", "I64": "<i8"}


def version():
    """Version and revision of libsqsim."""
    return _lib.version().decode()


__version__ = version().split()[0]  # of the library, so of its sources


def formats():
    """Names of all formats."""
    names = []
    while (name := _lib.format_name(len(names))) is not None:
        names.append(name.decode())
    return names


class _Format(_lib.Owner):
    __slots__ = ()

    @classmethod
    def make(cls, name, purpose, options):
        options = _lib.options(options)
        return cls._own(_lib.format_new(_lib.text(name, "format"), purpose, options), _lib.format_free)


def needs_calibration(format="sq_w", **options):
    """Whether encode() and evaluate() want calibration tokens."""
    f = _Format.make(format, _VALUES, options)
    return bool(_lib.format_needs_calibration(f._handle))


class Layer(_lib.Owner):
    """An encoded matrix of weights. It never changes: threads may share it, a copy of it is itself."""

    __slots__ = ()
    _made_by = "sqsim.encode or a WeightFile"

    @property
    def shape(self):
        return _lib.layer_n(self._handle), _lib.layer_k(self._handle)

    @property
    def format(self):
        return _lib.layer_format(self._handle).decode()

    @property
    def bits(self):
        """Stored bits per weight, everything counted; NaN of operand = act, whose weights are as they were."""
        return _lib.layer_bits(self._handle)

    def product(self, x):
        """y[m, n] of x[m, k], bit for bit what the hardware computes."""
        x = _lib.matrix(x, "x")
        if x.shape[1] != self.shape[1]:
            raise ValueError(f"x has {x.shape[1]} columns, need {self.shape[1]}")
        y = numpy.empty((x.shape[0], self.shape[0]), dtype=numpy.float32)
        _lib.product(self._handle, x, x.shape[0], y)
        return y

    def image(self, x, machine=None, base=0):
        """The layer and x[m, k] as the chip reads them from memory; machine: a YAML with the key `chip`,
        None: sim/machines/chip.yaml; base: where the image lies, a multiple of 4096 below 2^48."""
        x = _lib.matrix(x, "x")
        if x.shape[1] != self.shape[1]:
            raise ValueError(f"x has {x.shape[1]} columns, need {self.shape[1]}")
        handle = _lib.image_new(self._handle, x, x.shape[0], _lib.optional_path(machine, "machine"),
                                _lib.size(base, "base", 2**48 - 1))
        image = Image._own(handle, _lib.image_free)
        object.__setattr__(image, "shape", (x.shape[0], self.shape[0]))
        return image

    def decode(self):
        """The weights that the codes stand for, [n, k]."""
        w = numpy.empty(self.shape, dtype=numpy.float32)
        _lib.decode(self._handle, w)
        return w

    def arrays(self):
        """What is stored of the layer, {name: array}: codes, scales, masks, indices, read-only copies.
        docs/files.md ("Weights") says for every format which there are, with dtype and shape: of sq_w
        `s_lo` and `s_hi` float32 [n, k / group], `lo` and `hi` uint8 [n, bytes], streams of codes for
        unpack(); F16 is float16, I64 int64. Empty with operand = act, whose weights are as they were."""
        found = {}
        for i in range(_lib.layer_n_parts(self._handle)):
            dtype = numpy.dtype(_DTYPES[_lib.layer_part_dtype(self._handle, i).decode()])
            shape = _lib.shape(_lib.layer_part_shape, self._handle, i)
            nbytes = dtype.itemsize * math.prod(shape)
            data = ctypes.string_at(_lib.layer_part_data(self._handle, i), nbytes) if nbytes else b""
            found[_lib.layer_part_name(self._handle, i).decode()] = numpy.frombuffer(data, dtype).reshape(shape)
        return found

    def __repr__(self):
        return f"<sqsim.Layer {self.format} {self.shape[0]} x {self.shape[1]}, {self.bits:.4g} bits a weight>"


def unpack(stream, bits, signed=True):
    """The codes of a stream, uint8 [n, bytes] as arrays() gives it: int8 (signed) or uint8 [n, 8 bytes /
    bits], in their order, the first in the low bits. Bits of padding at the end of a row are codes, too."""
    stream, bits = numpy.asarray(stream), _lib.size(bits, "bits", 8)
    if stream.dtype != numpy.uint8 or stream.ndim != 2:
        raise TypeError(f"stream is {stream.dtype} with {stream.ndim} dimensions, need uint8 with 2")
    if bits < 1:
        raise ValueError("bits = 0, need 1..8")
    count = 8 * stream.shape[1] // bits
    planes = numpy.unpackbits(stream, axis=1, bitorder="little")[:, :count * bits].reshape(len(stream), count, bits)
    codes = numpy.packbits(planes, axis=2, bitorder="little").reshape(len(stream), count)
    if not signed:
        return codes
    return (codes.astype(numpy.int16) - ((codes >> (bits - 1)).astype(numpy.int16) << bits)).astype(numpy.int8)


def encode(w, format="sq_w", calibration=None, **options):
    """A Layer of w[n, k]; calibration: tokens x[m, k], where the format needs them."""
    w = _lib.matrix(w, "w")
    tokens, m = None, 0
    if calibration is not None:
        calibration = _lib.matrix(calibration, "calibration")
        if calibration.shape[1] != w.shape[1]:
            raise ValueError(f"calibration has {calibration.shape[1]} columns, need {w.shape[1]}")
        tokens, m = calibration.ctypes.data, calibration.shape[0]
    f = _Format.make(format, _VALUES, options)
    return Layer._own(_lib.encode(f._handle, w, *w.shape, tokens, m), _lib.layer_free)


# ---- files ------------------------------------------------------------------------------------


def write(path, layers):
    """{"name": Layer} of one format and its options into a .sq.safetensors file."""
    layers = dict(layers)
    for name, layer in layers.items():
        if not isinstance(layer, Layer):
            raise TypeError(f"{name} is of type {type(layer).__name__}, need sqsim.Layer")
    names = (ctypes.c_char_p * len(layers))(*[_lib.text(name, "name of a layer") for name in layers])
    handles = (ctypes.c_void_p * len(layers))(*[layer._handle.value for layer in layers.values()])
    _lib.file_write(_lib.path(path, "path"), names, handles, len(layers))


def validate(path):
    """Raises Error with what is wrong first with a file."""
    _lib.validate(_lib.path(path, "path"))


class WeightFile(_lib.Owner, collections.abc.Mapping):
    """A .sq.safetensors file of write() or `sqsim quantize`, as a mapping from names to Layers. The
    layers it gives are copies, which outlive it."""

    __slots__ = ("_index",)

    def __new__(cls, path, **options):
        options = _lib.options(options)
        self = cls._own(_lib.file_open(_lib.path(path, "path"), options), _lib.file_close)
        count = _lib.file_n_layers(self._handle)
        index = {_lib.file_name(self._handle, i).decode(): i for i in range(count)}
        object.__setattr__(self, "_index", index)
        return self

    @property
    def format(self):
        return _lib.file_format(self._handle).decode()

    def __len__(self):
        return len(self._index)

    def __iter__(self):
        return iter(self._index)

    def __contains__(self, name):
        return name in self._index

    def __getitem__(self, name):
        """Copied and validated."""
        return Layer._own(_lib.file_load(self._handle, self._index[name]), _lib.layer_free)

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other


# ---- the chip ---------------------------------------------------------------------------------


class Image(_lib.Owner):
    """A layer and its tokens as the chip reads them from memory; shape: of its outputs, [m, n]."""

    __slots__ = ("shape",)
    _made_by = "Layer.image"

    @property
    def memory(self):
        """A copy of the memory before a run, uint8."""
        nbytes = ctypes.c_size_t()
        data = _lib.image_bytes(self._handle, ctypes.byref(nbytes))
        return numpy.frombuffer(ctypes.string_at(data, nbytes.value), dtype=numpy.uint8).copy()

    @property
    def descriptor(self):
        """Its address, for the chip's register DESCRIPTOR."""
        return _lib.image_descriptor(self._handle)

    def run(self, stepping=False):
        """The memory that the chip leaves, and its counters: cycles, busy, wait, blocked, read_bytes,
        write_bytes. A layer at once, or stepped cycle by cycle, with the same result."""
        memory = self.memory
        figures = _lib.figures(_lib.chip_run(self._handle, bool(stepping), memory.ctypes.data))
        return memory, figures

    def check(self, memory):
        """y[m, n] out of a memory that a chip has written; Error where it is not the layer's."""
        memory = numpy.ascontiguousarray(memory, dtype=numpy.uint8)
        if memory.size != self.memory.size:
            raise ValueError(f"memory has {memory.size} bytes, need {self.memory.size}")
        y = numpy.empty(self.shape, dtype=numpy.float32)
        _lib.image_check(self._handle, memory.ctypes.data, y.ctypes.data)
        return y


# ---- figures ----------------------------------------------------------------------------------


def cycles(format, m, n, k, machine=None, **options):
    """Figures of Y[m][n] = X[m][k] W[n][k]^T by the cycle model; machine: a YAML file, None: the
    default core with streams that never stall, sq_w only."""
    m, n, k = _lib.size(m, "m"), _lib.size(n, "n"), _lib.size(k, "k")
    f = _Format.make(format, _TIME, options)
    return _lib.figures(_lib.cycles(f._handle, _lib.optional_path(machine, "machine"), m, n, k))


def dot(a, b, sum="h100", type="bf16", c=0.0):
    """The dot product of a and b onto c as a device sums it (`sqsim explain sum`): its name or a YAML file,
    the type of the operands, and their codes, whole numbers: dot([0x4b80, 0x3f40], [0x3f80, 0x3f80])."""
    codes = [" ".join(f"{_lib.size(v, 'a code', 2**32 - 1):x}" for v in values).encode() for values in (a, b)]
    result = ctypes.c_float()
    start = f"{numpy.float32(c).view(numpy.uint32):08x}".encode()
    _lib.dot(_lib.text(sum, "sum"), _lib.text(type, "type"), *codes, start, ctypes.byref(result))
    return result.value


def evaluate(model, format=None, weights=None, tokens=None, calib=None, sequences=0, **options):
    """Loss, perplexity and stored bits of a model, a Hugging Face directory or a GGUF file: as it is,
    in a format, or with the weights of a file (a path or a WeightFile). tokens, calib: token files, by
    default tokens_eval.safetensors and tokens_calib.safetensors beside the model; tokenize() makes them."""
    model, sequences = _lib.path(model, "model"), _lib.size(sequences, "sequences")
    tokens, calib = _lib.optional_path(tokens, "tokens"), _lib.optional_path(calib, "calib")
    if weights is not None:
        if format is not None or calib is not None:
            raise ValueError("the file of weights says the format and needs no calibration")
        if isinstance(weights, WeightFile) and options:
            raise ValueError(f"{next(iter(options))} belongs to where the file of weights is opened")
        file = weights if isinstance(weights, WeightFile) else WeightFile(weights, **options)
        return _lib.figures(_lib.evaluate_file(model, file._handle, tokens, sequences))
    if format is None and options:
        raise ValueError(f"{next(iter(options))} without a format")
    f = None if format is None else _Format.make(format, _VALUES, options)
    return _lib.figures(_lib.evaluate(model, f._handle if f else None, tokens, calib, sequences))


def tokenize(model, text, path, window=0):
    """A UTF-8 text by the tokenizer of a model as a token file for evaluate(), in windows of so many
    tokens; 0: 2048, or the model's context where that is shorter."""
    _lib.tokenize(_lib.path(model, "model"), _lib.path(text, "text"), _lib.size(window, "window"), _lib.path(path, "path"))


from .frames import frame, read_json, read_sweep  # noqa: E402
from .huggingface import export_huggingface  # noqa: E402
