"""The ranges of joints: limits that hold, the span in which searches start, equivalent turns, and the reach."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.engine import floor, maximum, minimum, where
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array
from chasles.mechanics import Mechanics
from chasles.model import Tree, build_tree
from chasles.model.tree import WORLD, MovingBody

TURN = 2.0 * np.pi
#: A joint this little beyond a limit, rad, stands at it.
_ROUNDING = 1e-11


class JointLimits(NamedTuple):
    """Limits of a robot's degrees of freedom, (n,) each, as `joint_limits` keeps them.

    Attributes
    ----------
    lower, upper
        Positions at which no joint passes a limit, mimic joints included; infinite where there is none.
    velocity
        Largest speeds.
    places
        Place in q of the coordinate that each degree of freedom is the rate of; -1 where a quaternion is moved.
    without_position
        Name of a degree of freedom to which its limits and those of mimic joints leave no position, if there is one.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    velocity: NDArray[np.float64]
    places: NDArray[np.intp]
    without_position: str | None


def joint_limits(robot: Mechanics) -> JointLimits:
    """Limits of the degrees of freedom, computed once for each robot; those of quaternions have none.

    >>> import chasles as ch
    >>> joint_limits(ch.load("panda")).upper[:2]
    array([2.8973, 1.7628])
    >>> limits = joint_limits(ch.load("panda").with_free_base())
    >>> limits.upper[4:8], limits.places[4:8]
    (array([   inf,    inf, 2.8973, 1.7628]), array([-1, -1,  7,  8]))
    """
    known: JointLimits | None = robot.__dict__.get("_joint_limits")
    if known is None:
        coordinates = [
            robot.description.coordinate_of_velocity[index] for index in robot.description.independent_indices
        ]
        places = np.array([-1 if place is None else place for place in coordinates], dtype=np.intp)
        lower, upper = coordinate_limits(robot)
        lower, upper = np.where(places >= 0, lower[places], -np.inf), np.where(places >= 0, upper[places], np.inf)
        empty = np.flatnonzero(lower > upper)
        name = robot.velocity_names[empty[0]] if empty.size else None
        known = JointLimits(lower, upper, robot.velocity_limits, places, name)
        for values in known[:4]:
            values.flags.writeable = False
        known = robot.__dict__.setdefault("_joint_limits", known)
    return known


def position_limits(robot: Mechanics) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest position of each degree of freedom, (n,); see `joint_limits`."""
    limits = joint_limits(robot)
    return limits.lower.copy(), limits.upper.copy()


def coordinate_limits(robot: Mechanics) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest value of each coordinate, (nq,), at which no joint passes a limit."""
    description = robot.description
    lower, upper = robot.lower_limits, robot.upper_limits
    for joint in description.joints:
        if joint.mimic is None:
            continue
        driver, ratio, offset = description.mimics[joint.name]
        if ratio:
            first = description.starts[driver][0]
            ends = np.sort((np.array(joint.position_limits) - offset) / ratio, axis=0)
            driven = slice(first, first + ends.shape[1])
            lower[driven], upper[driven] = np.maximum(lower[driven], ends[0]), np.minimum(upper[driven], ends[1])
    return lower, upper


