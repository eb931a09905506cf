"""Velocity and acceleration matrices (section 3.2 of the manual).

The last column of W is the velocity, and that of H the acceleration, of the *pole*: of the body's point that is passing
through the origin of the frame.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.base.comparable import comparable
from chasles.engine.program.scalar import Real
from chasles.geometry import vee
from chasles.geometry.batched import UNIT_VECTOR
from chasles.geometry.elementary import Array
from chasles.interop.matrix_mechanics import (
    compose_acceleration_matrices,
    gravity_matrix,
    joint_motion_matrices,
    joint_screw_matrix,
    screw_from_velocity_matrix,
    unit_screw_matrix,
)
from chasles.interop.spacelib.codes import (
    NULL_MOTION,
    ORIGIN,
    POINT,
    Rev,
    U,
    Z,
    checked_axis,
    checked_joint,
    homogeneous,
    unit_axis,
)
from chasles.interop.spacelib.legality import legal_axis, legal_velocity
from chasles.interop.spacelib.routines import routine


@comparable
class ScrewVelocity(NamedTuple):
    """Results of `Wtovel`: unit axis u (..., 3), omega (rad/s), vel along u (m/s), point P of the axis (..., 4)."""

    u: Array
    omega: Real
    vel: Real
    P: Array


@comparable
class JointMotion(NamedTuple):
    """Results of `velacctoWH` and its variants: velocity matrix W and acceleration matrix H, (..., 4, 4)."""

    W: Array
    H: Array


@routine(gx=(), gy=(), gz=())
def gtom(gx: Real, gy: Real, gz: Real) -> Array:
    """Gravity acceleration matrix Hg (..., 4, 4) of the components of gravity, m/s².

    Examples
    --------
    >>> gtom(0.0, 0.0, -9.81)[:, 3]
    array([ 0.  ,  0.  , -9.81,  0.  ])
    """
    Hg: Array = gravity_matrix(np.array([gx, gy, gz]))
    return Hg


@routine(G=(3, 3))
def Gtomegapto(G: Array) -> Array:
    """Angular acceleration from the upper-left part G of an acceleration matrix, eq. (3.3).

    Parameters
    ----------
    G
        Shape (..., 3, 3).

    Returns
    -------
    ndarray
        omegapto, rad/s², shape (..., 3).

    Examples
    --------
    >>> Gtomegapto([[-2.25, -0.9, 0], [0.9, -2.25, 0], [0, 0, 0]])
    array([0. , 0. , 0.9])
    """
    omegapto: Array = vee(G)
    return omegapto


@routine(u=UNIT_VECTOR, pitch=(), P=POINT)
def makeL(jtype: int, u: Array, pitch: Real, P: Array) -> Array:
    """Instantaneous screw axis matrix L of a joint.

    Parameters
    ----------
    jtype
        `Rev` (revolute or screw) or `Pri`.
    u
        Unit vector of the axis, shape (..., 3).
    pitch
        Pitch of the screw, m/rad, shape (...); ignored for `Pri`.
    P
        A point of the axis, [x, y, z, 1], shape (..., 4).

    Returns
    -------
    ndarray
        L, shape (..., 4, 4): skew(u) and the column pitch u - u x P; for `Pri` only the column u.

    Examples
    --------
    >>> makeL(Rev, [-1, 0, 0], 0.0, [0, 1.2, 1.2, 1]) + 0.0
    array([[ 0. ,  0. ,  0. ,  0. ],
           [ 0. ,  0. ,  1. , -1.2],
           [ 0. , -1. ,  0. ,  1.2],
           [ 0. ,  0. ,  0. ,  0. ]])
    """
    return _joint_axis(checked_joint(jtype, "makeL"), legal_axis(u), pitch, P[:U])


@routine(pitch=(), P=POINT)
def makeL2(jtype: int, a: int, pitch: Real, P: Array) -> Array:
    """Instantaneous screw axis matrix L of a joint whose axis is parallel to a frame axis.

    Parameters
    ----------
    jtype
        `Rev` (revolute or screw) or `Pri`.
    a
        `X`, `Y` or `Z`. (The manual lists `U` too; the original returns NOTOK for it.)
    pitch, P
        See `makeL`.

    Returns
    -------
    ndarray
        L, shape (..., 4, 4).

    Examples
    --------
    >>> makeL2(Rev, Z, 0.1, [1, 0, 0, 1]) + 0.0
    array([[ 0. , -1. ,  0. ,  0. ],
           [ 1. ,  0. ,  0. , -1. ],
           [ 0. ,  0. ,  0. ,  0.1],
           [ 0. ,  0. ,  0. ,  0. ]])
    """
    return _joint_axis(checked_joint(jtype, "makeL2"), unit_axis(checked_axis(a, "makeL2")), pitch, P[:U])


@routine(W=(4, 4))
def WtoL(W: Array) -> Array:
    """Instantaneous screw axis matrix L of a velocity matrix.

    Parameters
    ----------
    W
        Shape (..., 4, 4).

    Returns
    -------
    ndarray
        L, shape (..., 4, 4): W divided by the angular speed; by the linear one if there is no rotation; null for a null
        W. The pitch of a screw stays in L. An angular speed up to 1e-14 times the linear one (1/m) counts
        as none; the original compares with exact 0.

    Examples
    --------
    >>> WtoL([[0, 0, 0, 0], [0, 0, -2, 0], [0, 2, 0, 1], [0, 0, 0, 0]]) + 0.0
    array([[ 0. ,  0. ,  0. ,  0. ],
           [ 0. ,  0. , -1. ,  0. ],
           [ 0. ,  1. ,  0. ,  0.5],
           [ 0. ,  0. ,  0. ,  0. ]])
    """
    L: Array = unit_screw_matrix(legal_velocity(W), tolerance=NULL_MOTION)
    return L


@routine(W=(4, 4))
def Wtovel(W: Array) -> ScrewVelocity:
    """Screw of a velocity matrix.

    Parameters
    ----------
    W
        Shape (..., 4, 4).

    Returns
    -------
    ScrewVelocity
        Axis u, angular speed omega around it, linear speed vel along it, and point P of the axis nearest to the origin.
        Without rotation u is along the velocity, omega = 0 and P the origin; u is null for a null W. An angular
        speed up to 1e-14 times the linear one (1/m) counts as none; the original compares with exact 0.

    Notes
    -----
    In example 3.11 the manual displays W[0][1] = 2; it is -2.

    Examples
    --------
    >>> u, omega, vel, P = Wtovel([[0, -2, 0, 0], [2, 0, 0, -2], [0, 0, 0, 0.5], [0, 0, 0, 0]])
    >>> u, float(omega), float(vel), P + 0.0
    (array([0., 0., 1.]), 2.0, 0.5, array([1., 0., 0., 1.]))
    """
    screw = screw_from_velocity_matrix(legal_velocity(W), tolerance=NULL_MOTION)
    return ScrewVelocity(screw.axis, screw.angle, screw.translation, homogeneous(screw.point))


@routine(qp=(), qpp=())
def velacctoWH(jtype: int, qp: Real, qpp: Real) -> JointMotion:
    """Velocity and acceleration matrices of a joint, about or along the z axis of its frame.

    In the Denavit-Hartenberg convention this is frame (i-1), although the manual's output says "in frame (i)".

    Parameters
    ----------
    jtype
        `Rev` or `Pri`.
    qp, qpp
        Velocity and acceleration of the joint, rad/s and rad/s² or m/s and m/s², shape (...).

    Returns
    -------
    JointMotion
        W and H, shape (..., 4, 4).

    Examples
    --------
    >>> from chasles.interop.spacelib import Pri
    >>> velacctoWH(Pri, 1.5, 0.9).H[:, 3]
    array([0. , 0. , 0.9, 0. ])
    """
    return _joint_motion(checked_joint(jtype, "velacctoWH"), Z, qp, qpp, ORIGIN[:U])


@routine(qp=(), qpp=())
def velacctoWH2(jtype: int, a: int, qp: Real, qpp: Real) -> JointMotion:
    """Velocity and acceleration matrices of a joint, about or along a frame axis.

    Parameters
    ----------
    jtype
        `Rev` or `Pri`.
    a
        `X`, `Y` or `Z`. (The manual lists `U` too; the original returns NOTOK for it.)
    qp, qpp
        Velocity and acceleration of the joint, shape (...).

    Returns
    -------
    JointMotion
        W and H, shape (..., 4, 4).

    Notes
    -----
    In example 3.12 the manual prints H[1][1] = 2.25; it is -2.25.

    Examples
    --------
    >>> velacctoWH2(Rev, Z, 1.5, 0.9).H[:2, :2] + 0.0
    array([[-2.25, -0.9 ],
           [ 0.9 , -2.25]])
    """
    return _joint_motion(checked_joint(jtype, "velacctoWH2"), checked_axis(a, "velacctoWH2"), qp, qpp, ORIGIN[:U])


@routine(qp=(), qpp=(), O=POINT)
def velacctoWH3(jtype: int, a: int, qp: Real, qpp: Real, O: Array) -> JointMotion:
    """Velocity and acceleration matrices of a joint, about an axis through O that is parallel to a frame axis.

    Parameters
    ----------
    jtype
        `Rev` or `Pri`.
    a
        `X`, `Y` or `Z`.
    qp, qpp
        Velocity and acceleration of the joint, shape (...).
    O
        A point of the axis, [x, y, z, 1], shape (..., 4); ignored for `Pri`. (The manual's box lists it as an output.)

    Returns
    -------
    JointMotion
        W and H, shape (..., 4, 4).

    Examples
    --------
    >>> velacctoWH3(Rev, Z, 1.5, 0.9, [0.4, 0.1, 0, 1]).W[:, 3].round(12) + 0.0
    array([ 0.15, -0.6 ,  0.  ,  0.  ])
    """
    return _joint_motion(checked_joint(jtype, "velacctoWH3"), checked_axis(a, "velacctoWH3"), qp, qpp, O[:U])


@routine(H0=(4, 4), H1=(4, 4), W0=(4, 4), W1=(4, 4))
def coriolis(H0: Array, H1: Array, W0: Array, W1: Array) -> Array:
    """Acceleration matrix of a motion made up of two, by Coriolis' theorem: H0 + H1 + 2 W0 W1, eq. (3.4).

    Parameters
    ----------
    H0, H1, W0, W1
        Acceleration and velocity matrices of the first motion and of the second relative to it, in one frame, shape
        (..., 4, 4).

    Returns
    -------
    ndarray
        H, shape (..., 4, 4).

    Examples
    --------
    >>> from chasles.interop.spacelib import Pri, X
    >>> (W0, H0), (W1, H1) = velacctoWH(Rev, 3.0, 0.0), velacctoWH2(Pri, X, 1.0, 0.0)
    >>> coriolis(H0, H1, W0, W1)[:3, 3]
    array([0., 6., 0.])
    """
    H: Array = compose_acceleration_matrices(H0, H1, W0, W1)
    return H


def _joint_axis(jtype: int, u: Array, pitch: Real, P: Array) -> Array:
    L: Array = joint_screw_matrix(u, P, pitch, joint="revolute" if jtype == Rev else "prismatic")
    return L


def _joint_motion(jtype: int, a: int, qp: Real, qpp: Real, point: Array) -> JointMotion:
    return JointMotion(*joint_motion_matrices(_joint_axis(jtype, unit_axis(a), 0.0, point), qp, qpp))
