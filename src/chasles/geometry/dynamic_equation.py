"""The dynamic equation of a rigid body for any six unknowns among its acceleration and the action on it.

The equation is Φ = skew{dW/dt J} or, with the same form, Γ = skew{W J} for velocity and momentum. It is linear: in
vectors of six, action = S acceleration with the spatial inertia S of J.

Source: the user's manual of SpaceLib in C, version 2.2, chapter 5 (function dyn_eq).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.errors import ArgumentError
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.matrix_dynamics import action_matrix_from_acceleration
from chasles.geometry.pseudo_inertias import spatial_inertia_from_pseudo_inertia
from chasles.geometry.rigid_body_matrices import (
    action_matrix,
    twist_from_velocity_matrix,
    velocity_matrix,
    wrench_from_action_matrix,
)

#: Singular values below this part of the largest, of a system made dimensionless, are those of a singular one: their
#: solution would have lost all but two or three digits.
RANK_TOLERANCE = 1e-13

#: Rounding errors, relative, that inertias and residuals may have.
ROUNDING = 1e-9


class HybridDynamics(NamedTuple):
    """Rate of the velocity matrix and action matrix of a body, shape (..., 4, 4)."""

    W_rate: Array
    Phi: Array


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
    if len(acceleration_unknown) != 6:
        raise ArgumentError(f"hybrid_dynamics: acceleration_unknown has {len(acceleration_unknown)} flags, not 6")
    S = spatial_inertia_from_pseudo_inertia(J)
    acceleration, action = twist_from_velocity_matrix(W_rate), wrench_from_action_matrix(Phi)
    sought = [i for i in range(6) if acceleration_unknown[i]]
    known = [i for i in range(6) if not acceleration_unknown[i]]
    found = _solved(S[np.ix_(sought, sought)], action[sought] - S[np.ix_(sought, known)] @ acceleration[known])
    values = dict(zip(sought, found, strict=True)) | {i: acceleration[i] for i in known}
    acceleration = np.array([values[i] for i in range(6)])
    resulting = S @ acceleration
    action = np.array([action[i] if i in sought else resulting[i] for i in range(6)])
    return HybridDynamics(velocity_matrix(acceleration), action_matrix(action))


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
        Whether the system is regular, the data are finite, and the solution satisfies the equation, shape (...).
    physical
        Whether the data have a meaning, shape (...): J is the inertia of a body with mass, and of each component
        either the acceleration or the action is unknown, not both or neither.
    """

    W_rate: NDArray[np.float64]
    Phi: NDArray[np.float64]
    rank: NDArray[np.int64]
    solved: NDArray[np.bool_]
    physical: NDArray[np.bool_]

    @property
    def success(self) -> bool:
        """Whether all samples are solved and physical."""
        return bool(np.all(self.solved & self.physical))

    @property
    def status(self) -> str:
        """A sentence about the solution; it names the first sample that is not well."""
        well = self.solved & self.physical
        if np.all(well):
            return "solved"
        sample = tuple(map(int, np.argwhere(np.logical_not(well))[0]))
        if self.rank[sample] < 6:
            problem = f"the system is singular (rank {self.rank[sample]} of 6)"
        elif not self.solved[sample]:
            problem = "the data or the solution are not finite, or J is not symmetric"
        else:
            problem = "solved, but no body has such an inertia, or a component has two unknowns and another has none"
        which = f"{int(np.sum(~well))} of {well.size} samples are not well; the first, {sample}: " if sample else ""
        return which + problem


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
    lead = np.broadcast_shapes(inertia.shape[:-2], motion.shape[:-2], action.shape[:-2], flags.shape[:-1])
    flags = np.broadcast_to(flags, (*lead, 12))
    S = np.broadcast_to(spatial_inertia_from_pseudo_inertia(inertia), (*lead, 6, 6))
    vectors = np.broadcast_arrays(twist_from_velocity_matrix(motion), wrench_from_action_matrix(action))
    given = np.where(flags, 0.0, np.concatenate(vectors, axis=-1))
    finite = np.isfinite(S).all(axis=(-1, -2)) & np.isfinite(given).all(axis=-1)

    with np.errstate(invalid="ignore", over="ignore"):
        rank, complete = _completed(np.where(finite[..., None, None], S, np.eye(6)), given, flags)
        values = np.where(flags, np.where((finite & (rank == 6))[..., None], complete, np.nan), given)
        found_motion, found_action = velocity_matrix(values[..., :6]), action_matrix(values[..., 6:])
        satisfied = _satisfied(S, values, found_action - action_matrix_from_acceleration(found_motion, inertia))
    one_of_each = (flags[..., :6] != flags[..., 6:]).all(axis=-1)
    solved = finite & (rank == 6) & satisfied
    return DynamicSolution(found_motion, found_action, rank, solved, one_of_each & _is_inertia(inertia))


