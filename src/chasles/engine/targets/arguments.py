"""The arguments of a kernel as NumPy sees them: core shapes behind batch axes that broadcast."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.engine.kernels.shapes import CoreArray


@dataclass(frozen=True)
class CallArguments:
    """The arguments of one call, checked and converted.

    Attributes
    ----------
    arrays
        One array for each argument, in the kernel's dtype: its own batch axes, then the core axes.
    batch
        The batch shape of the results.
    sizes
        The sizes that the call decided, by their name.
    """

    arrays: tuple[NDArray[Any], ...]
    batch: tuple[int, ...]
    sizes: dict[str, int]


@dataclass(frozen=True)
class Signature:
    """What a kernel takes and gives, all of one dtype."""

    name: str
    inputs: tuple[CoreArray, ...]
    outputs: tuple[CoreArray, ...]
    dtype: np.dtype[Any]

    def bind(self, values: Sequence[Any]) -> CallArguments:
        """Check and convert the arguments of a call.

        Raises
        ------
        TypeError
            If their number is wrong, or one is not an array of real numbers.
        ValueError
            If a core shape is wrong, or the batch shapes do not broadcast.
        """
        if len(values) != len(self.inputs):
            names = ", ".join(core.name for core in self.inputs)
            raise TypeError(f"{self.name}() takes {len(self.inputs)} arguments ({names}), not {len(values)}")
        sizes: dict[str, int] = {}
        arrays: list[NDArray[Any]] = []
        batches: list[tuple[int, ...]] = []
        for core, value in zip(self.inputs, values, strict=True):
            array = self._convert(core, value)
            batches.append(self._batch(core, array, sizes))
            arrays.append(array)
        try:
            batch = np.broadcast_shapes(*batches)
        except ValueError:
            listing = ", ".join(f"'{c.name}' {shape}" for c, shape in zip(self.inputs, batches, strict=True))
            raise ValueError(f"{self.name}: the batch axes do not broadcast: {listing}") from None
        return CallArguments(tuple(arrays), batch, sizes)

    def _convert(self, core: CoreArray, value: Any) -> NDArray[Any]:
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise ValueError(f"{self.name}: argument '{core.name}' is not an array: {error}") from None
        if array.dtype.kind not in "biuf":
            raise TypeError(
                f"{self.name}: argument '{core.name}' has dtype {array.dtype}; an array of real numbers is expected"
            )
        with np.errstate(all="ignore"):
            return array.astype(self.dtype, copy=False)

    def _batch(self, core: CoreArray, array: NDArray[Any], sizes: dict[str, int]) -> tuple[int, ...]:
        split = array.ndim - len(core.dims)
        given = array.shape[max(split, 0) :]
        matches = split >= 0 and all(
            size == (sizes.setdefault(expected, size) if isinstance(expected, str) else expected)
            for size, expected in zip(given, core.dims, strict=True)
        )
        if not matches:
            expected = ", ".join(str(sizes.get(size, size) if isinstance(size, str) else size) for size in core.dims)
            raise ValueError(
                f"{self.name}: argument '{core.name}' has shape {array.shape}; expected (..., {expected}), "
                "where ... are batch axes"
            )
        return array.shape[:split]

    def shape(self, core: CoreArray, bound: CallArguments) -> tuple[int, ...]:
        """Return the full shape of a result."""
        return bound.batch + tuple(bound.sizes[size] if isinstance(size, str) else size for size in core.dims)

    def deliver(self, results: Iterable[NDArray[Any]], out: Any = None) -> Any:
        """Return full-shaped results as a ufunc does: bare if there is one, scalars for shape (), copied to ``out``."""
        arrays = tuple(results)
        if out is None:
            bare = tuple(array[()] for array in arrays)
            return bare[0] if len(bare) == 1 else bare
        targets = out if isinstance(out, tuple) else (out,)
        if len(targets) != len(arrays):
            raise ValueError(f"{self.name}: 'out' must be {len(arrays)} array(s), not {len(targets)}")
        returned: list[Any] = []
        for core, array, target in zip(self.outputs, arrays, targets, strict=True):
            if target is None:
                returned.append(array[()])
                continue
            if not isinstance(target, np.ndarray):
                raise TypeError(f"{self.name}: 'out' for '{core.name}' is not an array")
            if target.shape != array.shape:
                raise ValueError(
                    f"{self.name}: 'out' for '{core.name}' has shape {target.shape}; expected {array.shape}"
                )
            with np.errstate(all="ignore"):
                np.copyto(target, array, casting="same_kind")
            returned.append(target)
        return returned[0] if len(returned) == 1 else tuple(returned)
