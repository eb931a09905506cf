"""Quadratic programs of rates within bounds, and of one level of priority after the other, by DAQP."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import import_extra
from chasles.inverse_kinematics.differential.assembly import DAMPING
from chasles.inverse_kinematics.differential.limits import Inequalities

Vector = NDArray[np.float64]
#: DAQP's exit flag, and its marks of constraints.
_SOLVED, _SOLVED_SOFTLY = 1, 2
_EQUAL, _SOFT = 5, 8
#: Singular values below this share of the largest are zero: directions that a level of tasks leaves to the next ones.
_SMALLEST = 1e-8
#: A combined limit is missed where it is exceeded by more than this, in its own unit.
_MISSED = 1e-6
_NONE = np.zeros(0, dtype=np.intp)


class Feasible(NamedTuple):
    """Rates that are allowed: lower <= x <= upper, and combinations of them.

    Attributes
    ----------
    lower, upper
        Shape (n,); finite.
    rows
        Bounds of combinations.
    """

    lower: Vector
    upper: Vector
    rows: Inequalities


class ProgramSolution(NamedTuple):
    """Rates of least cost.

    Attributes
    ----------
    x
        Shape (n,), within lower and upper.
    missed
        Numbers of the rows of combinations that cannot be kept within lower and upper.
    flag
        None, or DAQP's exit flag where it gave up.
    """

    x: Vector
    missed: NDArray[np.intp]
    flag: int | None


def minimum(H: Vector, f: Vector, feasible: Feasible) -> ProgramSolution:
    """Rates that minimise ½ xᵀ H x + fᵀ x."""
    scale = max(H.diagonal().max(), np.finfo(float).tiny)
    return scaled_minimum(H / scale + DAMPING * np.eye(len(f)), f / scale, feasible)


def scaled_minimum(H: Vector, f: Vector, feasible: Feasible) -> ProgramSolution:
    """`minimum` for a strictly convex cost whose largest curvature is about 1."""
    lower, upper, rows = feasible
    if len(rows.A):
        lower, upper = np.append(lower, rows.lower), np.append(upper, rows.upper)
    x, missed, flag = _solved(H, f, rows.A, lower, upper)
    return ProgramSolution(x.clip(feasible.lower, feasible.upper), missed, flag)


def lexicographic_minimum(levels: Sequence[tuple[Vector, Vector]], feasible: Feasible) -> ProgramSolution:
    """Rates that come as near to J x = b as they can, first for the first level, then among these for the next one.

    Each level keeps J x of those above it and moves in their null space only. Source: Escande, Mansard and Wieber,
    Hierarchical quadratic programming: fast online humanoid-robot motion generation (2014); here by one dense program
    for each level.

    Parameters
    ----------
    levels
        Weighted rows J (m, n) and values b (m,) of each level.
    feasible
        Rates that are allowed; they are for every level.
    """
    lower, upper, rows = feasible
    A = np.concatenate([np.eye(len(lower)), rows.A])
    low, high = np.append(lower, rows.lower), np.append(upper, rows.upper)
    x, free = np.zeros(len(lower)), np.eye(len(lower))
    missed, flag = _NONE, None
    for place, (J, b) in enumerate(levels):
        if not free.shape[1]:
            break
        reduced = J @ free
        H, f = reduced.T @ reduced, -reduced.T @ (b - J @ x)
        if place == 0:
            x, missed, flag = minimum(H, f, feasible)
            reached = rows.A @ x  # what cannot be kept is missed by no more than now
            low[len(lower) :] = np.minimum(low[len(lower) :], reached)
            high[len(lower) :] = np.maximum(high[len(lower) :], reached)
        else:
            scale = max(H.diagonal().max(), np.finfo(float).tiny)
            H, f = H / scale + DAMPING * np.eye(len(f)), f / scale
            now = A @ x
            z, _, trouble = _solved(H, f, A @ free, np.minimum(low - now, 0.0), np.maximum(high - now, 0.0))
            if trouble is None:
                x = np.clip(x + free @ z, lower, upper)
            flag = flag or trouble
        free = free @ _null_space(reduced)
    return ProgramSolution(x, missed, flag)


def _solved(H: Vector, f: Vector, A: Vector, low: Vector, high: Vector) -> tuple[Vector, NDArray[np.intp], int | None]:
    """Solution, rows of A that are missed and DAQP's flag; the first elements of the bounds are those of x itself."""
    daqp: Any = sys.modules.get("daqp") or import_extra("daqp", "qp", "differential inverse kinematics with limits")
    first = len(low) - len(A)
    if len(A):
        A = np.ascontiguousarray(A)
    sense = np.multiply(low == high, _EQUAL, dtype=np.intc)
    x, _, flag, _ = daqp.solve(H, f, A, high, low, sense)
    if flag != _SOLVED and first and len(A):  # no x within its own bounds keeps all rows
        sense[first:] = _SOFT
        x, _, flag, _ = daqp.solve(H, f, A, high, low, sense)
    if flag == _SOLVED and not len(A):
        return x, _NONE, None
    if flag in (_SOLVED, _SOLVED_SOFTLY):
        excess = np.maximum(low[first:] - A @ x, A @ x - high[first:])
        return x, np.flatnonzero(excess > _MISSED), None
    return np.zeros(len(f)), _NONE, int(flag)


def _null_space(J: Vector) -> Vector:
    """Orthonormal columns that J (m, n) takes to zero."""
    _, sizes, V_transposed = np.linalg.svd(J, full_matrices=True)
    rank = int((sizes > _SMALLEST * max(sizes.max(initial=0.0), 1e-300)).sum())
    return np.asarray(V_transposed[rank:].T)
