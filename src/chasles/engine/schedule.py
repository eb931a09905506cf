"""Schedules: calls of compiled functions on arrays that stay where they are, with jumps, and no Python in between.

An algorithm that repeats a few short compiled steps until a number says so spends its time on Python's calls. A
schedule is that algorithm as a list: calls, jumps where a number of an array is positive, and stops. One loop in
machine code goes through the list; where there is no compiler, a loop in Python does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.function import Function
from chasles.engine.kernels.shapes import CoreArray
from chasles.engine.matrix_calls import MatrixCall
from chasles.engine.running.compiling import native_available
from chasles.engine.targets.arguments import Signature

Floats = NDArray[np.float64]
Callee = Function[Any] | MatrixCall
_RUN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)


@dataclass
class Entry:
    """One line of the list: a call, or a jump to a label where a number is positive, or a stop.

    Attributes
    ----------
    work
        What a call does in Python; None for jumps and stops.
    function, inputs, outputs
        Function that a call calls, and its arrays.
    is_compiled
        Whether a loop in machine code has been looked for.
    flag
        Number that a jump looks at.
    label
        Where a jump leads, or the name of a stop.
    """

    work: Callable[[], object] | None = None
    function: Callee | None = None
    inputs: Sequence[Floats] = ()
    outputs: Sequence[Floats] = ()
    is_compiled: bool = False
    flag: Floats | None = None
    label: str = ""


class Schedule:
    """Calls of functions on given arrays, one after the other.

    Examples
    --------
    Newton's method for √2, with the number of steps:

    >>> import numpy as np
    >>> from chasles.engine import Function, trace
    >>> def newton(x, count):
    ...     better = 0.5 * (x + 2.0 / x)
    ...     return better, count + 1.0, abs(better - x) - 1e-12
    >>> step = Function(trace(newton, {"x": (), "count": ()}, name="newton", outputs=["better", "steps", "again"]))
    >>> x, count, again = np.array(1.0), np.array(0.0), np.array(0.0)
    >>> schedule = Schedule()
    >>> schedule.label("step")
    >>> schedule.call(step, [x, count], [x, count, again])
    >>> schedule.jump("step", again)
    >>> schedule.stop("converged")
    >>> schedule.run("step"), float(x), int(count)
    ('converged', 1.414213562373095, 6)
    """

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._labels: dict[str, int] = {}
        self._needed: list[object] = []  # what the table has addresses of
        self._table: NDArray[np.int64] | None = None

    def label(self, name: str) -> None:
        """Name the entry that follows."""
        self._labels[name] = len(self._entries)

    def call(self, function: Callee, inputs: Sequence[Floats], outputs: Sequence[Floats]) -> None:
        """Call a function: arrays have its shapes, or one axis of samples before them; a map may write its inputs.

        Arrays of scans over matrices are dense but for samples and steps.

        Raises
        ------
        ArgumentError
            An array does not fit, or is not of 64-bit floats.
        """
        given, arrays = outputs[0] if len(outputs) == 1 else tuple(outputs), (*inputs, *outputs)
        _samples(function, arrays)
        if not any(array.size for array in outputs):
            return
        self._entries.append(Entry(lambda: function.general_call(*inputs, out=given), function, inputs, outputs))

    def python(self, work: Callable[[], object]) -> None:
        """Call something in Python."""
        self._entries.append(Entry(work))

    def jump(self, label: str, flag: Floats) -> None:
        """Go on at a label if a number is positive."""
        self._entries.append(Entry(flag=flag, label=label))

    def stop(self, name: str) -> None:
        """End the run."""
        self._entries.append(Entry(label=name))

    def run(self, label: str) -> str:
        """Go through the list from a label on, to a stop; return its name.

        A function is compiled when its turn comes first; see `compile`.
        """
        at, table = self._labels[label], self._compiled_table()
        while True:
            if table is not None:
                at = _loop_through()(_address(table), at)
            entry = self._entries[at]
            if table is not None and not entry.is_compiled:
                self._compile(entry, table[at])
                if table[at, 0]:
                    continue
            if entry.work is not None:
                entry.work()
                at += 1
            elif entry.flag is None:
                return entry.label
            else:
                at = self._labels[entry.label] if entry.flag > 0.0 else at + 1

    def compile(self) -> None:
        """Compile all functions now, so that no run waits for that."""
        if (table := self._compiled_table()) is not None:
            for entry, words in zip(self._entries, table, strict=True):
                self._compile(entry, words)

    def reached(self, label: str) -> dict[int, Entry]:
        """Return the entries that a run from a label may come to, by their places; jumps lead to `place`."""
        result: dict[int, Entry] = {}
        ahead = [self.place(label)]
        while ahead:
            at = ahead.pop()
            while at not in result and at < len(self._entries):
                entry = result[at] = self._entries[at]
                if entry.flag is not None:
                    ahead.append(self.place(entry.label))
                elif entry.label:
                    break
                at += 1
        return dict(sorted(result.items()))

    def place(self, label: str) -> int:
        """Return the place of the entry after a label."""
        return self._labels[label]

    def _compiled_table(self) -> NDArray[np.int64] | None:
        """Rows of six words: a call's four, the address of a jump's number and where it leads; zeros until known.

        None without machine code.
        """
        if self._table is None and native_available():
            self._table = np.zeros((len(self._entries), 6), dtype=np.int64)
            for words, entry in zip(self._table, self._entries, strict=True):
                if entry.flag is not None:
                    words[4:] = _address(entry.flag), self._labels[entry.label]
        return self._table

    def _compile(self, entry: Entry, words: NDArray[np.int64]) -> None:
        """Write the addresses of a call's loop, arguments, dimensions and strides, if there is a loop."""
        function, arrays = entry.function, (*entry.inputs, *entry.outputs)
        is_new, entry.is_compiled = not entry.is_compiled, True
        if function is None or not is_new:
            return
        filled = _filled(function, arrays)
        count, sizes = _samples(function, arrays)
        loop = function.loop(count)
        if loop is None:
            return
        leading = [(array, array.ndim - len(core.dims)) for array, core in filled]
        strides = [array.strides[0] if lead else 0 for array, lead in leading]
        inner = [step for array, lead in leading for step in array.strides[lead:]]
        tables = [
            np.array(each, dtype=np.int64)
            for each in (
                [_address(array) for array, _ in filled],
                [count, *sizes.values()],
                strides + inner,
            )
        ]
        address, code = loop
        self._needed += [code, *tables]
        words[:4] = address, *map(_address, tables)


