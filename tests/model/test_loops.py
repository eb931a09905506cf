"""Loops of a description: what they may be, files, changed copies, and what has no place for them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.oracles.closed_machines import MACHINES, at, delta, five_bar, four_bar

from chasles.algorithms import assembled
from chasles.base.errors import ModelError
from chasles.model import (
    Inertia,
    Loop,
    attach,
    load,
    lock_joints,
    parse_mjcf,
    parse_toml,
    renamed,
    simplified,
    sub_tree,
    to_mjcf,
    to_toml,
    to_urdf,
    with_loop,
    without,
)
from chasles.model.loop import LOOP_KINDS

FIELDS = {"rod": {"length": 0.5}, "helical": {"pitch": 0.1}}


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        *(("rod", 1), ("spherical", 3), ("planar", 3), ("universal", 4), ("cylindrical", 4)),
        *(("revolute", 5), ("prismatic", 5), ("helical", 5), ("fixed", 6)),
    ],
)
def test_a_loop_takes_what_its_joint_does_not_leave(kind: str, count: int) -> None:
    assert Loop("loop", kind, "a", "b", **FIELDS.get(kind, {})).constraint_count == count  # type: ignore[arg-type]
    assert kind in LOOP_KINDS


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"kind": "free"}, "the kind of loop 'loop' is 'free'; it must be one of revolute,"),
        ({"kind": "rod"}, "the length of loop 'loop' must be at least 1e-09 m, not 0.0"),
        ({"kind": "rod", "length": np.nan}, "the length of loop 'loop' must be finite"),
        ({"kind": "revolute", "length": 1.0}, "only a rod has a length"),
        ({"kind": "revolute", "pitch": 1.0}, "only a helical loop has a pitch"),
        ({"kind": "helical"}, "without a pitch the loop is revolute"),
        ({"kind": "universal", "second_axis": [0.0, 0.0, 1.0]}, "at a right angle"),
        ({"kind": "revolute", "axis": [0.0, 0.0, 0.0]}, "the axis of loop 'loop' must be at least 1e-09 long"),
        ({"kind": "fixed", "T_first_joint": np.zeros((4, 4))}, "T_first_joint of loop 'loop' is not a rigid motion"),
    ],
)
def test_impossible_loops_are_refused(fields: dict[str, object], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        Loop(name="loop", first="a", second="b", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"loops": [Loop("pin", "fixed", "crank", "moon")]}, "second frame 'moon' of loop 'pin' is no link or frame"),
        ({"loops": [Loop("knee", "fixed", "crank", "rocker")]}, "2 joints have the name 'knee'"),
        ({"actuated": ["moter"]}, "actuated: there is no joint ..moter.*motor"),
        ({"actuated": ["motor", "motor"]}, "actuated names 'motor' twice"),
        ({"independent": ["pin"]}, "independent: there is no joint"),
    ],
)
def test_loops_and_motors_name_what_exists(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        four_bar().replace(**changes)


def test_a_plan_can_be_edited_and_saved_and_says_how_its_loops_are_closed() -> None:
    plan = four_bar()
    assert not plan.is_assembled
    with pytest.raises(ModelError, match=r"'four-bar' is a plan: nobody has closed its loops .* chasles.Robot"):
        _ = plan.n
    for edited in (
        plan.with_gravity([0.0, 0.0, 0.0]),
        parse_toml(to_toml(plan), check=False),
        renamed(plan, prefix="x_"),
    ):
        assert not edited.is_assembled
    closed = assembled(plan)
    assert not plan.is_assembled  # it is the copy that knows
    assert (closed.n, assembled(closed)) == (1, closed)


def test_what_loops_leave_free_is_kept_until_the_mechanism_changes() -> None:
    closed = assembled(four_bar())
    heavier = closed.replace(links=[link.replace(inertia=Inertia()) for link in closed.links], gravity=[0.0, 0.0, 1.0])
    assert heavier.mobility is closed.mobility
    assert pickle.loads(pickle.dumps(closed)).mobility.independent == closed.mobility.independent
    longer = [joint.replace(T_parent_joint=at(0.21)) if joint.name == "knee" else joint for joint in closed.joints]
    changes: list[dict[str, object]] = [
        {"joints": longer}, {"loops": [closed.loops[0].replace(kind="spherical")]}, {"home": [0.9, -0.3, 1.7]},
        {"independent": ["swing"]}, {"actuated": []},
    ]  # fmt: skip
    for change in changes:
        assert not closed.replace(**change).is_assembled, change
    assert closed.replace(loops=[]).n == 3


def test_independent_velocities_need_loops() -> None:
    with pytest.raises(ModelError, match="has no loops: all are independent"):
        load("planar2r").replace(independent=["joint1"])


@pytest.mark.parametrize("name", MACHINES)
def test_files_and_pickles_keep_loops_to_the_last_bit(name: str) -> None:
    machine = MACHINES[name]()
    assert parse_toml(to_toml(machine), check=False) == machine
    assert pickle.loads(pickle.dumps(machine)) == machine


@pytest.mark.parametrize("kind", LOOP_KINDS)
def test_every_kind_goes_through_toml(kind: str) -> None:
    turned = np.eye(4)[[1, 2, 0, 3]]
    machine = with_loop(
        load("puma560"), "x", kind, "link0", "tool", T_first_joint=turned, axis=[0.6, 0.8, 0.0], **FIELDS.get(kind, {}),
        **({"second_axis": [0.0, 0.0, 1.0]} if kind == "universal" else {}),
    )  # fmt: skip
    assert parse_toml(to_toml(machine), check=False) == machine


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('[[loop]]\nname = "x"\nkind = "rod"\nfirst = "link0"\n', "number 1 'x': 'second' is missing"),
        ('[[loop]]\nname = "x"\nkind = "rope"\nfirst = "link0"\nsecond = "link1"\n', "the kind of loop 'x' is 'rope'"),
        ('[[loop]]\nname = "x"\nlenght = 1\n', "has no key 'lenght'. Did you mean 'length'"),
        ('[loop]\nname = "x"\n', "array of tables"),
    ],
)
def test_wrong_tables_are_named(table: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        parse_toml('[robot]\nname = "rod"\n[[dh]]\na = 0.5\n' + table)


def test_motors_in_files_are_lists_of_names() -> None:
    with pytest.raises(ModelError, match="actuated must be a list of names, not 'a'"):
        parse_toml('[robot]\nactuated = "a"\n[[dh]]\na = 0.5\n')


def test_a_dh_table_takes_loops() -> None:
    text = to_toml(load("planar2r"), "dh") + '[[loop]]\nname = "rod"\nkind = "rod"\nfirst = "link0"\nsecond = "tool"\n'
    held = parse_toml(text + "length = 0.3\nfirst_placement = { position = [0.75, 0.3, 0.0] }\n", check=False)
    assert str(assembled(held).mobility) == "1 degree of freedom; 1 of 1 constraints independent"


def test_formats_without_loops_refuse_them() -> None:
    for write in (to_urdf, lambda robot: to_toml(robot, "dh"), lambda robot: to_toml(robot, "screws")):
        with pytest.raises(ModelError, match="its loop 'tip' has no place there; write it as TOML"):
            write(five_bar())
    guided = with_loop(load("planar2r"), "rail", "prismatic", "link0", "tool", closed_at_home=True)
    with pytest.raises(ModelError, match="its loop 'rail' is prismatic and has no place there; write it as TOML"):
        to_mjcf(guided)


def test_copies_carry_loops_along() -> None:
    machine = five_bar()
    named = assembled(renamed(machine, prefix="left_", joints={"tip": "pin"}))
    assert (named.loops[0].name, named.loops[0].first, named.actuated[0]) == ("pin", "left_lower1", "left_motor1")
    assert named.velocity_names == ("left_motor1", "left_motor2")
    two = assembled(attach(machine, four_bar(), "ground", prefix="b_"))
    assert [loop.name for loop in two.loops] == ["tip", "b_pin"]
    assert two.velocity_names == ("motor1", "motor2", "b_motor")
    arm = assembled(attach(load("planar2r"), four_bar(), prefix="b_"))
    assert (arm.nv, arm.actuated) == (3, ("joint1", "joint2", "b_motor"))
    assert str(assembled(simplified(delta())).mobility) == str(assembled(delta()).mobility)


def test_locked_joints_leave_fewer_freedoms() -> None:
    locked = assembled(lock_joints(five_bar(), {"motor2": 0.9}))
    assert (locked.nv, locked.actuated, locked.velocity_names) == (1, ("motor1",), ("motor1",))


def test_parts_keep_whole_loops_only() -> None:
    two = attach(load("planar2r"), four_bar(), "link0", prefix="b_")
    assert assembled(sub_tree(two, "b_ground")).nv == 1
    assert without(two, "b_ground").loops == ()
    with pytest.raises(ModelError, match="loop 'tip' joins this part to the rest of the robot"):
        without(five_bar(), "upper2")


MJCF = """<mujoco><worldbody>
<body name="a"><joint name="j1" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 .2" size=".02"/>
  <body name="b" pos="0 0 .2"><joint name="j2" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .5 0 0" size=".02"/>
  <site name="tip" pos=".5 0 0"/></body></body>