def _solved(A: Array, b: Array) -> list[Any]:
    """Solution of A x = b for a symmetric positive definite matrix, by A = L D L^T."""
    n = len(b)
    lower = [[A[i, j] for j in range(i + 1)] for i in range(n)]
    x = list(b)
    for k in range(n):
        for i in range(k + 1, n):
            factor = lower[i][k] / lower[k][k]
            x[i] = x[i] - factor * x[k]
            for j in range(k + 1, i + 1):
                lower[i][j] = lower[i][j] - factor * lower[j][k]
    for k in reversed(range(n)):
        x[k] = (x[k] - sum(lower[i][k] * x[i] for i in range(k + 1, n))) / lower[k][k]
    return x


def _completed(
    S: NDArray[np.float64], given: NDArray[np.float64], unknown: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rank of S acceleration - action = 0 in its unknowns, and (acceleration, action) with the unknowns found."""
    unit = _units(S)
    units = np.concatenate([1.0 / unit, unit], axis=-1)
    scaled = S / (unit[..., :, None] * unit[..., None, :])
    equations = np.concatenate([scaled, np.broadcast_to(-np.eye(6), scaled.shape)], axis=-1)
    values = given / units
    columns = np.argsort(~unknown, axis=-1, kind="stable")[..., :6]
    U, s, Vt = np.linalg.svd(np.take_along_axis(equations, columns[..., None, :], axis=-1))
    regular = s > RANK_TOLERANCE * s[..., :1]
    projected = np.einsum("...ji,...j", U, -np.einsum("...ij,...j", equations, values))
    found = np.einsum("...ji,...j", Vt, np.where(regular, projected, 0.0) / np.where(regular, s, 1.0))
    np.put_along_axis(values, columns, found, axis=-1)
    return np.asarray(regular.sum(axis=-1)), values * units


def _units(S: NDArray[np.float64]) -> NDArray[np.float64]:
    """Units of the components of an action, with which the inertia has a unit diagonal, whatever its size."""
    diagonal = np.diagonal(S, axis1=-2, axis2=-1)
    return np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))


def _satisfied(S: NDArray[np.float64], values: NDArray[np.float64], difference: NDArray[np.float64]) -> Any:
    """Whether the difference of the two sides of the equation is of the size of rounding errors."""
    unit = _units(S)
    terms = np.einsum("...ij,...j", np.abs(S), np.abs(values[..., :6])) + np.abs(values[..., 6:])
    allowed = ROUNDING * (terms / unit).max(axis=-1)
    return (np.abs(wrench_from_action_matrix(difference)) / unit).max(axis=-1) <= allowed


def _is_inertia(J: NDArray[np.float64]) -> Any:
    """Whether a body with mass has the pseudo-inertia: symmetric and positive semidefinite, up to rounding."""
    finite = np.asarray(np.isfinite(J).all(axis=(-1, -2)))
    J = np.where(finite[..., None, None], J, 0.0)
    mass, second = J[..., 3, 3], np.trace(J[..., :3, :3], axis1=-2, axis2=-1)
    length, root = np.sqrt(np.where(second > 0.0, second, 1.0)), np.sqrt(np.where(mass > 0.0, mass, 1.0))
    unit = np.stack([length, length, length, root], axis=-1)
    scaled = J / (unit[..., :, None] * unit[..., None, :])
    asymmetry = np.abs(scaled - np.swapaxes(scaled, -1, -2)).max(axis=(-1, -2))
    smallest = np.linalg.eigvalsh(scaled)[..., 0]
    return finite & (mass > 0.0) & (asymmetry <= ROUNDING) & (smallest >= -ROUNDING)


def _matrices(name: str, A: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(A, dtype=np.float64)
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
