"""Formulas for one sample, with which robots are built and algorithms are written.

They are plain functions of numbers or traced scalars. Called with numbers they compute at once, without compilation,
and a quarter turn gives exact zeros and ones; called while an algorithm is traced they cost nothing but their
operations. The functions of `chasles.geometry` do the same over batches, compiled.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import UnknownNameError
from chasles.engine import cos, sin
from chasles.engine.program.scalar import Array as Array
from chasles.engine.program.scalar import Real

_QUARTER_TURNS = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))

Z_AXIS: Array = np.array([0.0, 0.0, 1.0])
Z_AXIS.flags.writeable = False


def cross(a: Array, b: Array) -> Array:
    """Cross product a x b of two (3,) vectors.

    >>> cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    array([0., 0., 1.])
    """
    ax, ay, az = a
    bx, by, bz = b
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def skew(a: Array) -> Array:
    """Cross-product matrix (3, 3) of a (3,) vector: skew(a) @ b = a x b.

    >>> skew(np.array([1.0, 2.0, 3.0]))
    array([[ 0., -3.,  2.],
           [ 3.,  0., -1.],
           [-2.,  1.,  0.]])
    """
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def cosine_sine(angle: Real) -> tuple[Any, Any]:
    """Cosine and sine of an angle, exact at multiples of a quarter turn.

    The double nearest to pi/2 is not pi/2, so its cosine is 6e-17 instead of 0. Zeros and ones of a robot's geometry
    should be exact, because they are folded away when an algorithm is traced.

    Parameters
    ----------
    angle
        A number or a traced scalar, rad.

    Returns
    -------
    tuple
        Cosine and sine. For a number within 1e-15 (relative) of a multiple of pi/2 they are exactly 0, 1 or -1.

    Examples
    --------
    >>> import math
    >>> cosine_sine(math.pi / 2)
    (0.0, 1.0)
    """
    if not isinstance(angle, (int, float, np.integer, np.floating)):
        return cos(angle), sin(angle)
    angle = float(angle)
    if not math.isfinite(angle):
        return math.nan, math.nan
    quarters = angle / (math.pi / 2)
    nearest = round(quarters)
    if abs(quarters - nearest) <= 1e-15 * abs(nearest):
        return _QUARTER_TURNS[nearest % 4]
    return math.cos(angle), math.sin(angle)


def rotation_x(angle: Real) -> NDArray[Any]:
    """Rotation about the x axis by `angle` (rad, a number or a traced scalar), shape (3, 3).

    Examples
    --------
    >>> import math
    >>> rotation_x(math.pi / 2) @ [0.0, 1.0, 0.0]
    array([0., 0., 1.])
    """
    c, s = cosine_sine(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rotation_y(angle: Real) -> NDArray[Any]:
    """Rotation about the y axis by `angle` (rad, a number or a traced scalar), shape (3, 3).

    Examples
    --------
    >>> import math
    >>> rotation_y(math.pi / 2) @ [0.0, 0.0, 1.0]
    array([1., 0., 0.])
    """
    c, s = cosine_sine(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rotation_z(angle: Real) -> NDArray[Any]:
    """Rotation about the z axis by `angle` (rad, a number or a traced scalar), shape (3, 3).

    Examples
    --------
    >>> import math
    >>> rotation_z(math.pi / 2) @ [1.0, 0.0, 0.0]
    array([0., 1., 0.])
    """
    c, s = cosine_sine(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_from_roll_pitch_yaw(roll_pitch_yaw: Array) -> NDArray[Any]:
    """Rotation from roll, pitch and yaw about the fixed axes x, y and z, in this order (the convention of URDF).

    Parameters
    ----------
    roll_pitch_yaw
        Three angles in rad: ``R = Rz(yaw) Ry(pitch) Rx(roll)``.

    Returns
    -------
    ndarray
        Shape (3, 3).

    Examples
    --------
    >>> import math
    >>> rotation_from_roll_pitch_yaw([math.pi / 2, 0.0, math.pi / 2]) @ [0.0, 1.0, 0.0]
    array([0., 0., 1.])
    """
    roll, pitch, yaw = roll_pitch_yaw
    R: NDArray[Any] = rotation_z(yaw) @ rotation_y(pitch) @ rotation_x(roll)
    return R


def rotation_taking_z_to(axis: ArrayLike) -> NDArray[np.float64]:
    """Rotation whose third column is `axis`: it turns the z axis into the given direction.

    The smallest such rotation in the upper half space; below it, the smallest one after half a turn about x, which
    keeps the formula well conditioned near -z. Along a coordinate axis all entries are exactly 0, 1 or -1.

    Parameters
    ----------
    axis
        Unit vector of numbers, shape (3,).

    Returns
    -------
    ndarray
        R of shape (3, 3) with ``R @ [0, 0, 1] = axis``.

    Examples
    --------
    >>> rotation_taking_z_to([0.0, -1.0, 0.0]) @ [0.0, 0.0, 1.0]
    array([ 0., -1.,  0.])
    """
    x, y, z = (float(component) for component in np.asarray(axis, dtype=np.float64))
    side = 1.0 if z >= 0.0 else -1.0
    y, z = side * y, side * z
    k = 1.0 / (1.0 + z)
    smallest = np.array([[1.0 - x * x * k, -x * y * k, x], [-x * y * k, 1.0 - y * y * k, y], [-x, -y, z]])
    turned: NDArray[np.float64] = np.array([[1.0], [side], [side]]) * smallest + 0.0
    return turned


def pose(R_ab: Array, p_ab: Array) -> Array:
    """Pose T_ab (4, 4) of frame b seen from a: rotation R_ab (3, 3) and origin p_ab (3,) in metres.

    >>> pose(np.eye(3), np.array([1.0, 2.0, 3.0]))
    array([[1., 0., 0., 1.],
           [0., 1., 0., 2.],
           [0., 0., 1., 3.],
           [0., 0., 0., 1.]])
    """
    return np.array([[*row, p] for row, p in zip(R_ab, p_ab, strict=True)] + [[0.0, 0.0, 0.0, 1.0]])


def rotation_of(T_ab: Array) -> Array:
    """Rotation R_ab (3, 3) of a pose.

    >>> rotation_of(np.eye(4)).shape
    (3, 3)
    """
    return T_ab[:3, :3]


def translation_of(T_ab: Array) -> Array:
    """Origin p_ab (3,) of a pose, metres in a.

    >>> translation_of(np.eye(4))
    array([0., 0., 0.])
    """
    return T_ab[:3, 3]


def inverse_pose(T_ab: Array) -> Array:
    """Pose T_ba of a seen from b (Lynch & Park, Modern Robotics, section 3.3.1).

    >>> T = pose(np.eye(3), np.array([1.0, 2.0, 3.0]))
    >>> np.array_equal(inverse_pose(T) @ T, np.eye(4))
    True
    """
    R_ba = rotation_of(T_ab).T
    return pose(R_ba, -(R_ba @ translation_of(T_ab)))


def adjoint(T_ab: Array) -> Array:
    """Adjoint (6, 6) of a pose: it maps a twist (omega, v) in b to the same twist in a.

    A wrench (m, f) maps from a to b by the transpose (Modern Robotics, sections 3.3.2 and 3.4).

    >>> T = pose(np.eye(3), np.array([1.0, 0.0, 0.0]))
    >>> adjoint(T) @ np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    array([ 0.,  0.,  1.,  0., -1.,  0.])
    """
    R = rotation_of(T_ab)
    pR = skew(translation_of(T_ab)) @ R
    upper = [[*row, 0.0, 0.0, 0.0] for row in R]
    return np.array(upper + [[*left, *right] for left, right in zip(pR, R, strict=True)])


def twist_cross(a: Array, b: Array) -> Array:
    """Rate of change of the twist b carried along by the twist a: the Lie bracket ad_a b (Modern Robotics, 8.2).

    >>> twist_cross(np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]))
    array([0., 0., 0., 0., 1., 0.])
    """
    return np.concatenate([cross(a[:3], b[:3]), cross(a[:3], b[3:]) + cross(a[3:], b[:3])])


ReferenceFrame = Literal["space", "body", "world-aligned"]
REFERENCE_FRAMES: tuple[ReferenceFrame, ...] = ("space", "body", "world-aligned")
"""About the world's origin in the world's axes; about b's origin in b's axes; about b's origin in the world's axes."""


def require_reference_frame(frame: str) -> None:
    """Raise for names other than the three.

    >>> require_reference_frame("body")
    """
    if frame not in REFERENCE_FRAMES:
        raise UnknownNameError("reference frame", frame, REFERENCE_FRAMES)


def mirrored(A: Array) -> Array:
    """The symmetric matrix of the upper triangle of A (3, 3)."""
    return np.array([[A[0, 0], A[0, 1], A[0, 2]], [A[0, 1], A[1, 1], A[1, 2]], [A[0, 2], A[1, 2], A[2, 2]]])
