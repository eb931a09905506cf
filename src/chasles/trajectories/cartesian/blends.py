"""Straight segments from waypoint to waypoint, with corners rounded by blends."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine import Function, trace
from chasles.engine.validators import choice, reals
from chasles.geometry.elementary import Array
from chasles.geometry.rotations import log_rotation, relative_rotation
from chasles.geometry.vectors import norm
from chasles.trajectories.cartesian.limits import CartesianLimits, least_ratio
from chasles.trajectories.cartesian.pose_continuity import require_smooth_frame
from chasles.trajectories.cartesian.pose_pieces import PiecewisePose, polynomial, turning
from chasles.trajectories.cartesian.pose_waypoints import pose_waypoints, waypoint, waypoint_times
from chasles.trajectories.joint.continuity import JUMP, MISS
from chasles.trajectories.joint.durations import INSTANTS, SHORTEST, checked_durations
from chasles.trajectories.joint.waypoints import bounded
from chasles.trajectories.motion import Floats

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
#: Rounds of making room for blends; each halves what is missing.
_MOST_ROUNDS = 200
#: At how many times their angular acceleration is examined, and how much larger it may be between them.
_SAMPLES = 33
_BETWEEN_SAMPLES = 1.0 + 1e-3


class _Course(NamedTuple):
    """When the corners are rounded: the middle of each blend and its duration, (*batch, n), s."""

    middles: Floats
    blend_times: Floats


class BlendedWaypoints(PiecewisePose):
    """Straight lines between waypoints at constant velocity, with blends at the corners, start and stop.

    On a segment the origin moves along the line while the frame rotates about a fixed axis, both at constant rate. In a
    blend the velocity changes from that of the previous segment to that of the next, so that the frame passes near its
    waypoint; position and rotation vector (relative to the waypoint's orientation) are polynomials there. The first and
    the last waypoint are reached exactly, at rest.

    Parameters
    ----------
    poses
        Waypoints, (*batch, n, 4, 4), n >= 2. Two equal waypoints in succession make the frame wait.
    times
        Times at which the frame starts, passes nearest each waypoint, and stops: increasing, (n,), s.
    limits
        Limits in place of times: the velocity of each segment is the highest that they allow, reduced if the blends
        would not fit. The motion starts at 0 s.
    blend_time
        Duration of the blends, a scalar or (n,), s.
    blend_radius
        Radius in place of a blend time: no blend begins or ends farther than this from its waypoint, a scalar or (n,),
        m. With limits but neither blend time nor radius, the blends are as short as the acceleration limits allow.
    blend
        ``"parabolic"``: constant acceleration in blends, with jumps at the blend ends. ``"quartic"``: continuous
        acceleration. ``"sextic"``: continuous jerk too.

    Raises
    ------
    ArgumentError
        If blends overlap, consecutive waypoints coincide while limits are given, times do not increase, a matrix is not
        a pose, or blends cannot be resolved at late times in double precision; the message names the waypoint, counted
        from 0.
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
        choice(blend, "blend", BLENDS)
        self.blend = blend
        T = pose_waypoints(poses)
        count = T.shape[-3]
        if blend_time is not None and blend_radius is not None:
            raise ArgumentError("give either blend_time or blend_radius")
        durations = None if blend_time is None else checked_durations(blend_time, "blend_time")
        time, radius = _positive(durations, "blend_time", count), _positive(blend_radius, "blend_radius", count)
        moves = _moves(T)
        if times is not None and limits is None:
            course = _timed(waypoint_times(times, count), moves, time, radius)
            pieces = _pieces(T, moves, course, blend)
        elif limits is not None and times is None:
            course = _fastest(limits, moves, time, radius, _PEAKS[blend])
            knots, _, coefficients = _pieces(T, moves, course, blend)
            pieces = _pieces(T, moves, _slowed(course, knots, coefficients, limits), blend)
        else:
            raise ArgumentError("give either times or limits")
        super().__init__(*pieces)
        self._require_sound(T)

    def _require_sound(self, T: Floats) -> None:
        """Raise an error if the frame does not start and end at its waypoints, or its motion jumps between pieces."""
        size = np.abs(T[..., :3, 3]).max(axis=(-2, -1))[..., None]
        remedy = "make blends longer, or give segments more time"
        order = 1 if self.blend == "parabolic" else 2
        time_error = float(np.spacing(np.abs(self.knots).max(initial=0.0)))
        require_smooth_frame(self, order, remedy, size=size, time_error=time_error)
        for k, time in ((0, self.start_time), (-1, self.end_time)):
            miss = np.abs(self(time).pose - T[..., k, :, :]).max(axis=(-2, -1))
            if not (miss <= MISS * np.maximum(1.0, size[..., 0])).all():
                raise ArgumentError(
                    f"the frame misses its {'last' if k else 'first'} waypoint by {miss.max():.3g}; {remedy}"
                )


def _moves(T: Floats) -> Floats:
    """Rotation vectors, in the axes of the frame, and displacements from each waypoint to the next, (..., n - 1, 6)."""
    turns = log_rotation(relative_rotation(T[..., :-1, :3, :3], T[..., 1:, :3, :3]))
    return np.concatenate([turns, np.diff(T[..., :3, 3], axis=-2)], axis=-1)


def _timed(times: Floats, moves: Floats, time: Floats | None, radius: Floats | None) -> _Course:
    """Course at given times; the first and the last blend lie between their waypoints' times."""
    durations = np.diff(times)
    if time is None:
        if radius is None:
            raise ArgumentError("give blend_time or blend_radius")
        way = np.linalg.norm(moves[..., 3:], axis=-1)
        way[..., 0] += np.where(way[..., 0] > 0.0, radius[0], 0.0)  # what is lost by starting slowly
        way[..., -1] += np.where(way[..., -1] > 0.0, radius[-1], 0.0)
        time = _times_of_radius(radius, way / durations)
    middles = np.broadcast_to(times, time.shape).copy()
    middles[..., 0] += 0.5 * time[..., 0]
    middles[..., -1] -= 0.5 * time[..., -1]
    _require_room(np.diff(middles), time)
    return _Course(middles, time)


def _fastest(
    limits: CartesianLimits, moves: Floats, time: Floats | None, radius: Floats | None, peak: float
) -> _Course:
    """Course with the highest velocities on the segments, and the shortest blends, that limits allow."""
    limit = {name: np.asarray(value)[..., None] for name, value in vars(limits).items()}
    angles, lengths = np.linalg.norm(moves[..., :3], axis=-1), np.linalg.norm(moves[..., 3:], axis=-1)
    still = np.argwhere((angles == 0.0) & (lengths == 0.0))
    if len(still):
        *batch, k = still[0]
        raise ArgumentError(
            f"{waypoint([*batch, k])} and the next coincide, so that limits give no time between them; leave one out, "
            "or give times"
        )
    speeds = least_ratio((limit["linear_velocity"], lengths), (limit["angular_velocity"], angles))
    if np.isinf(speeds).any():
        *_, k = np.argwhere(np.isinf(speeds))[0]
        raise ArgumentError(f"nothing limits the velocity from waypoint {k} to the next: see CartesianLimits")
    with np.errstate(divide="ignore", over="ignore"):
        durations = checked_durations(1.0 / speeds, "the duration of a segment at its highest velocity")
    for _ in range(_MOST_ROUNDS):
        if time is not None:
            blend_times = np.broadcast_to(time, (*durations.shape[:-1], time.shape[-1]))
        elif radius is not None:
            blend_times = _times_of_radius(radius, lengths / durations)
        else:
            rates = _differences(moves / durations[..., None])
            turning, moving = np.linalg.norm(rates[..., :3], axis=-1), np.linalg.norm(rates[..., 3:], axis=-1)
            accelerations = (limit["linear_acceleration"], moving), (limit["angular_acceleration"], turning)
            with np.errstate(divide="ignore", over="ignore"):
                times = peak / least_ratio(*accelerations)
            blend_times = checked_durations(np.where(times < SHORTEST, 0.0, times), "the time of a blend", zero=True)
            if not times.any():
                raise ArgumentError("nothing limits the acceleration; give blend_time or blend_radius")
        needed = 0.5 * (blend_times[..., 1:] + blend_times[..., :-1])
        crowded = needed > durations * (1.0 + _ROUNDING)
        if not crowded.any() or radius is not None:
            break
        durations = np.where(crowded, np.sqrt(needed * durations) if time is None else needed, durations)
    _require_room(durations, blend_times)
    middles = np.cumsum(np.concatenate([0.5 * blend_times[..., :1], durations], axis=-1), axis=-1)
    return _Course(middles, blend_times)


def _differences(rates: Floats) -> Floats:
    """Changes of velocity at the waypoints, from rest to rest, (..., n, 6)."""
    rest = np.zeros_like(rates[..., :1, :])
    return np.diff(np.concatenate([rest, rates, rest], axis=-2), axis=-2)


def _times_of_radius(radius: Floats, speeds: Floats) -> Floats:
    """Durations of blends that keep within a radius at the speeds of the segments before and after, (..., n)."""
    none = np.zeros_like(speeds[..., :1])
    fastest = np.maximum(np.concatenate([none, speeds], axis=-1), np.concatenate([speeds, none], axis=-1))
    still = np.argwhere(fastest == 0.0)
    if len(still):
        raise ArgumentError(
            f"{waypoint(still[0])}: the frame's origin rests there, so blend_radius gives no time; give blend_time"
        )
    with np.errstate(over="ignore"):
        return checked_durations(2.0 * radius / fastest, "the time of a blend of this radius")


def _require_room(durations: Floats, blend_times: Floats) -> None:
    needed = 0.5 * (blend_times[..., 1:] + blend_times[..., :-1])
    crowded = np.argwhere(needed > durations * (1.0 + _ROUNDING))
    if len(crowded):
        index = tuple(crowded[0])
        raise ArgumentError(
            f"the blends of {waypoint(index)} and of the next overlap: from the middle of one to that of the other are "
            f"{np.broadcast_to(durations, needed.shape)[index]:.4g} s, and their halves take {needed[index]:.4g} s; "
            "make them shorter or give the segment more time"
        )


def _pieces(T: Floats, moves: Floats, course: _Course, blend: Blend) -> tuple[Floats, Floats, Floats]:
    """Knots, reference rotations and coefficients: blend, segment, blend, …, blend."""
    middles, times = course
    ends = np.stack([middles - 0.5 * times, middles + 0.5 * times], axis=-1)
    knots = ends.reshape(*middles.shape[:-1], 2 * middles.shape[-1])
    knots = np.maximum.accumulate(knots, axis=-1)  # segments that the blends use up end where they begin, exactly
    batch = np.broadcast_shapes(T.shape[:-3], middles.shape[:-1])
    # What counts from here on is what rounding has left of the durations: so one piece ends where the next begins.
    times, segments = np.diff(knots)[..., ::2], np.diff(knots)[..., 1::2]
    durations = segments + 0.5 * (times[..., :-1] + times[..., 1:])
    _require_resolution(knots, durations)
    rates = moves / durations[..., None]
    rest = np.zeros_like(rates[..., :1, :])
    before, after = np.concatenate([rest, rates], axis=-2), np.concatenate([rates, rest], axis=-2)
    _require_blends(knots, times, before, after)
    count = T.shape[-3]
    coefficients = np.zeros((*batch, 2 * count - 1, len(BLENDS[blend]), 6))
    coefficients[..., 0, 3:] = np.repeat(T[..., :3, 3], 2, axis=-2)[..., :-1, :]
    half = 0.5 * times[..., None]
    coefficients[..., ::2, 0, :] -= half * before
    coefficients[..., 1::2, 0, :] += half[..., :-1, :] * rates
    coefficients[..., ::2, 1, :] = before
    coefficients[..., 1::2, 1, :] = rates
    unit = np.where(half > 0.0, 2.0 * half, 1.0)
    for power, share in enumerate(BLENDS[blend]):
        coefficients[..., ::2, power, :] += share * (after - before) * unit ** (1 - power)
    rotations = np.repeat(T[..., :3, :3], 2, axis=-3)[..., :-1, :, :]
    if knots.ndim > 1:
        knots = np.broadcast_to(knots, (*batch, knots.shape[-1]))
    return knots, np.broadcast_to(rotations, (*batch, 2 * count - 1, 3, 3)), coefficients


def _require_resolution(knots: Floats, durations: Floats) -> None:
    """Raise an error if segments are so short, at times so late, that double precision loses them."""
    resolution = np.broadcast_to(np.spacing(np.abs(knots).max(axis=-1, keepdims=True)), durations.shape)
    lost = np.argwhere(durations < INSTANTS * resolution)
    if len(lost):
        index = tuple(lost[0])
        raise ArgumentError(
            f"from {waypoint(index)} to the next it takes {durations[index]:.3g} s, at times that double precision "
            f"tells apart by {resolution[index]:.3g} s only; make segments more alike, or count from a later start"
        )


def _require_blends(knots: Floats, times: Floats, before: Floats, after: Floats) -> None:
    """Raise an error if a blend that changes the velocity is lost in double precision."""
    change, size = (np.linalg.norm(part, axis=-1) for part in (after - before, np.abs(after) + np.abs(before)))
    resolution = np.spacing(np.abs(knots).max(axis=-1, keepdims=True))
    lost = np.argwhere((times < INSTANTS * resolution) & (change > JUMP * size))
    if len(lost):
        index = tuple(lost[0])
        raise ArgumentError(
            f"the blend at {waypoint(index)} takes {np.broadcast_to(times, change.shape)[index]:.3g} s, at times that "
            f"double precision tells apart by {np.broadcast_to(resolution, change.shape)[index]:.3g} s only; make it "
            "longer, or count times from a later start"
        )


def _slowed(course: _Course, knots: Floats, coefficients: Floats, limits: CartesianLimits) -> _Course:
    """The same course, slowed down where the pieces of its blends exceed the limits of acceleration.

    The acceleration of rotations is not that of their vectors, and blends of a given radius do not know the limits.
    """
    durations = np.diff(knots)[..., ::2, None]
    turning, moving = _accelerations(coefficients.shape[-2])(
        np.linspace(0.0, 1.0, _SAMPLES) * durations, coefficients[..., ::2, None, :, :]
    )
    with np.errstate(over="ignore"):
        excess = np.maximum(
            turning.max(axis=(-2, -1)) * _BETWEEN_SAMPLES / np.asarray(limits.angular_acceleration),
            moving.max(axis=(-2, -1)) / np.asarray(limits.linear_acceleration),  # largest at a sample
        )
    factor = np.where(excess > 1.0 + _ROUNDING, np.sqrt(excess), 1.0)[..., None]
    checked_durations(factor * course.middles[..., -1:], "the duration that keeps the limits")
    return _Course(factor * course.middles, factor * course.blend_times)


@cache
def _accelerations(order: int) -> Function:
    """(time since the knot, coefficients) -> magnitudes of the angular and the linear acceleration."""

    def evaluate(u: Array, coefficients: Array) -> tuple[Any, Any]:
        x, rate, second = polynomial(u, coefficients)
        return norm(turning(x[:3], rate[:3], second[:3])[1]), norm(second[3:])

    inputs = {"u": (), "coefficients": (order, 6)}
    return Function(trace(evaluate, inputs, name="accelerations", outputs=["angular", "linear"]))


def _positive(values: ArrayLike | None, name: str, count: int) -> Floats | None:
    """One positive number for each waypoint."""
    if values is None:
        return None
    return bounded(reals(values, name, (count,), broadcast=True, above=0), name)
