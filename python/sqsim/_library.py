# SPDX-License-Identifier: Apache-2.0
"""libsqsim by ctypes: sqsim.h, function by function. Arrays are numpy's; errors are exceptions."""
import ctypes
import operator
import os
import weakref

import numpy

_HERE = os.path.dirname(os.path.abspath(__file__))


class Error(Exception):
    """What libsqsim refused: one sentence; `status` is the number of enum sqsim_status."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class _CError(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 332)]


def _load():
    """$SQSIM_LIBRARY, else the one inside the wheel, else what the system finds."""
    beside = os.path.join(_HERE, "libsqsim.so")
    path = os.environ.get("SQSIM_LIBRARY") or (beside if os.path.exists(beside) else "libsqsim.so.0")
    return ctypes.CDLL(path)


_lib = _load()
_handle, _text, _size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
_floats = numpy.ctypeslib.ndpointer(dtype=numpy.float32, ndim=2, flags="C_CONTIGUOUS")
_sizes = ctypes.POINTER(_size)
_strings = ctypes.POINTER(ctypes.c_char_p)


def _declare(name, result, *arguments):
    function = getattr(_lib, "sqsim_" + name)
    function.restype, function.argtypes = result, arguments
    return function


def _may_fail(name, *arguments):
    """The function with its error as an exception; a last handle comes back as the result."""
    gives_handle = arguments[-1] is ctypes.POINTER(_handle)
    function = _declare(name, ctypes.c_int, *arguments, ctypes.POINTER(_CError))

    def call(*values):
        error, handle = _CError(), _handle()
        status = function(*values, *([ctypes.byref(handle)] if gives_handle else []), ctypes.byref(error))
        if status:
            raise Error(status, error.text.decode("utf-8", "replace"))
        return handle if gives_handle else None

    return call


_out = ctypes.POINTER(_handle)
version = _declare("version", _text)
format_name = _declare("format_name", _text, _size)
format_new = _may_fail("format_new", _text, ctypes.c_int, _strings, _out)
format_free = _declare("format_free", None, _handle)
format_needs_calibration = _declare("format_needs_calibration", ctypes.c_int, _handle)
encode = _may_fail("encode", _handle, _floats, _size, _size, ctypes.c_void_p, _size, _out)
layer_free = _declare("layer_free", None, _handle)
layer_n = _declare("layer_n", _size, _handle)
layer_k = _declare("layer_k", _size, _handle)
layer_bits = _declare("layer_bits", ctypes.c_double, _handle)
layer_format = _declare("layer_format", _text, _handle)
layer_n_parts = _declare("layer_n_parts", _size, _handle)
layer_part_name = _declare("layer_part_name", _text, _handle, _size)
layer_part_dtype = _declare("layer_part_dtype", _text, _handle, _size)
layer_part_shape = _declare("layer_part_shape", _size, _handle, _size, _sizes)
layer_part_data = _declare("layer_part_data", ctypes.c_void_p, _handle, _size)
product = _may_fail("product", _handle, _floats, _size, _floats)
decode = _may_fail("decode", _handle, _floats)
file_write = _may_fail("file_write", _text, _strings, ctypes.POINTER(_handle), _size)
file_open = _may_fail("file_open", _text, _strings, _out)
file_close = _declare("file_close", None, _handle)
file_n_layers = _declare("file_n_layers", _size, _handle)
file_format = _declare("file_format", _text, _handle)
file_name = _declare("file_name", _text, _handle, _size)
file_load = _may_fail("file_load", _handle, _size, _out)
validate = _may_fail("validate", _text)
safetensors_check = _may_fail("safetensors_check", _text)
figures_n = _declare("figures_n", _size, _handle)
figures_name = _declare("figures_name", _text, _handle, _size)
figures_value = _declare("figures_value", ctypes.c_double, _handle, _size)
figures_free = _declare("figures_free", None, _handle)
cycles = _may_fail("cycles", _handle, _text, *[ctypes.c_uint64] * 3, _out)
image_new = _may_fail("image_new", _handle, _floats, _size, _text, ctypes.c_uint64, _out)
image_free = _declare("image_free", None, _handle)
image_bytes = _declare("image_bytes", ctypes.c_void_p, _handle, _sizes)
image_descriptor = _declare("image_descriptor", ctypes.c_uint64, _handle)
chip_run = _may_fail("chip_run", _handle, ctypes.c_int, ctypes.c_void_p, _out)
image_check = _may_fail("image_check", _handle, ctypes.c_void_p, ctypes.c_void_p)
evaluate = _may_fail("evaluate", _text, _handle, _text, _text, _size, _out)
points_read = _may_fail("points_read", _text, _out)
points_n = _declare("points_n", _size, _handle)
points_sweep = _declare("points_sweep", _text, _handle, _size)
points_parameters = _declare("points_parameters", _text, _handle, _size)
points_measures = _declare("points_measures", _text, _handle, _size)
points_free = _declare("points_free", None, _handle)
model_open = _may_fail("model_open", _text, _out)
model_close = _declare("model_close", None, _handle)
model_n_tensors = _declare("model_n_tensors", _size, _handle)
model_tensor_name = _declare("model_tensor_name", _text, _handle, _size)
model_tensor_shape = _declare("model_tensor_shape", _size, _handle, _size, _sizes)
model_tensor_read = _may_fail("model_tensor_read", _handle, _size, ctypes.c_void_p)
model_file = _may_fail("model_file", _handle, _text, ctypes.POINTER(ctypes.c_char_p))
tokenize = _may_fail("tokenize", _text, _text, _size, _text)
dot = _may_fail("dot", *[_text] * 5, ctypes.POINTER(ctypes.c_float))
evaluate_file = _may_fail("evaluate_file", _text, _handle, _text, _size, _out)


# ---- what goes in: C reads what these pass on, so they refuse what C would read as something else ----


def text(value, what):
    """A string as C wants it: UTF-8 without NUL, at which C would end it."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is {_kind(value)}, need str")
    if "\0" in value:
        raise ValueError(f"{what} = {value!r} has a NUL character")
    return value.encode()


