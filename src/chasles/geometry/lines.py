"""Lines in space: a point and a direction.

A line is the points ``point + t direction``. The functions that make lines give unit directions; those that take lines
accept directions of any length but zero.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

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
    unit_direction,
)


@comparable
class Line(NamedTuple):
    """A line in space.

    Attributes
    ----------
    point
        A point of the line, m, shape (..., 3).
    direction
        Direction, shape (..., 3).
    """

    point: Array
    direction: Array


@comparable
class LineProjection(NamedTuple):
    """A point's projection on a line.

    Attributes
    ----------
    point
        The line's point nearest to the given one, m, shape (..., 3).
    distance
        Distance from it, m, shape (...).
    """

    point: Array
    distance: Real


class LinePair(IntEnum):
    """Relative position of two lines; undefined where a direction is null or a result is not finite."""

    UNDEFINED = vectors.UNDEFINED
    SAME = -1
    INTERSECTING = 0
    SKEW = 1
    PARALLEL = 2


@comparable
class LineIntersection(NamedTuple):
    """Nearest points of two lines.

    Attributes
    ----------
    kind
        A `LinePair` for each sample, shape (...).
    distance
        Smallest distance between the lines, m, shape (...).
    point1, point2
        Points of the first and the second line with this distance, m, shape (..., 3). For parallel lines: the first
        line's given point and its projection on the second line.
    normal
        Unit vector perpendicular to both lines, shape (..., 3): along direction1 x direction2 for lines that are not
        parallel; normal to their plane for parallel lines, along direction1 x (p2 - p1); NaN where they are the same.
    """

    kind: Array
    distance: Real
    point1: Array
    point2: Array
    normal: Array


@batched(p=(3,), q=(3,))
def line_through_points(p: Array, q: Array) -> Line:
    """Line from one point to another.

    Parameters
    ----------
    p, q
        Points, m, shape (..., 3).

    Returns
    -------
    Line
        ``point`` p and the unit ``direction`` from p to q; the direction is NaN where the points coincide.

    Examples
    --------
    >>> line_through_points([1.0, 1.0, 0.0], [1.0, 3.0, 0.0])
    Line(point=array([1., 1., 0.]), direction=array([0., 1., 0.]))
    """
    return Line(p, normalize(q - p))


@batched(p=(3,), point=(3,), direction=(3,))
def project_point_on_line(p: Array, point: Array, direction: Array) -> LineProjection:
    """Point of a line that is nearest to a point, and the distance.

    Parameters
    ----------
    p
        Point to project, m, shape (..., 3).
    point, direction
        The line: a point of it, m, and its direction of any length, shapes (..., 3).

    Returns
    -------
    LineProjection
        ``point`` and ``distance``; NaN where the direction is null.

    Examples
    --------
    >>> project_point_on_line([3.0, 4.0, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0])
    LineProjection(point=array([3., 0., 0.]), distance=np.float64(4.0))
    """
    u = unit_direction(direction)
    offset = p - point
    return LineProjection(point + (offset @ u) * u, norm(elementary.cross(offset, u)))


@batched(p1=(3,), direction1=(3,), p2=(3,), direction2=(3,), dtypes={"kind": int})
def intersect_lines(
    p1: Array,
    direction1: Array,
    p2: Array,
    direction2: Array,
    tolerance: float = CASE_TOLERANCE,
    absolute_tolerance: float = 0.0,
) -> LineIntersection:
    """Find where two lines meet or come nearest to each other.

    For nearly parallel lines, the accuracy is limited only by the data. Directions that are unit vectors are taken as
    exact: the nearest points of lines at an angle of 1e-9, which are 1e9 times as far away as p1 and p2, then have 15
    correct digits.

    Parameters
    ----------
    p1, direction1, p2, direction2
        The lines: a point of each, m, and directions of any length, shapes (..., 3).
    tolerance
        Sine of the angle up to which the lines count as parallel, and distance up to which they count as meeting, in
        parts of the largest coordinate of the given and the found points.
    absolute_tolerance
        Distance in metres up to which they count as meeting in any case.

    Returns
    -------
    LineIntersection
        ``kind``, ``distance``, ``point1``, ``point2``, ``normal``; NaN where a direction is null.

    Examples
    --------
    >>> result = intersect_lines([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [5.0, -1.0, 2.0], [0.0, 1.0, 0.0])
    >>> LinePair(result.kind).name, result.distance, result.point1, result.point2
    ('SKEW', np.float64(2.0), array([5., 0., 0.]), array([5., 0., 2.]))
    """
    u1, u2 = unit_direction(direction1), unit_direction(direction2)
    normal = cross_of_directions(u1, u2)
    squared_sine = normal @ normal
    offset = p2 - p1
    parallel = is_parallel(squared_sine, tolerance)
    perpendicular = elementary.cross(u1, offset)

    along1 = (elementary.cross(offset, u2) @ normal) / generally(parallel, 1.0, squared_sine)
    point1 = p1 + generally(parallel, 0.0, along1) * u1
    point2 = p2 + ((point1 - p2) @ u2) * u2

    direction = normalize(generally(parallel, perpendicular, normal))
    distance = generally(parallel, norm(perpendicular), absolute(offset @ direction))
    size = largest_component(p1, p2, point1, point2)
    meeting = distance <= maximum(tolerance * size, absolute_tolerance)
    kind = generally(
        parallel,
        generally(meeting, float(LinePair.SAME), float(LinePair.PARALLEL)),
        generally(meeting, float(LinePair.INTERSECTING), float(LinePair.SKEW)),
    )
    defined = are_finite(point1, point2, np.array([distance]))
    kind = where(defined, kind, float(LinePair.UNDEFINED))
    direction = generally(parallel & meeting, np.full(3, np.nan), direction)
    return LineIntersection(kind, *(where(defined, value, np.nan) for value in (distance, point1, point2, direction)))
