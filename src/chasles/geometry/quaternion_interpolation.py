"""Slerp and squad: interpolation of unit quaternions, with exact angular velocity and acceleration.

Slerp turns about a fixed axis with constant angular velocity. Squad goes from the slerp between two quaternions
towards the slerp between two control quaternions and back (K. Shoemake, Quaternion calculus and fast animation,
SIGGRAPH course notes, 1987; E. B. Dam, M. Koch, M. Lillholm, Quaternions, interpolation and animation, DIKU-TR-98/5,
1998). With fitting controls its pieces join with continuous angular velocity: see `QuaternionSpline`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.base.comparable import comparable
from chasles.engine import where
from chasles.engine.program.scalar import Real
from chasles.geometry.batched import UNIT_QUATERNION, batched
from chasles.geometry.elementary import Array, cross
from chasles.geometry.exponential_jacobians import (
    inverse_right_jacobian_rotation,
    right_jacobian_rotation,
    right_jacobian_rotation_rate,
)
from chasles.geometry.quaternion_rates import (
    VelocityFrame,
    quaternion_acceleration_from_angular_acceleration,
    quaternion_rate_from_angular_velocity,
    require_velocity_frame,
)
from chasles.geometry.quaternion_rotations import (
    quaternion_from_rotation_vector,
    relative_quaternion,
    rotate_by_quaternion,
    rotation_vector_from_quaternion,
)
from chasles.geometry.quaternions import conjugate_quaternion, log_quaternion, multiply_quaternions

_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


@comparable
class QuaternionMotion(NamedTuple):
    """A unit quaternion that moves.

    Attributes
    ----------
    quaternion
        Unit quaternion q_ab of the turning frame b seen from a, shape (..., 4).
    rate, acceleration
        Its first and second derivative, 1/s and 1/s², shape (..., 4).
    angular_velocity, angular_acceleration
        Angular velocity of b and its rate of change, rad/s and rad/s², shape (..., 3), in the requested frame.
    """

    quaternion: Array
    rate: Array
    acceleration: Array
    angular_velocity: Array
    angular_acceleration: Array


@batched(q0=UNIT_QUATERNION, q1=UNIT_QUATERNION, s=())
def slerp_quaternion(q0: Array, q1: Array, s: Real, short_way: bool = True) -> Array:
    """Unit quaternion between two others, rotated about a fixed axis in proportion to s: q0 (q0* q1)^s.

    The result is exact also for nearly equal and nearly opposite quaternions.

    Parameters
    ----------
    q0, q1
        Unit quaternions at s = 0 and s = 1, shape (..., 4).
    s
        Path parameter, shape (...). The rotation continues below 0 and above 1.
    short_way
        Whether to go to -q1, the same rotation, if that is nearer to q0: the rotation is then by at most pi. If false,
        the end is q1 itself, and the rotation is by up to 2 pi. The rotation from q0 to -q0, with any possible axis, is
        about b's x axis.

    Returns
    -------
    ndarray
        Shape (..., 4). By the short way, if the rotations differ by the angle pi, the end is q1 itself.

    Examples
    --------
    >>> slerp_quaternion([1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, -1.0], 2.0 / 3.0)
    array([ 0.5      ,  0.       ,  0.       , -0.8660254])
    """
    return turned_quaternion(q0, s * _rotation_vector_between(q0, q1, short_way))


@batched(q0=UNIT_QUATERNION, q1=UNIT_QUATERNION, s=(), s_rate=(), s_acceleration=())
def slerp_quaternion_motion(
    q0: Array,
    q1: Array,
    s: Real,
    s_rate: Real,
    s_acceleration: Real,
    short_way: bool = True,
    frame: VelocityFrame = "space",
) -> QuaternionMotion:
    """`slerp_quaternion` with its first and second derivatives, angular velocity and angular acceleration.

    Parameters
    ----------
    q0, q1
        Unit quaternions at s = 0 and s = 1, shape (..., 4).
    s, s_rate, s_acceleration
        Path parameter, and its first and second time derivatives, 1/s and 1/s², shape (...). With 1 and 0 the results
        are the derivatives with respect to s itself.
    short_way
        See `slerp_quaternion`.
    frame
        Frame of the angular velocity and acceleration: ``"space"``, the fixed frame of the quaternions, or ``"body"``,
        the rotating frame.

    Returns
    -------
    QuaternionMotion
        Exact derivatives, not differences.

    Raises
    ------
    UnknownNameError
        For another frame.

    Examples
    --------
    >>> motion = slerp_quaternion_motion([1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], 0.5, 1.0, 0.0)
    >>> motion.angular_velocity  # half a turn about z in a second
    array([0.        , 0.        , 3.14159265])
    """
    turn = _rotation_vector_between(q0, q1, short_way)
    turning = _Turning(turned_quaternion(q0, s * turn), turn, np.zeros(3))
    return _motion(turning, s_rate, s_acceleration, frame)


@batched(q0=UNIT_QUATERNION, control0=UNIT_QUATERNION, control1=UNIT_QUATERNION, q1=UNIT_QUATERNION, s=())
def squad_quaternion(q0: Array, control0: Array, control1: Array, q1: Array, s: Real, short_way: bool = True) -> Array:
    """Unit quaternion on the curve slerp(slerp(q0, q1, s), slerp(control0, control1, s), 2 s (1 - s)).

    Parameters
    ----------
    q0, q1
        Unit quaternions at s = 0 and s = 1, shape (..., 4).
    control0, control1
        Control quaternions of the two ends, shape (..., 4); see `squad_control_quaternion`. At s = 0 the angular
        velocity by s is (in the body's frame) that of the slerp from q0 to q1 plus twice the rotation vector from q0 to
        control0; at s = 1 it is that of the slerp minus twice the rotation vector from q1 to control1.
    s
        Position along the curve, 0 to 1, shape (...).
    short_way
        Whether to take the opposites of quaternions where these are nearer: of q1 and control0 to q0, of control1
        to q1. The three slerps then go to the quaternions as they stand, so that the curve has no jumps.

    Returns
    -------
    ndarray
        Shape (..., 4).

    Examples
    --------
    >>> start, end = [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]
    >>> squad_quaternion(start, start, end, end, 2.0 / 3.0)  # a slerp
    array([0.5      , 0.       , 0.       , 0.8660254])
    """
    control0, control1, q1 = _seen_from_start(q0, control0, control1, q1, short_way)
    direct = slerp_quaternion(_IDENTITY, q1, s, short_way=False)
    detour = slerp_quaternion(control0, control1, s, short_way=False)
    return multiply_quaternions(q0, slerp_quaternion(direct, detour, 2.0 * s * (1.0 - s), short_way=False))


@batched(
    q0=UNIT_QUATERNION,
    control0=UNIT_QUATERNION,
    control1=UNIT_QUATERNION,
    q1=UNIT_QUATERNION,
    s=(),
    s_rate=(),
    s_acceleration=(),
)
def squad_quaternion_motion(
    q0: Array,
    control0: Array,
    control1: Array,
    q1: Array,
    s: Real,
    s_rate: Real,
    s_acceleration: Real,
    short_way: bool = True,
    frame: VelocityFrame = "space",
) -> QuaternionMotion:
    """`squad_quaternion` with its first and second derivatives, angular velocity and angular acceleration.

    Parameters
    ----------
    q0, control0, control1, q1
        Unit quaternions, shape (..., 4); see `squad_quaternion`.
    s, s_rate, s_acceleration
        Position along the curve, 0 to 1, and its first and second derivatives by time, 1/s and 1/s², shape (...). With
        1 and 0 the results are the derivatives by s itself.
    short_way
        See `squad_quaternion`.
    frame
        Frame of the angular velocity and acceleration: ``"space"``, the fixed frame of the quaternions, or ``"body"``,
        the rotating frame.

    Returns
    -------
    QuaternionMotion
        Exact derivatives, not differences.

    Raises
    ------
    UnknownNameError
        For another frame.

    Examples
    --------
    >>> start, end = [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]
    >>> motion = squad_quaternion_motion(start, end, start, end, 0.0, 1.0, 0.0)
    >>> motion.angular_velocity  # pi + 2 pi
    array([0.        , 0.        , 9.42477796])
    """
    control0, control1, q1 = _seen_from_start(q0, control0, control1, q1, short_way)
    direct, detour = _turning_slerp(_IDENTITY, q1, s), _turning_slerp(control0, control1, s)
    distance = _logarithm(_relative(direct, detour))
    weight, weight_rate, weight_acceleration = 2.0 * s * (1.0 - s), 2.0 - 4.0 * s, -4.0
    part = _Moving(
        weight * distance.vector,
        weight_rate * distance.vector + weight * distance.rate,
        weight_acceleration * distance.vector + 2.0 * weight_rate * distance.rate + weight * distance.acceleration,
    )
    seen_from_start = _composed(direct, _exponential(part))
    return _motion(_composed(_Turning(q0, *np.zeros((2, 3))), seen_from_start), s_rate, s_acceleration, frame)


@batched(q_before=UNIT_QUATERNION, q=UNIT_QUATERNION, q_after=UNIT_QUATERNION)
def squad_control_quaternion(q_before: Array, q: Array, q_after: Array) -> Array:
    """Control quaternion of a knot, for a smooth join of squads through equally spaced knots.

    q exp(-(log(q* q_after) + log(q* q_before)) / 4) (Shoemake): the angular velocity at the knot is the mean of
    those of the slerps before and after it. For knots at other times see `QuaternionSpline`.

    Parameters
    ----------
    q_before, q, q_after
        Unit quaternions of three knots in turn, shape (..., 4). The signs of the outer ones do not matter.

    Returns
    -------
    ndarray
        Unit quaternion, shape (..., 4).

    Examples
    --------
    >>> from chasles.geometry import quaternion_from_axis_angle
    >>> knots = quaternion_from_axis_angle([0.0, 0.0, 1.0], [0.0, 1.0, 1.4])
    >>> control = squad_control_quaternion(*knots)
    >>> np.allclose(control, quaternion_from_axis_angle([0.0, 0.0, 1.0], 1.0 + 0.15))
    True
    """
    after, before = (_rotation_vector_between(q, neighbour, True) for neighbour in (q_after, q_before))
    return turned_quaternion(q, -0.25 * (after + before))


class _Turning(NamedTuple):
    """A unit quaternion with its angular velocity and acceleration by s, in the body's frame."""

    quaternion: Array
    omega: Array
    alpha: Array


class _Moving(NamedTuple):
    """A rotation vector with its first and second derivative by s."""

    vector: Array
    rate: Array
    acceleration: Array


def turned_quaternion(q: Array, rotation_vector: Array) -> Array:
    """The quaternion q (..., 4), turned by a rotation vector (..., 3) in its own axes."""
    return multiply_quaternions(q, quaternion_from_rotation_vector(rotation_vector))


def _rotation_vector_between(q0: Array, q1: Array, short_way: bool) -> Array:
    relative = relative_quaternion(q0, q1)
    vector: Array = rotation_vector_from_quaternion(relative) if short_way else 2.0 * log_quaternion(relative)[1:]
    return vector


def _seen_from_start(q0: Array, control0: Array, control1: Array, q1: Array, short_way: bool) -> tuple[Array, ...]:
    """The other quaternions seen from q0, where the vector parts of near ones keep all their digits."""
    control0, control1, q1 = (relative_quaternion(q0, q) for q in (control0, control1, q1))
    if short_way:
        control0, q1 = _nearer_sign(control0, _IDENTITY), _nearer_sign(q1, _IDENTITY)
        control1 = _nearer_sign(control1, q1)
    return control0, control1, q1


def _nearer_sign(q: Array, target: Array) -> Array:
    nearer: Array = where(q @ target < 0.0, -1.0, 1.0) * q
    return nearer


def _turning_slerp(q0: Array, q1: Array, s: Real) -> _Turning:
    turn = _rotation_vector_between(q0, q1, False)
    return _Turning(turned_quaternion(q0, s * turn), turn, np.zeros(3))


def _relative(a: _Turning, b: _Turning) -> _Turning:
    """Rotation of b seen from a."""
    q = relative_quaternion(a.quaternion, b.quaternion)
    carried = rotate_by_quaternion(conjugate_quaternion(q), a.omega)
    carried_alpha = rotate_by_quaternion(conjugate_quaternion(q), a.alpha)
    omega = b.omega - carried
    return _Turning(q, omega, b.alpha - carried_alpha + cross(omega, carried))


def _composed(a: _Turning, b: _Turning) -> _Turning:
    """Rotation of b, from that seen from a, which rotates itself."""
    carried = rotate_by_quaternion(conjugate_quaternion(b.quaternion), a.omega)
    carried_alpha = rotate_by_quaternion(conjugate_quaternion(b.quaternion), a.alpha)
    q = multiply_quaternions(a.quaternion, b.quaternion)
    return _Turning(q, carried + b.omega, carried_alpha + b.alpha + cross(carried, b.omega))


def _exponential(moving: _Moving) -> _Turning:
    """Exponential of half a moving rotation vector; its velocity is the right Jacobian of SO(3) times the rate."""
    vector, rate, acceleration = moving
    J = right_jacobian_rotation(vector)
    return _Turning(
        quaternion_from_rotation_vector(vector),
        J @ rate,
        J @ acceleration + right_jacobian_rotation_rate(vector, rate) @ rate,
    )


def _logarithm(turning: _Turning) -> _Moving:
    """Twice the logarithm of a turning quaternion: the inverse of `_exponential`."""
    vector: Array = 2.0 * log_quaternion(turning.quaternion)[1:]
    inverse_J = inverse_right_jacobian_rotation(vector)
    rate = inverse_J @ turning.omega
    acceleration = inverse_J @ (turning.alpha - right_jacobian_rotation_rate(vector, rate) @ rate)
    return _Moving(vector, rate, acceleration)


def _motion(by_s: _Turning, s_rate: Real, s_acceleration: Real, frame: VelocityFrame) -> QuaternionMotion:
    """Motion in time, from the turning by s."""
    require_velocity_frame(frame)
    q = by_s.quaternion
    omega = s_rate * by_s.omega
    alpha = s_acceleration * by_s.omega + s_rate * s_rate * by_s.alpha
    rate = quaternion_rate_from_angular_velocity(q, omega, frame="body")
    acceleration = quaternion_acceleration_from_angular_acceleration(q, omega, alpha, frame="body")
    if frame == "space":
        omega, alpha = rotate_by_quaternion(q, omega), rotate_by_quaternion(q, alpha)
    return QuaternionMotion(q, rate, acceleration, omega, alpha)
