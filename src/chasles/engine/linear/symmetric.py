"""Solving M x = b for a symmetric positive definite matrix of numbers or traced scalars: M = Lᵀ D L, last row first.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.5, Sparse Factorization Algorithms. In this order
the zeros of a mass matrix that stem from branches of the kinematic tree stay zeros in L, so a traced factorisation
keeps only the work that they leave.
"""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.linear.known import known_zero
from chasles.engine.program.program import Program
from chasles.engine.program.scalar import Scalar
from chasles.engine.program.tracing import call_traced, trace

Array = NDArray[Any]

#: Products of numbers that are written out in a trace. Of more, columns are calls of one program: machine code for
#: chains of many joints, which grows with their cube, would take minutes to make.
_MOST_WRITTEN_OUT = 100_000


class SingularMatrixError(ArgumentError):
    """An element of D is known to be zero; `row` is its index."""

    def __init__(self, row: int) -> None:
        super().__init__(f"the matrix is singular: element {row} of D in M = Lᵀ D L is zero")
        self.row = row


class Factor(NamedTuple):
    """L (n, n) of M = Lᵀ D L, unit lower triangular, as rows below the diagonal; and the reciprocals (n,) of D."""

    lower: list[list[Any]]
    reciprocal: list[Any]


def factor(M: Array) -> Factor:
    """Factor a symmetric positive definite matrix as Lᵀ D L; only its lower triangle is read.

    Parameters
    ----------
    M
        Shape (n, n).

    Raises
    ------
    SingularMatrixError
        If an element of D is known to be zero.

    Examples
    --------
    [[3, 2], [2, 2]] has D_2 = 2, L_21 = 2 / 2 and D_1 = 3 - 1 * 2 * 1.

    >>> lower, reciprocal = factor(np.array([[3.0, 2.0], [2.0, 2.0]]))
    >>> float(lower[1][0]), [float(r) for r in reciprocal]
    (1.0, [1.0, 0.5])
    """
    n = len(M)
    rows = [[M[i, j] for j in range(i + 1)] for i in range(n)]
    reciprocal: list[Any] = [0.0] * n
    for k in reversed(range(n)):
        if known_zero(rows[k][k]):
            raise SingularMatrixError(k)
        reciprocal[k] = 1.0 / rows[k][k]
        scaled = [rows[k][i] * reciprocal[k] for i in range(k)]
        for i in range(k):
            for j in range(i + 1):
                rows[i][j] = rows[i][j] - scaled[i] * rows[k][j]
        rows[k] = scaled
    return Factor(rows, reciprocal)


def solve(factored: Factor, b: Array) -> Array:
    """Return the solution x of M x = b.

    Parameters
    ----------
    factored
        `factor` of M (n, n).
    b
        Shape (n,) or, column by column, (n, m).

    Returns
    -------
    ndarray
        Same shape as b.

    Examples
    --------
    >>> solve(factor(np.array([[3.0, 2.0], [2.0, 2.0]])), np.array([5.0, 4.0]))  # 3 + 2 and 2 + 2
    array([1., 1.])
    """
    lower, reciprocal = factored
    x = list(b)
    for k in reversed(range(len(x))):
        for i in range(k):
            x[i] = x[i] - lower[k][i] * x[k]
    for k in range(len(x)):
        x[k] = reciprocal[k] * x[k]
        for i in range(k):
            x[k] = x[k] - lower[k][i] * x[i]
    return np.array(x)


def inverse(factored: Factor) -> Array:
    """Return the inverse of M, exactly symmetric: its upper triangle, by columns of the identity, and mirrored.

    Parameters
    ----------
    factored
        `factor` of M (n, n).

    Returns
    -------
    ndarray
        Shape (n, n).

    Examples
    --------
    >>> inverse(factor(np.array([[3.0, 2.0], [2.0, 2.0]])))  # [[2, -2], [-2, 3]] / (3 * 2 - 2 * 2)
    array([[ 1. , -1. ],
           [-1. ,  1.5]])
    """
    n = len(factored.reciprocal)
    lower = list(chain(*(row[:k] for k, row in enumerate(factored.lower))))
    if 2 * n * _count(lower) > _MOST_WRITTEN_OUT and any(isinstance(x, Scalar) for x in lower):
        given = np.array(lower), np.array(factored.reciprocal)
        columns = [call_traced(_solution(n), (*given, unit), inline=False) for unit in np.eye(n)]
    else:
        columns = [solve(factored, unit) for unit in np.eye(n)]
    return np.array([[columns[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]).reshape(n, n)


def product(A: Array, B: Array) -> Array:
    """Return A B, which in a trace is written out, or, if it is large, called column by column.

    Parameters
    ----------
    A, B
        Shapes (m, n) and (n, k).

    Examples
    --------
    >>> product(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [3., 4.]])
    """
    m, n = A.shape
    if m * n * B.shape[1] <= _MOST_WRITTEN_OUT or not all(any(isinstance(x, Scalar) for x in M.flat) for M in (A, B)):
        return np.asarray(A @ B)
    if sum(_count(A[:, i]) * _count(B[i]) for i in range(n)) <= _MOST_WRITTEN_OUT:
        return np.asarray(A @ B)
    return np.stack([call_traced(_times_column(m, n), (A, column), inline=False) for column in B.T], axis=1)


def _count(values: Any) -> int:
    """Number of values that are not known to be zero."""
    return sum(not known_zero(x) for x in values)


@cache
def _times_column(m: int, n: int) -> Program:
    return trace(lambda A, column: A @ column, {"A": (m, n), "column": (n,)}, name=f"product_{m}_{n}")


@cache
def _solution(n: int) -> Program:
    """Program of `solve` for one column: (lower, row by row; reciprocal; b) -> x."""

    def solution(lower: Array, reciprocal: Array, b: Array) -> Array:
        rows = [list(lower[k * (k - 1) // 2 : k * (k + 1) // 2]) for k in range(n)]
        return solve(Factor(rows, list(reciprocal)), b)

    return trace(solution, {"lower": (n * (n - 1) // 2,), "reciprocal": (n,), "b": (n,)}, name=f"solution_{n}")
