"""Section 3.8.3: general operations on vectors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.engine import absolute, maximum, sqrt, where
from chasles.errors import ArgumentError
from chasles.geometry import vectors
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.interop.spacelib.sizes import real_array

cross = vectors.cross


class UnitVector(NamedTuple):
    """What `unitv` returns.

    Attributes
    ----------
    u
        Unit vector, shape (..., 3); null where the vector is.
    rv
        Length of the vector, shape (...).
    """

    u: Array
    rv: Array


def clearv() -> Array:
    """Null vector, shape (3,).

    Examples
    --------
    >>> clearv()
    array([0., 0., 0.])
    """
    return np.zeros(3)


@batched(a=(3,), b=(3,))
def dot(a: Array, b: Array) -> Any:
    """Scalar product of two vectors, shapes (..., 3).

    Examples
    --------
    >>> float(dot([1, 2, 3], [4, 5, 6]))
    32.0
    """
    return a @ b


def dot2(a: Any, b: Any, dim: int | None = None) -> Any:
    """Scalar product of the first `dim` elements of two vectors; of all where `dim` is not given.

    Parameters
    ----------
    a, b
        Shapes (..., n) with the same n ≥ dim.
    dim
        Number of elements.

    Examples
    --------
    >>> float(dot2([1, 2, 3, 4], [1, 1, 1, 1], 3))
    6.0
    """
    first, second = real_array(a), real_array(b)
    if not first.ndim or not second.ndim or first.shape[-1] != second.shape[-1]:
        raise ArgumentError(f"dot2: a and b must be vectors of one length, not of shapes {first.shape}, {second.shape}")
    if dim is not None and not 0 <= dim <= first.shape[-1]:
        raise ArgumentError(f"dot2: dim must be from 0 to the vectors' length {first.shape[-1]}, not {dim}")
    return (first[..., :dim] * second[..., :dim]).sum(axis=-1)


@batched(a=(3,))
def mod(a: Array) -> Any:
    """Length of a vector, shape (..., 3). Components of 1e-300 or 1e300 lose nothing.

    Examples
    --------
    >>> float(mod([3.0, 0.0, 4.0]))
    5.0
    """
    return _scaled(a)[1]


@batched(v=(3,))
def unitv(v: Array) -> UnitVector:
    """Unit vector of a vector, and its length.

    Parameters
    ----------
    v
        Shape (..., 3). The null vector gives u = 0 and the length 0.

    Examples
    --------
    >>> unitv([0.0, 3.0, 4.0])
    UnitVector(u=array([0. , 0.6, 0.8]), rv=np.float64(5.0))
    """
    unit, length = _scaled(v)
    return UnitVector(unit, length)


@batched(u=(3,), mdl=())
def vector(u: Array, mdl: Any) -> Array:
    """Vector with a length and a direction: mdl u.

    Parameters
    ----------
    u
        Unit vector, shape (..., 3).
    mdl
        Length, shape (...).

    Examples
    --------
    >>> vector([0.0, 0.6, 0.8], 5.0)
    array([0., 3., 4.])
    """
    v: Array = mdl * u
    return v


def _scaled(v: Array) -> tuple[Array, Any]:
    """Unit vector and length, from a vector whose largest component is 1, so that no square over- or underflows."""
    largest = maximum(maximum(absolute(v[0]), absolute(v[1])), absolute(v[2]))
    null = largest == 0.0
    scaled = v / where(null, 1.0, largest)
    length = sqrt(where(null, 1.0, scaled @ scaled))
    return scaled / length, largest * length
