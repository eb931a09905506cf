"""What makes a description, what it refuses, and that it is an immutable value."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

from chasles.base.errors import ArgumentError, ModelError, UnknownNameError
from chasles.model import (
    Description,
    Frame,
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    load,
    with_friction,
    with_payload,
    with_values,
)


def links(*names: str) -> tuple[Link, ...]:
    return tuple(Link(name) for name in names)


def turn(name: str, parent: str, child: str, **fields: object) -> Joint:
    return Joint(name, "revolute", parent, child, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"links": ()}, "there is no link"),
        ({"links": links("a", "a")}, "2 links or frames have the name 'a'"),
        ({"links": links("a", "")}, "name ''; a name must be text that is not empty"),
        ({"links": links("a"), "frames": (Frame("a", "a"),)}, "have the name 'a'"),
        ({"links": links("a"), "frames": (Frame("f", "b"),)}, "frame 'f' is on the link 'b', which does not exist"),
        ({"links": links("a", "b")}, "2 links are the child of no joint \\('a', 'b'\\); exactly one"),
        (
            {"links": links("a", "b"), "joints": (turn("j", "a", "c"),)},
            "joint 'j' has the child link 'c', which does not",
        ),
        (
            {"links": links("a", "b"), "joints": (turn("j", "x", "b"),)},
            "joint 'j' has the parent link 'x', which does not",
        ),
        (
            {"links": links("a", "b"), "joints": (turn("j", "a", "b"), turn("j", "a", "b"))},
            "2 joints have the name 'j'",
        ),
        (
            {"links": links("a", "b"), "joints": (turn("i", "a", "b"), turn("j", "a", "b"))},
            "link 'b' is the child of two joints, 'i' and 'j'",
        ),
        (
            {"links": links("a", "b"), "joints": (turn("i", "a", "b"), turn("j", "b", "a"))},
            "joints 'i', 'j' form a cycle",
        ),
        (
            {"links": links("r", "a", "b"), "joints": (turn("i", "a", "b"), turn("j", "b", "a"))},
            "joints 'i', 'j' form a cycle",
        ),
        ({"links": links("a"), "joints": (turn("j", "a", "a"),)}, "joints 'j' form a cycle"),
        ({"links": links("a"), "tool": "hand"}, "tool 'hand' is not the name of a link or frame"),
        ({"links": links("a"), "gravity": [0, 0]}, r"gravity must have shape \(3,\)"),
        ({"links": links("a"), "gravity": [0, 0, math.nan]}, "gravity must be finite"),
        ({"links": links("a"), "home": [1.0]}, r"home .* must have shape \(0,\), not \(1,\)"),
        ({"links": links("a"), "T_world_base": np.diag([2, 1, 1, 1])}, "T_world_base is not a rigid motion"),
        ({"links": links("a"), "T_world_base": np.diag([-1, 1, 1, 1])}, "T_world_base is not a rigid motion"),
        ({"links": links("a"), "T_world_base": np.ones((4, 4))}, "last row must be 0 0 0 1"),
        (
            {"links": links("a", "b"), "joints": (turn("j", "a", "b", mimic=Mimic("k")),)},
            "joint 'j' mimics the joint 'k', which does not exist",
        ),
        (
            {"links": links("a", "b"), "joints": (turn("j", "a", "b", mimic=Mimic("j")),)},
            "joint 'j' mimics itself",
        ),
        (
            {
                "links": links("a", "b", "c"),
                "joints": (turn("j", "a", "b", mimic=Mimic("k")), turn("k", "b", "c", mimic=Mimic("j"))),
            },
            "mimics itself through a circle",
        ),
        (
            {
                "links": links("a", "b", "c"),
                "joints": (turn("j", "a", "b", mimic=Mimic("k")), Joint("k", "fixed", "b", "c")),
            },
            "joint 'j' mimics the joint 'k', which is fixed",
        ),
    ],
)
def test_bad_parts_are_refused_with_element_and_reason(parts: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Description("robot", **parts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"axis": [0, 0, 0]}, "axis of joint 'j' must be at least 1e-09 long to have a direction"),
        ({"axis": [0, 0, 1e-300]}, r"axis of joint 'j' must be at least 1e-09 long .*, not \[0.0, 0.0, 1e-300\]"),
        ({"axis": [0, math.inf, 0]}, r"axis of joint 'j' must be finite .* element \[1\] is inf"),
        ({"axis": [0, 1]}, r"axis of joint 'j' must have shape \(3,\)"),
        ({"kind": "ball"}, "kind of joint 'j' is 'ball'; it must be one of revolute"),
        ({"pitch": 0.1}, "only a helical joint has a pitch"),
        ({"viscous_friction": -1.0}, "viscous_friction of joint 'j' must not be negative"),
        ({"coulomb_velocity": 1e-310}, "coulomb_velocity of joint 'j' must be 0 or at least 1e-09, not 1e-310"),
        ({"motor_inertia": math.nan}, "motor_inertia of joint 'j' must be finite"),
        ({"kind": "continuous", "limits": Limits(-1, 1)}, "position limits of joint 'j' must be infinite"),
        ({"kind": "fixed", "mimic": Mimic("k")}, "'j' is fixed and cannot mimic"),
        ({"T_parent_joint": np.zeros((4, 4))}, "T_parent_joint of joint 'j' is not a rigid motion"),
        ({"T_joint_child": np.eye(3)}, r"T_joint_child of joint 'j' must have shape \(4, 4\)"),
    ],
)
def test_bad_joints_are_refused_by_name(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Joint(**{"name": "j", "kind": "revolute", "parent": "a", "child": "b"} | fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((1.0, -1.0), "the lower limit 1.0 is not below"),
        ((math.nan, 1.0), "limit 'lower' must be a number, not nan"),
        ((-1.0, math.nan), "limit 'upper' must be a number, not nan"),
        ((2e9, math.inf), "the limits inf to inf leave no position"),
        ((-math.inf, -2e9), "the limits -inf to -inf leave no position"),
    ],
)
def test_crossed_or_missing_limits_are_refused(bounds: tuple[float, float], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Limits(*bounds)
    with pytest.raises(ModelError, match="velocity limit"):
        Limits(velocity=-1.0)


def test_joints_are_ordered_parents_first_and_otherwise_as_given() -> None:
    joints = (turn("wrist", "forearm", "hand"), turn("waist", "base", "trunk"), turn("elbow", "trunk", "forearm"))
    robot = Description("r", links=links("hand", "forearm", "trunk", "base"), joints=joints)
    assert robot.root == "base"
    assert robot.joint_names == ("waist", "elbow", "wrist")
    branches = (turn("left", "base", "hand"), turn("right", "base", "forearm"), turn("left2", "hand", "trunk"))
    assert Description("r", links=robot.links, joints=branches).joint_names == ("left", "right", "left2")


def test_a_long_chain_given_backwards_is_no_trouble() -> None:
    n = 3000
    joints = tuple(turn(f"j{i}", f"l{i}", f"l{i + 1}") for i in reversed(range(n)))
    robot = Description("snake", links=links(*(f"l{i}" for i in range(n + 1))), joints=joints)
    assert robot.joint_names == tuple(f"j{i}" for i in range(n))
    followers = tuple(j.replace(mimic=Mimic(f"j{i - 1}")) if (i := int(j.name[1:])) else j for j in joints)
    assert robot.replace(joints=followers, home=None).n == 1


def test_home_is_zero_or_else_the_middle_of_the_limits() -> None:
    limits = [(-1, 1), (1, 3), (-math.inf, -2), (0.5, math.inf), (-math.inf, math.inf), (0, 5)]
    joints = tuple(turn(f"j{i}", f"l{i}", f"l{i + 1}", limits=Limits(*pair)) for i, pair in enumerate(limits))
    robot = Description("r", links=links(*(f"l{i}" for i in range(7))), joints=joints)
    assert robot.home.tolist() == [0.0, 2.0, -2.0, 0.5, 0.0, 0.0]
    assert robot.lower_limits.tolist() == [low for low, _ in limits]


def test_default_tool_is_named_tool_or_ends_the_longest_chain() -> None:
    joints = (turn("i", "a", "b"), turn("j", "a", "c"), turn("k", "c", "d"))
    robot = Description("r", links=links("a", "b", "c", "d"), joints=joints)
    assert robot.tool == "d"
    assert robot.replace(frames=(Frame("tool", "b"),), tool="").tool == "tool"


def test_nothing_can_be_changed() -> None:
    robot = load("panda")
    with pytest.raises(AttributeError):
        robot.name = "other"  # type: ignore[misc]
    for array in (robot.gravity, robot.home, robot.joints[0].axis, robot.links[1].inertia.matrix, robot.T_world_base):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    mine = np.zeros(3)
    inertia = Inertia(1.0, mine)
    mine[0] = 5.0
    assert inertia.center_of_mass[0] == 0.0


@pytest.mark.parametrize("copied", [lambda r: pickle.loads(pickle.dumps(r)), copy.deepcopy, lambda r: r.replace()])
def test_copies_are_equal_frozen_and_have_the_same_digest(copied: object) -> None:
    robot = load("puma560")
    other = copied(robot)  # type: ignore[operator]
    assert other == robot
    assert hash(other) == hash(robot)
    assert other.digest == robot.digest
    assert other.joint_names == robot.joint_names
    assert not other.joints[0].axis.flags.writeable


def test_the_digest_tells_every_change() -> None:
    robot = load("puma560")
    changed = [
        robot,
        robot.with_gravity([0, 0, -9.8]),
        with_payload(robot, 1.0),
        with_friction(robot, viscous=1.0),
        with_values(robot, {"links.link6.mass": 0.1}),
        robot.replace(name="other"),
        robot.replace(home=np.zeros(6)),
        robot.replace(tool="link6"),
        robot.replace(T_world_base=np.diag([-1.0, -1.0, 1.0, 1.0])),
    ]
    assert len({r.digest for r in changed}) == len(changed)
    assert all(a != b for i, a in enumerate(changed) for b in changed[:i])


def test_the_digest_is_the_same_in_another_process() -> None:
    import subprocess
    import sys

    code = "import chasles.model as m; print(m.load('panda').digest)"
    runs = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() for _ in range(2)
    }
    assert runs == {load("panda").digest}


def test_friction_by_name_by_array_and_for_all() -> None:
    robot = with_friction(load("planar2r"), viscous=[1.0, 2.0], coulomb={"joint2": 3.0}, coulomb_velocity=0.01)
    assert [joint.viscous_friction for joint in robot.joints] == [1.0, 2.0]
    assert [joint.coulomb_friction for joint in robot.joints] == [0.0, 3.0]
    assert [joint.coulomb_velocity for joint in robot.joints] == [0.01, 0.01]
    with pytest.raises(ArgumentError, match="viscous_friction must be one number or 2 numbers"):
        with_friction(robot, viscous=[1.0, 2.0, 3.0])
    with pytest.raises(UnknownNameError, match=r"no joint 'joint3'.* Existing: joint1, joint2"):
        with_friction(robot, coulomb={"joint3": 1.0})


def test_unknown_names_list_what_exists() -> None:
    robot = load("planar2r")
    with pytest.raises(UnknownNameError, match=r"no link 'link9'.* Existing: link0, link1, link2"):
        robot.link("link9")
    with pytest.raises(UnknownNameError, match=r"Did you mean 'links.link1.mass'"):
        with_values(robot, {"links.link1.mas": 1.0})


def test_slightly_rounded_rotations_become_rotations() -> None:
    T = np.eye(4)
    T[:2, :2] = [[0.8660254, -0.5], [0.5, 0.8660254]]
    R = Frame("f", "a", T).T_link_frame[:3, :3]
    assert np.abs(R @ R.T - np.eye(3)).max() < 1e-15
    assert np.abs(R - T[:3, :3]).max() < 1e-7
