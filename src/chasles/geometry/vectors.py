"""Vectors of three components: products, lengths, angles, and cross-product matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine import atan2, sqrt
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
    c = elementary.cross(a, b)
    return atan2(sqrt(c @ c), a @ b)
