"""Twists and wrenches about the origin of a frame, in its axes: spatial vectors as pairs of 3-vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array, cross


@dataclass(frozen=True, slots=True, eq=False)
class Twist:
    """Angular (3,) and linear (3,) part of a velocity, an acceleration or a joint's screw."""

    angular: Array
    linear: Array

    def __add__(self, other: Twist) -> Twist:
        """Sum of two twists about the same origin."""
        return Twist(self.angular + other.angular, self.linear + other.linear)

    def seen_from(self, R: Array, p: Array) -> Twist:
        """The twist about the origin of another frame, in which this one has the rotation R and the origin p."""
        angular = R @ self.angular
        return Twist(angular, R @ self.linear + cross(p, angular))


@dataclass(frozen=True, slots=True, eq=False)
class Wrench:
    """Moment (3,) and force (3,)."""

    moment: Array
    force: Array

    def __add__(self, other: Wrench) -> Wrench:
        """Sum of two wrenches about the same origin."""
        return Wrench(self.moment + other.moment, self.force + other.force)

    def __sub__(self, other: Wrench) -> Wrench:
        """Difference of two wrenches about the same origin."""
        return Wrench(self.moment - other.moment, self.force - other.force)

    def times(self, factor: Real) -> Wrench:
        """The wrench scaled by a number."""
        return Wrench(factor * self.moment, factor * self.force)

    def power(self, twist: Twist) -> Real:
        """Power on a twist about the same origin."""
        return self.moment @ twist.angular + self.force @ twist.linear

    def seen_from(self, R: Array, p: Array) -> Wrench:
        """The wrench about the origin of another frame, in which this one has the rotation R and the origin p."""
        force = R @ self.force
        return Wrench(R @ self.moment + cross(p, force), force)


NO_TWIST = Twist(np.zeros(3), np.zeros(3))
NO_WRENCH = Wrench(np.zeros(3), np.zeros(3))


def carried_along(screw: Twist, wrench: Wrench) -> Wrench:
    """Change of a wrench that moves with a body, per unit of motion along the screw: screw x* wrench."""
    return Wrench(
        cross(screw.angular, wrench.moment) + cross(screw.linear, wrench.force),
        cross(screw.angular, wrench.force),
    )


def is_number_zero(value: object) -> bool:
    """Whether a value is the number zero; a traced one never is.

    Examples
    --------
    >>> is_number_zero(0.0), is_number_zero(1e-300)
    (True, False)
    """
    return isinstance(value, (int, float, np.number)) and value == 0
