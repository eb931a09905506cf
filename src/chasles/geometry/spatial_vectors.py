"""Twists, accelerations, wrenches and momenta as vectors of six: change of frame, cross products, power, composition.

Twists and accelerations are (angular, linear), wrenches (moment, force), momenta (angular, linear); the linear part of
the former and the angular part of the latter are about the origin of the frame, all components in its axes.

There are two accelerations. The *spatial* one is the rate of change of the twist seen from a frame at rest; it changes
frame as twists do. The linear part of the *classical* one is the acceleration of the body's point that is passing
through the origin, which an accelerometer there would feel (Featherstone, Rigid Body Dynamics Algorithms (2008),
section 2.11). Functions that need only the angular velocity of a twist take that.

Twists of motions that follow one another add up in one frame: ``twist_02 = twist_01 + twist_12``.
"""

from __future__ import annotations

import numpy as np

from chasles.engine.program.scalar import Real
from chasles.geometry import elementary
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array, cross
from chasles.geometry.projections import POSE


@batched(T_ab=POSE, twist_b=(6,))
def transform_twist(T_ab: Array, twist_b: Array) -> Array:
    """Twist in a frame a, from that in a frame b: the adjoint of the pose times the twist.

    Spatial accelerations, screw axes and columns of Jacobians follow the same law.

    Parameters
    ----------
    T_ab
        Pose of b seen from a, shape (..., 4, 4).
    twist_b
        (omega, v) about b's origin in b's axes, rad/s and m/s, shape (..., 6).

    Returns
    -------
    ndarray
        (omega, v) about a's origin in a's axes, shape (..., 6).

    Examples
    --------
    >>> T_ab = np.eye(4)
    >>> T_ab[:3, 3] = [1.0, 0.0, 0.0]
    >>> transform_twist(T_ab, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    array([ 0.,  0.,  1.,  0., -1.,  0.])
    """
    R, p = elementary.rotation_of(T_ab), elementary.translation_of(T_ab)
    omega = R @ twist_b[:3]
    return np.concatenate([omega, R @ twist_b[3:] + cross(p, omega)])


@batched(T_ab=POSE, wrench_b=(6,))
def transform_wrench(T_ab: Array, wrench_b: Array) -> Array:
    """Wrench in a frame a, from that in a frame b; momenta follow the same law.

    The power on a twist does not change when both are transformed.

    Parameters
    ----------
    T_ab
        Pose of b seen from a, shape (..., 4, 4).
    wrench_b
        (m, f), the moment about b's origin and the force, in b's axes, N·m and N, shape (..., 6).

    Returns
    -------
    ndarray
        (m, f) about a's origin in a's axes, shape (..., 6).

    Examples
    --------
    >>> T_ab = np.eye(4)
    >>> T_ab[:3, 3] = [1.0, 0.0, 0.0]
    >>> transform_wrench(T_ab, [0.0, 0.0, 0.0, 0.0, 2.0, 0.0])
    array([0., 0., 2., 0., 2., 0.])
    """
    R, p = elementary.rotation_of(T_ab), elementary.translation_of(T_ab)
    force = R @ wrench_b[3:]
    return np.concatenate([R @ wrench_b[:3] + cross(p, force), force])


@batched(T_ab=POSE, acceleration_b=(6,), omega_b=(3,))
def transform_classical_acceleration(T_ab: Array, acceleration_b: Array, omega_b: Array) -> Array:
    """Classical acceleration in a frame a, from that in a frame b; both frames are at rest.

    The two linear parts are the accelerations of two points of the body: of those that are passing through the two
    origins.

    Parameters
    ----------
    T_ab
        Pose of b seen from a, shape (..., 4, 4).
    acceleration_b
        (alpha, a) about b's origin in b's axes, rad/s² and m/s², shape (..., 6).
    omega_b
        Angular velocity in b's axes, rad/s, shape (..., 3).

    Returns
    -------
    ndarray
        (alpha, a) about a's origin in a's axes, shape (..., 6).

    Examples
    --------
    A wheel turns steadily about b's origin; its point in a's origin is drawn to the centre.

    >>> T_ab = np.eye(4)
    >>> T_ab[:3, 3] = [0.5, 0.0, 0.0]
    >>> transform_classical_acceleration(T_ab, np.zeros(6), [0.0, 0.0, 2.0])
    array([0., 0., 0., 2., 0., 0.])
    """
    R, p = elementary.rotation_of(T_ab), elementary.translation_of(T_ab)
    alpha, omega = R @ acceleration_b[:3], R @ omega_b
    return np.concatenate([alpha, R @ acceleration_b[3:] + _acceleration_at(-p, alpha, omega)])


