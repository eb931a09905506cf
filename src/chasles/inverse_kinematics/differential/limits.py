"""Limits on joint rates: from positions, speeds and accelerations that must not be exceeded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.errors import ArgumentError
from chasles.robot import Robot

Vector = NDArray[np.float64]


class Limit(Protocol):
    """Anything that bounds the joint rates of a step."""

    def bounds(self, robot: Robot, q: Vector, qd: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return lowest and highest rates (n,) for a step of dt (s) from positions q and rates qd."""
        ...


@dataclass
class ConfigurationLimit:
    """Keep joints inside their position limits: a step covers at most a fraction of what is left.

    A joint that is outside already is asked to come back by the same fraction.

    >>> import chasles as ch
    >>> low, high = ConfigurationLimit(0.5).bounds(ch.load("panda"), np.array(ch.load("panda").home), np.zeros(7), 0.01)
    >>> bool((low < 0.0).all() and (high > 0.0).all())
    True
    """

    fraction: float = 0.5

    def bounds(self, robot: Robot, q: Vector, qd: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return the rates that use up the fraction."""
        return self.fraction * (robot.lower_limits - q) / dt, self.fraction * (robot.upper_limits - q) / dt


@dataclass
class VelocityLimit:
    """Keep joint speeds below limits (n,), rad/s; default the robot's own.

    >>> import chasles as ch
    >>> VelocityLimit([1.0, 2.0]).bounds(ch.load("planar2r"), np.zeros(2), np.zeros(2), 0.01)[1]
    array([1., 2.])
    """

    highest: ArrayLike | None = None

    def bounds(self, robot: Robot, q: Vector, qd: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return the limits."""
        highest = _limits(robot.velocity_limits if self.highest is None else self.highest, q, "velocity limits")
        return -highest, highest


@dataclass
class AccelerationLimit:
    """Keep joint accelerations below limits (n,), rad/s², and speeds such that the joint can still stop at its limit.

    >>> import chasles as ch
    >>> AccelerationLimit(10.0).bounds(ch.load("planar2r"), np.zeros(2), np.array([1.0, 0.0]), 0.01)[1]
    array([1.1, 0.1])
    """

    highest: ArrayLike

    def bounds(self, robot: Robot, q: Vector, qd: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return the rates that are reached within the limits."""
        highest = _limits(self.highest, q, "acceleration limits")
        lower, upper = qd - highest * dt, qd + highest * dt
        # Braking at the limit from speed s takes s²/(2 a), and one more step at that speed.
        with np.errstate(invalid="ignore"):
            room_above = np.maximum(robot.upper_limits - q, 0.0)
            room_below = np.maximum(q - robot.lower_limits, 0.0)
            stop_above = np.where(np.isfinite(room_above), _stopping_speed(room_above, highest, dt), np.inf)
            stop_below = np.where(np.isfinite(room_below), _stopping_speed(room_below, highest, dt), np.inf)
        return np.minimum(np.maximum(lower, -stop_below), upper), np.maximum(np.minimum(upper, stop_above), lower)


def _stopping_speed(room: Vector, acceleration: Vector, dt: float) -> Vector:
    """Speed s with s dt + s²/(2 a) = room."""
    step = acceleration * dt
    speed: Vector = np.sqrt(step**2 + 2.0 * acceleration * room) - step
    return speed


def _limits(values: ArrayLike, q: Vector, what: str) -> Vector:
    try:
        limits = np.broadcast_to(np.asarray(values, dtype=np.float64), q.shape)
    except ValueError:
        raise ArgumentError(f"{what} must be one number or shape {q.shape}, not {np.shape(values)}") from None
    if not (limits >= 0.0).all():
        raise ArgumentError(f"{what} must be numbers that are not negative, not {limits.tolist()}")
    return limits
