"""At the prompt objects take one line; printed, their table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import chasles as ch

MAKERS: dict[str, Callable[[ch.Robot], object]] = {
    "description": lambda arm: arm.description,
    "screws": lambda arm: arm.table("screws"),
    "table of a DH robot": lambda arm: ch.load("puma560").table("dh"),
    "motion": lambda arm: ch.PointToPoint(arm.home, arm.home + 1.0 / 3.0, duration=1.0),
    "check": lambda arm: ch.PointToPoint(arm.home, arm.home + 0.3, duration=1.0).check(arm),
    "violated check": lambda arm: ch.PointToPoint(arm.home, arm.home + 0.3, duration=0.01).check(arm),
    "solution": lambda arm: arm.inverse_kinematics(arm.forward_kinematics(arm.home + 0.1)),
    "missed target": lambda arm: arm.inverse_kinematics(arm.forward_kinematics(arm.home) + 9.0 * np.eye(4, k=3)),
}
TABLES = ("description", "screws", "table of a DH robot", "check", "violated check")


@pytest.mark.parametrize("name", MAKERS)
def test_a_representation_is_one_short_line(name: str) -> None:
    text = repr(MAKERS[name](ch.load("panda")))
    assert "\n" not in text
    assert len(text) < 250
    assert text.startswith("<")


@pytest.mark.parametrize("name", TABLES)
def test_printing_shows_the_table(name: str) -> None:
    made = MAKERS[name](ch.load("panda"))
    assert len(str(made).splitlines()) > 2
    assert max(map(len, str(made).splitlines())) < 200


def test_one_solution_prints_its_configuration_or_why_there_is_none() -> None:
    arm = ch.load("panda")
    solution = arm.inverse_kinematics(arm.forward_kinematics(arm.home + 0.1))
    assert f"{solution.q[3]:.4g}" in str(solution)
    missed = MAKERS["missed target"](arm)
    assert str(missed).startswith("not solved: ")
