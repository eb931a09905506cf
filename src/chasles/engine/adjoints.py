"""Adjoints of loops: of scans by a scan backward with checkpoints, of solves by the implicit-function rule."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine.derivatives.scans import adjoint_scan, recording_scan
from chasles.engine.derivatives.solves import adjoint_solve
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.program.program import Argument
from chasles.engine.running.runner import Runner

#: Numbers in the records of a segment of a scan, 32 MB of doubles; what fills less is not cut.
HELD = 4_000_000

Array = NDArray[Any]


class LoopAdjoint:
    """Vector times Jacobian of a scan or a solve, over any leading batch axes.

    Parameters
    ----------
    kernel
        A scan or a solve.
    wrt
        Names of the inputs whose adjoints are wanted.
    dtype
        Type of numbers.
    held
        Numbers that records of a scan may take. A longer scan is cut into segments: their first states are kept, and
        the states within a segment are computed again when its adjoint is. The work is that of at most two scans and
        one backward.
    """

    def __init__(self, kernel: Kernel, wrt: Sequence[str], dtype: str, held: int = HELD) -> None:
        if kernel.repeats:
            raise ArgumentError(
                f"{kernel.program.name} repeats steps whose length their error controls: it has no adjoint. Take steps "
                "of a fixed length"
            )
        self.kernel, self.wrt, self.dtype, self._held = kernel, tuple(wrt), dtype, held

    def __call__(self, *arguments: Any) -> Any:
        """Return the adjoint of each wanted input, one alone without a tuple around it.

        Parameters
        ----------
        *arguments
            Arguments of the function, then an array for each of its results: for a scan the adjoints of the final state
            and of each recorded sample, for a solve that of the solution.
        """
        program = self.kernel.program
        taken = len(self.kernel.inputs)
        expected = taken + (len(program.outputs) if self.kernel.shape == "scan" else 1)
        if len(arguments) != expected:
            raise TypeError(f"the adjoint of {program.name} takes {expected} arguments, not {len(arguments)}")
        if self.kernel.shape == "scan":
            results, _ = self._scan(arguments[:taken], arguments[taken:])
        else:
            results = self._solve(arguments[:taken], arguments[taken:])
        return results[0] if len(results) == 1 else tuple(results)

    def with_samples(self, *arguments: Any) -> tuple[list[Array], list[Array]]:
        """Return the adjoints of a scan, and its samples, one for each run of its step, at no further run."""
        taken = len(self.kernel.inputs)
        return self._scan(arguments[:taken], arguments[taken:], samples=True)

    def _solve(self, arguments: Sequence[Any], adjoints: Sequence[Any]) -> list[Array]:
        """Adjoints of the parameters at the solution; NaN where there is none, zero for the start."""
        state, *_ = self.kernel.program.inputs
        *given, limit = arguments
        solution, _, done = self._forward.call([*given, limit])
        solution = np.where(np.asarray(done)[..., None] > 0, state.vector(solution), np.nan)
        moving = [name for name in self.wrt if name != state.name]
        pulled: Any = self._backward.call([solution, *given[1:], adjoints[0]]) if moving else ()
        by_name = dict(zip(moving, pulled if isinstance(pulled, tuple) else (pulled,), strict=True))
        return [np.asarray(by_name[name]) if name in by_name else np.zeros_like(solution) for name in self.wrt]

    @cached_property
    def _forward(self) -> Runner:
        """The solve itself, or the scan that records its states."""
        if self.kernel.shape == "solve":
            return Runner(self.kernel.program, "solve", self.dtype, "", None)
        return Runner(recording_scan(self.kernel.program, samples=False), "scan", self.dtype, "", None)

    @cached_property
    def _recorder(self) -> Runner:
        """The scan that records its states and samples."""
        return Runner(recording_scan(self.kernel.program, samples=True), "scan", self.dtype, "", None)

    @property
    def _width(self) -> int:
        """Numbers in a record of the backward scan."""
        return self._backward.program.inputs[1].size

    @cached_property
    def _backward(self) -> Runner:
        program = self.kernel.program
        if self.kernel.shape == "solve":
            wanted = [name for name in self.wrt if name != program.inputs[0].name]
            return Runner(adjoint_solve(program, wanted), "map", self.dtype, "", None)
        return Runner(adjoint_scan(program, self.wrt), "scan", self.dtype, "", None)

    def _scan(
        self, arguments: Sequence[Any], adjoints: Sequence[Any], *, samples: bool = False
    ) -> tuple[list[Array], list[Array]]:
        """Adjoints of a scan: forward in segments, then backward through one after another, the last one first."""
        inputs, outputs = self.kernel.program.inputs, self.kernel.program.outputs
        state = _rows(arguments[0], inputs[0], 0)
        steps = np.shape(inputs[1].vector(arguments[1]))
        rows, substeps = steps[len(steps) - len(inputs[1].shape) - 2 :][:2]
        given = _rows(arguments[1], inputs[1], 2)
        given = given.reshape(*given.shape[:-3], rows * substeps, inputs[1].size)
        parameters = [np.asarray(a.vector(x), self.dtype) for a, x in zip(inputs[2:], arguments[2:], strict=True)]
        final = _rows(adjoints[0], outputs[0], 0)
        of_samples = _joined([_rows(x, a, 1) for a, x in zip(outputs[1:], adjoints[1:], strict=True)], rows, substeps)
        batch = np.broadcast_shapes(
            state.shape[:-1], given.shape[:-2], final.shape[:-1], of_samples.shape[:-2],
            *(x.shape[: x.ndim - len(a.shape)] for a, x in zip(inputs[2:], parameters, strict=True)),
        )  # fmt: skip
        recorder = self._recorder if samples else self._forward
        run = _Run(batch, state, given, parameters, final, of_samples)
        return self._backward_through(run, recorder, substeps)

    def _backward_through(self, run: _Run, recorder: Runner, substeps: int) -> tuple[list[Array], list[Array]]:
        inputs, steps, size, batch = self.kernel.program.inputs, run.given.shape[-2], run.state.shape[-1], run.batch
        summed = [a for a in inputs[2:] if a.name in self.wrt]
        carried = np.zeros((*batch, size + sum(a.size for a in summed)), self.dtype)
        carried[..., :size] = run.final
        of_given = np.zeros((*batch, steps, run.given.shape[-1]), self.dtype) if inputs[1].name in self.wrt else None
        samples = []
        length = max(math.isqrt(steps - 1) + 1, self._held // max(1, math.prod(batch) * self._width))
        for first, start in self._segments(run, length):
            part = slice(first, min(first + length, steps))
            _, records, *recorded = recorder.call([start, run.given[..., part, None, :], *run.parameters])
            samples.append(recorded)
            results = self._backward.call([carried, run.record(records, part), *run.parameters])
            carried = results[0] if isinstance(results, tuple) else results
            if of_given is not None:
                of_given[..., part, :] = results[1][..., ::-1, :]
        adjoints = {inputs[0].name: carried[..., :size].reshape(batch + inputs[0].shape)}
        for argument in summed:
            adjoints[argument.name] = carried[..., size : size + argument.size].reshape(batch + argument.shape)
            size += argument.size
        if of_given is not None:
            adjoints[inputs[1].name] = of_given.reshape(*batch, -1, substeps, *inputs[1].shape)
        joined = [np.concatenate(parts[::-1], axis=len(batch)) for parts in zip(*samples, strict=True)]
        return [adjoints[name] for name in self.wrt], joined

    def _segments(self, run: _Run, length: int) -> Iterator[tuple[int, Array]]:
        """First step and first state of each segment, the last one first."""
        given = run.given
        before = (given.shape[-2] - 1) // length  # segments in front of the last one
        if not before:
            yield 0, run.state
            return
        rows = given[..., : before * length, :].reshape(*given.shape[:-2], before, length, given.shape[-1])
        last, starts = self._forward.call([run.state, rows, *run.parameters])
        yield before * length, last
        for k in range(before - 1, -1, -1):
            yield k * length, starts[..., k, : run.state.shape[-1]]


class _Run(NamedTuple):
    """One call of a scan's adjoint: its batch, the scan's arguments, and the adjoints of its results.

    Attributes
    ----------
    batch
        Shape of the batch.
    state, given, parameters
        Arguments; what is given has the axes (steps, size).
    final, of_samples
        Adjoints of the final state, and of all samples of each step, (steps, size).
    """

    batch: tuple[int, ...]
    state: Array
    given: Array
    parameters: Sequence[Array]
    final: Array
    of_samples: Array

    def record(self, records: Array, part: slice) -> Array:
        """Return what the backward scan is given for some steps, the last one first, (*batch, steps, 1, width)."""
        parts = (records, self.given[..., part, :], self.of_samples[..., part, :])
        record = np.empty((*self.batch, records.shape[-2], sum(x.shape[-1] for x in parts)), records.dtype)
        first = 0
        for x in parts:
            record[..., first : first + x.shape[-1]] = x
            first += x.shape[-1]
        return record[..., ::-1, None, :]


def _rows(value: Any, argument: Argument, axes: int) -> Array:
    """Return an array (..., *axes, *shape) with the argument's own axes made one."""
    array = np.asarray(argument.vector(value), dtype=float)
    return array.reshape(*array.shape[: array.ndim - len(argument.shape)], argument.size)


def _joined(samples: Sequence[Array], rows: int, substeps: int) -> Array:
    """Return adjoints of all samples in one array (..., steps, size): of the first substep of each row, then zeros."""
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in samples)) if samples else ()
    joined = np.zeros((*batch, rows, substeps, sum(x.shape[-1] for x in samples)))
    first = 0
    for x in samples:
        joined[..., 0, first : first + x.shape[-1]] = x
        first += x.shape[-1]
    return joined.reshape(*batch, rows * substeps, first)
