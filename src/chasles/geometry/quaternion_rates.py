"""Rates of unit quaternions, and the angular velocities and accelerations that they stand for.

For q = q_ab of a frame b that turns as seen from a frame a: q' = ½ ω_a q = ½ q ω_b, where ω_a and ω_b are the
coordinates in a and in b of b's angular velocity, taken as quaternions (0, ω).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from chasles.base.errors import UnknownNameError
from chasles.engine.program.scalar import Real
from chasles.geometry.batched import UNIT_QUATERNION, batched
from chasles.geometry.elementary import Array
from chasles.geometry.quaternion_rotations import quaternion_from_rotation_vector
from chasles.geometry.quaternions import conjugate_quaternion, multiply_quaternions

VelocityFrame = Literal["space", "body"]
VELOCITY_FRAMES: tuple[VelocityFrame, ...] = ("space", "body")
"""Frames in which an angular velocity is given: the one at rest, and the one that turns."""


@batched(q_ab=UNIT_QUATERNION, omega=(3,))
def quaternion_rate_from_angular_velocity(q_ab: Array, omega: Array, frame: VelocityFrame = "space") -> Array:
    """Rate of change of a unit quaternion.

    Parameters
    ----------
    q_ab
        Unit quaternion of the turning frame b seen from a, shape (..., 4).
    omega
        Angular velocity of b relative to a, rad/s, shape (..., 3).
    frame
        ``"space"``: omega has its coordinates in a; ``"body"``: in b.

    Returns
    -------
    ndarray
        1/s, shape (..., 4).

    Raises
    ------
    UnknownNameError
        For another frame.

    Examples
    --------
    >>> quaternion_rate_from_angular_velocity([1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0]) + 0.0
    array([0., 0., 0., 1.])
    """
    return _multiply_from(frame, np.array([0.0, *(0.5 * omega)]), q_ab)


@batched(q_ab=UNIT_QUATERNION, rate=(4,))
def angular_velocity_from_quaternion_rate(q_ab: Array, rate: Array, frame: VelocityFrame = "space") -> Array:
    """Angular velocity of a frame whose unit quaternion changes at a given rate.

    Parameters
    ----------
    q_ab
        Unit quaternion of the turning frame b seen from a, shape (..., 4).
    rate
        Its rate of change, 1/s, shape (..., 4). A part along q_ab, which would change the length, is ignored.
    frame
        Frame of the result: ``"space"`` for coordinates in a, ``"body"`` for coordinates in b.

    Returns
    -------
    ndarray
        Angular velocity of b relative to a, rad/s, shape (..., 3).

    Raises
    ------
    UnknownNameError
        For another frame.

    Examples
    --------
    >>> angular_velocity_from_quaternion_rate([0.0, 0.0, 0.0, 1.0], [-1.0, 0.0, 0.0, 0.0])
    array([0., 0., 2.])
    """
    return 2.0 * _multiply_from(frame, rate, conjugate_quaternion(q_ab))[1:]


@batched(q_ab=UNIT_QUATERNION)
def quaternion_rate_matrix(q_ab: Array, frame: VelocityFrame = "space") -> Array:
    """Matrix G that maps angular velocities to rates of a unit quaternion: rate = G omega.

    Its columns are orthogonal, of length ½, so that omega = 4 Gᵀ rate.

    Parameters
    ----------
    q_ab
        Unit quaternion of the turning frame b seen from a, shape (..., 4).
    frame
        Frame of omega: ``"space"`` for coordinates in a, ``"body"`` for coordinates in b.

    Returns
    -------
    ndarray
        Shape (..., 4, 3).

    Raises
    ------
    UnknownNameError
        For another frame.

    Examples
    --------
    >>> quaternion_rate_matrix([1.0, 0.0, 0.0, 0.0]) + 0.0
    array([[0. , 0. , 0. ],
           [0.5, 0. , 0. ],
           [0. , 0.5, 0. ],
           [0. , 0. , 0.5]])
    """
    return np.array([_multiply_from(frame, 0.5 * unit, q_ab) for unit in np.eye(4)[1:]]).T


@batched(q_ab=UNIT_QUATERNION, omega=(3,), alpha=(3,))
def quaternion_acceleration_from_angular_acceleration(
    q_ab: Array, omega: Array, alpha: Array, frame: VelocityFrame = "space"
) -> Array:
    """Second derivative of a unit quaternion: q'' = ½ α q - ¼ |ω|² q, or ½ q α - ¼ |ω|² q in the body's frame.

    Parameters
    ----------
    q_ab
        Unit quaternion of the turning frame b seen from a, shape (..., 4).
    omega, alpha
        Angular velocity of b relative to a and its derivative, rad/s and rad/s², shape (..., 3).
    frame
        ``"space"``: both have their coordinates in a; ``"body"``: in b.

    Returns
    -------
    ndarray
        1/s², shape (..., 4).

    Raises
    ------
    UnknownNameError
        For another frame.

    Examples
    --------
    >>> quaternion_acceleration_from_angular_acceleration([1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0], [4.0, 0.0, 0.0])
    array([-1.,  2.,  0.,  0.])
    """
    return _multiply_from(frame, np.array([0.0, *(0.5 * alpha)]), q_ab) - 0.25 * (omega @ omega) * q_ab


@batched(q_ab=UNIT_QUATERNION, acceleration=(4,))
def angular_acceleration_from_quaternion_acceleration(
    q_ab: Array, acceleration: Array, frame: VelocityFrame = "space"
) -> Array:
    """Angular acceleration of a frame, from the second derivative of its unit quaternion.

    Parameters
    ----------
    q_ab
        Unit quaternion of the turning frame b seen from a, shape (..., 4).
    acceleration
        Its second derivative, 1/s², shape (..., 4). The part along q_ab, which belongs to the angular velocity (see
        `quaternion_acceleration_from_angular_acceleration`), does not matter, so the rate is not needed.
    frame
        Frame of the result: ``"space"`` for coordinates in a, ``"body"`` for coordinates in b.

    Returns
    -------
    ndarray
        Rate of change of the angular velocity of b relative to a, rad/s², shape (..., 3).

    Raises
    ------
    UnknownNameError
        For another frame.

    Examples
    --------
    >>> angular_acceleration_from_quaternion_acceleration([1.0, 0.0, 0.0, 0.0], [-1.0, 2.0, 0.0, 0.0])
    array([4., 0., 0.])
    """
    return 2.0 * _multiply_from(frame, acceleration, conjugate_quaternion(q_ab))[1:]


@batched(q_ab=UNIT_QUATERNION, omega=(3,), duration=())
def integrate_quaternion(q_ab: Array, omega: Array, duration: Real, frame: VelocityFrame = "space") -> Array:
    """Unit quaternion of a frame after a rotation at constant angular velocity; exact for any duration.

    Parameters
    ----------
    q_ab
        Unit quaternion of the turning frame b seen from a at the beginning, shape (..., 4).
    omega
        Angular velocity of b relative to a, rad/s, shape (..., 3).
    duration
        Duration of the rotation, s, shape (...); may be negative.
    frame
        ``"space"``: omega is constant in its coordinates in a; ``"body"``: in b. A constant one is constant in both.

    Returns
    -------
    ndarray
        Shape (..., 4). It goes on continuously, so after one turn it is the opposite of q_ab. Its length is that of
        q_ab but for rounding, which many steps may add up: see `normalize_quaternion`.

    Raises
    ------
    UnknownNameError
        For another frame.

    Examples
    --------
    >>> integrate_quaternion([1.0, 0.0, 0.0, 0.0], [0.0, 0.0, np.pi], 1.0).round(12)  # half a turn about z
    array([0., 0., 0., 1.])
    """
    turn = quaternion_from_rotation_vector(duration * omega)
    return _multiply_from(frame, turn, q_ab)


def require_velocity_frame(frame: str) -> None:
    """Refuse names that are no frames of angular velocities."""
    if frame not in VELOCITY_FRAMES:
        raise UnknownNameError("frame", frame, VELOCITY_FRAMES)


def _multiply_from(frame: VelocityFrame, change: Array, q: Array) -> Array:
    """Product with the change on the left for one that is seen from space, on the right for one seen from the body."""
    require_velocity_frame(frame)
    product: Array = multiply_quaternions(change, q) if frame == "space" else multiply_quaternions(q, change)
    return product
