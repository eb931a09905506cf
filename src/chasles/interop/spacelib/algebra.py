"""Sections 3.8.1 and 3.8.2: algebra of matrices and vectors, and general operations on matrices.

Routines without a number in their name take matrices of any size. C must be told the sizes; here they may be left out,
and are checked where they are given.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from chasles.engine import absolute, maximum
from chasles.geometry import elementary
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.interop.spacelib.dimensions import checked_dim, embedded, upper_left
from chasles.interop.spacelib.sizes import matrix, real_array, same_size


def molt(A: Any, B: Any, d1: int | None = None, d2: int | None = None, d3: int | None = None) -> Array:
    """Product A B.

    Parameters
    ----------
    A, B
        Shapes (..., d1, d2) and (..., d2, d3), or (d2,) for a single column.
    d1, d2, d3
        Their sizes.

    Examples
    --------
    >>> molt([[1, 2], [3, 4]], [[1], [1]])
    array([[3.],
           [7.]])
    """
    left, right = matrix(A, d1, d2, "molt"), matrix(B, d2, d3, "molt", "B")
    product: Array = matrix(left, None, right.shape[-2 if right.ndim > 1 else 0], "molt") @ right
    return product


@batched(A=(3, 3), B=(3, 3))
def molt3(A: Array, B: Array) -> Array:
    """Product A B of 3×3 matrices, shapes (..., 3, 3).

    Examples
    --------
    >>> molt3(np.eye(3), 2 * np.eye(3))[0]
    array([2., 0., 0.])
    """
    return A @ B


@batched(A=(4, 4), B=(4, 4))
def molt4(A: Array, B: Array) -> Array:
    """Product A B of 4×4 matrices, shapes (..., 4, 4).

    Examples
    --------
    >>> molt4(np.eye(4), 2 * np.eye(4))[0]
    array([2., 0., 0., 0.])
    """
    return A @ B


@batched(A=(4, 4), P1=(4,))
def moltp(A: Array, P1: Array) -> Array:
    """Product A P1 of a 4×4 matrix and a point [x, y, z, 1], shapes (..., 4, 4) and (..., 4).

    Examples
    --------
    >>> moltp(2 * np.eye(4), [1, 2, 3, 1])
    array([2., 4., 6., 2.])
    """
    return A @ P1


@batched(A=(3, 3), v1=(3,))
def moltmv3(A: Array, v1: Array) -> Array:
    """Product A v1 of a 3×3 matrix and a vector, shapes (..., 3, 3) and (..., 3).

    Examples
    --------
    >>> moltmv3(2 * np.eye(3), [1, 2, 3])
    array([2., 4., 6.])
    """
    return A @ v1


def rmolt(A: Any, r: Any, d1: int | None = None, d2: int | None = None) -> Array:
    """Product r A of a scalar and a matrix.

    Parameters
    ----------
    A
        Shape (..., d1, d2), or (d1,) for a single column.
    r
        Shape (...).
    d1, d2
        Sizes of A.

    Examples
    --------
    >>> rmolt([[1, 2], [3, 4]], 2)
    array([[2., 4.],
           [6., 8.]])
    """
    array, factor = matrix(A, d1, d2, "rmolt"), real_array(r)
    return factor[..., *[None] * min(array.ndim, 2)] * array


@batched(A=(3, 3), r=())
def rmolt3(A: Array, r: Any) -> Array:
    """Product r A of a scalar, shape (...), and a 3×3 matrix, shape (..., 3, 3).

    Examples
    --------
    >>> rmolt3(np.eye(3), 2)[0]
    array([2., 0., 0.])
    """
    multiple: Array = r * A
    return multiple


@batched(A=(4, 4), r=())
def rmolt4(A: Array, r: Any) -> Array:
    """Product r A of a scalar, shape (...), and a 4×4 matrix, shape (..., 4, 4).

    Examples
    --------
    >>> rmolt4(np.eye(4), -1)[3]
    array([-0., -0., -0., -1.])
    """
    multiple: Array = r * A
    return multiple


@batched(v1=(3,), r=())
def rmoltv(v1: Array, r: Any) -> Array:
    """Product r v1 of a scalar, shape (...), and a vector, shape (..., 3).

    Examples
    --------
    >>> rmoltv([1, 2, 3], 2)
    array([2., 4., 6.])
    """
    multiple: Array = r * v1
    return multiple


def sum(A: Any, B: Any, d1: int | None = None, d2: int | None = None) -> Array:
    """Sum A + B.

    Parameters
    ----------
    A, B
        Shapes (..., d1, d2), or (d1,) for single columns.
    d1, d2
        Their sizes.

    Examples
    --------
    >>> sum([[1, 2]], [[3, 4]], 1, 2)
    array([[4., 6.]])
    """
    first, second = matrix(A, d1, d2, "sum"), matrix(B, d1, d2, "sum", "B")
    same_size(first, second, "sum")
    total: Array = first + second
    return total


@batched(A=(3, 3), B=(3, 3))
def sum3(A: Array, B: Array) -> Array:
    """Sum A + B of 3×3 matrices, shapes (..., 3, 3).

    Examples
    --------
    >>> sum3(np.eye(3), np.eye(3))[0]
    array([2., 0., 0.])
    """
    return A + B


@batched(A=(4, 4), B=(4, 4))
def sum4(A: Array, B: Array) -> Array:
    """Sum A + B of 4×4 matrices, shapes (..., 4, 4).

    Examples
    --------
    >>> sum4(np.eye(4), np.eye(4))[0]
    array([2., 0., 0., 0.])
    """
    return A + B


@batched(a=(3,), b=(3,))
def sumv(a: Array, b: Array) -> Array:
    """Sum a + b of vectors, shapes (..., 3).

    Examples
    --------
    >>> sumv([1, 2, 3], [4, 5, 6])
    array([5., 7., 9.])
    """
    return a + b


def sub(A: Any, B: Any, d1: int | None = None, d2: int | None = None) -> Array:
    """Difference A - B.

    Parameters
    ----------
    A, B
        Shapes (..., d1, d2), or (d1,) for single columns.
    d1, d2
        Their sizes.

    Examples
    --------
    >>> sub([[1, 2]], [[3, 5]], 1, 2)
    array([[-2., -3.]])
    """
    first, second = matrix(A, d1, d2, "sub"), matrix(B, d1, d2, "sub", "B")
    same_size(first, second, "sub")
    difference: Array = first - second
    return difference


@batched(A=(3, 3), B=(3, 3))
def sub3(A: Array, B: Array) -> Array:
    """Difference A - B of 3×3 matrices, shapes (..., 3, 3).

    Examples
    --------
    >>> sub3(np.eye(3), np.eye(3))[0]
    array([0., 0., 0.])
    """
    return A - B


@batched(A=(4, 4), B=(4, 4))
def sub4(A: Array, B: Array) -> Array:
    """Difference A - B of 4×4 matrices, shapes (..., 4, 4).

    Examples
    --------
    >>> sub4(np.eye(4), np.eye(4))[0]
    array([0., 0., 0., 0.])
    """
    return A - B


@batched(a=(3,), b=(3,))
def subv(a: Array, b: Array) -> Array:
    """Difference a - b of vectors, shapes (..., 3).

    Examples
    --------
    >>> subv([1, 2, 3], [4, 4, 4])
    array([-3., -2., -1.])
    """
    return a - b


@batched(a=(3,), b=(3,))
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


def crossMtoM(a: Any, b: Any, dim: int = 3) -> Array:
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


def norm(A: Any, d1: int | None = None, d2: int | None = None) -> Any:
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


@batched(A=(3, 3))
def norm3(A: Array) -> Any:
    """Largest absolute value of a 3×3 matrix's elements, shape (..., 3, 3).

    Examples
    --------
    >>> float(norm3(-2 * np.eye(3)))
    2.0
    """
    return norm(A)


@batched(A=(4, 4))
def norm4(A: Array) -> Any:
    """Largest absolute value of a 4×4 matrix's elements, shape (..., 4, 4).

    Examples
    --------
    >>> float(norm4(-2 * np.eye(4)))
    2.0
    """
    return norm(A)


def transp(A: Any, d1: int | None = None, d2: int | None = None) -> Array:
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


@batched(A=(3, 3))
def transp3(A: Array) -> Array:
    """Transpose of a 3×3 matrix, shape (..., 3, 3).

    Examples
    --------
    >>> transp3([[1, 2, 3], [0, 0, 0], [0, 0, 0]])[:, 0]
    array([1., 2., 3.])
    """
    return A.T


@batched(A=(4, 4))
def transp4(A: Array) -> Array:
    """Transpose of a 4×4 matrix, shape (..., 4, 4).

    Examples
    --------
    >>> transp4([[1, 2, 3, 4], [0] * 4, [0] * 4, [0] * 4])[:, 0]
    array([1., 2., 3., 4.])
    """
    return A.T