<body name="c" pos=".5 0 0"><joint name="j3" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 .2" size=".02"/>
  <site name="top" pos="0 0 .2"/><body name="d" pos="0 0 .1"><joint name="j4" axis="0 1 0"/>
  <geom size=".02"/></body></body></worldbody>
<equality>%s</equality><actuator><motor joint="j1"/></actuator></mujoco>"""


@pytest.mark.parametrize(
    ("constraint", "kind"),
    [
        ('<connect name="k" body1="b" body2="c" anchor=".5 0 0"/>', "spherical"),
        ('<connect name="k" site1="tip" site2="top"/>', "spherical"),
        ('<weld name="k" body1="b" body2="d" anchor=".01 0 .02"/>', "fixed"),
    ],
)
def test_mujoco_constraints_are_loops_closed_where_mujoco_closes_them(constraint: str, kind: str) -> None:
    robot = assembled(parse_mjcf(MJCF % constraint))  # a warning would be an error
    (loop,) = robot.loops
    assert (loop.name, loop.kind, robot.actuated) == ("k", kind, ("j1",))
    assert np.allclose(robot.home, 0.0, atol=1e-12)  # MuJoCo takes anchors at qpos0
    assert robot.nv == (2 if kind == "spherical" else 1)


def test_constraints_that_are_off_or_curved_are_no_loops() -> None:
    off = parse_mjcf(MJCF % '<connect body1="b" body2="c" anchor=".5 0 0" active="false"/>')
    assert (off.loops, off.actuated) == ((), ())
    with pytest.warns(match="ignored .*equality constraints 'bent'"):
        assert parse_mjcf(MJCF % '<joint name="bent" joint1="j1" joint2="j3" polycoef="0 0 1 0 0"/>').loops == ()


def test_a_weld_to_the_world_holds_what_it_held() -> None:
    text = MJCF.replace("<worldbody>", '<worldbody><body name="f"><freejoint/><geom size=".1"/></body>')
    robot = assembled(parse_mjcf(text % '<weld body1="f"/><connect body1="b" body2="c" anchor=".5 0 0"/>'))
    assert robot.loops[0].second == "world"
    assert str(robot.mobility) == "2 degrees of freedom; 8 of 9 constraints independent"
