"""Section 3.8.1: algebra of matrices and vectors.

Routines without a number in their name take matrices of any size. C must be told the sizes; here they may be left out,
and are checked where they are given.
"""

from __future__ import annotations

from typing import Any

from chasles.geometry.elementary import Array
from chasles.interop.spacelib.routines import routine
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


@routine(A=(3, 3), B=(3, 3))
def molt3(A: Array, B: Array) -> Array:
    """Product A B of 3×3 matrices, shapes (..., 3, 3).

    Examples
    --------
    >>> from chasles.interop.spacelib import UNIT3
    >>> molt3(UNIT3, 2 * UNIT3)[0]
    array([2., 0., 0.])
    """
    return A @ B


@routine(A=(4, 4), B=(4, 4))
def molt4(A: Array, B: Array) -> Array:
    """Product A B of 4×4 matrices, shapes (..., 4, 4).

    Examples
    --------
    >>> from chasles.interop.spacelib import UNIT4
    >>> molt4(UNIT4, 2 * UNIT4)[0]
    array([2., 0., 0., 0.])
    """
    return A @ B


@routine(A=(4, 4), P1=(4,))
def moltp(A: Array, P1: Array) -> Array:
    """Product A P1 of a 4×4 matrix and a point [x, y, z, 1], shapes (..., 4, 4) and (..., 4).

    Examples
    --------
    >>> from chasles.interop.spacelib import UNIT4
    >>> moltp(2 * UNIT4, [1, 2, 3, 1])
    array([2., 4., 6., 2.])
    """
    return A @ P1


@routine(A=(3, 3), v1=(3,))
def moltmv3(A: Array, v1: Array) -> Array:
    """Product A v1 of a 3×3 matrix and a vector, shapes (..., 3, 3) and (..., 3).

    Examples
    --------
    >>> from chasles.interop.spacelib import UNIT3
    >>> moltmv3(2 * UNIT3, [1, 2, 3])
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
    array, factor = matrix(A, d1, d2, "rmolt"), real_array(r, "rmolt", "r")
    return factor[..., *[None] * min(array.ndim, 2)] * array


@routine(A=(3, 3), r=())
def rmolt3(A: Array, r: Any) -> Array:
    """Product r A of a scalar, shape (...), and a 3×3 matrix, shape (..., 3, 3).

    Examples
    --------
    >>> from chasles.interop.spacelib import UNIT3
    >>> rmolt3(UNIT3, 2)[0]
    array([2., 0., 0.])
    """
    multiple: Array = r * A
    return multiple


@routine(A=(4, 4), r=())
def rmolt4(A: Array, r: Any) -> Array:
    """Product r A of a scalar, shape (...), and a 4×4 matrix, shape (..., 4, 4).

    Examples
    --------
    >>> from chasles.interop.spacelib import UNIT4
    >>> rmolt4(UNIT4, -1)[3]
    array([-0., -0., -0., -1.])
    """
    multiple: Array = r * A
    return multiple


@routine(v1=(3,), r=())
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


@routine(A=(3, 3), B=(3, 3))
def sum3(A: Array, B: Array) -> Array:
    """Sum A + B of 3×3 matrices, shapes (..., 3, 3).

    Examples
    --------
    >>> from chasles.interop.spacelib import UNIT3
    >>> sum3(UNIT3, UNIT3)[0]
    array([2., 0., 0.])
    """
    return A + B


@routine(A=(4, 4), B=(4, 4))
def sum4(A: Array, B: Array) -> Array:
    """Sum A + B of 4×4 matrices, shapes (..., 4, 4).

    Examples
    --------
    >>> from chasles.interop.spacelib import UNIT4
    >>> sum4(UNIT4, UNIT4)[0]
    array([2., 0., 0., 0.])
    """
    return A + B


@routine(a=(3,), b=(3,))
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


@routine(A=(3, 3), B=(3, 3))
def sub3(A: Array, B: Array) -> Array:
    """Difference A - B of 3×3 matrices, shapes (..., 3, 3).

    Examples
    --------
    >>> from chasles.interop.spacelib import UNIT3
    >>> sub3(UNIT3, UNIT3)[0]
    array([0., 0., 0.])
    """
    return A - B


@routine(A=(4, 4), B=(4, 4))
def sub4(A: Array, B: Array) -> Array:
    """Difference A - B of 4×4 matrices, shapes (..., 4, 4).

    Examples
    --------
    >>> from chasles.interop.spacelib import UNIT4
    >>> sub4(UNIT4, UNIT4)[0]
    array([0., 0., 0., 0.])
    """
    return A - B


@routine(a=(3,), b=(3,))
def subv(a: Array, b: Array) -> Array:
    """Difference a - b of vectors, shapes (..., 3).

    Examples
    --------
    >>> subv([1, 2, 3], [4, 4, 4])
    array([-3., -2., -1.])
    """
    return a - b
