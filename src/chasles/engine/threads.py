"""Large batches on several cores: the batch is cut into pieces, each computed by one thread.

Kernels release Python's global lock and every sample is computed on its own, so results do not depend on the cut.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from chasles.engine.kernels import Kernel
from chasles.errors import ArgumentError

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


def call_in_pieces(
    ufunc: Callable[..., Any], kernel: Kernel, arguments: Sequence[Any], out: Any, dtype: str
) -> Any:
    """Call a kernel on its arguments in as many pieces as there are threads, along the longest batch axis."""
    count = get_threads()
    arrays = [np.asarray(argument) for argument in arguments]
    ranks = [len(array.dims) for array in kernel.inputs]
    batches = [array.shape[: array.ndim - rank] for array, rank in zip(arrays, ranks, strict=True)]
    try:
        batch = np.broadcast_shapes(*batches)
    except ValueError:
        batch = ()
    if count == 1 or not batch or any(a.ndim < rank for a, rank in zip(arrays, ranks, strict=True)):
        return ufunc(*arrays) if out is None else ufunc(*arrays, out=out)  # NumPy also words the error of wrong shapes
    axis = int(np.argmax(batch)) - len(batch)
    if out is None:
        sizes: dict[Any, int] = {}
        for array, core in zip(arrays, kernel.inputs, strict=True):
            sizes.update(zip(core.dims, array.shape[array.ndim - len(core.dims) :], strict=True))
        outputs = [np.empty((*batch, *(sizes.get(d, d) for d in core.dims)), dtype) for core in kernel.outputs]
    else:
        outputs = list(out) if isinstance(out, tuple) else [out]
    bounds = np.linspace(0, batch[axis], count + 1).astype(int)

    def piece(start: int, stop: int) -> None:
        taken = [
            array[_along(axis - rank, start, stop)] if len(own) >= -axis and own[axis] > 1 else array
            for array, own, rank in zip(arrays, batches, ranks, strict=True)
        ]
        given = tuple(o[_along(axis - len(core.dims), start, stop)] for o, core in zip(outputs, kernel.outputs, strict=True))
        ufunc(*taken, out=given)

    futures = [_pool(count).submit(piece, a, b) for a, b in zip(bounds[:-1], bounds[1:], strict=True) if b > a]
    for future in futures:
        future.result()
    if out is not None:
        return out[0] if isinstance(out, tuple) and len(out) == 1 else out
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _along(axis: int, start: int, stop: int) -> tuple[Any, ...]:
    """Index that cuts a negative axis."""
    return (..., slice(start, stop), *[slice(None)] * (-axis - 1))
