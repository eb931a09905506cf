"""The project's TOML file: its forms, exact round trips, and messages for what is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from chasles.base.errors import ModelError
from chasles.model import (
    Description,
    Frame,
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    from_dh,
    from_screws,
    load,
    parse_toml,
    shipped,
    to_toml,
    to_urdf,
)

TREE = """
[robot]
name = "gripper"
source = "a test"
gravity = [0.0, -9.81, 0.0]
base = { position = [0.0, 0.0, 1.0], rpy = [1.5707963268, 0.0, 0.0] }
tool = "palm"
home = [0.1]

[[link]]
name = "base"
[[link]]
name = "left"
mass = 1.5
center_of_mass = [0.0, 0.1, 0.2]
inertia = [0.1, 0.2, 0.25]
[[link]]
name = "right"
mass = 1
inertia = [[0.1, 0.01, 0.0], [0.01, 0.2, 0.0], [0.0, 0.0, 0.25]]

[[joint]]
name = "open"
kind = "prismatic"
parent = "base"
child = "left"
placement = { position = [0.1, 0.0, 0.0], rotation = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]] }
child_placement = { position = [0.0, 0.0, 0.3] }
axis = [0.0, 2.0, 0.0]
limits = { lower = -0.1, upper = inf, velocity = 2.0 }
viscous_friction = 3.0
coulomb_friction = 4.0
coulomb_velocity = 0.01
motor_inertia = 0.001
gear_ratio = 50.0
[[joint]]
name = "follow"
kind = "helical"
parent = "base"
child = "right"
pitch = 0.02
mimic = { joint = "open", ratio = -1.0, offset = 0.5 }

[[frame]]
name = "palm"
link = "base"
placement = { position = [0.0, 0.0, 0.2], rpy = [0.0, 0.0, 3.14159265359] }