def path(name, what):
    """A path as C wants it: str, bytes or os.PathLike without NUL."""
    if not isinstance(name, (str, bytes, os.PathLike)):
        raise TypeError(f"{what} is {_kind(name)}, need a path")
    encoded = os.fsencode(name)
    if b"\0" in encoded:
        raise ValueError(f"{what} = {name!r} has a NUL character")
    return encoded


def optional_path(name, what):
    return None if name is None else path(name, what)


def size(value, what, most=2**63 - 1):
    """A whole number 0..most, which ctypes would take modulo 2^64."""
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {_kind(value)}, need a whole number") from None
    if not 0 <= value <= most:
        raise ValueError(f"{what} = {value}, need 0..{most}")
    return value


def options(given):
    """{"bank": 64, "lazy": True} as names and values in turn; "_" and "-" are the same."""
    words = []
    for name, value in given.items():
        if isinstance(value, numpy.bool_):
            value = bool(value)
        if value is None or value is False:
            continue
        if not isinstance(value, (bool, str, int, float, numpy.number)):
            raise TypeError(f"option {name} is {_kind(value)}, need a number, a word or a bool")
        words.append(text(name.replace("_", "-"), "an option"))
        words.append(b"" if value is True else text(str(value), f"option {name}"))
    return (ctypes.c_char_p * (len(words) + 1))(*words, None)


def matrix(array, what):
    """float32, row-major, two dimensions. Numbers only: numpy would take the real part of complex
    ones, parse strings, and read what a mask hides."""
    if isinstance(array, numpy.ma.MaskedArray):
        raise TypeError(f"{what} is a masked array, need one without masked elements")
    array = numpy.asarray(array)
    if array.dtype.kind not in "fiub" and array.dtype.name != "bfloat16":
        raise TypeError(f"{what} has dtype {array.dtype}, need floating-point numbers or integers")
    if array.ndim != 2:
        raise ValueError(f"{what} has {array.ndim} dimensions, need 2")
    return numpy.ascontiguousarray(array, dtype=numpy.float32)


def _kind(value):
    return "None" if value is None else f"of type {type(value).__name__}"


class Owner:
    """Has a handle of C, which goes when the last reference does. Nothing else may own it: a copy is
    the object itself, which never changes, and there is no pickle of it. Made by _own() alone."""

    __slots__ = ("_handle", "__weakref__")
    _made_by = "its functions"

    def __new__(cls, *_arguments, **_options):
        raise TypeError(f"{cls.__name__} is made by {cls._made_by}")

    @classmethod
    def _own(cls, handle, free):
        self = object.__new__(cls)
        object.__setattr__(self, "_handle", handle)
        # Not at exit: another thread may be in C then, and the process gives back all of it.
        weakref.finalize(self, free, handle).atexit = False
        return self

    def __setattr__(self, name, _value):
        raise AttributeError(f"{name} of a {type(self).__name__} cannot be set")

    __delattr__ = lambda self, name: self.__setattr__(name, None)  # noqa: E731

    def __copy__(self):
        return self

    def __deepcopy__(self, _memo):
        return self

    def __reduce_ex__(self, _protocol):
        raise TypeError(f"a {type(self).__name__} cannot be pickled: write its layers with sqsim.write and pass the path")


# ---- what comes out --------------------------------------------------------------------------


def figures(handle):
    """Names and numbers; whole numbers as int."""
    try:
        found = {}
        for i in range(figures_n(handle)):
            value = figures_value(handle, i)
            found[figures_name(handle, i).decode()] = int(value) if value.is_integer() else value
        return found
    finally:
        figures_free(handle)


def points(handle):
    """(sweep, parameters, measures) of every point, the last two as JSON texts."""
    try:
        return [tuple(part(handle, i).decode() for part in (points_sweep, points_parameters, points_measures))
                for i in range(points_n(handle))]
    finally:
        points_free(handle)


def shape(function, handle, i):
    """Of tensor i, by a function that fills its lengths in and returns how many there are."""
    lengths = (_size * 8)()
    return tuple(lengths[:function(handle, i, lengths)])
