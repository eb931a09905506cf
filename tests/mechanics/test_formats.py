"""Robots from tables and as files: signatures, the book's order of arguments, files that are written."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles import model
from chasles.base.errors import ArgumentError, ModelError, UnknownNameError


@pytest.mark.parametrize(
    "name",
    ["from_dh", "from_screws", "with_friction", "with_motor_inertia", "with_payload"],
)
def test_signatures_are_those_of_the_functions_on_descriptions(name: str) -> None:
    def arguments(function: object) -> list[tuple[str, object, object]]:
        parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
        own = [p for p in parameters if p.name not in ("self", "description")]
        return [(p.name, p.kind, p.default) for p in own]

    assert arguments(getattr(ch.Robot, name)) == arguments(getattr(model, name))


def test_screws_in_the_order_of_the_book() -> None:
    M, Slist = np.eye(4), np.array([[0.0, 0, 1, 0, 0, 0], [0, 0, 1, 0, -0.5, 0]]).T
    assert ch.Robot.from_screws(M, Slist) == ch.Robot.from_screws(M, Slist=Slist)
    with pytest.raises(ModelError, match="Slist column 2: omega must be a unit vector"):
        ch.Robot.from_screws(M, 2.0 * Slist - Slist * [[1.0, 0.0]])


def test_files_are_written_as_their_suffix_says(tmp_path: Path) -> None:
    arm = ch.load("ur5")
    for name, format in {
        "a.urdf": "urdf",
        "a.xml": "mjcf",
        "a.mjcf": "mjcf",
        "a.conf": "roboop",
        "a.toml": "toml",
    }.items():
        assert arm.save(tmp_path / name) == tmp_path / name
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text == model.write(arm.description, format)  # type: ignore[arg-type]
        assert ch.load(tmp_path / name, check=False).n == 6
        other = arm.save(tmp_path / "without suffix", format=format)  # type: ignore[arg-type]
        assert other.read_text(encoding="utf-8") == text
        assert ch.load(other, format=format, check=False).n == 6  # type: ignore[arg-type]
    arm.save(tmp_path / "b.toml", form="dh")
    assert (tmp_path / "b.toml").read_text(encoding="utf-8") == model.to_toml(arm.description, "dh")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"path": "a.step"}, r"must end in .urdf, .xml, .mjcf, .toml, .conf, or `format` be given, not 'a.step'"),
        ({"path": "a", "format": "step"}, "no format of robot files 'step'"),
        ({"path": "a.urdf", "form": "dh"}, "only TOML and ROBOOP files take `form`, not URDF files"),
        ({"path": "a.conf", "form": "screws"}, "no form of roboop files 'screws'"),
        ({"path": "a.toml", "meshes": True}, "only MJCF files take `meshes`"),
    ],
)
def test_options_that_a_format_does_not_have_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises((ArgumentError, UnknownNameError), match=said):
        ch.load("ur5").save(**options)


def test_a_format_is_told_where_the_suffix_does_not(tmp_path: Path) -> None:
    text = ch.load("ur5").save(tmp_path / "robot.conf").read_text(encoding="utf-8")
    both = tmp_path / "two robots"
    both.write_text(text + text.replace("[ur5", "[other"), encoding="utf-8")
    assert ch.load(both, format="roboop", model="other", check=False).name == "other"
    with pytest.raises(UnknownNameError, match="no format of robot files 'step'"):
        ch.load(both, format="step")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="only SDF and ROBOOP files take `model`"):
        ch.load(ch.load("ur5").save(tmp_path / "arm.urdf"), model="other")


def test_tables_are_those_of_the_description() -> None:
    arm = ch.load("puma560")
    assert arm.table("dh").rows == model.to_dh(arm.description).rows
    assert arm.table("modified-dh").rows == model.to_modified_dh(arm.description).rows
    np.testing.assert_array_equal(arm.table("screws").Slist, model.to_screws(arm.description).Slist)
    with pytest.raises(UnknownNameError, match="no table of a robot 'DH'"):
        arm.table("DH")  # type: ignore[call-overload]
