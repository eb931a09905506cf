"""SDF models: poses relative to frames, axes in the frames of each version, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import chasles as ch
from chasles.base.errors import ModelError, UnknownNameError
from chasles.model import ModelWarning, from_sdf, parse_sdf

ARM = """<?xml version="1.0"?><sdf version="{version}"><model name="arm"><pose>1 2 3 0 0 0.5</pose>
<link name="base"/>
<link name="upper"><pose>0 0 0.5 0.1 0.2 0.3</pose><inertial><pose>0 0 0.2 1.5707963267948966 0 0</pose><mass>2</mass>
<inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.25</izz></inertia></inertial>
<visual name="v"><geometry><mesh><uri>model://../../etc/passwd</uri></mesh></geometry></visual></link>
<link name="hand"><pose>0.3 0 1.2 0 0.4 0</pose></link>
<joint name="shoulder" type="revolute"><parent>base</parent><child>upper</child><pose>0 0 -0.1 0 0 0.7</pose>
<axis><xyz>0 1 0</xyz>{extra}<limit><lower>-1</lower><upper>2</upper><effort>30</effort><velocity>-1</velocity></limit>
<dynamics><damping>0.4</damping><friction>0.2</friction></dynamics></axis></joint>
<joint name="slide" type="prismatic"><parent>upper</parent><child>hand</child><axis><xyz>1 0 0</xyz>{extra}
<limit><lower>-1e16</lower><upper>1e16</upper></limit></axis></joint>
</model></sdf>"""


def pose(x: float, y: float, z: float, roll: float, pitch: float, yaw: float) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = Rotation.from_euler("xyz", [roll, pitch, yaw]).as_matrix()  # fixed axes, as in SDF
    T[:3, 3] = x, y, z
    return T


def turned(T: np.ndarray, axis: list[float], angle: float) -> np.ndarray:
    made = np.eye(4)
    made[:3, :3] = Rotation.from_rotvec(angle * np.array(axis) / np.linalg.norm(axis)).as_matrix()
    return T @ made @ np.linalg.inv(T)


@pytest.mark.parametrize(
    ("version", "extra", "in_model"),
    [
        ("1.4", "", True),
        ("1.6", "", False),
        ("1.6", "<use_parent_model_frame>1</use_parent_model_frame>", True),
        ("1.9", "", False),
    ],
)
def test_poses_and_axes_follow_the_specification(version: str, extra: str, in_model: bool) -> None:
    """Every link's pose from the definitions: a joint moves its child about an axis in the joint or model frame."""
    robot = ch.Robot(parse_sdf(ARM.format(version=version, extra=extra), check=False))
    model, upper, hand = pose(1, 2, 3, 0, 0, 0.5), pose(0, 0, 0.5, 0.1, 0.2, 0.3), pose(0.3, 0, 1.2, 0, 0.4, 0)
    shoulder = upper @ pose(0, 0, -0.1, 0, 0, 0.7)
    angle, distance = 0.6, 0.35
    axis = shoulder[:3, :3].T @ [0.0, 1.0, 0.0] if in_model else np.array([0.0, 1.0, 0.0])
    motion = turned(shoulder, axis.tolist(), angle)
    direction = np.array([1.0, 0.0, 0.0]) if in_model else hand[:3, 0]
    shifted = hand.copy()
    shifted[:3, 3] += distance * direction
    q = [angle, distance]
    np.testing.assert_allclose(robot.forward_kinematics(q, target="upper"), model @ motion @ upper, atol=1e-14)
    np.testing.assert_allclose(robot.forward_kinematics(q, target="hand"), model @ motion @ shifted, atol=1e-14)


def test_inertias_limits_and_friction() -> None:
    robot = parse_sdf(ARM.format(version="1.7", extra=""), check=False)
    upper, (shoulder, slide) = robot.link("upper").inertia, robot.joints
    assert upper.mass == 2.0
    np.testing.assert_allclose(upper.center_of_mass, [0, 0, 0.2])
    np.testing.assert_allclose(upper.matrix, np.diag([0.1, 0.25, 0.2]), atol=1e-16)
    limits = shoulder.limits
    assert (limits.lower, limits.upper, limits.effort, limits.velocity) == (-1.0, 2.0, 30.0, math.inf)
    assert (slide.limits.lower, slide.limits.upper) == (-math.inf, math.inf)
    assert (shoulder.viscous_friction, shoulder.coulomb_friction) == (0.4, 0.2)


