"""The shipped robots against the tables they come from, and `load`."""

from __future__ import annotations

import importlib
import importlib.util
import math
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest
from tests.oracles.example_robots import example

import chasles as ch
from chasles.base.errors import ArgumentError, ModelError, UnknownNameError
from chasles.model import (
    Description,
    InertiaWarning,
    ModelWarning,
    ReadFormat,
    build_tree,
    formats,
    load,
    parse_toml,
    parse_urdf,
    shipped,
    shipped_path,
    sub_chain,
)


def test_the_promised_robots_are_there() -> None:
    assert set(shipped()) >= {"planar2r", "puma560", "stanford", "scara", "ur5", "panda", "iiwa14", "ur5e", "gen3"}
    assert len(shipped()) >= 25


def test_robots_without_masses_say_so() -> None:
    for name in shipped():
        robot = load(name)
        has_mass = any(not link.inertia.is_massless for link in robot.links)
        assert ("kinematics only" in robot.source) != has_mass


@pytest.mark.parametrize("name", shipped())
def test_each_is_small_cited_and_complete(name: str) -> None:
    robot = load(name)
    assert shipped_path(name).stat().st_size < 20_000
    assert "mesh" not in shipped_path(name).read_text()
    assert robot.name == name
    assert len(robot.source) > 40
    assert ((robot.home >= robot.lower_limits) & (robot.home <= robot.upper_limits)).all()
    assert robot.tool in robot.frame_names


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", shipped())
def test_loading_gives_no_warning(name: str) -> None:
    load(name)


@pytest.mark.parametrize("name", sorted(set(shipped()) - {"puma560", "puma560_modified", "stewart", "xarm6"}))
@pytest.mark.filterwarnings("ignore:.*no joint has rotor inertia:chasles.model.ModelWarning")
def test_their_inertias_are_physical(name: str) -> None:
    load(shipped_path(name))


def test_the_published_puma_is_not_quite_physical() -> None:
    with pytest.warns(UserWarning, match="link1.*no mass|link3.*triangle"):
        load(shipped_path("puma560"))


@pytest.mark.filterwarnings("ignore:.*no joint has rotor inertia:chasles.model.ModelWarning")
def test_the_makers_xarm6_is_not_quite_physical() -> None:
    with pytest.warns(InertiaWarning, match=r"link2.*triangle.*link3.*triangle"):
        load(shipped_path("xarm6"))


def compare_with_toolbox(name: str, arm: Any, reference: SimpleNamespace, base_height: float = 0.0) -> None:
    tree = build_tree(load(name))
    for seed in range(5):
        q = np.random.default_rng(seed).uniform(-2.0, 2.0, tree.n)
        T = arm.fkine(q).A
        T[2, 3] -= base_height
        assert np.abs(reference.frame_pose(tree, q, "tool") - T).max() < 1e-13
        M, g = reference.mass_matrix_and_gravity(tree, q)
        assert np.allclose(M, arm.inertia(q), rtol=1e-11, atol=1e-11)
        assert np.allclose(g, arm.gravload(q, gravity=[0, 0, -9.81]), rtol=1e-11, atol=1e-11)


@pytest.mark.slow
def test_puma_agrees_with_the_robotics_toolbox(reference: SimpleNamespace) -> None:
    rtb = importlib.import_module("roboticstoolbox")
    arm = rtb.models.DH.Puma560()
    compare_with_toolbox("puma560", arm, reference, base_height=26.45 * 0.0254)
    for joint, link in zip(load("puma560").joints, arm.links, strict=True):
        assert joint.viscous_friction == pytest.approx(link.G**2 * link.B, rel=1e-6)
        assert joint.coulomb_friction == pytest.approx(abs(link.G) * (link.Tc[0] - link.Tc[1]) / 2, rel=1e-6)
        assert (joint.limits.lower, joint.limits.upper) == pytest.approx(tuple(link.qlim), rel=1e-12)


