"""The NumPy target: programs run operation by operation on whole batches.

It is the target where there is no compiler, and the oracle against which the native target is tested. Its three kernels
are called as generalized ufuncs are: positional arrays with leading batch axes that broadcast, and ``out=``.

Batches are worked off in chunks that stay in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.kernels.shapes import CoreArray, Kernel
from chasles.engine.program.operations import OPERATIONS
from chasles.engine.program.program import Program, operands
from chasles.engine.targets.arguments import CallArguments, Signature

_CHUNK = 4096


class Evaluator:
    """Runs a program on one array (or NumPy scalar) for each input scalar, forgetting each value after its last use.

    Parameters
    ----------
    program
        Program to run.
    dtype
        ``float64`` or ``float32``; constants are rounded to it.
    """

    def __init__(self, program: Program, dtype: np.dtype[Any], known: dict[str, Evaluator] | None = None) -> None:
        known = {} if known is None else known
        self._program = program
        with np.errstate(all="ignore"):
            self._constants = {k: dtype.type(i[1]) for k, i in enumerate(program.instructions) if i[0] == "constant"}
        self._called: list[Evaluator] = []
        for called in program.programs:
            if called.digest not in known:
                known[called.digest] = Evaluator(called, dtype, known)
            self._called.append(known[called.digest])
        last_use = {k: index for index, i in enumerate(program.instructions) for k in operands(i)}
        for k in program.results:
            last_use.pop(k, None)
        self._dying: list[list[int]] = [[] for _ in program.instructions]
        for k, index in last_use.items():
            self._dying[index].append(k)

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Return one array for each output scalar; arrays of size 1 broadcast against the others."""
        with np.errstate(all="ignore"):
            return self._run(inputs)

    def _run(self, inputs: Sequence[Any]) -> list[Any]:
        values: list[Any] = [None] * len(self._program.instructions)
        for index, (operation, *rest) in enumerate(self._program.instructions):
            if operation == "constant":
                values[index] = self._constants[index]
            elif operation == "input":
                values[index] = inputs[rest[0]]
            elif operation == "item":
                values[index] = values[rest[0]][rest[1]]
            elif operation == "call":
                values[index] = self._called[rest[0]]._run([values[k] for k in rest[1:]])
            else:
                values[index] = OPERATIONS[operation].numpy(*[values[k] for k in rest])
            for k in self._dying[index]:
                values[k] = None
        return [values[k] for k in self._program.results]


class _Kernel:
    """What the kernels share: batches flattened to columns, one for each scalar of each argument."""

    def __init__(self, kernel: Kernel, dtype: DTypeLike) -> None:
        program = self.program = kernel.program
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float64, np.float32):
            raise ArgumentError(f"{program.name}: the dtype must be float64 or float32, not {self.dtype}")
        self.signature = Signature(program.name, kernel.inputs, kernel.outputs, self.dtype)
        self._evaluate = Evaluator(program, self.dtype)

    def __call__(self, *arguments: Any, out: Any = None) -> Any:
        bound = self.signature.bind(arguments)
        count = int(np.prod(bound.batch, dtype=np.int64))
        given = zip(bound.arrays, self.signature.inputs, strict=True)
        columns = [_columns(array, core, bound, count) for array, core in given]
        shapes = [self.signature.shape(core, bound) for core in self.signature.outputs]
        sizes = [int(np.prod(shape[len(bound.batch) :], dtype=np.int64)) for shape in shapes]
        rows = [np.empty((count, size), self.dtype) for size in sizes]
        for chunk in _chunks(count):
            inputs = [np.ascontiguousarray(c if c.shape[1] == 1 else c[:, chunk]) for c in columns]
            self._fill([row[chunk] for row in rows], inputs, bound)
        return self.signature.deliver((r.reshape(s) for r, s in zip(rows, shapes, strict=True)), out)

    def _fill(self, rows: Sequence[NDArray[Any]], inputs: Sequence[NDArray[Any]], bound: CallArguments) -> None:
        """Compute the results of some samples: inputs are (scalars, samples or 1), rows (samples, scalars)."""
        raise NotImplementedError


class NumpyKernel(_Kernel):
    """Map: the program once for each sample.

    Parameters
    ----------
    program
        Program to compute.
    dtype
        ``float64`` or ``float32``.

    Examples
    --------
    >>> from chasles.engine import trace
    >>> spring = NumpyKernel(trace(lambda x, k: -k * x, {"x": (2,), "k": ()}, name="spring"))
    >>> spring([[1.0, 2.0], [3.0, 4.0]], 10.0)
    array([[-10., -20.],
           [-30., -40.]])
    """

    def __init__(self, program: Program, dtype: DTypeLike = np.float64) -> None:
        super().__init__(Kernel(program, "map"), dtype)

    def _fill(self, rows: Sequence[NDArray[Any]], inputs: Sequence[NDArray[Any]], bound: CallArguments) -> None:
        _store(rows, self._evaluate(_scalars(inputs)))


