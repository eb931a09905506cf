"""Operations on lines and planes (section 3.7.2 of the manual).

A line is a pair of a point P (..., 4) and a direction dir (..., 3), such as `Line`; the routines make unit directions
and take those of any length. A plane [a, b, c, d] (..., 4) is a x + b y + c z + d = 0; the routines make unit normals,
so that d is the distance of the origin from the plane, positive on the side to which the normal points. Those that take
planes accept normals of any length. What does not exist is NaN: the direction of a line through a point and itself, the
plane of points on a line.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from chasles.base.comparable import comparable
from chasles.base.errors import ArgumentError
from chasles.engine import absolute, where
from chasles.engine.program.scalar import Real
from chasles.geometry import (
    LinePair,
    PlanePair,
    distance_to_plane,
    elementary,
    intersect_line_and_plane,
    intersect_lines,
    intersect_planes,
    line_through_points,
    midpoint,
    plane_from_point_and_normal,
    plane_through_points,
    project_point_on_line,
    project_point_on_plane,
)
from chasles.geometry.elementary import Array
from chasles.geometry.vectors import are_finite, unit_direction
from chasles.interop.spacelib.codes import NOTOK, NOTYPE, OK, POINT, Line, U, homogeneous
from chasles.interop.spacelib.legality import legal_plane
from chasles.interop.spacelib.routines import routine

LineLike: TypeAlias = Line | tuple[Any, Any]
"""A line as an argument: its point [x, y, z, 1] and its direction."""


@comparable
class Projection(NamedTuple):
    """Results of `projponl` and `project`: the projection I (..., 4) of a point, and its distance d (...)."""

    I: Array
    d: Real


@comparable
class LinesIntersection(NamedTuple):
    """Results of `intersection`.

    Attributes
    ----------
    lmindist
        Line of the minimum distance.
    mindist
        Minimum distance, m, shape (...).
    pl
        Plane that contains both lines, or is parallel to both, shape (..., 4).
    I
        Intersection, or the point halfway between the lines, shape (..., 4).
    inttype
        1 skew lines, 0 one intersection, -1 the same line, 2 parallel lines; `NOTYPE` where a line has no direction or
        a result is not finite; shape (...).
    """

    lmindist: Line
    mindist: Real
    pl: Array
    I: Array
    inttype: Any


@comparable
class PlanesIntersection(NamedTuple):
    """Results of `inters2pl`: the line l, and OK, or NOTOK for parallel planes and for none."""

    l: Line
    rv: Real


@comparable
class InterslplResult(NamedTuple):
    """Results of `interslpl`: the point I (..., 4); inttype, 0 for one point, 1 for all, -1 for none, or `NOTYPE`."""

    I: Array
    inttype: Any


@routine(P1=POINT, P2=POINT)
def line2p(P1: Array, P2: Array) -> Line:
    """Line through two points, from P1 to P2.

    Parameters
    ----------
    P1, P2
        Points, shape (..., 4).

    Returns
    -------
    Line
        P = P1 and the unit vector dir from P1 to P2; NaN where they coincide.

    Examples
    --------
    >>> line2p([1, 1, 0, 1], [1, 3, 0, 1])
    Line(P=array([1., 1., 0., 1.]), dir=array([0., 1., 0.]))
    """
    line = line_through_points(P1[:U], P2[:U])
    return Line(homogeneous(line.point), line.direction)


@routine(P1=POINT, v=(3,))
def linepvect(P1: Array, v: Array) -> Line:
    """Line through a point, directed as a vector.

    Parameters
    ----------
    P1
        Point, shape (..., 4).
    v
        Vector of any length, shape (..., 3).

    Returns
    -------
    Line
        P = P1 and the unit vector dir along v; NaN where that is null.

    Examples
    --------
    >>> linepvect([1, 1, 0, 1], [0, 3, 4])
    Line(P=array([1., 1., 0., 1.]), dir=array([0. , 0.6, 0.8]))
    """
    return Line(homogeneous(P1[:U]), unit_direction(v))


def intersection(l1: LineLike, l2: LineLike) -> LinesIntersection:
    """Intersection of two lines, or where they come nearest to each other.

    Parameters
    ----------
    l1, l2
        Lines.

    Returns
    -------
    LinesIntersection
        Results for each inttype; the others are NaN:

        - 1, skew lines: pl is parallel to both, halfway between them; I is halfway on the line of the minimum distance
          lmindist, which starts there, along l1.dir x l2.dir, as does the normal of pl.
        - 0, one intersection I: the same, with mindist = 0 and pl through both lines.
        - 2, parallel lines: mindist; lmindist from the point of l1, away from l2; pl through both, its normal along
          (l2.P - l1.P) x l1.dir.
        - -1, the same line: mindist = 0.

        Lines count as parallel up to an angle of 1e-12, and as meeting up to a distance of 1e-12 of the largest
        coordinate. The original uses the machine precision. Where a direction is null, or a number is not finite, all
        is NaN and inttype `NOTYPE`.

    Examples
    --------
    >>> found = intersection(([0, 0, 0, 1], [1, 0, 0]), ([5, -1, 2, 1], [0, 1, 0]))
    >>> found.inttype, found.mindist, found.I, found.lmindist.dir + 0.0
    (np.int64(1), np.float64(2.0), array([5., 0., 1., 1.]), array([0., 0., 1.]))
    """
    first, second = _line(l1, "intersection", "l1"), _line(l2, "intersection", "l2")
    P, direction, *measures = _intersection(*first, *second)
    return LinesIntersection(Line(P, direction), *measures)


class _FlatLinesIntersection(NamedTuple):
    P: Array
    dir: Array
    mindist: Real
    pl: Array
    I: Array
    inttype: Any


@routine(P1=POINT, dir1=(3,), P2=POINT, dir2=(3,), codes=("inttype",))
def _intersection(P1: Array, dir1: Array, P2: Array, dir2: Array) -> _FlatLinesIntersection:
    kind, distance, point1, point2, normal = intersect_lines(P1[:U], dir1, P2[:U], dir2)
    separate, parallel, meeting = (
        absolute(kind - float(pair)) < 0.5 for pair in (LinePair.SKEW, LinePair.PARALLEL, LinePair.INTERSECTING)
    )

    same = absolute(kind - float(LinePair.SAME)) < 0.5
    halfway = where(separate | meeting, midpoint(point1, point2), np.nan)
    normal = where(parallel, -1.0, 1.0) * normal
    away = elementary.cross(normal, unit_direction(dir1))
    pl = plane_from_point_and_normal(where(parallel, P1[:U], halfway), normal)
    lmindist = where(parallel, P1[:U], halfway), where(parallel, away, normal)
    mindist = where(same | meeting, 0.0, distance)
    complete = are_finite(*lmindist, pl) & (parallel | are_finite(halfway))
    defined = are_finite(np.array([mindist])) & (same | complete)
    results = [where(defined, values, np.nan) for values in (*lmindist, mindist, pl, halfway)]
    point, direction, mindist, pl, halfway = results
    inttype = where(defined, kind, float(NOTYPE))
    return _FlatLinesIntersection(homogeneous(point), direction, mindist, pl, homogeneous(halfway), inttype)


def projponl(P1: Array, l: LineLike) -> Projection:
    """Projection of a point on a line.

    Parameters
    ----------
    P1
        Point, shape (..., 4).
    l
        Line.

    Returns
    -------
    Projection
        I, and the distance of P1 from the line, not negative.

    Examples
    --------
    >>> projponl([5, 1, 3, 1], ([3, 7.2, 2.05, 1], [0.7, 4, 9])).I.round(3)
    array([2.893, 6.591, 0.679, 1.   ])
    """
    return _projponl(P1, *_line(l, "projponl", "l"))


@routine(P1=POINT, P=POINT, dir=(3,))
def _projponl(P1: Array, P: Array, dir: Array) -> Projection:
    projection = project_point_on_line(P1[:U], P[:U], dir)
    return Projection(homogeneous(projection.point), projection.distance)


@routine(pl=(4,), P=POINT)
def distpp(pl: Array, P: Array) -> Real:
    """Distance (...) of a point (..., 4) from a plane (..., 4), m; positive on the side to which the normal points.

    NaN where the normal is no unit vector.

    Examples
    --------
    >>> distpp([0, 0, 1, -5], [1, 2, 3, 1])
    np.float64(-2.0)
    """
    return distance_to_plane(P[:U], legal_plane(pl))


@routine(P=POINT, pl=(4,))
def project(P: Array, pl: Array) -> Projection:
    """Projection of a point on a plane.

    Parameters
    ----------
    P
        Point, shape (..., 4).
    pl
        Plane, shape (..., 4).

    Returns
    -------
    Projection
        I, and the distance of P with the sign of `distpp`; NaN where the normal is no unit vector.

    Examples
    --------
    >>> project([1, 2, 3, 1], [0, 0, 1, -5])
    Projection(I=array([1., 2., 5., 1.]), d=np.float64(-2.0))
    """
    projection = project_point_on_plane(P[:U], legal_plane(pl))
    return Projection(homogeneous(projection.point), projection.distance)


@routine(P1=POINT, P2=POINT, P3=POINT)
def plane(P1: Array, P2: Array, P3: Array) -> Array:
    """Plane through three points.

    Parameters
    ----------
    P1, P2, P3
        Points, shape (..., 4).

    Returns
    -------
    ndarray
        pl, shape (..., 4), with the unit normal along (P1 - P2) x (P3 - P2); NaN where the points are on a line.

    Examples
    --------
    >>> plane([1, 0, 5, 1], [0, 0, 5, 1], [0, 1, 5, 1])
    array([ 0.,  0.,  1., -5.])
    """
    pl: Array = plane_through_points(P1[:U], P2[:U], P3[:U])
    return pl


@routine(P1=POINT, v=(3,))
def plane2(P1: Array, v: Array) -> Array:
    """Plane through a point with the normal v, though the text says that the plane "is directed as" v.

    Parameters
    ----------
    P1
        Point, shape (..., 4).
    v
        Vector of any length, shape (..., 3).

    Returns
    -------
    ndarray
        pl, shape (..., 4); NaN where v is null.

    Examples
    --------
    >>> plane2([7, 0, 5, 1], [0, 0, 2])
    array([ 0.,  0.,  1., -5.])
    """
    pl: Array = plane_from_point_and_normal(P1[:U], v)
    return pl


def inters2pl(pl1: Array, pl2: Array) -> PlanesIntersection:
    """Line in which two planes meet.

    Parameters
    ----------
    pl1, pl2
        Planes, shape (..., 4).

    Returns
    -------
    PlanesIntersection
        l, with its point nearest to the origin and the unit direction along the cross product of the normals (which
        the original leaves at its length), and OK. For planes that are parallel, to an angle of 1e-12, or have no
        normal, l is NaN and rv NOTOK.

    Examples
    --------
    >>> found = inters2pl([0, 0, 1, -5], [1, 0, 0, -2])
    >>> found.l.P, found.l.dir + 0.0, found.rv
    (array([2., 0., 5., 1.]), array([0., 1., 0.]), np.int64(1))
    """
    P, direction, rv = _inters2pl(pl1, pl2)
    return PlanesIntersection(Line(P, direction), rv)


class _FlatPlanesIntersection(NamedTuple):
    P: Array
    dir: Array
    rv: Real


@routine(pl1=(4,), pl2=(4,), codes=("rv",))
def _inters2pl(pl1: Array, pl2: Array) -> _FlatPlanesIntersection:
    kind, point, direction = intersect_planes(pl1, pl2)
    rv = where(absolute(kind - float(PlanePair.INTERSECTING)) < 0.5, float(OK), float(NOTOK))
    return _FlatPlanesIntersection(homogeneous(point), direction, rv)


def interslpl(l: LineLike, pl: Array) -> InterslplResult:
    """Point in which a line meets a plane.

    Parameters
    ----------
    l
        Line.
    pl
        Plane, shape (..., 4).

    Returns
    -------
    LinePlaneIntersection
        I and inttype: 0 for one intersection; 1 for a line on the plane, where I is the line's point; -1 for a parallel
        line, where I is NaN. A line counts as parallel up to an angle of 1e-12. (The original gives 1 for every
        parallel line on the negative side of the plane.) Where line or plane have no direction, or a number is not
        finite, I is NaN and inttype `NOTYPE`.

    Examples
    --------
    >>> interslpl(([0, 6, 10, 1], [0, 0, 1]), [0, 0, 1, -5])
    InterslplResult(I=array([0., 6., 5., 1.]), inttype=np.int64(0))
    """
    return _interslpl(*_line(l, "interslpl", "l"), pl)


@routine(P=POINT, dir=(3,), pl=(4,), codes=("inttype",))
def _interslpl(P: Array, dir: Array, pl: Array) -> InterslplResult:
    kind, point = intersect_line_and_plane(P[:U], dir, pl)
    return InterslplResult(homogeneous(point), kind)


def _line(line: Any, routine: str, name: str) -> LineLike:
    if isinstance(line, tuple | list) and len(line) == 2:
        return line[0], line[1]
    raise ArgumentError(f"{routine}: {name} must be a line, its point [x, y, z, 1] and its direction, not {line!r}")
