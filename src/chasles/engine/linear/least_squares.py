"""Solving A X = B in the least-squares sense for matrices of numbers or traced scalars, of full column rank or damped.

Householder's reflections need no pivots: the solution is stable wherever the columns are independent, whichever
elements happen to be small there. Columns with the fewest elements that are not known to be zero go first, and a
reflection touches only rows with such elements, so what is known of a sparse matrix is folded away.

Source: Golub & Van Loan, Matrix Computations (4th ed. 2013), sections 5.1.2 and 5.3.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.engine.functions import sqrt, where
from chasles.engine.linear.known import known_zero
from chasles.engine.linear.symmetric import factor, solve

Array = NDArray[Any]
DEPENDENT = 1e-24
"""Square of the share of a column beyond the others that is taken for rounding."""


def least_squares(A: Array, B: Array) -> Array:
    """Return the X that brings A X nearest to B, column by column; exactly there if the equations go together.

    Parameters
    ----------
    A
        Shape (m, n), m ≥ n, with independent columns.
    B
        Shape (m, k).

    Returns
    -------
    ndarray
        Shape (n, k); NaN where a column of A depends on the others to twelve digits.

    Examples
    --------
    The first element of A is zero, and the third equation repeats the first:

    >>> A = np.array([[0.0, 2.0], [1.0, 1.0], [0.0, 2.0]])
    >>> least_squares(A, np.array([[4.0], [5.0], [4.0]])).round(12)
    array([[3.],
           [2.]])
    """
    with np.errstate(all="ignore"):
        return _solved([[*a, *b] for a, b in zip(A, B, strict=True)], A.shape[1], B.shape[1])


def damped_least_squares(A: Array, b: Array, damping: Any, *, shortest: bool = False) -> Array:
    """Return the x that minimises |A x - b|² + damping |x|², by the normal equations in the smaller space.

    Parameters
    ----------
    A, b
        Shapes (m, n) and (m,).
    damping
        Positive number.
    shortest
        Whether x may not leave the rows of A by rounding, however small the damping is: the equations are then those in
        the space of b.

    Returns
    -------
    ndarray
        Shape (n,).

    Examples
    --------
    >>> damped_least_squares(np.array([[2.0, 0.0]]), np.array([1.0]), 1.0)  # 2 / (2² + 1)
    array([0.4, 0. ])
    """
    m, n = A.shape
    if n < m and not shortest:
        return np.array(solve(factor(A.T @ A + damping * np.eye(n)), A.T @ b))
    return np.asarray(A.T @ np.array(solve(factor(A @ A.T + damping * np.eye(m)), b)))


def _solved(rows: list[list[Any]], count: int, columns: int) -> Array:
    sizes = [sum(row[column] * row[column] for row in rows) for column in range(count)]
    left, pivots = list(range(len(rows))), list[tuple[int, int]]()
    while len(pivots) < count:
        taken = [column for _, column in pivots]
        involved = {k: [i for i in left if not known_zero(rows[i][k])] for k in range(count) if k not in taken}
        column = min(involved, key=lambda k: len(involved[k]) or len(rows) + 1)
        members = involved[column] or left[:1]
        # The fullest row becomes the pivot: the others then fill the least.
        pivot = max(members, key=lambda i: sum(not known_zero(x) for x in rows[i][:count]))
        if len(members) > 1:
            _reflect(rows, pivot, [i for i in members if i != pivot], column, taken)
        left.remove(pivot)
        pivots.append((pivot, column))
    X: list[list[Any]] = [[0.0] * columns for _ in range(count)]
    for number in reversed(range(count)):
        pivot, column = pivots[number]
        later = [k for _, k in pivots[number + 1 :]]
        diagonal = rows[pivot][column]
        reciprocal = where(diagonal * diagonal > DEPENDENT * sizes[column], 1.0 / diagonal, np.nan)
        for k in range(columns):
            rest = rows[pivot][count + k]
            for j in later:
                rest = rest - rows[pivot][j] * X[j][k]
            X[column][k] = rest * reciprocal
    return np.array(X).reshape(count, columns)


def _reflect(rows: list[list[Any]], pivot: int, others: list[int], column: int, taken: list[int]) -> None:
    """Reflect rows so that those beside the pivot get a zero in this column."""
    first = rows[pivot][column]
    size: Any = first * first
    for i in others:
        size = size + rows[i][column] * rows[i][column]
    norm = sqrt(size)
    beyond = first + where(first >= 0.0, norm, -norm)  # the sign that loses no digits
    reciprocal = 1.0 / (norm * (norm + where(first >= 0.0, first, -first)))
    normal = [(i, rows[i][column]) for i in others]
    for k in range(len(rows[pivot])):
        if k in taken or k == column:
            continue
        along = rows[pivot][k] * beyond
        for i, v in normal:
            along = along + rows[i][k] * v
        if known_zero(along):
            continue
        along = along * reciprocal
        rows[pivot][k] = rows[pivot][k] - along * beyond
        for i, v in normal:
            rows[i][k] = rows[i][k] - along * v
    rows[pivot][column] = first - beyond  # ∓ norm
    for i in others:
        rows[i][column] = 0.0
