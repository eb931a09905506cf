"""Derivatives of kernels by further kernels, on arrays of any library.

A map's derivatives are maps. A scan has a tangent that runs beside it, and an adjoint that runs backward with
checkpoints. A solve has the derivatives of its solution, by the implicit-function rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from chasles.engine.derivatives import programs, scans, solves
from chasles.engine.kernels.shapes import CoreArray, Kernel
from chasles.engine.program.program import Argument

#: Numbers in the records of a segment of a scan, 32 MB of doubles; what fills less is not cut.
HELD = 4_000_000

#: An array of the library.
Array = Any


class ArrayLibrary(NamedTuple):
    """Arrays and kernels of a library.

    Attributes
    ----------
    functions
        Module with NumPy's ``concatenate``, ``broadcast_to``, ``flip``, ``where`` and ``zeros_like``.
    run
        Runs a kernel over leading batch axes, and returns its results.
    repeated
        Returns `adjoints` of a scan that repeats steps, whose number the values of its arguments decide.
    """

    functions: Any
    run: Callable[[Kernel, Sequence[Array]], Sequence[Array]]
    repeated: Callable[[Kernel, tuple[str, ...], Sequence[Array], Sequence[Array]], list[Array]] | None = None


_jvp, _vjp = cache(programs.jvp), cache(programs.vjp)
_tangent_scan, _adjoint_scan = cache(scans.tangent_scan), cache(scans.adjoint_scan)
_recording_scan = cache(scans.recording_scan)
_tangent_solve, _adjoint_solve = cache(solves.tangent_solve), cache(solves.adjoint_solve)


def tangents(
    kernel: Kernel, wrt: tuple[str, ...], arguments: Sequence[Array], directions: Sequence[Array], library: ArrayLibrary
) -> list[Array]:
    """Return the directions of a kernel's results for directions of the inputs named by `wrt`.

    The arrays have leading batch axes that broadcast. A solve moves with its parameters, not with its start.
    """
    if kernel.shape == "map":
        return list(library.run(Kernel(_jvp(kernel.program, wrt)), [*arguments, *directions]))
    by_name = dict(zip(wrt, directions, strict=True))
    if kernel.shape == "scan":
        return _scan_tangents(kernel, by_name, arguments, library)
    return _solve_tangents(kernel, by_name, arguments, library)


def adjoints(
    kernel: Kernel,
    wrt: tuple[str, ...],
    arguments: Sequence[Array],
    of_results: Sequence[Array],
    library: ArrayLibrary,
    held: int = HELD,
) -> list[Array]:
    """Return the adjoints of the inputs named by `wrt`, for adjoints of a kernel's results.

    Parameters
    ----------
    kernel, wrt
        Kernel, and names of the inputs whose adjoints are wanted.
    arguments
        Arguments of the kernel.
    of_results
        Adjoints of its results; of those of a solve, only that of the solution counts. The arrays have leading batch
        axes that broadcast. The results have all of them: the adjoint of an argument that serves all samples is their
        sum.
    library
        Library that computes.
    held
        Numbers that records of a scan may take. A longer scan is cut into segments: their first states are kept, and
        the states within a segment are computed again when its adjoint is. The work is that of at most two scans and
        one backward.
    """
    if kernel.shape == "map":
        return list(library.run(Kernel(_vjp(kernel.program, wrt)), [*arguments, *of_results]))
    if kernel.repeats:
        assert library.repeated is not None
        return library.repeated(kernel, wrt, arguments, of_results)
    if kernel.shape == "scan":
        return scan_adjoints(kernel, wrt, arguments, of_results, library, held)[0]
    return _solve_adjoints(kernel, wrt, arguments, of_results[0], library)


def scan_adjoints(
    kernel: Kernel,
    wrt: tuple[str, ...],
    arguments: Sequence[Array],
    of_results: Sequence[Array],
    library: ArrayLibrary,
    held: int = HELD,
    *,
    samples: bool = False,
    still: int = 0,
) -> tuple[list[Array], list[Array]]:
    """Return the adjoints of a scan and, if asked for, its samples, one for each run of its step.

    So many numbers at the beginning of the state, `still`, count as constant.
    """
    run = _Backward.of(kernel, wrt, arguments, of_results, library, samples, still)
    return run.through_segments(held)


class _Backward(NamedTuple):
    """One call of a scan's adjoint.

    Attributes
    ----------
    kernel, wrt, library
        The scan, names of the wanted inputs, and the library that computes.
    batch
        Shape of the batch.
    state, given, parameters
        Arguments; what is given has the axes (steps, size).
    final, of_samples
        Adjoints of the final state, and of all samples of each step, (steps, size).
    substeps
        Steps for each row of samples.
    samples
        Whether the scan's samples are wanted, too.
    still
        Numbers at the beginning of the state that count as constant.
    """

    kernel: Kernel
    wrt: tuple[str, ...]
    library: ArrayLibrary
    batch: tuple[int, ...]
    state: Array
    given: Array
    parameters: Sequence[Array]
    final: Array
    of_samples: Array
    substeps: int
    samples: bool
    still: int

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        wrt: tuple[str, ...],
        arguments: Sequence[Array],
        of_results: Sequence[Array],
        library: ArrayLibrary,
        samples: bool,
        still: int,
    ) -> _Backward:
        state, given, *parameters = arguments
        ranks = [*map(_rank, kernel.inputs), *map(_rank, kernel.outputs)]
        batch = _batch([*arguments, *of_results], ranks)
        rows, substeps = given.shape[given.ndim - ranks[1] :][:2]
        given = given.reshape((*given.shape[: given.ndim - ranks[1]], rows * substeps, kernel.program.inputs[1].size))
        final, *of_samples = of_results
        joined = _joined(of_samples, kernel.program.outputs[1:], substeps, (*batch, rows), library, _zero(final))
        return cls(kernel, wrt, library, batch, state, given, parameters, final, joined, substeps, samples, still)

    def through_segments(self, held: int) -> tuple[list[Array], list[Array]]:
        """Run forward in segments, then backward through one after another, the last one first."""
        xp, inputs = self.library.functions, self.kernel.program.inputs
        steps, size = self.given.shape[-2], inputs[0].size
        summed = [a for a in inputs[2:] if a.name in self.wrt]
        backward = Kernel(_adjoint_scan(self.kernel.program, self.wrt, self.still), "scan")
        recorder = self._recorder(self.samples)
        width = backward.program.inputs[1].size
        length = max(math.isqrt(max(steps - 1, 0)) + 1, held // max(1, math.prod(self.batch) * width))
        sums = xp.broadcast_to(_zero(self.final), (*self.batch, sum(a.size for a in summed)))
        carried = xp.concatenate([self._wide(self.final, size), sums], -1)
        of_given, samples = [], []
        for first, start in self._segments(length):
            part = slice(first, min(first + length, steps))
            _, records, *recorded = self.library.run(recorder, [start, *self._following(part)])
            samples.append(recorded)
            carried, *others = self.library.run(backward, [carried, self._record(records, part), *self.parameters])
            of_given += [xp.flip(x, (x.ndim - 2,)) for x in others]
        by_name = {inputs[0].name: carried[..., :size]}
        for a in summed:
            by_name[a.name] = carried[..., size : size + a.size].reshape((*self.batch, *a.shape))
            size += a.size
        if of_given:
            together = xp.concatenate(of_given[::-1], len(self.batch))
            by_name[inputs[1].name] = together.reshape((*self.batch, -1, self.substeps, *inputs[1].shape))
        joined = [xp.concatenate(parts[::-1], len(self.batch)) for parts in zip(*samples, strict=True)]
        return [by_name[name] for name in self.wrt], joined

    def _recorder(self, samples: bool) -> Kernel:
        return Kernel(_recording_scan(self.kernel.program, samples=samples), "scan")

    def _following(self, part: slice) -> list[Array]:
        """Return the arguments of a recording scan behind the state, for some steps."""
        return [self.given[..., part, None, :], *self.parameters]

    def _segments(self, length: int) -> Iterator[tuple[int, Array]]:
        """Return first step and first state of each segment, the last one first."""
        given = self.given
        before = max(given.shape[-2] - 1, 0) // length  # segments in front of the last one
        if not before:
            yield 0, self.state
            return
        rows = given[..., : before * length, :].reshape((*given.shape[:-2], before, length, given.shape[-1]))
        last, starts = self.library.run(self._recorder(samples=False), [self.state, rows, *self.parameters])
        yield before * length, last
        for k in range(before - 1, -1, -1):
            yield k * length, starts[..., k, : self.state.shape[-1]]

    def _record(self, records: Array, part: slice) -> Array:
        """Return what the backward scan is given for some steps, the last one first, (*batch, steps, 1, width)."""
        xp, steps = self.library.functions, records.shape[-2]
        parts = (records, self.given[..., part, :], self.of_samples[..., part, :])
        record = xp.concatenate([self._wide(x, steps, x.shape[-1]) for x in parts], -1)
        return xp.flip(record, (record.ndim - 2,))[..., None, :]

    def _wide(self, array: Array, *core: int) -> Array:
        """Return an array with all batch axes."""
        return self.library.functions.broadcast_to(array, (*self.batch, *core))


def _scan_tangents(
    kernel: Kernel, directions: dict[str, Array], arguments: Sequence[Array], library: ArrayLibrary
) -> list[Array]:
    xp, inputs = library.functions, kernel.program.inputs
    state, given, *parameters = arguments
    batch = _batch_of(kernel, directions, arguments)

    def wide(array: Array, *core: int) -> Array:
        return xp.broadcast_to(array, (*batch, *core))

    size = inputs[0].size
    at_start = directions.get(inputs[0].name)
    tangent = _zero(state) if at_start is None else at_start
    both = xp.concatenate([wide(state, size), wide(tangent, size)], -1)
    axis = given.ndim - len(kernel.inputs[1].dims)
    given = given.reshape((*given.shape[: axis + 2], inputs[1].size))
    if inputs[1].name in directions:
        direction, (rows, substeps) = directions[inputs[1].name], given.shape[axis : axis + 2]
        lead = direction.shape[: direction.ndim - len(kernel.inputs[1].dims)]
        direction = direction.reshape((*lead, rows, substeps, inputs[1].size))
        given = xp.concatenate([wide(x, rows, substeps, inputs[1].size) for x in (given, direction)], -1)
    further = [directions[a.name] for a in inputs[2:] if a.name in directions]
    beside = Kernel(_tangent_scan(kernel.program, tuple(directions)), "scan")
    final, *of_samples = library.run(beside, [both, given, *parameters, *further])
    return [final[..., size:], *(of_samples[1:] if kernel.repeats else of_samples)]


def _solve_tangents(
    kernel: Kernel, directions: dict[str, Array], arguments: Sequence[Array], library: ArrayLibrary
) -> list[Array]:
    results = library.run(kernel, arguments)
    moving = tuple(a.name for a in kernel.program.inputs[1:] if a.name in directions)
    batch = _batch_of(kernel, directions, arguments)
    zeros = [library.functions.broadcast_to(_zero(results[0]), (*batch, *x)) for x in (results[0].shape[-1:], (), ())]
    if not moving:
        return zeros
    given = [_solution(results, library), *arguments[1:-1], *(directions[name] for name in moving)]
    (direction,) = library.run(Kernel(_tangent_solve(kernel.program, moving)), given)
    return [library.functions.broadcast_to(direction, zeros[0].shape), *zeros[1:]]


def _solve_adjoints(
    kernel: Kernel, wrt: Sequence[str], arguments: Sequence[Array], of_solution: Array, library: ArrayLibrary
) -> list[Array]:
    """Return the adjoints of the parameters at the solution; NaN where there is none, zero for the start."""
    results = library.run(kernel, arguments)
    moving = tuple(a.name for a in kernel.program.inputs[1:] if a.name in wrt)
    pulled: Sequence[Array] = ()
    if moving:
        given = [_solution(results, library), *arguments[1:-1], of_solution]
        pulled = library.run(Kernel(_adjoint_solve(kernel.program, moving)), given)
    by_name = dict(zip(moving, pulled, strict=True))
    batch = _batch([*arguments, of_solution], [*map(_rank, kernel.inputs), 1])
    for core in (kernel.inputs[0], kernel.inputs[-1]):
        zeros = library.functions.broadcast_to(_zero(results[0]), (*batch, *core.dims))
        by_name.setdefault(core.name, zeros)
    return [by_name[name] for name in wrt]


def _solution(results: Sequence[Array], library: ArrayLibrary) -> Array:
    """Return the solution of a solve, NaN where it is not done."""
    solution, _, done = results
    return library.functions.where(done[..., None] > 0.0, solution, math.nan)


def _joined(
    samples: Sequence[Array],
    outputs: Sequence[Argument],
    substeps: int,
    lead: tuple[int, ...],
    library: ArrayLibrary,
    zero: Array,
) -> Array:
    """Return adjoints of all samples in one array (..., steps, size): of the first substep of each row, then zeros."""
    xp, size = library.functions, sum(a.size for a in outputs)
    steps = (*lead[:-1], lead[-1] * substeps, size)
    if not size:
        return xp.broadcast_to(zero, steps)
    flat = [x.reshape((*x.shape[: x.ndim - len(a.shape)], a.size)) for x, a in zip(samples, outputs, strict=True)]
    first = xp.concatenate([xp.broadcast_to(x, (*lead, x.shape[-1])) for x in flat], -1)
    if substeps == 1:
        return first
    after = xp.broadcast_to(zero, (*lead, substeps - 1, size))
    return xp.concatenate([first[..., None, :], after], -2).reshape(steps)


def _zero(array: Array) -> Array:
    """Return the number 0 in the type, and at the place, of an array."""
    return array[..., :0].sum()


def _batch_of(kernel: Kernel, directions: dict[str, Array], arguments: Sequence[Array]) -> tuple[int, ...]:
    """Return the batch axes of a kernel's arguments and directions."""
    ranks = {core.name: _rank(core) for core in kernel.inputs}
    return _batch([*arguments, *directions.values()], [*ranks.values(), *(ranks[name] for name in directions)])


def _rank(core: CoreArray) -> int:
    return len(core.dims)


def _batch(arrays: Iterable[Array], ranks: Iterable[int]) -> tuple[int, ...]:
    """Return the batch axes of arrays with so many axes of their own."""
    return np.broadcast_shapes(*(tuple(x.shape[: x.ndim - rank]) for x, rank in zip(arrays, ranks, strict=True)))
