"""SRDF files: groups, states, end effectors and pairs, of the robots of example-robot-data too, and wrong files."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.oracles.example_robots import example

import chasles as ch
from chasles.base.errors import ArgumentError, ModelError, UnknownNameError
from chasles.model import ModelWarning, from_srdf, load, parse_srdf, parse_toml

PUMA = load("puma560")
PUMA_TOML = ch.model.write(ch.load("puma560").description, "toml")
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
    read = parse_srdf(PUMA, TEXT)
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
    assert read == parse_srdf(PUMA, TEXT)


def test_a_real_file_beside_its_robot() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        panda = load(example("panda_description/urdf/panda.urdf"))
    folder = example("panda_description/urdf/panda.urdf").parents[1]
    read = from_srdf(panda, folder / "srdf" / "panda.srdf")
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
        read = parse_srdf(PUMA, text)
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
        parse_srdf(PUMA, f"<robot>{inside}</robot>")
    with pytest.raises(ModelError, match="not <robot>"):
        parse_srdf(PUMA, "<sdf/>")


def test_disabled_pairs_are_left_out_of_clearances_and_stay_with_the_robot(tmp_path: Path) -> None:
    """A hand may touch the base; cut, renamed, attached and written, the robot still knows it."""
    collision = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    links = "".join(f'<link name="{name}">{collision}</link>' for name in ("base", "upper", "lower", "hand"))
    joints = "".join(
        f'<joint name="{child}_joint" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        '<origin xyz="0.5 0 0"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
        for parent, child in (("base", "upper"), ("upper", "lower"), ("lower", "hand"))
    )
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{links}{joints}</robot>')
    (tmp_path / "pairs.srdf").write_text('<robot name="arm"><disable_collisions link1="hand" link2="base"/></robot>')
    plain, arm = (
        ch.load(tmp_path / "arm.urdf", check=False, **given) for given in ({}, {"srdf": tmp_path / "pairs.srdf"})
    )
    assert set(ch.clearance(plain).pairs) == {("base", "lower"), ("base", "hand"), ("upper", "hand")}
    assert set(ch.clearance(arm).pairs) == {("base", "lower"), ("upper", "hand")}
    assert from_toml_text(ch.model.write(arm.description, "toml")) == [("base", "hand")]
    assert arm.edit.renamed(prefix="left_").description.disabled_pairs == (("left_base", "left_hand"),)
    assert arm.edit.sub_chain("base", "lower", branches="drop").description.disabled_pairs == ()
    both = arm.edit.attach(arm, prefix="second_").description.disabled_pairs
    assert both == (("base", "hand"), ("second_base", "second_hand"))
    with pytest.raises(ModelError, match="a disabled pair names the link 'wall', which does not exist"):
        plain.description.replace(disabled_pairs=(("wall", "hand"),))


#: The shape of MoveIt's files for the Panda: groups by chain, by joints and of groups, an end effector with its parent.
PANDA = """<robot name="panda">
<group name="panda_arm"><chain base_link="panda_link0" tip_link="panda_link8"/></group>
<group name="hand"><link name="panda_hand"/><link name="panda_leftfinger"/><link name="panda_rightfinger"/>
<joint name="panda_finger_joint1"/><passive_joint name="panda_finger_joint2"/></group>
<group name="panda_arm_hand"><group name="panda_arm"/><group name="hand"/></group>
<group name="wrist"><joint name="panda_joint6"/><joint name="panda_joint7"/></group><group name="camera"/>
<group_state name="ready" group="panda_arm"><joint name="panda_joint4" value="-2.356"/></group_state>
<end_effector name="hand" parent_link="panda_link8" group="hand" parent_group="panda_arm"/>
<virtual_joint name="virtual_joint" type="fixed" parent_frame="world" child_link="panda_link0"/>
<disable_collisions link1="panda_hand" link2="panda_leftfinger" reason="Adjacent"/>
<disable_collisions link1="panda_link5" link2="panda_link7" reason="Default"/>
<disable_collisions link1="panda_link7" link2="gone" reason="Never"/></robot>"""


def test_a_file_beside_the_robot_is_used_and_its_groups_can_be_chosen(tmp_path: Path) -> None:
    urdf, other = tmp_path / "panda.urdf", tmp_path / "moveit.srdf"
    urdf.write_bytes(example("panda_description/urdf/panda.urdf").read_bytes())
    other.write_text(PANDA)
    with pytest.raises(ArgumentError, match=r"a group of an SRDF file, but .*panda.srdf does not exist; give srdf="):
        ch.load(urdf, check=False, group="panda_arm")
    arm = ch.load(urdf, check=False, srdf=_without_unknown(other), group="panda_arm")
    assert (arm.n, arm.description.tool) == (7, "panda_link8")
    other.rename(tmp_path / "panda.srdf")
    whole = ch.load(
        urdf, check=False
    )  # what the file names beyond the robot is no matter of one who did not ask for it
    assert whole.description.disabled_pairs == (("panda_hand", "panda_leftfinger"), ("panda_link5", "panda_link7"))
    tips = {"panda_arm_hand": "panda_leftfinger", "hand": "panda_leftfinger", "wrist": "panda_link7"}
    for group, count in {"panda_arm": 7, "panda_arm_hand": 8, "hand": 1, "wrist": 2}.items():
        robot = ch.load(urdf, group=group)
        assert (robot.n, robot.description.tool) == (count, tips.get(group, "panda_link8"))
        assert robot.description.disabled_pairs == whole.description.disabled_pairs
    assert ch.load(urdf, group="wrist", tool="panda_hand").description.tool == "panda_hand"
    with pytest.raises(UnknownNameError, match=r"no group 'arm'.*'?panda_arm"):
        ch.load(urdf, group="arm")
    with pytest.raises(ModelError, match="no joint of the group 'camera' moves robot 'panda'"):
        ch.load(urdf, group="camera")
    (tmp_path / "panda.srdf").write_text("<robot><group/></robot>")
    with pytest.warns(ModelWarning, match=r"the SRDF file beside the robot is not used: .*panda.srdf: .*'name'"):
        assert ch.load(urdf).n == whole.n
    with pytest.raises(ModelError, match="lacks the attribute 'name'"):
        ch.load(urdf, group="panda_arm")


def _without_unknown(path: Path) -> Path:
    """A copy of a file without the pair that names a link which the robot does not have."""
    copy = path.with_name("complete.srdf")
    lines = path.read_text().splitlines()
    copy.write_text("".join(line for line in lines if "gone" not in line) + "</robot>")
    return copy


def from_toml_text(text: str) -> list[tuple[str, str]]:
    """Disabled pairs of a robot's TOML text, read back."""
    return list(parse_toml(text).disabled_pairs)


@pytest.mark.parametrize("value", ['"hand"', '["hand"]', '[["hand"]]', "[[1, 2]]"])
def test_wrong_pairs_in_a_toml_file_are_named(value: str) -> None:
    text = PUMA_TOML.replace("[robot]", f"[robot]\ndisabled_pairs = {value}", 1)
    with pytest.raises(ModelError, match=r"\[robot\] disabled_pairs must be a list of pairs of links"):
        parse_toml(text)
