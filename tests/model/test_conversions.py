"""Conversions between descriptions: the same poses of every frame and the same dynamics, or the reason why not."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from tests.oracles.example_robots import example
from tests.thinning import paired, thinned

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
    Tree,
    build_tree,
    from_dh,
    from_screws,
    from_urdf,
    load,
    parse_toml,
    parse_urdf,
    shipped_path,
    sub_chain,
    to_dh,
    to_modified_dh,
    to_screws,
    to_toml,
    to_urdf,
    with_friction,
)

Conversion = Callable[[Description], Description]
CONVERSIONS: dict[str, Conversion] = {
    "dh": lambda robot: from_dh(**to_dh(robot), check=False),
    "modified dh": lambda robot: from_dh(**to_modified_dh(robot), check=False),
    "screws": lambda robot: from_screws(**to_screws(robot), check=False),
    "urdf": lambda robot: parse_urdf(to_urdf(robot), check=False),
    "toml": lambda robot: parse_toml(to_toml(robot), check=False),
    "toml with dh": lambda robot: parse_toml(to_toml(robot, "dh"), check=False),
    "toml with modified dh": lambda robot: parse_toml(to_toml(robot, "modified-dh"), check=False),
    "toml with screws": lambda robot: parse_toml(to_toml(robot, "screws"), check=False),
}
#: Tables are of chains; these take any tree.
OF_TREES = ("urdf", "toml")
#: Serial arms of example-robot-data, and where they end.
ARMS = {
    "panda_description/urdf/panda.urdf": "panda_hand",
    "ur_description/urdf/ur3_robot.urdf": "ee_link",
    "ur_description/urdf/ur5_robot.urdf": "ee_link",
    "ur_description/urdf/ur10_robot.urdf": "ee_link",
    "xarm_description/urdf/xarm7.urdf": "link7",
    "kinova_description/robots/kinova.urdf": "j2s6s200_link_6",
    "z1_description/urdf/z1.urdf": "link06",
    "talos_data/robots/talos_left_arm.urdf": "arm_left_7_link",
}

#: Shipped robots that differ in kind; the others are like one of them.
ROBOTS = ("baxter", "gen3", "iiwa14", "jaco", "kr16", "panda", "planar2r", "puma560", "scara", "stanford", "ur5", "z1")


def random_chain(seed: int, n: int, kinds: tuple[str, ...] = ("revolute", "continuous", "prismatic")) -> Description:
    """A chain with fixed links between, in which axes are parallel, the same, crossing or in general position."""
    rng = np.random.default_rng(seed)

    def placement() -> np.ndarray:
        T = np.eye(4)
        style = rng.integers(4)
        if style == 0:
            T[:3, :3] = Rotation.random(random_state=rng).as_matrix()
        elif style == 1:
            T[:3, :3] = Rotation.from_euler("xyz", rng.integers(-2, 3, 3) * 90, degrees=True).as_matrix().round()
        elif style == 2:
            T[:3, :3] = Rotation.from_rotvec([0, 0, rng.uniform(-3, 3)]).as_matrix()
        T[:3, 3] = rng.normal(size=3) * rng.integers(0, 2, 3)
        return T

    def inertia() -> Inertia:
        points = rng.normal(size=(4, 3)) * 0.2
        moments = sum(p @ p * np.eye(3) - np.outer(p, p) for p in points)
        return Inertia(rng.uniform(0.5, 3.0), rng.normal(size=3) * 0.3, moments)

    def direction() -> np.ndarray:
        return np.eye(3)[rng.integers(3)] * rng.choice([-1, 1]) if rng.integers(2) else rng.normal(size=3)

    links, joints = [Link("base", inertia())], []
    for index in range(n):
        if rng.integers(4) == 0:
            links.append(Link(f"plate {index}", inertia()))
            joints.append(Joint(f"weld {index}", "fixed", links[-2].name, links[-1].name, placement(), placement()))
        kind = str(rng.choice(kinds))
        movers = [joint.name for joint in joints if joint.moves and joint.mimic is None]
        bounded = kind in ("revolute", "prismatic", "helical") and rng.integers(2)
        joints.append(
            Joint(
                f"joint {index}",
                kind,
                links[-1].name,
                f"part {index}",
                placement(),
                placement() if rng.integers(2) else np.eye(4),
                axis=direction(),
                pitch=0.1 if kind == "helical" else 0.0,
                limits=Limits(-1.0, 1.5, 2.0, 30.0) if bounded else Limits(velocity=3.0),
                viscous_friction=rng.uniform(0.0, 1.0),
                coulomb_friction=rng.uniform(0.0, 1.0),
                coulomb_velocity=0.3,
                motor_inertia=rng.uniform(0.0, 0.1),
                gear_ratio=rng.uniform(1.0, 3.0),
                mimic=Mimic(movers[0], -0.7, 0.2) if movers and rng.integers(5) == 0 else None,
            )
        )
        links.append(Link(f"part {index}", inertia()))
    return Description(
        name="chain",
        links=tuple(links),
        joints=tuple(joints),
        frames=(Frame("eye", links[rng.integers(len(links))].name, placement()), Frame("grip", links[-1].name)),
        gravity=rng.normal(size=3) * 5.0,
        T_world_base=placement(),
        tool="eye" if rng.integers(3) == 0 else "grip",
        payload=inertia(),
        source="a test",
    )


def differences(robot: Description, other: Description, states: int = 2) -> dict[str, float]:
    """Largest differences, relative to the size of each quantity, at random states."""
    trees = build_tree(robot), build_tree(other)
    rng = np.random.default_rng(11)
    worst: dict[str, float] = {}
    for _ in range(states):
        state = random_configuration(robot, rng), *rng.normal(size=(2, robot.n))
        ours, theirs = (
            quantities(tree, described.tool, robot.frame_names, *state)
            for tree, described in zip(trees, (robot, other), strict=True)
        )
        for name, expected in ours.items():
            size = max(0.1, float(np.abs(expected).max()))
            worst[name] = max(worst.get(name, 0.0), float(np.abs(theirs[name] - expected).max()) / size)
    return worst


def quantities(
    tree: Tree, tool: str, frames: tuple[str, ...], q: np.ndarray, qd: np.ndarray, qdd: np.ndarray
) -> dict[str, np.ndarray]:
    return {
        "poses": np.array([algorithms.forward_kinematics(tree, q, name) for name in frames]),
        "tool": algorithms.forward_kinematics(tree, q, tool),
        "torques": algorithms.inverse_dynamics(tree, q, qd, qdd),
        "mass matrix": algorithms.mass_matrix(tree, q),
    }


def random_configuration(robot: Description, rng: np.random.Generator) -> np.ndarray:
    q = rng.uniform(-2.0, 2.0, robot.nq)
    for joint in robot.coordinates:
        if joint.has_quaternion:
            start = robot.starts[joint.name][0]
            q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    return q


def assert_same(robot: Description, other: Description, tolerance: float = 1e-12) -> None:
    assert other.coordinate_names == robot.coordinate_names
    for quantity in ("home", "lower_limits", "upper_limits", "velocity_limits", "effort_limits", "gravity"):
        assert getattr(other, quantity).tolist() == getattr(robot, quantity).tolist(), quantity
    assert (other.name, other.source) == (robot.name, robot.source)
    worst = differences(robot, other)
    # Nearly parallel axes have their common normal far away, and an inertia loses digits with the square of that.
    reach = max(
        [1.0, *(float(np.abs(T[:3, 3]).max()) for j in other.joints for T in (j.T_parent_joint, j.T_joint_child))]
    )
    assert max(worst.values()) < tolerance * max(1.0, (reach / 10.0) ** 2), (worst, reach)


@pytest.mark.parametrize(("conversion", "name"), paired(CONVERSIONS, ROBOTS))
def test_shipped_robots(name: str, conversion: str) -> None:
    robot = load(name)
    assert_same(robot, CONVERSIONS[conversion](robot))


@pytest.mark.parametrize("name", thinned(ROBOTS, keep=3))
def test_shipped_robots_through_all_conversions_one_after_the_other(name: str) -> None:
    robot = other = load(name)
    for conversion in ("urdf", "dh", "modified dh", "screws", "urdf", "toml", "toml with screws", "toml with dh"):
        other = CONVERSIONS[conversion](other)
    assert_same(robot, other)


@pytest.mark.parametrize("path", thinned(ARMS, keep=4))
def test_arms_of_the_example_robots(path: str) -> None:
    whole = from_urdf(example(path), check=False)
    robot = other = sub_chain(whole, whole.root, ARMS[path])
    for conversion in CONVERSIONS.values():
        assert_same(robot, conversion(robot))
        other = conversion(other)
    assert_same(robot, other)


@pytest.mark.slow
@settings(max_examples=12)
@given(st.integers(0, 10**9), st.integers(1, 5))
@hypothesis.example(622092495, 4)  # the first axis passes the origin, but for rounding
@hypothesis.example(52, 2)
@hypothesis.example(60865430, 2)  # axes half a degree apart, their common normal at 20 m
def test_random_chains(seed: int, n: int) -> None:
    robot = other = random_chain(seed, n)
    for conversion in CONVERSIONS.values():
        assert_same(robot, conversion(robot))
        other = conversion(other)
    assert_same(robot, other)


@settings(max_examples=8)
@given(st.integers(0, 10**9))
def test_random_chains_with_helical_joints(seed: int) -> None:
    robot = other = random_chain(seed, 4, ("helical", "prismatic"))
    for name in ("screws", "toml", "toml with screws"):
        assert_same(robot, CONVERSIONS[name](robot))
        other = CONVERSIONS[name](other)
    assert_same(robot, other)
    assert_same(robot, CONVERSIONS["urdf"](robot))


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_made_from_a_table_gives_the_table_again(name: str) -> None:
    robot = load(name)
    standard, modified = CONVERSIONS["dh"](robot), CONVERSIONS["modified dh"](robot)
    assert CONVERSIONS["dh"](standard) == standard
    assert to_modified_dh(modified).rows == to_modified_dh(robot).rows
    if "[[dh]]" in shipped_path(name).read_text():
        assert standard == robot


def robot_of_every_kind() -> Description:
    """A tree with joints of several freedoms, each with limits, friction and motor of its own."""
    rng = np.random.default_rng(5)
    kinds = ("free", "universal", "cylindrical", "planar", "helical", "revolute")
    links, joints = [Link("world")], []
    for kind in kinds:
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)
        axis = rng.normal(size=3)
        freedoms = {"universal": 2, "cylindrical": 2, "planar": 3}.get(kind, 1)
        bounds = np.arange(1.0, 1.0 + freedoms)
        joints.append(
            Joint(
                f"the {kind} one",
                kind,
                links[-1].name,
                f"after {kind}",
                T,
                T.T.T if kind != "revolute" else np.eye(4),
                axis=axis,
                pitch=0.2 if kind == "helical" else 0.0,
                second_axis=np.cross(axis, [1.0, 0.0, 0.0]),
                limits=Limits(velocity=7.0)
                if kind == "free"
                else Limits(tuple(-bounds), tuple(bounds), 2.0, tuple(bounds))
                if freedoms > 1
                else Limits(-2.0, 3.0, effort=9.0),
                viscous_friction=0.3,
                coulomb_friction=0.2,
                coulomb_velocity=0.1,
                motor_inertia=0.01,
                gear_ratio=5.0,
            )
        )
        links.append(Link(f"after {kind}", Inertia(1.0, rng.normal(size=3), np.diag([0.2, 0.3, 0.4]))))
    return Description("zoo", tuple(links), tuple(joints), payload=Inertia(0.5, [0.1, 0.2, 0.3], 0.01 * np.eye(3)))


def test_joints_with_several_freedoms() -> None:
    robot = robot_of_every_kind()
    assert_same(robot, CONVERSIONS["urdf"](robot))
    assert CONVERSIONS["toml"](robot) == robot
    assert {joint.kind for joint in parse_urdf(to_urdf(robot)).joints} == {
        "free", "revolute", "prismatic", "planar", "fixed"
    }  # fmt: skip
    chain = sub_chain(robot, "after free", "after planar")
    for name in ("dh", "modified dh", "screws", "toml with dh", "toml with screws"):
        assert_same(chain, CONVERSIONS[name](chain))


def test_trees_as_urdf_and_toml() -> None:
    for path in ("solo_description/robots/solo.urdf", "ur_description/urdf/ur5_gripper.urdf", "talos_full_v2.urdf"):
        robot = from_urdf(example(path), check=False)
        for name in OF_TREES:
            assert_same(robot, CONVERSIONS[name](robot))


def test_a_tool_before_the_last_link_stays_where_it_is() -> None:
    robot = load("iiwa14").replace(tool="iiwa_link_4")
    for name, conversion in CONVERSIONS.items():
        assert conversion(robot).tool == "iiwa_link_4", name
        assert_same(robot, conversion(robot))


def test_names_that_tables_would_use_for_others() -> None:
    robot = load("panda")
    renamed = robot.replace(
        links=tuple(link.replace(name=link.name.removeprefix("panda_")) for link in robot.links),
        joints=tuple(
            joint.replace(parent=joint.parent.removeprefix("panda_"), child=joint.child.removeprefix("panda_"))
            for joint in robot.joints
        ),
        tool="hand_tcp",
        frames=(Frame("tool", "link3", robot.T_world_base),),
    )
    for conversion in CONVERSIONS.values():
        assert_same(renamed, conversion(renamed))
    # The link frames of the Panda are those of its modified table, but not of the standard one.
    assert to_modified_dh(renamed).link_prefix == "link"
    assert to_dh(renamed).link_prefix == "body"


def test_parallel_and_common_axes_give_exact_parameters() -> None:
    """Axes along x, y and z at round distances: every parameter is a multiple of a right angle or such a distance."""
    places = [([0, 0, 1], [0, 0, 1]), ([0, 0, 1], [2, 0, 0]), ([0, 0, -1], [3, 0, 5]), ([0, 0, 1], [3, 0, 5]),
              ([1, 0, 0], [3, 0, 7]), ([0, 1, 0], [3, 4, 7]), ([0, 0, 1], [0, 4, 0])]  # fmt: skip
    links = tuple(Link(f"l{index}") for index in range(len(places) + 1))
    joints, before = [], np.zeros(3)
    for index, (axis, point) in enumerate(places):
        T = np.eye(4)
        T[:3, 3] = np.subtract(point, before)
        joints.append(Joint(f"j{index}", "revolute", f"l{index}", f"l{index + 1}", T, axis=np.array(axis)))
        before = np.array(point)
    robot = Description("frame", links, tuple(joints))
    for table in (to_dh(robot), to_modified_dh(robot)):
        for row in table.rows:
            assert {row["alpha"], row["offset"]} <= {0.0, np.pi / 2, -np.pi / 2, np.pi}
            assert all(float(row[key]).is_integer() for key in ("a", "d"))
    assert [row["a"] for row in to_dh(robot).rows[:3]] == [2.0, 1.0, 0.0]
    assert differences(robot, from_dh(**to_dh(robot)))["poses"] < 1e-15


def nearly_parallel(angle: float) -> Description:
    tilted = np.eye(4)
    tilted[:3, :3] = Rotation.from_rotvec([angle, 0.0, 0.0]).as_matrix()
    tilted[:3, 3] = 1.0, 0.5, 0.2
    links = tuple(Link(name, Inertia(1.0, [0.1, 0.2, 0.3], 0.01 * np.eye(3))) for name in "abc")
    first = Joint("first", "revolute", "a", "b")
    return Description("tilted", links, (first, Joint("second", "revolute", "b", "c", tilted)))


@pytest.mark.parametrize("angle", [1e-17, 1e-15, 1e-14, 9e-14])
def test_axes_that_are_parallel_to_rounding_are_parallel(angle: float) -> None:
    robot = nearly_parallel(angle)
    assert to_dh(robot).rows[0]["alpha"] == 0.0
    assert_same(robot, CONVERSIONS["dh"](robot))


@pytest.mark.parametrize("angle", [1e-4, 1e-3, 0.1])
def test_a_far_common_normal_costs_digits_in_proportion(angle: float) -> None:
    robot = nearly_parallel(angle)
    assert_same(robot, CONVERSIONS["dh"](robot), 1e-15 / angle)


def test_a_common_normal_out_of_reach_is_refused() -> None:
    for convert, kind in ((to_dh, "standard"), (to_modified_dh, "modified")):
        message = f"robot 'tilted' has no {kind} DH table: joints 'first' and 'second': the axes are nearly parallel"
        with pytest.raises(ModelError, match=message):
            convert(nearly_parallel(1e-8))


def with_joint(**changes: object) -> Description:
    joint = Joint("knee", "revolute", "a", "b").replace(**changes)
    return Description("leg", (Link("a"), Link("b")), (joint,))


@pytest.mark.parametrize(
    ("conversion", "robot", "message"),
    [
        (
            to_dh,
            with_joint(kind="helical", pitch=0.1),
            "no standard DH table: joint 'knee' is helical, and the joints must",
        ),
        (to_modified_dh, with_joint(kind="spherical"), "no modified DH table: joint 'knee' is spherical"),
        (to_dh, with_joint(kind="free"), "no standard DH table: joint 'knee' is free"),
        (to_screws, with_joint(kind="spherical"), "no table of screws: joint 'knee' is spherical"),
        (to_screws, with_joint(kind="free"), "joint 'knee' is free, and the joints must be revolute"),
        (to_urdf, with_joint(kind="spherical"), "robot 'leg' has no URDF: joint 'knee' is spherical"),
        (to_dh, with_joint(kind="fixed"), "no standard DH table: nothing of it moves"),
        (to_screws, with_joint(kind="fixed"), "no table of screws: nothing of it moves"),
        (to_urdf, with_joint(name="a\x00b"), "XML cannot hold the text"),
        (lambda robot: to_toml(robot, "dh "), with_joint(), "form must be 'links', 'dh', 'modified-dh' or 'screws'"),
    ],
)
def test_what_has_no_such_description_is_refused_with_the_reason(
    conversion: Callable[[Description], object], robot: Description, message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        conversion(robot)


def test_trees_have_no_tables() -> None:
    robot = from_urdf(example("panda_description/urdf/panda.urdf"))
    for convert in (to_dh, to_modified_dh, to_screws):
        with pytest.raises(ModelError, match="the joints 'panda_finger_joint1' and 'panda_finger_joint2' start from"):
            convert(robot)


@pytest.mark.parametrize("name", ["ur5", "panda", "stanford"])
def test_screws_are_those_of_modern_robotics(name: str) -> None:
    """The book's own code library gives our poses and torques from M, Slist, Mlist and Glist."""
    mr = importlib.import_module("modern_robotics")
    robot = load(name)
    tree = build_tree(with_friction(robot, viscous=0.0, coulomb=0.0))
    table = to_screws(robot)
    armature = np.array([body.armature for body in tree.bodies])
    rng = np.random.default_rng(2)
    q, qd, qdd = rng.normal(size=(3, robot.n))
    np.testing.assert_allclose(
        mr.FKinSpace(table.M, table.Slist, q), algorithms.forward_kinematics(tree, q, robot.tool), atol=1e-12
    )
    torques = mr.InverseDynamics(q, qd, qdd, robot.gravity, np.zeros(6), table.Mlist, table.Glist, table.Slist)
    np.testing.assert_allclose(torques + armature * qdd, algorithms.inverse_dynamics(tree, q, qd, qdd), atol=1e-11)