@batched(spatial_acceleration=(6,), twist=(6,))
def classical_from_spatial_acceleration(spatial_acceleration: Array, twist: Array) -> Array:
    """Classical acceleration (alpha, a + omega x v) of a body, from the spatial one (alpha, a).

    Parameters
    ----------
    spatial_acceleration
        Rate of change of the twist, rad/s² and m/s², shape (..., 6).
    twist
        (omega, v) in the same frame, rad/s and m/s, shape (..., 6).

    Returns
    -------
    ndarray
        Angular acceleration, and acceleration of the body's point in the origin, shape (..., 6).

    Examples
    --------
    A steady turn about an axis through (1, 0, 0) has a constant twist; the point in the origin moves on a circle.

    >>> classical_from_spatial_acceleration(np.zeros(6), [0.0, 0.0, 2.0, 0.0, -2.0, 0.0])
    array([0., 0., 0., 4., 0., 0.])
    """
    alpha, a = spatial_acceleration[:3], spatial_acceleration[3:]
    return np.concatenate([alpha, a + cross(twist[:3], twist[3:])])


@batched(classical_acceleration=(6,), twist=(6,))
def spatial_from_classical_acceleration(classical_acceleration: Array, twist: Array) -> Array:
    """Spatial acceleration (alpha, a - omega x v) of a body, from the classical one (alpha, a).

    Parameters
    ----------
    classical_acceleration
        Angular acceleration, and acceleration of the body's point in the origin, rad/s² and m/s², shape (..., 6).
    twist
        (omega, v) in the same frame, rad/s and m/s, shape (..., 6).

    Returns
    -------
    ndarray
        Rate of change of the twist, shape (..., 6).

    Examples
    --------
    >>> spatial_from_classical_acceleration([0.0, 0.0, 0.0, 4.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0, -2.0, 0.0])
    array([0., 0., 0., 0., 0., 0.])
    """
    alpha, a = classical_acceleration[:3], classical_acceleration[3:]
    return np.concatenate([alpha, a - cross(twist[:3], twist[3:])])


@batched(twist=(6,), point=(3,))
def point_velocity(twist: Array, point: Array) -> Array:
    """Velocity v + omega x r of the point r of a body.

    Parameters
    ----------
    twist
        (omega, v), rad/s and m/s, shape (..., 6).
    point
        Position r, m, shape (..., 3).

    Returns
    -------
    ndarray
        m/s, shape (..., 3).

    Examples
    --------
    >>> point_velocity([0.0, 0.0, 2.0, 1.0, 0.0, 0.0], [0.5, 0.0, 0.0])
    array([1., 1., 0.])
    """
    return twist[3:] + cross(twist[:3], point)


@batched(classical_acceleration=(6,), omega=(3,), point=(3,))
def point_acceleration(classical_acceleration: Array, omega: Array, point: Array) -> Array:
    """Acceleration a + alpha x r + omega x (omega x r) of the point r of a body.

    Parameters
    ----------
    classical_acceleration
        (alpha, a), rad/s² and m/s², shape (..., 6).
    omega
        Angular velocity, rad/s, shape (..., 3).
    point
        Position r, m, shape (..., 3).

    Returns
    -------
    ndarray
        m/s², shape (..., 3).

    Examples
    --------
    >>> point_acceleration(np.zeros(6), [0.0, 0.0, 2.0], [0.5, 0.0, 0.0])
    array([-2.,  0.,  0.])
    """
    return classical_acceleration[3:] + _acceleration_at(point, classical_acceleration[:3], omega)


@batched(force=(3,), point=(3,))
def wrench_from_force(force: Array, point: Array) -> Array:
    """Wrench (r x f, f) of a force f that acts at the point r.

    Parameters
    ----------
    force
        N, shape (..., 3).
    point
        Position r, m, shape (..., 3).

    Returns
    -------
    ndarray
        (m, f), N·m and N, shape (..., 6).

    Examples
    --------
    >>> wrench_from_force([0.0, 2.0, 0.0], [0.5, 0.0, 0.0])
    array([0., 0., 1., 0., 2., 0.])
    """
    return np.concatenate([cross(point, force), force])


@batched(twist=(6,), wrench=(6,))
def power(twist: Array, wrench: Array) -> Real:
    """Power m . omega + f . v of a wrench on a body that moves with a twist, both in one frame.

    Parameters
    ----------
    twist
        (omega, v), rad/s and m/s, shape (..., 6).
    wrench
        (m, f), N·m and N, shape (..., 6).

    Returns
    -------
    ndarray
        W, shape (...).

    Examples
    --------
    >>> power([0.0, 0.0, 2.0, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 4.0, 0.0, 0.0])
    np.float64(10.0)
    """
    return twist @ wrench


