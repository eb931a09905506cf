"""Lines in space and their common normals, from which Denavit-Hartenberg parameters are read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from chasles.base.errors import ModelError
from chasles.model.placement import FloatArray

#: Directions and, relative to the lengths around, distances that are equal but for rounding.
ROUNDING = 1e-14
#: Lines whose directions differ by less than this angle (rad) are parallel.
PARALLEL = 1e-13
#: A common normal that is further away than this multiple of the lengths around costs too many digits.
FARTHEST = 1e6


class DirectedLine(NamedTuple):
    """A line with a direction: a point of it (3,) and the unit direction (3,)."""

    point: FloatArray
    direction: FloatArray

    def nearest(self, p: FloatArray) -> FloatArray:
        """Return the point of the line that is nearest to p."""
        nearest: FloatArray = self.point + self.direction * (self.direction @ (p - self.point))
        return nearest


class CommonNormal(NamedTuple):
    """A line that crosses two lines at right angles.

    Parameters
    ----------
    T_start, T_end
        Frames on the first and the second line, (4, 4): z along the line, x along the normal, origin where they cross.
    a, alpha
        Distance of the origins along x; angle about x that turns z of the first frame to z of the second.
    """

    T_start: FloatArray
    T_end: FloatArray
    a: float
    alpha: float


def line_of(T: FloatArray, direction: FloatArray | None = None) -> DirectedLine:
    """Return the line through the origin of a frame along its z axis, or along a direction in the frame."""
    return DirectedLine(T[:3, 3], T[:3, 2] if direction is None else T[:3, :3] @ direction)


def common_normal(
    start: DirectedLine, end: DirectedLine, wishes: Iterable[FloatArray] = (), towards: FloatArray | None = None
) -> CommonNormal:
    """Return the common normal of two lines.

    It is the x axis of the first of the frames `wishes` that can be. Otherwise, its direction is that which is nearer
    to `towards`; and where there are many, because the lines are parallel or the same, it goes through the point of
    `end`.

    Raises
    ------
    ModelError
        The lines are so nearly parallel that their common normal is too far away to be computed with.

    Examples
    --------
    >>> x_axis = DirectedLine(np.zeros(3), np.array([1.0, 0.0, 0.0]))
    >>> other = DirectedLine(np.array([0.0, 0.0, 2.0]), np.array([0.0, 1.0, 0.0]))
    >>> normal = common_normal(x_axis, other)
    >>> normal.a, normal.alpha == np.pi / 2
    (2.0, True)
    """
    for T in wishes:
        if crosses(T, start) and crosses(T, end):
            return _along(T[:3, 3], T[:3, 0], start, end)
    cross = np.cross(start.direction, end.direction)
    sine = float(np.linalg.norm(cross))
    between = end.point - start.point
    if sine <= PARALLEL:
        apart = between - start.direction * (start.direction @ between)
        distance = float(np.linalg.norm(apart))
        x = apart / distance if distance > ROUNDING * _size(start, end) else _across(start.direction)
        return _along(end.point, _turned(x, towards), start, end)
    x = cross / sine
    x = x - start.direction * (start.direction @ x)
    x = x / np.linalg.norm(x)
    foot = start.point + start.direction * (np.cross(between, end.direction) @ cross) / sine**2
    if np.linalg.norm(foot) > FARTHEST * _size(start, end):
        raise ModelError(f"the axes are nearly parallel ({sine:.2g} rad): their common normal is too far away")
    return _along(foot, _turned(x, towards), start, end)


def crosses(T: FloatArray, line: DirectedLine) -> bool:
    """Whether the x axis of a frame crosses a line at a right angle.

    Examples
    --------
    >>> crosses(np.eye(4), DirectedLine(np.array([5.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0])))
    True
    """
    x, to_line = T[:3, 0], line.point - T[:3, 3]
    apart = abs(float(to_line @ np.cross(line.direction, x)))
    return abs(float(x @ line.direction)) <= ROUNDING and apart <= ROUNDING * _largest(line.point, T[:3, 3])


def is_z_axis(T: FloatArray, line: DirectedLine) -> bool:
    """Whether the z axis of a frame is a line, in its direction.

    Examples
    --------
    >>> is_z_axis(np.eye(4), DirectedLine(np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0])))
    True
    """
    apart = float(np.abs(line.nearest(T[:3, 3]) - T[:3, 3]).max())
    return bool(
        np.abs(T[:3, 2] - line.direction).max() <= ROUNDING and apart <= ROUNDING * _largest(line.point, T[:3, 3])
    )


def clean_angle(sine: float, cosine: float) -> float:
    """Return the angle with this sine and cosine; rounding next to multiples of a right angle is taken off.

    Examples
    --------
    >>> clean_angle(1e-17, -1.0) == math.pi
    True
    """
    angle = math.atan2(sine, cosine)
    right = round(angle / (math.pi / 2)) * (math.pi / 2)
    if abs(angle - right) > 1e-15:
        return angle
    return math.pi if right == -math.pi else right + 0.0


def clean_length(length: float, *points: FloatArray) -> float:
    """Return a length, or zero if it is but the rounding of the points between which it was measured."""
    return 0.0 if abs(length) <= 4e-16 * _largest(*points) else length


def _along(o: FloatArray, x: FloatArray, start: DirectedLine, end: DirectedLine) -> CommonNormal:
    """Return the common normal along the line through o with direction x, which is one."""
    first, last = start.nearest(o), end.nearest(o)
    turned = np.cross(start.direction, end.direction)
    parallel = float(np.linalg.norm(turned)) <= PARALLEL
    return CommonNormal(
        _frame(first, x, start.direction),
        _frame(last, x, end.direction),
        clean_length(float(x @ (last - first)), start.point, end.point, o),
        clean_angle(0.0 if parallel else float(x @ turned), float(start.direction @ end.direction)),
    )


def _frame(origin: FloatArray, x: FloatArray, z: FloatArray) -> FloatArray:
    T = np.eye(4)
    T[:3, 0], T[:3, 1], T[:3, 2], T[:3, 3] = x, np.cross(z, x), z, origin
    return T


def _turned(x: FloatArray, towards: FloatArray | None) -> FloatArray:
    return -x if towards is not None and x @ towards < -ROUNDING else x


def _across(direction: FloatArray) -> FloatArray:
    """Return the unit vector across a direction that is nearest to a coordinate axis."""
    axis = np.eye(3)[int(np.argmin(np.abs(direction)))]
    across = axis - direction * (direction @ axis)
    unit: FloatArray = across / np.linalg.norm(across)
    return unit


def _size(start: DirectedLine, end: DirectedLine) -> float:
    return _largest(start.point, end.point)


def _largest(*points: FloatArray) -> float:
    return max(float(np.abs(point).max()) for point in points)
