"""Results of forward kinematics: the pose near a guess, or all poses, with residuals."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.engine.program.scalar import Count, Verdict
from chasles.engine.validators import doubles, real, reals, whole_number
from chasles.geometry import random_rotation
from chasles.machines.parallel import nearest_pose as search
from chasles.machines.parallel.all_poses import FoundPoses, all_poses
from chasles.machines.parallel.kinematics import JointCenters, out_of_reach
from chasles.model.numbers import LARGEST_NUMBER

#: Default tolerance of leg lengths, relative to the sum of the platform's size and the lengths.
RELATIVE_TOLERANCE = 1e-12
_FAR = np.inf
#: Searches for further poses, and the relative distance within which two poses are one.
_SEARCHES, _SAME_POSE = 32, 1e-5


class PoseStatus(IntEnum):
    """Outcomes of the search for one pose."""

    SOLVED = 0
    NOT_FOUND = 1
    OUT_OF_REACH = 2
    INVALID_LENGTHS = 3

    @property
    def sentence(self) -> str:
        """Sentence that says the status."""
        return _SENTENCES[self]


_SENTENCES = {
    PoseStatus.SOLVED: "solved: the leg lengths at the pose are those given, within the tolerance",
    PoseStatus.NOT_FOUND: "no pose was found from this guess; T is where the search ended; try another guess",
    PoseStatus.OUT_OF_REACH: "no pose has these leg lengths: two legs are too short, or differ too much, for the "
    "distances between their joints",
    PoseStatus.INVALID_LENGTHS: f"leg lengths must be finite and not negative, at most {LARGEST_NUMBER:g} m",
}


class PoseSolution:
    """Poses for leg lengths, with the leading axes of the call.

    Attributes
    ----------
    T
        Poses T_base_platform, (..., 4, 4): the solution, or the last iterate.
    residual
        Largest error of a leg length at T, (...), m.
    iterations
        Number of steps, (...).
    status
        `PoseStatus` code, (...).
    """

    __slots__ = ("T", "iterations", "residual", "status")

    def __init__(
        self,
        T: NDArray[np.float64],
        residual: NDArray[np.float64],
        iterations: Count,
        status: Count,
    ) -> None:
        self.T = T
        self.residual = residual
        self.iterations = iterations
        self.status = status

    @property
    def success(self) -> Verdict:
        """Whether the leg lengths at T equal the given ones within the tolerance, (...)."""
        return np.equal(self.status, PoseStatus.SOLVED)

    def __str__(self) -> str:
        status = np.atleast_1d(self.status)
        lines = [f"{np.count_nonzero(status == PoseStatus.SOLVED)} of {status.size} poses found"]
        lines += [
            f"{np.count_nonzero(status == failure)}: {failure.sentence}"
            for failure in PoseStatus
            if failure != PoseStatus.SOLVED and np.any(status == failure)
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<PoseSolution: {str(self).splitlines()[0]}>"


def nearest_pose(
    geometry: JointCenters,
    size: float,
    lengths: ArrayLike,
    guess: ArrayLike,
    tolerance: float | None,
    max_iterations: int,
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
        allowed = RELATIVE_TOLERANCE * (size + _sum(rows))
    else:
        allowed = real(tolerance, "tolerance", above=0.0)
    state = np.empty((*start.shape[:-2], 17))
    state[..., :16] = start.reshape(*start.shape[:-2], 16)
    state[..., 16] = _FAR
    ended, iterations, converged = search.kernel()(
        state,
        rows,
        geometry.base,
        geometry.platform,
        size,
        allowed,
        float(max_iterations),  # doubles take the fast way
    )
    T = ended[..., :16].reshape(*ended.shape[:-1], 4, 4)
    if np.ndim(converged) == 0:
        status: Any = PoseStatus.SOLVED if converged else _reason(geometry, rows)[()]
        return PoseSolution(T, ended[16], int(iterations), int(status))
    status = np.where(converged > 0.0, PoseStatus.SOLVED, PoseStatus.NOT_FOUND)
    failed = status != PoseStatus.SOLVED
    status[failed] = _reason(geometry, np.broadcast_to(rows, (*status.shape, 6))[failed])
    return PoseSolution(T, ended[..., 16], iterations.astype(np.int64), status)


def _sum(rows: NDArray[np.float64]) -> Any:
    """Sum of each row of leg lengths (..., 6); NaN, which no error is below, where one is out of bounds."""
    if rows.ndim == 1:
        values = rows.tolist()
        return sum(values) if max(values) <= LARGEST_NUMBER else np.nan
    return np.where(rows <= LARGEST_NUMBER, rows, np.nan).sum(axis=-1)


def _lengths(lengths: ArrayLike) -> NDArray[np.float64]:
    """Leg lengths as doubles; NaN is left to the status."""
    array = doubles(lengths, "lengths")
    return reals(np.zeros(array.shape), "lengths", (..., 6)) + array


def _reason(geometry: JointCenters, lengths: NDArray[np.float64]) -> NDArray[np.int64]:
    """Status of each row of leg lengths (..., 6) for which no pose was found."""
    status = np.where(out_of_reach(geometry, lengths), PoseStatus.OUT_OF_REACH, PoseStatus.NOT_FOUND)
    return np.where(~_valid(lengths), PoseStatus.INVALID_LENGTHS, status)


def _valid(lengths: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each row of leg lengths (..., 6) can be that of a platform."""
    valid: NDArray[np.bool_] = np.all((lengths >= 0.0) & (lengths <= LARGEST_NUMBER), axis=-1)
    return valid


