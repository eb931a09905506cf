"""Forward kinematics from a guess: the poses that are found, and how good they are."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.arguments import real, reals, whole_number
from chasles.parallel import nearest_pose as search
from chasles.parallel.kinematics import Geometry

#: Default tolerance of leg lengths, relative to the sum of the platform's size and the lengths.
RELATIVE_TOLERANCE = 1e-12
_FAR = np.inf


class Status(IntEnum):
    """How the search for one pose ended."""

    SOLVED = 0
    NOT_FOUND = 1
    OUT_OF_REACH = 2
    INVALID_LENGTHS = 3

    @property
    def sentence(self) -> str:
        """The status in words."""
        return _SENTENCES[self]


_SENTENCES = {
    Status.SOLVED: "solved: the leg lengths at the pose are those given, within the tolerance",
    Status.NOT_FOUND: "no pose was found from this guess; T is where the search ended; try another guess",
    Status.OUT_OF_REACH: "no pose has these leg lengths: two legs are too short, or differ too much, for the "
    "distances between their joints",
    Status.INVALID_LENGTHS: "leg lengths must be finite and not negative",
}


class PoseSolution:
    """Poses for leg lengths, with the leading axes of the call.

    Attributes
    ----------
    T
        Poses T_base_platform, (..., 4, 4): the solution, or where the search ended.
    residual
        Largest error of a leg length at T, (...), m.
    iterations
        Number of steps, (...).
    status
        Number of a `Status`, (...).
    """

    __slots__ = ("T", "iterations", "residual", "status")

    def __init__(self, T: NDArray[np.float64], residual: Any, iterations: Any, status: Any) -> None:
        self.T = T
        self.residual = residual
        self.iterations = iterations
        self.status = status

    @property
    def success(self) -> Any:
        """Whether the leg lengths at T are those given, within the tolerance, (...)."""
        return self.status == Status.SOLVED

    def __str__(self) -> str:
        status = np.atleast_1d(self.status)
        lines = [f"{np.count_nonzero(status == Status.SOLVED)} of {status.size} poses found"]
        lines += [
            f"{np.count_nonzero(status == failure)}: {failure.sentence}"
            for failure in Status
            if failure != Status.SOLVED and np.any(status == failure)
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<PoseSolution: {str(self).splitlines()[0]}>"


def nearest_pose(
    geometry: Geometry, size: float, lengths: ArrayLike, guess: ArrayLike, tolerance: float | None, max_iterations: int
) -> PoseSolution:
    """Search a pose for each row of leg lengths (..., 6) from a guess (..., 4, 4)."""
    rows = np.asarray(lengths)
    if rows.dtype != np.float64 or rows.shape[-1:] != (6,):
        rows = _lengths(lengths)
    start = np.asarray(guess)
    if start.dtype != np.float64 or start.shape[-2:] != (4, 4):
        start = reals(guess, "guess", (..., 4, 4))
    if max_iterations != 50:
        max_iterations = whole_number(max_iterations, "max_iterations", 1, 1_000_000)
    if tolerance is None:
        allowed = RELATIVE_TOLERANCE * (size + (sum(rows.tolist()) if rows.ndim == 1 else rows.sum(axis=-1)))
    else:
        allowed = real(tolerance, "tolerance", above=0.0)
    state = np.empty((*start.shape[:-2], 17))
    state[..., :16] = start.reshape(*start.shape[:-2], 16)
    state[..., 16] = _FAR
    ended, iterations, done = search.kernel()(
        state, rows, geometry.base, geometry.platform, size, allowed, max_iterations
    )
    T = ended[..., :16].reshape(*ended.shape[:-1], 4, 4)
    if np.ndim(done) == 0:
        status: Any = Status.SOLVED if done else _reason(geometry, rows)[()]
        return PoseSolution(T, ended[16], int(iterations), int(status))
    status = np.where(done > 0.0, Status.SOLVED, _reason(geometry, rows))
    return PoseSolution(T, ended[..., 16], iterations.astype(np.int64), status)


def _lengths(lengths: ArrayLike) -> NDArray[np.float64]:
    """Leg lengths as doubles; NaN is left to the status."""
    from chasles.engine.arguments import as_array

    array = np.asarray(as_array(lengths, "", "lengths"), dtype=np.float64)
    return reals(np.zeros(array.shape), "lengths", (..., 6)) + array


def _reason(geometry: Geometry, lengths: NDArray[np.float64]) -> NDArray[np.int64]:
    """Status of each row of leg lengths (..., 6) for which no pose was found.

    Between joints a_i, a_j of the base and b_i, b_j of the platform runs a chain of two legs and the platform: none of
    its four sides is longer than the other three together.
    """
    status = np.where(out_of_reach(geometry, lengths), Status.OUT_OF_REACH, Status.NOT_FOUND)
    invalid = ~np.all(np.isfinite(lengths) & (lengths >= 0.0), axis=-1)
    return np.where(invalid, Status.INVALID_LENGTHS, status)


def out_of_reach(geometry: Geometry, lengths: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether no pose can have these lengths, as the distances between pairs of joints prove, (...)."""
    i, j = np.triu_indices(6, 1)
    between_base, between_platform = (np.linalg.norm(joints[i] - joints[j], axis=1) for joints in geometry)
    sides = np.stack(np.broadcast_arrays(lengths[..., i], lengths[..., j], between_base, between_platform), axis=-1)
    with np.errstate(invalid="ignore"):
        excess = 2.0 * sides.max(axis=-1) - sides.sum(axis=-1)
        return np.asarray(np.any(excess > 1e-12 * sides.sum(axis=-1), axis=-1))
