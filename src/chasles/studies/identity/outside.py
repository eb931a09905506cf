"""Sources of values that are neither in a program nor in its data: files, clocks, chance, the system."""

from __future__ import annotations

import os
import random
import sys

import numpy as np

#: Modules all of whose functions answer differently from call to call, or from machine to machine.
_MODULES = ("random", "secrets", "time", "uuid", "numpy.random", "posix", "nt", "socket", "subprocess", "urllib")
_FUNCTIONS = {
    "the clock": {f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")} | {"datetime.date.today"},
    "a file": {"_io.open", "io.open", "builtins.open", "_io.FileIO"}
    | {f"numpy.{name}" for name in ("load", "loadtxt", "genfromtxt", "fromfile", "memmap")},
    "the system": {"os.environ", "os.environb", "os.getenv", "os.getenvb", "os.popen", "os.listdir"},
    "the keyboard": {"builtins.input"},
    "code that is made while it runs": {f"builtins.{name}" for name in ("eval", "exec", "compile", "__import__")}
    | {"importlib.import_module", "_frozen_importlib.import_module"},
    "variables chosen while it runs": {"builtins.globals"},
}
_BY_NAME = {name: what for what, names in _FUNCTIONS.items() for name in names}
#: Methods of `pathlib.Path` that read.
READING_METHODS = {"read_text", "read_bytes"}


def outside_source(name: str) -> str | None:
    """What a library's module, function or class of this full name takes values from; None for nothing outside.

    Examples
    --------
    >>> outside_source("numpy.loadtxt"), outside_source("time.perf_counter"), outside_source("numpy.sin")
    ('a file', 'the module time', None)
    """
    for module in _MODULES:
        if name == module or name.startswith(f"{module}."):
            return f"the module {module}"
    return _BY_NAME.get(name)


def hidden_state(value: object) -> str | None:
    """What an object is whose state changes with its use; None for others."""
    if isinstance(value, random.Random | np.random.Generator | np.random.RandomState | np.random.BitGenerator):
        return "a generator of random numbers, whose state changes as it is used"
    if isinstance(value, type(os.environ)):
        return "the environment of the process"
    if value is sys.modules:
        return "the table of all modules"
    if hasattr(type(value), "fileno"):
        return "an open file"
    if hasattr(type(value), "__next__"):
        return "an iterator, which is used up as it is read"
    return None
