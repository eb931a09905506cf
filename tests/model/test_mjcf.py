"""MJCF: what is taken, what is left out and said, and what is refused. The numbers: tests/interop/test_mujoco.py."""

from __future__ import annotations

import builtins
import math
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from tests.cpu_time import cpu_time_limit

from chasles.base.errors import MissingExtraError, ModelError
from chasles.model import MjcfWarning, from_mjcf, load, parse_mjcf
from chasles.model.formats.mujoco_warnings import kept_warnings

Write = Callable[[str, str | bytes], Path]
ARM = """<mujoco model="arm">
  <option gravity="0 0 -1.62"/>
  <worldbody>
    <site name="origin"/>
    <body name="column" pos="0 0 0.5">
      <geom size="0.1"/>
      <body name="arm" pos="0 0 0.2">
        <joint name="turn" axis="0 0 2" range="-90 120" armature="0.02" damping="0.3" frictionloss="0.4"/>
        <geom type="box" size="0.2 0.1 0.1" pos="0.2 0 0" mass="3"/>
        <site name="arm" pos="0.4 0 0" euler="0 90 0"/>
        <body name="cart" pos="0.4 0 0">
          <joint name="drive" type="slide" axis="1 0 0" actuatorfrcrange="-7 7" actuatorfrclimited="true"/>
          <joint name="swing" axis="0 1 0" pos="0.05 0 0"/>
          <geom size="0.05"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="m" joint="turn" gear="10" ctrlrange="-2 2" ctrllimited="true"/>
    <motor joint="drive" gear="2" forcerange="-3 3" forcelimited="true"/>
  </actuator>
  <keyframe><key name="ready" qpos="9 9 9"/><key name="home" qpos="0.5 0.1 -0.2"/></keyframe>
</mujoco>"""


def test_all_that_counts_is_read() -> None:
    robot = parse_mjcf(ARM)
    assert (robot.name, robot.root, robot.gravity.tolist()) == ("arm", "world", [0, 0, -1.62])
    assert robot.link_names == ("world", "column", "arm", "drive", "cart")
    assert [(joint.name, joint.kind, joint.parent, joint.child) for joint in robot.joints] == [
        ("column_fixed", "fixed", "world", "column"),
        ("turn", "revolute", "column", "arm"),
        ("drive", "prismatic", "arm", "drive"),
        ("swing", "continuous", "drive", "cart"),
    ]
    turn, drive, swing = robot.joints[1:]
    assert (turn.limits.lower, turn.limits.upper) == (pytest.approx(-math.pi / 2), pytest.approx(2 * math.pi / 3))
    assert (turn.motor_inertia, turn.gear_ratio, turn.viscous_friction, turn.coulomb_friction) == (0.02, 1, 0.3, 0.4)
    assert turn.axis.tolist() == [0, 0, 1]
    assert (turn.limits.effort, drive.limits.effort, swing.limits.effort) == (20, 6, math.inf)
    assert drive.limits.lower == -math.inf
    assert swing.T_parent_joint[:3, 3].tolist() == [0.05, 0, 0]
    assert robot.link("drive").inertia.is_massless
    assert robot.link("arm").inertia.mass == 3
    assert robot.link("arm").inertia.center_of_mass.tolist() == [0.2, 0, 0]
    # A box of half lengths a, b, c: m (b² + c²) / 3 about x.
    np.testing.assert_allclose(np.diag(robot.link("arm").inertia.matrix), [0.02, 0.05, 0.05], rtol=1e-14)
    assert [(frame.name, frame.link) for frame in robot.frames] == [("origin", "world"), ("arm_site", "arm")]
    assert robot.frames[1].T_link_frame[:3, :3].tolist() == [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]
    assert robot.home.tolist() == [0.5, 0.1, -0.2]
    assert parse_mjcf(ARM, tool="arm_site").tool == "arm_site"


