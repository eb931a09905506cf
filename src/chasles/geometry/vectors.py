"""Vectors of three components: products, lengths, angles, and cross-product matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine import absolute, atan2, maximum, sqrt, where
from chasles.engine.symbols import is_symbol
from chasles.geometry import elementary
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array


@batched(a=(3,), b=(3,))
def cross(a: Array, b: Array) -> Array:
    """Cross product a x b.

    Parameters
    ----------
    a, b
        Vectors, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (..., 3).

    Examples
    --------
    >>> cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    array([0., 0., 1.])
    """
    return elementary.cross(a, b)


@batched(a=(3,))
def skew(a: Array) -> Array:
    """Cross-product matrix of a vector: skew(a) @ b = a x b.

    Parameters
    ----------
    a
        Vector, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (..., 3, 3).

    Examples
    --------
    >>> skew([1.0, 2.0, 3.0])
    array([[ 0., -3.,  2.],
           [ 3.,  0., -1.],
           [-2.,  1.,  0.]])
    """
    return elementary.skew(a)


@batched(A=(3, 3))
def vee(A: Array) -> Array:
    """Vector (3,) of the skew part of a matrix: the inverse of `skew`.

    Parameters
    ----------
    A
        Matrix, shape (..., 3, 3). Its symmetric part is ignored.

    Returns
    -------
    ndarray
        Shape (..., 3): half the differences of the entries across the diagonal.

    Examples
    --------
    >>> vee(skew([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """
    return 0.5 * np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])


@batched(a=(3,), b=(3,))
def dot(a: Array, b: Array) -> Any:
    """Scalar product a · b.

    Parameters
    ----------
    a, b
        Vectors, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (...).

    Examples
    --------
    >>> dot([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    np.float64(32.0)
    """
    return a @ b


@batched(a=(3,))
def norm(a: Array) -> Any:
    """Length of a vector, without overflow or underflow on the way: 1e-300 and 1e300 are lengths like any other.

    Parameters
    ----------
    a
        Vector, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (...). Its derivative at the null vector, which has none, is taken as 0.

    Examples
    --------
    >>> norm([3e300, 4e300, 0.0])
    np.float64(5e+300)
    """
    return euclidean_norm(a)


@batched(a=(3,))
def normalize(a: Array) -> Array:
    """Unit vector in the direction of a vector of any length.

    Parameters
    ----------
    a
        Vector, shape (..., 3). A null vector has no direction: NaN.

    Returns
    -------
    ndarray
        Shape (..., 3).

    Examples
    --------
    >>> normalize([3e-300, 4e-300, 0.0])
    array([0.6, 0.8, 0. ])
    """
    scaled = a * _safe_scale(a)[0]
    unit: Array = scaled / sqrt(scaled @ scaled)
    return unit


@batched(a=(3,), b=(3,))
def angle_between(a: Array, b: Array) -> Any:
    """Angle in [0, pi] between two vectors of any length, rad.

    It keeps all digits near 0 and near pi, where the arc cosine of the scalar product loses half of them.

    Parameters
    ----------
    a, b
        Vectors, shape (..., 3). A null vector makes the angle 0.

    Returns
    -------
    ndarray
        Shape (...).

    Examples
    --------
    >>> angle_between([1.0, 0.0, 0.0], [1.0, 1e-12, 0.0])
    np.float64(1e-12)
    """
    a, b = a * _safe_scale(a)[0], b * _safe_scale(b)[0]
    return atan2(euclidean_norm(elementary.cross(a, b)), a @ b)


def euclidean_norm(components: Array) -> Any:
    """Root of the sum of squares of any number of components: a plain formula; see `norm`."""
    if any(map(is_symbol, components)):
        return sqrt(components @ components)
    scale, inverse = _safe_scale(components)
    scaled = components * scale
    square = scaled @ scaled
    is_null = square <= 0.0
    return where(is_null, 0.0, sqrt(where(is_null, 1.0, square)) * inverse)


def _safe_scale(components: Array) -> tuple[Any, Any]:
    """Power of two that takes components to where their squares neither overflow nor underflow, and its inverse."""
    if any(map(is_symbol, components)):
        return 1.0, 1.0
    largest: Any = 0.0
    for component in components:
        largest = maximum(largest, absolute(component))
    tiny, huge = largest < 2.0**-400, largest > 2.0**400
    scale = where(tiny, 2.0**600, where(huge, 2.0**-600, 1.0))
    return scale, where(tiny, 2.0**-600, where(huge, 2.0**600, 1.0))
