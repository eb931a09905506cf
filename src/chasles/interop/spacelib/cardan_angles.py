"""Position by Cardan and Euler angles (section 3.5.1 of the manual).

A sequence i, j, k of axes means rotations about the *moving* axes i, j, k in this order, R = Rot(i, q[0]) Rot(j, q[1])
Rot(k, q[2]), as all examples of the manual show; the title of its table 3.2 ("around axes of fixed frame") misleads.
`card…` stands for X, Y, Z, `eul…` for Z, X, Z and `naut…` for Z, Y, X.

Every extraction gives both solutions. The first has its middle angle in [-pi/2, pi/2] (Cardan) or [0, pi] (Euler).
"""

from __future__ import annotations

from typing import NamedTuple

from chasles.base.comparable import comparable
from chasles.engine import absolute, where
from chasles.engine.program.scalar import Real
from chasles.engine.symbols import is_symbol
from chasles.geometry import EulerAngles, elementary, euler_angle_solutions, rotation_from_euler_angles
from chasles.geometry.elementary import Array
from chasles.geometry.projections import POSE, ROTATION
from chasles.interop.spacelib.codes import NOTOK, OK, PIG2, POINT, U, X, Y, Z, checked_sequence
from chasles.interop.spacelib.legality import legal_position, legal_rotation
from chasles.interop.spacelib.routines import routine
from chasles.interop.spacelib.sizes import embedded, upper_left


@comparable
class CardanAngles(NamedTuple):
    """Results of `rtocardan`: both sets of angles, q1 and q2 (..., 3), rad in (-pi, pi]."""

    q1: Array
    q2: Array


@comparable
class CardanAnglesOfPosition(NamedTuple):
    """Results of `Mtocardan`: both sets of angles, q1 and q2 (..., 3), rad, and OK or (at a singularity) NOTOK."""

    q1: Array
    q2: Array
    rv: Real


