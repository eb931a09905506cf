"""Degrees of freedom of each kind of joint: its rotations and translations, and the names of its coordinates.

Most joints have one coordinate for each degree of freedom, whose rate is the velocity. A spherical and a free joint
have a unit quaternion (w, x, y, z), the free one also a position; their velocities are the angular velocity and the
velocity of the moved joint frame, relative to the joint frame at rest and in the moved axes, so that there are fewer
velocities than coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, assert_never, get_args

import numpy as np
from numpy.typing import NDArray

from chasles.geometry.elementary import rotation_taking_z_to

JointKind = Literal[
    "revolute",
    "continuous",
    "prismatic",
    "helical",
    "universal",
    "cylindrical",
    "planar",
    "spherical",
    "free",
    "fixed",
]
JOINT_KINDS: tuple[JointKind, ...] = get_args(JointKind)
_ANGULAR = ("wx", "wy", "wz")
_QUATERNION = ("qw", "qx", "qy", "qz")
#: Coordinates and velocities of joints with several degrees of freedom.
_LABELS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "universal": (("first", "second"), ("first", "second")),
    "cylindrical": (("angle", "distance"), ("angle", "distance")),
    "planar": (("x", "y", "angle"), ("x", "y", "angle")),
    "spherical": (_QUATERNION, _ANGULAR),
    "free": ((*_QUATERNION, "x", "y", "z"), (*_ANGULAR, "vx", "vy", "vz")),
}


@dataclass(frozen=True)
class Freedom:
    """One rotation or translation.

    Parameters
    ----------
    direction
        In the joint frame, shape (3,); of a spherical or free joint in the moved joint frame.
    angular
        1 for a rotation, 0 for a translation.
    pitch
        Travel along the direction for each unit of the coordinate: 1.0 for a translation, m/rad for a helical joint.
    velocity
        Number of its velocity among those of the joint.
    """

    direction: NDArray[np.float64]
    angular: float
    pitch: float
    velocity: int


def coordinate_labels(kind: JointKind) -> tuple[str, ...]:
    """Suffixes that distinguish the coordinates of one joint; an empty text for the only one.

    Examples
    --------
    >>> coordinate_labels("planar"), coordinate_labels("revolute"), coordinate_labels("fixed")
    (('x', 'y', 'angle'), ('',), ())
    """
    return () if kind == "fixed" else _LABELS.get(kind, (("",), ("",)))[0]


def velocity_labels(kind: JointKind) -> tuple[str, ...]:
    """Suffixes that distinguish the velocities of one joint.

    Examples
    --------
    >>> velocity_labels("spherical")
    ('wx', 'wy', 'wz')
    """
    return () if kind == "fixed" else _LABELS.get(kind, (("",), ("",)))[1]


@cache
def displacement_units(kind: JointKind) -> tuple[str, ...]:
    """Units of displacements of a joint, which are those of its velocities times s.

    Examples
    --------
    >>> displacement_units("cylindrical")
    ('rad', 'm')
    """
    of_kind = freedoms(kind, np.array([0.0, 0.0, 1.0]), 0.0, np.array([0.0, 1.0, 0.0]))
    return tuple("rad" if freedom.angular else "m" for freedom in sorted(of_kind, key=lambda freedom: freedom.velocity))


def coordinate_units(kind: JointKind) -> tuple[str, ...]:
    """Units of the coordinates of a joint; an empty text for the elements of a quaternion.

    Examples
    --------
    >>> coordinate_units("free"), coordinate_units("planar")
    (('', '', '', '', 'm', 'm', 'm'), ('m', 'm', 'rad'))
    """
    units = displacement_units(kind)
    return (*("",) * 4, *units[3:]) if has_quaternion(kind) else units


def has_quaternion(kind: JointKind) -> bool:
    """Whether a kind of joint has a unit quaternion among its coordinates.

    Examples
    --------
    >>> has_quaternion("free"), has_quaternion("planar")
    (True, False)
    """
    return kind in ("spherical", "free")


def freedoms(
    kind: JointKind, axis: NDArray[np.float64], pitch: float, second_axis: NDArray[np.float64]
) -> tuple[Freedom, ...]:
    """Return the degrees of freedom of a joint, in the order in which they move the child.

    Parameters
    ----------
    kind, axis, pitch, second_axis
        See `Joint`.

    Examples
    --------
    >>> z = np.array([0.0, 0.0, 1.0])
    >>> [freedom.angular for freedom in freedoms("planar", z, 0.0, z)]  # two translations, then a rotation
    [0.0, 0.0, 1.0]
    """
    match kind:
        case "fixed":
            return ()
        case "revolute" | "continuous" | "helical":
            return (Freedom(axis, 1.0, pitch, 0),)
        case "prismatic":
            return (Freedom(axis, 0.0, 1.0, 0),)
        case "universal":
            return Freedom(axis, 1.0, 0.0, 0), Freedom(second_axis, 1.0, 0.0, 1)
        case "cylindrical":
            return Freedom(axis, 1.0, 0.0, 0), Freedom(axis, 0.0, 1.0, 1)
        case "planar":
            x, y, _ = rotation_taking_z_to(axis).T
            return Freedom(x, 0.0, 1.0, 0), Freedom(y, 0.0, 1.0, 1), Freedom(axis, 1.0, 0.0, 2)
        case "spherical" | "free":
            # The rotation about z first: the first of the frames is then that of the joint, without a change of axes.
            rotations = tuple(Freedom(np.eye(3)[k], 1.0, 0.0, k) for k in (2, 0, 1))
            translations = tuple(Freedom(np.eye(3)[k], 0.0, 1.0, 3 + k) for k in range(3))
            return rotations + translations if kind == "free" else rotations
    assert_never(kind)
