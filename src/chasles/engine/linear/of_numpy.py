"""`numpy.linalg.solve`, `inv`, `eigh` and `eigvalsh` of traced matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.engine.linear import pivoted_elimination, symmetric_eigenvalues
from chasles.engine.program.numpy_functions import BY_FUNCTION
from chasles.engine.program.scalar import traced_array


def attach() -> None:
    """Let NumPy's functions of traced matrices go to those of this package."""
    BY_FUNCTION.update({np.linalg.solve: _solution, np.linalg.inv: _inverse})
    BY_FUNCTION.update({np.linalg.eigh: _eigen, np.linalg.eigvalsh: _eigenvalues})


def _solution(a: Any, b: Any) -> Any:
    A, right = np.asarray(a), np.asarray(b)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or right.ndim not in (1, 2) or len(right) != len(A):
        raise ArgumentError(f"inside a trace np.linalg.solve takes one matrix (n, n), not {A.shape} with {right.shape}")
    try:
        return traced_array(pivoted_elimination.solve(A, right))
    except ZeroDivisionError:
        raise ArgumentError("the matrix is singular: a column of it is known to be zero below its pivot") from None


def _inverse(a: Any) -> Any:
    return _solution(a, np.eye(len(np.asarray(a))))


def _eigen(a: Any) -> symmetric_eigenvalues.Eigen:
    A = np.asarray(a)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ArgumentError(f"inside a trace np.linalg.eigh takes one matrix (n, n), not {A.shape}")
    values, vectors = symmetric_eigenvalues.eigen(A)
    return symmetric_eigenvalues.Eigen(traced_array(values), traced_array(vectors))


def _eigenvalues(a: Any) -> Any:
    return _eigen(a).eigenvalues
