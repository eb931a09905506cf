"""Subjects of a study: robots with their motions, and controllers with their settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine.validators import reals
from chasles.inverse_kinematics.ranges import joint_limits
from chasles.model import write
from chasles.robot.robot import Robot, load
from chasles.studies.checks import line_of_text, number
from chasles.studies.controllers import KINDS, VELOCITY, VELOCITY_FILTER, check_settings, check_velocity, reads_velocity
from chasles.trajectories import JointTrajectory, PointToPoint, QuinticSpline

#: Sources of velocities in the titles of controllers.
_SOURCES = {
    "measured": "measured velocity",
    "differenced": "differences",
    "filtered": "filtered differences",
    "kalman": "Kalman filter",
    "momentum": "momentum observer",
}


@dataclass(frozen=True)
class StudyRobot:
    """Robot and its planned motion.

    Use `StudyRobot.of`, which takes names, files and defaults.

    Attributes
    ----------
    title
        Name in tables.
    toml
        The robot's description as text.
    times
        Times of the waypoints, s, from 0.
    waypoints
        Configurations, rad or m. The motion is at rest at the first and the last.
    rated_payload
        Unit of the factors `payload` and `picked_payload`, kg.
    """

    title: str
    toml: str
    times: tuple[float, ...]
    waypoints: tuple[tuple[float, ...], ...]
    rated_payload: float = 1.0

    @classmethod
    def of(
        cls,
        robot: Robot | str | Path,
        *,
        goal: ArrayLike | None = None,
        duration: float | None = None,
        start: ArrayLike | None = None,
        waypoints: ArrayLike | None = None,
        times: ArrayLike | None = None,
        title: str | None = None,
        rated_payload: float = 1.0,
    ) -> Self:
        """Return a robot that moves from a start to a goal, or through waypoints.

        Parameters
        ----------
        robot
            Robot, name of a shipped robot, or file.
        start, goal
            Configurations, shape (n,), rad or m; the start defaults to the robot's home.
        duration
            Time from start to goal, s.
        waypoints, times
            Waypoints in place of start, goal and duration: configurations, shape (k, n), and their times, shape (k,),
            from 0, s.
        title
            Name in tables; default its name.
        rated_payload
            Unit of the payloads, kg.

        Raises
        ------
        ArgumentError
            If values are missing, not finite, of the wrong shape or outside the joint limits.
        """
        loaded = robot if isinstance(robot, Robot) else load(robot)
        if waypoints is None:
            moments, points = _start_and_goal(loaded, start, goal, duration, times)
        elif any(value is not None for value in (goal, start, duration)):
            raise ArgumentError("give 'waypoints' and 'times', or 'goal' and 'duration', not both")
        else:
            moments, points = _waypoints(loaded, waypoints, times)
        limits = joint_limits(loaded)
        for name, values, lower, upper in zip(loaded.velocity_names, points.T, limits.lower, limits.upper, strict=True):
            if values.min() < lower or values.max() > upper:
                outside = values[(values < lower) | (values > upper)][0]
                raise ArgumentError(f"joint '{name}' can go from {lower:.4g} to {upper:.4g}, not to {outside:.4g}")
        return cls(
            line_of_text(title if title is not None else loaded.name, "title"),
            write(loaded.description, "toml"),
            tuple(moments.tolist()),
            tuple(map(tuple, points.tolist())),
            number(rated_payload, "rated_payload", above=0.0, at_most=1e6),
        )


def _start_and_goal(
    robot: Robot, start: ArrayLike | None, goal: ArrayLike | None, duration: float | None, times: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times (2,) and configurations (2, n) of a motion from a start, by default the robot's home, to a goal."""
    if goal is None or duration is None:
        raise ArgumentError("a motion needs 'goal' and 'duration', or 'waypoints' and 'times'")
    if times is not None:
        raise ArgumentError("'times' belong to 'waypoints', not to 'goal'")
    rest = robot.home[joint_limits(robot).places] if robot.description.loops else robot.home
    first = reals(rest if start is None else start, "'start'", (robot.n,))
    points = np.stack([first, reals(goal, "'goal'", (robot.n,))])
    return np.array([0.0, number(duration, "duration", above=0.0)]), points


def _waypoints(
    robot: Robot, waypoints: ArrayLike, times: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times (k,) and configurations (k, n) of a motion through waypoints."""
    if times is None:
        raise ArgumentError("'waypoints' need 'times'")
    count = len(waypoints) if isinstance(waypoints, Sequence | np.ndarray) else 0
    points = reals(waypoints, "'waypoints'", (count, robot.n))
    moments = reals(times, "'times'", (count,))
    if count < 2 or moments[0] != 0.0 or (np.diff(moments) <= 0.0).any():
        raise ArgumentError("'times' must be two or more numbers that begin with 0 and increase")
    return moments, points


def motion_through(times: Sequence[float], waypoints: Sequence[ArrayLike]) -> JointTrajectory:
    """Return the motion of an experiment, at rest at both ends: point to point, or a quintic spline through waypoints.

    Parameters
    ----------
    times
        Times of the waypoints, s, from 0.
    waypoints
        Two or more configurations, rad or m.

    Examples
    --------
    >>> motion_through([0.0, 1.0, 2.0], [[0.0], [0.4], [1.0]])(1.0).q
    array([0.4])
    """
    if len(times) == 2:
        start, goal = waypoints
        return PointToPoint(start, goal, times[-1])
    return QuinticSpline(times, np.array(waypoints, dtype=np.float64))


@dataclass(frozen=True)
class StudyController:
    """Controller with its settings.

    Attributes
    ----------
    title
        Name in tables.
    kind
        Name from `chasles.studies.kinds`, or your own picklable function ``make(model, motion, period) -> controller``.
        Stored results are identified by the controller's computation: a law of Chasles by its attributes, your own law
        by its traced program or its ``version``. Results of a law that cannot be traced and has no version are
        recomputed by every run.
    settings
        Gains and weights by name, and what wraps the law; of a function ``velocity`` and ``velocity_filter`` only.
    robots
        Titles of the robots that the controller drives; default all.
    """

    title: str
    kind: str | Callable[..., Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    robots: Sequence[str] | None = None

    def __post_init__(self) -> None:
        line_of_text(self.title, "title")
        if self.robots is not None:
            if isinstance(self.robots, str) or not all(isinstance(name, str) for name in self.robots):
                raise ArgumentError("'robots' must be a list of robots' titles")
            object.__setattr__(self, "robots", tuple(self.robots))
        if callable(self.kind):
            if set(self.settings) - {VELOCITY, VELOCITY_FILTER}:
                raise ArgumentError(
                    "a function that makes a controller takes no settings but those of its velocity: bind them with "
                    "partial"
                )
            object.__setattr__(self, "settings", check_velocity(self.settings))
        elif self.kind not in KINDS:
            raise UnknownNameError("controller kind", str(self.kind), KINDS)
        else:
            object.__setattr__(self, "settings", check_settings(self.kind, self.settings))

    def with_velocities(self, sources: Sequence[str]) -> list[Self]:
        """Return one controller for each source of velocities; this one if it states a source or reads no velocity."""
        if len(sources) < 2 or VELOCITY in self.settings or not reads_velocity(self.kind):
            return [self]
        return [
            replace(self, title=f"{self.title}, {_SOURCES[source]}", settings={**self.settings, VELOCITY: source})
            for source in sources
        ]

    def drives(self, robot: StudyRobot) -> bool:
        """Whether this controller drives a robot."""
        return self.robots is None or robot.title in self.robots
