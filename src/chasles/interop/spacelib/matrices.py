"""Section 3.8.2: general operations on matrices. The pseudo-inverse is in `linear_systems`.

Routines without a number in their name take matrices of any size. C must be told the sizes; here they may be left out,
and are checked where they are given.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from chasles.engine import absolute, maximum
from chasles.engine.program.scalar import Real
from chasles.geometry import elementary
from chasles.geometry.elementary import Array
from chasles.interop.spacelib.routines import routine
from chasles.interop.spacelib.sizes import checked_dim, embedded, matrix, upper_left


@routine(a=(3,), b=(3,))
def crossvtom(a: Array, b: Array, dim: int = 3) -> Array:
    """Cross-product matrix of a x b: b aᵗ - a bᵗ (3.22), in the upper-left part of a null dim×dim matrix.

    The header calls it `crossVtoM`.

    Parameters
    ----------
    a, b
        Vectors, shapes (..., 3).
    dim
        Size of the result, 3 or more.

    Examples
    --------
    >>> crossvtom([1, 0, 0], [0, 1, 0])
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  0.]])
    """
    return embedded(elementary.skew(elementary.cross(a, b)), dim, "crossvtom")


crossmtom = crossvtom
"""Obsolete name of `crossvtom` (3.20)."""

crossVtoM = crossvtom
"""The header's name of `crossvtom`."""


def crossMtoM(a: Array, b: Array, dim: int = 3) -> Array:
    """Cross-product matrix of a x b from those of a and b: a b - b a (3.24).

    The header has three sizes, the manual one; arrays know those of a and b.

    Parameters
    ----------
    a, b
        Cross-product matrices, in the upper-left 3×3 parts of square matrices of any size.
    dim
        Size of the result, whose other elements are null.

    Examples
    --------
    >>> crossMtoM(crossvtom([1, 0, 0], [0, 1, 0]), crossvtom([0, 1, 0], [0, 0, 1]))
    array([[ 0.,  0.,  1.],
           [ 0.,  0.,  0.],
           [-1.,  0.,  0.]])
    """
    first, second = upper_left(a, None, "crossMtoM", "a"), upper_left(b, None, "crossMtoM", "b")
    bracket = first @ second - second @ first
    margin = checked_dim(dim, "crossMtoM") - 3
    return np.pad(bracket, [(0, 0)] * (bracket.ndim - 2) + [(0, margin)] * 2)


def clear(id: int, jd: int) -> Array:
    """Null matrix, shape (id, jd).

    Examples
    --------
    >>> clear(1, 2)
    array([[0., 0.]])
    """
    return np.zeros((id, jd))


def clear3() -> Array:
    """Null 3×3 matrix.

    Examples
    --------
    >>> clear3().shape
    (3, 3)
    """
    return clear(3, 3)


def clear4() -> Array:
    """Null 4×4 matrix.

    Examples
    --------
    >>> clear4().shape
    (4, 4)
    """
    return clear(4, 4)


def idmat(ijd: int) -> Array:
    """Identity matrix, shape (ijd, ijd). The manual's calling sequence shows a second size, the header does not.

    Examples
    --------
    >>> idmat(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return np.eye(ijd)


def idmat3() -> Array:
    """Identity 3×3 matrix.

    Examples
    --------
    >>> idmat3().shape
    (3, 3)
    """
    return idmat(3)


def idmat4() -> Array:
    """Identity 4×4 matrix.

    Examples
    --------
    >>> idmat4().shape
    (4, 4)
    """
    return idmat(4)


def norm(A: Array, d1: int | None = None, d2: int | None = None) -> Real:
    """Largest absolute value of a matrix's elements; 0 for a matrix without any.

    Parameters
    ----------
    A
        Shape (..., d1, d2), or (d1,) for a single column.
    d1, d2
        Its sizes.

    Examples
    --------
    >>> float(norm([[1, -7], [2, 3]]))
    7.0
    """
    array = matrix(A, d1, d2, "norm")
    axes = (-1,) if array.ndim == 1 else (-2, -1)
    if array.dtype != object:
        return np.abs(array).max(axis=axes, initial=0.0)
    elements = np.moveaxis(array.reshape(*array.shape[: array.ndim - len(axes)], -1), -1, 0)
    return reduce(maximum, [absolute(element) for element in elements])


@routine(A=(3, 3))
def norm3(A: Array) -> Real:
    """Largest absolute value of a 3×3 matrix's elements, shape (..., 3, 3).

    Examples
    --------
    >>> float(norm3(-2 * np.eye(3)))
    2.0
    """
    return norm(A)


@routine(A=(4, 4))
def norm4(A: Array) -> Real:
    """Largest absolute value of a 4×4 matrix's elements, shape (..., 4, 4).

    Examples
    --------
    >>> float(norm4(-2 * np.eye(4)))
    2.0
    """
    return norm(A)


def transp(A: Array, d1: int | None = None, d2: int | None = None) -> Array:
    """Transpose of a matrix.

    Parameters
    ----------
    A
        Shape (..., d1, d2), or (d1,) for a single column.
    d1, d2
        Its sizes.

    Examples
    --------
    >>> transp([[1, 2, 3]])
    array([[1.],
           [2.],
           [3.]])
    """
    array = matrix(A, d1, d2, "transp")
    return array[None, :].copy() if array.ndim == 1 else np.swapaxes(array, -2, -1).copy()


@routine(A=(3, 3))
def transp3(A: Array) -> Array:
    """Transpose of a 3×3 matrix, shape (..., 3, 3).

    Examples
    --------
    >>> transp3([[1, 2, 3], [0, 0, 0], [0, 0, 0]])[:, 0]
    array([1., 2., 3.])
    """
    return A.T


@routine(A=(4, 4))
def transp4(A: Array) -> Array:
    """Transpose of a 4×4 matrix, shape (..., 4, 4).

    Examples
    --------
    >>> transp4([[1, 2, 3, 4], [0] * 4, [0] * 4, [0] * 4])[:, 0]
    array([1., 2., 3., 4.])
    """
    return A.T
