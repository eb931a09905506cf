"""Limits on joint rates: from positions, speeds and accelerations that must not be exceeded."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.base.sealed import CheckedMembers
from chasles.engine import maximum, minimum, sqrt, where
from chasles.engine.program.scalar import Array, Real
from chasles.engine.validators import reals
from chasles.inverse_kinematics.ranges import joint_limits
from chasles.mechanics import Mechanics

Vector = NDArray[np.float64]

#: Bounds of joints that nothing limits, as DAQP takes them.
UNBOUNDED = 1e30
#: A joint less than this beyond a position limit, rad or m, returns all the way in one step.
_ALMOST_INSIDE = 1e-9


class Limit(Protocol):
    """Anything that bounds the joint rates of a step.

    A limit may have a ``priority``, 0 unless it says so. Where two limits contradict each other for a joint, its rate
    keeps the one of higher priority and comes as near to the other as that allows.
    """

    def bounds(self, robot: Mechanics, q: Vector, qd: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return lowest and highest rates (n,) for a step of dt (s) from positions q (nq,) and rates qd (n,)."""
        ...


class Inequalities(NamedTuple):
    """Bounds of linear combinations of the rates: lower <= A q̇ <= upper.

    Attributes
    ----------
    A
        Shape (k, n).
    lower, upper
        Shape (k,); infinite where there is no bound.
    """

    A: Vector
    lower: Vector
    upper: Vector


class CombinedLimit(Protocol):
    """Anything that bounds combinations of the joint rates of a step, such as the speed of an approach.

    Where such a limit cannot be kept within the bounds of the joints, it is missed by as little as possible.
    """

    def inequalities(self, robot: Mechanics, q: Vector, dt: float) -> Inequalities:
        """Return the inequalities for a step of dt (s) from positions q (nq,)."""
        ...


@cache
def no_inequalities(n: int) -> Inequalities:
    """Inequalities of n rates without a row."""
    return Inequalities(np.zeros((0, n)), np.zeros(0), np.zeros(0))


