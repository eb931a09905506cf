"""The youBot of the book's chapter 13: the numbers that the course gives to check one's programs, and a whole run."""

from __future__ import annotations

import csv
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from chasles.base.errors import ArgumentError, ChaslesError
from chasles.interop.modern_robotics.mobile_manipulation import (
    FeedbackControl,
    NextState,
    TrajectoryGenerator,
    write_animation,
    youbot,
)

XD = [[0, 0, 1, 0.5], [0, 1, 0, 0], [-1, 0, 0, 0.5], [0, 0, 0, 1]]
XD_NEXT = [[0, 0, 1, 0.6], [0, 1, 0, 0], [-1, 0, 0, 0.3], [0, 0, 0, 1]]
CONFIGURATION = [0, 0, 0, 0, 0, 0.2, -1.6, 0]
FORWARD, SIDEWAYS, TURNING = [10, 10, 10, 10], [-10, 10, -10, 10], [-10, 10, 10, -10]


@pytest.mark.parametrize(
    ("wheels", "expected"),
    [(FORWARD, [0.0, 0.475, 0.0]), (SIDEWAYS, [0.0, 0.0, 0.475]), (TURNING, [1.234, 0.0, 0.0])],
)
def test_a_second_of_driving(wheels: list[int], expected: list[float]) -> None:
    q = np.zeros(12)
    for _ in range(100):
        q = NextState(q, [*wheels, 0, 0, 0, 0, 0], 0.01)
    np.testing.assert_allclose(q[:3], expected, atol=5e-4)
    np.testing.assert_allclose(q[8:], wheels, rtol=1e-12)
    half = NextState(np.zeros(12), [*wheels, 0, 0, 0, 0, 20], 1.0, 5.0)
    np.testing.assert_allclose(half[:3], 0.5 * np.array(expected), atol=5e-4)
    assert half[7] == 5.0


@pytest.mark.parametrize(
    ("Kp", "speeds"),
    [(0.0, [157.2] * 4 + [0, -652.9, 1398.6, -745.7, 0]), (1.0, [157.5] * 4 + [0, -654.3, 1400.9, -746.8, 0])],
)
def test_feedback_control(Kp: float, speeds: list[float]) -> None:
    feedback = FeedbackControl(CONFIGURATION, XD, XD_NEXT, Kp, 0.0, 0.01)
    np.testing.assert_allclose(feedback.error, [0, 0.171, 0, 0.080, 0, 0.107], atol=5e-4)
    np.testing.assert_allclose(feedback.speeds, speeds, atol=0.06)
    np.testing.assert_array_equal(
        FeedbackControl(CONFIGURATION, XD, XD_NEXT, np.eye(6) * Kp, 0.0, 0.01).speeds, feedback.speeds
    )


def test_the_integral_is_handed_on() -> None:
    first = FeedbackControl(CONFIGURATION, XD, XD, 0.0, 0.0, 0.5)
    second = FeedbackControl(CONFIGURATION, XD, XD, 0.0, 2.0, 0.5, first.integral)
    np.testing.assert_allclose(second.integral, 2 * 0.5 * first.error, rtol=1e-14)
    np.testing.assert_allclose(second.twist, 2.0 * second.integral, rtol=1e-14)


def poses() -> dict[str, np.ndarray]:
    start = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0.5], [0, 0, 0, 1]], float)
    cube, goal = np.eye(4), np.array([[0, 1, 0, 0], [-1, 0, 0, -1], [0, 0, 1, 0.025], [0, 0, 0, 1]], float)
    cube[:3, 3] = 1.0, 0.0, 0.025
    c, s = np.cos(0.75 * np.pi), np.sin(0.75 * np.pi)
    grasp = np.array([[c, 0, s, 0], [0, 1, 0, 0], [-s, 0, c, 0], [0, 0, 0, 1]])
    above = grasp.copy()
    above[2, 3] = 0.15
    return {"Tse_initial": start, "Tsc_initial": cube, "Tsc_final": goal, "Tce_grasp": grasp, "Tce_standoff": above}


def test_the_reference_meets_its_eight_poses() -> None:
    given = poses()
    rows = TrajectoryGenerator(**given, durations=[1.0] * 8)
    assert rows.shape == (801, 13)
    ends = rows[100::100]
    picked, placed = given["Tsc_initial"], given["Tsc_final"]
    above, at = given["Tce_standoff"], given["Tce_grasp"]
    goals = [
        picked @ above,
        picked @ at,
        picked @ at,
        picked @ above,
        placed @ above,
        placed @ at,
        placed @ at,
        placed @ above,
    ]
    for row, T, gripper in zip(ends, goals, [0, 1, 1, 1, 1, 0, 0, 0], strict=True):
        np.testing.assert_allclose(row[:9].reshape(3, 3), T[:3, :3], atol=1e-12)
        np.testing.assert_allclose(row[9:12], T[:3, 3], atol=1e-12)
        assert row[12] == gripper


