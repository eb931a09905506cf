"""Robots from xacro files: macros, packages, arguments, and files that cannot be expanded."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chasles.base.errors import ArgumentError, MissingExtraError, ModelError
from chasles.model import from_xacro, load
from chasles.model.formats import xacro as reader

Write = Callable[[str, str], Path]
HEAD = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
MACRO = f"""{HEAD}
  <xacro:macro name="finger" params="side sign">
    <link name="${{side}}_finger"><inertial><mass value="${{2 * 0.1}}"/></inertial></link>
    <joint name="${{side}}" type="prismatic"><parent link="palm"/><child link="${{side}}_finger"/>
      <origin xyz="0 ${{sign * width / 2}} 0"/><axis xyz="0 ${{sign}} 0"/>
      <limit lower="0" upper="0.04" effort="9" velocity="1"/>
    </joint>
  </xacro:macro>
</robot>"""
HAND = f"""{HEAD}
  <xacro:arg name="width" default="0.08"/><xacro:property name="width" value="$(arg width)"/>
  <xacro:include filename="$(find fingers_description)/urdf/finger.xacro"/>
  <link name="palm"/><xacro:finger side="left" sign="1"/><xacro:finger side="right" sign="-1"/>
</robot>"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file below a folder of the test's own."""

    def written(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.fixture
def hand(write: Write) -> Path:
    """A file whose macros are in the package beside its own."""
    write("fingers_description/urdf/finger.xacro", MACRO)
    return write("hand_description/robots/hand.urdf.xacro", HAND)


def test_macros_of_a_package_beside_the_file(hand: Path) -> None:
    robot = load(hand, check=False)
    assert robot.joint_names == ("left", "right")
    assert robot.joint("right").T_parent_joint[:3, 3].tolist() == [0.0, -0.04, 0.0]
    assert robot.link("left_finger").inertia.mass == pytest.approx(0.2, rel=1e-15)


def test_arguments(hand: Path) -> None:
    robot = load(hand, arguments={"width": "0.2"}, check=False)
    assert robot == load(hand, arguments={"width": 0.2}, check=False)
    assert robot.joint("left").T_parent_joint[1, 3] == pytest.approx(0.1, rel=1e-15)
    with pytest.raises(ArgumentError, match="texts or numbers by name"):
        load(hand, arguments={"width": [0.2]})  # type: ignore[dict-item]


def test_packages(write: Write, tmp_path: Path) -> None:
    write("elsewhere/fingers/urdf/finger.xacro", MACRO)
    file = write("hand/hand.xacro", HAND)
    with pytest.raises(
        ModelError, match=r"hand.xacro: .*no folder of the package 'fingers_description' above the file"
    ):
        load(file)
    folder = tmp_path / "elsewhere" / "fingers"
    assert load(file, packages={"fingers_description": folder}, check=False).n == 2
    with pytest.raises(ArgumentError, match="the folder of 'fingers_description' does not exist"):
        load(file, packages={"fingers_description": tmp_path / "nowhere"})
    write("elsewhere/fingers/package.xml", "<package><name>fingers_description</name></package>")
    inside = write("elsewhere/fingers/robots/hand.xacro", HAND)
    assert load(inside, check=False).n == 2  # the manifest of a folder above the file names it


def test_files_that_only_define_macros(write: Write) -> None:
    with pytest.raises(ModelError, match=r"finger.xacro: expanded, it has no link: it only defines macros"):
        load(write("finger.xacro", MACRO))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<xacro:nothing/>", "nothing"),
        ('<link name="${1 / 0}"/>', "division by zero"),
        ('<link name="${undefined}"/>', "undefined"),
        ('<xacro:include filename="missing.xacro"/>', "missing.xacro"),
        ("<link", ""),
        ("", "no link"),
        ("<link/>", "lacks the attribute 'name'"),
        ("<link name=\"${__import__('os').getcwd()}\"/>", "__"),
        ("<link name=\"${open('/etc/passwd').read()}\"/>", "open"),
    ],
)
def test_what_cannot_be_expanded_is_named_with_the_reason(content: str, reason: str, write: Write) -> None:
    with pytest.raises(ModelError, match=r"arm\.xacro") as caught:
        load(write("arm.xacro", f"{HEAD}{content}</robot>"))
    assert reason in str(caught.value)


def test_a_macro_that_never_ends(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    doubling = (
        '<xacro:macro name="d" params="n"><xacro:if value="${n > 0}">'
        + 2 * '<xacro:d n="${n-1}"/>'
        + "</xacro:if></xacro:macro>"
    )
    file = write("bomb.xacro", f'{HEAD}{doubling}<link name="a"/><xacro:d n="60"/></robot>')
    monkeypatch.setattr(reader, "SECONDS", 1.0)
    start = time.monotonic()
    with pytest.raises(ModelError, match=r"bomb.xacro: xacro did not end within 1 s"):
        load(file)
    assert time.monotonic() - start < 30.0


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"missing.xacro: cannot be read"):
        from_xacro(tmp_path / "missing.xacro")


def test_the_extra_is_named(hand: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        MissingExtraError, match=r"reading xacro files needs the package 'xacro'; type pip install .*\[ros\]"
    ):
        load(hand)
