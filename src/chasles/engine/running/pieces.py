"""Long calls of kernels, cut into pieces: several threads share them, and interrupts are answered between them.

Kernels release Python's global lock and compute every sample on its own, so results do not depend on the cut. A map is
cut along its batch. A scan is cut along its steps as well, and goes on from the state in which the piece before ended.
A solve is cut into rounds of iterations, and the samples that are not done go on from their states. Between two windows
of steps and two rounds each thread looks whether another was interrupted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.engine.cpython.memory import empty
from chasles.engine.kernels.shapes import UNINTERRUPTED_WORK, WORTH_THREADS, CoreArray, Kernel, work_of_a_sample
from chasles.engine.kernels.threads import get_threads, run_all

#: A piece of fewer samples would leave lanes idle.
_SMALLEST_PIECE = 16
#: Iterations of a solve that a piece of its batch has time for in one round; most samples are done by then.
_ITERATIONS_OF_A_ROUND = 64
#: Bytes of results that a piece writes to for the first time in one call: the system clears them in that call, the more
#: slowly the busier the machine is. It does so page by page, and the pages of large arrays may be this large.
_MOST_FRESH, _LARGEST_PAGE = 1 << 26, 1 << 21
#: Work from which the results may be so large that memory of earlier ones is worth looking for.
WORTH_PIECES = 2_000_000

Array = NDArray[Any]


def call_in_pieces(
    ufunc: Callable[..., Any], kernel: Kernel, arguments: Sequence[Any], out: Any, dtype: str, work: int, owner: object
) -> Any:
    """Call a kernel on its arguments in pieces of bounded work.

    Parameters
    ----------
    ufunc
        The kernel as a generalized ufunc.
    kernel
        Its shape and arrays.
    arguments
        Arrays, one for each of its inputs.
    out
        Array or tuple of arrays for the results, or None.
    dtype
        Type of new results.
    work
        Work of the whole call, in scalar operations.
    owner
        Object that keeps the machine code alive.
    """
    arrays = [np.asarray(argument) for argument in arguments]
    fit = _batch_and_output_shapes(kernel, arrays)
    given = out if isinstance(out, tuple) or out is None else (out,)
    if fit is None or (given is not None and not _are_arrays_of(given, fit[1])):
        # NumPy words the error.
        return ufunc(*arrays) if out is None else ufunc(*arrays, out=out)
    batch, shapes = fit
    if given is None:
        outputs = [empty(shape, dtype) for shape in shapes]
        _compute(_Call(ufunc, kernel, arrays, outputs, owner), batch, work)
        return _as_ufuncs_return(outputs)
    if kernel.shape != "map" and any(array.dtype != dtype for array in given):
        # What goes on from piece to piece must not be rounded in between.
        exact = call_in_pieces(ufunc, kernel, arrays, None, dtype, work, owner)
        _copy(exact if isinstance(exact, tuple) else (exact,), given)
        return out
    arrays = [_apart(array, core, given, kernel) for array, core in zip(arrays, kernel.inputs, strict=True)]
    _compute(_Call(ufunc, kernel, arrays, given, owner), batch, work)
    return out


class _Call:
    """The arrays of one call, or of a piece of its batch: each with leading batch axes that broadcast."""

    def __init__(
        self,
        ufunc: Callable[..., Any],
        kernel: Kernel,
        arrays: Sequence[Array],
        outputs: Sequence[Array],
        owner: object,
    ) -> None:
        self.ufunc, self.kernel, self.arrays, self.outputs, self.owner = ufunc, kernel, arrays, outputs, owner

    def part(self, axis: int, start: int, stop: int) -> _Call:
        """Return the part of the batch between two indices along a (negative) batch axis."""
        cut = partial(_cut, axis=axis, start=start, stop=stop)
        arrays = [cut(array, core) for array, core in zip(self.arrays, self.kernel.inputs, strict=True)]
        outputs = [cut(array, core) for array, core in zip(self.outputs, self.kernel.outputs, strict=True)]
        return _Call(self.ufunc, self.kernel, arrays, outputs, self.owner)


def _compute(call: _Call, batch: tuple[int, ...], work: int) -> None:
    """Compute the outputs of a call, by several threads if that is worth it."""
    threads = get_threads() if work > WORTH_THREADS else 1
    if not batch:
        inputs, outputs = ([array[np.newaxis] for array in arrays] for arrays in (call.arrays, call.outputs))
        run_all(_tasks(_Call(call.ufunc, call.kernel, inputs, outputs, call.owner), (1,), 1), 1)
    elif threads == 1 and call.kernel.shape == "map" and work <= UNINTERRUPTED_WORK:
        call.ufunc(*call.arrays, out=tuple(call.outputs))
    else:
        run_all(_tasks(call, batch, threads), threads)


def _cut(array: Array, core: CoreArray, axis: int, start: int, stop: int) -> Array:
    place = axis - len(core.dims)
    if array.ndim < -place or array.shape[place] == 1:  # it broadcasts along this axis
        return array
    part: Array = array[_along(place, start, stop)]
    return part


def _along(axis: int, start: int, stop: int) -> tuple[Any, ...]:
    """Index that cuts a negative axis."""
    return (..., slice(start, stop), *[slice(None)] * (-axis - 1))


def _tasks(call: _Call, batch: tuple[int, ...], threads: int) -> Iterator[Iterator[None]]:
    """Yield what computes each piece of the batch, a stretch of bounded work at a time."""
    work = work_of_a_sample(call.kernel)
    run: Callable[[_Call, int], Iterator[None]] = _run_map
    if call.kernel.shape == "scan":
        work *= max(1, call.arrays[1].shape[_substep_axis(call.kernel)])
        run = _run_scan
    elif call.kernel.shape == "solve":
        work *= _ITERATIONS_OF_A_ROUND
        run = _run_solve
    axis = int(np.argmax(batch)) - len(batch)
    samples = math.prod(batch)
    # The first steps of a scan are recorded at the beginning of each run's part of the results.
    fresh = sum(min(output.nbytes, samples * _LARGEST_PAGE) for output in call.outputs)
    pieces = max(threads, math.ceil(work * samples / UNINTERRUPTED_WORK), math.ceil(fresh / _MOST_FRESH))
    pieces = max(1, min(pieces, batch[axis] // _SMALLEST_PIECE))
    bounds = np.linspace(0, batch[axis], pieces + 1).astype(int)
    bounds[1:-1] -= bounds[1:-1] % _SMALLEST_PIECE  # so that pieces begin where lines of the cache do
    for start, stop in pairwise(bounds.tolist()):
        yield run(call.part(axis, start, stop), samples // pieces)


def _run_map(call: _Call, _samples: int) -> Iterator[None]:
    call.ufunc(*call.arrays, out=tuple(call.outputs))
    yield


def _substep_axis(kernel: Kernel) -> int:
    """Axis of the substeps of the scan's second input, after that of the steps."""
    return -len(kernel.inputs[1].dims) + 1


