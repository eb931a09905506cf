"""Robots from tables and as files: signatures, the book's order of arguments, files that are written."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles import model
from chasles.base.errors import ArgumentError, ModelError


@pytest.mark.parametrize(
    "name",
    ["from_dh", "from_screws", "from_urdf", "from_toml", "from_mjcf", "from_spacelib", "from_roboop", "with_friction",
     "with_motor_inertia", "with_payload"],
)  # fmt: skip
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


def test_files_are_written_where_a_path_is_given(tmp_path: Path) -> None:
    arm = ch.load("ur5")
    for name, write in {"a.urdf": arm.to_urdf, "a.xml": arm.to_mjcf, "a.conf": arm.to_roboop}.items():
        text = write(tmp_path / name)
        assert text == write() == (tmp_path / name).read_text(encoding="utf-8")
        assert ch.load(tmp_path / name, check=False).n == 6
    text = arm.to_toml("dh", path=tmp_path / "a.toml")
    assert (tmp_path / "a.toml").read_text(encoding="utf-8") == text
    with pytest.raises(ArgumentError, match=r"must end in .urdf, not 'a.toml'"):
        arm.to_urdf(tmp_path / "a.toml")
    with pytest.raises(ModelError, match=r"robot.to_toml\(path='a.toml'\) writes a file"):
        arm.to_toml("a.toml")  # type: ignore[arg-type]
