"""Data files of SpaceLib's sample programs: robots, motions of joints and grippers, first guesses, bodies in space.

All hold numbers in free format; see `chasles.model.formats.free_format`. What is read and written again is the same, to
the last bit. A file that cannot be read raises `chasles.ModelError` with its name, the line, what is expected there and
what was found.

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     path = Path(folder, "SCARA.MOT")
...     write_motion(path, MotionData(0.05, q=[[0.0, 0.1]], qp=[[1.0, 1.1]], qpp=[[10.0, 11.0]]))
...     print(path.read_text())
...     read_motion(path, joints=2).qp
0.05
0 1 10
0.1 1.1 11
<BLANKLINE>
<BLANKLINE>
array([[1. , 1.1]])
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.base.writing import write_lines
from chasles.interop.spacelib.file_records import BodyData, GripperData, LinearEquations, MotionData, TwoBodyData
from chasles.model.formats.files import read_bytes
from chasles.model.formats.free_format import NumberReader, frozen_numbers, line_text, number_text
from chasles.model.formats.spacelib import LinkData, RobotData, read_robot_data, robot_data_text

__all__ = [
    "BodyData",
    "GripperData",
    "LinearEquations",
    "LinkData",
    "MotionData",
    "RobotData",
    "TwoBodyData",
    "read_bodies",
    "read_gripper",
    "read_guess",
    "read_linear_system",
    "read_link_lengths",
    "read_motion",
    "read_robot",
    "write_bodies",
    "write_gripper",
    "write_guess",
    "write_linear_system",
    "write_link_lengths",
    "write_motion",
    "write_robot",
]

FloatArray = NDArray[np.float64]

MAX_BYTES = 8_000_000
MAX_SIZE = 1_000
GRIPPER_LINES = ("angles", "angles'", "angles''", "X Y Z", "X' Y' Z'", "X'' Y'' Z''")


def read_robot(path: str | Path) -> RobotData:
    """Read a robot as ROB-MAT does (manual, table 7.2); `chasles.load` makes a `chasles.Robot` of the same file."""
    return read_robot_data(path)


def write_robot(path: str | Path, robot: RobotData) -> None:
    """Write a robot for ROB-MAT."""
    write_lines(path, [robot_data_text(robot).rstrip("\n")])


def read_motion(path: str | Path, joints: int) -> MotionData:
    """Read the motion of this many joints; their number is not in the file."""
    _count(joints, "read_motion: the number of joints")
    reader = _reader(path)
    dt = reader.number("step of time dt", positive=True)
    lines = [f"joint {joint}: q qp qpp" for joint in range(1, joints + 1)]
    return MotionData(dt, *reader.blocks("instant", lines, 3).transpose(2, 0, 1))


def write_motion(path: str | Path, motion: MotionData) -> None:
    """Write the motion of joints: a line ``q qp qpp`` for each, and an empty line between the instants of several."""
    lines = [number_text(motion.dt)]
    for instant in np.stack([motion.q, motion.qp, motion.qpp], axis=-1):
        lines += [*map(line_text, instant), *([""] if len(instant) > 1 else [])]
    write_lines(path, lines)


def read_gripper(path: str | Path) -> GripperData:
    """Read the motion of a gripper."""
    reader = _reader(path)
    dt = reader.number("step of time dt", positive=True)
    i, j, k = (reader.integer(f"Cardan convention: axis {name} (X=0, Y=1, Z=2)", 0, 2) for name in "ijk")
    if j in (i, k):
        reader.fail(f"Cardan convention: expected a second axis unlike the others, found {i} {j} {k}")
    return GripperData(dt, (i, j, k), *reader.blocks("instant", GRIPPER_LINES, 3).swapaxes(0, 1))


def write_gripper(path: str | Path, motion: GripperData) -> None:
    """Write the motion of a gripper: six lines for each instant, and an empty one."""
    lines = [number_text(motion.dt), line_text(motion.axes), ""]
    tables = (motion.q, motion.qp, motion.qpp, motion.position, motion.velocity, motion.acceleration)
    for instant in np.stack(tables, axis=1):
        lines += [*map(line_text, instant), ""]
    write_lines(path, lines)


def read_guess(path: str | Path, joints: int = 6) -> FloatArray:
    """Read a first guess of joint positions, shape (joints,): files such as ``GUESS.1ST`` (manual, table 7.12)."""
    return _read_values(path, joints, "first guess of the joint positions")


def write_guess(path: str | Path, q: ArrayLike) -> None:
    """Write a first guess of joint positions, in one line."""
    write_lines(path, [line_text(_values(q, "the first guess"))])


def read_link_lengths(path: str | Path, links: int = 6) -> FloatArray:
    """Read the lengths of links, shape (links,), m: ``ELBOW.DAT`` (manual, table 7.10)."""
    return _read_values(path, links, "lengths of the links")


def write_link_lengths(path: str | Path, a: ArrayLike) -> None:
    """Write the lengths of links, one a line."""
    write_lines(path, map(number_text, _values(a, "the lengths of the links")))


def read_bodies(path: str | Path) -> TwoBodyData:
    """Read the two bodies of the programs TEST and TEST_NEW."""
    reader = _reader(path)
    first, second = (
        BodyData(*reader.numbers(10, f"link {index}: mass jx jy jz, jxy jyz jxz, xg yg zg")) for index in (1, 2)
    )
    W1 = reader.numbers(16, "velocity matrix of link 1").reshape(4, 4)
    m1 = reader.numbers(16, "position matrix of link 1").reshape(4, 4)
    reader.finish("position matrix of link 1")
    return TwoBodyData((first, second), W1, m1)


def write_bodies(path: str | Path, two: TwoBodyData) -> None:
    """Write the two bodies of the programs TEST and TEST_NEW."""
    lines: list[str] = []
    for body in two.bodies:
        lines += [
            line_text((body.mass, body.jxx, body.jyy, body.jzz)),
            line_text((body.jxy, body.jyz, body.jxz)),
            line_text((body.xg, body.yg, body.zg)),
        ]
    write_lines(path, [*lines, *map(line_text, two.W1), *map(line_text, two.m1)])


def read_linear_system(path: str | Path) -> LinearEquations:
    """Read the equations of the program TEST-LIN: their numbers, then the rows of A, each with its element of b."""
    reader = _reader(path)
    n = reader.integer("number of equations", 1, MAX_SIZE)
    m = reader.integer("number of unknowns", 1, MAX_SIZE)
    rows = [reader.numbers(m + 1, f"row {index} of A and b") for index in range(1, n + 1)]
    reader.finish("A and b")
    table = np.array(rows)
    return LinearEquations(table[:, :m], table[:, m])


def write_linear_system(path: str | Path, system: LinearEquations) -> None:
    """Write the equations of the program TEST-LIN."""
    A = frozen_numbers(system.A, np.shape(system.A)[-1], "A")
    table = np.column_stack([A, frozen_numbers(np.reshape(system.b, (-1, 1)), 1, "b")])
    write_lines(path, [f"{A.shape[0]} {A.shape[1]}", *map(line_text, table)])


def _reader(path: str | Path) -> NumberReader:
    return NumberReader(read_bytes(path, MAX_BYTES), str(path))


def _count(value: int, what: str) -> None:
    if value < 1:
        raise ArgumentError(f"{what} must be at least 1, not {value}")


def _read_values(path: str | Path, count: int, what: str) -> FloatArray:
    _count(count, f"the number of {what}")
    reader = _reader(path)
    values = reader.numbers(count, what)
    reader.finish(what)
    return values


def _values(values: ArrayLike, what: str) -> FloatArray:
    row: FloatArray = frozen_numbers(np.reshape(values, (1, -1)), np.size(values), what)[0]
    return row
