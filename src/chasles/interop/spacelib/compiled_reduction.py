"""The elimination of `linear` for small systems, as one program: every choice of a pivot is a selection among numbers.

It does what `linear` does step by step, in the same order, so that the results are the same to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from chasles.engine import Function, absolute, maximum, trace, where
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array
from chasles.geometry.vectors import largest_component
from chasles.interop.spacelib.scalars import zerom

#: Largest number of operations, roughly, for which the program is compiled: a fraction of a second.
_LARGEST_WORK = 2000


class Reduction(NamedTuple):
    """H in reduced form, the unknowns of its columns, the rank of A and the last pivot's size; as `linear` returns."""

    H: Array
    ivet: Array
    irank: Any
    arm: Any


class _Pivot(NamedTuple):
    value: Any
    row: Any
    column: Any


def is_small(imax: int, jmax: int, nsol: int) -> bool:
    """Whether a system is small enough for a program of its own.

    >>> is_small(4, 5, 1), is_small(30, 30, 1), is_small(0, 5, 1)
    (True, False, False)
    """
    return 0 < 8 * min(imax, jmax) * imax * (jmax + nsol) <= _LARGEST_WORK


def columns_in_order(jmax: int, chosen: tuple[int, ...], last: bool) -> list[int]:
    """Return the unknowns in the order in which elimination begins, the main variables first or last.

    >>> columns_in_order(4, (2, 3), False), columns_in_order(4, (0, 3), True)
    ([2, 3, 0, 1], [2, 1, 3, 0])
    """
    order = list(range(jmax))
    for n, variable in enumerate(chosen):
        target, now = jmax - 1 - n if last else n, order.index(variable)
        order[target], order[now] = order[now], order[target]
    return order


@cache
def reduction(imax: int, jmax: int, nsol: int, chosen: tuple[int, ...], last: bool) -> Function:
    """Return the function of H (imax, jmax + nsol) for systems of this size with these main variables.

    >>> reduction(1, 1, 1, (), False)([[2.0, 3.0]])
    (array([[1. , 1.5]]), array([0.]), np.float64(1.0), np.float64(2.0))
    """

    def formula(H: Array) -> Reduction:
        return _reduced(H, jmax, chosen, last)

    return Function(trace(formula, {"H": (imax, jmax + nsol)}, name="linear"))


def _reduced(H: Array, jmax: int, chosen: tuple[int, ...], last: bool) -> Reduction:
    """Reduce one system; yes and no are 1.0 and 0.0."""
    order, first_free = columns_in_order(jmax, chosen, last), jmax - len(chosen) if last else jmax
    coefficients = H[:, :jmax]
    rows = [[*row[order], *row[jmax:]] for row in H]
    ivet: list[Any] = [float(variable) for variable in order]
    least = 5.0 * zerom() * len(H) * largest_component(H[:, order[:first_free]].ravel())

    ends = (first_free,) if last or not chosen else (len(chosen), first_free)
    exhausted: list[Any] = [0.0 for _ in ends]
    rank: Any = 0.0
    arm: Any = 0.0
    for k in range(min(len(H), jmax)):
        pivot, found, arm = _chosen_pivot(rows, k, ends, exhausted, least, arm)
        _swap(rows, k, pivot.row)
        for row in (*rows, ivet):
            _swap(row, k, pivot.column, jmax)
        _eliminate(rows, k, pivot.value, found > 0.5)
        rank = rank + found
    for i, row in enumerate(rows):
        row[:first_free] = [where(float(i) < rank, element, 0.0) for element in row[:first_free]]

    reduced = np.array(rows)
    defined = (largest_component(coefficients.ravel()) < math.inf) & (
        largest_component(reduced[:, :jmax].ravel()) < math.inf
    )
    return Reduction(
        np.array([[where(defined, element, math.nan) for element in row] for row in rows]),
        np.array([where(defined, unknown, float(j)) for j, unknown in enumerate(ivet)]),
        where(defined, rank, 0.0),
        where(defined, arm, math.nan),
    )


def _chosen_pivot(
    rows: list[list[Any]], k: int, ends: Sequence[int], exhausted: list[Any], least: Real, arm: Any
) -> tuple[_Pivot, Any, Any]:
    """The pivot from the first columns that have one, 1.0 if any has, and the size of the last that was looked at.

    Columns up to an end without a pivot are noted as exhausted.
    """
    pivot, has_pivot = _Pivot(1.0, float(k), float(k)), 0.0
    for n, end in enumerate(ends):
        candidate = _largest(rows, k, end)
        size = absolute(candidate.value)
        sought = where(maximum(exhausted[n], has_pivot) > 0.5, 0.0, 1.0)
        arm = where(sought > 0.5, size, arm)
        chosen_now = where((size >= least) & (size > 0.0), sought, 0.0)
        exhausted[n] = where(chosen_now < sought, 1.0, exhausted[n])
        pivot = _Pivot(*(where(chosen_now > 0.5, new, old) for new, old in zip(candidate, pivot, strict=True)))
        has_pivot = has_pivot + chosen_now
    return pivot, has_pivot, arm


def _largest(rows: list[list[Any]], k: int, end: int) -> _Pivot:
    """Largest element in the rows from k on and the columns from k to before `end`: the first of several."""
    largest = _Pivot(0.0, float(k), float(k))
    for i in range(k, len(rows)):
        for j in range(k, end):
            larger = absolute(rows[i][j]) > absolute(largest.value)
            candidate = _Pivot(rows[i][j], float(i), float(j))
            largest = _Pivot(*(where(larger, new, old) for new, old in zip(candidate, largest, strict=True)))
    return largest


def _swap(items: list[Any], k: int, index: Any, end: int | None = None) -> None:
    """Swap the item k of a list, a number or a list of them, with the one that stands at a place from k on."""
    former = np.array(items[k])
    taken = former
    for i in range(k + 1, len(items) if end is None else end):
        is_it = absolute(index - float(i)) < 0.5
        taken = where(is_it, np.array(items[i]), taken)
        items[i] = where(is_it, former, np.array(items[i]))
    items[k] = taken


def _eliminate(rows: list[Any], k: int, pivot: Any, has_pivot: Any) -> None:
    """Eliminate the column k from the other rows, and divide the row k by the pivot."""
    width = len(rows[k])
    for i in range(len(rows)):
        if i != k:
            multiple = rows[i][k] / pivot
            changed = [rows[i][j] - _rounded(multiple * rows[k][j]) for j in range(k + 1, width)]
            new = [*rows[i][:k], 0.0, *changed]
            rows[i] = [where(has_pivot, after, before) for after, before in zip(new, rows[i], strict=True)]
    divided = [element / pivot for element in rows[k]]
    rows[k] = [where(has_pivot, where(q == 0.0, 0.0, q), element) for q, element in zip(divided, rows[k], strict=True)]


def _rounded(product: Any) -> Any:
    """Return a product as it is, but so that it is rounded before it is taken from another number.

    Processors can round a product and a difference once, together. Then 1 - 3 (1/3) is not 0, as it is in C.
    """
    return where(absolute(product) >= 0.0, product, product + 1.0)
