"""Screws and twists: every rigid displacement rotates about an axis and translates along it (Chasles' theorem)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from chasles.base.comparable import comparable
from chasles.engine import where
from chasles.engine.program.scalar import Real
from chasles.geometry import elementary
from chasles.geometry.batched import UNIT_VECTOR, batched
from chasles.geometry.elementary import Array, skew
from chasles.geometry.projections import POSE
from chasles.geometry.rigid_motions import exp_pose, log_pose
from chasles.geometry.rotations import angle_of_rotation_vector
from chasles.geometry.vectors import norm, normalize, vee


@batched(T_ab=POSE)
def adjoint(T_ab: Array) -> Array:
    """Adjoint of a pose: it maps a twist (omega, v) in b to the same twist in a.

    A wrench (m, f) in a maps to b by its transpose (Lynch & Park, Modern Robotics, sections 3.3.2 and 3.4).

    Parameters
    ----------
    T_ab
        Pose, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 6, 6).

    Examples
    --------
    >>> from chasles.geometry import pose
    >>> adjoint(pose(np.eye(3), [1.0, 0.0, 0.0])) @ [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    array([ 0.,  0.,  1.,  0., -1.,  0.])
    """
    return elementary.adjoint(T_ab)


@batched(a=(6,), b=(6,))
def twist_cross(a: Array, b: Array) -> Array:
    """Rate of change of the twist b carried along by the twist a: the Lie bracket ad_a b.

    It is (omega_a x omega_b, omega_a x v_b + v_a x omega_b) (Lynch & Park, Modern Robotics, section 8.2).

    Parameters
    ----------
    a, b
        Twists (omega, v) in one frame, shape (..., 6).

    Returns
    -------
    ndarray
        Shape (..., 6).

    Examples
    --------
    >>> twist_cross([0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    array([0., 0., 0., 0., 1., 0.])
    """
    return elementary.twist_cross(a, b)


@batched(a=(6,))
def twist_cross_matrix(a: Array) -> Array:
    """Matrix ad_a of the Lie bracket: twist_cross_matrix(a) @ b = twist_cross(a, b).

    Its negative transpose is the matrix for wrenches (m, f) carried along by the twist a.

    Parameters
    ----------
    a
        Twist (omega, v), shape (..., 6).

    Returns
    -------
    ndarray
        Shape (..., 6, 6).

    Examples
    --------
    >>> twist_cross_matrix([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]) @ [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    array([0., 0., 0., 0., 1., 0.])
    """
    turning, moving, zero = elementary.skew(a[:3]), elementary.skew(a[3:]), np.zeros((3, 3))
    return np.concatenate([np.concatenate([turning, zero], axis=1), np.concatenate([moving, turning], axis=1)])


@comparable
class Screw(NamedTuple):
    """A rotation about an axis together with a translation along it; or, in a unit of time, a twist.

    A pure translation has the direction of its translation for an axis, through the origin, angle 0 and infinite pitch.
    The identity has a null axis, and everything else 0.

    Attributes
    ----------
    axis
        Unit vector along the axis, shape (..., 3).
    point
        The point of the axis that is nearest to the origin, m, shape (..., 3).
    pitch
        Translation per radian of rotation, m/rad, shape (...).
    angle
        Rotation angle, rad, shape (...); never negative.
    translation
        Translation along the axis, m, shape (...): the pitch times the angle where there is one.
    """

    axis: Array
    point: Array
    pitch: Real
    angle: Real
    translation: Real


@batched(twist=(6,))
def screw_from_twist(twist: Array) -> Screw:
    """Screw of a twist: the axis of its rotation and translation.

    It is exact at every magnitude, down to subnormal numbers.

    Parameters
    ----------
    twist
        (omega, v), shape (..., 6). For a velocity read the angle and translation of the screw as rates.

    Returns
    -------
    Screw
        Axis, point, pitch, angle and translation; see the class for pure translations and null twists. As a twist
        that turns less and less goes to a pure translation, the point and pitch grow beyond all bounds.

    Examples
    --------
    >>> screw = screw_from_twist([0.0, 0.0, 0.5, 0.0, -1.0, 0.1])
    >>> screw.axis, screw.point + 0.0
    (array([0., 0., 1.]), array([2., 0., 0.]))
    >>> float(screw.pitch), float(screw.angle), float(screw.translation)
    (0.2, 0.5, 0.1)
    """
    omega, v = twist[:3], twist[3:]
    angle, speed = norm(omega), norm(v)
    # A comparison with NaN fails, so NaN takes the branches that compute with it.
    translates, rests = angle <= 0.0, speed <= 0.0
    axis = where(translates, where(rests, 0.0, normalize(v)), normalize(omega))
    divisor = where(translates, 1.0, angle)
    slide = axis @ v
    return Screw(
        axis=axis,
        point=where(translates, 0.0, elementary.cross(axis, v) / divisor),
        pitch=where(translates, where(speed > 0.0, math.inf, speed), slide / divisor),
        angle=angle,
        translation=where(translates, speed, slide),
    )


@batched(axis=UNIT_VECTOR, point=(3,), angle=(), translation=())
def twist_from_screw(axis: Array, point: Array, angle: Real, translation: Real) -> Array:
    """Twist of a rotation about an axis and a translation along it: the inverse of `screw_from_twist`.

    Parameters
    ----------
    axis
        Unit vector along the axis, shape (..., 3).
    point
        Any point of the axis, m, shape (..., 3).
    angle
        Rotation angle (or its rate), rad, shape (...).
    translation
        Translation along the axis (or its rate), m, shape (...).

    Returns
    -------
    ndarray
        (omega, v), shape (..., 6).

    Examples
    --------
    >>> twist_from_screw([0.0, 0.0, 1.0], [2.0, 0.0, 0.0], 0.5, 0.1)
    array([ 0. ,  0. ,  0.5,  0. , -1. ,  0.1])
    """
    omega = angle * axis
    return np.concatenate([omega, elementary.cross(point, omega) + translation * axis])


@batched(axis=UNIT_VECTOR, point=(3,), pitch=())
def screw_axis(axis: Array, point: Array, pitch: Real) -> Array:
    """Screw axis as a twist of unit size (Lynch & Park, Modern Robotics, section 3.3.2).

    Parameters
    ----------
    axis
        Unit vector along the axis, shape (..., 3).
    point
        Any point of the axis, m, shape (..., 3).
    pitch
        Translation per radian of rotation, m/rad, shape (...). An infinite pitch is a pure translation.

    Returns
    -------
    ndarray
        (omega, v), shape (..., 6): omega is the axis and v = point x axis + pitch axis; for an infinite pitch omega is
        0 and v is the axis, or its opposite if the pitch is minus infinity.

    Examples
    --------
    >>> screw_axis([0.0, 0.0, 1.0], [2.0, 0.0, 0.0], [0.2, np.inf])
    array([[ 0. ,  0. ,  1. ,  0. , -2. ,  0.2],
           [ 0. ,  0. ,  0. ,  0. ,  0. ,  1. ]])
    """
    slides_up, slides_down = pitch >= math.inf, pitch <= -math.inf
    turning = where(slides_up | slides_down, 0.0, 1.0)
    slide = where(slides_up, 1.0, where(slides_down, -1.0, pitch))
    return np.concatenate([turning * axis, turning * elementary.cross(point, axis) + slide * axis])


@batched(T=POSE)
def screw_from_pose(T: Array) -> Screw:
    """Screw that takes the identity to a pose.

    Parameters
    ----------
    T
        Pose, shape (..., 4, 4).

    Returns
    -------
    Screw
        Axis, point, pitch, angle in [0, pi] and translation; see the class for pure translations and the identity. At
        the angle pi, where two opposite axes are possible, the axis is that of `log_rotation`.

    Examples
    --------
    A quarter turn about the vertical through (1, 1), sliding by 0.1:

    >>> T = np.array([[0.0, -1.0, 0.0, 2.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.1], [0.0, 0.0, 0.0, 1.0]])
    >>> screw = screw_from_pose(T)
    >>> screw.axis, screw.point.round(12) + 0.0, float(screw.translation)
    (array([0., 0., 1.]), array([1., 1., 0.]), 0.1)
    """
    twist = log_pose(T)
    screw: Screw = screw_from_twist(twist)
    return screw._replace(angle=angle_of_rotation_vector(twist[:3]))


@batched(axis=UNIT_VECTOR, point=(3,), angle=(), translation=())
def pose_from_screw(axis: Array, point: Array, angle: Real, translation: Real) -> Array:
    """Pose after a rotation about an axis and a translation along it: the inverse of `screw_from_pose`.

    Parameters
    ----------
    axis
        Unit vector along the axis, shape (..., 3).
    point
        Any point of the axis, m, shape (..., 3).
    angle
        Rotation angle, rad, shape (...).
    translation
        Translation along the axis, m, shape (...).

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Examples
    --------
    >>> pose_from_screw([0.0, 0.0, 1.0], [1.0, 0.0, 0.0], np.pi, 0.1)[:3, 3].round(12) + 0.0
    array([2. , 0. , 0.1])
    """
    return exp_pose(twist_from_screw(axis, point, angle, translation))


@batched(twist=(6,))
def velocity_matrix(twist: Array) -> Array:
    """Velocity matrix W of a twist; in the same way L of a screw axis and dW/dt of a spatial acceleration.

    Parameters
    ----------
    twist
        (omega, v), rad/s and m/s, shape (..., 6).

    Returns
    -------
    ndarray
        ``[[skew(omega), v], [0, 0]]``, shape (..., 4, 4).

    Examples
    --------
    >>> velocity_matrix([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    array([[ 0., -3.,  2.,  4.],
           [ 3.,  0., -1.,  5.],
           [-2.,  1.,  0.,  6.],
           [ 0.,  0.,  0.,  0.]])
    """
    return motion_matrix(skew(twist[:3]), twist[3:])


@batched(W=(4, 4))
def twist_from_velocity_matrix(W: Array) -> Array:
    """Twist of a velocity matrix; in the same way screw axis of L and spatial acceleration of dW/dt.

    Parameters
    ----------
    W
        Shape (..., 4, 4). A symmetric part of the upper left block is ignored.

    Returns
    -------
    ndarray
        (omega, v), rad/s and m/s, shape (..., 6).

    Examples
    --------
    >>> twist_from_velocity_matrix(velocity_matrix([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    array([1., 2., 3., 4., 5., 6.])
    """
    return np.concatenate([vee(W[:3, :3]), W[:3, 3]])


def motion_matrix(angular: Array, linear: Array) -> Array:
    """Matrix of a motion from its blocks (single samples)."""
    return np.array([[*row, v] for row, v in zip(angular, linear, strict=True)] + [[0.0, 0.0, 0.0, 0.0]])
