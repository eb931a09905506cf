"""Programs that an earlier process has traced: known by their digest, traced here only if their text is needed.

Machine code is kept on disk under the digest of its program, so a process would have to trace each program to find the
code. A record of the program, kept under what the trace depends on, spares it that: the arguments of the trace, the
library's files, Python, NumPy and the processor, whose rounding may be in constants. A record is written and read only
while the code in memory is proven to be that of the files (`chasles.engine.sources`).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.engine import cache, sources
from chasles.engine.compiling import native, native_available
from chasles.engine.graph import Instruction
from chasles.engine.program import Argument, Program
from chasles.errors import CompileError

#: Variables that decide which of NumPy's loops and which BLAS compute constants.
_NUMPY_SETTINGS = ("NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES", "OPENBLAS_CORETYPE", "MKL_CBWR")

#: Packages that the versions of Python and NumPy stand for.
_KNOWN = ("builtins", "copyreg", "numpy")


def remembered(trace: Callable[[], Program], function: Callable[..., Any], arguments: object) -> Program:
    """Return the program that a trace gives, without tracing if an earlier process did.

    Parameters
    ----------
    trace
        Traces the program.
    function
        The function that is traced; nothing is remembered of those that are not the library's.
    arguments
        All that the trace depends on beside the library's code, as an object that can be pickled.
    """
    key = _key(function, arguments)
    if key is None:
        return trace()
    kept = cache.load(key)
    if kept is not None:
        return RememberedProgram(json.loads(kept), trace)
    program = trace()
    if sources.intact():  # nothing was replaced meanwhile
        cache.store(key, json.dumps(_record(program)).encode())
    return program


def _key(function: Callable[..., Any], arguments: object) -> str | None:
    """Key of a record, or None where nothing may be remembered."""
    if not native_available() or not cache.is_private() or not sources.is_watched(function):
        return None
    files = sources.fingerprint()
    if files is None or not sources.intact():
        return None
    text = io.BytesIO()
    try:
        _Pickler(text, 5).dump((function.__module__, function.__qualname__, arguments))
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    settings = [os.environ.get(name) for name in _NUMPY_SETTINGS]
    context = repr((files, native.machine.host(), np.__version__, np.__file__, settings)).encode()
    return f"program-{hashlib.sha256(context + text.getbuffer()).hexdigest()}"


class _Pickler(pickle.Pickler):
    """Pickler of data whose classes are the library's, NumPy's or Python's own: others may change what they compute."""

    def reducer_override(self, thing: Any) -> Any:
        """Refuse what belongs to other modules."""
        owner = thing if isinstance(thing, type | FunctionType) else type(thing)
        home = owner.__module__
        if home.partition(".")[0] not in _KNOWN and not sources.watches(home):
            raise pickle.PicklingError(f"{owner} is not the library's")
        return NotImplemented


def _record(program: Program) -> dict[str, Any]:
    return {
        "digest": program.digest,
        "name": program.name,
        "inputs": [[a.name, a.shape] for a in program.inputs],
        "outputs": [[a.name, a.shape] for a in program.outputs],
        "operations": program.operations,
    }


class RememberedProgram(Program):
    """A program of which all but the instructions is known; those are traced when somebody asks for them."""

    def __init__(self, record: dict[str, Any], trace: Callable[[], Program]) -> None:
        self.__dict__.update(
            name=record["name"],
            inputs=_arguments(record["inputs"]),
            outputs=_arguments(record["outputs"]),
            digest=record["digest"],
            operations=record["operations"],
            _trace=trace,
        )

    @cached_property
    def _traced(self) -> Program:
        program: Program = self.__dict__["_trace"]()
        if program.digest != self.digest:
            raise CompileError(
                f"{self.name}: the cache holds a record of another program; empty it with `chasles cache clear`"
            )
        return program

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """As of every program."""
        return self._traced.instructions

    @property
    def results(self) -> tuple[int, ...]:
        """As of every program."""
        return self._traced.results

    @property
    def programs(self) -> tuple[Program, ...]:
        """As of every program."""
        return self._traced.programs

    def __reduce__(self) -> Any:
        traced = self._traced
        return Program, (
            traced.name,
            traced.inputs,
            traced.outputs,
            traced.instructions,
            traced.results,
            traced.programs,
        )


def _arguments(data: list[Any]) -> tuple[Argument, ...]:
    return tuple(Argument(name, tuple(shape)) for name, shape in data)
