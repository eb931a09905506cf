"""What an inverse kinematics gives: configurations, and how good they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Status(IntEnum):
    """How the search for one target ended."""

    SOLVED = 0
    NOT_FOUND = 1
    OUT_OF_REACH = 2
    INVALID_TARGET = 3

    @property
    def sentence(self) -> str:
        """The status in words."""
        return _SENTENCES[self]


_SENTENCES = {
    Status.SOLVED: "solved, and confirmed by forward kinematics",
    Status.NOT_FOUND: "no configuration within the limits was found that reaches the target; q comes closest",
    Status.OUT_OF_REACH: "the target lies farther away than the stretched robot reaches; q comes closest",
    Status.INVALID_TARGET: "the target is not a pose: it has NaN, infinities, or a part that is no rotation matrix",
}


SOLVED = float(Status.SOLVED)


class Residual(NamedTuple):
    """What is left between the pose of a solution and its target, in the components that the task asks for.

    Attributes
    ----------
    distance
        Shape (...), m.
    angle
        Shape (...), rad.
    """

    distance: Any
    angle: Any


@dataclass(eq=False, slots=True)
class Solution:
    """Configurations for targets, one for each, with the leading axes of the targets.

    Attributes
    ----------
    q
        Joint positions, shape (..., n), rad (m for sliding joints): the solution, or the configuration that came
        closest. NaN where the target is invalid.
    success
        Shape (...): whether forward kinematics at q confirms the target within the tolerance and q is within the
        limits.
    residual
        Distance (m) and angle (rad) between the pose at q and the target.
    iterations
        Shape (...): steps of the iteration, over all restarts; 0 for a closed form.
    restarts
        Shape (...): how often the search began anew.
    limit_margin
        Shape (...): smallest distance of a joint to its nearest limit, rad (m for sliding joints); inf without limits.
    status
        Shape (...): the number of a `Status` for each target.
    branch
        Shape (...): number of the branch of a closed form, an index to the names that `InverseKinematics.branches`
        gives; -1 without one.
    infinite
        Shape (...): whether a closed form found the solution to be one of infinitely many, at a singular pose.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("panda")
    >>> solution = arm.inverse_kinematics(arm.forward_kinematics([0.1, 0.2, 0.3, -1.5, 0.1, 1.8, 0.5]))
    >>> bool(solution.success), solution.residual.distance < 1e-6
    (True, np.True_)
    >>> print(solution)
    1 of 1 targets solved, after ... iterations on average
    """

    q: NDArray[np.float64]
    success: Any
    residual: Residual
    iterations: Any
    restarts: Any
    limit_margin: Any
    status: Any
    branch: Any
    infinite: Any

    def __getitem__(self, index: Any) -> Solution:
        """Return the solutions of some of the targets."""
        return Solution(**{f.name: _part(getattr(self, f.name), index) for f in fields(self)})

    def filled_by(self, solve: Callable[[NDArray[np.bool_]], Solution]) -> Solution:
        """Return these solutions with the failures replaced by others for the same targets; invalid ones stay."""
        status = np.asarray(self.status)
        failed = (status != Status.SOLVED) & (status != Status.INVALID_TARGET)
        if not failed.any():
            return self
        others = solve(failed)

        def merged(own: Any, other: Any) -> Any:
            values = np.array(own)
            values[failed] = other
            return values[()]

        residual = Residual(*map(merged, self.residual, others.residual))
        names = [f.name for f in fields(self) if f.name != "residual"]
        return Solution(
            residual=residual, **{name: merged(getattr(self, name), getattr(others, name)) for name in names}
        )

    def __str__(self) -> str:
        success, status = np.atleast_1d(self.success), np.atleast_1d(self.status)
        mean = np.mean(self.iterations) if success.size else 0.0
        lines = [f"{success.sum()} of {success.size} targets solved, after {mean:.1f} iterations on average"]
        for kind in Status:
            count = int((status == kind).sum())
            if count and kind is not Status.SOLVED:
                lines.append(f"{count}: {kind.sentence}")
        return "\n".join(lines)


def every(conditions: Any) -> bool:
    """Whether all conditions hold; for a single one much faster than its method ``all``."""
    return bool(conditions.all() if conditions.ndim else conditions)


def whole(values: Any) -> Any:
    """Numbers of an array of floats, or of a single float, as integers."""
    return values.astype(np.int64) if values.ndim else int(values)


def _part(value: Any, index: Any) -> Any:
    return Residual(*(part[index] for part in value)) if isinstance(value, Residual) else value[index]
