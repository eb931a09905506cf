"""Points: distances, midpoints, angles, and frames from points and vectors."""

from __future__ import annotations

import numpy as np

from chasles.engine import generally
from chasles.engine.program.scalar import Real
from chasles.engine.validators import choice
from chasles.geometry import elementary
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.vectors import (
    CASE_TOLERANCE,
    angle_between,
    largest_component,
    norm,
    normalize,
    unit_difference,
    unit_direction,
)


@batched(p=(3,), q=(3,))
def distance_between_points(p: Array, q: Array) -> Real:
    """Distance between two points, m.

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
def weighted_point(p: Array, weight_p: Real, q: Array, weight_q: Real) -> Array:
    """Weighted mean of two points.

    Parameters
    ----------
    p, q
        Points, m, shape (..., 3).
    weight_p, weight_q
        Weights, such as masses, shape (...). Only their ratio matters; a negative one gives a point outside.

    Returns
    -------
    ndarray
        ``(weight_p p + weight_q q) / (weight_p + weight_q)``, m, shape (..., 3). Not finite if the weights sum to 0.

    Examples
    --------
    >>> weighted_point([0.0, 0.0, 0.0], 3.0, [4.0, 0.0, 0.0], 1.0)
    array([1., 0., 0.])
    """
    weighted: Array = (weight_p * p + weight_q * q) / (weight_p + weight_q)
    return weighted


@batched(p=(3,), vertex=(3,), q=(3,))
def angle_at_point(p: Array, vertex: Array, q: Array) -> Real:
    """Angle in [0, pi] between the directions from a vertex to two points, rad.

    Parameters
    ----------
    p, q
        The two points, m, shape (..., 3).
    vertex
        Vertex of the angle, m, shape (..., 3).

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


_AXIS_PAIRS = ("XY", "YZ", "ZX", "YX", "ZY", "XZ")


@batched(v1=(3,), v2=(3,))
def rotation_from_two_vectors(v1: Array, v2: Array, axes: str = "XY", tolerance: float = CASE_TOLERANCE) -> Array:
    """Rotation of a frame with one axis along a vector and a second axis towards another vector.

    Parameters
    ----------
    v1
        Direction of the first axis, a vector of any length, shape (..., 3).
    v2
        Vector in the half plane between the first axis and the second, shape (..., 3).
    axes
        First and second axis, any two of X, Y and Z, such as "XY" or "ZX". The remaining axis makes the frame
        right-handed.
    tolerance
        Sine of the angle up to which the vectors count as parallel.

    Returns
    -------
    ndarray
        R_ab, shape (..., 3, 3), orthonormal to rounding also for nearly parallel vectors: its columns are the axes of
        the frame b in the coordinates a of the vectors. Where the vectors are parallel the columns other than that of
        the first axis are NaN, and where v1 is null all are.

    Examples
    --------
    >>> rotation_from_two_vectors([0.0, 0.0, 2.0], [1.0, 0.0, 5.0], "ZX")
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    return _rotation(v1, v2, axes, tolerance)


@batched(p1=(3,), p2=(3,), p3=(3,))
def rotation_from_three_points(
    p1: Array, p2: Array, p3: Array, axes: str = "XY", tolerance: float = CASE_TOLERANCE
) -> Array:
    """Rotation of a frame with one axis from a point to a second one and another axis towards a third one.

    Parameters
    ----------
    p1, p2, p3
        Points, m, shape (..., 3): the first axis is along p2 - p1, the second one points to the side of p3.
    axes
        First and second axis, any two of X, Y and Z. The remaining axis makes the frame right-handed.
    tolerance
        Error of the points, relative to the largest coordinate, within which they count as collinear.

    Returns
    -------
    ndarray
        R_ab, shape (..., 3, 3), with the axes of the frame b as columns. Where the points are collinear the columns
        other than that of the first axis are NaN, and where p1 and p2 coincide all are.

    Examples
    --------
    >>> rotation_from_three_points([1.0, 0.0, 0.0], [1.0, 3.0, 0.0], [1.0, 1.0, 1.0], "YZ")
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    v1, v2 = p2 - p1, p3 - p1
    size = largest_component(p1, p2, p3)
    return _rotation(v1, v2, axes, tolerance * (size / norm(v1) + size / norm(v2)))


@batched(origin=(3,), v1=(3,), v2=(3,))
def pose_from_two_vectors(
    origin: Array, v1: Array, v2: Array, axes: str = "XY", tolerance: float = CASE_TOLERANCE
) -> Array:
    """Pose of a frame at a point, with one axis along a vector and a second axis towards another vector.

    Parameters
    ----------
    origin
        Origin of the frame, m, shape (..., 3).
    v1, v2, axes, tolerance
        See `rotation_from_two_vectors`.

    Returns
    -------
    ndarray
        T_ab, shape (..., 4, 4).

    Examples
    --------
    >>> pose_from_two_vectors([1.0, 2.0, 3.0], [2.0, 0.0, 0.0], [1.0, 1.0, 0.0])
    array([[1., 0., 0., 1.],
           [0., 1., 0., 2.],
           [0., 0., 1., 3.],
           [0., 0., 0., 1.]])
    """
    return elementary.pose(rotation_from_two_vectors(v1, v2, axes, tolerance), origin)


@batched(p1=(3,), p2=(3,), p3=(3,))
def pose_from_three_points(
    p1: Array, p2: Array, p3: Array, axes: str = "XY", tolerance: float = CASE_TOLERANCE
) -> Array:
    """Pose of a frame at a point, with one axis towards a second point and another axis towards a third one.

    Parameters
    ----------
    p1
        Origin of the frame, m, shape (..., 3).
    p2, p3, axes, tolerance
        See `rotation_from_three_points`.

    Returns
    -------
    ndarray
        T_ab, shape (..., 4, 4).

    Examples
    --------
    >>> pose_from_three_points([1.0, 2.0, 3.0], [3.0, 2.0, 3.0], [2.0, 3.0, 3.0])
    array([[1., 0., 0., 1.],
           [0., 1., 0., 2.],
           [0., 0., 1., 3.],
           [0., 0., 0., 1.]])
    """
    return elementary.pose(rotation_from_three_points(p1, p2, p3, axes, tolerance), p1)


def _rotation(v1: Array, v2: Array, axes: str, largest_parallel_sine: Real) -> Array:
    choice(axes, "pair of axes", _AXIS_PAIRS)
    i, j = ("XYZ".index(letter) for letter in axes)
    first, toward = unit_direction(v1), unit_direction(v2)
    # The part of v2 across v1, from the difference of the directions: exact where they are nearly parallel.
    difference = unit_difference(first, toward)
    across = difference - (difference @ first) * first
    second = generally(norm(across) <= largest_parallel_sine, np.nan, normalize(across))
    third = elementary.cross(first, second) if j == (i + 1) % 3 else elementary.cross(second, first)
    columns = {i: first, j: second, 3 - i - j: third}
    return np.array([columns[0], columns[1], columns[2]]).T
