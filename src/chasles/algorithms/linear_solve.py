"""Solving M x = b for a mass matrix without fill-in: M = L^T D L from the leaves of the tree to its root.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.5, Sparse Factorization Algorithms. Zeros of M
that stem from branches of the tree stay zeros in L, so a traced factorisation keeps only the work that they leave.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.errors import ArgumentError
from chasles.geometry.elementary import Array


class Factor(NamedTuple):
    """L (n, n) of M = L^T D L, unit lower triangular, as rows below the diagonal; and the reciprocals (n,) of D."""

    lower: list[list[Any]]
    reciprocal: list[Any]


def factor(M: Array) -> Factor:
    """Factor a symmetric positive definite matrix as L^T D L; only its lower triangle is read.

    Parameters
    ----------
    M
        Shape (n, n).

    Raises
    ------
    ArgumentError
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
        reciprocal[k] = reciprocal_of_inertia(rows[k][k], f"coordinate {k}")
        scaled = [rows[k][i] * reciprocal[k] for i in range(k)]
        for i in range(k):
            for j in range(i + 1):
                rows[i][j] = rows[i][j] - scaled[i] * rows[k][j]
        rows[k] = scaled
    return Factor(rows, reciprocal)


def reciprocal_of_inertia(inertia: Any, what: str) -> Any:
    """1 / inertia, for an inertia that may be a traced scalar.

    Raises
    ------
    ArgumentError
        Where the inertia is known to be zero, so that no acceleration exists; `what` says whose it is.

    Examples
    --------
    >>> reciprocal_of_inertia(4.0, "joint 'elbow'")
    0.25
    """
    if isinstance(inertia, (int, float, np.number)) and inertia == 0.0:
        raise ArgumentError(f"the mass matrix is singular: {what} moves nothing that has mass or motor inertia")
    return 1.0 / inertia


def solve(factored: Factor, b: Array) -> Array:
    """The solution x of M x = b.

    Parameters
    ----------
    factored
        `factor` of M (n, n).
    b
        Shape (n,) or, column by column, (n, m).

    Returns
    -------
    ndarray
        Of the shape of b.

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
    """The inverse of M, exactly symmetric: its upper triangle, by columns of the identity, and mirrored.

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
