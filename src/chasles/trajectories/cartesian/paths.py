"""Paths of a frame on lines, circles and helices: geometry without time."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine.program.scalar import Real
from chasles.geometry import elementary
from chasles.geometry.elementary import Array
from chasles.geometry.exponential_jacobians import inverse_left_jacobian_rotation, left_jacobian_rotation
from chasles.geometry.projections import ROTATION
from chasles.geometry.rigid_motions import log_pose, relative_pose
from chasles.geometry.rotations import exp_rotation, log_rotation, relative_rotation
from chasles.trajectories.cartesian.pose_waypoints import single_pose
from chasles.trajectories.joint.continuity import MISS
from chasles.trajectories.joint.waypoints import bounded
from chasles.trajectories.motion import Floats, PoseMotion

Orientation = Literal["constant", "turning"]
ORIENTATIONS: tuple[Orientation, ...] = ("constant", "turning")
#: Sine of the angle between two directions that count as one.
_PARALLEL = 1e-9


class HelicalPath(NamedTuple):
    """A frame that turns about a fixed axis while its origin runs along a line, a circle or a helix.

    All are curves whose tangent turns evenly: the origin's derivative by the progress s, from 0 to 1, is ``velocity``
    at first and turns by the rotation vector ``bend`` until the end; without one the curve is a line.

    Attributes
    ----------
    T_start
        First pose, (..., 4, 4).
    turn
        Rotation vector of the frame from start to end, in world axes, (..., 3), rad.
    bend
        Rotation vector of the tangent from start to end, in world axes, (..., 3), rad.
    velocity
        First derivative of the origin by s, in world axes, (..., 3), m.
    """

    T_start: Array
    turn: Array
    bend: Array
    velocity: Array

    @property
    def length(self) -> Floats:
        """Length of the origin's path, (...), m."""
        return np.asarray(np.linalg.norm(self.velocity, axis=-1))

    @property
    def angle(self) -> Floats:
        """Angle by which the frame turns, (...), rad."""
        return np.asarray(np.linalg.norm(self.turn, axis=-1))

    @property
    def curvature(self) -> Floats:
        """Length of the origin's second derivative by s, (...), m; it is perpendicular to the first."""
        return np.asarray(np.linalg.norm(np.cross(self.bend, self.velocity), axis=-1))

    def motion(self, s: Real, s_rate: Real, s_acceleration: Real) -> PoseMotion:
        """Pose, world-aligned twist and its rate, of one sample, from the progress and its derivatives by time."""
        R = exp_rotation(s * self.turn) @ elementary.rotation_of(self.T_start)
        p = elementary.translation_of(self.T_start) + s * (left_jacobian_rotation(s * self.bend) @ self.velocity)
        tangent = exp_rotation(s * self.bend) @ self.velocity
        towards_center = elementary.cross(self.bend, tangent)
        twist = np.concatenate([s_rate * self.turn, s_rate * tangent])
        acceleration = s_acceleration * tangent + s_rate * s_rate * towards_center
        return PoseMotion(elementary.pose(R, p), twist, np.concatenate([s_acceleration * self.turn, acceleration]))


def line_path(T_start: ArrayLike, T_end: ArrayLike) -> HelicalPath:
    """Line from origin to origin while the frame turns about a fixed axis, by the smaller angle."""
    T0, T1 = _together((single_pose(T_start, "T_start"), 2), (single_pose(T_end, "T_end"), 2))
    return _path(T0, _turn(T0, T1[..., :3, :3]), np.zeros(3), T1[..., :3, 3] - T0[..., :3, 3])


def screw_path(T_start: ArrayLike, T_end: ArrayLike) -> HelicalPath:
    """Screw motion between two poses (Lynch and Park, Modern Robotics, section 9.2.1)."""
    T0, T1 = _together((single_pose(T_start, "T_start"), 2), (single_pose(T_end, "T_end"), 2))
    twist = log_pose(relative_pose(T0, T1))
    turn = _rotated(T0, twist[..., :3])
    return _path(T0, turn, turn, _rotated(T0, twist[..., 3:]))


def circle_path(
    T_start: ArrayLike,
    center: ArrayLike,
    axis: ArrayLike,
    angle: ArrayLike,
    rise: ArrayLike,
    orientation: Orientation | ArrayLike,
) -> HelicalPath:
    """Circle about an axis through a centre, by an angle, or a helix that rises along the axis."""
    T0, middle, direction, turned, risen = _together(
        (single_pose(T_start, "T_start"), 2),
        (bounded(center, "center", (..., 3)), 1),
        (bounded(axis, "axis", (..., 3)), 1),
        (bounded(angle, "angle"), 0),
        (bounded(rise, "rise"), 0),
    )
    largest = np.abs(direction).max(axis=-1, keepdims=True)
    if not largest.all():
        raise ArgumentError("axis must not be zero")
    unit = direction / largest  # squares of very short vectors vanish
    unit = unit / np.linalg.norm(unit, axis=-1, keepdims=True)
    bend = unit * turned[..., None]
    velocity = np.cross(bend, T0[..., :3, 3] - middle) + unit * risen[..., None]
    return _path(T0, _turn_of(orientation, T0, bend), bend, velocity)


