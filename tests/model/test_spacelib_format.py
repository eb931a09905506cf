"""SpaceLib's robot files: the grammar, and the robot's mechanics against ROB-MAT's algorithm on 4x4 matrices."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from tests.cpu_time import cpu_time_limit

import chasles as ch
from chasles.base.errors import ModelError
from chasles.model.formats.spacelib import (
    LinkData,
    RobotData,
    parse_robot_data,
    read_robot_data,
    robot_data_text,
    robot_description,
)

Write = Callable[[str, str | bytes], Path]
Matrix = np.ndarray

DATA = Path(__file__).parents[2] / "examples" / "spacelib" / "data"
SCARA = (DATA / "SCARA.DAT").read_text(encoding="ascii")
ROD = "1   0  0 0 0 0.5 0  2  0 0 0 0.04 0 0.04  -0.25 0 0   0 -9.8 0   0 0 0 0 0 0"


def skew(v: Matrix) -> Matrix:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def along(axis: int, length: float) -> Matrix:
    T = np.eye(4)
    T[axis, 3] = length
    return T


def about(axis: int, angle: float) -> Matrix:
    T = np.zeros((4, 4))
    T[:3, :3] = angle * skew(np.eye(3)[axis])
    return expm(T)


def rob_mat(data: RobotData, motion: Matrix, instant: int = 0) -> tuple[Matrix, Matrix]:
    """Placement of the gripper, and of each joint's motor -(L ⊙ ACTO), from the manual's formulas (§7.1.2, §7.1.4)."""
    T, WA, HA = [np.eye(4)], [np.zeros((4, 4))], [np.zeros((4, 4))]
    L = []
    for link, (q, qp, qpp) in zip(data.links, motion, strict=True):
        slides = link.jtype == 1
        unit = np.zeros((4, 4))
        if slides:
            unit[2, 3] = 1.0
        else:
            unit[:3, :3] = skew(np.array([0.0, 0.0, 1.0]))
        turn = about(2, link.theta + (0.0 if slides else q)) @ along(2, link.d + (q if slides else 0.0))
        L.append(T[-1] @ unit @ np.linalg.inv(T[-1]))
        W = qp * L[-1]
        H = qpp * L[-1] + W @ W
        HA.append(HA[-1] + H + 2.0 * WA[-1] @ W)
        WA.append(WA[-1] + W)
        T.append(T[-1] @ turn @ along(0, link.a) @ along(1, link.b) @ about(0, link.alpha))
    Hg = np.zeros((4, 4))
    Hg[:3, 3] = data.gravity
    force, torque = data.external_actions[instant][:3], data.external_actions[instant][3:]
    EXT = np.zeros((4, 4))
    EXT[:3, :3], EXT[:3, 3], EXT[3, :3] = skew(torque), force, -force
    ACTO = T[-1] @ EXT @ T[-1].T
    tau = np.zeros(len(L))
    for i in reversed(range(len(L))):
        J = T[i + 1] @ second_moments(data.links[i]) @ T[i + 1].T
        FI = (Hg - HA[i + 1]) @ J
        ACTO = FI - FI.T + ACTO
        linear = L[i][:3, 3] @ ACTO[:3, 3]
        angular = sum(L[i][row, column] * ACTO[row, column] for row, column in ((2, 1), (0, 2), (1, 0)))
        tau[i] = -(linear + angular)
    return T[-1], tau


def second_moments(link: LinkData) -> Matrix:
    """∫ x xᵗ dm in homogeneous coordinates."""
    inertia = np.array([[link.jxx, link.jxy, link.jxz], [link.jxy, link.jyy, link.jyz], [link.jxz, link.jyz, link.jzz]])
    g = np.array([link.xg, link.yg, link.zg])
    J = np.zeros((4, 4))
    J[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia + link.mass * np.outer(g, g)
    J[:3, 3] = J[3, :3] = link.mass * g
    J[3, 3] = link.mass
    return J


def random_robot(seed: int, instants: int = 1) -> tuple[RobotData, Matrix]:
    """A robot with every number of the format in use, and a motion."""
    rng = np.random.default_rng(seed)
    links = []
    for _ in range(rng.integers(1, 8)):
        A = rng.normal(size=(3, 6))
        inertia = np.trace(A @ A.T) * np.eye(3) - A @ A.T  # of points at the columns
        moments = inertia[np.triu_indices(3)]  # xx xy xz yy yz zz
        links.append(
            LinkData(int(rng.integers(2)), *rng.normal(size=5), rng.uniform(0.5, 9.0), *moments, *rng.normal(size=3))
        )
    data = RobotData(tuple(links), rng.normal(size=3), rng.normal(size=(instants, 6)))
    return data, rng.normal(size=(len(links), 3))


@pytest.mark.parametrize("seed", range(6))
def test_mechanics_are_those_of_rob_mat(seed: int) -> None:
    """Shift b, full inertias, prismatic joints, any gravity, and forces and torques on the gripper."""
    data, motion = random_robot(seed)
    robot = ch.Robot(robot_description(data))
    T, tau = rob_mat(data, motion)
    assert np.abs(robot.forward_kinematics(motion[:, 0]) - T).max() < 1e-12 * np.abs(T).max()
    force, torque = data.external_actions[0, :3], data.external_actions[0, 3:]
    found = robot.inverse_dynamics(*motion.T, wrenches={"gripper": [*torque, *force]})
    assert np.abs(found - tau).max() < 1e-12 * np.abs(tau).max()


@pytest.mark.parametrize("name", ["SCARA", "SMART"])
def test_robots_of_the_manual(name: str) -> None:
    """Torques of the motions in tables 7.3 and 7.4, one instant after the other and all at once."""
    data = read_robot_data(DATA / f"{name}.DAT")
    numbers = [float(word) for word in (DATA / f"{name}.MOT").read_text(encoding="ascii").split()]
    motion = np.array(numbers[1:]).reshape(-1, len(data.links), 3)
    robot = ch.load(DATA / f"{name}.DAT")
    expected = np.array([rob_mat(data, instant)[1] for instant in motion])
    assert np.abs(robot.inverse_dynamics(*np.moveaxis(motion, -1, 0)) - expected).max() < 1e-12 * np.abs(expected).max()
    if name == "SCARA":
        assert expected[0].round(2).tolist() == [107.39, 47.37, 29.4]


def test_a_file_becomes_a_robot_with_all_that_the_library_can_do(write: Write, tmp_path: Path) -> None:
    robot = ch.load(write("Scara.dat", SCARA))
    assert robot == ch.load(tmp_path / "Scara.dat")
    assert (robot.name, robot.n, robot.description.tool) == ("Scara", 3, "gripper")
    assert [joint.kind for joint in robot.description.joints] == ["revolute", "revolute", "prismatic"]
    assert robot.frame_names == ("link0", "link1", "link2", "link3", "gripper")
    assert robot.description.gravity.tolist() == [0.0, 0.0, -9.8]
    q, qd, qdd = np.array([0.1, 0.2, 0.3]), np.array([1.0, -1.0, 0.5]), np.array([3.0, 2.0, 1.0])
    assert np.abs(robot.forward_dynamics(q, qd, robot.inverse_dynamics(q, qd, qdd)) - qdd).max() < 1e-11
    assert ch.load(write("again.toml", ch.model.write(robot.description, "toml"))) == robot


def test_inertias_keep_the_signs_of_the_tensor() -> None:
    """A rod along x = y has ∫ xy dm > 0, so jxy < 0, as in Chasles' own matrices."""
    link = LinkData(0, mass=2.0, jxx=1.0, jxy=-1.0, jxz=0.1, jyy=1.0, jyz=0.2, jzz=2.0, xg=0.3, yg=0.4, zg=0.5)
    inertia = robot_description(RobotData((link,), [0, 0, 0], [[0] * 6])).links[1].inertia
    assert inertia.matrix.tolist() == [[1.0, -1.0, 0.1], [-1.0, 1.0, 0.2], [0.1, 0.2, 2.0]]
    assert inertia.center_of_mass.tolist() == [0.3, 0.4, 0.5]


