"""`FollowingTrajectory`: a joint motion that follows a motion in space, and the report of how well."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.findings import Finding
from chasles.engine.program.scalar import Quantity, Verdict
from chasles.trajectories.joint.piecewise import PiecewisePolynomial


@dataclass(frozen=True)
class FollowingReport:
    """Deviation of a joint motion from a Cartesian motion.

    Attributes
    ----------
    success
        Whether the whole motion was found on one branch, forward kinematics confirms it within the tolerance at and
        between the samples, and no joint limit is violated; (*batch). Passing a singularity is not a failure.
    distance, angle
        Largest deviation of the frame, at the samples and between them, m and rad, (*batch).
    distance_time, angle_time
        Time of the largest deviation, s, (*batch).
    conditioning
        Worst conditioning of the Jacobian, (*batch): 1 for isotropic, 0 for singular; lengths are in units of the
        robot's size.
    conditioning_time
        Time of the worst conditioning, s, (*batch).
    findings
        Findings in the order of time: ``"unreachable"``, ``"jump"``, ``"deviation"``, ``"position-limit"``,
        ``"velocity-limit"`` and ``"singularity"``, with the facts ``start``, ``end`` and ``time`` (of the worst value),
        s, ``joint``, and ``trajectory``, the index in a batch.
    samples
        Number of samples for which inverse kinematics was solved.
    tolerance
        Allowed angle (rad) and distance (m).
    """

    success: Verdict
    distance: Quantity
    distance_time: Quantity
    angle: Quantity
    angle_time: Quantity
    conditioning: Quantity
    conditioning_time: Quantity
    findings: tuple[Finding, ...]
    samples: int
    tolerance: tuple[float, float]

    def of(self, code: str) -> tuple[Finding, ...]:
        """Findings with one code."""
        return tuple(finding for finding in self.findings if finding.rule.code == code)

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
        lines += [str(finding) for finding in self.findings[:_LISTED]]
        if len(self.findings) > _LISTED:
            lines.append(f"… and {len(self.findings) - _LISTED} more")
        return "\n".join(lines)


class FollowingTrajectory(PiecewisePolynomial):
    """Joint motion that follows a Cartesian motion: quintic polynomials with exact q, qd and qdd at the samples.

    Attributes
    ----------
    report
        Report; check ``report.success`` before moving a robot.
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
