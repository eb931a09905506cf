"""Unit quaternions (w, x, y, z), scalar first, as rotations: to and from matrices, axis and angle, rotation vectors.

The unit quaternion q_ab of a frame b seen from a frame a maps coordinates in b to coordinates in a, as the rotation
R_ab does; q and -q are the same rotation. The product is Hamilton's, so that q_ac = q_ab q_bc.
"""

from __future__ import annotations

import numpy as np

from chasles.engine import atan2, cos, sign, sin, sqrt, where
from chasles.engine.program.scalar import Real
from chasles.geometry import elementary
from chasles.geometry.batched import UNIT_QUATERNION, UNIT_VECTOR, batched
from chasles.geometry.elementary import Array
from chasles.geometry.projections import ROTATION, quaternion_multiple
from chasles.geometry.quaternions import conjugate_quaternion, exp_quaternion, multiply_quaternions
from chasles.geometry.quotients import angle_quotient
from chasles.geometry.rotations import AxisAngle
from chasles.geometry.vectors import euclidean_norm


@batched(q_ab=UNIT_QUATERNION, p_b=(3,))
def rotate_by_quaternion(q_ab: Array, p_b: Array) -> Array:
    """Coordinates in a of a vector given in b: the vector part of q (0, p) q*.

    Parameters
    ----------
    q_ab
        Unit quaternion, shape (..., 4). The result is meaningless for other lengths: it is not the scaled vector.
    p_b
        Vector, shape (..., 3).

    Returns
    -------
    ndarray
        p_a, shape (..., 3).

    Examples
    --------
    >>> rotate_by_quaternion([0.0, 0.0, 0.0, 1.0], [1.0, 2.0, 3.0])  # half a turn about z
    array([-1., -2.,  3.])
    """
    w, v = q_ab[0], q_ab[1:]
    twice = 2.0 * elementary.cross(v, p_b)
    p_a: Array = p_b + w * twice + elementary.cross(v, twice)
    return p_a


@batched(q_ab=UNIT_QUATERNION)
def rotation_from_quaternion(q_ab: Array) -> Array:
    """Rotation of a unit quaternion.

    Parameters
    ----------
    q_ab
        Unit quaternion, shape (..., 4). A length of 1 + ε gives a matrix at a distance of about 3 ε from a rotation.

    Returns
    -------
    ndarray
        R_ab, shape (..., 3, 3).

    Examples
    --------
    >>> rotation_from_quaternion([0.5, 0.5, 0.5, 0.5])
    array([[0., 0., 1.],
           [1., 0., 0.],
           [0., 1., 0.]])
    """
    w, x, y, z = q_ab
    x2, y2, z2 = 2.0 * x, 2.0 * y, 2.0 * z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, yz, zx = x * y2, y * z2, z * x2
    wx, wy, wz = w * x2, w * y2, w * z2
    return np.array(
        [
            [1.0 - (yy + zz), xy - wz, zx + wy],
            [xy + wz, 1.0 - (xx + zz), yz - wx],
            [zx - wy, yz + wx, 1.0 - (xx + yy)],
        ]
    )


@batched(R_ab=ROTATION)
def quaternion_from_rotation(R_ab: Array) -> Array:
    """Unit quaternion of a rotation: the `canonical_quaternion`, with w >= 0. Exact at every angle.

    Parameters
    ----------
    R_ab
        Rotation, shape (..., 3, 3). Any other matrix also gives a unit quaternion, but not that of the nearest
        rotation: project it first (see `project_rotation`).

    Returns
    -------
    ndarray
        q_ab, shape (..., 4).

    Examples
    --------
    >>> quaternion_from_rotation(np.diag([-1.0, 1.0, -1.0]))  # half a turn about y
    array([0., 0., 1., 0.])
    """
    q = quaternion_multiple(R_ab)
    q_ab: Array = q * (where(q[0] < 0.0, -1.0, 1.0) / sqrt(q @ q))
    return q_ab


@batched(axis=UNIT_VECTOR, angle=())
def quaternion_from_axis_angle(axis: Array, angle: Real) -> Array:
    """Unit quaternion (cos(angle/2), axis sin(angle/2)) of the rotation about an axis.

    Parameters
    ----------
    axis
        Unit vector, shape (..., 3).
    angle
        Angle of any size, rad, shape (...). A full turn gives (-1, 0, 0, 0), two turns (1, 0, 0, 0).

    Returns
    -------
    ndarray
        Shape (..., 4).

    Examples
    --------
    >>> quaternion_from_axis_angle([0.0, 0.0, 1.0], np.pi / 3)
    array([0.8660254, 0.       , 0.       , 0.5      ])
    """
    return np.array([cos(0.5 * angle), *(sin(0.5 * angle) * axis)])


