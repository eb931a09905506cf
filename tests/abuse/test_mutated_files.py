"""Robot files mutated at random: each ends in an error of the family, or in a robot with finite mechanics.

A mutant follows from its format, a seed and its number. Other seeds than 0 for the long run:

    CHASLES_MUTATION_SEED=7 pytest tests/abuse -m slow
"""

from __future__ import annotations

import importlib
import os
import re
import warnings
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.cpu_time import cpu_time_limit

from chasles import algorithms
from chasles.base.errors import ChaslesError
from chasles.model import (
    Description,
    ModelWarning,
    Tree,
    build_tree,
    inconsistencies,
    load,
    parse_urdf,
    shipped_path,
    to_roboop,
    to_toml,
)

SEED = int(os.environ.get("CHASLES_MUTATION_SEED", "0"))
DATA = Path(__file__).parents[2] / "examples" / "spacelib" / "data"

ROVER = """<robot name="rover"><chasles tool="camera" gravity="0 0 -1.6" home="1 0 0 0 0 0 0.5 0 0 0 0.1 0.2"/>
<link name="world"/><link name="hull"><inertial><origin xyz="0.1 0 0.2" rpy="0 0.1 0"/><mass value="20"/>
<inertia ixx="1" ixy="0.1" ixz="0" iyy="1.2" iyz="0" izz="1.5"/></inertial></link>
<link name="sledge"><inertial><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>
</inertial></link><link name="mast"><inertial><mass value="1"/></inertial></link>
<link name="head"/><link name="camera"/><link name="right"/>
<link name="left"><inertial><origin xyz="0 0.1 0"/><mass value="0.2"/></inertial></link>
<joint name="base" type="floating"><parent link="world"/><child link="hull"/></joint>
<joint name="slip" type="planar"><parent link="hull"/><child link="sledge"/><axis xyz="0 0 1"/>
<chasles lower="-1 -1 -3" upper="1 1 3" velocity="2"/></joint>
<joint name="lift" type="prismatic"><parent link="hull"/><child link="mast"/><origin xyz="0 0 0.5"/><axis xyz="0 0 1"/>
<limit lower="0" upper="0.4" velocity="0.1" effort="200"/><dynamics damping="30" friction="4"/></joint>
<joint name="pan" type="revolute"><parent link="mast"/><child link="head"/><axis xyz="0 0.6 0.8"/>
<limit lower="-1.5" upper="1.5" velocity="1" effort="5"/><dynamics friction="0.2"/>
<chasles motor_inertia="1e-5" gear_ratio="50" coulomb_velocity="0.01"/></joint>
<joint name="lens" type="fixed"><parent link="head"/><child link="camera"/>
<origin xyz="0.05 0 0" rpy="0 1.570796326795 0"/></joint>
<joint name="finger" type="prismatic"><parent link="head"/><child link="left"/><axis xyz="0 1 0"/>
<mimic joint="lift" multiplier="0.5" offset="0.01"/></joint>
<joint name="other" type="continuous"><parent link="head"/><child link="right"/><mimic joint="finger" multiplier="-20"/>
</joint></robot>"""

WALKER = """<mujoco model="walker"><compiler angle="radian"/><option gravity="0 0 -9"/>
<default><joint damping="1"/><geom size="0.05"/><default class="box"><geom size="0.1 0.2 0.3" type="box"/></default>
</default><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale="0.1 0.1 0.2"/></asset>
<worldbody><site name="origin"/><body name="trunk" pos="0 0 1" euler="0.1 0 0"><freejoint name="fly"/>
<geom class="box" mass="10"/><site name="s" pos="1 2 3" quat="1 0 1 0"/>
<body name="hip"><joint name="x" type="slide" axis="1 0 0" range="-1 1" armature="0.01"/>
<joint name="y" ref="0.2" frictionloss="0.3" pos="0 0 0.1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1.5"/>
<frame euler="1 2 3"><body name="knee" pos="0 0 -0.4"><joint name="ball" type="ball"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.4"/><geom type="mesh" mesh="m" density="500"/></body></frame></body></body>
<replicate count="3" euler="0 0 1"><body name="r" pos="0.5 0 0"><joint name="j" axis="0 1 0"/>
<geom type="cylinder" size="0.1 0.2"/></body></replicate></worldbody>
<equality><joint joint1="x" joint2="y" polycoef="0.1 2 0 0 0"/></equality>
<actuator><motor joint="x" gear="2" ctrlrange="-1 1"/></actuator>
<keyframe><key name="home" qpos="1 2 3 1 0 0 0 0 0 1 0 0 0 0 0 0"/></keyframe></mujoco>"""

