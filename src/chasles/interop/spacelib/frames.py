"""Frames attached to points or vectors, and their axes (section 3.6 of the manual)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.geometry import elementary, rotation_from_three_points, rotation_from_two_vectors
from chasles.geometry.elementary import Array
from chasles.interop.spacelib.codes import POINT, U, checked_axis, unit_axis
from chasles.interop.spacelib.routines import routine
from chasles.interop.spacelib.sizes import embedded


@routine(P1=POINT, P2=POINT, P3=POINT)
def frameP(P1: Array, P2: Array, P3: Array, a1: int, a2: int, dim: int = 3) -> Array:
    """Rotation of a frame attached to three points.

    Parameters
    ----------
    P1, P2, P3
        Points, [x, y, z, 1], shape (..., 4). Axis a1 is directed from P1 to P2, axis a2 to the side of P3.
    a1, a2
        Two different ones of `X`, `Y` and `Z`. The third axis makes the frame right-handed.
    dim
        Size of the result, 3 or more.

    Returns
    -------
    ndarray
        Shape (..., dim, dim): the rotation in the upper-left 3×3 part of an identity. Where the points are on a line,
        up to 1e-12 of their largest coordinate, there is no such frame: the columns of a2 and of the third axis are
        NaN, and where P1 is P2 all three. (The original makes them null, and goes on with a singular matrix.)

    Examples
    --------
    >>> from chasles.interop.spacelib import X, Y
    >>> frameP([5, 4, 3, 1], [5, 6, 4, 1], [5, 5, 5, 1], X, Y).round(3) + 0.0
    array([[ 0.   ,  0.   ,  1.   ],
           [ 0.894, -0.447,  0.   ],
           [ 0.447,  0.894,  0.   ]])
    """
    return embedded(_rotation_of_points(P1, P2, P3, _axes(a1, a2, "frameP")), dim, "frameP", diagonal=1.0)


@routine(P1=POINT, P2=POINT, P3=POINT)
def frameP3(P1: Array, P2: Array, P3: Array, a1: int, a2: int) -> Array:
    """Rotation (..., 3, 3) of a frame attached to three points: ``frameP(P1, P2, P3, a1, a2, 3)``.

    Examples
    --------
    >>> from chasles.interop.spacelib import X, Y
    >>> frameP3([0, 0, 0, 1], [2, 0, 0, 1], [0, 2, 0, 1], X, Y)[0]
    array([1., 0., 0.])
    """
    return _rotation_of_points(P1, P2, P3, _axes(a1, a2, "frameP3"))


@routine(P1=POINT, P2=POINT, P3=POINT)
def frameP4(P1: Array, P2: Array, P3: Array, a1: int, a2: int) -> Array:
    """Matrix (..., 4, 4) with the rotation of a frame attached to points: ``frameP(P1, P2, P3, a1, a2, 4)``.

    Examples
    --------
    >>> from chasles.interop.spacelib import X, Y
    >>> frameP4([3, 0, 0, 1], [5, 0, 0, 1], [3, 2, 0, 1], X, Y)[0]
    array([1., 0., 0., 0.])
    """
    return embedded(_rotation_of_points(P1, P2, P3, _axes(a1, a2, "frameP4")), 4, "frameP4", diagonal=1.0)


@routine(P1=POINT, P2=POINT, P3=POINT)
def frame4P(P1: Array, P2: Array, P3: Array, a1: int, a2: int) -> Array:
    """Position matrix (..., 4, 4) of a frame attached to three points, with its origin in P1; see `frameP`.

    Examples
    --------
    >>> from chasles.interop.spacelib import X, Y
    >>> frame4P([5, 4, 3, 1], [5, 6, 4, 1], [5, 5, 5, 1], X, Y).round(3) + 0.0
    array([[ 0.   ,  0.   ,  1.   ,  5.   ],
           [ 0.894, -0.447,  0.   ,  4.   ],
           [ 0.447,  0.894,  0.   ,  3.   ],
           [ 0.   ,  0.   ,  0.   ,  1.   ]])
    """
    return elementary.pose(_rotation_of_points(P1, P2, P3, _axes(a1, a2, "frame4P")), P1[:U])


@routine(v1=(3,), v2=(3,))
def frameV(v1: Array, v2: Array, a1: int, a2: int, dim: int = 3) -> Array:
    """Rotation of a frame attached to two vectors.

    Parameters
    ----------
    v1, v2
        Vectors, shape (..., 3). Axis a1 is directed as v1, axis a2 to the side of v2.
    a1, a2
        Two different ones of `X`, `Y` and `Z`. The third axis makes the frame right-handed, so it is along v1 x v2, as
        the manual says, only where a1, a2 is X, Y or Y, Z or Z, X.
    dim
        Size of the result, 3 or more.

    Returns
    -------
    ndarray
        Shape (..., dim, dim): the rotation in the upper-left 3×3 part of an identity. Where the vectors are parallel,
        up to an angle of 1e-12, there is no such frame: the columns of a2 and of the third axis are NaN, and where v1
        is null all three. (The original makes them null, and goes on with a singular matrix.)

    Examples
    --------
    >>> from chasles.interop.spacelib import X, Y
    >>> frameV([0, 2, 1], [0, 1, 2], X, Y).round(3) + 0.0
    array([[ 0.   ,  0.   ,  1.   ],
           [ 0.894, -0.447,  0.   ],
           [ 0.447,  0.894,  0.   ]])
    """
    return embedded(_rotation_of_vectors(v1, v2, _axes(a1, a2, "frameV")), dim, "frameV", diagonal=1.0)


@routine(v1=(3,), v2=(3,))
def frameV3(v1: Array, v2: Array, a1: int, a2: int) -> Array:
    """Rotation (..., 3, 3) of a frame attached to two vectors: ``frameV(v1, v2, a1, a2, 3)``.

    Examples
    --------
    >>> from chasles.interop.spacelib import Y, Z
    >>> frameV3([0, 2, 0], [0, 0, 3], Y, Z)[0]
    array([1., 0., 0.])
    """
    return _rotation_of_vectors(v1, v2, _axes(a1, a2, "frameV3"))


@routine(v1=(3,), v2=(3,))
def frameV4(v1: Array, v2: Array, a1: int, a2: int) -> Array:
    """Matrix (..., 4, 4) with the rotation of a frame attached to vectors: ``frameV(v1, v2, a1, a2, 4)``.

    Examples
    --------
    >>> from chasles.interop.spacelib import Y, Z
    >>> frameV4([0, 2, 0], [0, 0, 3], Y, Z)[0]
    array([1., 0., 0., 0.])
    """
    return embedded(_rotation_of_vectors(v1, v2, _axes(a1, a2, "frameV4")), 4, "frameV4", diagonal=1.0)


@routine(P1=POINT, v1=(3,), v2=(3,))
def frame4V(P1: Array, v1: Array, v2: Array, a1: int, a2: int) -> Array:
    """Position matrix (..., 4, 4) of a frame attached to two vectors, with its origin in P1; see `frameV`.

    Examples
    --------
    >>> from chasles.interop.spacelib import X, Y
    >>> frame4V([5, 4, 3, 1], [0, 2, 1], [0, 1, 2], X, Y)[:, 3]
    array([5., 4., 3., 1.])
    """
    return elementary.pose(_rotation_of_vectors(v1, v2, _axes(a1, a2, "frame4V")), P1[:U])


def axis(n: int) -> NDArray[np.float64]:
    """Unit vector (3,) of a frame axis, `X`, `Y` or `Z`.

    Examples
    --------
    >>> from chasles.interop.spacelib import Y
    >>> axis(Y)
    array([0., 1., 0.])
    """
    return unit_axis(checked_axis(n, "axis", what="the axis n"))


def _axes(a1: int, a2: int, routine: str) -> str:
    first, second = checked_axis(a1, routine, what="the axis a1"), checked_axis(a2, routine, what="the axis a2")
    if first == second:
        raise ArgumentError(f"{routine}: the axes a1 and a2 must differ; both are {'XYZ'[first]}")
    return "XYZ"[first] + "XYZ"[second]


def _rotation_of_points(P1: Array, P2: Array, P3: Array, axes: str) -> Array:
    R: Array = rotation_from_three_points(P1[:U], P2[:U], P3[:U], axes)
    return R


def _rotation_of_vectors(v1: Array, v2: Array, axes: str) -> Array:
    R: Array = rotation_from_two_vectors(v1, v2, axes)
    return R
