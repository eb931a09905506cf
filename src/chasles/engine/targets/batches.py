"""Batch axes of the arrays of other libraries: in front of the axes that a kernel knows, broadcast as NumPy does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.engine.kernels.shapes import CoreArray

#: An array of any library.
Array = Any


def with_batch(name: str, cores: Sequence[CoreArray], arrays: Sequence[Array], broadcast_to: Callable[..., Any]) -> Any:
    """Return arrays with all batch axes, or without any: an array without them serves all samples.

    Raises
    ------
    ArgumentError
        An array has another shape than its core, or the batch axes do not broadcast; `name` names the function.
    """
    sizes = core_sizes(name, cores, arrays)
    leading = [tuple(x.shape[: x.ndim - len(core.dims)]) for x, core in zip(arrays, cores, strict=True)]
    batch = _common(name, cores, leading)
    return [
        broadcast_to(x, (*batch, *core_shape(core, sizes))) if axes and axes != batch else x
        for x, core, axes in zip(arrays, cores, leading, strict=True)
    ]


def core_sizes(name: str, cores: Sequence[CoreArray], arrays: Sequence[Array]) -> dict[str, int]:
    """Return the sizes that arrays decide, by their letters, and check all others."""
    sizes: dict[str, int] = {}
    for array, core in zip(arrays, cores, strict=True):
        own = tuple(array.shape[max(array.ndim - len(core.dims), 0) :])
        matches = len(own) == len(core.dims) and all(
            size == (sizes.setdefault(dim, size) if isinstance(dim, str) else dim)
            for size, dim in zip(own, core.dims, strict=True)
        )
        if not matches:
            shape = (sizes.get(dim, dim) if isinstance(dim, str) else dim for dim in core.dims)
            expected = ", ".join(["...", *map(str, shape)])
            raise ArgumentError(f"{name}: {core.name} has shape {tuple(array.shape)}; expected ({expected})")
    return sizes


def core_shape(core: CoreArray, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Return the shape of an array without batch axes."""
    return tuple(sizes[dim] if isinstance(dim, str) else dim for dim in core.dims)


def common_batch(cores: Sequence[CoreArray], arrays: Sequence[Array]) -> tuple[int, ...]:
    """Return the batch axes of arrays that have all of them, or none."""
    leading = [tuple(x.shape[: x.ndim - len(core.dims)]) for x, core in zip(arrays, cores, strict=True)]
    return max(leading, key=len, default=())


def with_mapped_axis(
    cores: Sequence[CoreArray], arrays: Sequence[Array], axes: Sequence[int | None], moveaxis: Callable[..., Any]
) -> list[Array]:
    """Return arrays with the axis over which they are mapped before all other batch axes, as many in each."""
    moved = [x if axis is None else moveaxis(x, axis, 0) for x, axis in zip(arrays, axes, strict=True)]
    outer = [tuple(x.shape[: x.ndim - len(core.dims)]) for x, core in zip(moved, cores, strict=True)]
    inner = max(len(batch) - (axis is not None) for batch, axis in zip(outer, axes, strict=True))
    return [
        x if axis is None else x.reshape((batch[0], *(batch[1:] or [1] * inner), *x.shape[len(batch) :]))
        for x, batch, axis in zip(moved, outer, axes, strict=True)
    ]


def _common(name: str, cores: Sequence[CoreArray], batches: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    if batches.count(batches[0]) == len(batches):
        return batches[0]
    try:
        return np.broadcast_shapes(*batches)
    except ValueError:
        listing = ", ".join(f"{c.name} {batch}" for c, batch in zip(cores, batches, strict=True) if batch)
        raise ArgumentError(f"{name}: the batch axes of the arguments do not broadcast: {listing}") from None
