"""Points: distances, points between points, angles at a point."""

from __future__ import annotations

from typing import Any

from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.vectors import angle_between, norm


@batched(p=(3,), q=(3,))
def distance_between_points(p: Array, q: Array) -> Any:
    """Distance of two points, m.

    Parameters
    ----------
    p, q
        Points, m, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (...).

    Examples
    --------
    >>> distance_between_points([1.0, 2.0, 3.0], [4.0, 6.0, 3.0])
    np.float64(5.0)
    """
    return norm(q - p)


@batched(p=(3,), q=(3,))
def midpoint(p: Array, q: Array) -> Array:
    """Point halfway between two points.

    Parameters
    ----------
    p, q
        Points, m, shape (..., 3).

    Returns
    -------
    ndarray
        m, shape (..., 3).

    Examples
    --------
    >>> midpoint([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])
    array([2., 2., 2.])
    """
    return 0.5 * (p + q)


@batched(p=(3,), weight_p=(), q=(3,), weight_q=())
def weighted_point(p: Array, weight_p: Any, q: Array, weight_q: Any) -> Array:
    """Point on the line of two points that divides their distance in the ratio of two weights.

    Parameters
    ----------
    p, q
        Points, m, shape (..., 3).
    weight_p, weight_q
        Weights, such as masses, shape (...). Only their ratio matters; a negative one gives a point outside.

    Returns
    -------
    ndarray
        ``(weight_p p + weight_q q) / (weight_p + weight_q)``, m, shape (..., 3). Not finite where the weights' sum is
        0.

    Examples
    --------
    >>> weighted_point([0.0, 0.0, 0.0], 3.0, [4.0, 0.0, 0.0], 1.0)
    array([1., 0., 0.])
    """
    weighted: Array = (weight_p * p + weight_q * q) / (weight_p + weight_q)
    return weighted


@batched(p=(3,), vertex=(3,), q=(3,))
def angle_at_point(p: Array, vertex: Array, q: Array) -> Any:
    """Angle in [0, pi] at which two points are seen from a third, rad.

    Parameters
    ----------
    p, q
        The two points, m, shape (..., 3).
    vertex
        The point of the angle, m, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (...), with all digits near 0 and pi; 0 where the vertex coincides with one of the points.

    Examples
    --------
    >>> angle_at_point([1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0])
    np.float64(1.5707963267948966)
    """
    return angle_between(p - vertex, q - vertex)
