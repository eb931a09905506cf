"""The product of a matrix's pseudo-inverse with a vector, as arithmetic that can be traced.

A complete orthogonal decomposition A = Q L W, in which Q has orthonormal columns, L is triangular and W has orthonormal
rows, gives what a singular value decomposition gives, with a fixed and small number of operations (Golub and Van Loan,
Matrix Computations, section on rank-deficient least squares).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine.functions import maximum, sqrt, where
from chasles.engine.program.scalar import Array

#: Columns whose part that is new falls below this fraction of the longest column count as dependent.
RANK_TOLERANCE = 1e-12


def minimum_norm(A: Array, b: Array) -> Array:
    """The shortest x (n,) with the least norm of A x - b, for A (m, n) of any rank.

    Examples
    --------
    The shortest x with x₁ + x₂ = 2; the second equation repeats the first:

    >>> minimum_norm(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([2.0, 2.0]))
    array([1., 1.])
    """
    R, right = _orthonormal_columns(A, b)
    return _shortest(R, right)


def _orthonormal_columns(A: Array, b: Array) -> tuple[list[Array], list[Any]]:
    """Rows of R and components of Qᵀ b, for A = Q R.

    Gram and Schmidt's process in its modified form, each time with the column of which most is left; b is treated as
    a further column. The columns keep their places, so R is no triangle. Once the columns left are dependent, the rows
    of R are zero.
    """
    columns, rest = A, b
    rows, right = [], []
    smallest: Any = 0.0
    for step in range(min(A.shape)):
        squares = [column @ column for column in columns.T]
        largest = squares[0]
        for square in squares[1:]:
            largest = maximum(largest, square)
        if step == 0:
            smallest = RANK_TOLERANCE**2 * largest
        independent = largest > smallest
        length = where(independent, 1.0 / sqrt(where(independent, largest, 1.0)), 0.0)
        q = length * _longest(columns, squares, largest)
        row, component = q @ columns, q @ rest
        columns, rest = columns - np.outer(q, row), rest - component * q
        rows.append(row)
        right.append(component)
    return rows, right


def _longest(columns: Array, squares: list[Any], largest: Any) -> Array:
    """The first column whose squared length is the largest."""
    chosen = columns[:, -1]
    for column, square in reversed(list(zip(columns.T[:-1], squares[:-1], strict=True))):
        chosen = where(square >= largest, column, chosen)
    return chosen


def _shortest(rows: list[Array], right: list[Any]) -> Array:
    """The shortest x with R x = right for independent rows of R; rows of zeros are no equations."""
    directions: list[Array] = []
    components: list[Any] = []
    for row, value in zip(rows, right, strict=True):
        for _ in range(2):  # once leaves the error of a nearly dependent row
            for direction, component in zip(directions, components, strict=True):
                along = row @ direction
                row = row - along * direction
                value = value - along * component
        square = row @ row
        is_equation = square > 0.0
        scale = where(is_equation, 1.0 / sqrt(where(is_equation, square, 1.0)), 0.0)
        directions.append(scale * row)
        components.append(scale * value)
    x: Array = components[0] * directions[0]
    for direction, component in zip(directions[1:], components[1:], strict=True):
        x = x + component * direction
    return x
