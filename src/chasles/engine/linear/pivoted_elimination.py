"""Linear equations inside a program, solved by elimination with partial pivoting.

A program cannot branch, so rows are exchanged by selects. The work is a fixed list of operations, and every matrix that
is not singular has a solution, whatever its pattern of small elements. Source: Golub & Van Loan, Matrix Computations
(4th ed., 2013), section 3.4.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine.functions import absolute, where
from chasles.engine.linear.complex_numbers import Complex
from chasles.engine.linear.known import known_zero
from chasles.engine.program.scalar import Array, Real


def solve(A: Array, b: Array) -> Array:
    """Return the solution x of A x = b, for real elements or `Complex` ones.

    Parameters
    ----------
    A
        Shape (n, n).
    b
        Shape (n,) or, column by column, (n, m).

    Returns
    -------
    ndarray
        Same shape as b. Infinite or NaN if A is singular.

    Examples
    --------
    >>> solve(np.array([[0.0, 2.0], [1.0, 1.0]]), np.array([4.0, 3.0]))  # the first pivot is zero
    array([1., 2.])
    """
    n = len(A)
    right = b if b.ndim == 2 else b[:, None]
    rows = [[*A[i], *right[i]] for i in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            if not _known_zero(rows[i][k]):
                _exchange(rows, k, i)
        reciprocal = 1.0 / rows[k][k]
        rows[k] = [*rows[k][: k + 1], *(reciprocal * value for value in rows[k][k + 1 :])]
        for i in range(k + 1, n):
            if not _known_zero(multiplier := rows[i][k]):
                eliminated = [value - multiplier * of_pivot for value, of_pivot in zip(rows[i], rows[k], strict=True)]
                rows[i] = [*rows[i][: k + 1], *eliminated[k + 1 :]]
    x: list[list[Any]] = [[]] * n
    for i in reversed(range(n)):
        x[i] = rows[i][n:]
        for j in range(i + 1, n):
            x[i] = [value - rows[i][j] * known for value, known in zip(x[i], x[j], strict=True)]
    return np.array(x) if b.ndim == 2 else np.array([row[0] for row in x])


def _exchange(rows: list[list[Any]], k: int, i: int) -> None:
    """Exchange two rows, from column k on, if the lower one's element is larger."""
    lower_is_larger = _magnitude(rows[i][k]) > _magnitude(rows[k][k])
    for j in range(k, len(rows[k])):
        upper, lower = rows[k][j], rows[i][j]
        rows[k][j], rows[i][j] = _chosen(lower_is_larger, lower, upper), _chosen(lower_is_larger, upper, lower)


def _magnitude(value: Real) -> Real:
    """Size of an element, for comparison: of a complex one its square."""
    return value.squared_modulus() if isinstance(value, Complex) else absolute(value)


def _chosen(condition: Any, first: Any, second: Any) -> Any:
    if isinstance(first, Complex) or isinstance(second, Complex):
        return Complex.of(first).chosen(condition, Complex.of(second))
    return where(condition, first, second)


def _known_zero(value: object) -> bool:
    """Whether an element, real or complex, is known to be zero."""
    return known_zero(value.re) and known_zero(value.im) if isinstance(value, Complex) else known_zero(value)
