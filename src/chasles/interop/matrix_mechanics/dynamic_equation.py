"""The dynamic equation of a rigid body for any six unknowns among its acceleration and the action on it.

The equation is Φ = skew{dW/dt J} or, with the same form, Γ = skew{W J} for velocity and momentum. It is linear: in
vectors of six, action = S acceleration with the spatial inertia S of J.

Source: the user's manual of SpaceLib in C, version 2.2, chapter 5 (function dyn_eq).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.arguments import as_array
from chasles.engine.program.scalar import Count
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.pseudo_inertias import spatial_inertia_from_pseudo_inertia
from chasles.geometry.screws import velocity_matrix
from chasles.interop.matrix_mechanics.hybrid_dynamics import (
    RANK_TOLERANCE,
    ROUNDING,
    DynamicData,
    DynamicProblem,
    HybridSolution,
    examined_data,
    hybrid_solution,
)
from chasles.interop.matrix_mechanics.matrices import action_matrix

#: A sentence for each `DynamicProblem`, with the rank and the names of the matrices.
_PROBLEMS = {
    DynamicProblem.NOT_FINITE: "J or a given component of {motion} or {action} is not finite",
    DynamicProblem.ACCELERATION: (
        "{motion} is not [[skew(alpha), a], [0, 0]] in its given components; if it is an acceleration matrix "
        "H = dW/dt + W², subtract W²"
    ),
    DynamicProblem.ACTION: "{action} is not [[skew(m), f], [-fᵀ, 0]] in its given components",
    DynamicProblem.ASYMMETRY: "J is not symmetric",
    DynamicProblem.SINGULAR: "the system is singular (rank {rank} of 6)",
    DynamicProblem.OVERFLOW: "the solution is not finite, or does not satisfy the equation",
    DynamicProblem.INERTIA: "solved, but no body with mass has the inertia J",
    DynamicProblem.UNKNOWNS: "solved, but one component has two unknowns and another has none",
}


def problem_sentence(problem: Count, rank: Count, motion: str = "W_rate", action: str = "Phi") -> str:
    """Return a sentence about the first of all samples that is not well; "solved" if none is.

    >>> problem_sentence(np.array([0, 5]), np.array([6, 4]))
    '1 of 2 samples are not well; the first, (1,): the system is singular (rank 4 of 6)'
    """
    problems, ranks = np.asarray(problem), np.asarray(rank)
    wrong = problems != DynamicProblem.NONE
    if not np.any(wrong):
        return "solved"
    sample = tuple(map(int, np.argwhere(wrong)[0]))
    sentence = _PROBLEMS[DynamicProblem(int(problems[sample]))]
    prefix = f"{int(np.sum(wrong))} of {wrong.size} samples are not well; the first, {sample}: " if sample else ""
    return prefix + sentence.format(rank=int(ranks[sample]), motion=motion, action=action)


@dataclass(frozen=True, slots=True, eq=False)
class DynamicSolution:
    """Solution of the dynamic equation, and how good it is.

    Attributes
    ----------
    W_rate, Phi
        Acceleration and action, complete, shape (..., 4, 4). In a sample that is not solved the unknown components are
        NaN.
    rank
        Rank of the system of six equations, shape (...); below 6 it is singular.
    solved
        Whether the matrices have the layout they must have, the system is regular, the data are finite, and the
        solution satisfies the equation, shape (...).
    physical
        Whether the data have a meaning, shape (...): J is the inertia of a body with mass, and of each component
        either the acceleration or the action is unknown, not both or neither.
    problem
        Code of the problem, shape (...): a `DynamicProblem` of `chasles.interop.matrix_mechanics.hybrid_dynamics`, 0
        for nothing.
    """

    W_rate: NDArray[np.float64]
    Phi: NDArray[np.float64]
    rank: NDArray[np.int64]
    solved: NDArray[np.bool_]
    physical: NDArray[np.bool_]
    problem: NDArray[np.int64]

    @property
    def success(self) -> bool:
        """Whether all samples are solved and physical."""
        return bool(np.all(self.solved & self.physical))

    @property
    def status(self) -> str:
        """A sentence about the solution; it names the first sample that is not well."""
        return problem_sentence(self.problem, self.rank)


def solve_dynamic_equation(J: ArrayLike, W_rate: ArrayLike, Phi: ArrayLike, unknown: ArrayLike) -> DynamicSolution:
    """Solve Φ = skew{dW/dt J} for six unknowns among the components of acceleration and action.

    For velocity and momentum, Γ = skew{W J}, hand over W and Γ.

    Parameters
    ----------
    J
        Pseudo-inertia, shape (..., 4, 4).
    W_rate, Phi
        Acceleration and action, shape (..., 4, 4); the unknown components do not matter.
    unknown
        Flags, true for an unknown, shape (..., 2, 6): the first row is about (alpha x, y, z, a x, y, z), the second
        about (m x, y, z, f x, y, z). Each sample may have its own.

    Returns
    -------
    DynamicSolution
        With `solved`, `physical` and a `status` that says what is wrong.

    Raises
    ------
    ArgumentError
        If a shape is wrong, or if not exactly six components are unknown.

    Examples
    --------
    >>> J, none = np.diag([1.0, 1.0, 1.0, 2.0]), np.zeros((4, 4))
    >>> pull = action_matrix([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    >>> solution = solve_dynamic_equation(J, none, pull, [[1] * 6, [0] * 6])
    >>> solution.status, solution.W_rate[:3, 3]
    ('solved', array([0.5, 0. , 0. ]))
    """
    inertia, motion, action = _matrices("J", J), _matrices("W_rate", W_rate), _matrices("Phi", Phi)
    flags = _flags(unknown)
    one_of_each = (flags[..., :6] != flags[..., 6:]).all(axis=-1)
    if flags.ndim == 1 and one_of_each:
        solution = hybrid_solution(inertia, motion, action, acceleration_unknown=tuple(map(bool, flags[:6])))
    else:
        solution = _general_solution(inertia, motion, action, flags)
    problem = np.where(
        (solution.problem == DynamicProblem.NONE) & ~one_of_each, DynamicProblem.UNKNOWNS, np.asarray(solution.problem)
    )
    solved = np.isin(problem, (DynamicProblem.NONE, DynamicProblem.INERTIA, DynamicProblem.UNKNOWNS))
    return DynamicSolution(
        solution.W_rate,
        solution.Phi,
        np.asarray(solution.rank),
        solved,
        np.asarray(one_of_each & solution.physical),
        problem,
    )


@batched(J=(4, 4), W_rate=(4, 4), Phi=(4, 4), unknown=(12,))
def _examined(J: Array, W_rate: Array, Phi: Array, unknown: Array) -> DynamicData:
    return examined_data(J, spatial_inertia_from_pseudo_inertia(J), W_rate, Phi, unknown)


def _general_solution(
    J: NDArray[np.float64], W_rate: NDArray[np.float64], Phi: NDArray[np.float64], flags: NDArray[np.bool_]
) -> HybridSolution:
    """Solve for any six unknowns, which may differ from sample to sample."""
    data, problem, physical = map(np.asarray, _examined(J, W_rate, Phi, flags.astype(np.float64)))
    legal = np.asarray(problem) == DynamicProblem.NONE
    flags = np.broadcast_to(flags, data.shape)
    S = np.where(legal[..., None, None], spatial_inertia_from_pseudo_inertia(J), np.eye(6))
    with np.errstate(invalid="ignore", over="ignore"):
        rank, values = _completed(S, np.where(legal[..., None], data, 0.0), flags)
        satisfied = _satisfied(S, values)
    solved = legal & (rank == 6) & satisfied
    values = np.where(flags, np.where(solved[..., None], values, np.nan), data)
    outcome = np.where(physical > 0.5, DynamicProblem.NONE, DynamicProblem.INERTIA)
    outcome = np.where(satisfied, outcome, DynamicProblem.OVERFLOW)
    outcome = np.where(rank == 6, outcome, DynamicProblem.SINGULAR)
    problem = np.where(legal, outcome, problem).astype(np.int64)
    W_rate, Phi = velocity_matrix(values[..., :6]), action_matrix(values[..., 6:])
    return HybridSolution(W_rate, Phi, rank, problem, physical > 0.5)


def _completed(
    S: NDArray[np.float64], data: NDArray[np.float64], unknown: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rank of S acceleration - action = 0 in its unknowns, and (acceleration, action) with the unknowns found."""
    unit = _units(S)
    units = np.concatenate([1.0 / unit, unit], axis=-1)
    scaled = S / (unit[..., :, None] * unit[..., None, :])
    equations = np.concatenate([scaled, np.broadcast_to(-np.eye(6), scaled.shape)], axis=-1)
    values = data / units
    columns = np.argsort(~unknown, axis=-1, kind="stable")[..., :6]
    U, s, Vt = np.linalg.svd(np.take_along_axis(equations, columns[..., None, :], axis=-1))
    regular = s > RANK_TOLERANCE * s[..., :1]
    projected = np.einsum("...ji,...j", U, -np.einsum("...ij,...j", equations, values))
    solution = np.einsum("...ji,...j", Vt, np.where(regular, projected, 0.0) / np.where(regular, s, 1.0))
    np.put_along_axis(values, columns, solution, axis=-1)
    return np.asarray(regular.sum(axis=-1)), values * units


def _units(S: NDArray[np.float64]) -> NDArray[np.float64]:
    """Units of the components of an action, with which the inertia has a unit diagonal, whatever its size."""
    diagonal = np.diagonal(S, axis1=-2, axis2=-1)
    return np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))


