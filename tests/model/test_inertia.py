"""Which inertias are errors, which are warnings, and what the messages say."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from chasles.base.errors import ArgumentError, ModelError
from chasles.model import (
    Description,
    Frame,
    Inertia,
    InertiaWarning,
    Joint,
    Limits,
    Link,
    ModelWarning,
    check_description,
    inconsistencies,
    load,
    with_nominal_bodies,
    with_payload,
)
from chasles.model.inertia import check_inertia


def swinging(inertia: Inertia, **joint: float) -> Description:
    links = (Link("base"), Link("forearm", inertia))
    return Description("arm", links=links, joints=(Joint("elbow", "revolute", "base", "forearm", **joint),))


@pytest.mark.parametrize(
    ("inertia", "reason"),
    [
        (Inertia(-1.0), r"mass is negative \(-1.0 kg\)"),
        (Inertia(1.0, matrix=np.diag([1.0, 1.0, -0.5])), r"principal moment of inertia is negative \(-0.5"),
        (Inertia(1.0, matrix=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
        (Inertia(1.0, matrix=[[1, 2, 0], [2, 1, 0], [0, 0, 3]]), "principal moment of inertia is negative"),
    ],
)
def test_impossible_inertia_is_an_error_that_names_the_link(inertia: Inertia, reason: str) -> None:
    with pytest.raises(ModelError, match="link 'forearm': .*" + reason):
        check_description(swinging(inertia))


def with_antenna(moment: float, kind: str = "fixed") -> Description:
    """A base of 1 kg·m², an arm of 0.5 kg·m², and an antenna on the arm with the principal moments 2, 2 and this."""
    antenna = Inertia(1e-6, matrix=np.diag([-2.0 * moment, -2.0 * moment, moment]))
    links = (Link("base", Inertia(9.0, matrix=np.eye(3))), Link("arm", Inertia(3.0, matrix=0.5 * np.eye(3))))
    joints = (Joint("a", "revolute", "base", "arm"), Joint("b", kind, "arm", "antenna"))  # type: ignore[arg-type]
    return Description("r", links=(*links, Link("antenna", antenna)), joints=joints)


def test_a_negative_moment_that_is_rounding_of_its_rigid_body_is_a_warning() -> None:
    """The sixth digit of the arm's 0.5 kg·m² is 5e-7 kg·m²."""
    with pytest.warns(InertiaWarning, match="link 'antenna': a principal moment .* as little as rounding explains"):
        check_description(with_antenna(-4e-7))
    with pytest.raises(ModelError, match="link 'antenna': a principal moment of inertia is negative"):
        check_description(with_antenna(-6e-7))
    with pytest.raises(ModelError, match="link 'antenna': a principal moment of inertia is negative"):
        check_description(with_antenna(-4e-7, "revolute"))


def test_inertias_rounded_to_three_digits_are_usable() -> None:
    """Plates and rods in all orientations, written with three digits, may have negative principal moments."""
    rng, negative = np.random.default_rng(0), 0
    for _ in range(300):
        R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        matrix = R @ np.diag([rng.choice([0.0, 1e-3]), 1.0, 1.0]) @ R.T
        rounded = np.array([[float(f"{x:.3g}") for x in row] for row in 0.5 * (matrix + matrix.T)])
        negative += np.linalg.eigvalsh(rounded)[0] < -1e-6
        check_inertia(Inertia(1.0, matrix=rounded), "link")
    assert negative > 50


def test_impossible_payload_is_an_error() -> None:
    with pytest.raises(ModelError, match="payload: its mass is negative"):
        check_description(with_payload(swinging(Inertia(1.0, matrix=np.eye(3))), -2.0))


def test_triangle_inequality_is_a_warning_that_names_the_link() -> None:
    with pytest.warns(InertiaWarning, match="robot 'arm': link 'forearm': .* 1, 1, 3 .*triangle inequality"):
        check_description(swinging(Inertia(1.0, matrix=np.diag([1.0, 3.0, 1.0]))))


def test_inertia_without_mass_is_a_warning() -> None:
    with pytest.warns(InertiaWarning, match="'forearm': it has an inertia matrix but no mass"):
        check_description(swinging(Inertia(0.0, matrix=np.eye(3))))


def test_massless_last_body_is_a_warning_only_where_the_mass_matrix_is_singular() -> None:
    links = (Link("base"), Link("arm", Inertia(1.0, matrix=np.eye(3))), Link("tip"))
    joints = (Joint("a", "revolute", "base", "arm"), Joint("b", "revolute", "arm", "tip"))
    with pytest.warns(InertiaWarning, match="link 'tip' .* joint 'b': the mass matrix is singular"):
        check_description(Description("r", links=links, joints=joints))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_description(Description("r", links=links, joints=(joints[0], joints[1].replace(motor_inertia=0.1))))
        check_description(Description("r", links=links, joints=(joints[0], joints[1].replace(kind="fixed"))))
        check_description(Description("only kinematics", links=(Link("base"), Link("arm")), joints=joints[:1]))