def test_load_tells_mjcf_and_urdf_apart_by_their_content(write: Write) -> None:
    assert load(write("arm.xml", ARM)) == from_mjcf(write("arm.mjcf", ARM)) == parse_mjcf(ARM)
    urdf = '<?xml version="1.0"?>\n<!-- a stone --><robot name="stone"><link name="rock"/></robot>'
    assert load(write("stone.xml", urdf)).root == "rock"
    sdf = '<sdf version="1.7"><model name="stone"><link name="rock"/></model></sdf>'
    assert load(write("stone2.xml", sdf)).root == "rock"
    with pytest.raises(ModelError, match=r"other.xml: the root element is <kml>; <robot> \(URDF\), <mujoco> \(MJCF\)"):
        load(write("other.xml", "<kml/>"))
    with pytest.raises(ModelError, match=r"arm.mjcf: the root element is <robot> 'stone' in line 2, not <mujoco>"):
        from_mjcf(write("arm.mjcf", urdf))


def test_what_starts_where() -> None:
    text = """<mujoco><worldbody><body name="stone" pos="1 2 3" quat="0 1 0 0"><freejoint/><geom size="0.1"/></body>
    <body><joint type="ball"/><geom size="0.1"/></body><body><joint type="slide" ref="0.5"/><geom size="0.1"/></body>
    </worldbody></mujoco>"""
    robot = parse_mjcf(text)
    assert robot.link_names == ("world", "stone", "body2", "body3")
    assert [joint.name for joint in robot.joints] == ["joint1", "joint2", "joint3"]
    assert robot.home.tolist() == [0, 1, 0, 0, 1, 2, 3, 1, 0, 0, 0, 0.5]


def test_without_gravity() -> None:
    text = ARM.replace('<option gravity="0 0 -1.62"/>', '<option><flag gravity="disable"/></option>')
    assert parse_mjcf(text).gravity.tolist() == [0, 0, 0]


BODY = (
    '<mujoco model="m"><worldbody><body name="b" {body}><joint name="j" {joint}/><geom name="g" size="0.1"/>'
    '<site name="s"/></body><body name="c"><joint name="k"/><geom size="0.1"/></body></worldbody>{more}</mujoco>'
)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"joint": 'stiffness="5"'}, "springs of the joints 'j'"),
        ({"joint": 'type="ball" range="0 1" limited="true"'}, "ranges of the ball joints 'j'"),
        ({"joint": 'type="free" armature="1"'}, "armature and friction of the free joints 'j'"),
        ({"body": 'gravcomp="1"'}, "gravity compensation of the bodies 'b'"),
        ({"more": '<option density="1000"/>'}, "the medium around it"),
        (
            {"more": '<tendon><fixed name="t" stiffness="3"><joint joint="j" coef="1"/></fixed></tendon>'},
            "the tendons 't'",
        ),
        ({"more": '<actuator><position name="servo" joint="j" kp="5"/></actuator>'}, "actuators .* 'servo'"),
        (
            {"more": '<equality><joint joint1="j" joint2="k" polycoef="0 1 2 0 0"/></equality>'},
            "the equality constraints 'number 1'",
        ),
    ],
)
def test_what_is_left_out_is_said_once(parts: dict[str, str], said: str) -> None:
    text = BODY.format(**({"body": "", "joint": "", "more": ""} | parts))
    with pytest.warns(MjcfWarning, match=rf"robot 'm': ignored \(not supported\): .*{said}") as caught:
        parse_mjcf(text)
    assert len(caught) == 1
    assert Path(caught[0].filename) == Path(__file__)


def test_what_has_no_effect_is_not_said() -> None:
    more = """<option density="0"/><contact><exclude body1="b" body2="c"/></contact>
    <tendon><fixed><joint joint="j" coef="1"/></fixed></tendon><actuator><motor joint="j"/></actuator>
    <equality><weld body1="b" body2="c" active="false"/></equality><sensor><jointpos joint="j"/></sensor>"""
    parse_mjcf(BODY.format(body="", joint="", more=more))


def test_joints_that_would_follow_in_a_circle_or_twice() -> None:
    more = """<equality><joint joint1="j" joint2="k" polycoef="0 2 0 0 0"/>
    <joint name="back" joint1="k" joint2="j" polycoef="0 2 0 0 0"/></equality>"""
    with pytest.warns(MjcfWarning, match="the equality constraints 'back'"):
        robot = parse_mjcf(BODY.format(body="", joint="", more=more))
    assert robot.joint_names == ("k",)
    assert robot.mimics["j"] == ("k", 2.0, 0.0)


