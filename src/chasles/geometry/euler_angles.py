"""Euler and Cardan angles: the twelve sequences of three axes, to and from rotations.

A sequence is named by three letters, as in SciPy: capital letters for rotations about the axes that move with the body
("XYZ", intrinsic), small letters for rotations about the fixed axes ("xyz", extrinsic). With the angles in the order of
the letters,

    "XYZ":  R = Rx(q1) Ry(q2) Rz(q3)        "xyz":  R = Rz(q3) Ry(q2) Rx(q1)

A sequence of three axes is called Cardan (or Tait-Bryan), one that comes back to its first axis Euler (proper Euler).
"""

from __future__ import annotations

from math import pi
from typing import Any, NamedTuple

import numpy as np

from chasles.base.comparable import comparable
from chasles.base.errors import UnknownNameError
from chasles.engine import atan2, generally, sqrt, where
from chasles.engine.program.scalar import Real
from chasles.engine.symbols import is_symbol
from chasles.geometry import elementary
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.projections import ROTATION

_INTRINSIC = ("XYZ", "YZX", "ZXY", "ZYX", "XZY", "YXZ", "XYX", "YZY", "ZXZ", "ZYZ", "XZX", "YXY")
EULER_SEQUENCES: tuple[str, ...] = _INTRINSIC + tuple(name.lower() for name in _INTRINSIC)
"""Names of all sequences: the twelve about moving axes, then the twelve about fixed axes."""

SINGULAR_TOLERANCE = 1e-7
"""Sine of the middle angle's distance from its singular values below which results are flagged as singular. There the
first and the third angle alone are known to half of the digits or fewer."""

#: The same sine where a middle angle cannot be told from a singular one: the rounding errors of a rotation matrix.
_ROUNDING = 4e-16

ELEMENTARY_ROTATIONS = (elementary.rotation_x, elementary.rotation_y, elementary.rotation_z)


class EulerSequence(NamedTuple):
    """A sequence taken apart.

    Attributes
    ----------
    axes
        The three axes as numbers: 0 is x, 1 is y, 2 is z.
    intrinsic
        Whether the axes move with the body.
    orientation
        1.0 where the second axis follows the first in the cycle x, y, z, x; else -1.0.
    """

    axes: tuple[int, int, int]
    intrinsic: bool
    orientation: float

    @property
    def repeats(self) -> bool:
        """Whether the last axis is the first one again (Euler); otherwise all three differ (Cardan)."""
        return self.axes[0] == self.axes[2]


def euler_sequence(name: str) -> EulerSequence:
    """Return the sequence of a name such as "XYZ" or "zxz".

    Raises
    ------
    UnknownNameError
        If there is no such sequence; the message lists them all.

    Examples
    --------
    >>> euler_sequence("ZYX")
    EulerSequence(axes=(2, 1, 0), intrinsic=True, orientation=-1.0)
    """
    if name not in EULER_SEQUENCES:
        raise UnknownNameError("sequence of axes", str(name), EULER_SEQUENCES)
    i, j, k = ("xyz".index(letter) for letter in name.lower())
    return EulerSequence((i, j, k), name.isupper(), 1.0 if j == (i + 1) % 3 else -1.0)