@routine(q=(3,))
def cardantor(q: Array, i: int, j: int, k: int, dim: int = 3) -> Array:
    """Rotation of Cardan or Euler angles: the inverse of `rtocardan`.

    Parameters
    ----------
    q
        The three angles, rad, shape (..., 3).
    i, j, k
        Sequence of moving axes, each `X`, `Y` or `Z`; j differs from i and k.
    dim
        Size of the result, 3 or more.

    Returns
    -------
    ndarray
        Shape (..., dim, dim): the rotation in the upper-left 3×3 part of an identity.

    Examples
    --------
    >>> import numpy as np
    >>> cardantor([np.pi / 2, 0.0, 0.0], Z, Y, X).round(12) + 0.0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    R = rotation_from_euler_angles(q, checked_sequence(i, j, k, "cardantor"))
    return embedded(R, dim, "cardantor", diagonal=1.0)


@routine(q=(3,))
def cardantor3(q: Array, i: int, j: int, k: int) -> Array:
    """Rotation (..., 3, 3) of Cardan or Euler angles: ``cardantor(q, i, j, k, 3)``.

    Examples
    --------
    >>> cardantor3([0.0, 0.0, 0.0], X, Y, Z)[0] + 0.0
    array([1., 0., 0.])
    """
    R: Array = rotation_from_euler_angles(q, checked_sequence(i, j, k, "cardantor3"))
    return R


@routine(q=(3,))
def cardantor4(q: Array, i: int, j: int, k: int) -> Array:
    """Position matrix (..., 4, 4) with the rotation of Cardan or Euler angles: ``cardantor(q, i, j, k, 4)``.

    Examples
    --------
    >>> cardantor4([0.0, 0.0, 0.0], X, Y, Z)[3]
    array([0., 0., 0., 1.])
    """
    R = rotation_from_euler_angles(q, checked_sequence(i, j, k, "cardantor4"))
    return embedded(R, 4, "cardantor4", diagonal=1.0)


def rtocardan(R: Array, dim: int | None, i: int, j: int, k: int, *, check: bool = False) -> CardanAngles:
    """Cardan or Euler angles of a rotation: the inverse of `cardantor`.

    Parameters
    ----------
    R
        Square matrix with a rotation in its upper-left 3×3 part, shape (..., dim, dim).
    dim
        Size of R, 3 or more; it may be None.
    i, j, k
        Sequence of moving axes, each `X`, `Y` or `Z`; j differs from i and k.
    check
        True to raise `ArgumentError` if that part is not a rotation.

    Returns
    -------
    CardanAngles
        q1 and q2. Where the rotation is singular one of the first and third angles is free: both sets still give R
        again, and no sign is given, as in the original. Use `Mtocardan` to be told.

    Examples
    --------
    >>> q1, q2 = rtocardan(cardantor([0.1, 0.2, 0.3], Y, X, Z), 3, Y, X, Z)
    >>> q1.round(12), q2.round(6)
    (array([0.1, 0.2, 0.3]), array([-3.041593,  2.941593, -2.841593]))
    """
    block = upper_left(R, dim, "rtocardan", "R")
    return _rtocardan(block, i, j, k, check=True) if check else _rtocardan(block, i, j, k)


def rtocardan3(R: Array, i: int, j: int, k: int, *, check: bool = False) -> CardanAngles:
    """Cardan or Euler angles of a rotation (..., 3, 3): ``rtocardan(R, 3, i, j, k)``.

    Examples
    --------
    >>> rtocardan3([[1, 0, 0], [0, 1, 0], [0, 0, 1]], X, Y, Z).q1 + 0.0
    array([0., 0., 0.])
    """
    return rtocardan(R, 3, i, j, k, check=check)


def rtocardan4(m: Array, i: int, j: int, k: int, *, check: bool = False) -> CardanAngles:
    """Cardan or Euler angles of the rotation in a position matrix (..., 4, 4): ``rtocardan(m, 4, i, j, k)``.

    Examples
    --------
    >>> rtocardan4(cardantor4([0.0, 0.5, 0.0], X, Y, Z), X, Y, Z).q1 + 0.0
    array([0. , 0.5, 0. ])
    """
    return rtocardan(m, 4, i, j, k, check=check)


@routine(R=ROTATION)
def _rtocardan(R: Array, i: int, j: int, k: int) -> CardanAngles:
    solutions = euler_angle_solutions(legal_rotation(R), checked_sequence(i, j, k, "rtocardan"))
    return CardanAngles(solutions.first, solutions.second)


@routine(q=(3,), O=POINT)
def cardantoM(q: Array, i: int, j: int, k: int, O: Array) -> Array:
    """Position matrix of a frame from Cardan or Euler angles and its origin: the inverse of `Mtocardan`.

    Parameters
    ----------
    q
        The three angles, rad, shape (..., 3).
    i, j, k
        Sequence of moving axes, each `X`, `Y` or `Z`; j differs from i and k.
    O
        Origin, [x, y, z, 1], shape (..., 4).

    Returns
    -------
    ndarray
        m, shape (..., 4, 4).

    Examples
    --------
    >>> cardantoM([1, 2, 1.5], X, Z, Y, [10, 20, 30, 1])[0].round(3)
    array([-0.029, -0.909, -0.415, 10.   ])
    """
    return elementary.pose(rotation_from_euler_angles(q, checked_sequence(i, j, k, "cardantoM")), O[:U])


@routine(q=(3,), O=POINT)
def cardtoM(q: Array, O: Array) -> Array:
    """Position matrix (..., 4, 4) from Tait-Bryan angles: ``cardantoM(q, X, Y, Z, O)``.

    Examples
    --------
    >>> cardtoM([0.0, 0.0, 0.0], [1, 2, 3, 1])[:3, 3]
    array([1., 2., 3.])
    """
    m: Array = cardantoM(q, X, Y, Z, O)
    return m


@routine(q=(3,), O=POINT)
def eultoM(q: Array, O: Array) -> Array:
    """Position matrix (..., 4, 4) from Euler angles: ``cardantoM(q, Z, X, Z, O)``.

    Examples
    --------
    >>> eultoM([0.0, 0.0, 0.0], [1, 2, 3, 1])[:3, 3]
    array([1., 2., 3.])
    """
    m: Array = cardantoM(q, Z, X, Z, O)
    return m


@routine(q=(3,), O=POINT)
def nauttoM(q: Array, O: Array) -> Array:
    """Position matrix (..., 4, 4) from nautical angles: ``cardantoM(q, Z, Y, X, O)``.

    Examples
    --------
    >>> nauttoM([0.0, 0.0, 0.0], [1, 2, 3, 1])[:3, 3]
    array([1., 2., 3.])
    """
    m: Array = cardantoM(q, Z, Y, X, O)
    return m


@routine(m=POSE, codes=("rv",))
def Mtocardan(m: Array, i: int, j: int, k: int) -> CardanAnglesOfPosition:
    """Cardan or Euler angles of the frame of a position matrix.

    Parameters
    ----------
    m
        Position matrix, shape (..., 4, 4).
    i, j, k
        Sequence of moving axes, each `X`, `Y` or `Z`; j differs from i and k.

    Returns
    -------
    CardanAnglesOfPosition
        q1, q2 and OK. It is NOTOK where the cosine (Cardan) or sine (Euler) of the middle angle is at most 1e-7: the
        first and third angles alone mean little there, though each set gives the rotation again. (The original compares
        with exact 0, which it almost never meets for Cardan angles.) Samples with NaN are NOTOK.

    Examples
    --------
    >>> q1, q2, rv = Mtocardan(cardantoM([0.1, 0.2, 0.3], X, Y, Z, [0, 0, 0, 1]), X, Y, Z)
    >>> q1.round(12), int(rv)
    (array([0.1, 0.2, 0.3]), 1)
    """
    solutions = euler_angle_solutions(elementary.rotation_of(legal_position(m)), checked_sequence(i, j, k, "Mtocardan"))
    return CardanAnglesOfPosition(solutions.first, solutions.second, regularity(solutions))


@routine(m=POSE, codes=("rv",))
def Mtocard(m: Array) -> CardanAnglesOfPosition:
    """Tait-Bryan angles of a position matrix (..., 4, 4): ``Mtocardan(m, X, Y, Z)``.

    Examples
    --------
    >>> Mtocard(cardtoM([0.0, 0.5, 0.0], [0, 0, 0, 1])).q1
    array([0. , 0.5, 0. ])
    """
    angles: CardanAnglesOfPosition = Mtocardan(m, X, Y, Z)
    return angles


@routine(m=POSE, codes=("rv",))
def Mtoeul(m: Array) -> CardanAnglesOfPosition:
    """Euler angles of a position matrix (..., 4, 4): ``Mtocardan(m, Z, X, Z)``.

    Examples
    --------
    >>> Mtoeul(eultoM([0.0, 0.5, 0.0], [0, 0, 0, 1])).q1
    array([0. , 0.5, 0. ])
    """
    angles: CardanAnglesOfPosition = Mtocardan(m, Z, X, Z)
    return angles


@routine(m=POSE, codes=("rv",))
def Mtonaut(m: Array) -> CardanAnglesOfPosition:
    """Nautical angles of a position matrix (..., 4, 4): ``Mtocardan(m, Z, Y, X)``.

    Examples
    --------
    >>> Mtonaut(nauttoM([0.0, 0.5, 0.0], [0, 0, 0, 1])).q1
    array([0. , 0.5, 0. ])
    """
    angles: CardanAnglesOfPosition = Mtocardan(m, Z, Y, X)
    return angles


def regularity(solutions: EulerAngles) -> Real:
    """OK where angles are regular, NOTOK where they are singular or NaN (single samples); symbols are regular."""
    if any(map(is_symbol, solutions.first)):
        return float(OK)
    is_number = absolute(solutions.first[1]) <= PIG2
    return where(is_number & (solutions.singular < 0.5), float(OK), float(NOTOK))