def test_included_files_are_those_of_the_folder(write: Write, tmp_path: Path) -> None:
    inner = '<mujoco><body name="b"><include file="joint.xml"/><geom size="0.1"/></body></mujoco>'
    outer = '<mujoco><worldbody><include file="parts/body.xml"/></worldbody></mujoco>'
    (tmp_path / "parts").mkdir()
    write("parts/body.xml", inner)
    write("joint.xml", '<mujocoinclude><joint name="j"/></mujocoinclude>')
    assert from_mjcf(write("robot.xml", outer)).joint_names == ("j",)
    with pytest.raises(ModelError, match=r"cannot use the file 'parts/body.xml'; load the model as a file"):
        parse_mjcf(outer)
    for name in ("../secret.xml", "/etc/passwd", "parts/../../x.xml"):
        path = write("robot.xml", f'<mujoco><include file="{name}"/></mujoco>')
        with pytest.raises(ModelError, match=r"robot.xml: <include> in line 1: the file .* is outside the folder"):
            from_mjcf(path)
    link = tmp_path / "link.xml"
    link.symlink_to("/etc/passwd")
    with pytest.raises(ModelError, match="is outside the folder"):
        from_mjcf(write("robot.xml", '<mujoco><include file="link.xml"/></mujoco>'))
    beside = tmp_path / "beside"
    beside.mkdir()
    trusting = beside / "robot.xml"
    trusting.write_text(
        '<mujoco><worldbody><body><include file="../joint.xml"/><geom size="1"/></body></worldbody></mujoco>'
    )
    with pytest.raises(ModelError, match="load it with trust=True"):
        load(trusting)
    assert load(trusting, trust=True).joint_names == ("j",)
    with pytest.raises(ModelError, match=r"<include> in line 1: .*missing.xml: cannot be read: No such file"):
        from_mjcf(write("robot.xml", '<mujoco><include file="missing.xml"/></mujoco>'))
    with pytest.raises(ModelError, match=r"the file 'robot.xml' is included twice"):
        from_mjcf(write("robot.xml", '<mujoco><include file="robot.xml"/></mujoco>'))


MESHES = """<mujoco><compiler meshdir="meshes" {compiler}/>
  <asset><mesh name="shell" file="shell.stl" scale="0.5 0.5 0.5"/><texture name="t" type="2d" file="wood.png"/>
    <material name="m" texture="t"/><hfield name="h" file="hills.png" size="1 1 1 1"/></asset>
  <worldbody><geom type="hfield" hfield="h" contype="0" conaffinity="0"/><body name="b">{inertial}<joint/>
    <geom type="mesh" mesh="shell" material="m"/></body></worldbody></mujoco>"""
INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'