@batched(angles=(3,))
def rotation_from_euler_angles(angles: Array, sequence: str) -> Array:
    """Rotation from Euler or Cardan angles: three successive rotations about coordinate axes.

    Parameters
    ----------
    angles
        The three angles in the order of the sequence's letters, rad, shape (..., 3).
    sequence
        One of `EULER_SEQUENCES`: capital letters for axes that move with the body ("XYZ" gives Rx Ry Rz), small letters
        for fixed axes ("xyz" gives Rz Ry Rx).

    Returns
    -------
    ndarray
        R, shape (..., 3, 3).

    Examples
    --------
    >>> rotation_from_euler_angles([0.0, 0.0, np.pi / 2], "XYZ").round(15) + 0.0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    axes, intrinsic, _ = euler_sequence(sequence)
    first, second, third = (ELEMENTARY_ROTATIONS[axis](angle) for axis, angle in zip(axes, angles, strict=True))
    R: Array = first @ second @ third if intrinsic else third @ second @ first
    return R


@batched(R=ROTATION)
def euler_angles_from_rotation(R: Array, sequence: str) -> Array:
    """Euler or Cardan angles of a rotation: the solution whose middle angle is in [-pi/2, pi/2] or [0, pi].

    The angles reproduce R to rounding, also at and near the singularity. `euler_angle_solutions` also returns the other
    solution, and flags singular rotations.

    Parameters
    ----------
    R
        Rotation, shape (..., 3, 3).
    sequence
        One of `EULER_SEQUENCES`: capital letters for axes that move with the body, small letters for fixed axes.

    Returns
    -------
    ndarray
        The three angles in the order of the sequence's letters, rad, shape (..., 3). The middle angle is in
        [-pi/2, pi/2] for three different axes (Cardan), in [0, pi] for a repeated axis (Euler), the others are in
        (-pi, pi]. At the singularity (middle angle at an end of its interval, to rounding) the third angle is 0.

    Notes
    -----
    For a matrix that is not quite a rotation these are the arc sine (Cardan) or the arc cosine (Euler) of one entry and
    the angles of its neighbours in the same row and column, as long as that entry is below 0.95.

    Examples
    --------
    >>> R = rotation_from_euler_angles([0.1, -0.2, 0.3], "ZYX")
    >>> euler_angles_from_rotation(R, "ZYX")
    array([ 0.1, -0.2,  0.3])
    """
    return np.array(_first_solution(R, sequence)[:3])


@comparable
class EulerAngles(NamedTuple):
    """Both solutions of the extraction of Euler angles.

    Attributes
    ----------
    first
        The solution with the middle angle in [-pi/2, pi/2] (Cardan) or [0, pi] (Euler), rad, shape (..., 3).
    second
        The other one, rad, shape (..., 3).
    singular
        Whether the rotation is so near to the singularity that the first and the third angle are ill-determined, shape
        (...).
    """

    first: Array
    second: Array
    singular: Array


@batched(R=ROTATION, dtypes={"singular": bool})
def euler_angle_solutions(R: Array, sequence: str, tolerance: float = SINGULAR_TOLERANCE) -> EulerAngles:
    """Both sets of Euler or Cardan angles of a rotation.

    Parameters
    ----------
    R
        Rotation, shape (..., 3, 3).
    sequence
        One of `EULER_SEQUENCES`: capital letters for axes that move with the body, small letters for fixed axes.
    tolerance
        Bound on the middle angle's cosine (Cardan) or sine (Euler) up to which the rotation is flagged as singular.
        The error of the first and the third angle is the error of R divided by that cosine or sine.

    Returns
    -------
    EulerAngles
        ``first``, ``second``, ``singular``. Each solution, flagged or not, reproduces R to rounding. All angles are in
        (-pi, pi]. At the singularity, to rounding, the third angle of the first solution is 0.

    Examples
    --------
    >>> solutions = euler_angle_solutions(rotation_from_euler_angles([0.1, -0.2, 0.3], "ZYX"), "ZYX")
    >>> solutions.first.round(6), solutions.second.round(6), solutions.singular
    (array([ 0.1, -0.2,  0.3]), array([-3.041593, -2.941593, -2.841593]), np.False_)
    """
    *first, distance = _first_solution(R, sequence)
    second = _other_solution(np.array(first), sequence)
    return EulerAngles(np.array(first), second, where(distance <= tolerance, 1.0, 0.0))


@batched(angles=(3,))
def other_euler_angles(angles: Array, sequence: str) -> Array:
    """Other set of Euler or Cardan angles of the same rotation.

    Parameters
    ----------
    angles
        The three angles, rad in [-pi, pi], shape (..., 3).
    sequence
        One of `EULER_SEQUENCES`.

    Returns
    -------
    ndarray
        Angles that differ by pi about the first and the third axis, rad in (-pi, pi], shape (..., 3).

    Examples
    --------
    >>> other_euler_angles([0.0, 1.0, 0.0], "ZXZ").round(6)
    array([ 3.141593, -1.      ,  3.141593])
    """
    return _other_solution(angles, sequence)


def _first_solution(R: Array, sequence: str) -> tuple[Any, Any, Any, Any]:
    """Return the three angles, and the sine of the middle one's distance from its singular values."""
    (i, j, k), intrinsic, orientation = euler_sequence(sequence)
    if not intrinsic:
        # Transposed, the same turns are made about moving axes, all backwards; in a frame of the other handedness
        # they are made forwards.
        R, orientation = R.T, -orientation
    n, m = 3 - i - j, 3 - j - k  # the axis besides the first and the second, and besides the second and the third
    # One entry depends on the middle angle only. In its row and its column are the cosine and the sine of the third and
    # of the first angle, times the cosine (Cardan) or sine (Euler) of the middle one.
    if i != k:
        entry, sign = orientation * R[i, k], -orientation
        cosine_third, sine_third = R[i, i], -orientation * R[i, j]
        cosine_first, sine_first = R[k, k], -orientation * R[j, k]
    else:
        entry, sign = R[i, i], orientation
        cosine_third, sine_third = orientation * R[i, n], R[i, j]
        cosine_first, sine_first = -orientation * R[n, i], R[j, i]
    if any(map(is_symbol, R.flat)):  # what follows is the same away from the singularity
        distance = sqrt(1.0 - entry * entry)
        second = atan2(entry, distance) if i != k else atan2(distance, entry)
        return atan2(sine_first, cosine_first), second, atan2(sine_third, cosine_third), distance
    near = entry * entry > 0.9
    squared = where(near, cosine_third * cosine_third + sine_third * sine_third, 1.0 - entry * entry)
    locked = squared <= _ROUNDING**2
    cosine_third, sine_third = where(locked, 1.0, cosine_third), where(locked, 0.0, sine_third)

    # Near the singularity the first angle is taken from R with the third turn undone, so that it makes up for the error
    # of the third: from the column of the second axis, which the second turn leaves in place.
    cosine_undone = cosine_third * R[j, j] - sign * sine_third * R[j, m]
    sine_undone = orientation * (cosine_third * R[n, j] - sign * sine_third * R[n, m])
    first = atan2(where(near, sine_undone, sine_first), where(near, cosine_undone, cosine_first))
    third = atan2(sine_third, cosine_third)
    distance = sqrt(squared)
    second = atan2(entry, distance) if i != k else atan2(distance, entry)

    angles = _half_turn_positive(first), second, _half_turn_positive(third)
    total = R.sum()  # NaN if any entry is, also one that the angles do not depend on
    first, second, third = (where(total == total, angle, total) for angle in angles)
    return first, second, third, distance


def _other_solution(angles: Array, sequence: str) -> Array:
    first, second, third = angles
    if euler_sequence(sequence).repeats:
        opposite = -second
    else:
        opposite = where(second < 0.0, -pi, pi) - second
    turned = where(first > 0.0, first - pi, first + pi), opposite, where(third > 0.0, third - pi, third + pi)
    return np.array([_half_turn_positive(angle) for angle in turned])


def _half_turn_positive(angle: Real) -> Real:
    return generally(angle <= -pi, pi, angle)
