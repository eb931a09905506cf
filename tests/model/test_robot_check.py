"""Probable mistakes in robots' files: found with code, line and value, said once at load, and no false alarms."""

from __future__ import annotations

import math
import sysconfig
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.oracles.example_robots import example_files

import chasles as ch
from chasles.base.errors import ModelError, UnknownNameError
from chasles.base.findings import of_weight
from chasles.model import Description, Inertia, Joint, Link, ModelWarning, load, shipped
from chasles.model.formats.urdf_findings import element_findings
from chasles.model.formats.xml import parse_xml
from chasles.model.plausibility import density, implausible
from chasles.model.robot_check import RobotCheck, check_file

#: A sound arm: 2 kg of a rod of 0.4 m, 1 kg of one of 0.3 m.
ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 0.2"/><mass value="2"/>
    <inertia ixx="0.027" iyy="0.027" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0 0 0.15"/><mass value="1"/>
    <inertia ixx="0.0078" iyy="0.0078" izz="0.0005" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 0.3" rpy="1.5707963267948966 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="50" velocity="2"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
    <limit lower="-2.5" upper="2.5" effort="20" velocity="3"/></joint>
</robot>
"""
Write = Callable[[str, str | bytes], Path]


def codes(found: RobotCheck) -> list[str]:
    return [finding.rule.code for finding in found.findings]


def test_a_sound_file_has_no_findings(write: Write) -> None:
    path = write("arm.urdf", ARM)
    assert check_file(path).findings == ()
    assert ch.check(path).ok
    assert ch.check(str(path)) == check_file(str(path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(path)


CAUTIONS = [
    ('lower="-2.5" upper="2.5"', 'lower="-180" upper="180"', "limit-in-degrees", 10, 180.0),
    ('xyz="0 0 0.4"', 'xyz="0 0 400"', "length-in-millimetres", 10, 400.0),
    ('rpy="1.5707963267948966 0 0"', 'rpy="90 0 0"', "angle-in-degrees", 8, 90.0),
    ('<mass value="2"/>', '<mass value="2500"/>', "mass-in-grams", 3, 2500.0),
    ('ixx="0.0078" iyy="0.0078" izz="0.0005"', 'ixx="1e4" iyy="1e4" izz="1e4"', "inertia-too-large", 5, 122.474487),
    ('ixx="0.0078" iyy="0.0078" izz="0.0005"', 'ixx="9" iyy="9" izz="9"', "inertia-too-large", 5, None),
    ('<limit lower="-2.5" upper="2.5" effort="20" velocity="3"/>', "", "missing-limit", 10, None),
    ('effort="20"', 'efort="20"', "misspelt-attribute", 12, None),
    ('<link name="base"/>', '<link name="base"/><Link name="cam"/>', "misspelt-tag", 2, None),
    ('"0 0 0.4"/><axis xyz="0 1 0"/>', '"0 0 0.4"/><axs xyz="0 1 0"/>', "misspelt-tag", 11, None),
    ('xyz="0 0 0.15"', 'xyz="0 0 150"', "length-in-millimetres", 5, 150.0),
    ('izz="0.0005"', 'izz="0.02"', "impossible-body", 5, None),
    ('lower="-2.5" upper="2.5"', 'lower="0" upper="0"', "limits-without-range", 10, 0.0),
]


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "value"), CAUTIONS, ids=[f"{case[2]}-{case[3]}" for case in CAUTIONS]
)
def test_probable_mistakes_are_cautions_and_one_line_at_load(
    old: str, new: str, code: str, line: int, value: float | None, write: Write
) -> None:
    assert ARM.count(old) == 1
    path = write("arm.urdf", ARM.replace(old, new))
    found = check_file(path)
    assert not found.ok
    (finding,) = (finding for finding in of_weight(found.findings, "caution") if finding.rule.code == code)
    assert finding.record["line"] == line
    assert finding.rule.because
    if value is not None:
        assert finding.value == pytest.approx(value)
    with pytest.warns(ModelWarning, match="robot 'arm': ") as caught:
        load(path)
    assert [Path(warning.filename).name for warning in caught] == ["test_robot_check.py"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(path, check=False)


NOTES = [
    ('rpy="1.5707963267948966 0 0"', 'rpy="1.57 0 -3.14"', "rounded-right-angle"),
    ('<axis xyz="0 1 0"/>\n    <limit lower="-3"', '<axis xyz="0 1 1"/>\n    <limit lower="-3"', "axis-not-unit"),
    (' velocity="3"', "", "missing-bound"),
    ('effort="20"', 'effort="0"', "limit-of-zero"),
    ('effort="20"', 'effort="20" color="red"', "unknown-attribute"),
    ('<link name="base"/>', '<link name="base"/><camera/>', "unknown-tag"),
    ('<mass value="1"/>\n    <inertia ixx="0.0078" iyy="0.0078" izz="0.0005"',
     '<mass value="0"/>\n    <inertia ixx="0" iyy="0" izz="0"', "massless-body"),
    ('ixx="0.0078" iyy="0.0078" izz="0.0005"', 'ixx="1e-6" iyy="1e-6" izz="1e-6"', "link-too-dense"),
    ('<link name="base"/>', '<link name="base"><visual><geometry><mesh filename="a.stl"/></geometry></visual></link>',
     "missing-mesh"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "code"), NOTES, ids=[case[2] for case in NOTES])
def test_what_is_worth_a_look_is_a_note(old: str, new: str, code: str, write: Write) -> None:
    assert ARM.count(old) == 1
    found = check_file(write("arm.urdf", ARM.replace(old, new)))
    assert code in codes(found)
    assert found.ok


def test_limits_of_continuous_joints_are_ignored_and_noted(write: Write) -> None:
    found = check_file(write("arm.urdf", ARM.replace('name="elbow" type="revolute"', 'name="elbow" type="continuous"')))
    assert codes(found) == ["ignored-limit"]


def test_all_masses_in_grams(write: Write) -> None:
    """Masses of 2000 g and 1000 g are no more than machines have, but with these inertias denser than osmium."""
    text = ARM.replace('"2"/>\n', '"2000"/>\n').replace('"1"/>\n', '"1000"/>\n')
    found = check_file(write("arm.urdf", text))
    assert codes(found) == ["masses-too-dense", "link-too-dense", "link-too-dense"]
    assert not found.ok


def test_a_mesh_in_millimetres(write: Write) -> None:
    write("hand.stl", "solid h\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 300 0 0\nvertex 0 90 0\nendloop\n"
          "endfacet\nendsolid h\n")  # fmt: skip
    shape = '<link name="base"><visual><geometry><mesh filename="hand.stl"{}/></geometry></visual></link>'
    (large,) = check_file(write("a.urdf", ARM.replace('<link name="base"/>', shape.format("")))).findings
    assert (large.rule.code, large.value, large.record["line"]) == ("mesh-in-millimetres", 300.0, 2)
    scaled = shape.format(' scale="0.001 0.001 0.001"')
    assert check_file(write("b.urdf", ARM.replace('<link name="base"/>', scaled))).findings == ()


@pytest.mark.parametrize(("tag", "close"), [("jiont", "joint"), ("Joint", "joint"), ("joints", "joint")])
def test_a_misspelt_tag_is_named_by_the_error_that_it_causes(tag: str, close: str, write: Write) -> None:
    start = ARM.index('<joint name="elbow"')
    text = ARM[:start] + ARM[start:].replace("<joint ", f"<{tag} ").replace("</joint>", f"</{tag}>")
    path = write("arm.urdf", text)
    with pytest.raises(ModelError, match=rf"'lower'.*<{tag}> 'elbow' in line 10: .*Did you mean <{close}>\?"):
        load(path)
    found = check_file(path)
    assert codes(found) == ["refused", "misspelt-tag"]
    assert str(found).startswith(f"{path}: 1 refusal, 1 caution\n")


def test_other_formats_and_robots_from_python(write: Write) -> None:
    links = '[[link]]\nname = "a"\n[[link]]\nname = "b"\nmass = 3000.0\ninertia = [9, 9, 9]\n'
    joint = '[[joint]]\nname = "j"\nkind = "revolute"\nparent = "a"\nchild = "b"\nlimits = [-90, 90]\n'
    path = write("robot.toml", f'[robot]\nname = "r"\n{links}{joint}')
    expected = ["limit-in-degrees", "mass-in-grams", "masses-too-dense", "link-too-dense"]
    assert codes(check_file(path)) == expected
    with pytest.warns(ModelWarning, match=r"robot 'r': 3 probable mistakes, the first \(.*\): joint 'j'"):
        robot = ch.load(path)
    assert ch.check(robot) == ch.check(robot.description)
    assert codes(ch.check(robot)) == expected


def test_files_that_do_not_exist() -> None:
    with pytest.raises(ModelError, match="cannot be read: No such file"):
        check_file("nothere.urdf")
    with pytest.raises(UnknownNameError, match="Did you mean 'panda'"):
        check_file("pandaa")


def test_the_report_is_short_in_a_console_and_whole_when_printed(write: Write) -> None:
    found = check_file(write("arm.urdf", ARM.replace('xyz="0 0 0.4"', 'xyz="0 0 400"')))
    assert repr(found).endswith("1 caution>")
    assert str(found).splitlines()[1].startswith("caution  length-in-millimetres  joint 'elbow' in line 10: ")


def box(mass: float, size: np.ndarray, R: np.ndarray) -> Inertia:
    squares = size**2
    return Inertia(mass, matrix=R @ np.diag(mass / 12.0 * (squares.sum() - squares)) @ R.T)


def test_density_is_that_of_the_ellipsoid_and_a_bound_for_all_bodies() -> None:
    """Uniform boxes of density 1000 are pi/6 (12/5)^(3/2) times denser than their ellipsoids, whatever their shape."""
    rng = np.random.default_rng(1)
    ratio = 1.0 / (4.0 / 3.0 * math.pi * 5.0**1.5 / 12.0**1.5)
    for _ in range(20):
        size = rng.uniform(0.01, 1.0, 3)
        found = density(box(1000.0 * size.prod(), size, Rotation.random(random_state=rng).as_matrix()))
        assert found == pytest.approx(1000.0 * ratio, rel=1e-9)
        assert found <= 1000.0
    for radii in rng.uniform(0.01, 1.0, (20, 3)):
        mass = 700.0 * 4.0 / 3.0 * math.pi * radii.prod()
        matrix = np.diag(mass / 5.0 * (np.sum(radii**2) - radii**2))
        assert density(Inertia(mass, matrix=matrix)) == pytest.approx(700.0, rel=1e-12)
    assert density(Inertia(1.0)) is None


def test_large_and_flat_bodies_are_possible() -> None:
    """A steel ball of 1 m and a door that is flat to the last digit."""
    ball = Inertia(32_000.0, matrix=np.eye(3) * 0.4 * 32_000.0)
    door = Inertia(20.0, [0.4, 0.0, 0.0], np.diag([0.1, 1.2, 1.1]))
    hinge = Joint("hinge", "continuous", "ball", "door")
    assert implausible(Description("r", (Link("ball", ball), Link("door", door)), (hinge,))) == []


def test_size_is_not_asked_where_nothing_tells_it() -> None:
    """A wheel on a long axle, known only by its mass: nothing says how large the robot is."""
    wheel = Link("wheel", Inertia(5.0, matrix=np.diag([0.5, 0.5, 1.0])))
    hinge = Joint("hinge", "continuous", "stand", "wheel")
    assert implausible(Description("w", (Link("stand"), wheel), (hinge,))) == []


@pytest.mark.parametrize("name", shipped())
def test_shipped_robots_have_no_mistakes_but_those_of_their_sources(name: str) -> None:
    found = {finding.rule.code for finding in of_weight(check_file(name).findings, "caution")}
    assert found <= {"impossible-body"}, check_file(name)


#: Files with cautions, all of them true: bodies that no machine has.
TRUE_CAUTIONS = {
    "double_pendulum_simple.urdf": {"inertia-too-large"},  # 0.1 kg with 1 kg·m²
}


def model_files() -> list[Path]:
    """URDF files of example-robot-data, and model files of all other packages that are installed."""
    packages = Path(sysconfig.get_path("purelib"))
    others = [path for ending in ("urdf", "sdf") for path in packages.rglob(f"*.{ending}")]
    return sorted({path.resolve() for path in (*example_files(), *others)})


def cautions(path: Path) -> set[str]:
    text = path.read_bytes()
    try:
        found = list(element_findings(parse_xml(text))) if path.suffix == ".urdf" else []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found += implausible(load(path, check=False))
    except ModelError:
        return set()
    return {finding.rule.code for finding in of_weight(found, "caution")}


@pytest.mark.slow
def test_no_false_alarm_in_any_file_of_the_environment() -> None:
    files = model_files()
    assert len(files) > 60
    alarms = {path.name: found for path in files if (found := cautions(path))}
    assert alarms == TRUE_CAUTIONS