def test_pinocchio_reads_the_urdf_that_is_written(tmp_path: Path) -> None:
    pin = importlib.import_module("pinocchio")
    robot = random_chain(7, 5, ("revolute", "prismatic"))
    robot = robot.replace(joints=tuple(joint.replace(mimic=None) for joint in robot.joints), home=None)
    model = pin.buildModelFromXML(to_urdf(robot))
    data = model.createData()
    assert list(model.names)[1:] == list(robot.joint_names)
    assert np.isfinite(model.lowerPositionLimit).all()
    q = np.random.default_rng(0).normal(size=robot.nq)
    pin.framesForwardKinematics(model, data, q)
    tree = build_tree(robot)
    for name in robot.frame_names:
        expected = data.oMf[model.getFrameId(name)].homogeneous
        assert np.abs(algorithms.forward_kinematics(tree, q, name) - expected).max() < 1e-12


def test_text_in_names_survives() -> None:
    robot = with_joint(name="a <b> & \"c\" 'd'").replace(source="two\nlines\tand é 漢 🤖", name="'<>&\"")
    for name in CONVERSIONS:
        other = CONVERSIONS[name](robot)
        assert (other.name, other.source, other.joint_names) == (robot.name, robot.source, robot.joint_names)


def test_tables_print_and_compare() -> None:
    table = to_dh(load("scara"))
    assert table == to_dh(load("scara"))
    assert hash(table) == hash(to_dh(load("scara")))
    assert table != to_modified_dh(load("scara"))
    assert str(table).splitlines()[1].split() == ["joint1", "revolute", "0", "0.387", "0.325", "0", "0"]
    assert str(to_screws(load("scara"))).splitlines()[3].split() == ["joint3", "0", "0", "0", "0", "0", "-1"]
