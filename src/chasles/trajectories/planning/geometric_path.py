"""Paths in joint space without time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine.validators import reals
from chasles.trajectories.joint.closed import on_manifold
from chasles.trajectories.joint.durations import INSTANTS, SHORTEST
from chasles.trajectories.joint.splines import CubicSpline
from chasles.trajectories.joint.tangent import continuous_quaternions
from chasles.trajectories.joint.trajectory import JointTrajectory
from chasles.trajectories.limits.sampling import jumps
from chasles.trajectories.motion import Floats

if TYPE_CHECKING:
    from chasles.robot.robot import Robot

_SAMPLES = 2001
_RESTS = 1e-2  # speed along the path, as a share of the largest, below which its parameter says little of its tangent
_MOVES = 1e-3
_DEVIATION = 1e-7  # of a spline in place of a path that rests, as a share of its length
_MOST_POINTS = 6400


@runtime_checkable
class Planned(Protocol):
    """A path of `chasles.plan`."""

    @property
    def curve(self) -> JointTrajectory:
        """The path with rounded corners, without stops."""
        ...


class GeometricPath(NamedTuple):
    """A path over a parameter s, and its largest distance from the one that was given."""

    path: JointTrajectory
    deviation: float


def geometric_path(robot: Robot, path: JointTrajectory | Planned | ArrayLike) -> GeometricPath:
    """Return the path of a trajectory, a planned one, or one through waypoints.

    A path that rests at its ends, or almost, has no tangent there. If it rests nowhere else, a spline through many of
    its configurations over the length of the way replaces it.

    Raises
    ------
    ArgumentError
        If it cannot be planned along with this robot; the message says why.
    """
    if isinstance(path, JointTrajectory):
        given = path
    else:
        given = path.curve if isinstance(path, Planned) else _through(robot, path)
    if given.batch:
        raise ArgumentError(f"plan for one path at a time; this batch has shape {given.batch}")
    curve = on_manifold(robot, given)
    if not float(curve.duration) > 0.0:
        raise ArgumentError("the path has no length: start and end are the same")
    for jump, what in zip(jumps(curve, ()), ("a gap", "a corner"), strict=False):
        if len(jump.time):
            first = int(np.argmin(jump.time))
            place, joint = jump.time[first], int(jump.where[-1][first])
            raise ArgumentError(f"the path has {what} at s = {place:.6g} (joint {joint}); split it there, or round it")
    speed = np.linalg.norm(curve.derivatives(parameters(curve, _SAMPLES))[1], axis=-1)
    if not speed.any():
        raise ArgumentError("the path does not move")
    rests = min(speed[0], speed[-1]) < _RESTS * speed.max()
    edge = _SAMPLES // 20
    if rests and speed[edge:-edge].min() > _MOVES * speed.max():
        return _without_rest(robot, curve)
    return GeometricPath(curve, 0.0)


def _through(robot: Robot, waypoints: ArrayLike) -> CubicSpline:
    """Natural cubic spline of the coordinates through waypoints, over the length of the way between them."""
    given = reals(waypoints, "waypoints", ("k", "n"))
    of_motors = bool(robot.description.loops) and given.shape[1] == robot.n
    if given.shape[1] != robot.nq and not of_motors:
        raise ArgumentError(f"waypoints have {given.shape[1]} coordinates, but robot '{robot.name}' has {robot.nq}")
    q = given if of_motors else continuous_quaternions(robot, given)
    if len(q) < 2:
        raise ArgumentError("a path needs two waypoints at least")
    steps = np.linalg.norm(np.diff(q, axis=0), axis=1)
    if (steps < max(SHORTEST, INSTANTS * float(np.spacing(steps.sum())))).any():
        k = int(np.argmin(steps))
        apart = f"; they are {steps[k]:.3g} apart on a path {steps.sum():.3g} long" if steps[k] else ""
        raise ArgumentError(f"waypoints {k} and {k + 1} coincide{apart}")
    return CubicSpline(np.append(0.0, np.cumsum(steps)), q, boundary="natural")


def _without_rest(robot: Robot, path: JointTrajectory) -> GeometricPath:
    """Spline through configurations of a path, with as many of them as its deviation asks for."""
    s = parameters(path, 20 * _MOST_POINTS + 1)
    way = way_along(path, s)
    points = 200
    while True:
        waypoints = path(np.interp(np.linspace(0.0, way[-1], points + 1), way, s)).q
        spline = on_manifold(robot, _through(robot, waypoints))
        between = np.interp(np.linspace(0.0, way[-1], 4 * points + 1), way, s)
        length = np.interp(np.linspace(0.0, points, 4 * points + 1), np.arange(points + 1), spline.knots)
        q, tangent, _, _ = spline.derivatives(length)
        apart = np.asarray(robot.difference(path(between).q, q))
        direction = tangent / np.linalg.norm(tangent, axis=-1, keepdims=True)
        across = apart - np.sum(apart * direction, axis=-1, keepdims=True) * direction
        deviation = float(np.linalg.norm(across, axis=-1).max())
        if deviation < _DEVIATION * way[-1] or points >= _MOST_POINTS:
            return GeometricPath(spline, deviation)
        points *= 2


def way_along(path: JointTrajectory, s: Floats) -> Floats:
    """Length of the way to each of the parameters."""
    speed = np.linalg.norm(path.derivatives(s)[1], axis=-1)
    return np.append(0.0, np.cumsum(0.5 * (speed[1:] + speed[:-1]) * np.diff(s)))


def parameters(path: JointTrajectory, count: int) -> Floats:
    """Evenly spaced parameters of a path from start to end, (count,)."""
    return np.linspace(float(path.start_time), float(path.end_time), count)
