"""Linear equations inside a program: elimination in an order that keeps zeros.

The order is chosen once, by the pattern of what is not zero, so the elimination is a straight line of arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from chasles.engine.linear.known import known_zero
from chasles.engine.program.scalar import Array


class Factorization(NamedTuple):
    """L U of a matrix whose rows and columns are taken in another order.

    Attributes
    ----------
    order
        Pivots, all on the diagonal, in the order of elimination.
    lower
        For each pivot the multipliers of the rows below it.
    upper
        For each pivot what is right of it in its row.
    reciprocal
        Reciprocals of the pivots.
    """

    order: tuple[int, ...]
    lower: Mapping[int, Mapping[int, Any]]
    upper: Mapping[int, Mapping[int, Any]]
    reciprocal: Mapping[int, Any]


def factor(matrix: Array) -> Factorization:
    """Factor a matrix, of numbers or traced scalars, with pivots on its diagonal.

    Markowitz's rule takes the pivot next that can fill the fewest zeros. The pivots' sizes are not looked at, which a
    program cannot. This is safe for matrices I - h J with short steps h, and for those of dissipative systems with long
    ones; a pivot that vanishes otherwise shows as a step that is not finite, and is repeated with another h.

    Parameters
    ----------
    matrix
        Shape (n, n).

    Notes
    -----
    Markowitz, "The elimination form of the inverse and its application to linear programming", Management Science 3(3),
    1957; Duff, Erisman and Reid, Direct Methods for Sparse Matrices, chapter 7.

    Examples
    --------
    >>> factored = factor(np.array([[4.0, 1.0, 1.0], [1.0, 2.0, 0.0], [1.0, 0.0, 2.0]]))
    >>> sum(len(row) for row in factored.upper.values())  # as many as beside the diagonal before: nothing is filled
    2
    >>> solve(factored, np.array([6.0, 3.0, 3.0]))
    array([1., 1., 1.])
    """
    size = len(matrix)
    rows = [{j: matrix[i, j] for j in range(size) if not known_zero(matrix[i, j])} for i in range(size)]
    remaining = set(range(size))
    order: list[int] = []
    lower: dict[int, dict[int, Any]] = {}
    upper: dict[int, dict[int, Any]] = {}
    reciprocal: dict[int, Any] = {}
    while remaining:
        in_column = {p: sum(p in rows[i] for i in remaining) for p in remaining}
        pivot = min(remaining, key=lambda p: ((len(rows[p]) - 1) * (in_column[p] - 1), p))
        remaining.remove(pivot)
        pivot_row = rows[pivot]
        reciprocal[pivot] = 1.0 / pivot_row.pop(pivot)
        lower[pivot], upper[pivot] = {}, pivot_row
        for i in sorted(remaining):
            if pivot in rows[i]:
                multiplier = lower[pivot][i] = rows[i].pop(pivot) * reciprocal[pivot]
                for j, value in pivot_row.items():
                    product = multiplier * value
                    rows[i][j] = rows[i][j] - product if j in rows[i] else -product
        order.append(pivot)
    return Factorization(tuple(order), lower, upper, reciprocal)


def solve(factored: Factorization, right: Array) -> Array:
    """Solution x (n,) of A x = right, for the factorization of A.

    >>> solve(factor(np.array([[2.0, 1.0], [1.0, 3.0]])), np.array([3.0, 4.0]))
    array([1., 1.])
    """
    x = list(right)
    for pivot in factored.order:
        for i, multiplier in factored.lower[pivot].items():
            x[i] = x[i] - multiplier * x[pivot]
    for pivot in reversed(factored.order):
        for j, value in factored.upper[pivot].items():
            x[pivot] = x[pivot] - value * x[j]
        x[pivot] = x[pivot] * factored.reciprocal[pivot]
    return np.array(x)