numbers = st.floats(-1e9, 1e9)
link_data = st.builds(LinkData, st.integers(0, 1), *[numbers] * 15)
robot_data = st.builds(
    RobotData,
    st.lists(link_data, min_size=1, max_size=4).map(tuple),
    st.lists(numbers, min_size=3, max_size=3),
    st.lists(st.lists(numbers, min_size=6, max_size=6), min_size=1, max_size=3),
)


@given(robot_data)
def test_what_is_written_is_read_again(data: RobotData) -> None:
    assert parse_robot_data(robot_data_text(data)) == data


@pytest.mark.parametrize("separator", [" ", "\n", "\r\n", "\t \n\n", "\x0b\x0c"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n  ", "\x1a", "\r\n\x1a\x00 rest of the sector"])
def test_the_format_is_free(separator: str, end: str) -> None:
    assert parse_robot_data("\ufeff" + separator.join(SCARA.split()) + end) == parse_robot_data(SCARA)


def test_numbers_are_those_of_c() -> None:
    link = parse_robot_data(ROD.replace("-0.25 0 0", "-.25e+0 +1. 1E-2")).links[0]
    assert (link.xg, link.yg, link.zg) == (-0.25, 1.0, 0.01)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (SCARA, "", "line 1: number of links: expected a whole number from 1 to 2000, found the end of the file"),
        ("3\n0\n", "3.0\n0\n", r"line 1: number of links: expected a whole number from 1 to 2000, found '3\.0'"),
        ("3\n0\n", "0\n0\n", "line 1: number of links: expected a whole number from 1 to 2000, found '0'"),
        ("3\n0\n", "999999999\n0\n", "line 1: number of links: .*found '999999999'"),
        (
            "1\n0 -0.1",
            "2\n0 -0.1",
            r"line 16: link 3: joint type \(0 revolute, 1 prismatic\): .* from 0 to 1, found '2'",
        ),
        ("0 -0.1 0", "0 x 0", "line 17: link 3: theta d b a alpha: expected a number, found 'x'"),
        ("0 -0.1 0", "0 nan 0", "line 17: link 3: theta d b a alpha: expected a number .*, found 'nan'"),
        ("0 -0.1 0", "0 1_0 0", "line 17: .*expected a number, found '1_0'"),
        ("0 -0.1 0", "0 ٣ 0", "line 17: .*expected a number, found '٣'"),
        ("0 -0.1 0", "0 -0,1 0", "line 17: .*expected a number, found '-0,1'"),
        ("0 -0.1 0", "0 1e999 0", r"line 17: .*expected a number of at most 1e\+09, found '1e999'"),
        (
            "0 0 -0.10\n",
            "0 0\n",
            "line 24: instant 0: external actions fx fy fz cx cy cz: .* found the end of the file",
        ),
        ("0 0 0 0 0 0\n", "", "line 23: instant 0: external actions fx fy fz cx cy cz: .* found the end of the file"),
        ("0 0 0 0 0 0\n", "0 0 0 0 0 0\n1 2 3", "line 25: instant 1: external actions .*: .* the end of the file"),
        ("10\n0.03", "-10\n0.03", r"link 'link1': its mass is negative \(-10.0 kg\)"),
    ],
)
def test_wrong_files_are_told_where_and_what(old: str, new: str, message: str, write: Write) -> None:
    assert old in SCARA
    with pytest.raises(ModelError, match=r"evil\.DAT: " + message):
        ch.load(write("evil.DAT", SCARA.replace(old, new, 1)))


