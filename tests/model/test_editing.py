"""Locking, cutting, attaching, merging and renaming: names, home, limits, frames, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from chasles.base.errors import ModelError, UnknownNameError
from chasles.model import (
    Description,
    Frame,
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    attach,
    build_tree,
    load,
    lock_joints,
    parse_toml,
    renamed,
    simplified,
    sub_chain,
    sub_tree,
    to_toml,
    with_free_base,
    with_payload,
    with_tool,
    without,
)


def gripper() -> Description:
    """A hand with two fingers, of which the second follows the first."""
    return Description(
        "gripper",
        links=(Link("palm", Inertia(0.5)), Link("left", Inertia(0.1)), Link("right", Inertia(0.1))),
        joints=(
            Joint("open", "prismatic", "palm", "left", axis=[0.0, 1.0, 0.0], limits=Limits(0.0, 0.04)),
            Joint("other", "prismatic", "palm", "right", axis=[0.0, -1.0, 0.0], mimic=Mimic("open")),
        ),
        frames=(Frame("grasp", "palm"),),
        tool="grasp",
    )


def compound() -> Description:
    """A free body with a ball joint, a universal joint and a planar one."""
    links = tuple(Link(name, Inertia(1.0)) for name in ("ground", "body", "head", "leg", "foot"))
    joints = (
        Joint("fly", "free", "ground", "body"),
        Joint("neck", "spherical", "body", "head"),
        Joint("hip", "universal", "body", "leg", limits=Limits((-1.0, -2.0), (1.0, 2.0))),
        Joint("sole", "planar", "leg", "foot", limits=Limits(-0.5, 0.5)),
    )
    return Description("compound", links, joints, home=[2, 0, 0, 0, 1, 2, 3, 0, 1, 0, 0, 0.1, 0.2, 0, 0.1, 0.2])


def test_home_limits_and_names_of_the_other_joints_stay() -> None:
    arm = load("panda")
    locked = lock_joints(arm, {"panda_joint2": 0.3, "panda_joint6": 1.0})
    kept = [0, 2, 3, 4, 6]
    assert locked.joint_names == tuple(np.array(arm.joint_names)[kept])
    for name in ("home", "lower_limits", "upper_limits", "velocity_limits", "effort_limits"):
        assert np.array_equal(getattr(locked, name), getattr(arm, name)[kept])
    assert locked.frame_names == arm.frame_names
    assert locked.tool == arm.tool
    fixed = locked.joint("panda_joint2")
    assert (fixed.kind, fixed.limits, fixed.motor_inertia, fixed.viscous_friction) == ("fixed", Limits(), 0.0, 0.0)
    assert not any("panda_joint2" in name for name in build_tree(locked).frames)


def test_locking_at_a_right_angle_is_exact() -> None:
    locked = lock_joints(load("planar2r"), {"joint2": math.pi / 2})
    assert set(locked.joint("joint2").T_parent_joint[:3, :3].ravel()) == {0.0, 1.0, -1.0}


def test_locking_joints_one_by_one_or_together() -> None:
    robot = compound()
    together = lock_joints(robot, {"neck": [1.0, 1.0, 0.0, 0.0], "sole": [0.1, 0.2, 0.3]})
    assert lock_joints(lock_joints(robot, {"sole": [0.1, 0.2, 0.3]}), {"neck": [3.0, 3.0, 0.0, 0.0]}) == together
    assert lock_joints(robot, []) == robot
    assert lock_joints(robot, "neck") == lock_joints(robot, ["neck"]) == lock_joints(robot, {"neck": None})


def test_a_free_joint_is_locked_at_a_pose() -> None:
    locked = lock_joints(compound(), {"fly": [0.0, 0.0, 0.0, -2.0, 1.0, 2.0, 3.0]})
    assert locked.joint("fly").T_parent_joint.tolist() == [[-1, 0, 0, 1], [0, -1, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    assert (locked.nq, locked.nv) == (9, 8)
    assert np.array_equal(locked.home, compound().home[7:])


def test_everything_locked_is_a_statue() -> None:
    statue = lock_joints(compound(), compound().joint_names)
    assert (statue.nq, statue.nv) == (0, 0)
    assert simplified(statue).link_names == ("ground",)
    assert simplified(statue).link("ground").inertia.mass == 5.0


def test_followers_are_locked_where_their_leader_takes_them() -> None:
    hand = gripper().replace(joints=(gripper().joints[0], gripper().joints[1].replace(mimic=Mimic("open", 0.5, 0.01))))
    locked = lock_joints(hand, {"open": 0.02})
    assert locked.joint("other").kind == "fixed"
    assert locked.joint("other").T_parent_joint[:3, 3].tolist() == [0.0, -0.02, 0.0]


@pytest.mark.parametrize(
    ("joints", "error", "message"),
    [
        (["hi"], UnknownNameError, "there is no joint 'hi'.* Existing: fly, neck, hip, sole"),
        ({"hip": 0.1}, ModelError, r"joint 'hip' \(universal\) must be 2 numbers \(hip.first, hip.second\), not 0.1"),
        ({"neck": [1.0, 0.0, 0.0]}, ModelError, "joint 'neck' .spherical. must be 4 numbers"),
        (
            {"neck": [0.0, 0.0, 0.0, 0.0]},
            ModelError,
            "quaternion in the position of joint 'neck' must be at least",
        ),
        ({"fly": [1.0, 0.0, 0.0, 0.0]}, ModelError, r"joint 'fly' \(free\) must be 7 numbers \(fly.qw, .*fly.z\)"),
        ({"hip": [0.0, math.nan]}, ModelError, "position of joint 'hip' must be finite"),
        ({"hip": ["a", "b"]}, ModelError, "position of joint 'hip' must be numbers"),
        (
            {"hip": [0.0, 2.1]},
            ModelError,
            "'hip' cannot be locked at hip.second = 2.1: its limits are -2.0 to 2.0",
        ),
        ({"sole": [0.0, 0.0, -0.6]}, ModelError, "at sole.angle = -0.6: its limits are -0.5 to 0.5"),
        (5, ModelError, "joints to lock must be names, or positions by name, not 5"),
    ],
)
def test_bad_positions_to_lock_at(joints: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        lock_joints(compound(), joints)


def test_followers_and_fixed_joints_cannot_be_locked() -> None:
    with pytest.raises(ModelError, match="joint 'other' cannot be locked: it follows 'open'; lock that"):
        lock_joints(gripper(), ["other"])
    with pytest.raises(ModelError, match="joint 'panda_joint8' cannot be locked: it is fixed already"):
        lock_joints(load("panda"), {"panda_joint8": 0.0})
    narrow = gripper().joints[1].replace(limits=Limits(0.0, 0.01))
    with pytest.raises(ModelError, match=r"joint 'other' cannot be locked at other = 0.02: its limits are 0.0 to 0.01"):
        lock_joints(gripper().replace(joints=(gripper().joints[0], narrow)), {"open": 0.02})


@pytest.mark.parametrize(
    ("cut", "error", "message"),
    [
        (
            lambda r: sub_chain(r, "leg", "head"),
            ModelError,
            "'head' does not hang on link 'leg': .* ground, body, head",
        ),
        (lambda r: sub_chain(r, "foot", "leg"), ModelError, "link 'leg' does not hang on link 'foot'"),
        (lambda r: sub_chain(r, "leg", "leg"), ModelError, "a chain from link 'leg' to itself has no joint"),
        (lambda r: sub_chain(r, "lag", "foot"), UnknownNameError, "no link 'lag'. Did you mean 'leg'"),
        (lambda r: sub_chain(r, "leg", "foo"), UnknownNameError, "no frame 'foo'. Did you mean 'foot'"),
        (lambda r: sub_chain(r, "leg", "foot", branches="keep"), UnknownNameError, "no way to treat branches 'keep'"),
        (lambda r: sub_tree(r, "arm"), UnknownNameError, "there is no link 'arm'"),
        (lambda r: without(r, "arm"), UnknownNameError, "there is no link 'arm'"),
        (lambda r: without(r, "ground"), ModelError, "without link 'ground', the root, nothing is left"),
        (lambda r: attach(r, r), ModelError, "links or frames named 'ground', 'body', .*; give a prefix"),
        (lambda r: attach(r, renamed(r, frames={n: n + "_" for n in r.frame_names})), ModelError, "joints named 'fly'"),
        (lambda r: attach(r, gripper(), "elbow"), UnknownNameError, "there is no frame 'elbow'"),
        (lambda r: attach(r, gripper(), T_frame_base=2 * np.eye(4)), ModelError, "T_frame_base is not a rigid motion"),
        (lambda r: attach(r, gripper(), joint="fly"), ModelError, "both robots have joints named 'fly'"),
        (lambda r: attach(r, gripper(), tool="hand"), ModelError, "tool 'hand' is not the name of a link or frame"),
        (lambda r: with_tool(r, name="head"), ModelError, "cannot be called 'head': that is the name of a link"),
        (lambda r: with_tool(r, np.zeros((4, 4))), ModelError, "T_frame_tool is not a rigid motion"),
        (lambda r: renamed(r, joints={"hop": "jump"}), UnknownNameError, "no joint 'hop'. Did you mean 'hip'"),
        (lambda r: renamed(r, frames={"leg": "head"}), ModelError, "2 links or frames have the name 'head'"),
        (lambda r: with_free_base(r, joint="fly"), ModelError, "2 joints have the name 'fly'"),
    ],
)
def test_bad_cuts_and_attachments(cut: Callable[[Description], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        cut(compound())


def test_the_root_of_a_part_stands_where_it_stood() -> None:
    part = sub_tree(compound(), "leg")
    T = build_tree(lock_joints(compound(), compound().joint_names)).frames["leg"]
    assert np.allclose(part.T_world_base[:3, 3], T.p_body_frame, rtol=0.0, atol=1e-15)
    assert np.allclose(part.T_world_base[:3, :3], T.R_body_frame, rtol=0.0, atol=1e-15)
    assert part.joint_names == ("sole",)
    assert np.array_equal(part.home, compound().home[-3:])
    assert sub_tree(compound(), "ground") == compound()


def test_the_payload_goes_with_the_tool() -> None:
    arm = with_payload(load("puma560"), 2.0)
    assert sub_tree(arm, "link3").payload == arm.payload
    left = without(arm, "link5")
    assert left.payload == Inertia()
    assert left.tool == "link4"
    moved = with_tool(arm, frame="link2")
    assert moved.payload == Inertia()
    assert moved.link("tool_payload").inertia == arm.payload
    again = with_tool(with_payload(moved, 1.0), frame="link1")
    assert again.link("tool_payload_2").inertia.mass == 1.0
    assert again.link("tool_payload").inertia.mass == 2.0


def test_the_tool_of_an_assembly() -> None:
    arm = with_payload(load("puma560"), 2.0)
    hand = with_payload(gripper(), 0.3)
    both = attach(arm, hand, prefix="hand_")
    assert both.tool == "hand_grasp"
    assert both.payload == hand.payload
    assert both.link("tool_payload").inertia == arm.payload
    assert both.joint("hand_palm_mount").parent == "link6"
    assert both.mimics["hand_other"] == ("hand_open", 1.0, 0.0)
    elsewhere = attach(arm, hand, "link3", prefix="hand_")
    assert elsewhere.tool == "tool"
    assert elsewhere.payload == arm.payload
    assert elsewhere.link("hand_grasp_payload").inertia == hand.payload
    assert np.array_equal(elsewhere.home, [*arm.home, *hand.home])


@pytest.mark.parametrize("frame", ["tool", "link3"])
def test_files_keep_assemblies(frame: str) -> None:
    both = attach(attach(load("puma560"), gripper(), frame), compound(), "left", prefix="c.")
    assert parse_toml(to_toml(both), check=False) == both


def test_new_names_are_everywhere() -> None:
    named = renamed(gripper(), frames={"grasp": "tcp"}, joints={"open": "drive"}, prefix="x_", name="hand")
    assert named.name == "hand"
    assert named.frame_names == ("x_palm", "x_left", "x_right", "tcp")
    assert named.tool == "tcp"
    assert [joint.name for joint in named.joints] == ["drive", "x_other"]
    assert named.joint("x_other").mimic == Mimic("drive")
    back = renamed(named, frames={"tcp": "x_grasp"}, joints={"drive": "x_open"}, name="gripper")
    assert back == renamed(gripper(), prefix="x_")


def test_a_frame_is_found_by_its_name_or_its_links() -> None:
    hand = gripper()
    assert hand.frame("tool") == hand.frame("grasp") == Frame("grasp", "palm")
    assert hand.frame("left") == Frame("left", "left")
    assert load("puma560").frame("tool").link == "link6"
