"""The dynamic equation of a rigid body where of each component either the acceleration or the action is known.

Source: the user's manual of SpaceLib in C, version 2.2, chapter 5 (function dyn_eq).

An action matrix holds its moment and its force twice, a velocity matrix its angular velocity; a pseudo-inertia is
symmetric. Where the two places differ, or numbers stand where zeros belong, nobody can tell what is meant.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from chasles.base.comparable import comparable
from chasles.base.errors import ArgumentError
from chasles.engine import absolute, maximum, minimum, sqrt, where
from chasles.engine.program.scalar import Real
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.pseudo_inertias import spatial_inertia_from_pseudo_inertia
from chasles.geometry.screws import twist_from_velocity_matrix, velocity_matrix
from chasles.geometry.vectors import largest_component
from chasles.interop.matrix_mechanics.matrices import action_matrix, wrench_from_action_matrix

#: Rounding errors, relative, that inertias, matrices and residuals may have.
ROUNDING = 1e-9

#: Errors of an acceleration (rad/s², m/s²) and of an action (N·m, N) that count as rounding, together with what it does
#: to the body: they remain where larger numbers cancel.
NEGLIGIBLE = 1e-11


class DynamicProblem(IntEnum):
    """Problem with a sample of the dynamic equation; samples with one of the last two are solved all the same."""

    NONE = 0
    NOT_FINITE = 1
    ACCELERATION = 2
    ACTION = 3
    ASYMMETRY = 4
    SINGULAR = 5
    OVERFLOW = 6
    INERTIA = 7
    UNKNOWNS = 8


class DynamicData(NamedTuple):
    """Data of one sample.

    Attributes
    ----------
    given
        (acceleration, action), shape (12,); 0 in the place of an unknown.
    problem
        A `DynamicProblem`, up to `ASYMMETRY`.
    physical
        1.0 where J is the pseudo-inertia of a body with mass, else 0.0.
    """

    given: Array
    problem: Real
    physical: Real


def examined_data(J: Array, S: Array, W_rate: Array, Phi: Array, unknown: Array) -> DynamicData:
    """Read the data of the dynamic equation, and tell whether its matrices are what they must be.

    Parameters
    ----------
    J, S
        Pseudo-inertia (4, 4), and its spatial inertia (6, 6).
    W_rate, Phi
        Acceleration and action (4, 4).
    unknown
        1.0 for an unknown, else 0.0, shape (12,).
    """
    turning, moving = (minimum(largest_component(part), 1.0) for part in (np.diag(S)[:3], np.diag(S)[3:]))
    alpha, alpha_error = _angular(W_rate, unknown[:3])
    a = _known(W_rate[:3, 3], unknown[3:6])
    rest = _zeros(unknown[:6], *np.diag(W_rate), *W_rate[3, :3])
    alpha_allowed = ROUNDING * largest_component(alpha) + NEGLIGIBLE
    is_motion = maximum(alpha_error, rest) <= alpha_allowed

    moment, moment_error = _angular(Phi, unknown[6:9])
    force, force_error = _mean(_known(Phi[:3, 3], unknown[9:]), _known(-Phi[3, :3], unknown[9:]))
    force_size = largest_component(force)
    rest = _zeros(unknown[6:], *np.diag(Phi))
    # The moment of a force of 1 N at 1 m may be off by what rounding leaves of it.
    moment_allowed = ROUNDING * largest_component(moment) + NEGLIGIBLE * (turning + force_size)
    force_allowed = ROUNDING * force_size + NEGLIGIBLE * moving
    is_action = (maximum(moment_error, rest) <= moment_allowed) & (force_error <= force_allowed)

    components = np.concatenate([alpha, a, moment, force])
    symmetric, physical = _examined_inertia(J)
    problem = where(symmetric, float(DynamicProblem.NONE), float(DynamicProblem.ASYMMETRY))
    problem = where(is_action, problem, float(DynamicProblem.ACTION))
    problem = where(is_motion, problem, float(DynamicProblem.ACCELERATION))
    finite = largest_component(J.ravel(), components) < math.inf
    return DynamicData(components, where(finite, problem, float(DynamicProblem.NOT_FINITE)), where(physical, 1.0, 0.0))


def pivots_and_factors(A: Array, least: float | None) -> tuple[list[Any], list[list[Any]]]:
    """Factors of a symmetric matrix, A = L D Lᵀ: the diagonal of D, and the rows of L without their diagonal.

    Where a pivot is not larger than `least`, its column of L is null: the factors are those of a semidefinite matrix
    then. None is for a matrix that is positive definite.
    """
    n = len(A)
    rest = [[A[i, j] for j in range(i + 1)] for i in range(n)]
    factors: list[list[Any]] = [[] for _ in range(n)]
    for k in range(n):
        pivot = rest[k][k]
        for i in range(k + 1, n):
            factor = rest[i][k] / pivot
            factors[i].append(factor if least is None else where(absolute(pivot) > least, factor, 0.0))
            for j in range(k + 1, i + 1):
                rest[i][j] = rest[i][j] - factors[i][k] * rest[j][k]
    return [rest[k][k] for k in range(n)], factors


def _angular(A: Array, unknown: Array) -> tuple[Array, Any]:
    """Vector of the skew upper left part of a matrix, and the largest difference of its two places."""
    below, above = np.array([A[2, 1], A[0, 2], A[1, 0]]), -np.array([A[1, 2], A[2, 0], A[0, 1]])
    return _mean(_known(below, unknown), _known(above, unknown))


def _mean(first: Array, second: Array) -> tuple[Array, Any]:
    difference = second - first
    return first + 0.5 * difference, largest_component(difference)


def _known(components: Array, unknown: Array) -> Array:
    return np.array([where(u > 0.5, 0.0, component) for u, component in zip(unknown, components, strict=True)])


def _zeros(unknown: Array, *elements: Real) -> Real:
    """Largest of the elements that must be null; they do not matter where nothing of the matrix is given."""
    nothing = unknown[0] > 0.5
    for u in unknown[1:]:
        nothing = nothing & (u > 0.5)
    return where(nothing, 0.0, largest_component(np.array(elements)))


def _examined_inertia(J: Array) -> tuple[Any, Any]:
    """Whether J is symmetric, and whether it is positive semidefinite with a mass, too; both up to rounding."""
    mass, second = J[3, 3], J[0, 0] + J[1, 1] + J[2, 2]
    length, root = sqrt(where(second > 0.0, second, 1.0)), sqrt(where(mass > 0.0, mass, 1.0))
    unit = np.array([length, length, length, root])
    scaled = J / np.outer(unit, unit)
    symmetric = largest_component((scaled - scaled.T).ravel()) <= ROUNDING
    pivots, _ = pivots_and_factors(scaled + ROUNDING * np.eye(4), 0.0)
    physical = symmetric & (mass > 0.0)
    for pivot in pivots:
        physical = physical & (pivot > 0.0)
    return symmetric, physical


#: Pivots and singular values below this part of the largest, of a system made dimensionless, are those of a singular
#: one: its solution would have lost all but two or three digits.
RANK_TOLERANCE = 1e-13


@comparable
class HybridDynamics(NamedTuple):
    """Rate of the velocity matrix and action matrix of a body, shape (..., 4, 4)."""

    W_rate: Array
    Phi: Array


class HybridSolution(NamedTuple):
    """Results of `hybrid_solution`; see `DynamicSolution`."""

    W_rate: Array
    Phi: Array
    rank: Real
    problem: Real
    physical: Real


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
    data, problem, physical = examined_data(J, S, W_rate, Phi, flags)
    acceleration, action = data[:6], data[6:]

    # In units in which the inertia has a unit diagonal, whatever its size.
    unit = np.array([sqrt(where(S[i, i] > 0.0, S[i, i], 1.0)) for i in range(6)])
    missing = (action[sought] - S[np.ix_(sought, known)] @ acceleration[known]) / unit[sought]
    scaled = S[np.ix_(sought, sought)] / np.outer(unit[sought], unit[sought])
    pivots, factors = pivots_and_factors(scaled, RANK_TOLERANCE)
    rank: Real = float(len(known))
    for pivot in pivots:
        rank = rank + where(absolute(pivot) > RANK_TOLERANCE, 1.0, 0.0)
    solution = np.array(_substituted(pivots, factors, missing)) / unit[sought] if sought else []

    acceleration, action = _completed(S, acceleration, action, sought, solution)
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


def _completed(
    S: Array, acceleration: Array, action: Array, sought: list[int], solution: Array | list[Any]
) -> tuple[Array, Array]:
    """Acceleration with what has been found, and action with what follows from it."""
    values = dict(zip(sought, solution, strict=True))
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