# ROBOOP 1.31, section 5.13.2.7: d, m, the centre of mass and the diagonal of the inertia of each link. The Robotics
# Toolbox has other numbers in links 3, 5 and 6.
STANFORD = [
    (0.412, 9.29, (0, 0.0175, -0.1105), (0.276, 0.255, 0.071)),
    (0.154, 5.01, (0, -1.054, 0), (0.108, 0.018, 0.100)),
    (0.0, 4.25, (0, 0, -6.447), (2.51, 2.51, 0.006)),
    (0.0, 1.08, (0, 0.092, -0.054), (0.002, 0.001, 0.001)),
    (0.0, 0.63, (0, 0, 0.566), (0.003, 0.003, 0.0004)),
    (0.263, 0.51, (0, 0, 1.554), (0.013, 0.013, 0.0003)),
]


@pytest.mark.slow
def test_stanford_has_the_table_of_roboop(reference: SimpleNamespace) -> None:
    rtb = importlib.import_module("roboticstoolbox")
    alphas = [-math.pi / 2, math.pi / 2, 0.0, -math.pi / 2, math.pi / 2, 0.0]
    links = []
    for index, (joint, alpha, (d, m, r, inertia)) in enumerate(
        zip(load("stanford").joints, alphas, STANFORD, strict=True)
    ):
        fields = {"alpha": alpha, "m": m, "r": r, "I": inertia, "Jm": joint.motor_inertia, "G": 1.0}
        links.append(rtb.PrismaticDH(theta=-math.pi / 2, **fields) if index == 2 else rtb.RevoluteDH(d=d, **fields))
    compare_with_toolbox("stanford", rtb.DHRobot(links), reference)


@pytest.mark.slow
def test_scara_has_the_geometry_of_the_cobra(reference: SimpleNamespace) -> None:
    rtb = importlib.import_module("roboticstoolbox")
    arm, scara = rtb.models.DH.Cobra600(), load("scara")
    for seed in range(5):
        q = np.random.default_rng(seed).uniform(-1.0, 1.0, 4)
        assert np.abs(reference.frame_pose(build_tree(scara), q, "tool") - arm.fkine(q).A).max() < 1e-14
    assert [joint.limits.upper for joint in scara.joints[:3]] == pytest.approx([arm.qlim[1][i] for i in range(3)])


def test_planar_arm_is_mazures(reference: SimpleNamespace) -> None:
    """Two slender rods: the closed form of any textbook."""
    tree = build_tree(load("planar2r"))
    (l1, l2), (m1, m2), g0 = (0.5, 0.25), (10.0, 5.0), 9.80621
    for q1, q2 in np.random.default_rng(0).uniform(-3, 3, (5, 2)):
        M, g = reference.mass_matrix_and_gravity(tree, np.array([q1, q2]))
        coupling = m2 * l2**2 / 3 + m2 * l1 * l2 * math.cos(q2) / 2
        expected = [
            [m1 * l1**2 / 3 + m2 * l1**2 + m2 * l2**2 / 3 + m2 * l1 * l2 * math.cos(q2), coupling],
            [coupling, m2 * l2**2 / 3],
        ]
        assert np.abs(M - expected).max() < 1e-14
        outer = m2 * g0 * l2 / 2 * math.cos(q1 + q2)
        assert np.abs(g - [(m1 / 2 + m2) * g0 * l1 * math.cos(q1) + outer, outer]).max() < 1e-13


def test_panda_and_ur5_have_the_numbers_of_their_ros_descriptions(reference: SimpleNamespace) -> None:
    panda, theirs = load("panda"), load(example("panda_description/urdf/panda.urdf"), check=False)
    for index in range(8):
        name = f"panda_link{index}"
        assert panda.link(name).inertia == theirs.link(name).inertia
    for joint in panda.coordinates:
        assert joint.replace(viscous_friction=0.0, coulomb_friction=0.0) == theirs.joint(joint.name).replace(
            viscous_friction=0.0, coulomb_friction=0.0
        )
    ur5 = load(example("ur_description/urdf/ur5_robot.urdf"), check=False)
    turned = np.diag([-1.0, -1.0, 1.0, 1.0])
    for seed in range(5):
        q = np.random.default_rng(seed).uniform(-3, 3, 6)
        expected = turned @ reference.frame_pose(build_tree(ur5), q, "tool0")
        assert np.abs(reference.frame_pose(build_tree(load("ur5")), q, "tool") - expected).max() < 1e-9
    masses = [link.inertia.mass for link in load("ur5").links[1:]]
    masses[2] = 2.275 if masses[2] == 2.33 else np.nan  # the description has a value that the maker's page corrects
    assert masses == [ur5.link(joint.child).inertia.mass for joint in ur5.coordinates]


