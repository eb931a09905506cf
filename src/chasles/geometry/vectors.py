"""Vectors of three components and their cross-product matrices."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""An array of floats, or of traced scalars (dtype object)."""

Z_AXIS: Array = np.array([0.0, 0.0, 1.0])
Z_AXIS.flags.writeable = False


def dot(a: Array, b: Array) -> Any:
    """Scalar product of two vectors of equal length.

    >>> float(dot(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])))
    32.0
    """
    return a @ b


def cross(a: Array, b: Array) -> Array:
    """Cross product a x b of two (3,) vectors.

    >>> cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    array([0., 0., 1.])
    """
    ax, ay, az = a
    bx, by, bz = b
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def skew(a: Array) -> Array:
    """Cross-product matrix (3, 3) of a (3,) vector: skew(a) @ b = a x b.

    >>> skew(np.array([1.0, 2.0, 3.0]))
    array([[ 0., -3.,  2.],
           [ 3.,  0., -1.],
           [-2.,  1.,  0.]])
    """
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def unskew(A: Array) -> Array:
    """Vector of the skew part of a (3, 3) matrix: the inverse of `skew`.

    >>> unskew(skew(np.array([1.0, 2.0, 3.0])))
    array([1., 2., 3.])
    """
    return 0.5 * np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])