class FormulaLimit(metaclass=CheckedMembers):
    """Base of limits that are compiled together with the tasks: their bounds are a formula.

    The formula is that of one joint, in arithmetic that holds for arrays of joints as well.
    """

    priority: ClassVar[int] = 0

    @abstractmethod
    def numbers(self, robot: Mechanics) -> tuple[Any, ...]:
        """Numbers of the formula, checked: one for all joints, or (n,)."""

    @abstractmethod
    def formula(self, ends: tuple[Any, Any], q: Real, qd: Real, dt: Real, *numbers: Array) -> tuple[Any, Any]:
        """Return lowest and highest rate of a joint between two ends, at the position q with the rate qd."""

    def bounds(self, robot: Mechanics, q: Vector, qd: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return lowest and highest rates (n,) for a step of dt (s) from positions q (nq,) and rates qd (n,)."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # very short steps, no limits
            return self.formula(joint_limits(robot)[:2], joint_positions(robot, q), qd, dt, *self.numbers(robot))


@dataclass
class ConfigurationLimit(FormulaLimit):
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

    def numbers(self, robot: Mechanics) -> tuple[Any, ...]:
        """The fraction."""
        if not 0.0 < self.fraction <= 1.0:
            raise ArgumentError(
                f"the fraction of a ConfigurationLimit must be above 0 and at most 1, not {self.fraction}"
            )
        joint = joint_limits(robot).without_position
        if joint is not None:
            raise ArgumentError(f"the limits of {joint} and of the joints that mimic it leave it no position")
        return (self.fraction,)

    def formula(self, ends: tuple[Any, Any], q: Real, qd: Real, dt: Real, *numbers: Array) -> tuple[Any, Any]:
        """Return the rates that use up the fraction."""
        (fraction,), (lower, upper) = numbers, ends

        def covered(room: Array) -> Any:  # largest motion towards a limit; outside, minus the least motion back
            back = minimum(fraction * room, maximum(room, -_ALMOST_INSIDE))
            return where(room < 0.0, back, fraction * room)

        low, high = -covered(q - lower) / dt, covered(upper - q) / dt
        return where(q > upper, minimum(low, high), low), where(q < lower, maximum(low, high), high)


@dataclass
class VelocityLimit(FormulaLimit):
    """Keep joint speeds below limits (n,), rad/s; default the robot's own.

    >>> import chasles as ch
    >>> VelocityLimit([1.0, 2.0]).bounds(ch.load("planar2r"), np.zeros(2), np.zeros(2), 0.01)[1]
    array([1., 2.])
    """

    highest: ArrayLike | None = None
    priority: ClassVar[int] = 1

    def numbers(self, robot: Mechanics) -> tuple[Any, ...]:
        """The limits."""
        if self.highest is None:
            return (joint_limits(robot).velocity,)
        return (reals(self.highest, "highest", (robot.n,), broadcast=True, at_least=0, infinite=True),)

    def formula(self, ends: tuple[Any, Any], q: Real, qd: Real, dt: Real, *numbers: Array) -> tuple[Any, Any]:
        """Return the limits."""
        return -numbers[0], numbers[0]


@dataclass
class AccelerationLimit(FormulaLimit):
    """Keep joint accelerations below limits (n,), rad/s², and speeds such that the joint can still stop at its limit.

    >>> import chasles as ch
    >>> AccelerationLimit(10.0).bounds(ch.load("planar2r"), np.zeros(2), np.array([1.0, 0.0]), 0.01)[1]
    array([1.1, 0.1])
    """

    highest: ArrayLike
    priority: ClassVar[int] = 2

    def numbers(self, robot: Mechanics) -> tuple[Any, ...]:
        """The limits."""
        return (reals(self.highest, "highest", (robot.n,), broadcast=True, at_least=0, infinite=True),)

    def formula(self, ends: tuple[Any, Any], q: Real, qd: Real, dt: Real, *numbers: Array) -> tuple[Any, Any]:
        """Return the rates that are reached within the limits."""
        highest = numbers[0]
        lower, upper = qd - highest * dt, qd + highest * dt
        stop_above = _stopping_speed(maximum(ends[1] - q, 0.0), highest, dt)
        stop_below = _stopping_speed(maximum(q - ends[0], 0.0), highest, dt)
        return minimum(maximum(lower, -stop_below), upper), maximum(minimum(upper, stop_above), lower)


def joint_positions(robot: Mechanics, q: Vector) -> Vector:
    """Position of each degree of freedom, (n,), of a configuration (nq,): 0 where a quaternion is moved.

    >>> import chasles as ch
    >>> joint_positions(ch.load("planar2r").with_free_base(), np.array([1.0, 0.0, 0.0, 0.0, 5.0, 5.0, 5.0, 0.1, 0.2]))
    array([0. , 0. , 0. , 0. , 0. , 0. , 0.1, 0.2])
    """
    if robot.nq == robot.n:
        return q
    coordinates = joint_limits(robot).places
    return np.where(coordinates >= 0, q[coordinates], 0.0)


class RateBounds(NamedTuple):
    """Bounds of the rates that several limits leave.

    Attributes
    ----------
    lower, upper
        Lowest and highest rate of each joint, (n,).
    contradicted
        1 for each joint at which the limits contradict each other, else 0, (n,).
    """

    lower: Array
    upper: Array
    contradicted: Any


def common_bounds(limits: Sequence[Limit], robot: Mechanics, q: Vector, qd: Vector, dt: float) -> RateBounds:
    """Intersect the bounds of all limits; where they contradict each other, those of higher priority hold.

    Raises
    ------
    ArgumentError
        If bounds are NaN, or a limit contradicts itself.
    """
    ordered = sorted(limits, key=precedence)
    bounds = [limit.bounds(robot, q, qd, dt) for limit in ordered]
    for limit, (low, high) in zip(ordered, bounds, strict=True):
        if not (low <= high).all():
            joint = robot.velocity_names[int(np.argmin(low <= high))]
            raise ArgumentError(
                f"{type(limit).__name__} gives no rate for {joint}: its bounds are NaN or contradictory"
            )
    return intersection(bounds, robot.n)


def precedence(limit: object) -> float:
    """Place of a limit among others: from the highest priority to the lowest."""
    return -getattr(limit, "priority", 0)


def intersection(intervals: Sequence[tuple[Any, Any]], n: int | None = None) -> RateBounds:
    """Bounds that all of those found leave to n joints, or to one; the most important first, of numbers or traced."""
    shape = () if n is None else (n,)
    lower: Any = np.full(shape, -UNBOUNDED)[()]
    upper: Any = np.full(shape, UNBOUNDED)[()]
    contradicted: Any = np.zeros(shape)[()]
    for low, high in intervals:
        contradicted = where((low > upper) | (high < lower), 1.0, contradicted)
        lower, upper = minimum(maximum(low, lower), upper), minimum(maximum(high, lower), upper)
    return RateBounds(lower, upper, contradicted)


def _stopping_speed(room: Array, acceleration: Array, dt: Real) -> Array:
    """Speed s with s dt + s²/(2 a) = room: braking takes s²/(2 a), after one more step at that speed."""
    speed = 2.0 * room / (dt + sqrt(dt * dt + 2.0 * room / acceleration))
    bounded = where(room < np.inf, where(acceleration > 0.0, speed, 0.0), np.inf)
    return where(room <= 0.0, 0.0, bounded)
