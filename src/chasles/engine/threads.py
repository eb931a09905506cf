"""Large batches on several cores: the batch is cut into pieces, each computed by one thread.

Kernels release Python's global lock and every sample is computed on its own, so results do not depend on the cut.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from chasles.engine.kernels import CoreArray, Kernel
from chasles.errors import ArgumentError

#: A piece smaller than this would leave lanes idle.
_SMALLEST_PIECE = 16
_chosen: int | None = None


def get_threads() -> int:
    """Return how many threads large batches use: as set, or ``CHASLES_THREADS``, or the cores this process may use."""
    if _chosen is not None:
        return _chosen
    try:
        return max(1, int(os.environ["CHASLES_THREADS"]))
    except (KeyError, ValueError):
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_threads(count: int | None) -> None:
    """Choose how many threads large batches use; None returns to the default."""
    global _chosen
    if count is not None and (not isinstance(count, int) or count < 1):
        raise ArgumentError(f"the number of threads must be a positive whole number, not {count!r}")
    _chosen = count


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use a number of threads inside a ``with`` block.

    Examples
    --------
    >>> import chasles as ch
    >>> with ch.threads(1):
    ...     ch.get_threads()
    1
    """
    before = _chosen
    set_threads(count)
    try:
        yield
    finally:
        set_threads(before)


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="chasles")


def call_in_pieces(ufunc: Callable[..., Any], kernel: Kernel, arguments: Sequence[Any], out: Any, dtype: str) -> Any:
    """Call a kernel on its arguments in as many pieces as there are threads, along the longest batch axis."""
    arrays = [np.asarray(argument) for argument in arguments]
    ranks = [len(array.dims) for array in kernel.inputs]
    batches = [array.shape[: max(array.ndim - rank, 0)] for array, rank in zip(arrays, ranks, strict=True)]
    sizes: dict[int | str, int] = {}
    for array, core in zip(arrays, kernel.inputs, strict=True):
        sizes |= dict(zip(core.dims, array.shape[array.ndim - len(core.dims) :], strict=False))
    try:
        batch = np.broadcast_shapes(*batches)
        misfit = any(
            a.shape[len(b) :] != _core_shape(c, sizes) for a, b, c in zip(arrays, batches, kernel.inputs, strict=True)
        )
    except ValueError:
        misfit = True
    if misfit or not batch:
        return ufunc(*arrays) if out is None else ufunc(*arrays, out=out)  # NumPy words the error of a wrong shape
    outputs = (
        list(out if isinstance(out, tuple) else (out,))
        if out is not None
        else _new_outputs(kernel, batch, sizes, dtype)
    )
    axis = int(np.argmax(batch)) - len(batch)
    count = max(1, min(get_threads(), batch[axis] // _SMALLEST_PIECE))
    bounds = np.linspace(0, batch[axis], count + 1).astype(int)

    def piece(start: int, stop: int) -> None:
        taken = [
            array[_along(axis - rank, start, stop)] if len(own) >= -axis and own[axis] > 1 else array
            for array, own, rank in zip(arrays, batches, ranks, strict=True)
        ]
        given = [o[_along(axis - len(core.dims), start, stop)] for o, core in zip(outputs, kernel.outputs, strict=True)]
        ufunc(*taken, out=tuple(given))

    if count == 1:
        ufunc(*arrays, out=tuple(outputs))
    else:
        for future in [_pool(count).submit(piece, *ends) for ends in pairwise(bounds)]:
            future.result()
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _new_outputs(
    kernel: Kernel, batch: tuple[int, ...], sizes: dict[int | str, int], dtype: str
) -> list[np.ndarray[Any, Any]]:
    """Make the arrays of all outputs in one block of memory.

    One block comes and goes as a whole, so that the system's allocator keeps it for the next call; the pages of
    separate large arrays are handed back and fetched anew each time, which takes longer than computing what goes into
    them.
    """
    shapes = [(*batch, *_core_shape(core, sizes)) for core in kernel.outputs]
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    block = np.empty(ends[-1], dtype)
    return [part.reshape(shape) for part, shape in zip(np.split(block, ends[:-1]), shapes, strict=True)]


def _core_shape(core: CoreArray, sizes: dict[int | str, int]) -> tuple[int, ...]:
    return tuple(dim if isinstance(dim, int) else sizes[dim] for dim in core.dims)


def _along(axis: int, start: int, stop: int) -> tuple[Any, ...]:
    """Index that cuts a negative axis."""
    return (..., slice(start, stop), *[slice(None)] * (-axis - 1))
