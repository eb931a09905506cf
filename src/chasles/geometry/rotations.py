"""Rotation matrices: exponential and logarithm, axis and angle, composition, the rotation nearest to a matrix."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from chasles.base.comparable import comparable
from chasles.engine import cos, generally, minimum, sin, where
from chasles.engine.program.scalar import Real
from chasles.engine.symbols import is_symbol
from chasles.geometry.batched import UNIT_VECTOR, batched
from chasles.geometry.elementary import Array, cross, skew
from chasles.geometry.projections import ROTATION, quaternion_multiple
from chasles.geometry.quotients import angle_quotient, cosine_quotient, sine_quotient
from chasles.geometry.vectors import norm, normalize


@comparable
class AxisAngle(NamedTuple):
    """Axis (..., 3), a unit vector, and angle (...) in rad of a rotation."""

    axis: Array
    angle: Real


@batched(rotation_vector=(3,))
def exp_rotation(rotation_vector: Array) -> Array:
    """Rotation from a rotation vector: the matrix exponential of its skew matrix.

    Rodrigues' formula (Lynch & Park, Modern Robotics, equation 3.51), exact for small angles, too.

    Parameters
    ----------
    rotation_vector
        Unit vector of the axis times the angle in rad, shape (..., 3); any angle.

    Returns
    -------
    ndarray
        Rotation R, shape (..., 3, 3).

    Examples
    --------
    >>> exp_rotation([0.0, 0.0, np.pi / 2]).round(12)
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    s = rotation_vector @ rotation_vector
    return skew_polynomial(rotation_vector, sine_quotient(s), cosine_quotient(s))


@batched(R=ROTATION)
def log_rotation(R: Array) -> Array:
    """Rotation vector of a rotation: the inverse of `exp_rotation`.

    The result has full accuracy at every angle, from 1e-300 to pi, because it is computed from the quaternion.

    Parameters
    ----------
    R
        Rotation, shape (..., 3, 3). For any other matrix the result is meaningless; see `project_rotation`.

    Returns
    -------
    ndarray
        Unit vector of the axis times the angle in rad, shape (..., 3), not longer than pi, up to rounding. At the angle
        pi, the vector with a positive component of largest magnitude. NaN for reflections, which are not near any
        rotation.

    Examples
    --------
    >>> log_rotation([[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]) / np.pi
    array([0., 0., 1.])
    """
    q = quaternion_multiple(R)
    vector = q[1:]
    side = generally(q[0] < 0.0, -1.0, 1.0)  # q and -q are the same rotation; w >= 0 means at most half a turn
    side = generally(cross(R[0], R[1]) @ R[2] < 0.0, np.nan, side)
    rotation_vector: Array = (2.0 * side * angle_quotient(vector @ vector, side * q[0])) * vector
    return rotation_vector


@batched(angle=())
def rotation_x(angle: Real) -> Array:
    """Rotation about the x axis.

    Parameters
    ----------
    angle
        Angle in rad, shape (...).

    Returns
    -------
    ndarray
        Rotation R, shape (..., 3, 3).

    Examples
    --------
    >>> (rotation_x(np.pi / 2) @ [0.0, 1.0, 0.0]).round(12)
    array([0., 0., 1.])
    """
    c, s = cos(angle), sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


@batched(angle=())
def rotation_y(angle: Real) -> Array:
    """Rotation about the y axis.

    Parameters
    ----------
    angle
        Angle in rad, shape (...).

    Returns
    -------
    ndarray
        Rotation R, shape (..., 3, 3).

    Examples
    --------
    >>> (rotation_y(np.pi / 2) @ [0.0, 0.0, 1.0]).round(12)
    array([1., 0., 0.])
    """
    c, s = cos(angle), sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


@batched(angle=())
def rotation_z(angle: Real) -> Array:
    """Rotation about the z axis.

    Parameters
    ----------
    angle
        Angle in rad, shape (...).

    Returns
    -------
    ndarray
        Rotation R, shape (..., 3, 3).

    Examples
    --------
    >>> (rotation_z(np.pi / 2) @ [1.0, 0.0, 0.0]).round(12)
    array([0., 1., 0.])
    """
    c, s = cos(angle), sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


@batched(axis=UNIT_VECTOR, angle=())
def rotation_from_axis_angle(axis: Array, angle: Real) -> Array:
    """Rotation about an axis through the origin (Lynch & Park, Modern Robotics, equation 3.51).

    Parameters
    ----------
    axis
        Unit vector, shape (..., 3). For other lengths the result is not a rotation.
    angle
        Angle in rad, shape (...).

    Returns
    -------
    ndarray
        Rotation R, shape (..., 3, 3).

    Examples
    --------
    >>> (rotation_from_axis_angle([0.0, 0.6, 0.8], np.pi) @ [0.0, 0.6, 0.8]).round(12) + 0.0
    array([0. , 0.6, 0.8])
    """
    c, s = cos(0.5 * angle), sin(0.5 * angle)  # 1 - cos(angle) = 2 s² cancels nothing
    return skew_polynomial(axis, 2.0 * (s * c), 2.0 * (s * s))