def _satisfied(S: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether the difference of the two sides of the equation is of the size of rounding errors."""
    unit, acceleration, action = _units(S), values[..., :6], values[..., 6:]
    difference = np.abs(np.einsum("...ij,...j", S, acceleration) - action)
    terms = np.einsum("...ij,...j", np.abs(S), np.abs(acceleration)) + np.abs(action)
    return np.asarray((difference / unit).max(axis=-1) <= ROUNDING * (terms / unit).max(axis=-1))


def _matrices(name: str, A: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(as_array(A, "solve_dynamic_equation", name), dtype=np.float64)
    if array.shape[-2:] != (4, 4):
        raise ArgumentError(f"solve_dynamic_equation: {name} has shape {array.shape}, not (..., 4, 4)")
    return array


def _flags(unknown: ArrayLike) -> NDArray[np.bool_]:
    flags = np.asarray(unknown)
    if flags.shape[-2:] != (2, 6):
        raise ArgumentError(f"solve_dynamic_equation: unknown has shape {flags.shape}, not (..., 2, 6)")
    if not np.isin(flags, (0, 1)).all():
        raise ArgumentError("solve_dynamic_equation: unknown holds numbers that are neither 0 nor 1")
    flags = flags.astype(bool).reshape(*flags.shape[:-2], 12)
    counts = np.atleast_1d(flags.sum(axis=-1))
    if (counts != 6).any():
        raise ArgumentError(
            f"solve_dynamic_equation: {counts[counts != 6][0]} components are unknown; six equations need six unknowns"
        )
    return flags
