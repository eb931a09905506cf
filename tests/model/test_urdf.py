"""URDF: what is read and with which defaults, and messages that name the file, the element and the reason."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from chasles.base.errors import ModelError
from chasles.model import Description, Joint, Link, from_urdf, parse_urdf, to_urdf

ARM = """<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <chasles tool="hand" home="0.5 0.25" source="a test"/>
  <material name="grey"><color rgba="1 1 1 1"/></material>
  <link name="world"/>
  <link name="upper">
    <inertial>
      <origin xyz="0 0.1 0.2" rpy="1.57079632679 0 0"/>
      <mass value="2"/>
      <inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.2" iyz="0.02" izz="0.15"/>
    </inertial>
    <visual><geometry><mesh filename="package://../../../../etc/passwd"/></geometry></visual>
    <collision><geometry><mesh filename="file:///dev/zero"/></geometry></collision>
  </link>
  <link name="lower"/>
  <link name="hand"/>
  <joint name="shoulder" type="revolute">
    <origin xyz="1 2 3" rpy="0 0 1.57079632679"/>
    <parent link="world"/>
    <child link="upper"/>
    <axis xyz="0 0 2"/>
    <limit lower="-1" upper="2" velocity="3" effort="4"/>
    <dynamics damping="0.5" friction="0.25"/>
  </joint>
  <joint name="elbow" type="prismatic">
    <parent link="upper"/>
    <child link="lower"/>
    <limit effort="10" velocity="1"/>
  </joint>
  <joint name="wrist" type="continuous">
    <parent link="lower"/>
    <child link="hand"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="inf"/>
    <mimic joint="elbow" multiplier="-2" offset="0.1"/>
    <safety_controller k_velocity="10"/>
  </joint>
  <gazebo><plugin filename="../../evil.so"/></gazebo>
  <transmission name="t"><joint name="shoulder"/></transmission>