@batched(R=ROTATION)
def axis_angle_from_rotation(R: Array) -> AxisAngle:
    """Axis and angle of a rotation: the inverse of `rotation_from_axis_angle`.

    Parameters
    ----------
    R
        Rotation, shape (..., 3, 3); see `log_rotation`.

    Returns
    -------
    AxisAngle
        ``axis``, a unit vector of shape (..., 3), and ``angle`` in [0, pi] rad, shape (...). The identity has the angle
        0 and, by convention, the x axis.

    Examples
    --------
    >>> axis, angle = axis_angle_from_rotation([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> axis, angle.round(12)
    (array([0., 0., 1.]), np.float64(1.570796326795))
    """
    rotation_vector = log_rotation(R)
    angle = angle_of_rotation_vector(rotation_vector)
    if is_symbol(angle):
        return AxisAngle(rotation_vector / angle, angle)
    is_identity = angle <= 0.0
    x, y, z = rotation_vector
    return AxisAngle(normalize(np.array([where(is_identity, 1.0, x), y, z])), angle)


@batched(R_ab=ROTATION, R_bc=ROTATION)
def compose_rotations(R_ab: Array, R_bc: Array) -> Array:
    """Rotation of c seen from a: the product of two rotations.

    Parameters
    ----------
    R_ab, R_bc
        Rotations, shape (..., 3, 3).

    Returns
    -------
    ndarray
        R_ac, shape (..., 3, 3).

    Examples
    --------
    >>> compose_rotations(rotation_z(0.1), rotation_z(0.2))[1, 0]  # sin(0.3)
    np.float64(0.295...)
    """
    return R_ab @ R_bc


@batched(R_ab=ROTATION)
def inverse_rotation(R_ab: Array) -> Array:
    """Rotation of a seen from b: the transpose.

    Parameters
    ----------
    R_ab
        Rotation, shape (..., 3, 3).

    Returns
    -------
    ndarray
        R_ba, shape (..., 3, 3).

    Examples
    --------
    >>> inverse_rotation(rotation_z(0.1))[0, 1]  # sin(0.1)
    np.float64(0.0998...)
    """
    return R_ab.T


@batched(R_ab=ROTATION, p_b=(3,))
def rotate(R_ab: Array, p_b: Array) -> Array:
    """Components in a of a vector given in b.

    Parameters
    ----------
    R_ab
        Rotation, shape (..., 3, 3).
    p_b
        Vector, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (..., 3).

    Examples
    --------
    >>> rotate([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    array([[ 0.,  1.,  0.],
           [-1.,  0.,  0.]])
    """
    return R_ab @ p_b


@batched(R=ROTATION)
def rotation_angle(R: Array) -> Real:
    """Angle in [0, pi] of a rotation, rad, exact near 0 and near pi.

    Parameters
    ----------
    R
        Rotation, shape (..., 3, 3); see `log_rotation`.

    Returns
    -------
    ndarray
        Shape (...). Its derivative at the identity, which has none, is taken as 0.

    Examples
    --------
    >>> rotation_angle(rotation_x(-1e-12))
    np.float64(1e-12)
    """
    return angle_of_rotation_vector(log_rotation(R))


@batched(R_ab=ROTATION, R_ac=ROTATION)
def relative_rotation(R_ab: Array, R_ac: Array) -> Array:
    """Rotation R_bc of a frame c seen from b, both given seen from a.

    Parameters
    ----------
    R_ab, R_ac
        Rotations, shape (..., 3, 3).

    Returns
    -------
    ndarray
        R_bc = R_abᵀ R_ac, shape (..., 3, 3).

    Examples
    --------
    >>> relative_rotation(rotation_x(0.1), rotation_x(0.3))[2, 1]  # sin(0.2)
    np.float64(0.198...)
    """
    return R_ab.T @ R_ac


@batched(R_ab=ROTATION, R_ac=ROTATION)
def angle_between_rotations(R_ab: Array, R_ac: Array) -> Real:
    """Angle in [0, pi] of the rotation that takes one orientation to the other, rad.

    Parameters
    ----------
    R_ab, R_ac
        Rotations, shape (..., 3, 3).

    Returns
    -------
    ndarray
        Shape (...). Its derivative where the two agree is taken as 0.

    Examples
    --------
    >>> angle_between_rotations(rotation_x(0.1), rotation_x(0.3)).round(12)
    np.float64(0.2)
    """
    return rotation_angle(relative_rotation(R_ab, R_ac))


def angle_of_rotation_vector(rotation_vector: Array) -> Real:
    """Return the length of a logarithm, a plain formula: rounding must not take the angle of half a turn beyond pi."""
    angle = norm(rotation_vector)
    return angle if is_symbol(angle) else minimum(angle, math.pi)


def skew_polynomial(a: Array, first: Real, second: Real) -> Array:
    """Return I + first [a] + second [a]², a plain formula; [a] is the skew matrix of a."""
    A = skew(a)
    polynomial: Array = np.eye(3) + first * A + second * (A @ A)
    return polynomial
