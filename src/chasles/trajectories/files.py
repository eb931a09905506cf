"""ROBOOP's path and quaternion files: configurations or positions, and orientations, at given times.

A path file has comments that start with ``#``, the word ``JOINT_SPACE`` or ``CARTESIAN_SPACE``, the number of columns,
and then a line with a time and a line with the values, alternately. A quaternion file has comments and, for each knot,
a line with the time, a line with ``R`` or ``Q``, and a line with the nine numbers of a rotation matrix, row by row, or
with the four of a unit quaternion.

What is written and read again is the same, to the last bit. A file that cannot be read raises `chasles.ModelError` with
its name, the line, what is expected there and what was found.

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     path = Path(folder, "arm.dat")
...     write_path_file(path, PathData("joint", [0.0, 0.5], [[0.0, 0.1], [1.0, -0.25]]))
...     print(path.read_text())
...     read_path_file(path).to_trajectory()(0.25).q
JOINT_SPACE
2
0
0 0.1
0.5
1 -0.25
<BLANKLINE>
array([ 0.5  , -0.075])
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.base.writing import write_lines
from chasles.engine.validators import choice
from chasles.geometry.projections import project_rotation, rotation_distance
from chasles.geometry.quaternion_rotations import quaternion_from_rotation
from chasles.model.formats.files import read_bytes
from chasles.model.formats.free_format import NumberReader, line_text, number_text
from chasles.model.numbers import LARGEST_NUMBER
from chasles.model.record import DescriptionRecord, shortened
from chasles.trajectories.joint.splines import CubicSpline
from chasles.trajectories.joint.waypoints import checked_waypoints, increasing_times
from chasles.trajectories.motion import Floats

if TYPE_CHECKING:
    from chasles.trajectories.cartesian.orientations import OrientationSpline, Turning

MAX_BYTES = 64_000_000
MAX_COLUMNS = 1_000
#: Matrices and quaternions may be written with few digits.
_ROUNDED = 1e-4
_WORD_OF = {"joint": "JOINT_SPACE", "cartesian": "CARTESIAN_SPACE"}
_COMMENT = re.compile(rb"#[^\n]*")


@dataclass(frozen=True, eq=False)
class PathData(DescriptionRecord):
    """Contents of a path file.

    Attributes
    ----------
    space
        ``"joint"`` for configurations, rad or m; ``"cartesian"`` for positions, m.
    times
        Increasing times of the points, shape (k,), s.
    values
        Points, shape (k, columns).
    """

    space: Literal["joint", "cartesian"]
    times: Floats
    values: Floats

    def __post_init__(self) -> None:
        choice(self.space, "space", _WORD_OF)
        times = increasing_times(self.times, least=1, what="point")
        self._set(times=_frozen(times), values=_frozen(_table(self.values, times, "point")))

    def to_trajectory(self) -> CubicSpline:
        """Return the natural cubic spline through the points, like ROBOOP's ``Spl_path``.

        Times outside the path raise an error; use `CubicSpline` for other behaviour.
        """
        return CubicSpline(self.times, self.values, boundary="natural", outside="error")


@dataclass(frozen=True, eq=False)
class QuaternionData(DescriptionRecord):
    """Contents of a quaternion file.

    Attributes
    ----------
    times
        Increasing times of the knots, shape (k,), s.
    quaternions
        Unit quaternions (w, x, y, z), shape (k, 4).
    """

    times: Floats
    quaternions: Floats

    def __post_init__(self) -> None:
        times = increasing_times(self.times, least=1, what="knot")
        quaternions = _table(self.quaternions, times, "knot")
        if quaternions.shape[1] != 4:
            raise ArgumentError(f"the quaternions must have shape ({len(times)}, 4), not {quaternions.shape}")
        away = np.abs(np.linalg.norm(quaternions, axis=1) - 1.0)
        if (away > _ROUNDED).any():
            k = int(np.argmax(away > _ROUNDED))
            raise ArgumentError(f"the quaternion of knot {k} is {away[k]:.2g} away from unit length")
        self._set(times=_frozen(times), quaternions=_frozen(quaternions))

    def to_trajectory(self, turning: Turning = "squad") -> OrientationSpline:
        """Return the motion through the knots, with its true angular velocities; see `OrientationSpline`.

        For the orientations of ROBOOP's ``Spl_Quaternion``, use ``turning="roboop"`` there.
        """
        from chasles.trajectories.cartesian.orientations import OrientationSpline

        lengths = np.linalg.norm(self.quaternions, axis=1, keepdims=True)
        return OrientationSpline(self.times, self.quaternions / lengths, turning=turning, boundary="natural")


def read_path_file(path: str | Path) -> PathData:
    """Read a path file; its points are sorted by time."""
    reader = _reader(path)
    word = reader.keyword("space", tuple(_WORD_OF.values()))
    columns = reader.integer("number of columns", 1, MAX_COLUMNS)
    table = reader.blocks("point", [f"time and {columns} values"], columns + 1)[:, 0]
    order = _order(reader, table[:, 0], "point")
    space: Literal["joint", "cartesian"] = "joint" if word == _WORD_OF["joint"] else "cartesian"
    return PathData(space, table[order, 0], table[order, 1:])


def write_path_file(path: str | Path, data: PathData) -> None:
    """Write a path file."""
    lines = [_WORD_OF[data.space], str(data.values.shape[1])]
    for time, values in zip(data.times, data.values, strict=True):
        lines += [number_text(time), line_text(values)]
    write_lines(path, lines)


def read_quaternion_file(path: str | Path) -> QuaternionData:
    """Read a quaternion file; its knots are sorted by time.

    Rotation matrices may be rounded to a few digits; the nearest rotation is taken.
    """
    reader = _reader(path)
    times: list[float] = []
    quaternions: list[Floats] = []
    while not (times and reader.at_end):
        knot = len(times)
        times.append(reader.number(f"knot {knot}: time"))
        if reader.keyword(f"knot {knot}", ("R", "Q")) == "Q":
            q = reader.numbers(4, f"knot {knot}: quaternion")
            if abs(np.linalg.norm(q) - 1.0) > _ROUNDED:
                reader.fail(f"knot {knot}: expected a unit quaternion, found one of length {np.linalg.norm(q):.6g}")
        else:
            R = reader.numbers(9, f"knot {knot}: rotation matrix").reshape(3, 3)
            distance = float(rotation_distance(R))
            if distance > _ROUNDED:
                reader.fail(f"knot {knot}: expected a rotation matrix, found one {distance:.2g} away from it")
            q = quaternion_from_rotation(project_rotation(R))
        quaternions.append(q)
    order = _order(reader, np.array(times), "knot")
    return QuaternionData(np.array(times)[order], np.array(quaternions)[order])


def write_quaternion_file(path: str | Path, data: QuaternionData) -> None:
    """Write a quaternion file, with quaternions."""
    lines: list[str] = []
    for time, quaternion in zip(data.times, data.quaternions, strict=True):
        lines += [number_text(time), "Q", line_text(quaternion)]
    write_lines(path, lines)


def read_trajectory_file(path: str | Path) -> PathData | QuaternionData:
    """Read a path file or a quaternion file, detected automatically, like ROBOOP's ``Trajectory_Select``."""
    is_path = any(word.encode() in _without_comments(path) for word in _WORD_OF.values())
    return read_path_file(path) if is_path else read_quaternion_file(path)


