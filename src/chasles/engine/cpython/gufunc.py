"""Generalized ufuncs around the address of a loop, through NumPy's C API and without a C compiler."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from chasles.engine.cpython.immortal import immortal

# Place of PyUFunc_FromFuncAndDataAndSignature in NumPy's table of C functions, part of its stable ABI.
_FROM_FUNCTION_AND_SIGNATURE = 31
_NO_IDENTITY = -1


class _UFunc(ctypes.Structure):
    """The beginning of NumPy's ``PyUFuncObject``, part of its stable ABI."""

    _fields_ = (
        ("reference_count", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("inputs", ctypes.c_int),
        ("outputs", ctypes.c_int),
        ("arguments", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("loops", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("loop_count", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_void_p),
        ("types", ctypes.c_void_p),
        ("doc", ctypes.c_void_p),
        ("pointer", ctypes.c_void_p),
        ("owned", ctypes.c_void_p),
    )


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
    address: int, *, inputs: int, outputs: int, signature: str, dtype: str, name: str, doc: str, code: object
) -> np.ufunc:
    """Return a generalized ufunc of one type.

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
        Name and text in error messages and ``help``.
    code
        The owner of the machine code, which the ufunc keeps alive.
    """
    count = inputs + outputs
    loops, data = (ctypes.c_void_p * 1)(address), (ctypes.c_void_p * 1)(None)
    types = ctypes.create_string_buffer(bytes([np.dtype(dtype).num] * count), count)
    texts = name.encode(), doc.encode(), signature.encode()
    addresses = [ctypes.addressof(array) for array in (loops, data, types)]
    ufunc: np.ufunc = _maker()(*addresses, 1, inputs, outputs, _NO_IDENTITY, texts[0], texts[1], 0, texts[2])
    _give(ufunc, addresses, (loops, data, types, texts, code))
    return ufunc


def _give(ufunc: np.ufunc, addresses: list[int], needed: object) -> None:
    """Let a ufunc own what it needs: NumPy releases the object in this field together with the ufunc."""
    fields = _UFunc.from_address(id(ufunc))
    seen = (fields.inputs, fields.outputs, fields.loops, fields.data, fields.types, fields.owned)
    if seen == (ufunc.nin, ufunc.nout, *addresses, None):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(needed))
        fields.owned = id(needed)
    else:
        immortal(needed)
