"""Programs that an earlier process has traced: known by their digest, traced here only if their text is needed.

Machine code is kept on disk under the digest of its program, so a process would have to trace each program to find the
code. A record of the program spares it that. Its key is the identity of what the trace depends on: the library's files,
Python, NumPy and the processor, whose rounding may be in constants, the algorithm, and its arguments.

A function that a test or a user has replaced under its name is noticed if it is the algorithm itself, not if it is
called somewhere inside: ``CHASLES_CACHE_DIR=none`` uses no records.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache as once
from pathlib import Path
from typing import Any

import numpy as np

from chasles.base.cached import cached_property
from chasles.base.errors import CompileError
from chasles.engine.identity import UnidentifiedError, identity
from chasles.engine.kernels import cache
from chasles.engine.program.graph import Instruction
from chasles.engine.program.program import Argument, Program
from chasles.engine.running.compiling import native, native_available

_ROOT = Path(__file__).parents[1]
#: Folders that no trace runs.
_ASIDE = ("__pycache__", "cpython", "formats", "robots", "targets")
#: Variables that decide which of NumPy's loops and which BLAS compute constants.
_NUMPY_SETTINGS = ("NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES", "OPENBLAS_CORETYPE", "MKL_CBWR")
_BEGAN = time.time_ns()
#: The coarsest resolution of file systems' times, in ns.
_RESOLUTION = 2_000_000_000


def remembered(trace: Callable[[], Program], packages: Sequence[str], content: object) -> Program:
    """Return the program that a trace gives, without tracing if an earlier process did.

    Parameters
    ----------
    trace
        Traces the program.
    packages
        Packages of the library whose files the trace runs.
    content
        All that the trace depends on besides these files: algorithm and arguments. Nothing is remembered if a part is
        not the library's.
    """
    key = _key(tuple(packages), content)
    if key is None:
        return trace()
    kept = cache.load(key)
    if kept is not None:
        return RememberedProgram(json.loads(kept), trace)
    program = trace()
    if environment(tuple(packages)) == environment.__wrapped__(tuple(packages)):  # no file changed meanwhile
        cache.store(key, json.dumps(_record(program)).encode())
    return program


def _key(packages: tuple[str, ...], content: object) -> str | None:
    """Key of a record, or None where nothing may be remembered."""
    if not native_available() or not cache.is_private():
        return None
    known = environment(packages)
    if known is None:
        return None
    try:
        return f"program-{identity((known, content), by_version=False)}"
    except UnidentifiedError:
        return None


@once
def environment(packages: tuple[str, ...]) -> str | None:
    """Return the identity of the tracer: the library's files by path, size and time, Python, NumPy and the processor.

    It is None if the files cannot be told: if there are none, or if they changed after this process began, so that
    memory may hold either text.
    """
    files: list[tuple[str, int, int]] = []
    try:
        for path, status in _files(packages):
            if max(status.st_mtime_ns, status.st_ctime_ns) > _BEGAN - _RESOLUTION:
                return None
            files.append((path, status.st_size, status.st_mtime_ns))
    except OSError:
        return None
    settings = [os.environ.get(name) for name in _NUMPY_SETTINGS]
    machine = repr(native.machine.host())
    versions = (sys.version, sys.flags.optimize, np.__version__, np.__file__)
    return identity((repr(files), versions, settings, machine)) if files else None


def _files(packages: Sequence[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Source files of packages, with their status."""
    for package in packages:
        yield from _below(_ROOT / package)


def _below(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    waiting = [os.fspath(folder)]
    while waiting:
        for entry in sorted(os.scandir(waiting.pop()), key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                yield entry.path, entry.stat()
            elif "." not in entry.name and entry.name not in _ASIDE:
                waiting.append(entry.path)


def _record(program: Program) -> dict[str, Any]:
    return {
        "digest": program.digest,
        "name": program.name,
        "inputs": [[a.name, a.shape] for a in program.inputs],
        "outputs": [[a.name, a.shape] for a in program.outputs],
        "operations": program.operations,
        "folded_results": program.folded_results,
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
            folded_results=tuple((operation, value) for operation, value in record["folded_results"]),
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