CRANE = """<sdf version="1.9"><model name="crane"><pose>1 2 0 0 0 0.5</pose><link name="foot"/>
<link name="tower"><pose relative_to="post">0 0 1 0 0.1 0</pose><inertial><pose>0 0 0.5 0.1 0 0</pose><mass>20</mass>
<inertia><ixx>1</ixx><ixy>0.1</ixy><iyy>1.2</iyy><izz>1.5</izz></inertia></inertial></link>
<frame name="post" attached_to="foot"><pose degrees="true">0 0 0.5 0 0 30</pose></frame>
<joint name="slew" type="revolute"><parent>foot</parent><child>tower</child><pose relative_to="post"/>
<axis><xyz expressed_in="__model__">0 0 1</xyz><limit><lower>-3</lower><upper>3</upper><effort>500</effort>
<velocity>0.5</velocity></limit><dynamics><damping>3</damping><friction>1</friction></dynamics></axis></joint>
<link name="jib"><pose>0.2 0 2 0 0 0</pose><inertial><mass>5</mass><inertia><ixx>0.5</ixx><iyy>0.6</iyy>
<izz>0.4</izz></inertia></inertial></link>
<joint name="luff" type="universal"><parent>tower</parent><child>jib</child>
<axis><xyz>0 1 0</xyz></axis><axis2><xyz>1 0 0</xyz></axis2></joint>
<link name="spindle"><inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>
</link><joint name="screw" type="screw"><parent>jib</parent><child>spindle</child>
<screw_thread_pitch>0.02</screw_thread_pitch>
<axis><xyz>0 0 1</xyz></axis></joint><link name="hook"><inertial><mass>0.5</mass><inertia><ixx>0.01</ixx><iyy>0.01</iyy>
<izz>0.01</izz></inertia></inertial></link>
<joint name="swivel" type="ball"><parent>spindle</parent><child>hook</child>
</joint><link name="drum"><pose rotation_format="quat_xyzw">0 1 0 0 0 0.6 0.8</pose><inertial><mass>2</mass><inertia>
<ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link>
<joint name="winch" type="continuous"><parent>tower</parent>
<child>drum</child><axis><xyz>1 0 0</xyz><mimic joint="slew" axis="axis"><multiplier>2</multiplier><offset>0.1</offset>
<reference>0.2</reference></mimic></axis></joint></model></sdf>"""

#: What a number may turn into: another, one at the edge of what is allowed or of what is computed, or none at all.
MILD = ["0", "-0.0", "1", "-1", "2", "0.5", "1e-3", "3.14159265358979", "-7.25", "+1", ".5", "5.", "1E1", "100"]
EDGES = [
    *("1e9", "-1e9", "1e10", "999999999", "4294967296", "1e15", "1e154", "-1e154", "1e308", "-1e308"),
    *("1e-8", "-1e-9", "1e-10", "1e-17", "1e-154", "1e-160", "-1e-300", "1e-310", "5e-324", f"0.{'0' * 400}1"),
]
NONE = [
    *("1e400", "-1e400", "inf", "-inf", "Infinity", "nan", "-NaN", "nan(7)", "１２", "٣", "∞", "½", "\u00a01"),
    *("1_000", "0x10", "0x1p9", "1e", "e5", "--1", "1,5", "1d3", "true", "-", "007", "", "1 2", "0 0 0", "9" * 400),
]
NUMBER = re.compile(r"(?<![\w.])[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(?![\w.])")


def with_other_numbers(text: str, rng: Random, values: list[str]) -> str:
    places = list(NUMBER.finditer(text))
    chosen = rng.sample(places, min(len(places), rng.choice([1, 1, 2, 8])))
    for place in sorted(chosen, key=lambda match: -match.start()):
        text = text[: place.start()] + rng.choice(values) + text[place.end() :]
    return text


