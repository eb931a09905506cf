"""The two helper functions of the package that are not in the book."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine import Function
from chasles.geometry.vectors import euclidean_norm
from chasles.interop.modern_robotics.checked import book_program, numbers

#: What `NearZero` takes for zero.
NEAR_ZERO = 1e-6


def NearZero(z: ArrayLike) -> Any:
    """Whether a number is closer to zero than 1e-6.

    Unlike in the published package, no other function uses this threshold: they are exact on both sides of it.

    Parameters
    ----------
    z
        A number, or an array of any shape.

    Returns
    -------
    bool or ndarray
        True where the absolute value is below 1e-6; an array for an array.

    Examples
    --------
    >>> NearZero(-1e-7)
    True
    """
    near = np.abs(numbers(z, "NearZero", "z")) < NEAR_ZERO
    return near if near.ndim else bool(near)


def Normalize(V: ArrayLike) -> NDArray[np.float64]:
    """Unit vector in the direction of a vector, of any length from 1e-300 to 1e300.

    Parameters
    ----------
    V
        Vector of any dimension, shape (..., n).

    Returns
    -------
    ndarray
        Shape (..., n). A null vector has no direction: NaN, without a warning.

    Notes
    -----
    The published package treats an array with several axes as one vector; here vectors lie along the last axis.

    Examples
    --------
    >>> Normalize([1, 2, 3])
    array([0.26726124, 0.53452248, 0.80178373])
    """
    vectors = numbers(V, "Normalize", "V")
    if vectors.ndim == 0 or vectors.shape[-1] == 0:
        raise ArgumentError(f"Normalize: V has shape {vectors.shape}; expected (..., n)")
    unit: NDArray[np.float64] = _normalizer(vectors.shape[-1])(vectors)
    return unit


@lru_cache(maxsize=32)
def _normalizer(n: int) -> Function:
    return book_program("Normalize", lambda V: V / euclidean_norm(V), {"V": (n,)})
