"""Fastest motions from any state to any other under limits of velocity, acceleration and jerk, by ruckig."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import choice, reals
from chasles.trajectories.joint.continuity import MISS, require_continuity
from chasles.trajectories.joint.durations import INSTANTS, LONGEST, checked_durations, checked_start_time
from chasles.trajectories.joint.piecewise import PiecewisePolynomial
from chasles.trajectories.motion import Motion
from chasles.trajectories.planning.planners import PlanningError, planner, positive_limits

Synchronization = Literal["time", "time-if-necessary", "phase", "none"]

_RUCKIG_NAMES = {"time": "Time", "time-if-necessary": "TimeIfNecessary", "phase": "Phase", "none": "No"}
_SHORTEST = 1e-12  # s; shorter phases are rounding
_INSTANT = 1e-9  # s, of a motion that need not move
_TOO_LONG = "-101"  # ruckig's code of motions that take too long
_GOAL = 1e-8  # rad or m, by which ruckig may miss the goal
_REMEDY = "choose limits and states that are more alike in size, or an earlier start_time"


class OnlineTrajectory(PiecewisePolynomial):
    """Result of `online_trajectory`: cubic polynomials between knots.

    Attributes
    ----------
    shortest_durations
        Shortest duration of each joint alone, shape (n,), s.
    """

    def __init__(self, knots: ArrayLike, coefficients: ArrayLike, shortest_durations: ArrayLike) -> None:
        super().__init__(knots, coefficients)
        self.shortest_durations = np.array(shortest_durations, dtype=np.float64)

    def __repr__(self) -> str:
        return f"<OnlineTrajectory of {self.n} joints, {self.start_time:g} to {self.end_time:g} s>"


def online_trajectory(
    start: ArrayLike | Motion,
    goal: ArrayLike | None,
    *,
    velocity: ArrayLike,
    acceleration: ArrayLike,
    jerk: ArrayLike = math.inf,
    goal_velocity: ArrayLike = 0.0,
    goal_acceleration: ArrayLike = 0.0,
    synchronization: Synchronization = "time",
    minimum_duration: float | None = None,
    cycle: float | None = None,
    start_time: float = 0.0,
) -> OnlineTrajectory:
    """Plan the fastest motion from the current state to a goal.

    A controller can replan at any time t with ``start=trajectory(t), start_time=t``.

    Parameters
    ----------
    start
        State at the start: a `Motion` with parts of shape (n,), rad, rad/s, rad/s² (m, … for prismatic joints), or
        positions, shape (n,), at rest. A state outside the limits is brought back within them at once.
    goal
        Positions at the end, shape (n,). None: reach only the goal velocity and acceleration as soon as possible, at
        any position; with their defaults, the quickest stop.
    velocity, acceleration, jerk
        Largest magnitudes, positive, a scalar or shape (n,); infinite where there is no limit.
    goal_velocity, goal_acceleration
        Velocity and acceleration at the end, within the limits. After its end the trajectory rests, like all
        trajectories; replan before.
    synchronization
        ``"time"``: all joints reach the goal at the same time. ``"phase"``: on a straight line in joint space if start
        and goal states allow it, otherwise ``"time"``. ``"time-if-necessary"``: as ``"time"``, but only for joints with
        a nonzero final velocity. ``"none"``: each joint as soon as possible.
    minimum_duration
        Shortest allowed duration, s.
    cycle
        Period of which the duration is a multiple, s.
    start_time
        Time at which it starts, s.

    Returns
    -------
    OnlineTrajectory
        Its position is continuous, and so are its velocity and acceleration if acceleration and jerk are limited. If
        the robot is already at the goal, the duration is 1 ns.

    Raises
    ------
    MissingExtraError
        If ruckig is not installed.
    ArgumentError
        If shapes differ, a number is not finite, a limit is not positive, or the goal's velocity or acceleration
        exceeds its limit; the message names the joint.
    UnknownNameError
        For another synchronization.
    PlanningError
        If ruckig finds no motion.

    Notes
    -----
    Berscheid and Kröger, Jerk-limited Real-time Trajectory Generation with Arbitrary Target States, Robotics: Science
    and Systems 2021; the package ruckig is theirs. Intermediate waypoints are not supported: ruckig's community version
    computes them on a server.

    Examples
    --------
    >>> move = online_trajectory([0.0, 0.0], [1.0, -0.5], velocity=1.0, acceleration=2.0, jerk=10.0)
    >>> round(float(move.duration), 6), move(move.end_time).q.round(12)
    (1.7, array([ 1. , -0.5]))
    >>> stop = online_trajectory(move(0.4), None, velocity=1.0, acceleration=2.0, jerk=10.0, start_time=0.4)
    >>> stop(stop.end_time).qd.round(12) + 0.0
    array([0., 0.])
    """
    ruckig = planner("ruckig", "an online trajectory")
    now = _state(start)
    n = now.q.size
    choice(synchronization, "synchronization", get_args(Synchronization))
    largest = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
    limits = {name: positive_limits(values, n, name) for name, values in largest.items()}
    end = Motion(
        now.q if goal is None else reals(goal, "goal", (n,)),
        _goal_rate(goal_velocity, limits["velocity"], "velocity"),
        _goal_rate(goal_acceleration, limits["acceleration"], "acceleration"),
    )
    for name, value in (("minimum_duration", minimum_duration), ("cycle", cycle)):
        if value is not None and checked_durations(value, name).ndim:
            raise ArgumentError(f"{name} must be one number of seconds, not {value!r}")
    begin = checked_start_time(start_time)

    problem = ruckig.InputParameter(n)
    for role, state in (("current", now), ("target", end)):
        for name, values in zip(("position", "velocity", "acceleration"), state, strict=True):
            setattr(problem, f"{role}_{name}", values.tolist())
    for name, array in limits.items():
        setattr(problem, f"max_{name}", array.tolist())
    problem.synchronization = getattr(ruckig.Synchronization, _RUCKIG_NAMES[synchronization])
    if goal is None:
        problem.control_interface = ruckig.ControlInterface.Velocity
    if minimum_duration is not None:
        problem.minimum_duration = minimum_duration
    if cycle is not None:
        problem.duration_discretization = ruckig.DurationDiscretization.Discrete
    solution = _solved(ruckig, problem, cycle)
    if solution.duration <= _SHORTEST:
        return _resting(now.q, begin)
    shortest = _shortest_phase(begin, solution.duration)
    motion = _motion(solution, now.q, end, begin, shortest)
    is_smooth = bool(np.isfinite(limits["acceleration"]).all())
    _require_goal_and_continuity(motion, None if goal is None else end.q, is_smooth, time_error=2.0 * shortest)
    return motion


def _state(start: ArrayLike | Motion) -> Motion:
    """The state at the start, with positions of at least one joint; at rest if only these are given."""
    q = reals(start.q if isinstance(start, Motion) else start, "start", ("n",))
    if q.size < 1:
        raise ArgumentError("start has no joints")
    if not isinstance(start, Motion):
        return Motion(q, np.zeros(q.size), np.zeros(q.size))
    return Motion(q, reals(start.qd, "start.qd", (q.size,)), reals(start.qdd, "start.qdd", (q.size,)))


def _solved(ruckig: Any, problem: Any, cycle: float | None) -> Any:
    """Ruckig's trajectory.

    Raises
    ------
    PlanningError
        If it finds none.
    """
    solution = ruckig.Trajectory(problem.degrees_of_freedom)
    try:
        result = ruckig.Ruckig(problem.degrees_of_freedom, cycle or 0.001).calculate(problem, solution)
    except ruckig.RuckigError as error:
        raise PlanningError(f"ruckig finds no motion: {str(error).strip()}") from None
    except ValueError as error:  # a result that has no name in Python
        reason = "it would take longer than 7,600 s" if _TOO_LONG in str(error) else str(error)
        raise PlanningError(f"ruckig finds no motion: {reason}") from None
    if result not in (ruckig.Result.Working, ruckig.Result.Finished):
        raise PlanningError(f"ruckig finds no motion: {result}")
    return solution


def _resting(q: NDArray[np.float64], begin: float) -> OnlineTrajectory:
    """An instant at rest."""
    coefficients = np.zeros((1, 4, q.size))
    coefficients[0, 0] = q
    instant = max(_INSTANT, INSTANTS * float(np.spacing(abs(begin))))
    return OnlineTrajectory(begin + np.array([0.0, instant]), coefficients, np.zeros(q.size))


def _shortest_phase(begin: float, duration: float) -> float:
    """Shortest phase that double precision tells from rounding, s."""
    resolution = float(np.spacing(abs(begin) + duration))
    if not INSTANTS * resolution <= duration <= LONGEST:
        raise PlanningError(
            f"the motion takes {duration:.3g} s from {begin:g} s on, where double precision tells times apart by "
            f"{resolution:.3g} s only; choose an earlier start_time"
        )
    return max(_SHORTEST, 4.0 * resolution)


def _motion(solution: Any, start: NDArray[np.float64], end: Motion, begin: float, shortest: float) -> OnlineTrajectory:
    """Cubic polynomials of ruckig's phases, those left out that are too short."""
    motions = [_phases(profile) for profile in solution.profiles[0]]
    knots = _knots(motions, float(solution.duration), shortest)
    states = zip(motions, start, end.qd, end.qdd, strict=True)
    pieces = [_pieces(phases, knots[:-1], shortest, *joint) for phases, *joint in states]
    return OnlineTrajectory(begin + knots, np.stack(pieces, axis=-1), solution.independent_min_durations)