@pytest.mark.slow
def test_iiwa_agrees_with_the_file_of_frax() -> None:
    frax = importlib.util.find_spec("frax")
    assert frax is not None, "pip install '.[bench]'"
    theirs = load(Path(str(frax.origin)).parent / "assets" / "iiwa" / "iiwa14.urdf", check=False)
    iiwa = load("iiwa14")
    assert iiwa.coordinates == theirs.coordinates
    for name in (f"iiwa_link_{index}" for index in range(8)):
        assert iiwa.link(name).inertia == theirs.link(name).inertia, name


def test_a_file_is_loaded_by_its_path(write: Callable[[str, str | bytes], Path]) -> None:
    path = write("my.toml", "[[dh]]\na = 1.0\nmass = 1.0\n")
    assert load(path).n == load(str(path)).n == 1


def test_unknown_robots_are_answered_with_what_exists(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"'pandaa'. Did you mean 'panda'.*iiwa14,.* panda, planar2r") as caught:
        load("pandaa")
    assert "the path of a file that ends in .conf, .dat, .mjcf, .sdf, .toml, .urdf" in str(caught.value)
    with pytest.raises(ModelError, match=r"robot file .*missing.urdf' does not exist.*panda"):
        load(tmp_path / "missing.urdf")
    with pytest.raises(UnknownNameError):
        load("a\0b")


@pytest.mark.parametrize("suffix", ["step", "txt"])
def test_other_formats_are_refused_with_those_supported(suffix: str, write: Callable[[str, str | bytes], Path]) -> None:
    supported = ".conf, .dat, .mjcf, .sdf, .toml, .urdf, .world, .xacro, .xml"
    with pytest.raises(ModelError, match=f"files of type '.{suffix}' cannot be read; supported: {supported}"):
        load(write(f"robot.{suffix}", "<mujoco/>"))


def test_each_format_has_a_name_for_type_checkers() -> None:
    assert set(get_args(ReadFormat)) == {reader.format.lower() for reader in formats._READERS.values()}


def test_the_tool_can_be_named(write: Callable[[str, str | bytes], Path]) -> None:
    assert load("panda", tool="panda_link5").tool == "panda_link5"
    joint = '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
    path = write("robot.urdf", f'<robot name="r"><link name="a"/><link name="b"/>{joint}</robot>')
    assert (load(path).tool, load(path, tool="a").tool) == ("b", "a")
    with pytest.raises(ModelError, match=r"robot.urdf: .*the tool 'c' is not the name of a link or frame"):
        load(path, tool="c")


ENDS = """<robot name="tree"><link name="base"/><link name="left"/><link name="right"/>
<joint name="l" type="fixed"><parent link="base"/><child link="left"/></joint>
<joint name="r" type="fixed"><parent link="base"/><child link="right"/></joint>{more}</robot>"""
MORE = """<link name="{name}"/>
<joint name="m" type="fixed"><parent link="{parent}"/><child link="{name}"/></joint>"""


def test_the_tool_of_several_ends_is_said(write: Callable[[str, str | bytes], Path]) -> None:
    path = write("tree.urdf", ENDS.format(more=""))
    with pytest.warns(ModelWarning, match=r"2 frames could be the tool: using 'left' .*other: 'right'.*tool=…"):
        assert load(path).possible_tools == ("left", "right")
    assert load(path, tool="right").possible_tools == ("right",)
    assert load(path, check=False).tool == "left"


LIGHT = """<robot name="light"><link name="base"/>{links}<link name="hook"/>
<joint name="m" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>{limit}</joint>
<joint name="n" type="revolute"><parent link="upper"/><child link="wrist"/><axis xyz="0 0 1"/>{limit}</joint>
<joint name="h" type="fixed"><parent link="upper"/><child link="hook"/></joint></robot>"""


