"""Objects that live until the process ends.

Machine code, CPython and NumPy hold some objects by their address alone, and read them even while the interpreter shuts
down. A list in a module is no owner then: modules are emptied before the last cycles of objects are freed.
"""

from __future__ import annotations

import ctypes
from typing import TypeVar

Thing = TypeVar("Thing")


def immortal(thing: Thing) -> Thing:
    """Return an object that is never freed from now on, not even when the interpreter shuts down."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return thing