@batched(twist=(6,), wrench=(6,))
def wrench_cross(twist: Array, wrench: Array) -> Array:
    """Rate of change of a wrench or momentum that is carried along by a twist: the dual of `twist_cross`.

    Featherstone writes it v x* f (Rigid Body Dynamics Algorithms (2008), section 2.9).

    Parameters
    ----------
    twist
        (omega, v), rad/s and m/s, shape (..., 6).
    wrench
        (m, f) in the same frame, shape (..., 6).

    Returns
    -------
    ndarray
        (omega x m + v x f, omega x f), shape (..., 6).

    Examples
    --------
    >>> wrench_cross([0.0, 0.0, 2.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 3.0, 0.0])
    array([ 0.,  0.,  3., -6.,  0.,  0.])
    """
    (omega, v), (moment, force) = (twist[:3], twist[3:]), (wrench[:3], wrench[3:])
    return np.concatenate([cross(omega, moment) + cross(v, force), cross(omega, force)])


@batched(twist_01=(6,), twist_12=(6,))
def coriolis_acceleration(twist_01: Array, twist_12: Array) -> Array:
    """Coriolis part of the classical acceleration of a body 2 that moves relative to a moving body 1.

    Parameters
    ----------
    twist_01
        Twist of a body 1 seen from the body 0, rad/s and m/s, shape (..., 6).
    twist_12
        Twist of the body 2 seen from the body 1, in the same frame, shape (..., 6).

    Returns
    -------
    ndarray
        (omega_01 x omega_12, 2 omega_01 x v_12), rad/s² and m/s², shape (..., 6).

    Examples
    --------
    >>> coriolis_acceleration([0.0, 0.0, 3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    array([0., 0., 0., 0., 6., 0.])
    """
    omega_01 = twist_01[:3]
    return np.concatenate([cross(omega_01, twist_12[:3]), 2.0 * cross(omega_01, twist_12[3:])])


@batched(acceleration_01=(6,), acceleration_12=(6,), twist_01=(6,), twist_12=(6,))
def compose_classical_accelerations(
    acceleration_01: Array, acceleration_12: Array, twist_01: Array, twist_12: Array
) -> Array:
    """Classical acceleration of a body 2 seen from a body 0, by way of a body 1: the two and the Coriolis acceleration.

    Parameters
    ----------
    acceleration_01, acceleration_12
        Classical accelerations of 1 seen from 0 and of 2 seen from 1, in one frame, rad/s² and m/s², shape (..., 6).
    twist_01, twist_12
        The twists of the same motions in the same frame, rad/s and m/s, shape (..., 6).

    Returns
    -------
    ndarray
        Shape (..., 6).

    Examples
    --------
    A slider moves outwards at 1 m/s on a disc that turns at 3 rad/s; this is its point in the centre of the disc.

    >>> turning, sliding = [0.0, 0.0, 3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    >>> compose_classical_accelerations(np.zeros(6), np.zeros(6), turning, sliding)
    array([0., 0., 0., 0., 6., 0.])
    """
    return acceleration_01 + acceleration_12 + coriolis_acceleration(twist_01, twist_12)


@batched(acceleration_01=(6,), acceleration_12=(6,), twist_01=(6,), twist_12=(6,))
def compose_spatial_accelerations(
    acceleration_01: Array, acceleration_12: Array, twist_01: Array, twist_12: Array
) -> Array:
    """Spatial acceleration of a body 2 seen from a body 0, by way of a body 1: the two and twist_01 x twist_12.

    Parameters
    ----------
    acceleration_01, acceleration_12
        Spatial accelerations of 1 seen from 0 and of 2 seen from 1 (the rate of change that an observer on 1 sees in
        the twist), in one frame, rad/s² and m/s², shape (..., 6).
    twist_01, twist_12
        The twists of the same motions in the same frame, rad/s and m/s, shape (..., 6).

    Returns
    -------
    ndarray
        Shape (..., 6).

    Examples
    --------
    >>> turning, sliding = [0.0, 0.0, 3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    >>> compose_spatial_accelerations(np.zeros(6), np.zeros(6), turning, sliding)
    array([0., 0., 0., 0., 3., 0.])
    """
    return acceleration_01 + acceleration_12 + elementary.twist_cross(twist_01, twist_12)


def _acceleration_at(r: Array, alpha: Array, omega: Array) -> Array:
    """Acceleration alpha x r + omega x (omega x r) of the point r relative to the origin."""
    return cross(alpha, r) + cross(omega, cross(omega, r))
