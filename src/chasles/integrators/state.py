"""States as one vector, or as several with names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.errors import ArgumentError


@dataclass(frozen=True)
class StateParts:
    """Parts of a state by name and size; None for one vector without parts.

    Examples
    --------
    >>> parts, y = state_parts({"q": [0.1, 0.2], "qd": [1.0, 2.0]})
    >>> parts.n, parts.named(y)["qd"]
    (4, array([1., 2.]))
    """

    n: int
    sizes: tuple[tuple[str, int], ...] | None = None

    def named(self, y: Any) -> Any:
        """Array (..., n) of a state as a mapping of its parts."""
        if self.sizes is None:
            return y
        ends = np.cumsum([size for _, size in self.sizes]).tolist()
        return {name: y[..., end - size : end] for (name, size), end in zip(self.sizes, ends, strict=True)}

    def vector(self, rates: Any) -> Any:
        """What a right-hand side returned, (n,)."""
        if self.sizes is None:
            vector = np.array(rates, dtype=object)
        elif isinstance(rates, Mapping) and set(rates) == {name for name, _ in self.sizes}:
            vector = np.concatenate([np.array(rates[name], dtype=object) for name, _ in self.sizes])
        else:
            names = ", ".join(name for name, _ in self.sizes)
            raise ArgumentError(f"the function must return a mapping with the parts of the state, {names}")
        if vector.shape != (self.n,):
            raise ArgumentError(f"the function returned rates of shape {vector.shape}; expected ({self.n},), as y has")
        return vector


def state_parts(y0: Any) -> tuple[StateParts, NDArray[np.float64]]:
    """Parts of a state, and its values (..., n) in one array.

    Raises
    ------
    ArgumentError
        It is not an array (..., n), or a mapping of such arrays, of finite numbers.
    """
    given = y0 if isinstance(y0, Mapping) else {"": y0}
    arrays = {}
    for name, value in given.items():
        what = f"y0['{name}']" if name else "y0"
        try:
            arrays[name] = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise ArgumentError(f"{what} must be an array of numbers, not {value!r}") from None
        if arrays[name].ndim < 1 or arrays[name].shape[-1] == 0:
            raise ArgumentError(f"{what} has shape {arrays[name].shape}; expected (..., n), of one number (1,)")
        if not np.isfinite(arrays[name]).all():
            raise ArgumentError(f"{what} must be finite")
    try:
        batch = np.broadcast_shapes(*(array.shape[:-1] for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ArgumentError(f"the batch axes of the parts of y0 do not broadcast: {shapes}") from None
    whole = np.concatenate([np.broadcast_to(a, (*batch, a.shape[-1])) for a in arrays.values()], axis=-1)
    sizes = tuple((name, array.shape[-1]) for name, array in arrays.items()) if isinstance(y0, Mapping) else None
    return StateParts(whole.shape[-1], sizes), whole