def _require_goal_and_continuity(
    motion: OnlineTrajectory, goal: NDArray[np.float64] | None, is_smooth: bool, time_error: float
) -> None:
    """Raise an error unless the pieces join, and lead to the goal if there is one."""
    # Accelerations may jump by what the jerk makes of phases that are too short.
    size, fastest = np.abs(motion.coefficients[:, :2]).max(axis=0)
    require_continuity(motion, int(is_smooth), size=size, rates=[fastest], time_error=time_error, remedy=_REMEDY)
    if goal is None:
        return
    miss = np.abs(motion(motion.end_time).q - goal)
    if not (miss <= _GOAL + MISS * size + time_error * fastest).all():
        joint = int(np.argmax(miss))
        raise PlanningError(f"ruckig's motion of joint {joint} misses the goal by {miss[joint]:.3g}; {_REMEDY}")


def _phases(profile: Any) -> NDArray[np.float64]:
    """Times in which the jerk of a joint is constant, rows of duration, jerk, and the state at their begin (a, v, p).

    The joint comes back within its limits, moves in seven phases, and may correct its end.
    """
    rows = [
        row
        for part in (profile.brake, profile, profile.accel)
        for row in zip(part.t, part.j, part.a, part.v, part.p, strict=False)
        if row[0] > _SHORTEST
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, 5)