def test_files_of_other_programs_are_no_robots() -> None:
    for name in ("ELBOW.DAT", "TEST.DAT", "INP.DAT"):
        with pytest.raises(ModelError, match=rf"{name}: line \d+: "):
            ch.load(DATA / name)


def test_data_that_no_file_can_hold_are_refused() -> None:
    with pytest.raises(ModelError, match=r"jtype must be 0 \(Rev\) or 1 \(Pri\), not 2"):
        LinkData(2)
    with pytest.raises(ModelError, match="must be finite"):
        LinkData(0, theta=np.nan)
    link = LinkData(0)
    with pytest.raises(ModelError, match="1 to 2000 links, not 0"):
        RobotData((), [0, 0, 0], [[0] * 6])
    with pytest.raises(ModelError, match=r"gravity must have shape \(n, 3\), not \(1, 2\)"):
        RobotData((link,), [0, 0], [[0] * 6])
    with pytest.raises(ModelError, match="external_actions must have at least one row"):
        RobotData((link,), [0, 0, 0], np.zeros((0, 6)))


HOSTILE = {
    "random bytes": random.Random(0).randbytes(10_000_000),
    "zeros": bytes(400_000),
    "text": b"garbage " * 50_000,
    "one word": b"x" * 400_000,
    "a long whole number": b"9" * 400_000,
    "a long number": b"1 0 " + b"9" * 400_000,
    "many digits": b"1 0 0." + b"1" * 400_000 + b" x",
    "many numbers": b"1 " * 240_000 + b"x",
    "many links that are not there": b"2000 0",
    "minus signs": b"1 0 " + b"-" * 400_000,
    "nothing but blanks": b" \n" * 200_000,
    "nothing": b"",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_files_end_quickly_in_an_error_that_names_the_file(what: str, write: Write) -> None:
    path = write("evil.dat", HOSTILE[what])
    with cpu_time_limit(1.0), pytest.raises(ModelError, match=r"evil\.dat: ") as caught:
        ch.load(path)
    assert len(str(caught.value)) < 400 + len(str(path))


@pytest.mark.parametrize("count", range(len(SCARA.split())))
def test_a_file_cut_anywhere_is_an_error(count: int) -> None:
    with pytest.raises(ModelError, match="found the end of the file"):
        parse_robot_data(" ".join(SCARA.split()[:count]))


@settings(max_examples=200)
@given(st.integers(0, 10**9))
def test_damaged_files_load_or_end_in_a_model_error(seed: int) -> None:
    rng = random.Random(seed)
    words = SCARA.split(" ")
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(words))
        words[place : place + rng.choice([0, 1, 2])] = rng.choice(
            [["nan"], ["1e999"], ["x"], ["-1"], ["\0"], ["7"], []]
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            robot = robot_description(parse_robot_data(" ".join(words)))
        except ModelError:
            return
    assert robot.n == len(robot.links) - 1


@given(st.binary(max_size=300))
def test_noise_ends_in_a_model_error(noise: bytes) -> None:
    with pytest.raises(ModelError, match="SpaceLib text: line"):
        parse_robot_data(noise)
