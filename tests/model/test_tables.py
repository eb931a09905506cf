"""Denavit-Hartenberg tables and screw axes, compared with the Robotics Toolbox and modern_robotics."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import expm

import chasles as ch
from chasles.base.errors import ModelError
from chasles.model import (
    build_tree,
    from_dh,
    from_screws,
    parse_toml,
    to_dh,
    to_modified_dh,
    to_screws,
    to_toml,
)

HALF = np.pi / 2
ROWS = [
    {"alpha": -HALF, "d": 0.4, "theta": 0.3, "offset": 0.2, "mass": 2.0, "inertia": [0.1, 0.1, 0.1]},
    {"alpha": 0.7, "a": 0.3, "b": -0.6, "d": 0.1, "kind": "prismatic", "offset": 0.2, "theta": -1.1},
    {"alpha": 2.0, "a": -0.2, "d": 0.5, "kind": "continuous", "name": "wrist", "mass": 1.0},
]
Q = np.array([0.4, -0.6, 1.7])


def rotation(axis: str, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    i, j = {"x": (1, 2), "z": (0, 1)}[axis]
    T = np.eye(4)
    T[[i, i, j, j], [i, j, i, j]] = c, -s, s, c
    return T


def translation(x: float, z: float, y: float = 0.0) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_link_frames_are_the_products_in_the_books(convention: str, reference: SimpleNamespace) -> None:
    base, tool = rotation("x", 0.5) @ translation(0.1, 0.2), translation(0.3, -0.1) @ rotation("z", 1.0)
    robot = from_dh(ROWS, convention=convention, base=base, tool=tool)  # type: ignore[arg-type]
    tree = build_tree(robot)
    T = base
    for index, (row, q) in enumerate(zip(ROWS, Q, strict=True), start=1):
        slides = row.get("kind") == "prismatic"
        theta = row.get("theta", 0.0) + (0.0 if slides else row.get("offset", 0.0) + q)
        d = row.get("d", 0.0) + (row.get("offset", 0.0) + q if slides else 0.0)
        about_z = rotation("z", theta) @ translation(0.0, d)
        about_x = translation(row.get("a", 0.0), 0.0, y=row.get("b", 0.0)) @ rotation("x", row["alpha"])
        T = T @ (about_z @ about_x if convention == "standard" else about_x @ about_z)
        assert np.abs(reference.frame_pose(tree, Q, f"link{index}") - T).max() < 1e-14
    assert np.abs(reference.frame_pose(tree, Q, "tool") - T @ tool).max() < 1e-14
    assert robot.joint_names == ("joint1", "joint2", "wrist")
    assert robot.tool == "tool"


def test_the_shift_b_is_that_of_spacelib(reference: SimpleNamespace) -> None:
    """The matrix of dhtom (User's Manual 2.2a, eq. 3.1), written out for both types of joint."""
    for kind in ("revolute", "prismatic"):
        theta, d, b, a, alpha, q = 0.4, -0.3, 0.7, 0.25, 1.2, 0.9
        row = {"theta": theta, "d": d, "b": b, "a": a, "alpha": alpha, "kind": kind}
        t, z = (theta + q, d) if kind == "revolute" else (theta, d + q)
        c, s, ca, sa = np.cos(t), np.sin(t), np.cos(alpha), np.sin(alpha)
        dhtom = [
            [c, -s * ca, s * sa, a * c - b * s],
            [s, c * ca, -c * sa, a * s + b * c],
            [0, sa, ca, z],
            [0, 0, 0, 1],
        ]
        tree = build_tree(from_dh([row]))
        assert np.abs(reference.frame_pose(tree, np.array([q]), "tool") - dhtom).max() < 1e-15


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_a_table_with_shifts_goes_into_every_other_description(convention: str, reference: SimpleNamespace) -> None:
    """Common normals make b zero: the tables found have none, and the robot moves alike."""
    robot = from_dh(ROWS, convention=convention)  # type: ignore[arg-type]
    M, g = reference.mass_matrix_and_gravity(build_tree(robot), Q)
    for other in (
        parse_toml(to_toml(robot)),
        parse_toml(to_toml(robot, "dh")),
        from_dh(**to_modified_dh(robot)),
        from_screws(**to_screws(robot)),
    ):
        tree = build_tree(other)
        for frame in robot.frame_names:
            found, expected = (reference.frame_pose(build_tree(one), Q, frame) for one in (other, robot))
            assert np.abs(found - expected).max() < 1e-13
        found_M, found_g = reference.mass_matrix_and_gravity(tree, Q)
        assert np.abs(found_M - M).max() < 1e-13
        assert np.abs(found_g - g).max() < 1e-12
    assert all("b" not in row for row in to_dh(robot).rows)


def test_friction_of_a_motor_comes_through_the_gear_whatever_its_sign() -> None:
    """PUMA 560, joint 1, with the motor's numbers of ROBOOP's manual (section 5.13.2.2)."""
    motor = {"motor_inertia": 2e-4, "motor_viscous_friction": 1.48e-3, "motor_coulomb_friction": 0.415}
    power = []
    for ratio in (-62.6111, 62.6111):
        row = motor | {"mass": 1.0, "inertia": [0.1] * 3, "gear_ratio": ratio, "viscous_friction": 0.5}
        (joint,) = from_dh([row]).joints
        assert joint.viscous_friction == pytest.approx(0.5 + 62.6111**2 * 1.48e-3, rel=1e-15)
        assert joint.coulomb_friction == pytest.approx(62.6111 * 0.415, rel=1e-15)
        arm = ch.Robot(parse_toml(to_toml(from_dh([row]))))
        friction = arm.inverse_dynamics([0.0], [0.3], [0.0]) - arm.gravity_torque([0.0])
        power.append(float(0.3 * friction[0]))
    assert power[0] == power[1] == pytest.approx(0.3 * (62.6111**2 * 1.48e-3 + 0.5) * 0.3 + 0.3 * 62.6111 * 0.415)


def test_a_toml_file_may_give_the_shift() -> None:
    text = "[[dh]]\na = 0.5\nb = -0.25\nalpha = 1.57079632679\n"
    assert parse_toml(text) == from_dh([{"a": 0.5, "b": -0.25, "alpha": HALF}])


def test_columns_are_the_same_as_rows() -> None:
    columns = {"a": [0.5, 0.25], "mass": [10.0, 5.0], "limits": [(-1, 1), {"velocity": 2.0}]}
    rows = [{"a": 0.5, "mass": 10.0, "limits": (-1, 1)}, {"a": 0.25, "mass": 5.0, "limits": {"velocity": 2.0}}]
    assert from_dh(columns, check=False) == from_dh(rows, check=False)


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.slow
def test_random_tables_agree_with_the_robotics_toolbox(n: int, reference: SimpleNamespace) -> None:
    rtb = importlib.import_module("roboticstoolbox")
    rng = np.random.default_rng(n)
    rows, links = [], []
    for index in range(n):
        alpha, a, d, theta, offset = rng.uniform(-1.5, 1.5, 5)
        slides = index % 3 == 1
        matrix = np.diag(rng.uniform(1.0, 1.5, 3))
        common = {"alpha": alpha, "a": a, "offset": offset}
        own = {"theta": theta} if slides else {"d": d}
        center, mass = rng.normal(size=3), rng.uniform(1, 2)
        rows.append(
            common
            | own
            | {"kind": "prismatic" if slides else "revolute", "mass": mass, "center_of_mass": center, "inertia": matrix}
            | {"motor_inertia": 0.01, "gear_ratio": 7.0}
        )
        kind = rtb.PrismaticDH if slides else rtb.RevoluteDH
        links.append(kind(**common, **own, m=mass, r=center, I=matrix, Jm=0.01, G=7.0))
    tree, arm = build_tree(from_dh(rows)), rtb.DHRobot(links)
    for _ in range(5):
        q = rng.uniform(-2.0, 2.0, n)
        assert np.abs(reference.frame_pose(tree, q, "tool") - arm.fkine(q).A).max() < 1e-13
        M, g = reference.mass_matrix_and_gravity(tree, q)
        assert np.allclose(M, arm.inertia(q), rtol=1e-11, atol=1e-11)
        assert np.allclose(g, arm.gravload(q, gravity=[0, 0, -9.81]), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"a": 1.0}, {"aplha": 1.0}], "DH row 2: a row has no key 'aplha'. Did you mean 'alpha'"),
        ([{"a": "long"}], "DH row 1: a must be a number, not 'long'"),
        ([{"kind": "fixed"}], "DH row 1: kind must be revolute, continuous or prismatic"),
        ([{"limits": 3.0}], r"DH row 1: limits must be a pair"),
        ([{"limits": (2, 1)}], "DH row 1: the lower limit 2.0 is not below"),
        ([{"limits": {"low": 2}}], "DH row 1: limits has no key 'low'"),
        ([{"mass": -1.0}], "link 'link1': its mass is negative"),
        ([{"inertia": [1, 2]}], r"DH row 1: the diagonal of inertia must have shape \(3,\), not \(2,\)"),
        ([{"inertia": [[1, 2, 3], 4, 5]}], r"DH row 1: inertia matrix must be numbers of shape \(3, 3\)"),
        ([3.0], "DH row 1: a row must be a table"),
        ({"a": [1, 2], "d": [1]}, "columns of a DH table must have equal lengths, not {'a': 2, 'd': 1}"),
    ],
)
def test_bad_rows_are_refused_by_number(rows: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        from_dh(rows)  # type: ignore[arg-type]


def test_unknown_convention_is_refused() -> None:
    with pytest.raises(ModelError, match="'standard' or 'modified', not 'craig'"):
        from_dh([], convention="craig")  # type: ignore[arg-type]


def twist_matrix(screw: np.ndarray) -> np.ndarray:
    x, y, z = screw[:3]
    return np.array([[0, -z, y, screw[3]], [z, 0, -x, screw[4]], [-y, x, 0, screw[5]], [0, 0, 0, 0]])


@pytest.fixture
def screws() -> np.ndarray:
    rng = np.random.default_rng(7)
    axes = []
    for pitch in (0.0, 0.2, None, 0.0, -0.1):
        omega = rng.normal(size=3)
        omega /= np.linalg.norm(omega)
        point = rng.uniform(-1, 1, 3)
        v = omega if pitch is None else np.cross(point, omega) + pitch * omega
        axes.append(np.concatenate([np.zeros(3) if pitch is None else omega, v]))
    return np.array(axes).T


def test_screws_are_products_of_exponentials(screws: np.ndarray, reference: SimpleNamespace) -> None:
    M = rotation("x", 0.4) @ translation(0.5, 0.8)
    q = np.array([0.3, -1.2, 0.5, 2.0, -0.7])
    space, body = from_screws(M, Slist=screws), from_screws(M, Blist=screws)
    assert [joint.kind for joint in space.joints] == ["revolute", "helical", "prismatic", "revolute", "helical"]
    assert [joint.kind for joint in body.joints] == [joint.kind for joint in space.joints]
    exponentials = [expm(twist_matrix(screws[:, i]) * q[i]) for i in range(5)]
    product = np.linalg.multi_dot(exponentials)
    assert np.abs(reference.frame_pose(build_tree(space), q, "tool") - product @ M).max() < 1e-13
    assert np.abs(reference.frame_pose(build_tree(body), q, "tool") - M @ product).max() < 1e-13


def test_screws_agree_with_modern_robotics(reference: SimpleNamespace) -> None:
    mr = importlib.import_module("modern_robotics")
    rng = np.random.default_rng(3)
    n = 4
    Mlist = np.array([mr.MatrixExp6(mr.VecTose3(rng.uniform(-1, 1, 6))) for _ in range(n + 1)])
    Glist = np.array([np.diag([*rng.uniform(1.0, 1.5, 3), *[rng.uniform(1, 2)] * 3]) for _ in range(n)])
    omegas = rng.normal(size=(n, 3))
    omegas /= np.linalg.norm(omegas, axis=1)[:, None]
    Slist = np.array([[*w, *np.cross(rng.uniform(-1, 1, 3), w)] for w in omegas]).T
    tree = build_tree(from_screws(Slist=Slist, Mlist=Mlist, Glist=Glist, gravity=[0.3, 0.4, -9.0]))
    for _ in range(5):
        q = rng.uniform(-3, 3, n)
        M, g = reference.mass_matrix_and_gravity(tree, q)
        assert np.allclose(M, mr.MassMatrix(q, Mlist, Glist, Slist), rtol=1e-11, atol=1e-11)
        assert np.allclose(g, mr.GravityForces(q, [0.3, 0.4, -9.0], Mlist, Glist, Slist), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one of Slist and Blist"),
        ({"Slist": np.eye(6), "Blist": np.eye(6)}, "exactly one of Slist and Blist"),
        ({"Slist": np.ones(6)}, r"Slist .one screw axis a column. must have shape \(6, n\), not \(6,\)"),
        ({"Slist": np.zeros((6, 1))}, "Slist column 1: omega is zero, so v must be a unit vector"),
        ({"Blist": 2.0 * np.eye(6)[:, :1]}, "Blist column 1: omega must be a unit vector"),
        (
            {"Slist": np.full((6, 1), np.nan)},
            r"Slist .* must be finite .*, but element \[0, 0\] is nan",
        ),
        ({"Slist": np.eye(6)[:, :1], "Mlist": [np.eye(4)]}, r"Mlist of 1 joints must have shape \(2, 4, 4\)"),
        ({"Slist": np.eye(6)[:, :1], "Mlist": [np.eye(4), 2 * np.eye(4)]}, r"Mlist\[1\] is not a rigid motion"),
        ({"Slist": np.eye(6)[:, :1], "Mlist": [np.eye(4), rotation("x", 1)]}, "product of Mlist differs from M"),
        ({"Slist": np.eye(6)[:, :1], "Glist": [np.eye(4)]}, r"Glist of 1 joints must have shape \(1, 6, 6\)"),
        ({"Slist": np.eye(6)[:, :1], "Glist": [np.diag([1, 1, 1, 1, 1, 2])]}, r"Glist\[0\] must be diag"),
        ({"Slist": np.eye(6)[:, :1], "joints": []}, "joints must be 1 mappings, not 0"),
        ({"Slist": np.eye(6)[:, :1], "M": np.ones((4, 4))}, "M is not a rigid motion"),
    ],
)
def test_bad_screws_are_refused_by_argument(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        from_screws(**{"M": np.eye(4)} | arguments)  # type: ignore[arg-type]
