"""One attempt of a robot to follow a motion in space, and its inspection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from chasles.base.cached import cached_property
from chasles.base.findings import Finding, Rule, of_weight
from chasles.trajectories.cartesian.trajectory import CartesianTrajectory
from chasles.trajectories.following.tracking import Flags, TargetSamples, TrackedSamples, Tracker
from chasles.trajectories.joint.closed import on_manifold
from chasles.trajectories.joint.following_report import (
    FollowingReport,
    FollowingTrajectory,
    of_lane,
    runs,
)
from chasles.trajectories.joint.piecewise import PiecewisePolynomial
from chasles.trajectories.joint.spline_pieces import hermite_pieces
from chasles.trajectories.motion import Floats

#: Pieces shorter than this share of the duration are not divided.
_SHORTEST = 1e-9
#: Parts of a piece at whose ends the motion is compared with the one in space.
_PARTS = 6
#: Conditioning below this multiple of the threshold is worth a look at its minima between the times of inspection.
_WORTH_A_LOOK = 10.0
#: Rounds of looking closer at the place of a singularity, with this many times each.
_ZOOMS, _ZOOM = 4, 21

_DIGITS = "six digits of a limit; less is rounding of the polynomials between samples"
UNREACHABLE = Rule(
    "unreachable", np.nan, "forward kinematics does not confirm any configuration within the tolerance",
    "{when}: unreachable: no configuration within the limits was found; the nearest leaves {value:.3g} (m or rad)",
    "caution",
)  # fmt: skip
JUMP = Rule(
    "jump", np.nan, "the nearest solution is farther than the rates of the joints explain",
    "{when}: jump: the robot jumps to another branch: joint {joint} by {value:.3g}", "caution",
)  # fmt: skip
DEVIATION = Rule(
    "deviation", np.nan, "the tolerance that was asked for",
    "{when}: deviation: between samples the frame leaves its path by {value:.3g} (m or rad)", "caution",
)  # fmt: skip
POSITION = Rule(
    "position-limit", 1e-6, _DIGITS, "{when}: position limit: joint {joint} is {value:.3g} beyond its limit", "caution"
)
VELOCITY = Rule(
    "velocity-limit", 1.0 + 1e-6, _DIGITS,
    "{when}: velocity limit: joint {joint} moves {value:.3g} times as fast as it may", "caution",
)  # fmt: skip
SINGULARITY = Rule(
    "singularity", np.nan, "the threshold that was asked for",
    "{when}: singularity: the conditioning of the Jacobian is down to {value:.3g}",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Attempt:
    """Tracked samples of the motion, the joint motion through them, and their comparison at the times of inspection."""

    tracker: Tracker
    tracked: TrackedSamples
    joints: PiecewisePolynomial
    inspection: Floats
    q: Floats
    qd: Floats
    angle: Floats
    distance: Floats

    @classmethod
    def of(cls, tracker: Tracker, motion: CartesianTrajectory, times: Floats, q0: Floats) -> Attempt:
        """Track the motion from a configuration (*batch, n)."""
        samples = TargetSamples.of(motion, times)
        tracked = tracker.track(samples, q0)
        after, before = (tracker.rates(tracked, side, times) for side in (samples.after, samples.before))
        start, end = ([np.moveaxis(part, 0, -2) for part in (tracked.q, *side)] for side in (after, before))
        pieces = hermite_pieces(
            np.diff(times), [part[..., :-1, :] for part in start], [part[..., 1:, :] for part in end]
        )
        joints = PiecewisePolynomial(times, pieces)
        parts = times[:-1, None] + np.diff(times)[:, None] * np.arange(_PARTS) / _PARTS
        inspection = np.append(parts, times[-1])
        column = inspection.reshape(-1, *(1,) * len(motion.batch))
        q, qd, _ = on_manifold(tracker.robot, joints)(column)
        angle, distance = tracker.remaining(q, motion(column).pose)
        return cls(tracker, tracked, joints, inspection, q, qd, np.asarray(angle), np.asarray(distance))

    @classmethod
    def best(cls, tracker: Tracker, motion: CartesianTrajectory, times: Floats, starts: Iterable[Floats]) -> Attempt:
        """The first attempt without trouble, or the one with the least."""
        attempts = []
        for start in starts:
            attempts.append(cls.of(tracker, motion, times, start))
            if not attempts[-1].trouble:
                break
        return min(attempts, key=lambda attempt: attempt.trouble)

    @property
    def trouble(self) -> int:
        """Number of samples that are not reached, or only by a jump."""
        return int((~self.tracked.solved | self.tracked.jumped).sum())

    @cached_property
    def astray(self) -> Flags:
        """Where the frame is away from its path, (times of inspection, *batch)."""
        allowed = self.tracker.tolerance
        return np.asarray((self.angle > allowed[0]) | (self.distance > allowed[1]))

    @cached_property
    def beyond(self) -> Floats:
        """How far joints are beyond their limits, (times of inspection, *batch, n), rad or m; negative within them."""
        ranges = self.tracker.ranges
        return np.maximum(ranges.lower - self.q, self.q - ranges.upper)

    @cached_property
    def sound(self) -> Flags:
        """Times of inspection between samples that are reached without a jump, (times of inspection, *batch)."""
        pieces = self.tracked.solved[1:] & self.tracked.solved[:-1] & ~self.tracked.jumped[1:]
        sound = np.repeat(pieces, _PARTS, axis=0)
        return np.concatenate([sound, sound[-1:]])

    def refined_times(self) -> Floats:
        """Times of the samples, and the middles of the pieces that are not as they should be."""
        times, solved = self.joints.knots, self.tracked.solved
        wrong = self.sound & (self.astray | (self.beyond > POSITION.limit).any(axis=-1))
        bad = wrong[:-1].reshape(len(times) - 1, _PARTS, *wrong.shape[1:]).any(axis=1)
        bad |= (solved[1:] != solved[:-1]) | self.tracked.jumped[1:]
        chosen = bad.reshape(len(bad), -1).any(axis=1) & (np.diff(times) > _SHORTEST * (times[-1] - times[0]))
        return np.sort(np.concatenate([times, 0.5 * (times[:-1] + times[1:])[chosen]]))

    def result(self, singularity: float) -> FollowingTrajectory:
        """The joint motion with its report."""
        conditioning = np.where(self.sound, self.tracker.conditioning(self.q), np.inf)
        singularities, worst, worst_time = self._singularities(conditioning, singularity)
        findings = [*self._samples_findings(), *self._limit_findings(), *singularities]
        success = np.ones(self.angle.shape[1:], dtype=bool)
        for finding in of_weight(findings, "caution"):
            success[finding.facts["trajectory"]] = False
        report = FollowingReport(
            success=success[()],
            distance=self.distance.max(axis=0),
            distance_time=self.inspection[self.distance.argmax(axis=0)],
            angle=self.angle.max(axis=0),
            angle_time=self.inspection[self.angle.argmax(axis=0)],
            conditioning=worst[()],
            conditioning_time=worst_time[()],
            findings=tuple(sorted(findings, key=lambda finding: (finding.facts["trajectory"], finding.facts["start"]))),
            samples=len(self.joints.knots),
            tolerance=self.tracker.tolerance,
        )
        return FollowingTrajectory(self.joints.knots, self.joints.coefficients, report)

    def _samples_findings(self) -> Iterator[Finding]:
        """What is out of reach, jumps from branch to branch, and deviations elsewhere."""
        times, joints = self.joints.knots, self.tracker.robot.coordinate_names
        errors = np.maximum(self.angle, self.distance)
        for lane in _lanes(~self.tracked.solved):
            error = of_lane(errors, lane)
            for first, last in runs(of_lane(~self.tracked.solved, lane)):
                inside = slice(first * _PARTS, last * _PARTS + 1)
                k = inside.start + int(np.argmax(error[inside]))
                yield from _told(UNREACHABLE, error[k], (times[first], times[last], self.inspection[k]), lane)
        for k, *index in np.argwhere(self.tracked.jumped).tolist():
            leap = np.abs(self.tracked.q[k, *index] - self.tracked.q[k - 1, *index])
            joint = int(np.argmax(leap))
            yield from _told(JUMP, leap[joint], (times[k - 1], times[k], times[k]), tuple(index), joints[joint])
        astray = self.astray & self.sound
        for lane in _lanes(astray):
            error = of_lane(errors, lane)
            for first, last in runs(of_lane(astray, lane)):
                k = first + int(np.argmax(error[first : last + 1]))
                yield from _told(DEVIATION, error[k], self.inspection[[first, last, k]], lane)

    def _limit_findings(self) -> list[Finding]:
        """Joints beyond their limits of position and velocity."""
        if not self.tracker.limits:
            return []
        robot = self.tracker.robot
        share = np.where(self.sound[..., None], np.abs(self.qd) / robot.velocity_limits, 0.0)
        return [
            *_exceedings(POSITION, self.inspection, self.beyond, robot.coordinate_names),
            *_exceedings(VELOCITY, self.inspection, share, robot.velocity_names),
        ]

    def _singularities(self, conditioning: Floats, threshold: float) -> tuple[list[Finding], Floats, Floats]:
        """Findings, and the worst conditioning of each trajectory with its time."""
        worst = np.asarray(conditioning.min(axis=0))
        worst_time = np.asarray(self.inspection[conditioning.argmin(axis=0)])
        findings: list[Finding] = []
        rule = replace(SINGULARITY, limit=threshold)
        for lane in _lanes(conditioning < _WORTH_A_LOOK * threshold):
            times, values = self._with_minima(of_lane(conditioning, lane), lane, _WORTH_A_LOOK * threshold)
            k = int(np.argmin(values))
            worst[lane], worst_time[lane] = values[k], times[k]
            for first, last in runs(values < threshold):
                k = first + int(np.argmin(values[first : last + 1]))
                findings += _told(rule, values[k], times[[first, last, k]], lane)
        return findings, worst, worst_time

    def _with_minima(self, values: Floats, lane: tuple[int, ...], below: float) -> tuple[Floats, Floats]:
        """Times of inspection and conditioning, and those of the minima between them."""
        joints = PiecewisePolynomial(self.joints.knots, self.joints.coefficients[lane])
        padded = np.concatenate([[np.inf], values, [np.inf]])
        lowest = (values < below) & (values < padded[:-2]) & (values <= padded[2:])
        times: list[float] = []
        minima: list[float] = []
        for k in np.flatnonzero(lowest).tolist():
            low, high = self.inspection[max(k - 1, 0)], self.inspection[min(k + 1, len(values) - 1)]
            for _ in range(_ZOOMS):
                near = np.linspace(low, high, _ZOOM)
                around = np.asarray(self.tracker.conditioning(joints(near).q))
                j = int(np.argmin(around))
                low, high = near[max(j - 1, 0)], near[min(j + 1, _ZOOM - 1)]
            times.append(near[j])
            minima.append(around[j])
        all_times, all_values = np.append(self.inspection, times), np.append(values, minima)
        order = np.argsort(all_times, kind="stable")
        return all_times[order], all_values[order]


def _told(
    rule: Rule, value: float, times: Iterable[float], trajectory: tuple[int, ...], joint: str | None = None
) -> tuple[Finding, ...]:
    """Finding of what happened to a trajectory of a batch at times, s: from a start to an end, and worst."""
    start, end, time = map(float, times)
    when = f"trajectory {trajectory}, " if trajectory else ""
    when += f"{start:.6g} s" if start == end else f"{start:.6g} to {end:.6g} s, worst at {time:.6g} s"
    facts = {"start": start, "end": end, "time": time, "joint": joint, "trajectory": trajectory}
    return rule.told(value, when=when, **facts)


def _exceedings(rule: Rule, times: Floats, values: Floats, joints: tuple[str, ...]) -> list[Finding]:
    """Findings where values (k, *batch, n) of the joints are above a limit."""
    findings: list[Finding] = []
    for *trajectory, joint in np.argwhere((values > rule.limit).any(axis=0)).tolist():
        ratio = of_lane(values, (*trajectory, joint))
        for first, last in runs(ratio > rule.limit):
            k = first + int(np.argmax(ratio[first : last + 1]))
            findings += _told(rule, ratio[k], times[[first, last, k]], tuple(trajectory), joints[joint])
    return findings


def _lanes(flags: Flags) -> list[tuple[int, ...]]:
    """Indices of the trajectories of a batch that have a flag, (k, *batch)."""
    return [tuple(lane) for lane in np.argwhere(flags.any(axis=0)).tolist()]
