"""Schedules: calls of compiled functions on arrays that stay where they are, with jumps, and no Python in between.

An algorithm that repeats a few short compiled steps until a number says so spends its time on Python's calls. A
schedule is that algorithm as a list: calls, jumps where a number of an array is positive, and stops. One loop in
machine code goes through the list; where there is no compiler, a loop in Python does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.function import Function
from chasles.engine.running.compiling import native_available

Floats = NDArray[np.float64]
_RUN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)


class _Entry(NamedTuple):
    """One line of the list: a call, or a jump to a label where a number is positive, or a stop.

    Attributes
    ----------
    work
        What it does in Python; None for jumps and stops.
    words
        Addresses of a loop in machine code, its arguments, dimensions and strides; zeros for others.
    flag
        Number that a jump looks at.
    label
        Where a jump leads, or the name of a stop.
    """

    work: Callable[[], object] | None
    words: tuple[int, int, int, int]
    flag: Floats | None
    label: str


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
        self._entries: list[_Entry] = []
        self._labels: dict[str, int] = {}
        self._needed: list[object] = []  # what the table has addresses of
        self._table: NDArray[np.int64] | None = None

    def label(self, name: str) -> None:
        """Name the entry that follows."""
        self._labels[name] = len(self._entries)

    def call(self, function: Function[Any], inputs: Sequence[Floats], outputs: Sequence[Floats]) -> None:
        """Call a function: arrays have its shapes, or one axis of samples before them; a map may write its inputs."""
        given = outputs[0] if len(outputs) == 1 else tuple(outputs)
        words = self._loop(function, [*inputs, *outputs])
        self._entries.append(_Entry(lambda: function.general_call(*inputs, out=given), words, None, ""))

    def python(self, work: Callable[[], object]) -> None:
        """Call something in Python."""
        self._entries.append(_Entry(work, (0, 0, 0, 0), None, ""))

    def jump(self, label: str, flag: Floats) -> None:
        """Go on at a label if a number is positive."""
        self._entries.append(_Entry(None, (0, 0, 0, 0), flag, label))

    def stop(self, name: str) -> None:
        """End the run."""
        self._entries.append(_Entry(None, (0, 0, 0, 0), None, name))

    def run(self, label: str) -> str:
        """Go through the list from a label on, to a stop; return its name."""
        at = self._labels[label]
        if self._table is None and native_available():
            self._table = self._compiled()
        while True:
            if self._table is not None:
                at = _loop_through()(_address(self._table), at)
            entry = self._entries[at]
            if entry.work is not None:
                entry.work()
                at += 1
            elif entry.flag is None:
                return entry.label
            else:
                at = self._labels[entry.label] if entry.flag > 0.0 else at + 1

    def _compiled(self) -> NDArray[np.int64]:
        """Rows of six words: a call's four, the address of a jump's number and where it leads."""
        jumps = [
            (0, 0) if entry.flag is None else (_address(entry.flag), self._labels[entry.label])
            for entry in self._entries
        ]
        return np.array([[*entry.words, *jump] for entry, jump in zip(self._entries, jumps, strict=True)])

    def _loop(self, function: Function[Any], arrays: Sequence[Floats]) -> tuple[int, int, int, int]:
        """Addresses of a function's loop and of what it takes, as NumPy passes that to loops; zeros without a loop."""
        kernel = function.kernel
        cores = [*kernel.inputs, *kernel.outputs]
        leading = [array.ndim - len(core.dims) for array, core in zip(arrays, cores, strict=True)]
        sizes: dict[int | str, int] = {}
        counts = {array.shape[0] for array, lead in zip(arrays, leading, strict=True) if lead == 1}
        for array, core, lead in zip(arrays, cores, leading, strict=True):
            fits = array.dtype == np.float64 and lead in (0, 1) and len(counts) <= 1
            for dim, size in zip(core.dims, array.shape[lead:], strict=True) if fits else ():
                fits &= sizes.setdefault(dim, size if isinstance(dim, str) else dim) == size
            if not fits:
                raise ArgumentError(f"{kernel.program.name}: {core.name} has shape {array.shape}, which does not fit")
        count = max(counts, default=1)
        loop = function.loop(count)
        if loop is None:
            return 0, 0, 0, 0
        address, code = loop
        strides = [array.strides[0] if lead else 0 for array, lead in zip(arrays, leading, strict=True)]
        inner = [step for array, lead in zip(arrays, leading, strict=True) for step in array.strides[lead:]]
        words = [_address(array) for array in arrays], [count, *(sizes[dim] for dim in kernel.symbols)], strides + inner
        tables = [np.array(each, dtype=np.int64) for each in words]
        self._needed += [code, *arrays, *tables]
        return address, *(_address(table) for table in tables)  # type: ignore[return-value]


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