def light_arm(effort: float) -> str:
    """URDF text of two bodies of 1e-4 kg·m² under motors."""
    moments = '<inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/>'
    links = [f'<link name="{n}"><inertial><mass value="0.1"/>{moments}</inertial></link>' for n in ("upper", "wrist")]
    return LIGHT.format(links="".join(links), limit=f'<limit lower="-3" upper="3" effort="{effort}" velocity="3"/>')


def test_missing_rotors_and_tools_are_said_in_one_line_where_the_file_is_loaded(
    write: Callable[[str, str | bytes], Path],
) -> None:
    path = write("light.urdf", light_arm(20.0))
    motors = r"no joint has rotor inertia, and 'n' moves 0.0001 kg·m² with up to 20 N·m.*robot.with_motor_inertia"
    with pytest.warns(ModelWarning, match=rf"^robot 'light': 2 frames could be the tool: .*; {motors}") as caught:
        ch.load(path)
    called = next(
        k for k, text in enumerate(Path(__file__).read_text("utf-8").splitlines(), 1) if "ch.load(path)" in text
    )
    assert [(warning.filename, warning.lineno) for warning in caught] == [(__file__, called)]
    arm = ch.load(path, check=False).with_motor_inertia({"n": 1e-5}, gear_ratio=50.0)
    np.testing.assert_allclose(arm.mass_matrix([0.0, 0.0])[1, 1], 1e-4 + 2500 * 1e-5)
    np.testing.assert_allclose(arm.with_motor_inertia([0.1, 0.2]).mass_matrix([0.0, 0.0]).diagonal(), [0.1002, 0.2001])
    load(write("weak.urdf", light_arm(5.0)), tool="wrist")
    with pytest.raises(ArgumentError, match="with_motor_inertia: motor_inertia must be one number or 2 numbers"):
        arm.with_motor_inertia([1.0, 2.0, 3.0])
    with pytest.raises(UnknownNameError, match="elbow"):
        arm.with_motor_inertia({"elbow": 1.0})


@pytest.mark.parametrize(
    "name",
    ["right_tcp", "panda_grasptarget", "tool0", "tool_link", "ee_link", "/ee_gripper_link", "end_effector", "flange"],
)
def test_named_frames_of_tools_come_before_the_longest_chain(
    name: str, write: Callable[[str, str | bytes], Path]
) -> None:
    assert load(write("tree.urdf", ENDS.format(more=MORE.format(name=name, parent="base")))).tool == name


@pytest.mark.parametrize("name", ["toolbox_lid", "wheel", "knee", "coffee"])
def test_names_that_only_look_like_tools(name: str, write: Callable[[str, str | bytes], Path]) -> None:
    more = MORE.format(name=name, parent="base") + MORE.format(name="tip", parent="left").replace('"m"', '"n"')
    assert load(write("tree.urdf", ENDS.format(more=more))).tool == "tip"


def test_arguments_of_macros_belong_to_xacro_files() -> None:
    with pytest.raises(ArgumentError, match="only xacro files take"):
        load("panda", arguments={"prefix": "left_"})


def test_the_examples_of_the_format_page_are_robots() -> None:
    page = (Path(__file__).parents[2] / "docs" / "robot-file-format.md").read_text(encoding="utf-8")
    table, screws, door, shapes, extras = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    assert parse_toml(table, check=False).n == 2
    assert [joint.kind for joint in parse_toml(screws).joints] == ["revolute", "prismatic"]
    hinge = parse_toml(door + shapes + extras)
    assert len(hinge.link("door").visuals) == len(hinge.link("door").collisions) == 1
    assert hinge.payload.mass == 2.0
    assert "camera" in hinge.frame_names


