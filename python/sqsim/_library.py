# SPDX-License-Identifier: Apache-2.0
"""libsqsim by ctypes: sqsim.h, function by function. Arrays are numpy's; errors are exceptions."""
import ctypes
import os

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
figures_n = _declare("figures_n", _size, _handle)
figures_name = _declare("figures_name", _text, _handle, _size)
figures_value = _declare("figures_value", ctypes.c_double, _handle, _size)
figures_free = _declare("figures_free", None, _handle)
cycles = _may_fail("cycles", _handle, _text, *[ctypes.c_uint64] * 3, _out)
evaluate = _may_fail("evaluate", _text, _handle, _text, _text, _size, _out)
evaluate_file = _may_fail("evaluate_file", _text, _handle, _text, _size, _out)


def path(name):
    """A path as C wants it; None stays None."""
    return None if name is None else os.fsencode(name)


def options(given):
    """{"bank": 64, "lazy": True} as names and values in turn; "_" and "-" are the same."""
    words = []
    for name, value in given.items():
        if value is not None and value is not False:
            words += [name.replace("_", "-"), "" if value is True else str(value)]
    return (ctypes.c_char_p * (len(words) + 1))(*[w.encode() for w in words], None)


def matrix(array, what):
    """float32, row-major, two dimensions."""
    array = numpy.ascontiguousarray(array, dtype=numpy.float32)
    if array.ndim != 2:
        raise ValueError(f"{what} has {array.ndim} dimensions, need 2")
    return array


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
