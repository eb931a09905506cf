"""Splines through poses, and through orientations at a place, with true angular velocities and accelerations."""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine import Function, trace
from chasles.engine.program.scalar import Real
from chasles.engine.validators import choice
from chasles.geometry import elementary
from chasles.geometry.elementary import Array
from chasles.geometry.rotations import log_rotation, relative_rotation
from chasles.trajectories.cartesian.pose_continuity import require_orientations, require_smooth_frame
from chasles.trajectories.cartesian.pose_pieces import PosePieces, polynomial, polynomial_pose
from chasles.trajectories.cartesian.pose_waypoints import pose_waypoints, rotation_waypoints, waypoint, waypoint_times
from chasles.trajectories.cartesian.rotation_spline import Boundary, rotation_spline
from chasles.trajectories.cartesian.squads import roboop_squads, squad_motion_by_time, squads
from chasles.trajectories.joint.continuity import ROUNDING, require_continuity, require_waypoints
from chasles.trajectories.joint.piecewise import PiecewisePolynomial
from chasles.trajectories.joint.spline_pieces import cubic_pieces
from chasles.trajectories.joint.waypoints import bounded
from chasles.trajectories.motion import Floats, PoseMotion

Turning = Literal["smooth", "squad", "slerp", "roboop"]
_REMEDY = "make the times between waypoints more equal, or add waypoints"
TURNINGS: tuple[Turning, ...] = ("smooth", "squad", "slerp", "roboop")
BOUNDARIES: tuple[Boundary, ...] = ("clamped", "natural", "periodic")


class PoseSpline(PosePieces):
    """Motion through poses at given times: a cubic spline of the origin and a spline of rotations.

    Parameters
    ----------
    times
        Times of the waypoints: increasing, (n,), s. A batch of trajectories shares them.
    poses
        Waypoints, (*batch, n, 4, 4), n >= 2. Consecutive orientations differ by less than half a turn.
    turning
        ``"smooth"``: a rotation vector that is a cubic polynomial of time between waypoints, with continuous angular
        velocity and acceleration. ``"squad"``: Shoemake's curves of quaternions, with continuous angular velocity; see
        `chasles.geometry.QuaternionSpline`. ``"slerp"``: constant angular velocity between waypoints, about a fixed
        axis. ``"roboop"``: slerp in the first and last segment and squad in the others, with control points for equal
        times, as in ROBOOP's ``Spl_Quaternion``; the angular velocity jumps.
    boundary
        End conditions of the origin and, with ``"smooth"`` or ``"squad"``, of the orientation. ``"clamped"``: given
        velocities, by default rest. ``"natural"``: zero acceleration (squad: the velocity of the slerp at this end).
        ``"periodic"``: the first and the last pose are equal, and so are their velocities (and accelerations that are
        continuous elsewhere).
    start_twist, end_twist
        Twists of clamped ends (omega, v), world-aligned, (*batch, 6), rad/s and m/s.

    Raises
    ------
    ArgumentError
        If there are fewer than two waypoints, times do not increase, a matrix is not a pose, or the last pose of a
        periodic motion differs from the first; if times are too unequal for double precision, or end velocities are so
        high that the motion jumps. The message names the waypoint, counted from 0.
    UnknownNameError
        For another turning or boundary.

    Examples
    --------
    >>> from chasles.geometry import pose, rotation_z
    >>> poses = pose(rotation_z([0.0, 0.5, 1.5]), [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    >>> motion = PoseSpline([0.0, 1.0, 2.0], poses)
    >>> motion(1.0).pose[:3, 3]
    array([1., 0., 0.])
    >>> motion([0.0, 2.0]).twist.any()  # at rest
    np.False_
    """

    def __init__(
        self,
        times: ArrayLike,
        poses: ArrayLike,
        *,
        turning: Turning = "smooth",
        boundary: Boundary = "clamped",
        start_twist: ArrayLike | None = None,
        end_twist: ArrayLike | None = None,
    ) -> None:
        for kind, name, known in (("turning", turning, TURNINGS), ("boundary", boundary, BOUNDARIES)):
            choice(name, kind, known)
        T = pose_waypoints(poses)
        self.knots = waypoint_times(times, T.shape[-3])
        self.batch = T.shape[:-3]
        self.turning = turning
        if boundary != "clamped" and not (start_twist is None and end_twist is None):
            raise ArgumentError("start_twist and end_twist hold for the boundary 'clamped'")
        if boundary == "periodic":
            T = _closed(T)
        ends = tuple(
            self._twist(twist, name) for twist, name in ((start_twist, "start_twist"), (end_twist, "end_twist"))
        )
        R, origins = T[..., :3, :3], _origins(self.knots, T[..., :3, 3], boundary, *(end[..., 3:] for end in ends))
        rates = tuple(
            (np.swapaxes(R[..., k, :, :], -1, -2) @ end[..., :3, None])[..., 0]
            for k, end in zip((0, -1), ends, strict=True)
        )
        if turning == "smooth":
            turns = rotation_spline(self.knots, R, boundary, *rates)
        elif turning == "slerp":
            turns = np.zeros_like(origins)
            turns[..., 1, :] = log_rotation(relative_rotation(R[..., :-1, :, :], R[..., 1:, :, :]))
            turns[..., 1, :] /= np.diff(self.knots)[:, None]
        else:
            quaternions = squads(self.knots, R, boundary, *rates) if turning == "squad" else roboop_squads(R)
            frequencies = np.broadcast_to(1.0 / np.diff(self.knots), quaternions.shape[:-2])
            self.pieces = (quaternions, frequencies, origins)
        if turning in ("smooth", "slerp"):
            self.pieces = (R[..., :-1, :, :], np.concatenate([turns, origins], axis=-1))
        self._require_sound(T, boundary, ends)

    @property
    def formula(self) -> Function:
        """Formula (time since the knot, values of the piece) -> pose, twist and its rate."""
        return _squad_pose() if len(self.pieces) == 3 else polynomial_pose(4)

    def _require_sound(self, T: Floats, boundary: Boundary, ends: tuple[Floats, ...]) -> None:
        """Raise an error if the frame misses a waypoint, or its motion jumps where it should be continuous."""
        h, periodic = np.diff(self.knots), boundary == "periodic"
        positions = PiecewisePolynomial(self.knots, self.pieces[-1][..., -3:])
        gone = np.maximum(*(np.abs(twist[..., 3:]) * length for twist, length in zip(ends, h[[0, -1]], strict=True)))
        size = np.maximum(np.abs(T[..., :3, 3]).max(axis=-2), gone)[..., None, :]
        require_waypoints(positions, self.knots, T[..., :3, 3], size=size, what="axis", remedy=_REMEDY)
        require_continuity(positions, 2, size=size, periodic=periodic, what="axis", remedy=_REMEDY)
        order = {"smooth": 2, "squad": 1}.get(self.turning, 0)
        require_orientations(self, T[..., :3, :3], _REMEDY)
        require_smooth_frame(self, order, _REMEDY, turn_error=ROUNDING, periodic=periodic)

    def _twist(self, twist: ArrayLike | None, name: str) -> Floats:
        return bounded(np.zeros(6) if twist is None else twist, name, (*self.batch, 6), broadcast=True)


