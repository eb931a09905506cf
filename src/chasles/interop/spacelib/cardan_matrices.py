"""Velocity and acceleration matrices by Cardan and Euler angles (section 3.5.2 of the manual).

The forward routines are for a frame that turns about its origin O, which is *at rest*. For a frame whose origin moves,
work in an auxiliary frame in its origin, and put the velocity or acceleration into the last column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.base.comparable import comparable
from chasles.engine import where
from chasles.engine.program.scalar import Real
from chasles.geometry import (
    elementary,
    euler_accelerations_from_angular_acceleration,
    euler_angle_solutions,
    euler_rates_from_angular_velocity,
    point_acceleration,
    twist_from_screw,
    vee,
    velocity_matrix,
)
from chasles.geometry.elementary import Array
from chasles.geometry.projections import POSE
from chasles.interop.matrix_mechanics import acceleration_matrix
from chasles.interop.spacelib.cardan_angles import regularity
from chasles.interop.spacelib.cardan_rates import cardanto_OMEGA, cardanto_OMEGAPTO
from chasles.interop.spacelib.codes import OK, POINT, U, X, Y, Z, checked_sequence
from chasles.interop.spacelib.legality import legal_acceleration, legal_position, legal_velocity
from chasles.interop.spacelib.routines import routine


@comparable
class CardanVelocity(NamedTuple):
    """Results of `Wtocardan`: both sets of angles and rates, (..., 3), and OK or (at a singularity) NOTOK."""

    q1: Array
    q2: Array
    qp1: Array
    qp2: Array
    rv: Real


@comparable
class CardanAcceleration(NamedTuple):
    """Results of `Htocardan`: both sets of angles, rates and accelerations, (..., 3), and OK or NOTOK."""

    q1: Array
    q2: Array
    qp1: Array
    qp2: Array
    qpp1: Array
    qpp2: Array
    rv: Real


@routine(q=(3,), qp=(3,), O=POINT)
def cardantoW(q: Array, qp: Array, i: int, j: int, k: int, O: Array) -> Array:
    """Velocity matrix of a frame that turns about its origin, from Cardan or Euler angles: the inverse of `Wtocardan`.

    Parameters
    ----------
    q, qp
        Angles, rad, and rates, rad/s, shape (..., 3).
    i, j, k
        Sequence of moving axes, each `X`, `Y` or `Z`; j differs from i and k.
    O
        Origin of the frame, at rest, [x, y, z, 1], shape (..., 4).

    Returns
    -------
    ndarray
        W, shape (..., 4, 4): skew(omega), and -omega x O.

    Notes
    -----
    Example 3.18 prints W[2][1] = 0.0152; it is 0.152. The angles and rates of its text (1, 2.5, 0.9; 0.2, 4, 1) are not
    those of its listing (0.1, 0.5, 0.9; 0.2, 0.4, 0.1), to which the matrix belongs.

    Examples
    --------
    >>> cardantoW([0.1, 0.5, 0.9], [0.2, 0.4, 0.1], X, Z, Y, [50, 10, 100, 1]).round(3)
    array([[ 0.   , -0.407,  0.047, -0.671],
           [ 0.407,  0.   , -0.152, -5.132],
           [-0.047,  0.152,  0.   ,  0.849],
           [ 0.   ,  0.   ,  0.   ,  0.   ]])
    """
    return _turning(cardanto_OMEGA(q, qp, i, j, k), O)


@routine(q=(3,), qp=(3,), O=POINT)
def cardtoW(q: Array, qp: Array, O: Array) -> Array:
    """Velocity matrix (..., 4, 4) from Tait-Bryan angles: ``cardantoW(q, qp, X, Y, Z, O)``.

    Examples
    --------
    >>> cardtoW([0, 0, 0], [1, 2, 3], [0, 0, 0, 1])[2]
    array([-2.,  1.,  0.,  0.])
    """
    W: Array = cardantoW(q, qp, X, Y, Z, O)
    return W


@routine(q=(3,), qp=(3,), O=POINT)
def eultoW(q: Array, qp: Array, O: Array) -> Array:
    """Velocity matrix (..., 4, 4) from Euler angles: ``cardantoW(q, qp, Z, X, Z, O)``.

    Examples
    --------
    >>> eultoW([0, 0, 0], [1, 2, 3], [0, 0, 0, 1])[1]
    array([ 4.,  0., -2.,  0.])
    """
    W: Array = cardantoW(q, qp, Z, X, Z, O)
    return W


@routine(q=(3,), qp=(3,), O=POINT)
def nauttoW(q: Array, qp: Array, O: Array) -> Array:
    """Velocity matrix (..., 4, 4) from nautical angles: ``cardantoW(q, qp, Z, Y, X, O)``.

    Examples
    --------
    >>> nauttoW([0, 0, 0], [1, 2, 3], [0, 0, 0, 1])[2]
    array([-2.,  3.,  0.,  0.])
    """
    W: Array = cardantoW(q, qp, Z, Y, X, O)
    return W


@routine(m=POSE, W=(4, 4), codes=("rv",))
def Wtocardan(m: Array, W: Array, i: int, j: int, k: int) -> CardanVelocity:
    """Cardan or Euler angles and rates of a frame, from its position and velocity matrices.

    Parameters
    ----------
    m, W
        Position and velocity matrices, shape (..., 4, 4).
    i, j, k
        Sequence of moving axes, each `X`, `Y` or `Z`; j differs from i and k.

    Returns
    -------
    CardanVelocity
        Angles q1, q2 (rad), rates qp1, qp2 (rad/s) that belong to them, and OK. At a singularity (see `Mtocardan`), and
        where W is no velocity matrix, it is NOTOK, and the rates are NaN.

    Examples
    --------
    >>> m, W = np.eye(4), cardtoW([0, 0, 0], [1, 2, 3], [0, 0, 0, 1])
    >>> Wtocardan(m, W, X, Y, Z).qp1
    array([1., 2., 3.])
    """
    sequence = checked_sequence(i, j, k, "Wtocardan")
    solutions = euler_angle_solutions(elementary.rotation_of(legal_position(m)), sequence)
    omega, rv = vee(legal_velocity(W)[:3, :3]), regularity(solutions)
    q1, q2 = solutions.first, solutions.second
    qp1, qp2 = (euler_rates_from_angular_velocity(q, omega, sequence).rates for q in (q1, q2))
    return CardanVelocity(q1, q2, _where_regular(rv, qp1), _where_regular(rv, qp2), rv)


@routine(m=POSE, W=(4, 4), codes=("rv",))
def Wtocard(m: Array, W: Array) -> CardanVelocity:
    """Tait-Bryan angles and rates of matrices (..., 4, 4): ``Wtocardan(m, W, X, Y, Z)``.

    Examples
    --------
    >>> Wtocard(np.eye(4), cardtoW([0, 0, 0], [1, 2, 3], [0, 0, 0, 1])).qp1
    array([1., 2., 3.])
    """
    velocity: CardanVelocity = Wtocardan(m, W, X, Y, Z)
    return velocity


@routine(m=POSE, W=(4, 4), codes=("rv",))
def Wtoeul(m: Array, W: Array) -> CardanVelocity:
    """Euler angles and rates of matrices (..., 4, 4): ``Wtocardan(m, W, Z, X, Z)``.

    Examples
    --------
    >>> int(Wtoeul(np.eye(4), np.zeros((4, 4))).rv)  # a null middle angle is singular
    0
    """
    velocity: CardanVelocity = Wtocardan(m, W, Z, X, Z)
    return velocity


@routine(m=POSE, W=(4, 4), codes=("rv",))
def Wtonaut(m: Array, W: Array) -> CardanVelocity:
    """Nautical angles and rates of matrices (..., 4, 4): ``Wtocardan(m, W, Z, Y, X)``.

    Examples
    --------
    >>> Wtonaut(np.eye(4), nauttoW([0, 0, 0], [1, 2, 3], [0, 0, 0, 1])).qp1
    array([1., 2., 3.])
    """
    velocity: CardanVelocity = Wtocardan(m, W, Z, Y, X)
    return velocity


@routine(q=(3,), qp=(3,), qpp=(3,), O=POINT)
def cardantoH(q: Array, qp: Array, qpp: Array, i: int, j: int, k: int, O: Array) -> Array:
    """Acceleration matrix of a frame that turns about its origin, from Cardan or Euler angles: inverse of `Htocardan`.

    Parameters
    ----------
    q, qp, qpp
        Angles, rad, and first and second derivatives, rad/s and rad/s², shape (..., 3).
    i, j, k
        Sequence of moving axes, each `X`, `Y` or `Z`; j differs from i and k.
    O
        Origin of the frame, at rest, [x, y, z, 1], shape (..., 4).

    Returns
    -------
    ndarray
        H, shape (..., 4, 4): G = skew(omega') + skew(omega)², and -G O.

    Notes
    -----
    The manual says that example 3.22 has the same matrix for O = 0; it has it with the axes X, Z, Y renamed Y, X, Z.

    Examples
    --------
    >>> cardantoH([0.1, 0.5, 0.9], [0.2, 0.4, 0.1], [0.5, 1.2, 0.3], X, Z, Y, [50, 10, 100, 1])[0].round(3)
    array([-0.168, -1.221,  0.104, 10.234])
    """
    omega, omegapto = cardanto_OMEGA(q, qp, i, j, k), cardanto_OMEGAPTO(q, qp, qpp, i, j, k)
    at_origin = point_acceleration(np.concatenate([omegapto, np.zeros(3)]), omega, -O[:U])
    H: Array = acceleration_matrix(np.concatenate([omegapto, at_origin]), omega)
    return H


@routine(q=(3,), qp=(3,), qpp=(3,), O=POINT)
def cardtoH(q: Array, qp: Array, qpp: Array, O: Array) -> Array:
    """Acceleration matrix (..., 4, 4) from Tait-Bryan angles: ``cardantoH(q, qp, qpp, X, Y, Z, O)``.

    The manual's box shows the arguments of `Htocard`.

    Examples
    --------
    >>> cardtoH([0, 0, 0], [0, 0, 2], [0, 0, 1], [0, 0, 0, 1])[0]
    array([-4., -1.,  0.,  0.])
    """
    H: Array = cardantoH(q, qp, qpp, X, Y, Z, O)
    return H


@routine(q=(3,), qp=(3,), qpp=(3,), O=POINT)
def eultoH(q: Array, qp: Array, qpp: Array, O: Array) -> Array:
    """Acceleration matrix (..., 4, 4) from Euler angles: ``cardantoH(q, qp, qpp, Z, X, Z, O)``.

    The manual's box shows the arguments of `Htoeul`.

    Examples
    --------
    >>> eultoH([0, 0, 0], [0, 0, 2], [0, 0, 1], [0, 0, 0, 1])[0]
    array([-4., -1.,  0.,  0.])
    """
    H: Array = cardantoH(q, qp, qpp, Z, X, Z, O)
    return H


@routine(q=(3,), qp=(3,), qpp=(3,), O=POINT)
def nauttoH(q: Array, qp: Array, qpp: Array, O: Array) -> Array:
    """Acceleration matrix (..., 4, 4) from nautical angles: ``cardantoH(q, qp, qpp, Z, Y, X, O)``.

    The manual's box shows the arguments of `Htonaut`.

    Examples
    --------
    >>> nauttoH([0, 0, 0], [2, 0, 0], [1, 0, 0], [0, 0, 0, 1])[0]
    array([-4., -1.,  0.,  0.])
    """
    H: Array = cardantoH(q, qp, qpp, Z, Y, X, O)
    return H


@routine(m=POSE, W=(4, 4), H=(4, 4), codes=("rv",))
def Htocardan(m: Array, W: Array, H: Array, i: int, j: int, k: int) -> CardanAcceleration:
    """Cardan or Euler angles, rates and accelerations of a frame, from its position, velocity and acceleration.

    Parameters
    ----------
    m, W, H
        Position, velocity and acceleration matrices, shape (..., 4, 4).
    i, j, k
        Sequence of moving axes, each `X`, `Y` or `Z`; j differs from i and k.

    Returns
    -------
    CardanAcceleration
        Angles q1, q2 (rad), rates qp1, qp2 (rad/s), accelerations qpp1, qpp2 (rad/s²) and OK. At a singularity (see
        `Mtocardan`), and where W or H are no matrices of a motion, it is NOTOK, and rates and accelerations are NaN.

    Examples
    --------
    >>> W, H = cardtoW([0] * 3, [0, 0, 2], [0, 0, 0, 1]), cardtoH([0] * 3, [0, 0, 2], [0, 0, 1], [0, 0, 0, 1])
    >>> Htocardan(np.eye(4), W, H, X, Y, Z).qpp1
    array([0., 0., 1.])
    """
    q1, q2, qp1, qp2, rv = Wtocardan(m, W, i, j, k)
    sequence, omegapto = checked_sequence(i, j, k, "Htocardan"), vee(legal_acceleration(H, vee(W[:3, :3]))[:3, :3])
    qpp1, qpp2 = (
        euler_accelerations_from_angular_acceleration(q, qp, omegapto, sequence).accelerations
        for q, qp in ((q1, qp1), (q2, qp2))
    )
    return CardanAcceleration(q1, q2, qp1, qp2, qpp1, qpp2, rv)


@routine(m=POSE, W=(4, 4), H=(4, 4), codes=("rv",))
def Htocard(m: Array, W: Array, H: Array) -> CardanAcceleration:
    """Tait-Bryan angles, rates and accelerations of matrices (..., 4, 4): ``Htocardan(m, W, H, X, Y, Z)``.

    Examples
    --------
    >>> Htocard(np.eye(4), np.zeros((4, 4)), np.zeros((4, 4))).qpp1
    array([0., 0., 0.])
    """
    acceleration: CardanAcceleration = Htocardan(m, W, H, X, Y, Z)
    return acceleration


@routine(m=POSE, W=(4, 4), H=(4, 4), codes=("rv",))
def Htoeul(m: Array, W: Array, H: Array) -> CardanAcceleration:
    """Euler angles, rates and accelerations of matrices (..., 4, 4): ``Htocardan(m, W, H, Z, X, Z)``.

    Examples
    --------
    >>> int(Htoeul(np.eye(4), np.zeros((4, 4)), np.zeros((4, 4))).rv)  # a null middle angle is singular
    0
    """
    acceleration: CardanAcceleration = Htocardan(m, W, H, Z, X, Z)
    return acceleration


@routine(m=POSE, W=(4, 4), H=(4, 4), codes=("rv",))
def Htonaut(m: Array, W: Array, H: Array) -> CardanAcceleration:
    """Nautical angles, rates and accelerations of matrices (..., 4, 4): ``Htocardan(m, W, H, Z, Y, X)``.

    Examples
    --------
    >>> Htonaut(np.eye(4), np.zeros((4, 4)), np.zeros((4, 4))).qpp1
    array([0., 0., 0.])
    """
    acceleration: CardanAcceleration = Htocardan(m, W, H, Z, Y, X)
    return acceleration


def _turning(omega: Array, O: Array) -> Array:
    W: Array = velocity_matrix(twist_from_screw(omega, O[:U], 1.0, 0.0))
    return W


def _where_regular(rv: Any, derivatives: Array) -> Array:
    known: Array = where(rv >= OK, derivatives, np.nan)
    return known
