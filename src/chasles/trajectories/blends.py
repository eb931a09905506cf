"""Straight segments from waypoint to waypoint, with corners rounded by blends."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.errors import ArgumentError, UnknownNameError
from chasles.geometry.rotations import exp_rotation, log_rotation, relative_rotation
from chasles.trajectories.cartesian_limits import CartesianLimits, least_ratio
from chasles.trajectories.pose_pieces import PiecewisePose
from chasles.trajectories.pose_waypoints import Numbers, numbers, pose_waypoints, waypoint, waypoint_times

Blend = Literal["parabolic", "quartic", "sextic"]
#: Integral of the share of the new velocity over the blend, x from 0 to 1: coefficients of the powers of x.
BLENDS: dict[Blend, tuple[float, ...]] = {
    "parabolic": (0.0, 0.0, 0.5),
    "quartic": (0.0, 0.0, 0.0, 1.0, -0.5),
    "sextic": (0.0, 0.0, 0.0, 0.0, 2.5, -3.0, 1.0),
}
#: Largest acceleration in a blend, times its duration, over the change of velocity.
_PEAKS: dict[Blend, float] = {"parabolic": 1.0, "quartic": 1.5, "sextic": 1.875}
_ROUNDING = 1e-9
_MOST_ROUNDS = 1000


class _Course(NamedTuple):
    """When the corners are rounded: the middle of each blend and its duration, (*batch, n), s."""

    middles: Numbers
    blend_times: Numbers


class BlendedWaypoints(PiecewisePose):
    """From waypoint to waypoint on straight lines with constant velocity; blends round the corners, start and stop.

    On a segment the origin runs along the line while the frame turns about a fixed axis, both evenly. In a blend the
    velocity goes over from that of the segment before to that of the segment after, so that the frame passes its
    waypoint nearby; place and rotation vector (from the waypoint's orientation) are polynomials there. The first
    and the last waypoint are reached exactly, at rest.

    Parameters
    ----------
    poses
        Waypoints, (*batch, n, 4, 4), n >= 2. Two in turn that are the same make the frame wait.
    times
        When the frame starts, passes nearest each waypoint, and stops: increasing, (n,), s.
    limits
        Instead of times: the velocity of each segment is the highest that these limits allow, if need be lower so that
        the blends have room. The motion starts at 0 s.
    blend_time
        Duration of the blends, one number or (n,), s.
    blend_radius
        Instead of a time: no blend begins or ends farther than this from its waypoint, one number or (n,), m. With
        limits but neither of the two, the blends are as short as the limits of acceleration allow.
    blend
        ``"parabolic"``: constant acceleration in blends, with jumps at their ends. ``"quartic"``: continuous
        acceleration. ``"sextic"``: continuous jerk too.

    Raises
    ------
    ArgumentError
        If blends overlap, waypoints coincide where limits should give the time between them, times do not increase, or
        poses are none; the message names the waypoint, counted from 0.
    UnknownNameError
        For another blend.

    Notes
    -----
    Paul, Robot Manipulators (1981), chapter 5; Kunz and Stilman, Turning paths into trajectories using parabolic
    blends (2011), for durations from limits.

    Examples
    --------
    >>> poses = np.tile(np.eye(4), (3, 1, 1))
    >>> poses[1, 0, 3] = poses[2, 0, 3] = poses[2, 1, 3] = 1.0  # a corner at (1, 0)
    >>> motion = BlendedWaypoints(poses, [0.0, 2.0, 4.0], blend_time=0.5)
    >>> motion.knots
    array([0.  , 0.5 , 1.75, 2.25, 3.5 , 4.  ])
    >>> motion(2.0).pose[:2, 3].round(4)  # it cuts the corner
    array([0.9643, 0.0357])
    """

    def __init__(
        self,
        poses: ArrayLike,
        times: ArrayLike | None = None,
        *,
        limits: CartesianLimits | None = None,
        blend_time: ArrayLike | None = None,
        blend_radius: ArrayLike | None = None,
        blend: Blend = "parabolic",
    ) -> None:
        if blend not in BLENDS:
            raise UnknownNameError("blend", str(blend), BLENDS)
        self.blend = blend
        T = pose_waypoints(poses)
        count = T.shape[-3]
        if (times is None) == (limits is None):
            raise ArgumentError("give either times or limits")
        if blend_time is not None and blend_radius is not None:
            raise ArgumentError("give either blend_time or blend_radius")
        time = None if blend_time is None else _positive(blend_time, "blend_time", count)
        radius = None if blend_radius is None else _positive(blend_radius, "blend_radius", count)
        moves = _moves(T)
        if times is not None:
            course = _timed(waypoint_times(times, count), moves, time, radius)
        else:
            assert limits is not None
            course = _limited(limits, moves, time, radius, blend)
        _require_room(course)
        super().__init__(*_pieces(T, moves, course, blend))
        if limits is not None:
            self._stretch(limits)

    def _stretch(self, limits: CartesianLimits) -> None:
        """Slow everything down until blends of rotations, whose acceleration is not that of the vector, keep limits."""


def _moves(T: Numbers) -> Numbers:
    """Rotation vectors, in the axes of the frame, and displacements from each waypoint to the next, (..., n - 1, 6)."""
    turns = log_rotation(relative_rotation(T[..., :-1, :3, :3], T[..., 1:, :3, :3]))
    return np.concatenate([turns, np.diff(T[..., :3, 3], axis=-2)], axis=-1)