[payload]
mass = 0.5
center_of_mass = [0.0, 0.0, 0.1]
"""


def test_every_field_of_the_explicit_form_is_read() -> None:
    half_turn_z, quarter_x = np.diag([-1.0, -1.0, 1.0, 1.0]), np.eye(4)
    quarter_x[1:3, 1:3] = [[0, -1], [1, 0]]
    quarter_x[2, 3] = 1.0
    half_turn_z[2, 3] = 0.2
    T = np.eye(4)
    T[:2, :2], T[0, 3] = [[0, -1], [1, 0]], 0.1
    offset = np.eye(4)
    offset[2, 3] = 0.3
    expected = Description(
        "gripper",
        links=(
            Link("base"),
            Link("left", Inertia(1.5, [0.0, 0.1, 0.2], np.diag([0.1, 0.2, 0.25]))),
            Link("right", Inertia(1.0, matrix=[[0.1, 0.01, 0.0], [0.01, 0.2, 0.0], [0.0, 0.0, 0.25]])),
        ),
        joints=(
            Joint(
                *("open", "prismatic", "base", "left", T, offset, [0.0, 1.0, 0.0]),
                limits=Limits(-0.1, math.inf, 2.0),
                viscous_friction=3.0,
                coulomb_friction=4.0,
                coulomb_velocity=0.01,
                motor_inertia=0.001,
                gear_ratio=50.0,
            ),
            Joint("follow", "helical", "base", "right", pitch=0.02, mimic=Mimic("open", -1.0, 0.5)),
        ),
        frames=(Frame("palm", "base", half_turn_z),),
        gravity=np.array([0.0, -9.81, 0.0]),
        T_world_base=quarter_x,
        tool="palm",
        home=np.array([0.1]),
        payload=Inertia(0.5, [0.0, 0.0, 0.1]),
        source="a test",
    )
    assert parse_toml(TREE) == expected
    assert parse_toml(to_toml(expected)) == expected


def test_tables_of_rows_are_those_of_the_functions() -> None:
    text = (
        '[robot]\nname = "r"\n[[{}]]\na = 0.5\nalpha = 1.5707963268\nmass = 1.0\n[[{}]]\nkind = "prismatic"\nd = 0.1\n'
    )
    rows = [{"a": 0.5, "alpha": math.pi / 2, "mass": 1.0}, {"kind": "prismatic", "d": 0.1}]
    for key, convention in (("dh", "standard"), ("modified_dh", "modified")):
        expected = from_dh(rows, convention=convention, name="r", check=False)  # type: ignore[arg-type]
        assert parse_toml(text.format(key, key), check=False) == expected


def test_screws_are_written_one_a_line() -> None:
    text = """
    [screws]
    M = [[1, 0, 0, 2], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    Slist = [[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, -1, 0], [0, 0, 0, 0, 0, 1]]
    joints = [{ limits = [-1, 1] }, {}, { limits = { velocity = 3.0 } }]
    """
    M = np.eye(4)
    M[0, 3] = 2.0
    Slist = np.array([[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, -1, 0], [0, 0, 0, 0, 0, 1]]).T
    expected = from_screws(M, Slist=Slist, joints=[{"limits": (-1, 1)}, {}, {"limits": {"velocity": 3.0}}])
    assert parse_toml(text) == expected


def test_a_frame_named_tool_replaces_the_default_one() -> None:
    text = '[[dh]]\nmass = 1.0\n[[frame]]\nname = "tool"\nlink = "link1"\nplacement = { position = [0, 0, 0.2] }\n'
    robot = parse_toml(text)
    assert [frame.name for frame in robot.frames] == ["tool"]
    assert robot.frames[0].T_link_frame[2, 3] == 0.2


@pytest.mark.parametrize("name", shipped())
def test_shipped_robots_round_trip(name: str) -> None:
    robot = load(name)
    assert parse_toml(to_toml(robot), check=False) == robot
    assert parse_toml(to_toml(robot), check=False).digest == robot.digest


finite = st.floats(-1e9, 1e9)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@st.composite
def robots(draw: st.DrawFn) -> Description:
    count = draw(st.integers(1, 4))
    labels = draw(st.lists(names, min_size=2 * count + 2, max_size=2 * count + 2, unique=True))
    seed = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    links, joints = [], []
    for index in range(count):
        vector = [draw(finite) for _ in range(3)]
        links.append(Link(labels[index], Inertia(draw(finite), vector, seed.normal(size=(3, 3)))))
        if index == 0:
            continue
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = Rotation.random(random_state=seed).as_matrix(), vector
        kind: Any = draw(st.sampled_from(["revolute", "prismatic", "helical", "fixed"]))
        lower, upper = sorted([draw(finite), draw(finite | st.just(math.inf))])
        joints.append(
            Joint(
                labels[count + index],
                kind,
                labels[draw(st.integers(0, index - 1))],
                labels[index],
                T_parent_joint=T,
                T_joint_child=T if draw(st.booleans()) else np.eye(4),
                axis=seed.normal(size=3),
                pitch=draw(finite) if kind == "helical" else 0.0,
                limits=Limits(lower, upper, draw(st.floats(0, math.inf)), abs(draw(finite))),
                viscous_friction=abs(draw(finite)),
                gear_ratio=draw(finite),
            )
        )
    return Description(draw(st.text(st.characters(exclude_categories=["Cs"]))), tuple(links), tuple(joints))


@settings(max_examples=60)
@given(robots())
def test_any_robot_round_trips_to_the_last_bit(robot: Description) -> None:
    assert parse_toml(to_toml(robot), check=False) == robot


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mass = 1.5", "mas = 1.5", r"\[\[link\]\] number 2 'left': the table has no key 'mas'. Did you mean 'mass'"),
        ("mass = 1.5", 'mass = "1.5"', r"number 2 'left': mass must be a number, not '1.5'"),
        ("mass = 1.5", "mass = true", r"link\[1\].mass must not be a truth value"),
        ("mass = 1.5", "mass = nan", r"link\[1\].mass must be finite and at most 1e\+09 in size, not nan"),
        ("mass = 1.5", "mass = inf", r"link\[1\].mass must be finite"),
        ("mass = 1.5", "mass = -1.5", "link 'left': its mass is negative"),
        ("mass = 1.5", "mass = 1e300", r"link\[1\].mass must be finite and at most"),
        (
            "inertia = [0.1, 0.2, 0.25]",
            "inertia = [0.1, 0.2]",
            r"'left': the diagonal of inertia must have shape \(3,\)",
        ),
        (
            "inertia = [0.1, 0.2, 0.25]",
            "inertia = [0.1, 0.2, true]",
            r"link\[1\].inertia\[2\] must not be a truth value",
        ),
        ('name = "left"', 'nam = "left"', "number 2: 'name' is missing"),
        ('name = "left"', "name = 3", "'name' must be text, not 3"),
        ('kind = "prismatic"', 'kind = "slide"', r"\[\[joint\]\] number 1 'open': the kind of joint 'open' is 'slide'"),
        ('kind = "prismatic"', "", "'open': 'kind' is missing"),
        ('child = "left"', 'child = "middle"', r"joint 'open' has the child link 'middle', which does not exist"),
        ("axis = [0.0, 2.0, 0.0]", "axis = [0, 0, 0]", "axis of joint 'open' must be at least 1e-09 long"),
        ("axis = [0.0, 2.0, 0.0]", 'axis = ["0", "1", "0"]', "axis of joint 'open' must be numbers"),
        ("lower = -0.1", "low = -0.1", "'open': limits has no key 'low'. Did you mean 'lower'"),
        ("lower = -0.1, upper = inf", "lower = 1, upper = 0", "'open': the lower limit 1.0 is not below"),
        ('joint = "open", ', "", "'follow': 'joint' is missing"),
        ('joint = "open", ', 'joint = "close", ', "joint 'follow' mimics the joint 'close', which does not exist"),
        ("position = [0.1, 0.0, 0.0]", "position = [0.1]", r"'open': placement: position must have shape \(3,\)"),
        ("position = [0.1, 0.0, 0.0]", "rpy = [0, 0, 0]", "placement has both rpy and rotation"),
        ("[0.0, -1.0, 0.0]", "[0.0, -2.0, 0.0]", "T_parent_joint of joint 'open' is not a rigid motion"),
        ('tool = "palm"', 'tool = "fist"', r"\[robot\]: the tool 'fist' is not the name"),
        ('tool = "palm"', "tool = 1", r"\[robot\] tool must be text"),
        ("home = [0.1]", "home = [0.1, 0.2]", r"\[robot\]: home .* must have shape \(1,\), not \(2,\)"),
        ("gravity = [0.0, -9.81, 0.0]", "gravity = 9.81", r"\[robot\]: gravity must have shape \(3,\)"),
        ("gravity", "garvity", r"\[robot\] has no key 'garvity'. Did you mean 'gravity'"),
        ("[payload]", "[load]", "the file has no key 'load'. .*Known: robot, dh"),
        ("[payload]", "[[payload]]", r"\[payload\]: the table must be a table with keys mass"),
        ("[payload]", "[screws]\n[payload]", r"exactly one of \[\[dh\]\].*not \['screws', 'link'\]"),
        ("[[frame]]", "[frame]", "'frame' must be written as an array of tables"),
        ("[robot]", "robot = 3\n[x]", "has no key 'x'"),
        ("[[link]]", "[[link", "not TOML: .*line 10"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(old: str, new: str, message: str) -> None:
    assert old in TREE
    with pytest.raises(ModelError, match="^gripper.toml: .*" + message):
        parse_toml(TREE.replace(old, new, 1) if old != "[[link]]" else TREE.replace(old, new), file="gripper.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "exactly one of .* not none"),
        ("[[dh]]\naplha = 1", "DH row 1: a row has no key 'aplha'. Did you mean 'alpha'"),
        ("[dh]\na = 1", "'dh' must be written as an array of tables"),
        ("[[dh]]\na = 1\n[[joint]]\nname = 'j'", r"\[\[joint\]\] goes with \[\[link\]\]"),
        ("[screws]\nSlist = [[0, 0, 1]]", r"\[screws\]: Slist .* must have shape \(n, 6\), not \(1, 3\)"),
        ("[screws]\nSlist = 3", r"\[screws\]: Slist"),
        ("[screws]\nBlist = [[0, 0, 1, 0, 0, 0]]\nM = [[1, 2], [3]]", r"\[screws\]: M must be numbers of shape"),
        (
            "[screws]\nBlist = [[0, 0, 1, 0, 0, 0]]\nMlist = [[1, 2], [3]]",
            r"\[screws\]: Mlist of 1 joints must be numbers of shape \(2, 4, 4\)",
        ),
        ("[screws]\nS = 3", r"\[screws\] has no key 'S'"),
        ("x = " + "[" * 100_000, "not TOML: nested too deep|not TOML: "),
        ("x = " + "1" * 10_000, "not TOML: "),
    ],
)
def test_bad_short_forms_are_refused(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        parse_toml(text)


def test_text_that_is_not_utf8_is_refused(write: Callable[[str, str | bytes], Path]) -> None:
    with pytest.raises(ModelError, match=r"bad.toml: not UTF-8 text: .* at byte 0"):
        load(write("bad.toml", b"\xff\xfe\x00"))


@pytest.mark.parametrize("suffix", ["toml", "urdf"])
def test_the_mark_and_line_ends_of_other_editors_are_read(
    suffix: str, write: Callable[[str, str | bytes], Path]
) -> None:
    text = (to_toml if suffix == "toml" else to_urdf)(load("planar2r"))
    marked = load(write(f"arm.{suffix}", b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()))
    assert marked == load(write(f"arm.{suffix}", text))
