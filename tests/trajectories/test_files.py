"""ROBOOP's path and quaternion files: its own examples, round trips, and files that are wrong."""

from __future__ import annotations

import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from chasles.base.errors import ArgumentError, ModelError, UnknownNameError
from chasles.geometry import exp_rotation, quaternion_from_rotation, rotation_from_quaternion
from chasles.trajectories import (
    PathData,
    QuaternionData,
    read_path_file,
    read_quaternion_file,
    read_trajectory_file,
    write_path_file,
    write_quaternion_file,
)

PATH = """# Desired positions
#
CARTESIAN_SPACE
3
0
0.452100 -0.150050 -0.731800
0.5
0.561821 -0.021244 -0.537842
1.0
0.577857 0.268650 -0.323976
"""
JOINTS = "#\n#\nJOINT_SPACE\n6\n0\n0 0 0 0 0 0\n1.\n0.2 -0.4 0.1 0.2 0.3 0.0 \n2.0\n0.6 -0.8 0.2 0.4 0.4 0.0"
QUATERNIONS = """# orientations, rounded to six digits
#
0
R
1.000000 0.000000 0.000000 0.000000 -1.000000 0.000000 0.000000 -0.000000 -1.000000
0.5
R
0.999943 0.008696 -0.006149 0.009042 -0.998237 0.058659 -0.005628 -0.058711 -0.998259
1.0
Q
0.5 0.5 -0.5 0.5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "motion.dat"


def test_a_path_file(file: Path) -> None:
    file.write_text(PATH)
    data = read_path_file(file)
    assert data.space == "cartesian"
    np.testing.assert_array_equal(data.times, [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(data.values[1], [0.561821, -0.021244, -0.537842])
    path = data.to_trajectory()
    np.testing.assert_allclose(path(data.times).q, data.values, atol=1e-15)
    np.testing.assert_allclose(path(data.times[[0, -1]]).qdd, 0.0, atol=1e-13)  # natural
    with pytest.raises(ArgumentError, match=r"the time 1.5 s is outside of the spline, from 0 to 1 s"):
        path(1.5)


def test_a_joint_path_without_a_last_line_break(file: Path) -> None:
    file.write_text(JOINTS)
    data = read_path_file(file)
    assert (data.space, data.values.shape) == ("joint", (3, 6))
    np.testing.assert_array_equal(data.values[2], [0.6, -0.8, 0.2, 0.4, 0.4, 0.0])


def test_a_quaternion_file(file: Path) -> None:
    file.write_text(QUATERNIONS)
    data = read_quaternion_file(file)
    np.testing.assert_array_equal(data.times, [0.0, 0.5, 1.0])
    np.testing.assert_allclose(np.abs(data.quaternions[0]), [0.0, 1.0, 0.0, 0.0], atol=1e-15)
    middle = [[0.999943, 0.008696, -0.006149], [0.009042, -0.998237, 0.058659], [-0.005628, -0.058711, -0.998259]]
    np.testing.assert_allclose(rotation_from_quaternion(data.quaternions[1]), middle, atol=2e-6)
    np.testing.assert_array_equal(data.quaternions[2], [0.5, 0.5, -0.5, 0.5])
    for turning in ("squad", "roboop", "smooth"):
        np.testing.assert_allclose(data.to_trajectory(turning)(0.5).pose[:3, :3], middle, atol=2e-6)


def test_whichever_it_is(file: Path) -> None:
    for text, kind in ((PATH, PathData), (JOINTS, PathData), (QUATERNIONS, QuaternionData)):
        file.write_text(text)
        assert type(read_trajectory_file(file)) is kind


def test_points_are_sorted_by_time(file: Path) -> None:
    file.write_text("JOINT_SPACE\n1\n2\n20\n0\n0\n1\n10\n")
    data = read_path_file(file)
    np.testing.assert_array_equal(data.times, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(data.values[:, 0], [0.0, 10.0, 20.0])
    file.write_text("1 Q 0 1 0 0\n0 Q 1 0 0 0\n")
    np.testing.assert_array_equal(read_quaternion_file(file).quaternions, [[1, 0, 0, 0], [0, 1, 0, 0]])


numbers = st.floats(-1e9, 1e9, allow_nan=False)
reusing = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@reusing
@given(data=st.data())
def test_what_is_written_is_read_to_the_last_bit(file: Path, data: st.DataObject) -> None:
    times = sorted(data.draw(st.lists(numbers, min_size=1, max_size=6, unique=True)))
    values = data.draw(arrays(np.float64, (len(times), data.draw(st.integers(1, 7))), elements=numbers))
    space: Any = data.draw(st.sampled_from(["joint", "cartesian"]))
    given_path = PathData(space, times, values)
    write_path_file(file, given_path)
    path = read_path_file(file)
    assert path == given_path
    np.testing.assert_array_equal(path.values, values)
    assert pickle.loads(pickle.dumps(path)) == path
    vectors = np.array(data.draw(arrays(np.float64, (len(times), 3), elements=st.floats(-3.0, 3.0))))
    orientations = QuaternionData(times, quaternion_from_rotation(exp_rotation(vectors)))
    write_quaternion_file(file, orientations)
    assert read_quaternion_file(file) == orientations


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "motion.dat: line 1: space: expected JOINT_SPACE or CARTESIAN_SPACE, found the end of the file"),
        ("#\nPOLAR_SPACE\n", "line 2: space: expected JOINT_SPACE or CARTESIAN_SPACE, found 'POLAR_SPACE'"),
        ("JOINT_SPACE\n0\n", "line 2: number of columns: expected a whole number from 1 to 1000, found '0'"),
        ("JOINT_SPACE\n2\n", "point 0: time and 2 values: expected a number, found the end"),
        ("JOINT_SPACE\n1\n0\n1\n1\n", "point 1: time and 1 values: expected a number, found the end"),
        ("JOINT_SPACE\n1\n0\n1\n1\nx\n", "line 6: point 1: .* expected a number, found 'x'"),
        ("JOINT_SPACE\n1\n0\nnan\n", "line 4: point 0: .* found 'nan'"),
        ("JOINT_SPACE\n1\n0\n1\n0\n2\n", "points 0 and 1 have the same time 0"),
    ],
)
def test_path_files_that_are_wrong(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(ModelError, match=message):
        read_path_file(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# nothing\n", "knot 0: time: expected a number, found the end of the file"),
        ("0\nE\n", "line 2: knot 0: expected R or Q, found 'E'"),
        ("0\nQ\n1 0 0\n", "knot 0: quaternion: expected a number, found the end"),
        ("0\nQ\n1 0 0 0\n1\nQ\n1 1 0 0\n", "line 6: knot 1: expected a unit quaternion, found one of length 1.41421"),
        ("0\nR\n1 0 0 0 1 0 0 0 -1\n", "line 3: knot 0: expected a rotation matrix, found one 2.* away from it"),
        ("0\nR\n1 0 0 0 1 0 0 0\n", "knot 0: rotation matrix: expected a number, found the end"),
        ("0\nQ\n1 0 0 0\n0\nQ\n0 1 0 0\n", "knots 0 and 1 have the same time 0"),
    ],
)
def test_quaternion_files_that_are_wrong(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(ModelError, match=message):
        read_quaternion_file(file)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for read in (read_path_file, read_quaternion_file, read_trajectory_file):
        with pytest.raises(ModelError, match=r"none.dat: cannot be read"):
            read(tmp_path / "none.dat")


@reusing
@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    for read in (read_path_file, read_quaternion_file, read_trajectory_file):
        with suppress(ModelError):
            read(file)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PathData("joint", [0.0, 0.0], [[1.0], [2.0]]), "point 1 .* is at the same time as point 0"),
        (lambda: PathData("joint", [0.0], [[np.nan]]), r"points\[0, 0\] is nan; it must be finite"),
        (lambda: PathData("joint", [0.0], [[1e10]]), r"at most 1e\+09, not 1e\+10"),
        (lambda: PathData("joint", [0.0, 1.0], np.zeros((3, 2, 1))), "a file holds one path"),
        (lambda: QuaternionData([0.0], [[1.0, 0.0, 0.0]]), r"quaternions must have shape \(1, 4\)"),
        (lambda: QuaternionData([0.0], [[1.0, 1.0, 0.0, 0.0]]), "quaternion of knot 0 is 0.41 away from unit length"),
    ],
)
def test_bad_data_are_named(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_unknown_spaces() -> None:
    with pytest.raises(UnknownNameError, match=r"no space 'task'.*joint, cartesian"):
        PathData("task", [0.0], [[1.0]])


def test_one_point_is_a_file_but_not_a_motion() -> None:
    with pytest.raises(ArgumentError, match="at least 2 waypoints are needed, not 1"):
        PathData("joint", [0.0], [[1.0]]).to_trajectory()
