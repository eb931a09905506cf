"""Position, rotation and rototranslation matrices (section 3.1 of the manual)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.base.comparable import comparable
from chasles.engine import maximum, where
from chasles.engine.program.scalar import Real
from chasles.engine.symbols import is_symbol
from chasles.geometry import (
    axis_angle_from_rotation,
    compose_poses,
    elementary,
    pose_from_screw,
    rotation_from_axis_angle,
    screw_from_pose,
)
from chasles.geometry.batched import UNIT_VECTOR
from chasles.geometry.elementary import Array
from chasles.geometry.projections import POSE, ROTATION
from chasles.interop.spacelib.codes import (
    NOTOK,
    NULL_MOTION,
    OK,
    POINT,
    Rev,
    U,
    X,
    Y,
    Z,
    checked_axis,
    checked_joint,
    homogeneous,
)
from chasles.interop.spacelib.legality import legal_axis, legal_origin, legal_position, legal_rotation
from chasles.interop.spacelib.routines import routine
from chasles.interop.spacelib.sizes import embedded, upper_left
from chasles.interop.spacelib.vectors import unitv


@comparable
class AxisAndAngle(NamedTuple):
    """Results of `extract`: unit axis u (..., 3), angle phi (...), rad."""

    u: Array
    phi: Real


@comparable
class ScrewDisplacement(NamedTuple):
    """Results of `mtoscrew`: unit axis u (..., 3), angle phi (rad), slide h (m), point P (..., 4), OK or NOTOK."""

    u: Array
    phi: Real
    h: Real
    P: Array
    rv: Real


@routine(theta=(), d=(), b=(), a=(), alpha=(), q=())
def dhtom(jtype: int, theta: Real, d: Real, b: Real, a: Real, alpha: Real, q: Real) -> Array:
    """Position matrix of a link from its extended Denavit-Hartenberg parameters and joint coordinate, eq. (3.1).

    ``ROT(z, theta) TRAS(z, d) TRAS(x, a) TRAS(y, b) ROT(x, alpha)``, where q is added to theta for a revolute joint and
    to d for a prismatic one.

    Parameters
    ----------
    jtype
        `Rev` or `Pri`.
    theta, d, b, a, alpha
        Rotation, offset, shift (0 in the standard definition), length and twist of the link, rad and m, shape (...).
    q
        Joint coordinate, rad or m, shape (...).

    Returns
    -------
    ndarray
        m of frame (i) seen from (i-1), shape (..., 4, 4).

    Examples
    --------
    >>> dhtom(Rev, 0.0, 0.1, 0.0, 0.5, 0.0, 0.0) + 0.0
    array([[1. , 0. , 0. , 0.5],
           [0. , 1. , 0. , 0. ],
           [0. , 0. , 1. , 0.1],
           [0. , 0. , 0. , 1. ]])
    """
    theta, d = (theta + q, d) if checked_joint(jtype, "dhtom") == Rev else (theta, d + q)
    along_z = elementary.pose(elementary.rotation_z(theta), np.array([0.0, 0.0, d]))
    along_x = elementary.pose(elementary.rotation_x(alpha), np.array([a, b, 0.0]))
    m: Array = compose_poses(along_z, along_x)
    return m


@routine(theta=(), d=(), a=(), alpha=())
def DHtoMstd(theta: Real, d: Real, a: Real, alpha: Real) -> Array:
    """Position matrix of a link from its standard Denavit-Hartenberg parameters, eq. (3.2).

    Parameters
    ----------
    theta, d, a, alpha
        Link rotation, offset, length and twist, rad and m, shape (...), the joint coordinate included.

    Returns
    -------
    ndarray
        m, shape (..., 4, 4).

    Examples
    --------
    >>> DHtoMstd(0.0, 0.1, 0.5, 0.0)[:3, 3]
    array([0.5, 0. , 0.1])
    """
    m: Array = dhtom(Rev, theta, d, 0.0, a, alpha, 0.0)
    return m


def extract(A: Array, dim: int | None = None, *, check: bool = False) -> AxisAndAngle:
    """Axis and angle of a rotation: the inverse of `rotat`.

    Parameters
    ----------
    A
        Square matrix with a rotation in its upper-left 3×3 part, shape (..., dim, dim).
    dim
        Size of A, 3 or more; it may be left out.
    check
        True to raise `ArgumentError` if that part is not a rotation.

    Returns
    -------
    AxisAndAngle
        u and phi, with phi in [0, pi]; NaN where A is no rotation. A null rotation has u = 0, as in the original. At a
        half turn two opposite u would do, and it is the one of `chasles.geometry.axis_angle_from_rotation`.

    Examples
    --------
    >>> u, phi = extract([[0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    >>> u + 0.0, phi.round(12)
    (array([ 0.,  0., -1.]), np.float64(1.570796326795))
    """
    return _extract(upper_left(A, dim, "extract"), check=True) if check else _extract(upper_left(A, dim, "extract"))


@routine(R=ROTATION)
def _extract(R: Array) -> AxisAndAngle:
    axis, angle = axis_angle_from_rotation(legal_rotation(R))
    return AxisAndAngle(where(angle <= 0.0, 0.0, axis), angle)


@routine(Q=POSE, codes=("rv",))
def mtoscrew(Q: Array) -> ScrewDisplacement:
    """Screw of a displacement: the inverse of `screwtom`.

    Parameters
    ----------
    Q
        Rototranslation matrix, shape (..., 4, 4).

    Returns
    -------
    ScrewDisplacement
        Axis u, angle phi in [0, pi], displacement h along u, point P of the axis nearest to the origin, and OK. A pure
        translation has phi = 0, u along it, h its length and P the origin. The identity has u = 0, h = 0, P the origin
        and NOTOK. Rotations and translations up to 1e-14 (rad, m) count as none; the original compares with exact 0.
        Symbols count as rotations. Where Q is no rototranslation all is NaN, with NOTOK.

    Notes
    -----
    The manual's listing of example 3.3 has the translation (0, 2, 0) in Q, which gives P = [1, 1, 0, 1]; the printed
    P = [1, -1, 0, 1] belongs to the (2, 0, 0) of the text.

    Examples
    --------
    >>> screw = mtoscrew([[0, 1, 0, 2], [-1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    >>> screw.u + 0.0, screw.P.round(12), screw.rv
    (array([ 0.,  0., -1.]), array([ 1., -1.,  0.,  1.]), np.int64(1))
    """
    Q = legal_position(Q)
    screw = screw_from_pose(Q)
    if any(map(is_symbol, Q.flat)):
        return ScrewDisplacement(screw.axis, screw.angle, screw.translation, homogeneous(screw.point), float(OK))
    heading, length = unitv(elementary.translation_of(Q))
    # Comparisons with NaN fail, and it must go through the branch of turning.
    turns, moves = ~(screw.angle <= NULL_MOTION), ~(length <= NULL_MOTION)
    return ScrewDisplacement(
        u=where(turns, screw.axis, where(moves, heading, 0.0)),
        phi=where(turns, screw.angle, 0.0),
        h=where(turns, screw.translation, where(moves, length, 0.0)),
        P=homogeneous(where(turns, screw.point, 0.0)),
        rv=where(maximum(screw.angle, length) > NULL_MOTION, float(OK), float(NOTOK)),
    )


@routine(u=UNIT_VECTOR, phi=(), h=(), P=POINT)
def screwtom(u: Array, phi: Real, h: Real, P: Array) -> Array:
    """Displacement of a screw: rotation by phi about the axis u through P, and translation by h along it.

    Parameters
    ----------
    u
        Unit vector, shape (..., 3).
    phi, h
        Angle, rad, and displacement along u, m, shape (...).
    P
        A point of the axis, [x, y, z, 1], shape (..., 4).

    Returns
    -------
    ndarray
        Q, shape (..., 4, 4).

    Notes
    -----
    The manual's listing of example 3.4 has P = {1, 1, 0, 1}, which gives the translation (0, 2, 0); the printed matrix
    belongs to the [1, -1, 0, 1] of the text.

    Examples
    --------
    >>> screwtom([0, 0, -1], np.pi / 2, 0.0, [1, -1, 0, 1]).round(12) + 0.0
    array([[ 0.,  1.,  0.,  2.],
           [-1.,  0.,  0.,  0.],
           [ 0.,  0.,  1.,  0.],
           [ 0.,  0.,  0.,  1.]])
    """
    Q: Array = pose_from_screw(legal_axis(u), P[:U], phi, h)
    return Q


@routine(u=UNIT_VECTOR, phi=())
def rotat(u: Array, phi: Real, dim: int = 3) -> Array:
    """Rotation by phi about the unit vector u.

    Parameters
    ----------
    u
        Unit vector, shape (..., 3).
    phi
        Angle, rad, shape (...).
    dim
        Size of the result, 3 or more.

    Returns
    -------
    ndarray
        Shape (..., dim, dim): the rotation in the upper-left 3×3 part of an identity.

    Examples
    --------
    >>> rotat([0, 0, -1], np.pi / 2).round(12) + 0.0
    array([[ 0.,  1.,  0.],
           [-1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    return embedded(rotation_from_axis_angle(legal_axis(u), phi), dim, "rotat", diagonal=1.0)


@routine(q=())
def rotat2(a: int, q: Real, dim: int = 3) -> Array:
    """Rotation by q about a frame axis.

    Parameters
    ----------
    a
        `X`, `Y`, `Z`, or `U` for no rotation.
    q
        Angle, rad, shape (...).
    dim
        Size of the result, 3 or more.

    Returns
    -------
    ndarray
        Shape (..., dim, dim): the rotation in the upper-left 3×3 part of an identity.

    Examples
    --------
    >>> rotat2(Z, np.pi / 2).round(12) + 0.0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    return embedded(_rotation_about(a, q, "rotat2"), dim, "rotat2", diagonal=1.0)


@routine(q=())
def rotat23(a: int, q: Real) -> Array:
    """Rotation (..., 3, 3) by q about a frame axis: ``rotat2(a, q, 3)``.

    Examples
    --------
    >>> rotat23(X, 0.0) + 0.0
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    return _rotation_about(a, q, "rotat23")


@routine(q=(), O=POINT)
def rotat24(a: int, q: Real, O: Array) -> Array:
    """Position matrix of a frame with its origin in O, rotated by q about its own axis a (figure 3.4).

    Parameters
    ----------
    a
        `X`, `Y`, `Z`, or `U` for no rotation.
    q
        Angle, rad, shape (...).
    O
        Origin, [x, y, z, 1], shape (..., 4). The original refuses a fourth coordinate other than 1; here it makes the
        origin of m NaN.

    Returns
    -------
    ndarray
        m, shape (..., 4, 4).

    Examples
    --------
    >>> rotat24(Z, np.pi / 2, [1, 2, 3, 1]).round(12) + 0.0
    array([[ 0., -1.,  0.,  1.],
           [ 1.,  0.,  0.,  2.],
           [ 0.,  0.,  1.,  3.],
           [ 0.,  0.,  0.,  1.]])
    """
    return elementary.pose(_rotation_about(a, q, "rotat24"), legal_origin(O)[:U])


@routine(q=(), O=POINT)
def rotat34(a: int, q: Real, O: Array) -> Array:
    """Position matrix of a frame placed in O and then rotated, its origin too, about the absolute axis a (figure 3.5).

    Parameters
    ----------
    a
        `X`, `Y`, `Z`, or `U` for no rotation.
    q
        Angle, rad, shape (...).
    O
        Origin before the rotation, [x, y, z, 1], shape (..., 4).

    Returns
    -------
    ndarray
        m, shape (..., 4, 4).

    Examples
    --------
    >>> rotat34(Z, np.pi / 2, [1, 2, 3, 1]).round(12) + 0.0
    array([[ 0., -1.,  0., -2.],
           [ 1.,  0.,  0.,  1.],
           [ 0.,  0.,  1.,  3.],
           [ 0.,  0.,  0.,  1.]])
    """
    R = _rotation_about(a, q, "rotat34")
    return elementary.pose(R, R @ O[:U])


def _rotation_about(a: int, q: Real, routine: str) -> Array:
    about = {X: elementary.rotation_x, Y: elementary.rotation_y, Z: elementary.rotation_z}
    code = checked_axis(a, routine, with_u=True)
    return about[code](q) if code != U else np.eye(3)