@dataclass(frozen=True, eq=False)
class Ranges:
    """Where each coordinate may be, and where searches start.

    Attributes
    ----------
    lower, upper
        Limits, (nq,); infinite where there is none. Joints that mimic a coordinate narrow its limits.
    first, span
        Searches start in [first, first + span]: the limits, or one turn where they are infinite.
    turning
        Whether a whole turn of the coordinate leaves the robot's pose as it is, (nq,).
    moving
        Whether searches move the coordinate to other starts, (nq,): those that move the frame, but not free joints;
        with loops the independent ones.
    identity
        1 for the first number of a quaternion, else 0, (nq,).
    closed
        A configuration in which the loops are closed, (nq,), at which searches start; None without loops.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    first: NDArray[np.float64]
    span: NDArray[np.float64]
    turning: NDArray[np.bool_]
    moving: NDArray[np.bool_]
    identity: NDArray[np.float64] | float = 0.0
    closed: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, robot: Mechanics, target: str, limits: bool, length: float) -> Ranges:
        """Ranges of a robot for one of its frames, with or without its limits."""
        tree = build_tree(robot.description)
        unlimited = np.full(robot.nq, np.inf)
        lower, upper = coordinate_limits(robot) if limits else (-unlimited, unlimited)
        turning, width = _turning_and_width(tree, robot.nq, length)
        moving = _moving(tree, target, robot.nq)
        first, span = _starting(lower, upper, width)
        identity = robot.neutral if robot.nq > robot.n else 0.0
        return cls(lower, upper, first, span, turning, moving, identity, robot.home if tree.loops else None)

    @cached_property
    def middle(self) -> NDArray[np.float64]:
        """Middle of the range in which searches start, (nq,), with quaternions of no rotation; with loops, closed."""
        if self.closed is not None:
            return self.closed
        return self.first + 0.5 * self.span + self.identity

    def inside(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Configurations moved to the nearest limits where they are outside; with loops as they are, and so closed."""
        return q if self.closed is not None else np.minimum(np.maximum(q, self.lower), self.upper)

    def starting(self, q0: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """First and span for searches that begin at q0 (..., n) and leave joints alone that do not move the frame."""
        if self._all_move:
            return self.first, self.span
        if self.closed is not None:  # loops close near a closed configuration, if anywhere
            unlimited = self.moving & np.isinf(self.upper - self.lower)
            first = np.where(unlimited, np.maximum(q0 - 0.5 * self.span, self.lower), self.first)
            return np.where(self.moving, first, q0), np.where(self.moving, self.span, 0.0)
        return np.where(self.moving, self.first, q0), np.where(self.moving, self.span, 0.0)

    @cached_property
    def _all_move(self) -> bool:
        return bool(self.moving.all())

    def margin(self, q: Array) -> Real:
        """Smallest distance of q (n,) to a limit, negative outside; it can be traced."""
        below = [position - end for position, end in zip(q, self.lower, strict=True) if np.isfinite(end)]
        above = [end - position for position, end in zip(q, self.upper, strict=True) if np.isfinite(end)]
        return reduce(minimum, below + above, np.inf)

    def nearest_turn(self, q: Array, near: Array) -> Array:
        """The same pose with each revolute joint as near to ``near`` as whole turns within the limits bring it."""
        return np.array(
            [self._turned(k, position, goal) for k, (position, goal) in enumerate(zip(q, near, strict=True))]
        )

    def _turned(self, k: int, position: Array, near: Array) -> Array:
        if not self.turning[k]:
            return position
        low, high = self.lower[k], self.upper[k]
        turns = floor((near - position) / TURN + 0.5)
        if np.isfinite(high):
            turns = minimum(turns, floor((high - position + _rounding(high)) / TURN))
        if np.isfinite(low):
            turns = maximum(turns, -floor((position - low + _rounding(low)) / TURN))
        turned = position + TURN * turns
        if np.isfinite(high):
            turned = where((turned > high) & (turned <= high + 2.0 * _rounding(high)), high, turned)
        if np.isfinite(low):
            turned = where((turned < low) & (turned >= low - 2.0 * _rounding(low)), low, turned)
        return turned


def _rounding(end: float) -> float:
    """Distance beyond a limit, rad, at which a joint still stands at it."""
    return _ROUNDING + 8.0 * float(np.spacing(abs(end)))


def reach(tree: Tree, target: str, ranges: Ranges) -> tuple[NDArray[np.float64], float]:
    """Centre (3,) in the world and radius (m) of a ball that the origin of a frame cannot leave.

    The centre is the first joint of the frame's chain; the radius is the sum of the distances from joint to joint and
    of what joints slide. Infinite with prismatic joints that have no end.
    """
    placement = tree.frames[target]
    centre, radius = placement.p_body_frame, 0.0
    index = placement.body
    while index != WORLD:
        body = tree.bodies[index]
        if body.placed == "quaternion and position":
            return np.zeros(3), np.inf
        radius += float(np.linalg.norm(centre))
        if body.pitch:
            ends = [end[body.position] if body.ratio else 0.0 for end in (ranges.lower, ranges.upper)]
            radius += abs(body.pitch) * max(abs(body.ratio * end + body.offset) for end in ends)
        centre, index = body.p_parent_body, body.parent
    return np.asarray(centre, dtype=np.float64), radius


def _turning_and_width(tree: Tree, nq: int, length: float) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Whether whole turns of the coordinates change nothing, and how far searches go where there are no limits."""
    turning, width = np.ones(nq, dtype=bool), np.full(nq, TURN)
    for body in tree.bodies:
        where = _coordinates_of(body)
        if body.placed == "coordinate":
            turning[where] &= bool(body.angular) and not body.pitch and float(body.ratio).is_integer()
            if not body.angular:
                width[where] = 2.0 * length
        elif body.placed != "nothing":
            turning[where] = False
            width[where] = 2.0  # numbers of quaternions, which become unit ones
    return turning, width


def _moving(tree: Tree, target: str, nq: int) -> NDArray[np.bool_]:
    """Whether searches move the coordinates to other starts."""
    moving = np.zeros(nq, dtype=bool)
    index = tree.frames[target].body
    while index != WORLD:
        body = tree.bodies[index]
        if body.placed in ("coordinate", "quaternion"):  # a free joint stays: it reaches targets without restarts
            moving[_coordinates_of(body)] = True
        index = body.parent
    for body in tree.bodies if tree.loops else ():  # the other joints follow, and by loops any joint may move the frame
        if body.placed != "nothing":
            is_free = body.placed == "quaternion and position"
            moving[_coordinates_of(body)] = body.coordinate in tree.independent and not is_free
    return moving


def _coordinates_of(body: MovingBody) -> slice:
    """Where the coordinates of a body's joint are in q."""
    count = {"nothing": 0, "coordinate": 1, "quaternion": 4, "quaternion and position": 7}[body.placed]
    return slice(body.position, body.position + count)


def _starting(
    lower: NDArray[np.float64], upper: NDArray[np.float64], width: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Start and width of the finite range in which searches start."""
    below, above = np.isfinite(lower), np.isfinite(upper)
    first = np.where(below, lower, np.where(above, upper - width, -0.5 * width))
    last = np.where(above, upper, np.where(below, lower + width, 0.5 * width))
    return first, last - first
