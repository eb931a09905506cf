"""Joint motions along which a robot follows a motion in space."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base import verbs
from chasles.base.errors import ArgumentError
from chasles.engine.validators import reals
from chasles.inverse_kinematics.task import PoseWeights
from chasles.robot.robot import Robot
from chasles.trajectories.cartesian.trajectory import CartesianTrajectory
from chasles.trajectories.following.attempt import Attempt
from chasles.trajectories.following.tracking import Tracker, tracker_of
from chasles.trajectories.joint.following_report import FollowingTrajectory
from chasles.trajectories.motion import Floats

#: Samples to begin with, and how often those around too large deviations are doubled.
_FIRST_SAMPLES = 65
_ROUNDS = 12
#: The motions of a batch share their samples, and the most difficult of them would slow down all others.
_BATCH_ROUNDS = 3
#: Configurations at all samples of all trajectories above which no more samples are added.
_MOST_CONFIGURATIONS = 1_000_000
#: Knots nearer together than this share of the duration are one.
_SAME = 1e-9
#: Starting configurations to try where none is given.
_MOST_STARTS = 16
#: Configurations this near to each other, rad or m, are on one branch.
_SAME_BRANCH = 1e-3


@verbs.follow.register(Robot, CartesianTrajectory)
def follow(
    robot: Robot,
    motion: CartesianTrajectory,
    q0: ArrayLike | None = None,
    *,
    target: str = "tool",
    mask: str | ArrayLike | None = None,
    limits: bool = True,
    dt: float | None = None,
    tolerance: float | tuple[float, float] = 1e-6,
    singularity: float = 0.01,
) -> FollowingTrajectory:
    """Return the joint motion with which a frame of a robot follows a Cartesian motion.

    Inverse kinematics is solved at samples, in closed form or by iteration, on the branch of the previous sample.
    Velocities and accelerations come from the Jacobian and its derivative. A redundant robot moves with the smallest
    joint velocities; where a joint is at its limit, the other joints take over. Quintic polynomials connect the
    samples, and forward kinematics is compared with the motion between samples too.

    Parameters
    ----------
    robot
        Robot that follows.
    motion
        Motion to follow; a batch of motions yields a batch of joint motions with common sample times.
    q0
        Configuration near the start, (*batch, nq). Default the robot's home; if the robot cannot follow from there, a
        single motion is tried from the other configurations at the first pose.
    target
        Name of the link or frame that follows.
    mask
        Components of the pose to follow; see `chasles.inverse_kinematics.InverseKinematics`.
    limits
        Whether joint position and velocity limits apply.
    dt
        Time between samples, s; the knots of the motion are samples too. By default chosen to meet the tolerance.
    tolerance
        Largest deviation of the frame, rad and m, a scalar or (angle, distance).
    singularity
        Conditioning of the Jacobian, between 0 and 1, below which a singularity is reported.

    Returns
    -------
    FollowingTrajectory
        Joint motion with its ``report``. Where the motion cannot be followed, it passes through the closest
        configurations, and the report says so.

    Raises
    ------
    ArgumentError
        If arguments do not fit, or the motion has zero duration.
    UnknownNameError
        If the frame or mask does not exist.

    Examples
    --------
    >>> import chasles as ch
    >>> from chasles.trajectories.cartesian.path_motions import StraightLine
    >>> arm = ch.load("ur5")
    >>> T_start = arm.forward_kinematics([0.3, -1.2, 1.5, -0.8, 1.2, 0.2])
    >>> T_end = T_start.copy()
    >>> T_end[2, 3] += 0.1
    >>> joints = follow(arm, StraightLine(T_start, T_end, duration=1.0), [0.3, -1.2, 1.5, -0.8, 1.2, 0.2])
    >>> bool(joints.success)
    True
    >>> abs(arm.forward_kinematics(joints(0.37).q) - StraightLine(T_start, T_end, duration=1.0)(0.37).pose).max() < 1e-6
    np.True_
    """
    frame = robot.description.tool if target == "tool" and target not in robot.frame_names else target
    tracker = tracker_of(robot, frame, PoseWeights.of(mask), bool(limits), _tolerance(tolerance))
    times = _first_times(motion, dt)
    attempt = Attempt.best(tracker, motion, times, _starts(tracker, motion, times[0], q0))
    for _ in range(0 if dt is not None else _BATCH_ROUNDS if motion.batch else _ROUNDS):
        more = attempt.refined_times()
        if len(more) == len(times) or len(more) * math.prod(motion.batch) > _MOST_CONFIGURATIONS:
            break
        times = more
        attempt = Attempt.of(tracker, motion, times, attempt.tracked.q[0])
    return attempt.result(singularity)


def _first_times(motion: CartesianTrajectory, dt: float | None) -> Floats:
    """Times of the first samples: evenly spaced, and the knots of the motion."""
    start, end = motion.span
    if not end > start:
        raise ArgumentError("the motion takes no time; for one pose there is robot.inverse_kinematics")
    times = np.linspace(start, end, _FIRST_SAMPLES) if dt is None else motion.sample_times(dt)
    if motion.knots.ndim > 1:
        return times
    knots = motion.knots[np.append(True, np.diff(motion.knots) > _SAME * (end - start))]
    nearest = knots[np.searchsorted(0.5 * (knots[1:] + knots[:-1]), times)]
    return np.sort(np.concatenate([knots, times[np.abs(times - nearest) > _SAME * (end - start)]]))


def _starts(tracker: Tracker, motion: CartesianTrajectory, start: float, q0: ArrayLike | None) -> Iterator[Floats]:
    """Configurations at the first pose, from the most wanted on."""
    robot = tracker.robot
    shape = (*motion.batch, robot.nq)
    near = np.broadcast_to(robot.home, shape) if q0 is None else reals(q0, "q0", shape, broadcast=True)
    goal = motion(start).pose
    options: dict[str, Any] = {
        "target": tracker.target,
        "mask": tracker.task.weights,
        "limits": tracker.limits,
        "tolerance": tracker.tolerance,
    }
    first = robot.inverse_kinematics(goal, near, **options)
    yield tracker.solve(goal, first.q)[0]
    if q0 is None and not motion.batch:
        solution = robot.inverse_kinematics(goal, near, select="all", **options)
        others = solution.q[solution.success]
        distances = np.linalg.norm(others - near, axis=-1)
        for q in others[np.argsort(distances)][:_MOST_STARTS]:
            if np.abs(q - first.q).max() > _SAME_BRANCH:
                yield tracker.solve(goal, q)[0]


def _tolerance(tolerance: ArrayLike) -> tuple[float, float]:
    angle, distance = reals(tolerance, "tolerance", (2,), broadcast=True, above=0).tolist()
    return angle, distance