def with_other_words(text: str, rng: Random) -> str:
    odd = ["", '"', "[", "]]", "= {", "\0", "#", "''", "<!--", "&amp;"]
    words = re.split(r"(\s+)", text)
    for _ in range(rng.choice([1, 2, 5])):
        place, other = rng.randrange(len(words)), rng.choice(words)
        words[place] = rng.choice([other, other, words[place] * 2, words[place][::-1], rng.choice(odd)])
    return "".join(words)


def with_damaged_bytes(text: str, rng: Random) -> bytes:
    data = bytearray(text.encode("utf-8", "replace"))
    for _ in range(rng.choice([1, 1, 3])):
        place, length = rng.randrange(len(data)), rng.choice([1, 1, 4, 40])
        kind = rng.randrange(4)
        if kind == 0:
            data[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[place : place + length]
        elif kind == 2:
            data[place:place] = data[place : place + length] * rng.choice([1, 1, 50])
        else:
            data[place:place] = rng.randbytes(length)
    return bytes(data)


def with_other_tables(text: str, rng: Random) -> str:
    """Repeat, remove and move the tables of a TOML file; remove and rename keys, and give them values of others."""
    tables = [re.split(r"\n(?=[\w\[])", table) for table in re.split(r"\n\n(?=\[)", text)]
    for _ in range(rng.choice([1, 1, 2, 4])):
        table, other = rng.choice(tables), rng.choice(tables)
        place, source = rng.randrange(len(table)), rng.choice(other)
        kind = rng.randrange(6)
        if kind == 0:
            del table[place]
        elif kind == 1:
            tables.insert(rng.randint(0, len(tables)), list(table))
        elif kind == 2 and len(tables) > 1:
            tables.remove(table)
        elif kind == 3:
            table[0] = other[0]
        elif "=" in table[place] and "=" in source:
            key, _, value = table[place].partition("=")
            other_key, _, other_value = source.partition("=")
            table[place] = f"{key}={other_value}" if kind == 4 else f"{other_key}={value}"
        if not table:
            table.append("")
    return "\n\n".join("\n".join(table) for table in tables)


def with_other_elements(text: str, rng: Random) -> str:
    """Repeat, remove and nest the elements of an XML file; remove and swap attributes, and give them other values."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return text
    for _ in range(rng.choice([1, 1, 2, 4])):
        every = list(root.iter())
        parent = rng.choice([element for element in every if len(element)] or [root])
        element, other = rng.choice([*parent, parent]), rng.choice(every)
        alike = rng.choice([one for one in every if one.tag == element.tag])
        kind = rng.randrange(8)
        if kind == 0 and element is not parent:
            parent.remove(element)
        elif kind <= 2:
            copied = ElementTree.fromstring(ElementTree.tostring(element))
            if kind == 1 and "name" in copied.attrib:
                copied.set("name", f"{copied.get('name')}_{rng.randrange(100)}")
            rng.choice([parent, parent, other]).insert(0, copied)
        elif kind == 3 and element is not parent and other not in element.iter():
            parent.remove(element)
            other.append(element)
        elif kind == 4:
            element.attrib, alike.attrib = alike.attrib, element.attrib
        elif element.attrib:
            name = rng.choice(list(element.attrib))
            value = element.attrib.pop(name)
            if kind == 5:
                element.set(name, rng.choice([one.get(name, value) for one in every if name in one.attrib] or [value]))
            elif kind == 6 and other.attrib:
                element.set(rng.choice(list(other.attrib)), value)
    return ElementTree.tostring(root, encoding="unicode")


def sources(suffix: str) -> list[str]:
    if suffix == "urdf":
        return [ROVER, shipped_path("iiwa14").read_text(encoding="utf-8")]
    if suffix == "xml":
        return [WALKER]
    if suffix == "sdf":
        return [CRANE]
    if suffix == "dat":
        return [(DATA / name).read_text(encoding="ascii") for name in ("SCARA.DAT", "SMART.DAT")]
    stanford, scara = load("stanford"), load("scara")
    if suffix == "conf":
        return [to_roboop(stanford), to_roboop(scara.replace(home=[0.1, -0.2, 0.05, 0.3]), standard=False)]
    return [
        shipped_path("scara").read_text(encoding="utf-8"),
        to_toml(stanford, "screws"),
        to_toml(stanford, "modified-dh"),
        to_toml(scara),
    ]


def mutant(suffix: str, texts: list[str], seed: int, number: int) -> bytes:
    """Return a file: one of the texts, changed in one to three ways."""
    rng = Random(f"{suffix} {seed} {number}")
    text = rng.choice(texts)
    for _ in range(rng.choice([1, 1, 2, 3])):
        kind = rng.randrange(20)
        if kind < 10:
            text = with_other_numbers(text, rng, MILD if kind < 3 else EDGES if kind < 8 else NONE)
        elif kind < 17 and suffix in ("urdf", "xml", "sdf"):
            text = with_other_elements(text, rng)
        elif kind < 17 and suffix == "toml":
            text = with_other_tables(text, rng)
        elif kind < 19:
            text = with_other_words(text, rng)
        else:
            return with_damaged_bytes(text, rng)
    return text.encode("utf-8", "replace")


def numbers_of(tree: Tree) -> list[float]:
    """Every number of a tree."""
    values: list[object] = [tree.gravity]
    for body in tree.bodies:
        values += [body.R_parent_body, body.p_parent_body, body.pitch, body.ratio, body.offset, body.mass]
        values += [body.first_moment, body.inertia, body.armature]
        values += [body.viscous_friction, body.coulomb_friction, body.coulomb_velocity]
    for place in tree.frames.values():
        values += [place.R_body_frame, place.p_body_frame]
    return [float(number) for value in values for number in np.ravel(np.asarray(value, dtype=float))]


def check_mechanics(description: Description) -> None:
    """Check that the numbers of the tree are bounded, and what is computed at rest, at home and in motion is finite."""
    tree = build_tree(description)
    # Products of up to five numbers of at most 1e9, summed over at most 1e5 parts: m r² ratio².
    assert np.abs(numbers_of(tree)).max() <= 1e50
    zero = np.zeros(description.nq)
    for joint in description.coordinates:
        if joint.has_quaternion:
            zero[description.starts[joint.name][0]] = 1.0
    for q in (zero, description.home):
        assert np.isfinite(algorithms.all_frames(tree, q)).all()
        assert np.isfinite(algorithms.mass_matrix(tree, q)).all()
        for rates in (np.zeros(description.nv), np.ones(description.nv)):
            assert np.isfinite(algorithms.inverse_dynamics(tree, q, rates, rates)).all()
            assert np.isfinite(algorithms.friction_torque(tree, q, rates)).all()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory of the test, an empty one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def try_mutants(suffix: str, seed: int, first: int, count: int, folder: Path) -> int:
    """Read mutants; return how many of them are robots."""
    texts, file, robots = sources(suffix), folder / f"mutant.{suffix}", 0
    for number in range(first, first + count):
        file.write_bytes(mutant(suffix, texts, seed, number))
        label = f"mutant({suffix!r}, sources({suffix!r}), {seed}, {number})"
        refusal = ""
        with cpu_time_limit(2.0, label):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ModelWarning)
                    check_mechanics(load(file, check=bool(number % 3)))
                robots += 1
            except ChaslesError as error:
                refusal = str(error)
            except Exception as error:
                raise AssertionError(f"{label}: {type(error).__name__}: {error}") from error
        assert not refusal or (f"{file.name}: " in refusal and len(refusal) < 2000), f"{label}: {refusal}"
        assert os.listdir(folder) == [file.name], label
    return robots


FORMATS = ("urdf", "toml", "xml", "dat", "sdf", "conf")
PARTS = 5


@pytest.mark.filterwarnings("ignore:.*left out of its shapes")
@pytest.mark.parametrize("suffix", FORMATS)
def test_what_is_mutated_is_sound(suffix: str, folder: Path) -> None:
    for text in sources(suffix):
        (folder / f"robot.{suffix}").write_text(text, encoding="utf-8")
        check_mechanics(load(folder / f"robot.{suffix}"))


@pytest.mark.parametrize("suffix", FORMATS)
def test_mutants_are_refused_or_move(suffix: str, folder: Path) -> None:
    assert try_mutants(suffix, seed=0, first=0, count=80, folder=folder) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("suffix", FORMATS)
def test_many_mutants_are_refused_or_move(suffix: str, part: int, folder: Path) -> None:
    count = 12_500 // len(FORMATS) // PARTS
    assert try_mutants(suffix, seed=SEED, first=80 + part * count, count=count, folder=folder) >= count // 20


def arms() -> list[str]:
    """Return URDF files that say the same to other programs: no elements of our own, no floating or planar joints."""
    rover = re.sub("<chasles[^>]*>", "", ROVER).replace('"floating"', '"fixed"').replace('"planar"', '"fixed"')
    return [rover, shipped_path("iiwa14").read_text(encoding="utf-8")]


def mild_mutant(texts: list[str], seed: int, number: int) -> str:
    """Return a URDF file whose numbers leave two programs the digits to agree in."""
    rng = Random(f"mild {seed} {number}")
    text = rng.choice(texts)
    for _ in range(rng.choice([1, 1, 2, 3])):
        text = with_other_numbers(text, rng, MILD) if rng.random() < 0.5 else with_other_elements(text, rng)
    return text


def compare_with_pinocchio(description: Description, model: Any, label: str) -> None:
    """Compare poses, mass matrix and gravity torque; by the chain rule, as Pinocchio's joints follow no other."""
    import pinocchio as pin

    tree, data = build_tree(description), model.createData()
    moving = [joint for joint in description.joints if joint.moves]
    assert {name for name in model.names if name != "universe"} == {joint.name for joint in moving}, label
    S, offset = np.zeros((model.nv, tree.n)), np.zeros(model.nv)
    for joint in moving:
        driver, ratio, shift = description.mimics[joint.name]
        row = model.joints[model.getJointId(joint.name)].idx_v
        S[row, description.joint_names.index(driver)], offset[row] = ratio, shift
    q = np.random.default_rng(0).uniform(-2.0, 2.0, tree.n)
    pin_q = pin.neutral(model)
    for joint, s in zip(model.joints[1:], [(S @ q + offset)[joint.idx_v] for joint in model.joints[1:]], strict=True):
        pin_q[joint.idx_q : joint.idx_q + joint.nq] = s if joint.nq == 1 else (np.cos(s), np.sin(s))
    pin.framesForwardKinematics(model, data, pin_q)
    for link in description.link_names:
        expected = data.oMf[model.getFrameId(link, pin.FrameType.BODY)].homogeneous
        found = algorithms.forward_kinematics(tree, q, link)
        assert np.abs(found - expected).max() <= 1e-9 * max(1.0, np.abs(expected).max()), (label, link)
    if tree.n:
        M, g = algorithms.mass_matrix(tree, q), algorithms.gravity_torque(tree, q)
        expected_M = S.T @ (pin.crba(model, data, pin_q) - np.diag(np.asarray(model.armature))) @ S
        expected_g = S.T @ pin.computeGeneralizedGravity(model, data, pin_q)
        assert np.abs(M - expected_M).max() <= 1e-9 * max(1.0, np.abs(expected_M).max()), label
        assert np.abs(g - expected_g).max() <= 1e-9 * max(1.0, np.abs(expected_g).max()), label


@pytest.mark.slow
def test_what_pinocchio_also_reads_moves_alike() -> None:
    pin = importlib.import_module("pinocchio")
    texts, both = arms(), 0
    for number in range(3_000):
        text, label = mild_mutant(texts, SEED, number), f"mild_mutant(arms(), {SEED}, {number})"
        try:
            description = parse_urdf(text, check=False)
            model = pin.buildModelFromXML(text)
        except (ChaslesError, ValueError, RuntimeError):
            continue
        if not inconsistencies(description):  # Pinocchio divides by the sum of masses
            compare_with_pinocchio(description, model, label)
            both += 1
    assert both >= 300