@pytest.mark.parametrize("k", [1, 3])
def test_rows_of_the_reference_are_equally_far_apart(k: int) -> None:
    """Row i is the pose at i · 0.01 s / k of quintic time scaling, the boundaries between parts once."""
    given, durations = poses(), [2.0, 1.0, 0.63, 1.0, 2.0, 1.0, 0.63, 1.0]
    rows = TrajectoryGenerator(**given, k=k, durations=durations)
    assert len(rows) == round(100 * k * sum(durations)) + 1
    assert rows[0, 9:12] == pytest.approx(given["Tse_initial"][:3, 3])
    above = (given["Tsc_initial"] @ given["Tce_standoff"])[:3, 3]
    at = (given["Tsc_initial"] @ given["Tce_grasp"])[:3, 3]
    s = np.arange(100 * k + 1) / (100 * k)
    scaling = 10 * s**3 - 15 * s**4 + 6 * s**5
    down = rows[200 * k : 300 * k + 1, 9:12]
    np.testing.assert_allclose(down, above + scaling[:, None] * (at - above), atol=1e-12)


def test_the_youbot_picks_and_places(tmp_path: Path) -> None:
    """From a start 20 cm and 30° off the reference the error is gone before the gripper closes, and stays away."""
    reference = TrajectoryGenerator(**poses(), durations=[3.0, 1.0, 0.5, 1.0, 4.0, 1.0, 0.5, 1.0])
    configuration = np.array([np.pi / 6, -0.35, 0.1, 0, -0.4, -0.6, -0.8, 0, 0, 0, 0, 0])
    integral = np.zeros(6)
    errors, states = [], []

    def pose(row: np.ndarray) -> np.ndarray:
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = row[:9].reshape(3, 3), row[9:12]
        return T

    for now, then in pairwise(reference):
        feedback = FeedbackControl(configuration, pose(now), pose(then), 3.0, 0.0, 0.01, integral)
        integral = feedback.integral
        configuration = NextState(configuration, feedback.speeds, 0.01, 30.0)
        errors.append(np.abs(feedback.error).max())
        states.append(configuration)
    assert errors[0] > 0.2
    assert max(errors[390:]) < 2e-3
    path = write_animation(tmp_path / "run.csv", states, reference[:-1, 12])
    assert np.loadtxt(path, delimiter=",").shape == (len(states), 13)


def test_the_file_has_the_documented_format(tmp_path: Path) -> None:
    """Lines of 13 numbers, by the scene's description: chassis φ, x, y, J1 … J5, W1 … W4, gripper; no header."""
    rows = [NextState(np.zeros(12), [*SIDEWAYS, 0.1, 0.2, 0.3, 0.4, 0.5], 0.01), np.arange(12.0) * 1e-7]
    text = write_animation(tmp_path / "run.csv", rows, [0.0, 1.0]).read_bytes().decode("ascii")
    assert re.fullmatch(r"(-?\d+(\.\d+)?(e-\d+)?,){12}0\n(-?\d+(\.\d+)?(e-\d+)?,){12}1\n", text)
    first, second = (list(map(float, line)) for line in csv.reader(text.splitlines()))
    np.testing.assert_allclose(first[:3], [0.0, 0.0, 0.00475], atol=1e-12)
    np.testing.assert_allclose(first[3:8], [0.001, 0.002, 0.003, 0.004, 0.005], rtol=1e-8)
    np.testing.assert_allclose(first[8:12], [-0.1, 0.1, -0.1, 0.1], rtol=1e-8)
    np.testing.assert_allclose(second[:12], rows[1], rtol=1e-8)
    with pytest.raises(ArgumentError, match=r"gripper has 0\.5; it must be 1 for closed and 0 for open"):
        write_animation(tmp_path / "half.csv", rows, 0.5)


def test_its_dimensions() -> None:
    robot = youbot()
    T = robot.forward_kinematics([0.3, 0.1, -0.2], np.zeros(5))
    assert T[2, 3] == pytest.approx(0.0963 + 0.0026 + 0.6546, rel=1e-12)
    assert robot.jacobian(np.zeros(5)).shape == (6, 9)


@pytest.mark.parametrize(
    "call",
    [
        lambda: NextState(np.zeros(11), np.zeros(9), 0.01),
        lambda: NextState(np.zeros(12), np.zeros(9), 0.0),
        lambda: NextState(np.full(12, np.nan), np.zeros(9), 0.01),
        lambda: FeedbackControl(CONFIGURATION, XD, XD_NEXT, [1.0, 2.0], 0.0, 0.01),
        lambda: FeedbackControl(CONFIGURATION, np.zeros((3, 4)), XD_NEXT, 1.0, 0.0, 0.01),
        lambda: TrajectoryGenerator(**poses(), k=0),
        lambda: TrajectoryGenerator(**poses(), durations=[1.0] * 7),
        lambda: write_animation("/no/such/folder/run.csv", np.zeros((2, 12))),
    ],
)
def test_wrong_arguments_are_named(call: object) -> None:
    with pytest.raises(ChaslesError):
        call()  # type: ignore[operator]
