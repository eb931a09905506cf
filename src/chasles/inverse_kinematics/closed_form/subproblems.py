"""Subproblems: angles about given axes that satisfy one vector equation, in closed form.

Closed-form inverse kinematics is a chain of them (Paden, Kinematics and control of robot manipulators, 1986; Elias and
Wen, IK-Geo: Unified robot inverse kinematics using subproblem decomposition, 2022). Where an equation has no solution
they give the angle that comes closest; whether it had one, forward kinematics tells afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.engine import atan2, cos, maximum, minimum, sin, sqrt, where
from chasles.engine.program.scalar import Real, Truth
from chasles.geometry.elementary import Array, cross

#: What is squared may not be smaller than this: it only keeps 0 / 0 away.
_NOTHING = 1e-60
#: A vector this near to an axis, relative to its length, may be turned about it by any angle.
_FREE = 1e-7
#: If it is this near, rounding errors alone would decide the angle.
_LOST = 1e-12
#: Cosine of an angle between known axes that counts as a right one.
_SQUARE = 1e-12


class Turn(NamedTuple):
    """A rotation about a known axis by an angle that is known by its cosine and sine.

    Attributes
    ----------
    axis
        Unit vector, (3,).
    cosine, sine
        Cosine and sine of the angle.
    free
        Condition that any other angle would do as well: what is turned lies on the axis.
    lost
        Condition that the angle means nothing: what is turned lies on the axis up to rounding errors.
    """

    axis: Array
    cosine: Real
    sine: Real
    free: Truth = False
    lost: Truth = False

    @property
    def angle(self) -> Real:
        """The angle in (-pi, pi], rad."""
        return atan2(self.sine, self.cosine)

    def or_near(self, angle: Real) -> Turn:
        """The same turn, but where its angle means nothing the one by another angle."""
        return self._replace(
            cosine=where(self.lost, cos(angle), self.cosine), sine=where(self.lost, sin(angle), self.sine)
        )

    def about(self, axis: Array) -> Turn:
        """The same angle about another axis."""
        return self._replace(axis=axis)

    def along(self, axis: Array) -> Turn:
        """The same turn, told about a parallel axis, which may point the other way."""
        return self._replace(axis=axis, sine=np.sign(self.axis @ axis) * self.sine)

    def forth(self, p: Array) -> Array:
        """Vector (3,) after the turn."""
        u = cross(self.axis, p)
        return np.asarray(p + self.sine * u + (1.0 - self.cosine) * cross(self.axis, u))

    def back(self, p: Array) -> Array:
        """Vector (3,) before the turn."""
        return self._replace(sine=-self.sine).forth(p)


def turn_taking(p: Array, to: Array, axis: Array) -> Turn:
    """Turn about an axis that takes the vector p to another, as far as a turn about it can (subproblem 1).

    >>> turn_taking(np.array([1.0, 0.0, 0.0]), np.array([0.0, 2.0, 0.0]), np.array([0.0, 0.0, 1.0])).angle.round(6)
    np.float64(1.570796)
    """
    u = cross(axis, p)
    sine, cosine = u @ to, -(cross(axis, u) @ to)
    squared = sine * sine + cosine * cosine
    defined = squared > _NOTHING
    scale = 1.0 / sqrt(where(defined, squared, 1.0))
    whole = (p @ p) * (to @ to)
    free, lost = squared <= _FREE**4 * whole, squared <= _LOST**4 * whole
    return Turn(axis, where(defined, cosine * scale, 1.0), where(defined, sine * scale, 0.0), free, lost)


def turns_reaching(plane: Array, p: Array, axis: Array, height: Real) -> tuple[Turn, Turn]:
    """Both turns about an axis after which ``plane · p`` is a given height (subproblem 4).

    >>> x, z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    >>> [turn.angle.round(6) for turn in turns_reaching(x, 2.0 * x, z, 1.0)]
    [np.float64(1.047198), np.float64(-1.047198)]
    """
    u = cross(axis, p)
    v = cross(axis, u)
    a, b = plane @ u, -(plane @ v)  # plane · p after the turn is a sine + b cosine + plane · (p + v)
    squared = a * a + b * b
    defined = squared > _NOTHING
    length = sqrt(where(defined, squared, 1.0))
    c = minimum(maximum(height - plane @ (p + v), -length), length)
    rest = sqrt(maximum(length * length - c * c, 0.0))
    scale = 1.0 / (length * length)
    free, lost = squared <= _FREE**2 * (p @ p), squared <= _LOST**2 * (p @ p)

    def turn(side: float) -> Turn:
        cosine, sine = (b * c - side * a * rest) * scale, (a * c + side * b * rest) * scale
        return Turn(axis, where(defined, cosine, 1.0), where(defined, sine, 0.0), free, lost)

    return turn(1.0), turn(-1.0)


def turns_at_distance(p: Array, other: Array, axis: Array, squared_distance: Real) -> tuple[Turn, Turn]:
    """Both turns about an axis that bring the point p to a given distance from another point (subproblem 3).

    >>> x, z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    >>> [turn.angle.round(6) for turn in turns_at_distance(x, x, z, 2.0)]
    [np.float64(1.570796), np.float64(-1.570796)]
    """
    return turns_reaching(other, p, axis, 0.5 * (p @ p + other @ other - squared_distance))


def turns_meeting(p: Array, axis: Array, other: Array, other_axis: Array) -> list[tuple[Turn, Turn]]:
    """Both pairs of turns, of two vectors about an axis each, that make the vectors equal (subproblem 2).

    The vectors have the same length, and the axes are not parallel.
    """
    pairs = []
    for turn in turns_reaching(other_axis, p, axis, other_axis @ other):
        pairs.append((turn, turn_taking(other, turn.forth(p), other_axis)))
    return pairs


def orientations(R: Array, first: Array, second: Array, third: Array, near: Real) -> list[tuple[Turn, Turn, Turn]]:
    """Both triples of turns about three axes whose product is a rotation.

    Where first and third axis fall on one line only their sum is defined; then the first turn is by the angle ``near``,
    and the third makes up for it.
    """
    goal = R @ third
    across = perpendicular(third)
    triples = []
    for b in _middle_turns(goal, first, second, third):
        a = turn_taking(b.forth(third), goal, first).or_near(near)
        c = turn_taking(across, b.back(a.back(R @ across)), third)
        triples.append((a, b, c))
    return triples


def _middle_turns(goal: Array, first: Array, second: Array, third: Array) -> tuple[Turn, Turn]:
    """Both turns about the second axis that bring the third to the angle that the goal has to the first.

    `turns_reaching` knows only the cosine of that angle, and loses half the digits where it is nearly 0 or pi. If the
    second axis is square to the others, the sine is at hand as well.
    """
    if max(abs(first @ second), abs(second @ third)) > _SQUARE:
        return turns_reaching(first, third, second, first @ goal)
    across = cross(first, goal)
    c, s = first @ goal, sqrt(maximum(across @ across, _NOTHING))
    scale = 1.0 / sqrt(c * c + s * s)
    a, b = cross(second, first) @ third, first @ third

    def turn(side: float) -> Turn:
        return Turn(second, (b * c + side * a * s) * scale, (side * b * s - a * c) * scale)

    return turn(1.0), turn(-1.0)


def perpendicular(axis: Array) -> Array:
    """A unit vector across a known axis.

    >>> perpendicular(np.array([0.0, 0.0, 1.0]))
    array([1., 0., 0.])
    """
    other = np.eye(3)[np.argmin(np.abs(axis))]
    across = other - (other @ axis) * axis
    return np.asarray(across / np.linalg.norm(across))
