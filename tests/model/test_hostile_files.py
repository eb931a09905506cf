"""Files made to hurt: each ends in a ModelError within a second, and no file but the given one is opened."""

from __future__ import annotations

import builtins
import os
import random
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cpu_time import cpu_time_limit

from chasles.base.errors import ModelError, UnknownNameError
from chasles.model import load, parse_mjcf, parse_toml, parse_urdf, shipped, shipped_path, to_toml

Write = Callable[[str, str | bytes], Path]
SIZE = 10_000_000
LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
XML = {
    "random bytes": random.Random(0).randbytes(SIZE),
    "zeros": bytes(SIZE),
    "text": b"garbage " * (SIZE // 8),
    "open brackets": b"<" * SIZE,
    "deep nesting": b"<robot>" * (SIZE // 8),
    "less deep nesting": b"<robot>" * 900_000,
    "many elements": b"<robot>" + b"<a/>" * 1_900_000 + b"</robot>",
    "many links": b"<robot>" + b'<link name="a"/>' * 400_000 + b"</robot>",
    "many roots": b"<robot>" + b"".join(b'<link name="%d"/>' % i for i in range(19_000)) + b"</robot>",
    "many attributes": b"<robot " + b" ".join(b'a%d="1"' % i for i in range(500_000)) + b"/>",
    "a long name": b'<robot><link name="' + b"n" * 7_000_000 + b'"/><joint/></robot>',
    "a long number": b'<robot><link name="a"><inertial><mass value="'
    + b"9" * 7_000_000
    + b'"/></inertial></link></robot>',
    "many numbers": b'<robot><link name="a"><inertial><origin xyz="'
    + b"1 " * 3_000_000
    + b'"/><mass value="1"/></inertial></link></robot>',
    "billion laughs": f'<!DOCTYPE r [<!ENTITY l0 "ha">{LAUGHS}]><robot name="&l9;"/>'.encode(),
    "outside entity": b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>',
    "outside document type": b'<!DOCTYPE r SYSTEM "http://localhost:9/r.dtd"><robot/>',
    "unknown encoding": b'<?xml version="1.0" encoding="klingon"?><robot/>',
    "odd encoding": b'<?xml version="1.0" encoding="idna"?><robot/>',
    "multi-byte encoding": b'<?xml version="1.0" encoding="shift_jis"?><robot/>',
    "nothing": b"",
}
TOML = {
    "random bytes": random.Random(0).randbytes(SIZE),
    "zeros": bytes(SIZE),
    "text": b"garbage " * (SIZE // 8),
    "open brackets": b"x = " + b"[" * 400_000,
    "open braces": b"x = " + b"{a=" * 100_000,
    "dotted key": b"a." * 200_000 + b"a = 1",
    "dotted table": b"[" + b"a." * 200_000 + b"a]",
    "many keys": b"".join(b"k%d=1\n" % i for i in range(50_000)),
    "many tables": b"[[dh]]\n" * 60_000,
    "a long number": b"x = " + b"9" * 400_000,
    "a long string": b'[robot]\nname = "' + b"n" * 400_000 + b'"\n',
    "an unknown long key": b"n" * 400_000 + b" = 1",
    "a date": b"[[dh]]\na = 1979-05-27",
    "a huge number": b"[[dh]]\na = 1e400",
    "nothing": b"",
}


@pytest.mark.parametrize("what", XML)
def test_hostile_urdf_ends_quickly_in_an_error_that_names_the_file(what: str, write: Write) -> None:
    path = write("evil.urdf", XML[what])
    with cpu_time_limit(1.0), pytest.raises(ModelError, match=r"evil\.urdf: ") as caught:
        load(path)
    assert len(str(caught.value)) < 1000 + len(str(path))


@pytest.mark.parametrize("suffix", ["xml", pytest.param("mjcf", marks=pytest.mark.slow)])
@pytest.mark.parametrize("what", XML)
def test_hostile_mjcf_ends_quickly_in_an_error_that_names_the_file(what: str, suffix: str, write: Write) -> None:
    hostile = XML[what].replace(b"<robot", b"<mujoco").replace(b"robot>", b"mujoco>")
    path = write(f"evil.{suffix}", hostile)
    with cpu_time_limit(1.0), pytest.raises(ModelError, match=rf"evil\.{suffix}: ") as caught:
        load(path)
    assert len(str(caught.value)) < 1000 + len(str(path))


@pytest.mark.parametrize("what", TOML)
def test_hostile_toml_ends_quickly_in_an_error_that_names_the_file(what: str, write: Write) -> None:
    path = write("evil.toml", TOML[what])
    with cpu_time_limit(1.0), pytest.raises(ModelError, match=r"evil\.toml: ") as caught:
        load(path)
    assert len(str(caught.value)) < 1000 + len(str(path))


def test_mesh_names_are_never_opened(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    meshes = "".join(
        f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
        for name in (
            "../../../etc/passwd",
            "file:///etc/passwd",
            "http://localhost:9/",
            "package://../../x",
            "/dev/zero",
        )
    )
    path = write("mesh.urdf", f'<robot name="r"><link name="a">{meshes}</link></robot>')
    opened: list[object] = []
    for module in (builtins, os):
        monkeypatch.setattr(module, "open", lambda *a, _open=module.open, **kw: opened.append(a[0]) or _open(*a, **kw))
    assert load(path).root == "a"
    assert {str(file) for file in opened} == {str(path)}


@pytest.mark.parametrize("suffix", ["urdf", "xml", "mjcf", "toml", "dat"])
def test_what_is_no_regular_file_is_not_waited_for(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"robot.{suffix}"
    os.mkfifo(path)
    with pytest.raises(ModelError, match=rf"robot.{suffix}: cannot be read: it is a named pipe, not a regular file"):
        load(path)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(ModelError, match=rf"robot.{suffix}: cannot be read: it is a device, not a regular file"):
        load(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(ModelError, match=rf"robot.{suffix}: cannot be read: it is a directory, not a regular file"):
        load(path)


def test_included_files_and_meshes_that_are_none_are_not_waited_for(write: Write, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "part.xml")
    (tmp_path / "loop.xml").symlink_to("loop.xml")
    for name, reason in [("part.xml", "it is a named pipe"), ("loop.xml", "Too many levels of symbolic links")]:
        path = write("robot.xml", f'<mujoco><worldbody><include file="{name}"/></worldbody></mujoco>')
        with pytest.raises(ModelError, match=rf"robot.xml: <include> in line 1: .*{name}: cannot be read: {reason}"):
            load(path)
    os.mkfifo(tmp_path / "shell.stl")
    mesh = (
        '<asset><mesh name="m" file="shell.stl"/></asset><worldbody><body><joint/><geom type="mesh" mesh="m"/></body>'
    )
    with pytest.raises(ModelError, match=r"mesh 'm': .*shell.stl: cannot be read: it is a named pipe"):
        load(write("robot.xml", f"<mujoco>{mesh}</worldbody></mujoco>"))


@pytest.mark.parametrize("name", ["a" * 5000, "a" * 5000 + ".urdf", "a\0b", "a\0.urdf", ""])
def test_names_that_no_file_can_have_are_refused(name: str) -> None:
    with pytest.raises((ModelError, UnknownNameError)):
        load(name)


def test_integers_that_python_does_not_write_out_are_refused(write: Write) -> None:
    digits = "f" * 100_000
    for text in (f"[[dh]]\na = 0x{digits}", f"[[dh]]\nlimits = {{ lower = 0x{digits} }}", f"[[dh]]\nname = 0x{digits}"):
        with cpu_time_limit(1.0), pytest.raises(ModelError, match="an integer of thousands of digits"):
            load(write("evil.toml", text))


def test_long_words_of_digits_are_refused_quickly(write: Write) -> None:
    for text in (f"1 0 {'9' * 400_000}x", f"1 0 {'9' * 400_000}e{'9' * 50_000}"):
        with (
            cpu_time_limit(1.0),
            pytest.raises(ModelError, match=r"evil.dat: line 1: link 1: theta d b a alpha: expected"),
        ):
            load(write("evil.dat", text))


def test_joints_that_follow_one_another_backwards_are_resolved_quickly() -> None:
    n = 3_000
    links = "".join(f'<link name="l{index}"/>' for index in range(n + 1))
    joints = "".join(
        f'<joint name="j{index}" type="continuous"><parent link="l{index}"/><child link="l{index + 1}"/>'
        f'<mimic joint="j{index + 1}"/></joint>'
        for index in range(n - 1)
    )
    last = f'<joint name="j{n - 1}" type="continuous"><parent link="l{n - 1}"/><child link="l{n}"/></joint>'
    with cpu_time_limit(5.0):
        assert parse_urdf(f"<robot>{links}{joints}{last}</robot>").joint_names == (f"j{n - 1}",)


def mutated(text: str, seed: int) -> str:
    """Cut, repeat or replace pieces of a good file."""
    rng = random.Random(seed)
    words = text.split(" ")
    for _ in range(rng.randint(1, 5)):
        place = rng.randrange(len(words))
        words[place : place + rng.choice([0, 1, 1, 3])] = rng.choice(
            [[], [words[rng.randrange(len(words))]], ["nan"], ["1e999"], ["<"], ['"'], ["-1"], ["[["], ["= 0"], ["\0"]]
        )
    return " ".join(words)


@settings(max_examples=150)
@given(st.sampled_from(shipped()), st.integers(0, 10**9))
def test_damaged_files_load_or_end_in_a_model_error(name: str, seed: int) -> None:
    text = shipped_path(name).read_text(encoding="utf-8")
    parse = parse_urdf if shipped_path(name).suffix == ".urdf" else parse_toml
    if parse is parse_toml and seed % 2:
        text = to_toml(load(name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            robot = parse(mutated(text, seed), check=bool(seed % 3))
        except ModelError:
            return
    assert robot.loops or robot.n >= 0  # of loops, n is known when they are closed
    assert set(robot.frame_names) >= {robot.tool, robot.root}


MJCF = """<mujoco model="m"> <compiler angle="radian" /> <option gravity="0 0 -9" />
<default> <joint damping="1" /> <default class="c" > <geom size="0.1 0.2 0.3" type="box" /> </default> </default>
<worldbody> <body name="a" pos="0 0 1" euler="0.1 0 0" > <freejoint /> <geom class="c" /> <site name="s" pos="1 2 3" />
<body name="b" > <joint name="x" type="slide" axis="1 0 0" range="-1 1" /> <joint name="y" ref="0.2" />
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1" /> <frame euler="1 2 3" > <body name="d" > <joint type="ball" />
<geom class="c" /> </body> </frame> </body> </body> <replicate count="3" euler="0 0 1" > <body name="r" >
<joint name="j" /> <geom class="c" /> </body> </replicate> </worldbody> <equality> <joint joint1="x" joint2="y"
polycoef="0 1 0 0 0" /> </equality> <actuator> <motor joint="x" gear="2" ctrlrange="-1 1" /> </actuator>
<keyframe> <key name="home" qpos="1 2 3 1 0 0 0 0 0 1 0 0 0 0 0 0" /> </keyframe> </mujoco>"""


def test_the_good_mjcf_is_good() -> None:
    assert parse_mjcf(MJCF).nv == 13


@settings(max_examples=150)
@given(st.integers(0, 10**9))
def test_damaged_mjcf_loads_or_ends_in_a_model_error(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            robot = parse_mjcf(mutated(MJCF, seed), check=bool(seed % 3))
        except ModelError:
            return
    assert robot.nv >= 0
    assert set(robot.frame_names) >= {robot.tool, robot.root}


@settings(max_examples=100)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "ignore")))
def test_noise_ends_in_a_model_error(noise: bytes) -> None:
    with pytest.raises(ModelError):
        parse_urdf(noise)
    with pytest.raises(ModelError):
        parse_toml(noise.decode("latin-1"))
