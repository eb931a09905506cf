"""SRDF files: groups, states, end effectors and pairs, of the robots of example-robot-data too, and wrong files."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.oracles.example_robots import example

from chasles.errors import ModelError
from chasles.model import ModelWarning, from_srdf, load, parse_srdf

PUMA = load("puma560")
TEXT = """<robot name="puma560">
<virtual_joint name="fixed_to_world" type="fixed" parent_frame="world" child_link="link0"/>
<group name="arm"><chain base_link="link0" tip_link="link3"/></group>
<group name="wrist"><joint name="joint6"/><joint name="joint4"/><link name="link5"/></group>
<group name="back"><chain base_link="link3" tip_link="link1"/></group>
<group name="all"><group name="wrist"/><group name="arm"/><joint name="fixed_to_world"/></group>
<group_state name="up" group="arm"><joint name="joint2" value="-1.5"/><joint name="joint3" value="1.5"/></group_state>
<group_state name="rest" group="arm"><joint name="joint1" value="0.5"/></group_state>
<group_state name="rest" group="wrist"><joint name="joint5" value="-0.5"/></group_state>
<end_effector name="hand" parent_link="link6" group="wrist" parent_group="arm"/>
<disable_collisions link1="link2" link2="link1" reason="Adjacent"/><disable_collisions link1="link1" link2="link3"/>
<passive_joint name="joint6"/></robot>"""


def test_all_that_a_file_says_is_read() -> None:
    read = parse_srdf(TEXT, PUMA)
    assert read.groups == {
        "arm": ("joint1", "joint2", "joint3"),
        "wrist": ("joint4", "joint5", "joint6"),
        "back": ("joint2", "joint3"),
        "all": ("joint1", "joint2", "joint3", "joint4", "joint5", "joint6"),
    }
    np.testing.assert_array_equal(read.states["up"], [PUMA.home[0], -1.5, 1.5, *PUMA.home[3:]])
    assert set(read.states) == {"up", "arm.rest", "wrist.rest"}
    assert read.states["wrist.rest"][4] == -0.5
    hand = read.end_effectors["hand"]
    assert (hand.group, hand.parent_link, hand.parent_group) == ("wrist", "link6", "arm")
    assert read.disabled_pairs == {("link1", "link2"): "Adjacent", ("link1", "link3"): ""}
    assert read.passive_joints == ("joint6",)
    assert read == parse_srdf(TEXT, PUMA)


def test_a_real_file_beside_its_robot() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        panda = load(example("panda_description/urdf/panda.urdf"))
    folder = example("panda_description/urdf/panda.urdf").parents[1]
    read = from_srdf(folder / "srdf" / "panda.srdf", panda)
    assert read.groups["arm"] == tuple(f"panda_joint{k}" for k in range(1, 8))
    assert len(read.groups["arm_and_hand"]) == 8
    q = read.states["default"]
    assert q[panda.starts["panda_joint4"][0]] == -2.35619
    assert ("panda_hand", "panda_leftfinger") in read.disabled_pairs
    assert read.end_effectors["end_effector"].parent_link == "panda_hand_tcp"


def test_names_that_the_robot_does_not_have_are_left_out_and_said() -> None:
    text = """<robot>
    <group name="g"><joint name="joint1"/><joint name="elbow"/><chain base_link="a" tip_link="b"/>
    <group name="hand"/></group>
    <disable_collisions link1="link1" link2="camera"/></robot>"""
    with pytest.warns(ModelWarning, match=r"'puma560' does not have: 'elbow', 'a', 'b', 'hand' and 1 more$"):
        read = parse_srdf(text, PUMA)
    assert read.groups == {"g": ("joint1",)}
    assert read.disabled_pairs == {}


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("<group/>", "lacks the attribute 'name'"),
        ("<group name='a'/><group name='a'/>", "two groups of this name"),
        (
            "<group name='a'><group name='b'/></group><group name='b'><group name='a'/></group>",
            "holds itself: a → b → a",
        ),
        ("<group_state name='s' group='g'><joint name='joint1' value='nan'/></group_state>", "must be finite"),
        ("<group_state name='s' group='g'><joint name='joint1'/></group_state>", "lacks the attribute 'value'"),
        ("<end_effector name='e' parent_link='link6' group='g'/>", "the group 'g', which does not exist"),
        ("<disable_collisions link1='link1'/>", "lacks the attribute 'link2'"),
    ],
)
def test_wrong_files_are_refused(inside: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        parse_srdf(f"<robot>{inside}</robot>", PUMA)
    with pytest.raises(ModelError, match="not <robot>"):
        parse_srdf("<sdf/>", PUMA)