def _run_scan(call: _Call, samples: int) -> Iterator[None]:
    """Run the steps in windows, each from the final state of the one before."""
    state, given, *parameters = call.arrays
    final, *recorded = call.outputs
    axis = _substep_axis(call.kernel)
    steps, substeps = given.shape[axis - 1], given.shape[axis]
    runs = max(1, UNINTERRUPTED_WORK // (max(1, samples) * work_of_a_sample(call.kernel)))  # of the program
    length = max(1, runs // substeps)
    for first in range(0, max(1, steps), length):
        window = given[_along(axis - 1, first, first + length)]
        records = [
            record[_along(-len(core.dims), first, first + length)]
            for record, core in zip(recorded, call.kernel.outputs[1:], strict=True)
        ]
        for begin in range(0, substeps, runs):
            # A step is recorded in its first substep; what later windows of the same step record is of no use.
            kept = records if begin == 0 else [np.empty_like(record) for record in records]
            call.ufunc(state, window[_along(axis, begin, begin + runs)], *parameters, out=(final, *kept))
            state = final
            yield


def _run_solve(call: _Call, samples: int) -> Iterator[None]:
    """Iterate in rounds; those samples that are not done go on together from their states."""
    kernel = call.kernel
    *arrays, limits = call.arrays
    final, iterations, done = call.outputs

    def round_length(count: int) -> int:
        return max(1, UNINTERRUPTED_WORK // (max(1, count) * work_of_a_sample(kernel)))

    length = round_length(samples)
    call.ufunc(*arrays, np.minimum(limits, length), out=(final, iterations, done))
    yield
    allowed = np.broadcast_to(limits, done.shape)
    while (unfinished := ~(done > 0) & (iterations < allowed)).any():
        waiting = [
            np.broadcast_to(array, done.shape + array.shape[array.ndim - len(core.dims) :])[unfinished]
            for array, core in zip(arrays[1:], kernel.inputs[1:], strict=False)
        ]
        length = round_length(int(unfinished.sum()))
        left = np.minimum(allowed[unfinished] - iterations[unfinished], length)
        states, more, now_done = call.ufunc(final[unfinished], *waiting, left)
        final[unfinished] = states
        iterations[unfinished] += more
        done[unfinished] = now_done
        yield


def _as_ufuncs_return(outputs: Sequence[Array]) -> Any:
    """Numbers in place of arrays without dimensions, and one result alone."""
    results = [output if output.ndim else output[()] for output in outputs]
    return results[0] if len(results) == 1 else tuple(results)


def _copy(results: Sequence[Array], arrays: Sequence[Array]) -> None:
    for result, array in zip(results, arrays, strict=True):
        np.copyto(array, result, casting="same_kind")


def _are_arrays_of(given: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> bool:
    return all(isinstance(array, np.ndarray) for array in given) and [array.shape for array in given] == shapes


def _apart(array: Array, core: CoreArray, outputs: Sequence[Array], kernel: Kernel) -> Array:
    """Return an input, or a copy of it if one piece would write what another has yet to read."""
    for output, written in zip(outputs, kernel.outputs, strict=True):
        same = (
            array.__array_interface__ == output.__array_interface__
            and len(core.dims) == len(written.dims)
            and kernel.shape == "map"
        )
        if not same and np.may_share_memory(array, output):
            return array.copy()
    return array


def _batch_and_output_shapes(
    kernel: Kernel, arrays: Sequence[Array]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]] | None:
    """Return the batch and the shape of each output, or None where the arguments do not fit."""
    sizes: dict[int | str, int] = {}
    batches = []
    for array, core in zip(arrays, kernel.inputs, strict=True):
        core_shape = array.shape[max(array.ndim - len(core.dims), 0) :]
        if len(core_shape) != len(core.dims):
            return None
        for dim, size in zip(core.dims, core_shape, strict=True):
            if sizes.setdefault(dim, size if isinstance(dim, str) else dim) != size:
                return None
        batches.append(array.shape[: array.ndim - len(core_shape)])
    batch = batches[0]
    if any(other != batch for other in batches):
        try:
            batch = np.broadcast_shapes(*batches)
        except ValueError:
            return None
    return batch, [(*batch, *(sizes.get(d, d) for d in core.dims)) for core in kernel.outputs]