def test_meshes_are_opened_only_if_inertias_come_from_them(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("robot.xml", MESHES.format(inertial=INERTIAL, compiler=""))
    opened: list[str] = []
    original = builtins.open
    monkeypatch.setattr(builtins, "open", lambda file, *a, **kw: opened.append(str(file)) or original(file, *a, **kw))
    assert from_mjcf(path).link("b").inertia.mass == 1
    assert set(opened) == {str(path)}


def test_a_missing_mesh_that_is_needed_is_named(write: Write, tmp_path: Path) -> None:
    path = write("robot.xml", MESHES.format(inertial="", compiler=""))
    message = r"the inertia of body 'b' comes from meshes, but mesh 'shell': .*shell.stl: cannot be read: No such file"
    with pytest.raises(ModelError, match=message):
        from_mjcf(path)
    path = write("robot.xml", MESHES.format(inertial=INERTIAL, compiler='inertiafromgeom="true"'))
    with pytest.raises(ModelError, match=message):
        from_mjcf(path)
    (tmp_path / "meshes").mkdir()
    corners = np.array([[0, 0, 0], [0.6, 0, 0], [0, 0.6, 0], [0, 0, 0.6]])
    faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    triangles = np.zeros(4, dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    triangles["corners"] = corners[faces]
    write("meshes/shell.stl", bytes(80) + np.uint32(4).tobytes() + triangles.tobytes())
    # A corner of a cube with edges of 0.3 m, as scaled, of water.
    assert from_mjcf(path).link("b").inertia.mass == pytest.approx(1000 * 0.3**3 / 6, rel=1e-6)
    outside = MESHES.format(inertial="", compiler="").replace("shell.stl", "../../shell.stl")
    with pytest.raises(ModelError, match=r"mesh 'shell': its file: .* is outside the folder of the model"):
        from_mjcf(write("robot.xml", outside))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not well-formed XML"),
        ("<mujoco><worldbody>", "not well-formed XML"),
        ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><mujoco model="&x;"/>', "entity declarations"),
        (
            "<mujoco><worldbody>\n<body><joint axis='0 0'/></body></worldbody></mujoco>",
            "does not have enough data.*line 2",
        ),
        ("<mujoco><worldbody><body><joint axis='0 0 0'/></body></worldbody></mujoco>", "MuJoCo cannot compile it"),
        ("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", "mass and inertia of moving bodies"),
        ("<mujoco><worldbody><body mass='1'/></worldbody></mujoco>", "unrecognized attribute"),
        ("<mujoco><worldbody><frog/></worldbody></mujoco>", "unrecognized element"),
        (
            '<mujoco><worldbody><replicate count="1000000000" euler="0 0 1"><body/></replicate></worldbody></mujoco>',
            "the model has more than 20000 elements",
        ),
        (
            "<mujoco><worldbody>"
            + '<replicate count="60">' * 5
            + "<site/>"
            + "</replicate>" * 5
            + "</worldbody></mujoco>",
            "the model has more than 20000 elements",
        ),
        ('<mujoco><replicate count="nan"/></mujoco>', "must be finite"),
        (
            '<mujoco><worldbody><flexcomp name="f" type="grid"/></worldbody></mujoco>',
            "flexible bodies are not supported",
        ),
        ('<mujoco><worldbody><composite type="cable"/></worldbody></mujoco>', "composite objects are not supported"),
        ('<mujoco><extension><plugin plugin="x"/></extension></mujoco>', "plugins are not supported"),
        ('<mujoco><asset><model name="m" file="/etc/passwd"/></asset></mujoco>', "attached models are not supported"),
        ('<mujoco><worldbody><geom fileleft="/etc/passwd"/></worldbody></mujoco>', "files are not read here"),
        ("<mujoco><asset><mesh name='m' vertex='0 0 0'/></asset></mujoco>", "MuJoCo cannot compile it"),
    ],
)
def test_bad_models_end_quickly_in_an_error_with_the_reason(text: str, message: str) -> None:
    with cpu_time_limit(1.0), pytest.raises(ModelError, match=f"^bad.xml: (.|\n)*{message}") as caught:
        parse_mjcf(text, file="bad.xml")
    assert len(str(caught.value)) < 1000


@pytest.mark.filterwarnings("ignore::chasles.model.InertiaWarning")
@pytest.mark.parametrize("number", ["nan", "inf", "1e400", "-nan", "NaN(1)"])
def test_numbers_that_are_none(number: str) -> None:
    for text in (ARM.replace("0 0 -1.62", f"0 0 {number}"), ARM.replace('pos="0 0 0.2"', f'pos="0 0 {number}"')):
        with pytest.raises(ModelError):
            parse_mjcf(text)


def test_numbers_too_large_are_named() -> None:
    for old, new, message in [
        ('mass="3"', 'mass="3e9"', r"body 'arm': mass must be finite and at most 1e\+09 in size, not 3000000000.0"),
        ('size="0.2 0.1 0.1"', 'size="1e6 0.1 0.1"', r"body 'arm': inertia matrix must be finite .* \[1, 1\] is 1"),
        ('pos="0 0 0.2"', 'pos="0 0 2e10"', "T_parent_joint of joint 'turn' must be finite and at most"),
        ('armature="0.02"', 'armature="2e300"', "the motor_inertia of joint 'turn' must be finite and at most"),
        ('<site name="origin"/>', '<site name="origin" pos="1e150 0 0"/>', "of frame 'origin' must be finite"),
        ("0.5 0.1 -0.2", "0.5 1e300 -0.2", r"home .* must be finite .*, but element \[1\] is 1e\+300"),
    ]:
        assert old in ARM
        with pytest.raises(ModelError, match=f"^arm.xml: .*{message}"):
            parse_mjcf(ARM.replace(old, new), file="arm.xml")


