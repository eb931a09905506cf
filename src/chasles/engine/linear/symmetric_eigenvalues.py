"""Eigenvalues and eigenvectors of a symmetric matrix inside a program, by Jacobi's rotations.

Each rotation makes one element beside the diagonal vanish. A program cannot ask whether that suffices, so the number of
sweeps over all elements is fixed. Source: Golub & Van Loan, Matrix Computations (4th ed., 2013), section 8.5.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.engine.functions import absolute, sqrt, where
from chasles.engine.linear.known import known_zero
from chasles.engine.program.scalar import Array, Real

#: Sweeps by the number of rows. Of 20,000 random matrices of each of seven kinds, graded, of rank 1 and with nearly
#: equal eigenvalues among them, none keeps more than 1e-50 of its norm beside the diagonal. Matrices of six rows and
#: more may need any number of sweeps.
_SWEEPS = {1: 0, 2: 1, 3: 5, 4: 6}


class Eigen(NamedTuple):
    """Eigenvalues (n,), ascending, and unit eigenvectors (n, n) as columns."""

    eigenvalues: Array
    eigenvectors: Array


def eigen(A: Array) -> Eigen:
    """Return the eigenvalues and eigenvectors of a symmetric matrix, of which only the lower triangle is read.

    Parameters
    ----------
    A
        Shape (n, n) with n up to 4. Where eigenvalues coincide, the results have no derivatives.

    Raises
    ------
    ArgumentError
        The matrix is larger.

    Examples
    --------
    >>> values, vectors = eigen(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values, np.abs(vectors[:, 0]).round(3)
    (array([1., 3.]), array([0.707, 0.707]))
    """
    n = len(A)
    if n not in _SWEEPS:
        raise ArgumentError(f"inside a trace np.linalg.eigh takes matrices of up to {max(_SWEEPS)} rows, not {n}")
    a: list[list[Any]] = [[A[max(i, j), min(i, j)] for j in range(n)] for i in range(n)]
    v: list[list[Any]] = [list(row) for row in np.eye(n)]
    for _ in range(_SWEEPS[n]):
        for p, q in combinations(range(n), 2):
            if not known_zero(a[p][q]):
                _rotate(a, v, p, q)
    values = [a[k][k] for k in range(n)]
    for last in reversed(range(1, n)):  # a program sorts by exchanges of neighbours
        for k in range(last):
            _exchange(values, v, k)
    return Eigen(np.array(values), np.array(v))


def _rotate(a: list[list[Any]], v: list[list[Any]], p: int, q: int) -> None:
    """Rotate the axes p and q so that the element between them vanishes."""
    difference, twice = a[q][q] - a[p][p], 2.0 * a[p][q]
    size = absolute(difference) + np.hypot(difference, twice)
    tangent = where(difference < 0.0, -twice, twice) / where(size > 0.0, size, 1.0)
    cosine = 1.0 / sqrt(1.0 + tangent * tangent)
    sine = tangent * cosine
    shift = tangent * a[p][q]
    a[p][p], a[q][q], a[p][q], a[q][p] = a[p][p] - shift, a[q][q] + shift, 0.0, 0.0
    for k in range(len(a)):
        v[k][p], v[k][q] = cosine * v[k][p] - sine * v[k][q], sine * v[k][p] + cosine * v[k][q]
        if k not in (p, q):
            a[k][p], a[k][q] = cosine * a[k][p] - sine * a[k][q], sine * a[k][p] + cosine * a[k][q]
            a[p][k], a[q][k] = a[k][p], a[k][q]


def _exchange(values: list[Any], v: list[list[Any]], k: int) -> None:
    """Put two neighbours in ascending order."""
    falls: Any = values[k] > values[k + 1]

    def ordered(first: Real, second: Real) -> tuple[Any, Any]:
        return where(falls, second, first), where(falls, first, second)

    values[k], values[k + 1] = ordered(values[k], values[k + 1])
    for row in v:
        row[k], row[k + 1] = ordered(row[k], row[k + 1])
