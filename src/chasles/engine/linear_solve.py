"""Solving M x = b for a symmetric positive definite matrix of numbers or traced scalars: M = Lᵀ D L, last row first.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.5, Sparse Factorization Algorithms. In this order
the zeros of a mass matrix that stem from branches of the kinematic tree stay zeros in L, so a traced factorisation
keeps only the work that they leave.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.errors import ArgumentError

Array = NDArray[Any]


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
        if isinstance(rows[k][k], (int, float, np.number)) and rows[k][k] == 0.0:
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
    columns = [solve(factored, unit) for unit in np.eye(n)]
    return np.array([[columns[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]).reshape(n, n)
