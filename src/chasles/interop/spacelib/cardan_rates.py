"""Angular velocity and acceleration by Cardan and Euler angles, vectors and 3×3 matrices (section 3.5.2 of the manual).

With A and Ã of the sequence, omega = A q' and omega' = A q'' + Ã (q[1]' q[2]', q[0]' q[2]', q[0]' q[1]'), both in the
fixed frame. Letters tell vectors from matrices: `cardanto_OMEGA` gives a vector, `cardanto_omega` a matrix. (In Maple
it is the other way round.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.base.comparable import comparable
from chasles.base.errors import ArgumentError
from chasles.engine import absolute, cos, sin, where
from chasles.engine.program.scalar import Real
from chasles.geometry import (
    angular_acceleration_from_euler_accelerations,
    angular_velocity_from_euler_rates,
    euler_product_matrix,
    euler_rate_matrix,
    inverse_euler_rate_matrix,
)
from chasles.geometry.elementary import Array, skew
from chasles.geometry.euler_angles import SINGULAR_TOLERANCE, euler_sequence
from chasles.interop.matrix_mechanics import acceleration_matrix
from chasles.interop.spacelib.codes import NOTOK, OK, X, Y, Z, checked_code, checked_sequence
from chasles.interop.spacelib.routines import routine
from chasles.interop.spacelib.sizes import embedded


@comparable
class InverseA(NamedTuple):
    """Results of `invA`: the inverse Ai (..., 3, 3) of A, and OK or (at a singularity) NOTOK."""

    Ai: Array
    rv: Real


@routine(q=(3,), qp=(3,))
def cardanto_OMEGA(q: Array, qp: Array, i: int, j: int, k: int) -> Array:
    """Angular velocity, a vector, from Cardan or Euler angles and their rates.

    Parameters
    ----------
    q, qp
        Angles, rad, and rates, rad/s, shape (..., 3).
    i, j, k
        Sequence of moving axes, each `X`, `Y` or `Z`; j differs from i and k.

    Returns
    -------
    ndarray
        omega in the fixed frame, rad/s, shape (..., 3).

    Examples
    --------
    >>> cardanto_OMEGA([10, 5, 12], [0, 2, 1], Z, Y, X).round(3)
    array([ 0.85 , -1.832,  0.959])
    """
    omega: Array = angular_velocity_from_euler_rates(q, qp, checked_sequence(i, j, k, "cardanto_OMEGA"))
    return omega


@routine(q=(3,), qp=(3,))
def cardanto_omega(q: Array, qp: Array, i: int, j: int, k: int, dim: int = 3) -> Array:
    """Angular velocity, a skew-symmetric matrix, from Cardan or Euler angles and their rates.

    Parameters
    ----------
    q, qp, i, j, k
        See `cardanto_OMEGA`.
    dim
        Size of the result, 3 or more.

    Returns
    -------
    ndarray
        Shape (..., dim, dim): skew(omega) in the upper-left 3×3 part, zeros elsewhere.

    Examples
    --------
    >>> cardanto_omega([10, 5, 12], [0, 2, 1], Z, Y, X).round(3)
    array([[ 0.   , -0.959, -1.832],
           [ 0.959,  0.   , -0.85 ],
           [ 1.832,  0.85 ,  0.   ]])
    """
    return embedded(skew(cardanto_OMEGA(q, qp, i, j, k)), dim, "cardanto_omega")


@routine(q=(3,), qp=(3,))
def cardanto_omega3(q: Array, qp: Array, i: int, j: int, k: int) -> Array:
    """Angular velocity as a matrix (..., 3, 3): ``cardanto_omega(q, qp, i, j, k, 3)``.

    Examples
    --------
    >>> cardanto_omega3([0, 0, 0], [0, 0, 2], X, Y, Z)[1] + 0.0
    array([2., 0., 0.])
    """
    Omega: Array = cardanto_omega(q, qp, i, j, k)
    return Omega


@routine(q=(3,), qp=(3,))
def cardanto_omega4(q: Array, qp: Array, i: int, j: int, k: int) -> Array:
    """Angular velocity as the upper-left part of a matrix (..., 4, 4): ``cardanto_omega(q, qp, i, j, k, 4)``.

    Examples
    --------
    >>> cardanto_omega4([0, 0, 0], [0, 0, 2], X, Y, Z)[1] + 0.0
    array([2., 0., 0., 0.])
    """
    Omega: Array = cardanto_omega(q, qp, i, j, k, 4)
    return Omega


@routine(q=(3,), qp=(3,), qpp=(3,))
def cardanto_OMEGAPTO(q: Array, qp: Array, qpp: Array, i: int, j: int, k: int) -> Array:
    """Angular acceleration, a vector, from Cardan or Euler angles and their derivatives.

    Parameters
    ----------
    q, qp, qpp
        Angles, rad, and first and second derivatives, rad/s and rad/s², shape (..., 3).
    i, j, k
        Sequence of moving axes, each `X`, `Y` or `Z`; j differs from i and k.

    Returns
    -------
    ndarray
        omegapto in the fixed frame, rad/s², shape (..., 3).

    Examples
    --------
    >>> cardanto_OMEGAPTO([1, 1.2, 3], [0, 1, 0], [3, 2.5, 4.01], Y, X, Z).round(3)
    array([ 2.573, -0.737, -1.319])
    """
    sequence = checked_sequence(i, j, k, "cardanto_OMEGAPTO")
    omegapto: Array = angular_acceleration_from_euler_accelerations(q, qp, qpp, sequence)
    return omegapto


@routine(q=(3,), qp=(3,), qpp=(3,))
def cardanto_G(q: Array, qp: Array, qpp: Array, i: int, j: int, k: int, dim: int = 3) -> Array:
    """Angular part G of the acceleration matrix, from Cardan or Euler angles and their derivatives, eq. (3.16).

    Parameters
    ----------
    q, qp, qpp, i, j, k
        See `cardanto_OMEGAPTO`.
    dim
        Size of the result, 3 or more.

    Returns
    -------
    ndarray
        Shape (..., dim, dim): skew(omega') + skew(omega)² in the upper-left 3×3 part, zeros elsewhere.

    Examples
    --------
    >>> cardanto_G([0.1, 0.5, 0.9], [0.2, 0.4, 0.1], [0.5, 1.2, 0.3], Y, X, Z).round(3)
    array([[-0.025,  0.02 ,  0.34 ],
           [ 0.104, -0.168, -1.221],
           [-0.302,  1.235, -0.189]])
    """
    omega, omegapto = cardanto_OMEGA(q, qp, i, j, k), cardanto_OMEGAPTO(q, qp, qpp, i, j, k)
    H = acceleration_matrix(np.concatenate([omegapto, np.zeros(3)]), omega)
    return embedded(H[:3, :3], dim, "cardanto_G")


@routine(q=(3,), qp=(3,), qpp=(3,))
def cardanto_G3(q: Array, qp: Array, qpp: Array, i: int, j: int, k: int) -> Array:
    """Angular part of the acceleration matrix, (..., 3, 3): ``cardanto_G(q, qp, qpp, i, j, k, 3)``.

    Examples
    --------
    >>> cardanto_G3([0, 0, 0], [0, 0, 2], [0, 0, 1], X, Y, Z)[0]
    array([-4., -1.,  0.])
    """
    G: Array = cardanto_G(q, qp, qpp, i, j, k)
    return G


@routine(q=(3,), qp=(3,), qpp=(3,))
def cardanto_G4(q: Array, qp: Array, qpp: Array, i: int, j: int, k: int) -> Array:
    """Angular part of the acceleration matrix in a matrix (..., 4, 4): ``cardanto_G(q, qp, qpp, i, j, k, 4)``.

    Examples
    --------
    >>> cardanto_G4([0, 0, 0], [0, 0, 2], [0, 0, 1], X, Y, Z)[0]
    array([-4., -1.,  0.,  0.])
    """
    G: Array = cardanto_G(q, qp, qpp, i, j, k, 4)
    return G


@routine(q=(3,))
def cardantol(q: Array, i: int, j: int, k: int, dim: int = 3) -> Array:
    """Matrix A of the angular velocity, omega = A q'.

    The manual calls it an ISA matrix L, but it is no matrix of a screw axis.

    Parameters
    ----------
    q
        Angles, rad, shape (..., 3).
    i, j, k
        Sequence of moving axes, each `X`, `Y` or `Z`; j differs from i and k.
    dim
        Size of the result, 3 or more.

    Returns
    -------
    ndarray
        Shape (..., dim, dim): A in the upper-left 3×3 part, zeros elsewhere. Its columns are the axes of the three
        rotations, seen from the fixed frame.

    Examples
    --------
    >>> cardantol([0, 0, 0], Z, Y, X) + 0.0
    array([[0., 0., 1.],
           [0., 1., 0.],
           [1., 0., 0.]])
    """
    return embedded(euler_rate_matrix(q, checked_sequence(i, j, k, "cardantol")), dim, "cardantol")


@routine(q=(3,))
def cardantoWPROD(q: Array, i: int, j: int, k: int, dim: int = 3) -> Array:
    """Matrix Ã of the products of rates in the angular acceleration.

    Parameters
    ----------
    q, i, j, k
        See `cardantol`.
    dim
        Size of the result, 3 or more.

    Returns
    -------
    ndarray
        Shape (..., dim, dim): Ã in the upper-left 3×3 part, zeros elsewhere. Its columns belong to the products
        q[1]' q[2]', q[0]' q[2]' and q[0]' q[1]'.

    Examples
    --------
    >>> cardantoWPROD([0, 0, 0], X, Y, Z) + 0.0
    array([[ 1.,  0.,  0.],
           [ 0., -1.,  0.],
           [ 0.,  0.,  1.]])
    """
    return embedded(euler_product_matrix(q, checked_sequence(i, j, k, "cardantoWPROD")), dim, "cardantoWPROD")


@routine(alpha=(), beta=(), codes=("rv",))
def invA(alpha: Real, beta: Real, sig: int, i: int, j: int, k: int) -> InverseA:
    """Inverse of the matrix A: q' = Ai omega.

    Parameters
    ----------
    alpha, beta
        First two angles, rad, shape (...).
    sig
        1 for a cyclic sequence (i, j is X, Y or Y, Z or Z, X), -1 for an anti-cyclic one.
    i, j, k
        Sequence of moving axes, each `X`, `Y` or `Z`; j differs from i and k.

    Returns
    -------
    InverseA
        Ai (..., 3, 3) and OK; NOTOK where the cosine (Cardan) or sine (Euler) of beta is at most 1e-7, and Ai is large
        or not finite. The original compares with exact 0.

    Examples
    --------
    >>> Ai, rv = invA(0.0, 0.0, -1, Z, Y, X)
    >>> Ai[0], int(rv)
    (array([0., 0., 1.]), 1)
    """
    sequence = _sequence_of_sign(sig, i, j, k, "invA")
    distance = absolute(sin(beta) if euler_sequence(sequence).repeats else cos(beta))
    Ai = inverse_euler_rate_matrix(np.array([alpha, beta, 0.0]), sequence)
    return InverseA(Ai, where(distance > SINGULAR_TOLERANCE, float(OK), float(NOTOK)))


@routine(alpha=(), beta=())
def WPRODtocardan(alpha: Real, beta: Real, sig: int, i: int, j: int, k: int) -> Array:
    """Matrix Ã in the order of the sequence's axes.

    The manual calls it the transpose of `cardantoWPROD`; the original has the same elements in another order.

    Parameters
    ----------
    alpha, beta, sig, i, j, k
        See `invA`.

    Returns
    -------
    ndarray
        Atil, shape (..., 3, 3). Its rows belong to the axes i, j and 3 - i - j; column i to the product q[1]' q[2]',
        column j to q[0]' q[2]', and column 3 - i - j to q[0]' q[1]'.

    Examples
    --------
    >>> WPRODtocardan(0.0, 0.0, 1, Y, Z, X) + 0.0
    array([[ 0.,  1.,  0.],
           [ 0.,  0., -1.],
           [ 1.,  0.,  0.]])
    """
    sequence = _sequence_of_sign(sig, i, j, k, "WPRODtocardan")
    order = [*euler_sequence(sequence).axes[:2], 3 - i - j]
    products = euler_product_matrix(np.array([alpha, beta, 0.0]), sequence)
    return np.array([[products[axis, order.index(column)] for column in (X, Y, Z)] for axis in order])


def _sequence_of_sign(sig: int, i: int, j: int, k: int, routine: str) -> str:
    sequence = checked_sequence(i, j, k, routine)
    sign = checked_code(sig, {"cyclic": 1, "anti-cyclic": -1}, routine, "sig")
    if sign != euler_sequence(sequence).orientation:
        raise ArgumentError(f"{routine}: sig is {sign}, but the sequence {sequence} makes it {-sign}")
    return sequence
