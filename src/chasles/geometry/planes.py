"""Planes: four coefficients [a, b, c, d] with ``a x + b y + c z + d = 0`` and the normal (a, b, c).

The functions that make planes give unit normals, so that d is the signed distance of the origin from the plane:
positive on the side to which the normal points. Those that take planes accept normals of any length but zero.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from chasles.base.comparable import comparable
from chasles.engine import absolute, generally, maximum, where
from chasles.engine.program.scalar import Real
from chasles.geometry import elementary, vectors
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.vectors import (
    CASE_TOLERANCE,
    are_finite,
    cross_of_directions,
    is_parallel,
    largest_component,
    norm,
    normalize,
    same_side,
    unit_difference,
    unit_direction,
)


@comparable
class PlaneProjection(NamedTuple):
    """A point's projection on a plane.

    Attributes
    ----------
    point
        The plane's point nearest to the given one, m, shape (..., 3).
    distance
        Signed distance of the given point, positive on the side to which the normal points, m, shape (...).
    """

    point: Array
    distance: Array


class PlanePair(IntEnum):
    """Relative position of two planes; undefined where a normal is null or a result is not finite."""

    UNDEFINED = vectors.UNDEFINED
    SAME = -1
    INTERSECTING = 0
    PARALLEL = 2


@comparable
class PlaneIntersection(NamedTuple):
    """The line in which two planes meet.

    Attributes
    ----------
    kind
        A `PlanePair` for each sample, shape (...).
    point
        The line's point nearest to the origin, m, shape (..., 3); NaN where the planes are parallel or the same.
    direction
        Unit vector along normal1 x normal2, shape (..., 3); NaN where the planes are parallel or the same.
    """

    kind: Array
    point: Array
    direction: Array


class LinePlanePair(IntEnum):
    """Position of a line relative to a plane; undefined where direction or normal is null or a result is not finite."""

    UNDEFINED = vectors.UNDEFINED
    PARALLEL = -1
    INTERSECTING = 0
    CONTAINED = 1


@comparable
class LinePlaneIntersection(NamedTuple):
    """The point in which a line meets a plane.

    Attributes
    ----------
    kind
        A `LinePlanePair` for each sample, shape (...).
    point
        The common point, m, shape (..., 3): for a line in the plane, its given point; NaN for a line parallel to the
        plane and outside of it.
    """

    kind: Array
    point: Array


@batched(p=(3,), normal=(3,))
def plane_from_point_and_normal(p: Array, normal: Array) -> Array:
    """Plane through a point with a given normal.

    Parameters
    ----------
    p
        Point of the plane, m, shape (..., 3).
    normal
        Vector of any length, shape (..., 3).

    Returns
    -------
    ndarray
        [a, b, c, d] with a unit normal, shape (..., 4); NaN where the normal is null.

    Examples
    --------
    >>> plane_from_point_and_normal([7.0, 0.0, 5.0], [0.0, 0.0, 2.0])
    array([ 0.,  0.,  1., -5.])
    """
    n = unit_direction(normal)
    return np.array([*n, -(n @ p)])


@batched(p1=(3,), p2=(3,), p3=(3,))
def plane_through_points(p1: Array, p2: Array, p3: Array, tolerance: float = CASE_TOLERANCE) -> Array:
    """Plane through three points.

    Parameters
    ----------
    p1, p2, p3
        Points, m, shape (..., 3).
    tolerance
        Error of the points, relative to the largest coordinate, within which they count as collinear.

    Returns
    -------
    ndarray
        [a, b, c, d] with the unit normal along (p1 - p2) x (p3 - p2), shape (..., 4); NaN where the points are
        collinear.

    Examples
    --------
    >>> plane_through_points([1.0, 0.0, 5.0], [0.0, 0.0, 5.0], [0.0, 1.0, 5.0])
    array([ 0.,  0.,  1., -5.])
    """
    to_p1, to_p3 = p1 - p2, p3 - p2
    normal = elementary.cross(to_p1, to_p3)
    error = tolerance * largest_component(p1, p2, p3) * (norm(to_p1) + norm(to_p3))
    n = where(norm(normal) <= error, np.nan, normalize(normal))
    return np.array([*n, -(n @ p2)])


@batched(p=(3,), plane=(4,))
def distance_to_plane(p: Array, plane: Array) -> Real:
    """Signed distance of a point from a plane, positive on the side to which the normal points.

    Parameters
    ----------
    p
        Point, m, shape (..., 3).
    plane
        [a, b, c, d], shape (..., 4).

    Returns
    -------
    ndarray
        m, shape (...); NaN where the normal is null.

    Examples
    --------
    >>> distance_to_plane([1.0, 2.0, 3.0], [0.0, 0.0, 1.0, -5.0])
    np.float64(-2.0)
    """
    n, d = _normal_form(plane)
    return n @ p + d


@batched(p=(3,), plane=(4,))
def project_point_on_plane(p: Array, plane: Array) -> PlaneProjection:
    """Point of a plane that is nearest to a point, and the signed distance.

    Parameters
    ----------
    p
        Point to project, m, shape (..., 3).
    plane
        [a, b, c, d], shape (..., 4).

    Returns
    -------
    PlaneProjection
        ``point`` and ``distance``; NaN where the normal is null.

    Examples
    --------
    >>> project_point_on_plane([1.0, 2.0, 3.0], [0.0, 0.0, 1.0, -5.0])
    PlaneProjection(point=array([1., 2., 5.]), distance=np.float64(-2.0))
    """
    n, d = _normal_form(plane)
    distance = n @ p + d
    return PlaneProjection(p - distance * n, distance)


@batched(plane1=(4,), plane2=(4,), dtypes={"kind": int})
def intersect_planes(
    plane1: Array, plane2: Array, tolerance: float = CASE_TOLERANCE, absolute_tolerance: float = 0.0
) -> PlaneIntersection:
    """Find the line in which two planes meet.

    Parameters
    ----------
    plane1, plane2
        [a, b, c, d], shape (..., 4).
    tolerance
        Sine of the angle up to which the planes count as parallel, and difference of their distances from the origin
        up to which parallel planes count as the same, in parts of the larger distance.
    absolute_tolerance
        Distance in metres up to which parallel planes count as the same in any case.

    Returns
    -------
    PlaneIntersection
        ``kind``, ``point``, ``direction``; NaN where a normal is null.

    Examples
    --------
    >>> result = intersect_planes([0.0, 0.0, 1.0, -5.0], [1.0, 0.0, 0.0, -2.0])
    >>> PlanePair(result.kind).name, result.point, result.direction
    ('INTERSECTING', array([2., 0., 5.]), array([-0.,  1.,  0.]))
    """
    (n1, d1), (n2, d2) = _normal_form(plane1), _normal_form(plane2)
    direction = cross_of_directions(n1, n2)
    squared_sine = direction @ direction
    gap = d2 - same_side(n1, n2) * d1
    # This is d2 n1 - d1 n2, by differences that stay exact for nearly parallel planes.
    toward_line = gap * n1 - d1 * unit_difference(n1, n2)
    point = elementary.cross(toward_line, direction) / squared_sine

    parallel = is_parallel(squared_sine, tolerance)
    same = absolute(gap) <= maximum(tolerance * largest_component(np.array([d1, d2])), absolute_tolerance)
    kind = generally(
        parallel,
        generally(same, float(PlanePair.SAME), float(PlanePair.PARALLEL)),
        float(PlanePair.INTERSECTING),
    )
    line = point, normalize(direction)
    defined = are_finite(np.array([gap, squared_sine])) & (parallel | are_finite(*line))
    point, direction = (generally(parallel, np.full(3, np.nan), where(defined, vector, np.nan)) for vector in line)
    return PlaneIntersection(where(defined, kind, float(PlanePair.UNDEFINED)), point, direction)


@batched(p=(3,), direction=(3,), plane=(4,), dtypes={"kind": int})
def intersect_line_and_plane(
    p: Array,
    direction: Array,
    plane: Array,
    tolerance: float = CASE_TOLERANCE,
    absolute_tolerance: float = 0.0,
) -> LinePlaneIntersection:
    """Find the point in which a line meets a plane.

    Parameters
    ----------
    p, direction
        The line: a point of it, m, and its direction of any length, shapes (..., 3).
    plane
        [a, b, c, d], shape (..., 4).
    tolerance
        Sine of the angle up to which the line counts as parallel to the plane, and distance up to which a parallel line
        counts as lying in it, in parts of the largest coordinate of p or the origin's distance from the plane.
    absolute_tolerance
        Distance in metres up to which a parallel line counts as lying in the plane in any case.

    Returns
    -------
    LinePlaneIntersection
        ``kind`` and ``point``; NaN where the direction or the normal is null.

    Examples
    --------
    >>> result = intersect_line_and_plane([0.0, 6.0, 10.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0, -5.0])
    >>> LinePlanePair(result.kind).name, result.point
    ('INTERSECTING', array([0., 6., 5.]))
    """
    n, d = _normal_form(plane)
    u = unit_direction(direction)
    distance = n @ p + d
    sine = n @ u
    parallel = absolute(sine) <= tolerance
    size = maximum(largest_component(p), absolute(d))
    contained = absolute(distance) <= maximum(tolerance * size, absolute_tolerance)
    kind = where(
        parallel,
        where(contained, float(LinePlanePair.CONTAINED), float(LinePlanePair.PARALLEL)),
        float(LinePlanePair.INTERSECTING),
    )
    along = where(parallel, where(contained, 0.0, np.nan), -distance / where(parallel, 1.0, sine))
    point = p + along * u
    never_meet = parallel & (absolute(distance) < np.inf)
    defined = are_finite(point) | never_meet
    kind = where(defined, kind, float(LinePlanePair.UNDEFINED))
    return LinePlaneIntersection(kind, where(defined, point, np.nan))


def _normal_form(plane: Array) -> tuple[Array, Any]:
    """Return the unit normal, and d for it."""
    normal = plane[:3]
    length = where(absolute(normal @ normal - 1.0) <= 1e-15, 1.0, norm(normal))
    return normal / length, plane[3] / length