TWICE = "<mujoco><worldbody><body><joint/><joint/><geom size='0.1'/></body></worldbody></mujoco>"


def test_warnings_of_mujoco_are_given_as_ours_and_leave_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.warns(MjcfWarning, match="robot 'robot': MuJoCo warns: Inertia matrix is too close to singular"):
        parse_mjcf(TWICE)
    assert os.listdir(tmp_path) == []
    assert capfd.readouterr().err == ""
    assert mujoco.get_mju_user_warning() is None


def test_handlers_of_the_user_stay_and_hear_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    model = mujoco.MjModel.from_xml_string(MOVING)
    mujoco.set_mju_user_warning(heard.append)
    try:
        with kept_warnings() as kept:
            thread = threading.Thread(target=diverge, args=(model,))
            thread.start()
            thread.join()
            assert kept == []
            diverge(model)
        assert len(heard) == len(kept) == 1
        assert mujoco.get_mju_user_warning() == heard.append
    finally:
        mujoco.set_mju_user_warning(None)


MOVING = "<mujoco><worldbody><body><joint/><geom size='0.1'/></body></worldbody></mujoco>"


def diverge(model: Any) -> None:
    """Make MuJoCo warn of a NaN."""
    data = mujoco.MjData(model)
    data.qvel[0] = math.nan
    mujoco.mj_step(model, data)


def test_models_compile_in_many_threads_without_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(record=True) as caught, ThreadPoolExecutor(4) as pool:
        warnings.simplefilter("always")
        robots = list(pool.map(parse_mjcf, [TWICE] * 20))
    assert len(robots) == len(caught) == 20
    assert os.listdir(tmp_path) == []
    assert mujoco.get_mju_user_warning() is None


FORKED = """
import os
from chasles.model import parse_mjcf
from chasles.model.formats import mujoco_warnings
parse_mjcf(MODEL)
mujoco_warnings._lock.acquire()  # as another thread does that starts to compile
child = os.fork()
if child == 0:
    parse_mjcf(MODEL)
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_process_forked_while_a_model_compiles_can_compile_another() -> None:
    script = FORKED.replace("MODEL", repr(MOVING))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.stdout.split(), done.returncode) == (["7"], 0), done.stderr


def test_what_would_fill_the_memory_is_left_out() -> None:
    more = """<size memory="900G" nuserdata="1000000000"/><custom><numeric name="n" size="1000000000"/></custom>
    <asset><texture name="t" type="2d" builtin="flat" width="100000" height="100000"/><material name="m" texture="t"/>
    <hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>"""
    with cpu_time_limit(1.0):
        parse_mjcf(BODY.format(body="", joint="", more=more))


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(
        MissingExtraError, match=r"reading MJCF needs the package 'mujoco'; type pip install \"\.\[mujoco\]\""
    ):
        parse_mjcf(ARM)


def test_impossible_inertias_are_refused() -> None:
    impossible = ARM.replace(
        '<geom type="box" size="0.2 0.1 0.1" pos="0.2 0 0" mass="3"/>', INERTIAL.replace("1 1 1", "1 1 3")
    )
    with pytest.raises(ModelError, match=r"inertia must satisfy A \+ B >= C"):
        parse_mjcf(impossible)
    lenient = impossible.replace("<option", '<compiler balanceinertia="true"/><option')
    assert parse_mjcf(lenient).link("arm").inertia.matrix.diagonal().tolist() == pytest.approx([5 / 3] * 3)


@pytest.mark.parametrize("number", ["nan", "-NaN"])
@pytest.mark.parametrize(("attribute", "value"), [("mass", "3"), ("damping", "0.3"), ("range", "-90 120")])
def test_a_number_that_is_none_is_not_taken_for_one_that_is_not_given(attribute: str, value: str, number: str) -> None:
    """MuJoCo would put the default, or the mass of the geometry, in its place."""
    with pytest.raises(ModelError, match=f"{attribute}=.* must be finite"):
        parse_mjcf(ARM.replace(f'{attribute}="{value}"', f'{attribute}="{number}"'))


def test_elements_may_be_called_nan() -> None:
    assert "nan" in parse_mjcf(ARM.replace('name="column"', 'name="nan"')).link_names
