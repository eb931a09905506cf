"""`FollowingTrajectory`: a joint motion that follows a motion in space, and the report of how well."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from chasles.engine.program.scalar import Quantity, Verdict
from chasles.trajectories.joint.piecewise import PiecewisePolynomial
from chasles.trajectories.motion import Floats

Kind = Literal["unreachable", "jump", "deviation", "position limit", "velocity limit", "singularity"]

_SENTENCES: dict[Kind, str] = {
    "unreachable": "no configuration within the limits was found; the nearest leaves {value:.3g} (m or rad)",
    "jump": "the robot jumps to another branch: joint {joint} by {value:.3g}",
    "deviation": "between samples the frame leaves its path by {value:.3g} (m or rad)",
    "position limit": "joint {joint} is {value:.3g} beyond its limit",
    "velocity limit": "joint {joint} moves {value:.3g} times as fast as it may",
    "singularity": "the conditioning of the Jacobian is down to {value:.3g}",
}


@dataclass(frozen=True)
class FollowingEvent:
    """Something that happened on the way.

    Attributes
    ----------
    kind
        ``"unreachable"``, ``"jump"``, ``"deviation"``, ``"position limit"``, ``"velocity limit"`` or
        ``"singularity"``.
    start, end
        From when to when, s.
    time
        When it was worst, s.
    value
        How bad it was then; `sentence` says of what.
    joint
        Name of the joint, if it is about one.
    trajectory
        Index of the trajectory in a batch; () for one.
    """

    kind: Kind
    start: float
    end: float
    time: float
    value: float
    joint: str | None = None
    trajectory: tuple[int, ...] = ()

    @property
    def sentence(self) -> str:
        """The finding in words."""
        when = f"{self.start:.6g} s" if self.start == self.end else f"{self.start:.6g} to {self.end:.6g} s"
        which = f"trajectory {self.trajectory}, " if self.trajectory else ""
        what = _SENTENCES[self.kind].format(value=self.value, joint=self.joint)
        worst = "" if self.start == self.end else f", worst at {self.time:.6g} s"
        return f"{which}{when}: {self.kind}: {what}{worst}"


@dataclass(frozen=True)
class FollowingReport:
    """Deviation of the joints' motion from a motion in space.

    Attributes
    ----------
    success
        Whether the whole motion was found on one branch, forward kinematics confirms it within the tolerance at and
        between the samples, and no limit of a joint is broken; (*batch). Singularities passed on the way are no
        failure.
    distance, angle
        Largest deviation of the frame, at the samples and between them, m and rad, (*batch).
    distance_time, angle_time
        When it occurs, s, (*batch).
    conditioning
        Conditioning of the Jacobian where it is worst, (*batch): 1 where all directions are alike, 0 where it is
        singular; lengths are in units of the robot's size.
    conditioning_time
        When that is, s, (*batch).
    findings
        All that happened, in the order of time.
    samples
        Number of samples for which inverse kinematics was solved.
    tolerance
        Angle (rad) and distance (m) that were allowed.
    """

    success: Verdict
    distance: Quantity
    distance_time: Quantity
    angle: Quantity
    angle_time: Quantity
    conditioning: Quantity
    conditioning_time: Quantity
    findings: tuple[FollowingEvent, ...]
    samples: int
    tolerance: tuple[float, float]

    def of(self, kind: Kind) -> tuple[FollowingEvent, ...]:
        """Findings of one kind."""
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def __str__(self) -> str:
        success = np.asarray(self.success)
        verdict = "the motion is followed" if success.all() else "the motion is NOT followed"
        if success.ndim:
            verdict = f"{success.sum()} of {success.size} motions are followed"
        worst, angle = np.argmax(self.distance), np.argmax(self.angle)
        lines = [
            f"{verdict}, with {self.samples} samples; largest deviation {np.ravel(self.distance)[worst]:.3g} m at "
            f"{np.ravel(self.distance_time)[worst]:.6g} s and {np.ravel(self.angle)[angle]:.3g} rad at "
            f"{np.ravel(self.angle_time)[angle]:.6g} s"
        ]
        lines += [finding.sentence for finding in self.findings[:_LISTED]]
        if len(self.findings) > _LISTED:
            lines.append(f"… and {len(self.findings) - _LISTED} more")
        return "\n".join(lines)


class FollowingTrajectory(PiecewisePolynomial):
    """Joint motion that follows a motion in space; quintic polynomials with the right q, qd and qdd at the samples.

    Attributes
    ----------
    report
        Report; read ``report.success`` before a robot moves.
    """

    def __init__(self, knots: ArrayLike, coefficients: ArrayLike, report: FollowingReport) -> None:
        super().__init__(knots, coefficients)
        self.report = report

    @property
    def success(self) -> Verdict:
        """Whether the whole motion is followed; see `FollowingReport`."""
        return self.report.success


_LISTED = 20


def runs(flags: Any) -> list[tuple[int, int]]:
    """First and last index of each run of true values, (k,).

    >>> runs([False, True, True, False, True])
    [(1, 2), (4, 4)]
    """
    edges = np.diff(np.concatenate([[0], np.asarray(flags, dtype=np.int8), [0]]))
    return list(zip(np.flatnonzero(edges == 1).tolist(), (np.flatnonzero(edges == -1) - 1).tolist(), strict=True))


def of_lane(values: Any, lane: Iterable[int]) -> Any:
    """Values (k, *batch, ...) of one trajectory of a batch, (k, ...)."""
    index: tuple[Any, ...] = (slice(None), *lane)
    return values[index]


def exceedings(
    kind: Kind, times: Floats, values: Floats, threshold: float, joints: tuple[str, ...]
) -> list[FollowingEvent]:
    """Findings where values (k, *batch, n) of the joints are above a threshold."""
    found = []
    for *trajectory, joint in np.argwhere((values > threshold).any(axis=0)).tolist():
        own = of_lane(values, (*trajectory, joint))
        for first, last in runs(own > threshold):
            worst = first + int(np.argmax(own[first : last + 1]))
            spot = float(times[first]), float(times[last]), float(times[worst]), float(own[worst])
            found.append(FollowingEvent(kind, *spot, joint=joints[joint], trajectory=tuple(trajectory)))
    return found
