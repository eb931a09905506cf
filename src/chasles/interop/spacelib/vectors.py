"""Section 3.8.3: general operations on vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.base.comparable import comparable
from chasles.base.errors import ArgumentError
from chasles.engine import where
from chasles.engine.program.scalar import Real
from chasles.geometry import vectors
from chasles.geometry.elementary import Array
from chasles.interop.spacelib import codes
from chasles.interop.spacelib.routines import routine
from chasles.interop.spacelib.sizes import real_array


@comparable
class UnitVector(NamedTuple):
    """Results of `unitv`.

    Attributes
    ----------
    u
        Unit vector, shape (..., 3); null where the vector is.
    rv
        Length of the vector, shape (...).
    """

    u: Array
    rv: Real


@routine(a=(3,), b=(3,))
def cross(a: Array, b: Array) -> Array:
    """Cross product a x b of vectors, shapes (..., 3).

    Examples
    --------
    >>> cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    array([0., 0., 1.])
    """
    product: Array = vectors.cross(a, b)
    return product


@routine(a=(3,), b=(3,))
def dot(a: Array, b: Array) -> Real:
    """Scalar product a . b of vectors, shapes (..., 3).

    Examples
    --------
    >>> dot([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    np.float64(32.0)
    """
    return vectors.dot(a, b)


def clearv() -> Array:
    """Null vector, shape (3,).

    Examples
    --------
    >>> clearv()
    array([0., 0., 0.])
    """
    return np.zeros(3)


def dot2(a: Array, b: Array, dim: int | None = None) -> Real:
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
    first, second = real_array(a, "dot2", "a"), real_array(b, "dot2", "b")
    if not first.ndim or not second.ndim or first.shape[-1] != second.shape[-1]:
        raise ArgumentError(f"dot2: a and b must be vectors of one length, not of shapes {first.shape}, {second.shape}")
    if dim is not None and not 0 <= dim <= first.shape[-1]:
        raise ArgumentError(f"dot2: dim must be from 0 to the vectors' length {first.shape[-1]}, not {dim}")
    return (first[..., :dim] * second[..., :dim]).sum(axis=-1)


@routine(a=(3,))
def mod(a: Array) -> Real:
    """Length of a vector, shape (..., 3). Components of 1e-300 or 1e300 lose nothing.

    Examples
    --------
    >>> float(mod([3.0, 0.0, 4.0]))
    5.0
    """
    return vectors.norm(a)


@routine(v=(3,))
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
    length = vectors.norm(v)
    null = length == 0.0
    direction = where(null, codes.Xaxis, v)  # any but none, so that derivatives stay finite
    return UnitVector(where(null, 0.0, vectors.normalize(direction)), length)


@routine(u=(3,), mdl=())
def vector(u: Array, mdl: Real) -> Array:
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
