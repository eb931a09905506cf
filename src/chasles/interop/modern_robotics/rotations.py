"""Rotations: the part of the book's chapter 3 about SO(3).

Matrices of so(3) are skew-symmetric; of another matrix the skew part counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine import absolute, maximum, where
from chasles.engine.program.scalar import Real
from chasles.geometry import elementary, rotations, vectors
from chasles.geometry.batched import Kind, batched
from chasles.geometry.elementary import Array
from chasles.geometry.projections import ROTATION

#: Angles closer to half a turn than this have two axes, which rounding cannot tell apart.
_HALF_TURN = 2e-15
#: The book counts a component of a half turn's axis from here on: `NearZero` of 1 + R[i, i] = 2 component².
_COUNTS = 7.0710678118654752e-4


def _skew_defect(matrix: Array) -> Real:
    matrix = np.asarray(matrix, dtype=np.float64)
    return np.abs(matrix + np.swapaxes(matrix, -1, -2)).max(axis=(-2, -1))


SO3_ALGEBRA = Kind((3, 3), "skew-symmetric matrix", _skew_defect, "`VecToso3` makes them")


@batched(R=ROTATION)
def RotInv(R: Array) -> Array:
    """Inverse of a rotation: its transpose.

    Parameters
    ----------
    R
        Rotation, shape (..., 3, 3).

    Returns
    -------
    ndarray
        Shape (..., 3, 3).

    Examples
    --------
    >>> RotInv([[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    array([[0., 1., 0.],
           [0., 0., 1.],
           [1., 0., 0.]])
    """
    inverse: Array = rotations.inverse_rotation(R)
    return inverse


@batched(omg=(3,))
def VecToso3(omg: Array) -> Array:
    """Skew-symmetric matrix of a vector.

    Parameters
    ----------
    omg
        Vector, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (..., 3, 3).

    Examples
    --------
    >>> VecToso3([1, 2, 3])
    array([[ 0., -3.,  2.],
           [ 3.,  0., -1.],
           [-2.,  1.,  0.]])
    """
    return elementary.skew(omg)


@batched(so3mat=SO3_ALGEBRA)
def so3ToVec(so3mat: Array) -> Array:
    """Vector of a skew-symmetric matrix.

    Parameters
    ----------
    so3mat
        Shape (..., 3, 3).

    Returns
    -------
    ndarray
        Elements (3, 2), (1, 3) and (2, 1), shape (..., 3), as the published package reads them: of a matrix that is not
        skew-symmetric too, whose skew part `chasles.geometry.vee` gives.

    Examples
    --------
    >>> so3ToVec([[0, -3, 2], [3, 0, -1], [-2, 1, 0]])
    array([1., 2., 3.])
    """
    return np.array([so3mat[2, 1], so3mat[0, 2], so3mat[1, 0]])


@batched(expc3=(3,), outputs=("omghat", "theta"))
def AxisAng3(expc3: Array) -> tuple[Array, Any]:
    """Axis and angle of exponential coordinates for rotation.

    Parameters
    ----------
    expc3
        Axis times angle, rad, shape (..., 3).

    Returns
    -------
    omghat
        Unit vector, shape (..., 3).
    theta
        Angle, rad, shape (...).

    Notes
    -----
    No rotation has the x axis and the angle 0; the published package gives an axis of NaN.

    Examples
    --------
    >>> AxisAng3([1, 2, 3])
    (array([0.26726124, 0.53452248, 0.80178373]), np.float64(3.7416573867739413))
    """
    theta = vectors.norm(expc3)
    x, y, z = expc3
    return vectors.normalize(np.array([where(theta <= 0.0, 1.0, x), y, z])), theta


@batched(so3mat=SO3_ALGEBRA)
def MatrixExp3(so3mat: Array) -> Array:
    """Matrix exponential of a matrix in so(3), exact at every angle.

    Parameters
    ----------
    so3mat
        Shape (..., 3, 3).

    Returns
    -------
    ndarray
        Rotation, shape (..., 3, 3).

    Notes
    -----
    The published package gives the identity for all angles below 1e-6 rad: a slope of zero to whoever takes
    differences.

    Examples
    --------
    >>> MatrixExp3([[0, -3, 2], [3, 0, -1], [-2, 1, 0]])
    array([[-0.69492056,  0.71352099,  0.08929286],
           [-0.19200697, -0.30378504,  0.93319235],
           [ 0.69297817,  0.6313497 ,  0.34810748]])
    >>> float(MatrixExp3(VecToso3([0, 0, 1e-9]))[1, 0])
    1e-09
    """
    R: Array = rotations.exp_rotation(vectors.vee(so3mat))
    return R


@batched(R=ROTATION)
def MatrixLog3(R: Array) -> Array:
    """Matrix logarithm of a rotation, with all digits at every angle from 0 to pi.

    Parameters
    ----------
    R
        Rotation, shape (..., 3, 3).

    Returns
    -------
    ndarray
        Matrix of so(3), shape (..., 3, 3); NaN for reflections, which are not rotations. At the angle pi, the axis is
        the one with a positive last component among those not near zero, as in the published package.

    Notes
    -----
    The published package takes the angle from an arc cosine: it loses half the digits near 0 and near pi, gives zero
    for angles below 1e-8 rad and for about a third of all rotations by pi, and wrong values between those.

    Examples
    --------
    >>> MatrixLog3([[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    array([[ 0.        , -1.20919958,  1.20919958],
           [ 1.20919958,  0.        , -1.20919958],
           [-1.20919958,  1.20919958,  0.        ]])
    """
    return elementary.skew(book_rotation_vector(R))


def book_rotation_vector(R: Array) -> Array:
    """Rotation vector (3,) of a rotation, with the book's choice between the two axes of half a turn; a plain formula.

    Source: Lynch and Park, Modern Robotics, section 3.2.3, equations (3.58) to (3.60).
    """
    rotation_vector: Array = rotations.log_rotation(R)
    sine = vectors.vee(R)
    largest: Any = maximum(maximum(absolute(sine[0]), absolute(sine[1])), absolute(sine[2]))
    half_turn = (largest < _HALF_TURN) & (R[0, 0] + R[1, 1] + R[2, 2] < 0.0)
    least = _COUNTS * np.pi
    x, y, z = rotation_vector
    leading = where(absolute(z) >= least, z, where(absolute(y) >= least, y, x))
    turned: Array = where(half_turn & (leading < 0.0), -1.0, 1.0) * rotation_vector
    return turned
