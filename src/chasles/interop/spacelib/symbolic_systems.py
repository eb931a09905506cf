"""Linear systems of symbols, solved by SymPy, one at a time. Ranks are those for general values of the symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.program.scalar import Traced
from chasles.geometry.elementary import Array


def solve(A: Array, b: Array) -> tuple[Array, int]:
    """Return the solution of A x = b, NaN where A is singular, and the rank of A.

    Examples
    --------
    >>> import sympy
    >>> k = sympy.Symbol("k")
    >>> solve(np.array([[k, 0], [0, 2]]), np.array([1, k]))
    (array([1/k, k/2], dtype=object), 2)
    """
    coefficients, sides = _matrix(A), _matrix(b[:, None] if b.ndim == 1 else b)
    rank = coefficients.rank(simplify=True)
    if rank < coefficients.rows:
        return np.full(coefficients.rows, np.nan), rank
    return _array(coefficients.LUsolve(sides))[:, 0], rank


def inverse(A: Array) -> tuple[Array, int]:
    """Return the inverse of a matrix, NaN where it is singular, and its rank.

    Examples
    --------
    >>> import sympy
    >>> k = sympy.Symbol("k")
    >>> inverse(np.array([[k, 0], [0, 2]]))[0]
    array([[1/k, 0],
           [0, 1/2]], dtype=object)
    """
    matrix = _matrix(A)
    rank = matrix.rank(simplify=True)
    return (_array(matrix.inv()) if rank == matrix.rows else np.full(A.shape, np.nan)), rank


def pseudo_inverse(A: Array) -> tuple[Array, int]:
    """Return the pseudo-inverse of a matrix, whose symbols should be known to be real, and its rank.

    Examples
    --------
    >>> import sympy
    >>> k = sympy.Symbol("k", positive=True)
    >>> pseudo_inverse(np.array([[k], [k]]))
    (array([[1/(2*k), 1/(2*k)]], dtype=object), 1)
    """
    matrix = _matrix(A)
    return _array(matrix.pinv()), matrix.rank(simplify=True)


def reduced(
    H: Array, imax: int, jmax: int, nsol: int, chosen: list[int], last: bool
) -> tuple[Array, NDArray[np.int64], int, float]:
    """Return H with A and b in reduced form, the unknowns of its columns, the rank of A, and NaN; see `linear`.

    Examples
    --------
    >>> import sympy
    >>> k = sympy.Symbol("k")
    >>> reduced(np.array([[0, k, 1]]), 1, 2, 1, [], False)
    (array([[1, 0, 1/k]], dtype=object), array([1, 0]), 1, nan)
    """
    import sympy

    system = _matrix(H)
    others = [j for j in range(jmax) if j not in chosen]
    order = others + chosen[::-1] if last else chosen + others
    sought = len(others) if last else jmax
    A, b = system[:imax, :jmax].extract(range(imax), order), system[:imax, jmax : jmax + nsol]
    # The identity behind the columns in which pivots are sought takes up those that b and the main variables must not.
    sides = sympy.Matrix.hstack(sympy.eye(imax), A[:, sought:], b)
    form, pivots = sympy.Matrix.hstack(A[:, :sought], sides).rref(simplify=True)
    pivots = [j for j in pivots if j < sought]
    columns = [*pivots, *(j for j in range(sought) if j not in pivots), *range(sought + imax, form.cols)]
    result = np.array(H, dtype=object)
    result[:imax, : jmax + nsol] = _array(form[:, columns])
    return result, np.array([order[j] for j in columns[:sought]] + order[sought:], dtype=np.int64), len(pivots), np.nan


def _matrix(A: Array) -> Any:
    import sympy

    if A.ndim != 2:
        raise ArgumentError(f"systems of symbols are solved one at a time, not in a batch of shape {A.shape}")
    if any(isinstance(element, Traced) for element in A.flat):
        raise ArgumentError(
            "the rank of a matrix depends on its numbers, which are not known while a function is traced"
        )
    return sympy.Matrix(*A.shape, [sympy.nsimplify(e, rational=True) if isinstance(e, float) else e for e in A.flat])


def _array(matrix: Any) -> Array:
    return np.array(matrix.tolist(), dtype=object).reshape(matrix.shape)