def arc_path(
    T_start: ArrayLike, p_via: ArrayLike, end: ArrayLike, orientation: Orientation | ArrayLike | None
) -> HelicalPath:
    """Arc from a start through a point to an end, which is a pose or a point."""
    if np.shape(end)[-2:] == (4, 4):
        T_end = single_pose(end, "end")
        if orientation is not None:
            raise ArgumentError("the orientation at the end comes from the pose `end`; leave out `orientation`")
        last, orientation = T_end[..., :3, 3], T_end[..., :3, :3]
    else:
        last = bounded(end, "end", (..., 3))
    T0, via, last = _together((single_pose(T_start, "T_start"), 2), (bounded(p_via, "p_via", (..., 3)), 1), (last, 1))
    first = T0[..., :3, 3]
    to_via, to_end, onward = via - first, last - first, last - via
    for chord, names in ((to_via, "T_start and p_via"), (to_end, "T_start and end"), (onward, "p_via and end")):
        if not np.linalg.norm(chord, axis=-1).all():
            raise ArgumentError(f"an arc needs three points: {names} coincide; a whole turn is a Circle")
    normal = np.cross(to_via, to_end)
    squares = (to_via**2).sum(axis=-1, keepdims=True), (to_end**2).sum(axis=-1, keepdims=True)
    squared_normal = (normal**2).sum(axis=-1, keepdims=True)
    if (squared_normal <= _PARALLEL**2 * squares[0] * squares[1]).any():
        raise ArgumentError("T_start, p_via and end lie on a line: no circle passes through them; see StraightLine")
    to_center = np.cross(squares[0] * to_end - squares[1] * to_via, normal) / (2.0 * squared_normal)
    unit = normal / np.sqrt(squared_normal)
    # From chord to chord the direction turns by half of what it does along the arc.
    sine = (np.cross(to_via, onward) * unit).sum(axis=-1)
    half = np.arctan2(sine, (to_via * onward).sum(axis=-1))
    bend = unit * (2.0 * half)[..., None]
    # A flat arc's centre is far away and inexact, as is the chord of an arc that nearly closes.
    by_chord = _applied(inverse_left_jacobian_rotation(bend), to_end)
    velocity = np.where((half < 0.25 * np.pi)[..., None], by_chord, -np.cross(bend, to_center))
    # From the tangent at the start to a chord the direction turns by half of the arc.
    share = np.arctan2((np.cross(velocity, to_via) * unit).sum(axis=-1), (velocity * to_via).sum(axis=-1)) / half
    for name, chord, s in (("p_via", to_via, share), ("end", to_end, np.ones_like(share))):
        _require_point(bend, velocity, s, chord, np.abs(first).max(initial=0.0), name)
    turn = _turn_of("constant" if orientation is None else orientation, T0, bend)
    return _path(T0, turn, bend, velocity)


def _require_point(bend: Floats, velocity: Floats, s: Floats, chord: Floats, size: float, name: str) -> None:
    """Raise an error if an arc misses a point near the progress s; the chord leads there from the start."""
    for _ in range(3):  # Newton's method for the place next to the point
        apart = chord - s[..., None] * _applied(left_jacobian_rotation(s[..., None] * bend), velocity)
        tangent = _applied(exp_rotation(s[..., None] * bend), velocity)
        s = s + (apart * tangent).sum(axis=-1) / (tangent**2).sum(axis=-1)
    miss = np.linalg.norm(apart, axis=-1)
    if not (miss <= MISS * np.maximum(size, np.linalg.norm(chord, axis=-1))).all():
        raise ArgumentError(
            f"the arc misses {name} by {np.max(miss):.3g} m, because T_start, p_via and end lie too nearly on a line "
            "or too close together for double precision; see StraightLine"
        )


def _turn_of(orientation: Orientation | ArrayLike, T_start: Floats, bend: Floats) -> Floats:
    """Rotation vector of the frame, in world axes."""
    if isinstance(orientation, str):
        if orientation not in ORIENTATIONS:
            raise UnknownNameError("orientation", orientation, [*ORIENTATIONS, "a rotation matrix at the end"])
        return bend if orientation == "turning" else np.zeros(3)
    R_end = bounded(orientation, "orientation", (..., 3, 3))
    ROTATION.check(R_end, "orientation")
    return _turn(*_together((T_start, 2), (R_end, 2)))


def _turn(T_start: Floats, R_end: Floats) -> Floats:
    return _rotated(T_start, log_rotation(relative_rotation(T_start[..., :3, :3], R_end)))


def _rotated(T: Floats, v: Array) -> Floats:
    return _applied(T[..., :3, :3], v)


def _applied(A: Array, v: Array) -> Floats:
    product: Floats = (np.asarray(A) @ np.asarray(v)[..., None])[..., 0]
    return product


def _together(*arrays: tuple[Floats, int]) -> tuple[Floats, ...]:
    """Arrays with the batch axes of all of them; each comes with the number of axes that are not the batch's."""
    try:
        batch = np.broadcast_shapes(*(array.shape[: array.ndim - axes] for array, axes in arrays))
    except ValueError:
        raise ArgumentError("the batch axes of the path's poses, points and angles do not broadcast") from None
    return tuple(np.broadcast_to(array, (*batch, *array.shape[array.ndim - axes :])) for array, axes in arrays)


def _path(T_start: Floats, turn: Floats, bend: Floats, velocity: Floats) -> HelicalPath:
    """Path with the batch axes of all its parts."""
    return HelicalPath(*_together((T_start, 2), (turn, 1), (bend, 1), (velocity, 1)))