# Chains of example-robot-data and of the Robotics Toolbox data: file, root and tip, and whether they have masses.
CHAINS = {
    "xarm7": ("xarm_description/urdf/xarm7.urdf", "link_base", "link_eef", True),
    "z1": ("z1_description/urdf/z1.urdf", "link00", "gripperStator", True),
    "jaco": ("kinova_description/robots/kinova.urdf", "j2s6s200_link_base", "j2s6s200_end_effector", True),
    "baxter": ("baxter_description/urdf/baxter.urdf", "right_arm_mount", "right_gripper_base_link", True),
    "ur3": ("ur_description/urdf/ur3_robot.urdf", "base_link", "tool0", False),
    "xarm6": ("armer_xarm/data/xacro/robots/xarm6/xarm6.xacro", "link_base", "link_eef", True),
    "wx250s": ("xacro/trossen_descriptions/urdf/wx250s.urdf.xacro", "/base_link", "/ee_gripper_link", True),
    "vx300s": ("xacro/trossen_descriptions/urdf/vx300s.urdf.xacro", "/base_link", "/ee_gripper_link", True),
    "kr3r540": ("xacro/kuka_description/kuka_kr3/urdf/kr3r540.xacro", "base_link", "tool0", False),
    "kr5arc": ("xacro/kuka_description/kuka_kr5/urdf/kr5_arc.xacro", "base_link", "tool0", False),
    "kr6r700": ("xacro/kuka_description/kuka_kr6/urdf/kr6r700sixx.xacro", "base_link", "tool0", False),
    "kr6r900": ("xacro/kuka_description/kuka_kr6/urdf/kr6r900sixx.xacro", "base_link", "tool0", False),
    "kr10r1100": ("xacro/kuka_description/kuka_kr10/urdf/kr10r1100sixx.xacro", "base_link", "tool0", False),
    "kr16": ("xacro/kuka_description/kuka_kr16/urdf/kr16_2.urdf", "base_link", "tool0", False),
    "kr150": ("xacro/kuka_description/kuka_kr150/urdf/kr150_2.xacro", "base_link", "tool0", False),
}


