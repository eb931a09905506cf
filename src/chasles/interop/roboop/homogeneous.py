"""ROBOOP's homogeneous transformations and small functions (homogen.cpp, utils.cpp).

They are those of `chasles.geometry`, on 4×4 matrices where ROBOOP has these. Beyond ROBOOP's, `irotk` has an axis
for a rotation by zero and keeps its digits near half a turn, and `irpy` and `ieulzxz` keep theirs near the singular
orientations, where ROBOOP's catch the exact ones alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles import geometry
from chasles.engine.validators import real, reals
from chasles.interop.roboop.codes import EPSILON

Matrix = NDArray[np.float64]


def trans(a: ArrayLike) -> Matrix:
    """Return the translation by a vector (3,), as a matrix (4, 4).

    Examples
    --------
    >>> trans([1, 2, 3])[:3, 3]
    array([1., 2., 3.])
    """
    return _pose(np.eye(3), reals(a, "a", (3,)))


def rotx(alpha: float) -> Matrix:
    """Return the rotation about the x axis, (4, 4).

    Examples
    --------
    >>> rotx(np.pi / 2).round(3)[1:3, 1:3]
    array([[ 0., -1.],
           [ 1.,  0.]])
    """
    return _pose(geometry.rotation_x(real(alpha, "alpha")))


def roty(beta: float) -> Matrix:
    """Return the rotation about the y axis, (4, 4)."""
    return _pose(geometry.rotation_y(real(beta, "beta")))


def rotz(gamma: float) -> Matrix:
    """Return the rotation about the z axis, (4, 4)."""
    return _pose(geometry.rotation_z(real(gamma, "gamma")))


def rotk(theta: float, k: ArrayLike) -> Matrix:
    """Return the rotation about an axis through the origin, (4, 4). The axis need not be a unit vector; zero: identity.

    Examples
    --------
    >>> bool(np.allclose(rotk(0.3, [0, 0, 2]), rotz(0.3)))
    True
    """
    axis = reals(k, "k", (3,))
    length = float(np.linalg.norm(axis))
    return _pose(geometry.rotation_from_axis_angle(axis / length, real(theta, "theta")) if length else np.eye(3))


def rpy(a: ArrayLike) -> Matrix:
    """Return ``Rz(a3) Ry(a2) Rx(a1)``, (4, 4): roll, pitch and yaw about the fixed axes x, y and z.

    Examples
    --------
    >>> bool(np.allclose(rpy([0.1, 0.2, 0.3]), rotz(0.3) @ roty(0.2) @ rotx(0.1)))
    True
    """
    return _pose(geometry.rotation_from_euler_angles(reals(a, "a", (3,)), "xyz"))


def eulzxz(a: ArrayLike) -> Matrix:
    """Return ``Rz(a1) Rx(a2) Rz(a3)``, (4, 4).

    Examples
    --------
    >>> bool(np.allclose(eulzxz([0.1, 0.2, 0.3]), rotz(0.1) @ rotx(0.2) @ rotz(0.3)))
    True
    """
    return _pose(geometry.rotation_from_euler_angles(reals(a, "a", (3,)), "ZXZ"))


def rotd(theta: float, k1: ArrayLike, k2: ArrayLike) -> Matrix:
    """Return the rotation about the line from the point `k1` to `k2`, (4, 4).

    Examples
    --------
    >>> rotd(np.pi, [1, 0, 0], [1, 0, 5])[:3, 3].round(12) + 0.0
    array([2., 0., 0.])
    """
    start, end = reals(k1, "k1", (3,)), reals(k2, "k2", (3,))
    return trans(start) @ rotk(theta, end - start) @ trans(-start)


def irotk(R: ArrayLike) -> Matrix:
    """Return axis and angle of a rotation, (4,): a unit vector and an angle from 0 to pi.

    Examples
    --------
    >>> irotk(rotz(0.3)).round(12)
    array([0. , 0. , 1. , 0.3])
    """
    axis, angle = geometry.axis_angle_from_rotation(rotation_part(R))
    return np.append(axis, np.asarray(angle))


def irpy(R: ArrayLike) -> Matrix:
    """Return the angles (3,) of `rpy`.

    Examples
    --------
    >>> irpy(rpy([0.1, 0.2, 0.3])).round(12)
    array([0.1, 0.2, 0.3])
    """
    return np.asarray(geometry.euler_angles_from_rotation(rotation_part(R), "xyz"))


def ieulzxz(R: ArrayLike) -> Matrix:
    """Return the angles (3,) of `eulzxz`.

    Examples
    --------
    >>> ieulzxz(eulzxz([0.1, 0.2, 0.3])).round(12)
    array([0.1, 0.2, 0.3])
    """
    return np.asarray(geometry.euler_angles_from_rotation(rotation_part(R), "ZXZ"))


def x_prod_matrix(x: ArrayLike) -> Matrix:
    """Return the matrix S(x) with ``S(x) @ y = cross(x, y)``, (3, 3).

    Examples
    --------
    >>> x_prod_matrix([1, 2, 3]) @ [0, 0, 1]
    array([ 2., -1.,  0.])
    """
    return np.asarray(geometry.skew(reals(x, "x", (3,))))


def pinv(M: ArrayLike) -> Matrix:
    """Return the pseudo-inverse, (k, m) of a matrix (m, k); that of a zero matrix is zero.

    Examples
    --------
    >>> pinv([[2.0, 0.0], [0.0, 0.0]])
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    matrix = reals(M, "M", ("m", "k"))
    return np.asarray(np.linalg.pinv(matrix, rcond=max(matrix.shape) * float(np.finfo(float).eps)), dtype=np.float64)


def sign(x: ArrayLike) -> Matrix:
    """Return -1, 0 or 1 for each number."""
    return np.sign(reals(x, "x"))


def deg2rad(angle_deg: float) -> float:
    """Return an angle of degrees in radians."""
    return float(np.deg2rad(real(angle_deg, "angle_deg")))


def rad2deg(angle_rad: float) -> float:
    """Return an angle of radians in degrees."""
    return float(np.rad2deg(real(angle_rad, "angle_rad")))


def isZero(x: float) -> bool:
    """Return whether a number is less than 1e-7 in size."""
    return abs(real(x, "x")) < EPSILON


def rotation_part(R: ArrayLike, name: str = "R") -> Matrix:
    """Return the rotation (3, 3) of one, or of a pose (4, 4)."""
    matrix = reals(R, name)
    return matrix[:3, :3] if matrix.shape == (4, 4) else reals(matrix, name, (3, 3))


def _pose(R: ArrayLike, p: ArrayLike = (0.0, 0.0, 0.0)) -> Matrix:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T
