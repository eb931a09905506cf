"""The dynamic equation of a rigid body where of each component either the acceleration or the action is known.

Source: the user's manual of SpaceLib in C, version 2.2, chapter 5 (function dyn_eq).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from chasles.engine import absolute, sqrt, where
from chasles.errors import ArgumentError
from chasles.geometry.batched import batched
from chasles.geometry.directions import largest_component
from chasles.geometry.dynamic_data import ROUNDING, DynamicProblem, examined_data, pivots_and_factors
from chasles.geometry.elementary import Array
from chasles.geometry.pseudo_inertias import spatial_inertia_from_pseudo_inertia
from chasles.geometry.rigid_body_matrices import (
    action_matrix,
    twist_from_velocity_matrix,
    velocity_matrix,
    wrench_from_action_matrix,
)

#: Pivots and singular values below this part of the largest, of a system made dimensionless, are those of a singular
#: one: its solution would have lost all but two or three digits.
RANK_TOLERANCE = 1e-13


class HybridDynamics(NamedTuple):
    """Rate of the velocity matrix and action matrix of a body, shape (..., 4, 4)."""

    W_rate: Array
    Phi: Array


class HybridSolution(NamedTuple):
    """Results of `hybrid_solution`; see `chasles.geometry.DynamicSolution`."""

    W_rate: Array
    Phi: Array
    rank: Any
    problem: Any
    physical: Any


@batched(J=(4, 4), W_rate=(4, 4), Phi=(4, 4))
def hybrid_dynamics(
    J: Array, W_rate: Array, Phi: Array, acceleration_unknown: tuple[bool, ...] = (True,) * 6
) -> HybridDynamics:
    """Solve Φ = skew{dW/dt J} where of each component either the acceleration or the action is known.

    It is compiled and differentiable, takes symbols, and examines nothing: see `solve_dynamic_equation` for an account
    of the solution and for other choices of unknowns.

    Parameters
    ----------
    J
        Pseudo-inertia, shape (..., 4, 4), of a body with positive definite spatial inertia. Otherwise the results may
        be infinite or NaN.
    W_rate, Phi
        Acceleration and action, shape (..., 4, 4); the unknown components do not matter.
    acceleration_unknown
        For each of (alpha x, y, z, a x, y, z) true if the acceleration is sought, false if the action is.

    Returns
    -------
    HybridDynamics
        Both matrices, complete.

    Examples
    --------
    A body slides on a plane that holds the three other components of its motion; the force pulls at 1 N.

    >>> J, none = np.diag([1.0, 1.0, 1.0, 2.0]), np.zeros((4, 4))
    >>> pull = action_matrix([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    >>> motion, action = hybrid_dynamics(J, none, pull, (False, False, True, True, True, False))
    >>> motion[:3, 3]
    array([0.5, 0. , 0. ])
    """
    sought, known = _sought_and_known(acceleration_unknown, "hybrid_dynamics")
    S = spatial_inertia_from_pseudo_inertia(J)
    acceleration, action = twist_from_velocity_matrix(W_rate), wrench_from_action_matrix(Phi)
    missing = action[sought] - S[np.ix_(sought, known)] @ acceleration[known]
    acceleration, action = _completed(S, acceleration, action, sought, _solved(S[np.ix_(sought, sought)], missing))
    return HybridDynamics(velocity_matrix(acceleration), action_matrix(action))


@batched(J=(4, 4), W_rate=(4, 4), Phi=(4, 4), dtypes={"rank": int, "problem": int, "physical": bool})
def hybrid_solution(
    J: Array, W_rate: Array, Phi: Array, acceleration_unknown: tuple[bool, ...] = (True,) * 6
) -> HybridSolution:
    """`hybrid_dynamics` with an account of its data and of the solution; what is not solved is NaN."""
    sought, known = _sought_and_known(acceleration_unknown, "hybrid_solution")
    S = spatial_inertia_from_pseudo_inertia(J)
    flags = np.array([1.0 if i in chosen else 0.0 for chosen in (sought, known) for i in range(6)])
    given, problem, physical = examined_data(J, S, W_rate, Phi, flags)
    acceleration, action = given[:6], given[6:]

    # In units in which the inertia has a unit diagonal, whatever its size.
    unit = np.array([sqrt(where(S[i, i] > 0.0, S[i, i], 1.0)) for i in range(6)])
    missing = (action[sought] - S[np.ix_(sought, known)] @ acceleration[known]) / unit[sought]
    scaled = S[np.ix_(sought, sought)] / np.outer(unit[sought], unit[sought])
    pivots, factors = pivots_and_factors(scaled, RANK_TOLERANCE)
    rank: Any = float(len(known))
    for pivot in pivots:
        rank = rank + where(absolute(pivot) > RANK_TOLERANCE, 1.0, 0.0)
    found = np.array(_substituted(pivots, factors, missing)) / unit[sought] if sought else []

    acceleration, action = _completed(S, acceleration, action, sought, found)
    terms = np.array([absolute(S[i]) @ absolute(acceleration) for i in range(6)]) + absolute(action)
    residual = largest_component((S @ acceleration - action) / unit)
    satisfied = (residual <= ROUNDING * largest_component(terms / unit)) & (
        largest_component(acceleration, action) < math.inf
    )
    outcome = where(satisfied, float(DynamicProblem.NONE), float(DynamicProblem.OVERFLOW))
    outcome = where(rank < 5.5, float(DynamicProblem.SINGULAR), outcome)
    problem = where(problem > 0.5, problem, outcome)
    acceleration, action = (
        np.array([where(problem > 0.5, np.nan, value) if i in unknown else value for i, value in enumerate(values)])
        for unknown, values in ((sought, acceleration), (known, action))
    )
    problem = where((problem < 0.5) & (physical < 0.5), float(DynamicProblem.INERTIA), problem)
    return HybridSolution(velocity_matrix(acceleration), action_matrix(action), rank, problem, physical)


def _sought_and_known(acceleration_unknown: tuple[bool, ...], function: str) -> tuple[list[int], list[int]]:
    if len(acceleration_unknown) != 6:
        raise ArgumentError(f"{function}: acceleration_unknown has {len(acceleration_unknown)} flags, not 6")
    sought = [i for i in range(6) if acceleration_unknown[i]]
    return sought, [i for i in range(6) if i not in sought]


def _completed(S: Array, acceleration: Array, action: Array, sought: list[int], found: Any) -> tuple[Array, Array]:
    """Acceleration with what has been found, and action with what follows from it."""
    values = dict(zip(sought, found, strict=True))
    acceleration = np.array([values.get(i, acceleration[i]) for i in range(6)])
    resulting = S @ acceleration
    return acceleration, np.array([action[i] if i in sought else resulting[i] for i in range(6)])


def _solved(A: Array, b: Array) -> list[Any]:
    """Solution of A x = b for a symmetric positive definite matrix."""
    return _substituted(*pivots_and_factors(A, None), b)


def _substituted(pivots: list[Any], factors: list[list[Any]], b: Array) -> list[Any]:
    """Solution of L D Lᵀ x = b."""
    x = list(b)
    for i, row in enumerate(factors):
        for k, factor in enumerate(row):
            x[i] = x[i] - factor * x[k]
    for k in reversed(range(len(x))):
        x[k] = x[k] / pivots[k] - sum(factors[i][k] * x[i] for i in range(k + 1, len(x)))
    return x
