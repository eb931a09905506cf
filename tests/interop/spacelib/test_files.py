"""The files of SpaceLib's sample programs: grammar, exact round trips, and damage."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from chasles.base.errors import ArgumentError, ModelError
from chasles.interop.spacelib import files as sl

DATA = Path(__file__).parents[3] / "examples" / "spacelib" / "data"
READERS: dict[str, Callable[[Path], Any]] = {
    "SCARA.DAT": sl.read_robot,
    "SCARA.MOT": lambda path: sl.read_motion(path, 3),
    "JOINT.MOT": lambda path: sl.read_motion(path, 6),
    "GRIPPER.MOT": sl.read_gripper,
    "GUESS.1ST": sl.read_guess,
    "ELBOW.DAT": sl.read_link_lengths,
    "TEST.DAT": sl.read_bodies,
    "INP.DAT": sl.read_linear_system,
}
#: Manual, table 7.11: the first instant.
GRIPPER = """0.01
0 1 2
0.029690 0.000136 0.004718
6.597086 0.060601 1.048386
732.919800 20.197580 115.902000
0.197946 1.800940 1.503133
-0.459088 0.207974 0.695856
-51.222855 22.670288 77.394531
"""

numbers = st.floats(-1e9, 1e9)
steps = st.floats(1e-300, 1e9, exclude_min=True)
once_a_file = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def table(instants: int, columns: int) -> st.SearchStrategy[np.ndarray]:
    return arrays(np.float64, (instants, columns), elements=numbers)


def test_a_motion_of_joints_is_read_instant_after_instant() -> None:
    motion = sl.read_motion(DATA / "SCARA.MOT", 3)
    assert motion.dt == 0.05
    assert motion.t.tolist() == [0.0, 0.05]
    assert motion.q.tolist() == [[0.0, 0.0, 0.0], [0.1, 0.1, 0.0]]
    assert motion.qp.tolist() == [[1.0, 2.0, 0.0], [1.1, 2.1, 0.0]]
    assert motion.qpp.tolist() == [[10.0, 20.0, 0.0], [11.0, 21.0, 0.0]]


def test_a_motion_of_the_gripper_is_read_line_after_line(tmp_path: Path) -> None:
    (tmp_path / "GRIPPER.MOT").write_text(GRIPPER, encoding="ascii")
    motion = sl.read_gripper(tmp_path / "GRIPPER.MOT")
    assert (motion.dt, motion.axes, motion.t.tolist()) == (0.01, (0, 1, 2), [0.0])
    assert motion.qp.tolist() == [[6.597086, 0.060601, 1.048386]]
    assert motion.position.tolist() == [[0.197946, 1.80094, 1.503133]]
    assert motion.acceleration.tolist() == [[-51.222855, 22.670288, 77.394531]]


def test_bodies_have_their_own_order_of_inertias(tmp_path: Path) -> None:
    words = "5 1 2 3  4 5 6  7 8 9   6 1 1 1 0 0 0 0 0 0 " + " 1 2 3 4" * 4 + " 1 0 0 5 0 1 0 6 0 0 1 7 0 0 0 1"
    (tmp_path / "TEST.DAT").write_text(words, encoding="ascii")
    two = sl.read_bodies(tmp_path / "TEST.DAT")
    body = two.bodies[0]
    assert (body.mass, body.jxx, body.jyy, body.jzz, body.jxy, body.jyz, body.jxz) == (5, 1, 2, 3, 4, 5, 6)
    assert (body.xg, body.yg, body.zg) == (7, 8, 9)
    assert two.W1.tolist() == [[1, 2, 3, 4]] * 4
    assert two.m1[:3, 3].tolist() == [5, 6, 7]


def test_the_small_files() -> None:
    assert sl.read_guess(DATA / "GUESS.1ST").tolist() == [0.0, 0.1, 0.2, 0.0, 0.1, 0.0]
    assert sl.read_link_lengths(DATA / "ELBOW.DAT").tolist() == [1.5, 0.8, 0.8, 0.2, 0.0, 0.2]
    A, b = sl.read_linear_system(DATA / "INP.DAT")
    assert A.tolist() == [[1, 1, 1, 2, 1], [0, 1, 1, 2, 1], [0, 0, 2, 2, 1], [0, 0, 2, 2, 1]]
    assert b.tolist() == [6, 5, 3, 3]
    robot = sl.read_robot(DATA / "SMART.DAT")
    assert [(link.b, link.mass) for link in robot.links[1:3]] == [(0.0, 300.0), (0.5, 200.0)]


@given(st.data(), st.integers(1, 3), st.integers(1, 4))
@once_a_file
def test_motions_survive_writing(tmp_path: Path, data: st.DataObject, instants: int, joints: int) -> None:
    motion = sl.MotionData(data.draw(steps), *(data.draw(table(instants, joints)) for _ in range(3)))
    sl.write_motion(tmp_path / "a.mot", motion)
    assert sl.read_motion(tmp_path / "a.mot", joints) == motion


@given(st.data(), st.integers(1, 3), st.permutations([0, 1, 2]), st.booleans())
@once_a_file
def test_gripper_motions_survive_writing(
    tmp_path: Path, data: st.DataObject, instants: int, axes: list[int], euler: bool
) -> None:
    chosen = (axes[0], axes[1], axes[0] if euler else axes[2])
    motion = sl.GripperData(data.draw(steps), chosen, *(data.draw(table(instants, 3)) for _ in range(6)))
    sl.write_gripper(tmp_path / "a.mot", motion)
    assert sl.read_gripper(tmp_path / "a.mot") == motion


@given(table(2, 10), table(4, 4), table(4, 4))
@once_a_file
def test_bodies_survive_writing(tmp_path: Path, bodies: np.ndarray, W1: np.ndarray, m1: np.ndarray) -> None:
    two = sl.TwoBodyData((sl.BodyData(*bodies[0]), sl.BodyData(*bodies[1])), W1, m1)
    sl.write_bodies(tmp_path / "a.dat", two)
    assert sl.read_bodies(tmp_path / "a.dat") == two


@given(st.data(), st.integers(1, 4), st.integers(1, 4))
@once_a_file
def test_lists_and_systems_survive_writing(tmp_path: Path, data: st.DataObject, n: int, m: int) -> None:
    path = tmp_path / "a.dat"
    A, (b,) = data.draw(table(n, m)), data.draw(table(1, n))
    sl.write_linear_system(path, sl.LinearEquations(A, b))
    read = sl.read_linear_system(path)
    assert read.A.tolist() == A.tolist()
    assert read.b.tolist() == b.tolist()
    sl.write_guess(path, b)
    assert sl.read_guess(path, n).tolist() == b.tolist()
    sl.write_link_lengths(path, b)
    assert sl.read_link_lengths(path, n).tolist() == b.tolist()
    assert len(path.read_text().splitlines()) == n


def test_robots_survive_writing(tmp_path: Path) -> None:
    robot = sl.read_robot(DATA / "SCARA.DAT")
    sl.write_robot(tmp_path / "a.dat", robot)
    assert sl.read_robot(tmp_path / "a.dat") == robot
    typed = [[float(word) for word in line.split()] for line in (DATA / "SCARA.DAT").read_text().splitlines()]
    assert [[float(word) for word in line.split()] for line in (tmp_path / "a.dat").read_text().splitlines()] == typed


@pytest.mark.parametrize("name", READERS)
def test_the_format_is_free(name: str, tmp_path: Path) -> None:
    text = (DATA / name).read_text(encoding="ascii")
    expected = READERS[name](DATA / name)
    for changed in (" ".join(text.split()), "\r\n".join(text.split()) + "\r\n\x1a", "\ufeff \t" + text):
        (tmp_path / name).write_bytes(changed.encode())
        found = READERS[name](tmp_path / name)
        assert np.all(found == expected) if isinstance(found, np.ndarray) else str(found) == str(expected)


@pytest.mark.parametrize("name", READERS)
def test_a_file_cut_anywhere_is_an_error_unless_it_ends_with_an_instant(name: str, tmp_path: Path) -> None:
    words = (DATA / name).read_text(encoding="ascii").split()
    # What a file needs at least, and after how many more numbers each it may end.
    least, step = {"SCARA.MOT": (10, 9), "JOINT.MOT": (19, 18), "GRIPPER.MOT": (22, 18)}.get(name, (len(words), 1))
    for count in range(min(len(words), 80)):
        (tmp_path / name).write_text(" ".join(words[:count]), encoding="ascii")
        if count >= least and (count - least) % step == 0:
            READERS[name](tmp_path / name)
        else:
            with pytest.raises(ModelError, match=rf"{name}: line 1: .* found the end of the file"):
                READERS[name](tmp_path / name)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("SCARA.MOT", "0 2 20", "0 2 2O", "line 3: instant 0: joint 2: q qp qpp: expected a number, found '2O'"),
        ("SCARA.MOT", "0 2 20", "0 2 inf", "line 3: instant 0: joint 2: q qp qpp: expected a number .*, found 'inf'"),
        ("SCARA.MOT", "0 2 20", "0 2 1e10", r"line 3: .* expected a number of at most 1e\+09, found '1e10'"),
        ("SCARA.MOT", "0.05", "-0.05", r"line 1: step of time dt: expected a positive number .*, found '-0\.05'"),
        ("SCARA.MOT", "0.05", "0", "line 1: step of time dt: expected a positive number .*, found '0'"),
        ("SCARA.MOT", "0.1 2.1 21", "0.1 2.1", "line 8: instant 1: joint 3: q qp qpp: .* found the end of the file"),
        (
            "GRIPPER.MOT",
            "0 1 2\n",
            "0 1 3\n",
            r"line 2: Cardan convention: axis k \(X=0, Y=1, Z=2\): .* 0 to 2, found '3'",
        ),
        ("GRIPPER.MOT", "0 1 2\n", "0 2 2\n", "line 2: Cardan convention: expected a second axis .* found 0 2 2"),
        ("GUESS.1ST", ".1 .0", ".1 .0 .3", "line 1: .* joint positions complete: expected the end .*, found '.3'"),
        ("GUESS.1ST", ".1 .0", ".1", "line 1: first guess of the joint positions: .* found the end of the file"),
        ("ELBOW.DAT", "0.0\n", "zero\n", "line 5: lengths of the links: expected a number, found 'zero'"),
        ("TEST.DAT", "10 1 1 1\n0 0 0\n1 0 0\n10", "10 1 1 1\n0 0 0\n1 0 0\nten", "line 4: link 2: mass jx jy jz, jxy"),
        ("TEST.DAT", "0 0 1 0\n0 0 0 1\n", "0 0 1 0\n0 0 0 1\n5", "line 15: position matrix .* complete: .* '5'"),
        ("INP.DAT", "4 5", "4.0 5", r"line 1: number of equations: .* from 1 to 1000, found '4\.0'"),
        ("INP.DAT", "4 5", "4 1001", "line 1: number of unknowns: .* from 1 to 1000, found '1001'"),
        ("INP.DAT", "4 5", "5 5", "line 5: row 5 of A and b: expected a number, found the end of the file"),
    ],
)
def test_wrong_files_are_told_where_and_what(name: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    text = (DATA / name).read_text(encoding="ascii")
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new, 1), encoding="ascii")
    with pytest.raises(ModelError, match=rf"{name}: {message}"):
        READERS[name](tmp_path / name)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for name, read in READERS.items():
        with pytest.raises(ModelError, match=rf"{name}: cannot be read: No such file"):
            read(tmp_path / name)
    (tmp_path / "big").write_bytes(b"1 " * 4_000_001)
    with pytest.raises(ModelError, match="more than 8000000 bytes"):
        sl.read_motion(tmp_path / "big", 1)


def test_data_that_no_file_can_hold_are_refused() -> None:
    row = [[0.0]]
    with pytest.raises(ModelError, match="dt must be positive, not 0"):
        sl.MotionData(0.0, row, row, row)
    with pytest.raises(ModelError, match=r"qp must have shape \(n, 2\), not \(1, 1\)"):
        sl.MotionData(0.1, [[0.0, 1.0]], row, row)
    with pytest.raises(ModelError, match=r"one row for each instant in all of them, not \{'q': 2"):
        sl.MotionData(0.1, [[0.0], [1.0]], row, row)
    with pytest.raises(ModelError, match="at least one instant"):
        sl.MotionData(0.1, np.zeros((0, 2)), np.zeros((0, 2)), np.zeros((0, 2)))
    with pytest.raises(ModelError, match="qpp must be finite"):
        sl.MotionData(0.1, row, row, [[np.inf]])
    with pytest.raises(ModelError, match=r"axes must be three of X=0, Y=1, Z=2, .*not 0 0 1"):
        sl.GripperData(0.1, (0, 0, 1), *[np.zeros((1, 3))] * 6)
    with pytest.raises(ModelError, match="W1 and m1 must have 4 rows, not 3 and 4"):
        sl.TwoBodyData((sl.BodyData(1, 1, 1, 1),) * 2, np.zeros((3, 4)), np.eye(4))
    with pytest.raises(ModelError, match="there must be 2 bodies, not 1"):
        sl.TwoBodyData((sl.BodyData(1, 1, 1, 1),), np.zeros((4, 4)), np.eye(4))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="the number of joints must be at least 1, not 0"):
        sl.read_motion(DATA / "SCARA.MOT", 0)


@pytest.mark.parametrize("name", READERS)
@given(seed=st.integers(0, 10**9))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files_are_read_or_end_in_a_model_error(name: str, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    words = (DATA / name).read_text(encoding="ascii").split()[:60]
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(words))
        words[place : place + rng.choice([0, 1, 2])] = rng.choice(
            [["nan"], ["1e999"], ["-"], ["-1"], ["\0"], ["7"], []]
        )
    path = tmp_path / name
    path.write_text(" ".join(words), encoding="ascii")
    with contextlib.suppress(ModelError):
        READERS[name](path)


@pytest.mark.parametrize("name", READERS)
@given(noise=st.binary(max_size=100))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_noise_ends_in_a_model_error(name: str, tmp_path: Path, noise: bytes) -> None:
    (tmp_path / name).write_bytes(b"x" + noise)
    with pytest.raises(ModelError, match=rf"{name}: line 1: "):
        READERS[name](tmp_path / name)
