"""The switch of this folder: whether calls may read and write CPython's and NumPy's objects in memory."""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
from functools import cache


@cache
def is_on() -> bool:
    """Whether ``CHASLES_DIRECT_CALLS`` is not 0 and this interpreter has what direct calls stand on.

    That is CPython with its global lock, plain reference counts and 64-bit addresses. What objects look like in memory
    is looked at besides, by `chasles.engine.cpython.objects` and `chasles.engine.cpython.vectorcall`. With the switch
    off, calls go through ctypes and NumPy alone: more slowly, with the same results to the last bit. It is read once a
    process.
    """
    if os.environ.get("CHASLES_DIRECT_CALLS") == "0" or sys.implementation.name != "cpython":
        return False
    unusual = sysconfig.get_config_var("Py_GIL_DISABLED") or sysconfig.get_config_var("Py_TRACE_REFS")
    return ctypes.sizeof(ctypes.c_void_p) == 8 and not unusual