class PoseSet:
    """All real poses for leg lengths, with the leading axes of the call.

    Attributes
    ----------
    T
        Poses T_base_platform, (..., m, 4, 4), with m the largest count; missing poses are NaN.
    count
        Number of poses, (...).
    certified
        Whether a pose is proven: exactly one exact pose lies within `error_bound` of it, (..., m). Uncertified poses
        are singular, where two poses meet.
    error_bound
        Bound on the distance of every platform joint from its position in the exact pose, (..., m), m; NaN without
        proof.
    residual
        Largest error of a leg length at each pose, (..., m), m.
    complete
        Whether every pose is found, (...): forty different complex poses are proven; or some are, the others lie at
        infinity or are singular and not real, and searches from random poses found no further one. Never where no pose
        is proven, as with legs of 1e5 times the platform's size or a platform that is architecturally singular but for
        1e-6 of it.
    regular, infinite, singular
        Counts of complex poses, (...): distinct proven ones, those at infinity (which special platforms have), and
        singular ones that are not real. A general platform has 40 regular ones.
    status
        `PoseStatus` code of each row, (...); a row without real poses also counts as solved.
    """

    __slots__ = (
        "T", "certified", "complete", "count", "error_bound", "infinite", "regular", "residual", "singular", "status",
    )  # fmt: skip

    def __init__(self, geometry: JointCenters, lengths: NDArray[np.float64], poses: FoundPoses, status: Any) -> None:
        lead = lengths.shape[:-1]
        self.T, self.certified, self.error_bound = (
            part.reshape(*lead, *part.shape[1:]) for part in (poses.T, poses.certified, poses.error_bound)
        )
        self.count, self.complete, self.status = (
            part.reshape(lead)[()] for part in (poses.count, poses.complete, status)
        )
        self.regular, self.infinite, self.singular = (part.reshape(lead)[()] for part in poses.ends.T)
        joints = self.T[..., None, :3, 3] + geometry.platform @ np.swapaxes(self.T[..., :3, :3], -1, -2)
        reached = np.linalg.norm(joints - geometry.base, axis=-1)
        self.residual = np.abs(reached - lengths[..., None, :]).max(axis=-1)

    def of(self, *index: int) -> NDArray[np.float64]:
        """Poses (count, 4, 4) of one row of the batch, without the padding."""
        poses: NDArray[np.float64] = self.T[index]
        return poses[: np.asarray(self.count)[index]]

    def __str__(self) -> str:
        counts = np.atleast_1d(self.count).ravel()
        proven = np.count_nonzero(self.certified)
        lines = [f"{counts.sum()} real poses for {counts.size} rows of leg lengths, {proven} of them proven"]
        for failure in (PoseStatus.OUT_OF_REACH, PoseStatus.INVALID_LENGTHS):
            if failing := np.count_nonzero(np.atleast_1d(self.status) == failure):
                lines.append(f"{failing}: {failure.sentence}")
        if missing := np.count_nonzero(~np.atleast_1d(self.complete)):
            lines.append(
                f"{missing}: poses may be missing, because paths ended at or near singular poses, or the legs are so "
                "long or the platform so nearly singular everywhere that nothing is proven"
            )
        if curves := np.count_nonzero(np.atleast_1d(self.singular)):
            lines.append(
                f"{curves}: some complex poses are singular; if they lie on a curve of poses, the platform can move "
                "with its legs locked, and poses on the curve are not listed"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<PoseSet: {str(self).splitlines()[0]}>"


def every_pose(geometry: JointCenters, lengths: ArrayLike) -> PoseSet:
    """Find all real poses for leg lengths (..., 6)."""
    rows = _lengths(lengths)
    flat = rows.reshape(-1, 6)
    valid = _valid(flat)
    status = np.where(out_of_reach(geometry, flat), PoseStatus.OUT_OF_REACH, PoseStatus.SOLVED)
    status = np.where(valid, status, PoseStatus.INVALID_LENGTHS)
    poses = all_poses(geometry, np.where(status[:, None] == PoseStatus.SOLVED, flat, 0.0), status == PoseStatus.SOLVED)
    doubtful = np.flatnonzero(poses.complete & (poses.ends[:, 2] > 0))
    poses.complete[doubtful] = [_has_no_others(geometry, flat[row], poses, int(row)) for row in doubtful]
    return PoseSet(geometry, rows, poses, status)


def _has_no_others(geometry: JointCenters, lengths: NDArray[np.float64], poses: FoundPoses, row: int) -> bool:
    """Whether searches from random poses end at the poses of a row alone, and not on a curve of poses."""
    generator = np.random.default_rng(0)
    guess = np.tile(np.eye(4), (_SEARCHES, 1, 1))
    guess[:, :3, :3] = random_rotation(generator, (_SEARCHES,))
    away = generator.normal(size=(_SEARCHES, 3))
    away *= lengths.mean() / np.linalg.norm(away, axis=-1, keepdims=True)
    guess[:, :3, 3] = geometry.base.mean(axis=0) + away - guess[:, :3, :3] @ geometry.platform.mean(axis=0)
    size = float(np.abs(geometry.platform).max() + np.abs(geometry.base).max())
    searched = nearest_pose(geometry, size, np.tile(lengths, (_SEARCHES, 1)), guess, None, 100)
    certain = poses.T[row, : poses.count[row]]
    joints, candidates = (
        T[..., None, :3, 3] + geometry.platform @ np.swapaxes(T[..., :3, :3], -1, -2)
        for T in (certain, searched.T[np.asarray(searched.success)])
    )
    apart = np.abs(candidates[:, None] - joints).max(axis=(-2, -1))
    return bool(np.all(np.any(apart <= _SAME_POSE * (size + lengths.max()), axis=-1)))