</robot>
"""


def test_all_that_counts_is_read() -> None:
    robot = parse_urdf(ARM, check=False)
    assert (robot.name, robot.root, robot.tool, robot.source) == ("arm", "world", "hand", "a test")
    assert robot.joint_names == ("shoulder", "elbow")
    assert robot.home.tolist() == [0.5, 0.25]
    shoulder, elbow, wrist = robot.joints
    assert shoulder.T_parent_joint.tolist() == [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    assert shoulder.axis.tolist() == [0, 0, 1]
    limits = shoulder.limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort) == (-1, 2, 3, 4)
    assert (shoulder.viscous_friction, shoulder.coulomb_friction) == (0.5, 0.25)
    assert elbow.axis.tolist() == [1, 0, 0]
    assert (elbow.limits.lower, elbow.limits.upper, elbow.limits.effort) == (-math.inf, math.inf, 10)
    assert (wrist.limits.lower, wrist.limits.velocity, wrist.limits.effort) == (-math.inf, math.inf, 5)
    assert wrist.mimic is not None
    assert (wrist.mimic.joint, wrist.mimic.ratio, wrist.mimic.offset) == ("elbow", -2, 0.1)
    inertia = robot.link("upper").inertia
    assert (inertia.mass, inertia.center_of_mass.tolist()) == (2, [0, 0.1, 0.2])
    # A quarter turn about x takes y to z and z to -y.
    expected = [[0.1, 0, 0.01], [0, 0.15, -0.02], [0.01, -0.02, 0.2]]
    assert np.abs(inertia.matrix - expected).max() == 0.0


def test_one_missing_limit_is_zero_and_absurd_ones_are_none() -> None:
    text = ARM.replace('lower="-1" upper="2"', 'upper="2"')
    assert parse_urdf(text, check=False).joints[0].limits.lower == 0.0
    text = ARM.replace('lower="-1" upper="2"', 'lower="-1e16" upper="1e16"')
    assert parse_urdf(text, check=False).joints[0].limits.upper == math.inf


def test_an_axis_that_is_not_given_is_x_and_one_of_a_fixed_joint_does_not_matter() -> None:
    assert parse_urdf(ARM.replace('<axis xyz="0 0 2"/>', ""), check=False).joints[0].axis.tolist() == [1, 0, 0]
    text = ARM.replace('type="revolute"', 'type="fixed"').replace('home="0.5 0.25"', "").replace("0 0 2", "0 0 0")
    assert parse_urdf(text, check=False).joints[0].kind == "fixed"


def test_the_tool_can_be_chosen() -> None:
    assert parse_urdf(ARM, tool="lower", check=False).tool == "lower"
    with pytest.raises(ModelError, match="the tool 'fist' is not the name of a link"):
        parse_urdf(ARM, tool="fist", check=False)


@pytest.mark.parametrize(("digits", "exact"), [("1.57079632679", True), ("1.5707963", False), ("-3.14159265359", True)])
def test_decimals_of_right_angles_are_completed(digits: str, exact: bool) -> None:
    R = parse_urdf(ARM.replace("0 0 1.57079632679", f"0 0 {digits}"), check=False).joints[0].T_parent_joint[:3, :3]
    assert (set(np.abs(R).ravel()) == {0.0, 1.0}) is exact


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('<link name="upper">', "<link>", "<link> in line 6 lacks the attribute 'name'"),
        ('<link name="lower"/>', '<link name="upper"/>', "2 links or frames have the name 'upper'"),
        ('<link name="lower"/>', "", "which does not exist"),
        ('<link name="lower"/>', '<link name="lower"/><link name="other"/>', r"2 links are the child of no joint"),
        ('name="elbow"', 'name="shoulder"', "2 joints have the name 'shoulder'"),
        ('<parent link="world"/>', '<parent link="hand"/>', "joints .* form a cycle"),
        ('<parent link="world"/>', "", "<joint> 'shoulder' in line 17: <parent> is missing"),
        ('<child link="upper"/>', "<child/>", "<child> in line 20 lacks the attribute 'link'"),
        (
            '<child link="hand"/>',
            '<child link="lower"/>',
            "link 'lower' is the child of two joints, 'elbow' and 'wrist'",
        ),
        ('type="revolute"', "", "<joint> 'shoulder' in line 17 lacks the attribute 'type'"),
        ('type="revolute"', 'type="ball"', "'shoulder' in line 17: the joint type 'ball' is not supported"),
        ('type="revolute"', 'type="gear"', "the joint type 'gear' is not supported; supported: fixed, revolute"),
        ('xyz="0 0 2"', 'xyz="0 0 0"', "'shoulder' in line 17: the axis .* must be at least 1e-09 long"),
        ('xyz="0 0 2"', 'xyz="0 0 1e-300"', "'shoulder' in line 17: the axis .* must be at least 1e-09 long"),
        ('<axis xyz="0 0 2"/>', "<axis/>", "'shoulder' in line 17: <axis> in line 21 lacks the attribute 'xyz'"),
        ('xyz="0 0 2"', 'xyz="0 ０ 2"', "<axis> in line 21: attribute xyz='0 ０ 2' must hold 3 numbers"),
        ('value="2"', 'value="１２"', "<mass> in line 9: attribute value='１２' must hold a number"),
        ('xyz="0 0 2"', 'xyz="0 0"', "<axis> in line 21: attribute xyz='0 0' must hold 3 numbers"),
        ('xyz="0 0 2"', 'xyz="0 0 nan"', "<axis> in line 21: attribute xyz='0 0 nan' must be finite"),
        ('xyz="1 2 3"', 'xyz="1 2 up"', "<origin> in line 18: attribute xyz='1 2 up' must hold numbers"),
        ('xyz="1 2 3"', 'xyz="1 2 1_0"', "attribute xyz='1 2 1_0' must hold numbers"),
        ('xyz="1 2 3"', 'xyz="1 2 1e10"', r"attribute xyz='1 2 1e10' must be finite and at most 1e\+09"),
        ('xyz="1 2 3"', 'xyz="1 2 -inf"', "attribute xyz='1 2 -inf' must be finite"),
        ('lower="-1" upper="2"', 'lower="2" upper="-1"', "'shoulder' in line 17: the lower limit 2.0 is not below"),
        ('upper="2"', 'upper="nan"', "<limit> in line 22: attribute upper='nan' must not be NaN"),
        ('effort="4"', 'effort="-4"', "'shoulder' in line 17: the effort limit -4.0 must not be negative"),
        ('damping="0.5"', 'damping="-0.5"', "the viscous_friction of joint 'shoulder' must not be negative"),
        ('<mimic joint="elbow"', '<mimic joint="knee"', "joint 'wrist' mimics the joint 'knee', which does not exist"),
        ('<mimic joint="elbow"', '<mimic joint="wrist"', "joint 'wrist' mimics itself"),
        ('<mass value="2"/>', "", "<link> 'upper' in line 6: <inertial> in line 7 lacks <mass>"),
        ('<mass value="2"/>', '<mass value="-2"/>', "link 'upper': its mass is negative"),
        ('<mass value="2"/>', '<mass value="2"/><mass value="3"/>', "<inertial> in line 7 has 2 <mass> elements"),
        ('iyy="0.2"', 'iyy="-0.2"', "link 'upper': a principal moment of inertia is negative"),
        ('iyy="0.2"', "", "<inertia> in line 10 lacks the attribute 'iyy'"),
        ('home="0.5 0.25"', 'home="0.5"', r"home .* must have shape \(2,\), not \(1,\)"),
        ("</robot>", "", "not well-formed XML: no element found"),
        ("</robot>", "</robot><robot/>", "not well-formed XML: junk after document element"),
        ("robot", "sdf", "the root element is <sdf> 'arm' in line 2, not <robot>"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(old: str, new: str, message: str) -> None:
    assert old in ARM
    text = ARM.replace(old, new) if old == "robot" else ARM.replace(old, new, 1)
    with pytest.raises(ModelError, match="^arm.urdf: .*" + message):
        parse_urdf(text, file="arm.urdf")


@pytest.mark.parametrize(
    "content",
    [
        '<xacro:arm prefix="left"/>',
        '<link name="base"/><xacro:include filename="arm.xacro"/>',
        '<link name="base"><xacro:body mass="1"/></link>',
        '<link name="${prefix}base"/>',
        '<link name="base"><inertial><mass value="$(arg mass)"/></inertial></link>',
    ],
)
def test_a_file_that_holds_macros_is_refused(content: str) -> None:
    with pytest.raises(ModelError, match=r"in line 1.* is a macro of xacro: name the file \.xacro"):
        parse_urdf(f'<robot xmlns:xacro="http://www.ros.org/wiki/xacro">{content}</robot>')


def test_files_that_cannot_be_read_are_named(tmp_path: Path, write: Callable[[str, str | bytes], Path]) -> None:
    with pytest.raises(ModelError, match=r"missing.urdf: cannot be read: No such file"):
        from_urdf(tmp_path / "missing.urdf")
    with pytest.raises(ModelError, match="cannot be read: it is a directory, not a regular file"):
        from_urdf(tmp_path)
    with pytest.raises(ModelError, match=r"cannot be read: .*null"):
        from_urdf("a\0b")
    assert from_urdf(write("arm.urdf", ARM.encode("utf-16")), check=False).n == 2


def test_names_like_macros_are_read_back_from_a_written_file() -> None:
    names = ("${arm}", "$(find arm)", "plain")
    joints = [Joint(f"{a}-{b}", "continuous", a, b) for a, b in pairwise(names)]
    robot = Description("${robot}", links=tuple(map(Link, names)), joints=tuple(joints))
    assert parse_urdf(to_urdf(robot), check=False) == robot
    with pytest.raises(ModelError, match="is a macro of xacro"):
        parse_urdf('<robot name="${robot}"><link name="a"/></robot>')
