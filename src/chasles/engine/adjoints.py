"""Adjoints of loops: of scans by a scan backward with checkpoints, of solves by the implicit-function rule."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine.derivatives.scans import adjoint_scan, state_scan
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
            Those of the function, then an array for each of its results: for a scan the adjoints of the final state and
            of each recorded sample, for a solve that of the solution.
        """
        program = self.kernel.program
        taken = len(self.kernel.inputs)
        expected = taken + (len(program.outputs) if self.kernel.shape == "scan" else 1)
        if len(arguments) != expected:
            raise TypeError(f"the adjoint of {program.name} takes {expected} arguments, not {len(arguments)}")
        compute = self._scan if self.kernel.shape == "scan" else self._solve
        results = compute(arguments[:taken], arguments[taken:])
        return results[0] if len(results) == 1 else tuple(results)

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
        return Runner(state_scan(self.kernel.program), "scan", self.dtype, "", None)

    @cached_property
    def _backward(self) -> Runner:
        program = self.kernel.program
        if self.kernel.shape == "solve":
            wanted = [name for name in self.wrt if name != program.inputs[0].name]
            return Runner(adjoint_solve(program, wanted), "map", self.dtype, "", None)
        return Runner(adjoint_scan(program, self.wrt), "scan", self.dtype, "", None)

    def _scan(self, arguments: Sequence[Any], adjoints: Sequence[Any]) -> list[Array]:
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
        return self._backward_through(batch, state, given, parameters, final, of_samples, substeps)

    def _backward_through(
        self,
        batch: tuple[int, ...],
        state: Array,
        given: Array,
        parameters: Sequence[Array],
        final: Array,
        of_samples: Array,
        substeps: int,
    ) -> list[Array]:
        inputs, steps, size = self.kernel.program.inputs, given.shape[-2], state.shape[-1]
        summed = [a for a in inputs[2:] if a.name in self.wrt]
        carried = np.zeros((*batch, size + sum(a.size for a in summed)), self.dtype)
        carried[..., :size] = final
        width = size + given.shape[-1] + of_samples.shape[-1]
        of_given = np.zeros((*batch, steps, given.shape[-1]), self.dtype) if inputs[1].name in self.wrt else None
        length = max(math.isqrt(steps - 1) + 1, self._held // max(1, math.prod(batch) * width))
        for first, start in self._segments(state, given, parameters, length):
            part = slice(first, min(first + length, steps))
            _, states = self._forward.call([start, given[..., part, None, :], *parameters])
            record = np.empty((*batch, part.stop - first, width), self.dtype)
            record[..., :size] = states
            record[..., size : size + given.shape[-1]] = given[..., part, :]
            record[..., size + given.shape[-1] :] = of_samples[..., part, :]
            results = self._backward.call([carried, record[..., ::-1, None, :], *parameters])
            carried = results[0] if isinstance(results, tuple) else results
            if of_given is not None:
                of_given[..., part, :] = results[1][..., ::-1, :]
        adjoints = {inputs[0].name: carried[..., :size].reshape(batch + inputs[0].shape)}
        for argument in summed:
            adjoints[argument.name] = carried[..., size : size + argument.size].reshape(batch + argument.shape)
            size += argument.size
        if of_given is not None:
            adjoints[inputs[1].name] = of_given.reshape(*batch, -1, substeps, *inputs[1].shape)
        return [adjoints[name] for name in self.wrt]

    def _segments(
        self, state: Array, given: Array, parameters: Sequence[Array], length: int
    ) -> Iterator[tuple[int, Array]]:
        """First step and first state of each segment, the last one first."""
        before = (given.shape[-2] - 1) // length  # segments in front of the last one
        if not before:
            yield 0, state
            return
        rows = given[..., : before * length, :].reshape(*given.shape[:-2], before, length, given.shape[-1])
        last, starts = self._forward.call([state, rows, *parameters])
        yield before * length, last
        for k in range(before - 1, -1, -1):
            yield k * length, starts[..., k, :]


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
