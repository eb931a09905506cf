"""States as one vector, or as several with names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.engine import Layout
from chasles.errors import ArgumentError


def state_layout(y0: Any) -> tuple[Layout, NDArray[np.float64]]:
    """Layout of a state, and its values (..., n) in one array.

    Raises
    ------
    ArgumentError
        It is not an array (..., n), or a mapping of such arrays, of finite numbers.

    Examples
    --------
    >>> layout, y = state_layout({"q": [0.1, 0.2], "qd": [1.0, 2.0]})
    >>> y, layout.split(y).qd
    (array([0.1, 0.2, 1. , 2. ]), array([1., 2.]))
    """
    if not isinstance(y0, Mapping):
        y = _checked(y0, "y0")
        return Layout(y.shape[-1:]), y
    arrays = {name: _checked(value, f"y0['{name}']") for name, value in y0.items()}
    layout = Layout({name: array.shape[-1:] for name, array in arrays.items()})
    return layout, layout.join(arrays)


def _checked(value: Any, what: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} must be an array of numbers, not {value!r}") from None
    if array.ndim < 1 or array.shape[-1] == 0:
        raise ArgumentError(f"{what} has shape {array.shape}; expected (..., n), of one number (1,)")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{what} must be finite")
    return array
