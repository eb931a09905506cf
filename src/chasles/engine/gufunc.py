"""Generalized ufuncs around the address of a loop, through NumPy's C API and without a C compiler."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

# Place of PyUFunc_FromFuncAndDataAndSignature in NumPy's table of C functions, part of its stable ABI.
_FROM_FUNCTION_AND_SIGNATURE = 31
_NO_IDENTITY = -1


def c_api(table: str) -> Any:
    """Return the capsule of one of NumPy's tables of C functions, ``"_UFUNC_API"`` or ``"_ARRAY_API"``."""
    return getattr(import_module("numpy._core._multiarray_umath"), table)


@cache
def _maker() -> Any:
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get_pointer(c_api("_UFUNC_API"), None), ctypes.POINTER(ctypes.c_void_p))
    pointer, integer, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, pointer, pointer, pointer, integer, integer, integer, integer, text, text, integer, text
    )
    return prototype(table[_FROM_FUNCTION_AND_SIGNATURE])


def make_gufunc(
    address: int, *, inputs: int, outputs: int, signature: str, dtype: str, name: str, doc: str
) -> tuple[np.ufunc, object]:
    """Return a generalized ufunc of one type and what must stay alive as long as it does.

    Parameters
    ----------
    address
        Address of a function ``(char **args, npy_intp *dimensions, npy_intp *steps, void *data)``.
    inputs, outputs
        Number of arrays taken and given.
    signature
        Core dimensions, such as ``"(7),(7)->(7,7)"``.
    dtype
        Type of all arrays, ``"float64"`` or ``"float32"``.
    name, doc
        What error messages and ``help`` show.
    """
    count = inputs + outputs
    loops, data = (ctypes.c_void_p * 1)(address), (ctypes.c_void_p * 1)(None)
    types = ctypes.create_string_buffer(bytes([np.dtype(dtype).num] * count), count)
    texts = name.encode(), doc.encode(), signature.encode()
    places = [ctypes.addressof(array) for array in (loops, data, types)]
    ufunc = _maker()(*places, 1, inputs, outputs, _NO_IDENTITY, texts[0], texts[1], 0, texts[2])
    return ufunc, (loops, data, types, texts)