class OrientationSpline(PoseSpline):
    """Motion through orientations at given times, about a fixed origin.

    Parameters
    ----------
    times
        Times of the waypoints: increasing, (n,), s.
    orientations
        Rotations (*batch, n, 3, 3) or unit quaternions (*batch, n, 4), whose signs do not matter.
    origin
        Position of the origin, (*batch, 3), m.
    turning, boundary
        See `PoseSpline`.
    start_velocity, end_velocity
        Angular velocities of clamped ends in world axes, (*batch, 3), rad/s.

    Raises
    ------
    ArgumentError, UnknownNameError
        See `PoseSpline`.

    Examples
    --------
    >>> from chasles.geometry import rotation_z
    >>> turning = OrientationSpline([0.0, 2.0, 3.0], rotation_z([0.0, 1.0, 2.0]), turning="slerp")
    >>> turning([1.0, 2.5]).twist[:, 2]
    array([0.5, 1. ])
    """

    def __init__(
        self,
        times: ArrayLike,
        orientations: ArrayLike,
        *,
        origin: ArrayLike = (0.0, 0.0, 0.0),
        turning: Turning = "smooth",
        boundary: Boundary = "clamped",
        start_velocity: ArrayLike | None = None,
        end_velocity: ArrayLike | None = None,
    ) -> None:
        R = rotation_waypoints(orientations)
        place = bounded(origin, "origin", (..., 3))
        T = np.zeros((*np.broadcast_shapes(R.shape[:-3], place.shape[:-1]), *R.shape[-3:-2], 4, 4))
        T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, place[..., None, :], 1.0
        twists = [
            None
            if omega is None
            else np.pad(bounded(omega, name, (..., 3)), [(0, 0)] * (np.ndim(omega) - 1) + [(0, 3)])
            for omega, name in ((start_velocity, "start_velocity"), (end_velocity, "end_velocity"))
        ]
        super().__init__(times, T, turning=turning, boundary=boundary, start_twist=twists[0], end_twist=twists[1])


def _origins(times: Floats, p: Floats, boundary: Boundary, start: Floats, end: Floats) -> Floats:
    """Coefficients of a cubic spline, (*batch, n - 1, 4, 3), the constant ones first."""
    return cubic_pieces(times, p, ((1, start), (1, end)) if boundary == "clamped" else boundary)


def _closed(T: Floats) -> Floats:
    """Poses of which the last is the first."""
    apart = np.abs(T[..., -1, :, :] - T[..., 0, :, :]).max(axis=(-2, -1))
    open_ends = np.argwhere(apart > _CLOSED * np.maximum(1.0, np.abs(T).max(initial=0.0)))
    if len(open_ends):
        last = waypoint([*open_ends[0], T.shape[-3] - 1])
        raise ArgumentError(f"a periodic motion ends where it starts, but {last} is not the pose of waypoint 0")
    closed = T.copy()
    closed[..., -1, :, :] = T[..., 0, :, :]
    return closed


_CLOSED = 1e-9


@cache
def _squad_pose() -> Function:
    def evaluate(u: Array, quaternions: Array, frequency: Real, origins: Array) -> tuple[Array, ...]:
        R, omega, alpha = squad_motion_by_time(u, quaternions, frequency)
        p, velocity, acceleration = polynomial(u, origins)
        return elementary.pose(R, p), np.concatenate([omega, velocity]), np.concatenate([alpha, acceleration])

    inputs = {"u": (), "quaternions": (4, 4), "frequency": (), "origins": (4, 3)}
    return Function(trace(evaluate, inputs, name="squad_pose", outputs=PoseMotion._fields))
