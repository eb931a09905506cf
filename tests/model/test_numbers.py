"""One bound and one way to read numbers, whatever a robot is made from."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from chasles import algorithms
from chasles.base.errors import ModelError
from chasles.model import (
    Description,
    Frame,
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    build_tree,
    from_dh,
    from_screws,
    inertial_parameters,
    lock_joints,
    parse_mjcf,
    parse_toml,
    parse_urdf,
    to_toml,
    with_inertial_parameters,
)
from chasles.model.formats.spacelib import parse_robot_data

URDF = (
    '<robot><link name="a"/><link name="b"><inertial><mass value="{}"/></inertial></link>'
    '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
)
MJCF = (
    '<mujoco><worldbody><body name="b"><joint name="j"/><inertial pos="0 0 0.1" mass="{}" diaginertia="1 1 1"/>'
    "</body></worldbody></mujoco>"
)
DAT = "1   0  0 0 0 0.5 0  {}  0 0 0 0.04 0 0.04  -0.25 0 0   0 -9.8 0   0 0 0 0 0 0"
#: A mass in each format.
WITH_MASS: dict[str, Callable[[str], object]] = {
    "URDF": lambda mass: parse_urdf(URDF.format(mass)),
    "TOML": lambda mass: parse_toml(f"[[dh]]\nmass = {mass}"),
    "MJCF": lambda mass: parse_mjcf(MJCF.format(mass)),
    "SpaceLib": lambda mass: parse_robot_data(DAT.format(mass)),
    "DH table": lambda mass: from_dh([{"mass": float(mass)}]),
    "screws": lambda mass: from_screws(
        np.eye(4), Slist=np.eye(6)[:, :1], Glist=[np.diag([1, 1, 1, *[float(mass)] * 3])], Mlist=[np.eye(4)] * 2
    ),
    "Python": lambda mass: Inertia(float(mass)),
}
WRITTEN = ("URDF", "TOML", "MJCF", "SpaceLib")


@pytest.mark.filterwarnings("ignore:.*probable mistake:chasles.model.ModelWarning")
@pytest.mark.parametrize("name", WITH_MASS)
def test_the_bound_is_the_same_everywhere(name: str) -> None:
    WITH_MASS[name]("1e9")
    for mass in ("1.001e9", "-1e10", "1e308"):
        with pytest.raises(ModelError, match=r"1e\+09|MuJoCo cannot compile it: .*mass"):
            WITH_MASS[name](mass)


@pytest.mark.parametrize("name", WITH_MASS)
@pytest.mark.parametrize("mass", ["nan", "inf", "-inf"])
def test_masses_are_finite_everywhere(name: str, mass: str) -> None:
    with pytest.raises(ModelError):
        WITH_MASS[name](mass)


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize(
    "word",
    ["１２", "٣", "१", "½", "1２", "1\u00a0", "−1", "0x", "1_0.", "1e", "1e+", "--1", ".", "1,5", "1d3", "nan(1)"],
)
def test_no_format_reads_what_is_no_number(name: str, word: str) -> None:
    with pytest.raises(ModelError):
        WITH_MASS[name](word)


@pytest.mark.parametrize("name", ["URDF", "SpaceLib"])
@pytest.mark.parametrize(("word", "value"), [("+2.", 2.0), (".5", 0.5), ("25E-1", 2.5), ("007", 7.0), ("1e-400", 0.0)])
def test_numbers_are_read_as_c_reads_them(name: str, word: str, value: float) -> None:
    robot = WITH_MASS[name](word)
    mass = robot.link("b").inertia.mass if isinstance(robot, Description) else robot.links[0].mass  # type: ignore[attr-defined]
    assert mass == value


def test_underscores_are_digits_in_toml_only() -> None:
    robot = WITH_MASS["TOML"]("1_000")
    assert isinstance(robot, Description)
    assert robot.link("link1").inertia.mass == 1000.0
    for name in ("URDF", "SpaceLib", "MJCF"):
        with pytest.raises(ModelError):
            WITH_MASS[name]("1_000")


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (lambda: Inertia(1.0, [0, 2e9, 0]), r"center_of_mass must be finite and at most 1e\+09 .* element \[1\] is 2"),
        (lambda: Inertia(1.0, matrix=np.diag([1, 1, math.inf])), r"inertia matrix .* element \[2, 2\] is inf"),
        (lambda: Mimic("j", 2e9), "mimic 'ratio' must be finite and at most"),
        (lambda: Mimic("j", 1.0, math.nan), "mimic 'offset' must be finite and at most"),
        (lambda: Joint("j", "revolute", "a", "b", gear_ratio=-2e9), "the gear_ratio of joint 'j' must be finite"),
        (lambda: Joint("j", "revolute", "a", "b", axis=[0, 0, 2e9]), "the axis of joint 'j' must be finite"),
        (lambda: Joint("j", "revolute", "a", "b", np.diag([1, 1, 1, math.nan])), "T_parent_joint of joint 'j' must"),
        (lambda: Frame("f", "a", [[1, 0, 0, 2e9], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]), "of frame 'f' must be"),
        (lambda: Description("r", links=(Link("a"),), gravity=[0, 0, -1e10]), "gravity must be finite and at most"),
        (lambda: from_dh([{"a": 1.0}, {"d": 1e10}]), r"DH row 2: d must be finite and at most 1e\+09"),
        (lambda: from_screws(np.eye(4), Slist=[[0], [0], [1], [1e10], [0], [0]]), r"Slist .* element \[3, 0\] is 1"),
        (lambda: from_screws(np.eye(4), Slist=["0", "0", "1", "0", "0", "0"]), "Slist .* must be numbers of shape"),
    ],
)
def test_robots_made_in_python_have_the_bound_too(part: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        part()


def test_limits_beyond_the_bound_are_none() -> None:
    assert Limits(-2e9, 1e300, 1e16, math.inf) == Limits()
    assert Limits([-1.0, -1e10], [1.0, 1e10]).each("upper", 2) == (1.0, math.inf)
    home = parse_toml("[[dh]]\nlimits = [1.0, 1e300]").home
    assert home.tolist() == [1.0]  # not halfway to 1e300


def chain(ratios: list[float], offset: float = 0.0) -> Description:
    """Return joints in a row, each of which follows the one before."""
    links = tuple(Link(f"l{index}", Inertia(1.0)) for index in range(len(ratios) + 2))
    joints = [Joint("j0", "prismatic", "l0", "l1")]
    for index, ratio in enumerate(ratios, start=1):
        mimic = Mimic(f"j{index - 1}", ratio, offset)
        joints.append(Joint(f"j{index}", "prismatic", f"l{index}", f"l{index + 1}", mimic=mimic))
    return Description("chain", links=links, joints=tuple(joints))


def test_products_of_ratios_are_bounded() -> None:
    message = (
        "joint 'j2' mimics the joint 'j1', and through it 'j0' with the ratio 1e.18: the ratio must be finite and at"
    )
    with pytest.raises(ModelError, match=message):
        chain([1e9] * 59)
    with pytest.raises(ModelError, match=r"joint 'j3' .* through it 'j0' with the offset -1.82e\+09: the offset must"):
        chain([1.0, 1.0, 3.0], offset=-2.6e8)
    robot = chain([1e9, 1e-9] * 20)
    tree = build_tree(robot)
    assert np.isfinite(algorithms.mass_matrix(tree, np.zeros(1))).all()
    assert np.isfinite(algorithms.gravity_torque(tree, np.zeros(1))).all()


def test_ratios_of_many_followers_may_vanish_but_nothing_else() -> None:
    tree = build_tree(chain([1e-9] * 60))
    assert [body.ratio for body in tree.bodies[-2:]] == [0.0, 0.0]
    # The first kilogram moves with the speed 1, the 60 others with 1 + 1e-9 + 1e-18 + ...
    assert algorithms.mass_matrix(tree, np.zeros(1))[0, 0] == pytest.approx(1 + 60 / (1 - 1e-9) ** 2, rel=1e-14)


def test_what_is_derived_from_a_robot_has_the_bound() -> None:
    far = chain([1e9])
    with pytest.raises(ModelError, match="T_parent_joint of joint 'j1' must be finite and at most"):
        lock_joints(far, {"j0": 5.0})
    light = Description("r", links=(Link("a"), Link("b", Inertia(1.0))), joints=(Joint("j", "revolute", "a", "b"),))
    values = inertial_parameters(build_tree(light))
    values[:2] = 1e-12, 1.0
    with pytest.raises(ModelError, match="link 'b': center_of_mass must be finite and at most"):
        with_inertial_parameters(light, values, check=False)


def test_armature_for_a_gear_too_small_to_square() -> None:
    joint = Joint("j", "revolute", "a", "b", gear_ratio=1e-200)
    robot = Description("r", links=(Link("a"), Link("b", Inertia(1.0))), joints=(joint,))
    values = inertial_parameters(build_tree(robot))
    values[-1] = 0.5
    changed = with_inertial_parameters(robot, values)
    assert inertial_parameters(build_tree(changed))[-1] == 0.5


def test_a_joint_may_be_held_by_a_damping_of_1e11() -> None:
    damped = URDF.replace('<child link="b"/>', '<child link="b"/><dynamics damping="1e11"/>')
    held = parse_urdf(damped.format(1.0), check=False)
    assert held.joint("j").viscous_friction == 1e11
    assert parse_toml(to_toml(held), check=False) == held
    with pytest.raises(ModelError, match="1e\\+12"):
        Joint("j", "continuous", "a", "b", viscous_friction=1e13)
    with pytest.raises(ModelError, match="1e\\+09"):
        Joint("j", "continuous", "a", "b", coulomb_friction=1e11)