def _knots(motions: list[NDArray[np.float64]], duration: float, shortest: float) -> NDArray[np.float64]:
    """Times at which the phase of any joint changes, with start and end; phases that are too short are left out."""
    knots = np.unique(np.concatenate([[0.0, duration], *(np.cumsum(phases[:, 0]) for phases in motions)]))
    knots = knots[(knots < duration - shortest) | (knots == duration)]
    return np.asarray(knots[np.append(True, np.diff(knots) > shortest)])


def _pieces(
    phases: NDArray[np.float64],
    times: NDArray[np.float64],
    shortest: float,
    start: float,
    goal_velocity: float,
    goal_acceleration: float,
) -> NDArray[np.float64]:
    """Coefficients (k, 4) of a joint's positions from each of the times on.

    After its phases it goes on as it arrived; without any it has arrived at the start.
    """
    u, j, a, v, p = phases[-1] if len(phases) else (0.0, 0.0, 0.0, 0.0, start)
    arrived = [np.inf, 0.0, goal_acceleration, goal_velocity, p + u * (v + u * (a / 2.0 + u * j / 6.0))]
    ends = np.cumsum(phases[:, 0])
    number = np.searchsorted(ends, times + shortest, side="right")
    _, j, a, v, p = np.vstack([phases, arrived])[number].T
    u = times - np.append(0.0, ends)[number]
    position = p + u * (v + u * (a / 2.0 + u * j / 6.0))
    return np.stack([position, v + u * (a + u * j / 2.0), (a + u * j) / 2.0, j / 6.0], axis=-1)


def _goal_rate(values: ArrayLike, limit: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    rate = reals(values, f"goal_{name}", (len(limit),), broadcast=True)
    beyond = np.abs(rate) > limit
    if beyond.any():
        joint = int(np.argmax(beyond))
        raise ArgumentError(f"goal_{name} of joint {joint} is {rate[joint]}, beyond its limit {limit[joint]}")
    return rate
