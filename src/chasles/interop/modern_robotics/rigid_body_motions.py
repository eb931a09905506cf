"""Rigid-body motions and twists: the part of the book's chapter 3 about SE(3), and `ad` of chapter 8.

Twists are (omega, v). Matrices of se(3) hold omega as a skew-symmetric matrix, v as their last column, and a last row
of zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.engine import where
from chasles.geometry import elementary, rigid_motions, screws, vectors
from chasles.geometry.batched import UNIT_VECTOR, Kind, batched
from chasles.geometry.elementary import Array
from chasles.geometry.exponential_jacobians import inverse_left_jacobian_rotation
from chasles.geometry.projections import POSE, ROTATION
from chasles.interop.modern_robotics.rotations import SO3_ALGEBRA, book_rotation_vector, so3ToVec

#: Exponential coordinates whose omega (rad) is below this part of their v (m) are a pure translation: what rounding
#: leaves of one.
_TRANSLATION = 1e-12


def _se3_defect(matrix: Array) -> Any:
    matrix = np.asarray(matrix, dtype=np.float64)
    last_row = np.abs(matrix[..., 3, :]).max(axis=-1)
    return np.maximum(SO3_ALGEBRA.distance(matrix[..., :3, :3]), last_row)  # type: ignore[misc]


SE3_ALGEBRA = Kind((4, 4), "matrix of se(3)", _se3_defect, "`VecTose3` makes them")


@batched(R=ROTATION, p=(3,))
def RpToTrans(R: Array, p: Array) -> Array:
    """Homogeneous transformation matrix of a rotation and a position.

    Parameters
    ----------
    R
        Rotation, shape (..., 3, 3).
    p
        Position, m, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Examples
    --------
    >>> RpToTrans([[1, 0, 0], [0, 0, -1], [0, 1, 0]], [1, 2, 5])
    array([[ 1.,  0.,  0.,  1.],
           [ 0.,  0., -1.,  2.],
           [ 0.,  1.,  0.,  5.],
           [ 0.,  0.,  0.,  1.]])
    """
    T: Array = rigid_motions.pose(R, p)
    return T


@batched(T=POSE, outputs=("R", "p"))
def TransToRp(T: Array) -> tuple[Array, Array]:
    """Rotation and position of a homogeneous transformation matrix.

    Parameters
    ----------
    T
        Shape (..., 4, 4).

    Returns
    -------
    R
        Shape (..., 3, 3).
    p
        Shape (..., 3).

    Examples
    --------
    >>> R, p = TransToRp([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 3], [0, 0, 0, 1]])
    >>> p
    array([0., 0., 3.])
    """
    return rigid_motions.rotation_of(T), rigid_motions.translation_of(T)


@batched(T=POSE)
def TransInv(T: Array) -> Array:
    """Inverse of a homogeneous transformation matrix, by its structure.

    Parameters
    ----------
    T
        Shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Examples
    --------
    >>> TransInv([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 3], [0, 0, 0, 1]])[:3] + 0.0
    array([[ 1.,  0.,  0.,  0.],
           [ 0.,  0.,  1., -3.],
           [ 0., -1.,  0.,  0.]])
    """
    inverse: Array = rigid_motions.inverse_pose(T)
    return inverse


@batched(V=(6,))
def VecTose3(V: Array) -> Array:
    """Matrix of se(3) of a twist.

    Parameters
    ----------
    V
        (omega, v), shape (..., 6).

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Examples
    --------
    >>> VecTose3([1, 2, 3, 4, 5, 6])
    array([[ 0., -3.,  2.,  4.],
           [ 3.,  0., -1.,  5.],
           [-2.,  1.,  0.,  6.],
           [ 0.,  0.,  0.,  0.]])
    """
    upper = np.concatenate([elementary.skew(V[:3]), V[3:, None]], axis=1)
    return np.concatenate([upper, np.zeros((1, 4))])


@batched(se3mat=SE3_ALGEBRA)
def se3ToVec(se3mat: Array) -> Array:
    """Twist of a matrix of se(3).

    Parameters
    ----------
    se3mat
        Shape (..., 4, 4).

    Returns
    -------
    ndarray
        (omega, v), shape (..., 6); omega is read as `so3ToVec` does.

    Examples
    --------
    >>> se3ToVec([[0, -3, 2, 4], [3, 0, -1, 5], [-2, 1, 0, 6], [0, 0, 0, 0]])
    array([1., 2., 3., 4., 5., 6.])
    """
    return np.concatenate([so3ToVec(se3mat[:3, :3]), se3mat[:3, 3]])


@batched(T=POSE)
def Adjoint(T: Array) -> Array:
    """Adjoint representation of a homogeneous transformation matrix.

    Parameters
    ----------
    T
        Shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 6, 6).

    Examples
    --------
    >>> Adjoint([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 3], [0, 0, 0, 1]])[3:] + 0.0
    array([[ 0.,  0.,  3.,  1.,  0.,  0.],
           [ 3.,  0.,  0.,  0.,  0., -1.],
           [ 0.,  0.,  0.,  0.,  1.,  0.]])
    """
    AdT: Array = screws.adjoint(T)
    return AdT


@batched(V=(6,))
def ad(V: Array) -> Array:
    """Matrix of the Lie bracket with a twist: ad(V1) @ V2 is [V1, V2].

    Parameters
    ----------
    V
        (omega, v), shape (..., 6).

    Returns
    -------
    ndarray
        Shape (..., 6, 6).

    Examples
    --------
    >>> ad([1, 2, 3, 4, 5, 6])[3] + 0.0
    array([ 0., -6.,  5.,  0., -3.,  2.])
    """
    adV: Array = screws.twist_cross_matrix(V)
    return adV


@batched(q=(3,), s=UNIT_VECTOR, h=())
def ScrewToAxis(q: Array, s: Array, h: ArrayLike) -> Array:
    """Normalized screw axis of a point, a direction and a pitch.

    Parameters
    ----------
    q
        A point of the axis, m, shape (..., 3).
    s
        Unit vector along the axis, shape (..., 3).
    h
        Pitch, m/rad, shape (...). If it is infinite the axis is that of a translation along s.

    Returns
    -------
    ndarray
        (omega, v), shape (..., 6).

    Examples
    --------
    >>> ScrewToAxis([3, 0, 0], [0, 0, 1], 2)
    array([ 0.,  0.,  1.,  0., -3.,  2.])
    """
    S: Array = screws.screw_axis(s, q, h)
    return S


@batched(expc6=(6,), outputs=("S", "theta"))
def AxisAng6(expc6: Array) -> tuple[Array, Any]:
    """Screw axis and distance of exponential coordinates for rigid-body motion.

    Parameters
    ----------
    expc6
        (omega, v) times distance, shape (..., 6).

    Returns
    -------
    S
        Screw axis, shape (..., 6): its omega, or of a pure translation its v, is a unit vector.
    theta
        Distance along or about it, rad or m, shape (...).

    Notes
    -----
    An omega below 1e-12 rad per metre of v counts as zero. In the published package any omega below 1e-6 rad counts as
    zero, so it returns axes with short omegas that are not normalized. A zero motion has the distance 0 and the axis
    (1, 0, 0, 0, 0, 0); the published package gives NaN.

    Examples
    --------
    >>> AxisAng6([1, 0, 0, 1, 2, 3])
    (array([1., 0., 0., 1., 2., 3.]), np.float64(1.0))
    """
    angle, distance = vectors.norm(expc6[:3]), vectors.norm(expc6[3:])
    theta = where(angle <= _TRANSLATION * distance, distance, angle)
    rests = theta <= 0.0
    S = expc6 * (1.0 / where(rests, 1.0, theta))
    return np.array([where(rests, 1.0, S[0]), *S[1:]]), theta


@batched(se3mat=SE3_ALGEBRA)
def MatrixExp6(se3mat: Array) -> Array:
    """Matrix exponential of a matrix in se(3), exact at every angle.

    Parameters
    ----------
    se3mat
        Shape (..., 4, 4).

    Returns
    -------
    ndarray
        Homogeneous transformation matrix, shape (..., 4, 4).

    Notes
    -----
    The published package leaves out all rotations below 1e-6 rad.

    Examples
    --------
    >>> MatrixExp6(np.pi / 2 * VecTose3([1, 0, 0, 0, 1.5, 1.5])).round(12)[:3] + 0.0
    array([[ 1.,  0.,  0.,  0.],
           [ 0.,  0., -1.,  0.],
           [ 0.,  1.,  0.,  3.]])
    """
    T: Array = rigid_motions.exp_pose(np.concatenate([vectors.vee(se3mat[:3, :3]), se3mat[:3, 3]]))
    return T


@batched(T=POSE)
def MatrixLog6(T: Array) -> Array:
    """Matrix logarithm of a homogeneous transformation matrix, with all digits at every angle from 0 to pi.

    Parameters
    ----------
    T
        Shape (..., 4, 4).

    Returns
    -------
    ndarray
        Matrix of se(3), shape (..., 4, 4); NaN for reflections. Half a turn is about the axis of `MatrixLog3`.

    Notes
    -----
    Besides the defects of its `MatrixLog3`, the published package gives NaN where rounding brings the trace of a half
    turn below -1, which is the case for one in seven.

    Examples
    --------
    >>> se3ToVec(MatrixLog6([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 3], [0, 0, 0, 1]]))
    array([1.57079633, 0. , 0. , 0. , 2.35619449, 2.35619449])
    """
    matrix: Array = VecTose3(book_twist(T))
    return matrix


def book_twist(T: Array) -> Array:
    """Exponential coordinates (6,) of a pose, with the book's choice between the axes of half a turn: a plain formula.

    Source: Lynch and Park, Modern Robotics, section 3.3.3, equations (3.91) and (3.92).
    """
    omega = book_rotation_vector(elementary.rotation_of(T))
    v = inverse_left_jacobian_rotation(omega) @ elementary.translation_of(T)
    return np.concatenate([omega, v])