def original(file: str) -> Description:
    """The robot of a ROS package that another Python package ships."""
    toolbox = Path(importlib.import_module("rtbdata").__file__ or "").parent
    if not (toolbox / file).exists():
        return load(example(file), check=False)
    folders = [*(toolbox / "xacro").iterdir(), *(toolbox / "xacro" / "kuka_description").iterdir()]
    packages = {folder.name + end: folder for folder in folders for end in ("", "_support")}
    return load(toolbox / file, check=False, **({"packages": packages} if file.endswith(".xacro") else {}))


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAINS)
def test_tables_move_as_the_makers_descriptions(name: str) -> None:
    file, root, tip, has_masses = CHAINS[name]
    theirs, ours = sub_chain(original(file), root, tip), load(name)
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (20, ours.n))
    arm, chain = ch.Robot(ours), ch.Robot(theirs)
    T = np.diag([-1.0, -1.0, 1.0, 1.0]) @ arm.forward_kinematics(q) if name == "ur3" else arm.forward_kinematics(q)
    np.testing.assert_allclose(T, chain.forward_kinematics(q, target=tip), atol=2e-5)
    if has_masses:
        np.testing.assert_allclose(arm.mass_matrix(q), chain.mass_matrix(q), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(arm.gravity_torque(q), chain.gravity_torque(q), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(ours.effort_limits, theirs.effort_limits)
    if has_masses or name.startswith("kr"):
        np.testing.assert_allclose(ours.lower_limits, theirs.lower_limits, rtol=1e-9)
        np.testing.assert_allclose(ours.upper_limits, theirs.upper_limits, rtol=1e-9)
        np.testing.assert_allclose(ours.velocity_limits, theirs.velocity_limits, rtol=1e-9)


# d1, a2, a3, d4, d5, d6 as the maker's page lists them, in mm.
UNIVERSAL_ROBOTS = {
    "ur3": (151.9, 243.65, 213.25, 112.35, 85.35, 81.9),
    "ur3e": (151.85, 243.55, 213.2, 131.05, 85.35, 92.1),
    "ur5e": (162.5, 425.0, 392.2, 133.3, 99.7, 99.6),
    "ur10e": (180.7, 612.7, 571.55, 174.15, 119.85, 116.55),
    "ur16e": (180.7, 478.4, 360.0, 174.15, 119.85, 116.55),
    "ur20": (236.3, 862.0, 728.7, 201.0, 159.3, 154.3),
}


@pytest.mark.parametrize("name", UNIVERSAL_ROBOTS)
def test_arms_of_universal_robots_stand_up_as_high_as_their_lengths(name: str) -> None:
    """Upright, with the wrist aside, the lengths add up; stretched along x too."""
    d1, a2, a3, d4, d5, d6 = np.array(UNIVERSAL_ROBOTS[name]) / 1000.0
    arm = ch.Robot(load(name))
    up = arm.forward_kinematics([0.0, -np.pi / 2, 0.0, -np.pi / 2, 0.0, 0.0])
    np.testing.assert_allclose(up[:3, 3], [0.0, -d4 - d6, d1 + a2 + a3 + d5], atol=1e-12)
    out = arm.forward_kinematics(np.zeros(6))
    np.testing.assert_allclose(out[:3, 3], [-a2 - a3, -d4 - d6, d1 - d5], atol=1e-12)
    assert arm.inverse_kinematics.family() == "six joints, the second to fourth parallel"


# Masses and centres of mass of the links, kg and m, as the maker's page lists them.
WEIGHTS = {
    "ur3e": ((1.98, 3.4445, 1.437, 0.871, 0.805, 0.261), (0.13, 0.05)),
    "ur5": ((3.7, 8.393, 2.33, 1.219, 1.219, 0.1879), (0.2125, 0.15)),
    "ur5e": ((3.761, 8.058, 2.846, 1.37, 1.3, 0.365), (0.2125, 0.15)),
    "ur10e": ((7.369, 13.051, 3.989, 2.1, 1.98, 0.615), (0.38, 0.24)),
    "ur16e": ((7.369, 10.45, 4.321, 2.18, 2.033, 0.907), (0.302, 0.194)),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_arms_of_universal_robots_weigh_what_their_page_says(name: str) -> None:
    """Stretched out, the shoulder holds each link's weight times its distance; every joint turns by 360 degrees."""
    m, (x2, x3) = WEIGHTS[name]
    robot = load(name)
    a2, a3 = (-float(joint.T_joint_child[0, 3]) for joint in robot.joints[1:3])
    arm = ch.Robot(robot)
    moment = m[1] * (a2 - x2) + m[2] * (a2 + a3 - x3) + sum(m[3:]) * (a2 + a3)
    torque = arm.gravity_torque(np.zeros(6))
    assert [link.inertia.mass for link in robot.links[1:]] == list(m)
    assert abs(torque[1]) == pytest.approx(9.81 * moment, rel=1e-9)
    assert (np.linalg.eigvalsh(arm.mass_matrix(np.linspace(0.3, 1.2, 6))) > 0.0).all()
    np.testing.assert_array_equal(robot.upper_limits, np.full(6, 2.0 * np.pi))


def test_the_gen3_is_as_heavy_and_as_free_as_its_maker_says() -> None:
    """Kinova's URDF: origins of its joints (rotated about x by right angles), masses, centres of mass and inertias."""
    rows = [
        ("0 0 0.15643", 2, 1.3773, "-2.3E-05 -0.010364 -0.07336", (4570, 1, 2, 4831, 448, 1409), None),
        ("0 0.005375 -0.12838", 1, 1.1636, "-4.4E-05 -0.09958 -0.013278", (11088, 5, 0, 1072, -691, 11255), 2.41),
        ("0 -0.21038 -0.006375", -1, 1.1636, "-4.4E-05 -0.006641 -0.117892", (10932, 0, -7, 11127, 606, 1043), None),
        ("0 0.006375 -0.21038", 1, 0.9302, "-1.8E-05 -0.075478 -0.015006", (8147, -1, 0, 631, -500, 8316), 2.66),
        ("0 -0.20843 -0.006375", -1, 0.6781, "1E-06 -0.009432 -0.063883", (1596, 0, 0, 1607, 256, 399), None),
        ("0 0.00017505 -0.10593", 1, 0.6781, "1E-06 -0.045483 -0.00965", (1641, 0, 0, 410, -278, 1641), 2.23),
        ("0 -0.10593 -0.00017505", -1, 0.364, "-9.3E-05 0.000132 -0.022905", (214, 0, 1, 223, -2, 240), None),
    ]
    parts = ['<robot name="gen3"><link name="l0"/>']
    for i, (xyz, quarters, mass, center, inertia, limit) in enumerate(rows, start=1):
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        moments = " ".join(f'{key}="{value * 1e-6}"' for key, value in zip(names, inertia, strict=True))
        kind = "continuous" if limit is None else "revolute"
        parts.append(
            f'<link name="l{i}"><inertial><origin xyz="{center}"/><mass value="{mass}"/>'
            f"<inertia {moments}/></inertial></link>"
            f'<joint name="j{i}" type="{kind}"><origin xyz="{xyz}" rpy="{quarters * np.pi / 2} 0 0"/>'
            f'<parent link="l{i - 1}"/><child link="l{i}"/><axis xyz="0 0 1"/>'
            f'<limit lower="{-(limit or 0)}" upper="{limit or 0}" effort="39" velocity="1.4"/></joint>'
        )
    maker = ch.Robot(parse_urdf("".join([*parts, "</robot>"])))
    arm, q = ch.Robot(load("gen3")), np.random.default_rng(3).uniform(-2.0, 2.0, (50, 7))
    # The table rounds lengths to 0.1 mm: that is 0.2 mm of 6 kg.
    np.testing.assert_allclose(arm.gravity_torque(q), maker.gravity_torque(q), atol=0.015)
    np.testing.assert_allclose(arm.mass_matrix(q), maker.mass_matrix(q), atol=2e-3)
    bounded = [1, 3, 5]
    np.testing.assert_array_equal(arm.upper_limits[bounded], [2.41, 2.66, 2.23])
    assert not np.isfinite(np.delete(arm.upper_limits, bounded)).any()


def test_the_ur20_weighs_as_much_as_its_links() -> None:
    """The arm weighs 64 kg with its base; its links are 60.9 kg."""
    total = sum(link.inertia.mass for link in load("ur20").links)
    assert total == pytest.approx(16.343 + 29.632 + 7.879 + 3.054 + 3.126 + 0.846, abs=1e-12)


def test_the_gen3_has_one_geometry_in_both_conventions() -> None:
    """Kinova's classical table, and the modified one of M. King-Smith's Denavit-Hartenberg-Kinematics."""
    d = [-0.2848, -0.0118, -0.4208, -0.0128, -0.3143, 0.0, -0.1674]
    alpha = np.array([2.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0]) * np.pi / 2
    modified = ch.Robot.from_dh([{"alpha": x, "d": y} for x, y in zip(alpha, d, strict=True)], convention="modified")
    arm, rng = ch.Robot(load("gen3")), np.random.default_rng(0)
    q = rng.uniform(-3.0, 3.0, (20, 7))
    np.testing.assert_allclose(arm.forward_kinematics(q)[..., 3], modified.forward_kinematics(q)[..., 3], atol=1e-12)
    height = arm.forward_kinematics(np.zeros(7))[2, 3]
    assert height == pytest.approx(0.2848 + 0.4208 + 0.3143 + 0.1674)


def test_the_rhino_stretched_out() -> None:
    """ROBOOP's lengths: d1 = 0.2604, a2 = a3 = 0.2286, a4 = 0.0095, d5 = 0.135 m."""
    arm = ch.Robot(load("rhino"))
    tip = arm.forward_kinematics([0.0, 0.0, 0.0, -np.pi / 2, 0.0])[:3, 3]
    np.testing.assert_allclose(tip, [2 * 0.2286 + 0.135, 0.0, 0.2604 + 0.0095], atol=1e-12)


def test_the_irb_140_stretched_out() -> None:
    """The data sheet's 352, 70, 360, 380 and 65 mm: along x at zero, and upright with the forearm forward."""
    arm = ch.Robot(load("irb140"))
    forward = arm.forward_kinematics([0.0, -np.pi / 2, 0.0, 0.0, 0.0, 0.0])[:3, 3]
    np.testing.assert_allclose(forward, [0.07 + 0.38 + 0.065, 0.0, 0.352 + 0.36], atol=1e-12)
    assert arm.inverse_kinematics.family() == "six joints with a spherical wrist"


@pytest.mark.slow
def test_the_irb_140_agrees_with_the_robotics_toolbox() -> None:
    rtb = importlib.import_module("roboticstoolbox")
    theirs, arm = rtb.models.DH.IRB140(), ch.Robot(load("irb140"))
    for q in np.random.default_rng(0).uniform(-1.0, 1.0, (5, 6)):
        np.testing.assert_allclose(arm.forward_kinematics(q), theirs.fkine(q).A, atol=1e-12)


def test_the_puma_in_modified_frames_has_the_table_of_roboop() -> None:
    """The manual's numbers typed again: rows of a, d, mass, centre of mass, moments, and the motors."""
    robot = load("puma560_modified")
    lengths = [(0, 0), (0, 0), (0.4318, -0.15005), (0.0203, -0.4318), (0, 0), (0, 0)]
    centers = [(0, 0, 0), (0.068, 0.006, -0.016), (0, -0.07, 0.014), (0, 0, -0.019), (0, 0, 0), (0, 0, 0.032)]
    ratios = [-62.6111, 107.815, -53.7063, 76.0364, 71.923, 76.686]
    coulomb = [0.415, 0.0985, 0.1185, 0.01405, 0.01188, 0.00723]
    for joint, link, (a, d), center, ratio, friction in zip(
        robot.joints, robot.links[1:], lengths, centers, ratios, coulomb, strict=True
    ):
        T = joint.T_parent_joint
        assert (T[0, 3], float(T[2, 2] * T[2, 3] - T[1, 2] * -T[1, 3])) == pytest.approx((a, d), abs=1e-15)
        assert link.inertia.center_of_mass.tolist() == list(center)
        assert joint.coulomb_friction == pytest.approx(abs(ratio) * friction, rel=1e-12)
        assert joint.gear_ratio == ratio
    assert sum(link.inertia.mass for link in robot.links) == pytest.approx(17.4 + 4.8 + 0.82 + 0.34 + 0.09)
    # Both descriptions of the arm are as long, and weigh as much.
    standard = ch.Robot(load("puma560"))
    ours = ch.Robot(robot)
    reach = [np.linalg.norm(arm.forward_kinematics(np.zeros(6))[:2, 3]) for arm in (ours, standard)]
    assert ours.inverse_kinematics.family() == standard.inverse_kinematics.family()
    assert reach[0] == pytest.approx(np.hypot(0.4318 + 0.0203, 0.15005))


def test_the_delta_robot_reproduces_williams_examples() -> None:
    """Williams prints the motors' angles to 0.1 degrees for two positions of the platform."""
    robot = ch.load("delta")
    assert str(robot.loops.mobility) == "3 degrees of freedom; 18 of 18 constraints independent"
    for p_world_platform, degrees in (((0.0, 0.0, -0.9), [-20.5] * 3), ((0.3, 0.5, -1.1), [47.5, -11.6, 21.4])):
        guess = robot.home.copy()
        guess[-3:] = p_world_platform
        closed = robot.loops.close(guess, hold=["pose"])
        assert closed.success
        motors = [closed.q[robot.coordinate_names.index(f"motor{k}")] for k in (1, 2, 3)]
        assert np.degrees(motors) == pytest.approx(degrees, abs=0.05)
    with pytest.raises(ModelError, match="mass"):
        robot.forward_dynamics(robot.home, np.zeros(3), np.zeros(3))


def test_the_stewart_platform_has_the_lengths_that_roboops_manual_prints() -> None:
    """x, y, z and Euler angles about z, x, z of the platform; six lengths to 1e-4 m."""
    robot = ch.load("stewart")
    x, y, z, phi, theta, psi = 0.2, 0.3, -0.4, 0.1, -1.4, 0.1
    R = ch.geometry.rotation_z(phi) @ ch.geometry.rotation_x(theta) @ ch.geometry.rotation_z(psi)
    guess = robot.home.copy()
    start = robot.description.starts["platform"][0]
    guess[start : start + 7] = [*ch.geometry.quaternion_from_rotation(R), x, y, z]
    closed = robot.loops.close(guess, hold=["platform"])
    assert closed.success
    lengths = [closed.q[robot.coordinate_names.index(f"leg_{k}")] for k in range(6)]
    assert lengths == pytest.approx([3.0508, 3.2324, 3.2997, 3.4560, 3.5797, 3.6935], abs=1e-4)