def signature_of(function: Callee) -> Signature:
    """Return the arrays of a function."""
    if isinstance(function, MatrixCall):
        return function.signature
    kernel = function.kernel
    return Signature(kernel.program.name, kernel.inputs, kernel.outputs, np.dtype(function.dtype))


def _filled(function: Callee, arrays: Sequence[Floats]) -> list[tuple[Floats, CoreArray]]:
    """Arrays that are not empty, with what a function knows of each: machine code takes no others."""
    signature = signature_of(function)
    cores = (*signature.inputs, *signature.outputs)
    return [(array, core) for array, core in zip(arrays, cores, strict=True) if array.size]


def _samples(function: Callee, arrays: Sequence[Floats]) -> tuple[int, dict[int | str, int]]:
    """Return the number of samples in arrays, and the sizes of a function's dimensions in their order."""
    sizes: dict[int | str, int] = {}
    counts: set[int] = set()
    for array, core in _filled(function, arrays):
        lead = array.ndim - len(core.dims)
        counts.update(array.shape[:lead] if lead == 1 else ())
        fits = array.dtype == np.float64 and lead in (0, 1) and len(counts) <= 1
        for dim, size in zip(core.dims, array.shape[lead:], strict=True) if fits else ():
            fits &= sizes.setdefault(dim, size if isinstance(dim, str) else dim) == size
        if not fits:
            name = signature_of(function).name
            raise ArgumentError(f"{name}: {core.name} has shape {array.shape}, which does not fit")
    return max(counts, default=1), sizes


def _address(array: NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _loop_through() -> Callable[[int, int], int]:
    """Return the loop in machine code ``(table, first entry) -> entry``, which is a stop or done by Python."""
    global _native
    if _native is None:
        from chasles.engine.targets.native import machine
        from chasles.engine.targets.native.schedule import ENTRY, SCHEDULE

        code = machine.loaded("schedule", [ENTRY], lambda: [SCHEDULE])
        _native = _RUN(code.address(ENTRY)), code
    return _native[0]


_native: tuple[Callable[[int, int], int], object] | None = None