def test_frames_are_relative_to_frames() -> None:
    text = """<sdf version="1.9"><model name="m"><link name="a"/>
    <link name="b"><pose relative_to="f">0 0 1 0 0 0</pose></link>
    <frame name="f" attached_to="a"><pose degrees="true">1 0 0 0 0 90</pose></frame>
    <frame name="grip" attached_to="j"><pose rotation_format="quat_xyzw">
    0 1 0 0 0 0.7071067811865476 0.7071067811865476</pose>
    </frame>
    <joint name="j" type="universal"><parent>a</parent><child>b</child><pose relative_to="f"/>
    <axis><xyz expressed_in="a">0 0 1</xyz></axis><axis2><xyz expressed_in="__model__">1 0 0</xyz></axis2></joint>
    <joint name="screw" type="screw"><parent>b</parent><child>c</child><screw_thread_pitch>0.01</screw_thread_pitch>
    <axis><xyz>0 0 1</xyz></axis></joint><link name="c"><pose relative_to="b"/></link>
    <joint name="ball" type="ball"><parent>c</parent><child>d</child></joint><link name="d"/></model></sdf>"""
    robot = parse_sdf(text, tool="grip")
    joint, screw, ball = robot.joints
    np.testing.assert_allclose(joint.T_parent_joint, pose(1, 0, 0, 0, 0, math.pi / 2), atol=1e-15)
    np.testing.assert_allclose(joint.axis, [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(joint.second_axis, [0, -1, 0], atol=1e-15)  # x of the model, in a frame turned by 90°
    assert screw.pitch == pytest.approx(0.01 / (2 * math.pi), rel=1e-15)
    assert (ball.kind, robot.n) == ("spherical", 6)
    T = ch.Robot(robot).forward_kinematics(robot.home, target="grip")
    np.testing.assert_allclose(T, pose(1, 0, 0, 0, 0, math.pi / 2) @ pose(0, 1, 0, 0, 0, math.pi / 2), atol=1e-14)


def test_a_joint_to_the_world_and_mimics() -> None:
    text = """<sdf version="1.11"><model name="m"><pose>0 0 2 0 0 0</pose><link name="a"><pose>1 0 0 0 0 0</pose></link>
    <joint name="fix" type="fixed"><parent>world</parent><child>a</child></joint>
    <link name="b"/><joint name="leader" type="revolute"><parent>a</parent><child>b</child>
    <axis><xyz>0 0 1</xyz></axis></joint>
    <link name="c"/><joint name="follower" type="continuous"><parent>b</parent><child>c</child><axis><xyz>0 0 1</xyz>
    <mimic joint="leader" axis="axis"><multiplier>2</multiplier><offset>0.5</offset><reference>0.1</reference></mimic>
    </axis>
    </joint></model></sdf>"""
    robot = parse_sdf(text)
    assert robot.root == "world"
    np.testing.assert_allclose(ch.Robot(robot).forward_kinematics([0.0], target="a")[:3, 3], [1, 0, 2])
    mimic = robot.joint("follower").mimic
    assert mimic is not None
    assert (mimic.joint, mimic.ratio, mimic.offset) == ("leader", 2.0, pytest.approx(0.3, rel=1e-15))


def test_models_of_a_world_by_name(tmp_path: Any) -> None:
    path = tmp_path / "two.world"
    models = "".join(f'<model name="{name}"><link name="a"/></model>' for name in ("one", "two"))
    path.write_text(f'<sdf version="1.7"><world name="w">{models}</world></sdf>')
    assert from_sdf(path, model="two").name == ch.load(path, model="two", check=False).name == "two"
    with pytest.raises(ModelError, match=r"two.world: the file must hold one model.*it holds 'one', 'two'"):
        ch.load(path)
    with pytest.raises(UnknownNameError, match="there is no model 'three'"):
        from_sdf(path, model="three")


def test_shapes_that_cannot_be_drawn_are_left_out_with_the_reason() -> None:
    for inside, reason in (
        ("", "it has no geometry"),
        ("<mesh/>", "lacks <uri>"),
        ("<plane/>", "a geometry is a box"),
        ("<box/>", "lacks <size>"),
    ):
        shape = f'<visual name="v"><geometry>{inside}</geometry></visual>'
        with pytest.warns(ModelWarning, match=f"left out of its shapes: .*{reason}"):
            robot = parse_sdf(f'<sdf version="1.9"><model name="m"><link name="a">{shape}</link></model></sdf>')
        assert robot.links[0].visuals == ()
    with pytest.raises(ModelError, match="not <sdf>"):
        parse_sdf("<robot/>")


def test_springs_are_named() -> None:
    text = ARM.format(version="1.7", extra="").replace("<damping>", "<spring_stiffness>3</spring_stiffness><damping>")
    with pytest.warns(ModelWarning, match="ignored .*: springs of the joints 'shoulder'"):
        parse_sdf(text, check=False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<include><uri>model://arm</uri></include>", "models inside a model are not supported"),
        ('<model name="inner"/>', "models inside a model are not supported"),
        (
            '<link name="a"/><joint name="j" type="gearbox"><parent>a</parent><child>a</child></joint>',
            "'gearbox' is not supported",
        ),
        ('<link name="a"/><joint name="j" type="fixed"><parent>a</parent></joint>', r"lacks <child>"),
        (
            '<link name="a"><pose relative_to="b"/></link><link name="b"><pose relative_to="a"/></link>',
            "relative to itself: a → b → a",
        ),
        ('<link name="a"><pose relative_to="nowhere">0 0 0 0 0 0</pose></link>', "there is no frame 'nowhere'"),
        ('<link name="a"><pose>0 0 0</pose></link>', "must hold 6 numbers"),
        ('<link name="a"><pose>0 0 0 0 0 nan</pose></link>', "must be finite"),
        ('<link name="a"><inertial auto="true"/></link>', "collision geometry, which is not supported"),
        ('<link name="a"><inertial><mass>-1</mass></inertial></link>', "mass"),
        ('<link name="a"><inertial/></link>', "lacks <mass>"),
        (
            '<link name="a"/><joint name="j" type="universal"><parent>world</parent><child>a</child>'
            "<axis><xyz>1 0 0</xyz></axis></joint>",
            "needs <axis> and <axis2>",
        ),
        ("<link/>", "lacks the attribute 'name'"),
        ('<link name="a"/><frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>', "itself"),
        ('<link name="a"/><link name="a"/>', "2 links have the name 'a'"),
    ],
)
def test_what_is_refused(content: str, message: str) -> None:
    with pytest.raises((ModelError, UnknownNameError), match=message):
        parse_sdf(f'<sdf version="1.9"><model name="m">{content}</model></sdf>')