@given(npst.arrays(float, (5, 3), elements=st.floats(-1.0, 1.0)), npst.arrays(float, 5, elements=st.floats(0.1, 2.0)))
def test_inertia_of_any_point_masses_is_accepted(points: np.ndarray, masses: np.ndarray) -> None:
    center = masses @ points / masses.sum()
    arms = points - center
    matrix = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True))
    assert check_inertia(Inertia(masses.sum(), center, matrix), "link") is None


def test_wrong_shapes_and_types_say_what_is_expected() -> None:
    with pytest.raises(ModelError, match=r"center_of_mass must have shape \(3,\), not \(2,\)"):
        Inertia(1.0, [0.0, 0.0])
    with pytest.raises(ModelError, match="mass must be a number, not 'heavy'"):
        Inertia("heavy")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="inertia matrix must be numbers"):
        Inertia(1.0, matrix=[["a"] * 3] * 3)


def test_a_robot_warns_once_at_the_line_of_the_user(write: Callable[[str, str | bytes], Path]) -> None:
    """Many faults in one warning, reported where the user's program loads the file."""
    bad = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="5"/></inertial>'
    links = "".join(f'<link name="l{k}">{bad}</link>' for k in range(6))
    limit = '<limit lower="0" upper="0" effort="0" velocity="0"/>'
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>{limit}</joint>'
        for k in range(5)
    )
    path = write("exported.urdf", f'<robot name="exported">{links}{joints}</robot>')
    with pytest.warns(InertiaWarning, match=r"'j0', 'j1', 'j2', ….*'l0'.*'l1'.*; and 4 more") as caught:
        load(path)
    assert [Path(warning.filename).name for warning in caught] == ["test_inertia.py"]


def test_limits_that_allow_no_motion_are_said() -> None:
    hinge = Joint("hinge", "revolute", "wall", "door", limits=Limits(0.0, 0.0))
    with pytest.warns(ModelWarning, match="lower and upper position limits of 'hinge' are equal"):
        check_description(Description("door", links=(Link("wall"), Link("door")), joints=(hinge,)))


def test_nominal_bodies_are_solid_rods_from_joint_to_joint() -> None:
    """Two links of 0.5 and 0.25 m: the reach is 0.75 m, the radius 0.0375 m."""
    links = (Link("base"), Link("upper"), Link("lower"))
    T_upper_two, T_lower_tip = np.eye(4), np.eye(4)
    T_upper_two[0, 3], T_lower_tip[0, 3] = 0.5, 0.25
    joints = (
        Joint("one", "revolute", "base", "upper"),
        Joint("two", "revolute", "upper", "lower", T_parent_joint=T_upper_two),
    )
    tool = Frame("tip", "lower", T_lower_tip)
    bare = Description("bare", links=links, joints=joints, frames=(tool,), tool="tip")
    robot = with_nominal_bodies(bare, density=500.0)
    r = 0.75 / 20.0
    rod, ball = 500.0 * np.pi * r**2 * 0.5, 500.0 * 4.0 / 3.0 * np.pi * r**3
    upper = robot.link("upper").inertia
    assert robot.link("base").inertia.is_massless
    assert upper.mass == pytest.approx(rod + ball)
    np.testing.assert_allclose(upper.center_of_mass, [0.25 * rod / (rod + ball), 0.0, 0.0], rtol=1e-12, atol=1e-15)
    about_joint = upper.matrix[2, 2] + upper.mass * upper.center_of_mass[0] ** 2
    assert about_joint == pytest.approx(rod * (r**2 / 4.0 + 0.5**2 / 3.0) + 0.4 * ball * r**2)
    assert upper.matrix[0, 0] == pytest.approx(0.5 * rod * r**2 + 0.4 * ball * r**2)
    assert not inconsistencies(robot)
    with pytest.raises(ModelError, match="has masses of its own"):
        with_nominal_bodies(robot)
    with pytest.raises(ArgumentError, match="density"):
        with_nominal_bodies(bare, density=0.0)


def test_nominal_bodies_of_a_robot_whose_joints_stand_in_one_point() -> None:
    wrist = Description("wrist", links=(Link("a"), Link("b")), joints=(Joint("turn", "revolute", "a", "b"),))
    assert with_nominal_bodies(wrist).link("b").inertia.mass == pytest.approx(1000.0 * 4.0 / 3.0 * np.pi * 0.05**3)