class _Reader(NumberReader):
    """Floats with words between them."""

    def keyword(self, what: str, words: tuple[str, ...]) -> str:
        """Take one of these words."""
        expected = " or ".join(words)
        word = self._next(what, expected).decode(errors="replace")
        if word not in words:
            self.fail(f"{what}: expected {expected}, found {shortened(word)}")
        return word


def _reader(path: str | Path) -> _Reader:
    return _Reader(_without_comments(path), str(path))


def _without_comments(path: str | Path) -> bytes:
    return _COMMENT.sub(b"", read_bytes(path, MAX_BYTES))


def _order(reader: _Reader, times: Floats, what: str) -> NDArray[np.intp]:
    """Return the order by time; two equal times are an error."""
    order = np.argsort(times, kind="stable")
    same = np.diff(times[order]) == 0.0
    if same.any():
        first, second = order[int(np.argmax(same)) :][:2]
        reader.fail(f"{what}s {first} and {second} have the same time {times[first]:g}")
    return order


def _table(values: ArrayLike, times: Floats, what: str) -> Floats:
    table = checked_waypoints(values, times, what=what)
    if table.ndim != 2:
        raise ArgumentError(f"a file holds one path, of shape ({len(times)}, columns), not {table.shape}")
    return table


def _frozen(array: Floats) -> Floats:
    if not (np.abs(array) <= LARGEST_NUMBER).all():
        raise ArgumentError(f"a file holds numbers of at most {LARGEST_NUMBER:g}, not {np.abs(array).max():g}")
    array.flags.writeable = False
    return array
