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

import numpy

from . import _library as _lib
from ._library import Error

__all__ = ["Error", "Layer", "WeightFile", "cycles", "encode", "evaluate", "export_huggingface",
           "formats", "frame", "needs_calibration", "read_json", "read_sweep", "validate", "version",
           "write"]

_VALUES, _TIME = 0, 1


def version():
    """Version and revision of libsqsim."""
    return _lib.version().decode()


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

    def decode(self):
        """The weights that the codes stand for, [n, k]."""
        w = numpy.empty(self.shape, dtype=numpy.float32)
        _lib.decode(self._handle, w)
        return w

    def __repr__(self):
        return f"<sqsim.Layer {self.shape[0]} x {self.shape[1]}, {self.bits:.4g} bits a weight>"


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


# ---- figures ----------------------------------------------------------------------------------


def cycles(format, m, n, k, machine=None, **options):
    """Figures of Y[m][n] = X[m][k] W[n][k]^T by the cycle model; machine: a YAML file, None: the
    default core with streams that never stall, sq_w only."""
    m, n, k = _lib.size(m, "m"), _lib.size(n, "n"), _lib.size(k, "k")
    f = _Format.make(format, _TIME, options)
    return _lib.figures(_lib.cycles(f._handle, _lib.optional_path(machine, "machine"), m, n, k))


def evaluate(model, format=None, weights=None, tokens=None, calib=None, sequences=0, **options):
    """Loss, perplexity and stored bits of a Hugging Face directory: as it is, in a format, or with
    the weights of a file. Token files default to those beside the model."""
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


from .frames import frame, read_json, read_sweep  # noqa: E402
from .huggingface import export_huggingface  # noqa: E402