class NumpyScan(_Kernel):
    """Scan: a loop in time, one state a sample.

    The program takes ``state (s,)``, ``t ()`` and parameters, and gives the next state and samples. The kernel takes
    ``state (..., s)``, ``t (..., S, k)`` and the parameters; it runs the program at ``t[0, 0]``, ``t[0, 1]``, …,
    ``t[S-1, k-1]`` in this order, each time on the state that the last run gave. It returns the final state and, for
    each row of ``t``, the samples computed at its first time, (..., S, *shape).

    Parameters
    ----------
    program
        Program to compute.
    dtype
        ``float64`` or ``float32``.

    Examples
    --------
    Half a second of a falling body in ten Euler steps, of which every fifth is kept:

    >>> from chasles.engine import trace
    >>> import numpy as np
    >>> def step(state, t):
    ...     return np.array([state[0] + 0.05 * state[1], state[1] - 0.05 * 9.81]), state[0]
    >>> fall = NumpyScan(trace(step, {"state": (2,), "t": ()}))
    >>> final, height = fall([0.0, 0.0], np.arange(10.0).reshape(2, 5) * 0.05)
    >>> height
    array([ 0.     , -0.24525])
    """

    def __init__(self, program: Program, dtype: DTypeLike = np.float64) -> None:
        kernel = Kernel(program, "scan")
        super().__init__(kernel, dtype)
        self._repeats = kernel.repeats
        self._state_size = program.inputs[0].size

    def _fill(self, rows: Sequence[NDArray[Any]], inputs: Sequence[NDArray[Any]], bound: CallArguments) -> None:
        steps, substeps = bound.sizes["S"], bound.sizes["k"]
        if steps and not substeps:
            name = self.signature.inputs[1].name
            raise ValueError(f"{self.program.name}: each row of '{name}' needs at least one step")
        samples = [row.reshape(len(row), steps, -1) for row in rows[1:] if row.size]
        state: list[Any] = list(inputs[0])
        given = inputs[1]
        size = self.program.inputs[1].size
        parameters = _scalars(inputs[2:])
        for step in range(steps):
            for substep in range(substeps):
                first = (step * substeps + substep) * size
                results = self._evaluate([*state, *given[first : first + size], *parameters])
                state = results[: self._state_size]
                if substep == 0:
                    _store([sample[:, step] for sample in samples], results[self._state_size :])
                while self._repeats and np.any(results[self._state_size] > 0.0):
                    results = self._evaluate([*state, *given[first : first + size], *parameters])
                    state = results[: self._state_size]
        _store(rows[:1], state)


class NumpySolve(_Kernel):
    """Solve: iterate each sample until its condition holds.

    The program takes ``state (s,)`` and parameters, and gives the next state and ``done ()``. The kernel takes
    ``state (..., s)``, the parameters and ``max_iterations (...)``. Each sample is stepped until ``done`` is positive
    or ``max_iterations`` steps are made, and is frozen then. It returns the state after the last step, the number of
    steps, and the last ``done`` (0 if no step was made).

    Parameters
    ----------
    program
        Program to compute.
    dtype
        ``float64`` or ``float32``.

    Examples
    --------
    Heron's square root:

    >>> from chasles.engine import absolute, trace, where
    >>> def step(x, a):
    ...     new = (x + a / x) / 2
    ...     return new, where(absolute(new - x)[0] < 1e-9, 1.0, 0.0)
    >>> root = NumpySolve(trace(step, {"x": (1,), "a": ()}))
    >>> root([1.0], [4.0, 9.0], 20)[0].ravel()
    array([2., 3.])
    """

    def __init__(self, program: Program, dtype: DTypeLike = np.float64) -> None:
        super().__init__(Kernel(program, "solve"), dtype)

    def _fill(self, rows: Sequence[NDArray[Any]], inputs: Sequence[NDArray[Any]], bound: CallArguments) -> None:
        state, iterations, done = rows
        state[...] = inputs[0].T
        iterations[...] = 0.0
        done[...] = 0.0
        limit = np.broadcast_to(inputs[-1][0], len(state))
        parameters = _scalars(inputs[1:-1])
        running = np.flatnonzero(limit > 0.0)
        while running.size:
            *new_state, new_done = self._evaluate(
                [*state[running].T, *(p if p.size == 1 else p[running] for p in parameters)]
            )
            for k, value in enumerate(new_state):
                state[running, k] = value
            done[running, 0] = new_done
            iterations[running, 0] += 1.0
            running = running[~(done[running, 0] > 0.0) & (iterations[running, 0] < limit[running])]


def compile_kernel(kernel: Kernel, dtype: DTypeLike) -> NumpyKernel | NumpyScan | NumpySolve:
    """Return a function that runs a kernel."""
    kinds: dict[str, type[NumpyKernel | NumpyScan | NumpySolve]]
    kinds = {"map": NumpyKernel, "scan": NumpyScan, "solve": NumpySolve}
    return kinds[kernel.shape](kernel.program, dtype)


def _columns(array: NDArray[Any], core: CoreArray, bound: CallArguments, count: int) -> NDArray[Any]:
    """Return an argument as (scalars, samples), or (scalars, 1) if all samples share it."""
    split = array.ndim - len(core.dims)
    size = int(np.prod(array.shape[split:], dtype=np.int64))
    if int(np.prod(array.shape[:split], dtype=np.int64)) == 1:
        return array.reshape(1, size).T
    return np.broadcast_to(array, bound.batch + array.shape[split:]).reshape(count, size).T


def _chunks(count: int) -> Iterator[slice]:
    for start in range(0, count, _CHUNK):
        yield slice(start, min(start + _CHUNK, count))


def _scalars(inputs: Sequence[NDArray[Any]]) -> list[Any]:
    return [scalar for columns in inputs for scalar in columns]


def _store(rows: Sequence[NDArray[Any]], results: Sequence[Any]) -> None:
    """Write results into the columns of the rows, which follow one another."""
    columns = (row[:, k] for row in rows for k in range(row.shape[1]))
    for column, result in zip(columns, results, strict=True):
        column[...] = result
