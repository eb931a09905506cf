"""SpaceLib's codes, constants and types, and the checks of codes that its routines share."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.comparable import comparable
from chasles.base.errors import ArgumentError
from chasles.geometry.batched import Kind
from chasles.geometry.elementary import Array

OK, NOTOK = 1, 0
"""Whether a routine could do its work. Illegal codes raise `ArgumentError` here; what remains are facts about data."""

X, Y, Z, U = 0, 1, 2, 3
"""Axes and homogeneous coordinates. As an axis of rotation, U means no rotation."""

NOTYPE = -2
"""The type of intersection where there is none to tell: a line or plane has no direction, or numbers are not finite.

The original has no such code.
"""

Rev, Pri = 0, 1
"""Joints: revolute (and screw), prismatic."""

Tor, For = 0, 1
"""Actions: torque, force."""

Row, Col = 0, 1
"""Rows and columns. Section 2.4.3 of the manual prints Col = 0; the header and common sense say 1."""

SYMM, SKEW = 1, -1
"""Symmetric, skew-symmetric."""

PIG_2, PIG, PIG2 = math.pi / 2, math.pi, 2 * math.pi
"""Half of pi, pi, twice pi."""

NULL_MOTION = 1e-14
"""A rotation (rad) or displacement (m) up to this is what rounding leaves of none.

The original asks whether such numbers are exactly 0, which products of matrices seldom are.
"""


def _constant(values: ArrayLike) -> NDArray[np.float64]:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


Xaxis, Yaxis, Zaxis = _constant([1, 0, 0]), _constant([0, 1, 0]), _constant([0, 0, 1])
Xaxis_n, Yaxis_n, Zaxis_n = _constant([-1, 0, 0]), _constant([0, -1, 0]), _constant([0, 0, -1])
ORIGIN = _constant([0, 0, 0, 1])
NULL3, NULL4, UNIT3, UNIT4 = (
    _constant(values) for values in (np.zeros((3, 3)), np.zeros((4, 4)), np.eye(3), np.eye(4))
)


@comparable
class Line(NamedTuple):
    """LINE: the points P + t dir.

    Attributes
    ----------
    P
        A point of the line, [x, y, z, 1], shape (..., 4).
    dir
        Its unit direction, shape (..., 3).
    """

    P: Array
    dir: Array


def _from_point(P: Any) -> Any:
    return np.abs(np.asarray(P, dtype=np.float64)[..., U] - 1.0)


POINT = Kind((4,), "point [x, y, z, 1]", _from_point, "Divide it by its fourth coordinate")


def plain_code(code: Any) -> Any:
    """Return a code that equals a whole number as this number, any other as it is.

    Compiled calls are looked up by equality, so that 3, 3.0 and True + 2 must be the same code at the first call, too.

    Examples
    --------
    >>> plain_code(3.0), plain_code(np.int64(3)), plain_code(3.5), plain_code("3")
    (3, 3, 3.5, '3')
    """
    if code.__class__ is int:
        return code
    try:
        number = int(code.real if isinstance(code, complex | np.complexfloating) else code)
        return number if bool(number == code) else code
    except (TypeError, ValueError, OverflowError):
        return code


def checked_code(code: Any, allowed: dict[str, int], routine: str, what: str) -> int:
    """Return a code as a whole number, or raise `ArgumentError` if a routine does not know it.

    Examples
    --------
    >>> checked_code(Pri, {"Rev": Rev, "Pri": Pri}, "dhtom", "jtype")
    1
    """
    plain = plain_code(code)
    if plain.__class__ is int and plain in allowed.values():
        return int(plain)
    choices = ", ".join(f"{name} ({value})" for name, value in allowed.items())
    raise ArgumentError(f"{routine}: {what} must be one of {choices}, not {code!r}")


def checked_axis(a: Any, routine: str, *, with_u: bool = False, what: str = "the axis a") -> int:
    """Return the code of an axis, X, Y or Z (or U where a routine takes it).

    Examples
    --------
    >>> checked_axis(Z, "axis")
    2
    """
    axes = {"X": X, "Y": Y, "Z": Z, "U": U} if with_u else {"X": X, "Y": Y, "Z": Z}
    return checked_code(a, axes, routine, what)


def checked_joint(jtype: Any, routine: str) -> int:
    """Return the code of a joint's type, Rev or Pri.

    Examples
    --------
    >>> checked_joint(Rev, "makeL")
    0
    """
    return checked_code(jtype, {"Rev": Rev, "Pri": Pri}, routine, "the type of joint jtype")


def checked_sequence(i: Any, j: Any, k: Any, routine: str) -> str:
    """Return the name of a sequence of rotations about the moving axes i, j, k, as `chasles.geometry` calls it.

    Examples
    --------
    >>> checked_sequence(Z, X, Z, "cardantor")
    'ZXZ'
    """
    axes = [checked_axis(a, routine, what=f"the axis {name}") for a, name in ((i, "i"), (j, "j"), (k, "k"))]
    sequence = "".join("XYZ"[a] for a in axes)
    if axes[0] == axes[1] or axes[1] == axes[2]:
        raise ArgumentError(f"{routine}: the axis j must differ from i and from k; the sequence is {sequence}")
    return sequence


def homogeneous(p: Array) -> Array:
    """Return the point [x, y, z, 1] of coordinates [x, y, z].

    Examples
    --------
    >>> homogeneous(np.array([1.0, 2.0, 3.0]))
    array([1., 2., 3., 1.])
    """
    return np.array([*p, 1.0])


def unit_axis(a: int) -> NDArray[np.float64]:
    """Return the unit vector of a frame axis; null for U.

    Examples
    --------
    >>> unit_axis(Y)
    array([0., 1., 0.])
    """
    return np.eye(3, 4)[:, a]
