"""Lengths and directions of vectors of any size: nothing is squared that could overflow or vanish."""

from __future__ import annotations

from typing import Any

from chasles.engine import absolute, maximum, sqrt, where
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array

#: A vector whose square differs from 1 by no more than this is a unit vector but for rounding.
_ROUNDING = 1e-15


@batched(v=(3,))
def vector_length(v: Array) -> Any:
    """Length of a vector.

    Parameters
    ----------
    v
        Vector, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (...), exact to rounding whatever the size of the components.

    Examples
    --------
    >>> vector_length([3e-200, 0.0, 4e-200])
    np.float64(5e-200)
    """
    largest = largest_component(v)
    is_null = largest <= 0.0
    scaled = v / where(is_null, 1.0, largest)
    return largest * sqrt(where(is_null, 1.0, scaled @ scaled))


@batched(v=(3,))
def normalize(v: Array) -> Array:
    """Unit vector in the direction of a vector.

    Parameters
    ----------
    v
        Vector, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (..., 3); NaN for the null vector.

    Examples
    --------
    >>> normalize([3e-200, 0.0, 4e-200])
    array([0.6, 0. , 0.8])
    """
    scaled = v / largest_component(v)
    return scaled / sqrt(scaled @ scaled)


def unit_direction(v: Array) -> Array:
    """Return the unit vector in the direction of v; NaN for the null vector.

    A vector that is a unit vector already, to rounding, stays as it is, so that the difference of two nearly parallel
    ones keeps all its digits.
    """
    is_unit = absolute(v @ v - 1.0) <= _ROUNDING
    return where(is_unit, v, normalize(v))


def largest_component(*vectors: Array) -> Any:
    """Return the largest absolute value of the components of all vectors."""
    largest: Any = 0.0
    for vector in vectors:
        for component in vector:
            largest = maximum(largest, absolute(component))
    return largest
