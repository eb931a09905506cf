"""What a joint trajectory asks of a robot: its peaks, and the limits that it breaks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base import verbs
from chasles.base.errors import ArgumentError
from chasles.engine.validators import reals
from chasles.robot.robot import Robot
from chasles.trajectories.check_report import QUANTITIES, CheckReport, Peak, PeakReport
from chasles.trajectories.joint.trajectory import JointTrajectory
from chasles.trajectories.limits.extremes import extremes, values_at
from chasles.trajectories.limits.moved_joints import MovedJoints
from chasles.trajectories.limits.sampling import Jump, check_times, jumps
from chasles.trajectories.motion import Floats

__all__ = ["CheckReport", "PeakReport", "check", "peaks"]

_ROUNDING = 1e-9  # of a limit
_VELOCITY, _TORQUE, _RATE, _POWER = (QUANTITIES.index(name) for name in ("velocity", "torque", "torque rate", "power"))
_BROKEN = np.dtype(
    [("trajectory", "i8"), ("row", "i8"), ("side", "i8"), *((f, "f8") for f in ("start", "end", "time", "value"))]
)


@verbs.peaks.register(JointTrajectory)
def peaks(trajectory: JointTrajectory, dt: float | None = None) -> PeakReport:
    """Find the largest position, velocity, acceleration and jerk of each joint.

    They are sought on both sides of each knot, at samples between knots, and where a sample stands out, between it and
    its neighbours; for pieces that are polynomials also at all places where a derivative vanishes.

    Parameters
    ----------
    trajectory
        One trajectory or a batch.
    dt
        Largest step between samples, s; default a thousandth of the duration. There are 16 steps at least from each
        knot to the next.

    Returns
    -------
    PeakReport
        Magnitudes and times, shape (*batch, n), those of rates (*batch, nv). Where a velocity jumps, acceleration and
        jerk are infinite; where an acceleration jumps, the jerk is.

    Examples
    --------
    >>> import chasles as ch
    >>> found = ch.PointToPoint([0.0, 0.0], [1.0, -2.0], duration=2.0).peaks()
    >>> found.velocity.largest.round(9), found.velocity.time  # 15/8 of the mean velocity, half way
    (array([0.9375, 1.875 ]), array([1., 1.]))
    """
    batch, ends = trajectory.batch, np.cumsum([trajectory.n, *(3 * [trajectory.nv])])
    times = check_times(trajectory, batch, dt)

    def signal(t: Floats) -> Floats:
        at = t.reshape(len(t), *batch)
        sizes = np.empty((*at.shape, ends[-1]))
        for part, out in zip(trajectory.derivatives(at), np.split(sizes, ends[:-1], axis=-1), strict=True):
            np.abs(part, out=out)
        return sizes.reshape(*t.shape, ends[-1])

    extreme_values = extremes(signal, times, intervals=False)
    largest, time = (
        [part.copy() for part in np.split(values.reshape(*batch, ends[-1]), ends[:-1], axis=-1)]
        for values in (extreme_values.largest, extreme_values.time)
    )
    report = {name: Peak(largest[k], time[k]) for k, name in enumerate(QUANTITIES[:4])}
    for jump in jumps(trajectory, batch):
        for name in QUANTITIES[jump.order + 1 : 4]:
            first = np.isfinite(report[name].largest[jump.where])
            index = tuple(axis[first] for axis in jump.where)
            report[name].largest[index], report[name].time[index] = np.inf, jump.time[first]
    return PeakReport(**report)


@verbs.check.register(Robot, JointTrajectory)
def check(
    robot: Robot,
    trajectory: JointTrajectory,
    dt: float | None = None,
    *,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    jerk: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    torque_rate: ArrayLike | None = None,
    power: ArrayLike | None = None,
    vary: Mapping[str, ArrayLike] | None = None,
    wrenches: Mapping[str, ArrayLike] | None = None,
) -> CheckReport:
    """Find all times at which a trajectory breaks a limit of a robot.

    Positions, velocities and torques (by inverse dynamics) are checked against the robot's limits, accelerations,
    jerks, rates of torques and powers against given limits. Samples are refined as in `peaks`: a limit that is broken
    only between two samples is found as well, unless the torque has a spike so narrow that the samples do not show its
    slopes. A limit may be exceeded by 1e-9 of itself, for rounding.

    Parameters
    ----------
    robot
        Robot that moves. With loops the trajectory moves the independent joints or all (see `ClosedMotion`);
        the limits of all joints count, and those of torque for the motors' forces.
    trajectory
        One trajectory or a batch.
    dt
        Largest step between samples, s; default a thousandth of the duration. There are 16 steps at least from each
        knot to the next.
    velocity, acceleration, jerk, torque, torque_rate, power
        Largest magnitudes, a scalar or shape (n,), rad/s, rad/s², rad/s³, N·m, N·m/s (m/s, …, N/s for prismatic
        joints), W. Those of velocity and torque replace the robot's; power is torque times velocity of each joint.
    vary
        Values of parameters of the robot, such as ``{"payload.mass": 2.0}``, for its torques. Leading axes are a batch.
    wrenches
        Forces of the environment on the robot by frame, for its torques; see `Robot.inverse_dynamics`.

    Returns
    -------
    CheckReport
        ``ok``, ``violations`` with joint, interval, peak and excess, and the smallest margins of all limits.

    Raises
    ------
    ArgumentError
        If the trajectory moves another number of joints than the robot has, a limit is negative, shapes do not fit, or
        a torque is not a number.

    Notes
    -----
    Where a velocity jumps at a knot, the acceleration and the torque are infinite, and where an acceleration jumps the
    jerk is: this breaks any limit of them. What jumps at the start and the end is not counted: the motion may be a part
    of a longer one.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("panda")
    >>> report = ch.PointToPoint(arm.home, arm.home + 0.5, duration=0.4).check(arm)
    >>> report.ok, report.violations[0].quantity, report.violations[0].joint
    (False, 'velocity', 'panda_joint1')
    """
    moved = MovedJoints(robot, trajectory)
    n, (lower, upper) = moved.n, moved.limits(velocity, acceleration, jerk, torque, torque_rate, power)
    parameters = {name: reals(value, name) for name, value in (vary or {}).items()}
    forces = {name: reals(value, name) for name, value in (wrenches or {}).items()}
    batch = _batch(robot, trajectory, parameters, forces)
    times = check_times(trajectory, batch, dt)
    limited = np.isfinite(lower) | np.isfinite(upper)
    watched = np.flatnonzero(limited.any(axis=1))
    needs_torques = np.isin(watched, [_TORQUE, _POWER]).any()
    slack = _ROUNDING * np.maximum.reduce([np.where(np.isfinite(side), np.abs(side), 0.0) for side in (lower, upper)])

    def motion(t: Floats) -> list[Floats]:
        """The watched quantities, each (m, *batch, n)."""
        at = t.reshape(len(t), *batch)
        parts = dict(enumerate(moved.quantities(at, parameters, forces, torques=bool(needs_torques))))
        if _RATE in watched:
            parts[_RATE] = moved.torque_rates(at, parameters, forces)
        if _POWER in watched:
            parts[_POWER] = parts[_TORQUE] * parts[_VELOCITY]
        return [np.broadcast_to(parts[int(k)], (*at.shape, n)) for k in watched]

    def excess(t: Floats) -> Floats:
        """How far the watched quantities lie beyond their limits, (m, b, watched * n)."""
        beyond = np.empty((len(t), *batch, len(watched), n))
        for place, (k, part) in enumerate(zip(watched, motion(t), strict=True)):
            np.maximum(part - (upper[k] + slack[k]), (lower[k] - slack[k]) - part, out=beyond[..., place, :])
        return beyond.reshape(*t.shape, len(watched) * n)

    def value(t: Floats) -> Floats:
        return np.stack(motion(t), axis=-2).reshape(*t.shape, len(watched) * n)

    excesses = extremes(excess, times, intervals=True)
    above, rows = excesses.above, (watched[:, None] * n + np.arange(n)).ravel()
    broken = np.empty(len(above), _BROKEN)
    broken["trajectory"], broken["row"] = above["element"], rows[above["channel"]]
    broken["value"] = values_at(value, above, above["time"][:, None], times.shape[1])[:, 0]
    broken["side"] = np.where(broken["value"] > upper.ravel()[broken["row"]], 1, -1)
    for field in ("start", "end", "time"):
        broken[field] = above[field]
    infinite = _infinite(jumps(moved, batch), batch, limited)
    broken = np.concatenate([broken, infinite])

    margin, time = np.full((times.shape[1], limited.size), np.inf), np.full((times.shape[1], limited.size), np.nan)
    margin[:, rows], time[:, rows] = -excesses.largest - slack.ravel()[rows], excesses.time
    where = infinite["trajectory"], infinite["row"]
    margin[where], time[where] = -np.inf, infinite["time"]
    return CheckReport(
        robot.name,
        moved.names,
        moved.units,
        lower,
        upper,
        margin.reshape(*batch, *limited.shape),
        time.reshape(*batch, *limited.shape),
        float(np.diff(times, axis=0).max(initial=0.0)),
        broken[np.lexsort((broken["row"], broken["start"], broken["trajectory"]))],
    )


def _infinite(found_jumps: list[Jump], batch: tuple[int, ...], limited: NDArray[np.bool_]) -> NDArray[np.void]:
    """Violations by quantities that are infinite where a lower derivative jumps."""
    parts = [np.empty(0, _BROKEN)]
    for jump in found_jumps:
        for k in range(len(QUANTITIES)):
            if k <= jump.order or (k in (_TORQUE, _POWER) and jump.order == 2):
                continue
            row = k * limited.shape[1] + jump.where[-1]
            part = np.empty(len(row), _BROKEN)
            part["trajectory"] = np.ravel_multi_index(jump.where[:-1], batch) if batch else 0
            part["row"], part["side"], part["value"] = row, 1, np.inf
            for field in ("start", "end", "time"):
                part[field] = jump.time
            parts.append(part[limited.ravel()[row]])
    return np.concatenate(parts)


def _batch(
    robot: Robot, trajectory: JointTrajectory, parameters: Mapping[str, Floats], forces: Mapping[str, Floats]
) -> tuple[int, ...]:
    known = robot.parameters
    shapes = [value.shape[: value.ndim - len(known.get(name, ()))] for name, value in parameters.items()]
    shapes += [value.shape[:-1] for value in forces.values()]
    try:
        return np.broadcast_shapes(trajectory.batch, *shapes)
    except ValueError:
        raise ArgumentError("the batch axes of the trajectory, the varied parameters and wrenches do not fit") from None
