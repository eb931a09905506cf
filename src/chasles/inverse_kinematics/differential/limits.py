"""Limits on joint rates: from positions, speeds and accelerations that must not be exceeded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.arguments import reals
from chasles.errors import ArgumentError
from chasles.inverse_kinematics.ranges import position_limits
from chasles.mechanics import Mechanics

Vector = NDArray[np.float64]

#: Bounds of joints that nothing limits, as DAQP takes them.
_UNBOUNDED = 1e30
#: A joint less than this beyond a position limit, rad or m, returns all the way in one step.
_ALMOST_INSIDE = 1e-9


class Limit(Protocol):
    """Anything that bounds the joint rates of a step.

    A limit may have a ``priority``, 0 unless it says so. Where two limits contradict each other for a joint, its rate
    keeps the one of higher priority and comes as near to the other as that allows.
    """

    def bounds(self, robot: Mechanics, q: Vector, qd: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return lowest and highest rates (n,) for a step of dt (s) from positions q and rates qd."""
        ...


@dataclass
class ConfigurationLimit:
    """Keep joints inside their position limits: a step covers at most a fraction of the distance that is left.

    A joint outside its limits returns by at least the same fraction of its distance in each step, or as fast as the
    limits of velocity and acceleration permit. Limits of joints that mimic another one hold too.

    >>> import chasles as ch
    >>> low, high = ConfigurationLimit(0.5).bounds(ch.load("panda"), np.array(ch.load("panda").home), np.zeros(7), 0.01)
    >>> bool((low < 0.0).all() and (high > 0.0).all())
    True
    """

    fraction: float = 0.5
    priority: ClassVar[int] = 0

    def bounds(self, robot: Mechanics, q: Vector, qd: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return the rates that use up the fraction."""
        if not 0.0 < self.fraction <= 1.0:
            raise ArgumentError(
                f"the fraction of a ConfigurationLimit must be above 0 and at most 1, not {self.fraction}"
            )
        lower, upper = position_limits(robot)
        if (lower > upper).any():
            joint = robot.coordinate_names[int(np.argmax(lower > upper))]
            raise ArgumentError(f"the limits of {joint} and of the joints that mimic it leave it no position")
        with np.errstate(over="ignore"):  # in very short steps
            low, high = -self._covered(q - lower) / dt, self._covered(upper - q) / dt
        return np.where(q > upper, np.minimum(low, high), low), np.where(q < lower, np.maximum(low, high), high)

    def _covered(self, room: Vector) -> Vector:
        """Largest motion towards a limit in a step; where the room is negative, minus the least motion back."""
        back = np.minimum(self.fraction * room, np.maximum(room, -_ALMOST_INSIDE))
        return np.asarray(np.where(room < 0.0, back, self.fraction * room))


@dataclass
class VelocityLimit:
    """Keep joint speeds below limits (n,), rad/s; default the robot's own.

    >>> import chasles as ch
    >>> VelocityLimit([1.0, 2.0]).bounds(ch.load("planar2r"), np.zeros(2), np.zeros(2), 0.01)[1]
    array([1., 2.])
    """

    highest: ArrayLike | None = None
    priority: ClassVar[int] = 1

    def bounds(self, robot: Mechanics, q: Vector, qd: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return the limits."""
        highest = reals(
            robot.velocity_limits if self.highest is None else self.highest,
            "highest",
            q.shape,
            broadcast=True,
            at_least=0,
            infinite=True,
        )
        return -highest, highest


@dataclass
class AccelerationLimit:
    """Keep joint accelerations below limits (n,), rad/s², and speeds such that the joint can still stop at its limit.

    >>> import chasles as ch
    >>> AccelerationLimit(10.0).bounds(ch.load("planar2r"), np.zeros(2), np.array([1.0, 0.0]), 0.01)[1]
    array([1.1, 0.1])
    """

    highest: ArrayLike
    priority: ClassVar[int] = 2

    def bounds(self, robot: Mechanics, q: Vector, qd: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return the rates that are reached within the limits."""
        highest = reals(self.highest, "highest", q.shape, broadcast=True, at_least=0, infinite=True)
        lower, upper = qd - highest * dt, qd + highest * dt
        lowest_position, highest_position = position_limits(robot)
        stop_above = _stopping_speed(np.maximum(highest_position - q, 0.0), highest, dt)
        stop_below = _stopping_speed(np.maximum(q - lowest_position, 0.0), highest, dt)
        return np.minimum(np.maximum(lower, -stop_below), upper), np.maximum(np.minimum(upper, stop_above), lower)


class Bounds(NamedTuple):
    """Bounds of the rates that several limits leave.

    Attributes
    ----------
    lower, upper
        Lowest and highest rate of each joint, (n,).
    contradicted
        Joints at which the limits contradict each other, (n,).
    """

    lower: Vector
    upper: Vector
    contradicted: NDArray[np.bool_]


def common_bounds(limits: Sequence[Limit], robot: Mechanics, q: Vector, qd: Vector, dt: float) -> Bounds:
    """Intersect the bounds of all limits; where they contradict each other, those of higher priority hold.

    Raises
    ------
    ArgumentError
        If bounds are NaN, or a limit contradicts itself.
    """
    lower, upper = np.full(robot.n, -_UNBOUNDED), np.full(robot.n, _UNBOUNDED)
    contradicted = np.zeros(robot.n, dtype=bool)
    for limit in sorted(limits, key=lambda limit: -getattr(limit, "priority", 0)):
        low, high = limit.bounds(robot, q, qd, dt)
        if not (low <= high).all():
            joint = robot.coordinate_names[int(np.argmin(low <= high))]
            raise ArgumentError(
                f"{type(limit).__name__} gives no rate for {joint}: its bounds are NaN or contradictory"
            )
        contradicted |= (low > upper) | (high < lower)
        lower, upper = np.clip(low, lower, upper), np.clip(high, lower, upper)
    return Bounds(lower, upper, contradicted)


def _stopping_speed(room: Vector, acceleration: Vector, dt: float) -> Vector:
    """Speed s with s dt + s²/(2 a) = room: braking takes s²/(2 a), after one more step at that speed."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # without room, limits or acceleration
        speed: Vector = 2.0 * room / (dt + np.sqrt(dt * dt + 2.0 * room / acceleration))
    return np.where(room == 0.0, 0.0, np.where(np.isfinite(room), np.where(acceleration > 0.0, speed, 0.0), np.inf))
