"""Quaternions of squads, the curves of Shoemake, between rotations at given times."""

from __future__ import annotations

import numpy as np

from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array
from chasles.geometry.quaternion_interpolation import squad_quaternion_motion, turned_quaternion
from chasles.geometry.quaternion_rotations import (
    quaternion_from_rotation,
    rotation_from_quaternion,
)
from chasles.geometry.quaternion_spline import velocity_between
from chasles.geometry.rotations import log_rotation, relative_rotation
from chasles.trajectories.cartesian.rotation_spline import Boundary
from chasles.trajectories.motion import Floats


def squads(times: Floats, R: Floats, boundary: Boundary, start: Floats, end: Floats) -> Floats:
    """Squads with continuous angular velocity: the one of the parabola through three waypoints, or a lower one.

    Where a segment is several times as long as its neighbour, the parabola's velocity may ask for a control more than a
    whole turn away; the velocity is lowered there until the control is near enough.

    Parameters
    ----------
    times, R
        Waypoints: (n,), s, and (*batch, n, 3, 3).
    boundary, start, end
        See `rotation_spline`; at natural ends the angular velocity is that of the slerp.

    Returns
    -------
    ndarray
        First quaternion, its control, the control of the last one and the last one of each segment,
        (*batch, n - 1, 4, 4).
    """
    h, turns = np.diff(times)[:, None], _turns(R)
    slopes = turns / h
    inner = velocity_between(h[:-1], h[1:], slopes[..., :-1, :], slopes[..., 1:, :])
    first, last = slopes[..., :1, :], slopes[..., -1:, :]
    if boundary == "clamped":
        first, last = start[..., None, :], end[..., None, :]
    elif boundary == "periodic":
        first = last = velocity_between(h[-1:], h[:1], last, first)
    velocities = np.concatenate([first, inner, last], axis=-2)
    # At its ends a squad's angular velocity is that of the slerp, and twice the way to the control, see its docstring.
    leaving, arriving = 0.5 * (h * velocities[..., :-1, :] - turns), 0.5 * (turns - h * velocities[..., 1:, :])
    return _segments(R, turns, leaving, arriving)


def roboop_squads(R: Floats) -> Floats:
    """Segments of ROBOOP's ``Spl_Quaternion``: slerp in the first and the last, squad with equal times in the others.

    Parameters
    ----------
    R
        Rotations, (*batch, n, 3, 3).

    Returns
    -------
    ndarray
        Result of `squads`, shape (*batch, n - 1, 4, 4).
    """
    turns = _turns(R)
    controls = -0.25 * (turns[..., 1:, :] - turns[..., :-1, :])  # log(q* after) and log(q* before) = -turn before
    none = np.zeros_like(turns[..., :1, :])
    leaving = np.concatenate([none, controls], axis=-2)
    arriving = np.concatenate([controls, none], axis=-2)
    leaving[..., [0, -1], :] = arriving[..., [0, -1], :] = 0.0
    return _segments(R, turns, leaving, arriving)


def squad_motion_by_time(u: Array, quaternions: Array, frequency: Real) -> tuple[Array, Array, Array]:
    """Rotation, angular velocity and acceleration in space; a plain formula.

    Parameters
    ----------
    u
        Time since the beginning of the segment, s.
    quaternions
        Quaternions of the segment, (4, 4); see `squads`.
    frequency
        One by the segment's duration, 1/s.
    """
    motion = squad_quaternion_motion(*quaternions, u * frequency, frequency, 0.0, short_way=False)
    return rotation_from_quaternion(motion.quaternion), motion.angular_velocity, motion.angular_acceleration


def _turns(R: Floats) -> Floats:
    return np.asarray(log_rotation(relative_rotation(R[..., :-1, :, :], R[..., 1:, :, :])))


def _segments(R: Floats, turns: Floats, leaving: Floats, arriving: Floats) -> Floats:
    """Quaternions of the segments; controls lie at these rotation vectors from the waypoints, in the frame's axes."""
    first = np.asarray(quaternion_from_rotation(R[..., :-1, :, :]))
    last = turned_quaternion(first, turns)  # on the side of the first one
    return np.stack([first, turned_quaternion(first, leaving), turned_quaternion(last, arriving), last], axis=-2)
