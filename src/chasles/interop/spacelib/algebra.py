"""Section 3.8.1: algebra of matrices and vectors.

Routines without a number in their name take matrices of any size. C must be told the sizes; here they may be left out,
and are checked where they are given.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from chasles.geometry.elementary import Array
from chasles.interop.spacelib.routines import routine
from chasles.interop.spacelib.sizes import matrix, real_array, same_size


def molt(A: Array, B: Array, d1: int | None = None, d2: int | None = None, d3: int | None = None) -> Array:
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


def rmolt(A: Array, r: Array, d1: int | None = None, d2: int | None = None) -> Array:
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


def sum(A: Array, B: Array, d1: int | None = None, d2: int | None = None) -> Array:
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


def sub(A: Array, B: Array, d1: int | None = None, d2: int | None = None) -> Array:
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


def _of_size(name: str, formula: Callable[..., Any], meaning: str, example: str, printed: str, *shapes: Any) -> Any:
    """Return a routine for arrays of one size: a formula under the routine's name, with an example."""
    copy = FunctionType(formula.__code__, globals(), name)
    copy.__module__, copy.__qualname__ = __name__, name
    copy.__doc__ = f"{meaning}\n\n    Examples\n    --------\n    >>> {example}\n    {printed}\n    "
    arguments = formula.__code__.co_varnames
    return routine(**dict(zip(arguments, shapes, strict=True)))(copy)


#: Meaning, formulas of matrices and of vectors, and whether the second argument is a scalar.
_OPERATIONS: dict[str, tuple[str, Callable[..., Any], Callable[..., Any] | None, bool]] = {
    "molt": ("Product A B", lambda A, B: A @ B, None, False),
    "rmolt": ("Product r times", lambda A, r: r * A, lambda v1, r: r * v1, True),
    "sum": ("Sum", lambda A, B: A + B, lambda a, b: a + b, False),
    "sub": ("Difference", lambda A, B: A - B, lambda a, b: a - b, False),
}


def _matrix_routine(operation: str, n: int) -> Any:
    """Return the routine of an operation on n×n matrices."""
    meaning, formula, _, scalar = _OPERATIONS[operation]
    name = f"{operation}{n}"
    first = {"molt": 2.0, "rmolt": 2.0, "sum": 3.0, "sub": -1.0}[operation]
    unit = f"UNIT{n}"
    example = (
        f"from chasles.interop.spacelib import {unit}\n    >>> {name}({unit}, {'2' if scalar else f'2 * {unit}'})[0]"
    )
    printed = f"array([{', '.join([f'{first:.0f}.'] + ['0.'] * (n - 1))}])"
    text = f"{meaning} of {n}×{n} matrices, shapes (..., {n}, {n}){' and (...)' if scalar else ''}."
    return _of_size(name, formula, text, example, printed, (n, n), () if scalar else (n, n))


def _vector_routine(operation: str, printed: str) -> Any:
    """Return the routine of an operation on vectors."""
    meaning, _, formula, scalar = _OPERATIONS[operation]
    assert formula is not None
    example = f"{operation}v([1, 2, 3], {'2' if scalar else '[4, 4, 4]'})"
    text = f"{meaning} of vectors, shapes (..., 3){' and (...)' if scalar else ''}."
    return _of_size(f"{operation}v", formula, text, example, printed, (3,), () if scalar else (3,))


molt3, molt4 = (_matrix_routine("molt", n) for n in (3, 4))
rmolt3, rmolt4 = (_matrix_routine("rmolt", n) for n in (3, 4))
sum3, sum4 = (_matrix_routine("sum", n) for n in (3, 4))
sub3, sub4 = (_matrix_routine("sub", n) for n in (3, 4))
rmoltv = _vector_routine("rmolt", "array([2., 4., 6.])")
sumv = _vector_routine("sum", "array([5., 6., 7.])")
subv = _vector_routine("sub", "array([-3., -2., -1.])")
