"""Operations on points (section 3.7.1 of the manual). Points are [x, y, z, 1], shape (..., 4)."""

from __future__ import annotations

from chasles.engine import absolute, where
from chasles.engine.program.scalar import Real
from chasles.geometry import angle_at_point, distance_between_points, midpoint
from chasles.geometry.elementary import Array
from chasles.interop.spacelib.codes import POINT, U, homogeneous
from chasles.interop.spacelib.routines import routine

#: A sum of two weights counts as null when it is this small beside them.
_NULL_SUM = 1e-15


@routine(P1=POINT, P2=POINT, P3=POINT)
def angle(P1: Array, P2: Array, P3: Array) -> Real:
    """Angle between three points: the one at P2 between the vectors to P1 and to P3.

    Parameters
    ----------
    P1, P2, P3
        Points, shape (..., 4).

    Returns
    -------
    ndarray
        rad in [0, pi], shape (...), with all digits near 0 and pi; 0 where P2 is P1 or P3.

    Examples
    --------
    >>> angle([1, 0, 0, 1], [0, 0, 0, 1], [0, 2, 0, 1]).round(6)
    np.float64(1.570796)
    """
    return angle_at_point(P1[:U], P2[:U], P3[:U])


@routine(P1=POINT, P2=POINT)
def dist(P1: Array, P2: Array) -> Real:
    """Distance (...) of two points (..., 4), m.

    Examples
    --------
    >>> dist([1, 2, 3, 1], [4, 6, 3, 1])
    np.float64(5.0)
    """
    return distance_between_points(P1[:U], P2[:U])


@routine(P1=POINT, a=(), P2=POINT, b=())
def intermediate(P1: Array, a: Real, P2: Array, b: Real) -> Array:
    """Point between two points by weights, (a P1 + b P2)/(a + b), eq. (3.17).

    Parameters
    ----------
    P1, P2
        Points, shape (..., 4).
    a, b
        Weights, shape (...).

    Returns
    -------
    ndarray
        P, shape (..., 4). Where a + b is 0 the sum is not divided. A sum of 1e-15 of the weights' sizes or less counts
        as 0; the original compares exactly.

    Examples
    --------
    >>> intermediate([0, 0, 0, 1], 3.0, [4, 0, 0, 1], 1.0)
    array([1., 0., 0., 1.])
    """
    total = a + b
    is_null = absolute(total) <= _NULL_SUM * (absolute(a) + absolute(b))
    return homogeneous((a * P1[:U] + b * P2[:U]) / where(is_null, 1.0, total))


@routine(P1=POINT, P2=POINT)
def middle(P1: Array, P2: Array) -> Array:
    """Point (..., 4) halfway between two points (..., 4), eq. (3.18).

    Examples
    --------
    >>> middle([0, 0, 0, 1], [4, 2, 0, 1])
    array([2., 1., 0., 1.])
    """
    return homogeneous(midpoint(P1[:U], P2[:U]))


@routine(P1=POINT, P2=POINT)
def vect(P1: Array, P2: Array) -> Array:
    """Vector (..., 3) from P2 to P1, which is P1 - P2.

    Examples
    --------
    >>> vect([4, 2, 0, 1], [1, 1, 1, 1])
    array([ 3.,  1., -1.])
    """
    return P1[:U] - P2[:U]
