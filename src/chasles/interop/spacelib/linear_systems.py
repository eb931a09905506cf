"""Chapter 4: linear systems, inverses of matrices, and the pseudo-inverse (section 3.8.2).

Systems of numbers are solved by LAPACK, through NumPy, for whole batches; those of symbols by SymPy, one at a time.
`linear` is the original's algorithm step by step, because what it returns shows the steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.comparable import comparable
from chasles.base.errors import ArgumentError
from chasles.engine.symbols import is_symbolic
from chasles.geometry.elementary import Array
from chasles.interop.spacelib import symbolic_systems
from chasles.interop.spacelib.compiled_reduction import columns_in_order, is_small, reduction
from chasles.interop.spacelib.elimination import elimin, normalr, rmax, swabc, swabr
from chasles.interop.spacelib.scalars import zerom
from chasles.interop.spacelib.sizes import matrix, real_array, square


@comparable
class SolveResult(NamedTuple):
    """Results of `solve`.

    Attributes
    ----------
    x
        Solution, shape (..., dim); NaN where the matrix is singular.
    rank
        Rank of the matrix, shape (...).
    """

    x: Array
    rank: Any


@comparable
class Inverse(NamedTuple):
    """Results of `minvers`.

    Attributes
    ----------
    Ai
        Inverse, shape (..., dim, dim); NaN where the matrix is singular.
    rank
        Rank of the matrix, shape (...).
    """

    Ai: Array
    rank: Any


@comparable
class PseudoInverseResult(NamedTuple):
    """Results of `pseudo_inv`.

    Attributes
    ----------
    Api
        Pseudo-inverse, shape (..., cols, rows).
    rank
        Rank of the matrix, shape (...).
    """

    Api: Array
    rank: Any


@comparable
class LinearSystem(NamedTuple):
    """Results of `linear`.

    Attributes
    ----------
    H
        The matrix H with A and b in reduced form, shape (..., idim, jdim).
    ivet
        The unknown to which each column of the reduced A belongs, shape (..., jmax).
    irank
        Rank of A, shape (...).
    arm
        Largest absolute value among the elements in which the last pivot was sought, shape (...).
    """

    H: Array
    ivet: Any
    irank: Any
    arm: Any


def solve(A: Array, b: Array, dim: int | None = None) -> SolveResult:
    """Solve A x = b with a square matrix A (4.1).

    Parameters
    ----------
    A
        Shape (..., dim, dim).
    b
        Right-hand side, shape (..., dim).
    dim
        Their size.

    Returns
    -------
    Solution
        ``x`` and the ``rank`` of A: the number of singular values above rounding. Where it is less than dim, the
        original returns numbers without meaning and here x is NaN; `pseudo_inv` and `linear` tell more of such a
        system. The rank is 0 where A or b has NaN or infinite elements, or the solution is too large for a float.

    Examples
    --------
    >>> solve([[2, 0], [0, 4]], [1, 1])
    SolveResult(x=array([0.5 , 0.25]), rank=2)
    """
    matrices, sides = square(A, dim, "solve", least=0), real_array(b, "solve", "b")
    size = matrices.shape[-1]
    if not sides.ndim or sides.shape[-1] != size:
        raise ArgumentError(f"solve: b has shape {sides.shape}, but must be (…, {size}), as A is {matrices.shape}")
    if is_symbolic(matrices) or is_symbolic(sides):
        return SolveResult(*symbolic_systems.solve(matrices, sides))
    regular, rank = _regular(matrices)
    x: Array = np.linalg.solve(regular, sides[..., None])[..., 0]
    return SolveResult(*_solved(x, rank, size, axes=(-1,)))


def minvers(A: Array, dim: int | None = None) -> Inverse:
    """Invert a square matrix (4.2), (4.3).

    Parameters
    ----------
    A
        Shape (..., dim, dim).
    dim
        Its size.

    Returns
    -------
    Inverse
        ``Ai`` and the ``rank`` of A, as `solve` finds it. The inverse of a singular matrix is NaN.

    Examples
    --------
    >>> minvers([[2, 0], [0, 4]])
    Inverse(Ai=array([[0.5 , 0.  ],
           [0.  , 0.25]]), rank=2)
    """
    matrices = square(A, dim, "minvers", least=0)
    if is_symbolic(matrices):
        return Inverse(*symbolic_systems.inverse(matrices))
    regular, rank = _regular(matrices)
    return Inverse(*_solved(np.linalg.inv(regular), rank, matrices.shape[-1], axes=(-2, -1)))


def pseudo_inv(A: Array, rows: int | None = None, cols: int | None = None) -> PseudoInverseResult:
    """Moore–Penrose pseudo-inverse of a matrix of any shape and rank.

    The original builds it by Greville's algorithm, row by row; here it comes from the singular values, which lose fewer
    digits. As in the original, what is not larger than 1000 times the machine's precision times the largest element
    counts as null.

    Parameters
    ----------
    A
        Shape (..., rows, cols).
    rows, cols
        Its sizes.

    Returns
    -------
    PseudoInverse
        ``Api`` and the ``rank`` of A. A matrix with NaN or infinite elements, or whose pseudo-inverse is too large for
        floats, gives NaN and the rank 0.

    Examples
    --------
    >>> pseudo_inv([[1, 1], [1, 1]])
    PseudoInverseResult(Api=array([[0.25, 0.25],
           [0.25, 0.25]]), rank=1)
    """
    matrices = matrix(A, rows, cols, "pseudo_inv")
    if matrices.ndim < 2:
        raise ArgumentError(f"pseudo_inv: A must be a matrix, but its shape is {matrices.shape}")
    if is_symbolic(matrices):
        return PseudoInverseResult(*symbolic_systems.pseudo_inverse(matrices))
    finite = np.isfinite(matrices).all(axis=(-2, -1), keepdims=True)
    left, values, right = np.linalg.svd(np.where(finite, matrices, 0.0), full_matrices=False)
    least = 1000.0 * zerom() * np.abs(matrices).max(axis=(-2, -1), initial=0.0)
    counted = values > least[..., None]
    with np.errstate(over="ignore", invalid="ignore"):
        inverted = np.divide(1.0, values, out=np.zeros_like(values), where=counted)
        inverse = (np.swapaxes(right, -2, -1) * inverted[..., None, :]) @ np.swapaxes(left, -2, -1)
    finite = finite & np.isfinite(inverse).all(axis=(-2, -1), keepdims=True)
    rank = np.where(finite[..., 0, 0], np.sum(counted, axis=-1), 0)
    return PseudoInverseResult(np.where(finite, inverse, np.nan), _count(rank))


def linear(
    H: Array,
    idim: int | None,
    jdim: int | None,
    imax: int,
    jmax: int,
    nsol: int = 1,
    vpr: Iterable[int] = (-1,),
    *,
    main_variables: Literal["first", "last"] = "first",
) -> LinearSystem:
    """Reduce a general linear system A x = b, by elimination with pivots sought in rows and columns (4.4).

    A is brought to the form of figure 4.2::

        [ 1  Y ]   with as many ones as its rank, and the columns
        [ 0  0 ]   swapped: column j belongs to the unknown ivet[j]

    and b, which may have several columns, goes with it. So the unknowns ``x[ivet[rank:]]`` may be chosen freely, and
    ``x[ivet[:rank]] = b[:rank] - Y @ x[ivet[rank:]]``; where all are determined, ``x[ivet] = b[:jmax]``. There is a
    solution if b is null, up to rounding, in the rows from the rank on. Of equal pivots the first is taken, row by row.

    Parameters
    ----------
    H
        A and, in the columns after it, b; shape (..., idim, jdim). Further rows and columns stay as they are.
    idim, jdim
        Rows and columns of H.
    imax, jmax
        Rows (equations) and columns (unknowns) of A.
    nsol
        Number of columns of b.
    vpr
        Main variables: unknowns, counted from 0. The list may end with -1, as it does in C.
    main_variables
        ``"first"``, as the manual says: the main variables get the first positions of ivet; pivots are sought in their
        columns before the others', so they are determined by the rest as far as they are independent.
        ``"last"``, as the original program does: the main variables get the last positions and no pivots, so they are
        chosen freely and the others follow from them. Where those others leave equations between main variables, these
        stand in the last rows under Y. (The original counts columns instead of unknowns, so that of several main
        variables it may set aside another one; here it is always those that are named.)

    Returns
    -------
    LinearSystem
        ``H``, ``ivet``, ``irank`` and ``arm``. Elements of A not larger than 5 imax times the machine's precision times
        the largest of A count as null, as in the original, and become exactly 0; ``arm`` then tells how large the
        largest of them was. Without equations or unknowns irank and arm are 0. A with NaN or infinite elements, or
        such that they arise, gives NaN for H and arm, and the rank 0. For a system of symbols arm is NaN.

    Examples
    --------
    Table 4.2 and figure 4.3 of the manual:

    >>> H = [[1, 1, 1, 2, 1, 6], [0, 1, 1, 2, 1, 5], [0, 0, 2, 2, 1, 3], [0, 0, 2, 2, 1, 3]]
    >>> reduced = linear(H, 4, 6, 4, 5)
    >>> reduced.H
    array([[ 1. ,  0. ,  0. ,  1. ,  0.5,  3.5],
           [ 0. ,  1. ,  0. ,  0. ,  0. ,  1. ],
           [ 0. ,  0. ,  1. , -1. ,  0. , -2. ],
           [ 0. ,  0. ,  0. ,  0. ,  0. ,  0. ]])
    >>> reduced.ivet, reduced.irank
    (array([3, 0, 2, 1, 4]), 3)
    """
    stored = matrix(H, idim, jdim, "linear", "H")
    if stored.ndim < 2 or min(imax, jmax, nsol) < 0 or imax > stored.shape[-2] or jmax + nsol > stored.shape[-1]:
        raise ArgumentError(
            f"linear: H has shape {stored.shape}, but must hold {imax} rows of {jmax} unknowns "
            f"and {nsol} right-hand sides"
        )
    chosen = _main_variables(vpr, jmax)
    if main_variables not in ("first", "last"):
        raise ArgumentError(f"linear: main_variables must be 'first' or 'last', not {main_variables!r}")
    last = main_variables == "last"
    if stored.dtype == object:
        return LinearSystem(*symbolic_systems.reduced(stored, imax, jmax, nsol, chosen, last))
    part = stored[..., :imax, : jmax + nsol]
    if is_small(imax, jmax, nsol):
        reduced, ivet, rank, arm = reduction(imax, jmax, nsol, tuple(chosen), last)(part)
        system = LinearSystem(reduced, ivet.astype(np.int64), _count(np.asarray(rank, dtype=np.int64)), arm)
    else:
        system = reduced_step_by_step(part, imax, jmax, nsol, chosen, last)
    if part.shape == stored.shape:
        return system
    extended = stored.copy()
    extended[..., :imax, : jmax + nsol] = system.H
    return system._replace(H=extended)


def reduced_step_by_step(H: Array, imax: int, jmax: int, nsol: int, chosen: list[int], last: bool) -> LinearSystem:
    """Reduce systems of any size, which are all of H, one after another; see `linear`."""
    if H.ndim == 2:
        return _reduced(H, imax, jmax, nsol, chosen, last)
    lead = H.shape[:-2]
    systems = [_reduced(H[index], imax, jmax, nsol, chosen, last) for index in np.ndindex(lead)]
    if not systems:
        return LinearSystem(H.copy(), np.zeros((*lead, jmax), int), np.zeros(lead, int), np.zeros(lead))
    return LinearSystem(*(np.array(part).reshape(lead + np.shape(part[0])) for part in zip(*systems, strict=True)))


def _reduced(H: Array, imax: int, jmax: int, nsol: int, chosen: list[int], last: bool) -> LinearSystem:
    """Reduce one system of numbers, which is all of H."""
    rows, columns = H.shape
    undefined = LinearSystem(np.full(H.shape, np.nan), np.arange(jmax), 0, np.nan)
    if not np.isfinite(H[:, :jmax]).all():
        return undefined
    ivet = np.array(columns_in_order(jmax, tuple(chosen), last), dtype=np.int64)
    H = np.concatenate([H[:, ivet], H[:, jmax:]], axis=1)
    first_free = jmax - len(chosen) if last else jmax
    least = 5.0 * zerom() * imax * np.abs(H[:, :first_free]).max(initial=0.0)
    rank, arm = 0, 0.0
    for end in (first_free,) if last or not chosen else (len(chosen), first_free):
        while rank < min(imax, jmax):
            im, jm, pivot = rmax(H, rows, columns, rank, imax, rank, max(rank, end))
            arm = abs(pivot)
            if pivot == 0.0 or arm < least:
                break
            H = swabr(H, rows, columns, columns, rank, im)
            H, ivet = swabc(H, rows, columns, imax, rank, jm, ivet)
            H = elimin(H, rows, columns, imax, columns, rank)
            H = normalr(H, rows, columns, columns, rank, pivot)
            rank += 1
    H[rank:, :first_free] = 0.0
    return LinearSystem(H, ivet, rank, arm) if np.isfinite(H[:, :jmax]).all() else undefined


def _regular(matrices: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return square matrices with the identity in the place of singular ones, and the ranks of those given."""
    size = matrices.shape[-1]
    finite = np.isfinite(matrices).all(axis=(-2, -1), keepdims=True)
    rank = np.zeros(matrices.shape[:-2], dtype=np.int64)
    if size:
        rank = np.asarray(np.linalg.matrix_rank(np.where(finite, matrices, 0.0)))
    return np.where((rank == size)[..., None, None], matrices, np.eye(size)), rank


def _solved(values: Array, rank: NDArray[np.int64], size: int, axes: tuple[int, ...]) -> tuple[Array, Any]:
    """Return solutions, NaN where there is none, and ranks, 0 where the solution of a regular system is not finite."""
    finite = np.isfinite(values).all(axis=axes)
    solved = finite & (rank == size)
    return np.where(np.expand_dims(solved, axes), values, np.nan), _count(np.where(finite | (rank < size), rank, 0))


def _count(rank: NDArray[np.integer[Any]]) -> Any:
    """Rank of one matrix as a whole number of Python, those of a batch as an array."""
    return rank if rank.ndim else int(rank)


def _main_variables(vpr: Iterable[int], jmax: int) -> list[int]:
    variables = list(vpr)
    chosen = [int(variable) for variable in (variables[: variables.index(-1)] if -1 in variables else variables)]
    if chosen != variables[: len(chosen)] or len(set(chosen)) != len(chosen) or not set(chosen) <= set(range(jmax)):
        raise ArgumentError(f"linear: vpr must name different unknowns from 0 to {jmax - 1}, not {variables}")
    return chosen
