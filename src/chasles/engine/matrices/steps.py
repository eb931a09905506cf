"""Operations on matrices, of numbers or written down: products, sums, parts, elimination.

A step is a Python function of matrices. Called with arrays, with any leading axes, it computes; in a trace it becomes
scalar operations, for the targets of programs. Called with `Matrix` objects it writes down expressions, which machine
code evaluates with the columns along the lanes of vectors. Beside the functions of this file it may use ``@``, ``+``,
``-``, multiplication by a number, ``.mT`` and slices of both axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError

Floats = NDArray[np.float64]
M = TypeVar("M", "Matrix", Floats)


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix in a step that is written down."""

    shape: tuple[int, int]

    __array_ufunc__ = None  # NumPy leaves operators to this class

    @property
    def mT(self) -> Matrix:
        """The transpose."""
        return Transposed(self.shape[::-1], self)

    def __matmul__(self, other: Matrix) -> Matrix:
        if self.shape[1] != _matrix(other).shape[0]:
            raise ArgumentError(f"a matrix of shape {self.shape} times one of shape {other.shape}")
        return Product((self.shape[0], other.shape[1]), self, other)

    def __add__(self, other: Matrix) -> Matrix:
        if self.shape != _matrix(other).shape:
            raise ArgumentError(f"a matrix of shape {self.shape} plus one of shape {other.shape}")
        return Sum(self.shape, self, other)

    def __sub__(self, other: Matrix) -> Matrix:
        return self + -_matrix(other)

    def __neg__(self) -> Matrix:
        return -1.0 * self

    def __rmul__(self, factor: float) -> Matrix:
        return Multiple(self.shape, self, float(factor))

    def __getitem__(self, key: tuple[Any, slice, slice]) -> Matrix:
        """Return a part, as ``matrix[..., rows, columns]``."""
        _, rows, columns = key
        (top, end, _), (left, last, _) = rows.indices(self.shape[0]), columns.indices(self.shape[1])
        return Part((end - top, last - left), self, top, left)


@dataclass(frozen=True, eq=False)
class Given(Matrix):
    """A matrix that is known before the step."""

    name: str


@dataclass(frozen=True, eq=False)
class Transposed(Matrix):
    """A matrix with rows and columns exchanged."""

    of: Matrix


@dataclass(frozen=True, eq=False)
class Product(Matrix):
    """A product of two matrices."""

    left: Matrix
    right: Matrix


@dataclass(frozen=True, eq=False)
class Sum(Matrix):
    """A sum of two matrices."""

    first: Matrix
    second: Matrix


@dataclass(frozen=True, eq=False)
class Multiple(Matrix):
    """A matrix times a known number."""

    of: Matrix
    factor: float


@dataclass(frozen=True, eq=False)
class Part(Matrix):
    """Rows and columns of a matrix from an element on."""

    of: Matrix
    top: int
    left: int


@dataclass(frozen=True, eq=False)
class Joined(Matrix):
    """Two matrices side by side."""

    first: Matrix
    second: Matrix


@dataclass(frozen=True, eq=False)
class Stacked(Matrix):
    """Two matrices, the first above the second."""

    first: Matrix
    second: Matrix


@dataclass(frozen=True, eq=False)
class Elimination(Matrix):
    """The first rows of a matrix eliminated: in machine code there is one for all that it gives."""

    of: Matrix
    count: int


@dataclass(frozen=True, eq=False)
class Eliminated(Matrix):
    """What an elimination gives: the solution S⁻¹ F, or what is left, H - Fᵀ S⁻¹ F."""

    by: Elimination
    gives: Literal["solution", "rest"]


def beside(first: M, second: M) -> M:
    """Return two matrices side by side.

    >>> beside(np.zeros((1, 2)), np.ones((1, 1)))
    array([[0., 0., 1.]])
    """
    if isinstance(first, Matrix):
        other = _matrix(second)
        return cast("M", Joined((first.shape[0], first.shape[1] + other.shape[1]), first, other))
    batch = np.broadcast_shapes(first.shape[:-2], second.shape[:-2])
    parts = [np.broadcast_to(part, batch + part.shape[-2:]) for part in (first, second)]
    return np.concatenate(parts, axis=-1)


def above(first: M, second: M) -> M:
    """Return two matrices, the first above the second.

    >>> above(np.zeros((1, 2)), np.ones((1, 2)))
    array([[0., 0.],
           [1., 1.]])
    """
    if isinstance(first, Matrix):
        other = _matrix(second)
        return cast("M", Stacked((first.shape[0] + other.shape[0], first.shape[1]), first, other))
    return beside(first.mT, second.mT).mT


def eliminate(matrix: M, count: int) -> tuple[M, M]:
    """Eliminate the first unknowns of a symmetric matrix [[S, F], [Fᵀ, H]], by S = L D Lᵀ.

    Parameters
    ----------
    matrix
        Symmetric matrix (m + n, m + n), of which the upper triangle is read.
    count
        m, the number of unknowns to eliminate.

    Returns
    -------
    tuple
        S⁻¹ F, shape (m, n), and the Schur complement H - Fᵀ S⁻¹ F, shape (n, n). NaN where S is not positive definite.

    Examples
    --------
    >>> eliminate(np.array([[2.0, 1.0], [1.0, 3.0]]), 1)
    (array([[0.5]]), array([[2.5]]))
    """
    if isinstance(matrix, Matrix):
        left = matrix.shape[1] - count
        elimination = Elimination(matrix.shape, matrix, count)
        solution = Eliminated((count, left), elimination, "solution")
        return cast("tuple[M, M]", (solution, Eliminated((left, left), elimination, "rest")))
    F, H = matrix[..., :count, count:], matrix[..., count:, count:]
    solution = solve(matrix[..., :count, :count], F)
    if matrix.dtype == object:  # traced scalars
        return solution, H - F.mT @ solution
    rest = np.triu(H - F.mT @ solution)
    return solution, rest + np.triu(rest, 1).mT


def solve(S: M, F: M) -> M:
    """Return S⁻¹ F for a symmetric S (m, m), of which the upper triangle is read; NaN where it is not definite."""
    if isinstance(S, Matrix):
        joined = beside(S, _matrix(F))
        elimination = Elimination(joined.shape, joined, S.shape[0])
        return cast("M", Eliminated(F.shape, elimination, "solution"))
    if S.dtype == object:  # traced scalars
        i, j = np.indices(S.shape)
        solve_scalars: Any = np.linalg.solve
        scalars: M = solve_scalars(S[np.minimum(i, j), np.maximum(i, j)], F)
        return scalars
    S = np.triu(S) + np.triu(S, 1).mT
    known = np.isfinite(S).all(axis=(-1, -2), keepdims=True)
    definite = np.linalg.eigvalsh(np.where(known, S, 0.0))[..., :1, None] > 0.0
    return np.linalg.solve(np.where(definite, S, np.eye(S.shape[-1])), np.where(definite, F, np.nan))


def operands(value: Matrix) -> tuple[Matrix, ...]:
    """Return the matrices that an expression is made of."""
    return tuple(part for part in vars(value).values() if isinstance(part, Matrix))


def _matrix(value: Matrix | Floats) -> Matrix:
    if isinstance(value, Matrix):
        return value
    raise ArgumentError("a step on matrices takes no arrays of its own: give them to the scan by name")
