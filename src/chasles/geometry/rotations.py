"""Rotation matrices: about coordinate axes, from roll-pitch-yaw, from axis and angle, and taking z to an axis.

Every function returns `R_a_b`: multiplied with coordinates in the turned frame b it gives coordinates in frame a.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.engine import cos, sin

_QUARTER_TURNS = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


def cosine_sine(angle: Any) -> tuple[Any, Any]:
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


def rotation_x(angle: Any) -> NDArray[Any]:
    """Rotation about the x axis by `angle` (rad, a number or a traced scalar), shape (3, 3).

    Examples
    --------
    >>> import math
    >>> rotation_x(math.pi / 2) @ [0.0, 1.0, 0.0]
    array([0., 0., 1.])
    """
    c, s = cosine_sine(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rotation_y(angle: Any) -> NDArray[Any]:
    """Rotation about the y axis by `angle` (rad, a number or a traced scalar), shape (3, 3).

    Examples
    --------
    >>> import math
    >>> rotation_y(math.pi / 2) @ [0.0, 0.0, 1.0]
    array([1., 0., 0.])
    """
    c, s = cosine_sine(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rotation_z(angle: Any) -> NDArray[Any]:
    """Rotation about the z axis by `angle` (rad, a number or a traced scalar), shape (3, 3).

    Examples
    --------
    >>> import math
    >>> rotation_z(math.pi / 2) @ [1.0, 0.0, 0.0]
    array([0., 1., 0.])
    """
    c, s = cosine_sine(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_from_roll_pitch_yaw(roll_pitch_yaw: Any) -> NDArray[Any]:
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


def rotation_from_axis_angle(axis: Any, angle: Any) -> NDArray[Any]:
    """Rotation by `angle` about a unit vector (Rodrigues' formula; Lynch and Park, Modern Robotics, eq. 3.51).

    Parameters
    ----------
    axis
        Unit vector, shape (3,).
    angle
        rad, right-handed about `axis`.

    Returns
    -------
    ndarray
        Shape (3, 3).

    Examples
    --------
    >>> import math
    >>> rotation_from_axis_angle([0.0, 0.0, 1.0], math.pi / 2) @ [1.0, 0.0, 0.0]
    array([0., 1., 0.])
    """
    x, y, z = axis
    c, s = cosine_sine(angle)
    v = 1.0 - c
    return np.array(
        [
            [c + x * x * v, x * y * v - z * s, x * z * v + y * s],
            [x * y * v + z * s, c + y * y * v, y * z * v - x * s],
            [x * z * v - y * s, y * z * v + x * s, c + z * z * v],
        ]
    )


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