@batched(q=UNIT_QUATERNION)
def axis_angle_from_quaternion(q: Array) -> AxisAngle:
    """Axis and angle of the rotation of a unit quaternion.

    Parameters
    ----------
    q
        Quaternion, shape (..., 4). Its length does not matter.

    Returns
    -------
    AxisAngle
        ``axis``, a unit vector of shape (..., 3), and ``angle`` in [0, pi] rad, shape (...): the shorter of the two
        rotations. The identity has the angle 0 and, by convention, the x axis; at the angle pi the axis is the vector
        part of q.

    Examples
    --------
    >>> axis_angle_from_quaternion([0.0, 0.0, 0.0, -1.0])
    AxisAngle(axis=array([ 0.,  0., -1.]), angle=np.float64(3.141592653589793))
    """
    w, v = q[0], q[1:]
    length = euclidean_norm(v)
    is_identity = length <= 0.0
    axis = where(is_identity, np.array([1.0, 0.0, 0.0]), v / where(is_identity, 1.0, length))
    return AxisAngle(where(w == 0.0, 1.0, sign(w)) * axis, 2.0 * atan2(length, abs(w)))


@batched(rotation_vector=(3,))
def quaternion_from_rotation_vector(rotation_vector: Array) -> Array:
    """Unit quaternion of the rotation about a vector by its length: exp(0, rotation_vector / 2).

    Parameters
    ----------
    rotation_vector
        Axis times angle, rad, shape (..., 3). The angle may be of any size.

    Returns
    -------
    ndarray
        Shape (..., 4). Angles between pi and 3 pi give w < 0.

    Examples
    --------
    >>> quaternion_from_rotation_vector([0.0, 0.0, np.pi / 3])
    array([0.8660254, 0.       , 0.       , 0.5      ])
    """
    return exp_quaternion(np.array([0.0, *(0.5 * rotation_vector)]))


@batched(q=UNIT_QUATERNION)
def rotation_vector_from_quaternion(q: Array) -> Array:
    """Rotation vector, axis times angle, of a unit quaternion, by the shorter way.

    It is exact at every angle, with its derivatives.

    Parameters
    ----------
    q
        Quaternion, shape (..., 4). Its length does not matter.

    Returns
    -------
    ndarray
        Rotation vector, rad, shape (..., 3), of a length in [0, pi], up to rounding. At the angle pi, w = 0, where two
        opposite vectors are possible, it is along the vector part of q.

    Examples
    --------
    >>> rotation_vector_from_quaternion([0.8, 0.0, 0.0, -0.6])
    array([ 0.       ,  0.       , -1.28700222])
    """
    w, v = q[0], q[1:]
    rotation_vector: Array = where(w < 0.0, -2.0, 2.0) * angle_quotient(v @ v, abs(w)) * v
    return rotation_vector


@batched(q=UNIT_QUATERNION)
def quaternion_angle(q: Array) -> Real:
    """Angle in [0, pi] of the rotation of a unit quaternion, rad.

    The angle has full accuracy near 0 and near pi, where the arc cosine of w loses half of the digits.

    Parameters
    ----------
    q
        Quaternion, shape (..., 4). Its length does not matter.

    Returns
    -------
    ndarray
        Shape (...).

    Examples
    --------
    >>> quaternion_angle([-1.0, 0.0, 5e-201, 0.0])
    np.float64(1e-200)
    """
    return 2.0 * atan2(euclidean_norm(q[1:]), abs(q[0]))


@batched(q_ab=UNIT_QUATERNION, q_ac=UNIT_QUATERNION)
def relative_quaternion(q_ab: Array, q_ac: Array) -> Array:
    """Quaternion q_bc of a frame c seen from b, both given seen from a: the product q_ab* q_ac.

    Its vector part is that of q_ab* (q_ac - q_ab), or of q_ab* (q_ac + q_ab) if the two are on opposite sides, so that
    it has full accuracy even for nearly equal rotations.

    Parameters
    ----------
    q_ab, q_ac
        Unit quaternions, shape (..., 4).

    Returns
    -------
    ndarray
        Shape (..., 4); w < 0 if the angle between the two quaternions is more than a right one.

    Examples
    --------
    >>> relative_quaternion([0.6, 0.8, 0.0, 0.0], [0.6, 0.8, 0.0, 1e-30])
    array([1.e+00, 0.e+00, 8.e-31, 6.e-31])
    """
    cosine = q_ab @ q_ac
    near_difference = q_ac - where(cosine < 0.0, -1.0, 1.0) * q_ab
    return np.array([cosine, *multiply_quaternions(conjugate_quaternion(q_ab), near_difference)[1:]])


@batched(p=UNIT_QUATERNION, q=UNIT_QUATERNION)
def angle_between_quaternions(p: Array, q: Array) -> Real:
    """Angle in [0, pi] of the rotation that takes one unit quaternion to the other, rad.

    The angle has full accuracy near 0 and near pi.

    Parameters
    ----------
    p, q
        Unit quaternions, shape (..., 4). The signs do not matter.

    Returns
    -------
    ndarray
        Shape (...).

    Examples
    --------
    >>> angle_between_quaternions([0.6, 0.8, 0.0, 0.0], [-0.6, -0.8, 0.0, -5e-31])
    np.float64(1e-30)
    """
    return quaternion_angle(relative_quaternion(p, q))
