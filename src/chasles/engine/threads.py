"""Large batches on several cores: the batch is cut into pieces, each computed by one thread.

Kernels release Python's global lock and every sample is computed on its own, so results do not depend on the cut.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.engine.kernels import Kernel
from chasles.errors import ArgumentError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

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
    from concurrent.futures import ThreadPoolExecutor  # imported for large batches only

    return ThreadPoolExecutor(count, thread_name_prefix="chasles")


def call_in_pieces(ufunc: Callable[..., Any], kernel: Kernel, arguments: Sequence[Any], out: Any, dtype: str) -> Any:
    """Call a kernel on its arguments in as many pieces as there are threads, along the longest batch axis."""
    if get_threads() == 1 and (out is not None or len(kernel.program.outputs) == 1):
        return ufunc(*arguments) if out is None else ufunc(*arguments, out=out)
    arrays = [np.asarray(argument) for argument in arguments]
    ranks = [len(core.dims) for core in kernel.inputs]
    batches = [array.shape[: max(array.ndim - rank, 0)] for array, rank in zip(arrays, ranks, strict=True)]
    fit = _batch_and_output_shapes(kernel, arrays, batches)
    given = out if isinstance(out, tuple) or out is None else (out,)
    if fit is None or (given is not None and [np.shape(array) for array in given] != fit[1]):
        # There is no batch, or NumPy words the error.
        return ufunc(*arrays) if out is None else ufunc(*arrays, out=out)
    batch, shapes = fit
    outputs = _in_one_block(shapes, dtype) if given is None else given
    axis = int(np.argmax(batch)) - len(batch)
    count = max(1, min(get_threads(), batch[axis] // _SMALLEST_PIECE))

    def piece(start: int, stop: int) -> None:
        taken = [
            array[_along(axis - rank, start, stop)] if len(own) >= -axis and own[axis] > 1 else array
            for array, own, rank in zip(arrays, batches, ranks, strict=True)
        ]
        filled = [
            o[_along(axis - len(core.dims), start, stop)] for o, core in zip(outputs, kernel.outputs, strict=True)
        ]
        ufunc(*taken, out=tuple(filled))

    if count == 1:
        ufunc(*arrays, out=tuple(outputs))
    else:
        bounds = np.linspace(0, batch[axis], count + 1).astype(int)
        for future in [_pool(count).submit(piece, *ends) for ends in pairwise(bounds)]:
            future.result()
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _batch_and_output_shapes(
    kernel: Kernel, arrays: Sequence[np.ndarray[Any, Any]], batches: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]] | None:
    """Return the batch and the shape of each output, or None where the arguments do not fit or are a single sample."""
    sizes: dict[int | str, int] = {}
    for array, core in zip(arrays, kernel.inputs, strict=True):
        own = array.shape[max(array.ndim - len(core.dims), 0) :]
        if len(own) != len(core.dims):
            return None
        for dim, size in zip(core.dims, own, strict=True):
            if sizes.setdefault(dim, size if isinstance(dim, str) else dim) != size:
                return None
    try:
        batch = np.broadcast_shapes(*batches)
    except ValueError:
        return None
    shapes = [(*batch, *(sizes.get(d, d) for d in core.dims)) for core in kernel.outputs]
    return (batch, shapes) if batch else None


def _in_one_block(shapes: Sequence[tuple[int, ...]], dtype: str) -> list[np.ndarray[Any, Any]]:
    """Make arrays in one block of memory.

    One block comes and goes as a whole, so that the system's allocator keeps it for the next call; the pages of
    separate large arrays are handed back and fetched anew each time, which takes longer than computing what goes into
    them.
    """
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    parts = np.split(np.empty(ends[-1], dtype), ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def _along(axis: int, start: int, stop: int) -> tuple[Any, ...]:
    """Index that cuts a negative axis."""
    return (..., slice(start, stop), *[slice(None)] * (-axis - 1))
